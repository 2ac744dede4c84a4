//! `hindmost advise`: what the jobs of logs spent their time on, and why their stragglers were slow.

mod forecasts;
mod gathering;
mod side_by_side;
mod spool;
mod texts;

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use hindmost_report::diagnosis as report;
use hindmost_report::html::{ApplicationPage, ApplicationsPage, Step, application_page, applications_page};
use hindmost_report::text::{counted, escaped};
use hindmost_trace::log;

use crate::cli::AdviseArgs;
use crate::failure::{Failure, Outcome};
use crate::{files, terminal};

use super::report::of_tables;
use gathering::{Gathered, Repeated};
use texts::{REPORT, of_one, said};

/// The most applications that are shown one by one. The JSON document has all.
const SHOWN: usize = 20;
/// The most logs that can't be read that are named on standard error. The JSON document has all.
const NAMED: usize = 20;
/// The document with everything.
const DOCUMENT: &str = "advice.json";

/// Runs the command.
pub fn run(args: &AdviseArgs) -> Outcome {
    let logs = each(&args.logs)?;
    if let Some(folder) = &args.out {
        files::new_folder(folder)?;
    }
    let columns = args.columns.clone().with_states(args.states.clone());
    let (longest, wants_forecasts) = (forecasts::longest(SHOWN, args.forecasts), args.forecasts != Some(0));
    let mut gathered = gathering::read(&logs, &columns, args.out.as_deref(), (longest, wants_forecasts))?;
    if gathered.logs == 0 {
        if let Some(folder) = &args.out {
            // It is empty.
            let _ = fs::remove_dir(folder);
        }
        let why: Vec<String> = gathered.unread.iter().map(|unread| unread.error.clone()).collect();
        return Err(Failure::input(why.join("\n")));
    }
    forecasts::add(&mut gathered, args.out.as_deref(), args.forecasts)?;
    for unread in gathered.unread.iter().take(NAMED) {
        eprintln!("left out: {}", escaped(&unread.error));
    }
    if let Some(more) = gathered.unread.len().checked_sub(NAMED).filter(|more| *more > 0) {
        eprintln!("… and {}", counted(more as u64, "other log"));
    }
    for again in gathered.repeated.iter().take(NAMED) {
        let with = if again.differs {
            "where more of it is: the other one may be an earlier copy"
        } else {
            "with the same content"
        };
        eprintln!("counted once: {}, {with}", about_both(again));
    }
    if let Some(more) = gathered.repeated.len().checked_sub(NAMED).filter(|more| *more > 0) {
        eprintln!("… and {}", counted(more as u64, "other application"));
    }
    if let Some(folder) = &args.out {
        write(folder, &gathered, args)?;
    }
    if !args.json {
        return terminal::print(&text(&gathered, terminal::width()));
    }
    let mut stdout = io::BufWriter::new(io::stdout().lock());
    document(&gathered, &mut stdout)?;
    stdout.flush()?;
    Ok(())
}

/// Says which logs have an application.
fn about_both(again: &Repeated) -> String {
    let name = again.id.as_ref().map_or_else(String::new, |id| format!(" {}", escaped(id)));
    let (log, first) = (escaped(&again.log), escaped(&again.first_log));
    if log == first {
        format!("the application{name} is in {log} twice")
    } else {
        format!("the application{name} is in {first} and in {log}")
    }
}

/// Returns the logs themselves: a folder that is no log is replaced by what is in it.
fn each(paths: &[PathBuf]) -> Outcome<Vec<PathBuf>> {
    let stream = Path::new(log::STANDARD_INPUT);
    if paths.iter().filter(|path| *path == stream).count() > 1 {
        return Err(Failure::input("the standard input (-) is named twice; name it once"));
    }
    // Those that are missing beside others are named with the logs that can't be read.
    let is_there = |path: &PathBuf| *path == *stream || path.exists();
    if !paths.iter().any(is_there) {
        for path in paths {
            if let Err(error) = fs::metadata(path) {
                return Err(Failure::input(format!("cannot open the log {}: {error}; check the path", path.display())));
            }
        }
    }
    let mut all = Vec::new();
    collect(paths, &mut HashSet::new(), &mut all);
    // As in `hindmost advise done/*`.
    let (beside, logs): (Vec<PathBuf>, Vec<PathBuf>) = all.into_iter().partition(|path| log::is_beside_logs(path));
    Ok(if logs.is_empty() { beside } else { logs })
}

/// Adds the logs at these paths, each file and folder once, however many links lead to it.
fn collect(paths: &[PathBuf], seen: &mut HashSet<PathBuf>, all: &mut Vec<PathBuf>) {
    for path in paths {
        if path != Path::new(log::STANDARD_INPUT) {
            // A pipe, such as `<(zcat log.gz)`, has no place. A link that leads nowhere is named with the logs that can't be read.
            let Ok(place) = path.canonicalize() else {
                all.push(path.clone());
                continue;
            };
            if !seen.insert(place) {
                continue;
            }
        }
        let parts = log::parts(path);
        if parts.is_empty() {
            all.push(path.clone());
        } else {
            collect(&parts, seen, all);
        }
    }
}

fn text(gathered: &Gathered, width: u16) -> String {
    let mut text = String::new();
    if gathered.rows.len() > 1 {
        text += &report::total(&gathered.total, width);
        text += "\n";
    }
    let shown: Vec<String> =
        gathered.longest.iter().take(SHOWN).map(|one| of_one(&one.log, &one.diagnosis, &one.warnings, width)).collect();
    text += &shown.join("\n");
    for (log, warnings) in &gathered.warnings {
        text += &format!("\n{}\n{}", escaped(log), said(warnings, width));
    }
    if let Some(more) = gathered.rows.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        text += &format!("\n… and {}: --json and --out DIR have all\n", counted(more as u64, "more application"));
    }
    text
}

/// Writes the JSON document, with a line for each log.
fn document(gathered: &Gathered, out: &mut impl Write) -> Outcome {
    let total = serde_json::to_string(&gathered.total).map_err(Failure::work)?;
    let unread = serde_json::to_string(&gathered.unread).map_err(Failure::work)?;
    let repeated = serde_json::to_string(&gathered.repeated).map_err(Failure::work)?;
    write!(out, "{{\n\"total\": {total},\n\"logs\": [")?;
    gathered.spool.copy(gathered.order.iter().map(|(_, kept)| kept), out)?;
    write!(out, "\n],\n\"repeated\": {repeated},\n\"unread\": {unread}\n}}\n")?;
    Ok(())
}

/// Writes the page of all applications and everything as JSON. The pages of the applications are there already.
fn write(folder: &Path, gathered: &Gathered, args: &AdviseArgs) -> Outcome {
    let json = folder.join(DOCUMENT);
    let failed = |error: io::Error| Failure::work(format!("cannot write {}: {error}", json.display()));
    let mut file = io::BufWriter::new(fs::File::create(&json).map_err(failed)?);
    document(gathered, &mut file)?;
    file.flush().map_err(failed)?;
    let page = if let ([_], Some(one)) = (&gathered.rows[..], gathered.longest.first()) {
        application_page(&ApplicationPage {
            diagnosis: &one.diagnosis,
            log: &one.log,
            warnings: &one.warnings,
            index: None,
        })
    } else {
        let logs = args.logs.iter().map(|log| escaped(&log.display().to_string()));
        let again = Step {
            text: "Read the same logs again:".to_owned(),
            code: format!(
                "hindmost advise {}{} --out DIR",
                logs.collect::<Vec<_>>().join(" "),
                of_tables(&args.columns, &args.states)
            ),
        };
        applications_page(&ApplicationsPage {
            total: &gathered.total,
            rows: &gathered.rows,
            unread: &gathered.unread,
            again: &[again],
        })
    };
    files::write(&folder.join(REPORT), &page)
}
