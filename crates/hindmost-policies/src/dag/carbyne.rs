//! `carbyne`: altruistic scheduling (Grandl, Chowdhury, Akella & Ananthanarayanan, "Altruistic Scheduling in
//! Multi-Resource Clusters", OSDI 2016).
//!
//! Each job is entitled to its fair share, but claims of it only what it needs now so as not to end later
//! than with all of it; what jobs leave over goes to those that are nearly done.
//!
//! 1. **Between jobs**, dominant resource fairness: weights and demands give job j the dominant share x_j
//!    (progressive filling), so a share vector s_j = x_j · (the cluster's room).
//! 2. **Within a job**: a phase of n unfinished tasks of effective time e and demand d runs, alone in the
//!    share, in waves of w = max(1, min over dimensions ⌊s/d⌋) tasks and takes ⌈n/w⌉·e. The phases not
//!    finished are placed into a virtual cluster of room s, each as early as room and parents let it, which
//!    gives the completion T; then again from T backwards, each as late as room and children let it:
//!
//!    ```text
//!    T           = max over phases of the end of the forward placing
//!    latest end  = min(T, latest starts of the children)
//!    due(t)      = tasks whose place in the backward placing begins at t or before
//!    ```
//!
//!    The tasks that are due start now, jobs taking turns by DRF; all others are left over for later.
//! 3. **Leftover**: what room is left goes to jobs in the order of shortest remaining time (the longest path
//!    of unfinished phases), and within a job to the task that packs best (largest inner product of demand
//!    and free room), including those that a job itself had put off. So no room is left idle.
//!
//! Readings: phases open at the same time divide the share as they are placed, the one with the longest path
//! to the job's end first (backwards: the longest path from its beginning); a task too large for the share
//! has it alone; running tasks hold their room from now until an effective time after their mean start; what
//! a job could use, for DRF, is all of its unfinished tasks. A plan is made anew when the job arrives, a
//! phase of it finishes, its durations are learned, or its share has changed because a job arrived or ended
//! or a node came or went; in between it goes on being right, for it says when each task is due. A new plan
//! keeps the completion that an earlier one promised, unless the share has become smaller: else a job could
//! be put off for ever. A job that is behind its promise has all of its tasks due, and is then treated as by
//! DRF. Of phases that fit, each stands with the node that the cluster's placement gives it.

use hindmost_core::cluster::{Applied, Cluster, Job, Phase};
use hindmost_core::ids::{AttemptId, JobId};
use hindmost_core::record::{Decision, Event};
use hindmost_core::time::Time;

use crate::dag::asked_jobs::{Ahead, AskedJobs};
use crate::dag::by_arrival::ByArrival;
use crate::dag::fair_shares::{FairShares, News};
use crate::dag::in_waves::{Chain, Situation, durations_of};
use crate::dag::latest_starts::{LatestStarts, room_of};
use crate::dag::packing::{Fitter, Offer};
use crate::dag::resource_profile::Moment;
use crate::orders::srpt::Srpt;
use hindmost_core::policy::queue_place::{Place, Which};
use hindmost_core::policy::runnable_by_demand::Stuck;
use hindmost_core::policy::{JobQueue, Pass, Round, Seen, View};

/// The pass that starts pending tasks as Carbyne does. See the module's documentation.
pub struct Altruists {
    which: Which,
    /// The jobs by remaining time, for what is left over.
    shortest: JobQueue,
    jobs: ByArrival<Member>,
    shares: FairShares,
    /// True once a job came or went, or the cluster has changed: shares are to be computed anew.
    shares_changed: bool,
    /// Of the jobs in the policy's order, those that have nothing due now.
    asked: AskedJobs,
    /// The next jobs in the policy's order that were not asked since shares have changed.
    ahead: Ahead,
}

/// What is kept of a job.
struct Member {
    /// When it should end, by the last plan.
    promise: Option<Time>,
    /// What is planned; nothing if it must be made anew.
    plan: Option<LatestStarts>,
    /// What plans in waves see of it; nothing if that is to be looked up, or is not such.
    chain: Option<Chain>,
    /// How long tasks of each phase take, as far as is known.
    durations: Vec<Moment>,
    /// By phase, the sum of when living attempts were started, nanoseconds.
    started: Vec<u128>,
    /// When it was asked last and had nothing due: the generation of [`AskedJobs`].
    asleep: Option<u64>,
}

impl Altruists {
    /// Of all jobs, of those that have been started, or of new ones.
    pub fn of(which: Which) -> Altruists {
        let shortest = JobQueue::new(Box::new(Srpt));
        Altruists {
            which,
            shortest,
            jobs: ByArrival::default(),
            shares: FairShares::default(),
            shares_changed: false,
            asked: AskedJobs::default(),
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
        self.asked.touched.push(attempt.task.job);
    }

    fn attempt_ended(&mut self, attempt: AttemptId, applied: Applied) {
        let Some(member) = self.jobs.get_mut(attempt.task.job) else { return };
        member.chain = None;
        self.shares.change(attempt.task.job);
        self.asked.touched.push(attempt.task.job);
        if applied.pending_again || applied.phase_finished {
            member.asleep = None;
        }
        if let Some(((_, since), sum)) = applied.released.zip(member.started.get_mut(attempt.task.phase as usize)) {
            *sum = sum.saturating_sub(u128::from(since.0));
        }
        if applied.phase_finished {
            member.plan = None;
        }
        if applied.job_finished {
            self.jobs.remove(attempt.task.job);
            self.shares.leave(attempt.task.job);
            self.shares_changed = true;
        }
    }

    /// Adds up afresh when attempts were started, for a node went with whatever was on it.
    fn recount(&mut self, cluster: &Cluster) {
        for member in self.jobs.values_mut() {
            member.started.fill(0);
        }
        for attempt in cluster.running() {
            self.attempt_started(attempt.id(), attempt.since());
        }
    }

    /// Shares are of another cluster.
    fn nodes_changed(&mut self) {
        self.jobs.values_mut().for_each(|member| member.chain = None);
        self.shares.change_all();
        self.shares_changed = true;
        self.asked.forget();
    }

    fn share_out(&mut self, cluster: &Cluster) {
        if !std::mem::take(&mut self.shares_changed) {
            return;
        }
        if self.shares.share_out(cluster) {
            self.asked.forget();
        }
    }

    /// Wakes the jobs that are due, and sorts those that have changed into their new places.
    fn wake(&mut self, round: &mut Round<'_>) {
        while let Some(job) = self.asked.next_due(round.cluster().now()) {
            if let Some(member) = self.jobs.get_mut(job) {
                member.asleep = None;
                self.asked.touched.push(job);
            }
        }
        let mut touched = std::mem::take(&mut self.asked.touched);
        for id in touched.drain(..) {
            let is_awake = self.jobs.get(id).is_some_and(|member| member.asleep != Some(self.asked.generation));
            if let Some(place) = place_of(id, self.which, round).filter(|_| is_awake) {
                self.asked.wake(place);
            }
        }
        self.asked.touched = touched;
    }

    /// The next job after a place that may have something due that fits.
    fn next_to_ask(&mut self, round: &mut Round<'_>, passed: Option<Place>, stuck: &mut Stuck) -> Option<Place> {
        let mut after = passed;
        while let Some(place) = self.asked.next(after) {
            if place_of(place.job(), self.which, round) != Some(place) {
                self.asked.remove(place);
            } else if fits_somewhere(place.job(), round.cluster()) {
                return Some(place);
            } else {
                after = Some(place);
            }
        }
        let after = passed.max(self.asked.until());
        self.ahead.next(after, |after, most, places| round.next_jobs_that_fit(self.which, after, most, stuck, places))
    }

    /// Voids the plan of a job whose share has changed. If all that is to be known of the job for a new one is known, makes
    /// it; tells until when nothing is due by it, if that is not now.
    fn sleeps_on(&mut self, id: JobId, now: Time) -> Option<Time> {
        let (share, news) = self.shares.take(id);
        let member = self.jobs.get_mut(id)?;
        if news != News::None {
            member.plan = None;
        }
        if news == News::Shrunk {
            member.promise = None;
        }
        if member.plan.is_some() {
            return None;
        }
        let chain = member.chain.as_ref().filter(|chain| chain.is_with(share))?;
        let plan = LatestStarts::in_waves(chain, now, &mut member.promise)?;
        let until = plan.sleeps_until(now);
        member.plan = Some(plan);
        member.asleep = until.map(|_| self.asked.generation);
        until
    }

    /// A job was asked, and all before it.
    fn pass(&mut self, passed: &mut Option<Place>, place: Place, stuck: &Stuck) {
        *passed = Some(place);
        if stuck.is_empty() {
            self.asked.asked_until(place);
        }
    }

    /// Starts tasks that are due, jobs taking turns.
    fn start_due(&mut self, round: &mut Round<'_>, fitter: &mut Fitter) {
        // Jobs up to here have nothing due that fits.
        let mut passed = None;
        let mut stuck = Stuck::default();
        self.ahead.forget();
        while round.cluster().open_nodes() > 0 {
            let Some(place) = self.next_to_ask(round, passed, &mut stuck) else { return };
            let id = place.job();
            let cluster = round.cluster();
            let now = cluster.now();
            if let Some(until) = self.sleeps_on(id, now) {
                self.pass(&mut passed, place, &stuck);
                self.asked.sleep(place, Some(until));
                continue;
            }
            let (mut is_due, mut next_due) = (false, None);
            let offer = cluster.job(id).and_then(|job| {
                let share = self.shares.share(id);
                let Member { promise, plan, chain, durations, started, asleep } = self.jobs.get_mut(id)?;
                let is_new = plan.is_none();
                let plan = plan.get_or_insert_with(|| {
                    let situation = Situation { job, now, room: room_of(share, cluster), durations, started };
                    *chain = Chain::new(&situation, share);
                    LatestStarts::new(&situation, chain.as_ref(), promise)
                });
                // Tasks that have lost their copies are due at once; of such a job the plan is an old one.
                next_due = plan.sleeps_until(now).filter(|_| is_new);
                if next_due.is_some() {
                    *asleep = Some(self.asked.generation);
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
                *asleep = (!is_due).then_some(self.asked.generation);
                offer
            });
            if offer.is_some_and(|offer| round.start(offer.task, offer.node)) {
                self.ahead.forget();
                round.because(|| "its job would end later than with its fair share if it did not start now".to_owned());
                if let Some(place) = place_of(id, self.which, round) {
                    self.asked.wake(place);
                }
                continue;
            }
            self.pass(&mut passed, place, &stuck);
            if is_due {
                self.asked.wake(place);
            } else {
                self.asked.sleep(place, next_due);
            }
        }
    }

    /// Gives what room is left to jobs, the shortest first.
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
                round.because(|| "room was left over, and its job was the nearest to its end that fits".to_owned());
            }
            self.shortest.refresh(id, round.cluster());
            passed = Some(place);
        }
    }
}

/// Where a job with something to start stands in the policy's order.
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

/// True if there is room for some task of a job that could be started.
fn fits_somewhere(id: JobId, cluster: &Cluster) -> bool {
    let fits = |phase: &Phase| phase.is_open() && phase.pending() > 0 && cluster.fits_somewhere(phase.demand());
    cluster.dimensions().is_one_slot() || cluster.job(id).is_some_and(|job| job.phases().iter().any(fits))
}

/// Of the phases that may start a task, the offer that packs best; ties by the phase's number.
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
                            Member { promise: None, plan: None, chain: None, durations, started, asleep: None },
                        );
                        self.shares_changed = true;
                        self.asked.touched.push(*job);
                    }
                    Event::AttemptFinished { attempt }
                    | Event::AttemptFailed { attempt, .. }
                    | Event::AttemptStopped { attempt } => self.attempt_ended(*attempt, applied),
                    Event::DurationsLearned { job, .. } => {
                        if let Some(member) = self.jobs.get_mut(*job) {
                            (member.plan, member.promise, member.asleep) = (None, None, None);
                            member.chain = None;
                            member.durations = cluster.job(*job).map(durations_of).unwrap_or_default();
                            self.asked.touched.push(*job);
                        }
                    }
                    Event::NodeLost { .. } => {
                        self.recount(cluster);
                        self.nodes_changed();
                    }
                    Event::NodeJoined { .. } | Event::NodeReturned { .. } => self.nodes_changed(),
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
        self.wake(round);
        self.start_due(round, &mut fitter);
        self.start_leftover(round, &mut fitter);
    }
}
