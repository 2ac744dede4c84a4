//! Folders that are moved, removed, replaced or copied, and results that are lost or changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::hindmost;
use crate::scene::{Ended, Live, Scene, files, leftovers, processes, resumed, run_id, signal, until, until_recorded};

pub(super) const NODES: [&str; 4] = ["--nodes", "n1:8", "--policy", "none"];

/// A chain of three phases, and one phase without parents. Each attempt adds a line to `ran`. The phase `last` waits
/// for the file `go`.
pub(super) const CHAIN: &str = r#"
[[phase]]
name = "map"
tasks = 3
command = 'echo "map/$HINDMOST_TASK" >> ran; echo "map $HINDMOST_TASK" > "$HINDMOST_OUTPUT/file"'

[[phase]]
name = "sum"
after = ["map"]
tasks = 2
command = '''
echo "sum/$HINDMOST_TASK" >> ran
cat "$HINDMOST_FROM"/map/*/file > "$HINDMOST_OUTPUT/file"
'''

[[phase]]
name = "last"
after = ["sum"]
tasks = 1
command = '''
echo "last/$HINDMOST_TASK" >> ran
until [ -e go ] || [ ! -e job.toml ]; do sleep 0.02; done
cat "$HINDMOST_FROM"/sum/*/file > "$HINDMOST_OUTPUT/file"
'''

[[phase]]
name = "side"
tasks = 1
idempotent = false
command = 'echo "side/$HINDMOST_TASK" >> ran; echo side > "$HINDMOST_OUTPUT/file"'
"#;

/// Tasks that wait for `go` and write the content that `word` has when they begin.
pub(super) const WAITING: &str = r#"
[[phase]]
name = "wait"
tasks = 3
command = '''
word=$(cat word)
echo "$word" >> started
until [ -e go ] || [ ! -e job.toml ]; do sleep 0.02; done
echo "$word $HINDMOST_TASK" > "$HINDMOST_OUTPUT/file"
'''
"#;

pub(super) fn start(scene: &Scene, args: &[&str]) -> Live {
    Live::start(scene.folder.path(), "job.toml", "out", args)
}

pub(super) fn run(scene: &Scene, args: &[&str]) -> Ended {
    start(scene, args).end()
}

pub(super) fn lines(scene: &Scene, name: &str) -> usize {
    fs::read_to_string(scene.path(name)).map_or(0, |text| text.lines().count())
}

/// Returns how often each line occurs in a file.
pub(super) fn counts(scene: &Scene, name: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for line in fs::read_to_string(scene.path(name)).unwrap_or_default().lines() {
        *counts.entry(line.to_owned()).or_default() += 1;
    }
    counts
}

/// Returns the number of finished attempts in the journal of a folder.
pub(super) fn finishes(out: &Path) -> usize {
    let journal = fs::read_to_string(out.join(".hindmost/journal.jsonl")).unwrap_or_default();
    journal.matches("\"attempt_finished\"").count()
}

/// Returns the number of attempts in the summary of a folder's run.
fn attempts(out: &Path) -> u64 {
    let summary: Value = serde_json::from_slice(&fs::read(out.join(".hindmost/summary.json")).unwrap()).unwrap();
    summary["attempts"].as_u64().unwrap()
}

pub(super) fn sh(folder: &Path, script: &str) {
    let status = Command::new("sh").args(["-ec", script]).current_dir(folder).status().unwrap();
    assert!(status.success(), "{script}");
}

fn verified(out: &Path) {
    let ran = hindmost().arg("verify").arg(out).output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// Checks that no process of a run is left.
pub(super) fn nothing_runs(run: &str) {
    let (left, _) = leftovers(run);
    assert!(left.is_empty(), "processes are left: {left:?}");
}

/// Writes the word, starts a job of [`WAITING`] tasks, and returns when the tasks run.
pub(super) fn waiting(scene: &Scene, word: &str) -> Live {
    fs::write(scene.path("word"), word).unwrap();
    let live = start(scene, &NODES);
    until("tasks run", || counts(scene, "started").get(word) == Some(&3));
    until_recorded(&scene.out());
    live
}

/// Checks the results of [`WAITING`] tasks that began with this word.
pub(super) fn waited(out: &Path, word: &str) {
    for task in 0..3 {
        let text = fs::read_to_string(out.join(format!("wait/{task}/file"))).unwrap();
        assert_eq!(text, format!("{word} {task}\n"));
    }
}

/// Kills every process of a run.
pub(super) fn kill_run(run: &str) {
    while !processes(run).is_empty() {
        for (pid, _) in processes(run) {
            signal(pid, "KILL");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Tasks that wait for `go.WORD`, and then write 20 lines, even if their output folder was removed.
const WRITERS: &str = r#"
[[phase]]
name = "write"
tasks = 3
command = '''
word=$(cat word)
echo "$word" >> started
until [ -e "go.$word" ] || [ ! -e job.toml ]; do sleep 0.02; done
number=0
while [ $number -lt 20 ]; do
    mkdir -p "$HINDMOST_OUTPUT"
    echo "$word $HINDMOST_TASK $number" >> "$HINDMOST_OUTPUT/file"
    number=$((number + 1))
    echo "$word" >> wrote
    sleep 0.02
done
'''
"#;

#[test]
fn attempts_of_a_removed_run_do_not_write_into_a_new_one() {
    let scene = Scene::new(WRITERS);
    fs::write(scene.path("word"), "old").unwrap();
    let old = start(&scene, &NODES);
    until("the old tasks run", || counts(&scene, "started").get("old") == Some(&3));
    until_recorded(&scene.out());
    old.kill();
    let old_run = run_id(&scene.out()).unwrap();
    fs::remove_dir_all(scene.out()).unwrap();
    fs::write(scene.path("word"), "new").unwrap();
    let new = start(&scene, &NODES);
    until("the new tasks run", || counts(&scene, "started").get("new") == Some(&3));
    scene.touch("go.old");
    until("the old tasks write", || counts(&scene, "wrote").get("old").is_some_and(|count| *count > 6));
    scene.touch("go.new");
    new.end().with(0);
    for task in 0..3 {
        let expected = (0..20).map(|number| format!("new {task} {number}\n")).collect::<Vec<_>>().concat();
        assert_eq!(scene.read(&format!("out/write/{task}/file")), expected);
    }
    scene.is_verified();
    nothing_runs(&old_run);
}

#[test]
fn a_removed_folder_that_attempts_make_again_is_refused() {
    let scene = Scene::new(WRITERS);
    fs::write(scene.path("word"), "old").unwrap();
    let old = start(&scene, &NODES);
    until("the old tasks run", || counts(&scene, "started").get("old") == Some(&3));
    until_recorded(&scene.out());
    old.kill();
    let old_run = run_id(&scene.out()).unwrap();
    fs::remove_dir_all(scene.out()).unwrap();
    scene.touch("go.old");
    until("the attempts have created the folder again", || scene.out().join(".hindmost/attempts").exists());
    run(&scene, &NODES).with(2);
    nothing_runs(&old_run);
    fs::remove_dir_all(scene.out()).unwrap();
    fs::write(scene.path("word"), "new").unwrap();
    scene.touch("go.new");
    run(&scene, &NODES).with(0);
    assert!(!scene.read("out/write/0/file").contains("old"));
}

#[test]
fn another_job_may_use_the_path_of_a_moved_folder() {
    for tasks_end in [false, true] {
        let scene = Scene::new(WAITING);
        let other =
            Scene::new("[[phase]]\nname = \"wait\"\ntasks = 3\ncommand = 'echo other > \"$HINDMOST_OUTPUT/o\"'\n");
        let first = waiting(&scene, "first");
        let run_of_first = run_id(&scene.out()).unwrap();
        fs::rename(scene.out(), scene.path("moved")).unwrap();
        if tasks_end {
            scene.touch("go");
        }
        let second = Live::start(other.folder.path(), "job.toml", scene.out().to_str().unwrap(), &NODES);
        let first = first.end().with(1);
        assert!(tasks_end || first.stderr.contains("moved, removed or replaced"), "{}", first.stderr);
        second.end().with(0);
        let results: Vec<String> = files(&scene.out().join("wait")).into_keys().collect();
        assert_eq!(results, ["0/o", "1/o", "2/o"]);
        nothing_runs(&run_of_first);
        verified(&scene.out());

        scene.touch("go");
        Live::start(scene.folder.path(), "job.toml", "moved", &["--resume"]).end().with(0);
        waited(&scene.path("moved"), "first");
        verified(&scene.path("moved"));
        assert_eq!(files(&scene.out().join("wait")).len(), 3);
    }
}

#[test]
fn a_moved_folder_is_reported_as_the_cause() {
    // The attempts' output folders are gone, so they fail at once, perhaps before the run checks its folder.
    for _ in 0..5 {
        let scene = Scene::new(&WAITING.replace("tasks = 3", "tasks = 3\nidempotent = false"));
        let live = waiting(&scene, "first");
        fs::rename(scene.out(), scene.path("moved")).unwrap();
        scene.touch("go");
        let ended = live.end().with(1);
        assert!(ended.stderr.contains("moved, removed or replaced"), "{}", ended.stderr);
    }
}

#[test]
fn a_run_whose_folder_or_lock_is_replaced_ends() {
    for place in ["out", "out/.hindmost", "out/.hindmost/lock"] {
        for by in ["nothing", "something", "a copy"] {
            let scene = Scene::new(WAITING);
            let live = waiting(&scene, "first");
            let run = run_id(&scene.out()).unwrap();
            let lock = place.ends_with("lock");
            match by {
                "nothing" if lock => sh(scene.folder.path(), &format!("rm {place}")),
                "nothing" => sh(scene.folder.path(), &format!("mv {place} away; rm -r away")),
                "something" if lock => sh(scene.folder.path(), &format!("mv {place} away; echo canary > {place}")),
                "something" => {
                    sh(scene.folder.path(), &format!("mv {place} away; mkdir {place}; echo canary > {place}/canary"));
                }
                _ => sh(scene.folder.path(), &format!("cp -a {place} copy; mv {place} away; mv copy {place}")),
            }
            let found = |path: &Path| if path.exists() { files(path) } else { BTreeMap::new() };
            let before = found(&scene.out());
            let ended = live.end().with(1);
            assert!(ended.stderr.contains("moved, removed or replaced"), "{place}, {by}: {}", ended.stderr);
            nothing_runs(&run);
            let mut after = found(&scene.out());
            if lock {
                // Only the lock was replaced, so the run may still write into the folder.
                after.retain(|name, _| before.contains_key(name));
                after.insert(".hindmost/journal.jsonl".into(), before[".hindmost/journal.jsonl"].clone());
            }
            assert!(before == after, "{place}, {by}: {:?}, and {:?} before", after.keys(), before.keys());
            assert!(lock || scene.path(place).exists() == (by != "nothing"));
        }
    }
}

#[test]
fn a_replaced_attempts_folder_gives_no_wrong_result() {
    let scene = Scene::new(&WAITING.replace("echo \"$word $H", "mkdir -p \"$HINDMOST_OUTPUT\"; echo \"$word $H"));
    let live = waiting(&scene, "first");
    let run_of = run_id(&scene.out()).unwrap();
    sh(&scene.out(), "cd .hindmost; mv attempts ../../away; mkdir attempts");
    scene.touch("go");
    let ended = live.end();
    nothing_runs(&run_of);
    if ended.code != Some(0) {
        run(&scene, &["--resume"]).with(0);
    }
    let found: Vec<bool> = (0..3).map(|task| scene.out().join(format!("wait/{task}/file")).exists()).collect();
    assert_eq!(found, [true; 3], "the run ended with {:?}, and not all tasks have a result", ended.code);
}

#[test]
fn a_copy_of_a_running_runs_folder_can_be_resumed() {
    let scene = Scene::new(WAITING);
    let original = waiting(&scene, "first");
    let run = run_id(&scene.out()).unwrap();
    let before: Vec<u32> = processes(&run).into_iter().map(|(pid, _)| pid).collect();
    sh(scene.folder.path(), "cp -a out copy; echo second > word");
    let copy = Live::start(scene.folder.path(), "job.toml", "copy", &["--resume"]);
    until("the copy's tasks run", || counts(&scene, "started").get("second") == Some(&3));
    let is_running =
        |pid: &u32| fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    let shells = before.iter().filter(|pid| is_running(pid)).count();
    assert!(shells >= 3, "the original's processes have ended");
    scene.touch("go");
    copy.end().with(0);
    original.end().with(0);
    waited(&scene.out(), "first");
    waited(&scene.path("copy"), "second");
    scene.is_clean().is_verified();
    verified(&scene.path("copy"));
    assert_ne!(run_id(&scene.out()), run_id(&scene.path("copy")));
}

#[test]
fn a_killed_run_is_adopted_after_its_copy_was_resumed() {
    let scene = Scene::new(WAITING);
    waiting(&scene, "first").kill();
    sh(scene.folder.path(), "cp -a out copy; echo second > word");
    let copy = Live::start(scene.folder.path(), "job.toml", "copy", &["--resume"]);
    until("the copy's tasks run", || counts(&scene, "started").get("second") == Some(&3));
    let original = resumed(&scene.out(), || start(&scene, &["--resume"]));
    scene.touch("go");
    copy.end().with(0);
    original.end().with(0);
    waited(&scene.out(), "first");
    waited(&scene.path("copy"), "second");
    assert_eq!(attempts(&scene.out()), 3, "an attempt was started again instead of adopted");
    assert_eq!(lines(&scene, "started"), 6);
    scene.is_clean().is_verified();
}

#[test]
fn attempts_in_a_moved_folder_are_adopted_on_resume() {
    // The run is resumed in its new folder with a result missing, killed, and resumed again. Running attempts are adopted.
    let mut wrong = Vec::new();
    for way in ["cp -a out new", "mv out new"] {
        let scene = Scene::new(CHAIN);
        scene.touch("go");
        run(&scene, &NODES).with(0);
        sh(scene.folder.path(), &format!("{way}; rm -r new/last/0; rm go ran"));
        let again = Live::start(scene.folder.path(), "job.toml", "new", &["--resume"]);
        until("the last task runs", || lines(&scene, "ran") == 1);
        until_recorded(&scene.path("new"));
        again.kill();
        let run = run_id(&scene.path("new")).unwrap();
        let again = resumed(&scene.path("new"), || Live::start(scene.folder.path(), "job.toml", "new", &["--resume"]));
        let running = processes(&run).len();
        scene.touch("go");
        let ended = again.end().with(0);
        nothing_runs(&run);
        if lines(&scene, "ran") != 1 || ended.stderr.contains("the folder ") {
            wrong.push(format!("{way}: started again while {running} processes ran: {}", ended.stderr));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_folder_without_its_record_is_refused_unchanged() {
    let prepared = |remove: &str| {
        let scene = Scene::new(WAITING);
        waiting(&scene, "first").kill();
        let run = run_id(&scene.out()).unwrap();
        kill_run(&run);
        sh(scene.folder.path(), &format!("cd out; mkdir -p wait/0; echo kept > wait/0/file; {remove}"));
        scene
    };
    let others = "cd .hindmost; rm -f journal.jsonl manifest.jsonl summary.json";
    for remove in [
        "rm .hindmost/job.json".to_owned(),
        format!("rm .hindmost/job.json; {others}"),
        format!("rm -r .hindmost/job.json wait; {others}"),
        format!("rm -r .hindmost/job.json .hindmost/attempts; {others}"),
        "rm -r .hindmost/job.json .hindmost/attempts wait".to_owned(),
        "rm -r .hindmost".to_owned(),
    ] {
        let scene = prepared(&remove);
        let before = files(&scene.out());
        for args in [&NODES[..], &["--resume"], &["--resume", "--keep-results", "--trust-folder"]] {
            run(&scene, args).with(2);
            assert!(before == files(&scene.out()), "{remove}, {args:?}: {:?}", files(&scene.out()).keys());
        }
    }
}

#[test]
fn the_folder_of_another_job_is_refused_unchanged() {
    for is_done in [false, true] {
        let scene = Scene::new(WAITING);
        let live = waiting(&scene, "first");
        if is_done {
            scene.touch("go");
            live.end().with(0);
        } else {
            live.kill();
            kill_run(&run_id(&scene.out()).unwrap());
        }
        let before = files(&scene.out());
        for other in [WAITING.replace("\"wait\"", "\"wait2\""), WAITING.replace("\"wait\"", "\"other\"")] {
            fs::write(scene.path("other.toml"), format!("name = \"job\"\n{other}")).unwrap();
            for args in [&[][..], &["--resume"], &["--resume", "--keep-results"]] {
                Live::start(scene.folder.path(), "other.toml", "out", args).end().with(2);
                assert!(before == files(&scene.out()), "{args:?}");
            }
        }
        assert_eq!(lines(&scene, "started"), 3);
    }
}
