//! The characters and colours of a chart.

use super::lanes::{Fate, Kind};

/// The escape sequence that ends a colour.
const RESET: &str = "\x1b[0m";

/// The characters of a bar: of its body and of its last column, which separates it from the next bar.
#[derive(Clone, Copy)]
pub(super) struct Bar {
    /// For an attempt that won.
    won: [char; 2],
    /// For an attempt that did not win.
    wasted: [char; 2],
}

/// The characters of a chart. Originals are lines and copies are blocks; both are heavy if they won and faint
/// otherwise. Copies that won are the most visible.
pub(super) struct Glyphs {
    original: Bar,
    copy: Bar,
    /// Last column of an attempt that failed, and of one that had not ended.
    pub(super) failed: char,
    pub(super) unfinished: char,
    /// Fills the time during which a node was lost.
    pub(super) lost: char,
    /// The vertical line left of a node's first lane, and left of its other lanes.
    pub(super) rails: [char; 2],
    /// Corner, line and tick of the axis.
    pub(super) axis: [char; 3],
    pub(super) ellipsis: &'static str,
}

pub(super) const UNICODE: Glyphs = Glyphs {
    original: Bar { won: ['━', '╸'], wasted: ['┄', '╴'] },
    copy: Bar { won: ['█', '▌'], wasted: ['░', '│'] },
    failed: '×',
    unfinished: '►',
    lost: '╱',
    rails: ['┤', '│'],
    axis: ['└', '─', '┬'],
    ellipsis: "…",
};
pub(super) const ASCII: Glyphs = Glyphs {
    original: Bar { won: ['=', '|'], wasted: ['-', '|'] },
    copy: Bar { won: ['#', '|'], wasted: ['%', '|'] },
    failed: 'X',
    unfinished: '>',
    lost: '/',
    rails: ['|', '|'],
    axis: ['+', '-', '+'],
    ellipsis: "...",
};

impl Glyphs {
    /// Returns the characters of an attempt's bar: of its body and of its last column.
    pub(super) fn bar(&self, kind: Kind) -> [char; 2] {
        let bar = if kind.copy { self.copy } else { self.original };
        if kind.fate == Fate::Won { bar.won } else { bar.wasted }
    }
}

/// What a character belongs to. Each kind has a colour that is legible on dark and light backgrounds.
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
    /// Returns the parameters of the colour's escape sequence; empty for the terminal's default colour.
    fn code(self) -> &'static str {
        match self {
            Paint::Frame => "90",
            Paint::Lost => "31",
            // Inverted, because it stands on a block.
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

/// Returns cells as a line of text without spaces at its end.
pub(super) fn painted(cells: &[Cell], colour: bool) -> String {
    let used = cells.iter().rposition(|cell| cell.glyph != ' ').map_or(0, |last| last + 1);
    let mut line = String::new();
    let mut code = "";
    for cell in &cells[..used] {
        // A space needs no colour.
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
