//! The line with which a map says what its copies gained or cost.

use std::collections::HashSet;

use hindmost_core::ids::TaskId;
use hindmost_core::metrics::RunSummary;
use hindmost_core::policy::HeldBack;
use hindmost_core::time::Time;
use hindmost_core::timeline::{AttemptEnd, Timeline};
use hindmost_report::text::{duration, grouped, percent};

use super::output::NOTABLE;

/// A saved time below this share of the run's time is no difference.
const SMALL: f64 = 0.01;
/// A saved time below this many seconds is no difference.
const SHORT: f64 = 0.01;

/// Returns what copies gained or cost; `None` if there were none, or only copies of tasks whose attempts all took less than
/// [`NOTABLE`].
pub fn gain(summary: &RunSummary, timeline: &Timeline) -> Option<String> {
    let copied: HashSet<TaskId> =
        timeline.rows.iter().filter(|row| row.redundant).map(|row| row.attempt.task).collect();
    let notable = Time(NOTABLE.as_nanos() as u64);
    let mut of_copied = timeline.rows.iter().filter(|row| copied.contains(&row.attempt.task));
    // A restart begins after the earlier attempt has ended.
    let restarts = timeline.rows.iter().filter(|row| row.outcome == AttemptEnd::Replaced).count() as u64;
    let copies = of_copied.any(|row| row.end - row.start >= notable).then(|| in_words(summary, restarts));
    let waited = waited(summary).filter(|_| timeline.rows.iter().any(|row| row.end - row.start >= notable));
    match (copies, waited) {
        (Some(copies), Some(waited)) => Some(format!("{copies}; {waited}")),
        (copies, waited) => copies.or(waited),
    }
}

/// Returns how many slow tasks found no free place for a copy, or got none because of what copies may cost the job, and what helps if
/// they hang; `None` if there are none. Where copies took as long as their originals, the tasks are long by nature, and no limit helps.
fn waited(summary: &RunSummary) -> Option<String> {
    let of = |count: fn(&HeldBack) -> u32| -> u32 {
        let learned = summary.phases.iter().filter_map(|phase| phase.learned);
        learned.map(|learned| count(&learned.held_back)).sum()
    };
    let tasks = |count: u32| {
        if count == 1 { "1 slow task".to_owned() } else { format!("{} slow tasks", grouped(u64::from(count))) }
    };
    let (no_place, too_small) = (of(|held| held.by_resources), of(|held| held.by_budget));
    let mut parts = Vec::new();
    if no_place > 0 {
        parts.push(format!("{} found no free place for a copy", tasks(no_place)));
    }
    if too_small > 0 {
        parts.push(format!(
            "{} got no copy, because copies may cost this job no more until one has won",
            tasks(too_small)
        ));
    }
    let are_long = summary.phases.iter().filter_map(|phase| phase.learned).any(|learned| learned.lost > learned.won);
    let helps = if are_long {
        ""
    } else {
        "; if they hang and are not long by nature, a larger -j or --timeout 300% --retries 2 helps"
    };
    (!parts.is_empty()).then(|| format!("{}{helps}", parts.join(", and ")))
}

/// Returns what the copies of a run gained or cost, of which so many are restarts. There is at least one.
fn in_words(summary: &RunSummary, restarts: u64) -> String {
    let (launched, won) = (summary.copies.launched, summary.copies.won);
    let saved = summary.saved.as_ref();
    let small = (SMALL * summary.flowtime).max(SHORT);
    let beside = match launched.saturating_sub(restarts) {
        0 => None,
        1 => Some("1 copy of a slow task started".to_owned()),
        several => Some(format!("{} copies of slow tasks started", grouped(several))),
    };
    let again = match restarts {
        0 => None,
        1 => Some("1 attempt that seemed to hang was stopped, and its task started again".to_owned()),
        several => Some(format!(
            "{} attempts that seemed to hang were stopped, and their tasks started again",
            grouped(several)
        )),
    };
    let only_restarts = beside.is_none();
    let copies = beside.into_iter().chain(again).collect::<Vec<_>>().join("; ");
    if only_restarts && won > 0 {
        let lost = summary.saved.as_ref().and_then(|saved| saved.median).map_or(0.0, |median| -median);
        let delayed =
            if lost > small { format!(", which delayed the end by about {}", duration(lost)) } else { String::new() };
        return copies + &delayed;
    }
    if won == 0 {
        let (none, they) = if launched == 1 { ("it did not finish", "It") } else { ("none finished", "They") };
        let share = summary.copies.wasted_share + summary.broken_copies.map_or(0.0, |broken| broken.share);
        let delay = saved.and_then(|saved| saved.median).map_or(0.0, |median| -median);
        let delayed =
            if delay > small { format!(" and delayed the end by about {}", duration(delay)) } else { String::new() };
        return format!(
            "{copies}, and {none} first. {they} took {} of the time of all attempts{delayed}; --no-copies \
             prevents this",
            percent(share)
        );
    }
    let first = match (launched, won) {
        (1, _) => "and it finished".to_owned(),
        (_, won) => format!("and {} finished", grouped(won)),
    };
    let gained = match saved.map(|saved| (saved.median, saved.low)) {
        Some((Some(median), _)) if median.abs() <= small => {
            ". Without copies, this would have taken about as long".to_owned()
        }
        Some((Some(median), _)) => {
            let than = if median > 0.0 { "longer" } else { "less" };
            format!(". Without copies, this would have taken about {} {than} (an estimate)", duration(median.abs()))
        }
        Some((None, low)) if low > small => {
            format!(". Without copies, this would have taken at least {} longer", duration(low))
        }
        _ => match saved.and_then(|saved| saved.if_as_long_again).filter(|again| *again > small) {
            Some(again) => format!(
                "; how much time that saved is not known: if the attempts that lost had needed as long again, this would have taken {} \
                 longer",
                duration(again)
            ),
            None => "; how much time that saved is not known".to_owned(),
        },
    };
    format!("{copies}, {first} first{gained}")
}

#[cfg(test)]
mod tests {
    use hindmost_core::metrics::{Copies, PhaseSummary, TimeSaved};
    use hindmost_core::policy::{Effect, Learned};

    use super::*;

    /// A run of 100 s with these copies, which saved between `low` and `high` seconds.
    fn run(launched: u64, won: u64, saved: Option<(f64, Option<f64>)>) -> RunSummary {
        let saved = saved.map(|(low, median)| TimeSaved {
            low,
            median,
            high: None,
            beaten: won,
            by_progress: 0,
            by_durations: won,
            unknown: 0,
            stalled: 0,
            if_as_long_again: None,
        });
        let copies = Copies { launched, won, wasted_share: 0.125 };
        RunSummary { copies, saved, flowtime: 100.0, ..RunSummary::default() }
    }

    #[test]
    fn slow_tasks_without_a_free_place_are_said() {
        let mut summary = run(0, 0, None);
        assert_eq!(waited(&summary), None);
        let held_back = HeldBack { by_resources: 2, ..HeldBack::default() };
        let learned = Learned {
            won: 0,
            lost: 0,
            lost_weight: 0.0,
            effect: Effect::Usual,
            factor: 1.0,
            by_age: true,
            as_long: None,
            held_back,
        };
        summary.phases.push(PhaseSummary { learned: Some(learned), ..PhaseSummary::default() });
        let said = waited(&summary).unwrap();
        assert!(said.starts_with("2 slow tasks found no free place for a copy; if they hang"), "{said}");
        let held_back = HeldBack { by_budget: 1, ..HeldBack::default() };
        summary.phases[0].learned = Some(Learned { held_back, ..learned });
        let said = waited(&summary).unwrap();
        assert!(said.starts_with("1 slow task got no copy, because copies may cost this job no more"), "{said}");
        assert!(said.contains("--timeout"), "{said}");
        // A copy has shown that the tasks take long.
        summary.phases[0].learned = Some(Learned { held_back, lost: 1, ..learned });
        assert!(!waited(&summary).unwrap().contains("--timeout"));
    }

    #[test]
    fn restarts_are_no_copies() {
        let said = in_words(&run(3, 3, None), 3);
        assert_eq!(said, "3 attempts that seemed to hang were stopped, and their tasks started again");
        assert!(in_words(&run(1, 0, None), 1).starts_with("1 attempt that seemed to hang was stopped, and its task"));
    }

    #[test]
    fn copies_and_restarts_are_counted_apart() {
        let said = in_words(&run(3, 2, None), 2);
        let expected = "1 copy of a slow task started; 2 attempts that seemed to hang were stopped, and their tasks started again, and 2 \
                        finished first";
        assert!(said.starts_with(expected), "{said}");
    }

    #[test]
    fn the_line_says_what_copies_gained_or_cost() {
        let mut hung = run(3, 2, Some((0.2, None)));
        hung.saved = hung.saved.map(|saved| TimeSaved { if_as_long_again: Some(7.0), ..saved });
        let said = in_words(&hung, 0);
        assert!(said.ends_with("had needed as long again, this would have taken 7.00 s longer"), "{said}");
        for (launched, won, saved, expected) in [
            (
                1,
                0,
                None,
                "1 copy of a slow task started, and it did not finish first. It took 12.5% of the time of all attempts; ",
            ),
            (
                3,
                0,
                Some((-9.0, Some(-5.0))),
                "none finished first. They took 12.5% of the time of all attempts and delayed the end by about 5.00 s; --no",
            ),
            (1, 1, None, "started, and it finished first; how much time that saved is not known"),
            (3, 2, Some((0.2, None)), "and 2 finished first; how much time that saved is not known"),
            (
                3,
                2,
                Some((4.0, None)),
                "3 copies of slow tasks started, and 2 finished first. Without copies, this would have taken at least 4.00 s longer",
            ),
            (3, 2, Some((1.0, Some(6.0))), "taken about 6.00 s longer (an estimate)"),
            (3, 2, Some((-9.0, Some(-6.0))), "taken about 6.00 s less (an estimate)"),
            (3, 2, Some((0.0, Some(0.5))), "taken about as long"),
        ] {
            let said = in_words(&run(launched, won, saved), 0);
            assert!(said.contains(expected), "{said}");
        }
    }
}
