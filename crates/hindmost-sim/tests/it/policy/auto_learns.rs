//! What `auto` learns during a run: how far off predictions are, how long attempts take, and what else a job waits for.

use std::collections::BTreeMap;

use hindmost_core::ids::AttemptId;
use hindmost_core::record::{Change, Decision};
use hindmost_core::time::Time;
use hindmost_sim::testing::World;

/// Jobs of 30 tasks on 60 machines, one every 1.5 s: a load of a third.
fn jobs(world: World, duration: &str) -> World {
    jobs_every(1.5, world, duration)
}

fn jobs_every(seconds: f64, mut world: World, duration: &str) -> World {
    for job in 0..40 {
        world = world.job(&format!("job-{job}")).at(seconds * f64::from(job)).drawn(30, duration);
    }
    world.seed(5)
}

/// Returns the mean flowtime of a policy relative to that of `none`.
fn to_none(world: &World, policy: &str) -> f64 {
    let flowtime = |policy: &str| -> f64 {
        let run = world.run(policy);
        run.names().map(|name| run.job(name)).map(|job| job.finish - job.arrival).sum()
    };
    flowtime(policy) / flowtime("none")
}

const PARETO: &str = "pareto(alpha=2,mean=1)";

#[test]
fn predictions_count_as_far_as_they_come_true() {
    let world = || jobs(World::machines(60).knowledge("progress(0.1)"), PARETO);
    let exact = to_none(&world(), "auto");
    let noisy = to_none(&world().noise(0.3), "auto");
    // Where errors are not noticed, most of what copies save is lost: losers are chosen by chance, and late attempts count as hopeless.
    assert!(exact < noisy && noisy < 0.5, "{exact} {noisy}");
    // No policy can gain where copies take as long as their originals; errors must not hide that.
    let in_vain = to_none(&world().noise(0.3).correlation(1.0), "auto");
    assert!(in_vain < 1.1, "{in_vain}");
}

#[test]
fn stragglers_that_are_not_stated_are_learned() {
    let duration = "log_normal(mean=1,cv=0.2)";
    let world = jobs(World::machines(60).knowledge("age").stragglers(0.1, 6.0, true), duration);
    // By the stated durations no attempt takes twice the mean, so that SDA and ESE never start a copy.
    assert!((to_none(&world, "sda") - 1.0).abs() < 1e-9);
    let found = to_none(&world, "auto");
    assert!(found < 0.8, "{found}");
}

/// What speaks for a copy when it starts still does when nothing has happened since, also where copies have a part in common.
#[test]
fn no_copy_is_stopped_when_it_starts() {
    let world = jobs_every(0.55, World::machines(60).knowledge("progress(0.3)").correlation(0.25), PARETO);
    let mut started: BTreeMap<AttemptId, Time> = BTreeMap::new();
    for record in world.run("auto").records {
        match record.change {
            Change::Decision(Decision::Start { attempt, .. }) => {
                started.insert(attempt, record.at);
            }
            Change::Decision(Decision::Stop { attempt, .. }) => assert!(started[&attempt] < record.at, "{attempt:?}"),
            _ => {}
        }
    }
}

#[test]
fn copies_of_a_phase_are_worth_little_beside_a_longer_one() {
    let world = |beside: bool, after: bool| {
        let mut world = World::machines(60).knowledge("age");
        for job in 0..20 {
            world = world.job(&format!("job-{job}")).at(100.0 * f64::from(job)).drawn(8, PARETO);
            if beside {
                world = world.phase("long").same(1, 60.0);
            }
            if after {
                world = world.phase("later").after(["tasks"]).same(1, 60.0);
            }
        }
        world.seed(5)
    };
    let copies = |world: World| {
        let run = world.run("auto");
        run.names().map(|name| run.backups(name).len()).sum::<usize>()
    };
    let (alone, beside) = (copies(world(false, false)), copies(world(true, false)));
    // What is left are copies that save machine time.
    assert!(beside * 2 < alone, "{beside} {alone}");
    // What comes after the short phase takes as long, so that it decides again.
    let decides = copies(world(true, true));
    assert!(decides > 2 * beside, "{decides} {beside}");
}
