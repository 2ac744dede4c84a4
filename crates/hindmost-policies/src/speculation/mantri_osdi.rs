//! The rule of `mantri(rule=osdi2010)`: Mantri as its own paper describes it, with kill-restart, duplicates for tasks with
//! several copies, more duplicates while no task waits, and limits on both.
//!
//! Paper: Ananthanarayanan et al., "Reining in the outliers in Map-Reduce clusters using Mantri", OSDI 2010, section 5.1
//! (Resource-aware Restart) and its Pseudocode 1.
//!
//! Notation: t_rem is the remaining time of a task: the shortest of its running copies. t_new is the duration of a new
//! copy. c is the number of running copies. Δ is the time between progress reports: 10 s (`report`) or a tenth of the
//! duration, whichever is shorter.
//!
//! Algorithm, while resources are free:
//! 1. If tasks wait for resources, each straggler, the longest t_rem first, is helped in one of two ways:
//!    - **Kill-restart.** If t_rem > E\[t_new] + Δ, a new copy starts on another node and the old one is stopped, at most γ
//!      times for each task (`max_restarts`). As the mean of heavy-tailed durations is above their median, the restart
//!      then ends sooner with a probability above 1/2.
//!    - **Duplicate that saves resources.** Otherwise, if P(t_rem > t_new·(c + 1)/c) > δ, the task gets another copy. c
//!      copies would run for t_rem; with another copy, c + 1 run for t_new. With c = 1 this is the rule of Xu & Lau 2015.
//!
//!    Then waiting tasks start.
//! 2. If no task waits, a straggler gets another copy if E\[t_rem − t_new] > ρΔ (`spare`), although this costs resources.
//! 3. A task of which a copy was started within the last Δ is left alone. A copy that has run for Δ is stopped if α other
//!    copies (`copies`) are faster. So a task has at most α + 1 copies: 3 by default.
//!
//! Passes: `[Backups(1 and 3), Originals(order), Backups(2)]`.
//!
//! What was checked: the text of the paper was not at hand. Published notes on it confirm Δ, the two kinds of restart, that
//! a kill needs a better than even chance, the condition of saved resources while tasks wait, and that duplicates are
//! more generous otherwise. Xu & Lau 2015, section II, confirm δ = 0.25 and the factor for c = 1. The other formulas, their
//! order, and γ = 3, α = 2, ρ = 3 are given from memory. Pseudocode 1 prints E\[t_new − t_rem] in step 2, which can only
//! mean E\[t_rem − t_new].
//!
//! Deviations:
//! - "Tasks wait" means tasks of any job, because jobs share nodes here. In the paper, each job has its own manager.
//! - All stragglers are helped before the first waiting task starts. Pseudocode 1 starts a waiting task after each
//!   restart and duplicate; it is marked as simplified.
//! - The rule decides whenever resources become free or something becomes known, not only with a report every Δ. What
//!   is known of t_rem, and when, is set by the progress model, as for all policies. While t_rem of a copy is unknown, its
//!   task gets no other copy, and step 3 neither counts nor stops this copy.
//! - Only a task with one copy is killed and restarted.
//! - A task gets at most `max_duplicates` duplicates in all. As far as we know, the paper limits only how many run at the
//!   same time. If all copies of a task are slow, it would start one and stop another every Δ until the task ends.
//! - t_new has the distribution of the phase's durations, divided by the speed of the node on which the copy would start.
//!   The paper (section 5.5) predicts it from the size of the input, the location and the queueing delay.
//! - Other parts of the paper are not here: placement by network load, replication of outputs, and the order of tasks by
//!   the size of their input (sections 5.2 to 5.4).

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Bound;

use hindmost_core::cluster::{Attempt, AttemptState, Cluster, Node, Phase, Task};
use hindmost_core::estimator::{Knowledge, Pace, Test};
use hindmost_core::ids::{AttemptId, NodeId, TaskId};
use hindmost_core::policy::queue_place::Which;
use hindmost_core::policy::{Round, Seen, View};
use hindmost_core::record::{Condition, Decision, Event, StopReason};
use hindmost_core::time::Time;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Rule;
use super::mantri::MantriParameters;

/// A task reports progress at least this often while it runs.
const REPORTS: f64 = 10.0;

/// The rule of one of the two passes that start backups.
pub struct OsdiRule {
    parameters: MantriParameters,
    /// True for the pass before originals, which acts while tasks wait and stops slow copies. False for the pass after
    /// them, which acts while no task waits.
    contended: bool,
    /// Tasks with an attempt that met its condition, which the next round examines.
    tasks: BTreeSet<TaskId>,
    /// Tasks that are left alone until a time, because their newest copy has not reported yet.
    later: BTreeSet<(Time, TaskId)>,
    /// Tasks for which nothing can be done until their copies, the known ends of their copies, or the nodes change. The
    /// remaining times get shorter, so a test that fails now fails later, too.
    resting: FxHashSet<TaskId>,
    /// Tasks for which something could be done on the fastest node, those with the longest remaining time first.
    stragglers: BTreeSet<(Reverse<Time>, TaskId)>,
    /// The ends by which `stragglers` are sorted, also of those that wait for a faster node.
    ends: FxHashMap<TaskId, Time>,
    /// Stragglers for which nothing can be done on nodes of this speed or slower ones. The numbers are the bits of the
    /// speeds, which sort like the speeds.
    for_faster: BTreeSet<(u64, TaskId)>,
    /// The speeds by which `for_faster` is sorted.
    too_slow: FxHashMap<TaskId, u64>,
    /// Tasks that may have more copies than may keep running.
    crowded: BTreeSet<TaskId>,
    /// What was done for each unfinished task.
    helped: FxHashMap<TaskId, Helped>,
    /// The speed of the fastest node, at least 1, and the number of changes of nodes for which it was computed.
    fastest: (Option<u64>, f64),
}

/// How often a task was restarted and duplicated.
#[derive(Clone, Copy, Debug, Default)]
struct Helped {
    restarts: u32,
    duplicates: u32,
}

/// The tests for a task with c copies, if the next copy starts on a node of a given speed.
struct Tests {
    restart: Test,
    duplicate: Test,
    spare: Test,
}

/// What can be done for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Restart,
    Duplicate,
    Spare,
}

impl OsdiRule {
    /// Creates the rule for the pass before originals (`contended` is true) or for the one after them.
    pub fn new(parameters: MantriParameters, contended: bool) -> OsdiRule {
        OsdiRule {
            parameters,
            contended,
            tasks: BTreeSet::new(),
            later: BTreeSet::new(),
            resting: FxHashSet::default(),
            stragglers: BTreeSet::new(),
            ends: FxHashMap::default(),
            for_faster: BTreeSet::new(),
            too_slow: FxHashMap::default(),
            crowded: BTreeSet::new(),
            helped: FxHashMap::default(),
            fastest: (None, 1.0),
        }
    }

    /// Returns Δ, the time between progress reports of a phase's tasks, in seconds.
    fn report(&self, phase: &Phase) -> f64 {
        self.parameters.report.min(phase.mean() / REPORTS)
    }

    fn tests(&self, phase: &Phase, copies: usize, speed: f64) -> Tests {
        let (new, report) = (phase.mean() / speed, self.report(phase));
        let running = copies as f64;
        Tests {
            restart: Test::RemainingAbove(new + report),
            duplicate: Test::FreshLikelyBetter {
                factor: (running + 1.0) / running / speed,
                chance: self.parameters.delta,
            },
            spare: Test::RemainingAbove(new + self.parameters.spare * report),
        }
    }

    /// Returns the speed of the fastest node, at least 1. A test that fails with it fails on every node.
    fn fastest_speed(&mut self, cluster: &Cluster) -> f64 {
        if self.fastest.0 != Some(cluster.node_changes()) {
            let speeds = cluster.nodes().iter().map(Node::speed);
            self.fastest = (Some(cluster.node_changes()), speeds.fold(1.0, f64::max));
        }
        self.fastest.1
    }

    fn has_restarts_left(&self, task: TaskId) -> bool {
        self.helped.get(&task).map_or(0, |helped| helped.restarts) < self.parameters.max_restarts
    }

    fn has_duplicates_left(&self, task: TaskId) -> bool {
        let duplicates = self.helped.get(&task).map_or(0, |helped| helped.duplicates);
        self.parameters.backups && duplicates < self.parameters.max_duplicates
    }

    /// Returns when a task may be helped again: once it has reported on its newest copy. `None`: now.
    fn reports_at(&self, task: TaskId, phase: &Phase, cluster: &Cluster) -> Option<Time> {
        let report = Time::from_seconds(self.report(phase));
        let copies = running(task, cluster).filter(|copy| copy.id().copy > 0);
        copies.map(|copy| copy.since() + report).filter(|at| cluster.now() < *at).max()
    }

    /// Returns what this pass may do for a task if the next copy starts on a node of this speed.
    fn action(&self, task: TaskId, speed: f64, cluster: &Cluster, round: &Round<'_>) -> Option<Action> {
        let phase = cluster.phase(task)?;
        if self.reports_at(task, phase, cluster).is_some() {
            return None;
        }
        let copies = running(task, cluster).count();
        let tests = self.tests(phase, copies, speed);
        let may_duplicate = (1..=self.parameters.copies as usize).contains(&copies) && self.has_duplicates_left(task);
        if !self.contended {
            return (may_duplicate && holds(tests.spare, task, round)).then_some(Action::Spare);
        }
        if copies == 1 && self.has_restarts_left(task) && holds(tests.restart, task, round) {
            return Some(Action::Restart);
        }
        (may_duplicate && holds(tests.duplicate, task, round)).then_some(Action::Duplicate)
    }

    /// Returns the tests that can still lead to something for a task with this number of copies, with t_new on the fastest
    /// node.
    fn open_tests(&self, task: TaskId, phase: &Phase, copies: usize) -> impl Iterator<Item = Test> + use<> {
        let Tests { restart, duplicate, spare } = self.tests(phase, copies, self.fastest.1);
        let may_duplicate = self.has_duplicates_left(task);
        let restart = Some(restart).filter(|_| self.has_restarts_left(task));
        restart.into_iter().chain([duplicate, spare].into_iter().filter(move |_| may_duplicate))
    }

    /// Sorts the tasks for which something may have changed: into stragglers, tasks to examine at a known time, and tasks
    /// to examine after a change. Forgets the tasks for which nothing can be done any more.
    fn sort(&mut self, round: &mut Round<'_>) {
        let speed = self.fastest_speed(round.cluster());
        let now = round.cluster().now();
        while let Some((_, task)) = self.later.first().copied().filter(|(at, _)| *at <= now) {
            self.later.pop_first();
            self.tasks.insert(task);
        }
        for task in std::mem::take(&mut self.tasks) {
            self.forget(task);
            let cluster = round.cluster();
            let is_running = running(task, cluster).next().is_some();
            let is_finished = cluster.task(task).is_none_or(Task::is_finished);
            if !is_running || is_finished || !(self.has_restarts_left(task) || self.has_duplicates_left(task)) {
                continue;
            }
            let Some(phase) = cluster.phase(task) else { continue };
            let copies = running(task, cluster).count();
            let knows_ends = sees_ends(phase, round);
            let knows_all_ends = knows_ends && running(task, cluster).all(|copy| copy.expected_finish().is_some());
            if knows_all_ends && !self.open_tests(task, phase, copies).any(|test| holds(test, task, round)) {
                self.watch_again(task, round);
            } else if let Some(at) = self.reports_at(task, phase, cluster) {
                self.later.insert((at, task));
            } else if self.action(task, speed, cluster, round).is_some() {
                let end = running(task, cluster).filter_map(Attempt::expected_finish).min().unwrap_or(Time::ZERO);
                self.stragglers.insert((Reverse(end), task));
                self.ends.insert(task, end);
            } else if knows_ends {
                self.resting.insert(task);
            } else {
                // Without known ends, a test that fails now may hold when the copies are older.
                self.tasks.insert(task);
            }
        }
    }

    /// Removes a task from the stragglers and the resting tasks. Returns true if it was among them.
    fn forget(&mut self, task: TaskId) -> bool {
        let end = self.ends.remove(&task);
        if let Some(end) = end {
            self.stragglers.remove(&(Reverse(end), task));
        }
        if let Some(speed) = self.too_slow.remove(&task) {
            self.for_faster.remove(&(speed, task));
        }
        self.resting.remove(&task) || end.is_some()
    }

    /// Moves the tasks back to the stragglers that waited for a node as fast as `speed`.
    fn return_from_waiting(&mut self, speed: f64) {
        while let Some((_, task)) = self.for_faster.first().copied().filter(|(slow, _)| *slow < speed.to_bits()) {
            self.for_faster.pop_first();
            self.too_slow.remove(&task);
            if let Some(end) = self.ends.get(&task) {
                self.stragglers.insert((Reverse(*end), task));
            }
        }
    }

    /// Has tasks examined again if something happened that may change what can be done for them.
    fn examine_again(&mut self, seen: Seen<'_>) {
        let concerned = match seen {
            Seen::Decision(Decision::Start { attempt, .. } | Decision::Stop { attempt, .. })
            | Seen::Event(
                Event::AttemptFinished { attempt }
                | Event::AttemptFailed { attempt, .. }
                | Event::AttemptStopped { attempt }
                | Event::WatchMet { attempt, .. },
                _,
            ) => attempt.task,
            Seen::Event(
                Event::NodeJoined { .. }
                | Event::NodeLost { .. }
                | Event::NodeReturned { .. }
                | Event::NodeSpeedLearned { .. }
                | Event::DurationsLearned { .. },
                _,
            ) => {
                self.tasks.extend(self.resting.drain());
                self.tasks.extend(self.ends.drain().map(|(task, _)| task));
                self.stragglers.clear();
                self.for_faster.clear();
                self.too_slow.clear();
                return;
            }
            _ => return,
        };
        if self.forget(concerned) {
            self.tasks.insert(concerned);
        }
    }

    /// Watches a task's only copy again, because a real attempt may slow down later.
    fn watch_again(&self, task: TaskId, round: &mut Round<'_>) {
        let cluster = round.cluster();
        let only = running(task, cluster).next().filter(|copy| self.contended && cluster.is_only_copy(copy));
        let Some((copy, phase)) = only.zip(cluster.phase(task)) else { return };
        let (id, pace) = (copy.id(), Pace::of(cluster, copy));
        let tests = self.open_tests(task, phase, 1);
        let condition = tests.filter_map(|test| round.estimator.condition(test, phase, pace)).reduce(weaker);
        if let Some(condition) = condition {
            round.decide(Decision::Watch { attempt: id, condition });
        }
    }

    /// Restarts or duplicates a task on the first node on which this pays.
    fn help(&mut self, task: TaskId, round: &mut Round<'_>) {
        if !round.may_start(task) {
            return;
        }
        let cluster = round.cluster();
        let Some(demand) = cluster.phase(task).map(|phase| *phase.demand()) else { return };
        let on = |id: NodeId, node: &Node| {
            let may_start = !cluster.has_copy_on(task, id) && !cluster.avoids(task, id);
            if may_start { self.action(task, node.speed(), cluster, round) } else { None }
        };
        let Some(node) = cluster.find_nearest_node(task, &demand, |id, node| on(id, node).is_some()) else { return };
        let Some(action) = cluster.node(node).and_then(|found| on(node, found)) else { return };
        let old: Vec<AttemptId> = running(task, cluster).map(Attempt::id).collect();
        let why = self.explained(task, action, node, round);
        if !round.start(task, node) {
            return;
        }
        round.because(|| why.clone());
        if action == Action::Restart {
            for attempt in old {
                round.decide(Decision::Stop { attempt, reason: StopReason::Replaced });
                round.because(|| why.clone());
            }
            // In a simulation, the resources of the stopped copy are free only after this round.
            let now = round.cluster().now();
            round.decide(Decision::Wake { at: now });
        }
    }

    /// Stops the copies that have run for Δ and are slower than α others, and forgets tasks that have no such copies.
    fn stop_slow_copies(&mut self, round: &mut Round<'_>) {
        let kept = self.parameters.copies as usize;
        for task in std::mem::take(&mut self.crowded) {
            let cluster = round.cluster();
            let Some(phase) = cluster.phase(task) else { continue };
            let report = Time::from_seconds(self.report(phase));
            let known = running(task, cluster).filter_map(|copy| {
                let old_enough = copy.since() + report <= cluster.now();
                Some((round.estimator.remaining(cluster, copy)?, copy.id(), old_enough))
            });
            let mut known: Vec<(f64, AttemptId, bool)> = known.collect();
            known.sort_unstable_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
            let slow: Vec<AttemptId> = known.iter().skip(kept).filter(|copy| copy.2).map(|copy| copy.1).collect();
            if running(task, cluster).count() > kept + slow.len() {
                self.crowded.insert(task);
            }
            let now = cluster.now();
            for attempt in slow {
                round.decide(Decision::Stop { attempt, reason: StopReason::Overtaken });
                round.because(|| format!("{kept} other copies of its task are expected to end sooner"));
                round.decide(Decision::Wake { at: now });
            }
        }
    }

    /// Returns the reason for an action.
    fn explained(&self, task: TaskId, action: Action, node: NodeId, round: &Round<'_>) -> String {
        let cluster = round.cluster();
        let Some(phase) = cluster.phase(task) else { return String::new() };
        let copies = running(task, cluster).count();
        let tests = self.tests(phase, copies, cluster.node(node).map_or(1.0, Node::speed));
        let (test, does) = match action {
            Action::Restart => (tests.restart, "tasks wait, so a copy on another node replaces it"),
            Action::Duplicate => (tests.duplicate, "tasks wait, and another copy saves resources"),
            Action::Spare => (tests.spare, "no task waits, and another copy saves time"),
        };
        format!("{}: {does} (remaining time: {:.2} s)", test.in_words(phase.mean()), remaining(task, round))
    }
}

/// Returns the copies of a task that are not being stopped.
fn running(task: TaskId, cluster: &Cluster) -> impl Iterator<Item = &Attempt> {
    cluster.copies(task).filter(|copy| copy.state() != AttemptState::Stopping)
}

/// Returns true if a test holds for the remaining time of a task, that is, for each of its copies.
fn holds(test: Test, task: TaskId, round: &Round<'_>) -> bool {
    let cluster = round.cluster();
    let mut copies = running(task, cluster).peekable();
    copies.peek().is_some() && copies.all(|copy| round.estimator.holds(test, cluster, copy))
}

/// Returns the remaining time of a task in seconds; 0 if it is unknown.
fn remaining(task: TaskId, round: &Round<'_>) -> f64 {
    let cluster = round.cluster();
    let known = running(task, cluster).filter_map(|copy| round.estimator.remaining(cluster, copy));
    known.reduce(f64::min).unwrap_or(0.0)
}

/// Returns true if the ends of a phase's attempts become known while they run.
fn sees_ends(phase: &Phase, round: &Round<'_>) -> bool {
    phase.gives_progress() && !matches!(round.estimator.knowledge(), Knowledge::Age | Knowledge::History)
}

/// Returns the condition that comes true first. Both must be of the same kind.
fn weaker(one: Condition, other: Condition) -> Condition {
    match (one, other) {
        (Condition::RemainingAbove(first), Condition::RemainingAbove(second)) => {
            Condition::RemainingAbove(first.min(second))
        }
        (Condition::ElapsedAbove(first), Condition::ElapsedAbove(second)) => Condition::ElapsedAbove(first.min(second)),
        (one, _) => one,
    }
}

impl Rule for OsdiRule {
    fn condition(&mut self, attempt: &Attempt, phase: &Phase, view: &View<'_>) -> Option<Condition> {
        // Both passes are notified when a condition comes true, so one watch is enough.
        if !self.contended || phase.is_assumed() {
            return None;
        }
        let speed = self.fastest_speed(view.cluster);
        let (tests, pace) = (self.tests(phase, 1, speed), Pace::of(view.cluster, attempt));
        let tests = [tests.restart, tests.duplicate, tests.spare].into_iter();
        tests.filter_map(|test| view.estimator.condition(test, phase, pace)).reduce(weaker)
    }

    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>, _candidates: &mut Vec<AttemptId>) {
        let cluster = view.cluster;
        self.examine_again(seen);
        match seen {
            Seen::Decision(Decision::Start { attempt, .. }) if attempt.copy > 0 => {
                let Some(phase) = cluster.phase(attempt.task) else { return };
                let is_duplicate = running(attempt.task, cluster).count() > 1;
                if is_duplicate {
                    self.helped.entry(attempt.task).or_default().duplicates += 1;
                } else if !cluster.attempt(*attempt).is_none_or(Attempt::is_relaunch) {
                    self.helped.entry(attempt.task).or_default().restarts += 1;
                }
                // One of the two passes is enough to wake and to stop slow copies.
                if !self.contended {
                    return;
                }
                if is_duplicate {
                    // The ends of all copies must be known before the task gets another one.
                    view.watch(*attempt, Condition::Revealed);
                    self.crowded.insert(attempt.task);
                }
                let report = Time::from_seconds(self.report(phase));
                let due = cluster.copies(attempt.task).map(|copy| copy.since() + report);
                for at in due.filter(|at| *at >= cluster.now()).collect::<BTreeSet<Time>>() {
                    view.wake(at);
                }
            }
            Seen::Event(Event::AttemptFinished { attempt }, applied) if applied.won => {
                self.tasks.remove(&attempt.task);
                self.forget(attempt.task);
                self.crowded.remove(&attempt.task);
                self.helped.remove(&attempt.task);
            }
            _ => {}
        }
    }

    fn serve(&mut self, candidates: &mut Vec<AttemptId>, round: &mut Round<'_>) {
        self.tasks.extend(candidates.drain(..).map(|id| id.task));
        self.stop_slow_copies(round);
        let has_some = !(self.tasks.is_empty() && self.later.is_empty() && self.ends.is_empty());
        if !has_some || round.next_job(Which::Any, None).is_some() != self.contended {
            return;
        }
        let Some(open) = round.cluster().fastest_open_speed() else { return };
        self.sort(round);
        self.return_from_waiting(open);
        let fastest = self.fastest.1;
        let mut next = self.stragglers.first().copied();
        while let Some((end, task)) = next {
            let cluster = round.cluster();
            let Some(open) = cluster.fastest_open_speed() else { return };
            if self.action(task, open, cluster, round).is_some() {
                self.help(task, round);
            } else if self.action(task, fastest, cluster, round).is_none() {
                // The remaining time has become too short.
                self.tasks.insert(task);
            } else {
                self.stragglers.remove(&(end, task));
                self.for_faster.insert((open.to_bits(), task));
                self.too_slow.insert(task, open.to_bits());
            }
            next = self.stragglers.range((Bound::Excluded((end, task)), Bound::Unbounded)).next().copied();
        }
    }
}
