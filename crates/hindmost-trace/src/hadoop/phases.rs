//! A job's tasks, taken apart into maps and reduces.

use super::job::{Attempt, Job, Task, TaskKey, work_began};
use crate::analysis::Ended;

/// What phases are called.
pub(super) const PHASES: [&str; 2] = ["map", "reduce"];

/// A phase's tasks while the job is taken in.
pub(super) struct Phase {
    pub number: u32,
    pub tasks: Vec<(u32, Task)>,
}

/// Takes the job's tasks apart into maps and reduces, by index, their copies found. Of others, how their attempts ended.
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
        // Numbers far beyond those of the tasks are no indices to count by.
        let highest = phase.tasks.iter().map(|(index, _)| *index as usize).max();
        if highest.is_some_and(|highest| highest > 1024 + 4 * phase.tasks.len()) {
            for (number, (index, _)) in (0..).zip(&mut phase.tasks) {
                *index = number;
            }
        }
    }
    (phases, others)
}

/// Seconds that an attempt worked, at least a millisecond; of a reduce, from the end of the last map.
pub(super) fn duration(attempt: &Attempt, maps_ended: Option<i64>) -> Option<f64> {
    let (start, finish) = (attempt.start?, attempt.finish?);
    Some((finish - work_began(start, finish, maps_ended)).max(1) as f64 / 1000.0)
}
