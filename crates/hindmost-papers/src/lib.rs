//! Reproduces the experiments of papers and compares their claims with measured values.
//!
//! - A **claim** is a statement of a paper together with rules: the values that confirm it. A claim of several parts
//!   holds only where all parts hold under one reading. The rules are the same under every reading, and were written
//!   down before anything was measured.
//! - A **world** is a cluster with a workload: a scenario with some changed keys.
//! - A **reading** is one interpretation of details that the paper does not specify, such as the length of a slot: what
//!   it changes in worlds and policies.
//!
//! Papers are data: TOML files in `papers/KEY/`, read into a [`Paper`]. One evaluator requests the simulations that the
//! claims and tables need, runs them in parallel, each once, and judges the claims. Adding a paper needs a folder with
//! data and, at most, a [metric] or a formula. A reader can [add a reading](Paper::add_reading) or a whole paper
//! without compiling.
//!
//! A [`Reproduction`](hindmost_claims::Reproduction) contains the claims with their verdicts and all
//! numbers as data; `hindmost-report` turns it into text, Markdown and HTML.
//!
//! ```no_run
//! use std::sync::atomic::AtomicBool;
//!
//! use hindmost_papers::{Selection, built_in, reproduce};
//! use hindmost_sim::experiment::Execution;
//!
//! let paper = built_in("xu2015").unwrap()?;
//! let selection = Selection { figures: vec!["2".to_owned()], ..Selection::default() };
//! let stop = AtomicBool::new(false);
//! let execution = Execution { threads: 4, stop: &stop, progress: &|_| {}, output: None };
//! for (_, claim) in reproduce(&paper, &selection, &execution)?.reproduction.claims() {
//!     println!("{}: {}", claim.claimed, claim.verdict);
//! }
//! # Ok::<(), hindmost_papers::PaperError>(())
//! ```

mod about;
mod answer;
pub mod data;
mod evaluate;
pub mod files;
mod formulas;
mod heavy_tails;
mod jobs;
pub mod metric;
pub mod overhead;
mod points;
pub mod ranking;
mod reproduce;
mod runs;
mod search;
mod selection;
mod tables;

pub use data::{Folder, Paper, PaperError};
pub use evaluate::SweepPlace;
pub use jobs::JobsOfRun;
pub use reproduce::{HEADLINE_SEEDS, Made, reproduce, simulations};
pub use runs::{Cache, Size};
pub use selection::Selection;

/// The papers of this crate: names and files.
const PAPERS: &[(&str, &[(&str, &str)])] = &[
    (
        "xu2015",
        &[
            ("paper.toml", include_str!("../papers/xu2015/paper.toml")),
            ("readings.toml", include_str!("../papers/xu2015/readings.toml")),
            ("figures.toml", include_str!("../papers/xu2015/figures.toml")),
            ("claims.toml", include_str!("../papers/xu2015/claims.toml")),
        ],
    ),
    (
        "dollymp2022",
        &[
            ("paper.toml", include_str!("../papers/dollymp2022/paper.toml")),
            ("readings.toml", include_str!("../papers/dollymp2022/readings.toml")),
            ("figures.toml", include_str!("../papers/dollymp2022/figures.toml")),
            ("claims.toml", include_str!("../papers/dollymp2022/claims.toml")),
            ("example.toml", include_str!("../papers/dollymp2022/example.toml")),
            ("example.jsonl", include_str!("../papers/dollymp2022/example.jsonl")),
            ("cluster.toml", include_str!("../papers/dollymp2022/cluster.toml")),
        ],
    ),
    (
        "zhou2018",
        &[
            ("paper.toml", include_str!("../papers/zhou2018/paper.toml")),
            ("readings.toml", include_str!("../papers/zhou2018/readings.toml")),
            ("figures.toml", include_str!("../papers/zhou2018/figures.toml")),
            ("claims.toml", include_str!("../papers/zhou2018/claims.toml")),
            ("cluster.toml", include_str!("../papers/zhou2018/cluster.toml")),
        ],
    ),
    (
        "shed",
        &[
            ("paper.toml", include_str!("../papers/shed/paper.toml")),
            ("readings.toml", include_str!("../papers/shed/readings.toml")),
            ("figures.toml", include_str!("../papers/shed/figures.toml")),
            ("claims.toml", include_str!("../papers/shed/claims.toml")),
            ("cluster.toml", include_str!("../papers/shed/cluster.toml")),
            ("batch.toml", include_str!("../papers/shed/batch.toml")),
        ],
    ),
    (
        "riski",
        &[
            ("paper.toml", include_str!("../papers/riski/paper.toml")),
            ("readings.toml", include_str!("../papers/riski/readings.toml")),
            ("figures.toml", include_str!("../papers/riski/figures.toml")),
            ("claims.toml", include_str!("../papers/riski/claims.toml")),
            ("cluster.toml", include_str!("../papers/riski/cluster.toml")),
        ],
    ),
];

/// Returns the names of the papers of this crate.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    PAPERS.iter().map(|(name, _)| *name)
}

/// Returns a paper of this crate; `None` if there is none of this name.
pub fn built_in(name: &str) -> Option<Result<Paper, PaperError>> {
    let files = built_in_files(name);
    (!files.is_empty()).then(|| Paper::load(Folder::BuiltIn(files)))
}

/// Returns names and texts of the files of a paper that this crate contains; empty if it contains no such paper.
fn built_in_files(name: &str) -> &'static [(&'static str, &'static str)] {
    PAPERS.iter().find(|(known, _)| *known == name).map_or(&[], |(_, files)| files)
}
