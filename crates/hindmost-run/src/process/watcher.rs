//! Tells when processes end, without threads: a descriptor for each becomes readable when its process has
//! ended, and one wait is for all of them.

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

/// Tells when processes end, ours or adopted or anybody's. It reaps none.
#[derive(Debug)]
pub struct Watcher {
    epoll: OwnedFd,
    /// By the number under which the descriptor is known to epoll.
    watched: HashMap<u64, (OwnedFd, u64)>,
    last: u64,
    /// Tokens of processes that were gone when they were to be watched.
    gone: Vec<u64>,
}

/// How many ends are told of in one go.
const BATCH: usize = 64;

impl Watcher {
    /// A watcher of no processes.
    ///
    /// # Errors
    ///
    /// If the system lacks what it takes: pidfds need Linux 5.3.
    pub fn new() -> io::Result<Watcher> {
        let ourselves = Stat::read(std::process::id())?;
        pidfd::open(ourselves.pid, ourselves.start_time).map_err(|error| {
            io::Error::new(error.kind(), format!("can't watch processes, which takes Linux 5.3 or later: {error}"))
        })?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Watcher { epoll, watched: HashMap::new(), last: 0, gone: Vec::new() })
    }

    /// How many processes are watched that have not been seen to end. Each takes a descriptor.
    pub fn count(&self) -> usize {
        self.watched.len()
    }

    /// Lets [`Watcher::wait`] return `token` once the process has ended: at once, if it already has.
    ///
    /// # Errors
    ///
    /// If there are too many open descriptors.
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

    /// Waits until a watched process ends, or for so long; in whole milliseconds. Returns the tokens of
    /// processes that have ended, each once. It may return none before the time is over.
    pub fn wait(&mut self, most: Duration) -> Vec<u64> {
        let mut ended = std::mem::take(&mut self.gone);
        let most = if ended.is_empty() { most.min(Duration::from_hours(1)) } else { Duration::ZERO };
        let millis = most.as_nanos().div_ceil(1_000_000) as i64;
        let timeout = Timespec { tv_sec: millis / 1000, tv_nsec: millis % 1000 * 1_000_000 };
        let mut events: Vec<epoll::Event> = Vec::with_capacity(BATCH);
        match epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            // Never seen; trying again is better than never to tell of an end.
            Err(_) => std::thread::sleep(most.min(Duration::from_millis(10))),
        }
        for event in events {
            let Some((descriptor, token)) = self.watched.remove(&event.data.u64()) else { continue };
            // Closing it would take it from epoll as well, unless a child that is being started has a copy
            // at this moment.
            let _ = epoll::delete(&self.epoll, &descriptor);
            ended.push(token);
        }
        ended
    }
}
