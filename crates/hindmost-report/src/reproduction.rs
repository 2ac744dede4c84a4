//! Renders the reproduction of a paper: as text for the terminal, as Markdown for the documentation, and as pages of HTML.
//!
//! All of them begin with the same content, so that a reader who has not read the paper finds the answer at once: does
//! the headline hold, the claims of the abstract, what decides it, and how many claims were tested. The details of a
//! figure have a page of their own.

mod drawn;
#[cfg(test)]
pub(crate) mod example;
mod figure;
mod first_screen;
mod forest;
mod matrix;
mod plots;
mod points;
mod report;
#[cfg(test)]
pub(crate) mod tests;
mod wording;

use hindmost_claims::Reproduction;

use crate::document::{Document, Form, Frame};
use crate::html::{Step, glossary, name};
use crate::text::full;
use figure::figure_document;
use first_screen::QUANTILE_HEADINGS;
use plots::figure_plots;
pub use plots::{PlotFile, pictures};
pub(crate) use report::begin;
use report::report;
use wording::{figure_slugs, slug, slugs};

/// A file of a reproduction: a page of Markdown or HTML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Name of the file, relative to the output folder. It may be in a folder, such as `xu2015/figure-2.md`.
    pub file: String,
    /// Content of the file.
    pub text: String,
}

/// The names of the pages, with which they link to each other.
struct Names {
    /// Name of the page with the answer, as the pages of the figures call it: `report.html` or `../xu2015.md`.
    report: String,
    /// Folder of the files of pictures, relative to the page with the answer.
    folder: String,
    /// Names of the pages of the figures, relative to the page with the answer.
    figures: Vec<String>,
    /// Places of all claims in the pages of their figures.
    claims: Vec<String>,
}

impl Names {
    /// Returns names of figures that begin with `before` and end with `after`.
    fn of(reproduction: &Reproduction, report: String, before: &str, after: &str) -> Names {
        Names {
            report,
            folder: slug(&reproduction.paper),
            figures: figure_slugs(reproduction).iter().map(|figure| format!("{before}{figure}{after}")).collect(),
            claims: slugs(reproduction.claims().map(|(_, claim)| claim.id.as_str())),
        }
    }
}

/// Returns the reproduction as text of at most `width` columns: first the answer, the claims of the abstract and what
/// decides them, then all claims by figure. The JSON document and the pages have the values under all readings.
pub fn text(reproduction: &Reproduction, width: u16) -> String {
    report(reproduction, Form::Terminal, &Names::of(reproduction, String::new(), "", "")).text(width.max(20))
}

/// Returns the documents of all figures.
fn figures<'a>(reproduction: &'a Reproduction, form: Form, names: &'a Names) -> impl Iterator<Item = Document> {
    let plots = figure_plots(reproduction).into_iter().enumerate();
    plots.map(move |(at, plots)| figure_document(reproduction, at, plots, form, names))
}

/// Returns the pages of Markdown: `PAPER.md` with the answer, all claims and all readings, then `PAPER/figure-ID.md` for each
/// figure. They show [`pictures`] from the folder `PAPER`.
pub fn markdown_pages(reproduction: &Reproduction) -> Vec<Page> {
    let folder = slug(&reproduction.paper);
    let names = Names::of(reproduction, format!("../{folder}.md"), &format!("{folder}/"), ".md");
    let figures = figures(reproduction, Form::Markdown, &names);
    let pages = names.figures.iter().zip(figures).map(|(file, one)| Page { file: file.clone(), text: one.markdown() });
    let first = report(reproduction, Form::Markdown, &names).markdown();
    std::iter::once(Page { file: format!("{folder}.md"), text: first }).chain(pages).collect()
}

/// Returns the pages of HTML: `report.html` with the answer, all claims and all readings, then `figure-ID.html` for each figure.
/// If `several` papers are written into the same folder, the names are `PAPER.html` and `PAPER-figure-ID.html`.
pub fn html_pages(reproduction: &Reproduction, several: bool, again: &[Step]) -> Vec<Page> {
    let of_paper = slug(&reproduction.paper);
    let names = if several {
        Names::of(reproduction, format!("{of_paper}.html"), &format!("{of_paper}-"), ".html")
    } else {
        Names::of(reproduction, "report.html".to_owned(), "", ".html")
    };
    let paper = name(&reproduction.paper);
    let title = format!("{paper} reproduced");
    let quick = if reproduction.quick { " (quick)" } else { "" };
    let first = report(reproduction, Form::Page, &names).page(&Frame {
        title: format!("{title} – hindmost"),
        heading: format!("{title}{quick}"),
        lead: full(&reproduction.title),
        glossary: glossary::reproduction(),
        again,
    });
    let mut pages = vec![Page { file: names.report.clone(), text: first }];
    for ((figure, file), document) in
        reproduction.figures.iter().zip(&names.figures).zip(figures(reproduction, Form::Page, &names))
    {
        let text = document.page(&Frame {
            title: format!("{}, {title} – hindmost", name(&figure.name)),
            heading: format!("{} of {paper}", name(&figure.name)),
            lead: full(&figure.about),
            glossary: glossary::reproduction(),
            again: &[],
        });
        pages.push(Page { file: file.clone(), text });
    }
    pages
}
