//! Restarts, in `pace`, of attempts that seem to hang, where a task may have only one attempt at a time.
//!
//! A phase or a task gets no copies if two attempts of a task would write one file. Then the only cure for an attempt that hangs is
//! to stop it and, when it has ended, to start its task again. What the attempt has done is lost, so a restart is a bet: it loses
//! if the task is long by nature. So it takes more than a copy does:
//!
//! - **Age.** The attempt is older than the durations of its phase explain ([`Lateness::hung`]; for a larger input, later), and
//!   [`BEYOND`] times as old as any winner of the phase became. Ages on slow nodes count less. An attempt whose measured progress
//!   lets expect an end
//!   ahead does not hang.
//! - **Few bets.** As long as restarts have not won, at most [`FEW`] run whose outcome is open.
//! - **Outcomes.** A restart wins if its task ends before the new attempt is as old as the one that was stopped, and loses otherwise. Each
//!   loss that is not outweighed by wins doubles the age, as losing copies do ([`Outcomes::factor`]).
//! - **Again.** A task whose restart has lost is most likely long by nature: it is not restarted again, unless restarts of the
//!   phase have won. Then it is at twice the age.

use std::collections::BTreeSet;

use hindmost_core::cluster::{Attempt, AttemptState, Cluster, Node, Phase};
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::policy::{Pass, Round, Seen, View};
use hindmost_core::record::{Condition, Decision, Event, StopReason};
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

use super::PaceParameters;
use super::evidence::Outcomes;
use super::hung::BEYOND;
use super::lateness::Lateness;
use crate::speculation::input_sizes::InputSizes;

/// As long as restarts have not won, at most this many run whose outcome is open.
const FEW: u32 = 2;

/// A task is restarted again only when its attempt is this many times as old as the one that was stopped.
const AGAIN: f64 = 2.0;

/// The last restart of a task.
#[derive(Clone, Copy, Debug)]
struct Restarted {
    /// The age of the attempt that was stopped, in seconds; on a slow node, times its speed.
    age: f64,
    is_open: bool,
    /// True once the task has started again.
    has_started: bool,
}

/// The pass that restarts attempts.
pub struct Restarts {
    parameters: PaceParameters,
    input_sizes: InputSizes,
    /// The longest time that a winner of each phase has taken, in seconds; on a slow node, times its speed.
    longest: FxHashMap<(JobId, u32), f64>,
    outcomes: FxHashMap<(JobId, u32), Outcomes>,
    restarted: FxHashMap<TaskId, Restarted>,
    /// Unfinished tasks that may be restarted although their phases may have copies.
    alone: BTreeSet<TaskId>,
    /// When running attempts are examined next.
    due: BTreeSet<(Time, AttemptId)>,
}

impl Restarts {
    /// Creates the pass.
    pub fn new(parameters: PaceParameters) -> Restarts {
        Restarts {
            parameters,
            input_sizes: InputSizes::default(),
            longest: FxHashMap::default(),
            outcomes: FxHashMap::default(),
            restarted: FxHashMap::default(),
            alone: BTreeSet::new(),
            due: BTreeSet::new(),
        }
    }

    /// Returns an attempt and its phase, if it may be restarted at some age.
    fn candidate(id: AttemptId, cluster: &Cluster) -> Option<(&Attempt, &Phase)> {
        let phase = cluster.phase(id.task).filter(|phase| !phase.is_assumed())?;
        let task = cluster.task(id.task).filter(|task| !task.is_finished())?;
        let may_restart = task.may_restart() || phase.may_only_restart() && !task.has_last_copies();
        let is_alone = may_restart && task.unstopped_copies() == 1;
        cluster.attempt(id).filter(|attempt| is_alone && attempt.state() != AttemptState::Stopping).zip(Some(phase))
    }

    fn speed(attempt: &Attempt, cluster: &Cluster) -> f64 {
        cluster.node(attempt.node()).map_or(1.0, Node::speed)
    }

    fn outcomes(&self, task: TaskId) -> Outcomes {
        self.outcomes.get(&(task.job, task.phase)).copied().unwrap_or_default()
    }

    /// Returns the age from which on an attempt of a task seems to hang, in seconds; on a slow node, times its speed.
    fn limit(&self, task: TaskId, phase: &Phase, cluster: &Cluster) -> f64 {
        let PaceParameters { late, min_age, .. } = self.parameters;
        let ages = Lateness::of(phase, self.input_sizes.factor(task, true, cluster), (late, min_age));
        let longest = self.longest.get(&(task.job, task.phase)).copied().unwrap_or(0.0);
        let outcomes = self.outcomes(task);
        let limit = ages.hung(outcomes).max(BEYOND * longest);
        self.restarted
            .get(&task)
            .map_or(limit, |last| if outcomes.copies_win() { limit.max(AGAIN * last.age) } else { f64::INFINITY })
    }

    /// Returns when an attempt is to be examined next: when the restart that has started it has lost, or when it seems to hang.
    fn next_look(&self, id: AttemptId, cluster: &Cluster) -> Option<Time> {
        let (attempt, phase) = Restarts::candidate(id, cluster)?;
        let now = cluster.now();
        let limit = match self.restarted.get(&id.task) {
            Some(last) if last.is_open => last.age,
            _ => self.limit(id.task, phase, cluster),
        };
        if !limit.is_finite() {
            return None;
        }
        let at =
            attempt.began(now) + Time::from_seconds(limit / Restarts::speed(attempt, cluster).min(1.0)) + Time::TICK;
        Some(at.max(attempt.measured_finish().map_or(at, |finish| finish + Time::TICK)))
    }

    fn plan(&mut self, id: AttemptId, view: &mut View<'_>) {
        if let Some(at) = self.next_look(id, view.cluster).filter(|at| *at < Time::NEVER) {
            self.due.insert((at, id));
            view.wake(at);
        }
    }

    /// Plans when the running attempts of a task's phase are examined, because what is known of the phase has changed.
    fn plan_phase(&mut self, task: TaskId, view: &mut View<'_>) {
        let of_phase = |other: TaskId| (other.job, other.phase) == (task.job, task.phase);
        let mut running: Vec<AttemptId> = if view.cluster.phase(task).is_some_and(Phase::may_only_restart) {
            view.cluster.running().map(Attempt::id).filter(|id| of_phase(id.task)).collect()
        } else {
            let alone = self.alone.iter().filter(|other| of_phase(**other));
            alone.flat_map(|other| view.cluster.copies(*other).map(Attempt::id)).collect()
        };
        if running.is_empty() {
            return;
        }
        self.due.retain(|(_, id)| !of_phase(id.task));
        running.sort_unstable();
        for id in running {
            self.plan(id, view);
        }
    }

    /// Notes the outcome of a task's last restart, if it is open: it has won, has lost or says nothing.
    fn close(&mut self, task: TaskId, won: Option<bool>) {
        let Some(last) = self.restarted.get_mut(&task).filter(|last| last.is_open) else { return };
        last.is_open = false;
        let outcomes = self.outcomes.entry((task.job, task.phase)).or_default();
        outcomes.open -= 1;
        outcomes.won += u32::from(won == Some(true));
        outcomes.lost += f64::from(u8::from(won == Some(false)));
    }

    fn forget_job(&mut self, job: JobId) {
        self.longest.retain(|(known, _), _| *known != job);
        self.outcomes.retain(|(known, _), _| *known != job);
        self.restarted.retain(|task, _| task.job != job);
        self.alone.retain(|task| task.job != job);
        self.due.retain(|(_, id)| id.task.job != job);
    }

    /// Stops an attempt that seems to hang. Returns when it is to be examined again if it is not stopped.
    fn examine(&mut self, id: AttemptId, round: &mut Round<'_>) -> Option<Time> {
        let cluster = round.cluster();
        let (attempt, phase) = Restarts::candidate(id, cluster)?;
        let (now, age) = (cluster.now(), attempt.age(cluster.now()).seconds());
        let age = age * Restarts::speed(attempt, cluster).min(1.0);
        if self.restarted.get(&id.task).is_some_and(|last| last.is_open && age >= last.age) {
            self.close(id.task, Some(false));
        }
        let next = self.next_look(id, cluster)?;
        if next > now {
            return Some(next);
        }
        let outcomes = self.outcomes(id.task);
        if outcomes.open >= FEW && !outcomes.copies_win() {
            // A round follows when the outcome of another one is known.
            return Some(now);
        }
        let median = phase.median();
        if !round.decide(Decision::Stop { attempt: id, reason: StopReason::Restarted }) {
            return None;
        }
        round.because(|| {
            format!(
                "it seems to hang: it has run for {age:.2} s, longer than the durations of its phase explain (median {median:.2} s). Two \
                 attempts of its task would write one file, so it is stopped before its task starts again"
            )
        });
        self.restarted.insert(id.task, Restarted { age, is_open: true, has_started: false });
        self.outcomes.entry((id.task.job, id.task.phase)).or_default().open += 1;
        None
    }
}

impl Pass for Restarts {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        let cluster = view.cluster;
        self.input_sizes.observe(seen, cluster);
        match seen {
            Seen::Decision(Decision::Start { attempt, .. }) => {
                if let Some(last) = self.restarted.get_mut(&attempt.task) {
                    last.has_started = true;
                }
                let phase = cluster.phase(attempt.task).filter(|phase| phase.may_only_restart());
                if phase.is_some_and(Phase::gives_progress) {
                    view.watch(*attempt, Condition::Revealed);
                }
                self.plan(*attempt, view);
            }
            // The task may start again at once.
            Seen::Event(Event::AttemptStopped { attempt }, _)
                if self.restarted.get(&attempt.task).is_some_and(|last| last.is_open) =>
            {
                view.wake(cluster.now() + Time::TICK);
            }
            Seen::Event(Event::AttemptRunning { attempt, .. }, _)
                if Restarts::candidate(*attempt, cluster).is_some() =>
            {
                self.due.retain(|(_, id)| id != attempt);
                self.plan(*attempt, view);
            }
            Seen::Event(Event::NoMoreCopies { task, may_restart: true }, _) => {
                self.alone.insert(*task);
            }
            // Until then the copy that is left out counts as one of two.
            Seen::Event(Event::AttemptStopped { attempt }, _) if self.alone.contains(&attempt.task) => {
                self.plan_phase(attempt.task, view);
            }
            Seen::Event(Event::DurationsLearned { job, phase, .. }, _) => {
                self.plan_phase(TaskId { job: *job, phase: *phase, index: 0 }, view);
            }
            Seen::Event(Event::AttemptFinished { attempt }, applied) => {
                let task = attempt.task;
                if let Some((node, since)) = applied.released.filter(|_| applied.won) {
                    let took = (cluster.now() - (since + applied.waited)).seconds();
                    let took = took * cluster.node(node).map_or(1.0, Node::speed).min(1.0);
                    let longest = self.longest.entry((task.job, task.phase)).or_default();
                    *longest = longest.max(took);
                    let has_won = self.restarted.get(&task).is_some_and(|last| took < last.age);
                    self.close(task, Some(has_won));
                    self.restarted.remove(&task);
                    self.alone.remove(&task);
                    if has_won {
                        self.plan_phase(task, view);
                    }
                }
                if applied.job_finished {
                    self.forget_job(task.job);
                }
            }
            // The attempt that was stopped ends before its task has another one, which says nothing about that.
            Seen::Event(Event::AttemptFailed { attempt, .. }, _) => self.close(attempt.task, None),
            Seen::Event(Event::NodeLost { .. }, _) => {
                let mut open: Vec<TaskId> = self
                    .restarted
                    .iter()
                    .filter(|(_, last)| last.is_open && last.has_started)
                    .map(|(task, _)| *task)
                    .collect();
                open.retain(|task| cluster.copies(*task).next().is_none());
                for task in open {
                    self.close(task, None);
                }
            }
            Seen::Decision(Decision::Abandon { job }) => self.forget_job(*job),
            _ => {}
        }
    }

    fn decide(&mut self, round: &mut Round<'_>) {
        let now = round.cluster().now();
        // A restart whose outcome is known now lets others be tried.
        let mut has_changed = true;
        while std::mem::take(&mut has_changed) {
            let mut again = Vec::new();
            while let Some((at, id)) = self.due.first().copied().filter(|(at, _)| *at <= now) {
                self.due.remove(&(at, id));
                let before = self.outcomes(id.task);
                again.extend(self.examine(id, round).map(|at| (at, id)));
                has_changed |= self.outcomes(id.task).open < before.open;
            }
            self.due.extend(again.iter().copied());
            for (at, _) in again.into_iter().filter(|(at, _)| *at > now && *at < Time::NEVER) {
                round.decide(Decision::Wake { at });
            }
        }
    }
}
