//! `shed`, in instances small enough to work out by hand, in random ones, and against the closed form of its PoCD.

use hindmost_core::record::Decision;
use hindmost_sim::output::Outcome::{Abandoned, Lost, NodeLost, Won};
use hindmost_sim::testing::{Run, World};
use proptest::prelude::*;

use crate::audit::{audit, audit_abandonments};

/// The number of copies of a job in addition to the first of each task.
fn clones(run: &Run, job: &str) -> usize {
    run.backups(job).len()
}

#[test]
fn a_job_alone_gets_all_slots_but_one() {
    // ⌊(9 − 2 − 1)/2⌋ = 3 clones of each task: 8 of 9 machines. One slot is for the application master.
    let world = World::machines(9)
        .job("a")
        .deadline(10.0)
        .tasks([[4.0, 3.0, 2.0, 1.0], [5.0, 5.0, 2.0, 5.0]])
        .tail("pareto(alpha=2,minimum=1)");
    let run = world.run("fifo+shed");
    assert_eq!(run.backups("a"), [(0, 0.0), (0, 0.0), (0, 0.0), (1, 0.0), (1, 0.0), (1, 0.0)]);
    assert_eq!(run.job("a").flowtime(), 2.0);
    run.verify().unwrap();
    // Without a master ⌊(10 − 2)/2⌋ = 4 clones fit on 10 machines, with one only ⌊(10 − 2 − 1)/2⌋ = 3.
    let world = World::machines(10).job("a").deadline(10.0).drawn(2, "pareto(alpha=2,minimum=1)");
    assert_eq!(["fifo+shed(masters=0)", "fifo+shed"].map(|policy| clones(&world.run(policy), "a")), [8, 6]);
}

/// On ten machines, "a" runs with ⌊(10 − 2 − 1)/2⌋ = 3 clones of two tasks when "b" arrives at 1. κ = 10 − 4 − 2 = 4.
fn two_jobs() -> World {
    World::machines(10)
        .job("a")
        .deadline(20.0)
        .tasks([[10.0; 4], [12.0, 11.0, 10.0, 13.0]])
        .tail("pareto(alpha=2,minimum=4)")
        .job("b")
        .at(1.0)
        .deadline(8.0)
        .tasks([[6.0, 6.0, 3.0], [6.0, 2.0, 6.0]])
        .tail("pareto(alpha=2,minimum=4)")
}

#[test]
fn an_arrival_moves_clones_to_the_job_at_risk() {
    // "a" has done 1/10 of its work and has 19 s left: (1 − (0.9·4/19)²)² = 0.93. "b": (1 − (4/8)²)² = 0.56, with a
    // clone (1 − 0.5⁴)² = 0.88, with two (1 − 0.5⁶)² = 0.97. So "b" gets the four clones, and "a" keeps one copy of
    // each task, the one that will finish first.
    let run = two_jobs().run("fifo+shed");
    assert_eq!(run.backups("b"), [(0, 1.0), (0, 1.0), (1, 1.0), (1, 1.0)]);
    assert_eq!(run.job("b").flowtime(), 3.0);
    let ends: Vec<_> =
        run.table("a").into_iter().map(|(task, copy, _, _, end, outcome)| (task, copy, end, outcome)).collect();
    assert_eq!(
        ends,
        [
            (0, 0, 10.0, Won),
            (0, 1, 1.0, Lost),
            (0, 2, 1.0, Lost),
            (0, 3, 1.0, Lost),
            (1, 0, 1.0, Lost),
            (1, 1, 1.0, Lost),
            (1, 2, 10.0, Won),
            (1, 3, 1.0, Lost)
        ]
    );
    run.verify().unwrap();
}

#[test]
fn with_many_open_phases_not_every_arrival_counts() {
    // Two phases are open when "b" arrives, which is the first arrival after the choice at 0. With exact=1 only every second
    // one leads to a choice, so "a" keeps its six clones, and "b" runs its first copies of 6 s on the two idle machines.
    let run = two_jobs().run("fifo+shed(exact=1)");
    assert_eq!((clones(&run, "a"), clones(&run, "b")), (6, 0));
    assert_eq!(run.job("b").flowtime(), 6.0);
    // With exact=2 it is the choice of the test above.
    let run = two_jobs().run("fifo+shed(exact=2)");
    assert_eq!((clones(&run, "b"), run.job("b").flowtime()), (4, 3.0));
}

#[test]
fn surplus_clones_may_run_on() {
    // The first copies of "b" take the two idle machines. Its clones would wait until "a" ends at 10, but "b" ends at 7.
    let run = two_jobs().run("fifo+shed(stop_surplus=false)");
    assert_eq!((clones(&run, "a"), clones(&run, "b")), (6, 0));
    assert!(run.table("a").iter().all(|row| row.4 == 10.0));
    assert_eq!(run.job("b").flowtime(), 6.0);
}

/// "late" has its deadline at 3 and runs until 10. "next" arrives at 5.
fn late_and_next(deadline: f64) -> World {
    World::machines(4)
        .job("late")
        .deadline(deadline)
        .tasks([[10.0; 3]])
        .tail("pareto(alpha=2,minimum=1)")
        .job("next")
        .at(5.0)
        .deadline(9.0)
        .tasks([[2.0; 3]])
        .tail("pareto(alpha=2,minimum=1)")
}

fn abandoned(run: &Run) -> Vec<f64> {
    run.decisions()
        .iter()
        .filter(|(_, decision)| matches!(decision, Decision::Abandon { .. }))
        .map(|(at, _)| *at)
        .collect()
}

#[test]
fn late_jobs_are_killed_at_the_next_arrival() {
    let run = late_and_next(3.0).run("fifo+shed");
    assert_eq!(abandoned(&run), [5.0]);
    assert_eq!(
        run.table("late"),
        [(0, 0, 0, 0.0, 5.0, Abandoned), (0, 1, 1, 0.0, 5.0, Abandoned), (0, 2, 2, 0.0, 5.0, Abandoned)]
    );
    // The next job is alone: ⌊(4 − 1 − 1)/1⌋ = 2 clones.
    assert_eq!(run.backups("next"), [(0, 5.0), (0, 5.0)]);
    run.verify().unwrap();
}

#[test]
fn a_job_is_not_killed_at_its_deadline() {
    // The deadline is the instant of the arrival. The job could still finish at that instant.
    let run = late_and_next(5.0).run("fifo+shed");
    assert!(abandoned(&run).is_empty());
    assert_eq!(run.job("late").flowtime(), 10.0);
}

#[test]
fn late_jobs_may_be_killed_at_once_or_never() {
    let run = late_and_next(3.0).run("fifo+shed(kill=deadline)");
    // One nanosecond after the deadline.
    assert_eq!(abandoned(&run), [3.000_000_001]);
    let run = late_and_next(3.0).run("fifo+shed(kill=never)");
    assert!(abandoned(&run).is_empty());
    // "late" is hopeless. κ = 4 − 2 − 2 = 0: its clones are stopped, and nobody has clones.
    assert_eq!(run.table("late")[0], (0, 0, 0, 0.0, 10.0, Won));
    assert!(run.table("late")[1..].iter().all(|row| row.4 == 5.0));
    assert_eq!(clones(&run, "next"), 0);
}

/// "a" shares five machines with three tasks of "other" until 4. "b" arrives at 5 and has no deadline, like "other".
fn freed_slots() -> World {
    World::machines(5)
        .job("a")
        .deadline(100.0)
        .tasks([[20.0, 8.0, 9.0, 9.0, 50.0, 50.0]])
        .tail("pareto(alpha=2,minimum=4)")
        .job("other")
        .same(3, 4.0)
        .job("b")
        .at(5.0)
        .same(1, 1.0)
}

#[test]
fn clones_resume_from_the_progress_of_their_task() {
    // At 0: 5 − 4 − 2 slots are left, less than none. At 5: ⌊(5 − 1 − 1 − 2)/1⌋ = 1 clone. It starts with the progress
    // 5/20, so it does 3/4 of its 8 s and ends at 11.
    let run = freed_slots().run("fifo+shed");
    assert_eq!(run.backups("a"), [(0, 5.0)]);
    assert_eq!(run.job("a").flowtime(), 11.0);
    run.verify().unwrap();
    // From the beginning it ends at 5 + 8.
    assert_eq!(freed_slots().run("fifo+shed(start=restart)").job("a").flowtime(), 13.0);
    // Progress that is not known counts as none: the original's is known after half of its work, at 10.
    assert_eq!(freed_slots().knowledge("progress(0.5)").run("fifo+shed").job("a").flowtime(), 13.0);
    // Jobs without a deadline never get clones.
    assert_eq!((clones(&run, "other"), clones(&run, "b")), (0, 0));
}

#[test]
fn a_job_that_new_clones_cannot_help_leaves_its_slots() {
    // t_min = 5. Alone, "a" gets ⌊(20 − 2 − 1)/2⌋ = 8 clones of each task. "b" arrives at 16, with κ = 20 − 4 − 2 = 14. Its
    // R is (1 − (5/20)²)² = 0.88. "a" has 4 s left: a clone from the beginning takes at least 5 s, so its R is
    // (1 − (16/20)²)² = 0.13 with any number of clones. So "b" gets ⌊14/2⌋ = 7 clones. They take 6 s.
    let (mut a, mut b) = ([30.0; 9], [6.0; 8]);
    (a[0], b[0]) = (18.0, 25.0);
    let world = World::machines(20)
        .job("a")
        .deadline(20.0)
        .tasks([a, a])
        .tail("pareto(alpha=2,minimum=5)")
        .job("b")
        .at(16.0)
        .deadline(20.0)
        .tasks([b, b])
        .tail("pareto(alpha=2,minimum=5)");
    let run = world.run("fifo+shed(start=restart)");
    assert_eq!((clones(&run, "a"), clones(&run, "b")), (16, 14));
    assert_eq!((run.job("a").flowtime(), run.job("b").flowtime()), (18.0, 6.0));
    run.verify().unwrap();
    // As printed, "a" takes all 14 slots: the original of "b" ends 25 s after the start, too late.
    let run = world.run("fifo+shed(start=restart,hopeless=clone)");
    assert_eq!((clones(&run, "b"), run.job("b").flowtime()), (0, 25.0));
    // Clones that resume do help "a", but its original has done 16/18 of its work: (1 − (2/18·5/4)²)² = 0.96. "b" is first.
    assert_eq!(world.run("fifo+shed").result.met_deadlines, 2);
}

#[test]
fn the_end_of_a_job_may_lead_to_a_new_choice() {
    // At 4, when "other" ends: ⌊(5 − 1 − 1)/1⌋ = 3 clones. The first ends at 4 + (1 − 4/20)·8 = 10.4, the others at 11.2. At 5,
    // when "b" arrives, one clone may remain; the original and the last clone are behind. At 6, when
    // "b" ends, there is space for two again.
    let run = freed_slots().run("fifo+shed(reoptimise=arrival_and_end)");
    assert_eq!(run.backups("a"), [(0, 4.0), (0, 4.0), (0, 4.0), (0, 6.0), (0, 6.0)]);
    assert!((run.job("a").flowtime() - 10.4).abs() < 1e-8);
    let ends: Vec<f64> = run.table("a").iter().map(|row| row.4).collect();
    assert_eq!((ends[0], ends[3]), (5.0, 5.0));
}

#[test]
fn larger_copies_use_more_slots() {
    // 16 cpus are 16 slots of one cpu. κ = 16 − 2·1 − 2·2 − 2 = 8. Both jobs have the same PoCD and take turns by id: "a"
    // (2 slots), "b" (4, in all 6), "a" (8).
    let node = [("cpus", 4.0)];
    let world = World::nodes([node; 4])
        .job("a")
        .deadline(9.0)
        .drawn(2, "pareto(alpha=2,minimum=3)")
        .demand([("cpus", 1.0)])
        .job("b")
        .deadline(9.0)
        .drawn(2, "pareto(alpha=2,minimum=3)")
        .demand([("cpus", 2.0)]);
    let run = world.run("fifo+shed");
    assert_eq!((clones(&run, "a"), clones(&run, "b")), (4, 2));
    run.verify().unwrap();
}

#[test]
fn a_task_has_at_most_one_copy_on_each_node() {
    // ⌊(12 − 1 − 1)/1⌋ = 10 clones, but there are only three nodes.
    let node = [("cpus", 4.0)];
    let world = World::nodes([node; 3]).job("a").deadline(9.0).drawn(1, "pareto(alpha=2,minimum=3)");
    let world = world.demand([("cpus", 1.0)]);
    assert_eq!(clones(&world.run("fifo+shed"), "a"), 2);
    // Two copies on each of three nodes: 5 clones. With three, 8. Four each are more than ⌊(12 − 1 − 1)/1⌋ = 10 clones.
    let with = |per_node: u32| {
        let run = world.run(&format!("fifo+shed(per_node={per_node})"));
        run.verify().unwrap();
        clones(&run, "a")
    };
    assert_eq!([1, 2, 3, 4, 1000].map(with), [2, 5, 8, 10, 10]);
}

#[test]
fn clones_go_to_nodes_without_a_copy_first() {
    // ⌊(6 − 2 − 1)/2⌋ = 1 clone of each of two tasks on two nodes of three slots: each runs on the other node. One task on
    // two nodes of four slots gets ⌊(8 − 1 − 1)/1⌋ = 6 clones: the first one runs on the other node.
    let world = |slots: f64, tasks: u32| {
        let node = [("cpus", slots)];
        let world = World::nodes([node; 2]).job("a").deadline(9.0).drawn(tasks, "pareto(alpha=2,minimum=3)");
        world.demand([("cpus", 1.0)])
    };
    let nodes = |world: World| {
        let run = world.run("fifo+shed(per_node=4)");
        run.table("a").into_iter().map(|(task, _, node, ..)| (task, node)).collect::<Vec<_>>()
    };
    let two = nodes(world(3.0, 2));
    assert_eq!(two.len(), 4);
    assert!((0..2).all(|task| (0..2).all(|node| two.contains(&(task, node)))), "{two:?}");
    let one = nodes(world(4.0, 1));
    assert_eq!((one.len(), one[0].1 == one[1].1), (7, false), "{one:?}");
}

#[test]
fn slots_above_the_limit_of_a_task_go_to_other_jobs() {
    // Two nodes of five slots. "a" has one task with (3/4)² = 0.5625 to miss, "b" three with (3/9)² = 0.11 each, which is a
    // PoCD of 0.44 for "a" and 0.70 for "b". κ = 10 − 4 − 2 = 4: "a" gets one clone (0.68), and would get the second, but there
    // are only two nodes. So "b" gets the other three slots: one clone of each task.
    let node = [("cpus", 5.0)];
    let world = World::nodes([node; 2])
        .job("a")
        .deadline(4.0)
        .drawn(1, "pareto(alpha=2,minimum=3)")
        .demand([("cpus", 1.0)])
        .job("b")
        .deadline(9.0)
        .drawn(3, "pareto(alpha=2,minimum=3)")
        .demand([("cpus", 1.0)]);
    let shared = |policy: &str| ["a", "b"].map(|job| clones(&world.run(policy), job));
    assert_eq!(shared("fifo+shed"), [1, 3]);
    // Five copies of a task may share a node: PoCDs 0.44, 0.68 and 0.82 of "a"; then 0.70 of "b" is lower, but three
    // clones do not fit in the two slots that are left.
    assert_eq!(shared("fifo+shed(per_node=5)"), [4, 0]);
}

#[test]
fn phases_share_the_time_until_the_deadline() {
    // Both phases have a mean of 6 s and t_min = 3, so the map has half of the time: 3 s are hopeless, 4 s are not.
    let world = |deadline| {
        let tail = "pareto(alpha=2,minimum=3)";
        let maps =
            World::machines(5).job("a").deadline(deadline).phase("map").tasks([[2.0, 2.0], [2.0, 2.0]]).tail(tail);
        maps.phase("reduce").after(["map"]).tasks([[2.0; 4]]).tail(tail)
    };
    // The reduce starts at 2, with all of the remaining 4 s or 6 s: ⌊(5 − 1 − 1)/1⌋ = 3 clones.
    assert_eq!(world(6.0).run("fifo+shed").backups("a"), [(0, 2.0), (0, 2.0), (0, 2.0)]);
    // The map gets ⌊(5 − 2 − 1)/2⌋ = 1 clone of each task.
    let run = world(8.0).run("fifo+shed");
    assert_eq!(run.backups("a"), [(0, 0.0), (1, 0.0), (0, 2.0), (0, 2.0), (0, 2.0)]);
    run.verify().unwrap();
}

#[test]
fn a_lost_clone_is_replaced() {
    // The node of the second copy is lost from 1 to 3. Two nodes are left: ⌊(2 − 1 − 1)/1⌋ = 0 clones. At 3 there are
    // three again: one clone, which resumes at 3/9 and ends at 3 + (2/3)·6 = 7.
    let world = World::machines(3).job("a").deadline(30.0).tasks([[9.0, 9.0, 6.0]]).tail("pareto(alpha=2,minimum=3)");
    let run = world.outage(1, 1.0, 3.0).run("fifo+shed");
    assert_eq!(run.backups("a"), [(0, 0.0), (0, 3.0)]);
    assert_eq!(run.job("a").flowtime(), 7.0);
    run.verify().unwrap();
}

#[test]
fn a_lost_clone_is_replaced_if_its_job_may_have_as_many_as_before() {
    // ⌊(6 − 2 − 1)/2⌋ = 1 clone of each task, on machines 2 and 3. Machine 2 is lost at 2: ⌊(5 − 2 − 1)/2⌋ is 1 as
    // well, and two machines are idle. The new clone of task 0 resumes at 2/8 and ends at 2 + (3/4)·4 = 5.
    let tasks = [[8.0, 8.0, 4.0], [5.0, 5.0, 5.0]];
    let world = World::machines(6).job("a").deadline(30.0).tasks(tasks).tail("pareto(alpha=2,minimum=3)");
    let run = world.outage(2, 2.0, f64::INFINITY).run("fifo+shed");
    assert_eq!(run.backups("a"), [(0, 0.0), (0, 2.0), (1, 0.0)]);
    assert_eq!(run.table("a")[1], (0, 1, 2, 0.0, 2.0, NodeLost));
    assert_eq!(run.job("a").flowtime(), 5.0);
    run.verify().unwrap();
}

/// Returns how many of `jobs` jobs of five tasks with t_min = 2 and β = 2 meet a deadline of 3 s. No job waits for
/// another one.
pub(super) fn met_of(jobs: u32, machines: u32, policy: &str) -> u64 {
    const IN_A_RUN: u32 = 300;
    let met = |seed: u32| {
        let world = (0..IN_A_RUN).fold(World::machines(machines).seed(seed.into()), |world, at| {
            let world = world.job(&format!("j{at}")).at(f64::from(at) * 1e6).deadline(3.0);
            world.drawn(5, "pareto(alpha=2,minimum=2)")
        });
        let run = world.run(policy);
        assert_eq!(run.result.deadlines, u64::from(IN_A_RUN));
        run.result.met_deadlines
    };
    (0..jobs / IN_A_RUN).map(met).sum()
}

/// Checks that a number of successes is within 3.5 standard deviations of the binomial distribution's mean.
pub(super) fn assert_binomial(successes: u64, of: u32, probability: f64) {
    let (count, mean) = (f64::from(of), f64::from(of) * probability);
    let deviation = (count * probability * (1.0 - probability)).sqrt();
    assert!(
        (successes as f64 - mean).abs() < 3.5 * deviation,
        "{successes} of {of}, expected {mean:.1} ± {deviation:.1}"
    );
}

#[test]
fn the_pocd_is_that_of_the_closed_form() {
    // ⌊(λm − 5 − 1)/5⌋ is 0, 1, 2 and 3. R_su = (1 − (2/3)^(2(r + 1)))^5 = 0.053, 0.332, 0.632, 0.818.
    for (machines, r) in [(10, 0), (11, 1), (16, 2), (21, 3)] {
        let expected = (1.0 - (2.0f64 / 3.0).powi(2 * (r + 1))).powi(5);
        assert_binomial(met_of(1500, machines, "fifo+shed"), 1500, expected);
    }
}

fn any_world() -> impl Strategy<Value = World> {
    let job = (0.0..20.0f64, prop::option::of(0.5..15.0f64), 1..6u32, 1..3u32);
    let jobs = prop::collection::vec(job, 1..8);
    (2..16u32, jobs, 0..1000u64, prop::sample::select(vec!["oracle", "progress(0.2)", "age"])).prop_map(
        |(machines, mut jobs, seed, knowledge)| {
            jobs.sort_by(|one, other| one.0.total_cmp(&other.0));
            let world = World::machines(machines).seed(seed).knowledge(knowledge);
            jobs.into_iter().zip(0..).fold(world, |world, ((at, deadline, tasks, phases), number)| {
                let world = world.job(&format!("j{number}")).at(at);
                let world = deadline.into_iter().fold(world, World::deadline);
                let first = world.phase("first").drawn(tasks, "pareto(alpha=1.5,minimum=1)");
                if phases == 1 {
                    return first;
                }
                first.phase("second").after(["first"]).drawn(1, "exponential(mean=2)")
            })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(60, 600)))]

    #[test]
    fn no_job_is_killed_before_its_deadline(
        world in any_world(),
        policy in prop::sample::select(vec![
            "fifo+shed", "fair+shed(reoptimise=arrival_and_end)", "fifo+shed(kill=deadline,start=restart)",
            "fifo+shed(hopeless=clone,masters=0)", "srpt+shed(stop_surplus=false)", "fair+shed(start=restart)",
        ]),
    ) {
        let run = world.run(policy);
        run.verify().unwrap();
        audit(&world, &run);
        audit_abandonments(&run);
        // A killed job has missed its deadline, and all jobs either finish or are killed.
        prop_assert!(run.result.deadlines - run.result.met_deadlines >= run.result.abandoned);
        prop_assert_eq!(run.result.unfinished, 0);
    }
}
