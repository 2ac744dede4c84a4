//! Work that several threads share.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// How many threads the machine runs at the same time.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Does pieces of work with the numbers from 0 to `count`, in this order, with at most so many threads. Returns the results in the
/// same order.
pub fn each<T: Send>(threads: usize, count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<Option<T>>> = Mutex::new((0..count).map(|_| None).collect());
    let share = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                break;
            }
            let result = work(number);
            found.lock().unwrap_or_else(PoisonError::into_inner)[number] = Some(result);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, count.max(1)) {
            scope.spawn(share);
        }
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::each;

    #[test]
    fn results_are_in_the_order_of_the_work() {
        for threads in [0, 1, 3, 9] {
            assert_eq!(each(threads, 5, |number| number * number), [0, 1, 4, 9, 16]);
        }
        assert!(each(2, 0, |number| number).is_empty());
    }
}
