//! Tests of rolling logs, and of directories with logs of many applications.

use std::fs;
use std::path::{Path, PathBuf};

use crate::reading::{counts_at, counts_of, open};
use crate::support::packed;
use hindmost_trace::log::kind;
use hindmost_trace::{Kind, TaskFormat, TraceError};

/// Returns a log of one job with `tasks` tasks. If not `ended`, the log has no end of the application.
fn log(id: &str, attempt: Option<u32>, tasks: u32, ended: bool) -> String {
    let attempt = attempt.map(|attempt| format!(r#","App Attempt ID":"{attempt}""#)).unwrap_or_default();
    let info = format!(
        r#""Stage Info":{{"Stage ID":0,"Stage Attempt ID":0,"Stage Name":"s","Number of Tasks":{tasks},"RDD Info":[],"Parent IDs":[]}}"#
    );
    let mut lines = vec![
        r#"{"Event":"SparkListenerLogStart","Spark Version":"3.5.0"}"#.to_owned(),
        format!(r#"{{"Event":"SparkListenerApplicationStart","App Name":"a","App ID":"{id}","Timestamp":1700000000000{attempt}}}"#),
        r#"{"Event":"SparkListenerExecutorAdded","Timestamp":1700000000000,"Executor ID":"1","Executor Info":{"Host":"h","Total Cores":64}}"#.to_owned(),
        r#"{"Event":"SparkListenerJobStart","Job ID":0,"Submission Time":1700000001000,"Stage IDs":[0]}"#.to_owned(),
        r#"{"Event":"SparkListenerEnvironmentUpdate","Spark Properties":{}}"#.to_owned(),
        format!(r#"{{"Event":"SparkListenerStageSubmitted",{info}}}"#),
    ];
    for index in 0..tasks {
        lines.push(format!(
            r#"{{"Event":"SparkListenerTaskStart","Stage ID":0,"Stage Attempt ID":0,"Task Info":{{"Task ID":{index},"Index":{index}}}}}"#
        ));
        lines.push(format!(
            r#"{{"Event":"SparkListenerTaskEnd","Stage ID":0,"Stage Attempt ID":0,"Task End Reason":{{"Reason":"Success"}},"Task Info":{{"Task ID":{index},"Index":{index},"Attempt":0,"Launch Time":1700000001000,"Finish Time":{},"Executor ID":"1","Host":"h","Speculative":false}}}}"#,
            1_700_000_002_000_u64 + u64::from(index)
        ));
    }
    lines.push(format!(r#"{{"Event":"SparkListenerStageCompleted",{info}}}"#));
    lines.push(r#"{"Event":"SparkListenerJobEnd","Job ID":0,"Completion Time":1700000009000}"#.to_owned());
    if ended {
        lines.push(r#"{"Event":"SparkListenerApplicationEnd","Timestamp":1700000010000}"#.to_owned());
    }
    lines.join("\n") + "\n"
}

/// Splits a text into parts of `lines` lines each.
fn parts(text: &str, lines: usize) -> Vec<String> {
    let all: Vec<&str> = text.lines().collect();
    all.chunks(lines).map(|chunk| chunk.join("\n") + "\n").collect()
}

/// Writes the directory of a rolling log, and returns its path.
fn rolled(within: &Path, id: &str, parts: &[String], codec: Option<&str>, status: &str) -> PathBuf {
    let folder = within.join(format!("eventlog_v2_{id}"));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(format!("appstatus_{id}{status}")), "").unwrap();
    fs::write(folder.join(format!(".events_1_{id}.crc")), b"crc\0\x01").unwrap();
    for (number, part) in parts.iter().enumerate() {
        let ending = codec.map(|codec| format!(".{codec}")).unwrap_or_default();
        let bytes = codec.map_or_else(|| part.as_bytes().to_vec(), |codec| packed(codec, part.as_bytes()));
        fs::write(folder.join(format!("events_{}_{id}{ending}", number + 1)), bytes).unwrap();
    }
    folder
}

fn mentions(warnings: &[String], text: &str) {
    assert!(warnings.iter().any(|warning| warning.contains(text)), "no {text:?} in {warnings:?}");
}

#[test]
fn parts_of_a_rolling_log_are_read_in_numeric_order() {
    let home = tempfile::tempdir().unwrap();
    let text = log("app-1", None, 30, true);
    let whole = counts_of(text.as_bytes()).unwrap();
    assert_eq!((whole.tasks, whole.warnings.len()), (30, 0));
    let parts = parts(&text, 3);
    assert!(parts.len() > 10, "fewer than 11 parts do not show that 10 comes after 9");
    for codec in [None, Some("zstd"), Some("lz4"), Some("snappy"), Some("lzf"), Some("gzip")] {
        let folder = rolled(&home.path().join(codec.unwrap_or("plain")), "app-1", &parts, codec, "");
        assert_eq!(kind(&folder).unwrap(), Kind::Spark);
        let mut last = (0, None);
        let mut on_progress = |read, total| last = (read, total);
        assert_eq!(counts_at(&folder, Some(&mut on_progress)).unwrap(), whole, "{codec:?}");
        assert_eq!(Some(last.0), last.1, "{codec:?}");
        let trace = open(&folder).unwrap();
        assert_eq!((trace.recordings().len(), trace.workload_jobs().len()), (1, 1));
        assert_eq!(trace.summary().warnings, [""; 0]);
    }
}

#[test]
fn headers_of_parts_and_an_empty_last_part_are_accepted() {
    let home = tempfile::tempdir().unwrap();
    let text = log("app-1", None, 9, true);
    let mut parts = parts(&text, 5);
    for part in &mut parts[1..] {
        part.insert_str(0, "{\"Event\":\"SparkListenerLogStart\",\"Spark Version\":\"3.5.0\"}\n");
    }
    parts.push(String::new());
    let folder = rolled(home.path(), "app-1", &parts, None, "");
    let summary = counts_at(&folder, None).unwrap();
    assert_eq!((summary.tasks, summary.spark.unwrap().applications), (9, 1));
    assert_eq!(summary.warnings, [""; 0]);
}

#[test]
fn missing_parts_of_a_rolling_log_give_warnings() {
    let home = tempfile::tempdir().unwrap();
    let parts = parts(&log("app-1", None, 30, true), 10);
    let folder = rolled(home.path(), "app-1", &parts, None, "");
    fs::remove_file(folder.join("events_3_app-1")).unwrap();
    let summary = counts_at(&folder, None).unwrap();
    assert_eq!(summary.tasks, 25);
    mentions(&summary.warnings, "the file numbered 3 is missing");

    // One part is cut, and another is not a log.
    fs::write(folder.join("events_3_app-1"), &parts[2][..parts[2].len() - 30]).unwrap();
    fs::write(folder.join("events_4_app-1"), "what is this\n").unwrap();
    let summary = counts_at(&folder, None).unwrap();
    assert_eq!(summary.tasks, 24);
    mentions(&summary.warnings, "events_3_app-1 is cut short in line 10");
    mentions(&summary.warnings, "events_4_app-1 is left out");
}

#[test]
fn a_log_is_read_from_its_last_compacted_file_on() {
    let home = tempfile::tempdir().unwrap();
    let parts = parts(&log("app-1", None, 30, true), 12);
    let folder = rolled(home.path(), "app-1", &parts, None, ".inprogress");
    // The compacted third file contains the events that Spark kept of the first three files.
    fs::write(folder.join("events_3_app-1.compact"), [&parts[0], &parts[2]].map(String::as_str).concat()).unwrap();
    fs::write(folder.join("events_1_app-1.compact"), "{\"Event\":\"SparkListenerTaskEnd\"}\n").unwrap();
    fs::write(folder.join("events_4_app-1.compact.inprogress"), "half written").unwrap();
    let summary = counts_at(&folder, None).unwrap();
    let left: usize =
        [0, 2, 3, 4, 5].iter().filter_map(|&part| parts.get(part)).map(|part| part.matches("TaskEnd").count()).sum();
    assert_eq!(summary.attempts, left as u64);
    assert_eq!(summary.jobs, 1);
    // Jobs that had ended before the first one that is left were removed, so it is not known that the application did nothing.
    assert_eq!((summary.from, summary.to), (Some(1_700_000_001.0), Some(1_700_000_010.0)));
    mentions(&summary.warnings, "Spark has compacted this rolling log");
    mentions(&summary.warnings, "6 tasks are not in the log although their stages succeeded");
    assert_eq!(summary.warnings.len(), 2, "{:?}", summary.warnings);
}

#[test]
fn a_directory_of_logs_is_read_as_many_applications() {
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name);
    fs::write(path("app-2"), log("app-2", None, 2, true)).unwrap();
    fs::write(path("app-1.zstd"), packed("zstd", log("app-1", None, 3, true).as_bytes())).unwrap();
    fs::write(path("app-3_1.lz4"), packed("lz4", log("app-3", Some(1), 4, true).as_bytes())).unwrap();
    fs::write(path("app-3_2.snappy"), packed("snappy", log("app-3", Some(2), 5, true).as_bytes())).unwrap();
    rolled(home.path(), "app-4", &parts(&log("app-4", None, 6, true), 4), Some("gzip"), "");
    fs::write(path("app-5.inprogress"), log("app-5", None, 7, false)).unwrap();
    let trace = open(home.path()).unwrap();
    let summary = trace.summary();
    assert_eq!((summary.jobs, summary.tasks, summary.nodes), (6, 2 + 3 + 4 + 5 + 6 + 7, 6));
    assert_eq!(summary.spark.unwrap().applications, 6);
    mentions(&summary.warnings, "The directory holds 6 applications");
    mentions(&summary.warnings, "The end of 1 of the 6 applications is missing");
    assert_eq!(summary.warnings.len(), 2, "{:?}", summary.warnings);
    let prefixes: Vec<&str> = trace.recordings().iter().map(|recording| &*recording.prefix).collect();
    assert_eq!(prefixes, ["app-1 ", "app-2 ", "app-3_1 ", "app-3_2 ", "app-5 ", "app-4 "]);
    let names: Vec<_> = trace.workload_jobs().iter().map(|job| &*job.spec.name).collect();
    assert_eq!(names[2..4], ["app-3_1 job 0", "app-3_2 job 0"]);
    assert_eq!(counts_at(home.path(), None).unwrap(), *summary);
}

#[test]
fn other_files_and_duplicate_logs_give_warnings() {
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name);
    fs::write(path("app-1"), log("app-1", None, 3, true)).unwrap();
    // These logs belong to the same application as other logs: they are still being written, or have another name, or
    // are compressed.
    fs::write(path("app-1.inprogress"), log("app-1", None, 2, false)).unwrap();
    fs::write(path("other.inprogress"), log("app-1", None, 1, false)).unwrap();
    fs::write(path("copy.gz"), packed("gzip", log("app-1", None, 3, true).as_bytes())).unwrap();
    // A log without an application's id counts as a duplicate if its name is that of a finished log.
    fs::write(path("nameless"), "{\"Event\":\"SparkListenerLogStart\"}\n").unwrap();
    fs::write(path("nameless.lz4.inprogress"), "{\"Event\":\"SparkListenerLogStart\"}\n").unwrap();
    fs::write(path("notes.txt"), "notes\n").unwrap();
    fs::write(path("table.parquet"), b"PAR1\0\0\0").unwrap();
    fs::write(path("empty"), "").unwrap();
    fs::write(path("_SUCCESS"), "").unwrap();
    fs::write(path(".hidden"), "x").unwrap();
    fs::create_dir(path("folder")).unwrap();
    fs::create_dir(path("eventlog_v2_app-9")).unwrap();
    fs::write(path("eventlog_v2_app-9").join("appstatus_app-9.inprogress"), "").unwrap();
    let summary = counts_at(home.path(), None).unwrap();
    assert_eq!((summary.tasks, summary.spark.unwrap().applications), (3, 2));
    let warnings = &summary.warnings;
    mentions(warnings, "copy.gz is left out: app-1 is a log of the same application");
    mentions(warnings, "app-1.inprogress is left out: app-1 is the finished log of the same application");
    mentions(warnings, "other.inprogress is left out: app-1 is the finished log");
    mentions(warnings, "nameless.lz4.inprogress is left out: nameless is the finished log");
    mentions(warnings, "5 entries of the directory are no Spark event log and were left out");
    for named in [
        "notes.txt (the text \"notes\")",
        "table.parquet (Parquet)",
        "empty (empty)",
        "folder (a directory",
        "eventlog_v2_app-9 (a rolling log without event files",
    ] {
        mentions(warnings, named);
    }
    assert!(!warnings.iter().any(|warning| warning.contains("_SUCCESS") || warning.contains("hidden")));
}

#[test]
fn a_directory_without_a_log_is_refused() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("notes.txt"), "notes\n").unwrap();
    assert!(kind(home.path()).is_err());
    let error = counts_at(home.path(), None).unwrap_err();
    assert!(matches!(error, TraceError::Directory { .. }), "{error}");
    assert!(error.to_string().contains("without a log that can be read"), "{error}");
}

/// Returns the first line of a part that Databricks delivers.
fn rollover(context: i64, number: usize) -> String {
    format!(
        "{{\"Event\":\"DBCEventLoggingListenerMetadata\",\"Spark Version\":\"3.1.2\",\"Timestamp\":1,\"Rollover \
         Number\":{number},\"SparkContext Id\":{context}}}\n"
    )
}

/// Writes the parts of a log as Databricks delivers them: the last part is called `eventlog`.
fn delivered(folder: &Path, context: Option<i64>, first_hour: usize, parts: &[String]) {
    fs::create_dir_all(folder).unwrap();
    for (number, part) in parts.iter().enumerate() {
        let text = context.map_or_else(String::new, |context| rollover(context, number)) + part;
        if number + 1 == parts.len() {
            fs::write(folder.join("eventlog"), text).unwrap();
        } else {
            let name = format!("eventlog-2022-01-14--{:02}-00.gz", first_hour + number);
            fs::write(folder.join(name), packed("gzip", text.as_bytes())).unwrap();
        }
    }
}

#[test]
fn parts_of_databricks_are_one_log() {
    let home = tempfile::tempdir().unwrap();
    // Databricks writes no header of its own.
    let text = log("app-1", None, 30, true).split_once('\n').unwrap().1.to_owned();
    let whole = counts_of(text.as_bytes()).unwrap();
    let parts = parts(&text, 7);
    for (context, name) in [(Some(i64::MAX), "numbered"), (None, "unnumbered")] {
        let folder = home.path().join(name);
        delivered(&folder, context, 1, &parts);
        assert_eq!(kind(&folder).unwrap(), Kind::Spark);
        assert_eq!(counts_at(&folder, None).unwrap(), whole, "{name}");
        let trace = open(&folder).unwrap();
        let version = context.map(|_| "3.1.2".to_owned());
        assert_eq!((trace.recordings().len(), &trace.recordings()[0].version), (1, &version));
    }
    // In a folder of such folders, each is a log; those of the same application are read once.
    delivered(&home.path().join("other"), Some(2), 1, &self::parts(&log("app-2", None, 4, true), 7));
    let both = counts_at(home.path(), None).unwrap();
    assert_eq!((both.spark.unwrap().applications, both.tasks), (2, 34));
    mentions(&both.warnings, "is a log of the same application");
    // In one file, the parts follow each other.
    let joined: String = parts.iter().enumerate().map(|(number, part)| rollover(3, number) + part).collect();
    assert_eq!(counts_of(joined.as_bytes()).unwrap(), whole);
}

#[test]
fn parts_are_joined_by_their_numbers() {
    let home = tempfile::tempdir().unwrap();
    let parts = parts(&log("app-1", None, 30, true), 25);
    let whole = counts_of(parts.concat().as_bytes()).unwrap();
    // The dates do not follow the numbers, because the clock was put back.
    delivered(home.path(), Some(-5), 10, &parts);
    fs::rename(home.path().join("eventlog-2022-01-14--10-00.gz"), home.path().join("eventlog-2022-01-14--23-00.gz"))
        .unwrap();
    assert_eq!(counts_at(home.path(), None).unwrap(), whole);
    fs::remove_file(home.path().join("eventlog-2022-01-14--11-00.gz")).unwrap();
    let summary = counts_at(home.path(), None).unwrap();
    mentions(&summary.warnings, "the file numbered 1 is missing");
    assert!(summary.tasks < whole.tasks && summary.spark.unwrap().applications == 1);
}

#[test]
fn parts_of_several_applications_stay_apart() {
    let home = tempfile::tempdir().unwrap();
    let (one, two) = (parts(&log("app-1", None, 30, true), 40), parts(&log("app-2", None, 20, true), 30));
    for (folder, contexts) in [("numbered", [Some(1), Some(2)]), ("unnumbered", [None, None])] {
        let folder = home.path().join(folder);
        delivered(&folder, contexts[0], 2, &one);
        fs::rename(folder.join("eventlog"), folder.join("eventlog-2022-01-14--05-00")).unwrap();
        delivered(&folder, contexts[1], 10, &two);
        let summary = counts_at(&folder, None).unwrap();
        assert_eq!((summary.spark.unwrap().applications, summary.tasks, summary.jobs), (2, 50, 2));
        mentions(&summary.warnings, "The directory holds 2 applications");
        assert_eq!(summary.warnings.len(), 1, "{:?}", summary.warnings);
    }
}

/// Writes files in folders below a folder.
fn write_all(within: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = within.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

#[test]
fn jobs_of_flink_are_read_from_the_folder_of_archives() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (include_str!("fixtures/flink/retry.json"), include_str!("fixtures/flink/fail.json"));
    let summary = r#"{"archive":[{"path":"/applications/overview","json":"{\"applications\":[]}"}]}"#;
    write_all(
        folder.path(),
        &[
            ("c/applications/a/application-summary", summary),
            ("c/applications/a/jobs/a", one),
            ("c/applications/b/jobs/b", other),
        ],
    );
    assert_eq!(kind(folder.path()).unwrap(), Kind::Tasks(TaskFormat::Flink));
    let found = counts_at(folder.path(), None).unwrap();
    assert_eq!((found.jobs, found.tasks, found.attempts), (2, 14 + 10, 19 + 13));
    assert!(hindmost_trace::log::parts(folder.path()).is_empty());
    // Of an archive that is cut, a part is read, and the others are.
    write_all(folder.path(), &[("c/applications/a/jobs/a", &one[..one.len() / 2])]);
    let cut = counts_at(folder.path(), None).unwrap();
    assert!(cut.attempts > 13 && cut.attempts < 19 + 13, "{}", cut.attempts);
    assert!(cut.warnings[0].contains("is cut short in line 1 of c/applications/a/jobs/a"), "{:?}", cut.warnings);
    // With a file of another kind among the first ones it is no such folder.
    write_all(folder.path(), &[("c/applications/a/readme", "text")]);
    assert!(matches!(kind(folder.path()), Err(TraceError::Directory { .. })));
    assert!(!hindmost_trace::log::parts(folder.path()).is_empty());
}

#[test]
fn the_metadata_of_snakemake_is_one_log() {
    let folder = tempfile::tempdir().unwrap();
    // Each output has a file, without a line feed at its end. Of long names, the first part is a folder.
    for (number, record) in include_str!("fixtures/snakemake/outputs.jsonl").lines().enumerate() {
        let within = if number == 0 { "@Zm9v/" } else { "" };
        write_all(folder.path(), &[(&format!("{within}YS4{number}LnR4dA=="), record)]);
    }
    assert_eq!(kind(folder.path()).unwrap(), Kind::Tasks(TaskFormat::Snakemake));
    let found = counts_at(folder.path(), None).unwrap();
    assert_eq!((found.tasks, found.attempts), (6, 6));
    // Beyond the first files, others are left out.
    write_all(folder.path(), &[("zz", "text")]);
    assert!(kind(folder.path()).is_err());
    for number in 0..5 {
        write_all(folder.path(), &[(&format!("b{number}"), include_str!("fixtures/snakemake/last_tries.jsonl"))]);
    }
    assert!(counts_at(folder.path(), None).unwrap().warnings.iter().any(|one| one.starts_with("1 file in the folder")));
}
