//! Draws a small picture of a claim: the range of values that confirms the claim, and the measured values.

use super::lines::span;
use super::svg::{Canvas, Drawing, number};

const WIDTH: f64 = 200.0;
const HEIGHT: f64 = 24.0;
/// Space to the left and to the right of the values.
const MARGIN: f64 = 8.0;
/// A limit of the range is shown if its distance from the measured values is at most this many times their span.
const FAR: f64 = 12.0;

/// A measured value, drawn as a dot.
#[derive(Clone, Debug, PartialEq)]
pub struct StripDot {
    /// Tooltip of the dot.
    pub tip: String,
    /// The measured value.
    pub value: f64,
    /// The confidence interval of the value, if there is one.
    pub interval: Option<[f64; 2]>,
    /// True if the value confirms the claim.
    pub holds: bool,
}

/// The range of values that confirms a claim, and the measured values, on an axis without numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Strip {
    /// Title of the picture for readers who cannot see it.
    pub title: String,
    /// Smallest value that confirms the claim; `None` for no limit.
    pub low: Option<f64>,
    /// Largest value that confirms the claim; `None` for no limit.
    pub high: Option<f64>,
    /// The measured values, in any order.
    pub dots: Vec<StripDot>,
}

impl Strip {
    /// Draws the picture.
    pub fn draw(&self) -> Drawing {
        let mut canvas = Canvas::default();
        let dots: Vec<&StripDot> = self.dots.iter().filter(|dot| dot.value.is_finite()).collect();
        let ends = dots.iter().flat_map(|dot| dot.interval.into_iter().flatten().chain([dot.value]));
        let [mut low, mut high] = span(ends.filter(|end| end.is_finite()));
        let limits = [self.low, self.high].map(|limit| limit.filter(|limit| limit.is_finite()));
        if dots.is_empty() {
            [low, high] = span(limits.into_iter().flatten());
        }
        let reach = ((high - low) * FAR).max(high.abs().max(low.abs()));
        let (least, most) = (low - reach, high + reach);
        for limit in limits.into_iter().flatten().filter(|limit| *limit > least && *limit < most) {
            (low, high) = (low.min(limit), high.max(limit));
        }
        if !(high - low).is_normal() {
            let around = if low.is_finite() && low != 0.0 { low.abs() / 2.0 } else { 1.0 };
            (low, high) = if low.is_finite() { (low - around, low + around) } else { (0.0, 1.0) };
        }
        let width = WIDTH - 2.0 * MARGIN;
        let place = |value: f64| MARGIN + ((value - low) / (high - low)).clamp(-0.04, 1.04) * width;
        let middle = HEIGHT / 2.0;
        if self.low.is_some() || self.high.is_some() {
            // The margins of 1.5 keep the range visible if both limits are equal.
            let from = self.low.map_or(0.0, |low| place(low) - 1.5);
            let to = self.high.map_or(WIDTH, |high| place(high) + 1.5);
            canvas.rect("hm-zone", from, 2.0, to - from, HEIGHT - 4.0);
        }
        canvas.line("hm-axis", (0.0, middle), (WIDTH, middle));
        // Values that confirm the claim are drawn last, so that no other dot covers them.
        for holds in [false, true] {
            for dot in dots.iter().filter(|dot| dot.holds == holds) {
                canvas.explained(&dot.tip, |canvas| {
                    if let Some([low, high]) = dot.interval {
                        canvas.line("hm-whisker", (place(low), middle), (place(high), middle));
                    }
                    let left = number(place(dot.value) - 4.0);
                    let d = format!("M{left} {middle}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z");
                    canvas.path(if holds { "hm-holds" } else { "hm-not" }, &d);
                });
            }
        }
        let about = "The shaded area has the values that confirm the claim. Filled dots are measured values that \
                     confirm it, hollow dots are measured values that do not.";
        Drawing::new(&self.title, about, WIDTH, canvas, HEIGHT)
    }
}
