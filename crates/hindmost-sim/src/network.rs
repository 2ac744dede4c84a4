//! The time that a copy takes to read its input: it depends on the distance of the input and on other readers.
//!
//! The time is computed when the copy starts, from the copies that run then, and does not change later, when other
//! copies start or end. See "Locality" in docs/scenarios.md.
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

/// The bandwidths between nodes, and which upstream outputs copies read.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Bandwidth of a copy that reads from another node of its rack, in bytes per second; infinite if reading takes no
    /// time.
    pub rack_bandwidth: f64,
    /// Bandwidth of a copy that reads from a node of another rack, in bytes per second; infinite if reading takes no
    /// time.
    pub remote_bandwidth: f64,
    /// Which upstream outputs the clones of a downstream task read.
    pub assignment: Assignment,
}

/// Which outputs of upstream copies the clones of a downstream task read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Assignment {
    /// All clones read the first output, that of the winner.
    #[default]
    First,
    /// Half of the clones read the first output. The other half reads the second output, if it exists at most this long
    /// after the clones start.
    Delay(Time),
}

/// A losing copy of an upstream task that has finished or will finish, and then provides the task's second output.
struct Second {
    attempt: AttemptId,
    finish: Time,
}

/// The reading times of running copies, and the second outputs that downstream phases may read.
pub(crate) struct Reading {
    network: Option<Network>,
    /// Reading times of running copies. Copies that read in no time have no entry.
    longer: FxHashMap<AttemptId, Time>,
    /// Second outputs by phase, of jobs that have not ended.
    seconds: FxHashMap<(JobId, u32), Vec<Second>>,
}

impl Reading {
    pub(crate) fn over(network: Option<Network>) -> Reading {
        Reading { network, longer: FxHashMap::default(), seconds: FxHashMap::default() }
    }

    /// Computes and stores the reading time of a copy that starts.
    pub(crate) fn begin(&mut self, cluster: &Cluster, attempt: AttemptId) {
        let Some(network) = &self.network else { return };
        let time = self.time(network, cluster, attempt).filter(|time| *time > Time::ZERO);
        if let Some(time) = time {
            self.longer.insert(attempt, time);
        }
    }

    /// Returns the reading time of a running copy.
    #[inline]
    pub(crate) fn longer(&self, attempt: AttemptId) -> Time {
        if self.longer.is_empty() { Time::ZERO } else { self.longer.get(&attempt).copied().unwrap_or(Time::ZERO) }
    }

    /// Returns whether clones may read second outputs, so that [`Reading::second`] must be called.
    pub(crate) fn looks_for_seconds(&self) -> bool {
        matches!(&self.network, Some(Network { assignment: Assignment::Delay(_), .. }))
    }

    /// Records that a copy runs on although its task has finished. At `finish` it provides a second output.
    pub(crate) fn second(&mut self, attempt: AttemptId, finish: Time) {
        let seconds = self.seconds.entry((attempt.task.job, attempt.task.phase)).or_default();
        match seconds.last_mut().filter(|last| last.attempt.task == attempt.task) {
            // A task may have several losing copies: the one that finishes first provides the second output.
            Some(last) if (finish, attempt) < (last.finish, last.attempt) => *last = Second { attempt, finish },
            Some(_) => {}
            None => seconds.push(Second { attempt, finish }),
        }
    }

    /// Records that a copy has ended. A copy that was stopped provides no output.
    pub(crate) fn ended(&mut self, attempt: AttemptId, finished: bool) {
        if !self.longer.is_empty() {
            self.longer.remove(&attempt);
        }
        if !finished && let Some(seconds) = self.seconds.get_mut(&(attempt.task.job, attempt.task.phase)) {
            seconds.retain(|second| second.attempt != attempt);
        }
    }

    /// Removes a job that has ended.
    pub(crate) fn forget(&mut self, job: &Job) {
        if !self.seconds.is_empty() {
            for phase in 0..job.phases().len() as u32 {
                self.seconds.remove(&(job.id(), phase));
            }
        }
    }

    /// Returns the reading time of a copy that starts now; `None` if its phase reads nothing.
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
            // Input outside the cluster is remote for every node.
            Locality::Remote | Locality::Unknown => bytes / network.remote_bandwidth,
        }))
    }

    /// Returns the time that a copy of a downstream task takes to read its share of all upstream outputs.
    fn of_outputs(
        &self,
        network: &Network,
        cluster: &Cluster,
        (attempt, spec): (&Attempt, &PhaseSpec),
        bytes: f64,
    ) -> Time {
        let id = attempt.id();
        let readers = cluster.copies(id.task).count() as u32;
        // Copies take turns over the first and the second output: copies 0 and 2 read the first, copy 1 the second.
        let older = cluster.copies(id.task).filter(|copy| copy.id().copy < id.copy).count();
        let upstream = |parent: &u32| cluster.job(id.task.job).and_then(|job| job.phases().get(*parent as usize));
        let read_of = |parent: &u32| spec.edges_from(*parent).map(|edges| edges.parents_of(id.task.index));
        let tasks_of = |parent: &u32| {
            let all = || upstream(parent).map_or(0, |phase| phase.tasks().len());
            read_of(parent).map_or_else(all, |tasks| tasks.len())
        };
        let tasks: usize = spec.after.iter().map(tasks_of).sum();
        let (mut shared, mut wait) = (0usize, Time::ZERO);
        if let Assignment::Delay(delay) = network.assignment
            && readers > 1
        {
            let now = attempt.since();
            for parent in &spec.after {
                let read = read_of(parent);
                let is_read =
                    |second: &&Second| read.as_ref().is_none_or(|tasks| tasks.contains(&second.attempt.task.index));
                for second in self.seconds.get(&(id.task.job, *parent)).into_iter().flatten().filter(is_read) {
                    // If there are fewer upstream than downstream copies, all read the first output.
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

/// Checks that all replicas are on existing nodes.
///
/// # Errors
/// If a replica is on a node that does not exist; the message names job, phase and task.
pub(crate) fn check_replicas(spec: &JobSpec, nodes: usize) -> Result<(), String> {
    for phase in &spec.phases {
        let replicas = phase.input.iter().flat_map(|input| input.replicas.iter().enumerate());
        for (task, on) in replicas {
            if let Some(node) = on.iter().find(|node| node.0 as usize >= nodes) {
                let (job, phase) = (&spec.name, &phase.name);
                return Err(format!(
                    "job {job:?}, phase {phase:?}, task {task}: a replica is on node {}, but there are {nodes} nodes, \
                     counted from 0",
                    node.0
                ));
            }
        }
    }
    Ok(())
}
