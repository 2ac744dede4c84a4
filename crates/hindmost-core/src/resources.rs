//! Amounts of resources, in several dimensions at once.
//!
//! A cluster names its dimensions once ([`Dimensions`]). Amounts are whole numbers of a small unit (thousandths of a
//! cpu or of any other resource, bytes of memory), so that sums have no rounding error. A cluster of one-slot machines
//! has the single dimension `slots`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use hindmost_math::plain::{Plain, Quoted};

use crate::workload::DemandByName;

/// The maximum number of dimensions of a cluster.
pub const MAX_DIMENSIONS: usize = 8;

/// Name of the only dimension of one-slot machines.
pub const SLOTS: &str = "slots";
/// Name of the dimension of processor cores.
pub const CPUS: &str = "cpus";
/// Name of the dimension of memory, which is measured in bytes.
pub const MEMORY: &str = "memory";

/// Beginning of the names of dimensions that stand for features of nodes, such as `feature:ssd`.
///
/// A task that requires a feature demands 1 of its dimension. A node with the feature has [`PLENTY`] of it, and other nodes have
/// none. So the feature decides where the task may run, and hardly counts as a resource in use.
pub const FEATURE: &str = "feature:";
/// Amount of a feature's dimension that a node with the feature has.
pub const PLENTY: f64 = 1e9;

/// Returns the name of the feature for which a dimension stands; `None` if it stands for a resource.
///
/// ```
/// use hindmost_core::resources::feature_of;
///
/// assert_eq!(feature_of("feature:ssd"), Some("ssd"));
/// assert_eq!(feature_of("memory"), None);
/// ```
pub fn feature_of(dimension: &str) -> Option<&str> {
    dimension.strip_prefix(FEATURE)
}

/// An amount in each dimension of a cluster, in whole small units: bytes of memory, thousandths of anything else.
/// Unused dimensions are zero.
///
/// ```
/// use hindmost_core::resources::Dimensions;
/// use hindmost_core::workload::DemandByName;
///
/// let capacity = DemandByName::from([("cpus".to_owned(), 4.0), ("memory".to_owned(), 8e9)]);
/// let dimensions = Dimensions::of([&capacity])?;
/// let free = dimensions.amounts(&capacity)?;
/// let demand = dimensions.demand(&DemandByName::from([("cpus".to_owned(), 1.5)]))?;
/// assert!(demand.fits(&free));
/// assert_eq!(free.times(&demand), 2);
/// assert_eq!(demand.dominant_share(&free), 0.375);
/// # Ok::<(), hindmost_core::resources::ResourceError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Resources(pub [u64; MAX_DIMENSIONS]);

impl Resources {
    /// The amount that is zero in every dimension.
    pub const NONE: Resources = Resources([0; MAX_DIMENSIONS]);

    /// One slot of a one-slot machine.
    pub const ONE_SLOT: Resources = {
        let mut amounts = [0; MAX_DIMENSIONS];
        amounts[0] = 1000;
        Resources(amounts)
    };

    /// Returns true if this amount is at most `free` in every dimension.
    #[inline]
    pub fn fits(&self, free: &Resources) -> bool {
        self.0.iter().zip(&free.0).all(|(need, have)| need <= have)
    }

    /// Returns true if the amount is zero in every dimension.
    #[inline]
    pub fn is_none(&self) -> bool {
        self.0.iter().all(|amount| *amount == 0)
    }

    /// Returns the sum of this amount and `other`.
    #[inline]
    #[must_use]
    pub fn plus(mut self, other: &Resources) -> Resources {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = mine.saturating_add(*theirs);
        }
        self
    }

    /// Returns this amount minus `other`; zero in dimensions in which `other` is larger.
    #[inline]
    #[must_use]
    pub fn minus(mut self, other: &Resources) -> Resources {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = mine.saturating_sub(*theirs);
        }
        self
    }

    /// Adds another amount, of a cluster with this number of dimensions.
    #[inline]
    pub(crate) fn add(&mut self, other: &Resources, dimensions: usize) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0).take(dimensions) {
            *mine = mine.saturating_add(*theirs);
        }
    }

    /// Takes another amount away, of a cluster with this number of dimensions; leaves zero in dimensions in which `other` is
    /// larger.
    #[inline]
    pub(crate) fn take(&mut self, other: &Resources, dimensions: usize) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0).take(dimensions) {
            *mine = mine.saturating_sub(*theirs);
        }
    }

    /// Returns true if the amount, of a cluster with this number of dimensions, is not zero.
    #[inline]
    pub(crate) fn is_some(&self, dimensions: usize) -> bool {
        self.0.iter().take(dimensions).any(|amount| *amount > 0)
    }

    /// Returns the smaller of both amounts in each dimension.
    #[must_use]
    pub fn least(mut self, other: &Resources) -> Resources {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).min(*theirs);
        }
        self
    }

    /// Returns how many times `demand` fits into this amount; `u64::MAX` if `demand` is zero.
    pub fn times(&self, demand: &Resources) -> u64 {
        self.0
            .iter()
            .zip(&demand.0)
            .filter(|(_, need)| **need > 0)
            .map(|(have, need)| have / need)
            .min()
            .unwrap_or(u64::MAX)
    }

    /// Returns the dominant share of this amount (as in dominant resource fairness): the largest of its shares of
    /// `total` over all dimensions. Dimensions in which `total` is zero are ignored.
    pub fn dominant_share(&self, total: &Resources) -> f64 {
        self.shares(total).fold(0.0, f64::max)
    }

    /// Returns the sum of this amount's shares of `total` over all dimensions. Dimensions in which `total` is zero are
    /// ignored.
    pub fn summed_share(&self, total: &Resources) -> f64 {
        self.shares(total).sum()
    }

    /// Returns this amount's share of `total` in each dimension; 0 in dimensions in which `total` is zero.
    pub fn shares_of(&self, total: &Resources) -> [f64; MAX_DIMENSIONS] {
        let mut shares = [0.0; MAX_DIMENSIONS];
        for (share, (mine, have)) in
            shares.iter_mut().zip(self.0.iter().zip(&total.0)).filter(|(_, (_, have))| **have > 0)
        {
            *share = *mine as f64 / *have as f64;
        }
        shares
    }

    fn shares<'a>(&'a self, total: &'a Resources) -> impl Iterator<Item = f64> + 'a {
        self.0.iter().zip(&total.0).filter(|(_, have)| **have > 0).map(|(mine, have)| *mine as f64 / *have as f64)
    }
}

/// The names of a cluster's dimensions, in the order of the amounts in [`Resources`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Dimensions(Vec<Arc<str>>);

/// An amount that can't be expressed in a cluster's dimensions.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ResourceError {
    /// The cluster has more than [`MAX_DIMENSIONS`] dimensions.
    #[error("a cluster can have at most {MAX_DIMENSIONS} kinds of resources, and {0:?} is one more")]
    TooManyDimensions(String),
    /// No node has a dimension that a task demands.
    #[error("{dimension:?} is demanded, but no node has any (they have {}): correct the demand, or use other nodes", known.join(", "))]
    UnknownDimension {
        /// Name of the dimension that is demanded.
        dimension: String,
        /// Names of the dimensions that the cluster has.
        known: Vec<String>,
    },
    /// The amount is negative, not finite or too large.
    #[error("{} {dimension} is not an amount: it must be finite, not negative and below 10^15", Plain(*amount))]
    BadAmount {
        /// Name of the dimension.
        dimension: String,
        /// The invalid amount, in the unit in which it was given.
        amount: f64,
    },
}

impl Dimensions {
    /// Returns the single dimension of one-slot machines.
    pub fn one_slot() -> Dimensions {
        Dimensions(vec![SLOTS.into()])
    }

    /// Returns `cpus` and all dimensions that occur in the given capacities.
    ///
    /// # Errors
    /// If there are more than [`MAX_DIMENSIONS`].
    pub fn of<'a>(capacities: impl IntoIterator<Item = &'a DemandByName>) -> Result<Dimensions, ResourceError> {
        let mut names: Vec<Arc<str>> = vec![CPUS.into()];
        for capacity in capacities {
            for name in capacity.keys() {
                if names.iter().any(|known| **known == **name) {
                    continue;
                }
                if names.len() == MAX_DIMENSIONS {
                    return Err(ResourceError::TooManyDimensions(name.clone()));
                }
                names.push(name.as_str().into());
            }
        }
        Ok(Dimensions(names))
    }

    /// Returns the number of dimensions.
    #[inline]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the names of the dimensions, in the order of the amounts in [`Resources`].
    pub fn names(&self) -> &[Arc<str>] {
        &self.0
    }

    /// Returns true for a cluster of one-slot machines, on which every copy takes one slot.
    pub fn is_one_slot(&self) -> bool {
        self.0.len() == 1 && &*self.0[0] == SLOTS
    }

    /// Converts amounts to a map by name, in the units of demands. Zero amounts are left out.
    pub fn by_name(&self, amounts: &Resources) -> DemandByName {
        let named = self.0.iter().zip(&amounts.0).filter(|(_, units)| **units > 0);
        named
            .map(|(name, units)| {
                let amount = if **name == *MEMORY { *units as f64 } else { *units as f64 / 1000.0 };
                (name.to_string(), amount)
            })
            .collect()
    }

    /// Describes why a copy fits on no node. Returns two texts: the demand of the copy, and the capacity of the node
    /// that would have to grow by the smallest factor. `None` if the demand fits on a node, or if there are no nodes.
    pub fn lacking<'a>(
        &self,
        demand: &Resources,
        capacities: impl IntoIterator<Item = &'a Resources>,
    ) -> Option<(String, String)> {
        let mut nearest: Option<(f64, &Resources)> = None;
        for capacity in capacities {
            if demand.fits(capacity) {
                return None;
            }
            // The factor by which the node would have to grow.
            let short = demand.0.iter().zip(&capacity.0).filter(|(wanted, _)| **wanted > 0);
            let short = short.map(|(wanted, has)| *wanted as f64 / *has as f64).fold(0.0, f64::max);
            if nearest.is_none_or(|(least, _)| short < least) {
                nearest = Some((short, capacity));
            }
        }
        nearest.map(|(_, capacity)| (in_words(&self.by_name(demand)), in_words(&self.by_name(capacity))))
    }

    /// Converts the demand of one copy into amounts in these dimensions.
    ///
    /// On one-slot machines every copy takes one slot, whatever it demands. On other machines, an empty demand means
    /// one cpu.
    ///
    /// # Errors
    /// If a dimension is unknown or an amount is invalid.
    pub fn demand(&self, by_name: &DemandByName) -> Result<Resources, ResourceError> {
        if self.is_one_slot() {
            return Ok(Resources::ONE_SLOT);
        }
        if by_name.is_empty() {
            return self.amounts(&DemandByName::from([(CPUS.to_owned(), 1.0)]));
        }
        self.amounts(by_name)
    }

    /// Converts a map by name into amounts in these dimensions. Dimensions that are not named are zero.
    ///
    /// # Errors
    /// If a dimension is unknown or an amount is invalid.
    pub fn amounts(&self, by_name: &DemandByName) -> Result<Resources, ResourceError> {
        let mut amounts = Resources::NONE;
        for (name, &amount) in by_name {
            let at =
                self.0.iter().position(|known| **known == **name).ok_or_else(|| ResourceError::UnknownDimension {
                    dimension: name.clone(),
                    known: self.0.iter().map(ToString::to_string).collect(),
                })?;
            let units = if name == MEMORY { amount } else { amount * 1000.0 };
            if !(0.0..1e18).contains(&units) || amount >= 1e15 {
                return Err(ResourceError::BadAmount { dimension: name.clone(), amount });
            }
            // A demand is rounded up, so that a copy never gets less than it demands.
            amounts.0[at] = (units - 1e-6).ceil().max(0.0) as u64;
        }
        Ok(amounts)
    }
}

/// Formats amounts in the units of job files: `2 cpus, 4GB of memory, feature ssd`.
pub fn in_words(amounts: &DemandByName) -> String {
    let is_feature = |(name, _): &(&String, &f64)| feature_of(name).is_some();
    let (features, resources): (Vec<_>, Vec<_>) = amounts.iter().partition(is_feature);
    let parts = resources.into_iter().map(|(name, amount)| match name.as_str() {
        MEMORY => {
            let units = [("TB", 4), ("GB", 3), ("MB", 2), ("kB", 1)].map(|(unit, power)| (unit, 1024f64.powi(power)));
            let (unit, size) = units.into_iter().find(|(_, size)| *amount >= *size).unwrap_or(("B", 1.0));
            // Rounded down, so that a user can demand an amount that is shown as free.
            let number = (amount / size * 10.0).floor() / 10.0;
            format!("{number}{unit} of memory")
        }
        CPUS if *amount == 1.0 => "1 cpu".to_owned(),
        _ => format!("{} {name}", Plain(*amount)),
    });
    let features = features.into_iter().filter_map(|(name, _)| Some(format!("feature {}", feature_of(name)?)));
    parts.chain(features).collect::<Vec<_>>().join(", ")
}

/// Parses a size with a unit, such as `"48GB"`, `"1.5 GiB"` or `"512MB"`, and returns bytes.
///
/// `kB`, `MB`, `GB` and `TB` are powers of 1024, as in Spark and Hadoop. `KiB`, `MiB`, `GiB` and `TiB` mean the same.
///
/// # Errors
/// If there is no unit, the unit is unknown, or the number is invalid. The message says what is valid.
pub fn parse_size(text: &str) -> Result<f64, String> {
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let wrong = || {
        let text = Quoted(text);
        format!("{text} is not a size: give a number and a unit, such as \"48GB\" or \"512MB\", below 10^15 bytes")
    };
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let power = match unit.trim().to_ascii_lowercase().as_str() {
        "b" => 0,
        "kb" | "kib" | "k" => 1,
        "mb" | "mib" | "m" => 2,
        "gb" | "gib" | "g" => 3,
        "tb" | "tib" | "t" => 4,
        _ => return Err(wrong()),
    };
    let bytes = number * 1024f64.powi(power);
    if bytes.is_finite() && bytes < 1e15 { Ok(bytes) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(pairs: &[(&str, f64)]) -> DemandByName {
        pairs.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect()
    }

    #[test]
    fn a_demand_of_0_1_fits_three_times_into_0_3() {
        let capacity = named(&[("cpus", 0.3), ("memory", 48.0 * 1024f64.powi(3))]);
        let dimensions = Dimensions::of([&capacity]).unwrap();
        let free = dimensions.amounts(&capacity).unwrap();
        let third = dimensions.demand(&named(&[("cpus", 0.1)])).unwrap();
        assert_eq!(free.times(&third), 3);
        assert!(third.fits(&free.minus(&third).minus(&third)));
    }

    #[test]
    fn a_demand_too_large_is_shown_with_the_nearest_node() {
        let gb = 1024f64.powi(3);
        let nodes = [named(&[("cpus", 4.0), ("memory", 8.0 * gb)]), named(&[("cpus", 2.0), ("memory", 64.0 * gb)])];
        let dimensions = Dimensions::of(&nodes).unwrap();
        let capacities: Vec<Resources> = nodes.iter().map(|node| dimensions.amounts(node).unwrap()).collect();
        let lacking = |cpus: f64, memory: f64| {
            let demand = dimensions.demand(&named(&[("cpus", cpus), ("memory", memory * gb)])).unwrap();
            dimensions.lacking(&demand, &capacities)
        };
        let shown = |wants: &str, has: &str| Some((wants.to_owned(), has.to_owned()));
        assert_eq!(lacking(5.0, 1.0), shown("5 cpus, 1GB of memory", "4 cpus, 8GB of memory"));
        assert_eq!(lacking(1.0, 65.0), shown("1 cpu, 65GB of memory", "2 cpus, 64GB of memory"));
        assert_eq!(lacking(2.0, 64.0), None);
    }

    #[test]
    fn a_feature_is_on_some_nodes_and_hardly_in_use() {
        let nodes = [named(&[("cpus", 4.0), ("feature:ssd", PLENTY)]), named(&[("cpus", 4.0)])];
        let dimensions = Dimensions::of(&nodes).unwrap();
        let [with, without] = nodes.each_ref().map(|node| dimensions.amounts(node).unwrap());
        let demand = dimensions.demand(&named(&[("cpus", 1.0), ("feature:ssd", 1.0)])).unwrap();
        assert_eq!((with.times(&demand), without.times(&demand)), (4, 0));
        assert_eq!(demand.dominant_share(&with.plus(&without)), 0.125);
        assert_eq!(in_words(&dimensions.by_name(&demand)), "1 cpu, feature ssd");
    }

    #[test]
    fn one_slot_machines_ignore_demands() {
        let dimensions = Dimensions::one_slot();
        assert_eq!(dimensions.demand(&named(&[("cpus", 2.0)])), Ok(Resources::ONE_SLOT));
    }

    #[test]
    fn the_error_for_an_unknown_dimension_lists_the_known_ones() {
        let dimensions = Dimensions::of([&named(&[("cpus", 4.0)])]).unwrap();
        let error = dimensions.demand(&named(&[("gpus", 1.0)])).unwrap_err();
        assert!(error.to_string().contains("\"gpus\" is demanded"), "{error}");
        assert!(error.to_string().contains("cpus"), "{error}");
    }

    #[test]
    fn sizes_need_a_unit() {
        assert_eq!(parse_size("48GB"), Ok(48.0 * 1024f64.powi(3)));
        assert_eq!(parse_size("1.5 GiB"), Ok(1.5 * 1024f64.powi(3)));
        assert!(parse_size("48").is_err());
        assert!(parse_size("many GB").is_err());
    }
}
