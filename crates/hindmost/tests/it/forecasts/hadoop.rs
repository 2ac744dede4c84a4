//! Forecasts for jobs of Hadoop, with the job's configuration beside its history and without it.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{alike, gain, unwrapped};
use crate::json as printed;

/// The job history of a job of Hadoop without copies: 40 maps of about 10 s on 8 slots of 4 hosts, one of which hangs for 200 s.
fn history_of_hadoop(id: &str) -> String {
    let mut free: Vec<(f64, usize)> = (0..8).map(|slot| (1.0, slot)).collect();
    let mut lines = vec!["Avro-Json".to_owned()];
    let at = |seconds: f64| (1_700_000_000_000.0 + 1000.0 * seconds).round() as i64;
    let mut event = |kind: &str, class: &str, fields: Value| {
        let class = format!("org.apache.hadoop.mapreduce.jobhistory.{class}");
        lines.push(json!({"type": kind, "event": {class: fields}}).to_string());
    };
    event("JOB_SUBMITTED", "JobSubmitted", json!({"jobid": id, "jobName": "sort", "submitTime": at(0.0)}));
    let inited = json!({"jobid": id, "launchTime": at(1.0), "totalMaps": 40, "totalReduces": 0});
    event("JOB_INITED", "JobInited", inited);
    let number = id.trim_start_matches("job_");
    for (task, seconds) in alike(40).enumerate() {
        let seconds = if task == 12 { 200.0 } else { 10.0 * seconds };
        free.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let (start, slot) = free[0];
        free[0].0 = start + seconds;
        let task_id = format!("task_{number}_m_{task:06}");
        let attempt = format!("attempt_{number}_m_{task:06}_0");
        let started = json!({"taskid": task_id, "taskType": "MAP", "attemptId": attempt, "startTime": at(start),
            "avataar": {"string": "VIRGIN"}});
        event("MAP_ATTEMPT_STARTED", "TaskAttemptStarted", started);
        let finished = json!({"taskid": task_id, "taskType": "MAP", "attemptId": attempt, "taskStatus": "SUCCEEDED",
            "finishTime": at(start + seconds), "hostname": format!("host-{}", slot / 2)});
        event("MAP_ATTEMPT_FINISHED", "MapAttemptFinished", finished);
    }
    let end = at(free.iter().map(|slot| slot.0).fold(0.0, f64::max));
    let finished = json!({"jobid": id, "finishTime": end, "finishedMaps": 40, "finishedReduces": 0});
    event("JOB_FINISHED", "JobFinished", finished);
    lines.join("\n") + "\n"
}

/// The advice for the history, with the settings of the job's configuration beside it; `None`: there is no configuration.
fn advice_for_hadoop(settings: Option<&[(&str, &str)]>) -> (Value, String) {
    let id = "job_1700000000000_0007";
    let folder = TempDir::new().unwrap();
    let log = folder.path().join(format!("{id}-1700000000000-u-sort-1700000300000-40-0-SUCCEEDED-default.jhist"));
    fs::write(&log, history_of_hadoop(id)).unwrap();
    if let Some(settings) = settings {
        let property =
            |(name, value): &(&str, &str)| format!("<property><name>{name}</name><value>{value}</value></property>\n");
        let properties: String = settings.iter().map(property).collect();
        fs::write(folder.path().join(format!("{id}_conf.xml")), format!("<configuration>{properties}</configuration>"))
            .unwrap();
    }
    let folder = folder.path().to_str().unwrap();
    let advised = printed(&["advise", folder, "--json"]);
    assert!(advised["unread"].as_array().unwrap().is_empty(), "{advised}");
    (advised["logs"][0]["applications"][0].clone(), crate::run(&["advise", folder]).stdout)
}

/// The change about Hadoop's own copies.
fn copies_of_hadoop(application: &Value) -> Option<&Value> {
    let tried = application["advice"]["tried"].as_array().unwrap();
    tried.iter().find(|one| one["title"].as_str().unwrap().starts_with("Hadoop's speculation"))
}

#[test]
fn speculation_that_was_off_is_recommended() {
    let name = "mapreduce.map.speculative";
    let (application, text) = advice_for_hadoop(Some(&[(name, "false"), ("mapreduce.reduce.speculative", "true")]));
    assert_eq!(application["settings"], json!({name: "false", "mapreduce.reduce.speculative": "true"}));
    let one = copies_of_hadoop(&application).unwrap();
    assert_eq!(one["settings"], json!([{"name": name, "recorded": "false", "value": "true"}]), "{one}");
    assert_eq!((&one["recommended"], &one["condition"], &one["is_bound"]), (&json!(true), &Value::Null, &json!(false)));
    // The hung task ends when the others have, at the earliest: 39 of them take 50 s on 8 slots.
    let [least, most] = gain(&application, "Hadoop's speculation");
    assert!(least.abs() < 1.0 && most > 100.0 && most < 170.0, "{least} {most}");
    let setting = format!("    # in the log: {name}=false\n    {name}=true\n");
    assert!(text.contains(&setting) && !unwrapped(&text).contains("does not say"), "{text}");
    assert!(unwrapped(&text).contains("Hadoop's speculation, which was switched off: saves"), "{text}");
}

#[test]
fn speculation_that_was_on_is_not_recommended() {
    let (application, text) = advice_for_hadoop(Some(&[("mapreduce.map.speculative", "true")]));
    assert!(copies_of_hadoop(&application).is_none(), "{application}");
    let text = unwrapped(&text);
    assert!(!text.contains("switched off") && !text.contains("does not say"), "{text}");
}

#[test]
fn without_its_configuration_a_job_leaves_speculation_open() {
    let (application, text) = advice_for_hadoop(None);
    let one = copies_of_hadoop(&application).unwrap();
    assert_eq!((&one["settings"], &one["recommended"], &one["is_bound"]), (&json!([]), &json!(false), &json!(true)));
    let said = "Hadoop's speculation, which is on by default (mapreduce.map.speculative) but started no copies";
    assert!(unwrapped(&text).contains(said), "{text}");
    assert_eq!(application["settings"], json!({}));
}

#[test]
fn committers_of_hadoops_configuration_are_warned_about() {
    let off = ("mapreduce.map.speculative", "false");
    let second = "mapreduce.fileoutputcommitter.algorithm.version";
    let (application, text) = advice_for_hadoop(Some(&[off, (second, "2")]));
    assert_eq!(copies_of_hadoop(&application).unwrap()["recommended"], true);
    assert!(unwrapped(&text).contains(&format!("Careful: {second} is 2")), "{text}");
    let direct = ("mapred.output.committer.class", "a.DirectFileOutputCommitter");
    let (application, text) = advice_for_hadoop(Some(&[off, direct]));
    let one = copies_of_hadoop(&application).unwrap();
    assert_eq!((&one["settings"], &one["recommended"]), (&json!([]), &json!(false)), "{one}");
    let why = "tasks write their output directly (mapred.output.committer.class)";
    assert!(unwrapped(&text).contains(why), "{text}");
}
