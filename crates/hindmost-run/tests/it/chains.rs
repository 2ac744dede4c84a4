//! What runs again in jobs whose tasks wait for single tasks of earlier phases, compared with a model that was written apart.
//!
//! The model gives each task a signature, made from its phase, its own inputs and the signatures of the tasks that it uses.
//! A task runs again if and only if its signature is not the one with which its result was made.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::AtomicU32;

use hindmost_core::metrics::RunState;
use hindmost_math::random::mix;
use hindmost_run::driver::{self, RunOptions, Unfollowed};
use hindmost_run::engine::{Launch, parse_nodes};
use hindmost_run::job_file;
use hindmost_run::store::{Opening, Store};
use hindmost_testing::cases;
use proptest::prelude::*;

use crate::checked_engine::{CheckedEngine, Died, Rules};
use crate::fake_engine::FakeEngine;
use crate::test_run::{TestRun, fails, new_folder, scratch, takes};

/// Which tasks a phase has.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Family {
    /// One for each file.
    Files,
    /// One for each sample of each patient.
    Samples,
    /// One for each patient.
    Patients,
    /// So many tasks.
    Numbers(u32),
}

/// How a phase uses a phase before it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Uses {
    All,
    Each,
    ByPatient,
}

#[derive(Clone, Debug)]
struct Phase {
    family: Family,
    uses: Vec<(usize, Uses)>,
}

/// A task: the number of its phase, and what its number stands for.
type Key = (usize, String);

#[derive(Clone, Debug)]
struct World {
    phases: Vec<Phase>,
    patients: Vec<u64>,
    samples: Vec<u64>,
    /// The files with their sizes.
    files: BTreeMap<String, u64>,
    /// How often each task was to run again on request or because its result was gone.
    again: BTreeMap<Key, u64>,
}

impl World {
    /// Draws up to six phases from a number.
    fn drawn(seed: u64) -> World {
        let mut draw = Draw(seed);
        let mut phases: Vec<Phase> = Vec::new();
        for at in 0..=1 + draw.below(5) as usize {
            let parent = draw.below(at.max(1) as u64) as usize;
            let has_patients = |phase: &Phase| matches!(phase.family, Family::Samples | Family::Patients);
            let (family, uses) = match draw.below(if at == 0 { 3 } else { 7 }) {
                0 => (Family::Files, vec![]),
                1 => (Family::Samples, vec![]),
                2 => (Family::Numbers(1 + draw.below(3) as u32), vec![]),
                3 if has_patients(&phases[parent]) => (Family::Patients, vec![(parent, Uses::ByPatient)]),
                4 => (Family::Numbers(1 + draw.below(2) as u32), vec![(parent, Uses::All)]),
                _ => (phases[parent].family, vec![(parent, Uses::Each)]),
            };
            let mut uses = uses;
            let other = draw.below(at.max(1) as u64) as usize;
            if at > 0 && draw.below(3) == 0 && uses.iter().all(|(parent, _)| *parent != other) {
                uses.push((other, Uses::All));
            }
            phases.push(Phase { family, uses });
        }
        let files = (0..3).map(|file| (format!("f{file}"), 10 + file)).collect();
        World { phases, patients: vec![1, 2], samples: vec![1, 2], files, again: BTreeMap::new() }
    }

    fn text(&self) -> String {
        let mut text = "name = \"j\"\npolicy = \"none\"\n".to_owned();
        for (at, phase) in self.phases.iter().enumerate() {
            text += &format!("[[phase]]\nname = \"p{at}\"\ncommand = \"true\"\n");
            let is_own = phase.uses.first().is_none_or(|(_, uses)| *uses == Uses::All);
            text += &match phase.family {
                _ if !is_own => String::new(),
                Family::Files => "inputs = \"in/*\"\n".to_owned(),
                Family::Samples => {
                    format!("matrix = {{ patient = {:?}, sample = {:?} }}\n", self.patients, self.samples)
                }
                Family::Patients => unreachable!("it always has a parent"),
                Family::Numbers(tasks) => format!("tasks = {tasks}\n"),
            };
            let after = phase.uses.iter().map(|(parent, uses)| match uses {
                Uses::All => format!("\"p{parent}\""),
                Uses::Each => format!("{{ phase = \"p{parent}\", each = true }}"),
                Uses::ByPatient => format!("{{ phase = \"p{parent}\", by = \"patient\" }}"),
            });
            text += &format!("after = [{}]\n", after.collect::<Vec<_>>().join(", "));
        }
        text
    }

    fn keys(&self, phase: usize) -> Vec<String> {
        match self.phases[phase].family {
            Family::Files => self.files.keys().cloned().collect(),
            Family::Samples => {
                let of = |patient: u64| self.samples.iter().map(move |sample| format!("{patient}-{sample}"));
                self.patients.iter().copied().flat_map(of).collect()
            }
            Family::Patients => self.patients.iter().map(ToString::to_string).collect(),
            Family::Numbers(tasks) => (0..tasks).map(|task| task.to_string()).collect(),
        }
    }

    /// Returns the tasks whose results a task uses.
    fn used_by(&self, (phase, key): &Key) -> Vec<Key> {
        let patient = |key: &str| key.split('-').next().map(str::to_owned);
        let of = |(parent, uses): &(usize, Uses)| {
            let keys = self.keys(*parent).into_iter();
            let used = keys.filter(|other| match uses {
                Uses::All => true,
                Uses::Each => other == key,
                Uses::ByPatient => patient(other) == patient(key),
            });
            used.map(|other| (*parent, other)).collect::<Vec<_>>()
        };
        self.phases[*phase].uses.iter().flat_map(of).collect()
    }

    /// Returns every task with its signature.
    fn signatures(&self) -> BTreeMap<Key, u64> {
        let mut all: BTreeMap<Key, u64> = BTreeMap::new();
        for phase in 0..self.phases.len() {
            for key in self.keys(phase) {
                let key = (phase, key);
                let mut signature = mix(self.again.get(&key).copied().unwrap_or(0));
                if self.phases[phase].family == Family::Files {
                    signature = mix(signature ^ self.files[&key.1]);
                }
                for used in self.used_by(&key) {
                    let name: u64 = used.1.bytes().fold(used.0 as u64, |sum, byte| mix(sum ^ u64::from(byte)));
                    signature = signature.wrapping_add(mix(all[&used] ^ name));
                }
                all.insert(key, mix(signature));
            }
        }
        all
    }

    fn write_files(&self, folder: &Path) {
        let inputs = folder.join("in");
        fs::create_dir_all(&inputs).unwrap();
        for entry in fs::read_dir(&inputs).unwrap() {
            let path = entry.unwrap().path();
            if !self.files.contains_key(path.file_name().unwrap().to_str().unwrap()) {
                fs::remove_file(path).unwrap();
            }
        }
        for (name, size) in &self.files {
            let path = inputs.join(name);
            if fs::metadata(&path).ok().is_none_or(|found| found.len() != *size) {
                fs::write(path, vec![b'x'; *size as usize]).unwrap();
            }
        }
    }

    /// Changes something. Returns a task whose result is removed, or a task that runs again on request.
    fn edit(&mut self, draw: &mut Draw) -> (Option<Key>, Option<Key>) {
        let next = 100 + draw.below(1000);
        let phase = draw.below(self.phases.len() as u64) as usize;
        let keys = self.keys(phase);
        let key = (phase, keys[draw.below(keys.len() as u64) as usize].clone());
        match draw.below(8) {
            0 => _ = self.files.insert(format!("f{next}"), 7),
            1 if self.files.len() > 1 => _ = self.files.pop_first(),
            2 => *self.files.values_mut().next().unwrap() += 1000 + next,
            3 if !self.samples.contains(&next) => self.samples.insert(draw.below(2) as usize, next),
            4 if self.samples.len() > 1 => _ = self.samples.remove(0),
            5 if !self.patients.contains(&next) => self.patients.push(next),
            6 => {
                *self.again.entry(key.clone()).or_default() += 1;
                return (Some(key), None);
            }
            7 => {
                *self.again.entry(key.clone()).or_default() += 1;
                return (None, Some(key));
            }
            _ => {}
        }
        (None, None)
    }
}

/// Numbers that follow from a seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = mix(self.0);
        (self.0 >> 11) % end
    }
}

/// Returns the value of a variable of an attempt's environment.
fn variable(launch: &Launch<'_>, name: &str) -> Option<String> {
    let found = launch.environment.iter().find(|(own, _)| own.to_str() == Some(name));
    found.map(|(_, value)| value.to_str().unwrap().to_owned())
}

/// Returns the key of the task of an attempt.
fn key_of(launch: &Launch<'_>) -> Key {
    let file = launch.input.and_then(|input| Some(input.file_name()?.to_str()?.to_owned()));
    let samples = variable(launch, "patient").map(|patient| match variable(launch, "sample") {
        Some(sample) => format!("{patient}-{sample}"),
        None => patient,
    });
    let number = || launch.attempt.task.index.to_string();
    (launch.attempt.task.phase as usize, file.or(samples).unwrap_or_else(number))
}

/// Runs a job to its end, with drivers that die meanwhile, and returns how often each task was started. `redo` are the
/// names of tasks that run again.
fn run(world: &World, folder: &Path, out: &Path, redo: &[String], deaths: &[usize]) -> BTreeMap<Key, u32> {
    let started: Rc<RefCell<BTreeMap<Key, u32>>> = Rc::default();
    let mut left = BTreeSet::new();
    for (number, death) in deaths.iter().copied().map(Some).chain([None]).enumerate() {
        let plan = job_file::parse(&world.text(), &folder.join("j.toml"), folder).unwrap();
        let (counts, results) = (Rc::clone(&started), out.to_owned());
        let engine = FakeEngine::new(parse_nodes(Some("n1:3,n2:2")).unwrap(), move |launch| {
            fs::write(launch.folder.join("out/by"), "x").unwrap();
            *counts.borrow_mut().entry(key_of(launch)).or_default() += 1;
            for (name, tasks) in launch.environment {
                let Some(parent) = name.to_str().and_then(|name| name.strip_prefix("HINDMOST_PARENTS_")) else {
                    continue;
                };
                for task in tasks.to_str().unwrap().split_whitespace() {
                    let result = results.join(parent).join(task).join("by");
                    assert!(result.exists(), "{} started before {parent}/{task} was done", launch.attempt);
                }
            }
            takes(1.0 + (mix(u64::from(launch.attempt.task.index)) % 5) as f64)
        });
        let rules = Rules {
            folder: out.to_owned(),
            phases: plan.phases.iter().map(|phase| phase.name.clone()).collect(),
            copied: plan.phases.iter().map(|_| true).collect(),
        };
        let mut engine = CheckedEngine::new(engine, rules);
        engine.orphans = std::mem::take(&mut left);
        engine.dies_after = death;
        let resume = number > 0 || out.join(".hindmost").exists();
        let redo = if number == 0 { redo.iter().map(|task| task.parse().unwrap()).collect() } else { Vec::new() };
        let ran = catch_unwind(AssertUnwindSafe(|| {
            let opened = Store::open(out, &plan, &Opening { resume, redo, ..Opening::default() }).unwrap();
            driver::run(&RunOptions::default(), opened, &mut engine, &AtomicU32::new(0), &mut Unfollowed).unwrap()
        }));
        match ran {
            Ok(outcome) => {
                assert_eq!(outcome.summary.state, RunState::Done, "{:?}", outcome.summary);
                break;
            }
            Err(panic) if panic.is::<Died>() => left = engine.running_attempts(),
            Err(panic) => resume_unwind(panic),
        }
    }
    Rc::try_unwrap(started).unwrap().into_inner()
}

/// Returns the number of a task in the run, by the names of its variables and input.
fn number_of(world: &World, folder: &Path, out: &Path, key: &Key) -> u32 {
    let plan = job_file::parse(&world.text(), &folder.join("j.toml"), folder).unwrap();
    let plan = Store::open(out, &plan, &Opening { resume: true, ..Opening::default() }).unwrap().plan;
    let phase = &plan.phases[key.0];
    let name = |task: u32| {
        let file = phase.input_of(task).and_then(|input| Some(input.file_name()?.to_str()?.to_owned()));
        let values: Vec<&str> = phase.values(task).map(|(_, value)| value).collect();
        file.unwrap_or_else(|| if values.is_empty() { task.to_string() } else { values.join("-") })
    };
    (0..phase.tasks).find(|task| name(*task) == key.1 && !phase.is_withdrawn(*task)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(60, 1500), max_shrink_iters: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_runs_again_is_what_uses_what_has_changed(seed in any::<u64>(), rounds in 1..5_u32, dies in any::<bool>()) {
        let folder = scratch();
        let (folder, out) = (folder.path(), new_folder(folder.path(), "out"));
        let mut world = World::drawn(seed);
        let mut draw = Draw(seed ^ 1);
        let mut made: BTreeMap<Key, u64> = BTreeMap::new();
        for round in 0..=rounds {
            let mut redo = Vec::new();
            for _ in 0..if round == 0 { 0 } else { 1 + draw.below(2) } {
                let before = world.clone();
                let (removed, requested) = world.edit(&mut draw);
                let is_there = |key: &Key| before.signatures().contains_key(key) && made.contains_key(key);
                // Requests come first, so that they name tasks of the run.
                if let Some(key) = removed.filter(is_there) {
                    let number = number_of(&before, folder, &out, &key);
                    _ = fs::remove_dir_all(out.join(format!("p{}/{number}", key.0)));
                }
                if let Some(key) = requested.filter(is_there) {
                    redo.push((key.clone(), format!("p{}/{}", key.0, number_of(&before, folder, &out, &key))));
                }
                world.write_files(folder);
            }
            world.write_files(folder);
            let now = world.signatures();
            redo.retain(|(key, _)| now.contains_key(key));
            let redo: Vec<String> = redo.into_iter().map(|(_, name)| name).collect();
            // A request is lost if the driver dies before it has begun again.
            let deaths: Vec<usize> = (0..if dies && redo.is_empty() { draw.below(4) } else { 0 })
                .map(|_| draw.below(80) as usize)
                .collect();
            let started = run(&world, folder, &out, &redo, &deaths);
            let changed: BTreeSet<&Key> =
                now.iter().filter(|(key, signature)| made.get(*key) != Some(*signature)).map(|(key, _)| key).collect();
            prop_assert_eq!(started.keys().collect::<BTreeSet<_>>(), changed, "round {} of {}", round, world.text());
            if deaths.is_empty() {
                prop_assert!(started.values().all(|count| *count == 1), "{:?}", started);
            }
            made = now;
        }
    }
}

#[test]
fn chains_do_not_wait_for_stragglers_of_their_phase() {
    // One slow task in each phase: with barriers the job takes 30 s, and its longest chain takes 12 s.
    let job = |each: &str| {
        let run = TestRun::on("n1:8").policy("none").behaviour(|launch| {
            let task = launch.attempt.task;
            takes(if task.phase == task.index { 10.0 } else { 1.0 })
        });
        run.phase("trim", 4).phase_with("align", 4, each).phase_with("count", 4, each)
    };
    assert!((job("").run().done().flowtime() - 30.0).abs() < 0.5);
    assert!((job("each = true").run().done().flowtime() - 12.0).abs() < 0.5);
}

#[test]
fn tasks_that_are_left_out_do_not_run_again_and_have_not_failed() {
    let started: Rc<RefCell<Vec<(u32, u32)>>> = Rc::default();
    let starts = Rc::clone(&started);
    let job = TestRun::on("n1:4").policy("none").behaviour(move |launch| {
        let task = launch.attempt.task;
        starts.borrow_mut().push((task.phase, task.index));
        if (task.phase, task.index) == (0, 1) { fails(1.0) } else { takes(1.0) }
    });
    let job = job.phase_with("a", 3, "retries = 0\nallowed_failures = 1").phase_with("b", 3, "each = true");
    let finished = job.phase("c", 1).run();
    let failed: Vec<u32> = finished.outcome.summary.failed_tasks.iter().map(|failed| failed.task).collect();
    assert_eq!((finished.outcome.summary.state, failed), (RunState::Done, vec![1]));
    assert_eq!(started.take(), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 2), (2, 0)]);
    for _ in 0..2 {
        let again = finished.place.run();
        let failed: Vec<u32> = again.summary.failed_tasks.iter().map(|failed| failed.task).collect();
        assert_eq!((again.summary.state, failed, started.take()), (RunState::Done, vec![1], vec![]));
    }
}
