//! Tables for the terminal. A table that is too wide loses its least important columns, then shortens its names.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use crate::text::columns;

/// Columns separated by space, with one line under the headings.
pub(crate) const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A column of a table: its heading, the terminal width it needs, and how its cells are made.
pub(crate) struct Column<T> {
    pub(crate) heading: &'static str,
    /// Smallest terminal width, in columns of text, at which the column is shown; 0: always. Of columns that do not
    /// fit, the one with the largest value is removed first.
    pub(crate) from_width: u16,
    pub(crate) cell: fn(&T) -> String,
}

/// Draws a table in at most `width` columns of text, if possible. `draw` receives the columns to show and the largest
/// width of names, which begins at `name_width` and shrinks if no column can be removed any more.
pub(crate) fn narrowed<'c, T: 'c>(
    columns: impl IntoIterator<Item = &'c Column<T>>,
    width: u16,
    mut name_width: usize,
    draw: impl Fn(&[&Column<T>], usize) -> String,
) -> String {
    let mut columns: Vec<&Column<T>> = columns.into_iter().filter(|column| column.from_width <= width).collect();
    loop {
        let drawn = draw(&columns, name_width);
        let over = widest(&drawn).saturating_sub(usize::from(width));
        if over == 0 {
            return drawn;
        }
        let least = columns.iter().enumerate().filter(|(_, column)| column.from_width > 0);
        match least.max_by_key(|(_, column)| column.from_width).map(|(at, _)| at) {
            Some(at) => drop(columns.remove(at)),
            None if name_width > 1 => name_width = name_width.saturating_sub(over).max(1),
            None => return drawn,
        }
    }
}

/// Draws a table of named rows with their cells in `columns`; `what` is the heading of the names.
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

/// Returns a table as text: names aligned left, numbers aligned right and followed by `padding` spaces, no spaces at
/// the ends of lines.
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
        // The terminal is as wide as the column requires, but the column's content does not fit.
        assert_eq!(first(30), "what always sometimes");
        assert_eq!(first(22), "what always");
        assert!(shown(22).contains("a-long-name"));
        assert!(shown(14).contains("a-long ") && widest(&shown(14)) <= 14, "{}", shown(14));
        // Columns from width 0 are always shown.
        assert_eq!(first(3), "what always");
    }
}
