//! Reads papers from the files of this crate, or from a folder.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use hindmost_claims::StatedBy;
use hindmost_math::plain::Quoted;
use hindmost_math::suggest::did_you_mean;
use hindmost_sim::driver::SimulationError;
use hindmost_sim::scenario::ScenarioError;

use super::{Paper, PartSpec, ReadingSpec, TableKind};
use crate::formulas;
use crate::metric::{Metric, Quantity};

/// The files of a paper that hold data, in the order in which they are read.
const FILES: [&str; 4] = ["paper.toml", "readings.toml", "figures.toml", "claims.toml"];

/// Where the files of a paper are.
#[derive(Clone, Debug)]
pub enum Folder {
    /// In this crate: names and texts.
    BuiltIn(&'static [(&'static str, &'static str)]),
    /// On the disk.
    Disk(PathBuf),
}

impl Default for Folder {
    fn default() -> Folder {
        Folder::BuiltIn(&[])
    }
}

/// The reason why a reproduction cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum PaperError {
    /// A file of the paper, or a reading, is not valid.
    #[error("{file}: {message}")]
    Data {
        /// Name of the file.
        file: String,
        /// What is wrong, where, and what would be valid.
        message: String,
    },
    /// A file cannot be read.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// The reason.
        error: std::io::Error,
    },
    /// A name on the command line is not known.
    #[error("{0}")]
    Unknown(String),
    /// A world's scenario is not valid.
    #[error("world {world}: {error}")]
    World {
        /// Name of the world.
        world: String,
        /// What is wrong.
        error: ScenarioError,
    },
    /// A simulation failed or was interrupted.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// The results of a simulation cannot be kept.
    #[error("--cache: {0}")]
    Cache(std::io::Error),
    /// A formula has no value.
    #[error("formula {name}: {message}")]
    Formula {
        /// Name of the formula.
        name: String,
        /// The reason.
        message: String,
    },
}

impl Folder {
    /// Returns the text of a file; `None` if there is no such file.
    ///
    /// # Errors
    /// If the file exists, but cannot be read.
    pub fn text(&self, name: &str) -> Result<Option<String>, PaperError> {
        match self {
            Folder::BuiltIn(files) => {
                Ok(files.iter().find(|(file, _)| *file == name).map(|(_, text)| (*text).to_owned()))
            }
            Folder::Disk(folder) => {
                let path = folder.join(name);
                match std::fs::read_to_string(&path) {
                    Ok(text) => Ok(Some(text)),
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
                    Err(error) => Err(PaperError::Unreadable { path, error }),
                }
            }
        }
    }
}

impl Paper {
    /// Reads a paper and checks that all names in it are known.
    ///
    /// # Errors
    /// If a file cannot be read or is not valid.
    pub fn load(folder: Folder) -> Result<Paper, PaperError> {
        let mut paper = Paper::default();
        let mut found = false;
        for file in FILES {
            let Some(text) = folder.text(file)? else { continue };
            found = true;
            let part: Paper = toml::from_str(&text)
                .map_err(|error| PaperError::Data { file: file.to_owned(), message: error.to_string() })?;
            paper.add(part);
        }
        if !found {
            let message = "there is no paper.toml in this folder".to_owned();
            let file = match &folder {
                Folder::Disk(path) => path.display().to_string(),
                Folder::BuiltIn(_) => "paper".to_owned(),
            };
            return Err(PaperError::Data { file, message });
        }
        paper.folder = folder;
        let file = format!("paper {}", paper.key);
        paper.check().map_err(|message| PaperError::Data { file, message })?;
        Ok(paper)
    }

    fn add(&mut self, part: Paper) {
        let keep = |own: &mut String, new: String| {
            if !new.is_empty() {
                *own = new;
            }
        };
        keep(&mut self.key, part.key);
        keep(&mut self.title, part.title);
        keep(&mut self.why, part.why);
        self.minutes = part.minutes.or(self.minutes);
        self.seeds = part.seeds.or(self.seeds);
        self.decision_times |= part.decision_times;
        self.headline.extend(part.headline);
        self.direction.extend(part.direction);
        self.notes.extend(part.notes);
        self.policy.extend(part.policy);
        self.world.extend(part.world);
        self.sweep.extend(part.sweep);
        self.reading.extend(part.reading);
        self.figure.extend(part.figure);
        self.claim.extend(part.claim);
    }

    /// Adds a reading that is written in a file.
    ///
    /// # Errors
    /// If the file is not valid, or names something that the paper does not have.
    pub fn add_reading(&mut self, path: &Path) -> Result<String, PaperError> {
        let text =
            std::fs::read_to_string(path).map_err(|error| PaperError::Unreadable { path: path.to_owned(), error })?;
        let wrong = |message: String| PaperError::Data { file: path.display().to_string(), message };
        let mut reading: ReadingSpec = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        reading.quick = true;
        reading.file = Some((path.to_owned(), text));
        if self.reading(&reading.name).is_some() {
            return Err(wrong(format!("the paper has a reading named {} already", Quoted(&reading.name))));
        }
        self.check_reading(&reading).map_err(wrong)?;
        let name = reading.name.clone();
        self.reading.push(reading);
        Ok(name)
    }

    fn check(&self) -> Result<(), String> {
        let mut ids = BTreeSet::new();
        if self.key.is_empty() || self.title.is_empty() || self.reading.is_empty() {
            return Err("needs key, title and at least one reading".to_owned());
        }
        // The key becomes the name of a folder.
        if !self.key.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-') {
            return Err(format!("the key {} may have small letters, digits and - only", Quoted(&self.key)));
        }
        for claim in &self.claim {
            let at = |message: String| format!("claim {}: {message}", Quoted(&claim.id));
            if !ids.insert(&claim.id) {
                return Err(at("there are two claims with this id".to_owned()));
            }
            known(&claim.figure, "figure", self.figure.iter().map(|figure| figure.id.as_str())).map_err(at)?;
            if claim.part.is_empty() == claim.not_run.is_empty() {
                return Err(at("needs either parts or the reason why it is not run".to_owned()));
            }
            if claim.stated_by == StatedBy::Reading && claim.in_abstract {
                return Err(at("a reading of the paper's words is not a statement of the abstract".to_owned()));
            }
            for part in &claim.part {
                self.check_part(part).map_err(at)?;
            }
        }
        for (key, ids) in [("headline", &self.headline), ("direction", &self.direction)] {
            let at = |message: String| format!("{key}: {message}");
            for id in ids {
                known(id, "claim", self.claim.iter().map(|claim| claim.id.as_str())).map_err(at)?;
                let claim = self.claim.iter().find(|claim| claim.id == *id);
                if claim.is_some_and(|claim| claim.stated_by == StatedBy::Reading || claim.slip) {
                    return Err(at(format!("the claim {} is a reading or a slip, so it does not count", Quoted(id))));
                }
            }
        }
        for reading in &self.reading {
            self.check_reading(reading)?;
        }
        for sweep in &self.sweep {
            let at = |message: String| format!("sweep {}: {message}", Quoted(&sweep.name));
            known(&sweep.world, "world", self.world.iter().map(|world| world.name.as_str())).map_err(at)?;
            for label in &sweep.policies {
                self.check_label(label).map_err(at)?;
            }
            if !sweep.takes.is_empty() && sweep.takes.len() != sweep.values.len() {
                return Err(at(format!("takes {} values for {}", sweep.takes.len(), sweep.values.len())));
            }
        }
        for figure in &self.figure {
            for table in &figure.table {
                let at = |message: String| format!("figure {}, table {}: {message}", figure.id, Quoted(&table.caption));
                if table.kind == TableKind::Formula {
                    formulas::table(&table.formula).map_err(at)?;
                }
                if table.kind == TableKind::Sweep && self.sweep(&table.sweep).is_none() {
                    return Err(at(format!("there is no sweep {}", Quoted(&table.sweep))));
                }
                for metric in table.metrics.iter().chain(table.columns.iter().map(|column| &column.metric)) {
                    metric.parse::<Metric>().map_err(at)?;
                }
                for label in table.policies.iter().chain(table.columns.iter().map(|column| &column.policy)) {
                    self.check_label(label).map_err(at)?;
                }
            }
        }
        Ok(())
    }

    fn check_reading(&self, reading: &ReadingSpec) -> Result<(), String> {
        let at = |message: String| format!("reading {}: {message}", Quoted(&reading.name));
        if reading.name.trim().is_empty() {
            return Err(at("needs a name".to_owned()));
        }
        for name in &reading.includes {
            known(name, "reading", self.reading.iter().map(|reading| reading.name.as_str())).map_err(at)?;
        }
        for (sweep, instead) in &reading.sweeps {
            let values = |name: &str| -> Result<&[toml::Value], String> {
                known(name, "sweep", self.sweep.iter().map(|sweep| sweep.name.as_str()))?;
                Ok(self.sweep(name).map_or(&[], |sweep| sweep.values.as_slice()))
            };
            if values(sweep).map_err(at)? != values(instead).map_err(at)? {
                return Err(at(format!("the sweeps {} and {} have different values", Quoted(sweep), Quoted(instead))));
            }
        }
        for world in &reading.worlds {
            known(world, "world", self.world.iter().map(|world| world.name.as_str())).map_err(at)?;
        }
        for label in reading.policy.keys() {
            self.check_label(label).map_err(at)?;
        }
        for quantity in reading.substitute.iter().flat_map(|(one, other)| [one, other]) {
            quantity.parse::<Quantity>().map_err(at)?;
        }
        Ok(())
    }

    fn check_label(&self, label: &str) -> Result<(), String> {
        known(label, "policy", self.policy.iter().map(|policy| policy.label.as_str()))
    }

    fn check_part(&self, part: &PartSpec) -> Result<(), String> {
        part.expected()?;
        for reading in &part.readings {
            known(reading, "reading", self.reading.iter().map(|reading| reading.name.as_str()))?;
        }
        match (&part.metric, &part.formula) {
            (Some(metric), None) => {
                let metric: Metric = metric.parse()?;
                if let Some(metric) = &part.against_metric {
                    metric.parse::<Metric>()?;
                }
                if let Some(metric) = part.minus.as_ref().and_then(|minus| minus.metric.as_ref()) {
                    metric.parse::<Metric>()?;
                }
                if part.minus.is_some() && part.against.is_none() {
                    return Err("minus needs against, too".to_owned());
                }
                if metric.needs_two() && part.against.is_none() {
                    return Err("this metric compares two policies; add against".to_owned());
                }
            }
            (None, Some(formula)) => return formulas::value(formula).map(|_| ()),
            (None, None) if part.recorded.is_some() => return Ok(()),
            _ => return Err("needs either a metric or a formula, or a recorded value".to_owned()),
        }
        let minus = part.minus.iter().flat_map(|minus| [&minus.policy, &minus.against]);
        for label in part.policy.iter().chain(&part.against).chain(minus) {
            if let Some((sweep, place)) = label.split_once(':') {
                known(sweep, "sweep", self.sweep.iter().map(|sweep| sweep.name.as_str()))?;
                if !place.contains('@') {
                    return Err(format!("{} needs a value: SWEEP:POLICY@VALUE", Quoted(label)));
                }
            } else {
                self.check_label(label)?;
                let world = part.world.as_deref().ok_or("needs a world")?;
                known(world, "world", self.world.iter().map(|world| world.name.as_str()))?;
            }
        }
        part.policy.is_some().then_some(()).ok_or_else(|| "needs a policy".to_owned())
    }
}

/// Returns an error with the nearest known name if a name is not known.
fn known<'a>(name: &str, what: &str, names: impl Iterator<Item = &'a str> + Clone) -> Result<(), String> {
    if names.clone().any(|known| known == name) {
        return Ok(());
    }
    Err(format!("there is no {what} {}{}", Quoted(name), did_you_mean(name, names)))
}
