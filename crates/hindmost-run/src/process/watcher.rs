//! Tells when processes end: one thread waits for all of them, each by a descriptor that becomes
//! readable when its process has ended.
//!
//! The thread also reaps. Of each watched process that is our child; and, if orphans come to us, of
//! the orphans of attempts among our children, for they would stay zombies as long as we live. Orphans
//! appear only when their parent ends, so after each end our children are looked through for new
//! ones, which are watched in turn without anyone being told.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::io::Errno;

use super::identity::{Identity, boot_id};
use super::ours::{self, locked};
use super::stat::Stat;
use super::{pidfd, tree};

/// Tells when processes end, ours or adopted or anybody's. See the module's documentation.
#[derive(Debug)]
pub struct Watcher {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread and the callers have in common.
#[derive(Debug)]
struct Shared {
    epoll: OwnedFd,
    /// Wakes the thread.
    bell: OwnedFd,
    stop: AtomicBool,
    state: Mutex<State>,
}

/// Everything that is waited for.
#[derive(Debug, Default)]
struct State {
    /// By the number under which the descriptor is known to epoll; none of them is `BELL`.
    watched: HashMap<u64, Watched>,
    last: u64,
    /// Tokens of processes that were gone when they were to be watched.
    gone: Vec<u64>,
}

/// A process that hasn't been seen to end.
#[derive(Debug)]
struct Watched {
    descriptor: OwnedFd,
    pid: u32,
    start_time: u64,
    /// None if nobody wants to be told.
    token: Option<u64>,
}

/// What epoll calls the bell.
const BELL: u64 = 0;

/// How many ends are told of in one go.
const BATCH: usize = 64;

impl Watcher {
    /// Starts the thread. It calls `on_end` with the token of each watched process that has ended, and
    /// watches no other ends meanwhile.
    ///
    /// # Errors
    ///
    /// If the system lacks what it takes: pidfds need Linux 5.3.
    pub fn new(on_end: impl Fn(u64) + Send + 'static) -> io::Result<Watcher> {
        let ourselves = Stat::read(std::process::id())?;
        pidfd::open(ourselves.pid, ourselves.start_time).map_err(|error| {
            io::Error::new(error.kind(), format!("can't watch processes, which takes Linux 5.3 or later: {error}"))
        })?;
        let shared = Arc::new(Shared {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            bell: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            stop: AtomicBool::new(false),
            state: Mutex::default(),
        });
        epoll::add(&shared.epoll, &shared.bell, epoll::EventData::new_u64(BELL), epoll::EventFlags::IN)?;
        let of_thread = Arc::clone(&shared);
        let thread = thread::Builder::new().name("watcher".to_owned()).spawn(move || of_thread.run(&on_end))?;
        Ok(Watcher { shared, thread: Some(thread) })
    }

    /// Calls `on_end(token)` once the process has ended: soon, if it already has. If it is our child it
    /// is reaped first.
    ///
    /// # Errors
    ///
    /// If there are too many open descriptors.
    pub fn watch(&self, process: &Identity, token: u64) -> io::Result<()> {
        let descriptor =
            if process.boot_id == boot_id()? { pidfd::open(process.pid, process.start_time)? } else { None };
        if let Some(descriptor) = descriptor {
            let (pid, start_time) = (process.pid, process.start_time);
            self.shared.add(Watched { descriptor, pid, start_time, token: Some(token) })
        } else {
            ours::forget_root(process.pid, process.start_time);
            locked(&self.shared.state).gone.push(token);
            self.shared.ring();
            Ok(())
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.ring();
        // The last owner may be what `on_end` calls, and a thread can't wait for itself.
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Wakes the thread, now or when it is about to sleep next.
    fn ring(&self) {
        // It can fail only if the bell has been rung 2^64 times unheard.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    fn add(&self, watched: Watched) -> io::Result<()> {
        let mut state = locked(&self.state);
        state.last += 1;
        let number = state.last;
        // The thread finds it in the map at once: it needs the lock that we hold.
        epoll::add(&self.epoll, &watched.descriptor, epoll::EventData::new_u64(number), epoll::EventFlags::IN)?;
        state.watched.insert(number, watched);
        Ok(())
    }

    fn run(&self, on_end: &impl Fn(u64)) {
        let mut events = Vec::with_capacity(BATCH);
        while !self.stop.load(Ordering::Relaxed) {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                // Never seen; trying again is better than never to tell of an end.
                Err(_) => thread::sleep(Duration::from_millis(10)),
            }
            let mut somebody_ended = false;
            for event in &events {
                let number = event.data.u64();
                let token = if number == BELL { None } else { self.take(number) };
                somebody_ended |= number != BELL;
                if let Some(token) = token {
                    on_end(token);
                }
            }
            // Silenced before it is answered: whoever rings from here on is heard the next time.
            if events.iter().any(|event| event.data.u64() == BELL) {
                let _ = rustix::io::read(&self.bell, &mut [0_u8; 8]);
            }
            let gone = std::mem::take(&mut locked(&self.state).gone);
            gone.into_iter().for_each(on_end);
            if somebody_ended && ours::adopts_orphans() {
                self.care_for_orphans();
            }
        }
    }

    /// Reaps a process that has ended and forgets it, and tells its token.
    fn take(&self, number: u64) -> Option<u64> {
        let watched = locked(&self.state).watched.remove(&number)?;
        pidfd::reap(&watched.descriptor);
        ours::forget(watched.pid, watched.start_time);
        ours::forget_root(watched.pid, watched.start_time);
        // Closing it, at the end, would take it from epoll as well, unless a child that is being spawned
        // has a copy at this moment.
        let _ = epoll::delete(&self.epoll, &watched.descriptor);
        watched.token
    }

    /// Reaps orphans of attempts that have ended and watches those that live.
    fn care_for_orphans(&self) {
        let watched: HashSet<u32> = locked(&self.state).watched.values().map(|watched| watched.pid).collect();
        for pid in tree::our_children().into_iter().filter(|pid| !watched.contains(pid)) {
            let Ok(stat) = Stat::read(pid) else { continue };
            if !ours::is_adopted(&stat) {
                continue;
            }
            let Ok(Some(descriptor)) = pidfd::open(pid, stat.start_time) else { continue };
            if stat.has_ended() {
                pidfd::reap(&descriptor);
                ours::forget(pid, stat.start_time);
            } else {
                // If there are too many descriptors, it is found again after the next end.
                let _ = self.add(Watched { descriptor, pid, start_time: stat.start_time, token: None });
            }
        }
    }
}
