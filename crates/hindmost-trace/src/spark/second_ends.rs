//! Holds back the ends of attempts whose executor was lost, because such an attempt may end again.
//!
//! When the driver receives nothing from an executor any more, it writes `ExecutorLostFailure` for the executor's running
//! attempts. If the executor was only cut off and comes back, older versions of Spark write a second end when such an
//! attempt finishes. The attempt counts once, by its last end: it held its slot until then, and a success made its
//! output. An end that comes after the stage has completed changes nothing.

use std::collections::BTreeMap;

/// The most ends that are held back. If there are more, that of the attempt with the lowest id counts.
const MOST_HELD: usize = 1 << 12;
/// The most bytes of lines that are held back.
const MOST_BYTES: usize = 8 << 20;

/// Identifies the task of an attempt: stage, number of the stage's submission, and index.
pub(super) type TaskOfAttempt = (Option<u32>, Option<u32>, Option<u32>);

/// Ends of attempts that may end again, by task id.
#[derive(Debug, Default)]
pub(super) struct HeldEnds {
    ends: BTreeMap<u32, (TaskOfAttempt, Box<[u8]>)>,
    bytes: usize,
    /// Attempts whose ends are no longer held back, by task id.
    counted: BTreeMap<u32, TaskOfAttempt>,
}

/// What is known of an attempt's earlier end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Earlier {
    /// The attempt has no earlier end because of the loss of its executor.
    None,
    /// The earlier end is held back.
    Held,
    /// The earlier end was held back and then counted.
    Counted,
}

impl HeldEnds {
    /// Returns what is known of the earlier end of an attempt.
    pub(super) fn earlier(&self, id: u32, task: TaskOfAttempt) -> Earlier {
        match (self.ends.get(&id), self.counted.get(&id)) {
            (Some((held, _)), _) if *held == task => Earlier::Held,
            (_, Some(counted)) if *counted == task => Earlier::Counted,
            _ => Earlier::None,
        }
    }

    /// Holds back an end, given its line. Returns the lines of ends that count now: one with the same id, and those
    /// above the limits.
    pub(super) fn hold(&mut self, id: u32, task: TaskOfAttempt, line: &[u8]) -> Vec<Box<[u8]>> {
        let mut free: Vec<_> = self.free(id).into_iter().collect();
        self.bytes += line.len();
        self.ends.insert(id, (task, line.into()));
        while self.ends.len() > MOST_HELD || self.bytes > MOST_BYTES {
            let Some(lowest) = self.ends.first_key_value().map(|(id, _)| *id) else { break };
            free.extend(self.free(lowest));
        }
        free
    }

    /// Removes an end that does not count, because its attempt has ended again.
    pub(super) fn forget(&mut self, id: u32) {
        if let Some((_, line)) = self.ends.remove(&id) {
            self.bytes -= line.len();
        }
    }

    /// Returns the lines of the ends of a stage, or of all ends if `stage` is `None`, in the order of the ids. They
    /// count now.
    pub(super) fn take(&mut self, stage: Option<u32>) -> Vec<Box<[u8]>> {
        let of_stage = |task: &TaskOfAttempt| stage.is_none() || task.0 == stage;
        let ids: Vec<u32> = self.ends.iter().filter(|(_, (task, _))| of_stage(task)).map(|(id, _)| *id).collect();
        ids.into_iter().filter_map(|id| self.free(id)).collect()
    }

    fn free(&mut self, id: u32) -> Option<Box<[u8]>> {
        let (task, line) = self.ends.remove(&id)?;
        self.bytes -= line.len();
        self.counted.insert(id, task);
        if self.counted.len() > MOST_HELD {
            self.counted.pop_first();
        }
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_for_held_ends_is_bounded() {
        let mut held = HeldEnds::default();
        let task = |stage| (Some(stage), Some(0), Some(7));
        for id in 0..MOST_HELD as u32 {
            assert_eq!(held.hold(id, task(id % 2), b"line"), []);
        }
        assert_eq!(held.hold(u32::MAX, task(9), b"last"), [Box::from(*b"line")]);
        assert_eq!(held.earlier(0, task(0)), Earlier::Counted);
        assert_eq!((held.earlier(1, task(1)), held.earlier(1, task(2))), (Earlier::Held, Earlier::None));
        assert_eq!(held.hold(1, task(1), b"again"), [Box::from(*b"line")]);
        assert_eq!(held.take(Some(0)).len(), MOST_HELD / 2 - 1);
        // The new end has as many bytes as may be held: it counts, too, because its id is not the highest.
        held.forget(5);
        let freed = held.hold(u32::MAX - 1, task(1), &vec![b'x'; MOST_BYTES]);
        assert_eq!((freed.len(), held.ends.len()), (MOST_HELD / 2, 1));
        assert_eq!((held.take(None).len(), held.bytes, held.counted.len()), (1, 0, MOST_HELD));
    }
}
