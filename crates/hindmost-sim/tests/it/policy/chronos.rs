//! `chronos`, in instances small enough to work out by hand, and against the closed forms of its PoCD.

use hindmost_sim::output::Outcome::{Lost, Replaced, Won};
use hindmost_sim::testing::World;
use proptest::prelude::*;

use super::shed::{assert_binomial, met_of};
use crate::audit::audit;

/// Two tasks with t_min = 2, so that the times τ of the tests are multiples of 2 s.
fn two_tasks(deadline: f64, tasks: [[f64; 3]; 2]) -> World {
    World::machines(9).job("a").deadline(deadline).tasks(tasks).tail("pareto(alpha=2,minimum=2)")
}

#[test]
fn clones_start_with_the_original_and_the_best_one_remains() {
    let world = two_tasks(10.0, [[9.0, 4.0, 6.0], [3.0, 5.0, 7.0]]);
    let run = world.run("fifo+chronos(strategy=clone,r=2,tau_kill=0.5)");
    // At τ_kill = 1 the second copy of task 0 and the first one of task 1 have the most progress.
    let rows: Vec<_> =
        run.table("a").into_iter().map(|(task, copy, _, start, end, how)| (task, copy, start, end, how)).collect();
    assert_eq!(
        rows,
        [
            (0, 0, 0.0, 1.0, Lost),
            (0, 1, 0.0, 4.0, Won),
            (0, 2, 0.0, 1.0, Lost),
            (1, 0, 0.0, 3.0, Won),
            (1, 1, 0.0, 1.0, Lost),
            (1, 2, 0.0, 1.0, Lost)
        ]
    );
    run.verify().unwrap();
}

#[test]
fn late_originals_get_backups_that_start_over() {
    // At τ_est = 1, task 0 is known to end at 9 > 5. Its backups end at 1 + 4 and 1 + 6; the first remains at τ_kill = 2.
    let world = two_tasks(5.0, [[9.0, 4.0, 6.0], [5.0, 1.0, 1.0]]);
    let run = world.run("fifo+chronos(strategy=restart,r=2,tau_est=0.5,tau_kill=1)");
    assert_eq!(
        run.table("a"),
        [(0, 0, 0, 0.0, 2.0, Lost), (0, 1, 2, 1.0, 5.0, Won), (0, 2, 3, 1.0, 2.0, Lost), (1, 0, 1, 0.0, 5.0, Won)]
    );
    // A finish at the deadline meets it: task 1 was not late, and the job is not.
    assert_eq!(run.result.met_deadlines, 1);
    run.verify().unwrap();
}

#[test]
fn late_originals_are_replaced_from_their_progress() {
    // At τ_est = 1, task 0 has done 1/9. Two attempts of 4.5 s and 6.75 s do the other 8/9 in 4 s and 6 s. The first
    // takes over the machine of the original; the second is stopped at τ_kill = 2.
    let world = two_tasks(5.0, [[9.0, 4.5, 6.75], [5.0, 1.0, 1.0]]);
    let run = world.run("fifo+chronos(strategy=resume,r=1,tau_est=0.5,tau_kill=1)");
    assert_eq!(
        run.table("a"),
        [(0, 0, 0, 0.0, 1.0, Replaced), (0, 1, 0, 1.0, 5.0, Won), (0, 2, 2, 1.0, 2.0, Lost), (1, 0, 1, 0.0, 5.0, Won)]
    );
    run.verify().unwrap();
    // r = 0 also replaces the original, by one attempt.
    let run = world.run("fifo+chronos(r=0,tau_est=0.5,tau_kill=1)");
    assert_eq!(run.table("a")[..2], [(0, 0, 0, 0.0, 1.0, Replaced), (0, 1, 0, 1.0, 5.0, Won)]);
}

#[test]
fn unknown_finishes_are_tested_when_they_become_known() {
    // At 1, the original of task 0 has done 1/9, and finishes are known after 1/5. So it ends at 5 or later, which may
    // be in time. At 9/5 it is known to be late.
    let late = |deadline: f64| {
        let world = two_tasks(deadline, [[9.0, 4.0, 6.0], [4.0, 1.0, 1.0]]).knowledge("progress(0.2)");
        let run = world.run("fifo+chronos(strategy=restart,r=1,tau_est=0.5,tau_kill=1)");
        run.verify().unwrap();
        run.backups("a")
    };
    assert_eq!(late(5.0), [(0, 1.8)]);
    // With a deadline of 4.9 it is late for certain at 1.
    assert_eq!(late(4.9), [(0, 1.0)]);
    // Without progress, the expected finish at 1 is the mean, 4: no task is late. With a deadline of 3 all are.
    let by_age = |deadline: f64| {
        let world = two_tasks(deadline, [[9.0, 4.0, 6.0], [4.0, 4.0, 1.0]]).knowledge("age");
        let run = world.run("fifo+chronos(strategy=restart,r=1,tau_est=0.5,tau_kill=1)");
        run.table("a").into_iter().map(|(task, copy, _, start, end, _)| (task, copy, start, end)).collect::<Vec<_>>()
    };
    assert_eq!(by_age(4.0), [(0, 0, 0.0, 9.0), (1, 0, 0.0, 4.0)]);
    // The oldest attempts remain at τ_kill.
    assert_eq!(by_age(3.0), [(0, 0, 0.0, 9.0), (0, 1, 1.0, 2.0), (1, 0, 0.0, 4.0), (1, 1, 1.0, 2.0)]);
}

#[test]
fn attempts_are_compared_once_a_finish_is_known() {
    // At τ_kill = 1 no copy has done a fifth of its work. The first to do so is copy 1, at 6/5.
    let world = World::machines(4).job("a").deadline(20.0).tasks([[9.0, 6.0, 8.0]]).tail("pareto(alpha=2,minimum=2)");
    let run = world.knowledge("progress(0.2)").run("fifo+chronos(strategy=clone,r=2,tau_kill=0.5)");
    assert_eq!(run.table("a"), [(0, 0, 0, 0.0, 1.2, Lost), (0, 1, 1, 0.0, 6.0, Won), (0, 2, 2, 0.0, 1.2, Lost)]);
}

#[test]
fn a_late_original_does_not_stop_its_backups() {
    // The original is known to end at 20 > 10 once it has done a tenth, at 2. At τ_kill, 2.2, the backups are expected to take
    // 4, the mean, and nothing distinguishes them: only the original is stopped. The first backup that is known to meet the
    // deadline, at 2 + 0.4, remains.
    let world = World::machines(4).job("a").deadline(10.0).tasks([[20.0, 5.0, 4.0]]).tail("pareto(alpha=2,minimum=2)");
    let run = world.knowledge("progress(0.1)").run("fifo+chronos(strategy=restart,r=2,tau_est=0.5,tau_kill=0.6)");
    assert_eq!(run.table("a"), [(0, 0, 0, 0.0, 2.2, Lost), (0, 1, 1, 2.0, 2.4, Lost), (0, 2, 2, 2.0, 6.0, Won)]);
    run.verify().unwrap();
}

#[test]
fn clones_that_nothing_distinguishes_all_continue() {
    let world = World::machines(4).job("a").deadline(20.0).tasks([[9.0, 4.0, 6.0]]).tail("pareto(alpha=2,minimum=2)");
    let run = world.knowledge("age").run("fifo+chronos(strategy=clone,r=2,tau_kill=0.5)");
    assert_eq!(run.table("a"), [(0, 0, 0, 0.0, 4.0, Lost), (0, 1, 1, 0.0, 4.0, Won), (0, 2, 2, 0.0, 4.0, Lost)]);
    run.verify().unwrap();
}

#[test]
fn the_number_of_clones_has_the_best_utility() {
    // Ten tasks with t_min = 2, β = 2, D = 4 and τ_kill = 1. lg R − 0.01·10·E[T] is −1.65, −0.65, −0.51, −0.55 for r = 0 to
    // 3 (R = 0.056, 0.525, 0.854, 0.962; E[T] = 4, 3.67, 4.4, 5.29), and falls from there.
    let world = World::machines(100).job("a").deadline(4.0).drawn(10, "pareto(alpha=2,minimum=2)");
    let clones = |parameters: &str| {
        world.run(&format!("fifo+chronos(strategy=clone,tau_kill=0.5,{parameters})")).backups("a").len()
    };
    assert_eq!(clones("theta=0.01,r_min=0"), 20);
    // With θ = 0.1 it is −5.25, −3.95, −4.47.
    assert_eq!(clones("theta=0.1,r_min=0"), 10);
    // Machine time costs nothing: as many as allowed.
    assert_eq!(clones("theta=0,max=5"), 50);
    assert_eq!(clones("r=3"), 30);
}

#[test]
fn jobs_without_a_deadline_are_left_alone() {
    let world = World::machines(9).job("a").drawn(3, "pareto(alpha=2,minimum=2)");
    for strategy in ["clone", "restart", "resume"] {
        assert_eq!(world.run(&format!("fifo+chronos(strategy={strategy},r=2)")).backups("a"), []);
    }
}

#[test]
fn backups_wait_for_free_machines() {
    // Both machines are in use until 3, when task 1 ends. The backup then starts, although τ_kill = 2 has passed: at
    // τ_kill it no longer waits.
    let world =
        World::machines(2).job("a").deadline(5.0).tasks([[9.0, 4.0], [3.0, 1.0]]).tail("pareto(alpha=2,minimum=2)");
    let run = world.run("fifo+chronos(strategy=restart,r=1,tau_est=0.5,tau_kill=1)");
    assert_eq!(run.backups("a"), []);
    // With τ_kill = 8 it does: it would end at 7, before the original.
    let run = world.run("fifo+chronos(strategy=restart,r=1,tau_est=0.5,tau_kill=4)");
    assert_eq!(run.backups("a"), [(0, 3.0)]);
    assert_eq!(run.job("a").flowtime(), 7.0);
}

#[test]
fn the_pocd_is_that_of_the_closed_forms() {
    // met_of has five tasks, t_min = 2, β = 2 and D = 3. τ_est = 0.3·2 = 0.6.
    // Clone: (1 − (2/3)^(2(r + 1)))^5. Restart: an original misses with (2/3)², a backup with (2/2.4)². Resume: a resumed
    // attempt misses with ((1 − φ)·2/2.4)². The theorem takes the mean of φ = 0.6/X given X > 3, (0.6/3)·(2/3); here the
    // mean of the power is taken, with φ = 0.2·√u for uniform u, because P(X > x | X > 3) = (3/x)².
    let original = (2.0f64 / 3.0).powi(2);
    let backup = (2.0f64 / 2.4).powi(2);
    let resumed = |attempts: i32| {
        let power = |at: u32| (1.0 - 0.2 * ((f64::from(at) + 0.5) / 1e4).sqrt()).powi(2 * attempts);
        backup.powi(attempts) * (0..10_000).map(power).sum::<f64>() / 1e4
    };
    for r in [1, 3] {
        for (strategy, miss) in [
            ("clone", original.powi(r + 1)),
            ("restart", original * backup.powi(r)),
            ("resume", original * resumed(r + 1)),
        ] {
            let met = met_of(1200, 40, &format!("fifo+chronos(strategy={strategy},r={r})"));
            assert_binomial(met, 1200, (1.0 - miss).powi(5));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(40, 400)))]

    #[test]
    fn one_attempt_of_a_task_remains_after_tau_kill(
        seed in 0..1000u64,
        machines in 2..20u32,
        strategy in prop::sample::select(vec!["clone", "restart", "resume"]),
        r in 0..4u32,
    ) {
        let jobs = |world: World, at: u32| {
            let world = world.job(&format!("j{at}")).at(f64::from(at)).deadline(4.0);
            world.drawn(1 + at % 4, "pareto(alpha=1.5,minimum=1)")
        };
        let world = (0..6).fold(World::machines(machines).seed(seed), jobs);
        let run = world.run(&format!("fifo+chronos(strategy={strategy},r={r},tau_est=0.3,tau_kill=0.8)"));
        run.verify().unwrap();
        audit(&world, &run);
        // t_min = 1: every attempt that runs for longer than 0.8 s is its task's last one, or the original that waited for
        // the estimate at 0.3 s.
        for attempt in run.attempts.iter().filter(|attempt| attempt.outcome == Lost) {
            prop_assert!(attempt.end - attempt.start <= 0.8 + 1e-6, "{attempt:?}");
        }
        let most = if strategy == "resume" { r + 2 } else { r + 1 };
        prop_assert!(run.attempts.iter().all(|attempt| attempt.id.copy < most));
    }
}
