//! Dominant resource fairness as a division of the whole cluster, for orders that plan with a job's share.

use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::ids::JobId;
use hindmost_core::resources::MAX_DIMENSIONS;

/// What a job could use, as DRF sees it.
#[derive(Clone, Copy, Debug)]
struct Claim {
    weight: f64,
    /// Share of the cluster, by dimension, that it would take with all its tasks at once.
    usable: [f64; MAX_DIMENSIONS],
    /// The largest of these.
    dominant: f64,
    /// The level of shares over weights at which it can use no more.
    satisfied_at: f64,
    has_left: bool,
}

impl Claim {
    fn new(weight: f64, usable: [f64; MAX_DIMENSIONS]) -> Claim {
        let dominant = usable.iter().copied().fold(0.0, f64::max);
        Claim { weight, usable, dominant, satisfied_at: dominant / weight, has_left: false }
    }

    /// All of a job's unfinished tasks at once.
    fn of(job: &Job, cluster: &Cluster) -> Claim {
        let mut usable = [0.0; MAX_DIMENSIONS];
        for phase in job.phases() {
            for ((sum, need), all) in usable.iter_mut().zip(&phase.demand().0).zip(&cluster.total().0) {
                if *all > 0 && *need > 0 {
                    *sum += f64::from(phase.unfinished()) * *need as f64 / *all as f64;
                }
            }
        }
        Claim::new(job.spec().weight.max(f64::MIN_POSITIVE), usable)
    }

    /// Of a job that needs nothing.
    fn none() -> Claim {
        Claim::new(1.0, [0.0; MAX_DIMENSIONS])
    }

    /// What it has once it is satisfied: all, if it needs nothing.
    fn most(&self) -> f64 {
        if self.dominant > 0.0 { self.dominant } else { 1.0 }
    }

    /// How fast it takes a dimension up while it grows.
    fn rate(&self, dimension: usize) -> f64 {
        self.weight * self.usable[dimension] / self.dominant
    }
}

/// Sums of shares differ from what they should be by so little.
const ROUNDING: f64 = 1e-9;

/// The dominant share of each job: the largest for which jobs grow together, each in proportion to its weight
/// and with its dimensions in the proportion of its demands, until it can use no more or a dimension that it
/// needs is full. A job that needs nothing has a share of 1. `order` holds those that need something, in any order: the
/// nearer to that of earlier results, the faster they are sorted.
fn dominant_shares(claims: &[Claim], order: &mut Vec<u32>) -> Vec<f64> {
    let mut shares = vec![1.0; claims.len()];
    let claim = |at: u32| &claims[at as usize];
    // Growing jobs, those that are satisfied first at the end.
    order.retain(|at| claim(*at).dominant > 0.0);
    order.sort_by(|one, other| claim(*other).satisfied_at.total_cmp(&claim(*one).satisfied_at).then(other.cmp(one)));
    let mut growing = order.clone();
    let is_used = |dimension: usize| order.iter().any(|at| claim(*at).usable[dimension] > 0.0);
    let used: Vec<usize> = (0..MAX_DIMENSIONS).filter(|dimension| is_used(*dimension)).collect();
    let rates_of = |growing: &[u32]| {
        let mut rates = [0.0; MAX_DIMENSIONS];
        for dimension in used.iter().copied() {
            rates[dimension] = growing.iter().map(|at| claim(*at).rate(dimension)).sum();
        }
        rates
    };
    let mut rates = rates_of(&growing);
    let mut left = [1.0f64; MAX_DIMENSIONS];
    let mut level = 0.0;
    while let Some(&next) = growing.last() {
        let dimensions = used.iter().map(|at| (left[*at], rates[*at])).filter(|(_, rate)| *rate > ROUNDING);
        let full_at = level + dimensions.map(|(left, rate)| left.max(0.0) / rate).fold(f64::INFINITY, f64::min);
        let satisfied_at = claim(next).satisfied_at;
        let until = full_at.min(satisfied_at);
        for at in used.iter().copied() {
            left[at] -= rates[at] * (until - level);
        }
        level = until;
        if satisfied_at <= full_at {
            shares[next as usize] = claim(next).dominant;
            growing.pop();
            for at in used.iter().copied() {
                rates[at] -= claim(next).rate(at);
            }
            continue;
        }
        let full =
            |at: u32| used.iter().any(|dimension| left[*dimension] <= ROUNDING && claim(at).usable[*dimension] > 0.0);
        let before = growing.len();
        growing.retain(|at| {
            let is_full = full(*at);
            if is_full {
                shares[*at as usize] = claim(*at).weight * level;
            }
            !is_full
        });
        if growing.len() == before {
            // Rounding alone: nobody grows any more.
            for at in growing.drain(..) {
                shares[at as usize] = claim(at).weight * level;
            }
        }
        rates = rates_of(&growing);
    }
    shares
}

/// The unfinished jobs and what they could use. While the cluster has room for all tasks of all jobs at once each job
/// has what it could use, and only those have a new share of which that has changed.
#[derive(Debug, Default)]
pub(crate) struct FairShares {
    /// By id; those that have left are taken out once they are half of all.
    jobs: Vec<JobId>,
    /// Each job's.
    claims: Vec<Claim>,
    /// Numbers of jobs that need something, in the order of the last result and then by arrival.
    order: Vec<u32>,
    left: usize,
    /// What all could use together.
    usable: [f64; MAX_DIMENSIONS],
    /// Jobs of uncommon weights.
    uncommon: usize,
    /// Jobs of which tasks have finished since shares were last handed out, and new ones.
    changed: Vec<JobId>,
    /// True once the cluster has changed.
    all_changed: bool,
    /// True if all jobs had what they could use when shares were last handed out.
    was_satisfied: bool,
}

/// Of the cluster, what all tasks of all jobs may use together for it to be certain that each job can have all that it
/// could use, however sums are rounded.
const CERTAIN: f64 = 0.999;
/// Weights for which that holds.
const COMMON_WEIGHTS: std::ops::RangeInclusive<f64> = 0.01..=100.0;

impl FairShares {
    /// A job has arrived, after all others.
    pub fn join(&mut self, job: JobId) {
        self.order.push(self.jobs.len() as u32);
        self.jobs.push(job);
        self.claims.push(Claim::none());
        self.changed.push(job);
    }

    /// A job has finished.
    pub fn leave(&mut self, job: JobId) {
        let Ok(at) = self.jobs.binary_search(&job) else { return };
        self.set(at, Claim { has_left: true, ..Claim::none() });
        self.left += 1;
    }

    fn set(&mut self, at: usize, claim: Claim) {
        let before = std::mem::replace(&mut self.claims[at], claim);
        for (sum, (now, before)) in self.usable.iter_mut().zip(claim.usable.iter().zip(&before.usable)) {
            *sum += now - before;
        }
        let is_uncommon = |claim: &Claim| usize::from(!COMMON_WEIGHTS.contains(&claim.weight));
        self.uncommon = self.uncommon + is_uncommon(&claim) - is_uncommon(&before);
    }

    /// True if it is certain that all jobs can have what they could use.
    fn is_satisfied(&self) -> bool {
        self.uncommon == 0 && self.usable.iter().all(|sum| *sum <= CERTAIN)
    }

    /// Takes out jobs that have left, if they are most.
    fn forget_left(&mut self) {
        if self.left * 2 <= self.jobs.len() {
            return;
        }
        let mut numbers = vec![None; self.jobs.len()];
        let mut next = 0;
        for (number, claim) in numbers.iter_mut().zip(&self.claims) {
            if !claim.has_left {
                *number = Some(next);
                next += 1;
            }
        }
        self.order = self.order.iter().filter_map(|at| numbers[*at as usize]).collect();
        let mut at = 0;
        self.jobs.retain(|_| {
            at += 1;
            numbers[at - 1].is_some()
        });
        self.claims.retain(|claim| !claim.has_left);
        self.left = 0;
    }

    /// A task of a job has finished.
    pub fn change(&mut self, job: JobId) {
        if self.changed.last() != Some(&job) {
            self.changed.push(job);
        }
    }

    /// Nodes have come or gone.
    pub fn change_all(&mut self) {
        self.all_changed = true;
    }

    /// Hands each unfinished job's share to `give`, unless it certainly is what it was.
    pub fn share_out(&mut self, cluster: &Cluster, mut give: impl FnMut(JobId, f64)) {
        let all_changed = std::mem::take(&mut self.all_changed);
        if all_changed {
            self.changed.clone_from(&self.jobs);
            self.order = (0..self.jobs.len() as u32).collect();
        }
        let mut changed = std::mem::take(&mut self.changed);
        changed.sort_unstable();
        changed.dedup();
        changed.retain(|job| cluster.job(*job).is_some_and(|job| job.finished().is_none()));
        for id in &changed {
            if let (Ok(at), Some(job)) = (self.jobs.binary_search(id), cluster.job(*id)) {
                self.set(at, Claim::of(job, cluster));
            }
        }
        self.forget_left();
        let is_satisfied = self.is_satisfied();
        if !is_satisfied {
            let shares = dominant_shares(&self.claims, &mut self.order);
            self.jobs.iter().zip(shares).for_each(|(job, share)| give(*job, share));
        } else if self.was_satisfied {
            for id in &changed {
                if let Ok(at) = self.jobs.binary_search(id) {
                    give(*id, self.claims[at].most());
                }
            }
        } else {
            self.jobs.iter().zip(&self.claims).for_each(|(job, claim)| give(*job, claim.most()));
        }
        self.was_satisfied = is_satisfied;
        changed.clear();
        self.changed = changed;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn claim(weight: f64, cpus: f64, memory: f64) -> Claim {
        let mut usable = [0.0; MAX_DIMENSIONS];
        (usable[0], usable[1]) = (cpus, memory);
        Claim::new(weight, usable)
    }

    fn dominant_shares(claims: &[Claim]) -> Vec<f64> {
        super::dominant_shares(claims, &mut (0..claims.len() as u32).collect())
    }

    fn close(shares: &[f64], expected: &[f64]) {
        assert_eq!(shares.len(), expected.len());
        for (share, expected) in shares.iter().zip(expected) {
            assert!((share - expected).abs() < 1e-9, "{shares:?}, not {expected}");
        }
    }

    #[test]
    fn the_example_of_the_drf_paper() {
        // 9 cpus, 18 GB; A's tasks need 1 cpu and 4 GB, B's 3 cpus and 1 GB: A gets 3 tasks, B 2, and both a
        // dominant share of 2/3 (Ghodsi et al., NSDI 2011, section 4.1).
        let a = claim(1.0, 100.0 / 9.0, 400.0 / 18.0);
        let b = claim(1.0, 300.0 / 9.0, 100.0 / 18.0);
        close(&dominant_shares(&[a, b]), &[2.0 / 3.0, 2.0 / 3.0]);
    }

    #[test]
    fn what_a_job_cannot_use_goes_to_the_others() {
        close(
            &dominant_shares(&[claim(1.0, 5.0, 0.0), claim(1.0, 0.1, 0.0), claim(1.0, 9.0, 0.0)]),
            &[0.45, 0.1, 0.45],
        );
        close(&dominant_shares(&[claim(3.0, 5.0, 0.0), claim(1.0, 5.0, 0.0)]), &[0.75, 0.25]);
        // Once the cpus are full, a job that needs memory alone goes on.
        close(&dominant_shares(&[claim(1.0, 2.0, 0.0), claim(1.0, 2.0, 0.0), claim(1.0, 0.0, 0.9)]), &[0.5, 0.5, 0.9]);
        close(&dominant_shares(&[claim(1.0, 0.3, 0.2), claim(1.0, 0.0, 0.0)]), &[0.3, 1.0]);
        close(&dominant_shares(&[]), &[]);
    }

    proptest! {
        /// Where there certainly is room for all, each has exactly what it could use: none is computed.
        #[test]
        fn all_that_fits_is_handed_out_to_the_last_bit(
            claims in proptest::collection::vec((0.01..100.0f64, 0.0..1.0f64, 0.0..1.0f64), 1..60)
        ) {
            let (cpus, memory) = claims.iter().fold((0.0, 0.0), |sum, claim| (sum.0 + claim.1, sum.1 + claim.2));
            let most = f64::max(cpus, memory) / (CERTAIN - 1e-9);
            let claims: Vec<Claim> =
                claims.into_iter().map(|(weight, cpus, memory)| claim(weight, cpus / most, memory / most)).collect();
            prop_assert_eq!(dominant_shares(&claims), claims.iter().map(Claim::most).collect::<Vec<_>>());
        }

        /// Nothing is handed out twice, and whoever wants more is held up by a full dimension, in which nobody
        /// has more for its weight.
        #[test]
        fn shares_are_max_min_fair(
            claims in proptest::collection::vec((0.1..5.0f64, 0.0..2.0f64, 0.0..2.0f64), 1..20)
        ) {
            let claims: Vec<Claim> = claims.into_iter().map(|(weight, cpus, memory)| claim(weight, cpus, memory)).collect();
            let shares = dominant_shares(&claims);
            let takes = |at: usize, dimension: usize| shares[at] * claims[at].usable[dimension] / claims[at].dominant;
            let used = |dimension: usize| (0..claims.len()).map(|at| takes(at, dimension)).sum::<f64>();
            prop_assert!(used(0) <= 1.0 + 1e-6 && used(1) <= 1.0 + 1e-6);
            for at in 0..claims.len() {
                prop_assert!(shares[at] <= claims[at].dominant + 1e-9);
                if shares[at] >= claims[at].dominant - 1e-9 {
                    continue;
                }
                let held_up = (0..2).any(|dimension| {
                    used(dimension) > 1.0 - 1e-6
                        && claims[at].usable[dimension] > 0.0
                        && (0..claims.len()).filter(|other| claims[*other].usable[dimension] > 0.0).all(|other| {
                            shares[other] / claims[other].weight <= shares[at] / claims[at].weight + 1e-6
                        })
                });
                prop_assert!(held_up, "job {at} of {claims:?} has {shares:?}");
            }
        }
    }
}
