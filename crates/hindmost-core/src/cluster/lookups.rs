//! Counts what is looked up in a cluster, so that a test can refuse a policy that looks at everything in each round. Without the feature
//! `testing`, and in optimised builds, which are measured, nothing is counted.

#[cfg(feature = "testing")]
use std::cell::Cell;

#[cfg(feature = "testing")]
thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// Returns how many nodes, jobs, tasks and attempts this thread has looked up so far. A list counts as many times as it has elements.
#[cfg(feature = "testing")]
pub fn lookups() -> u64 {
    COUNT.get()
}

/// Counts something that is looked up, or a list of so many elements.
#[inline]
pub(super) fn count(elements: usize) {
    #[cfg(all(feature = "testing", debug_assertions))]
    COUNT.set(COUNT.get() + elements as u64);
    #[cfg(not(all(feature = "testing", debug_assertions)))]
    let _ = elements;
}
