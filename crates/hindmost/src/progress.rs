//! The progress bar of long commands: on stderr, on a terminal only, after two seconds.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Time that the work must have taken before the bar appears.
const SHOWN_AFTER: Duration = Duration::from_secs(2);
/// Steps of the bar for one unit of work.
const STEPS: f64 = 1000.0;

/// A bar that appears once the work has taken two seconds.
pub struct Progress {
    bar: ProgressBar,
    begun: Instant,
    /// The finished units of work, and whether the bar is shown.
    state: Mutex<(f64, bool)>,
}

impl Progress {
    /// Creates a bar for the given number of units of work, with the label `what`.
    pub fn new(units: f64, what: &str) -> Progress {
        let bar = ProgressBar::with_draw_target(Some((units * STEPS) as u64), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{msg} [{wide_bar}] {percent}% {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        bar.set_message(what.to_owned());
        Progress { bar, begun: Instant::now(), state: Mutex::new((0.0, false)) }
    }

    /// Adds finished units of work.
    pub fn advance(&self, units: f64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 += units;
        if !state.1 && self.begun.elapsed() > SHOWN_AFTER {
            state.1 = true;
            // indicatif draws nothing if stderr is not a terminal.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position((state.0 * STEPS) as u64);
    }

    /// Removes the bar. Unless `quiet`, prints how long the work took if it took over 0.1 s.
    pub fn finish(&self, quiet: bool) {
        self.bar.finish_and_clear();
        let elapsed = self.begun.elapsed();
        if !quiet && elapsed > Duration::from_millis(100) {
            crate::failure::say(&format!("took {:.1} s", elapsed.as_secs_f64()));
        }
    }
}
