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
                (Some((_, start)), Some(age)) => prop_assert!((start - age).abs() < 3.0 * TICK + 1e-9 * age, "{policy} at \
                                                                                                              {start}, not \
                                                                                                              {age}"),
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
