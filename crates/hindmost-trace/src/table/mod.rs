//! Reads tables of tasks: CSV, TSV, fields separated by bars or semicolons, and JSON lines, of objects or of arrays under one of names.
//!
//! A row is an attempt. The columns are those that [`Columns`] names, or those with usual names. Only start and end of an
//! attempt, or one of them and its duration, are needed.
//!
//! | column | if it is missing |
//! | --- | --- |
//! | job | all rows are of one job |
//! | phase | all tasks of a job are compared with each other |
//! | task | each row is a task of its own |
//! | node | the test for slow nodes is left out |
//! | start, end, duration | one of them follows from the others |
//! | submitted | attempts could start when they did |
//! | state | attempts with an end succeeded, as do those with an unknown state that [`States`] does not name |
//! | input, attempt, slots, speculative, cause | not known; one slot |
//!
//! If a table has jobs but neither phases nor tasks, and each of its first rows has a job of its own, then a row's job is
//! its task: all rows are of one job. If the column of tasks names kinds of tasks (`kinds.rs`), it is that of phases.
//!
//! **Times** are numbers or dates as in ISO 8601. The unit of a number follows from the column's name (`start_ms`), or
//! from `--columns start=NAME:ms`, or else from its size: below 10¹¹ seconds, below 10¹⁴ milliseconds, below 10¹⁷
//! microseconds, and otherwise nanoseconds. Durations without a unit are in seconds; `1:02:03` and `1h 2m 3s` are read,
//! too. A date without a zone counts as UTC.

pub(crate) mod columns;
mod json;
mod kinds;
mod presets;
mod states;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::io;

pub use columns::Columns;
use columns::Wrong;
pub(crate) use columns::{Meaning, Places};
use kinds::Kinds;
use presets::{Rule, SENSORS, Said, Tool, is_sensor};
pub use states::States;

use crate::error::TraceError;
use crate::reading::relined::Relined;
use crate::reading::warnings::names;
use crate::reading::window::Window;
use crate::recording::Ended;
use crate::tasks::delimited::{Fields, Joined, delimiter, may_be_quoted};
use crate::tasks::lines;
use crate::tasks::row::{LastState, Row, UnknownState};
use crate::tasks::units::{Unit, bytes, duration, is_given, no_time, number, time};
use crate::tasks::{Collector, Rules};

/// Rows from which the reader sees whether jobs are tasks.
const LOOKED_AT_ROWS: usize = 200;
/// Fewer rows with jobs of their own do not make jobs tasks.
const FEWEST_ROWS: usize = 3;
/// The year 2000, in seconds since 1970. Later times are none of a clock that begins with the log.
const YEAR_2000: f64 = 946_684_800.0;
/// The most columns that an error names.
const MOST_NAMED: usize = 20;

/// Returns whether a log with this beginning is a table with the columns that are needed, or with times in columns whose names say nothing.
pub(crate) fn is_one(beginning: &[u8]) -> bool {
    let text = String::from_utf8_lossy(beginning);
    let trimmed = text.trim_start();
    if trimmed.starts_with(['{', '[']) {
        let header = names_in_array(text.as_bytes()).or_else(|| first_object(trimmed));
        return header.is_some_and(|keys| has_needed(&keys, &Columns::default()));
    }
    let Some((header, delimiter)) = header_of(trimmed) else { return false };
    let mut fields = Fields::default();
    fields.split(header, delimiter);
    let columns: Vec<String> = (0..fields.len()).map(|at| fields.get(at).to_owned()).collect();
    has_needed(&columns, &Columns::default()) || has_times(&columns, trimmed, delimiter)
}

/// Returns whether the row under a header has at least two times, so that the user must only say which columns they are.
fn has_times(header: &[String], text: &str, delimiter: char) -> bool {
    // Any number may be a time, so only times since 1970 count.
    let is_time = |field: &str| time(field, None).is_some_and(|at| at > YEAR_2000);
    let Some(row) = text.lines().filter(|line| !is_comment(line)).nth(1) else { return false };
    let mut fields = Fields::default();
    fields.split(row, delimiter);
    let times = (0..fields.len()).filter(|at| is_time(fields.get(*at))).count();
    times >= 2 && fields.len() == header.len() && !header.iter().any(|name| name.is_empty() || number(name).is_some())
}

fn has_needed(header: &[String], columns: &Columns) -> bool {
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    Places::find(&header, columns).is_ok_and(|places| places.missing().is_none())
}

/// Returns the first line that is no comment, and its delimiter.
fn header_of(text: &str) -> Option<(&str, char)> {
    let line = text.lines().find(|line| !is_comment(line))?;
    let line = line.trim_start_matches('#');
    Some((line, delimiter(line)?))
}

/// Returns whether a line before the first row is none of the table's: it is blank, a comment or a rule.
fn is_comment(line: &str) -> bool {
    let text = line.trim();
    // A header may begin with this sign, too.
    text.is_empty() || text.starts_with('#') && delimiter(text).is_none() || is_rule(line)
}

/// Returns whether a line only rules off the header or the rows, as databases and Markdown do: `|---|:--:|`, `----+----`, `+----+----+`.
fn is_rule(line: &str) -> bool {
    line.bytes().all(|byte| b"-+|: ".contains(&byte)) && line.contains("--")
}

/// Returns the names in the array that is the first line of a text, if that is one of texts.
fn names_in_array(held: &[u8]) -> Option<Vec<String>> {
    let mut lines = held.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty() && *line != b"[")?;
    let names: Vec<String> = serde_json::from_slice(first.strip_suffix(b",").unwrap_or(first)).ok()?;
    (!names.is_empty()).then(|| names.iter().map(|name| name.trim().to_owned()).collect())
}

/// Returns the keys of the first object of a text, with those of the objects that follow it on its first lines.
fn first_object(text: &str) -> Option<Vec<String>> {
    let mut window = Window::new(crate::reading::compression::Plain::new(text.as_bytes()).ok()?);
    window.hold(text.len()).ok()?;
    enter(&mut window, &Columns::default()).ok()?;
    first_keys(window.held())
}

/// Makes each object that is a row a line: the objects of the text, or, of a text that is one object, those of an array within it,
/// as in the answers of REST interfaces. Returns the keys that lead to this array.
///
/// # Errors
/// If the text is one object with arrays of objects that are no rows; has the keys of the first of these.
fn enter(window: &mut Window<'_>, columns: &Columns) -> Result<Option<String>, Vec<String>> {
    let held = window.held();
    let arrays = json::arrays(held);
    let keys = |at: usize| {
        let mut lines = Vec::new();
        Relined::of_array().rewrite(&held[at..], &mut lines);
        first_keys(&lines).unwrap_or_default()
    };
    if let Some((path, at)) = arrays.iter().find(|(_, at)| has_needed(&keys(*at), columns)) {
        let path = path.clone();
        window.only_array(*at);
        return Ok(Some(path));
    }
    if let Some((_, at)) = arrays.first() {
        return Err(keys(*at));
    }
    window.one_object_a_line();
    Ok(None)
}

fn first_keys(held: &[u8]) -> Option<Vec<String>> {
    let mut all: Vec<String> = Vec::new();
    let objects = held.split(|byte| *byte == b'\n').filter(|line| line.trim_ascii_start().starts_with(b"{"));
    for keys in objects.take(LOOKED_AT_ROWS).filter_map(json::keys) {
        // Later rows may have keys that the first one lacks.
        all.extend(keys.into_iter().filter(|key| !all.contains(key)).collect::<Vec<_>>());
    }
    let other = |key: &String| matches!(key.as_str(), "Event" | "hindmost_journal" | "traceEvents");
    (!all.is_empty() && !all.iter().any(other)).then_some(all)
}

/// Reads a table.
///
/// # Errors
/// If reading fails, or a column that is needed is missing.
pub(crate) fn read(
    mut window: Window<'_>,
    name: &str,
    columns: &Columns,
    collector: &mut Collector,
) -> Result<(), TraceError> {
    let failed = |source: io::Error| TraceError::Read { name: name.to_owned(), position: 0, source };
    collector.issues.can_name_states = true;
    collector.rules = Rules { same_in_every_job: true, ..Rules::default() };
    if window.hold(1).map_err(failed)?.trim_ascii_start().starts_with(b"{")
        || window.held().trim_ascii_start().starts_with(b"[")
    {
        return read_objects(window, name, columns, collector);
    }
    let beginning = String::from_utf8_lossy(window.held()).into_owned();
    let Some((header, delimiter)) = header_of(&beginning) else {
        return Err(no_column(name, "the start of an attempt", &[]));
    };
    let mut fields = Fields::default();
    fields.split(header, delimiter);
    let header_row = header.to_owned();
    let header: Vec<String> = (0..fields.len()).map(|at| fields.get(at).to_owned()).collect();
    let places = places(name, &header, columns)?;
    places.add_notes(collector);
    let rows = beginning.lines().filter(|line| !is_comment(line)).skip(1).take(LOOKED_AT_ROWS);
    let mut first = First::default();
    for row in rows {
        fields.split(row, delimiter);
        first.add(|at| fields.get(at), fields.len() >= header.len(), (&places, columns.states()));
        let is_blank = |at: usize| fields.get(at).is_empty();
        first.ending_in_blanks +=
            usize::from(fields.len() > header.len() && (header.len()..fields.len()).all(is_blank));
        first.without_last += usize::from(fields.len() == header.len() && is_blank(header.len() - 1));
    }
    // The last of these rows may be cut.
    first.jobs.pop();
    if let Some(row) = beginning.lines().filter(|line| !is_comment(line)).nth(1) {
        fields.split(row, delimiter);
        note_unit_of_durations(&places, |at| fields.get(at), collector);
    }
    // Some tools write a delimiter after the last field, too. If the last column is empty in some rows, an empty field beyond it may also
    // come from a delimiter within another field, which moves all that follow.
    let may_end_in_delimiter = 2 * first.ending_in_blanks > first.rows || first.without_last == 0;
    let mut table = first.settle(places, columns, collector);

    let mut joined = Joined::default();
    let mut begun = false;
    let width = header.len();
    lines::each(window, name, collector, |collector, line, text, terminated| {
        if !begun && is_comment(text) || is_rule(text) {
            return Ok(());
        }
        let Some(row) = joined.add(text, delimiter) else { return Ok(()) };
        if row.trim_start_matches('#') == header_row {
            if begun {
                collector.issues.left_out(line, "repeated headers");
            }
            begun = true;
            return Ok(());
        }
        fields.split(row, delimiter);
        if fields.len() < width && !terminated {
            collector.issues.cut(format!("in line {line}"));
        } else if fields.len() > width + usize::from(may_end_in_delimiter)
            || (width..fields.len()).any(|at| !fields.get(at).is_empty())
        {
            // It is not known which of the fields belong together.
            collector.issues.unreadable(line, &too_many(fields.len(), width, delimiter));
        } else {
            table.take(&|at| fields.get(at), collector, line);
        }
        Ok(())
    })?;
    if joined.is_open() {
        collector.issues.cut("within quotes that are not closed".to_owned());
    }
    Ok(())
}

/// Says what is wrong with a row of more fields than the header has.
fn too_many(fields: usize, width: usize, delimiter: char) -> String {
    let quotes = if may_be_quoted(delimiter) { "; a field that contains it must be in quotes" } else { "" };
    format!("it has {fields} fields, separated by {delimiter:?}, and the header has {width}{quotes}")
}

fn read_objects(
    mut window: Window<'_>,
    name: &str,
    columns: &Columns,
    collector: &mut Collector,
) -> Result<(), TraceError> {
    let names = names_in_array(window.held());
    let are_arrays = names.is_some();
    let header = if let Some(names) = names {
        names
    } else {
        match enter(&mut window, columns) {
            Ok(path) => {
                if let Some(path) = path {
                    collector.issues.note(format!("The rows are the objects within {path:?}."));
                }
                first_keys(window.held()).unwrap_or_default()
            }
            Err(keys) => keys,
        }
    };
    let is_header = |values: &[String]| are_arrays && values == header;
    let places = places(name, &header, columns)?;
    let mut objects = json::Objects::new(&header);
    let mut first = First::default();
    for row in String::from_utf8_lossy(window.held()).lines().take(LOOKED_AT_ROWS) {
        if let Ok(values) = objects.read(row.trim_end_matches(',')) {
            if is_header(values) {
                continue;
            }
            if first.rows == 0 {
                note_unit_of_durations(&places, |at| &values[at], collector);
            }
            first.add(|at| &values[at], true, (&places, columns.states()));
        }
    }
    let mut table = first.settle(places, columns, collector);
    lines::each(window, name, collector, |collector, line, text, terminated| {
        match objects.read(text.trim().trim_end_matches(',')) {
            Ok(values) if is_header(values) => {}
            Ok(values) => table.take(&|at| &values[at], collector, line),
            // The brackets of an array.
            Err(_) if matches!(text.trim(), "[" | "]" | "[]") => {}
            Err(_) if !terminated => collector.issues.cut(format!("in line {line}")),
            Err(why) => collector.issues.unreadable(line, &why),
        }
        Ok(())
    })
}

fn places(name: &str, header: &[String], columns: &Columns) -> Result<Places, TraceError> {
    let texts: Vec<&str> = header.iter().map(String::as_str).collect();
    let places = Places::find(&texts, columns).map_err(|wrong| match wrong {
        Wrong::Missing(missing) => no_column(name, &format!("{missing:?}"), header),
        Wrong::StartIsEnd(column) => TraceError::StartIsEnd { name: name.to_owned(), column },
    })?;
    match places.missing() {
        Some(missing) => Err(no_column(name, missing, header)),
        None => Ok(places),
    }
}

fn no_column(name: &str, missing: &str, header: &[String]) -> TraceError {
    let named: Vec<String> = header.iter().take(MOST_NAMED).map(|column| format!("{column:?}")).collect();
    let columns = if named.is_empty() { "not known".to_owned() } else { names(&named, header.len() as u64) };
    // What follows a colon is part of the name unless it is a unit.
    let units = if missing.contains(':') { " (units after a colon: s, ms, us, ns, min, h)" } else { "" };
    TraceError::NoColumn { name: name.to_owned(), missing: format!("{missing}{units}"), columns }
}

/// Makes the column of jobs one of tasks if each row has a job of its own and there are neither phases nor tasks.
fn jobs_are_tasks(places: &mut Places, mut jobs: Vec<String>, collector: &mut Collector) {
    let rows = jobs.len();
    jobs.sort_unstable();
    jobs.dedup();
    let others = places.of(Meaning::Task).or(places.of(Meaning::Phase));
    if rows >= FEWEST_ROWS && jobs.len() == rows && others.is_none() {
        places.turn(Meaning::Job, Meaning::Task);
        collector
            .issues
            .note("Each row has a job of its own: all rows together were read as one job with a task a row.");
    }
}

/// Notes that durations are read in seconds, if the times beside them have a smaller unit, by the name of their column or by the
/// size of the first one.
fn note_unit_of_durations<'a>(places: &Places, field: impl Fn(usize) -> &'a str, collector: &mut Collector) {
    let beside = match [Meaning::Start, Meaning::End].map(|meaning| places.of(meaning)) {
        [Some(at), None] => (at, places.unit(Meaning::Start)),
        [None, Some(at)] => (at, places.unit(Meaning::End)),
        // Where both are given, durations do not matter.
        _ => return,
    };
    let (Some(duration), None) = (places.name(Meaning::Duration), places.unit(Meaning::Duration)) else { return };
    if places.of(Meaning::Duration).and_then(|at| number(field(at))).is_none() {
        return;
    }
    let unit = number(field(beside.0)).map(|time| beside.1.unwrap_or_else(|| Unit::by_size(time)));
    if let Some(unit) = unit.and_then(Unit::if_below_a_second) {
        collector.issues.note(format!(
            "The durations in the column {duration:?} were read in seconds, although the times beside them are in {unit}; if \
             the durations are, too, say so with --columns duration={duration}:{unit}."
        ));
    }
}

/// What the first rows of a table show.
#[derive(Default)]
struct First {
    rows: usize,
    /// Rows that end in empty fields beyond those of the header.
    ending_in_blanks: usize,
    /// Rows whose last field is empty.
    without_last: usize,
    jobs: Vec<String>,
    kinds: Kinds,
    have_starts: bool,
}

impl First {
    fn add<'a>(&mut self, field: impl Fn(usize) -> &'a str, is_whole: bool, (places, states): (&Places, &States)) {
        self.rows += 1;
        self.jobs.extend(places.of(Meaning::Job).map(|at| field(at).to_owned()));
        self.have_starts |= places.of(Meaning::Start).is_some_and(|at| is_given(field(at)));
        if is_whole {
            self.kinds.add(field, (places, states));
        }
    }

    /// Returns the table's columns, once the rows have shown what some of them mean.
    fn settle<'a>(self, mut places: Places, columns: &'a Columns, collector: &mut Collector) -> Table<'a> {
        jobs_are_tasks(&mut places, self.jobs, collector);
        // Where a tool's columns name both, tasks are no kinds.
        let is_known = places.tool.is_some() && places.of(Meaning::Phase) != places.of(Meaning::Task);
        self.kinds.settle(&mut places, is_known || columns.names(Meaning::Task), collector);
        // Parsl tries a task again only if it failed.
        collector.rules.retried_have_failed = places.tool == Some(Tool::Parsl);
        if let Some(tool) = places.tool {
            tool.note_what_is_missing(&places, (is_known, self.have_starts), collector);
        }
        Table { places, states: columns.states(), last_state: LastState::default(), have_starts: self.have_starts }
    }
}

/// A table whose columns are known.
struct Table<'a> {
    places: Places,
    states: &'a States,
    last_state: LastState,
    /// Whether the first rows have starts.
    have_starts: bool,
}

impl Table<'_> {
    /// Takes an attempt from the fields of a row.
    fn take<'a>(&mut self, field: &dyn Fn(usize) -> &'a str, collector: &mut Collector, line: u64) {
        let (places, states) = (&self.places, self.states);
        let text = |meaning: Meaning| places.of(meaning).map_or("", field);
        let at = |meaning: Meaning| time(text(meaning), places.unit(meaning)).filter(|at| *at >= 0.0);
        let seconds = places
            .of(Meaning::Duration)
            .and_then(|_| duration(text(Meaning::Duration), places.unit(Meaning::Duration)));
        let (mut start, mut end, mut submitted) = (at(Meaning::Start), at(Meaning::End), at(Meaning::Submitted));
        // A time of 0 is how some tools write that there is none, unless the log's clock begins at 0.
        if let (Some(began), Some(0.0)) = (start, end)
            && began > 0.0
        {
            end = None;
        }
        let is_since_1970 = [start, end].into_iter().flatten().any(|at| at > YEAR_2000);
        for time in [&mut start, &mut submitted] {
            *time = time.filter(|at| *at > 0.0 || !is_since_1970);
        }
        start = start.or_else(|| Some(end? - seconds?));
        end = end.or_else(|| Some(start? + seconds?));
        let word = text(Meaning::State);
        let has_state = places.of(Meaning::State).is_some() && !word.is_empty();
        collector.issues.with_state += u64::from(has_state);
        let cause = text(Meaning::Cause);
        let rule = places.tool.filter(|_| !states.names(word)).map_or(Rule::Usual, |tool| {
            let runner = places.runner.map_or("", field);
            if tool == Tool::Airflow && is_sensor(runner) {
                collector.issues.note(SENSORS);
            }
            tool.rule(&Said {
                state: word,
                node: places.of(Meaning::Node).map(field),
                attempt: text(Meaning::Attempt),
                cause,
                runner,
                submitted,
                start,
                end,
                others_have_starts: self.have_starts,
            })
        });
        let ended = match self.last_state.of(word, |word| states.ended(word)) {
            _ if let Rule::NoAttempt(what) = rule => return collector.issues.left_out(line, what),
            _ if let Rule::Ended(ended) = rule => ended,
            _ if !has_state => end.map(|_| by_cause(cause, (places, states), collector)),
            Ok(ended) => ended,
            Err(UnknownState) => {
                collector.issues.unknown_state(line, word);
                Some(Ended::Succeeded)
            }
        };
        // What can't be read would have been the start or the end.
        let wrong = |meaning: Meaning| is_given(text(meaning)) && !is_time(text(meaning), meaning, places);
        if start.is_none() && end.is_none() || ended.is_none() && word.is_empty() {
            let missing = [(Meaning::Start, start), (Meaning::End, end), (Meaning::Duration, start.and(end))];
            let first = missing.into_iter().find(|(meaning, time)| time.is_none() && wrong(*meaning));
            match (first, ended) {
                (Some((meaning, _)), _) => {
                    return collector
                        .issues
                        .unreadable(line, &no_time(text(meaning), places.name(meaning).unwrap_or_default()));
                }
                (None, None) if start.is_none() => {
                    return collector.issues.left_out(line, "tasks that never started");
                }
                (None, Some(_)) => return collector.issues.unreadable(line, "it has no time"),
                (None, None) => {}
            }
        } else if ended.is_some() && (start.is_none() || end.is_none()) {
            for meaning in [Meaning::Start, Meaning::End].into_iter().filter(|meaning| wrong(*meaning)) {
                let column = places.name(meaning).unwrap_or_default();
                collector
                    .issues
                    .unread_times
                    .add(|| format!("{:?} in column {column:?} of line {line}", text(meaning)));
            }
        }
        let job = match (places.before_job.map_or("", field), text(Meaning::Job)) {
            ("", job) => Cow::Borrowed(job),
            (before, job) => Cow::Owned(format!("{before} {job}")),
        };
        collector.add(
            line,
            &Row {
                application: &job,
                job: "",
                phase: text(Meaning::Phase),
                work: "",
                task: text(Meaning::Task),
                node: text(Meaning::Node),
                submitted,
                start,
                end,
                state: ended,
                cause: if cause.is_empty() { word } else { cause },
                bytes: bytes(text(Meaning::Input)),
                attempt: number(text(Meaning::Attempt)).filter(|n| (0.0..1e9).contains(n)).map(|n| n as u32),
                slots: number(text(Meaning::Slots)),
                // Airflow runs no copies.
                speculative: match places.tool {
                    Some(Tool::Airflow) => Some(false),
                    _ => is_true(text(Meaning::Speculative)),
                },
            },
        );
    }
}

/// Returns how an attempt ended whose row has no state: it failed if a cause is given, unless this is a word for another end.
fn by_cause(cause: &str, (places, states): (&Places, &States), collector: &mut Collector) -> Ended {
    if !is_given(cause) {
        return Ended::Succeeded;
    }
    let ended = states.ended(cause).unwrap_or(Some(Ended::Failed)).unwrap_or(Ended::Succeeded);
    if let (Some(column), true) = (places.name(Meaning::Cause), ended != Ended::Succeeded && places.tool.is_none()) {
        collector.issues.note(format!(
            "No state says how these attempts ended: those with a text in the column {column:?} were read as failed."
        ));
    }
    ended
}

/// Returns whether a text is a time, or a duration in the column of durations.
fn is_time(text: &str, meaning: Meaning, places: &Places) -> bool {
    match meaning {
        Meaning::Duration => duration(text, places.unit(meaning)).is_some(),
        _ => time(text, places.unit(meaning)).is_some_and(|at| at >= 0.0),
    }
}

fn is_true(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "t" | "y" => Some(true),
        "false" | "0" | "no" | "f" | "n" => Some(false),
        _ => None,
    }
}
