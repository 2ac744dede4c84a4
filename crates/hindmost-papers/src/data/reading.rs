//! Readings as they stand in a paper's files, and in files that readers write.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use super::world::Settings;

/// An interpretation of what the paper leaves out: what it changes in the worlds and policies of the base reading.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadingSpec {
    /// Name, such as `oracle`.
    pub name: String,
    /// Sentences that say what the reading assumes.
    pub description: String,
    /// The detail that the reading changes; only for readings that change one detail.
    #[serde(default)]
    pub factor: Option<String>,
    /// Other readings whose changes are made first.
    #[serde(default)]
    pub includes: Vec<String>,
    /// Keys of scenarios with their new values.
    #[serde(default)]
    pub set: Settings,
    /// Changes that concern the runs of one policy, by label.
    #[serde(default)]
    pub policy: BTreeMap<String, PolicyChange>,
    /// Quantities of jobs that are replaced by others in all metrics, such as `running_time = "flowtime"`.
    #[serde(default)]
    pub substitute: BTreeMap<String, String>,
    /// Sweeps that claims measure in place of others, such as `testbed = "testbed-contention"`. Both have the same values.
    #[serde(default)]
    pub sweeps: BTreeMap<String, String>,
    /// The worlds that the reading is run in; by default all.
    #[serde(default)]
    pub worlds: Vec<String>,
    /// Whether the profiles of an earlier run are known from the start, instead of what the world says.
    #[serde(default)]
    pub history: Option<bool>,
    /// Counts only the jobs that had finished when arrivals stopped, as if the run had ended at that time.
    #[serde(default)]
    pub cut: Option<bool>,
    /// Whether the quick version runs the reading.
    #[serde(default = "yes")]
    pub quick: bool,
    /// The file that a user gave and its text, if the reading is not one of the paper's own.
    #[serde(skip)]
    pub file: Option<(PathBuf, String)>,
}

fn yes() -> bool {
    true
}

/// What a reading changes in the runs of one policy.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyChange {
    /// The policy as it is written on the command line, instead of the paper's.
    #[serde(default, rename = "as")]
    pub spec: Option<String>,
    /// Keys of the scenario with their new values, in the runs of this policy.
    #[serde(default)]
    pub set: Settings,
}
