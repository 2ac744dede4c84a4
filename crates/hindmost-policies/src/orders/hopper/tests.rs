//! Tests of allotments in instances that were worked out by hand.

use std::sync::Arc;

use super::*;
use hindmost_core::resources::{Dimensions, Resources};
use hindmost_core::testing::joined;
use hindmost_core::time::Time;
use hindmost_core::workload::{JobSpec, PhaseSpec};

/// Returns a phase with this number of tasks and the mean and standard deviation of their durations in seconds, after
/// the phases in `after`.
fn phase(tasks: u32, mean: f64, sd: f64, after: &[u32]) -> PhaseSpec {
    PhaseSpec { after: after.to_vec(), sd: Some(sd), ..PhaseSpec::new("p", tasks, mean) }
}

fn one(tasks: u32) -> Vec<PhaseSpec> {
    vec![phase(tasks, 1.0, 0.5, &[])]
}

fn pareto(tasks: u32, alpha: f64) -> Vec<PhaseSpec> {
    let tail = Distribution::pareto_with_mean(alpha, 1.0).unwrap();
    vec![PhaseSpec { sd: tail.sd(), tail: Some(tail), ..phase(tasks, 1.0, 0.0, &[]) }]
}

/// Returns the allotment of each job on this number of machines. The jobs come with their weights.
fn given(mut hopper: Hopper, machines: u32, jobs: &[(Vec<PhaseSpec>, f64)]) -> Vec<f64> {
    let mut cluster = Cluster::new(Dimensions::one_slot());
    let happen = |event: Event, hopper: &mut Hopper, cluster: &mut Cluster| {
        let applied = cluster.apply_event(Time::ZERO, &event).unwrap();
        hopper.observe(&event, applied, cluster);
    };
    for node in 0..machines {
        happen(joined(node, Resources::ONE_SLOT), &mut hopper, &mut cluster);
    }
    for (id, (phases, weight)) in jobs.iter().enumerate() {
        let spec = JobSpec { weight: *weight, ..JobSpec::new(id.to_string(), phases.clone()) };
        happen(Event::JobArrived { job: JobId(id as u32), spec: Arc::new(spec) }, &mut hopper, &mut cluster);
    }
    (0..jobs.len()).map(|id| hopper.allotment.given_to(JobId(id as u32)).unwrap()).collect()
}

fn hopper(beta: Option<f64>, epsilon: f64) -> Hopper {
    Hopper::new(HopperParameters { beta, epsilon })
}

fn equal_weights(phases: Vec<Vec<PhaseSpec>>) -> Vec<(Vec<PhaseSpec>, f64)> {
    phases.into_iter().map(|phases| (phases, 1.0)).collect()
}

#[test]
fn the_smallest_jobs_get_scarce_slots_first() {
    // 2/β = 1.25, so the virtual sizes are 5, 6.25 and 2.5.
    let jobs = equal_weights(vec![one(4), one(5), one(2)]);
    assert_eq!(given(hopper(Some(1.6), 1.0), 7, &jobs), [4.5, 0.0, 2.5]);
    assert_eq!(given(hopper(Some(1.6), 1.0), 12, &jobs), [5.0, 4.5, 2.5]);
    // With a tail index of 2 or more, a job wants one slot for each task.
    assert_eq!(given(hopper(Some(4.0), 1.0), 7, &jobs), [4.0, 1.0, 2.0]);
}

#[test]
fn abundant_slots_are_shared_in_proportion_to_virtual_sizes() {
    // The virtual sizes are 2 and 4, so the jobs get 12 × 2/6 and 12 × 4/6 of 12 slots.
    assert_eq!(given(hopper(Some(2.0), 0.1), 12, &equal_weights(vec![one(2), one(4)])), [4.0, 8.0]);
    assert_eq!(given(hopper(Some(2.0), 0.1), 6, &equal_weights(vec![one(2), one(4)])), [2.0, 4.0]);
    assert_eq!(given(hopper(Some(2.0), 0.1), 9, &equal_weights(vec![one(3)])), [9.0]);
    assert!(given(hopper(None, 0.1), 9, &[]).is_empty());
}

#[test]
fn the_tail_index_is_of_a_known_or_a_fitted_pareto() {
    // The Pareto with α = 1.6 wants 2/1.6 × 4 = 5 slots. The Pareto with α = 2.5, and the phase with mean 1 and
    // standard deviation 0.5, whose fitted index is 1 + √5 = 3.2, want one slot for each of the 4 tasks.
    let jobs = equal_weights(vec![pareto(4, 1.6), pareto(4, 2.5), one(4)]);
    assert_eq!(given(hopper(None, 0.1), 13, &jobs), [5.0, 4.0, 4.0]);
    let mut spec = phase(1, 3.0, 4.0, &[]);
    let index = |spec: &PhaseSpec| {
        let mut cluster = Cluster::new(Dimensions::one_slot());
        let job = JobSpec::new("j", vec![spec.clone()]);
        cluster.apply_event(Time::ZERO, &Event::JobArrived { job: JobId(0), spec: Arc::new(job) }).unwrap();
        tail_index(&cluster.job(JobId(0)).unwrap().phases()[0])
    };
    // The mean is 3 and the standard deviation 4: 1 + √(1 + 9/16) = 2.25.
    assert_eq!(index(&spec), 2.25);
    spec.tail = Some(Distribution::log_normal(3.0, 4.0 / 3.0).unwrap());
    assert_eq!(index(&spec), 2.25);
    (spec.sd, spec.tail) = (None, None);
    assert_eq!(index(&spec), 2.0);
}

#[test]
fn each_job_gets_its_fair_share_minus_epsilon() {
    let jobs = equal_weights(vec![one(4), one(5), one(9)]);
    // The virtual sizes are 4, 5 and 9, and there are 10 slots. With ε = 1, the smallest jobs get all that they want.
    // With ε = 0.1, each job gets 3 slots, and with ε = 0.4, 2 slots; the smallest job gets remaining slots first.
    assert_eq!(given(hopper(Some(2.0), 1.0), 10, &jobs), [4.0, 5.0, 1.0]);
    assert_eq!(given(hopper(Some(2.0), 0.1), 10, &jobs), [4.0, 3.0, 3.0]);
    assert_eq!(given(hopper(Some(2.0), 0.4), 10, &jobs), [4.0, 4.0, 2.0]);
    // A share that a job cannot use goes to others.
    let small = equal_weights(vec![one(1), one(9), one(9)]);
    assert_eq!(given(hopper(Some(2.0), 0.0), 12, &small), [1.0, 7.0, 4.0]);
    // With weights 1, 1 and 2 and ε = 0.2, the jobs get at least 2, 2 and 4 slots.
    let weighted: Vec<_> = jobs.into_iter().zip([1.0, 1.0, 2.0]).map(|((job, _), weight)| (job, weight)).collect();
    assert_eq!(given(hopper(Some(2.0), 0.2), 10, &weighted), [4.0, 2.0, 4.0]);
    // A fair share below one slot counts as 0.
    assert_eq!(given(hopper(Some(2.0), 0.1), 2, &equal_weights(vec![one(3), one(2), one(4)])), [0.0, 2.0, 0.0]);
}

#[test]
fn spare_slots_are_shared_by_root_of_downstream_work() {
    // The first job has 4 s of work in maps, and then 16 s of work in reduces: α = 4. The second job is in its last
    // phase: α = 1.
    let dag = vec![phase(4, 1.0, 0.0, &[]), phase(8, 2.0, 0.0, &[0])];
    let jobs = equal_weights(vec![dag, one(4)]);
    // Each job gets its virtual size of 4. The other 12 slots are shared in the ratio √4 : 1.
    assert_eq!(given(hopper(Some(2.0), 0.1), 20, &jobs), [12.0, 8.0]);
    // If slots are short, the second job goes first: its key is its virtual size, 4, and the key of the first job is
    // the virtual size of its reduces, 8.
    assert_eq!(given(hopper(Some(2.0), 1.0), 7, &jobs), [3.0, 4.0]);
}
