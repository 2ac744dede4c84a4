//! Results that are missing or have changed, attempts that ended while the command did not run, and changed commands.

use std::fs;
use std::time::Duration;

use super::swapped_folders::{
    CHAIN, NODES, WAITING, counts, finishes, lines, nothing_runs, run, sh, start, waited, waiting,
};
use crate::scene::{Live, Scene, files, names, run_id, until, until_recorded};

/// Changes of results: a script that runs in the output folder, the tasks whose results it changes, and true if files
/// are left in place of the results.
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
            until_recorded(&scene.out());
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
        assert!(held.is_none() || held == Some(files(&elsewhere)), "{change}: the target of the link has changed");
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
    // New modification times alone are not a change.
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
    // The new content has the same size and times.
    sh(&scene.out(), "touch -r map/1/file ../time; echo 'map 9' > map/1/file; touch -r ../time map/1/file");
    let ended = run(&scene, &["--resume", "--checksum"]).with(0);
    assert!(ended.stderr.contains("result of map/1 "), "{}", ended.stderr);
    assert_eq!(scene.read("out/map/1/file"), "map 1\n");
    assert_eq!(lines(&scene, "ran"), 7 + 4);
    scene.is_clean().is_verified();
}

#[test]
fn a_lost_result_of_a_non_idempotent_task_is_an_error() {
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

/// Kills a run while its task that may not run twice is running, and waits until that task ends with this exit code.
fn once_ended(code: &str) -> Scene {
    let scene = Scene::new(ONCE);
    let live = start(&scene, &NODES);
    until("the other tasks are done", || lines(&scene, "ran") == 3 && finishes(&scene.out()) == 2);
    until_recorded(&scene.out());
    live.kill();
    fs::write(scene.path("go"), code).unwrap();
    until("the task has ended", || files(&scene.out()).values().any(|text| text.starts_with(&format!("exit {code} "))));
    nothing_runs(&run_id(&scene.out()).unwrap());
    scene
}

#[test]
fn an_end_before_the_resume_counts_if_a_result_is_missing() {
    let mut wrong = Vec::new();
    for (code, end) in [("0", 0), ("7", 1)] {
        let scene = once_ended(code);
        fs::remove_dir_all(scene.out().join("other/0")).unwrap();
        let ended = run(&scene, &["--resume"]);
        let times = counts(&scene, "ran")["once"];
        if times != 1 || ended.code != Some(end) {
            wrong.push(format!(
                "exit code {code} before the resume, {times} attempts: {:?}: {}",
                ended.code, ended.stderr
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn an_end_before_the_resume_counts_in_a_moved_folder() {
    let scene = once_ended("0");
    fs::rename(scene.out(), scene.path("moved")).unwrap();
    let ended = Live::start(scene.folder.path(), "job.toml", "moved", &["--resume"]).end();
    assert_eq!(counts(&scene, "ran").get("once"), Some(&1), "the task was run twice: {}", ended.stderr);
    ended.with(0);
}

#[test]
fn failures_count_if_a_run_is_killed_while_it_begins_again() {
    let scene = Scene::new(&ONCE.replace("echo other >> ran", "echo other >> ran; sleep 0.5"));
    fs::write(scene.path("go"), "7").unwrap();
    run(&scene, &["--nodes", "n1:8", "--policy", "none"]).with(1);
    assert_eq!(counts(&scene, "ran").get("once"), Some(&1));
    // This is the state between the two steps by which a run begins again: the record is written, and the journal is not
    // yet renamed.
    let record = scene.out().join(".hindmost/job.json");
    let mut job: serde_json::Value = serde_json::from_str(&fs::read_to_string(&record).unwrap()).unwrap();
    job["journals"] = 1.into();
    job["failures"] = serde_json::json!([[1, 0, 1]]);
    job["run"] = "another".into();
    fs::write(&record, job.to_string()).unwrap();
    fs::remove_dir_all(scene.out().join("map/0")).unwrap_or_default();
    let ended = run(&scene, &["--resume"]);
    assert_eq!(counts(&scene, "ran").get("once"), Some(&1), "the task had failed and was run again: {}", ended.stderr);
    ended.with(1);
}

#[test]
fn a_result_lost_before_its_end_is_recorded_is_made_again() {
    let scene = Scene::new(&WAITING.replace("tasks = 3", "tasks = 3\nretries = 0"));
    waiting(&scene, "first").kill();
    scene.touch("go");
    nothing_runs(&run_id(&scene.out()).unwrap());
    // This is the state if hindmost is killed after it has renamed the result, and a user removes the result.
    let run_id = run_id(&scene.out()).unwrap();
    let line = format!(r#"{{"phase":0,"task":0,"attempt":0,"run":"{run_id}","command":"c","inode":1}}"#);
    let script =
        format!("echo '{line}' >> .hindmost/manifest.jsonl; mv .hindmost/attempts/0-0.0.*/out wait/0; rm -r wait/0");
    sh(&scene.out(), &script);
    let ended = run(&scene, &["--resume"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    waited(&scene.out(), "first");
}

/// Resumes a run and kills it after this time.
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
fn results_of_an_old_command_are_kept_by_option_only() {
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
        until("the first task is done", || result.exists() && lines(&scene, "started") == 3);
        until_recorded(&scene.out());
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
        // The choice is recorded even if the run is killed while tasks run.
        let kept = start(&scene, &["--resume", "--keep-results"]);
        until("the other tasks run", || counts(&scene, "started").get("new") == Some(&2));
        until_recorded(&scene.out());
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
    until_recorded(&scene.out());
    live.kill();
    fs::write(scene.path("job.toml"), text("second")).unwrap();
    let live = start(&scene, &["--resume", "--keep-results"]);
    until("the other task runs", || counts(&scene, "started").get("second") == Some(&1));
    until_recorded(&scene.out());
    live.kill();
    fs::write(scene.path("job.toml"), text("third")).unwrap();
    scene.touch("go");
    let ended = run(&scene, &["--resume"]);
    let found = scene.read("out/work/0/file");
    assert_eq!(ended.code, Some(2), "the result {found:?} counts for the third command: {}", ended.stderr);
}

#[test]
fn a_run_killed_while_it_begins_again_has_right_results() {
    for round in 0..8 {
        let scene = Scene::new(CHAIN);
        scene.touch("go");
        run(&scene, &NODES).with(0);
        sh(&scene.out(), ["rm -r map/1", "rm -r map/1; echo longer text > sum/0/file", "rm -r sum last"][round % 3]);
        // The steps take different times in each run, so that fixed delays hit different steps.
        for resume in 0..4 {
            killed_after(&scene, (round as u64 * 7 + resume * 11) % 60, &["--resume"]);
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
