//! Runs with changing rates whose means are known from a formula.

use hindmost_sim::disturbances::{NeighbourStart, Neighbours};
use hindmost_sim::parameter::{Family, Parameter};
use hindmost_sim::testing::World;

use crate::experiments::{experiment, jobs_of, mean_and_error};

fn exponential(mean: f64) -> Parameter {
    Parameter::Drawn(Box::new(Family::Exponential { mean: Parameter::Number(mean) }))
}

/// A node of k CPUs with contention of degree k: n tasks of one CPU each slow each other down by
/// 1 + (k − 1)·(n − 1)/(k − 1) = n, which is processor sharing. In an M/G/1 queue with processor sharing, the mean flowtime is
/// E[S]/(1 − ρ), whatever the distribution of S.
#[test]
fn contention_of_the_degree_of_the_node_is_processor_sharing() {
    for (load, duration) in [
        (0.5, "1.0"),
        (0.6, "{ exponential = { mean = 1.0 } }"),
        (0.5, "{ uniform = { min = 0.2, max = 1.8 } }"),
        (0.5, "{ pareto = { alpha = 2.5, mean = 1.0 } }"),
    ] {
        let experiment = experiment(&format!(
            "horizon = 4000\n[cluster]\nnodes = [{{ count = 1, cpus = 60 }}]\ncontention = {{ degree = 60.0 }}\n\
             [workload]\narrival = {{ poisson = {{ rate = {load:?} }} }}\ntasks = 1\nduration = {duration}\n\
             [[policy]]\nname = \"fifo+none\"\n"
        ));
        let mean_of = |seed| {
            let (_, jobs) = jobs_of(&experiment, seed);
            // The first jobs find a node that is emptier than usual.
            let usual: Vec<f64> = jobs.iter().skip(100).map(hindmost_core::metrics::JobResult::flowtime).collect();
            mean_and_error(&usual).0
        };
        let (mean, error) = mean_and_error(&(1..=12).map(mean_of).collect::<Vec<f64>>());
        let expected = 1.0 / (1.0 - load);
        assert!((mean - expected).abs() < 4.0 * error, "{duration}: {mean} ± {error}, not {expected}");
        assert!(error < 0.06 * expected, "the interval is too wide to exclude other values: ± {error}");
    }
}

/// A task of work w on a node whose neighbours are quiet for exponential times of mean q and busy for exponential times of
/// mean b, in which it runs at the rate 1/s. Seen over the work done, the state is a Markov chain with the rates 1/q and
/// s/b, which is busy for the share p' = (1/q)/(1/q + s/b); the run begins busy with p = b/(q + b). So
///     E[T] = w·(1 + (s − 1)·p') + (p − p')·(s − 1)·(1 − exp(−λw))/λ with λ = 1/q + s/b.
#[test]
fn work_beside_exponential_neighbours_takes_the_mean_time() {
    for (w, q, b, s) in [(3.0, 2.0, 1.0, 4.0), (0.5, 2.0, 3.0, 3.0), (20.0, 1.0, 1.0, 2.0)] {
        let load = Neighbours {
            quiet: exponential(q),
            busy: exponential(b),
            slowdown: Parameter::Number(s),
            start: NeighbourStart::Random,
        };
        let run = World::machines(6000).neighbours(load).job("a").same(6000, w).run("none");
        let spans: Vec<f64> = run.attempts.iter().map(|one| one.end).collect();
        let (mean, error) = mean_and_error(&spans);
        let rate = 1.0 / q + s / b;
        let (busy, first) = ((1.0 / q) / rate, b / (q + b));
        let expected = w * (1.0 + (s - 1.0) * busy) + (first - busy) * (s - 1.0) * (1.0 - (-rate * w).exp()) / rate;
        assert!((mean - expected).abs() < 4.0 * error, "{w}: {mean} ± {error}, not {expected}");
    }
}
