//! Combines the runs of an experiment into a comparison.

use hindmost_core::metrics::{
    Copies, Deadlines, Disturbances, Energy, EnergyParts, NodesEnergy, OfferedLoad, PolicyResult, SignedLateness,
    Summary, VersusFirst,
};
use hindmost_math::bootstrap::{ratio_interval, ratios};
use hindmost_math::statistics::{mean, student_interval, wilson_interval};

use crate::driver::RunResult;
use crate::energy::RunEnergy;
use crate::experiment::{Experiment, Jobs, Results};

/// Returns one result for each policy of an experiment. `set` has the swept keys and their values, for the output.
pub fn policy_results(experiment: &Experiment, results: &Results, set: &[(String, String)]) -> Vec<PolicyResult> {
    let first = results.first();
    experiment
        .policies
        .iter()
        .zip(results)
        .map(|(policy, seeds)| {
            let first = first.map_or(seeds.as_slice(), Vec::as_slice);
            let of_policy = policy_result(policy.to_string(), seeds, versus(first, seeds), set);
            let energy = energy(experiment, seeds);
            PolicyResult {
                disturbances: experiment.is_disturbed().then(|| disturbances(seeds)),
                energy_joules: energy.as_ref().map(|energy| energy.parts.total()),
                energy,
                ..of_policy
            }
        })
        .collect()
}

/// Returns the arrival rate that gives the load of an experiment; `None` if its scenario gives no load.
pub fn offered_load(experiment: &Experiment, set: &[(String, String)]) -> Option<OfferedLoad> {
    let Jobs::Generated { spec, .. } = &experiment.jobs else { return None };
    spec.offered.clone().map(|offered| OfferedLoad { set: set.to_vec(), ..offered })
}

fn disturbances(seeds: &[RunResult]) -> Disturbances {
    let sum = |of: fn(&RunResult) -> u64| seeds.iter().map(of).sum::<u64>();
    Disturbances {
        stragglers: sum(|seed| seed.stragglers),
        rate_changes: sum(|seed| seed.rate_changes),
        node_failures: sum(|seed| seed.node_failures),
        speeds_learned: sum(|seed| seed.speeds_learned),
    }
}

/// Compares the flowtimes under `other` with those under `first`, on each seed over the jobs that finished in both runs.
pub(crate) fn versus(first: &[RunResult], other: &[RunResult]) -> VersusFirst {
    versus_of(first, other, |seed| &seed.flowtime)
}

/// Compares the resource usages under `other` with those under `first`, as [`versus`] does for flowtimes.
pub(crate) fn resource_versus(first: &[RunResult], other: &[RunResult]) -> VersusFirst {
    versus_of(first, other, |seed| &seed.resource)
}

fn versus_of(first: &[RunResult], other: &[RunResult], of: fn(&RunResult) -> &Vec<f64>) -> VersusFirst {
    let seeds: Vec<_> = first
        .iter()
        .zip(other)
        .map(|(first, other)| {
            let pairs = of(first).iter().zip(of(other)).map(|(one, other)| [*one, *other]);
            pairs.filter(|[one, other]| one.is_finite() && other.is_finite())
        })
        .collect();
    let ratios = ratios(&seeds);
    VersusFirst {
        flowtime_ratio: mean(&ratios),
        ci95: student_interval(&ratios),
        bootstrap_ci95: ratio_interval(&seeds),
    }
}

/// Returns the energy of the runs of all seeds together; `None` unless all nodes have power models.
fn energy(experiment: &Experiment, seeds: &[RunResult]) -> Option<Energy> {
    let runs: Vec<&RunEnergy> = seeds.iter().map(|seed| seed.energy.as_ref()).collect::<Option<_>>()?;
    let finished = |run: &&RunEnergy| run.jobs.iter().copied().filter(|joules| joules.is_finite()).collect();
    let jobs: Vec<Vec<f64>> = runs.iter().map(finished).collect();
    let mut parts = EnergyParts::default();
    for run in &runs {
        parts += run.parts;
    }
    let mut first = 0;
    let nodes = experiment.nodes.iter().map(|kind| {
        let places = first..first + kind.count as usize;
        first = places.end;
        let of_run = |run: &&RunEnergy| run.nodes.get(places.clone()).map_or(0.0, |nodes| nodes.iter().sum());
        NodesEnergy { name: kind.name.clone(), count: kind.count, joules: runs.iter().map(of_run).sum() }
    });
    let nodes = nodes.collect();
    Some(Energy { parts, job: Summary::of(&jobs.iter().map(Vec::as_slice).collect::<Vec<_>>()), nodes })
}

/// Returns the share of jobs that met their deadline, of those that have met or missed it, for each seed with such jobs.
fn pocd_of_seeds(seeds: &[RunResult]) -> Vec<f64> {
    let decided = seeds.iter().map(|seed| (seed.met_deadlines, seed.deadlines - seed.undecided_deadlines));
    decided.filter(|(_, decided)| *decided > 0).map(|(met, decided)| met as f64 / decided as f64).collect()
}

/// Returns what became of the jobs with a deadline; `None` if there are none. `pocd` has the shares of [`pocd_of_seeds`].
fn deadlines(seeds: &[RunResult], pocd: &[f64]) -> Option<Deadlines> {
    let sum = |of: fn(&RunResult) -> u64| seeds.iter().map(of).sum::<u64>();
    let jobs = sum(|seed| seed.deadlines);
    let (met, undecided) = (sum(|seed| seed.met_deadlines), sum(|seed| seed.undecided_deadlines));
    let missed = jobs - met - undecided;
    let signed: Vec<Vec<f64>> = seeds.iter().map(|seed| seed.lateness.iter().copied().flatten().collect()).collect();
    let late: Vec<Vec<f64>> = signed.iter().map(|seed| seed.iter().map(|late| late.max(0.0)).collect()).collect();
    let means: Vec<f64> = signed.iter().filter_map(|seed| mean(seed)).collect();
    (jobs > 0).then(|| Deadlines {
        jobs,
        met,
        missed,
        undecided,
        // Seeds with equal shares, such as 100%, have a t interval of width 0, which does not make the share certain.
        pocd_ci95: student_interval(pocd)
            .filter(|[low, high]| high - low > 1e-9)
            .or_else(|| wilson_interval(met, met + missed)),
        lateness: Summary::of(&late.iter().map(Vec::as_slice).collect::<Vec<_>>()),
        signed_lateness: SignedLateness { mean: mean(&means), ci95: student_interval(&means) },
    })
}

fn policy_result(
    policy: String,
    seeds: &[RunResult],
    versus_first: VersusFirst,
    set: &[(String, String)],
) -> PolicyResult {
    let sum = |of: fn(&RunResult) -> u64| seeds.iter().map(of).sum::<u64>();
    let average = |of: fn(&RunResult) -> f64| mean(&seeds.iter().map(of).collect::<Vec<f64>>()).unwrap_or(0.0);
    let summary = |of: fn(&RunResult) -> &[f64]| {
        let finished: Vec<Vec<f64>> =
            seeds.iter().map(|seed| of(seed).iter().copied().filter(|value| value.is_finite()).collect()).collect();
        Summary::of(&finished.iter().map(Vec::as_slice).collect::<Vec<_>>())
    };
    let mut resource = summary(|seed| &seed.resource);
    let total: f64 = seeds.iter().flat_map(|seed| &seed.resource).filter(|value| value.is_finite()).sum();
    resource.total = Some(total);
    let wasted: f64 = seeds.iter().map(|seed| seed.wasted).sum();
    let pocd = pocd_of_seeds(seeds);
    PolicyResult {
        policy,
        set: set.to_vec(),
        jobs: sum(|seed| seed.finished + seed.unfinished + seed.abandoned),
        unfinished_jobs: sum(|seed| seed.unfinished),
        abandoned_jobs: sum(|seed| seed.abandoned),
        tasks: sum(|seed| seed.tasks),
        attempts: sum(|seed| seed.attempts),
        flowtime: summary(|seed| &seed.flowtime),
        running_time: summary(|seed| &seed.running_time),
        resource,
        slowdown: summary(|seed| &seed.slowdown),
        utilization: average(|seed| seed.utilization),
        makespan: average(|seed| seed.makespan),
        copies: Copies {
            launched: sum(|seed| seed.copies_launched),
            won: sum(|seed| seed.copies_won),
            wasted_share: if total > 0.0 { wasted / total } else { 0.0 },
        },
        lost_attempts: sum(|seed| seed.lost_attempts),
        disturbances: None,
        versus_first,
        energy_joules: None,
        energy: None,
        pocd: mean(&pocd),
        deadlines: deadlines(seeds, &pocd),
        events: sum(|seed| seed.events),
    }
}
