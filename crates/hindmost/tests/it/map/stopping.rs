//! How a map is stopped.

use std::process::Stdio;
use std::time::{Duration, Instant};

use super::Place;

#[test]
fn ctrl_c_stops_everything() {
    let place = Place::new();
    // The values follow the command, as with GNU parallel.
    let mut command = place.command(&["touch started; sleep", ":::", "600", "600"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while !place.path("started").exists() && begun.elapsed() < Duration::from_mins(1) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(super::is_empty(&place.path("temporary")));
}
