//! The document: made when it is requested, and kept for a moment, so that many clients cost no more than one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time for which a document is kept.
const KEPT: Duration = Duration::from_millis(500);

/// Makes the bytes of a document.
pub(crate) type Make = Box<dyn FnMut() -> Vec<u8> + Send>;

#[derive(Default)]
struct State {
    /// The document, and when it was made.
    made: Option<(Instant, Arc<[u8]>)>,
    fetched: Option<Instant>,
    fetched_since_renewed: bool,
    renewed: bool,
}

/// The document of a server.
pub(crate) struct Document {
    make: Mutex<Make>,
    state: Mutex<State>,
}

/// Locks a value, also after a panic of another thread: each change of it is complete.
fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Document {
    pub fn new(make: Make) -> Document {
        Document { make: Mutex::new(make), state: Mutex::default() }
    }

    /// Returns the document if it is new enough.
    pub fn kept(&self) -> Option<Arc<[u8]>> {
        let mut state = locked(&self.state);
        state.fetched = Some(Instant::now());
        let (made, bytes) = state.made.as_ref()?;
        let kept = (made.elapsed() < KEPT).then(|| Arc::clone(bytes));
        if kept.is_some() {
            state.fetched_since_renewed = state.renewed;
        }
        kept
    }

    /// Makes the document anew.
    pub fn make(&self) -> Arc<[u8]> {
        let renewed = locked(&self.state).renewed;
        let bytes: Arc<[u8]> = locked(&self.make)().into();
        let mut state = locked(&self.state);
        state.made = Some((Instant::now(), Arc::clone(&bytes)));
        state.fetched_since_renewed |= renewed;
        bytes
    }

    /// Drops the kept document, so that the next one is made anew.
    pub fn renew(&self) {
        let mut state = locked(&self.state);
        state.made = None;
        state.renewed = true;
        state.fetched_since_renewed = false;
    }

    pub fn was_fetched_within(&self, time: Duration) -> bool {
        locked(&self.state).fetched.is_some_and(|fetched| fetched.elapsed() < time)
    }

    pub fn was_fetched_since_renewed(&self) -> bool {
        locked(&self.state).fetched_since_renewed
    }
}
