//! Tests of the comparison by correlation, of the recommendation, and of cautions about assumptions.

use hindmost_core::metrics::{ByCorrelation, Recommendation};
use hindmost_sim::by_correlation::{self, AtValue, Beside, Plan, VALUES};
use hindmost_sim::cautions::{cautions, independent_copies, no_copies, unfinished};
use hindmost_sim::compare::policy_results;
use hindmost_sim::driver::RunResult;
use hindmost_sim::experiment::{Experiment, Results};
use hindmost_sim::recommendation::{OfEngine, recommendation};
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
    let rows = policy_results(experiment, &results, &[]);
    Some(plan.beside(experiment, (&results, &rows), &others)?.table(experiment))
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
    // Only the policies that start copies run again, on all seeds.
    let names = |one: &Experiment| one.policies.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(plan.experiments.len(), 2);
    assert!(plan.experiments.iter().all(|one| names(one) == ["mantri", "late"] && one.seeds.len() == 5));
    let found = table(&experiment, &VALUES).unwrap();
    assert_eq!((found.results.len(), found.seeds.len(), found.used), (9, 5, 0.0));
    for row in &found.results {
        // The same results as those of a scenario that gives the value.
        let given = format!("correlation = {}", row.correlation);
        let alone = crate::experiments::experiment(&text("seeds = 5", &given, &["none", &row.policy]));
        let expected = policy_results(&alone, &run_on(&alone, 2), &[]).pop().unwrap();
        assert_eq!(row.flowtime_mean, expected.flowtime.mean, "{row:?}");
        assert_eq!(row.versus_first, expected.versus_first, "{row:?}");
    }
    for (at, row) in found.results.iter().enumerate() {
        let first = &found.results[at / 3 * 3];
        assert_eq!(row.resource_ratio, Some(row.resource_mean.unwrap() / first.resource_mean.unwrap()));
    }
}

#[test]
fn a_single_value_is_compared_too() {
    let experiment = experiment(&text("seeds = 2", "", &["none", "mantri"]));
    let all = table(&experiment, &VALUES).unwrap();
    assert_eq!(table(&experiment, &[0.5]).unwrap().results, all.results[2..4]);
    assert_eq!(table(&experiment, &[0.0]).unwrap().results, all.results[..2]);
    assert_eq!(table(&experiment, &[]), None);
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

/// A policy with the flowtimes of the jobs of each seed, and the resource usage of each job.
type Runs<'a> = (&'a str, &'a [&'a [f64]], f64);

/// Returns the runs of a policy in which every job finished.
fn runs((_, seeds, resource): &Runs<'_>) -> Vec<RunResult> {
    let seed = |flowtime: &&[f64]| RunResult {
        flowtime: flowtime.to_vec(),
        resource: vec![*resource; flowtime.len()],
        finished: flowtime.len() as u64,
        copies_launched: 1,
        ..RunResult::default()
    };
    seeds.iter().map(seed).collect()
}

/// Returns a recommendation from the results at correlation 0.3 and at others.
fn recommended_from(
    settings: &str,
    policies: &[Runs<'_>],
    others: &[(f64, &[Runs<'_>])],
    (decisive, engine): (Option<f64>, Option<OfEngine>),
) -> Option<Recommendation> {
    let names: Vec<&str> = policies.iter().map(|(name, ..)| *name).collect();
    let mut experiment = experiment(&text(settings, "correlation = 0.3", &names));
    experiment.seeds = (1..=policies[0].1.len() as u64).collect();
    let results: Results = policies.iter().map(runs).collect();
    let rows = policy_results(&experiment, &results, &[]);
    let others: Vec<(f64, Results)> =
        others.iter().map(|(value, of)| (*value, of.iter().map(runs).collect())).collect();
    let own = std::iter::once((&0.3, &results));
    let values = own.chain(others.iter().map(|(correlation, results)| (correlation, results)));
    let values = values.map(|(correlation, results)| AtValue {
        correlation: *correlation,
        runs: results.iter().map(Vec::as_slice).collect(),
        versus_first: policy_results(&experiment, results, &[]).iter().map(|row| row.versus_first).collect(),
    });
    let beside = Beside { values: values.collect(), decisive };
    recommendation(&experiment, &results, &rows, Some(&beside).filter(|_| !others.is_empty()), engine)
}

fn recommended(settings: &str, policies: &[Runs<'_>]) -> Option<Recommendation> {
    recommended_from(settings, policies, &[], (None, None))
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
    let text = "mantri, whose mean flowtime is 0.500 times that of none (95% interval 0.500 to 0.500, 3 seeds), for 1.50 times its \
                resource usage";
    assert!(found.text.starts_with(text), "{}", found.text);
    assert!(
        found.text.ends_with("after 10% of its work (progress(0.1)); --knowledge age shows what is left without that")
    );
    let age = recommended("knowledge = \"age\"", &[("none", LONG, 2.0), ("mantri", HALF, 3.0)]).unwrap();
    assert_eq!(age.text, text);
    // It is compared with `none`, also if that is not the first one.
    let found = recommended("", &[("mantri", HALF, 3.0), ("none", LONG, 2.0)]).unwrap();
    assert_eq!((found.policy.as_deref(), found.versus.as_str()), (Some("mantri"), "none"));
    let found = recommended("", &[("none", HALF, 3.0), ("mantri", LONG, 2.0)]).unwrap();
    assert_eq!(found.policy.as_deref(), Some("none"));
    assert!(found.text.starts_with("none: no other policy has a shorter mean flowtime"), "{}", found.text);
}

#[test]
fn a_policy_of_the_logs_engine_is_recommended() {
    let compared = |policies: &[Runs<'_>]| {
        let engine = OfEngine { name: "Spark", system: "spark" };
        recommended_from("knowledge = \"age\"", policies, &[], (None, Some(engine))).unwrap()
    };
    let longer: &[&[f64]] = &[&[9.0, 18.0], &[10.8, 16.2], &[12.6, 27.0]];
    let found = compared(&[("none", LONG, 2.0), ("mantri", HALF, 3.0), ("spark", longer, 2.0)]);
    assert_eq!((found.policy.as_deref(), found.elsewhere.as_deref()), (Some("spark"), Some("mantri")));
    let found = compared(&[("none", LONG, 2.0), ("mantri", HALF, 3.0), ("spark", LONG, 2.0)]);
    assert_eq!(found.policy.as_deref(), Some("none"));
    assert!(found.text.starts_with("none: no other policy of Spark has a shorter mean flowtime. "), "{}", found.text);
    let other = "Of the policies that Spark does not have, mantri has the shortest mean flowtime: 0.500 (0.500 to 0.500) times that of none, \
                 for 1.50 times its resource usage, if Hindmost runs the jobs";
    assert!(found.text.contains(other), "{}", found.text);
    // None but `none` is one of Spark.
    let found = compared(&[("none", LONG, 2.0), ("mantri", HALF, 3.0)]);
    assert_eq!((found.policy.as_deref(), found.elsewhere), (Some("mantri"), None));
}

/// Longer than [`HALF`] on two seeds, and shorter on the third.
const NEAR: &[&[f64]] = &[&[5.2, 10.0], &[6.0, 9.6], &[7.0, 14.6]];

#[test]
fn what_the_seeds_do_not_distinguish_is_named() {
    let found = recommended("", &[("none", LONG, 2.0), ("mantri", HALF, 3.0), ("late", NEAR, 3.0)]).unwrap();
    assert_eq!(found.policy.as_deref(), Some("mantri"));
    assert_eq!(found.not_distinguishable, ["late"]);
    assert!(found.text.contains("late is not distinguishable from mantri in these results"), "{}", found.text);
    // If `none` is one of them, no policy is recommended.
    let found = recommended("", &[("none", NEAR, 2.0), ("mantri", HALF, 3.0)]).unwrap();
    assert_eq!((found.policy, found.not_distinguishable), (None, vec!["none".to_owned()]));
    assert!(found.text.starts_with("mantri has the shortest mean") && found.text.contains("may be chance"));
}

#[test]
fn a_cheaper_policy_with_most_of_the_gain_is_named() {
    let [most, less] = [0.55, 0.7].map(share);
    let [most, less] = [&most, &less].map(|of| of.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let named = |mantri: &[&[f64]], cost| {
        let found = recommended("", &[("none", LONG, 1.0), ("late", HALF, 2.4), ("mantri", mantri, cost)]).unwrap();
        assert_eq!(found.policy.as_deref(), Some("late"));
        (found.cheaper, found.text)
    };
    let (cheaper, text) = named(&most, 1.1);
    assert_eq!(cheaper.as_deref(), Some("mantri"));
    let end = "If resource usage matters: mantri, 0.550 (0.550 to 0.550) times that of none, for 1.10 times its resource usage";
    assert!(text.contains(end), "{text}");
    // 60% of the gain is not enough, and 83% of the resource usage not much less.
    assert_eq!([named(&less, 1.1).0, named(&most, 2.0).0], [None, None]);
}

#[test]
fn of_tied_policies_the_one_with_less_resource_usage_is_recommended() {
    let found = recommended("", &[("none", LONG, 2.0), ("mantri", HALF, 3.0), ("late", NEAR, 2.4)]).unwrap();
    assert_eq!((found.policy.as_deref(), found.resource_ratio), (Some("late"), Some(1.2)));
    assert_eq!(found.not_distinguishable, ["mantri"]);
    let text = "mantri (0.500 times that of none) is not distinguishable from late in these results, and uses 1.25 times the \
                resource of late";
    assert!(found.text.contains(text), "{}", found.text);
    // A policy that is longer beyond chance is not taken for its price.
    let longer: &[&[f64]] = &[&[5.5, 11.0], &[6.6, 9.9], &[7.7, 16.5]];
    let found = recommended("", &[("none", LONG, 2.0), ("mantri", HALF, 3.0), ("late", longer, 0.1)]).unwrap();
    assert_eq!(found.policy.as_deref(), Some("mantri"));
}

#[test]
fn a_reliable_policy_is_recommended_before_an_unreliable_shorter_one() {
    // `late` is far shorter on two seeds, and longer on the third: 0.2, 0.2 and 1.02 on average 0.473.
    let unsure: &[&[f64]] = &[&[2.0, 4.0], &[2.4, 3.6], &[14.0, 30.88]];
    let found = recommended("", &[("none", LONG, 2.0), ("mantri", HALF, 3.0), ("late", unsure, 3.0)]).unwrap();
    assert_eq!((found.policy.as_deref(), found.flowtime_ratio), (Some("mantri"), Some(0.5)));
    assert!(found.text.contains("late has a shorter mean flowtime, 0.473 (0.063 to "), "{}", found.text);
    assert!(found.text.contains("but that may be chance"), "{}", found.text);
}

#[test]
fn exact_results_need_no_interval() {
    let folder = tempfile::tempdir().unwrap();
    let job = r#"{"job":"a","arrival":0,"phases":[{"name":"p","mean":1,"tasks":[[9,1]]}]}"#;
    std::fs::write(folder.path().join("jobs.jsonl"), job).unwrap();
    let text = "seeds = 1\n[cluster]\nmachines = 3\n[workload]\nfile = \"jobs.jsonl\"\n[[policy]]\nname = \"none\"\n\
                [[policy]]\nname = \"mantri\"\n";
    let experiment = Experiment::of(&Scenario::parse(text, "test", folder.path(), &[]).unwrap(), 1).unwrap();
    let results: Results =
        [("none", LONG, 1.0), ("mantri", HALF, 1.0)].iter().map(|of| runs(of)[..1].to_vec()).collect();
    let rows = policy_results(&experiment, &results, &[]);
    let found = recommendation(&experiment, &results, &rows, None, None).unwrap();
    assert_eq!(found.policy.as_deref(), Some("mantri"));
    assert!(
        found.text.starts_with("mantri, whose mean flowtime is 0.500 times that of none, for 1.00 times"),
        "{}",
        found.text
    );
}

#[test]
fn unfinished_jobs_are_named_and_many_of_them_prevent_a_recommendation() {
    let experiment = experiment(&text("drain = false", "correlation = 0.3", &["none", "mantri"]));
    let with = |left: u64| {
        let mut results: Results = [("none", LONG, 2.0), ("mantri", HALF, 2.0)].iter().map(runs).collect();
        for seed in &mut results[1] {
            (seed.finished, seed.unfinished) = (1000 - left, left);
        }
        let mut experiment = experiment.clone();
        experiment.seeds = vec![1, 2, 3];
        let rows = policy_results(&experiment, &results, &[]);
        (recommendation(&experiment, &results, &rows, None, None).unwrap(), unfinished(&rows))
    };
    let (found, caution) = with(0);
    assert!(found.policy.is_some() && caution.is_none() && !found.text.contains("had not finished"));
    let (found, caution) = with(10);
    assert!(found.policy.is_some() && found.text.contains("Up to 1.0% of the jobs (mantri) had not finished"));
    assert!(caution.unwrap().contains("(up to 1.0%, under mantri)"));
    let (found, _) = with(100);
    assert!(found.policy.is_none() && found.text.starts_with("10% of the jobs had not finished under mantri"));
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
fn independent_copies_carry_a_caution() {
    let found = |correlation: &str, policies: &[&str], decisive| {
        let experiment = experiment(&text("", correlation, policies));
        let rows = policy_results(&experiment, &run_on(&experiment, 2), &[]);
        independent_copies(&[&experiment], &rows, decisive)
    };
    assert!(found("", &["none", "mantri"], None).is_some() && found("correlation = 0", &["mantri"], None).is_some());
    assert!(found("", &["none", "mantri"], Some(0.5)).unwrap().ends_with("by the middle of the compared values, 0.5"));
    assert_eq!(found("", &["none"], None), None);
    assert_eq!(found("correlation = 0.3", &["none", "mantri"], None), None);
}

#[test]
fn policies_that_started_no_copies_carry_a_caution() {
    let found = |policies: &[&str]| {
        let experiment = experiment(&text("", "", policies));
        no_copies(&[&experiment], &policy_results(&experiment, &run_on(&experiment, 2), &[]))
    };
    assert_eq!(found(&["none", "srpt+none", "mantri"]), None);
    // Without deadlines, another caution names shed.
    assert_eq!(found(&["none", "shed"]), None);
    let experiment = experiment(&text("", "", &["none", "dolly"]));
    let results: Results = vec![vec![RunResult::default()]; 2];
    let caution = no_copies(&[&experiment], &policy_results(&experiment, &results, &[]));
    assert_eq!(
        caution.as_deref(),
        Some("dolly started no copies, so that its results are those of its order of jobs alone")
    );
}

/// Returns the flowtimes of a policy as a share of [`LONG`].
fn share(of: f64) -> Vec<Vec<f64>> {
    LONG.iter().map(|seed| seed.iter().map(|flowtime| of * flowtime).collect()).collect()
}

/// The flowtimes of `none`, `mantri` and `late`, by seed and job.
type Three = [Vec<Vec<f64>>; 3];

/// Returns flowtimes that have these ratios to those of `none`, for `mantri` and `late`.
fn three([mantri, late]: [f64; 2]) -> Three {
    [share(1.0), share(mantri), share(late)]
}

/// Returns the flowtimes as slices.
fn slices(of: &Three) -> [Vec<&[f64]>; 3] {
    of.each_ref().map(|policy| policy.iter().map(Vec::as_slice).collect())
}

/// Returns the recommendation for the ratios of `mantri` and `late` to `none` at correlation 0.3, and at each other one.
fn from_ratios(own: [f64; 2], others: &[(f64, [f64; 2])]) -> Recommendation {
    decided_at(None, own, others)
}

/// Returns the same if one of the correlations decides.
fn decided_at(decisive: Option<f64>, own: [f64; 2], others: &[(f64, [f64; 2])]) -> Recommendation {
    let all: Vec<Three> = std::iter::once(own).chain(others.iter().map(|(_, of)| *of)).map(three).collect();
    let all: Vec<[Vec<&[f64]>; 3]> = all.iter().map(slices).collect();
    let named: Vec<[Runs<'_>; 3]> = all
        .iter()
        .map(|[none, mantri, late]| [("none", &none[..], 1.0), ("mantri", mantri, 1.0), ("late", late, 1.0)])
        .collect();
    let others: Vec<(f64, &[Runs<'_>])> =
        others.iter().zip(&named[1..]).map(|((value, _), of)| (*value, &of[..])).collect();
    recommended_from("knowledge = \"age\"", &named[0], &others, (decisive, None)).unwrap()
}

#[test]
fn the_recommended_policy_is_shown_beside_the_best_at_each_correlation() {
    let found = from_ratios([0.2, 0.4], &[(0.5, [0.6, 0.7]), (0.9, [0.95, 0.9])]);
    assert_eq!((found.policy.as_deref(), found.worst_case.as_deref()), (Some("mantri"), Some("late")));
    let end = "At correlation 0.5, relative to none: 0.600 (0.600 to 0.600), the shortest; at correlation 0.9: 0.950 (0.950 to \
               0.950), the shortest is late with 0.900 (0.900 to 0.900)";
    assert!(found.text.ends_with(end), "{}", found.text);
    let at: Vec<(f64, &str)> = found.at_correlations.iter().map(|one| (one.correlation, one.best.as_str())).collect();
    assert_eq!(at, [(0.3, "mantri"), (0.5, "mantri"), (0.9, "late")]);
    let [own, best] = [found.at_correlations[2].flowtime_ratio, found.at_correlations[2].best_flowtime_ratio];
    assert!((own.unwrap() - 0.95).abs() < 1e-12 && (best.unwrap() - 0.9).abs() < 1e-12);
}

#[test]
fn a_policy_that_harms_at_another_correlation_is_not_recommended() {
    let found = from_ratios([0.2, 0.4], &[(0.5, [1.46, 0.9]), (0.9, [2.56, 0.95])]);
    assert_eq!((found.policy.as_deref(), found.worst_case.as_deref()), (Some("late"), Some("late")));
    assert!((found.flowtime_ratio.unwrap() - 0.4).abs() < 1e-12);
    let start = "late, because mantri, the shortest at correlation 0.3 (0.200 times the mean flowtime of none), takes 1.460 times as \
                 long as none at correlation 0.5 (95% interval 1.460 to 1.460, 3 seeds) and 2.560 times at correlation 0.9 (2.560 to \
                 2.560). late is the best in the worst case: it takes at most 0.950 (0.950 to 0.950) times as long as none, at \
                 correlation 0.9, for 1.00 times its resource usage. At correlation 0.3, relative to none: 0.400";
    assert!(found.text.starts_with(start), "{}", found.text);
    // If all policies harm somewhere, `none` is the best in the worst case.
    let found = from_ratios([0.2, 0.4], &[(0.9, [2.5, 1.1])]);
    assert_eq!(found.policy.as_deref(), Some("none"));
    assert!(found.text.contains("No other policy is better than none in its worst case"), "{}", found.text);
}

#[test]
fn an_open_correlation_is_decided_by_the_middle_one() {
    // `mantri` is the shortest at the lowest correlation, `late` at the middle one.
    let others = [(0.5, [0.8, 0.6]), (0.9, [0.95, 0.9])];
    let found = decided_at(Some(0.5), [0.2, 0.4], &others);
    assert_eq!((found.policy.as_deref(), found.correlation), (Some("late"), Some(0.5)));
    assert!((found.flowtime_ratio.unwrap() - 0.6).abs() < 1e-12);
    assert!(found.text.starts_with("late, whose mean flowtime is 0.600 times that of none at correlation 0.5 (95%"));
    assert!(found.text.contains("(workload.correlation), so the middle value, 0.5, decides"), "{}", found.text);
    let at: Vec<f64> = found.at_correlations.iter().map(|one| one.correlation).collect();
    assert_eq!(at, [0.5, 0.3, 0.9]);
    // Of an even number of values, it is the higher one of the two in the middle.
    let found = decided_at(Some(0.9), [0.2, 0.4], &[(0.9, [0.95, 0.9])]);
    assert!(found.text.contains("so the higher of the middle values, 0.9, decides"), "{}", found.text);
    // Without that, the correlation of the other results decides.
    let found = from_ratios([0.2, 0.4], &others);
    assert_eq!((found.policy.as_deref(), found.correlation), (Some("mantri"), Some(0.3)));
    assert_eq!([by_correlation::middle(&VALUES), by_correlation::middle(&[0.0, 0.9])], [Some(0.5), Some(0.9)]);
    assert_eq!((by_correlation::middle(&[]), by_correlation::middle(&[0.2])), (None, Some(0.2)));
}
