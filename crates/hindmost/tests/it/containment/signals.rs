//! Tests of commands that read the terminal, and of signals that were ignored when `hindmost` was started.

use super::*;

const SHORT: &str = r#"
[[phase]]
name = "short"
tasks = 4
command = 'touch "$HINDMOST_FROM/../started"; sleep 0.3; echo done > "$HINDMOST_OUTPUT/result"'
"#;

#[test]
fn commands_that_read_the_terminal_fail_at_once() {
    if !has("script") {
        return;
    }
    let job = r#"
[[phase]]
name = "ask"
tasks = 3
command = '''
exec 2> /dev/null
(read answer < /dev/tty) && exit 8
(cat /dev/tty) && exit 8
(stty -echo < /dev/tty) && exit 8
echo failed > "$HINDMOST_OUTPUT/result"
'''
"#;
    for user in users() {
        let place = Place::new(user, job);
        // `script` gives hindmost a controlling terminal. No command may read what is typed there.
        let script = r#"(sleep 3; echo typed) | script -qec "'$1' run job.toml --json --out out > stdout 2> stderr; stty -a > settings" /dev/null > /dev/null; cat settings | grep -q ' echo ' || echo changed >> stderr"#;
        let mut shell = place.command(script, &[]).spawn().unwrap();
        until("all tasks have results", || (0..3).all(|task| place.path(&format!("out/ask/{task}/result")).exists()));
        until("the run has ended", || place.path("out/.hindmost/summary.json").exists());
        assert!(!place.read("stderr").contains("changed"));
        let _ = shell.kill();
        let _ = shell.wait();
    }
}

/// Sends a signal while tasks run and returns the exit code.
fn signalled(place: &Place, script: &str, signal: &str) -> Option<i32> {
    let mut run = place.spawn_by(script, &["--nodes", "n1:1"]);
    until("tasks run", || place.path("started").exists());
    run.signal(signal);
    run.end()
}

#[test]
fn signals_that_were_ignored_stay_ignored() {
    for signal in ["INT", "HUP", "TERM"] {
        let place = Place::new(User::Current, SHORT);
        let ignoring = format!("trap '' {signal}; exec \"$@\"");
        assert_eq!(signalled(&place, &ignoring, signal), Some(0), "{signal}: {}", place.read("stderr"));
        assert_eq!(place.sizes("short/3")["result"], 5);
        place.is_clean();
    }
    let place = Place::new(User::Current, SHORT);
    assert_eq!(signalled(&place, "exec nohup \"$@\"", "HUP"), Some(0), "{}", place.read("stderr"));
    place.is_clean();
}

#[test]
fn other_signals_interrupt_although_one_is_ignored() {
    for signal in ["HUP", "TERM"] {
        let place = Place::new(User::Current, SHORT);
        assert_eq!(signalled(&place, "trap '' INT; exec \"$@\"", signal), Some(130), "{signal}");
        place.is_clean();
    }
}

#[test]
fn a_run_works_where_sigchld_is_ignored() {
    // While SIGCHLD is ignored, the kernel discards the exit status of children.
    let place = Place::new(User::Current, SHORT);
    place.spawn_by("trap '' CHLD; exec \"$@\"", &["--nodes", "n1:2"]).succeed();
    assert_eq!(place.sizes("short/3")["result"], 5);
    place.is_clean();
}
