//! Full disks, folders that vanish or can't be written, and commands that leave processes or odd files.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::hindmost;
use crate::scene::{Scene, as_nobody, leftovers, names, processes, run_id, signal, until, with_mounts};

const MANY: &str = r#"
[[phase]]
name = "many"
tasks = 60
command = 'echo "$HINDMOST_TASK" > "$HINDMOST_OUTPUT/number"'
"#;

/// Returns true if all tasks of [`MANY`] have their results.
fn all_numbers(out: &Path) -> bool {
    (0..60).all(|task| {
        let number = fs::read_to_string(out.join(format!("many/{task}/number"))).unwrap_or_default();
        number == format!("{task}\n")
    })
}

#[test]
fn a_run_resumes_after_its_journal_could_not_grow() {
    let scene = Scene::new(MANY);
    let mut runs = 0;
    // Limits of the file size, in units of 512 or 1024 bytes: from 0 to a little less than the run needs. The
    // messages go through a pipe, which has no limit.
    for limit in [0, 1, 4, 9, 14] {
        let script =
            format!("{{ (ulimit -f {limit}; trap '' XFSZ; exec \"$@\"); echo \"ended with $?\"; }} 2>&1 | cat");
        let args = if runs == 0 { &["--nodes", "n1:2,n2:2"][..] } else { &["--resume"][..] };
        let said = scene.end(scene.spawn(Some(&script), args)).stdout;
        assert!(!said.contains("panicked"), "with {limit}: {said}");
        assert!(said.ends_with("ended with 1\n") || said.ends_with("ended with 2\n"), "with {limit}: {said}");
        if let Some(run) = run_id(&scene.out()) {
            let (left, _) = leftovers(&run);
            assert!(left.is_empty(), "with {limit}: {left:?}");
            runs += 1;
        }
    }
    assert!(runs > 0);
    scene.run(&["--resume", "--nodes", "n1:2,n2:2"]).with(0);
    scene.is_clean().is_verified();
    assert!(all_numbers(&scene.out()));
}

#[test]
fn a_journal_that_cannot_grow_is_an_error_that_says_so() {
    let scene = Scene::new(MANY);
    let ended = scene.end(scene.spawn(Some("ulimit -f 12; trap '' XFSZ; exec \"$@\""), &[])).with(1);
    assert!(ended.stderr.contains("journal.jsonl") && ended.stderr.contains("too large"), "{}", ended.stderr);
}

#[test]
fn a_run_resumes_after_a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("job.toml"),
        MANY.replace("echo", "head -c 3000 /dev/zero > \"$HINDMOST_OUTPUT/fill\"; echo"),
    )
    .unwrap();
    fs::create_dir(folder.path().join("disk")).unwrap();
    let script = r#"
        mount -t tmpfs -o size=120k tmpfs disk || exit 9
        "$1" run job.toml --out disk/out --json --disk-wait 0 > /dev/null 2> first
        echo "first process run: $?" >> first
        mount -o remount,size=20m disk || exit 9
        "$1" run job.toml --out disk/out --json --resume > second 2>&1 || exit 1
        "$1" verify disk/out > verdict 2>&1 || exit 3
        ls disk/out/.hindmost/attempts > attempts
        cp -r disk/out out
    "#;
    let Some(ended) = with_mounts(folder.path(), script) else { return };
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    assert_eq!(ended.code, Some(0), "{}{}{}{}", ended.stderr, read("first"), read("second"), read("verdict"));
    let first = read("first");
    assert!(first.contains("first process run: 1") && !first.contains("panicked"), "{first}");
    assert!(first.contains("space") || first.contains("disk"), "{first}");
    assert_eq!(read("attempts"), "");
    assert!(all_numbers(&folder.path().join("out")));
}

#[test]
fn a_folder_that_cannot_be_written_is_refused() {
    let scene = Scene::new(MANY);
    for out in ["/proc/out", "/sys/out", "/dev/null/out", "/dev/null"] {
        let mut command = hindmost();
        command.current_dir(scene.folder.path()).args(["run", "job.toml", "--out", out]);
        let ran = command.output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(2), "{out}: {said}");
        assert!(said.starts_with("error: ") && said.contains(out), "{out}: {said}");
    }
}

#[test]
fn a_run_on_a_disk_that_is_now_read_only_is_not_resumed() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("job.toml"), MANY).unwrap();
    fs::create_dir(folder.path().join("disk")).unwrap();
    let script = r#"
        mount -t tmpfs -o size=20m tmpfs disk || exit 9
        "$1" run job.toml --out disk/out --json > /dev/null || exit 8
        mount -o remount,ro disk || exit 9
        "$1" run job.toml --out disk/out --json --resume
    "#;
    let Some(ended) = with_mounts(folder.path(), script) else { return };
    assert!(matches!(ended.code, Some(1 | 2)), "{:?}: {}", ended.code, ended.stderr);
    assert!(ended.stderr.contains("ead-only") && !ended.stderr.contains("panicked"), "{}", ended.stderr);
}

const WAITING: &str = r#"
[[phase]]
name = "wait"
tasks = 3
command = '''
touch "started.$HINDMOST_TASK"
while [ ! -e go ]; do sleep 0.02; done
echo done > "$HINDMOST_OUTPUT/state"
'''

[[phase]]
name = "after"
after = ["wait"]
tasks = 2
command = 'cat "$HINDMOST_FROM"/wait/*/state > "$HINDMOST_OUTPUT/states"'
"#;

#[test]
fn a_run_whose_folder_is_removed_ends() {
    for go in [true, false] {
        let scene = Scene::new(&WAITING.replace("-e go", "-e go -a -e job.toml"));
        let child = scene.spawn(None, &["--nodes", "n1:2,n2:2"]);
        until("tasks run", || (0..3).all(|task| scene.path(&format!("started.{task}")).exists()));
        let run = run_id(&scene.out()).unwrap();
        let _ = fs::remove_dir_all(scene.out());
        let _ = fs::remove_dir_all(scene.out());
        if go {
            scene.touch("go");
        } else {
            // The attempts continue until the run is interrupted.
            std::thread::sleep(Duration::from_millis(300));
            signal(child.id(), "INT");
        }
        let ended = scene.end(child);
        assert!(matches!(ended.code, Some(1 | 130)), "{:?}: {}{}", ended.code, ended.stdout, ended.stderr);
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
        let (left, _) = leftovers(&run);
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn a_run_succeeds_although_a_phases_folder_is_removed() {
    let scene = Scene::new(WAITING);
    let child = scene.spawn(None, &["--nodes", "n1:2,n2:2"]);
    until("tasks run", || (0..3).all(|task| scene.path(&format!("started.{task}")).exists()));
    fs::remove_dir(scene.out().join("wait")).unwrap();
    scene.touch("go");
    scene.end(child).with(0);
    scene.is_clean().is_verified();
    assert_eq!(scene.read("out/after/0/states"), "done\n".repeat(3));
}

#[test]
fn a_command_that_removes_its_output_folder_has_failed() {
    let job =
        |command: &str| format!("[[phase]]\nname = \"gone\"\ntasks = 2\nretries = 1\ncommand = '''\n{command}\n'''\n");
    let scene = Scene::new(&job(r#"rm -r "$HINDMOST_OUTPUT""#));
    let ended = scene.run(&[]).with(1);
    assert!(ended.reason().contains("removed its output folder"), "{}", ended.stdout);
    scene.is_clean().is_verified();
    assert!(names(&scene.out().join("gone")).is_empty());

    // The command removes the whole folder of its attempt.
    let scene = Scene::new(&job(r#"rm -rf "$HINDMOST_OUTPUT/..""#));
    let ended = scene.run(&[]).with(1);
    assert!(!ended.reason().is_empty(), "{}", ended.stdout);
    scene.is_clean().is_verified();
    assert!(names(&scene.out().join("gone")).is_empty());

    // A file in place of the output folder is not a result.
    for other in ["echo text >", "ln -s / ", "mkfifo"] {
        let scene = Scene::new(&job(&format!(r#"rmdir "$HINDMOST_OUTPUT"; {other} "$HINDMOST_OUTPUT""#)));
        let ended = scene.run(&[]).with(1);
        assert!(!ended.reason().is_empty(), "{other}: {}", ended.stdout);
        scene.is_clean().is_verified();
        assert!(names(&scene.out().join("gone")).is_empty(), "{other}");
    }
}

#[test]
fn processes_that_a_command_leaves_end_with_it() {
    let scene = Scene::new(
        r#"
[[phase]]
name = "daemons"
tasks = 2
command = '''
cd "$HINDMOST_OUTPUT"
echo begun > state
sleep 40 &
setsid sleep 40 &
(setsid nohup sh -c 'sleep 40 & wait' > /dev/null 2>&1 &)
setsid sh -c 'while :; do echo more >> state; sleep 0.01; done' &
(trap "" TERM INT HUP; sleep 40) &
sleep 0.1
'''

[[phase]]
name = "after"
after = ["daemons"]
tasks = 1
command = '''
cat "$HINDMOST_FROM"/daemons/*/state | wc -l > "$HINDMOST_OUTPUT/first"
sleep 0.2
cat "$HINDMOST_FROM"/daemons/*/state | wc -l > "$HINDMOST_OUTPUT/second"
'''
"#,
    );
    scene.run(&[]).with(0);
    scene.is_clean().is_verified();
    assert_eq!(
        scene.read("out/after/0/first"),
        scene.read("out/after/0/second"),
        "a process still writes into a result"
    );
}

#[test]
fn attempts_that_ended_before_a_resume_leave_no_processes() {
    let scene = Scene::new(
        r#"
[[phase]]
name = "first"
tasks = 1
command = '''
setsid sleep 60 &
touch ready
while [ ! -e go ]; do sleep 0.02; done
echo done > "$HINDMOST_OUTPUT/state"
'''

[[phase]]
name = "second"
after = ["first"]
tasks = 1
command = '''
touch second
while [ ! -e end ]; do sleep 0.02; done
cat "$HINDMOST_FROM/first/0/state" > "$HINDMOST_OUTPUT/state"
'''
"#,
    );
    let mut child = scene.spawn(None, &[]);
    until("the first phase runs", || scene.path("ready").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    let run = run_id(&scene.out()).unwrap();
    scene.touch("go");
    let attempts = scene.out().join(".hindmost/attempts");
    until("the first attempt has ended", || {
        names(&attempts)
            .iter()
            .any(|name| fs::read_to_string(attempts.join(name).join("end")).is_ok_and(|end| end.starts_with("exit 0 ")))
    });
    let sleeps = || processes(&run).iter().filter(|(_, line)| line.starts_with("sleep 60")).count();
    assert_eq!(sleeps(), 1);
    let child = scene.spawn(None, &["--resume"]);
    until("the second phase runs", || scene.path("second").exists());
    until("the first phase's daemon is gone", || sleeps() == 0);
    scene.touch("end");
    scene.end(child).with(0);
    scene.is_clean().is_verified();
    assert_eq!(scene.read("out/second/0/state"), "done\n");
}

#[test]
fn a_command_without_its_shell_is_ended_before_a_retry() {
    let scene = Scene::new(
        r#"
[[phase]]
name = "once"
tasks = 1
idempotent = false
command = '''
mkdir busy || touch twice
touch "started.$HINDMOST_ATTEMPT"
while [ ! -e go ]; do sleep 0.02; done
rmdir busy
'''
"#,
    );
    let mut child = scene.spawn(None, &[]);
    until("the task runs", || scene.path("started.0").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    // The test kills the shell that would write the end marker. The command itself continues.
    let attempt = names(&scene.out().join(".hindmost/attempts")).into_iter().find(|name| name.starts_with("0-0.0."));
    let process = scene.out().join(".hindmost/attempts").join(attempt.unwrap()).join("process");
    let identity = fs::read_to_string(process).unwrap();
    let identity: Value = serde_json::from_str(&identity).unwrap();
    signal(identity["pid"].as_u64().unwrap() as u32, "KILL");
    let run = run_id(&scene.out()).unwrap();
    let first = || {
        processes(&run).iter().any(|(pid, _)| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == b"HINDMOST_ATTEMPT=0")
        })
    };
    assert!(first());
    // The resumed run will kill the command, which then can't remove its folder `busy`. The test removes it, as a user
    // would have to.
    fs::remove_dir(scene.path("busy")).unwrap();
    let child = scene.spawn(None, &["--resume"]);
    until("the task is started again", || scene.path("started.1").exists());
    assert!(!first(), "two attempts of a task that may not run twice are running");
    scene.touch("go");
    scene.end(child).with(0);
    scene.is_clean().is_verified();
}

#[test]
fn results_may_be_read_only() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::new(
        r#"
[[phase]]
name = "locked"
tasks = 4
retries = 1
command = '''
mkdir -p "$HINDMOST_OUTPUT/a/b/c"
for folder in "" a a/b a/b/c; do echo text > "$HINDMOST_OUTPUT/$folder/file"; done
chmod -R a-w "$HINDMOST_OUTPUT"
[ $HINDMOST_TASK -lt 2 ] || [ $HINDMOST_ATTEMPT -gt 0 ]
'''

[[phase]]
name = "closed"
after = ["locked"]
tasks = 1
retries = 1
command = '''
mkdir -p "$HINDMOST_OUTPUT/a/b"
echo text > "$HINDMOST_OUTPUT/a/b/file"
chmod 000 "$HINDMOST_OUTPUT/a/b" "$HINDMOST_OUTPUT/a" "$HINDMOST_OUTPUT"
[ $HINDMOST_ATTEMPT -gt 0 ]
'''
"#,
    );
    fs::set_permissions(scene.folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    scene.end(scene.spawn(Some(as_nobody()), &[])).with(0);
    for task in 0..4 {
        assert_eq!(scene.read(&format!("out/locked/{task}/a/b/c/file")), "text\n");
        let mode = fs::metadata(scene.path(&format!("out/locked/{task}"))).unwrap().permissions().mode();
        assert_eq!(mode & 0o222, 0, "the result's permissions have changed: {mode:o}");
    }
    assert_eq!(names(&scene.out().join("closed")).len(), 1);
    scene.is_clean().is_verified();
    // Makes the folder writable, so that it can be removed.
    let _ = Command::new("chmod").arg("-R").arg("u+rwx").arg(scene.out()).status();
}

#[test]
fn an_output_folder_may_hold_thousands_of_files() {
    // The first attempts fail, and all their files are removed.
    let scene = Scene::new(
        r#"
[[phase]]
name = "files"
tasks = 2
command = '''
for folder in 0 1 2 3; do
    mkdir "$HINDMOST_OUTPUT/$folder" && cd "$HINDMOST_OUTPUT/$folder" && seq 1000 | xargs touch
done
[ $HINDMOST_ATTEMPT -gt 0 ]
'''
"#,
    );
    scene.run(&["--nodes", "n1:1,n2:1"]).with(0);
    scene.is_clean().is_verified();
    for task in 0..2 {
        for folder in 0..4 {
            assert_eq!(names(&scene.out().join(format!("files/{task}/{folder}"))).len(), 1000);
        }
    }
}

#[test]
fn an_odd_progress_file_does_not_hold_up_the_run() {
    for other in ["mkfifo", "mkdir", "ln -s /dev/zero", "ln -s /dev/tty", "printf '\\377\\377 0.5\\n0.1' >", "ln -s ."]
    {
        let command = format!(r#"{other} "$HINDMOST_PROGRESS"; sleep 0.4; echo done > "$HINDMOST_OUTPUT/state""#);
        let scene = Scene::new(&format!("[[phase]]\nname = \"odd\"\ntasks = 2\ncommand = '''\n{command}\n'''\n"));
        scene.run(&["--nodes", "n1:2"]).with(0);
        scene.is_clean().is_verified();
        assert_eq!(scene.read("out/odd/1/state"), "done\n", "{other}");
    }
}

#[test]
fn more_attempts_than_open_files_are_allowed() {
    let scene = Scene::new("[[phase]]\nname = \"many\"\ntasks = 60\ncommand = 'sleep 0.3'\n");
    let ended = scene.end(scene.spawn(Some("ulimit -S -n 40; exec \"$@\""), &["--nodes", "n1:60"]));
    ended.with(0);
    scene.is_clean().is_verified();
}
