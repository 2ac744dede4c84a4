//! Power models in scenario and job files: the name of a machine type, or a table.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::machines::{Machine, evenly};
use super::{CpuPower, PowerModel, StaticWatts};

/// The power of nodes, with the keys of scenario and job files.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum PowerSpec {
    /// A machine type whose measured power is built in, such as "dell_r740".
    Machine(String),
    /// A table of one's own.
    Own(Box<OwnPower>),
}

/// A power model of one's own. It needs one of `machine`, `watts_per_core` and `curve`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OwnPower {
    /// A machine type whose measured curve is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Power that the node draws even if nothing runs on it, besides the first point of a curve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub static_watts: Option<StaticWatts>,
    /// Power of one busy core, in watts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub watts_per_core: Option<f64>,
    /// Power of the node at equal distances of utilisation, in watts: first while nothing runs, last while all cores
    /// are busy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 2)))]
    pub curve: Option<Vec<f64>>,
    /// Number of cores; the node's cpus by default, and 1 on one-slot machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
    pub cores: Option<f64>,
    /// Energy of one memory access, in joules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub joules_per_access: Option<f64>,
    /// Energy for one byte that the node receives from another node, in joules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub joules_per_byte: Option<f64>,
}

impl<'de> Deserialize<'de> for PowerSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PowerSpec, D::Error> {
        struct NameOrTable;

        impl<'de> Visitor<'de> for NameOrTable {
            type Value = PowerSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a machine type such as \"dell_r740\" or a table such as { watts_per_core = 10.0 }")
            }

            fn visit_str<E>(self, name: &str) -> Result<PowerSpec, E> {
                Ok(PowerSpec::Machine(name.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PowerSpec, A::Error> {
                OwnPower::deserialize(MapAccessDeserializer::new(map)).map(|own| PowerSpec::Own(Box::new(own)))
            }
        }

        deserializer.deserialize_any(NameOrTable)
    }
}

impl PowerSpec {
    /// Returns the power model of a node with this many cores.
    ///
    /// # Errors
    /// If there is no such machine type, keys contradict each other, or a value is out of its range.
    pub fn model(&self, cores: f64) -> Result<PowerModel, String> {
        let own = match self {
            PowerSpec::Machine(name) => &OwnPower { machine: Some(name.clone()), ..OwnPower::default() },
            PowerSpec::Own(own) => &**own,
        };
        let cpu = match (&own.machine, own.watts_per_core, &own.curve) {
            (Some(name), None, None) => CpuPower::Curve(Machine::named(name)?.curve()),
            (None, Some(watts), None) => CpuPower::PerCore(watts),
            (None, None, Some(watts)) => CpuPower::Curve(evenly(watts)),
            _ => return Err("give exactly one of machine, watts_per_core and curve".to_owned()),
        };
        let model = PowerModel {
            static_watts: own.static_watts.unwrap_or_default(),
            cpu,
            cores: own.cores.unwrap_or(cores),
            joules_per_access: own.joules_per_access.unwrap_or(0.0),
            joules_per_byte: own.joules_per_byte.unwrap_or(0.0),
        };
        model.check().map(|()| model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(json: &str) -> Result<PowerSpec, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn a_model_comes_from_a_name_or_a_table() {
        let named = spec(r#""dell_r740""#).unwrap().model(8.0).unwrap();
        assert_eq!((named.idle_watts(), named.watts(8.0), named.cores), (52.3, 457.0, 8.0));
        let own =
            spec(r#"{"static_watts":{"cpu":40,"memory":20},"watts_per_core":10,"joules_per_byte":1e-8}"#).unwrap();
        let model = own.model(4.0).unwrap();
        assert_eq!((model.idle_watts(), model.watts(9.0), model.joules_per_byte), (60.0, 100.0, 1e-8));
        let curve = spec(r#"{"curve":[50,90,110],"cores":2}"#).unwrap().model(16.0).unwrap();
        assert_eq!([0.0, 1.0, 1.5].map(|busy| curve.watts(busy)), [50.0, 90.0, 100.0]);
        // A slice of a machine: 28 of its cores fully load it.
        let part = spec(r#"{"machine":"dell_r740","cores":28}"#).unwrap().model(4.0).unwrap();
        assert_eq!(part.watts(2.8), 129.0);
    }

    #[test]
    fn mistakes_are_named() {
        let wrong = |json: &str| spec(json).and_then(|spec| spec.model(4.0)).unwrap_err();
        assert!(wrong(r#""del""#).contains("is not a machine type"));
        assert!(wrong("{}").contains("exactly one of machine, watts_per_core and curve"));
        assert!(wrong(r#"{"machine":"dell_r740","curve":[1,2]}"#).contains("exactly one of"));
        assert!(wrong(r#"{"curve":[5,4]}"#).contains("falls from 5 to 4 W"));
        assert!(wrong(r#"{"curve":[5]}"#).contains("first point at utilisation 0"));
        assert!(wrong(r#"{"watt_per_core":5}"#).contains("unknown field `watt_per_core`"));
        assert!(wrong("7").contains("a machine type such as"));
        assert!(wrong(r#"{"watts_per_core":5,"cores":0}"#).contains("the number of cores is 0"));
        assert!(wrong(r#"{"watts_per_core":5,"static_watts":{"disk":1}}"#).contains("unknown field `disk`"));
    }
}
