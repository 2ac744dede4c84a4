//! `hindmost advise`: what the jobs of logs spent their time on, and why their stragglers were slow.

mod forecasts;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use hindmost_core::metrics::{Diagnosis, DiagnosisTotal};
use hindmost_report::diagnosis as report;
use hindmost_report::text::{counted, escaped, indented};
use hindmost_trace::table::Columns;
use hindmost_trace::{TraceSummary, any};
use serde::Serialize;

use crate::cli::AdviseArgs;
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::terminal;

/// The most applications that are shown one by one. The JSON document has all.
const SHOWN: usize = 20;

/// What `--json` prints.
#[derive(Serialize)]
pub struct Advice {
    /// All applications together.
    pub total: DiagnosisTotal,
    /// The logs, in the order of the arguments.
    pub logs: Vec<LogAdvice>,
    /// Logs that can't be read.
    pub unread: Vec<Unread>,
}

/// What is said about one log.
#[derive(Serialize)]
pub struct LogAdvice {
    /// Path of the log.
    pub log: String,
    /// What the log holds.
    pub summary: TraceSummary,
    /// Its applications; for a Hadoop log its jobs, for a journal the run.
    pub applications: Vec<Diagnosis>,
}

/// A log that can't be read.
#[derive(Serialize)]
pub struct Unread {
    /// Path of the log.
    pub log: String,
    /// Why it can't be read.
    pub error: String,
}

/// Runs the command.
pub fn run(args: &AdviseArgs) -> Outcome {
    let mut advice = read(&args.logs, &args.columns);
    if advice.logs.is_empty() {
        let why: Vec<String> = advice.unread.iter().map(|unread| unread.error.clone()).collect();
        return Err(Failure::input(why.join("\n")));
    }
    forecasts::add(&mut advice.logs, args.forecasts)?;
    for unread in &advice.unread {
        eprintln!("left out: {}", escaped(&unread.error));
    }
    if let Some(folder) = &args.out {
        write(folder, &advice)?;
    }
    if args.json {
        return terminal::print_json(&advice);
    }
    terminal::print(&text(&advice, terminal::width()))
}

/// Reads all logs, several at a time.
fn read(logs: &[PathBuf], columns: &Columns) -> Advice {
    let logs = each(logs);
    let bar = Mutex::new(Progress::new(logs.len() as f64, "reading logs"));
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<Option<Result<LogAdvice, Unread>>>> = Mutex::new(logs.iter().map(|_| None).collect());
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(logs.len().max(1));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(log) = logs.get(at) else { return };
                    let read = read_one(log, columns);
                    if let Ok(mut found) = found.lock() {
                        found[at] = Some(read);
                    }
                    if let Ok(bar) = bar.lock() {
                        bar.advance(1.0);
                    }
                }
            });
        }
    });
    if let Ok(bar) = bar.lock() {
        bar.finish(true);
    }
    let found = found.into_inner().unwrap_or_default();
    let (mut advice, mut unread) = (Vec::new(), Vec::new());
    for one in found.into_iter().flatten() {
        match one {
            Ok(log) => advice.push(log),
            Err(log) => unread.push(log),
        }
    }
    let all = advice.iter().flat_map(|log| &log.applications);
    let total = DiagnosisTotal::of(all);
    Advice { total, logs: advice, unread }
}

fn read_one(log: &Path, columns: &Columns) -> Result<LogAdvice, Unread> {
    let name = log.display().to_string();
    match any::diagnose_with(log, columns, None) {
        Ok((summary, _, applications)) => Ok(LogAdvice { log: name, summary, applications }),
        Err(error) => Err(Unread { log: name, error: error.to_string() }),
    }
}

/// Returns the logs themselves: a folder that is no log is replaced by what is in it.
fn each(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for path in paths {
        match path.is_dir().then(|| any::parts(path)) {
            Some(parts) if !parts.is_empty() => all.extend(each(&parts)),
            _ => all.push(path.clone()),
        }
    }
    all
}

fn text(advice: &Advice, width: u16) -> String {
    let mut all: Vec<(&LogAdvice, &Diagnosis)> =
        advice.logs.iter().flat_map(|log| log.applications.iter().map(move |one| (log, one))).collect();
    let mut text = String::new();
    if all.len() > 1 {
        text += &report::total(&advice.total, width);
        text += "\n";
        let wall = |one: &Diagnosis| one.wall_time.as_ref().map_or(0.0, |time| time.seconds);
        all.sort_by(|a, b| wall(b.1).total_cmp(&wall(a.1)));
    }
    let shown: Vec<String> = all.iter().take(SHOWN).map(|(log, one)| of_one(log, one, width)).collect();
    text += &shown.join("\n");
    if let Some(more) = all.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        text += &format!("\n… and {}: --json and --out DIR have all\n", counted(more as u64, "more application"));
    }
    text
}

fn of_one(log: &LogAdvice, one: &Diagnosis, width: u16) -> String {
    let mut warnings = String::new();
    if log.applications.len() == 1 {
        for warning in &log.summary.warnings {
            warnings += &indented("  warning: ", &escaped(warning), usize::from(width).max(40));
        }
    }
    format!("{}\n{}{warnings}", escaped(&log.log), report::text(one, width))
}

/// Writes a text for each log, and everything as JSON.
fn write(folder: &Path, advice: &Advice) -> Outcome {
    let failed = |path: &Path, error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", path.display()));
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    let json = folder.join("advice.json");
    let document = serde_json::to_string_pretty(advice).map_err(|error| failed(&json, &error))?;
    fs::write(&json, document + "\n").map_err(|error| failed(&json, &error))?;
    for (number, log) in advice.logs.iter().enumerate() {
        let name = Path::new(&log.log).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let path = folder.join(format!("{}-{name}.txt", number + 1));
        let texts: Vec<String> = log.applications.iter().map(|one| of_one(log, one, 100)).collect();
        fs::write(&path, texts.join("\n")).map_err(|error| failed(&path, &error))?;
    }
    Ok(())
}
