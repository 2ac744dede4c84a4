//! Tasks of a few milliseconds, which are started without the shell that writes the end marker and in folders of earlier
//! attempts. On a slow machine they may count as long ones. All tests hold in both cases.

use std::fs;
use std::os::unix::fs::MetadataExt;

use super::{Job, wait_for};
use crate::scene::{Live, processes, run_id};

/// Checks the state of the attempt's folder, so that a folder in which an earlier attempt left something is noticed.
const CHECKED: &str = r#"
[[phase]]
name = "a"
tasks = 60
command = '''
echo "$HINDMOST_TASK" > "$HINDMOST_OUTPUT/../new" 2>/dev/null && rm "$HINDMOST_OUTPUT/../new"
cd "$HINDMOST_OUTPUT/.."
echo "$(ls -A out | wc -l) $(ls -A | sort | tr '\n' ' ')$(stat -c %a . out stderr | tr '\n' ' ')" >> ../../../../seen
case $HINDMOST_TASK in
40) ln stdout ../../../../linked; echo forty ;;
42) touch extra ;;
44) chmod 700 out ;;
46) chmod 700 . ;;
48) rm stderr; ln -s ../../../../elsewhere stderr ;;
50) echo 0.5 > progress; echo loud ;;
52) echo result > out/result ;;
esac
'''
"#;

#[test]
fn every_attempt_finds_its_folder_new() {
    let job = Job::new(CHECKED);
    job.done(&["--nodes", "n1:1", "--policy", "none", "--out", "out"]);
    let seen = job.read("seen");
    let mut lines: Vec<&str> = seen.lines().map(|line| line.strip_suffix(' ').unwrap_or(line)).collect();
    assert_eq!(lines.len(), 60);
    // The file `process` is there only if the attempt has a wrapper.
    let without_process: Vec<String> = lines.iter().map(|line| line.replace(" process", "")).collect();
    lines = without_process.iter().map(String::as_str).collect();
    lines.dedup();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("0 end out stderr stdout "), "{lines:?}");
    // The file that task 40 has linked is its own, and keeps what the task has written.
    assert_eq!(job.read("linked"), "forty\n");
    assert!(!job.has("elsewhere"));
    assert_eq!(job.read("out/.hindmost/logs/a/50.0.out"), "loud\n");
    assert_eq!(job.read("out/a/52/result"), "result\n");
    assert!(job.names("out/.hindmost/attempts").is_empty());
    let ran = crate::run_in(job.path(), &["verify", "out"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn exit_codes_and_signals_are_those_of_the_command() {
    for (end, reason) in [
        ("exit 97", "exit code 97"),
        ("kill -TERM $$", "exit code 143 (killed by signal 15)"),
        ("no-such-program-at-all", "exit code 127"),
        ("set -o | grep -q 'pipefail.*on' && false | true", "exit code 1"),
    ] {
        let job = Job::new(&format!(
            "[[phase]]\nname = \"a\"\ntasks = 40\nretries = 0\ncommand = '''[ $HINDMOST_TASK != 39 ] || {{ {end}; }}'''\n"
        ));
        let failed = job.json(&["--nodes", "n1:1", "--policy", "none"], 1);
        assert_eq!(failed["failed_tasks"][0]["task"], 39, "{failed}");
        let said = failed["failed_tasks"][0]["reason"].as_str().unwrap();
        assert!(said.contains(reason), "{end}: {said}");
    }
}

#[test]
fn plain_words_run_as_in_the_shell() {
    let job = Job::new(
        r#"
[[phase]]
name = "a"
tasks = 40
command = "env"
"#,
    );
    job.done(&["--nodes", "n1:1", "--policy", "none", "--out", "out"]);
    let here = job.path().canonicalize().unwrap();
    for task in 0..40 {
        let log = job.read(&format!("out/.hindmost/logs/a/{task}.0.out"));
        for line in [format!("HINDMOST_TASK={task}"), format!("PWD={}", here.display())] {
            assert!(log.lines().any(|found| found == line), "{task}: {line}: {log}");
        }
    }
}

#[test]
fn an_attempt_that_a_killed_run_leaves_is_continued_or_begins_again() {
    let job = Job::new(
        r#"
[[phase]]
name = "a"
tasks = 41
retries = 0
command = '''
if [ "$HINDMOST_TASK.$HINDMOST_ATTEMPT" = 40.0 ]; then
    touch began
    until [ -e go ]; do sleep 0.05; done
fi
echo done > "$HINDMOST_OUTPUT/result"
'''
"#,
    );
    let run = Live::start(job.path(), "job.toml", "out", &["--nodes", "n1:1", "--policy", "none"]);
    wait_for("the last task has begun", || job.has("began"));
    run.kill();
    let id = run_id(&job.path().join("out")).unwrap();
    job.write("go", "");
    job.done(&["--resume", "--out", "out"]);
    assert!(processes(&id).is_empty());
    for task in 0..41 {
        assert_eq!(job.read(&format!("out/a/{task}/result")), "done\n");
    }
}

#[test]
fn links_of_empty_results_are_names_of_one_link() {
    let job = Job::new("[[phase]]\nname = \"a\"\ntasks = 40\ncommand = \"true\"\n");
    job.done(&["--nodes", "n1:2", "--policy", "none", "--out", "out"]);
    let inode = |task: u32| fs::symlink_metadata(job.path().join(format!("out/a/{task}"))).unwrap().ino();
    assert!((0..40).all(|task| job.path().join(format!("out/a/{task}")).is_dir()));
    // A file system without such links has a link for each.
    let probe = job.path().join("probe");
    if fs::hard_link(job.path().join("out/.hindmost/empty-link"), &probe).is_ok() {
        assert!((0..40).all(|task| inode(task) == inode(0)));
    }
    fs::remove_file(job.path().join("out/a/7")).unwrap();
    job.done(&["--resume", "--out", "out"]);
    assert!(job.path().join("out/a/7").is_dir());
}
