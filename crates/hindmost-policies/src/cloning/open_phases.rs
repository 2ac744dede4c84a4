//! The open phases of unfinished jobs, kept from event to event: how many slots their first copies use follows from them
//! without a look at every job.

use std::collections::{BTreeMap, BTreeSet};

use hindmost_core::cluster::{Cluster, Job, Phase};
use hindmost_core::ids::JobId;
use hindmost_core::policy::{Seen, View};
use hindmost_core::record::{Decision, Event};
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

use crate::theory::pocd::ParetoTail;

/// How many copies of a demand the empty cluster can run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slots {
    pub(super) copies: u64,
    /// How many of them may be copies of one task.
    pub(super) of_a_task: u32,
}

/// An open, unfinished phase of an unfinished job.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenPhase {
    /// Number of unfinished tasks.
    pub(super) tasks: u32,
    /// Index of the demand of its tasks.
    pub(super) demand: usize,
    /// The durations as Pareto durations.
    pub(super) tail: ParetoTail,
    /// True if its job has a deadline and its tasks may be copied.
    pub(super) may_be_cloned: bool,
}

/// The open phases of unfinished jobs, and the number of their tasks by demand.
#[derive(Debug, Default)]
pub(super) struct OpenPhases {
    /// The unfinished jobs with their deadlines.
    jobs: FxHashMap<JobId, Option<Time>>,
    deadlines: BTreeSet<(Time, JobId)>,
    phases: BTreeMap<(JobId, u32), OpenPhase>,
    /// Each demand with the number of unfinished tasks in open phases, and with its slots once they are counted.
    demands: Vec<(Resources, u64, Option<Slots>)>,
    /// The state of the nodes for which slots were counted.
    counted_for: u64,
}

impl OpenPhases {
    /// Observes what opens, shortens and ends phases.
    pub(super) fn observe(&mut self, seen: &Seen<'_>, view: &View<'_>) {
        match seen {
            Seen::Event(Event::JobArrived { job, .. }, _) => {
                let deadline = view.cluster.job(*job).and_then(Job::deadline);
                self.jobs.insert(*job, deadline);
                self.deadlines.extend(deadline.map(|deadline| (deadline, *job)));
                self.update_job(*job, view.cluster);
            }
            Seen::Event(Event::AttemptFinished { attempt }, applied) if applied.won => {
                let job = attempt.task.job;
                if applied.job_finished {
                    self.remove_job(job);
                } else if applied.phase_finished {
                    // Children of the phase may have opened.
                    self.update_job(job, view.cluster);
                } else if let Some(phase) = self.phases.get_mut(&(job, attempt.task.phase)) {
                    phase.tasks = phase.tasks.saturating_sub(1);
                    let tasks = &mut self.demands[phase.demand].1;
                    *tasks = tasks.saturating_sub(1);
                }
            }
            Seen::Event(Event::TaskGivenUp { task }, applied) => {
                if applied.job_finished {
                    self.remove_job(task.job);
                } else {
                    self.update_job(task.job, view.cluster);
                }
            }
            Seen::Event(Event::DurationsLearned { job, phase, .. }, _) => {
                let learned = view.cluster.job(*job).and_then(|job| job.phases().get(*phase as usize));
                if let Some((learned, known)) = learned.zip(self.phases.get_mut(&(*job, *phase))) {
                    known.tail = ParetoTail::of(learned.durations());
                }
            }
            Seen::Decision(Decision::Abandon { job }) => self.remove_job(*job),
            _ => {}
        }
    }

    /// Removes the jobs that were abandoned after their deadlines in the present round: passes observe decisions of a round
    /// after it.
    pub(super) fn remove_abandoned(&mut self, cluster: &Cluster) {
        let late = self.deadlines.range(..(cluster.now(), JobId(0))).map(|(_, job)| *job);
        let is_over = |job: &JobId| cluster.job(*job).is_none_or(Job::is_over);
        for job in late.filter(is_over).collect::<Vec<_>>() {
            self.remove_job(job);
        }
    }

    fn remove_job(&mut self, job: JobId) {
        let Some(deadline) = self.jobs.remove(&job) else { return };
        if let Some(deadline) = deadline {
            self.deadlines.remove(&(deadline, job));
        }
        while let Some(id) = self.phases.range((job, 0)..=(job, u32::MAX)).next().map(|(id, _)| *id) {
            self.remove(id);
        }
    }

    fn remove(&mut self, id: (JobId, u32)) {
        if let Some(phase) = self.phases.remove(&id) {
            self.demands[phase.demand].1 -= u64::from(phase.tasks);
        }
    }

    fn update_job(&mut self, id: JobId, cluster: &Cluster) {
        let Some(job) = cluster.job(id) else { return };
        for (at, phase) in (0..).zip(job.phases()) {
            let is_open = phase.is_open() && !phase.is_finished();
            match (self.phases.contains_key(&(id, at)), is_open) {
                (false, true) => self.insert((id, at), job, phase),
                (true, false) => self.remove((id, at)),
                _ => {}
            }
        }
    }

    fn insert(&mut self, id: (JobId, u32), job: &Job, phase: &Phase) {
        let demand = self.demand(phase.demand());
        let (tasks, tail) = (phase.unfinished(), ParetoTail::of(phase.durations()));
        let may_be_cloned = job.deadline().is_some() && phase.may_be_copied();
        self.demands[demand].1 += u64::from(tasks);
        self.phases.insert(id, OpenPhase { tasks, demand, tail, may_be_cloned });
    }

    fn demand(&mut self, demand: &Resources) -> usize {
        self.demands.iter().position(|(known, ..)| known == demand).unwrap_or_else(|| {
            self.demands.push((*demand, 0, None));
            self.demands.len() - 1
        })
    }

    /// Counts the slots of all demands for the present nodes, of which each may run `per_node` copies of a task. Must be
    /// called before the functions below.
    pub(super) fn count_slots(&mut self, cluster: &Cluster, per_node: u32) {
        if self.counted_for != cluster.node_changes() {
            self.counted_for = cluster.node_changes();
            self.demands.iter_mut().for_each(|(.., slots)| *slots = None);
        }
        for (demand, _, slots) in self.demands.iter_mut().filter(|(.., slots)| slots.is_none()) {
            let mut counted = Slots::default();
            for node in cluster.nodes().iter().filter(|node| node.is_up() && demand.fits(node.capacity())) {
                let copies = node.capacity().times(demand);
                counted.copies = counted.copies.saturating_add(copies);
                let of_a_task = u32::try_from(copies).unwrap_or(u32::MAX).min(per_node);
                counted.of_a_task = counted.of_a_task.saturating_add(of_a_task);
            }
            *slots = Some(counted);
        }
    }

    /// Returns the slots of a phase's demand.
    pub(super) fn slots_of(&self, phase: &OpenPhase) -> Slots {
        self.demands[phase.demand].2.unwrap_or_default()
    }

    /// Returns λ·m: the number of copies of the most modest demand that the empty cluster can run.
    pub(super) fn total(&self) -> f64 {
        let used = self.demands.iter().filter(|(_, tasks, _)| *tasks > 0);
        used.filter_map(|(.., slots)| slots.map(|slots| slots.copies)).max().unwrap_or(0) as f64
    }

    /// Returns the number of slots that are left when every unfinished task of an open phase has one copy, and every
    /// unfinished job `masters` more; negative if there are fewer. Tasks that fit on no node don't count.
    pub(super) fn free_slots(&self, masters: u32) -> f64 {
        let total = self.total();
        let of_demand = |(_, tasks, slots): &(Resources, u64, Option<Slots>)| {
            let copies = slots.map_or(0, |slots| slots.copies);
            if copies == 0 { 0.0 } else { *tasks as f64 * total / copies as f64 }
        };
        total - f64::from(masters) * self.jobs.len() as f64 - self.demands.iter().map(of_demand).sum::<f64>()
    }

    /// Returns the open phases, by job.
    pub(super) fn iter(&self) -> impl Iterator<Item = ((JobId, u32), &OpenPhase)> {
        self.phases.iter().map(|(id, phase)| (*id, phase))
    }

    /// Returns the number of open phases.
    pub(super) fn len(&self) -> usize {
        self.phases.len()
    }
}
