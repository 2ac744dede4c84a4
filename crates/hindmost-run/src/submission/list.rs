//! The list of the jobs of a run of several jobs (`jobs.json` among the internal files of its folder).

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::store::Pages;

/// Name of the list.
pub(crate) const JOBS: &str = "jobs.json";

/// A job of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobEntry {
    /// Name of the job in the run, and of its folder.
    pub name: String,
    /// Absolute path of the job file.
    pub file: PathBuf,
}

/// The list of a run's jobs, in the order in which they became known.
#[derive(Debug)]
pub struct JobList {
    pages: Pages,
    entries: Vec<JobEntry>,
}

impl JobList {
    /// Reads the list in a run's folder. A folder without a list has no jobs yet.
    ///
    /// # Errors
    /// If it can't be read or is damaged.
    pub fn read(pages: Pages) -> io::Result<JobList> {
        let entries = match pages.read(JOBS, true) {
            Ok(text) => serde_json::from_str(&text)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("{JOBS} is damaged: {error}")))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        Ok(JobList { pages, entries })
    }

    /// Returns the jobs.
    pub fn entries(&self) -> &[JobEntry] {
        &self.entries
    }

    /// True if a job has this name.
    pub fn has(&self, name: &str) -> bool {
        self.entries.iter().any(|entry| entry.name == name)
    }

    /// Writes the list of a run that has no jobs yet, so that its folder is known as that of a run of several jobs.
    ///
    /// # Errors
    /// If the list can't be written.
    pub fn begin(&self) -> io::Result<()> {
        if self.entries.is_empty() { self.pages.write_synced(JOBS, "[]") } else { Ok(()) }
    }

    /// Adds a job, or replaces the one of the same name, and writes the list to the disk.
    ///
    /// # Errors
    /// If the list can't be written. Then the job is not added.
    pub fn add(&mut self, entry: JobEntry) -> io::Result<()> {
        let mut entries = self.entries.clone();
        match entries.iter_mut().find(|known| known.name == entry.name) {
            Some(known) if *known == entry => return Ok(()),
            Some(known) => *known = entry,
            None => entries.push(entry),
        }
        let json = serde_json::to_string_pretty(&entries)?;
        self.pages.write_synced(JOBS, &json)?;
        self.entries = entries;
        Ok(())
    }
}
