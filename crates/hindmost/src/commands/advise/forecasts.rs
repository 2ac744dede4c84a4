//! Forecasts for the applications that took longest: what would have made them faster.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use hindmost_core::metrics::{Advice, Diagnosis, Spent};
use hindmost_forecast::forecast;
use hindmost_forecast::recorded::RecordedApplication;
use hindmost_report::text::counted;
use hindmost_sim::driver::SimulationError;
use hindmost_trace::Longest;
use hindmost_trace::replay::Application;

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

/// Advice for an application, or why it can't be replayed; `None` if there is nothing to replay.
type Forecast = Option<Result<Advice, String>>;

/// Returns which of the applications that took longest may be replayed, of which `shown` are shown and `wanted` are to be replayed,
/// if it is said.
pub(super) fn longest(shown: usize, wanted: Option<usize>) -> Longest {
    Longest {
        applications: shown.max(wanted.unwrap_or(0)),
        tasks: MOST_TASKS,
        // Some may be left out later, as those that are in other logs again.
        together: wanted.is_none().then_some(2 * MOST_TASKS),
        is_worth,
    }
}

/// Adds advice to the applications that took longest, `wanted` of them if it is given: to what is shown, to the document, and to
/// the pages in the folder.
pub(super) fn add(gathered: &mut Gathered, folder: Option<&Path>, wanted: Option<usize>) -> Outcome {
    let most = wanted.unwrap_or_else(|| affordable(&gathered.longest));
    let shown = gathered.longest.iter_mut().enumerate().take(most);
    let applications: Vec<(usize, Mutex<Option<Application>>)> =
        shown.filter_map(|(at, one)| Some((at, Mutex::new(Some(one.application.take()?))))).collect();
    let bar = Progress::new(applications.len() as f64, "replaying");
    let cores = cores();
    let threads = cores.min(applications.len().max(1));
    let longest = &gathered.longest;
    let found = each(threads, applications.len(), |number| {
        let (at, application) = &applications[number];
        let application = application.lock().unwrap_or_else(PoisonError::into_inner).take();
        let forecast = application.and_then(|application| of(&longest[*at], application, cores / threads));
        bar.advance(1.0);
        forecast
    });
    bar.finish(true);
    if stop::flag().load(Ordering::Relaxed) {
        return Err(Failure::from(SimulationError::Interrupted));
    }
    for ((at, _), forecast) in applications.iter().zip(found) {
        keep(gathered, *at, forecast, folder)?;
    }
    if gathered.rows.len() > most && most > 0 {
        eprintln!(
            "forecasts are for the {} that took longest; --forecasts N changes this",
            counted(most as u64, "application")
        );
    }
    Ok(())
}

/// Returns the advice for an application, by some threads.
fn of(one: &Shown, application: Application, threads: usize) -> Forecast {
    let recorded = RecordedApplication::of(application)?;
    let advice = forecast::advice(&one.log, &recorded, &one.diagnosis, threads, stop::flag());
    Some(advice.map_err(|error| error.to_string()))
}

/// How many of the applications that took longest are replayed unless it is said.
fn affordable(longest: &[Shown]) -> usize {
    let mut tasks = 0;
    let is_affordable = |one: &&Shown| {
        tasks += if one.application.is_some() { one.diagnosis.tasks } else { 0 };
        tasks <= MOST_TASKS
    };
    longest.iter().take(MOST).take_while(is_affordable).count()
}

/// Whether a replay of an application can say how it would take less time.
fn is_worth(one: &Diagnosis) -> bool {
    let Some(time) = &one.wall_time else { return false };
    let can_be_shorter = time.parts.iter().filter(|part| !matches!(part.what, Spent::Work | Spent::NoJob));
    one.tasks <= MOST_TASKS && can_be_shorter.map(|part| part.share).sum::<f64>() >= WORTH
}

/// Adds its advice to an application that is shown, and to what was kept and written about it.
fn keep(gathered: &mut Gathered, at: usize, forecast: Forecast, folder: Option<&Path>) -> Outcome {
    let one = &mut gathered.longest[at];
    let before = gathering::text_of(one);
    match forecast {
        Some(Ok(advice)) => one.diagnosis.advice = Some(advice),
        Some(Err(error)) => one.warnings.push(format!("The log can't be replayed: {error}.")),
        None => return Ok(()),
    }
    let (log, number) = one.place;
    if let Some(folder) = folder {
        gathering::write_again(folder, one, &before)?;
    }
    let Some((_, kept)) = gathered.order.iter_mut().find(|(number, _)| *number == log) else { return Ok(()) };
    kept.applications[number] = gathered.spool.keep(&gathering::json(&one.diagnosis)?)?;
    Ok(())
}
