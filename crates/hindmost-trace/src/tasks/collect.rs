//! Collects the rows of a log by application, and finishes applications when they hold too many rows or the log ends.
//!
//! At most [`MOST_HELD`] rows are held at a time. If there are more, the applications that have had no row for longest
//! are finished: counted, diagnosed and dropped. So memory does not grow with the log if its rows are sorted by
//! application or by time. An application with more rows is counted in parts, each as if it were complete;
//! attempts of a task in different parts count as tasks of their own. Its diagnosis covers the first part.

use hindmost_core::metrics::SlowNode;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;

use super::held::{Application, Held, LONGEST_NAME, NO_BYTES, NO_CAUSE, NO_NODE, Names};
use super::issues::Issues;
use super::long_tasks::LongTasks;
use super::row::Row;
use super::shared::Shared;
use super::units;
use crate::joined::Joined;
use crate::reading::causes::{Causes, shortened};
use crate::recorder::{Recorder, Replays};
use crate::recording::Ended;

/// The most rows that are held, of all applications together.
pub(super) const MOST_HELD: usize = 1 << 19;
/// The most nodes that are distinguished.
const MOST_NODES: usize = 1 << 18;
/// The most phases of an application, and the most jobs of one that is held, that are distinguished.
const MOST_NAMES: usize = 1 << 18;
/// The most applications of which a part is finished that may continue, and the most names of their phases and jobs.
const MOST_FINISHED: usize = 10_000;
const MOST_FINISHED_NAMES: usize = 1 << 20;
/// The longest cause that is kept, in characters.
const LONGEST_CAUSE: usize = 80;
/// The most distinct causes that are remembered by number.
const MOST_CAUSES: usize = 1000;

/// How a format's attempts are to be understood.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts about the format")]
pub(crate) struct Rules {
    /// Whether an attempt that was followed by one with a higher number failed, whatever its row says.
    pub retried_have_failed: bool,
    /// Whether tasks with the same name in phases with the same name do the same work in every job.
    pub same_in_every_job: bool,
    /// Whether the jobs of an application are those of [`Row::job`]; otherwise an application is one job.
    pub jobs_within: bool,
    /// Whether several runs, one after another, may have written the log.
    pub has_pauses: bool,
}

/// Collects rows.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    pub issues: Issues,
    pub rules: Rules,
    /// Name of the log, for applications without one.
    pub name: String,
    /// For which phases others wait, by application and phase, if the log says so.
    pub waits_for: FxHashMap<(String, String), Vec<String>>,
    pub(super) counts: Counts,
    pub(super) failures: Causes,
    pub(super) kills: Causes,
    pub(super) nodes: Names,
    /// The number of each application, by a hash of its name.
    numbers: FxHashMap<u64, u32>,
    pub(super) open: FxHashMap<u32, Application>,
    /// Names of phases and jobs of finished parts that are kept.
    finished_names: usize,
    /// Rows that are held.
    held: usize,
    /// Rows that were added.
    rows: u64,
    causes: Names,
    /// Takes the recordings of applications.
    pub(super) recorder: Recorder,
    /// Tasks that are long in several jobs.
    pub(super) long_tasks: LongTasks,
    /// Nodes that all jobs together prove to be slow.
    pub(super) slow_nodes: Vec<SlowNode>,
    /// The slots that the open applications share.
    pub(super) shared: Shared,
}

/// Counts over all applications.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub jobs: u64,
    pub phases: u64,
    pub tasks: u64,
    pub attempts: u64,
    pub speculative: u64,
    pub failed: u64,
    pub killed: u64,
    pub from: Option<f64>,
    pub to: Option<f64>,
}

impl Collector {
    /// Returns a collector that gives the recordings of applications to `recorder`.
    pub(crate) fn new(mut recorder: Recorder) -> Collector {
        let keeps_all = matches!(recorder.wanted.replays, Replays::All);
        recorder.kept.joined = recorder.wants_replays().then(|| Joined::new(keeps_all));
        Collector { recorder, ..Collector::default() }
    }

    /// Returns whether any attempt was found that has ended.
    pub(crate) fn found_any(&self) -> bool {
        self.rows > 0
    }

    /// Returns why no attempt was found, for an error.
    pub(crate) fn why_none(&self) -> String {
        let mut warnings = Vec::new();
        self.issues.add_warnings(&mut warnings);
        if warnings.is_empty() { String::new() } else { format!(": {}", warnings.join(" ").trim_end_matches('.')) }
    }

    /// Adds a row of the log.
    pub(crate) fn add(&mut self, line: u64, row: &Row<'_>) {
        let Some(ended) = row.state else {
            self.issues.unended.add(|| line);
            return;
        };
        match (row.start, row.end) {
            (Some(start), Some(end)) if end < start => self.issues.reversed.add(|| line),
            (Some(_), Some(_)) => {}
            _ => self.issues.untimed.add(|| line),
        }
        // Other columns may hold anything, such as Airflow's pickles.
        let taken = [row.application, row.job, row.phase, row.task, row.node, row.cause];
        if self.issues.is_repaired && taken.iter().any(|text| text.contains(char::REPLACEMENT_CHARACTER)) {
            self.issues.note("Some rows are not valid UTF-8; the bytes were replaced.");
        }
        self.rows += 1;
        let number = self.number(row.application);
        let node = if row.node.is_empty() || self.nodes.len() >= MOST_NODES {
            let known = self.nodes.numbers.get(row.node).copied();
            self.issues.on_others += u64::from(known.is_none() && !row.node.is_empty());
            known.unwrap_or(NO_NODE)
        } else {
            self.nodes.number(row.node, usize::MAX)
        };
        let cause = if ended == Ended::Succeeded || row.cause.is_empty() {
            NO_CAUSE
        } else {
            self.causes.number(&shortened(row.cause, LONGEST_CAUSE), MOST_CAUSES) as u16
        };
        let (rows, names_tasks) = (self.rows, self.rules.same_in_every_job);
        let application = self.open.entry(number).or_insert_with(|| Application {
            name: shortened(row.application, LONGEST_NAME).into(),
            ..Application::default()
        });
        application.last = rows;
        let phase = application.phases.number(row.phase, MOST_NAMES);
        let work = if row.work.is_empty() { row.phase } else { row.work };
        if application.works.len() <= phase as usize && row.work != row.phase {
            application.works.resize(phase as usize, Box::default());
            application.works.push(shortened(row.work, LONGEST_NAME).into());
        }
        let job = if row.job.is_empty() { 0 } else { application.jobs.number(row.job, MOST_NAMES) };
        self.issues.of_others +=
            std::mem::take(&mut application.phases.beyond) + std::mem::take(&mut application.jobs.beyond);
        application.rows.push(Held {
            task: if row.task.is_empty() { rows } else { hash(&[row.phase, row.job, row.task]) },
            in_every_job: if names_tasks && !row.task.is_empty() { hash(&[work, row.task]).max(1) } else { 0 },
            // Without the name of a phase, numbers of tasks may mean anything.
            is_work_named: !work.is_empty() || units::number(row.task).is_none(),
            submitted: row.submitted.unwrap_or(f64::NAN),
            start: row.start.unwrap_or(f64::NAN),
            end: row.end.unwrap_or(f64::NAN),
            bytes: row.bytes.unwrap_or(NO_BYTES),
            phase,
            job,
            node,
            slots: row.slots.filter(|slots| *slots > 1.0 && *slots < 1e6).unwrap_or(1.0) as f32,
            attempt: row.attempt.map_or(0, |attempt| attempt.saturating_add(1).min(u32::from(u16::MAX)) as u16),
            cause,
            ended,
            speculative: row.speculative,
        });
        self.held += 1;
        if self.held >= MOST_HELD {
            self.finish_the_idlest();
        }
    }

    /// Returns the number of an application.
    fn number(&mut self, name: &str) -> u32 {
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(hash(&[name])).or_insert(next);
        self.issues.forgotten += u64::from(number < next && !self.open.contains_key(&number));
        number
    }

    /// Gives nodes other names, such as when the log names them after their attempts.
    pub(crate) fn rename_nodes(&mut self, names: &FxHashMap<String, String>) {
        for name in &mut self.nodes.list {
            if let Some(new) = names.get(&**name) {
                *name = new.as_str().into();
            }
        }
    }

    /// Gives phases of applications of which no part is finished other names; those that then have the same name become one.
    pub(crate) fn join_phases(&mut self, names: &FxHashMap<&str, &str>) {
        let names: FxHashMap<String, &str> =
            names.iter().map(|(old, new)| (shortened(old, LONGEST_NAME), *new)).collect();
        for application in self.open.values_mut().filter(|one| one.parts == 0 && !names.is_empty()) {
            let (phases, works) = (std::mem::take(&mut application.phases), std::mem::take(&mut application.works));
            application.works.resize(phases.len(), Box::default());
            let mut numbers = Vec::with_capacity(phases.len());
            for (at, name) in phases.list.iter().enumerate() {
                let number = application.phases.number(names.get(&**name).copied().unwrap_or(name), MOST_NAMES);
                application.works[number as usize] = works.get(at).cloned().unwrap_or_default();
                numbers.push(number);
            }
            for row in &mut application.rows {
                row.phase = numbers[row.phase as usize];
            }
        }
    }

    /// Makes times from `from` on earlier by so many seconds, such as after a change of the clock. The end of a row that started before
    /// is right.
    pub(crate) fn earlier(&mut self, from: f64, by: f64) {
        for row in self.open.values_mut().flat_map(|application| &mut application.rows) {
            let is_later = row.start >= from;
            for (time, moves) in [(&mut row.submitted, true), (&mut row.start, true), (&mut row.end, is_later)] {
                *time -= if moves && *time >= from { by } else { 0.0 };
            }
        }
    }

    /// Finishes the applications that have had no row for longest, until half of the rows are left.
    fn finish_the_idlest(&mut self) {
        let mut idlest: Vec<(u64, u32)> = self.open.iter().map(|(number, one)| (one.last, *number)).collect();
        idlest.sort_unstable();
        self.recorder.kept.joined.iter_mut().for_each(Joined::is_too_large);
        self.share_slots();
        for (_, number) in idlest {
            if self.held <= MOST_HELD / 2 {
                break;
            }
            let Some(mut application) = self.open.remove(&number) else { continue };
            self.compare_with_others(&application);
            self.finish(number, &mut application);
            // Late rows continue the phases and jobs.
            application.rows = Vec::new();
            let names = application.phases.len() + application.jobs.len();
            if self.open.len() < MOST_FINISHED && self.finished_names + names <= MOST_FINISHED_NAMES {
                self.finished_names += names;
                self.open.insert(number, application);
            }
        }
        // It is large, and says nothing about the rows that follow.
        self.shared = Shared::default();
    }

    /// Finishes all applications.
    pub(crate) fn end(&mut self) {
        let mut all: Vec<u32> = self.open.keys().copied().collect();
        all.sort_unstable();
        self.slow_nodes = self.slow_in_log();
        self.share_slots();
        let open = std::mem::take(&mut self.open);
        for number in &all {
            self.compare_with_others(&open[number]);
        }
        self.open = open;
        for number in all {
            if let Some(mut application) = self.open.remove(&number) {
                self.finish(number, &mut application);
            }
        }
    }

    /// Finds out which slots the open applications share, if a diagnosis needs it.
    fn share_slots(&mut self) {
        if self.recorder.wanted.diagnoses && self.open.len() > 1 {
            self.shared = Shared::of(&self.open, self.nodes.len());
        }
    }

    /// Adds the tasks of an application to those of others, if a diagnosis or a replay compares them.
    fn compare_with_others(&mut self, application: &Application) {
        let is_used = self.recorder.wanted.diagnoses || self.recorder.wants_replays();
        if is_used && self.rules.same_in_every_job {
            self.long_tasks.add(&application.rows);
        }
    }

    fn finish(&mut self, number: u32, application: &mut Application) {
        if !application.rows.is_empty() {
            self.held -= application.rows.len();
            self.finish_part(number, application);
        }
    }

    /// The name of an application, or of the log if it has none.
    pub(super) fn title<'a>(&'a self, application: &'a Application) -> &'a str {
        if application.name.is_empty() { &self.name } else { &application.name }
    }

    pub(super) fn cause(&self, row: &Held) -> &str {
        if row.cause == NO_CAUSE { crate::reading::causes::NOT_SAID } else { self.causes.get(u32::from(row.cause)) }
    }
}

fn hash(texts: &[&str]) -> u64 {
    let mut hasher = FxHasher::default();
    for text in texts {
        hasher.write(text.as_bytes());
        hasher.write_u8(0xff);
    }
    hasher.finish()
}
