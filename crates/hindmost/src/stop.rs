//! Ctrl-C: the first asks the running work to stop, the second ends the process at once, unless it has
//! processes of its own to end first.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);
static PRESSES: AtomicU32 = AtomicU32::new(0);
/// True while leaving at once would leave processes running.
static HAS_PROCESSES: AtomicBool = AtomicBool::new(false);

fn listen() {
    static LISTENING: AtomicBool = AtomicBool::new(false);
    if !LISTENING.swap(true, Ordering::Relaxed) {
        // Without a handler Ctrl-C ends the process as it would anyway.
        let _ = ctrlc::set_handler(|| {
            PRESSES.fetch_add(1, Ordering::Relaxed);
            if STOP.swap(true, Ordering::Relaxed) && !HAS_PROCESSES.load(Ordering::Relaxed) {
                std::process::exit(130);
            }
        });
    }
}

/// The flag that Ctrl-C sets. The first call begins to listen.
pub fn flag() -> &'static AtomicBool {
    listen();
    &STOP
}

/// How often Ctrl-C was pressed, for work that ends its own processes before it ends: from now on no
/// number of presses ends this one at once.
pub fn presses() -> &'static AtomicU32 {
    HAS_PROCESSES.store(true, Ordering::Relaxed);
    listen();
    &PRESSES
}
