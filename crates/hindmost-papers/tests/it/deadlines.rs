//! Deadlines and abandoned jobs, in a paper of two jobs whose numbers follow by hand.
//!
//! Four machines. "late" has one task of 10 s and its deadline at 3 s; "next" arrives at 5 with one task of 2 s and its
//! deadline at 14. The shortest duration that policies know is 1 s.

use std::fs;

use hindmost_claims::Reproduction;
use hindmost_papers::{Folder, Paper, Selection};
use tempfile::TempDir;

use crate::made;

const PAPER: &str = include_str!("deadlines/paper.toml");

const JOBS: &str = r#"{"job":"late","arrival":0,"deadline":3,"phases":[{"name":"all","after":[],"demand":{"cpus":1},"mean":2,"sd":null,"tail":{"pareto":{"alpha":2,"mean":2}},"tasks":[[10,10,10]]}]}
{"job":"next","arrival":5,"deadline":9,"phases":[{"name":"all","after":[],"demand":{"cpus":1},"mean":2,"sd":null,"tail":{"pareto":{"alpha":2,"mean":2}},"tasks":[[2,2,2]]}]}
"#;

const SCENARIO: &str = r#"
name = "two"
knowledge = "oracle"
cluster = { machines = 4 }
workload = { arrival = { at_once = { jobs = 1 } }, tasks = 1, duration = 1 }
"#;

fn reproduction() -> Reproduction {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("paper.toml"), PAPER).unwrap();
    fs::write(folder.path().join("jobs.jsonl"), JOBS).unwrap();
    fs::write(folder.path().join("two.toml"), SCENARIO).unwrap();
    let paper = Paper::load(Folder::Disk(folder.path().to_owned())).unwrap();
    made(&paper, &Selection::default(), 1).unwrap().reproduction
}

#[test]
fn abandoned_jobs_miss_their_deadlines_and_have_no_flowtime() {
    let table = serde_json::to_value(&reproduction().figures[0].tables[0]).unwrap();
    assert_eq!(table["columns"][1], "PoCD (%)");
    // Every second column is the half width of an interval.
    let row = |at: usize| [1, 3, 5, 7, 9].map(|column| table["rows"][at][column].as_f64().unwrap());
    // "late" ends at 10, "next" at 7. The machines are busy for 10 + 2 of 4 · 10 s, and the flowtimes are 10 and 2 s.
    assert_eq!(row(0), [50.0, 0.0, 30.0, 2.0, 6.0]);
    // Each job gets two clones, and one slot is for its application master. "late" is abandoned at 5, when "next"
    // arrives, which ends at 7. The machines are busy for 3 · 5 + 3 · 2 of 4 · 7 s.
    assert_eq!(row(1), [50.0, 50.0, 75.0, 1.0, 2.0]);
}
