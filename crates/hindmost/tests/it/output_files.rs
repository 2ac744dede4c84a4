//! Standard output that becomes files: `--output` of a map and the key `output` of a phase.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::Value;

use crate::run::{Job, document};
use crate::scene::until;
use crate::{Ran, run_in};

/// Eight files, in a folder of their own.
fn texts() -> Job {
    let job = Job::new("");
    for number in 1..=8 {
        job.write(&format!("a {number}.txt"), &format!("text {number}\n"));
    }
    job
}

/// Runs `hindmost map -j 4` over the eight files.
fn map(job: &Job, args: &[&str]) -> Ran {
    let files: Vec<String> = (1..=8).map(|number| format!("a {number}.txt")).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    run_in(job.path(), &[&["map", "-j", "4"], args, &[":::"], &files].concat())
}

/// Returns the names in a job's folder that are not those of its files or of a run.
fn made(job: &Job) -> Vec<String> {
    let known = |name: &String| name == "job.toml" || name == "out" || name.starts_with("a ") && name.contains(".txt");
    let mut names = job.names(".");
    names.retain(|name| !known(name));
    names
}

#[test]
fn standard_output_becomes_a_file_and_is_not_printed() {
    let job = texts();
    let ran = map(&job, &["--output", "up/{/.}.{#}", "--joblog", "log", "tr a-z A-Z < {}; echo said >&2"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{}", ran.stderr);
    assert_eq!(ran.stderr, "said\n".repeat(8), "no line about copies: the command names no file for writing");
    for number in 1..=8 {
        assert_eq!(job.read(&format!("up/a {number}.{number}")), format!("TEXT {number}\n"));
    }
    assert_eq!((job.names("up").len(), made(&job)), (8, vec!["log".to_owned(), "up".to_owned()]));
    let received: Vec<String> =
        job.read("log").lines().skip(1).map(|line| line.split('\t').nth(5).unwrap().to_owned()).collect();
    assert_eq!(received, ["7"; 8]);
    // The rights are those that a file of the user has.
    job.write("plain", "");
    let rights = |name: &str| fs::metadata(job.path().join(name)).unwrap().permissions().mode();
    assert_eq!(rights("up/a 1.1"), rights("plain"));
}

#[test]
fn copies_write_one_file_at_a_time_and_the_winner_is_placed() {
    let job = texts();
    // The first attempt of a task writes half, and goes on only once a copy has won.
    let command = "echo half; if [ {#}$HINDMOST_ATTEMPT = 40 ]; then until test -e copied; do sleep 0.05; done; fi; \
                   [ $HINDMOST_ATTEMPT = 0 ] || touch copied; echo $HINDMOST_ATTEMPT; cat {}";
    let ran = map(&job, &["--json", "--output", "{.}.up", command]);
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(ran.code == Some(0) && result["copies"]["launched"].as_u64() >= Some(1), "{result}{}", ran.stderr);
    for number in 1..=8 {
        let text = job.read(&format!("a {number}.up"));
        let lines: Vec<&str> = text.lines().collect();
        let of_one = matches!(lines[..], ["half", attempt, last] if attempt.parse::<u32>().is_ok() && last == format!("text {number}"));
        assert!(of_one, "{text}");
    }
}

#[test]
fn nothing_that_a_task_has_not_made_is_replaced() {
    let job = texts();
    fs::write(job.path().join("a 5.up"), "precious").unwrap();
    for out in [&[][..], &["--out", "out"]] {
        let ran = map(&job, &[out, &["--output", "{.}.up", "cat {}"]].concat());
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains("a 5.up exists, and task 5 has not made it") && ran.stderr.contains("--overwrite"));
        assert_eq!((job.read("a 5.up"), made(&job)), ("precious".to_owned(), vec!["a 5.up".to_owned()]));
        assert!(!job.has("out"), "the user corrects the command and begins anew");
    }
    let ran = map(&job, &["--output", "{.}.up", "--overwrite", "cat {}"]);
    assert_eq!((ran.code, job.read("a 5.up")), (Some(0), "text 5\n".to_owned()), "{}", ran.stderr);
    // A file that appears while the task runs is found too.
    let ran = map(&job, &["--output", "{.}.late", "cat {}; echo other > {.}.late"]);
    assert_eq!(ran.code, Some(8), "{}", ran.stderr);
    assert_eq!(job.read("a 1.late"), "other\n");
    assert!(!made(&job).iter().any(|name| name.contains(".part")), "{:?}", made(&job));
    // What is no regular file is never replaced.
    fs::create_dir(job.path().join("folder")).unwrap();
    let ran = run_in(job.path(), &["map", "--output", "{}er", "--overwrite", "echo", ":::", "fold"]);
    assert!(ran.code == Some(1) && job.path().join("folder").is_dir(), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("folder is not a regular file") && ran.stdout.is_empty(),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
}

#[test]
fn outputs_that_are_no_files_of_their_own_are_refused_before_anything_runs() {
    let job = texts();
    for (output, why) in [
        ("all", "task 1 and task 2 have the same output"),
        ("{//}/x", "the same output"),
        ("up/", "is not the path of a file"),
        ("{%}", "{#}"),
        ("{}/..", "is not the path of a file"),
        ("{}", "is its own input"),
    ] {
        let ran = map(&job, &["--output", output, "touch ran; cat {}"]);
        assert!(ran.code == Some(2) && ran.stderr.contains(why), "{output}: {}", ran.stderr);
    }
    assert_eq!(made(&job), Vec::<String>::new());
}

#[test]
fn a_failing_task_leaves_no_file() {
    let job = texts();
    let ran = map(&job, &["--output", "{.}.up", "echo part; test {#} != 3"]);
    assert_eq!((ran.code, made(&job).len(), job.has("a 3.up")), (Some(1), 7, false), "{}", ran.stderr);
}

const JOB: &str = r#"
[[phase]]
name = "count"
inputs = "in/*.txt"
matrix = { unit = ["w", "c"] }
command = 'echo $HINDMOST_TASK >> started; wc -$unit < "$HINDMOST_INPUT"'
output = "{.}.{unit}"

[[phase]]
name = "sum"
after = ["count"]
tasks = 2
command = 'echo $HINDMOST_TASK >> started; cat in/*.w; echo {}'
output = "sum/{#}"
"#;

#[test]
fn outputs_are_not_in_the_folder_of_the_run() {
    let job = texts();
    for output in ["out/map/{#}", "out/{/}", "./out/../out/.hindmost/{/}"] {
        let ran = map(&job, &["--out", "out", "--output", output, "cat {}"]);
        assert!(ran.code == Some(2) && ran.stderr.contains("is in the run's own folder"), "{output}: {}", ran.stderr);
    }
    assert_eq!(map(&job, &["--out", "out", "--output", "outer/{/}", "cat {}"]).code, Some(0));
}

#[test]
fn one_file_by_two_names_is_refused() {
    let job = Job::new("");
    fs::create_dir(job.path().join("real")).unwrap();
    std::os::unix::fs::symlink("real", job.path().join("link")).unwrap();
    let ran = run_in(job.path(), &["map", "--output", "{}.up", "echo", ":::", "real/x", "link/x", "real/../real/x"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("have the same output"), "{}", ran.stderr);
}

/// A job of six tasks with their inputs.
fn job() -> Job {
    let job = Job::new(JOB);
    fs::create_dir(job.path().join("in")).unwrap();
    job.write("in/a.txt", "one two\n");
    job.write("in/b.txt", "three\n");
    job
}

#[test]
fn phases_of_a_job_have_output_files_by_input_and_variable() {
    let job = job();
    job.done(&["--out", "out"]);
    assert_eq!(job.names("in"), ["a.c", "a.txt", "a.w", "b.c", "b.txt", "b.w"]);
    let read = |name: &str| job.read(name).trim().to_owned();
    assert_eq!(["in/a.w", "in/a.c", "in/b.w", "in/b.c"].map(read), ["2", "8", "1", "6"]);
    assert_eq!(job.read("sum/1").split_whitespace().collect::<Vec<_>>(), ["2", "1", "{}"]);
    assert_eq!(run_in(job.path(), &["verify", "out"]).code, Some(0));
    job.write("job.toml", &JOB.replace("echo $HINDMOST_TASK >> started; ", ""));
    let plan = document(&job.run(&["--check", "--json", "--out", "new", "--overwrite"]));
    assert_eq!((&plan["phases"][0]["output"], &plan["phases"][0]["copies"]), (&"{.}.{unit}".into(), &true.into()));
    assert!(job.run(&["--check", "--out", "new"]).stdout.contains("  output     sum/{#}\n"));
}

#[test]
fn a_resumed_run_knows_its_output_files() {
    let job = job();
    job.done(&["--out", "out"]);
    assert_eq!(job.lines("started"), 6);
    job.done(&["--out", "out", "--resume"]);
    assert_eq!(job.lines("started"), 6, "nothing runs again");
    // Files that are gone are made again, with what depends on them.
    fs::remove_file(job.path().join("in/b.c")).unwrap();
    job.done(&["--out", "out", "--resume"]);
    assert_eq!((job.lines("started"), job.read("in/b.c").trim()), (9, "6"));
    // The task's own file is replaced.
    job.done(&["--out", "out", "--redo", "sum"]);
    assert_eq!(job.lines("started"), 11);
    // What the user has changed is the user's.
    std::thread::sleep(Duration::from_millis(20));
    job.write("in/a.c", "mine");
    let ran = job.run(&["--out", "out", "--resume"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("count/1 has not made it as it is now"), "{}", ran.stderr);
    assert_eq!((job.read("in/a.c"), job.lines("started")), ("mine".to_owned(), 11));
    job.done(&["--out", "out", "--resume", "--overwrite"]);
    assert_eq!((job.read("in/a.c").trim(), job.lines("started")), ("8", 14));
    // Another output is another job's work: the earlier file stays.
    job.write("job.toml", &JOB.replace("sum/{#}", "total/{#}"));
    job.done(&["--out", "out", "--redo", "sum"]);
    assert!(job.has("sum/1") && job.has("total/1"));
}

#[test]
fn a_killed_run_leaves_whole_files_or_none() {
    let job = Job::new(
        "[[phase]]\nname = 'p'\ntasks = 60\nretries = 5\n\
         command = 'head -c 100000 /dev/zero | tr \"\\\\0\" x; echo $HINDMOST_TASK'\noutput = 'made/{#}'\n",
    );
    let mut args = vec!["--out", "out", "--nodes", "n1:4"];
    for round in 1..=5 {
        let live = job.start(&args);
        until("some files are there", || job.path().join("made").is_dir() && job.names("made").len() >= round * 8);
        live.signal("KILL");
        live.wait();
        for name in job.names("made") {
            assert!(name.starts_with(".hindmost-") || job.read(&format!("made/{name}")).len() > 100_000, "{name}");
        }
        args = vec!["--out", "out", "--resume"];
    }
    job.done(&args);
    let mut expected: Vec<String> = (0..60).map(|number| number.to_string()).collect();
    expected.sort();
    assert_eq!(job.names("made"), expected);
    for name in expected {
        assert!(job.read(&format!("made/{name}")).ends_with(&format!("x{name}\n")));
    }
}

#[test]
fn outputs_on_another_file_system_are_copied() {
    let there = tempfile::tempdir_in("/dev/shm");
    let Ok(there) = there else { return hindmost_testing::left_out("there is no /dev/shm") };
    let job = texts();
    let output = format!("{}/{{/.}}", there.path().display());
    let ran = map(&job, &["--output", &output, "--out", "out", "cat {}"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let names = || {
        let mut names: Vec<_> = fs::read_dir(there.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!((names().len(), names()[0].to_str()), (8, Some("a 1")));
    assert_eq!(fs::read_to_string(there.path().join("a 8")).unwrap(), "text 8\n");
    let ran = map(&job, &["--output", &output, "--out", "out", "--resume", "cat {}"]);
    assert_eq!((ran.code, names().len()), (Some(0), 8), "{}", ran.stderr);
}

#[test]
fn a_dry_run_shows_the_files() {
    let job = Job::new("");
    let ran = run_in(job.path(), &["map", "--dry-run", "--output", "up/{.}.gz", "gzip -c", ":::", "a.txt", "b c.txt"]);
    assert_eq!(ran.stdout, "gzip -c a.txt > up/a.gz\ngzip -c 'b c.txt' > 'up/b c.gz'\n");
    let refused =
        run_in(job.path(), &["map", "--dry-run", "--output", "{name}.gz", "gzip -c", ":::", "a.txt", "b.txt"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("{name} is no replacement string here"), "{}", refused.stderr);
}

#[test]
fn two_jobs_of_a_run_have_no_output_file_in_common() {
    let phase = "[[phase]]\nname = 'p'\ntasks = 1\ncommand = 'echo'\noutput = 'same'\n";
    let job = Job::new(phase);
    job.write("other.toml", phase);
    let refused = run_in(job.path(), &["run", "job.toml", "other.toml"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("jobs \"job\" and \"other\" have the same output"), "{}", refused.stderr);
    assert!(!job.has("same"));
}
