//! `shed` against the closed form of its PoCD.

use hindmost_sim::testing::World;

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
