//! A job as a recording.

use hindmost_core::metrics::Unsuccessful;
use rustc_hash::FxHashMap;

use super::hosts::{Host, Hosts};
use super::job::{Attempt, Job, JobEnd, Place, Task, work_began};
use super::phases::{PHASES, Phase};
use crate::reading::causes::NOT_SAID;
use crate::recording::{
    AttemptRow, Ended, Executor, PhaseRows, PlannedJob, PlannedPhase, Recording, TaskTimes, UNKNOWN,
};

/// Returns a job as a recording. Its executors are the hosts on which its attempts ran; how many slots they had is not known.
pub(super) fn of(number: u32, job: &Job, phases: &[Phase; 2], maps_ended: Option<i64>, hosts: &Hosts) -> Recording {
    let seconds = |at: i64| at as f64 / 1000.0;
    let mut executors = Executors { numbers: FxHashMap::default(), list: Vec::new() };
    let mut recording = Recording {
        application: number,
        id: job.id.as_deref().map(str::to_owned),
        name: job.name.as_deref().map(str::to_owned),
        from: job.submitted.or(job.span.map(|(from, _)| from)).map(seconds),
        to: job.finished.or(job.span.map(|(_, to)| to)).map(seconds),
        jobs: 1,
        settings: job.settings.clone(),
        unsuccessful: match job.end {
            Some(JobEnd::Succeeded) => None,
            Some(JobEnd::Failed) => Some(Unsuccessful::Failed),
            Some(JobEnd::Killed) => Some(Unsuccessful::Killed),
            None => Some(Unsuccessful::Unfinished),
        },
        ..Recording::default()
    };
    for phase in phases.iter().filter(|phase| !phase.tasks.is_empty()) {
        let is_reduce = phase.number == 1;
        let mut rows = PhaseRows {
            phase: phase.number,
            name: Some(PHASES[phase.number as usize].to_owned()),
            job: Some(job.called(number)),
            tasks: job.total[phase.number as usize],
            listed: Some(phase.tasks.len() as u32),
            submitted: if is_reduce { maps_ended } else { job.launched.or(job.submitted) }.map(seconds),
            ..PhaseRows::default()
        };
        for (index, task) in &phase.tasks {
            let winner = task.winner();
            for (at, attempt) in task.attempts.iter().enumerate() {
                let Some(ended) = attempt.ended else { continue };
                let start = match (attempt.start, attempt.finish) {
                    (Some(start), Some(finish)) if is_reduce => Some(work_began(start, finish, maps_ended)),
                    (start, _) => start,
                };
                let mut row = AttemptRow {
                    task: *index,
                    executor: UNKNOWN,
                    start: start.map_or(f64::NAN, seconds),
                    end: attempt.finish.map_or(f64::NAN, seconds),
                    bytes_read: attempt.bytes_read,
                    spent: TaskTimes { distance: distance(task, attempt, hosts), ..TaskTimes::default() },
                    ended,
                    wins: winner == Some(at),
                    speculative: attempt.marked == Some(true),
                    // An attempt whose output was lost counts as failed, so the next attempt wins the task.
                    repeated: false,
                    is_unmatched: false,
                };
                if !row.has_times() {
                    rows.without_times.push(row);
                    continue;
                }
                if ended == Ended::Failed {
                    recording.failed(attempt.cause.as_deref().unwrap_or(NOT_SAID), row.seconds());
                }
                row.executor = attempt.host.map_or(UNKNOWN, |host| executors.number(host, hosts));
                let held = attempt.start.map(seconds).filter(|held| *held < row.start && row.executor != UNKNOWN);
                rows.before_work.extend(held.map(|held| (row.executor, held, row.start)));
                rows.rows.push(row);
            }
        }
        rows.rows.sort_by(|a, b| a.end.total_cmp(&b.end).then(a.task.cmp(&b.task)));
        if !rows.rows.is_empty() {
            recording.phases.push(rows);
        } else if !rows.without_times.is_empty() {
            recording.without_times.push(rows);
        }
    }
    recording.executors = executors.list;
    recording.plan.extend(plan(number, job, phases, &recording));
    recording
}

/// Returns the job as a replay runs it: reduces wait for the maps, if there are any. `None` if no task succeeded.
fn plan(number: u32, job: &Job, phases: &[Phase; 2], recording: &Recording) -> Option<PlannedJob> {
    let succeeded = |rows: &PhaseRows| rows.winners().next().is_some();
    let mut numbers: Vec<u32> = recording.phases.iter().filter(|rows| succeeded(rows)).map(|rows| rows.phase).collect();
    numbers.sort_unstable();
    let winners =
        phases.iter().flat_map(|phase| &phase.tasks).filter_map(|(_, task)| Some(&task.attempts[task.winner()?]));
    let first = winners.filter(|winner| winner.finish.is_some()).filter_map(|winner| winner.start).min();
    (!numbers.is_empty()).then(|| PlannedJob {
        ids: vec![number],
        name: job.called(number),
        submitted: job.submitted.or(first).map(|at| at as f64 / 1000.0),
        phases: (0..).zip(numbers).map(|(at, phase)| PlannedPhase { phase, after: (0..at).collect() }).collect(),
    })
}

fn distance(task: &Task, attempt: &Attempt, hosts: &Hosts) -> u8 {
    match task.place(attempt, hosts) {
        Some(Place::Node) => 1,
        Some(Place::Rack) => 2,
        Some(Place::Off) => 3,
        None => 0,
    }
}

/// Hosts, numbered in the order in which they are met.
struct Executors {
    numbers: FxHashMap<Host, u32>,
    list: Vec<Executor>,
}

impl Executors {
    fn number(&mut self, host: Host, hosts: &Hosts) -> u32 {
        *self.numbers.entry(host).or_insert_with(|| {
            self.list.push(Executor { host: hosts.name(host).to_owned(), ..Executor::default() });
            self.list.len() as u32 - 1
        })
    }
}
