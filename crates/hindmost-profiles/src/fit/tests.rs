//! Tests of the quadratic program with instances that can be solved by hand.

use hindmost_core::profiles::Conditions;
use hindmost_math::random::{hash, unit};

use super::*;

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-5 * (1.0 + other.abs())
}

fn profile(node: &str, seconds: f64, conditions: Conditions) -> Arc<Profile> {
    let (job, phase) = ("wordcount".into(), "map".into());
    Arc::new(Profile { job, phase, node: node.into(), speed: 1.0, seconds, conditions })
}

/// Returns a number from (0, 1) for a purpose and an index.
fn drawn(purpose: u64, at: u64) -> f64 {
    unit(hash(7, purpose, at, 0))
}

fn weight(weights: &Weights, name: &str) -> f64 {
    weights.factors.iter().find(|factor| &*factor.name == name).map_or(0.0, |factor| factor.weight)
}

/// The program as the paper prints it: variables w, then u and v of each pair; equalities, and all variables ≥ 0.
fn as_printed(columns: &[Vec<f64>], target: &[f64]) -> Vec<f64> {
    let (factors, pairs) = (columns.len(), target.len());
    let count = factors + 2 * pairs;
    let squares: Vec<usize> = (factors..count).collect();
    // ½·2·(u² + v²)
    let starts = (0..=count).map(|at| at.saturating_sub(factors)).collect();
    let objective = CscMatrix::new(count, count, starts, squares, vec![2.0; 2 * pairs]);
    let (mut starts, mut rows, mut values) = (vec![0], Vec::new(), Vec::new());
    for at in 0..count {
        if let Some(column) = columns.get(at) {
            for (row, value) in column.iter().enumerate() {
                rows.push(row);
                values.push(*value);
            }
        } else {
            let (pair, sign) = if at < factors + pairs { (at - factors, 1.0) } else { (at - factors - pairs, -1.0) };
            rows.push(pair);
            values.push(sign);
        }
        rows.push(pairs + at);
        values.push(-1.0);
        starts.push(rows.len());
    }
    let constraints = CscMatrix::new(pairs + count, count, starts, rows, values);
    let mut right = target.to_vec();
    right.extend(vec![0.0; count]);
    let settings = DefaultSettings { verbose: false, ..DefaultSettings::default() };
    let cones = [SupportedConeT::ZeroConeT(pairs), SupportedConeT::NonnegativeConeT(count)];
    let mut solver = DefaultSolver::new(&objective, &vec![0.0; count], &constraints, &right, &cones, settings).unwrap();
    solver.solve();
    assert_eq!(solver.solution.status, SolverStatus::Solved);
    solver.solution.x[..factors].to_vec()
}

#[test]
fn a_factor_that_explains_everything_gets_its_weight() {
    // Three records with factor 0, 1, 3 and durations 2, 5, 11: the duration grows by 3 for each unit. The squared
    // differences of the factor are 1, 9, 4, those of the durations 9, 81, 36: nine times as large.
    let (factor, target) = (vec![1.0, 9.0, 4.0], vec![9.0, 81.0, 36.0]);
    let made = nonnegative_least_squares(&[factor], &target).unwrap();
    assert!(near(made[0], 9.0), "{made:?}");
}

#[test]
fn a_noise_factor_gets_no_weight() {
    // As before, with a second factor 0, 1, 0 that the durations don't follow: its squared differences are 1, 0, 1. The
    // first factor alone leaves no residual, so the second one has no weight.
    let (factor, noise, target) = (vec![1.0, 9.0, 4.0], vec![1.0, 0.0, 1.0], vec![9.0, 81.0, 36.0]);
    let made = nonnegative_least_squares(&[factor, noise], &target).unwrap();
    assert!(near(made[0], 9.0), "{made:?}");
    assert_eq!(made[1], 0.0);
}

#[test]
fn a_weight_that_would_be_negative_is_zero() {
    // Without the bound, (2, 1)·w = 1 and (0, 1)·w = −1 give w = (1, −1). With w₂ = 0 the first equation alone is left:
    // min (2w₁ − 1)² gives 1/2.
    let made = nonnegative_least_squares(&[vec![2.0, 0.0], vec![1.0, 1.0]], &[1.0, -1.0]).unwrap();
    assert!(near(made[0], 0.5), "{made:?}");
    assert_eq!(made[1], 0.0);
}

#[test]
fn the_printed_program_has_the_same_solution() {
    // Three random columns over 15 pairs, and a target that is no combination of them.
    let column = |purpose| (0..15).map(|at| drawn(purpose, at)).collect::<Vec<f64>>();
    let columns = [column(1), column(2), column(3)];
    let target: Vec<f64> =
        (0..15).map(|at| 2.0 * columns[0][at] + 0.5 * columns[1][at] - columns[2][at] + column(4)[at]).collect();
    let (reduced, printed) = (nonnegative_least_squares(&columns, &target).unwrap(), as_printed(&columns, &target));
    assert!(reduced.iter().zip(&printed).all(|(one, other)| near(*one, *other)), "{reduced:?} {printed:?}");
    assert!(reduced[0] > 0.5 && reduced[2] == 0.0, "{reduced:?}");
}

#[test]
fn the_active_columns_give_the_weights_of_the_solver_to_the_last_bit() {
    let mut answered = 0;
    for problem in 0..400u64 {
        // Squared differences of one to seven factors of eight to 40 records, some of them with few values, and one column of
        // ones; durations that depend on some of the factors, with noise.
        let (factors, records) = (1 + problem % 7, 8 + problem % 33);
        let value = |factor: u64, at: u64| match factor % 3 {
            0 => (3.0 * drawn(1000 * problem + factor, at)).floor(),
            _ => drawn(1000 * problem + factor, at),
        };
        let noise = drawn(1000 * problem + 99, 0);
        let seconds = |at: u64| {
            let of_factor =
                |factor| value(factor, at) * if drawn(1000 * problem + 98, factor) < 0.5 { 1.0 } else { 0.0 };
            1.0 + (0..factors).map(of_factor).sum::<f64>() + noise * drawn(1000 * problem + 97, at).powi(-1).min(30.0)
        };
        let pairs = |of: &dyn Fn(u64) -> f64| -> Vec<f64> {
            (0..records).flat_map(|one| (one + 1..records).map(move |other| (of(one) - of(other)).powi(2))).collect()
        };
        let mut columns: Vec<Vec<f64>> = (0..factors).map(|factor| pairs(&|at| value(factor, at))).collect();
        columns.push(vec![1.0; columns[0].len()]);
        let target = pairs(&seconds);
        let largest = columns.iter().map(|column| column.iter().map(|x| x * x).sum::<f64>()).fold(0.0, f64::max);
        if let Some(found) = by_active_columns(&columns, &target) {
            answered += 1;
            assert_eq!(found, solved_by_interior_points(&columns, &target, largest).unwrap(), "problem {problem}");
        }
    }
    assert!(answered >= 200, "{answered}");
}

#[test]
fn input_has_the_weight_that_follows_from_its_range() {
    // 20 s and 1 s more for each of 0 to 19 bytes: durations 20 to 39 with mean 29.5. Over the whole range of 19 bytes,
    // durations differ by 19 s, which is 19/29.5 of the mean. So the weight is (19/29.5)² = 0.4148.
    let made =
        |at: u32| profile("n1", 20.0 + f64::from(at), Conditions { input: f64::from(at), ..Conditions::default() });
    let profiles: Vec<_> = (0..20).map(made).collect();
    let weights = fit(&profiles, Some(&"n1".into())).unwrap().unwrap();
    assert_eq!(weights.factors.len(), 1);
    assert_eq!((weights.factors[0].scale, weights.profiles), (19.0, 20));
    assert!(near(weight(&weights, "input"), (19.0f64 / 29.5).powi(2)), "{weights:?}");
}

#[test]
fn factors_without_influence_have_no_weight_in_noisy_records() {
    // Durations follow the input and an I/O-heavy neighbour, with noise; the number of tasks and another neighbour are
    // random and have no influence. Each of 32 sizes of input occurs once with the neighbour and once without: so the product
    // of both differences is 0 on average over the pairs of each distance, and does not change the weights.
    let profiles: Vec<_> = (0..64)
        .map(|at| {
            let (input, heavy) = (100.0 * (at / 2) as f64 / 31.0, at % 2 == 0);
            let mut beside: Vec<(Arc<str>, u32)> = Vec::new();
            beside.extend((drawn(3, at) < 0.5).then(|| ("bbp/map".into(), 1)));
            beside.extend(heavy.then(|| ("randomwrite/map".into(), 1)));
            let tasks = (100.0 * drawn(4, at)) as u32;
            let seconds = 20.0 + 0.4 * input + if heavy { 25.0 } else { 0.0 } + 4.0 * drawn(5, at);
            profile("n1", seconds, Conditions { input, tasks, beside, ..Conditions::default() })
        })
        .collect();
    let weights = fit(&profiles, Some(&"n1".into())).unwrap().unwrap();
    let (input, heavy) = (weight(&weights, "input"), weight(&weights, "beside randomwrite/map"));
    // The mean is near 20 + 20 + 12.5 + 2 = 54.5 s. The input explains up to 40 s, so (40/54.5)² = 0.539; the neighbour 25 s:
    // (25/54.5)² = 0.210. The noise is correlated with the input by about 1/√64 = 0.125, which changes the input's weight by
    // about 2·(40/54.5)·(4/54.5)·0.125 = 0.013; four times this is the margin.
    assert!((input - 0.539).abs() < 0.054 && (heavy - 0.210).abs() < 0.054, "{weights:?}");
    // Without influence: less than a tenth of the weaker influence.
    assert!(weight(&weights, "tasks") < 0.02 && weight(&weights, "beside bbp/map") < 0.02, "{weights:?}");
}

#[test]
fn nodes_differ_by_the_factor_node() {
    // Twelve records on a take 10 s and twelve on b 30 s: mean 20 s, differences 20/20 = 1, so the weight is 1.
    let on = |node: &str, seconds| profile(node, seconds, Conditions::default());
    let profiles: Vec<_> = (0..12).flat_map(|_| [on("a", 10.0), on("b", 30.0)]).collect();
    let weights = fit(&profiles, None).unwrap().unwrap();
    assert!(near(weight(&weights, "node"), 1.0), "{weights:?}");
}

#[test]
fn too_few_or_equal_records() {
    let same = |count| (0..count).map(|_| profile("a", 5.0, Conditions::default())).collect::<Vec<_>>();
    assert_eq!(fit(&same(7), None).unwrap(), None);
    assert_eq!(fit(&same(8), None).unwrap().unwrap().factors, []);
    assert_eq!(nonnegative_least_squares(&[vec![1.0]], &[f64::NAN]), Err(FitError::Invalid));
    assert_eq!(nonnegative_least_squares(&[vec![1.0]], &[1.0, 2.0]), Err(FitError::Invalid));
    assert_eq!(nonnegative_least_squares(&[vec![0.0]], &[1.0]).unwrap(), [0.0]);
}
