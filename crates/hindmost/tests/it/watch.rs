//! Tests of `hindmost watch` in a terminal.

use std::process::{Command, Stdio};

use hindmost_testing::left_out;
use serde_json::Value;

use crate::run_in;
use crate::scene::{Live, Scene, signal, until};

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
