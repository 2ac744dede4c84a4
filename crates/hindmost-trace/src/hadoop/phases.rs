//! Splits a job's tasks into maps and reduces.

use super::job::{Attempt, Job, Task, TaskKey, work_began};
use crate::recording::Ended;

/// The names of the phases in a replay, by number.
pub(super) const PHASES: [&str; 2] = ["map", "reduce"];

/// The tasks of a phase of a job.
pub(super) struct Phase {
    pub number: u32,
    pub tasks: Vec<(u32, Task)>,
}

/// Splits the job's tasks into maps and reduces, sorted by index, with speculative attempts marked. For tasks of
/// other kinds, returns how their attempts ended.
pub(super) fn split(job: &mut Job) -> ([Phase; 2], Vec<Ended>) {
    let mut phases = [0, 1].map(|number| Phase { number, tasks: Vec::new() });
    let mut others = Vec::new();
    let mut tasks: Vec<(TaskKey, Task)> = std::mem::take(&mut job.tasks).into_iter().collect();
    tasks.sort_unstable_by_key(|(key, _)| *key);
    for (key, mut task) in tasks {
        let Some(at) = key.kind.phase() else {
            others.extend(task.attempts.iter().filter_map(|attempt| attempt.ended));
            continue;
        };
        task.find_copies();
        phases[at].tasks.push((key.index, task));
    }
    for phase in &mut phases {
        // Task numbers far above the number of tasks are replaced by consecutive ones.
        let highest = phase.tasks.iter().map(|(index, _)| *index as usize).max();
        if highest.is_some_and(|highest| highest > 1024 + 4 * phase.tasks.len()) {
            for (number, (index, _)) in (0..).zip(&mut phase.tasks) {
                *index = number;
            }
        }
    }
    (phases, others)
}

/// Returns how long an attempt worked in seconds, at least 0.001. For reduces, `maps_ended` is when the last map
/// ended.
pub(super) fn duration(attempt: &Attempt, maps_ended: Option<i64>) -> Option<f64> {
    let (start, finish) = (attempt.start?, attempt.finish?);
    Some((finish - work_began(start, finish, maps_ended)).max(1) as f64 / 1000.0)
}
