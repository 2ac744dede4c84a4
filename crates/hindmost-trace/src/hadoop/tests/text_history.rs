//! Job histories of Hadoop 0.16 to 1.x.

use super::{counted, trace};
use crate::hadoop::{HadoopFormat, sniff};

/// A job of Hadoop 1.x with two maps and a reduce. The first attempt of the second map fails with a stack trace over
/// several lines; a copy of the first map is killed. Times are in milliseconds after 1 700 000 000 000.
fn history() -> String {
    let map = |task: u32, attempt: u32, rest: &str| {
        format!(
            "MapAttempt TASK_TYPE=\"MAP\" TASKID=\"task_201203_0007_m_00000{task}\" \
             TASK_ATTEMPT_ID=\"attempt_201203_0007_m_00000{task}_{attempt}\" {rest} .\n"
        )
    };
    let started = |time: u32, host: &str| {
        format!(
            "START_TIME=\"170000000{time:04}\" TRACKER_NAME=\"tracker_{host}:localhost/127\\.0\\.0\\.1:4\" HTTP_PORT=\"50060\""
        )
    };
    let ended = |how: &str, time: u32, host: &str| {
        format!("TASK_STATUS=\"{how}\" FINISH_TIME=\"170000000{time:04}\" HOSTNAME=\"/default-rack/{host}\"")
    };
    let read = "COUNTERS=\"{(FileSystemCounters)(FileSystemCounters)[(HDFS_BYTES_READ)(HDFS_BYTES_READ)(500)]}\"";
    let mut log = "Meta VERSION=\"1\" .\n".to_owned();
    log += "Job JOBID=\"job_201203_0007\" JOBNAME=\"word\\.count\" USER=\"u\" SUBMIT_TIME=\"1700000000000\" JOBCONF=\"hdfs://n\" .\n";
    log += "Job JOBID=\"job_201203_0007\" LAUNCH_TIME=\"1700000000100\" TOTAL_MAPS=\"2\" TOTAL_REDUCES=\"1\" JOB_STATUS=\"PREP\" .\n";
    log += "Task TASKID=\"task_201203_0007_m_000003\" TASK_TYPE=\"SETUP\" START_TIME=\"1700000000150\" SPLITS=\"\" .\n";
    log += "Task TASKID=\"task_201203_0007_m_000000\" TASK_TYPE=\"MAP\" START_TIME=\"1700000000200\" SPLITS=\"/default-rack/n1\" .\n";
    log += &map(0, 0, &started(1000, "n1"));
    log += &map(1, 0, &started(1000, "n2"));
    let error = "ERROR=\"java\\.io\\.IOException: no \\\"file\\\"\n\tat org\\.Map\\.run(Map\\.java:1)\n\tat x\"";
    log += &map(1, 0, &format!("{} {error}", ended("FAILED", 2000, "n2")));
    log += &map(0, 1, &started(2500, "n2"));
    log += &map(1, 1, &started(2500, "n1"));
    log += &map(0, 0, &format!("{} {read}", ended("SUCCESS", 4000, "n1")));
    log += &map(0, 1, &ended("KILLED", 4500, "n2"));
    log += &map(1, 1, &format!("{} {read}", ended("SUCCESS", 5500, "n1")));
    let reduce =
        map(2, 0, &started(5600, "n2")).replace("_m_", "_r_").replace("MAP", "REDUCE").replace("MapA", "ReduceA");
    log += &reduce;
    log += &map(2, 0, &ended("SUCCESS", 9600, "n2"))
        .replace("_m_", "_r_")
        .replace("MAP", "REDUCE")
        .replace("MapA", "ReduceA");
    log += "Job JOBID=\"job_201203_0007\" FINISH_TIME=\"1700000009900\" JOB_STATUS=\"SUCCESS\" FINISHED_MAPS=\"2\" \
            FINISHED_REDUCES=\"1\" FAILED_MAPS=\"1\" FAILED_REDUCES=\"0\" COUNTERS=\"\" .\n";
    log
}

#[test]
fn attempts_of_a_text_history_are_counted_and_replayed() {
    let trace = trace(history().as_bytes());
    let summary = trace.summary();
    assert_eq!((summary.format, summary.jobs, summary.stages, summary.tasks), ("hadoop-history", 1, 2, 3));
    assert_eq!((summary.attempts, summary.failed_attempts, summary.killed_attempts), (5, 1, 1));
    assert_eq!((summary.speculative_attempts, summary.nodes), (1, 2));
    assert_eq!((summary.from, summary.to), (Some(1.7e9), Some(1_700_000_009.9)));
    assert_eq!(summary.failures.keys().collect::<Vec<_>>(), ["java.io.IOException"]);
    assert_eq!(trace.facts().jobs.succeeded, 1);
    assert_eq!(trace.facts().locality.data_local, 1);
    let job = &trace.workload_jobs()[0];
    assert_eq!(&*job.spec.name, "job_201203_0007 word.count");
    let means: Vec<f64> = job.spec.phases.iter().map(|phase| phase.mean).collect();
    // Maps took 3 s each, the reduce 4 s.
    assert_eq!(means, [3.0, 4.0]);
}

#[test]
fn records_without_dots_and_with_old_names_are_read() {
    let old = history()
        .replace(" .\n", "\n")
        .replace("\\.", ".")
        .replace("\\\"file\\\"", "file")
        .replace("TASKID=\"task_", "TASKID=\"tip_")
        .replace("ID=\"attempt_", "ID=\"task_");
    let old = old.trim_start_matches("Meta VERSION=\"1\"\n");
    let (summary, _) = counted(old.as_bytes()).unwrap();
    assert_eq!((summary.tasks, summary.attempts, summary.failed_attempts, summary.killed_attempts), (3, 5, 1, 1));
}

#[test]
fn values_may_end_in_escaped_signs() {
    // On the left as the history has it, on the right the name of the job.
    for (written, name) in
        [(r"copy to D:\\", r"copy to D:\"), (r#"say \"no\""#, r#"say "no""#), (r#"\\\"\\"#, r#"\"\"#), ("v1\\.", "v1.")]
    {
        let trace = trace(history().replace(r"word\.count", written).as_bytes());
        assert_eq!(&*trace.workload_jobs()[0].spec.name, format!("job_201203_0007 {name}"));
        assert_eq!((trace.summary().from, trace.summary().attempts), (Some(1.7e9), 5), "{name}");
    }
}

#[test]
fn a_cut_history_is_read_up_to_the_cut() {
    let whole = history();
    let full = counted(whole.as_bytes()).unwrap().0.attempts;
    for cut in whole.find("Job").unwrap()..whole.len() {
        let Ok((summary, _)) = counted(&whole.as_bytes()[..cut]) else { continue };
        assert!(summary.attempts <= full);
        let is_end_of_record = whole[..cut].trim_end().ends_with('.');
        let warned = summary.warnings.iter().any(|warning| warning.contains("cut short") || warning.contains("no end"));
        assert!(warned || is_end_of_record || cut + 3 >= whole.len(), "{cut}: {:?}", summary.warnings);
    }
}

#[test]
fn text_histories_are_recognised() {
    assert_eq!(sniff(history().as_bytes()), Some(HadoopFormat::HistoryText));
    let bare = "$!!FILE=file1.log!!\nJob JOBID=\"job_1_1\" JOBNAME=\"x\"\n";
    assert_eq!(sniff(bare.as_bytes()), Some(HadoopFormat::HistoryText));
}
