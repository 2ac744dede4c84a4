//! What a file of profiles contains, as `hindmost profiles` shows it.

use std::sync::Arc;

use hindmost_core::profiles::Profile;
use schemars::JsonSchema;
use serde::Serialize;

use crate::fit::{FITTED, fit};
use crate::{Store, StoreError};

/// The document that `hindmost profiles --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ProfilesDocument {
    /// Path of the file.
    pub file: String,
    /// Number of profiles in the file.
    pub profiles: u64,
    /// The job types and phases, in alphabetical order.
    pub kinds: Vec<KindOfProfiles>,
}

/// The profiles of a job type and phase.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct KindOfProfiles {
    /// Type of the job: its name without a number or date at its end.
    pub job: String,
    /// Name of the phase.
    pub phase: String,
    /// Number of profiles.
    pub count: u64,
    /// Number of nodes from which they are.
    pub nodes: u64,
    /// Median duration, seconds.
    pub median: f64,
    /// 90th percentile of the duration, seconds.
    pub p90: f64,
    /// Weights of the factors, fitted to the newest profiles of all nodes. Factors without influence are left out; empty if
    /// there are fewer than 8 profiles.
    pub weights: Vec<WeightOfFactor>,
}

/// The weight of a factor.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WeightOfFactor {
    /// Name of the factor: `node`, `input`, `remote`, `tasks`, `load`, `beside TYPE/PHASE` or `beside others`.
    pub factor: String,
    /// Weight: the squared difference of durations, as a share of their squared mean, over the factor's whole range.
    pub weight: f64,
    /// Range of the factor's values among these profiles; 1 for `node`.
    pub range: f64,
}

/// Returns what a file of profiles contains. `name` is the file as the user named it.
///
/// # Errors
/// If the file can't be read.
pub fn describe(store: &Store, name: &str) -> Result<ProfilesDocument, StoreError> {
    let mut kinds = Vec::new();
    for kind in store.kinds()? {
        let mut seconds: Vec<f64> = Vec::new();
        let mut nodes: std::collections::BTreeSet<Arc<str>> = std::collections::BTreeSet::new();
        store.visit(&kind.job, &kind.phase, |(node, _, duration, _)| {
            seconds.push(duration);
            nodes.insert(node);
            true
        })?;
        seconds.sort_unstable_by(f64::total_cmp);
        let newest = store.newest(&kind.job, &kind.phase, FITTED)?;
        let newest: Vec<Arc<Profile>> = newest.into_iter().map(Arc::new).collect();
        // A fit that fails leaves the weights unknown; predictions then use all profiles alike.
        let fitted = fit(&newest, None).ok().flatten();
        let weights = fitted.map_or_else(Vec::new, |fitted| fitted.factors);
        let rank = |share: f64| {
            let at = ((share * seconds.len() as f64).ceil() as usize).max(1) - 1;
            seconds.get(at).copied().unwrap_or(0.0)
        };
        kinds.push(KindOfProfiles {
            job: kind.job.to_string(),
            phase: kind.phase.to_string(),
            count: seconds.len() as u64,
            nodes: nodes.len() as u64,
            median: rank(0.5),
            p90: rank(0.9),
            weights: weights
                .into_iter()
                .map(|one| WeightOfFactor { factor: one.name.to_string(), weight: one.weight, range: one.scale })
                .collect(),
        });
    }
    Ok(ProfilesDocument { file: name.to_owned(), profiles: store.len()?, kinds })
}
