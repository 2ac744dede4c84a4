//! Tests of opening logs in files.

use std::fs;
use std::path::Path;

use crate::reading::{counts_at, open};
use hindmost_trace::TraceError;

#[test]
fn progress_reports_the_size_of_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let log = r#"{"Event":"SparkListenerLogStart","Spark Version":"3.5.0"}"#;
    fs::write(&path, log).unwrap();
    let mut last = (0, None);
    let mut on_progress = |read, total| last = (read, total);
    let summary = counts_at(&path, Some(&mut on_progress)).unwrap();
    assert_eq!((summary.jobs, summary.from), (0, None));
    let size = log.len() as u64;
    assert_eq!(last, (size, Some(size)));
}

#[test]
fn files_that_cannot_be_opened_give_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing");
    let error = open(&missing).unwrap_err();
    assert!(matches!(error, TraceError::Open { .. }));
    let text = error.to_string();
    assert!(text.contains("missing") && text.contains("no such file"), "{text}");
    let error = open(directory.path()).unwrap_err();
    assert!(matches!(error, TraceError::Directory { .. }), "{error}");
    assert!(open(Path::new("")).is_err());
}

#[cfg(unix)]
#[test]
fn a_file_without_read_permission_gives_an_error() {
    use std::os::unix::fs::PermissionsExt;

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    fs::write(&path, "{}").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    // The superuser may read the file regardless of its mode.
    if fs::File::open(&path).is_err() {
        let text = open(&path).unwrap_err().to_string();
        assert!(text.contains("permission denied"), "{text}");
    }
}
