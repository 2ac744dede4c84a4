//! `dollymp` and `tetris`: the paper's example, instances worked out by hand, and a slow and plain program that
//! does the same.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use hindmost_core::cluster::{Cluster, Job, Task};
use hindmost_core::ids::{JobId, NodeId, TaskId};
use hindmost_core::policy::order::Order;
use hindmost_core::policy::{Pass, Policy, Round, Seen, View};
use hindmost_core::record::Decision;
use hindmost_core::resources::Resources;
use hindmost_policies::orders::dollymp::{DollympOrderParameters, KnapsackOrder};
use hindmost_policies::orders::tetris::{LeastRemaining, Remaining};
use hindmost_policies::placement::candidates_by_level::without_rounding;
use hindmost_sim::testing::{Run, World};
use proptest::prelude::*;

use crate::properties::any_cluster_of_dags;

/// Figure 2: one server; job 1 demands all of it for 10 s, jobs 2 and 3 a quarter for 8 s, or 6 s with two
/// copies.
fn figure_2() -> World {
    World::nodes([[("cpus", 1.0)]])
        .job("1")
        .tasks([[10.0]])
        .demand([("cpus", 1.0)])
        .job("2")
        .tasks([[8.0, 6.0]])
        .demand([("cpus", 0.25)])
        .job("3")
        .tasks([[8.0, 6.0]])
        .demand([("cpus", 0.25)])
}

fn sum_of_flowtimes(run: &Run) -> f64 {
    run.result.flowtime.iter().sum()
}

#[test]
fn the_example_of_figure_2() {
    let sum = |policy: &str| sum_of_flowtimes(&figure_2().run(policy));
    assert_eq!(sum("tetris(epsilon=0.05)"), 46.0);
    assert_eq!(sum("tetris(epsilon=0.05)+dollymp(clones=1,per_node=2)"), 42.0);
    assert_eq!(sum("svf+none"), 34.0);
    assert_eq!(sum("dollymp(clones=0,deviations=0)"), 34.0);
    for clones in 1..=3 {
        assert_eq!(sum(&format!("dollymp(clones={clones},deviations=0,per_node=2)")), 28.0, "{clones} clones");
        assert_eq!(sum(&format!("dollymp(clones={clones},deviations=0,per_node=2,clone_pass=by_node)")), 28.0);
    }
    // With one copy of a task on a node the only server has no place for clones.
    assert_eq!(sum("dollymp(deviations=0)"), 34.0);
}

#[test]
fn tetris_prefers_the_large_job_below_the_borders_of_epsilon() {
    // 1 − 10 ε > 1/4 − p ε: p of a small job is 2 s of the server, or 8 s of time.
    for (remaining, border) in [("work", 0.75 / 8.0), ("time", 0.75 / 2.0)] {
        for (epsilon, sum) in [(border * 0.999, 46.0), (border * 1.001, 34.0)] {
            let run = figure_2().run(&format!("tetris(epsilon={epsilon},remaining={remaining})"));
            assert_eq!(sum_of_flowtimes(&run), sum, "{remaining} {epsilon}");
        }
    }
    // By itself ε is mean alignment / mean p = (1 + 1/4 + 1/4) / (10 + 2 + 2).
    assert_eq!(sum_of_flowtimes(&figure_2().run("tetris")), 34.0);
}

#[test]
fn the_best_fit_within_a_priority() {
    // All of equal length, so all of one priority. The empty node has 8 cpus and 16 GB; as shares, jobs
    // demand (1/2, 1/8), (1/8, 1/2) and (1/4, 1/4): their products with (1, 1) are 5/8, 5/8 and 1/2. The
    // first goes, and leaves (1/2, 7/8): products 0.3125, 0.5, 0.34: the second; then (3/8, 3/8) is left,
    // too little for another of either, and the third takes (1/4, 1/4).
    const GB: f64 = 1024.0 * 1024.0 * 1024.0;
    let world = World::nodes([[("cpus", 8.0), ("memory", 16.0 * GB)]])
        .job("cpu")
        .same(2, 4.0)
        .demand([("cpus", 4.0), ("memory", 2.0 * GB)])
        .job("memory")
        .same(2, 4.0)
        .demand([("cpus", 1.0), ("memory", 8.0 * GB)])
        .job("even")
        .same(2, 4.0)
        .demand([("cpus", 2.0), ("memory", 4.0 * GB)]);
    let run = world.run("dollymp(clones=0)");
    assert_eq!(run.started()[..3], ["cpu/0", "memory/0", "even/0"]);
    assert_eq!(run.starts("even"), [0.0, 4.0]);
    // As amounts, memory counts more: products 8·4 + 16·2 = 64, 8·1 + 16·8 = 136, 8·2 + 16·4 = 80, then,
    // with 7 and 8 left, 28 + 16, 7 + 64 and 14 + 32: memory again.
    let raw = world.run("dollymp(clones=0,fit=raw)");
    assert_eq!(raw.started()[..2], ["memory/0", "memory/1"]);
}

#[test]
fn equal_products_go_by_id_and_not_by_rounding() {
    // On 4 cores and 8 GB of 24 and 48, 1 core and 7 GB score 4/24 · 1/24 + 8/48 · 7/48 = 1/32, and so do 4 cores and 1 GB.
    for policy in ["dollymp(clones=0)", "tetris(epsilon=0)"] {
        let world = World::nodes([[("cpus", 24.0), ("memory", 48e9)]]).job("filler").tasks([[1000.0]]);
        let world = world.demand([("cpus", 20.0), ("memory", 40e9)]);
        let world = world.job("a").at(1.0).same(1, 30.0).demand([("cpus", 1.0), ("memory", 7e9)]);
        let world = world.job("b").at(1.0).same(1, 30.0).demand([("cpus", 4.0), ("memory", 1e9)]);
        assert_eq!(world.run(policy).started(), ["filler/0", "a/0", "b/0"], "{policy}");
    }
}

#[test]
fn tetris_takes_the_best_pair_of_task_and_node() {
    // Two free nodes of 4 and 8 cpus. The task of 3 cpus aligns with 3/4 on the small node and 3/8 on the large one, that
    // of 8 with 1 on the large one; node by node the small node comes first, pair by pair the task of 8.
    let world = World::nodes([[("cpus", 4.0)], [("cpus", 8.0)]]);
    let world = world.job("three").same(1, 10.0).demand([("cpus", 3.0)]).job("eight").same(1, 10.0);
    let world = world.demand([("cpus", 8.0)]);
    assert_eq!(world.run("tetris(epsilon=0)").started(), ["eight/0", "three/0"]);
    assert_eq!(world.run("dollymp(clones=0)").started(), ["three/0", "eight/0"]);
}

#[test]
fn the_first_phase_may_be_taken_to_the_letter() {
    // The job's first phase does not fit beside the filler, its second, which waits for nothing, does.
    let world = || {
        let world = World::nodes([[("cpus", 4.0)]]).job("filler").same(1, 10.0).demand([("cpus", 2.0)]);
        let world = world.job("a").at(1.0).phase("large").same(1, 5.0).demand([("cpus", 3.0)]);
        world.phase("small").same(1, 5.0).demand([("cpus", 1.0)])
    };
    let starts = |order: &str| -> Vec<f64> {
        world().run(&format!("{order}+none")).tries("a").iter().map(|one| one.start).collect()
    };
    assert_eq!(starts("dollymp"), [10.0, 1.0]);
    assert_eq!(starts("dollymp(phase=first)"), [10.0, 10.0]);
}

#[test]
fn clones_never_share_a_node_and_stop_at_their_limit() {
    for clones in 0..4 {
        let world = World::nodes([[("cpus", 4.0)]; 3]).job("a").same(1, 5.0);
        let run = world.run(&format!("dollymp(clones={clones})"));
        // Three nodes: the original and two clones at most, whatever is allowed.
        let nodes: BTreeSet<u32> = run.attempts.iter().map(|attempt| attempt.node).collect();
        assert_eq!(run.attempts.len(), 1 + clones.min(2));
        assert_eq!(nodes.len(), run.attempts.len());
    }
}

#[test]
fn every_task_gets_its_first_clone_before_any_gets_its_second() {
    // Six cpus for two tasks: three copies each; five: the third copy goes to the first task.
    for (free, copies) in [(6, [3, 3]), (5, [3, 2]), (4, [2, 2]), (3, [2, 1])] {
        let world = World::nodes((0..free).map(|_| [("cpus", 1.0)])).job("a").same(2, 5.0);
        let run = world.run("dollymp(clones=2)");
        let of = |index| run.attempts.iter().filter(|attempt| attempt.id.task.index == index).count();
        assert_eq!([of(0), of(1)], copies, "{free} cpus");
    }
}

#[test]
fn clones_wait_until_no_original_fits() {
    // Two nodes of three cpus. b, shorter, comes first: one of its tasks of two cpus fits on a node, and beside
    // it a's only one; b's second goes to the second node, and a's clone gets what is left there.
    let world =
        World::nodes([[("cpus", 3.0)]; 2]).job("b").same(2, 20.0).demand([("cpus", 2.0)]).job("a").same(1, 40.0);
    for pass in ["after", "by_node"] {
        let run = world.run(&format!("dollymp(clones=1,clone_pass={pass})"));
        assert_eq!(run.started(), ["b/0", "a/0", "b/1", "a/0"], "{pass}");
    }
}

#[test]
fn the_two_readings_of_the_clone_passes() {
    // Three full nodes; at 1 the first and the third are free again, when b comes, which fits on the third alone.
    // As the prose has it b is placed before anything is cloned; as the loop is printed the first node clones
    // a before the third is looked at.
    let world = World::nodes([[("cpus", 1.0)], [("cpus", 1.0)], [("cpus", 2.0)]])
        .job("y")
        .same(1, 1.0)
        .job("a")
        .same(1, 60.0)
        .job("z")
        .same(1, 1.0)
        .demand([("cpus", 2.0)])
        .job("b")
        .at(1.0)
        .same(1, 20.0)
        .demand([("cpus", 2.0)]);
    let started = |pass: &str| world.run(&format!("dollymp(clones=1,clone_pass={pass})")).started();
    assert_eq!(started("after"), ["y/0", "a/0", "z/0", "b/0", "a/0"]);
    assert_eq!(started("by_node"), ["y/0", "a/0", "z/0", "a/0", "b/0"]);
}

#[test]
fn clones_hold_no_more_than_their_budget() {
    // Ten tasks on two nodes of ten cpus: ten clones without a limit, two with a tenth of twenty cpus.
    let world = || World::nodes([[("cpus", 10.0)]; 2]).job("a").same(10, 5.0);
    let copies = |policy: &str| world().run(policy).attempts.len();
    assert_eq!(copies("dollymp(clones=1)"), 20);
    assert_eq!(copies("dollymp(clones=1,budget=0.1)"), 12);
    assert_eq!(copies("dollymp(clones=1,budget=0)"), 10);
}

#[test]
fn a_budget_that_is_given_back_is_used_again() {
    // One clone at a time: the second task gets its own when the first is done.
    let world = World::nodes([[("cpus", 2.0)]; 2]).job("a").tasks([[9.0, 3.0], [9.0, 2.0]]);
    let run = world.run("dollymp(clones=1,budget=0.25)");
    let clones: Vec<f64> =
        run.attempts.iter().filter(|attempt| attempt.id.copy == 1).map(|attempt| attempt.start).collect();
    assert_eq!(clones, [0.0, 3.0]);
    assert_eq!(run.result.makespan, 5.0);
}

#[test]
fn priorities_are_computed_when_a_job_arrives_and_not_at_completions() {
    // Slots of a second on one cpu. At 0: a is 4 tasks of 2 s, length 2, volume 8: priority 3 (2^3 ≥ 8); b is one
    // task of 16 s: length and volume 16, priority 5 with a's 8 (8 + 16 = 24 ≤ 32).
    // c arrives at 5 with 3 tasks of 3 s: volume 9. By then a has 2 tasks (one of them running) left: volume 4,
    // priority 2; c: 4 + 9 = 13 ≤ 16: priority 4. So a, c, b.
    let world =
        World::nodes([[("cpus", 1.0)]]).job("a").same(4, 2.0).job("b").same(1, 16.0).job("c").at(5.0).same(3, 3.0);
    let run = world.run("dollymp(clones=0,slot=1)");
    assert_eq!(run.started(), ["a/0", "a/1", "a/2", "a/3", "c/0", "c/1", "c/2", "b/0"]);
}

/// Of a job's next copy of this demand, with this key, on a node.
type Score = fn(&Job, &Resources, f64, &Cluster, NodeId) -> f64;

/// A phase with tasks to start: level, score, job, number, tasks; the smallest is next.
type Ranked = (u64, Reverse<u64>, JobId, u32, Vec<TaskId>);

/// The same by looking at every node and every job of every round.
struct Plain {
    order: Box<dyn Order>,
    score: Score,
    /// Of a job only its first open phase is meant.
    first_phase: bool,
    clones: u32,
}

/// The pair of task and node with the highest score of all, as Tetris takes it.
struct PlainPairs {
    order: LeastRemaining,
    score: Score,
}

impl PlainPairs {
    fn best(&self, cluster: &Cluster) -> Option<(TaskId, NodeId)> {
        let mut pairs = Vec::new();
        for job in cluster.jobs().filter(|job| job.finished().is_none()) {
            let key = self.order.key(job, cluster);
            for (phase, found) in (0..).zip(job.phases()).filter(|(_, phase)| phase.is_open() && phase.pending() > 0) {
                let first = found.tasks().iter().position(Task::is_pending)?;
                let task = TaskId { job: job.id(), phase, index: first as u32 };
                for (node, there) in (0..).map(NodeId).zip(cluster.nodes()) {
                    if found.demand().fits(there.free()) {
                        let score = (self.score)(job, found.demand(), key, cluster, node);
                        pairs.push((Reverse(bits(score)), task, node));
                    }
                }
            }
        }
        pairs.into_iter().min().map(|(_, task, node)| (task, node))
    }
}

impl Pass for PlainPairs {
    fn decide(&mut self, round: &mut Round<'_>) {
        while let Some((task, node)) = self.best(round.cluster()) {
            assert!(round.start(task, node));
        }
    }
}

impl Plain {
    /// The first phase of a job that has tasks to start and fits on the node: its number, and the tasks.
    fn phase(
        &self,
        job: &Job,
        copies: Option<u32>,
        free: &Resources,
        passed: &[(JobId, u32)],
    ) -> Option<(u32, Vec<TaskId>)> {
        let fits = |at: u32| job.phases()[at as usize].demand().fits(free) && !passed.contains(&(job.id(), at));
        let phases = (0..).zip(job.phases()).filter(|(_, phase)| phase.is_open());
        let wanted =
            phases.filter(|(at, _)| self.first_phase || !passed.contains(&(job.id(), *at))).map(|(at, phase)| {
                let of_phase = (0..).zip(phase.tasks()).filter(|(_, task)| match copies {
                    None => task.is_pending(),
                    Some(copies) => !task.is_finished() && task.running_copies() == copies,
                });
                (at, of_phase.map(|(index, _)| TaskId { job: job.id(), phase: at, index }).collect::<Vec<_>>())
            });
        let mut waiting = wanted.into_iter().filter(|(_, tasks)| !tasks.is_empty());
        if self.first_phase { waiting.next().filter(|(at, _)| fits(*at)) } else { waiting.find(|(at, _)| fits(*at)) }
    }

    /// What would be started next on a node, as original (`None`) or as clone of a task with so many copies. Phases
    /// that turn out to have nothing for the node are passed over from then on.
    fn best(
        &self,
        copies: Option<u32>,
        node: NodeId,
        cluster: &Cluster,
        passed: &mut Vec<(JobId, u32)>,
    ) -> Option<TaskId> {
        let free = *cluster.node(node)?.free();
        loop {
            let mut found: Vec<Ranked> = Vec::new();
            for job in cluster.jobs().filter(|job| job.finished().is_none()) {
                let Some((phase, tasks)) = self.phase(job, copies, &free, passed) else { continue };
                let demand = job.phases()[phase as usize].demand();
                let key = self.order.key(job, cluster);
                let score = (self.score)(job, demand, key, cluster, node);
                found.push((bits(key), Reverse(bits(score)), job.id(), phase, tasks));
            }
            found.sort_unstable();
            let (_, _, job, phase, tasks) = found.into_iter().next()?;
            match tasks.into_iter().find(|task| copies.is_none() || !cluster.has_copy_on(*task, node)) {
                Some(task) => return Some(task),
                None => passed.push((job, phase)),
            }
        }
    }

    fn sweep(&self, copies: Option<u32>, round: &mut Round<'_>) {
        loop {
            let mut any = false;
            for node in (0..round.cluster().nodes().len() as u32).map(NodeId) {
                let mut passed = Vec::new();
                while let Some(task) = self.best(copies, node, round.cluster(), &mut passed) {
                    assert!(round.start(task, node));
                    any = true;
                }
            }
            if !any {
                return;
            }
        }
    }
}

/// Bits that sort as numbers do.
fn bits(number: f64) -> u64 {
    let bits = (number + 0.0).to_bits();
    if bits >> 63 == 0 { bits | (1 << 63) } else { !bits }
}

impl Pass for Plain {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        if let Seen::Event(event, applied) = seen {
            self.order.observe(event, applied, view.cluster);
        }
    }

    fn decide(&mut self, round: &mut Round<'_>) {
        self.sweep(None, round);
        for copies in 1..=self.clones {
            self.sweep(Some(copies), round);
        }
    }
}

fn shares_product(demand: &Resources, cluster: &Cluster, node: NodeId) -> f64 {
    let node = cluster.node(node).expect("a node of the cluster");
    // Summed as the index sums: the same product to the last bit, or ties would fall either way.
    let weight = |at: usize| {
        let capacity = node.capacity().0[at] as f64;
        if capacity > 0.0 { node.free().0[at] as f64 / (capacity * capacity) } else { 0.0 }
    };
    without_rounding(demand.0.iter().enumerate().map(|(at, amount)| *amount as f64 * weight(at)).sum())
}

/// What the plain program decides. `order` makes the order of its jobs.
fn run_plain<O: Order + 'static>(
    world: &World,
    order: fn() -> O,
    first_phase: bool,
    clones: u32,
    score: Score,
) -> Vec<(f64, Decision)> {
    let policy = move || {
        let plain = Plain { order: Box::new(order()), score, first_phase, clones };
        Policy::new(Box::new(order()), vec![Box::new(plain)])
    };
    world.run_own(policy).decisions()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_index_finds_what_a_scan_finds(world in any_cluster_of_dags(), clones in 0u32..4, first in any::<bool>()) {
        let phase = if first { "first" } else { "fitting" };
        let indexed = world.run(&format!("dollymp(phase={phase})+dollymp(clones={clones})")).decisions();
        let score = |_: &Job, demand: &Resources, _: f64, cluster: &Cluster, node| shares_product(demand, cluster, node);
        let scanned = run_plain(&world, || KnapsackOrder::new(DollympOrderParameters::default()), first, clones, score);
        let differs = indexed.iter().zip(&scanned).position(|(one, other)| one != other);
        prop_assert_eq!(differs, None, "{:?}, but {:?}", &indexed[differs.unwrap_or(0)], &scanned[differs.unwrap_or(0)]);
        prop_assert_eq!(indexed.len(), scanned.len());
    }

    #[test]
    fn tetris_takes_the_highest_score_of_all_tasks_and_nodes(world in any_cluster_of_dags()) {
        let scores: [Score; 3] = [
            |_, demand, _, cluster, node| shares_product(demand, cluster, node),
            |_, demand, key, cluster, node| shares_product(demand, cluster, node) - 0.5 * key,
            |_, demand, key, cluster, node| shares_product(demand, cluster, node) - 4.0 * key,
        ];
        for (score, epsilon) in scores.into_iter().zip([0.0, 0.5, 4.0]) {
            let run = world.run(&format!("tetris(epsilon={epsilon})"));
            let plain = move || {
                let pairs = PlainPairs { order: LeastRemaining(Remaining::Work), score };
                Policy::new(Box::new(LeastRemaining(Remaining::Work)), vec![Box::new(pairs)])
            };
            prop_assert_eq!(run.decisions(), world.run_own(plain).decisions());
        }
    }
}
