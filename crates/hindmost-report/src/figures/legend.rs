//! Draws the heading of a picture, and the legend below it. Neither overlaps the data.

use super::measure::{Size, fitted, lines, width};
use super::svg::{Anchor, Canvas};

/// Width of the sample to the left of an entry's name.
pub(super) const SAMPLE: f64 = 26.0;
/// Height of a line of text.
pub(super) const LINE: f64 = 17.0;
/// Gap between the sample and the name of an entry. The gap between two entries is twice as wide.
const GAP: f64 = 6.0;
/// Largest number of lines of a heading.
const MOST_LINES: usize = 2;

/// Draws the heading and returns the position below it.
pub(super) fn heading(canvas: &mut Canvas, title: &str, max_width: f64) -> f64 {
    let mut y = 4.0;
    for line in lines(title, max_width, Size::Title, MOST_LINES) {
        y += LINE;
        canvas.text("hm-title", 0.0, y - 4.0, Anchor::Start, &line);
    }
    y + 4.0
}

/// Draws the entries of a legend, as many on a line as fit, and returns the position below them. `sample` draws the
/// sample of an entry; it receives the entry's index, the left end of its space, and the vertical middle.
pub(super) fn legend(
    canvas: &mut Canvas,
    names: &[impl AsRef<str>],
    top: f64,
    max_width: f64,
    mut sample: impl FnMut(&mut Canvas, usize, f64, f64),
) -> f64 {
    let (mut x, mut y) = (0.0, top);
    for (at, name) in names.iter().enumerate() {
        let shown = fitted(name.as_ref(), max_width - SAMPLE - GAP, Size::Normal);
        let needed = SAMPLE + GAP + width(&shown, Size::Normal);
        if x > 0.0 && x + needed > max_width {
            x = 0.0;
            y += LINE;
        }
        sample(canvas, at, x, y + LINE / 2.0);
        canvas.text("hm-text", x + SAMPLE + GAP, y + LINE / 2.0 + 4.0, Anchor::Start, &shown);
        x += needed + 2.0 * GAP;
    }
    if names.is_empty() { top } else { y + LINE + 4.0 }
}
