//! Converts lanes to the columns of a chart.

use hindmost_core::timeline::TimelineRow;

use crate::lanes::Fate;

/// The kind of an attempt. A chart draws all attempts of a kind in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) fate: Fate,
    /// True if another attempt of its task was running when the attempt started.
    pub(super) copy: bool,
}

impl Kind {
    const COUNT: usize = 2 * Fate::ALL.len();

    pub(super) fn of(row: &TimelineRow) -> Kind {
        // A chart does not distinguish attempts that failed from those that were lost with their nodes.
        let fate = match Fate::of(&row.outcome) {
            Fate::NodeLost => Fate::Failed,
            fate => fate,
        };
        Kind { fate, copy: row.redundant }
    }

    fn index(self) -> usize {
        self.fate as usize * 2 + usize::from(self.copy)
    }
}

/// Adjacent columns that show the same attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Run<'a> {
    /// The attempt that the columns show.
    pub(super) row: &'a TimelineRow,
    /// Number of the first column, from 0.
    pub(super) from: usize,
    /// Number of columns; at least 1.
    pub(super) length: usize,
}

/// How time maps to the columns of a chart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// Length of the chart, in seconds.
    pub(super) seconds: f64,
    /// Width of the chart, in columns.
    pub(super) columns: usize,
}

impl Scale {
    /// Returns the seconds that a column stands for.
    fn per_column(self) -> f64 {
        self.seconds / self.columns as f64
    }

    /// Converts a time in seconds to a position in columns.
    fn position(self, seconds: f64) -> f64 {
        (seconds / self.per_column()).min(self.columns as f64)
    }

    /// Returns the columns of which more than half lies within a span of time, given in seconds. Returns at least one
    /// column if the span begins within the chart.
    pub(super) fn covered(self, from: f64, to: f64) -> std::ops::Range<usize> {
        let (start, end) = (self.position(from), self.position(to));
        let first = (start.round() as usize).min(self.columns);
        let last = (end.round() as usize).min(self.columns);
        if first < last || from >= self.seconds {
            return first..last.max(first);
        }
        let only = (start as usize).min(self.columns - 1);
        only..only + 1
    }
}

/// For how long attempts of each kind ran during one column.
#[derive(Clone, Copy)]
struct Tally<'a> {
    /// For each kind, the share of the column's time during which its attempts ran.
    held: [f64; Kind::COUNT],
    /// For each kind, the attempt that ran longest in the column, with its share of the column's time.
    longest: [Option<(f64, &'a TimelineRow)>; Kind::COUNT],
}

impl<'a> Tally<'a> {
    /// Returns the attempt to show in the column: the longest one of the kind with the largest share. Returns `None` if
    /// the lane was idle for a larger share.
    fn shown(&self) -> Option<&'a TimelineRow> {
        let idle = 1.0 - self.held.iter().sum::<f64>();
        let most = (0..Kind::COUNT).rev().max_by(|one, other| self.held[*one].total_cmp(&self.held[*other]))?;
        self.longest[most].filter(|_| self.held[most] >= idle).map(|(_, row)| row)
    }
}

/// Converts a lane to columns. A column shows an attempt of the kind that ran for the largest part of it. An attempt
/// that would not be shown anywhere gets a column in which the lane is idle, if there is one at its start or middle.
pub(super) fn runs<'a>(lane: &[&'a TimelineRow], scale: Scale) -> Vec<Run<'a>> {
    let nothing = Tally { held: [0.0; Kind::COUNT], longest: [None; Kind::COUNT] };
    let mut tallies = vec![nothing; scale.columns];
    for row in lane {
        let (from, to) = (scale.position(row.start.seconds()), scale.position(row.end.seconds()));
        let kind = Kind::of(row).index();
        for (column, tally) in tallies.iter_mut().enumerate().take(to.ceil() as usize).skip(from as usize) {
            let held = to.min((column + 1) as f64) - from.max(column as f64);
            tally.held[kind] += held;
            if tally.longest[kind].is_none_or(|(longest, _)| held > longest) {
                tally.longest[kind] = Some((held, row));
            }
        }
    }
    let mut shown: Vec<Option<&TimelineRow>> = tallies.iter().map(Tally::shown).collect();
    for row in lane.iter().filter(|row| row.start.seconds() < scale.seconds) {
        let only = scale.covered(row.start.seconds(), row.start.seconds()).start;
        let middle = f64::midpoint(scale.position(row.start.seconds()), scale.position(row.end.seconds())) as usize;
        // The attempt may already be shown in an adjacent column.
        if let Some(free) = [only, middle.min(scale.columns - 1)].into_iter().find(|column| shown[*column].is_none())
            && !shown[only.saturating_sub(1)..(middle + 2).min(scale.columns)]
                .iter()
                .flatten()
                .any(|found| found == row)
        {
            shown[free] = Some(row);
        }
    }
    let mut runs: Vec<Run<'a>> = Vec::new();
    for (column, row) in shown.into_iter().enumerate() {
        let Some(row) = row else { continue };
        match runs.last_mut() {
            Some(last) if last.row.attempt == row.attempt && last.from + last.length == column => last.length += 1,
            _ => runs.push(Run { row, from: column, length: 1 }),
        }
    }
    runs
}
