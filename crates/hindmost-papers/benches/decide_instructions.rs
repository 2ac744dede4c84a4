//! Counts the instructions that policies execute to decide for 1 000 jobs on 30 000 heterogeneous machines. Unlike
//! times, the counts are the same in every run, so even a small slowdown is visible. Needs valgrind and
//! `cargo install gungraun-runner`.

#![allow(missing_docs, reason = "the items that the macros create cannot be documented")]

use gungraun::{library_benchmark, library_benchmark_group, main};
use hindmost_papers::overhead::case::{Case, Machines, Size};

fn fresh(policy: &str) -> Case {
    Case::new(Machines::Heterogeneous, Size::LARGE, policy).expect("a policy of the catalogue")
}

fn fresh_slots(policy: &str) -> Case {
    Case::new(Machines::OneSlot, Size::LARGE, policy).expect("a policy of the catalogue")
}

fn busy(policy: &str) -> Case {
    Case::busy(Machines::Heterogeneous, Size::LARGE, policy).expect("a policy of the catalogue")
}

#[library_benchmark(setup = fresh)]
#[bench::fifo("fifo")]
#[bench::svf("svf")]
#[bench::drf("drf")]
#[bench::tetris("tetris")]
#[bench::dollymp_0("dollymp(clones=0)")]
#[bench::dollymp("dollymp")]
#[bench::one_slot(args = ("fifo"), setup = fresh_slots)]
fn from_scratch(mut case: Case) -> Case {
    case.decide().expect("decisions that fit");
    case
}

#[library_benchmark(setup = busy)]
#[bench::fifo("fifo")]
#[bench::svf("svf")]
#[bench::drf("drf")]
#[bench::tetris("tetris")]
#[bench::dollymp_0("dollymp(clones=0)")]
#[bench::dollymp("dollymp")]
fn after_one_arrival(mut case: Case) -> Case {
    case.after_one_arrival().expect("decisions that fit");
    case
}

library_benchmark_group!(name = decide; benchmarks = from_scratch, after_one_arrival);
main!(library_benchmark_groups = decide);
