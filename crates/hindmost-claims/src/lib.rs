//! Reproductions of papers: the claims of a paper, the measured values and the verdicts.
//!
//! Papers leave details out. Whether a claim holds often depends on how these details are filled in, so each claim is
//! measured under several [`Reading`]s. A claim that consists of several [`Part`]s holds under a reading only if all
//! of its parts do. The [`Verdict`] depends only on the measured numbers: [`Verdict::Reproduced`] if the claim holds
//! under every reading that was run, [`Verdict::ReproducedUnder`] if it holds under some, and
//! [`Verdict::NotReproduced`] if it holds under none. Claims made in one paper were made together, so [`Search`] says
//! under which single reading most claims hold.

mod claim;
mod expected;
mod number;
mod ranking;
mod table;

use std::collections::BTreeMap;

use serde::Serialize;

use hindmost_core::cluster::Placement;

pub use claim::{Claim, Part, StatedBy, Status, Verdict};
pub use expected::{Expected, Measured};
pub use number::{change_text, given_text, number_text, rounded_text, with_unit};
pub use ranking::{
    GroupKind, GroupMember, OverallRow, OverallValue, Rank, RankedGroup, RankedKind, RankedPolicy, RankedValue,
    RankedWorld, Ranking, RankingLevel, RankingRow, WorldRanking,
};
pub use table::{Cell, DataTable, Plot, PlotShape};

/// The experiments of a paper, repeated: the claims, the measured values and the verdicts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reproduction {
    /// The paper's name on the command line, such as `xu2015`.
    pub paper: String,
    /// Authors, title and year.
    pub title: String,
    /// The command that makes the reproduction, without `hindmost` and without `--out`.
    pub command: String,
    /// How long the command takes on two cores, in minutes; `None` if the command makes only a part of the
    /// reproduction.
    pub minutes: Option<f64>,
    /// True if the simulations were made smaller to save time: shorter, with fewer seeds, readings or swept values.
    pub quick: bool,
    /// Seeds of the simulations. A figure with other seeds says so in its description.
    pub seeds: Vec<u64>,
    /// Seeds of the abstract's claims under the base reading; empty if they have the seeds of all other claims.
    pub headline_seeds: Vec<u64>,
    /// Seeds with which the abstract's claims were measured again under the best joint reading. None of them was used
    /// to choose that reading. Empty if there is no such reading.
    pub fresh_seeds: Vec<u64>,
    /// Sentences that answer: does the headline hold, under what, and why not otherwise.
    pub answer: Vec<String>,
    /// How many of the paper's claims were tested.
    pub coverage: Coverage,
    /// Quantiles beside the means of the claims of the abstract and the headline, where durations have a heavy tail;
    /// `None` if none has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heavy_tails: Option<HeavyTails>,
    /// How a task's node is chosen among several, by world, under the base reading. Readings may change it.
    pub placement: BTreeMap<String, Placement>,
    /// Sentences that explain all figures: how values are measured and what the verdicts mean.
    pub notes: Vec<String>,
    /// The interpretations of details that the paper leaves out, beginning with the base reading.
    /// [`Measured::reading`] refers to them by name.
    pub readings: Vec<Reading>,
    /// Under which single reading most claims hold; `None` if only one reading was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
    /// What decides the headline: the details that the paper leaves out, those with the largest effect first.
    pub factors: Vec<Factor>,
    /// The paper's figures, in the order of the paper.
    pub figures: Vec<Figure>,
}

/// What limits conclusions from means with infinite variance, and quantiles beside them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeavyTails {
    /// Sentences without a capital letter and full stop.
    pub cautions: Vec<String>,
    /// The means, each once.
    pub beside: Vec<BesideMean>,
}

/// A mean under the base reading, and quantiles of the same quantity, compared in the same way.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BesideMean {
    /// Id of the claim that states the mean.
    pub claim: String,
    /// What the mean is of, such as `mean flowtime under SCA compared with Mantri`.
    pub value: String,
    /// Unit of the three values; may be empty.
    pub unit: String,
    /// The mean over jobs.
    pub mean: Estimate,
    /// The median over jobs.
    pub median: Estimate,
    /// The value that 95% of the jobs do not exceed.
    pub p95: Estimate,
}

/// The mean over seeds of a measured value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// The mean over seeds; `None` if there is no value.
    pub mean: Option<f64>,
    /// Its 95% interval by Student's t; `None` for a single seed.
    pub ci95: Option<[f64; 2]>,
}

impl From<&Measured> for Estimate {
    fn from(measured: &Measured) -> Estimate {
        Estimate { mean: measured.mean, ci95: measured.ci95 }
    }
}

impl BesideMean {
    /// Formats one of the three values with the unit and its interval.
    pub fn text(&self, estimate: &Estimate) -> String {
        Measured { ci95: estimate.ci95, ..Measured::exact("", "", estimate.mean, &self.unit) }.text()
    }
}

/// How many of the paper's claims were tested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Coverage {
    /// All claims that are listed.
    pub listed: usize,
    /// Claims with measured values.
    pub tested: usize,
    /// Claims without measured values; each says why.
    pub not_run: usize,
    /// Tested claims that follow from formulas, without simulation.
    pub by_formula: usize,
    /// Number of tested claims whose values were measured once, on a machine that they name.
    pub recorded: usize,
    /// Number of tested claims that are a reading of the paper's words. They do not count among the claims that hold.
    pub readings: usize,
    /// Number of tested claims that other numbers of the paper contradict. They do not count among the claims that hold.
    pub slips: usize,
}

/// One interpretation of the details that the paper leaves out.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reading {
    /// Name of the reading, such as `oracle`.
    pub name: String,
    /// Sentences that say what the reading assumes.
    pub description: String,
    /// The detail that the reading changes, if it changes only one; refers to [`Factor::name`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor: Option<String>,
    /// The reading that has exactly the same results; `None` if this reading changes something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
    /// Number of simulated claims that hold under this reading. Only claims that the paper states and that were measured
    /// under every reading count.
    pub holds: usize,
    /// Number of simulated claims that were measured under every reading.
    pub of: usize,
    /// How far the published numbers of the paper's *baseline* are from the measured ones: the mean over these claims
    /// of the difference, divided by the difference that the claim's rule allows, at most 5 for each claim; 0 is exact. `None` if the paper
    /// publishes no such number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline_error: Option<f64>,
}

/// The search for the reading under which most claims hold together.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Search {
    /// Number of readings that were run.
    pub searched: usize,
    /// Number of readings whose results differ from those of all others.
    pub distinct: usize,
    /// The best joint reading: the one under which most simulated claims hold.
    pub best: String,
    /// Other readings under which as many claims hold. Among equals, the best one is that under which most of the
    /// headline holds, then the one with the smallest baseline error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub equals: Vec<String>,
    /// Number of simulated claims that hold under the best joint reading.
    pub holds: usize,
    /// Number of simulated claims that were measured under every reading.
    pub of: usize,
    /// Number of claims that would hold under the best of so many readings if each claim held under as many readings
    /// as it does, but under readings chosen at random: the mean. If `holds` is not larger, searching explains the
    /// number of claims that hold.
    pub by_chance: f64,
    /// The 95th percentile of the same number.
    pub by_chance_p95: f64,
    /// The reading that reproduces the published numbers of the paper's baseline best. The claims about the paper's
    /// own methods did not take part in choosing it, so they are predictions under it. `None` if the paper publishes
    /// no number of its baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibrated: Option<Calibrated>,
}

/// The reading that reproduces the published numbers of the paper's baseline best.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Calibrated {
    /// Name of the reading.
    pub reading: String,
    /// Its [`Reading::baseline_error`].
    pub error: f64,
    /// Number of the baseline's published numbers.
    pub numbers: usize,
    /// Number of simulated claims about the paper's own methods that hold under this reading.
    pub holds: usize,
    /// Number of simulated claims about the paper's own methods that were measured under this reading.
    pub of: usize,
    /// Other readings with the same error. Their results differ in other claims.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub equals: Vec<String>,
    /// Smallest and largest number of such claims that hold under this reading and those with the same error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equal_holds: Option<[usize; 2]>,
}

/// A detail that the paper leaves out, and how much a headline's value changes with it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Factor {
    /// Name of the detail.
    pub name: String,
    /// Id of the claim whose value changes.
    pub claim: String,
    /// The value under the base reading.
    pub base: f64,
    /// Smallest value over the readings that change only this detail, and over the base reading.
    pub low: f64,
    /// The reading with the smallest value.
    pub low_reading: String,
    /// Largest value over the same readings.
    pub high: f64,
    /// The reading with the largest value.
    pub high_reading: String,
    /// Unit of the values; may be empty.
    pub unit: String,
}

impl Factor {
    /// Returns the difference between the largest and the smallest value.
    pub fn swing(&self) -> f64 {
        self.high - self.low
    }
}

/// A figure of the paper with the claims that it supports.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figure {
    /// Number or short name for the command line, such as `2`.
    pub id: String,
    /// Name, such as `Figure 2`.
    pub name: String,
    /// Sentences that say what the figure shows and how the experiment was repeated.
    pub about: String,
    /// The paper's claims about the figure.
    pub claims: Vec<Claim>,
    /// Points of the figure's curves that the paper's text states.
    pub points: Vec<CurvePoint>,
    /// The numbers of the figure.
    pub tables: Vec<DataTable>,
}

/// A point of a curve of cumulative shares that the paper's text states, and the measured curve near it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CurvePoint {
    /// Id of the claim that states the point.
    pub claim: String,
    /// Name of the curve: the policy's name in tables.
    pub curve: String,
    /// The experiment, such as `λ = 6`; empty if the paper has only one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub world: String,
    /// The quantity on the horizontal axis, such as `flowtime`.
    pub quantity: String,
    /// The stated value on the horizontal axis.
    pub at: f64,
    /// The stated share of jobs, from 0 to 1.
    pub share: f64,
    /// Name of the reading of the measured curve.
    pub reading: String,
    /// The measured share at `at`.
    pub measured_share: Option<f64>,
    /// The measured value at which the share is `share`.
    pub measured_at: Option<f64>,
}

impl Reproduction {
    /// Returns all claims, each with its figure.
    pub fn claims(&self) -> impl Iterator<Item = (&Figure, &Claim)> {
        self.figures.iter().flat_map(|figure| figure.claims.iter().map(move |claim| (figure, claim)))
    }

    /// Returns the claim with this id.
    pub fn claim(&self, id: &str) -> Option<&Claim> {
        self.claims().map(|(_, claim)| claim).find(|claim| claim.id == id)
    }
}

#[cfg(test)]
mod tests;
