//! Worked cases of Algorithm 1, and its properties.

use super::*;
use crate::theory::pocd::ParetoTail;
use proptest::prelude::*;

/// Returns the chance for a job whose copies miss the deadline with (`base`)^`beta`.
fn miss(base: f64, beta: f64) -> MissChance {
    MissChance::submitted(ParetoTail::new(base, beta).unwrap(), 1.0)
}

fn problem(slots: f64, jobs: &[(u64, MissChance)]) -> ShedProblem {
    let jobs: Vec<ShedJob> = jobs.iter().map(|(tasks, miss)| ShedJob::new(*tasks, *miss)).collect();
    // One slot for the application master of each job, as in the paper.
    ShedProblem { reserved: jobs.len() as f64, jobs, slots, hopeless: Hopeless::Skip }
}

fn clones(problem: &ShedProblem) -> Vec<u32> {
    solve(problem).clones
}

#[test]
fn one_job_gets_the_closed_form() {
    let half = miss(0.5, 2.0);
    // ⌊(20 − 4 − 1)/4⌋ = 3, which uses 4·4 + 1 = 17 slots.
    assert_eq!(solve(&problem(20.0, &[(4, half)])), ShedPlan { clones: vec![3], slots_used: 17.0 });
    // ⌊(9 − 4 − 1)/4⌋ = 1, and 0 with one slot less.
    assert_eq!([clones(&problem(9.0, &[(4, half)])), clones(&problem(8.0, &[(4, half)]))], [[1], [0]]);
    // (3 − 4 − 1)/4 is negative: no clones. The first copies need 5 slots of 3.
    assert_eq!(solve(&problem(3.0, &[(4, half)])), ShedPlan { clones: vec![0], slots_used: 5.0 });
}

#[test]
fn the_lowest_pocd_goes_first() {
    // κ = 20 − 6 − 2 = 12. PoCDs: A (1/2)² = 0.25, B (3/4)⁴ = 0.316.
    // A gets a clone (2 of 12 slots used), (3/4)² = 0.5625. B: 6 used, (15/16)⁴ = 0.772. A: 8, (7/8)² = 0.766.
    // A: 10, (15/16)² = 0.879. B is next, but 10 + 4 > 12: dropped. A: 12. A: 12 + 2 > 12: dropped.
    let two = problem(20.0, &[(2, miss(0.5, 1.0)), (4, miss(0.25, 1.0))]);
    assert_eq!(solve(&two), ShedPlan { clones: vec![4, 1], slots_used: 20.0 });
}

#[test]
fn equal_pocds_go_by_id() {
    let job = (3, miss(0.3, 1.7));
    // κ = 12 − 6 − 2 = 4: one clone for one of them.
    assert_eq!(clones(&problem(12.0, &[job, job])), [1, 0]);
    // κ = 7: one for each; a second one fits for neither.
    assert_eq!(clones(&problem(15.0, &[job, job])), [1, 1]);
    // The same chance from different numbers, 0.3^3.4 = 0.09^1.7, is a tie in either order.
    let (one, other) = ((3, miss(0.3, 3.4)), (3, miss(0.09, 1.7)));
    assert_eq!(clones(&problem(12.0, &[one, other])), [1, 0]);
    assert_eq!(clones(&problem(12.0, &[other, one])), [1, 0]);
    // The tie remains where both PoCDs round to 1.
    let (one, other) = ((3, miss(1e-30, 3.4)), (3, miss(1e-60, 1.7)));
    assert_eq!(clones(&problem(12.0, &[one, other])), [1, 0]);
    assert_eq!(clones(&problem(12.0, &[other, one])), [1, 0]);
}

#[test]
fn jobs_whose_clones_do_not_fit_are_dropped() {
    // κ = 30 − 22 − 2 = 6. The large job has the lowest PoCD, but its 20 tasks do not fit. The small one gets 3 clones.
    assert_eq!(clones(&problem(30.0, &[(20, miss(0.5, 1.0)), (2, miss(0.1, 1.0))])), [0, 3]);
    // κ = 3 − 4 − 2 < 0: nobody gets clones.
    let full = problem(3.0, &[(2, miss(0.5, 1.0)), (2, miss(0.1, 1.0))]);
    assert_eq!(solve(&full), ShedPlan { clones: vec![0, 0], slots_used: 6.0 });
}

#[test]
fn hopeless_jobs_get_clones_only_if_chosen() {
    // κ = 12 − 4 − 2 = 6. The first job's PoCD stays 0 with any number of clones, so as printed it takes every slot.
    let late = MissChance::resumed(ParetoTail::new(5.0, 2.0).unwrap(), 10.0, 11.0, 0.4);
    let mut jobs = problem(12.0, &[(2, late), (2, miss(0.5, 1.0))]);
    assert_eq!(clones(&jobs), [0, 3]);
    jobs.hopeless = Hopeless::Clone;
    assert_eq!(clones(&jobs), [3, 0]);
    // A job whose original is lost, but whose backups may still meet the deadline, is not hopeless: its original of age
    // 6 misses D = 6.5 + 6 with (6/12.5)², and t_min/(D − τ) = 5/6.5.
    let mut alone = problem(12.0, &[(2, late)]);
    assert_eq!(clones(&alone), [0]);
    alone.hopeless = Hopeless::Clone;
    assert_eq!(clones(&alone), [4]);
}

#[test]
fn jobs_that_no_new_clone_helps_leave_the_slots_to_others() {
    // t_min = 5, β = 2. At age 16 of D = 20, the originals of the first job meet the deadline with 1 − (16/20)² = 0.36
    // each; new clones take at least 5 s, but only 4 s are left. Its PoCD is 0.36² = 0.13 with any number of clones. The
    // second has all of D = 20 left: (15/16)² = 0.88. As printed, the first job takes all of κ = 12 − 4 − 2 = 6.
    let tail = ParetoTail::new(5.0, 2.0).unwrap();
    let old = MissChance::restarted(tail, 20.0, 16.0);
    assert!((old.pocd(2, 0) - 0.36 * 0.36).abs() < 1e-12 && old.pocd(2, 3) == old.pocd(2, 0));
    let mut jobs = problem(12.0, &[(2, old), (2, MissChance::submitted(tail, 20.0))]);
    assert_eq!(clones(&jobs), [0, 3]);
    jobs.hopeless = Hopeless::Clone;
    assert_eq!(clones(&jobs), [3, 0]);
    // Alone, ⌊(12 − 2 − 1)/2⌋ = 4 clones as printed.
    let mut alone = problem(12.0, &[(2, old)]);
    assert_eq!((clones(&alone), greedy(&alone).clones), (vec![0], vec![0]));
    alone.hopeless = Hopeless::Clone;
    assert_eq!((clones(&alone), greedy(&alone).clones), (vec![4], vec![4]));
    // With 6 s left a clone misses with (5/6)² only: 1 − (14/20)²·(5/6)² = 0.66 per task, and the job is helped first.
    // Its PoCD 0.26, 0.44, 0.58, 0.69 remains the lower one.
    let in_time = MissChance::restarted(tail, 20.0, 14.0);
    assert_eq!(clones(&problem(12.0, &[(2, in_time), (2, MissChance::submitted(tail, 20.0))])), [3, 0]);
}

#[test]
fn running_jobs_compete_by_progress_and_time_left() {
    let durations = ParetoTail::new(4.0, 2.0).unwrap();
    // Two jobs of two tasks and D = 20. At 10 s, the first has done half of its work: base (1/2)·4/10 = 0.2. The second
    // has done nothing: base 4/10. κ = 16 − 4 − 2 = 10.
    // PoCDs: 0.96² = 0.922 and 0.84² = 0.706. The second gets one, 1 − 0.4⁴ = 0.974, squared 0.949. The first gets one,
    // 1 − 0.2⁴ = 0.9984. The second gets one, 1 − 0.4⁶ = 0.9959, then one more, 1 − 0.4⁸ = 0.99934. The first gets the
    // last one.
    let running = |progress| MissChance::resumed(durations, 20.0, 10.0, progress);
    assert_eq!(clones(&problem(16.0, &[(2, running(0.5)), (2, running(0.0))])), [2, 3]);
    // κ = 8: the last clone of these is left out.
    assert_eq!(clones(&problem(14.0, &[(2, running(0.5)), (2, running(0.0))])), [1, 3]);
}

#[test]
fn copies_of_two_slots_and_limits_are_counted() {
    let mut jobs = problem(20.0, &[(2, miss(0.5, 1.0)), (2, miss(0.5, 1.0))]);
    jobs.jobs[0].copy_slots = 2.0;
    // κ = 20 − 4 − 2 − 2 = 12. The first (4 slots a clone) and the second (2) take turns: 4, 6, 10, 12.
    assert_eq!(solve(&jobs), ShedPlan { clones: vec![2, 2], slots_used: 20.0 });
    jobs.jobs[0].most_clones = 1;
    // The first stops at 1; the second gets the other 8 of 12 slots.
    assert_eq!(clones(&jobs), [1, 4]);
    // Alone, ⌊(20 − 4 − 1)/4⌋ = 3 clones without the limit.
    let mut alone = ShedProblem { jobs: vec![jobs.jobs[0]], reserved: 1.0, ..jobs };
    assert_eq!((clones(&alone), greedy(&alone).clones), (vec![1], vec![1]));
    alone.jobs[0].most_clones = 5;
    assert_eq!((clones(&alone), greedy(&alone).clones), (vec![3], vec![3]));
}

fn any_job() -> impl Strategy<Value = (u64, MissChance)> {
    (1_u64..20, 0.01_f64..1.2, 0.5_f64..4.0).prop_map(|(tasks, base, beta)| (tasks, miss(base, beta)))
}

/// Returns the chance for a task whose original is `age` old and whose clones start now, `left` before the deadline.
fn any_restarted() -> impl Strategy<Value = MissChance> {
    (0.0_f64..3.0, 0.1_f64..3.0, 0.5_f64..4.0)
        .prop_map(|(age, left, beta)| MissChance::restarted(ParetoTail::new(1.0, beta).unwrap(), age + left, age))
}

proptest! {
    #[test]
    fn the_closed_form_equals_the_greedy_choice(
        slots in 0_u32..500, reserved in 0_u32..3, job in any_job(), clone in any::<bool>()
    ) {
        let mut alone = problem(slots.into(), &[job]);
        alone.reserved = reserved.into();
        alone.hopeless = if clone { Hopeless::Clone } else { Hopeless::Skip };
        prop_assert_eq!(solve(&alone), greedy(&alone));
        // ⌊(λm − N − masters)/N⌋ in whole numbers.
        let (slots, reserved, tasks) = (i64::from(slots), i64::from(reserved), job.0 as i64);
        let skipped = !clone && !job.1.falls_with_clones();
        let expected = if skipped { 0 } else { ((slots - tasks - reserved) / tasks).max(0) };
        prop_assert_eq!(i64::from(solve(&alone).clones[0]), expected);
    }

    #[test]
    fn the_greedy_choice_is_that_of_the_printed_loop(
        slots in 0_u32..300, jobs in prop::collection::vec(any_job(), 2..6)
    ) {
        let several = ShedProblem { hopeless: Hopeless::Clone, ..problem(slots.into(), &jobs) };
        // Lines 8 to 21 literally, with R itself; the bases are large enough for R not to round to 1 soon.
        let mut clones = vec![0_u32; jobs.len()];
        let tasks: u64 = jobs.iter().map(|job| job.0).sum();
        let kappa = i64::from(slots) - tasks as i64 - jobs.len() as i64;
        let mut omega = 0;
        let mut left: Vec<usize> = (0..jobs.len()).collect();
        let pocd = |at: usize, clones: &[u32]| jobs[at].1.pocd(jobs[at].0, clones[at]);
        let mut rounds_to_one = false;
        while let Some(at) = left.iter().copied().min_by(|a, b| pocd(*a, &clones).total_cmp(&pocd(*b, &clones))) {
            rounds_to_one |= pocd(at, &clones) > 1.0 - 1e-9;
            let needed = jobs[at].0 as i64;
            if needed + omega > kappa {
                left.retain(|other| *other != at);
            } else {
                clones[at] += 1;
                omega += needed;
            }
        }
        // Where R rounds to 1, the printed loop gives all clones to the first such job.
        if !rounds_to_one {
            prop_assert_eq!(solve(&several).clones, clones);
        }
    }

    #[test]
    fn clones_fit_and_no_further_one_would(slots in 0_u32..300, jobs in prop::collection::vec(any_job(), 1..6)) {
        let problem = problem(slots.into(), &jobs);
        let plan = solve(&problem);
        let none = problem.plan(vec![0; jobs.len()]);
        prop_assert!(plan.slots_used <= problem.slots.max(none.slots_used));
        for (job, clones) in problem.jobs.iter().zip(&plan.clones) {
            if job.miss.falls_with_clones() {
                prop_assert!(plan.slots_used + job.slots() > problem.slots);
            } else {
                prop_assert_eq!(*clones, 0);
            }
        }
    }

    #[test]
    fn clones_go_where_they_raise_the_pocd(
        slots in 0_u32..100,
        jobs in prop::collection::vec((1_u64..6, any_restarted(), 0_u32..6), 1..6)
    ) {
        let mut several = problem(slots.into(), &jobs.iter().map(|job| (job.0, job.1)).collect::<Vec<_>>());
        for (job, (.., most)) in several.jobs.iter_mut().zip(&jobs) {
            job.most_clones = *most;
        }
        let plan = solve(&several);
        prop_assert_eq!(&plan, &greedy(&several));
        for (job, clones) in several.jobs.iter().zip(&plan.clones) {
            prop_assert!(*clones <= job.most_clones);
            // The probabilities stay far from 0 and 1, so that doubles show each step.
            let raises = job.miss.ln(*clones + 1) < job.miss.ln(*clones);
            prop_assert!(*clones == 0 || raises, "{job:?} has {clones} clones");
            let fits = plan.slots_used + job.slots() <= several.slots;
            prop_assert!(!fits || *clones == job.most_clones || !raises, "{job:?} could have more than {clones} clones");
        }
    }
}
