//! The report pages that commands write with their results.

use std::fs;

use crate::{Ran, run_in};

/// Returns the page that a command has written, after checks that hold for every page.
fn page(folder: &std::path::Path, ran: &Ran) -> String {
    assert!(!ran.stderr.contains("could not be written"), "{}", ran.stderr);
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    for part in ["<script", "src=", "href=", "url(h", "@import", "NaN"] {
        assert!(!page.contains(part), "{part}");
    }
    page
}

const SMALL: &[&str] =
    &["simulate", "--set", "horizon=20", "--set", "cluster.machines=30", "--policy", "none,mantri", "--seeds", "2"];

#[test]
fn a_comparison_page_does_not_depend_on_the_threads() {
    let folder = tempfile::tempdir().unwrap();
    let mut pages = Vec::new();
    for (out, threads) in [("one", "1"), ("three", "3")] {
        let ran = run_in(folder.path(), &[SMALL, &["--out", out, "--threads", threads]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        pages.push(page(&folder.path().join(out), &ran));
    }
    assert_eq!(pages[0], pages[1]);
    for part in [
        "mean flowtime (s)",
        "Share of jobs by flowtime",
        "Copies started and copies that won",
        "The slowest job under none, seed 1",
        "hindmost simulate quickstart --policy none,mantri --seeds 2 --set horizon=20 --set cluster.machines=30 --out DIR",
    ] {
        assert!(pages[0].contains(part), "{part}");
    }
}

#[test]
fn the_page_of_a_sweep_has_curves() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = ["--sweep", "knowledge=oracle,age", "--sweep", "cluster.machines=20,40", "--out", "out"];
    let ran = run_in(folder.path(), &[SMALL, &sweep].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let page = page(&folder.path().join("out"), &ran);
    for part in [
        "Results by cluster.machines at knowledge = oracle",
        "Results by cluster.machines at knowledge = age",
        "Results at",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn sweeps_show_the_number_of_jobs_at_each_point() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = ["--sweep", "workload.arrival.poisson.rate=0.5,2", "--sweep", "slot=0.1,0.5", "--out", "out"];
    let ran = run_in(folder.path(), &[SMALL, &sweep].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let page = page(&folder.path().join("out"), &ran);
    let summary: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("out/summary.json")).unwrap()).unwrap();
    let jobs = |at: usize| summary["results"][at]["jobs"].as_u64().unwrap();
    // Four points with two policies each. The rate changes slowest.
    let (fewest, most) = (jobs(0), jobs(7));
    assert!(fewest < most, "{fewest} {most}");
    let heading = ran.stdout.lines().next().unwrap();
    assert!(heading.starts_with(&format!("quickstart: {fewest} to {most} jobs of ")), "{heading}");
    let point = format!("workload.arrival.poisson.rate = 2, slot = 0.5: {most} jobs of ");
    assert!(ran.stdout.contains(&point), "{}", ran.stdout);
    for part in [
        &format!("{fewest} to {most} jobs of "),
        "at 4 points of a sweep, each point on the same jobs for all policies",
        "arrival rate (jobs a second",
        "time between decisions swept, arrivals until 20 s",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn a_failed_run_has_a_page_with_its_tasks_output() {
    let folder = tempfile::tempdir().unwrap();
    let job = "name = \"j\"\n[[phase]]\nname = \"report.html\"\ntasks = 2\nretries = 0\n\
               command = \"echo '<b>no</b> &' >&2; exit 3\"\n";
    fs::write(folder.path().join("j.toml"), job).unwrap();
    let ran = run_in(folder.path(), &["run", "j.toml", "--nodes", "n1:1"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    // The phase is called report.html, so the page of the run is written into .hindmost.
    let page = page(&folder.path().join("j.out/.hindmost"), &ran);
    for part in ["Failed after", "exit code 3", "&lt;b&gt;no&lt;/b&gt; &amp;"] {
        assert!(page.contains(part), "{part}\n{page}");
    }
}

#[test]
fn a_run_succeeds_although_its_page_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let job = "name = \"j\"\n[[phase]]\nname = \"a\"\ntasks = 1\n\
               command = \"mkdir -p \\\"$HINDMOST_FROM/report.html/x\\\"; echo 1 > \\\"$HINDMOST_OUTPUT/r\\\"\"\n";
    fs::write(folder.path().join("j.toml"), job).unwrap();
    let ran = run_in(folder.path(), &["run", "j.toml", "--nodes", "n1:1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("the report could not be written"), "{}", ran.stderr);
    assert!(folder.path().join("j.out/a/0/r").is_file());
}

#[test]
fn the_page_of_a_run_says_why_copies_were_started() {
    let folder = tempfile::tempdir().unwrap();
    // The first attempt of task 3 waits until a copy of it has been started.
    let job = "name = \"j\"\n[[phase]]\nname = \"a\"\ntasks = 8\n\
               command = \"if [ $HINDMOST_TASK = 3 ] && [ $HINDMOST_ATTEMPT = 0 ]; then sleep 600; fi; sleep 0.1\"\n";
    fs::write(folder.path().join("j.toml"), job).unwrap();
    let ran = run_in(folder.path(), &["run", "j.toml", "--nodes", "n1:2,n2:2", "--knowledge", "age"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let page = page(&folder.path().join("j.out"), &ran);
    assert!(page.contains("Copies and why they were started") && page.contains("finished first, in"), "{page}");
    assert!(!page.contains("no reason is recorded"), "{page}");
    // The page is not a result: the run can still be explained, verified and replayed.
    assert_eq!(run_in(folder.path(), &["verify", "j.out"]).code, Some(0));
}
