//! Tests of binary job histories, which have the same events as in JSON, encoded by a schema like Hadoop's.

use serde_json::{Map, Value, json};

use super::super::issues::{Issues, Source};
use super::{History, Version, counted, numbers, run, trace, warning};
use crate::error::TraceError;

/// The schema of Hadoop's `Event`, with the classes that the tests use.
pub(super) fn schema() -> Value {
    fn record(name: &str, fields: &[(&str, Value)]) -> Value {
        let fields: Vec<Value> = fields.iter().map(|(name, kind)| json!({"name": name, "type": kind})).collect();
        json!({"type": "record", "name": name, "fields": fields})
    }
    let (text, long, int) = (json!("string"), json!("long"), json!("int"));
    let perhaps = json!(["null", "string"]);
    let ints = json!({"type": "array", "items": "int"});
    let counter =
        record("JhCounter", &[("name", text.clone()), ("displayName", text.clone()), ("value", long.clone())]);
    let group = record(
        "JhCounterGroup",
        &[
            ("name", text.clone()),
            ("displayName", text.clone()),
            ("counts", json!({"type": "array", "items": counter})),
        ],
    );
    let first_counters =
        record("JhCounters", &[("name", text.clone()), ("groups", json!({"type": "array", "items": group}))]);
    let counters = json!("JhCounters");
    let usages: Vec<(&str, Value)> =
        ["clockSplits", "cpuUsages", "vMemKbytes", "physMemKbytes"].map(|name| (name, ints.clone())).to_vec();
    let with = |name: &str, fields: &[(&str, Value)], more: &[(&str, Value)]| record(name, &[fields, more].concat());
    let classes = [
        record(
            "JobFinished",
            &[
                ("jobid", text.clone()),
                ("finishTime", long.clone()),
                ("finishedMaps", int.clone()),
                ("finishedReduces", int.clone()),
                ("failedMaps", int.clone()),
                ("failedReduces", int.clone()),
                ("totalCounters", first_counters),
                ("mapCounters", counters.clone()),
                ("reduceCounters", counters.clone()),
            ],
        ),
        record("JobInfoChange", &[("jobid", text.clone()), ("submitTime", long.clone()), ("launchTime", long.clone())]),
        record(
            "JobInited",
            &[
                ("jobid", text.clone()),
                ("launchTime", long.clone()),
                ("totalMaps", int.clone()),
                ("totalReduces", int.clone()),
                ("jobStatus", text.clone()),
                ("uberized", json!("boolean")),
            ],
        ),
        record(
            "AMStarted",
            &[
                ("applicationAttemptId", text.clone()),
                ("startTime", long.clone()),
                ("containerId", text.clone()),
                ("nodeManagerHost", text.clone()),
                ("nodeManagerPort", int.clone()),
                ("nodeManagerHttpPort", int.clone()),
            ],
        ),
        record(
            "JobSubmitted",
            &[
                ("jobid", text.clone()),
                ("jobName", text.clone()),
                ("userName", text.clone()),
                ("submitTime", long.clone()),
                ("jobConfPath", text.clone()),
                ("acls", json!({"type": "map", "values": "string"})),
                ("jobQueueName", text.clone()),
                ("workflowId", perhaps.clone()),
                ("workflowTags", perhaps.clone()),
            ],
        ),
        with(
            "MapAttemptFinished",
            &[
                ("taskid", text.clone()),
                ("attemptId", text.clone()),
                ("taskType", text.clone()),
                ("taskStatus", text.clone()),
                ("mapFinishTime", long.clone()),
                ("finishTime", long.clone()),
                ("hostname", text.clone()),
                ("port", int.clone()),
                ("rackname", text.clone()),
                ("state", text.clone()),
                ("counters", counters.clone()),
            ],
            &usages,
        ),
        with(
            "ReduceAttemptFinished",
            &[
                ("taskid", text.clone()),
                ("attemptId", text.clone()),
                ("taskType", text.clone()),
                ("taskStatus", text.clone()),
                ("shuffleFinishTime", long.clone()),
                ("sortFinishTime", long.clone()),
                ("finishTime", long.clone()),
                ("hostname", text.clone()),
                ("port", int.clone()),
                ("rackname", text.clone()),
                ("state", text.clone()),
                ("counters", counters.clone()),
            ],
            &usages,
        ),
        record(
            "TaskAttemptStarted",
            &[
                ("taskid", text.clone()),
                ("taskType", text.clone()),
                ("attemptId", text.clone()),
                ("startTime", long.clone()),
                ("trackerName", text.clone()),
                ("httpPort", int.clone()),
                ("shufflePort", int.clone()),
                ("containerId", text.clone()),
                ("locality", perhaps.clone()),
                ("avataar", perhaps.clone()),
            ],
        ),
        with(
            "TaskAttemptUnsuccessfulCompletion",
            &[
                ("taskid", text.clone()),
                ("taskType", text.clone()),
                ("attemptId", text.clone()),
                ("finishTime", long.clone()),
                ("hostname", text.clone()),
                ("port", int.clone()),
                ("rackname", text.clone()),
                ("status", text.clone()),
                ("error", text.clone()),
                ("counters", json!(["null", "JhCounters"])),
            ],
            &usages,
        ),
        record(
            "TaskFinished",
            &[
                ("taskid", text.clone()),
                ("taskType", text.clone()),
                ("finishTime", long.clone()),
                ("status", text.clone()),
                ("counters", counters),
                ("successfulAttemptId", perhaps),
            ],
        ),
        record(
            "TaskStarted",
            &[("taskid", text.clone()), ("taskType", text.clone()), ("startTime", long), ("splitLocations", text)],
        ),
    ];
    let symbols: Vec<String> = ["JOB_SUBMITTED", "JOB_INITED", "JOB_FINISHED", "JOB_INFO_CHANGED", "AM_STARTED"]
        .into_iter()
        .chain(["TASK_STARTED", "TASK_FINISHED"])
        .map(str::to_owned)
        .chain(
            ["MAP", "REDUCE"]
                .into_iter()
                .flat_map(|of| ["STARTED", "FINISHED", "FAILED", "KILLED"].map(|how| format!("{of}_ATTEMPT_{how}"))),
        )
        .collect();
    json!({"type": "record", "name": "Event", "namespace": "org.apache.hadoop.mapreduce.jobhistory", "fields": [
        {"name": "type", "type": {"type": "enum", "name": "EventType", "symbols": symbols}},
        {"name": "event", "type": classes},
    ]})
}

/// Encodes a value of Avro's JSON by a schema, in the simplest way.
fn encode(kind: &Value, value: &Value, named: &mut Map<String, Value>, bytes: &mut Vec<u8>) {
    let whole = |number: i64, bytes: &mut Vec<u8>| {
        let mut rest = ((number << 1) ^ (number >> 63)) as u64;
        while rest >= 0x80 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
    };
    let text = |text: &str, bytes: &mut Vec<u8>| {
        whole(text.len() as i64, bytes);
        bytes.extend(text.as_bytes());
    };
    match kind {
        Value::Array(branches) => {
            let names: Vec<String> = branches
                .iter()
                .map(|branch| branch.as_str().or_else(|| branch["name"].as_str()).unwrap().to_owned())
                .collect();
            if value.is_null() {
                let null = names.iter().position(|name| name == "null").unwrap();
                return whole(null as i64, bytes);
            }
            let (name, inner) = value.as_object().unwrap().iter().next().unwrap();
            let short = name.rsplit('.').next().unwrap();
            let at = names.iter().position(|name| name == short).unwrap_or_else(|| panic!("no {name}"));
            whole(at as i64, bytes);
            encode(&branches[at], inner, named, bytes);
        }
        Value::Object(object) => match object["type"].as_str().unwrap() {
            "record" => {
                named.insert(object["name"].as_str().unwrap().to_owned(), kind.clone());
                for field in object["fields"].as_array().unwrap() {
                    encode(&field["type"], &value[field["name"].as_str().unwrap()], named, bytes);
                }
            }
            "enum" => {
                let symbols = object["symbols"].as_array().unwrap();
                let at = symbols.iter().position(|symbol| symbol == value).unwrap_or_else(|| panic!("no {value}"));
                whole(at as i64, bytes);
            }
            "array" => {
                let items = value.as_array().unwrap();
                if !items.is_empty() {
                    whole(items.len() as i64, bytes);
                    for item in items {
                        encode(&object["items"], item, named, bytes);
                    }
                }
                whole(0, bytes);
            }
            _ => {
                let entries = value.as_object().unwrap();
                if !entries.is_empty() {
                    whole(entries.len() as i64, bytes);
                    for (key, value) in entries {
                        text(key, bytes);
                        encode(&object["values"], value, named, bytes);
                    }
                }
                whole(0, bytes);
            }
        },
        Value::String(name) => match name.as_str() {
            "null" => {}
            "boolean" => bytes.push(u8::from(value.as_bool().unwrap())),
            "int" | "long" => whole(value.as_i64().unwrap_or_else(|| panic!("{value} is no number")), bytes),
            "string" => text(value.as_str().unwrap_or_else(|| panic!("{value} is no text")), bytes),
            _ => {
                let kind = named[name].clone();
                encode(&kind, value, named, bytes);
            }
        },
        _ => panic!("{kind}"),
    }
}

/// Collects all named types of a schema.
fn names(kind: &Value, named: &mut Map<String, Value>) {
    match kind {
        Value::Array(items) => items.iter().for_each(|item| names(item, named)),
        Value::Object(object) => {
            if let (Some(name), true) = (object.get("name").and_then(Value::as_str), object.contains_key("fields")) {
                named.insert(name.to_owned(), kind.clone());
            }
            object.values().for_each(|value| names(value, named));
        }
        _ => {}
    }
}

/// Returns a history in the binary form, and where each event ends.
pub(super) fn binary(history: &History) -> (Vec<u8>, Vec<usize>) {
    let schema = schema();
    let mut named = Map::new();
    names(&schema, &mut named);
    let mut bytes = format!("Avro-Binary\n{schema}\n").into_bytes();
    let mut ends = vec![bytes.len()];
    for (kind, class, fields) in &history.events {
        let event = json!({"type": kind, "event": {*class: fields}});
        encode(&schema, &event, &mut named, &mut bytes);
        ends.push(bytes.len());
    }
    (bytes, ends)
}

pub(super) fn history(version: Version) -> History {
    let mut copy = run('m', 1, 1, 40_000, 60_000);
    copy.speculative = true;
    copy.host = "h2";
    let mut slow = run('m', 1, 0, 1000, 60_500);
    slow.end = "KILLED";
    slow.error = "Speculation: attempt_1700_0001_m_000001_1 succeeded first!";
    let mut broken = run('r', 0, 0, 30_000, 50_000);
    broken.end = "FAILED";
    broken.error = "Error: java.io.IOException: Größe\n\tat x";
    History::begun(version, 2, 1)
        .task('m', 0, "h1,h3")
        .task('m', 1, "h3")
        .task('r', 0, "")
        .attempt(run('m', 0, 0, 1000, 11_000))
        .start(slow)
        .start(copy)
        .attempt(broken)
        .end(copy)
        .end(slow)
        .task_done('m', 1, 1)
        .attempt(run('r', 0, 1, 51_000, 80_000))
        .done(80_100, 2, 1)
}

#[test]
fn binary_and_text_histories_give_the_same_result() {
    let history = history(Version::V3);
    let (bytes, _) = binary(&history);
    let (from_text, from_bytes) = (history.read(), trace(&bytes));
    assert_eq!(from_bytes.summary(), from_text.summary());
    assert_eq!(from_bytes.facts(), from_text.facts());
    assert_eq!(from_bytes.workload_jobs(), from_text.workload_jobs());
    assert_eq!(from_bytes.attempts(), from_text.attempts());
    assert_eq!(from_bytes.cluster_nodes(), from_text.cluster_nodes());
    assert_eq!(numbers(from_bytes.summary()), (5, 1, 1, 1));
    assert_eq!(from_bytes.facts().failures["java.io.IOException"], 1);
}

#[test]
fn a_cut_binary_history_is_read_up_to_the_cut() {
    let history = history(Version::V3);
    let (bytes, ends) = binary(&history);
    for cut in 0..bytes.len() {
        let whole = ends.iter().filter(|&&end| end <= cut).count().saturating_sub(1);
        match counted(&bytes[..cut]) {
            Ok((summary, _)) => {
                assert!(whole > 0);
                let part = History { version: history.version, events: history.events[..whole].to_vec() };
                let (expected, _) = counted(part.json().as_bytes()).unwrap();
                assert_eq!(numbers(&summary), numbers(&expected), "{cut}");
                if !ends.contains(&cut) {
                    warning(&summary, &format!("cut short in event {}", whole + 1));
                }
                warning(&summary, "no end in the log");
            }
            Err(TraceError::NothingComplete { line, .. }) => {
                assert_eq!((whole, line), (0, if cut <= "Avro-Binary\n".len() { 1 } else { 2 }), "{cut}");
            }
            Err(TraceError::NotHadoop { .. }) => assert!(cut < 12, "{cut}"),
            Err(error) => panic!("{cut}: {error}"),
        }
    }
}

#[test]
fn damage_ends_a_binary_history_with_a_warning() {
    let (mut bytes, ends) = binary(&history(Version::V3));
    // Makes the type of the eighth event an invalid symbol.
    bytes[ends[7]] = 0x7e;
    let (summary, _) = counted(&bytes).unwrap();
    warning(&summary, "damaged and read only up to the damage; the first at event 8");
    assert_eq!(summary.attempts, 0);
    // Nothing can be read without a schema.
    let error = counted(b"Avro-Binary\n{\"type\":\"nothing\"}\n\0\0").unwrap_err();
    assert!(error.to_string().contains("schema can't be read"), "{error}");
    // A schema that spans several lines, with Windows line ends.
    let (bytes, ends) = binary(&history(Version::V3));
    let mut pretty = format!("Avro-Binary\r\n{}\r\n", serde_json::to_string_pretty(&schema()).unwrap()).into_bytes();
    pretty.extend(&bytes[ends[0]..]);
    assert_eq!(counted(&pretty).unwrap(), counted(&bytes).unwrap());
}

#[test]
fn warnings_name_the_file_if_there_are_several() {
    let source = Source { name: "b.jhist".to_owned(), path: None, file: 1, one_of_several: true };
    let mut issues = Issues::default();
    issues.unreadable_event(&source, 3);
    let mut warnings = Vec::new();
    issues.add_warnings(&mut warnings);
    assert_eq!(warnings, ["1 record was skipped, because it can't be read; the first is event 3 of b.jhist."]);
}
