//! Tests of reproductions: a small paper whose numbers are known, the papers of this crate, and the files.

mod counted;
mod deadlines;
mod heavy_tails;
mod papers;
mod ranking;
mod small;

use std::sync::atomic::AtomicBool;

use hindmost_papers::{Made, Paper, PaperError, Selection, reproduce};
use hindmost_sim::experiment::Execution;

/// Reproduces a paper on some threads.
fn made(paper: &Paper, selection: &Selection, threads: usize) -> Result<Made, PaperError> {
    let stop = AtomicBool::new(false);
    let execution = Execution { threads, stop: &stop, progress: &|_| {}, output: None };
    reproduce(paper, selection, &execution)
}
