//! Draws a chart of attempts for the terminal: one row of text for each lane of each node, time from left to right.

mod axis;
mod columns;
mod legend;
mod paint;
#[cfg(test)]
mod tests;

use hindmost_core::ids::TaskId;
use hindmost_core::timeline::{AttemptEnd, Timeline, TimelineRow};

use crate::lanes::{Fate, by_node, lost_spans};
use crate::text;
use columns::{Kind, Run, Scale, runs};
use legend::Seen;
use paint::{ASCII, Cell, Glyphs, Paint, UNICODE, painted, plain};

/// Options of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct GanttOptions {
    /// Largest width of a line, in columns of text. Values below 16 are treated as 16.
    pub width: u16,
    /// True to use ANSI colours. The characters show the same without colours.
    pub colour: bool,
    /// True to use only ASCII characters.
    pub ascii: bool,
    /// End of the time axis, in seconds; `None`: the end of the run. Two charts can be compared if they have the same
    /// end.
    pub until: Option<f64>,
    /// Largest number of lanes that are drawn. More lanes are only counted.
    pub max_lanes: usize,
}

/// Smallest width of the bars' area, in columns.
const NARROWEST: usize = 8;
/// Largest width of a node's name, in columns. In narrow charts it is a quarter of the chart's width.
const LONGEST_NAME: usize = 24;
/// Smallest number of columns of a bar that its number does not cover, so that the bar's pattern is visible.
const AROUND_NUMBER: usize = 2;

/// Draws the chart of a recorded run. Each node has as many rows as attempts ran there at the same time. A time axis
/// and a legend of the symbols that occur follow.
pub fn gantt(timeline: &Timeline, options: &GanttOptions) -> String {
    let chart = Chart::new(timeline, options);
    let mut seen = Seen::default();
    let mut text = String::new();
    let (mut shown, mut left) = (0, 0);
    for (node, mut lanes) in by_node(timeline).into_iter().enumerate() {
        // A node without attempts has one empty lane.
        if lanes.is_empty() {
            lanes.push(Vec::new());
        }
        for (at, lane) in lanes.iter().enumerate() {
            if shown == options.max_lanes {
                left += 1;
                continue;
            }
            shown += 1;
            let mut cells = chart.margin(node, at == 0);
            cells.extend(chart.lane(node, lane, &mut seen));
            text += &painted(&cells, chart.colour);
        }
    }
    if left > 0 {
        let lanes = if left == 1 { "lane" } else { "lanes" };
        let more = format!("{} and {} more {lanes}", chart.glyphs.ellipsis, text::grouped(left));
        text += &(text::wrapped(&more, chart.width, 2) + "\n");
    }
    let [rule, labels] = axis::axis(chart.scale.seconds, chart.scale.columns, chart.glyphs.axis);
    for (line, paint) in [(rule, Paint::Frame), (labels, Paint::Plain)] {
        let mut cells = plain(&" ".repeat(chart.margin));
        cells.extend(line.chars().map(|glyph| Cell { glyph, paint }));
        text += &painted(&cells, chart.colour);
    }
    text + &seen.legend(chart.glyphs, chart.width, chart.colour)
}

/// Replaces all characters that are not ASCII by `?`.
fn in_ascii(name: &str) -> String {
    name.chars().map(|letter| if letter.is_ascii() { letter } else { '?' }).collect()
}

/// The layout of a chart.
struct Chart<'a> {
    timeline: &'a Timeline,
    glyphs: &'static Glyphs,
    colour: bool,
    width: usize,
    /// The names of the nodes, shortened and escaped.
    names: Vec<String>,
    /// Number of columns to the left of the vertical line between names and bars.
    margin: usize,
    scale: Scale,
    /// The tasks with more than one attempt, sorted. Their bars show the task's number, so that readers find all
    /// attempts of a task.
    repeated: Vec<TaskId>,
}

impl<'a> Chart<'a> {
    fn new(timeline: &'a Timeline, options: &GanttOptions) -> Chart<'a> {
        let glyphs = if options.ascii { &ASCII } else { &UNICODE };
        let width = usize::from(options.width).max(2 * NARROWEST);
        let end = timeline.end.seconds().max(1e-6);
        let seconds = options.until.filter(|until| until.is_finite() && *until > 0.0).unwrap_or(end);
        let mut tasks: Vec<TaskId> = timeline.rows.iter().map(|row| row.attempt.task).collect();
        tasks.sort_unstable();
        let mut repeated: Vec<TaskId> =
            tasks.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
        repeated.dedup();
        let shown =
            timeline.nodes.iter().map(|node| if options.ascii { in_ascii(&node.name) } else { node.name.to_string() });
        let names = text::names(&shown.collect::<Vec<_>>(), (width / 4).min(LONGEST_NAME), glyphs.ellipsis);
        let margin = names.iter().map(|name| text::columns(name)).max().unwrap_or(0) + 1;
        // The vertical line between names and bars takes one column.
        let columns = width.saturating_sub(margin + 1).max(NARROWEST);
        Chart {
            timeline,
            glyphs,
            colour: options.colour,
            width,
            names,
            margin,
            scale: Scale { seconds, columns },
            repeated,
        }
    }

    /// Returns the cells left of a lane: the node's name for its first lane, spaces for the others.
    fn margin(&self, node: usize, first: bool) -> Vec<Cell> {
        let name = if first { self.names[node].as_str() } else { "" };
        let mut cells = plain(&text::padded(name, self.margin));
        cells.push(Cell { glyph: self.glyphs.rails[usize::from(!first)], paint: Paint::Frame });
        cells
    }

    /// Draws the attempts of a lane, the times at which its node was lost, and the pauses of the run.
    fn lane(&self, node: usize, lane: &[&TimelineRow], seen: &mut Seen) -> Vec<Cell> {
        let mut cells = vec![Cell { glyph: ' ', paint: Paint::Plain }; self.scale.columns];
        let runs = runs(lane, self.scale);
        for (at, run) in runs.iter().enumerate() {
            let next = runs.get(at + 1).filter(|next| next.from == run.from + run.length);
            self.bar(&mut cells[run.from..run.from + run.length], run, next, seen);
        }
        for [from, to] in lost_spans(&self.timeline.nodes[node], self.timeline.end.seconds()) {
            for cell in &mut cells[self.scale.covered(from, to)] {
                if cell.glyph == ' ' {
                    *cell = Cell { glyph: self.glyphs.lost, paint: Paint::Lost };
                    seen.lost = true;
                }
            }
        }
        for [from, to] in &self.timeline.pauses {
            for cell in &mut cells[self.scale.covered(from.seconds(), to.seconds())] {
                if cell.glyph == ' ' {
                    *cell = Cell { glyph: self.glyphs.paused, paint: Paint::Frame };
                    seen.paused = true;
                }
            }
        }
        cells
    }

    /// Draws one attempt. `next` is the attempt that begins in the next column, if there is one.
    fn bar(&self, cells: &mut [Cell], run: &Run<'_>, next: Option<&Run<'_>>, seen: &mut Seen) {
        let kind = Kind::of(run.row);
        let [body, end] = self.glyphs.bar(kind);
        cells.fill(Cell { glyph: body, paint: Paint::Kind(kind) });
        let length = cells.len();
        let ended = run.row.end.seconds() <= self.scale.seconds;
        let merges = || length > 1 && next.is_some_and(|next| self.glyphs.bar(Kind::of(next.row))[0] == body);
        cells[length - 1].glyph = match kind.fate {
            _ if !ended => body,
            Fate::Failed | Fate::NodeLost => self.glyphs.failed,
            Fate::Cut => self.glyphs.unfinished,
            Fate::Won => end,
            Fate::Lost => {
                if merges() {
                    end
                } else {
                    body
                }
            }
        };
        seen.attempt(kind, matches!(run.row.outcome, AttemptEnd::Stopped));
        let task = run.row.attempt.task;
        let number = task.index.to_string();
        if number.len() + AROUND_NUMBER <= length && self.repeated.binary_search(&task).is_ok() {
            for (cell, digit) in cells[1..].iter_mut().zip(number.chars()) {
                *cell = Cell { glyph: digit, paint: Paint::Number(kind) };
            }
            seen.number.get_or_insert(number);
        }
    }
}
