//! Logs in files: what opening one tells of it.

use std::fs;
use std::path::Path;

use hindmost_trace::TraceError;
use hindmost_trace::spark::{open, summarize};

#[test]
fn a_file_is_read_with_its_size_told() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let log = r#"{"Event":"SparkListenerLogStart","Spark Version":"3.5.0"}"#;
    fs::write(&path, log).unwrap();
    let mut last = (0, None);
    let mut tell = |read, total| last = (read, total);
    let summary = summarize(&path, Some(&mut tell)).unwrap();
    assert_eq!((summary.jobs, summary.from), (0, None));
    let size = log.len() as u64;
    assert_eq!(last, (size, Some(size)));
}

#[test]
fn what_cannot_be_opened_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing");
    let error = open(&missing, None).unwrap_err();
    assert!(matches!(error, TraceError::Open { .. }));
    let text = error.to_string();
    assert!(text.contains("missing") && text.contains("no such file"), "{text}");
    let error = open(directory.path(), None).unwrap_err();
    assert!(matches!(error, TraceError::Directory { .. }), "{error}");
    assert!(open(Path::new(""), None).is_err());
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read_is_told() {
    use std::os::unix::fs::PermissionsExt;

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    fs::write(&path, "{}").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    // The superuser may read it nevertheless.
    if fs::File::open(&path).is_err() {
        let text = open(&path, None).unwrap_err().to_string();
        assert!(text.contains("permission denied"), "{text}");
    }
}
