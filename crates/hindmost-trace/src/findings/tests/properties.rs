use proptest::prelude::*;

use super::super::Gathering;
use super::world::{findings, phase, recording};
use crate::recording::{AttemptRow, Ended, Recording, TaskTimes, UNKNOWN};

fn time() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (0u32..200_000).prop_map(|ms| f64::from(ms) / 1000.0),
        1 => Just(5.0),
        1 => Just(f64::NAN),
    ]
}

fn attempt() -> impl Strategy<Value = AttemptRow> {
    let ended = prop_oneof![
        6 => Just(Ended::Succeeded),
        1 => Just(Ended::Failed),
        2 => Just(Ended::Killed),
        1 => Just(Ended::Interrupted),
    ];
    let task = prop_oneof![20 => 0u32..60, 1 => any::<u32>()];
    let bytes = prop_oneof![Just(None), Just(Some(0)), any::<u64>().prop_map(Some), (0u64..1000).prop_map(Some)];
    let flags = (any::<bool>(), prop::bool::weighted(0.1));
    (task, prop_oneof![1 => Just(UNKNOWN), 4 => 0u32..4], time(), time(), bytes, flags, ended).prop_map(
        |(task, executor, start, end, bytes_read, (speculative, repeated), ended)| AttemptRow {
            task,
            executor,
            start,
            end,
            bytes_read,
            spent: TaskTimes::default(),
            ended,
            wins: false,
            speculative,
            repeated,
            is_unmatched: false,
        },
    )
}

/// Number of the application, number of the phase, and an attempt.
type Row = (u32, u32, AttemptRow);

fn log() -> impl Strategy<Value = Vec<Row>> {
    prop::collection::vec((0u32..2, 0u32..4, attempt()), 0..400)
}

fn recordings(log: &[Row]) -> Vec<Recording> {
    let rows = |application, number| {
        let own = log.iter().filter(move |(of, phase, _)| (*of, *phase) == (application, number));
        own.map(|(.., row)| *row).collect::<Vec<_>>()
    };
    let phases = |application| (0..4).map(|number| phase(number, rows(application, number))).collect();
    (0..2).map(|application| recording(application, phases(application))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(150, 1500)))]

    #[test]
    fn findings_of_any_log_add_up(log in log()) {
        let findings = findings(&recordings(&log));
        prop_assert_eq!(findings.attempts.ended, log.len() as u64);
        let count = |ended| log.iter().filter(|(.., row)| row.ended == ended).count() as u64;
        prop_assert_eq!(findings.attempts.succeeded, count(Ended::Succeeded));
        prop_assert_eq!(findings.attempts.failed, count(Ended::Failed));
        prop_assert_eq!(findings.attempts.killed, count(Ended::Killed) + count(Ended::Interrupted));
        let winners: std::collections::BTreeSet<_> =
            log.iter().filter(|(.., a)| a.ended == Ended::Succeeded && !a.repeated).map(|(of, phase, a)| (*of, *phase, a.task)).collect();
        prop_assert_eq!(findings.tasks, winners.len() as u64);
        let speculation = findings.speculation;
        prop_assert_eq!(speculation.started, speculation.won + speculation.lost);
        let time = findings.machine_time;
        let parts = time.winners + time.losers + time.repeated + time.failed + time.killed;
        prop_assert!((time.total - parts).abs() <= 1e-9 * time.total.max(1.0), "{:?}", time);
        let s = findings.stragglers;
        prop_assert_eq!(s.tasks, s.skew + s.slow_node + s.other + s.unclassified);
        prop_assert_eq!(s.tasks, findings.phases.iter().map(|phase| phase.stragglers.tasks).sum::<u64>());
        prop_assert_eq!(findings.phases.iter().map(|phase| phase.attempts.ended).sum::<u64>(), log.len() as u64);
        for waiting in findings.phases.iter().map(|phase| phase.waiting).chain(findings.jobs.iter().map(|job| job.waiting)) {
            prop_assert!(waiting.seconds >= 0.0 && waiting.share.is_none_or(|share| (0.0..=1.0).contains(&share)));
        }
        prop_assert!(serde_json::to_string(&findings).is_ok());
    }

    #[test]
    fn the_order_of_phases_makes_no_difference(log in log()) {
        let json = |recordings: &[Recording]| {
            let mut all = Gathering::default();
            for recording in recordings {
                all.add(recording);
            }
            serde_json::to_string(&all.findings(&[])).unwrap()
        };
        let in_order = recordings(&log);
        let mut backwards = in_order.clone();
        backwards.reverse();
        for recording in &mut backwards {
            recording.phases.reverse();
            recording.without_times.reverse();
        }
        prop_assert_eq!(json(&in_order), json(&backwards));
    }
}
