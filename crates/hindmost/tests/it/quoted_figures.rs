//! Compares figures in sentences of the documents with the tables that they are from.
//!
//! `documents.rs` keeps the tables of commands up to date, and `hindmost reproduce` writes those of the ranking. A sentence
//! that quotes them has an entry in [`QUOTES`], so that it cannot be left behind.

use std::fs;
use std::path::Path;

/// A table: its document, and the text above it. The table's rows are the next lines with the wanted first cells.
#[derive(Clone, Copy)]
struct Table(&'static str, &'static str);

/// How a figure is written in a sentence.
#[derive(Clone, Copy)]
enum Form {
    /// As in the table, without interval or deviation.
    Same,
    /// The whole cell.
    Whole,
    /// With this number of decimals.
    Decimals(usize),
    /// With this number of decimals, divided by the same column of another row.
    Over(&'static str, usize),
    /// A ratio below 1 as what it saves, in per cent.
    Saves,
    /// A ratio above 1 as what it adds, in per cent.
    Adds,
}

use Form::{Adds, Decimals, Over, Same, Saves, Whole};

/// A figure: table, row, column (the first cell has the number 0), and how it is written.
type Figure = (Table, &'static str, usize, Form);

/// Columns of the tables of `hindmost simulate`.
const VERSUS: usize = 2;
const P99: usize = 6;
const USAGE: usize = 7;
const COPIES: usize = 8;
/// The column of resource usage in tables with deadlines.
const DEADLINES_USAGE: usize = 6;
/// Columns of the tables by correlation: flowtimes, and [`RESOURCE`] columns later the resource usages.
const AT_0: usize = 1;
const AT_HALF: usize = 2;
const AT_NINE_TENTHS: usize = 3;
const RESOURCE: usize = 3;
/// Columns of the worlds of the ranking.
const WORLD_CHANGE: usize = 3;

const CORRELATION: Table = Table("docs/choosing.md", "$ hindmost simulate --policy none,hadoop,mantri,pace,dollymp\n");
const LIGHT: Table = Table("docs/choosing.md", "workload.arrival.poisson.rate = 2:");
const SEVERAL_RESOURCES: Table = Table("docs/choosing.md", "$ hindmost simulate dollymp2022-light");
const FULL: Table = Table("docs/choosing.md", "window\nzhou2018-stragglers: 25 jobs");
const FREE: Table = Table("docs/choosing.md", "tasks=256\nzhou2018-stragglers: 100 jobs");
const DEADLINES: Table = Table("docs/choosing.md", "workload.arrival.poisson.rate = 1: 3 036");
const BUSY_DEADLINES: Table = Table("docs/choosing.md", "workload.arrival.poisson.rate = 3: 9 025");
const fn world(heading: &'static str) -> Table {
    Table("docs/reproduction/ranking.md", heading)
}
const XU2015_HEAVY: Table = world("\n### xu2015-heavy\n");
const DOLLYMP2022_HEAVY: Table = world("\n### dollymp2022-heavy\n");
const RISKI: Table = world("\n### riski\n");
const SLOW_NODE: Table = Table("docs/performance.md", "| job | `pace`, slow ÷ not |");
const IN_VAIN: Table = Table("docs/performance.md", "| job | × the time without copies |");
const IN_MEMORY: Table = Table("docs/compare.md", "2 000 tasks of `true`");
const ON_DISK: Table = Table("docs/compare.md", "The same on a virtual disk");
const LONG_TASKS: Table = Table("docs/compare.md", "four other tasks always take 6 s");

const LOG_NORMAL: &str = "100 tasks, log-normal (median 0.6 s, σ 0.8), -j8";
const PARETO: &str = "60 tasks, Pareto (α 1.3, from 0.4 s up to 8 s), -j4";
const WITH_PROGRESS: &str = "24 tasks of 1 s, with progress";
const THREE_PHASES: &str = "three phases, without progress";

/// Document, sentence with `{}` in place of each figure, and the figures. White space counts as one space.
const QUOTES: &[(&str, &str, &[Figure])] = &[
    (
        "docs/choosing.md",
        "jobs take {} to {} times as long as without it; `none` takes {} to {} times as long, `mantri` up to {} times",
        &[
            (SLOW_NODE, WITH_PROGRESS, 1, Decimals(1)),
            (SLOW_NODE, THREE_PHASES, 1, Decimals(1)),
            (SLOW_NODE, WITH_PROGRESS, 2, Decimals(1)),
            (SLOW_NODE, THREE_PHASES, 2, Decimals(1)),
            (SLOW_NODE, THREE_PHASES, 3, Decimals(1)),
        ],
    ),
    (
        "docs/choosing.md",
        "({} times that of `none`, `pace` {}) and if they share half of their duration ({} and {}); with nine tenths `dollymp` is \
         at {} and `pace` at {}. It costs {} to {} times the resource usage of `none` where copies are independent, and {} to \
         {} times",
        &[
            (CORRELATION, "dollymp", AT_0, Same),
            (CORRELATION, "pace", AT_0, Same),
            (CORRELATION, "dollymp", AT_HALF, Same),
            (CORRELATION, "pace", AT_HALF, Same),
            (CORRELATION, "dollymp", AT_NINE_TENTHS, Same),
            (CORRELATION, "pace", AT_NINE_TENTHS, Same),
            (SEVERAL_RESOURCES, "dollymp", USAGE, Over("capacity", 1)),
            (LIGHT, "dollymp", USAGE, Over("none", 1)),
            (CORRELATION, "dollymp", RESOURCE + AT_HALF, Decimals(1)),
            (CORRELATION, "dollymp", RESOURCE + AT_NINE_TENTHS, Decimals(1)),
        ],
    ),
    (
        "docs/choosing.md",
        "{}, {} and {} times the resource usage of `none` for correlations of 0, 0.5 and 0.9 in `quickstart`, where `dollymp` \
         needs {}, {} and {} times",
        &[
            (CORRELATION, "pace", RESOURCE + AT_0, Same),
            (CORRELATION, "pace", RESOURCE + AT_HALF, Same),
            (CORRELATION, "pace", RESOURCE + AT_NINE_TENTHS, Same),
            (CORRELATION, "dollymp", RESOURCE + AT_0, Same),
            (CORRELATION, "dollymp", RESOURCE + AT_HALF, Same),
            (CORRELATION, "dollymp", RESOURCE + AT_NINE_TENTHS, Same),
        ],
    ),
    (
        "docs/choosing.md",
        "`pace` alone changes the mean flowtime of `none` by {} to {}, with one of these orders by {} to {}.",
        &[
            (DOLLYMP2022_HEAVY, "pace", WORLD_CHANGE, Same),
            (XU2015_HEAVY, "pace", WORLD_CHANGE, Same),
            (RISKI, "svf+pace", WORLD_CHANGE, Same),
            (XU2015_HEAVY, "svf+pace", WORLD_CHANGE, Same),
        ],
    ),
    (
        "docs/choosing.md",
        "({} and {} of `none`, five seeds) and use the least energy; with free slots `riski`, `window` and `hete_aware` reach {} \
         to {} and `pace` only {}",
        &[
            (FULL, "pace", VERSUS, Same),
            (FULL, "window", VERSUS, Same),
            (FREE, "window", VERSUS, Decimals(2)),
            (FREE, "riski", VERSUS, Decimals(2)),
            (FREE, "pace", VERSUS, Decimals(2)),
        ],
    ),
    (
        "docs/choosing.md",
        "at {} times the resource usage of `none`; it does not need progress",
        &[(DEADLINES, "shed", DEADLINES_USAGE, Over("none", 1))],
    ),
    (
        "docs/choosing.md",
        "at {} times the resource usage of `none`; without progress it does nothing",
        &[(BUSY_DEADLINES, "chronos", DEADLINES_USAGE, Over("none", 2))],
    ),
    (
        "docs/choosing.md",
        "At 0.9 `pace` costs {} more than `none` for {} shorter flowtimes, and `dollymp` costs {} times as much for {}.",
        &[
            (CORRELATION, "pace", RESOURCE + AT_NINE_TENTHS, Adds),
            (CORRELATION, "pace", AT_NINE_TENTHS, Saves),
            (CORRELATION, "dollymp", RESOURCE + AT_NINE_TENTHS, Decimals(1)),
            (CORRELATION, "dollymp", AT_NINE_TENTHS, Saves),
        ],
    ),
    (
        "docs/choosing.md",
        "`pace` starts {} times as many copies as `window`. It has about the same mean flowtime and the shortest 99th percentile \
         ({} s; `none` {} s)",
        &[(FULL, "pace", COPIES, Over("window", 1)), (FULL, "pace", P99, Same), (FULL, "none", P99, Same)],
    ),
    (
        "docs/choosing.md",
        "Here `pace` loses: {} times the mean flowtime of `none`, where `riski`, `hete_aware` and `window` reach {} to {}.",
        &[
            (FREE, "pace", VERSUS, Same),
            (FREE, "hete_aware", VERSUS, Decimals(2)),
            (FREE, "riski", VERSUS, Decimals(2)),
        ],
    ),
    (
        "docs/policies.md",
        "in quickstart with correlation=0.9 it costs {} more than none and saves {} of the mean flowtime",
        &[(CORRELATION, "pace", RESOURCE + AT_NINE_TENTHS, Adds), (CORRELATION, "pace", AT_NINE_TENTHS, Saves)],
    ),
    (
        "docs/compare.md",
        "`hindmost map` takes {} times as long as xargs for tasks of `true`, and `hindmost run` {} times as long on a disk",
        &[(IN_MEMORY, "hindmost map", 2, Decimals(1)), (ON_DISK, "hindmost run", 2, Decimals(1))],
    ),
    (
        "docs/compare.md",
        "they cost {} of the machine time, and the job took {} times as long. In a job of 60 tasks, four at a time, they cost {}, \
         and it took {} times as long",
        &[
            (IN_VAIN, LOG_NORMAL, 2, Whole),
            (IN_VAIN, LOG_NORMAL, 1, Whole),
            (IN_VAIN, PARETO, 2, Whole),
            (IN_VAIN, PARETO, 1, Whole),
        ],
    ),
    (
        "docs/compare.md",
        "(`--timeout 2000%`, 8 s) GNU parallel finishes every task too, in {} s, and `hindmost map --once` in {} s.",
        &[
            (LONG_TASKS, "parallel --timeout 2000% --retries 4", 2, Decimals(1)),
            (LONG_TASKS, "hindmost map --once --timeout 2000% --retries 4", 2, Decimals(1)),
        ],
    ),
    ("docs/compare.md", "but every task finishes, in {} s.", &[(LONG_TASKS, "hindmost map", 2, Decimals(1))]),
];

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the text without quotes of Markdown for code.
fn plain(text: &str) -> String {
    text.replace('`', "")
}

/// Returns the cells of a line of a table: of Markdown, or of a command, whose columns have two spaces between them.
fn cells(line: &str) -> Vec<String> {
    match line.strip_prefix('|') {
        Some(row) => row.trim_end().trim_end_matches('|').split('|').map(|cell| plain(cell.trim())).collect(),
        None => line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect(),
    }
}

/// Returns a cell of a table.
fn cell(Table(document, above): Table, row: &str, column: usize) -> String {
    let text = read(document);
    let (_, below) = text.split_once(above).unwrap_or_else(|| panic!("{document} does not contain {above:?}"));
    let found = below.lines().map(cells).find(|cells| cells.len() > 1 && cells[0] == row);
    let found = found.unwrap_or_else(|| panic!("{document}: no row {row:?} below {above:?}"));
    found.get(column).unwrap_or_else(|| panic!("{document}: {row:?} below {above:?} has no column {column}")).clone()
}

/// Returns the figure of a cell without its interval, deviation and unit.
fn figure(cell: &str) -> &str {
    let end = cell.find(['±', '(', '[']).unwrap_or(cell.len());
    cell[..end].trim().trim_end_matches(" s")
}

fn number(cell: &str) -> f64 {
    let digits: String = figure(cell).chars().filter(|letter| !letter.is_whitespace() && *letter != '%').collect();
    digits.replace('−', "-").parse().unwrap_or_else(|error| panic!("{cell:?}: {error}"))
}

/// Returns a figure as its sentence should have it.
fn written((table, row, column, form): Figure) -> String {
    let found = cell(table, row, column);
    match form {
        Same => figure(&found).to_owned(),
        Whole => found,
        Decimals(digits) => format!("{:.digits$}", number(&found)),
        Over(other, digits) => format!("{:.digits$}", number(&found) / number(&cell(table, other, column))),
        Saves => format!("{:.0}%", 100.0 * (1.0 - number(&found))),
        Adds => format!("{:.0}%", 100.0 * (number(&found) - 1.0)),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn sentences_quote_the_figures_of_the_tables() {
    let mut wrong = Vec::new();
    for (document, sentence, figures) in QUOTES {
        let mut parts = sentence.split("{}");
        let mut expected = parts.next().unwrap_or_default().to_owned();
        assert_eq!(parts.clone().count(), figures.len(), "{document}: {sentence}");
        for (part, figure) in parts.zip(*figures) {
            expected += &written(*figure);
            expected += part;
        }
        if !one_line(&read(document)).contains(&one_line(&expected)) {
            wrong.push(format!("{document}: by its tables it should have the sentence\n  {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn cells_are_read_from_both_kinds_of_tables() {
    assert_eq!(cells("pace      2.884 ± 0.055    0.300   23 243"), ["pace", "2.884 ± 0.055", "0.300", "23 243"]);
    assert_eq!(cells("| `pace` | 21 (20 to 23) | −3.3% ± 0.9 |"), ["pace", "21 (20 to 23)", "−3.3% ± 0.9"]);
    assert_eq!(
        ["−3.3% ± 0.9", "15.5 s [13.8, 16.6]", "0.621 (0.614 to 0.627)"].map(figure),
        ["−3.3%", "15.5", "0.621"]
    );
    assert_eq!((number("23 243"), number("−3.3% ± 0.9")), (23_243.0, -3.3));
}
