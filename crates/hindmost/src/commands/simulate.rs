//! `hindmost simulate`: compares policies on a simulated cluster and workload.

use hindmost_math::plain::{Plain, Quoted};
use hindmost_policies::catalogue;
use hindmost_report::text::indented;
use hindmost_sim::by_correlation;
use hindmost_sim::experiment::Experiment;
use hindmost_sim::scenario::{self, BUILT_IN, PolicyEntry, Scenario, full_key};

use crate::cli::SimulateArgs;
use crate::failure::{Failure, Outcome};
use crate::terminal;

use super::compare::{self, Comparisons, Point, Settings};
use super::report::Subject;

/// A built-in scenario, as `--list --json` prints it.
#[derive(serde::Serialize)]
struct Listed {
    name: &'static str,
    description: String,
}

/// Simulates a scenario under each policy.
pub fn run(args: &SimulateArgs) -> Outcome {
    if args.list && args.run.json {
        let of = |(name, text): &(&'static str, &str)| Listed { name, description: first_sentence(text) };
        return terminal::print_json(&BUILT_IN.iter().map(of).collect::<Vec<Listed>>());
    }
    if args.list {
        let widest = BUILT_IN.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let width = usize::from(terminal::width());
        let line = |(name, text): &(&str, &str)| indented(&format!("{name:<widest$}  "), &first_sentence(text), width);
        return terminal::print(&BUILT_IN.iter().map(line).collect::<String>());
    }
    if args.schema {
        return terminal::print_json(&scenario::schema());
    }
    let sweep = compare::sweep(&args.run)?;
    let base = base(args, &sweep)?;
    let text = toml::to_string(&base).map_err(Failure::work)?;
    if args.print {
        return terminal::print(&text);
    }
    let mut points = Vec::new();
    for set in sweep {
        let experiment = Experiment::of(&scenario(args, &set)?, args.run.seed)?;
        points.push(Point { experiment, set });
    }
    let swept = points.first().map(|point: &Point| point.set.as_slice()).unwrap_or_default();
    let summary = describe(&base, &|key| swept.iter().any(|(other, _)| other == key));
    let sweeps_correlation = swept.iter().any(|(key, _)| is_correlation(key));
    let correlations = correlations(args, &base, sweeps_correlation)?;
    let subject = Subject::Scenario(&args.scenario, args.correlations.as_deref());
    let decisive = by_correlation::middle(&correlations).filter(|_| by_correlation::is_open(&base));
    let about =
        Comparisons { description: Some(&text), correlations: &correlations, decisive, ..Comparisons::default() };
    compare::run(&points, &args.run, vec![summary], &subject, &about)
}

/// Returns the values of `workload.correlation` whose results stand side by side: those of `--correlations`, or the usual
/// ones if the scenario leaves the key open. `is_swept` is true if a sweep changes the key, which then gives the values.
fn correlations(args: &SimulateArgs, scenario: &Scenario, is_swept: bool) -> Outcome<Vec<f64>> {
    let Some(text) = args.correlations.as_deref() else {
        let is_open = by_correlation::is_open(scenario) && !is_swept;
        return Ok(if is_open { by_correlation::VALUES.to_vec() } else { Vec::new() });
    };
    if text.trim() == "off" {
        return Ok(Vec::new());
    }
    if is_swept {
        let why = "the sweep gives the values of workload.correlation";
        return Err(Failure::input(format!("--correlations {text}: {why}; leave one of the two out")));
    }
    if scenario.workload.file.is_some() {
        let why = "the workload is exact: its file has the duration of every copy";
        return Err(Failure::input(format!("--correlations {text}: {why}; leave the option out")));
    }
    let mut values: Vec<f64> = Vec::new();
    for part in text.split(',') {
        let value = part.trim().parse::<f64>().ok().filter(|value| (0.0..=1.0).contains(value));
        let value = value.ok_or_else(|| {
            let part = Quoted(part.trim());
            Failure::input(format!("--correlations: {part} is not a number from 0 to 1; write 0,0.5,0.9 or off"))
        })?;
        if !values.contains(&value) {
            values.push(value);
        }
    }
    Ok(values)
}

/// Returns true if the value of a key changes the correlation.
fn is_correlation(key: &str) -> bool {
    ["workload.correlation", "workload"].contains(&full_key(key))
}

/// Returns the first sentence of a scenario's leading comment, on one line.
fn first_sentence(scenario: &str) -> String {
    let comment =
        scenario.lines().map_while(|line| line.strip_prefix('#')).map(str::trim).collect::<Vec<_>>().join(" ");
    comment.split_once(". ").map_or(comment.trim_end_matches('.'), |(first, _)| first).to_owned()
}

/// Returns the scenario with the values of `--set`. If it is not complete without those of the sweep, such as a table of
/// which `--set` gives only some keys, it has the values of the sweep's first point, too.
fn base(args: &SimulateArgs, sweep: &[Settings]) -> Outcome<Scenario> {
    let first = sweep.first().filter(|first| !first.is_empty());
    match (scenario(args, &Settings::new()), first) {
        (Err(_), Some(first)) => scenario(args, first),
        (result, _) => result,
    }
}

/// Returns the scenario with the values that the command line and this point of a sweep set.
fn scenario(args: &SimulateArgs, swept: &Settings) -> Outcome<Scenario> {
    let mut set = compare::settings(&args.run)?;
    set.extend(swept.iter().cloned());
    let mut scenario = Scenario::load(&args.scenario, &set).map_err(|error| Failure::input(error.with_sweep(swept)))?;
    let named = compare::policies(&args.run)?;
    if !named.is_empty() {
        scenario.policy = named.iter().map(PolicyEntry::from).collect();
    }
    compare::reject_twins(&scenario.policies().map_err(Failure::input)?)?;
    if let Some(seeds) = args.run.seeds {
        scenario.seeds = seeds;
    }
    // A sweep over `knowledge` overrides `--knowledge`.
    if let Some(knowledge) = compare::knowledge(&args.run)?
        && !swept.iter().any(|(key, _)| key == "knowledge")
    {
        scenario.knowledge = knowledge;
    }
    Ok(scenario)
}

/// Describes the simulation: order of jobs, time between decisions, and end. A value that a sweep changes is described as
/// `swept`.
fn describe(scenario: &Scenario, is_swept: &dyn Fn(&str) -> bool) -> String {
    let order = if is_swept("order") { "swept" } else { &scenario.order };
    let policies = scenario.policies().unwrap_or_default();
    let order = catalogue::order_in_words(order, &policies).map_or_else(String::new, |words| words + ", ");
    let decisions = match scenario.slot {
        _ if is_swept("slot") => "time between decisions swept".to_owned(),
        Some(slot) => format!("decisions every {} s", Plain(slot)),
        None => "decisions after every event".to_owned(),
    };
    let until = match scenario.horizon {
        _ if is_swept("horizon") => Some("a swept time".to_owned()),
        horizon => horizon.map(|horizon| format!("{} s", Plain(horizon))),
    };
    let end = match (until, scenario.drain) {
        (Some(until), _) if is_swept("drain") => format!("arrivals until {until}, with drain swept"),
        (Some(until), true) => format!("arrivals until {until}, then run until every job is done"),
        (Some(until), false) => format!("stopped at {until}"),
        (None, _) => "run until every job is done".to_owned(),
    };
    format!("{order}{decisions}, {end}")
}
