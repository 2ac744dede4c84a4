//! The file that keeps profiles across runs.
//!
//! It is a redb database. Every call of [`Store::add`] is one transaction: after a kill at any moment, the file opens again
//! and contains everything that was committed, and nothing of a transaction that was not. The number of profiles is
//! bounded; the oldest are dropped.
//!
//! | table | key | value |
//! | --- | --- | --- |
//! | `settings` | name: `format`, `next` | number |
//! | `kinds` | job type, phase | number of the kind, number of its profiles |
//! | `profiles` | number of the kind, number of the profile | the profile without job type and phase, as JSON |
//! | `ages` | number of the profile | number of the kind; the smallest key is the oldest profile |

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use hindmost_core::profiles::{Conditions, Profile};
use redb::{
    Builder, Database, DatabaseError, Error, ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition,
    TableError,
};

use crate::StoreError;

/// Number of profiles that a file has at most, unless another number is given.
pub const MOST_PROFILES: u64 = 1_000_000;

/// The format that this version writes, which is also the newest that it reads.
const FORMAT: u64 = 1;
/// Bytes of the file that are kept in memory at most.
const CACHE: usize = 16 << 20;
/// How often a file that another process uses is tried again, and the pause before each time.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(50);

const SETTINGS: TableDefinition<&str, u64> = TableDefinition::new("settings");
const KINDS: TableDefinition<(&str, &str), (u64, u64)> = TableDefinition::new("kinds");
const PROFILES: TableDefinition<(u64, u64), &[u8]> = TableDefinition::new("profiles");
const AGES: TableDefinition<u64, u64> = TableDefinition::new("ages");

/// A profile as the file has it: node, speed, seconds, conditions.
type Stored = (Arc<str>, f64, f64, Conditions);

/// A job type and phase of which a store has profiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Type of the job.
    pub job: Arc<str>,
    /// Name of the phase.
    pub phase: Arc<str>,
    /// Number of profiles.
    pub profiles: u64,
}

/// An open file of profiles. While it is open, no other process can open it.
pub struct Store {
    database: Database,
    path: PathBuf,
    most: u64,
}

impl Store {
    /// Opens a file, or creates it if it does not exist. It will have at most `most` profiles (at least 1).
    ///
    /// # Errors
    /// If the file can't be opened or created, is damaged, is no file of profiles, or another process uses it for longer
    /// than five seconds.
    pub fn open(path: &Path, most: u64) -> Result<Store, StoreError> {
        let store = Store { database: database(path, true)?, path: path.to_owned(), most: most.max(1) };
        store.checked(|| store.prepare())?;
        Ok(store)
    }

    /// Opens a file that exists.
    ///
    /// # Errors
    /// As those of [`Store::open`], and if the file does not exist.
    pub fn open_existing(path: &Path) -> Result<Store, StoreError> {
        let store = Store { database: database(path, false)?, path: path.to_owned(), most: MOST_PROFILES };
        store.checked(|| store.prepare())?;
        Ok(store)
    }

    /// Creates the tables of a new file, and checks the format of an old one.
    fn prepare(&self) -> Result<(), StoreError> {
        let found = self.ask(|read| {
            let settings = match read.open_table(SETTINGS) {
                Err(TableError::TableDoesNotExist(_)) => return Ok(None),
                other => other?,
            };
            Ok(settings.get("format")?.map(|format| format.value()))
        })?;
        match found {
            Some(FORMAT) => return Ok(()),
            Some(newer) if newer > FORMAT => {
                return Err(StoreError::TooNew { path: self.path.clone(), found: newer, known: FORMAT });
            }
            Some(other) => return Err(self.damaged(format!("it has format {other}"))),
            None => {}
        }
        let is_foreign = self.ask(|read| Ok(read.list_tables()?.next().is_some()))?;
        if is_foreign {
            return Err(self.damaged("it is a database of another program".to_owned()));
        }
        let made = || -> Result<(), Error> {
            let write = self.database.begin_write()?;
            write.open_table(SETTINGS)?.insert("format", FORMAT)?;
            write.open_table(KINDS)?;
            write.open_table(PROFILES)?;
            write.open_table(AGES)?;
            write.commit()?;
            Ok(())
        };
        made().map_err(|error| wrong(&self.path, error))
    }

    fn damaged(&self, why: String) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), why }
    }

    /// Runs a function on the file; a panic in the database, such as one about a damaged page, becomes an error.
    fn checked<T>(&self, work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        guarded(&self.path, work)
    }

    fn ask<T>(&self, question: impl FnOnce(&ReadTransaction) -> Result<T, Error>) -> Result<T, StoreError> {
        let answer = || question(&self.database.begin_read().map_err(Error::from)?);
        answer().map_err(|error| wrong(&self.path, error))
    }

    /// Adds profiles, the oldest first, and drops the oldest of all if there are then too many. Profiles that are not valid
    /// are left out. When this returns, the profiles are on the disk. Returns the number of profiles in the file.
    ///
    /// # Errors
    /// If the file can't be written. Nothing is added in that case.
    pub fn add(&self, profiles: &[Profile]) -> Result<u64, StoreError> {
        self.checked(|| self.write(profiles).map_err(|error| wrong(&self.path, error)))
    }

    fn write(&self, profiles: &[Profile]) -> Result<u64, Error> {
        let write = self.database.begin_write()?;
        let count = {
            let mut settings = write.open_table(SETTINGS)?;
            let mut kinds = write.open_table(KINDS)?;
            let mut stored = write.open_table(PROFILES)?;
            let mut ages = write.open_table(AGES)?;
            let mut next = settings.get("next")?.map_or(0, |next| next.value());
            let mut next_kind = settings.get("next_kind")?.map_or(0, |next| next.value());
            for profile in profiles.iter().filter(|profile| profile.is_valid()) {
                let key = (&*profile.job, &*profile.phase);
                let known = kinds.get(key)?.map(|known| known.value());
                let (kind, count) = known.unwrap_or_else(|| {
                    next_kind += 1;
                    (next_kind - 1, 0)
                });
                kinds.insert(key, (kind, count + 1))?;
                let text: (&Arc<str>, f64, f64, &Conditions) =
                    (&profile.node, profile.speed, profile.seconds, &profile.conditions);
                let text = serde_json::to_vec(&text).map_err(|error| Error::Io(error.into()))?;
                stored.insert((kind, next), &*text)?;
                ages.insert(next, kind)?;
                next += 1;
            }
            settings.insert("next", next)?;
            settings.insert("next_kind", next_kind)?;
            let mut count = redb::ReadableTableMetadata::len(&ages)?;
            let mut dropped: std::collections::BTreeMap<u64, u64> = std::collections::BTreeMap::new();
            while count > self.most {
                let Some((number, kind)) = ages.pop_first()?.map(|(number, kind)| (number.value(), kind.value()))
                else {
                    break;
                };
                stored.remove((kind, number))?;
                *dropped.entry(kind).or_default() += 1;
                count -= 1;
            }
            if !dropped.is_empty() {
                let mut changed: Vec<(String, String, u64, u64)> = Vec::new();
                for entry in kinds.iter()? {
                    let (key, value) = entry?;
                    let ((job, phase), (kind, count)) = (key.value(), value.value());
                    if let Some(less) = dropped.get(&kind) {
                        changed.push((job.to_owned(), phase.to_owned(), kind, count.saturating_sub(*less)));
                    }
                }
                for (job, phase, kind, count) in changed {
                    if count == 0 {
                        kinds.remove((&*job, &*phase))?;
                    } else {
                        kinds.insert((&*job, &*phase), (kind, count))?;
                    }
                }
            }
            count
        };
        write.commit()?;
        Ok(count)
    }

    /// Returns the number of profiles.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn len(&self) -> Result<u64, StoreError> {
        self.checked(|| self.ask(|read| Ok(redb::ReadableTableMetadata::len(&read.open_table(AGES)?)?)))
    }

    /// Returns whether there are no profiles.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn is_empty(&self) -> Result<bool, StoreError> {
        Ok(self.len()? == 0)
    }

    /// Returns the job types and phases of which there are profiles, in alphabetical order.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn kinds(&self) -> Result<Vec<Kind>, StoreError> {
        self.checked(|| {
            self.ask(|read| {
                let mut found = Vec::new();
                for entry in read.open_table(KINDS)?.iter()? {
                    let (key, value) = entry?;
                    let ((job, phase), (_, profiles)) = (key.value(), value.value());
                    found.push(Kind { job: job.into(), phase: phase.into(), profiles });
                }
                Ok(found)
            })
        })
    }

    /// Returns the newest profiles of a job type and phase, at most `most`, the oldest of them first.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn newest(&self, job: &str, phase: &str, most: usize) -> Result<Vec<Profile>, StoreError> {
        let (job_name, phase_name): (Arc<str>, Arc<str>) = (job.into(), phase.into());
        let mut found = Vec::new();
        self.visit(job, phase, |(node, speed, seconds, conditions)| {
            let (job, phase) = (job_name.clone(), phase_name.clone());
            found.push(Profile { job, phase, node, speed, seconds, conditions });
            found.len() < most
        })?;
        found.truncate(most);
        found.reverse();
        Ok(found)
    }

    /// Passes the profiles of a kind to `each`, the newest first, until it returns false.
    pub(crate) fn visit(&self, job: &str, phase: &str, mut each: impl FnMut(Stored) -> bool) -> Result<(), StoreError> {
        let unreadable = self.checked(|| {
            self.ask(|read| {
                let Some((kind, _)) = read.open_table(KINDS)?.get((job, phase))?.map(|found| found.value()) else {
                    return Ok(None);
                };
                for entry in read.open_table(PROFILES)?.range((kind, 0)..=(kind, u64::MAX))?.rev() {
                    let (_, text) = entry?;
                    match serde_json::from_slice::<Stored>(text.value()) {
                        Ok(stored) => {
                            if !each(stored) {
                                return Ok(None);
                            }
                        }
                        Err(error) => return Ok(Some(error.to_string())),
                    }
                }
                Ok(None)
            })
        })?;
        unreadable.map_or(Ok(()), |why| Err(self.damaged(format!("a profile of {job}/{phase}: {why}"))))
    }
}

/// Opens the database, and waits some seconds if another process uses it.
fn database(path: &Path, creates: bool) -> Result<Database, StoreError> {
    if !creates && let Err(error) = std::fs::metadata(path) {
        return Err(StoreError::Io { path: path.to_owned(), error });
    }
    for _ in 0..TRIES {
        let mut builder = Builder::new();
        builder.set_cache_size(CACHE);
        let opened = guarded(path, || Ok(if creates { builder.create(path) } else { builder.open(path) }))?;
        match opened {
            Err(DatabaseError::DatabaseAlreadyOpen) => sleep(PAUSE),
            Err(error) => return Err(wrong(path, error.into())),
            Ok(database) => return Ok(database),
        }
    }
    Err(StoreError::InUse { path: path.to_owned() })
}

/// Runs a function; a panic in it becomes an error about a damaged file. The database has assertions about its pages, which
/// a damaged file can violate.
fn guarded<T>(path: &Path, work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(StoreError::Damaged { path: path.to_owned(), why: "a page of it is not valid".to_owned() })
    })
}

fn wrong(path: &Path, error: Error) -> StoreError {
    let path = path.to_owned();
    match error {
        Error::Io(error)
            if matches!(error.kind(), std::io::ErrorKind::InvalidData | std::io::ErrorKind::UnexpectedEof) =>
        {
            StoreError::Damaged { path, why: error.to_string() }
        }
        Error::Io(error) => StoreError::Io { path, error },
        Error::DatabaseAlreadyOpen => StoreError::InUse { path },
        other => StoreError::Damaged { path, why: other.to_string() },
    }
}
