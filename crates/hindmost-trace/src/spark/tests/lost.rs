//! Tests with logs that have missing or duplicate lines, lost outputs, or tasks that run again.

use super::log::{Log, Task, ZERO, diagnose_spark, read_spark, recorded, task, warning};
use crate::testing::Outcome;
use hindmost_core::metrics::Findings;

/// Returns a log of a job with one stage of four tasks, which take 100 to 103 ms.
fn four() -> Log {
    let mut log = Log::new().executor("1", 4).job(0, 0, &[(0, &[])]).submitted(0, 0, 4);
    for index in 0..4 {
        log = log.task(task(0, index, 0, 100 + index));
    }
    log.completed(0, 0, 4, "").job_end(0, 200).end(300)
}

/// Returns the log without the lines that contain one of the texts.
fn without(log: &Log, texts: &[&str]) -> Log {
    let kept = log.0.lines().filter(|line| !texts.iter().any(|text| line.contains(text)));
    Log(kept.map(|line| [line, "\n"].concat()).collect())
}

fn findings(log: &Log) -> Findings {
    diagnose_spark(log.0.as_bytes()).unwrap().1
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
}

#[test]
fn a_task_without_any_line_gives_a_warning() {
    assert_eq!(four().read().summary().warnings, [""; 0]);
    let log = without(&four(), &[r#""Index":2}"#, r#""Index":2,"#]);
    let trace = log.read();
    assert_eq!((trace.summary().tasks, trace.summary().attempts), (3, 3));
    assert_eq!(
        trace.summary().warnings,
        ["1 task is not in the log although its stage succeeded: lines of the log are missing."]
    );
    // If the stage failed, some tasks may never have started, so there is no warning.
    let failed = Log(log.0.replace(r#""Parent IDs":[]}}"#, r#""Parent IDs":[],"Failure Reason":"x"}}"#));
    assert_eq!(failed.read().summary().warnings, [""; 0]);
}

#[test]
fn a_stage_without_its_job_gives_a_warning() {
    let log = without(&four(), &["JobStart", "StageSubmitted"]);
    let trace = log.read();
    assert_eq!((trace.summary().jobs, trace.summary().tasks), (0, 4));
    assert_eq!(trace.summary().spark.unwrap().stages_without_job, 1);
    assert_eq!(
        trace.summary().warnings[0],
        "1 stage ran for no job in the log: the start of its job is missing; left out of replays."
    );
    assert_eq!(trace.workload_jobs().len(), 0);
}

#[test]
fn missing_starts_and_ends_are_counted_separately() {
    let none = without(&four(), &["TaskStart"]).read();
    assert_eq!(
        none.summary().warnings,
        [
            "4 task end events but no task start event in the log: which attempts were running when the log ends is unknown."
        ]
    );
    // A start and the end of another attempt do not compensate for each other.
    let log = Log::new()
        .executor("1", 2)
        .job(0, 0, &[(0, &[])])
        .task(task(0, 0, 0, 10))
        .task_start(task(0, 1, 0, 10))
        .task_end(task(0, 2, 0, 10))
        .end(20);
    let trace = log.read();
    warning(trace.summary(), "1 attempt was still running when the log ends");
    warning(trace.summary(), "1 task end event has no task start event");
    assert_eq!(trace.summary().warnings.len(), 2);
}

#[test]
fn an_attempt_that_ends_before_its_start_has_no_duration() {
    let log = Log::new()
        .executor("1", 2)
        .job(0, 0, &[(0, &[])])
        .task(task(0, 0, 0, 100))
        .task(task(0, 1, 500, 400))
        .task(Task { reason: "TaskKilled", attempt: 1, ..task(0, 0, 90, 80) })
        // An attempt may end in the millisecond in which it started.
        .task(task(0, 2, 70, 70))
        .end(600);
    let trace = log.read();
    assert_eq!(
        trace.summary().warnings,
        ["2 attempts finish before their launch: their durations are unknown; left out of replays."]
    );
    assert_eq!(recorded(&trace.workload_jobs()[0].durations[0]), [0.1, 0.001]);
    let killed = &trace.attempts()[0];
    assert_eq!((killed.outcome, killed.launch, killed.finish), (Outcome::Lost, None, None));
    assert_eq!(findings(&log).phases[0].durations.max, Some(0.1));
}

#[test]
fn duplicate_lines_are_counted_once() {
    let once = four();
    let twice = Log(once.0.lines().map(|line| [line, "\n", line, "\n"].concat()).collect());
    // Drops the duplicate header, which would begin a second application.
    let twice = Log(twice.0.split_once('\n').unwrap().1.to_owned());
    let trace = twice.read();
    let mut summary = trace.summary().clone();
    assert_eq!(summary.warnings, ["4 task end events are in the log twice; counted once."]);
    summary.warnings.clear();
    assert_eq!(summary, *once.read().summary());
    assert_eq!(findings(&twice), findings(&once));
    assert_eq!(trace.workload_jobs(), once.read().workload_jobs());
    assert_eq!(trace.attempts().len(), 0);
    // Duplicates are also recognised long after the stage ended, and for failed and killed attempts.
    let mut log = once.clone();
    for reason in ["ExceptionFailure", "TaskKilled"] {
        let attempt = if reason == "TaskKilled" { 1 } else { 2 };
        log = log.task(Task { attempt, reason, ..task(1, 0, 0, 50) });
    }
    let again = without(&Log(log.0.clone()), &["Application", "LogStart"]);
    let trace = Log(log.0 + &again.0).read();
    assert_eq!((trace.summary().attempts, trace.summary().failed_attempts, trace.summary().killed_attempts), (6, 1, 1));
    warning(trace.summary(), "6 task end events are in the log twice");
}

#[test]
fn shared_task_ids_are_ignored() {
    let once = four();
    let shared: Vec<String> = once
        .0
        .lines()
        .map(|line| match line.find(r#""Task ID":"#) {
            Some(at) => {
                let end = at + line[at..].find(',').unwrap();
                format!("{}\"Task ID\":0{}\n", &line[..at], &line[end..])
            }
            None => [line, "\n"].concat(),
        })
        .collect();
    assert_eq!(*Log(shared.concat()).read().summary(), *once.read().summary());
}

#[test]
fn a_lost_output_counts_for_the_attempt_that_made_it() {
    let first = Task { executor: "1", host: "h1", ..task(0, 0, 0, 10_000) };
    let second = Task { executor: "2", host: "h2", ..task(0, 1, 0, 20_000) };
    let log = Log::new()
        .executor("1", 1)
        .executor("2", 2)
        .job(0, 0, &[(0, &[])])
        .submitted(0, 0, 2)
        .task(first)
        .task(Task { reason: "Resubmitted", ..first })
        .task_start(Task { attempt: 1, ..first })
        .task(second)
        .task_end(Task { attempt: 1, executor: "2", host: "h2", time: (15_100, 25_000), ..first })
        .completed(0, 0, 2, "")
        .job_end(0, 25_001)
        .end(26_000);
    let trace = log.read();
    let summary = trace.summary();
    assert_eq!(summary.warnings, [""; 0]);
    assert_eq!((summary.attempts, summary.failed_attempts, summary.killed_attempts), (4, 0, 0));
    let counts = summary.spark.unwrap();
    assert_eq!((counts.outputs_lost, counts.winners), (1, 2));
    assert!(summary.failures.is_empty());
    let findings = findings(&log);
    assert_eq!(findings.attempts.ended + counts.outputs_lost, summary.attempts);
    assert_eq!([findings.attempts.succeeded, findings.attempts.failed], [3, 0]);
    let time = findings.machine_time;
    close(time.winners, 30.0);
    close(time.repeated, 9.9);
    assert_eq!((time.losers, time.failed), (0.0, 0.0));
    assert_eq!(recorded(&trace.workload_jobs()[0].durations[0]), [10.0, 20.0]);
    assert_eq!(trace.attempts().iter().map(|attempt| attempt.outcome).collect::<Vec<_>>(), [Outcome::Repeated]);
    // A loss of output counts once, even if its event is in the log twice.
    let again = Log(log.0.replace(
        &log.0.lines().find(|line| line.contains("Resubmitted")).map(|line| [line, "\n"].concat()).unwrap(),
        &log.0
            .lines()
            .filter(|line| line.contains("Resubmitted"))
            .map(|line| [line, "\n", line, "\n"].concat())
            .collect::<String>(),
    ));
    assert_eq!((again.read().summary().attempts, again.read().summary().spark.unwrap().outputs_lost), (4, 1));
}

/// Returns a log of a stage of four maps, followed by a stage of four reduces. A fetch fails when two reduces have
/// finished and one is still running. Maps 1 and 3 run again, then reduces 2 and 3 run.
fn fetch_failure(partitions: bool) -> Log {
    let named = |partition| partitions.then_some(partition);
    let mut log = Log::new().executor("1", 4).job(0, 0, &[(0, &[]), (1, &[0])]).submitted(0, 0, 4);
    for index in 0..4 {
        log = log.task(Task { partition: named(index), ..task(0, index, 1000, 2000 + index) });
    }
    log = log.completed(0, 0, 4, "").submitted(1, 0, 4);
    let reduce = |index, finish| Task { partition: named(index), ..task(1, index, 2020, finish) };
    log = log
        .task(reduce(0, 3000))
        .task(reduce(1, 3001))
        .task(Task { reason: "FetchFailed", ..reduce(2, 3002) })
        .completed(1, 0, 4, "org.apache.spark.shuffle.FetchFailedException")
        .task(Task { reason: "TaskKilled", more: r#","Kill Reason":"Stage finished""#, ..reduce(3, 3500) })
        .submitted(0, 1, 2);
    for (index, partition) in [(0, 1), (1, 3)] {
        let again = task(0, index, 3600, 4000 + index);
        log = log.task(Task { stage_attempt: 1, partition: named(partition), ..again });
    }
    log = log.completed(0, 1, 2, "").submitted(1, 1, 2);
    for (index, partition) in [(0, 2), (1, 3)] {
        let again = task(1, index, 4020, 5000 + index);
        log = log.task(Task { stage_attempt: 1, partition: named(partition), ..again });
    }
    log.completed(1, 1, 2, "").job_end(0, 5020).end(6000)
}

#[test]
fn reruns_after_a_fetch_failure_are_not_losers() {
    for partitions in [true, false] {
        let log = fetch_failure(partitions);
        let trace = log.read();
        let summary = trace.summary();
        assert_eq!((summary.tasks, summary.attempts, summary.spark.unwrap().winners), (8, 12, 8));
        assert_eq!((summary.failed_attempts, summary.killed_attempts), (1, 1));
        assert_eq!(
            summary.warnings,
            ["2 stages were submitted more than once; each task counts once, with its first success."],
            "{partitions}"
        );
        let findings = findings(&log);
        let time = findings.machine_time;
        // Losers: the killed reduce. Repeated: the two maps.
        close(time.losers, 1.48);
        close(time.repeated, 0.4 + 0.401);
        close(time.failed, 0.982);
        close(time.winners, 4.006 + 0.98 + 0.981 + 0.98 + 0.981);
        assert_eq!(findings.tasks, 8);
        // Reduces 2 and 3 take as long as in the second submission, whether or not the log names their partitions.
        let jobs = trace.workload_jobs();
        assert_eq!(recorded(&jobs[0].durations[1]), [0.98, 0.981, 0.98, 0.981]);
        assert_eq!(recorded(&jobs[0].durations[0]), [1.0, 1.001, 1.002, 1.003]);
        let mut attempts: Vec<_> = trace.attempts().iter().map(|a| (a.stage, a.outcome)).collect();
        attempts.sort_by_key(|(stage, outcome)| (*stage, format!("{outcome:?}")));
        let repeated = (0, Outcome::Repeated);
        assert_eq!(attempts, [repeated, repeated, (1, Outcome::Failed), (1, Outcome::Lost)]);
    }
}

#[test]
fn attempts_that_cannot_be_matched_give_a_warning() {
    // Map 2 of maps 0, 1 and 2 failed. A second submission runs maps 1 and 2, without naming them.
    let log = Log::new()
        .executor("1", 4)
        .job(0, 0, &[(0, &[])])
        .submitted(0, 0, 3)
        .task(task(0, 0, 0, 1000))
        .task(task(0, 1, 0, 1100))
        .task(Task { reason: "ExecutorLostFailure", ..task(0, 2, 0, 1200) })
        .completed(0, 0, 3, "lost")
        .submitted(0, 1, 2)
        .task(Task { stage_attempt: 1, ..task(0, 0, 2000, 4000) })
        .task(Task { stage_attempt: 1, ..task(0, 1, 2000, 5000) })
        .completed(0, 1, 2, "")
        .job_end(0, 5000)
        .end(6000);
    let trace = log.read();
    let summary = trace.summary();
    assert_eq!((summary.tasks, summary.attempts, summary.spark.unwrap().winners), (3, 5, 2));
    assert_eq!(
        summary.warnings[0],
        "2 attempts of resubmitted stages can't be matched to their tasks, because the log (Spark before 3.3) does not name \
         partitions; 1 task is left out of replays, because the only success may be among these attempts."
    );
    assert!(!summary.warnings.iter().any(|warning| warning.contains("never succeeded")));
    let findings = findings(&log);
    assert_eq!((findings.tasks, findings.attempts.ended), (2, 5));
    assert_eq!(findings.machine_time.losers, 0.0);
    close(findings.machine_time.repeated, 2.0 + 3.0);
    assert_eq!(recorded(&trace.workload_jobs()[0].durations[0]), [1.0, 1.1]);
}

#[test]
fn a_copy_of_a_rerun_task_can_lose() {
    let again = |index, attempt, finish| Task {
        stage_attempt: 1,
        partition: Some(1),
        attempt,
        speculative: attempt > 0,
        ..task(0, index, 3000, finish)
    };
    let log = Log::new()
        .executor("1", 4)
        .job(0, 0, &[(0, &[])])
        .submitted(0, 0, 2)
        .task(Task { partition: Some(0), ..task(0, 0, 0, 1000) })
        .task(Task { partition: Some(1), ..task(0, 1, 0, 1000) })
        .completed(0, 0, 2, "")
        .submitted(0, 1, 1)
        .task(again(0, 0, 4000))
        .task(Task { reason: "TaskKilled", ..again(0, 1, 4005) })
        .job_end(0, 5000)
        .end(6000);
    assert_eq!(read_spark(log.0.as_bytes()).unwrap().summary().attempts, 4);
    let time = findings(&log).machine_time;
    close(time.repeated, 1.0);
    close(time.losers, 1.005);
}

#[test]
fn an_attempt_that_outlives_the_loss_of_its_executor_counts_once() {
    let lost = |task: Task, at: i64| Task { time: (task.time.0, at), reason: "ExecutorLostFailure", ..task };
    let again = |task: Task, at: i64| Task { attempt: 1, executor: "2", time: (at, task.time.1 + at), ..task };
    let [zero, one, two, three] = [0, 1, 2, 3].map(|index| task(0, index, 0, 1000 + 100 * index));
    let log = Log::new()
        .executor("1", 4)
        .executor("2", 4)
        .job(0, 0, &[(0, &[])])
        .submitted(0, 0, 4)
        .task_start(zero)
        .task_start(one)
        .task_start(two)
        .task_start(three)
        // The driver loses the executor of all four, which goes on with the first three.
        .task_end(lost(zero, 400))
        .task_end(lost(one, 400))
        .task_end(lost(two, 400))
        .task_end(lost(three, 400))
        .task(again(three, 500))
        .task_start(again(zero, 500))
        .task_end(zero)
        .task_end(again(zero, 500))
        .task_end(Task { reason: "ExceptionFailure", ..one })
        .task(again(one, 1200))
        .task_end(two)
        .completed(0, 0, 4, "")
        .job_end(0, 4000)
        .end(4000);
    let trace = log.read();
    let summary = trace.summary();
    // Of each of the first three, the last end counts; of the fourth, its only end.
    assert_eq!((summary.attempts, summary.tasks, summary.failed_attempts), (7, 4, 2));
    assert_eq!(summary.failures.keys().map(String::as_str).collect::<Vec<_>>().len(), 2);
    assert_eq!(summary.warnings, ["3 attempts of lost executors ended again; each attempt counts once."]);
    assert_eq!(recorded(&trace.workload_jobs()[0].durations[0]), [1.0, 1.1, 1.2, 1.3]);
    let outcomes: Vec<_> = trace.attempts().iter().map(|a| (a.task, a.attempt, a.outcome)).collect();
    assert_eq!(outcomes, [(1, 0, Outcome::Failed), (3, 0, Outcome::Failed), (0, 1, Outcome::Lost)]);
    let findings = findings(&log);
    assert_eq!((findings.attempts.ended, findings.attempts.failed), (7, 2));
    let time = findings.machine_time;
    close(time.winners, 1.0 + 1.1 + 1.2 + 1.3);
    close(time.failed, 1.1 + 0.4);
    close(time.losers, 1.0);
    close(time.total, time.winners + time.failed + time.losers);
}

#[test]
fn an_attempt_that_outlives_the_failure_of_its_stage_counts_by_its_last_end() {
    // The driver loses the executor of task 0 after 400 ms. A fetch of task 1 fails, and so does the stage, but task 0
    // goes on and ends after a second, while task 1 runs again.
    let zero = Task { partition: Some(0), ..task(0, 0, 0, 1000) };
    let one = Task { partition: Some(1), executor: "2", ..task(0, 1, 0, 500) };
    let again = Task { stage_attempt: 1, index: 0, time: (600, 1300), ..one };
    let log = Log::new()
        .executor("1", 1)
        .executor("2", 1)
        .job(0, 0, &[(0, &[])])
        .submitted(0, 0, 2)
        .task_start(zero)
        .task_start(one)
        .task_end(Task { reason: "ExecutorLostFailure", time: (0, 400), ..zero })
        .task_end(Task { reason: "FetchFailed", ..one })
        .completed(0, 0, 2, "org.apache.spark.shuffle.FetchFailedException")
        .submitted(0, 1, 1)
        .task_start(again)
        .task_end(zero)
        .task_end(again)
        .completed(0, 1, 1, "")
        .job_end(0, 1300)
        .end(1300);
    let trace = log.read();
    let summary = trace.summary();
    assert_eq!((summary.tasks, summary.attempts, summary.failed_attempts), (2, 3, 1));
    assert_eq!(summary.spark.unwrap().winners, 2);
    warning(summary, "1 attempt of a lost executor ended again");
    let time = findings(&log).machine_time;
    close(time.winners, 1.0 + 0.7);
    close(time.failed, 0.5);
    close(time.total, time.winners + time.failed);
}

#[test]
fn a_loss_of_an_executor_counts_when_no_other_end_follows() {
    let lost = Task { reason: "ExecutorLostFailure", ..task(0, 0, 0, 50) };
    let log = Log::new().executor("1", 4).job(0, 0, &[(0, &[])]).submitted(0, 0, 1).task(lost);
    for log in [
        log.clone(),
        // The line is in the log twice; another attempt has the same id; the log goes on with another application.
        log.clone().task_end(lost),
        log.clone().task_end(Task { time: (0, 90), ..task(0, 64, 0, 90) }).completed(0, 0, 1, ""),
        log.clone().application("app-2", 500),
    ] {
        let trace = log.read();
        assert_eq!(trace.summary().failed_attempts, 1, "{:?}", trace.summary());
        close(findings(&log).machine_time.failed, 0.05);
    }
    // An end that follows when the stage is over changes nothing.
    let late = log.task(task(0, 1, 0, 80)).completed(0, 0, 2, "").task_end(task(0, 0, 0, 90)).end(100);
    assert_eq!((late.read().summary().attempts, late.read().summary().failed_attempts), (2, 1));
    close(findings(&late).machine_time.total, 0.05 + 0.08);
}

#[test]
fn a_loser_without_an_end_holds_its_slot() {
    use hindmost_core::metrics::Spent;
    // Two executors of one slot. Task 0 hangs on executor 1 for ever, its copy wins; the tasks of the next stage all run on executor 2.
    let hung = |log: Log| {
        log.event(
            "TaskStart",
            &format!(
                r#""Stage ID":0,"Task Info":{{"Task ID":900,"Index":0,"Launch Time":{ZERO},"Executor ID":"1","Host":"h1"}}"#
            ),
        )
    };
    let on = |task: Task| Task { executor: "2", host: "h2", ..task };
    let log = |hung: &dyn Fn(Log) -> Log| {
        let start = Log::new().executor("1", 1).executor("2", 1).job(0, 0, &[(0, &[])]).submitted(0, 0, 2);
        let mut log = hung(start).task(on(task(0, 1, 0, 1000)));
        log =
            log.task(Task { speculative: true, ..on(task(0, 0, 1000, 2000)) }).completed(0, 0, 2, "").job_end(0, 2000);
        let info = format!(
            r#""Stage Info":{{"Stage ID":1,"Stage Attempt ID":0,"Number of Tasks":4,"Submission Time":{}}}"#,
            ZERO + 2000
        );
        log = log.job(1, 2000, &[(1, &[])]).event("StageSubmitted", &info);
        for at in 0..4 {
            log = log.task(on(task(1, at, 2000 + 1000 * at, 3000 + 1000 * at)));
        }
        log.completed(1, 0, 4, "").job_end(1, 6000).end(6000)
    };
    let waits = |log: &Log| {
        let (.., diagnoses) = diagnose_spark(log.0.as_bytes()).unwrap();
        let parts = diagnoses[0].wall_time.as_ref().unwrap().parts.clone();
        parts.into_iter().find(|part| part.what == Spent::Scheduling).map_or(0.0, |part| part.seconds)
    };
    assert_eq!([waits(&log(&|log| log)), waits(&log(&hung))], [4.0, 0.0]);
}
