//! Draws how each metric changes with the values of a swept key, with one curve for each policy.

use hindmost_core::metrics::{Comparison, PolicyResult};

use super::keys::set_text;
use super::keys::{Key, common_name, key};
use super::{measured, name};
use crate::comparison::sets;
use crate::document::{Document, Picture};
use crate::figures::{Axis, Dot, DotChart, Kind, LineChart, Point, Series, Unit};
use crate::text::percent;

/// Largest number of curves in a picture.
const MOST_POLICIES: usize = 12;
/// If several keys are swept, the largest number of combinations of the other keys that have pictures.
const MOST_PANELS: usize = 4;
/// The vertical axis is logarithmic if the largest value of a metric exceeds the smallest one by more than this factor.
const FAR_APART: f64 = 30.0;
/// The horizontal axis is logarithmic if the last step between swept values exceeds the first one by more than this
/// factor.
const GROWS: f64 = 3.0;

/// A metric that is drawn along the sweep.
struct Metric {
    title: &'static str,
    axis: fn() -> Axis,
    /// Returns the metric of a result.
    value: fn(&PolicyResult) -> Option<f64>,
    /// Returns the confidence interval of the metric.
    interval: fn(&PolicyResult) -> Option<[f64; 2]>,
}

const METRICS: [Metric; 5] = [
    Metric {
        title: "Mean flowtime",
        axis: || Axis::new("mean flowtime", Unit::Seconds),
        value: |row| row.flowtime.mean,
        interval: |row| row.flowtime.ci95,
    },
    Metric {
        title: "Mean flowtime against the first policy",
        axis: || Axis {
            from_zero: false,
            ..Axis::new("ratio to the first policy's flowtime", Unit::Number(String::new()))
        },
        value: |row| row.versus_first.flowtime_ratio,
        interval: |row| row.versus_first.ci95,
    },
    Metric {
        title: "95th percentile of flowtimes",
        axis: || Axis::new("95th percentile of flowtimes", Unit::Seconds),
        value: |row| row.flowtime.p95,
        interval: |row| row.flowtime.quantile_ci95.p95,
    },
    Metric {
        title: "Mean resource",
        axis: || Axis::new("mean resource of a job", Unit::Number("γ·s".to_owned())),
        value: |row| row.resource.mean,
        interval: |row| row.resource.ci95,
    },
    Metric {
        title: "Wasted share of the resource",
        axis: || Axis::new("share for attempts that did not win", Unit::Share),
        value: |row| Some(row.copies.wasted_share),
        interval: |_| None,
    },
];

/// Returns the value of a swept key at the point of a result.
fn value_of<'a>(row: &'a PolicyResult, key: &str) -> &'a str {
    row.set.iter().find(|(other, _)| other == key).map_or("", |(_, value)| value.as_str())
}

/// Returns each value once, in the order of first occurrence.
fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

/// The key on the horizontal axis, with its label and unit if they are known.
struct Swept<'a> {
    key: &'a str,
    known: Option<Key>,
}

impl<'a> Swept<'a> {
    fn new(compared: &Comparison, along: &'a str) -> Swept<'a> {
        let first = sets(compared).into_iter().next().unwrap_or_default();
        let rows = compared.results.iter().filter(|row| row.set == first);
        Swept { key: along, known: key(along, &rows.map(|row| row.policy.as_str()).collect::<Vec<_>>()) }
    }

    /// Returns the label of the axis: the key's label in words, or the key if it has no label.
    fn label(&self) -> &str {
        self.known.as_ref().map_or(self.key, |known| &known.label)
    }

    fn unit(&self) -> &str {
        self.known.as_ref().map_or("", |known| known.unit)
    }

    /// Returns the key with its label and unit.
    fn in_words(&self) -> String {
        match (&self.known, self.unit()) {
            (None, _) => name(self.key),
            (Some(known), "") => format!("{} ({})", name(self.key), known.label),
            (Some(known), unit) => format!("{} ({}, {unit})", name(self.key), known.label),
        }
    }
}

/// Returns the results of each policy at all points of a sweep. Policies are identified by their position in the list
/// of policies, because a policy with a swept parameter has a different name at each point.
pub(super) fn by_policy<'a>(rows: &[&'a PolicyResult]) -> Vec<(String, Vec<&'a PolicyResult>)> {
    let points = distinct(rows.iter().map(|row| &row.set));
    let mut policies: Vec<Vec<&PolicyResult>> = Vec::new();
    for set in points {
        for (at, row) in rows.iter().filter(|row| row.set == *set).enumerate() {
            match policies.get_mut(at) {
                Some(policy) => policy.push(row),
                None => policies.push(vec![row]),
            }
        }
    }
    let named = |rows: Vec<&'a PolicyResult>| {
        let names: Vec<&str> = rows.iter().map(|row| row.policy.as_str()).collect();
        (common_name(&names), rows)
    };
    policies.into_iter().map(named).collect()
}

/// Adds the sections with the curves; none without a sweep. If several keys are swept, the curves are along the
/// first key with numbers, and there is a section for each combination of the other keys.
pub(super) fn add_sections(document: &mut Document, compared: &Comparison) {
    let Some(first) = compared.results.first() else { return };
    let keys: Vec<&str> = first.set.iter().map(|(key, _)| key.as_str()).collect();
    let values = |key: &str| distinct(compared.results.iter().map(|row| value_of(row, key)));
    let number = |value: &str| value.parse::<f64>().ok().filter(|number| number.is_finite());
    let swept = |key: &&&str| values(key).len() > 1;
    let numeric = |key: &&&str| values(key).iter().all(|value| number(value).is_some());
    let along = keys.iter().filter(swept).find(numeric).or_else(|| keys.iter().find(swept));
    let Some(along) = along.copied() else { return };
    let others = |row: &PolicyResult| -> Vec<(String, String)> {
        row.set.iter().filter(|(key, _)| key != along).cloned().collect()
    };
    let panels = distinct(compared.results.iter().map(others));
    let swept = Swept::new(compared, along);
    for (at, panel) in panels.iter().take(MOST_PANELS).enumerate() {
        let rows: Vec<&PolicyResult> = compared.results.iter().filter(|row| others(row) == *panel).collect();
        let places: Option<Vec<f64>> = values(along).iter().map(|value| number(value)).collect();
        let drawn = METRICS.iter().filter(|metric| rows.iter().any(|row| (metric.value)(row).is_some()));
        let policies = by_policy(&rows);
        // The ratio of a single policy to itself is always 1.
        let drawn = drawn.filter(|metric| policies.len() > 1 || !metric.title.contains("first policy"));
        let drawings: Vec<Picture> = drawn
            .map(|metric| match &places {
                Some(places) => curve(metric, &swept, places, &policies),
                None => groups(metric, along, &rows),
            })
            .collect();
        let beside = if panel.is_empty() { String::new() } else { format!(" at {}", set_text(panel)) };
        let mut about = format!(
            "How each metric changes with {} under every policy{}.",
            swept.in_words(),
            if compared.seeds.len() > 1 { "; vertical lines are 95% intervals over seeds" } else { "" }
        );
        if panels.len() > MOST_PANELS && at + 1 == MOST_PANELS {
            about += &format!(
                " The first {MOST_PANELS} of {} combinations of the other keys are drawn; the tables below have all of them.",
                panels.len()
            );
        }
        if policies.len() > MOST_POLICIES {
            about += &format!(" The first {MOST_POLICIES} of {} policies are drawn.", policies.len());
        }
        document.heading(2, format!("Results by {}{beside}", name(along)));
        document.paragraph(about);
        document.pictures(drawings);
    }
}

/// Returns true if swept values grow by factors, such as 1, 10, 100, and not by equal steps.
fn multiplied(places: &[f64]) -> bool {
    let mut sorted = places.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    match sorted.as_slice() {
        [first, second, .., before, last] => *first > 0.0 && last - before > GROWS * (second - first),
        [first, second, last] => *first > 0.0 && last - second > GROWS * (second - first),
        _ => false,
    }
}

/// Draws a metric along a key whose values are numbers.
fn curve(metric: &Metric, swept: &Swept<'_>, places: &[f64], policies: &[(String, Vec<&PolicyResult>)]) -> Picture {
    let along = swept.key;
    let series: Vec<Series> = policies
        .iter()
        .take(MOST_POLICIES)
        .map(|(policy, rows)| {
            let mut points: Vec<Point> = rows
                .iter()
                .filter_map(|row| {
                    let x = value_of(row, along).parse().ok()?;
                    Some(Point { x, y: (metric.value)(row)?, interval: (metric.interval)(row) })
                })
                .collect();
            points.sort_by(|one, other| one.x.total_cmp(&other.x));
            Series { name: policy.clone(), points }
        })
        .collect();
    let rows = policies.iter().flat_map(|(_, rows)| rows);
    let mut ticks: Vec<(f64, String)> = distinct(rows.map(|row| value_of(row, along)))
        .iter()
        .filter_map(|value| Some((value.parse().ok()?, (*value).to_owned())))
        .collect();
    ticks.sort_by(|one, other| one.0.total_cmp(&other.0));
    let axis = (metric.axis)();
    let heights = || series.iter().flat_map(|series| &series.points).map(|point| point.y);
    let (low, high) = heights().fold((f64::INFINITY, 0.0f64), |(low, high), y| (low.min(y), high.max(y)));
    let logarithmic = axis.unit != Unit::Share && low > 0.0 && high / low > FAR_APART;
    // The ticks show the values as the user gave them, so seconds are not converted to minutes or hours.
    let unit = Unit::Number(swept.unit().to_owned());
    let chart = LineChart {
        title: metric.title.to_owned(),
        about: format!("{} of each policy by {along}.", metric.title),
        x: Axis { logarithmic: multiplied(places), from_zero: false, ..Axis::new(swept.label(), unit) },
        y: Axis { logarithmic, ..axis },
        kind: Kind::Marked,
        series,
        x_limits: None,
        y_limits: None,
        x_ticks: ticks,
        levels: Vec::new(),
        stated: Vec::new(),
    };
    Picture::new(chart.draw(), format!("{} by {}. Lower is better.", metric.title, name(swept.label())))
}

/// Draws a metric for a key whose values are not numbers, with a group of rows for each value.
fn groups(metric: &Metric, along: &str, rows: &[&PolicyResult]) -> Picture {
    let axis = (metric.axis)();
    let values = distinct(rows.iter().map(|row| value_of(row, along)));
    let share = axis.unit == Unit::Share;
    let dot = |row: &&PolicyResult| {
        let (value, interval) = ((metric.value)(row), (metric.interval)(row));
        let text = match value {
            Some(value) if share => percent(value),
            value => measured(value, interval),
        };
        Dot { name: row.policy.clone(), value, interval, text }
    };
    let group = |value: &&str| {
        let of_value = rows.iter().filter(|row| value_of(row, along) == *value);
        (format!("{along} = {value}"), of_value.take(MOST_POLICIES).map(dot).collect())
    };
    let chart = DotChart {
        title: metric.title.to_owned(),
        about: format!("{} of each policy by {along}.", metric.title),
        axis,
        groups: values.iter().map(group).collect(),
        reference: None,
    };
    Picture::new(chart.draw(), format!("{} for each {}. Further left is better.", metric.title, name(along)))
}
