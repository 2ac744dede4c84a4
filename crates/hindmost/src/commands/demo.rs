//! `hindmost demo`: a real job with one slow node, without Hindmost and with it.
//!
//! Text is made, and its words are counted twice by the same job file on the same nodes, one of which is
//! slowed in both runs: once with one copy of each task, once with the default policy.

mod text;

use std::fs;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use hindmost_core::metrics::{PhaseProgress, RunState, RunSummary};
use hindmost_core::policy::spec::PolicySpec;
use hindmost_core::timeline::{AttemptEnd, Timeline, TimelineRow};
use hindmost_report::run::side_by_side;
use hindmost_report::text::{counted, duration, grouped, percent, wrapped};
use hindmost_run::chaos::Chaos;
use hindmost_run::driver::{Follower, RunOptions, RunOutcome, Unfollowed};
use hindmost_run::engine::parse_nodes;
use hindmost_run::job_file::{self, Plan};
use serde::Serialize;

use super::run::{Resume, chart, run_plan};
use crate::cli::DemoArgs;
use crate::failure::{Failure, Outcome};
use crate::race::{NodeLoad, Race, Side};
use crate::{files, stop, terminal};
use text::{Counts, Language};

/// Files of text, one task each: two waves on the nodes that are not slow.
const FILES: u64 = 6;
const NODES: [&str; 4] = ["n1", "n2", "n3", "n4"];
/// The node that is slowed.
const SLOW: &str = NODES[3];
/// The most that it may be slowed by, as in rehearsals.
const MOST_SLOWED: f64 = 1000.0;
/// How long a task shall take on a node of its own, seconds, at most and at least: short enough to be
/// watched, long enough for it to be seen that one lags.
const TASK_SECONDS: [f64; 2] = [1.2, 0.3];
/// What a task on the slow node shall take, seconds, as long as tasks are not too short for it.
const SLOW_TASK_SECONDS: f64 = 9.6;
/// Text on which it is measured how fast this machine counts.
const SAMPLE: usize = 2_000_000;
const MEGABYTE: f64 = 1e6;
/// The least and the most megabytes of a file.
const FILE_MEGABYTES: [f64; 2] = [1.0, 32.0];
/// Megabytes of a file if that is not to be measured: for tests.
const MEGABYTES_VARIABLE: &str = "HINDMOST_DEMO_MEGABYTES";
/// Columns beyond which sentences are hard to read.
const SENTENCE: u16 = 100;
/// Copies that are told one by one.
const COPIES_TOLD: usize = 3;

const MAP: &str = r#"awk '
    {
        for (i = 1; i <= NF; i++) {
            word = tolower($i)
            gsub(/[^a-z]/, "", word)
            if (word != "") count[word]++
        }
    }
    END { for (word in count) print word, count[word] }
' < "$HINDMOST_INPUT" > "$HINDMOST_OUTPUT/counts""#;
const REDUCE: &str = r#"cat "$HINDMOST_FROM"/map/*/counts |
    awk '{ count[$1] += $2 } END { for (word in count) print word, count[word] }' |
    sort -k2,2nr -k1,1 > "$HINDMOST_OUTPUT/result""#;

/// Makes the text, counts its words twice, and tells what came of it.
pub fn run(args: &DemoArgs) -> Outcome {
    if !(1.0..=MOST_SLOWED).contains(&args.slow) {
        let slow = args.slow;
        return Err(Failure::input(format!("--slow {slow}: give a number from 1 to {MOST_SLOWED}")));
    }
    let folder = Folder::new(args.out.as_deref())?;
    let outcome = demonstrate(args, &folder);
    if args.out.is_some() && matches!(outcome, Err(Failure::Interrupted)) {
        // Nothing of a run that did not come to its end stays.
        files::empty(&folder.path);
    }
    outcome
}

fn demonstrate(args: &DemoArgs, folder: &Folder) -> Outcome {
    let presses = stop::presses();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let language = Language::new();
    let bytes = file_size(args.slow, &language, &folder.path.join("sample"), presses)?;
    if !args.json {
        let text = introduction(args.slow, bytes, cores);
        terminal::print(&(wrapped(&text, usize::from(terminal::width().min(SENTENCE)), 0) + "\n"))?;
    }
    let counts = write_text(&language, bytes, &folder.path.join("text"), cores, presses)?;
    let job = folder.path.join("job.toml");
    files::write(&job, &job_file(args.slow))?;
    let plan = job_file::load(&job).map_err(Failure::work)?;

    let race = (!args.json).then(|| Race::new("without", "with"));
    let lap = |side, name: &str, policy: Option<&str>| {
        let policy: Option<PolicySpec> = policy.map(|name| name.parse().map_err(Failure::work)).transpose()?;
        let chaos = Chaos { slow: vec![(SLOW.to_owned(), args.slow)], ..Chaos::default() };
        let options = RunOptions { policy, chaos, ..RunOptions::default() };
        match &race {
            Some(race) => {
                let mut shown = Lap { race, side, slowed: args.slow > 1.0 };
                lap_of(&plan, &options, &folder.path, name, &mut shown)
            }
            None => lap_of(&plan, &options, &folder.path, name, &mut Unfollowed),
        }
    };
    let without = lap(Side::Left, "without", Some("none"))?;
    let with = lap(Side::Right, "with", None)?;
    if let Some(race) = &race {
        race.finish();
    }

    let result = |name: &str| {
        let path = folder.path.join(name).join("reduce/0/result");
        fs::read(&path).map_err(|error| Failure::work(format!("{}: {error}", path.display())))
    };
    let (first, second) = (result("without")?, result("with")?);
    let right = first == counts.result().as_bytes();
    let equal = right && first == second;
    if args.json {
        let how = if args.slow > 1.0 {
            format!("its processes are stopped and continued in turn, and run {} of the time", percent(1.0 / args.slow))
        } else {
            "not at all".to_owned()
        };
        terminal::print_json(&Document {
            slowed: Slowed { node: SLOW, factor: args.slow, how },
            cores,
            text: Text { files: FILES, bytes_each: bytes, words: counts.words(), different: counts.different() },
            ratio: without.summary.flowtime / with.summary.flowtime,
            results_equal: equal,
            without: without.summary,
            with: with.summary,
            out: args.out.as_deref(),
        })?;
    } else {
        let mut text = comparison(&without, &with);
        if equal {
            text += &paragraph(&format!(
                "Both results are the same to the last byte, and what a count in memory gives: {}, {} of them different.",
                counted(counts.words(), "word"),
                grouped(counts.different())
            ));
        }
        text += &farewell(args.out.as_deref(), &with.timeline);
        terminal::print(&text)?;
    }
    if equal {
        return Ok(());
    }
    let what = match (right, first == second) {
        (false, true) => "both results are the same, but not what a count in memory gives",
        (true, _) => "the result with Hindmost differs from the one without it",
        (false, false) => "the results of the two runs differ, and the one without Hindmost is wrong",
    };
    let keep = if args.out.is_some() { "" } else { "; --out DIR keeps the files" };
    Err(Failure::work(format!("{what}: please report it{keep}")))
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
        for number in 0..u32::from(u16::MAX) {
            let path = parent.join(format!("hindmost-demo-{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Folder { path, temporary: true }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(Failure::work(format!("{}: {error}; --out DIR names another folder", path.display())));
                }
            }
        }
        Err(Failure::work(format!("{}: no folder can be made here; --out DIR names another one", parent.display())))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.temporary
            && let Err(error) = fs::remove_dir_all(&self.path)
        {
            use std::io::Write as _;
            let _ = writeln!(std::io::stderr(), "{} could not be removed: {error}", self.path.display());
        }
    }
}

/// Bytes of a file that takes a task as long as it shall take on this machine.
fn file_size(slow: f64, language: &Language, folder: &Path, presses: &AtomicU32) -> Outcome<usize> {
    let set = std::env::var(MEGABYTES_VARIABLE).ok().and_then(|text| text.parse::<f64>().ok());
    if let Some(megabytes) = set.filter(|megabytes| *megabytes > 0.0) {
        return Ok((megabytes.min(FILE_MEGABYTES[1]) * MEGABYTE) as usize);
    }
    let seconds = (SLOW_TASK_SECONDS / slow).clamp(TASK_SECONDS[1], TASK_SECONDS[0]);
    let measured = measure(language, folder, presses);
    let removed = fs::remove_dir_all(folder);
    let speed = measured?;
    removed?;
    Ok(((seconds * speed / MEGABYTE).round().clamp(FILE_MEGABYTES[0], FILE_MEGABYTES[1]) * MEGABYTE) as usize)
}

/// Bytes a second that a task reads here. Runs both commands, so that a tool that is missing is found at
/// once.
fn measure(language: &Language, folder: &Path, presses: &AtomicU32) -> Outcome<f64> {
    let (map, input) = (folder.join("map/0"), folder.join("sample.txt"));
    fs::create_dir_all(&map)?;
    let mut file = BufWriter::new(fs::File::create(&input)?);
    text::write(language, 0, SAMPLE, &mut file, presses)?.ok_or(Failure::Interrupted)?;
    file.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    // The first time also reads the tools from the disk.
    let mut took = Duration::MAX;
    for _ in 0..2 {
        took = took.min(timed(MAP, &[("HINDMOST_INPUT", &input), ("HINDMOST_OUTPUT", &map)], presses)?);
    }
    timed(REDUCE, &[("HINDMOST_FROM", folder), ("HINDMOST_OUTPUT", &map)], presses)?;
    Ok(SAMPLE as f64 / took.as_secs_f64().max(1e-3))
}

fn timed(command: &str, variables: &[(&str, &Path)], presses: &AtomicU32) -> Outcome<Duration> {
    let begun = Instant::now();
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).env("LC_ALL", "C").envs(variables.iter().copied()).stdin(Stdio::null());
    let output = shell.output().map_err(|error| Failure::work(format!("the demo's tasks need /bin/sh: {error}")))?;
    if presses.load(Ordering::Relaxed) > 0 {
        return Err(Failure::Interrupted);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(Failure::work(format!(
            "the demo's tasks need awk and sort, which fail here ({}): {}",
            output.status,
            stderr.trim()
        )));
    }
    Ok(begun.elapsed())
}

/// Writes the files and counts their words.
fn write_text(
    language: &Language,
    bytes: usize,
    folder: &Path,
    threads: usize,
    presses: &AtomicU32,
) -> Outcome<Counts> {
    files::folder(folder)?;
    let one = |file: u64| -> Outcome<Counts> {
        let path = folder.join(format!("{file}.txt"));
        let failed = |error| Failure::work(format!("{}: {error}", path.display()));
        let mut out = BufWriter::new(fs::File::create(&path).map_err(failed)?);
        let counts = text::write(language, file, bytes, &mut out, presses).map_err(failed)?;
        out.into_inner().map_err(|error| failed(error.into_error()))?;
        counts.ok_or(Failure::Interrupted)
    };
    let threads = (threads as u64).min(FILES);
    let mut all = Counts::default();
    std::thread::scope(|scope| -> Outcome {
        let of_thread = |first: u64| (first..=FILES).step_by(threads as usize).map(one).collect::<Vec<_>>();
        let writers: Vec<_> = (1..=threads).map(|first| scope.spawn(move || of_thread(first))).collect();
        for writer in writers {
            let written = writer.join().map_err(|_| Failure::work("the text could not be made"))?;
            for counts in written {
                all.merge(&counts?);
            }
        }
        Ok(())
    })?;
    Ok(all)
}

fn job_file(slow: f64) -> String {
    let nodes: Vec<String> = NODES.iter().map(|name| format!("{name}:1")).collect();
    format!(
        "# The job of `hindmost demo`. Once more, with the slow node:\n\
         #     hindmost run job.toml --chaos slow={SLOW}:{slow}\n\
         name = \"wordcount\"\n\
         nodes = \"{}\"\n\
         environment = {{ LC_ALL = \"C\" }}\n\
         \n\
         # Counts the words of one file.\n\
         [[phase]]\n\
         name = \"map\"\n\
         inputs = \"text/*.txt\"\n\
         command = '''\n\
         {MAP}\n\
         '''\n\
         \n\
         # Adds up what was counted in all files, the most frequent words first.\n\
         [[phase]]\n\
         name = \"reduce\"\n\
         after = [\"map\"]\n\
         tasks = 1\n\
         command = '''\n\
         {REDUCE}\n\
         '''\n",
        nodes.join(",")
    )
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
    let outcome = run_plan(plan, options, &folder.join(name), Resume::No, nodes, follower)?;
    match outcome.summary.state {
        RunState::Done => Ok(outcome),
        RunState::Interrupted => Err(Failure::Interrupted),
        RunState::Failed => {
            let mut message = format!("the run {name} Hindmost failed");
            for task in &outcome.summary.failed_tasks {
                message += &format!("; {}/{}: {}: {}", task.phase, task.task, task.reason, task.stderr.trim());
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
        let sum = |of: fn(&PhaseProgress) -> u64| phases.iter().map(of).sum();
        self.race.update(
            self.side,
            sum(|phase| phase.finished),
            sum(|phase| phase.tasks),
            elapsed,
            sum(|phase| phase.copies_started),
            sum(|phase| phase.copies_won),
        );
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

fn introduction(slow: f64, bytes: usize, cores: usize) -> String {
    let slowed = if slow > 1.0 {
        format!(
            "{SLOW} is slow: what runs there takes {slow} times as long, because its processes are stopped and \
             continued in turn and run only {} of the time.",
            percent(1.0 / slow)
        )
    } else {
        "None of them is slowed.".to_owned()
    };
    format!(
        "Counting the words of {FILES} files of {} MB: one task a file, then one that adds up. The nodes {} have one \
         cpu each and share the {} of this machine. {slowed} The job runs twice: first without Hindmost, then with it.",
        bytes as f64 / MEGABYTE,
        NODES.join(", "),
        counted(cores as u64, "core"),
    )
}

fn paragraph(text: &str) -> String {
    format!("\n{}\n", wrapped(text, usize::from(terminal::width().min(SENTENCE)), 0))
}

/// Both runs, drawn on one axis and in numbers.
fn comparison(without: &RunOutcome, with: &RunOutcome) -> String {
    let until = without.timeline.end.max(with.timeline.end).seconds();
    let mut text = String::new();
    for (title, outcome) in [("without Hindmost", without), ("with Hindmost", with)] {
        text += &format!("{title}: {}\n{}\n", duration(outcome.summary.flowtime), chart(outcome, Some(until)));
    }
    text += &side_by_side(("without", &without.summary), ("with", &with.summary), terminal::width());
    text + &paragraph(&copies(&with.timeline))
}

/// What became of the copies, in words.
fn copies(timeline: &Timeline) -> String {
    let redundant = || timeline.rows.iter().filter(|row| row.redundant);
    let mut told: Vec<String> = redundant().take(COPIES_TOLD).map(|row| copy(timeline, row)).collect();
    let more = redundant().count() - told.len();
    if more > 0 {
        told.push(format!("There were {more} more."));
    }
    if told.is_empty() { "No task lagged so much that a copy was worth it.".to_owned() } else { told.join(" ") }
}

fn copy(timeline: &Timeline, row: &TimelineRow) -> String {
    let task = format!("{}/{}", timeline.phase_name(row.attempt.task), row.attempt.task.index);
    let (node, after) = (timeline.node_name(row.node), duration(row.start.seconds()));
    let earlier = timeline.attempts_of(row.attempt.task).take_while(|other| other.attempt != row.attempt).last();
    let first = earlier.map_or("?", |earlier| timeline.node_name(earlier.node));
    let moved = earlier.is_some_and(|earlier| earlier.end <= row.start);
    let ended = match row.outcome {
        AttemptEnd::Won => format!("was done {} later", duration((row.end - row.start).seconds())),
        _ => "was not needed in the end".to_owned(),
    };
    if moved {
        return format!("After {after} task {task}, which lagged behind on {first}, was moved to {node} and {ended}.");
    }
    format!("After {after} a copy of task {task}, which lagged behind on {first}, was started on {node} and {ended}.")
}

/// Where the files are, and what to try next.
fn farewell(out: Option<&Path>, with: &Timeline) -> String {
    let mut text = match out {
        None => paragraph("The files were temporary and are removed; --out DIR keeps them."),
        Some(out) => {
            let out = out.display();
            let task = with.rows.iter().find(|row| row.redundant).map(|row| row.attempt.task);
            let why = task.map(|task| {
                format!("\nhindmost explain {out}/with {}/{} tells why.", with.phase_name(task), task.index)
            });
            format!("\nText, job file and both runs are in {out}.{}\n", why.unwrap_or_default())
        }
    };
    text += "\nNext:\n";
    text += "  hindmost run examples/wordcount/job.toml   a job file to begin with\n";
    text += "  hindmost simulate                          policies on a simulated cluster\n";
    text
}
