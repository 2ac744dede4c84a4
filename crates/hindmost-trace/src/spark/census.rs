//! Counts the executors of an application.

use rustc_hash::FxHashSet;

use super::executors::is_driver;
use super::fields::Excluded;
use super::id_sets::NameSet;

/// The distinct executors of an application, and the executors and hosts that were excluded after failures.
#[derive(Debug, Default)]
pub(super) struct Census {
    known: NameSet,
    announced: NameSet,
    excluded: NameSet,
    excluded_hosts: FxHashSet<Box<str>>,
}

impl Census {
    /// Records an executor that was announced by an `ExecutorAdded` or `BlockManagerAdded` event.
    pub(super) fn announced(&mut self, name: Option<&str>) {
        if let Some(name) = name {
            self.known.insert(name);
            self.announced.insert(name);
        }
    }

    /// Records a block manager of the driver or of an executor.
    pub(super) fn block_manager(&mut self, name: Option<&str>) {
        self.announced(name.filter(|name| !is_driver(name)));
    }

    /// Records that a task ended on an executor.
    pub(super) fn ran(&mut self, name: Option<&str>) {
        if let Some(name) = name {
            self.known.insert(name);
        }
    }

    pub(super) fn excluded(&mut self, event: &Excluded<'_>) {
        if let Some(name) = event.executor.get() {
            self.excluded.insert(name);
        }
        if let Some(host) = event.host.get()
            && !self.excluded_hosts.contains(host)
        {
            self.excluded_hosts.insert(host.into());
        }
    }

    pub(super) fn executors(&self) -> u64 {
        self.known.len()
    }

    /// Returns the number of executors that only task end events name, without the driver in local mode.
    pub(super) fn unannounced(&self) -> u64 {
        let drivers = super::executors::DRIVERS.iter();
        let drivers = drivers.filter(|name| self.known.contains(name) && !self.announced.contains(name)).count();
        self.known.len() - self.announced.len() - drivers as u64
    }

    pub(super) fn excluded_executors(&self) -> u64 {
        self.excluded.len()
    }

    pub(super) fn excluded_hosts(&self) -> u64 {
        self.excluded_hosts.len() as u64
    }
}
