//! Tests that logs are recognised by their content, whatever their names.

use std::fs;
use std::path::Path;

use crate::reading::{diagnose, diagnose_stream, open};
use crate::support::{Maker, packed};
use hindmost_trace::log::{self, kind};
use hindmost_trace::table::Columns;
use hindmost_trace::{Kind, TraceError, Wanted};

const SPARK: &str = include_str!("fixtures/spark/usual.jsonl");
const RUMEN: &str = include_str!("fixtures/hadoop/rumen.json");
const JHIST: &str = include_str!("fixtures/hadoop/v2.jhist");
const JOURNAL: &str = include_str!("fixtures/journal/endings.jsonl");

/// Format, attempts, speculative attempts and killed attempts of a log.
type Counts = (&'static str, u64, u64, u64);

/// Logs, and what every reading must find in them.
const COUNTS: [(&str, Counts); 3] =
    [(SPARK, ("spark", 5, 0, 0)), (RUMEN, ("rumen", 5, 1, 1)), (JHIST, ("hadoop-jhist", 5, 1, 1))];

fn counts(path: &Path) -> Counts {
    let (summary, findings, _) = diagnose(path, None).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(findings.attempts.ended, summary.attempts, "{}", path.display());
    (summary.format, summary.attempts, summary.speculative_attempts, summary.killed_attempts)
}

#[test]
fn every_log_is_recognised_by_its_content() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    };
    for (text, expected) in COUNTS {
        assert_eq!(counts(&write("log", text)), expected);
        fs::write(folder.path().join("log"), packed("gzip", text.as_bytes())).unwrap();
        assert_eq!(counts(&folder.path().join("log")), expected);
    }
    assert_eq!(kind(&write("log", JOURNAL)).unwrap(), Kind::Journal);
    // Folders are recognised by their content.
    write("history/2026/11/job_1_0001-1-u-j-9-1-0-SUCCEEDED-q.jhist", JHIST);
    assert_eq!(counts(&folder.path().join("history")), ("hadoop-jhist", 5, 1, 1));
    write("events/app-1", SPARK);
    write("events/app-2", &SPARK.replace("app-1", "app-2"));
    assert_eq!(counts(&folder.path().join("events")), ("spark", 10, 0, 0));
    let journal = write("run.out/.hindmost/journal.jsonl", JOURNAL);
    let out = folder.path().join("run.out");
    let read = log::read(&out, &Columns::default(), Wanted::DIAGNOSES, None).unwrap();
    assert_eq!((read.kind, read.name), (Kind::Journal, journal.display().to_string()));
    write("empty/nothing.txt", "");
    assert!(matches!(kind(&folder.path().join("empty")), Err(TraceError::Directory { .. })));
    // The Spark reader reads any other file, and describes it in an error.
    assert_eq!(kind(&write("letter", "Dear Sir,\n")).unwrap(), Kind::Spark);
    assert!(matches!(diagnose(&folder.path().join("letter"), None), Err(TraceError::NotSpark { .. })));
}

#[test]
fn a_folder_of_two_kinds_warns_of_logs_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("hadoop/job_1_0001-1-u-j-9-1-0-SUCCEEDED-q.jhist", JHIST);
    write("hadoop/notes", "Dear Sir,\n");
    write("table.csv.gz", "a,b\n1,2\n");
    let warnings_of = |path: &Path| diagnose(path, None).unwrap().0.warnings.join("\n");
    assert!(!warnings_of(folder.path()).contains("Spark"), "{}", warnings_of(folder.path()));
    write("spark/app-1", SPARK);
    assert_eq!(counts(folder.path()), ("hadoop-jhist", 5, 1, 1));
    assert!(
        warnings_of(folder.path()).contains(
            "1 Spark event log was left out, because only the Hadoop logs of a folder with \
                                             both are read: spark/app-1; read these separately."
        ),
        "{}",
        warnings_of(folder.path())
    );
    for number in 2..9 {
        write(&format!("spark/app-{number}"), &SPARK.replace("app-1", &format!("app-{number}")));
    }
    let warnings = warnings_of(folder.path());
    assert!(warnings.contains("8 Spark event logs") && warnings.contains("spark/app-5 and 3 more;"), "{warnings}");
    // The warning is also given for a replay.
    let trace = open(folder.path()).unwrap();
    assert!(trace.summary().warnings.iter().any(|warning| warning.contains("8 Spark event logs")));
    // With a Spark log in the folder itself, the Hadoop logs are left out.
    write("app-0", &SPARK.replace("app-1", "app-0"));
    assert_eq!(counts(folder.path()), ("spark", 5, 0, 0));
    assert!(warnings_of(folder.path()).contains("hadoop (a directory"), "{}", warnings_of(folder.path()));
}

#[test]
fn a_stream_is_recognised_by_its_beginning() {
    for (text, expected) in COUNTS {
        let text = text.as_bytes();
        for bytes in [text.to_vec(), packed("gzip", text), packed("zstd", text), packed("lz4", text)] {
            let (summary, ..) = diagnose_stream(&bytes[..], "standard input").unwrap();
            let counts = (summary.format, summary.attempts, summary.speculative_attempts, summary.killed_attempts);
            assert_eq!(counts, expected);
        }
    }
    assert_eq!(diagnose_stream(JOURNAL.as_bytes(), "x").unwrap().0.format, "journal");
    // The log is longer than the part that is read to recognise it.
    let (long, made) = Maker::whole(3 << 20);
    let (summary, ..) = diagnose_stream(&packed("zstd", &long)[..], "x").unwrap();
    assert_eq!((summary.attempts, summary.warnings.len()), (made.attempts, 0));
    for nothing in ["", "Dear Sir,\n"] {
        let error = diagnose_stream(nothing.as_bytes(), "standard input").unwrap_err().to_string();
        assert!(error.contains("standard input") && error.contains("Rumen trace"), "{error}");
    }
}

#[test]
fn findings_and_diagnoses_have_the_same_stragglers() {
    // Two tasks do not show what is typical of a phase.
    let two = "task,start,end\n1,0,93600\n2,0,0.85\n".to_owned();
    // Four slots: first waves of 8 s, tasks of 2 s, and one of 9 s.
    let mut many = "task,node,start,end\n".to_owned();
    for task in 0..24 {
        let start = if task < 4 { 0 } else { 6 + 2 * (task / 4) };
        let seconds = if task < 4 || task == 23 { 8 } else { 2 };
        many += &format!("{task},n{},{start},{}\n", task % 2, start + seconds);
    }
    for (log, stragglers) in [(two, 0), (many, 5)] {
        let (_, findings, diagnoses) = diagnose_stream(log.as_bytes(), "log").unwrap();
        let of_phases: u64 = findings.phases.iter().map(|phase| phase.stragglers.tasks).sum();
        let found = [findings.stragglers.tasks, of_phases, diagnoses[0].stragglers.tasks];
        assert_eq!(found, [stragglers; 3], "{log}");
    }
}

#[test]
fn findings_and_diagnoses_have_the_same_waiting_time() {
    // A task ends in each second. The last 5 % begin when at least 95 % have ended: of 20 tasks 19, of 21 tasks 20 (19
    // are 90.5 %), of 101 tasks 96. Of fewer than 20 tasks, there are no last 5 %.
    for (tasks, seconds) in [(19, 0.0), (20, 1.0), (21, 1.0), (39, 1.0), (41, 2.0), (100, 5.0), (101, 5.0)] {
        let rows = (0..tasks).map(|task| format!("{task},0,{}\n", task + 1));
        let log = format!("task,start,end\n{}", rows.collect::<String>());
        let (_, findings, diagnoses) = diagnose_stream(log.as_bytes(), "log").unwrap();
        let found = [findings.waiting.seconds, diagnoses[0].finished_last.all.seconds];
        assert_eq!(found, [seconds; 2], "{tasks} tasks");
    }
}

#[test]
fn logs_of_attempts_are_read_up_to_a_cut() {
    let logs: [(&str, &[u8]); 7] = [
        ("flink", include_bytes!("fixtures/flink/task_manager_lost.json")),
        ("dask", include_bytes!("fixtures/dask/stream.json")),
        ("dask", include_bytes!("fixtures/dask/stream_pandas.csv")),
        ("dask", include_bytes!("fixtures/dask/transitions_lost.json")),
        ("snakemake", include_bytes!("fixtures/snakemake/outputs.jsonl")),
        ("condor", include_bytes!("fixtures/condor/events.log")),
        ("swf", include_bytes!("fixtures/swf/eight_jobs.swf")),
    ];
    for (format, log) in logs {
        let attempts = |log: &[u8]| {
            diagnose_stream(log, "log").map_or(0, |(summary, ..)| {
                assert_eq!(summary.format, format);
                summary.attempts
            })
        };
        let whole = attempts(log);
        let mut before = 0;
        for cut in (0..log.len()).step_by(311) {
            let found = attempts(&log[..cut]);
            assert!((before..=whole).contains(&found), "{format} has {found} attempts of {whole} in {cut} bytes");
            before = found;
        }
        assert!(before > 0 && whole > 0, "{format}");
        // Damage does not stop the reader.
        for at in (0..log.len()).step_by(577) {
            let mut damaged = log.to_vec();
            damaged[at] = b'\xff';
            let _ = diagnose_stream(&damaged[..], "log");
        }
    }
}
