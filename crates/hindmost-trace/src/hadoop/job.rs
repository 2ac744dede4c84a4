//! A job as it is read: its tasks and their attempts, until it ends.

use rustc_hash::FxHashMap;

use super::counters::Counters;
use super::hosts::{Host, Hosts};
use super::ids::Kind;
use crate::analysis::Ended;

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobEnd {
    Succeeded,
    Failed,
    Killed,
}

/// Where a map ran, seen from its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Node,
    Rack,
    Off,
}

/// Setup and cleanup tasks are numbered among maps and reduces: the letter of their ids keeps them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TaskKey {
    pub kind: Kind,
    pub letter: u8,
    pub index: u32,
}

#[derive(Debug, Default)]
pub(super) struct Task {
    pub attempts: Vec<Attempt>,
    /// Machines that hold its input.
    pub splits: Vec<Host>,
    /// Number of the attempt that succeeded, where the log says it of the task.
    pub winner: Option<u32>,
}

/// Times in milliseconds since 1970.
#[derive(Debug, Default)]
pub(super) struct Attempt {
    pub number: u32,
    pub host: Option<Host>,
    pub start: Option<i64>,
    pub finish: Option<i64>,
    pub ended: Option<Ended>,
    /// Whether it was speculative, where the log says it.
    pub marked: Option<bool>,
    pub bytes_read: Option<u64>,
    /// Where it ran, where the log says it.
    pub place: Option<Place>,
    /// Why it failed or was killed, where the log says it.
    pub cause: Option<String>,
    /// Whether it had succeeded before it was said to have failed or to be killed: its output was lost.
    pub output_lost: bool,
}

/// Of the pairs the first is of maps, the second of reduces.
#[derive(Debug, Default)]
pub(super) struct Job {
    pub id: Option<Box<str>>,
    pub name: Option<Box<str>>,
    pub submitted: Option<i64>,
    pub launched: Option<i64>,
    pub finished: Option<i64>,
    pub end: Option<JobEnd>,
    /// Tasks the job has, and how many of them it says have succeeded.
    pub total: [Option<u32>; 2],
    pub succeeded: [Option<u32>; 2],
    /// The job's own counters.
    pub counters: Option<Counters>,
    /// The sum of those of its attempts that succeeded.
    pub summed: Counters,
    /// Bytes of a container.
    pub memory: [Option<f64>; 2],
    /// Earliest and latest time seen.
    pub span: Option<(i64, i64)>,
    pub tasks: FxHashMap<TaskKey, Task>,
    /// Ends of attempts that don't say of which.
    pub nameless: Vec<(Kind, Ended)>,
    /// Attempts whose end is told again.
    pub repeated: u64,
}

impl Job {
    pub(super) fn saw(&mut self, time: Option<i64>) {
        if let Some(at) = time {
            let (from, to) = self.span.unwrap_or((at, at));
            self.span = Some((from.min(at), to.max(at)));
        }
    }

    /// The job's id and name, for people; `number` is its place in the log, from 0.
    pub(super) fn called(&self, number: u32) -> String {
        match (&self.id, &self.name) {
            (Some(id), Some(name)) => format!("{id} {name}"),
            (Some(id), None) => id.to_string(),
            (None, Some(name)) => format!("job {} {name}", number + 1),
            (None, None) => format!("job {}", number + 1),
        }
    }

    pub(super) fn task(&mut self, key: TaskKey) -> &mut Task {
        self.tasks.entry(key).or_default()
    }
}

impl Task {
    pub(super) fn attempt(&mut self, number: u32) -> &mut Attempt {
        // The attempt asked for is nearly always one of the last few.
        let at = self.attempts.iter().rposition(|attempt| attempt.number == number).unwrap_or_else(|| {
            self.attempts.push(Attempt { number, ..Attempt::default() });
            self.attempts.len() - 1
        });
        &mut self.attempts[at]
    }

    /// Index of the attempt that won: the one that the log names, else the first that succeeded.
    pub(super) fn winner(&self) -> Option<usize> {
        let succeeded = || self.attempts.iter().enumerate().filter(|(_, a)| a.ended == Some(Ended::Succeeded));
        let named = succeeded().find(|(_, attempt)| Some(attempt.number) == self.winner);
        let first = || succeeded().min_by_key(|(_, a)| (a.finish.unwrap_or(i64::MAX), a.number));
        named.or_else(first).map(|(index, _)| index)
    }

    /// Sorts the attempts by their start and marks as speculative, where the log doesn't tell, those that
    /// started while another one of the task was running.
    pub(super) fn find_copies(&mut self) {
        self.attempts.sort_by_key(|attempt| (attempt.start, attempt.number));
        // When the last of those that started before ends.
        let mut busy_until = i64::MIN;
        let mut generation = u32::MAX;
        for attempt in &mut self.attempts {
            // Attempts of a later life of the master are numbered from 1000, 2000, … on: the former
            // ones died with it, whether their end is in the log or not.
            if generation != attempt.number / 1000 {
                generation = attempt.number / 1000;
                busy_until = i64::MIN;
            }
            let Some(start) = attempt.start else {
                attempt.marked.get_or_insert(false);
                continue;
            };
            attempt.marked.get_or_insert(start < busy_until);
            let until = match (attempt.ended, attempt.finish) {
                (_, Some(finish)) => finish,
                (None, None) => i64::MAX,
                (Some(_), None) => start,
            };
            busy_until = busy_until.max(until);
        }
    }

    /// Where an attempt ran: as the log says, else by the machines that hold the input. `None` where
    /// neither tells.
    pub(super) fn place(&self, attempt: &Attempt, hosts: &Hosts) -> Option<Place> {
        if attempt.place.is_some() {
            return attempt.place;
        }
        let host = attempt.host?;
        if self.splits.is_empty() {
            return None;
        }
        if self.splits.contains(&host) {
            return Some(Place::Node);
        }
        let rack = hosts.rack(host)?;
        let racks = || self.splits.iter().map(|&split| hosts.rack(split));
        if racks().any(|other| other == Some(rack)) {
            return Some(Place::Rack);
        }
        racks().all(|other| other.is_some()).then_some(Place::Off)
    }
}

impl Attempt {
    /// Notes an end. Of an attempt that succeeded and is then said to have failed the output was lost: it
    /// counts as the log says last, but ran until it had succeeded. Whether the same had been told before.
    pub(super) fn end(&mut self, ended: Ended, finish: Option<i64>) -> bool {
        let before = self.ended.replace(ended);
        self.output_lost |= before == Some(Ended::Succeeded) && ended != Ended::Succeeded;
        if before.is_none() || self.finish.is_none() {
            self.finish = finish;
        }
        before == Some(ended)
    }
}

/// When a reduce that ran from `start` to `finish` could begin to work: at the end of the last map, if
/// that came while it ran, since until then it waited.
pub(super) fn work_began(start: i64, finish: i64, maps_ended: Option<i64>) -> i64 {
    maps_ended.filter(|&ended| start < ended && ended < finish).unwrap_or(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(number: u32, start: i64, finish: Option<i64>, ended: Option<Ended>) -> Attempt {
        Attempt { number, start: Some(start), finish, ended, ..Attempt::default() }
    }

    fn marks(attempts: Vec<Attempt>) -> Vec<(u32, bool)> {
        let mut task = Task { attempts, ..Task::default() };
        task.find_copies();
        task.attempts.iter().map(|a| (a.number, a.marked == Some(true))).collect()
    }

    #[test]
    fn a_copy_starts_while_another_runs() {
        let killed = Some(Ended::Killed);
        let won = Some(Ended::Succeeded);
        assert_eq!(
            marks(vec![attempt(1, 50, Some(90), won), attempt(0, 10, Some(95), killed)]),
            [(0, false), (1, true)]
        );
        // One after the other, at the same instant.
        assert_eq!(
            marks(vec![attempt(0, 10, Some(50), Some(Ended::Failed)), attempt(1, 50, Some(90), won)]),
            [(0, false), (1, false)]
        );
        // The first has not ended in the log; the third starts after the second, while the first runs.
        assert_eq!(
            marks(vec![attempt(0, 10, None, None), attempt(1, 20, Some(30), killed), attempt(2, 40, Some(50), won)]),
            [(0, false), (1, true), (2, true)]
        );
        // The first died with the master.
        assert_eq!(
            marks(vec![attempt(0, 10, None, None), attempt(1000, 20, Some(30), won)]),
            [(0, false), (1000, false)]
        );
        let mut told = attempt(1, 20, Some(30), won);
        told.marked = Some(false);
        assert_eq!(marks(vec![attempt(0, 10, Some(40), killed), told]), [(0, false), (1, false)]);
    }

    #[test]
    fn lost_outputs_count_as_they_are_told_last() {
        let mut first = Attempt::default();
        assert!(!first.end(Ended::Succeeded, Some(10)));
        assert!(!first.end(Ended::Failed, Some(90)));
        assert_eq!((first.ended, first.finish, first.output_lost), (Some(Ended::Failed), Some(10), true));
        assert!(first.end(Ended::Failed, Some(91)));
    }

    #[test]
    fn reduces_work_from_the_end_of_the_maps() {
        assert_eq!(work_began(10, 50, Some(30)), 30);
        assert_eq!(work_began(40, 50, Some(30)), 40);
        assert_eq!(work_began(10, 20, Some(30)), 10);
        assert_eq!(work_began(10, 20, None), 10);
    }

    #[test]
    fn places_are_told_by_splits_and_racks() {
        let mut hosts = Hosts::default();
        let mut of = |field: &str| hosts.of(field).unwrap();
        let (a, b, c, d) = (of("/r1/a"), of("/r1/b"), of("/r2/c"), of("d"));
        let mut task = Task { splits: vec![a], ..Task::default() };
        let place = |task: &Task, host, told| task.place(&Attempt { host, place: told, ..Attempt::default() }, &hosts);
        assert_eq!(place(&task, Some(a), None), Some(Place::Node));
        assert_eq!(place(&task, Some(b), None), Some(Place::Rack));
        assert_eq!(place(&task, Some(c), None), Some(Place::Off));
        assert_eq!(place(&task, Some(d), None), None);
        assert_eq!(place(&task, None, None), None);
        assert_eq!(place(&task, Some(a), Some(Place::Off)), Some(Place::Off));
        task.splits = vec![a, d];
        assert_eq!(place(&task, Some(c), None), None);
        task.splits.clear();
        assert_eq!(place(&task, Some(a), None), None);
    }
}
