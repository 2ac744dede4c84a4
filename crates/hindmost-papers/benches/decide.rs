//! Measures how long policies take to decide for 1 000 jobs on 30 000 machines: first if all machines are idle and all
//! jobs wait, then after one more job has arrived. `decide_instructions` counts the instructions of the same decisions.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use hindmost_papers::overhead::case::{Case, Machines, Size};

fn decide(criterion: &mut Criterion) {
    let one_slot = ["none", "fair+none", "mantri", "sca", "sda", "ese", "late", "spark", "hadoop"];
    let several =
        ["fifo", "svf", "drf", "tetris", "dollymp(clones=0)", "dollymp(clones=1)", "dollymp", "dollymp(fit=raw)"];
    let one_slot = one_slot.map(|policy| (Machines::OneSlot, policy));
    let several = several.map(|policy| (Machines::Heterogeneous, policy));
    for (machines, policy) in one_slot.into_iter().chain(several) {
        let mut group = criterion.benchmark_group(format!("1000 jobs, 30000 machines ({machines:?}), {policy}"));
        group.sample_size(10);
        group.bench_function("from scratch", |bencher| {
            let fresh = || Case::new(machines, Size::LARGE, policy).expect("a policy of the catalogue");
            bencher.iter_batched_ref(
                fresh,
                |case| black_box(case.decide().expect("decisions that fit")),
                BatchSize::PerIteration,
            );
        });
        group.bench_function("after one arrival", |bencher| {
            let busy = || Case::busy(machines, Size::LARGE, policy).expect("a policy of the catalogue");
            bencher.iter_batched_ref(
                busy,
                |case| black_box(case.after_one_arrival().expect("decisions that fit")),
                BatchSize::PerIteration,
            );
        });
        group.finish();
    }
}

criterion_group!(benches, decide);
criterion_main!(benches);
