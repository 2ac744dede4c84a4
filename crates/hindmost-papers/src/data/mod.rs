//! A paper as data: its worlds, policies, readings, figures and claims, read from TOML files.
//!
//! A paper is a folder with four files. `paper.toml` has the title, policies, worlds and sweeps; `readings.toml` the
//! interpretations of what the paper leaves out; `figures.toml` the figures with their tables; `claims.toml` the claims.
//! Each key may stand in any of the files.

mod claim;
mod figure;
mod load;
mod reading;
mod world;

use std::path::Path;

use serde::Deserialize;

pub use claim::{ClaimSpec, Measure, MinusSpec, PartSpec, RecordedSpec};
pub use figure::{ColumnSpec, FigureSpec, PlotSpec, TableKind, TableSpec};
pub use load::{Folder, PaperError};
pub use reading::{PolicyChange, ReadingSpec};
pub use world::{PolicySpecEntry, Settings, SweepSpec, WorldSpec};

/// A paper: everything that its reproduction needs.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Name on the command line, such as `xu2015`.
    #[serde(default)]
    pub key: String,
    /// Authors, title and year.
    #[serde(default)]
    pub title: String,
    /// How long the whole reproduction takes on two cores, in minutes.
    #[serde(default)]
    pub minutes: Option<f64>,
    /// Ids of the claims that form the headline.
    #[serde(default)]
    pub headline: Vec<String>,
    /// Ids of further claims that the first sentences name: the direction of the headline, or a single number of it.
    #[serde(default)]
    pub direction: Vec<String>,
    /// One sentence: why the headline does not hold under other readings.
    #[serde(default)]
    pub why: String,
    /// Sentences that explain all figures.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Whether the command measures how long decisions take (section 6.3.3 of `DollyMP`).
    #[serde(default)]
    pub decision_times: bool,
    /// Number of seeds of each simulation, beginning with seed 1.
    #[serde(default)]
    pub seeds: Option<u32>,
    /// The policies that figures and claims refer to.
    #[serde(default)]
    pub policy: Vec<PolicySpecEntry>,
    /// The clusters with workloads on which policies run.
    #[serde(default)]
    pub world: Vec<WorldSpec>,
    /// Series of runs in which one value changes.
    #[serde(default)]
    pub sweep: Vec<SweepSpec>,
    /// The readings, beginning with the base reading.
    #[serde(default)]
    pub reading: Vec<ReadingSpec>,
    /// The figures, in the order of the page.
    #[serde(default)]
    pub figure: Vec<FigureSpec>,
    /// The claims; each refers to its figure.
    #[serde(default)]
    pub claim: Vec<ClaimSpec>,
    /// The folder of the paper, for scenarios and workloads that worlds refer to.
    #[serde(skip)]
    pub folder: Folder,
}

impl Paper {
    /// Returns the world with this name.
    pub fn world(&self, name: &str) -> Option<&WorldSpec> {
        self.world.iter().find(|world| world.name == name)
    }

    /// Returns the policy with this label.
    pub fn policy(&self, label: &str) -> Option<&PolicySpecEntry> {
        self.policy.iter().find(|policy| policy.label == label)
    }

    /// Returns the sweep with this name.
    pub fn sweep(&self, name: &str) -> Option<&SweepSpec> {
        self.sweep.iter().find(|sweep| sweep.name == name)
    }

    /// Returns the reading with this name.
    pub fn reading(&self, name: &str) -> Option<&ReadingSpec> {
        self.reading.iter().find(|reading| reading.name == name)
    }

    /// Returns the folder on the disk from which the paper was read; `None` if it holds the same data as the program.
    pub fn other_folder(&self) -> Option<&Path> {
        let Folder::Disk(folder) = &self.folder else { return None };
        let own = crate::built_in_files(&self.key);
        let same =
            |(name, text): &(&str, &str)| self.folder.text(name).is_ok_and(|other| other.as_deref() == Some(text));
        (own.is_empty() || !own.iter().all(same)).then_some(folder.as_path())
    }

    /// Returns the base reading.
    pub fn base(&self) -> Option<&ReadingSpec> {
        self.reading.first()
    }
}
