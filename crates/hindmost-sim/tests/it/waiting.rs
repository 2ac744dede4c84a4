//! Compares the index of waiting tasks, with which orders find a task that fits, with a simple program that examines
//! every job in every round. Both must make the same decisions.

use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::ids::{JobId, TaskId};
use hindmost_core::policy::order::Order;
use hindmost_core::policy::{Pass, Policy, Round};
use hindmost_policies::orders::drf::Drf;
use hindmost_policies::orders::fair::Fair;
use hindmost_policies::orders::fifo::Fifo;
use hindmost_policies::orders::smallest_workload::SmallestWorkload;
use hindmost_policies::orders::srpt::Srpt;
use hindmost_policies::orders::svf::Svf;
use hindmost_sim::testing::World;
use proptest::prelude::*;

use crate::every_policy::worlds::any_cluster_of_dags;

/// Starts the tasks that the order's index should find, but examines every job in every round.
struct EveryJob<O>(O);

impl<O: Order> EveryJob<O> {
    /// Returns the next job by the order, among the jobs with tasks to start that are not in `passed`.
    fn next(&self, cluster: &Cluster, passed: &[JobId]) -> Option<JobId> {
        let place = |job: &Job| {
            let new = self.0.started_first() && job.started().is_none();
            (new, self.0.key(job, cluster), job.id())
        };
        let waiting = cluster.jobs().filter(|job| job.runnable() > 0 && !passed.contains(&job.id()));
        let first = waiting.map(place).min_by(|(new, key, job), (other_new, other_key, other)| {
            new.cmp(other_new).then(key.total_cmp(other_key)).then(job.cmp(other))
        });
        first.map(|(_, _, job)| job)
    }

    /// Starts the job's first task that fits on a node; returns false if no task fits.
    fn start_one(job: JobId, round: &mut Round<'_>) -> bool {
        let cluster = round.cluster();
        let phases = cluster.job(job).into_iter().flat_map(Job::phases);
        let open = (0..).zip(phases).filter(|(_, phase)| phase.is_open() && phase.pending() > 0);
        let found = open.into_iter().find_map(|(at, phase)| {
            let index = (0..).zip(phase.tasks()).find(|(_, task)| task.is_pending()).map(|(index, _)| index)?;
            let task = TaskId { job, phase: at, index };
            Some((task, cluster.find_node(task, phase.demand(), |_, _| true)?))
        });
        found.is_some_and(|(task, node)| round.start(task, node))
    }
}

impl<O: Order> Pass for EveryJob<O> {
    fn decide(&mut self, round: &mut Round<'_>) {
        let mut passed = Vec::new();
        while let Some(job) = self.next(round.cluster(), &passed) {
            if !Self::start_one(job, round) {
                passed.push(job);
            } else if !self.0.takes_turns() {
                while Self::start_one(job, round) {}
                passed.push(job);
            }
        }
    }
}

fn agrees<O: Order + 'static>(world: &World, name: &str, order: fn() -> O) {
    let plain = world.run_own(move || Policy::new(Box::new(order()), vec![Box::new(EveryJob(order()))])).decisions();
    let indexed = world.run(&format!("{name}+none")).decisions();
    let differs = indexed.iter().zip(&plain).position(|(one, other)| one != other);
    assert_eq!(differs, None, "{name}: {:?}, but {:?}", &indexed[differs.unwrap_or(0)], &plain[differs.unwrap_or(0)]);
    assert_eq!(indexed.len(), plain.len(), "{name}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(200, 2000)))]

    #[test]
    fn the_index_makes_the_decisions_of_a_full_scan(world in any_cluster_of_dags()) {
        agrees(&world, "fifo", || Fifo);
        agrees(&world, "fair", || Fair);
        agrees(&world, "drf", || Drf);
        agrees(&world, "srpt", || Srpt);
        agrees(&world, "svf", || Svf);
        agrees(&world, "smallest_workload", || SmallestWorkload);
    }
}
