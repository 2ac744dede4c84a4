//! Tests of `hindmost theory` against numbers of the papers and closed forms.

use crate::{json, run};

fn number(value: &serde_json::Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

const FIGURE_1: &[&str] = &[
    "theory",
    "clones",
    "--job",
    "10:1",
    "--job",
    "20:2",
    "--job",
    "5:1",
    "--job",
    "10:2",
    "--alpha",
    "2",
    "--machines",
    "100",
    "--max-copies",
    "8",
    "--gamma",
    "0.01",
    "--json",
    "--method",
];

fn figure_1(method: &[&str]) -> serde_json::Value {
    json(&[FIGURE_1, method].concat())
}

#[test]
fn figure_1_has_an_exact_and_a_continuous_solution() {
    let exact = figure_1(&["exact"]);
    assert_eq!(exact["copies"], serde_json::json!([2, 2, 2, 3]));
    assert_eq!(exact["machines_used"], 100);
    let continuous = figure_1(&["continuous"]);
    assert!(number(&continuous["objective"]) > number(&exact["objective"]));
    assert!((number(&continuous["machines_used"]) - 100.0).abs() < 1e-3);
}

#[test]
fn the_dual_iteration_converges_with_smaller_steps_only() {
    let continuous = figure_1(&["continuous"]);
    let smaller = figure_1(&["dual"]);
    assert_eq!(smaller["converged"], true);
    for (one, other) in smaller["copies"].as_array().unwrap().iter().zip(continuous["copies"].as_array().unwrap()) {
        assert!((number(one) - number(other)).abs() < 1e-3, "{smaller} {continuous}");
    }
    assert_eq!(smaller["trace"].as_array().unwrap().len() as u64, smaller["iterations"].as_u64().unwrap());
    let printed = figure_1(&["dual", "--steps", "printed", "--iterations", "500"]);
    assert_eq!(printed["converged"], false);
    assert_eq!(printed["iterations"], 500);
}

#[test]
fn sigma_of_sda_and_ese_is_the_papers() {
    let sda = json(&["theory", "sigma", "--rule", "sda", "--alpha", "2", "--json"]);
    assert!((number(&sda["sigma"]) - (1.0 + 0.5f64.sqrt())).abs() < 1e-9);
    assert_eq!(sda["copies"], 2);
    let ese = json(&["theory", "sigma", "--rule", "ese", "--alpha", "3", "--json"]);
    assert!((number(&ese["sigma"]) - 1.9196).abs() < 1e-4);
    assert!(number(&ese["resource_ratio"]) < 1.0);
}

#[test]
fn the_cut_off_is_null_if_the_variance_is_infinite() {
    let args = ["theory", "cutoff", "--machines", "3000", "--mean-tasks", "50.5", "--mean-duration", "2.5", "--json"];
    let heavy = json(&[&args[..], &["--alpha", "2"]].concat());
    assert_eq!(heavy["omega"], serde_json::Value::Null);
    assert!(heavy["reason"].as_str().unwrap().contains("infinite"));
    // Theorem 1: λ·E[m]·E[s]·4(α−1)/(2α−1) < M.
    assert!((number(&heavy["necessary_lambda"]) - 3000.0 / (50.5 * 2.5 * 4.0 / 3.0)).abs() < 1e-9);
    let light = json(&[&args[..], &["--alpha", "3"]].concat());
    let omega = number(&light["omega"]);
    assert!((number(&light["lambda"]) - omega * 3000.0 / (50.5 * 2.5)).abs() < 1e-9);
}

#[test]
fn the_speed_up_follows_from_mean_and_deviation() {
    // α = 1 + √(1 + (θ/σ)²) is 3 for θ/σ = √3, and h(2) = 1 + (1 − 1/2)/2.
    let answer = json(&["theory", "speedup", "--mean", "10", "--sd", "5.773502691896258", "--copies", "2", "--json"]);
    assert!((number(&answer["alpha"]) - 3.0).abs() < 1e-9);
    assert!((number(&answer["speedup"]) - 1.25).abs() < 1e-9);
    let even = json(&["theory", "speedup", "--mean", "10", "--sd", "0", "--copies", "3", "--json"]);
    assert_eq!((&even["alpha"], number(&even["speedup"])), (&serde_json::Value::Null, 1.0));
    assert!(even["reason"].is_string());
}

#[test]
fn the_jobs_of_figure_2_have_the_papers_priorities() {
    let answer = json(&["theory", "priorities", "--job", "10:10:1", "8:2:0.25", "8:2:0.25", "--json"]);
    assert_eq!(answer["priorities"], serde_json::json!([4, 3, 3]));
    // One job demands the whole cluster: the paper's number of levels is infinite.
    assert_eq!(answer["printed_last_level"], serde_json::Value::Null);
    assert!(answer["reason"].as_str().unwrap().contains("SHARE is 1"), "{answer}");
    let large = json(&["theory", "priorities", "--job", "100:0.001:0.00001", "--json"]);
    assert_eq!(large["priorities"], serde_json::json!([7]));
    assert!(number(&large["printed_last_level"]) < 0.0);
}

#[test]
fn a_problem_without_a_solution_says_so() {
    let answer = json(&["theory", "clones", "--job", "10:1", "--alpha", "2", "--machines", "5", "--json"]);
    assert_eq!(answer["copies"], serde_json::Value::Null);
    assert!(answer["reason"].as_str().unwrap().contains("10 tasks don't fit on 5 machines"));
    let text = run(&["theory", "clones", "--job", "10:1", "--alpha", "2", "--machines", "5"]).stdout;
    assert!(text.starts_with("no solution ") && text.contains("don't fit"), "{text}");
    assert!(!text.contains("undefined"), "{text}");
}

#[test]
fn parameters_out_of_range_are_refused() {
    for (args, expected) in [
        (&["sigma", "--rule", "sda", "--alpha", "1"][..], "--alpha is 1, but must be above 1"),
        (&["sigma", "--rule", "sda", "--alpha", "-2"], "--alpha is -2"),
        (&["sigma", "--rule", "sda", "--alpha", "nan"], "--alpha is NaN"),
        (&["sigma", "--rule", "sda", "--alpha", "2", "--s", "1"], "--s is 1, but must be"),
        (&["sigma", "--rule", "sda", "--duration", "paretto(alpha=2,mean=1)"], "did you mean \"pareto\"?"),
        (&["clones", "--job", "0:1", "--alpha", "2", "--machines", "5"], "TASKS must be at least 1"),
        (&["clones", "--job", "5:-1", "--alpha", "2", "--machines", "5"], "MU must be above 0"),
        (&["clones", "--job", "5:1", "--alpha", "2", "--machines", "5", "--gamma", "-1"], "--gamma is -1, but must be"),
        (&["speedup", "--mean", "0", "--sd", "1", "--copies", "2"], "--mean is 0, but must be above 0"),
        (&["speedup", "--mean", "1", "--sd", "-1", "--copies", "2"], "--sd is -1"),
        (&["priorities", "--job", "1:2"], "there must be three numbers"),
        (&["priorities", "--job", "1:inf:0.5"], "VOLUME must be a number from 0"),
        (&["priorities", "--job", "1:1:1.5"], "SHARE must be at most 1"),
        (&["priorities", "--job", "a:b:c"], "--job a:b:c: LENGTH must be"),
        (&["priorities", "--job", "1:1:1", "-1:1:0.5", "--json"], "--job -1:1:0.5: LENGTH must be a number from 0"),
        (&["clones", "--job", "-5:1", "--alpha", "2", "--machines", "5"], "--job -5:1: TASKS must be"),
        (&["speedup", "--mean", "-1e300", "--sd", "1", "--copies", "2"], "--mean is -1e300, but"),
        (&["speedup", "--mean", "1e-300", "--sd", "1e300", "--copies", "2"], "--mean is 1e-300 and --sd is 1e300, but"),
        (
            &["cutoff", "--alpha", "3", "--machines", "0", "--mean-tasks", "1", "--mean-duration", "1"],
            "--machines is 0, but must be positive",
        ),
    ] {
        let ran = run(&[&["theory"], args].concat());
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stdout);
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
    }
}
