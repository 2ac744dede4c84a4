//! Queues with known waiting times: single-task jobs, first come first served, no redundancy.
//!
//! Two checks on the same runs. Exactly: every job's wait follows from the arrivals and service times
//! by the Kiefer–Wolfowitz recursion (Lindley's for one machine). Statistically: the mean wait is that
//! of Erlang's C formula or of Pollaczek and Khinchine, within a 99.9% interval.
//!
//! The interval is Student's over twenty seeds' means, the first tenth of each seed's jobs left out: a
//! queue starts empty, and relaxes in about 1/(1 − √ρ)² services, 1 600 at ρ = 0.95. Seeds are fixed,
//! so the tests don't fail now and then.

use crate::experiments::{experiment, jobs_of, mean_and_error};

const SEEDS: u64 = 20;
/// Student's t(0.9995) with 19 degrees of freedom.
const T: f64 = 3.883;

/// A queue: c machines, its service time in TOML, its offered load, its expected wait.
fn check(name: &str, machines: u32, service: &str, mean: f64, load: f64, expected: f64) {
    // The longer waits are correlated, the more jobs it takes; Weibull's waits vary most.
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
        // When each machine goes free, in seconds; the next job takes the first.
        let mut free = vec![0.0f64; machines as usize];
        let (mut sum, mut counted) = (0.0, 0.0);
        for (at, job) in jobs.iter().enumerate() {
            let first = (0..free.len()).min_by(|one, other| free[*one].total_cmp(&free[*other])).unwrap();
            let start = free[first].max(job.arrival);
            assert_eq!(job.start, start, "{name} at load {load}, seed {seed}: job {at} starts when a machine is free");
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
    // The interval must say something: at most a third of what is measured.
    assert!(T * error < expected / 3.0, "{name} at load {load}: ± {error} of {expected} says nothing");
}

const LOADS: [f64; 5] = [0.3, 0.5, 0.7, 0.9, 0.95];

/// Erlang C: the mean wait in M/M/c with mean service 1.
fn erlang(machines: u32, load: f64) -> f64 {
    let offered = load * f64::from(machines);
    // Erlang B by its recursion, then C = B/(1 − ρ(1 − B)).
    let blocked = (1..=machines).fold(1.0, |b, k| offered * b / (f64::from(k) + offered * b));
    let waits = blocked / (1.0 - load * (1.0 - blocked));
    waits / (f64::from(machines) * (1.0 - load))
}

/// Pollaczek–Khinchine: the mean wait in M/G/1 with mean service 1.
fn pollaczek_khinchine(second_moment: f64, load: f64) -> f64 {
    load * second_moment / (2.0 * (1.0 - load))
}

#[test]
fn one_machine_with_exponential_services_is_m_m_1() {
    for load in LOADS {
        assert!((erlang(1, load) - load / (1.0 - load)).abs() < 1e-12);
        check("M/M/1", 1, "{ exponential = { mean = 1 } }", 1.0, load, erlang(1, load));
    }
}

#[test]
fn two_machines_are_m_m_2() {
    for load in LOADS {
        check("M/M/2", 2, "{ exponential = { mean = 1 } }", 1.0, load, erlang(2, load));
    }
}

#[test]
fn ten_machines_are_m_m_10() {
    // At a load of 0.3 one job in a thousand waits, too rare for an interval that says something.
    for load in &LOADS[1..] {
        check("M/M/10", 10, "{ exponential = { mean = 1 } }", 1.0, *load, erlang(10, *load));
    }
}

#[test]
fn constant_services_are_m_d_1() {
    for load in LOADS {
        check("M/D/1", 1, "1", 1.0, load, pollaczek_khinchine(1.0, load));
    }
}

#[test]
fn weibull_services_are_m_g_1() {
    // Shape 1/2: E[x²]/E[x]² = Γ(5)/Γ(3)² = 6.
    for load in LOADS {
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
fn uniform_services_are_m_g_1() {
    // On [0, 2]: E[x²] = 4/3.
    for load in LOADS {
        check("M/U/1", 1, "{ uniform = { min = 0, max = 2 } }", 1.0, load, pollaczek_khinchine(4.0 / 3.0, load));
    }
}
