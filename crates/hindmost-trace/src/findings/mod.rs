//! What stragglers cost in a log, phase by phase and job by job.
//!
//! A [`Gathering`] takes the recording of each application of a log, and its diagnosis: this one says which tasks were stragglers,
//! why, and which nodes were slow. Everything else follows from the attempts.
//!
//! The findings of the 256 most important phases and of the 64 most important jobs are kept; totals cover all phases and jobs.
//! An application with very many attempts is recorded in parts, and later parts of a phase are added to earlier ones. Only if the phases
//! together take more than `MOST_HELD` bytes are those complete that had no attempt for longest; attempts that they have later only add
//! to counts and machine time, and are counted in `Gathering::late`.
//!
//! Times that are further than 10¹² seconds from 0 count as unknown. Durations are rounded to whole microseconds, which is finer than the
//! clocks of logs. If all durations of a phase are whole milliseconds, its clock is assumed to have a resolution of a millisecond.

mod ends;
mod folded;
mod job_waits;
mod phase;
pub(crate) mod roles;
mod tally;
#[cfg(test)]
mod tests;
mod winners;

use std::collections::{BTreeMap, VecDeque};

use hindmost_core::metrics::{Diagnosis, FailingNode, Findings, SlowNode, Stragglers, StragglersOfPhase};
use rustc_hash::FxHashSet;

use crate::recording::PhaseRows;
use crate::recording::Recording;
use folded::Folded;
use job_waits::JobWaits;
use phase::{Phase, PhaseKey};
use tally::Tally;

/// About how many bytes the phases take to which later parts can be added.
const MOST_HELD: usize = 24 << 20;
/// The most phases whose findings are kept.
const PHASES: usize = 256;
/// The most phases that are remembered after their findings were dropped, so that a later part does not begin a new phase.
const GONE: usize = 1 << 18;

/// Gathers the findings of a log from the recordings and diagnoses of its applications.
#[derive(Debug, Default)]
pub struct Gathering {
    /// The phases to which later parts can be added, each with the number of the part that was added last.
    open: BTreeMap<PhaseKey, (u64, Phase)>,
    /// The bytes that they take, about.
    held: usize,
    /// Number of parts of phases that were added.
    parts: u64,
    /// Attempts that were added to phases that are not open any more.
    late: u64,
    /// The most important of all other phases.
    folded: BTreeMap<PhaseKey, Folded>,
    /// Phases whose findings were dropped.
    gone: FxHashSet<PhaseKey>,
    /// The phases in `gone`, the oldest first.
    gone_in_order: VecDeque<PhaseKey>,
    /// Number of phases that are not open any more.
    phases: u64,
    /// The sum over these phases.
    total: Tally,
    jobs: JobWaits,
    /// Stragglers of applications whose diagnoses were dropped.
    dropped: Stragglers,
    /// Their excess in microseconds. The sum does not depend on the order of the applications.
    dropped_excess: u64,
}

impl Gathering {
    /// Adds the attempts of an application, or of a part of it.
    pub fn add(&mut self, recording: &Recording) {
        let mut phases: Vec<&PhaseRows> = recording.phases.iter().chain(&recording.without_times).collect();
        phases.sort_by_key(|rows| (rows.of_job, rows.phase));
        for rows in phases {
            // The jobs of a run are applications in findings, and one application in its diagnosis.
            let key = (recording.application + rows.of_job, rows.phase);
            self.parts += 1;
            let part = self.parts;
            if !self.open.contains_key(&key) && (self.folded.contains_key(&key) || self.gone.contains(&key)) {
                let mut phase = Phase::default();
                phase.add(rows);
                self.add_late(key, &phase.tally);
                continue;
            }
            let before = self.open.get(&key).map_or(0, |(_, phase)| phase.bytes());
            let (last, phase) = self.open.entry(key).or_default();
            *last = part;
            phase.add(rows);
            self.held += phase.bytes() - before;
            if self.held > MOST_HELD {
                self.fold_the_idlest();
            }
        }
    }

    /// Folds the phases that had no attempt for longest, until half of the bytes are left.
    fn fold_the_idlest(&mut self) {
        let mut idlest: Vec<(u64, PhaseKey)> = self.open.iter().map(|(key, (last, _))| (*last, *key)).collect();
        idlest.sort_unstable();
        for (_, key) in idlest {
            if self.held <= MOST_HELD / 2 {
                break;
            }
            if let Some((_, phase)) = self.open.remove(&key) {
                self.held -= phase.bytes();
                self.fold(key, phase);
            }
        }
    }

    /// Folds the phases of an application of which no more attempts follow.
    pub(crate) fn complete(&mut self, application: u32, jobs: impl Iterator<Item = u32>) {
        for number in jobs.map(|job| application + job) {
            let keys: Vec<PhaseKey> = self.open.range((number, 0)..=(number, u32::MAX)).map(|(key, _)| *key).collect();
            for key in keys {
                if let Some((_, phase)) = self.open.remove(&key) {
                    self.held -= phase.bytes();
                    self.fold(key, phase);
                }
            }
        }
    }

    /// Returns how many attempts are counted, but are not in the durations, waits and tails of their phases.
    pub(crate) fn late(&self) -> u64 {
        self.late
    }

    /// Adds attempts to a phase that is not open any more.
    fn add_late(&mut self, key: PhaseKey, late: &Tally) {
        self.late += late.attempts.ended;
        self.total.add(late);
        if let Some(folded) = self.folded.get_mut(&key) {
            folded.tally.add(late);
            self.jobs.late(key.0, folded.phase.job.as_deref(), late);
        }
    }

    /// Takes the stragglers of each phase over from the diagnosis of an application that was added.
    pub fn explain(&mut self, diagnosis: &Diagnosis) {
        for found in &diagnosis.by_phase {
            let key = (diagnosis.application + found.of_job, found.phase);
            let StragglersOfPhase { stragglers, skew, .. } = *found;
            if let Some((_, phase)) = self.open.get_mut(&key) {
                (phase.stragglers, phase.skew) = (stragglers, skew);
            } else if let Some(folded) = self.folded.get_mut(&key) {
                (folded.phase.stragglers, folded.phase.skew) = (stragglers, skew);
            }
        }
    }

    /// Counts the stragglers of an application whose diagnosis is dropped, because there are too many.
    pub(crate) fn dropped(&mut self, diagnosis: &Diagnosis) {
        for found in &diagnosis.by_phase {
            self.dropped_excess += (found.stragglers.excess_seconds * 1e6).round() as u64;
            add(&mut self.dropped, &Stragglers { excess_seconds: 0.0, ..found.stragglers });
        }
    }

    /// Returns the findings, given the diagnoses that were not dropped, in the order of the applications.
    pub fn findings(mut self, diagnoses: &[Diagnosis]) -> Findings {
        // Phases are folded in their order, so that the rounding of sums does not depend on the order in which they were added.
        for (key, (_, phase)) in std::mem::take(&mut self.open) {
            self.fold(key, phase);
        }
        let mut phases: Vec<Folded> = self.folded.into_values().collect();
        phases.sort_by(Folded::importance);
        phases.truncate(PHASES);
        let mut stragglers = Stragglers::default();
        for found in diagnoses.iter().flat_map(|diagnosis| &diagnosis.by_phase) {
            add(&mut stragglers, &found.stragglers);
        }
        add(&mut stragglers, &Stragglers { excess_seconds: self.dropped_excess as f64 / 1e6, ..self.dropped });
        let slow_nodes = slow_nodes(diagnoses);
        let tested = diagnoses.iter().map(|one| one.nodes_tested).max().unwrap_or(0);
        let (waiting, jobs, jobs_left_out) = self.jobs.findings();
        Findings {
            tasks: self.total.tasks,
            attempts: self.total.attempts,
            speculation: self.total.speculation,
            machine_time: self.total.machine_time,
            waiting,
            stragglers,
            left_out: self.phases - phases.len() as u64,
            phases: phases.into_iter().map(Folded::into_finding).collect(),
            jobs,
            nodes_tested: tested.max(slow_nodes.len() as u64),
            failing_nodes: failing_nodes(diagnoses),
            slow_nodes,
            jobs_left_out,
        }
    }

    fn fold(&mut self, key: PhaseKey, phase: Phase) {
        let folded = Folded::of(key, phase);
        self.phases += 1;
        self.total.add(&folded.tally);
        self.jobs.phase(&folded);
        self.folded.insert(key, folded);
        if self.folded.len() >= 2 * PHASES {
            self.keep_the_most_important();
        }
    }

    fn keep_the_most_important(&mut self) {
        let mut all: Vec<(PhaseKey, Folded)> = std::mem::take(&mut self.folded).into_iter().collect();
        all.sort_by(|a, b| a.1.importance(&b.1));
        for (key, _) in all.drain(PHASES..) {
            self.gone.insert(key);
            self.gone_in_order.push_back(key);
        }
        self.folded = all.into_iter().collect();
        while self.gone_in_order.len() > GONE {
            if let Some(oldest) = self.gone_in_order.pop_front() {
                self.gone.remove(&oldest);
            }
        }
    }
}

/// Returns the nodes that any application proves to be slow, the slowest first; of several proofs, the one with the most tasks.
fn slow_nodes(diagnoses: &[Diagnosis]) -> Vec<SlowNode> {
    let mut slow: BTreeMap<&str, &SlowNode> = BTreeMap::new();
    for node in diagnoses.iter().flat_map(|diagnosis| &diagnosis.slow_nodes) {
        let slowest = slow.entry(&*node.node).or_insert(node);
        if node.tasks > slowest.tasks {
            *slowest = node;
        }
    }
    let mut slow: Vec<SlowNode> = slow.into_values().cloned().collect();
    slow.sort_by(|a, b| b.ratio.total_cmp(&a.ratio).then_with(|| a.node.cmp(&b.node)));
    slow
}

/// Returns the nodes on which nearly everything failed in any application, those with the most failures first.
fn failing_nodes(diagnoses: &[Diagnosis]) -> Vec<FailingNode> {
    let mut failing: Vec<&FailingNode> = diagnoses.iter().flat_map(|diagnosis| &diagnosis.failing_nodes).collect();
    failing.sort_by(|a, b| b.failed.cmp(&a.failed).then_with(|| a.node.cmp(&b.node)));
    let mut named = FxHashSet::default();
    failing.retain(|one| named.insert(&*one.node));
    failing.into_iter().cloned().collect()
}

fn add(sum: &mut Stragglers, more: &Stragglers) {
    sum.tasks += more.tasks;
    sum.excess_seconds += more.excess_seconds;
    sum.skew += more.skew;
    sum.slow_node += more.slow_node;
    sum.other += more.other;
    sum.unclassified += more.unclassified;
}
