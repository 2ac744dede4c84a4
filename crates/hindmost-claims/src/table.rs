//! The numbers of a figure and how they are drawn.

use serde::Serialize;

use crate::CurvePoint;

/// The numbers of a figure. Each row has as many cells as `columns`; a cell without a number is `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DataTable {
    /// Caption of the table: what the numbers mean.
    pub caption: String,
    /// Headings of the columns, from left to right.
    pub columns: Vec<String>,
    /// Rows from top to bottom, each with one cell for each column.
    pub rows: Vec<Vec<Cell>>,
    /// How the numbers are drawn; `None` if the table is not drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plot: Option<Plot>,
}

/// How the numbers of a [`DataTable`] are drawn as curves.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plot {
    /// Title of the figure.
    pub title: String,
    /// Label of the horizontal axis, with its unit.
    pub x: String,
    /// Label of the vertical axis, with its unit; for cumulative shares, the name of the quantity without a unit.
    pub y: String,
    /// Which cells of the table form a curve.
    pub shape: PlotShape,
    /// The curves to draw, named by the heading of their column or the first cell of their row; empty: all curves.
    pub curves: Vec<String>,
    /// Number of rows to draw, counted from the first row; `None`: all rows.
    pub rows: Option<usize>,
    /// Points of the curves that the paper's text states; [`CurvePoint::curve`] is the name of the curve here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stated: Vec<CurvePoint>,
}

/// Which cells of a table form a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PlotShape {
    /// The first column has the positions on the horizontal axis, and each other column is a curve. A column whose
    /// heading begins with `±` is no curve: it has half of the 95% intervals of the column before it. A row whose first
    /// cell is a text is drawn as a horizontal line.
    Columns,
    /// The headings have the positions on the horizontal axis. Each row is a curve of cumulative shares, named by its
    /// first cell.
    CumulativeRows,
}

impl DataTable {
    /// Creates a table that is not drawn.
    pub fn new(caption: impl Into<String>, columns: Vec<String>, rows: Vec<Vec<Cell>>) -> DataTable {
        DataTable { caption: caption.into(), columns, rows, plot: None }
    }
}

/// A cell of a [`DataTable`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Cell {
    /// A finite number; `None` if the cell has no number.
    Number(Option<f64>),
    /// Text, such as the name of a policy.
    Text(String),
}

impl From<f64> for Cell {
    fn from(number: f64) -> Cell {
        Cell::Number(number.is_finite().then_some(number))
    }
}

impl From<Option<f64>> for Cell {
    fn from(number: Option<f64>) -> Cell {
        Cell::Number(number.filter(|number| number.is_finite()))
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}
