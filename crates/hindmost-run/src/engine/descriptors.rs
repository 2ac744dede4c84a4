//! The limit on open files of this process, and how many attempts it allows at a time.
//!
//! Each running attempt takes one descriptor. Some more are kept in reserve for starting an attempt and for finding and
//! killing processes, so that these never fail for lack of a descriptor.

use std::io;
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::process::own_limit;

/// Descriptors in reserve: one for the journal, three for an attempt's files, one for its folder, one for the file that
/// names its process, two for starting it, and some for finding processes and moving results.
const RESERVE: u64 = 12;

/// The limit on open files.
#[derive(Debug)]
pub(super) struct Descriptors {
    /// The soft limit before it was raised; it is restored for commands.
    before: Option<u64>,
    /// Largest number of attempts that may run at a time.
    most: u64,
}

impl Descriptors {
    /// Raises the soft limit to the hard one, since each attempt takes a descriptor.
    ///
    /// # Errors
    /// If the limit does not allow a single attempt.
    pub fn raise() -> io::Result<Descriptors> {
        static BEFORE: OnceLock<Option<u64>> = OnceLock::new();
        let before = *BEFORE.get_or_init(|| {
            let Rlimit { current, maximum } = own_limit("Max open files");
            let raised = current.is_some() && current != maximum;
            let granted = raised && setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
            current.filter(|_| granted)
        });
        let limit = own_limit("Max open files").current.unwrap_or(u64::MAX);
        // Reading the folder takes a descriptor too.
        let open = std::fs::read_dir("/proc/self/fd").map_or(16, |entries| entries.count().saturating_sub(1)) as u64;
        let most = limit.saturating_sub(open + RESERVE);
        if most == 0 {
            return Err(io::Error::other(format!(
                "only {limit} files may be open at a time, but a run needs {}: raise the limit with ulimit -n",
                open + RESERVE + 1
            )));
        }
        Ok(Descriptors { before, most })
    }

    /// Returns the soft limit to restore for commands; `None` if it was not raised.
    pub fn limit_before(&self) -> Option<u64> {
        self.before
    }

    /// Checks that one more attempt may be started while `running` attempts run.
    ///
    /// # Errors
    /// If it may not be started: the system's error for too many open files.
    pub fn check(&self, running: usize) -> io::Result<()> {
        if (running as u64) < self.most { Ok(()) } else { Err(rustix::io::Errno::MFILE.into()) }
    }
}
