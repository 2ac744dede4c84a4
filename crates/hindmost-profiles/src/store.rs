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
//! | `runs` | fingerprint of the profiles of a run | number of the newest of them |
//! | `run_ages` | number of the newest profile of a run | the run's fingerprint |
//!
//! **Damaged files.** The database has assertions about its pages, which a damaged file can violate. Its functions therefore run
//! in [`guarded`](crate::guarded), which turns a panic into an error. After a panic the database is never dropped: it would
//! write to the file, or panic again.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use hindmost_core::profiles::{Conditions, Profile};
use redb::{
    Builder, Database, DatabaseError, Error, ReadOnlyDatabase, ReadTransaction, ReadableDatabase, ReadableTable,
    ReadableTableMetadata, Table, TableDefinition, TableError,
};

use crate::StoreError;
use crate::guarded::guarded;

/// Number of profiles that a file has at most, unless another number is given.
pub const MOST_PROFILES: u64 = 1_000_000;

/// The format that this version writes, which is also the newest that it reads.
const FORMAT: u64 = 1;
/// Bytes of the file that are kept in memory at most.
const CACHE: usize = 16 << 20;
/// How often a file that another process uses is tried again, and the pause before each time.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(50);
/// Files of at most this many bytes are checked completely when they are opened for writing.
const CHECKED: u64 = 4 << 20;

const SETTINGS: TableDefinition<&str, u64> = TableDefinition::new("settings");
const KINDS: TableDefinition<(&str, &str), (u64, u64)> = TableDefinition::new("kinds");
const PROFILES: TableDefinition<(u64, u64), &[u8]> = TableDefinition::new("profiles");
const AGES: TableDefinition<u64, u64> = TableDefinition::new("ages");
const RUNS: TableDefinition<u128, u64> = TableDefinition::new("runs");
const RUN_AGES: TableDefinition<u64, u128> = TableDefinition::new("run_ages");

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

/// How a file is open.
enum Access {
    /// For reading and writing. While it is open, no other process can open it.
    Write(Database),
    /// For reading only. Other processes can read it, too, and it is not changed.
    Read(ReadOnlyDatabase),
    /// For reading only, and it has no tables yet.
    Empty,
}

/// An open file of profiles.
pub struct Store {
    /// `None` only while the store is dropped.
    access: Option<Access>,
    path: PathBuf,
    most: u64,
    /// True if the database has panicked.
    is_broken: Cell<bool>,
}

impl Drop for Store {
    fn drop(&mut self) {
        let access = self.access.take();
        if self.is_broken.get() {
            std::mem::forget(access);
        } else {
            // Everything that was added is on the disk. What the database writes when it is closed only makes the next start
            // faster.
            _ = guarded(|| drop(access));
        }
    }
}

impl Store {
    /// Opens a file, or creates it if it does not exist. It will have at most `most` profiles (at least 1).
    ///
    /// # Errors
    /// If the file can't be opened or created, is damaged, is no file of profiles, or another process uses it for longer
    /// than five seconds.
    pub fn open(path: &Path, most: u64) -> Result<Store, StoreError> {
        let length = std::fs::metadata(path).map_or(0, |found| found.len());
        let mut database = waited(path, || builder().create(path))?;
        if (1..=CHECKED).contains(&length) {
            let checked = guarded(|| database.check_integrity());
            let error = match checked {
                Ok(Ok(_)) => None,
                Ok(Err(error)) => Some(wrong(path, error.into())),
                Err(()) => Some(panicked(path)),
            };
            if let Some(error) = error {
                // Nothing more may be written to the file.
                std::mem::forget(database);
                return Err(error);
            }
        }
        Store::new(Access::Write(database), path, most.max(1))
    }

    /// Opens a file that exists, to read it. The file is not changed, and needs no permission to write.
    ///
    /// # Errors
    /// As those of [`Store::open`], and if the file does not exist, or was not closed because its writer was killed.
    pub fn open_existing(path: &Path) -> Result<Store, StoreError> {
        let found = std::fs::metadata(path).map_err(|error| StoreError::Io { path: path.to_owned(), error })?;
        let access = if found.is_file() && found.len() == 0 {
            Access::Empty
        } else {
            Access::Read(waited(path, || builder().open_read_only(path))?)
        };
        Store::new(access, path, MOST_PROFILES)
    }

    fn new(access: Access, path: &Path, most: u64) -> Result<Store, StoreError> {
        let mut store = Store { access: Some(access), path: path.to_owned(), most, is_broken: Cell::new(false) };
        if !store.checked(|| store.prepare())? {
            store.access = Some(Access::Empty);
        }
        Ok(store)
    }

    /// Creates the tables of a new file, and checks the format of an old one. Returns false if the file has no tables and can't
    /// be changed.
    fn prepare(&self) -> Result<bool, StoreError> {
        let found = self.ask(None, |read| {
            let settings = match read.open_table(SETTINGS) {
                Err(TableError::TableDoesNotExist(_)) => return Ok(None),
                other => other?,
            };
            Ok(settings.get("format")?.map(|format| format.value()))
        })?;
        match found {
            Some(FORMAT) => return Ok(true),
            Some(newer) if newer > FORMAT => {
                return Err(StoreError::TooNew { path: self.path.clone(), found: newer, known: FORMAT });
            }
            Some(other) => return Err(self.damaged(format!("it has format {other}"))),
            None => {}
        }
        let is_foreign = self.ask(false, |read| Ok(read.list_tables()?.next().is_some()))?;
        if is_foreign {
            return Err(self.damaged("it is a database of another program".to_owned()));
        }
        let Some(Access::Write(database)) = &self.access else { return Ok(false) };
        let made = || -> Result<(), Error> {
            let write = database.begin_write()?;
            write.open_table(SETTINGS)?.insert("format", FORMAT)?;
            write.open_table(KINDS)?;
            write.open_table(PROFILES)?;
            write.open_table(AGES)?;
            write.commit()?;
            Ok(())
        };
        made().map(|()| true).map_err(|error| wrong(&self.path, error))
    }

    fn damaged(&self, why: String) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), why }
    }

    /// Runs a function on the database. A panic in it, such as one about a damaged page, becomes an error.
    fn checked<T>(&self, work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        guarded(work).unwrap_or_else(|()| {
            self.is_broken.set(true);
            Err(panicked(&self.path))
        })
    }

    /// Reads from the file; `empty` is the answer of a file without tables.
    fn ask<T>(&self, empty: T, question: impl FnOnce(&ReadTransaction) -> Result<T, Error>) -> Result<T, StoreError> {
        let read = match &self.access {
            Some(Access::Write(database)) => database.begin_read(),
            Some(Access::Read(database)) => database.begin_read(),
            Some(Access::Empty) | None => return Ok(empty),
        };
        read.map_err(Error::from).and_then(|read| question(&read)).map_err(|error| wrong(&self.path, error))
    }

    /// Adds profiles, the oldest first, and drops the oldest of all if there are then too many. Profiles that are not valid
    /// are left out. When this returns, the profiles are on the disk. Returns the number of profiles in the file.
    ///
    /// # Errors
    /// If the file can't be written. Nothing is added in that case.
    pub fn add(&self, profiles: &[Profile]) -> Result<u64, StoreError> {
        self.checked(|| self.write(profiles, None)).map(|count| count.unwrap_or(0))
    }

    /// Adds the profiles of a run as [`Store::add`] does, unless the same profiles were added by this function before. So a run
    /// that is resumed adds its profiles once, whether it was killed before or after it had added them. Returns whether they
    /// were added now.
    ///
    /// # Errors
    /// If the file can't be written. Nothing is added in that case.
    pub fn add_once(&self, profiles: &[Profile]) -> Result<bool, StoreError> {
        let run = fingerprint(profiles);
        self.checked(|| self.write(profiles, Some(run))).map(|count| count.is_some())
    }

    /// Adds profiles in one transaction. Returns the number of profiles in the file; `None` if those of this run are in it
    /// already.
    fn write(&self, profiles: &[Profile], run: Option<u128>) -> Result<Option<u64>, StoreError> {
        let Some(Access::Write(database)) = &self.access else {
            return Err(StoreError::ReadOnly { path: self.path.clone() });
        };
        self.write_to(database, profiles, run).map_err(|error| wrong(&self.path, error))
    }

    fn write_to(&self, database: &Database, profiles: &[Profile], run: Option<u128>) -> Result<Option<u64>, Error> {
        let write = database.begin_write()?;
        let count = {
            let mut settings = write.open_table(SETTINGS)?;
            let mut kinds = write.open_table(KINDS)?;
            let mut stored = write.open_table(PROFILES)?;
            let mut ages = write.open_table(AGES)?;
            let mut runs = write.open_table(RUNS)?;
            let mut run_ages = write.open_table(RUN_AGES)?;
            if let Some(run) = run
                && runs.get(run)?.is_some()
            {
                return Ok(None);
            }
            let mut next = settings.get("next")?.map_or(0, |next| next.value());
            let mut newest = None;
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
                newest = Some(next);
                next += 1;
            }
            if let Some((run, newest)) = run.zip(newest) {
                runs.insert(run, newest)?;
                run_ages.insert(newest, run)?;
            }
            settings.insert("next", next)?;
            settings.insert("next_kind", next_kind)?;
            let mut count = ages.len()?;
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
                let oldest = ages.first()?.map_or(next, |(number, _)| number.value());
                forget_runs(&mut runs, &mut run_ages, oldest)?;
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
        Ok(Some(count))
    }

    /// Returns the number of profiles.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn len(&self) -> Result<u64, StoreError> {
        self.checked(|| self.ask(0, |read| Ok(read.open_table(AGES)?.len()?)))
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
            self.ask(Vec::new(), |read| {
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
            self.ask(None, |read| {
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

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE);
    builder
}

/// Opens a database, and waits some seconds if another process uses it.
fn waited<T>(path: &Path, open: impl Fn() -> Result<T, DatabaseError>) -> Result<T, StoreError> {
    for _ in 0..TRIES {
        match guarded(&open).map_err(|()| panicked(path))? {
            Err(DatabaseError::DatabaseAlreadyOpen) => sleep(PAUSE),
            Err(error) => return Err(wrong(path, error.into())),
            Ok(database) => return Ok(database),
        }
    }
    Err(StoreError::InUse { path: path.to_owned() })
}

/// Removes the fingerprints of runs whose profiles have all been dropped: the oldest profile now has the number `oldest`.
fn forget_runs(runs: &mut Table<u128, u64>, ages: &mut Table<u64, u128>, oldest: u64) -> Result<(), Error> {
    loop {
        let first = ages.first()?.map(|(newest, run)| (newest.value(), run.value()));
        let Some((newest, run)) = first.filter(|(newest, _)| *newest < oldest) else { break };
        ages.remove(newest)?;
        runs.remove(run)?;
    }
    Ok(())
}

/// Returns a number that is the same for the same profiles, in every version: FNV-1a of 128 bits. Durations in nanoseconds
/// distinguish runs.
fn fingerprint(profiles: &[Profile]) -> u128 {
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    let mut add = |bytes: &[u8]| {
        for byte in bytes.iter().copied().chain([0]) {
            hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    };
    for profile in profiles.iter().filter(|profile| profile.is_valid()) {
        for name in [&profile.job, &profile.phase, &profile.node] {
            add(name.as_bytes());
        }
        add(&profile.seconds.to_bits().to_le_bytes());
    }
    hash
}

fn panicked(path: &Path) -> StoreError {
    StoreError::Damaged { path: path.to_owned(), why: "a page of it is not valid".to_owned() }
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
        Error::RepairAborted => StoreError::NotClosed { path },
        other => StoreError::Damaged { path, why: other.to_string() },
    }
}
