//! Options, variables and messages of `hindmost map` that differ from run to run.

use std::fs;
use std::process::Stdio;

use super::{Place, output};

#[test]
fn failed_tasks_are_no_success_if_the_reader_went_away() {
    let place = Place::new();
    for args in
        [&["-j2", "echo; exit 3", ":::", "1", "2"][..], &["--dry-run", "echo", ":::", "1"], &["--json", "echo", ":::"]]
    {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ran = place.command(args).stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!((ran.status.code(), &*String::from_utf8_lossy(&ran.stderr)), (Some(141), ""), "{args:?}");
    }
    assert!(super::is_empty(&place.path("temporary")));
}

#[test]
fn the_last_of_repeated_options_counts() {
    let place = Place::new();
    let args = ["-k", "-k", "--jobs", "4", "-j1", "--colsep", ";", "-C", ",", "echo {%} {2}", ":::", "a,b", "c,d"];
    assert_eq!(place.printed(&args), "1 b\n1 d\n");
    // A file of values is another input source each time.
    fs::write(place.path("values"), "a\n").unwrap();
    assert_eq!(place.printed(&["-a", "values", "-a", "values", "echo"]), "a a\n");
}

#[test]
fn other_spellings_of_options_mean_the_same() {
    let place = Place::new();
    for args in [
        &["--dryrun", "--keeporder"][..],
        &["--dr", "--will-cite", "--group", "--plain", "--gnu"],
        &["--dry", "--keep"],
        &["--dry-run", "-v", "--silent", "--nok"],
    ] {
        assert_eq!(place.printed(&[args, &["echo", ":::", "a"]].concat()), "echo a\n", "{args:?}");
    }
    place.printed(&["--jl", "log", "echo", ":::", "a"]);
    assert_eq!(place.read("log").lines().count(), 2);
    assert_eq!(place.printed(&["-v", "--silent", "echo", ":::", "a"]), "a\n");
}

#[test]
fn verbose_prints_commands_on_stderr() {
    let place = Place::new();
    for option in ["-t", "--verbose"] {
        let ran = place.map(&["-k", option, "--tag", "echo x{}", ":::", "a", "b"]);
        assert_eq!((&*ran.stdout, &*ran.stderr), ("a\txa\nb\txb\n", "echo xa\necho xb\n"));
    }
    let ran = place.map(&["--dry-run", "-t", "echo", ":::", "a"]);
    assert_eq!((&*ran.stdout, &*ran.stderr), ("echo a\n", "echo a\n"));
}

#[test]
fn a_job_log_that_is_cut_off_can_be_continued() {
    let place = Place::new();
    let args =
        |rest: &[&'static str]| [&["-k", "-j1", "--joblog", "log"], rest, &["echo", ":::", "a", "b", "c"]].concat();
    place.printed(&args(&[]));
    let log = place.read("log");
    let cut = log.trim_end().rfind('\n').unwrap() + 5;
    fs::write(place.path("log"), &log[..cut]).unwrap();
    let ran = place.map(&args(&["--resume"]));
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "c\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("log: the last line is cut off"), "{}", ran.stderr);
    let lines: Vec<String> = place.read("log").lines().map(str::to_owned).collect();
    assert!(lines.len() == 4 && lines[3].starts_with("3\t:\t") && lines[3].ends_with("\techo c"), "{lines:?}");
    assert_eq!(place.map(&args(&["--resume"])).stderr, "");
}

#[test]
fn a_wrong_shell_is_one_error_before_the_start() {
    let place = Place::new();
    let mut command = place.command(&["touch {}", ":::", "a", "b"]);
    command.env("PARALLEL_SHELL", "/nosuch");
    let ran = output(command, b"");
    assert_eq!((ran.code, &*ran.stdout, ran.stderr.lines().count()), (Some(2), "", 1), "{}", ran.stderr);
    assert!(ran.stderr.contains("PARALLEL_SHELL") && ran.stderr.contains("/nosuch"), "{}", ran.stderr);
}

#[test]
fn options_in_a_variable_are_not_used() {
    let place = Place::new();
    let mut command = place.command(&["echo", ":::", "a"]);
    command.env("PARALLEL", "--tag");
    let ran = output(command, b"");
    assert_eq!((ran.code, &*ran.stdout, ran.stderr.lines().count()), (Some(0), "a\n", 1), "{}", ran.stderr);
    assert!(ran.stderr.contains("$PARALLEL"), "{}", ran.stderr);
}

#[test]
fn commands_know_the_process_that_runs_them() {
    let place = Place::new();
    let mut child = place.command(&["echo $PARALLEL_PID", ":::", "a"]);
    let child = child.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let id = child.id();
    let ran = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.stdout), format!("{id} a\n"));
}

#[test]
fn patterns_that_match_nothing_are_explained() {
    let place = Place::new();
    let ran = place.map(&["--colsep", "|", "echo {1}-{2}", ":::", "a|b"]);
    assert_eq!(&*ran.stdout, "a-|\n");
    assert!(ran.stderr.contains("empty text"), "{}", ran.stderr);
}
