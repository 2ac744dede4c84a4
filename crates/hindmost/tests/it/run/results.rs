//! The results, output and files of runs.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;

use super::{Job, document, is_running, wait_for};
use crate::{hindmost, run_in};

/// Returns the variables that a command has written with `env -0`.
fn variables(file: PathBuf) -> BTreeMap<String, Vec<u8>> {
    let bytes = fs::read(file).unwrap();
    let entries = bytes.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    entries
        .map(|entry| {
            let at = entry.iter().position(|byte| *byte == b'=').unwrap();
            (String::from_utf8(entry[..at].to_vec()).unwrap(), entry[at + 1..].to_vec())
        })
        .collect()
}

const TWO_PHASES: &str = r#"
name = "two"

[[phase]]
name = "map"
tasks = 3
command = 'echo "$HINDMOST_TASK" > "$HINDMOST_OUTPUT/n"'

[[phase]]
name = "sum"
after = ["map"]
tasks = 1
command = 'cat "$HINDMOST_FROM"/map/*/n > "$HINDMOST_OUTPUT/all"'
"#;

#[test]
fn results_are_where_the_documentation_says() {
    let job = Job::new(TWO_PHASES);
    let ran = job.done(&[]);
    assert_eq!(job.names("."), ["job.toml", "two.out"]);
    assert_eq!(job.names("two.out"), [".hindmost", "map", "report.html", "results.tsv", "sum"]);
    assert_eq!(job.names("two.out/map"), ["0", "1", "2"]);
    assert_eq!(job.read("two.out/map/2/n"), "2\n");
    assert_eq!(job.read("two.out/sum/0/all"), "0\n1\n2\n");
    assert!(job.has("two.out/.hindmost/journal.jsonl"));
    assert_eq!(job.names("two.out/.hindmost/attempts"), [""; 0]);
    assert_eq!(ran.stderr, "");
    let first = ran.stdout.lines().next().unwrap();
    assert!(first.starts_with("two: done in "), "{}", ran.stdout);
    assert!(ran.stdout.contains("two.out"), "{}", ran.stdout);
}

#[test]
fn job_paths_start_at_the_job_file_and_out_at_the_cwd() {
    let job = Job::new(&TWO_PHASES.replace("tasks = 3", "inputs = \"in put/*\""));
    fs::create_dir(job.path().join("in put")).unwrap();
    job.write("in put/a b", "");
    fs::create_dir(job.path().join("elsewhere")).unwrap();
    let elsewhere = job.path().join("elsewhere");
    let ran = run_in(&elsewhere, &["run", "../job.toml", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(job.has("two.out/sum/0/all"));
    let ran = run_in(&elsewhere, &["run", "../job.toml", "--json", "--out", "here/and here"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(job.has("elsewhere/here/and here/sum/0/all"));
}

#[test]
fn json_has_the_keys_that_programs_read() {
    let job = Job::new(TWO_PHASES);
    let ran = job.done(&["--json", "--policy", "none"]);
    assert_eq!(ran.stderr, "");
    let result = document(&ran);
    for (key, expected) in [
        ("job", Value::from("two")),
        ("state", "done".into()),
        ("tasks", 4.into()),
        ("attempts", 4.into()),
        ("copies", serde_json::json!({"launched": 0, "won": 0, "wasted_share": 0.0})),
        ("failed_tasks", Value::Array(Vec::new())),
    ] {
        assert_eq!(result[key], expected, "{key}");
    }
    assert!(result["flowtime"].as_f64().unwrap() > 0.0);
    let phases = result["phases"].as_array().unwrap();
    assert_eq!(phases.iter().map(|phase| &phase["name"]).collect::<Vec<_>>(), ["map", "sum"]);
    assert_eq!(phases.iter().map(|phase| &phase["tasks"]).collect::<Vec<_>>(), [3, 1]);
}

#[test]
fn a_check_runs_nothing() {
    let job = Job::new(TWO_PHASES);
    let text = job.done(&["--check"]).stdout;
    for part in ["job two: 4 tasks in 2 phases", "map: 3 tasks", "sum: 1 task, after map", "$HINDMOST_TASK"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let plan = job.json(&["--check"], 0);
    assert_eq!((&plan["job"], &plan["tasks"]), (&"two".into(), &4.into()));
    assert_eq!(plan["phases"][1]["after"], serde_json::json!(["map"]));
    assert_eq!(plan["phases"][0]["tasks"], 3);
    assert_eq!(job.names("."), ["job.toml"]);
}

#[test]
fn the_schema_equals_the_published_one() {
    let printed = crate::json(&["run", "--schema"]);
    let written = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/job.schema.json");
    let written: Value = serde_json::from_str(&fs::read_to_string(written).unwrap()).unwrap();
    assert_eq!(printed, written);
}

#[test]
fn commands_get_the_documented_variables() {
    let job = Job::new(
        r#"
name = "variables"
environment = { WHOSE = "job's", ODD = "two\nlines \"in quotes\" and $HOME" }

[[phase]]
name = "of files"
inputs = "in/*"
command = '''
ls -A "$HINDMOST_OUTPUT" > ls-"$HINDMOST_TASK"
pwd > "$HINDMOST_OUTPUT/pwd"
echo 0.5 >> "$HINDMOST_PROGRESS"
cat "$HINDMOST_INPUT" > "$HINDMOST_OUTPUT/input"
cat > "$HINDMOST_OUTPUT/stdin"
env -0 > "$HINDMOST_OUTPUT/env"
'''

[[phase]]
name = "of tasks"
after = ["of files"]
tasks = 2
environment = { WHOSE = "phase's" }
directory = "in"
command = 'pwd > "$HINDMOST_OUTPUT/pwd"; env -0 > "$HINDMOST_OUTPUT/env"'
"#,
    );
    let folder = fs::canonicalize(job.path()).unwrap();
    let inputs = folder.join("in");
    fs::create_dir(&inputs).unwrap();
    let mut names: Vec<&[u8]> = vec![
        b"plain",
        b"with space",
        b"new\nline",
        b"'quo'\"ted\"",
        b"$HOME",
        b"*",
        b"-n",
        b"back\\slash",
        "ü".as_bytes(),
        b"no\xfftext",
    ];
    names.sort_unstable();
    for name in &names {
        fs::write(inputs.join(OsStr::from_bytes(name)), [b"input ", *name].concat()).unwrap();
    }
    fs::write(inputs.join(".hidden"), "").unwrap();
    fs::create_dir(inputs.join("folder")).unwrap();

    // If a run is started by a task of another run, its tasks do not get the variables of the outer run.
    let mut command = hindmost();
    command.current_dir(job.path()).args(["run", "job.toml", "--nodes", "n1:2,n2:2", "--policy", "none"]);
    command.env("HINDMOST_INPUT", "theirs").env("HINDMOST_TASK", "77").env("INHERITED", "too");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let out = folder.join("variables.out");
    let check = |phase: &str, task: usize, input: Option<&[u8]>| {
        let result = out.join(phase).join(task.to_string());
        let seen = variables(result.join("env"));
        let text = |name: &str| String::from_utf8(seen[name].clone()).unwrap();
        assert_eq!(text("HINDMOST_TASK"), task.to_string());
        assert_eq!(text("HINDMOST_TASKS"), if input.is_some() { names.len() } else { 2 }.to_string());
        assert_eq!(text("HINDMOST_ATTEMPT"), "0");
        assert!(["n1", "n2"].contains(&text("HINDMOST_NODE").as_str()));
        assert_eq!(PathBuf::from(text("HINDMOST_FROM")), out);
        let own = PathBuf::from(text("HINDMOST_OUTPUT"));
        assert!(own.is_absolute() && own.starts_with(&out) && !own.exists(), "{}", own.display());
        assert!(Path::new(&text("HINDMOST_PROGRESS")).is_absolute());
        assert_eq!(text("INHERITED"), "too");
        assert_eq!(text("ODD"), "two\nlines \"in quotes\" and $HOME");
        assert_eq!(text("WHOSE"), if input.is_some() { "job's" } else { "phase's" });
        let directory = if input.is_some() { &folder } else { &inputs };
        assert_eq!(fs::read_to_string(result.join("pwd")).unwrap(), format!("{}\n", directory.display()));
        match input {
            Some(name) => {
                let path = inputs.join(OsStr::from_bytes(name));
                assert_eq!(seen["HINDMOST_INPUT"], path.into_os_string().into_vec());
                assert_eq!(fs::read(result.join("input")).unwrap(), [b"input ", name].concat());
                assert_eq!(fs::read(result.join("stdin")).unwrap(), b"");
                assert_eq!(job.read(&format!("ls-{task}")), "");
            }
            None => assert_eq!(seen.get("HINDMOST_INPUT"), None),
        }
    };
    for (task, name) in names.iter().enumerate() {
        check("of files", task, Some(name));
    }
    check("of tasks", 0, None);
    check("of tasks", 1, None);
    assert_eq!(job.names("variables.out/of files").len(), names.len());
}

#[test]
fn a_node_runs_as_many_tasks_at_once_as_it_has_cpus() {
    let job = Job::new(
        r#"
[[phase]]
name = "meet"
tasks = 4
command = '''
touch here-$HINDMOST_TASK
while [ "$(ls here-* | wc -l)" -lt 4 ]; do sleep 0.02; done
echo "$HINDMOST_NODE" > "$HINDMOST_OUTPUT/node"
'''

[[phase]]
name = "half"
after = ["meet"]
tasks = 4
cpus = 0.5
command = 'echo "$HINDMOST_NODE" > "$HINDMOST_OUTPUT/node"'

[[phase]]
name = "large"
after = ["meet"]
tasks = 2
memory = "3GB"
command = 'echo "$HINDMOST_NODE" > "$HINDMOST_OUTPUT/node"'
"#,
    );
    job.done(&["--nodes", "n1:2:4GB, n2:2:2GB", "--policy", "none"]);
    let nodes = |phase: &str, tasks: usize| {
        let mut nodes: Vec<String> =
            (0..tasks).map(|task| job.read(&format!("job.out/{phase}/{task}/node")).trim().to_owned()).collect();
        nodes.sort();
        nodes
    };
    assert_eq!(nodes("meet", 4), ["n1", "n1", "n2", "n2"]);
    assert_eq!(nodes("large", 2), ["n1", "n1"]);
    assert_eq!(nodes("half", 4).len(), 4);
}

#[test]
fn phases_may_stand_in_any_order() {
    let job = Job::new(
        r#"
name = "order"
[[phase]]
name = "last"
after = ["left", "right"]
tasks = 1
command = 'cat "$HINDMOST_FROM"/left/0/x "$HINDMOST_FROM"/right/*/x > "$HINDMOST_OUTPUT/x"'
[[phase]]
name = "right"
after = ["first"]
tasks = 2
command = 'echo "right $(cat "$HINDMOST_FROM/first/0/x")" > "$HINDMOST_OUTPUT/x"'
[[phase]]
name = "left"
after = ["first"]
tasks = 1
command = 'echo "left $(cat "$HINDMOST_FROM/first/0/x")" > "$HINDMOST_OUTPUT/x"'
[[phase]]
name = "first"
tasks = 1
command = 'echo begun > "$HINDMOST_OUTPUT/x"'
"#,
    );
    let result = job.json(&[], 0);
    assert_eq!(job.read("order.out/last/0/x"), "left begun\nright begun\nright begun\n");
    assert_eq!(result["phases"].as_array().unwrap().len(), 4);
}

#[test]
fn the_output_of_commands_is_kept_in_logs() {
    let job = Job::new(
        r#"
[[phase]]
name = "loud"
tasks = 2
command = 'echo said-aloud; echo said-in-anger >&2; [ "$HINDMOST_TASK" = 0 ] || exit 0; printf "%100000s" x'
[[phase]]
name = "silent"
tasks = 1
command = 'true'
"#,
    );
    for args in [&[][..], &["--resume", "--json"]] {
        let ran = job.done(args);
        assert!(!ran.stdout.contains("said-") && !ran.stderr.contains("said-"), "{}{}", ran.stdout, ran.stderr);
    }
    assert_eq!(job.read("job.out/.hindmost/logs/loud/1.0.out"), "said-aloud\n");
    assert_eq!(job.read("job.out/.hindmost/logs/loud/1.0.err"), "said-in-anger\n");
    assert_eq!(job.read("job.out/.hindmost/logs/loud/0.0.out").len(), "said-aloud\n".len() + 100_000);
    assert_eq!(job.names("job.out/loud/0"), [""; 0]);
}

#[test]
fn a_failed_task_is_tried_again_on_another_node() {
    let job = Job::new(
        r#"
[[phase]]
name = "unlucky"
tasks = 1
retries = 1
command = '''
echo "$HINDMOST_NODE" > node-$HINDMOST_ATTEMPT
[ "$HINDMOST_ATTEMPT" = 1 ]
'''
"#,
    );
    let result = job.json(&["--nodes", "n1:1,n2:1"], 0);
    assert_eq!((&result["attempts"], &result["copies"]["launched"]), (&2.into(), &0.into()));
    assert_ne!(job.read("node-0"), job.read("node-1"));
}

#[test]
fn a_task_that_takes_too_long_is_killed_and_tried_again() {
    let job = Job::new(
        r#"
[[phase]]
name = "stuck"
tasks = 2
retries = 5
time_limit = "1s"
command = '''
if [ "$HINDMOST_TASK$HINDMOST_ATTEMPT" = 10 ]; then
    sleep 1000 &
    echo $! > pid
    touch "$HINDMOST_OUTPUT/half"
    wait
fi
touch "$HINDMOST_OUTPUT/whole"
'''
"#,
    );
    let ran = job.done(&["--policy", "none"]);
    assert!(ran.stderr.contains("stuck/1 attempt 0: took longer than its time limit of 1 s"), "{}", ran.stderr);
    assert_eq!(job.names("job.out/stuck/1"), ["whole"]);
    wait_for("the end of the child process", || !is_running(job.read("pid").trim()));

    let never =
        Job::new("[[phase]]\nname = \"a\"\ntasks = 1\nretries = 0\ntime_limit = 0.5\ncommand = \"sleep 1000\"\n");
    let failed = never.json(&[], 1);
    let reason = failed["failed_tasks"][0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("time limit of 0.5 s"), "{reason}");
}

#[test]
fn tasks_that_are_not_idempotent_run_once() {
    let text = r#"
[[phase]]
name = "mail"
tasks = 3
idempotent = false
command = '''
mkdir at-work-$HINDMOST_TASK || echo twice >> twice
echo sent >> sent-$HINDMOST_TASK
sleep 0.3
rmdir at-work-$HINDMOST_TASK
[ "$HINDMOST_TASK" != 1 ] || exit 1
'''
"#;
    let job = Job::new(text);
    // This policy would clone every task from the start.
    let failed = job.json(&["--policy", "sca", "--nodes", "n1:8"], 1);
    assert_eq!(failed["copies"]["launched"], 0);
    assert_eq!(failed["failed_tasks"][0]["failures"], 1);
    assert_eq!([0, 1, 2].map(|task| job.lines(&format!("sent-{task}"))), [1, 1, 1]);

    let job = Job::new(&text.replace("idempotent", "retries = 1\nidempotent"));
    let failed = job.json(&["--policy", "sca", "--nodes", "n1:8"], 1);
    assert_eq!((&failed["copies"]["launched"], &failed["attempts"]), (&0.into(), &4.into()));
    assert_eq!([0, 1, 2].map(|task| job.lines(&format!("sent-{task}"))), [1, 2, 1]);
    assert!(!job.has("twice"));
}

#[test]
fn a_closed_pipe_does_not_stop_the_run() {
    let failing = "[[phase]]\nname = \"a\"\ntasks = 1\nretries = 0\ncommand = \"echo oh >&2; exit 3\"\n";
    for (text, code) in [(TWO_PHASES, 0), (failing, 1)] {
        for args in [&[][..], &["--json"]] {
            for (out, err) in [(true, false), (false, true), (true, true)] {
                let job = Job::new(text);
                let mut started = job.start(args);
                let child = started.0.as_mut().unwrap();
                if out {
                    drop(child.stdout.take());
                }
                if err {
                    drop(child.stderr.take());
                }
                let ran = started.wait();
                assert_eq!(ran.code, Some(code), "{args:?}, stdout {out}, stderr {err}: {}{}", ran.stdout, ran.stderr);
                assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
                // The run finishes although nobody reads its output.
                assert!(job.has("two.out/sum/0/all") || code == 1);
            }
        }
    }
}

#[test]
fn text_fits_the_terminal() {
    let failing = "name = \"a rather long name of a job that nobody would type\"\n\
        [[phase]]\nname = \"a phase with a long name as well\"\ntasks = 12\nretries = 0\n\
        command = \"head -c 300 /dev/zero | tr '\\\\0' x >&2; [ $HINDMOST_TASK != 7 ]\"\n";
    for width in [20, 40, 80] {
        let job = Job::new(failing);
        let output =
            hindmost().current_dir(job.path()).args(["run", "job.toml"]).env("COLUMNS", width.to_string()).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(1));
        let stdout = String::from_utf8(output.stdout).unwrap();
        for line in stdout.lines().filter(|line| !line.contains(".hindmost/logs")) {
            // Counts are never shortened, so on a very narrow terminal lines are longer.
            assert!(line.chars().count() <= width.max(30), "{width}: {line:?}");
        }
        assert!(!stdout.contains('\x1b'));
    }
}

#[test]
fn a_missed_deadline_is_reported() {
    let job = |deadline: &str| {
        Job::new(&format!("deadline = {deadline}\n[[phase]]\nname = \"a\"\ntasks = 1\ncommand = \"sleep 0.05\"\n"))
    };
    assert!(job("\"1d\"").done(&[]).stdout.contains("deadline of 24 h 00 min met"));
    assert!(job("0.001").done(&[]).stdout.contains("deadline of 1 ms missed by "));
}

#[test]
fn other_commands_read_the_folder_of_a_run() {
    let job = Job::new(&TWO_PHASES.replace("tasks = 3", "tasks = 30"));
    let result = job.json(&["--nodes", "n1:2,n2:2", "--chaos", "kill=0.2", "--policy", "mantri"], 0);
    for name in ["two.out", "two.out/.hindmost/journal.jsonl"] {
        let verdict = run_in(job.path(), &["verify", name, "--json"]);
        assert_eq!(verdict.code, Some(0), "{}{}", verdict.stdout, verdict.stderr);
        let verdict = document(&verdict);
        assert_eq!((&verdict["same"], &verdict["policy"]), (&true.into(), &"mantri".into()));
        assert_eq!((&verdict["cut_short"], &verdict["knowledge"]), (&false.into(), &"progress(0.1)".into()));

        let counted = document(&run_in(job.path(), &["trace", "info", name, "--json"]));
        for (key, expected) in [
            ("format", Value::from("journal")),
            ("jobs", 1.into()),
            ("stages", 2.into()),
            ("tasks", 31.into()),
            ("nodes", 2.into()),
            ("attempts", result["attempts"].clone()),
            ("warnings", Value::Array(Vec::new())),
        ] {
            assert_eq!(counted[key], expected, "{key} of {name}");
        }

        let replayed = run_in(job.path(), &["replay", name, "--json", "--policy", "none,late"]);
        assert_eq!(replayed.code, Some(0), "{}", replayed.stderr);
        let replayed = document(&replayed);
        assert_eq!(replayed["results"].as_array().unwrap().len(), 2);
        assert!(replayed["results"].as_array().unwrap().iter().all(|result| result["tasks"] == 5 * 31));
    }
    for (args, part) in [
        (&["verify", "two.out"][..], "the same decisions"),
        (&["trace", "info", "two.out"], "attempts"),
        (&["replay", "two.out"], "mantri"),
        (&["explain", "two.out", "map/3"], "map/3"),
    ] {
        let ran = run_in(job.path(), args);
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
        assert!(ran.stdout.contains(part), "{args:?}: {}", ran.stdout);
    }
}

#[test]
fn a_run_learns_durations_from_an_earlier_run() {
    let job = Job::new(TWO_PHASES);
    job.done(&["--out", "first"]);
    let learned = |folder: &str| job.read(&format!("{folder}/.hindmost/journal.jsonl")).contains("durations_learned");
    job.done(&["--out", "second", "--history", "first"]);
    assert!(learned("second"), "{}", job.read("second/.hindmost/journal.jsonl"));
}

#[test]
fn a_chart_is_drawn_on_request() {
    let job = Job::new(TWO_PHASES);
    let text = job.done(&["--gantt", "--nodes", "left:2,right:2"]).stdout;
    assert!(text.contains("left ┤") || text.contains("left  ┤"), "{text}");
    assert!(text.contains("right ┤"), "{text}");
}

#[test]
fn a_job_of_thousands_of_tasks_is_done() {
    let job = Job::new(
        "[[phase]]\nname = \"many\"\ntasks = 2000\ncommand = \"true\"\n\
         [[phase]]\nname = \"last\"\nafter = [\"many\"]\ntasks = 1\ncommand = 'ls \"$HINDMOST_FROM/many\" | wc -l > n'\n",
    );
    let begun = Instant::now();
    let result = job.json(&["--nodes", "n1:8"], 0);
    eprintln!("{:.2} ms a task", begun.elapsed().as_secs_f64() * 1000.0 / 2001.0);
    assert_eq!((&result["state"], &result["tasks"]), (&"done".into(), &2001.into()));
    assert_eq!(job.read("n").trim(), "2000");
    assert_eq!(job.names("job.out/many").len(), 2000);
    // Empty results take no space: this was 4 kB a task.
    assert!(fs::symlink_metadata(job.path().join("job.out/many/7")).unwrap().is_symlink());
    assert_eq!(job.names("job.out/many/7"), [""; 0]);
    assert_eq!(job.run(&["--resume"]).code, Some(0));
    // Whoever writes through such a link changes all empty results, and a link to somewhere else is no result.
    fs::remove_file(job.path().join("job.out/many/7")).unwrap();
    std::os::unix::fs::symlink("../last", job.path().join("job.out/many/7")).unwrap();
    let mended = job.run(&["--resume"]);
    assert!(mended.stderr.contains("the result of many/7 has changed (a link is in its place)"), "{}", mended.stderr);
    assert_eq!(job.names("job.out/many/7"), [""; 0]);
}
