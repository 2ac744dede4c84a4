//! Tests of the page of `run --serve` and `map --serve`.

mod browser;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::run_in;
use crate::scene::{Scene, until};

/// Returns the address that a command has written to stderr; `None` if it has not written one yet.
fn address(stderr: &str) -> Option<SocketAddr> {
    let rest = stderr.split("the run can be seen at http://").nth(1)?;
    rest.split_once("/\n")?.0.parse().ok()
}

/// Sends a request and returns the whole answer; `None` if nobody answers.
fn answer(to: SocketAddr, request: &str) -> Option<String> {
    let mut client = TcpStream::connect(to).ok()?;
    client.set_read_timeout(Some(Duration::from_mins(1))).ok()?;
    client.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    client.read_to_string(&mut answer).ok()?;
    Some(answer)
}

fn get(to: SocketAddr, path: &str) -> Option<String> {
    answer(to, &format!("GET {path} HTTP/1.1\r\nHost: {to}\r\n\r\n"))
}

/// Returns the state that the page shows; null if nobody answers.
fn state(of: SocketAddr) -> Value {
    let text = get(of, "/api/snapshot.json").unwrap_or_default();
    text.split_once("\r\n\r\n").and_then(|(_, body)| serde_json::from_str(body).ok()).unwrap_or_default()
}

/// A job whose tasks wait for the file `go`. Its name could be taken for markup.
fn waiting(name: &str) -> Scene {
    let scene = Scene::new("");
    let folder = scene.folder.path().display();
    let command = format!("until [ -e '{folder}/go' ]; do sleep 0.02; done");
    let job = format!(
        "name = \"job\"\npolicy = \"none\"\n[[phase]]\nname = \"{name}\"\ntasks = 2\ncommand = '''{command}'''\n"
    );
    std::fs::write(scene.path("job.toml"), job).unwrap();
    scene
}

fn started(scene: &Scene) -> SocketAddr {
    until("the address is known", || address(&scene.read("stderr")).is_some());
    let to = address(&scene.read("stderr")).unwrap();
    until("two attempts run", || state(to)["running_attempts"] == 2);
    to
}

#[test]
fn a_run_serves_its_state_until_it_ends() {
    let scene = waiting("map");
    let child = scene.spawn(None, &["--serve", "127.0.0.1:0", "--nodes", "n1:2"]);
    let to = started(&scene);
    let page = get(to, "/").unwrap();
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.contains("content-type: text/html"), "{page}");
    assert!(page.contains("content-security-policy: default-src 'none'; style-src 'sha256-"), "{page}");
    let shown = state(to);
    assert_eq!((&shown["state"], &shown["tasks"]), (&"running".into(), &2.into()));
    // It is the document of `watch`.
    let watched: Value =
        serde_json::from_str(&run_in(scene.folder.path(), &["watch", "out", "--json"]).stdout).unwrap();
    let keys = |document: &Value| document.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&shown), keys(&watched));
    assert!(get(to, "/.hindmost/journal.jsonl").unwrap().starts_with("HTTP/1.1 404 "));
    assert!(answer(to, &format!("POST / HTTP/1.1\r\nHost: {to}\r\n\r\n")).unwrap().starts_with("HTTP/1.1 405 "));
    assert!(answer(to, "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n").unwrap().starts_with("HTTP/1.1 403 "));
    scene.touch("go");
    // Whoever looks sees the end too, with the report.
    let mut last = Value::Null;
    until("the run is done", || {
        let now = state(to);
        now.is_null() || now["state"] == "done" && !now["report"].is_null()
    });
    if let Some(end) = Some(state(to)).filter(|state| !state.is_null()) {
        last = end;
    }
    let ended = scene.end(child).with(0);
    let summary: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(summary["state"], "done");
    assert!(last.is_null() || last["report"].as_str().unwrap().ends_with("report.html"), "{last}");
    assert!(TcpStream::connect(to).is_err(), "the server has ended with the run");
    scene.is_clean().is_verified();
}

#[test]
fn slow_clients_do_not_stop_the_run() {
    let scene = waiting("map");
    let child = scene.spawn(None, &["--serve", "127.0.0.1:0", "--nodes", "n1:2"]);
    let to = started(&scene);
    let slow: Vec<TcpStream> = (0..40)
        .map(|number| {
            let mut client = TcpStream::connect(to).unwrap();
            // A part of a request, or a request whose answer nobody reads.
            let part =
                if number % 2 == 0 { "GET / HT".to_owned() } else { format!("GET / HTTP/1.1\r\nHost: {to}\r\n\r\n") };
            let _ = client.write_all(part.as_bytes());
            client
        })
        .collect();
    scene.touch("go");
    scene.end(child).with(0);
    drop(slow);
    scene.is_clean().is_verified();
}

#[test]
fn a_map_serves_its_state() {
    let folder = tempfile::tempdir().unwrap();
    let script = "until [ -e go ]; do sleep 0.02; done; echo {}";
    let said = std::fs::File::create(folder.path().join("stderr")).unwrap();
    let mut command = crate::hindmost();
    command.current_dir(folder.path()).args(["map", "-j", "2", "--serve", "localhost:0", script, ":::", "a", "b"]);
    let mut child = command.stdout(std::process::Stdio::null()).stderr(said).spawn().unwrap();
    let stderr = || std::fs::read_to_string(folder.path().join("stderr")).unwrap();
    until("the address is known", || address(&stderr()).is_some());
    let to = address(&stderr()).unwrap();
    until("two attempts run", || state(to)["running_attempts"] == 2);
    std::fs::write(folder.path().join("go"), "").unwrap();
    assert_eq!(crate::scene::ended(&mut child).unwrap().code(), Some(0));
}

#[test]
fn other_addresses_are_refused() {
    let scene = waiting("map");
    for (address, expected) in [
        ("0.0.0.0:0", "can be reached from other machines"),
        ("[::]:7000", "ssh -L 7000:127.0.0.1:7000"),
        ("8080", "is not an address"),
        ("example.org:80", "is not an address"),
    ] {
        let ended = scene.run(&["--serve", address]).with(2);
        assert!(ended.stderr.contains("--serve ") && ended.stderr.contains(expected), "{}", ended.stderr);
        assert!(!scene.out().exists(), "{address}");
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let ended = scene.run(&["--serve", &taken.local_addr().unwrap().to_string()]).with(2);
    assert!(ended.stderr.contains("choose another port"), "{}", ended.stderr);
    assert!(!scene.out().exists());
}
