//! Durations and machine time with several copies (section III-B), and problem P2 (IV-A).

use hindmost_claims::{Cell, DataTable, Measured};
use hindmost_math::distribution::Distribution;
use hindmost_math::numeric::integrate_panels;
use hindmost_policies::theory::clones::{CloneProblem, exact};

use super::{ANALYSIS, by_alpha, largest, one, pareto, smallest, text};

const ALPHAS: [f64; 5] = [1.2, 1.5, 2.0, 3.0, 5.0];

/// Returns ∫ f over [μ, ∞) in units of μ, where f falls like t^(−`fall`) with `fall` > 1.
fn beyond_minimum(fall: f64, f: impl Fn(f64) -> f64) -> f64 {
    // The rest beyond the end is below 1e-15 of the integral.
    let end = 35.0 / (fall - 1.0);
    let breaks: Vec<f64> = (0..=40).map(|step| end * f64::from(step * step) / 1600.0).collect();
    integrate_panels(|log| f(log.exp()) * log.exp(), &breaks, 1e-12).value
}

/// Compares E[min of r] = μrα/(rα − 1) with the integral of the survival function.
pub(super) fn minimum() -> Result<Vec<Measured>, String> {
    let value = "largest relative difference between μrα/(rα − 1) and the integral of (1 − F)^r, r = 2 to 8";
    by_alpha(&ALPHAS, value, "", |alpha| {
        let of = |copies: f64| {
            let integral = 1.0 + beyond_minimum(copies * alpha, |t| t.powf(-copies * alpha));
            (copies * alpha / (copies * alpha - 1.0) / integral - 1.0).abs()
        };
        Ok(Some(largest((2..=8).map(|copies| of(f64::from(copies))))))
    })
}

pub(super) fn ratio() -> Result<Vec<Measured>, String> {
    let value = "largest relative difference between E[s′]/E[s] and (α − 1)/(α − 1/r), r = 1 to 64";
    by_alpha(&ALPHAS, value, "", |alpha| {
        let duration = pareto(alpha)?;
        let of = |copies: f64| {
            let stated = (alpha - 1.0) / (alpha - 1.0 / copies);
            (duration.expected_minimum(copies) / duration.mean() / stated - 1.0).abs()
        };
        Ok(Some(largest((1..=64).map(|copies| of(f64::from(copies))))))
    })
}

pub(super) fn bound_is_below() -> Result<Vec<Measured>, String> {
    let value = "smallest E[s′]/E[s] minus (α − 1)/α, r = 1 to 1000";
    by_alpha(&ALPHAS, value, "of the mean duration", |alpha| {
        let duration = pareto(alpha)?;
        let of = |copies: f64| duration.expected_minimum(copies) / duration.mean() - (alpha - 1.0) / alpha;
        Ok(Some(smallest((1..=1000).map(|copies| of(f64::from(copies))))))
    })
}

/// Compares the smallest improvement with 1/α, the improvement that belongs to the bound (α − 1)/α.
pub(super) fn improvement() -> Result<Vec<Measured>, String> {
    let value = "smallest improvement 1 − E[s′]/E[s], r = 2 to 1000, divided by 1/α";
    by_alpha(&ALPHAS, value, "times the bound", |alpha| {
        let duration = pareto(alpha)?;
        let of = |copies: f64| alpha * (1.0 - duration.expected_minimum(copies) / duration.mean());
        Ok(Some(smallest((2..=1000).map(|copies| of(f64::from(copies))))))
    })
}

/// Compares Eq. 12 with the closed form that the simulator's SCA uses.
pub(super) fn job_duration() -> Result<Vec<Measured>, String> {
    let value =
        "largest relative difference between the integral of Eq. 12 and the closed form, m = 1 to 100, c = 1 to 8";
    by_alpha(&ALPHAS[1..], value, "", |alpha| {
        let duration = Distribution::pareto(alpha, 1.0).map_err(text)?;
        let mut worst: f64 = 0.0;
        for tasks in [1.0, 2.0, 10.0, 100.0] {
            for copies in [1.0, 2.0, 4.0, 8.0] {
                let fall = alpha * copies;
                // 1 − (1 − S)^m without cancellation where S is small.
                let late = |t: f64| if t <= 1.0 { 1.0 } else { -(tasks * (-t.powf(-fall)).ln_1p()).exp_m1() };
                let integral = 1.0 + beyond_minimum(fall, late);
                worst = worst.max((integral / duration.expected_maximum_of_minima(tasks, copies) - 1.0).abs());
            }
        }
        Ok(Some(worst))
    })
}

/// Distributions with a mean of 1, and whether ln(1 − F) is convex, as Lemma 1 requires.
fn shapes() -> Result<Vec<(&'static str, &'static str, Distribution)>, String> {
    Ok(vec![
        ("Pareto, α = 1.5", "from μ on", pareto(1.5)?),
        ("Pareto, α = 2", "from μ on", pareto(2.0)?),
        ("Pareto, α = 3", "from μ on", pareto(3.0)?),
        ("Weibull, shape 0.5", "yes", Distribution::weibull(0.5, 1.0).map_err(text)?),
        ("exponential", "yes (a straight line)", Distribution::exponential(1.0).map_err(text)?),
        ("Weibull, shape 2", "no (concave)", Distribution::weibull(2.0, 1.0).map_err(text)?),
    ])
}

/// Returns the smallest second difference of a task's machine time over the number of copies, 1 to 10.
fn second_difference(duration: &Distribution) -> f64 {
    let load = |copies: i32| f64::from(copies) * duration.expected_minimum(f64::from(copies));
    smallest((2..10).map(|copies| load(copies + 1) - 2.0 * load(copies) + load(copies - 1)))
}

pub(super) fn lemma_1() -> Result<Vec<Measured>, String> {
    let convex = shapes()?.into_iter().filter(|(_, premise, _)| !premise.starts_with("no"));
    let of = |(name, _, duration): (&str, &str, Distribution)| {
        let value = "smallest second difference of a task's machine time over c = 1 to 10";
        Measured::exact(&format!("{ANALYSIS}, {name}"), value, Some(second_difference(&duration)), "mean durations")
    };
    Ok(convex.map(of).collect())
}

pub(super) fn lemma_1_table() -> Result<DataTable, String> {
    let columns =
        ["durations", "ln(1 − F) is convex", "c = 1", "c = 2", "c = 3", "c = 5", "smallest second difference"];
    let row = |(name, premise, duration): (&str, &str, Distribution)| {
        let mut row = vec![Cell::from(name), Cell::from(premise)];
        row.extend([1.0, 2.0, 3.0, 5.0].map(|copies| Cell::from(copies * duration.expected_minimum(copies))));
        row.push(Cell::from(second_difference(&duration)));
        row
    };
    Ok(DataTable::new(
        "Expected machine time of a task with c copies from the start, in mean durations, and its smallest second \
         difference over c = 1 to 10: negative where it is not convex",
        columns.map(str::to_owned).to_vec(),
        shapes()?.into_iter().map(row).collect(),
    ))
}

pub(super) fn ratio_table() -> Result<DataTable, String> {
    let columns = ["α", "r = 2", "r = 3", "r = 4", "r = 8", "r = 64", "(α − 1)/α"].map(str::to_owned).to_vec();
    let mut rows = Vec::new();
    for alpha in ALPHAS {
        let duration = pareto(alpha)?;
        let mut row = vec![Cell::from(alpha)];
        row.extend([2.0, 3.0, 4.0, 8.0, 64.0].map(|copies| Cell::from(duration.expected_minimum(copies))));
        row.push(Cell::from((alpha - 1.0) / alpha));
        rows.push(row);
    }
    Ok(DataTable::new(
        "E[s′]/E[s]: mean duration of the fastest of r copies divided by that of one copy",
        columns,
        rows,
    ))
}

/// Returns, for each distribution that satisfies the premise of Lemma 1, the largest value of `of` over several numbers
/// of tasks. `of` receives the expected duration of a job by the number of copies.
fn over_tasks(of: impl Fn(&dyn Fn(u32) -> f64) -> f64) -> Result<Vec<(&'static str, f64)>, String> {
    let mut values = Vec::new();
    for (name, _, duration) in shapes()?.into_iter().filter(|(_, premise, _)| !premise.starts_with("no")) {
        let expected = |tasks: f64, copies: u32| duration.expected_maximum_of_minima(tasks, f64::from(copies));
        let of_tasks = [1.0, 2.0, 5.0, 10.0, 50.0, 100.0].map(|tasks| of(&|copies| expected(tasks, copies)));
        values.push((name, largest(of_tasks.into_iter())));
    }
    Ok(values)
}

fn measured(values: Vec<(&'static str, f64)>, value: &str) -> Vec<Measured> {
    let one = |(name, number)| Measured::exact(&format!("{ANALYSIS}, {name}"), value, Some(number), "mean durations");
    values.into_iter().map(one).collect()
}

pub(super) fn duration_decreasing() -> Result<Vec<Measured>, String> {
    let values = over_tasks(|of| largest((1..8).map(|copies| of(copies + 1) - of(copies))))?;
    Ok(measured(values, "largest change of E[d] from c to c + 1 copies, c = 1 to 7, m = 1 to 100"))
}

pub(super) fn duration_convex() -> Result<Vec<Measured>, String> {
    let values = over_tasks(|of| -smallest((2..8).map(|copies| of(copies + 1) - 2.0 * of(copies) + of(copies - 1))))?;
    let values = values.into_iter().map(|(name, largest)| (name, -largest)).collect();
    Ok(measured(values, "smallest second difference of E[d] over c = 1 to 8, m = 1 to 100"))
}

/// Compares the solution of P2 for Figure 1's jobs with the best of all 8⁴ choices.
pub(super) fn exact_is_best() -> Result<Vec<Measured>, String> {
    let problem = CloneProblem::figure_1().map_err(text)?;
    let choices = 8_u32.pow(4);
    let copies = |choice: u32| -> Vec<f64> { (0..4).map(|at| f64::from(1 + (choice >> (3 * at)) % 8)).collect() };
    let feasible = (0..choices).map(copies).filter(|copies| problem.machines_used(copies) <= problem.machines as f64);
    let best = largest(feasible.map(|copies| problem.objective(&copies)));
    let gap = best - exact(&problem).map_err(text)?.objective;
    one("objective of the best of all choices minus that of the solution, Figure 1's jobs", gap, "units of utility")
}

/// Measures how the number of all copies changes as γ grows.
pub(super) fn copies_by_gamma() -> Result<Vec<Measured>, String> {
    let mut used = Vec::new();
    for gamma in [0.0, 0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 10.0] {
        let problem = CloneProblem { gamma, ..CloneProblem::figure_1().map_err(text)? };
        used.push(exact(&problem).map_err(text)?.machines_used as f64);
    }
    let growth = largest(used.windows(2).map(|pair| pair[1] - pair[0]));
    one("largest growth of the number of copies from one γ to the next, γ = 0 to 10, Figure 1's jobs", growth, "copies")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_time_of_weibull_2_is_concave_in_copies() {
        // The mean of the minimum of c copies is 1/√c, so the machine time is √c.
        let duration = Distribution::weibull(2.0, 1.0).unwrap();
        assert!((4.0 * duration.expected_minimum(4.0) - 2.0).abs() < 1e-9);
        assert!(second_difference(&duration) < 0.0);
    }

    #[test]
    fn integral_beyond_the_minimum() {
        assert!((beyond_minimum(3.0, |t| t.powf(-3.0)) - 0.5).abs() < 1e-10);
    }
}
