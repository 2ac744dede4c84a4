//! The characters and colours of a chart.

use super::lanes::{Fate, Kind};

/// Ends every colour.
const RESET: &str = "\x1b[0m";

/// The characters of a bar; where it ends, a gap keeps it apart from the next one.
#[derive(Clone, Copy)]
pub(super) struct Bar {
    /// Of an attempt that won, and its last column.
    won: [char; 2],
    /// Of one that did not.
    in_vain: [char; 2],
}

/// The characters of a chart. Originals are lines and copies are blocks, heavy where they won and faint where
/// they ran in vain: what is normal looks calm, and what saved the day is seen first.
pub(super) struct Glyphs {
    original: Bar,
    copy: Bar,
    /// Last column of what failed, and of what had not ended.
    pub(super) failed: char,
    pub(super) unfinished: char,
    /// Where a node was lost.
    pub(super) lost: char,
    /// Left of a node's first lane and of its other lanes.
    pub(super) rails: [char; 2],
    /// Corner, line and tick of the axis.
    pub(super) axis: [char; 3],
    pub(super) ellipsis: &'static str,
}

pub(super) const UNICODE: Glyphs = Glyphs {
    original: Bar { won: ['━', '╸'], in_vain: ['┄', '╴'] },
    copy: Bar { won: ['█', '▌'], in_vain: ['░', '│'] },
    failed: '×',
    unfinished: '►',
    lost: '╱',
    rails: ['┤', '│'],
    axis: ['└', '─', '┬'],
    ellipsis: "…",
};
pub(super) const ASCII: Glyphs = Glyphs {
    original: Bar { won: ['=', '|'], in_vain: ['-', '|'] },
    copy: Bar { won: ['#', '|'], in_vain: ['%', '|'] },
    failed: 'X',
    unfinished: '>',
    lost: '/',
    rails: ['|', '|'],
    axis: ['+', '-', '+'],
    ellipsis: "...",
};

impl Glyphs {
    /// What the bar of an attempt consists of, and how it ends.
    pub(super) fn bar(&self, kind: Kind) -> [char; 2] {
        let bar = if kind.copy { self.copy } else { self.original };
        if kind.fate == Fate::Won { bar.won } else { bar.in_vain }
    }
}

/// What a column's colour says; a colour for each, legible on dark and on light ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paint {
    Plain,
    Frame,
    Lost,
    Kind(Kind),
    /// A task's number on a bar of that kind.
    Number(Kind),
}

impl Paint {
    /// The parameters of its escape sequence; none for the terminal's own colour.
    fn code(self) -> &'static str {
        match self {
            Paint::Frame => "90",
            Paint::Lost => "31",
            // A number on a block looks cut out of it.
            Paint::Number(Kind { fate: Fate::Won, copy: true }) => "1;7;35",
            Paint::Kind(Kind { fate, copy }) => match fate {
                Fate::Won if copy => "1;35",
                Fate::Won => "32",
                Fate::Stopped if copy => "35",
                Fate::Stopped => "90",
                Fate::Broken => "31",
                Fate::Unfinished => "36",
            },
            Paint::Plain | Paint::Number(_) => "",
        }
    }
}

/// One character of a chart.
#[derive(Clone, Copy)]
pub(super) struct Cell {
    pub(super) glyph: char,
    pub(super) paint: Paint,
}

pub(super) fn plain(text: &str) -> Vec<Cell> {
    text.chars().map(|glyph| Cell { glyph, paint: Paint::Plain }).collect()
}

/// Cells as a line, without spaces at its end.
pub(super) fn painted(cells: &[Cell], colour: bool) -> String {
    let used = cells.iter().rposition(|cell| cell.glyph != ' ').map_or(0, |last| last + 1);
    let mut line = String::new();
    let mut code = "";
    for cell in &cells[..used] {
        // A space looks the same in every colour.
        if colour && cell.glyph != ' ' && cell.paint.code() != code {
            if !code.is_empty() {
                line += RESET;
            }
            code = cell.paint.code();
            if !code.is_empty() {
                line += &format!("\x1b[{code}m");
            }
        }
        line.push(cell.glyph);
    }
    if !code.is_empty() {
        line += RESET;
    }
    line.push('\n');
    line
}
