//! Instances worked out by hand: small clusters and jobs with the times at which attempts must start and end. Each file of
//! this folder has the instances of a policy, or of a part of the simulator. CONTRIBUTING.md describes the files.

mod expected;
pub mod passes;
mod world;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use hindmost_core::record::Condition;
use hindmost_policies::catalogue::{ORDERS, SYSTEMS};
use hindmost_sim::driver::SimulationError;
use hindmost_sim::testing::{Run, World};
use toml::{Table, Value};

use crate::audit::audit;
use expected::{differences, is_expectation};
use passes::{cloning, watching};
use world::{WorldKeys, with_changes};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/instances")
}

/// Takes the tables of a list, which may be missing.
fn tables(table: &mut Table, key: &str) -> Vec<Table> {
    let list = table.remove(key).into_iter().flat_map(|list| list.as_array().cloned().expect("a list of tables"));
    list.map(|entry| entry.as_table().cloned().expect("a list of tables")).collect()
}

/// Runs the instances of a file and asserts what they state.
fn check_file(file: &str) {
    check_text(file, &std::fs::read_to_string(folder().join(file).with_extension("toml")).unwrap());
}

fn check_text(file: &str, text: &str) {
    let mut parsed: Table = text.parse().unwrap_or_else(|error| panic!("{file}: {error}"));
    let mut wrong = Vec::new();
    for mut instance in tables(&mut parsed, "instance") {
        let name = instance.remove("name").expect("an instance has a name");
        let runs = tables(&mut instance, "run");
        assert!(!runs.is_empty(), "{name} has no run");
        for run in runs {
            // The test shows this if the run panics.
            println!("{name}: {run}");
            wrong.extend(check_run(&instance, run).into_iter().map(|difference| format!("{name}: {difference}")));
        }
    }
    assert!(parsed.is_empty(), "{file}: unknown keys: {parsed}");
    assert!(wrong.is_empty(), "{file}:\n{}", wrong.join("\n"));
}

/// Runs an instance under the policies of a run, and returns what differs from the run's statements.
fn check_run(instance: &Table, mut run: Table) -> Vec<String> {
    let policies = Chosen::of(&mut run);
    let error = run.remove("error");
    let (expected, changes): (Table, Table) = run.into_iter().partition(|(key, _)| is_expectation(key));
    assert!(error.is_some() == expected.is_empty(), "a run states an error or what must happen");
    let world: WorldKeys = with_changes(instance, changes).try_into().unwrap_or_else(|error| panic!("{error}"));
    let world = world.world();
    let mut wrong = Vec::new();
    for policy in policies {
        let found = match &error {
            Some(error) => wrong_error(&world, &policy, error.as_str().expect("an error is a text")),
            None => wrong_run(&world, &policy, &expected),
        };
        wrong.extend(found.into_iter().map(|difference| format!("{policy:?}: {difference}")));
    }
    wrong
}

/// The policy of a run.
#[derive(Debug)]
enum Chosen {
    /// A policy of the catalogue.
    Policy(String),
    /// `copies`: so many copies of each task of a phase.
    Copies(Vec<u32>),
    /// `watch`: one copy of each task, which is watched for a condition.
    Watch(Condition),
}

impl Chosen {
    /// Takes the policies of a run.
    fn of(run: &mut Table) -> Vec<Chosen> {
        let named = |policy: &Value| Chosen::Policy(policy.as_str().expect("a policy is a text").to_owned());
        match (run.remove("policy"), run.remove("copies"), run.remove("watch")) {
            (Some(Value::Array(policies)), None, None) => policies.iter().map(named).collect(),
            (Some(policy), None, None) => vec![named(&policy)],
            (None, Some(copies), None) => vec![Chosen::Copies(copies.try_into().expect("`copies` are numbers"))],
            (None, None, Some(watch)) => vec![Chosen::Watch(watch.try_into().expect("`watch` is a condition"))],
            _ => panic!("a run has either `policy`, `copies` or `watch`"),
        }
    }

    fn run(&self, world: &World) -> Result<Run, SimulationError> {
        let keep = world.keep;
        match self {
            Chosen::Policy(name) => world.try_run(name),
            Chosen::Copies(copies) => {
                let copies = copies.clone();
                world.try_run_own(move || cloning(&copies, keep))
            }
            Chosen::Watch(condition) => {
                let condition = *condition;
                world.try_run_own(move || watching(condition))
            }
        }
    }
}

/// Runs a policy. Besides what the instance states, the run must pass the audit, and a replay must make the same decisions.
fn wrong_run(world: &World, policy: &Chosen, expected: &Table) -> Vec<String> {
    let run = policy.run(world).unwrap_or_else(|error| panic!("{error}"));
    if world.setup.drain {
        audit(world, &run);
    }
    let verified = run.verify().err().map(|difference| difference.to_string());
    differences(expected, &run).into_iter().chain(verified).collect()
}

/// Compares the message of a run that must fail; "..." at the end of the expected one leaves the rest open.
fn wrong_error(world: &World, policy: &Chosen, expected: &str) -> Vec<String> {
    let error = policy.run(world).err().map_or("none".to_owned(), |error| error.to_string());
    let agrees = expected.strip_suffix("...").map_or(error == expected, |start| error.starts_with(start));
    if agrees { Vec::new() } else { vec![format!("the error is {error:?}, not {expected:?}")] }
}

/// Declares a test for each file.
macro_rules! files {
    ($($file:ident)*) => {
        const FILES: &[&str] = &[$(stringify!($file)),*];

        $(#[test]
        fn $file() {
            check_file(stringify!($file));
        })*
    };
}

files! {
    capacity
    carbyne
    chronos
    dolly
    dollymp
    drf
    durations
    energy
    ese
    failures
    fair
    fewest_remaining
    fifo
    graphene
    hadoop
    hete_aware
    hopper
    knowledge
    late
    locality
    mantri
    mantri_osdi
    mcp
    none
    outages
    auto
    pace
    placement
    rates
    riski
    sca
    sda
    shed
    slots
    smallest_workload
    spark
    srpt
    stragglers
    svf
    tetris
    window
}

#[test]
fn every_file_of_the_folder_is_tested_and_every_policy_has_one() {
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let names = files.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    let names: BTreeSet<String> = names.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    assert_eq!(names, FILES.iter().map(|file| (*file).to_owned()).collect(), "files of the folder, and of `files!`");
    let systems = SYSTEMS.iter().map(|system| system.name);
    for policy in systems.chain(ORDERS.iter().map(|order| order.name)) {
        assert!(names.contains(policy), "{policy} has no file in {}", folder().display());
    }
}

#[test]
fn the_instance_of_the_page_for_contributors_is_right() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../CONTRIBUTING.md")).unwrap();
    let blocks = page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap_or(""));
    let instances: Vec<&str> = blocks.filter(|block| block.starts_with("[[instance]]")).collect();
    assert_eq!(instances.len(), 1);
    check_text("CONTRIBUTING.md", instances[0]);
}
