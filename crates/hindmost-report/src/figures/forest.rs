//! Forest plots: claimed ranges, and measured values with their intervals, one row for each claim.

use super::NARROW;
use super::legend::{LINE, SAMPLE, heading, legend};
use super::lines::{mark_path, span};
use super::measure::{Size, fitted, lines, width};
use super::scale::{Axis, Scale};
use super::svg::{Anchor, Canvas, Drawing, number};

/// Height of the part of a row that has the marks.
const BAND: f64 = 36.0;
/// Vertical distance of the marks from the middle of this part.
const APART: f64 = 9.0;
/// Width of a mark.
const MARK: f64 = 7.0;
/// Height of a line of a row's name.
const NAME: f64 = 15.0;
/// Largest number of lines of a row's name.
const MOST_LINES: usize = 3;
/// Gap between the chart area and the numbers.
const GAP: f64 = 10.0;
/// Space to the left of the chart area, for half of the first label.
const LEFT: f64 = 14.0;
/// Largest width of the numbers at the right.
const NUMBERS: f64 = 120.0;
/// Gap between two rows, and between two panels.
const BETWEEN: f64 = 8.0;
/// The axis continues beyond the marks by at most this share of its length to show a range.
const BEYOND: f64 = 0.4;

/// A measured value.
#[derive(Clone, Debug, PartialEq)]
pub struct ForestValue {
    /// The value.
    pub value: f64,
    /// The confidence interval of the value, if there is one.
    pub interval: Option<[f64; 2]>,
    /// The value as text, for the right end of the row.
    pub text: String,
    /// True if the value confirms the claim: its mark is filled.
    pub holds: bool,
    /// Tooltip of the mark.
    pub tip: String,
}

/// A claim with its measured values.
#[derive(Clone, Debug, PartialEq)]
pub struct ForestRow {
    /// The claim in words, shown above the marks.
    pub name: String,
    /// Smallest value that confirms the claim; `None` for no limit.
    pub low: Option<f64>,
    /// Largest value that confirms the claim; `None` for no limit.
    pub high: Option<f64>,
    /// Tooltip of the range of values that confirm the claim.
    pub claimed: String,
    /// The value of the upper mark.
    pub base: Option<ForestValue>,
    /// The value of the lower mark.
    pub best: Option<ForestValue>,
    /// Smallest and largest value over all readings, drawn as a thin line between the marks.
    pub range: Option<[f64; 2]>,
    /// Tooltip of the thin line.
    pub range_tip: String,
}

/// Claims whose values have the same unit, above their axis.
#[derive(Clone, Debug, PartialEq)]
pub struct ForestPanel {
    /// Label and unit of the values.
    pub axis: Axis,
    /// Rows from top to bottom.
    pub rows: Vec<ForestRow>,
}

/// A forest plot with a panel for each unit.
#[derive(Clone, Debug, PartialEq)]
pub struct ForestChart {
    /// Heading of the chart.
    pub title: String,
    /// Description of the chart for readers who cannot see it.
    pub about: String,
    /// What the upper marks are, for the legend.
    pub base: String,
    /// What the lower marks are, for the legend; `None` if there are none.
    pub best: Option<String>,
    /// Panels from top to bottom.
    pub panels: Vec<ForestPanel>,
}

/// The horizontal layout of a panel.
struct Area {
    scale: Scale,
    left: f64,
    width: f64,
}

impl Area {
    fn place(&self, value: f64) -> f64 {
        self.left + self.scale.place(value).clamp(0.0, 1.0) * self.width
    }

    /// Returns whether a value lies outside of the axis.
    fn is_cut(&self, value: f64) -> bool {
        !(-0.001..=1.001).contains(&self.scale.place(value))
    }
}

impl ForestChart {
    /// Draws the chart.
    pub fn draw(&self) -> Drawing {
        let mut canvas = Canvas::default();
        let mut y = heading(&mut canvas, &self.title, NARROW);
        let mut names = vec!["claimed", self.base.as_str()];
        names.extend(self.best.as_deref());
        names.push("all readings");
        let last = names.len() - 1;
        y = legend(&mut canvas, &names, y, NARROW, |canvas, at, x, y| match at {
            0 => canvas.rect("hm-zone", x, y - 6.0, SAMPLE, 12.0),
            at if at == last => range(canvas, [x, x + SAMPLE], [false; 2], y),
            at => canvas.path(&format!("hm-f{}", at - 1), &mark_path(at - 1, x + SAMPLE / 2.0, y)),
        });
        for panel in &self.panels {
            y = panel.draw(&mut canvas, y + BETWEEN);
        }
        Drawing::new(&self.title, &self.about, NARROW, canvas, y)
    }
}

impl ForestPanel {
    /// Draws the panel below `y` and returns the position below the panel.
    fn draw(&self, canvas: &mut Canvas, mut y: f64) -> f64 {
        let values = || self.rows.iter().flat_map(|row| row.base.iter().chain(&row.best));
        let text = |value: &ForestValue| width(&fitted(&value.text, NUMBERS, Size::Normal), Size::Normal);
        let numbers = values().map(text).fold(0.0, f64::max);
        let area_width = NARROW - LEFT - numbers - GAP;
        let [low, high] = self.limits();
        let area = Area { scale: Scale::horizontal(&self.axis, low, high, area_width), left: LEFT, width: area_width };
        for row in &self.rows {
            for line in lines(&row.name, NARROW, Size::Normal, MOST_LINES) {
                canvas.text("hm-text", 0.0, y + NAME - 4.0, Anchor::Start, &line);
                y += NAME;
            }
            row.draw(canvas, &area, y + 2.0);
            y += BAND + 2.0 + BETWEEN;
        }
        y -= BETWEEN - 2.0;
        for (at, middle, label) in area.scale.labels(area.left, area.width, [0.0, NARROW]) {
            canvas.line("hm-axis", (at, y), (at, y + 4.0));
            canvas.text("hm-text", middle, y + LINE, Anchor::Middle, label);
        }
        canvas.line("hm-axis", (area.left, y), (area.left + area.width, y));
        let label = fitted(&area.scale.label, NARROW, Size::Normal);
        let half = width(&label, Size::Normal) / 2.0;
        let middle = (area.left + area.width / 2.0).clamp(half, (NARROW - half).max(half));
        canvas.text("hm-soft", middle, y + 2.0 * LINE, Anchor::Middle, &label);
        y + 2.0 * LINE + 8.0
    }

    /// Returns the limits of the axis. It shows all marks with their intervals and all limits of rules, and as much of
    /// the ranges over readings as does not make the marks small.
    fn limits(&self) -> [f64; 2] {
        let of_row = |row: &ForestRow| {
            let values = row.base.iter().chain(&row.best);
            let ends = values.flat_map(|value| value.interval.into_iter().flatten().chain([value.value]));
            ends.chain(row.low).chain(row.high).collect::<Vec<f64>>()
        };
        let sound = |value: &f64| value.is_finite() && (!self.axis.logarithmic || *value > 0.0);
        let [mut low, mut high] = span(self.rows.iter().flat_map(of_row).filter(sound));
        let ranges = self.rows.iter().filter_map(|row| row.range).flatten();
        if low > high {
            return span(ranges.filter(sound));
        }
        if self.axis.from_zero && !self.axis.logarithmic {
            (low, high) = (low.min(0.0), high.max(0.0));
        }
        let more = (high - low) * BEYOND;
        let [least, most] = span(ranges.filter(sound).chain([low, high]));
        [low.min(least.max(low - more)), high.max(most.min(high + more))]
    }
}

impl ForestRow {
    /// Draws the marks with the upper edge at `y`.
    fn draw(&self, canvas: &mut Canvas, area: &Area, y: f64) {
        let middle = y + BAND / 2.0;
        let right = area.left + area.width;
        if self.low.is_some() || self.high.is_some() {
            // The margins of 1.5 keep the range visible if both limits are equal.
            let from = self.low.map_or(area.left, |low| area.place(low) - 1.5);
            let to = self.high.map_or(right, |high| area.place(high) + 1.5);
            canvas.explained(&self.claimed, |canvas| canvas.rect("hm-zone", from, y, to - from, BAND));
        }
        for (value, _) in &area.scale.ticks {
            let at = area.place(*value);
            canvas.line(if *value == 0.0 { "hm-ref" } else { "hm-grid" }, (at, y), (at, y + BAND));
        }
        if let Some(ends) = self.range.filter(|ends| ends.iter().all(|end| end.is_finite())) {
            let cut = ends.map(|end| area.is_cut(end));
            let ends = ends.map(|end| area.place(end));
            canvas.explained(&self.range_tip, |canvas| range(canvas, ends, cut, middle));
        }
        for (at, value) in [&self.base, &self.best].into_iter().enumerate() {
            let Some(value) = value.as_ref().filter(|value| value.value.is_finite()) else { continue };
            let y = middle + if at == 0 { -APART } else { APART };
            canvas.explained(&value.tip, |canvas| mark(canvas, area, at, value, y));
        }
    }
}

/// Draws a mark with its interval and its number. The upper marks are number 0, the lower ones number 1.
fn mark(canvas: &mut Canvas, area: &Area, at: usize, value: &ForestValue, y: f64) {
    let ends = value.interval.filter(|ends| ends.iter().all(|end| end.is_finite()));
    let ends = ends.map(|ends| ends.map(|end| area.place(end)));
    // The mark covers a narrower interval.
    if let Some([from, to]) = ends.filter(|[from, to]| to - from > MARK) {
        let [from, to, middle, above, below] = [from, to, y, y - 4.0, y + 4.0].map(number);
        let d = format!("M{from} {middle}H{to}M{from} {above}V{below}M{to} {above}V{below}");
        canvas.path(&format!("hm-whisker hm-s{at}"), &d);
    }
    let class = if value.holds { format!("hm-f{at}") } else { format!("hm-hollow hm-s{at}") };
    canvas.path(&class, &mark_path(at, area.place(value.value), y));
    canvas.text("hm-text", NARROW, y + 4.0, Anchor::End, &fitted(&value.text, NUMBERS, Size::Normal));
}

/// Draws a thin line between two positions. An end that is cut has an arrow, and each other end has a bar.
fn range(canvas: &mut Canvas, [from, to]: [f64; 2], cut: [bool; 2], y: f64) {
    let end = |at: f64, cut: bool, back: f64| {
        let [x, y, above, below, behind] = [at, y, y - 3.0, y + 3.0, at + back].map(number);
        if cut { format!("M{behind} {above}L{x} {y}L{behind} {below}") } else { format!("M{x} {above}V{below}") }
    };
    let [left, right, middle] = [from, to, y].map(number);
    let d = format!("M{left} {middle}H{right}{}{}", end(from, cut[0], 4.0), end(to, cut[1], -4.0));
    canvas.path("hm-axis", &d);
}
