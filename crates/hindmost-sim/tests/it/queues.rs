//! Queues with known waiting times: jobs of one task, served first come first served without copies.
//!
//! Each run is checked twice. The wait of every job must be exactly that of the Kiefer–Wolfowitz recursion (Lindley's,
//! if there is one machine), computed from arrivals and service times. The mean wait must be that of Erlang's C formula
//! or of Pollaczek and Khinchine, within a 99.9% confidence interval.
//!
//! The interval is Student's, over the means of twenty seeds. It leaves out the first tenth of each seed's jobs,
//! because a queue starts empty and needs about 1/(1 − √ρ)² services to become stationary, 1 600 at ρ = 0.95. Seeds are
//! fixed, so a test that passes once always passes.

use hindmost_testing::sample;

use crate::experiments::{experiment, jobs_of, mean_and_error};

const SEEDS: u64 = 20;
/// Student's t(0.9995) with 19 degrees of freedom.
const T: f64 = 3.883;

/// Checks a queue with this many machines. `service` is the distribution of service times in TOML, `mean` their mean,
/// `load` the offered load and `expected` the mean wait.
fn check(name: &str, machines: u32, service: &str, mean: f64, load: f64, expected: f64) {
    // At high loads the waits of many successive jobs are correlated, so more jobs are needed. Weibull's waits vary
    // most.
    let jobs = match load {
        0.95 if name == "M/Weibull/1" => 120_000.0,
        0.9.. => 40_000.0,
        _ => 8_000.0,
    };
    let rate = load * f64::from(machines) / mean;
    let experiment = experiment(&format!(
        "order = \"fifo\"\nhorizon = {horizon:?}\n[cluster]\nmachines = {machines}\n[workload]\n\
         arrival = {{ poisson = {{ rate = {rate:?} }} }}\ntasks = 1\nduration = {service}\n[[policy]]\nname = \"none\"\n",
        horizon = jobs / rate
    ));
    let mut means = Vec::new();
    for seed in 1..=SEEDS {
        let (result, jobs) = jobs_of(&experiment, seed);
        // The times at which the machines become free, in seconds. The next job starts on the first of them.
        let mut free = vec![0.0f64; machines as usize];
        let (mut sum, mut counted) = (0.0, 0.0);
        for (at, job) in jobs.iter().enumerate() {
            let first = (0..free.len()).min_by(|one, other| free[*one].total_cmp(&free[*other])).unwrap();
            let start = free[first].max(job.arrival);
            assert_eq!(
                job.start, start,
                "{name} at load {load}, seed {seed}: job {at} must start when a machine is free"
            );
            free[first] = job.finish;
            if at * 10 >= jobs.len() {
                sum += result.flowtime[at] - result.running_time[at];
                counted += 1.0;
            }
        }
        means.push(sum / counted);
    }
    let (measured, error) = mean_and_error(&means);
    assert!(
        (measured - expected).abs() < T * error,
        "{name} at load {load}: waits {measured} ± {error}, expected {expected}"
    );
    // The check is useful only if the interval is narrow: at most a third of the expected wait.
    assert!(T * error < expected / 3.0, "{name} at load {load}: ± {error} is too wide for {expected}");
}

/// A usual run of the tests takes every other one.
const LOADS: [f64; 5] = [0.3, 0.5, 0.7, 0.9, 0.95];

/// Returns the mean wait in M/M/c with mean service time 1, by Erlang's C formula.
fn erlang(machines: u32, load: f64) -> f64 {
    let offered = load * f64::from(machines);
    // Erlang's B is computed by its recursion; C = B/(1 − ρ(1 − B)).
    let blocked = (1..=machines).fold(1.0, |b, k| offered * b / (f64::from(k) + offered * b));
    let waits = blocked / (1.0 - load * (1.0 - blocked));
    waits / (f64::from(machines) * (1.0 - load))
}

/// Returns the mean wait in M/G/1 with mean service time 1, by the formula of Pollaczek and Khinchine.
fn pollaczek_khinchine(second_moment: f64, load: f64) -> f64 {
    load * second_moment / (2.0 * (1.0 - load))
}

#[test]
fn one_machine_has_the_waits_of_m_m_1() {
    // The formula is checked at all loads, and the queue at those of this run.
    for load in LOADS {
        assert!((erlang(1, load) - load / (1.0 - load)).abs() < 1e-12);
    }
    for load in sample(2, LOADS) {
        check("M/M/1", 1, "{ exponential = { mean = 1 } }", 1.0, load, erlang(1, load));
    }
}

#[test]
fn two_machines_have_the_waits_of_m_m_2() {
    for load in sample(2, LOADS) {
        check("M/M/2", 2, "{ exponential = { mean = 1 } }", 1.0, load, erlang(2, load));
    }
}

#[test]
fn ten_machines_have_the_waits_of_m_m_10() {
    // A load of 0.3 is left out: one job in a thousand waits, too few for a narrow interval.
    for load in sample(2, &LOADS[1..]) {
        check("M/M/10", 10, "{ exponential = { mean = 1 } }", 1.0, *load, erlang(10, *load));
    }
}

#[test]
fn constant_services_have_the_waits_of_m_d_1() {
    for load in sample(2, LOADS) {
        check("M/D/1", 1, "1", 1.0, load, pollaczek_khinchine(1.0, load));
    }
}

#[test]
fn weibull_services_have_the_waits_of_m_g_1() {
    // With shape 1/2, E[x²]/E[x]² = Γ(5)/Γ(3)² = 6.
    for load in sample(2, LOADS) {
        check(
            "M/Weibull/1",
            1,
            "{ weibull = { shape = 0.5, mean = 2 } }",
            2.0,
            load,
            2.0 * pollaczek_khinchine(6.0, load),
        );
    }
}

#[test]
fn uniform_services_have_the_waits_of_m_g_1() {
    // Uniform services on [0, 2] have E[x²] = 4/3.
    for load in sample(2, LOADS) {
        check("M/U/1", 1, "{ uniform = { min = 0, max = 2 } }", 1.0, load, pollaczek_khinchine(4.0 / 3.0, load));
    }
}
