//! Rows of `sacct` with a delimiter (`--parsable`, `--parsable2`) or aligned, with a header or without.

use std::borrow::Cow;
use std::ops::Range;

use super::{Job, JobId};
use crate::error::TraceError;
use crate::reading::window::Window;
use crate::tasks::delimited::Fields;
use crate::tasks::header::Header;
use crate::tasks::row::state;
use crate::tasks::units::{is_given, time};
use crate::tasks::{Collector, lines};

/// The columns of the commands that docs/logs.md has had, for output without a header.
const COLUMNS: [&[&str]; 2] = [
    &[
        "jobid",
        "jobname",
        "state",
        "exitcode",
        "submit",
        "eligible",
        "start",
        "end",
        "elapsed",
        "suspended",
        "nodelist",
        "allocnodes",
        "alloccpus",
    ],
    &[
        "jobid",
        "jobname",
        "state",
        "exitcode",
        "submit",
        "start",
        "end",
        "elapsed",
        "nodelist",
        "allocnodes",
        "alloccpus",
    ],
];
/// Columns that only `sacct` has.
const OF_SLURM: &[&str] =
    &["elapsed", "elapsedraw", "nodelist", "alloccpus", "exitcode", "partition", "submit", "jobname"];

/// How the rows are written.
#[derive(Debug)]
pub(super) enum Form {
    /// Under a header, with a delimiter.
    Header(Header),
    /// Under names and dashes, each column with its width in characters.
    Aligned { names: Vec<String>, places: Vec<Range<usize>> },
    /// Without a header, with the columns of a documented command.
    WithoutHeader(&'static [&'static str]),
}

/// Returns whether a log with this beginning is output of `sacct` in rows, readable or not.
pub(super) fn is_one(beginning: &[u8]) -> bool {
    Form::of(beginning).is_some() || without_header(beginning).is_some()
}

/// Returns whether a log with this beginning is what `sacct --yaml` prints.
pub(super) fn is_yaml(beginning: &[u8]) -> bool {
    let text = String::from_utf8_lossy(beginning);
    let is_yaml = text.starts_with("%YAML") || text.starts_with("---");
    is_yaml && ["jobs:", "allocation_nodes:", "association:"].into_iter().all(|key| text.contains(key))
}

/// Returns the fields of the first row if rows have no header: a job, and a state in one of them.
fn without_header(beginning: &[u8]) -> Option<Fields> {
    let text = String::from_utf8_lossy(beginning);
    let line = text.lines().next()?;
    let mut fields = Fields::default();
    fields.split(line, '|');
    let is_state = |text: &str| text.bytes().all(|byte| !byte.is_ascii_lowercase()) && text.len() > 5;
    let has_state = (1..fields.len()).any(|at| {
        let word = fields.get(at).split(' ').next().unwrap_or_default();
        is_state(word) && word.bytes().any(|byte| byte.is_ascii_uppercase()) && state(word).is_ok()
    });
    (fields.len() > 2 && JobId::of(fields.get(0)).is_some() && has_state).then_some(fields)
}

impl Form {
    /// Returns the form of the rows of a log with this beginning; `None` if it does not name its columns.
    pub(super) fn of(beginning: &[u8]) -> Option<Form> {
        let header = Header::find(beginning, &["jobid"])
            .or_else(|| Header::find(beginning, &["jobidraw"]))
            .filter(|header| header.place(&["state"]).is_some() || header.place(&["start"]).is_some())
            .filter(|header| header.place(OF_SLURM).is_some() || is_parsable(beginning));
        header.map(Form::Header).or_else(|| Form::aligned(beginning)).or_else(|| {
            let fields = without_header(beginning)?;
            let of = |name: &str, columns: &[&str]| {
                columns.iter().position(|column| *column == name).map_or("", |at| fields.get(at))
            };
            let fits = |columns: &&&[&str]| {
                // `--parsable` ends each row with a bar.
                let count = if fields.get(fields.len() - 1).is_empty() { fields.len() - 1 } else { fields.len() };
                let are_times = ["submit", "start", "end"].into_iter().all(|name| {
                    let text = of(name, columns);
                    !is_given(text) || time(text, None).is_some()
                });
                count == columns.len() && are_times && state(of("state", columns)).is_ok()
            };
            COLUMNS.iter().find(fits).copied().map(Form::WithoutHeader)
        })
    }

    /// Finds names of columns with dashes below.
    fn aligned(beginning: &[u8]) -> Option<Form> {
        let text = String::from_utf8_lossy(beginning);
        let all: Vec<&str> = text.lines().take(50).collect();
        let found = all.windows(2).find(|pair| {
            let is_ruled =
                pair[1].starts_with("---") && pair[1].trim_end().bytes().all(|byte| matches!(byte, b'-' | b' '));
            let has_id = pair[0].split_whitespace().any(|name| matches!(name, "JobID" | "JobIDRaw"));
            is_ruled && has_id
        })?;
        let mut places = Vec::new();
        let mut at = 0;
        for dashes in found[1].trim_end().split(' ') {
            places.push(at..at + dashes.len());
            at += dashes.len() + 1;
        }
        let names = places.iter().map(|place| cut(found[0], place).to_ascii_lowercase()).collect();
        Some(Form::Aligned { names, places })
    }

    /// Returns the position of the first of these columns that there are.
    pub(super) fn place(&self, names: &[&str]) -> Option<usize> {
        match self {
            Form::Header(header) => header.place(names),
            Form::Aligned { names: own, .. } => {
                names.iter().find_map(|name| own.iter().position(|column| column == name))
            }
            Form::WithoutHeader(columns) => {
                names.iter().find_map(|name| columns.iter().position(|column| column == name))
            }
        }
    }

    /// Calls `take` with the line and the job of each row.
    ///
    /// # Errors
    /// If reading fails.
    pub(super) fn rows(
        &self,
        window: Window<'_>,
        name: &str,
        collector: &mut Collector,
        mut take: impl FnMut(&mut Collector, u64, &Job<'_>),
    ) -> Result<(), TraceError> {
        let columns = Columns::of(self);
        if let Form::Header(header) = self {
            return header.rows(window, name, collector, |collector, line, fields| {
                take(collector, line, &columns.job(fields));
            });
        }
        let mut fields = Fields::default();
        let mut is_begun = matches!(self, Form::WithoutHeader(_));
        let mut are_cut = false;
        lines::each(window, name, collector, |collector, line, text, _| {
            let is_dashes = text.starts_with("---");
            if !is_begun || is_dashes {
                is_begun |= is_dashes;
                return Ok(());
            }
            match self {
                Form::Aligned { places, .. } => {
                    fields.clear();
                    for place in places {
                        fields.push(cut(text, place));
                    }
                }
                _ => fields.split(text, '|'),
            }
            let job = columns.job(&fields);
            are_cut |= matches!(self, Form::Aligned { .. }) && (job.name.ends_with('+') || job.id.ends_with('+'));
            take(collector, line, &job);
            Ok(())
        })?;
        if are_cut {
            collector
                .issues
                .note(format!("Names are cut off, so that different ones may seem the same: {}.", super::CURE));
        }
        Ok(())
    }
}

/// Returns the characters of a line in a column, without blanks around them.
fn cut<'a>(line: &'a str, place: &Range<usize>) -> &'a str {
    let byte = |character: usize| line.char_indices().nth(character).map_or(line.len(), |(at, _)| at);
    let (from, to) = if line.is_ascii() {
        (place.start.min(line.len()), place.end.min(line.len()))
    } else {
        (byte(place.start), byte(place.end))
    };
    line[from..to].trim()
}

/// Returns whether the first line has the delimiter of `--parsable`.
fn is_parsable(beginning: &[u8]) -> bool {
    beginning.split(|byte| *byte == b'\n').next().is_some_and(|line| line.contains(&b'|'))
}

/// Where the columns of jobs are.
struct Columns {
    id: Option<usize>,
    raw_id: Option<usize>,
    name: Option<usize>,
    command: Option<usize>,
    state: Option<usize>,
    exit: Option<usize>,
    submit: Option<usize>,
    eligible: Option<usize>,
    start: Option<usize>,
    end: Option<usize>,
    elapsed: Option<usize>,
    suspended: Option<usize>,
    nodes: Option<usize>,
    node_count: Option<usize>,
    cpus: Option<usize>,
}

impl Columns {
    fn of(form: &Form) -> Columns {
        let place = |names: &[&str]| form.place(names);
        Columns {
            id: place(&["jobid", "jobidraw"]),
            raw_id: place(&["jobidraw"]),
            name: place(&["jobname"]),
            command: place(&["submitline"]),
            state: place(&["state"]),
            exit: place(&["exitcode"]),
            submit: place(&["submit"]),
            eligible: place(&["eligible"]),
            start: place(&["start"]),
            end: place(&["end"]),
            elapsed: place(&["elapsed", "elapsedraw"]),
            suspended: place(&["suspended"]),
            nodes: place(&["nodelist"]),
            node_count: place(&["allocnodes", "nnodes"]),
            cpus: place(&["alloccpus", "ncpus", "reqcpus"]),
        }
    }

    fn job<'f>(&self, fields: &'f Fields) -> Job<'f> {
        let text = |place: Option<usize>| Cow::Borrowed(place.map_or("", |at| fields.get(at)));
        let id = text(self.id);
        Job {
            id: if JobId::of(&id).is_some() { id } else { text(self.raw_id) },
            name: text(self.name),
            command: text(self.command),
            state: text(self.state),
            exit: text(self.exit),
            submit: text(self.submit),
            eligible: text(self.eligible),
            start: self.start.map(|at| Cow::Borrowed(fields.get(at))),
            end: text(self.end),
            elapsed: text(self.elapsed),
            suspended: text(self.suspended),
            nodes: text(self.nodes),
            node_count: text(self.node_count),
            cpus: text(self.cpus),
        }
    }
}
