//! What reading its input costs a copy: how far away the input lies, and who else reads it.
//!
//! The time is worked out when the copy begins, from what is then alive and will finish, and stays as it is: running
//! copies are not timed again when others come or go. See "Locality" in docs/scenarios.md.
//!
//! Contention for upstream outputs is that of Ananthanarayanan, Ghodsi, Shenker and Stoica, "Effective Straggler
//! Mitigation: Attack of the Clones" (Dolly), NSDI 2013, section 4: clones of a downstream task that read the same
//! upstream copy's output share its bandwidth. Delay assignment (its section 5, taken up by Xu, Liu & Lau 2022,
//! section 5.2) spreads them over the outputs of two early upstream copies.

use hindmost_core::cluster::{Attempt, Cluster, Job, Locality, Task};
use hindmost_core::ids::{AttemptId, JobId};
use hindmost_core::time::Time;
use hindmost_core::workload::{JobSpec, PhaseSpec};
use rustc_hash::FxHashMap;

/// The network between nodes, and which upstream outputs copies read.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Bytes that a copy reads in a second from a node of its rack; infinite: at no cost.
    pub rack_bandwidth: f64,
    /// As `rack_bandwidth`, from a node of another rack.
    pub remote_bandwidth: f64,
    /// Which upstream outputs the clones of a downstream task read.
    pub assignment: Assignment,
}

/// Which outputs of upstream copies the clones of a downstream task read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Assignment {
    /// All of them the first, the winner's.
    #[default]
    First,
    /// Half of them the first, half the second, where there is one or will be this long after they begin.
    Delay(Time),
}

/// The second copy of an upstream task whose output there is, or will be.
struct Second {
    attempt: AttemptId,
    finish: Time,
}

/// What running copies read and how long it takes them, and the outputs that downstream phases may read.
pub(crate) struct Reading {
    network: Option<Network>,
    /// How much longer living copies take, where that is not nothing.
    longer: FxHashMap<AttemptId, Time>,
    /// Second outputs by phase, of jobs that are not gone.
    seconds: FxHashMap<(JobId, u32), Vec<Second>>,
}

impl Reading {
    pub(crate) fn over(network: Option<Network>) -> Reading {
        Reading { network, longer: FxHashMap::default(), seconds: FxHashMap::default() }
    }

    /// A copy begins: works out how much longer it takes for what it reads.
    pub(crate) fn begin(&mut self, cluster: &Cluster, attempt: AttemptId) {
        let Some(network) = &self.network else { return };
        let time = self.time(network, cluster, attempt).filter(|time| *time > Time::ZERO);
        if let Some(time) = time {
            self.longer.insert(attempt, time);
        }
    }

    /// How much longer a living copy takes for what it reads.
    #[inline]
    pub(crate) fn longer(&self, attempt: AttemptId) -> Time {
        if self.longer.is_empty() { Time::ZERO } else { self.longer.get(&attempt).copied().unwrap_or(Time::ZERO) }
    }

    /// True if it matters which copies of finished tasks run on.
    pub(crate) fn looks_for_seconds(&self) -> bool {
        matches!(&self.network, Some(Network { assignment: Assignment::Delay(_), .. }))
    }

    /// A copy of a task that has just been won runs on, and will have put out the same when it finishes.
    pub(crate) fn second(&mut self, attempt: AttemptId, finish: Time) {
        let seconds = self.seconds.entry((attempt.task.job, attempt.task.phase)).or_default();
        match seconds.last_mut().filter(|last| last.attempt.task == attempt.task) {
            // Of several the first to finish.
            Some(last) if (finish, attempt) < (last.finish, last.attempt) => *last = Second { attempt, finish },
            Some(_) => {}
            None => seconds.push(Second { attempt, finish }),
        }
    }

    /// A copy has ended, and put something out if it has finished.
    pub(crate) fn ended(&mut self, attempt: AttemptId, finished: bool) {
        self.longer.remove(&attempt);
        if !finished && let Some(seconds) = self.seconds.get_mut(&(attempt.task.job, attempt.task.phase)) {
            seconds.retain(|second| second.attempt != attempt);
        }
    }

    /// A job is gone.
    pub(crate) fn forget(&mut self, job: &Job) {
        if !self.seconds.is_empty() {
            for phase in 0..job.phases().len() as u32 {
                self.seconds.remove(&(job.id(), phase));
            }
        }
    }

    /// What a copy that begins now takes to read; `None` if its phase reads nothing.
    fn time(&self, network: &Network, cluster: &Cluster, id: AttemptId) -> Option<Time> {
        let attempt = cluster.attempt(id)?;
        let spec = cluster.job(id.task.job)?.spec().phases.get(id.task.phase as usize)?;
        let input = spec.input.as_ref()?;
        let bytes = *input.bytes.get(id.task.index as usize)? as f64;
        if input.replicas.is_empty() && !spec.after.is_empty() {
            return Some(self.of_outputs(network, cluster, (attempt, spec), bytes));
        }
        Some(Time::from_seconds(match cluster.locality(id.task, attempt.node()) {
            Locality::Node => 0.0,
            Locality::Rack => bytes / network.rack_bandwidth,
            // What lies outside the cluster is far from everywhere.
            Locality::Remote | Locality::Unknown => bytes / network.remote_bandwidth,
        }))
    }

    /// What a copy of a downstream task takes to read its share of all its upstream tasks' outputs.
    fn of_outputs(
        &self,
        network: &Network,
        cluster: &Cluster,
        (attempt, spec): (&Attempt, &PhaseSpec),
        bytes: f64,
    ) -> Time {
        let id = attempt.id();
        let readers = cluster.copies(id.task).count() as u32;
        // Older copies read the first output: of two clones the first one does, of three the first and the third.
        let older = cluster.copies(id.task).filter(|copy| copy.id().copy < id.copy).count();
        let upstream = |parent: &u32| cluster.job(id.task.job).and_then(|job| job.phases().get(*parent as usize));
        let tasks: usize = spec.after.iter().filter_map(upstream).map(|phase| phase.tasks().len()).sum();
        let (mut shared, mut wait) = (0usize, Time::ZERO);
        if let Assignment::Delay(delay) = network.assignment
            && readers > 1
        {
            let now = attempt.since();
            for parent in &spec.after {
                for second in self.seconds.get(&(id.task.job, *parent)).into_iter().flatten() {
                    // With fewer upstream copies than downstream ones, all read the first output.
                    let launched = cluster.task(second.attempt.task).map_or(0, Task::launched);
                    if second.finish <= now + delay && launched >= readers {
                        shared += 1;
                        wait = wait.max(second.finish - now);
                    }
                }
            }
        }
        let of_first = older.is_multiple_of(2);
        let half = if of_first { readers.div_ceil(2) } else { readers / 2 };
        let crowd = shared as f64 * f64::from(half) + tasks.saturating_sub(shared) as f64 * f64::from(readers);
        let seconds = bytes / network.remote_bandwidth * crowd / tasks.max(1) as f64;
        Time::from_seconds(seconds) + if of_first { Time::ZERO } else { wait }
    }
}

/// Replicas can only lie on nodes that there are.
///
/// # Errors
/// What is wrong.
pub(crate) fn check_replicas(spec: &JobSpec, nodes: usize) -> Result<(), String> {
    for phase in &spec.phases {
        let replicas = phase.input.iter().flat_map(|input| input.replicas.iter().enumerate());
        for (task, on) in replicas {
            if let Some(node) = on.iter().find(|node| node.0 as usize >= nodes) {
                let (job, phase) = (&spec.name, &phase.name);
                return Err(format!(
                    "job {job:?}, phase {phase:?}, task {task}: a replica lies on node {}, but there are {nodes} nodes, \
                     counted from 0",
                    node.0
                ));
            }
        }
    }
    Ok(())
}
