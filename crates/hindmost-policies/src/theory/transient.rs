//! The transient scheduler of Xu, Liu & Lau 2022 (Section 4.2, Algorithm 1 with its lines 11 to 16, and
//! Corollary 4.1): jobs of one task each that are all there at time 0, on one server.
//!
//! Jobs are served in the order of their [`priorities`]: the next one starts as
//! soon as there is room for it, and nobody overtakes it. With [`Cloning::BeforeABlockedJob`] (lines 14 and 15) a
//! job gets one clone if the job after it can't be scheduled, or there is none, and the clone fits. With
//! [`Cloning::ForLevel`] (Corollary 4.1, competitive ratio 6) a job may be picked at a level l that it reaches only
//! with r_j = min{r : 2^l·h_j(r) ≥ θ_j} copies, if that many fit on the server and their volume into the level's
//! knapsack; it then starts with r_j copies at once. A task with r copies takes θ / h(r).
//!
//! Readings: the paper sorts by priority and says nothing of ties: they go to the earlier job. In the corollary the
//! volume of a job with r copies is r·d·θ / h(r), what the copies hold until the first is done.

use super::priorities::{SizedJob, priorities};
use super::speedup::{copies_for_level, speedup};

/// A job of one task that is there at time 0.
#[derive(Clone, Debug, PartialEq)]
pub struct TransientJob {
    /// What a copy demands in each dimension, as a share of the server, from 0 to 1.
    pub demand: Vec<f64>,
    /// θ_j: its mean length alone, slots.
    pub length: f64,
    /// Tail index of its durations, above 1, for the speed-up of copies; infinite where copies do not help.
    pub alpha: f64,
}

impl TransientJob {
    /// d_j, the dominant share (Eq. 9).
    pub fn share(&self) -> f64 {
        self.demand.iter().copied().fold(0.0, f64::max)
    }

    /// Mean length with so many copies, slots: θ / h(r).
    fn length_with(&self, copies: u32) -> f64 {
        self.length / speedup(self.alpha, copies)
    }

    /// What so many copies hold until the first is done, slots of the server.
    fn volume_with(&self, copies: u32) -> f64 {
        f64::from(copies) * self.share() * self.length_with(copies)
    }
}

/// When a job gets more than one copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cloning {
    /// Never.
    None,
    /// One clone if the job after it can't be scheduled (Algorithm 1, lines 14 and 15).
    BeforeABlockedJob,
    /// As many as it takes to be done within its level (Corollary 4.1).
    ForLevel,
}

/// What became of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scheduled {
    /// Its priority, from 1.
    pub priority: u32,
    /// Copies that it was started with.
    pub copies: u32,
    /// When it started, slots.
    pub start: f64,
    /// When it is done on average, slots: its flowtime.
    pub finish: f64,
}

/// Why there is no schedule.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TransientError {
    /// A job that the server can't hold, or numbers that are none.
    #[error(
        "job {0} can't be scheduled: demands must be shares from 0 to 1, its length finite and not negative, its tail \
         index above 1"
    )]
    BadJob(usize),
}

/// Rounding of sums of shares must keep nobody waiting.
const ROUNDING: f64 = 1e-9;

/// The schedule of these jobs, in the given order.
///
/// # Errors
/// A job that demands more than the server has, or a number that is none.
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

/// The priority of each job and the copies with which it reaches it: Algorithm 1 as Corollary 4.1 changes it. Levels
/// go on until every job has one.
fn priorities_with_copies(jobs: &[TransientJob]) -> Vec<(u32, u32)> {
    let mut found: Vec<Option<(u32, u32)>> = vec![None; jobs.len()];
    for level in 1.. {
        // Beyond all numbers everything is packed.
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

/// The one server, as it goes through time.
struct Server {
    now: f64,
    free: Vec<f64>,
    /// What runs: when it is done, and what it holds.
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

    /// Until the next job is done.
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
    fn figure_2_by_hand() {
        // h(2) = 8/6 is that of α = 2.5.
        let jobs = [job(1.0, 10.0, 2.5), job(0.25, 8.0, 2.5), job(0.25, 8.0, 2.5)];
        let plain = schedule(&jobs, Cloning::None).unwrap();
        assert_eq!(plain.iter().map(|job| job.priority).collect::<Vec<_>>(), [4, 3, 3]);
        assert_eq!(flowtime(&plain), 8.0 + 8.0 + 18.0);
        // Of the small jobs only the one after which the large job is blocked gets a clone.
        let cloned = schedule(&jobs, Cloning::BeforeABlockedJob).unwrap();
        assert_eq!(cloned.iter().map(|job| job.copies).collect::<Vec<_>>(), [1, 1, 2]);
        assert!((flowtime(&cloned) - (8.0 + 6.0 + 18.0)).abs() < 1e-9);
    }

    #[test]
    fn the_first_scheme_of_section_4_1() {
        // Job j demands 1/2^j, all take 1 slot: all start at once and the last gets a clone, N − 1 + 1 / h(2).
        for jobs in 1..12 {
            let all: Vec<TransientJob> = (1..=jobs).map(|j| job(0.5f64.powi(j), 1.0, 2.0)).collect();
            let found = flowtime(&schedule(&all, Cloning::BeforeABlockedJob).unwrap());
            assert!((found - (f64::from(jobs) - 1.0 + 1.0 / 1.5)).abs() < 1e-9, "{jobs}: {found}");
        }
    }

    #[test]
    fn copies_that_reach_a_level_are_started_with_it() {
        // 5 slots with α = 2: two copies take 5 / 1.5 ≤ 4, so level 2 is reached with r = 2; alone it is level 3.
        let jobs = [job(0.25, 5.0, 2.0), job(0.75, 5.0, 2.0)];
        let found = schedule(&jobs, Cloning::ForLevel).unwrap();
        let expected = Scheduled { priority: 2, copies: 2, start: 0.0, finish: 5.0 / 1.5 };
        assert_eq!(found[0], expected);
        // Two copies of the other are more than the server holds.
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
        fn the_server_is_never_full_beyond_its_room_and_nobody_overtakes(
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
