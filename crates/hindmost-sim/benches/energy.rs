//! How much longer simulations take if their energy is measured. Prints the CPU time of each policy without and with energy:
//! the shortest of several runs, which take turns because other work on the machine comes and goes. The target is 10%.

use std::sync::atomic::AtomicBool;

use hindmost_core::power::PowerSpec;
use hindmost_sim::driver::Control;
use hindmost_sim::experiment::Experiment;
use hindmost_sim::output::Silent;
use hindmost_sim::scenario::Scenario;
use rustix::time::{ClockId, clock_gettime};

/// Number of runs of each policy without and with energy.
const REPEATS: usize = 15;

/// Returns the CPU time of a run, in seconds, its number of attempts, and whether its energy was measured.
fn run(experiment: &Experiment, policy: &str) -> (f64, u64, bool) {
    let now = || {
        let at = clock_gettime(ClockId::ThreadCPUTime);
        at.tv_sec as f64 + at.tv_nsec as f64 * 1e-9
    };
    let stop = AtomicBool::new(false);
    let control = Control { stop: &stop, progress: &|_| {} };
    let spec = policy.parse().expect("a policy's name");
    let before = now();
    let result = experiment.run_one(&spec, 1, &mut Silent, &control).expect("a run");
    (now() - before, result.attempts, result.energy.is_some_and(|energy| energy.nodes.iter().sum::<f64>() > 0.0))
}

fn main() {
    println!("{:<20}{:<10}{:>10}{:>12}{:>12}{:>8}", "scenario", "policy", "attempts", "without, s", "with, s", "more");
    for (name, horizon) in [("xu2015-light", "300"), ("dollymp2022-heavy", "3000")] {
        let set = [("horizon".to_owned(), horizon.to_owned()), ("seeds".to_owned(), "1".to_owned())];
        let Ok(scenario) = Scenario::load(name, &set) else { panic!("there is no scenario {name}") };
        let without = Experiment::of(&scenario, 1).expect("an experiment");
        let mut with = without.clone();
        for kind in &mut with.nodes {
            kind.power = Some(PowerSpec::Machine("dell_r740".to_owned()).model(8.0).expect("a machine's model").into());
        }
        for policy in ["none", "mantri", "late", "sca"] {
            let (mut plain, mut measured) = (f64::INFINITY, f64::INFINITY);
            let mut attempts = 0;
            for _ in 0..REPEATS {
                let one = run(&without, policy);
                let other = run(&with, policy);
                assert!(!one.2 && other.2 && one.1 == other.1, "{name}, {policy}: energy {one:?}, {other:?}");
                (plain, measured, attempts) = (plain.min(one.0), measured.min(other.0), one.1);
            }
            let more = 100.0 * (measured / plain - 1.0);
            println!("{name:<20}{policy:<10}{attempts:>10}{plain:>12.4}{measured:>12.4}{more:>+7.1}%");
        }
    }
}
