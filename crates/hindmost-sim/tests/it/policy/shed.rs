//! `shed`, in random runs and against the closed form of its PoCD.

use hindmost_sim::testing::World;
use proptest::prelude::*;

use crate::audit::{audit, audit_abandonments};

/// Returns how many of `jobs` jobs of five tasks with t_min = 2 and β = 2 meet a deadline of 3 s. No job waits for
/// another one.
pub(super) fn met_of(jobs: u32, machines: u32, policy: &str) -> u64 {
    const IN_A_RUN: u32 = 300;
    let met = |seed: u32| {
        let world = (0..IN_A_RUN).fold(World::machines(machines).seed(seed.into()), |world, at| {
            let world = world.job(&format!("j{at}")).at(f64::from(at) * 1e6).deadline(3.0);
            world.drawn(5, "pareto(alpha=2,minimum=2)")
        });
        let run = world.run(policy);
        assert_eq!(run.result.deadlines, u64::from(IN_A_RUN));
        run.result.met_deadlines
    };
    (0..jobs / IN_A_RUN).map(met).sum()
}

/// Checks that a number of successes is within 3.5 standard deviations of the binomial distribution's mean.
pub(super) fn assert_binomial(successes: u64, of: u32, probability: f64) {
    let (count, mean) = (f64::from(of), f64::from(of) * probability);
    let deviation = (count * probability * (1.0 - probability)).sqrt();
    assert!(
        (successes as f64 - mean).abs() < 3.5 * deviation,
        "{successes} of {of}, expected {mean:.1} ± {deviation:.1}"
    );
}

#[test]
fn the_pocd_is_that_of_the_closed_form() {
    // ⌊(λm − 5 − 1)/5⌋ is 0, 1, 2 and 3. R_su = (1 − (2/3)^(2(r + 1)))^5 = 0.053, 0.332, 0.632, 0.818.
    for (machines, r) in [(10, 0), (11, 1), (16, 2), (21, 3)] {
        let expected = (1.0 - (2.0f64 / 3.0).powi(2 * (r + 1))).powi(5);
        assert_binomial(met_of(1500, machines, "fifo+shed"), 1500, expected);
    }
}

fn any_world() -> impl Strategy<Value = World> {
    let job = (0.0..20.0f64, prop::option::of(0.5..15.0f64), 1..6u32, 1..3u32);
    let jobs = prop::collection::vec(job, 1..8);
    (2..16u32, jobs, 0..1000u64, prop::sample::select(vec!["oracle", "progress(0.2)", "age"])).prop_map(
        |(machines, mut jobs, seed, knowledge)| {
            jobs.sort_by(|one, other| one.0.total_cmp(&other.0));
            let world = World::machines(machines).seed(seed).knowledge(knowledge);
            jobs.into_iter().zip(0..).fold(world, |world, ((at, deadline, tasks, phases), number)| {
                let world = world.job(&format!("j{number}")).at(at);
                let world = deadline.into_iter().fold(world, World::deadline);
                let first = world.phase("first").drawn(tasks, "pareto(alpha=1.5,minimum=1)");
                if phases == 1 {
                    return first;
                }
                first.phase("second").after(["first"]).drawn(1, "exponential(mean=2)")
            })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(60, 600)))]

    #[test]
    fn no_job_is_killed_before_its_deadline(
        world in any_world(),
        policy in prop::sample::select(vec![
            "fifo+shed", "fair+shed(reoptimise=arrival_and_end)", "fifo+shed(kill=deadline,start=restart)",
            "fifo+shed(hopeless=clone,masters=0)", "srpt+shed(stop_surplus=false)", "fair+shed(start=restart)",
        ]),
    ) {
        let run = world.run(policy);
        run.verify().unwrap();
        audit(&world, &run);
        audit_abandonments(&run);
        // A killed job has missed its deadline, and all jobs either finish or are killed.
        prop_assert!(run.result.deadlines - run.result.met_deadlines >= run.result.abandoned);
        prop_assert_eq!(run.result.unfinished, 0);
    }
}
