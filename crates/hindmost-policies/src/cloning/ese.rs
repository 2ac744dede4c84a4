//! The clones and the parameters of `ese` (Xu & Lau 2015, section VI, Algorithm 2): small new jobs start with several
//! copies of each task. The whole algorithm and its backups are in [`speculation::ese`](crate::speculation::ese).

use hindmost_core::ids::JobId;
use hindmost_core::policy::queue_place::Which;
use hindmost_core::policy::runnable_by_demand::Stuck;
use hindmost_core::policy::{Pass, Round};

use super::sca::{CloneTables, Fitting, open_tasks, start_job};
use crate::theory::clones;

crate::parameters! {
    /// The parameters of `ese`.
    pub struct EseParameters {
        /// an attempt is a straggler if its remaining time exceeds sigma times the mean duration; optimal: the best
        /// value for the distribution
        pub sigma: Option<f64> = None, word optimal;
        /// a new job is small if it has fewer tasks than eta times the idle machines per new job
        pub eta: f64 = 0.1, in 0.0..;
        /// a new job is small only if its mean task duration is below xi
        pub xi: f64 = 1.0, in 0.0.., unit "s";
        /// maximum number of copies of a task
        pub max_copies: u32 = 8, in 1..=64, unit "copies";
    }
}

/// The pass that starts new jobs, small ones with clones (step 3 of the algorithm).
pub struct CloneSmallNewJobs {
    parameters: EseParameters,
    tables: CloneTables,
}

impl CloneSmallNewJobs {
    /// Creates the pass. `gamma` is γ, the price of a machine-second.
    pub fn new(parameters: EseParameters, gamma: f64) -> CloneSmallNewJobs {
        CloneSmallNewJobs { parameters, tables: CloneTables::new(parameters.max_copies, gamma) }
    }

    /// Returns with how many copies of each task a new job starts, by phase: 1 if the job is not small. `new_jobs` is
    /// |χ|, the number of new jobs when step 3 begins.
    fn copies(&mut self, job: JobId, new_jobs: usize, round: &Round<'_>) -> Vec<u32> {
        let cluster = round.cluster();
        let Some(found) = cluster.job(job) else { return Vec::new() };
        let tasks = f64::from(open_tasks(found));
        let EseParameters { eta, xi, .. } = self.parameters;
        let phases = found.phases().iter();
        phases
            .map(|phase| {
                let may_clone = phase.mean() < xi && phase.is_open() && phase.pending() > 0;
                let small = |idle: u64| tasks < eta * idle as f64 / new_jobs as f64;
                if !may_clone || !Fitting::of(phase.demand(), cluster).reach(small, cluster) {
                    return 1;
                }
                let table = self.tables.prepare(phase.pending(), phase.durations());
                self.tables.get(table).map_or(1, |table| clones::best_alone(table, phase.mean(), self.tables.gamma()))
            })
            .collect()
    }
}

impl Pass for CloneSmallNewJobs {
    fn decide(&mut self, round: &mut Round<'_>) {
        let new_jobs = round.new_jobs();
        let (mut passed, mut stuck) = (None, Stuck::default());
        while round.cluster().open_nodes() > 0 {
            let Some(place) = round.next_job_that_fits(Which::New, passed, &mut stuck) else { return };
            let copies = self.copies(place.job(), new_jobs, round);
            start_job(place.job(), &copies, round);
            passed = Some(place);
        }
    }
}
