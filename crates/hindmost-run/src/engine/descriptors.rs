//! The limit on open files of this process, and how many attempts it allows at a time.
//!
//! Each running attempt takes one descriptor, or two if the engine writes its end marker. The soft limit is raised to the
//! hard one when attempts need it, and not before: afterwards every command needs a shell that restores the limit. Some
//! descriptors are kept in reserve for starting an attempt and for finding and
//! killing processes, so that these never fail for lack of a descriptor.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::process::own_limit;

/// Descriptors in reserve: one for the journal, three for an attempt's files, one for its folder, one for the file that
/// names its process, two for starting it, and some for finding processes and moving results.
const RESERVE: u64 = 12;

/// The soft limit of this process before it was raised; `None` if it was not. Several engines may run in one process.
static BEFORE: Mutex<Option<u64>> = Mutex::new(None);

/// The limit on open files.
#[derive(Debug)]
pub(super) struct Descriptors {
    /// Number of descriptors above which the soft limit is raised: half of it, in case that other code opens files too.
    calm: u64,
    /// Largest number of descriptors that attempts may take.
    most: u64,
}

impl Descriptors {
    /// Reads the limit.
    ///
    /// # Errors
    /// If the limit does not allow a single attempt.
    pub fn new() -> io::Result<Descriptors> {
        let Rlimit { current, maximum } = own_limit("Max open files");
        let limit = maximum.unwrap_or(u64::MAX);
        // Reading the folder takes a descriptor too.
        let open = std::fs::read_dir("/proc/self/fd").map_or(16, |entries| entries.count().saturating_sub(1)) as u64;
        let most = limit.saturating_sub(open + RESERVE);
        if most == 0 {
            return Err(io::Error::other(format!(
                "only {limit} files may be open at a time, but a run needs {}: raise the limit with ulimit -n",
                open + RESERVE + 1
            )));
        }
        Ok(Descriptors { calm: (current.unwrap_or(u64::MAX) / 2).saturating_sub(open + RESERVE), most })
    }

    /// Returns the soft limit to restore for commands; `None` if it was not raised.
    #[allow(clippy::unused_self, reason = "the limit belongs to this value for its callers")]
    pub fn limit_before(&self) -> Option<u64> {
        *locked(&BEFORE)
    }

    /// Checks that one more attempt may be started while attempts take `taken` descriptors. Raises the soft limit if the attempt
    /// needs it.
    ///
    /// # Errors
    /// If it may not be started: the system's error for too many open files.
    pub fn check(&mut self, taken: usize) -> io::Result<()> {
        let taken = taken as u64;
        if taken >= self.calm {
            self.raise();
        }
        if taken < self.most { Ok(()) } else { Err(rustix::io::Errno::MFILE.into()) }
    }

    /// Raises the soft limit to the hard one. A system that refuses leaves the limit as it is.
    fn raise(&mut self) {
        let mut before = locked(&BEFORE);
        let Rlimit { current, maximum } = own_limit("Max open files");
        self.calm = u64::MAX;
        if current.is_none() || current == maximum {
            return;
        }
        if setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok() {
            *before = current;
        } else {
            let refused = current.zip(maximum).map_or(0, |(current, maximum)| maximum.saturating_sub(current));
            self.most = self.most.saturating_sub(refused);
        }
    }
}

/// Locks the limit, even if a thread has panicked while it held the lock: each change is a single step.
fn locked(limit: &Mutex<Option<u64>>) -> MutexGuard<'_, Option<u64>> {
    limit.lock().unwrap_or_else(PoisonError::into_inner)
}
