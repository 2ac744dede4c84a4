//! Forecasts for logs of several jobs: output of Slurm, and tables.

use std::fmt::Write as _;
use std::fs;

use tempfile::TempDir;

use super::{alike, said_about, unwrapped};
use crate::json as printed;

/// Tasks of three jobs of 40 each on 8 slots of 4 nodes, of which one other task hangs in each job: job, task, node, start, end.
fn tasks() -> Vec<(usize, usize, usize, u32, u32)> {
    let mut all = Vec::new();
    for job in 0..3 {
        let mut free: Vec<(u32, usize)> = (0..8).map(|slot| (10_000 * job as u32, slot)).collect();
        for (task, seconds) in alike(40).enumerate() {
            let seconds = if task == 11 + 7 * job { 500 } else { (60.0 * seconds) as u32 };
            free.sort_unstable();
            let (start, slot) = free[0];
            free[0].0 = start + seconds;
            all.push((job, task, slot / 2, start, start + seconds));
        }
    }
    all
}

/// A time of a day, for seconds from its begin.
fn clock(seconds: u32) -> String {
    format!("2026-03-01T{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[test]
fn arrays_of_slurm_are_forecast_as_the_jobs_that_they_are() {
    let mut log = "JobID|JobName|State|Submit|Start|End|NodeList|AllocCPUS\n".to_owned();
    for (job, task, node, start, end) in tasks() {
        let (submitted, start, end) = (clock(10_000 * job as u32), clock(start), clock(end));
        writeln!(log, "7{job}_{task}|fit|COMPLETED|{submitted}|{start}|{end}|node{node}|1").unwrap();
    }
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("sacct.txt"), log).unwrap();
    let (said, text, _) = said_about(folder.path(), "sacct.txt");
    let calibration = &said["advice"]["calibration"];
    assert_eq!((calibration["jobs"].as_u64(), calibration["calibrated"].as_bool()), (Some(3), Some(true)));
    // A replay gives each job the same time.
    let path = folder.path().join("sacct.txt");
    let replayed = printed(&["replay", path.to_str().unwrap(), "--policy", "none", "--seeds", "1", "--json"]);
    assert_eq!(calibration["job_time_mean"], replayed["recorded"][0]["job_time_mean"]);
    assert!(!unwrapped(&text).contains("are left out"), "{text}");
}

#[test]
fn a_gain_that_rests_on_the_same_tasks_in_other_jobs_says_so() {
    let mut log = "job,phase,task,node,start,end\n".to_owned();
    for (job, task, node, start, end) in tasks() {
        writeln!(log, "day{job},map,part-{task},node{node},{},{}", 1_790_000_000 + start, 1_790_000_000 + end).unwrap();
    }
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("days.csv"), log).unwrap();
    let (said, text, _) = said_about(folder.path(), "days.csv");
    let page = fs::read_to_string(folder.path().join("advice/log-1-application-1.html")).unwrap();
    let rests = "that other jobs have too, by the same name in a phase with the same name and number of tasks";
    assert!(said["advice"]["evidence"].as_str().unwrap().contains(rests), "{said}");
    assert!(unwrapped(&text).contains(rests) && unwrapped(&page).contains(rests), "{text}");
}

/// A table of two jobs of 40 tasks that are submitted together, on 8 slots of 4 nodes: the first job gets slots first, or the jobs
/// take turns.
fn two_jobs(are_fair: bool) -> String {
    let mut log = "job,phase,task,node,submitted,start,end\n".to_owned();
    let mut free: Vec<(u32, usize)> = (0..8).map(|slot| (0, slot)).collect();
    let (mut left, seconds) = ([40, 40], |task: usize| 20 + (task * 7 % 5) as u32);
    for number in 0..80 {
        free.sort_unstable();
        let (start, slot) = free[0];
        let job = if are_fair { number % 2 } else { usize::from(left[0] == 0) };
        left[job] -= 1;
        free[0].0 = start + seconds(left[job]);
        let _ = writeln!(log, "job-{job},load,{},n{},0,{start},{}", left[job], slot / 2, free[0].0);
    }
    log
}

#[test]
fn jobs_get_slots_in_the_order_that_gives_the_recorded_times() {
    let folder = TempDir::new().unwrap();
    for (are_fair, order) in [(false, "fifo"), (true, "fair")] {
        fs::write(folder.path().join("log.csv"), two_jobs(are_fair)).unwrap();
        let ran = crate::run_in(folder.path(), &["replay", "log.csv", "--policy", "none", "--json"]);
        let printed: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        let recorded = &printed["recorded"][0];
        let off = recorded["ratio"].as_f64().unwrap() - 1.0;
        assert!(off.abs() < 0.03, "{recorded}");
        let notes = printed["notes"].to_string();
        let said = format!("order {order}, ");
        assert!(notes.contains("Slots explain it") && notes.contains(&said), "{order}: {notes}");
        // Another order is another comparison, but no other recorded time.
        let other = if are_fair { "order=fifo" } else { "order=fair" };
        let ran = crate::run_in(folder.path(), &["replay", "log.csv", "--policy", "none", "--set", other, "--json"]);
        let other: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(other["recorded"][0]["ratio"], recorded["ratio"]);
        // A phase can start when its first task did, so a later job that had to wait is not ahead in any order.
        let means = [&other, &printed].map(|one| one["results"][0]["flowtime"]["mean"].clone());
        assert_eq!(means[0] == means[1], !are_fair, "{means:?}");
    }
}
