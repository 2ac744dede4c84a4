//! `hindmost watch`: shows a run that another process has started.

use std::io::{self, IsTerminal};
use std::sync::atomic::Ordering;
use std::time::Duration;

use hindmost_core::metrics::PhaseProgress;
use hindmost_core::timeline::AttemptKind;
use hindmost_report::text::{beginning, counted, duration, escaped, grouped, percent};
use hindmost_run::live_view::{
    AttemptState, AttemptView, JobState, JobView, LiveError, LiveView, NodeView, Snapshot, State,
};

use crate::board::{Canvas, Screen, clock, lines};
use crate::cli::WatchArgs;
use crate::failure::{Failure, Outcome};
use crate::{stop, terminal};

/// Time between two looks at the run.
const EVERY: Duration = Duration::from_millis(250);
/// Time between two checks for Ctrl-C.
const CHECKED: Duration = Duration::from_millis(50);
/// Numbers of running attempts, nodes and failures in a text that is printed once.
const LONGEST: usize = 10;
/// Lines of the display that stay empty, so that the last one does not scroll the terminal.
const SPARE: usize = 2;

/// Shows a run until it ends or the user presses Ctrl-C.
pub fn run(args: &WatchArgs) -> Outcome {
    let mut view = LiveView::new(&args.dir);
    view.refresh()?;
    if args.json {
        return terminal::print_json(&view.snapshot());
    }
    let width = usize::from(terminal::width());
    let whole =
        |snapshot: &Snapshot| text(snapshot, Canvas { width, colour: terminal::colour() }, usize::MAX).join("\n");
    if args.once || !io::stdout().is_terminal() || !io::stderr().is_terminal() {
        return terminal::print(&whole(&view.snapshot()));
    }
    let stopped = stop::flag();
    let screen = Screen::new(Duration::ZERO, false);
    let last = loop {
        let snapshot = view.snapshot();
        if snapshot.state.is_over() {
            break snapshot;
        }
        let height = usize::from(console::Term::stderr().size().0).saturating_sub(SPARE);
        screen.show(|canvas| text(&snapshot, canvas, height));
        for _ in 0..EVERY.as_millis() / CHECKED.as_millis() {
            if stopped.load(Ordering::Relaxed) {
                screen.finish();
                return terminal::print("The run goes on; only watching has ended.");
            }
            std::thread::sleep(CHECKED);
        }
        view.refresh()?;
    };
    screen.finish();
    terminal::print(&whole(&last))
}

impl From<LiveError> for Failure {
    fn from(error: LiveError) -> Failure {
        Failure::input(error)
    }
}

/// Returns what there is to say about a run, in at most `height` lines: first the phases, then failures, running attempts and
/// nodes.
fn text(snapshot: &Snapshot, canvas: Canvas, height: usize) -> Vec<String> {
    let mut shown = Vec::new();
    let elapsed = Duration::try_from_secs_f64(snapshot.elapsed).unwrap_or_default();
    let note = note(snapshot);
    match &snapshot.jobs[..] {
        // The line of a job says how it has ended, even if the run goes on.
        [job] if snapshot.state.is_over() || !has_ended(job) => {
            shown.extend(lines(&job.name, &progress(job), elapsed, note.as_deref(), canvas));
        }
        jobs => {
            let title = counted(jobs.len() as u64, "job");
            let all: Vec<_> = jobs.iter().flat_map(progress).collect();
            shown.extend(lines(&title, &all, elapsed, note.as_deref(), canvas).into_iter().take(1));
            shown.extend(several(snapshot, canvas, height.saturating_sub(shown.len() + 1)));
        }
    }
    shown.push(fitted(&canvas.paint(code(snapshot.state), &in_words(snapshot)), &in_words(snapshot), canvas));
    shown.extend(snapshot.problem.iter().map(|problem| beginning(&escaped(problem), canvas.width, "…")));
    let parts = [
        ("Failures", failures(snapshot), snapshot.failed_attempts),
        ("Longest running attempts", attempts(snapshot), snapshot.running_attempts + snapshot.starting_attempts),
        ("Nodes", nodes(snapshot), snapshot.nodes.len() as u64),
    ];
    for (title, rows, all) in parts {
        // A title, a row, and a line that says how many more there are.
        let left = height.saturating_sub(shown.len());
        if rows.is_empty() || left < 3 {
            continue;
        }
        shown.push(canvas.paint("1", &beginning(title, canvas.width, "…")));
        let space = (left - 2).min(LONGEST);
        let more = all.saturating_sub(rows.len().min(space) as u64);
        shown.extend(rows.into_iter().take(space).map(|row| beginning(&row, canvas.width, "…")));
        shown.extend((more > 0).then(|| beginning(&format!("  … {} more", grouped(more)), canvas.width, "…")));
    }
    shown.truncate(height);
    shown
}

fn has_ended(job: &JobView) -> bool {
    !matches!(job.state, JobState::Waiting | JobState::Running)
}

/// Returns the phases of a job as the progress display of a run shows them.
fn progress(job: &JobView) -> Vec<PhaseProgress> {
    job.phases.iter().map(hindmost_run::live_view::PhaseView::progress).collect()
}

/// Returns the lines of several jobs, at most `height`: running jobs come first, and jobs that have ended have one line.
fn several(snapshot: &Snapshot, canvas: Canvas, height: usize) -> Vec<String> {
    let mut jobs: Vec<&JobView> = snapshot.jobs.iter().collect();
    jobs.sort_by_key(|job| match job.state {
        JobState::Running => 0,
        JobState::Waiting => 1,
        JobState::Failed | JobState::Abandoned | JobState::Interrupted => 2,
        JobState::Done => 3,
    });
    let mut shown: Vec<String> = Vec::new();
    for (at, job) in jobs.iter().enumerate() {
        let is_over = job.end.is_some() || snapshot.state.is_over();
        let (word, code) = match job.state {
            JobState::Waiting => (", waiting", "90"),
            JobState::Running if is_over => (", not finished", "31"),
            JobState::Running => ("", "0"),
            JobState::Done => (", done", "32"),
            JobState::Failed => (", failed", "31"),
            JobState::Abandoned => (", abandoned", "31"),
            JobState::Interrupted => (", interrupted", "31"),
        };
        let took = Duration::try_from_secs_f64(job.end.unwrap_or(snapshot.now) - job.arrival).unwrap_or_default();
        let name = escaped(&job.name);
        let rest = format!("  {}  {}/{} tasks{word}", clock(took), grouped(job.finished), grouped(job.tasks));
        let mut own = vec![fitted(
            &format!("{}{}", canvas.paint("1", &name), canvas.paint(code, &rest)),
            &(name + &rest),
            canvas,
        )];
        if !is_over && job.state == JobState::Running {
            own.extend(lines("", &progress(job), took, None, canvas).into_iter().skip(1));
        }
        let left = jobs.len() - at;
        // The last line may be needed to say how many more there are.
        if shown.len() + own.len() + usize::from(left > 1) > height {
            shown.push(beginning(&format!("… {} more", counted(left as u64, "job")), canvas.width, "…"));
            break;
        }
        shown.extend(own);
    }
    shown
}

/// Returns the painted text, or the beginning of the plain one if it is too wide.
fn fitted(painted: &str, plain: &str, canvas: Canvas) -> String {
    let fits = hindmost_report::text::columns(plain) <= canvas.width;
    if fits { painted.to_owned() } else { beginning(plain, canvas.width, "…") }
}

/// Returns the time left in words.
fn note(snapshot: &Snapshot) -> Option<String> {
    let left = Duration::try_from_secs_f64(snapshot.left?).ok()?;
    let then = if snapshot.more_phases { ", then other phases" } else { "" };
    Some(format!("about {} left{then}", clock(left)))
}

/// Returns the parameters of the escape sequence for the colour of a state.
fn code(state: State) -> &'static str {
    match state {
        State::Starting | State::Running => "0",
        State::Done => "32",
        State::Failed | State::Abandoned | State::Interrupted | State::Gone => "31",
    }
}

fn in_words(snapshot: &Snapshot) -> String {
    let state = match snapshot.state {
        State::Starting => "the run is starting".to_owned(),
        State::Running => {
            let mut what = format!("running: {}", counted(snapshot.running_attempts, "attempt"));
            if snapshot.starting_attempts > 0 {
                what += &format!(", {} starting", grouped(snapshot.starting_attempts));
            }
            if snapshot.awaiting_tasks > 0 {
                let waits = if snapshot.awaiting_tasks == 1 { "waits" } else { "wait" };
                what += &format!(
                    "; {} {waits} for the ends of attempts on lost nodes",
                    counted(snapshot.awaiting_tasks, "task")
                );
            }
            what
        }
        State::Done if snapshot.jobs.is_empty() => "the run has ended without a job".to_owned(),
        State::Done => "the run is done".to_owned(),
        State::Failed => format!("the run has failed: {}", counted(snapshot.failed_tasks, "failed task")),
        State::Abandoned => "the policy has abandoned the job".to_owned(),
        State::Interrupted => "the run was interrupted; --resume continues it".to_owned(),
        State::Gone => "no process runs this job any more; --resume continues the run".to_owned(),
    };
    let report = snapshot.report.as_ref().filter(|_| snapshot.state.is_over());
    report.map_or_else(|| state.clone(), |report| format!("{state}; report in {}", escaped(report)))
}

/// Returns the name of a job before that of its phase; empty if the run has only one job.
fn job_prefix(snapshot: &Snapshot, job: u32) -> String {
    let found = snapshot.jobs.get(job as usize).filter(|_| snapshot.jobs.len() > 1);
    found.map_or_else(String::new, |job| format!("{}/", job.name))
}

fn failures(snapshot: &Snapshot) -> Vec<String> {
    let row = |failure: &hindmost_run::live_view::FailureView| {
        let ago = duration((snapshot.now - failure.at).max(0.0));
        let first = failure.message.lines().next().unwrap_or_default();
        let when = if snapshot.state.is_over() { "before the end" } else { "ago" };
        let job = job_prefix(snapshot, failure.job);
        escaped(&format!("  {job}{}/{} on {}, {ago} {when}: {first}", failure.phase, failure.task, failure.node))
    };
    snapshot.failures.iter().map(row).collect()
}

fn attempts(snapshot: &Snapshot) -> Vec<String> {
    let row = |attempt: &AttemptView| {
        let phases = snapshot.jobs.get(attempt.job as usize).map(|job| &job.phases);
        let phase = phases.and_then(|phases| phases.iter().find(|phase| phase.name == attempt.phase));
        let median = phase.and_then(|phase| phase.median).filter(|median| *median > 0.0);
        let job = job_prefix(snapshot, attempt.job);
        let mut row = format!("  {job}{}/{} on {}", attempt.phase, attempt.task, attempt.node);
        let kind = match attempt.kind {
            AttemptKind::Original => "",
            AttemptKind::Retry => ", retry",
            AttemptKind::Clone => ", clone",
            AttemptKind::Backup => ", backup",
            AttemptKind::Replacement => ", replacement",
        };
        let is_starting = attempt.state == AttemptState::Starting;
        let starting = if is_starting { "starting for " } else { "" };
        row += &format!(": {starting}{}{kind}", duration(attempt.elapsed));
        if let Some(median) = median.filter(|_| !is_starting) {
            row += &format!(", {:.1} × median", attempt.elapsed / median);
        }
        if let Some(progress) = attempt.progress {
            row += &format!(", {} done", percent(progress));
        }
        if attempt.copies > 1 {
            row += &format!(", {} copies run", attempt.copies);
        }
        if attempt.state == AttemptState::Stopping {
            row += ", stopping";
        }
        escaped(&row)
    };
    snapshot.running.iter().map(row).collect()
}

/// Returns a line for each node; lost and slow ones come first.
fn nodes(snapshot: &Snapshot) -> Vec<String> {
    let mut nodes: Vec<&NodeView> = snapshot.nodes.iter().collect();
    nodes.sort_by_key(|node| (!node.lost, node.slow.is_none()));
    let row = |node: &&NodeView| {
        let mut row = format!("  {}: {}", node.name, counted(node.attempts, "attempt"));
        if let (Some(all), Some(used)) = (node.capacity.get("cpus"), &node.used) {
            row += &format!(", {} of {all} cpus", used.get("cpus").copied().unwrap_or(0.0));
        }
        if node.lost {
            row += ", lost";
        }
        if let Some(slow) = node.slow {
            row += &format!(", slow ({} of its speed)", percent(slow));
        }
        escaped(&row)
    };
    nodes.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use hindmost_run::live_view::PhaseView;

    use super::*;

    fn job(name: &str, state: JobState, finished: u64) -> JobView {
        let phase = |name: &str, finished: u64, running: u64| PhaseView {
            name: name.to_owned(),
            tasks: 10,
            finished,
            running,
            progress: finished as f64 / 10.0,
            waiting: finished + running == 0,
            ..PhaseView::default()
        };
        let is_over = !matches!(state, JobState::Waiting | JobState::Running);
        let running = u64::from(state == JobState::Running);
        JobView {
            name: name.to_owned(),
            state,
            arrival: 10.0,
            end: is_over.then_some(40.0),
            deadline: None,
            tasks: 20,
            finished,
            failed_tasks: 0,
            report: None,
            phases: vec![phase("map", finished, running), phase("sum", 0, 0)],
        }
    }

    fn state(jobs: Vec<JobView>) -> Snapshot {
        let finished = jobs.iter().map(|job| job.finished).sum();
        Snapshot {
            state: State::Running,
            now: 72.0,
            elapsed: 72.0,
            left: Some(30.0),
            tasks: 20 * jobs.len() as u64,
            finished,
            running_attempts: 1,
            jobs,
            ..Snapshot::default()
        }
    }

    fn drawn(snapshot: &Snapshot, width: usize, height: usize) -> String {
        text(snapshot, Canvas { width, colour: false }, height).join("\n")
    }

    #[test]
    fn running_jobs_come_first_and_ended_ones_have_a_line() {
        let jobs = vec![
            job("early", JobState::Done, 20),
            job("broken", JobState::Failed, 3),
            job("words", JobState::Running, 4),
            job("later", JobState::Waiting, 0),
        ];
        assert_eq!(
            drawn(&state(jobs), 60, 100),
            "\
4 jobs  1 min 12 s  27/80 tasks  about 30.0 s left
words  1 min 02 s  4/20 tasks
map ━━━━━━━━━━━━━━━━──────────────────────── 4/10  1 running
sum ──────────────────────────────────────── 0/10  waiting
later  1 min 02 s  0/20 tasks, waiting
broken  30.0 s  3/20 tasks, failed
early  30.0 s  20/20 tasks, done
running: 1 attempt"
        );
    }

    #[test]
    fn a_low_terminal_shows_how_many_jobs_are_missing() {
        let jobs: Vec<JobView> = (0..30).map(|at| job(&format!("job{at}"), JobState::Running, 4)).collect();
        let jobs = state(jobs);
        for height in 3..60 {
            let drawn = drawn(&jobs, 50, height);
            let lines: Vec<&str> = drawn.lines().collect();
            assert!(lines.len() <= height, "{height}: {drawn}");
            let shown = lines.iter().filter(|line| line.starts_with("job")).count();
            assert!(drawn.contains(&format!("… {} more", counted(30 - shown as u64, "job"))), "{height}: {drawn}");
            assert_eq!(lines.last(), Some(&"running: 1 attempt"), "{height}: {drawn}");
        }
    }

    #[test]
    fn names_of_jobs_are_text_that_fits() {
        let mut jobs = vec![job("\x1b[31ma job of several words with a long name", JobState::Running, 4); 3];
        jobs[1].phases[0].name = "phase\n\x07".to_owned();
        for width in 24..120 {
            let drawn = drawn(&state(jobs.clone()), width, 40);
            assert!(drawn.lines().all(|line| hindmost_report::text::columns(line) <= width), "{width}: {drawn}");
            assert!(!drawn.contains(['\x1b', '\x07']), "{drawn}");
        }
    }
}
