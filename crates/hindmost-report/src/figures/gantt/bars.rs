//! Draws attempts as bars. A lane is a horizontal line of bars that do not overlap.

use std::fmt::Write as _;

use crate::figures::measure::{Size, width};
use crate::figures::svg::{Anchor, Canvas, number};
use crate::lanes::Fate;

/// Adjacent bars that are all narrower than this are drawn as one bar.
const HAIR: f64 = 0.9;
/// Width that a bar needs in addition to its label, so that there is space around the label.
const AROUND: f64 = 8.0;
/// Horizontal distance between two lines of hatching.
const HATCH: f64 = 5.0;
/// Distance of hatching from a bar's edge, so that the ends of its lines stay inside.
const HATCH_INSET: f64 = 0.6;

/// An attempt as it is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// Time of the start, in seconds on the time axis.
    pub from: f64,
    /// Time of the end, in seconds on the time axis.
    pub to: f64,
    /// How the attempt ended.
    pub fate: Fate,
    /// True if another attempt of its task was running when the attempt started.
    pub copy: bool,
    /// Text on the bar. It is drawn only if the bar is long enough.
    pub label: String,
    /// Tooltip of the bar.
    pub tip: String,
}

/// Draws the attempts of a lane. `place` converts seconds to horizontal positions.
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
            format!("{count} attempts that are too short to be drawn separately")
        };
        canvas.explained(&tip, |canvas| {
            let length = to - from;
            shape(canvas, attempt.fate, attempt.copy, [from, top, length, height]);
            // The symbol of a copy is at the beginning of its bar.
            let left = from + if attempt.copy { 7.0 } else { 0.0 };
            let space =
                length - if attempt.copy { 7.0 } else { 0.0 } - if attempt.fate.is_broken() { 13.0 } else { 0.0 };
            let label = crate::text::escaped(&attempt.label);
            if count == 1 && width(&label, Size::Small) + AROUND <= space {
                let class = if attempt.fate == Fate::Won { "hm-on" } else { "hm-over" };
                canvas.text(class, left + AROUND / 2.0, top + height / 2.0 + 3.5, Anchor::Start, &label);
            }
        });
    }
}

/// Draws the bar of an attempt: solid if it won, hatched if it lost, with a symbol at its end if it failed or its node
/// was lost. Copies have a diamond at their beginning.
pub(in crate::figures) fn shape(canvas: &mut Canvas, fate: Fate, copy: bool, area: [f64; 4]) {
    let [x, y, length, height] = area;
    // Leaves a gap before the next bar.
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
    if fate == Fate::Lost {
        let d = hatching(area_within([x, y, length, height]));
        if !d.is_empty() {
            canvas.path("hm-hatch", &d);
        }
    }
    // Leaves space for the diamond of a copy, whose bar may begin where this bar ends.
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

/// Returns the part of a bar in which hatching is drawn.
fn area_within([x, y, length, height]: [f64; 4]) -> [f64; 4] {
    [x + HATCH_INSET, y + HATCH_INSET, length - 2.0 * HATCH_INSET, height - 2.0 * HATCH_INSET]
}

/// Returns a path of slanting lines that fill an area; empty if the area is too small for a line. The path is used
/// instead of an SVG pattern because browsers print patterns as bitmaps of some hundred kilobytes. All lines of a
/// picture lie on one grid, so that the hatching of bars below each other is aligned.
fn hatching([x, y, length, height]: [f64; 4]) -> String {
    let mut d = String::new();
    if length <= 0.0 || height <= 0.0 {
        return d;
    }
    let (right, bottom) = (x + length, y + height);
    // The sum of both coordinates is constant along a line. This is the range of line numbers.
    let (first, last) = (((x + y) / HATCH).ceil() as i64, ((right + bottom) / HATCH).floor() as i64);
    let (step, rise) = (number(HATCH), number(height));
    let mut at_top = None;
    for line in first..=last {
        let sum = line as f64 * HATCH;
        let (from, to) = (x.max(sum - bottom), right.min(sum - y));
        if to - from <= 0.5 {
            continue;
        }
        let whole = to - from > height - 0.01;
        // Most lines run from the top to the bottom of the area. They are written relative to the end of the previous
        // line.
        match at_top.filter(|_| whole) {
            Some(true) => _ = write!(d, "m{step} 0l-{rise} {rise}"),
            Some(false) => _ = write!(d, "m{step} 0l{rise}-{rise}"),
            None => {
                let [from_x, from_y, to_x, to_y] = [from, sum - from, to, sum - to].map(number);
                let _ = write!(d, "M{from_x} {from_y}L{to_x} {to_y}");
            }
        }
        at_top = whole.then(|| at_top != Some(true));
    }
    d
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lines of a path, each from its lower end `[x, y]` to its upper end `[x, y]`.
    fn lines(d: &str) -> Vec<[f64; 4]> {
        let mut found: Vec<[f64; 4]> = Vec::new();
        let mut pen = [0.0, 0.0];
        let mut rest = d;
        while let Some(command) = rest.chars().next() {
            let end = rest[1..].find(['M', 'L', 'm', 'l']).map_or(rest.len(), |end| end + 1);
            let pair = rest[1..end].replace('-', " -");
            let by: Vec<f64> = pair.split_whitespace().map(|number| number.parse().unwrap()).collect();
            rest = &rest[end..];
            let from = if command.is_lowercase() { pen } else { [0.0, 0.0] };
            let to = [from[0] + by[0], from[1] + by[1]];
            if command.eq_ignore_ascii_case(&'l') {
                let ends = if to[0] > pen[0] { [pen, to] } else { [to, pen] };
                found.push([ends[0][0], ends[0][1], ends[1][0], ends[1][1]]);
            }
            pen = to;
        }
        found
    }

    #[test]
    fn hatching_fills_its_area_and_stays_inside() {
        for area in [[3.3, 7.1, 40.0, 13.8], [0.0, 0.0, 6.0, 13.8], [12.4, 95.0, 300.0, 4.0]] {
            let [x, y, length, height] = area;
            let drawn = lines(&hatching(area));
            // There is one line for each step along width and height. At corners up to two lines may be too short.
            let expected = (length + height) / HATCH;
            assert!((drawn.len() as f64 - expected).abs() <= 2.0, "{drawn:?}");
            for [from_x, from_y, to_x, to_y] in drawn {
                for (at_x, at_y) in [(from_x, from_y), (to_x, to_y)] {
                    assert!(at_x >= x - 0.051 && at_x <= x + length + 0.051, "{area:?} {at_x}");
                    assert!(at_y >= y - 0.051 && at_y <= y + height + 0.051, "{area:?} {at_y}");
                }
                assert!(to_x > from_x && (to_x - from_x - (from_y - to_y)).abs() < 0.21, "they slant by 45 degrees");
            }
        }
        assert_eq!(hatching([1.0, 1.0, 0.0, 15.0]) + &hatching([1.0, 1.0, 20.0, -1.0]), "");
    }

    #[test]
    fn hatching_of_different_bars_lies_on_one_grid() {
        let sums = |area| lines(&hatching(area)).into_iter().map(|[x, y, _, _]| ((x + y) / HATCH).rem_euclid(1.0));
        for off in sums([3.3, 7.1, 40.0, 13.8]).chain(sums([17.9, 24.2, 9.0, 13.8])) {
            assert!(off.min(1.0 - off) < 0.03, "{off}");
        }
    }
}
