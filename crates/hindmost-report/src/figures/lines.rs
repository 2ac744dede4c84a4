//! Charts of curves: cumulative shares of jobs, and metrics by the values of a swept key, with their intervals.

use std::fmt::Write as _;

use super::legend::{LINE, SAMPLE, heading, legend};
use super::measure::{Size, fitted};
use super::scale::{Axis, Scale};
use super::svg::{Anchor, Canvas, Drawing, number};
use super::{NARROW, simplify};

/// Height of the area in which the curves are drawn.
const HEIGHT: f64 = 210.0;
/// Gap between the area and its labels.
const GAP: f64 = 6.0;
/// Space to the right of the area, for half of the last label.
const RIGHT: f64 = 18.0;
/// Largest number of intervals that are drawn as whiskers. A curve with more intervals has a band.
const MOST_WHISKERS: usize = 12;
/// Largest horizontal distance between the marks of the first and the last curve at the same value.
const APART: f64 = 16.0;
/// Smallest distance of marks from the vertical axis.
const INSET: f64 = 14.0;
/// Largest width of a tick's label.
const LONGEST_TICK: f64 = 90.0;
/// The note below a picture if intervals exceed the axis.
const CUT: &str = "An arrow at the end of an interval: it continues beyond the axis.";
/// The entry of the legend for stated points.
const STATED: &str = "stated in the paper's text";
/// Radius of the ring of a stated point.
const RING: f64 = 4.5;
/// Number of colours of curves. Later curves use the colours again.
const COLOURS: usize = 7;

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// In steps: the value is constant until the next point.
    Steps,
    /// Straight lines between points.
    Plain,
    /// Straight lines between points, and a mark at each point.
    Marked,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Value along the horizontal axis.
    pub x: f64,
    /// Value along the vertical axis.
    pub y: f64,
    /// The confidence interval of `y`, if there is one.
    pub interval: Option<[f64; 2]>,
}

/// A named curve of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name of the curve in the legend.
    pub name: String,
    /// Points of the curve from left to right.
    pub points: Vec<Point>,
}

impl Series {
    /// Returns the intervals of the finite points, each with the point's `x`.
    fn intervals(&self) -> impl Iterator<Item = (f64, [f64; 2])> {
        let sound = |point: &&Point| point.x.is_finite() && point.y.is_finite();
        self.points.iter().filter(sound).filter_map(|point| Some((point.x, point.interval?)))
    }

    /// Returns the intervals if they are few enough to be drawn as whiskers.
    fn whiskers(&self) -> Option<impl Iterator<Item = (f64, [f64; 2])>> {
        (self.intervals().count() <= MOST_WHISKERS).then(|| self.intervals())
    }
}

/// A point that is stated by somebody else, such as a point of a paper's curve in the paper's text.
#[derive(Clone, Debug, PartialEq)]
pub struct Stated {
    /// Index of the curve on which the point should lie.
    pub series: usize,
    /// Value along the horizontal axis.
    pub x: f64,
    /// Value along the vertical axis.
    pub y: f64,
    /// Points of the curve. A line leads to the one that is nearest in the picture; empty: there is no line.
    pub near: Vec<[f64; 2]>,
    /// Tooltip of the point.
    pub tip: String,
}

/// A chart of several curves.
#[derive(Clone, Debug, PartialEq)]
pub struct LineChart {
    /// Heading of the chart.
    pub title: String,
    /// Description of the chart for readers who cannot see it.
    pub about: String,
    /// Label and unit of the horizontal axis.
    pub x: Axis,
    /// Label and unit of the vertical axis.
    pub y: Axis,
    /// How all curves are drawn.
    pub kind: Kind,
    /// Curves in the order of the legend.
    pub series: Vec<Series>,
    /// Limits of the horizontal axis; `None`: the smallest and the largest value.
    pub x_limits: Option<[f64; 2]>,
    /// Limits of the vertical axis; `None`: the smallest and the largest value, intervals included.
    pub y_limits: Option<[f64; 2]>,
    /// Positions and labels of the horizontal axis's ticks; empty: ticks at round numbers.
    pub x_ticks: Vec<(f64, String)>,
    /// Values of `y` that are marked by dashed horizontal lines, with the lines' tooltips.
    pub levels: Vec<(f64, String)>,
    /// Points that are drawn as rings in the colours of their curves, each with a line to its curve.
    pub stated: Vec<Stated>,
}

impl LineChart {
    /// Draws the chart.
    pub fn draw(&self) -> Drawing {
        let mut canvas = Canvas::default();
        let mut top = heading(&mut canvas, &self.title, NARROW);
        let mut names: Vec<&str> = self.series.iter().map(|series| series.name.as_str()).collect();
        if !self.stated.is_empty() {
            names.push(STATED);
        }
        top = legend(&mut canvas, &names, top, NARROW, |canvas, at, x, y| {
            if at == self.series.len() {
                return ring(canvas, "hm-axis", (x + SAMPLE / 2.0, y));
            }
            canvas.line(&stroke(at), (x, y), (x + SAMPLE, y));
            if self.kind == Kind::Marked {
                mark(canvas, at, x + SAMPLE / 2.0, y);
            }
        });
        let ([x_low, x_high], [y_low, y_high]) = self.limits();
        let y = Scale::vertical(&self.y, y_low, y_high, HEIGHT);
        let left = (y.widest() + GAP).max(24.0);
        let area_width = NARROW - left - RIGHT;
        // Marks and whiskers keep a distance from the axis and its labels.
        let inset = if self.kind == Kind::Marked { INSET } else { 0.0 };
        let mut x = Scale::horizontal(&self.x, x_low, x_high, area_width - 2.0 * inset);
        if !self.x_ticks.is_empty() {
            x.ticks = self.x_ticks.iter().map(|(at, label)| (*at, fitted(label, LONGEST_TICK, Size::Normal))).collect();
        }
        let across = |value: f64| left + inset + x.place(value) * (area_width - 2.0 * inset);
        // The label of the vertical axis is above the axis, so that its text is horizontal.
        canvas.text("hm-soft", 0.0, top + LINE - 5.0, Anchor::Start, &fitted(&y.label, NARROW, Size::Normal));
        top += LINE + 4.0;
        let (right, bottom) = (left + area_width, top + HEIGHT);
        for (value, label) in &y.ticks {
            let at = bottom - y.place(*value) * HEIGHT;
            canvas.line("hm-grid", (left, at), (right, at));
            canvas.text("hm-text", left - GAP, at + 4.0, Anchor::End, label);
        }
        for (at, middle, label) in x.labels(left + inset, area_width - 2.0 * inset, [0.0, NARROW]) {
            canvas.line("hm-axis", (at, bottom), (at, bottom + 4.0));
            canvas.text("hm-text", middle, bottom + LINE, Anchor::Middle, label);
        }
        canvas.line("hm-axis", (left, bottom), (right, bottom));
        let label = fitted(&x.label, area_width, Size::Normal);
        canvas.text("hm-soft", left + area_width / 2.0, bottom + 2.0 * LINE, Anchor::Middle, &label);
        let place = |px: f64, py: f64| (across(px), bottom - y.place(py) * HEIGHT);
        for (level, meaning) in &self.levels {
            let at = bottom - y.place(*level) * HEIGHT;
            canvas.explained(meaning, |canvas| canvas.line("hm-ref", (left, at), (right, at)));
        }
        let apart = self.apart(&|px| across(px));
        let edges = [top, bottom];
        let cut = self.series.iter().filter_map(Series::whiskers).flatten().any(|(x, ends)| {
            let [low, high] = ends.map(|end| place(x, end).1);
            is_cut([low, high], edges).contains(&true)
        });
        // Marks and thick lines at the limits may exceed the area a little.
        let clip = [left - 5.0, top - 5.0, area_width + 10.0, HEIGHT + 10.0];
        canvas.clipped("area", clip, |canvas| {
            for (at, series) in self.series.iter().enumerate() {
                canvas.explained(&series.name, |canvas| self.curve(canvas, at, series, apart, edges, &place));
            }
            for stated in &self.stated {
                canvas.explained(&stated.tip, |canvas| stated.draw(canvas, &place));
            }
        });
        let mut end = bottom + 2.0 * LINE + 8.0;
        if cut {
            canvas.text("hm-small hm-soft", 0.0, end + 6.0, Anchor::Start, CUT);
            end += LINE;
        }
        Drawing::new(&self.title, &self.about, NARROW, canvas, end)
    }

    /// Draws curve number `at`: its intervals, its line and its marks. Its marks are shifted horizontally from those of
    /// other curves by multiples of `apart`.
    fn curve(
        &self,
        canvas: &mut Canvas,
        at: usize,
        series: &Series,
        apart: f64,
        edges: [f64; 2],
        place: &dyn Fn(f64, f64) -> (f64, f64),
    ) {
        let sound = |point: &&Point| point.x.is_finite() && point.y.is_finite();
        let points: Vec<&Point> = series.points.iter().filter(sound).collect();
        let shift = (at as f64 - (self.series.len() as f64 - 1.0) / 2.0) * apart;
        let place = |x: f64, y: f64| {
            let (x, y) = place(x, y);
            (x + shift, y)
        };
        let placed: Vec<(f64, f64)> = points.iter().map(|point| place(point.x, point.y)).collect();
        let Some((first, others)) = placed.split_first() else { return };
        if let Some(whiskers) = series.whiskers() {
            for (x, ends) in whiskers {
                let [(x, low), (_, high)] = ends.map(|end| place(x, end));
                canvas.path(&format!("hm-whisker hm-s{}", at % COLOURS), &whisker(x, [low, high], edges));
            }
        } else {
            let ends: Vec<(f64, [f64; 2])> = series.intervals().collect();
            let there = ends.iter().map(|(x, [low, _])| place(*x, *low));
            let around: Vec<(f64, f64)> =
                there.chain(ends.iter().rev().map(|(x, [_, high])| place(*x, *high))).collect();
            canvas.path(&format!("hm-band hm-f{}", at % COLOURS), &(polyline(&around) + "Z"));
        }
        let mut d = String::new();
        if self.kind == Kind::Steps {
            let _ = write!(d, "M{} {}", number(first.0), number(first.1));
            for (x, y) in others {
                let _ = write!(d, "H{}V{}", number(*x), number(*y));
            }
        } else {
            d = polyline(&simplify::simplified(&placed));
        }
        canvas.path(&stroke(at), &d);
        if self.kind == Kind::Marked {
            for (x, y) in &placed {
                mark(canvas, at, *x, *y);
            }
        }
    }

    /// Returns the horizontal distance between the marks of successive curves at the same value. It is large enough to
    /// distinguish their whiskers, and small compared with the distance between two values.
    fn apart(&self, across: &dyn Fn(f64) -> f64) -> f64 {
        let points = || self.series.iter().flat_map(|series| &series.points).filter(|point| point.x.is_finite());
        if self.kind != Kind::Marked || self.series.len() < 2 || points().all(|point| point.interval.is_none()) {
            return 0.0;
        }
        let mut places: Vec<f64> = points().map(|point| across(point.x)).collect();
        places.sort_unstable_by(f64::total_cmp);
        let gaps = places.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.1);
        let total = gaps.fold(APART, |least, gap| least.min(gap / 4.0));
        (total / (self.series.len() - 1) as f64).min(APART / 4.0)
    }

    /// Returns the limits of the horizontal and of the vertical axis.
    fn limits(&self) -> ([f64; 2], [f64; 2]) {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let stated = || self.stated.iter();
        let positive = |logarithmic: bool| move |value: &f64| value.is_finite() && (!logarithmic || *value > 0.0);
        let x = self.x_limits.unwrap_or_else(|| {
            let all = points().map(|point| point.x).chain(stated().map(|point| point.x));
            span(all.filter(positive(self.x.logarithmic)))
        });
        let heights = points()
            .flat_map(|point| [Some(point.y), point.interval.map(|ends| ends[0]), point.interval.map(|ends| ends[1])]);
        let levels = self.levels.iter().map(|(level, _)| *level).chain(stated().map(|point| point.y));
        let mut y =
            self.y_limits.unwrap_or_else(|| span(heights.flatten().chain(levels).filter(positive(self.y.logarithmic))));
        // If no value is negative, the axis begins at 0 even if an interval begins below 0.
        let [lowest, _] = span(points().map(|point| point.y).filter(positive(self.y.logarithmic)));
        if self.y.logarithmic {
            y[0] = y[0].max(lowest / 3.0);
        } else if lowest >= 0.0 {
            y[0] = y[0].max(0.0);
        }
        (x, y)
    }
}

impl Stated {
    /// Draws the point as a ring, and a line to the nearest point of its curve.
    fn draw(&self, canvas: &mut Canvas, place: &dyn Fn(f64, f64) -> (f64, f64)) {
        if !(self.x.is_finite() && self.y.is_finite()) {
            return;
        }
        let at = place(self.x, self.y);
        let colour = format!("hm-s{}", self.series % COLOURS);
        let distance = |other: &(f64, f64)| (other.0 - at.0).hypot(other.1 - at.1);
        let near = self.near.iter().filter(|point| point.iter().all(|number| number.is_finite()));
        let near = near.map(|[x, y]| place(*x, *y)).min_by(|one, other| distance(one).total_cmp(&distance(other)));
        // The line ends at the ring; there is none if the curve passes through the ring.
        if let Some(near) = near.filter(|near| distance(near) > RING) {
            let part = RING / distance(&near);
            let from = (at.0 + (near.0 - at.0) * part, at.1 + (near.1 - at.1) * part);
            canvas.line(&format!("hm-whisker {colour}"), from, near);
        }
        ring(canvas, &format!("hm-ring {colour}"), at);
    }
}

/// Draws a ring with a point in its middle.
fn ring(canvas: &mut Canvas, class: &str, (x, y): (f64, f64)) {
    let [left, inner, y] = [x - RING, x - 0.7, y].map(number);
    let [radius, across] = [RING, 2.0 * RING].map(number);
    let around = format!("a{radius} {radius} 0 1 0 {across} 0a{radius} {radius} 0 1 0 -{across} 0Z");
    canvas.path(class, &format!("M{left} {y}{around}M{inner} {y}a.7 .7 0 1 0 1.4 0a.7 .7 0 1 0 -1.4 0Z"));
}

/// Returns the smallest and the largest value; infinities without values.
pub(super) fn span(values: impl Iterator<Item = f64>) -> [f64; 2] {
    values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| [low.min(value), high.max(value)])
}

/// Returns two flags: whether the lower and whether the upper end of an interval lies outside of the area with this top
/// and bottom.
fn is_cut([low, high]: [f64; 2], [top, bottom]: [f64; 2]) -> [bool; 2] {
    [low > bottom + 0.5, high < top - 0.5]
}

/// Returns the path of an interval: a vertical line with a bar at each end. An end that exceeds the area has an arrow
/// instead.
fn whisker(x: f64, ends: [f64; 2], [top, bottom]: [f64; 2]) -> String {
    let cut = is_cut(ends, [top, bottom]);
    let within = ends.map(|end| end.clamp(top, bottom));
    let end = |at: usize, back: f64| {
        let [left, right, x, y, behind] = [x - 3.0, x + 3.0, x, within[at], within[at] + back].map(number);
        if cut[at] { format!("M{left} {behind}L{x} {y}L{right} {behind}") } else { format!("M{left} {y}H{right}") }
    };
    let [middle, low, high] = [x, within[0], within[1]].map(number);
    format!("M{middle} {low}V{high}{}{}", end(0, -5.0), end(1, 5.0))
}

/// Returns a path of straight lines through points.
fn polyline(points: &[(f64, f64)]) -> String {
    let mut d = String::new();
    for (at, (x, y)) in points.iter().enumerate() {
        let _ = write!(d, "{}{} {}", if at == 0 { 'M' } else { 'L' }, number(*x), number(*y));
    }
    d
}

/// Returns the style classes of curve number `at`. Successive curves differ in colour and in dashes.
fn stroke(at: usize) -> String {
    let dash = ["", " hm-d1", " hm-d2", " hm-d3"][at % 4];
    format!("hm-line hm-s{}{dash}", at % COLOURS)
}

/// Draws a mark in the colour and shape of curve number `at`.
pub(super) fn mark(canvas: &mut Canvas, at: usize, x: f64, y: f64) {
    canvas.path(&format!("hm-f{}", at % COLOURS), &mark_path(at, x, y));
}

/// Returns the path of a mark in the shape of curve number `at`.
pub(super) fn mark_path(at: usize, x: f64, y: f64) -> String {
    let around = |points: &[(f64, f64)]| {
        let moved: Vec<(f64, f64)> = points.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
        polyline(&moved) + "Z"
    };
    match at % 5 {
        0 => {
            let [left, y] = [x - 3.5, y].map(number);
            format!("M{left} {y}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0Z")
        }
        1 => around(&[(-3.0, -3.0), (3.0, -3.0), (3.0, 3.0), (-3.0, 3.0)]),
        2 => around(&[(0.0, -4.0), (4.0, 3.0), (-4.0, 3.0)]),
        3 => around(&[(0.0, -4.5), (4.5, 0.0), (0.0, 4.5), (-4.5, 0.0)]),
        _ => around(&[(0.0, 4.0), (4.0, -3.0), (-4.0, -3.0)]),
    }
}
