//! Axes: the positions of values, and ticks at round numbers. An axis has only as many ticks as have space for their
//! labels.

use super::measure::{Size, width};
use crate::text;

/// Smallest gap between the labels of two ticks.
const BETWEEN_LABELS: f64 = 12.0;
/// Axes that are longer than this may have more ticks.
const LONG_AXIS: f64 = 600.0;
/// Numbers from this size on are written with a power of ten.
const LARGE: f64 = 1e7;
/// Numbers below this size are written with a power of ten.
const TINY: f64 = 1e-4;

/// The unit of an axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Unit {
    /// The values are seconds. They are shown in milliseconds, seconds, minutes, hours or days.
    Seconds,
    /// The values are shares from 0 to 1. They are shown in per cent.
    Share,
    /// The values have the unit of this name; empty for none.
    Number(String),
}

/// Label and unit of an axis. The values determine its limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Label of the axis without its unit.
    pub label: String,
    /// Unit of the values.
    pub unit: Unit,
    /// True if the axis is logarithmic.
    pub logarithmic: bool,
    /// True if the axis always contains 0; ignored for logarithmic axes.
    pub from_zero: bool,
}

impl Axis {
    /// Creates a linear axis that contains 0.
    pub fn new(label: &str, unit: Unit) -> Axis {
        Axis { label: label.to_owned(), unit, logarithmic: false, from_zero: true }
    }
}

/// An axis with its limits and ticks.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    /// Label of the axis with its unit.
    pub(super) label: String,
    /// Values of the ticks with their labels. The labels may be in another unit, such as minutes for values in seconds.
    pub(super) ticks: Vec<(f64, String)>,
    logarithmic: bool,
    low: f64,
    high: f64,
}

impl Scale {
    /// Creates the scale of an axis of a given length for values from `low` to `high`. `along` returns the size of a
    /// label in the direction of the axis: its width on a horizontal axis, its height on a vertical axis.
    pub(super) fn new(axis: &Axis, low: f64, high: f64, length: f64, along: impl Fn(&str) -> f64) -> Scale {
        let (low, high) = sane(axis, low, high);
        let (factor, unit) = unit(&axis.unit, high.abs().max(low.abs()), axis.logarithmic);
        let (low, high) = (low / factor, high / factor);
        let fits = |ticks: &[(f64, String)], place: &dyn Fn(f64) -> f64| {
            ticks.windows(2).all(|pair| {
                let needed = f64::midpoint(along(&pair[0].1), along(&pair[1].1)) + BETWEEN_LABELS;
                (place(pair[1].0) - place(pair[0].0)).abs() * length >= needed
            })
        };
        let (ticks, low, high) = if axis.logarithmic {
            let place = |value: f64| (value / low).ln() / (high / low).ln();
            let choices = (0..).map_while(|level| logarithmic_ticks(low, high, level));
            let found = choices.into_iter().find(|ticks| fits(ticks, &place));
            (found.unwrap_or_default(), low, high)
        } else {
            let mut found = (vec![(low, plain(low, 0))], low, high);
            let most = if length > LONG_AXIS { 10 } else { 6 };
            for intervals in (1..=most).rev().map(f64::from) {
                let step = round_step((high - low) / intervals);
                let (from, to) = ((low / step + 1e-9).floor() * step, (high / step - 1e-9).ceil() * step);
                let ticks = linear_ticks(from, to, step);
                let place = |value: f64| (value - from) / (to - from);
                let enough = fits(&ticks, &place);
                found = (ticks, from, to);
                if enough {
                    break;
                }
            }
            found
        };
        let label = match (unit.as_str(), axis.logarithmic) {
            ("", false) => axis.label.clone(),
            ("", true) => format!("{} (logarithmic)", axis.label),
            (unit, false) => format!("{} ({unit})", axis.label),
            (unit, true) => format!("{} ({unit}, logarithmic)", axis.label),
        };
        let ticks = ticks.into_iter().map(|(value, label)| (value * factor, label)).collect();
        Scale { label, ticks, logarithmic: axis.logarithmic, low: low * factor, high: high * factor }
    }

    /// Creates the scale of a horizontal axis.
    pub(super) fn horizontal(axis: &Axis, low: f64, high: f64, length: f64) -> Scale {
        Scale::new(axis, low, high, length, |label| width(label, Size::Normal))
    }

    /// Creates the scale of a horizontal axis from 0 to `high`. Other axes end at a tick; this one ends at `high`.
    pub(super) fn time(axis: &Axis, high: f64, length: f64) -> Scale {
        let mut scale = Scale::horizontal(axis, 0.0, high, length);
        if high.is_finite() && high > 0.0 {
            scale.high = high;
            scale.ticks.retain(|(value, _)| *value <= high * (1.0 + 1e-9));
        }
        scale
    }

    /// Creates the scale of a vertical axis.
    pub(super) fn vertical(axis: &Axis, low: f64, high: f64, length: f64) -> Scale {
        Scale::new(axis, low, high, length, |_| Size::Normal.height())
    }

    /// Returns the position of a value along the axis: 0 is its begin and 1 is its end. Values outside have positions
    /// from −1 to 0 and from 1 to 2.
    pub(super) fn place(&self, value: f64) -> f64 {
        let place = if self.logarithmic {
            if value <= 0.0 {
                return -1.0;
            }
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        if place.is_finite() { place.clamp(-1.0, 2.0) } else { -1.0 }
    }

    /// Returns the ticks of a horizontal axis that begins at `left`, each as its position, the middle of its label, and
    /// the label. A label that would overlap another one is empty. Labels lie between `limits`.
    pub(super) fn labels(&self, left: f64, length: f64, limits: [f64; 2]) -> Vec<(f64, f64, &str)> {
        let mut labels: Vec<(f64, f64, &str)> = Vec::new();
        let mut free_from = f64::NEG_INFINITY;
        for (value, label) in &self.ticks {
            let at = left + self.place(*value) * length;
            let half = width(label, Size::Normal) / 2.0;
            let middle = at.min(limits[1] - half).max(limits[0] + half);
            if middle - half >= free_from && middle + half <= limits[1] + 1e-6 {
                labels.push((at, middle, label));
                free_from = middle + half + BETWEEN_LABELS / 2.0;
            } else {
                labels.push((at, middle, ""));
            }
        }
        labels
    }

    /// Returns the width of the widest label.
    pub(super) fn widest(&self) -> f64 {
        self.ticks.iter().map(|(_, label)| width(label, Size::Normal)).fold(0.0, f64::max)
    }
}

/// Returns limits that are finite, in ascending order and not equal, and that suit the axis.
fn sane(axis: &Axis, low: f64, high: f64) -> (f64, f64) {
    let (mut low, mut high) = (if low.is_finite() { low } else { 0.0 }, if high.is_finite() { high } else { 1.0 });
    if low > high {
        std::mem::swap(&mut low, &mut high);
    }
    if axis.logarithmic {
        if high <= 0.0 {
            (low, high) = (0.1, 1.0);
        }
        low = if low > 0.0 { low } else { high / 1000.0 };
        if high < low * 1.5 {
            (low, high) = (low / 1.5, high * 1.5);
        }
        return (low, high);
    }
    if axis.from_zero {
        (low, high) = (low.min(0.0), high.max(0.0));
    }
    if high - low <= 1e-9 * high.abs().max(low.abs()) {
        let around = if high == 0.0 { 1.0 } else { high.abs() / 2.0 };
        (low, high) =
            if axis.from_zero || high == 0.0 { (low, low.max(high) + around) } else { (low - around, high + around) };
    }
    (low, high)
}

/// Returns the name of the unit in which values are shown, and the number by which values are divided to get this unit.
fn unit(unit: &Unit, largest: f64, logarithmic: bool) -> (f64, String) {
    let (factor, name) = match unit {
        Unit::Share => (0.01, "%"),
        Unit::Number(name) => (1.0, name.as_str()),
        Unit::Seconds if logarithmic => (1.0, "s"),
        Unit::Seconds => match largest {
            ..1.0 => (0.001, "ms"),
            ..600.0 => (1.0, "s"),
            ..7_200.0 => (60.0, "min"),
            ..259_200.0 => (3_600.0, "h"),
            _ => (86_400.0, "days"),
        },
    };
    (factor, name.to_owned())
}

/// Returns the smallest of 1, 2 or 5 times a power of ten that is not below `step`.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let times = [1.0, 2.0, 5.0, 10.0].into_iter().find(|times| times * power >= step * (1.0 - 1e-9));
    times.unwrap_or(10.0) * power
}

/// Returns the multiples of `step` from `from` to `to` with their labels.
fn linear_ticks(from: f64, to: f64, step: f64) -> Vec<(f64, String)> {
    let digits = (-(step.log10() + 1e-9).floor()).clamp(0.0, 9.0) as usize;
    let count = ((to - from) / step).round() as u32;
    (0..=count.min(20)).map(|at| from + f64::from(at) * step).map(|value| (value, plain(value, digits))).collect()
}

/// Returns the ticks of a logarithmic axis. The higher `level` is, the fewer ticks there are; `None` beyond the last
/// level.
fn logarithmic_ticks(low: f64, high: f64, level: u32) -> Option<Vec<(f64, String)>> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let within = |value: f64| value >= low * (1.0 - 1e-9) && value <= high * (1.0 + 1e-9);
    let each: &[f64] = match level {
        0 => &[1.0, 2.0, 5.0],
        1 => &[1.0, 3.0],
        _ => &[1.0],
    };
    let every = match level {
        0..=2 => 1,
        _ => level as i32 - 1,
    };
    let mut ticks = Vec::new();
    for power in (first..=last).filter(|power| power.rem_euclid(every) == 0) {
        let values = each.iter().map(|times| times * 10f64.powi(power)).filter(|value| within(*value));
        ticks.extend(values.map(|value| (value, significant(value))));
    }
    (level < 40).then_some(ticks)
}

/// Formats a number with some decimals, and a large or tiny number with a power of ten.
fn plain(value: f64, digits: usize) -> String {
    let value = if value.abs() < 1e-12 { 0.0 } else { value };
    if value != 0.0 && !(TINY..LARGE).contains(&value.abs()) {
        return significant(value);
    }
    let text = if digits == 0 && value.abs() >= 10_000.0 {
        text::grouped(value.abs().round() as u64)
    } else {
        format!("{:.digits$}", value.abs())
    };
    if value < 0.0 { format!("\u{2212}{text}") } else { text }
}

/// Formats 1 to 9.9 times a power of ten without unnecessary digits.
fn significant(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let sign = if value < 0.0 { "\u{2212}" } else { "" };
    let size = value.abs();
    if (TINY..LARGE).contains(&size) {
        let digits = (-(size.log10() + 1e-9).floor()).max(0.0) as usize;
        let text = if size >= 10_000.0 { text::grouped(size.round() as u64) } else { format!("{size:.digits$}") };
        return format!("{sign}{text}");
    }
    let power = (size.log10() + 1e-9).floor();
    let times = size / 10f64.powf(power);
    let times = if (times - 1.0).abs() < 1e-6 {
        String::new()
    } else {
        format!("{}·", format!("{times:.1}").trim_end_matches(".0"))
    };
    format!("{sign}{times}10{}", raised(power as i32))
}

/// Formats a whole number in superscript digits, for exponents.
pub(crate) fn raised(power: i32) -> String {
    power
        .to_string()
        .chars()
        .map(|digit| match digit {
            '-' => '⁻',
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            other => other.to_digit(10).and_then(|digit| char::from_u32(0x2070 + digit)).unwrap_or(other),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, low: f64, high: f64, length: f64) -> Vec<String> {
        Scale::horizontal(axis, low, high, length).ticks.into_iter().map(|(_, label)| label).collect()
    }

    fn logarithmic() -> Axis {
        Axis { logarithmic: true, ..Axis::new("flowtime", Unit::Seconds) }
    }

    #[test]
    fn ticks_are_round_and_fit_the_length() {
        let axis = Axis::new("flowtime", Unit::Seconds);
        assert_eq!(labels(&axis, 0.0, 23.4, 300.0), ["0", "5", "10", "15", "20", "25"]);
        assert_eq!(labels(&axis, 0.0, 23.4, 60.0), ["0", "20", "40"]);
        assert_eq!(labels(&axis, 0.0, 0.42, 300.0), ["0", "100", "200", "300", "400", "500"]);
        let ratio = Axis { from_zero: false, ..Axis::new("ratio", Unit::Number(String::new())) };
        assert_eq!(labels(&ratio, 0.52, 1.04, 300.0), ["0.5", "0.6", "0.7", "0.8", "0.9", "1.0", "1.1"]);
        let copies = Axis::new("copies", Unit::Number(String::new()));
        assert_eq!(labels(&copies, 0.0, 118_000.0, 300.0), ["0", "50 000", "100 000", "150 000"]);
    }

    #[test]
    fn seconds_have_a_unit_that_suits_their_size() {
        let axis = Axis::new("flowtime", Unit::Seconds);
        let label = |high: f64| Scale::horizontal(&axis, 0.0, high, 300.0).label;
        let all = [0.5, 60.0, 3_000.0, 40_000.0, 1e6].map(label);
        assert_eq!(all, ["flowtime (ms)", "flowtime (s)", "flowtime (min)", "flowtime (h)", "flowtime (days)"]);
    }

    #[test]
    fn ticks_of_logarithmic_axes_are_round() {
        assert_eq!(labels(&logarithmic(), 0.8, 900.0, 300.0), ["1", "3", "10", "30", "100", "300"]);
        assert_eq!(labels(&logarithmic(), 0.8, 9.0, 300.0), ["1", "2", "5"]);
        assert_eq!(labels(&logarithmic(), 1e-9, 1e9, 300.0), ["10⁻⁸", "0.0001", "1", "10 000", "10⁸"]);
        assert!(Scale::horizontal(&logarithmic(), 1.0, 100.0, 300.0).label.contains("logarithmic"));
    }

    #[test]
    fn values_have_positions_from_0_to_1_on_the_axis() {
        let scale = Scale::horizontal(&Axis::new("t", Unit::Seconds), 0.0, 10.0, 300.0);
        assert_eq!([0.0, 5.0, 10.0, f64::NAN].map(|value| scale.place(value)), [0.0, 0.5, 1.0, -1.0]);
        let scale = Scale::horizontal(&logarithmic(), 1.0, 100.0, 300.0);
        assert!((scale.place(10.0) - 0.5).abs() < 1e-12);
        assert_eq!(scale.place(0.0), -1.0);
    }

    #[test]
    fn labels_do_not_overlap_for_any_limits() {
        let odd = [0.0, -5.0, 1e-300, 1e-12, 0.1, 1.0, 3.0, 1e5, 1e18, 1e300, f64::NAN, f64::INFINITY];
        let relative = Axis { from_zero: false, ..Axis::new("x", Unit::Share) };
        let mut shown = 0;
        for axis in [Axis::new("x", Unit::Seconds), logarithmic(), relative] {
            for (low, high) in odd.iter().flat_map(|low| odd.iter().map(move |high| (*low, *high))) {
                for length in [20.0, 120.0, 400.0] {
                    let scale = Scale::horizontal(&axis, low, high, length);
                    assert!(scale.ticks.len() <= 40, "{low} {high}");
                    let mut free_from = 0.0;
                    for (at, middle, label) in scale.labels(50.0, length, [0.0, length + 100.0]) {
                        assert!((49.9..=length + 50.1).contains(&at), "{low} {high} {length} {scale:?}");
                        let half = width(label, Size::Normal) / 2.0;
                        if !label.is_empty() {
                            assert!(
                                middle - half >= free_from && middle + half <= length + 100.1,
                                "{low} {high} {scale:?}"
                            );
                            free_from = middle + half;
                            shown += 1;
                        }
                    }
                }
            }
        }
        assert!(shown > 3 * odd.len() * odd.len(), "{shown}");
    }
}
