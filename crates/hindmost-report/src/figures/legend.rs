//! The frame of a picture: heading, and below it a legend that has the room that it needs, so that it never lies
//! on the data.

use super::measure::{Size, fitted, lines, width};
use super::svg::{Anchor, Canvas};

/// Width of the sample left of a name.
pub(super) const SAMPLE: f64 = 26.0;
/// Height of a line of text.
pub(super) const LINE: f64 = 17.0;
/// Between sample and name, and twice between entries.
const GAP: f64 = 6.0;
/// Lines of a heading.
const MOST_LINES: usize = 2;

/// Draws the heading and returns where the next thing may begin.
pub(super) fn heading(canvas: &mut Canvas, title: &str, room: f64) -> f64 {
    let mut y = 4.0;
    for line in lines(title, room, Size::Title, MOST_LINES) {
        y += LINE;
        canvas.text("hm-title", 0.0, y - 4.0, Anchor::Start, &line);
    }
    y + 4.0
}

/// Draws entries of sample and name beside each other as far as they fit, and returns where the next thing may
/// begin. `sample` draws the one of an entry, given its left end and middle.
pub(super) fn legend(
    canvas: &mut Canvas,
    names: &[impl AsRef<str>],
    top: f64,
    room: f64,
    mut sample: impl FnMut(&mut Canvas, usize, f64, f64),
) -> f64 {
    let (mut x, mut y) = (0.0, top);
    for (at, name) in names.iter().enumerate() {
        let shown = fitted(name.as_ref(), room - SAMPLE - GAP, Size::Normal);
        let needed = SAMPLE + GAP + width(&shown, Size::Normal);
        if x > 0.0 && x + needed > room {
            x = 0.0;
            y += LINE;
        }
        sample(canvas, at, x, y + LINE / 2.0);
        canvas.text("hm-text", x + SAMPLE + GAP, y + LINE / 2.0 + 4.0, Anchor::Start, &shown);
        x += needed + 2.0 * GAP;
    }
    if names.is_empty() { top } else { y + LINE + 4.0 }
}
