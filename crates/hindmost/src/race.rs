//! The demo's progress display: two runs of one job, without and with copies, one after the other. The result of the
//! first run stays visible while the second runs.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hindmost_core::metrics::PhaseProgress;
use hindmost_report::text::{beginning, columns, grouped, names, padded};

use crate::board::{Canvas, Screen, clock};

/// Smallest and largest width of a bar, in columns.
const METER: [usize; 2] = [6, 60];
/// Columns between the parts of a line.
const GAP: usize = 2;
/// Largest number of attempts on a node that are drawn as dots. If there are more, the last dot becomes a plus sign.
const DOTS: u64 = 16;
const ELLIPSIS: &str = "…";

/// One of the two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first run.
    Left,
    /// The second run.
    Right,
}

/// A node and the number of its running attempts.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeLoad {
    /// Name of the node.
    pub name: String,
    /// Number of attempts that run there, copies included.
    pub running: u64,
    /// True if the demo slows this node down.
    pub slowed: bool,
}

/// The progress of one of the two runs.
#[derive(Clone, Debug, Default)]
struct Lap {
    label: String,
    finished: u64,
    total: u64,
    /// Share of the work that is done, from 0 to 1, with the progress of running tasks.
    done: f64,
    /// Time since the run began; `None` before it begins.
    elapsed: Option<Duration>,
    copies_started: u64,
    copies_won: u64,
}

#[derive(Clone, Debug, Default)]
struct State {
    laps: [Lap; 2],
    nodes: Vec<NodeLoad>,
}

/// The display of two runs of the same job, one after the other. It appears at once, and only on a terminal.
pub struct Race {
    screen: Screen,
    state: Mutex<State>,
}

impl Race {
    /// Creates the display of two runs with these labels.
    pub fn new(left: &str, right: &str) -> Race {
        let lap = |label: &str| Lap { label: label.to_owned(), ..Lap::default() };
        let state = State { laps: [lap(left), lap(right)], nodes: Vec::new() };
        Race { screen: Screen::new(Duration::ZERO, false), state: Mutex::new(state) }
    }

    /// Updates the progress of one of the runs.
    pub fn update(&self, side: Side, phases: &[PhaseProgress], elapsed: Duration) {
        let sum = |of: fn(&PhaseProgress) -> u64| phases.iter().map(of).sum();
        let total: u64 = sum(|phase| phase.tasks);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let lap = &mut state.laps[usize::from(side == Side::Right)];
        let label = std::mem::take(&mut lap.label);
        *lap = Lap {
            label,
            finished: sum(|phase| phase.finished),
            total,
            done: phases.iter().map(|phase| phase.progress * phase.tasks as f64).sum::<f64>() / total as f64,
            elapsed: Some(elapsed),
            copies_started: sum(|phase| phase.copies_started),
            copies_won: sum(|phase| phase.copies_won),
        };
        self.screen.show(|canvas| lines(&state, canvas));
    }

    /// Updates the numbers of attempts on the nodes, which are shown below the two runs.
    pub fn nodes(&self, nodes: &[NodeLoad]) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.clone_into(&mut state.nodes);
        self.screen.show(|canvas| lines(&state, canvas));
    }

    /// Writes a line to stderr, above the display if it is shown.
    pub fn message(&self, line: &str) {
        self.screen.message(line);
    }

    /// Removes the display.
    pub fn finish(&self) {
        self.screen.finish();
    }
}

fn lines(state: &State, canvas: Canvas) -> Vec<String> {
    let mut lines = laps(&state.laps, canvas);
    lines.extend(nodes(&state.nodes, canvas));
    lines
}

/// Returns a line for each run: label, bar, finished tasks, time and copies.
fn laps(laps: &[Lap; 2], canvas: Canvas) -> Vec<String> {
    let labels = names(&laps.each_ref().map(|lap| lap.label.as_str()), canvas.width * 3 / 10, ELLIPSIS);
    let counts = laps.each_ref().map(|lap| match lap.elapsed {
        Some(_) => format!("{}/{}", grouped(lap.finished), grouped(lap.total)),
        None => String::new(),
    });
    let clocks = laps.each_ref().map(|lap| lap.elapsed.map_or("waiting".to_owned(), clock));
    let copies = laps.each_ref().map(|lap| match (lap.copies_started, lap.copies_won) {
        (0, _) => String::new(),
        (1, won) => format!("1 copy, {won} won"),
        (started, won) => format!("{} copies, {} won", grouped(started), grouped(won)),
    });
    let widest = |texts: &[String]| texts.iter().map(|text| columns(text)).max().unwrap_or(0);
    let [label_width, count_width, clock_width, copies_width] =
        [&labels[..], &counts[..], &clocks[..], &copies[..]].map(widest);
    let mut space = canvas.width.saturating_sub(label_width + count_width + clock_width + 2 + GAP);
    let with_copies = copies_width > 0 && space >= copies_width + GAP + METER[0];
    space -= if with_copies { copies_width + GAP } else { 0 };
    let meter = space.min(METER[1]);
    let line = |at: usize| {
        let lap = &laps[at];
        let complete = lap.total > 0 && lap.finished >= lap.total;
        let label = padded(&labels[at], label_width);
        let mut line = canvas.paint(if lap.elapsed.is_some() { "1" } else { "90" }, &label);
        if meter >= METER[0] {
            line += &format!(" {}", canvas.meter(lap.done, complete, meter));
        }
        line += &format!(" {:>count_width$}", counts[at]);
        let time = format!("{:>clock_width$}", clocks[at]);
        line += &" ".repeat(GAP);
        // The time of a finished run is highlighted, because it is final.
        line += &canvas.paint(if complete { "1;32" } else { "90" }, &time);
        if with_copies {
            line += &" ".repeat(GAP);
            line += &canvas.paint("35", &copies[at]);
        }
        line.trim_end().to_owned()
    };
    (0..laps.len()).map(line).collect()
}

/// Returns a line for each node, with a dot for each of its running attempts.
fn nodes(nodes: &[NodeLoad], canvas: Canvas) -> Vec<String> {
    let all_names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let names = names(&all_names, canvas.width * 3 / 10, ELLIPSIS);
    let name_width = names.iter().map(|name| columns(name)).max().unwrap_or(0);
    let most = nodes.iter().map(|node| node.running).max().unwrap_or(0).min(DOTS) as usize;
    let line = |(node, name): (&NodeLoad, &String)| {
        let dots =
            if node.running <= DOTS { "●".repeat(node.running as usize) } else { "●".repeat(most - 1) + "+" };
        let count = format!("{} running", grouped(node.running));
        let slowed = if node.slowed { "  ◄ slow" } else { "" };
        let plain = format!("  {}  {}  {count:<10}{slowed}", padded(name, name_width), padded(&dots, most));
        if columns(&plain) > canvas.width {
            return beginning(plain.trim_end(), canvas.width, ELLIPSIS);
        }
        let (dots, slowed) = (canvas.paint("36", &padded(&dots, most)), canvas.paint("1;31", slowed));
        format!("  {}  {dots}  {count:<10}{slowed}", padded(name, name_width)).trim_end().to_owned()
    };
    nodes.iter().zip(&names).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        let node = |at: u64| NodeLoad { name: format!("node-{at}"), running: at % 5, slowed: at == 3 };
        State {
            laps: [
                Lap {
                    label: "without".to_owned(),
                    finished: 400,
                    total: 400,
                    done: 1.0,
                    elapsed: Some(Duration::from_millis(42_310)),
                    ..Lap::default()
                },
                Lap {
                    label: "with".to_owned(),
                    finished: 130,
                    total: 400,
                    done: 0.325,
                    elapsed: Some(Duration::from_millis(9_870)),
                    copies_started: 6,
                    copies_won: 4,
                },
            ],
            nodes: (1..=4).map(node).collect(),
        }
    }

    fn drawn(state: &State, width: usize) -> String {
        lines(state, Canvas { width, colour: false }).join("\n")
    }

    #[test]
    fn the_first_result_stays_visible() {
        assert_eq!(
            drawn(&state(), 79),
            "\
without ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 400/400  42.3 s
with    ━━━━━━━━━━━━────────────────────────── 130/400   9.8 s  6 copies, 4 won
  node-1  ●     1 running
  node-2  ●●    2 running
  node-3  ●●●   3 running   ◄ slow
  node-4  ●●●●  4 running"
        );
        assert_eq!(
            drawn(&state(), 39).lines().take(2).collect::<Vec<_>>().join("\n"),
            "\
without ━━━━━━━━━━━━━━━ 400/400  42.3 s
with    ━━━━╸────────── 130/400   9.8 s"
        );
    }

    #[test]
    fn a_run_that_has_not_begun_is_waiting() {
        let mut state = state();
        state.laps[1] = Lap { label: "with".to_owned(), ..Lap::default() };
        state.nodes.clear();
        assert_eq!(
            drawn(&state, 39),
            "\
without ━━━━━━━━━━━━━━ 400/400   42.3 s
with    ──────────────          waiting"
        );
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let mut state = state();
        state.laps[0].label = "a label\x1b[1m of some length".to_owned();
        state.nodes[1].running = 5000;
        for width in 39..200 {
            for line in drawn(&state, width).lines() {
                assert!(columns(line) <= width, "{width}: {line}");
            }
        }
    }
}
