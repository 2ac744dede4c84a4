//! Estimates the width of text from the letter widths of DejaVu Sans. This font is wider than most others, so text that
//! fits by this estimate fits in the reader's font, too.

use crate::text;

/// Widths of the printable ASCII characters from the space on, in thousandths of the font size.
const ASCII: [u16; 95] = [
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636, 636,
    636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863,
    748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635,
    615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636,
    337, 636, 838,
];
/// Upper limit of the width of letters that are not ASCII, in font sizes.
const LETTER: f64 = 0.8;
/// Upper limit of the width of ideographs and emoji, in font sizes.
const WIDE: f64 = 1.3;
/// First code point of characters that may be wide.
const FIRST_WIDE: u32 = 0x1100;
/// Width of bold letters relative to normal ones.
const BOLD: f64 = 1.13;

/// Sizes of text in pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    /// The size of names, of numbers at axes, and of the legend.
    Normal,
    /// The size of labels on bars, and of notes.
    Small,
    /// The size of a picture's heading.
    Title,
}

impl Size {
    /// Returns the font size in the picture's units. The style sheet has the same numbers.
    pub(super) fn height(self) -> f64 {
        match self {
            Size::Normal => 12.0,
            Size::Small => 10.0,
            Size::Title => 14.0,
        }
    }
}

/// Returns an upper limit of the width of a text, in the picture's units.
pub(super) fn width(text: &str, size: Size) -> f64 {
    let ems: f64 = text.chars().map(ems).sum();
    ems * size.height() * if size == Size::Title { BOLD } else { 1.0 }
}

/// Returns an upper limit of the width of a letter, in font sizes.
fn ems(letter: char) -> f64 {
    let code = u32::from(letter);
    match code.checked_sub(32).and_then(|at| ASCII.get(at as usize)) {
        Some(thousandths) => f64::from(*thousandths) / 1000.0,
        // These are spaces, dashes, arrows and mathematical signs.
        None if ('\u{2000}'..='\u{22ff}').contains(&letter) => 1.0,
        None if code < FIRST_WIDE => LETTER,
        None => WIDE,
    }
}

/// Escapes a name and shortens it to a width. An ellipsis replaces the middle of the name.
pub(super) fn fitted(name: &str, max_width: f64, size: Size) -> String {
    // Begins with an upper limit of the number of letters, because few letters are narrower than 0.27 font sizes.
    let mut letters = (max_width / (0.27 * size.height())).ceil().max(1.0) as usize;
    loop {
        let shown = text::name(name, letters, "…");
        if letters == 1 || width(&shown, size) <= max_width {
            return shown;
        }
        letters -= 1;
    }
}

/// Wraps text into at most `most` lines of a given width. An ellipsis replaces text that does not fit.
pub(super) fn lines(text: &str, max_width: f64, size: Size, most: usize) -> Vec<String> {
    let shown: String = text::beginning(text, 400, "…");
    let mut lines: Vec<String> = vec![String::new()];
    for word in shown.split(' ').filter(|word| !word.is_empty()) {
        let at = lines.len() - 1;
        let longer = if lines[at].is_empty() { word.to_owned() } else { format!("{} {word}", lines[at]) };
        if lines[at].is_empty() || width(&longer, size) <= max_width {
            lines[at] = longer;
        } else if lines.len() == most {
            lines[at] = fitted_end(&longer, max_width, size);
            break;
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
        .into_iter()
        .map(|line| if width(&line, size) > max_width { fitted(&line, max_width, size) } else { line })
        .collect()
}

/// Returns the beginning of a line that fits, followed by an ellipsis.
fn fitted_end(line: &str, max_width: f64, size: Size) -> String {
    let mut shown = String::new();
    for letter in line.chars() {
        shown.push(letter);
        if width(&shown, size) + width("…", size) > max_width {
            shown.pop();
            break;
        }
    }
    shown.trim_end().to_owned() + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fitted_names_have_at_most_the_given_width() {
        for name in ["progress(0.2)", "mantri(delta=0.25,kill_restart=false)", "日本語のノード", "\u{202e}x\u{7}<y>"]
        {
            for max_width in [8.0, 20.0, 60.0, 300.0] {
                let shown = fitted(name, max_width, Size::Normal);
                assert!(width(&shown, Size::Normal) <= max_width.max(17.0), "{name} {max_width}: {shown}");
            }
        }
        assert_eq!(fitted("progress(0.2)", 200.0, Size::Normal), "progress(0.2)");
        assert!(fitted("a-long-name-of-a-node", 60.0, Size::Normal).contains('…'));
        assert!(fitted(&"x".repeat(1 << 20), 60.0, Size::Normal).len() < 20);
    }

    #[test]
    fn headings_wrap_at_spaces() {
        assert_eq!(lines("one two three", 60.0, Size::Normal, 3), ["one two", "three"]);
        let cut = lines("one two three four five six", 60.0, Size::Normal, 2);
        assert_eq!(cut.len(), 2);
        assert!(cut[1].ends_with('…') && width(&cut[1], Size::Normal) <= 60.0, "{cut:?}");
        assert_eq!(lines("", 60.0, Size::Normal, 2), [""]);
    }
}
