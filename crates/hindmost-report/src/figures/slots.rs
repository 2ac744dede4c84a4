//! A chart of the slots of an application over time: how many there were, for what they were used, and below it when its
//! phases and jobs ran.

use std::fmt::Write as _;

use super::legend::{LINE, heading, legend};
use super::measure::{Size, fitted, width};
use super::scale::{Axis, Scale, Unit};
use super::svg::{Anchor, Canvas, Drawing, number};
use super::{NARROW, WIDE};

/// Height of the area of the slots.
const AREA: f64 = 170.0;
/// Height of a lane of spans.
const LANE: f64 = 13.0;
/// Gap below a lane.
const BETWEEN_LANES: f64 = 2.0;
/// Gap between two rows, and above the first.
const BETWEEN_ROWS: f64 = 6.0;
/// Largest share of the picture's width that the names of rows take.
const NAMES: f64 = 0.2;
/// Gap between names and the chart.
const GAP: f64 = 8.0;
/// Width that a span needs in addition to its label.
const AROUND: f64 = 6.0;
/// Steps that are narrower than this are drawn as one.
const NARROWEST: f64 = 1.4;

/// A part of the slots.
#[derive(Clone, Debug, PartialEq)]
pub struct SlotLayer {
    /// Name in the legend.
    pub name: String,
    /// How it is drawn.
    pub look: SlotLook,
    /// Number of slots in each step.
    pub slots: Vec<f64>,
}

/// How a part of the slots is drawn. All looks differ in colour and in hatching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotLook {
    /// Filled.
    Plain,
    /// Filled, with dots.
    Dotted,
    /// Light.
    Light,
    /// Filled, with lines that rise.
    Rising,
    /// Filled, with lines that fall.
    Falling,
}

impl SlotLook {
    /// The class of the filling, and the name of the pattern over it.
    fn parts(self) -> (&'static str, Option<&'static str>) {
        match self {
            SlotLook::Plain => ("hm-f0", None),
            SlotLook::Dotted => ("hm-f2", Some("dots")),
            SlotLook::Light => ("hm-started", None),
            SlotLook::Rising => ("hm-f1", Some("rise")),
            SlotLook::Falling => ("hm-f3", Some("fall")),
        }
    }
}

/// A span of time in a row.
#[derive(Clone, Debug, PartialEq)]
pub struct SlotSpan {
    /// Begin, seconds.
    pub from: f64,
    /// End, seconds.
    pub to: f64,
    /// Text in the span. It is drawn only if the span is long enough.
    pub label: String,
    /// Tooltip of the span; empty for none.
    pub tip: String,
}

/// A row of spans below the slots. Spans that overlap are below each other.
#[derive(Clone, Debug, PartialEq)]
pub struct SlotRow {
    /// Name of the row.
    pub name: String,
    /// The spans, by their begin.
    pub spans: Vec<SlotSpan>,
    /// The most lanes. Spans that would need more are left out.
    pub lanes: usize,
}

/// The slots of an application over time.
#[derive(Clone, Debug, PartialEq)]
pub struct SlotChart {
    /// Heading of the chart.
    pub title: String,
    /// Description of the chart for readers who cannot see it.
    pub about: String,
    /// End of the time axis, seconds.
    pub end: f64,
    /// When each step begins, seconds.
    pub starts: Vec<f64>,
    /// Number of slots in each step.
    pub slots: Vec<f64>,
    /// What the slots were used for, from the bottom to the top.
    pub layers: Vec<SlotLayer>,
    /// Rows below the slots.
    pub rows: Vec<SlotRow>,
    /// True for the width of a page, false for the width of a phone.
    pub wide: bool,
}

/// Where the chart is in its picture.
struct Frame {
    left: f64,
    area: f64,
    picture: f64,
    time: Scale,
}

impl Frame {
    fn place(&self, seconds: f64) -> f64 {
        self.left + self.time.place(seconds).clamp(0.0, 1.0) * self.area
    }
}

impl SlotChart {
    /// Draws the chart.
    pub fn draw(&self) -> Drawing {
        let picture = if self.wide { WIDE } else { NARROW };
        let mut canvas = Canvas::default();
        patterns(&mut canvas);
        let mut y = heading(&mut canvas, &self.title, picture);
        let layers: Vec<&SlotLayer> =
            self.layers.iter().filter(|layer| layer.slots.iter().any(|slots| *slots > 0.0)).collect();
        let mut names: Vec<&str> = layers.iter().map(|layer| layer.name.as_str()).collect();
        names.push("slots");
        y = legend(&mut canvas, &names, y, picture, |canvas, at, x, y| match layers.get(at) {
            Some(layer) => fill(canvas, layer.look, &format!("M{} {}h20v11h-20Z", number(x + 4.0), number(y - 5.0))),
            None => canvas.line("hm-frame", (x + 2.0, y), (x + 24.0, y)),
        });
        let end = if self.end.is_finite() && self.end > 0.0 { self.end } else { 1.0 };
        let most = self.slots.iter().copied().filter(|slots| slots.is_finite()).fold(1.0, f64::max);
        let slots = Scale::vertical(&Axis::new("slots", Unit::Number(String::new())), 0.0, most, AREA);
        let longest = |name: &str| width(&fitted(name, picture * NAMES, Size::Normal), Size::Normal);
        let names = self.rows.iter().map(|row| longest(&row.name)).fold(slots.widest(), f64::max);
        let left = names + GAP;
        let area = picture - left - 2.0 * GAP;
        let time = Scale::time(&Axis::new("time since the application began", Unit::Seconds), end, area);
        let frame = Frame { left, area, picture, time };
        y = self.draw_slots(&mut canvas, &layers, &slots, &frame, y + 6.0);
        for row in &self.rows {
            y = row.draw(&mut canvas, &frame, y + BETWEEN_ROWS, names);
        }
        Drawing::new(&self.title, &self.about, picture, canvas, y + 2.0)
    }

    /// Draws the slots and the axis of time below `top`, and returns the position below them.
    fn draw_slots(&self, canvas: &mut Canvas, layers: &[&SlotLayer], slots: &Scale, frame: &Frame, top: f64) -> f64 {
        let Frame { left, area, picture, time } = frame;
        let bottom = top + AREA;
        let height = |value: f64| bottom - slots.place(value).clamp(0.0, 1.0) * AREA;
        for (value, label) in &slots.ticks {
            let at = height(*value);
            canvas.line("hm-grid", (*left, at), (left + area, at));
            canvas.text("hm-text", left - GAP, at + 4.0, Anchor::End, label);
        }
        let (edges, merged) = self.merged(layers, frame);
        let outline = |values: &[f64]| steps(&edges, values, &height);
        let all: Vec<f64> = merged.iter().map(|step| step.slots).collect();
        canvas.path("hm-down", &format!("{}V{}H{}Z", outline(&all), number(bottom), number(*left)));
        // Each layer is drawn down to the bottom, and the lower ones over it.
        for (at, layer) in layers.iter().enumerate().rev() {
            let tops: Vec<f64> = merged.iter().map(|step| step.uses[..=at].iter().sum()).collect();
            fill(canvas, layer.look, &format!("{}V{}H{}Z", outline(&tops), number(bottom), number(*left)));
        }
        canvas.path("hm-frame", &outline(&all));
        for (at, middle, label) in time.labels(*left, *area, [0.0, *picture]) {
            canvas.line("hm-axis", (at, bottom), (at, bottom + 3.0));
            canvas.text("hm-text", middle, bottom + LINE - 2.0, Anchor::Middle, label);
        }
        canvas.line("hm-axis", (*left, bottom), (left + area, bottom));
        let label = fitted(&time.label, *area, Size::Normal);
        canvas.text("hm-soft", left + area / 2.0, bottom + 2.0 * LINE - 3.0, Anchor::Middle, &label);
        bottom + 2.0 * LINE
    }

    /// Returns the edges and the averages of steps that are at least as wide as the narrowest that are drawn.
    fn merged(&self, layers: &[&SlotLayer], frame: &Frame) -> (Vec<f64>, Vec<Step>) {
        let mut edges: Vec<f64> = Vec::new();
        let mut merged: Vec<Step> = Vec::new();
        let value =
            |values: &[f64], at: usize| values.get(at).copied().filter(|value| value.is_finite()).unwrap_or(0.0);
        for (at, start) in self.starts.iter().enumerate() {
            let (begin, end) = (*start, self.starts.get(at + 1).copied().unwrap_or(self.end));
            let seconds = (end - begin).max(0.0);
            let step = Step {
                seconds,
                slots: value(&self.slots, at),
                uses: layers.iter().map(|layer| value(&layer.slots, at)).collect(),
            };
            let left = frame.place(begin);
            match (edges.last(), merged.last_mut()) {
                (Some(edge), Some(last)) if frame.place(end) - edge < NARROWEST || left - edge < NARROWEST => {
                    last.add(&step);
                }
                _ => {
                    edges.push(left);
                    merged.push(step);
                }
            }
        }
        edges.push(frame.place(self.end));
        (edges, merged)
    }
}

/// A step as it is drawn.
struct Step {
    seconds: f64,
    slots: f64,
    uses: Vec<f64>,
}

impl Step {
    /// Averages this step and the next one.
    fn add(&mut self, next: &Step) {
        let seconds = self.seconds + next.seconds;
        let share = if seconds > 0.0 { next.seconds / seconds } else { 0.0 };
        let mean = |one: f64, other: f64| one + (other - one) * share;
        self.slots = mean(self.slots, next.slots);
        for (one, other) in self.uses.iter_mut().zip(&next.uses) {
            *one = mean(*one, *other);
        }
        self.seconds = seconds;
    }
}

/// Returns a path along the tops of steps.
fn steps(edges: &[f64], values: &[f64], height: &impl Fn(f64) -> f64) -> String {
    let mut path = String::new();
    let mut last = String::new();
    let mut pending: Option<String> = None;
    for (value, pair) in values.iter().zip(edges.windows(2)) {
        let top = number(height(*value));
        if path.is_empty() {
            let _ = write!(path, "M{} {top}", number(pair[0]));
        } else if top != last {
            if let Some(end) = pending.take() {
                let _ = write!(path, "H{end}");
            }
            let _ = write!(path, "V{top}");
        }
        last = top;
        pending = Some(number(pair[1]));
    }
    if let Some(end) = pending {
        let _ = write!(path, "H{end}");
    }
    if path.is_empty() { "M0 0".to_owned() } else { path }
}

/// Adds the patterns of the looks.
fn patterns(canvas: &mut Canvas) {
    canvas.pattern("dots", 6.0, "hm-on-line", "M1 1h1.5v1.5h-1.5ZM4 4h1.5v1.5h-1.5Z");
    canvas.pattern("rise", 6.0, "hm-on-line", "M-1 1L1 -1M0 6L6 0M5 7L7 5");
    canvas.pattern("fall", 6.0, "hm-on-line", "M-1 5L1 7M0 0L6 6M5 -1L7 1");
}

/// Draws a shape with a look.
fn fill(canvas: &mut Canvas, look: SlotLook, d: &str) {
    let (class, pattern) = look.parts();
    canvas.path(class, d);
    if let Some(pattern) = pattern {
        canvas.patterned(pattern, d);
    }
}

impl SlotRow {
    /// Draws the row and returns the position below it. Names have the given width.
    fn draw(&self, canvas: &mut Canvas, frame: &Frame, top: f64, names: f64) -> f64 {
        let name = fitted(&self.name, names.max(10.0), Size::Normal);
        canvas.text("hm-text", frame.left - GAP, top + LANE / 2.0 + 4.0, Anchor::End, &name);
        // The right edge of the last span in each lane.
        let mut lanes: Vec<f64> = Vec::new();
        // Spans without words, which are drawn together.
        let mut plain = String::new();
        for span in &self.spans {
            let (from, to) = (frame.place(span.from), frame.place(span.to));
            let to = to.max(from + 0.6);
            let lane = match lanes.iter().position(|end| *end <= from + 0.05) {
                Some(lane) => lane,
                None if lanes.len() < self.lanes.max(1) => {
                    lanes.push(0.0);
                    lanes.len() - 1
                }
                None => continue,
            };
            lanes[lane] = to;
            let y = top + lane as f64 * (LANE + BETWEEN_LANES);
            let shape = format!("M{} {}H{}v{LANE}H{}Z", number(from), number(y), number(to), number(from));
            if span.tip.is_empty() {
                plain += &shape;
                continue;
            }
            canvas.explained(&span.tip, |canvas| {
                canvas.path("hm-started", &shape);
                if to - from >= width(&span.label, Size::Small) + AROUND {
                    let middle = f64::midpoint(from, to);
                    canvas.text("hm-small", middle, y + LANE - 3.0, Anchor::Middle, &span.label);
                }
            });
        }
        if !plain.is_empty() {
            canvas.path("hm-f6", &plain);
        }
        top + lanes.len().max(1) as f64 * (LANE + BETWEEN_LANES)
    }
}

#[cfg(test)]
mod tests {
    use super::super::HOSTILE;
    use super::super::tests::sound;
    use super::*;

    fn chart(steps: usize, wide: bool) -> SlotChart {
        let starts: Vec<f64> = (0..steps).map(|at| at as f64).collect();
        let layer = |name: &str, look, value: f64| SlotLayer {
            name: name.to_owned(),
            look,
            slots: (0..steps).map(|at| value * (at % 3) as f64).collect(),
        };
        let span = |at: usize| SlotSpan {
            from: at as f64 / 2.0,
            to: at as f64 + 1.0,
            label: HOSTILE[at % HOSTILE.len()].to_owned(),
            tip: HOSTILE[(at + 1) % HOSTILE.len()].to_owned(),
        };
        SlotChart {
            title: HOSTILE[0].to_owned(),
            about: HOSTILE[1].to_owned(),
            end: steps as f64,
            starts,
            slots: vec![100.0; steps],
            layers: vec![
                layer("ordinary work", SlotLook::Plain, 20.0),
                layer(HOSTILE[3], SlotLook::Dotted, 5.0),
                layer("lost", SlotLook::Light, 3.0),
                layer("stragglers", SlotLook::Rising, 2.0),
                layer("retries", SlotLook::Falling, 1.0),
            ],
            rows: vec![
                SlotRow { name: "phases".to_owned(), spans: (0..steps.min(40)).map(span).collect(), lanes: 8 },
                SlotRow { name: HOSTILE[9].to_owned(), spans: Vec::new(), lanes: 3 },
            ],
            wide,
        }
    }

    #[test]
    fn charts_of_any_names_are_sound_and_small() {
        for steps in [0, 1, 3, 600] {
            for wide in [false, true] {
                let drawn = sound(&chart(steps, wide).draw());
                assert!(drawn.len() < 70_000, "{} bytes", drawn.len());
            }
        }
        let mut odd = chart(3, true);
        (odd.slots[1], odd.layers[0].slots[2], odd.end) = (f64::NAN, f64::INFINITY, f64::NAN);
        sound(&odd.draw());
    }

    #[test]
    fn the_areas_are_as_high_as_their_slots() {
        let mut one = chart(2, true);
        one.layers.truncate(1);
        one.layers[0].slots = vec![50.0, 0.0];
        one.rows.clear();
        let drawn = one.draw().inline("p1");
        // Half of 170 units for the first half of the time, then nothing.
        let area = drawn.lines().filter(|line| line.contains("class=\"hm-f0\"")).nth(1).unwrap();
        let values: Vec<f64> = area
            .split(|letter: char| !letter.is_ascii_digit() && letter != '.')
            .filter_map(|value| value.parse().ok())
            .collect();
        let (half, bottom) = (values[2], values[4]);
        assert!((bottom - half - AREA / 2.0).abs() < 0.11, "{area}");
    }
}
