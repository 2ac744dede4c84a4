//! What a live run learns while it goes on: how long the copies of a phase take, and which nodes are slow.
//!
//! Nobody tells a live run how long its tasks take. Winners' durations do, and before them what the
//! progress of running attempts foretells; earlier runs of the job, where they are given, come first.
//! What is learned becomes an event, so that policies see nothing that is not in the journal.
//!
//! Readings:
//! - Until enough copies have told (a tenth of the phase's tasks, at least two and at most five), durations are unknown and rules
//!   that compare them leave the phase alone. Then they are learned anew each time a quarter more have
//!   told.
//! - Policies get a Pareto distribution of the mean and spread that were seen, with a tail index of at
//!   most 3: stragglers are rare, and a few even tasks do not prove that there are none.
//! - A node is slow if of the last attempts on it (two at least, or one that goes at less than a third of its
//!   phase's pace for as long as the median copy takes) the median went through its work at
//!   less than two thirds of its phase's pace, and of that of the other nodes; otherwise its speed counts as 1: where all
//!   nodes are behind, the tasks are longer and no node is slow. One that has been slow
//!   is given another chance once nothing has been heard of it for ten medians, at least ten seconds.

use hindmost_core::cluster::Cluster;
use hindmost_core::distribution::Distribution;
use hindmost_core::ids::{AttemptId, JobId, NodeId};
use hindmost_core::record::Event;
use hindmost_core::time::Time;

/// The lightest tail that is assumed, as a Pareto index.
const LIGHTEST_TAIL: f64 = 3.0;
/// The heaviest.
const HEAVIEST_TAIL: f64 = 1.2;
/// A node below this speed is slow.
const SLOW: f64 = 0.67;
/// An attempt at this pace says as much as two, once it is as old as the median copy when it ends.
const VERY_SLOW: f64 = 0.33;
/// Attempts of a node that are remembered.
const REMEMBERED: usize = 6;
/// Age, in medians, below which a running attempt says nothing of its node.
const TELLING_AGE: f64 = 0.1;
/// Age, in medians, above which one without progress says that its node is slow.
const LATE_AGE: f64 = 1.5;
/// A slow node that nobody has heard of for so many medians gets another chance …
const SILENCE: f64 = 10.0;
/// … but not before so many seconds.
const LEAST_SILENCE: f64 = 10.0;

/// What is known of one phase.
#[derive(Default)]
struct PhaseSamples {
    /// Durations of winners, seconds on a node of speed 1.
    finished: Vec<f64>,
    /// Samples that the last event rested on.
    told: usize,
    /// Winners among them.
    told_finished: usize,
    median: Option<f64>,
    /// Whether any attempt has told its progress.
    progress: bool,
    told_progress: bool,
    /// Ages at which attempts told their first progress, seconds.
    first_reports: Vec<f64>,
    /// Shares of their work that they told first.
    first_shares: Vec<f64>,
}

/// What is known of one node.
#[derive(Default)]
struct NodeSamples {
    /// Paces of the last attempts that ended, relative to their phases' medians.
    ended: Vec<f64>,
    speed: f64,
    heard: Time,
}

/// A running attempt, as it bears on what is learned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observed {
    pub(crate) attempt: AttemptId,
    pub(crate) node: NodeId,
    /// Seconds since its start.
    pub(crate) age: f64,
    /// Share of its work that it has done, where it tells.
    pub(crate) progress: Option<f64>,
    /// False if that foretells no duration: it stands still, or seems to have done all.
    pub(crate) foretells: bool,
}

/// Learns durations and speeds. See the module's documentation.
pub(crate) struct Learner {
    phases: Vec<PhaseSamples>,
    nodes: Vec<NodeSamples>,
    /// Share of the work after which progress foretells a duration.
    telling_share: f64,
    /// Durations known from earlier runs, by phase.
    history: Vec<Vec<f64>>,
}

impl Learner {
    /// For a job of so many phases on so many nodes; `history` holds earlier durations by phase.
    pub(crate) fn new(phases: usize, nodes: usize, telling_share: f64, mut history: Vec<Vec<f64>>) -> Learner {
        history.resize(phases, Vec::new());
        Learner {
            phases: (0..phases).map(|_| PhaseSamples::default()).collect(),
            nodes: (0..nodes).map(|_| NodeSamples { speed: 1.0, ..NodeSamples::default() }).collect(),
            telling_share,
            history,
        }
    }

    /// Takes what an earlier process had learned from its journal.
    pub(crate) fn recall(&mut self, event: &Event) {
        match event {
            Event::DurationsLearned { phase, median, progress, samples, .. } => {
                if let Some(known) = self.phases.get_mut(*phase as usize) {
                    known.median = Some(*median);
                    known.told = *samples as usize;
                    known.progress = *progress;
                    known.told_progress = *progress;
                }
            }
            Event::NodeSpeedLearned { node, speed } => {
                if let Some(known) = self.nodes.get_mut(node.0 as usize) {
                    known.speed = *speed;
                }
            }
            _ => {}
        }
    }

    /// Seconds that half of a phase's copies do not exceed, where that is known.
    pub(crate) fn median(&self, phase: u32) -> Option<f64> {
        self.phases.get(phase as usize).and_then(|known| known.median)
    }

    /// Seconds after which half of a phase's attempts have told their first progress.
    pub(crate) fn first_report(&self, phase: u32) -> Option<f64> {
        let ages = &self.phases.get(phase as usize)?.first_reports;
        middle_of(ages)
    }

    /// Share of the work that half of a phase's attempts told first.
    pub(crate) fn first_share(&self, phase: u32) -> Option<f64> {
        middle_of(&self.phases.get(phase as usize)?.first_shares)
    }

    /// An attempt has told its first progress.
    pub(crate) fn first_progress(&mut self, phase: u32, age: f64, share: f64) {
        if let Some(known) = self.phases.get_mut(phase as usize) {
            known.progress = true;
            if known.first_reports.len() < 64 {
                known.first_reports.push(age);
                known.first_shares.push(share);
            }
        }
    }

    /// What seemed to be the progress of a phase's attempts is none.
    pub(crate) fn no_progress(&mut self, phase: u32) {
        if let Some(known) = self.phases.get_mut(phase as usize) {
            known.progress = false;
            known.first_reports.clear();
            known.first_shares.clear();
        }
    }

    /// A task has its winner after so many seconds.
    pub(crate) fn won(&mut self, seen: &Observed) {
        let speed = self.speed(seen.node);
        if let Some(known) = self.phases.get_mut(seen.attempt.task.phase as usize) {
            known.finished.push(seen.age * speed);
        }
        self.ended(&Observed { progress: Some(1.0), ..*seen });
    }

    /// An attempt has ended, having done what it had.
    pub(crate) fn ended(&mut self, seen: &Observed) {
        let paces = self.evidence(seen);
        if let Some(node) = self.nodes.get_mut(seen.node.0 as usize) {
            node.ended.extend(paces);
            let forgotten = node.ended.len().saturating_sub(REMEMBERED);
            node.ended.drain(..forgotten);
        }
    }

    fn speed(&self, node: NodeId) -> f64 {
        self.nodes.get(node.0 as usize).map_or(1.0, |node| node.speed)
    }

    /// What an attempt says of its node: its pace, twice where it is very slow and has had the time to show.
    fn evidence(&self, seen: &Observed) -> Vec<f64> {
        let Some((pace, at_most)) = self.pace(seen) else { return Vec::new() };
        let median = self.median(seen.attempt.task.phase).unwrap_or(f64::INFINITY);
        let damning = at_most < VERY_SLOW && seen.age >= median;
        vec![pace; if damning { 2 } else { 1 }]
    }

    /// How fast an attempt goes through its work, relative to its phase's median, and how fast at most; `None`
    /// where it does not tell.
    fn pace(&self, seen: &Observed) -> Option<(f64, f64)> {
        let sure = |pace: f64| (pace, pace);
        let known = self.phases.get(seen.attempt.task.phase as usize)?;
        let median = known.median?;
        if seen.age <= 0.0 || median <= 0.0 {
            return None;
        }
        match seen.progress {
            Some(progress) if progress > 0.0 && seen.age >= TELLING_AGE * median => {
                Some(sure(progress * median / seen.age))
            }
            // Silent where others have long told something: no faster than if it now told as much.
            _ if known.progress => {
                let first = middle_of(&known.first_reports)?;
                let silent = seen.age > 2.0 * first.max(TELLING_AGE * median);
                silent.then(|| sure(first.max(TELLING_AGE * median) / seen.age))
            }
            // It is taken to need as long again as it has run.
            _ => (seen.age > LATE_AGE * median).then(|| (median / (2.0 * seen.age), median / seen.age)),
        }
    }

    /// What has been learned since the last time, as events.
    pub(crate) fn learned(&mut self, cluster: &Cluster, job: JobId, running: &[Observed]) -> Vec<Event> {
        let mut events = Vec::new();
        for phase in 0..self.phases.len() {
            events.extend(self.durations(phase, cluster, job, running));
        }
        events.extend(self.node_speeds(cluster.now(), running));
        events
    }

    fn durations(&mut self, phase: usize, cluster: &Cluster, job: JobId, running: &[Observed]) -> Option<Event> {
        let tasks = cluster.job(job)?.phases().get(phase).filter(|phase| !phase.is_finished())?.tasks().len();
        let enough = tasks.div_ceil(10).clamp(2, 5);
        let known = &self.phases[phase];
        let foretold: Vec<f64> = running
            .iter()
            .filter(|seen| seen.attempt.task.phase as usize == phase && seen.foretells)
            .filter_map(|seen| {
                let progress = seen.progress.filter(|share| *share > 0.0 && *share >= self.telling_share)?;
                Some(seen.age / progress * self.speed(seen.node))
            })
            .collect();
        let history = if known.finished.len() >= HISTORY_UNTIL { &[][..] } else { &self.history[phase][..] };
        let count = history.len() + known.finished.len() + foretold.len();
        let more = known.told + known.told.div_ceil(4).max(1);
        let more_finished = known.told_finished + known.told_finished.div_ceil(4).max(1);
        let is_new = count >= more || known.finished.len() >= more_finished || known.progress != known.told_progress;
        if count < enough || (known.told > 0 && !is_new) {
            return None;
        }
        let mut values: Vec<f64> = history.to_vec();
        values.extend(&known.finished);
        values.extend(foretold);
        values.retain(|seconds| seconds.is_finite() && *seconds > 0.0);
        values.sort_unstable_by(f64::total_cmp);
        let (durations, median, p90) = describe(&values)?;
        let known = &mut self.phases[phase];
        known.told = count;
        known.told_finished = known.finished.len();
        known.median = Some(median);
        known.told_progress = known.progress;
        let samples = values.len() as u32;
        Some(Event::DurationsLearned {
            job,
            phase: phase as u32,
            durations,
            median,
            p90,
            progress: known.progress,
            samples,
        })
    }

    /// Paces of the attempts that run on each node, and of the last ones that ended there, sorted.
    fn paces(&self, running: &[Observed]) -> Vec<Vec<f64>> {
        let mut paces: Vec<Vec<f64>> = self.nodes.iter().map(|known| known.ended.clone()).collect();
        for seen in running {
            if let Some(of_node) = paces.get_mut(seen.node.0 as usize) {
                of_node.extend(self.evidence(seen));
            }
        }
        for of_node in &mut paces {
            of_node.sort_unstable_by(f64::total_cmp);
        }
        paces
    }

    fn node_speeds(&mut self, now: Time, running: &[Observed]) -> Vec<Event> {
        let paces = self.paces(running);
        let medians: Vec<Option<f64>> = paces.iter().map(|of_node| middle_of_sorted(of_node)).collect();
        let mut sorted: Vec<f64> = medians.iter().copied().flatten().collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let mut heard = vec![false; self.nodes.len()];
        for seen in running {
            if let Some(of_node) = heard.get_mut(seen.node.0 as usize) {
                *of_node = true;
            }
        }
        let mut events = Vec::new();
        for node in 0..self.nodes.len() {
            // Where all are behind it is the tasks that take longer.
            let others = middle_of_others(&sorted, medians[node]).unwrap_or(1.0).min(1.0);
            let pace = medians[node].filter(|_| paces[node].len() >= 2 && self.nodes.len() > 1);
            let pace = pace.map(|pace| pace / others);
            events.extend(self.node_speed(NodeId(node as u32), now, pace, heard[node]));
        }
        events
    }

    /// A node's pace, compared with the others', where enough is known of it.
    fn node_speed(&mut self, id: NodeId, now: Time, pace: Option<f64>, heard: bool) -> Option<Event> {
        let longest = self.phases.iter().filter_map(|phase| phase.median).fold(0.0, f64::max);
        let speed = match pace {
            Some(pace) if pace < SLOW => pace.max(0.01),
            Some(_) => 1.0,
            None => self.nodes[id.0 as usize].speed,
        };
        let node = &mut self.nodes[id.0 as usize];
        if heard || node.speed == 1.0 {
            node.heard = now;
        }
        let silence = Time::from_seconds((SILENCE * longest).max(LEAST_SILENCE));
        let speed = if node.speed < 1.0 && now - node.heard > silence {
            node.ended.clear();
            node.heard = now;
            1.0
        } else {
            speed
        };
        let changed = (speed == 1.0) != (node.speed == 1.0) || !(0.75..=1.34).contains(&(speed / node.speed));
        if !changed {
            return None;
        }
        node.speed = speed;
        Some(Event::NodeSpeedLearned { node: id, speed })
    }
}

/// Winners from which on a run's own durations count alone.
const HISTORY_UNTIL: usize = 20;

/// Mean and tail, median and 90th percentile of sorted durations.
fn describe(sorted: &[f64]) -> Option<(Distribution, f64, f64)> {
    let count = sorted.len() as f64;
    let mean = sorted.iter().sum::<f64>() / count;
    let variance = sorted.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    // The Pareto distribution whose coefficient of variation this is.
    let tail = 1.0 + (mean / variance.sqrt()).hypot(1.0);
    let tail = if tail.is_nan() { LIGHTEST_TAIL } else { tail.clamp(HEAVIEST_TAIL, LIGHTEST_TAIL) };
    let durations = Distribution::pareto_with_mean(tail, mean).ok()?;
    let rank = |share: f64| sorted.get(((share * count).ceil() as usize).max(1) - 1).copied();
    Some((durations, rank(0.5)?, rank(0.9)?))
}

/// The median of sorted values: of an even number the mean of the middle two.
fn middle_of_sorted(values: &[f64]) -> Option<f64> {
    let upper = *values.get(values.len() / 2)?;
    Some(f64::midpoint(values[(values.len() - 1) / 2], upper))
}

fn middle_of(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    middle_of_sorted(&values)
}

/// The median of sorted values without one of them, if one is given.
fn middle_of_others(sorted: &[f64], own: Option<f64>) -> Option<f64> {
    let Some(own) = own else { return middle_of_sorted(sorted) };
    let left_out = sorted.partition_point(|value| *value < own);
    let at = |rank: usize| sorted.get(if rank < left_out { rank } else { rank + 1 }).copied();
    let count = sorted.len().checked_sub(1).filter(|count| *count > 0)?;
    Some(f64::midpoint(at((count - 1) / 2)?, at(count / 2)?))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hindmost_core::ids::TaskId;
    use hindmost_core::resources::{Dimensions, Resources};
    use hindmost_core::workload::{DemandByName, JobSpec, PhaseSpec};

    use super::*;

    const JOB: JobId = JobId(0);

    /// Two nodes and a job of one phase of ten tasks.
    fn cluster() -> Cluster {
        let mut cluster = Cluster::new(Dimensions::of([&DemandByName::new()]).unwrap());
        for at in 0..2 {
            let name = format!("n{at}").into();
            let event =
                Event::NodeJoined { node: NodeId(at), name, capacity: Resources::ONE_SLOT, speed: 1.0, rack: None };
            cluster.apply_event(Time::ZERO, &event).unwrap();
        }
        let phase = PhaseSpec {
            name: "work".into(),
            after: Vec::new(),
            tasks: 10,
            demand: DemandByName::new(),
            mean: 1.0,
            sd: None,
            tail: None,
            input: None,
            assumed: true,
            never_copied: false,
            finished: Vec::new(),
        };
        let spec = JobSpec {
            name: "job".into(),
            arrival: Time::ZERO,
            deadline: None,
            weight: 1.0,
            queue: None,
            phases: vec![phase],
        };
        cluster.apply_event(Time::ZERO, &Event::JobArrived { job: JOB, spec: Arc::new(spec) }).unwrap();
        cluster
    }

    fn seen(index: u32, node: u32, age: f64, progress: Option<f64>) -> Observed {
        let task = TaskId { job: JOB, phase: 0, index };
        Observed { attempt: AttemptId { task, copy: 0 }, node: NodeId(node), age, progress, foretells: true }
    }

    fn learner(history: Vec<f64>) -> Learner {
        Learner::new(1, 2, 0.1, vec![history])
    }

    #[test]
    fn two_winners_of_ten_tasks_tell_how_long_tasks_take() {
        let (cluster, mut learner) = (cluster(), learner(Vec::new()));
        learner.won(&seen(0, 0, 2.0, None));
        assert!(learner.learned(&cluster, JOB, &[]).is_empty());
        learner.won(&seen(1, 0, 4.0, None));
        let events = learner.learned(&cluster, JOB, &[]);
        let [Event::DurationsLearned { durations, median, p90, progress, samples, .. }] = &events[..] else {
            panic!("{events:?}")
        };
        assert!((durations.mean() - 3.0).abs() < 1e-9);
        assert_eq!((*median, *p90, *progress, *samples), (2.0, 4.0, false, 2));
        // The same two tell nothing new.
        assert!(learner.learned(&cluster, JOB, &[]).is_empty());
    }

    #[test]
    fn progress_foretells_durations_before_anything_has_finished() {
        let (cluster, mut learner) = (cluster(), learner(Vec::new()));
        learner.first_progress(0, 0.1, 0.05);
        let running = [seen(0, 0, 0.5, Some(0.25)), seen(1, 1, 0.5, Some(0.05)), seen(2, 0, 0.5, Some(0.25))];
        let events = learner.learned(&cluster, JOB, &running);
        // The one at 5% has not done enough to tell.
        let [Event::DurationsLearned { median, progress: true, samples: 2, .. }] = &events[..] else {
            panic!("{events:?}")
        };
        assert!((median - 2.0).abs() < 1e-9);
    }

    #[test]
    fn even_tasks_do_not_prove_that_there_are_no_stragglers() {
        let (cluster, mut learner) = (cluster(), learner(vec![1.0; 5]));
        let events = learner.learned(&cluster, JOB, &[]);
        let [Event::DurationsLearned { durations, .. }] = &events[..] else { panic!("{events:?}") };
        // Pareto with index 3: E[x − t | x > t] = t / 2 past its minimum.
        assert!((durations.mean_residual(2.0) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_node_is_slow_by_the_median_of_its_attempts_and_not_by_one() {
        let (cluster, mut learner) = (cluster(), learner(vec![1.0; 5]));
        learner.first_progress(0, 0.05, 0.05);
        learner.learned(&cluster, JOB, &[]);
        let one = [seen(0, 1, 0.4, Some(0.05))];
        assert!(learner.learned(&cluster, JOB, &one).is_empty());
        let two = [seen(0, 1, 0.4, Some(0.05)), seen(1, 1, 0.4, Some(0.05)), seen(2, 0, 0.4, Some(0.4))];
        let events = learner.learned(&cluster, JOB, &two);
        let slow = |event: &Event| match event {
            Event::NodeSpeedLearned { node, speed } => Some((*node, *speed)),
            _ => None,
        };
        let learned: Vec<_> = events.iter().filter_map(slow).collect();
        assert_eq!(learned.len(), 1);
        assert_eq!(learned[0].0, NodeId(1));
        assert!((learned[0].1 - 0.125).abs() < 1e-9, "{learned:?}");
    }

    #[test]
    fn where_all_are_behind_no_node_is_slow() {
        let (cluster, mut learner) = (cluster(), learner(vec![1.0; 5]));
        learner.first_progress(0, 0.05, 0.05);
        learner.learned(&cluster, JOB, &[]);
        let longer =
            [0, 1, 2, 3].map(|index| seen(index, index % 2, 0.4, Some(if index % 2 == 0 { 0.05 } else { 0.06 })));
        assert!(learner.learned(&cluster, JOB, &longer).is_empty());
        // A node that is alone is as fast as it is.
        let mut alone = Learner::new(1, 1, 0.1, vec![vec![1.0; 5]]);
        alone.first_progress(0, 0.05, 0.05);
        alone.learned(&cluster, JOB, &[]);
        let two = [seen(0, 0, 0.4, Some(0.05)), seen(1, 0, 0.4, Some(0.05))];
        assert!(alone.learned(&cluster, JOB, &two).is_empty());
    }

    #[test]
    fn the_middle_of_the_others() {
        let values = [1.0, 2.0, 2.0, 4.0, 8.0];
        assert_eq!(middle_of_others(&values, Some(2.0)), Some(3.0));
        assert_eq!(middle_of_others(&values, Some(8.0)), Some(2.0));
        assert_eq!(middle_of_others(&values, None), Some(2.0));
        assert_eq!(middle_of_others(&[1.0], Some(1.0)), None);
        assert_eq!(middle_of_others(&[], None), None);
    }

    #[test]
    fn what_finishes_outweighs_what_was_foretold() {
        let (cluster, mut learner) = (cluster(), learner(Vec::new()));
        learner.first_progress(0, 0.1, 0.9);
        let early: Vec<Observed> = (0..8).map(|index| seen(index, 0, 0.1, Some(0.9))).collect();
        let median = |events: &[Event]| match events {
            [Event::DurationsLearned { median, .. }] => *median,
            other => panic!("{other:?}"),
        };
        assert!(median(&learner.learned(&cluster, JOB, &early)) < 0.12);
        // They stand still since, and foretell nothing; one has ended after a second, and then another.
        learner.won(&seen(0, 0, 1.0, None));
        let standing: Vec<Observed> = early[2..].iter().map(|seen| Observed { foretells: false, ..*seen }).collect();
        assert!(learner.learned(&cluster, JOB, &standing).is_empty());
        learner.won(&seen(1, 0, 1.0, None));
        assert_eq!(median(&learner.learned(&cluster, JOB, &standing)), 1.0);
    }

    #[test]
    fn one_attempt_suffices_that_is_far_behind_when_others_have_ended() {
        let (cluster, mut learner) = (cluster(), learner(vec![1.0; 5]));
        learner.first_progress(0, 0.05, 0.05);
        learner.learned(&cluster, JOB, &[]);
        let events = learner.learned(&cluster, JOB, &[seen(0, 1, 1.1, Some(0.1))]);
        let slow = |event: &&Event| matches!(event, Event::NodeSpeedLearned { node: NodeId(1), speed } if *speed < 0.1);
        assert_eq!(events.iter().filter(slow).count(), 1, "{events:?}");
    }
}
