//! Draws the time axis below a chart, with round ticks in a unit that suits the span of time.

/// A unit of time.
struct Unit {
    /// Length of the unit, in seconds.
    seconds: f64,
    symbol: &'static str,
    /// The unit is used for spans of less than this many seconds.
    below_seconds: f64,
    /// Allowed steps between ticks, in this unit; empty: 1, 2 or 5 times a power of ten.
    steps: &'static [f64],
}

/// The units, from the shortest to the longest.
const UNITS: [Unit; 5] = [
    Unit { seconds: 0.001, symbol: "ms", below_seconds: 1.0, steps: &[] },
    Unit { seconds: 1.0, symbol: "s", below_seconds: 300.0, steps: &[] },
    Unit {
        seconds: 60.0,
        symbol: "min",
        below_seconds: 10_800.0,
        steps: &[1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0],
    },
    Unit { seconds: 3600.0, symbol: "h", below_seconds: 259_200.0, steps: &[0.5, 1.0, 2.0, 3.0, 6.0, 12.0, 24.0] },
    Unit { seconds: 86_400.0, symbol: "d", below_seconds: f64::INFINITY, steps: &[] },
];
/// Smallest distance between two ticks, in columns.
const APART: usize = 8;
/// Smallest gap between two labels, in columns.
const GAP: usize = 2;

/// A tick of the axis.
struct Tick {
    /// Number of columns to the right of time zero.
    column: usize,
    label: String,
}

/// Returns two lines of text, the axis and its labels, for a chart that has `columns` columns for `seconds` seconds.
/// The first character of both is at time zero, to the left of the chart's first column. `marks` are the characters for
/// the corner, the line and a tick.
pub(super) fn axis(seconds: f64, columns: usize, marks: [char; 3]) -> [String; 2] {
    let [corner, line, tick] = marks;
    let unit = UNITS.iter().find(|unit| seconds < unit.below_seconds).unwrap_or(&UNITS[4]);
    let ticks = ticks(seconds / unit.seconds, columns, unit);
    let mut rule: Vec<char> = vec![line; columns + 1];
    for tick_at in &ticks {
        rule[tick_at.column] = tick;
    }
    rule[0] = corner;
    [rule.into_iter().collect(), labels(&ticks, columns + 1, unit.symbol)]
}

/// Returns the ticks for a span of time that is given in `unit`.
fn ticks(span: f64, columns: usize, unit: &Unit) -> Vec<Tick> {
    let per_column = span / columns as f64;
    let mut step = unit.steps.iter().copied().find(|step| wide_enough(*step, span, per_column));
    // If the unit has no steps, or all of them are too small, the step is 1, 2 or 5 times a power of ten.
    let mut power = 10f64.powf(per_column.log10().floor());
    while step.is_none() {
        step = [1.0, 2.0, 5.0]
            .map(|digit| digit * power)
            .into_iter()
            .find(|step| unit.steps.last().is_none_or(|last| step > last) && wide_enough(*step, span, per_column));
        power *= 10.0;
    }
    let step = step.unwrap_or(span);
    let count = (span / step + 1e-9).floor() as usize;
    let tick = |at: usize| {
        let value = at as f64 * step;
        Tick { column: ((value / per_column).round() as usize).min(columns), label: number(value, step) }
    };
    (0..=count).map(tick).collect()
}

/// Returns whether labels fit between ticks at this step.
fn wide_enough(step: f64, span: f64, per_column: f64) -> bool {
    let apart = (step / per_column) as usize;
    apart >= APART && apart >= number(span, step).len() + GAP
}

/// Formats a multiple of a step with as many digits as the step needs.
fn number(value: f64, step: f64) -> String {
    let digits = (-step.log10()).ceil().clamp(0.0, 9.0) as usize;
    format!("{value:.digits$}")
}

/// Returns the line of labels. Each label is centred below its tick, and the last one has the unit. Labels that do not
/// fit are left out.
fn labels(ticks: &[Tick], width: usize, symbol: &str) -> String {
    let mut line = vec![' '; width];
    // Labels are placed from right to left, so that the last one, which has the unit, always fits.
    let mut limit = width;
    for (at, tick) in ticks.iter().enumerate().rev() {
        let last = at + 1 == ticks.len();
        let text = if last { format!("{} {symbol}", tick.label) } else { tick.label.clone() };
        let middle = tick.column.saturating_sub(tick.label.len() / 2);
        let from = if last { middle.min(width.saturating_sub(text.len())) } else { middle };
        if from + text.len() > limit {
            continue;
        }
        for (offset, letter) in text.chars().enumerate() {
            line[from + offset] = letter;
        }
        limit = from.saturating_sub(GAP);
    }
    line.into_iter().collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(seconds: f64, columns: usize) -> String {
        axis(seconds, columns, ['└', '─', '┬']).join("\n")
    }

    #[test]
    fn ticks_are_round_in_a_unit_that_suits_the_span() {
        assert_eq!(drawn(30.0, 30), "└─────────┬─────────┬─────────┬\n0        10        20      30 s");
        assert_eq!(drawn(0.05, 20), "└───────┬───────┬───\n0      20      40 ms".replace("┬───\n", "┬────\n"));
        assert!(drawn(1000.0, 60).contains("15 min"), "{}", drawn(1000.0, 60));
        assert!(drawn(20_000.0, 60).contains("5 h"), "{}", drawn(20_000.0, 60));
        assert!(drawn(8e5, 60).contains(" d"), "{}", drawn(8e5, 60));
    }

    #[test]
    fn labels_do_not_touch_or_exceed_the_chart() {
        for columns in [10, 20, 31, 60, 107, 190] {
            for exponent in -90..=190 {
                let seconds = 10f64.powf(f64::from(exponent) / 20.0);
                let [rule, labels] = axis(seconds, columns, ['+', '-', '+']);
                assert_eq!(rule.len(), columns + 1, "{seconds} {columns}");
                assert!(labels.len() <= columns + 1, "{seconds} {columns}: {labels}");
                let words: Vec<&str> = labels.split_whitespace().collect();
                let (unit, numbers) = words.split_last().expect("a unit");
                assert!(UNITS.iter().any(|known| known.symbol == *unit), "{labels}");
                let values: Vec<f64> = numbers.iter().map(|text| text.parse().expect("a number")).collect();
                assert!(values.is_sorted_by(|one, next| one < next), "{seconds} {columns}: {labels}");
                assert!(values.len() >= 2 || columns < 20, "{seconds} {columns}: {labels}");
            }
        }
    }
}
