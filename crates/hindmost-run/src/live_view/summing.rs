//! Makes a snapshot: counts the attempts of the timeline, and adds what the replayed cluster and the files show.

use hindmost_core::cluster;
use hindmost_core::ids::{JobId, NodeId, TaskId};
use hindmost_core::resources::feature_of;
use hindmost_core::time::Time;
use hindmost_core::timeline::{AttemptEnd, AttemptKind, Cause, Timeline, TimelineJob, TimelineRow};
use hindmost_core::workload::DemandByName;
use rustc_hash::FxHashMap;

use super::files::{End, Files};
use super::followed::Followed;
use super::snapshot::{
    AttemptState, AttemptView, Copies, EndedView, FailureView, JobState, JobView, NodeView, Outcome, PhaseView,
    Snapshot, State,
};
use super::{is_last, paused};

/// Largest numbers of running attempts, of ended attempts and of failures in a snapshot.
const MOST_RUNNING: usize = 1000;
const MOST_ENDED: usize = 1000;
const MOST_FAILURES: usize = 20;
/// Largest number of attempts whose reports of progress are read for a snapshot.
const MOST_REPORTS: usize = 200;
/// Time for which an attempt that has ended stays in the snapshots.
const KEPT: Time = Time(600_000_000_000);
/// A node is slow if its learned speed is less than this share of the speed with which it joined.
const SLOW: f64 = 0.9;
/// Time, share of the work and number of tasks from which on the time left is estimated: this time, and one of the others.
const SHORTEST: f64 = 1.0;
const ENOUGH_PROGRESS: f64 = 0.02;
const ENOUGH_TASKS: u64 = 3;
/// Longest message of a failure, in characters.
const LONGEST_MESSAGE: usize = 500;

/// Counts of a phase.
#[derive(Default)]
struct Counts {
    view: PhaseView,
    /// Durations of winners, seconds.
    durations: Vec<f64>,
    /// When the first attempt after the last pause started.
    since: Option<Time>,
    /// Number of tasks that finished since then.
    finished_since: u64,
    /// Sum of the shares of work that running attempts have done, one attempt of each task.
    done: f64,
}

/// Returns the state of a run at the time `now`. `ends` says how each job ended.
pub(super) fn snapshot(followed: &Followed, files: &Files, ends: &[Option<End>], state: State, now: Time) -> Snapshot {
    let timeline = followed.builder.timeline();
    let resumed = files.record().and_then(|job| job.pauses.last()).map_or(Time::ZERO, |(_, end)| Time(*end));
    let mut counts: Vec<Vec<Counts>> =
        timeline.jobs.iter().map(|job| job.spec.phases.iter().map(|_| Counts::default()).collect()).collect();
    let (mut running, mut ended, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    let mut on_nodes = vec![0; timeline.nodes.len()];
    let mut copies_of: FxHashMap<TaskId, u32> = FxHashMap::default();
    let mut starting: FxHashMap<TaskId, u32> = FxHashMap::default();
    for (at, row) in timeline.rows.iter().enumerate() {
        let task = row.attempt.task;
        let Some(of) = counts.get_mut(task.job.0 as usize).and_then(|job| job.get_mut(task.phase as usize)) else {
            continue;
        };
        of.count(row, resumed);
        if row.outcome == AttemptEnd::Running {
            running.push(at);
            *copies_of.entry(task).or_default() += 1;
            if is_starting(followed, row) {
                *starting.entry(task).or_default() += 1;
            }
            if let Some(count) = on_nodes.get_mut(row.node.0 as usize) {
                *count += 1;
            }
        } else {
            if row.end + KEPT >= now {
                ended.push(at);
            }
            if matches!(row.outcome, AttemptEnd::Failed(_) | AttemptEnd::NodeLost) {
                failed.push(at);
            }
        }
    }
    newest(&mut ended, MOST_ENDED, timeline);
    newest(&mut failed, MOST_FAILURES, timeline);
    let starting_attempts = starting.values().copied().map(u64::from).sum::<u64>();
    let running_attempts = running.len() as u64 - starting_attempts;
    let views = attempts(followed, files, &running, &copies_of, now, &mut counts);
    for (task, copies) in &copies_of {
        let view = &mut counts[task.job.0 as usize][task.phase as usize].view;
        let runs = starting.get(task).is_none_or(|starting| starting < copies);
        *(if runs { &mut view.running } else { &mut view.starting }) += 1;
    }
    let jobs: Vec<JobView> = (0..)
        .zip(timeline.jobs.iter().zip(counts))
        .map(|(id, (job, counts))| {
            let end = ends.get(id as usize).and_then(Option::as_ref);
            job_view((followed, files), (JobId(id), job, end), counts, state, now)
        })
        .collect();
    let of_attempts = |of: fn(&PhaseView) -> u64| jobs.iter().flat_map(|job| &job.phases).map(of).sum::<u64>();
    let (all_attempts, failed_attempts) = (of_attempts(|phase| phase.attempts), of_attempts(|phase| phase.failed));
    let copies = Copies {
        running: of_attempts(|phase| phase.copies.running),
        launched: of_attempts(|phase| phase.copies.launched),
        won: of_attempts(|phase| phase.copies.won),
    };
    let (jobs, numbers) = current_jobs(jobs, timeline, files, now);
    let number = |job: u32| numbers.get(job as usize).copied().unwrap_or(job);
    let phases = || jobs.iter().flat_map(|job| &job.phases);
    let sum = |of: fn(&PhaseView) -> u64| phases().map(of).sum::<u64>();
    let is_active = |phase: &&PhaseView| phase.running > 0 && phase.finished < phase.tasks;
    let lefts: Option<Vec<f64>> = phases().filter(is_active).map(|phase| phase.left).collect();
    Snapshot {
        state,
        policy: followed.header().map(|header| header.policy.clone()).unwrap_or_default(),
        knowledge: followed.header().map(|header| header.knowledge.to_string()).unwrap_or_default(),
        now: now.seconds(),
        elapsed: (now - paused(files.record(), now)).seconds(),
        left: lefts.filter(|_| !state.is_over()).and_then(|lefts| lefts.into_iter().reduce(f64::max)),
        more_phases: !state.is_over() && jobs.iter().any(has_more_phases),
        tasks: sum(|phase| phase.tasks),
        finished: sum(|phase| phase.finished),
        attempts: all_attempts,
        failed_attempts,
        failed_tasks: jobs.iter().map(|job| job.failed_tasks).sum(),
        copies,
        nodes: nodes(followed, &on_nodes),
        running_attempts,
        starting_attempts,
        awaiting_tasks: followed.awaiting.len() as u64,
        running: views.into_iter().map(|view| AttemptView { job: number(view.job), ..view }).collect(),
        ended: ended
            .iter()
            .filter_map(|at| ended_view(followed, *at))
            .map(|view| EndedView { job: number(view.job), ..view })
            .collect(),
        failures: failed
            .iter()
            .filter_map(|at| failure_view(timeline, &timeline.rows[*at]))
            .map(|view| FailureView { job: number(view.job), ..view })
            .collect(),
        problem: followed.problem(),
        jobs,
        ..Snapshot::default()
    }
}

/// Returns the jobs of a run, each once, and for each job of the journal its number among them. A job that was submitted again
/// counts as it is now. Jobs that are not in the journal come last.
fn current_jobs(all: Vec<JobView>, timeline: &Timeline, files: &Files, now: Time) -> (Vec<JobView>, Vec<u32>) {
    let names: Vec<&str> = timeline.jobs.iter().map(|job| &*job.spec.name).collect();
    let missing = files.not_arrived(&names, now.seconds());
    let several = files.has_several_jobs();
    let kept: Vec<usize> = (0..all.len()).filter(|at| !several || is_last(&timeline.jobs, *at)).collect();
    let number = |at: usize| kept.iter().position(|kept| *kept == at || several && names[*kept] == names[at]);
    let numbers = (0..all.len()).map(|at| number(at).unwrap_or(at) as u32).collect();
    let current = all.into_iter().enumerate().filter(|(at, _)| kept.contains(at)).map(|(_, job)| job);
    (current.chain(missing).collect(), numbers)
}

/// Returns true if the command of an attempt that has not ended has not begun either.
fn is_starting(followed: &Followed, row: &TimelineRow) -> bool {
    let known = followed.cluster().and_then(|cluster| cluster.attempt(row.attempt));
    known.is_some_and(|attempt| attempt.state() == cluster::AttemptState::Starting)
}

/// Returns true if a phase of the job has not begun yet, or waits.
fn has_more_phases(job: &JobView) -> bool {
    let is_open = |phase: &PhaseView| {
        phase.running == 0 && phase.starting == 0 && phase.finished + phase.failed_tasks < phase.tasks
    };
    job.end.is_none() && job.phases.iter().any(is_open)
}

/// Keeps the rows that ended last, the newest first.
fn newest(rows: &mut Vec<usize>, most: usize, timeline: &Timeline) {
    let key = |at: &usize| (std::cmp::Reverse(timeline.rows[*at].end), std::cmp::Reverse(*at));
    if rows.len() > most {
        rows.select_nth_unstable_by_key(most, key);
        rows.truncate(most);
    }
    rows.sort_unstable_by_key(key);
}

impl Counts {
    /// Counts an attempt. `resumed` is the end of the last pause.
    fn count(&mut self, row: &TimelineRow, resumed: Time) {
        let view = &mut self.view;
        view.attempts += 1;
        view.copies.launched += u64::from(row.redundant);
        if row.start >= resumed {
            self.since = Some(self.since.map_or(row.start, |since| since.min(row.start)));
        }
        match row.outcome {
            AttemptEnd::Won => {
                view.finished += 1;
                view.copies.won += u64::from(row.redundant);
                self.durations.push((row.end - row.start).seconds());
                self.finished_since += u64::from(row.end >= resumed);
            }
            AttemptEnd::Lost | AttemptEnd::Replaced => view.killed += 1,
            AttemptEnd::Failed(_) | AttemptEnd::NodeLost => view.failed += 1,
            AttemptEnd::Abandoned | AttemptEnd::Stopped => {}
            AttemptEnd::Running => view.copies.running += u64::from(row.redundant),
        }
    }

    /// Estimates the time left from the pace since the phase began or was resumed.
    fn left(&self, now: Time) -> Option<f64> {
        let PhaseView { tasks, finished, .. } = self.view;
        let took = (now - self.since?).seconds();
        let done = self.finished_since as f64 + self.done;
        let is_enough = self.finished_since >= ENOUGH_TASKS || done >= ENOUGH_PROGRESS * tasks as f64;
        let to_do = (tasks.saturating_sub(finished) as f64 - self.done).max(0.0);
        (took >= SHORTEST && is_enough && done > 0.0).then(|| took * to_do / done)
    }
}

fn job_view(
    (followed, files): (&Followed, &Files),
    (id, job, end): (JobId, &TimelineJob, Option<&End>),
    counts: Vec<Counts>,
    state: State,
    now: Time,
) -> JobView {
    let record = files.job(id, &job.spec.name);
    let mut phases: Vec<PhaseView> = Vec::new();
    for (at, (mut count, spec)) in (0..).zip(counts.into_iter().zip(&job.spec.phases)) {
        let recorded = record.and_then(|record| record.tasks.get(at as usize));
        let withdrawn = recorded.map_or(&[][..], |phase| &phase.withdrawn);
        let is_withdrawn = |task: u32| withdrawn.binary_search(&task).is_ok() || withdrawn.contains(&task);
        let is_its = withdrawn.iter().filter(|task| **task < spec.tasks).count() as u64;
        count.view.tasks = u64::from(spec.tasks).saturating_sub(is_its);
        count.view.finished +=
            spec.finished.iter().filter(|task| withdrawn.is_empty() || !is_withdrawn(**task)).count() as u64;
        if !withdrawn.is_empty() {
            let rows = followed.builder.timeline().rows.iter();
            let won = rows.filter(|row| row.outcome == AttemptEnd::Won).map(|row| row.attempt.task);
            let gone = won.filter(|task| task.job == id && task.phase == at && is_withdrawn(task.index)).count();
            count.view.finished = count.view.finished.saturating_sub(gone as u64);
        }
        let withdrawn_failed = |task: &&TaskId| task.job == id && task.phase == at && is_withdrawn(task.index);
        count.view.failed_tasks =
            followed.failed_in(id, at) - followed.failed.iter().filter(withdrawn_failed).count() as u64;
        count.view.left = if state.is_over() || count.view.running == 0 { None } else { count.left(now) };
        let is_waiting = |parent: &u32| {
            let parent = phases.get(*parent as usize);
            parent.is_some_and(|parent: &PhaseView| parent.finished + parent.failed_tasks < parent.tasks)
        };
        count.view.waiting = spec.barriers().any(|parent| is_waiting(&parent));
        count.view.progress =
            ((count.view.finished as f64 + count.done) / count.view.tasks.max(1) as f64).clamp(0.0, 1.0);
        let middle = count.durations.len().div_ceil(2).saturating_sub(1);
        if !count.durations.is_empty() {
            count.view.median = Some(*count.durations.select_nth_unstable_by(middle, f64::total_cmp).1);
        }
        count.view.name = spec.name.to_string();
        phases.push(count.view);
    }
    let over_at = job.finish.or(job.abandoned);
    let from_attempts = || match () {
        // The summary of such a job follows.
        () if followed.given_up.contains(&id) => JobState::Failed,
        () if job.abandoned.is_some() => JobState::Abandoned,
        () if over_at.is_some() => JobState::Done,
        () if phases.iter().any(|phase| phase.attempts > 0) => JobState::Running,
        () => JobState::Waiting,
    };
    let job_state = end.map_or_else(from_attempts, |end| JobState::from(end.state));
    let failed_tasks = phases.iter().map(|phase| phase.failed_tasks).sum::<u64>();
    JobView {
        name: job.spec.name.to_string(),
        state: job_state,
        arrival: job.arrival.seconds(),
        end: over_at.map(Time::seconds),
        deadline: job.spec.deadline.map(|deadline| (job.arrival + deadline).seconds()),
        tasks: phases.iter().map(|phase| phase.tasks).sum(),
        finished: phases.iter().map(|phase| phase.finished).sum(),
        // The journal of a run that has failed ends before its last task counts as failed.
        failed_tasks: failed_tasks.max(end.map_or(0, |end| end.failed_tasks)),
        report: None,
        phases,
    }
}

/// Returns the running attempts that have run longest, and adds to `counts` which share of their work the running attempts
/// have done.
fn attempts(
    followed: &Followed,
    files: &Files,
    running: &[usize],
    copies: &FxHashMap<TaskId, u32>,
    now: Time,
    counts: &mut [Vec<Counts>],
) -> Vec<AttemptView> {
    let timeline = followed.builder.timeline();
    let mut rows = running.to_vec();
    rows.sort_by_key(|at| (is_starting(followed, &timeline.rows[*at]), timeline.rows[*at].start));
    let mut views = Vec::new();
    let mut shares: FxHashMap<TaskId, f64> = FxHashMap::default();
    for (number, at) in rows.into_iter().enumerate() {
        let row = &timeline.rows[at];
        let TaskId { job, phase, index } = row.attempt.task;
        let known = followed.cluster().and_then(|cluster| cluster.attempt(row.attempt));
        let expected = known.and_then(cluster::Attempt::measured_finish);
        let reported = if number < MOST_REPORTS {
            files.progress(row.attempt, &timeline.jobs[job.0 as usize].spec.name)
        } else {
            None
        };
        let began = match known.map(cluster::Attempt::state) {
            Some(cluster::AttemptState::Running | cluster::AttemptState::Stopping) => {
                known.map_or(row.start, |known| known.began(now).max(row.start))
            }
            Some(cluster::AttemptState::Starting) | None => row.start,
        };
        let elapsed = (now.max(began) - began).seconds();
        let share = reported.or_else(|| {
            let all = (expected? - began).seconds();
            (all > 0.0).then(|| (elapsed / all).min(1.0))
        });
        if let Some(share) = share {
            let best = shares.entry(row.attempt.task).or_default();
            *best = best.max(share);
        }
        if views.len() >= MOST_RUNNING {
            continue;
        }
        let state = match known.map(cluster::Attempt::state) {
            _ if followed.builder.is_stopping(row.attempt) => AttemptState::Stopping,
            Some(cluster::AttemptState::Starting) => AttemptState::Starting,
            _ => AttemptState::Running,
        };
        views.push(AttemptView {
            job: job.0,
            phase: timeline.jobs[job.0 as usize].spec.phases[phase as usize].name.to_string(),
            task: index,
            copy: row.attempt.copy,
            node: timeline.node_name(row.node).to_owned(),
            kind: followed.builder.kind(at),
            state,
            start: row.start.seconds(),
            elapsed,
            expected_finish: expected.map(Time::seconds),
            progress: reported,
            copies: copies.get(&row.attempt.task).copied().unwrap_or(1),
            because: why(followed, row, followed.builder.kind(at)),
        });
    }
    for (task, share) in shares {
        counts[task.job.0 as usize][task.phase as usize].done += share;
    }
    views
}

/// Returns why an attempt was started, if it is not the first one of its task.
fn why(followed: &Followed, row: &TimelineRow, kind: AttemptKind) -> Option<String> {
    let is_first = matches!(kind, AttemptKind::Original);
    followed.reasons.of(row.attempt).filter(|_| !is_first).map(str::to_owned)
}

fn nodes(followed: &Followed, attempts: &[u64]) -> Vec<NodeView> {
    let Some(header) = followed.header() else { return Vec::new() };
    let timeline = followed.builder.timeline();
    let view = |(at, node): (u32, &hindmost_core::timeline::TimelineNode)| {
        let known = followed.cluster().and_then(|cluster| cluster.node(NodeId(at)));
        let used = known.filter(|node| node.is_up()).map(|known| {
            let (mut used, free) = (*known.capacity(), known.free());
            used.0.iter_mut().zip(free.0).for_each(|(used, free)| *used = used.saturating_sub(free));
            resources(&header.dimensions.by_name(&used))
        });
        let slow = followed.learned_speed(NodeId(at)).filter(|speed| *speed < SLOW);
        NodeView {
            name: node.name.to_string(),
            lost: node.lost_and_returned.len() % 2 == 1,
            slow,
            capacity: resources(&header.dimensions.by_name(&node.capacity)),
            used,
            attempts: attempts.get(at as usize).copied().unwrap_or(0),
        }
    };
    (0..).zip(&timeline.nodes).map(view).collect()
}

/// Returns amounts without the dimensions that stand for features.
fn resources(amounts: &DemandByName) -> DemandByName {
    let is_resource = |(name, _): &(&String, &f64)| feature_of(name).is_none();
    amounts.iter().filter(is_resource).map(|(name, amount)| (name.clone(), *amount)).collect()
}

fn ended_view(followed: &Followed, at: usize) -> Option<EndedView> {
    let timeline = followed.builder.timeline();
    let row = &timeline.rows[at];
    let outcome = match row.outcome {
        AttemptEnd::Won => Outcome::Won,
        AttemptEnd::Lost => Outcome::Lost,
        AttemptEnd::Replaced => Outcome::Replaced,
        AttemptEnd::Failed(_) => Outcome::Failed,
        AttemptEnd::NodeLost => Outcome::NodeLost,
        AttemptEnd::Abandoned | AttemptEnd::Stopped => Outcome::Stopped,
        AttemptEnd::Running => return None,
    };
    Some(EndedView {
        job: row.attempt.task.job.0,
        phase: timeline.phase_name(row.attempt.task).to_owned(),
        task: row.attempt.task.index,
        copy: row.attempt.copy,
        node: timeline.node_name(row.node).to_owned(),
        kind: followed.builder.kind(at),
        start: row.start.seconds(),
        end: row.end.seconds(),
        outcome,
    })
}

fn failure_view(timeline: &Timeline, row: &TimelineRow) -> Option<FailureView> {
    let message = match &row.outcome {
        AttemptEnd::Failed(Cause::Own(reason)) => reason.chars().take(LONGEST_MESSAGE).collect(),
        AttemptEnd::Failed(Cause::External(Some(what))) => what.chars().take(LONGEST_MESSAGE).collect(),
        AttemptEnd::Failed(Cause::External(None)) => "the cause is not recorded".to_owned(),
        AttemptEnd::NodeLost => "its node was lost".to_owned(),
        _ => return None,
    };
    Some(FailureView {
        job: row.attempt.task.job.0,
        phase: timeline.phase_name(row.attempt.task).to_owned(),
        task: row.attempt.task.index,
        copy: row.attempt.copy,
        node: timeline.node_name(row.node).to_owned(),
        at: row.end.seconds(),
        message,
    })
}
