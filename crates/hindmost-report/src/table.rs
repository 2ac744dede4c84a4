//! Draws tables for the terminal. If a table is too wide, its least important columns are removed; if it is still too
//! wide, its names are shortened.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use crate::text::columns;

/// Columns separated by space, with one line under the headings.
pub(crate) const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A column of a table whose rows show values of type `T`.
pub(crate) struct Column<T> {
    pub(crate) heading: &'static str,
    /// Smallest terminal width, in columns of text, at which the column is shown; 0: the column is always shown. If a
    /// table is too wide, the column with the largest `from_width` is removed first.
    pub(crate) from_width: u16,
    /// Formats the cell for a row.
    pub(crate) cell: fn(&T) -> String,
}

// Derived implementations would need that of `T`.
impl<T> Clone for Column<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Column<T> {}

/// Draws a table in at most `width` columns of text, if possible. `draw` receives the columns to show and the largest
/// width of names. This width is `name_width` as long as columns can be removed, and shrinks after that.
pub(crate) fn narrowed<'c, T: 'c>(
    columns: impl IntoIterator<Item = &'c Column<T>>,
    width: u16,
    name_width: usize,
    draw: impl Fn(&[&Column<T>], usize) -> String,
) -> String {
    narrowed_with_columns(columns, width, name_width, draw).0
}

/// Draws a table as [`narrowed`] does, and also returns the columns that it shows.
pub(crate) fn narrowed_with_columns<'c, T: 'c>(
    columns: impl IntoIterator<Item = &'c Column<T>>,
    width: u16,
    mut name_width: usize,
    draw: impl Fn(&[&Column<T>], usize) -> String,
) -> (String, Vec<&'c Column<T>>) {
    let mut columns: Vec<&Column<T>> = columns.into_iter().filter(|column| column.from_width <= width).collect();
    loop {
        let drawn = draw(&columns, name_width);
        let over = widest(&drawn).saturating_sub(usize::from(width));
        if over == 0 {
            return (drawn, columns);
        }
        let least = columns.iter().enumerate().filter(|(_, column)| column.from_width > 0);
        match least.max_by_key(|(_, column)| column.from_width).map(|(at, _)| at) {
            Some(at) => drop(columns.remove(at)),
            None if name_width > 1 => name_width = name_width.saturating_sub(over).max(1),
            None => return (drawn, columns),
        }
    }
}

/// Draws a table whose first column has the names of the rows, under the heading `what`.
pub(crate) fn named<'a, T: 'a>(
    what: &str,
    rows: impl Iterator<Item = (String, &'a T)>,
    columns: &[&Column<T>],
) -> String {
    let header = std::iter::once(what).chain(columns.iter().map(|column| column.heading));
    let cells = rows.map(|(name, row)| std::iter::once(name).chain(columns.iter().map(|column| (column.cell)(row))));
    draw(header.map(str::to_owned).collect(), cells.map(Iterator::collect).collect())
}

/// Returns the width of a text's widest line, in columns.
pub(crate) fn widest(text: &str) -> usize {
    text.lines().map(columns).max().unwrap_or(0)
}

/// Draws a table whose first column holds names and whose other columns hold numbers.
pub(crate) fn draw(header: Vec<String>, rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Disabled).set_header(header);
    table.add_rows(rows);
    finished(&mut table, 0)
}

/// Returns a table as text. Names are aligned to the left, and numbers to the right with `padding` spaces after them.
/// Lines do not end with spaces.
pub(crate) fn finished(table: &mut Table, padding: u16) -> String {
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_cell_alignment(if at == 0 { CellAlignment::Left } else { CellAlignment::Right });
        column.set_padding((u16::from(at != 0), padding));
    }
    let drawn = table.to_string();
    let lines: Vec<&str> = drawn.lines().map(str::trim_end).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_removed_before_names_are_shortened() {
        let columns: [Column<u64>; 3] = [
            Column { heading: "always", from_width: 0, cell: u64::to_string },
            Column { heading: "sometimes", from_width: 20, cell: u64::to_string },
            Column { heading: "seldom", from_width: 30, cell: u64::to_string },
        ];
        let shown = |width: u16| {
            narrowed(&columns, width, 12, |columns, name_width| {
                named("what", [("a-long-name".chars().take(name_width).collect(), &7)].into_iter(), columns)
            })
        };
        let first = |width: u16| shown(width).lines().next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(first(60), "what always sometimes seldom");
        // The width is the `from_width` of the last column, but the table with this column is wider.
        assert_eq!(first(30), "what always sometimes");
        assert_eq!(first(22), "what always");
        assert!(shown(22).contains("a-long-name"));
        assert!(shown(14).contains("a-long ") && widest(&shown(14)) <= 14, "{}", shown(14));
        // A column with `from_width` 0 is shown even if it does not fit.
        assert_eq!(first(3), "what always");
    }
}
