//! The data that pictures of an experiment need in addition to its summary.
//!
//! Distributions come from the measurements of the jobs, which every run keeps. Runs do not keep attempts. Therefore,
//! after all runs, the jobs to draw are chosen and a few runs are repeated until these jobs are done. The simulator is
//! deterministic, so a repeated run has the same attempts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
use hindmost_core::metrics::{Cdf, PolicyCurves, ShownJob};
use hindmost_core::reasons::Reasons;
use hindmost_core::record::Decision;
use hindmost_core::time::Time;
use hindmost_core::timeline::{AttemptEnd, Cause, Timeline, TimelineJob, TimelineNode, TimelineRow};
use hindmost_policies::catalogue::spec::PolicySpec;
use hindmost_policies::catalogue::{self, Setting};
use rustc_hash::FxHashMap;

use crate::driver::outage_times::merged;
use crate::driver::{Control, NodeSetup, RunResult, SimulationError};
use crate::experiment::{Experiment, Results};
use crate::output::{AttemptResult, Outcome, Output};

/// Most policies under which the chosen jobs are shown.
const MOST_POLICIES: usize = 3;
/// Number of chosen jobs if [`MOST_POLICIES`] policies are shown.
const JOBS_OF_MANY: usize = 2;

/// Returns the distributions of flowtime and resource usage for each policy, over the finished jobs of all seeds.
pub fn curves(results: &Results) -> Vec<PolicyCurves> {
    let all = |seeds: &[RunResult], of: fn(&RunResult) -> &Vec<f64>| {
        Cdf::of(seeds.iter().flat_map(|seed| of(seed).iter().copied()).collect())
    };
    let one = |seeds: &Vec<RunResult>| PolicyCurves {
        flowtime: all(seeds, |seed| &seed.flowtime),
        resource: all(seeds, |seed| &seed.resource),
    };
    results.iter().map(one).collect()
}

/// A job that is chosen for a picture, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Choice {
    job: JobId,
    why: String,
}

/// Returns chosen jobs of the first seed with their attempts under a few policies, grouped by job. The jobs are the
/// median job, the job at the 95th percentile and the slowest job under the first policy; the median job is left out if
/// three policies are shown. The policies are the first one and those with the lowest mean flowtimes.
///
/// # Errors
/// If a run fails or `stop` is set.
pub fn shown_jobs(
    experiment: &Experiment,
    results: &Results,
    threads: usize,
    stop: &AtomicBool,
) -> Result<Vec<ShownJob>, SimulationError> {
    let (Some(first), Some(seed)) = (results.first().and_then(|seeds| seeds.first()), experiment.seeds.first()) else {
        return Ok(Vec::new());
    };
    let policies = policies(results);
    let jobs = choices(&first.flowtime, &experiment.policies[0], policies.len());
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let run = |policy: usize| attempts_of(experiment, &experiment.policies[policy], *seed, &jobs, stop);
    let found: Result<Vec<Vec<Seen>>, SimulationError> = if threads < 2 {
        policies.iter().map(|policy| run(*policy)).collect()
    } else {
        std::thread::scope(|scope| {
            let running: Vec<_> = policies.iter().map(|policy| scope.spawn(move || run(*policy))).collect();
            running.into_iter().map(|one| one.join().unwrap_or(Err(SimulationError::Interrupted))).collect()
        })
    };
    let mut by_policy: Vec<std::vec::IntoIter<Seen>> = found?.into_iter().map(Vec::into_iter).collect();
    let mut shown = Vec::new();
    for choice in &jobs {
        for (policy, seen) in policies.iter().zip(&mut by_policy) {
            let Some(seen) = seen.next() else { continue };
            let flowtime = results[*policy][0].flowtime.get(choice.job.0 as usize).copied();
            shown.push(ShownJob {
                policy: experiment.policies[*policy].to_string(),
                chosen: choice.why.clone(),
                seed: *seed,
                flowtime: flowtime.filter(|flowtime| flowtime.is_finite()),
                timeline: seen.timeline,
                reasons: seen.reasons.started(),
            });
        }
    }
    Ok(shown)
}

/// Returns the indices of the first policy and of those with the lowest mean flowtimes over all seeds, sorted.
fn policies(results: &Results) -> Vec<usize> {
    let mean = |at: &usize| {
        let all = results[*at].iter().flat_map(|seed| &seed.flowtime).filter(|flowtime| flowtime.is_finite());
        let (sum, count) = all.fold((0.0, 0u64), |(sum, count), flowtime| (sum + flowtime, count + 1));
        if count > 0 { sum / count as f64 } else { f64::INFINITY }
    };
    let mut others: Vec<usize> = (1..results.len()).collect();
    others.sort_by(|one, other| mean(one).total_cmp(&mean(other)).then(one.cmp(other)));
    others.truncate(MOST_POLICIES - 1);
    others.sort_unstable();
    std::iter::once(0).chain(others).collect()
}

/// Chooses the jobs to show, by their flowtimes under the first policy.
fn choices(flowtimes: &[f64], policy: &PolicySpec, policies: usize) -> Vec<Choice> {
    let mut finished: Vec<usize> = (0..flowtimes.len()).filter(|at| flowtimes[*at].is_finite()).collect();
    finished.sort_by(|one, other| flowtimes[*one].total_cmp(&flowtimes[*other]).then(one.cmp(other)));
    let at_share = |share: f64| {
        let rank = ((share * finished.len() as f64 - 1e-9).ceil() as usize).max(1) - 1;
        finished.get(rank).copied()
    };
    let places = [(0.5, "the median job"), (0.95, "the job at the 95th percentile"), (1.0, "the slowest job")];
    let mut chosen: Vec<Choice> = Vec::new();
    for (share, what) in places.into_iter().rev() {
        let Some(at) = at_share(share) else { continue };
        let job = JobId(at as u32);
        let enough = policies >= MOST_POLICIES && chosen.len() >= JOBS_OF_MANY;
        if !enough && chosen.iter().all(|choice| choice.job != job) {
            let what = if finished.len() == 1 { "the only job" } else { what };
            chosen.push(Choice { job, why: format!("{what} under {policy}") });
        }
    }
    chosen.reverse();
    chosen
}

/// The attempts of a chosen job.
#[derive(Default)]
struct Seen {
    timeline: Timeline,
    reasons: Reasons,
    /// The index of each node in the timeline.
    nodes: FxHashMap<NodeId, u32>,
    /// Number of tasks that the job must finish.
    tasks: u64,
    /// Number of tasks that have finished.
    won: u64,
}

/// Collects the attempts of the chosen jobs, and notes when all these jobs are done.
struct Collector<'a> {
    jobs: &'a [Choice],
    seen: Vec<Seen>,
    nodes: &'a [NodeSetup],
    enough: &'a AtomicBool,
}

fn renumbered(attempt: AttemptId) -> AttemptId {
    AttemptId { task: TaskId { job: JobId(0), ..attempt.task }, ..attempt }
}

impl Collector<'_> {
    fn seen(&mut self, job: JobId) -> Option<&mut Seen> {
        let at = self.jobs.iter().position(|choice| choice.job == job)?;
        self.seen.get_mut(at)
    }
}

impl Output for Collector<'_> {
    fn wants_attempts(&self) -> bool {
        true
    }

    fn wants_reasons(&self) -> bool {
        true
    }

    fn reason(&mut self, decision: &Decision, fresh: Option<AttemptId>, why: &str) {
        let renumbered = match decision.clone() {
            Decision::Start { attempt, node, from_progress } => {
                (attempt, Decision::Start { attempt: renumbered(attempt), node, from_progress })
            }
            Decision::Stop { attempt, reason } => (attempt, Decision::Stop { attempt: renumbered(attempt), reason }),
            Decision::Replace { attempt, from_progress } => {
                (attempt, Decision::Replace { attempt: renumbered(attempt), from_progress })
            }
            Decision::Reserve { .. }
            | Decision::Release { .. }
            | Decision::Abandon { .. }
            | Decision::Wake { .. }
            | Decision::Watch { .. } => return,
        };
        let (attempt, decision) = renumbered;
        if let Some(seen) = self.seen(attempt.task.job) {
            seen.reasons.add(&decision, fresh.map(self::renumbered), why.to_owned());
        }
    }

    fn attempt(&mut self, result: &AttemptResult<'_>) -> std::io::Result<()> {
        let nodes = self.nodes;
        let Some(seen) = self.seen(result.attempt.task.job) else { return Ok(()) };
        let timeline = &mut seen.timeline;
        if timeline.jobs.is_empty() {
            let spec = Arc::new(result.job.clone());
            seen.tasks = spec.phases.iter().map(|phase| u64::from(phase.tasks_to_do())).sum();
            timeline.jobs.push(TimelineJob { arrival: spec.arrival, spec, finish: None, abandoned: None });
        }
        let node = *seen.nodes.entry(result.node).or_insert_with(|| {
            let capacity = nodes.get(result.node.0 as usize).map(|node| node.capacity).unwrap_or_default();
            timeline.nodes.push(TimelineNode {
                name: result.node_name.into(),
                capacity,
                lost_and_returned: Vec::new(),
            });
            timeline.nodes.len() as u32 - 1
        });
        let outcome = match result.outcome {
            Outcome::Won => AttemptEnd::Won,
            Outcome::Lost => AttemptEnd::Lost,
            Outcome::Replaced => AttemptEnd::Replaced,
            Outcome::Abandoned => AttemptEnd::Abandoned,
            Outcome::NodeLost => AttemptEnd::NodeLost,
            Outcome::Failed => AttemptEnd::Failed(Cause::External(None)),
            Outcome::Unfinished => AttemptEnd::Running,
        };
        timeline.end = timeline.end.max(result.end);
        if outcome == AttemptEnd::Won {
            seen.won += 1;
            if seen.won == seen.tasks
                && let Some(job) = timeline.jobs.first_mut()
            {
                job.finish = Some(result.end);
            }
        }
        timeline.rows.push(TimelineRow {
            attempt: renumbered(result.attempt),
            node: NodeId(node),
            start: result.start,
            end: result.end,
            outcome,
            redundant: result.attempt.copy > 0 && !result.is_relaunch,
            from_progress: 0.0,
            usage: None,
        });
        // Losing attempts end at the same time as the winner, before the driver checks this flag.
        if self.seen.iter().all(|seen| seen.tasks > 0 && seen.won == seen.tasks) {
            self.enough.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Repeats a run until the chosen jobs are done, and returns their attempts.
fn attempts_of(
    experiment: &Experiment,
    policy: &PolicySpec,
    seed: u64,
    jobs: &[Choice],
    stop: &AtomicBool,
) -> Result<Vec<Seen>, SimulationError> {
    let setting = Setting {
        order: &experiment.order,
        gamma: experiment.setup.gamma,
        queues: &experiment.setup.queues,
        live: false,
    };
    let policy = catalogue::build(policy, &setting).map_err(|error| SimulationError::Workload(error.to_string()))?;
    let nodes = experiment.setup_of(seed)?.nodes;
    let enough = AtomicBool::new(false);
    let seen = jobs.iter().map(|_| Seen::default()).collect();
    let mut collector = Collector { jobs, seen, nodes: &nodes, enough: &enough };
    let progress = |_: Time| {
        if stop.load(Ordering::Relaxed) {
            enough.store(true, Ordering::Relaxed);
        }
    };
    let ended = experiment.run_policy(policy, seed, &mut collector, &Control { stop: &enough, progress: &progress });
    if stop.load(Ordering::Relaxed) {
        return Err(SimulationError::Interrupted);
    }
    match ended {
        Ok(_) | Err(SimulationError::Interrupted) => {}
        Err(error) => return Err(error),
    }
    let mut seen = collector.seen;
    let outages = merged(&experiment.setup.outages);
    for one in &mut seen {
        one.timeline.rows.sort_by_key(|row| (row.start, row.attempt));
        for outage in &outages {
            let end = one.timeline.end;
            if let Some(node) = one.nodes.get(&outage.node).filter(|_| outage.from < end) {
                let lost_and_returned = &mut one.timeline.nodes[*node as usize].lost_and_returned;
                lost_and_returned.extend([outage.from, outage.until].into_iter().filter(|at| *at < end));
            }
        }
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Execution, run_all};
    use crate::scenario::Scenario;

    fn experiment(policies: &str) -> Experiment {
        let set = [("horizon", "40"), ("cluster.machines", "30"), ("seeds", "2")];
        let set: Vec<(String, String)> =
            set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let mut experiment = Experiment::of(&Scenario::load("quickstart", &set).unwrap(), 1).unwrap();
        experiment.policies = policies.split(';').map(|name| name.parse().unwrap()).collect();
        experiment
    }

    fn results(experiment: &Experiment) -> Results {
        let stop = AtomicBool::new(false);
        let execution = Execution { threads: 1, stop: &stop, progress: &|_| {}, output: None };
        run_all(std::slice::from_ref(experiment), &execution).unwrap().remove(0)
    }

    #[test]
    fn shown_jobs_have_the_measured_flowtimes() {
        let experiment = experiment("none;mantri");
        let results = results(&experiment);
        let stop = AtomicBool::new(false);
        let shown = shown_jobs(&experiment, &results, 1, &stop).unwrap();
        assert_eq!(shown.len(), 6);
        let names: Vec<&str> = shown.iter().map(|job| job.policy.as_str()).collect();
        assert_eq!(names, ["none", "mantri", "none", "mantri", "none", "mantri"]);
        for job in &shown {
            let timeline = &job.timeline;
            let won: Vec<&TimelineRow> = timeline.rows.iter().filter(|row| row.outcome == AttemptEnd::Won).collect();
            let spec = &timeline.jobs[0].spec;
            assert_eq!(won.len() as u32, spec.phases.iter().map(|phase| phase.tasks).sum::<u32>());
            let finish = won.iter().map(|row| row.end).max().unwrap();
            let flowtime = (finish - spec.arrival).seconds();
            assert!((flowtime - job.flowtime.unwrap()).abs() < 1e-9, "{flowtime} {:?}", job.flowtime);
            assert_eq!(timeline.end, finish, "no attempt ends after its job's finish");
        }
        let all = |policy: usize| results[policy][0].flowtime.clone();
        let slowest = all(0).into_iter().fold(0.0, f64::max);
        assert_eq!(shown[4].flowtime, Some(slowest));
        assert!(shown[4].chosen.contains("slowest job under none"));
        // Each copy has a reason for its start.
        let copies = || shown.iter().flat_map(|job| job.timeline.rows.iter().map(move |row| (job, row)));
        assert!(copies().any(|(_, row)| row.redundant));
        for (job, row) in copies().filter(|(_, row)| row.redundant) {
            assert!(job.reasons.contains_key(&row.attempt), "{:?}", row.attempt);
        }
        assert_eq!(shown, shown_jobs(&experiment, &results, 4, &stop).unwrap());
    }

    #[test]
    fn the_first_and_the_fastest_policies_are_shown() {
        let experiment = experiment("none;mantri;sda;sca(max_copies=4)");
        let results = results(&experiment);
        let shown = shown_jobs(&experiment, &results, 2, &AtomicBool::new(false)).unwrap();
        assert_eq!(shown.len(), 6);
        assert_eq!(shown[0].policy, "none");
        let means: Vec<f64> = compare_means(&results);
        let left_out: Vec<usize> =
            (1..4).filter(|at| shown.iter().all(|job| job.policy != experiment.policies[*at].to_string())).collect();
        assert_eq!(left_out.len(), 1);
        assert!((1..4).all(|at| means[at] <= means[left_out[0]]));
    }

    fn compare_means(results: &Results) -> Vec<f64> {
        let of = |seeds: &Vec<RunResult>| {
            let all: Vec<f64> = seeds.iter().flat_map(|seed| seed.flowtime.clone()).collect();
            all.iter().sum::<f64>() / all.len() as f64
        };
        results.iter().map(of).collect()
    }

    #[test]
    fn curves_contain_the_jobs_of_all_seeds() {
        let experiment = experiment("none");
        let results = results(&experiment);
        let curves = curves(&results);
        let jobs: usize = results[0].iter().map(|seed| seed.flowtime.len()).sum();
        assert_eq!(curves[0].flowtime.count, jobs as u64);
        assert!(curves[0].resource.points.windows(2).all(|pair| pair[0][0] <= pair[1][0] && pair[0][1] < pair[1][1]));
    }

    #[test]
    fn setting_the_stop_flag_interrupts() {
        let experiment = experiment("none");
        let results = results(&experiment);
        let stopped = shown_jobs(&experiment, &results, 1, &AtomicBool::new(true));
        assert!(matches!(stopped, Err(SimulationError::Interrupted)));
    }

    #[test]
    fn a_job_is_chosen_once() {
        let policy: PolicySpec = "none".parse().unwrap();
        let chosen = |flowtimes: &[f64], policies| {
            choices(flowtimes, &policy, policies)
                .into_iter()
                .map(|choice| (choice.job.0, choice.why))
                .collect::<Vec<_>>()
        };
        assert_eq!(chosen(&[3.0], 2), [(0, "the only job under none".to_owned())]);
        assert!(chosen(&[f64::NAN], 1).is_empty());
        // Job n has the flowtime 99 − n. The median is 49, the 95th percentile 94 and the longest flowtime 99.
        let numbers: Vec<f64> = (0..100).rev().map(f64::from).collect();
        let jobs: Vec<u32> = chosen(&numbers, 1).into_iter().map(|(job, _)| job).collect();
        assert_eq!(jobs, [50, 5, 0]);
        let jobs: Vec<u32> = chosen(&numbers, 3).into_iter().map(|(job, _)| job).collect();
        assert_eq!(jobs, [5, 0]);
    }
}
