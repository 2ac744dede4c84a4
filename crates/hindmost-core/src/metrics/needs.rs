//! What the winners of a phase needed, and what the job file should reserve because of it.

use hindmost_math::statistics::median_of_sorted;
use serde::Serialize;

use crate::resources::{CPUS, Dimensions, MEMORY, Resources};
use crate::timeline::{AttemptEnd, Timeline, TimelineRow};
use crate::workload::DemandByName;

/// Number of measured winners from which on a phase gets suggestions.
const ENOUGH: u64 = 10;
/// What is suggested, as a multiple of the largest amount that was measured.
const MARGIN: f64 = 1.5;
/// Shortest running time in seconds of winners whose CPU time says how many cores they kept busy.
const LONG: f64 = 1.0;
/// How many times the reserved cores the median winner keeps busy if more should be reserved.
const CLEARLY: f64 = 1.25;

/// The median and the largest of what winners needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spread {
    /// The median.
    pub p50: f64,
    /// The largest.
    pub max: f64,
    /// Number of winners of which this was measured.
    pub tasks: u64,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Option<Spread> {
        let mut values: Vec<f64> = values.collect();
        values.sort_unstable_by(f64::total_cmp);
        let (p50, max) = (median_of_sorted(&values)?, *values.last()?);
        Some(Spread { p50, max, tasks: values.len() as u64 })
    }
}

/// What the winners of a phase needed, as far as it was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Needs {
    /// Peak memory in bytes; missing if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Spread>,
    /// CPU time in seconds; missing if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<Spread>,
    /// Number of cores that winners of at least one second kept busy: CPU time by running time. Missing if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<Spread>,
    /// Bytes read from storage; missing if they are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<Spread>,
    /// Bytes written for storage; missing if they are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<Spread>,
}

/// What the winners of a phase of an application needed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseNeeds {
    /// Name of the phase.
    pub phase: String,
    /// What its winners needed.
    #[serde(flatten)]
    pub needs: Needs,
}

/// A better value for a key of a phase, from what its tasks needed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Suggestion {
    /// Name of the phase.
    pub phase: String,
    /// The key: `memory` or `cpus`.
    pub key: String,
    /// What each attempt reserved: bytes or cores.
    pub reserved: f64,
    /// What was measured, in the same unit: the largest, or the median of the cores if more are suggested.
    pub needed: f64,
    /// Number of winners of which it was measured.
    pub tasks: u64,
    /// The value that is suggested, as job files have it.
    pub value: String,
    /// The suggestion as a sentence.
    pub text: String,
}

impl Needs {
    /// Returns what the winners among these attempts needed; `None` if nothing was measured.
    pub fn of<'a>(rows: impl Iterator<Item = &'a TimelineRow>) -> Option<Needs> {
        let won = rows.filter(|row| row.outcome == AttemptEnd::Won);
        let measured: Vec<_> = won.filter_map(|row| Some((row.usage?, (row.end - row.start).seconds()))).collect();
        let all = || measured.iter().map(|(usage, _)| usage);
        let long = measured.iter().filter(|(_, seconds)| *seconds >= LONG);
        let needs = Needs {
            memory: Spread::of(all().filter_map(|usage| usage.memory).map(|bytes| bytes as f64)),
            cpu_seconds: Spread::of(all().filter_map(|usage| usage.cpu_seconds)),
            cores: Spread::of(long.filter_map(|(usage, seconds)| Some(usage.cpu_seconds? / seconds))),
            read: Spread::of(all().filter_map(|usage| usage.read).map(|bytes| bytes as f64)),
            written: Spread::of(all().filter_map(|usage| usage.written).map(|bytes| bytes as f64)),
        };
        (needs != Needs::default()).then_some(needs)
    }

    /// Returns the memory that a phase with this demand should reserve instead, if more attempts then fit on the nodes or if a task
    /// needed more than it reserved. `fits` returns how many attempts of a demand fit.
    fn better_memory(
        &self,
        phase: &str,
        demand: &DemandByName,
        fits: impl Fn(&DemandByName) -> u64,
    ) -> Option<Suggestion> {
        let Spread { max: needed, tasks, .. } = self.memory.filter(|spread| spread.tasks >= ENOUGH)?;
        let reserved = *demand.get(MEMORY)?;
        let (bytes, value) = rounded_size(needed * MARGIN);
        let is_too_little = needed > reserved;
        if !is_too_little && (bytes > reserved / 2.0 || fits(&with(demand, MEMORY, bytes)) <= fits(demand)) {
            return None;
        }
        let text = format!(
            "phase {phase} reserves {} of memory for each attempt, {} the largest of {tasks} measured tasks needed {}: \
             memory = \"{value}\" leaves a margin of half as much again",
            size(reserved),
            if is_too_little { "but" } else { "and" },
            size(needed),
        );
        Some(Suggestion { phase: phase.to_owned(), key: MEMORY.to_owned(), reserved, needed, tasks, value, text })
    }

    /// Returns the cores that a phase with this demand should reserve instead, in the same cases.
    fn better_cpus(
        &self,
        phase: &str,
        demand: &DemandByName,
        fits: impl Fn(&DemandByName) -> u64,
    ) -> Option<Suggestion> {
        let Spread { p50, max, tasks } = self.cores.filter(|spread| spread.tasks >= ENOUGH)?;
        let reserved = *demand.get(CPUS)?;
        let is_too_little = p50 > reserved * CLEARLY;
        let (needed, cpus) = if is_too_little { (p50, p50.ceil()) } else { (max, (max * MARGIN).ceil().max(1.0)) };
        if !is_too_little && (cpus > reserved / 2.0 || fits(&with(demand, CPUS, cpus)) <= fits(demand)) {
            return None;
        }
        let cores = if reserved == 1.0 { "1 core".to_owned() } else { format!("{reserved} cores") };
        let text = if is_too_little {
            format!(
                "phase {phase} reserves {cores} for each attempt, but half of {tasks} measured tasks kept {p50:.1} or more busy: \
                 cpus = {cpus} is that number, rounded up"
            )
        } else {
            format!(
                "phase {phase} reserves {cores} for each attempt, and the busiest of {tasks} measured tasks kept {max:.1} busy: \
                 cpus = {cpus} leaves a margin of half as much again"
            )
        };
        let value = cpus.to_string();
        Some(Suggestion { phase: phase.to_owned(), key: CPUS.to_owned(), reserved, needed, tasks, value, text })
    }
}

/// Returns a demand with another amount of one resource.
fn with(demand: &DemandByName, key: &str, amount: f64) -> DemandByName {
    let mut other = demand.clone();
    other.insert(key.to_owned(), amount);
    other
}

/// Returns what the phases of the first job of a recorded run should reserve instead, from what their tasks needed.
pub fn suggestions(timeline: &Timeline, needs: &[Option<Needs>], dimensions: &Dimensions) -> Vec<Suggestion> {
    let Some(job) = timeline.jobs.first() else { return Vec::new() };
    let fits = |demand: &DemandByName| {
        let demand = dimensions.demand(demand).unwrap_or(Resources::NONE);
        timeline.nodes.iter().map(|node| node.capacity.times(&demand)).fold(0, u64::saturating_add)
    };
    let phases = job.spec.phases.iter().zip(needs).filter_map(|(phase, needs)| Some((phase, needs.as_ref()?)));
    let better = phases.flat_map(|(phase, needs)| {
        let memory = needs.better_memory(&phase.name, &phase.demand, fits);
        memory.into_iter().chain(needs.better_cpus(&phase.name, &phase.demand, fits))
    });
    better.collect()
}

/// The units of sizes, which are powers of 1024.
const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];

/// Returns a size as a number from 1 to below 1024, as far as there are units, with the place of its unit.
fn in_unit(bytes: f64) -> (f64, usize) {
    let (mut number, mut unit) = (bytes, 0);
    while number >= 1024.0 && unit + 1 < UNITS.len() {
        number /= 1024.0;
        unit += 1;
    }
    (number, unit)
}

/// Returns a size in words, such as `300MB` or `1.5GB`.
pub fn size(bytes: f64) -> String {
    let (number, unit) = in_unit(bytes);
    let number = if number >= 10.0 { number.round() } else { (number * 10.0).round() / 10.0 };
    format!("{number}{}", UNITS[unit])
}

/// Returns a size of at least 1 MB, rounded up to a number that is easy to read: in bytes, and as job files have it.
fn rounded_size(bytes: f64) -> (f64, String) {
    let (number, unit) = in_unit(bytes.max(1_048_576.0));
    let step = match number {
        100.0.. => 10.0,
        10.0.. => 1.0,
        _ => 0.5,
    };
    let number = (number / step).ceil() * step;
    (number * 1024_f64.powi(unit as i32), format!("{number}{}", UNITS[unit]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: f64 = 1_048_576.0;

    fn demand(cpus: f64, memory: f64) -> DemandByName {
        DemandByName::from([(CPUS.to_owned(), cpus), (MEMORY.to_owned(), memory)])
    }

    /// How many attempts fit on a node of 16 cores and 64 GB.
    fn fits(demand: &DemandByName) -> u64 {
        (16.0 / demand[CPUS]).min(64.0 * 1024.0 * MB / demand[MEMORY]) as u64
    }

    fn memory(max: f64, tasks: u64) -> Needs {
        Needs { memory: Some(Spread { p50: max / 2.0, max, tasks }), ..Needs::default() }
    }

    #[test]
    fn less_memory_is_suggested_where_more_attempts_fit() {
        // 8 GB each: 8 attempts fit. 450 MB, half as much again as 300 MB: the 16 cores are the limit.
        let found = memory(300.0 * MB, 100).better_memory("map", &demand(1.0, 8192.0 * MB), fits).unwrap();
        assert_eq!((&*found.value, found.needed, found.tasks), ("450MB", 300.0 * MB, 100));
        assert_eq!(
            found.text,
            "phase map reserves 8GB of memory for each attempt, and the largest of 100 measured tasks needed 300MB: \
             memory = \"450MB\" leaves a margin of half as much again"
        );
        // 4 GB each: 16 attempts fit, as many as there are cores.
        assert_eq!(memory(300.0 * MB, 100).better_memory("map", &demand(1.0, 4096.0 * MB), fits), None);
        // Few tasks prove little, and 4.5 GB are more than half of 8 GB.
        assert_eq!(memory(300.0 * MB, 9).better_memory("map", &demand(1.0, 8192.0 * MB), fits), None);
        assert_eq!(memory(3072.0 * MB, 100).better_memory("map", &demand(1.0, 8192.0 * MB), fits), None);
    }

    #[test]
    fn more_memory_is_suggested_where_a_task_needed_more() {
        let found = memory(1200.0 * MB, 10).better_memory("map", &demand(1.0, 1024.0 * MB), fits).unwrap();
        // 1800 MB are 1.76 GB, rounded up to halves.
        assert_eq!(found.value, "2GB");
        assert!(found.text.contains("1GB of memory for each attempt, but the largest"), "{}", found.text);
    }

    #[test]
    fn cpus_are_suggested_from_cpu_time_by_running_time() {
        let cores = |p50, max| Needs { cores: Some(Spread { p50, max, tasks: 12 }), ..Needs::default() };
        let better = |needs: Needs, cpus| needs.better_cpus("map", &demand(cpus, MB), fits).map(|found| found.value);
        // More than 1.25 times the reserved core, at the median.
        assert_eq!(better(cores(3.2, 4.0), 1.0).as_deref(), Some("4"));
        assert_eq!(better(cores(1.2, 4.0), 1.0), None);
        // Of 8 cores at most 1.1 were busy: 1.65, rounded up, and 8 attempts fit instead of 2.
        assert_eq!(better(cores(0.9, 1.1), 8.0).as_deref(), Some("2"));
        assert_eq!(better(cores(0.9, 1.1), 3.0), None);
    }

    #[test]
    fn sizes_are_rounded_to_what_people_write() {
        for (bytes, words, rounded) in [
            (0.0, "0B", "1MB"),
            (97.0 * MB, "97MB", "97MB"),
            (301.2 * MB, "301MB", "310MB"),
            (1.53 * 1024.0 * MB, "1.5GB", "2GB"),
        ] {
            assert_eq!((size(bytes), rounded_size(bytes).1), (words.to_owned(), rounded.to_owned()));
        }
        assert_eq!(rounded_size(97.0 * MB).0, 97.0 * MB);
    }
}
