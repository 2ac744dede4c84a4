//! The weights of factors, fitted by a quadratic program (RiskI, section 5.3, formulas 2 and 3).
//!
//! For each pair (i, j) of records, s_k(i, j) is the squared difference of factor k, and s(i, j) the squared difference of
//! the durations. The program of the paper is
//!
//! ```text
//! minimise   Σ u(i, j)² + v(i, j)²
//! such that  Σ_k w_k s_k(i, j) + u(i, j) − v(i, j) = s(i, j),   w, u, v ≥ 0.
//! ```
//!
//! At an optimum u(i, j)·v(i, j) = 0, so u² + v² = (u − v)², and u and v can be eliminated: it is the least-squares problem
//! min ‖S w − s‖² with w ≥ 0. Its quadratic program has a variable for each factor and none for pairs. It is solved with
//! clarabel.
//!
//! Readings:
//! - Factors are divided by their range over the records, and durations by their mean.
//! - Durations also differ where no factor does. Without a place for this, it would go to factors without influence: their
//!   squared differences are positive too. So there is one more column, which is 1 for all pairs; its weight is the spread that no
//!   factor explains, and is not part of the distance.
//! - A factor whose part in the mean squared difference is below 1% has no influence; its weight is 0.

use std::sync::Arc;

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};
use hindmost_core::profiles::{FactorWeight, Profile, Weights, factors_of, value_of};

use crate::FitError;

/// Number of profiles to which weights are fitted at most, the newest. Their pairs are about half of its square.
pub const FITTED: usize = 64;
/// Number of profiles from which on weights are fitted.
pub(crate) const FEWEST: usize = 8;
/// Part in the mean squared difference of durations below which a factor has no influence.
const NO_INFLUENCE: f64 = 0.01;
/// Share of the largest diagonal entry that is added to the diagonal, so that of equal columns neither is preferred.
const RIDGE: f64 = 1e-12;
/// Relative accuracy of the solver.
const TOLERANCE: f64 = 1e-11;
/// Part of a column, relative to the largest part, from which on its weight is certainly no rounding error.
const CLEAR_PART: f64 = 1e-2;
/// Cosine of the angle between a column and what the others leave unexplained, from which on the angle is certainly not a right
/// one.
const CLEAR_GRADIENT: f64 = 1e-4;
/// Part of a column, relative to the largest part, below which its weight may be a rounding error.
const NEGLIGIBLE: f64 = 1e-3;

/// Fits the weights of a phase's factors to profiles of this phase, the newest [`FITTED`] of them. `node` is the node from
/// which all of them are; `None` if they are from several nodes. Their durations are then compared at speed 1.
///
/// Returns `None` if there are too few profiles.
///
/// # Errors
/// If the quadratic program can't be solved.
pub fn fit(profiles: &[Arc<Profile>], node: Option<&Arc<str>>) -> Result<Option<Weights>, FitError> {
    let profiles = &profiles[profiles.len().saturating_sub(FITTED)..];
    let Some(last) = profiles.last().filter(|_| profiles.len() >= FEWEST) else { return Ok(None) };
    let duration = |profile: &Profile| if node.is_some() { profile.seconds } else { profile.seconds_at_speed_1() };
    let mean = profiles.iter().map(|profile| duration(profile)).sum::<f64>() / profiles.len() as f64;
    let names = factors_of(profiles.iter().map(|profile| &**profile));
    let has_factor =
        |kind: &str| names.iter().any(|name| name.strip_prefix("beside ").is_some_and(|known| known == kind));
    let mut factors: Vec<(Arc<str>, f64)> = Vec::new();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for name in &names {
        let differ: (f64, Vec<f64>) = if &**name == "node" {
            (1.0, pairs(profiles, |one, other| f64::from(u8::from(one.node != other.node))))
        } else {
            let of = |profile: &Arc<Profile>| value_of(name, &profile.conditions, has_factor);
            let values: Vec<f64> = profiles.iter().map(of).collect();
            let (least, greatest) =
                values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, greatest), value| {
                    (least.min(*value), greatest.max(*value))
                });
            let scale = greatest - least;
            // Most factors have one value, and so no influence.
            if scale <= 0.0 {
                continue;
            }
            (scale, pairs(&values, |one, other| ((one - other) / scale).powi(2)))
        };
        if differ.0 > 0.0 && differ.1.iter().any(|difference| *difference > 0.0) {
            factors.push((name.clone(), differ.0));
            columns.push(differ.1);
        }
    }
    let durations: Vec<f64> = profiles.iter().map(|profile| duration(profile)).collect();
    let target = pairs(&durations, |one, other| ((one - other) / mean).powi(2));
    columns.push(vec![1.0; target.len()]);
    let weights = nonnegative_least_squares(&columns, &target)?;
    let average = |column: &[f64]| column.iter().sum::<f64>() / column.len() as f64;
    let least = NO_INFLUENCE * average(&target);
    let kept = factors
        .into_iter()
        .zip(weights)
        .zip(&columns)
        .filter(|((_, weight), column)| *weight > 0.0 && weight * average(column) >= least);
    Ok(Some(Weights {
        job: last.job.clone(),
        phase: last.phase.clone(),
        node: node.cloned(),
        profiles: profiles.len() as u32,
        factors: kept.map(|(((name, scale), weight), _)| FactorWeight { name, scale, weight }).collect(),
    }))
}

/// Returns a value for each pair of different members of a list.
fn pairs<T>(list: &[T], value: impl Fn(&T, &T) -> f64) -> Vec<f64> {
    let mut values = Vec::with_capacity(list.len() * list.len() / 2);
    for (at, one) in list.iter().enumerate() {
        values.extend(list[at + 1..].iter().map(|other| value(one, other)));
    }
    values
}

/// Returns the w ≥ 0 that minimises ‖S w − s‖², where the columns of S are `columns` and s is `target`. Weights that are 0
/// but for rounding are 0.
///
/// # Errors
/// If a number is not finite, a column has another length than the target, or the solver fails.
pub fn nonnegative_least_squares(columns: &[Vec<f64>], target: &[f64]) -> Result<Vec<f64>, FitError> {
    let is_finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
    let is_valid = is_finite(target) && columns.iter().all(|column| column.len() == target.len() && is_finite(column));
    if !is_valid {
        return Err(FitError::Invalid);
    }
    let count = columns.len();
    if count == 0 || target.is_empty() {
        return Ok(vec![0.0; count]);
    }
    let product = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(x, y)| x * y).sum::<f64>();
    let largest = columns.iter().map(|column| product(column, column)).fold(0.0, f64::max);
    if largest <= 0.0 {
        return Ok(vec![0.0; count]);
    }
    if let Some(found) = by_active_columns(columns, target) {
        return Ok(found);
    }
    solved_by_interior_points(columns, target, largest)
}

/// Returns the weights by the solver, for every problem with finite numbers.
fn solved_by_interior_points(columns: &[Vec<f64>], target: &[f64], largest: f64) -> Result<Vec<f64>, FitError> {
    let count = columns.len();
    let product = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(x, y)| x * y).sum::<f64>();
    // minimise ½ wᵀPw + qᵀw with P = SᵀS and q = −Sᵀs, both divided by the largest entry of P. Clarabel takes the upper
    // triangle of P by columns.
    let (mut starts, mut rows, mut values) = (vec![0], Vec::new(), Vec::new());
    for (at, column) in columns.iter().enumerate() {
        for (row, other) in columns[..=at].iter().enumerate() {
            rows.push(row);
            values.push(product(column, other) / largest + if row == at { RIDGE } else { 0.0 });
        }
        starts.push(rows.len());
    }
    let objective = CscMatrix::new(count, count, starts, rows, values);
    let linear: Vec<f64> = columns.iter().map(|column| -product(column, target) / largest).collect();
    // −w + z = 0 with z ≥ 0.
    let constraints = CscMatrix::new(count, count, (0..=count).collect(), (0..count).collect(), vec![-1.0; count]);
    let settings = DefaultSettings {
        verbose: false,
        tol_gap_abs: TOLERANCE,
        tol_gap_rel: TOLERANCE,
        tol_feas: TOLERANCE,
        ..DefaultSettings::default()
    };
    let cones = [SupportedConeT::NonnegativeConeT(count)];
    let solver = DefaultSolver::new(&objective, &linear, &constraints, &vec![0.0; count], &cones, settings);
    let mut solver = solver.map_err(|error| FitError::Unsolved(error.to_string()))?;
    solver.solve();
    let status = solver.solution.status;
    if !matches!(status, SolverStatus::Solved | SolverStatus::AlmostSolved | SolverStatus::InsufficientProgress) {
        return Err(FitError::Unsolved(status.to_string()));
    }
    let found: Vec<f64> = solver.solution.x.iter().map(|weight| weight.max(0.0)).collect();
    if found.iter().any(|weight| !weight.is_finite()) {
        return Err(FitError::Unsolved("a weight is not a number".to_owned()));
    }
    Ok(polished(columns, target, found))
}

/// Returns the same weights as the solver, found by an active-set method (Lawson and Hanson) in a fraction of its time.
/// `None` if this is uncertain, because a weight or a gradient is so near to 0 that rounding decides.
fn by_active_columns(columns: &[Vec<f64>], target: &[f64]) -> Option<Vec<f64>> {
    let product = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(x, y)| x * y).sum::<f64>();
    let count = columns.len();
    let gram: Vec<Vec<f64>> =
        columns.iter().map(|one| columns.iter().map(|other| product(one, other)).collect()).collect();
    let with_target: Vec<f64> = columns.iter().map(|column| product(column, target)).collect();
    let lengths: Vec<f64> = (0..count).map(|at| gram[at][at].sqrt()).collect();
    let length = product(target, target).sqrt();
    let mut active: Vec<usize> = Vec::new();
    // Each step adds a column. Where one must leave again, the solver is left to find out.
    for _ in 0..=count {
        let mut rows: Vec<Vec<f64>> = active
            .iter()
            .map(|row| active.iter().map(|column| gram[*row][*column]).chain([with_target[*row]]).collect())
            .collect();
        let weights = solve(&mut rows)?;
        let parts: Vec<f64> = weights.iter().zip(&active).map(|(weight, at)| weight * lengths[*at]).collect();
        let largest = parts.iter().copied().fold(0.0, f64::max);
        if parts.iter().any(|part| *part < CLEAR_PART * largest) || (largest <= 0.0 && !active.is_empty()) {
            return None;
        }
        // The cosine of the angle between each other column and what is not explained yet, but for a common factor.
        let gradient = |at: usize| {
            let explained: f64 = active.iter().zip(&weights).map(|(other, weight)| gram[at][*other] * weight).sum();
            (with_target[at] - explained) / (lengths[at] * length)
        };
        let others = (0..count).filter(|at| !active.contains(at)).map(|at| (gradient(at), at));
        let steepest = others.reduce(|one, other| if other.0 > one.0 { other } else { one });
        match steepest {
            Some((steepest, at)) if steepest > CLEAR_GRADIENT => {
                let place = active.partition_point(|known| *known < at);
                active.insert(place, at);
            }
            // Not a number: a column of zeros.
            Some((steepest, _)) if steepest.is_nan() || steepest > -CLEAR_GRADIENT => return None,
            // Without any weight, the solver's rounding errors are all that there is.
            _ if active.is_empty() => return None,
            _ => {
                let mut all = vec![0.0; count];
                active.iter().zip(weights).for_each(|(at, weight)| all[*at] = weight);
                return Some(all);
            }
        }
    }
    None
}

/// Makes the solution of an interior-point method exact: its zeros are small positive numbers, and the others have errors of
/// the same size. The columns with a noticeable part are fitted again without bounds; the result counts if it is within the
/// bounds and fits no worse.
fn polished(columns: &[Vec<f64>], target: &[f64], found: Vec<f64>) -> Vec<f64> {
    let product = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(x, y)| x * y).sum::<f64>();
    let parts: Vec<f64> =
        found.iter().zip(columns).map(|(weight, column)| weight * product(column, column).sqrt()).collect();
    let least = NEGLIGIBLE * parts.iter().copied().fold(0.0, f64::max);
    let support: Vec<usize> = (0..columns.len()).filter(|at| parts[*at] > least).collect();
    let mut rows: Vec<Vec<f64>> = support
        .iter()
        .map(|row| {
            let of_row = support.iter().map(|column| product(&columns[*row], &columns[*column]));
            of_row.chain([product(&columns[*row], target)]).collect()
        })
        .collect();
    let Some(solved) = solve(&mut rows) else { return found };
    let mut exact = vec![0.0; columns.len()];
    for (at, weight) in support.into_iter().zip(solved) {
        exact[at] = weight;
    }
    let misfit = |weights: &[f64]| {
        let fitted =
            |pair: usize| weights.iter().zip(columns).map(|(weight, column)| weight * column[pair]).sum::<f64>();
        target.iter().enumerate().map(|(pair, target)| (fitted(pair) - target).powi(2)).sum::<f64>()
    };
    let all = product(target, target);
    let is_better = exact.iter().all(|weight| *weight >= 0.0) && misfit(&exact) <= misfit(&found) + 1e-12 * all;
    if is_better { exact } else { found }
}

/// Solves linear equations, given as rows with the right side last, by elimination with pivots. `None` if they have no single
/// solution.
fn solve(rows: &mut [Vec<f64>]) -> Option<Vec<f64>> {
    let count = rows.len();
    for at in 0..count {
        let pivot = (at..count).max_by(|one, other| rows[*one][at].abs().total_cmp(&rows[*other][at].abs()))?;
        rows.swap(at, pivot);
        let (done, rest) = rows.split_at_mut(at + 1);
        let row = &done[at];
        if row[at].abs() < 1e-12 {
            return None;
        }
        for other in rest {
            let factor = other[at] / row[at];
            for (value, above) in other.iter_mut().zip(row).skip(at) {
                *value -= factor * above;
            }
        }
    }
    let mut solution = vec![0.0; count];
    for at in (0..count).rev() {
        let known: f64 = (at + 1..count).map(|column| rows[at][column] * solution[column]).sum();
        solution[at] = (rows[at][count] - known) / rows[at][at];
    }
    solution.iter().all(|value| value.is_finite()).then_some(solution)
}

#[cfg(test)]
mod tests;
