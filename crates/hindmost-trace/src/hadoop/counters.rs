//! Reads Hadoop's counters, and keeps those that are used.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::reading::values::{Number, Text};

/// Names of the counters that are kept.
const NAMES: [&str; 32] = [
    "HDFS_BYTES_READ",
    "HDFS_BYTES_WRITTEN",
    "FILE_BYTES_READ",
    "FILE_BYTES_WRITTEN",
    "BYTES_READ",
    "BYTES_WRITTEN",
    "MAP_INPUT_RECORDS",
    "MAP_OUTPUT_RECORDS",
    "MAP_OUTPUT_BYTES",
    "COMBINE_INPUT_RECORDS",
    "COMBINE_OUTPUT_RECORDS",
    "REDUCE_INPUT_GROUPS",
    "REDUCE_INPUT_RECORDS",
    "REDUCE_OUTPUT_RECORDS",
    "REDUCE_SHUFFLE_BYTES",
    "SHUFFLED_MAPS",
    "FAILED_SHUFFLE",
    "SPILLED_RECORDS",
    "GC_TIME_MILLIS",
    "CPU_MILLISECONDS",
    "DATA_LOCAL_MAPS",
    "RACK_LOCAL_MAPS",
    "OTHER_LOCAL_MAPS",
    "TOTAL_LAUNCHED_MAPS",
    "TOTAL_LAUNCHED_REDUCES",
    "MILLIS_MAPS",
    "MILLIS_REDUCES",
    "MB_MILLIS_MAPS",
    "MB_MILLIS_REDUCES",
    "VCORES_MILLIS_MAPS",
    "VCORES_MILLIS_REDUCES",
    "SLOTS_MILLIS_MAPS",
];

/// Indices in `NAMES` of the counters with these names.
const FILE_BYTES_READ: usize = 2;
const BYTES_READ: usize = 4;
const REDUCE_SHUFFLE_BYTES: usize = 14;
const LOCAL_MAPS: [usize; 3] = [20, 21, 22];

/// Counters of an attempt or of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counters {
    values: [Option<i64>; NAMES.len()],
    /// Bytes read from all file systems other than the local one.
    remote: Option<u64>,
}

impl Counters {
    pub(super) fn set(&mut self, name: &str, value: i64) {
        if let Some(at) = NAMES.iter().position(|&known| known == name) {
            // The same counter may occur in two groups, under its old and its new name.
            self.values[at].get_or_insert(value);
        }
        let scheme = name.strip_suffix("_BYTES_READ");
        if let (Some(_), Ok(bytes)) = (scheme.filter(|&scheme| scheme != "FILE"), u64::try_from(value)) {
            self.remote = Some(self.remote.unwrap_or(0).saturating_add(bytes));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values.iter().all(Option::is_none)
    }

    pub(super) fn add(&mut self, other: &Counters) {
        for (sum, value) in self.values.iter_mut().zip(&other.values) {
            if let Some(value) = value {
                *sum = Some(sum.unwrap_or(0).saturating_add(*value));
            }
        }
    }

    pub(super) fn add_to(&self, sums: &mut BTreeMap<&'static str, i64>) {
        for (name, value) in NAMES.iter().zip(&self.values) {
            if let Some(value) = value {
                let sum = sums.entry(name).or_insert(0);
                *sum = sum.saturating_add(*value);
            }
        }
    }

    /// Returns the bytes that a map read: from file systems other than the local one; if that is 0 or unknown, the
    /// bytes counted by the input format; if these are also 0 or unknown, the bytes of local files.
    pub(super) fn map_input(&self) -> Option<u64> {
        let at = |index: usize| self.values[index].and_then(|value| u64::try_from(value).ok());
        let some = |bytes: &u64| *bytes > 0;
        let known = self.remote.or(at(BYTES_READ)).or(at(FILE_BYTES_READ));
        self.remote.filter(some).or(at(BYTES_READ).filter(some)).or(at(FILE_BYTES_READ).filter(some)).or(known)
    }

    /// Returns the bytes that a reduce fetched from maps.
    pub(super) fn shuffled(&self) -> Option<u64> {
        self.values[REDUCE_SHUFFLE_BYTES].and_then(|value| u64::try_from(value).ok())
    }

    /// Returns how many maps started on a machine with their input, in the rack of such a machine, and elsewhere.
    pub(super) fn local_maps(&self) -> [u64; 3] {
        LOCAL_MAPS.map(|index| self.values[index].and_then(|value| u64::try_from(value).ok()).unwrap_or(0))
    }
}

/// Collects counters from any JSON value: objects with a `name` and a `value`, at any depth. This reads the counter
/// groups of all Hadoop versions, with and without Avro unions around them.
struct Sink<'c>(&'c mut Counters);

impl<'de> DeserializeSeed<'de> for Sink<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Sink<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("counters")
    }
    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Sink(self.0))?.is_some() {}
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let mut name = Text::default();
        let mut value = Number::default();
        while let Some(key) = fields.next_key::<Key<'_>>()? {
            match &*key.0 {
                "name" => name = fields.next_value()?,
                "value" => value = fields.next_value()?,
                "displayName" => {
                    fields.next_value::<IgnoredAny>()?;
                }
                _ => fields.next_value_seed(Sink(self.0))?,
            }
        }
        if let (Some(name), Some(value)) = (name.filled(), value.whole()) {
            self.0.set(name, value);
        }
        Ok(())
    }
}

/// A JSON key, borrowed if possible.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Text::deserialize(deserializer).map(|text| Key(text.0.unwrap_or_default()))
    }
}

impl<'de> Deserialize<'de> for Counters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut counters = Counters::default();
        Sink(&mut counters).deserialize(deserializer)?;
        Ok(counters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counter_indices_match_their_names() {
        for (index, name) in [
            (FILE_BYTES_READ, "FILE_BYTES_READ"),
            (BYTES_READ, "BYTES_READ"),
            (REDUCE_SHUFFLE_BYTES, "REDUCE_SHUFFLE_BYTES"),
            (LOCAL_MAPS[0], "DATA_LOCAL_MAPS"),
            (LOCAL_MAPS[2], "OTHER_LOCAL_MAPS"),
        ] {
            assert_eq!(NAMES[index], name);
        }
    }

    #[test]
    fn counters_are_found_at_any_depth() {
        let counts = r#"[{"name":"FILE_BYTES_READ","displayName":"x","value":7},{"name":"S3A_BYTES_READ","displayName":"x","value":100},{"name":"HDFS_BYTES_READ_EC","displayName":"x","value":9},{"name":"MB_MILLIS_MAPS","value":2048000},{"name":"MILLIS_MAPS","value":1000}]"#;
        let plain = format!(r#"{{"name":"COUNTERS","groups":[{{"name":"g","displayName":"G","counts":{counts}}}]}}"#);
        let union = format!(r#"{{"org.apache.hadoop.mapreduce.jobhistory.JhCounters":{plain}}}"#);
        for json in [plain, union] {
            let counters: Counters = serde_json::from_str(&json).unwrap();
            assert_eq!(counters.map_input(), Some(100));
            assert_eq!(counters.shuffled(), None);
            let mut sums = BTreeMap::new();
            counters.add_to(&mut sums);
            assert_eq!(sums["FILE_BYTES_READ"], 7);
            assert_eq!(sums.len(), 3, "{sums:?}");
        }
        assert!(serde_json::from_str::<Counters>("null").unwrap().is_empty());
    }
}
