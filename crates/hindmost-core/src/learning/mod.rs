//! Learns during a live run, and in the replay of one, how long the copies of a phase take, and which nodes are slow.
//!
//! A live run does not know in advance how long its tasks take. It learns this from three sources: the durations of earlier
//! runs of the job, if they are given; the progress of running attempts; and the durations of winners. What it learns
//! becomes an event, so policies see only what is in the journal.
//!
//! Readings:
//! - Durations are unknown until enough copies have given a sample: 10% of the phase's tasks, at least two and at most five.
//!   Until then speculation policies that compare durations ignore the phase. Afterwards the durations are learned again
//!   each time the number of samples has grown by a quarter.
//! - Policies receive a Pareto distribution with the observed mean and spread and a tail index of at most 3. Stragglers are
//!   rare, so a few tasks of equal length do not prove that there are none.
//! - A node has the speed that the user has given, otherwise 1, until its pace differs. Paces are relative to this speed.
//! - A node is slow if the median pace of the last attempts on it is below two thirds of their phase's pace, and below two
//!   thirds of the other nodes' pace, if its paces are lower than the others beyond chance. This needs at least two attempts,
//!   or one attempt that has run at less than a third of its phase's pace for as long as the median copy takes. Otherwise the
//!   node has its given speed: if all nodes are behind, the tasks are longer and no node is slow. If speeds are given, nodes
//!   can also be faster than that, by the same measure. A slow node counts as normal again once no attempt on it has been
//!   observed for ten median durations, at least ten seconds.
//! - An attempt does not count if one that started later on the node has ended at a normal pace: its task is long, or it
//!   hangs. A late attempt without progress reports confirms the pace of its node's last winner until it is later than that
//!   explains. An older one is assumed to have done half of its work.
//!
//! Invariant: the learner returns an event only if it differs from the last event about the same phase or node.

mod durations;
#[cfg(test)]
mod tests;

use hindmost_math::statistics::median;

use crate::cluster::Cluster;
use crate::ids::{AttemptId, JobId, NodeId, TaskId};
use crate::node_speeds::{INFORMATIVE_AGE, NodeSamples, SLOW, node_paces, relative_paces, stands_out};
use crate::record::Event;
use crate::time::Time;

pub use durations::LATE_AGE;
use durations::PhaseSamples;

/// Standard deviations of the rank test above which a node becomes slow (one node in 100 by chance), and above which it stays slow (one
/// in 10).
const BECOMES_SLOW: f64 = 2.33;
const STAYS_SLOW: f64 = 1.28;

/// What the learner observes of an attempt.
#[derive(Clone, Copy, Debug)]
pub struct Observed {
    /// The attempt.
    pub attempt: AttemptId,
    /// Its node.
    pub node: NodeId,
    /// When it was observed.
    pub at: Time,
    /// Seconds since the start of the attempt.
    pub age: f64,
    /// Share of its task's work that the attempt does itself: 1, or less if it continues from the progress of another.
    pub work: f64,
    /// Share of its task's work that the attempt has done itself; `None` if unknown.
    pub progress: Option<f64>,
    /// False if no duration can be predicted from `progress`, because the attempt has stalled or seems to have done all its
    /// work.
    pub predicts_duration: bool,
}

impl Observed {
    /// When the attempt started.
    fn since(&self) -> Time {
        Time::from_seconds((self.at.seconds() - self.age).max(0.0))
    }
}

/// Learns the durations of phases and the speeds of nodes.
pub struct Learner {
    /// By job and phase.
    jobs: Vec<Vec<PhaseSamples>>,
    nodes: Vec<NodeSamples>,
    /// For each node, the latest start of an attempt that ended there at a normal pace.
    normal_since: Vec<Option<Time>>,
    /// For each node, the pace of the last winner there.
    winners: Vec<Option<f64>>,
    /// Share of the work from which on progress predicts the duration; above 1 if policies may not know it.
    reveal_share: f64,
    /// True if there is a new observation since the last call of [`Learner::take_due`].
    is_due: bool,
}

impl Learner {
    /// Creates a learner for nodes with these given speeds, without jobs.
    pub fn new(speeds: &[f64], reveal_share: f64) -> Learner {
        Learner {
            jobs: Vec::new(),
            nodes: NodeSamples::of_speeds(speeds),
            normal_since: vec![None; speeds.len()],
            winners: vec![None; speeds.len()],
            reveal_share,
            is_due: false,
        }
    }

    /// Adds the next job. `history` holds durations of earlier runs by phase, in seconds.
    pub fn add_job(&mut self, history: impl IntoIterator<Item = Vec<f64>>) {
        self.jobs.push(history.into_iter().map(PhaseSamples::new).collect());
    }

    /// Records a new observation, which the next call of [`Learner::take_due`] reports.
    pub fn set_due(&mut self) {
        self.is_due = true;
    }

    /// Returns whether there is a new observation since the last call.
    pub fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.is_due)
    }

    /// Takes over what an earlier process has learned, from an event in its journal.
    pub fn recall(&mut self, event: &Event) {
        match event {
            Event::DurationsLearned { job, phase, median, progress, samples, .. } => {
                let job = self.jobs.get_mut(job.0 as usize);
                if let Some(known) = job.and_then(|phases| phases.get_mut(*phase as usize)) {
                    known.recall(*median, *progress, *samples);
                }
            }
            Event::NodeSpeedLearned { node, speed } => {
                if let Some(known) = self.nodes.get_mut(node.0 as usize) {
                    known.recall(*speed);
                }
            }
            _ => {}
        }
    }

    fn phase_mut(&mut self, task: TaskId) -> &mut PhaseSamples {
        &mut self.jobs[task.job.0 as usize][task.phase as usize]
    }

    /// Returns what is known of a task's phase.
    fn phase(&self, task: TaskId) -> Option<&PhaseSamples> {
        self.jobs.get(task.job.0 as usize)?.get(task.phase as usize)
    }

    /// Returns the median duration of the copies of a task's phase in seconds; `None` if it is unknown.
    pub fn median(&self, task: TaskId) -> Option<f64> {
        self.phase(task)?.median
    }

    /// Returns the age in seconds above which an attempt of a task's phase has reported nothing for unusually long; `None` if nothing
    /// has been reported.
    pub fn late_report(&self, task: TaskId) -> Option<f64> {
        self.phase(task)?.late_report()
    }

    /// True if the reports of a task's phase were found to say little about durations. They no longer count.
    pub fn is_misled(&self, task: TaskId) -> bool {
        self.phase(task).is_some_and(PhaseSamples::is_misled)
    }

    /// Adds the last report of a winner: the duration that it predicted, relative to the actual one. Returns true if this shows that
    /// the reports of the phase mislead: for example if programs report 90% when they have only begun, or 9% shortly before the end.
    pub fn last_report(&mut self, task: TaskId, ratio: f64) -> bool {
        let misleads = self.phase_mut(task).last_report(ratio);
        self.is_due |= misleads;
        misleads
    }

    /// Returns the median share of the work that the attempts of a task's phase report first.
    pub fn first_share(&self, task: TaskId) -> Option<f64> {
        median_of(&self.phase(task)?.first_shares)
    }

    /// True if the commands of a task's phase read their input first and then work, so that reading is not progress.
    pub fn reads_first(&self, task: TaskId) -> bool {
        self.phase(task).is_some_and(|known| known.reads_first)
    }

    /// Adds the first progress report of an attempt.
    pub fn first_progress(&mut self, task: TaskId, age: f64, share: f64) {
        self.phase_mut(task).first_progress(age, share);
        self.set_due();
    }

    /// Notes that the commands of a task's phase read their input first and then work. Discards the progress that was derived from
    /// reading.
    pub fn no_progress(&mut self, task: TaskId) {
        self.phase_mut(task).no_progress();
        self.set_due();
    }

    /// Notes that an attempt has reported no progress up to this age, in seconds. Once the attempt is older than the median
    /// duration of its phase, this is evidence about its node.
    pub fn no_report(&mut self, task: TaskId, age: f64) {
        self.is_due |= self.median(task).is_some_and(|median| age > median);
    }

    /// Adds the duration of a task's winner.
    pub fn won(&mut self, seen: &Observed) {
        let seconds = seen.age * self.speed(seen.node) / seen.work;
        self.phase_mut(seen.attempt.task).finished.push(seconds);
        let seen = Observed { progress: Some(seen.work), ..*seen };
        let paces = self.evidence(&seen);
        if let Some((known, pace)) = self.winners.get_mut(seen.node.0 as usize).zip(paces.first()) {
            *known = Some(*pace);
        }
        self.ended(&seen);
    }

    /// Adds the pace of an attempt that has ended to its node.
    pub fn ended(&mut self, seen: &Observed) {
        let at = seen.node.0 as usize;
        let paces = self.evidence(seen);
        if paces.first().is_some_and(|pace| *pace >= SLOW)
            && let Some(known) = self.normal_since.get_mut(at)
        {
            *known = (*known).max(Some(seen.since()));
        }
        if let Some(node) = self.nodes.get_mut(at) {
            node.ended(paces);
        }
    }

    fn speed(&self, node: NodeId) -> f64 {
        self.nodes.get(node.0 as usize).map_or(1.0, NodeSamples::speed)
    }

    /// Returns the paces of an attempt relative to its phase's median on its node, as evidence about the node's speed. A slow
    /// attempt is no such evidence if one that started later on the node has ended at a normal pace: then its task takes long,
    /// or it hangs.
    fn evidence(&self, seen: &Observed) -> Vec<f64> {
        let given = self.nodes.get(seen.node.0 as usize).map_or(1.0, NodeSamples::given);
        let winner = self.winners.get(seen.node.0 as usize).copied().flatten();
        let paces = self.phase(seen.attempt.task).map(|phase| phase.evidence(seen, given, winner));
        let mut paces = paces.unwrap_or_default();
        let normal_since = self.normal_since.get(seen.node.0 as usize).copied().flatten();
        if normal_since.is_some_and(|since| since > seen.since()) {
            paces.retain(|pace| *pace >= SLOW);
        }
        paces
    }

    /// Returns what has been learned since the last call, as events.
    pub fn learned(&mut self, cluster: &Cluster, running: &[Observed]) -> Vec<Event> {
        let mut events = Vec::new();
        for (at, job) in (0..self.jobs.len()).zip((0..).map(JobId)) {
            let Some(unfinished) = cluster.job(job) else { continue };
            for (phase, found) in (0..).zip(unfinished.phases()).filter(|(_, found)| !found.is_finished()) {
                let predicted = self.predicted((job, phase), running);
                let samples = self.jobs[at].get_mut(phase as usize);
                let event = samples.and_then(|samples| samples.learned(job, phase, found.tasks().len(), &predicted));
                events.extend(event);
            }
        }
        let paces = node_paces(&self.nodes, running.iter().map(|seen| (seen.node, self.evidence(seen))));
        let mut is_observed = vec![false; self.nodes.len()];
        for seen in running {
            is_observed[seen.node.0 as usize] = true;
        }
        let longest = self.jobs.iter().flatten().filter_map(|phase| phase.median).fold(0.0, f64::max);
        let relative = relative_paces(&paces);
        // Needed only if a node may be slow.
        let mut all = if relative.iter().flatten().any(|pace| *pace < SLOW) { paces.concat() } else { Vec::new() };
        all.sort_unstable_by(f64::total_cmp);
        for (at, pace) in relative.into_iter().enumerate() {
            let deviations = if self.nodes[at].speed() < self.nodes[at].given() { STAYS_SLOW } else { BECOMES_SLOW };
            let is_chance = |pace: f64| pace < SLOW && !stands_out(&paces[at], &all, deviations);
            let pace = pace.map(|pace| if is_chance(pace) { 1.0 } else { pace });
            let speed = self.nodes[at].learned(pace, cluster.now(), is_observed[at], longest);
            events.extend(speed.map(|speed| Event::NodeSpeedLearned { node: NodeId(at as u32), speed }));
        }
        events
    }

    /// Returns the durations that follow from the progress of a phase's running attempts, in seconds on a node of speed 1.
    fn predicted(&self, phase: (JobId, u32), running: &[Observed]) -> Vec<f64> {
        let is_of_phase = |seen: &Observed| (seen.attempt.task.job, seen.attempt.task.phase) == phase;
        let of_phase = running.iter().filter(|seen| is_of_phase(seen) && seen.predicts_duration);
        let predicted = of_phase.filter_map(|seen| {
            let progress = seen.progress.filter(|share| *share > 0.0 && *share >= self.reveal_share)?;
            Some(seen.age / progress * self.speed(seen.node))
        });
        predicted.collect()
    }
}

fn median_of(values: &[f64]) -> Option<f64> {
    median(&mut values.to_vec())
}
