//! `hindmost replay`: compares policies on the jobs and nodes that logs and journals record.

use std::path::Path;
use std::sync::Arc;

use hindmost_core::estimator::Knowledge;
use hindmost_core::metrics::RecordedTime;
use hindmost_core::time::Time;
use hindmost_forecast::world::World;
use hindmost_math::plain::Plain;
use hindmost_policies::catalogue;
use hindmost_policies::catalogue::spec::PolicySpec;
use hindmost_sim::driver::Setup;
use hindmost_sim::experiment::{Experiment, Jobs, default_placement};
use hindmost_sim::recommendation::OfEngine;
use hindmost_sim::scenario::{CommonPart, ReplaySettings, ScenarioError};

use crate::cli::ReplayArgs;
use crate::failure::{Failure, Outcome};

use super::compare::{self, Comparisons, Point, Settings};
use super::recorded::{self, Recorded};
use super::report::Subject;

mod starts;

/// The progress model if neither the log nor the command line gives one: logs do not report the progress of attempts, so a policy knows
/// what a forecast of `advise` lets it know.
const DEFAULT_KNOWLEDGE: Knowledge = Knowledge::Age;

/// Number of seeds without `--seeds`, because the durations of copies that never ran are drawn.
const DEFAULT_SEEDS: u32 = 5;

/// Replays logs and journals under each policy.
pub fn run(args: &ReplayArgs) -> Outcome {
    let named = compare::policies(&args.run)?;
    let swept = compare::sweep(&args.run)?;
    let knowledge = compare::knowledge(&args.run)?;
    if let Some(twice) = args.logs.iter().enumerate().find(|(at, log)| args.logs[..*at].contains(log)) {
        return Err(Failure::input(format!("the log {} is named twice; name it once", twice.1.display())));
    }
    // Reports wrong settings before any log is read.
    for set in &swept {
        settings(args, set)?;
    }
    let mut all = read_all(args)?;
    let mut of_policies = Vec::new();
    let policies = if named.is_empty() { recorded_then_every_system(&all, &mut of_policies) } else { named };
    let mut notes = about_durations(&all);
    let place_of_settings = notes.len();
    for one in &all {
        notes.extend(one.notes.iter().map(|note| of_one(all.len() > 1, one, note)));
    }
    let engine = all.iter().find_map(|one| one.world.as_ref()?.engine.of_its_own());
    notes.extend(policies_of_others(engine, &policies));
    let recorded_knowledge = common_knowledge(&all, &mut notes);
    notes.append(&mut of_policies);
    let experiment = |one: &Recorded, settings: ReplaySettings| {
        let knowledge = knowledge.or(settings.knowledge).unwrap_or(recorded_knowledge);
        experiment(args, one, settings, (&policies, knowledge))
    };
    let several = all.len() > 1;
    for one in &mut all {
        let settings = ReplaySettings { machines: None, ..settings(args, &swept[0])?.of(one)? };
        let experiment = |one: &Recorded| experiment(one, settings.clone());
        if let Some(note) = starts::choose(one, &experiment)? {
            notes.push(of_one(several, one, note));
        }
    }
    // The logs show the order.
    notes.splice(place_of_settings..place_of_settings, about_settings(args, &all, &policies)?);
    let mut points = Vec::new();
    for one in &all {
        for set in &swept {
            let experiment = experiment(one, settings(args, set)?.of(one)?);
            let mut set = set.clone();
            if several {
                set.insert(0, ("log".to_owned(), one.name.clone()));
            }
            points.push(Point { experiment, set });
        }
    }
    if several {
        let names: Vec<String> = args.logs.iter().map(|log| file_name(log)).collect();
        for point in &mut points {
            point.experiment.name = names.join(", ");
        }
    }
    let recorded = replayed_as_recorded(&all, &points)?;
    let shares = match (&all[..], &points[..]) {
        ([one], [_]) => one.world.as_ref().map_or_else(Vec::new, World::shares),
        _ => Vec::new(),
    };
    let applications = all.iter_mut().flat_map(|one| std::mem::take(&mut one.diagnoses)).collect();
    let about = Comparisons { recorded, correlations: &shares, applications, engine, ..Comparisons::default() };
    compare::run(&points, &args.run, notes, &Subject::Logs(args), &about)
}

/// Reads all logs. A page also shows what their applications spent their time on.
fn read_all(args: &ReplayArgs) -> Outcome<Vec<Recorded>> {
    let columns = args.columns.clone().with_states(args.states.clone());
    let diagnoses = args.run.out.is_some();
    args.logs.iter().map(|log| recorded::read(log, &columns, diagnoses)).collect()
}

/// Returns the replay of a log with these settings, policies and progress model.
fn experiment(
    args: &ReplayArgs,
    one: &Recorded,
    settings: ReplaySettings,
    (policies, knowledge): (&[PolicySpec], Knowledge),
) -> Experiment {
    let (dimensions, nodes) = match settings.machines {
        Some(count) => one.machines(count),
        None => (one.dimensions.clone(), one.nodes.clone()),
    };
    let placement = settings.placement.unwrap_or_else(|| default_placement(nodes.iter().map(|kind| &kind.speed)));
    let mut experiment = Experiment {
        name: one.name.clone(),
        dimensions: dimensions.clone(),
        nodes,
        jobs: Jobs::Given(one.jobs.clone()),
        policies: policies.to_vec(),
        seeds: (0..u64::from(args.run.seeds.unwrap_or(DEFAULT_SEEDS)))
            .map(|at| args.run.seed.wrapping_add(at))
            .collect(),
        order: settings.order,
        setup: Setup {
            dimensions,
            nodes: Vec::new(),
            slot: Time::from_seconds(settings.slot.unwrap_or(0.0)),
            horizon: None,
            drain: true,
            knowledge,
            placement,
            noise: settings.noise,
            correlation: 0.0,
            common_part: CommonPart::FirstAttempt,
            slow_from: 0.0,
            seed: 0,
            gamma: settings.gamma,
            network: None,
            outages: Vec::new(),
            disturbances: Vec::new(),
            stragglers: None,
            learns_speeds: false,
            known_profiles: Arc::default(),
            keeps_profiles: false,
            as_recorded: None,
            queues: one.header.as_ref().map_or_else(Vec::new, |header| header.queues.clone()),
        },
    };
    if let Some(world) = &one.world {
        world.set_up(&mut experiment.setup, settings.machines.is_none());
    }
    experiment
}

/// Replays the policy that ran in each log, at the first point of a sweep, and compares the recorded times with the replayed ones.
fn replayed_as_recorded(all: &[Recorded], points: &[Point]) -> Outcome<Vec<RecordedTime>> {
    let per_log = points.len() / all.len().max(1);
    let mut recorded = Vec::new();
    for (one, point) in all.iter().zip(points.iter().step_by(per_log.max(1))) {
        let Some(world) = &one.world else { continue };
        recorded.push(starts::against(world, &one.name, point.experiment.clone())?);
    }
    Ok(recorded)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Returns a note on one log. If there are several logs, the note begins with the log's name.
fn of_one(are_several: bool, one: &Recorded, note: &str) -> String {
    if are_several { format!("{}: {note}", one.name) } else { note.to_owned() }
}

/// The settings of the command line, and whether they set the order and gamma.
struct Given {
    settings: ReplaySettings,
    order: bool,
    gamma: bool,
}

impl Given {
    /// Returns the settings for a log. The order is the recorded one, and gamma that of a journal, unless the command line sets them.
    fn of(mut self, one: &Recorded) -> Outcome<ReplaySettings> {
        if let Some(world) = one.world.as_ref().filter(|_| !self.order) {
            self.settings.order.clone_from(&world.order);
        }
        if let Some(header) = &one.header {
            if !self.order {
                self.settings.order.clone_from(&header.order);
            }
            if !self.gamma {
                self.settings.gamma = header.gamma;
            }
        }
        let ReplaySettings { order, gamma, .. } = &self.settings;
        catalogue::order(order).map_err(|error| Failure::input(format!("{}: {error}", one.name)))?;
        if !(gamma.is_finite() && *gamma >= 0.0) {
            return Err(Failure::input(format!("{}: gamma is {}, but must be at least 0", one.name, Plain(*gamma))));
        }
        Ok(self.settings)
    }
}

fn settings(args: &ReplayArgs, swept: &Settings) -> Outcome<Given> {
    let mut set = compare::settings(&args.run)?;
    set.extend(swept.iter().cloned());
    let settings = ReplaySettings::parse(&set).map_err(|error: ScenarioError| {
        let message = error.with_sweep(swept).to_string();
        // The parser does not know which option gave the value.
        let message = if swept.is_empty() { message } else { message.replacen("--set:", "--set or --sweep:", 1) };
        Failure::input(message)
    })?;
    catalogue::order(&settings.order).map_err(Failure::input)?;
    let names = |key: &str| set.iter().any(|(known, _)| known == key);
    Ok(Given { settings, order: names("order"), gamma: names("gamma") })
}

/// Returns the notes on how durations of copies that never ran are chosen, without repetitions. All logs have the same
/// note, and so have all journals.
fn about_durations(all: &[Recorded]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for one in all {
        if !notes.iter().any(|note| note == one.about_durations) {
            notes.push(one.about_durations.to_owned());
        }
    }
    notes
}

/// Returns a note on order and gamma for each log, or a single note if it is the same for all logs.
fn about_settings(args: &ReplayArgs, all: &[Recorded], policies: &[PolicySpec]) -> Outcome<Vec<String>> {
    let mut shown: Vec<String> = Vec::new();
    for one in all {
        let ReplaySettings { order, gamma, .. } = settings(args, &Settings::new())?.of(one)?;
        let order = catalogue::order_in_words(&order, policies).map_or_else(String::new, |words| words + ", ");
        shown.push(format!("{order}gamma {}; jobs arrive at their recorded times", Plain(gamma)));
    }
    if shown.iter().all(|text| *text == shown[0]) {
        shown.truncate(1);
        return Ok(shown);
    }
    Ok(all.iter().zip(&shown).map(|(one, text)| of_one(true, one, text)).collect())
}

/// Returns the progress model to use without `--knowledge`: that of the recorded runs if all have the same one, else
/// [`DEFAULT_KNOWLEDGE`]; then it adds a note.
fn common_knowledge(all: &[Recorded], notes: &mut Vec<String>) -> Knowledge {
    let mut each = all.iter().map(|one| one.knowledge().unwrap_or(DEFAULT_KNOWLEDGE));
    let first = each.next().unwrap_or(DEFAULT_KNOWLEDGE);
    if each.all(|other| other == first) {
        return first;
    }
    notes.push(format!(
        "the recorded runs have different progress models, so the replay uses {DEFAULT_KNOWLEDGE}; --knowledge sets another"
    ));
    DEFAULT_KNOWLEDGE
}

/// Returns a note on policies that what wrote the logs does not have, so that no setting of it is compared that `advise` recommends.
fn policies_of_others(engine: Option<OfEngine>, policies: &[PolicySpec]) -> Option<String> {
    let engine = engine?;
    let OfEngine { name, system } = engine;
    policies.iter().any(|policy| !engine.has(&policy.system)).then(|| {
        format!(
            "{name} has no policy but none and {system}; the others are for a run of the jobs by Hindmost. `hindmost advise` says what the \
             settings of {name} would gain"
        )
    })
}

/// Returns the policies of the recorded runs, then all other systems of the catalogue. A recorded policy that this version
/// does not have is left out, with a note.
fn recorded_then_every_system(all: &[Recorded], notes: &mut Vec<String>) -> Vec<PolicySpec> {
    let mut specs: Vec<PolicySpec> = Vec::new();
    for one in all {
        let Some(header) = &one.header else { continue };
        let parsed = header.policy.parse::<PolicySpec>().map_err(|error| error.to_string());
        match parsed.and_then(|spec| catalogue::check(&spec).map(|_| spec).map_err(|error| error.to_string())) {
            Ok(spec) if specs.contains(&spec) => {}
            Ok(spec) => specs.push(spec),
            Err(error) => {
                notes.push(of_one(all.len() > 1, one, &format!("the policy of the recorded run is left out: {error}")));
            }
        }
    }
    for system in catalogue::compared() {
        let spec = PolicySpec::of(system.name);
        if !specs.iter().any(|recorded| catalogue::mean_the_same(recorded, &spec)) {
            specs.push(spec);
        }
    }
    specs
}
