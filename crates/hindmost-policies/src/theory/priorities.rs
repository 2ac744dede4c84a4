//! Priorities of jobs by knapsacks of doubling size: Algorithm 1 of Xu, Liu & Lau 2022.
//!
//! For l = 1, 2, … the jobs that can be done within 2^l slots, B_l = {j : e_j ≤ 2^l}, are packed into a
//! knapsack of 2^l slots of the whole cluster: as many as possible with Σ v_j ≤ 2^l, which is smallest
//! volume first, up to the first that does not fit. A job's priority is the first l that picked it, kept
//! even if a later level drops the job; the smallest priority is served first.
//!
//! The printed upper end of l, g = log₂(Σ v / (1 − max d)), is infinite where a job demands all of the
//! cluster (max d = 1), below 1 on a large cluster, so that no job gets a priority, and can leave out a job
//! that is long and small. So levels go on until every job has one; [`printed_last_level`] tells the
//! printed end.

/// A job as the algorithm sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizedJob {
    /// e_j: its (effective) length, slots.
    pub length: f64,
    /// v_j: its (effective) volume, slots of the whole cluster.
    pub volume: f64,
}

impl SizedJob {
    /// With the largest number for what is not finite.
    pub(crate) fn finite(self) -> SizedJob {
        let finite = |amount: f64| if amount.is_nan() { f64::MAX } else { amount.clamp(0.0, f64::MAX) };
        SizedJob { length: finite(self.length), volume: finite(self.volume) }
    }
}

/// The priority of each job, from 1, in the given order; among equal volumes the earlier job is packed
/// first. Lengths and volumes that are not finite count as the largest number.
pub fn priorities(jobs: &[SizedJob]) -> Vec<u32> {
    let mut by_volume: Vec<(SizedJob, usize)> = jobs.iter().zip(0..).map(|(job, at)| (job.finite(), at)).collect();
    by_volume.sort_by(|one, other| one.0.volume.total_cmp(&other.0.volume));
    let mut knapsacks = Knapsacks::for_total(by_volume.iter().map(|(job, _)| job.volume).sum());
    let mut found = vec![0; jobs.len()];
    for (job, at) in by_volume {
        found[at] = knapsacks.pack(first_level(job.length), job.volume);
    }
    found
}

/// The smallest level whose knapsack is as long as a job, from 1.
pub(crate) fn first_level(length: f64) -> u32 {
    (1..LAST_LEVEL).find(|level| length <= slots(*level)).unwrap_or(LAST_LEVEL)
}

/// At this level everything fits.
const LAST_LEVEL: u32 = 1024;

/// Size of a level's knapsack, slots. Beyond all numbers everything is packed.
fn slots(level: u32) -> f64 {
    // Bits of a power of two: its exponent alone.
    if level < LAST_LEVEL { f64::from_bits(u64::from(level + 1023) << 52) } else { f64::INFINITY }
}

/// A level that may take another job.
#[derive(Debug)]
struct Knapsack {
    level: u32,
    size: f64,
    packed: f64,
}

/// The knapsacks of all levels, into which jobs are packed one after another, the smallest volume first.
#[derive(Debug, Default)]
pub(crate) struct Knapsacks {
    /// Those that have still taken every job, the smallest level first.
    open: Vec<Knapsack>,
    /// The first level that takes all jobs together.
    last: u32,
}

impl Knapsacks {
    /// For jobs that have no more than so many slots of volume together.
    pub fn for_total(total: f64) -> Knapsacks {
        let mut knapsacks = Knapsacks::default();
        knapsacks.empty(total);
        knapsacks
    }

    /// Begins anew, for jobs that have no more than so many slots of volume together.
    pub fn empty(&mut self, total: f64) {
        self.last = first_level(total);
        self.open.clear();
        self.open.extend((1..self.last).map(|level| Knapsack { level, size: slots(level), packed: 0.0 }));
    }

    /// Packs the next job, which is short enough from this level on, into every knapsack that it fits in: returns the
    /// first of them.
    #[inline]
    pub fn pack(&mut self, from: u32, volume: f64) -> u32 {
        let (mut found, mut is_one_full) = (self.last.max(from), false);
        for knapsack in self.open.iter_mut().rev().take_while(|knapsack| knapsack.level >= from) {
            knapsack.packed += volume;
            if knapsack.packed <= knapsack.size {
                found = knapsack.level;
            } else {
                is_one_full = true;
            }
        }
        if is_one_full {
            // The next job has at least this volume.
            self.open.retain(|knapsack| knapsack.packed <= knapsack.size);
        }
        found
    }
}

/// The paper's printed upper end of the levels, log₂(Σ v_j / (1 − max d_j)), for jobs and their dominant
/// shares; `None` where it is no number of levels: no jobs, or a job that demands all of the cluster.
pub fn printed_last_level(jobs: &[SizedJob], shares: &[f64]) -> Option<f64> {
    let volume: f64 = jobs.iter().map(|job| job.volume).sum();
    let rest = 1.0 - shares.iter().copied().fold(0.0, f64::max);
    let level = (volume / rest).log2();
    (rest > 0.0 && level.is_finite()).then_some(level)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn jobs(sizes: &[(f64, f64)]) -> Vec<SizedJob> {
        sizes.iter().map(|&(length, volume)| SizedJob { length, volume }).collect()
    }

    #[test]
    fn the_example_of_figure_2() {
        // Lengths 10, 8, 8; volumes 10, 2, 2: the small ones at 2^3, the large one at 2^4.
        assert_eq!(priorities(&jobs(&[(10.0, 10.0), (8.0, 2.0), (8.0, 2.0)])), [4, 3, 3]);
    }

    #[test]
    fn worked_by_hand() {
        // l = 1 (2 slots): lengths up to 2 are jobs 0, 1, 2; volumes 0.5 and 1.0 fit, with 1.5 it is too much.
        // l = 2: jobs 0, 1, 2, 4 have 0.5 + 1 + 1.5 = 3, and 4 does not fit. l = 3: 0.5 + 1 + 1.5 + 4 = 7 of 8.
        // l = 4: job 3, of length 9 and volume 0.1, at last.
        let given = jobs(&[(1.0, 0.5), (2.0, 1.0), (1.5, 1.5), (9.0, 0.1), (3.0, 4.0)]);
        assert_eq!(priorities(&given), [1, 1, 2, 4, 3]);
    }

    #[test]
    fn a_priority_is_kept_when_a_later_level_drops_the_job() {
        // At l = 2 the long job of small volume pushes job 1 out of the knapsack of 4.
        let given = jobs(&[(1.0, 0.1), (1.0, 1.9), (4.0, 0.2), (4.0, 1.9)]);
        assert_eq!(priorities(&given), [1, 1, 2, 3]);
    }

    #[test]
    fn every_job_gets_one_where_the_printed_end_fails() {
        // All of the cluster demanded: g is infinite.
        let whole = jobs(&[(10.0, 10.0)]);
        assert_eq!(printed_last_level(&whole, &[1.0]), None);
        assert_eq!(priorities(&whole), [4]);
        // A large cluster: g is negative, and no level would be tried.
        let tiny = jobs(&[(100.0, 0.001), (3.0, 0.001)]);
        assert!(printed_last_level(&tiny, &[0.00001, 0.00001]).unwrap() < 0.0);
        assert_eq!(priorities(&tiny), [7, 2]);
        // A long, small job: g = log2(32) = 5, but 2^5 is shorter than it.
        let long = jobs(&[(1.0, 31.0), (1000.0, 1.0)]);
        assert_eq!(printed_last_level(&long, &[0.0, 0.0]), Some(5.0));
        assert_eq!(priorities(&long), [5, 10]);
    }

    #[test]
    fn what_is_no_size_comes_last() {
        let odd = jobs(&[(f64::NAN, 1.0), (1.0, f64::INFINITY), (1.0, 1.0), (-5.0, -1.0)]);
        let found = priorities(&odd);
        assert_eq!(&found[2..], [1, 1]);
        assert!(found[0] > 1000 && found[1] > 1000, "{found:?}");
        assert!(priorities(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn doubling_all_sizes_raises_every_priority_by_one(
            sizes in prop::collection::vec((0.01f64..1e4, 1e-4f64..1e3), 1..60),
        ) {
            let once = priorities(&jobs(&sizes));
            let doubled: Vec<(f64, f64)> = sizes.iter().map(|(length, volume)| (2.0 * length, 2.0 * volume)).collect();
            let twice = priorities(&jobs(&doubled));
            for (at, (once, twice)) in once.iter().zip(&twice).enumerate() {
                // At l = 1 a job may have been picked that a knapsack of half the size would have taken.
                if *once > 1 {
                    prop_assert_eq!(*twice, once + 1, "job {}", at);
                } else {
                    prop_assert!(*twice <= 2, "job {}: {}", at, twice);
                }
            }
        }

        #[test]
        fn every_level_holds_the_most_jobs_that_fit(sizes in prop::collection::vec((0.1f64..40.0, 0.1f64..20.0), 1..9)) {
            // Against every subset: the number picked by level l, of B_l, is the largest possible.
            let given = jobs(&sizes);
            let found = priorities(&given);
            for level in 1..=*found.iter().max().unwrap() {
                let size = 2f64.powi(level as i32);
                let allowed: Vec<f64> =
                    given.iter().filter(|job| job.length <= size).map(|job| job.volume).collect();
                let most = (0u32..1 << allowed.len())
                    .filter(|set| {
                        let chosen = allowed.iter().enumerate().filter(|(at, _)| set & (1 << at) != 0);
                        chosen.map(|(_, volume)| volume).sum::<f64>() <= size * (1.0 + 1e-12)
                    })
                    .map(u32::count_ones)
                    .max()
                    .unwrap_or(0);
                let by_now = given.iter().zip(&found).filter(|(_, found)| **found <= level).count() as u32;
                prop_assert!(by_now >= most, "level {}: {} of {}", level, by_now, most);
            }
        }
    }
}
