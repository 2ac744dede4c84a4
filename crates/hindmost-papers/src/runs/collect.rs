//! Collects the jobs of a run and keeps what is requested of them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use hindmost_core::ids::TaskId;
use hindmost_core::metrics::JobResult;
use hindmost_core::time::Time;
use hindmost_policies::speculation::window::{COPIES_PLACED, SLOTS_OFFERED};
use hindmost_sim::driver::RunResult;
use hindmost_sim::experiment::FinishedOutput;
use hindmost_sim::output::{AttemptResult, Outcome, Output};

use super::{Kept, Want};
use crate::metric::{JobRow, JobUse, RunFacts};

/// What was kept, by number of the experiment and seed.
pub(super) type Store = Arc<Mutex<HashMap<(usize, u64), Vec<Kept>>>>;

/// Collects the finished jobs of a run and keeps what is requested when the run ends.
pub(super) struct Collector {
    key: (usize, u64),
    facts: RunFacts,
    /// What the attempts of each job used, by its name, if it is requested.
    used: Option<BTreeMap<Arc<str>, JobUse>>,
    /// The tasks with a copy, if what attempts used is requested.
    cloned: HashSet<TaskId>,
    /// When first attempts that lost ended, if what attempts used is requested.
    lost: HashMap<TaskId, Time>,
    /// Time at which arrivals stop; infinite if the workload has no such time.
    horizon: f64,
    wants: Arc<Vec<(Want, bool)>>,
    jobs: Vec<JobRow>,
    store: Store,
}

impl Collector {
    /// Creates the collector of a run. `key` is the number of the experiment and the seed; `horizon` is the time at which
    /// arrivals stop, infinite if the workload has no such time.
    pub(super) fn new(key: (usize, u64), horizon: f64, wants: Arc<Vec<(Want, bool)>>, store: Store) -> Collector {
        let used = wants.iter().any(|(want, _)| want.needs_attempts()).then(BTreeMap::new);
        Collector {
            key,
            facts: RunFacts::UNKNOWN,
            used,
            cloned: HashSet::new(),
            lost: HashMap::new(),
            horizon,
            wants,
            jobs: Vec::new(),
            store,
        }
    }
}

impl Output for Collector {
    fn job(&mut self, name: &Arc<str>, result: &JobResult) -> io::Result<()> {
        self.jobs.push(JobRow { name: Arc::clone(name), result: *result, used: JobUse::default() });
        Ok(())
    }

    fn wants_attempts(&self) -> bool {
        self.used.is_some()
    }

    fn attempt(&mut self, attempt: &AttemptResult<'_>) -> io::Result<()> {
        let Some(all) = &mut self.used else { return Ok(()) };
        if !all.contains_key(&attempt.job.name) {
            all.insert(Arc::clone(&attempt.job.name), JobUse::default());
        }
        if let Some(used) = all.get_mut(&attempt.job.name) {
            add_attempt(used, attempt);
            if attempt.is_copy() && self.cloned.insert(attempt.attempt.task) {
                used.cloned_tasks += 1;
            }
            let task = attempt.attempt.task;
            match (attempt.is_copy(), attempt.outcome) {
                (false, Outcome::Lost) => {
                    self.lost.insert(task, attempt.end);
                }
                // A first attempt that runs until its copy finishes ends at the same time.
                (true, Outcome::Won) if self.lost.remove(&task).is_some_and(|end| end < attempt.end) => {
                    used.stopped_early += 1;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn end(&mut self, result: &RunResult) {
        let energy = result.energy.as_ref();
        let count = |name: &str| result.counts.get(name).map_or(f64::NAN, |count| *count as f64);
        self.facts = RunFacts {
            energy: energy.map_or(f64::NAN, |energy| energy.parts.total()),
            idle_energy: energy.map_or(f64::NAN, |energy| energy.parts.idle),
            utilization: result.utilization,
            pocd: share(result.met_deadlines, result.deadlines - result.undecided_deadlines),
            abandoned: share(result.abandoned, result.finished + result.unfinished + result.abandoned),
            choices: count(SLOTS_OFFERED) / count(COPIES_PLACED),
        };
    }
}

/// Returns a part of a number of jobs; NaN if there are none.
fn share(part: u64, of: u64) -> f64 {
    part as f64 / of as f64
}

fn add_attempt(used: &mut JobUse, attempt: &AttemptResult<'_>) {
    let seconds = (attempt.end - attempt.start).seconds();
    used.time += seconds;
    if attempt.is_copy() {
        used.copy_time += seconds;
        if attempt.outcome == Outcome::Won {
            used.copy_won_time += seconds;
            let (short, long) = used.copy_won_range.unwrap_or((seconds, seconds));
            used.copy_won_range = Some((short.min(seconds), long.max(seconds)));
        }
    }
    if let Some(energy) = attempt.energy {
        used.energy.add_attempt(energy.used_for, energy.joules);
    }
}

impl FinishedOutput for Collector {
    fn complete(self: Box<Self>) -> io::Result<()> {
        let mut all = self.jobs;
        // Jobs finish in another order under each policy; rows are in the order of arrival.
        all.sort_by(|one, other| {
            one.result.arrival.total_cmp(&other.result.arrival).then_with(|| one.name.cmp(&other.name))
        });
        let time_of_all: f64 = self.used.iter().flat_map(BTreeMap::values).map(|used| used.time).sum();
        if let Some(used) = &self.used {
            for job in &mut all {
                job.used = used.get(&job.name).copied().unwrap_or_default();
                job.used.energy.idle = self.facts.idle_energy * (job.used.time / time_of_all);
            }
        }
        let in_time: Vec<JobRow> = if self.wants.iter().any(|(_, cut)| *cut) {
            all.iter().filter(|job| job.result.finish <= self.horizon).cloned().collect()
        } else {
            Vec::new()
        };
        let mut kept = Vec::with_capacity(self.wants.len());
        for (want, cut) in self.wants.iter() {
            let jobs = if *cut { &in_time } else { &all };
            kept.push(match want {
                Want::Metric(metric) => Kept::Number(metric.of(jobs, &self.facts)),
                Want::Shares(quantity, grid) => {
                    let values: Vec<f64> = jobs.iter().map(|job| quantity.of(job)).collect();
                    let share = |limit: &f64| {
                        values.iter().filter(|value| *value <= limit).count() as f64 / values.len() as f64
                    };
                    Kept::Shares(grid.iter().map(share).collect())
                }
                Want::ByJob(quantity, up_to) => {
                    let counts = |job: &&JobRow| up_to.is_none_or(|tasks| job.result.tasks as f64 <= tasks);
                    let value = |job: &JobRow| {
                        let mut hasher = DefaultHasher::new();
                        job.name.hash(&mut hasher);
                        (hasher.finish(), quantity.of(job))
                    };
                    Kept::ByJob(jobs.iter().filter(counts).map(value).collect())
                }
                Want::Rows(_) => Kept::Rows(Arc::new(jobs.clone())),
            });
        }
        self.store.lock().unwrap_or_else(PoisonError::into_inner).insert(self.key, kept);
        Ok(())
    }
}
