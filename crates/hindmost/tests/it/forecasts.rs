//! Tests of replays of logs as they ran, and of forecasts: synthetic logs whose schedules are known in closed form, and real logs.

mod hadoop;
mod jobs_of_a_log;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::json as printed;

/// An executor of two slots on a host of its own, added at a time in seconds.
#[derive(Clone, Copy)]
struct Executor {
    added: f64,
    slots: u32,
}

/// An attempt: its task, executor, start and end in seconds, and whether it succeeded.
type Attempt = (u32, u32, f64, f64, bool);

/// A log of one job with one stage.
struct Log {
    executors: Vec<Executor>,
    attempts: Vec<Attempt>,
    end: f64,
    settings: Vec<(&'static str, &'static str)>,
    /// Executors that are removed, and when.
    removed: Vec<(u32, f64)>,
    /// Whether all executors are on one host. Otherwise each has a host of its own.
    is_one_host: bool,
}

impl Log {
    /// Runs tasks of the given durations in their order on the slots that are free first, without copies.
    fn scheduled(executors: &[Executor], seconds: impl IntoIterator<Item = f64>) -> Log {
        let mut free: Vec<(f64, u32)> = Vec::new();
        for (number, executor) in (0..).zip(executors) {
            free.extend((0..executor.slots).map(|_| (executor.added, number)));
        }
        let mut attempts = Vec::new();
        for (task, seconds) in (0..).zip(seconds) {
            free.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let (start, executor) = free[0];
            free[0].0 = start + seconds;
            attempts.push((task, executor, start, start + seconds, true));
        }
        let end = attempts.iter().map(|attempt| attempt.3).fold(0.0, f64::max);
        Log {
            executors: executors.to_vec(),
            attempts,
            end,
            settings: Vec::new(),
            removed: Vec::new(),
            is_one_host: false,
        }
    }

    /// A log of these attempts, on executors of one slot that are added at these times.
    fn of(added: &[f64], attempts: Vec<Attempt>) -> Log {
        let end = attempts.iter().map(|attempt| attempt.3).fold(0.0, f64::max);
        let executors = added.iter().map(|added| Executor { added: *added, slots: 1 }).collect();
        Log { executors, attempts, end, settings: Vec::new(), removed: Vec::new(), is_one_host: false }
    }

    fn write(&self, path: &Path) {
        let at = |seconds: f64| (1_000_000.0 + seconds * 1000.0).round() as i64;
        let host = |executor: usize| format!("host-{}", if self.is_one_host { 0 } else { executor });
        let mut lines: Vec<(i64, u8, Value)> = Vec::new();
        for (number, executor) in self.executors.iter().enumerate() {
            lines.push((
                at(executor.added),
                1,
                json!({"Event": "SparkListenerExecutorAdded", "Timestamp": at(executor.added), "Executor ID": number.to_string(),
                    "Executor Info": {"Host": host(number), "Total Cores": executor.slots}}),
            ));
        }
        for (number, time) in &self.removed {
            let removed = json!({"Event": "SparkListenerExecutorRemoved", "Timestamp": at(*time), "Executor ID": number.to_string(),
                "Removed Reason": "worker lost"});
            lines.push((at(*time), 5, removed));
        }
        let tasks = self.attempts.iter().map(|attempt| attempt.0).max().unwrap_or(0) + 1;
        let stage = json!({"Stage ID": 0, "Stage Attempt ID": 0, "Stage Name": "count", "Number of Tasks": tasks,
            "RDD Info": [], "Parent IDs": [], "Submission Time": at(0.0), "Completion Time": at(self.end)});
        lines.push((
            at(0.0),
            2,
            json!({"Event": "SparkListenerJobStart", "Job ID": 0, "Submission Time": at(0.0), "Stage Infos": [stage], "Stage IDs": [0]}),
        ));
        lines.push((at(0.0), 3, json!({"Event": "SparkListenerStageSubmitted", "Stage Info": stage})));
        let mut numbers: BTreeMap<u32, u32> = BTreeMap::new();
        for (id, (task, executor, start, end, succeeds)) in self.attempts.iter().enumerate() {
            let number = numbers.entry(*task).or_default();
            let info = json!({"Task ID": id, "Index": task, "Attempt": *number, "Partition ID": task, "Launch Time": at(*start),
                "Finish Time": at(*end), "Executor ID": executor.to_string(), "Host": host(*executor as usize),
                "Locality": "PROCESS_LOCAL", "Speculative": false, "Failed": !succeeds, "Killed": false});
            *number += 1;
            let reason = if *succeeds {
                json!({"Reason": "Success"})
            } else {
                json!({"Reason": "ExceptionFailure", "Class Name": "java.io.IOException", "Description": "disk"})
            };
            lines.push((
                at(*end),
                4,
                json!({"Event": "SparkListenerTaskEnd", "Stage ID": 0, "Stage Attempt ID": 0, "Task Type": "ResultTask",
                    "Task End Reason": reason, "Task Info": info}),
            ));
        }
        lines.push((at(self.end), 5, json!({"Event": "SparkListenerStageCompleted", "Stage Info": stage})));
        let done = json!({"Event": "SparkListenerJobEnd", "Job ID": 0, "Completion Time": at(self.end), "Job Result": {"Result": "JobSucceeded"}});
        lines.push((at(self.end), 6, done));
        lines.push((at(self.end), 7, json!({"Event": "SparkListenerApplicationEnd", "Timestamp": at(self.end)})));
        lines.sort_by_key(|line| (line.0, line.1));
        let settings: BTreeMap<&str, &str> = self.settings.iter().copied().collect();
        let mut text = String::new();
        for first in [
            json!({"Event": "SparkListenerLogStart", "Spark Version": "3.5.1"}),
            json!({"Event": "SparkListenerApplicationStart", "App Name": "synthetic", "App ID": "app-1", "Timestamp": at(0.0)}),
            json!({"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": settings}),
        ]
        .iter()
        .chain(lines.iter().map(|line| &line.2))
        {
            let _ = writeln!(text, "{first}");
        }
        fs::write(path, text).unwrap();
    }

    /// What is said about the log: the JSON of its application, the text, and the page.
    fn said(&self) -> (Value, String, String) {
        let folder = TempDir::new().unwrap();
        self.write(&folder.path().join("log"));
        said_about(folder.path(), "log")
    }

    /// What a replay of the log and its advice are.
    fn tried(&self) -> (Value, Value) {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("log");
        self.write(&path);
        let path = path.to_str().unwrap();
        let replayed = printed(&["replay", path, "--policy", "none", "--json"]);
        let advised = printed(&["advise", path, "--json"]);
        (replayed["recorded"][0].clone(), advised["logs"][0]["applications"][0].clone())
    }
}

/// What is said about a log of one application in a folder: the JSON of the application, the text, and the page.
fn said_about(folder: &Path, log: &str) -> (Value, String, String) {
    let ran = crate::run_in(folder, &["advise", log, "--json", "--out", "advice"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let advised: Value = serde_json::from_str(&ran.stdout).unwrap();
    // Lines of text are wrapped.
    let text = crate::run_in(folder, &["advise", log]).stdout;
    let page = fs::read_to_string(folder.join("advice/report.html")).unwrap();
    (advised["logs"][0]["applications"][0].clone(), text, page)
}

/// A text as one line, with one space between words.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

const FOUR: [Executor; 4] = [Executor { added: 0.0, slots: 2 }; 4];

fn ratio(recorded: &Value) -> f64 {
    recorded["ratio"].as_f64().unwrap()
}

/// The range of the gain, in seconds, of the first change whose title begins like this.
fn gain(application: &Value, title: &str) -> [f64; 2] {
    let tried = application["advice"]["tried"].as_array().unwrap();
    let one = tried.iter().find(|one| one["title"].as_str().unwrap().starts_with(title)).unwrap();
    [0, 1].map(|at| one["gain_seconds_range"][at].as_f64().unwrap())
}

/// Durations near 1 s that differ by a few percent, in a fixed order.
fn alike(count: u32) -> impl Iterator<Item = f64> {
    (0..count).map(|task| 1.0 + 0.04 * f64::from(task * 7 % 11) / 10.0)
}

#[test]
fn a_replay_of_equal_tasks_takes_the_recorded_time_and_nothing_would_help() {
    let log = Log::scheduled(&FOUR, alike(80));
    let (recorded, application) = log.tried();
    assert!((ratio(&recorded) - 1.0).abs() < 0.005, "{recorded}");
    assert_eq!((recorded["policy"].as_str(), recorded["calibrated"].as_bool()), (Some("none"), Some(true)));
    assert_eq!(recorded["task_itself"], json!([0.0, 1.0]));
    let tried = application["advice"]["tried"].as_array();
    assert!(tried.is_none_or(|tried| tried.iter().all(|one| one["recommended"] == false)), "{application}");
}

#[test]
fn a_hung_task_is_cured_by_copies_as_far_as_its_duration_is_not_its_own() {
    // Of 40 tasks of about 1 s on 8 slots, one hangs for 21 s from 1 s on.
    let hung = 12;
    let log =
        Log::scheduled(&FOUR, alike(40).enumerate().map(|(task, seconds)| if task == hung { 21.0 } else { seconds }));
    assert!((log.end - 22.0).abs() < 0.1, "{}", log.end);
    let (recorded, application) = log.tried();
    assert!((ratio(&recorded) - 1.0).abs() < 0.005, "{recorded}");
    let [least, most] = gain(&application, "speculation for tasks that take 1.5 times");
    // If the duration is the task's own, a copy never wins. If not, the task is copied after three quarters of the tasks have ended, and
    // the copy takes about a second: the job ends when the other 31 tasks have ended, in five rounds on seven slots, at 6.1 s.
    assert!(least.abs() < 0.1, "{least}");
    assert!((most - (22.0 - 6.1)).abs() < 0.2, "{most}");
    let advice = &application["advice"];
    let first = &advice["tried"].as_array().unwrap().iter().find(|one| one["recommended"] == true).unwrap();
    assert_eq!(first["settings"][0]["name"], "spark.speculation");
    assert_eq!((&first["settings"][0]["recorded"], &first["settings"][0]["value"]), (&Value::Null, &json!("true")));
}

#[test]
fn executors_join_when_they_joined() {
    // Two executors from the beginning and two from 6 s on: 12 tasks a 3 s, then 8 at once.
    let late = Executor { added: 6.0, slots: 2 };
    let executors = [FOUR[0], FOUR[1], late, late];
    let log = Log::scheduled(&executors, alike(60));
    let (recorded, _) = log.tried();
    assert!((ratio(&recorded) - 1.0).abs() < 0.01, "{recorded} {}", log.end);
    let always = Log::scheduled(&FOUR, alike(60));
    assert!(always.end < 0.85 * log.end, "the case would show nothing");
}

#[test]
fn an_executor_that_leaves_takes_no_more_tasks() {
    // The last of four executors starts nothing from 4 s on, although tasks wait, and leaves when its attempts have ended.
    let mut log = Log::scheduled(&FOUR, []);
    let mut free: Vec<(f64, u32)> = (0..8).map(|slot| (0.0, slot / 2)).collect();
    for (task, seconds) in (0..).zip(alike(80)) {
        free.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        free.retain(|(start, executor)| *executor != 3 || *start < 4.0);
        let (start, executor) = free[0];
        free[0].0 = start + seconds;
        log.attempts.push((task, executor, start, start + seconds, true));
    }
    let ends =
        |of: &dyn Fn(u32) -> bool| log.attempts.iter().filter(|one| of(one.1)).map(|one| one.3).fold(0.0, f64::max);
    let (end, left) = (ends(&|_| true), ends(&|executor| executor == 3));
    (log.end, log.removed) = (end, vec![(3, left)]);
    let (recorded, _) = log.tried();
    assert!((ratio(&recorded) - 1.0).abs() < 0.04, "{recorded} {end}");
    assert!(Log::scheduled(&FOUR, alike(80)).end < 0.9 * end, "the case would show nothing");
}

#[test]
fn attempts_that_failed_fail_again() {
    let mut log = Log::scheduled(&FOUR, alike(16));
    // Task 15 fails at its end, and again, and then succeeds.
    let (task, executor, _, end, _) = log.attempts[15];
    log.attempts[15].4 = false;
    log.attempts.push((task, executor, end, end + 2.0, false));
    log.attempts.push((task, executor, end + 2.0, end + 5.0, true));
    log.end = end + 5.0;
    let (recorded, _) = log.tried();
    assert_eq!(recorded["failures"], 2);
    assert!((ratio(&recorded) - 1.0).abs() < 0.01, "{recorded} {}", log.end);
}

#[test]
fn a_task_that_failed_starts_again_when_it_did() {
    let mut log = Log::scheduled(&FOUR, alike(16));
    // The engine waits for 6 s, although slots are free.
    let (task, executor, _, end, _) = log.attempts[15];
    log.attempts[15].4 = false;
    log.attempts.push((task, executor, end + 6.0, end + 7.0, true));
    log.end = end + 7.0;
    let (recorded, _) = log.tried();
    assert!((ratio(&recorded) - 1.0).abs() < 0.01, "{recorded} {}", log.end);
}

#[test]
fn attempts_are_lost_again_with_their_executors() {
    // The first two attempts of task 0 crash their executors after 5 and 8 s; its third one takes a second.
    let attempts =
        vec![(0, 0, 0.0, 5.0, false), (0, 1, 10.0, 18.0, false), (0, 2, 20.0, 21.0, true), (1, 2, 21.0, 22.0, true)];
    let mut log = Log::of(&[0.0, 10.0, 20.0], attempts);
    log.removed = vec![(0, 5.0), (1, 18.0)];
    let (recorded, _) = log.tried();
    assert!((ratio(&recorded) - 1.0).abs() < 0.01, "{recorded}");
    assert_eq!(recorded["failures"], 2);
}

#[test]
fn a_task_runs_again_whose_executor_comes_back_too_late() {
    // The driver loses executor 0 at 5 s and starts its task again. Then the first attempt ends, too, at 30 s.
    let attempts = vec![(0, 0, 0.0, 30.0, true), (0, 1, 6.0, 46.0, true), (1, 1, 46.0, 47.0, true)];
    let mut log = Log::of(&[0.0, 6.0], attempts);
    log.removed = vec![(0, 5.0)];
    let (recorded, _) = log.tried();
    assert!((ratio(&recorded) - 1.0).abs() < 0.01, "{recorded}");
}

#[test]
fn tasks_wait_for_slots_near_their_input_as_they_did() {
    // Eleven tasks of 1 s run on one executor after the other, and one task on the other executor.
    let mut attempts: Vec<Attempt> =
        (0..11).map(|task| (task, 0, f64::from(task), f64::from(task + 1), true)).collect();
    attempts.push((11, 1, 0.0, 1.0, true));
    let (recorded, application) = Log::of(&[0.0, 0.0], attempts).tried();
    assert!((ratio(&recorded) - 1.0).abs() < 0.01, "{recorded}");
    // On both, they take 6 s.
    let [least, most] = gain(&application, "no wait for nearer slots");
    assert!(least <= 0.0 && (most - 5.0).abs() < 0.1, "{least} {most}");
}

#[test]
fn a_stage_of_one_task_gains_what_more_tasks_would_save() {
    let log = Log::scheduled(&FOUR, [40.0]);
    let (recorded, application) = log.tried();
    assert!((ratio(&recorded) - 1.0).abs() < 0.005, "{recorded}");
    // Eight parts of 5 s, each with a tenth of a second in addition.
    let [least, most] = gain(&application, "as many tasks as slots");
    assert!((most - 34.9).abs() < 0.1 && least <= 0.0, "{least} {most}");
    assert!(gain(&application, "speculation for tasks that take 1.5").iter().all(|gain| gain.abs() < 1e-6));
}

#[test]
fn cold_executors_stay_cold_for_copies() {
    // Each executor's first two tasks take 5 s, the others 1 s: a copy of a cold task on an executor that is warm would take 1 s, but all
    // executors are warm at the same time, so no copy is of use.
    let log = Log::scheduled(
        &FOUR,
        alike(64).enumerate().map(|(task, seconds)| if task < 8 { 5.0 * seconds } else { seconds }),
    );
    let (recorded, application) = log.tried();
    assert!((ratio(&recorded) - 1.0).abs() < 0.01, "{recorded}");
    if application["advice"].is_object() {
        let [least, most] = gain(&application, "speculation for tasks that take 1.5");
        assert!(least.abs() < 0.3 && most.abs() < 0.3, "{least} {most}");
    }
}

#[test]
fn a_job_log_of_parallel_gains_what_copies_would_have_saved() {
    // Of 24 commands of 1 s on 4 slots, the sixth hangs for 31 s from 1 s on. Copies end it when the others have ended at the
    // latest: 23 of them take 6 s on 4 slots. No command starts earlier than it did, because the log does not say how many slots
    // there were.
    let folder = TempDir::new().unwrap();
    let log = folder.path().join("joblog");
    let mut text = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n".to_owned();
    let (mut free, mut number) = ([1000.0; 4], 0);
    while number < 24 {
        let slot = (0..4).min_by(|a, b| f64::total_cmp(&free[*a], &free[*b])).unwrap();
        let seconds = if number == 5 { 31.0 } else { 1.0 };
        number += 1;
        let _ = writeln!(text, "{number}\t:\t{:.3}\t{seconds:.3}\t0\t0\t0\t0\twork {number}", free[slot]);
        free[slot] += seconds;
    }
    fs::write(&log, text).unwrap();
    let (application, text, page) = said_about(folder.path(), "joblog");
    let advice = &application["advice"];
    assert_eq!(advice["calibration"]["calibrated"], true, "{advice}");
    assert!((ratio(&advice["calibration"]) - 1.0).abs() < 0.005, "{advice}");
    let tried = advice["tried"].as_array().unwrap();
    let [one] = &tried[..] else { panic!("{advice}") };
    assert_eq!(
        one["settings"],
        json!([{"name": "program", "recorded": "parallel", "value": "hindmost map"}]),
        "{advice}"
    );
    // The recorded time is 32 s, and the last of the others ends at 8 s: from 1 s on, 22 of them have three slots.
    let [least, most] = [0, 1].map(|at| one["gain_seconds_range"][at].as_f64().unwrap());
    assert!(least.abs() < 0.5 && (most - 24.0).abs() < 1.0, "{least} {most}");
    // The text and the page name the program as what it is, not as a setting.
    assert_eq!(
        (&one["title"], &one["recommended"]),
        (&json!("copies by policy pace: hindmost map in place of parallel"), &json!(true))
    );
    let program = "# the log is of parallel; in its place:\nhindmost map";
    assert!(text.contains(&format!("    {}\n", program.replace('\n', "\n    "))), "{text}");
    assert!(page.contains(&format!("<pre>{program}</pre>")), "{page}");
    for said in [unwrapped(&text), unwrapped(&page)] {
        assert!(said.contains("Copies by policy pace: hindmost map in place of parallel: saves"), "{said}");
        assert!(!said.contains("program="), "{said}");
    }
}

#[test]
fn pace_is_said_to_help_exactly_where_a_replay_shows_it() {
    // Spark's speculation starts no copy on a single host, so it is not tried.
    let hung = || alike(40).enumerate().map(|(task, seconds)| if task == 12 { 21.0 } else { seconds });
    let on_one_host = Log { is_one_host: true, ..Log::scheduled(&FOUR, hung()) };
    // The last wave has three tasks for eight slots, which no copy makes shorter.
    let equal = Log { is_one_host: true, ..Log::scheduled(&FOUR, alike(43)) };
    let mut direct = Log { is_one_host: true, ..Log::scheduled(&FOUR, hung()) };
    direct.settings = vec![("spark.hadoop.mapred.output.direct.EmrFileSystem", "true")];
    for (name, log, is_expected) in [
        ("one host", on_one_host, true),
        ("equal tasks", equal, false),
        ("direct output", direct, false),
        ("a setting helps", Log::scheduled(&FOUR, hung()), false),
    ] {
        let (application, text, page) = log.said();
        let tried = application["advice"]["tried"].as_array().unwrap_or_else(|| panic!("{name}: {application}"));
        let is_recommended = tried.iter().any(|one| one["recommended"] == true);
        let pace = tried.iter().find(|one| one["policy"] == "pace").unwrap();
        let is_shown = pace["gain_share"].as_f64().unwrap() >= 0.02
            && pace["gain_share_range"][0].as_f64().unwrap() >= -0.01
            && pace["condition"].is_null()
            && !is_recommended;
        assert_eq!(is_shown, is_expected, "{name}: {pace}");
        assert_eq!(name == "a setting helps", is_recommended, "{name}");
        let sentence = "Of the policies that were tried, pace would have saved";
        for said in [unwrapped(&text), unwrapped(&page)] {
            assert_eq!(said.contains(sentence), is_shown, "{name}: {said}");
        }
    }
}

#[test]
fn other_policies_are_forecast_for_the_journal_of_a_run() {
    // The first attempt of one task of 24 hangs for 6 s. The others take 0.2 s.
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out");
    let command = "if [ {} = 7 ] && [ \"$HINDMOST_ATTEMPT\" = 0 ]; then sleep 6; else sleep 0.2; fi";
    let values: Vec<String> = (0..24).map(|value| value.to_string()).collect();
    let mut args = vec!["map", "-j", "4", "--no-copies", "--out", out.to_str().unwrap(), command, ":::"];
    args.extend(values.iter().map(String::as_str));
    let ran = crate::run(&args);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let advised = printed(&["advise", out.to_str().unwrap(), "--json"]);
    let application = &advised["logs"][0]["applications"][0];
    assert_eq!((&application["wall_time"]["slots_known"], &application["tasks"]), (&json!(true), &json!(24)));
    let advice = &application["advice"];
    assert_eq!(advice["calibration"]["policy"], "none");
    // Beside other work, the tasks of a real run may take times that no replay repeats.
    if advice["calibration"]["calibrated"] == true {
        let [_, most] = gain(application, "policy pace");
        assert!(most > 2.0, "{advice}");
    }
    let tried = advice["tried"].as_array().unwrap();
    let changed: Vec<&Value> = tried.iter().filter_map(|one| one["settings"].get(0)).collect();
    assert!(changed.iter().all(|one| one["name"] == "policy" && one["recorded"] == "none"), "{advice}");
}

/// The advice for the journal of a run without copies on the nodes n1 and n2 of four slots each: tasks that take about `typical` seconds on
/// n1, and `slowness` times as long on n2, start in their order on the slots that are free first.
fn advice_for_journal(tasks: usize, typical: f64, slowness: f64) -> Value {
    let mut lines: Vec<(f64, u8, String)> = Vec::new();
    for node in 0..2 {
        let joined = json!({"node": node, "name": format!("n{}", node + 1), "capacity": [4000, 0, 0, 0, 0, 0, 0, 0], "speed": 1.0});
        lines.push((0.0, 0, json!({"event": {"node_joined": joined}}).to_string()));
    }
    let phase =
        json!({"name": "work", "after": [], "tasks": tasks, "demand": {"cpus": 1.0}, "mean": 1.0, "assumed": true});
    let job =
        json!({"job": 0, "spec": {"name": "job", "arrival": 0, "deadline": null, "weight": 1.0, "phases": [phase]}});
    lines.push((0.0, 1, json!({"event": {"job_arrived": job}}).to_string()));
    let mut free: Vec<(f64, u32)> = (0..8).map(|slot| (0.0, slot / 4)).collect();
    for (task, factor) in alike(tasks as u32).enumerate() {
        free.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let (start, node) = free[0];
        let end = start + typical * factor * if node == 1 { slowness } else { 1.0 };
        free[0].0 = end;
        let attempt = json!({"task": {"job": 0, "phase": 0, "index": task}, "copy": 0});
        let started = json!({"start": {"attempt": attempt, "node": node, "from_progress": 0.0}});
        lines.push((start, 3, json!({"decision": started}).to_string()));
        lines.push((end, 2, json!({"event": {"attempt_finished": {"attempt": attempt}}}).to_string()));
    }
    lines.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut text = json!({"hindmost_journal": 1, "dimensions": ["cpus", "memory"], "policy": "none", "order": "fifo", "gamma": 1.0,
        "knowledge": "progress(0.1)"})
    .to_string();
    for (at, _, line) in lines {
        let _ = write!(text, "\n{{\"at\":{},{}", (at * 1e9).round() as u64, &line[1..]);
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal.jsonl");
    fs::write(&path, text + "\n").unwrap();
    printed(&["advise", path.to_str().unwrap(), "--json"])["logs"][0]["applications"][0].clone()
}

/// The forecast for policy `pace`: the least and the largest gain as shares of the wall time, and whether it is recommended.
fn pace_would_gain(application: &Value) -> (f64, f64, bool) {
    let advice = &application["advice"];
    assert_eq!(advice["calibration"]["calibrated"], true, "{advice}");
    let tried = advice["tried"].as_array().unwrap();
    let pace = tried.iter().find(|one| one["title"] == "policy pace").unwrap();
    let end = |at: usize| pace["gain_share_range"][at].as_f64().unwrap();
    (end(0), end(1), pace["recommended"] == true)
}

#[test]
fn pace_gains_where_a_node_is_slow() {
    // At 16 s the first node has done 64 tasks and the other one 8. Then 4 tasks start on the slow node, which end at 24 s. If the
    // first node does them, all tasks have ended at about 18 s.
    let application = advice_for_journal(80, 1.0, 8.0);
    assert_eq!(application["slow_nodes"][0]["node"], "n2", "{application}");
    let (least, most, is_recommended) = pace_would_gain(&application);
    assert!(least > 0.18 && most < 0.3 && is_recommended, "{least} to {most}");
    // Nodes that are alike: nothing to gain.
    let application = advice_for_journal(83, 1.0, 1.0);
    if !application["advice"].is_null() {
        let (least, most, is_recommended) = pace_would_gain(&application);
        assert!(least.abs() < 0.02 && most.abs() < 0.02 && !is_recommended, "{least} to {most}");
    }
}

#[test]
fn a_node_that_may_be_slow_leaves_the_gain_open() {
    // The second node runs few of the 24 tasks, 4 at a time. That is too little to prove that it is slow. If it is, the first node would do
    // the last tasks 3 s sooner.
    let application = advice_for_journal(24, 1.5, 4.0);
    assert_eq!(application["slow_nodes"], json!([]), "{application}");
    let (least, most, is_recommended) = pace_would_gain(&application);
    assert!(least > -0.2 && least <= 0.0 && most > 0.15 && most < 0.3 && !is_recommended, "{least} to {most}");
}

#[test]
fn real_logs_are_replayed_within_a_tenth() {
    let Some(folder) = hindmost_testing::data("") else { return };
    let logs = [
        "spark/application_1506645932520_24630151",
        "spark/application_1538416563558_0014",
        "spark/application_1628109047826_1317105",
        "spark/eventlog_4nodes_8cores_dynamic_alloc",
        "spark/join_agg_yarn_emr_attempt_1_eventlog",
        "spark/rp_sql_eventlog",
        "spark/sparklint-1.5-event_log_1",
        "spark/straggler-app-20261121002735-0000",
        "spark/straggler-app-20261121002855-0002",
        "more/spark/app-20150427150733-0000.inprogress",
        "more/spark/sparklint_event_log_example",
        "more/spark/delight_event_log.txt",
        "more/spark/databricks_example_1",
        "more/spark/nds_q72_dataproc_2_2.zstd",
        "more/spark/rp_nosql_eventlog",
        "more/hadoop/input-trace.json",
        "hadoop/folder-input-trace.json.gz",
    ];
    for log in logs {
        let path = folder.join(log);
        let replayed = printed(&["replay", path.to_str().unwrap(), "--policy", "none", "--json"]);
        let recorded = &replayed["recorded"][0];
        assert!((ratio(recorded) - 1.0).abs() < 0.1, "{log}: {recorded}");
    }
}

#[test]
fn copies_are_not_recommended_where_tasks_write_directly() {
    let seconds = || alike(40).enumerate().map(|(task, seconds)| if task == 12 { 21.0 } else { seconds });
    let mut log = Log::scheduled(&FOUR, seconds());
    log.settings = vec![("spark.hadoop.mapred.output.committer.class", "a.DirectFileOutputCommitter")];
    let (_, application) = log.tried();
    let advice = &application["advice"];
    let tried = advice["tried"].as_array().unwrap();
    assert!(tried.iter().all(|one| one["is_about_copies"] == false || one["recommended"] == false), "{advice}");
    let held = tried.iter().find(|one| one["title"].as_str().unwrap().starts_with("speculation")).unwrap();
    assert!(held["condition"].as_str().unwrap().contains("directly"), "{held}");
    assert!(advice["warnings"][0].as_str().unwrap().contains("corrupt"), "{advice}");
}
