//! Matches starts and ends of attempts by task id. Spark numbers the attempts of an application consecutively, so the
//! range sets here take memory only for attempts that run, failed or were killed.

use super::id_sets::RangeSet;
use super::task_end::End;
use crate::reading::json::{behind_key, leading_number};

/// A set with more ranges than this forgets its lower half.
const MOST_PIECES: usize = 1 << 14;

#[derive(Debug, Default)]
pub(super) struct TaskIds {
    started: RangeSet,
    ended: RangeSet,
    /// Ended attempts that failed.
    failed: RangeSet,
    /// Ended attempts that were killed.
    killed: RangeSet,
    /// Attempts whose output was lost.
    lost: RangeSet,
    /// Ids below this are forgotten.
    floor: u32,
    /// Number of forgotten ids with a start and without an end.
    open_below: u64,
    /// Number of forgotten ids with an end and without a start.
    unstarted_below: u64,
    /// Number of starts without an id.
    starts_without_id: u64,
    /// Number of ends without an id.
    ends_without_id: u64,
    /// Number of starts, including ids that were seen before.
    all_starts: u64,
    /// Number of ends, including ids that were seen before.
    all_ends: u64,
    /// Whether an id was given to several tasks, so that ids are useless.
    shared: bool,
}

/// Whether an earlier event with this task id reported the same outcome. If so, the event is a duplicate line, unless
/// its task has not been counted yet: in this case several tasks share an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    New,
    Before,
}

impl TaskIds {
    pub(super) fn start(&mut self, id: Option<u32>) {
        self.all_starts += 1;
        match id {
            None => self.starts_without_id += 1,
            Some(id) if id < self.floor => self.open_below += 1,
            Some(id) => {
                self.started.insert(id);
                self.bound();
            }
        }
    }

    /// Records an end, unless an earlier event with this id reported the same outcome.
    pub(super) fn end(&mut self, id: Option<u32>, end: End) -> Seen {
        let Some(id) = id else {
            self.all_ends += 1;
            self.ends_without_id += 1;
            return Seen::New;
        };
        if id < self.floor {
            self.all_ends += 1;
            match self.open_below.checked_sub(1) {
                Some(open) => self.open_below = open,
                None => self.unstarted_below += 1,
            }
            return Seen::New;
        }
        if !self.shared && self.ended_as(id) == Some(end) {
            return Seen::Before;
        }
        self.all_ends += 1;
        self.ended.insert(id);
        match end {
            End::Success => {}
            End::Failed => _ = self.failed.insert(id),
            End::Killed => _ = self.killed.insert(id),
        }
        self.bound();
        Seen::New
    }

    /// Records that the output of an attempt was lost.
    pub(super) fn lost(&mut self, id: Option<u32>) -> Seen {
        let Some(id) = id.filter(|id| *id >= self.floor) else {
            return Seen::New;
        };
        // An attempt whose output was lost has ended.
        self.ended.insert(id);
        let new = self.lost.insert(id) || self.shared;
        self.bound();
        if new { Seen::New } else { Seen::Before }
    }

    /// Records that one id was given to several tasks.
    pub(super) fn are_shared(&mut self) {
        self.shared = true;
        self.all_ends += 1;
    }

    fn ended_as(&self, id: u32) -> Option<End> {
        if !self.ended.contains(id) {
            None
        } else if self.failed.contains(id) {
            Some(End::Failed)
        } else if self.killed.contains(id) {
            Some(End::Killed)
        } else {
            Some(End::Success)
        }
    }

    /// Returns whether the log has any start of an attempt.
    pub(super) fn any_start(&self) -> bool {
        self.all_starts > 0
    }

    /// Returns the number of starts without an end.
    pub(super) fn unended(&self) -> u64 {
        if self.shared {
            return self.all_starts.saturating_sub(self.all_ends);
        }
        let unidentified = self.starts_without_id.saturating_sub(self.ends_without_id);
        self.open_below + self.started.beyond(&self.ended) + unidentified
    }

    /// Returns the number of ends without a start; 0 for a log without any start.
    pub(super) fn unstarted(&self) -> u64 {
        if !self.any_start() {
            return 0;
        }
        if self.shared {
            return self.all_ends.saturating_sub(self.all_starts);
        }
        let unidentified = self.ends_without_id.saturating_sub(self.starts_without_id);
        self.unstarted_below + self.ended.beyond(&self.started) + unidentified
    }

    /// Forgets the lower half of a set that has become too large.
    fn bound(&mut self) {
        let all = [&self.started, &self.ended, &self.failed, &self.killed, &self.lost];
        let Some(large) = all.into_iter().find(|set| set.pieces() > MOST_PIECES) else { return };
        self.floor = large.middle().unwrap_or(self.floor);
        let [started, ended, ..] =
            [&mut self.started, &mut self.ended, &mut self.failed, &mut self.killed, &mut self.lost]
                .map(|set| set.below(self.floor));
        self.open_below += started.beyond(&ended);
        self.unstarted_below += ended.beyond(&started);
    }
}

/// Returns the task id in the line of a task start event. The rest of the line is not parsed.
pub(super) fn task_id(line: &[u8]) -> Option<u32> {
    behind_key(line, r#""Task ID""#).and_then(leading_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_and_ends_are_matched_by_id() {
        let mut ids = TaskIds::default();
        for id in [0, 1, 2, 3, 3] {
            ids.start(Some(id));
        }
        assert_eq!(ids.end(Some(0), End::Success), Seen::New);
        assert_eq!(ids.end(Some(0), End::Success), Seen::Before);
        assert_eq!(ids.end(Some(1), End::Failed), Seen::New);
        assert_eq!(ids.end(Some(1), End::Failed), Seen::Before);
        assert_eq!(ids.end(Some(1), End::Success), Seen::New);
        assert_eq!((ids.lost(Some(0)), ids.lost(Some(0))), (Seen::New, Seen::Before));
        assert_eq!(ids.end(Some(7), End::Killed), Seen::New);
        // A missing start does not compensate for a missing end.
        assert_eq!((ids.unended(), ids.unstarted()), (2, 1));
        ids.start(None);
        assert_eq!((ids.unended(), ids.unstarted()), (3, 1));
        ids.end(None, End::Success);
        assert_eq!((ids.unended(), ids.unstarted()), (2, 1));
    }

    #[test]
    fn memory_is_bounded_and_forgotten_ids_still_count() {
        let mut ids = TaskIds::default();
        for id in 0..400_000 {
            ids.start(Some(id));
            // Every fourth attempt has no end, and every fourth no start.
            if id % 4 != 0 {
                ids.end(Some(if id % 4 == 1 { id + 1_000_000 } else { id }), End::Failed);
            }
        }
        assert!(ids.floor > 0 && ids.ended.pieces() <= MOST_PIECES && ids.failed.pieces() <= MOST_PIECES);
        assert_eq!((ids.unended(), ids.unstarted()), (200_000, 100_000));
        // An attempt whose id was forgotten ends after all.
        ids.end(Some(0), End::Success);
        assert_eq!(ids.unended(), 199_999);
    }
}
