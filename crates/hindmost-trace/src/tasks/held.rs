//! The rows of an application while a log is read.

use rustc_hash::FxHashMap;

use crate::reading::causes::{OTHER, shortened};
use crate::recording::Ended;

/// The number of a node that is not known.
pub(super) const NO_NODE: u32 = u32::MAX;
/// The number of bytes that is not known.
pub(super) const NO_BYTES: u64 = u64::MAX;
/// The number of a cause that is not known.
pub(super) const NO_CAUSE: u16 = u16::MAX;
/// The longest name that is kept, in characters.
pub(super) const LONGEST_NAME: usize = 200;

/// Texts and their numbers.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub numbers: FxHashMap<Box<str>, u32>,
    pub list: Vec<Box<str>>,
    /// How often a name had no number of its own.
    pub beyond: u64,
}

impl Names {
    /// Returns the number of a name. The last of `most` numbers is that of all further names, and is called "other".
    pub(crate) fn number(&mut self, name: &str, most: usize) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.list.len().min(most - 1) as u32;
        if number as usize + 1 == most {
            self.beyond += 1;
            if self.list.len() < most {
                self.list.push(OTHER.into());
            }
            return number;
        }
        self.numbers.insert(name.into(), number);
        self.list.push(shortened(name, LONGEST_NAME).into());
        number
    }

    pub(crate) fn get(&self, number: u32) -> &str {
        self.list.get(number as usize).map_or("", |name| name)
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }
}

/// A row that is held. Times are in seconds; one that is not known is NaN.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// Hash of the task's name; different for rows without one. Once rows are in order, the position of their task.
    pub task: u64,
    /// Hash of the task's name that is the same in every job; 0 for rows without one.
    pub in_every_job: u64,
    /// Whether the name is more than a number, or that of a phase stands beside it.
    pub is_work_named: bool,
    pub submitted: f64,
    pub start: f64,
    pub end: f64,
    pub bytes: u64,
    pub phase: u32,
    pub job: u32,
    pub node: u32,
    pub slots: f32,
    /// Number of the attempt, from 1 on; 0 if unknown.
    pub attempt: u16,
    pub cause: u16,
    pub ended: Ended,
    pub speculative: Option<bool>,
}

impl Held {
    pub(super) fn bytes(&self) -> Option<u64> {
        (self.bytes != NO_BYTES).then_some(self.bytes)
    }

    /// Returns start and end, if both are known.
    pub(super) fn times(&self) -> Option<(f64, f64)> {
        (self.start <= self.end).then_some((self.start, self.end))
    }
}

/// An application while its rows are read.
#[derive(Debug, Default)]
pub(super) struct Application {
    pub name: Box<str>,
    pub phases: Names,
    /// What each phase is called in every job; empty, or nothing, if as here.
    pub works: Vec<Box<str>>,
    pub jobs: Names,
    pub rows: Vec<Held>,
    /// Number of tasks of each phase in the parts that are finished.
    pub finished: Vec<u32>,
    /// Number of jobs that were counted with the parts that are finished.
    pub jobs_counted: u64,
    /// The last row that was added, counted over all applications.
    pub last: u64,
    /// Number of parts that are finished.
    pub parts: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_most_are_others_and_counted() {
        let mut names = Names::default();
        let numbers = ["map", "sort", "merge", "reduce", "map", "merge"].map(|name| names.number(name, 3));
        assert_eq!((numbers, names.beyond), ([0, 1, 2, 2, 0, 2], 3));
        assert_eq!([0, 1, 2, 3].map(|number| names.get(number)), ["map", "sort", "other", ""]);
    }
}
