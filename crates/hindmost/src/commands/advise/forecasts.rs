//! Forecasts for the applications that took longest: what would have made them faster.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use hindmost_core::metrics::{Advice, Diagnosis, Spent};
use hindmost_forecast::{forecast, recorded};
use hindmost_sim::driver::SimulationError;
use hindmost_trace::table::Columns;
use serde_json::Value;

use super::gathering::{self, Gathered};
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::stop;

/// An application is replayed only if parts that could be shorter have this share of its wall time.
const WORTH: f64 = 0.02;
/// Applications with more tasks than this are not replayed.
const MOST_TASKS: u64 = 200_000;

/// Advice for an application, `None` if it isn't replayed, or why that failed.
type Forecast = Result<Option<Advice>, String>;

/// Adds advice to the applications that took longest, at most `most`: to what is shown, to the document, and to the pages in the folder.
pub(super) fn add(gathered: &mut Gathered, columns: &Columns, folder: Option<&Path>, most: usize) -> Outcome {
    let chosen: Vec<usize> = (0..gathered.longest.len().min(most))
        .filter(|at| {
            let one = &gathered.longest[*at];
            // The standard input and pipes can be read only once.
            (Path::new(&one.log).is_file() || Path::new(&one.log).is_dir()) && is_worth(&one.diagnosis) && one.is_alone
        })
        .collect();
    let bar = Progress::new(chosen.len() as f64, "replaying");
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<(usize, Forecast)>> = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(chosen.len().max(1));
    let longest = &gathered.longest;
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(at) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let one = &longest[*at];
                    let seconds = one.diagnosis.wall_time.as_ref().map_or(0.0, |time| time.seconds);
                    let advice = of_log(&one.log, columns, seconds);
                    found.lock().unwrap_or_else(PoisonError::into_inner).push((*at, advice));
                    bar.advance(1.0);
                }
            });
        }
    });
    bar.finish(true);
    if stop::flag().load(Ordering::Relaxed) {
        return Err(Failure::from(SimulationError::Interrupted));
    }
    for (at, advice) in found.into_inner().unwrap_or_else(PoisonError::into_inner) {
        let one = &mut gathered.longest[at];
        match advice {
            Ok(Some(advice)) => one.diagnosis.advice = Some(advice),
            Ok(None) => continue,
            Err(error) => one.warnings.push(format!("The log can't be replayed: {error}.")),
        }
        let (log, _) = one.place;
        let Some((_, kept)) = gathered.order.iter_mut().find(|(number, _)| *number == log) else { continue };
        let mut document: Value = serde_json::from_str(&gathered.spool.text(*kept)?).map_err(Failure::work)?;
        document["applications"][0]["advice"] = serde_json::to_value(&one.diagnosis.advice).map_err(Failure::work)?;
        *kept = gathered.spool.keep(&document.to_string())?;
        if let Some(folder) = folder {
            let applications = std::slice::from_ref(&one.diagnosis);
            gathering::write(folder, (Path::new(&one.log), &one.log), log, applications, &one.warnings)?;
        }
    }
    Ok(())
}

fn is_worth(one: &Diagnosis) -> bool {
    let Some(time) = &one.wall_time else { return false };
    let can_be_shorter = time.parts.iter().filter(|part| !matches!(part.what, Spent::Work | Spent::NoJob));
    one.tasks <= MOST_TASKS && can_be_shorter.map(|part| part.share).sum::<f64>() >= WORTH
}

/// Returns the advice for the only application of a log; `None` for logs of several applications, and for those that aren't replayed.
fn of_log(log: &str, columns: &Columns, seconds: f64) -> Forecast {
    let Some(application) = recorded::read(Path::new(log), columns).map_err(|error| error.to_string())? else { return Ok(None) };
    forecast::advice(log, &application, seconds, stop::flag()).map(Some).map_err(|error| error.to_string())
}
