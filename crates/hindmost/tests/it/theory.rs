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

/// The command for three tasks with (t_min/D)^β = (5/10)².
const HALF: &[&str] = &["theory", "pocd", "--t-min", "5", "--deadline", "10", "--beta", "2", "--tasks", "3", "--json"];

#[test]
fn the_pocd_of_submitted_and_running_jobs_is_the_papers() {
    // R_su = (1 − (1/2)^(2(r + 1)))³: (3/4)³, (15/16)³.
    for (clones, expected) in [("0", 27.0 / 64.0), ("1", 3375.0 / 4096.0)] {
        let answer = json(&[HALF, &["--clones", clones]].concat());
        assert!((number(&answer["pocd"]) - expected).abs() < 1e-12, "{answer}");
        assert!((number(&answer["miss"]) - (1.0 - expected)).abs() < 1e-12, "{answer}");
    }
    // R_ru: (1 − 1/2)·5/(10 − 5) = 1/2 again. From the beginning, with the original of age 5: 1/4 for the original, 1 for
    // a clone of 5 s.
    let running = ["--elapsed", "5", "--progress", "0.5", "--clones", "1"];
    let answer = json(&[HALF, &running].concat());
    assert!((number(&answer["pocd"]) - 3375.0 / 4096.0).abs() < 1e-12, "{answer}");
    let answer = json(&[HALF, &["--elapsed", "5", "--clones", "1", "--formula", "shed-restart"]].concat());
    assert!((number(&answer["pocd"]) - 27.0 / 64.0).abs() < 1e-12, "{answer}");
    // Three tasks that miss with 2^-100 each: 1 − PoCD is 3·2^-100, although PoCD is 1.
    let answer = json(&[HALF, &["--clones", "49"]].concat());
    assert_eq!(number(&answer["pocd"]), 1.0);
    assert!((number(&answer["miss"]) / (3.0 * 0.5f64.powi(100)) - 1.0).abs() < 1e-12, "{answer}");
}

#[test]
fn the_pocd_is_zero_if_no_copy_can_end_in_time() {
    // (10 − 5 − 4)/5 is below 1 − φ: the base is 5. The printed formula would give (1 − 25)² for two tasks.
    for running in [&["--elapsed", "9"][..], &["--elapsed", "10"], &["--elapsed", "12", "--progress", "0.9"]] {
        let answer = json(&[HALF, &["--clones", "7"], running].concat());
        assert_eq!((number(&answer["pocd"]), number(&answer["miss"])), (0.0, 1.0));
        assert!(answer["reason"].as_str().unwrap().contains("no copy can end"), "{answer}");
    }
}

#[test]
fn chronos_has_a_pocd_and_a_machine_time() {
    // Restart: an original misses with 1/4, a backup at 2 with (5/8)². Clone: 3·(τ_kill + 5 + 5/(4 − 1)) = 3·(4 + 20/3).
    let restart = json(&[HALF, &["--clones", "1", "--formula", "chronos-restart", "--elapsed", "2"]].concat());
    assert!((number(&restart["pocd"]) - (1.0f64 - 0.25 * 25.0 / 64.0).powi(3)).abs() < 1e-12, "{restart}");
    let clone = json(&[HALF, &["--clones", "1", "--formula", "chronos-clone", "--tau-kill", "4"]].concat());
    assert!((number(&clone["pocd"]) - 3375.0 / 4096.0).abs() < 1e-12, "{clone}");
    assert!((number(&clone["machine_time"]) - 32.0).abs() < 1e-9, "{clone}");
    // Resume: φ = (2/10)·(2/3) unless it is given; 1/4·((1 − φ)·5/8)^(2·1) without clones.
    let resume = json(&[HALF, &["--clones", "0", "--formula", "chronos-resume", "--elapsed", "2"]].concat());
    assert!((number(&resume["progress"]) - 2.0 / 15.0).abs() < 1e-12, "{resume}");
    let miss = 0.25 * (13.0f64 / 15.0 * 0.625).powi(2);
    assert!((number(&resume["pocd"]) - (1.0 - miss).powi(3)).abs() < 1e-12, "{resume}");
}

#[test]
fn shed_gives_clones_to_the_job_at_risk() {
    // One job: ⌊(20 − 4 − 1)/4⌋ = 3 clones, 17 slots.
    let shed = ["theory", "shed", "--machines", "10", "--slots", "2", "--json", "--job"];
    let answer = json(&[&shed[..], &["4:10:5:2"]].concat());
    assert_eq!((&answer["clones"], &answer["slots_used"]), (&serde_json::json!([3]), &serde_json::json!(17)));
    // κ = 20 − 6 − 2 = 12. PoCDs of (1/2)^(r + 1) and (1/4)^(r + 1): 0.25 and 0.316, so A; 0.5625, so B; B has (15/16)⁴ =
    // 0.772, so A; 0.766, so A; 0.879, so B, which does not fit (10 + 4 > 12); so A.
    let answer = json(&[&shed[..], &["2:2:1:1", "4:4:1:1"]].concat());
    assert_eq!((&answer["clones"], &answer["slots_used"]), (&serde_json::json!([4, 1]), &serde_json::json!(20)));
    assert!((number(&answer["pocd"][0]) - (31.0f64 / 32.0).powi(2)).abs() < 1e-12, "{answer}");
    assert!((number(&answer["pocd"][1]) - (15.0f64 / 16.0).powi(4)).abs() < 1e-12, "{answer}");
    // Without masters κ = 14, and B's second clones fit (10 + 4 = 14).
    let answer = json(&[&shed[..], &["2:2:1:1", "4:4:1:1", "--masters", "0"]].concat());
    assert_eq!(answer["clones"], serde_json::json!([3, 2]));
    // A job whose deadline has passed gets no clones, unless as printed: then it gets all κ = 20 − 4 − 2 = 14 slots.
    let late = [&shed[..], &["2:10:5:2:11:0.5", "2:2:1:1"]].concat();
    let answer = json(&late);
    assert_eq!((&answer["clones"], number(&answer["pocd"][0])), (&serde_json::json!([0, 7]), 0.0));
    assert_eq!(json(&[&late[..], &["--hopeless", "clone"]].concat())["clones"], serde_json::json!([7, 0]));
    // The copies of a task run on different machines. One machine: no clones, in spite of ⌊(20 − 4 − 1)/4⌋ = 3. Two: one
    // clone, which uses 4 + 4 + 1 slots.
    let on = |machines: &str, slots: &str, jobs: &[&str]| {
        json(&[&["theory", "shed", "--json", "--machines", machines, "--slots", slots, "--job"], jobs].concat())
    };
    let answer = on("1", "20", &["4:10:5:2"]);
    assert_eq!((&answer["clones"], &answer["slots_used"]), (&serde_json::json!([0]), &serde_json::json!(5)));
    let answer = on("2", "10", &["4:10:5:2"]);
    assert_eq!((&answer["clones"], &answer["slots_used"]), (&serde_json::json!([1]), &serde_json::json!(9)));
    // κ = 10 − 4 − 2 = 4. A: 1 − (3/4)² = 0.4375; B: (1 − (3/9)²)³ = 0.70. A gets one clone, 0.68, and would get the next
    // one too, but there are two machines: B gets the other three slots. With ten machines A gets a second one, 0.82;
    // B's do not fit in two slots, so A has all four.
    let two = ["1:4:3:2", "3:9:3:2"];
    assert_eq!(on("2", "5", &two)["clones"], serde_json::json!([1, 1]));
    assert_eq!(on("10", "1", &two)["clones"], serde_json::json!([4, 0]));
    // First copies that do not fit.
    let answer = json(&["theory", "shed", "--machines", "2", "--slots", "1", "--json", "--job", "4:10:5:2"]);
    assert_eq!((&answer["clones"], &answer["slots_used"]), (&serde_json::json!([0]), &serde_json::json!(5)));
    assert!(answer["reason"].as_str().unwrap().contains("do not fit"), "{answer}");
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
            &["pocd", "--t-min", "0", "--deadline", "1", "--beta", "1", "--clones", "0", "--tasks", "1"],
            "--t-min is 0, but must be positive and finite",
        ),
        (
            &["pocd", "--t-min", "1", "--deadline", "-1", "--beta", "1", "--clones", "0", "--tasks", "1"],
            "--deadline is -1, but must be a finite number above 0",
        ),
        (
            &[&HALF[1..], &["--clones", "0", "--progress", "1.5"]].concat()[..],
            "--progress is 1.5, but must be from 0 to 1",
        ),
        (&[&HALF[1..], &["--clones", "0", "--formula", "chronos-restart"]].concat()[..], "give --elapsed"),
        (&[&HALF[1..], &["--clones", "0", "--tau-kill", "1"]].concat()[..], "--tau-kill needs --formula"),
        (
            &[&HALF[1..], &["--clones", "0", "--formula", "chronos-resume", "--elapsed", "2", "--tau-kill", "1"]]
                .concat()[..],
            "--tau-kill is 1, but must be at least --elapsed",
        ),
        (&["shed", "--machines", "2", "--slots", "2", "--job", "1:2:3"], "there must be four numbers, or six"),
        (&["shed", "--machines", "2", "--slots", "2", "--job", "0:2:3:1"], "TASKS must be a whole number from 1"),
        (&["shed", "--machines", "2", "--slots", "2", "--job", "1:0:3:1"], "DEADLINE must be a number above 0"),
        (&["shed", "--machines", "2", "--slots", "2", "--job", "1:2:inf:1"], "TMIN must be a number above 0"),
        (&["shed", "--machines", "2", "--slots", "2", "--job", "1:2:3:1:-1:0"], "ELAPSED must be a number from 0"),
        (&["shed", "--machines", "2", "--slots", "2", "--job", "1:2:3:1:1:2"], "PROGRESS must be a number from 0 to 1"),
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

#[test]
fn options_of_pocd_that_do_nothing_are_errors() {
    let base = ["theory", "pocd", "--t-min", "5", "--deadline", "4", "--beta", "2", "--clones", "2", "--tasks", "3"];
    let with = |more: &[&'static str]| [&base[..], more].concat();
    // No attempt takes less than 5 s: 2/5·2/3.
    let answer = json(&with(&["--formula", "chronos-resume", "--elapsed", "2", "--json"]));
    assert!((number(&answer["progress"]) - 4.0 / 15.0).abs() < 1e-9, "{answer}");
    for (more, expected) in [
        (&["--formula", "chronos-clone", "--progress", "0.3"][..], "--progress needs --formula shed or chronos-resume"),
        (&["--formula", "chronos-clone", "--elapsed", "3"], "--elapsed does nothing with --formula chronos-clone"),
        (&["--deadline", "inf"], "--deadline is inf, but must be a finite number above 0"),
        (&["--clones", "1000000000000"], "give a whole number from 0 to 4294967295"),
    ] {
        let given: Vec<&str> = if more[0] == "--deadline" || more[0] == "--clones" {
            let at = base.iter().position(|one| *one == more[0]).unwrap();
            [&base[..at], &base[at + 2..], more].concat()
        } else {
            with(more)
        };
        let ran = run(&given);
        assert_eq!((ran.code, ran.stderr.contains(expected)), (Some(2), true), "{}", ran.stderr);
    }
}
