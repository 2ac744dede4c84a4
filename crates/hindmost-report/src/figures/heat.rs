//! A table of ratios whose cells are coloured: blue below 1, orange above.

use super::WIDE;
use super::measure::{Size, fitted, lines, width};
use super::svg::{Anchor, Canvas, Drawing};

/// Height of a row.
const ROW: f64 = 19.0;
/// Height of the heading of a group.
const HEADING: f64 = 26.0;
/// Height of a line of a column's heading.
const LINE: f64 = 12.0;
/// Largest number of lines of a column's heading.
const LINES: usize = 3;
/// Largest width of the names of rows.
const NAMES: f64 = 172.0;
/// Width of the last column.
const LAST: f64 = 64.0;
/// Gap between cells.
const GAP: f64 = 2.0;
/// Ratios from which on a cell has the next darker colour; their inverses below 1.
const STEPS: [f64; 4] = [1.02, 1.25, 1.75, 2.5];

/// A cell of a [`HeatChart`].
#[derive(Clone, Debug, PartialEq)]
pub struct HeatCell {
    /// The ratio, above 0; `None`: the cell shows a dash.
    pub ratio: Option<f64>,
    /// True if the cell has a frame.
    pub framed: bool,
    /// Tooltip of the cell.
    pub tip: String,
}

/// A row of a [`HeatChart`].
#[derive(Clone, Debug, PartialEq)]
pub struct HeatRow {
    /// Name of the row.
    pub name: String,
    /// Cells from left to right.
    pub cells: Vec<HeatCell>,
    /// Text in the last column.
    pub text: String,
}

/// Rows of a [`HeatChart`] with a heading.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatGroup {
    /// Heading of the rows.
    pub heading: String,
    /// Rows from top to bottom.
    pub rows: Vec<HeatRow>,
}

/// A table of ratios whose cells are coloured.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatChart {
    /// Heading of the chart.
    pub title: String,
    /// Description of the chart for readers who cannot see it.
    pub about: String,
    /// Headings of the columns of cells.
    pub columns: Vec<String>,
    /// Heading of the last column.
    pub last: String,
    /// The rows.
    pub groups: Vec<HeatGroup>,
}

impl HeatChart {
    /// Draws the chart.
    pub fn draw(&self) -> Drawing {
        let mut canvas = Canvas::default();
        canvas.text("hm-title", 0.0, 16.0, Anchor::Start, &fitted(&self.title, WIDE, Size::Title));
        let rows = self.groups.iter().flat_map(|group| &group.rows);
        let names = rows.map(|row| width(&row.name, Size::Normal)).fold(0.0, f64::max).min(NAMES);
        let left = names + 10.0;
        let cell = (WIDE - left - LAST) / self.columns.len().max(1) as f64;
        let middle = |at: usize| left + cell * (at as f64 + 0.5);
        let headings = self.columns.iter().enumerate().map(|(at, name)| (middle(at), cell - 4.0, name));
        let last = (WIDE - LAST / 2.0, LAST - 4.0, &self.last);
        let headings: Vec<(f64, Vec<String>)> = headings
            .chain([last])
            // Widths of texts are upper limits, and headings of neighbours are seldom both as wide as their columns.
            .map(|(x, most, name)| (x, lines(&name.replace('-', "- "), 1.25 * most, Size::Small, LINES)))
            .collect();
        let most = headings.iter().map(|(_, lines)| lines.len()).max().unwrap_or(0);
        let mut top = 30.0 + LINE * most as f64;
        for (x, lines) in &headings {
            for (at, line) in lines.iter().enumerate() {
                let y = top - LINE * (lines.len() - at) as f64 + 8.0;
                canvas.text("hm-small hm-soft", *x, y, Anchor::Middle, &line.replace("- ", "-"));
            }
        }
        for group in self.groups.iter().filter(|group| !group.rows.is_empty()) {
            canvas.text(
                "hm-soft",
                0.0,
                top + HEADING - 8.0,
                Anchor::Start,
                &fitted(&group.heading, WIDE, Size::Normal),
            );
            top += HEADING;
            for row in &group.rows {
                let y = top + ROW - 6.0;
                canvas.text("", 0.0, y, Anchor::Start, &fitted(&row.name, names, Size::Normal));
                for (at, one) in row.cells.iter().enumerate() {
                    let area = [left + cell * at as f64, top, cell - GAP, ROW - GAP];
                    canvas.explained(&one.tip, |canvas| draw_cell(canvas, one, area));
                }
                canvas.text("", WIDE - LAST / 2.0, y, Anchor::Middle, &row.text);
                top += ROW;
            }
        }
        Drawing::new(&self.title, &self.about, WIDE, canvas, top + 4.0)
    }
}

fn draw_cell(canvas: &mut Canvas, cell: &HeatCell, [x, y, width, height]: [f64; 4]) {
    if let Some(ratio) = cell.ratio.filter(|ratio| *ratio > 0.0) {
        let step = STEPS.iter().filter(|step| ratio.max(1.0 / ratio) >= **step).count();
        let colour = if ratio < 1.0 { "hm-below" } else { "hm-above" };
        if step > 0 {
            canvas.rect(&format!("{colour} hm-o{step}"), x, y, width, height);
        }
    }
    if cell.framed {
        canvas.rect("hm-frame", x + 0.5, y + 0.5, width - 1.0, height - 1.0);
    }
    let text = match cell.ratio {
        None => "–".to_owned(),
        Some(ratio) if ratio >= 9.95 => format!("{ratio:.0}"),
        Some(ratio) => format!("{ratio:.2}"),
    };
    canvas.text("", x + width / 2.0, y + height - 4.0, Anchor::Middle, &text);
}
