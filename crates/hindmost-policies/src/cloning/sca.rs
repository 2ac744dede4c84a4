//! `sca` starts new jobs with the number of clones that minimises their cost, if enough machines are idle. It is
//! designed for lightly loaded clusters.
//!
//! Paper: Xu & Lau 2015, section IV, Algorithm 1 (Smart Cloning Algorithm).
//!
//! Algorithm:
//! 1. Started jobs start their pending tasks, the job with the fewest remaining tasks first.
//! 2. If all tasks of all new jobs together are fewer than the idle machines, the policy solves problem P2 for the new
//!    jobs ([`crate::theory::clones`], the exact integer solution). Each new job then starts with c_j copies of each
//!    task.
//! 3. Otherwise new jobs start in order of workload m_j·E\[x_j] (tasks × mean duration), one copy of each task, until no
//!    machine is idle.
//!
//! Passes: `[Originals(started jobs, fewest remaining), NewJobs(P2 copies, or one each)]`.
//!
//! Readings:
//! - "Fewest remaining tasks" counts the tasks that have not started.
//! - In P2, each open phase of a new job counts as a job of its own.
//! - Phases that open later belong to a started job and get one copy of each task.

use rustc_hash::FxHashMap;

use crate::theory::clones::{self, CloneTable};
use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::ids::{JobId, NodeId, TaskId};
use hindmost_core::resources::Resources;
use hindmost_math::distribution::Distribution;

use hindmost_core::policy::{Pass, Round};
use hindmost_math::shapes::{ShapeNumber, Shapes};

/// A cache of [`CloneTable`]s (the expected durations of a job with 1, 2, … copies of each task), by number of tasks and
/// shape of durations.
pub(crate) struct CloneTables {
    max_copies: u32,
    gamma: f64,
    shapes: Shapes,
    tables: FxHashMap<(ShapeNumber, u32), CloneTable>,
}

/// Largest number of cached tables. When the cache is full, it is cleared.
const TABLES_REMEMBERED: usize = 10_000;

impl CloneTables {
    pub(crate) fn new(max_copies: u32, gamma: f64) -> CloneTables {
        CloneTables { max_copies, gamma, shapes: Shapes::default(), tables: FxHashMap::default() }
    }

    pub(crate) fn gamma(&self) -> f64 {
        self.gamma
    }

    /// Returns the key of the table for a job of `tasks` tasks with these durations. Computes the table if it is not
    /// cached.
    pub(crate) fn prepare(&mut self, tasks: u32, durations: &Distribution) -> (ShapeNumber, u32) {
        if self.tables.len() >= TABLES_REMEMBERED {
            self.tables.clear();
        }
        let key = (self.shapes.number(durations), tasks);
        let max_copies = self.max_copies;
        self.tables.entry(key).or_insert_with(|| CloneTable::new(tasks, durations, max_copies));
        key
    }

    pub(crate) fn get(&self, key: (ShapeNumber, u32)) -> Option<&CloneTable> {
        self.tables.get(&key)
    }
}

/// Counts how many copies with a demand fit into the free resources of all nodes. Stops once the count is high enough
/// for the caller.
pub(crate) struct Fitting {
    demand: Resources,
    /// The number of copies that fit on the nodes counted so far.
    copies: u64,
    /// The first node that is not counted yet; `None` if all are counted.
    next: Option<NodeId>,
}

impl Fitting {
    pub(crate) fn of(demand: &Resources, cluster: &Cluster) -> Fitting {
        let one_slot = cluster.dimensions().is_one_slot();
        let (copies, next) = if one_slot { (cluster.open_nodes() as u64, None) } else { (0, Some(NodeId(0))) };
        Fitting { demand: *demand, copies, next }
    }

    /// Counts copies node by node until `enough` is true for their number. Returns false if `enough` is false even for
    /// all nodes. If `enough` is true for a number, it must be true for all larger ones.
    pub(crate) fn reach(&mut self, enough: impl Fn(u64) -> bool, cluster: &Cluster) -> bool {
        while !enough(self.copies) {
            let Some(from) = self.next else { return false };
            let found = cluster.next_fitting(from, &self.demand).and_then(|id| Some((id, cluster.node(id)?)));
            self.copies = self.copies.saturating_add(found.map_or(0, |(_, node)| node.free().times(&self.demand)));
            self.next = found.map(|(id, _)| NodeId(id.0 + 1));
        }
        true
    }
}

crate::parameters! {
    /// The parameters of `sca`.
    pub struct ScaParameters {
        /// maximum number of copies of a task
        pub max_copies: u32 = 8, in 1..=64, unit "copies";
    }
}

/// The pass that starts new jobs with the number of copies that solves P2 (step 2 of the algorithm).
pub struct CloneNewJobs {
    tables: CloneTables,
}

impl CloneNewJobs {
    /// Creates the pass. `gamma` is γ, the price of a machine-second.
    pub fn new(parameters: ScaParameters, gamma: f64) -> CloneNewJobs {
        CloneNewJobs { tables: CloneTables::new(parameters.max_copies, gamma) }
    }
}

/// An open phase of a new job. Problem P2 treats each of them as a job of its own.
struct Part {
    job: JobId,
    phase: u32,
    /// Mean duration of the phase's tasks, in seconds.
    mean: f64,
    /// Key of the phase's table in [`CloneTables`].
    table: (ShapeNumber, u32),
}

impl CloneNewJobs {
    /// Returns the open phases of all new jobs and the number of idle machines. Returns `None` if the phases together
    /// have as many pending tasks as machines are idle, or more. Idle machines are counted only until each task can have
    /// the maximum number of copies.
    fn parts(&mut self, round: &mut Round<'_>) -> Option<(Vec<Part>, u64)> {
        let (cluster, queue) = round.cluster_and_queue();
        let mut parts = Vec::new();
        let mut tasks = 0;
        // On nodes with several resources, the "idle machines" are the copies of the most demanding phase that fit.
        let mut idle: Vec<Fitting> = Vec::new();
        for job in queue.iter_new().filter_map(|id| cluster.job(id)) {
            for (at, phase) in job.phases().iter().enumerate() {
                if !phase.is_open() || phase.pending() == 0 {
                    continue;
                }
                tasks += u64::from(phase.pending());
                let known = idle.iter().position(|fitting| fitting.demand == *phase.demand());
                let known = known.unwrap_or_else(|| {
                    idle.push(Fitting::of(phase.demand(), cluster));
                    idle.len() - 1
                });
                if !idle[known].reach(|copies| copies > tasks, cluster) {
                    return None;
                }
                let table = self.tables.prepare(phase.pending(), phase.durations());
                parts.push(Part { job: job.id(), phase: at as u32, mean: phase.mean(), table });
            }
        }
        let most = tasks * u64::from(self.tables.max_copies);
        for fitting in &mut idle {
            fitting.reach(|copies| copies >= most, cluster);
        }
        let idle = idle.iter().map(|fitting| fitting.copies).min()?;
        (idle > tasks).then_some((parts, idle))
    }
}

impl Pass for CloneNewJobs {
    fn decide(&mut self, round: &mut Round<'_>) {
        if round.new_jobs() == 0 || round.cluster().open_nodes() == 0 {
            return;
        }
        let Some((parts, idle)) = self.parts(round) else { return };
        let tables: Option<Vec<(&CloneTable, f64)>> =
            parts.iter().map(|part| Some((self.tables.get(part.table)?, part.mean))).collect();
        let Some(tables) = tables else { return };
        let Ok(solution) = clones::exact_with_tables(&tables, idle, self.tables.gamma) else { return };
        let mut at = 0;
        while at < parts.len() {
            let job = parts[at].job;
            let mut copies = vec![1; round.cluster().job(job).map_or(0, |job| job.phases().len())];
            while at < parts.len() && parts[at].job == job {
                copies[parts[at].phase as usize] = solution.copies[at];
                at += 1;
            }
            start_job(job, &copies, round);
        }
    }
}

/// Returns the number of pending tasks of a job's open phases.
pub(crate) fn open_tasks(job: &Job) -> u32 {
    job.runnable()
}

/// Starts the open phases of a new job. `copies` gives the number of copies of each task, by phase. Every task gets its
/// first copy before any task gets its second, so scarce resources go to first copies.
pub(crate) fn start_job(job: JobId, copies: &[u32], round: &mut Round<'_>) {
    let most = copies.iter().copied().max().unwrap_or(0);
    let tasks = pending_tasks(job, round.cluster());
    'copies: for copy in 0..most {
        for task in &tasks {
            let wanted = copies[task.phase as usize];
            if wanted <= copy {
                continue;
            }
            if round.start_copies(*task, 1).started > 0 {
                round.because(|| match wanted {
                    1 => "its job is new and was next in the queue".to_owned(),
                    _ => format!("its job is new, and enough resources are free to start {wanted} copies of each task"),
                });
            } else if round.cluster().open_nodes() == 0 {
                break 'copies;
            }
        }
    }
}

fn pending_tasks(job: JobId, cluster: &Cluster) -> Vec<TaskId> {
    let Some(found) = cluster.job(job) else { return Vec::new() };
    let open = found.phases().iter().enumerate().filter(|(_, phase)| phase.is_open());
    open.flat_map(|(at, phase)| {
        let pending = phase.tasks().iter().enumerate().filter(|(_, task)| task.is_pending());
        pending.map(move |(index, _)| TaskId { job, phase: at as u32, index: index as u32 })
    })
    .collect()
}
