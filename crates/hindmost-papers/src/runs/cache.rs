//! Keeps what was measured in simulations on the disk, so that a reproduction that was interrupted, or whose claims have
//! changed, need not simulate again.
//!
//! A file holds the results of one run: one scenario, policy and seed. Its name is a hash of these and of the program, so
//! that another version of the program never uses it. All jobs of a run are not kept, because they would take gigabytes:
//! such runs are simulated again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Kept, Want};

/// A folder with the results of simulations.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    /// Identifies the program.
    program: u64,
}

/// What was kept of a run. Numbers are stored by their bits, so that NaN is kept, too.
#[derive(Serialize, Deserialize)]
enum Stored {
    Number(u64),
    Shares(Vec<u64>),
    ByJob(Vec<(u64, u64)>),
}

impl Cache {
    /// Opens a folder, which is created if it does not exist.
    ///
    /// # Errors
    /// If the folder cannot be created, or the program cannot be read, which identifies its version.
    pub fn open(folder: &Path) -> io::Result<Cache> {
        std::fs::create_dir_all(folder)?;
        let mut hasher = DefaultHasher::new();
        std::fs::read(std::env::current_exe()?)?.hash(&mut hasher);
        Ok(Cache { folder: folder.to_owned(), program: hasher.finish() })
    }

    /// Returns the file of a run. Two hashes make it unlikely that two runs share a file.
    fn file(&self, run: &str, seed: u64) -> PathBuf {
        let hash = |salt: u64| {
            let mut hasher = DefaultHasher::new();
            (salt, self.program, run, seed).hash(&mut hasher);
            hasher.finish()
        };
        self.folder.join(format!("{:016x}{:016x}.json", hash(0), hash(1)))
    }

    /// Returns what was kept of a run for each request; `None` if something is missing.
    pub(super) fn load(&self, run: &str, seed: u64, wants: &[(Want, bool)]) -> Option<Vec<Kept>> {
        let text = std::fs::read(self.file(run, seed)).ok()?;
        // A file that was cut short counts as missing.
        let mut stored: Vec<(String, Stored)> = serde_json::from_slice(&text).ok()?;
        let mut kept = Vec::with_capacity(wants.len());
        for want in wants {
            let name = name(want);
            let at = stored.iter().position(|(known, _)| *known == name)?;
            kept.push(match stored.swap_remove(at).1 {
                Stored::Number(bits) => Kept::Number(f64::from_bits(bits)),
                Stored::Shares(bits) => Kept::Shares(bits.into_iter().map(f64::from_bits).collect()),
                Stored::ByJob(jobs) => {
                    Kept::ByJob(jobs.into_iter().map(|(job, bits)| (job, f64::from_bits(bits))).collect())
                }
            });
        }
        Some(kept)
    }

    /// Stores what was kept of a run.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn store(&self, run: &str, seed: u64, wants: &[(Want, bool)], kept: &[Kept]) -> io::Result<()> {
        let stored = |(want, kept): (&(Want, bool), &Kept)| {
            let stored = match kept {
                Kept::Number(number) => Stored::Number(number.to_bits()),
                Kept::Shares(shares) => Stored::Shares(shares.iter().map(|share| share.to_bits()).collect()),
                Kept::ByJob(jobs) => Stored::ByJob(jobs.iter().map(|(job, value)| (*job, value.to_bits())).collect()),
                Kept::Rows(_) => return None,
            };
            Some((name(want), stored))
        };
        let all: Vec<(String, Stored)> = wants.iter().zip(kept).filter_map(stored).collect();
        let file = self.file(run, seed);
        // The final name appears only when the content is complete.
        let part = file.with_extension("part");
        std::fs::write(&part, serde_json::to_vec(&all)?)?;
        std::fs::rename(part, file)
    }
}

fn name((want, cut): &(Want, bool)) -> String {
    format!("{want:?} {cut}")
}
