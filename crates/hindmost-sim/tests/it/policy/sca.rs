//! `sca`: the Smart Cloning Algorithm, in instances small enough to work out by hand.

use hindmost_sim::testing::World;

#[test]
fn clones_if_new_tasks_are_fewer_than_idle_machines() {
    let world = |machines, tasks| World::machines(machines).gamma(0.0).job("a").drawn(tasks, "pareto(alpha=2,mean=1)");
    let copies = |machines, tasks| world(machines, tasks).run("sca").result.copies_launched;
    // Four tasks on five machines: too few machines for a second copy of each task.
    assert_eq!(copies(5, 4), 0);
    assert_eq!(copies(8, 4), 4);
    assert_eq!(copies(16, 4), 12);
    // With the default maximum of 8 copies, four tasks get 4 × 7 clones.
    assert_eq!(copies(99, 4), 28);
    // With as many tasks as machines, each task has one copy.
    assert_eq!(copies(4, 4), 0);
}

#[test]
fn under_load_tasks_have_one_copy_smallest_job_first() {
    let run = World::machines(3)
        .gamma(0.0)
        .job("large")
        .tasks([[2.0; 8], [2.0; 8]])
        .tail("pareto(alpha=2,mean=2)")
        .job("small")
        .tasks([[1.0; 8], [1.0; 8]])
        .tail("pareto(alpha=2,mean=1)")
        .run("sca");
    assert_eq!(run.starts("small"), [0.0, 0.0]);
    // At 0 one machine is left for the large job. At 1 two machines become free; the large job has started, so its
    // second task starts with one copy, although a machine stays idle.
    assert_eq!(run.starts("large"), [0.0, 1.0]);
    assert_eq!(run.result.copies_launched, 0);
}

#[test]
fn started_jobs_come_before_clones() {
    // On two machines, both are free at 1. One runs the pending task of "a", the other "b". There are no clones,
    // because the one new task is not fewer than the one idle machine. On three machines, "a" has no pending task at 1,
    // and "b" gets two clones.
    let world = |machines| {
        World::machines(machines)
            .gamma(0.0)
            .job("a")
            .tasks([[1.0; 8], [1.0; 8], [1.0; 8]])
            .tail("pareto(alpha=2,mean=1)")
            .job("b")
            .at(0.5)
            .tasks([[1.0; 8]])
            .tail("pareto(alpha=2,mean=1)")
    };
    let run = world(2).run("sca");
    assert_eq!((run.starts("a"), run.starts("b")), (vec![0.0, 0.0, 1.0], vec![1.0]));
    assert_eq!(run.backups("b"), []);
    let run = world(3).run("sca");
    assert_eq!(run.starts("b"), [1.0]);
    assert_eq!(run.backups("b"), [(0, 1.0), (0, 1.0)]);
}

#[test]
fn copies_are_the_optimum_of_problem_p2() {
    use hindmost_policies::theory::clones::{CloneJob, CloneProblem, exact};
    // The case of Fig. 1, and clusters that have too few machines for all copies.
    let jobs = [(10, 1.0), (20, 2.0), (5, 1.0), (10, 2.0)];
    for (machines, gamma) in [(100, 0.01), (80, 0.01), (60, 0.1), (100, 0.3), (46, 0.0)] {
        let mut world = World::machines(machines).gamma(gamma);
        for (at, (tasks, minimum)) in jobs.iter().enumerate() {
            world = world.job(&at.to_string()).drawn(*tasks, &format!("pareto(alpha=2,minimum={minimum})"));
        }
        let run = world.run("sca(max_copies=8)");
        let problem = CloneProblem {
            jobs: jobs
                .iter()
                .map(|(tasks, minimum)| CloneJob {
                    tasks: *tasks,
                    duration: hindmost_math::distribution::Distribution::pareto(2.0, *minimum).unwrap(),
                })
                .collect(),
            machines: u64::from(machines),
            max_copies: 8,
            gamma,
        };
        let expected = exact(&problem).unwrap().copies;
        for (at, (tasks, _)) in jobs.iter().enumerate() {
            let first = run.tries(&at.to_string()).iter().filter(|one| one.start == 0.0).count();
            assert_eq!(first as u32, tasks * expected[at], "job {at} of {machines} machines, γ = {gamma}");
        }
    }
}
