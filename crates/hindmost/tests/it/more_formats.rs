//! Tests of `trace info`, `advise` and `replay` with logs of other tools than Spark and Hadoop 2: each holds the same 48
//! tasks on four nodes, of which one takes twice as long.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::{json, run};

/// When the first task started, in seconds since 1970: 2023-11-14 22:13:20 UTC.
const BEGIN: f64 = 1_700_000_000.0;
const NODES: usize = 4;
const EACH: usize = 12;

struct Task {
    number: usize,
    node: String,
    /// Seconds after the beginning.
    start: f64,
    end: f64,
}

/// Returns the tasks: each node runs twelve, one after the other. Node n3 takes 20 s for each, the others 10.0 to 10.2 s.
fn tasks() -> Vec<Task> {
    let mut all = Vec::new();
    for node in 0..NODES {
        let mut start = 0.0;
        for at in 0..EACH {
            let number = at * NODES + node;
            let end = start + if node == 3 { 20.0 } else { 10.0 + 0.1 * (number % 3) as f64 };
            all.push(Task { number, node: format!("n{node}"), start, end });
            start = end;
        }
    }
    all.sort_by(|a, b| a.end.total_cmp(&b.end));
    all
}

/// Returns a time as `2023-11-14T22:13:20.000`.
fn date(seconds: f64) -> String {
    let millis = (seconds * 1000.0).round() as u64;
    let of_day = 22 * 3_600_000 + 13 * 60_000 + 20_000 + millis;
    let (seconds, rest) = (of_day / 1000, of_day % 1000);
    format!("2023-11-14T{:02}:{:02}:{:02}.{rest:03}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Returns a log with a header line and a line for each task.
fn lines(header: &str, line: impl Fn(&Task) -> String) -> String {
    let mut log = String::from(header);
    for task in tasks() {
        log += &line(&task);
        log.push('\n');
    }
    log
}

/// Writes a log, and checks what the commands say about it. Returns what `advise` says about its only application.
fn check(name: &str, format: &str, log: &str, options: &[&str]) -> Value {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, log).unwrap();
    let path = path.to_str().unwrap();
    let with = |command: &[&'static str]| -> Vec<String> {
        command.iter().copied().chain([path]).chain(options.iter().copied()).map(str::to_owned).collect()
    };
    let args = with(&["trace", "info", "--json"]);
    let info = json(&args.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(info["format"], format, "{info}");
    for (key, count) in [("jobs", 1), ("tasks", 48), ("attempts", 48), ("failed_attempts", 0), ("nodes", 4)] {
        assert_eq!(info[key], count, "{key} of {format}");
    }
    assert_eq!(info["findings"]["slow_nodes"][0]["node"], "n3", "{format}");

    let args = with(&["advise", "--json"]);
    let advice = json(&args.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(advice["total"]["applications"], 1, "{format}");
    let application = advice["logs"][0]["applications"][0].clone();
    // Twelve tasks of 20 s on n3, one after the other.
    let wall = application["wall_time"]["seconds"].as_f64().unwrap();
    assert!((wall - 240.0).abs() < 1.01, "{format}: {wall}");
    assert_eq!(application["slow_nodes"][0]["node"], "n3", "{format}");

    let args = with(&["replay", "--policy", "none,spark", "--seeds", "1", "--json"]);
    let replayed = run(&args.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(replayed.code, Some(0), "{format}: {}", replayed.stderr);
    application
}

#[test]
fn a_table_is_read() {
    let header = "job,phase,task,node,start,end,state,input\n";
    let row = |task: &Task| {
        format!("j,map,{},{},{},{},done,64 MB", task.number, task.node, BEGIN + task.start, BEGIN + task.end)
    };
    let log = lines(header, row);
    check("tasks.csv", "table", &log, &[]);
    check("tasks.tsv", "table", &log.replace(',', "\t"), &[]);
    let other = log.replace("start,end", "t0,t1").replace("node", "where");
    check("tasks.csv", "table", &other, &["--columns", "start=t0,end=t1,node=where"]);
    let objects = lines("", |task| {
        format!(
            r#"{{"task":"t{}","host":"{}","startTime":"{}Z","elapsed_ms":{}}}"#,
            task.number,
            task.node,
            date(task.start),
            ((task.end - task.start) * 1000.0).round()
        )
    });
    check("tasks.jsonl", "table", &objects, &[]);
}

#[test]
fn output_of_sacct_is_read() {
    let header = "JobID|JobName|State|Submit|Start|End|NodeList|AllocCPUS\n";
    let log = lines(header, |task| {
        // Slurm's times are whole seconds.
        let at = |seconds| date(seconds)[..19].to_owned();
        let (number, node) = (task.number, &task.node);
        format!(
            "77_{number}|fit|COMPLETED|{}|{}|{}|{node}|2\n77_{number}.batch|batch|COMPLETED|{}|{}|{}|{node}|2",
            at(0.0),
            at(task.start),
            at(task.end),
            at(task.start),
            at(task.start),
            at(task.end)
        )
    });
    check("jobs.txt", "slurm", &log, &[]);
}

#[test]
fn job_logs_of_parallel_are_read() {
    let header = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n";
    let log = lines(header, |task| {
        let (number, node) = (task.number, &task.node);
        format!(
            "{number}\t{node}\t{:.3}\t{:>10.3}\t0\t0\t0\t0\trun {number}",
            BEGIN + task.start,
            task.end - task.start
        )
    });
    check("joblog", "parallel", &log, &[]);
}

#[test]
fn traces_of_nextflow_are_read() {
    let header = "task_id\thash\tname\tstatus\texit\tsubmit\tduration\trealtime\thostname\n";
    let log = lines(header, |task| {
        let took = ((task.end - task.start) * 1000.0).round();
        let (number, node) = (task.number, &task.node);
        let submitted = date(task.start).replace('T', " ");
        format!("{number}\taa/{number:06}\tTRIM ({number})\tCOMPLETED\t0\t{submitted}\t{took}ms\t{took}ms\t{node}")
    });
    check("trace.txt", "nextflow", &log, &[]);
}

#[test]
fn timelines_of_ray_are_read() {
    let events = lines("", |task| {
        format!(
            r#",{{"cat":"task::f","name":"task::f","pid":"{}","tid":"worker:1","ts":{},"dur":{},"ph":"X","args":{{"task_id":"{:x}"}}}}"#,
            task.node,
            (BEGIN + task.start) * 1e6,
            ((task.end - task.start) * 1e6).round(),
            task.number
        )
    });
    check("timeline.json", "ray", &format!("[{}]", events.trim_start_matches(',')), &[]);
}

#[test]
fn queries_of_trino_are_read() {
    let tasks = lines("", |task| {
        format!(
            r#",{{"taskStatus":{{"taskId":"q.1.{}.0","state":"FINISHED","self":"http://{}:8080/v1/task/x"}},"stats":{{"createTime":"{}Z","firstStartTime":"{}Z","endTime":"{}Z","rawInputDataSize":"64MB"}}}}"#,
            task.number,
            task.node,
            date(task.start),
            date(task.start),
            date(task.end)
        )
    });
    let stage = format!(r#"{{"stageId":"q.1","tasks":[{}],"subStages":[]}}"#, tasks.trim_start_matches(','));
    check("query.json", "trino", &format!(r#"{{"queryId":"q","state":"FINISHED","outputStage":{stage}}}"#), &[]);
}

#[test]
fn text_histories_of_hadoop_are_read() {
    let job = r#"Job JOBID="job_1_1" JOBNAME="x" SUBMIT_TIME="1700000000000" TOTAL_MAPS="48" TOTAL_REDUCES="0" ."#;
    let log = lines(&format!("Meta VERSION=\"1\" .\n{job}\n"), |task| {
        let at = |seconds: f64| ((BEGIN + seconds) * 1000.0).round();
        let attempt = format!(
            r#"MapAttempt TASK_TYPE="MAP" TASKID="task_1_1_m_{0:06}" TASK_ATTEMPT_ID="attempt_1_1_m_{0:06}_0""#,
            task.number
        );
        format!(
            "{attempt} START_TIME=\"{}\" .\n{attempt} TASK_STATUS=\"SUCCESS\" FINISH_TIME=\"{}\" HOSTNAME=\"/default-rack/{}\" .",
            at(task.start),
            at(task.end),
            task.node
        )
    });
    let end = r#"Job JOBID="job_1_1" FINISH_TIME="1700000240000" JOB_STATUS="SUCCESS" FINISHED_MAPS="48" FINISHED_REDUCES="0" ."#;
    check("job_1_1_history", "hadoop-history", &format!("{log}{end}\n"), &[]);
}
