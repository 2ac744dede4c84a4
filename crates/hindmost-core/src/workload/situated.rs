//! Durations that depend on the circumstances that a copy meets: its node, the time, and whether the node has done such work
//! before.
//!
//! An attempt that a log shows takes as long as it took there, wherever it runs in a replay: so as many attempts take long because
//! of slow nodes and first waves as in the log. For policies that keep tasks from slow nodes, a replay may let attempts
//! [move](Situated::moves) instead: on a node that is slower or faster than theirs in the log, they take longer or shorter. The
//! duration of any other attempt is composed: the typical duration of the phase × the part that the task's input explains × the
//! circumstances × a residual. The residual is either that of the task itself, or that of another task of the phase, drawn at
//! random. The share of the durations that belongs to the task is the probability that it is its own; so the residuals of copies
//! have the distribution of all residuals, and this share is their correlation with those of the first attempts.

use std::sync::Arc;

use crate::ids::NodeId;
use crate::time::Time;

/// Seconds after the loss of its node at which an attempt would end that is lost with it.
const AFTER_LOSS: f64 = 0.001;

/// How long the copies of a phase's tasks take, depending on what they meet.
#[derive(Clone, Debug, PartialEq)]
pub struct Situated {
    /// The tasks, by index.
    pub tasks: Vec<SituatedTask>,
    /// Seconds of a task with the typical input, on a normal node that has done such work before.
    pub typical: f64,
    /// How many times as long an attempt takes on an executor that has not finished one of the phase's attempts yet; at least 1.
    pub first_wave: f64,
    /// Seconds that pass between two attempts on a slot while tasks wait.
    pub gap: f64,
    /// Whether an attempt that the log shows takes longer on a slower node than its own, and shorter on a faster one. Otherwise it takes
    /// what it took wherever it runs.
    pub moves: bool,
    /// The nodes, by id; shared by all phases. Nodes past the end are normal.
    pub nodes: Arc<Vec<NodeHistory>>,
}

/// What a log shows of a task.
#[derive(Clone, Debug, PartialEq)]
pub struct SituatedTask {
    /// Its attempts, in the order of their starts.
    pub attempts: Vec<SituatedAttempt>,
    /// How many times the typical duration every copy of it takes: what its input explains, the garbage that it makes, and what it takes
    /// longer in most jobs.
    pub input: f64,
    /// The part of this factor that is not the input, at least 1.
    pub garbage: f64,
    /// How many times as long it took as its input and what it met explain.
    pub residual: f64,
}

/// An attempt that a log shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SituatedAttempt {
    /// How long it ran, seconds.
    pub seconds: f64,
    /// How it ended.
    pub ended: SituatedEnd,
    /// How many times as long it took because its node was slow, and because it was in a first wave.
    pub met: f64,
    /// How many times as long it took because its node was slow all the time, which is a part of `met`.
    pub slowness: f64,
    /// Seconds after its end until its task could start again, if it failed or was lost.
    pub again_after: f64,
}

/// How an attempt ended in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SituatedEnd {
    /// It finished its work.
    Finished,
    /// It was stopped, and would have run longer.
    Stopped,
    /// It failed, and does so again.
    Failed,
    /// It was lost with this node, and its task ran again. It is lost again when the node is; elsewhere it fails after the same time.
    Lost(NodeId),
}

/// How slow a node was, and when.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeHistory {
    /// How many times as long attempts take there all the time, if that is not 1.
    pub slowness: Option<f64>,
    /// When it was busy: from, until, and how many times as long attempts took that started then. In order of time, and disjoint.
    pub busy: Vec<(Time, Time, f64)>,
    /// When the node was lost with its attempts, if it was.
    pub lost: Option<Time>,
}

impl NodeHistory {
    /// Returns how many times as long an attempt takes that starts at this time because the node is busy.
    pub fn busy_at(&self, at: Time) -> f64 {
        let after = self.busy.partition_point(|(from, ..)| *from <= at);
        let busy = after.checked_sub(1).and_then(|last| self.busy.get(last)).filter(|(_, until, _)| at < *until);
        busy.map_or(1.0, |(.., by)| *by)
    }
}

/// Returns how many times as long an attempt takes because its node is slow, and because it is in a first wave. What a first wave takes in
/// addition (the start of a process, loading) is not multiplied by the slowness of the node.
pub fn lasting(node: Option<&NodeHistory>, first_wave: Option<f64>) -> f64 {
    slowness(node) + first_wave.map_or(0.0, |times| times - 1.0)
}

/// Returns how many times as long an attempt takes because its node is slow all the time.
pub fn slowness(node: Option<&NodeHistory>) -> f64 {
    node.and_then(|node| node.slowness).unwrap_or(1.0)
}

/// Where and when an attempt starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Situation {
    /// Its node.
    pub node: NodeId,
    /// When it starts.
    pub since: Time,
    /// Whether the node had not yet finished an attempt of the phase then.
    pub first_wave: bool,
}

/// Random numbers for a copy, from (0, 1).
#[derive(Clone, Copy, Debug)]
pub struct SituatedDraws {
    /// Decides whether the copy has the residual of its task.
    pub own: f64,
    /// Chooses the other task whose residual it has.
    pub other: f64,
}

impl Situated {
    /// Returns how many times as long an attempt takes because its node is slow, and because it is in a first wave.
    pub fn lasting(&self, situation: &Situation) -> f64 {
        lasting(self.nodes.get(situation.node.0 as usize), situation.first_wave.then_some(self.first_wave))
    }

    /// Returns how many times as long an attempt takes because its node is busy at the time.
    fn passing(&self, situation: &Situation) -> f64 {
        self.nodes.get(situation.node.0 as usize).map_or(1.0, |node| node.busy_at(situation.since))
    }

    /// Returns whether an attempt, by its number within its task, fails at its end.
    pub fn fails(&self, task: u32, attempt: u32) -> bool {
        self.seen(task, attempt).is_some_and(|seen| matches!(seen.ended, SituatedEnd::Failed | SituatedEnd::Lost(_)))
    }

    /// Returns for how many seconds an attempt runs that was lost with a node: until the node is lost, if it runs there; otherwise for as
    /// long as it ran.
    fn until_lost(&self, seen: &SituatedAttempt, node: NodeId, situation: &Situation) -> f64 {
        let lost = self.nodes.get(node.0 as usize).and_then(|node| node.lost);
        match lost.filter(|lost| situation.node == node && *lost > situation.since) {
            // A little longer, so that the loss of the node ends it.
            Some(lost) => (lost - situation.since).seconds() + AFTER_LOSS,
            None => seen.seconds,
        }
    }

    /// Returns the seconds after the end of an attempt until its task can start again; 0 if it neither fails nor is lost in the log.
    pub fn again_after(&self, task: u32, attempt: u32) -> f64 {
        self.seen(task, attempt).map_or(0.0, |seen| seen.again_after)
    }

    /// Returns how many times as long as in the log an attempt takes on a node, because that is slower or faster than its own. The part
    /// that it took longer in a first wave stays.
    fn moved(&self, seen: &SituatedAttempt, situation: &Situation) -> f64 {
        let there = slowness(self.nodes.get(situation.node.0 as usize));
        if !self.moves || there == seen.slowness { 1.0 } else { (seen.met - seen.slowness + there) / seen.met }
    }

    fn seen(&self, task: u32, attempt: u32) -> Option<&SituatedAttempt> {
        self.tasks.get(task as usize)?.attempts.get(attempt as usize)
    }

    /// Returns how long an attempt takes, seconds, with the gap before it; `None` for an unknown task. `own_share` is the share
    /// of the durations that belongs to the task, beyond what its input explains. `draws` is called only for what the log does not show.
    pub fn seconds(
        &self,
        (task, attempt): (u32, u32),
        situation: &Situation,
        own_share: f64,
        draws: impl FnOnce() -> SituatedDraws,
    ) -> Option<f64> {
        let of_task = self.tasks.get(task as usize)?;
        let circumstances = self.lasting_of_copy(of_task, situation) * self.passing(situation);
        let composed = || self.composed(task, circumstances, own_share, draws);
        let work = match of_task.attempts.get(attempt as usize) {
            // It was stopped, so it would have taken longer than it ran.
            Some(seen) if seen.ended == SituatedEnd::Stopped => {
                composed().max(seen.seconds * self.moved(seen, situation))
            }
            Some(seen @ SituatedAttempt { ended: SituatedEnd::Lost(node), .. }) => {
                self.until_lost(seen, *node, situation)
            }
            Some(seen) if seen.ended == SituatedEnd::Finished => seen.seconds * self.moved(seen, situation),
            Some(seen) => seen.seconds,
            None => composed(),
        };
        // In a first wave the slot is free when the phase starts.
        Some(work + if situation.first_wave { 0.0 } else { self.gap })
    }

    /// Returns how many times as long a copy takes because its node is slow, and because it is in a first wave. Engines start no
    /// copy on the node of its original. As first attempts take what they took wherever they run, the slow node of an original may
    /// be that of its copy in a replay: then it counts as usual.
    fn lasting_of_copy(&self, of_task: &SituatedTask, situation: &Situation) -> f64 {
        let there = slowness(self.nodes.get(situation.node.0 as usize));
        let is_of_original = !self.moves && of_task.attempts.iter().any(|seen| seen.slowness == there);
        self.lasting(situation) - if is_of_original { there - 1.0 } else { 0.0 }
    }

    fn composed(&self, task: u32, circumstances: f64, own_share: f64, draws: impl FnOnce() -> SituatedDraws) -> f64 {
        let of_task = &self.tasks[task as usize];
        let others = self.tasks.len() - 1;
        let draws = (others > 0 && own_share < 1.0).then(draws);
        let residual = match draws.filter(|draws| draws.own >= own_share) {
            None => of_task.residual,
            Some(draws) => {
                let at = ((draws.other * others as f64) as usize).min(others - 1);
                self.tasks[if at < task as usize { at } else { at + 1 }].residual
            }
        };
        self.typical * of_task.input * circumstances * residual
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(seconds: f64, met: f64) -> SituatedAttempt {
        SituatedAttempt { seconds, ended: SituatedEnd::Finished, met, slowness: 1.0, again_after: 0.0 }
    }

    /// Four tasks of 10 s, of which one took 40 s by its own, and one 30 s in a first wave; node 1 is three times as slow.
    fn phase() -> Situated {
        let task = |seconds: f64, met: f64| SituatedTask {
            attempts: vec![finished(seconds, met)],
            input: 1.0,
            garbage: 1.0,
            residual: seconds / met / 10.0,
        };
        let slow = NodeHistory { slowness: Some(3.0), ..NodeHistory::default() };
        let busy = NodeHistory {
            busy: vec![(Time::from_seconds(5.0), Time::from_seconds(8.0), 2.0)],
            lost: Some(Time::from_seconds(60.0)),
            ..NodeHistory::default()
        };
        Situated {
            tasks: vec![task(10.0, 1.0), task(40.0, 1.0), task(30.0, 3.0), task(10.0, 1.0)],
            typical: 10.0,
            first_wave: 3.0,
            gap: 0.5,
            moves: false,
            nodes: Arc::new(vec![NodeHistory::default(), slow, busy]),
        }
    }

    fn at(node: u32, seconds: f64, first_wave: bool) -> Situation {
        Situation { node: NodeId(node), since: Time::from_seconds(seconds), first_wave }
    }

    const DRAWS: SituatedDraws = SituatedDraws { own: 0.5, other: 0.99 };

    #[test]
    fn first_attempts_take_what_they_took_wherever_they_run() {
        let phase = phase();
        let seconds = |task, situation| phase.seconds((task, 0), &situation, 0.0, || DRAWS).unwrap();
        assert_eq!((seconds(1, at(0, 0.0, false)), seconds(1, at(1, 0.0, false))), (40.5, 40.5));
        assert_eq!(seconds(2, at(0, 0.0, true)), 30.0, "no gap in a first wave");
        assert_eq!(phase.seconds((4, 0), &at(0, 0.0, false), 0.0, || DRAWS), None);
    }

    #[test]
    fn attempts_that_move_take_what_their_node_makes_of_it() {
        let mut phase = phase();
        phase.moves = true;
        // Task 3 ran on node 1, three times as slow, and in a first wave, which took twice the usual time in addition.
        phase.tasks[3].attempts = vec![SituatedAttempt { slowness: 3.0, ..finished(50.0, 5.0) }];
        let seconds = |task, situation| phase.seconds((task, 0), &situation, 0.0, || DRAWS).unwrap() - phase.gap;
        // Node 2 is as fast as node 0; being busy or in a first wave stays as it was.
        assert_eq!([0, 1, 2].map(|node| seconds(1, at(node, 5.0, false))), [40.0, 120.0, 40.0]);
        assert_eq!([0, 1].map(|node| seconds(3, at(node, 0.0, false))), [30.0, 50.0]);
    }

    #[test]
    fn a_copy_does_not_meet_the_slow_node_of_its_original() {
        let mut phase = phase();
        // In the log, task 1 ran on node 1. In a replay its original may run on node 0, and its copy on node 1.
        phase.tasks[1].attempts[0].slowness = 3.0;
        let copy = |phase: &Situated, task, node| {
            let draws = SituatedDraws { own: 0.5, other: 0.1 };
            phase.seconds((task, 1), &at(node, 0.0, false), 0.0, || draws).unwrap() - phase.gap
        };
        assert_eq!([0, 1].map(|node| copy(&phase, 1, node)), [10.0, 10.0]);
        assert_eq!([0, 1].map(|node| copy(&phase, 2, node)), [10.0, 30.0], "the copy of a task of another node");
        phase.moves = true;
        assert_eq!(copy(&phase, 1, 1), 30.0);
    }

    #[test]
    fn what_a_copy_meets_adds_up() {
        let phase = phase();
        assert_eq!(phase.lasting(&at(0, 0.0, true)), 3.0);
        assert_eq!(phase.lasting(&at(1, 0.0, false)), 3.0);
        // A slow node does not slow down what a first wave takes in addition.
        assert_eq!(phase.lasting(&at(1, 0.0, true)), 5.0);
    }

    #[test]
    fn a_copy_has_its_own_residual_with_the_probability_of_the_share() {
        let phase = phase();
        let copy = |share, other| {
            let draws = SituatedDraws { own: 0.5, other };
            phase.seconds((1, 1), &at(0, 0.0, false), share, || draws).unwrap()
        };
        assert_eq!((copy(1.0, 0.0), copy(0.51, 0.0)), (40.5, 40.5));
        // The others are tasks 0, 2 and 3, each of which took 10 s but for the first wave.
        assert_eq!([0.1, 0.5, 0.9].map(|other| copy(0.5, other)), [10.5; 3]);
        // A copy on a node that is busy from 5 to 8 s.
        let at_times =
            [4.0, 5.0, 7.9, 8.0].map(|time| phase.seconds((0, 1), &at(2, time, false), 1.0, || DRAWS).unwrap());
        assert_eq!(at_times, [10.5, 20.5, 20.5, 10.5]);
        // The copy of a short task may draw the long one.
        let draws = SituatedDraws { own: 0.5, other: 0.1 };
        assert_eq!(phase.seconds((0, 1), &at(1, 0.0, true), 0.0, || draws), Some(40.0 * 5.0));
    }

    #[test]
    fn failed_attempts_fail_again_and_stopped_ones_take_longer() {
        let mut phase = phase();
        let failed = SituatedAttempt { ended: SituatedEnd::Failed, ..finished(4.0, 1.0) };
        phase.tasks[0].attempts.insert(0, failed);
        let stopped = SituatedAttempt { ended: SituatedEnd::Stopped, ..finished(25.0, 1.0) };
        phase.tasks[3].attempts = vec![stopped, finished(12.0, 1.0)];
        let seconds = |task, attempt, other| {
            let draws = SituatedDraws { own: 0.5, other };
            phase.seconds((task, attempt), &at(0, 0.0, false), 0.0, || draws).unwrap()
        };
        assert!(phase.fails(0, 0) && !phase.fails(0, 1) && !phase.fails(3, 0) && !phase.fails(9, 0));
        assert_eq!((seconds(0, 0, 0.1), seconds(0, 1, 0.1)), (4.5, 10.5));
        assert_eq!((seconds(3, 0, 0.1), seconds(3, 0, 0.5)), (25.5, 40.5), "of another task, if that is longer");
        assert_eq!(seconds(3, 1, 0.5), 12.5);
    }

    #[test]
    fn lost_attempts_are_lost_again() {
        let mut phase = phase();
        let lost = SituatedAttempt { seconds: 20.0, ended: SituatedEnd::Lost(NodeId(2)), ..finished(20.0, 1.0) };
        let lost = SituatedAttempt { again_after: 3.0, ..lost };
        phase.tasks[0].attempts.insert(0, lost);
        let seconds = |attempt, node, from| phase.seconds((0, attempt), &at(node, from, true), 0.0, || DRAWS).unwrap();
        assert!(phase.fails(0, 0) && !phase.fails(0, 1));
        assert_eq!((phase.again_after(0, 0), phase.again_after(0, 1), phase.again_after(0, 9)), (3.0, 0.0, 0.0));
        // On its node until that is lost at 60 s; on others, and after that, as long as it ran.
        assert!((seconds(0, 2, 45.0) - 15.001).abs() < 1e-9, "{}", seconds(0, 2, 45.0));
        assert_eq!((seconds(0, 2, 60.0), seconds(0, 0, 45.0), seconds(1, 0, 45.0)), (20.0, 20.0, 10.0));
    }
}
