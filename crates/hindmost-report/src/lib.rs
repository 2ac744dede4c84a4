//! Tables and documents from the results of Hindmost.

pub mod comparison;
pub mod figures;
pub mod findings;
pub mod gantt;
pub mod html;
#[cfg(test)]
mod markup;
pub mod reproduction;
pub mod run;
mod table;
pub mod text;

/// Width of the terminal behind standard output, in columns, if there is one.
pub fn terminal_width() -> Option<u16> {
    comfy_table::Table::new().width()
}
