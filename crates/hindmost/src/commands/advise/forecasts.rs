//! Forecasts for the applications that took longest: what would have made them faster.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;

use hindmost_core::metrics::{Advice, Diagnosis, Spent};
use hindmost_forecast::{forecast, recorded};
use hindmost_report::text::counted;
use hindmost_sim::driver::SimulationError;
use hindmost_trace::table::Columns;

use super::gathering::{self, Gathered, Shown};
use super::side_by_side::{cores, each};
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::stop;

/// An application is replayed only if parts that could be shorter have this share of its wall time.
const WORTH: f64 = 0.02;
/// Applications with more tasks than this are not replayed. Unless it is said how many applications are replayed, all together have at most
/// as many, so that it takes about a minute.
const MOST_TASKS: u64 = 200_000;
/// How many applications are replayed unless it is said.
const MOST: usize = 20;

/// Advice for an application of a log, by its number, or why the log can't be replayed.
type Forecasts = Result<Vec<(u32, Advice)>, String>;

/// Adds advice to the applications that took longest, `wanted` of them if it is given: to what is shown, to the document, and to
/// the pages in the folder.
pub(super) fn add(gathered: &mut Gathered, columns: &Columns, folder: Option<&Path>, wanted: Option<usize>) -> Outcome {
    let most = wanted.unwrap_or_else(|| affordable(&gathered.longest));
    // The applications of a log are replayed together, so that it is read once.
    let mut of_logs: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, one) in gathered.longest.iter().enumerate().take(most).filter(|(_, one)| can_be_replayed(one)) {
        of_logs.entry(one.place.0).or_default().push(at);
    }
    let of_logs: Vec<Vec<usize>> = of_logs.into_values().collect();
    let bar = Progress::new(of_logs.iter().map(Vec::len).sum::<usize>() as f64, "replaying");
    let cores = cores();
    let threads = cores.min(of_logs.len().max(1));
    let longest = &gathered.longest;
    let found = each(threads, of_logs.len(), |number| {
        let applications: Vec<&Shown> = of_logs[number].iter().map(|at| &longest[*at]).collect();
        of_log(&applications, columns, cores / threads, &|| bar.advance(1.0))
    });
    bar.finish(true);
    if stop::flag().load(Ordering::Relaxed) {
        return Err(Failure::from(SimulationError::Interrupted));
    }
    for (places, forecasts) in of_logs.iter().zip(&found) {
        for at in places {
            keep(gathered, *at, forecasts, folder)?;
        }
    }
    if gathered.rows.len() > most && most > 0 {
        eprintln!(
            "forecasts are for the {} that took longest; --forecasts N changes this",
            counted(most as u64, "application")
        );
    }
    Ok(())
}

/// How many of the applications that took longest are replayed unless it is said.
fn affordable(longest: &[Shown]) -> usize {
    let mut tasks = 0;
    let is_affordable = |one: &&Shown| {
        tasks += if can_be_replayed(one) { one.diagnosis.tasks } else { 0 };
        tasks <= MOST_TASKS
    };
    longest.iter().take(MOST).take_while(is_affordable).count()
}

fn can_be_replayed(one: &Shown) -> bool {
    // The standard input and pipes can be read only once.
    (Path::new(&one.log).is_file() || Path::new(&one.log).is_dir()) && is_worth(&one.diagnosis)
}

fn is_worth(one: &Diagnosis) -> bool {
    let Some(time) = &one.wall_time else { return false };
    let can_be_shorter = time.parts.iter().filter(|part| !matches!(part.what, Spent::Work | Spent::NoJob));
    one.tasks <= MOST_TASKS && can_be_shorter.map(|part| part.share).sum::<f64>() >= WORTH
}

/// Returns the advice for applications of a log, without those that aren't replayed, by some threads. Calls `advance` after each.
fn of_log(applications: &[&Shown], columns: &Columns, threads: usize, advance: &(dyn Fn() + Sync)) -> Forecasts {
    let Some(first) = applications.first() else { return Ok(Vec::new()) };
    let wanted: Vec<u32> = applications.iter().map(|one| one.diagnosis.application).collect();
    let found = recorded::read(Path::new(&first.log), columns, &wanted).map_err(|error| error.to_string())?;
    let at_once = threads.min(found.len()).max(1);
    let advice = each(at_once, found.len(), |at| {
        let (number, application) = &found[at];
        let of = applications.iter().find(|one| one.diagnosis.application == *number)?;
        let advice = forecast::advice(&first.log, application, &of.diagnosis, threads / at_once, stop::flag());
        advance();
        Some(advice.map(|advice| (*number, advice)).map_err(|error| error.to_string()))
    });
    advice.into_iter().flatten().collect()
}

/// Adds its advice to an application that is shown, and to what was kept and written about it.
fn keep(gathered: &mut Gathered, at: usize, forecasts: &Forecasts, folder: Option<&Path>) -> Outcome {
    let one = &mut gathered.longest[at];
    let before = gathering::text_of(one);
    match forecasts {
        Ok(all) => match all.iter().find(|(number, _)| *number == one.diagnosis.application) {
            Some((_, advice)) => one.diagnosis.advice = Some(advice.clone()),
            None => return Ok(()),
        },
        Err(error) => one.warnings.push(format!("The log can't be replayed: {error}.")),
    }
    let (log, number) = one.place;
    if let Some(folder) = folder {
        gathering::write_again(folder, one, &before)?;
    }
    let Some((_, kept)) = gathered.order.iter_mut().find(|(number, _)| *number == log) else { return Ok(()) };
    kept.applications[number] = gathered.spool.keep(&gathering::json(&one.diagnosis)?)?;
    Ok(())
}
