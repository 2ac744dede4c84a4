//! Open files: how many this process may have, and how many attempts that allows at a time.
//!
//! Each attempt takes a descriptor while it runs. Some more are kept in reserve, for starting an attempt, and
//! for looking at processes and killing them: those must never fail for want of one.

use std::io;
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::process::own_limit;

/// Descriptors in reserve: the journal, three for an attempt's files, one for its folder, one for the file
/// that names its process, two for starting it, and some for looking at processes and moving results.
const RESERVE: u64 = 12;

/// The limit on open files.
#[derive(Debug)]
pub(super) struct Descriptors {
    /// The soft limit before it was raised, which commands get back.
    before: Option<u64>,
    /// Attempts that may run at a time.
    most: u64,
}

impl Descriptors {
    /// Raises the soft limit to the hard one, since each attempt takes a descriptor.
    ///
    /// # Errors
    /// If the limit allows not even one attempt.
    pub fn raise() -> io::Result<Descriptors> {
        static BEFORE: OnceLock<Option<u64>> = OnceLock::new();
        let before = *BEFORE.get_or_init(|| {
            let Rlimit { current, maximum } = own_limit("Max open files");
            let raised = current.is_some() && current != maximum;
            let granted = raised && setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
            current.filter(|_| granted)
        });
        let limit = own_limit("Max open files").current.unwrap_or(u64::MAX);
        // The listing has a descriptor itself.
        let open = std::fs::read_dir("/proc/self/fd").map_or(16, |entries| entries.count().saturating_sub(1)) as u64;
        let most = limit.saturating_sub(open + RESERVE);
        if most == 0 {
            return Err(io::Error::other(format!(
                "only {limit} files may be open at a time (ulimit -n), and a run needs {}",
                open + RESERVE + 1
            )));
        }
        Ok(Descriptors { before, most })
    }

    /// The soft limit that commands get back, if it was raised.
    pub fn limit_before(&self) -> Option<u64> {
        self.before
    }

    /// Whether one more attempt may be started while so many run.
    ///
    /// # Errors
    /// If not, the error that the system gives when there are too many open files.
    pub fn check(&self, running: usize) -> io::Result<()> {
        if (running as u64) < self.most { Ok(()) } else { Err(rustix::io::Errno::MFILE.into()) }
    }
}
