//! The columns of a table: which of them means what.

use std::fmt;
use std::str::FromStr;

use super::presets::{Preset, Tool};
use super::states::States;
use crate::tasks::Collector;
use crate::tasks::units::Unit;

/// What a column of a table means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Meaning {
    Job,
    Phase,
    Task,
    Node,
    Submitted,
    Start,
    End,
    Duration,
    State,
    Input,
    Attempt,
    Slots,
    Speculative,
    Cause,
}

use Meaning::{
    Attempt, Cause, Duration, End, Input, Job, Node, Phase, Slots, Speculative, Start, State, Submitted, Task,
};

/// Number of meanings.
pub(crate) const MEANINGS: usize = 14;

/// The name of each meaning in `--columns`, and usual names of columns with this meaning: in lower case, without other
/// signs than letters and digits, the clearest names first.
#[rustfmt::skip]
const NAMES: [(Meaning, &str, &[&str]); MEANINGS] = [
    (Start, "start", &["start", "starttime", "started", "startedat", "startat", "starttimestamp", "startts", "timestart",
        "tsstart", "launch", "launchtime", "launched", "begin", "begintime", "began", "startdate", "starttimemillis",
        "startms", "starttimems", "jobstart", "taskstart", "executionstart", "runstart"]),
    (End, "end", &["end", "endtime", "ended", "endedat", "endat", "endtimestamp", "endts", "timeend", "tsend", "finish",
        "finishtime", "finished", "finishedat", "stop", "stoptime", "stopped", "completed", "completedat",
        "completiontime", "completetime", "complete", "enddate", "endtimemillis", "endms", "endtimems", "jobend", "taskend",
        "executionend", "runend", "finishts"]),
    (Duration, "duration", &["duration", "elapsed", "elapsedtime", "runtime", "walltime", "wall", "wallclock", "took",
        "durationms", "durations", "durationsec", "durationseconds", "jobruntime", "runtimes", "runtimems", "elapsedms",
        "elapsedseconds", "elapsedsec", "executiontime", "executiontimems", "executorruntime", "tasktime", "realtime", "dur", "seconds"]),
    (Submitted, "submitted", &["submitted", "submit", "submittime", "submittedat", "submissiontime", "queued", "queuedat",
        "queuedtime", "queueddttm", "queuedwhen", "queuetime", "created", "createdat", "createtime", "creationtime", "scheduledat",
        "arrival", "arrivaltime", "arrived", "eligible", "enqueued", "enqueuedat", "readytime"]),
    (State, "state", &["state", "status", "taskstate", "taskstatus", "jobstate", "jobstatus", "outcome", "result",
        "finalstatus", "exitcode", "exitstatus", "exitval", "exitvalue", "exit", "returncode", "returnvalue", "retcode", "rc", "success",
        "succeeded"]),
    (Node, "node", &["node", "nodename", "host", "hostname", "machine", "machineid", "machinename", "nodeid", "hostid",
        "server", "worker", "workerid", "workername", "workerhost", "executor", "executorid", "nodelist", "ip", "vm", "vmid", "location",
        "endpoint", "taskmanagerid"]),
    (Job, "job", &["job", "jobid", "jobname", "application", "applicationid", "app", "appid", "runid", "dagrunid",
        "workflowid", "workflow", "run", "workflowrun", "queryid", "query", "dagid", "dag", "pipelineid", "pipeline", "batch", "batchid",
        "experiment", "session", "sessionid"]),
    (Phase, "phase", &["phase", "phasename", "stage", "stageid", "stagename", "step", "stepname", "process", "processname",
        "operator", "operatorname", "function", "functionname", "funcname", "func", "funcorclassname", "taskfuncname", "operation",
        "operationname", "op", "taskgroup", "group", "tasktype",
        "activity", "transformation", "rule", "rulename", "vertex", "vertexname", "category", "kind", "type"]),
    (Task, "task", &["task", "taskid", "taskindex", "taskname", "instance", "instancename", "instanceid", "partition",
        "index", "taskinstance", "item", "itemid", "unit", "id", "seq", "name", "chunk", "shard", "split",
        "key", "subtask", "subtaskindex"]),
    (Input, "input", &["input", "inputbytes", "inputsize", "bytesread", "bytesin", "readbytes", "inputdata", "inputdatasize",
        "rchar", "bytes", "size", "datasize", "filesize"]),
    (Attempt, "attempt", &["attempt", "attemptid", "attemptnumber", "attemptno", "trynumber", "try", "retry", "retrycount", "retries"]),
    (Slots, "slots", &["slots", "cores", "cpus", "ncpus", "numcpus", "alloccpus", "ncores", "numcores", "cpucores", "cpu",
        "threads", "processors", "vcores", "vcpus"]),
    (Speculative, "speculative", &["speculative", "isspeculative", "backup", "isbackup", "copy", "iscopy"]),
    (Cause, "cause", &["cause", "reason", "failurereason", "failure", "error", "errormessage", "errortype", "exception",
        "message", "terminationreason"]),
];

/// Names of units that a column's name may end in.
const UNITS: &[&str] = &[
    "ms",
    "millis",
    "milliseconds",
    "msec",
    "s",
    "sec",
    "secs",
    "seconds",
    "us",
    "micros",
    "usec",
    "microseconds",
    "ns",
    "nanos",
    "nanoseconds",
    "min",
    "mins",
    "minutes",
    "hours",
    "hrs",
];
/// Ends of column names that say nothing about their meaning.
const IGNORED: &[&str] = &["utc", "unix", "epoch", "dttm", "gmt", "local"];

/// Columns of a table that the user names, as in `start=StartTime,end=EndTime`. A unit of time may follow a colon:
/// `start=began:ms`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    named: Vec<(Meaning, String, Option<Unit>)>,
    /// What the user wrote.
    text: String,
    states: States,
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Columns {
    /// Returns whether no column is named.
    pub fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// Adds what the states in the column of states mean.
    #[must_use]
    pub fn with_states(self, states: States) -> Columns {
        Columns { states, ..self }
    }

    /// Whether a column is named for a meaning.
    pub(crate) fn names(&self, meaning: Meaning) -> bool {
        self.named.iter().any(|(named, ..)| *named == meaning)
    }

    /// What states mean.
    pub(crate) fn states(&self) -> &States {
        &self.states
    }
}

impl FromStr for Columns {
    type Err = String;

    fn from_str(text: &str) -> Result<Columns, String> {
        let mut columns = Columns { text: text.to_owned(), ..Columns::default() };
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let (meaning, column) = part
                .split_once('=')
                .ok_or_else(|| format!("{part:?} is no column: expected MEANING=NAME, such as start=StartTime"))?;
            let wanted = plain(meaning);
            let meaning = NAMES.iter().find(|(_, name, _)| *name == wanted || wanted == "cores" && *name == "slots");
            let Some((meaning, ..)) = meaning else {
                let names: Vec<&str> = NAMES.iter().map(|(_, name, _)| *name).collect();
                return Err(format!("{wanted:?} is no meaning of a column; there are {}", names.join(", ")));
            };
            let (name, unit) = match column.rsplit_once(':').and_then(|(name, unit)| Some((name, Unit::of(unit)?))) {
                Some((name, unit)) => (name, Some(unit)),
                None => (column, None),
            };
            if columns.named.iter().any(|(other, ..)| other == meaning) {
                return Err(format!("{wanted} is named twice; name one column for it"));
            }
            columns.named.push((*meaning, name.trim().to_owned(), unit));
        }
        Ok(columns)
    }
}

/// What is wrong with the columns that the user names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// There is no column with this name.
    Missing(String),
    /// The column with this name is the start and the end.
    StartIsEnd(String),
}

/// Where the columns with a meaning are.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Places {
    at: [Option<usize>; MEANINGS],
    /// Names of all columns.
    names: Vec<String>,
    units: [Option<Unit>; MEANINGS],
    /// Columns that have a usual name of the start or the end, where another one was taken.
    not_taken: Vec<(Meaning, usize)>,
    /// The tool that wrote the table, if its columns show it.
    pub tool: Option<Tool>,
    /// The column whose value comes before that of the job, and the one that says what runs a task.
    pub before_job: Option<usize>,
    pub runner: Option<usize>,
}

impl Places {
    /// Returns the position of the column with a meaning.
    pub(crate) fn of(&self, meaning: Meaning) -> Option<usize> {
        self.at[meaning as usize]
    }

    /// Returns the name of the column with a meaning.
    pub(crate) fn name(&self, meaning: Meaning) -> Option<&str> {
        self.names.get(self.of(meaning)?).map(|name| name.trim())
    }

    /// Returns the unit of time of the column with a meaning, if it is named.
    pub(crate) fn unit(&self, meaning: Meaning) -> Option<Unit> {
        self.units[meaning as usize]
    }

    /// Notes which columns have the name of another one that was read.
    pub(crate) fn add_notes(&self, collector: &mut Collector) {
        for (meaning, name, _) in NAMES {
            let Some(column) = self.name(meaning) else { continue };
            let count = self.names.iter().filter(|other| other.trim() == column).count();
            if count > 1 {
                collector.issues.note(format!(
                    "{count} columns have the name {column:?}; the first of them was read as the {name}. Rename the others."
                ));
                continue;
            }
            let others = self.not_taken.iter().filter(|(of, _)| *of == meaning);
            let others: Vec<String> = others.map(|(_, at)| format!("{:?}", self.names[*at].trim())).collect();
            if !others.is_empty() {
                collector.issues.note(format!(
                    "The column {column:?} was read as the {name}, and not {}. --columns {name}=COLUMN names another one.",
                    others.join(" or ")
                ));
            }
        }
    }

    /// Gives the column of one meaning another one.
    pub(crate) fn turn(&mut self, from: Meaning, to: Meaning) {
        self.at[to as usize] = self.at[from as usize].take();
    }

    /// Gives a meaning no column.
    pub(crate) fn drop_column(&mut self, of: Meaning) {
        self.at[of as usize] = None;
    }

    /// Returns what is missing to know when attempts ran; `None` if nothing is.
    pub(crate) fn missing(&self) -> Option<&'static str> {
        match (self.of(Start), self.of(End), self.of(Duration)) {
            (Some(_), Some(_), _) | (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => None,
            (Some(_), None, None) => Some("the end or the duration of an attempt"),
            (None, Some(_), None) => Some("the start or the duration of an attempt"),
            _ => Some("the start of an attempt"),
        }
    }

    /// Finds the columns among the names of a header.
    ///
    /// # Errors
    /// If a column that the user names is not there, or is both start and end.
    pub(crate) fn find(header: &[&str], columns: &Columns) -> Result<Places, Wrong> {
        let names = header.iter().map(|name| (*name).to_owned()).collect();
        let mut found = Places { names, ..Places::default() };
        let mut used = vec![false; header.len()];
        for (meaning, name, unit) in &columns.named {
            let same = |column: &&&str| column.trim() == name;
            let alike = |column: &&&str| column.trim().eq_ignore_ascii_case(name) || plain(column) == plain(name);
            let at = header.iter().position(|column| same(&column)).or_else(|| header.iter().position(|c| alike(&c)));
            let Some(at) = at else { return Err(Wrong::Missing(name.clone())) };
            if found.of(Start) == Some(at) && matches!(meaning, End)
                || found.of(End) == Some(at) && matches!(meaning, Start)
            {
                return Err(Wrong::StartIsEnd(name.clone()));
            }
            used[at] = true;
            found.at[*meaning as usize] = Some(at);
            found.units[*meaning as usize] = unit.or_else(|| split_unit(header[at]).1);
        }
        let names: Vec<(String, Option<Unit>)> = header.iter().map(|name| split_unit(name)).collect();
        let none = found.take_preset(&mut used);
        for (meaning, _, usual) in NAMES {
            if found.of(meaning).is_some() || none.contains(&meaning) {
                continue;
            }
            let at = usual.iter().find_map(|usual| {
                let is = |at: &usize| !used[*at] && (names[*at].0 == *usual || plain(header[*at]) == *usual);
                (0..header.len()).find(is)
            });
            if let Some(at) = at {
                used[at] = true;
                found.at[meaning as usize] = Some(at);
                found.units[meaning as usize] = names[at].1;
            }
        }
        for (meaning, _, usual) in NAMES.iter().filter(|(meaning, ..)| matches!(meaning, Start | End)) {
            if columns.named.iter().any(|(named, ..)| named == meaning) || found.of(*meaning).is_none() {
                continue;
            }
            let is_usual = |at: &usize| !used[*at] && usual.contains(&&*names[*at].0);
            found.not_taken.extend((0..header.len()).filter(is_usual).map(|at| (*meaning, at)));
        }
        // A type of tasks stands beside a task of many instances, as in Alibaba's tables.
        let no_phase = found.of(Phase).is_none_or(|at| names[at].0 == "tasktype") && !columns.names(Phase);
        if no_phase && found.of(Task).is_some() && found.tool.is_none() {
            found.task_of_phase(&names, &used);
        }
        Ok(found)
    }

    /// Takes the columns of the tool that wrote the table, if it is a known one. Returns the meanings that no other column has.
    fn take_preset(&mut self, used: &mut [bool]) -> &'static [Meaning] {
        let plain_names: Vec<String> = self.names.iter().map(|name| plain(name)).collect();
        let Some(preset) = Preset::of(&plain_names) else { return &[] };
        let column = |name: &str| plain_names.iter().position(|column| column == name);
        let named = used.to_vec();
        for (meaning, columns) in preset.means {
            if self.of(*meaning).is_none()
                && let Some(at) = columns.iter().filter_map(|name| column(name)).find(|at| !named[*at])
            {
                used[at] = true;
                self.at[*meaning as usize] = Some(at);
            }
        }
        self.tool = Some(preset.tool);
        self.before_job = column(preset.before_job).filter(|at| self.of(Job) != Some(*at));
        self.runner = column(preset.runner);
        preset.none
    }

    /// If there are columns of tasks and of instances, the task is the phase and the instance is the task.
    fn task_of_phase(&mut self, names: &[(String, Option<Unit>)], used: &[bool]) {
        let instance =
            |at: &usize| !used[*at] && names[*at].0.starts_with("instance") && !names[*at].0.ends_with("num");
        if let Some(at) = (0..names.len()).find(instance) {
            self.at[Phase as usize] = self.at[Task as usize].replace(at);
        }
    }
}

/// Returns a name in lower case, without other signs than letters and digits.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Splits a name like `startTimeMillis`, `start_ms` or `start (ms)` into its plain form and the unit at its end.
fn split_unit(name: &str) -> (String, Option<Unit>) {
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    for c in name.chars() {
        if !c.is_alphanumeric() {
            before = ' ';
            continue;
        }
        if before == ' ' || (c.is_uppercase() && before.is_lowercase()) || words.is_empty() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    let mut unit = None;
    while words.len() > 1 {
        let Some(last) = words.last() else { break };
        if UNITS.contains(&last.as_str()) {
            unit = unit.or_else(|| Unit::of(last));
        } else if !IGNORED.contains(&last.as_str()) {
            break;
        }
        words.pop();
    }
    let joined = words.concat();
    if unit.is_none() {
        unit = [("millis", Unit::Milliseconds), ("ms", Unit::Milliseconds)]
            .into_iter()
            .find(|(end, _)| {
                joined.strip_suffix(end).is_some_and(|rest| rest.ends_with("time") || rest.ends_with("duration"))
            })
            .map(|(_, unit)| unit);
    }
    (joined, unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(header: &[&str], columns: &str) -> Places {
        Places::find(header, &columns.parse().unwrap()).unwrap()
    }

    #[test]
    fn usual_names_are_recognised() {
        let places =
            find(&["Job ID", "Stage", "task_id", "Host", "StartTime", "endTimeMillis", "Status", "input (bytes)"], "");
        for (at, meaning) in [Job, Phase, Task, Node, Start, End, State].into_iter().enumerate() {
            assert_eq!(places.of(meaning), Some(at), "{meaning:?}");
        }
        assert_eq!((places.unit(Start), places.unit(End)), (None, Some(Unit::Milliseconds)));
        assert_eq!(places.missing(), None);
    }

    #[test]
    fn clearer_names_come_first() {
        let places =
            find(&["id", "dag_id", "run_id", "task_id", "start_date", "end_date", "try_number", "queued_dttm"], "");
        let found = [Task, Job, Start, End, Attempt, Submitted].map(|meaning| places.of(meaning));
        assert_eq!(found, [Some(3), Some(2), Some(4), Some(5), Some(6), Some(7)]);
        assert_eq!((places.tool, places.before_job), (Some(Tool::Airflow), Some(1)));
    }

    #[test]
    fn instances_are_tasks_of_a_task() {
        let places =
            find(&["instance_name", "task_name", "job_name", "status", "start_time", "end_time", "machine_id"], "");
        assert_eq!((places.of(Job), places.of(Phase), places.of(Task)), (Some(2), Some(1), Some(0)));
    }

    #[test]
    fn named_columns_win_over_recognised_ones() {
        let places = find(&["start", "begin2", "t"], "start=begin2:ms,duration=T,cores=start");
        assert_eq!((places.of(Start), places.of(Duration), places.of(Slots)), (Some(1), Some(2), Some(0)));
        assert_eq!(places.unit(Start), Some(Unit::Milliseconds));
        assert_eq!(Places::find(&["a"], &"start=b".parse().unwrap()), Err(Wrong::Missing("b".to_owned())));
        assert_eq!(Places::find(&["a"], &"end=a,start=a".parse().unwrap()), Err(Wrong::StartIsEnd("a".to_owned())));
    }

    #[test]
    fn wrong_mappings_are_named() {
        assert!("start".parse::<Columns>().unwrap_err().contains("MEANING=NAME"));
        assert!("start=a,start=b".parse::<Columns>().unwrap_err().contains("start is named twice"));
        assert!("begin=x".parse::<Columns>().unwrap_err().contains("there are start, end"));
    }

    #[test]
    fn missing_columns_are_named() {
        assert_eq!(find(&["start", "x"], "").missing(), Some("the end or the duration of an attempt"));
        assert_eq!(find(&["end", "duration"], "").missing(), None);
        assert_eq!(find(&["x"], "").missing(), Some("the start of an attempt"));
    }
}
