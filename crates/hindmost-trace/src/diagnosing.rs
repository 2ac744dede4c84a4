//! Diagnoses applications in other threads while more of the log is read and counted.
//!
//! All logs that are read at the same time share the threads, of which there are as many as cores besides the first. Where none is
//! free, the thread that reads a log diagnoses too. What is found does not depend on who found it: results are sorted by
//! application.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, available_parallelism, spawn};

use hindmost_core::metrics::Diagnosis;

use crate::diagnosis::diagnose_with;
use crate::recording::Recording;

/// Threads that diagnose, of all logs together.
static THREADS: AtomicUsize = AtomicUsize::new(0);
/// The most threads that help with one log.
const MOST_HELPERS: usize = 7;

/// The most bytes of the recordings that wait for a helper, about: enough for helpers to have work while a reader of rows fills half of what
/// it holds.
const MOST_WAITING: usize = 24 << 20;

/// Diagnoses recordings.
#[derive(Debug, Default)]
pub(crate) struct Diagnosing {
    /// Whether diagnoses have details.
    details: bool,
    /// How many recordings were added.
    added: usize,
    /// Recordings that wait for a helper; `None` before the first helper starts.
    queue: Option<Sender<Recording>>,
    /// The bytes of these recordings, and of those that helpers diagnose.
    waiting: Arc<AtomicUsize>,
    /// Threads that count among [`THREADS`].
    helpers: Vec<JoinHandle<()>>,
    found: Arc<Mutex<Vec<Diagnosis>>>,
}

impl Diagnosing {
    pub(crate) fn new(details: bool) -> Diagnosing {
        let mut diagnosing = Diagnosing::default();
        diagnosing.details = details;
        diagnosing
    }

    /// Diagnoses a recording, now or later. Returns what has been found by now.
    pub(crate) fn add(&mut self, recording: Recording) -> Vec<Diagnosis> {
        self.added += 1;
        // Most logs have one application, for which a thread would only be waited for.
        if self.added == 2 {
            self.start();
        }
        let bytes = bytes_of(&recording);
        let is_little = |waiting: usize| waiting == 0 || waiting + bytes <= MOST_WAITING;
        let queue = self.queue.as_ref().filter(|_| is_little(self.waiting.load(Ordering::Relaxed)));
        let not_taken = match queue {
            None => Some(recording),
            Some(queue) => {
                self.waiting.fetch_add(bytes, Ordering::Relaxed);
                queue.send(recording).err().map(|not_sent| not_sent.0)
            }
        };
        let own = not_taken.map(|recording| diagnose_with(&recording, self.details));
        let mut found = self.take();
        found.extend(own);
        found
    }

    /// Whether any recording was added.
    pub(crate) fn is_used(&self) -> bool {
        self.added > 0
    }

    /// Waits for the helpers, and returns what they found.
    pub(crate) fn end(&mut self) -> Vec<Diagnosis> {
        self.queue = None;
        let mut panicked = None;
        for helper in self.helpers.drain(..) {
            panicked = helper.join().err().or(panicked);
            THREADS.fetch_sub(1, Ordering::Relaxed);
        }
        if let Some(panicked) = panicked {
            resume_unwind(panicked);
        }
        self.take()
    }

    fn take(&self) -> Vec<Diagnosis> {
        std::mem::take(&mut *self.found.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Starts helpers, if cores are left for them.
    fn start(&mut self) {
        let most = available_parallelism().map_or(0, |cores| cores.get() - 1);
        let is_free =
            || THREADS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |one| (one < most).then_some(one + 1));
        let (queue, recordings) = channel();
        let recordings = Arc::new(Mutex::new(recordings));
        while self.helpers.len() < MOST_HELPERS && is_free().is_ok() {
            let (recordings, waiting, found) =
                (Arc::clone(&recordings), Arc::clone(&self.waiting), Arc::clone(&self.found));
            let details = self.details;
            self.helpers.push(spawn(move || help(&recordings, details, &waiting, &found)));
        }
        self.queue = (!self.helpers.is_empty()).then_some(queue);
    }
}

impl Drop for Diagnosing {
    fn drop(&mut self) {
        // A log that can't be read to its end leaves helpers that end once nothing waits for them.
        THREADS.fetch_sub(self.helpers.len(), Ordering::Relaxed);
    }
}

/// The bytes of what a recording has most of. A small job has as many nodes as tasks, and ran beside many others.
fn bytes_of(recording: &Recording) -> usize {
    let rows = recording.phases.iter().map(|phase| size_of_val(&phase.rows[..])).sum::<usize>();
    rows + size_of_val(&recording.executors[..]) + size_of_val(&recording.slots_left[..])
}

fn help(recordings: &Mutex<Receiver<Recording>>, details: bool, waiting: &AtomicUsize, found: &Mutex<Vec<Diagnosis>>) {
    loop {
        let next = recordings.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(recording) = next else { return };
        let one = diagnose_with(&recording, details);
        waiting.fetch_sub(bytes_of(&recording), Ordering::Relaxed);
        found.lock().unwrap_or_else(PoisonError::into_inner).push(one);
    }
}
