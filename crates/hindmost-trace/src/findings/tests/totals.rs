use super::super::Gathering;
use super::world::{World, findings, log_normal, of_phase, phase, recording, succeeded};
use crate::recording::{AttemptRow, Ended, PhaseRows};

fn ended(task: u32, end: f64, ended: Ended, speculative: bool) -> AttemptRow {
    AttemptRow { ended, speculative, ..succeeded(task, 0.0, end) }
}

#[test]
fn the_first_success_wins_and_the_others_lose() {
    let (findings, found) = of_phase(&[
        ended(0, 1.0, Ended::Failed, false),
        ended(0, 3.0, Ended::Succeeded, false),
        ended(0, 4.0, Ended::Succeeded, true),
        ended(1, 7.0, Ended::Killed, false),
        ended(1, 8.0, Ended::Succeeded, true),
        ended(2, 16.0, Ended::Succeeded, false),
        ended(2, 32.0, Ended::Killed, true),
        ended(3, 64.0, Ended::Killed, false),
        ended(3, 128.0, Ended::Failed, true),
    ]);
    assert_eq!(found.tasks, 3);
    let attempts = found.attempts;
    assert_eq!([attempts.ended, attempts.succeeded, attempts.failed, attempts.killed], [9, 4, 2, 3]);
    let speculation = found.speculation;
    assert_eq!([speculation.started, speculation.won, speculation.lost], [4, 1, 3]);
    assert_eq!([speculation.won_seconds, speculation.lost_seconds], [8.0, 4.0 + 32.0 + 128.0]);
    let time = found.machine_time;
    assert_eq!([time.winners, time.losers], [3.0 + 8.0 + 16.0, 4.0 + 7.0 + 32.0]);
    assert_eq!([time.failed, time.killed, time.total], [129.0, 64.0, 263.0]);
    assert_eq!((found.durations.max, found.durations.p50), (Some(16.0), Some(8.0)));
    assert_eq!((findings.attempts, findings.machine_time, findings.speculation), (attempts, time, speculation));
    assert_eq!(findings.jobs[0].losers_seconds, 43.0);
}

#[test]
fn interrupted_attempts_are_no_losers() {
    for (last, losers, killed) in [(Ended::Killed, 4.0, 0.0), (Ended::Interrupted, 0.0, 4.0)] {
        let (_, found) = of_phase(&[ended(0, 4.0, last, false), ended(0, 8.0, Ended::Succeeded, false)]);
        assert_eq!((found.machine_time.losers, found.machine_time.killed), (losers, killed));
        assert_eq!((found.attempts.killed, found.machine_time.winners), (1, 8.0));
    }
}

#[test]
fn attempts_without_times_count_but_take_no_time() {
    let (findings, found) = of_phase(&[
        succeeded(0, 0.0, 8.0),
        ended(1, f64::NAN, Ended::Succeeded, true),
        ended(1, 4.0, Ended::Killed, false),
        succeeded(2, 9.0, f64::NAN),
        succeeded(3, 5.0, 3.0),
        AttemptRow { ended: Ended::Failed, ..succeeded(4, -1.0, 1e13) },
    ]);
    assert_eq!((found.tasks, found.attempts.ended, found.attempts.succeeded), (4, 6, 4));
    assert_eq!((found.speculation.won, found.speculation.won_seconds), (1, 0.0));
    // The copy that won at an unknown time overtook the original.
    let time = found.machine_time;
    assert_eq!([time.total, time.winners, time.losers, time.failed], [12.0, 8.0, 4.0, 0.0]);
    assert_eq!((found.start, found.finish, found.durations.max), (Some(-1.0), Some(8.0), Some(8.0)));
    assert_eq!((findings.jobs[0].tasks, findings.jobs[0].span), (4, 9.0));
    // A phase without any known time.
    let (_, unknown) = of_phase(&[succeeded(0, f64::NAN, f64::NAN)]);
    assert_eq!((unknown.tasks, unknown.start, unknown.durations.p50), (1, None, None));
}

/// Twenty tasks of a phase, of which one takes until `last` and the others 10 s.
fn waits(number: u32, job: &str, last: f64) -> PhaseRows {
    let rows = (0..20).map(|task| succeeded(task, 0.0, if task == 19 { last } else { 10.0 }));
    PhaseRows { name: Some(format!("p{number}")), job: Some(job.to_owned()), ..phase(number, rows.collect()) }
}

#[test]
fn overlapping_waits_of_one_job_count_once() {
    // The two phases of the first job wait from 10 s to 30 s and from 10 s to 50 s; the phase of the second job waits
    // from 10 s to 110 s.
    let phases = [(0, "a", 30.0), (1, "a", 50.0), (2, "b", 110.0)].map(|(number, job, last)| waits(number, job, last));
    let phases = phases.map(|phase| PhaseRows { tasks: Some(20), ..phase });
    let findings = findings(&[recording(0, phases.to_vec())]);
    let waited: Vec<_> = findings.jobs.iter().map(|job| (job.job.as_deref(), job.waiting.seconds, job.span)).collect();
    assert_eq!(waited, [(Some("b"), 100.0, 110.0), (Some("a"), 40.0, 50.0)]);
    assert_eq!((findings.waiting.seconds, findings.waiting.share), (140.0, Some(140.0 / 160.0)));
    let names: Vec<_> = findings.phases.iter().map(|phase| (phase.name.as_deref(), phase.tasks_stated)).collect();
    assert_eq!(names, [(Some("p2"), Some(20)), (Some("p1"), Some(20)), (Some("p0"), Some(20))]);
}

#[test]
fn totals_include_phases_that_are_not_listed() {
    let phases = 3000;
    // Every tenth phase waits; each of these waits longer than the one before it.
    let last = |number: u32| if number.is_multiple_of(10) { 10.0 + f64::from(number) } else { 10.0 };
    let mut all: Vec<PhaseRows> =
        (0..phases).map(|number| waits(number, &format!("j{}", number / 2), last(number))).collect();
    for phase in &mut all[..2999] {
        phase.rows.push(ended(19, 2.0, Ended::Killed, true));
        phase.rows.last_mut().unwrap().wins = false;
    }
    let findings = findings(&[recording(0, all)]);
    assert_eq!((findings.phases.len(), findings.left_out), (256, u64::from(phases) - 256));
    let numbers: Vec<u32> = findings.phases.iter().map(|phase| phase.phase).collect();
    assert_eq!(numbers, (0..256).map(|at| 2990 - 10 * at).collect::<Vec<_>>());
    assert_eq!((findings.tasks, findings.attempts.ended), (60_000, 60_000 + 2999));
    assert_eq!((findings.speculation.lost, findings.speculation.lost_seconds), (2999, 5998.0));
    assert_eq!(findings.machine_time.losers, 5998.0);
    let waited: f64 = (0..300).map(|at| f64::from(10 * at)).sum();
    assert_eq!(findings.waiting.seconds, waited);
    assert_eq!((findings.jobs.len(), findings.jobs_left_out), (64, 1500 - 64));
    assert_eq!((findings.jobs[0].job.as_deref(), findings.jobs[0].waiting.seconds), (Some("j1495"), 2990.0));
    // The last task of phase 0 takes 10 s and is no straggler. The last task of phase 10 takes 20 s and is one.
    assert_eq!(findings.stragglers.tasks, 299);
}

#[test]
fn later_parts_of_a_phase_add_to_it() {
    let part = |number: u32, first: u32, last: f64| {
        let rows = (0..10).map(|task| succeeded(first + task, 0.0, if task == 9 { last } else { 10.0 })).collect();
        recording(0, vec![phase(number, rows)])
    };
    // The third part comes after 40 other phases.
    let mut parts = vec![part(0, 0, 10.0), part(0, 10, 40.0)];
    parts.extend((1..41).map(|number| part(number, 0, 10.0)));
    parts.push(part(0, 20, 90.0));
    let mut all = Gathering::default();
    for part in &parts {
        all.add(part);
    }
    let findings = all.findings(&[]);
    assert_eq!((findings.phases.len(), findings.left_out), (41, 0));
    let found = findings.phases.iter().find(|found| found.phase == 0).unwrap();
    assert_eq!((found.tasks, found.attempts.ended, found.machine_time.winners), (30, 30, 410.0));
    assert_eq!((found.waiting.seconds, found.durations.max), (50.0, Some(90.0)));
    assert_eq!((findings.tasks, findings.jobs[0].tasks), (430, 430));
}

#[test]
fn long_names_are_shortened() {
    let rows = PhaseRows { name: Some("é".repeat(1 << 20)), ..phase(9, vec![succeeded(0, 0.0, 1.0)]) };
    let findings = findings(&[recording(1, vec![rows])]);
    let name = findings.phases[0].name.as_deref().unwrap();
    assert!(name.chars().count() == 501 && name.ends_with('…'));
}

#[test]
fn json_keys_are_as_documented() {
    let world = World { slowness: |node| if node == 0 { 3.0 } else { 1.0 }, ..World::new(4, log_normal(10.0, 0.1)) };
    let phases = (0..8).map(|number| phase(number, world.attempts(number, 60)));
    let document = serde_json::to_value(findings(&[recording(0, phases.collect())])).unwrap();
    let keys = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(
        keys(&document),
        "tasks attempts speculation machine_time waiting stragglers phases jobs failing_nodes slow_nodes nodes_tested left_out \
         jobs_left_out"
    );
    assert_eq!(
        keys(&document["phases"][0]),
        "application phase name job tasks tasks_stated attempts speculation machine_time start finish durations waiting \
         stragglers skew fit"
    );
    assert_eq!(keys(&document["waiting"]), "seconds share");
    assert_eq!(keys(&document["stragglers"]), "tasks excess_seconds skew slow_node other unclassified");
    assert_eq!(keys(&document["slow_nodes"][0]), "node tasks phases ratio ratio_ci95 p p_corrected stragglers");
    assert_eq!(keys(&document["phases"][0]["fit"]), "count pareto hill log_normal comparison preferred reason");
    assert_eq!(keys(&document["phases"][0]["fit"]["hill"]), "alpha alpha_ci95 tail threshold goodness");
}
