//! `sca`: the Smart Cloning Algorithm, compared with the solution of its problem.

use hindmost_sim::testing::World;

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
