//! What to reproduce of a paper.

use crate::runs::{Cache, Size};

/// What to reproduce of a paper.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The size of the simulations.
    pub size: Size,
    /// Ids of the figures, which are included with all their claims and tables.
    pub figures: Vec<String>,
    /// Ids of further claims, which are included without their figures' tables. If neither figures nor claims are named,
    /// everything is included.
    pub claims: Vec<String>,
    /// Names of the readings besides the base reading; empty: all.
    pub readings: Vec<String>,
    /// Number of seeds of every simulation; `None`: the paper's, and [`HEADLINE_SEEDS`](crate::HEADLINE_SEEDS) for the abstract's claims.
    pub seeds: Option<u32>,
    /// Whether to return the jobs of the simulations, too.
    pub jobs: bool,
    /// Where results of simulations are kept for later reproductions by the same program.
    pub cache: Option<Cache>,
}

impl Default for Selection {
    fn default() -> Selection {
        Selection {
            size: Size::Full,
            figures: Vec::new(),
            claims: Vec::new(),
            readings: Vec::new(),
            seeds: None,
            jobs: false,
            cache: None,
        }
    }
}
