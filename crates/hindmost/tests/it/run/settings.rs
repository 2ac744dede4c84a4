//! Tests of jobs with failed tasks, delays, values of a matrix, shells and the table of results.

use super::Job;

/// Five tasks, of which two fail, and a phase that uses their results.
const SOME_FAIL: &str = r#"
name = "some"
[defaults]
retries = 1
[[phase]]
name = "map"
matrix = { lr = [0.1, 0.01], seed = [1, 2, 3] }
command = '''
echo "lr $lr seed $seed"
[ "$seed" != 2 ] || [ -f fixed ] || { seq 20; echo "no seed $seed" >&2; exit 7; }
echo "$lr $seed" > "$HINDMOST_OUTPUT/value"
'''
[[phase]]
name = "sum"
after = ["map"]
tasks = 1
command = 'cat "$HINDMOST_FROM"/map/*/value | sort > "$HINDMOST_OUTPUT/values"'
"#;

#[test]
fn failures_name_values_command_outputs_and_logs() {
    let job = Job::new(SOME_FAIL);
    let ran = job.run(&["--keep-going", "--policy", "none"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    for part in [
        "Tasks that failed permanently (2):",
        "map/1: failed 2 times; last error: exit code 7",
        "values:  lr=0.1 seed=2",
        "command: echo \"lr $lr seed $seed\"",
        "no seed 2",
        ".hindmost/logs/map/1.1.err",
        ".hindmost/logs/map/4.1.out",
        "Shell of the commands:",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    // The last ten lines of the output.
    assert!(ran.stdout.contains("\n      11\n") && !ran.stdout.contains("\n      10\n"), "{}", ran.stdout);
    assert!(!job.has("some.out/sum/0"));
    let page = job.read("some.out/report.html");
    assert!(page.contains("lr=0.01 seed=2") && page.contains("no seed 2") && page.contains("map/4.1.err"));
    let failed = job.json(&["--resume", "--keep-going"], 1);
    let task = &failed["failed_tasks"][1];
    assert_eq!((&task["phase"], &task["task"]), (&"map".into(), &4.into()));
    assert_eq!(task["matrix"], serde_json::json!({"lr": "0.01", "seed": "2"}));
    assert_eq!((&task["exit_code"], &task["signal"], &task["input"]), (&7.into(), &().into(), &().into()));
    assert!(task["stdout"].as_str().unwrap().ends_with("19\n20") && task["stderr"] == "no seed 2", "{task}");
    let explained = crate::run_in(job.path(), &["explain", "some.out", "map/4"]).stdout;
    assert!(explained.contains("the task has failed permanently; the rest of the job goes on"), "{explained}");
    assert!(explained.contains("values:  lr=0.01 seed=2") && explained.contains("no seed 2"), "{explained}");
    assert_eq!(crate::run_in(job.path(), &["verify", "some.out"]).code, Some(0));
}

#[test]
fn allowed_failures_end_with_a_done_job_and_a_table_of_results() {
    let job = Job::new(SOME_FAIL);
    let summary = job.json(&["--allow-failures", "40%"], 0);
    assert_eq!((&summary["state"], summary["failed_tasks"].as_array().unwrap().len()), (&"done".into(), 2));
    assert_eq!(job.lines("some.out/sum/0/values"), 4);
    let table = job.read("some.out/results.tsv");
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows[0], ["phase", "task", "input", "lr", "seed", "folder", "attempts", "seconds", "state"]);
    assert_eq!(rows.len(), 8);
    assert_eq!((&rows[1][..7], rows[1][8]), (&["map", "0", "", "0.1", "1", "map/0", "1"][..], "done"));
    assert_eq!(rows[2], ["map", "1", "", "0.1", "2", "", "2", "", "failed"]);
    assert_eq!((&rows[7][..7], rows[7][8]), (&["sum", "0", "", "", "", "sum/0", "1"][..], "done"));
    assert!(rows[1][7].parse::<f64>().unwrap() >= 0.0);
    // The failed tasks stay failed, unless the user wants otherwise.
    let same = job.done(&["--resume", "--allow-failures", "40%"]);
    assert!(same.stderr.contains("2 tasks stay failed; --retry-failed tries them again\n"), "{}", same.stderr);
    job.write("fixed", "");
    let again = job.json(&["--resume", "--retry-failed"], 0);
    assert!(again["failed_tasks"].as_array().unwrap().is_empty(), "{again}");
    assert_eq!(job.lines("some.out/sum/0/values"), 6);
    let table = job.read("some.out/results.tsv");
    assert!(!table.contains("failed") && table.contains("\tmap/1\t1\t"), "{table}");
    assert_eq!(crate::run_in(job.path(), &["verify", "some.out"]).code, Some(0));
}

#[test]
fn failures_that_a_phase_allows_are_no_reason() {
    let job = Job::new(
        "[defaults]\nretries = 0\n[[phase]]\nname = \"map\"\ntasks = 3\nallowed_failures = 1\nkeep_going = true\n\
         command = 'test $HINDMOST_TASK != 1'\n\
         [[phase]]\nname = \"sum\"\nafter = [\"map\"]\ntasks = 1\ncommand = 'false'\n",
    );
    let ran = job.run(&[]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("error: the job failed: sum/0; "), "{}", ran.stderr);
}

#[test]
fn a_phase_called_as_the_table_keeps_its_results() {
    let text = "[[phase]]\nname = \"results.tsv\"\ninputs = \"in/*\"\ncommand = 'cat \"$HINDMOST_INPUT\" > \"$HINDMOST_OUTPUT/x\"'";
    let job = Job::new(text);
    std::fs::create_dir(job.path().join("in")).unwrap();
    job.write("in/a\tb\nc", "text");
    job.done(&[]);
    assert_eq!(job.read("job.out/results.tsv/0/x"), "text");
    let table = job.read("job.out/.hindmost/results.tsv");
    assert!(table.lines().count() == 2 && table.contains("/in/a\\tb\\nc\tresults.tsv/0\t1\t"), "{table}");
}

#[test]
fn a_failed_task_waits_and_others_go_on() {
    let job = Job::new(
        r#"
nodes = "n1:1"
[[phase]]
name = "map"
tasks = 3
retries = 3
retry_delay = "200ms"
command = '''
echo "$HINDMOST_TASK" >> order
[ "$HINDMOST_TASK" != 0 ] || [ "$HINDMOST_ATTEMPT" -ge 2 ] || exit 1
'''
"#,
    );
    let summary = job.json(&["--policy", "none"], 0);
    let order = job.read("order");
    let order: Vec<&str> = order.lines().collect();
    assert_eq!((order.len(), &order[..2]), (5, &["0", "1"][..]));
    // The first delay is 200 ms and the second one 400 ms.
    assert!(summary["flowtime"].as_f64().unwrap() >= 0.6, "{summary}");
    let explained = crate::run_in(job.path(), &["explain", "job.out", "map/0"]).stdout;
    assert_eq!(explained.matches("the task is tried again at").count(), 2, "{explained}");
    assert_eq!(crate::run_in(job.path(), &["verify", "job.out"]).code, Some(0));
}

#[test]
fn a_shell_is_chosen_and_a_failure_in_a_pipeline_counts() {
    if std::process::Command::new("bash").arg("--version").output().is_err() {
        return;
    }
    let text = |keys: &str, command: &str| {
        format!("[defaults]\nretries = 0\n[[phase]]\nname = \"p\"\ntasks = 1\n{keys}\ncommand = '{command}'")
    };
    for command in ["false | cat", "false; true", "echo \"$not_set\""] {
        let summary = Job::new(&text("", command)).json(&[], 1);
        assert_eq!(summary["shell"], "bash -euo pipefail -c", "{command}");
        Job::new(&text("shell = [\"sh\", \"-c\"]", command)).done(&[]);
    }
    let quoted = Job::new(&text("shell = [\"bash\", \"-c\"]", "[[ a == a ]] && exit 5"));
    assert_eq!(quoted.json(&[], 1)["failed_tasks"][0]["exit_code"], 5);
    let checked = Job::new(&text("", "true")).done(&["--check"]).stdout;
    assert!(checked.contains("shell bash -euo pipefail -c"), "{checked}");
}

#[test]
fn a_run_of_an_earlier_version_continues_with_its_shell() {
    if std::process::Command::new("bash").arg("--version").output().is_err() {
        return;
    }
    // Task 0 succeeds in `sh -c` only.
    let text =
        "[[phase]]\nname = \"p\"\ntasks = 2\nretries = 0\ncommand = 'false | cat; echo \"$HINDMOST_TASK\" >> log'";
    let job = Job::new(text);
    let begun = job.json(&["--keep-going"], 1);
    let mut record: serde_json::Value = serde_json::from_str(&job.read("job.out/.hindmost/job.json")).unwrap();
    assert_eq!(begun["failed_tasks"].as_array().unwrap().len(), 2);
    // The record of an earlier version names no shell.
    assert!(record.as_object_mut().unwrap().remove("shell").is_some());
    job.write("job.out/.hindmost/job.json", &record.to_string());
    let summary = job.json(&["--resume"], 0);
    assert_eq!(summary["shell"], "sh -c");
    assert_eq!(job.lines("log"), 2);
    // A phase that names its shell has another command than before.
    job.write("job.toml", &text.replace("tasks = 2", "tasks = 2\nshell = [\"bash\", \"-c\"]"));
    let refused = job.run(&["--resume"]);
    assert_eq!(refused.code, Some(2), "{}{}", refused.stdout, refused.stderr);
}
