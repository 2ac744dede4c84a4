//! The legend of a chart: the symbols that occur in it.

use super::lanes::{Fate, Kind};
use super::paint::{Cell, Glyphs, Paint, painted, plain};
use crate::text;

/// Columns between two entries.
const GAP: usize = 3;

/// The symbols that occur in a chart.
#[derive(Default)]
pub(super) struct Seen {
    kinds: Vec<Kind>,
    running: bool,
    stopped_with_run: bool,
    pub(super) lost: bool,
    /// A task number from the chart, as the sample of the legend; `None` if no bar has a number.
    pub(super) number: Option<String>,
}

impl Seen {
    /// Notes that an attempt of this kind is drawn. If the attempt did not end, `stopped_with_run` says whether
    /// it was stopped with the run or was still running.
    pub(super) fn attempt(&mut self, kind: Kind, stopped_with_run: bool) {
        if !self.kinds.contains(&kind) {
            self.kinds.push(kind);
        }
        if kind.fate == Fate::Unfinished {
            self.running |= !stopped_with_run;
            self.stopped_with_run |= stopped_with_run;
        }
    }

    /// Returns the legend in lines of at most `width` columns.
    pub(super) fn legend(&self, glyphs: &Glyphs, width: usize, colour: bool) -> String {
        let mut lines: Vec<(usize, Vec<Cell>)> = Vec::new();
        for (sample, words) in self.entries(glyphs) {
            let indent = sample.len() + 1;
            // An entry that is wider than the chart shares no line with others.
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

    fn entries(&self, glyphs: &Glyphs) -> Vec<(Vec<Cell>, &'static str)> {
        let mut entries = Vec::new();
        let unfinished = match (self.running, self.stopped_with_run) {
            (true, true) => ["not finished", "copy not finished"],
            (false, true) => ["stopped with the run", "copy stopped with the run"],
            _ => ["still running", "copy still running"],
        };
        let all = [
            (Fate::Won, ["finished", "copy that won"]),
            (Fate::Stopped, ["stopped for a copy", "copy stopped"]),
            (Fate::Broken, ["failed", "copy failed"]),
            (Fate::Unfinished, unfinished),
        ];
        for (fate, words) in all {
            for copy in [false, true] {
                let kind = Kind { fate, copy };
                if self.kinds.contains(&kind) {
                    let [body, _] = glyphs.bar(kind);
                    let end = match fate {
                        Fate::Won | Fate::Stopped => body,
                        Fate::Broken => glyphs.failed,
                        Fate::Unfinished => glyphs.unfinished,
                    };
                    let sample = [body, end];
                    let cells = sample.map(|glyph| Cell { glyph, paint: Paint::Kind(kind) });
                    entries.push((cells.to_vec(), words[usize::from(copy)]));
                }
            }
        }
        if self.lost {
            entries.push((vec![Cell { glyph: glyphs.lost, paint: Paint::Lost }; 2], "node lost"));
        }
        if let Some(number) = &self.number {
            entries.push((plain(number), "same number: same task"));
        }
        entries
    }
}
