//! One attempt as a bar, and a lane of them.

use crate::figures::measure::{Size, width};
use crate::figures::svg::{Anchor, Canvas, ID, number};

/// Bars that are narrower are drawn as one with the bar before, if that one is as narrow and ends where they begin.
const HAIR: f64 = 0.9;
/// What a label needs beside itself.
const AROUND: f64 = 8.0;

/// What became of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// First of its task to finish.
    Won,
    /// Stopped because another copy had won, or for another copy.
    Lost,
    /// Failed.
    Failed,
    /// Lost with its node.
    NodeLost,
    /// Stopped with the run, or not over when what is known of it ends.
    Cut,
}

impl Fate {
    pub(super) const ALL: [Fate; 5] = [Fate::Won, Fate::Lost, Fate::Failed, Fate::NodeLost, Fate::Cut];

    /// Whether it ended for a reason of its own.
    pub(super) fn is_broken(self) -> bool {
        !matches!(self, Fate::Won | Fate::Lost)
    }
}

/// An attempt as it is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// When it was started, seconds.
    pub from: f64,
    /// When it ended, seconds.
    pub to: f64,
    /// What became of it.
    pub fate: Fate,
    /// Whether it was started beside another copy of its task.
    pub copy: bool,
    /// What is written on it where there is room.
    pub label: String,
    /// What is told of it where a pointer rests on it.
    pub tip: String,
}

/// Draws the attempts of a lane.
pub(super) fn lane(canvas: &mut Canvas, lane: &[Attempt], top: f64, height: f64, place: &dyn Fn(f64) -> f64) {
    let mut merged: Vec<([f64; 2], &Attempt, usize)> = Vec::new();
    for attempt in lane {
        let (from, to) = (place(attempt.from), place(attempt.to));
        if let Some((ends, _, count)) = merged.last_mut()
            && to - from < HAIR
            && from - ends[1] < HAIR
            && (*count > 1 || ends[1] - ends[0] < HAIR)
        {
            ends[1] = ends[1].max(to);
            *count += 1;
            continue;
        }
        merged.push(([from, to], attempt, 1));
    }
    for ([from, to], attempt, count) in merged {
        let tip = if count == 1 {
            attempt.tip.clone()
        } else {
            format!("{count} attempts, too short to be drawn one by one")
        };
        canvas.explained(&tip, |canvas| {
            let length = to - from;
            shape(canvas, attempt.fate, attempt.copy, [from, top, length, height]);
            // The sign of a copy stands at its beginning.
            let left = from + if attempt.copy { 7.0 } else { 0.0 };
            let room =
                length - if attempt.copy { 7.0 } else { 0.0 } - if attempt.fate.is_broken() { 13.0 } else { 0.0 };
            let label = crate::text::escaped(&attempt.label);
            if count == 1 && width(&label, Size::Small) + AROUND <= room {
                let class = if attempt.fate == Fate::Won { "hm-on" } else { "hm-over" };
                canvas.text(class, left + AROUND / 2.0, top + height / 2.0 + 3.5, Anchor::Start, &label);
            }
        });
    }
}

/// The bar of an attempt: solid if it won, hatched if it lost, with a sign at its end if it broke; copies have a
/// diamond at their beginning.
pub(in crate::figures) fn shape(canvas: &mut Canvas, fate: Fate, copy: bool, area: [f64; 4]) {
    let [x, y, length, height] = area;
    // A gap between one bar and the next.
    let length = (length - if length > 3.0 { 0.8 } else { 0.0 }).max(0.8);
    let (end, middle) = (x + length, y + height / 2.0);
    let class = match fate {
        Fate::Won if copy => "hm-copy",
        Fate::Won => "hm-won",
        Fate::Lost => "hm-lost",
        Fate::Failed | Fate::NodeLost => "hm-broken",
        Fate::Cut => "hm-cut",
    };
    canvas.rect(class, x, y, length, height);
    if fate == Fate::Lost && length > 2.0 {
        let [x, y, length, height] = [x, y, length, height].map(number);
        canvas.raw(&format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{length}\" height=\"{height}\" fill=\"url(#{ID}-hatch)\"/>"
        ));
    }
    // Clear of the diamond of a copy that may begin where it ends.
    let sign = end - if length > 20.0 { 9.0 } else { 5.0 };
    match fate {
        Fate::Failed => {
            let [left, right, above, below] = [sign - 3.0, sign + 3.0, middle - 3.0, middle + 3.0].map(number);
            canvas.path("hm-sign hm-break", &format!("M{left} {above}L{right} {below}M{left} {below}L{right} {above}"));
        }
        Fate::NodeLost => {
            let [left, middle_, low, high, above, below] =
                [sign - 3.5, middle, sign - 2.4, sign + 2.4, middle - 2.4, middle + 2.4].map(number);
            let d = format!("M{left} {middle_}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0M{low} {below}L{high} {above}");
            canvas.path("hm-sign hm-break", &d);
        }
        Fate::Won | Fate::Lost | Fate::Cut => {}
    }
    if copy {
        let [left, right, above, below, x, middle] =
            [x - 4.0, x + 4.0, middle - 4.5, middle + 4.5, x, middle].map(number);
        canvas.path("hm-diamond", &format!("M{x} {above}L{right} {middle}L{x} {below}L{left} {middle}Z"));
    }
}
