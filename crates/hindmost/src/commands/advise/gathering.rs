//! Reads logs, several at a time. Pages and texts of a log are written as soon as it is read; only sums and what the tables need
//! stay in memory.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use hindmost_core::metrics::{Diagnosis, DiagnosisTotal};
use hindmost_report::html::{ApplicationPage, ApplicationRow, UnreadLog, application_page};
use hindmost_trace::log::{self, Log};
use hindmost_trace::replay::Application;
use hindmost_trace::table::Columns;
use hindmost_trace::{Longest, Replays, Wanted};
use serde::Serialize;

use super::side_by_side::{cores, each};
use super::spool::{KeptLog, Spool};
use super::texts::{REPORT, of_one};
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;

/// Width of the texts that are written to files.
const WIDTH: u16 = 100;

/// An application that is in the logs again: with the same content, or with the same id,
/// name and begin. It counts once, where more of it is.
#[derive(Serialize)]
pub struct Repeated {
    /// Path of the log that has it again.
    pub log: String,
    /// Its number within this log, counted from 0.
    pub application: u32,
    /// Its id, if the log has one.
    pub id: Option<String>,
    /// Path of the log in which it counts.
    pub first_log: String,
    /// Its number within that log.
    pub first_application: u32,
    /// Whether the content differs, as that of an earlier copy of the log.
    pub differs: bool,
}

/// Identifies the content of an application: its id, its times and everything else that is found out about it.
type Content = u64;

fn content(one: &Diagnosis) -> Outcome<Content> {
    // The number within the log says nothing about the application. The settings of a job of Hadoop are in a file that may be beside one
    // copy of the log only.
    let mut value = serde_json::to_value(one).map_err(Failure::work)?;
    value["application"] = serde_json::Value::Null;
    value["settings"] = serde_json::Value::Null;
    let mut hasher = DefaultHasher::new();
    value.to_string().hash(&mut hasher);
    Ok(hasher.finish())
}

/// An application that is shown.
pub struct Shown {
    /// Path of its log.
    pub log: String,
    /// Warnings about the log; empty if it has several applications.
    pub warnings: Vec<String>,
    /// The application.
    pub diagnosis: Diagnosis,
    /// Numbers of the log and of the application.
    pub place: (usize, usize),
    /// What a forecast needs; `None` if there will be none.
    pub application: Option<Application>,
    content: Content,
}

impl Shown {
    /// Longer applications come first, then those that were named earlier.
    fn order(&self, other: &Shown) -> Ordering {
        let wall = |one: &Shown| one.diagnosis.wall_time.as_ref().map_or(0.0, |time| time.seconds);
        wall(other).total_cmp(&wall(self)).then(self.place.cmp(&other.place))
    }
}

/// The longest applications of all that have been read, longest first.
struct LongestOfAll {
    /// How many are kept, and of how many tasks there may be replays.
    longest: Longest,
    applications: Mutex<Vec<Shown>>,
}

impl LongestOfAll {
    fn add(&self, more: impl Iterator<Item = Shown>) {
        let mut all = self.applications.lock().unwrap_or_else(PoisonError::into_inner);
        let cut = |all: &mut Vec<Shown>| {
            all.sort_by(Shown::order);
            // Of those with the same content, the one that was named first stays.
            let mut seen = HashSet::new();
            all.retain(|one| seen.insert(one.content));
            all.truncate(self.longest.applications);
            if let Some(together) = self.longest.together {
                let mut tasks = 0;
                for one in all.iter_mut().filter(|one| one.application.is_some()) {
                    tasks += one.diagnosis.tasks;
                    one.application.take_if(|_| tasks > together);
                }
            }
        };
        for one in more {
            all.push(one);
            if all.len() > 2 * self.longest.applications {
                cut(&mut all);
            }
        }
        cut(&mut all);
    }
}

/// Everything that was read.
pub struct Gathered {
    /// All applications together.
    pub total: DiagnosisTotal,
    /// Number of logs that were read.
    pub logs: usize,
    /// A row for each application, in the order of the logs.
    pub rows: Vec<ApplicationRow>,
    /// The longest applications, longest first.
    pub longest: Vec<Shown>,
    /// Warnings about logs with several applications, by log.
    pub warnings: Vec<(String, Vec<String>)>,
    /// Applications that are in the logs again.
    pub repeated: Vec<Repeated>,
    /// Logs that can't be read.
    pub unread: Vec<UnreadLog>,
    /// What is said about the logs, as JSON.
    pub spool: Spool,
    /// Where that is, in the order of the logs, with the number of each log.
    pub order: Vec<(usize, KeptLog)>,
}

/// What distinguishes an application from others.
struct Identity {
    content: Content,
    /// Its number within its log.
    application: u32,
    /// Its place among those of its log.
    number: usize,
    id: Option<String>,
    name: Option<String>,
    begin: Option<f64>,
    /// Tasks that finished, and the wall time: how much of the application its log has.
    extent: (u64, f64),
}

impl Identity {
    /// What is equal for the same application: the id, the name and the begin, or the content if it has no id.
    fn key(&self) -> (Option<(&str, u64)>, Option<&str>, Content) {
        let named = self.id.as_deref().zip(self.begin.map(f64::to_bits));
        (named, self.name.as_deref(), if named.is_some() { 0 } else { self.content })
    }

    fn has_more(&self, other: &Identity) -> bool {
        self.extent.0.cmp(&other.extent.0).then(self.extent.1.total_cmp(&other.extent.1)).is_gt()
    }
}

/// What stays in memory of a log.
struct OfLog {
    rows: Vec<ApplicationRow>,
    totals: Vec<DiagnosisTotal>,
    /// What each application is.
    identities: Vec<Identity>,
    /// Path of the log, and its warnings if it has several applications.
    warnings: (String, Vec<String>),
    kept: KeptLog,
}

/// A log that was read, or why it could not be.
type Read = Result<OfLog, UnreadLog>;

/// Reads all logs. Pages and texts are written to the folder. Only the longest applications stay in memory, with what forecasts need if
/// these are `wanted`.
pub fn read(
    logs: &[PathBuf],
    columns: &Columns,
    folder: Option<&Path>,
    (longest, wanted): (Longest, bool),
) -> Outcome<Gathered> {
    let spool = Spool::new().map_err(|error| Failure::work(format!("cannot create a temporary file: {error}")))?;
    let sizes: Vec<u64> = logs.iter().map(|log| size(log).max(1)).collect();
    let whole: f64 = sizes.iter().map(|size| *size as f64).sum();
    // The largest logs first, so that no thread is left with a large one at the end.
    let mut order: Vec<usize> = (0..logs.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(sizes[*at]));
    let bar = Progress::new(1.0, "reading logs");
    let longest = LongestOfAll { longest, applications: Mutex::new(Vec::new()) };
    let read = each(cores(), order.len(), |number| {
        let at = order[number];
        let part = sizes[at] as f64 / whole;
        let wanted = Wanted { replays: replays(&logs[at], (longest.longest, wanted)), ..Wanted::DIAGNOSES };
        let log =
            read_one((&logs[at], columns, wanted), at, folder, &spool, &longest, &|share| bar.advance(share * part));
        (at, log)
    });
    bar.finish(true);
    let mut gathered = Gathered {
        total: DiagnosisTotal::default(),
        logs: 0,
        rows: Vec::new(),
        longest: longest.applications.into_inner().unwrap_or_else(PoisonError::into_inner),
        warnings: Vec::new(),
        repeated: Vec::new(),
        unread: Vec::new(),
        spool,
        order: Vec::new(),
    };
    let found: BTreeMap<usize, Outcome<Read>> = read.into_iter().collect();
    let mut all = Vec::new();
    for (at, log) in found {
        match log? {
            Ok(log) => {
                gathered.logs += 1;
                gathered.order.push((at, log.kept));
                if !log.warnings.1.is_empty() {
                    gathered.warnings.push(log.warnings);
                }
                let applications = log.rows.into_iter().zip(log.totals).zip(log.identities);
                all.extend(applications.map(|((row, total), identity)| (at, row, total, identity)));
            }
            Err(unread) => gathered.unread.push(unread),
        }
    }
    // Where most of each application is, and the first such place.
    let mut most: HashMap<_, (usize, &Identity)> = HashMap::new();
    for (at, .., identity) in &all {
        let place = most.entry(identity.key()).or_insert((*at, identity));
        if identity.has_more(place.1) {
            *place = (*at, identity);
        }
    }
    let counts: Vec<(usize, &Identity)> = all.iter().map(|(.., identity)| most[&identity.key()]).collect();
    let is_counted: Vec<bool> =
        all.iter().zip(&counts).map(|((.., identity), (_, counted))| std::ptr::eq(identity, *counted)).collect();
    let again = all.iter().zip(&counts).zip(&is_counted).filter(|(_, is_counted)| !**is_counted);
    gathered.repeated = again
        .map(|(((at, .., identity), (first, counted)), _)| Repeated {
            log: name(&logs[*at]),
            application: identity.application,
            id: identity.id.clone(),
            first_log: name(&logs[*first]),
            first_application: counted.application,
            differs: identity.content != counted.content,
        })
        .collect();
    let mut left_out = HashSet::new();
    for ((at, row, total, identity), is_counted) in all.into_iter().zip(is_counted) {
        if is_counted {
            gathered.rows.push(row);
            gathered.total.add(&total);
        } else {
            left_out.insert((at, identity.number));
        }
    }
    gathered.longest.retain(|one| !left_out.contains(&one.place));
    Ok(gathered)
}

/// Which applications of a log may be replayed. Forecasts are for logs that are there to be looked at again, not for pipes.
fn replays(log: &Path, (longest, wanted): (Longest, bool)) -> Replays {
    if wanted && (log.is_file() || log.is_dir()) { Replays::Longest(longest) } else { Replays::None }
}

/// Reads one log. `advance` receives the share of the log that was read since it was called last.
fn read_one(
    (path, columns, wanted): (&Path, &Columns, Wanted),
    at: usize,
    folder: Option<&Path>,
    spool: &Spool,
    longest: &LongestOfAll,
    advance: &dyn Fn(f64),
) -> Outcome<Read> {
    let log = name(path);
    let mut shown = 0.0;
    let mut on_progress = |done: u64, total: Option<u64>| {
        if let Some(total) = total.filter(|total| *total > 0) {
            let share = (done as f64 / total as f64).min(1.0);
            advance(share - shown);
            shown = share;
        }
    };
    let read = log::read(path, columns, wanted, Some(&mut on_progress));
    advance(1.0 - shown);
    let mut read = match read {
        Ok(read) => read,
        Err(error) => return Ok(Err(UnreadLog { log, error: error.to_string() })),
    };
    let mut recorded: HashMap<u32, Application> =
        read.take_applications().into_iter().map(|one| (one.number(), one)).collect();
    let Log { summary, diagnoses: applications, .. } = read;
    let warnings = if applications.len() == 1 { &summary.warnings[..] } else { &[] };
    if let Some(folder) = folder {
        write(folder, (path, &log), at, &applications, warnings)?;
    }
    let rows = applications.iter().enumerate().map(|(number, one)| ApplicationRow::of(one, &log, &page(at, number)));
    let rows: Vec<ApplicationRow> = rows.collect();
    let totals = applications.iter().map(DiagnosisTotal::of_one).collect();
    let identities = applications.iter().enumerate().map(|(number, one)| {
        let time = one.wall_time.as_ref();
        Ok(Identity {
            content: content(one)?,
            application: one.application,
            number,
            id: one.id.clone(),
            name: one.name.clone(),
            begin: time.map(|time| time.from),
            extent: (one.tasks, time.map_or(0.0, |time| time.seconds)),
        })
    });
    let identities: Vec<Identity> = identities.collect::<Outcome<_>>()?;
    let (named, counted) = (json(&log)?, json(&summary)?);
    let beginning = spool.keep(&format!("{{\"log\":{named},\"summary\":{counted},\"applications\":["))?;
    let kept = applications.iter().map(|one| Ok(spool.keep(&json(one)?)?)).collect::<Outcome<_>>()?;
    let kept = KeptLog { beginning, applications: kept };
    let warnings = warnings.to_vec();
    let of_several = if applications.len() == 1 { Vec::new() } else { summary.warnings.clone() };
    let shown = |(number, diagnosis): (usize, Diagnosis)| {
        let content = identities[number].content;
        let application = recorded.remove(&diagnosis.application).filter(|_| (longest.longest.is_worth)(&diagnosis));
        Shown { log: log.clone(), warnings: warnings.clone(), diagnosis, place: (at, number), application, content }
    };
    longest.add(applications.into_iter().enumerate().map(shown));
    Ok(Ok(OfLog { rows, totals, identities, warnings: (log.clone(), of_several), kept }))
}

/// Returns a value as JSON.
pub fn json(value: &impl Serialize) -> Outcome<String> {
    serde_json::to_string(value).map_err(Failure::work)
}

/// Name of a log.
fn name(path: &Path) -> String {
    if path == Path::new(log::STANDARD_INPUT) { "standard input".to_owned() } else { path.display().to_string() }
}

/// Name of the page of an application, by the numbers of its log and within it.
fn page(at: usize, number: usize) -> String {
    format!("log-{}-application-{}.html", at + 1, number + 1)
}

/// The text about an application in the text of its log.
pub fn text_of(one: &Shown) -> String {
    of_one(&one.log, &one.diagnosis, &one.warnings, WIDTH)
}

/// Writes the page of an application again, and replaces its part of the text of its log, which was `before`.
pub fn write_again(folder: &Path, one: &Shown, before: &str) -> Outcome {
    let (at, number) = one.place;
    let page = folder.join(page(at, number));
    let content =
        ApplicationPage { diagnosis: &one.diagnosis, log: &one.log, warnings: &one.warnings, index: Some(REPORT) };
    let failed =
        |path: &Path, error: &dyn std::fmt::Display| Failure::work(format!("cannot write {}: {error}", path.display()));
    fs::write(&page, application_page(&content)).map_err(|error| failed(&page, &error))?;
    let text = folder.join(text_file(Path::new(&one.log), at));
    let written = fs::read_to_string(&text).map_err(|error| failed(&text, &error))?;
    fs::write(&text, written.replacen(before, &text_of(one), 1)).map_err(|error| failed(&text, &error))
}

/// Name of the text of a log, by its number.
fn text_file(path: &Path, at: usize) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    format!("{}-{name}.txt", at + 1)
}

/// Writes a page for each application of a log, and a text.
fn write(
    folder: &Path,
    (path, log): (&Path, &str),
    at: usize,
    applications: &[Diagnosis],
    warnings: &[String],
) -> Outcome {
    // The folder is new, and there may be thousands of files, so they are not synced one by one.
    let write = |name: &str, content: &str| {
        let path = folder.join(name);
        let failed = |error| Failure::work(format!("cannot write {}: {error}", path.display()));
        fs::write(&path, content).map_err(failed)
    };
    for (number, one) in applications.iter().enumerate() {
        let content = ApplicationPage { diagnosis: one, log, warnings, index: Some(REPORT) };
        write(&page(at, number), &application_page(&content))?;
    }
    let texts: Vec<String> = applications.iter().map(|one| of_one(log, one, warnings, WIDTH)).collect();
    write(&text_file(path, at), &texts.join("\n"))
}

/// Bytes of a log: of a folder, of all files in it.
fn size(path: &Path) -> u64 {
    let Ok(about) = fs::metadata(path) else { return 0 };
    if !about.is_dir() {
        return about.len();
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| entry.metadata().map_or(0, |about| about.len())).sum()
}
