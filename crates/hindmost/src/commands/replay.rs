//! `hindmost replay`: what each policy would have done with the jobs and cluster of a log.

use std::path::Path;
use std::sync::Arc;

use hindmost_core::estimator::Knowledge;
use hindmost_core::policy::catalogue::{self, SYSTEMS};
use hindmost_core::policy::spec::PolicySpec;
use hindmost_core::resources::{Dimensions, Resources};
use hindmost_core::time::Time;
use hindmost_core::workload::DemandByName;
use hindmost_sim::driver::Setup;
use hindmost_sim::experiment::{Experiment, Jobs, NodeKind};
use hindmost_sim::parameter::Parameter;
use hindmost_sim::scenario::{ReplaySettings, ScenarioError};
use hindmost_trace::{COPIES_NOTE, RecordedNode, spark};

use crate::cli::ReplayArgs;
use crate::failure::{Failure, Outcome};

use super::compare::{self, Point, Settings};
use super::trace::with_progress;

/// What is known where neither log nor command line says: progress is seen, and tells once a tenth
/// of the work is done.
const DEFAULT_KNOWLEDGE: Knowledge = Knowledge::Progress(0.1);

/// Replays logs under each policy.
pub fn run(args: &ReplayArgs) -> Outcome {
    let named = compare::policies(&args.run)?;
    let policies = if named.is_empty() { every_system() } else { named };
    let swept = compare::sweep(&args.run)?;
    let mut points = Vec::new();
    let mut notes = vec![COPIES_NOTE.to_owned()];
    if let Some(twice) = args.logs.iter().enumerate().find(|(at, log)| args.logs[..*at].contains(log)) {
        return Err(Failure::input(format!("{} is named twice", twice.1.display())));
    }
    let shown = settings(args, &Settings::new())?;
    notes.push(format!("order {}, gamma {}; jobs arrive when they did", shown.order, shown.gamma));
    for log in &args.logs {
        let trace = with_progress(|progress| spark::open(log, Some(progress)))?;
        let (summary, jobs, recorded, _) = trace.into_parts();
        let name = log.display().to_string();
        notes.extend(summary.warnings.iter().map(|warning| format!("{name}: {warning}")));
        if jobs.is_empty() {
            return Err(Failure::input(format!(
                "{name}: no job of this log has a finished task, so there is nothing to replay"
            )));
        }
        let (nodes, note) = cluster(&name, &recorded);
        notes.extend(note);
        let jobs = Arc::new(jobs);
        for set in &swept {
            let settings = settings(args, set)?;
            let mut experiment = Experiment {
                name: name.clone(),
                dimensions: dimensions(),
                nodes: settings.machines.map_or_else(|| nodes.clone(), machines),
                jobs: Jobs::Given(jobs.clone()),
                policies: policies.clone(),
                seeds: (0..u64::from(args.run.seeds.unwrap_or(1))).map(|at| args.run.seed.wrapping_add(at)).collect(),
                order: settings.order.clone(),
                setup: setup(&settings),
            };
            experiment.setup.knowledge = settings.knowledge.unwrap_or(DEFAULT_KNOWLEDGE);
            if let Some(knowledge) = compare::knowledge(&args.run)? {
                experiment.setup.knowledge = knowledge;
            }
            let mut set = set.clone();
            if args.logs.len() > 1 {
                set.insert(0, ("log".to_owned(), name.clone()));
            }
            points.push(Point { experiment, set });
        }
    }
    if args.logs.len() > 1 {
        let names: Vec<String> = args.logs.iter().map(|log| file_name(log)).collect();
        for point in &mut points {
            point.experiment.name = names.join(", ");
        }
    }
    compare::run(&points, &args.run, notes, None)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn every_system() -> Vec<PolicySpec> {
    let specs = SYSTEMS.iter().map(|system| PolicySpec {
        order: None,
        rule: system.name.to_owned(),
        parameters: std::collections::BTreeMap::new(),
    });
    specs.collect()
}

fn settings(args: &ReplayArgs, swept: &Settings) -> Outcome<ReplaySettings> {
    let mut set = compare::settings(&args.run)?;
    set.extend(swept.iter().cloned());
    let settings = ReplaySettings::parse(&set).map_err(|error: ScenarioError| Failure::input(error))?;
    catalogue::order(&settings.order).map_err(Failure::input)?;
    Ok(settings)
}

/// A slot of an executor is a cpu here.
fn dimensions() -> Dimensions {
    Dimensions::of([&DemandByName::new()]).unwrap_or_else(|_| Dimensions::one_slot())
}

fn node(name: String, count: u32, slots: u32) -> NodeKind {
    let mut capacity = Resources::NONE;
    capacity.0[0] = u64::from(slots) * Resources::ONE_SLOT.0[0];
    NodeKind { count, name, capacity, speed: Parameter::Number(1.0) }
}

fn machines(count: u32) -> Vec<NodeKind> {
    vec![node("machine".to_owned(), count, 1)]
}

fn setup(settings: &ReplaySettings) -> Setup {
    Setup {
        dimensions: dimensions(),
        nodes: Vec::new(),
        slot: Time::from_seconds(settings.slot.unwrap_or(0.0)),
        horizon: None,
        drain: true,
        knowledge: DEFAULT_KNOWLEDGE,
        noise: settings.noise,
        correlation: 0.0,
        slow_from: 0.0,
        seed: 0,
        gamma: settings.gamma,
    }
}

/// The executors of a log as nodes: those of the moment when they had the most slots together, since
/// executors that come after others have gone never ran beside them.
fn cluster(log: &str, recorded: &[RecordedNode]) -> (Vec<NodeKind>, Option<String>) {
    let alive_at = |time: f64| {
        recorded.iter().filter(move |node| {
            node.added.is_none_or(|added| added <= time) && node.removed.is_none_or(|removed| removed > time)
        })
    };
    let slots_at = |time: f64| alive_at(time).map(|node| u64::from(node.slots)).sum::<u64>();
    let mut best = (f64::NEG_INFINITY, slots_at(f64::NEG_INFINITY));
    for time in recorded.iter().filter_map(|node| node.added) {
        let slots = slots_at(time);
        if slots > best.1 {
            best = (time, slots);
        }
    }
    let chosen: Vec<NodeKind> = alive_at(best.0).map(|found| node(found.name.clone(), 1, found.slots.max(1))).collect();
    let note = (chosen.len() < recorded.len()).then(|| {
        format!(
            "{log}: {} executors came and went; replayed on the {} that ran at once when slots were most ({})",
            recorded.len(),
            chosen.len(),
            best.1
        )
    });
    (chosen, note)
}
