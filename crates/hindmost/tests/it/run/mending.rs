//! Jobs that are mended and go on: `--redo`, new, changed and missing inputs, other values of a matrix, new phases.

use std::fs;

use serde_json::Value;

use super::{Job, document};

/// A job that counts the lines of its inputs and adds them up. Each task leaves a line where it ran.
const SUM: &str = r#"
name = "mend"
[[phase]]
name = "map"
inputs = "in/*.txt"
retries = 0
command = '''
echo run >> ran-$(basename "$HINDMOST_INPUT")
if grep -q bad "$HINDMOST_INPUT"; then exit 3; fi
wc -l < "$HINDMOST_INPUT" > "$HINDMOST_OUTPUT/n"
'''
[[phase]]
name = "sum"
after = ["map"]
tasks = 1
command = '''
echo run >> ran-sum
cat "$HINDMOST_FROM"/map/*/n | awk '{n += $1} END {print n}' > "$HINDMOST_OUTPUT/sum"
'''
"#;

/// Makes the job with inputs of 1 and 2 lines, and runs it.
fn summed() -> Job {
    let job = Job::new(SUM);
    fs::create_dir(job.path().join("in")).unwrap();
    job.write("in/b.txt", "1\n");
    job.write("in/d.txt", "1\n2\n");
    job.json(NO_COPIES, 0);
    assert_eq!(job.read("mend.out/sum/0/sum"), "3\n");
    job
}

/// Copies would add lines to the files that count runs.
pub(super) const NO_COPIES: &[&str] = &["--policy", "none"];

/// Checks how often the commands of these inputs have run.
fn has_run(job: &Job, times: &[(&str, usize)]) {
    for (input, times) in times {
        assert_eq!(job.lines(&format!("ran-{input}")), *times, "{input}");
    }
}

#[test]
fn new_inputs_become_tasks_and_the_others_keep_their_numbers() {
    let job = summed();
    job.write("in/a.txt", "1\n2\n3\n");
    let planned = job.json(&["--resume", "--check"], 0);
    let phases = &planned["resume"]["phases"];
    assert_eq!((&phases[0]["finished"], &phases[0]["to_run"]), (&2.into(), &1.into()), "{planned}");
    assert_eq!(planned["resume"]["again"][0]["phase"], "sum");
    has_run(&job, &[("sum", 1)]);
    let ran = job.run(&["--resume"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for line in ["map/2 is new: in/a.txt", "later phases that used these results run again: sum"] {
        assert!(ran.stderr.contains(line), "{}", ran.stderr);
    }
    assert_eq!(job.read("mend.out/sum/0/sum"), "6\n");
    has_run(&job, &[("a.txt", 1), ("b.txt", 1), ("d.txt", 1), ("sum", 2)]);
    // Results are found by input, with the attempts of both runs.
    let table = job.read("mend.out/results.tsv");
    let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    for (row, (input, folder)) in rows.iter().zip([("b.txt", "map/0"), ("d.txt", "map/1"), ("a.txt", "map/2")]) {
        assert!(row[2].ends_with(input) && row[3] == folder && row[4] == "1" && !row[5].is_empty(), "{table}");
    }
    let done = job.run(&["--resume", "--json"]);
    assert!(done.stderr.contains("already done"), "{}", done.stderr);
    let explained = crate::run_in(job.path(), &["explain", "mend.out", "map/2"]);
    assert!(explained.stdout.contains("/in/a.txt\n"), "{}", explained.stdout);
}

#[test]
fn changed_inputs_run_again() {
    let job = summed();
    job.write("in/b.txt", "1\n2\n3\n4\n");
    let ran = job.run(&["--resume"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("the input in/b.txt of map/0 has changed (it has 8 bytes instead of 2)"),
        "{}",
        ran.stderr
    );
    assert_eq!(job.read("mend.out/sum/0/sum"), "6\n");
    has_run(&job, &[("b.txt", 2), ("d.txt", 1), ("sum", 2)]);
}

#[test]
fn with_checksums_the_content_of_inputs_counts() {
    let job = Job::new(SUM);
    fs::create_dir(job.path().join("in")).unwrap();
    job.write("in/b.txt", "1\n");
    job.json(&[NO_COPIES, &["--checksum"]].concat(), 0);
    let file = || fs::File::options().write(true).open(job.path().join("in/b.txt")).unwrap();
    let time = file().metadata().unwrap().modified().unwrap();
    // Another time alone changes nothing.
    file().set_modified(std::time::UNIX_EPOCH).unwrap();
    assert!(job.run(&["--resume"]).stderr.contains("already done"));
    // Other content of the same size and time is only seen with --checksum.
    job.write("in/b.txt", "\n\n");
    file().set_modified(time).unwrap();
    assert!(job.run(&["--resume"]).stderr.contains("already done"));
    let ran = job.run(&["--resume", "--checksum"]);
    assert!(ran.stderr.contains("the input in/b.txt of map/0 has changed (it has other content)"), "{}", ran.stderr);
    assert_eq!(job.read("mend.out/sum/0/sum"), "2\n");
}

#[test]
fn removed_inputs_are_left_out() {
    let job = summed();
    // A finished one: its result is moved away, and the sum is made again.
    fs::remove_file(job.path().join("in/b.txt")).unwrap();
    let ran = job.run(&["--resume"]);
    assert!(ran.stderr.contains("map/0: in/b.txt is gone; its result no longer counts"), "{}", ran.stderr);
    assert_eq!(job.read("mend.out/sum/0/sum"), "2\n");
    assert!(job.has("mend.out/.hindmost/set-aside/map.0.1") && !job.has("mend.out/map/0"));
    // One that has failed: nothing of its phase is left to run, and the job goes on.
    job.write("in/e.txt", "bad\n");
    assert_eq!(
        job.json(&["--resume"], 1)["failed_tasks"][0]["input"].as_str().map(|input| input.ends_with("e.txt")),
        Some(true)
    );
    fs::remove_file(job.path().join("in/e.txt")).unwrap();
    let ran = job.run(&["--resume"]);
    assert!(ran.stderr.contains("map/2: in/e.txt is gone; the task is left out"), "{}", ran.stderr);
    assert_eq!((ran.code, &*job.read("mend.out/sum/0/sum")), (Some(0), "2\n"), "{}", ran.stderr);
    // It comes back.
    job.write("in/b.txt", "1\n2\n3\n");
    assert_eq!(job.json(&["--resume"], 0)["state"], "done");
    assert_eq!(job.read("mend.out/sum/0/sum"), "5\n");
    has_run(&job, &[("b.txt", 2), ("d.txt", 1)]);
    let states: Vec<String> =
        job.read("mend.out/results.tsv").lines().map(|line| line.rsplit('\t').next().unwrap().to_owned()).collect();
    assert_eq!(states, ["state", "done", "done", "withdrawn", "done"]);
}

#[test]
fn a_removed_input_may_be_all_that_was_left_to_run() {
    let map_only = &SUM[..SUM.find("[[phase]]\nname = \"sum\"").unwrap()];
    let job = Job::new(map_only);
    fs::create_dir(job.path().join("in")).unwrap();
    job.write("in/a.txt", "1\n");
    job.write("in/b.txt", "bad\n");
    job.json(&[NO_COPIES, &["--keep-going"]].concat(), 1);
    fs::remove_file(job.path().join("in/b.txt")).unwrap();
    for _ in 0..2 {
        let done = job.json(&["--resume"], 0);
        assert_eq!((&done["state"], &done["failed_tasks"]), (&"done".into(), &Value::Array(Vec::new())));
        // Withdrawn tasks are counted apart.
        for counts in [&done, &done["phases"][0]] {
            assert_eq!((&counts["tasks"], &counts["withdrawn"]), (&1.into(), &1.into()), "{done}");
        }
        assert_eq!(done["phases"][0]["finished"], 1);
    }
    has_run(&job, &[("a.txt", 1), ("b.txt", 1)]);
    // The finished one goes too, and another one comes.
    fs::remove_file(job.path().join("in/a.txt")).unwrap();
    job.write("in/c.txt", "1\n");
    let done = job.json(&["--resume"], 0);
    assert_eq!((&done["state"], &done["tasks"], &done["withdrawn"]), (&"done".into(), &1.into(), &2.into()), "{done}");
    assert_eq!(done["phases"][0]["finished"], 1);
    assert!(job.has("mend.out/map/2") && !job.has("mend.out/map/0"));
    // The one that had failed comes back, as a task that has not failed.
    job.write("in/b.txt", "1\n");
    let done = job.json(&["--resume"], 0);
    assert_eq!((&done["tasks"], &done["phases"][0]["finished"]), (&2.into(), &2.into()), "{done}");
    assert_eq!(done["failed_tasks"], Value::Array(Vec::new()));
}

#[test]
fn a_check_names_tasks_that_stay_failed_or_are_withdrawn() {
    let job = Job::new(SUM);
    fs::create_dir(job.path().join("in")).unwrap();
    for (name, text) in [("a", "bad"), ("b", "bad"), ("c", "1"), ("d", "1")] {
        job.write(&format!("in/{name}.txt"), &format!("{text}\n"));
    }
    job.json(&[NO_COPIES, &["--allow-failures", "2"]].concat(), 0);
    fs::remove_file(job.path().join("in/d.txt")).unwrap();
    job.write("in/new\nline.txt", "1\n");
    let args = ["--resume", "--allow-failures", "2", "--check"];
    let planned = job.json(&args, 0);
    let phase = &planned["resume"]["phases"][0];
    let counts = ["finished", "to_run", "failed", "withdrawn"].map(|key| phase[key].as_u64());
    assert_eq!(counts, [1, 1, 2, 1].map(Some), "{planned}");
    let text = job.run(&args).stdout;
    assert!(text.contains("map: 1 finished, 2 tasks stay failed, 1 task to run, 1 task withdrawn\n"), "{text}");
    // The name of the new input stays on one line.
    assert!(text.contains("map/4 is new: in/new\\nline.txt\n"), "{text}");
    // With a lower limit they run again.
    let ran = job.run(&["--resume"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("phase map allows 0 failed tasks now and has 2\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("2 tasks that had failed run again\n"), "{}", ran.stderr);
}

#[test]
fn failures_are_counted_over_resumptions() {
    let job = Job::new(&SUM.replace("retries = 0", "retries = 1"));
    fs::create_dir(job.path().join("in")).unwrap();
    job.write("in/a.txt", "bad\n");
    job.write("in/b.txt", "1\n");
    for (resume, failures) in [(&[][..], 2), (&["--resume"][..], 4), (&["--resume"], 6)] {
        let ran = job.run(&[NO_COPIES, &["--keep-going", "--json"], resume].concat());
        let task = &document(&ran)["failed_tasks"][0];
        assert_eq!((&task["failures"], &task["task"]), (&failures.into(), &0.into()), "{task}");
        // The first failure says that a retry follows, the second one that none does.
        assert!(ran.stderr.contains("exit code 3; retry 1 of 1 follows\n"), "{}", ran.stderr);
        assert!(ran.stderr.contains("exit code 3\n"), "{}", ran.stderr);
        let table = job.read("mend.out/results.tsv");
        let row: Vec<&str> = table.lines().nth(1).unwrap().split('\t').collect();
        assert_eq!((row[4], row[6]), (failures.to_string().as_str(), "failed"), "{table}");
    }
}

#[test]
fn a_run_that_died_while_it_began_again_may_be_finished() {
    let job = summed();
    job.write("in/a.txt", "1\n");
    job.json(&["--resume"], 0);
    // This is how a run is left that dies when it has put its journal away: without a journal, or with an empty one.
    let journals = || job.names("mend.out/.hindmost").into_iter().filter(|name| name.starts_with("journal"));
    assert_eq!(journals().collect::<Vec<_>>(), ["journal-1.jsonl", "journal.jsonl"]);
    for text in [None, Some("")] {
        let folder = job.path().join("mend.out/.hindmost");
        let record = job.read("mend.out/.hindmost/job.json");
        let number = journals().count();
        let record = record.replace("\"journals\": 1", &format!("\"journals\": {number}"));
        job.write("mend.out/.hindmost/job.json", &record);
        fs::rename(folder.join("journal.jsonl"), folder.join(format!("journal-{number}.jsonl"))).unwrap();
        if let Some(text) = text {
            job.write("mend.out/.hindmost/journal.jsonl", text);
        }
        let ran = job.run(&["--resume"]);
        assert!(ran.code == Some(0) && ran.stderr.contains("already done"), "{}", ran.stderr);
        assert_eq!(journals().collect::<Vec<_>>(), ["journal-1.jsonl", "journal.jsonl"]);
    }
    has_run(&job, &[("a.txt", 1), ("b.txt", 1), ("d.txt", 1), ("sum", 2)]);
    job.write("in/c.txt", "1\n");
    job.json(&["--resume"], 0);
    assert_eq!(journals().count(), 3);
    assert_eq!(job.read("mend.out/sum/0/sum"), "5\n");
}

#[test]
fn missing_checksums_are_reported() {
    let job = summed();
    let ran = job.run(&["--resume", "--checksum"]);
    assert!(ran.stderr.contains("no checksums of the results or inputs of 3 tasks"), "{}", ran.stderr);
    assert!(!job.run(&["--resume"]).stderr.contains("checksums"));
    let job = Job::new(SUM);
    fs::create_dir(job.path().join("in")).unwrap();
    job.write("in/b.txt", "1\n");
    job.json(&["--checksum"], 0);
    assert!(!job.run(&["--resume", "--checksum"]).stderr.contains("checksums"));
}

#[test]
fn results_of_many_files_with_checksums_count() {
    let many = "for i in $(seq 1 1100); do echo $i > \\\"$HINDMOST_OUTPUT/$i\\\"; done";
    let job = Job::new(&format!("name = \"many\"\n[[phase]]\nname = \"a\"\ntasks = 1\ncommand = \"{many}\"\n"));
    job.json(&[NO_COPIES, &["--checksum"]].concat(), 0);
    for args in [&["--resume"][..], &["--resume", "--checksum"]] {
        let ran = job.run(args);
        assert!(ran.code == Some(0) && ran.stderr.contains("already done"), "{}", ran.stderr);
        assert!(!ran.stderr.contains("checksums"), "{}", ran.stderr);
    }
    // Other content of the same size and time is found by the checksums.
    let file = || fs::File::options().write(true).open(job.path().join("many.out/a/0/7")).unwrap();
    let time = file().metadata().unwrap().modified().unwrap();
    job.write("many.out/a/0/7", "8\n");
    file().set_modified(time).unwrap();
    assert!(job.run(&["--resume", "--checksum"]).stderr.contains("the result of a/0 has changed"));
    // Without checksums from the first run on, a message says so.
    job.json(&["--out", "plain"], 0);
    let ran = job.run(&["--out", "plain", "--resume", "--checksum"]);
    assert!(ran.stderr.contains("no checksums of the results or inputs of 1 task,"), "{}", ran.stderr);
}

#[test]
fn parts_run_again_on_request() {
    let job = summed();
    let ran = job.run(&["--redo", "map/1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("map/1 runs again, as --redo says"), "{}", ran.stderr);
    has_run(&job, &[("b.txt", 1), ("d.txt", 2), ("sum", 2)]);
    job.json(&["--redo", "sum"], 0);
    has_run(&job, &[("b.txt", 1), ("d.txt", 2), ("sum", 3)]);
    job.json(&["--redo", "map"], 0);
    has_run(&job, &[("b.txt", 2), ("d.txt", 3), ("sum", 4)]);
    for (part, advice) in [("mapp", "map"), ("map/2", "its tasks are 0 to 1"), ("map/x", "map/3-9")] {
        let ran = job.run(&["--redo", part]);
        assert_eq!(ran.code, Some(2), "{part}");
        assert!(ran.stderr.contains(advice), "{}", ran.stderr);
    }
    let ran = job.run(&["--out", "elsewhere", "--redo", "map"]);
    assert_eq!((ran.code, job.has("elsewhere")), (Some(2), false), "{}", ran.stderr);
}

#[test]
fn a_phase_with_another_command_runs_again_on_request() {
    let job = summed();
    job.write("job.toml", &SUM.replace("wc -l", "wc -c"));
    let refused = job.run(&["--resume"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("--keep-results") && refused.stderr.contains("--redo map"), "{}", refused.stderr);
    // Some of its tasks are not enough, because results of two commands would be mixed, unless the user wants that.
    assert_eq!(job.run(&["--redo", "map/0"]).code, Some(2));
    assert_eq!(job.json(&["--redo", "map/0", "--keep-results", "--check"], 0)["resume"]["again"][0]["task"], 0);
    for option in ["--keep-results", "--retry-failed"] {
        let ran = job.run(&[option]);
        assert!(ran.code == Some(2) && ran.stderr.contains("add --resume or --redo"), "{}", ran.stderr);
    }
    assert_eq!(job.json(&["--redo", "map"], 0)["state"], "done");
    assert_eq!(job.read("mend.out/sum/0/sum"), "6\n");
    assert!(job.run(&["--resume"]).stderr.contains("already done"));
}

#[test]
fn other_numbers_of_tasks_values_and_phases() {
    let with = |tasks: u32, seeds: &str, more: &str| {
        format!(
            "name = \"grid\"\n[[phase]]\nname = \"part\"\ntasks = {tasks}\n\
             command = 'echo $HINDMOST_TASKS >> parts; echo $HINDMOST_TASKS > \"$HINDMOST_OUTPUT/n\"'\n\
             [[phase]]\nname = \"grid\"\nmatrix = {{ seed = [{seeds}] }}\ncommand = 'echo $seed >> seeds'\n{more}"
        )
    };
    let job = Job::new(&with(2, "1, 3", ""));
    job.json(NO_COPIES, 0);
    let sorted = |name: &str| {
        let text = job.read(name);
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        lines.join(" ")
    };
    assert_eq!((sorted("parts"), sorted("seeds")), ("2 2".to_owned(), "1 3".to_owned()));
    // A value between the others, and a phase at the end.
    let last = "[[phase]]\nname = \"last\"\nafter = [\"grid\"]\ntasks = 1\ncommand = 'echo last >> lasts'\n";
    job.write("job.toml", &with(2, "1, 2, 3", last));
    let ran = job.run(&["--resume"]);
    assert!(ran.stderr.contains("grid/2 is new: seed=2") && ran.stderr.contains("phase last is new"), "{}", ran.stderr);
    assert_eq!((sorted("parts"), sorted("seeds"), sorted("lasts")), ("2 2".into(), "1 2 3".into(), "last".into()));
    // Commands see the number of tasks, so with another number all of them are other tasks.
    job.write("job.toml", &with(1, "1, 2, 3", last));
    let ran = job.run(&["--resume", "--json"]);
    assert!(ran.stderr.contains("phase part has 1 task now instead of 2"), "{}", ran.stderr);
    assert_eq!(document(&ran)["state"], "done");
    assert_eq!((sorted("parts"), sorted("seeds"), sorted("lasts")), ("1 2 2".into(), "1 2 3".into(), "last".into()));
    assert!(!job.has("grid.out/part/1"));
    // They also run again if their command is another one, and nobody has to request it.
    let other = with(3, "1, 2, 3", last).replace("echo $HINDMOST_TASKS >> parts", "echo x >> parts");
    job.write("job.toml", &other);
    assert_eq!(job.json(&["--resume"], 0)["state"], "done");
    assert_eq!(sorted("parts"), "1 2 2 x x x");
    job.write("job.toml", &other.replace("tasks = 3", "tasks = 1"));
    assert_eq!(job.json(&["--redo", "part"], 0)["state"], "done");
    job.write("job.toml", &with(1, "1, 2, 3", last));
    assert_eq!(job.json(&["--redo", "part"], 0)["state"], "done");
    // Without a phase of the run, it is another job.
    job.write("job.toml", &with(1, "1, 2, 3", ""));
    let other = job.run(&["--resume"]);
    assert!(other.code == Some(2) && other.stderr.contains("its phase \"last\" is not in"), "{}", other.stderr);
}

#[test]
fn tasks_that_may_not_run_twice_run_again_only_if_named() {
    let job = Job::new(&SUM.replace("retries = 0", "retries = 0\nidempotent = false"));
    fs::create_dir(job.path().join("in")).unwrap();
    job.write("in/b.txt", "1\n");
    job.json(NO_COPIES, 0);
    // A changed input does not make them run again, and a missing input keeps their results.
    job.write("in/b.txt", "1\n2\n");
    job.write("in/c.txt", "1\n");
    let kept = "the input in/b.txt of map/0 has changed (it has 4 bytes instead of 2), but its result stays, because of \
                idempotent = false; --redo map/0 runs it again\n";
    let planned = job.json(&["--resume", "--check"], 0);
    assert!(planned["resume"]["messages"].to_string().contains(kept.trim_end()), "{planned}");
    let ran = job.run(&["--resume"]);
    assert!(ran.code == Some(0) && ran.stderr.contains(kept), "{}", ran.stderr);
    has_run(&job, &[("b.txt", 1), ("c.txt", 1), ("sum", 2)]);
    fs::remove_dir_all(job.path().join("mend.out/map/0")).unwrap();
    let refused = job.run(&["--resume"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("--redo map/0"), "{}", refused.stderr);
    job.json(&["--redo", "map/0"], 0);
    has_run(&job, &[("b.txt", 2), ("c.txt", 1)]);
    assert_eq!(job.read("mend.out/sum/0/sum"), "3\n");
    // A result that stays although its input is gone is where the table says.
    fs::remove_file(job.path().join("in/b.txt")).unwrap();
    let ran = job.run(&["--resume"]);
    assert!(ran.stderr.contains("its result stays, because the task may not run twice"), "{}", ran.stderr);
    let table = job.read("mend.out/results.tsv");
    let row: Vec<&str> = table.lines().nth(1).unwrap().split('\t').collect();
    assert_eq!((row[3], row[6]), ("map/0", "withdrawn"), "{table}");
    assert_eq!(job.read("mend.out/map/0/n"), "2\n");
}

#[test]
fn all_failed_tasks_of_a_phase_that_has_failed_run_again() {
    let job = Job::new(SUM);
    fs::create_dir(job.path().join("in")).unwrap();
    for (name, text) in [("a", "bad"), ("b", "1"), ("c", "bad"), ("d", "1")] {
        job.write(&format!("in/{name}.txt"), &format!("{text}\n"));
    }
    let allowed = [NO_COPIES, &["--allow-failures", "1"]].concat();
    assert_eq!(job.run(&allowed).code, Some(1));
    // Their program is there again, so to speak: the content changes and not the task.
    job.write("in/a.txt", "1\n");
    job.write("in/c.txt", "1\n");
    let resumed = ["--resume", "--allow-failures", "1"];
    let planned = job.json(&[&resumed[..], &["--check"]].concat(), 0);
    assert_eq!(planned["resume"]["phases"][0]["failed"], 0, "{planned}");
    let ran = job.run(&resumed);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("2 tasks that had failed run again\n"), "{}", ran.stderr);
    assert_eq!(job.read("mend.out/sum/0/sum"), "4\n");
}

/// Returns names, sizes, times and link targets of everything in a folder.
fn state(folder: &std::path::Path) -> Vec<String> {
    let mut seen = Vec::new();
    let mut todo = vec![folder.to_owned()];
    while let Some(path) = todo.pop() {
        let found = fs::symlink_metadata(&path).unwrap();
        seen.push(format!("{} {} {:?}", path.display(), found.len(), found.modified().unwrap()));
        if found.is_dir() {
            todo.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    seen.sort();
    seen
}

#[test]
fn a_check_of_a_resumed_run_changes_nothing() {
    let job = summed();
    job.write("in/a.txt", "1\n");
    let more = "[[phase]]\nname = \"last\"\nafter = [\"sum\"]\ntasks = 1\ncommand = 'true'\n";
    job.write("job.toml", &format!("{SUM}{more}"));
    let before = state(&job.path().join("mend.out"));
    job.json(&["--redo", "map/0", "--check"], 0);
    assert_eq!(before, state(&job.path().join("mend.out")));
}

#[test]
fn values_in_another_order_keep_their_tasks() {
    let with = |seeds: &str| {
        format!(
            "name = \"grid\"\n[[phase]]\nname = \"grid\"\nmatrix = {{ seed = [{seeds}] }}\ncommand = 'echo $seed > \
             \"$HINDMOST_OUTPUT/s\"'\n"
        )
    };
    let job = Job::new(&with("1, 2"));
    job.json(&[], 0);
    job.write("job.toml", &with("2, 1"));
    // The second resumption finds the numbers of the first one.
    for _ in 0..2 {
        assert!(job.run(&["--resume"]).stderr.contains("already done"));
        let table = job.read("grid.out/results.tsv");
        for row in table.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>()) {
            assert_eq!(job.read(&format!("grid.out/{}/s", row[4])).trim(), row[3], "{table}");
        }
    }
}

#[test]
fn values_that_come_back_get_their_numbers_again() {
    let with = |values: &str| {
        format!(
            "name = \"gi\"\n[[phase]]\nname = \"g\"\nmatrix = {{ a = [{values}] }}\ncommand = 'echo $a > \"$HINDMOST_OUTPUT/a\"'\n"
        )
    };
    // Number, value and state of each task.
    let rows = |job: &Job| -> Vec<String> {
        let table = job.read("gi.out/results.tsv");
        let rows = table.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>());
        rows.map(|row| format!("{} {} {}", row[1], row[3], row[7])).collect()
    };
    let job = Job::new(&with("1, 2, 3"));
    job.json(&[], 0);
    job.write("job.toml", &with("2, 3"));
    // The second resumption finds what the first one has recorded.
    for _ in 0..2 {
        job.json(&["--resume"], 0);
        assert_eq!(rows(&job), ["0 1 withdrawn", "1 2 done", "2 3 done"]);
    }
    job.write("job.toml", &with("1, 2, 3"));
    let ran = job.run(&["--resume"]);
    assert!(ran.code == Some(0) && ran.stderr.contains("g/0 is new: a=1"), "{}", ran.stderr);
    assert_eq!(rows(&job), ["0 1 done", "1 2 done", "2 3 done"]);
    assert_eq!(job.read("gi.out/g/0/a"), "1\n");
    assert!(!job.has("gi.out/g/3"));
}
