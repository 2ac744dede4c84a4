//! Forecasts for the applications that took longest: what would have made them faster.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use hindmost_core::metrics::{Advice, Diagnosis, Spent};
use hindmost_forecast::{forecast, recorded};

use super::LogAdvice;
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::stop;

/// An application is replayed only if parts that could be shorter have this share of its wall time.
const WORTH: f64 = 0.02;
/// Applications with more tasks than this are not replayed.
const MOST_TASKS: u64 = 200_000;

/// Adds advice to the applications that took longest, at most `most`.
pub(super) fn add(logs: &mut [LogAdvice], most: usize) -> Outcome {
    let mut chosen: Vec<(usize, f64)> = logs
        .iter()
        .enumerate()
        .filter_map(|(at, log)| match &log.applications[..] {
            [one] => Some((at, one.wall_time.as_ref().map_or(0.0, |time| time.seconds))),
            _ => None,
        })
        .collect();
    chosen.sort_by(|a, b| b.1.total_cmp(&a.1));
    chosen.truncate(most);
    chosen.retain(|(at, _)| is_worth(&logs[*at].applications[0]));
    let bar = Mutex::new(Progress::new(chosen.len() as f64, "replaying"));
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<(usize, Result<Option<Advice>, String>)>> = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(chosen.len().max(1));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((at, seconds)) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let advice = of_log(&logs[*at].log, *seconds);
                    if let Ok(mut found) = found.lock() {
                        found.push((*at, advice));
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
    if stop::flag().load(Ordering::Relaxed) {
        return Err(Failure::from(hindmost_sim::driver::SimulationError::Interrupted));
    }
    for (at, advice) in found.into_inner().unwrap_or_default() {
        match advice {
            Ok(advice) => logs[at].applications[0].advice = advice,
            Err(error) => logs[at].summary.warnings.push(format!("The log can't be replayed: {error}.")),
        }
    }
    Ok(())
}

fn is_worth(one: &Diagnosis) -> bool {
    let Some(time) = &one.wall_time else { return false };
    let can_be_shorter = time.parts.iter().filter(|part| !matches!(part.what, Spent::Work | Spent::NoJob));
    one.tasks <= MOST_TASKS && can_be_shorter.map(|part| part.share).sum::<f64>() >= WORTH
}

fn of_log(log: &str, seconds: f64) -> Result<Option<Advice>, String> {
    // The standard input and pipes can be read only once.
    if !(Path::new(log).is_file() || Path::new(log).is_dir()) {
        return Ok(None);
    }
    let Some(application) = recorded::read(Path::new(log)).map_err(|error| error.to_string())? else { return Ok(None) };
    forecast::advice(log, &application, seconds, stop::flag()).map(Some).map_err(|error| error.to_string())
}
