//! Dominant resource fairness as a division of the whole cluster, for orders that plan with a job's share.

use hindmost_core::cluster::Cluster;
use hindmost_core::ids::JobId;
use hindmost_core::resources::MAX_DIMENSIONS;

/// What a job could use, as DRF sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    /// Its weight.
    pub weight: f64,
    /// Share of the cluster, by dimension, that it would take with all its tasks at once.
    pub usable: [f64; MAX_DIMENSIONS],
}

impl Claim {
    fn dominant(&self) -> f64 {
        self.usable.iter().copied().fold(0.0, f64::max)
    }
}

/// Sums of shares differ from what they should be by so little.
const ROUNDING: f64 = 1e-9;

/// The dominant share of each job: the largest for which jobs grow together, each in proportion to its weight
/// and with its dimensions in the proportion of its demands, until it can use no more or a dimension that it
/// needs is full. A job that needs nothing has a share of 1.
pub(crate) fn dominant_shares(claims: &[Claim]) -> Vec<f64> {
    let mut shares = vec![1.0; claims.len()];
    // Growing jobs, those that are satisfied first at the end.
    let mut growing: Vec<usize> = (0..claims.len()).filter(|at| claims[*at].dominant() > 0.0).collect();
    let satisfied_at = |at: usize| claims[at].dominant() / claims[at].weight;
    growing.sort_by(|one, other| satisfied_at(*other).total_cmp(&satisfied_at(*one)).then(other.cmp(one)));
    let rate = |at: usize, dimension: usize| claims[at].weight * claims[at].usable[dimension] / claims[at].dominant();
    let rates_of = |growing: &[usize]| {
        let mut rates = [0.0; MAX_DIMENSIONS];
        for (dimension, sum) in rates.iter_mut().enumerate() {
            *sum = growing.iter().map(|at| rate(*at, dimension)).sum();
        }
        rates
    };
    let mut rates = rates_of(&growing);
    let mut left = [1.0f64; MAX_DIMENSIONS];
    let mut level = 0.0;
    while let Some(&next) = growing.last() {
        let dimensions = left.iter().zip(&rates).filter(|(_, rate)| **rate > ROUNDING);
        let full_at = level + dimensions.map(|(left, rate)| left.max(0.0) / rate).fold(f64::INFINITY, f64::min);
        let until = full_at.min(satisfied_at(next));
        for (left, rate) in left.iter_mut().zip(&rates) {
            *left -= rate * (until - level);
        }
        level = until;
        if satisfied_at(next) <= full_at {
            shares[next] = claims[next].dominant();
            growing.pop();
            for (dimension, sum) in rates.iter_mut().enumerate() {
                *sum -= rate(next, dimension);
            }
            continue;
        }
        let full = |at: usize| {
            (0..MAX_DIMENSIONS).any(|dimension| left[dimension] <= ROUNDING && claims[at].usable[dimension] > 0.0)
        };
        let before = growing.len();
        growing.retain(|at| {
            if full(*at) {
                shares[*at] = claims[*at].weight * level;
            }
            !full(*at)
        });
        if growing.len() == before {
            // Rounding alone: nobody grows any more.
            for at in growing.drain(..) {
                shares[at] = claims[at].weight * level;
            }
        }
        rates = rates_of(&growing);
    }
    shares
}

/// The share of each unfinished job, by id: what it could use is all of its unfinished tasks at once.
pub(crate) fn shares_of_jobs(cluster: &Cluster) -> Vec<(JobId, f64)> {
    let total = cluster.total();
    let jobs: Vec<_> = cluster.jobs().filter(|job| job.finished().is_none()).collect();
    let claims: Vec<Claim> = jobs
        .iter()
        .map(|job| {
            let mut usable = [0.0; MAX_DIMENSIONS];
            for phase in job.phases() {
                for ((sum, need), all) in usable.iter_mut().zip(&phase.demand().0).zip(&total.0) {
                    if *all > 0 {
                        *sum += f64::from(phase.unfinished()) * *need as f64 / *all as f64;
                    }
                }
            }
            Claim { weight: job.spec().weight.max(f64::MIN_POSITIVE), usable }
        })
        .collect();
    jobs.iter().map(|job| job.id()).zip(dominant_shares(&claims)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn claim(weight: f64, cpus: f64, memory: f64) -> Claim {
        let mut usable = [0.0; MAX_DIMENSIONS];
        (usable[0], usable[1]) = (cpus, memory);
        Claim { weight, usable }
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
        /// Nothing is handed out twice, and whoever wants more is held up by a full dimension, in which nobody
        /// has more for its weight.
        #[test]
        fn shares_are_max_min_fair(
            claims in proptest::collection::vec((0.1..5.0f64, 0.0..2.0f64, 0.0..2.0f64), 1..20)
        ) {
            let claims: Vec<Claim> = claims.into_iter().map(|(weight, cpus, memory)| claim(weight, cpus, memory)).collect();
            let shares = dominant_shares(&claims);
            let takes = |at: usize, dimension: usize| shares[at] * claims[at].usable[dimension] / claims[at].dominant();
            let used = |dimension: usize| (0..claims.len()).map(|at| takes(at, dimension)).sum::<f64>();
            prop_assert!(used(0) <= 1.0 + 1e-6 && used(1) <= 1.0 + 1e-6);
            for at in 0..claims.len() {
                prop_assert!(shares[at] <= claims[at].dominant() + 1e-9);
                if shares[at] >= claims[at].dominant() - 1e-9 {
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
