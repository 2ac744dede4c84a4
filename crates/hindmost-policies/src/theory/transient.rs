//! The transient scheduler of Xu, Liu & Lau 2022 (Section 4.2, Algorithm 1 with its lines 11 to 16, and Corollary 4.1):
//! schedules jobs of one task each, which all arrive at time 0, on one server.
//!
//! Jobs start in the order of their [`priorities`], each as soon as it fits and no earlier than the jobs before it. A
//! task with r copies takes θ / h(r).
//!
//! - [`Cloning::BeforeABlockedJob`] (lines 14 and 15): a job gets one clone if the clone fits and the next job does not
//!   fit, or there is no next job.
//! - [`Cloning::ForLevel`] (Corollary 4.1, competitive ratio 6): at level l, a job may also be chosen that finishes
//!   within 2^l slots only with r_j = min{r : 2^l·h_j(r) ≥ θ_j} copies, if these copies fit on the server and their
//!   volume fits into the level's knapsack. Such a job starts with r_j copies.
//!
//! Readings: the paper does not say how ties of priority are broken; here the earlier job goes first. In the corollary,
//! the volume of a job with r copies is r·d·θ / h(r), which the copies hold until the first one finishes.

use super::priorities::{SizedJob, priorities};
use super::speedup::{copies_for_level, speedup};

/// A job of one task that arrives at time 0.
#[derive(Clone, Debug, PartialEq)]
pub struct TransientJob {
    /// The demand of a copy in each dimension, as a share of the server, from 0 to 1.
    pub demand: Vec<f64>,
    /// θ_j, the job's mean length with one copy, in slots.
    pub length: f64,
    /// The tail index of the job's durations, above 1, which determines the speed-up by copies. Infinity means that
    /// copies do not help.
    pub alpha: f64,
}

impl TransientJob {
    /// Returns d_j, the dominant share of a copy (Eq. 9).
    pub fn share(&self) -> f64 {
        self.demand.iter().copied().fold(0.0, f64::max)
    }

    /// Returns the mean length with `copies` copies, θ / h(r), in slots.
    fn length_with(&self, copies: u32) -> f64 {
        self.length / speedup(self.alpha, copies)
    }

    /// Returns the volume that `copies` copies hold until the first one finishes, in slots of the server.
    fn volume_with(&self, copies: u32) -> f64 {
        f64::from(copies) * self.share() * self.length_with(copies)
    }
}

/// The rule by which jobs get more than one copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cloning {
    /// No job gets a clone.
    None,
    /// A job gets one clone if the next job does not fit (Algorithm 1, lines 14 and 15).
    BeforeABlockedJob,
    /// A job gets as many copies as it needs to finish within its level (Corollary 4.1).
    ForLevel,
}

/// The part of a schedule that concerns one job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scheduled {
    /// The job's priority, at least 1.
    pub priority: u32,
    /// The number of copies with which the job starts.
    pub copies: u32,
    /// The start of the job, in slots.
    pub start: f64,
    /// The expected finish of the job, in slots. It equals the flowtime (job completion time), because jobs arrive at
    /// 0.
    pub finish: f64,
}

/// The error for jobs that have no schedule.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TransientError {
    /// The job with this index does not fit on the server, or its numbers are not valid.
    #[error(
        "job {0} can't be scheduled: demands must be shares from 0 to 1, its length finite and not negative, its tail \
         index above 1"
    )]
    BadJob(usize),
}

/// Tolerance for rounding errors in sums of shares, so that they do not delay a job.
const ROUNDING: f64 = 1e-9;

/// Returns the schedule of these jobs; the entries are in the order of `jobs`.
///
/// # Errors
/// If a job demands more than the server has or its numbers are not valid.
pub fn schedule(jobs: &[TransientJob], cloning: Cloning) -> Result<Vec<Scheduled>, TransientError> {
    for (at, job) in jobs.iter().enumerate() {
        let demands_are_shares = job.demand.iter().all(|share| (0.0..=1.0).contains(share));
        if !(demands_are_shares && job.length.is_finite() && job.length >= 0.0 && job.alpha > 1.0) {
            return Err(TransientError::BadJob(at));
        }
    }
    let levels = match cloning {
        Cloning::ForLevel => priorities_with_copies(jobs),
        Cloning::None | Cloning::BeforeABlockedJob => {
            let sized = |job: &TransientJob| SizedJob { length: job.length, volume: job.volume_with(1) };
            let sizes: Vec<SizedJob> = jobs.iter().map(sized).collect();
            priorities(&sizes).into_iter().map(|priority| (priority, 1)).collect()
        }
    };
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_key(|at| (levels[*at].0, *at));

    let mut server = Server::new(jobs);
    let mut schedule =
        vec![Scheduled { priority: 0, copies: 0, start: f64::INFINITY, finish: f64::INFINITY }; jobs.len()];
    for (turn, &at) in order.iter().enumerate() {
        let (priority, mut copies) = levels[at];
        let job = &jobs[at];
        while !server.fits(&job.demand, copies) {
            server.wait();
        }
        if cloning == Cloning::BeforeABlockedJob {
            let blocked = order.get(turn + 1).is_none_or(|next| !server.fits_beside(&jobs[*next].demand, &job.demand));
            if blocked && server.fits(&job.demand, 2) {
                copies = 2;
            }
        }
        let (start, finish) = (server.now, server.now + job.length_with(copies));
        server.start(&job.demand, copies, finish);
        schedule[at] = Scheduled { priority, copies, start, finish };
    }
    Ok(schedule)
}

/// Returns, for each job, its priority and the number of copies with which the job reaches that priority: Algorithm 1
/// as modified by Corollary 4.1. Levels continue until every job has a priority.
fn priorities_with_copies(jobs: &[TransientJob]) -> Vec<(u32, u32)> {
    let mut found: Vec<Option<(u32, u32)>> = vec![None; jobs.len()];
    for level in 1.. {
        // The knapsack of the last level has infinite size.
        let size = if level < 1024 { 2f64.powi(level as i32) } else { f64::INFINITY };
        let reach = |(at, job): (usize, &TransientJob)| {
            let copies = copies_for_level(job.length, job.alpha, level)?;
            let fits = f64::from(copies) * job.share() <= 1.0 + ROUNDING;
            fits.then(|| (job.volume_with(copies), at, copies))
        };
        let mut within: Vec<(f64, usize, u32)> = jobs.iter().enumerate().filter_map(reach).collect();
        within.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        let mut packed = 0.0;
        for (volume, at, copies) in within {
            packed += volume;
            if packed > size {
                break;
            }
            found[at].get_or_insert((level, copies));
        }
        if found.iter().all(Option::is_some) {
            break;
        }
    }
    found.into_iter().flatten().collect()
}

/// The state of the server at the time `now`.
struct Server {
    now: f64,
    free: Vec<f64>,
    /// The running jobs: the finish of each and the shares that it holds.
    running: Vec<(f64, Vec<f64>)>,
}

impl Server {
    fn new(jobs: &[TransientJob]) -> Server {
        let dimensions = jobs.iter().map(|job| job.demand.len()).max().unwrap_or(0);
        Server { now: 0.0, free: vec![1.0; dimensions], running: Vec::new() }
    }

    fn fits(&self, demand: &[f64], copies: u32) -> bool {
        demand.iter().zip(&self.free).all(|(share, free)| f64::from(copies) * share <= free + ROUNDING)
    }

    fn fits_beside(&self, demand: &[f64], other: &[f64]) -> bool {
        let others = other.iter().chain(std::iter::repeat(&0.0));
        demand.iter().zip(others).zip(&self.free).all(|((share, other), free)| share + other <= free + ROUNDING)
    }

    fn start(&mut self, demand: &[f64], copies: u32, until: f64) {
        let held: Vec<f64> = demand.iter().map(|share| f64::from(copies) * share).collect();
        for (free, held) in self.free.iter_mut().zip(&held) {
            *free -= held;
        }
        self.running.push((until, held));
    }

    /// Advances to the finish of the next job.
    fn wait(&mut self) {
        let next = self.running.iter().map(|(until, _)| *until).fold(f64::INFINITY, f64::min);
        self.now = next;
        let free = &mut self.free;
        self.running.retain(|(until, held)| {
            if *until > next {
                return true;
            }
            for (free, held) in free.iter_mut().zip(held) {
                *free += held;
            }
            false
        });
        if self.running.is_empty() {
            self.free.fill(1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn job(share: f64, length: f64, alpha: f64) -> TransientJob {
        TransientJob { demand: vec![share], length, alpha }
    }

    fn flowtime(schedule: &[Scheduled]) -> f64 {
        schedule.iter().map(|job| job.finish).sum()
    }

    #[test]
    fn figure_2_has_the_flowtimes_computed_by_hand() {
        // With α = 2.5, h(2) = 8/6.
        let jobs = [job(1.0, 10.0, 2.5), job(0.25, 8.0, 2.5), job(0.25, 8.0, 2.5)];
        let plain = schedule(&jobs, Cloning::None).unwrap();
        assert_eq!(plain.iter().map(|job| job.priority).collect::<Vec<_>>(), [4, 3, 3]);
        assert_eq!(flowtime(&plain), 8.0 + 8.0 + 18.0);
        // Only the small job before the blocked large job gets a clone.
        let cloned = schedule(&jobs, Cloning::BeforeABlockedJob).unwrap();
        assert_eq!(cloned.iter().map(|job| job.copies).collect::<Vec<_>>(), [1, 1, 2]);
        assert!((flowtime(&cloned) - (8.0 + 6.0 + 18.0)).abs() < 1e-9);
    }

    #[test]
    fn in_section_4_1_only_the_last_job_gets_a_clone() {
        // Job j demands 1/2^j of the server, and each job takes 1 slot. All N jobs start at once and the last one gets
        // a clone, so the flowtimes add up to N − 1 + 1 / h(2).
        for jobs in 1..12 {
            let all: Vec<TransientJob> = (1..=jobs).map(|j| job(0.5f64.powi(j), 1.0, 2.0)).collect();
            let found = flowtime(&schedule(&all, Cloning::BeforeABlockedJob).unwrap());
            assert!((found - (f64::from(jobs) - 1.0 + 1.0 / 1.5)).abs() < 1e-9, "{jobs}: {found}");
        }
    }

    #[test]
    fn a_job_starts_with_the_copies_that_its_level_needs() {
        // Both jobs take 5 slots with α = 2. Two copies take 5 / 1.5 ≤ 4 slots and so reach level 2; one copy reaches
        // level 3.
        let jobs = [job(0.25, 5.0, 2.0), job(0.75, 5.0, 2.0)];
        let found = schedule(&jobs, Cloning::ForLevel).unwrap();
        let expected = Scheduled { priority: 2, copies: 2, start: 0.0, finish: 5.0 / 1.5 };
        assert_eq!(found[0], expected);
        // Two copies of the second job do not fit on the server.
        assert_eq!((found[1].priority, found[1].copies), (3, 1));
        assert_eq!((found[1].start, found[1].finish), (5.0 / 1.5, 5.0 / 1.5 + 5.0));
    }

    #[test]
    fn a_job_that_does_not_fit_is_an_error() {
        assert_eq!(schedule(&[job(1.1, 1.0, 2.0)], Cloning::None), Err(TransientError::BadJob(0)));
        assert_eq!(schedule(&[job(1.0, f64::NAN, 2.0)], Cloning::None), Err(TransientError::BadJob(0)));
        assert_eq!(schedule(&[], Cloning::ForLevel), Ok(Vec::new()));
    }

    proptest! {
        #[test]
        fn capacity_is_never_exceeded_and_no_job_overtakes(
            sizes in prop::collection::vec((1u32..=10, 1u32..=10, 1u32..400, 21u32..80), 1..14),
        ) {
            let jobs: Vec<TransientJob> = sizes
                .iter()
                .map(|(cpus, memory, length, alpha)| TransientJob {
                    demand: vec![f64::from(*cpus) / 10.0, f64::from(*memory) / 10.0],
                    length: f64::from(*length) / 10.0,
                    alpha: f64::from(*alpha) / 10.0,
                })
                .collect();
            for cloning in [Cloning::None, Cloning::BeforeABlockedJob, Cloning::ForLevel] {
                let found = schedule(&jobs, cloning).unwrap();
                for moment in &found {
                    for dimension in 0..2 {
                        let held: f64 = found
                            .iter()
                            .zip(&jobs)
                            .filter(|(one, _)| one.start <= moment.start && moment.start < one.finish)
                            .map(|(one, job)| f64::from(one.copies) * job.demand[dimension])
                            .sum();
                        prop_assert!(held <= 1.0 + 1e-6, "{cloning:?}: {held}");
                    }
                }
                for (one, job) in found.iter().zip(&jobs) {
                    prop_assert!((one.finish - one.start - job.length_with(one.copies)).abs() < 1e-9);
                    prop_assert!(cloning != Cloning::ForLevel || job.length_with(one.copies) <= 2f64.powi(one.priority as i32));
                }
                let overtakes = |one: &Scheduled| found.iter().any(|other| other.priority < one.priority && other.start > one.start);
                prop_assert!(!found.iter().any(overtakes));
            }
        }
    }
}
