//! `carbyne`: altruistic scheduling. Jobs delay tasks that can wait, and jobs that are nearly done use the resources
//! that this leaves free.
//!
//! Paper: Grandl, Chowdhury, Akella & Ananthanarayanan, "Altruistic Scheduling in Multi-Resource Clusters", OSDI 2016.
//!
//! Each job is entitled to its fair share, but claims only the resources that it needs now to end no later than with
//! all of its share. The resources that jobs do not claim go to the jobs with the shortest remaining time.
//!
//! 1. **Between jobs**: dominant resource fairness. Weights and demands give job j the dominant share x_j (progressive
//!    filling), and the share vector s_j = x_j · (the cluster's resources).
//! 2. **Within a job**: alone in the share, a phase of n unfinished tasks of effective time e and demand d runs in
//!    waves of w = max(1, min over dimensions ⌊s/d⌋) tasks and takes ⌈n/w⌉·e. The unfinished phases are placed in a
//!    virtual cluster with the resources s, each as early as resources and parents allow. This gives the completion
//!    time T. The phases are placed again, backwards from T, each as late as resources and children allow:
//!
//!    ```text
//!    T           = max over phases of the end of the forward placement
//!    latest end  = min(T, latest starts of the children)
//!    due(t)      = tasks whose place in the backward placement begins at t or before
//!    ```
//!
//!    Due tasks start now; jobs take turns by DRF. All other tasks wait.
//! 3. **Leftover resources** go to jobs in the order of shortest remaining time (the longest path of unfinished
//!    phases). Within a job, the task that packs best starts first (largest inner product of demand and free
//!    resources), whether or not its job had delayed it. So no resources stay idle.
//!
//! Readings:
//! - Phases that are open at the same time divide the share as they are placed: forwards, the phase with the longest
//!   path to the job's end first; backwards, the phase with the longest path from the job's beginning first.
//! - A task that is too large for the share is placed alone in it.
//! - Plans assume that running tasks hold their resources from now until an effective time after their mean start.
//! - For DRF, a job can use at most the resources that all of its unfinished tasks demand together.
//! - A plan says when each task is due, so it stays valid over time. A job gets a new plan when it arrives, when one of
//!   its phases finishes, when its durations are learned, and when its share changes because a job arrived or ended or
//!   a node joined or left.
//! - A new plan keeps the completion time that an earlier plan promised unless the share has shrunk. Otherwise new
//!   plans could delay a job for ever.
//! - All tasks of a job that is behind its promise are due, so that the job is served as under DRF.
//! - How well a phase packs is measured on the node that the cluster's placement chooses for it.

use hindmost_core::cluster::{Applied, Cluster, Job, Phase};
use hindmost_core::ids::{AttemptId, JobId};
use hindmost_core::record::{Decision, Event};
use hindmost_core::time::Time;

use crate::dag::by_arrival::ByArrival;
use crate::dag::checked_jobs::{Ahead, CheckedJobs};
use crate::dag::fair_shares::{FairShares, ShareChange};
use crate::dag::in_waves::{Chain, Situation, durations_of};
use crate::dag::latest_starts::{LatestStarts, resources_of_share};
use crate::dag::packing::{Fitter, Offer};
use crate::dag::resource_profile::Moment;
use crate::orders::srpt::Srpt;
use hindmost_core::policy::queue_place::{Place, Which};
use hindmost_core::policy::runnable_by_demand::Stuck;
use hindmost_core::policy::{JobQueue, Pass, Round, Seen, View};

/// The pass that starts pending tasks: first due tasks, then other tasks on leftover resources.
pub struct Altruists {
    which: Which,
    /// The jobs by remaining time, for leftover resources.
    shortest: JobQueue,
    jobs: ByArrival<Member>,
    shares: FairShares,
    /// True if a job has arrived or ended or the cluster has changed, so that shares must be computed again.
    shares_changed: bool,
    /// The jobs that were checked, in the policy's order, and have no due task now.
    checked: CheckedJobs,
    /// The next jobs in the policy's order that were not checked since the shares changed.
    ahead: Ahead,
}

/// The state of a job.
struct Member {
    /// The completion time that the job's last plan promised; `None` if there is no promise to keep.
    promise: Option<Time>,
    /// The job's plan; `None` if a new plan must be made.
    plan: Option<LatestStarts>,
    /// The input of a plan in waves; `None` if it must be computed again or the job's phases are not a chain.
    chain: Option<Chain>,
    /// The effective time of each phase, in nanoseconds.
    durations: Vec<Moment>,
    /// By phase, the sum of the start times of its running attempts, in nanoseconds.
    started: Vec<u128>,
    /// The generation of [`CheckedJobs`] in which the last check of the job found no due task. `None` if the job has
    /// changed since or the check found one.
    checked_in: Option<u64>,
}

impl Altruists {
    /// Creates the pass for all jobs, for started jobs or for new jobs.
    pub fn of(which: Which) -> Altruists {
        let shortest = JobQueue::new(Box::new(Srpt));
        Altruists {
            which,
            shortest,
            jobs: ByArrival::default(),
            shares: FairShares::default(),
            shares_changed: false,
            checked: CheckedJobs::default(),
            ahead: Ahead::default(),
        }
    }

    fn attempt_started(&mut self, attempt: AttemptId, now: Time) {
        if let Some(member) = self.jobs.get_mut(attempt.task.job) {
            member.chain = None;
            if let Some(sum) = member.started.get_mut(attempt.task.phase as usize) {
                *sum += u128::from(now.0);
            }
        }
        self.checked.changed.push(attempt.task.job);
    }

    fn attempt_ended(&mut self, attempt: AttemptId, applied: Applied) {
        let Some(member) = self.jobs.get_mut(attempt.task.job) else { return };
        if let Some(((_, since), sum)) = applied.released.zip(member.started.get_mut(attempt.task.phase as usize)) {
            *sum = sum.saturating_sub(u128::from(since.0));
        }
        self.task_changed(attempt.task.job, applied);
    }

    /// Updates a job after an attempt of a task has ended, or a task was withheld, has returned or was given up.
    fn task_changed(&mut self, job: JobId, applied: Applied) {
        let Some(member) = self.jobs.get_mut(job) else { return };
        member.chain = None;
        self.shares.change(job);
        self.checked.changed.push(job);
        if applied.makes_pending() {
            member.checked_in = None;
        }
        if applied.phase_finished {
            member.plan = None;
        }
        if applied.job_finished {
            self.job_left(job);
        }
    }

    /// Removes a job that has finished or was abandoned.
    fn job_left(&mut self, job: JobId) {
        self.jobs.remove(job);
        self.shares.leave(job);
        self.shares_changed = true;
    }

    /// Computes the sums of start times again after a lost node has ended attempts.
    fn recount(&mut self, cluster: &Cluster) {
        for member in self.jobs.values_mut() {
            member.started.fill(0);
        }
        for attempt in cluster.running() {
            self.attempt_started(attempt.id(), attempt.since());
        }
    }

    /// Marks all shares as to be computed again, because nodes joined or left.
    fn nodes_changed(&mut self) {
        self.jobs.values_mut().for_each(|member| member.chain = None);
        self.shares.change_all();
        self.shares_changed = true;
        self.checked.clear();
    }

    /// Computes the jobs' shares again if a job has arrived or ended or the cluster has changed.
    fn share_out(&mut self, cluster: &Cluster) {
        if !std::mem::take(&mut self.shares_changed) {
            return;
        }
        if self.shares.share_out(cluster) {
            self.checked.clear();
        }
    }

    /// Marks jobs to be checked again, at their present places: the jobs with a task that has become due, and the jobs
    /// that have changed.
    fn collect_changed(&mut self, round: &mut Round<'_>) {
        while let Some(job) = self.checked.next_due(round.cluster().now()) {
            if let Some(member) = self.jobs.get_mut(job) {
                member.checked_in = None;
                self.checked.changed.push(job);
            }
        }
        let mut changed = std::mem::take(&mut self.checked.changed);
        for id in changed.drain(..) {
            let must_check = self.jobs.get(id).is_some_and(|member| member.checked_in != Some(self.checked.generation));
            if let Some(place) = place_of(id, self.which, round).filter(|_| must_check) {
                self.checked.check_again(place);
            }
        }
        self.checked.changed = changed;
    }

    /// Returns the place of the next job that may have a due task that fits, after the place `passed`.
    fn next_to_check(&mut self, round: &mut Round<'_>, passed: Option<Place>, stuck: &mut Stuck) -> Option<Place> {
        let mut after = passed;
        while let Some(place) = self.checked.next(after) {
            if place_of(place.job(), self.which, round) != Some(place) {
                self.checked.remove(place);
            } else if fits_somewhere(place.job(), round.cluster()) {
                return Some(place);
            } else {
                after = Some(place);
            }
        }
        let after = passed.max(self.checked.until());
        self.ahead.next(after, |after, most, places| round.next_jobs_that_fit(self.which, after, most, stuck, places))
    }

    /// Discards the plan of a job whose share has changed, and makes a new one if the job's chain is known. Returns the
    /// time until which no task is due according to the new plan; `None` if there is no new plan or a task is due now.
    fn nothing_due_until(&mut self, id: JobId, now: Time) -> Option<Time> {
        let (share, change) = self.shares.take(id);
        let member = self.jobs.get_mut(id)?;
        if change != ShareChange::None {
            member.plan = None;
        }
        if change == ShareChange::Shrunk {
            member.promise = None;
        }
        if member.plan.is_some() {
            return None;
        }
        let chain = member.chain.as_ref().filter(|chain| chain.is_with(share))?;
        let plan = LatestStarts::in_waves(chain, now, &mut member.promise)?;
        let until = plan.nothing_due_until(now);
        member.plan = Some(plan);
        member.checked_in = until.map(|_| self.checked.generation);
        until
    }

    /// Moves on to the jobs after `place`, and notes that all jobs up to it were checked. If demands are stuck, jobs
    /// with these demands were skipped instead of checked, so nothing is noted.
    fn pass(&mut self, passed: &mut Option<Place>, place: Place, stuck: &Stuck) {
        *passed = Some(place);
        if stuck.is_empty() {
            self.checked.checked_until(place);
        }
    }

    /// Starts due tasks. Jobs take turns.
    fn start_due(&mut self, round: &mut Round<'_>, fitter: &mut Fitter) {
        // The jobs up to this place have no due task that fits.
        let mut passed = None;
        let mut stuck = Stuck::default();
        self.ahead.clear();
        while round.cluster().open_nodes() > 0 {
            let Some(place) = self.next_to_check(round, passed, &mut stuck) else { return };
            let id = place.job();
            let cluster = round.cluster();
            let now = cluster.now();
            if let Some(until) = self.nothing_due_until(id, now) {
                self.pass(&mut passed, place, &stuck);
                self.checked.skip_until(place, Some(until));
                continue;
            }
            let (mut is_due, mut next_due) = (false, None);
            let offer = cluster.job(id).and_then(|job| {
                let share = self.shares.share(id);
                let Member { promise, plan, chain, durations, started, checked_in } = self.jobs.get_mut(id)?;
                let is_new = plan.is_none();
                let plan = plan.get_or_insert_with(|| {
                    let situation =
                        Situation { job, now, resources: resources_of_share(share, cluster), durations, started };
                    *chain = Chain::new(&situation, share);
                    LatestStarts::new(&situation, chain.as_ref(), promise)
                });
                // Tasks that have lost their copies are due at once. Such tasks exist only under an older plan.
                next_due = plan.nothing_due_until(now).filter(|_| is_new);
                if next_due.is_some() {
                    *checked_in = Some(self.checked.generation);
                    return None;
                }
                let offer = best_offer(cluster, job, fitter, |phase, pending| {
                    let due = plan.due(phase, pending, now) > 0;
                    is_due |= due;
                    if !is_due {
                        next_due = [next_due, plan.next_due(phase, now)].into_iter().flatten().min();
                    }
                    due
                });
                *checked_in = (!is_due).then_some(self.checked.generation);
                offer
            });
            if offer.is_some_and(|offer| round.start(offer.task, offer.node)) {
                self.ahead.clear();
                round.because(|| "its job would end later than with its fair share if it did not start now".to_owned());
                if let Some(place) = place_of(id, self.which, round) {
                    self.checked.check_again(place);
                }
                continue;
            }
            self.pass(&mut passed, place, &stuck);
            if is_due {
                self.checked.check_again(place);
            } else {
                self.checked.skip_until(place, next_due);
            }
        }
    }

    /// Starts tasks on leftover resources, the job with the shortest remaining time first.
    fn start_leftover(&mut self, round: &mut Round<'_>, fitter: &mut Fitter) {
        let mut passed = None;
        let mut stuck = Stuck::default();
        while round.cluster().open_nodes() > 0 {
            let next = self.shortest.next_that_fits(self.which, passed, &mut stuck, round.cluster());
            let Some(place) = next else { return };
            let id = place.job();
            loop {
                let cluster = round.cluster();
                let offer = cluster.job(id).and_then(|job| best_offer(cluster, job, fitter, |_, _| true));
                if !offer.is_some_and(|offer| round.start(offer.task, offer.node)) {
                    break;
                }
                round.because(|| {
                    "resources were left over, and of all jobs that fit, its job has the shortest remaining time"
                        .to_owned()
                });
            }
            self.shortest.refresh(id, round.cluster());
            passed = Some(place);
        }
    }
}

/// Returns the place of a job in the policy's order; `None` if it has nothing to start or `which` excludes it.
fn place_of(id: JobId, which: Which, round: &Round<'_>) -> Option<Place> {
    let (cluster, queue) = round.cluster_and_orders();
    let is_meant = |job: &&Job| match which {
        Which::Any => true,
        Which::Started => job.started().is_some(),
        Which::New => job.started().is_none(),
    };
    let job = cluster.job(id).filter(|job| job.runnable() > 0).filter(is_meant)?;
    Some(Place::by_key(queue.key_of(job, cluster), id))
}

/// Returns true if some pending task of a job fits on a node now.
fn fits_somewhere(id: JobId, cluster: &Cluster) -> bool {
    let fits = |phase: &Phase| phase.is_open() && phase.pending() > 0 && cluster.fits_somewhere(phase.demand());
    cluster.dimensions().is_one_slot() || cluster.job(id).is_some_and(|job| job.phases().iter().any(fits))
}

/// Returns the offer that packs best among the job's open phases that `may` admits (by number and pending tasks); ties
/// go to the phase with the smaller number.
fn best_offer(
    cluster: &Cluster,
    job: &Job,
    fitter: &mut Fitter,
    mut may: impl FnMut(usize, u32) -> bool,
) -> Option<Offer> {
    let mut best: Option<Offer> = None;
    for (at, phase) in job.phases().iter().enumerate() {
        if !phase.is_open() || phase.pending() == 0 || !may(at, phase.pending()) {
            continue;
        }
        let offer = fitter.offer(cluster, job.id(), at as u32);
        if let Some(offer) = offer.filter(|offer| best.is_none_or(|best| offer.alignment > best.alignment)) {
            best = Some(offer);
        }
    }
    best
}

impl Pass for Altruists {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        let cluster = view.cluster;
        match seen {
            Seen::Decision(Decision::Start { attempt, .. }) => {
                self.attempt_started(*attempt, cluster.now());
                self.shortest.refresh(attempt.task.job, cluster);
            }
            Seen::Decision(Decision::Replace { attempt, .. }) => self.attempt_started(*attempt, cluster.now()),
            Seen::Decision(Decision::Abandon { job }) => {
                self.job_left(*job);
                self.checked.changed.push(*job);
                self.shortest.refresh(*job, cluster);
            }
            Seen::Decision(_) => {}
            Seen::Event(event, applied) => {
                self.shortest.observe(event, applied, cluster);
                match event {
                    Event::JobArrived { job, spec } => {
                        self.shares.join(*job);
                        let started = vec![0; spec.phases.len()];
                        let durations = cluster.job(*job).map(durations_of).unwrap_or_default();
                        self.jobs.push(
                            *job,
                            Member { promise: None, plan: None, chain: None, durations, started, checked_in: None },
                        );
                        self.shares_changed = true;
                        self.checked.changed.push(*job);
                    }
                    Event::AttemptFinished { attempt }
                    | Event::AttemptFailed { attempt, .. }
                    | Event::AttemptStopped { attempt } => self.attempt_ended(*attempt, applied),
                    Event::TaskWithheld { task, .. } | Event::TaskReturned { task } | Event::TaskGivenUp { task } => {
                        self.task_changed(task.job, applied);
                    }
                    Event::DurationsLearned { job, .. } => {
                        if let Some(member) = self.jobs.get_mut(*job) {
                            (member.plan, member.promise, member.checked_in) = (None, None, None);
                            member.chain = None;
                            member.durations = cluster.job(*job).map(durations_of).unwrap_or_default();
                            self.checked.changed.push(*job);
                        }
                    }
                    Event::NodeLost { .. } => {
                        self.recount(cluster);
                        self.nodes_changed();
                    }
                    Event::NodeJoined { .. } | Event::NodeLeaving { .. } | Event::NodeReturned { .. } => {
                        self.nodes_changed();
                    }
                    _ => {}
                }
            }
        }
    }

    fn decide(&mut self, round: &mut Round<'_>) {
        if round.cluster().open_nodes() == 0 {
            return;
        }
        self.share_out(round.cluster());
        let mut fitter = Fitter::default();
        self.collect_changed(round);
        self.start_due(round, &mut fitter);
        self.start_leftover(round, &mut fitter);
    }
}
