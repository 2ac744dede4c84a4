//! Roots and minima of functions of one variable.

/// Maximum number of iterations of a search. Bisection between any two doubles takes fewer iterations.
const MAX_ITERATIONS: usize = 2200;

/// Returns a root of `f` between `low` and `high`. The error is at most `tolerance` · |root|, plus the spacing of
/// doubles. `f` must have opposite signs (or be zero) at the ends; `None` if the signs agree or are NaN.
///
/// Brent's method (R. P. Brent, *Algorithms for Minimization without Derivatives*, 1973, chapter 4).
pub fn find_root(f: impl Fn(f64) -> f64, low: f64, high: f64, tolerance: f64) -> Option<f64> {
    let (mut a, mut b) = (low, high);
    let (mut fa, mut fb) = (f(a), f(b));
    if fa == 0.0 {
        return Some(a);
    }
    if fb == 0.0 {
        return Some(b);
    }
    if fa.is_nan() || fb.is_nan() || (fa > 0.0) == (fb > 0.0) {
        return None;
    }
    let (mut c, mut fc) = (a, fa);
    let (mut step, mut last_step) = (b - a, b - a);
    for _ in 0..MAX_ITERATIONS {
        if fc.abs() < fb.abs() {
            (a, b, c) = (b, c, b);
            (fa, fb, fc) = (fb, fc, fb);
        }
        let close = 0.5 * tolerance * b.abs() + 2.0 * f64::EPSILON * b.abs() + f64::MIN_POSITIVE;
        let half = 0.5 * (c - b);
        if half.abs() <= close || fb == 0.0 {
            return Some(b);
        }
        if last_step.abs() < close || fa.abs() <= fb.abs() {
            (step, last_step) = (half, half);
        } else {
            let s = fb / fa;
            let (mut p, mut q) = if a == c {
                (2.0 * half * s, 1.0 - s)
            } else {
                let (q, r) = (fa / fc, fb / fc);
                (s * (2.0 * half * q * (q - r) - (b - a) * (r - 1.0)), (q - 1.0) * (r - 1.0) * (s - 1.0))
            };
            if p > 0.0 {
                q = -q;
            } else {
                p = -p;
            }
            if 2.0 * p < 3.0 * half * q - (close * q).abs() && p < (0.5 * last_step * q).abs() {
                (last_step, step) = (step, p / q);
            } else {
                (step, last_step) = (half, half);
            }
        }
        (a, fa) = (b, fb);
        b += if step.abs() > close { step } else { close.copysign(half) };
        fb = f(b);
        if fb.is_nan() {
            return None;
        }
        if (fb > 0.0) == (fc > 0.0) {
            (c, fc) = (a, fa);
            (step, last_step) = (b - a, b - a);
        }
    }
    Some(b)
}

/// Returns the point between `low` and `high` at which `holds` becomes true. `holds` must be false at `low` and true at
/// `high`. The result is the smallest tested value for which `holds` is true, and is exact to the spacing of doubles.
pub fn bisect(holds: impl Fn(f64) -> bool, low: f64, high: f64) -> f64 {
    let (mut low, mut high) = (low, high);
    for _ in 0..MAX_ITERATIONS {
        // The geometric mean converges for values of any size, but needs a positive lower end.
        let middle = if low > 0.0 && high > 2.0 * low { low.sqrt() * high.sqrt() } else { low + 0.5 * (high - low) };
        if !(middle > low && middle < high) {
            break;
        }
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// Returns the point in [`low`, `high`] at which a unimodal `f` is smallest, to a relative error of about 1e-8. A
/// minimum is flat, so it can't be located more closely than the square root of the machine precision.
///
/// Brent's method without derivatives (R. P. Brent, 1973, chapter 5).
pub fn minimize(f: impl Fn(f64) -> f64, low: f64, high: f64) -> f64 {
    /// The smaller part of an interval of length 1 that is divided in the golden ratio.
    const GOLDEN: f64 = 0.381_966_011_250_105_1;
    const RELATIVE: f64 = 1e-9;
    let (mut a, mut b) = (low, high);
    let mut x = a + GOLDEN * (b - a);
    let (mut w, mut v) = (x, x);
    let mut fx = f(x);
    let (mut fw, mut fv) = (fx, fx);
    let (mut step, mut last_step) = (0.0_f64, 0.0_f64);
    for _ in 0..200 {
        let middle = 0.5 * (a + b);
        let close = RELATIVE * x.abs() + 1e-12;
        if (x - middle).abs() <= 2.0 * close - 0.5 * (b - a) {
            break;
        }
        let mut golden = true;
        if last_step.abs() > close {
            let r = (x - w) * (fx - fv);
            let mut q = (x - v) * (fx - fw);
            let mut p = (x - v) * q - (x - w) * r;
            q = 2.0 * (q - r);
            if q > 0.0 {
                p = -p;
            }
            q = q.abs();
            let before = last_step;
            last_step = step;
            if p.abs() < (0.5 * q * before).abs() && p > q * (a - x) && p < q * (b - x) {
                step = p / q;
                let u = x + step;
                if u - a < 2.0 * close || b - u < 2.0 * close {
                    step = close.copysign(middle - x);
                }
                golden = false;
            }
        }
        if golden {
            last_step = if x >= middle { a - x } else { b - x };
            step = GOLDEN * last_step;
        }
        let u = x + if step.abs() >= close { step } else { close.copysign(step) };
        let fu = f(u);
        if fu <= fx {
            if u >= x {
                a = x;
            } else {
                b = x;
            }
            (v, w, x) = (w, x, u);
            (fv, fw, fx) = (fw, fx, fu);
        } else {
            if u < x {
                a = u;
            } else {
                b = u;
            }
            if fu <= fw || w == x {
                (v, w) = (w, u);
                (fv, fw) = (fw, fu);
            } else if fu <= fv || v == x || v == w {
                (v, fv) = (u, fu);
            }
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_found_to_the_last_digits() {
        let root = find_root(|x| x * x - 2.0, 0.0, 2.0, 0.0).unwrap();
        assert!((root - std::f64::consts::SQRT_2).abs() < 1e-15);
        let tiny = find_root(|x| x.ln() + 100.0, 1e-300, 1.0, 0.0).unwrap();
        assert!((tiny / (-100.0_f64).exp() - 1.0).abs() < 1e-13);
        assert_eq!(find_root(|x| x * x + 1.0, -1.0, 1.0, 0.0), None);
        assert_eq!(find_root(|_| f64::NAN, -1.0, 1.0, 0.0), None);
    }

    #[test]
    fn bisection_finds_where_a_condition_becomes_true() {
        assert_eq!(bisect(|x| x >= 0.1, 0.0, 1.0), 0.1);
        assert_eq!(bisect(|x| x >= 3e-200, 1e-300, 1e300), 3e-200);
    }

    #[test]
    fn minima_are_found_inside_and_at_the_ends() {
        assert!((minimize(|x| (x - 0.7).powi(2), 0.0, 3.0) - 0.7).abs() < 1e-8);
        assert!((minimize(f64::cosh, -1.0, 5.0)).abs() < 1e-7);
        assert!((minimize(|x| x, 2.0, 3.0) - 2.0).abs() < 1e-7);
    }
}
