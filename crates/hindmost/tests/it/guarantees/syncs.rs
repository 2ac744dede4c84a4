//! What `hindmost run` syncs before it records that tasks have finished, seen by `strace`.

use std::fs;
use std::process::Command;

use hindmost_testing::left_out;

use super::syscalls::Swept;
use crate::scene::{Scene, has_ended, names, processes, run_id, until, until_recorded};

/// Two phases that run at the same time. Their commands wait until a file exists.
const JOB: &str = r#"
[[phase]]
name = "one"
tasks = 1
command = 'touch one-runs; until test -e go; do sleep 0.02; done; echo 1 > "$HINDMOST_OUTPUT/n"'

[[phase]]
name = "two"
tasks = 2
command = 'touch two-$HINDMOST_TASK-runs; until test -e go; do sleep 0.02; done; echo 2 > "$HINDMOST_OUTPUT/n"'
"#;

#[test]
fn the_folders_of_results_are_synced_before_their_tasks_count_as_finished() {
    if !Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).output().is_ok_and(|ran| ran.status.success()) {
        left_out("strace does not work here");
        return;
    }
    let scene = Scene::new(JOB);
    let _swept = Swept(scene.folder.path());
    let mut child = scene.spawn(None, &["--nodes", "n1:3", "--policy", "none"]);
    let runs = |name: &str| scene.path(name).exists();
    until("the commands run", || ["one-runs", "two-0-runs", "two-1-runs"].into_iter().all(runs));
    until_recorded(&scene.out());
    child.kill().unwrap();
    child.wait().unwrap();
    scene.open();
    // All attempts end while no Hindmost runs, so the resumed run commits their outputs together.
    let (attempts, run) = (scene.out().join(".hindmost/attempts"), run_id(&scene.out()).unwrap());
    until("the attempts have ended", || names(&attempts).iter().all(|name| has_ended(&attempts.join(name))));
    until("their processes have ended", || processes(&run).is_empty());
    let script = "exec strace -qq -y -s 100000 -o calls -e trace=renameat2,fsync,write \"$@\"";
    scene.end(scene.spawn(Some(script), &["--resume"])).with(0);

    let calls = scene.read("calls");
    let calls: Vec<&str> = calls.lines().filter(|call| !call.contains(" = -1 ")).collect();
    let out = fs::canonicalize(scene.out()).unwrap();
    let is_record = |call: &&str| call.contains("/journal.jsonl>") && call.contains("attempt_finished");
    let recorded = calls.iter().position(is_record).expect("a record of a finish");
    for (phase, tasks) in [("one", 1), ("two", 2)] {
        let folder = format!("<{}>", out.join(phase).display());
        let of_folder = |name: &str| {
            let is_it = |(_, call): &(usize, &&str)| call.starts_with(name) && call.contains(&folder);
            calls.iter().enumerate().filter(is_it).map(|(at, _)| at).collect::<Vec<_>>()
        };
        let (renamed, synced) = (of_folder("renameat2("), of_folder("fsync("));
        assert_eq!(renamed.len(), tasks, "{phase}: {calls:#?}");
        let last = renamed[tasks - 1];
        assert!(synced.iter().any(|at| (last..recorded).contains(at)), "{phase}: {calls:#?}");
    }
}
