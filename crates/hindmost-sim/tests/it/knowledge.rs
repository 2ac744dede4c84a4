//! Progress models: when policies learn remaining times, and what they estimate from an attempt's age.

use hindmost_core::policy::queue_place::Which;
use hindmost_core::policy::{Pass, Policy, Seen, View};
use hindmost_core::record::{Change, Condition, Decision, Event};
use hindmost_core::time::Time;
use hindmost_math::distribution::Distribution;
use hindmost_policies::orders::fifo::Fifo;
use hindmost_policies::placement::job_by_job::Originals;
use hindmost_sim::testing::World;
use proptest::prelude::*;

const TICK: f64 = 1e-9;

/// One task whose first copy takes this many seconds and whose second copy takes 0.1 s; policies know a mean of 1 s.
fn lonely(seconds: f64) -> World {
    World::machines(2).job("a").tasks([[seconds, 0.1]]).mean(1.0)
}

#[test]
fn oracle_knows_remaining_times_at_the_start() {
    assert_eq!(lonely(5.0).run("sda(sigma=2,max_copies=2)").backups("a"), [(0, 0.0)]);
    assert_eq!(lonely(2.0).run("sda(sigma=2,max_copies=2)").backups("a"), []);
}

/// Watches every attempt for each condition that progress may reveal.
struct WatchEverything;

impl Pass for WatchEverything {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        if let Seen::Decision(Decision::Start { attempt, .. }) = seen {
            for condition in [
                Condition::Revealed,
                Condition::RemainingAbove(0.5),
                Condition::RemainingOrElapsedAbove(0.5, 3.0),
                Condition::Lagging { rate: 1.0, after: 0.1 },
            ] {
                view.watch(*attempt, condition);
            }
        }
    }
}

#[test]
fn age_reveals_no_finish_whatever_is_watched() {
    let policy = || Policy::new(Box::new(Fifo), vec![Box::new(Originals::of(Which::Any)), Box::new(WatchEverything)]);
    let revealed = |knowledge: &str| {
        let run = lonely(5.0).knowledge(knowledge).run_own(policy);
        let met = run.records.into_iter().filter_map(|record| match record.change {
            Change::Event(Event::WatchMet { expected_finish, .. }) => Some((record.at.seconds(), expected_finish)),
            _ => None,
        });
        met.map(|(at, finish)| (at, finish.map(Time::seconds))).collect::<Vec<_>>()
    };
    // Only the elapsed time is known.
    assert_eq!(revealed("age"), [(3.0 + TICK, None)]);
    assert!(revealed("progress(0.5)").iter().any(|(at, finish)| (*at, *finish) == (2.5, Some(5.0))));
}

#[test]
fn progress_reveals_after_its_share_of_work() {
    for (seconds, share, expected) in [
        (5.0, 0.5, Some(2.5)),
        // At 2 s, 2 s remain, which is not above 2 mean durations.
        (4.0, 0.5, None),
        (5.0, 0.6, None),
        (5.0, 0.59, Some(2.95)),
        (5.0, 0.0, Some(0.0)),
        // Policies do not use the age although it is far above the mean long before 90 s.
        (100.0, 0.9, Some(90.0)),
    ] {
        let run = lonely(seconds).knowledge(&format!("progress({share})")).run("sda(sigma=2,max_copies=2)");
        let expected: Vec<(u32, f64)> = expected.into_iter().map(|at| (0, at)).collect();
        assert_eq!(run.backups("a"), expected, "{seconds} s, progress({share})");
    }
}

#[test]
fn revealed_progress_waits_for_the_slot_boundary() {
    let world = lonely(5.0).slot(1.0).knowledge("progress(0.5)");
    // The remaining time is known at 2.5 s. At the boundary at 3 s, 2 s remain: not above 2, but above 1.9 mean
    // durations.
    assert_eq!(world.run("sda(sigma=2,max_copies=2)").backups("a"), []);
    assert_eq!(world.run("sda(sigma=1.9,max_copies=2)").backups("a"), [(0, 3.0)]);
    // A remaining time that becomes known exactly at a boundary is used at this boundary.
    assert_eq!(
        lonely(6.0).slot(1.0).knowledge("progress(0.5)").run("sda(sigma=2,max_copies=2)").backups("a"),
        [(0, 3.0)]
    );
}

#[test]
fn uniform_progress_reveals_at_random_shares() {
    // With σ near 0 each of the n attempts of 10 s gets its backup when its remaining time is revealed. The shares of
    // work done at that time are uniform on (0, 1): the Kolmogorov–Smirnov distance is below 1.95/√n with probability
    // 99.9%.
    let n = 2000;
    let run = World::machines(2 * n)
        .knowledge("progress(uniform)")
        .job("a")
        .tasks(vec![[10.0, 20.0]; n as usize])
        .mean(1.0)
        .run("sda(sigma=0.000001,max_copies=2)");
    let mut shares: Vec<f64> = run.backups("a").iter().map(|(_, start)| start / 10.0).collect();
    assert_eq!(shares.len(), n as usize);
    shares.sort_unstable_by(f64::total_cmp);
    let n = f64::from(n);
    let distance = shares.iter().enumerate().map(|(at, share)| (share - (at as f64 + 0.5) / n).abs() + 0.5 / n);
    let distance = distance.fold(0.0, f64::max);
    assert!(distance < 1.95 / n.sqrt(), "{distance}");
}

#[test]
fn pareto_remaining_time_is_age_over_alpha_minus_one() {
    // The expected remaining time is above 2 mean durations when the age is above 2·(α − 1), whatever the real one is.
    for (alpha, age) in [(2.0, 2.0), (3.0, 4.0), (1.5, 1.0)] {
        for seconds in [6.0, 60.0] {
            let run = World::machines(2)
                .knowledge("age")
                .job("a")
                .tasks([[seconds, 0.1]])
                .tail(&format!("pareto(alpha={alpha},mean=1)"))
                .run("sda(sigma=2,max_copies=2)");
            assert_eq!(run.backups("a"), [(0, age + TICK)], "α = {alpha}");
        }
    }
}

#[test]
fn exponential_remaining_time_is_the_mean_at_any_age() {
    let run = |policy: &str| {
        World::machines(2)
            .knowledge("age")
            .job("a")
            .tasks([[99.0, 0.5]])
            .tail("exponential(mean=1)")
            .run(policy)
            .backups("a")
    };
    assert_eq!(run("sda(sigma=1,max_copies=2)"), []);
    assert_eq!(run("sda(sigma=0.99,max_copies=2)"), [(0, TICK)]);
    // With x the remaining time and y a new copy's duration, P(x > 2y) = 1/(1 + 2) at any age.
    assert_eq!(run("mantri(delta=0.34)"), []);
    assert_eq!(run("mantri(delta=0.33)"), [(0, TICK)]);
}

#[test]
fn the_oldest_attempt_has_the_longest_expected_remaining_time() {
    // Job a arrives at 0, b at 1. At 4 one machine becomes free, and the attempts of both are above the limit.
    let run = World::machines(3)
        .knowledge("age")
        .order("fifo")
        .job("b")
        .at(1.0)
        .tasks([[90.0, 9.0]])
        .tail("pareto(alpha=2,mean=1)")
        .job("a")
        .tasks([[10.0, 9.0]])
        .tail("pareto(alpha=2,mean=1)")
        .job("c")
        .tasks([[4.0, 9.0]])
        .tail("pareto(alpha=2,mean=9)")
        .run("ese(sigma=2)");
    assert_eq!(run.backups("a"), [(0, 4.0)]);
    // When a's task ends at 10, two machines become free.
    assert_eq!(run.backups("b"), [(0, 10.0)]);
}

#[test]
fn hadoop_uses_age_without_progress() {
    // The second task finishes at 1, so a new attempt is expected to take 1 s. With α = 2, an attempt at age t is
    // expected to take t more: 1 s at the scan at 1, and 2 s at the scan at 2.
    let world = |seconds: f64| {
        let tasks = [[seconds, 0.1], [1.0, 0.1]];
        World::machines(3).knowledge("progress(0.5)").job("a").tasks(tasks).tail("pareto(alpha=2,mean=1)")
    };
    assert_eq!(world(9.0).run("hadoop").backups("a"), [(0, 2.0)]);
    // Progress reveals at 1.45 that 1.45 s are left, so 0.9 s are left at 2.
    assert_eq!(world(2.9).run("hadoop").backups("a"), []);
    // Progress reveals at 1.9 that 1.9 s are left, so 1.8 s are left at 2.
    assert_eq!(world(3.8).run("hadoop").backups("a"), [(0, 2.0)]);
}

#[test]
fn late_estimates_durations_from_age_and_distribution() {
    // An attempt is slow if its expected duration exceeds the 75th percentile of Pareto(α = 2, μ = 1/2), which is 1 s.
    // At age t ≥ μ the expected duration is 2t, so it is slow from 0.5 s on. The 84th percentile is 1.25 s: slow from
    // 0.625 s.
    let world = World::machines(2).knowledge("age").job("a").tasks([[9.0, 0.1]]).tail("pareto(alpha=2,mean=1)");
    let at = |policy: &str| world.run(policy).backups("a")[0].1;
    // Up to age 0.5 s the expected duration is the mean of 1 s, equal to the limit, so rounding decides whether it is
    // above the limit earlier.
    assert!(at("late(cap=1)") <= 0.5 + 2.0 * TICK);
    assert!((at("late(cap=1,slow_task=0.16)") - 0.625).abs() < 1e-6);
}

#[test]
fn noise_is_log_normal_with_mean_one() {
    // Revealed remaining times are 3·L, where ln L is normal(−σ²/2, σ²) and σ = 1/2. They are above 2 with probability
    // P(L > 2/3) = P(Z > −0.5609) = 0.712577; the tolerance is 4 standard errors.
    let n = 4000;
    let run = World::machines(2 * n)
        .noise(0.5)
        .job("a")
        .tasks(vec![[3.0, 9.0]; n as usize])
        .mean(1.0)
        .run("sda(sigma=2,max_copies=2)");
    let p = 0.712_577;
    let share = run.backups("a").len() as f64 / f64::from(n);
    assert!((share - p).abs() < 4.0 * (p * (1.0 - p) / f64::from(n)).sqrt(), "{share}");
}

#[test]
fn a_copy_seems_normal_until_it_becomes_slow() {
    let world = |knowledge: &str| lonely(10.0).slow_from(0.5).knowledge(knowledge);
    let at = |knowledge: &str| world(knowledge).run("sda(sigma=2,max_copies=2)").backups("a");
    // The first half of the work takes 0.5 s, at the mean rate. A copy that reveals before then seems normal until 0.5
    // s.
    assert_eq!(at("progress(0.2)"), [(0, 0.5)]);
    assert_eq!(at("progress(0.5)"), [(0, 0.5)]);
    // The second half takes 9.5 s, so three quarters of the work are done at 0.5 + 9.5/2 s.
    assert_eq!(at("progress(0.75)"), [(0, 5.25)]);
    assert_eq!(at("oracle"), [(0, 0.0)]);
    // A copy that is faster than the mean has a constant rate.
    let run = lonely(0.8).slow_from(0.5).knowledge("progress(0.5)").run("sda(sigma=0.1,max_copies=2)");
    assert_eq!(run.backups("a"), [(0, 0.4)]);
}

#[test]
fn remaining_times_include_the_speed_of_the_node() {
    // 2 s of work take 4 s at half the speed, above 3 mean durations. The backup starts on the faster node.
    let run = World::nodes([[("cpus", 1.0)], [("cpus", 1.0)]])
        .speeds([0.5, 1.0])
        .job("a")
        .tasks([[2.0, 2.0]])
        .mean(1.0)
        .run("sda(sigma=3,max_copies=2)");
    assert_eq!(run.backups("a"), [(0, 0.0)]);
    assert_eq!(run.job("a").finish, 2.0);
}

#[test]
fn a_backup_starts_although_the_watch_is_early_by_rounding() {
    // The expected remaining time of a log-normal duration is integrated numerically with a relative error of about
    // 1e-10. One tick after the age at which it exceeds the limit, the computed value may still be below. No later
    // event would make the policy check again.
    let run = World::nodes([[("cpus", 1.0)], [("cpus", 1.0)]])
        .speeds([0.950_515_652_555_823_2; 2])
        .knowledge("age")
        .job("a")
        .tasks([[1e6, 0.01]])
        .tail("log_normal(mean=3.387901047611398,cv=1.9638447715657412)")
        .run("sda(sigma=3.198988615617891,max_copies=2)");
    assert_eq!(run.backups("a").len(), 1);
}

fn any_distribution() -> impl Strategy<Value = String> {
    let mean = 0.5..5.0f64;
    prop_oneof![
        (1.05..6.0f64, mean.clone()).prop_map(|(alpha, mean)| format!("pareto(alpha={alpha},mean={mean})")),
        (0.3..4.0f64, 0.1..1.0f64, 2.0..900.0f64)
            .prop_map(|(alpha, minimum, maximum)| format!("pareto(alpha={alpha},minimum={minimum},maximum={maximum})")),
        (0.2..3.0f64, mean.clone()).prop_map(|(shape, mean)| format!("weibull(shape={shape},mean={mean})")),
        (0.1..5.0f64, mean.clone()).prop_map(|(cv, mean)| format!("log_normal(mean={mean},cv={cv})")),
        mean.clone().prop_map(|mean| format!("exponential(mean={mean})")),
        (0.0..1.0f64, 1.0..5.0f64).prop_map(|(min, max)| format!("uniform(min={min},max={max})")),
        mean.prop_map(|value| format!("constant(value={value})")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(150, 1500)))]

    /// When the watch on an attempt's age notifies a policy, the policy's own test must hold as well. If the test
    /// failed by a rounding error, the attempt would never get a backup.
    #[test]
    fn a_straggler_gets_its_backup_at_the_threshold_age(
        tail in any_distribution(), sigma in 0.3..4.0f64, delta in 0.02..0.9f64, speed in 0.3..3.0f64,
    ) {
        let known: Distribution = tail.parse().unwrap();
        // The attempt takes longer than practically all durations of the distribution.
        let world = World::nodes([[("cpus", 1.0)], [("cpus", 1.0)]])
            .speeds([speed, speed])
            .knowledge("age")
            .job("a").tasks([[1e6, 0.01]]).tail(&tail);
        // Ages and remaining times are both multiplied by 1/speed.
        let pace = 1.0 / speed;
        let by_residual = known.age_where_residual_exceeds(sigma * known.mean() / pace);
        // Factors are rounded to 64 steps for each doubling on nodes of other speeds than 1, unless ages grow in proportion to
        // them.
        let factor: f64 = 2.0 / pace;
        let is_exact = known.probability_grows_from(known.minimum());
        let factor = if is_exact { factor } else { ((factor.log2() * 64.0).round() / 64.0).exp2() };
        let by_chance = known.age_where_probability_exceeds(delta, factor);
        let rules = [
            (format!("sda(sigma={sigma},max_copies=2)"), by_residual),
            (format!("mantri(delta={delta})"), by_chance),
        ];
        for (policy, age) in rules {
            let run = world.run(&policy);
            // At ages that fewer than one in 10^12 attempts reach, remaining times have large rounding errors.
            if age.is_some_and(|age| known.survival(age) < 1e-12) {
                continue;
            }
            let expected = age.map(|age| age * pace).filter(|age| *age < 1e6 * pace);
            match (run.backups("a").first(), expected) {
                (None, None) => {}
                (Some((_, start)), Some(age)) => prop_assert!((start - age).abs() < 3.0 * TICK + 1e-9 * age, "{policy} at {start}, not {age}"),
                (found, expected) => prop_assert!(false, "{policy}: backup {found:?}, expected {expected:?}"),
            }
        }
    }
}

#[test]
fn errors_of_durations_change_orders_not_durations() {
    let with = |error: &str, policy: &str| {
        let mut experiment = crate::experiments::experiment(&format!(
            "name = \"queue\"\n[cluster]\nmachines = 1\n[workload]\narrival = {{ at_once = {{ jobs = 400 }} }}\ntasks = 1\n\
             duration = {{ exponential = {{ mean = {{ uniform = {{ min = 1.0, max = 9.0 }} }} }} }}\n{error}"
        ));
        experiment.policies = vec![policy.parse().unwrap()];
        crate::experiments::run_on(&experiment, 1)[0][0].clone()
    };
    let flowtime = |result: &hindmost_sim::driver::RunResult| result.flowtime.iter().sum::<f64>() / 400.0;
    let wrong = "duration_error = 3.0\n";
    // Arrivals decide alone: the error changes nothing.
    assert_eq!(with("", "fifo+none").flowtime, with(wrong, "fifo+none").flowtime);
    // The shortest expected job first is better than arrivals; with an error of this size it has hardly any effect.
    let (known, unknown) = (with("", "srpt+none"), with(wrong, "srpt+none"));
    assert_eq!(known.makespan, unknown.makespan);
    let (best, worst) = (flowtime(&known), flowtime(&with("", "fifo+none")));
    assert!(best < 0.9 * worst, "{best} of {worst}");
    assert!(flowtime(&unknown) > best + 0.6 * (worst - best), "{} between {best} and {worst}", flowtime(&unknown));
}
