//! Says what the copies of a live run gained or cost, how this is known, and what the policy learned from them.

use hindmost_core::metrics::{RunSummary, TimeSaved};
use hindmost_core::policy::{Effect, HeldBack, Learned};

use crate::text::{counted, duration, grouped, name, percent};

/// A saved time below this share of the job's time is no difference.
const SMALL: f64 = 0.01;
/// A saved time below this many seconds is no difference.
const SHORT: f64 = 0.01;
/// Longest name of a phase in a sentence, in columns.
const NAME_WIDTH: usize = 40;

/// Returns what the copies of a run were good for, how this is known, and what to set if they were not worth it. `None`
/// without copies.
pub(crate) fn gain(summary: &RunSummary) -> Option<String> {
    let (launched, won) = (summary.copies.launched, summary.copies.won);
    if launched == 0 {
        return None;
    }
    let tasks = |count: u64| if count == 1 { "1 task".to_owned() } else { format!("{} tasks", grouped(count)) };
    let lost = summary.copies.wasted_share;
    let broken = "failed, lost their node or were stopped with the run";
    // Without a win, the schedule alone shows what the copies delayed.
    let delay = summary.saved.and_then(|saved| saved.median).map_or(0.0, |median| -median);
    let delayed = if won == 0 && delay > (SMALL * summary.flowtime).max(SHORT) {
        format!(" They delayed the job by about {}, estimated from the schedule of the run.", duration(delay))
    } else {
        String::new()
    };
    Some(match (won, summary.broken_copies) {
        (0, None) => format!(
            "Gain: none. No copy finished before its original, and the copies cost {} more work.{delayed} If these tasks take \
             long by nature, --policy none saves that work.",
            percent(lost)
        ),
        // Their time is not counted as extra work, but the copies took it.
        (0, Some(copies)) => format!(
            "Gain: none. No copy finished before its original, and the copies took {} of the total time of all attempts; {} of \
             them {broken}.{delayed} If these tasks take long by nature, --policy none saves that time.",
            percent(lost + copies.share),
            grouped(copies.count)
        ),
        (_, copies) => {
            let others = launched.saturating_sub(won);
            let lost = if others == 0 { String::new() } else { format!(" {} won nothing.", grouped(others)) };
            let broken = copies.map_or_else(String::new, |copies| {
                let number =
                    if copies.count == 1 { "1 copy".to_owned() } else { format!("{} copies", grouped(copies.count)) };
                let time = percent(copies.share);
                format!(" {number} {broken}; this took {time} of the total time of all attempts.")
            });
            let saved = summary.saved.as_ref().map_or_else(
                || "; how much longer that attempt would have taken is not known.".to_owned(),
                |saved| format!(". {}", in_words(saved, summary.flowtime)),
            );
            format!(
                "Gain: {} ended sooner, because a copy finished while an earlier attempt was still running{saved}{lost}{broken}",
                tasks(won)
            )
        }
    })
}

/// Returns by how much a job ended sooner because of its copies, and how this is known. The job took `flowtime` seconds.
fn in_words(saved: &TimeSaved, flowtime: f64) -> String {
    let TimeSaved { low, beaten, by_progress, by_durations, unknown, stalled, .. } = *saved;
    let small = (SMALL * flowtime).max(SHORT);
    let attempts = |count: u64| counted(count, "attempt");
    let Some(median) = saved.median else {
        let at_least = if low > small {
            format!("Without copies the job would have taken at least {} longer. ", duration(low))
        } else {
            String::new()
        };
        let which = match (unknown, beaten) {
            (0, _) => format!("too few attempts ran longer than the {} that lost, so little shows", attempts(beaten)),
            (_, 1) if stalled == 1 => {
                "the attempt that lost had not reported progress for long, so nothing shows".to_owned()
            }
            (_, beaten) if stalled == beaten => {
                format!("the {} that lost had not reported progress for long, so nothing shows", attempts(beaten))
            }
            (unknown, beaten) if stalled > 0 => {
                let longer = match unknown - stalled {
                    0 => String::new(),
                    longer => format!(" and {} had run longer than any that finished", grouped(longer)),
                };
                format!(
                    "of the {} that lost, {} had not reported progress for long{longer}, so nothing shows",
                    attempts(beaten),
                    grouped(stalled)
                )
            }
            (1, 1) => "the attempt that lost had run longer than any that finished, so nothing shows".to_owned(),
            (unknown, beaten) if unknown == beaten => {
                format!("the {} that lost had run longer than any that finished, so nothing shows", attempts(beaten))
            }
            (unknown, beaten) => format!(
                "{} of the {} that lost had run longer than any that finished, so nothing shows",
                grouped(unknown),
                attempts(beaten)
            ),
        };
        let again = saved.if_as_long_again.filter(|again| *again > small).map_or_else(String::new, |again| {
            format!(" If as much time again had been needed, the job would have taken {} longer.", duration(again))
        });
        let they = if beaten == 1 { "it" } else { "they" };
        return format!("{at_least}How much that saved is not known: {which} how long {they} would have taken.{again}");
    };
    let losers =
        if beaten == 1 { "the attempt that lost".to_owned() } else { format!("the {} that lost", attempts(beaten)) };
    let how = match (by_progress, by_durations) {
        (0, 0) => "estimated from the schedule of the run".to_owned(),
        (0, _) => format!("estimated from the durations of other attempts, which took longer than {losers}"),
        (_, 0) => format!("estimated from the progress of {losers}"),
        (progress, durations) => format!(
            "estimated from the progress of {} of {losers} and, for {} of them, from the durations of other attempts, which took \
             longer",
            grouped(progress),
            grouped(durations)
        ),
    };
    if low.abs() <= small && saved.high.is_some_and(|high| high.abs() <= small) {
        return format!("The job would have taken about as long without copies ({how}).");
    }
    let longer = |seconds: f64| {
        if seconds < 0.0 { format!("{} less", duration(-seconds)) } else { duration(seconds) }
    };
    let range = match saved.high {
        Some(high) if high - low <= small => String::new(),
        Some(high) => format!(" (90% interval: {} to {})", longer(low), longer(high)),
        None => " or more".to_owned(),
    };
    if median.abs() <= small {
        return format!("Without copies the job would have taken about as long{range}, {how}.");
    }
    let than = if median > 0.0 { "longer" } else { "less" };
    let several = if saved.high.is_none() && median > 0.0 { " or more" } else { "" };
    let range = if saved.high.is_none() { String::new() } else { range };
    format!("Without copies the job would have taken about {}{several} {than}{range}, {how}.", duration(median.abs()))
}

/// Returns a sentence for each phase on what the policy learned from its copies; `None` if that is nothing.
pub(crate) fn lessons(summary: &RunSummary) -> Option<String> {
    let learned = summary.phases.iter().filter_map(|phase| Some((phase, phase.learned?)));
    let several = summary.phases.len() > 1;
    let sentences = learned.map(|(phase, learned)| {
        let of = if several { format!(" of phase {}", name(&phase.name, NAME_WIDTH, "…")) } else { String::new() };
        let from = if learned.won + learned.lost > 0 { "Learned from the copies" } else { "Late attempts" };
        format!("{from}{of}: {}", learned_in_words(&learned))
    });
    let sentences: Vec<String> = sentences.collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// Returns how many copies were faster than an older attempt. That is not the number of copies that won their tasks: another copy of
/// the task may have won, or the copy may have failed.
fn faster(won: u32) -> String {
    match won {
        1 => "1 was faster than an older attempt of its task".to_owned(),
        won => format!("{won} were faster than an older attempt of their task"),
    }
}

/// Returns how many copies were slower than an older attempt, or took so long that their task itself seemed to take long.
fn slower(lost: u32) -> String {
    let verb = if lost == 1 { "was" } else { "were" };
    format!("{lost} {verb} slower or took long")
}

/// Returns what a policy has learned from the copies of a phase, as sentences of which the first begins with a small letter.
pub fn learned_in_words(learned: &Learned) -> String {
    let Learned { won, lost, factor, by_age, held_back, .. } = *learned;
    let attempts = |count: u32| counted(u64::from(count), "late attempt");
    let resources = match held_back.by_resources {
        0 => String::new(),
        count => format!(
            "{} got a copy later or not at all because no slot was free.{}",
            attempts(count),
            // Where copies took as long as their originals, the tasks are long by nature, and a limit would end them for nothing.
            if lost > won {
                ""
            } else {
                " If they hang and are not long by nature, more slots or a time limit with retries (time_limit; --timeout 300% --retries \
                 2 of map) helps."
            }
        ),
    };
    if learned.is_nothing() || (HeldBack { by_resources: 0, ..held_back }, won, lost) == (HeldBack::default(), 0, 0) {
        return resources;
    }
    let shown = match (won, lost) {
        (0, 0) => "none has ended, so".to_owned(),
        (won, 0) => format!("{} and none was slower, so", faster(won)),
        (0, lost) => format!("none was faster than an older attempt of its task and {}, so", slower(lost)),
        (won, lost) => format!("{} and {}, so", faster(won), slower(lost)),
    };
    let factor = format!("{factor:.0}");
    let effect = match (learned.effect, by_age) {
        (Effect::Rarer, true) => {
            format!(
                "durations mostly belong to the tasks, and an attempt gets a copy only at {factor} times the usual age."
            )
        }
        (Effect::Rarer, false) => format!(
            "durations mostly belong to the tasks, and an attempt gets a copy only if it needs {factor} times as long as usual."
        ),
        (Effect::Sooner, _) => "copies help, and an attempt gets one as soon as it is late.".to_owned(),
        (Effect::OneAtATime, _) => "it is not clear whether copies help, and one is tried at a time.".to_owned(),
        (Effect::Usual, _) => "copies start under the usual conditions.".to_owned(),
    };
    let as_long = learned.as_long.map_or_else(String::new, |share| {
        format!(" A copy takes as long as its original with an estimated probability of {}.", percent(share))
    });
    let outcomes = match held_back.by_outcomes {
        0 => String::new(),
        count => format!(" For this reason, {} got a copy later or not at all.", attempts(count)),
    };
    let budget = match held_back.by_budget {
        0 => String::new(),
        count => format!(
            " {} got a copy later or not at all because copies had cost as much as they may until they win.",
            attempts(count)
        ),
    };
    let resources = if resources.is_empty() { resources } else { format!(" {resources}") };
    format!("{shown} {effect}{as_long}{outcomes}{budget}{resources}")
}

#[cfg(test)]
mod tests;
