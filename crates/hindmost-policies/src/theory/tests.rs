//! Tests of the optimisation problems against known answers, brute force and Monte Carlo simulation.

use super::clones::{
    CloneError, CloneJob, CloneProblem, CloneSolution, CloneTable, best_alone, continuous, exact, exact_with_tables,
};
use super::clones_dual::{DEFAULT_STEPS, PRINTED_STEPS, START, dual};
use super::cutoff::{CutoffError, NoCutoff, cutoff, task_delay, task_delay_two_copies};
use super::sigma::{ese, ese_resource_ratio, sda, sda_resource_ratio};
use hindmost_math::distribution::Distribution;

const MAX_COPIES: u32 = 64;

fn distribution(text: &str) -> Distribution {
    text.parse().unwrap()
}

fn close(value: f64, expected: f64, relative: f64, what: &str) {
    assert!((value - expected).abs() <= relative * expected.abs(), "{what}: {value}, expected {expected}");
}

/// Returns a number in (0, 1] that is a hash of a seed and a counter (SplitMix64's finaliser).
fn uniform(seed: u64, counter: u64) -> f64 {
    let mut x = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ counter.wrapping_mul(0xD1B5_4A32_D192_ED03);
    for (shift, factor) in [(30, 0xBF58_476D_1CE4_E5B9_u64), (27, 0x94D0_49BB_1331_11EB)] {
        x = (x ^ (x >> shift)).wrapping_mul(factor);
    }
    x ^= x >> 31;
    ((x >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

/// Returns the best objective over all allocations of a small problem; `None` if there is none.
fn brute_force(problem: &CloneProblem) -> Option<f64> {
    let mut best: Option<f64> = None;
    let mut copies = vec![1_u32; problem.jobs.len()];
    'all: loop {
        let real: Vec<f64> = copies.iter().map(|&copies| f64::from(copies)).collect();
        if problem.machines_used(&real) <= problem.machines as f64 {
            let value = problem.objective(&real);
            best = Some(best.map_or(value, |best| best.max(value)));
        }
        for digit in &mut copies {
            if *digit < problem.max_copies {
                *digit += 1;
                continue 'all;
            }
            *digit = 1;
        }
        return best;
    }
}

fn check_solution(problem: &CloneProblem, solution: &CloneSolution) {
    let real: Vec<f64> = solution.copies.iter().map(|&copies| f64::from(copies)).collect();
    assert!(solution.machines_used <= problem.machines);
    assert_eq!(problem.machines_used(&real), solution.machines_used as f64);
    close(problem.objective(&real), solution.objective, 1e-12, "objective");
    assert!(solution.copies.iter().all(|&copies| (1..=problem.max_copies).contains(&copies)));
}

#[test]
fn exact_copies_match_brute_force() {
    let shapes = [
        "pareto(alpha=2,mean=1)",
        "pareto(alpha=1.2,mean=1)",
        "exponential(mean=1)",
        "weibull(shape=3,mean=1)",
        "uniform(min=0,max=2)",
        "log_normal(mean=1,cv=2)",
        "constant(value=1)",
    ];
    for case in 0..400_u64 {
        let draw = |purpose: u64, range: u64| (uniform(case, purpose) * range as f64).ceil() as u64;
        let count = draw(0, 4);
        let jobs: Vec<CloneJob> = (0..count)
            .map(|job| {
                let shape = shapes[draw(10 + job, shapes.len() as u64) as usize - 1];
                let mean = uniform(case, 20 + job) * 4.0;
                CloneJob { tasks: draw(30 + job, 12) as u32, duration: distribution(shape).with_mean(mean) }
            })
            .collect();
        let problem = CloneProblem {
            jobs,
            machines: draw(1, 100),
            max_copies: draw(2, 5) as u32,
            gamma: [0.0, 0.01, 0.1, 1.0][draw(3, 4) as usize - 1],
        };
        match brute_force(&problem) {
            None => assert!(matches!(exact(&problem), Err(CloneError::Infeasible { .. }))),
            Some(best) => {
                let solution = exact(&problem).unwrap();
                check_solution(&problem, &solution);
                assert_eq!(solution.gap, 0.0);
                assert!(solution.objective >= best - 1e-10 * best.abs(), "case {case}: {solution:?} {best}");
            }
        }
    }
}

#[test]
fn exact_differs_from_greedy_by_gain_per_machine() {
    // After one copy of each task, 6 machines are left. A greedy choice by gain per machine would clone the job of 5
    // tasks; the optimum clones the job of 6 tasks.
    let job = |tasks, mean: f64| CloneJob { tasks, duration: Distribution::pareto_with_mean(2.0, mean).unwrap() };
    let problem = CloneProblem { jobs: vec![job(5, 1.0), job(6, 1.1)], machines: 17, max_copies: 2, gamma: 0.0 };
    assert_eq!(exact(&problem).unwrap().copies, [1, 2]);
}

#[test]
fn three_methods_agree_on_figure_1() {
    let problem = CloneProblem::figure_1().unwrap();
    let whole = exact(&problem).unwrap();
    check_solution(&problem, &whole);
    close(whole.objective, brute_force(&problem).unwrap(), 1e-13, "brute force");
    let real = continuous(&problem).unwrap();
    assert!(real.objective >= whole.objective);
    close(real.machines_used, 100.0, 1e-12, "the machines bind");
    // By the Karush-Kuhn-Tucker conditions, the slope of each job's value per machine equals the multiplier if 1 < c <
    // 8.
    for (job, &copies) in problem.jobs.iter().zip(&real.copies) {
        let step = 1e-4;
        let slope = (job.value(copies + step, 0.01) - job.value(copies - step, 0.01)) / (2.0 * step);
        assert!(copies > 1.0 && copies < 8.0);
        close(slope / f64::from(job.tasks), real.multiplier, 1e-5, "slope");
    }
    let dual_solution = dual(&problem, DEFAULT_STEPS, START, 1e-5, 20_000).unwrap();
    assert!(dual_solution.converged);
    assert_eq!(dual_solution.trace.len(), dual_solution.iterations);
    for (found, expected) in dual_solution.copies.iter().zip(&real.copies) {
        assert!((found - expected).abs() < 1e-3, "{found} {expected}");
    }
    // The printed steps oscillate.
    let printed = dual(&problem, PRINTED_STEPS, START, 1e-3, 1000).unwrap();
    assert!(!printed.converged && printed.iterations == 1000);
    let late: Vec<f64> = printed.trace[900..].iter().map(|iteration| iteration.nu).collect();
    let (low, high) = late.iter().fold((f64::MAX, 0.0_f64), |(low, high), nu| (low.min(*nu), high.max(*nu)));
    assert!(high - low > 0.1);
}

#[test]
fn with_enough_machines_each_job_gets_its_own_optimum() {
    let problem = CloneProblem { machines: 1_000_000, ..CloneProblem::figure_1().unwrap() };
    let solution = exact(&problem).unwrap();
    for (job, &copies) in problem.jobs.iter().zip(&solution.copies) {
        let table = CloneTable::new(job.tasks, &job.duration, 8);
        assert_eq!(best_alone(&table, job.duration.mean(), problem.gamma), copies);
    }
    let real = continuous(&problem).unwrap();
    assert_eq!(real.multiplier, 0.0);
    assert!(real.objective >= solution.objective);
    // The dual method converges too: the multiplier of the machines falls to 0.
    let found = dual(&problem, DEFAULT_STEPS, START, 1e-6, 50_000).unwrap();
    assert!(found.converged);
    for (found, expected) in found.copies.iter().zip(&real.copies) {
        assert!((found - expected).abs() < 1e-3, "{found} {expected}");
    }
    // If at most two copies are allowed, the limit c ≤ 2 binds, so its multiplier ξ is positive.
    let narrow = CloneProblem { max_copies: 2, ..CloneProblem::figure_1().unwrap() };
    let found = dual(&narrow, DEFAULT_STEPS, START, 1e-5, 2000).unwrap();
    assert!(found.converged && found.copies.iter().all(|copies| (copies - 2.0).abs() < 1e-3));
    assert_eq!(continuous(&narrow).unwrap().copies, [2.0; 4]);
    // Copies of constant durations gain nothing, so one copy is chosen.
    let constant = CloneProblem {
        jobs: vec![CloneJob { tasks: 3, duration: Distribution::constant(2.0).unwrap() }],
        gamma: 0.0,
        ..problem
    };
    assert_eq!(exact(&constant).unwrap().copies, [1]);
}

#[test]
fn hundreds_of_jobs_are_solved_exactly() {
    let jobs: Vec<CloneJob> = (0..300_u32)
        .map(|job| CloneJob {
            tasks: 1 + job % 17,
            duration: Distribution::pareto_with_mean(2.0, 1.0 + 3.0 * uniform(7, u64::from(job))).unwrap(),
        })
        .collect();
    let tasks: u64 = jobs.iter().map(|job| u64::from(job.tasks)).sum();
    for machines in [tasks, tasks + 5, 3000, 6000] {
        let problem = CloneProblem { jobs: jobs.clone(), machines, max_copies: 8, gamma: 0.01 };
        let solution = exact(&problem).unwrap();
        check_solution(&problem, &solution);
        assert_eq!(solution.gap, 0.0);
        assert!(solution.objective <= continuous(&problem).unwrap().objective + 1e-9);
    }
    let tables: Vec<CloneTable> = jobs.iter().map(|job| CloneTable::new(job.tasks, &job.duration, 8)).collect();
    let with_means: Vec<_> = tables.iter().zip(&jobs).map(|(table, job)| (table, job.duration.mean())).collect();
    let problem = CloneProblem { jobs: jobs.clone(), machines: 3000, max_copies: 8, gamma: 0.01 };
    assert_eq!(exact_with_tables(&with_means, 3000, 0.01).unwrap(), exact(&problem).unwrap());
}

#[test]
fn invalid_problems_are_refused() {
    let problem = CloneProblem::figure_1().unwrap();
    let small = CloneProblem { machines: 44, ..problem.clone() };
    assert_eq!(exact(&small), Err(CloneError::Infeasible { tasks: 45, machines: 44 }));
    assert!(continuous(&small).is_err() && dual(&small, DEFAULT_STEPS, START, 1e-3, 10).is_err());
    assert!(exact(&CloneProblem { gamma: f64::NAN, ..problem.clone() }).is_err());
    assert!(exact(&CloneProblem { max_copies: 0, ..problem.clone() }).is_err());
    assert!(dual(&problem, [0.0, 1.0, 1.0], START, 1e-3, 10).is_err());
    let empty = CloneProblem { jobs: Vec::new(), ..problem };
    assert_eq!(exact(&empty).unwrap().copies, Vec::<u32>::new());
}

/// The distributions for which σ is tested.
const SHAPES: [&str; 17] = [
    "pareto(alpha=1.05,mean=1)",
    "pareto(alpha=1.1,mean=1)",
    "pareto(alpha=1.2,mean=1)",
    "pareto(alpha=1.5,mean=1)",
    "pareto(alpha=1.7,mean=1)",
    "pareto(alpha=2,mean=3)",
    "pareto(alpha=3,mean=1)",
    "pareto(alpha=5,mean=1)",
    "pareto(alpha=50,mean=1)",
    "exponential(mean=2)",
    "log_normal(mean=1,cv=0.5)",
    "log_normal(mean=1,cv=2)",
    "log_normal(mean=1,cv=10)",
    "weibull(shape=0.3,mean=1)",
    "weibull(shape=2,mean=1)",
    "uniform(min=1,max=4)",
    "pareto(alpha=1.2,minimum=1,maximum=100)",
];

#[test]
fn sigma_for_pareto_2_equals_the_papers() {
    let optimal = 1.0 + 0.5_f64.sqrt();
    for s in [0.0, 0.1, 0.3] {
        let sigma = sda(&distribution("pareto(alpha=2,mean=3)"), s, MAX_COPIES).unwrap();
        assert_eq!(sigma.copies, 2);
        close(sigma.sigma, optimal, 1e-14, "sda");
    }
    close(ese(&distribution("pareto(alpha=2,mean=3)")).unwrap().sigma, optimal, 1e-14, "ese");
    // With s = 0 and σ = 0, all tasks are cloned, and the ratio is c·E[min of c]/E[x] = 3·(6/5)/2.
    let all = sda_resource_ratio(&distribution("pareto(alpha=2,minimum=1)"), 0.0, 0.0, 3).unwrap();
    close(all, 1.8, 1e-14, "cloning");
    // For exponential durations, σ solves 2(1 − e^(−r)) = r.
    let sigma = ese(&distribution("exponential(mean=5)")).unwrap().sigma;
    close(2.0 * -(-sigma).exp_m1(), sigma, 1e-14, "exponential");
    // σ is near 2 for lighter tails.
    assert!((ese(&distribution("pareto(alpha=5,mean=1)")).unwrap().sigma - 2.0).abs() < 0.05);
}

#[test]
fn three_copies_are_best_for_very_heavy_tails() {
    for (alpha, copies) in [(1.1, 3), (1.2, 3), (1.5, 3), (1.52, 3), (1.55, 3), (1.57, 2), (1.7, 2), (3.0, 2)] {
        let sigma = sda(&Distribution::pareto(alpha, 1.0).unwrap(), 0.1, MAX_COPIES).unwrap();
        assert_eq!(sigma.copies, copies, "{alpha}");
    }
}

#[test]
fn sigma_has_the_smallest_resource_ratio() {
    for text in SHAPES {
        let duration = distribution(text);
        let best = sda(&duration, 0.1, MAX_COPIES).unwrap();
        let duplicate = ese(&duration).unwrap();
        assert!(best.resource_ratio <= 1.0 + 1e-12 && duplicate.resource_ratio <= 1.0 + 1e-12, "{text}");
        for factor in [0.0, 0.5, 0.8, 0.95, 1.05, 1.2, 2.0, 10.0] {
            let other = sda_resource_ratio(&duration, 0.1, factor * best.sigma, best.copies).unwrap();
            assert!(other >= best.resource_ratio - 1e-11, "{text} {factor}: {other} {best:?}");
            let other = ese_resource_ratio(&duration, factor * duplicate.sigma).unwrap();
            assert!(other >= duplicate.resource_ratio - 1e-11, "{text} {factor}: {other} {duplicate:?}");
        }
        for copies in 1..8 {
            let sigma = best.sigma;
            assert!(sda_resource_ratio(&duration, 0.1, sigma, copies).unwrap() >= best.resource_ratio - 1e-11);
        }
        // σ and the ratio do not depend on the unit of time.
        let scaled = sda(&duration.scaled(100.0), 0.1, MAX_COPIES).unwrap();
        close(scaled.sigma, best.sigma, 1e-9, text);
        close(scaled.resource_ratio, best.resource_ratio, 1e-9, text);
    }
}

#[test]
fn durations_that_do_not_vary_have_no_stragglers() {
    for text in ["3", "uniform(min=2,max=2)"] {
        let sigma = sda(&distribution(text), 0.1, MAX_COPIES).unwrap();
        assert_eq!((sigma.copies, sigma.sigma, sigma.resource_ratio), (2, 2.0, 1.0));
        let sigma = ese(&distribution(text)).unwrap();
        assert_eq!((sigma.copies, sigma.sigma, sigma.resource_ratio), (2, 2.0, 1.0));
    }
    assert!(sda(&distribution("0"), 0.1, 8).is_err());
    assert!(sda(&distribution("pareto(alpha=2,mean=1)"), 1.0, 8).is_err());
    assert!(sda(&distribution("pareto(alpha=2,mean=1)"), 0.1, 1).is_err());
    assert!(ese_resource_ratio(&distribution("1"), f64::NAN).is_err());
}

#[test]
fn ratios_of_a_fine_sample_match_the_distribution() {
    // The sample consists of 20 000 quantiles, each in the middle of an equal share. The ratio of a sample is a sum,
    // that of a distribution an integral.
    for text in ["exponential(mean=2)", "weibull(shape=0.7,mean=1)", "log_normal(mean=1,cv=1)", "uniform(min=1,max=4)"]
    {
        let duration = distribution(text);
        let count = 20_000_u32;
        let values = (0..count).map(|k| duration.quantile((f64::from(k) + 0.5) / f64::from(count))).collect();
        let sample = Distribution::empirical(values).unwrap();
        for sigma in [0.0, 0.3, 1.0, 1.6, 3.0] {
            for copies in [2, 3] {
                let expected = sda_resource_ratio(&duration, 0.2, sigma, copies).unwrap();
                let found = sda_resource_ratio(&sample, 0.2, sigma, copies).unwrap();
                close(found, expected, 1e-3, &format!("{text} sda {sigma} {copies}"));
            }
            let expected = ese_resource_ratio(&duration, sigma).unwrap();
            close(ese_resource_ratio(&sample, sigma).unwrap(), expected, 1e-3, &format!("{text} ese {sigma}"));
        }
    }
}

#[test]
fn ratios_match_monte_carlo() {
    // R − x, the additional machine time compared with no backups, has a finite mean, but an infinite variance for α ≤
    // 2. So the test stratifies: x runs over a fine grid of quantiles, and the durations of new copies and the time of
    // the test are drawn. The Pareto distributions with α < 2 have a maximum, which also tests the quadrature for
    // Pareto.
    let strata = 200_000_u64;
    for text in [
        "pareto(alpha=1.1,minimum=1,maximum=1000)",
        "pareto(alpha=1.5,minimum=1,maximum=1000)",
        "pareto(alpha=2,minimum=1)",
        "pareto(alpha=3,minimum=1)",
        "exponential(mean=2)",
        "log_normal(mean=1,cv=2)",
        "weibull(shape=0.5,mean=1)",
    ] {
        let duration = distribution(text);
        let mean = duration.mean();
        for (copies, s, sigma) in [(2_u32, 0.1, 1.0), (3, 0.2, 1.7)] {
            let (mut sda_sums, mut ese_sums) = ((0.0, 0.0), (0.0, 0.0));
            for k in 0..strata {
                let q = (k as f64 + uniform(1, k)) / strata as f64;
                let x = duration.survival_quantile(q);
                let fresh = (1..copies)
                    .map(|copy| duration.survival_quantile(uniform(1 + u64::from(copy), k)))
                    .fold(f64::INFINITY, f64::min);
                let change = |r: f64, fresh: f64, copies: u32| {
                    if r > sigma * mean { f64::from(copies) * r.min(fresh) - r } else { 0.0 }
                };
                let value = change((1.0 - s) * x, fresh, copies);
                let looked = change(x * uniform(99, k), duration.survival_quantile(uniform(2, k)), 2);
                sda_sums = (sda_sums.0 + value, sda_sums.1 + value * value);
                ese_sums = (ese_sums.0 + looked, ese_sums.1 + looked * looked);
            }
            let count = strata as f64;
            for (what, sums, expected) in [
                ("sda", sda_sums, sda_resource_ratio(&duration, s, sigma, copies).unwrap()),
                ("ese", ese_sums, ese_resource_ratio(&duration, sigma).unwrap()),
            ] {
                let average = sums.0 / count;
                // The tolerance is five standard errors of plain sampling; stratification only lowers the error.
                let error = ((sums.1 / count - average * average) / count).sqrt() / mean;
                let found = 1.0 + average / mean;
                assert!((found - expected).abs() < 5.0 * error, "{text} {what}: {found} {expected} ± {error}");
            }
        }
    }
}

#[test]
fn pareto_closed_forms_match_the_quadrature() {
    // A Pareto distribution with a maximum uses the quadrature. The maximum here is so large that it does not change
    // the result.
    for alpha in [2.0, 2.5, 4.0] {
        let closed = Distribution::pareto(alpha, 1.0).unwrap();
        let integrated = Distribution::pareto_truncated(alpha, 1.0, 1e12).unwrap();
        for sigma in [0.0, 0.2, 0.5, 1.0, 1.7, 4.0] {
            for (copies, s) in [(2, 0.0), (2, 0.4), (3, 0.1), (9, 0.9)] {
                let expected = sda_resource_ratio(&closed, s, sigma, copies).unwrap();
                let found = sda_resource_ratio(&integrated, s, sigma, copies).unwrap();
                close(found, expected, 1e-10, &format!("sda {alpha} {sigma} {copies} {s}"));
            }
            let expected = ese_resource_ratio(&closed, sigma).unwrap();
            close(ese_resource_ratio(&integrated, sigma).unwrap(), expected, 1e-10, &format!("ese {alpha} {sigma}"));
        }
    }
}

#[test]
fn cutoff_matches_the_papers_equations() {
    let alpha = 3.0;
    let duration = Distribution::pareto_with_mean(alpha, 2.0).unwrap();
    for omega in [0.0, 0.1, 0.3, 0.5] {
        // Eq. 3 in its printed form.
        let above = omega * (alpha - 1.0) * (1.0 - 4.0 * alpha * alpha + 4.0 * alpha) / (alpha * (2.0 * alpha - 1.0))
            + 2.0 * (alpha - 1.0);
        let printed = 2.0 * above / (2.0 * alpha - 1.0 - 4.0 * omega * (alpha - 1.0));
        close(task_delay_two_copies(&duration, omega), printed, 1e-13, "Eq. 3");
    }
    let found = cutoff(&Distribution::pareto(alpha, 9.0).unwrap(), 3000.0, 50.5, 2.0).unwrap();
    let omega = found.omega.unwrap();
    assert!(omega > 0.0 && omega < (2.0 * alpha - 1.0) / (4.0 * (alpha - 1.0)));
    close(task_delay(&duration, omega), task_delay_two_copies(&duration, omega), 1e-12, "border");
    assert!(task_delay(&duration, 0.99 * omega) > task_delay_two_copies(&duration, 0.99 * omega));
    assert!(task_delay(&duration, 1.01 * omega) < task_delay_two_copies(&duration, 1.01 * omega));
    close(found.lambda.unwrap(), omega * 3000.0 / (50.5 * 2.0), 1e-14, "lambda");
    close(found.necessary_lambda, 3000.0 / 101.0 * 5.0 / 8.0, 1e-13, "Theorem 1");
}

#[test]
fn there_is_no_cutoff_if_copies_always_or_never_help() {
    let two = cutoff(&distribution("pareto(alpha=2,mean=1)"), 3000.0, 50.5, 2.5);
    let Err(CutoffError::InfiniteSecondMoment { necessary_lambda }) = two else { panic!("{two:?}") };
    close(necessary_lambda, 3000.0 / (50.5 * 2.5) * 0.75, 1e-14, "4(α−1)/(2α−1) = 4/3");
    let none = |text| {
        let found = cutoff(&distribution(text), 10.0, 1.0, 1.0).unwrap();
        assert_eq!((found.omega, found.lambda), (None, None), "{text}");
        found.reason.unwrap()
    };
    assert_eq!(none("constant(value=1)"), NoCutoff::NeverHelps);
    // Exponential durations: both delays become infinite at load 1, and two copies always halve the delay.
    assert_eq!(none("exponential(mean=1)"), NoCutoff::AlwaysHelps);
    assert_eq!(none("weibull(shape=0.5,mean=1)"), NoCutoff::AlwaysHelps);
    assert_eq!(none("log_normal(mean=1,cv=10)"), NoCutoff::AlwaysHelps);
    assert!(cutoff(&distribution("0"), 10.0, 1.0, 1.0).is_err());
    assert!(cutoff(&distribution("1"), f64::NAN, 1.0, 1.0).is_err());
    for text in
        ["uniform(min=0,max=1)", "log_normal(mean=1,cv=0.5)", "weibull(shape=1.5,mean=1)", "pareto(alpha=2.01,mean=1)"]
    {
        let duration = distribution(text);
        let omega = cutoff(&duration, 10.0, 1.0, 1.0).unwrap().omega.unwrap();
        close(task_delay(&duration, omega), task_delay_two_copies(&duration, omega), 1e-9, text);
    }
}
