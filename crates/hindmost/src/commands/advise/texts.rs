//! The texts about applications, and the names of files.

use hindmost_core::metrics::Diagnosis;
use hindmost_report::diagnosis as report;
use hindmost_report::text::{escaped, indented};

/// The page of all applications; if there is only one, of this one.
pub const REPORT: &str = "report.html";

/// Returns the text about one application, with warnings about its log.
pub fn of_one(log: &str, one: &Diagnosis, warnings: &[String], width: u16) -> String {
    format!("{}\n{}{}", escaped(log), report::text(one, width), said(warnings, width))
}

pub fn said(warnings: &[String], width: u16) -> String {
    warnings.iter().map(|warning| indented("  warning: ", &escaped(warning), usize::from(width).max(40))).collect()
}
