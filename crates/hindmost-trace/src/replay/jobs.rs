//! Builds jobs and attempts for a replay, for logs of every format.

use hindmost_core::time::{TICKS_PER_SECOND, Time};
use hindmost_core::workload::{DemandByName, Durations, JobSpec, PhaseSpec, WorkloadJob};

/// Returns a job without phases that arrives `arrival` milliseconds after the trace's origin.
pub(crate) fn job(name: String, arrival: i64) -> WorkloadJob {
    let ticks = u64::try_from(arrival).unwrap_or(0).saturating_mul(TICKS_PER_SECOND / 1000);
    let spec = JobSpec { arrival: Time(ticks), ..JobSpec::new(name, Vec::new()) };
    WorkloadJob { spec, durations: Vec::new() }
}

/// Adds a phase whose tasks took the given `seconds`. The phase depends on the phases with the indices `after`.
pub(crate) fn add_phase(job: &mut WorkloadJob, name: &str, after: Vec<u32>, demand: DemandByName, seconds: Vec<f64>) {
    let (mean, sd) = mean_and_sd(&seconds);
    job.spec.phases.push(PhaseSpec { after, demand, sd, ..PhaseSpec::new(name, seconds.len() as u32, mean) });
    job.durations.push(Durations::Recorded(seconds));
}

/// Returns the phases that had ended when a phase began, without those before which another one of them begins: the
/// phase waits for these. `earlier` has the begin and end of the phases before it, in the order of their begins.
pub(crate) fn phases_before(earlier: &[(f64, f64)], start: f64) -> Vec<u32> {
    let ended = |span: &&(f64, f64)| span.1 <= start;
    // A phase that ended before the last of them began is waited for through that one.
    let last_start = earlier.iter().filter(ended).map(|span| span.0).fold(f64::NEG_INFINITY, f64::max);
    let phases = (0u32..).zip(earlier);
    phases.filter(|(_, span)| ended(span) && span.1 > last_start).map(|(at, _)| at).collect()
}

/// Returns the mean and the standard deviation of the population. The deviation is `None` for fewer than two values;
/// the mean of no values is NaN.
pub(crate) fn mean_and_sd(seconds: &[f64]) -> (f64, Option<f64>) {
    let count = seconds.len() as f64;
    let mean = seconds.iter().sum::<f64>() / count;
    let variance = seconds.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
    (mean, (seconds.len() > 1).then(|| variance.sqrt()))
}
