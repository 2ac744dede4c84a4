//! Points of curves that a paper's text states, and their distances from the measured curves.

use hindmost_claims::{CurvePoint, DataTable, Figure, PlotShape, number_text};

use super::drawn::{drawn_rows, is_drawn, text_of};
use crate::figures::{Series, Stated};

/// Headings of the table of points. A heading that ends with `:` belongs to a column of text.
pub(crate) const POINT_COLUMNS: [&str; 8] = [
    "curve:",
    "quantity:",
    "stated:",
    "reading:",
    "measured value at the stated share",
    "distance",
    "measured share at the stated value",
    "distance (percentage points)",
];

/// Returns the rows of the table of a figure's points.
pub(crate) fn point_rows(figure: &Figure) -> Vec<[String; 8]> {
    let text = |number: Option<f64>| number.map_or_else(|| "–".to_owned(), number_text);
    let row = |point: &CurvePoint| {
        [
            point.curve.clone(),
            if point.world.is_empty() {
                point.quantity.clone()
            } else {
                format!("{}, {}", point.quantity, point.world)
            },
            format!("{} at {}", percent(point.share), number_text(point.at)),
            point.reading.clone(),
            text(point.measured_at),
            point.measured_at.map_or_else(|| "–".to_owned(), |at| signed(at - point.at)),
            point.measured_share.map_or_else(|| "–".to_owned(), percent),
            point.measured_share.map_or_else(|| "–".to_owned(), |share| signed((share - point.share) * 100.0)),
        ]
    };
    figure.points.iter().map(row).collect()
}

/// Returns the points that the plot of a table shows: those whose curve is drawn.
pub(super) fn points_on(table: &DataTable) -> Vec<&CurvePoint> {
    let Some(plot) = table.plot.as_ref().filter(|plot| plot.shape == PlotShape::CumulativeRows) else {
        return Vec::new();
    };
    let rows = drawn_rows(table, plot).iter().filter_map(|row| text_of(row.first()?));
    let curves: Vec<&str> = rows.filter(|name| is_drawn(plot, name)).collect();
    plot.stated.iter().filter(|point| curves.contains(&point.curve.as_str())).collect()
}

/// Returns points as marks of a chart with these curves.
pub(super) fn stated(points: &[&CurvePoint], series: &[Series]) -> Vec<Stated> {
    let mark = |point: &&CurvePoint| {
        let across = point.measured_at.map(|at| [at, point.share]);
        let up = point.measured_share.map(|share| [point.at, share]);
        Some(Stated {
            series: series.iter().position(|series| series.name == point.curve)?,
            x: point.at,
            y: point.share,
            near: across.into_iter().chain(up).collect(),
            tip: format!("{}: {}", point.curve, distance(point)),
        })
    };
    points.iter().filter_map(mark).collect()
}

/// Returns a sentence about the points that a picture shows; `None` if it shows none.
pub(super) fn stated_sentence(points: &[&CurvePoint]) -> Option<String> {
    if points.is_empty() {
        return None;
    }
    let each: Vec<String> = points.iter().map(|point| format!("{} {}", point.curve, distance(point))).collect();
    Some(format!(
        "A ring is a point that the paper's text states, and a line leads from it to the measured curve. {}.",
        each.join("; ")
    ))
}

/// Describes how far a point is from the measured curve, in both directions.
fn distance(point: &CurvePoint) -> String {
    let (share, place) = (percent(point.share), number_text(point.at));
    let across = point.measured_at.map(|at| format!("{share} at {}, {}", number_text(at), signed(at - point.at)));
    let up = point.measured_share.map(|measured| {
        let points = signed((measured - point.share) * 100.0);
        format!("{} at {place}, {points} percentage points", percent(measured))
    });
    let measured: Vec<String> = across.into_iter().chain(up).collect();
    match measured.as_slice() {
        [] => format!("{share} at {place} (not measured)"),
        several => format!("{share} at {place} (measured {})", several.join("; ")),
    }
}

/// Formats a share in per cent.
fn percent(share: f64) -> String {
    number_text(share * 100.0) + "%"
}

/// Formats a difference with its sign.
fn signed(difference: f64) -> String {
    let text = number_text(difference);
    if difference > 0.0 && text != "0" { format!("+{text}") } else { text }
}
