use hindmost_trace::analysis::{Analysis, Ended, EndedAttempt, PhaseFacts, PhaseKey};
use proptest::prelude::*;

fn time() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![
        4 => (0u32..200_000).prop_map(|ms| Some(f64::from(ms) / 1000.0)),
        1 => Just(Some(5.0)),
        1 => any::<f64>().prop_map(Some),
        1 => Just(None),
    ]
}

fn attempt() -> impl Strategy<Value = EndedAttempt> {
    let ended = prop_oneof![
        6 => Just(Ended::Succeeded),
        1 => Just(Ended::Failed),
        2 => Just(Ended::Killed),
        1 => Just(Ended::Interrupted),
    ];
    let task = prop_oneof![20 => 0u32..60, 1 => any::<u32>()];
    let bytes = prop_oneof![Just(None), Just(Some(0)), any::<u64>().prop_map(Some), (0u64..1000).prop_map(Some)];
    let flags = (any::<bool>(), prop::bool::weighted(0.1));
    (task, prop::option::of(0u32..4), time(), time(), bytes, flags, ended).prop_map(
        |(task, node, start, end, bytes_read, (speculative, repeated), ended)| EndedAttempt {
            task,
            node,
            start,
            end,
            bytes_read,
            speculative,
            repeated,
            ended,
        },
    )
}

fn log() -> impl Strategy<Value = Vec<(PhaseKey, EndedAttempt)>> {
    let key = (0u32..2, 0u32..4).prop_map(|(application, phase)| PhaseKey { application, phase });
    prop::collection::vec((key, attempt()), 0..400)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(150, 1500)))]

    #[test]
    fn findings_of_any_log_add_up(log in log(), closed in prop::collection::vec(any::<bool>(), 400)) {
        let mut analysis = Analysis::new();
        for ((key, attempt), closed) in log.iter().zip(closed) {
            analysis.phase(*key, PhaseFacts::default());
            analysis.ended(*key, attempt);
            if closed {
                analysis.closed(*key);
            }
        }
        let findings = analysis.findings(&|node| format!("h{node}"));
        prop_assert_eq!(findings.attempts.ended, log.len() as u64);
        let count = |ended| log.iter().filter(|(_, attempt)| attempt.ended == ended).count() as u64;
        prop_assert_eq!(findings.attempts.succeeded, count(Ended::Succeeded));
        prop_assert_eq!(findings.attempts.failed, count(Ended::Failed));
        prop_assert_eq!(findings.attempts.killed, count(Ended::Killed) + count(Ended::Interrupted));
        let winners: std::collections::BTreeSet<_> =
            log.iter().filter(|(_, a)| a.ended == Ended::Succeeded && !a.repeated).map(|(key, a)| (*key, a.task)).collect();
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
    fn the_order_of_phases_makes_no_difference(log in log(), reversed in any::<bool>()) {
        let name = |node| format!("h{node}");
        let mut in_order = Analysis::new();
        for (key, attempt) in &log {
            in_order.ended(*key, attempt);
        }
        let mut by_phase: Vec<_> = log.clone();
        by_phase.sort_by_key(|(key, _)| if reversed { (u32::MAX - key.application, u32::MAX - key.phase) } else { (key.phase, key.application) });
        let mut sorted = Analysis::new();
        for (at, (key, attempt)) in by_phase.iter().enumerate() {
            sorted.ended(*key, attempt);
            if by_phase.get(at + 1).is_none_or(|(next, _)| next != key) {
                sorted.closed(*key);
            }
        }
        prop_assert_eq!(serde_json::to_string(&in_order.findings(&name)).ok(), serde_json::to_string(&sorted.findings(&name)).ok());
    }
}
