//! The demo: two real runs of a real job, with equal and correct results.

use std::fs;

use crate::{hindmost, run};

#[test]
fn both_runs_are_done_and_their_results_equal() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("demo");
    let args = ["demo", "--slow", "3", "--json", "--out"];
    // A small text is enough, because this test does not compare times.
    let ran = hindmost().env("HINDMOST_DEMO_MEGABYTES", "1").args(args).arg(&out).output().unwrap();
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(0), "{stderr}");
    let document: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    crate::schemas::conforms("demo", &document);
    assert_eq!(document["results_equal"], true, "{document}");
    assert_eq!(document["slowed"]["node"], "n4");
    assert_eq!(document["slowed"]["factor"], 3.0);
    assert_eq!(
        (&document["without"]["state"], &document["with"]["state"]),
        (&"done".into(), &"done".into()),
        "{document}"
    );
    assert_eq!(document["without"]["policy"], "none");
    assert_eq!(document["without"]["copies"]["launched"], 0);
    let result = |run: &str| fs::read_to_string(out.join(run).join("reduce/0/result")).unwrap();
    assert_eq!(result("without"), result("with"));
    let words: u64 = result("with").lines().filter_map(|line| line.split(' ').nth(1)?.parse::<u64>().ok()).sum();
    assert_eq!(document["text"]["words"], words);
    // The job file in the folder can be run again.
    let job = out.join("job.toml");
    let checked = run(&["run", "--check", job.to_str().unwrap()]);
    assert_eq!(checked.code, Some(0), "{}", checked.stderr);
    assert!(checked.stdout.contains("reduce"), "{}", checked.stdout);
    // A folder that is not empty is refused.
    let again = run(&["demo", "--out", out.to_str().unwrap()]);
    assert_eq!(again.code, Some(2), "{}", again.stderr);
    assert!(again.stderr.contains("new or an empty"), "{}", again.stderr);
}

#[test]
fn factors_out_of_range_are_refused() {
    for slow in ["--slow=0.5", "--slow=-1", "--slow=nan", "--slow=1001", "--slow=inf"] {
        let ran = run(&["demo", slow]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{slow}");
        assert!(ran.stderr.contains("from 1 to 1000"), "{slow}: {}", ran.stderr);
    }
}

#[cfg(unix)]
#[test]
fn missing_tools_are_named() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().join("bin");
    fs::create_dir(&tools).unwrap();
    for tool in ["cat", "awk"] {
        let path = ["/bin", "/usr/bin"].map(|bin| std::path::Path::new(bin).join(tool));
        let path = path.iter().find(|path| path.exists()).unwrap();
        symlink(path, tools.join(tool)).unwrap();
    }
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let ran = hindmost().env("PATH", &tools).env("TMPDIR", &temporary).arg("demo").output().unwrap();
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("need cat, awk and sort") && stderr.contains("not found"), "{stderr}");
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
}
