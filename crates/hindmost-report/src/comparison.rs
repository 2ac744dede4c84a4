//! Renders the comparison of policies as a table for the terminal.

pub(crate) mod advice;
pub(crate) mod half_width;
pub(crate) mod recorded;

use comfy_table::{ContentArrangement, Table};
use hindmost_core::metrics::{Comparison, PolicyResult, Summary};

use hindmost_math::plain::Plain;

use crate::figures::raised;
use crate::table::{Column, STYLE, finished, narrowed_with_columns, widest};
use crate::text::{counted, full, grouped, percent, wrapped};

use half_width::{half_width, with_half_width};

/// The columns from left to right. The less important a column is, the wider a terminal has to be to show it.
const COLUMNS: &[Column<PolicyResult>] = &[
    Column { heading: "policy", from_width: 0, cell: |row| row.policy.clone() },
    Column { heading: "mean\nflowtime (s)", from_width: 0, cell: |row| with_interval(&row.flowtime) },
    Column { heading: "versus\nfirst", from_width: 0, cell: versus_first },
    Column { heading: VERSUS_INTERVAL, from_width: 98, cell: |row| ratio_interval(row.versus_first.bootstrap_ci95) },
    Column { heading: P50, from_width: 90, cell: |row| number(row.flowtime.p50) },
    Column { heading: P50_INTERVAL, from_width: 155, cell: |row| interval(row.flowtime.quantile_ci95.p50) },
    Column { heading: P95, from_width: 70, cell: |row| number(row.flowtime.p95) },
    Column { heading: P95_INTERVAL, from_width: 140, cell: |row| interval(row.flowtime.quantile_ci95.p95) },
    Column { heading: P99, from_width: 80, cell: |row| number(row.flowtime.p99) },
    Column { heading: P99_INTERVAL, from_width: 170, cell: |row| interval(row.flowtime.quantile_ci95.p99) },
    Column { heading: RESOURCE, from_width: 60, cell: |row| number(row.resource.mean) },
    Column { heading: MET, from_width: 50, cell: deadlines_met },
    Column {
        heading: LATENESS,
        from_width: 95,
        cell: |row| number(row.deadlines.as_ref().and_then(|of| of.lateness.mean)),
    },
    Column { heading: "copies\nstarted", from_width: 100, cell: |row| grouped(row.copies.launched) },
    Column { heading: "copies\nwon", from_width: 110, cell: |row| grouped(row.copies.won) },
    Column { heading: WASTED, from_width: 75, cell: |row| percent(row.copies.wasted_share) },
    Column { heading: BUSY, from_width: 105, cell: |row| percent(row.utilization) },
    Column { heading: ENERGY, from_width: 65, cell: |row| number(row.energy_joules) },
];

// The headings of percentiles, which are left out if there is only one job.
const P50: &str = "p50\n(s)";
const P95: &str = "p95\n(s)";
const P99: &str = "p99\n(s)";
// The headings of 95% intervals, which are left out if no policy has them.
const VERSUS_INTERVAL: &str = "interval of\nversus first";
const P50_INTERVAL: &str = "interval\nof p50 (s)";
const P95_INTERVAL: &str = "interval\nof p95 (s)";
const P99_INTERVAL: &str = "interval\nof p99 (s)";
const INTERVALS: [&str; 4] = [VERSUS_INTERVAL, P50_INTERVAL, P95_INTERVAL, P99_INTERVAL];
/// The heading of the energy, which is left out if no policy has it.
const ENERGY: &str = "energy\n(J)";
// The headings about deadlines, which are left out if no job has one.
const MET: &str = "deadlines\nmet";
const LATENESS: &str = "lateness\n(s)";
// The headings that footnotes explain only if the column is shown.
const RESOURCE: &str = "resource\n(γ·s)";
const WASTED: &str = "wasted";
const BUSY: &str = "busy";

/// Returns the comparison as text of at most `width` columns: a table for each point of a sweep, then footnotes.
pub fn text(compared: &Comparison, width: u16) -> String {
    let mut text = String::new();
    for sentence in recorded::sentences(compared) {
        text += &(wrapped(&sentence, usize::from(width), 2) + "\n");
    }
    text += &(wrapped(&heading(compared), usize::from(width), 2) + "\n");
    if let Some(table) = &compared.by_correlation {
        text += &format!("\n{}\n\n", advice::correlations(table, width));
        if let Some(about) = recorded::about_shares(compared) {
            text += &(wrapped(&about, usize::from(width), 0) + "\n\n");
        }
        text += &format!("At correlation {}:\n", table.used);
    }
    let differ = sizes(compared).len() > 1;
    let mut columns = Headings::default();
    for set in sets(compared) {
        let rows: Vec<&PolicyResult> = compared.results.iter().filter(|row| row.set == set).collect();
        if !set.is_empty() {
            let values: Vec<String> = set.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            let size = if differ { format!(": {}", size_text(&sizes_of(&rows))) } else { String::new() };
            text += &format!("\n{}{size}\n", values.join(", "));
        }
        text += &table(&rows, seeds_at(compared, &set), width, &mut columns);
        text.push('\n');
    }
    text += &footnotes(compared, width, &columns);
    for recommendation in advice::recommendations(compared) {
        text += &format!("\n{}", wrapped(&recommendation, usize::from(width), 0));
    }
    text
}

/// Returns the first line: the scenario, its size, the number of seeds, the progress model and the placement.
fn heading(compared: &Comparison) -> String {
    let seeds = match compared.seeds.len() as u64 {
        _ if is_swept(compared, "seeds") => "the swept numbers of seeds".to_owned(),
        seeds => counted(seeds, "seed"),
    };
    let knowledge = if is_swept(compared, "knowledge") { "swept".to_owned() } else { compared.knowledge.to_string() };
    let placement = if is_swept(compared, "placement") { "swept".to_owned() } else { compared.placement.to_string() };
    let each = if sets(compared).len() > 1 && sizes(compared).len() > 1 { " at each point of the sweep," } else { "" };
    format!(
        "{}: {}{each} over {seeds}, knowledge {knowledge}, placement {placement}",
        compared.scenario,
        size_text(&sizes(compared))
    )
}

/// Returns whether `key` is one of the keys that the sweep varies.
pub(crate) fn is_swept(compared: &Comparison, key: &str) -> bool {
    compared.results.iter().any(|row| row.set.iter().any(|(other, _)| other == key))
}

/// Returns the numbers of jobs and tasks of all points of a sweep, each pair once.
pub(crate) fn sizes(compared: &Comparison) -> Vec<[u64; 2]> {
    sizes_of(&compared.results.iter().collect::<Vec<_>>())
}

/// Returns the numbers of jobs and tasks of some results, each pair once.
pub(crate) fn sizes_of(rows: &[&PolicyResult]) -> Vec<[u64; 2]> {
    let mut sizes: Vec<[u64; 2]> = rows.iter().map(|row| [row.jobs, row.tasks]).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Formats the numbers of jobs and tasks. If points differ, the numbers are ranges: `104 to 211 jobs of 5 300 tasks`.
pub(crate) fn size_text(sizes: &[[u64; 2]]) -> String {
    let range = |at: usize, what: &str| {
        let numbers = || sizes.iter().map(|size| size[at]);
        match (numbers().min().unwrap_or(0), numbers().max().unwrap_or(0)) {
            (fewest, most) if fewest == most => counted(most, what),
            (fewest, most) => format!("{} to {}", grouped(fewest), counted(most, what)),
        }
    };
    format!("{} of {}", range(0, "job"), range(1, "task"))
}

/// Returns the points of a sweep, each as its keys with their values. Without a sweep there is one point without keys.
pub(crate) fn sets(compared: &Comparison) -> Vec<Vec<(String, String)>> {
    let mut sets: Vec<Vec<(String, String)>> = Vec::new();
    for row in &compared.results {
        if !sets.contains(&row.set) {
            sets.push(row.set.clone());
        }
    }
    sets
}

/// Returns the number of seeds of a sweep's point, which has these values of the swept keys.
pub(crate) fn seeds_at(compared: &Comparison, set: &[(String, String)]) -> usize {
    let swept = set.iter().find(|(key, _)| key == "seeds").and_then(|(_, value)| value.parse().ok());
    swept.unwrap_or(compared.seeds.len())
}

/// The headings of the columns of all tables.
#[derive(Default)]
struct Headings {
    /// Columns that some table shows.
    shown: Vec<&'static str>,
    /// Columns that some table lacks because the output is too narrow.
    left_out: Vec<&'static str>,
}

/// Returns the columns of a sweep's point, without percentiles of single jobs and values that no policy has.
pub(crate) fn known_columns(rows: &[&PolicyResult], seeds: usize) -> Vec<&'static Column<PolicyResult>> {
    let single = one_job(rows, seeds);
    let percentiles = [P50, P50_INTERVAL, P95, P95_INTERVAL, P99, P99_INTERVAL];
    let unknown = |column: &Column<PolicyResult>| {
        let may_be_unknown = is_interval(column) || [ENERGY, MET, LATENESS].contains(&column.heading);
        may_be_unknown && rows.iter().all(|row| (column.cell)(row) == MISSING)
    };
    let columns = COLUMNS.iter().filter(|column| !single || !percentiles.contains(&column.heading));
    columns.filter(|column| !unknown(column)).collect()
}

/// Returns whether a column has the intervals of the column before it.
pub(crate) fn is_interval(column: &Column<PolicyResult>) -> bool {
    INTERVALS.contains(&column.heading)
}

/// Draws the table of a sweep's point, and adds its columns to `headings`.
fn table(rows: &[&PolicyResult], seeds: usize, width: u16, headings: &mut Headings) -> String {
    let known = known_columns(rows, seeds);
    // Names of policies are never shortened. If the table is still too wide, its cells are wrapped.
    let (mut drawn, mut shown) =
        narrowed_with_columns(known.iter().copied(), width, 1, |columns, _| draw(columns, rows, None));
    if widest(&drawn) > usize::from(width) {
        shown = COLUMNS.iter().filter(|column| column.from_width == 0).collect();
        drawn = draw(&shown, rows, Some(width));
    }
    for heading in known.iter().map(|column| column.heading) {
        let is_shown = shown.iter().any(|column| column.heading == heading);
        let list = if is_shown { &mut headings.shown } else { &mut headings.left_out };
        if !list.contains(&heading) {
            list.push(heading);
        }
    }
    drawn
}

/// Returns true if no policy has finished more than one job on each seed. Percentiles over a single job would all be
/// its flowtime, so they are not shown.
pub(crate) fn one_job(rows: &[&PolicyResult], seeds: usize) -> bool {
    rows.iter().all(|row| row.jobs.saturating_sub(row.unfinished_jobs) <= seeds as u64)
}

/// Draws a table. If `width` is given, cells are wrapped so that the table has at most this many columns of text.
fn draw(columns: &[&Column<PolicyResult>], rows: &[&PolicyResult], width: Option<u16>) -> String {
    let mut table = Table::new();
    table.load_style(STYLE);
    match width {
        Some(width) => table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width),
        None => table.set_content_arrangement(ContentArrangement::Disabled),
    };
    table.set_header(columns.iter().map(|column| column.heading));
    for row in rows {
        table.add_row(columns.iter().map(|column| (column.cell)(row)));
    }
    finished(&mut table, 1)
}

/// Explains the columns with these headings.
pub(crate) fn legend(compared: &Comparison, shown: &[&str]) -> String {
    let has_intervals = compared.results.iter().any(|row| row.flowtime.ci95.is_some());
    let mean = if has_intervals { " The mean is over the seeds' means, ± half of its 95% interval." } else { "" };
    let mut legend = format!(
        "Flowtime (job completion time): from a job's arrival to its finish.{mean} Versus first: ratio of the flowtimes \
         to the first policy's, on the same jobs."
    );
    let gamma = if is_swept(compared, "gamma") { String::new() } else { format!(" = {}", Plain(compared.gamma)) };
    let resource = format!(
        " Resource: mean per job of the time for which its attempts hold a slot (or a share of the cluster), times the price \
         γ{gamma}."
    );
    for (heading, meaning) in [
        (RESOURCE, resource.as_str()),
        (WASTED, " Wasted: share of the resource that went to attempts that did not win."),
        (BUSY, " Busy: share of the capacity in use."),
        (
            MET,
            " Deadlines met: share of the jobs with a deadline that finished in time, with its 95% interval; abandoned jobs \
             have missed theirs.",
        ),
        (LATENESS, " Lateness: mean of max(0, finish − deadline) of finished jobs."),
        (ENERGY, " Energy: that of all nodes, idle power included, in the runs of all seeds together."),
    ] {
        if shown.contains(&heading) {
            legend += meaning;
        }
    }
    if INTERVALS.iter().any(|heading| shown.contains(heading)) {
        legend += " Intervals: 95% intervals, that of versus first by the paired bootstrap.";
    }
    legend
}

/// Says what the numbers of these results leave out, or count in a way that is easily overlooked. `shown` are the headings of the
/// columns.
pub(crate) fn not_counted(rows: &[&PolicyResult], shown: &[&str]) -> Vec<String> {
    let except = if shown.contains(&MET) { " except the deadlines" } else { "" };
    let all = [
        (of_each(rows, |row| row.unfinished_jobs), format!("Unfinished jobs, not counted in any number above{except}")),
        (of_each(rows, |row| row.abandoned_jobs), "Abandoned jobs, which count only as missed deadlines".to_owned()),
        (
            of_each(rows, |row| row.deadlines.as_ref().map_or(0, |deadlines| deadlines.undecided)),
            "Jobs that were unfinished when the run ended, before their deadlines, and count as neither met nor missed"
                .to_owned(),
        ),
        (
            of_each(rows, |row| row.lost_attempts),
            "Attempts lost with their nodes (their resource counts as wasted)".to_owned(),
        ),
    ];
    all.into_iter().filter_map(|(each, what)| Some(format!("{what}: {}.", each?))).collect()
}

/// Explains the columns that are shown, and what the numbers leave out.
fn footnotes(compared: &Comparison, width: u16, columns: &Headings) -> String {
    let mut notes = vec![legend(compared, &columns.shown)];
    notes.extend(compared.cautions.iter().map(|caution| format!("Caution: {}.", caution.trim_end_matches('.'))));
    if !columns.left_out.is_empty() {
        let names: Vec<&str> =
            columns.left_out.iter().map(|heading| heading.split(['(']).next().unwrap_or(heading).trim_end()).collect();
        notes.push(format!(
            "Left out, because the output has only {width} columns of text: {}. A wider terminal or --json shows them.",
            names.join(", ").replace('\n', " ")
        ));
    }
    notes.extend(not_counted(&compared.results.iter().collect::<Vec<_>>(), &columns.shown));
    notes.extend(compared.notes.iter().map(|note| full(note)));
    notes.iter().map(|note| wrapped(note, usize::from(width), 0)).collect::<Vec<_>>().join("\n")
}

/// Lists a count of each policy, over all seeds and all given points of a sweep, which the text says if there are several;
/// `None` if it is 0 for all.
fn of_each(rows: &[&PolicyResult], of: impl Fn(&PolicyResult) -> u64) -> Option<String> {
    let mut counts: Vec<(&str, u64)> = Vec::new();
    for row in rows {
        match counts.iter_mut().find(|(policy, _)| *policy == row.policy) {
            Some((_, count)) => *count += of(row),
            None => counts.push((&row.policy, of(row))),
        }
    }
    let each: Vec<String> = counts.iter().map(|(policy, count)| format!("{policy} {}", grouped(*count))).collect();
    let is_swept = rows.iter().any(|row| Some(&row.set) != rows.first().map(|first| &first.set));
    let together = if is_swept { " (all points of the sweep together)" } else { "" };
    counts.iter().any(|(_, count)| *count > 0).then(|| each.join(", ") + together)
}

/// Formats a mean with half of its interval; a dash if there is no mean.
pub(crate) fn with_interval(summary: &Summary) -> String {
    match (summary.mean, summary.ci95) {
        (Some(mean), Some(ends)) => with_half_width(mean, half_width(mean, ends)),
        (mean, _) => number(mean),
    }
}

/// Formats the share of deadlines that were met, with its interval; a dash if no job has a deadline.
fn deadlines_met(row: &PolicyResult) -> String {
    let interval = row.deadlines.as_ref().and_then(|deadlines| deadlines.pocd_ci95);
    match (row.pocd, interval) {
        (Some(met), Some([low, high])) => {
            format!("{} ({} to {})", percent(met), percent(low.max(0.0)), percent(high.min(1.0)))
        }
        (met, _) => met.map_or(MISSING.to_owned(), percent),
    }
}

fn versus_first(row: &PolicyResult) -> String {
    row.versus_first.flowtime_ratio.map_or(MISSING.to_owned(), |ratio| format!("{ratio:.3}"))
}

/// Formats the ends of an interval of a ratio; a dash if there is none.
pub(crate) fn ratio_interval(ends: Option<[f64; 2]>) -> String {
    ends.map_or(MISSING.to_owned(), |[low, high]| format!("{low:.3} to {high:.3}"))
}

/// Formats the ends of an interval; a dash if there is none.
pub(crate) fn interval(ends: Option<[f64; 2]>) -> String {
    ends.map_or(MISSING.to_owned(), |[low, high]| format!("{} to {}", significant(low), significant(high)))
}

/// Stands for a number that is not known.
pub(crate) const MISSING: &str = "–";

pub(crate) fn number(value: Option<f64>) -> String {
    value.map_or(MISSING.to_owned(), significant)
}

/// Sizes below this are rounding errors of sums and differences: times have a resolution of 10⁻⁹ seconds.
const ROUNDING_ERROR: f64 = 1e-12;

/// Formats a number with four significant digits. Sizes below 0.0001 and from 10⁷ on are written with a power of ten, and
/// rounding errors as 0.
pub(crate) fn significant(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if size < ROUNDING_ERROR => "0".to_owned(),
        _ if !value.is_finite() => value.to_string(),
        _ if !(1e-4..1e7).contains(&size) => {
            let power = size.log10().floor();
            format!("{:.3}·10{}", value / 10f64.powf(power), raised(power as i32))
        }
        _ => {
            let digits = (3 - size.log10().floor() as i32).max(0) as usize;
            format!("{value:.digits$}")
        }
    }
}

#[cfg(test)]
mod tests {
    use hindmost_core::cluster::Placement;
    use hindmost_core::estimator::Knowledge;
    use hindmost_core::metrics::{Copies, VersusFirst};

    use super::*;
    use crate::html::tests::result;

    fn row(policy: &str, set: &[(&str, &str)], [jobs, tasks]: [u64; 2]) -> PolicyResult {
        let summary = Summary::of(&[&[1.0, 2.0][..]]);
        PolicyResult {
            jobs,
            tasks,
            flowtime: summary.clone(),
            resource: summary,
            copies: Copies { launched: 0, won: 0, wasted_share: 0.0 },
            versus_first: VersusFirst { flowtime_ratio: Some(1.0), ci95: None, bootstrap_ci95: None },
            pocd: None,
            ..result(policy, set, 1.0)
        }
    }

    fn compared(results: Vec<PolicyResult>) -> Comparison {
        let (knowledge, placement) = (Knowledge::Oracle, Placement::First);
        Comparison { knowledge, placement, gamma: 0.01, notes: Vec::new(), ..crate::html::tests::compared(results) }
    }

    #[test]
    fn headings_show_the_number_of_jobs_of_each_point() {
        let heading = |results| {
            let text = text(&compared(results), 140);
            let point = text.lines().find(|line| line.starts_with("rate = ")).unwrap_or("").to_owned();
            (text.lines().next().unwrap_or("").to_owned(), point)
        };
        let (first, point) = heading(vec![row("none", &[], [104, 2684]), row("pace", &[], [104, 2684])]);
        assert_eq!(
            (first.as_str(), point.as_str()),
            ("small: 104 jobs of 2 684 tasks over 2 seeds, knowledge oracle, placement first", "")
        );
        let at = |value, size| [row("none", &[("rate", value)], size), row("pace", &[("rate", value)], size)];
        let (first, point) = heading([at("0.5", [104, 2684]), at("1", [211, 5300])].concat());
        assert_eq!(
            first,
            "small: 104 to 211 jobs of 2 684 to 5 300 tasks at each point of the sweep, over 2 seeds, knowledge oracle, placement first"
        );
        assert_eq!(point, "rate = 0.5: 104 jobs of 2 684 tasks");
        let (first, point) = heading([at("0.5", [1, 10]), at("1", [1, 10])].concat());
        assert_eq!(
            (first.as_str(), point.as_str()),
            ("small: 1 job of 10 tasks over 2 seeds, knowledge oracle, placement first", "rate = 0.5")
        );
        let (first, _) = heading(vec![row("none", &[("knowledge", "age"), ("seeds", "3")], [1, 1])]);
        assert_eq!(first, "small: 1 job of 1 task over the swept numbers of seeds, knowledge swept, placement first");
    }

    #[test]
    fn attempts_lost_with_their_nodes_are_counted_for_each_policy() {
        let results = |lost: [u64; 3]| {
            let mut rows = [("none", "1"), ("pace", "1"), ("none", "2")]
                .map(|(policy, rate)| row(policy, &[("rate", rate)], [2, 10]));
            rows.iter_mut().zip(lost).for_each(|(row, lost)| row.lost_attempts = lost);
            text(&compared(rows.into()), 120)
        };
        let note = "Attempts lost with their nodes (their resource counts as wasted): none 1 005, pace 0 (all points of the sweep \
                    together).";
        let shown = results([1000, 0, 5]).replace('\n', " ");
        assert!(shown.contains(note), "{shown}");
        assert!(!results([0, 0, 0]).contains("lost"));
    }

    #[test]
    fn footnotes_explain_the_columns_that_are_shown() {
        let results = || vec![row("none", &[], [104, 2684]), row("pace", &[], [104, 2684])];
        let wide = text(&compared(results()), 120).replace('\n', " ");
        assert!(!wide.contains("nterval"), "{wide}");
        assert!(
            wide.contains("Resource: mean") && wide.contains("Wasted: share") && wide.contains("Busy: share"),
            "{wide}"
        );
        assert!(!wide.contains("Left out"), "{wide}");
        let narrow = text(&compared(results()), 60).replace('\n', " ");
        assert!(!narrow.contains("Wasted: share") && !narrow.contains("Busy: share"), "{narrow}");
        let left_out =
            "the output has only 60 columns of text: p50, p95, p99, copies started, copies won, wasted, busy.";
        assert!(narrow.contains(left_out), "{narrow}");
    }

    #[test]
    fn wide_tables_show_intervals_of_percentiles_and_ratios() {
        let mut with = compared(vec![row("none", &[], [104, 2684]), row("pace", &[], [104, 2684])]);
        with.results[1].flowtime.quantile_ci95.p95 = Some([24.9, 26.64]);
        with.results[1].versus_first.bootstrap_ci95 = Some([0.52, 0.5839]);
        let wide = text(&with, 180);
        let line = wide.lines().find(|line| line.starts_with("pace")).unwrap();
        assert!(line.contains("0.520 to 0.584") && line.contains("24.90 to 26.64"), "{wide}");
        assert!(wide.contains("Intervals: 95% intervals") && !wide.contains("of p50") && !wide.contains("Left out"));
        // It stays longer than the numbers of copies.
        let narrower = text(&with, 105);
        assert!(narrower.contains("0.520 to 0.584") && !narrower.contains("copies\n"), "{narrower}");
        for width in [40, 80, 95] {
            let narrow = text(&with, width);
            assert!(!narrow.contains("0.520 to") && widest(&narrow) <= usize::from(width), "{narrow}");
            let words = narrow.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains("interval of versus first") && words.contains("interval of p95"), "{narrow}");
        }
    }

    #[test]
    fn energy_is_shown_only_if_it_is_known() {
        let mut with = compared(vec![row("none", &[], [104, 2684]), row("pace", &[], [104, 2684])]);
        assert!(!text(&with, 120).contains("nergy"));
        with.results[0].energy_joules = Some(2.5e9);
        let shown = text(&with, 120);
        assert!(shown.contains("2.500·10⁹") && shown.contains("Energy: that of all nodes"), "{shown}");
    }

    #[test]
    fn cautions_follow_the_legend() {
        let mut with = compared(vec![row("none", &[], [104, 2684])]);
        assert!(!text(&with, 120).contains("Caution"));
        with.cautions = vec!["one seed: differences may be chance".to_owned(), "a second.".to_owned()];
        let shown = text(&with, 120);
        let lines: Vec<&str> = shown.lines().filter(|line| line.starts_with("Caution")).collect();
        assert_eq!(lines, ["Caution: one seed: differences may be chance.", "Caution: a second."]);
    }

    #[test]
    fn the_interval_is_explained_only_if_it_is_shown() {
        let mut one = compared(vec![row("none", &[], [104, 2684])]);
        one.results[0].flowtime.ci95 = Some([1.0, 2.0]);
        assert!(text(&one, 120).contains("± half"));
        one.results[0].flowtime.ci95 = None;
        assert!(!text(&one, 120).contains('±'));
    }

    #[test]
    fn percentiles_of_a_single_job_are_not_shown() {
        let first = |jobs| text(&compared(vec![row("none", &[], [jobs, 10])]), 120).lines().nth(1).map(str::to_owned);
        // The results have two seeds, so two jobs are one job for each seed.
        assert!(first(3).is_some_and(|line| line.contains("p50")));
        assert!(first(2).is_some_and(|line| line.contains("mean") && !line.contains("p50")));
        assert!(first(1).is_some_and(|line| line.contains("mean") && !line.contains("p50")));
    }

    #[test]
    fn an_interval_of_rounding_errors_has_width_zero() {
        let summary = Summary { mean: Some(9.5), ci95: Some([9.5 - 8.9e-16, 9.5 + 8.9e-16]), ..Summary::of(&[]) };
        assert_eq!(with_interval(&summary), "9.500 ± 0");
    }

    #[test]
    fn resource_usage_is_shown_with_its_price() {
        let row = |value: &str| row("none", &[("gamma", value)], [1, 10]);
        let fixed = text(&compared(vec![PolicyResult { set: Vec::new(), ..row("1") }]), 120).replace('\n', " ");
        assert!(fixed.contains("times the price γ = 0.01."), "{fixed}");
        let swept = text(&compared(vec![row("1"), row("2")]), 120).replace('\n', " ");
        assert!(swept.contains("times the price γ."), "{swept}");
    }

    #[test]
    fn numbers_have_four_significant_digits() {
        for (value, expected) in [
            (0.0, "0"),
            (14.98123, "14.98"),
            (0.012_346, "0.01235"),
            (123_456.7, "123457"),
            (2.5e9, "2.500·10⁹"),
            (-8.9e-16, "0"),
            (-8.9e-11, "-8.900·10⁻¹¹"),
            (-3.21987, "-3.220"),
        ] {
            assert_eq!(significant(value), expected);
        }
    }
}
