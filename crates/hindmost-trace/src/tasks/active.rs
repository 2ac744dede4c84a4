//! When jobs ran, or could have run. Between, something outside holds them: a hold before an attempt runs again, or the pause between two
//! runs that wrote to one log.

use hindmost_math::statistics::median;

use super::attempts::Attempt;
use super::collect::Rules;

/// The shortest pause between two runs, in seconds.
const PAUSE: f64 = 1.0;
/// A pause is so many times as long as it usually takes until something else starts or ends.
const BEYOND: f64 = 20.0;

/// Returns when jobs were active, by these rules; nothing if all were, all the time.
pub(super) fn active(rules: Rules, attempts: &[Attempt<'_>]) -> Vec<(f64, Option<f64>)> {
    if !rules.jobs_within && !rules.has_pauses {
        return Vec::new();
    }
    let of = |attempt: &Attempt<'_>| {
        let (start, end) = attempt.row.times()?;
        let submitted = Some(attempt.row.submitted).filter(|at| *at <= start);
        Some((if rules.jobs_within { attempt.row.job } else { 0 }, submitted.unwrap_or(start), end))
    };
    let mut all: Vec<(u32, f64, f64)> = attempts.iter().filter_map(of).collect();
    all.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let pause = if rules.has_pauses { (BEYOND * usual_wait(&all)).max(PAUSE) } else { 0.0 };
    let mut active: Vec<(u32, f64, f64)> = Vec::new();
    for (job, from, to) in all {
        match active.last_mut() {
            Some((last, _, end)) if *last == job && from <= *end + pause => *end = end.max(to),
            _ => active.push((job, from, to)),
        }
    }
    active.sort_unstable_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    active.into_iter().map(|(_, from, to)| (from, Some(to))).collect()
}

/// Returns how long it usually takes until an attempt starts after another one has started or ended, in seconds. `attempts` are sorted by
/// their start.
fn usual_wait(attempts: &[(u32, f64, f64)]) -> f64 {
    let mut ends: Vec<f64> = attempts.iter().map(|(.., end)| *end).collect();
    ends.sort_unstable_by(f64::total_cmp);
    let wait = |pair: &[(u32, f64, f64)]| {
        let (before, start) = (pair[0].1, pair[1].1);
        let ended = ends[..ends.partition_point(|end| *end <= start)].last().copied();
        start - ended.map_or(before, |end| end.max(before))
    };
    median(&mut attempts.windows(2).map(wait).collect::<Vec<f64>>()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_waits_are_those_after_the_last_start_or_end() {
        // 0.1 s after the start of the one before, 0.2 s after the end of one, and a pause of 10 s.
        let all = [(0, 0.0, 1.0), (0, 0.1, 1.1), (0, 1.2, 2.0), (0, 12.0, 13.0), (0, 12.1, 13.0)];
        assert!((usual_wait(&all) - 0.1).abs() < 1e-9);
        assert_eq!(usual_wait(&all[..1]), 0.0);
    }
}
