use proptest::prelude::*;

use super::*;
use crate::distribution::Distribution;
use crate::random::{hash, unit};

/// A sample. SciPy 1.17 computed the expected values of its fits.
const NUMBERS: [f64; 22] = [
    1.2, 1.5, 1.1, 2.7, 1.9, 8.4, 1.3, 1.05, 3.3, 1.7, 2.2, 1.4, 5.6, 1.15, 1.25, 2.0, 1.6, 1.35, 12.5, 1.8, 2.9, 1.45,
];
/// Number of samples in tests of how often intervals contain the true value.
const SAMPLES: u64 = 500;

fn close(value: f64, expected: f64, relative: f64) {
    assert!((value - expected).abs() <= relative * expected.abs(), "{value} instead of {expected}");
}

fn sample(distribution: &Distribution, count: u64, seed: u64) -> Vec<f64> {
    (0..count).map(|at| distribution.survival_quantile(unit(hash(seed, 4, 0, at)))).collect()
}

fn rounded(values: &[f64], tick: f64) -> Vec<f64> {
    values.iter().map(|value| (value / tick).round() * tick).collect()
}

fn sketched(values: &[f64], resolution: f64) -> Fit {
    let mut sketch = Sketch::new();
    for value in values {
        sketch.push(*value);
    }
    Fit::of(&sketch.summary(resolution))
}

/// Checks that a statement of probability 0.95 held in as many of `SAMPLES` tries as expected, within four standard
/// deviations of the binomial distribution.
fn as_often_as_stated(held: u64, what: &str) {
    let share = held as f64 / SAMPLES as f64;
    let tolerance = 4.0 * (0.95 * 0.05 / SAMPLES as f64).sqrt();
    assert!((share - 0.95).abs() <= tolerance, "{what}: {share}");
}

/// Checks that numbers look uniform on (0, 1): their Kolmogorov distance is below the value that uniform numbers exceed
/// with probability 0.1 %.
fn uniform(mut p: Vec<f64>, what: &str) {
    p.sort_by(f64::total_cmp);
    let count = p.len() as f64;
    let distance = p.iter().enumerate().map(|(at, p)| (p - (at as f64 + 0.5) / count).abs()).fold(0.0, f64::max);
    assert!(distance < 1.95 / count.sqrt(), "{what}: {distance}");
}

fn contains([low, high]: [f64; 2], value: f64) -> u64 {
    u64::from((low..=high).contains(&value))
}

#[test]
fn fits_agree_with_scipy() {
    let fit = Fit::of_values(&NUMBERS, 0.0);
    let pareto = fit.pareto.unwrap();
    close(pareto.alpha, 1.366_829_547_144, 1e-10);
    close(pareto.alpha_ci95[0], 0.888_393_48, 1e-7);
    close(pareto.alpha_ci95[1], 2.110_957_38, 1e-7);
    close(pareto.minimum, 1.05, 1e-12);
    close(pareto.minimum_ci95[0], 0.948_198_491_8, 1e-9);
    close(pareto.goodness.distance, 0.079_158_190_628, 1e-9);
    // The expected p-value is from 400 000 simulated samples of 21 values.
    assert!((pareto.goodness.p - 0.993_84).abs() < 0.002, "{}", pareto.goodness.p);
    let hill = fit.hill.unwrap();
    close(hill.alpha, 1.279_576_976_128, 1e-10);
    close(hill.alpha_ci95[0], 0.681_785_44, 1e-7);
    close(hill.alpha_ci95[1], 2.429_035_68, 1e-7);
    close(hill.threshold, 1.7, 1e-12);
    close(hill.goodness.distance, 0.116_387_057_795, 1e-9);
    assert_eq!(hill.tail, 10);
    let log_normal = fit.log_normal.unwrap();
    close(log_normal.mu, 0.713_899_365_964, 1e-10);
    close(log_normal.mu_ci95[0], 0.419_471_160_375, 1e-8);
    close(log_normal.mu_ci95[1], 1.008_327_571_554, 1e-8);
    close(log_normal.sigma, 0.648_793_304_711, 1e-10);
    close(log_normal.sigma_ci95[0], 0.510_896_32, 1e-7);
    close(log_normal.sigma_ci95[1], 0.948_986_3, 1e-7);
    close(log_normal.mean, 2.520_269_252_595, 1e-10);
    close(log_normal.cv, 0.723_451_332_811, 1e-10);
    close(log_normal.goodness.distance, 0.194_283_264_654, 1e-9);
    assert!((log_normal.goodness.p - 0.028_94).abs() < 0.001, "{}", log_normal.goodness.p);
    let comparison = fit.comparison.unwrap();
    close(comparison.log_likelihood_difference, 8.670_232_473_259, 1e-9);
    close(comparison.z, 3.096_754_057_377, 1e-9);
    close(comparison.p, 0.001_956_521_263, 1e-7);
    assert_eq!((fit.preferred, fit.reason), (Some(Preferred::Pareto), None));
}

#[test]
fn quantiles_agree_with_scipy() {
    for (p, degrees, expected) in [
        (0.025, 2.0, 0.050_635_615_968_58),
        (0.975, 18.0, 31.526_378_440_387),
        (0.025, 198.0, 160.924_629_708_391),
        (0.975, 999.0, 1_088.487_067_725_935),
    ] {
        close(chi_squared_quantile(p, degrees), expected, 1e-9);
    }
    close(chi_squared_quantile(0.025, 1000.0), 914.257_153_799, 2e-6);
    close(chi_squared_quantile(0.975, 20_000.0), 20_393.883_65, 1e-7);
    close(student_quantile(0.975, 3.0), 3.182_446_31, 1e-8);
    close(student_quantile(0.975, 99_999.0), 1.959_987_71, 1e-5);
    close(student_quantile(0.975, 200_000.0), 1.959_975_85, 1e-5);
    close(student_two_sided(-2.5, 7.0), 0.040_992_218_586, 1e-8);
}

#[test]
fn critical_values_agree_with_stephens() {
    // Stephens publishes critical values of the modified distance. Undoing the modification gives the distance.
    for (p, normal, exponential) in
        [(0.15, 0.775, 0.926), (0.1, 0.819, 0.990), (0.05, 0.895, 1.094), (0.025, 0.955, 1.190), (0.01, 1.035, 1.308)]
    {
        for count in [20u64, 60, 300] {
            let n = count as f64;
            let at_normal = normal / (n.sqrt() - 0.01 + 0.85 / n.sqrt());
            let at_exponential = exponential / (n.sqrt() + 0.26 + 0.5 / n.sqrt()) + 0.2 / n;
            close(Goodness::of(at_normal, count, Reference::Normal).p, p, 0.2);
            close(Goodness::of(at_exponential, count, Reference::Exponential).p, p, 0.2);
        }
    }
}

#[test]
fn p_values_are_probabilities_and_fall_with_distance() {
    for reference in [Reference::Normal, Reference::Exponential] {
        for count in [3, 10, 11, 15, 49, 50, 1_000, 1_001, 10_000_000] {
            let p: Vec<f64> = (0..=1000).map(|at| Goodness::of(f64::from(at) / 1000.0, count, reference).p).collect();
            assert!(p.windows(2).all(|pair| pair[0] >= pair[1]), "{reference:?} {count}");
            assert!(p.iter().all(|p| (0.0..=1.0).contains(p)) && p[0] == 1.0, "{reference:?} {count}");
        }
        assert!(Goodness::of(f64::NAN, 20, reference).p.is_nan());
    }
}

#[test]
fn pareto_intervals_cover_the_parameters() {
    for (alpha, minimum, count) in [(1.2, 3.0, 40), (2.5, 0.2, 300)] {
        let truth = Distribution::pareto(alpha, minimum).unwrap();
        let (mut alphas, mut minima, mut tails, mut sum) = (0, 0, 0, 0.0);
        let (mut p, mut tail_p) = (Vec::new(), Vec::new());
        for seed in 0..SAMPLES {
            let fit = Fit::of_values(&sample(&truth, count, seed), 0.0);
            let (pareto, hill) = (fit.pareto.unwrap(), fit.hill.unwrap());
            alphas += contains(pareto.alpha_ci95, alpha);
            minima += contains(pareto.minimum_ci95, minimum);
            tails += contains(hill.alpha_ci95, alpha);
            sum += pareto.alpha;
            p.push(pareto.goodness.p);
            tail_p.push(hill.goodness.p);
        }
        as_often_as_stated(alphas, "α");
        as_often_as_stated(minima, "minimum");
        as_often_as_stated(tails, "Hill's α");
        uniform(p, "p of Pareto");
        uniform(tail_p, "p of the tail");
        // The estimate is unbiased, and the standard error of one estimate is α/√(n − 3).
        let error = alpha / (count as f64 - 3.0).sqrt() / (SAMPLES as f64).sqrt();
        assert!((sum / SAMPLES as f64 - alpha).abs() < 4.0 * error);
    }
}

#[test]
fn log_normal_intervals_cover_the_parameters() {
    for (mean, cv, count) in [(10.0, 0.4, 30), (0.5, 2.0, 250)] {
        let truth = Distribution::log_normal(mean, cv).unwrap();
        let sigma = f64::ln_1p(cv * cv).sqrt();
        let mu = f64::ln(mean) - sigma * sigma / 2.0;
        let (mut mus, mut sigmas, mut p) = (0, 0, Vec::new());
        for seed in 0..SAMPLES {
            let fit = Fit::of_values(&sample(&truth, count, seed), 0.0).log_normal.unwrap();
            mus += contains(fit.mu_ci95, mu);
            sigmas += contains(fit.sigma_ci95, sigma);
            p.push(fit.goodness.p);
        }
        as_often_as_stated(mus, "μ");
        as_often_as_stated(sigmas, "σ");
        uniform(p, "p of log-normal");
    }
}

#[test]
fn sketches_give_the_same_coverage_and_no_more_rejections() {
    let count = 4000;
    let tolerance = |share: f64, of: f64| share + 4.0 * (share * (1.0 - share) / of).sqrt();
    let samples = 100;
    for tick in [0.0_f64, 0.001] {
        let pareto = Distribution::pareto(1.8, 2.0).unwrap();
        let log_normal = Distribution::log_normal(3.0, 0.8).unwrap();
        let (mut alphas, mut sigmas, mut refused) = (0, 0, [0, 0]);
        for seed in 0..samples {
            let fit = sketched(&rounded(&sample(&pareto, count, seed), tick.max(1e-9)), tick);
            let fitted = fit.pareto.unwrap();
            alphas += contains(fitted.alpha_ci95, 1.8);
            refused[0] += u64::from(fitted.goodness.p < 0.05);
            let fit = sketched(&rounded(&sample(&log_normal, count, seed), tick.max(1e-9)), tick);
            let fitted = fit.log_normal.unwrap();
            sigmas += contains(fitted.sigma_ci95, f64::ln_1p(0.64).sqrt());
            refused[1] += u64::from(fitted.goodness.p < 0.05);
        }
        let least = 1.0 - tolerance(0.05, samples as f64);
        assert!(alphas as f64 / samples as f64 >= least && sigmas as f64 / samples as f64 >= least);
        for refused in refused {
            assert!(refused as f64 / samples as f64 <= tolerance(0.05, samples as f64), "{refused}");
        }
    }
}

#[test]
fn rounding_does_not_reject_true_models() {
    // Durations of about 20 ms, rounded to whole milliseconds, have at most 60 different values.
    let truth = Distribution::log_normal(0.02, 0.5).unwrap();
    let refused = |tick: f64| {
        let fits = (0..200).map(|seed| Fit::of_values(&rounded(&sample(&truth, 500, seed), 0.001), tick));
        fits.filter(|fit| fit.log_normal.unwrap().goodness.p < 0.05).count()
    };
    assert!(refused(0.001) <= 10 + 13, "{}", refused(0.001));
    // If the rounded values are taken as exact, their ties look like a deviation from the model.
    assert!(refused(0.0) > 60, "{}", refused(0.0));
}

#[test]
fn pareto_and_log_normal_samples_are_distinguished() {
    let pareto = Distribution::pareto_with_mean(1.5, 10.0).unwrap();
    let log_normal = Distribution::log_normal(10.0, 1.5).unwrap();
    let uniform = Distribution::uniform(1.0, 2.0).unwrap();
    let mut correct = [0, 0, 0];
    for seed in 0..100 {
        let fit = |truth: &Distribution| Fit::of_values(&sample(truth, 300, seed), 0.0);
        let [of_pareto, of_log_normal, of_uniform] = [&pareto, &log_normal, &uniform].map(fit);
        correct[0] += u32::from(of_pareto.preferred == Some(Preferred::Pareto));
        correct[1] += u32::from(of_log_normal.preferred == Some(Preferred::LogNormal));
        correct[2] += u32::from(of_uniform.preferred == Some(Preferred::Neither));
        assert!(of_pareto.comparison.unwrap().z > 1.96 && of_log_normal.comparison.unwrap().z < -1.96);
    }
    // A true model is rejected in 5 % of the samples; a uniform sample of this size almost always rejects both.
    assert!(correct[0] >= 86 && correct[1] >= 86 && correct[2] >= 95, "{correct:?}");
}

#[test]
fn a_sketch_agrees_with_the_exact_summary() {
    let truth = Distribution::pareto(1.3, 0.05).unwrap();
    let values = sample(&truth, 20_000, 5);
    let mut sketch = Sketch::new();
    for value in &values {
        sketch.push(*value);
    }
    let mut sorted = values.clone();
    sorted.sort_by(f64::total_cmp);
    for share in [0.001, 0.25, 0.5, 0.9, 0.94] {
        close(sketch.quantile(share).unwrap(), sorted[(share * 20_000.0) as usize - 1], 0.004);
    }
    assert_eq!(sketch.quantile(0.95), Some(sorted[18_999]));
    assert_eq!(sketch.quantile(1.0), sorted.last().copied());
    let limit = sorted[19_500];
    assert_eq!((sketch.above(limit), sketch.above(f64::INFINITY)), (499, 0));
    close(sketch.above(sorted[10_000]) as f64, 9_999.0, 0.02);
    let (exact, sketched) = (Fit::of_values(&values, 0.0), Fit::of(&sketch.summary(0.0)));
    let both = (exact.pareto.unwrap(), sketched.pareto.unwrap());
    close(both.1.alpha, both.0.alpha, 1e-9);
    close(both.1.goodness.distance, both.0.goodness.distance, 0.2);
    let both = (exact.comparison.unwrap(), sketched.comparison.unwrap());
    close(both.1.log_likelihood_difference, both.0.log_likelihood_difference, 1e-6);
    close(both.1.z, both.0.z, 0.01);
}

#[test]
fn too_few_or_equal_values_give_a_reason() {
    let fit = Fit::of_values(&[1.0; 9], 0.0);
    assert_eq!((fit.count, fit.reason.is_some(), fit.pareto), (9, true, None));
    let equal = Fit::of_values(&vec![0.3; 5000], 0.001);
    assert_eq!((equal.pareto, equal.log_normal, equal.hill, equal.preferred), (None, None, None, None));
    assert_eq!(equal.reason, Some("the durations do not differ"));
    let senseless = [f64::NAN, f64::INFINITY, -1.0, 0.0, f64::NEG_INFINITY];
    assert_eq!(Fit::of_values(&senseless, 0.0).count, 0);
    // With a clock tick, values of 0 and below count as half a tick.
    assert_eq!(Fit::of_values(&senseless, 0.001).count, 2);
    assert_eq!(sketched(&senseless, 0.001).count, 2);
    assert_eq!(Sketch::new().quantile(0.5), None);
    let mut zeros = Sketch::new();
    zeros.push(0.0);
    assert_eq!((zeros.quantile(0.5), zeros.above(0.0)), (Some(0.0), 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(200, 2000)))]

    #[test]
    fn any_values_are_fitted_without_panicking(
        values in prop::collection::vec(prop_oneof![any::<f64>(), 0.0..3.0f64, Just(0.0), Just(1.0)], 0..200),
        tick in prop_oneof![Just(0.0), Just(0.001), Just(1.0), any::<f64>()],
    ) {
        for fit in [Fit::of_values(&values, tick), sketched(&values, tick)] {
            if let Some(pareto) = fit.pareto {
                prop_assert!(pareto.alpha_ci95[0] <= pareto.alpha_ci95[1]);
                prop_assert!(pareto.minimum_ci95[0] <= pareto.minimum);
                prop_assert!((0.0..=1.0).contains(&pareto.goodness.p));
            }
            if let Some(log_normal) = fit.log_normal {
                prop_assert!(log_normal.sigma_ci95[0] <= log_normal.sigma_ci95[1]);
                prop_assert!((0.0..=1.0).contains(&log_normal.goodness.p));
            }
            prop_assert!(serde_json::to_string(&fit).is_ok());
        }
    }

    #[test]
    fn scaling_values_scales_quantities_with_a_unit(factor in 1e-3..1e3f64, seed in 0..1000u64) {
        let values = sample(&Distribution::log_normal(1.0, 1.0).unwrap(), 60, seed);
        let scaled: Vec<f64> = values.iter().map(|value| value * factor).collect();
        let (one, other) = (Fit::of_values(&values, 0.0), Fit::of_values(&scaled, 0.0));
        let (a, b) = (one.pareto.unwrap(), other.pareto.unwrap());
        prop_assert!((a.alpha / b.alpha - 1.0).abs() < 1e-9 && (a.minimum * factor / b.minimum - 1.0).abs() < 1e-9);
        let (a, b) = (one.log_normal.unwrap(), other.log_normal.unwrap());
        prop_assert!((a.sigma / b.sigma - 1.0).abs() < 1e-9 && (a.mean * factor / b.mean - 1.0).abs() < 1e-9);
        prop_assert!((a.goodness.distance - b.goodness.distance).abs() < 1e-9);
        prop_assert_eq!(one.preferred, other.preferred);
    }
}
