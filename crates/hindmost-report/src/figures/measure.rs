//! How wide text will be, told without a font: by the widths of DejaVu Sans, which is wider than what most
//! systems have, so that what fits by this measure fits everywhere.

use crate::text;

/// Widths of the printable ASCII characters from the space on, in thousandths of the font's size.
const ASCII: [u16; 95] = [
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636, 636,
    636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863,
    748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635,
    615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636,
    337, 636, 838,
];
/// Other letters of alphabets, at most.
const LETTER: f64 = 0.8;
/// Characters as wide as high, and pictures.
const WIDE: f64 = 1.3;
/// From here on characters may be wide.
const FIRST_WIDE: u32 = 0x1100;
/// How much wider bold letters are.
const BOLD: f64 = 1.13;

/// Sizes of text in pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    /// Names and numbers at axes.
    Normal,
    /// Numbers on bars.
    Small,
    /// A picture's heading.
    Title,
}

impl Size {
    /// In the picture's units; the style sheet has the same numbers.
    pub(super) fn height(self) -> f64 {
        match self {
            Size::Normal => 12.0,
            Size::Small => 10.0,
            Size::Title => 14.0,
        }
    }
}

/// The most that a text takes, in a picture's units.
pub(super) fn width(text: &str, size: Size) -> f64 {
    let ems: f64 = text.chars().map(ems).sum();
    ems * size.height() * if size == Size::Title { BOLD } else { 1.0 }
}

fn ems(letter: char) -> f64 {
    let code = u32::from(letter);
    match code.checked_sub(32).and_then(|at| ASCII.get(at as usize)) {
        Some(thousandths) => f64::from(*thousandths) / 1000.0,
        // Gaps, dashes, arrows and signs that we write ourselves.
        None if ('\u{2000}'..='\u{22ff}').contains(&letter) => 1.0,
        None if code < FIRST_WIDE => LETTER,
        None => WIDE,
    }
}

/// A name in at most so much room, control characters escaped; its middle goes first.
pub(super) fn fitted(name: &str, room: f64, size: Size) -> String {
    // Escapes are longer than what they stand for, and no letter is much narrower than a fifth of its height.
    let mut letters = (room / (0.27 * size.height())).ceil().max(1.0) as usize;
    loop {
        let shown = text::name(name, letters, "…");
        if letters == 1 || width(&shown, size) <= room {
            return shown;
        }
        letters -= 1;
    }
}

/// Text in lines of at most so much room, at most so many lines; what does not fit is elided.
pub(super) fn lines(text: &str, room: f64, size: Size, most: usize) -> Vec<String> {
    let shown: String = text::beginning(text, 400, "…");
    let mut lines: Vec<String> = vec![String::new()];
    for word in shown.split(' ').filter(|word| !word.is_empty()) {
        let at = lines.len() - 1;
        let longer = if lines[at].is_empty() { word.to_owned() } else { format!("{} {word}", lines[at]) };
        if lines[at].is_empty() || width(&longer, size) <= room {
            lines[at] = longer;
        } else if lines.len() == most {
            lines[at] = fitted_end(&longer, room, size);
            break;
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.into_iter().map(|line| if width(&line, size) > room { fitted(&line, room, size) } else { line }).collect()
}

/// The beginning of a line, with a mark that there was more.
fn fitted_end(line: &str, room: f64, size: Size) -> String {
    let mut shown = String::new();
    for letter in line.chars() {
        shown.push(letter);
        if width(&shown, size) + width("…", size) > room {
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
    fn text_fits_the_room_that_it_is_given() {
        for name in ["progress(0.2)", "mantri(delta=0.25,kill_restart=false)", "日本語のノード", "\u{202e}x\u{7}<y>"]
        {
            for room in [8.0, 20.0, 60.0, 300.0] {
                let shown = fitted(name, room, Size::Normal);
                assert!(width(&shown, Size::Normal) <= room.max(17.0), "{name} {room}: {shown}");
            }
        }
        assert_eq!(fitted("progress(0.2)", 200.0, Size::Normal), "progress(0.2)");
        assert!(fitted("a-long-name-of-a-node", 60.0, Size::Normal).contains('…'));
        assert!(fitted(&"x".repeat(1 << 20), 60.0, Size::Normal).len() < 20);
    }

    #[test]
    fn headings_are_broken_at_spaces() {
        assert_eq!(lines("one two three", 60.0, Size::Normal, 3), ["one two", "three"]);
        let cut = lines("one two three four five six", 60.0, Size::Normal, 2);
        assert_eq!(cut.len(), 2);
        assert!(cut[1].ends_with('…') && width(&cut[1], Size::Normal) <= 60.0, "{cut:?}");
        assert_eq!(lines("", 60.0, Size::Normal, 2), [""]);
    }
}
