//! Sentences about a world of a ranking: who is first and last, and what decides it.

use hindmost_claims::{RankedPolicy, RankingRow, change_text};

use super::data::{FIRST, is_system};
use super::places::ranks;

/// Changes up to this many per cent of the mean flowtime under `none` are called small.
const SMALL: f64 = 2.0;
/// A part that has at least this share of a change decides it alone.
const DECIDING_SHARE: f64 = 2.0 / 3.0;

/// Returns a phrase that says which part of the flowtime changes: the time that jobs wait for their first attempt, or the
/// time that they then run. The arguments are changes in per cent of the mean flowtime under `none`.
pub(super) fn decided_by(waiting: Option<f64>, running: Option<f64>) -> String {
    let (Some(waiting), Some(running)) = (waiting, running) else { return "jobs abandoned".to_owned() };
    let word = |change: f64| if change < 0.0 { "shorter" } else { "longer" };
    let (of_waiting, of_running) = (waiting.abs(), running.abs());
    if of_waiting <= SMALL && of_running <= SMALL {
        return "little change".to_owned();
    }
    let most = of_waiting.max(of_running);
    if most >= DECIDING_SHARE * (of_waiting + of_running) {
        return if of_waiting > of_running {
            format!("{} waiting", word(waiting))
        } else {
            format!("{} running", word(running))
        };
    }
    if (waiting < 0.0) == (running < 0.0) {
        format!("{} waiting and running", word(waiting))
    } else {
        format!("{} waiting, {} running", word(waiting), word(running))
    }
}

/// Adds to the phrase of each row with an order of its own whether its order or its copies decide: the one that alone gives
/// at least two thirds of the change, if the other one gives at most one third of it.
pub(super) fn add_order_or_copies(policies: &[RankedPolicy], rows: &mut [RankingRow]) {
    let changes: Vec<Option<f64>> = rows.iter().map(|row| row.flowtime.change.mean).collect();
    let change_of = |name: &Option<String>| {
        let at = policies.iter().position(|policy| Some(&policy.policy) == name.as_ref())?;
        changes[at]
    };
    for ((policy, row), change) in policies.iter().zip(rows).zip(&changes) {
        let (Some(change), Some(order), Some(copies)) =
            (*change, change_of(&policy.order_alone), change_of(&policy.copies_alone))
        else {
            continue;
        };
        if let Some(part) = order_or_copies(change, order, copies) {
            row.decided_by += part;
        }
    }
}

/// Says whether an order or copies alone give most of a change; `None` if neither does, or if the change is small.
fn order_or_copies(change: f64, order: f64, copies: f64) -> Option<&'static str> {
    let decides = |one: f64, other: f64| one / change >= DECIDING_SHARE && other / change <= 1.0 - DECIDING_SHARE;
    match change.abs() > SMALL {
        true if decides(order, copies) => Some(", by the order"),
        true if decides(copies, order) => Some(", by copies"),
        _ => None,
    }
}

/// Returns the systems that are first of all systems by mean flowtime or might be with other seeds, the best first, with the
/// number of those that are first on these seeds. `flowtimes` has the mean flowtime of each policy on each seed.
pub(super) fn first_systems(policies: &[RankedPolicy], flowtimes: &[Vec<f64>]) -> (Vec<String>, usize) {
    let systems: Vec<usize> = (0..policies.len()).filter(|at| is_system(&policies[*at])).collect();
    let values: Vec<Vec<f64>> = systems.iter().map(|at| flowtimes[*at].clone()).collect();
    let mut first: Vec<(f64, &str)> = systems
        .iter()
        .zip(ranks(&values, true))
        .filter_map(|(at, rank)| Some((rank?, policies[*at].policy.as_str())))
        .filter(|(rank, _)| rank.first == 1)
        .map(|(rank, policy)| (rank.rank, policy))
        .collect();
    first.sort_by(|one, other| one.0.total_cmp(&other.0));
    let equal = first.iter().filter(|one| one.0 == first[0].0).count();
    (first.into_iter().map(|(_, policy)| policy.to_owned()).collect(), equal)
}

/// Returns sentences about a world: which systems are first and last by mean flowtime, and what decides it.
/// `first_systems` are those of [`first_systems`].
pub(super) fn decides(
    policies: &[RankedPolicy],
    rows: &[RankingRow],
    (first_systems, equal): (&[String], usize),
) -> String {
    let (first, near) = first_systems.split_at(equal.min(first_systems.len()));
    let row_of = |name: &str| rows.iter().find(|row| row.policy == name);
    let Some(row) = first.first().and_then(|name| row_of(name)) else { return String::new() };
    let are_equal = if first.len() > 1 { " (equal)" } else { "" };
    let mut text = format!("First of the systems by mean flowtime: {}{are_equal}, {}.", listed(first), parts(row));
    for name in first {
        let Some(policy) = policies.iter().find(|policy| policy.policy == *name) else { continue };
        let alone = [("order of jobs", &policy.order_alone), ("copies", &policy.copies_alone)];
        let alone: Vec<String> = alone
            .iter()
            .filter_map(|(what, other)| {
                let other = other.as_ref()?;
                let change = row_of(other)?.flowtime.change.mean?;
                Some(format!(
                    "its {what} alone ({other}) give{} {}",
                    if *what == "copies" { "" } else { "s" },
                    change_text(change)
                ))
            })
            .collect();
        if !alone.is_empty() {
            text += &format!(" Of {name}, {}.", listed(&alone));
        }
    }
    if !near.is_empty() {
        text += &format!(" Too close to call: other seeds might put first {}.", alternatives(near));
    }
    text + &last(policies, rows, first)
}

/// Says which systems are last. Systems with the value of `none` are not counted as worse than it.
fn last(policies: &[RankedPolicy], rows: &[RankingRow], first: &[String]) -> String {
    let systems: Vec<(&RankingRow, f64)> = policies
        .iter()
        .zip(rows)
        .filter(|(policy, _)| is_system(policy))
        .filter_map(|(_, row)| Some((row, row.flowtime.rank?.rank)))
        .collect();
    let Some(worst) = systems.iter().map(|(_, rank)| *rank).max_by(f64::total_cmp) else { return String::new() };
    let last: Vec<&RankingRow> = systems.iter().filter(|(_, rank)| *rank == worst).map(|(row, _)| *row).collect();
    let is_none = |row: &&&RankingRow| row.policy == FIRST;
    let others: Vec<&str> = last.iter().filter(|row| !is_none(row)).map(|row| row.policy.as_str()).collect();
    if last.iter().any(|row| first.contains(&row.policy)) {
        return String::new();
    }
    match (last.iter().any(|row| row.policy == FIRST), others.as_slice()) {
        (true, []) => " Last: none.".to_owned(),
        (true, others) => format!(" Last, like none: {}.", listed(others)),
        (false, others) => {
            format!(" Last: {}, {}.", listed(others), last.first().map_or_else(String::new, |row| parts(row)))
        }
    }
}

/// Describes a row: its change of the mean flowtime, the parts of it, and its copies.
fn parts(row: &RankingRow) -> String {
    let (Some(change), Some(waiting), Some(running)) = (row.flowtime.change.mean, row.waiting.mean, row.running.mean)
    else {
        return String::new();
    };
    let copies = match (row.copies, row.wasted_share) {
        (copies, Some(wasted)) if copies >= 0.005 => {
            format!(
                "with {copies:.2} copies a task; attempts that lost took {:.0}% of the resource usage",
                100.0 * wasted
            )
        }
        _ => "without copies".to_owned(),
    };
    format!(
        "{} ({} by waiting, {} by running) {copies}",
        change_text(change),
        change_text(waiting),
        change_text(running)
    )
}

/// Joins words by commas and "and".
pub(super) fn listed<T: AsRef<str>>(words: &[T]) -> String {
    joined(words, "and")
}

fn alternatives(words: &[String]) -> String {
    joined(words, "or")
}

fn joined<T: AsRef<str>>(words: &[T], last_word: &str) -> String {
    match words {
        [] => String::new(),
        [only] => only.as_ref().to_owned(),
        [others @ .., last] => {
            let others: Vec<&str> = others.iter().map(AsRef::as_ref).collect();
            format!("{} {last_word} {}", others.join(", "), last.as_ref())
        }
    }
}

#[cfg(test)]
mod tests {
    use hindmost_claims::{Estimate, RankedKind, RankedValue};

    use super::*;

    #[test]
    fn the_larger_part_of_a_change_decides_it() {
        let phrase = |waiting: f64, running: f64| decided_by(Some(waiting), Some(running));
        assert_eq!(phrase(-1.0, 1.9), "little change");
        assert_eq!(phrase(-1.0, -60.0), "shorter running");
        assert_eq!(phrase(30.0, -5.0), "longer waiting");
        // 15 of 45 per cent is a third, so running has two thirds and decides alone; with 16 both count.
        assert_eq!(phrase(15.0, -30.0), "shorter running");
        assert_eq!(phrase(16.0, -30.0), "longer waiting, shorter running");
        assert_eq!(phrase(-16.0, -30.0), "shorter waiting and running");
        assert_eq!(decided_by(None, None), "jobs abandoned");
    }

    #[test]
    fn an_order_or_copies_decide_if_they_suffice_alone() {
        // 2/3 of 36 is 24, and 1/3 is 12.
        assert_eq!(order_or_copies(-36.0, -35.0, -1.1), Some(", by the order"));
        assert_eq!(order_or_copies(-36.0, -12.0, -24.0), Some(", by copies"));
        assert_eq!(order_or_copies(-36.0, -13.0, -24.0), None);
        assert_eq!(order_or_copies(-36.0, -35.0, -30.0), None);
        assert_eq!(order_or_copies(-1.5, -1.5, 0.0), None);
    }

    /// Mean flowtimes on two seeds, as the rows of systems.
    fn world(systems: &[(&str, [f64; 2])]) -> (Vec<RankedPolicy>, Vec<RankingRow>, Vec<Vec<f64>>) {
        let flowtimes: Vec<Vec<f64>> = systems.iter().map(|(_, seeds)| seeds.to_vec()).collect();
        let ranks = ranks(&flowtimes, true);
        let number = |mean: f64| Estimate { mean: Some(mean), ci95: None };
        let value = |mean: f64, change: f64, rank| RankedValue { value: number(mean), change: number(change), rank };
        let row = |(at, (policy, seeds)): (usize, &(&str, [f64; 2]))| {
            let mean = f64::midpoint(seeds[0], seeds[1]);
            let change = 10.0 * mean - 100.0;
            RankingRow {
                policy: (*policy).to_owned(),
                flowtime: value(mean, change, ranks[at]),
                flowtime_p99: value(mean, change, None),
                resource: value(1.0, 0.0, None),
                energy: value(1.0, 0.0, None),
                pocd: value(0.5, 0.0, None),
                waiting: number(0.0),
                running: number(change),
                copies: 0.0,
                wasted_share: None,
                abandoned_share: 0.0,
                decided_by: "shorter running".to_owned(),
            }
        };
        let policy = |(name, _): &(&str, [f64; 2])| RankedPolicy {
            policy: (*name).to_owned(),
            kind: RankedKind::System,
            about: String::new(),
            order_alone: None,
            copies_alone: None,
        };
        (systems.iter().map(policy).collect(), systems.iter().enumerate().map(row).collect(), flowtimes)
    }

    fn text(systems: &[(&str, [f64; 2])]) -> String {
        let (policies, rows, flowtimes) = world(systems);
        let (first, equal) = first_systems(&policies, &flowtimes);
        decides(&policies, &rows, (&first, equal))
    }

    #[test]
    fn systems_like_none_are_not_called_worse() {
        let text = text(&[("none", [10.0; 2]), ("late", [5.0; 2]), ("dolly", [10.0; 2]), ("sca", [10.0; 2])]);
        assert_eq!(
            text,
            "First of the systems by mean flowtime: late, −50% (0% by waiting, −50% by running) without copies. Last, like \
             none: dolly and sca."
        );
    }

    #[test]
    fn all_that_may_be_first_are_named() {
        // b and c differ by −3 and +4 from a, which no interval of two seeds distinguishes from 0; d is worse by 8 each time.
        let text = text(&[("none", [10.0; 2]), ("a", [1.0; 2]), ("b", [4.0, 0.0]), ("c", [0.0, 5.0]), ("d", [9.0; 2])]);
        assert!(text.contains("mean flowtime: a, −90%"), "{text}");
        assert!(text.contains("Too close to call: other seeds might put first b or c."), "{text}");
        assert!(text.ends_with(" Last: none."), "{text}");
    }

    #[test]
    fn equal_systems_are_first_and_last_together() {
        let text = text(&[("none", [10.0; 2]), ("a", [5.0; 2]), ("b", [5.0; 2]), ("c", [20.0; 2]), ("d", [20.0; 2])]);
        assert!(text.contains("mean flowtime: a and b (equal), −50%"), "{text}");
        assert!(text.contains(" Last: c and d, +100%"), "{text}");
    }

    #[test]
    fn the_order_and_the_copies_of_the_first_are_given_apart() {
        let (mut policies, mut rows, flowtimes) =
            world(&[("none", [10.0; 2]), ("a", [6.0; 2]), ("order+none", [6.5; 2]), ("fair+a", [9.9; 2])]);
        policies[1].order_alone = Some("order+none".to_owned());
        policies[1].copies_alone = Some("fair+a".to_owned());
        policies[2].kind = RankedKind::Order;
        policies[3].kind = RankedKind::OtherOrder;
        add_order_or_copies(&policies, &mut rows);
        assert_eq!(rows[1].decided_by, "shorter running, by the order");
        let (first, equal) = first_systems(&policies, &flowtimes);
        let text = decides(&policies, &rows, (&first, equal));
        let expected =
            "Of a, its order of jobs alone (order+none) gives −35% and its copies alone (fair+a) give −1.0%.";
        assert!(text.contains(expected), "{text}");
    }
}
