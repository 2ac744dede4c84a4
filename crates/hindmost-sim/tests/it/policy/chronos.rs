//! `chronos`, against the closed forms of its PoCD and in random runs.

use hindmost_sim::output::Outcome::Lost;
use hindmost_sim::testing::World;
use proptest::prelude::*;

use super::shed::{assert_binomial, met_of};
use crate::audit::audit;

#[test]
fn the_pocd_is_that_of_the_closed_forms() {
    // met_of has five tasks, t_min = 2, β = 2 and D = 3. τ_est = 0.3·2 = 0.6.
    // Clone: (1 − (2/3)^(2(r + 1)))^5. Restart: an original misses with (2/3)², a backup with (2/2.4)². Resume: a resumed
    // attempt misses with ((1 − φ)·2/2.4)². The theorem takes the mean of φ = 0.6/X given X > 3, (0.6/3)·(2/3); here the
    // mean of the power is taken, with φ = 0.2·√u for uniform u, because P(X > x | X > 3) = (3/x)².
    let original = (2.0f64 / 3.0).powi(2);
    let backup = (2.0f64 / 2.4).powi(2);
    let resumed = |attempts: i32| {
        let power = |at: u32| (1.0 - 0.2 * ((f64::from(at) + 0.5) / 1e4).sqrt()).powi(2 * attempts);
        backup.powi(attempts) * (0..10_000).map(power).sum::<f64>() / 1e4
    };
    for r in [1, 3] {
        for (strategy, miss) in [
            ("clone", original.powi(r + 1)),
            ("restart", original * backup.powi(r)),
            ("resume", original * resumed(r + 1)),
        ] {
            let met = met_of(1200, 40, &format!("fifo+chronos(strategy={strategy},r={r})"));
            assert_binomial(met, 1200, (1.0 - miss).powi(5));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(40, 400)))]

    #[test]
    fn one_attempt_of_a_task_remains_after_tau_kill(
        seed in 0..1000u64,
        machines in 2..20u32,
        strategy in prop::sample::select(vec!["clone", "restart", "resume"]),
        r in 0..4u32,
    ) {
        let jobs = |world: World, at: u32| {
            let world = world.job(&format!("j{at}")).at(f64::from(at)).deadline(4.0);
            world.drawn(1 + at % 4, "pareto(alpha=1.5,minimum=1)")
        };
        let world = (0..6).fold(World::machines(machines).seed(seed), jobs);
        let run = world.run(&format!("fifo+chronos(strategy={strategy},r={r},tau_est=0.3,tau_kill=0.8)"));
        run.verify().unwrap();
        audit(&world, &run);
        // t_min = 1: every attempt that runs for longer than 0.8 s is its task's last one, or the original that waited for
        // the estimate at 0.3 s.
        for attempt in run.attempts.iter().filter(|attempt| attempt.outcome == Lost) {
            prop_assert!(attempt.end - attempt.start <= 0.8 + 1e-6, "{attempt:?}");
        }
        let most = if strategy == "resume" { r + 2 } else { r + 1 };
        prop_assert!(run.attempts.iter().all(|attempt| attempt.id.copy < most));
    }
}
