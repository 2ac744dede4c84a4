//! `riski`: RiskI, in instances small enough to work out by hand.

use hindmost_core::ids::{JobId, TaskId};
use hindmost_core::profiles::{Conditions, Profile};
use hindmost_core::record::{Change, Decision, Event, StopReason};
use hindmost_sim::output::Outcome;
use hindmost_sim::testing::{Run, World};

/// Returns a world of one job whose first copies take these many seconds, and whose other copies take `again`. Policies know
/// that a copy takes 4 to 6 s. There are twice as many machines as tasks.
fn world(first: &[f64], again: f64) -> World {
    let tasks = first.iter().map(|seconds| vec![*seconds, again, again, again]);
    World::machines(2 * first.len() as u32).job("a").tasks(tasks).tail("uniform(min=4,max=6)")
}

/// Returns the backups of job a as (task, node, start).
fn backups(run: &Run) -> Vec<(u32, u32, f64)> {
    let copies = run.tries("a").into_iter().filter(|one| one.id.copy > 0);
    copies.map(|one| (one.id.task.index, one.node, one.start)).collect()
}

/// Returns how many attempts were stopped because a backup was certain to finish first.
fn stopped_at_once(run: &Run) -> usize {
    let stops = |decision: &Decision| matches!(decision, Decision::Stop { reason: StopReason::Overtaken, .. });
    run.decisions().iter().filter(|(_, decision)| stops(decision)).count()
}

#[test]
fn the_last_task_gets_a_backup_and_is_stopped_at_once() {
    // Remaining times are known from the start: task 3 takes 40 s, the others 5 s. A backup takes at most 6 s, less than 40.
    let run = world(&[5.0, 5.0, 5.0, 40.0], 5.0).run("riski");
    assert_eq!(backups(&run), [(3, 4, 0.0)]);
    assert_eq!((stopped_at_once(&run), run.job("a").flowtime()), (1, 5.0));
    let outcomes: Vec<Outcome> =
        run.tries("a").iter().filter(|one| one.id.task.index == 3).map(|one| one.outcome).collect();
    assert!(outcomes.contains(&Outcome::Lost) && outcomes.contains(&Outcome::Won), "{outcomes:?}");
    // Without kill both run until the backup finishes.
    let run = world(&[5.0, 5.0, 5.0, 40.0], 5.0).run("riski(kill=false)");
    assert_eq!((backups(&run), stopped_at_once(&run), run.job("a").flowtime()), (vec![(3, 4, 0.0)], 0, 5.0));
}

#[test]
fn a_straggler_that_may_finish_first_runs_on() {
    // Task 1 takes 5.5 s and a backup 4 to 6 s, on average 5 s: the gain is positive, but the backup may be slower.
    let run = world(&[1.0, 5.5], 5.9).run("riski(backups=1)");
    assert_eq!((backups(&run), stopped_at_once(&run)), (vec![(1, 2, 0.0)], 0));
    // The original finishes first, at 5.5.
    assert_eq!(run.job("a").flowtime(), 5.5);
}

#[test]
fn no_backup_starts_without_a_gain() {
    // Task 1 takes 4.9 s, and a backup 5 s on average.
    assert_eq!(backups(&world(&[1.0, 4.9], 1.0).run("riski")), []);
    // All tasks end at 9 s: a backup of one of them does not shorten the phase. In a race it does not either.
    assert_eq!(backups(&world(&[9.0, 9.0, 9.0], 1.0).run("riski")), []);
    assert_eq!(backups(&world(&[9.0, 9.0, 9.0], 1.0).run("riski(gain=race)")), []);
}

#[test]
fn stragglers_are_served_one_after_another() {
    // Task 3 ends last, 2 s after task 2, so its backup gains 2 s. Then task 2 ends last, 38 s − 5 s after the others.
    let run = world(&[5.0, 5.0, 38.0, 40.0], 5.0).run("riski");
    assert_eq!(backups(&run), [(2, 5, 0.0), (3, 4, 0.0)]);
    assert_eq!(run.job("a").flowtime(), 5.0);
}

#[test]
fn a_race_starts_backups_that_may_win_and_a_price_limits_them() {
    // Task 1 takes 4.9 s. A backup takes 4.05, 4.15, …, 5.95 s with probability 1/20 each; 9 of these are below 4.9, by
    // 0.85, 0.75, …, 0.05 s: the race gains (0.85 + 0.05)/2·9/20 = 0.2025 s, and holds its slot for 4.9 − 0.2025 s.
    let race = |price: f64| backups(&world(&[1.0, 4.9], 1.0).run(&format!("riski(gain=race,backups=1,price={price})")));
    assert_eq!(race(0.0), [(1, 2, 0.0)]);
    // 0.2025/4.6975 = 0.0431.
    assert_eq!(race(0.0430), [(1, 2, 0.0)]);
    assert_eq!(race(0.0432), []);
}

#[test]
fn tasks_are_not_backed_up_while_one_is_pending() {
    // Three tasks on two machines; machine 2 is away until 3. Task 0 is known to take 40 s, but task 2 starts only at 3.
    let tasks = [[40.0, 5.0], [9.0, 5.0], [5.0, 5.0]];
    let world = World::machines(4).outage(2, 0.0, 3.0).outage(3, 0.0, 4.0).job("a").tasks(tasks);
    let run = world.tail("uniform(min=4,max=6)").run("riski");
    assert_eq!(backups(&run)[0], (0, 3, 4.0));
}

#[test]
fn the_fastest_free_node_gains_most() {
    let world = |speeds: [f64; 5]| {
        let world = World::machines(5).speeds(speeds).job("a").tasks([[5.0, 5.0], [5.0, 5.0], [60.0, 5.0]]);
        world.tail("uniform(min=4,max=6)")
    };
    // Machine 4 has speed 2: its backup takes 2.5 s.
    let run = world([1.0, 1.0, 1.0, 1.0, 2.0]).run("riski(kill=false)");
    assert_eq!((backups(&run), run.job("a").flowtime()), (vec![(2, 4, 0.0)], 5.0));
    // On machines of speed 0.05 a backup takes 100 s, longer than the straggler. When task 0 and 1 have finished at 5,
    // machine 0 is free, and a backup there takes 5 s.
    let run = world([1.0, 1.0, 1.0, 0.05, 0.05]).run("riski(kill=false)");
    assert_eq!((backups(&run), run.job("a").flowtime()), (vec![(2, 0, 5.0)], 10.0));
}

#[test]
fn remaining_times_are_conditioned_on_the_age() {
    // Only ages are known. Task 1 takes 80 s and policies expect 0 to 100 s. At age a its range is uniform on (0, 100 − a),
    // and a new copy takes 50 s on average: no gain, at any age.
    let uniform = World::machines(3).job("a").tasks([[1.0, 1.0], [80.0, 1.0]]).tail("uniform(min=0,max=100)");
    assert_eq!(backups(&uniform.knowledge("age").run("riski")), []);
    // Pareto durations of index 2 and mean 10 s are at least 5 s. The mean of (i + 1/2)/20 to the power of −1/2 over i = 0 to
    // 19 is 1.865. So in 20 parts a new copy takes 5·1.865 = 9.32 s on average, and at age a > 5 the remaining time is
    // 0.865·a: more from a = 10.78 s on. Checks are every second, the next one at 11 s.
    let pareto = World::machines(3).job("a").tasks([[1.0, 1.0], [80.0, 1.0]]).tail("pareto(alpha=2,mean=10)");
    let made = backups(&pareto.knowledge("age").run("riski(kill=false)"));
    assert_eq!((made[0].0, made.len()), (1, 1));
    assert!(made[0].2 > 10.78 && made[0].2 < 11.1, "{made:?}");
}

#[test]
fn a_straggler_may_have_to_be_overdue() {
    // A task takes 4 to 6 s, 5 s on average; task 3 takes 40 s. From 5 s on it has run for longer than that.
    let overdue = |times: f64| {
        let run = world(&[4.5, 4.5, 4.5, 40.0], 5.0).run(&format!("riski(overdue={times})"));
        let made = backups(&run);
        (made.len(), made[0].0, made[0].2, run.job("a").flowtime())
    };
    assert_eq!(overdue(0.0), (1, 3, 0.0, 5.0));
    assert_eq!(overdue(1.0), (1, 3, 5.0, 10.0));
    assert_eq!(overdue(2.0), (1, 3, 10.0, 15.0));
}

#[test]
fn backups_may_come_before_pending_tasks_of_later_jobs() {
    // Two machines. Task 1 of job a takes 40 s; job b waits with three tasks of 5 s.
    let world = || {
        let world = World::machines(2).job("a").tasks([[5.0, 5.0], [40.0, 5.0]]).tail("uniform(min=4,max=6)");
        world.job("b").tasks([[5.0, 5.0]; 3])
    };
    // Job b takes machine 0 from 5 to 20.
    let run = world().run("fifo+riski(kill=false)");
    assert_eq!((backups(&run), run.job("a").finish), (vec![(1, 0, 20.0)], 25.0));
    let run = world().run("fifo+riski(kill=false,originals_first=false)");
    assert_eq!((backups(&run), run.job("a").finish), (vec![(1, 0, 5.0)], 10.0));
}

/// Profiles of job a: ten copies on each machine, with these durations.
fn known<const N: usize>(seconds: [f64; N]) -> Vec<Profile> {
    let of = |(at, seconds): (usize, f64)| Profile {
        job: "a".into(),
        phase: "tasks".into(),
        node: format!("machine-{at}").into(),
        speed: 1.0,
        seconds,
        conditions: Conditions { tasks: 2, ..Conditions::default() },
    };
    (0..10).flat_map(|_| seconds.into_iter().enumerate().map(of)).collect()
}

#[test]
fn profiles_show_the_best_node() {
    // Both tasks start on machines 0 and 1, where copies take 10 s by their profiles; task 1 takes 100 s. At 10 s task 1 has
    // outlived its profiles, and is expected to run on for about as long as it has. Copies take 40 s on machine 2 and 5 s on
    // machine 3.
    let world = |seconds| {
        World::machines(4)
            .job("a")
            .tasks([[10.0, 5.0], [100.0, 5.0]])
            .knowledge("profiles(0.9)")
            .profiles(known(seconds))
    };
    let run = world([10.0, 10.0, 40.0, 5.0]).run("riski");
    assert_eq!(backups(&run), [(1, 3, 10.0)]);
    assert_eq!(run.job("a").flowtime(), 15.0);
    run.verify().unwrap();
    // The same with machines 2 and 3 exchanged: equal speeds, so only profiles show the difference.
    assert_eq!(backups(&world([10.0, 10.0, 5.0, 40.0]).run("riski")), [(1, 2, 10.0)]);
}

#[test]
fn at_most_some_nodes_are_compared() {
    // Machines 2 to 5 take 40 s, 30 s, 20 s and 5 s by their profiles. At 10 s machine 0 is free too, with 10 s. Machines are
    // equally fast, so the first one by place is compared first.
    let policy = |compare: u32| format!("riski(compare={compare},backups=1)");
    let first = |compare| {
        let world = World::machines(6).job("a").tasks([[10.0, 5.0], [100.0, 5.0]]).knowledge("profiles(0.9)");
        backups(&world.profiles(known([10.0, 10.0, 40.0, 30.0, 20.0, 5.0])).run(&policy(compare)))[0].1
    };
    // Machine 1 runs the straggler. So four machines are 0, 2, 3 and 4, of which 0 is the best; the fifth is machine 5.
    assert_eq!([1, 4, 5, 64].map(first), [0, 0, 5, 5]);
}

#[test]
fn without_progress_only_profiles_and_the_age_count() {
    // Task 1 takes 100 s, and profiles say 10 s. At 5 s, a twentieth of its work, its progress shows that it needs 95 s more, and
    // task 0 ends at 10 s: a backup on machine 3 takes 5 s. From profiles alone it is late only at 10 s.
    let start = |policy| {
        let world = World::machines(4).job("a").tasks([[10.0, 5.0], [100.0, 5.0]]).knowledge("profiles(0.05)");
        backups(&world.profiles(known([10.0, 10.0, 40.0, 5.0])).run(policy))
    };
    assert_eq!(start("riski"), [(1, 3, 5.0)]);
    assert_eq!(start("riski(progress=false)"), [(1, 3, 10.0)]);
}

#[test]
fn a_node_that_profiles_know_as_slow_is_not_used() {
    // Copies take 10 s on machine 0, 12 s on machine 1 and 60 s on machines 2 and 3. Task 1 runs on machine 1. Until 12 s it is
    // expected to end at 12 s; then it has outlived the profiles of its machine and is expected to run for longer than a copy
    // takes on machine 0, but not for 60 s.
    let world = World::machines(4).job("a").tasks([[10.0, 10.0], [100.0, 10.0]]).knowledge("profiles(0.8)");
    let run = world.profiles(known([10.0, 12.0, 60.0, 60.0])).run("riski");
    assert!(backups(&run).iter().all(|(_, node, _)| *node == 0), "{:?}", backups(&run));
    assert!(!backups(&run).is_empty());
}

#[test]
fn profiles_of_the_same_run_are_learned() {
    // Twelve jobs of one type, one after another, of two tasks of 10 s each on two machines. Nothing is known at first.
    let mut world = World::machines(2).knowledge("profiles");
    for at in 0..12u32 {
        world = world.job(&format!("etl-{at}")).at(20.0 * f64::from(at)).tasks([[10.0], [10.0]]).mean(3.0);
    }
    let run = world.run("riski");
    let learned: Vec<(f64, u32, f64)> = run
        .records
        .iter()
        .filter_map(|record| match &record.change {
            Change::Event(Event::DurationsLearned { samples, durations, .. }) => {
                Some((record.at.seconds(), *samples, durations.mean()))
            }
            _ => None,
        })
        .collect();
    // The second job arrives at 20 and finds the two profiles of the first; each later one finds two more. When the first
    // task of a job finishes, the number has grown by a quarter only from 2 to 3 and from 4 to 5.
    let mut expected: Vec<(f64, u32, f64)> = (1..12u32).map(|at| (20.0 * f64::from(at), 2 * at, 10.0)).collect();
    expected.extend([(30.0, 3, 10.0), (50.0, 5, 10.0)]);
    expected.sort_by(|one, other| one.0.total_cmp(&other.0));
    assert_eq!(learned, expected);
    run.verify().unwrap();
    // Slowdown is measured with the true mean, not with the learned one: 10 s / 3 s.
    assert!((run.job("etl-5").slowdown - 10.0 / 3.0).abs() < 1e-9);
}

#[test]
fn reasons_have_the_ranges() {
    let run = world(&[5.0, 40.0], 5.0).run("riski");
    let steps = run.explain(TaskId { job: JobId(0), phase: 0, index: 1 }).unwrap();
    let reasons: Vec<&str> = steps.iter().filter_map(|step| step.because.as_deref()).collect();
    let expected = "attempt 0 was expected to end last of its phase, in 40.00 s (40.00 to 40.00 s; the other tasks in 5.00 s); \
                    a backup on this node was expected to take 5.00 s (4.05 to 5.95 s) and to gain";
    assert!(reasons.iter().any(|reason| reason.starts_with(expected)), "{reasons:?}");
    assert!(
        reasons.iter().any(|reason| reason.contains("at most 5.95 s, and this attempt at least 40.00 s")),
        "{reasons:?}"
    );
}
