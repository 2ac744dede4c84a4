//! Tests of the text, the Markdown and the picture of a ranking.

use hindmost_claims::{Estimate, GroupKind, GroupMember, OverallValue, RankedGroup, RankedWorld};

use super::*;
use crate::figures::HOSTILE;
use crate::markup::check;

fn value(mean: f64, change: f64, rank: Option<Rank>) -> RankedValue {
    let estimate = |mean: f64| Estimate { mean: Some(mean), ci95: Some([mean - 1.0, mean + 1.0]) };
    RankedValue { value: estimate(mean), change: estimate(change), rank }
}

/// Two policies on one world: `none` with 10 s, and another with 5 s and rank 1.
pub(crate) fn example(name: &str) -> Ranking {
    let rank = |rank: f64, first, last| Some(Rank { rank, first, last });
    let part = |mean: f64| Estimate { mean: Some(mean), ci95: None };
    let row = |policy: &str, flowtime: f64, change: f64, rank: Option<Rank>| RankingRow {
        policy: policy.to_owned(),
        flowtime: value(flowtime, change, rank),
        flowtime_p99: value(3.0 * flowtime, change, rank),
        resource: value(0.5, 0.0, rank),
        energy: value(100.0, 0.0, rank),
        pocd: value(0.5, 0.0, rank),
        waiting: part(0.0),
        running: part(change),
        copies: 0.25,
        wasted_share: Some(0.1),
        abandoned_share: 0.0,
        decided_by: "shorter running".to_owned(),
    };
    let overall = |policy: &str, rank: f64, change: f64| {
        let value = OverallValue {
            mean_rank: Some(rank),
            mean_rank_ci95: Some([rank - 0.25, rank + 0.5]),
            ranks: Some([rank, rank]),
            change: Some(change),
            worst_change: Some(change),
        };
        OverallRow {
            policy: policy.to_owned(),
            flowtime: value,
            flowtime_p99: value,
            resource: value,
            energy: value,
            pocd: OverallValue::default(),
        }
    };
    let policy = |policy: &str, kind| RankedPolicy {
        policy: policy.to_owned(),
        kind,
        about: "a policy".to_owned(),
        order_alone: None,
        copies_alone: None,
    };
    let world = WorldRanking {
        world: name.to_owned(),
        jobs: 1000,
        tasks: 20_000,
        utilization: 0.25,
        first_systems: vec![name.to_owned()],
        pocd_counts: false,
        decides: "First of the systems by mean flowtime: late, −50%.".to_owned(),
        rows: vec![row("none", 10.0, 0.0, rank(2.0, 2, 2)), row(name, 5.0, -50.0, rank(1.0, 1, 1))],
    };
    let level = |knowledge: &str| RankingLevel {
        knowledge: knowledge.to_owned(),
        seeds: if knowledge == "age" { 2 } else { 1 },
        groups: vec![RankedGroup {
            group: GroupKind::Systems,
            members: vec![GroupMember {
                policy: name.to_owned(),
                mean_rank: 1.0,
                ci95: Some([1.0, 1.25]),
                first_in_resamples: 0.875,
                first_without_a_world: 1,
            }],
        }],
        worlds: vec![world.clone()],
        overall: vec![overall("none", 2.0, 0.0), overall(name, 1.0, -50.0)],
    };
    Ranking {
        paper: "ranking".to_owned(),
        title: "Two policies".to_owned(),
        command: "reproduce ranking".to_owned(),
        minutes: Some(10.0),
        quick: false,
        seeds: vec![1, 2],
        answer: vec!["late is first.".to_owned()],
        notes: vec!["A note.".to_owned()],
        policies: vec![policy("none", RankedKind::System), policy(name, RankedKind::System)],
        worlds: vec![RankedWorld {
            name: name.to_owned(),
            about: "A world".to_owned(),
            paper: None,
            scenario: String::new(),
        }],
        levels: vec![level("age"), level("oracle")],
    }
}

#[test]
fn the_text_has_the_answer_first_and_the_best_policy_first() {
    let text = text(&example("late"), 80);
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part:?} is missing:\n{text}"));
    assert!(at("late is first.") < at("mean rank"), "{text}");
    assert!(at("\nlate ") < at("\nnone "), "{text}");
    assert!(at("−50%") < at("late: A world. 1 000 jobs of 20 000 tasks over 2 seeds"), "{text}");
    for width in [20, 40, 60, 80, 200] {
        let text = super::text(&example("late"), width);
        assert!(text.lines().all(|line| crate::text::columns(line) <= usize::from(width).max(34)), "{width}:\n{text}");
    }
}

#[test]
fn the_markdown_has_all_tables_and_pictures() {
    let text = markdown(&example("late"));
    let row = "| `late` | 1 | 5.000 | −50% ± 1.0 | 0% | −50% | −50% [1] | 0% [1] | 0% [1] | 0.500 [1] | 0.25 | shorter running |";
    for part in [
        "**late is first.**",
        "](ranking/flowtime.svg)",
        row,
        "| `late` | 1.0 (−50%) | 1.0 (−50%) |",
        "| `late` | 1.0 | 0.8 to 1.5 | 1 to 1 | −50% |",
        "| `late` | 1.0 | 1.0 to 1.2 | 88% | 1 of 1 |",
        "2 seeds with age, 1 with oracle",
        "leaves out worlds whose PoCD under none is below 0.05 or above 0.95: late (0.500)",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    let files: Vec<String> = pictures(&example("late")).into_iter().map(|picture| picture.file).collect();
    assert_eq!(files, ["flowtime.svg", "flowtime-2.svg"]);
}

#[test]
fn the_picture_shows_ratios_and_escapes_names() {
    let drawing = pictures(&example("late")).remove(0).drawing.standalone();
    check(&drawing);
    for part in [">0.50<", ">1.00<", "hm-below hm-o3", "hm-frame"] {
        assert!(drawing.contains(part), "{part}: {drawing}");
    }
    for name in HOSTILE {
        check(&pictures(&example(name)).remove(0).drawing.standalone());
    }
}

#[test]
fn changes_and_ranks_are_written_alike_everywhere() {
    assert_eq!(
        [Some(-60.4), Some(-9.96), Some(3.04), Some(0.01), None].map(change),
        ["−60%", "−10%", "+3.0%", "0%", "–"]
    );
    assert_eq!(rank_text(Some(Rank { rank: 2.5, first: 1, last: 4 })), "2.5 (1 to 4)");
    assert_eq!(rank_text(Some(Rank { rank: 1.0, first: 1, last: 1 })), "1");
    assert_eq!([Some(0.25), Some(-0.1), Some(0.0001), None].map(difference), ["+0.250", "−0.100", "0", "–"]);
}
