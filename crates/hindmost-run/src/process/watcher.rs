//! Reports the ends of processes, without threads: the descriptor of each process becomes readable when it has ended, and
//! one call waits for all of them.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use super::identity::{Identity, boot_id};
use super::pidfd;
use super::stat::Stat;

/// Reports the ends of processes, which need not be children of this process. It does not reap them.
#[derive(Debug)]
pub struct Watcher {
    epoll: OwnedFd,
    /// The descriptor and token of each process, by its number in epoll.
    watched: HashMap<u64, (OwnedFd, u64)>,
    /// The last number that was given to a process in epoll.
    last: u64,
    /// Tokens of processes that had ended before they were watched.
    gone: Vec<u64>,
}

/// Number of ends that one call of [`Watcher::wait`] reports at most.
const BATCH: usize = 64;

impl Watcher {
    /// Creates a watcher without processes.
    ///
    /// # Errors
    ///
    /// If the system does not support pidfds (Linux 5.3 or later).
    pub fn new() -> io::Result<Watcher> {
        let own = Stat::read(std::process::id())?;
        pidfd::open(own.pid, own.start_time).map_err(|error| {
            io::Error::new(error.kind(), format!("can't watch processes: {error}; this needs Linux 5.3 or later"))
        })?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Watcher { epoll, watched: HashMap::new(), last: 0, gone: Vec::new() })
    }

    /// Returns the number of watched processes whose end has not been reported. Each takes a descriptor.
    pub fn count(&self) -> usize {
        self.watched.len()
    }

    /// Lets [`Watcher::wait`] return `token` once the process has ended; immediately if it already has.
    ///
    /// # Errors
    ///
    /// If too many descriptors are open.
    pub fn watch(&mut self, process: &Identity, token: u64) -> io::Result<()> {
        let descriptor =
            if process.boot_id == boot_id()? { pidfd::open(process.pid, process.start_time)? } else { None };
        let Some(descriptor) = descriptor else {
            self.gone.push(token);
            return Ok(());
        };
        self.last += 1;
        epoll::add(&self.epoll, &descriptor, epoll::EventData::new_u64(self.last), epoll::EventFlags::IN)?;
        self.watched.insert(self.last, (descriptor, token));
        Ok(())
    }

    /// Waits until a watched process ends, or for at most the time `most`, rounded up to milliseconds. Returns the tokens of
    /// processes that have ended, each once. It may return early without tokens.
    pub fn wait(&mut self, most: Duration) -> Vec<u64> {
        let mut ended = std::mem::take(&mut self.gone);
        let most = if ended.is_empty() { most.min(Duration::from_hours(1)) } else { Duration::ZERO };
        let millis = most.as_nanos().div_ceil(1_000_000) as i64;
        let timeout = Timespec { tv_sec: millis / 1000, tv_nsec: millis % 1000 * 1_000_000 };
        let mut events: Vec<epoll::Event> = Vec::with_capacity(BATCH);
        match epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&timeout)) {
            Ok(_) => {}
            // This process was stopped and goes on, for example. What has ended meanwhile must be known before anything counts as late.
            Err(Errno::INTR) => _ = epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&Timespec::default())),
            // This should not happen. Waiting and trying again makes sure that ends are still reported.
            Err(_) => std::thread::sleep(most.min(Duration::from_millis(10))),
        }
        for event in events {
            let Some((descriptor, token)) = self.watched.remove(&event.data.u64()) else { continue };
            // Closing the descriptor removes it from epoll too, except while a child that is being started has a copy of it.
            let _ = epoll::delete(&self.epoll, &descriptor);
            ended.push(token);
        }
        ended
    }
}
