use hindmost_math::distribution::Distribution;
use hindmost_math::fit::Preferred;

use super::super::Gathering;
use super::world::{World, log_normal, of_phase, phase, recording, succeeded};
use crate::recording::AttemptRow;

#[test]
fn findings_of_a_small_phase_have_the_expected_values() {
    // 40 tasks start at 0 s: 37 take 10 s, the other three take 12, 20 and 40 s.
    let mut attempts: Vec<_> = (0..37).map(|task| succeeded(task, 0.0, 10.0)).collect();
    attempts.extend([(37, 12.0), (38, 20.0), (39, 40.0)].map(|(task, end)| succeeded(task, 0.0, end)));
    let (findings, found) = of_phase(&attempts);
    assert_eq!((found.tasks, found.attempts.ended, found.attempts.succeeded), (40, 40, 40));
    assert_eq!((found.start, found.finish), (Some(0.0), Some(40.0)));
    let durations = found.durations;
    assert_eq!([durations.p50, durations.p95, durations.max], [Some(10.0), Some(12.0), Some(40.0)]);
    assert_eq!((durations.mean, durations.are_approximate), (Some(442.0 / 40.0), false));
    // The 38th of 40 finished at 12 s.
    assert_eq!((found.waiting.seconds, found.waiting.share), (28.0, Some(0.7)));
    assert_eq!((found.stragglers.tasks, found.stragglers.other, found.stragglers.excess_seconds), (2, 2, 40.0));
    assert_eq!((findings.waiting.seconds, findings.waiting.share), (28.0, Some(0.7)));
    assert_eq!((findings.jobs.len(), findings.jobs[0].span), (1, 40.0));
    assert_eq!(findings.machine_time.winners, 442.0);
}

#[test]
fn later_parts_of_a_phase_count_after_many_other_phases() {
    let tasks =
        |from: u32, seconds: f64| (from..from + 20).map(|task| succeeded(task, 0.0, seconds)).collect::<Vec<_>>();
    let mut all = Gathering::default();
    let others = (1..2000).map(|number| phase(number, tasks(0, 1.0))).collect();
    for part in [vec![phase(0, tasks(0, 1000.0))], others, vec![phase(0, tasks(20, 5000.0))]] {
        all.add(&recording(0, part));
    }
    assert_eq!(all.late(), 0);
    let found = all.findings(&[]);
    let whole = found.phases.iter().find(|one| one.phase == 0).unwrap();
    assert_eq!((whole.tasks, whole.durations.max, whole.durations.p50), (40, Some(5000.0), Some(3000.0)));
    assert_eq!((whole.finish, found.tasks), (Some(5000.0), 40 + 1999 * 20));
}

#[test]
fn phases_of_fewer_than_20_tasks_have_no_waiting_time() {
    let attempts = |tasks: u32| (0..tasks).map(|task| succeeded(task, 0.0, f64::from(task + 1))).collect::<Vec<_>>();
    assert_eq!(of_phase(&attempts(19)).1.waiting.seconds, 0.0);
    assert_eq!(of_phase(&attempts(20)).1.waiting.seconds, 1.0);
    assert_eq!(of_phase(&attempts(100)).1.waiting.seconds, 5.0);
    assert_eq!(of_phase(&attempts(101)).1.waiting.seconds, 5.0);
}

#[test]
fn fitted_tails_match_the_drawn_distributions() {
    let (mut alphas, mut sigmas, mut paretos, mut log_normals) = (0, 0, 0, 0);
    for seed in 0..100 {
        let world = World { seed, ..World::new(10, Distribution::pareto(1.6, 4.0).unwrap()) };
        let fit = of_phase(&world.attempts(0, 400)).1.fit;
        let [low, high] = fit.pareto.unwrap().alpha_ci95;
        alphas += u32::from(low <= 1.6 && 1.6 <= high);
        paretos += u32::from(fit.preferred == Some(Preferred::Pareto));
        let world = World { seed, ..World::new(10, log_normal(30.0, 0.7)) };
        let fit = of_phase(&world.attempts(0, 400)).1.fit;
        let ([low, high], sigma) = (fit.log_normal.unwrap().sigma_ci95, f64::ln_1p(0.49).sqrt());
        sigmas += u32::from(low <= sigma && sigma <= high);
        log_normals += u32::from(fit.preferred == Some(Preferred::LogNormal));
    }
    // 95% minus four standard deviations.
    assert!(
        [alphas, sigmas, paretos, log_normals].iter().all(|count| *count >= 86),
        "{alphas} {sigmas} {paretos} {log_normals}"
    );
}

#[test]
fn findings_of_50_000_tasks_are_close_to_exact_values() {
    let attempts = World::new(20, log_normal(60.0, 0.3)).attempts(0, 50_000);
    let (_, found) = of_phase(&attempts);
    let mut seconds: Vec<f64> = attempts.iter().map(AttemptRow::seconds).collect();
    let mut ends: Vec<f64> = attempts.iter().map(|row| row.end).collect();
    seconds.sort_by(f64::total_cmp);
    ends.sort_by(f64::total_cmp);
    let close =
        |value: f64, exact: f64, relative: f64| assert!((value / exact - 1.0).abs() < relative, "{value} {exact}");
    let durations = found.durations;
    assert!(durations.are_approximate);
    close(durations.p50.unwrap(), seconds[24_999], 0.004);
    close(durations.p95.unwrap(), seconds[47_499], 0.004);
    close(durations.max.unwrap(), seconds[49_999], 1e-6);
    close(durations.mean.unwrap(), seconds.iter().sum::<f64>() / 50_000.0, 1e-6);
    assert!((found.waiting.seconds - (ends[49_999] - ends[47_499])).abs() <= (ends[49_999] - ends[0]) / 1000.0);
}
