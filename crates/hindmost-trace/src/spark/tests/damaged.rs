//! Tests with logs whose lines contradict each other.

use proptest::prelude::*;

use super::log::{Log, Task, diagnose_spark, task};

/// A line of a log that has two stages.
#[derive(Clone, Debug)]
enum Line {
    Submitted { stage: i64, attempt: i64, tasks: i64 },
    Completed { stage: i64, attempt: i64, tasks: i64, failed: bool },
    JobEnd,
    End { stage: i64, stage_attempt: i64, index: i64, partition: Option<i64>, attempt: i64, reason: usize },
}

fn line() -> impl Strategy<Value = Line> {
    let end = (0..2_i64, 0..2_i64, 0..3_i64, proptest::option::weighted(0.7, 0..4_i64), 0..3_i64, 0..8_usize);
    prop_oneof![
        1 => (0..2_i64, 0..2_i64, 1..4_i64).prop_map(|(stage, attempt, tasks)| Line::Submitted { stage, attempt, tasks }),
        1 => (0..2_i64, 0..2_i64, 1..4_i64, any::<bool>())
            .prop_map(|(stage, attempt, tasks, failed)| Line::Completed { stage, attempt, tasks, failed }),
        1 => Just(Line::JobEnd),
        6 => end.prop_map(|(stage, stage_attempt, index, partition, attempt, reason)| Line::End {
            stage, stage_attempt, index, partition, attempt, reason
        }),
    ]
}

fn log(lines: &[Line]) -> Log {
    let mut log = Log::new().executor("1", 4).job(0, 0, &[(0, &[]), (1, &[0])]);
    for (at, line) in (1..).zip(lines) {
        log = match *line {
            Line::Submitted { stage, attempt, tasks } => log.submitted(stage, attempt, tasks),
            Line::Completed { stage, attempt, tasks, failed } => {
                log.completed(stage, attempt, tasks, if failed { "lost" } else { "" })
            }
            Line::JobEnd => log.job_end(0, at * 100),
            Line::End { stage, stage_attempt, index, partition, attempt, reason } => {
                let reason = ["Success", "TaskKilled", "FetchFailed", "Resubmitted"][reason.saturating_sub(4)];
                log.task(Task {
                    stage_attempt,
                    partition,
                    attempt,
                    reason,
                    ..task(stage, index, at * 100, at * 100 + 50)
                })
            }
        };
    }
    log.end(100_000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(2000, 20000)))]

    #[test]
    fn counts_and_findings_agree_on_tasks(lines in proptest::collection::vec(line(), 0..14)) {
        let log = log(&lines);
        let (summary, findings, _) = diagnose_spark(log.0.as_bytes()).unwrap();
        prop_assert_eq!(findings.tasks, summary.spark.unwrap().winners, "{}", log.0);
    }
}
