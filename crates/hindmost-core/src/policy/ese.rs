//! `ese`: Enhanced Speculative Execution (Xu & Lau 2015, section VI, Algorithm 2), for heavy load.
//!
//! Backups go to attempts that are their task's only copy and whose remaining time is above σ·E\[x],
//! the longest first, one each; then come started jobs, smallest remaining workload first; then new
//! jobs in order of workload, of which small ones (m < η·N/|χ| tasks of mean duration E\[x] < ξ) are
//! cloned: c* maximises −E\[d(c)] − γ·m·c·E\[min of c] (Eq. 29).
//!
//! Passes: `[Backups(ese rule, longest first), Originals(started jobs), NewJobs(small ones cloned)]`.
//!
//! Readings: N is what is idle when the job's turn comes, |χ| the number of new jobs when the level
//! begins; of a job of several phases, m counts the tasks of those that are open. With the paper's
//! ξ = 1 and E\[x] ≥ 1 cloning never fires. Where fewer than m·c nodes are free, every task gets its
//! first copy before any gets its second.
//!
//! Parameters: `sigma`, a number or `optimal` (Eq. 30–33); `eta`, 0.1; `xi`, seconds, 1;
//! `max_copies`, 8. γ is the scenario's.

use crate::cluster::Phase;
use crate::estimator::Test;
use crate::ids::JobId;
use crate::theory::clones;

use super::queue::Which;
use super::sca::{CloneTables, open_tasks, start_job};
use super::sda::{SigmaChoice, SigmaOf, SigmaTable};
use super::stragglers::StragglerRule;
use super::{Pass, Round};

/// ESE's rule for backups. See the module's documentation.
pub struct EseRule {
    table: SigmaTable,
}

impl EseRule {
    /// With this σ.
    pub fn new(sigma: SigmaChoice) -> EseRule {
        EseRule { table: SigmaTable::new(sigma, SigmaOf::Ese, 2) }
    }
}

impl StragglerRule for EseRule {
    fn test(&mut self, phase: &Phase) -> Test {
        Test::RemainingAbove(self.table.get(phase.durations()).0 * phase.mean())
    }
}

/// The pass that starts new jobs, small ones with clones. See the module's documentation.
pub struct CloneSmallNewJobs {
    eta: f64,
    xi: f64,
    tables: CloneTables,
}

impl CloneSmallNewJobs {
    /// η and ξ of Algorithm 2, the most copies of a task, and the price γ of a machine-second.
    pub fn new(eta: f64, xi: f64, max_copies: u32, gamma: f64) -> CloneSmallNewJobs {
        CloneSmallNewJobs { eta, xi, tables: CloneTables::new(max_copies, gamma) }
    }

    /// Copies of each task of a new job, by phase; 1 if it is not small.
    fn copies(&mut self, job: JobId, new_jobs: usize, round: &Round<'_>) -> Vec<u32> {
        let cluster = round.cluster();
        let Some(found) = cluster.job(job) else { return Vec::new() };
        let tasks = f64::from(open_tasks(found));
        let phases = found.phases().iter();
        phases
            .map(|phase| {
                let idle = cluster.room_for(phase.demand()) as f64;
                let small = tasks < self.eta * idle / new_jobs as f64 && phase.mean() < self.xi;
                if !small || !phase.is_open() || phase.pending() == 0 {
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
        let new_jobs = round.queue.new_jobs();
        let mut passed = None;
        while round.cluster().open_nodes() > 0 {
            let Some(place) = round.queue.next(Which::New, passed) else { return };
            let copies = self.copies(place.job(), new_jobs, round);
            start_job(place.job(), &copies, round);
            passed = Some(place);
        }
    }
}
