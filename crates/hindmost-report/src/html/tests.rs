//! Tests of whole pages. For any names and numbers, pages are well formed and not too large, load nothing and run no
//! scripts.

use std::collections::BTreeMap;
use std::sync::Arc;

use hindmost_core::cluster::Placement;
use hindmost_core::estimator::Knowledge;
use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
use hindmost_core::metrics::{
    ByCorrelation, Cdf, Comparison, Copies, CorrelationResult, FailedTask, PolicyCurves, PolicyResult, Recommendation,
    RunState, RunSummary, ShownJob, Summary, VersusFirst,
};
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;
use hindmost_core::timeline::{AttemptEnd, Cause, Timeline, TimelineJob, TimelineNode, TimelineRow};
use hindmost_core::workload::{JobSpec, PhaseSpec};

use super::*;
use crate::figures::HOSTILE;
use crate::markup::{Element, check};
use crate::reproduction::html_pages;
use crate::reproduction::tests::hostile as hostile_reproduction;

mod applications;
mod energies;
mod intervals;
mod rankings;
mod reproductions;
mod sweeps;

/// Checks that a page is well formed and not too large, and returns its elements.
fn sound(page: &str) -> Vec<Element> {
    let found = check(page);
    assert!(page.len() < 800_000, "{} bytes", page.len());
    found
}

fn summary(values: &[f64]) -> Summary {
    let halves: Vec<&[f64]> = values.chunks(values.len().div_ceil(2).max(1)).collect();
    Summary::of(&halves)
}

pub(crate) fn result(policy: &str, set: &[(&str, &str)], factor: f64) -> PolicyResult {
    let values: Vec<f64> = (1..=40).map(|at| f64::from(at) * factor).collect();
    PolicyResult {
        policy: policy.to_owned(),
        set: set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        jobs: 40,
        unfinished_jobs: 0,
        abandoned_jobs: 0,
        tasks: 400,
        attempts: 444,
        flowtime: summary(&values),
        running_time: summary(&values),
        resource: Summary { total: Some(820.0), ..summary(&values) },
        slowdown: summary(&values),
        utilization: 0.5,
        makespan: 100.0,
        lost_attempts: 0,
        disturbances: None,
        copies: Copies { launched: 44, won: 22, wasted_share: 0.1 },
        versus_first: VersusFirst {
            flowtime_ratio: Some(factor),
            ci95: Some([factor * 0.9, factor * 1.1]),
            bootstrap_ci95: Some([factor * 0.92, factor * 1.12]),
        },
        energy_joules: None,
        energy: None,
        pocd: Some(0.75),
        deadlines: None,
        events: 1000,
    }
}

pub(crate) fn compared(results: Vec<PolicyResult>) -> Comparison {
    Comparison {
        scenario: "small".to_owned(),
        seeds: vec![1, 2],
        knowledge: Knowledge::Progress(0.2),
        placement: Placement::Random,
        gamma: 1.0,
        results,
        cautions: Vec::new(),
        notes: vec!["order fair".to_owned()],
        recorded: Vec::new(),
        load: Vec::new(),
        by_correlation: None,
        recommendation: Vec::new(),
    }
}

fn curves(count: usize) -> Vec<PolicyCurves> {
    let cdf = |factor: f64| Cdf::of((1..=40).map(|at| f64::from(at) * factor).collect());
    (0..count).map(|at| PolicyCurves { flowtime: cdf(1.0 + at as f64), resource: cdf(0.1) }).collect()
}

fn comparison(compared: &Comparison, jobs: &[ShownJob]) -> String {
    let again = vec![Step { text: "So:".to_owned(), code: "hindmost simulate small --out DIR".to_owned() }];
    let curves = curves(compared.results.len());
    comparison_page(&ComparisonPage { compared, curves: &curves, jobs, applications: &[], again: &again })
}

fn seconds(at: f64) -> Time {
    Time::from_seconds(at)
}

/// Returns a run of a job of two phases with a copy that finishes first, an attempt that fails, a lost node, and an
/// attempt that is stopped with the run. `names` are the names of the job, phase and node, and the reason of the
/// failure.
fn timeline(names: &[&str; 4]) -> Timeline {
    let [job, phase, node, reason] = names.map(Arc::<str>::from);
    let phase_spec = |name: Arc<str>, after: Vec<u32>, tasks| PhaseSpec { after, ..PhaseSpec::new(name, tasks, 1.0) };
    let spec = JobSpec {
        arrival: seconds(1.0),
        ..JobSpec::new(
            job,
            vec![phase_spec(phase.clone(), Vec::new(), 3), phase_spec(format!("{phase}2").into(), vec![0], 1)],
        )
    };
    let row = |phase, index, copy, node, span: [f64; 2], outcome, redundant| TimelineRow {
        attempt: AttemptId { task: TaskId { job: JobId(0), phase, index }, copy },
        node: NodeId(node),
        start: seconds(span[0]),
        end: seconds(span[1]),
        outcome,
        redundant,
        from_progress: 0.0,
        usage: None,
    };
    let lost_and_returned = vec![seconds(3.0), seconds(4.0)];
    let joined = |name: &str, lost_and_returned| TimelineNode {
        name: name.into(),
        capacity: Resources::ONE_SLOT,
        lost_and_returned,
    };
    Timeline {
        nodes: vec![joined(&node, Vec::new()), joined(&format!("{node}2"), lost_and_returned)],
        jobs: vec![TimelineJob { spec: Arc::new(spec), arrival: seconds(1.0), finish: None, abandoned: None }],
        rows: vec![
            row(0, 0, 0, 0, [1.0, 6.0], AttemptEnd::Lost, false),
            row(0, 1, 0, 1, [1.0, 3.0], AttemptEnd::NodeLost, false),
            row(0, 2, 0, 0, [1.5, 2.0], AttemptEnd::Failed(Cause::Own(reason)), false),
            row(0, 0, 1, 1, [4.0, 6.0], AttemptEnd::Won, true),
            row(0, 1, 1, 0, [4.0, 7.0], AttemptEnd::Won, false),
            row(0, 2, 1, 0, [4.5, 7.0], AttemptEnd::Won, false),
            row(1, 0, 0, 1, [7.0, 9.0], AttemptEnd::Stopped, false),
        ],
        end: seconds(9.0),
        pauses: Vec::new(),
        withdrawn: Vec::new(),
    }
}

fn reasons(why: &str) -> BTreeMap<AttemptId, String> {
    let copy = AttemptId { task: TaskId { job: JobId(0), phase: 0, index: 0 }, copy: 1 };
    BTreeMap::from_iter([(copy, why.to_owned())])
}

fn shown(names: &[&str; 4], policy: &str) -> ShownJob {
    ShownJob {
        policy: policy.to_owned(),
        chosen: format!("the slowest job under {policy}"),
        seed: 1,
        flowtime: Some(8.0),
        timeline: timeline(names),
        reasons: reasons(names[3]),
    }
}

fn run_summary(names: &[&str; 4], state: RunState) -> RunSummary {
    let failed = FailedTask {
        phase: names[1].to_owned(),
        task: 2,
        failures: 3,
        reason: names[3].to_owned(),
        stderr: format!("first line\n\t{}\nlast line", names[3]),
        input: Some(names[3].to_owned()),
        matrix: BTreeMap::from([(names[3].to_owned(), names[3].to_owned())]),
        command: names[3].to_owned(),
        stdout: names[3].to_owned(),
        stderr_log: Some(names[3].to_owned()),
        ..FailedTask::default()
    };
    let timeline = timeline(names);
    RunSummary::of(&timeline, state, vec![failed], names[0].to_owned(), names[2].to_owned()).unwrap()
}

#[test]
fn the_page_has_recommendations_and_correlations() {
    let mut with = compared(vec![result("none", &[], 1.0), result("pace", &[], 0.5)]);
    assert!(!comparison(&with, &[]).contains("Recommendation"));
    let at = |policy: &str, correlation, ratio| CorrelationResult {
        policy: policy.to_owned(),
        correlation,
        flowtime_mean: Some(2.0),
        resource_mean: Some(1.0),
        versus_first: VersusFirst { flowtime_ratio: Some(ratio), ci95: None, bootstrap_ci95: None },
        resource_ratio: Some(1.25),
    };
    with.by_correlation = Some(ByCorrelation {
        seeds: vec![1, 2],
        used: 0.0,
        correlations: vec![0.0, 0.9],
        results: vec![at("none", 0.0, 1.0), at("pace", 0.0, 0.5), at("none", 0.9, 1.0), at("pace", 0.9, 0.875)],
    });
    with.recommendation = vec![Recommendation {
        set: Vec::new(),
        policy: Some("pace".to_owned()),
        versus: "none".to_owned(),
        flowtime_ratio: Some(0.5),
        ci95: Some([0.4, 0.6]),
        resource_ratio: Some(0.9),
        not_distinguishable: Vec::new(),
        at_correlations: Vec::new(),
        cheaper: None,
        worst_case: None,
        elsewhere: None,
        correlation: None,
        text: "pace, whose <mean> is shorter".to_owned(),
    }];
    let page = comparison(&with, &[]);
    sound(&page);
    for text in [
        "Recommendation: pace, whose &lt;mean&gt; is shorter.",
        "correlation 0.9",
        "0.875",
        "1.25",
        "All other figures",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
}

#[test]
fn the_page_of_a_resumed_run_shows_its_pauses() {
    let names = ["job", "map", "node", "exit code 1"];
    let mut timeline = timeline(&names);
    timeline.pauses = vec![[seconds(7.25), seconds(8.5)]];
    let (policy, knowledge) = ("none".to_owned(), "age".to_owned());
    let summary = RunSummary::of(&timeline, RunState::Done, Vec::new(), policy, knowledge).unwrap();
    let page =
        RunPage { summary: &summary, timeline: &timeline, reasons: &BTreeMap::new(), work: "", faults: "", again: &[] };
    let page = run_page(&page);
    for text in ["without 1.25 s of pauses", "run paused", "pauses included", "Over all nodes: the run was paused"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(!run(&names, RunState::Done).contains("pause"));
}

fn run(names: &[&str; 4], state: RunState) -> String {
    let again = [Step { text: "Why:".to_owned(), code: format!("hindmost explain {}", names[0]) }];
    let page = RunPage {
        summary: &run_summary(names, state),
        timeline: &timeline(names),
        reasons: &reasons(names[3]),
        work: names[3],
        faults: names[2],
        again: &again,
    };
    run_page(&page)
}

/// Returns texts that a log or a job file may contain, with markup or control characters; one of them is very long.
fn hostile() -> Vec<String> {
    HOSTILE.iter().map(|name| (*name).to_owned()).chain(["<x>&\u{202e}\n".repeat(200_000)]).collect()
}

#[test]
fn names_with_markup_are_shown_as_text() {
    for name in hostile() {
        let text = name.as_str();
        let names = [text; 4];
        let mut results = Vec::new();
        for value in ["1", "2", text] {
            results.extend([result(text, &[(text, value)], 1.0), result("sca(max_copies=4)", &[(text, value)], 0.7)]);
        }
        let mut compared = compared(results);
        compared.scenario = text.to_owned();
        compared.notes = vec![text.to_owned()];
        let pages = [comparison(&compared, &[shown(&names, text), shown(&names, text)]), run(&names, RunState::Failed)];
        let reproduced = html_pages(&hostile_reproduction(text), true, &[]);
        for page in pages.into_iter().chain(reproduced.into_iter().map(|page| page.text)) {
            sound(&page);
            assert!(!page.contains("<script") && !page.contains("<img"), "{text:.40}");
        }
    }
}

#[test]
fn escaped_names_are_readable() {
    let page = run(&["job <1>", "map & reduce", "n\u{202e}1", "exit \"3\"\u{1b}[31m"], RunState::Failed);
    for part in ["job &lt;1&gt;", "map &amp; reduce", "n\\u{202e}1", "exit &quot;3&quot;\\u{1b}[31m"] {
        assert!(page.contains(part), "{part}");
    }
    // Line ends and tabs of a command's output are kept.
    assert!(page.contains("first line\n\texit"), "{page}");
}

#[test]
fn pages_of_runs_show_how_they_ended() {
    let names = ["count", "map", "n", "exit code 1"];
    for (state, text) in [
        (RunState::Done, "Done in"),
        (RunState::Failed, "Failed after 8.00 s: 3 of 4 tasks finished"),
        (RunState::Interrupted, "Interrupted after"),
    ] {
        let page = run(&names, state);
        assert!(page.contains(text), "{text}\n{page}");
        for part in [
            "map/0",
            "Attempt 1 (copy) on n2, started after 4.00 s because exit code 1; finished first",
            "finished first, in 2.00 s; attempt 0 had run for 5.00 s",
            "lost with its node",
            "exit code 1",
        ] {
            assert!(page.contains(part), "{part}");
        }
    }
}

#[test]
fn pages_of_comparisons_state_the_results() {
    let compared = compared(vec![result("none", &[], 1.0), result("pace", &[], 0.5)]);
    let page = comparison(
        &compared,
        &[shown(&["j", "map", "n", "it lagged"], "none"), shown(&["j", "map", "n", "it lagged"], "pace")],
    );
    sound(&page);
    for part in [
        "pace has the lowest mean flowtime: 10.2 s, which is 50.0% of the one under none (95% interval 46.0% to 56.0%)",
        "The resource that its jobs use is 50.0% of what they use under none.",
        "once 20% of its work is done",
        "mean flowtime (s)",
        "22 won of 44",
        "Attempts under pace by task (times count from the job&#39;s arrival)",
        "<b>map/0</b>: Attempt 0 on n, started after 0 s; stopped after 5.00 s for another copy. Attempt 1 (copy) \
         on n2, started after 3.00 s because it lagged; finished first, in 2.00 s.",
        "<b>map/1</b>: Attempt 0 on n2, started after 0 s; lost with its node after 2.00 s.",
        "deadlines met",
        "hindmost simulate small --out DIR",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    assert_eq!(
        page,
        comparison(
            &compared,
            &[shown(&["j", "map", "n", "it lagged"], "none"), shown(&["j", "map", "n", "it lagged"], "pace")]
        )
    );
}

/// Readers on paper and on touch screens cannot open details or see tooltips. So details are open in print, and lists
/// have the content of all tooltips.
#[test]
fn printed_pages_have_open_details_and_all_attempts() {
    let page = comparison(&compared(vec![result("none", &[], 1.0)]), &[shown(&["j", "map", "n", "it lagged"], "none")]);
    let (_, print) = page.split_once("@media print{").unwrap();
    let (print, _) = print.split_once("</style>").unwrap();
    assert!(print.contains("details::details-content{content-visibility:visible;display:block}"), "{print}");
    assert!(!print.contains("details:not([open])"), "{print}");
    // Browsers print SVG patterns as bitmaps, so hatching consists of paths.
    assert!(page.contains("class=\"hm-hatch\"") && !page.contains("<pattern"), "{page}");
    // Each attempt of the picture is in the list below it.
    let (picture, list) = page.split_once("<details>").unwrap();
    assert!(!page.contains("resting a pointer"), "{page}");
    let bars = picture.matches("<title>map").count();
    assert_eq!(bars, 7, "{picture}");
    let list = list.split_once("</details>").unwrap().0;
    assert_eq!(list.matches("Attempt ").count(), bars, "{list}");
    for node in ["on n,", "on n2,"] {
        assert!(list.contains(node), "{list}");
    }
}

/// The comparison has 10 policies at 5 points, distributions of 200 000 jobs, and jobs of 20 000 attempts.
#[test]
fn pages_of_large_comparisons_stay_small() {
    let mut results = Vec::new();
    for point in 0..5 {
        for policy in 0..10 {
            results.push(result(
                &format!("policy(number={policy})"),
                &[("rate", &point.to_string())],
                1.0 + f64::from(policy),
            ));
        }
    }
    let compared = compared(results);
    let cdf = |at: usize| Cdf::of((0..200_000).map(|job| (f64::from(job) / 1e4 + at as f64).exp()).collect());
    let few: Vec<PolicyCurves> = (0..10).map(|at| PolicyCurves { flowtime: cdf(at), resource: cdf(at) }).collect();
    let curves: Vec<PolicyCurves> = (0..compared.results.len()).map(|at| few[at % 10].clone()).collect();
    let mut huge = shown(&["j", "map", "n", "it lagged"], "none");
    let task = |index: u32, copy| AttemptId { task: TaskId { job: JobId(0), phase: 0, index }, copy };
    let row = huge.timeline.rows[0].clone();
    huge.timeline.rows = (0..20_000)
        .map(|at| TimelineRow {
            attempt: task(at / 2, at % 2),
            redundant: at % 2 == 1,
            end: seconds(2.0 + f64::from(at % 977)),
            ..row.clone()
        })
        .collect();
    let jobs = vec![huge; 6];
    let page = comparison_page(&ComparisonPage {
        compared: &compared,
        curves: &curves,
        jobs: &jobs,
        applications: &[],
        again: &[],
    });
    sound(&page);
    assert!(page.len() < 500_000, "{}", page.len());
    let bars = page.matches("finished first").count() + page.matches("for another copy").count();
    assert!(bars < 3000, "{bars}");
}

#[test]
fn pages_of_large_runs_are_small_and_name_what_is_left_out() {
    let names = ["count", "map", "n", "exit code 1"];
    let mut timeline = timeline(&names);
    let (node, row) = (timeline.nodes[0].clone(), timeline.rows[0].clone());
    timeline.nodes = (0..1000).map(|at| TimelineNode { name: format!("node-{at}").into(), ..node.clone() }).collect();
    timeline.rows = (0..100_000u32)
        .map(|at| TimelineRow {
            attempt: AttemptId { task: TaskId { index: at, ..row.attempt.task }, copy: 0 },
            node: NodeId(at % 1000),
            start: seconds(f64::from(at / 1000)),
            end: seconds(f64::from(at / 1000) + 0.9),
            outcome: if at == 55_777 { AttemptEnd::Failed(Cause::External(None)) } else { AttemptEnd::Won },
            redundant: at == 40_444,
            ..row.clone()
        })
        .collect();
    timeline.end = seconds(101.0);
    let summary = run_summary(&names, RunState::Done);
    let page = RunPage {
        summary: &summary,
        timeline: &timeline,
        reasons: &BTreeMap::default(),
        work: "",
        faults: "",
        again: &[],
    };
    let page = run_page(&page);
    sound(&page);
    for part in [
        "of 1 000 nodes",
        "node-777",
        "node-444",
        "failed, killed from outside",
        "120 of 100 000 attempts are listed",
        "<b>map/0</b>: Attempt 0 on node-0, started after 0 s; finished first, in 900 ms.",
        "Solid: finished first. Cross: failed. Diamond: a copy, which",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // The caption explains only signs that are drawn.
    for sign in ["Hatched", "Dashed", "Crossed-out", "Grey"] {
        assert!(!page.contains(&format!("{sign}: ")), "{sign}");
    }
}

#[test]
fn long_names_break_after_brackets_and_commas() {
    let markup = comparison(&compared(vec![result("<b>(1,2)", &[], 1.0)]), &[]);
    assert!(markup.contains("<bdi>&lt;b&gt;(<wbr />1,<wbr />2)</bdi>"), "{markup}");
    let page = comparison(&compared(vec![result("mantri(delta=0.5,kill_restart=true)", &[], 1.0)]), &[]);
    assert!(page.contains("<bdi>mantri(<wbr />delta=0.5,<wbr />kill_restart=true)</bdi>"), "{page}");
}

#[test]
fn means_have_as_many_decimals_as_their_intervals() {
    for (mean, half, text) in [
        (9.5731, 1.005, "9.6 ± 1.0"),
        (3.7421, 0.09934, "3.742 ± 0.099"),
        (0.57421, 0.02065, "0.574 ± 0.021"),
        (874.3, 106.2, "870 ± 110"),
        (12345.6, 0.01, "12345.600 ± 0.010"),
        (5.0, 0.0, "5.000"),
        (5.0, 8.9e-16, "5.000"),
    ] {
        assert_eq!(measured(Some(mean), Some([mean - half, mean + half])), text);
    }
    assert_eq!(measured(None, None), "–");
    assert_eq!(measured(Some(2.5), None), "2.500");
}

#[test]
fn a_small_page_is_unchanged() {
    let page = run(&["count", "map", "n", "exit code 1"], RunState::Failed);
    // The snapshot leaves out the styles.
    let (_, body) = page.split_once("</style>").unwrap();
    insta::assert_snapshot!(body.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
}
