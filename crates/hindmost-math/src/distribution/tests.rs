//! Tests of distributions: closed forms and quadratures are compared with each other and with brute-force integration.

use super::Distribution;

fn close(value: f64, expected: f64, relative: f64, what: &str) {
    let error = (value - expected).abs();
    assert!(error <= relative * expected.abs() || value == expected, "{what}: {value}, expected {expected}");
}

/// Returns at least one distribution of each family. The empirical distribution is last.
fn all() -> Vec<Distribution> {
    [
        Distribution::constant(3.0),
        Distribution::uniform(1.0, 4.0),
        Distribution::exponential(2.0),
        Distribution::pareto(1.05, 1.0),
        Distribution::pareto(1.5, 2.0),
        Distribution::pareto_with_mean(2.0, 1.0),
        Distribution::pareto(3.0, 1.0),
        Distribution::pareto(50.0, 1.0),
        Distribution::pareto_truncated(1.1, 1.0, 100.0),
        Distribution::pareto_truncated(0.5, 1.0, 1e4),
        Distribution::pareto_truncated(1.0, 2.0, 50.0),
        Distribution::log_normal(1.0, 0.3),
        Distribution::log_normal(1.0, 2.0),
        Distribution::log_normal(5.0, 10.0),
        Distribution::weibull(0.3, 1.0),
        Distribution::weibull(0.7, 2.0),
        Distribution::weibull(3.0, 1.0),
        Distribution::empirical(vec![3.0, 1.0, 2.0, 2.0, 10.0, 0.5]),
    ]
    .into_iter()
    .collect::<Result<_, _>>()
    .unwrap()
}

/// Returns E\[g(X)]. Integrates over the survival by the midpoint rule, in a variable that resolves both tails.
fn brute(distribution: &Distribution, g: impl Fn(f64) -> f64) -> f64 {
    // With q = e^(−w²), dq = 2w e^(−w²) dw. Tails down to a survival of 1e-270 are included.
    let (steps, end) = (250_000, 25.0);
    let width = end / f64::from(steps);
    (0..steps)
        .map(|step| {
            let w = (f64::from(step) + 0.5) * width;
            let q = (-w * w).exp();
            g(distribution.survival_quantile(q)) * 2.0 * w * q * width
        })
        .sum()
}

#[test]
fn quantiles_invert_cdf_and_survival() {
    for distribution in &all()[1..17] {
        for exponent in 1..=280 {
            let q = 10.0_f64.powi(-exponent);
            let t = distribution.survival_quantile(q);
            let back = distribution.survival(t);
            // A relative error ε in t gives a relative error of ε·t·f(t)/S(t) in S. For these distributions t·f(t)/S(t)
            // is at most 50·ln(1/q).
            if distribution.maximum().is_infinite() {
                close(back, q, 1e-13 * 50.0 * f64::from(exponent), &format!("{distribution} survival {q}"));
            } else {
                assert!((back - q).abs() < 1e-12, "{distribution} survival {q}: {back}");
            }
            if exponent <= 15 && distribution.minimum() == 0.0 {
                close(distribution.cdf(distribution.quantile(q)), q, 1e-11, &format!("{distribution} cdf {q}"));
            }
        }
        for percent in 1..100 {
            let p = f64::from(percent) / 100.0;
            assert!((distribution.cdf(distribution.quantile(p)) - p).abs() < 1e-13, "{distribution} {p}");
            close(
                distribution.survival_quantile(1.0 - p),
                distribution.quantile(p),
                1e-11,
                "survival_quantile(1 - p) and quantile(p)",
            );
        }
        assert!(distribution.survival_quantile(1.0) >= distribution.minimum() * (1.0 - 1e-15));
    }
}

#[test]
fn moments_match_brute_force() {
    for distribution in all() {
        let name = distribution.to_string();
        // The midpoint rule misses the tail beyond a survival of 1e-270, which matters for α = 1.05.
        let heavy = name.starts_with("pareto(alpha=1.05");
        let stepped = name.starts_with("empirical");
        let relative = if heavy {
            1e-5
        } else if stepped {
            1e-4
        } else {
            1e-7
        };
        close(distribution.mean(), brute(&distribution, |x| x), relative, &name);
        if let Some(second) = distribution.second_moment() {
            close(second, brute(&distribution, |x| x * x), relative, &format!("{name} second"));
            let sd = (second - distribution.mean().powi(2)).max(0.0).sqrt();
            close(distribution.sd().unwrap(), sd, 1e-6, &format!("{name} sd"));
        } else {
            assert_eq!(distribution.sd(), None);
        }
        for limit in [0.2, 0.9, 1.7, 5.0, 40.0] {
            close(
                distribution.limited_expectation(limit),
                brute(&distribution, |x| x.min(limit)),
                1e-4_f64.min(relative * 1e3),
                &format!("{name} limited {limit}"),
            );
            close(
                distribution.limited_second_moment(limit),
                brute(&distribution, |x| x.min(limit).powi(2)),
                1e-4,
                &format!("{name} limited second {limit}"),
            );
            let parts = distribution.limited_expectation(limit)
                + distribution.survival(limit) * distribution.mean_residual(limit);
            close(parts, distribution.mean(), 1e-12, &format!("{name} parts at {limit}"));
        }
    }
}

#[test]
fn minima_agree_by_formula_and_by_quadrature() {
    // For a whole number m of tasks, 1 − (1−v)^m = Σ ±(m over k) v^k. So the expected maximum over m tasks is a sum of
    // expected minima over k · `copies` copies.
    for distribution in all() {
        let name = distribution.to_string();
        for copies in [1.0, 2.0, 3.0, 8.0] {
            let minima: Vec<f64> = (1..=3).map(|k| distribution.expected_minimum(copies * f64::from(k))).collect();
            let two = 2.0 * minima[0] - minima[1];
            let three = 3.0 * minima[0] - 3.0 * minima[1] + minima[2];
            close(distribution.expected_maximum_of_minima(2.0, copies), two, 1e-11, &format!("{name} 2 {copies}"));
            close(distribution.expected_maximum_of_minima(3.0, copies), three, 3e-11, &format!("{name} 3 {copies}"));
            close(distribution.limited_minimum(1e290, copies), minima[0], 1e-9, &format!("{name} limit {copies}"));
        }
        close(distribution.expected_minimum(1.0 + 1e-12), distribution.mean(), 1e-9, &format!("{name} one copy"));
        if let Some(second) = distribution.second_moment() {
            close(distribution.expected_minimum_squared(1.0), second, 1e-10, &format!("{name} squared"));
        }
    }
}

#[test]
fn quadrature_of_maxima_agrees_with_exponential() {
    // A Weibull distribution of shape 1 is exponential but uses the quadrature.
    let weibull = Distribution::weibull(1.0, 2.0).unwrap();
    let exponential = Distribution::exponential(2.0).unwrap();
    for tasks in [1.0, 7.0, 100.0, 1e4, 1e6] {
        for copies in [1.0, 1.5, 4.0] {
            let expected = exponential.expected_maximum_of_minima(tasks, copies);
            close(weibull.expected_maximum_of_minima(tasks, copies), expected, 1e-10, "harmonic");
        }
    }
}

#[test]
fn a_pareto_maximum_over_a_million_tasks_is_accurate() {
    // For α = 2 and one copy, the expected maximum over m tasks is Γ(m+1)Γ(1/2)/Γ(m+1/2) = √π·√m·(1 + 1/(8m) + …).
    let pareto = Distribution::pareto(2.0, 1.0).unwrap();
    let tasks = 1e6_f64;
    let expected = (std::f64::consts::PI * tasks).sqrt() * (1.0 + 0.125 / tasks);
    close(pareto.expected_maximum_of_minima(tasks, 1.0), expected, 1e-12, "a million");
    // A very large maximum changes the distribution only by the probability beyond the maximum.
    let limited = Distribution::pareto_truncated(2.0, 1.0, 1e13).unwrap();
    close(limited.expected_maximum_of_minima(1e3, 2.0), pareto.expected_maximum_of_minima(1e3, 2.0), 1e-10, "limited");
    assert_eq!(Distribution::pareto(1.5, 1.0).unwrap().expected_minimum(0.5), f64::INFINITY);
}

#[test]
fn truncated_pareto_by_mean_has_that_mean() {
    for (alpha, mean, maximum) in [(2.0, 13.0, 100.0), (0.5, 1.0, 1e6), (1.0, 5.0, 6.0), (3.0, 1.0, 1.001)] {
        let distribution = Distribution::pareto_truncated_with_mean(alpha, mean, maximum).unwrap();
        close(distribution.mean(), mean, 1e-11, "mean");
    }
}

#[test]
fn mean_residuals_and_ages_agree_with_known_forms() {
    // From its minimum on, the mean residual of a Pareto distribution at age a is a/(α−1). It exceeds 3 from age 3(α−1)
    // = 4.5 on.
    let pareto = Distribution::pareto(2.5, 1.0).unwrap();
    close(pareto.mean_residual(4.0), 4.0 / 1.5, 1e-15, "pareto");
    close(pareto.age_where_residual_exceeds(3.0).unwrap(), 4.5, 1e-15, "pareto age");
    assert_eq!(pareto.age_where_residual_exceeds(1.0), Some(0.0));
    // For other families, check the residual just above and just below the returned age.
    for distribution in all() {
        let mean = distribution.mean();
        for factor in [0.5, 1.0, 1.7, 2.0, 4.0] {
            let Some(age) = distribution.age_where_residual_exceeds(factor * mean) else { continue };
            if age > 0.0 {
                let above = age * (1.0 + 1e-9);
                assert!(distribution.mean_residual(above) > factor * mean * (1.0 - 1e-9), "{distribution} {factor}");
                assert!(distribution.mean_residual(age * (1.0 - 1e-9)) <= factor * mean, "{distribution} {factor}");
            }
        }
    }
    for text in ["exponential(mean=1)", "uniform(min=0,max=2)", "weibull(shape=2,mean=1)", "1"] {
        let distribution: Distribution = text.parse().unwrap();
        assert_eq!(distribution.age_where_residual_exceeds(1.5), None, "{text}");
    }
    let weibull: Distribution = "weibull(shape=0.5,mean=2)".parse().unwrap();
    // This distribution has λ = 1, and its mean residual at age a is 2(√a + 1).
    close(weibull.mean_residual(9.0), 8.0, 1e-12, "weibull");
    close(weibull.mean_residual(1e4), 202.0, 1e-11, "weibull");
    close(weibull.age_where_residual_exceeds(8.0).unwrap(), 9.0, 1e-10, "weibull age");
}

#[test]
fn a_new_copy_is_compared_with_the_remaining_time() {
    // For Pareto with α = 2 and minimum 1, at age 1, the probability is E[(1 + fY)^(−2)] = 2∫₁^∞ y^(−3)(1+fy)^(−2) dy.
    let pareto = Distribution::pareto(2.0, 1.0).unwrap();
    let f = 2.0_f64;
    let expected = brute(&pareto, |y| (1.0 + f * y).powi(-2));
    close(pareto.conditional_probability_exceeds_fresh(1.0, f), expected, 1e-8, "pareto at 1");
    let exponential = Distribution::exponential(3.0).unwrap();
    let weibull = Distribution::weibull(1.0, 3.0).unwrap();
    for age in [0.0, 1.0, 20.0] {
        close(exponential.conditional_probability_exceeds_fresh(age, f), 1.0 / 3.0, 1e-15, "exponential");
        close(weibull.conditional_probability_exceeds_fresh(age, f), 1.0 / 3.0, 1e-10, "weibull");
    }
    // At age 0 with factor 1, both copies have the same continuous distribution, so the probability is one half.
    for distribution in &all()[1..17] {
        close(distribution.conditional_probability_exceeds_fresh(0.0, 1.0), 0.5, 1e-9, &distribution.to_string());
    }
    let sample = Distribution::empirical(vec![1.0, 2.0, 3.0, 10.0]).unwrap();
    // At age 2 the remaining duration is 1 or 8. Twice a new copy's duration is 2, 4, 6 or 20. The remaining duration
    // is longer in 3 of 8 pairs.
    assert_eq!(sample.conditional_probability_exceeds_fresh(2.0, 2.0), 0.375);
    assert_eq!(sample.conditional_probability_exceeds_fresh(10.0, 2.0), 0.0);
    assert_eq!(sample.age_where_probability_exceeds(0.3, 2.0), Some(2.0));
    for distribution in all() {
        let Some(age) = distribution.age_where_probability_exceeds(0.25, 2.0) else { continue };
        if age > 0.0 {
            let probability = |age| distribution.conditional_probability_exceeds_fresh(age, 2.0);
            assert!(probability(age * (1.0 + 1e-9)) > 0.25 - 1e-8, "{distribution}");
            assert!(probability(age * (1.0 - 1e-6)) <= 0.25 + 1e-8, "{distribution}");
        }
    }
    // The age is proportional to the minimum.
    let one = pareto.age_where_probability_exceeds(0.25, 2.0).unwrap();
    let five = pareto.scaled(5.0).age_where_probability_exceeds(0.25, 2.0).unwrap();
    close(five, 5.0 * one, 1e-9, "scaled");
    assert_eq!(pareto.age_where_probability_exceeds(1.0, 2.0), None);
    // The age divided by the factor does not depend on the factor, except if the age is 0.
    for (alpha, factor) in [(2.0, 0.5), (2.0, 1.3), (2.0, 40.0), (1.1, 2.5), (5.0, 2.5)] {
        let pareto = Distribution::pareto(alpha, 3.0).unwrap();
        let at_first = brute(&pareto, |y| (3.0 / (factor * y).max(3.0)).powf(alpha));
        close(pareto.conditional_probability_exceeds_fresh(0.0, factor), at_first, 1e-8, "pareto at 0");
        let probability = |age| pareto.conditional_probability_exceeds_fresh(age, factor);
        let age = pareto.age_where_probability_exceeds(0.25, factor).unwrap();
        if probability(0.0) > 0.25 {
            assert_eq!(age, 0.0);
        } else {
            close(probability(age), 0.25, 1e-9, "at the age");
            close(pareto.age_over_factor(0.25).unwrap() * factor, age, 1e-15, "by the factor");
        }
    }
}

#[test]
fn fit_mean_sd_has_the_given_mean_and_sd() {
    for (mean, sd) in [(10.0, 8.1), (1.0, 100.0), (5.0, 0.01)] {
        let fit = Distribution::fit_mean_sd(mean, Some(sd)).unwrap();
        close(fit.mean(), mean, 1e-14, "mean");
        // For a large sd, α − 2 is about (mean/sd)²/2. It has the absolute rounding error of α, so the sd is less
        // accurate than the mean.
        close(fit.sd().unwrap(), sd, 1e-10, "sd");
    }
    assert_eq!(Distribution::fit_mean_sd(4.0, None), Distribution::pareto_with_mean(2.0, 4.0));
    assert_eq!(Distribution::fit_mean_sd(4.0, Some(0.0)), Distribution::constant(4.0));
    assert!(Distribution::fit_mean_sd(f64::NAN, None).is_err());
    assert!(Distribution::fit_mean_sd(1.0, Some(-1.0)).is_err());
}

#[test]
fn scaling_multiplies_values_and_moments() {
    for distribution in all() {
        let scaled = distribution.with_mean(7.0);
        close(scaled.mean(), 7.0, 1e-13, "mean");
        let factor = 7.0 / distribution.mean();
        close(scaled.survival_quantile(0.3), factor * distribution.survival_quantile(0.3), 1e-12, "quantile");
        close(
            scaled.expected_maximum_of_minima(20.0, 3.0),
            factor * distribution.expected_maximum_of_minima(20.0, 3.0),
            1e-10,
            &distribution.to_string(),
        );
    }
}

#[test]
fn json_forms_are_read_and_written() {
    let read = |json: &str| serde_json::from_str::<Distribution>(json);
    assert_eq!(read("2").unwrap(), Distribution::constant(2.0).unwrap());
    assert_eq!(read("0.5").unwrap(), Distribution::constant(0.5).unwrap());
    assert_eq!(
        read(r#"{"pareto":{"alpha":2.6,"mean":13.0}}"#).unwrap(),
        Distribution::pareto_with_mean(2.6, 13.0).unwrap()
    );
    assert_eq!(read(r#"{"pareto":{"alpha":2,"minimum":1}}"#).unwrap(), Distribution::pareto(2.0, 1.0).unwrap());
    assert_eq!(read(r#"{"uniform":{"min":1,"max":1}}"#).unwrap(), Distribution::constant(1.0).unwrap());
    for distribution in all() {
        let json = serde_json::to_string(&distribution).unwrap();
        assert_eq!(read(&json).unwrap(), distribution, "{json}");
    }
    let refused = |json: &str, part: &str| {
        let message = read(json).unwrap_err().to_string();
        assert!(message.contains(part), "{json}: {message}");
    };
    refused(r#"{"pareto":{"alpha":1,"minimum":1}}"#, "alpha must be greater than 1");
    refused(r#"{"pareto":{"alpha":0.9,"mean":1}}"#, "alpha must be greater than 1");
    refused(r#"{"pareto":{"alpha":2,"minimum":1,"mean":2}}"#, "exactly one");
    refused(r#"{"pareto":{"alpha":2}}"#, "exactly one");
    refused(r#"{"pareto":{"alpha":2,"minimum":1,"maximum":1}}"#, "maximum must be finite and greater");
    refused(r#"{"pareto":{"alpha":2,"mean":1,"typo":1}}"#, "unknown field");
    refused(r#"{"exponential":{"mean":-1}}"#, "mean must be positive");
    refused(r#"{"uniform":{"min":4,"max":1}}"#, "max must be");
    refused(r#"{"nonsense":{}}"#, "unknown variant");
    refused(r#"{"log_normal":{"mean":1,"cv":-2}}"#, "cv must be");
    refused(r#"{"empirical":[]}"#, "no values");
    refused(r#"{"empirical":[1e308,1e308]}"#, "add up");
    refused(r#"{"pareto":{"alpha":1.0000000001,"minimum":1e300}}"#, "mean");
    refused(r#"{"pareto":{"alpha":1.0000000001,"mean":1e-300}}"#, "minimum");
    refused("-1", "value must be zero or more");
    refused("null", "expected a number");
}

#[test]
fn text_forms_are_read_and_written() {
    let read = |text: &str| text.parse::<Distribution>();
    assert_eq!(read(" log_normal( mean = 1 , cv=2 ) ").unwrap(), Distribution::log_normal(1.0, 2.0).unwrap());
    assert_eq!(read("pareto(alpha=2,mean=1)").unwrap(), Distribution::pareto_with_mean(2.0, 1.0).unwrap());
    assert_eq!(read("1e3").unwrap(), Distribution::constant(1000.0).unwrap());
    for distribution in &all()[..17] {
        assert_eq!(read(&distribution.to_string()).as_ref(), Ok(distribution));
    }
    for (text, part) in [
        ("lognormal(mean=1,cv=2)", "did you mean \"log_normal\"?"),
        ("pareto(alfa=2,mean=1)", "did you mean \"alpha\"?"),
        ("pareto(alpha=2,alpha=2,mean=1)", "given twice"),
        ("pareto(alpha=2,mean=x)", "\"x\" is not a number"),
        ("pareto(alpha=2,mean=1", "closing parenthesis"),
        ("pareto(alpha,mean=1)", "has no `=`"),
        ("weibull(shape=2)", "`mean` is missing"),
        ("weibull", "`shape` is missing"),
        ("pareto(alpha=1,mean=1)", "alpha must be greater than 1"),
        ("exponential(mean=NaN)", "mean must be positive"),
        ("inf", "value must be zero or more"),
        ("", "no name"),
        ("pareto(alpha=0.5,mean=1,maximum=1e300)", "alpha = 0.5 and maximum = 1e300"),
    ] {
        let message = read(text).unwrap_err().to_string();
        assert!(message.contains(part), "{text}: {message}");
    }
    assert_eq!(read("uniform(min=0,max=1e300)").unwrap().to_string(), "uniform(min=0,max=1e300)");
    let long = read(&format!("{}(mean=1)", "x".repeat(80_000))).unwrap_err().to_string();
    assert!(long.len() < 400, "{long}");
}

#[test]
fn extreme_arguments_give_no_negative_or_nan_results() {
    for distribution in all() {
        for t in [-1.0, 0.0, 1e-300, 1e-10, 1.0, 1e10, 1e300, f64::INFINITY] {
            for value in [
                distribution.cdf(t),
                distribution.survival(t),
                distribution.limited_expectation(t),
                distribution.limited_minimum(t, 3.0),
                distribution.mean_residual(t),
                distribution.conditional_probability_exceeds_fresh(t, 2.0),
            ] {
                assert!(value >= 0.0, "{distribution} at {t}: {value}");
            }
        }
        for q in [-1.0, 0.0, 1e-320, 1e-300, 0.5, 1.0, 2.0] {
            assert!(distribution.survival_quantile(q) >= 0.0 && distribution.quantile(q) >= 0.0);
        }
    }
}
