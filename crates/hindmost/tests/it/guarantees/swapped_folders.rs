//! Folders that are moved, removed, replaced or copied, results that are lost or changed, and commands that change.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::hindmost;
use crate::scene::{Ended, Live, Scene, files, leftovers, names, processes, run_id, signal, until};

const NODES: [&str; 4] = ["--nodes", "n1:8", "--policy", "none"];

/// Three phases after each other, and one beside them. Every attempt adds a line to `ran`. The last ones wait for `go`.
const CHAIN: &str = r#"
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

/// Tasks that wait for `go`, and write what `word` holds when they begin.
const WAITING: &str = r#"
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

fn start(scene: &Scene, args: &[&str]) -> Live {
    Live::start(scene.folder.path(), "job.toml", "out", args)
}

fn run(scene: &Scene, args: &[&str]) -> Ended {
    start(scene, args).end()
}

fn lines(scene: &Scene, name: &str) -> usize {
    fs::read_to_string(scene.path(name)).map_or(0, |text| text.lines().count())
}

/// How often each line is in a file.
fn counts(scene: &Scene, name: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for line in fs::read_to_string(scene.path(name)).unwrap_or_default().lines() {
        *counts.entry(line.to_owned()).or_default() += 1;
    }
    counts
}

/// How many finishes the journal in a folder records.
fn finishes(out: &Path) -> usize {
    let journal = fs::read_to_string(out.join(".hindmost/journal.jsonl")).unwrap_or_default();
    journal.matches("\"attempt_finished\"").count()
}

/// The number of attempts that the summary of a run in a folder tells of.
fn attempts(out: &Path) -> u64 {
    let summary: Value = serde_json::from_slice(&fs::read(out.join(".hindmost/summary.json")).unwrap()).unwrap();
    summary["attempts"].as_u64().unwrap()
}

fn sh(folder: &Path, script: &str) {
    let status = Command::new("sh").args(["-ec", script]).current_dir(folder).status().unwrap();
    assert!(status.success(), "{script}");
}

fn verified(out: &Path) {
    let ran = hindmost().arg("verify").arg(out).output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
}

fn nothing_runs(run: &str) {
    let (left, _) = leftovers(run);
    assert!(left.is_empty(), "processes are left: {left:?}");
}

/// Starts a job of [`WAITING`] tasks, which run when it returns.
fn waiting(scene: &Scene, word: &str) -> Live {
    fs::write(scene.path("word"), word).unwrap();
    let live = start(scene, &NODES);
    until("tasks run", || counts(scene, "started").get(word) == Some(&3));
    live
}

fn waited(out: &Path, word: &str) {
    for task in 0..3 {
        let text = fs::read_to_string(out.join(format!("wait/{task}/file"))).unwrap();
        assert_eq!(text, format!("{word} {task}\n"));
    }
}

/// Kills every process of a run.
fn kill_run(run: &str) {
    while !processes(run).is_empty() {
        for (pid, _) in processes(run) {
            signal(pid, "KILL");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

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
    old.kill();
    let old_run = run_id(&scene.out()).unwrap();
    fs::remove_dir_all(scene.out()).unwrap();
    fs::write(scene.path("word"), "new").unwrap();
    let new = start(&scene, &NODES);
    until("the new tasks run", || counts(&scene, "started").get("new") == Some(&3));
    scene.touch("go.old");
    until("the old ones write", || counts(&scene, "wrote").get("old").is_some_and(|count| *count > 6));
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
fn a_removed_folder_that_old_attempts_make_again_is_refused() {
    let scene = Scene::new(WRITERS);
    fs::write(scene.path("word"), "old").unwrap();
    let old = start(&scene, &NODES);
    until("the old tasks run", || counts(&scene, "started").get("old") == Some(&3));
    old.kill();
    let old_run = run_id(&scene.out()).unwrap();
    fs::remove_dir_all(scene.out()).unwrap();
    scene.touch("go.old");
    until("they have made it again", || scene.out().join(".hindmost/attempts").exists());
    run(&scene, &NODES).with(2);
    nothing_runs(&old_run);
    fs::remove_dir_all(scene.out()).unwrap();
    fs::write(scene.path("word"), "new").unwrap();
    scene.touch("go.new");
    run(&scene, &NODES).with(0);
    assert!(!scene.read("out/write/0/file").contains("old"));
}

#[test]
fn a_folder_moved_under_a_run_is_used_by_another_job() {
    for goes_on in [false, true] {
        let scene = Scene::new(WAITING);
        let other =
            Scene::new("[[phase]]\nname = \"wait\"\ntasks = 3\ncommand = 'echo other > \"$HINDMOST_OUTPUT/o\"'\n");
        let first = waiting(&scene, "first");
        let run_of_first = run_id(&scene.out()).unwrap();
        fs::rename(scene.out(), scene.path("moved")).unwrap();
        if goes_on {
            scene.touch("go");
        }
        let second = Live::start(other.folder.path(), "job.toml", scene.out().to_str().unwrap(), &NODES);
        let first = first.end().with(1);
        assert!(goes_on || first.stderr.contains("moved, removed or replaced"), "{}", first.stderr);
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
fn tasks_are_not_to_blame_for_a_folder_that_was_moved() {
    // Their output folders are gone, so they fail at once, maybe before the run looks after its folder.
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
                // The rest of the folder is the run's own.
                after.retain(|name, _| before.contains_key(name));
                after.insert(".hindmost/journal.jsonl".into(), before[".hindmost/journal.jsonl"].clone());
            }
            assert!(before == after, "{place}, {by}: {:?}, and {:?} before", after.keys(), before.keys());
            assert!(lock || scene.path(place).exists() == (by != "nothing"));
        }
    }
}

#[test]
fn a_run_whose_attempts_folder_is_replaced_has_no_wrong_result() {
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
    assert_eq!(found, [true; 3], "the run ended with {:?}, and these results are empty", ended.code);
}

#[test]
fn a_copy_of_a_live_runs_folder_goes_on_by_itself() {
    let scene = Scene::new(WAITING);
    let original = waiting(&scene, "first");
    let run = run_id(&scene.out()).unwrap();
    let before: Vec<u32> = processes(&run).into_iter().map(|(pid, _)| pid).collect();
    sh(scene.folder.path(), "cp -a out copy; echo second > word");
    let copy = Live::start(scene.folder.path(), "job.toml", "copy", &["--resume"]);
    until("the copy's tasks run", || counts(&scene, "started").get("second") == Some(&3));
    let alive = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    let shells = before.iter().filter(|pid| alive(pid)).count();
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
    let original = start(&scene, &["--resume"]);
    std::thread::sleep(Duration::from_millis(200));
    scene.touch("go");
    copy.end().with(0);
    original.end().with(0);
    waited(&scene.out(), "first");
    waited(&scene.path("copy"), "second");
    assert_eq!(attempts(&scene.out()), 3, "an attempt was not adopted");
    assert_eq!(lines(&scene, "started"), 6);
    scene.is_clean().is_verified();
}

#[test]
fn a_place_where_results_are_made_again_is_known_later() {
    // Resumed in its new place with a result gone, killed, and resumed once more: what runs is taken over.
    let mut wrong = Vec::new();
    for way in ["cp -a out new", "mv out new"] {
        let scene = Scene::new(CHAIN);
        scene.touch("go");
        run(&scene, &NODES).with(0);
        sh(scene.folder.path(), &format!("{way}; rm -r new/last/0; rm go ran"));
        let again = Live::start(scene.folder.path(), "job.toml", "new", &["--resume"]);
        until("the last task runs", || lines(&scene, "ran") == 1);
        again.kill();
        let run = run_id(&scene.path("new")).unwrap();
        let resumed = Live::start(scene.folder.path(), "job.toml", "new", &["--resume"]);
        std::thread::sleep(Duration::from_millis(300));
        let at_work = processes(&run).len();
        scene.touch("go");
        let ended = resumed.end().with(0);
        nothing_runs(&run);
        if lines(&scene, "ran") != 1 || ended.stderr.contains("the folder ") {
            wrong.push(format!("{way}: started again while {at_work} processes ran: {}", ended.stderr));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_folder_without_its_record_is_refused_and_left_as_it_is() {
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
fn another_jobs_folder_is_refused_and_left_as_it_is() {
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
        for other in [WAITING.replace("tasks = 3", "tasks = 4"), WAITING.replace("\"wait\"", "\"other\"")] {
            fs::write(scene.path("other.toml"), format!("name = \"job\"\n{other}")).unwrap();
            for args in [&[][..], &["--resume"], &["--resume", "--keep-results"]] {
                Live::start(scene.folder.path(), "other.toml", "out", args).end().with(2);
                assert!(before == files(&scene.out()), "{args:?}");
            }
        }
        assert_eq!(lines(&scene, "started"), 3);
    }
}

/// Changes of results, as scripts in the output folder; the tasks whose results they change; true if something is left
/// in their places.
const CHANGES: [(&str, &[&str], bool); 8] = [
    ("rm -r map/1", &["map/1"], false),
    ("rm -r map/1; echo text > map/1", &["map/1"], true),
    ("rm -r map/1; ln -s nowhere map/1", &["map/1"], true),
    ("mv map/1 ../else; ln -s ../../else map/1", &["map/1"], true),
    ("echo longer text > sum/0/file", &["sum/0"], true),
    ("echo more > map/2/added", &["map/2"], true),
    ("rm -r sum", &["sum/0", "sum/1"], false),
    ("rm -r map/0 sum/1; rm sum/0/file", &["map/0", "sum/0", "sum/1"], false),
];

fn changed_results_are_made_again(is_done: bool) {
    for (change, broken, is_left) in CHANGES {
        let scene = Scene::new(CHAIN);
        if is_done {
            scene.touch("go");
            run(&scene, &NODES).with(0);
        } else {
            let live = start(&scene, &NODES);
            until("the last task runs", || lines(&scene, "ran") == 7 && finishes(&scene.out()) == 6);
            live.kill();
        }
        let earlier = run_id(&scene.out()).unwrap();
        sh(&scene.out(), change);
        let elsewhere = scene.path("else");
        let held = elsewhere.exists().then(|| files(&elsewhere));
        scene.touch("go");
        let ended = run(&scene, &["--resume"]).with(0);
        for task in broken {
            assert!(ended.stderr.contains(&format!("result of {task} ")), "{change}: {}", ended.stderr);
        }
        let from_map = broken[0].starts_with("map");
        for task in ["map/0", "map/1", "map/2", "sum/0", "sum/1", "last/0", "side/0"] {
            let is_later = task == "last/0" || from_map && task.starts_with("sum");
            let times = if broken.contains(&task) || is_later { 2 } else { 1 };
            assert_eq!(counts(&scene, "ran").get(task), Some(&times), "{change}: {task}: {}", ended.stderr);
        }
        let aside = scene.out().join(".hindmost/set-aside");
        if is_left {
            let name = broken[0].replace('/', ".");
            assert!(names(&aside).iter().any(|found| found.starts_with(&name)), "{change}: {:?}", names(&aside));
            assert!(ended.stderr.contains("set-aside"), "{change}: {}", ended.stderr);
        }
        assert!(held.is_none() || held == Some(files(&elsewhere)), "{change}: what the link names has changed");
        assert_eq!(scene.read("out/last/0/file"), "map 0\nmap 1\nmap 2\n".repeat(2), "{change}");
        assert_eq!(files(&scene.out().join("map")).len(), 3, "{change}");
        scene.is_clean().is_verified();
        nothing_runs(&earlier);

        let (ran, aside_before) = (counts(&scene, "ran"), aside.exists().then(|| names(&aside)));
        let ended = run(&scene, &["--resume"]).with(0);
        assert!(!ended.stderr.contains("again"), "{change}: {}", ended.stderr);
        assert_eq!((ran, aside_before), (counts(&scene, "ran"), aside.exists().then(|| names(&aside))), "{change}");
    }
}

#[test]
fn changed_results_of_a_done_run_are_made_again() {
    changed_results_are_made_again(true);
}

#[test]
fn changed_results_of_a_killed_run_are_made_again() {
    changed_results_are_made_again(false);
}

#[test]
fn changed_content_is_found_by_its_checksum() {
    let scene = Scene::new(CHAIN);
    scene.touch("go");
    run(&scene, &[&NODES[..], &["--checksum"]].concat()).with(0);
    // New times alone change nothing.
    sh(&scene.out(), "find map sum last -exec touch -d '2001-02-03' {} +");
    for args in [&["--resume"][..], &["--resume", "--checksum"]] {
        let ended = run(&scene, args).with(0);
        assert!(!ended.stderr.contains("again"), "{}", ended.stderr);
    }
    sh(scene.folder.path(), "cp -r out copy");
    for args in [&["--resume"][..], &["--resume", "--checksum"]] {
        Live::start(scene.folder.path(), "job.toml", "copy", args).end().with(0);
    }
    assert_eq!(lines(&scene, "ran"), 7);
    // The same size and times.
    sh(&scene.out(), "touch -r map/1/file ../time; echo 'map 9' > map/1/file; touch -r ../time map/1/file");
    let ended = run(&scene, &["--resume", "--checksum"]).with(0);
    assert!(ended.stderr.contains("result of map/1 "), "{}", ended.stderr);
    assert_eq!(scene.read("out/map/1/file"), "map 1\n");
    assert_eq!(lines(&scene, "ran"), 7 + 4);
    scene.is_clean().is_verified();
}

#[test]
fn a_lost_result_of_a_task_that_may_not_run_twice_is_told() {
    for change in ["rm -r side/0", "echo more >> side/0/file", "rm -r side map/0"] {
        let scene = Scene::new(CHAIN);
        scene.touch("go");
        run(&scene, &NODES).with(0);
        sh(&scene.out(), change);
        let before = files(&scene.out());
        for _ in 0..2 {
            let ended = run(&scene, &["--resume"]).with(2);
            assert!(ended.stderr.contains("side/0") && ended.stderr.contains("idempotent"), "{}", ended.stderr);
            assert!(before == files(&scene.out()), "{change}");
        }
        assert_eq!(lines(&scene, "ran"), 7);
    }
}

const ONCE: &str = r#"
[[phase]]
name = "map"
tasks = 1
command = 'echo map >> ran; echo map > "$HINDMOST_OUTPUT/file"'

[[phase]]
name = "once"
after = ["map"]
tasks = 1
idempotent = false
command = '''
echo once >> ran
until [ -e go ] || [ ! -e job.toml ]; do sleep 0.02; done
echo "exit $(cat go)" >> ran
exit $(cat go)
'''

[[phase]]
name = "other"
tasks = 1
command = 'echo other >> ran; echo other > "$HINDMOST_OUTPUT/file"'
"#;

/// A run that was killed while its task that may not run twice was at work, and that one's end since.
fn once_ended(code: &str) -> Scene {
    let scene = Scene::new(ONCE);
    let live = start(&scene, &NODES);
    until("the others are done", || lines(&scene, "ran") == 3 && finishes(&scene.out()) == 2);
    live.kill();
    fs::write(scene.path("go"), code).unwrap();
    until("it has ended", || files(&scene.out()).values().any(|text| text.starts_with(&format!("exit {code} "))));
    nothing_runs(&run_id(&scene.out()).unwrap());
    scene
}

#[test]
fn an_unseen_end_counts_though_another_result_is_gone() {
    let mut wrong = Vec::new();
    for (code, end) in [("0", 0), ("7", 1)] {
        let scene = once_ended(code);
        fs::remove_dir_all(scene.out().join("other/0")).unwrap();
        let ended = run(&scene, &["--resume"]);
        let times = counts(&scene, "ran")["once"];
        if times != 1 || ended.code != Some(end) {
            wrong.push(format!("ended with {code} unseen, run {times} times: {:?}: {}", ended.code, ended.stderr));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn an_unseen_end_counts_though_the_folder_was_moved() {
    let scene = once_ended("0");
    fs::rename(scene.out(), scene.path("moved")).unwrap();
    let ended = Live::start(scene.folder.path(), "job.toml", "moved", &["--resume"]).end();
    assert_eq!(counts(&scene, "ran").get("once"), Some(&1), "it was run twice: {}", ended.stderr);
    ended.with(0);
}

#[test]
fn failures_outlive_a_kill_while_the_journal_is_put_away() {
    let scene = Scene::new(&ONCE.replace("echo other >> ran", "echo other >> ran; sleep 0.5"));
    fs::write(scene.path("go"), "7").unwrap();
    run(&scene, &["--nodes", "n1:8", "--policy", "none"]).with(1);
    assert_eq!(counts(&scene, "ran").get("once"), Some(&1));
    // As it is between the two steps of beginning again: the record is written, and the journal not put away yet.
    let record = scene.out().join(".hindmost/job.json");
    let mut job: serde_json::Value = serde_json::from_str(&fs::read_to_string(&record).unwrap()).unwrap();
    job["journals"] = 1.into();
    job["failures"] = serde_json::json!([[1, 0, 1]]);
    job["run"] = "another".into();
    fs::write(&record, job.to_string()).unwrap();
    fs::remove_dir_all(scene.out().join("map/0")).unwrap_or_default();
    let ended = run(&scene, &["--resume"]);
    assert_eq!(counts(&scene, "ran").get("once"), Some(&1), "it failed, and was run again: {}", ended.stderr);
    ended.with(1);
}

#[test]
fn a_result_lost_before_its_end_is_recorded_is_made_again() {
    let scene = Scene::new(&WAITING.replace("tasks = 3", "tasks = 3\nretries = 0"));
    waiting(&scene, "first").kill();
    scene.touch("go");
    nothing_runs(&run_id(&scene.out()).unwrap());
    // As if a process had put it into its place, was killed, and somebody had removed it.
    let run_id = run_id(&scene.out()).unwrap();
    let line = format!(r#"{{"phase":0,"task":0,"attempt":0,"run":"{run_id}","command":"c","inode":1}}"#);
    let script =
        format!("echo '{line}' >> .hindmost/manifest.jsonl; mv .hindmost/attempts/0-0.0.*/out wait/0; rm -r wait/0");
    sh(&scene.out(), &script);
    let ended = run(&scene, &["--resume"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    waited(&scene.out(), "first");
}

/// Kills a resumption after so many milliseconds.
fn killed_after(scene: &Scene, milliseconds: u64, args: &[&str]) {
    let live = start(scene, args);
    std::thread::sleep(Duration::from_millis(milliseconds));
    live.kill();
}

#[test]
fn attempts_of_an_old_command_never_count() {
    let text = |word: &str| WAITING.replace("$word $HINDMOST_TASK", word);
    for ends_before in [true, false] {
        for moment in [None, Some(0), Some(15), Some(40), Some(90)] {
            let scene = Scene::new(&text("old"));
            waiting(&scene, "first").kill();
            let run_of_old = run_id(&scene.out()).unwrap();
            if ends_before {
                scene.touch("go");
                nothing_runs(&run_of_old);
            }
            fs::write(scene.path("job.toml"), text("new")).unwrap();
            match moment {
                None => _ = run(&scene, &["--resume", "--nodes", "other:3"]).with(2),
                Some(moment) => killed_after(&scene, moment, &["--resume"]),
            }
            scene.touch("go");
            run(&scene, &["--resume"]).with(0);
            for task in 0..3 {
                let found = scene.read(&format!("out/wait/{task}/file"));
                assert_eq!(found, "new\n", "{ends_before}, {moment:?}");
            }
            scene.is_clean().is_verified();
        }
    }
}

#[test]
fn results_of_an_old_command_are_kept_only_if_that_is_said() {
    let text = |word: &str| {
        format!(
            "[[phase]]\nname = \"work\"\ntasks = 3\ncommand = '''\necho {word} >> started\n\
             [ $HINDMOST_TASK = 0 ] || until [ -e go ] || [ ! -e job.toml ]; do sleep 0.02; done\n\
             echo {word} > \"$HINDMOST_OUTPUT/file\"\n'''\n"
        )
    };
    for moment in [None, Some(10), Some(30), Some(80)] {
        let scene = Scene::new(&text("old"));
        let live = start(&scene, &NODES);
        let result = scene.out().join("work/0");
        until("the first is done", || result.exists() && lines(&scene, "started") == 3);
        live.kill();
        fs::write(scene.path("job.toml"), text("new")).unwrap();
        if let Some(moment) = moment {
            killed_after(&scene, moment, &["--resume"]);
        }
        for _ in 0..2 {
            let ended = run(&scene, &["--resume"]).with(2);
            assert!(ended.stderr.contains("--keep-results"), "{}", ended.stderr);
        }
        assert_eq!(counts(&scene, "started").get("new"), None);
        // Killed with tasks at work, it has been said all the same.
        let kept = start(&scene, &["--resume", "--keep-results"]);
        until("the others run", || counts(&scene, "started").get("new") == Some(&2));
        kept.kill();
        scene.touch("go");
        run(&scene, &["--resume"]).with(0);
        run(&scene, &["--resume"]).with(0);
        let found: Vec<String> = (0..3).map(|task| scene.read(&format!("out/work/{task}/file"))).collect();
        assert_eq!(found, ["old\n", "new\n", "new\n"]);
        scene.is_clean().is_verified();
    }
}

#[test]
fn results_kept_for_one_command_are_not_kept_for_the_next() {
    let text = |word: &str| {
        format!(
            "[[phase]]\nname = \"work\"\ntasks = 2\ncommand = '''\necho {word} >> started\n\
             [ $HINDMOST_TASK = 0 ] || until [ -e go ] || [ ! -e job.toml ]; do sleep 0.02; done\n\
             echo {word} > \"$HINDMOST_OUTPUT/file\"\n'''\n"
        )
    };
    let scene = Scene::new(&text("first"));
    let live = start(&scene, &NODES);
    until("a task is done", || finishes(&scene.out()) == 1 && lines(&scene, "started") == 2);
    live.kill();
    fs::write(scene.path("job.toml"), text("second")).unwrap();
    let live = start(&scene, &["--resume", "--keep-results"]);
    until("the other runs", || counts(&scene, "started").get("second") == Some(&1));
    live.kill();
    fs::write(scene.path("job.toml"), text("third")).unwrap();
    scene.touch("go");
    let ended = run(&scene, &["--resume"]);
    let found = scene.read("out/work/0/file");
    assert_eq!(ended.code, Some(2), "the result of {found:?} is taken for one of the third: {}", ended.stderr);
}

#[test]
fn a_killed_beginning_again_ends_right() {
    for round in 0..8 {
        let scene = Scene::new(CHAIN);
        scene.touch("go");
        run(&scene, &NODES).with(0);
        sh(&scene.out(), ["rm -r map/1", "rm -r map/1; echo longer text > sum/0/file", "rm -r sum last"][round % 3]);
        // Random enough: how long each step takes differs from run to run.
        for life in 0..4 {
            killed_after(&scene, (round as u64 * 7 + life * 11) % 60, &["--resume"]);
        }
        let ended = run(&scene, &["--resume"]);
        assert!(ended.code == Some(0), "{:?}: {}", ended.code, ended.stderr);
        assert_eq!(scene.read("out/last/0/file"), "map 0\nmap 1\nmap 2\n".repeat(2));
        let ran = counts(&scene, "ran");
        for (task, times) in [("map/0", 1), ("map/2", 1), ("side/0", 1)] {
            assert_eq!(ran.get(task), Some(&times), "{task}");
        }
        scene.is_clean().is_verified();
    }
}
