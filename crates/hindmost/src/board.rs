//! The progress display of a live run: one line for each phase on stderr, updated in place.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hindmost_core::metrics::PhaseProgress;
use hindmost_report::text::{beginning, columns, escaped, grouped, names, padded, stderr_width};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Time that the work must have taken before the display appears.
const SHOWN_AFTER: Duration = Duration::from_secs(2);
/// Largest number of phases to show. If there are more, a last line gives the number of hidden phases.
const PHASES_SHOWN: usize = 12;
/// Smallest and largest width of a bar, in columns.
const METER: [usize; 2] = [6, 40];
/// For each fact, by its rank: width that the bar must have for the fact to be shown, in columns. Only for the most
/// important fact may the bar have its smallest width.
const METER_WITH_FACT: [usize; 5] = [METER[0], 8, 12, 12, 12];
/// Largest width of a phase's name on a narrow and on a wide terminal, in columns.
const SHORT_NAME: usize = 6;
const LONG_NAME: usize = 28;
/// Columns between the parts of a line.
const GAP: usize = 2;
const ELLIPSIS: &str = "…";

/// The width of lines, in columns, and whether to use colours.
#[derive(Clone, Copy)]
pub(crate) struct Canvas {
    pub(crate) width: usize,
    pub(crate) colour: bool,
}

impl Canvas {
    pub(crate) fn of_stderr() -> Canvas {
        // A line that fills the last column wraps on some terminals.
        let width = usize::from(stderr_width()).saturating_sub(1).max(1);
        let colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Canvas { width, colour }
    }

    /// Returns the text in a colour. `code` holds the parameters of the escape sequence.
    pub(crate) fn paint(self, code: &str, text: &str) -> String {
        if self.colour && !text.trim().is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Returns a bar of the given width, filled up to the given share. Only a complete bar is filled to its end.
    pub(crate) fn meter(self, share: f64, complete: bool, width: usize) -> String {
        let halves = if complete {
            2 * width
        } else {
            // The conversion turns NaN into 0.
            ((share.clamp(0.0, 1.0) * 2.0 * width as f64) as usize).min((2 * width).saturating_sub(1))
        };
        let full = "━".repeat(halves / 2) + if halves % 2 == 1 { "╸" } else { "" };
        let rest = "─".repeat(width - columns(&full));
        self.paint("32", &full) + &self.paint("90", &rest)
    }
}

/// A few lines at the bottom of the terminal that are updated in place, with messages above them.
pub(crate) struct Screen {
    bar: ProgressBar,
    begun: Instant,
    shown_after: Duration,
    /// True if lines can be updated in place: stderr is a terminal that supports it.
    possible: bool,
    state: Mutex<State>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Hidden,
    Shown,
    Finished,
}

impl Screen {
    /// Creates a screen that stays empty until the work has taken `shown_after`, or for ever if `quiet`.
    pub(crate) fn new(shown_after: Duration, quiet: bool) -> Screen {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_bar()));
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let possible = !quiet && !dumb && io::stderr().is_terminal();
        Screen { bar, begun: Instant::now(), shown_after, possible, state: Mutex::new(State::Hidden) }
    }

    /// Shows these lines instead of those shown before.
    pub(crate) fn show(&self, lines: impl FnOnce(Canvas) -> Vec<String>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.possible || *state == State::Finished || self.begun.elapsed() < self.shown_after {
            return;
        }
        if *state == State::Hidden {
            *state = State::Shown;
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        // One bar with many lines is drawn at once. A bar for each line would flicker.
        self.bar.set_message(lines(Canvas::of_stderr()).join("\n"));
    }

    /// Writes a message to stderr, above the lines if they are shown.
    pub(crate) fn message(&self, message: &str) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for line in message.lines().map(escaped) {
            if *state == State::Shown {
                self.bar.println(line);
            } else {
                // A closed stderr is not an error.
                let _ = writeln!(io::stderr(), "{line}");
            }
        }
    }

    /// Runs `write`, which writes to the terminal, while the lines are not shown.
    pub(crate) fn suspend<T>(&self, write: impl FnOnce() -> T) -> T {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if *state == State::Shown { self.bar.suspend(write) } else { write() }
    }

    /// Removes the lines and does not print them again.
    pub(crate) fn finish(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *state, State::Finished) == State::Shown {
            self.bar.finish_and_clear();
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.finish();
    }
}

/// The progress display of a run.
pub struct Board {
    title: String,
    screen: Screen,
}

impl Board {
    /// Creates a display that appears once the work has taken two seconds. It never appears if `quiet` or if stderr
    /// is not a terminal.
    pub fn new(title: &str, quiet: bool) -> Board {
        Board { title: title.to_owned(), screen: Screen::new(SHOWN_AFTER, quiet) }
    }

    /// Updates the progress of the phases, the elapsed time and the note, if there is one.
    pub fn update(&self, phases: &[PhaseProgress], elapsed: Duration, note: Option<&str>) {
        self.screen.show(|canvas| lines(&self.title, phases, elapsed, note, canvas));
    }

    /// Writes a line to stderr, above the display if it is shown.
    pub fn message(&self, line: &str) {
        self.screen.message(line);
    }

    /// Runs `write`, which writes to the terminal, while the display is hidden.
    pub fn suspend<T>(&self, write: impl FnOnce() -> T) -> T {
        self.screen.suspend(write)
    }

    /// Removes the display.
    pub fn finish(&self) {
        self.screen.finish();
    }
}

/// Returns the elapsed time as text, without digits that change too fast to read.
pub(crate) fn clock(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    match seconds {
        ..60 => format!("{seconds}.{} s", elapsed.subsec_millis() / 100),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// Returns the lines of the display: title, time, tasks and note, then a line for each phase.
pub(crate) fn lines(
    title: &str,
    phases: &[PhaseProgress],
    elapsed: Duration,
    note: Option<&str>,
    canvas: Canvas,
) -> Vec<String> {
    let count = |of: fn(&PhaseProgress) -> u64| grouped(phases.iter().map(of).sum());
    let tasks = format!("{}/{} tasks", count(|phase| phase.finished), count(|phase| phase.tasks));
    let begin = format!("{}  {tasks}", clock(elapsed));
    let title = beginning(title, canvas.width.saturating_sub(columns(&begin) + GAP), ELLIPSIS);
    let mut first = format!("{}  {begin}", canvas.paint("1", &title));
    let mut used = columns(&title) + GAP + columns(&begin);
    if title.is_empty() {
        used = columns(&begin).min(canvas.width);
        first = beginning(&begin, canvas.width, ELLIPSIS);
    }
    let mut lines = Vec::new();
    let note = note.map(escaped).unwrap_or_default();
    if note.is_empty() || used + GAP + columns(&note) > canvas.width {
        lines.push(first);
        lines.extend((!note.is_empty()).then(|| beginning(&note, canvas.width, ELLIPSIS)));
    } else {
        lines.push(format!("{first}  {note}"));
    }
    let shown = selected(phases);
    lines.extend(table(&shown, canvas));
    let more = phases.len() - shown.len();
    if more > 0 {
        lines.push(beginning(&format!("{ELLIPSIS} {more} more"), canvas.width, ELLIPSIS));
    }
    lines
}

/// Returns the phases to show. Up to [`PHASES_SHOWN`] phases keep their order; if there are more, running phases come
/// first, then startable, waiting and finished ones.
fn selected(phases: &[PhaseProgress]) -> Vec<&PhaseProgress> {
    let mut shown: Vec<&PhaseProgress> = phases.iter().collect();
    if shown.len() > PHASES_SHOWN {
        shown.sort_by_key(|phase| match phase {
            _ if phase.running + phase.starting > 0 => 0,
            _ if phase.finished >= phase.tasks => 3,
            _ if phase.waiting => 2,
            _ => 1,
        });
        shown.truncate(PHASES_SHOWN);
    }
    shown
}

/// A fact about a phase, shown after its bar, with its rank. Rank 0 is the most important. On a narrow terminal the
/// facts of the largest ranks are left out first.
type Fact = (usize, fn(&PhaseProgress) -> String);

const FACTS: [Fact; METER_WITH_FACT.len()] = [
    (0, |phase| match phase {
        _ if phase.finished >= phase.tasks => "done".to_owned(),
        _ if phase.running == 0 && phase.starting > 0 => format!("{} starting", grouped(phase.starting)),
        _ if phase.waiting && phase.running == 0 => "waiting".to_owned(),
        _ => format!("{} running", grouped(phase.running)),
    }),
    (1, |phase| some(phase.copies, if phase.copies == 1 { "copy" } else { "copies" })),
    (4, |phase| some(phase.copies_won, "won")),
    (3, |phase| some(phase.killed, "killed")),
    (2, |phase| some(phase.failed, "failed")),
];

/// Returns a count with a word, or an empty text for 0.
fn some(count: u64, what: &str) -> String {
    if count == 0 { String::new() } else { format!("{} {what}", grouped(count)) }
}

/// Returns one line for each phase, aligned in columns: name, bar, tasks, and the most important facts that fit.
fn table(phases: &[&PhaseProgress], canvas: Canvas) -> Vec<String> {
    let count = |phase: &PhaseProgress| format!("{}/{}", grouped(phase.finished), grouped(phase.tasks));
    let counts: Vec<String> = phases.iter().map(|phase| count(phase)).collect();
    let widest = |texts: &[String]| texts.iter().map(|text| columns(text)).max().unwrap_or(0);
    let mut facts: Vec<(usize, usize, Vec<String>)> = FACTS
        .iter()
        .map(|(rank, fact)| {
            let cells: Vec<String> = phases.iter().map(|phase| fact(phase)).collect();
            (*rank, widest(&cells), cells)
        })
        .filter(|(_, width, _)| *width > 0)
        .collect();
    let count_width = widest(&counts);
    // On a narrow terminal a short name with the phase's state is more useful than a long name alone.
    let first_fact = facts.first().map_or(0, |fact| fact.1 + GAP);
    let beside = canvas.width.saturating_sub(count_width + 2 + METER[0] + first_fact).max(SHORT_NAME);
    let all_names: Vec<&str> = phases.iter().map(|phase| phase.name.as_str()).collect();
    let names = names(&all_names, (canvas.width * 3 / 10).clamp(1, LONG_NAME).min(beside), ELLIPSIS);
    let name_width = widest(&names);
    let mut space = canvas.width.saturating_sub(name_width + count_width + 2);
    for (rank, meter_with_fact) in METER_WITH_FACT.into_iter().enumerate() {
        let Some(width) = facts.iter().find(|fact| fact.0 == rank).map(|fact| fact.1) else { continue };
        if width + GAP + meter_with_fact <= space {
            space -= width + GAP;
        } else {
            facts.retain(|fact| fact.0 < rank);
            break;
        }
    }
    let meter = space.min(METER[1]);
    let line = |(at, phase): (usize, &&PhaseProgress)| {
        let complete = phase.finished >= phase.tasks;
        let idle = phase.waiting && phase.running + phase.starting == 0;
        let name = padded(&names[at], name_width);
        let mut line = if idle { canvas.paint("90", &name) } else { name };
        if meter >= METER[0] {
            line += &format!(" {}", canvas.meter(phase.progress, complete, meter));
        }
        line += &format!(" {:>count_width$}", counts[at]);
        for (rank, width, cells) in &facts {
            let cell = padded(&cells[at], *width);
            let code = match rank {
                0 if complete => "32",
                0 if idle => "90",
                1 | 4 => "35",
                2 => "31",
                _ => "0",
            };
            line += &" ".repeat(GAP);
            line += &if code == "0" { cell } else { canvas.paint(code, &cell) };
        }
        line.trim_end().to_owned()
    };
    phases.iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(name: &str, finished: u64, tasks: u64, running: u64) -> PhaseProgress {
        PhaseProgress {
            name: name.to_owned(),
            tasks,
            finished,
            running,
            progress: finished as f64 / tasks as f64,
            waiting: running == 0 && finished < tasks,
            ..PhaseProgress::default()
        }
    }

    fn drawn(phases: &[PhaseProgress], width: usize, note: Option<&str>) -> String {
        let canvas = Canvas { width, colour: false };
        lines("wordcount", phases, Duration::from_millis(12_345), note, canvas).join("\n")
    }

    fn busy() -> Vec<PhaseProgress> {
        let map = PhaseProgress {
            copies: 2,
            copies_started: 9,
            copies_won: 5,
            killed: 6,
            failed: 1,
            ..phase("count words", 3120, 4000, 16)
        };
        vec![phase("split", 12, 12, 0), map, phase("sum", 0, 120, 0)]
    }

    #[test]
    fn each_phase_has_a_line_that_fits_the_terminal() {
        assert_eq!(
            drawn(&busy(), 79, Some("node-3 is slow")),
            "\
wordcount  12.3 s  3 132/4 132 tasks  node-3 is slow
split       ━━━━━━━━━━━━━       12/12  done
count words ━━━━━━━━━━─── 3 120/4 000  16 running  2 copies  6 killed  1 failed
sum         ─────────────       0/120  waiting"
        );
        assert_eq!(
            drawn(&busy(), 39, Some("node-3 is slow")),
            "\
wordcount  12.3 s  3 132/4 132 tasks
node-3 is slow
split    ━━━━━━       12/12  done
coun…rds ━━━━╸─ 3 120/4 000  16 running
sum      ──────       0/120  waiting"
        );
    }

    #[test]
    fn a_narrow_terminal_shows_only_the_most_important_facts() {
        let line = |width| drawn(&busy(), width, None).lines().nth(2).unwrap_or_default().to_owned();
        assert!(line(119).ends_with(" 16 running  2 copies  5 won  6 killed  1 failed"), "{}", line(119));
        assert!(line(60).ends_with(" 16 running  2 copies"), "{}", line(60));
        assert!(line(48).ends_with(" 16 running"), "{}", line(48));
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let mut phases = busy();
        phases[0].name = "\x1b[31m日本語の長い名前\n".to_owned();
        phases[1].progress = f64::NAN;
        for width in 1..200 {
            for line in drawn(&phases, width, Some("a note\tof some length that goes on and on")).lines() {
                // A count is never shortened, so a very narrow terminal gets longer lines.
                assert!(columns(line) <= width.max(23), "{width}: {line}");
                assert!(!line.contains('\x1b'));
            }
        }
    }

    #[test]
    fn running_phases_come_first_if_there_are_many() {
        let phases: Vec<PhaseProgress> =
            (0..20).map(|at| phase(&format!("phase {at}"), at % 3, 2, u64::from(at == 13))).collect();
        let drawn = drawn(&phases, 80, None);
        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(lines.len(), 14);
        assert!(lines[1].starts_with("phase 13 "), "{drawn}");
        assert_eq!(lines[13], "… 8 more");
    }

    #[test]
    fn only_a_complete_bar_is_full() {
        let canvas = Canvas { width: 80, colour: false };
        assert_eq!(canvas.meter(1.0, false, 4), "━━━╸");
        assert_eq!(canvas.meter(0.3, true, 4), "━━━━");
        assert_eq!(canvas.meter(f64::NAN, false, 4), "────");
        assert_eq!(Canvas { colour: true, ..canvas }.meter(0.5, false, 4), "\x1b[32m━━\x1b[0m\x1b[90m──\x1b[0m");
    }

    #[test]
    fn clocks_show_few_digits() {
        let shown = [0, 59_999, 60_000, 3_599_000, 7_380_000].map(|millis| clock(Duration::from_millis(millis)));
        assert_eq!(shown, ["0.0 s", "59.9 s", "1 min 00 s", "59 min 59 s", "2 h 03 min"]);
    }
}
