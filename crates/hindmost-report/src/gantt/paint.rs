//! Characters and colours of a chart.

use super::columns::Kind;
use crate::lanes::Fate;

/// The escape sequence that ends a colour.
const RESET: &str = "\x1b[0m";

/// The characters of bars: first the character of all columns but the last, then the character of the last column,
/// which separates the bar from the next one.
#[derive(Clone, Copy)]
pub(super) struct Bar {
    /// The characters for an attempt that finished first.
    won: [char; 2],
    /// The characters for any other attempt.
    wasted: [char; 2],
}

/// The characters of a chart. Originals are drawn as lines and copies as blocks. Both are heavy if they finished first
/// and faint otherwise.
pub(super) struct Glyphs {
    original: Bar,
    copy: Bar,
    /// The last column of an attempt that failed or was lost with its node.
    pub(super) failed: char,
    /// The last column of an attempt that did not end before the end of the record or of the run.
    pub(super) unfinished: char,
    /// The columns during which a node was lost.
    pub(super) lost: char,
    /// The columns during which the run was paused.
    pub(super) paused: char,
    /// The vertical line to the left of a node's first lane, and to the left of its other lanes.
    pub(super) rails: [char; 2],
    /// The corner, the line and the ticks of the axis.
    pub(super) axis: [char; 3],
    pub(super) ellipsis: &'static str,
}

pub(super) const UNICODE: Glyphs = Glyphs {
    original: Bar { won: ['━', '╸'], wasted: ['┄', '╴'] },
    copy: Bar { won: ['█', '▌'], wasted: ['░', '│'] },
    failed: '×',
    unfinished: '►',
    lost: '╱',
    paused: '·',
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
    paused: '.',
    rails: ['|', '|'],
    axis: ['+', '-', '+'],
    ellipsis: "...",
};

impl Glyphs {
    /// Returns two characters of an attempt's bar: the one of all columns but the last, and the one of the last column.
    pub(super) fn bar(&self, kind: Kind) -> [char; 2] {
        let bar = if kind.copy { self.copy } else { self.original };
        if kind.fate == Fate::Won { bar.won } else { bar.wasted }
    }
}

/// The meaning of a character, which determines its colour. All colours are legible on dark and light backgrounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paint {
    /// Text in the terminal's default colour.
    Plain,
    /// A line around the chart.
    Frame,
    /// The time during which a node was lost.
    Lost,
    /// The bar of an attempt of this kind.
    Kind(Kind),
    /// The number of a task on the bar of an attempt of this kind.
    Number(Kind),
}

impl Paint {
    /// Returns the parameters of the colour's escape sequence; empty for the terminal's default colour.
    fn code(self) -> &'static str {
        match self {
            Paint::Frame => "90",
            Paint::Lost => "31",
            // The colours are inverted, because the number is on a block.
            Paint::Number(Kind { fate: Fate::Won, copy: true }) => "1;7;35",
            Paint::Kind(Kind { fate, copy }) => match fate {
                Fate::Won if copy => "1;35",
                Fate::Won => "32",
                Fate::Lost if copy => "35",
                Fate::Lost => "90",
                Fate::Failed | Fate::NodeLost => "31",
                Fate::Cut => "36",
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

/// Returns the cells of a text in the terminal's default colour.
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
