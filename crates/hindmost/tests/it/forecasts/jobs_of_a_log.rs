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
