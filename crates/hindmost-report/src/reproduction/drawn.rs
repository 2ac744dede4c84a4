//! What of a table is drawn.

use hindmost_claims::{Cell, DataTable, Plot};

/// Returns the text of a cell; `None` if the cell has a number.
pub(super) fn text_of(cell: &Cell) -> Option<&str> {
    match cell {
        Cell::Text(text) => Some(text),
        Cell::Number(_) => None,
    }
}

/// Returns whether the curve with this name is drawn.
pub(super) fn is_drawn(plot: &Plot, name: &str) -> bool {
    plot.curves.is_empty() || plot.curves.iter().any(|curve| curve == name)
}

/// Returns the rows of a table that are drawn.
pub(super) fn drawn_rows<'a>(table: &'a DataTable, plot: &Plot) -> &'a [Vec<Cell>] {
    &table.rows[..plot.rows.unwrap_or(usize::MAX).min(table.rows.len())]
}
