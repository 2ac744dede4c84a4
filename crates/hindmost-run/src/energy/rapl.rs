//! The energy counters of the processor packages (RAPL), as the Linux kernel shows them in `/sys/class/powercap`.
//!
//! Every package is a folder `intel-rapl:N` with the files `name` (`package-N`), `energy_uj` (microjoules so far) and
//! `max_energy_range_uj` (at this value the counter begins again at 0). AMD processors have the same files under the
//! same names. The parts of a package (`intel-rapl:N:M`) are contained in it, `intel-rapl-mmio:N` shows the same
//! package again, and `psys` contains the packages, so none of them is counted. Since 2020, kernels let only root read
//! the counters.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between two samples. A counter of 2^32 × 15.3 µJ takes over a minute to begin again at 1000 W.
const BETWEEN_SAMPLES: Duration = Duration::from_secs(20);

/// The counter of one package.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Package {
    name: String,
    counter: PathBuf,
    /// Value at which the counter begins again, microjoules.
    range: u64,
    /// Last value, microjoules.
    last: u64,
    /// Energy so far, microjoules.
    used: u64,
}

/// The counters of all packages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packages(Vec<Package>);

/// Energy that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Energy of all packages, joules.
    pub joules: f64,
    /// Names of the packages.
    pub packages: Vec<String>,
}

impl Packages {
    /// Finds the packages in a folder such as `/sys/class/powercap` and begins to count.
    ///
    /// # Errors
    /// If there are no packages, or a counter cannot be read; the message says why.
    pub fn find(folder: &Path) -> Result<Packages, String> {
        let shown = folder.display();
        let entries = fs::read_dir(folder).map_err(|error| format!("{shown} can't be read ({error})"))?;
        let mut zones: Vec<PathBuf> =
            entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| is_top_zone(path)).collect();
        zones.sort_unstable();
        let mut packages = Vec::new();
        for zone in zones {
            let Ok(name) = fs::read_to_string(zone.join("name")) else { continue };
            if !name.trim().starts_with("package") {
                continue;
            }
            let counter = zone.join("energy_uj");
            let number =
                |path: &Path| read(path).map_err(|error| format!("{} can't be read ({error})", path.display()));
            let (range, last) = (number(&zone.join("max_energy_range_uj"))?, number(&counter)?);
            packages.push(Package { name: name.trim().to_owned(), counter, range, last, used: 0 });
        }
        if packages.is_empty() {
            return Err(format!("{shown} has no counters of processor packages"));
        }
        Ok(Packages(packages))
    }

    /// Reads all counters. Must be called more often than a counter begins again at 0.
    ///
    /// # Errors
    /// If a counter cannot be read.
    pub fn sample(&mut self) -> Result<(), String> {
        for package in &mut self.0 {
            let path = &package.counter;
            let now = read(path).map_err(|error| format!("{} can't be read ({error})", path.display()))?;
            let used = if now >= package.last {
                now - package.last
            } else {
                package.range.saturating_sub(package.last).saturating_add(now)
            };
            package.used = package.used.saturating_add(used);
            package.last = now;
        }
        Ok(())
    }

    /// Returns the energy from the begin to the last sample.
    pub fn measured(&self) -> Measured {
        Measured {
            joules: self.0.iter().map(|package| package.used as f64 / 1e6).sum(),
            packages: self.0.iter().map(|package| package.name.clone()).collect(),
        }
    }
}

/// Returns true for the folder of a package, such as `intel-rapl:0`.
fn is_top_zone(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    let number = name.as_deref().and_then(|name| name.strip_prefix("intel-rapl:"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn read(path: &Path) -> io::Result<u64> {
    fs::read_to_string(path)?.trim().parse().map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not a number"))
}

/// Reads the counters in the background until it is finished, so that none begins again unnoticed.
pub struct Sampler {
    stop: Sender<()>,
    thread: JoinHandle<Result<Packages, String>>,
}

impl Sampler {
    /// Begins to measure.
    ///
    /// # Errors
    /// The same as those of [`Packages::find`].
    pub fn start(folder: &Path) -> Result<Sampler, String> {
        let mut packages = Packages::find(folder)?;
        let (stop, stopped) = channel();
        let work = move || {
            while stopped.recv_timeout(BETWEEN_SAMPLES) == Err(RecvTimeoutError::Timeout) {
                packages.sample()?;
            }
            packages.sample()?;
            Ok(packages)
        };
        let thread = std::thread::Builder::new().name("energy".to_owned()).spawn(work);
        let thread = thread.map_err(|error| format!("the counters can't be watched ({error})"))?;
        Ok(Sampler { stop, thread })
    }

    /// Ends the measurement.
    ///
    /// # Errors
    /// If a counter could not be read.
    pub fn finish(self) -> Result<Measured, String> {
        drop(self.stop);
        let packages = self.thread.join().map_err(|_| "the counters could not be watched".to_owned())??;
        Ok(packages.measured())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use tempfile::TempDir;

    /// Writes the files of a zone.
    fn zone(folder: &Path, zone: &str, name: &str, energy: &str) {
        let zone = folder.join(zone);
        fs::create_dir_all(&zone).unwrap();
        for (file, text) in [("name", name), ("energy_uj", energy), ("max_energy_range_uj", "262143328850")] {
            fs::write(zone.join(file), format!("{text}\n")).unwrap();
        }
    }

    fn two_packages() -> TempDir {
        let dir = TempDir::new().unwrap();
        zone(dir.path(), "intel-rapl:0", "package-0", "1000000");
        zone(dir.path(), "intel-rapl:1", "package-1", "262143000000");
        // Zones that repeat or contain packages.
        zone(dir.path(), "intel-rapl:0:0", "core", "500000");
        zone(dir.path(), "intel-rapl:2", "psys", "9000000");
        zone(dir.path(), "intel-rapl-mmio:0", "package-0", "1000000");
        fs::create_dir(dir.path().join("intel-rapl")).unwrap();
        dir
    }

    #[test]
    fn packages_are_added_up_across_a_new_begin() {
        let dir = two_packages();
        let mut packages = Packages::find(dir.path()).unwrap();
        let energy = |zone: &str, value: &str| fs::write(dir.path().join(zone).join("energy_uj"), value).unwrap();
        energy("intel-rapl:0", "3500000");
        packages.sample().unwrap();
        energy("intel-rapl:0", "4000000");
        // From 262 143.000 J to the end of the range, 262 143.328 85 J, and 1.5 J more.
        energy("intel-rapl:1", "1500000");
        packages.sample().unwrap();
        let measured = packages.measured();
        assert_eq!(measured.packages, ["package-0", "package-1"]);
        assert!((measured.joules - (3.0 + 0.328_85 + 1.5)).abs() < 1e-9, "{}", measured.joules);
    }

    #[test]
    fn a_sampler_measures_until_it_is_finished() {
        let dir = two_packages();
        let sampler = Sampler::start(dir.path()).unwrap();
        fs::write(dir.path().join("intel-rapl:0/energy_uj"), "2000000").unwrap();
        assert_eq!(sampler.finish().unwrap().joules, 1.0);
        let sampler = Sampler::start(dir.path()).unwrap();
        fs::remove_file(dir.path().join("intel-rapl:1/energy_uj")).unwrap();
        assert!(sampler.finish().unwrap_err().contains("intel-rapl:1/energy_uj can't be read"));
    }

    #[test]
    fn missing_counters_have_a_reason() {
        let dir = TempDir::new().unwrap();
        let wrong = |folder: &Path| Packages::find(folder).unwrap_err();
        assert!(wrong(dir.path()).ends_with("has no counters of processor packages"));
        assert!(wrong(&dir.path().join("none")).contains("can't be read"));
        zone(dir.path(), "intel-rapl:0", "package-0", "many");
        assert!(wrong(dir.path()).contains("energy_uj can't be read (not a number)"));
    }
}
