//! Draws the figures of a paper from the numbers of its reproduction.

use hindmost_claims::{Cell, DataTable, Figure, Plot, PlotShape, Reproduction};

use super::drawn::{drawn_rows, is_drawn, text_of};
use super::forest::{FOREST_FILE, forest, forest_caption};
use super::points::{points_on, stated, stated_sentence};
use super::wording::figure_slugs;
use crate::figures::{Axis, Drawing, Kind, LineChart, Point, Series, Unit};

/// A picture of a reproduction. The Markdown shows it from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct PlotFile {
    /// Name of the file without its folder, such as `figure-2-1.svg`.
    pub file: String,
    /// The picture to store in the file.
    pub drawing: Drawing,
    /// Sentences that say what the picture shows and how to read it.
    pub caption: String,
}

/// Draws all pictures of a reproduction: the claims of the abstract, then the pictures of each figure. The Markdown
/// expects them in a folder that has the paper's name.
pub fn pictures(reproduction: &Reproduction) -> Vec<PlotFile> {
    let first = forest(reproduction).map(|drawing| PlotFile {
        file: FOREST_FILE.to_owned(),
        drawing,
        caption: forest_caption(reproduction),
    });
    first.into_iter().chain(figure_plots(reproduction).into_iter().flatten()).collect()
}

/// Draws the pictures of each figure, in the same order.
pub(super) fn figure_plots(reproduction: &Reproduction) -> Vec<Vec<PlotFile>> {
    let of_figure = |(figure, slug): (&Figure, String)| {
        let tables = figure.tables.iter();
        let drawn = tables.filter_map(|table| Some((drawn(table)?, caption(table)?)));
        drawn
            .enumerate()
            .map(|(at, (drawing, caption))| PlotFile { file: format!("{slug}-{}.svg", at + 1), drawing, caption })
            .collect()
    };
    reproduction.figures.iter().zip(figure_slugs(reproduction)).map(of_figure).collect()
}

/// Draws the plot of a table with the points that the paper's text states; `None` if the table has no plot or no points.
pub(crate) fn drawn(table: &DataTable) -> Option<Drawing> {
    let plot = table.plot.as_ref()?;
    let (series, levels) = match plot.shape {
        PlotShape::Columns => (columns(table, plot), levels(table, plot)),
        PlotShape::CumulativeRows => (rows(table, plot), Vec::new()),
    };
    if series.iter().all(|series| series.points.is_empty()) {
        return None;
    }
    let cumulative = plot.shape == PlotShape::CumulativeRows;
    let plain = |label: &str| Axis::new(label, Unit::Number(String::new()));
    let chart = LineChart {
        title: plot.title.clone(),
        about: table.caption.clone(),
        x: Axis { from_zero: cumulative, ..plain(&plot.x) },
        y: if cumulative { Axis::new(&plot.y, Unit::Share) } else { Axis { from_zero: false, ..plain(&plot.y) } },
        kind: if cumulative { Kind::Plain } else { Kind::Marked },
        stated: stated(&points_on(table), &series),
        series,
        x_limits: None,
        y_limits: cumulative.then_some([0.0, 1.0]),
        x_ticks: Vec::new(),
        levels,
    };
    Some(chart.draw())
}

/// Returns sentences that say what a table's plot shows and how to read it; `None` if the table has no plot.
pub(crate) fn caption(table: &DataTable) -> Option<String> {
    let plot = table.plot.as_ref()?;
    let mut text = match plot.shape {
        PlotShape::Columns => format!("{}.", table.caption),
        PlotShape::CumulativeRows => {
            format!("{}. A curve that is further up and to the left is better.", table.caption)
        }
    };
    let left_out = match plot.shape {
        PlotShape::Columns => 0,
        PlotShape::CumulativeRows if plot.curves.is_empty() => 0,
        PlotShape::CumulativeRows => table.rows.len().saturating_sub(plot.curves.len()),
    };
    if let Some(rows) = plot.rows.filter(|rows| *rows < table.rows.len()) {
        text += &format!(" Only the first {rows} rows of the table are drawn.");
    }
    if left_out > 0 {
        let more = if left_out == 1 { "one curve that is not drawn" } else { "curves that are not drawn" };
        text += &format!(" The table also has the numbers of {more}.");
    }
    if table.columns.iter().any(|column| is_interval(column)) {
        text += " Vertical lines are 95% intervals over seeds.";
    }
    if let Some(level) =
        table.rows.iter().find_map(|row| text_of(row.first()?)).filter(|_| plot.shape == PlotShape::Columns)
    {
        text += &format!(" The dashed horizontal lines show the values with {level}.");
    }
    if let Some(sentence) = stated_sentence(&points_on(table)) {
        text += &format!(" {sentence}");
    }
    Some(text)
}

/// Returns the number of a cell; `None` if the cell has text or no number.
fn number(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Number(number) => *number,
        Cell::Text(_) => None,
    }
}

/// Returns whether a column has half of the intervals of the column before it.
fn is_interval(column: &str) -> bool {
    column.starts_with('±')
}

/// Returns the indexes and headings of the columns that are drawn as curves.
fn drawn_columns<'a>(table: &'a DataTable, plot: &'a Plot) -> impl Iterator<Item = (usize, &'a String)> {
    table.columns.iter().enumerate().skip(1).filter(|(_, name)| !is_interval(name) && is_drawn(plot, name))
}

/// Returns the curves of a table whose columns are curves.
fn columns(table: &DataTable, plot: &Plot) -> Vec<Series> {
    let of_column = |(at, name): (usize, &String)| {
        let half = table.columns.get(at + 1).filter(|next| is_interval(next)).map(|_| at + 1);
        let point = |row: &Vec<Cell>| {
            let (x, y) = (number(row.first()?)?, number(row.get(at)?)?);
            let half = half.and_then(|half| number(row.get(half)?));
            Some(Point { x, y, interval: half.map(|half| [y - half, y + half]) })
        };
        Series { name: name.clone(), points: drawn_rows(table, plot).iter().filter_map(point).collect() }
    };
    drawn_columns(table, plot).map(of_column).collect()
}

/// Returns the heights and names of horizontal lines: they are the rows whose first cell is text.
fn levels(table: &DataTable, plot: &Plot) -> Vec<(f64, String)> {
    let named = drawn_rows(table, plot).iter().filter_map(|row| Some((text_of(row.first()?)?, row)));
    let of_row = |(name, row): (&str, &Vec<Cell>)| -> Vec<(f64, String)> {
        let level = |(at, column): (usize, &String)| Some((number(row.get(at)?)?, format!("{name}, {column}")));
        drawn_columns(table, plot).filter_map(level).collect()
    };
    named.flat_map(of_row).collect()
}

/// Returns the curves of a table whose rows are cumulative shares. Each curve begins at (0, 0).
fn rows(table: &DataTable, plot: &Plot) -> Vec<Series> {
    let places: Vec<Option<f64>> = table.columns.iter().map(|place| place.parse().ok()).collect();
    let of_row = |row: &Vec<Cell>| {
        let name = text_of(row.first()?).filter(|name| is_drawn(plot, name))?;
        let point = |(x, cell): (&Option<f64>, &Cell)| Some(Point { x: (*x)?, y: number(cell)?, interval: None });
        let begin = Point { x: 0.0, y: 0.0, interval: None };
        let points = std::iter::once(begin).chain(places.iter().zip(row).filter_map(point)).collect();
        Some(Series { name: name.to_owned(), points })
    };
    drawn_rows(table, plot).iter().filter_map(of_row).collect()
}
