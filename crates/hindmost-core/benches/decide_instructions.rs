//! Instructions that policies take to decide for 1 000 jobs on 30 000 heterogeneous machines: the same on every
//! machine, so that a slower decision shows where times scatter. Needs valgrind and
//! `cargo install gungraun-runner`.

#![allow(missing_docs, reason = "what the macros make can't be documented")]

mod cases;

use cases::{Machines, World};
use gungraun::{library_benchmark, library_benchmark_group, main};

fn fresh(policy: &str) -> World {
    World::new(Machines::Heterogeneous, policy)
}

fn fresh_slots(policy: &str) -> World {
    World::new(Machines::OneSlot, policy)
}

fn busy(policy: &str) -> World {
    World::busy(Machines::Heterogeneous, policy)
}

#[library_benchmark(setup = fresh)]
#[bench::fifo("fifo")]
#[bench::svf("svf")]
#[bench::drf("drf")]
#[bench::tetris("tetris")]
#[bench::dollymp_0("dollymp(clones=0)")]
#[bench::dollymp("dollymp")]
#[bench::one_slot(args = ("fifo"), setup = fresh_slots)]
fn from_scratch(mut world: World) -> World {
    world.decide();
    world
}

#[library_benchmark(setup = busy)]
#[bench::fifo("fifo")]
#[bench::svf("svf")]
#[bench::drf("drf")]
#[bench::tetris("tetris")]
#[bench::dollymp_0("dollymp(clones=0)")]
#[bench::dollymp("dollymp")]
fn after_one_arrival(mut world: World) -> World {
    world.after_one_arrival();
    world
}

library_benchmark_group!(name = decide; benchmarks = from_scratch, after_one_arrival);
main!(library_benchmark_groups = decide);
