//! Tables of tools whose columns have names of their own or need rules of their own. A tool is recognised by its columns.
//!
//! **Airflow** (`task_instance`, `task_instance_history`, answers of its REST interface): a task instance is a DAG, a run, a task and a
//! `map_index`, and never has copies. Rows may stand for what never ran.
//!
//! **Parsl** (`try` of its monitoring database, alone or joined with `task`): a try failed if it has a history of failures. Only with
//! resource monitoring does Parsl write when a try began.

use super::columns::{Meaning, Places};
use crate::recording::Ended;
use crate::tasks::Collector;
use crate::tasks::units::is_given;

/// A tool whose tables are recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Airflow,
    Parsl,
}

/// The columns of a tool. Names are in lower case, without other signs than letters and digits.
pub(super) struct Preset {
    pub tool: Tool,
    /// For each of these, a table of the tool has a column with one of its names.
    needs: &'static [&'static [&'static str]],
    /// The names of columns with a meaning, before the usual ones. A column may have two of these meanings.
    pub means: &'static [(Meaning, &'static [&'static str])],
    /// Meanings that no other column has.
    pub none: &'static [Meaning],
    /// A column whose value comes before that of the job.
    pub before_job: &'static str,
    /// A column that says what runs the task.
    pub runner: &'static str,
}

#[rustfmt::skip]
const PRESETS: [Preset; 2] = [
    Preset {
        tool: Tool::Airflow,
        needs: &[&["taskid"], &["mapindex", "dagid"], &["startdate"]],
        means: &[
            (Meaning::Task, &["mapindex", "taskid"]), (Meaning::Phase, &["taskid"]), (Meaning::Job, &["runid", "dagrunid", "dagid"]),
            (Meaning::Submitted, &["queueddttm", "queuedwhen"]), (Meaning::Attempt, &["trynumber"]), (Meaning::State, &["state"]),
        ],
        none: &[Meaning::Input, Meaning::Speculative, Meaning::Cause],
        before_job: "dagid",
        runner: "operator",
    },
    Preset {
        tool: Tool::Parsl,
        needs: &[&["taskid"], &["tryid"], &["tasktrytimereturned", "tasktrytimelaunched", "taskfailhistory", "taskfuncname"]],
        means: &[
            (Meaning::Task, &["taskid"]), (Meaning::Attempt, &["tryid"]), (Meaning::Job, &["runid"]), (Meaning::Phase, &["taskfuncname"]),
            (Meaning::Submitted, &["tasktrytimelaunched"]), (Meaning::Start, &["tasktrytimerunning"]),
            (Meaning::End, &["tasktrytimereturned"]), (Meaning::Cause, &["taskfailhistory"]),
        ],
        none: &[],
        before_job: "",
        runner: "taskexecutor",
    },
];

impl Preset {
    /// Recognises the tool of a table with columns of these plain names.
    pub(super) fn of(columns: &[String]) -> Option<&'static Preset> {
        let has = |names: &&[&str]| columns.iter().any(|column| names.contains(&&**column));
        PRESETS.iter().find(|preset| preset.needs.iter().all(has))
    }
}

/// What a row of a tool says beside its times.
pub(super) struct Said<'a> {
    pub state: &'a str,
    pub node: Option<&'a str>,
    pub attempt: &'a str,
    pub cause: &'a str,
    /// What ran the task.
    pub runner: &'a str,
    pub submitted: Option<f64>,
    pub start: Option<f64>,
    pub end: Option<f64>,
    /// Whether rows of the table have a start.
    pub others_have_starts: bool,
}

/// What a tool's rule makes of a row.
pub(super) enum Rule {
    /// As in any table.
    Usual,
    /// It ended like this; `None` if it has not ended.
    Ended(Option<Ended>),
    /// It is no attempt.
    NoAttempt(&'static str),
}

impl Tool {
    /// Applies the tool's rule to a row.
    pub(super) fn rule(self, said: &Said<'_>) -> Rule {
        match self {
            Tool::Airflow => airflow(said),
            Tool::Parsl => parsl(said),
        }
    }

    /// Says what the tool's record leaves out, given whether it names the tasks of a phase, and whether rows have a start.
    pub(super) fn note_what_is_missing(
        self,
        places: &Places,
        (knows_tasks, have_starts): (bool, bool),
        collector: &mut Collector,
    ) {
        let mut note = |text: &str| collector.issues.note(text);
        match self {
            Tool::Airflow if !knows_tasks => note(
                "This table of Airflow has no column \"map_index\": the instances of a mapped task can't be distinguished. Export this column, too.",
            ),
            Tool::Airflow => {}
            Tool::Parsl => {
                if places.of(Meaning::Cause).is_none() {
                    note(
                        "This table of Parsl has no column \"task_fail_history\": of the last try of a task, nothing says whether it failed.",
                    );
                }
                if !have_starts {
                    note(
                        "Parsl writes when and where a try began only with resource monitoring (resource_monitoring_enabled): these tries \
                         have no durations, and those of memoized tasks can't be distinguished.",
                    );
                }
                if places.of(Meaning::Phase).is_none() {
                    note(
                        "The table \"try\" of Parsl does not name functions: all tasks are compared with each other. Join it with \"task\" for \
                         the column \"task_func_name\".",
                    );
                }
            }
        }
    }
}

fn airflow(said: &Said<'_>) -> Rule {
    let never_ran = match (said.attempt, said.node) {
        ("", Some(node)) => node.is_empty(),
        ("", None) => said.start.zip(said.end).is_none_or(|(start, end)| start == end),
        (number, _) => number == "0",
    };
    match said.state.to_ascii_lowercase().as_str() {
        "upstream_failed" => Rule::NoAttempt("tasks that never ran, because others had failed"),
        "skipped" if never_ran => Rule::NoAttempt("tasks that were skipped"),
        "skipped" => Rule::Ended(Some(Ended::Succeeded)),
        "removed" => Rule::NoAttempt("tasks that were removed from their DAG runs"),
        "up_for_retry" => Rule::Ended(Some(Ended::Failed)),
        "up_for_reschedule" | "restarting" => Rule::Ended(None),
        _ => Rule::Usual,
    }
}

fn parsl(said: &Said<'_>) -> Rule {
    let has_failed = is_given(said.cause);
    if said.runner == "_parsl_internal" {
        Rule::NoAttempt("tasks that ran in Parsl's driver, such as join apps")
    } else if said.submitted.is_none() && said.start.is_none() && has_failed {
        Rule::NoAttempt("tasks that never ran, because others had failed")
    } else if said.start.is_none() && said.end.is_some() && !has_failed && said.others_have_starts {
        Rule::NoAttempt("tries without a start although others have one: tasks whose results were memoized")
    } else {
        Rule::Usual
    }
}

/// Returns whether what runs a task of Airflow is a sensor.
pub(super) fn is_sensor(runner: &str) -> bool {
    runner.contains("Sensor")
}

/// What is said about sensors.
pub(super) const SENSORS: &str = "Some tasks are sensors of Airflow. Of one in mode \"reschedule\", the table has only the last execution: when the \
    sensor began, and its earlier executions, are only in \"task_reschedule\". A deferred one has no slot for most of its time.";
