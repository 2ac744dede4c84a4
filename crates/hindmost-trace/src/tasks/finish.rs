//! Counts, diagnoses and keeps the rows of an application once they are complete.

use rustc_hash::FxHashMap;

use hindmost_core::metrics::{Diagnosis, SlowNode};

use super::collect::{Application, Collector, Held, NO_NODE};
use super::kept::{Interval, Kept, KeptAttempt, KeptPhase};
use super::recording::{Jobs, Joined};
use crate::diagnosis::{Ended, proven_slow};
use crate::recorded::Outcome;

/// The most diagnoses that are kept.
const MOST_DIAGNOSES: usize = 5000;

/// A row with what follows from the other rows of its task.
pub(super) struct Attempt<'a> {
    pub row: &'a Held,
    pub task: u32,
    /// Position among the attempts of its task, by start.
    number: u32,
    pub ended: Ended,
    pub wins: bool,
    pub speculative: bool,
    /// When the winner of its task ended, if there is one.
    won_at: Option<f64>,
}

impl Collector {
    pub(super) fn finish_part(&mut self, number: u32, application: &mut Application) {
        let is_first = application.parts == 0;
        application.parts += 1;
        let mut finished = std::mem::take(&mut application.finished);
        finished.resize(application.phases.len(), 0);
        self.counts.phases += finished.iter().filter(|tasks| **tasks == 0).count() as u64;
        let tasks = in_order(&mut application.rows, &mut finished);
        let attempts = attempts(&application.rows, &tasks, self.rules.retried_have_failed);
        self.issues.repeated += (application.rows.len() - attempts.len()) as u64;
        application.finished = finished;

        let jobs = (application.jobs.len() as u64).max(1);
        self.counts.jobs += jobs.saturating_sub(application.jobs_counted);
        application.jobs_counted = jobs;
        self.count(&attempts);
        let title = self.title(application).to_owned();
        if self.diagnoses.is_some() {
            let recording = self.recording(number, application, &attempts, Jobs::Together);
            self.gathering.add(&recording);
            if is_first {
                let found = self.diagnosing.add(recording);
                self.keep_diagnoses(found);
            } else if application.parts == 2 {
                self.issues.partly_diagnosed.add(|| title.clone());
            }
        }
        if self.recordings.as_ref().is_some_and(|kept| kept.wanted.contains(&number)) {
            let recording = is_first.then(|| self.recording(number, application, &attempts, Jobs::Apart));
            if let Some(kept) = &mut self.recordings {
                // An application that ends in parts is too large to be held.
                kept.found.retain(|one| one.application != number);
                kept.found.extend(recording);
            }
        }
        let of_all = self.joined.as_ref().is_some_and(|joined| joined.takes(is_first, attempts.len()));
        let recording = of_all.then(|| self.recording(number, application, &attempts, Jobs::Apart));
        if let Some(joined) = &mut self.joined {
            joined.add(recording);
        }
        if let Some(kept) = &mut self.kept {
            keep(kept, number, application, &title, &attempts);
        }
    }

    /// Returns the nodes that all jobs of a log together prove to be slow. None if it is not held as a whole, or has one job only.
    pub(super) fn slow_in_log(&self) -> Vec<SlowNode> {
        let is_whole = self.open.values().all(|one| one.parts == 0);
        if self.diagnoses.is_none() || !self.rules.same_in_every_job || !is_whole || self.open.len() < 2 {
            return Vec::new();
        }
        let mut numbered: Vec<(&u32, &Application)> = self.open.iter().collect();
        numbered.sort_unstable_by_key(|(number, _)| **number);
        let mut joined = Joined::default();
        for (number, application) in numbered {
            let mut rows = application.rows.clone();
            let tasks = in_order(&mut rows, &mut vec![0; application.phases.len()]);
            let attempts = attempts(&rows, &tasks, self.rules.retried_have_failed);
            joined.add(Some(self.recording(*number, application, &attempts, Jobs::Apart)));
        }
        joined.whole().map_or_else(Vec::new, |recording| proven_slow(&recording))
    }

    fn count(&mut self, attempts: &[Attempt<'_>]) {
        let mut tasks: FxHashMap<(u32, u32), bool> = FxHashMap::default();
        for attempt in attempts {
            let counts = &mut self.counts;
            counts.attempts += 1;
            counts.speculative += u64::from(attempt.speculative);
            let row = attempt.row;
            let began = [row.submitted, row.start].into_iter().find(|at| !at.is_nan());
            counts.from = [counts.from, began].into_iter().flatten().reduce(f64::min);
            let end = Some(row.end).filter(|end| !end.is_nan());
            counts.to = [counts.to, end].into_iter().flatten().reduce(f64::max);
            *tasks.entry((row.phase, attempt.task)).or_default() |= attempt.wins;
            match attempt.ended {
                Ended::Succeeded => {}
                Ended::Failed => {
                    self.counts.failed += 1;
                    let cause = self.cause(row).to_owned();
                    self.failures.count(&cause);
                }
                Ended::Killed | Ended::Interrupted => {
                    self.counts.killed += 1;
                    let cause = self.cause(row).to_owned();
                    self.kills.count(&cause);
                }
            }
        }
        self.counts.tasks += tasks.len() as u64;
        self.issues.never_succeeded += tasks.values().filter(|won| !**won).count() as u64;
    }

    fn keep_diagnoses(&mut self, found: Vec<Diagnosis>) {
        let Some(diagnoses) = &mut self.diagnoses else { return };
        for one in &found {
            self.gathering.explain(one);
        }
        diagnoses.extend(found);
        if diagnoses.len() >= MOST_DIAGNOSES + MOST_DIAGNOSES / 10 {
            self.drop_diagnoses();
        }
    }

    /// Keeps the longest diagnoses.
    fn drop_diagnoses(&mut self) {
        let Some(diagnoses) = self.diagnoses.as_mut().filter(|all| all.len() > MOST_DIAGNOSES) else { return };
        let wall = |one: &Diagnosis| one.wall_time.as_ref().map_or(0.0, |time| time.seconds);
        diagnoses.sort_by(|a, b| wall(b).total_cmp(&wall(a)).then(a.application.cmp(&b.application)));
        for one in diagnoses.drain(MOST_DIAGNOSES..) {
            self.gathering.dropped(&one);
            self.issues.undiagnosed += 1;
        }
    }

    /// Returns the diagnoses, in the order of the applications.
    pub(super) fn take_diagnoses(&mut self) -> Vec<Diagnosis> {
        let found = self.diagnosing.end();
        self.keep_diagnoses(found);
        self.drop_diagnoses();
        let mut diagnoses = self.diagnoses.take().unwrap_or_default();
        diagnoses.sort_by_key(|one| one.application);
        diagnoses
    }
}

pub(super) fn name_of(application: &Application, phase: u32) -> Option<String> {
    Some(application.phases.get(phase).to_owned()).filter(|name| !name.is_empty())
}

/// The number of each task within its phase, by phase and task.
type Numbers = FxHashMap<(u32, u64), u32>;

/// Sorts rows by their ends, and numbers their tasks in the order in which they started, because a replay starts them in this order.
fn in_order(rows: &mut [Held], finished: &mut [u32]) -> Numbers {
    rows.sort_by(|a, b| a.start.total_cmp(&b.start));
    let tasks = numbers(rows, finished);
    rows.sort_by(|a, b| a.end.total_cmp(&b.end));
    tasks
}

/// Numbers the tasks of rows, in their order. `finished` has the number of tasks of each phase in earlier parts, and
/// receives the new number.
fn numbers(rows: &[Held], finished: &mut [u32]) -> Numbers {
    let mut tasks = Numbers::default();
    tasks.reserve(rows.len());
    for row in rows {
        let next = &mut finished[row.phase as usize];
        tasks.entry((row.phase, row.task)).or_insert_with(|| {
            *next += 1;
            *next - 1
        });
    }
    tasks
}

/// Finds each task's winner and copies among rows that are sorted by end, and drops rows that repeat an attempt.
fn attempts<'a>(rows: &'a [Held], tasks: &Numbers, retried_have_failed: bool) -> Vec<Attempt<'a>> {
    let mut repeated: FxHashMap<(u32, u32), Vec<u32>> = FxHashMap::default();
    let mut all: Vec<Attempt<'a>> = Vec::with_capacity(rows.len());
    let mut firsts: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    firsts.reserve(rows.len());
    for row in rows {
        let at = all.len() as u32;
        let task = tasks.get(&(row.phase, row.task)).copied().unwrap_or_default();
        let key = (row.phase, task);
        if let Some(first) = firsts.get(&key) {
            let siblings = repeated.entry(key).or_insert_with(|| vec![*first]);
            let is_same = |other: &u32| {
                let other = all[*other as usize].row;
                row.times().is_some()
                    && row.times() == other.times()
                    && row.node == other.node
                    && row.ended == other.ended
            };
            if siblings.iter().any(is_same) {
                continue;
            }
            siblings.push(at);
        } else {
            firsts.insert(key, at);
        }
        let won_at = (row.ended == Ended::Succeeded).then_some(row.end);
        all.push(Attempt {
            row,
            task,
            number: 0,
            ended: row.ended,
            wins: row.ended == Ended::Succeeded,
            speculative: row.speculative == Some(true),
            won_at,
        });
    }
    for siblings in repeated.into_values() {
        settle(&mut all, siblings, retried_have_failed);
    }
    all
}

/// Finds the winner and the copies among the attempts of a task; `siblings` are their positions, by end.
fn settle(all: &mut [Attempt<'_>], mut siblings: Vec<u32>, retried_have_failed: bool) {
    if retried_have_failed {
        let last = siblings.iter().map(|at| all[*at as usize].row.attempt).max().unwrap_or(0);
        for at in &siblings {
            let one = &mut all[*at as usize];
            if one.row.attempt < last && one.ended == Ended::Succeeded {
                one.ended = Ended::Failed;
            }
        }
    }
    let winner = siblings.iter().copied().find(|at| all[*at as usize].ended == Ended::Succeeded);
    let won_at = winner.map(|at| all[at as usize].row.end);
    siblings.sort_by(|a, b| all[*a as usize].row.start.total_cmp(&all[*b as usize].row.start));
    let mut busy_until = f64::NEG_INFINITY;
    for (number, at) in (0u32..).zip(siblings) {
        let one = &mut all[at as usize];
        one.number = number;
        one.wins = winner == Some(at);
        one.won_at = won_at;
        one.speculative = one.row.speculative.unwrap_or(one.row.start < busy_until);
        busy_until = busy_until.max(one.row.end);
    }
}

/// Keeps the data of an application for a replay.
fn keep(kept: &mut Kept, number: u32, application: &Application, title: &str, attempts: &[Attempt<'_>]) {
    let mut by_task: Vec<&Attempt<'_>> = attempts.iter().collect();
    by_task.sort_by_key(|attempt| attempt.task);
    for attempt in by_task {
        let row = attempt.row;
        let node = (row.node != NO_NODE).then_some(row.node);
        if let Some((start, end)) = row.times() {
            kept.intervals.push(Interval { node: row.node, start, end, application: number, phase: row.phase });
            let job = kept.jobs.entry((number, application.parts, row.job)).or_default();
            let began = if row.submitted <= start { row.submitted } else { start };
            job.submitted = Some(job.submitted.map_or(began, |at| at.min(began)));
            if job.name.is_empty() {
                let within = application.jobs.get(row.job);
                if within.is_empty() { title } else { within }.clone_into(&mut job.name);
            }
            if attempt.wins {
                let phase = phase_of(&mut job.phases, row.phase, application);
                phase.seconds.push(end - start);
                phase.slots.push(row.slots);
                phase.span = (phase.span.0.min(start), phase.span.1.max(end));
            }
        }
        if attempt.wins && !attempt.speculative {
            continue;
        }
        let outcome = match attempt.ended {
            Ended::Succeeded if attempt.wins => Outcome::Won,
            Ended::Succeeded if attempt.won_at.is_some_and(|at| row.start >= at) => Outcome::Repeated,
            Ended::Failed => Outcome::Failed,
            Ended::Killed | Ended::Interrupted if attempt.won_at.is_none() => Outcome::Killed,
            _ => Outcome::Lost,
        };
        kept.attempts.push(KeptAttempt {
            application: number,
            phase: row.phase,
            task: attempt.task,
            number: attempt.number,
            node,
            start: Some(row.start).filter(|at| !at.is_nan()),
            end: Some(row.end).filter(|at| !at.is_nan()),
            speculative: attempt.speculative,
            outcome,
        });
    }
}

fn phase_of<'a>(phases: &'a mut Vec<KeptPhase>, number: u32, application: &Application) -> &'a mut KeptPhase {
    let at = phases.iter().rposition(|phase| phase.number == number).unwrap_or_else(|| {
        let name = name_of(application, number).unwrap_or_else(|| format!("phase-{}", number + 1));
        let span = (f64::INFINITY, f64::NEG_INFINITY);
        phases.push(KeptPhase { number, name, span, ..KeptPhase::default() });
        phases.len() - 1
    });
    &mut phases[at]
}
