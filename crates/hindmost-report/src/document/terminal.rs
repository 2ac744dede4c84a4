//! Prints a document as text of a terminal.

use comfy_table::ContentArrangement;

use super::{Block, Document, Role, Table};
use crate::table::STYLE;
use crate::text::{escaped, indented, wrapped};

/// Terminals with fewer columns than this get lists instead of tables.
const TABLE_FROM_WIDTH: u16 = 80;
/// Cells that a list leaves out.
const MISSING: [&str; 2] = ["", "–"];

impl Document {
    /// Returns the text, in at most `width` columns. It has no pictures.
    pub(crate) fn text(&self, width: u16) -> String {
        let terminal = Terminal { width, columns: usize::from(width) };
        terminal.blocks(&self.blocks)
    }
}

/// The terminal that shows the text.
struct Terminal {
    width: u16,
    columns: usize,
}

impl Terminal {
    fn blocks(&self, blocks: &[Block]) -> String {
        blocks.iter().map(|block| self.block(block)).collect()
    }

    fn block(&self, block: &Block) -> String {
        match block {
            Block::Heading { text, .. } => format!("\n{}", self.wrapped(&text.unmarked(), 0)),
            Block::Paragraph(Role::Finding | Role::Caution, text) => self.wrapped(&text.unmarked(), 2),
            Block::Paragraph(_, text) => self.wrapped(&text.unmarked(), 0),
            Block::List(items) | Block::Attempts(items) => {
                items.iter().map(|item| self.item(&item.unmarked())).collect()
            }
            Block::Facts(facts) => {
                let fact = |(name, value): &(super::Text, super::Text)| {
                    self.wrapped(&format!("{}: {}", name.unmarked(), value.unmarked()), 2)
                };
                facts.iter().map(fact).collect()
            }
            Block::Entries(entries) => entries
                .iter()
                .map(|(name, lines)| self.entry(&name.unmarked(), lines.iter().map(super::Text::unmarked)))
                .collect(),
            Block::Table(table) => self.table(table),
            Block::Picture(_) | Block::Pictures(_) => String::new(),
            Block::Details(_, inside) => self.blocks(inside),
            // It is ready to paste, so it is never wrapped.
            Block::Code(text) => {
                let lines: Vec<String> = text.lines().map(escaped).collect();
                format!("    {}\n", lines.join("\n    "))
            }
            Block::Beside(_, parts) => parts.iter().map(|part| self.blocks(part)).collect(),
            Block::LaidOut(text) => format!("{text}\n"),
            Block::Gap => "\n".to_owned(),
        }
    }

    /// Returns text whose lines but the first are indented.
    fn wrapped(&self, text: &str, indent: usize) -> String {
        wrapped(&escaped(text), self.columns, indent) + "\n"
    }

    fn item(&self, text: &str) -> String {
        indented("- ", &escaped(text), self.columns)
    }

    fn entry(&self, name: &str, lines: impl Iterator<Item = String>) -> String {
        self.item(name) + &lines.map(|line| indented("  ", &escaped(&line), self.columns)).collect::<String>()
    }

    /// Returns a table with as many lines for a row as its cells need, or a list if the terminal is narrow.
    fn table(&self, table: &Table) -> String {
        let caption = if table.caption.is_empty() { String::new() } else { self.wrapped(&table.caption, 0) };
        let rows = table.rows.iter().map(|row| row.iter().map(super::Text::unmarked).collect::<Vec<String>>());
        if self.width < TABLE_FROM_WIDTH {
            let entry = |row: Vec<String>| {
                let lines =
                    table.columns.iter().zip(&row).skip(1).filter(|(_, cell)| !MISSING.contains(&cell.as_str()));
                let lines = lines.map(|(column, cell)| match lower(&column.label) {
                    label if label.is_empty() => cell.clone(),
                    label => format!("{label}: {cell}"),
                });
                self.entry(&row[0], lines)
            };
            return caption + &rows.map(entry).collect::<String>();
        }
        let mut drawn = comfy_table::Table::new();
        drawn.load_style(STYLE).set_content_arrangement(ContentArrangement::Dynamic).set_width(self.width);
        drawn.set_header(table.columns.iter().map(|column| escaped(&lower(&column.heading.unmarked()))));
        for row in rows {
            drawn.add_row(row.iter().map(|cell| escaped(cell)));
        }
        for (at, column) in drawn.column_iter_mut().enumerate() {
            column.set_padding((u16::from(at > 0), 1));
        }
        let drawn = drawn.to_string();
        let lines: Vec<&str> = drawn.lines().map(str::trim_end).collect();
        caption + &lines.join("\n") + "\n"
    }
}

/// Returns a heading as it is in the middle of a sentence.
fn lower(heading: &str) -> String {
    let mut letters = heading.chars();
    letters.next().into_iter().flat_map(char::to_lowercase).chain(letters).collect()
}
