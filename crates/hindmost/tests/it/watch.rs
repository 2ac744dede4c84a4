//! Tests of `hindmost watch`: of runs in progress, runs that have ended or were killed, and folders without a run.

use std::process::{Command, Stdio};

use hindmost_testing::left_out;
use serde_json::Value;

use crate::scene::{Live, Scene, run_id, signal, until};
use crate::{hindmost, run_in};

/// A job whose tasks wait for the file `go`, apart from the first one, which ends at once.
fn waiting() -> Scene {
    let scene = Scene::new("");
    let command = format!(
        "until [ -e '{}/go' ] || [ \"$HINDMOST_TASK\" = 0 ]; do sleep 0.02; done",
        scene.folder.path().display()
    );
    let job = format!(
        "name = \"wait\"\npolicy = \"none\"\n[[phase]]\nname = \"map\"\ntasks = 4\ncommand = '''{command}'''\n\
         [[phase]]\nname = \"last\"\nafter = [\"map\"]\ntasks = 1\ncommand = 'true'\n"
    );
    std::fs::write(scene.path("job.toml"), job).unwrap();
    scene
}

fn start(scene: &Scene) -> Live {
    let live = Live::start(scene.folder.path(), "job.toml", "out", &["--nodes", "n1:2,n2:2"]);
    until("three attempts run", || {
        let state = state(scene);
        state["finished"] == 1 && state["running_attempts"] == 3
    });
    live
}

/// Returns what `watch --json` prints; null if there is no run yet.
fn state(scene: &Scene) -> Value {
    let ran = run_in(scene.folder.path(), &["watch", "out", "--json"]);
    if ran.code == Some(0) { serde_json::from_str(&ran.stdout).unwrap() } else { Value::Null }
}

/// Returns what `watch` prints into a pipe.
fn text(scene: &Scene) -> String {
    let ran = run_in(scene.folder.path(), &["watch", "out"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.stderr, "");
    ran.stdout
}

#[test]
fn a_run_in_progress_is_shown_until_it_is_done() {
    let scene = waiting();
    let live = start(&scene);
    let shown = state(&scene);
    assert_eq!(shown["state"], "running");
    assert_eq!(shown["jobs"][0]["phases"][0]["finished"], 1);
    assert_eq!(shown["jobs"][0]["phases"][1]["waiting"], true);
    assert_eq!(shown["running"].as_array().unwrap().len(), 3);
    assert_eq!(shown["nodes"][1]["name"], "n2");
    let printed = text(&scene);
    for part in ["wait  ", "1/5 tasks", "running: 3 attempts", "Longest running attempts\n", "  map/1 on n", "Nodes\n"]
    {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    scene.touch("go");
    live.end().with(0);
    assert_eq!(state(&scene)["state"], "done");
    let printed = text(&scene);
    assert!(
        printed.contains("5/5 tasks") && printed.contains("the run is done; report in out/report.html"),
        "{printed}"
    );
    scene.is_verified();
}

#[test]
fn narrow_output_has_no_longer_lines() {
    let scene = waiting();
    let live = start(&scene);
    let ran = hindmost().current_dir(scene.folder.path()).args(["watch", "out"]).env("COLUMNS", "32").output().unwrap();
    let printed = String::from_utf8(ran.stdout).unwrap();
    assert!(printed.lines().all(|line| line.chars().count() <= 32), "{printed}");
    scene.touch("go");
    live.end().with(0);
}

#[test]
fn a_killed_run_is_gone_until_it_is_resumed() {
    let scene = waiting();
    let live = start(&scene);
    live.kill();
    assert_eq!(state(&scene)["state"], "gone");
    assert!(text(&scene).contains("no process runs this job any more; --resume continues the run"));
    scene.touch("go");
    let resumed = Live::start(scene.folder.path(), "job.toml", "out", &["--resume"]);
    resumed.end().with(0);
    assert_eq!(state(&scene)["state"], "done");
    assert_eq!(state(&scene)["finished"], 5);
    let (left, _) = crate::scene::leftovers(&run_id(&scene.out()).unwrap());
    assert!(left.is_empty(), "{left:?}");
}

/// Starts `watch` in a terminal, whose output goes to the file `terminal`; `None` if there is no program for this.
fn in_terminal(scene: &Scene) -> Option<std::process::Child> {
    let line = format!("echo $$ > pid; exec '{}' watch out", env!("CARGO_BIN_EXE_hindmost"));
    let mut command = Command::new("script");
    command
        .args(["-qfec", &line, "terminal"])
        .current_dir(scene.folder.path())
        .env("TERM", "xterm")
        .env("SHELL", "/bin/sh");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn();
    if child.is_err() {
        left_out("the program `script` is not installed");
    }
    child.ok()
}

#[test]
fn watching_in_a_terminal_ends_with_the_run() {
    let scene = waiting();
    let live = start(&scene);
    let Some(mut watching) = in_terminal(&scene) else {
        scene.touch("go");
        return drop(live.end());
    };
    until("the state is drawn", || {
        std::fs::read(scene.path("terminal")).is_ok_and(|said| String::from_utf8_lossy(&said).contains("1/5 tasks"))
    });
    scene.touch("go");
    live.end().with(0);
    assert_eq!(crate::scene::ended(&mut watching).unwrap().code(), Some(0));
    assert!(scene.read("terminal").contains("the run is done"), "{}", scene.read("terminal"));
}

#[test]
fn an_interrupt_ends_only_the_watching() {
    let scene = waiting();
    let live = start(&scene);
    let Some(mut watching) = in_terminal(&scene) else {
        scene.touch("go");
        return drop(live.end());
    };
    until("the state is drawn", || {
        std::fs::read(scene.path("terminal")).is_ok_and(|said| String::from_utf8_lossy(&said).contains("1/5 tasks"))
    });
    signal(scene.read("pid").trim().parse().unwrap(), "INT");
    assert_eq!(crate::scene::ended(&mut watching).unwrap().code(), Some(0));
    assert!(scene.read("terminal").contains("The run goes on"), "{}", scene.read("terminal"));
    assert_eq!(state(&scene)["state"], "running");
    scene.touch("go");
    live.end().with(0);
}
