use hindmost_core::metrics::{EnergyParts, JobResult};

use super::*;

fn job(name: &str, finish: f64, resource: f64, tasks: u64) -> JobRow {
    let result = JobResult {
        arrival: 1.0,
        start: 2.0,
        finish,
        resource,
        wasted: 0.0,
        slowdown: 1.0,
        tasks,
        attempts: tasks + 1,
        copies_launched: 1,
        copies_won: 0,
        met_deadline: None,
        deadline: None,
        energy: None,
    };
    JobRow { name: name.into(), result, used: JobUse::default() }
}

#[test]
fn metrics_of_one_run() {
    let jobs = [job("a", 3.0, 1.0, 10), job("b", 5.0, 2.0, 30), job("c", 9.0, 6.0, 40)];
    for (text, value) in [
        ("mean(flowtime)", 14.0 / 3.0),
        ("mean(flowtime; tasks <= 30)", 3.0),
        ("quantile(flowtime, 0.5)", 4.0),
        ("share(running_time <= 3)", 200.0 / 3.0),
        ("max(finish)", 9.0),
        ("sum(resource)", 9.0),
        ("ratio(copies, tasks)", 3.0 / 80.0),
        ("ratio(copies, tasks; tasks <= 30)", 2.0 / 40.0),
        ("mean(net_utility)", -(14.0 + 9.0) / 3.0),
        ("mean(waiting_time)", 1.0),
        ("jobs()", 3.0),
    ] {
        let measured = text.parse::<Metric>().unwrap().of(&jobs, &RunFacts::UNKNOWN);
        assert!((measured - value).abs() < 1e-12, "{text}: {measured}");
    }
    let spread = "spread(running_time)".parse::<Metric>().unwrap().of(&jobs[..2], &RunFacts::UNKNOWN);
    assert!((spread - 0.5).abs() < 1e-12);
    assert!("mean(flowtime)".parse::<Metric>().unwrap().of(&[], &RunFacts::UNKNOWN).is_nan());
}

#[test]
fn metrics_of_two_runs_pair_jobs_by_name() {
    let jobs = [job("a", 3.0, 1.0, 1), job("b", 5.0, 1.0, 1), job("c", 9.0, 1.0, 1), job("d", 2.0, 1.0, 1)];
    let other = [job("c", 10.0, 1.0, 1), job("b", 7.0, 1.0, 1), job("a", 11.0, 1.0, 1)];
    let by_name = |jobs: &[JobRow]| -> Vec<(u64, f64)> {
        jobs.iter().map(|job| (u64::from(job.name.as_bytes()[0]), job.result.flowtime())).collect()
    };
    // a: 2 against 10, b: 4 against 6, c: 8 against 9; d has no pair.
    let pairs = |text: &str| text.parse::<Metric>().unwrap().of_two(&by_name(&jobs), &by_name(&other));
    assert!((pairs("pairs(flowtime <= 0.7)") - 200.0 / 3.0).abs() < 1e-12);
    // Half of the other jobs have a flowtime of at most 9; all of these jobs have.
    assert_eq!(pairs("matched(flowtime, 0.5)"), 100.0);
    assert!(Metric::Pairs(Quantity::Flowtime, 1.0).of(&jobs, &RunFacts::UNKNOWN).is_nan());
}

#[test]
fn wrong_metrics_are_errors() {
    for text in
        ["mean", "mean(speed)", "quantile(flowtime, 2)", "share(flowtime, 3)", "mean(flowtime; jobs <= 3)", "x()"]
    {
        assert!(text.parse::<Metric>().is_err(), "{text}");
    }
}

#[test]
fn metrics_of_energy_and_copies() {
    let energy = |normal_successful, copies_successful, copies_killed| EnergyParts {
        normal_successful,
        copies_successful,
        copies_killed,
        idle: 5.0,
        ..EnergyParts::default()
    };
    let mut jobs = [job("a", 4.0, 1.0, 10), job("b", 6.0, 2.0, 30)];
    for (job, (parts, range)) in
        jobs.iter_mut().zip([(energy(8.0, 1.0, 1.0), None), (energy(20.0, 8.0, 2.0), Some((2.0, 6.0)))])
    {
        job.result.energy = Some(parts.attempts());
        job.result.copies_won = 2;
        job.used = JobUse {
            time: 9.0,
            cloned_tasks: 2,
            stopped_early: 1,
            copy_time: 5.0,
            copy_won_time: 3.0,
            copy_won_range: range,
            energy: parts,
        };
    }
    let run =
        RunFacts { energy: 60.0, idle_energy: 20.0, utilization: 0.75, pocd: 0.625, abandoned: 0.25, choices: 41.0 };
    for (text, value) in [
        ("mean(energy)", 20.0),
        ("mean(energy_with_static)", 25.0),
        ("sum(copy_energy)", 12.0),
        ("sum(stopped_early)", 2.0),
        ("mean(copy_killed_energy)", 1.5),
        ("mean(normal_energy)", 14.0),
        ("mean(copy_range)", 3.0),
        ("max(copy_range)", 3.0),
        ("ratio(copy_won_time, copies_won)", 1.5),
        ("ratio(copy_time, copies)", 5.0),
        // Running times are 2 and 4.
        ("product(running_time, energy)", 60.0),
        ("efficiency(running_time, energy)", 1.0 / 60.0),
        ("efficiency(energy)", 0.05),
        ("energy()", 60.0),
        ("dynamic_energy()", 40.0),
        ("utilization()", 75.0),
        ("pocd()", 62.5),
        ("abandoned()", 25.0),
        ("choices()", 41.0),
    ] {
        let measured = text.parse::<Metric>().unwrap().of(&jobs, &run);
        assert!((measured - value).abs() < 1e-12, "{text}: {measured}");
    }
    let with_static = BTreeMap::from([(Quantity::Energy, Quantity::EnergyWithStatic)]);
    assert_eq!("mean(energy)".parse::<Metric>().unwrap().with(&with_static).of(&jobs, &run), 25.0);
    assert!("mean(copy_won_energy)".parse::<Metric>().unwrap().needs_attempts());
    assert!(!"efficiency(running_time, energy)".parse::<Metric>().unwrap().needs_attempts());
}
