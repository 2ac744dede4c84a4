//! `hindmost clean`: what resumed runs have set aside.

use std::fs::{self, File};
use std::path::Path;

use serde_json::json;

use crate::{json_in, run_in};

const JOB: &str = "name = \"j\"\n[[phase]]\nname = \"p\"\ninputs = \"in*\"\n\
                   command = \"head -c 3000 /dev/zero > $HINDMOST_OUTPUT/zeros\"\n";

/// Runs a job of two tasks, and one of them again.
fn run_twice(folder: &Path) {
    fs::write(folder.join("job.toml"), JOB).unwrap();
    for name in ["in0", "in1"] {
        fs::write(folder.join(name), name).unwrap();
    }
    assert_eq!(run_in(folder, &["run", "job.toml"]).code, Some(0));
    fs::write(folder.join("in1"), "longer than before").unwrap();
    assert_eq!(run_in(folder, &["run", "job.toml", "--resume"]).code, Some(0));
}

#[test]
fn what_was_set_aside_is_listed_and_removed_on_request() {
    let folder = tempfile::tempdir().unwrap();
    run_twice(folder.path());
    let listed = json!([{"name": "p.1.1", "bytes": 3000}]);
    let clean = |args: &[&str]| json_in(folder.path(), &[&["clean", "j.out", "--json"], args].concat());
    let expected = json!({"folder": "j.out", "set_aside": listed, "bytes": 3000, "removed": false});
    assert_eq!(clean(&[]), expected);
    let text = run_in(folder.path(), &["clean", "j.out"]).stdout;
    assert_eq!(
        text,
        "2.9 kB  p.1.1\nj.out: 1 result of 2.9 kB set aside; hindmost clean j.out --remove removes them\n"
    );
    assert_eq!(clean(&["--remove"])["removed"], true);
    assert_eq!(clean(&[])["set_aside"], json!([]));
    // The results stay.
    for task in 0..2 {
        assert_eq!(fs::metadata(folder.path().join(format!("j.out/p/{task}/zeros"))).unwrap().len(), 3000);
    }
}

#[test]
fn nothing_is_removed_from_a_folder_in_use_or_without_a_run() {
    let folder = tempfile::tempdir().unwrap();
    run_twice(folder.path());
    let lock = File::open(folder.path().join("j.out/.hindmost/lock")).unwrap();
    lock.lock().unwrap();
    let refused = run_in(folder.path(), &["clean", "j.out", "--remove"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("is in use"), "{}", refused.stderr);
    drop(lock);
    assert_eq!(json_in(folder.path(), &["clean", "j.out", "--json"])["bytes"], 3000);
    let refused = run_in(folder.path(), &["clean", ".", "--remove"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("holds no run"), "{}", refused.stderr);
    // A link in the place of the folder leads nowhere.
    let aside = folder.path().join("j.out/.hindmost/set-aside");
    fs::remove_dir_all(&aside).unwrap();
    fs::create_dir(folder.path().join("mine")).unwrap();
    fs::write(folder.path().join("mine/file"), "x").unwrap();
    std::os::unix::fs::symlink("../../mine", &aside).unwrap();
    assert_eq!(run_in(folder.path(), &["clean", "j.out", "--remove"]).code, Some(2));
    assert!(folder.path().join("mine/file").exists());
}
