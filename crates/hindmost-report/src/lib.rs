//! Renders the results of Hindmost: tables for the terminal, pages of HTML, charts as SVG and text, Markdown.
//!
//! - A **result** is plain data from `hindmost-core`: a comparison of policies, the summary and timeline of a run, the
//!   findings about a log, or a reproduction of a paper. This crate does not compute results.
//! - A result builds one **document** (`document/`). Its printers write it as text for the terminal, as Markdown and as a page, and
//!   escape all of its text.
//! - **Text for the terminal** fits a given number of columns. [`comparison::text`], [`run::run_table`], [`findings::text`]
//!   and [`reproduction::text`] return tables, and [`gantt::gantt`] returns a chart of attempts.
//! - A **page** is one HTML file that loads nothing and runs no scripts ([`html`]); its pictures are SVG ([`figures`]).
//!
//! Names from logs and job files are untrusted, so all functions escape control characters and markup.
//!
//! ```
//! use hindmost_core::resources::Resources;
//! use hindmost_core::time::Time;
//! use hindmost_core::timeline::{Timeline, TimelineNode};
//! use hindmost_report::gantt::{GanttOptions, gantt};
//!
//! let node = TimelineNode { name: "node-1".into(), capacity: Resources::ONE_SLOT, lost_and_returned: Vec::new() };
//! let timeline = Timeline { nodes: vec![node], end: Time::from_seconds(30.0), ..Timeline::default() };
//! let options = GanttOptions { width: 40, colour: false, ascii: false, until: None, max_lanes: 10 };
//! assert!(gantt(&timeline, &options).starts_with("node-1 ┤"));
//! ```

mod advice;
pub mod comparison;
pub mod copies;
pub mod diagnosis;
mod document;
pub mod failures;
pub mod figures;
pub mod findings;
pub mod gantt;
pub mod html;
pub mod jobs;
mod lanes;
#[cfg(test)]
mod markup;
mod needs;
pub mod ranking;
pub mod reproduction;
pub mod run;
mod table;
pub mod text;

/// Returns the width of the terminal behind standard output, in columns; `None` without a terminal.
pub fn terminal_width() -> Option<u16> {
    comfy_table::Table::new().width()
}
