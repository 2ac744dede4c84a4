//! Renders the ranking of all policies: as text for the terminal, as Markdown for the documentation, as a page of HTML, and its
//! pictures.

mod chart;
mod report;
#[cfg(test)]
pub(crate) mod tests;

use hindmost_claims::{
    Estimate, GroupKind, GroupMember, OverallRow, OverallValue, Rank, RankedGroup, RankedKind, RankedPolicy,
    RankedValue, Ranking, RankingLevel, RankingRow, WorldRanking, change_text,
};

pub use chart::pictures;
pub use report::{html_page, markdown, text};

use crate::comparison::significant;
use crate::document::Table;

const MISSING: &str = "–";

/// Returns the numbers of the policies of a kind, in the order of their mean rank by mean flowtime; policies without a rank
/// are last, in the order of the ranking.
pub(crate) fn sorted(ranking: &Ranking, level: &RankingLevel, kinds: &[RankedKind]) -> Vec<usize> {
    let mut all: Vec<usize> =
        (0..ranking.policies.len()).filter(|at| kinds.contains(&ranking.policies[*at].kind)).collect();
    let key = |at: usize| level.overall.get(at).and_then(|row| row.flowtime.mean_rank).unwrap_or(f64::INFINITY);
    all.sort_by(|one, other| key(*one).total_cmp(&key(*other)).then(one.cmp(other)));
    all
}

/// Formats a change in per cent with its sign; a dash without a value.
pub(crate) fn change(value: Option<f64>) -> String {
    value.map_or_else(|| MISSING.to_owned(), change_text)
}

/// Formats a change in per cent with half of its interval.
pub(crate) fn change_between(estimate: &Estimate) -> String {
    let (Some(mean), Some([low, high])) = (estimate.mean, estimate.ci95) else { return change(estimate.mean) };
    let half = (high - low) / 2.0;
    if half == 0.0 { change(Some(mean)) } else { format!("{} ± {half:.1}", change(Some(mean))) }
}

/// Formats a rank with the ranks that other seeds might give.
pub(crate) fn rank_text(rank: Option<Rank>) -> String {
    let Some(Rank { rank, first, last }) = rank else { return MISSING.to_owned() };
    if first == last { rank.to_string() } else { format!("{rank} ({first} to {last})") }
}

/// Formats a probability.
fn probability(value: Option<f64>) -> String {
    value.map_or_else(|| MISSING.to_owned(), |value| format!("{value:.3}"))
}

/// Formats a difference of probabilities with its sign.
fn difference(value: Option<f64>) -> String {
    match value {
        None => MISSING.to_owned(),
        Some(value) if value.abs() < 0.0005 => "0".to_owned(),
        Some(value) if value > 0.0 => format!("+{value:.3}"),
        Some(value) => format!("−{:.3}", -value),
    }
}

fn mean_rank(value: &OverallValue) -> String {
    value.mean_rank.map_or_else(|| MISSING.to_owned(), |rank| format!("{rank:.1}"))
}

/// Formats the 95% interval of a mean rank.
fn mean_rank_interval(interval: Option<[f64; 2]>) -> String {
    interval.map_or_else(|| MISSING.to_owned(), |[low, high]| format!("{low:.1} to {high:.1}"))
}

fn range(value: &OverallValue) -> String {
    value.ranks.map_or_else(|| MISSING.to_owned(), |[best, worst]| format!("{best} to {worst}"))
}

/// The headings of [`overall_table`].
const OVERALL: [&str; 11] = [
    "policy:",
    "mean rank",
    "95% interval",
    "ranks",
    "mean flowtime",
    "in its worst world",
    "p99: mean rank",
    "p99 flowtime",
    "resource",
    "energy",
    "PoCD",
];

/// The headings of [`group_table`].
const GROUP: [&str; 5] = ["policy:", "mean rank", "95% interval", "first in resamples", "first without a world"];
/// Number of policies of a group that [`group_table`] shows.
const GROUP_ROWS: usize = 6;

/// Returns tables of who is first by mean flowtime: of the systems, of the systems under one order, and of the combinations.
pub(crate) fn group_tables(level: &RankingLevel) -> Vec<Table> {
    level.groups.iter().filter(|group| !group.members.is_empty()).map(|group| group_table(level, group)).collect()
}

fn group_table(level: &RankingLevel, group: &RankedGroup) -> Table {
    let count = group.members.len();
    let among = match group.group {
        GroupKind::Systems => format!("Systems, each with its own order ({count}; ranks among all policies)"),
        GroupKind::OneOrder => format!("Systems under one order for all ({count}; ranks among these)"),
        GroupKind::Combinations => {
            format!("Combinations of an order with a system ({count}; ranks among all policies)")
        }
    };
    let row = |member: &GroupMember| {
        vec![
            member.policy.clone(),
            format!("{:.1}", member.mean_rank),
            mean_rank_interval(member.ci95),
            format!("{:.0}%", 100.0 * member.first_in_resamples),
            format!("{} of {}", member.first_without_a_world, level.worlds.len()),
        ]
    };
    Table::new(among, &GROUP).with_rows(group.members.iter().take(GROUP_ROWS).map(row))
}

/// Says what the tables of [`group_tables`] show.
pub(crate) const GROUP_CAPTION: &str = "Mean ranks by mean flowtime over all worlds, with 95% intervals over seeds; the share \
    of the resamples of seeds in which no policy of the table has a smaller mean rank; and the number of sets that leave out \
    one world for which this holds";

/// Returns the table over all worlds of some kinds of policies.
pub(crate) fn overall_table(ranking: &Ranking, level: &RankingLevel, kinds: &[RankedKind]) -> Table {
    let row = |at: usize| {
        let row: &OverallRow = &level.overall[at];
        vec![
            row.policy.clone(),
            mean_rank(&row.flowtime),
            mean_rank_interval(row.flowtime.mean_rank_ci95),
            range(&row.flowtime),
            change(row.flowtime.change),
            change(row.flowtime.worst_change),
            mean_rank(&row.flowtime_p99),
            change(row.flowtime_p99.change),
            change(row.resource.change),
            change(row.energy.change),
            difference(row.pocd.change),
        ]
    };
    let caption = format!(
        "Over all {} worlds with {}, {} policies: mean rank with its 95% interval over seeds, and ranks, by mean \
             flowtime; typical changes against none (geometric means of ratios; for PoCD the mean difference). Energy is \
             above idle{}",
        level.worlds.len(),
        level.knowledge,
        ranking.policies.len(),
        pocd_worlds(level)
    );
    Table::new(caption, &OVERALL).with_rows(sorted(ranking, level, kinds).into_iter().map(row))
}

/// Says which worlds do not count for PoCD over all worlds, after a sentence without its full stop; empty if all count.
pub(crate) fn pocd_worlds(level: &RankingLevel) -> String {
    let value = |world: &WorldRanking| {
        let none = world.rows.first().and_then(|row| row.pocd.value.mean);
        format!("{} ({})", world.world, probability(none))
    };
    let left_out: Vec<String> = level.worlds.iter().filter(|world| !world.pocd_counts).map(value).collect();
    if left_out.is_empty() {
        return String::new();
    }
    format!(
        ". The column PoCD leaves out worlds whose PoCD under none is below 0.05 or above 0.95: {}",
        left_out.join(", ")
    )
}

/// The headings of [`world_table`].
const WORLD: [&str; 12] = [
    "policy:",
    "rank",
    "mean flowtime (s)",
    "change",
    "by waiting",
    "by running",
    "p99 flowtime",
    "resource",
    "energy",
    "PoCD",
    "copies a task",
    "decided by:",
];

/// Returns the table of a world, the policies with the shortest mean flowtime first.
pub(crate) fn world_table(level: &RankingLevel, world: &WorldRanking) -> Table {
    let mut rows: Vec<&RankingRow> = world.rows.iter().collect();
    let key = |row: &RankingRow| row.flowtime.rank.map_or(f64::INFINITY, |rank| rank.rank);
    rows.sort_by(|one, other| key(one).total_cmp(&key(other)));
    let with_rank = |value: &RankedValue| match value.rank {
        Some(rank) => format!("{} [{}]", change(value.change.mean), rank.rank),
        None => change(value.change.mean),
    };
    let cells = |row: &RankingRow| {
        let pocd = match row.pocd.rank {
            Some(rank) => format!("{} [{}]", probability(row.pocd.value.mean), rank.rank),
            None => probability(row.pocd.value.mean),
        };
        let decided_by = if row.abandoned_share > 0.0 {
            format!("{:.1}% of the jobs abandoned", 100.0 * row.abandoned_share)
        } else {
            row.decided_by.clone()
        };
        vec![
            row.policy.clone(),
            rank_text(row.flowtime.rank),
            row.flowtime.value.mean.map_or_else(|| MISSING.to_owned(), significant),
            change_between(&row.flowtime.change),
            change(row.waiting.mean),
            change(row.running.mean),
            with_rank(&row.flowtime_p99),
            with_rank(&row.resource),
            with_rank(&row.energy),
            pocd,
            format!("{:.2}", row.copies),
            decided_by,
        ]
    };
    let caption = format!(
        "{} with {}: changes against none, [ranks] in brackets; waiting and running in per cent of the mean flowtime \
             under none",
        world.world, level.knowledge
    );
    Table::new(caption, &WORLD).with_rows(rows.into_iter().map(cells))
}

/// Returns the table of mean ranks by mean flowtime for each progress model; `None` if there is only one.
pub(crate) fn knowledge_table(ranking: &Ranking) -> Option<Table> {
    let main = ranking.levels.first().filter(|_| ranking.levels.len() > 1)?;
    let row = |at: usize| {
        let of_level = move |level: &RankingLevel| {
            let value = &level.overall[at].flowtime;
            match value.mean_rank {
                Some(_) => format!("{} ({})", mean_rank(value), change(value.change)),
                None => MISSING.to_owned(),
            }
        };
        let name = std::iter::once(main.overall[at].policy.clone());
        name.chain(ranking.levels.iter().map(of_level))
    };
    let kinds = [RankedKind::System, RankedKind::Variant, RankedKind::OtherOrder];
    let others = ranking.levels[1..].iter().map(|level| format!(", {} with {}", level.seeds, level.knowledge));
    let caption = format!(
        "Mean rank by mean flowtime over all worlds, and typical change against none, for each progress model: {} seeds with {}{}",
        main.seeds,
        main.knowledge,
        others.collect::<Vec<_>>().concat()
    );
    let headings: Vec<&str> =
        std::iter::once("policy:").chain(ranking.levels.iter().map(|level| level.knowledge.as_str())).collect();
    Some(Table::new(caption, &headings).with_rows(sorted(ranking, main, &kinds).into_iter().map(row)))
}

/// Describes a world in a sentence: its paper, size and load.
pub(crate) fn world_facts(ranking: &Ranking, world: &WorldRanking) -> String {
    let about = ranking.worlds.iter().find(|one| one.name == world.world).map_or("", |one| one.about.as_str());
    format!(
        "{about}. {} jobs of {} tasks over {} seeds; under none the busiest resource is in use {:.0}% of the time.",
        crate::text::grouped(world.jobs),
        crate::text::grouped(world.tasks),
        ranking.seeds.len(),
        100.0 * world.utilization
    )
}

/// Returns how many seeds and how much time the ranking needs.
pub(crate) fn made_by(ranking: &Ranking) -> String {
    let seeds = match ranking.seeds.as_slice() {
        [] => String::new(),
        [one] => format!("Seed {one}."),
        [first, .., last] => format!("Seeds {first} to {last}."),
    };
    let minutes = ranking.minutes.map_or_else(String::new, |minutes| format!(" About {minutes} minutes on two cores."));
    format!("{seeds}{minutes}")
}

/// Returns the kinds of policies with a heading for each group.
pub(crate) const GROUPS: [(&str, &[RankedKind]); 3] = [
    ("Systems", &[RankedKind::System]),
    ("Systems in other combinations and settings", &[RankedKind::Variant, RankedKind::OtherOrder]),
    ("Orders of jobs, one copy of each task", &[RankedKind::Order]),
];

/// Returns the policy with this number.
pub(crate) fn policy(ranking: &Ranking, at: usize) -> &RankedPolicy {
    &ranking.policies[at]
}
