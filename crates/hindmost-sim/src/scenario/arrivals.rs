//! When jobs arrive: the keys of `workload.arrival`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::parameter::Parameter;

/// When jobs arrive.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ArrivalSpec {
    /// Jobs arrive as a Poisson process, up to the horizon.
    Poisson(PoissonArrivals),
    /// All jobs arrive at time 0.
    AtOnce {
        /// Number of jobs.
        #[schemars(range(min = 1))]
        jobs: u32,
    },
    /// Jobs arrive one after another, the first at time 0.
    Every(EveryArrivals),
    /// Jobs arrive at the times listed in a file, in seconds, one per line.
    File(PathBuf),
}

/// A Poisson process, given by its rate or by the load that it puts on the cluster.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["rate"]}, {"required": ["load"]}]))]
pub struct PoissonArrivals {
    /// Mean number of jobs per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub rate: Option<f64>,
    /// The load, in place of the rate: the mean work without copies that arrives per second, divided by what the cluster can
    /// do in a second, of the scarcest resource. 0.6: without copies, nodes of equal speed are busy for 60% of the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 10))]
    pub load: Option<f64>,
}

/// Arrivals with gaps between them, given by the gap or by the load that they put on the cluster.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["gap"]}, {"required": ["load"]}]))]
pub struct EveryArrivals {
    /// Seconds between two jobs; a distribution is drawn for each gap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<Parameter>,
    /// The load, in place of a gap, which is then constant: see the load of Poisson arrivals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 10))]
    pub load: Option<f64>,
    /// Number of jobs.
    #[schemars(range(min = 1))]
    pub jobs: u32,
}

impl ArrivalSpec {
    /// Returns the load that the scenario gives in place of a rate or a gap.
    pub(crate) fn load(&self) -> Option<f64> {
        match self {
            ArrivalSpec::Poisson(arrivals) => arrivals.load,
            ArrivalSpec::Every(arrivals) => arrivals.load,
            ArrivalSpec::AtOnce { .. } | ArrivalSpec::File(_) => None,
        }
    }
}

/// Sets the load of the arrivals in a scenario's table, in place of their rate or gap. This is what `--set load=0.6` does.
///
/// # Errors
/// If the arrivals have no rate.
pub(super) fn set_load(scenario: &mut toml::Table, load: toml::Value) -> Result<(), String> {
    let arrival = scenario.get_mut("workload").and_then(|workload| workload.get_mut("arrival"));
    let kind = arrival.and_then(toml::Value::as_table_mut).and_then(|arrival| {
        let kind = ["poisson", "every"].into_iter().find(|kind| arrival.contains_key(*kind))?;
        arrival.get_mut(kind)?.as_table_mut()
    });
    let Some(kind) = kind else {
        return Err("a load needs arrivals with a rate, workload.arrival.poisson or workload.arrival.every".to_owned());
    };
    kind.remove("rate");
    kind.remove("gap");
    kind.insert("load".to_owned(), load);
    Ok(())
}
