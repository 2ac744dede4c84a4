//! The document: made when it is requested, and kept for a moment, so that many clients cost no more than one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hyper::body::Bytes;

/// Time for which a document is kept.
const KEPT: Duration = Duration::from_millis(500);

/// Makes the bytes of a document.
pub(crate) type Make = Box<dyn FnMut() -> Vec<u8> + Send>;

#[derive(Default)]
struct State {
    /// The document, and when it was made.
    made: Option<(Instant, Bytes)>,
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

    /// Returns the document. It is made on another thread, unless the last one is new enough.
    pub async fn fetch(self: Arc<Document>) -> Option<Bytes> {
        if let Some(bytes) = self.kept() {
            return Some(bytes);
        }
        tokio::task::spawn_blocking(move || self.make()).await.ok()
    }

    fn kept(&self) -> Option<Bytes> {
        let mut state = locked(&self.state);
        state.fetched = Some(Instant::now());
        let (made, bytes) = state.made.as_ref()?;
        let kept = (made.elapsed() < KEPT).then(|| bytes.clone());
        if kept.is_some() {
            state.fetched_since_renewed = state.renewed;
        }
        kept
    }

    fn make(&self) -> Bytes {
        let mut make = locked(&self.make);
        // Another request may have made it while this one waited.
        if let Some(bytes) = self.kept() {
            return bytes;
        }
        let renewed = locked(&self.state).renewed;
        let bytes = Bytes::from(make());
        let mut state = locked(&self.state);
        state.made = Some((Instant::now(), bytes.clone()));
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
