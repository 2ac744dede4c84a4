//! Ctrl-C: the first asks the running work to stop, the second ends the process at once.

use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// The flag that Ctrl-C sets. The first call begins to listen.
pub fn flag() -> &'static AtomicBool {
    static LISTENING: AtomicBool = AtomicBool::new(false);
    if !LISTENING.swap(true, Ordering::Relaxed) {
        // Without a handler Ctrl-C ends the process as it would anyway.
        let _ = ctrlc::set_handler(|| {
            if STOP.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        });
    }
    &STOP
}
