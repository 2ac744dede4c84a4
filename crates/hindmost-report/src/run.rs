//! Renders the result of a live run, and two runs side by side, as text for the terminal.

use hindmost_core::metrics::{EnergySource, InsteadOfCopies, LiveEnergy, PhaseSummary, RunState, RunSummary};

use crate::comparison::significant;
use crate::copies::{gain, lessons};
use crate::document::{Document, Form, Role};
use crate::failures::failed_tasks;
use crate::table::{Column, draw, named, narrowed, widest};
use crate::text::{duration, escaped, grouped, known, name, names, percent};

/// Smallest width to which the name of a run is shortened, in columns.
const SHORTEST_NAME: usize = 4;
/// Name of the row of totals. It has brackets so that it differs from names of phases.
const TOTAL: &str = "(all)";
const ELLIPSIS: &str = "…";
/// Which attempts the extra work leaves out. Pages of runs say the same.
pub(crate) const BROKEN_NOT_COUNTED: &str =
    "Attempts that failed, lost their node or were stopped with the run are not counted as extra work.";
/// The words after a ratio of times, as in `2.50× as fast`.
const AS_FAST: &str = " as fast";

/// The columns after the phase's name, from left to right.
pub(crate) const COLUMNS: &[Column<PhaseSummary>] = &[
    Column { heading: "tasks\nfinished", from_width: 0, cell: finished },
    Column { heading: "attempts", from_width: 85, cell: |phase| grouped(phase.attempts) },
    Column { heading: "copies\nstarted", from_width: 0, cell: |phase| grouped(phase.copies.launched) },
    Column { heading: "copies\nwon", from_width: 45, cell: |phase| grouped(phase.copies.won) },
    Column { heading: "broken", from_width: 65, cell: |phase| grouped(phase.broken) },
    Column { heading: "p50", from_width: 60, cell: |phase| quantile(phase, phase.p50) },
    Column { heading: "p95", from_width: 75, cell: |phase| quantile(phase, phase.p95) },
    Column { heading: "max", from_width: 40, cell: |phase| known(phase.max) },
    Column { heading: "started\nafter", from_width: 100, cell: |phase| known(phase.start) },
    Column { heading: "finished\nafter", from_width: 90, cell: |phase| known(phase.finish) },
];

/// Returns the result of a run as text of at most `width` columns.
pub fn run_table(summary: &RunSummary, width: u16) -> String {
    let mut document = Document::new(Form::Terminal);
    document.paragraph_as(Role::Finding, heading(summary));
    document.gap();
    document.laid_out(phases(summary, width));
    document.gap();
    let notes = [
        Some(extra_work(summary)),
        gain(summary),
        lessons(summary),
        withdrawn(summary),
        summary.energy.as_ref().map(|energy| format!("Energy: {}.", in_words(energy))),
        summary.shell.as_ref().map(|shell| format!("Shell of the commands: {}.", escaped(shell))),
        explanation(summary, width),
        (!summary.synced).then(|| "Not synced (--no-sync): a power failure may lose results.".to_owned()),
    ];
    document.paragraphs(Role::Usual, notes.into_iter().flatten());
    if !summary.failed_tasks.is_empty() {
        let count = grouped(summary.failed_tasks.len() as u64);
        document.gap();
        document.paragraph_as(Role::Finding, format!("Tasks that failed permanently ({count}):"));
    }
    document.text(width) + &failed_tasks(&summary.failed_tasks, usize::from(width))
}

/// Returns the first line: the job, how it ended and after which time, its policy and its progress model.
fn heading(summary: &RunSummary) -> String {
    let state = match summary.state {
        RunState::Done => "done in",
        RunState::Failed => "failed after",
        RunState::Abandoned => "abandoned after",
        RunState::Interrupted => "interrupted after",
    };
    let deadline = match (summary.met_deadline, summary.deadline, summary.lateness) {
        (Some(true), Some(deadline), _) => format!(", deadline of {} met", duration(deadline)),
        // A run that was interrupted before its deadline has missed it by nothing yet.
        (Some(false), Some(deadline), Some(late)) if late > 0.0 => {
            format!(", deadline of {} missed by {}", duration(deadline), duration(late))
        }
        (Some(true), ..) => ", deadline met".to_owned(),
        (Some(false), ..) => ", deadline missed".to_owned(),
        (None, ..) => String::new(),
    };
    let pauses = match summary.paused() {
        0.0 => String::new(),
        seconds => format!(" (without {} of pauses)", duration(seconds)),
    };
    format!(
        "{}: {state} {}{pauses}{deadline}, policy {}, knowledge {}",
        escaped(&summary.job),
        duration(summary.flowtime),
        escaped(&summary.policy),
        escaped(&summary.knowledge)
    )
}

fn finished(phase: &PhaseSummary) -> String {
    format!("{}/{}", grouped(phase.finished), grouped(phase.tasks))
}

/// Formats a percentile of a phase's durations. All percentiles of one finished task are equal, so only its maximum is
/// shown.
fn quantile(phase: &PhaseSummary, seconds: Option<f64>) -> String {
    known(seconds.filter(|_| phase.finished > 1))
}

/// Returns the sums over all phases as a row of the table; `None` for a job of one phase.
pub(crate) fn total(summary: &RunSummary) -> Option<PhaseSummary> {
    let last_finish = summary.phases.iter().filter_map(|phase| phase.finish).max_by(f64::total_cmp);
    (summary.phases.len() > 1).then(|| PhaseSummary {
        name: TOTAL.to_owned(),
        tasks: summary.tasks,
        withdrawn: summary.withdrawn,
        finished: summary.phases.iter().map(|phase| phase.finished).sum(),
        attempts: summary.attempts,
        broken: summary.phases.iter().map(|phase| phase.broken).sum(),
        copies: summary.copies,
        start: summary.phases.iter().filter_map(|phase| phase.start).min_by(f64::total_cmp),
        finish: last_finish.filter(|_| summary.phases.iter().all(|phase| phase.finished == phase.tasks)),
        p50: None,
        p95: None,
        max: summary.phases.iter().filter_map(|phase| phase.max).max_by(f64::total_cmp),
        needs: None,
        instead_of_copies: None,
        learned: None,
    })
}

fn phases(summary: &RunSummary, width: u16) -> String {
    let phase_names: Vec<&str> = summary.phases.iter().map(|phase| phase.name.as_str()).collect();
    let total = total(summary);
    // Names may take a fifth of the width, so that phases can be identified at any width.
    narrowed(COLUMNS, width, usize::from(width) / 5, |columns, name_width| {
        let phases = names(&phase_names, name_width, ELLIPSIS).into_iter().zip(&summary.phases);
        named("phase", phases.chain(total.as_ref().map(|total| (TOTAL.to_owned(), total))), columns)
    })
}

/// Returns the energy of a run and how it is known.
pub(crate) fn in_words(energy: &LiveEnergy) -> String {
    let how = match energy.source {
        EnergySource::Measured => "measured with the",
        EnergySource::Estimated => "estimated",
    };
    format!("{} J, {how} {}", significant(energy.joules), escaped(&energy.about))
}

fn extra_work(summary: &RunSummary) -> String {
    let none = summary.copies.launched == 0 && summary.copies.wasted_share == 0.0;
    let text = if none {
        "Extra work: none, because no copies were started.".to_owned()
    } else {
        format!(
            "Extra work: {} of the total time of all attempts was spent on attempts that lost to another copy of their task.",
            percent(summary.copies.wasted_share)
        )
    };
    let broken = if summary.phases.iter().any(|phase| phase.broken > 0) {
        format!(" {BROKEN_NOT_COUNTED}")
    } else {
        String::new()
    };
    text + &broken + &instead_of_copies(summary)
}

/// Says which phases get no copies, and what their tasks may get.
fn instead_of_copies(summary: &RunSummary) -> String {
    let of = |what: InsteadOfCopies| {
        let phases = summary.phases.iter().filter(move |phase| phase.instead_of_copies == Some(what));
        phases.map(|phase| escaped(&phase.name)).collect::<Vec<_>>().join(", ")
    };
    let (restarts, nothing) = (of(InsteadOfCopies::Restarts), of(InsteadOfCopies::Nothing));
    let mut text = String::new();
    if !restarts.is_empty() {
        text += &format!(
            " Restarts and no copies in: {restarts} (an attempt that hangs is stopped before its task starts again)."
        );
    }
    if !nothing.is_empty() {
        text += &format!(" No copies in: {nothing} (a task has one attempt at a time).");
    }
    text
}

/// Says how many tasks are left out of the counts; `None` if none are.
fn withdrawn(summary: &RunSummary) -> Option<String> {
    match summary.withdrawn {
        0 => None,
        1 => Some("1 withdrawn task is not counted: its input or values are gone.".to_owned()),
        count => Some(format!("{} withdrawn tasks are not counted: their inputs or values are gone.", grouped(count))),
    }
}

/// Explains the columns that the table shows at this width.
fn explanation(summary: &RunSummary, width: u16) -> Option<String> {
    let broken = summary.phases.iter().any(|phase| phase.broken > 0) && width >= 65;
    let mut notes: Vec<String> = Vec::new();
    let mut note = |text: &str| notes.push(text.to_owned());
    if summary.copies.launched > 0 {
        note(
            "Copies: attempts started while another attempt of the same task was running, or in the place of one that seemed to hang.",
        );
    }
    if broken {
        note("Broken: attempts that failed, lost their node or were stopped with the run.");
    }
    if summary.phases.iter().any(|phase| phase.max.is_some()) {
        note(match width {
            ..60 => "max: longest duration of a winning attempt.",
            60..75 => "p50, max: median and longest duration of the winning attempts.",
            _ => "p50, p95, max: median, 95th percentile and longest duration of the winning attempts.",
        });
    }
    let times = match width {
        ..90 => None,
        90..100 => Some("finished after"),
        _ => Some("started after, finished after"),
    };
    if let Some(times) = times.filter(|_| summary.phases.iter().any(|phase| phase.start.is_some())) {
        let pauses = if summary.pauses.is_empty() { "" } else { " and its pauses" };
        note(&format!(
            "{times}: time since the run began, including its preparation{pauses}, which the time in the first line \
             leaves out."
        ));
    }
    (!notes.is_empty()).then(|| notes.join(" "))
}

/// Draws two runs of one job side by side in at most `width` columns. If both runs are done, the last column shows how
/// much faster the second run is. The slowest winner is the longest attempt that won. Its task may have taken longer,
/// because an earlier attempt of it was stopped.
pub fn side_by_side(left: (&str, &RunSummary), right: (&str, &RunSummary), width: u16) -> String {
    let runs = [left.1, right.1];
    let row = |what: &str, cell: &dyn Fn(&RunSummary) -> String| vec![what.to_owned(), cell(runs[0]), cell(runs[1])];
    let slowest = |run: &RunSummary| run.phases.iter().filter_map(|phase| phase.max).max_by(f64::total_cmp);
    let mut rows = vec![
        row("time", &|run| duration(run.flowtime)),
        row("slowest winner", &|run| known(slowest(run))),
        row("copies started", &|run| grouped(run.copies.launched)),
        row("copies that won", &|run| grouped(run.copies.won)),
        row("extra work", &|run| percent(run.copies.wasted_share)),
    ];
    if runs.iter().any(|run| run.state != RunState::Done) {
        rows.insert(0, row("result", &|run| state(run.state).to_owned()));
    } else {
        // Times are comparable only if both runs are done.
        rows[0].push(ratio(Some(runs[0].flowtime), Some(runs[1].flowtime)));
        rows[1].push(ratio(slowest(runs[0]), slowest(runs[1])));
    }
    let mut name_width = usize::from(width) / 3;
    loop {
        let [left, right] = [left.0, right.0].map(|run| name(run, name_width, ELLIPSIS));
        let drawn = draw(vec![String::new(), left, right], rows.clone());
        let over = widest(&drawn).saturating_sub(usize::from(width));
        if over == 0 || name_width <= SHORTEST_NAME {
            return drawn + "\n";
        }
        // If the table is too wide, the words after the ratios are removed first. Then names are shortened.
        let mut shortened = false;
        for cell in rows.iter_mut().filter_map(|row| row.get_mut(3)) {
            if let Some(number) = cell.strip_suffix(AS_FAST) {
                *cell = number.to_owned();
                shortened = true;
            }
        }
        if !shortened {
            name_width -= 1;
        }
    }
}

/// How a run ended, in a word.
pub(crate) fn state(state: RunState) -> &'static str {
    match state {
        RunState::Done => "done",
        RunState::Failed => "failed",
        RunState::Abandoned => "abandoned",
        RunState::Interrupted => "interrupted",
    }
}

/// Formats how many times as fast the right run is; empty if a time is not known.
fn ratio(left: Option<f64>, right: Option<f64>) -> String {
    match (left, right) {
        (Some(left), Some(right)) if left > 0.0 && right > 0.0 => format!("{:.2}×{AS_FAST}", left / right),
        _ => String::new(),
    }
}
