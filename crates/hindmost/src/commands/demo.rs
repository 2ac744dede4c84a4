//! `hindmost demo`: runs a real job with one slow node twice, without Hindmost and with it.
//!
//! The demo generates text and counts its words twice, with the same job file on the same nodes. One node is slowed in
//! both runs. The first run starts one copy of each task, the second one uses the default policy.

mod job;
mod shown;
mod text;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hindmost_core::metrics::{PhaseProgress, RunState, RunSummary};
use hindmost_math::plain::Plain;
use hindmost_policies::catalogue::spec::PolicySpec;
use hindmost_report::text::escaped;
use hindmost_run::chaos::Chaos;
use hindmost_run::driver::{Follower, RunOptions, RunOutcome, Unfollowed};
use hindmost_run::job_file::{self, Plan};
use hindmost_run::store::Opening;
use serde::Serialize;

use super::run::run_plan;
use crate::cli::DemoArgs;
use crate::engines::{Chosen, temporary_place};
use crate::failure::{Failure, Outcome};
use crate::race::{NodeLoad, Race, Side};
use crate::{files, stop, terminal};
use job::{FILES, NODES};
use text::Language;

/// Largest factor by which a node may be slowed, as in `--chaos`.
const MOST_SLOWED: f64 = 1000.0;

/// Generates the text, counts its words twice, and prints both results.
pub fn run(args: &DemoArgs) -> Outcome {
    if !(1.0..=MOST_SLOWED).contains(&args.slow) {
        let slow = Plain(args.slow);
        return Err(Failure::input(format!("--slow {slow}: give a number from 1 to {MOST_SLOWED}")));
    }
    // From here on Ctrl-C does not end the process at once, so that the folder can be removed.
    let presses = stop::presses();
    let mut engine = Chosen::of(&args.engine, None, Some(&job::nodes(&NODES.map(str::to_owned))), None, &|_| true)?;
    if engine.is_shared() {
        engine.take(NODES.len())?;
        engine.set_cpus(1.0);
    }
    let folder = Folder::new(args.out.as_deref(), &temporary_place(engine.is_shared()))?;
    let outcome = demonstrate(args, &engine, &folder.path, presses);
    if args.out.is_some() && matches!(outcome, Err(Failure::Interrupted)) {
        // An interrupted demo leaves no files.
        files::empty(&folder.path);
    }
    outcome
}

fn demonstrate(args: &DemoArgs, engine: &Chosen, folder: &Path, presses: &std::sync::atomic::AtomicU32) -> Outcome {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let language = Language::new();
    let nodes: Vec<String> = engine.nodes.iter().map(|node| node.name.clone()).collect();
    let slow = nodes.last().cloned().unwrap_or_default();
    let bytes = job::file_size(args.slow, &language, &folder.join("sample"), presses)?;
    if !args.json {
        terminal::print(&shown::introduction(args.slow, bytes, (!engine.is_shared()).then_some(cores), &nodes))?;
    }
    let counts = job::write_text(&language, bytes, &folder.join("text"), cores, presses)?;
    let path = folder.join("job.toml");
    files::write(&path, &job::file(args.slow, &nodes))?;
    let plan = job_file::load(&path).map_err(Failure::work)?;

    let race = (!args.json).then(|| Race::new("without", "with"));
    let lap = |side, name: &str, policy: Option<&str>| {
        let policy: Option<PolicySpec> = policy.map(|name| name.parse().map_err(Failure::work)).transpose()?;
        let chaos = Chaos { slow: vec![(slow.clone(), args.slow)], ..Chaos::default() };
        let options = RunOptions { policy, chaos, ..RunOptions::default() };
        match &race {
            Some(race) => {
                let slow = (args.slow > 1.0).then_some(slow.as_str());
                lap_of(&plan, &options, engine.clone(), (folder, name), &mut Lap { race, side, slow })
            }
            None => lap_of(&plan, &options, engine.clone(), (folder, name), &mut Unfollowed),
        }
    };
    let without = lap(Side::Left, "without", Some("none"))?;
    let with = lap(Side::Right, "with", None)?;
    if let Some(race) = &race {
        race.finish();
    }

    let result = |name: &str| {
        let path = folder.join(name).join(job::RESULT);
        fs::read(&path).map_err(|error| Failure::work(format!("cannot read the result {}: {error}", path.display())))
    };
    let (first, second) = (result("without")?, result("with")?);
    let right = first == counts.result().as_bytes();
    let equal = right && first == second;
    // The results decide the exit code, even if stdout is closed.
    let printed = if args.json {
        terminal::print_json(&Document {
            slowed: Slowed { node: slow.clone(), factor: args.slow, how: shown::how(args.slow) },
            cores,
            text: Text { files: FILES, bytes_each: bytes, words: counts.words(), different: counts.different() },
            ratio: without.summary.flowtime / with.summary.flowtime,
            results_equal: equal,
            without: without.summary,
            with: with.summary,
            out: args.out.as_deref(),
        })
    } else {
        let mut text = shown::comparison(&without, &with);
        if equal {
            text += &shown::equal_results(&counts);
        }
        text += &shown::farewell(args.out.as_deref(), &with.timeline);
        terminal::print(&text)
    };
    if equal {
        return printed;
    }
    let what = match (right, first == second) {
        (false, true) => "both runs have the same result, but it differs from a count in memory",
        (true, _) => "the result with Hindmost differs from the result without it",
        (false, false) => "the results of the two runs differ, and the one without Hindmost is wrong",
    };
    let keep = if args.out.is_some() { "" } else { "; --out DIR keeps the files" };
    Err(Failure::work(format!("{what}: this is a bug, please report it{keep}")))
}

/// Runs the job once, in the folder `name`.
///
/// # Errors
/// If the run fails or is interrupted.
fn lap_of(
    plan: &Plan,
    options: &RunOptions,
    engine: Chosen,
    (folder, name): (&Path, &str),
    follower: &mut dyn Follower,
) -> Outcome<RunOutcome> {
    let outcome = run_plan(plan, options, &folder.join(name), Opening::default(), engine, follower)?;
    match outcome.summary.state {
        RunState::Done => Ok(outcome),
        RunState::Abandoned => Err(Failure::work(format!("the policy abandoned the run {name} Hindmost"))),
        RunState::Interrupted => Err(Failure::Interrupted),
        RunState::Failed => {
            let mut message = format!("the run {name} Hindmost failed:");
            for task in &outcome.summary.failed_tasks {
                message += &format!("\n  {}/{}: {}", task.phase, task.task, escaped(&task.reason));
                for line in task.stderr.lines() {
                    message += &format!("\n    {}", escaped(line));
                }
            }
            Err(Failure::work(message))
        }
    }
}

/// Shows the progress of one of the two runs.
struct Lap<'a> {
    race: &'a Race,
    side: Side,
    /// Name of the slow node, if there is one.
    slow: Option<&'a str>,
}

impl Follower for Lap<'_> {
    fn phases(&mut self, phases: &[PhaseProgress], elapsed: Duration) {
        self.race.update(self.side, phases, elapsed);
    }

    fn nodes(&mut self, running: &[(String, u64)]) {
        let load = |(name, running): &(String, u64)| NodeLoad {
            name: name.clone(),
            running: *running,
            slowed: self.slow == Some(name),
        };
        self.race.nodes(&running.iter().map(load).collect::<Vec<_>>());
    }

    fn message(&mut self, line: &str) {
        self.race.message(line);
    }
}

/// The folder of all files of the demo. It is removed at the end, unless the user has named it.
struct Folder {
    path: PathBuf,
    temporary: bool,
}

impl Folder {
    fn new(out: Option<&Path>, parent: &Path) -> Outcome<Folder> {
        if let Some(out) = out {
            files::new_folder(out)?;
            return Ok(Folder { path: out.to_owned(), temporary: false });
        }
        let mut number = 0_u16;
        loop {
            let path = parent.join(format!("hindmost-demo-{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Folder { path, temporary: true }),
                // A demo that was killed has left the folder of this name.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < u16::MAX => number += 1,
                Err(error) => {
                    return Err(Failure::work(format!(
                        "cannot create {}: {error}; --out DIR names another folder",
                        path.display()
                    )));
                }
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.temporary
            && let Err(error) = fs::remove_dir_all(&self.path)
        {
            use std::io::Write as _;
            let _ = writeln!(io::stderr(), "the folder {} could not be removed: {error}", self.path.display());
        }
    }
}

/// The JSON document of `--json`.
#[derive(Serialize)]
struct Document<'a> {
    slowed: Slowed,
    /// Number of cores that the nodes share.
    cores: usize,
    text: Text,
    without: RunSummary,
    with: RunSummary,
    /// Flowtime without Hindmost divided by flowtime with it.
    ratio: f64,
    /// True if both results equal the result of a count in memory.
    results_equal: bool,
    out: Option<&'a Path>,
}

#[derive(Serialize)]
struct Slowed {
    node: String,
    factor: f64,
    how: String,
}

#[derive(Serialize)]
struct Text {
    files: u64,
    bytes_each: usize,
    words: u64,
    different: u64,
}
