//! Tests of logs in files and folders.

use std::fs;

use super::super::Hadoop;
use super::{V2, counts, diagnose, find, gzip, numbers, on_disk, open, warning};
use crate::error::TraceError;
use crate::log::Log;
use crate::recorder::Wanted;
use crate::testing::read_path;

#[test]
fn histories_at_any_depth_of_a_folder_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let of_job = |number: u32| V2.replace("1700_0001", &format!("1700_{number:04}"));
    on_disk(&root.join("2026/01/job_1700_0001-1-u-sort-2-1-1-SUCCEEDED-q.jhist"), of_job(1).as_bytes());
    on_disk(&root.join("2026/02/job_1700_0002-1-u-sort-2-1-1-SUCCEEDED-q.jhist.gz"), &gzip(of_job(2).as_bytes()));
    on_disk(&root.join("2026/02/job_1700_0001_conf.xml"), b"<configuration/>");
    on_disk(&root.join("2026/02/.job_1700_0002.jhist.crc"), b"crc\0\0");
    on_disk(&root.join("history without its name"), of_job(3).as_bytes());
    // Histories that ApplicationMasters leave while a job runs; the last one is complete.
    on_disk(&root.join("staging/job_1700_0004_1.jhist"), b"Avro-Json\n");
    on_disk(&root.join("staging/job_1700_0004_2.jhist"), of_job(4).as_bytes());
    on_disk(&root.join("staging/job_1700_0001_1.jhist"), of_job(1).as_bytes());
    assert!(find(root).unwrap());
    let mut reports = Vec::new();
    let mut on_progress = |read, total| reports.push((read, total));
    let trace = open(root, Some(&mut on_progress)).unwrap();
    let summary = trace.summary();
    assert_eq!((summary.format, summary.jobs, summary.stages, summary.nodes), ("hadoop-jhist", 4, 8, 2));
    assert_eq!(numbers(summary), (20, 4, 4, 4));
    warning(summary, "2 job histories were left out, because the same job has a later one");
    let last = *reports.last().unwrap();
    assert_eq!(Some(last.0), last.1);

    // The same job in another file is read once; unreadable files are left out.
    on_disk(&root.join("copy.jhist"), of_job(2).as_bytes());
    on_disk(&root.join("z.jhist"), b"nothing of the kind");
    on_disk(&root.join("cut.jhist.gz"), &gzip(of_job(5).as_bytes())[..300]);
    on_disk(&root.join("rumen.json"), br#"{"jobID":"job_1700_0001","mapTasks":[]}"#);
    let summary = counts(root).unwrap();
    assert_eq!((summary.jobs, summary.attempts), (4, 20));
    warning(&summary, "1 job is in a second file");
    warning(&summary, "2 files of the folder could not be read and were left out; the first error is: ");
    warning(&summary, "1 Rumen trace was left out, because the folder has job histories");
}

/// A configuration with a setting of maps, and one that does not matter.
fn configuration(maps: &str) -> String {
    let property = |name: &str, value: &str| format!("<property><name>{name}</name><value>{value}</value></property>");
    let [maps, other] =
        [property("mapreduce.map.speculative", maps), property("mapreduce.job.name", "<![CDATA[</configuration>]]>")];
    format!("<?xml version=\"1.0\"?>\n<configuration>{other}{maps}</configuration>")
}

#[test]
fn jobs_have_the_settings_of_their_configurations() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let of_job = |number: u32| V2.replace("1700_0001", &format!("1700_{number:04}"));
    for number in 1..=4 {
        let log = format!("{number}/job_1700_{number:04}-1-u-sort-2-1-1-SUCCEEDED-q.jhist");
        on_disk(&root.join(log), of_job(number).as_bytes());
    }
    on_disk(&root.join("1/job_1700_0001_conf.xml"), configuration("false").as_bytes());
    on_disk(&root.join("2/job_1700_0002_conf.xml.gz"), &gzip(configuration("true").as_bytes()));
    on_disk(&root.join("3/job_1700_0003_conf.xml"), &configuration("false").as_bytes()[..80]);
    // That of another job.
    on_disk(&root.join("4/job_1700_0001_conf.xml"), configuration("false").as_bytes());
    let Log { summary, diagnoses, .. } = diagnose(root).unwrap();
    assert_eq!((summary.jobs, summary.format), (4, "hadoop-jhist"));
    let maps = |settings: &std::collections::BTreeMap<String, String>| -> Vec<(String, String)> {
        settings.clone().into_iter().collect()
    };
    let expected = |value: &str| vec![("mapreduce.map.speculative".to_owned(), value.to_owned())];
    let found: Vec<_> = diagnoses.iter().map(|one| maps(&one.settings)).collect();
    assert_eq!(found, [expected("false"), expected("true"), vec![], vec![]]);
    let unread = warning(&summary, "1 configuration of a job could not be read");
    assert!(unread.contains("job_1700_0003_conf.xml: "), "{unread}");
    let alone = read_path(&Hadoop, root, Wanted::REPLAYS, None).unwrap().take_applications().into_iter();
    let worlds = alone.map(|application| application.into_replay().unwrap().world.unwrap());
    let found: Vec<_> = worlds.map(|world| maps(&world.settings)).collect();
    assert_eq!(found, [expected("false"), expected("true"), vec![], vec![]]);
    // A replay of all jobs has the settings that are the same for all of them.
    assert!(open(root, None).unwrap().world().unwrap().settings.is_empty());
    assert_eq!(maps(&open(&root.join("1"), None).unwrap().world().unwrap().settings), expected("false"));
}

#[test]
fn a_folder_of_rumen_traces_is_read_too() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    assert!(!find(root).unwrap());
    assert!(matches!(counts(root), Err(TraceError::NoHadoopLog { .. })));
    for (name, id) in [("a.json", 1), ("b.json.gz", 2), ("c", 2)] {
        let text = format!(r#"{{"jobID":"job_1_{id}","mapTasks":[{{"attempts":[{{"result":"SUCCESS"}}]}}]}}"#);
        let text = if name.ends_with("gz") { gzip(text.as_bytes()) } else { text.into_bytes() };
        on_disk(&root.join(name), &text);
    }
    on_disk(&root.join("log"), b"{\"Event\":\"SparkListenerLogStart\"}");
    let summary = counts(root).unwrap();
    assert_eq!((summary.format, summary.jobs, summary.attempts), ("rumen", 2, 2));
    warning(&summary, "1 job is in a second file");
}

#[test]
fn a_cut_gzip_file_is_read_up_to_the_cut() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.jhist.gz");
    let text: String = (1..40).map(|number| V2.replace("1700_0001", &format!("1700_{number:04}"))).collect();
    let packed = gzip(text.as_bytes());
    let whole = {
        fs::write(&path, &packed).unwrap();
        counts(&path).unwrap()
    };
    assert_eq!(whole.jobs, 39);
    let mut read = 0;
    for part in 1..10 {
        fs::write(&path, &packed[..packed.len() * part / 10]).unwrap();
        match counts(&path) {
            Ok(summary) => {
                assert!(summary.jobs < 39);
                warning(&summary, "cut short");
                read += summary.attempts;
            }
            Err(error) => assert!(part < 4, "{part}: {error}"),
        }
    }
    assert!(read > 0);
    let mut damaged = packed.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 40].fill(0xff);
    fs::write(&path, &damaged).unwrap();
    let summary = counts(&path).unwrap();
    assert!(!summary.warnings.is_empty());
}

#[test]
fn files_that_cannot_be_opened_give_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing");
    assert!(matches!(counts(&missing), Err(TraceError::Open { .. })));
    assert!(find(&missing).is_err());
    let one = directory.path().join("one.jhist");
    fs::write(&one, "Avro-Json\n").unwrap();
    let of_file = counts(&one).unwrap_err();
    let of_folder = counts(directory.path()).unwrap_err();
    assert!(matches!(of_file, TraceError::NothingComplete { .. }));
    assert!(matches!(of_folder, TraceError::NothingComplete { .. }));
}
