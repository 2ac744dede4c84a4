//! Draws the legend of a chart. It explains the symbols that occur in the chart.

use super::columns::Kind;
use super::paint::{Cell, Glyphs, Paint, painted, plain};
use crate::lanes::Fate;
use crate::text;

/// Number of columns between two entries on a line.
const GAP: usize = 3;

/// The symbols that occur in a chart.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each flag says whether one symbol occurs")]
pub(super) struct Seen {
    kinds: Vec<Kind>,
    /// True if an attempt was still running at the end of the record.
    running: bool,
    /// True if an attempt was stopped with the run.
    stopped_with_run: bool,
    /// True if a node was lost.
    pub(super) lost: bool,
    /// True if the run was paused.
    pub(super) paused: bool,
    /// The number of a task that is drawn on a bar, as an example for the legend; `None` if no bar has a number.
    pub(super) number: Option<String>,
}

impl Seen {
    /// Records that an attempt of this kind is drawn. For unfinished attempts, `stopped_with_run` is true if the
    /// attempt was stopped with the run, and false if it was still running at the end of the record.
    pub(super) fn attempt(&mut self, kind: Kind, stopped_with_run: bool) {
        if !self.kinds.contains(&kind) {
            self.kinds.push(kind);
        }
        if kind.fate == Fate::Cut {
            self.running |= !stopped_with_run;
            self.stopped_with_run |= stopped_with_run;
        }
    }

    /// Returns the legend in lines of at most `width` columns.
    pub(super) fn legend(&self, glyphs: &Glyphs, width: usize, colour: bool) -> String {
        let mut lines: Vec<(usize, Vec<Cell>)> = Vec::new();
        for (sample, words) in self.entries(glyphs) {
            let indent = sample.len() + 1;
            // An entry that is wider than the chart is wrapped and has its own lines.
            let broken = text::wrapped(words, width.saturating_sub(indent), 0);
            let several = broken.contains('\n');
            let mut entry = sample;
            entry.extend(plain(" "));
            for (at, part) in broken.lines().enumerate() {
                if at > 0 {
                    entry = plain(&" ".repeat(indent));
                }
                entry.extend(plain(part));
                match lines.last_mut() {
                    Some((used, line)) if !several && *used + GAP + entry.len() <= width => {
                        *used += GAP + entry.len();
                        line.extend(plain(&" ".repeat(GAP)));
                        line.append(&mut entry);
                    }
                    _ => lines.push((if several { width } else { entry.len() }, std::mem::take(&mut entry))),
                }
            }
        }
        lines.iter().map(|(_, line)| painted(line, colour)).collect()
    }

    /// Returns a sample and its explanation for each symbol that occurs.
    fn entries(&self, glyphs: &Glyphs) -> Vec<(Vec<Cell>, &'static str)> {
        let mut entries = Vec::new();
        let words = |fate: Fate, copy: bool| match (fate, self.running, self.stopped_with_run) {
            (Fate::Cut, false, true) => {
                ["stopped with the run", "copy that was stopped with the run"][usize::from(copy)]
            }
            (Fate::Cut, _, false) => ["still running", "copy that is still running"][usize::from(copy)],
            _ => fate.words(copy),
        };
        for fate in Fate::ALL {
            for copy in [false, true] {
                let kind = Kind { fate, copy };
                if self.kinds.contains(&kind) {
                    let [body, _] = glyphs.bar(kind);
                    let end = match fate {
                        Fate::Won | Fate::Lost => body,
                        Fate::Failed | Fate::NodeLost => glyphs.failed,
                        Fate::Cut => glyphs.unfinished,
                    };
                    let sample = [body, end];
                    let cells = sample.map(|glyph| Cell { glyph, paint: Paint::Kind(kind) });
                    entries.push((cells.to_vec(), words(fate, copy)));
                }
            }
        }
        if self.lost {
            entries.push((vec![Cell { glyph: glyphs.lost, paint: Paint::Lost }; 2], "node lost"));
        }
        if self.paused {
            entries.push((vec![Cell { glyph: glyphs.paused, paint: Paint::Frame }; 2], "run paused"));
        }
        if let Some(number) = &self.number {
            entries.push((plain(number), "task number"));
        }
        entries
    }
}
