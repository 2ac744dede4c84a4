//! Adaptive Gauss–Kronrod quadrature.

use std::collections::BinaryHeap;

/// An integral and an estimate of its absolute error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Integral {
    /// The value of the integral.
    pub value: f64,
    /// An estimate of the absolute error, usually far above the true error.
    pub error: f64,
}

/// Positive nodes of the 15-point Kronrod rule on (−1, 1), largest first. Odd indices are Gauss nodes.
const NODES: [f64; 7] = [
    0.991_455_371_120_812_6,
    0.949_107_912_342_758_5,
    0.864_864_423_359_769_1,
    0.741_531_185_599_394_4,
    0.586_087_235_467_691_1,
    0.405_845_151_377_397_2,
    0.207_784_955_007_898_47,
];
/// Kronrod weights of [`NODES`], then of node 0.
const KRONROD: [f64; 8] = [
    0.022_935_322_010_529_224,
    0.063_092_092_629_978_56,
    0.104_790_010_322_250_18,
    0.140_653_259_715_525_92,
    0.169_004_726_639_267_9,
    0.190_350_578_064_785_4,
    0.204_432_940_075_298_9,
    0.209_482_141_084_727_82,
];
/// Gauss weights of the nodes at odd indices of [`NODES`], then of node 0.
const GAUSS: [f64; 4] =
    [0.129_484_966_168_869_7, 0.279_705_391_489_276_64, 0.381_830_050_505_118_9, 0.417_959_183_673_469_4];
/// Maximum number of times that panels are halved.
const MAX_HALVINGS: usize = 2000;

/// Integrates `f` over [`low`, `high`] to a relative tolerance, by halving the panel with the largest error.
///
/// Both ends must be finite. `f` is not evaluated at the ends, so it may have integrable singularities there. After
/// 2000 halvings the integration stops and returns its best result, whose [`Integral::error`] exceeds the tolerance.
pub fn integrate(f: impl Fn(f64) -> f64, low: f64, high: f64, tolerance: f64) -> Integral {
    integrate_panels(f, &[low, high], tolerance)
}

/// Integrates `f` from the first to the last of `breaks`, as [`integrate`] does. `breaks` are in ascending order; the
/// range is split at each of them. They should include points at which `f` has kinks or its scale changes.
pub fn integrate_panels(f: impl Fn(f64) -> f64, breaks: &[f64], tolerance: f64) -> Integral {
    let mut panels: BinaryHeap<Panel> =
        breaks.windows(2).filter(|ends| ends[1] > ends[0]).map(|ends| panel(&f, ends[0], ends[1])).collect();
    for _ in 0..MAX_HALVINGS {
        let total = sum(&panels);
        let wanted = tolerance * total.value.abs();
        if total.error.is_nan() || wanted.is_nan() || total.error <= wanted {
            return total;
        }
        let Some(worst) = panels.pop() else { break };
        let middle = 0.5 * (worst.low + worst.high);
        if middle <= worst.low || middle >= worst.high {
            panels.push(Panel { error: 0.0, ..worst });
            continue;
        }
        panels.push(panel(&f, worst.low, middle));
        panels.push(panel(&f, middle, worst.high));
    }
    sum(&panels)
}

/// A part of the integration range and the estimates of its integral and error. Panels sort by error, then by position.
#[derive(Clone, Copy, Debug)]
struct Panel {
    low: f64,
    high: f64,
    value: f64,
    error: f64,
}

impl PartialEq for Panel {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Panel {}
impl PartialOrd for Panel {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Panel {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.error.total_cmp(&other.error).then(self.low.total_cmp(&other.low))
    }
}

fn sum(panels: &BinaryHeap<Panel>) -> Integral {
    panels.iter().fold(Integral { value: 0.0, error: 0.0 }, |total, panel| Integral {
        value: total.value + panel.value,
        error: total.error + panel.error,
    })
}

/// Applies the 7-point Gauss and 15-point Kronrod rules to a panel, with QUADPACK's error estimate.
fn panel(f: &impl Fn(f64) -> f64, low: f64, high: f64) -> Panel {
    let centre = 0.5 * (low + high);
    let half = 0.5 * (high - low);
    let middle = f(centre);
    let mut kronrod = KRONROD[7] * middle;
    let mut gauss = GAUSS[3] * middle;
    let mut values = [0.0; 14];
    for (place, node) in NODES.iter().enumerate() {
        let (left, right) = (f(centre - half * node), f(centre + half * node));
        values[2 * place] = left;
        values[2 * place + 1] = right;
        kronrod += KRONROD[place] * (left + right);
        if place % 2 == 1 {
            gauss += GAUSS[place / 2] * (left + right);
        }
    }
    // The integral of the integrand's deviation from its mean. If the difference between the rules is small compared
    // with this, the true error is even smaller than the difference.
    let mean = 0.5 * kronrod;
    let mut spread = KRONROD[7] * (middle - mean).abs();
    for (place, weight) in KRONROD[..7].iter().enumerate() {
        spread += weight * ((values[2 * place] - mean).abs() + (values[2 * place + 1] - mean).abs());
    }
    let difference = ((kronrod - gauss) * half).abs();
    let spread = spread * half;
    let mut error = difference;
    if spread > 0.0 && difference > 0.0 {
        error = spread * (200.0 * difference / spread).powf(1.5).min(1.0);
    }
    Panel { low, high, value: kronrod * half, error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kronrod_rule_is_exact_for_degree_22() {
        // 15-point Kronrod rules integrate polynomials up to degree 3·7 + 1 exactly.
        let value = panel(&|x: f64| x.powi(22), -1.0, 1.0).value;
        assert!((value - 2.0 / 23.0).abs() < 1e-15, "{value}");
        let value = panel(&|x: f64| x.powi(12), -1.0, 1.0);
        assert!((value.value - 2.0 / 13.0).abs() < 1e-15);
        assert!(value.error < 1e-13, "Gauss weights are off: {}", value.error);
    }

    #[test]
    fn integrands_may_have_kinks_and_singular_ends() {
        let kink = integrate(|x| (x - 0.3).abs(), 0.0, 1.0, 1e-12).value;
        assert!((kink - 0.29).abs() < 1e-12);
        let root = integrate(|x| 1.0 / x.sqrt(), 0.0, 1.0, 1e-10).value;
        assert!((root - 2.0).abs() < 1e-8);
        assert_eq!(integrate(|_| 1.0, 1.0, 1.0, 1e-9).value, 0.0);
        assert!(integrate(|_| f64::NAN, 0.0, 1.0, 1e-9).value.is_nan());
    }
}
