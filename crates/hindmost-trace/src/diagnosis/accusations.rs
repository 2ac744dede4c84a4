//! Measures how often nodes and inputs are accused that are innocent, and how often guilty ones are found, in generated recordings.

use hindmost_core::metrics::Cause;
use hindmost_math::numeric::normal_quantile;
use hindmost_math::random::{hash, unit};

use super::context::Context;
use super::stragglers::stragglers;
use super::typical::Typical;
use crate::recording::{Executor, PhaseRows, Recording};
use crate::testing::{executor, row};

/// Jobs of one phase each, the tasks of which go to the slots in turn.
#[derive(Clone, Copy)]
struct World {
    seed: u64,
    executors: u32,
    jobs: u32,
    tasks: u32,
    /// Standard deviation of ln of the durations.
    sigma: f64,
    /// How many times as long the first attempts of an executor take; in later jobs it is the square root of this.
    cold: f64,
    /// The share of the attempts that hang and take 10 times as long.
    hangs: f64,
    /// Standard deviation of ln of the input, which has no effect.
    inputs: f64,
    /// Executor 1 takes this many times as long.
    slow: f64,
    /// One task of each job has this many times the input, and takes as many times as long.
    skew: f64,
    /// The last executor joins late, and executors have different numbers of slots.
    is_uneven: bool,
}

const CALM: World = World {
    seed: 0,
    executors: 4,
    jobs: 4,
    tasks: 32,
    sigma: 0.2,
    cold: 2.0,
    hangs: 0.0,
    inputs: 0.0,
    slow: 1.0,
    skew: 1.0,
    is_uneven: false,
};

impl World {
    /// A number between 0 and 1 that only depends on the seed, `what` and `at`.
    fn draw(&self, what: u64, at: u64) -> f64 {
        unit(hash(self.seed, 0x0061_6363_7573_6500 + what, at, 0)).clamp(1e-12, 1.0 - 1e-12)
    }

    fn normal(&self, what: u64, at: u64) -> f64 {
        normal_quantile(self.draw(what, at))
    }

    fn slots(&self, number: u32) -> u32 {
        if self.is_uneven { 1 + number % 3 } else { 2 }
    }

    fn recording(&self) -> Recording {
        // When each slot is free, and its executor.
        let mut slots: Vec<(f64, u32)> = Vec::new();
        for number in 0..self.executors {
            let joins = if self.is_uneven && number + 1 == self.executors { 12.0 } else { 0.0 };
            slots.extend((0..self.slots(number)).map(|_| (joins, number)));
        }
        let big = (self.draw(1, 0) * f64::from(self.tasks)) as u32;
        let (mut phases, mut began, mut draws) = (Vec::new(), 0.0_f64, 0);
        let mut ran = vec![0; self.executors as usize];
        for job in 0..self.jobs {
            let mut rows = Vec::new();
            let mut of_job = vec![0; self.executors as usize];
            for task in 0..self.tasks {
                draws += 1;
                let slot = slots.iter_mut().min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
                let (start, number) = (slot.0.max(began) + 0.001 * self.draw(2, draws), slot.1);
                let (all, own) = (&mut ran[number as usize], &mut of_job[number as usize]);
                // The two first tasks of an executor share what its first wave costs.
                let cold = self.cold * (0.2 * self.normal(3, u64::from(job * self.executors + number))).exp();
                let first = if *all < self.slots(number) { cold } else { cold.sqrt() };
                let wave = if *own < self.slots(number) { first.max(1.0) } else { 1.0 };
                (*all, *own) = (*all + 1, *own + 1);
                let size = if task == big { self.skew } else { 1.0 };
                let slow = if number == 1 { self.slow } else { 1.0 };
                let hang = if self.draw(4, draws) < self.hangs { 10.0 } else { 1.0 };
                let end = start + wave * size * slow * hang * (self.sigma * self.normal(5, draws)).exp();
                slot.0 = end;
                let mut one = row(task, number, start, end);
                one.bytes_read = Some((1e8 * size * (self.inputs * self.normal(6, draws)).exp()) as u64);
                rows.push(one);
            }
            began = rows.iter().map(|row| row.end).fold(began, f64::max);
            rows.sort_by(|a, b| a.end.total_cmp(&b.end));
            let name = Some(format!("stage {job}: count"));
            phases.push(PhaseRows { phase: job, name, rows, ..PhaseRows::default() });
        }
        let executors = (0..self.executors).map(|number| executor(&format!("h{number}"), self.slots(number))).collect();
        Recording { executors, phases, ..Recording::default() }
    }

    /// Returns the slow nodes that are named, and whether stragglers are said to have more input.
    fn accused(&self) -> (Vec<String>, bool) {
        let recording = self.recording();
        let typical: Vec<Typical> = recording.phases.iter().map(Typical::of).collect();
        let (context, nodes) = Context::of(&recording, &typical);
        let is_skewed = stragglers(&context).0.causes.iter().any(|found| found.cause == Cause::Input);
        (nodes.slow.into_iter().map(|node| node.node).collect(), is_skewed)
    }
}

#[test]
fn innocent_nodes_and_inputs_are_hardly_ever_accused() {
    let count = 600;
    let (mut of_nodes, mut of_inputs) = (0, 0);
    for seed in 0..count {
        let mut world = World { seed, ..CALM };
        world.executors = 3 + (world.draw(10, 0) * 8.0) as u32;
        world.jobs = 1 + (world.draw(11, 0) * 8.0) as u32;
        world.tasks = [12, 32, 60, 120][(world.draw(12, 0) * 4.0) as usize];
        world.sigma = 0.1 + 0.7 * world.draw(13, 0);
        world.cold = 2.0 + 3.0 * world.draw(14, 0);
        world.hangs = if seed % 3 == 0 { 0.03 } else { 0.0 };
        world.inputs = world.draw(15, 0);
        world.is_uneven = seed % 2 == 0;
        let (slow, is_skewed) = world.accused();
        (of_nodes, of_inputs) = (of_nodes + u32::from(!slow.is_empty()), of_inputs + u32::from(is_skewed));
    }
    println!("{of_nodes} nodes and {of_inputs} inputs of {count}");
    assert!(of_nodes <= 2, "{of_nodes} of {count}");
    assert!(of_inputs <= 2, "{of_inputs} of {count}");
}

#[test]
fn long_tails_accuse_no_node_and_no_input() {
    // Jobs of one or two phases on up to 16 nodes of four slots, as tables have them. Durations and inputs have Pareto distributions and do
    // not depend on each other.
    let count = 2000;
    let (mut of_nodes, mut of_inputs) = (0, 0);
    for seed in 0..count {
        let world = World { seed, ..CALM };
        let nodes = [5, 8, 15, 16][(world.draw(20, 0) * 4.0) as usize];
        let tasks = [20, 60, 150][(world.draw(21, 0) * 3.0) as usize];
        let (mut phases, mut began, mut draws) = (Vec::new(), 0.0_f64, 0);
        for number in 0..2 {
            let mut free: Vec<(f64, u32)> = (0..4 * nodes).map(|slot| (began, slot / 4)).collect();
            let mut rows = Vec::new();
            for task in 0..tasks {
                draws += 1;
                let slot = free.iter_mut().min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
                let (start, node) = *slot;
                slot.0 += 10.0 * world.draw(22, draws).powf(-1.0 / 1.6);
                let mut one = row(task, node, start, slot.0);
                one.bytes_read = Some((1e7 * world.draw(23, draws).powf(-1.0 / 2.0)) as u64);
                rows.push(one);
            }
            began = rows.iter().map(|row| row.end).fold(began, f64::max);
            rows.sort_by(|a, b| a.end.total_cmp(&b.end));
            phases.push(PhaseRows { phase: number, rows, ..PhaseRows::default() });
        }
        let executors =
            (0..nodes).map(|number| Executor { slots: None, ..executor(&format!("h{number}"), 4) }).collect();
        let recording = Recording { executors, phases, ..Recording::default() };
        let typical: Vec<Typical> = recording.phases.iter().map(Typical::of).collect();
        let (context, nodes) = Context::of(&recording, &typical);
        let is_skewed = stragglers(&context).0.causes.iter().any(|found| found.cause == Cause::Input);
        (of_nodes, of_inputs) = (of_nodes + u32::from(!nodes.slow.is_empty()), of_inputs + u32::from(is_skewed));
    }
    println!("{of_nodes} nodes and {of_inputs} inputs of {count}");
    // At a rate of 0.1%, more than 5 have a probability of 2%.
    assert!(of_nodes <= 5 && of_inputs <= 5, "{of_nodes} and {of_inputs} of {count}");
}

/// The share of recordings of a world for which something is true.
fn share(world: World, is: impl Fn(Vec<String>, bool) -> bool) -> f64 {
    let count = 100_u32;
    let found = (0..count).filter(|seed| {
        let (slow, is_skewed) = World { seed: u64::from(*seed), ..world }.accused();
        is(slow, is_skewed)
    });
    f64::from(found.count() as u32) / f64::from(count)
}

#[test]
fn a_slow_executor_that_runs_few_tasks_is_found() {
    let is_right = |slow: Vec<String>, _| slow == ["h1"];
    for (slow, jobs, sigma) in [(4.0, 4, 0.2), (4.0, 4, 0.4), (2.0, 4, 0.2), (2.0, 6, 0.3)] {
        let share = share(World { slow, jobs, sigma, cold: 4.0, ..CALM }, is_right);
        println!("{slow} times, {jobs} jobs, sigma {sigma}: {share}");
        assert!(share >= 0.9, "{slow} times, {jobs} jobs, {sigma}: {share}");
    }
}

#[test]
fn a_task_with_more_input_in_each_job_is_found_wherever_it_runs() {
    // It is in a first wave in a quarter of the recordings.
    for (skew, jobs, hangs) in [(10.0, 3, 0.0), (5.0, 3, 0.0), (10.0, 3, 0.02), (4.0, 2, 0.0)] {
        let share = share(World { skew, jobs, hangs, inputs: 0.02, ..CALM }, |slow, skewed| slow.is_empty() && skewed);
        println!("{skew} times, {jobs} jobs, hangs {hangs}: {share}");
        assert!(share >= 0.9, "{skew} times, {jobs} jobs, {hangs}: {share}");
    }
}

#[test]
fn tasks_far_from_their_input_do_not_accuse_their_node() {
    let world = World { slow: 2.0, jobs: 6, ..CALM };
    let mut recording = world.recording();
    let slow = |recording: &Recording| {
        let typical: Vec<Typical> = recording.phases.iter().map(Typical::of).collect();
        Context::of(recording, &typical).1.slow.len()
    };
    assert_eq!(slow(&recording), 1);
    for one in recording.phases.iter_mut().flat_map(|phase| &mut phase.rows).filter(|one| one.executor == 1) {
        one.spent.distance = 3;
    }
    assert_eq!(slow(&recording), 0, "no other node read from so far away");
}
