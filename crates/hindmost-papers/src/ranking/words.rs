//! Sentences of a ranking: what decides ranks, and what the numbers show.

use hindmost_core::reproduction::{
    Rank, RankedKind, RankedPolicy, RankingLevel, RankingRow, WorldRanking, change_text,
};

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

/// Returns sentences about a world: which systems are first and last by mean flowtime, and what decides it.
pub(super) fn decides(policies: &[RankedPolicy], rows: &[RankingRow]) -> String {
    let systems: Vec<(&RankedPolicy, &RankingRow, Rank)> = policies
        .iter()
        .zip(rows)
        .filter(|(policy, _)| policy.kind == RankedKind::System)
        .filter_map(|(policy, row)| Some((policy, row, row.flowtime.rank?)))
        .collect();
    let by_rank = |one: &&(_, _, Rank), other: &&(_, _, Rank)| one.2.rank.total_cmp(&other.2.rank);
    let (Some(first), Some(last)) = (systems.iter().min_by(by_rank), systems.iter().max_by(by_rank)) else {
        return String::new();
    };
    let mut text = format!("First of the systems by mean flowtime: {}, {}.", first.0.policy, parts(first.1));
    if let Some(order) = &first.0.order_alone
        && let Some(row) = rows.iter().find(|row| row.policy == *order)
        && let Some(change) = row.flowtime.change.mean
    {
        text += &format!(" Its order of jobs alone ({order}): {}.", change_text(change));
    }
    let near: Vec<&str> = systems
        .iter()
        .filter(|other| other.0.policy != first.0.policy && other.2.first <= first.2.last && other.2.first == 1)
        .map(|other| other.0.policy.as_str())
        .collect();
    if !near.is_empty() {
        text += &format!(" Other seeds might put first: {}.", listed(&near));
    }
    if last.0.policy != first.0.policy {
        text += &format!(" Last: {}, {}.", last.0.policy, parts(last.1));
    }
    text
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

fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// Returns the sentences at the top: the best systems over all worlds for the main progress model, how much this depends
/// on the world and on what is known, and what low flowtimes cost.
pub(super) fn answer(policies: &[RankedPolicy], levels: &[RankingLevel]) -> Vec<String> {
    let Some(main) = levels.first() else { return Vec::new() };
    let systems = systems_by_mean_rank(policies, main);
    let (Some(first), Some(second)) = (systems.first(), systems.get(1)) else { return Vec::new() };
    let typical = |at: usize| main.overall[at].flowtime.change.map_or_else(String::new, change_text);
    let mut sentences = vec![format!(
        "Over all {} worlds with {}, {} has the best mean rank by mean flowtime of all systems ({:.1} of {} policies; \
         typically {} against none), before {} ({:.1}; {}).",
        main.worlds.len(),
        main.knowledge,
        policies[first.1].policy,
        first.0,
        policies.len(),
        typical(first.1),
        policies[second.1].policy,
        second.0,
        typical(second.1),
    )];
    let others = (0..policies.len()).filter(|at| policies[*at].kind != RankedKind::System);
    let others = others.filter_map(|at| Some((main.overall[at].flowtime.mean_rank?, at)));
    if let Some((rank, at)) = others.min_by(|one, other| one.0.total_cmp(&other.0)).filter(|best| best.0 < first.0) {
        sentences.push(format!(
            "Of all policies the best mean rank is that of the combination {} ({rank:.1}; typically {}).",
            policies[at].policy,
            typical(at)
        ));
    }
    let best_somewhere = best_somewhere(policies, main);
    let ranks = main.overall[first.1].flowtime.ranks.unwrap_or_default();
    sentences.push(if best_somewhere.len() == 1 {
        format!(
            "{} is first of the systems in every world; its ranks are {} to {}.",
            policies[first.1].policy, ranks[0], ranks[1]
        )
    } else {
        format!(
            "No system is first everywhere: {}. The ranks of {} are {} to {}.",
            best_somewhere
                .iter()
                .map(|(policy, worlds)| format!("{policy} in {}", listed(worlds)))
                .collect::<Vec<_>>()
                .join("; "),
            policies[first.1].policy,
            ranks[0],
            ranks[1]
        )
    });
    let cost = &main.overall[first.1];
    if let (Some(resource), Some(energy)) = (cost.resource.change, cost.energy.change) {
        sentences.push(format!(
            "{} costs {} resource usage and {} energy against none, typically.",
            policies[first.1].policy,
            change_text(resource),
            change_text(energy)
        ));
    }
    for other in &levels[1..] {
        let systems = systems_by_mean_rank(policies, other);
        if let Some((rank, at)) = systems.first() {
            sentences.push(format!(
                "With {} the best mean rank is that of {} ({rank:.1}).",
                other.knowledge, policies[*at].policy
            ));
        }
    }
    sentences
}

/// Returns mean ranks by mean flowtime with the numbers of the systems, the best first.
fn systems_by_mean_rank(policies: &[RankedPolicy], level: &RankingLevel) -> Vec<(f64, usize)> {
    let mut systems: Vec<(f64, usize)> = (0..policies.len())
        .filter(|at| policies[*at].kind == RankedKind::System)
        .filter_map(|at| Some((level.overall[at].flowtime.mean_rank?, at)))
        .collect();
    systems.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    systems
}

/// Returns the systems that are first by mean flowtime among the systems somewhere, with their worlds.
fn best_somewhere<'a>(policies: &'a [RankedPolicy], level: &'a RankingLevel) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for world in &level.worlds {
        let Some(best) = best_system(policies, world) else { continue };
        match all.iter_mut().find(|(policy, _)| *policy == best) {
            Some((_, worlds)) => worlds.push(&world.world),
            None => all.push((best, vec![&world.world])),
        }
    }
    all
}

fn best_system<'a>(policies: &'a [RankedPolicy], world: &WorldRanking) -> Option<&'a str> {
    let ranked = policies.iter().zip(&world.rows).filter(|(policy, _)| policy.kind == RankedKind::System);
    let ranks = ranked.filter_map(|(policy, row)| Some((row.flowtime.rank?.rank, policy.policy.as_str())));
    ranks.min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, policy)| policy)
}

#[cfg(test)]
mod tests {
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
}
