//! Tests of the comparison by correlation, of the recommendation, and of cautions about assumptions.

use hindmost_core::metrics::{ByCorrelation, Recommendation};
use hindmost_sim::by_correlation::{self, Plan, VALUES};
use hindmost_sim::cautions::{cautions, independent_copies};
use hindmost_sim::compare::policy_results;
use hindmost_sim::driver::RunResult;
use hindmost_sim::experiment::{Experiment, Results};
use hindmost_sim::recommendation::recommendation;
use hindmost_sim::scenario::Scenario;

use crate::experiments::{experiment, run_on};

/// Returns a scenario of several phases with these settings and policies.
fn text(settings: &str, workload: &str, policies: &[&str]) -> String {
    let policies: Vec<String> = policies.iter().map(|name| format!("[[policy]]\nname = \"{name}\"\n")).collect();
    format!(
        "horizon = 60\n{settings}\n[cluster]\nmachines = 60\n[workload]\narrival = {{ poisson = {{ load = 0.5 }} }}\n{workload}\n\
         [[workload.job]]\nname = \"a\"\n[[workload.job.phase]]\nname = \"map\"\ntasks = {{ uniform = {{ min = 1, max = 9 }} }}\n\
         duration = {{ pareto = {{ alpha = 1.8, mean = 3 }} }}\n[[workload.job.phase]]\nname = \"reduce\"\nafter = [\"map\"]\n\
         tasks = 2\nduration = {{ log_normal = {{ mean = 2, cv = 1 }} }}\n{}",
        policies.concat()
    )
}

fn table(experiment: &Experiment, values: &[f64]) -> Option<ByCorrelation> {
    let results = run_on(experiment, 2);
    let plan = Plan::of(experiment, &results, values)?;
    let others: Vec<Results> = plan.experiments.iter().map(|other| run_on(other, 2)).collect();
    plan.table(experiment, &results, &others)
}

#[test]
fn without_copies_nothing_depends_on_the_correlation() {
    let of = |correlation: f64| {
        let settings = format!("correlation = {correlation}");
        run_on(&experiment(&text("seeds = 3", &settings, &["none", "srpt+none", "mantri"])), 2)
    };
    let (independent, shared, same) = (of(0.0), of(0.7), of(1.0));
    for other in [&shared, &same] {
        assert_eq!(independent[..2], other[..2]);
        assert_ne!(independent[2], other[2]);
    }
}

#[test]
fn the_values_stand_side_by_side() {
    let experiment = experiment(&text("seeds = 5", "", &["none", "mantri", "late"]));
    let results = run_on(&experiment, 2);
    let plan = Plan::of(&experiment, &results, &VALUES).unwrap();
    // Only the policies that start copies run again, on three seeds.
    let names = |one: &Experiment| one.policies.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(plan.experiments.len(), 2);
    assert!(plan.experiments.iter().all(|one| names(one) == ["mantri", "late"] && one.seeds == [1, 2, 3]));
    let found = table(&experiment, &VALUES).unwrap();
    assert_eq!((found.results.len(), found.seeds.len(), found.used), (9, 3, 0.0));
    for row in &found.results {
        // The same results as those of a scenario that gives the value.
        let given = format!("correlation = {}", row.correlation);
        let alone = crate::experiments::experiment(&text("seeds = 3", &given, &["none", &row.policy]));
        let expected = policy_results(&alone, &run_on(&alone, 2), &[]).pop().unwrap();
        assert_eq!(row.flowtime_mean, expected.flowtime.mean, "{row:?}");
        assert_eq!(row.versus_first, expected.versus_first, "{row:?}");
    }
}

#[test]
fn there_is_no_table_if_the_correlation_changes_nothing() {
    let none = |policies: &[&str], settings: &str| table(&experiment(&text(settings, "", policies)), &VALUES).is_none();
    assert!(none(&["mantri"], "") && none(&["none", "srpt+none"], ""));
    // Copies of constant durations are equally long.
    let constant = text("", "", &["none", "dollymp"]).replace("{ pareto = { alpha = 1.8, mean = 3 } }", "3");
    let constant = constant.replace("{ log_normal = { mean = 2, cv = 1 } }", "2");
    assert_eq!(table(&experiment(&constant), &VALUES), None);
}

#[test]
fn a_scenario_without_the_key_leaves_it_open() {
    let is_open = |workload: &str| {
        let scenario = Scenario::parse(&text("", workload, &[]), "test", std::path::Path::new(""), &[]).unwrap();
        by_correlation::is_open(&scenario)
    };
    assert!(is_open("") && !is_open("correlation = 0.0") && !is_open("correlation = 0.4"));
}

/// Returns a recommendation from the flowtimes of the jobs of each seed, and the resource usage of each job, by policy.
fn recommended(settings: &str, policies: &[(&str, &[&[f64]], f64)]) -> Option<Recommendation> {
    let names: Vec<&str> = policies.iter().map(|(name, ..)| *name).collect();
    let mut experiment = experiment(&text(settings, "correlation = 0.3", &names));
    let seed = |flowtime: &[f64], resource: f64| RunResult {
        flowtime: flowtime.to_vec(),
        resource: vec![resource; flowtime.len()],
        finished: flowtime.len() as u64,
        copies_launched: 1,
        ..RunResult::default()
    };
    experiment.seeds = (1..=policies[0].1.len() as u64).collect();
    let of = |(_, seeds, resource): &(&str, &[&[f64]], f64)| seeds.iter().map(|one| seed(one, *resource)).collect();
    let results: Results = policies.iter().map(of).collect();
    let rows = policy_results(&experiment, &results, &[]);
    recommendation(&experiment, &results, &rows, None)
}

const LONG: &[&[f64]] = &[&[10.0, 20.0], &[12.0, 18.0], &[14.0, 30.0]];
const HALF: &[&[f64]] = &[&[5.0, 10.0], &[6.0, 9.0], &[7.0, 15.0]];

#[test]
fn the_shortest_policy_is_recommended_with_its_cost() {
    // Half of each flowtime is exactly half, so the interval has width 0.
    let found = recommended("", &[("none", LONG, 2.0), ("mantri", HALF, 3.0)]).unwrap();
    assert_eq!((found.policy.as_deref(), found.versus.as_str()), (Some("mantri"), "none"));
    assert_eq!((found.flowtime_ratio, found.ci95, found.resource_ratio), (Some(0.5), Some([0.5, 0.5]), Some(1.5)));
    assert!(found.not_distinguishable.is_empty());
    let text = "mantri, whose mean flowtime is 0.500 times that of none (95% interval 0.500 to 0.500, 3 seeds), for 1.50 times the \
                resource";
    assert_eq!(found.text, text);
    // It is compared with `none`, also if that is not the first one.
    let found = recommended("", &[("mantri", HALF, 3.0), ("none", LONG, 2.0)]).unwrap();
    assert_eq!((found.policy.as_deref(), found.versus.as_str()), (Some("mantri"), "none"));
    let found = recommended("", &[("none", HALF, 3.0), ("mantri", LONG, 2.0)]).unwrap();
    assert_eq!(found.policy.as_deref(), Some("none"));
    assert_eq!(found.text, "none: no other policy has a shorter mean flowtime");
}

#[test]
fn what_the_seeds_do_not_distinguish_is_named() {
    // `late` is longer on two seeds, and shorter on the third.
    let near: &[&[f64]] = &[&[5.2, 10.0], &[6.0, 9.6], &[7.0, 14.6]];
    let found = recommended("", &[("none", LONG, 2.0), ("mantri", HALF, 3.0), ("late", near, 2.5)]).unwrap();
    assert_eq!(found.policy.as_deref(), Some("mantri"));
    assert_eq!(found.not_distinguishable, ["late"]);
    let end = "late is not distinguishable from mantri in these results, and takes 1.25 times the resource";
    assert!(found.text.ends_with(end), "{}", found.text);
    // If `none` is one of them, no policy is recommended.
    let found = recommended("", &[("none", near, 2.0), ("mantri", HALF, 3.0)]).unwrap();
    assert_eq!((found.policy, found.not_distinguishable), (None, vec!["none".to_owned()]));
    assert!(found.text.starts_with("none: mantri has the shortest mean") && found.text.contains("may be chance"));
}

#[test]
fn one_seed_is_no_basis() {
    let found = recommended("", &[("none", &LONG[..1], 2.0), ("mantri", &HALF[..1], 3.0)]).unwrap();
    assert_eq!((found.policy, found.ci95), (None, None));
    assert!(found.text.contains("one seed is no basis") && found.text.contains("--seeds 5"), "{}", found.text);
    assert_eq!(recommended("", &[("none", LONG, 2.0)]), None);
}

#[test]
fn oracle_knowledge_is_named() {
    let policies: [(&str, &[&[f64]], f64); 2] = [("none", LONG, 2.0), ("mantri", HALF, 3.0)];
    let found = recommended("knowledge = \"oracle\"", &policies).unwrap();
    assert!(found.text.contains("Policies knew remaining times from the start (oracle)"), "{}", found.text);
    let caution = |settings: &str, policies: &[&str]| {
        let found = cautions(&[&experiment(&text(&format!("drain = false\nseeds = 2\n{settings}"), "", policies))]);
        found.iter().any(|one| one.contains("knowledge oracle"))
    };
    assert!(caution("knowledge = \"oracle\"", &["none", "mantri"]));
    assert!(!caution("knowledge = \"oracle\"", &["none", "srpt+none"]) && !caution("", &["none", "mantri"]));
}

#[test]
fn independent_copies_carry_a_caution_unless_other_values_are_shown() {
    let found = |correlation: &str, policies: &[&str], side_by_side| {
        let experiment = experiment(&text("", correlation, policies));
        let rows = policy_results(&experiment, &run_on(&experiment, 2), &[]);
        independent_copies(&[&experiment], &rows, side_by_side).is_some()
    };
    assert!(found("", &["none", "mantri"], false) && found("correlation = 0", &["mantri"], false));
    assert!(!found("", &["none", "mantri"], true) && !found("", &["none"], false));
    assert!(!found("correlation = 0.3", &["none", "mantri"], false));
}

#[test]
fn another_best_policy_at_other_correlations_is_named() {
    let policies = ["none", "mantri", "late"];
    let experiment = experiment(&text("seeds = 3", "", &policies));
    let results = run_on(&experiment, 2);
    let rows = policy_results(&experiment, &results, &[]);
    let mut by = table(&experiment, &VALUES).unwrap();
    // The mean flowtimes of the policies at the correlations 0, 0.5 and 0.9.
    let mut said = |means: [[f64; 3]; 3]| {
        for (row, mean) in by.results.iter_mut().zip(means.concat()) {
            (row.flowtime_mean, row.versus_first.flowtime_ratio) = (Some(mean), Some(mean / 8.0));
        }
        recommendation(&experiment, &results, &rows, Some(&by)).unwrap()
    };
    let best = said([[8.0; 3]; 3]).policy.unwrap();
    let other = if best == "late" { 1 } else { 2 };
    let by_best = |best: f64, rest: f64| if other == 1 { [8.0, rest, best] } else { [8.0, best, rest] };
    let (own, else_) = (by_best(2.0, 4.0), by_best(5.0, 4.0));
    assert!(said([own, own, own]).text.contains("It is the shortest at correlation 0.5 and 0.9, too"));
    let end = format!(
        "If copies share a part of their duration, the shortest is {} at correlation 0.5 (0.500 times that of none) and 0.9 (0.500)",
        policies[other]
    );
    let found = said([own, else_, else_]).text;
    assert!(found.contains(&end), "{found}");
    let end =
        format!("the shortest is {best} at correlation 0.5 (0.250 times that of none) and none at correlation 0.9");
    let found = said([own, own, [8.0, 9.0, 9.0]]).text;
    assert!(found.contains(&end), "{found}");
}
