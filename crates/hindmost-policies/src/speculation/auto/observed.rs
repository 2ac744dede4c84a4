//! Times that were observed, relative to what was expected, some of them only up to when an attempt was stopped.
//!
//! P(z > x) of a relative time z is the product-limit estimate (Kaplan and Meier 1958): of all that were at risk of ending in a class of
//! times, the share that did not. What was cut off was at risk up to then.

/// Number of classes of z.
pub(super) const CLASSES: usize = 72;
/// The class around 1.
pub(super) const EXPECTED: usize = 30;
/// Width of a class, as a difference of logarithms.
pub(super) const WIDTH: f64 = 0.1;

/// A number for each class of z, and for what is above all.
pub(super) type Classes = [f64; CLASSES + 1];

/// Returns the lower limit of a class.
pub(super) fn lower_limit(class: usize) -> f64 {
    (WIDTH * (class as f64 - EXPECTED as f64 - 0.5)).exp()
}

/// Returns the place of a relative time on the scale of classes: class k reaches from k to k + 1.
fn place(z: f64) -> f64 {
    if z <= 0.0 { 0.0 } else { (z.ln() / WIDTH + EXPECTED as f64 + 0.5).clamp(0.0, CLASSES as f64) }
}

/// Relative times that were observed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Observed {
    ended: Classes,
    cut: Classes,
    /// Number of times that were observed to their ends.
    count: u32,
}

impl Observed {
    /// Nothing was observed.
    pub(super) const NONE: Observed = Observed { ended: [0.0; CLASSES + 1], cut: [0.0; CLASSES + 1], count: 0 };

    /// Adds a time; `has_ended` is false if it is only known that z is above it.
    pub(super) fn add(&mut self, z: f64, has_ended: bool) {
        let classes = if has_ended { &mut self.ended } else { &mut self.cut };
        classes[place(z) as usize] += 1.0;
        self.count += u32::from(has_ended);
    }

    /// Returns the number of times that were observed to their ends.
    pub(super) fn ended(&self) -> f64 {
        f64::from(self.count)
    }

    /// Returns P(z > x); `assumed` counts as so many observations more.
    pub(super) fn tail(&self, assumed: &Tail, weight: f64) -> Tail {
        let assumed = std::array::from_fn(|class| weight * assumed.share(class));
        let mut above = [1.0; CLASSES + 1];
        for (class, at_risk, ended) in self.at_risk(&assumed) {
            let share = if at_risk > 0.0 { (ended / at_risk).min(1.0) } else { 0.0 };
            above[class + 1] = above[class] * (1.0 - share);
        }
        Tail { above }
    }

    /// Returns how far the observed times are from an expected tail, in standard deviations: the largest difference up to any time between
    /// the number that ended and the number that was expected to end of those at risk. Whether what was cut off in a class was at risk in it
    /// is decided in favour of the expected tail: nearly all cuts may lie on one side of where times of the class end.
    pub(super) fn distance(&self, expected: &Tail) -> f64 {
        let (mut differences, mut variance, mut largest) = ([0.0; 2], 0.0, 0.0_f64);
        for (class, at_risk, ended) in self.at_risk(&[0.0; CLASSES + 1]) {
            let share = if expected.above[class] > 0.0 { expected.share(class) / expected.above[class] } else { 1.0 };
            let doubt = 0.5 * self.cut[class];
            differences[0] += ended - (at_risk - doubt) * share;
            differences[1] += ended - (at_risk + doubt) * share;
            variance += at_risk * share * (1.0 - share);
            let [most, least]: [f64; 2] = differences;
            largest = largest.max(least).max(-most);
        }
        if largest > 0.0 { largest / variance.max(f64::MIN_POSITIVE).sqrt() } else { 0.0 }
    }

    /// Returns each class, the number of times at risk of ending in it, and the number that did; `more` times ended besides.
    fn at_risk(&self, more: &Classes) -> impl Iterator<Item = (usize, f64, f64)> {
        let ended: Classes = std::array::from_fn(|class| self.ended[class] + more[class]);
        let mut left: f64 = ended.iter().chain(&self.cut).sum();
        (0..CLASSES).map(move |class| {
            // What was cut off was at risk in half of the class.
            let at_risk = left - 0.5 * self.cut[class];
            left -= ended[class] + self.cut[class];
            (class, at_risk, ended[class])
        })
    }
}

/// P(z > x), linear between the limits of classes. Above all classes it falls with x^−2.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tail {
    /// P(z > x) for the lower limit x of each class, and for what is above all.
    above: Classes,
}

impl Tail {
    /// Tabulates a survival function.
    pub(super) fn of(survival: impl Fn(f64) -> f64) -> Tail {
        Tail { above: std::array::from_fn(|class| if class == 0 { 1.0 } else { survival(lower_limit(class)) }) }
    }

    /// Returns the share of times in a class.
    pub(super) fn share(&self, class: usize) -> f64 {
        self.above[class] - self.above.get(class + 1).copied().unwrap_or(0.0)
    }

    /// Returns P(z > x).
    pub(super) fn exceeds(&self, x: f64) -> f64 {
        let (place, last) = (place(x), lower_limit(CLASSES));
        let class = place as usize;
        match self.above.get(class + 1) {
            _ if x <= 0.0 => 1.0,
            Some(next) => self.above[class] + (next - self.above[class]) * (place - class as f64),
            None => self.above[CLASSES] * (last / x).powi(2),
        }
    }

    /// Returns the x that is exceeded with this probability.
    pub(super) fn exceeded_with(&self, probability: f64) -> f64 {
        let Some(class) = (0..CLASSES).find(|class| self.above[class + 1] < probability) else {
            return lower_limit(CLASSES) * (self.above[CLASSES] / probability).sqrt();
        };
        let (from, to) = (self.above[class], self.above[class + 1]);
        let part = if from > to { ((from - probability) / (from - to)).clamp(0.0, 1.0) } else { 0.0 };
        (WIDTH * (class as f64 + part - EXPECTED as f64 - 0.5)).exp()
    }

    /// Adds `weight` times another one.
    pub(super) fn mix(&mut self, other: &Tail, weight: f64) {
        for (one, other) in self.above.iter_mut().zip(&other.above) {
            *one += weight * (other - *one);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hindmost_math::distribution::Distribution;
    use hindmost_testing::Draw;

    #[test]
    fn times_are_found_although_some_were_cut_off() {
        let times = Distribution::log_normal(1.0, 0.6).unwrap();
        let (mut observed, mut draw) = (Observed::NONE, Draw(3));
        let mut uniform = || (draw.below(1 << 30) as f64 + 0.5) / f64::from(1 << 30);
        for index in 0..4000 {
            let (time, cut) = (times.quantile(uniform()), 0.9);
            let is_cut = index % 3 == 0 && time > cut;
            observed.add(if is_cut { cut } else { time }, !is_cut);
        }
        let found = observed.tail(&Tail::of(|_| 0.0), 0.0);
        for x in [0.3, 0.7, 0.9, 1.1, 1.5, 3.0] {
            // The largest difference of 2 700 draws is below 1.63/√2 700 = 0.03 in 99 of 100 cases; classes are a tenth wide.
            assert!((found.exceeds(x) - times.survival(x)).abs() < 0.03, "P(z > {x}) = {}", found.exceeds(x));
            assert!((found.exceeded_with(found.exceeds(x)) / x - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn beyond_all_classes_times_are_expected_to_take_as_long_again() {
        let tail = Tail::of(|x| x.powi(-2).min(1.0));
        let far = 3.0 * lower_limit(CLASSES);
        assert!((tail.exceeds(far) * far * far - 1.0).abs() < 1e-9);
        assert!((tail.exceeded_with(tail.exceeds(far)) / far - 1.0).abs() < 1e-9);
    }
}
