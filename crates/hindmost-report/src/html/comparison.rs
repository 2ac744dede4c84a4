//! The page of a comparison of policies, which `simulate` and `replay` write.

use hindmost_core::metrics::{
    ByCorrelation, Cdf, Comparison, Diagnosis, DiagnosisTotal, PolicyCurves, PolicyResult, ShownJob, Summary,
};

use super::application;
use super::energy;
use super::jobs::add_jobs;
use super::keys::set_text;
use super::{Step, glossary, knowledge_text, listed, measured, name, placement_text, sweep};
use crate::comparison::advice::{Shown, about_correlations, cells, headings, recommendations};
use crate::comparison::{
    MISSING, interval, is_interval, is_swept, known_columns, legend, not_counted, number, one_job, seeds_at, sets,
    significant, size_text, sizes, sizes_of,
};
use crate::diagnosis::{spent, title};
use crate::document::{Column as Heading, Document, Form, Frame, Picture, Role, Table, Text};
use crate::figures::{Axis, Bar, BarChart, Dot, DotChart, Kind, LineChart, Point, Series, Unit};
use crate::table::Column;
use crate::text::{counted, duration, full, grouped, percent};

/// Largest number of points of a sweep that all get pictures. If there are more points, only the first and the last
/// get them.
const MOST_POINTS: usize = 6;
/// Largest number of policies in a picture.
const MOST_POLICIES: usize = 16;
/// Largest number of applications of logs that are described.
const MOST_APPLICATIONS: usize = 4;
/// An axis is logarithmic if the largest value exceeds the smallest one by more than this factor.
const DECADES: f64 = 100.0;
/// Share of the jobs whose values may be left of a logarithmic axis.
const LOWEST: f64 = 0.005;

/// The content of the page of a comparison.
pub struct ComparisonPage<'a> {
    /// The results of all policies at all points of the sweep.
    pub compared: &'a Comparison,
    /// The distributions of flowtime and resource usage of each result, in the order of the results; shorter or empty
    /// if they are not known.
    pub curves: &'a [PolicyCurves],
    /// Single jobs with their attempts, one entry for each job and policy, grouped by job.
    pub jobs: &'a [ShownJob],
    /// The applications of the logs that were replayed; empty for a scenario.
    pub applications: &'a [Diagnosis],
    /// Instructions to produce the comparison again.
    pub again: &'a [Step],
}

/// Returns the page of a comparison.
pub fn comparison_page(page: &ComparisonPage<'_>) -> String {
    let compared = page.compared;
    let sets = sets(compared);
    let rows: Vec<&PolicyResult> = compared.results.iter().collect();
    let policies: Vec<String> = sweep::by_policy(&rows).into_iter().map(|(policy, _)| name(&policy)).collect();
    let mut document = Document::new(Form::Page);
    document.heading(2, "Setup");
    document.facts(facts(compared, &policies));
    for caution in &compared.cautions {
        document.paragraph_as(Role::Caution, Text::default().strong("Caution:").plain(format!(" {}", full(caution))));
    }
    document.paragraphs(Role::Usual, recommendations(compared).iter().map(|text| full(text)));
    if let Some(by) = &compared.by_correlation {
        document.heading(2, "Copies that share a part of their duration");
        document.paragraph(about_correlations(by));
        document.table(correlations(by));
    }
    sweep::add_sections(&mut document, compared);
    for (at, set) in sets.iter().enumerate() {
        let drawn = sets.len() <= MOST_POINTS || at == 0 || at + 1 == sets.len();
        add_point(&mut document, page, set, drawn);
    }
    add_jobs(&mut document, page.jobs, sets.first().filter(|_| sets.len() > 1));
    add_applications(&mut document, page.applications);
    let scenario = name(&compared.scenario);
    let what = match policies.as_slice() {
        [only] => format!("One policy, {only}"),
        all => format!("A comparison of {} policies", grouped(all.len() as u64)),
    };
    let points_text = match sets.len() {
        0 | 1 => String::new(),
        several => format!(" at {several} points of a sweep"),
    };
    let same_jobs = match (policies.len(), sets.len()) {
        (0 | 1, _) => "",
        (_, 0 | 1) => ", on the same jobs",
        _ => ", each point on the same jobs for all policies",
    };
    document.page(&Frame {
        title: format!("{scenario} – hindmost"),
        heading: scenario,
        lead: format!("{what}{points_text}{same_jobs}."),
        glossary: glossary::comparison(),
        again: page.again,
    })
}

/// Adds what the logs show about their longest applications.
fn add_applications(document: &mut Document, all: &[Diagnosis]) {
    if all.is_empty() {
        return;
    }
    document.heading(2, "What really happened");
    document.paragraph(applications_about(all));
    let seconds = |one: &Diagnosis| one.wall_time.as_ref().map_or(0.0, |time| time.seconds);
    let mut longest: Vec<&Diagnosis> = all.iter().collect();
    longest.sort_by(|a, b| seconds(b).total_cmp(&seconds(a)));
    for one in longest.into_iter().take(MOST_APPLICATIONS) {
        document.heading(3, name(&title(one)));
        application::add_findings(document, one);
    }
}

fn applications_about(all: &[Diagnosis]) -> String {
    if all.len() <= 1 {
        return "What the log shows about the recorded jobs, whatever policy is replayed.".to_owned();
    }
    let total = DiagnosisTotal::of(all.iter());
    let parts = total.parts.iter().map(|part| format!("{} {}", spent(part.what), percent(part.share)));
    let shown = if all.len() > MOST_APPLICATIONS {
        format!(" The {MOST_APPLICATIONS} longest ones follow; `hindmost advise` shows all.")
    } else {
        String::new()
    };
    format!(
        "What the logs show about {}, whatever policy is replayed. Their wall time: {}.{shown}",
        counted(all.len() as u64, "recorded application"),
        parts.collect::<Vec<_>>().join(", ")
    )
}

/// Returns the table of the ratios to the first policy for several correlations of copies.
fn correlations(by: &ByCorrelation) -> Table {
    let names: Vec<String> =
        headings(by, Shown::ALL, "correlation ").iter().map(|name| name.replace('\n', " ")).collect();
    let columns: Vec<&str> = std::iter::once("policy:").chain(names.iter().map(String::as_str)).collect();
    let table = Table::new("Ratio of the mean flowtime, and of the resource, to the first policy's", &columns);
    let row = |(policy, cells): (String, Vec<String>)| std::iter::once(name(&policy)).chain(cells);
    table.with_rows(cells(by, Shown::ALL).into_iter().map(row))
}

/// Returns the names and values of the facts at the beginning of the page.
fn facts(compared: &Comparison, policies: &[String]) -> Vec<(&'static str, String)> {
    let seeds = compared.seeds.len() as u64;
    let seeds_text = match compared.seeds.as_slice() {
        _ if is_swept(compared, "seeds") => "one of the swept keys".to_owned(),
        [first, .., last] => format!("{} seeds, numbered {first} to {last}", grouped(seeds)),
        [only] => format!("seed {only} only, so there are no confidence intervals"),
        [] => "none".to_owned(),
    };
    let over = match seeds {
        _ if is_swept(compared, "seeds") => ", over all seeds of a point together".to_owned(),
        1 => String::new(),
        _ => format!(", over {seeds} seeds together"),
    };
    let sizes = sizes(compared);
    let at = if sizes.len() > 1 && sets(compared).len() > 1 { " at each point of the sweep" } else { "" };
    let knowledge = if is_swept(compared, "knowledge") {
        "one of the swept keys".to_owned()
    } else {
        knowledge_text(&compared.knowledge.to_string())
    };
    let placement = if is_swept(compared, "placement") {
        "one of the swept keys".to_owned()
    } else {
        placement_text(compared.placement)
    };
    let mut facts = vec![
        ("jobs", format!("{}{at}{over}", size_text(&sizes))),
        ("seeds", seeds_text),
        ("policies", listed(policies)),
        ("knowledge (progress model)", knowledge),
        ("placement", placement),
    ];
    let label = |at: usize| if at == 0 { "details" } else { "" };
    facts.extend(compared.notes.iter().enumerate().map(|(at, note)| (label(at), full(note))));
    facts
}

/// Adds the section of a point of a sweep, with pictures if `drawn` is set.
fn add_point(document: &mut Document, page: &ComparisonPage<'_>, set: &[(String, String)], drawn: bool) {
    let entries = page.compared.results.iter().enumerate().filter(|(_, row)| row.set == set);
    let (numbers, rows): (Vec<usize>, Vec<&PolicyResult>) = entries.unzip();
    let curves: Vec<&PolicyCurves> = numbers.iter().filter_map(|at| page.curves.get(*at)).collect();
    let seeds = seeds_at(page.compared, set);
    let columns = known_columns(&rows, seeds);
    let shown: Vec<&str> = columns.iter().map(|column| column.heading).collect();
    let size = if set.is_empty() { String::new() } else { format!("{}. ", size_text(&sizes_of(&rows))) };
    let over = match seeds {
        1 => "There is only one seed, so there are no confidence intervals.".to_owned(),
        _ => format!("Means are over {}; their intervals are by Student's t.", counted(seeds as u64, "seed")),
    };
    let percentiles = if one_job(&rows, seeds) { "" } else { " Percentiles are over the jobs of all seeds together." };
    let mut notes = vec![format!("{size}{} {over}{percentiles}", legend(page.compared, &shown))];
    notes.extend(not_counted(&rows, &shown));
    let mut drawings = Vec::new();
    if drawn {
        if rows.len() > MOST_POLICIES {
            notes.push(format!("Pictures show the first {MOST_POLICIES} of {} policies.", rows.len()));
        }
        let shown = &rows[..rows.len().min(MOST_POLICIES)];
        drawings = summaries(shown, seeds);
        drawings.extend(energy::chart(shown).map(|chart| {
            Picture::new(
                chart.draw(),
                "Upper bar: the energy of all nodes, idle power included. Lower bar: the energy of the attempts that \
                 finished first. A shorter upper bar is better.",
            )
        }));
        // The distribution of a single job is one step.
        if curves.len() == rows.len() && !one_job(&rows, seeds) {
            drawings.extend(distributions(shown, &curves));
        }
    } else {
        notes.push("This sweep has many points, so only the first and the last point have pictures.".to_owned());
    }
    let heading = if set.is_empty() { "Results".to_owned() } else { format!("Results at {}", set_text(set)) };
    document.heading(2, heading);
    document.paragraphs(Role::Usual, findings(&rows));
    document.table(table(&rows, &columns));
    document.paragraphs(Role::Note, notes);
    if let Some(energy) = energy::table(&rows) {
        document.table(energy);
        document.paragraph_as(Role::Note, energy::ABOUT);
    }
    document.pictures(drawings);
}

/// Returns sentences with the main results.
fn findings(rows: &[&PolicyResult]) -> Vec<String> {
    let with_mean = rows.iter().filter_map(|row| row.flowtime.mean.map(|mean| (mean, *row)));
    let Some((mean, best)) = with_mean.min_by(|one, other| one.0.total_cmp(&other.0)) else {
        return vec!["No job has finished.".to_owned()];
    };
    let first = rows[0];
    let mut said = Vec::new();
    if std::ptr::eq(best, first) {
        if rows.len() > 1 {
            said.push(format!(
                "No policy has a lower mean flowtime than the first, {}: {}.",
                name(&first.policy),
                duration(mean)
            ));
        }
    } else {
        let mut text = format!("{} has the lowest mean flowtime: {}", name(&best.policy), duration(mean));
        if let Some(ratio) = best.versus_first.flowtime_ratio {
            let sure =
                best.versus_first.bootstrap_ci95.or(best.versus_first.ci95).map_or(String::new(), |[low, high]| {
                    format!(" (95% interval {} to {})", percent(low), percent(high))
                });
            text += &format!(", which is {} of the one under {}{sure}", percent(ratio), name(&first.policy));
        }
        if let (Some(own), Some(base)) = (best.resource.mean, first.resource.mean.filter(|mean| *mean > 0.0)) {
            text += &format!(
                ". The resource that its jobs use is {} of what they use under {}",
                percent(own / base),
                name(&first.policy)
            );
        }
        said.push(text + ".");
    }
    let cheapest = rows.iter().filter_map(|row| row.resource.mean.map(|mean| (mean, *row)));
    if let Some((mean, row)) = cheapest.min_by(|one, other| one.0.total_cmp(&other.0))
        && rows.len() > 1
    {
        said.push(format!(
            "{} uses the least resource: {} γ·s for a job on average.",
            name(&row.policy),
            significant(mean)
        ));
    }
    said
}

/// The columns that no terminal shows.
const MORE: [Column<PolicyResult>; 6] = [
    Column {
        heading: "versus first, by Student's t",
        from_width: 0,
        cell: |row| {
            measured(row.versus_first.flowtime_ratio.filter(|_| row.versus_first.ci95.is_some()), row.versus_first.ci95)
        },
    },
    Column { heading: "interval of resource", from_width: 0, cell: |row| interval(row.resource.ci95) },
    Column { heading: "longest flowtime (s)", from_width: 0, cell: |row| number(row.flowtime.max) },
    Column {
        heading: "p95 of lateness (s)",
        from_width: 0,
        cell: |row| number(row.deadlines.as_ref().and_then(|late| late.lateness.p95)),
    },
    Column {
        heading: "finish − deadline (s)",
        from_width: 0,
        cell: |row| {
            let late = row.deadlines.as_ref().map(|late| &late.signed_lateness);
            late.map_or_else(|| MISSING.to_owned(), |late| measured(late.mean, late.ci95))
        },
    },
    Column {
        heading: "abandoned jobs",
        from_width: 0,
        cell: |row| row.deadlines.as_ref().map_or_else(|| MISSING.to_owned(), |_| grouped(row.abandoned_jobs)),
    },
];

/// Returns the table of a sweep's point: these columns, with intervals in the cells of their values, and [`MORE`] that have a value.
fn table(rows: &[&PolicyResult], columns: &[&Column<PolicyResult>]) -> Table {
    let is_known = |column: &&Column<PolicyResult>| rows.iter().any(|row| (column.cell)(row) != MISSING);
    let all: Vec<_> = columns.iter().copied().chain(MORE.iter().filter(is_known)).collect();
    let headings = all.iter().filter(|column| !is_interval(column));
    let mut table = Table { caption: "Results of each policy".to_owned(), ..Table::default() };
    table.columns = headings.map(|column| Heading::new(&column.heading.replace('\n', " "))).collect();
    table.columns[0].is_text = true;
    for row in rows {
        let mut cells: Vec<String> = Vec::new();
        for column in &all {
            let cell = (column.cell)(row);
            match cells.last_mut() {
                Some(value) if is_interval(column) && cell != MISSING => *value += &format!(" ({cell})"),
                Some(_) if is_interval(column) => {}
                _ => cells.push(cell),
            }
        }
        table.row(cells);
    }
    table
}

/// Returns a row of a chart for each policy, with the mean and the interval of a measure.
fn dots(rows: &[&PolicyResult], of: impl Fn(&PolicyResult) -> &Summary) -> Vec<Dot> {
    let dot = |row: &&PolicyResult| {
        let summary = of(row);
        let (value, interval) = (summary.mean, summary.ci95);
        Dot { name: row.policy.clone(), value, interval, text: measured(value, interval) }
    };
    rows.iter().map(dot).collect()
}

/// Draws one picture each of the mean flowtime, the mean resource, the copies and the wasted share.
fn summaries(rows: &[&PolicyResult], seeds: usize) -> Vec<Picture> {
    let seconds = |label: &str| Axis::new(label, Unit::Seconds);
    let plain = |label: &str, unit: &str| Axis::new(label, Unit::Number(unit.to_owned()));
    let whiskers = if seeds > 1 { "; the line through it is its 95% interval over seeds" } else { "" };
    let flowtime = DotChart {
        title: "Mean flowtime".to_owned(),
        about: "The mean flowtime of each policy, in seconds.".to_owned(),
        axis: seconds("mean flowtime"),
        groups: vec![(String::new(), dots(rows, |row| &row.flowtime))],
        reference: None,
    };
    let resource = DotChart {
        title: "Mean resource".to_owned(),
        about: "The mean resource of a job under each policy.".to_owned(),
        axis: plain("mean resource of a job", "γ·s"),
        groups: vec![(String::new(), dots(rows, |row| &row.resource))],
        reference: None,
    };
    let copies = BarChart {
        title: "Copies started and copies that won".to_owned(),
        about: "For each policy, the number of copies that it started, and how many of them finished first.".to_owned(),
        axis: plain("copies in all seeds together", ""),
        bars: rows
            .iter()
            .map(|row| Bar {
                name: row.policy.clone(),
                whole: row.copies.launched as f64,
                part: Some(row.copies.won as f64),
                text: format!("{} won of {}", grouped(row.copies.won), grouped(row.copies.launched)),
            })
            .collect(),
        legend: Some(["copies started".to_owned(), "copies that finished first".to_owned()]),
    };
    let wasted = BarChart {
        title: "Wasted share of the resource".to_owned(),
        about: "For each policy, the share of the resource that went to attempts that did not win.".to_owned(),
        axis: Axis::new("share for attempts that did not win", Unit::Share),
        bars: rows
            .iter()
            .map(|row| Bar {
                name: row.policy.clone(),
                whole: row.copies.wasted_share,
                part: None,
                text: percent(row.copies.wasted_share),
            })
            .collect(),
        legend: None,
    };
    vec![
        Picture::new(
            flowtime.draw(),
            format!(
                "Further left is faster. A mark is the mean over the seeds' means{whiskers}. Numbers at the right: \
                     seconds."
            ),
        ),
        Picture::new(
            resource.draw(),
            "Further left is cheaper. The marks and lines have the same meaning as for the flowtime. Numbers at the \
             right: γ·s.",
        ),
        Picture::new(
            copies.draw(),
            "Upper bar: the number of copies, which are attempts that start while another attempt of the same task is \
             running. Lower bar: the number of copies that finished first. A copy that finishes first saves time; any \
             other copy wastes resources.",
        ),
        Picture::new(
            wasted.draw(),
            "The share of the resource that was used by attempts that did not finish first. A shorter bar is better.",
        ),
    ]
}

/// Draws the cumulative distributions of flowtime and resource.
fn distributions(rows: &[&PolicyResult], curves: &[&PolicyCurves]) -> Vec<Picture> {
    let jobs: u64 = curves.iter().map(|curves| curves.flowtime.count).max().unwrap_or(0);
    let jobs = counted(jobs, "job");
    let flowtime = cdf_chart(rows, curves, |curves| &curves.flowtime, "flowtime", Unit::Seconds);
    let resource = cdf_chart(rows, curves, |curves| &curves.resource, "resource", Unit::Number("γ·s".to_owned()));
    let read = |chart: &LineChart| if chart.x.logarithmic { " The horizontal axis is logarithmic." } else { "" };
    let text = |chart: &LineChart, what: &str| {
        format!(
            "Share of {jobs} (all seeds together) that {what} the value on the horizontal axis. A curve that is \
             further up and to the left is better.{}",
            read(chart)
        )
    };
    [(&flowtime, "took no longer than"), (&resource, "used no more than")]
        .map(|(chart, what)| Picture::new(chart.draw(), text(chart, what)))
        .into()
}

/// Draws the cumulative distribution of a measure of jobs under each policy.
fn cdf_chart(
    rows: &[&PolicyResult],
    curves: &[&PolicyCurves],
    of: fn(&PolicyCurves) -> &Cdf,
    what: &str,
    unit: Unit,
) -> LineChart {
    let all: Vec<&Cdf> = curves.iter().take(rows.len()).map(|curves| of(curves)).collect();
    let low = all.iter().filter_map(|cdf| cdf.points.iter().find(|point| point[0] > 0.0 && point[1] > LOWEST));
    let low = low.map(|point| point[0]).fold(f64::INFINITY, f64::min);
    let high = all.iter().filter_map(|cdf| cdf.points.last()).map(|point| point[0]).fold(0.0, f64::max);
    let logarithmic = low > 0.0 && high > low * DECADES;
    let whole = all.iter().all(|cdf| cdf.whole);
    let series = rows.iter().zip(&all).map(|(row, cdf)| {
        let begin = cdf.points.first().map(|first| Point { x: first[0], y: 0.0, interval: None });
        let points = cdf.points.iter().map(|[x, y]| Point { x: *x, y: *y, interval: None });
        let end = Some(Point { x: high, y: 1.0, interval: None }).filter(|_| cdf.count > 0);
        Series { name: row.policy.clone(), points: begin.into_iter().chain(points).chain(end).collect() }
    });
    LineChart {
        title: format!("Share of jobs by {what}"),
        about: format!("For each policy, the share of jobs whose {what} is at most the value on the horizontal axis."),
        x: Axis { logarithmic, ..Axis::new(what, unit) },
        y: Axis::new("share of jobs", Unit::Share),
        kind: if whole { Kind::Steps } else { Kind::Plain },
        series: series.collect(),
        x_limits: Some([if logarithmic { low } else { 0.0 }, high]),
        y_limits: Some([0.0, 1.0]),
        x_ticks: Vec::new(),
        levels: Vec::new(),
        stated: Vec::new(),
    }
}
