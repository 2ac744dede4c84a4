//! Computes what stragglers cost in a log and why, phase by phase, in memory that does not grow with the log.
//!
//! A reader passes each attempt that ended to an [`Analysis`], in the order of the log. The analysis keeps sums and
//! sketches, and returns [`Findings`] at the end.
//!
//! The analysis keeps the details of the 256 phases with the latest events; at most 32 of these phases may be closed.
//! It drops the details of any other phase and keeps only the phase's finding; this is called folding. Attempts that
//! end after the folding (a killed loser, a repeated task) only add to counts and machine time. The findings of the 256
//! most important phases and of the 64 most important jobs are kept; totals cover all phases and jobs. Up to 33 million
//! tasks of a phase are distinguished.
//!
//! Times that are not numbers, or further than 10¹² seconds from 0, count as unknown. If an attempt ends before it
//! starts, both times count as unknown. Durations are rounded to whole microseconds, which is finer than the clocks of
//! logs. If all durations of a phase are whole milliseconds, the analysis assumes that the phase's clock has a
//! resolution of a millisecond.

mod attempts;
mod ends;
mod fold;
mod job_waits;
pub(crate) mod nodes;
mod phase;
mod rank_test;
pub(crate) mod regression;
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

/// The most phases whose details are kept.
const OPEN: usize = 256;
/// The most closed phases whose details are kept.
const CLOSED: usize = 32;
/// The most phases whose findings are kept.
const PHASES: usize = 256;
/// The most phases without attempts whose facts are kept.
const ANNOUNCED: usize = 8192;
/// The most phases that are remembered after their findings were dropped, so that later attempts do not begin a new
/// phase.
const GONE: usize = 4096;
/// The longest name that is kept, in characters.
const NAME: usize = 500;

/// Identifies a phase by the numbers that the reader gave to its application and to the phase itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PhaseKey {
    /// Number of the application; for Hadoop, number of the job.
    pub application: u32,
    /// Id of the stage; for Hadoop, 0 for maps and 1 for reduces.
    pub phase: u32,
}

/// Facts about a phase other than its attempts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseFacts {
    /// The phase's name, for display.
    pub name: Option<String>,
    /// The name of the phase's job, for display.
    pub job: Option<String>,
    /// The phase's number of tasks, as stated in the log.
    pub tasks: Option<u32>,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ended {
    /// The attempt did all of its work, whether or not another attempt had won before.
    Succeeded,
    /// The attempt failed, for any reason.
    Failed,
    /// The attempt was killed, for any reason. If another attempt of its task wins, it has lost.
    Killed,
    /// The attempt was killed for a reason that has nothing to do with other attempts of its task, such as the loss of
    /// its node. An attempt of its task that wins later does not make it a loser.
    Interrupted,
}

/// An attempt that ended, in the form common to all formats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EndedAttempt {
    /// The task's index within its phase.
    pub task: u32,
    /// The number that the reader gave to the machine (not to the executor); `None` if unknown.
    pub node: Option<u32>,
    /// When the attempt started, in seconds on the log's clock; `None` if unknown.
    pub start: Option<f64>,
    /// When the attempt ended, in seconds on the log's clock; `None` if unknown.
    pub end: Option<f64>,
    /// Bytes of input and shuffle that the attempt read; `None` if the log does not say.
    pub bytes_read: Option<u64>,
    /// Whether the attempt was started as a speculative copy.
    pub speculative: bool,
    /// Whether the attempt ran because the output of an earlier successful attempt was lost. Such an attempt does not
    /// win its task and is not counted as overtaken.
    pub repeated: bool,
    /// How the attempt ended.
    pub ended: Ended,
}

/// Collects attempts and computes findings; see [the module](self) for what it keeps.
#[derive(Debug, Default)]
pub struct Analysis {
    /// Details of phases with attempts that are not folded.
    open: BTreeMap<PhaseKey, Phase>,
    /// Facts about phases that are not folded.
    facts: BTreeMap<PhaseKey, PhaseFacts>,
    /// Keys of phases whose facts were added, the oldest first. Some of these phases may be folded.
    announced: VecDeque<PhaseKey>,
    /// The most important folded phases.
    folded: BTreeMap<PhaseKey, Folded>,
    /// Folded phases whose findings were dropped.
    gone: FxHashSet<PhaseKey>,
    /// The phases in `gone`, the oldest first.
    gone_in_order: VecDeque<PhaseKey>,
    /// Number of phases that were folded.
    phases: u64,
    /// The sum over all folded phases.
    total: Tally,
    stragglers: hindmost_core::metrics::Stragglers,
    blame: Blame,
    nodes: Nodes,
    jobs: JobWaits,
    /// Number of events so far; serves as a clock.
    now: u64,
}

impl Analysis {
    /// Returns an analysis without attempts.
    pub fn new() -> Analysis {
        Analysis::default()
    }

    /// Adds facts about a phase. Later facts only fill gaps of earlier ones.
    pub fn phase(&mut self, key: PhaseKey, facts: PhaseFacts) {
        if let Some(folded) = self.folded.get_mut(&key) {
            let finding = &mut folded.finding;
            finding.name = finding.name.take().or(facts.name.map(shortened));
            finding.tasks_stated = finding.tasks_stated.or(facts.tasks);
            // The job is not updated, because the phase was already added to a job without this name.
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

    /// Adds an attempt that ended. The first attempt of a task to succeed wins it.
    pub fn ended(&mut self, key: PhaseKey, attempt: &EndedAttempt) {
        self.ended_as(key, attempt, None);
    }

    /// Adds an attempt that ended. `wins` says whether the attempt won its task; if it is `None`, the first attempt of
    /// a task to succeed wins. Readers remember tasks longer than this analysis, so it relies on their answer.
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

    /// Marks a phase as over, so that its details can be folded. Further attempts of the phase are accepted: losers
    /// that are killed late, and attempts of a resubmitted stage.
    pub fn closed(&mut self, key: PhaseKey) {
        let Some(phase) = self.open.get_mut(&key) else { return };
        self.now += 1;
        phase.close(self.now);
        if self.open.values().filter(|phase| phase.is_closed()).count() > CLOSED {
            self.fold_the_idlest(Phase::is_closed);
        }
    }

    /// Returns the findings; `node` returns a machine's name by its number.
    pub fn findings(mut self, node: &dyn Fn(u32) -> String) -> Findings {
        // Folds phases by key, so that the rounding of sums does not depend on the order of the phases.
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
        if let Some(key) = open.min_by_key(|(_, phase)| phase.last_event()).map(|(key, _)| *key) {
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

/// Shortens a name to at most `NAME` characters.
fn shortened(mut name: String) -> String {
    if let Some((end, _)) = name.char_indices().nth(NAME) {
        name.truncate(end);
        name.push('…');
    }
    name.shrink_to_fit();
    name
}
