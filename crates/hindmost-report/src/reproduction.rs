//! Renders the reproduction of a paper: as Markdown for the documentation, and as text for the terminal. The HTML pages
//! are made by [`crate::html::html_pages`].
//!
//! All of them begin with the same content, so that a reader who has not read the paper finds the answer at once: does
//! the headline hold, the claims of the abstract, what decides it, and how many claims were tested. The details of a
//! figure have a page of their own.

#[cfg(test)]
pub(crate) mod example;
mod first_screen;
mod forest;
pub(crate) mod markdown;
mod matrix;
mod plots;
mod points;
#[cfg(test)]
pub(crate) mod tests;
mod text;
mod wording;

pub(crate) use first_screen::{
    FirstScreen, HeadlineRow, QUANTILE_HEADINGS, Quantiles, Value, base_value, beside_base, best_value, first_screen,
};
pub(crate) use forest::{forest, forest_caption};
pub use markdown::markdown_pages;
pub(crate) use matrix::{Matrix, Row, matrix, search_sentences, sign};
pub use plots::{PlotFile, pictures};
pub(crate) use plots::{caption, drawn};
pub(crate) use points::{POINT_COLUMNS, point_rows};
pub use text::text;
pub(crate) use wording::{
    ClaimTable, as_text, capitalised, claim_table, counts, figure_slugs, kind_of_claim, opening, same_results,
    seeds_sentence, slug, slugs, span, verdict_text,
};

/// A file of a reproduction: a page of Markdown or HTML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Name of the file, relative to the output folder. It may be in a folder, such as `xu2015/figure-2.md`.
    pub file: String,
    /// Content of the file.
    pub text: String,
}
