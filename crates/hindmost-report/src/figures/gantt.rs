//! Which attempt ran where and when: rows of bars along time, whose shape, hatching and colour tell what became of
//! each.

mod bars;
mod pick;
mod tasks;

use super::legend::{LINE, heading, legend};
use super::measure::{Size, fitted, lines, width};
use super::scale::{Axis, Scale, Unit};
use super::svg::{Anchor, Canvas, Drawing};
use super::{NARROW, WIDE};
#[cfg(test)]
pub(super) use bars::shape;
pub use bars::{Attempt, Fate};
pub use pick::by_node;
pub use tasks::{by_task, tasks_to_show};

/// Height of a lane, and what is left free between two.
const LANE: f64 = 15.0;
const BETWEEN_LANES: f64 = 2.0;
/// Left free between two rows.
const BETWEEN_ROWS: f64 = 5.0;
/// The most that names take of the width.
const NAMES: f64 = 0.24;
const GAP: f64 = 8.0;
/// Lines of a note.
const NOTE_LINES: usize = 3;

/// A row: a node with as many lanes as attempts ran there at once, or a task with its attempts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its attempts, lane by lane, each lane from left to right.
    pub lanes: Vec<Vec<Attempt>>,
    /// Spans in which its node was away, seconds.
    pub away: Vec<[f64; 2]>,
    /// From when until when the task waited for its first start, seconds.
    pub waited: Option<[f64; 2]>,
}

/// Rows with one time axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// What stands over them; nothing if empty.
    pub heading: String,
    /// The rows.
    pub rows: Vec<Row>,
    /// What is told of it below, such as what is not drawn.
    pub notes: Vec<String>,
    /// When the last thing in it ends, seconds.
    pub end: f64,
}

/// Panels below each other with the same time axis.
#[derive(Clone, Debug, PartialEq)]
pub struct GanttChart {
    /// Its heading.
    pub title: String,
    /// What it shows, for those who can't see it.
    pub about: String,
    /// What the time axis counts from, such as `time since the job arrived`.
    pub time: String,
    /// The panels.
    pub panels: Vec<Panel>,
    /// Where the time axis ends, seconds, if not where the last panel does.
    pub until: Option<f64>,
    /// Whether it has the width of a page instead of a phone's.
    pub wide: bool,
}

/// What a legend may hold, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Bar(Fate, bool),
    Away,
    Waited,
}

impl GanttChart {
    /// Width of the picture.
    fn width(&self) -> f64 {
        if self.wide { WIDE } else { NARROW }
    }

    /// The picture.
    pub fn draw(&self) -> Drawing {
        let room = self.width();
        let mut canvas = Canvas::default();
        let mut y = heading(&mut canvas, &self.title, room);
        let entries = self.entries();
        let names: Vec<&str> = entries.iter().map(|entry| entry_name(*entry)).collect();
        y = legend(&mut canvas, &names, y, room, |canvas, at, x, y| entry_sample(canvas, entries[at], x, y));
        let names = self.panels.iter().flat_map(|panel| &panel.rows).map(|row| row.name.as_str());
        let names =
            names.map(|name| width(&fitted(name, room * NAMES, Size::Normal), Size::Normal)).fold(0.0, f64::max);
        let left = names + GAP;
        let until = self.until.filter(|until| until.is_finite() && *until > 0.0);
        let end = until.unwrap_or_else(|| self.panels.iter().map(|panel| panel.end).fold(0.0, f64::max));
        let end = if end > 0.0 { end } else { 1.0 };
        // Half of the last label stands right of the axis.
        let area = room - left - 2.0 * GAP;
        let scale = Scale::time(&Axis::new(&self.time, Unit::Seconds), end, area);
        for panel in &self.panels {
            y = panel.draw(&mut canvas, &scale, [names, left, area, room], y);
        }
        Drawing::new(&self.title, &self.about, room, canvas, y + 2.0)
    }

    fn entries(&self) -> Vec<Entry> {
        let rows = || self.panels.iter().flat_map(|panel| &panel.rows);
        let attempts = || rows().flat_map(|row| row.lanes.iter().flatten());
        let mut all: Vec<Entry> = Vec::new();
        for fate in Fate::ALL {
            for copy in [false, true] {
                // Copies that broke have the sign of a copy, too: it needs no line of its own.
                let told = matches!(fate, Fate::Won | Fate::Lost) || !copy;
                let seen = |attempt: &Attempt| attempt.fate == fate && (attempt.copy == copy || fate.is_broken());
                if told && attempts().any(seen) {
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
        all
    }
}

fn entry_name(entry: Entry) -> &'static str {
    match entry {
        Entry::Bar(Fate::Won, false) => "finished first",
        Entry::Bar(Fate::Won, true) => "copy that finished first",
        Entry::Bar(Fate::Lost, false) => "stopped for another copy",
        Entry::Bar(Fate::Lost, true) => "copy that lost",
        Entry::Bar(Fate::Failed, _) => "failed",
        Entry::Bar(Fate::NodeLost, _) => "lost with its node",
        Entry::Bar(Fate::Cut, _) => "not over when the run ended",
        Entry::Away => "node away",
        Entry::Waited => "waited to be started",
    }
}

fn entry_sample(canvas: &mut Canvas, entry: Entry, x: f64, y: f64) {
    let (top, height) = (y - 5.0, 11.0);
    match entry {
        Entry::Bar(fate, copy) => bars::shape(canvas, fate, copy, [x + 4.0, top, 20.0, height]),
        Entry::Away => canvas.rect("hm-down", x + 2.0, top, 22.0, height),
        Entry::Waited => canvas.line("hm-wait", (x + 2.0, y), (x + 24.0, y)),
    }
}

impl Panel {
    /// Draws it from `y` on, where names, left edge, width of the area and of the picture are given; returns where
    /// the next thing may begin.
    fn draw(&self, canvas: &mut Canvas, scale: &Scale, sizes: [f64; 4], mut y: f64) -> f64 {
        let [names, left, area, room] = sizes;
        if !self.heading.is_empty() {
            for line in lines(&self.heading, room, Size::Normal, 2) {
                canvas.text("hm-text", 0.0, y + LINE - 4.0, Anchor::Start, &line);
                y += LINE;
            }
        }
        let top = y + 2.0;
        let height = |row: &Row| row.lanes.len().max(1) as f64 * (LANE + BETWEEN_LANES) + BETWEEN_ROWS;
        let bottom = top + self.rows.iter().map(height).sum::<f64>() + 2.0;
        let place = |seconds: f64| left + scale.place(seconds).clamp(0.0, 1.0) * area;
        for (at, middle, label) in scale.labels(left, area, [0.0, room]) {
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
            // Beside the first lane: with several that is where one looks for whose they are.
            canvas.text("hm-text", left - GAP, y + 2.0 + LANE / 2.0 + 4.0, Anchor::End, &name);
            for [from, to] in &row.away {
                canvas.explained(&format!("{} was away", row.name), |canvas| {
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
            for line in lines(note, room, Size::Small, NOTE_LINES) {
                canvas.text("hm-small hm-soft", 0.0, y + 8.0, Anchor::Start, &line);
                y += 13.0;
            }
        }
        y + 4.0
    }
}
