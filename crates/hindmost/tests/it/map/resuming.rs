//! Maps with `--out` that are resumed: what they print, and what happens when values, files or the command have changed.

use std::fs;

use super::Place;

/// Returns the arguments of a map in the folder `out`, with more options, a command and values.
fn args<'a>(more: &[&'a str], command: &'a str, values: &[&'a str]) -> Vec<&'a str> {
    [&["-k", "-j2", "--policy", "none", "--out", "out"], more, &[command, ":::"], values].concat()
}

const LOGGED: &str = "echo {} >> ran; echo {#} {}; echo e{} >&2";

#[test]
fn a_resumed_map_prints_the_output_of_all_tasks() {
    let place = Place::new();
    let script = "echo {}; [ {} != d ] || [ -e go ]";
    let values = ["a", "b", "c", "d", "e"];
    // Nobody has printed c, e and what comes after the pipe was closed.
    let first = place.map(&args(&["--halt", "now,fail=1"], script, &values));
    assert_eq!(first.code, Some(1), "{}", first.stderr);
    fs::write(place.path("go"), "").unwrap();
    for _ in 0..2 {
        let ran = place.map(&args(&["--resume"], script, &values));
        assert_eq!((ran.code, &*ran.stdout), (Some(0), "a\nb\nc\nd\ne\n"), "{}", ran.stderr);
    }
    let tagged = place.map(&args(&["--resume", "--tag"], script, &values));
    assert!(tagged.stdout.starts_with("a\ta\nb\tb\n"), "{}", tagged.stdout);
    assert!(!tagged.stderr.contains("printed"), "{}", tagged.stderr);
    // Logs that are gone or shorter are reported.
    fs::remove_file(place.path("out/.hindmost/logs/map/0.0.out")).unwrap();
    let ran = place.map(&args(&["--resume"], script, &values));
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "b\nc\nd\ne\n"));
    assert!(ran.stderr.contains("the output of 1 task that finished earlier is not printed"), "{}", ran.stderr);
}

#[test]
fn a_run_that_begins_again_prints_the_present_results() {
    let place = Place::new();
    // The first attempt of the new journal prints nothing, where that of the old one did.
    let script = "[ ! -e loud ] || echo {}; echo {} > \"$HINDMOST_OUTPUT/result\"";
    let out = |more: &[&'static str]| {
        [&["-k", "--policy", "none", "--out", "two"], more, &[script, ":::", "a", "b"]].concat()
    };
    fs::write(place.path("loud"), "").unwrap();
    assert_eq!(place.printed(&out(&[])), "a\nb\n");
    fs::remove_file(place.path("loud")).unwrap();
    fs::remove_dir_all(place.path("two/map/0")).unwrap();
    let ran = place.map(&out(&["--resume"]));
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "b\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("the result of map/0 is missing"), "{}", ran.stderr);
    assert_eq!(place.printed(&out(&["--resume"])), "b\n");
    // The attempts of the other task are in the earlier journal.
    let explained = crate::run_in(&place.path(""), &["explain", "two", "map/1"]);
    let command = "hindmost explain two/.hindmost/journal-1.jsonl map/1";
    assert!(explained.stdout.replace('\n', " ").contains(command), "{}", explained.stdout);
    let earlier = crate::run_in(&place.path(""), &["explain", "two/.hindmost/journal-1.jsonl", "map/1"]);
    assert!(earlier.stdout.contains("Attempt 0 won"), "{}{}", earlier.stdout, earlier.stderr);
}

#[test]
fn values_are_added_and_withdrawn() {
    let place = Place::new();
    assert_eq!(place.printed(&args(&[], LOGGED, &["b", "d"])), "1 b\n2 d\n");
    let ran = place.map(&args(&["--resume"], LOGGED, &["a", "b", "c"]));
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "3 a\n1 b\n4 c\n"), "{}", ran.stderr);
    for line in ["map/2 is new: a\n", "map/3 is new: c\n", "map/1: its value d is gone; its result no longer counts\n"]
    {
        assert!(ran.stderr.contains(line), "{line}: {}", ran.stderr);
    }
    let mut ran: Vec<String> = place.read("ran").lines().map(str::to_owned).collect();
    ran.sort();
    assert_eq!(ran, ["a", "b", "c", "d"]);
    // The order alone changes what is printed, not what runs.
    assert_eq!(place.printed(&args(&["--resume"], LOGGED, &["c", "b", "a"])), "4 c\n1 b\n3 a\n");
    assert_eq!(place.read("ran").lines().count(), 4);
}

#[test]
fn another_command_is_named_as_such() {
    let place = Place::new();
    place.printed(&args(&[], "echo {}", &["a"]));
    for words in ["printf '%s\\n' {}", "echo x{}"] {
        let ran = place.map(&args(&["--resume"], words, &["a", "b"]));
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""));
        assert!(ran.stderr.contains("holds results of another command"), "{}", ran.stderr);
        assert!(ran.stderr.contains("--keep-results") && !ran.stderr.contains("remove"), "{}", ran.stderr);
    }
    let quoted = place.map(&args(&["--resume", "-q"], "echo {}", &["a"]));
    assert!(quoted.stderr.contains("another command"), "{}", quoted.stderr);
    assert_eq!(place.printed(&args(&["--resume", "--keep-results"], "echo x{}", &["a", "b"])), "a\nxb\n");
    assert_eq!(place.printed(&args(&["--resume"], "echo x{}", &["a", "b"])), "a\nxb\n");
}

#[test]
fn files_that_have_changed_run_again() {
    let place = Place::new();
    fs::write(place.path("a"), "1\n").unwrap();
    fs::write(place.path("b"), "1\n").unwrap();
    assert_eq!(place.printed(&args(&[], "cat {}; echo {} >> ran", &["a", "b"])), "1\n1\n");
    fs::write(place.path("b"), "new\n").unwrap();
    let ran = place.map(&args(&["--resume", "--once"], "cat {}; echo {} >> ran", &["a", "b"]));
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "1\n1\n"), "{}", ran.stderr);
    let kept =
        "the input b of map/1 has changed (it has 4 bytes instead of 2), but its result stays, because of --once";
    assert!(ran.stderr.contains(kept), "{}", ran.stderr);
    let ran = place.map(&args(&["--resume"], "cat {}; echo {} >> ran", &["a", "b"]));
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "1\nnew\n"), "{}", ran.stderr);
    assert_eq!(place.read("ran").lines().count(), 3);
}

#[test]
fn what_a_command_does_to_its_file_is_no_change() {
    let place = Place::new();
    for name in ["a", "b"] {
        fs::write(place.path(name), "1").unwrap();
    }
    let script = "echo more >> {}; [ {} = a ] || rm {}";
    place.printed(&args(&[], script, &["a", "b"]));
    place.printed(&args(&["--resume"], script, &["a", "b"]));
    assert_eq!(place.read("a"), "1more\n");
    assert!(!place.path("b").exists());
}
