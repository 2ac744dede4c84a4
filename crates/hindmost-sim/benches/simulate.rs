//! Measures simulated tasks per second on `xu2015-light`, one run on one core. For comparison, it measures a bare loop
//! over a binary heap with the same number of events: the minimum work of an event-driven simulator.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::sync::atomic::AtomicBool;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hindmost_core::random::{Purpose, draw};
use hindmost_sim::driver::{Control, RunResult};
use hindmost_sim::experiment::Experiment;
use hindmost_sim::output::Silent;
use hindmost_sim::scenario::Scenario;

fn run(experiment: &Experiment, policy: &str) -> RunResult {
    let stop = AtomicBool::new(false);
    let control = Control { stop: &stop, progress: &|_| {} };
    let spec = policy.parse().expect("a policy's name");
    experiment.run_one(&spec, 1, &mut Silent, &control).expect("a run")
}

/// Pops and pushes `attempts` finishes on a heap that has as many entries as the cluster has busy machines.
fn bare_heap(attempts: u64, busy: usize) -> u64 {
    let duration = |number: u64| (1e9 / draw(1, Purpose::Duration, number, 0).sqrt()) as u64;
    let mut heap: BinaryHeap<Reverse<(u64, u64)>> = (0..busy as u64).map(|at| Reverse((duration(at), at))).collect();
    let mut last = 0;
    for number in busy as u64..attempts {
        if let Some(Reverse((at, _))) = heap.pop() {
            last = at;
            heap.push(Reverse((at + duration(number), number)));
        }
    }
    last
}

fn simulate(criterion: &mut Criterion) {
    let set = [("horizon".to_owned(), "300".to_owned())];
    let scenario = Scenario::load("xu2015-light", &set).expect("a built-in scenario");
    let experiment = Experiment::of(&scenario, 1).expect("an experiment");
    let mut group = criterion.benchmark_group("xu2015-light, tasks");
    group.sample_size(10);
    for policy in ["none", "mantri", "sca", "sda", "ese", "late", "spark", "hadoop"] {
        let result = run(&experiment, policy);
        group.throughput(Throughput::Elements(result.tasks));
        group.bench_function(policy, |bencher| bencher.iter(|| black_box(run(&experiment, policy).events)));
    }
    let plain = run(&experiment, "none");
    let busy = (plain.utilization * 3000.0) as usize;
    group.throughput(Throughput::Elements(plain.tasks));
    group.bench_function("bare heap, attempts of none", |bencher| {
        bencher.iter(|| black_box(bare_heap(plain.attempts, busy)));
    });
    group.finish();
}

criterion_group!(benches, simulate);
criterion_main!(benches);
