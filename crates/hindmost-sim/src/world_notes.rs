//! Notes below a comparison: the load, what slowed down or stopped nodes and attempts in its world, and how often.

use std::collections::BTreeSet;

use hindmost_core::metrics::PolicyResult;
use hindmost_math::plain::Plain;

use crate::disturbances::{Contention, NeighbourStart};
use crate::experiment::{Experiment, Jobs};
use crate::generate::load_in_words;
use crate::scenario::{Centre, Take};

/// Returns notes on the worlds of experiments whose results are shown together: the points of a sweep, or logs. Each is a
/// sentence without a capital letter and full stop. `results` are the results of all points.
pub fn notes(experiments: &[&Experiment], results: &[PolicyResult]) -> Vec<String> {
    let describes: [fn(&Experiment) -> Option<String>; 7] =
        [load, contention, neighbours, stragglers, failures, learned_speeds, measured_speeds];
    let counts: [Option<(&str, Count)>; 7] = [
        None,
        Some(("changes of rates", |counts| counts.rate_changes)),
        None,
        Some(("stragglers started", |counts| counts.stragglers)),
        Some(("failures", |counts| counts.node_failures)),
        Some(("speeds learned", |counts| counts.speeds_learned)),
        None,
    ];
    let mut notes = Vec::new();
    for (describe, count) in describes.into_iter().zip(counts) {
        let mut found: Vec<(String, usize)> = Vec::new();
        for note in experiments.iter().filter_map(|one| describe(one)) {
            match found.iter_mut().find(|(other, _)| *other == note) {
                Some((_, points)) => *points += 1,
                None => found.push((note, 1)),
            }
        }
        let is_last = found.len().checked_sub(1);
        for (at, (note, points)) in found.into_iter().enumerate() {
            // The note on the load names its value.
            let part = if points < experiments.len() && !note.starts_with("load ") {
                "at some points of the sweep, "
            } else {
                ""
            };
            let counted = count.filter(|_| Some(at) == is_last).map_or(String::new(), |count| range(count, results));
            notes.push(format!("{part}{note}{counted}"));
        }
    }
    notes
}

type Count = fn(&hindmost_core::metrics::Disturbances) -> u64;

/// Returns the smallest and largest count of all policies, and of all points of a sweep, in brackets.
fn range((what, count): (&str, Count), results: &[PolicyResult]) -> String {
    let counts: BTreeSet<u64> = results.iter().filter_map(|one| one.disturbances.as_ref()).map(count).collect();
    match (counts.first(), counts.last()) {
        (Some(least), Some(most)) if least == most => format!(" ({what} over all seeds: {least})"),
        (Some(least), Some(most)) => {
            let is_swept = results.iter().any(|one| Some(&one.set) != results.first().map(|first| &first.set));
            let by = if is_swept { "by policy and point of the sweep" } else { "by policy" };
            format!(" ({what} over all seeds: {least} to {most}, {by})")
        }
        _ => String::new(),
    }
}

/// Joins what is true of the kinds of nodes, each once; `None` if nothing is.
fn of_kinds(
    experiment: &Experiment,
    describe: impl Fn(&crate::experiment::NodeKind) -> Option<String>,
) -> Option<String> {
    let mut all: Vec<String> = Vec::new();
    for one in experiment.nodes.iter().filter_map(describe) {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    (!all.is_empty()).then(|| all.join("; "))
}

fn load(experiment: &Experiment) -> Option<String> {
    let Jobs::Generated { spec, .. } = &experiment.jobs else { return None };
    spec.offered.as_ref().map(load_in_words)
}

fn contention(experiment: &Experiment) -> Option<String> {
    let described = of_kinds(experiment, |kind| {
        let Contention { degree, exponent } = kind.disturbances.contention.filter(|one| one.degree > 1.0)?;
        let (degree, exponent) = (Plain(degree), Plain(exponent));
        Some(format!("degree {degree}, exponent {exponent}"))
    })?;
    let without_effect = if experiment.dimensions.is_one_slot() { ", without effect on one-slot machines" } else { "" };
    Some(format!("attempts on a node slow each other down: {described}{without_effect}"))
}

fn neighbours(experiment: &Experiment) -> Option<String> {
    let described = of_kinds(experiment, |kind| {
        let load = kind.disturbances.neighbours.as_ref()?;
        let start = if load.start == NeighbourStart::Quiet { ", quiet at first" } else { "" };
        Some(format!("quiet {} s, busy {} s, slow-down {}{start}", load.quiet, load.busy, load.slowdown))
    })?;
    Some(format!("nodes have load of others that comes and goes: {described}"))
}

fn stragglers(experiment: &Experiment) -> Option<String> {
    let stragglers = experiment.setup.stragglers.as_ref()?;
    let copies = if stragglers.copies { "all copies may straggle" } else { "only first copies straggle" };
    Some(format!(
        "stragglers: ratio {}, slow-down {}, {copies}; the known durations do not include them",
        stragglers.ratio, stragglers.slowdown
    ))
}

fn failures(experiment: &Experiment) -> Option<String> {
    let described = of_kinds(experiment, |kind| {
        let failures = kind.disturbances.failures.as_ref()?;
        Some(format!("{} s between failures, repair {} s", failures.between, failures.repair))
    })?;
    Some(format!("nodes fail at random: {described}"))
}

fn learned_speeds(experiment: &Experiment) -> Option<String> {
    let note = "policies learn the speeds of nodes from finished attempts";
    experiment.setup.learns_speeds.then(|| note.to_owned())
}

fn measured_speeds(experiment: &Experiment) -> Option<String> {
    let described = of_kinds(experiment, |kind| {
        let measured = kind.measured_speed.as_ref()?;
        let name = measured.file.file_name().unwrap_or(measured.file.as_os_str()).to_string_lossy().into_owned();
        let by = if measured.divide_by == Centre::Mean { "mean" } else { "median" };
        let take = if measured.take == Take::AtRandom { "drawn" } else { "in turn" };
        Some(format!("{name} divided by its {by}, {take}"))
    })?;
    Some(format!("speeds of nodes are measured: {described}"))
}
