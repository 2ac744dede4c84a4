//! What stragglers cost in a log, and why: phase by phase, in memory that does not grow with the log.
//!
//! Readers tell an [`Analysis`] of each attempt that ended, in the order of the log; it keeps sums and
//! sketches, and gives [`Findings`] in the end.
//!
//! A phase is held in detail while it is one of 256 that were heard of last, and one of 32 of those that are
//! closed. Then it is folded into its finding: what is known of it afterwards (a killed loser, a winner's task
//! repeated) adds to counts and machine time alone. Findings of the 256 most important phases and the 64 most
//! important jobs are kept; the totals are of all. Tasks of a phase are told apart up to 33 millions.
//!
//! Times that are no numbers, or further than 10¹² seconds from 0, count as unknown, and so do both times of an
//! attempt that ends before it starts. Durations are rounded to whole microseconds, which is less than clocks of
//! logs tell; where all of a phase are whole milliseconds, they count as rounded to these.

mod attempts;
mod ends;
mod fold;
mod job_waits;
mod nodes;
mod phase;
mod regression;
mod task_set;
mod winners;

use std::collections::{BTreeMap, VecDeque};

pub use hindmost_core::metrics::Findings;
use rustc_hash::FxHashSet;

use attempts::Tally;
use fold::Folded;
use job_waits::JobWaits;
use nodes::{Blame, Nodes};
use phase::Phase;

/// Phases held in detail.
const OPEN: usize = 256;
/// Closed phases among them.
const CLOSED: usize = 32;
/// Findings of phases that are kept.
const PHASES: usize = 256;
/// Phases with facts and without attempts that are remembered.
const ANNOUNCED: usize = 8192;
/// Phases without a finding that are remembered, so that what follows is not taken for another phase.
const GONE: usize = 4096;
/// Letters of a name that are kept.
const NAME: usize = 500;

/// A phase as a reader numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PhaseKey {
    /// The application, or the Hadoop job.
    pub application: u32,
    /// The stage, or 0 for map and 1 for reduce.
    pub phase: u32,
}

/// What is known of a phase besides its attempts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseFacts {
    /// Its name, for people.
    pub name: Option<String>,
    /// The job it belongs to, for people.
    pub job: Option<String>,
    /// Its number of tasks.
    pub tasks: Option<u32>,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ended {
    /// Its work was done, in time or too late.
    Succeeded,
    /// It broke.
    Failed,
    /// It was killed.
    Killed,
}

/// An attempt that ended, as every format tells it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EndedAttempt {
    /// The task, an index within its phase.
    pub task: u32,
    /// The machine, as the reader numbers machines (not executors); `None` where unknown.
    pub node: Option<u32>,
    /// When it started, seconds on the log's clock; `None` where unknown.
    pub start: Option<f64>,
    /// When it ended.
    pub end: Option<f64>,
    /// Bytes that it read: input, shuffle; `None` where the log doesn't say.
    pub bytes_read: Option<u64>,
    /// Whether it was started as a speculative copy.
    pub speculative: bool,
    /// Whether it ran because the output of an attempt that had won was lost: then it wins nothing, and nothing has
    /// overtaken it.
    pub repeated: bool,
    /// How it ended.
    pub ended: Ended,
}

/// Takes attempts in and gives findings. See the module's documentation.
#[derive(Debug, Default)]
pub struct Analysis {
    /// Phases with attempts, in detail.
    open: BTreeMap<PhaseKey, Phase>,
    /// Facts of phases that are not folded, and the order in which they came.
    facts: BTreeMap<PhaseKey, PhaseFacts>,
    announced: VecDeque<PhaseKey>,
    /// What was found of phases that were folded: the most important ones.
    folded: BTreeMap<PhaseKey, Folded>,
    gone: FxHashSet<PhaseKey>,
    gone_in_order: VecDeque<PhaseKey>,
    /// How many phases were folded.
    phases: u64,
    /// Of all folded phases.
    total: Tally,
    stragglers: hindmost_core::metrics::Stragglers,
    blame: Blame,
    nodes: Nodes,
    jobs: JobWaits,
    /// Counts what was heard, as a clock.
    now: u64,
}

impl Analysis {
    /// One that has seen nothing.
    pub fn new() -> Analysis {
        Analysis::default()
    }

    /// Tells what is known of a phase; later facts fill the gaps of earlier ones.
    pub fn phase(&mut self, key: PhaseKey, facts: PhaseFacts) {
        if let Some(folded) = self.folded.get_mut(&key) {
            let finding = &mut folded.finding;
            finding.name = finding.name.take().or(facts.name.map(shortened));
            finding.tasks_stated = finding.tasks_stated.or(facts.tasks);
            // What is known of its job was added up without this name.
            return;
        }
        if self.gone.contains(&key) {
            return;
        }
        let known = self.facts.entry(key).or_insert_with(|| {
            self.announced.push_back(key);
            PhaseFacts::default()
        });
        known.name = known.name.take().or(facts.name.map(shortened));
        known.job = known.job.take().or(facts.job.map(shortened));
        known.tasks = known.tasks.or(facts.tasks);
        while self.announced.len() > ANNOUNCED {
            let Some(oldest) = self.announced.pop_front() else { break };
            if self.open.contains_key(&oldest) {
                self.announced.push_back(oldest);
            } else {
                self.facts.remove(&oldest);
            }
        }
    }

    /// Takes in an attempt that ended. The first attempt of a task to succeed wins it.
    pub fn ended(&mut self, key: PhaseKey, attempt: &EndedAttempt) {
        self.ended_as(key, attempt, None);
    }

    /// As [`ended`](Analysis::ended), where the reader may know whether the attempt won its task: it holds tasks for
    /// longer than phases are held in detail, and counts the same winners.
    pub(crate) fn ended_as(&mut self, key: PhaseKey, attempt: &EndedAttempt, wins: Option<bool>) {
        self.now += 1;
        if let Some(phase) = self.open.get_mut(&key) {
            phase.ended(attempt, wins, self.now);
            return;
        }
        let folded = self.folded.get_mut(&key);
        if folded.is_some() || self.gone.contains(&key) {
            let mut late = Tally::default();
            late.late(attempt, wins == Some(true));
            self.total.add(&late);
            if let Some(folded) = folded {
                folded.tally.add(&late);
                self.jobs.late(key.application, folded.finding.job.as_deref(), &late);
            }
            return;
        }
        let mut phase = Phase::default();
        phase.ended(attempt, wins, self.now);
        self.open.insert(key, phase);
        if self.open.len() > OPEN {
            self.fold_the_idlest(|_| true);
        }
    }

    /// Tells that a phase is over: what it needed while it ran can go. A few attempts may still follow
    /// (killed losers), and it may even be submitted again.
    pub fn closed(&mut self, key: PhaseKey) {
        let Some(phase) = self.open.get_mut(&key) else { return };
        self.now += 1;
        phase.close(self.now);
        if self.open.values().filter(|phase| phase.is_closed()).count() > CLOSED {
            self.fold_the_idlest(Phase::is_closed);
        }
    }

    /// What was found; `node` names the machines.
    pub fn findings(mut self, node: &dyn Fn(u32) -> String) -> Findings {
        // In the order of their keys: the order in which phases came must not show in the last digit of a sum.
        while let Some((&key, _)) = self.open.first_key_value() {
            self.fold(key);
        }
        let nodes_tested = self.nodes.tested();
        let mut slow = self.nodes.slow();
        for (node, found) in &mut slow {
            found.stragglers = self.blame.explained(*node, found.ratio);
        }
        let ratio_of = |node: u32| slow.iter().find(|(slow, _)| *slow == node).map(|(_, found)| found.ratio);
        let mut phases: Vec<Folded> = self.folded.into_values().collect();
        phases.sort_by(Folded::importance);
        phases.truncate(PHASES);
        let phases: Vec<_> = phases.into_iter().map(|folded| folded.into_finding(&ratio_of)).collect();
        let mut stragglers = self.stragglers;
        self.blame.assign(&mut stragglers, &ratio_of);
        for (number, found) in &mut slow {
            found.node = shortened(node(*number));
        }
        let (waiting, jobs, jobs_left_out) = self.jobs.findings();
        Findings {
            tasks: self.total.tasks,
            attempts: self.total.attempts,
            speculation: self.total.speculation,
            machine_time: self.total.machine_time,
            waiting,
            stragglers,
            left_out: self.phases - phases.len() as u64,
            phases,
            jobs,
            slow_nodes: slow.into_iter().map(|(_, found)| found).collect(),
            nodes_tested,
            jobs_left_out,
        }
    }

    fn fold_the_idlest(&mut self, which: impl Fn(&Phase) -> bool) {
        let open = self.open.iter().filter(|(_, phase)| which(phase));
        if let Some(key) = open.min_by_key(|(_, phase)| phase.last_heard()).map(|(key, _)| *key) {
            self.fold(key);
        }
    }

    fn fold(&mut self, key: PhaseKey) {
        let Some(phase) = self.open.remove(&key) else { return };
        let facts = self.facts.remove(&key).unwrap_or_default();
        let folded = Folded::of(key, facts, phase, &mut self.nodes);
        self.phases += 1;
        self.total.add(&folded.tally);
        let (sum, found) = (&mut self.stragglers, &folded.finding.stragglers);
        sum.tasks += found.tasks;
        sum.excess_seconds += found.excess_seconds;
        sum.skew += found.skew;
        sum.other += found.other;
        sum.unclassified += found.unclassified;
        self.blame.add(&folded.blame);
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

/// A name whose length is bounded.
fn shortened(mut name: String) -> String {
    if let Some((end, _)) = name.char_indices().nth(NAME) {
        name.truncate(end);
        name.push('…');
    }
    name.shrink_to_fit();
    name
}
