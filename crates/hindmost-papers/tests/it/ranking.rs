//! The ranking of all policies, in its short version: its numbers say nothing about the policies.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use hindmost_claims::{GroupKind, RankedKind, Ranking};
use hindmost_papers::Size;
use hindmost_papers::names;
use hindmost_papers::ranking::{RankingSelection, rank_all, ranking_simulations};
use hindmost_policies::catalogue::{ORDERS, SYSTEMS};
use hindmost_sim::experiment::{Execution, Experiment, run_all};
use hindmost_sim::scenario::Scenario;

const SHORT: RankingSelection = RankingSelection { size: Size::Short, seeds: Some(2) };

fn made(threads: usize) -> Ranking {
    let stop = AtomicBool::new(false);
    rank_all(SHORT, &Execution { threads, stop: &stop, progress: &|_| {}, output: None }).unwrap()
}

#[test]
fn every_entry_of_the_catalogue_is_ranked_on_every_paper() {
    let ranking = made(2);
    let rows: BTreeSet<&str> = ranking.policies.iter().map(|policy| policy.policy.as_str()).collect();
    for system in SYSTEMS {
        assert!(rows.contains(system.name), "{}", system.name);
    }
    // The order fair is that of all systems without one of their own, so that none has it.
    for order in ORDERS.iter().filter(|order| order.name != "fair") {
        assert!(rows.contains(format!("{}+none", order.name).as_str()), "{}", order.name);
    }
    assert_eq!(ranking.policies[0].policy, "none");
    for paper in names() {
        let has = |world: &&hindmost_claims::RankedWorld| world.paper.as_deref() == Some(paper);
        assert!(ranking.worlds.iter().any(|world| has(&world)), "no world of {paper}");
    }
    assert!(ranking.worlds.iter().filter(|world| world.paper.is_none()).count() >= 3);
    let simulations = ranking.worlds.len() * ranking.policies.len() * 2;
    assert_eq!(ranking_simulations(SHORT).unwrap(), simulations as u64);
    assert_eq!(ranking.levels.len(), 1, "{:?}", ranking.levels.iter().map(|level| &level.knowledge));
    assert_eq!(ranking, made(1), "the ranking depends on threads");
}

#[test]
fn values_fit_together() {
    let ranking = made(2);
    let level = &ranking.levels[0];
    let mut abandons = 0;
    for world in &level.worlds {
        assert!(world.jobs > 0 && world.rows.len() == ranking.policies.len(), "{}", world.world);
        let first = &world.rows[0];
        assert_eq!(first.flowtime.change.mean, Some(0.0));
        assert_eq!(first.pocd.change.mean, Some(0.0));
        let ranked = world.rows.iter().filter(|row| row.flowtime.rank.is_some()).count();
        for row in &world.rows {
            let place = format!("{} in {}", row.policy, world.world);
            assert!(
                row.pocd.rank.is_some() && row.energy.value.mean.is_some() != (row.abandoned_share > 0.0),
                "{place}"
            );
            let Some(rank) = row.flowtime.rank else {
                // Only policies that abandon jobs have no flowtime that can be compared.
                assert!(row.abandoned_share > 0.0 && row.policy.starts_with("shed"), "{place}");
                abandons += 1;
                continue;
            };
            assert!(rank.first as f64 <= rank.rank && rank.rank <= rank.last as f64, "{place}: {rank:?}");
            assert!(rank.first >= 1 && rank.last <= ranked, "{place}: {rank:?}");
            // Ratios of means and means of ratios differ a little; both parts are relative to the same mean.
            let (waiting, running) = (row.waiting.mean.unwrap(), row.running.mean.unwrap());
            let change = row.flowtime.change.mean.unwrap();
            assert!((waiting + running - change).abs() < 1e-9, "{place}: {waiting} + {running} = {change}");
            assert!(row.copies >= 0.0 && (0.0..=1.0).contains(&row.pocd.value.mean.unwrap()), "{place}");
        }
    }
    assert!(abandons > 0, "no world has late jobs under shed");
    for (row, policy) in level.overall.iter().zip(&ranking.policies) {
        assert_eq!(row.policy, policy.policy);
        assert!(row.flowtime.mean_rank.is_some() || policy.policy == "shed", "{}", row.policy);
    }
}

/// The scenario of a world gives the numbers of the ranking.
#[test]
fn scenarios_repeat_the_ranking() {
    let ranking = made(2);
    let world = ranking.worlds.iter().position(|world| world.name == "neighbours").unwrap();
    let text = &ranking.worlds[world].scenario;
    let scenario = Scenario::parse(text, "neighbours.toml", Path::new("."), &[]).unwrap();
    let experiment = Experiment::of(&scenario, 1).unwrap();
    assert_eq!(experiment.policies.len(), ranking.policies.len());
    assert!(experiment.has_power() && experiment.has_deadlines());
    let stop = AtomicBool::new(false);
    let execution = Execution { threads: 2, stop: &stop, progress: &|_| {}, output: None };
    let runs = run_all(&[experiment], &execution).unwrap();
    for (row, seeds) in ranking.levels[0].worlds[world].rows.iter().zip(&runs[0]) {
        let means: Vec<f64> =
            seeds.iter().map(|run| run.flowtime.iter().sum::<f64>() / run.flowtime.len() as f64).collect();
        let mean = f64::midpoint(means[0], means[1]);
        if let Some(flowtime) = row.flowtime.value.mean {
            assert!((flowtime - mean).abs() < 1e-9 * mean, "{}: {flowtime}, {mean}", row.policy);
        }
    }
}

#[test]
fn kinds_of_rows_are_those_of_the_catalogue() {
    let ranking = made(2);
    let of = |kind| ranking.policies.iter().filter(|policy| policy.kind == kind).count();
    assert_eq!(of(RankedKind::System), SYSTEMS.len());
    assert_eq!(of(RankedKind::Order), ORDERS.len() - 1);
    assert_eq!(of(RankedKind::OtherOrder), SYSTEMS.iter().filter(|system| system.order.is_some()).count());
    let dollymp = ranking.policies.iter().find(|policy| policy.policy == "dollymp").unwrap();
    assert_eq!(dollymp.order_alone.as_deref(), Some("dollymp+none"));
    assert_eq!(dollymp.copies_alone.as_deref(), Some("fair+dollymp"));
    let of = |name: &str| ranking.policies.iter().find(|policy| policy.policy == name).unwrap().copies_alone.clone();
    assert_eq!([of("tetris+pace"), of("tetris+none"), of("pace")], [Some("pace".to_owned()), None, None]);
    assert_eq!(of("svf+sda").as_deref(), Some("fair+sda"));
}

/// Mean ranks, their intervals and the groups belong together.
#[test]
fn groups_have_the_mean_ranks_of_all_policies() {
    let ranking = made(2);
    let level = &ranking.levels[0];
    assert_eq!((level.seeds, ranking.seeds.len()), (2, 2));
    let kinds: Vec<GroupKind> = level.groups.iter().map(|group| group.group).collect();
    assert_eq!(kinds, [GroupKind::Systems, GroupKind::OneOrder, GroupKind::Combinations]);
    for group in &level.groups {
        assert!(group.members.windows(2).all(|pair| pair[0].mean_rank <= pair[1].mean_rank), "{:?}", group.group);
        let first: f64 = group.members.iter().map(|member| member.first_in_resamples).sum();
        assert!(first >= 1.0 - 1e-9, "somebody is first in each resample: {:?} {first}", group.group);
        assert!(group.members.iter().map(|member| member.first_without_a_world).sum::<usize>() >= level.worlds.len());
        for member in group.members.iter().filter(|_| group.group != GroupKind::OneOrder) {
            let row = level.overall.iter().find(|row| row.policy == member.policy).unwrap();
            assert_eq!(row.flowtime.mean_rank, Some(member.mean_rank), "{}", member.policy);
            assert_eq!(row.flowtime.mean_rank_ci95, member.ci95, "{}", member.policy);
        }
    }
    // shed abandons jobs, so it has no mean rank and no place in a group.
    assert_eq!(level.groups[0].members.len(), SYSTEMS.len() - 1);
    assert_eq!(level.groups[1].members.len(), SYSTEMS.len() - 1);
    assert!(level.groups[1].members.iter().any(|member| member.policy == "fair+dollymp"));
    assert!(level.groups[1].members.iter().all(|member| member.policy != "dollymp"));
    assert!(level.groups[2].members.iter().all(|member| member.policy.contains('+')));
    let counting = level.worlds.iter().filter(|world| world.pocd_counts);
    for world in counting {
        let none = world.rows[0].pocd.value.mean.unwrap();
        assert!((0.05..=0.95).contains(&none), "{}: {none}", world.world);
    }
}
