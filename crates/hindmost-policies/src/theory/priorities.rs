//! Computes priorities of jobs by knapsacks of doubling size: Algorithm 1 of Xu, Liu & Lau 2022.
//!
//! For l = 1, 2, … the jobs that are short enough for 2^l slots, B_l = {j : e_j ≤ 2^l}, are packed into a knapsack of
//! 2^l slots of the whole cluster. Jobs are packed smallest volume first, up to the first job that does not fit, which
//! packs as many jobs as possible with Σ v_j ≤ 2^l. A job's priority is the first l whose knapsack takes the job, even
//! if the knapsack of a later level does not. The smallest priority is served first.
//!
//! The paper's upper end of l is g = log₂(Σ v / (1 − max d)). This end is infinite if a job demands all of the cluster
//! (max d = 1). On a large cluster it is below 1, so that no job gets a priority. It can also exclude a long job of
//! small volume. So here levels continue until every job has a priority; [`printed_last_level`] returns the printed
//! end.

/// The size of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizedJob {
    /// e_j, the job's (effective) length in slots.
    pub length: f64,
    /// v_j, the job's (effective) volume in slots of the whole cluster.
    pub volume: f64,
}

impl SizedJob {
    /// Returns the size with numbers that are not finite replaced by the largest number, and negative numbers by 0.
    pub(crate) fn finite(self) -> SizedJob {
        let finite = |amount: f64| if amount.is_nan() { f64::MAX } else { amount.clamp(0.0, f64::MAX) };
        SizedJob { length: finite(self.length), volume: finite(self.volume) }
    }
}

/// Returns the priority of each job, at least 1, in the order of `jobs`. Among equal volumes the earlier job is packed
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

/// Returns the smallest level, at least 1, whose 2^level slots are at least `length`.
pub(crate) fn first_level(length: f64) -> u32 {
    (1..LAST_LEVEL).find(|level| length <= slots(*level)).unwrap_or(LAST_LEVEL)
}

/// The first level whose knapsack has infinite size.
const LAST_LEVEL: u32 = 1024;

/// Returns the size of a level's knapsack in slots, 2^level; infinite from [`LAST_LEVEL`] on.
fn slots(level: u32) -> f64 {
    // A power of two has only exponent bits.
    if level < LAST_LEVEL { f64::from_bits(u64::from(level + 1023) << 52) } else { f64::INFINITY }
}

/// A knapsack that may take another job.
#[derive(Debug)]
struct Knapsack {
    level: u32,
    size: f64,
    packed: f64,
}

/// The knapsacks of all levels. Jobs are packed one after another, the smallest volume first.
#[derive(Debug, Default)]
pub(crate) struct Knapsacks {
    /// The knapsacks that have taken every job so far, the smallest level first.
    open: Vec<Knapsack>,
    /// The first level whose knapsack takes all jobs together.
    last: u32,
}

impl Knapsacks {
    /// Creates empty knapsacks for jobs with at most `total` slots of volume together.
    pub fn for_total(total: f64) -> Knapsacks {
        let mut knapsacks = Knapsacks::default();
        knapsacks.empty(total);
        knapsacks
    }

    /// Empties all knapsacks, for jobs with at most `total` slots of volume together.
    pub fn empty(&mut self, total: f64) {
        self.last = first_level(total);
        self.open.clear();
        self.open.extend((1..self.last).map(|level| Knapsack { level, size: slots(level), packed: 0.0 }));
    }

    /// Packs the next job into every knapsack from level `from` on into which it fits. Returns the first of these
    /// levels.
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
            // The next job has at least this volume, so it does not fit into a full knapsack either.
            self.open.retain(|knapsack| knapsack.packed <= knapsack.size);
        }
        found
    }
}

/// Returns the paper's printed upper end of the levels, log₂(Σ v_j / (1 − max d_j)), for jobs and their dominant
/// shares. `None` if it is not a finite number: there are no jobs, or a job demands all of the cluster.
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
    fn figure_2_serves_the_small_jobs_first() {
        // Lengths 10, 8, 8 and volumes 10, 2, 2: the small jobs fit into 2^3, the large one into 2^4.
        assert_eq!(priorities(&jobs(&[(10.0, 10.0), (8.0, 2.0), (8.0, 2.0)])), [4, 3, 3]);
    }

    #[test]
    fn priorities_equal_those_computed_by_hand() {
        // Level 1 has 2 slots. Jobs 0, 1 and 2 are short enough; the volumes 0.5 and 1 fit, and 1.5 more does not.
        // Level 2 has 4 slots. Jobs 0, 1, 2 and 4 are short enough; the volumes 0.5 + 1 + 1.5 = 3 fit, and 4 more does
        // not. Level 3 has 8 slots: 0.5 + 1 + 1.5 + 4 = 7 fit. Level 4 has 16 slots and is the first to take job 3, of
        // length 9.
        let given = jobs(&[(1.0, 0.5), (2.0, 1.0), (1.5, 1.5), (9.0, 0.1), (3.0, 4.0)]);
        assert_eq!(priorities(&given), [1, 1, 2, 4, 3]);
    }

    #[test]
    fn a_priority_is_kept_when_a_later_level_drops_the_job() {
        // At level 1, job 0 fits into 2 slots. At level 2, the other jobs are short enough, too; two of them fit into 4
        // slots, which leaves too little for the third and for job 0.
        let given = jobs(&[(1.0, 1.9), (4.0, 1.5), (4.0, 1.5), (4.0, 1.5)]);
        assert_eq!(priorities(&given), [1, 2, 2, 3]);
    }

    #[test]
    fn jobs_beyond_the_printed_last_level_get_priorities() {
        // A job demands all of the cluster, so g is infinite.
        let whole = jobs(&[(10.0, 10.0)]);
        assert_eq!(printed_last_level(&whole, &[1.0]), None);
        assert_eq!(priorities(&whole), [4]);
        // The cluster is large, so g is negative and no level would be tried.
        let tiny = jobs(&[(100.0, 0.001), (3.0, 0.001)]);
        assert!(printed_last_level(&tiny, &[0.00001, 0.00001]).unwrap() < 0.0);
        assert_eq!(priorities(&tiny), [7, 2]);
        // A job is long and of small volume: g = log2(32) = 5, but 2^5 slots are fewer than its length of 1000.
        let long = jobs(&[(1.0, 31.0), (1000.0, 1.0)]);
        assert_eq!(printed_last_level(&long, &[0.0, 0.0]), Some(5.0));
        assert_eq!(priorities(&long), [5, 10]);
    }

    #[test]
    fn jobs_without_a_finite_size_come_last() {
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
                // A job of priority 1 might also fit into a knapsack of half the size, which does not exist.
                if *once > 1 {
                    prop_assert_eq!(*twice, once + 1, "job {}", at);
                } else {
                    prop_assert!(*twice <= 2, "job {}: {}", at, twice);
                }
            }
        }

        #[test]
        fn every_level_holds_the_most_jobs_that_fit(sizes in prop::collection::vec((0.1f64..40.0, 0.1f64..20.0), 1..9)) {
            // Compare with every subset of B_l: the jobs with a priority of at most l are at least as many as the
            // largest subset that fits.
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
