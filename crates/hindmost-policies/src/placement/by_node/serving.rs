//! What is started at a stage of a sweep: originals, or clones of tasks with so many copies.

use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::ids::{NodeId, TaskId};

use crate::cloning::clone_pool::ClonePool;
use crate::placement::candidates_by_level::{Candidate, JobPhase, Levels};
use crate::placement::newly_startable::Fresh;
use hindmost_core::policy::queue_place::Which;

/// What is started at a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Pending tasks, of which jobs; of a job those of the first phase of which one fits.
    Originals(Which),
    /// A further copy of tasks that have so many.
    Clones {
        /// Copies that they have.
        copies: u32,
    },
}

/// What a stage can start now.
pub(crate) struct Serving {
    pub(crate) stage: Stage,
    pub(crate) levels: Levels,
    /// Demands of which something new can be started.
    pub(crate) fresh: Fresh,
    /// Of a job only the first phase with something to start is meant.
    pub(crate) first_phase_only: bool,
}

impl Serving {
    /// Nothing yet.
    pub(crate) fn of(stage: Stage) -> Serving {
        Serving { stage, levels: Levels::default(), fresh: Fresh::default(), first_phase_only: false }
    }

    /// What could be started of a job, by phase. `stands` tells its level and penalty.
    pub(crate) fn candidates(
        &self,
        job: &Job,
        pool: &ClonePool,
        stands: impl Fn() -> (u64, f64),
        found: &mut Vec<Candidate>,
    ) {
        let mut add = |phase: u32| {
            if self.first_phase_only && !found.is_empty() {
                return;
            }
            let Some(demand) = job.phases().get(phase as usize).map(|phase| *phase.demand()) else { return };
            let (level, penalty) = found.first().map_or_else(&stands, |first| (first.level, first.penalty));
            found.push(Candidate { level, phase, demand, penalty });
        };
        match self.stage {
            Stage::Originals(which) => {
                let meant = match which {
                    Which::Any => true,
                    Which::Started => job.started().is_some(),
                    Which::New => job.started().is_none(),
                };
                if !meant || job.runnable() == 0 {
                    return;
                }
                for (at, phase) in job.phases().iter().enumerate() {
                    if phase.is_open() && phase.pending() > 0 {
                        add(at as u32);
                    }
                }
            }
            Stage::Clones { copies } => {
                for (at, phase) in (0..).zip(job.phases()) {
                    if phase.running_copies() > 0 && pool.has_phase((job.id(), at), copies) {
                        add(at);
                    }
                }
            }
        }
    }

    /// The task of a phase that is started on a node; `None` if none of its tasks may run there.
    pub(crate) fn task(
        &self,
        (job, phase): JobPhase,
        node: NodeId,
        cluster: &Cluster,
        pool: &ClonePool,
        per_node: u32,
    ) -> Option<TaskId> {
        match self.stage {
            Stage::Originals(_) => cluster.pending_task_for(job, phase, node),
            Stage::Clones { copies } => {
                let may_run = |task: &TaskId| cluster.copies_on(*task, node) < per_node && !cluster.avoids(*task, node);
                let mut here = cluster.tasks_with_input_on(job, phase, node);
                let near = here.find(|task| pool.contains(*task, copies) && may_run(task));
                near.or_else(|| pool.tasks((job, phase), copies).find(may_run))
            }
        }
    }
}
