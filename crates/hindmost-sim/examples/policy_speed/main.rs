//! Measures how much longer a simulation takes under each policy than under `fifo` without copies.
//!
//! ```text
//! cargo run --release -p hindmost-sim --example policy_speed -- [--quick] [--only NAME,...] [--machines N,...]
//! ```
//!
//! Each number is the CPU time of the simulation's thread divided by that of `fifo+none` on the same jobs. It includes
//! the policy's decisions and the simulation of its additional copies. Policies without an order use `fifo`; policies
//! decide after every event.

mod worlds;

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use hindmost_core::estimator::Knowledge;
use hindmost_core::time::Time;
use hindmost_policies::catalogue::spec::{PolicySpec, split_list};
use hindmost_policies::catalogue::{ORDERS, SYSTEMS};
use hindmost_sim::driver::{Control, SimulationError};
use hindmost_sim::experiment::Experiment;
use hindmost_sim::output::Silent;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use worlds::{Kind, Load, World};

/// The policy with which every policy is compared.
const BASELINE: &str = "fifo+none";

/// Policies with parameters other than the default, or with a progress model of their own, that are measured with the
/// whole catalogue.
const VARIANTS: [&str; 6] = [
    "mantri(rule=osdi2010)",
    "shed(kill=never)",
    "chronos(strategy=clone)",
    "chronos(strategy=restart)",
    "none@profiles",
    "riski@profiles",
];

/// Number of tasks of the pilot run that precedes the whole run if `--limit` is given. If the pilot run exceeds the
/// limit, the whole run is skipped, because a simulation can be stopped only every 1 024 rounds, which takes too long
/// under a policy with very long rounds.
const PILOT: u32 = 500;

/// Tables of CPU time by policy and world, as Markdown.
#[derive(Parser)]
struct Options {
    /// Use 20 000 tasks per run, even if they never fill the machines.
    #[arg(long)]
    quick: bool,
    /// Approximate number of tasks per run; by default 100 000 or, if more, 33 per machine, so that jobs queue under
    /// overload.
    #[arg(long)]
    tasks: Option<u32>,
    /// Numbers of machines.
    #[arg(long, value_delimiter = ',', default_values_t = [300, 3_000, 30_000])]
    machines: Vec<u32>,
    /// Measure only these policies, which may have parameters; by default every system, every order with `none`, and some
    /// variants. `POLICY@KNOWLEDGE` runs a policy with a progress model of its own.
    #[arg(long)]
    only: Option<String>,
    /// Measure also every order with every system.
    #[arg(long)]
    cross: bool,
    /// Measure only these worlds: `one_slot`, `speeds`, `classes`, `demands`.
    #[arg(long, value_delimiter = ',')]
    worlds: Vec<String>,
    /// Measure only these loads: `light`, `loaded`, `overloaded`.
    #[arg(long, value_delimiter = ',')]
    loads: Vec<String>,
    /// Progress model: what policies know of running attempts, as written in scenarios.
    #[arg(long, default_value = "progress(0.2)")]
    knowledge: Knowledge,
    /// Placement, as written in scenarios; by default that of scenarios.
    #[arg(long)]
    placement: Option<String>,
    /// Stop runs that take this many times as long as the baseline.
    #[arg(long)]
    limit: Option<f64>,
    /// Number of runs of each policy; the shortest one counts.
    #[arg(long, default_value_t = 1)]
    repeat: u32,
    /// Print JSON instead of Markdown.
    #[arg(long)]
    json: bool,
}

/// A policy's run in a world.
#[derive(Serialize)]
struct Measured {
    #[serde(flatten)]
    world: World,
    policy: String,
    tasks: u64,
    attempts: u64,
    /// CPU time, in seconds; `None` if the run was stopped at the limit or failed.
    seconds: Option<f64>,
    ratio: Option<f64>,
    error: Option<String>,
}

impl Measured {
    fn cell(&self, limit: Option<f64>) -> String {
        match (self.ratio, &self.error, limit) {
            (Some(ratio), ..) if ratio < 9.95 => format!("{ratio:.1}"),
            (Some(ratio), ..) => format!("{ratio:.0}"),
            (None, None, Some(limit)) => format!("> {limit}"),
            _ => "error".to_owned(),
        }
    }
}

/// Returns the CPU time of this thread, in seconds.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The cost of a run: CPU time in seconds, tasks, attempts.
type Taken = (f64, u64, u64);

/// Runs a policy; `None` if the run takes longer than `most` seconds.
fn run(experiment: &Experiment, policy: &PolicySpec, most: f64) -> Result<Option<Taken>, SimulationError> {
    let start = cpu_seconds();
    let stop = AtomicBool::new(false);
    // The simulator calls this in its own thread every 1 024 rounds.
    let progress = |_: Time| stop.store(cpu_seconds() - start > most, Ordering::Relaxed);
    match experiment.run_one(policy, 1, &mut Silent, &Control { stop: &stop, progress: &progress }) {
        Ok(result) => Ok(Some((cpu_seconds() - start, result.tasks, result.attempts)).filter(|taken| taken.0 <= most)),
        Err(SimulationError::Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the shortest of `repeat` runs; `None` if one takes longer than `most` seconds.
fn shortest(
    experiment: &Experiment,
    policy: &PolicySpec,
    most: f64,
    repeat: u32,
) -> Result<Option<Taken>, SimulationError> {
    let mut best: Option<Taken> = None;
    for _ in 0..repeat.max(1) {
        let Some(found) = run(experiment, policy, most)? else { return Ok(None) };
        best = best.filter(|best| best.0 <= found.0).or(Some(found));
    }
    Ok(best)
}

fn policies(options: &Options) -> Vec<String> {
    if let Some(only) = &options.only {
        return split_list(only).into_iter().map(str::to_owned).collect();
    }
    let systems = || SYSTEMS.iter().map(|system| system.name);
    let mut policies: Vec<String> = systems().filter(|name| *name != "none").map(str::to_owned).collect();
    policies.extend(VARIANTS.map(str::to_owned));
    policies.extend(ORDERS.iter().map(|order| format!("{}+none", order.name)));
    if options.cross {
        let with = |order: &'static str| systems().map(move |system| format!("{order}+{system}"));
        policies.extend(ORDERS.iter().flat_map(|order| with(order.name)).filter(|name| !name.ends_with("+none")));
    }
    policies.retain(|name| name != BASELINE);
    policies
}

fn measure(world: World, policies: &[String], options: &Options) -> Result<Vec<Measured>, Box<dyn Error>> {
    let enough = if options.quick { 20_000 } else { 100_000.max(33 * world.machines) };
    let tasks = options.tasks.unwrap_or(enough);
    let of = |tasks, knowledge| world.experiment(tasks, knowledge, options.placement.as_deref());
    let (experiment, pilot) = (of(tasks, options.knowledge)?, of(PILOT, options.knowledge)?);
    // At least three runs, because the first one allocates memory that later ones reuse.
    let baseline = shortest(&experiment, &BASELINE.parse()?, f64::INFINITY, options.repeat.max(3))?;
    let (seconds, started, attempts) = baseline.ok_or("the run of the baseline was stopped")?;
    let policy = BASELINE.to_owned();
    let mut all = vec![Measured {
        world,
        policy,
        tasks: started,
        attempts,
        seconds: Some(seconds),
        ratio: Some(1.0),
        error: None,
    }];
    for policy in policies {
        let most = options.limit.map_or(f64::INFINITY, |limit| limit * seconds);
        let (spec, knowledge) = match policy.split_once('@') {
            Some((spec, knowledge)) => (spec, Some(knowledge.parse::<Knowledge>()?)),
            None => (policy.as_str(), None),
        };
        let spec: PolicySpec = spec.parse()?;
        // The jobs and their durations don't depend on what policies know.
        let own =
            knowledge.map(|knowledge| Ok::<_, String>((of(tasks, knowledge)?, of(PILOT, knowledge)?))).transpose()?;
        let (experiment, pilot) = own.as_ref().map_or((&experiment, &pilot), |(whole, pilot)| (whole, pilot));
        let piloted = if most.is_finite() { run(pilot, &spec, most).map(|taken| taken.is_some()) } else { Ok(true) };
        let measured =
            piloted.and_then(|go_on| if go_on { shortest(experiment, &spec, most, options.repeat) } else { Ok(None) });
        let (found, error) = match measured {
            Ok(found) => (found, None),
            Err(error) => (None, Some(error.to_string())),
        };
        let measured = Measured {
            world,
            policy: policy.clone(),
            tasks: started,
            attempts: found.map_or(0, |found| found.2),
            seconds: found.map(|found| found.0),
            ratio: found.map(|found| found.0 / seconds),
            error,
        };
        eprintln!(
            "{}: {policy} {} ({:.2} attempts a task)",
            world.name(),
            measured.error.clone().unwrap_or(measured.cell(options.limit)),
            measured.attempts as f64 / started as f64
        );
        all.push(measured);
    }
    Ok(all)
}

/// Prints one table for each kind of world, with a row for each policy and a column for each number of machines and
/// load.
fn markdown(measured: &[Measured], policies: &[String], options: &Options) {
    for kind in Kind::ALL {
        let of_kind: Vec<&Measured> = measured.iter().filter(|one| one.world.kind == kind).collect();
        let columns: Vec<&Measured> = of_kind.iter().copied().filter(|one| one.policy == BASELINE).collect();
        if columns.is_empty() {
            continue;
        }
        let row = |name: &str, cells: Vec<String>| println!("| {name} | {} |", cells.join(" | "));
        let title = |column: &&Measured| format!("{} {}", column.world.machines, column.world.load.name());
        println!("### {}\n", kind.title());
        row("machines, load", columns.iter().map(title).collect());
        println!("| --- |{}", " ---: |".repeat(columns.len()));
        let micros = |one: &&Measured| format!("{:.2} µs", one.seconds.unwrap_or(f64::NAN) * 1e6 / one.tasks as f64);
        row("`fifo`, a task", columns.iter().map(micros).collect());
        for policy in policies {
            let cells = of_kind.iter().filter(|one| one.policy == *policy).map(|one| one.cell(options.limit));
            row(&format!("`{policy}`"), cells.collect());
        }
        println!();
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let policies = policies(&options);
    let mut measured = Vec::new();
    for kind in Kind::ALL {
        let name = serde_json::to_value(kind)?;
        if !options.worlds.is_empty() && !options.worlds.iter().any(|wanted| name == wanted.as_str()) {
            continue;
        }
        for machines in options.machines.iter().copied() {
            for load in Load::ALL {
                if !options.loads.is_empty() && !options.loads.iter().any(|wanted| wanted == load.name()) {
                    continue;
                }
                measured.extend(measure(World { kind, machines, load }, &policies, &options)?);
            }
        }
    }
    if options.json {
        println!("{}", serde_json::to_string_pretty(&measured)?);
    } else {
        markdown(&measured, &policies, &options);
    }
    Ok(())
}
