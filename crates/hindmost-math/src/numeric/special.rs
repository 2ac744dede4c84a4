//! Special functions: gamma, digamma and harmonic numbers, and the normal distribution.

/// From this argument on, the asymptotic series of ln Γ and ψ with six terms are exact to 1e-16.
const ASYMPTOTIC: f64 = 16.0;
/// Coefficients of 1/x, 1/x³, … in the asymptotic series of ln Γ: `B_2k / (2k(2k−1))`.
const LN_GAMMA_SERIES: [f64; 6] =
    [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0];

/// Returns ln Γ(x) − ln Γ(x − d) for x > 0 and x − d > 0. Avoids the cancellation in the difference of two large
/// logarithms; the error is about 1e-15 · max(1, |result|) for every x.
///
/// −∞ if x − d ≤ 0.
pub fn ln_gamma_increment(x: f64, d: f64) -> f64 {
    let (mut x, mut y) = (x, x - d);
    if y <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let mut shift = 0.0;
    while x.min(y) < ASYMPTOTIC {
        // Γ(x)/Γ(y) = Γ(x+1)/Γ(y+1) · y/x
        shift += (y / x).ln();
        x += 1.0;
        y += 1.0;
    }
    let series = |z: f64| {
        let square = 1.0 / (z * z);
        LN_GAMMA_SERIES.iter().rev().fold(0.0, |sum, term| sum * square + term) / z
    };
    // (x − ½) ln x − (y − ½) ln y − (x − y), rearranged around ln(y/x) = ln(1 − d/x).
    let main = -(x - 0.5) * (-d / x).ln_1p() + d * y.ln() - d;
    shift + main + series(x) - series(y)
}

/// Returns ψ(x + d) − ψ(x) for x > 0 and x + d > 0. For an integer d this is Σ 1/(x + k) over k = 0 … d − 1.
pub fn digamma_increment(x: f64, d: f64) -> f64 {
    let (mut low, mut high) = (x, x + d);
    let mut shift = 0.0;
    while low.min(high) < ASYMPTOTIC {
        // ψ(z) = ψ(z+1) − 1/z
        shift += 1.0 / low - 1.0 / high;
        low += 1.0;
        high += 1.0;
    }
    // ψ(z) = ln z − 1/(2z) − Σ B_2k/(2k z^2k); each coefficient is 2k−1 times that of ln Γ.
    let series = |z: f64| {
        let square = 1.0 / (z * z);
        let tail = LN_GAMMA_SERIES
            .iter()
            .enumerate()
            .rev()
            .fold(0.0, |sum, (place, term)| sum * square + term * (2 * place + 1) as f64);
        -0.5 / z - tail * square
    };
    shift + (d / low).ln_1p() + series(high) - series(low)
}

/// Returns the harmonic number 1 + 1/2 + … + 1/n, continued to real n ≥ 0.
pub fn harmonic(n: f64) -> f64 {
    digamma_increment(1.0, n)
}

/// Returns P(Z > z) of a standard normal variable, with a relative error of about 1e-15 · max(1, z²), also in the far
/// tail.
pub fn normal_survival(z: f64) -> f64 {
    0.5 * erfc(z * std::f64::consts::FRAC_1_SQRT_2)
}

/// The complementary error function, by W. J. Cody's rational approximations (*Mathematics of Computation* 23, 1969).
/// The error function of the `statrs` crate is not used, because it is accurate only to 1e-10.
#[allow(clippy::excessive_precision, clippy::unreadable_literal)] // Coefficients as published.
fn erfc(x: f64) -> f64 {
    const A: [f64; 5] = [
        3.20937758913846947e3,
        3.77485237685302021e2,
        1.13864154151050156e2,
        3.16112374387056560e0,
        1.85777706184603153e-1,
    ];
    const B: [f64; 5] =
        [2.84423683343917062e3, 1.28261652607737228e3, 2.44024637934444173e2, 2.36012909523441209e1, 1.0];
    const C: [f64; 9] = [
        1.23033935479799725e3,
        2.05107837782607147e3,
        1.71204761263407058e3,
        8.81952221241769090e2,
        2.98635138197400131e2,
        6.61191906371416295e1,
        8.88314979438837594e0,
        5.64188496988670089e-1,
        2.15311535474403846e-8,
    ];
    const D: [f64; 9] = [
        1.23033935480374942e3,
        3.43936767414372164e3,
        4.36261909014324716e3,
        3.29079923573345963e3,
        1.62138957456669019e3,
        5.37181101862009858e2,
        1.17693950891312499e2,
        1.57449261107098347e1,
        1.0,
    ];
    const P: [f64; 6] = [
        6.58749161529837803e-4,
        1.60837851487422766e-2,
        1.25781726111229246e-1,
        3.60344899949804439e-1,
        3.05326634961232344e-1,
        1.63153871373020978e-2,
    ];
    const Q: [f64; 6] = [
        2.33520497626869185e-3,
        6.05183413124413191e-2,
        5.27905102951428412e-1,
        1.87295284992346725e0,
        2.56852019228982242e0,
        1.0,
    ];
    let size = x.abs();
    if size <= 0.46875 {
        let square = x * x;
        return 1.0 - x * polynomial(&A, square) / polynomial(&B, square);
    }
    let scaled = if size <= 4.0 {
        polynomial(&C, size) / polynomial(&D, size)
    } else {
        let square = 1.0 / (size * size);
        (std::f64::consts::FRAC_2_SQRT_PI * 0.5 - square * polynomial(&P, square) / polynomial(&Q, square)) / size
    };
    // e^(−x²) with the square in two parts, so that its rounding error is not magnified.
    let coarse = (size * 16.0).trunc() / 16.0;
    let rest = (size - coarse) * (size + coarse);
    let upper = if size < 40.0 { (-coarse * coarse).exp() * (-rest).exp() * scaled } else { 0.0 };
    if x.is_nan() {
        x
    } else if x < 0.0 {
        2.0 - upper
    } else {
        upper
    }
}

/// Returns the standard normal quantile: z with P(Z ≤ z) = p, for p in (0, 1); ∓∞ at the ends.
///
/// Algorithm AS 241, PPND16 (M. J. Wichura, *Applied Statistics* 37, 1988), with a relative error of about 1e-16. To
/// find z with P(Z > z) = q for a small q, use −`normal_quantile(q)`, which loses no accuracy.
#[allow(clippy::excessive_precision, clippy::unreadable_literal)] // Coefficients as published.
pub fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 8] = [
        3.3871328727963666080e0,
        1.3314166789178437745e2,
        1.9715909503065514427e3,
        1.3731693765509461125e4,
        4.5921953931549871457e4,
        6.7265770927008700853e4,
        3.3430575583588128105e4,
        2.5090809287301226727e3,
    ];
    const B: [f64; 8] = [
        1.0,
        4.2313330701600911252e1,
        6.8718700749205790830e2,
        5.3941960214247511077e3,
        2.1213794301586595867e4,
        3.9307895800092710610e4,
        2.8729085735721942674e4,
        5.2264952788528545610e3,
    ];
    const C: [f64; 8] = [
        1.42343711074968357734e0,
        4.63033784615654529590e0,
        5.76949722146069140550e0,
        3.64784832476320460504e0,
        1.27045825245236838258e0,
        2.41780725177450611770e-1,
        2.27238449892691845833e-2,
        7.74545014278341407640e-4,
    ];
    const D: [f64; 8] = [
        1.0,
        2.05319162663775882187e0,
        1.67638483018380384940e0,
        6.89767334985100004550e-1,
        1.48103976427480074590e-1,
        1.51986665636164571966e-2,
        5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    ];
    const E: [f64; 8] = [
        6.65790464350110377720e0,
        5.46378491116411436990e0,
        1.78482653991729133580e0,
        2.96560571828504891230e-1,
        2.65321895265761230930e-2,
        1.24266094738807843860e-3,
        2.71155556874348757815e-5,
        2.01033439929228813265e-7,
    ];
    const F: [f64; 8] = [
        1.0,
        5.99832206555887937690e-1,
        1.36929880922735805310e-1,
        1.48753612908506148525e-2,
        7.86869131145613259100e-4,
        1.84631831751005468180e-5,
        1.42151175831644588870e-7,
        2.04426310338993978564e-15,
    ];
    let centred = p - 0.5;
    if centred.abs() <= 0.425 {
        let r = 0.180_625 - centred * centred;
        return centred * polynomial(&A, r) / polynomial(&B, r);
    }
    let tail = if centred < 0.0 { p } else { 1.0 - p };
    if tail <= 0.0 {
        return f64::INFINITY.copysign(centred);
    }
    let r = (-tail.ln()).sqrt();
    let z = if r <= 5.0 {
        polynomial(&C, r - 1.6) / polynomial(&D, r - 1.6)
    } else {
        polynomial(&E, r - 5.0) / polynomial(&F, r - 5.0)
    };
    z.copysign(centred)
}

#[inline]
fn polynomial<const N: usize>(coefficients: &[f64; N], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gamma_increments_match_products() {
        // Γ(m+1)/Γ(m+1−d) = Γ(1)/Γ(1−d) · Π k/(k−d)
        for d in [0.05, 0.5, 0.952] {
            let base = ln_gamma_increment(1.0, d);
            let mut product = 0.0_f64;
            for m in 1..=2000_u32 {
                product += -(-d / f64::from(m)).ln_1p();
                let direct = ln_gamma_increment(f64::from(m) + 1.0, d) - base;
                assert!((direct - product).abs() < 2e-14 * product.max(1.0) * 10.0, "{d} {m}");
            }
        }
        assert!((ln_gamma_increment(1.0, 0.5) + std::f64::consts::PI.sqrt().ln()).abs() < 1e-14);
    }

    #[test]
    fn harmonic_numbers_are_exact() {
        let mut sum = 0.0;
        for n in 1..=1000_u32 {
            sum += 1.0 / f64::from(n);
            assert!((harmonic(f64::from(n)) - sum).abs() < 1e-14 * sum * 4.0);
        }
        // H(1/2) = 2 − 2 ln 2
        assert!((harmonic(0.5) - (2.0 - 2.0 * 2.0_f64.ln())).abs() < 1e-14);
        assert_eq!(harmonic(0.0), 0.0);
    }

    #[test]
    fn erfc_matches_rounded_values() {
        // Values of erfc, correctly rounded to doubles.
        for (x, expected) in [
            (0.5, 0.479_500_122_186_953_5),
            (0.9, 0.203_091_787_577_167_86),
            (1.2, 0.089_686_021_770_364_65),
            (2.0, 0.004_677_734_981_047_265),
            (3.0, 2.209_049_699_858_543_8e-5),
            (5.0, 1.537_459_794_428_035e-12),
            (8.0, 1.122_429_717_298_292_8e-29),
        ] {
            assert!((erfc(x) / expected - 1.0).abs() < 1e-15, "{x}: {:e}", erfc(x));
            assert!((erfc(-x) + expected - 2.0).abs() < 4e-16);
        }
        assert_eq!(erfc(f64::INFINITY), 0.0);
        assert_eq!(erfc(f64::NEG_INFINITY), 2.0);
        assert!(erfc(f64::NAN).is_nan());
    }

    #[test]
    fn normal_survival_inverts_normal_quantile() {
        // A relative error e in z gives a relative error of about z²·e in the survival. erfc itself has a relative
        // error of 1e-15.
        for exponent in 1..300 {
            let q = 10.0_f64.powi(-exponent);
            let z = -normal_quantile(q);
            let back = normal_survival(z);
            assert!((back / q - 1.0).abs() < 1e-14 * (1.0 + z * z), "{q}: {back}");
        }
        for percent in 1..100 {
            let p = f64::from(percent) / 100.0;
            assert!((1.0 - normal_survival(normal_quantile(p)) - p).abs() < 1e-15);
        }
        assert!((normal_quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-15);
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
        assert_eq!(normal_quantile(1.0), f64::INFINITY);
    }
}
