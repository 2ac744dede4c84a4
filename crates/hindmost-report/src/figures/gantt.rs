//! Charts of attempts over time: rows of bars whose shape, hatching and colour show how each attempt ended.

mod bars;
mod pick;
mod tasks;

use super::legend::{LINE, heading, legend};
use super::measure::{Size, fitted, lines, width};
use super::scale::{Axis, Scale, Unit};
use super::svg::{Anchor, Canvas, Drawing};
use super::{NARROW, WIDE};
pub use crate::lanes::Fate;
pub use bars::Attempt;
#[cfg(test)]
pub(super) use bars::shape;
pub use pick::by_node;
pub use tasks::{by_task, tasks_to_show};

/// Height of a lane.
const LANE: f64 = 15.0;
/// Gap between two lanes.
const BETWEEN_LANES: f64 = 2.0;
/// Gap between two rows.
const BETWEEN_ROWS: f64 = 5.0;
/// Largest share of the picture's width that the names of rows take.
const NAMES: f64 = 0.24;
/// Gap between names and bars.
const GAP: f64 = 8.0;
/// Largest number of lines of a note.
const NOTE_LINES: usize = 3;

/// A row of a chart: a node or a task, with as many lanes as attempts ran at the same time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Name of the node or task.
    pub name: String,
    /// The attempts by lane, each lane from left to right.
    pub lanes: Vec<Vec<Attempt>>,
    /// Spans during which the node was lost, in seconds.
    pub away: Vec<[f64; 2]>,
    /// Span from the time at which the task could start to the start of its first attempt, in seconds; `None` if the
    /// task did not wait, or if the row is a node.
    pub waited: Option<[f64; 2]>,
}

/// Rows above one time axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// Heading above the rows; empty for no heading.
    pub heading: String,
    /// Rows from top to bottom.
    pub rows: Vec<Row>,
    /// Notes below the rows, such as how many tasks are not drawn.
    pub notes: Vec<String>,
    /// End of the last attempt, in seconds.
    pub end: f64,
    /// Begin and end of each pause of the run, in seconds.
    pub pauses: Vec<[f64; 2]>,
}

/// A chart of one or more panels. All panels have the same scale of time.
#[derive(Clone, Debug, PartialEq)]
pub struct GanttChart {
    /// Heading of the chart.
    pub title: String,
    /// Description of the chart for readers who cannot see it.
    pub about: String,
    /// Label of the time axis without its unit, such as `time since the job arrived`.
    pub time: String,
    /// Panels from top to bottom.
    pub panels: Vec<Panel>,
    /// End of the time axis, in seconds; `None`: the end of the longest panel.
    pub until: Option<f64>,
    /// True for the width of a page, false for the width of a phone.
    pub wide: bool,
}

/// A kind of shape that the legend explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    /// The bar of an attempt: how it ended, and whether it is a copy.
    Bar(Fate, bool),
    /// The span during which a node was lost.
    Away,
    /// The line of a task that waits for its first start.
    Waited,
    /// The span during which the run was paused.
    Paused,
}

impl GanttChart {
    /// Returns the width of the picture.
    fn width(&self) -> f64 {
        if self.wide { WIDE } else { NARROW }
    }

    /// Draws the chart.
    pub fn draw(&self) -> Drawing {
        let picture = self.width();
        let mut canvas = Canvas::default();
        let mut y = heading(&mut canvas, &self.title, picture);
        let entries = self.entries();
        let names: Vec<&str> = entries.iter().map(|entry| entry_name(*entry)).collect();
        y = legend(&mut canvas, &names, y, picture, |canvas, at, x, y| entry_sample(canvas, entries[at], x, y));
        let names = self.panels.iter().flat_map(|panel| &panel.rows).map(|row| row.name.as_str());
        let names =
            names.map(|name| width(&fitted(name, picture * NAMES, Size::Normal), Size::Normal)).fold(0.0, f64::max);
        let left = names + GAP;
        let until = self.until.filter(|until| until.is_finite() && *until > 0.0);
        let end = until.unwrap_or_else(|| self.panels.iter().map(|panel| panel.end).fold(0.0, f64::max));
        let end = if end > 0.0 { end } else { 1.0 };
        // Half of the last label is to the right of the axis.
        let area = picture - left - 2.0 * GAP;
        let scale = Scale::time(&Axis::new(&self.time, Unit::Seconds), end, area);
        for panel in &self.panels {
            y = panel.draw(&mut canvas, &scale, [names, left, area, picture], y);
        }
        Drawing::new(&self.title, &self.about, picture, canvas, y + 2.0)
    }

    /// Returns the kinds of shapes that occur in the chart.
    fn entries(&self) -> Vec<Entry> {
        let rows = || self.panels.iter().flat_map(|panel| &panel.rows);
        let attempts = || rows().flat_map(|row| row.lanes.iter().flatten());
        let mut all: Vec<Entry> = Vec::new();
        for fate in Fate::ALL {
            for copy in [false, true] {
                let separate = matches!(fate, Fate::Won | Fate::Lost) || !copy;
                let seen = |attempt: &Attempt| attempt.fate == fate && (attempt.copy == copy || fate.is_broken());
                if separate && attempts().any(seen) {
                    all.push(Entry::Bar(fate, copy));
                }
            }
        }
        if rows().any(|row| !row.away.is_empty()) {
            all.push(Entry::Away);
        }
        if rows().any(|row| row.waited.is_some()) {
            all.push(Entry::Waited);
        }
        if self.panels.iter().any(|panel| !panel.pauses.is_empty()) {
            all.push(Entry::Paused);
        }
        all
    }
}

/// Returns the words of an entry. Tooltips have the same words.
fn entry_name(entry: Entry) -> &'static str {
    match entry {
        // A copy that failed has the symbols of both a copy and a failure, so it has no entry of its own.
        Entry::Bar(fate, copy) => fate.words(copy && !fate.is_broken()),
        Entry::Away => "node lost",
        Entry::Waited => "waiting for its first start",
        Entry::Paused => "run paused",
    }
}

/// Draws the sample of an entry. `x` is the left end of the sample's space, `y` its vertical middle.
fn entry_sample(canvas: &mut Canvas, entry: Entry, x: f64, y: f64) {
    let (top, height) = (y - 5.0, 11.0);
    match entry {
        Entry::Bar(fate, copy) => bars::shape(canvas, fate, copy, [x + 4.0, top, 20.0, height]),
        Entry::Away => canvas.rect("hm-down", x + 2.0, top, 22.0, height),
        Entry::Waited => canvas.line("hm-wait", (x + 2.0, y), (x + 24.0, y)),
        Entry::Paused => canvas.rect("hm-zone", x + 2.0, top, 22.0, height),
    }
}

impl Panel {
    /// Draws the panel at `y` and returns the position below it. `sizes` are the width of the names, the left edge of
    /// the chart area, the width of this area, and the width of the picture.
    fn draw(&self, canvas: &mut Canvas, scale: &Scale, sizes: [f64; 4], mut y: f64) -> f64 {
        let [names, left, area, picture] = sizes;
        if !self.heading.is_empty() {
            for line in lines(&self.heading, picture, Size::Normal, 2) {
                canvas.text("hm-text", 0.0, y + LINE - 4.0, Anchor::Start, &line);
                y += LINE;
            }
        }
        let top = y + 2.0;
        let height = |row: &Row| row.lanes.len().max(1) as f64 * (LANE + BETWEEN_LANES) + BETWEEN_ROWS;
        let bottom = top + self.rows.iter().map(height).sum::<f64>() + 2.0;
        let place = |seconds: f64| left + scale.place(seconds).clamp(0.0, 1.0) * area;
        for [from, to] in &self.pauses {
            canvas.explained("run paused", |canvas| {
                canvas.rect("hm-zone", place(*from), top, place(*to) - place(*from), bottom - top);
            });
        }
        for (at, middle, label) in scale.labels(left, area, [0.0, picture]) {
            canvas.line("hm-grid", (at, top), (at, bottom));
            canvas.text("hm-text", middle, bottom + LINE - 2.0, Anchor::Middle, label);
        }
        canvas.line("hm-axis", (left, bottom), (left + area, bottom));
        let label = fitted(&scale.label, area, Size::Normal);
        canvas.text("hm-soft", left + area / 2.0, bottom + 2.0 * LINE - 3.0, Anchor::Middle, &label);
        y = top;
        for row in &self.rows {
            let name = fitted(&row.name, names.max(10.0), Size::Normal);
            let inside = height(row) - BETWEEN_ROWS;
            // The name is at the height of the first lane.
            canvas.text("hm-text", left - GAP, y + 2.0 + LANE / 2.0 + 4.0, Anchor::End, &name);
            for [from, to] in &row.away {
                canvas.explained(&format!("{}: node lost", row.name), |canvas| {
                    canvas.rect("hm-down", place(*from), y + 1.0, place(*to) - place(*from), inside);
                });
            }
            if let Some([from, to]) = row.waited {
                let middle = y + 2.0 + LANE / 2.0;
                canvas.line("hm-wait", (place(from), middle), (place(to), middle));
            }
            for (at, lane) in row.lanes.iter().enumerate() {
                let above = y + 2.0 + at as f64 * (LANE + BETWEEN_LANES);
                bars::lane(canvas, lane, above, LANE, &place);
            }
            y += height(row);
        }
        y = bottom + 2.0 * LINE + 4.0;
        for note in &self.notes {
            for line in lines(note, picture, Size::Small, NOTE_LINES) {
                canvas.text("hm-small hm-soft", 0.0, y + 8.0, Anchor::Start, &line);
                y += 13.0;
            }
        }
        y + 4.0
    }
}
