//! The clones of `ese` (Xu & Lau 2015, section VI, Algorithm 2): small new jobs start with several copies of each task.
//! The algorithm, its readings, its parameters and its backups are in [`speculation::ese`](crate::speculation::ese).

use hindmost_core::ids::JobId;
use hindmost_core::policy::queue_place::Which;
use hindmost_core::policy::runnable_by_demand::Stuck;
use hindmost_core::policy::{Pass, Round};

use super::sca::{CloneTables, Fitting, open_tasks, start_job};
use crate::speculation::ese::EseParameters;
use crate::theory::clones;

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

    /// Returns the number of copies of each task of a new job, by phase; 1 if the job is not small.
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
