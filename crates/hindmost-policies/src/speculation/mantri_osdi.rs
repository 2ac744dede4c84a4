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
//! The differences from the source, and what this was written from, are in the catalogue (`catalogue/sources/`).

mod changed;
mod crowded;
mod outlook;
mod stragglers;

use std::collections::BTreeSet;

use hindmost_core::cluster::{Attempt, Cluster, Node, Phase, Task};
use hindmost_core::estimator::Pace;
use hindmost_core::ids::{AttemptId, NodeId, TaskId};
use hindmost_core::policy::queue_place::Which;
use hindmost_core::policy::{Round, Seen, View};
use hindmost_core::record::{Condition, Decision, Event, StopReason};
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

use self::changed::Changed;
use self::crowded::Crowded;
use self::outlook::{Action, Outlook, Tests, remaining, running, weaker};
use self::stragglers::Stragglers;
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
    /// Tasks with an attempt that met its condition, or for which something may have changed.
    tasks: Changed,
    /// Tasks that are left alone until a time, because their newest copy has not reported yet.
    later: BTreeSet<(Time, TaskId)>,
    /// The other tasks that were examined.
    stragglers: Stragglers,
    /// Tasks that may have more copies than may keep running.
    crowded: Crowded,
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

impl Helped {
    fn has_restarts_left(self, parameters: &MantriParameters) -> bool {
        self.restarts < parameters.max_restarts
    }

    fn has_duplicates_left(self, parameters: &MantriParameters) -> bool {
        parameters.backups && self.duplicates < parameters.max_duplicates
    }
}

/// What becomes of a task that was examined.
enum Examined {
    /// Nothing can be done for it any more.
    Done,
    /// Nothing can be done for it unless its copy slows down.
    WatchAgain,
    /// It is examined at a time.
    Later(Time),
    /// Something could be done for it on the fastest node. The time is the first known end of its copies.
    Straggler(Time),
    /// Nothing can be done for it until it or the nodes change.
    Resting,
    /// It is examined in the next round: without known ends, a test that fails now may hold when the copies are older.
    Again,
}

/// Returns Δ, the time between progress reports of a phase's tasks, in seconds.
fn report(parameters: &MantriParameters, phase: &Phase) -> f64 {
    parameters.report.min(phase.mean() / REPORTS)
}

impl OsdiRule {
    /// Creates the rule for the pass before originals (`contended` is true) or for the one after them.
    pub fn new(parameters: MantriParameters, contended: bool) -> OsdiRule {
        OsdiRule {
            parameters,
            contended,
            tasks: Changed::default(),
            later: BTreeSet::new(),
            stragglers: Stragglers::default(),
            crowded: Crowded::default(),
            helped: FxHashMap::default(),
            fastest: (None, 1.0),
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

    fn helped(&self, task: TaskId) -> Helped {
        self.helped.get(&task).copied().unwrap_or_default()
    }

    fn outlook<'a>(&'a self, task: TaskId, round: &'a Round<'_>) -> Option<Outlook<'a>> {
        Outlook::of(&self.parameters, task, self.helped(task), round)
    }

    /// Examines the tasks for which something may have changed. Forgets those for which nothing can be done any more.
    fn sort(&mut self, round: &mut Round<'_>) {
        self.fastest_speed(round.cluster());
        let now = round.cluster().now();
        while let Some((_, task)) = self.later.first().copied().filter(|(at, _)| *at <= now) {
            self.later.pop_first();
            self.tasks.add(task);
        }
        for task in self.tasks.take() {
            self.stragglers.forget(task);
            match self.examine(task, round) {
                Examined::Done => {}
                Examined::WatchAgain => self.watch_again(task, round),
                Examined::Later(at) => _ = self.later.insert((at, task)),
                Examined::Straggler(end) => self.stragglers.add(task, end),
                Examined::Resting => self.stragglers.rest(task),
                Examined::Again => self.tasks.add(task),
            }
        }
    }

    fn examine(&self, task: TaskId, round: &Round<'_>) -> Examined {
        let helped = self.helped(task);
        let may_help = helped.has_restarts_left(&self.parameters) || helped.has_duplicates_left(&self.parameters);
        if !may_help || round.cluster().task(task).is_none_or(Task::is_finished) {
            return Examined::Done;
        }
        let Some(outlook) = Outlook::of(&self.parameters, task, helped, round).filter(|one| one.copies > 0) else {
            return Examined::Done;
        };
        let speed = self.fastest.1;
        if outlook.sees_ends && outlook.knows_all_ends && !outlook.has_open_test(speed, round) {
            Examined::WatchAgain
        } else if let Some(at) = outlook.reports_at {
            Examined::Later(at)
        } else if outlook.action(speed, self.contended, round).is_some() {
            Examined::Straggler(outlook.end.unwrap_or(Time::ZERO))
        } else if outlook.sees_ends {
            Examined::Resting
        } else {
            Examined::Again
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
                | Event::NodeLeaving { .. }
                | Event::NodeReturned { .. }
                | Event::NodeSpeedLearned { .. }
                | Event::DurationsLearned { .. },
                _,
            ) => {
                self.tasks.extend(self.stragglers.take());
                self.crowded.all_changed();
                return;
            }
            _ => return,
        };
        self.crowded.changed(concerned);
        if self.stragglers.forget(concerned) {
            self.tasks.add(concerned);
        }
    }

    /// Watches a task's only copy again, because a real attempt may slow down later.
    fn watch_again(&self, task: TaskId, round: &mut Round<'_>) {
        let cluster = round.cluster();
        let only = running(task, cluster).next().filter(|copy| self.contended && cluster.is_only_copy(copy));
        let Some((copy, phase)) = only.zip(cluster.phase(task)) else { return };
        let (id, pace) = (copy.id(), Pace::of(cluster, copy));
        let tests = Tests::of(&self.parameters, phase, 1, self.fastest.1).open(&self.parameters, self.helped(task));
        let condition = tests.filter_map(|test| round.estimator.condition(test, phase, pace)).reduce(weaker);
        if let Some(condition) = condition {
            round.decide(Decision::Watch { attempt: id, condition });
        }
    }

    /// Tries to help the stragglers, the one with the longest remaining time first.
    fn help_all(&mut self, round: &mut Round<'_>) {
        let fits = |demand: &Resources, round: &Round<'_>| round.cluster().fits_somewhere(demand);
        let mut fitting: Vec<Resources> =
            self.stragglers.demands().filter(|demand| fits(demand, round)).copied().collect();
        let mut after = None;
        loop {
            let Some(open) = round.cluster().fastest_open_speed() else { return };
            self.stragglers.open_speed_is(open);
            after = self.stragglers.after(after, &fitting);
            let Some((_, task)) = after else { return };
            let outlook = self.outlook(task, round);
            let acts = |speed| outlook.as_ref().is_some_and(|one| one.action(speed, self.contended, round).is_some());
            if acts(open) {
                if self.help(task, round) {
                    fitting.retain(|demand| fits(demand, round));
                } else {
                    self.wait_for_space(task, open, round);
                }
            } else if acts(self.fastest.1) {
                self.stragglers.wait_for_faster(task, open);
            } else {
                // The remaining time has become too short.
                self.tasks.add(task);
            }
        }
    }

    /// Lets a straggler wait until its demand fits on some node, if it fits on none now.
    fn wait_for_space(&mut self, task: TaskId, open: f64, round: &Round<'_>) {
        let Some(demand) = round.cluster().phase(task).map(Phase::demand) else { return };
        if round.cluster().fits_somewhere(demand) {
            return;
        }
        let speed = self.stragglers.speed_for_space(open);
        let until = self.outlook(task, round).and_then(|outlook| outlook.acts_until(speed, self.contended));
        if let Some(until) = until.filter(|until| round.cluster().now() < *until) {
            self.stragglers.wait_for_space(task, *demand, until);
        }
    }

    /// Restarts or duplicates a task on the first node on which this pays. Returns true if a copy was started.
    fn help(&mut self, task: TaskId, round: &mut Round<'_>) -> bool {
        if !round.may_start(task) {
            return false;
        }
        let cluster = round.cluster();
        let Some(outlook) = self.outlook(task, round) else { return false };
        let on = |id: NodeId, node: &Node| {
            let action = outlook.action(node.speed(), self.contended, round);
            action.filter(|_| cluster.may_copy_on(task, id) && !cluster.avoids(task, id))
        };
        let demand = outlook.phase().demand();
        let least = outlook.least_speed(self.contended);
        let found = cluster.find_nearest_fast_node(task, demand, least, |id, node| on(id, node).is_some());
        let Some((id, node)) = found.and_then(|id| Some((id, cluster.node(id)?))) else { return false };
        let Some(action) = on(id, node) else { return false };
        let tests = Tests::of(&self.parameters, outlook.phase(), outlook.copies, node.speed());
        let (mean, remaining) = (outlook.phase().mean(), remaining(task, round));
        let (test, does) = match action {
            Action::Restart => (tests.restart, "tasks wait, so a copy on another node replaces it"),
            Action::Duplicate => (tests.duplicate, "tasks wait, and another copy saves resources"),
            Action::Spare => (tests.spare, "no task waits, and another copy saves time"),
        };
        let why = || format!("{}: {does} (remaining time: {remaining:.2} s)", test.in_words(mean));
        let restarts = action == Action::Restart;
        let old: Vec<AttemptId> = running(task, cluster).filter(|_| restarts).map(Attempt::id).collect();
        if !round.start(task, id) {
            return false;
        }
        round.because(why);
        if restarts {
            for attempt in old {
                round.decide(Decision::Stop { attempt, reason: StopReason::Replaced });
                round.because(why);
            }
            // In a simulation, the resources of the stopped copy are free only after this round.
            let now = round.cluster().now();
            round.decide(Decision::Wake { at: now });
        }
        true
    }
}

impl Rule for OsdiRule {
    fn condition(&mut self, attempt: &Attempt, phase: &Phase, view: &View<'_>) -> Option<Condition> {
        // Both passes are notified when a condition comes true, so one watch is enough.
        if !self.contended || phase.is_assumed() {
            return None;
        }
        let speed = self.fastest_speed(view.cluster);
        let (tests, pace) = (Tests::of(&self.parameters, phase, 1, speed), Pace::of(view.cluster, attempt));
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
                    self.crowded.add(attempt.task);
                }
                let report = Time::from_seconds(report(&self.parameters, phase));
                let due = cluster.copies(attempt.task).map(|copy| copy.since() + report);
                for at in due.filter(|at| *at >= cluster.now()).collect::<BTreeSet<Time>>() {
                    view.wake(at);
                }
            }
            Seen::Event(Event::AttemptFinished { attempt }, applied) if applied.won => {
                self.stragglers.forget(attempt.task);
                self.crowded.remove(attempt.task);
                self.helped.remove(&attempt.task);
            }
            _ => {}
        }
    }

    fn serve(&mut self, candidates: &mut Vec<AttemptId>, round: &mut Round<'_>) {
        self.tasks.extend(candidates.drain(..).map(|id| id.task));
        self.tasks.shrink(round.cluster());
        self.stop_slow_copies(round);
        let is_due = self.later.first().is_some_and(|(at, _)| *at <= round.cluster().now());
        let has_some = is_due || !self.tasks.is_empty() || self.stragglers.any_waits_for_nodes();
        if !has_some || round.next_job(Which::Any, None).is_some() != self.contended {
            return;
        }
        let Some(open) = round.cluster().fastest_open_speed() else { return };
        self.sort(round);
        self.stragglers.begin(open, round.cluster().now());
        self.help_all(round);
    }
}
