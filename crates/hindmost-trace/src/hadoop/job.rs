//! A job while it is being read, with its tasks and their attempts.

use rustc_hash::FxHashMap;

use super::configuration::Settings;
use super::counters::Counters;
use super::hosts::{Host, Hosts};
use super::ids::Kind;
use crate::recording::Ended;

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobEnd {
    Succeeded,
    Failed,
    Killed,
}

/// How close to its input a map ran: on the same node, in the same rack, or elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Node,
    Rack,
    Off,
}

/// Identifies a task within its job. Setup and cleanup tasks are numbered together with maps and reduces, so the letter
/// distinguishes two of them with the same index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TaskKey {
    pub kind: Kind,
    pub letter: u8,
    pub index: u32,
}

#[derive(Debug, Default)]
pub(super) struct Task {
    pub attempts: Vec<Attempt>,
    /// Machines that hold the task's input.
    pub splits: Vec<Host>,
    /// Number of the attempt that succeeded, if the log names it.
    pub winner: Option<u32>,
}

/// An attempt. Times are in milliseconds since 1970.
#[derive(Debug, Default)]
pub(super) struct Attempt {
    pub number: u32,
    pub host: Option<Host>,
    pub start: Option<i64>,
    pub finish: Option<i64>,
    pub ended: Option<Ended>,
    /// Whether the attempt was speculative; `None` if the log does not say.
    pub marked: Option<bool>,
    pub bytes_read: Option<u64>,
    /// How close to its input the attempt ran; `None` if the log does not say.
    pub place: Option<Place>,
    /// Why the attempt failed or was killed; `None` if the log does not say.
    pub cause: Option<String>,
    /// Whether the attempt succeeded and was later reported as failed or killed, because its output was lost.
    pub output_lost: bool,
}

/// A job. The first value of each pair is for maps, the second for reduces.
#[derive(Debug, Default)]
pub(super) struct Job {
    pub id: Option<Box<str>>,
    pub name: Option<Box<str>>,
    pub submitted: Option<i64>,
    pub launched: Option<i64>,
    pub finished: Option<i64>,
    pub end: Option<JobEnd>,
    /// The number of tasks that the job states.
    pub total: [Option<u32>; 2],
    /// The number of successful tasks that the job states.
    pub succeeded: [Option<u32>; 2],
    /// The counters that the log has for the job as a whole.
    pub counters: Option<Counters>,
    /// The sum of the counters of the job's successful attempts.
    pub summed: Counters,
    /// Settings that matter for stragglers; empty if the job's configuration is not there.
    pub settings: Settings,
    /// Earliest and latest time seen, in milliseconds since 1970.
    pub span: Option<(i64, i64)>,
    pub tasks: FxHashMap<TaskKey, Task>,
    /// Kind of task and end of each attempt whose end event does not name the attempt.
    pub unidentified: Vec<(Kind, Ended)>,
    /// Number of events that repeat the end of an attempt.
    pub repeated: u64,
}

impl Job {
    pub(super) fn saw(&mut self, time: Option<i64>) {
        if let Some(at) = time {
            let (from, to) = self.span.unwrap_or((at, at));
            self.span = Some((from.min(at), to.max(at)));
        }
    }

    /// Returns the job's id and name for display. `number` is the job's position in the log, counted from 0.
    pub(super) fn called(&self, number: u32) -> String {
        match (&self.id, &self.name) {
            (Some(id), Some(name)) => format!("{id} {name}"),
            (Some(id), None) => id.to_string(),
            (None, Some(name)) => format!("job {} {name}", number + 1),
            (None, None) => format!("job {}", number + 1),
        }
    }

    pub(super) fn task(&mut self, key: TaskKey) -> &mut Task {
        self.tasks.entry(key).or_default()
    }
}

impl Task {
    pub(super) fn attempt(&mut self, number: u32) -> &mut Attempt {
        // The attempt is nearly always one of the last few.
        let at = self.attempts.iter().rposition(|attempt| attempt.number == number).unwrap_or_else(|| {
            self.attempts.push(Attempt { number, ..Attempt::default() });
            self.attempts.len() - 1
        });
        &mut self.attempts[at]
    }

    /// Returns the index of the attempt that won: the attempt that the log names, otherwise the first to succeed.
    pub(super) fn winner(&self) -> Option<usize> {
        let succeeded = || self.attempts.iter().enumerate().filter(|(_, a)| a.ended == Some(Ended::Succeeded));
        let named = succeeded().find(|(_, attempt)| Some(attempt.number) == self.winner);
        let first = || succeeded().min_by_key(|(_, a)| (a.finish.unwrap_or(i64::MAX), a.number));
        named.or_else(first).map(|(index, _)| index)
    }

    /// Sorts the attempts by start time. If the log does not say whether an attempt is speculative, marks it as
    /// speculative if it started while another attempt of the task was running.
    pub(super) fn find_copies(&mut self) {
        self.attempts.sort_by_key(|attempt| (attempt.start, attempt.number));
        // The latest end of the attempts that started before.
        let mut busy_until = i64::MIN;
        let mut generation = u32::MAX;
        for attempt in &mut self.attempts {
            // A restarted ApplicationMaster numbers its attempts from 1000, 2000, … on. Earlier attempts ended with the
            // previous ApplicationMaster, even if their end is not in the log.
            if generation != attempt.number / 1000 {
                generation = attempt.number / 1000;
                busy_until = i64::MIN;
            }
            let Some(start) = attempt.start else {
                attempt.marked.get_or_insert(false);
                continue;
            };
            attempt.marked.get_or_insert(start < busy_until);
            let until = match (attempt.ended, attempt.finish) {
                (_, Some(finish)) => finish,
                (None, None) => i64::MAX,
                (Some(_), None) => start,
            };
            busy_until = busy_until.max(until);
        }
    }

    /// Returns how close to its input an attempt ran. If the log does not say, compares the attempt's machine and rack
    /// with those that hold the input; `None` if these are unknown.
    pub(super) fn place(&self, attempt: &Attempt, hosts: &Hosts) -> Option<Place> {
        if attempt.place.is_some() {
            return attempt.place;
        }
        let host = attempt.host?;
        if self.splits.is_empty() {
            return None;
        }
        if self.splits.contains(&host) {
            return Some(Place::Node);
        }
        let rack = hosts.rack(host)?;
        let racks = || self.splits.iter().map(|&split| hosts.rack(split));
        if racks().any(|other| other == Some(rack)) {
            return Some(Place::Rack);
        }
        racks().all(|other| other.is_some()).then_some(Place::Off)
    }
}

impl Attempt {
    /// Records an end. If an attempt that succeeded is later reported as failed, its output was lost: the last report
    /// decides how it ended, but its finish time is the time of its success. Returns whether the previous report said
    /// the same.
    pub(super) fn end(&mut self, ended: Ended, finish: Option<i64>) -> bool {
        let before = self.ended.replace(ended);
        self.output_lost |= before == Some(Ended::Succeeded) && ended != Ended::Succeeded;
        if before.is_none() || self.finish.is_none() {
            self.finish = finish;
        }
        before == Some(ended)
    }
}

/// Returns when a reduce that ran from `start` to `finish` could begin its work. If the last map ended during the run,
/// this is when the last map ended, because the reduce waited until then; otherwise it is the reduce's start.
pub(super) fn work_began(start: i64, finish: i64, maps_ended: Option<i64>) -> i64 {
    maps_ended.filter(|&ended| start < ended && ended < finish).unwrap_or(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(number: u32, start: i64, finish: Option<i64>, ended: Option<Ended>) -> Attempt {
        Attempt { number, start: Some(start), finish, ended, ..Attempt::default() }
    }

    fn marks(attempts: Vec<Attempt>) -> Vec<(u32, bool)> {
        let mut task = Task { attempts, ..Task::default() };
        task.find_copies();
        task.attempts.iter().map(|a| (a.number, a.marked == Some(true))).collect()
    }

    #[test]
    fn attempts_that_start_while_another_runs_are_copies() {
        let killed = Some(Ended::Killed);
        let won = Some(Ended::Succeeded);
        assert_eq!(
            marks(vec![attempt(1, 50, Some(90), won), attempt(0, 10, Some(95), killed)]),
            [(0, false), (1, true)]
        );
        // The second attempt starts at the instant at which the first fails.
        assert_eq!(
            marks(vec![attempt(0, 10, Some(50), Some(Ended::Failed)), attempt(1, 50, Some(90), won)]),
            [(0, false), (1, false)]
        );
        // The first attempt has no end in the log; the third starts after the second has ended, while the first runs.
        assert_eq!(
            marks(vec![attempt(0, 10, None, None), attempt(1, 20, Some(30), killed), attempt(2, 40, Some(50), won)]),
            [(0, false), (1, true), (2, true)]
        );
        // The first attempt ended with its ApplicationMaster.
        assert_eq!(
            marks(vec![attempt(0, 10, None, None), attempt(1000, 20, Some(30), won)]),
            [(0, false), (1000, false)]
        );
        let mut marked = attempt(1, 20, Some(30), won);
        marked.marked = Some(false);
        assert_eq!(marks(vec![attempt(0, 10, Some(40), killed), marked]), [(0, false), (1, false)]);
    }

    #[test]
    fn the_last_reported_end_of_an_attempt_counts() {
        let mut first = Attempt::default();
        assert!(!first.end(Ended::Succeeded, Some(10)));
        assert!(!first.end(Ended::Failed, Some(90)));
        assert_eq!((first.ended, first.finish, first.output_lost), (Some(Ended::Failed), Some(10), true));
        assert!(first.end(Ended::Failed, Some(91)));
    }

    #[test]
    fn reduces_begin_their_work_when_the_last_map_ends() {
        assert_eq!(work_began(10, 50, Some(30)), 30);
        assert_eq!(work_began(40, 50, Some(30)), 40);
        assert_eq!(work_began(10, 20, Some(30)), 10);
        assert_eq!(work_began(10, 20, None), 10);
    }

    #[test]
    fn locality_follows_from_splits_and_racks() {
        let mut hosts = Hosts::default();
        let mut of = |field: &str| hosts.of(field).unwrap();
        let (a, b, c, d) = (of("/r1/a"), of("/r1/b"), of("/r2/c"), of("d"));
        let mut task = Task { splits: vec![a], ..Task::default() };
        let place =
            |task: &Task, host, logged| task.place(&Attempt { host, place: logged, ..Attempt::default() }, &hosts);
        assert_eq!(place(&task, Some(a), None), Some(Place::Node));
        assert_eq!(place(&task, Some(b), None), Some(Place::Rack));
        assert_eq!(place(&task, Some(c), None), Some(Place::Off));
        assert_eq!(place(&task, Some(d), None), None);
        assert_eq!(place(&task, None, None), None);
        assert_eq!(place(&task, Some(a), Some(Place::Off)), Some(Place::Off));
        task.splits = vec![a, d];
        assert_eq!(place(&task, Some(c), None), None);
        task.splits.clear();
        assert_eq!(place(&task, Some(a), None), None);
    }
}
