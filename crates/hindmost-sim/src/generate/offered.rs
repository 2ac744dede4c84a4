//! The rate of arrivals that gives a load.
//!
//! The load is the mean work of a job, without copies, times the arrival rate, divided by what the cluster can do in a second;
//! of several resources the largest quotient counts. The work of a task is its demand times its duration on a node of speed 1,
//! and a node does its capacity times its speed in a second. Left out are the time for reading input, contention, load of
//! neighbours, outages and failures, and capacity that no demand fits into.

use std::collections::BTreeMap;

use hindmost_core::metrics::OfferedLoad;
use hindmost_core::resources::{CPUS, MEMORY, SLOTS};
use hindmost_core::workload::DemandByName;
use hindmost_math::plain::Plain;

use crate::expected::{self, Expected};
use crate::scenario::{ArrivalSpec, ClusterSpec, MeasuredSpeed, NodeClass, WorkloadSpec};

use super::kinds::Kind;

/// Amounts of each resource, by name.
type Amounts = BTreeMap<String, f64>;

/// Returns the rate of arrivals that gives the load, and how it follows.
///
/// # Errors
/// If the mean work of a job is infinite or not known, or a parameter is not valid.
pub(crate) fn offered(spec: &WorkloadSpec, cluster: &ClusterSpec, load: f64) -> Result<OfferedLoad, String> {
    let one_slot = cluster.machines.is_some();
    let (work, work_estimated) = mean_work(spec, one_slot)?;
    let (capacity, capacity_estimated) = capacity(cluster)?;
    // A resource that no node has is an error of its own.
    let seconds = |name: &String, work: &f64| capacity.get(name).map_or(0.0, |capacity| work / capacity);
    // A name that comes later in the alphabet wins only if it is scarcer.
    let scarcest = work.iter().rev().max_by(|one, other| seconds(one.0, one.1).total_cmp(&seconds(other.0, other.1)));
    let Some((resource, amount)) = scarcest.filter(|(_, amount)| **amount > 0.0) else {
        return Err("jobs use no resource, so there is no rate that gives a load; give a rate instead".to_owned());
    };
    let capacity = capacity.get(resource).copied().unwrap_or(0.0);
    let rate = load * capacity / amount;
    if !(rate.is_finite() && rate > 0.0) {
        return Err(format!("load {} would need {} jobs per second; give another load", Plain(load), Plain(rate)));
    }
    Ok(OfferedLoad {
        set: Vec::new(),
        load,
        rate,
        resource: resource.clone(),
        work: *amount,
        capacity,
        estimated: work_estimated || capacity_estimated,
    })
}

/// Returns the load that the arrivals of a scenario put on its cluster: the one that it gives, or the one that follows from its
/// rate or gaps. `None` if jobs do not arrive at a rate, or the mean work of a job or the mean gap is not known.
pub(crate) fn load(spec: &WorkloadSpec, cluster: &ClusterSpec) -> Option<f64> {
    let arrival = spec.arrival.as_ref()?;
    if let Some(load) = arrival.load() {
        return Some(load);
    }
    let rate = match arrival {
        ArrivalSpec::Poisson(arrivals) => arrivals.rate?,
        ArrivalSpec::Every(arrivals) => 1.0 / expected::of(arrivals.gap.as_ref()?).ok()?.value,
        ArrivalSpec::AtOnce { .. } | ArrivalSpec::File(_) => return None,
    };
    let full = offered(spec, cluster, 1.0).ok()?.rate;
    Some(rate / full).filter(|load| load.is_finite())
}

/// Returns the mean work of a job in each resource, in units of the resource times seconds.
fn mean_work(spec: &WorkloadSpec, one_slot: bool) -> Result<(Amounts, bool), String> {
    let factor = match &spec.stragglers {
        None => Expected::exactly(1.0),
        Some(stragglers) => {
            let wrong = |key: &str, error: String| format!("workload.stragglers.{key}: {error}");
            let ratio = expected::of(&stragglers.ratio).map_err(|error| wrong("ratio", error))?;
            let slowdown = expected::of(&stragglers.slowdown).map_err(|error| wrong("slowdown", error))?;
            let longer = ratio.times(Expected { value: slowdown.value - 1.0, ..slowdown });
            Expected { value: 1.0 + longer.value, ..longer }
        }
    };
    let kinds = Kind::all(spec)?;
    let shares = kinds.last().map_or(1.0, |kind| kind.until);
    let (mut amounts, mut estimated, mut before) = (Amounts::new(), factor.estimated, 0.0);
    for kind in &kinds {
        let share = (kind.until - before) / shares;
        before = kind.until;
        for planned in &kind.plan {
            let written = &kind.written[planned.written];
            let seconds = written.mean_seconds()?;
            estimated |= seconds.estimated;
            for (name, demand) in demands(&written.demand, one_slot) {
                *amounts.entry(name).or_insert(0.0) += share * seconds.value * factor.value * demand;
            }
        }
    }
    Ok((amounts, estimated))
}

/// Returns what one copy takes of each resource.
fn demands(demand: &DemandByName, one_slot: bool) -> Amounts {
    if one_slot {
        return Amounts::from([(SLOTS.to_owned(), 1.0)]);
    }
    if demand.is_empty() {
        return Amounts::from([(CPUS.to_owned(), 1.0)]);
    }
    demand.iter().map(|(name, amount)| (name.clone(), *amount)).collect()
}

/// Returns what the cluster can do in a second, in each resource.
fn capacity(cluster: &ClusterSpec) -> Result<(Amounts, bool), String> {
    if let Some(machines) = cluster.machines {
        return Ok((Amounts::from([(SLOTS.to_owned(), f64::from(machines))]), false));
    }
    let (mut amounts, mut estimated) = (Amounts::new(), false);
    for class in &cluster.nodes {
        let speed = mean_speed(class)?;
        estimated |= speed.estimated;
        for (name, amount) in class.capacity()? {
            *amounts.entry(name).or_insert(0.0) += amount * f64::from(class.count) * speed.value;
        }
    }
    Ok((amounts, estimated))
}

fn mean_speed(class: &NodeClass) -> Result<Expected, String> {
    match &class.measured_speed {
        Some(measured) => Ok(Expected::exactly(MeasuredSpeed::mean(measured, class.count))),
        None => expected::of(&class.speed).map_err(|error| format!("cluster.nodes: speed: {error}")),
    }
}

/// Describes the rate that gives a load, for the notes under results.
pub(crate) fn in_words(offered: &OfferedLoad) -> String {
    let OfferedLoad { load, rate, resource, work, capacity, estimated, .. } = offered;
    let (unit, scale) = match resource.as_str() {
        SLOTS => ("slot", 1.0),
        CPUS => ("cpu", 1.0),
        MEMORY => ("GB", f64::from(1 << 30)),
        other => (other, 1.0),
    };
    let (work, capacity) = (work / scale, capacity / scale);
    let sample = if *estimated { ", by a sample of its parameters" } else { "" };
    format!(
        "load {}: {} jobs arrive per second, because a job is {} {unit}-seconds of work on average without copies{sample}, and \
         the cluster does {} per second",
        Plain(*load),
        short(*rate),
        short(work),
        short(capacity)
    )
}

/// Rounds a number to four significant digits.
fn short(number: f64) -> Plain {
    Plain(format!("{number:.3e}").parse().unwrap_or(number))
}
