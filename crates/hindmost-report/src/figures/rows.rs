//! Charts of rows: dots with intervals, and bars. Each row has a name at its left and a number at its right.

use super::legend::{LINE, heading, legend};
use super::lines::{mark, span};
use super::measure::{Size, fitted, width};
use super::scale::{Axis, Scale};
use super::svg::{Anchor, Canvas, Drawing, number};
use super::{NARROW, POINT};

/// Height of a row.
const ROW: f64 = 22.0;
/// Height of a row of two bars.
const TWO_BARS: f64 = 30.0;
/// Gap between names, chart area and numbers.
const GAP: f64 = 10.0;
/// Largest width of the names of rows.
const NAMES: f64 = 150.0;

/// A row of a chart of dots: a value with its interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Dot {
    /// Name of the row.
    pub name: String,
    /// The value; `None`: the row has no dot.
    pub value: Option<f64>,
    /// The confidence interval of the value, if there is one.
    pub interval: Option<[f64; 2]>,
    /// Text at the right end of the row: the value, or a dash.
    pub text: String,
}

/// A chart of dots with their intervals, one row for each value.
#[derive(Clone, Debug, PartialEq)]
pub struct DotChart {
    /// Heading of the chart.
    pub title: String,
    /// Description of the chart for readers who cannot see it.
    pub about: String,
    /// Label and unit of the values.
    pub axis: Axis,
    /// Groups of rows, each with its heading, which may be empty.
    pub groups: Vec<(String, Vec<Dot>)>,
    /// A value that is marked by a dashed vertical line, with the line's tooltip.
    pub reference: Option<(f64, String)>,
}

/// A row of a bar chart: one bar for a value, and a second bar for a part of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Name of the row.
    pub name: String,
    /// Value of the first bar.
    pub whole: f64,
    /// Value of the second bar; `None`: the row has only the first bar.
    pub part: Option<f64>,
    /// Text at the right end of the row: both values.
    pub text: String,
}

/// A chart of horizontal bars.
#[derive(Clone, Debug, PartialEq)]
pub struct BarChart {
    /// Heading of the chart.
    pub title: String,
    /// Description of the chart for readers who cannot see it.
    pub about: String,
    /// Label and unit of the values.
    pub axis: Axis,
    /// Rows from top to bottom.
    pub bars: Vec<Bar>,
    /// What the first and the second bar of a row show; `None`: no legend.
    pub legend: Option<[String; 2]>,
}

/// The horizontal layout of a chart of rows.
struct Columns {
    /// Width of the names.
    names: f64,
    /// Left edge of the chart area.
    left: f64,
    /// Width of the chart area.
    width: f64,
}

impl Columns {
    fn of<'a>(rows: impl Iterator<Item = (&'a str, &'a str)>) -> Columns {
        let (mut names, mut numbers) = (0.0f64, 0.0f64);
        for (name, text) in rows {
            // The width includes escape sequences, which `fitted` adds.
            names = names.max(width(&fitted(name, NAMES, Size::Normal), Size::Normal));
            numbers = numbers.max(width(text, Size::Normal));
        }
        let left = names + GAP;
        Columns { names, left, width: (NARROW - left - numbers - 2.0 * GAP).max(60.0) }
    }
}

/// Draws the axis of the chart area, with a line from each tick up to `top`. Returns the position below it.
fn axis(canvas: &mut Canvas, scale: &Scale, columns: &Columns, top: f64, bottom: f64) -> f64 {
    for (at, middle, label) in scale.labels(columns.left, columns.width, [0.0, NARROW]) {
        canvas.line("hm-grid", (at, top), (at, bottom));
        canvas.text("hm-text", middle, bottom + LINE - 2.0, Anchor::Middle, label);
    }
    canvas.line("hm-axis", (columns.left, bottom), (columns.left + columns.width, bottom));
    // A label that is wider than the area may also need the space below names and numbers.
    let label = fitted(&scale.label, NARROW, Size::Normal);
    let half = width(&label, Size::Normal) / 2.0;
    let middle = (columns.left + columns.width / 2.0).clamp(half, (NARROW - half).max(half));
    canvas.text("hm-soft", middle, bottom + 2.0 * LINE - 2.0, Anchor::Middle, &label);
    bottom + 2.0 * LINE + 6.0
}

impl DotChart {
    /// Draws the chart.
    pub fn draw(&self) -> Drawing {
        let mut canvas = Canvas::default();
        let top = heading(&mut canvas, &self.title, NARROW) + 4.0;
        let rows = || self.groups.iter().flat_map(|(_, dots)| dots);
        let columns = Columns::of(rows().map(|dot| (dot.name.as_str(), dot.text.as_str())));
        let ends = rows().flat_map(|dot| dot.interval.into_iter().flatten().chain(dot.value));
        let [low, high] =
            span(ends.chain(self.reference.iter().map(|(value, _)| *value)).filter(|end| end.is_finite()));
        let scale = Scale::horizontal(&self.axis, low, high, columns.width);
        let headings = self.groups.iter().filter(|(heading, _)| !heading.is_empty()).count();
        let bottom = top + (rows().count() + headings) as f64 * ROW + 4.0;
        let end = axis(&mut canvas, &scale, &columns, top, bottom);
        if let Some((value, meaning)) = &self.reference {
            let at = columns.left + scale.place(*value) * columns.width;
            canvas.explained(meaning, |canvas| canvas.line("hm-ref", (at, top), (at, bottom)));
        }
        let mut y = top;
        for (heading, dots) in &self.groups {
            if !heading.is_empty() {
                let shown = fitted(heading, NARROW, Size::Normal);
                // A background hides the lines of the grid behind the heading.
                canvas.rect("hm-bg", 0.0, y + 2.0, width(&shown, Size::Normal) + 4.0, ROW - 4.0);
                canvas.text("hm-soft", 0.0, y + ROW / 2.0 + 4.0, Anchor::Start, &shown);
                y += ROW;
            }
            for (at, dot) in dots.iter().enumerate() {
                canvas.explained(&format!("{}: {}", dot.name, dot.text), |canvas| {
                    dot_row(canvas, dot, at, y, &columns, &scale);
                });
                y += ROW;
            }
        }
        Drawing::new(&self.title, &self.about, NARROW, canvas, end)
    }
}

/// Draws row number `at` of its group at `y`.
fn dot_row(canvas: &mut Canvas, dot: &Dot, at: usize, y: f64, columns: &Columns, scale: &Scale) {
    let middle = y + ROW / 2.0;
    let name = fitted(&dot.name, columns.names.max(POINT), Size::Normal);
    canvas.text("hm-text", 0.0, middle + 4.0, Anchor::Start, &name);
    canvas.text("hm-text", NARROW, middle + 4.0, Anchor::End, &dot.text);
    let place = |value: f64| columns.left + scale.place(value) * columns.width;
    if let Some([low, high]) = dot.interval {
        let [from, to, middle, above, below] =
            [place(low), place(high), middle, middle - 4.0, middle + 4.0].map(number);
        let d = format!("M{from} {middle}H{to}M{from} {above}V{below}M{to} {above}V{below}");
        canvas.path("hm-whisker", &d);
    }
    if let Some(value) = dot.value.filter(|value| value.is_finite()) {
        mark(canvas, at, place(value), middle);
    }
}

impl BarChart {
    /// Draws the chart.
    pub fn draw(&self) -> Drawing {
        let mut canvas = Canvas::default();
        let mut top = heading(&mut canvas, &self.title, NARROW);
        if let Some(names) = &self.legend {
            top = legend(&mut canvas, names, top, NARROW, |canvas, at, x, y| {
                canvas.rect(["hm-started", "hm-won"][at], x, y - 4.0, 24.0, [9.0, 6.0][at]);
            });
        }
        top += 4.0;
        let columns = Columns::of(self.bars.iter().map(|bar| (bar.name.as_str(), bar.text.as_str())));
        let highest = self.bars.iter().map(|bar| bar.whole).fold(0.0, f64::max);
        let scale = Scale::horizontal(&self.axis, 0.0, highest, columns.width);
        let two = self.bars.iter().any(|bar| bar.part.is_some());
        let row = if two { TWO_BARS } else { ROW };
        let bottom = top + self.bars.len() as f64 * row + 4.0;
        let end = axis(&mut canvas, &scale, &columns, top, bottom);
        for (at, bar) in self.bars.iter().enumerate() {
            let y = top + at as f64 * row;
            canvas.explained(&format!("{}: {}", bar.name, bar.text), |canvas| {
                let name = fitted(&bar.name, columns.names.max(POINT), Size::Normal);
                canvas.text("hm-text", 0.0, y + row / 2.0 + 4.0, Anchor::Start, &name);
                canvas.text("hm-text", NARROW, y + row / 2.0 + 4.0, Anchor::End, &bar.text);
                let length = |value: f64| scale.place(value).max(0.0) * columns.width;
                match bar.part {
                    Some(part) => {
                        canvas.rect("hm-started", columns.left, y + 5.0, length(bar.whole), 11.0);
                        canvas.rect("hm-won", columns.left, y + 17.0, length(part), 8.0);
                    }
                    None => canvas.rect("hm-won", columns.left, y + 5.0, length(bar.whole), row - 10.0),
                }
            });
        }
        Drawing::new(&self.title, &self.about, NARROW, canvas, end)
    }
}
