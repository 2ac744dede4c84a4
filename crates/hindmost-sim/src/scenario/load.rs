//! Loads scenarios from files or by built-in name, and sets values of single keys.

use std::io::Read;
use std::path::{Path, PathBuf};

use hindmost_core::cluster::Placement;
use hindmost_core::estimator::Knowledge;
use hindmost_math::plain::{Quoted, with_plain_numbers};
use hindmost_math::suggest::{did_you_mean, with_nearest_name};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::arrivals::set_load;
use super::check::{check_machines, check_times};
use super::{Scenario, default_order};

/// The reason why a scenario cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The text or a value that was set is not a valid scenario.
    #[error("{origin}: {message}")]
    Invalid {
        /// The source of the text: a file, a built-in name or an option.
        origin: String,
        /// What is wrong, where, and what would be valid.
        message: String,
    },
    /// A value that was set is not valid.
    #[error("{}{option} {}: {message}", origin.as_ref().map_or(String::new(), |origin| format!("{origin}: ")), short(setting))]
    Setting {
        /// The scenario; `None`: the settings of a replay.
        origin: Option<String>,
        /// The option that sets the value: `--set` or `--sweep`.
        option: &'static str,
        /// Key and value, as `KEY=VALUE`.
        setting: String,
        /// What is wrong, and what would be valid.
        message: String,
    },
    /// The file cannot be read.
    #[error("{}: {}", path.display(), unreadable(error))]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// The reason why it cannot be read.
        error: std::io::Error,
    },
    /// There is no built-in scenario or file of that name.
    #[error("there is no scenario {}: neither a file of that name nor a built-in one{near}", Quoted(name))]
    Unknown {
        /// The name that was given.
        name: String,
        /// The end of the message: a similar name or the names of all built-in scenarios.
        near: String,
    },
}

impl ScenarioError {
    /// Returns the error with `--sweep` as the option that sets the wrong value, if it is one of these swept values.
    #[must_use]
    pub fn with_sweep(mut self, swept: &[(String, String)]) -> ScenarioError {
        if let ScenarioError::Setting { option, setting, .. } = &mut self
            && swept.iter().any(|(key, value)| format!("{key}={value}") == *setting)
        {
            *option = "--sweep";
        }
        self
    }
}

/// Number of characters of a value that an error quotes at most.
const QUOTED: usize = 80;

/// Returns the beginning of a text.
fn short(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Says why a file cannot be read, and what to do.
fn unreadable(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file; check the path".to_owned(),
        std::io::ErrorKind::IsADirectory => "this is a folder; name the scenario file in it".to_owned(),
        std::io::ErrorKind::PermissionDenied => "you may not read this file; check its permissions".to_owned(),
        _ => error.to_string(),
    }
}

/// The settings of a replay; the cluster and the jobs are those of the log.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplaySettings {
    /// Order of jobs for policies that are given without an order.
    #[serde(default = "default_order")]
    pub order: String,
    /// Seconds between decisions; `None`: the policy decides after every event.
    #[serde(default)]
    pub slot: Option<f64>,
    /// The progress model: what policies know of running attempts.
    #[serde(default)]
    pub knowledge: Option<Knowledge>,
    /// How a node is chosen among those on which a copy fits; `None`: [`default_placement`](crate::experiment::default_placement).
    #[serde(default)]
    pub placement: Option<Placement>,
    /// Error of estimated remaining times: σ of a log-normal factor of mean 1.
    #[serde(default)]
    pub noise: f64,
    /// γ: price of a slot-second.
    #[serde(default = "papers_gamma")]
    pub gamma: f64,
    /// Number of one-slot machines that replace the log's executors.
    #[serde(default)]
    pub machines: Option<u32>,
}

/// Returns γ of Xu & Lau 2015. With γ = 1 cloning never pays off, so SCA would not clone.
fn papers_gamma() -> f64 {
    0.01
}

impl ReplaySettings {
    /// Creates the settings from values set by key.
    ///
    /// # Errors
    /// If a key is unknown or a value not valid.
    pub fn parse(set: &[(String, String)]) -> Result<ReplaySettings, ScenarioError> {
        let invalid = |message: String| ScenarioError::Invalid { origin: "--set".to_owned(), message };
        let settings: ReplaySettings =
            with_values(&toml::Table::new(), set).map_err(|wrong| wrong.into_error(None, set))?;
        check_times(settings.slot, settings.noise, settings.gamma).map_err(&invalid)?;
        settings.machines.map_or(Ok(()), |machines| check_machines("machines", machines)).map_err(&invalid)?;
        Ok(settings)
    }
}

/// The built-in scenarios: names and texts.
pub static BUILT_IN: &[(&str, &str)] = &[
    ("quickstart", include_str!("../../scenarios/quickstart.toml")),
    ("xu2015-light", include_str!("../../scenarios/xu2015-light.toml")),
    ("xu2015-heavy", include_str!("../../scenarios/xu2015-heavy.toml")),
    ("xu2015-single-job", include_str!("../../scenarios/xu2015-single-job.toml")),
    ("dollymp2022-light", include_str!("../../scenarios/dollymp2022-light.toml")),
    ("dollymp2022-heavy", include_str!("../../scenarios/dollymp2022-heavy.toml")),
    ("zhou2018-stragglers", include_str!("../../scenarios/zhou2018-stragglers.toml")),
    ("deadlines", include_str!("../../scenarios/deadlines.toml")),
];

/// Largest scenario file, in bytes; real ones have one or two pages.
const LARGEST: u64 = 16 << 20;

impl Scenario {
    /// Loads the scenario of a file or built-in name, with values set by path.
    ///
    /// # Errors
    /// If there is no such scenario, or it is not valid.
    pub fn load(name: &str, set: &[(String, String)]) -> Result<Scenario, ScenarioError> {
        if let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
            return Scenario::parse(text, name, Path::new(""), set);
        }
        let path = Path::new(name);
        let looks_like_a_file = path.exists() || name.contains(['/', '\\']) || path.extension().is_some();
        if !looks_like_a_file {
            let near = did_you_mean(name, BUILT_IN.iter().map(|(known, _)| *known));
            let near = if near.is_empty() {
                let names: Vec<&str> = BUILT_IN.iter().map(|(known, _)| *known).collect();
                format!("; built in are {}", names.join(", "))
            } else {
                near
            };
            return Err(ScenarioError::Unknown { name: name.to_owned(), near });
        }
        let mut bytes = Vec::new();
        let read = std::fs::File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes));
        if bytes.len() as u64 > LARGEST {
            return Err(ScenarioError::Invalid {
                origin: name.to_owned(),
                message: "this file is too large for a scenario (more than 16 MiB)".to_owned(),
            });
        }
        read.map_err(|error| ScenarioError::Unreadable { path: path.into(), error })?;
        let text = String::from_utf8(bytes).map_err(|_| ScenarioError::Invalid {
            origin: name.to_owned(),
            message: "this is not a text file; a scenario is a TOML file".to_owned(),
        })?;
        Scenario::parse(&text, name, path.parent().unwrap_or(Path::new("")), set)
    }

    /// Reads a scenario from its text. Errors name `origin`; relative paths refer to `folder`.
    ///
    /// # Errors
    /// If the scenario is not valid.
    pub fn parse(text: &str, origin: &str, folder: &Path, set: &[(String, String)]) -> Result<Scenario, ScenarioError> {
        let invalid = |message: String| ScenarioError::Invalid { origin: origin.to_owned(), message };
        // The text is first read without the values of `set`, because its errors then have line and column.
        let mut scenario: Scenario = toml::from_str(text).map_err(|error| {
            invalid(if is_job_file(text) {
                format!("this is a job file, not a scenario: `hindmost run {origin}` runs it")
            } else {
                in_plain_words(&error)
            })
        })?;
        if !set.is_empty() {
            let table: toml::Table = text.parse().map_err(|error: toml::de::Error| invalid(error.to_string()))?;
            scenario = with_values(&table, set).map_err(|wrong| wrong.into_error(Some(origin), set))?;
        }
        folder.clone_into(&mut scenario.folder);
        scenario.check().map_err(invalid)?;
        Ok(scenario)
    }
}

/// Returns true if a text that is not a scenario is a job file.
fn is_job_file(text: &str) -> bool {
    let table = text.parse::<toml::Table>();
    table.is_ok_and(|table| table.contains_key("phase") && !table.contains_key("cluster"))
}

/// A value that was set and is not valid: its index, and what is wrong with it.
struct WrongValue(usize, String);

impl WrongValue {
    fn into_error(self, origin: Option<&str>, set: &[(String, String)]) -> ScenarioError {
        let WrongValue(at, message) = self;
        let setting = set.get(at).map_or(String::new(), |(key, value)| format!("{key}={value}"));
        ScenarioError::Setting { origin: origin.map(str::to_owned), option: "--set", setting, message }
    }
}

/// Reads a table after values have been set in it.
fn with_values<T: DeserializeOwned>(table: &toml::Table, set: &[(String, String)]) -> Result<T, WrongValue> {
    let read = |table: &toml::Table| {
        let read = T::deserialize(toml::Value::Table(table.clone()));
        // Without a text, the error has the path of the value on a line of its own.
        read.map_err(|error: toml::de::Error| in_plain_words(&error).replace("\nin `", " in `"))
    };
    let mut changed = table.clone();
    for (at, (path, value)) in set.iter().enumerate() {
        set_value(&mut changed, path, value).map_err(|error| WrongValue(at, error))?;
    }
    let message = match read(&changed) {
        Ok(value) => return Ok(value),
        Err(message) => message,
    };
    // The wrong value is the one that the message names, else the first one with which the table can't be read: before
    // the last value is set, a table may lack a key.
    if let Some(at) = set.iter().rposition(|(key, _)| is_about(&message, key)) {
        return Err(WrongValue(at, message));
    }
    let mut changed = table.clone();
    for (at, (path, value)) in set.iter().enumerate() {
        set_value(&mut changed, path, value).map_err(|error| WrongValue(at, error))?;
        read(&changed).map_err(|message| WrongValue(at, message))?;
    }
    Err(WrongValue(set.len(), message))
}

/// Returns true if an error message is about the value of a key: it names the key's path or a path within it, or says that
/// the key does not exist.
fn is_about(message: &str, key: &str) -> bool {
    // Messages leave out the indices of lists.
    let key = key.split('.').filter(|part| part.parse::<usize>().is_err()).collect::<Vec<_>>().join(".");
    let path = message.rsplit_once(" in `").and_then(|(_, rest)| rest.strip_suffix('`'));
    if path
        .and_then(|path| path.strip_prefix(full_key(&key)))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    {
        return true;
    }
    let key = full_key(&key);
    let (parent, last) = key.rsplit_once('.').unwrap_or(("", key));
    let place = if parent.is_empty() { String::new() } else { format!(" in {parent}") };
    message.contains(&format!("there is no key {}{place}", Quoted(last)))
}

/// Returns the path of a key that `--set` and `--sweep` also accept by a short name; any other path as it is.
///
/// The short name `load` stands for no single path: it replaces the rate or gap of the arrivals.
#[must_use]
pub fn full_key(path: &str) -> &str {
    if path == "correlation" { "workload.correlation" } else { path }
}

/// Sets the value at a dotted path; numbers in the path are indices of lists. A value that is not TOML is a text.
fn set_value(table: &mut toml::Table, path: &str, value: &str) -> Result<(), String> {
    let parsed = format!("value = {value}").parse::<toml::Table>().ok().and_then(|mut table| table.remove("value"));
    let value = parsed.unwrap_or_else(|| toml::Value::String(value.to_owned()));
    if path == "load" && table.contains_key("workload") {
        return set_load(table, value);
    }
    // The settings of a replay have no workload, so this is no key there.
    let path = if table.contains_key("workload") { full_key(path) } else { path };
    let keys: Vec<&str> = path.split('.').collect();
    let Some((last, parents)) = keys.split_last() else { return Err("the key is empty".to_owned()) };
    if keys.iter().any(|key| key.is_empty()) {
        return Err("a part of the key is empty".to_owned());
    }
    let mut root = toml::Value::Table(std::mem::take(table));
    let mut at = &mut root;
    for (depth, key) in parents.iter().enumerate() {
        at = step(at, key)?;
        // The next key is a place in a list that the scenario does not have.
        let is_new = matches!(at, toml::Value::Table(table) if table.is_empty());
        if is_new && keys[depth + 1].parse::<usize>().is_ok() {
            let list = keys[..=depth].join(".");
            let instead = if list == "policy" { "; --policy names policies" } else { "" };
            return Err(format!(
                "the scenario has no list {list}, so that there is no entry {}{instead}",
                keys[depth + 1]
            ));
        }
    }
    *step(at, last)? = value;
    if let toml::Value::Table(changed) = root {
        *table = changed;
    }
    Ok(())
}

/// Returns the value of a key; creates it if it does not exist.
fn step<'a>(at: &'a mut toml::Value, key: &str) -> Result<&'a mut toml::Value, String> {
    match at {
        toml::Value::Table(table) => {
            Ok(table.entry(key.to_owned()).or_insert_with(|| toml::Value::Table(toml::Table::new())))
        }
        toml::Value::Array(list) => {
            let len = list.len();
            let place = key.parse::<usize>().ok().filter(|place| *place < len);
            let place = place.ok_or_else(|| format!("{key:?} is not an index of a list of {len}, counted from 0"))?;
            Ok(&mut list[place])
        }
        _ => Err(format!("{key:?} cannot be set: its parent is not a table")),
    }
}

/// Returns the message of a TOML error with plain words for unknown keys and expected types.
fn in_plain_words(error: &toml::de::Error) -> String {
    let message = with_nearest_name(&with_plain_numbers(error.to_string().trim_end()));
    // Of the progress models, this one is for live runs only.
    let message = message.replace(", age, history, ", ", age, ");
    // The word is easily written at a wrong place, because --set accepts it alone.
    let is_of_other_place = message.contains("there is no key \"load\"") || message.contains("\"load\" is not valid");
    let message = if is_of_other_place {
        format!("{message}\na load takes the place of a rate or gap, as in arrival = {{ poisson = {{ load = 0.6 }} }}")
    } else {
        message
    };
    // A table of kinds, such as arrivals and distributions, has two of them.
    let message = message.replace(
        "wanted exactly 1 element, more than 1 element",
        "only one kind can be given; replace the whole table, as --set 'workload.arrival={every={load=0.5,jobs=100}}' does",
    );
    let in_words = |line: &str| match line.rsplit_once(", expected ") {
        Some((start, "u32")) => format!("{start}, expected a whole number from 0 to {}", u32::MAX),
        Some((start, "u64")) => format!("{start}, expected a whole number from 0"),
        Some((start, "f64")) => format!("{start}, expected a number"),
        Some((start, "a sequence")) if start.ends_with("invalid type: map") => {
            format!("{start}, expected a list: write the name of such a table in two brackets, [[…]]")
        }
        Some((start, "a sequence")) => format!("{start}, expected a list, in brackets"),
        Some((start, "a boolean")) => format!("{start}, expected true or false"),
        Some((start, expected)) if expected.starts_with("struct ") => format!("{start}, expected a table"),
        _ => line.to_owned(),
    };
    message.lines().map(in_words).collect::<Vec<_>>().join("\n")
}
