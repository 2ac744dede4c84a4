//! Ranks all policies on the worlds of all papers and on worlds that no paper chose.
//!
//! All policies of a world run on the same jobs with the same durations of copies, under the same order of jobs (unless an
//! order belongs to the policy) and the same progress model. So differences are computed for each seed. The systems and
//! orders are those of the catalogue, so that a new policy is ranked without further work.

mod answer;
mod data;
mod measures;
mod places;
mod resamples;
mod words;

use hindmost_claims::{
    GroupKind, OverallRow, OverallValue, RankedGroup, RankedKind, RankedPolicy, RankedValue, RankedWorld, Ranking,
    RankingLevel, RankingRow, WorldRanking,
};
use hindmost_math::statistics::mean;
use hindmost_sim::experiment::{Execution, Experiment, run_all};

use crate::data::PaperError;
use crate::runs::Size;
use data::{RankingSpec, WorldEntry};
use measures::{Measures, estimate};
use places::ranks;
use resamples::MeanRanks;

/// Name of the ranking on the command line.
pub const NAME: &str = "ranking";

/// What to rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankingSelection {
    /// The size of the simulations.
    pub size: Size,
    /// Number of seeds of every simulation; `None`: as many as the ranking has.
    pub seeds: Option<u32>,
}

/// What is to be simulated: for each progress model the experiments of all worlds.
struct Plan {
    spec: RankingSpec,
    policies: Vec<RankedPolicy>,
    worlds: Vec<RankedWorld>,
    levels: Vec<(String, Vec<Experiment>)>,
}

/// Returns the number of simulations of a ranking. Each simulation advances the execution's progress by 1.
///
/// # Errors
/// If the ranking's data are not valid.
pub fn ranking_simulations(selection: RankingSelection) -> Result<u64, PaperError> {
    let plan = plan(selection)?;
    let runs = |experiment: &Experiment| experiment.policies.len() * experiment.seeds.len();
    Ok(plan.levels.iter().flat_map(|(_, worlds)| worlds).map(runs).sum::<usize>() as u64)
}

/// Ranks all policies.
///
/// # Errors
/// If the ranking's data are not valid, a simulation fails, or the execution is stopped.
pub fn rank_all(selection: RankingSelection, execution: &Execution<'_>) -> Result<Ranking, PaperError> {
    let Plan { spec, policies, worlds, levels } = plan(selection)?;
    let seeds = levels.first().and_then(|(_, worlds)| worlds.first()).map_or_else(Vec::new, |one| one.seeds.clone());
    let mut results = Vec::with_capacity(levels.len());
    for (at, (knowledge, experiments)) in levels.iter().enumerate() {
        let mut measures = Vec::with_capacity(experiments.len());
        for experiment in experiments {
            // One world at a time, because its runs are in memory until all of them have ended.
            let runs = run_all(std::slice::from_ref(experiment), execution)?;
            let of_world: Vec<Vec<Measures>> =
                runs.iter().flatten().map(|seeds| seeds.iter().map(Measures::of).collect()).collect();
            measures.push(of_all(&policies, |policy| at == 0 || spec.runs_under_others(policy), of_world));
        }
        let names: Vec<&str> = worlds.iter().map(|world| world.name.as_str()).collect();
        results.push(level(knowledge, &names, &policies, &measures));
    }
    let quick = selection.size != Size::Full;
    Ok(Ranking {
        paper: NAME.to_owned(),
        title: spec.title,
        command: command(selection),
        minutes: (!quick && selection.seeds.is_none()).then_some(spec.minutes),
        quick,
        seeds,
        answer: answer::answer(&policies, &results),
        notes: spec.notes,
        policies,
        worlds,
        levels: results,
    })
}

fn command(selection: RankingSelection) -> String {
    let quick = if selection.size == Size::Full { "" } else { " --quick" };
    let seeds = selection.seeds.map_or_else(String::new, |seeds| format!(" --seeds {seeds}"));
    format!("reproduce {NAME}{quick}{seeds}")
}

fn plan(selection: RankingSelection) -> Result<Plan, PaperError> {
    let spec = RankingSpec::load()?;
    let policies = spec.policies()?;
    let RankingSelection { size, seeds } = selection;
    let main_seeds = seeds.unwrap_or(if size == Size::Full { spec.seeds } else { spec.quick_seeds });
    let other_seeds = seeds.unwrap_or(spec.other_seeds);
    let count = if size == Size::Full { spec.knowledge.len() } else { 1 };
    let others: Vec<RankedPolicy> = policies.iter().filter(|policy| spec.runs_under_others(policy)).cloned().collect();
    let scenario = |world: &WorldEntry, knowledge: &str, seeds, policies: &[RankedPolicy]| {
        world.scenario(&spec, (size, knowledge), policies, seeds)
    };
    let mut levels = Vec::with_capacity(count);
    for (at, knowledge) in spec.knowledge.iter().take(count).enumerate() {
        let (seeds, policies) = if at == 0 { (main_seeds, &policies) } else { (other_seeds, &others) };
        let experiments: Result<Vec<Experiment>, PaperError> = spec
            .world
            .iter()
            .map(|world| Ok(Experiment::of(&scenario(world, knowledge, seeds, policies)?, 1)?))
            .collect();
        levels.push((knowledge.clone(), experiments?));
    }
    let main = spec.knowledge.first().map_or("oracle", String::as_str);
    let mut worlds = Vec::with_capacity(spec.world.len());
    for world in &spec.world {
        let text = toml::to_string(&scenario(world, main, main_seeds, &policies)?)
            .map_err(|error| PaperError::Data { file: world.name.clone(), message: error.to_string() })?;
        worlds.push(RankedWorld {
            name: world.name.clone(),
            about: world.about.clone(),
            paper: world.paper.as_ref().map(|[paper, _]| paper.clone()),
            scenario: text,
        });
    }
    Ok(Plan { spec, policies, worlds, levels })
}

/// Returns the measures of all policies, from those of the policies that ran; the others have no seeds.
fn of_all(
    policies: &[RankedPolicy],
    ran: impl Fn(&RankedPolicy) -> bool,
    measures: Vec<Vec<Measures>>,
) -> Vec<Vec<Measures>> {
    let mut measures = measures.into_iter();
    policies.iter().map(|policy| if ran(policy) { measures.next().unwrap_or_default() } else { Vec::new() }).collect()
}

/// Returns the results under a progress model. `measures` has the seeds of each policy in each world.
fn level(knowledge: &str, names: &[&str], policies: &[RankedPolicy], measures: &[Vec<Vec<Measures>>]) -> RankingLevel {
    let worlds: Vec<WorldRanking> =
        names.iter().zip(measures).map(|(name, measures)| world_ranking(name, policies, measures)).collect();
    let values =
        |of: fn(&Measures) -> f64| -> Vec<Vec<Vec<f64>>> { measures.iter().map(|it| values(it, of)).collect() };
    let flowtimes = values(|it| it.flowtime);
    let flowtime = MeanRanks::of(&flowtimes, true);
    let flowtime_p99 = MeanRanks::of(&values(|it| it.flowtime_p99), true);
    let resource = MeanRanks::of(&values(|it| it.resource), true);
    let energy = MeanRanks::of(&values(|it| it.energy), true);
    let counting: Vec<Vec<Vec<f64>>> = values(|it| it.pocd)
        .into_iter()
        .zip(&worlds)
        .filter(|(_, world)| world.pocd_counts)
        .map(|(values, _)| values)
        .collect();
    let pocd = MeanRanks::of(&counting, false);
    let row = |(at, policy): (usize, &RankedPolicy)| {
        let mut row = overall(policy, at, &worlds);
        let parts = [
            (&mut row.flowtime, &flowtime),
            (&mut row.flowtime_p99, &flowtime_p99),
            (&mut row.resource, &resource),
            (&mut row.energy, &energy),
            (&mut row.pocd, &pocd),
        ];
        for (value, ranks) in parts {
            value.mean_rank_ci95 = value.mean_rank.and_then(|_| ranks.ci95(at));
        }
        row
    };
    RankingLevel {
        knowledge: knowledge.to_owned(),
        seeds: measures.first().and_then(|world| world.first()).map_or(0, Vec::len),
        overall: policies.iter().enumerate().map(row).collect(),
        groups: groups(policies, &flowtimes, &flowtime),
        worlds,
    }
}

/// Returns who is first by mean flowtime of the systems, of the systems under one order, and of the combinations.
/// `flowtimes` has the mean flowtimes of all policies in each world, and `all` their mean ranks.
fn groups(policies: &[RankedPolicy], flowtimes: &[Vec<Vec<f64>>], all: &MeanRanks) -> Vec<RankedGroup> {
    let those = |is_member: &dyn Fn(&RankedPolicy) -> bool| -> Vec<(usize, &str)> {
        let members = policies.iter().enumerate().filter(|(_, policy)| is_member(policy));
        members.map(|(at, policy)| (at, policy.policy.as_str())).collect()
    };
    let systems = those(&data::is_system);
    let combinations = those(&data::is_combination);
    let under_one_order = those(&|policy| match policy.kind {
        RankedKind::System => policy.order_alone.is_none(),
        kind => kind == RankedKind::OtherOrder,
    });
    // Ranks under one order are among these policies alone.
    let of_these: Vec<Vec<Vec<f64>>> =
        flowtimes.iter().map(|world| under_one_order.iter().map(|(at, _)| world[*at].clone()).collect()).collect();
    let numbered: Vec<(usize, &str)> = under_one_order.iter().map(|(_, name)| *name).enumerate().collect();
    vec![
        all.group(GroupKind::Systems, &systems),
        MeanRanks::of(&of_these, true).group(GroupKind::OneOrder, &numbered),
        all.group(GroupKind::Combinations, &combinations),
    ]
}

/// Returns one measure of each policy on each seed.
fn values(measures: &[Vec<Measures>], of: fn(&Measures) -> f64) -> Vec<Vec<f64>> {
    measures.iter().map(|seeds| seeds.iter().map(of).collect()).collect()
}

/// The PoCD under `none` from which, and up to which, the PoCD of a world counts over all worlds: below and above, deadlines
/// cannot be met or are met without copies.
const COUNTING_POCD: [f64; 2] = [0.05, 0.95];

/// How the values of a measure are compared with those of the first policy.
#[derive(Clone, Copy)]
enum Compared {
    /// By quotients, in per cent. Smaller values are better.
    Quotient,
    /// By differences. Larger values are better.
    Difference,
}

/// Returns the results of a world. `measures` has the seeds of each policy; the first policy is `none`.
fn world_ranking(world: &str, policies: &[RankedPolicy], measures: &[Vec<Measures>]) -> WorldRanking {
    let columns = |of: fn(&Measures) -> f64, compared| ranked(measures, of, compared);
    let flowtime = columns(|it| it.flowtime, Compared::Quotient);
    let flowtime_p99 = columns(|it| it.flowtime_p99, Compared::Quotient);
    let resource = columns(|it| it.resource, Compared::Quotient);
    let energy = columns(|it| it.energy, Compared::Quotient);
    let pocd = columns(|it| it.pocd, Compared::Difference);
    let first: &[Measures] = measures.first().map_or(&[], Vec::as_slice);
    let change_of = |seeds: &[Measures], part: fn(&Measures) -> f64| {
        let of_seed = |(own, first): (&Measures, &Measures)| 100.0 * (part(own) - part(first)) / first.flowtime;
        estimate(&seeds.iter().zip(first).map(of_seed).collect::<Vec<f64>>())
    };
    let mean_of = |seeds: &[Measures], of: fn(&Measures) -> f64| {
        mean(&seeds.iter().map(of).collect::<Vec<f64>>()).unwrap_or(f64::NAN)
    };
    let mut rows = Vec::with_capacity(policies.len());
    let columns_of_rows = flowtime.into_iter().zip(flowtime_p99).zip(resource).zip(energy).zip(pocd);
    for ((policy, seeds), ((((flowtime, flowtime_p99), resource), energy), pocd)) in
        policies.iter().zip(measures).zip(columns_of_rows)
    {
        let waiting = change_of(seeds, |it| it.waiting);
        let running = change_of(seeds, |it| it.running);
        rows.push(RankingRow {
            policy: policy.policy.clone(),
            decided_by: if seeds.is_empty() {
                "not run".to_owned()
            } else {
                words::decided_by(waiting.mean, running.mean)
            },
            flowtime,
            flowtime_p99,
            resource,
            energy,
            pocd,
            waiting,
            running,
            copies: if seeds.is_empty() { 0.0 } else { mean_of(seeds, |it| it.copies) },
            wasted_share: Some(mean_of(seeds, |it| it.wasted_share)).filter(|share| share.is_finite()),
            abandoned_share: if seeds.is_empty() { 0.0 } else { mean_of(seeds, |it| it.abandoned_share) },
        });
    }
    words::add_order_or_copies(policies, &mut rows);
    let (first_systems, equal) = words::first_systems(policies, &values(measures, |it| it.flowtime));
    let pocd = mean_of(first, |it| it.pocd);
    WorldRanking {
        world: world.to_owned(),
        jobs: first.iter().map(|seed| seed.jobs).sum(),
        tasks: first.iter().map(|seed| seed.tasks).sum(),
        utilization: mean_of(first, |it| it.utilization),
        decides: words::decides(policies, &rows, (&first_systems, equal)),
        first_systems,
        pocd_counts: (COUNTING_POCD[0]..=COUNTING_POCD[1]).contains(&pocd),
        rows,
    }
}

/// Returns one measure of all policies, compared with the first one and ranked.
fn ranked(measures: &[Vec<Measures>], of: fn(&Measures) -> f64, compared: Compared) -> Vec<RankedValue> {
    let values = values(measures, of);
    let first = values.first().cloned().unwrap_or_default();
    let ranks = ranks(&values, matches!(compared, Compared::Quotient));
    let change = |(value, first): (&f64, &f64)| match compared {
        Compared::Quotient => 100.0 * (value / first - 1.0),
        Compared::Difference => value - first,
    };
    let value = |(seeds, rank): (&Vec<f64>, _)| RankedValue {
        value: estimate(seeds),
        change: estimate(&seeds.iter().zip(&first).map(change).collect::<Vec<f64>>()),
        rank,
    };
    values.iter().zip(ranks).map(value).collect()
}

/// Returns a policy's row over all worlds; it is the policy with the number `at`.
fn overall(policy: &RankedPolicy, at: usize, worlds: &[WorldRanking]) -> OverallRow {
    let of_worlds = |value: fn(&RankingRow) -> &RankedValue, compared, counts: fn(&WorldRanking) -> bool| {
        let counting = worlds.iter().filter(|world| counts(world));
        let values: Option<Vec<&RankedValue>> = counting.map(|world| world.rows.get(at).map(value)).collect();
        overall_value(&values.unwrap_or_default(), compared).unwrap_or_default()
    };
    let of = |value, compared| of_worlds(value, compared, |_| true);
    OverallRow {
        policy: policy.policy.clone(),
        flowtime: of(|row| &row.flowtime, Compared::Quotient),
        flowtime_p99: of(|row| &row.flowtime_p99, Compared::Quotient),
        resource: of(|row| &row.resource, Compared::Quotient),
        energy: of(|row| &row.energy, Compared::Quotient),
        pocd: of_worlds(|row| &row.pocd, Compared::Difference, |world| world.pocd_counts),
    }
}

/// Returns one measure over all worlds; `None` if it has no rank in one of them.
fn overall_value(values: &[&RankedValue], compared: Compared) -> Option<OverallValue> {
    let ranks: Vec<f64> = values.iter().map(|value| value.rank.map(|rank| rank.rank)).collect::<Option<_>>()?;
    let changes: Vec<f64> = values.iter().map(|value| value.change.mean).collect::<Option<_>>()?;
    let best = ranks.iter().copied().min_by(f64::total_cmp)?;
    let worst = ranks.iter().copied().max_by(f64::total_cmp)?;
    let (change, worst_change) = match compared {
        Compared::Quotient => {
            let logarithms: Vec<f64> = changes.iter().map(|change| (1.0 + change / 100.0).ln()).collect();
            (100.0 * (mean(&logarithms)?.exp() - 1.0), changes.iter().copied().max_by(f64::total_cmp))
        }
        Compared::Difference => (mean(&changes)?, changes.iter().copied().min_by(f64::total_cmp)),
    };
    Some(OverallValue {
        mean_rank: mean(&ranks),
        mean_rank_ci95: None,
        ranks: Some([best, worst]),
        change: Some(change),
        worst_change,
    })
}
