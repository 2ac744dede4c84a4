//! Tests with folders that can't be removed, clocks that are set, and limits of the system. The run continues or can be
//! resumed, its results are right, and it reports problems that the user has to solve.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hindmost_testing::left_out;
use serde_json::Value;

use super::syscalls::Swept;
use crate::scene::{Ended, Scene, as_nobody, names, signal, until, until_recorded, with_mounts};

const LEFT: &str = "can't be removed and are left";

/// Returns true if a shell script succeeds.
fn succeeds(script: &str, folder: &Path) -> bool {
    let ran = Command::new("sh").args(["-c", script]).current_dir(folder).stdin(Stdio::null()).output();
    ran.is_ok_and(|ran| ran.status.success())
}

/// Starts the job by a script that ends in `exec "$@"`. Unlike [`Scene::spawn`] it does not use `--json`, so that the
/// messages of the run are printed.
fn spawn_with_messages(scene: &Scene, script: &str, args: &[&str]) -> Child {
    let log = |name: &str| fs::File::create(scene.path(name)).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_hindmost"), "run", "job.toml", "--out", "out"]).args(args);
    command.current_dir(scene.folder.path()).stdin(Stdio::null()).stdout(log("stdout")).stderr(log("stderr"));
    command.spawn().unwrap()
}

fn run_with_messages(scene: &Scene, args: &[&str]) -> Ended {
    scene.end(spawn_with_messages(scene, "exec \"$@\"", args))
}

/// Returns the summary of the run.
fn summary(scene: &Scene) -> Value {
    serde_json::from_str(&scene.read("out/.hindmost/summary.json")).unwrap()
}

/// Returns a job of one task whose first attempt runs these commands and fails.
fn failing_first(what: &str) -> String {
    format!(
        "[[phase]]\nname = \"one\"\ntasks = 1\nretries = 1\ncommand = '''\n\
         if [ $HINDMOST_ATTEMPT = 0 ]; then\n{what}\nexit 1\nfi\necho done > \"$HINDMOST_OUTPUT/state\"\n'''\n"
    )
}

/// Checks that a run has done its one task and reports a folder that it could not remove.
fn done_and_left(scene: &Scene, ended: Ended) {
    let ended = ended.with(0);
    assert!(ended.stderr.contains(LEFT), "{}", ended.stderr);
    assert_eq!(scene.read("out/one/0/state"), "done\n");
    assert_eq!(names(&scene.out().join(".hindmost/attempts")).len(), 1);
    scene.is_verified();
}

/// Makes files mutable again, so that they can be removed.
struct Mutable(PathBuf);

impl Drop for Mutable {
    fn drop(&mut self) {
        let _ = Command::new("chattr").args(["-R", "-f", "-i"]).arg(&self.0).output();
    }
}

#[test]
fn an_immutable_file_of_a_failed_attempt_is_left() {
    let scene = Scene::new(&failing_first("echo x > $HINDMOST_OUTPUT/kept; chattr +i $HINDMOST_OUTPUT/kept"));
    let mutable = Mutable(scene.folder.path().to_owned());
    if !succeeds("touch probe && chattr +i probe && chattr -i probe", scene.folder.path()) {
        left_out("files can't be made immutable here");
        return;
    }
    let ended = run_with_messages(&scene, &[]);
    done_and_left(&scene, ended);
    let ended = run_with_messages(&scene, &["--resume"]);
    done_and_left(&scene, ended);
    drop(mutable);
    scene.run(&["--resume"]).with(0);
    scene.is_clean().is_verified();
}

#[test]
fn an_immutable_file_does_not_prevent_a_resume() {
    // The attempt is killed with the run. Its number is not used again.
    let command = "echo x > $HINDMOST_OUTPUT/kept; chattr +i $HINDMOST_OUTPUT/kept; touch ready; sleep 300";
    let scene = Scene::new(&failing_first(command));
    let mutable = Mutable(scene.folder.path().to_owned());
    let swept = Swept(scene.folder.path());
    if !succeeds("touch probe && chattr +i probe && chattr -i probe", scene.folder.path()) {
        left_out("files can't be made immutable here");
        return;
    }
    let mut child = scene.spawn(None, &[]);
    until("the attempt runs", || scene.path("ready").exists());
    until_recorded(&scene.out());
    child.kill().unwrap();
    child.wait().unwrap();
    // The shell may start `sleep` after it was listed.
    until("all processes have ended", || {
        swept.processes().into_iter().for_each(|pid| signal(pid, "KILL"));
        swept.leftovers().is_empty()
    });
    let ended = run_with_messages(&scene, &["--resume"]);
    done_and_left(&scene, ended);
    drop(mutable);
    scene.run(&["--resume"]).with(0);
    scene.is_clean().is_verified();
}

#[test]
fn a_file_system_mounted_in_an_attempt_keeps_its_files() {
    for (at, exit) in
        [("$HINDMOST_OUTPUT/a/b", "exit 1"), ("$HINDMOST_OUTPUT", "exit 0"), ("$HINDMOST_OUTPUT", "exit 1")]
    {
        let folder = tempfile::tempdir().unwrap();
        let job = failing_first(&format!(
            "mkdir -p {at} && mount -t tmpfs none {at} && echo precious > {at}/file; echo {at} > mounted\n{exit}"
        ));
        fs::write(folder.path().join("job.toml"), job).unwrap();
        let script = r#"
            "$1" run job.toml --out out > /dev/null 2> first || exit 3
            "$1" run job.toml --out out --resume > /dev/null 2> second || exit 4
            cat "$(cat mounted)/file" out/one/0/state > kept
            umount "$(cat mounted)" || exit 5
            "$1" run job.toml --out out --resume > /dev/null 2> third || exit 6
            "$1" verify out > verdict 2>&1 || exit 7
            ls out/.hindmost/attempts > attempts
        "#;
        let Some(ended) = with_mounts(folder.path(), script) else { return };
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap_or_default();
        let said = format!("{at} {exit}: {}{}{}{}", ended.stderr, read("first"), read("second"), read("third"));
        assert_eq!(ended.code, Some(0), "{said}");
        assert!(read("first").contains(LEFT) && read("second").contains(LEFT), "{said}");
        assert_eq!(read("kept"), "precious\ndone\n", "{said}");
        assert_eq!(read("attempts"), "", "{said}");
    }
}

#[test]
fn files_of_root_in_an_attempt_of_nobody_are_left() {
    if !as_nobody().contains("setpriv") {
        left_out("this is not root");
        return;
    }
    let scene = Scene::new(&failing_first("touch ready; while [ ! -e go ]; do sleep 0.02; done"));
    fs::set_permissions(scene.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    chown(scene.folder.path(), Some(65_534), Some(65_534)).unwrap();
    let child = spawn_with_messages(&scene, as_nobody(), &[]);
    until("the attempt runs", || scene.path("ready").exists());
    let attempts = scene.out().join(".hindmost/attempts");
    let attempt = attempts.join(names(&attempts).first().unwrap());
    fs::create_dir(attempt.join("out/roots")).unwrap();
    fs::write(attempt.join("out/roots/file"), "precious").unwrap();
    scene.touch("go");
    let ended = scene.end(child);
    done_and_left(&scene, ended);
    let ended = scene.end(spawn_with_messages(&scene, as_nobody(), &["--resume"]));
    done_and_left(&scene, ended);
    assert_eq!(fs::read_to_string(attempt.join("out/roots/file")).unwrap(), "precious");
    fs::remove_dir_all(attempt.join("out/roots")).unwrap();
    scene.end(spawn_with_messages(&scene, as_nobody(), &["--resume"])).with(0);
    scene.is_clean();
}

/// Removes a folder with all its contents, at any depth.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = Command::new("rm").arg("-rf").arg(&self.0).output();
    }
}

#[test]
fn thirty_thousand_nested_folders_are_removed() {
    let perl = r#"perl -e 'for (1..COUNT) { mkdir "d" or die; chdir "d" or die }'"#;
    let python = "python3 -c 'import os\nfor _ in range(COUNT): os.mkdir(\"d\"); os.chdir(\"d\")'";
    let scratch = tempfile::tempdir().unwrap();
    let works = |nest: &&str| succeeds(&nest.replace("COUNT", "1"), scratch.path());
    let Some(nest) = [perl, python].into_iter().find(works) else {
        left_out("neither perl nor python3 is installed");
        return;
    };
    let nest = nest.replace("COUNT", "30000");
    let scene = Scene::new(&failing_first(&format!("cd $HINDMOST_OUTPUT && {nest} && touch $HINDMOST_FROM/../nested")));
    let _removed = Removed(scene.out());
    let ended = run_with_messages(&scene, &[]).with(0);
    assert!(scene.path("nested").exists() && !ended.stderr.contains(LEFT), "{}", ended.stderr);
    assert_eq!(scene.read("out/one/0/state"), "done\n");
    scene.is_clean().is_verified();
    scene.run(&["--resume"]).with(0);
}

#[test]
fn a_clock_that_steps_a_day_ends_no_attempt() {
    for forward in [true, false] {
        let scene = Scene::new(
            r#"
[[phase]]
name = "wait"
tasks = 2
retries = 0
time_limit = 60
command = '''
echo 0.5 >> "$HINDMOST_PROGRESS"
touch "started.$HINDMOST_TASK"
while [ ! -e "go.$HINDMOST_TASK" ]; do sleep 0.02; done
echo "$HINDMOST_ATTEMPT" > "$HINDMOST_OUTPUT/attempt"
'''
"#,
        );
        let swept = Swept(scene.folder.path());
        let mut child = scene.spawn(None, &["--nodes", "n1:2", "--policy", "none"]);
        until("both tasks run", || (0..2).all(|task| scene.path(&format!("started.{task}")).exists()));
        until_recorded(&scene.out());
        child.kill().unwrap();
        child.wait().unwrap();
        // One attempt ends while the command does not run.
        scene.touch("go.1");
        let attempts = scene.out().join(".hindmost/attempts");
        let of = |task: u32| {
            let name = names(&attempts).into_iter().find(|name| name.starts_with(&format!("0-{task}."))).unwrap();
            attempts.join(name)
        };
        until("the attempt has ended", || fs::read_to_string(of(1).join("end")).is_ok_and(|end| end.ends_with('\n')));
        // If the clock is set forward, earlier files seem a day old. If it is set back, they are of tomorrow.
        let record = scene.out().join(".hindmost/job.json");
        let mut job: Value = serde_json::from_str(&fs::read_to_string(&record).unwrap()).unwrap();
        let day = 86_400_000_000_000;
        let began = job["began"].as_u64().unwrap();
        job["began"] = (if forward { began - day } else { began + day }).into();
        fs::write(&record, job.to_string()).unwrap();
        let when = if forward { "1 day ago" } else { "1 day" };
        assert!(succeeds(&format!("find out -depth -exec touch -h -d '{when}' {{}} +"), scene.folder.path()));

        let journal = scene.out().join(".hindmost/journal.jsonl");
        let child = scene.spawn(None, &["--resume"]);
        until("the ended attempt has its result in place", || scene.out().join("wait/1/attempt").exists());
        until("its end is recorded", || fs::read_to_string(&journal).unwrap().contains("attempt_finished"));
        assert!(!swept.processes().is_empty() && of(0).join("out").exists());
        scene.touch("go.0");
        let ended = scene.end(child).with(0);
        for task in 0..2 {
            assert_eq!(scene.read(&format!("out/wait/{task}/attempt")), "0\n", "forward: {forward}");
        }
        let said: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!((&said["attempts"], &said["phases"][0]["broken"]), (&2.into(), &0.into()), "{said}");
        let flowtime = said["flowtime"].as_f64().unwrap();
        assert!(flowtime < 3600.0, "the job seems to have taken {flowtime} s");
        scene.is_clean().is_verified();
    }
}

/// Returns a job whose tasks write 3 MB each, with commands before (`first`) and after (`last`).
fn large(first: &str, last: &str) -> String {
    format!(
        "[[phase]]\nname = \"large\"\ntasks = 6\ncommand = '''\n{first}\n\
         (yes \"line of $HINDMOST_TASK\" || true) | head -c 3000000 > \"$HINDMOST_OUTPUT/lines\" || exit $?\n{last}\n'''\n"
    )
}

fn large_results_are_right(out: &Path) {
    for task in 0..6 {
        let line = format!("line of {task}\n");
        let found = fs::read(out.join(format!("large/{task}/lines"))).unwrap();
        let expected = line.bytes().cycle().take(3_000_000);
        assert!(found.len() == 3_000_000 && found.iter().copied().eq(expected), "{task}: {} bytes", found.len());
    }
}

#[test]
fn a_disk_that_another_file_fills_ends_the_run() {
    // The other file exists before the run, or fills the disk between a task's output and its end.
    let fills = "[ ! -e fills ] || dd if=/dev/zero of=disk/other bs=4096 2> /dev/null || true";
    let taken = ("head -c 22000000 /dev/zero > disk/other", large("", ""));
    let filled = ("touch fills", large("", fills).replace("tasks = 6", "tasks = 6\nretries = 0"));
    for (before, job) in [taken, filled] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("job.toml"), &job).unwrap();
        fs::create_dir(folder.path().join("disk")).unwrap();
        let script = r#"
            mount -t tmpfs -o size=30m tmpfs disk || exit 9
            BEFORE
            "$1" run job.toml --out disk/out --nodes n1:1 --json --disk-wait 0 > stdout 2> stderr
            echo $? > code
            rm -f disk/other fills
            "$1" run job.toml --out disk/out --resume > second 2>&1 || exit 3
            "$1" verify disk/out > verdict 2>&1 || exit 4
            ls disk/out/.hindmost/attempts > attempts
            cp -r disk/out out
        "#;
        let Some(ended) = with_mounts(folder.path(), &script.replace("BEFORE", before)) else { return };
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap_or_default();
        let said = format!("{before}: {}{}{}{}", read("stdout"), read("stderr"), read("second"), read("verdict"));
        assert_eq!((ended.code, &read("code")[..]), (Some(0), "1\n"), "{said}");
        let first = read("stdout") + &read("stderr");
        // If only the command of the task fails because the disk is full, its message can't be written either.
        let is_reported = first.contains("No space left") || first.contains("disk is full");
        assert!(is_reported || !job.contains(fills), "{said}");
        assert!(!first.contains("panicked"), "{said}");
        assert_eq!(read("attempts"), "");
        large_results_are_right(&folder.path().join("out"));
    }
}

#[test]
fn tasks_that_fill_the_disk_fail_because_of_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let job = "[[phase]]\nname = \"s\"\ntasks = 3\ncommand = 'head -c 200000 /dev/urandom > \"$HINDMOST_OUTPUT/x\"'\n";
    fs::write(folder.path().join("job.toml"), job).unwrap();
    fs::create_dir(folder.path().join("disk")).unwrap();
    // The files of the first attempt that fails are removed, which frees space before the next end is noticed.
    let script = r#"
        mount -t tmpfs -o size=300k tmpfs disk || exit 9
        "$1" run job.toml --out disk/out --nodes n1:3 --policy none --disk-wait 1 > said 2>&1
        echo $? > code
    "#;
    let Some(ended) = with_mounts(folder.path(), script) else { return };
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    let said = read("said");
    assert_eq!((ended.code, &read("code")[..]), (Some(0), "1\n"), "{said}");
    // The tasks meet the full disk first, or the run's own files do.
    let by_the_run = "results could not be written to the disk (No space left";
    let reasons = ["disk is full", "because the disk was full", by_the_run];
    assert!(reasons.iter().any(|reason| said.contains(reason)), "{said}");
    assert!(!said.contains("something outside Hindmost") && !said.contains("panicked"), "{said}");
}

#[test]
fn what_meets_a_full_disk_waits_for_space_and_takes_no_retry() {
    let folder = tempfile::tempdir().unwrap();
    // Each command waits until another file has filled the disk.
    let full = "touch begun; while ! test -e filled; do sleep 0.05; done";
    let job = format!(
        "[[phase]]\nname = \"s\"\ntasks = 4\nretries = 0\ncommand = '{full}; head -c 200000 /dev/zero > \"$HINDMOST_OUTPUT/x\"'\n"
    );
    fs::write(folder.path().join("job.toml"), job).unwrap();
    fs::create_dir(folder.path().join("disk")).unwrap();
    // A job in a folder on the full disk, a map whose own files are there, and one whose commands write there. The other file is removed
    // once the run says that it waits.
    let script = r#"
        mount -t tmpfs -o size=8m tmpfs disk || exit 9
        mkdir disk/tmp
        wait_for() { for i in $(seq 600); do "$@" && return; sleep 0.1; done; }
        fill() {
            rm -f begun filled
            wait_for test -e begun
            head -c 9000000 /dev/zero > disk/other 2> /dev/null
            touch filled
            wait_for grep -q 'waits for at most 60 s' $1
            rm disk/other
        }
        touch one two three
        fill one & "$1" run job.toml --out disk/out --nodes n1:2 --disk-wait 1m > /dev/null 2> one || exit 1
        wait
        fill two & TMPDIR=disk/tmp "$1" map --disk-wait 60 -j2 -k 'FULL; head -c 200000 /dev/zero; echo {}' ::: 1 2 3 4 2> two |
            tr -d '\0' > printed
        wait
        fill three & "$1" map --disk-wait 60 -j2 'FULL; seq 1 30000 > disk/{}.txt' ::: 1 2 3 4 2> three || exit 3
        wait
        touch four; fill four & TMPDIR=disk/tmp "$1" map --disk-wait 60 -j2 --output o{} 'touch begun; sleep 1; seq 1 3000 2> /dev/null; sleep 3; echo {}' ::: 1 2 3 4 2> four || exit 5
        wait
        cat disk/?.txt | cksum > sums
        "$1" verify disk/out > verdict 2>&1 || exit 4
    "#;
    let Some(ended) = with_mounts(folder.path(), &script.replace("FULL", full)) else { return };
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    let said = format!("{}{}{}{}", read("one"), read("two"), read("three"), read("verdict"));
    assert_eq!(ended.code, Some(0), "{said}");
    assert_eq!(read("printed"), "1\n2\n3\n4\n", "{said}");
    // Commands that do not notice that their output was cut.
    for number in 1..=4 {
        assert_eq!(read(&format!("o{number}")).lines().count(), 3001, "{said}{}", read("four"));
    }
    let sum = Command::new("sh").args(["-c", "for i in 1 2 3 4; do seq 1 30000; done | cksum"]).output().unwrap();
    assert_eq!(read("sums"), String::from_utf8_lossy(&sum.stdout), "{said}");
}

#[test]
fn a_full_disk_repeats_no_command_that_adds_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    // The temporary folder of the map is on a disk of 1 MB, the log is on another one. The second map has the same full disk, but
    // may repeat. The disk counts as full while there is space for the markers of ends, which otherwise may be missing or not.
    let script = r#"
        mkdir disk
        mount -t tmpfs -o size=1m tmpfs disk || exit 9
        export TMPDIR=$PWD/disk
        wait_for() { for i in $(seq 600); do "$@" && return; sleep 0.1; done; }
        fill() {
            wait_for test -e begun-1 && wait_for test -e begun-2
            head -c 2000000 /dev/zero > disk/other 2> /dev/null
            truncate -s -32K disk/other
            touch filled
            wait_for test -e done-1 && wait_for test -e done-2
            rm disk/other
        }
        work='touch begun-{}; while ! test -e filled; do sleep 0.05; done; sleep 6; touch done-{}'
        fill & "$1" map -j2 --disk-wait 60 "echo {} >> log; $work" ::: 1 2 > first 2>&1
        echo $? > code
        wait
        rm begun-* done-* filled
        fill & "$1" map -j2 -k --disk-wait 60 "$work; echo {}" ::: 1 2 > printed 2> second || exit 2
        wait
    "#;
    let Some(ended) = with_mounts(folder.path(), script) else { return };
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    let said = format!("{}{}", read("first"), read("second"));
    assert_eq!((ended.code, read("code").trim()), (Some(0), "2"), "{said}");
    let mut lines: Vec<String> = read("log").lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["1", "2"], "{said}");
    assert!(read("first").contains("its command can't be repeated"), "{said}");
    assert_eq!(read("printed"), "1\n2\n", "{said}");
}

#[test]
fn commands_whose_files_may_not_grow_fail_clearly() {
    // Limits in units of 512 or 1024 bytes. The signal ends `head`; where the signal is ignored, the write of `head` fails.
    for (script, reason) in
        [("ulimit -f 2000; exec \"$@\"", "signal 25"), ("ulimit -f 2000; trap '' XFSZ; exec \"$@\"", "exit code 1")]
    {
        let scene = Scene::new(&large("", ""));
        let ended = scene.end(scene.spawn(Some(script), &["--nodes", "n1:2"])).with(1);
        assert!(ended.reason().contains(reason), "{}{}", ended.stdout, ended.stderr);
        let json: Value = serde_json::from_str(&ended.stdout).unwrap();
        let written = json["failed_tasks"][0]["stderr"].as_str().unwrap_or_default();
        assert!(reason.contains("signal") || written.contains("too large"), "{}", ended.stdout);
        scene.is_clean();
        assert!(names(&scene.out().join("large")).is_empty());
        scene.run(&["--resume"]).with(0);
        scene.is_clean().is_verified();
        large_results_are_right(&scene.out());
    }
}

/// A process with many children. Dropping it ends all of them.
struct Hog(Child);

impl Drop for Hog {
    fn drop(&mut self) {
        // The process leads its own process group.
        let group = self.0.id();
        let _ = Command::new("sh").args(["-c", &format!("kill -KILL -{group}")]).output();
        let _ = self.0.wait();
    }
}

#[test]
fn processes_that_another_program_takes_delay_a_run() {
    // Limits on processes apply to one user and not to root.
    const USER: u32 = 54_322;
    const LIMIT: usize = 40;
    if !as_nobody().contains("setpriv") || !succeeds("prlimit --version", Path::new("/")) {
        left_out("this is not root, or there is no prlimit");
        return;
    }
    let as_user = format!("exec setpriv --reuid={USER} --regid={USER} --clear-groups \"$@\"");
    // The limit leaves so few processes that the command, its shell or hindmost itself can't start another one.
    let mut waited = 0;
    for free in [3, 4, 5, 6] {
        let scene = Scene::new(
            r#"
[[phase]]
name = "forks"
tasks = 3
retries = 0
command = '''
for part in 1 2 3; do (sleep 0.01; echo "$part" > "$HINDMOST_OUTPUT/$part") & done
wait
cat "$HINDMOST_OUTPUT"/? | sort | tr '\n' ' ' > "$HINDMOST_OUTPUT/all"
[ "$(cat "$HINDMOST_OUTPUT/all")" = "1 2 3 " ]
'''
"#,
        );
        fs::set_permissions(scene.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        chown(scene.folder.path(), Some(USER), Some(USER)).unwrap();
        let held = LIMIT - free;
        // The shell creates the file `held` after it has started all other processes.
        let take = format!("for i in $(seq {}); do sleep 600 & done; touch held; wait", held - 1);
        let mut hog = Command::new("setsid");
        hog.args(["sh", "-c", &as_user, "sh", "sh", "-c", &take]).current_dir(scene.folder.path());
        let hog = Hog(hog.stdin(Stdio::null()).spawn().unwrap());
        until("the other program has its processes", || scene.path("held").exists());
        let limited = as_user.replace("\"$@\"", &format!("prlimit --nproc={LIMIT} \"$@\""));
        let child = spawn_with_messages(&scene, &limited, &["--nodes", "n1:2"]);
        let stderr = || fs::read_to_string(scene.path("stderr")).unwrap_or_default();
        let ends = || fs::read_to_string(scene.path("stdout")).is_ok_and(|text| !text.is_empty());
        until("attempts wait, or all is done", || stderr().contains("attempts wait") || ends());
        drop(hog);
        let ended = scene.end(child).with(0);
        waited += u32::from(ended.stderr.contains("attempts wait"));
        assert_eq!(summary(&scene)["phases"][0]["broken"], 0, "{free}: {}{}", ended.stdout, ended.stderr);
        for task in 0..3 {
            assert_eq!(scene.read(&format!("out/forks/{task}/all")), "1 2 3 ");
        }
        scene.is_clean().is_verified();
    }
    assert!(waited > 0, "no run reached the limit");
}

#[test]
fn a_run_works_under_a_limit_on_memory() {
    let scene = Scene::new(&large("", ""));
    let limited = "ulimit -v 400000 && exec \"$@\"";
    scene.end(scene.spawn(Some(limited), &["--nodes", "n1:4"])).with(0);
    scene.is_clean().is_verified();
    large_results_are_right(&scene.out());
}

#[test]
fn hundreds_of_tasks_that_end_at_once_leak_no_files() {
    // The parent of a command's shell is the attempt's shell, whose parent is hindmost. Hindmost opens files for short
    // times, so the smallest of several counts is the number of files that stay open.
    let open = r#"
command = '''
read -r pid name state parent rest < /proc/$PPID/stat
for i in 1 2 3 4 5 6 7 8 9; do sleep 0.05; ls /proc/$parent/fd | wc -l; done | sort -n | head -n 1 > "$HINDMOST_OUTPUT/open"
'''
"#;
    let job = format!(
        r#"
[[phase]]
name = "before"
tasks = 1
{open}

[[phase]]
name = "tiny"
after = ["before"]
tasks = 300
retries = 0
command = '''
echo "$HINDMOST_TASK" > "$HINDMOST_OUTPUT/number"
echo started >> started
while [ ! -e go ]; do sleep 0.05; done
'''

[[phase]]
name = "last"
after = ["tiny"]
tasks = 1
{open}
"#
    );
    for script in ["exec \"$@\"", "ulimit -n 80; exec \"$@\""] {
        let scene = Scene::new(&job);
        let child = scene.spawn(Some(script), &["--nodes", "n1:50"]);
        let started = || fs::read_to_string(scene.path("started")).map_or(0, |text| text.lines().count());
        until("50 tasks run", || started() == 50);
        std::thread::sleep(Duration::from_millis(50));
        scene.touch("go");
        let ended = scene.end(child).with(0);
        let json: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(json["phases"][1]["broken"], 0, "{}{}", ended.stdout, ended.stderr);
        assert_eq!(names(&scene.out().join("tiny")).len(), 300);
        for task in 0..300 {
            assert_eq!(scene.read(&format!("out/tiny/{task}/number")), format!("{task}\n"));
        }
        let open = |phase: &str| scene.read(&format!("out/{phase}/0/open")).trim().parse::<u32>().unwrap();
        assert_eq!(open("last"), open("before"), "files stay open");
        scene.is_clean().is_verified();
    }
}
