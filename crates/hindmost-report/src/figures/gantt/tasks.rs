//! Arranges the attempts of a job by task, so that the copies of a task are below each other.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::timeline::{AttemptEnd, Timeline, TimelineRow};
use hindmost_core::workload::PhaseSpec;
use rustc_hash::FxHashMap;

use super::pick::attempt;
use super::{Attempt, Panel, Row};
use crate::lanes;
use crate::text::counted;

/// Largest number of tasks that are drawn.
const MOST_TASKS: usize = 14;
/// Largest number of lanes of one task.
const MOST_LANES: usize = 8;
/// Largest number of lanes of all tasks together.
const MOST_LANES_TOGETHER: usize = 36;
/// Largest number of attempts drawn in one lane.
const MOST_ATTEMPTS: usize = 40;

/// The attempts of each task.
type ByTask<'a> = FxHashMap<TaskId, Vec<&'a TimelineRow>>;

fn by_task_of(timeline: &Timeline) -> ByTask<'_> {
    let mut tasks = ByTask::default();
    for row in &timeline.rows {
        tasks.entry(row.attempt.task).or_default().push(row);
    }
    tasks
}

/// Chooses the tasks to draw of a job that ran several times, sorted by id: the tasks that finished last in each run,
/// and the tasks whose copies ran longest in each run. The first run has twice as many tasks that finished last.
pub fn tasks_to_show(timelines: &[&Timeline]) -> Vec<TaskId> {
    let runs: Vec<ByTask<'_>> = timelines.iter().map(|timeline| by_task_of(timeline)).collect();
    let mut all: Vec<TaskId> = runs.iter().flat_map(|run| run.keys().copied()).collect();
    all.sort_unstable();
    all.dedup();
    let lanes = |task: &TaskId| {
        let of_run = |run: &ByTask<'_>| run.get(task).map_or(1, |rows| lanes::packed(rows.clone()).len());
        runs.iter().map(of_run).max().unwrap_or(1).clamp(1, MOST_LANES)
    };
    // Tasks are taken from the rankings in turn. The finish times of the first run are in two rankings.
    let ranked = |key: &dyn Fn(&TaskId) -> Option<hindmost_core::time::Time>| {
        let mut ranked: Vec<TaskId> = all.iter().copied().filter(|task| key(task).is_some()).collect();
        ranked.sort_by_key(|task| (Reverse(key(task)), *task));
        ranked.into_iter()
    };
    let mut rankings = Vec::new();
    for run in &runs {
        rankings.push(ranked(&|task| run.get(task)?.iter().map(|row| row.end).max()));
        let raced = |row: &&&TimelineRow| row.redundant;
        rankings.push(ranked(&|task| run.get(task)?.iter().filter(raced).map(|row| row.end - row.start).max()));
    }
    if let Some(run) = runs.first() {
        rankings.insert(0, ranked(&|task| run.get(task)?.iter().map(|row| row.end).max()));
    }
    let mut chosen: Vec<TaskId> = Vec::new();
    let mut lanes_left = MOST_LANES_TOGETHER;
    let mut named = true;
    while named && chosen.len() < MOST_TASKS {
        named = false;
        for ranking in &mut rankings {
            let Some(task) = ranking.find(|task| !chosen.contains(task)) else { continue };
            named = true;
            let needed = lanes(&task);
            if needed <= lanes_left && chosen.len() < MOST_TASKS {
                lanes_left -= needed;
                chosen.push(task);
            } else if chosen.len() >= MOST_TASKS || lanes_left == 0 {
                named = false;
                break;
            }
        }
    }
    chosen.sort_unstable();
    chosen
}

/// Returns a row for each of the `shown` tasks. The timeline has one job, and times count from its arrival. `reasons`
/// are the reasons for which attempts were started.
pub fn by_task(timeline: &Timeline, shown: &[TaskId], reasons: &BTreeMap<AttemptId, String>) -> Panel {
    let Some(job) = timeline.jobs.first() else { return Panel::default() };
    let origin = job.arrival.seconds();
    let tasks = by_task_of(timeline);
    let ready = Ready::new(timeline);
    let several = job.spec.phases.len() > 1;
    let mut panel = Panel { end: (timeline.end.seconds() - origin).max(0.0), ..Panel::default() };
    let drawn = |row: &TimelineRow| {
        let mut drawn = attempt(timeline, row, origin, reasons.get(&row.attempt).map(String::as_str));
        drawn.label = crate::text::name(timeline.node_name(row.node), 24, "…");
        drawn
    };
    for task in shown {
        let name = if several {
            format!("{}/{}", timeline.phase_name(*task), task.index)
        } else {
            format!("task {}", task.index)
        };
        let Some(rows) = tasks.get(task) else {
            // The task was not started in this run.
            panel.rows.push(Row { name, ..Row::default() });
            continue;
        };
        let mut lanes: Vec<Vec<Attempt>> =
            lanes::packed(rows.clone()).into_iter().map(|lane| lane.into_iter().map(drawn).collect()).collect();
        if lanes.len() > MOST_LANES || lanes.iter().any(|lane| lane.len() > MOST_ATTEMPTS) {
            let all = counted(rows.len() as u64, "attempt");
            panel.notes.push(format!("Task {}: some of its {all} are not drawn.", task.index));
            lanes.truncate(MOST_LANES);
            for lane in &mut lanes {
                lane.truncate(MOST_ATTEMPTS);
            }
        }
        let begun = rows.iter().map(|row| row.start).min().map_or(0.0, |start| start.seconds() - origin);
        let since = ready.as_ref().map_or(origin, |ready| ready.of(*task)) - origin;
        let waited = (begun > since).then_some([since, begun]);
        panel.rows.push(Row { name, lanes, away: Vec::new(), waited });
    }
    let count: u64 = job.spec.phases.iter().map(|phase| u64::from(phase.tasks)).sum();
    if (shown.len() as u64) < count {
        panel.notes.push(format!(
            "{} of {} are drawn: the tasks that finished last and the tasks whose copies ran longest.",
            shown.len(),
            counted(count, "task"),
        ));
    }
    panel
}

/// When the tasks of a job could start.
struct Ready<'a> {
    phases: &'a [PhaseSpec],
    arrival: f64,
    /// When each task finished, seconds.
    tasks: BTreeMap<TaskId, f64>,
    /// When the last task of each phase finished, seconds.
    finished: Vec<f64>,
}

impl Ready<'_> {
    fn new(timeline: &Timeline) -> Option<Ready<'_>> {
        let job = timeline.jobs.first()?;
        let arrival = job.arrival.seconds();
        let won = timeline.rows.iter().filter(|row| row.outcome == AttemptEnd::Won);
        let tasks: BTreeMap<TaskId, f64> = won.map(|row| (row.attempt.task, row.end.seconds())).collect();
        let mut finished = vec![arrival; job.spec.phases.len()];
        for (task, finish) in &tasks {
            if let Some(last) = finished.get_mut(task.phase as usize) {
                *last = finish.max(*last);
            }
        }
        Some(Ready { phases: &job.spec.phases, arrival, tasks, finished })
    }

    /// Returns the time at which a task could start, in seconds: the last finish of the phases and tasks for which it waits,
    /// or the job's arrival.
    fn of(&self, task: TaskId) -> f64 {
        let Some(phase) = self.phases.get(task.phase as usize) else { return self.arrival };
        let phases = phase.barriers().filter_map(|parent| self.finished.get(parent as usize).copied());
        let parents = phase.edges.iter().flat_map(|edges| {
            edges.parents_of(task.index).into_iter().map(|index| TaskId { phase: edges.parent, index, ..task })
        });
        let tasks = parents.filter_map(|parent| self.tasks.get(&parent).copied());
        phases.chain(tasks).fold(self.arrival, f64::max)
    }
}
