//! Ctrl-C, `SIGTERM` and `SIGHUP`: the first signal requests that the running work stops. The second ends the process at once,
//! unless it has child processes to end first. Work with child processes lets some of them finish after the first signal, and stops
//! them after the second; `SIGTERM` and `SIGHUP` count as two there, because those who send them expect an end, and `SIGQUIT`
//! (Ctrl-\\) as three. `SIGUSR1` and `SIGUSR2` request a report of the running work where a command offers one. Signals that were
//! ignored when this process was started, as with `nohup` or in the background of a script, stay ignored.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

/// True after the first signal.
static STOP: AtomicBool = AtomicBool::new(false);
/// Number of signals so far. Some count as two.
static PRESSES: AtomicU32 = AtomicU32::new(0);
/// As how many presses of Ctrl-C `SIGTERM` and `SIGHUP` count.
static OF_TERM: AtomicU32 = AtomicU32::new(2);
/// True if this process may have child processes, so that the second signal must not end it at once.
static HAS_PROCESSES: AtomicBool = AtomicBool::new(false);

/// Installs the signal handlers on the first call.
fn listen() {
    static LISTENING: AtomicBool = AtomicBool::new(false);
    if LISTENING.swap(true, Ordering::Relaxed) {
        return;
    }
    let is_ignored = ignored_now();
    let mut wanted: Vec<i32> =
        [SIGINT, SIGTERM, SIGHUP, SIGQUIT].into_iter().filter(|signal| !is_ignored(*signal)).collect();
    // While SIGCHLD is ignored, the kernel discards the exit status of children. A handler changes that.
    wanted.extend(Some(SIGCHLD).filter(|signal| is_ignored(*signal)));
    // If no handler can be installed, the signals end the process, which is their default.
    let Ok(mut signals) = Signals::new(wanted) else { return };
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever().filter(|signal| *signal != SIGCHLD) {
            let presses = match signal {
                SIGINT => 1,
                SIGQUIT => 3,
                _ => OF_TERM.load(Ordering::Relaxed),
            };
            PRESSES.fetch_add(presses, Ordering::Relaxed);
            let was_requested = STOP.swap(true, Ordering::Relaxed);
            if (was_requested || signal == SIGQUIT) && !HAS_PROCESSES.load(Ordering::Relaxed) {
                std::process::exit(if signal == SIGQUIT { 131 } else { 130 });
            }
        }
    });
}

/// Returns a function that is true for the signals that this process ignores now.
fn ignored_now() -> impl Fn(i32) -> bool {
    let ignored = std::fs::read_to_string("/proc/self/status").map_or(0, |status| ignored(&status));
    move |signal| ignored >> (signal - 1) & 1 == 1
}

/// Returns the mask of ignored signals from the text of `/proc/PID/status`. Bit 0 stands for signal 1.
fn ignored(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Returns the flag that the first signal sets. The first call installs the handlers.
pub fn flag() -> &'static AtomicBool {
    listen();
    &STOP
}

/// Sets as how many presses of Ctrl-C `SIGTERM` and `SIGHUP` count.
pub fn count_term_as(presses: u32) {
    OF_TERM.store(presses, Ordering::Relaxed);
}

/// Returns the number of signals so far, for work that must end its child processes first. After this call no number of
/// signals ends this process at once.
pub fn presses() -> &'static AtomicU32 {
    HAS_PROCESSES.store(true, Ordering::Relaxed);
    listen();
    &PRESSES
}

/// Returns a flag that `SIGUSR1` and `SIGUSR2` set, which would otherwise end the process. They request a report of the
/// running work.
pub fn report_requests() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let is_ignored = ignored_now();
    for signal in [SIGUSR1, SIGUSR2].into_iter().filter(|signal| !is_ignored(*signal)) {
        // If no handler can be installed, the signal ends the process, which is its default.
        let _ = signal_hook::flag::register(signal, Arc::clone(&flag));
    }
    flag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_status() {
        let status = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000001003\nSigCgt:\t0000000000000440\n";
        assert_eq!(ignored(status), 1 << 12 | 1 << (SIGINT - 1) | 1 << (SIGHUP - 1));
        assert_eq!(ignored(""), 0);
        assert_eq!(ignored("SigIgn:\tx\n"), 0);
    }
}
