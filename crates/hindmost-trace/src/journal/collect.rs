//! Reads a journal once from beginning to end and collects the data for the summary, the recording and a replay.

use std::collections::BTreeMap;
use std::sync::Arc;

use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
use hindmost_core::journal::Header;
use hindmost_core::metrics::{Needs, PhaseNeeds, Suggestion, suggestions};
use hindmost_core::power::PowerModel;
use hindmost_core::record::{Change, Event, Record};
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;
use hindmost_core::timeline::{AttemptEnd, Cause, Timeline, TimelineRow};
use hindmost_core::workload::PhaseSpec;
use rustc_hash::FxHashSet;

use super::record_reader::JournalRecords;
use crate::error::TraceError;
use crate::reading::causes::{Causes, NOT_SAID, shortened};
use crate::recording::{AttemptRow, Ended, Executor, JournalNode, PhaseRows, Recording, TaskTimes};
use crate::summary::TraceSummary;

/// A node is slow if its learned speed is less than this share of the speed with which it joined.
const SLOW: f64 = 0.9;

/// The longest cause of a failed or killed attempt, in characters.
const LONGEST_CAUSE: usize = 80;

/// The most nodes that a note names. If there are more, the note gives only their number.
const MOST_NAMED: usize = 4;

/// A recorded run: its timeline, and facts that the timeline does not have. All times leave out the run's pauses.
pub(super) struct Collected {
    pub header: Header,
    pub timeline: Timeline,
    seen: Seen,
    /// Whether the journal's last line is incomplete.
    cut_short: bool,
    /// The total length of the pauses that are left out.
    paused: Time,
}

/// Facts about the run that the timeline does not have.
#[derive(Default)]
struct Seen {
    /// The speed with which each node joined, by node id.
    speeds: Vec<f64>,
    /// The power model of each node, by node id, unless it is not valid.
    powers: Vec<Option<Arc<PowerModel>>>,
    /// The speeds that the run learned for each node, in order, and when it did.
    learned: BTreeMap<NodeId, Vec<(Time, f64)>>,
    /// Whether the run estimated durations while it ran (`DurationsLearned`).
    durations_learned: bool,
    /// Attempts that did all of their work, whether or not another attempt had won before.
    finished: FxHashSet<AttemptId>,
}

impl Seen {
    fn note(&mut self, record: &Record) {
        match &record.change {
            Change::Event(Event::NodeJoined { speed, power, .. }) => {
                self.speeds.push(*speed);
                self.powers.push(power.clone().filter(|model| model.check().is_ok()));
            }
            Change::Event(Event::NodeSpeedLearned { node, speed }) => {
                self.learned.entry(*node).or_default().push((record.at, *speed));
            }
            Change::Event(Event::DurationsLearned { .. }) => self.durations_learned = true,
            Change::Event(Event::AttemptFinished { attempt }) => {
                self.finished.insert(*attempt);
            }
            _ => {}
        }
    }
}

impl Collected {
    /// Reads a journal from beginning to end.
    pub fn from(mut records: JournalRecords<'_>) -> Result<Collected, TraceError> {
        let header = records.header().clone();
        // Only its pauses are used: the time of a record without the pauses before it.
        let clock = Timeline { pauses: records.pauses().to_vec(), ..Timeline::default() };
        let (mut seen, mut failed, mut paused) = (Seen::default(), None, Time::ZERO);
        let timeline = Timeline::of(std::iter::from_fn(|| match records.next()? {
            Ok(mut record) => {
                paused = paused.max(clock.paused_until(record.at));
                record.at = record.at - clock.paused_until(record.at);
                seen.note(&record);
                Some(record)
            }
            Err(error) => {
                failed = Some(error);
                None
            }
        }));
        match failed {
            Some(error) => Err(error),
            None => Ok(Collected { header, timeline, seen, cut_short: records.cut_short(), paused }),
        }
    }

    /// Returns the speed with which a node joined.
    fn joined(&self, node: NodeId) -> f64 {
        let joined = self.seen.speeds.get(node.0 as usize).copied();
        joined.filter(|speed| speed.is_finite() && *speed > 0.0).unwrap_or(1.0)
    }

    /// Returns the speeds that the run learned for a slow node since it last counted as normal, relative to the speed
    /// with which it joined. Empty if the node counted as normal at the end.
    fn slow_estimates(&self, node: NodeId) -> Vec<f64> {
        let learned = self.seen.learned.get(&node).into_iter().flatten().rev();
        learned.map(|(_, speed)| speed / self.joined(node)).take_while(|speed| *speed > 0.0 && *speed < SLOW).collect()
    }

    /// Returns from when until when the run counted a node as slow, in seconds.
    fn slow_spans(&self, node: NodeId) -> Vec<(f64, f64)> {
        let mut spans: Vec<(f64, f64)> = Vec::new();
        let mut is_slow = false;
        for (at, speed) in self.seen.learned.get(&node).into_iter().flatten() {
            let (at, was_slow) = (at.seconds(), is_slow);
            is_slow = *speed < SLOW * self.joined(node);
            match (was_slow, is_slow) {
                (false, true) => spans.push((at, self.timeline.end.seconds())),
                (true, false) => spans.last_mut().into_iter().for_each(|span| span.1 = at),
                _ => {}
            }
        }
        spans
    }

    /// Returns the speed of a slow node relative to the speed with which it joined; `None` if the node is not slow. It is
    /// the geometric mean of the run's estimates. A single estimate can be far too low, if it comes from an attempt
    /// that has reported nothing for long.
    fn slowed(&self, node: NodeId) -> Option<f64> {
        let estimates = self.slow_estimates(node);
        let sum: f64 = estimates.iter().map(|speed| speed.ln()).sum();
        (!estimates.is_empty()).then(|| (sum / estimates.len() as f64).exp())
    }

    /// Returns the speed of a node: the estimated speed if the node is slow, otherwise the speed with which it joined.
    fn speed(&self, node: NodeId) -> f64 {
        self.joined(node) * self.slowed(node).unwrap_or(1.0)
    }

    /// Returns why an attempt did not finish, and whether this counts as its failure; `None` if it finished or still
    /// runs. An attempt that something else ended has not failed: it does not count against the retries of its task.
    fn cause(&self, row: &TimelineRow) -> Option<(String, bool)> {
        let named = |text: &str| match shortened(text, LONGEST_CAUSE) {
            text if text.is_empty() => NOT_SAID.to_owned(),
            text => text,
        };
        match &row.outcome {
            _ if self.finished(row) => None,
            AttemptEnd::Won | AttemptEnd::Running => None,
            AttemptEnd::Failed(Cause::Own(reason)) => Some((named(reason), true)),
            AttemptEnd::Failed(Cause::External(what)) => Some((named(what.as_deref().unwrap_or_default()), false)),
            AttemptEnd::NodeLost => Some(("its node was lost".to_owned(), false)),
            AttemptEnd::Lost => Some(("another attempt won, or was expected to".to_owned(), false)),
            AttemptEnd::Replaced => Some(("another attempt replaced it".to_owned(), false)),
            AttemptEnd::Abandoned => Some(("its job was abandoned".to_owned(), false)),
            AttemptEnd::Stopped => Some(("the run was stopped".to_owned(), false)),
        }
    }

    pub fn nodes(&self) -> Vec<JournalNode> {
        let nodes = self.timeline.nodes.iter().enumerate();
        let node = nodes.map(|(at, node)| JournalNode {
            name: node.name.clone(),
            capacity: node.capacity,
            speed: self.speed(NodeId(at as u32)),
            power: self.seen.powers.get(at).cloned().flatten(),
        });
        node.collect()
    }

    /// Returns whether an attempt did all of its work.
    pub fn finished(&self, row: &TimelineRow) -> bool {
        matches!(row.outcome, AttemptEnd::Won | AttemptEnd::Lost) && self.seen.finished.contains(&row.attempt)
    }

    /// Returns how long the attempt ran, in seconds, converted to a node of speed 1. If the attempt began with a part
    /// of its work done, the time is scaled up to all of its work.
    pub fn seconds(&self, row: &TimelineRow) -> f64 {
        let done = if (0.0..1.0).contains(&row.from_progress) { row.from_progress } else { 0.0 };
        (row.end - row.start).seconds() * self.speed(row.node) / (1.0 - done)
    }

    pub fn summary(&self) -> TraceSummary {
        let Timeline { nodes, jobs, rows, end, .. } = &self.timeline;
        let ended = || rows.iter().filter(|row| row.outcome != AttemptEnd::Running);
        let count = |is: &dyn Fn(&TimelineRow) -> bool| ended().filter(|row| is(row)).count() as u64;
        let tasks: FxHashSet<TaskId> = ended().map(|row| row.attempt.task).collect();
        let (mut failures, mut killed_by) = (Causes::default(), Causes::default());
        for (cause, failed) in rows.iter().filter_map(|row| self.cause(row)) {
            if failed { &mut failures } else { &mut killed_by }.count(&cause);
        }
        let mut warnings = Vec::new();
        if self.cut_short {
            warnings
                .push("The journal is cut short in its last line; everything before that line was read.".to_owned());
        }
        TraceSummary {
            format: "journal",
            jobs: jobs.len() as u64,
            stages: jobs.iter().map(|job| job.spec.phases.len() as u64).sum(),
            tasks: tasks.len() as u64,
            attempts: count(&|_| true),
            speculative_attempts: count(&|row| row.redundant),
            failed_attempts: failures.counts().values().sum(),
            killed_attempts: killed_by.counts().values().sum(),
            failures: failures.counts().clone(),
            killed_by: killed_by.counts().clone(),
            nodes: nodes.len() as u64,
            from: Some(0.0),
            to: Some(end.seconds()),
            paused: (self.paused > Time::ZERO).then(|| self.paused.seconds()),
            warnings,
            ..TraceSummary::default()
        }
    }

    /// Returns what the winners of the run's only job needed, and what its phases should reserve because of it.
    fn needs(&self) -> (Vec<PhaseNeeds>, Vec<Suggestion>) {
        let [job] = &self.timeline.jobs[..] else { return Default::default() };
        let of = |phase| Needs::of(self.timeline.rows.iter().filter(|row| row.attempt.task.phase == phase));
        let needs: Vec<Option<Needs>> = (0..job.spec.phases.len() as u32).map(of).collect();
        let better = suggestions(&self.timeline, &needs, &self.header.dimensions);
        let phases = job.spec.phases.iter().zip(needs);
        let named = phases.filter_map(|(spec, needs)| Some(PhaseNeeds { phase: spec.name.to_string(), needs: needs? }));
        (named.collect(), better)
    }

    /// Returns the run as a recording for a diagnosis.
    pub fn recording(&self) -> Recording {
        let jobs = &self.timeline.jobs;
        let mut recording = Recording {
            name: (jobs.len() == 1).then(|| jobs[0].spec.name.to_string()),
            are_processes_separate: true,
            from: Some(0.0),
            to: Some(self.timeline.end.seconds()),
            jobs: jobs.len() as u64,
            active: jobs.iter().map(|job| (job.arrival.seconds(), job.finish.map(Time::seconds))).collect(),
            executors: self
                .timeline
                .nodes
                .iter()
                .enumerate()
                .map(|(at, node)| Executor {
                    host: node.name.to_string(),
                    slots: self.slots(&node.capacity),
                    avoided: self.slow_spans(NodeId(at as u32)),
                    ..Executor::default()
                })
                .collect(),
            needs: self.needs(),
            ..Recording::default()
        };
        let mut places = BTreeMap::new();
        for (at, job) in jobs.iter().enumerate() {
            for (phase, spec) in job.spec.phases.iter().enumerate().filter(|(_, spec)| spec.tasks_to_do() > 0) {
                places.insert((at as u32, phase as u32), recording.phases.len());
                recording.phases.push(PhaseRows {
                    phase: phase as u32,
                    name: Some(spec.name.to_string()),
                    job: Some(job.spec.name.to_string()),
                    of_job: at as u32,
                    tasks: Some(spec.tasks_to_do()),
                    ..PhaseRows::default()
                });
            }
        }
        let mut rows: Vec<&TimelineRow> =
            self.timeline.rows.iter().filter(|row| row.outcome != AttemptEnd::Running).collect();
        rows.sort_by_key(|row| (row.end, row.attempt));
        for row in rows {
            let task = row.attempt.task;
            let Some(place) = places.get(&(task.job.0, task.phase)) else { continue };
            if let Some((reason, true)) = self.cause(row) {
                recording.failed(&reason, (row.end - row.start).seconds());
            }
            recording.phases[*place].rows.push(AttemptRow {
                task: task.index,
                executor: row.node.0,
                start: row.start.seconds(),
                end: row.end.seconds(),
                bytes_read: None,
                spent: TaskTimes::default(),
                ended: self.ended(row),
                wins: row.outcome == AttemptEnd::Won,
                speculative: row.redundant,
                repeated: false,
                is_unmatched: false,
            });
        }
        for (place, ready) in self.ready(&places) {
            recording.phases[place].ready = ready;
        }
        recording.phases.retain(|phase| !phase.rows.is_empty());
        recording
    }

    /// Returns when the tasks of phases could start that wait for single tasks, by the place of the phase: task and time, sorted.
    fn ready(&self, places: &BTreeMap<(u32, u32), usize>) -> BTreeMap<usize, Vec<(u32, f64)>> {
        let jobs = (0..).map(JobId).zip(&self.timeline.jobs);
        let with_edges = jobs.flat_map(|(id, job)| {
            let phases = (0..).zip(&job.spec.phases).filter(|(_, spec)| !spec.edges.is_empty());
            phases.map(move |(phase, spec)| (id, phase, spec))
        });
        let with_edges: Vec<(JobId, u32, &PhaseSpec)> = with_edges.collect();
        if with_edges.is_empty() {
            return BTreeMap::new();
        }
        let won = self.timeline.rows.iter().filter(|row| row.outcome == AttemptEnd::Won);
        let ended: BTreeMap<TaskId, f64> = won.map(|row| (row.attempt.task, row.end.seconds())).collect();
        let of_phase = |(job, phase, spec): &(JobId, u32, &PhaseSpec)| {
            let mut last: BTreeMap<u32, f64> = BTreeMap::new();
            for edges in &spec.edges {
                let of_parent = TaskId { job: *job, phase: edges.parent, index: 0 };
                for (parent, end) in ended.range(of_parent..=TaskId { index: u32::MAX, ..of_parent }) {
                    for child in edges.children_of(parent.index) {
                        let last = last.entry(child).or_insert(*end);
                        *last = last.max(*end);
                    }
                }
            }
            Some((*places.get(&(job.0, *phase))?, last.into_iter().collect()))
        };
        with_edges.iter().filter_map(of_phase).collect()
    }

    /// Returns how many tasks a node of this capacity runs at the same time; `None` if tasks demand different amounts or nothing.
    fn slots(&self, capacity: &Resources) -> Option<u32> {
        let phases = self.timeline.jobs.iter().flat_map(|job| &job.spec.phases).filter(|spec| spec.tasks_to_do() > 0);
        let mut demands = phases.map(|spec| self.header.dimensions.demand(&spec.demand).ok());
        let first = demands.next()??;
        let is_same = demands.all(|demand| demand == Some(first));
        (is_same && !first.is_none()).then(|| u32::try_from(capacity.times(&first)).unwrap_or(u32::MAX))
    }

    /// Returns how an attempt ended.
    fn ended(&self, row: &TimelineRow) -> Ended {
        match row.outcome {
            _ if self.finished(row) => Ended::Succeeded,
            AttemptEnd::Failed(Cause::Own(_)) => Ended::Failed,
            AttemptEnd::Failed(_) | AttemptEnd::NodeLost | AttemptEnd::Abandoned | AttemptEnd::Stopped => {
                Ended::Interrupted
            }
            _ => Ended::Killed,
        }
    }

    /// Returns the sentences for [`RecordedRun::notes`](super::RecordedRun::notes).
    pub fn notes(&self) -> Vec<String> {
        let mut notes = vec![self.how_it_went()];
        if self.paused > Time::ZERO {
            notes.push(format!(
                "the recorded run was paused for {} before it was resumed; its flowtime and the replay leave this out",
                rounded(self.paused)
            ));
        }
        if self.seen.durations_learned {
            notes.push(
                "the recorded run learned durations while it ran; in the replay their mean and deviation are known from the beginning"
                    .to_owned(),
            );
        }
        let name = |node: NodeId| self.timeline.node_name(node).to_owned();
        let slow = self.seen.learned.keys().filter_map(|node| Some((*node, self.slowed(*node)?)));
        let slow = slow.map(|(node, speed)| {
            let estimates = self.slow_estimates(node);
            let [low, high] = [f64::min, f64::max].map(|of| estimates.iter().copied().reduce(of).unwrap_or(speed));
            let from = match estimates.len() {
                1 => "a single estimate".to_owned(),
                count => format!("the geometric mean of {count} estimates from {low:.2} to {high:.2}"),
            };
            format!("{} (about {speed:.2} times its stated speed, {from})", name(node))
        });
        let slow: Vec<String> = slow.collect();
        if !slow.is_empty() {
            let they = if slow.len() == 1 { "it has" } else { "they have" };
            notes.push(format!(
                "{} estimated to be slow; in the replay {they} this speed from the beginning, and policies know it",
                were(&slow)
            ));
        }
        let lost = self.timeline.nodes.iter().filter(|node| !node.lost_and_returned.is_empty());
        let lost: Vec<String> = lost.map(|node| node.name.to_string()).collect();
        if !lost.is_empty() {
            notes.push(format!(
                "{} lost in the recorded run; in the replay all nodes are available from beginning to end",
                were(&lost)
            ));
        }
        notes
    }

    fn how_it_went(&self) -> String {
        let jobs = &self.timeline.jobs;
        let flowtimes = jobs.iter().filter_map(|job| Some((job.finish? - job.arrival).seconds()));
        let flowtimes: Vec<f64> = flowtimes.collect();
        let how = format!("policy {}, knowledge {}", self.header.policy, self.header.knowledge);
        let mean = flowtimes.iter().sum::<f64>() / flowtimes.len() as f64;
        match (flowtimes.len(), jobs.len()) {
            (0, _) => format!("the recorded run ({how}) ends at {} with no job finished", rounded(self.timeline.end)),
            (1, 1) => format!("the recorded run ({how}) had a flowtime of {mean:.3} s"),
            (all, jobs) if all == jobs => format!("the recorded run ({how}) had a mean flowtime of {mean:.3} s"),
            (some, all) => {
                format!(
                    "the recorded run ({how}) had a mean flowtime of {mean:.3} s over the {some} of {all} jobs that finished"
                )
            }
        }
    }
}

fn rounded(time: Time) -> String {
    format!("{:.3} s", time.seconds())
}

/// Returns the beginning of a sentence about nodes: `node a was`, `nodes a and b were`, `nodes a, b and c were`, `7
/// nodes were`.
fn were(names: &[String]) -> String {
    match names {
        [] => "no node was".to_owned(),
        [only] => format!("node {only} was"),
        many if many.len() > MOST_NAMED => format!("{} nodes were", many.len()),
        [all @ .., last] => format!("nodes {} and {last} were", all.join(", ")),
    }
}
