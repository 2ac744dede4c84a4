//! Tables for the terminal that give way until they fit: the least important columns go first, then the names.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use crate::text::columns;

/// Columns apart by space, with one line under the headings.
pub(crate) const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A column: its heading, how wide the terminal must be for it, and its cells.
pub(crate) struct Column<T> {
    pub(crate) heading: &'static str,
    /// 0 of what is always shown; the column for which most is needed goes first.
    pub(crate) from_width: u16,
    pub(crate) cell: fn(&T) -> String,
}

/// A table in at most so many columns of text, if it can be: `draw` draws it with some of its columns, and with names
/// of at most so much room, which is `room` unless that is too much.
pub(crate) fn narrowed<T>(
    columns: &[Column<T>],
    width: u16,
    mut room: usize,
    draw: impl Fn(&[&Column<T>], usize) -> String,
) -> String {
    let mut columns: Vec<&Column<T>> = columns.iter().filter(|column| column.from_width <= width).collect();
    loop {
        let drawn = draw(&columns, room);
        let over = widest(&drawn).saturating_sub(usize::from(width));
        if over == 0 {
            return drawn;
        }
        let least = columns.iter().enumerate().filter(|(_, column)| column.from_width > 0);
        match least.max_by_key(|(_, column)| column.from_width).map(|(at, _)| at) {
            Some(at) => drop(columns.remove(at)),
            None if room > 1 => room = room.saturating_sub(over).max(1),
            None => return drawn,
        }
    }
}

/// A table of rows that have names, each with its cells in `columns`; `what` stands over the names.
pub(crate) fn named<'a, T: 'a>(
    what: &str,
    rows: impl Iterator<Item = (String, &'a T)>,
    columns: &[&Column<T>],
) -> String {
    let header = std::iter::once(what).chain(columns.iter().map(|column| column.heading));
    let cells = rows.map(|(name, row)| std::iter::once(name).chain(columns.iter().map(|column| (column.cell)(row))));
    draw(header.map(str::to_owned).collect(), cells.map(Iterator::collect).collect())
}

/// How wide a text is.
pub(crate) fn widest(text: &str) -> usize {
    text.lines().map(columns).max().unwrap_or(0)
}

/// A table whose first column is of names and whose others are of figures.
pub(crate) fn draw(header: Vec<String>, rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Disabled).set_header(header);
    table.add_rows(rows);
    finished(&mut table, 0)
}

/// A table as text: names to the left, figures to the right with so much room behind each, nothing behind a line.
pub(crate) fn finished(table: &mut Table, behind: u16) -> String {
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_cell_alignment(if at == 0 { CellAlignment::Left } else { CellAlignment::Right });
        column.set_padding((u16::from(at != 0), behind));
    }
    let drawn = table.to_string();
    let lines: Vec<&str> = drawn.lines().map(str::trim_end).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_important_columns_go_first_and_then_the_names() {
        let columns: [Column<u64>; 3] = [
            Column { heading: "always", from_width: 0, cell: u64::to_string },
            Column { heading: "sometimes", from_width: 20, cell: u64::to_string },
            Column { heading: "seldom", from_width: 30, cell: u64::to_string },
        ];
        let shown = |width: u16| {
            narrowed(&columns, width, 12, |columns, room| {
                named("what", [("a-long-name".chars().take(room).collect(), &7)].into_iter(), columns)
            })
        };
        let first = |width: u16| shown(width).lines().next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(first(60), "what always sometimes seldom");
        // Wide enough by what it says, but not by what stands in it.
        assert_eq!(first(30), "what always sometimes");
        assert_eq!(first(22), "what always");
        assert!(shown(22).contains("a-long-name"));
        assert!(shown(14).contains("a-long ") && widest(&shown(14)) <= 14, "{}", shown(14));
        // What is always shown is, however narrow.
        assert_eq!(first(3), "what always");
    }
}
