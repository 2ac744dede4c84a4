//! The sentences at the top of a ranking: which policies are first, how certain this is, and what they cost.

use hindmost_claims::{
    GroupKind, GroupMember, OverallValue, RankedGroup, RankedPolicy, RankingLevel, WorldRanking, change_text,
};
use hindmost_policies::catalogue::DEFAULT_ORDER;

use super::words::listed;

/// A policy is the first of a group if it is so in at least this share of the resamples of seeds, and in each set that
/// leaves out one world.
const SURE: f64 = 0.95;
/// A policy shares the first place of a group if it is first in at least this share of the resamples.
const POSSIBLE: f64 = 0.01;
/// Differences up to this many percentage points between energy and resource usage are called small.
const SAME_COST: f64 = 2.0;

/// Returns the sentences at the top.
pub(super) fn answer(policies: &[RankedPolicy], levels: &[RankingLevel]) -> Vec<String> {
    let Some(main) = levels.first() else { return Vec::new() };
    let Some(systems) = group(main, GroupKind::Systems) else { return Vec::new() };
    let level = Level { policies, level: main };
    let mut sentences = vec![level.systems(systems)];
    sentences.extend(group(main, GroupKind::OneOrder).map(|group| level.one_order(group)));
    sentences.extend(group(main, GroupKind::Combinations).map(|group| level.combinations(group)));
    let first = sharing_first(systems, main.worlds.len());
    sentences.push(level.of_worlds(&first));
    sentences.extend(level.costs(&first));
    sentences.extend(levels[1..].iter().filter_map(|other| Level { policies, level: other }.of_other_level()));
    sentences
}

fn group(level: &RankingLevel, kind: GroupKind) -> Option<&RankedGroup> {
    level.groups.iter().find(|group| group.group == kind && !group.members.is_empty())
}

/// Returns the members of a group that share its first place, the best first: a single one if it is first in nearly all
/// resamples and in all sets that leave out one of this number of worlds; otherwise all that are first in one of the sets or
/// in some resamples.
pub(super) fn sharing_first(group: &RankedGroup, worlds: usize) -> Vec<&GroupMember> {
    let Some(best) = group.members.first() else { return Vec::new() };
    let of_all_sets = |member: &GroupMember| worlds < 2 || member.first_without_a_world == worlds;
    let is_sure = best.first_in_resamples >= SURE && of_all_sets(best);
    let shares = |member: &&GroupMember| {
        let is_possible = member.first_in_resamples >= POSSIBLE || member.first_without_a_world > 0;
        member.mean_rank == best.mean_rank || (!is_sure && is_possible)
    };
    let sharing: Vec<&GroupMember> = group.members.iter().filter(shares).collect();
    if is_sure || sharing.len() > 1 { sharing } else { group.members.iter().take(2).collect() }
}

/// The results under one progress model.
struct Level<'a> {
    policies: &'a [RankedPolicy],
    level: &'a RankingLevel,
}

impl Level<'_> {
    /// Says which systems are first, each with its own order.
    fn systems(&self, group: &RankedGroup) -> String {
        let worlds = self.level.worlds.len();
        let first = sharing_first(group, worlds);
        let begin = format!("Over all {worlds} worlds with {}, ", self.level.knowledge);
        if let [only] = first.as_slice() {
            let before = group
                .members
                .get(1)
                .map_or_else(String::new, |second| format!(", before {} with {}", second.policy, self.rank(second)));
            return format!(
                "{begin}{} has the best mean rank of the systems by mean flowtime: {} among {} policies{before}. {} is {}.",
                only.policy,
                self.rank(only),
                self.policies.len(),
                only.policy,
                times_first(&first, worlds)
            );
        }
        let ranks: Vec<String> = first.iter().map(|member| self.rank(member)).collect();
        format!(
            "{begin}{} share the first place of the systems by mean flowtime: their mean ranks among {} policies are {}. \
             Which is first depends on {}: {}.",
            names(&first),
            self.policies.len(),
            listed(&ranks),
            what_decides(&first, worlds),
            times_first(&first, worlds)
        )
    }

    /// Says which systems are first under one order.
    fn one_order(&self, group: &RankedGroup) -> String {
        let worlds = self.level.worlds.len();
        let first = sharing_first(group, worlds);
        let begin = format!("Under one order for all systems, {DEFAULT_ORDER},");
        let next = group.members.iter().find(|member| first.iter().all(|one| one.policy != member.policy));
        let next = next.map_or_else(String::new, |next| format!(", before {} with {}", next.policy, ranks_of(next)));
        if let [only] = first.as_slice() {
            format!(
                "{begin} {} has the best mean rank: {} among {} systems{next}. {} is {}.",
                only.policy,
                ranks_of(only),
                group.members.len(),
                only.policy,
                times_first(&first, worlds)
            )
        } else {
            let ranks: Vec<String> = first.iter().map(|member| ranks_of(member)).collect();
            format!(
                "{begin} {} share the first place: their mean ranks among {} systems are {}{next}. Which is first depends \
                 on {}: {}.",
                names(&first),
                group.members.len(),
                listed(&ranks),
                what_decides(&first, worlds),
                times_first(&first, worlds)
            )
        }
    }

    /// Says which of the combinations that were tried are first.
    fn combinations(&self, group: &RankedGroup) -> String {
        let worlds = self.level.worlds.len();
        let first = sharing_first(group, worlds);
        let ranks: Vec<String> = first.iter().map(|member| self.rank(member)).collect();
        let tried = format!("Of the {} combinations of an order with a system that were tried,", group.members.len());
        if first.len() == 1 {
            format!("{tried} {} has the best mean rank: {}.", names(&first), listed(&ranks))
        } else {
            format!("{tried} {} share the first place: their mean ranks are {}.", names(&first), listed(&ranks))
        }
    }

    /// Says in which worlds which system is first.
    fn of_worlds(&self, first: &[&GroupMember]) -> String {
        let mut sure: Vec<(&str, Vec<&str>)> = Vec::new();
        let mut unsure = Vec::new();
        for world in &self.level.worlds {
            match world.first_systems.as_slice() {
                [] => {}
                [only] => match sure.iter_mut().find(|(policy, _)| policy == only) {
                    Some((_, worlds)) => worlds.push(&world.world),
                    None => sure.push((only, vec![&world.world])),
                },
                several => unsure.push(format!("{} ({})", world.world, listed(several))),
            }
        }
        let ranges: Vec<String> = first
            .iter()
            .filter_map(|member| {
                let [best, worst] = self.at(&member.policy)?.ranks?;
                Some(format!("{best} to {worst} for {}", member.policy))
            })
            .collect();
        let ranges = format!("Ranks are {}.", listed(&ranges));
        if let ([(only, _)], []) = (sure.as_slice(), unsure.as_slice()) {
            return format!("{only} is first of the systems in every world. {ranges}");
        }
        let mut parts: Vec<String> =
            sure.iter().map(|(policy, worlds)| format!("{policy} in {}", listed(worlds))).collect();
        if !unsure.is_empty() {
            parts.push(format!("too close to call in {}", listed(&unsure)));
        }
        format!("No system is first everywhere: {}. {ranges}", parts.join("; "))
    }

    /// Says what these systems cost, and in which worlds they cost least and most.
    fn costs(&self, first: &[&GroupMember]) -> Option<String> {
        let mut costs = Vec::new();
        let mut other_energy = 0;
        for member in first {
            let at = self.number(&member.policy)?;
            let of_world = |world: &WorldRanking| {
                let row = &world.rows[at];
                let (resource, energy) = (row.resource.change.mean?, row.energy.change.mean?);
                Some((resource, energy, format!("{}, {:.0}% busy", world.world, 100.0 * world.utilization)))
            };
            let mut worlds: Vec<(f64, f64, String)> =
                self.level.worlds.iter().map(of_world).collect::<Option<Vec<_>>>()?;
            worlds.sort_by(|one, other| one.0.total_cmp(&other.0));
            let (least, most) = (worlds.first()?, worlds.last()?);
            other_energy += worlds.iter().filter(|one| (one.0 - one.1).abs() > SAME_COST).count();
            costs.push(format!(
                "{} changes resource usage by {} typically, from {} ({}) to {} ({})",
                member.policy,
                change_text(self.level.overall[at].resource.change?),
                change_text(least.0),
                least.2,
                change_text(most.0),
                most.2
            ));
        }
        let energy = if other_energy == 0 {
            "Energy above idle changes like resource usage".to_owned()
        } else {
            format!(
                "Energy above idle changes like resource usage but for {other_energy} of {} values, which differ by more \
                 than {SAME_COST} percentage points",
                first.len() * self.level.worlds.len()
            )
        };
        Some(format!("{}. {energy}.", costs.join("; ")))
    }

    /// Says which systems are first under another progress model.
    fn of_other_level(&self) -> Option<String> {
        let group = group(self.level, GroupKind::Systems)?;
        let first = sharing_first(group, self.level.worlds.len());
        let ranks: Vec<String> = first.iter().map(|member| ranks_of(member)).collect();
        let knowledge = &self.level.knowledge;
        Some(if first.len() == 1 {
            format!(
                "With {knowledge} the best mean rank of the systems is that of {}: {}.",
                names(&first),
                listed(&ranks)
            )
        } else {
            format!("With {knowledge}, {} share the first place of the systems: {}.", names(&first), listed(&ranks))
        })
    }

    fn number(&self, policy: &str) -> Option<usize> {
        self.policies.iter().position(|one| one.policy == policy)
    }

    fn at(&self, policy: &str) -> Option<&OverallValue> {
        Some(&self.level.overall[self.number(policy)?].flowtime)
    }

    /// Formats a mean rank with its interval and the typical change of the mean flowtime.
    fn rank(&self, member: &GroupMember) -> String {
        let change = self.at(&member.policy).and_then(|value| value.change);
        let change =
            change.map_or_else(String::new, |change| format!(", typically {} against none", change_text(change)));
        format!("{:.1} ({}{change})", member.mean_rank, interval(member))
    }
}

/// Formats a mean rank with its interval.
fn ranks_of(member: &GroupMember) -> String {
    format!("{:.1} ({})", member.mean_rank, interval(member))
}

fn interval(member: &GroupMember) -> String {
    member.ci95.map_or_else(
        || "no interval with one seed".to_owned(),
        |[low, high]| format!("95% interval {low:.1} to {high:.1}"),
    )
}

fn names(members: &[&GroupMember]) -> String {
    listed(&members.iter().map(|member| member.policy.as_str()).collect::<Vec<_>>())
}

/// Says on what it depends which of several policies is first.
fn what_decides(first: &[&GroupMember], worlds: usize) -> &'static str {
    let Some(best) = first.first() else { return "" };
    match (best.first_in_resamples < SURE, worlds > 1 && best.first_without_a_world < worlds) {
        (true, false) => "the seeds",
        (false, true) => "the worlds",
        _ => "seeds and worlds",
    }
}

/// Says how often policies are first.
fn times_first(first: &[&GroupMember], worlds: usize) -> String {
    let one = |(at, member): (usize, &&GroupMember)| {
        let name = if first.len() == 1 { String::new() } else { format!("{} ", member.policy) };
        let (resamples, sets) = if at == 0 {
            (
                " of the resamples of seeds",
                format!("in {} of the {worlds} sets that leave out one world", member.first_without_a_world),
            )
        } else {
            ("", format!("in {}", member.first_without_a_world))
        };
        let share = 100.0 * member.first_in_resamples;
        let is = if first.len() > 1 && at == 0 {
            "is first "
        } else if first.len() == 1 {
            "first "
        } else {
            ""
        };
        format!("{name}{is}in {share:.0}%{resamples} and {sets}")
    };
    first.iter().enumerate().map(one).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(policy: &str, mean_rank: f64, first_in_resamples: f64, first_without_a_world: usize) -> GroupMember {
        let ci95 = Some([mean_rank - 0.5, mean_rank + 0.5]);
        GroupMember { policy: policy.to_owned(), mean_rank, ci95, first_in_resamples, first_without_a_world }
    }

    fn group_of(members: Vec<GroupMember>) -> RankedGroup {
        RankedGroup { group: GroupKind::Systems, members }
    }

    fn text(members: Vec<GroupMember>) -> String {
        let group = group_of(members);
        let world = |name: &str| WorldRanking {
            world: name.to_owned(),
            jobs: 1,
            tasks: 1,
            utilization: 0.5,
            decides: String::new(),
            first_systems: Vec::new(),
            pocd_counts: true,
            rows: Vec::new(),
        };
        let level = RankingLevel {
            knowledge: "age".to_owned(),
            seeds: 2,
            worlds: ["u", "v", "w"].map(world).to_vec(),
            overall: Vec::new(),
            groups: Vec::new(),
        };
        Level { policies: &[], level: &level }.systems(&group)
    }

    #[test]
    fn a_system_that_is_nearly_always_first_is_first_alone() {
        assert_eq!(
            text(vec![member("a", 2.0, 0.98, 3), member("b", 3.0, 0.02, 0)]),
            "Over all 3 worlds with age, a has the best mean rank of the systems by mean flowtime: 2.0 (95% interval 1.5 to \
             2.5) among 0 policies, before b with 3.0 (95% interval 2.5 to 3.5). a is first in 98% of the resamples of seeds \
             and in 3 of the 3 sets that leave out one world."
        );
    }

    #[test]
    fn systems_share_the_first_place_if_seeds_or_worlds_decide() {
        let both = text(vec![member("a", 2.0, 0.9, 2), member("b", 2.4, 0.1, 1), member("c", 9.0, 0.0, 0)]);
        assert_eq!(
            both,
            "Over all 3 worlds with age, a and b share the first place of the systems by mean flowtime: their mean ranks \
             among 0 policies are 2.0 (95% interval 1.5 to 2.5) and 2.4 (95% interval 1.9 to 2.9). Which is first depends on \
             seeds and worlds: a is first in 90% of the resamples of seeds and in 2 of the 3 sets that leave out one world; \
             b in 10% and in 1."
        );
        let worlds = text(vec![member("a", 2.0, 0.96, 2), member("b", 2.4, 0.04, 1)]);
        assert!(worlds.contains("a and b share") && worlds.contains("depends on the worlds"), "{worlds}");
        let seeds = text(vec![member("a", 2.0, 0.94, 3), member("b", 2.4, 0.06, 0)]);
        assert!(seeds.contains("a and b share") && seeds.contains("depends on the seeds"), "{seeds}");
    }

    #[test]
    fn equal_systems_share_the_first_place() {
        let group = group_of(vec![member("a", 2.0, 1.0, 3), member("b", 2.0, 1.0, 3), member("c", 3.0, 0.0, 0)]);
        let names: Vec<&str> = sharing_first(&group, 3).into_iter().map(|member| member.policy.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
    }
}
