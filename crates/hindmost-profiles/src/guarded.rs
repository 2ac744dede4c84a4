//! Calls of the database, which can panic about a damaged file.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// True while this thread is in [`guarded`].
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// Runs a function. If it panics, nothing is printed and the result is `Err(())`.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, ()> {
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            // A thread that ends has no such value any more.
            if !IS_GUARDED.try_with(Cell::get).unwrap_or(false) {
                before(panic);
            }
        }));
    });
    let outer = IS_GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    IS_GUARDED.set(outer);
    result.map_err(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_become_errors() {
        assert_eq!(guarded(|| 7), Ok(7));
        assert_eq!(guarded(|| guarded(|| panic!("a damaged page"))), Ok(Err::<(), ()>(())));
        assert!(!IS_GUARDED.get());
    }
}
