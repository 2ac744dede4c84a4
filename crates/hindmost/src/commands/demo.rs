//! `hindmost demo`: a real job with one slow node, without Hindmost and with it.
//!
//! Text is made, and its words are counted twice by the same job file on the same nodes, one of which is
//! slowed in both runs: once with one copy of each task, once with the default policy.

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
use hindmost_run::engine::parse_nodes;
use hindmost_run::job_file::{self, Plan};
use hindmost_run::store::Opening;
use serde::Serialize;

use super::run::run_plan;
use crate::cli::DemoArgs;
use crate::failure::{Failure, Outcome};
use crate::race::{NodeLoad, Race, Side};
use crate::{files, stop, terminal};
use job::{FILES, SLOW};
use text::Language;

/// The most that a node may be slowed by, as in rehearsals.
const MOST_SLOWED: f64 = 1000.0;

/// Makes the text, counts its words twice, and tells what came of it.
pub fn run(args: &DemoArgs) -> Outcome {
    if !(1.0..=MOST_SLOWED).contains(&args.slow) {
        let slow = Plain(args.slow);
        return Err(Failure::input(format!("--slow {slow}: give a number from 1 to {MOST_SLOWED}")));
    }
    // Whatever is left half done from here on is tidied up.
    let presses = stop::presses();
    let folder = Folder::new(args.out.as_deref())?;
    let outcome = demonstrate(args, &folder.path, presses);
    if args.out.is_some() && matches!(outcome, Err(Failure::Interrupted)) {
        // Nothing of a demo that did not come to its end stays.
        files::empty(&folder.path);
    }
    outcome
}

fn demonstrate(args: &DemoArgs, folder: &Path, presses: &std::sync::atomic::AtomicU32) -> Outcome {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let language = Language::new();
    let bytes = job::file_size(args.slow, &language, &folder.join("sample"), presses)?;
    if !args.json {
        terminal::print(&shown::introduction(args.slow, bytes, cores))?;
    }
    let counts = job::write_text(&language, bytes, &folder.join("text"), cores, presses)?;
    let path = folder.join("job.toml");
    files::write(&path, &job::file(args.slow))?;
    let plan = job_file::load(&path).map_err(Failure::work)?;

    let race = (!args.json).then(|| Race::new("without", "with"));
    let lap = |side, name: &str, policy: Option<&str>| {
        let policy: Option<PolicySpec> = policy.map(|name| name.parse().map_err(Failure::work)).transpose()?;
        let chaos = Chaos { slow: vec![(SLOW.to_owned(), args.slow)], ..Chaos::default() };
        let options = RunOptions { policy, chaos, ..RunOptions::default() };
        match &race {
            Some(race) => lap_of(&plan, &options, folder, name, &mut Lap { race, side, slowed: args.slow > 1.0 }),
            None => lap_of(&plan, &options, folder, name, &mut Unfollowed),
        }
    };
    let without = lap(Side::Left, "without", Some("none"))?;
    let with = lap(Side::Right, "with", None)?;
    if let Some(race) = &race {
        race.finish();
    }

    let result = |name: &str| {
        let path = folder.join(name).join(job::RESULT);
        fs::read(&path).map_err(|error| Failure::work(format!("{}: {error}", path.display())))
    };
    let (first, second) = (result("without")?, result("with")?);
    let right = first == counts.result().as_bytes();
    let equal = right && first == second;
    // Whether anybody reads it or not: how this ends is decided by the results.
    let printed = if args.json {
        terminal::print_json(&Document {
            slowed: Slowed { node: SLOW, factor: args.slow, how: shown::how(args.slow) },
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
        (false, true) => "both results are the same, but not what a count in memory gives",
        (true, _) => "the result with Hindmost differs from the one without it",
        (false, false) => "the results of the two runs differ, and the one without Hindmost is wrong",
    };
    let keep = if args.out.is_some() { "" } else { "; --out DIR keeps the files" };
    Err(Failure::work(format!("{what}: please report it{keep}")))
}

/// One of the two runs. An error if it does not come to its end.
fn lap_of(
    plan: &Plan,
    options: &RunOptions,
    folder: &Path,
    name: &str,
    follower: &mut dyn Follower,
) -> Outcome<RunOutcome> {
    let nodes = parse_nodes(plan.nodes.as_deref()).map_err(Failure::work)?;
    let outcome = run_plan(plan, options, &folder.join(name), Opening::default(), nodes, true, follower)?;
    match outcome.summary.state {
        RunState::Done => Ok(outcome),
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

/// Shows one of the two runs.
struct Lap<'a> {
    race: &'a Race,
    side: Side,
    slowed: bool,
}

impl Follower for Lap<'_> {
    fn phases(&mut self, phases: &[PhaseProgress], elapsed: Duration) {
        self.race.update(self.side, phases, elapsed);
    }

    fn nodes(&mut self, running: &[(String, u64)]) {
        let load = |(name, running): &(String, u64)| NodeLoad {
            name: name.clone(),
            running: *running,
            slowed: self.slowed && name == SLOW,
        };
        self.race.nodes(&running.iter().map(load).collect::<Vec<_>>());
    }

    fn message(&mut self, line: &str) {
        self.race.message(line);
    }
}

/// The folder in which everything is, removed at the end unless the user has named it.
struct Folder {
    path: PathBuf,
    temporary: bool,
}

impl Folder {
    fn new(out: Option<&Path>) -> Outcome<Folder> {
        if let Some(out) = out {
            files::new_folder(out)?;
            return Ok(Folder { path: out.to_owned(), temporary: false });
        }
        let parent = std::env::temp_dir();
        let mut number = 0_u16;
        loop {
            let path = parent.join(format!("hindmost-demo-{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Folder { path, temporary: true }),
                // Left by a demo that was killed.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < u16::MAX => number += 1,
                Err(error) => {
                    return Err(Failure::work(format!("{}: {error}; --out DIR names another folder", path.display())));
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
            let _ = writeln!(io::stderr(), "{} could not be removed: {error}", self.path.display());
        }
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    slowed: Slowed,
    /// Cores that the nodes share.
    cores: usize,
    text: Text,
    without: RunSummary,
    with: RunSummary,
    /// Time without Hindmost by time with it.
    ratio: f64,
    /// True if both results are the same and what a count in memory gives.
    results_equal: bool,
    out: Option<&'a Path>,
}

#[derive(Serialize)]
struct Slowed {
    node: &'static str,
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
