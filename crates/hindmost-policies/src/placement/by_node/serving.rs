//! The stages of a sweep. Each stage starts originals, or clones of tasks with a given number of running copies.

use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::ids::{NodeId, TaskId};

use crate::cloning::clone_pool::ClonePool;
use crate::placement::candidates_by_level::{Candidate, JobPhase, Levels};
use crate::placement::newly_startable::Fresh;
use hindmost_core::policy::queue_place::Which;

/// The kind of copies that a stage starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Originals of pending tasks, of all jobs, of started ones, or of new ones.
    Originals(Which),
    /// Clones of tasks with this number of running copies.
    Clones {
        /// The number of running copies, at least 1.
        copies: u32,
    },
}

/// A stage with the candidates that it can start now.
pub(crate) struct Serving {
    pub(crate) stage: Stage,
    pub(crate) levels: Levels,
    /// Demands of the stage's copies that can be started now and could not before.
    pub(crate) fresh: Fresh,
    /// True if only the first phase of a job with something to start is a candidate.
    pub(crate) first_phase_only: bool,
}

impl Serving {
    /// Creates a stage without candidates.
    pub(crate) fn of(stage: Stage) -> Serving {
        Serving { stage, levels: Levels::default(), fresh: Fresh::default(), first_phase_only: false }
    }

    /// Adds a job's candidates to `found`, one for each phase with copies to start. `level_and_penalty` returns the job's
    /// level and penalty, and `of_phase` the level of one of its phases from the job's level and the phase's number.
    pub(crate) fn candidates(
        &self,
        job: &Job,
        pool: &ClonePool,
        level_and_penalty: impl Fn() -> (u64, f64),
        of_phase: impl Fn(u64, u32) -> u64,
        found: &mut Vec<Candidate>,
    ) {
        let mut of_job = None;
        let mut add = |phase: u32| {
            if self.first_phase_only && !found.is_empty() {
                return;
            }
            let Some(demand) = job.phases().get(phase as usize).map(|phase| *phase.demand()) else { return };
            let (level, penalty) = *of_job.get_or_insert_with(&level_and_penalty);
            found.push(Candidate { level: of_phase(level, phase), phase, demand, penalty });
        };
        match self.stage {
            Stage::Originals(which) => {
                let is_included = match which {
                    Which::Any => true,
                    Which::Started => job.started().is_some(),
                    Which::New => job.started().is_none(),
                };
                if !is_included || job.runnable() == 0 {
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

    /// Returns the task of a phase whose copy is started next on a node; `None` if none may run there. A clone's task may
    /// have at most `per_node` copies on the node, the clone included.
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
