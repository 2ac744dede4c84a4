//! The page in headless Chromium. These tests are run on request, because they need it:
//! `cargo test -p hindmost --test it browser:: -- --ignored`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hindmost_report::html::live_page;
use hindmost_serve::{Page, Server};
use serde_json::{Value, json};

use super::{started, waiting};

/// Returns the name of the browser.
fn chromium() -> &'static str {
    let runs = |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|ran| ran.status.success());
    let names = ["chromium", "chromium-browser", "google-chrome"];
    names.into_iter().find(runs).unwrap_or_else(|| panic!("Chromium is not installed: none of {names:?} runs"))
}

/// Opens a page with further options, and returns what the browser prints.
fn open(browser: &str, url: &str, options: &[&str]) -> String {
    let profile = tempfile::tempdir().unwrap();
    let mut command = Command::new(browser);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=3000"]);
    command.arg(format!("--user-data-dir={}", profile.path().display())).args(options).arg(url);
    let ran = command.stdin(Stdio::null()).stderr(Stdio::null()).output().unwrap();
    assert!(ran.status.success(), "{url}");
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

/// Serves the page with this state.
fn serving(state: &Value) -> Server {
    let page = live_page();
    let page = Page { html: page.html, style: page.style, script: page.script };
    let bytes = serde_json::to_vec(state).unwrap();
    Server::start("127.0.0.1:0", &page, move || bytes.clone()).unwrap()
}

/// Takes a picture of the page into the folder `HINDMOST_SCREENSHOTS`, if it is given, for people who look at it.
fn picture(browser: &str, url: &str, name: &str) {
    let Some(folder) = std::env::var_os("HINDMOST_SCREENSHOTS") else { return };
    let folder = PathBuf::from(folder);
    for (width, height) in [(390, 2400), (1440, 1800)] {
        for scheme in ["light", "dark"] {
            let file = Path::new(&folder).join(format!("{name}-{width}-{scheme}.png"));
            let dark = format!("--blink-settings=preferredColorScheme={}", u8::from(scheme == "light"));
            let size = format!("--window-size={width},{height}");
            open(browser, url, &[&dark, &size, &format!("--screenshot={}", file.display())]);
        }
    }
}

/// A state with one job.
fn state(name: &str, state: &str) -> Value {
    let copies = json!({"running": 1, "launched": 3, "won": 1});
    let attempt = |task: u32, copy: u32, kind: &str, node: &str| {
        json!({"job": 0, "phase": name, "task": task, "copy": copy, "node": node, "kind": kind, "state": "running",
            "start": 80.0, "elapsed": 20.0, "expected_finish": 130.0, "progress": 0.4, "copies": 2,
            "because": if copy > 0 { json!("it would take longer") } else { Value::Null }})
    };
    let ended = |task: u32, outcome: &str, kind: &str, node: &str, start: f64| {
        json!({"job": 0, "phase": name, "task": task, "copy": 0, "node": node, "kind": kind, "start": start,
            "end": start + 25.0, "outcome": outcome})
    };
    let phases = json!([
                {"name": name, "tasks": 16, "finished": 12, "failed_tasks": 0, "running": 2, "starting": 0, "attempts": 19, "copies": copies,
                    "killed": 2, "failed": 1, "progress": 0.78, "waiting": false, "median": 8.0, "left": 42.0},
                {"name": "last", "tasks": 4, "finished": 0, "failed_tasks": 0, "running": 0, "starting": 0, "attempts": 0,
                    "copies": {"running": 0, "launched": 0, "won": 0}, "killed": 0, "failed": 0, "progress": 0.0,
                    "waiting": true, "median": null, "left": null}]);
    json!({"state": state, "folder": format!("/data/{name}"), "policy": "pace", "knowledge": "progress(0.1)",
        "report": format!("/data/{name}/report.html"), "now": 100.0, "elapsed": 100.0, "left": 42.0, "more_phases": true,
        "tasks": 20, "finished": 12, "attempts": 20, "failed_attempts": 1, "failed_tasks": 0, "copies": copies,
        "jobs": [{"name": name, "state": "running", "arrival": 0.0, "end": null, "deadline": null, "tasks": 20, "finished": 12,
            "phases": phases}],
        "nodes": [
            {"name": name, "lost": false, "slow": 0.25, "capacity": {"cpus": 4.0, "memory": 8e9},
                "used": {"cpus": 2.0, "memory": 1e9}, "attempts": 1},
            {"name": "n2", "lost": true, "slow": null, "capacity": {"cpus": 4.0}, "used": null, "attempts": 1}],
        "running_attempts": 2, "starting_attempts": 0,
        "running": [attempt(3, 0, "original", name), attempt(3, 1, "backup", "n2")],
        "ended": [ended(1, "won", "original", name, 40.0), ended(2, "lost", "original", "n2", 30.0),
            ended(4, "failed", "original", name, 10.0), ended(5, "won", "backup", "n2", 60.0)],
        "failures": [{"job": 0, "phase": name, "task": 4, "copy": 0, "node": name, "at": 35.0,
            "message": format!("exit code 3: {name}")}]})
}

#[test]
#[ignore = "needs Chromium"]
fn the_page_shows_a_run_in_progress() {
    let browser = chromium();
    let scene = waiting("map");
    let child = scene.spawn(None, &["--serve", "127.0.0.1:0", "--nodes", "n1:2"]);
    let to = started(&scene);
    let shown = open(browser, &format!("http://{to}/"), &["--dump-dom"]);
    for part in ["<h1 id=\"title\">job</h1>", ">Running</span>", "0 of 2", "map/0", "map/1", "<b>n1</b>"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    scene.touch("go");
    scene.end(child).with(0);
    scene.is_clean();
}

#[test]
#[ignore = "needs Chromium"]
fn hostile_names_stay_text() {
    let browser = chromium();
    let name = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>&amp;'\"";
    let server = serving(&state(name, "running"));
    let shown = open(browser, &server.url(), &["--dump-dom"]);
    assert!(shown.contains("&lt;img src=x onerror="), "{shown}");
    assert!(!shown.contains("<img") && !shown.contains("<title>owned"), "{shown}");
    assert_eq!(shown.matches("<script").count(), 1, "{shown}");
    // Texts of a person who reads from right to left, and long names, must not break the page either.
    picture(browser, &server.url(), "hostile");
}

#[test]
#[ignore = "needs Chromium"]
fn each_state_of_a_run_is_said() {
    let browser = chromium();
    for (of, expected) in [
        ("starting", "Starting"),
        ("running", "Running"),
        ("done", "The run has ended. The report is /data/map/report.html."),
        ("failed", ">Failed</span>"),
        ("interrupted", ">Interrupted</span>"),
        ("gone", "the process of the run is gone"),
    ] {
        let server = serving(&state("map", of));
        let shown = open(browser, &server.url(), &["--dump-dom"]);
        assert!(shown.contains(expected), "{of}: {shown}");
        picture(browser, &server.url(), of);
    }
    let empty = json!({"state": "starting", "folder": "/data", "policy": "", "knowledge": "", "now": 0.0, "elapsed": 0.0,
        "left": null, "more_phases": false, "tasks": 0, "finished": 0, "attempts": 0, "failed_attempts": 0, "failed_tasks": 0,
        "copies": {"running": 0, "launched": 0, "won": 0}, "jobs": [], "nodes": [], "running_attempts": 0, "starting_attempts": 0, "running": [],
        "ended": [], "failures": []});
    let server = serving(&empty);
    assert!(open(browser, &server.url(), &["--dump-dom"]).contains("No attempt is running."));
    picture(browser, &server.url(), "empty");
}

#[test]
#[ignore = "needs Chromium"]
fn large_runs_are_shown_in_part() {
    let browser = chromium();
    let mut large = state("map", "running");
    let node = large["nodes"][0].clone();
    large["nodes"] = (0..1000)
        .map(|number| {
            let mut node = node.clone();
            node["name"] = format!("node-{number}").into();
            node["slow"] = if number == 900 { json!(0.2) } else { Value::Null };
            node
        })
        .collect();
    let attempt = large["running"][0].clone();
    large["running"] = (0..1000)
        .map(|number| {
            let mut attempt = attempt.clone();
            (attempt["task"], attempt["node"]) = (number.into(), format!("node-{}", number % 250).into());
            attempt
        })
        .collect();
    (large["running_attempts"], large["tasks"]) = (4000.into(), 10_000.into());
    let phase = large["jobs"][0]["phases"][1].clone();
    let running = large["jobs"][0]["phases"][0].clone();
    large["jobs"][0]["phases"] = [vec![phase; 300], vec![running]].concat().into();
    let server = serving(&large);
    let shown = open(browser, &server.url(), &["--dump-dom"]);
    for part in
        ["and 960 more nodes", "more running attempts", "and 286 more phases", "slow: 20% of its speed", "12/16"]
    {
        assert!(shown.contains(part), "{part}: {}", shown.len());
    }
    assert!(shown.contains("3\u{202f}980"), "{}", shown.len());
    assert!(shown.len() < 400_000, "{}", shown.len());
    picture(browser, &server.url(), "large");
}
