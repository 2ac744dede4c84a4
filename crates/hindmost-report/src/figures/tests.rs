//! Tests of whole pictures. For any values and names, pictures are well formed, and their texts neither overlap nor lie
//! outside of the picture.

use proptest::prelude::*;

use super::gantt::{Attempt, Fate, GanttChart, Panel, Row};
use super::measure::{Size, width};
use super::*;
use crate::markup::{Element, check};

mod forests;

/// Names that a log may contain. They contain markup, control characters and templates, which must be shown as text.
pub(crate) const HOSTILE: [&str; 11] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onload='alert(1)",
    "&amp;&lt;& ]]> <!-- -->",
    "\u{0}\u{1}\u{8}\u{1b}[31mred\r\n\ttab",
    "\u{202e}txt.exe\u{2066}\u{200f}",
    "{{ 7 * 7 }}{% raw %}",
    "\u{fffe}\u{ffff}\u{feff}",
    "https://example.org/x?a=b&c",
    "日本語のノード名-とても長い名前です",
    "",
];

/// Returns the left, top, right and bottom edge of a text element.
fn area(text: &Element) -> [f64; 4] {
    let number = |name: &str| text.get(name).unwrap().parse::<f64>().unwrap();
    let class = text.get("class").unwrap_or("");
    let size = match class {
        _ if class.contains("hm-title") => Size::Title,
        _ if ["hm-small", "hm-on", "hm-over"].iter().any(|small| class.contains(small)) => Size::Small,
        _ => Size::Normal,
    };
    let shown = ["amp", "lt", "gt", "quot", "#39"]
        .iter()
        .zip(["&", "<", ">", "\"", "'"])
        .fold(text.text.clone(), |shown, (entity, letter)| shown.replace(&format!("&{entity};"), letter));
    let (x, y, wide) = (number("x"), number("y"), width(&shown, size));
    let left = match text.get("text-anchor") {
        None => x,
        Some("middle") => x - wide / 2.0,
        Some(_) => x - wide,
    };
    [left, y - 0.72 * size.height(), left + wide, y + 0.16 * size.height()]
}

/// Checks a picture as a file and as part of a page, and returns the content of the file.
pub(super) fn sound(drawing: &Drawing) -> String {
    let alone = drawing.standalone();
    let found = check(&alone);
    for element in &found {
        for name in ["x", "y", "width", "height", "d", "viewBox"] {
            let value = element.get(name).unwrap_or("");
            assert!(!value.contains("NaN") && !value.contains("inf"), "{name}={value}");
        }
    }
    check(&drawing.inline("p1"));
    let texts: Vec<(&Element, [f64; 4])> =
        found.iter().filter(|element| element.name == "text").map(|text| (text, area(text))).collect();
    let [_, _, wide, high] =
        found[0].get("viewBox").unwrap().split(' ').map(|side| side.parse::<f64>().unwrap()).collect::<Vec<_>>()[..]
    else {
        panic!("no view box")
    };
    for (at, (text, [left, top, right, bottom])) in texts.iter().enumerate() {
        let (label, margin) = (&text.text, 12.0);
        assert!(
            *left >= -margin && *top >= -margin && *right <= wide - margin && *bottom <= high - margin,
            "{label} is outside of {wide} × {high}: {left} {top} {right} {bottom}"
        );
        for (other, [other_left, other_top, other_right, other_bottom]) in &texts[..at] {
            let apart = right <= other_left || other_right <= left || bottom <= other_top || other_bottom <= top;
            assert!(apart, "{label:?} lies on {:?} in {}", other.text, drawing.title());
        }
    }
    alone
}

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => 0.0..100.0f64,
        2 => 1e-6..1e7f64,
        1 => prop::sample::select(vec![0.0, -3.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, 1e-300]),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,12}",
        "[a-z]{3,9}\\([a-z_]{3,12}=[0-9.]{1,6}\\)",
        prop::sample::select(HOSTILE.to_vec()).prop_map(str::to_owned),
        "\\PC{0,60}",
    ]
}

fn interval(value: f64, half: Option<f64>) -> Option<[f64; 2]> {
    half.map(|half| [value - half, value + half])
}

fn unit() -> impl Strategy<Value = Unit> {
    prop_oneof![Just(Unit::Seconds), Just(Unit::Share), name().prop_map(Unit::Number)]
}

prop_compose! {
    fn axis()(label in name(), unit in unit(), logarithmic: bool, from_zero: bool) -> Axis {
        Axis { label, unit, logarithmic, from_zero }
    }
}

prop_compose! {
    fn series()(
        name in name(),
        points in prop::collection::vec((value(), value(), prop::option::of(value())), 0..30),
    ) -> Series {
        let point = |(x, y, half)| Point { x, y, interval: interval(y, half) };
        Series { name, points: points.into_iter().map(point).collect() }
    }
}

prop_compose! {
    fn attempts()(
        spans in prop::collection::vec((0.0..50.0f64, 0.0..40.0f64, 0usize..5, any::<bool>(), name()), 0..12),
    ) -> Vec<Attempt> {
        let mut now = 0.0;
        let mut lane = Vec::new();
        for (gap, length, fate, copy, label) in spans {
            let from = now + gap;
            now = from + length;
            let fate = [Fate::Won, Fate::Lost, Fate::Failed, Fate::NodeLost, Fate::Cut][fate];
            lane.push(Attempt { from, to: now, fate, copy, tip: format!("about {label}"), label });
        }
        lane
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: hindmost_testing::cases(200, 2000), ..ProptestConfig::default() })]

    #[test]
    fn curves_are_drawn_for_any_values_and_names(
        title in name(),
        x in axis(),
        y in axis(),
        kind in 0usize..3,
        series in prop::collection::vec(series(), 0..9),
        level in prop::option::of(value()),
        stated in prop::collection::vec((0usize..9, value(), value(), prop::option::of((value(), value()))), 0..4),
    ) {
        let kind = [Kind::Steps, Kind::Plain, Kind::Marked][kind];
        let levels = level.map(|level| (level, "a level".to_owned())).into_iter().collect();
        let mark = |(series, x, y, near): (usize, f64, f64, Option<(f64, f64)>)| {
            Stated { series, x, y, near: near.into_iter().map(<[f64; 2]>::from).collect(), tip: "stated".to_owned() }
        };
        let stated = stated.into_iter().map(mark).collect();
        let (about, x_ticks) = (title.clone(), Vec::new());
        let chart = LineChart { about, title, x, y, kind, series, x_limits: None, y_limits: None, x_ticks, levels, stated };
        prop_assert_eq!(sound(&chart.draw()), chart.draw().standalone());
    }

    #[test]
    fn rows_are_drawn_for_any_values_and_names(
        title in name(),
        axis in axis(),
        rows in prop::collection::vec((name(), prop::option::of(value()), prop::option::of(value())), 0..14),
        groups in 1usize..4,
    ) {
        let dot = |(name, value, half): &(String, Option<f64>, Option<f64>)| Dot {
            name: name.clone(),
            value: *value,
            interval: value.and_then(|value| interval(value, *half)),
            text: value.map_or("–".to_owned(), |value| format!("{value:.4e}")),
        };
        let dots: Vec<Dot> = rows.iter().map(dot).collect();
        let groups = (0..groups).map(|at| (if at == 0 { String::new() } else { title.clone() }, dots.clone())).collect();
        let reference = Some((1.0, "the first".to_owned()));
        let (about, bars) = (title.clone(), axis.clone());
        sound(&DotChart { title: title.clone(), about: about.clone(), axis, groups, reference }.draw());
        let bar = |dot: &Dot| Bar {
            name: dot.name.clone(),
            whole: dot.value.unwrap_or(0.0),
            part: dot.interval.map(|ends| ends[0]),
            text: dot.text.clone(),
        };
        let legend = Some(["all".to_owned(), "some".to_owned()]);
        sound(&BarChart { title, about, axis: bars, bars: dots.iter().map(bar).collect(), legend }.draw());
    }

    #[test]
    fn attempts_are_drawn_for_any_times_and_names(
        title in name(),
        rows in prop::collection::vec((name(), prop::collection::vec(attempts(), 0..4)), 0..8),
        note in name(),
        wide: bool,
    ) {
        let row = |(name, lanes)| Row { name, lanes, away: vec![[3.0, 9.0]], waited: Some([0.0, 1.0]) };
        let rows: Vec<Row> = rows.into_iter().map(row).collect();
        let panel = Panel { heading: note.clone(), rows, notes: vec![note.repeat(9)], end: 400.0, pauses: vec![] };
        let panels = vec![panel.clone(), panel];
        let chart = GanttChart { about: title.clone(), title, time: "time".to_owned(), panels, until: None, wide };
        sound(&chart.draw());
    }

    #[test]
    fn strips_are_drawn_for_any_values_and_limits(
        title in name(),
        limits in (prop::option::of(value()), prop::option::of(value())),
        dots in prop::collection::vec((name(), value(), prop::option::of(value()), any::<bool>()), 0..12),
    ) {
        let dot = |(tip, value, half, holds)| StripDot { tip, value, interval: interval(value, half), holds };
        sound(&Strip { title, low: limits.0, high: limits.1, dots: dots.into_iter().map(dot).collect() }.draw());
    }
}

fn curve(name: &str, points: usize) -> Series {
    let point = |at: usize| {
        let x = at as f64 / 10.0;
        Point { x, y: 1.0 - (-x / 100.0).exp(), interval: None }
    };
    Series { name: name.to_owned(), points: (0..points).map(point).collect() }
}

fn shares(series: Vec<Series>, kind: Kind) -> LineChart {
    LineChart {
        title: "Share of jobs by flowtime".to_owned(),
        about: "For each policy, the share of jobs.".to_owned(),
        x: Axis::new("flowtime", Unit::Seconds),
        y: Axis::new("share of jobs", Unit::Share),
        kind,
        series,
        x_limits: None,
        y_limits: Some([0.0, 1.0]),
        x_ticks: Vec::new(),
        levels: Vec::new(),
        stated: Vec::new(),
    }
}

#[test]
fn pictures_of_curves_with_many_points_stay_small() {
    let ten: Vec<Series> = (0..10).map(|at| curve(&format!("policy {at}"), 100_000)).collect();
    let text = sound(&shares(ten, Kind::Plain).draw());
    assert!(text.len() < 40_000, "{}", text.len());
}

#[test]
fn axes_have_units_in_their_labels() {
    let text = sound(&shares(vec![curve("none", 300)], Kind::Plain).draw());
    assert!(text.contains(">flowtime (s)<") && text.contains(">share of jobs (%)<"), "{text}");
}

#[test]
fn a_small_picture_is_unchanged() {
    let points =
        |ys: [f64; 3]| ys.iter().enumerate().map(|(at, y)| Point { x: at as f64, y: *y, interval: None }).collect();
    let series = vec![
        Series { name: "none".to_owned(), points: points([0.0, 0.25, 1.0]) },
        Series { name: "<mantri>".to_owned(), points: points([0.25, 0.75, 1.0]) },
    ];
    insta::assert_snapshot!(shares(series, Kind::Steps).draw().inline("p1"));
}

#[test]
fn intervals_beyond_the_axis_end_in_an_arrow() {
    let picture = |low: f64| {
        let point = |x: f64, interval| Point { x, y: 3.5, interval: Some(interval) };
        let points = vec![point(1.0, [low, 8.0]), point(2.0, [3.0, 4.0])];
        let series = vec![Series { name: "none".to_owned(), points }];
        let y = Axis::new("mean flowtime", Unit::Seconds);
        sound(&LineChart { y, y_limits: None, ..shares(series, Kind::Marked) }.draw())
    };
    let whiskers = |text: &str| -> Vec<String> {
        let found = check(text);
        let lines = found.iter().filter(|element| element.get("class").is_some_and(|class| class.contains("whisker")));
        lines.map(|line| line.get("d").unwrap().to_owned()).collect()
    };
    let (cut, whole) = (picture(-1.0), picture(0.5));
    assert!(cut.contains("An arrow at the end of an interval"), "{cut}");
    assert!(!whole.contains("An arrow"), "{whole}");
    assert!(whiskers(&whole).iter().all(|d| !d.contains('L') && d.matches('H').count() == 2), "{whole}");
    let [arrow, bar] = &whiskers(&cut)[..] else { panic!("{cut}") };
    assert!(arrow.matches('L').count() == 2 && arrow.matches('H').count() == 1, "{arrow}");
    assert!(!bar.contains('L'), "{bar}");
    // The line and its arrow end at the axis.
    let axis = cut.split("hm-axis").last().unwrap().split("d=\"M").nth(1).unwrap();
    let level = axis.split([' ', 'L']).nth(1).unwrap();
    assert!(arrow.contains(&format!(" {level}V")) && arrow.contains(&format!(" {level}L")), "{arrow} {level}");
}

#[test]
fn kinds_of_attempts_differ_without_colours() {
    let shape = |fate, copy| {
        let mut canvas = svg::Canvas::default();
        canvas.explained("", |canvas| gantt::shape(canvas, fate, copy, [0.0, 0.0, 100.0, 15.0]));
        let drawing = Drawing::new("", "", 100.0, canvas, 15.0).inline("p");
        // Compares what is visible without colours: shapes, dashes and hatching.
        let shapes: Vec<String> =
            check(&drawing).iter().filter_map(|element| element.get("d")).map(str::to_owned).collect();
        (shapes, drawing.contains("hm-hatch"), drawing.contains("hm-cut"))
    };
    let mut seen = Vec::new();
    for fate in [Fate::Won, Fate::Lost, Fate::Failed, Fate::NodeLost, Fate::Cut] {
        for copy in [false, true] {
            seen.push(shape(fate, copy));
        }
    }
    let mut different = seen.clone();
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), seen.len(), "{seen:?}");
}

#[test]
fn lines_lead_from_stated_points_to_the_nearest_curve() {
    let stated = Stated { series: 0, x: 50.0, y: 0.2, near: vec![[22.0, 0.2], [50.0, 0.39]], tip: "stated".to_owned() };
    let chart = LineChart { stated: vec![stated], ..shares(vec![curve("none", 1000)], Kind::Plain) };
    let text = sound(&chart.draw());
    let (_, after) = text.split_once("<title>stated</title>").unwrap();
    let line = after.split_once("d=\"M").unwrap().1.split_once('"').unwrap().0;
    let numbers: Vec<&str> = line.split([' ', 'L']).collect();
    // The nearest point lies above the stated one.
    assert!(numbers[0] == numbers[2] && numbers[1] != numbers[3], "{line}");
}
