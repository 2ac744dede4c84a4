//! `sca`: the Smart Cloning Algorithm (Xu & Lau 2015, section IV, Algorithm 1), for light load.
//!
//! First the pending tasks of started jobs, fewest remaining first. Then, if all tasks of all new
//! jobs together are fewer than the idle machines, problem P2 is solved for them
//! ([`crate::theory::clones`], the exact integer solution) and every new job starts with c_j copies
//! of each of its tasks; else new jobs start in order of workload m_j·E\[x_j], one copy a task, until
//! machines run out.
//!
//! Passes: `[Originals(started jobs, fewest remaining), NewJobs(P2 copies, or one each)]`.
//!
//! Readings: "remaining" counts tasks not yet started; a new job of several phases is to P2 each of
//! its open phases; phases that open later belong to a started job and get one copy a task.

use rustc_hash::FxHashMap;

use crate::theory::clones::{self, CloneTable};
use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::ids::{JobId, NodeId, TaskId};
use hindmost_core::resources::Resources;
use hindmost_math::distribution::Distribution;

use hindmost_core::policy::{Pass, Round};
use hindmost_math::shapes::{ShapeNumber, Shapes};

/// Tables of what 1 to r copies are worth, for the numbers of tasks and shapes met so far.
pub(crate) struct CloneTables {
    max_copies: u32,
    gamma: f64,
    shapes: Shapes,
    tables: FxHashMap<(ShapeNumber, u32), CloneTable>,
}

/// Tables remembered; with more, all are made anew.
const TABLES_REMEMBERED: usize = 10_000;

impl CloneTables {
    pub(crate) fn new(max_copies: u32, gamma: f64) -> CloneTables {
        CloneTables { max_copies, gamma, shapes: Shapes::default(), tables: FxHashMap::default() }
    }

    pub(crate) fn gamma(&self) -> f64 {
        self.gamma
    }

    /// Makes sure that there is a table, and tells where.
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

/// How many copies of a demand fit into the free resources, counted no further than somebody asks.
pub(crate) struct Fitting {
    demand: Resources,
    copies: u64,
    /// The first node that is still to be counted.
    next: Option<NodeId>,
}

impl Fitting {
    pub(crate) fn of(demand: &Resources, cluster: &Cluster) -> Fitting {
        let one_slot = cluster.dimensions().is_one_slot();
        let (copies, next) = if one_slot { (cluster.open_nodes() as u64, None) } else { (0, Some(NodeId(0))) };
        Fitting { demand: *demand, copies, next }
    }

    /// Counts on until their number is enough, as it stays with more; false if all of them are not.
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
    /// SCA's parameters. See the module's documentation.
    pub struct ScaParameters {
        /// most copies of a task
        pub max_copies: u32 = 8, in 1..=64, unit "copies";
    }
}

/// The pass that starts new jobs with the copies that P2 gives them. See the module's documentation.
pub struct CloneNewJobs {
    tables: CloneTables,
}

impl CloneNewJobs {
    /// With these parameters, and γ, the price of a machine-second.
    pub fn new(parameters: ScaParameters, gamma: f64) -> CloneNewJobs {
        CloneNewJobs { tables: CloneTables::new(parameters.max_copies, gamma) }
    }
}

/// What an open phase of a new job is to P2.
struct Part {
    job: JobId,
    phase: u32,
    mean: f64,
    table: (ShapeNumber, u32),
}

impl CloneNewJobs {
    /// The open phases of all new jobs, if their tasks are fewer than the idle machines, and these: no more than all the
    /// copies that there may be would take.
    fn parts(&mut self, round: &mut Round<'_>) -> Option<(Vec<Part>, u64)> {
        let (cluster, queue) = round.cluster_and_queue();
        let mut parts = Vec::new();
        let mut tasks = 0;
        // On machines of several resources, idle is what fits of the most demanding phase.
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

/// Tasks of a job's open phases that could be started.
pub(crate) fn open_tasks(job: &Job) -> u32 {
    job.runnable()
}

/// Starts a new job's open phases, so many copies of each task by phase: every task's first copy
/// before any task's second, as far as room goes.
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
                    1 => "its job is new and its turn had come".to_owned(),
                    _ => format!("its job is new, and room is so plentiful that each task is given {wanted} copies"),
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
