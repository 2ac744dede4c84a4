//! Matches starts and ends of attempts by task id. Spark numbers the attempts of an application consecutively, so the
//! range sets here take memory only for attempts that run, failed or were killed.

use super::id_sets::RangeSet;
use super::task_end::End;
use crate::reading::json::{behind_key, leading_number};

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
            Some(id) => _ = self.started.insert(id),
        }
    }

    /// Records an end, unless an earlier event with this id reported the same outcome.
    pub(super) fn end(&mut self, id: Option<u32>, end: End) -> Seen {
        let Some(id) = id else {
            self.all_ends += 1;
            self.ends_without_id += 1;
            return Seen::New;
        };
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
        Seen::New
    }

    /// Records that the output of an attempt was lost.
    pub(super) fn lost(&mut self, id: Option<u32>) -> Seen {
        let Some(id) = id else { return Seen::New };
        // An attempt whose output was lost has ended.
        self.ended.insert(id);
        let new = self.lost.insert(id) || self.shared;
        if new { Seen::New } else { Seen::Before }
    }

    /// Records that one id was given to several tasks.
    pub(super) fn are_shared(&mut self) {
        self.shared = true;
        self.all_ends += 1;
    }

    /// Returns whether the log has had no end of this attempt so far; `false` if ids do not identify attempts.
    pub(super) fn is_running(&self, id: u32) -> bool {
        !self.shared && !self.ended.contains(id)
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
        self.started.beyond(&self.ended) + unidentified
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
        self.ended.beyond(&self.started) + unidentified
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
}
