//! Prints the output of tasks as they end, and decides with `--halt` whether the run goes on.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hindmost_core::ids::AttemptId;
use hindmost_core::metrics::{PhaseProgress, RunState};
use hindmost_report::text::{counted, grouped, name};
use hindmost_run::driver::{EarlierResult, Follower, How, Next, TaskEnd};
use hindmost_run::job_file::{Plan, PlannedPhase, TaskCommand};
use hindmost_run::map::{Counted, Entry, Halt, JobLog, Outlook, When};

use crate::board::{Board, clock};
use crate::forecast::Forecast;

/// Exit code of a task whose command has none, because it was stopped.
const STOPPED: u8 = 255;
/// Time between two lines of progress, if stderr is not a terminal.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);
/// When the first of these lines is due.
const FIRST_PROGRESS: Duration = Duration::from_secs(2);
/// Number of characters of a command that is listed at the end.
const LONGEST_COMMAND: usize = 200;
/// Number of failed tasks that are listed at the end.
const MOST_LISTED: usize = 10;
/// The line at the end is about tasks of which an attempt took as long. Copies of tasks that take milliseconds are not worth it.
pub const NOTABLE: Duration = Duration::from_secs(1);

/// How output is printed.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "switches of the command line")]
pub struct Style {
    /// In the order of the values.
    pub keep_order: bool,
    /// Each line begins with the values.
    pub tag: bool,
    /// Each output begins with the command.
    pub shows: bool,
    /// The command is printed on stderr before each output.
    pub verbose: bool,
    /// Nothing is printed.
    pub silent: bool,
    /// Logs are removed once they are printed.
    pub removes_logs: bool,
    /// Progress is shown even if stderr is not a terminal.
    pub eta: bool,
    /// Lines on stderr say which tasks run a second time.
    pub notes_copies: bool,
    /// Nothing is said but failures.
    pub quiet: bool,
}

/// Follows a run and prints the output of its tasks.
pub struct Printer<'a> {
    tasks: Vec<TaskCommand>,
    /// For each task its place in the order of the values; `None` if its values are gone.
    places: Vec<Option<u32>>,
    /// The phase, if standard output becomes files.
    outputs: Option<PlannedPhase>,
    style: Style,
    board: &'a Board,
    forecast: Forecast,
    halt: Halt,
    joblog: Option<JobLog>,
    counted: Counted,
    /// The exit code, once the rule of `--halt` has ended the run.
    halted: Option<u8>,
    /// With `keep_order`: tasks that have ended and are not printed yet, by place, each with its logs.
    held: BTreeMap<u32, (u32, [PathBuf; 2])>,
    /// With `keep_order`: the place of the task to print next.
    next: u32,
    /// Number of tasks whose result is of an earlier process and whose output is gone.
    without_logs: u64,
    /// A line for each of the first failed tasks, by the number of the task.
    failed: BTreeMap<u64, String>,
    /// Why output or the job log can't be written.
    error: Option<(String, io::Error)>,
    progress_at: Instant,
    /// Set by a signal that requests a report.
    report_requests: Arc<AtomicBool>,
    /// True if the running attempts are to be reported.
    wants_running: bool,
}

impl<'a> Printer<'a> {
    /// Creates a printer for the tasks of a map, which have the numbers of their run.
    /// `report_requests` is set whenever the running tasks are to be reported.
    pub fn new(
        plan: &Plan,
        style: Style,
        board: &'a Board,
        (halt, joblog): (Halt, Option<JobLog>),
        report_requests: Arc<AtomicBool>,
    ) -> Printer<'a> {
        let phase = plan.phases.first();
        let commands = phase.and_then(|phase| phase.commands.as_ref());
        let tasks = commands.map(|commands| commands.tasks.clone()).unwrap_or_default();
        let places = phase.and_then(|phase| phase.places.clone());
        let places = places.unwrap_or_else(|| (0..tasks.len() as u32).map(Some).collect());
        let counted = Counted { total: places.iter().flatten().count() as u64, ..Counted::default() };
        let held = BTreeMap::new();
        let progress_at = Instant::now() + FIRST_PROGRESS;
        Printer {
            tasks,
            places,
            outputs: phase.filter(|phase| phase.output.is_some()).cloned(),
            style,
            board,
            forecast: Forecast::default(),
            halt,
            joblog,
            counted,
            halted: None,
            held,
            next: 0,
            without_logs: 0,
            failed: BTreeMap::new(),
            error: None,
            progress_at,
            report_requests,
            wants_running: false,
        }
    }

    /// Prints what has been held back. Returns the exit code of the run.
    ///
    /// # Errors
    /// If output or the job log could not be written.
    pub fn finish(mut self) -> Result<u8, (String, io::Error)> {
        for (task, logs) in std::mem::take(&mut self.held).into_values() {
            self.print(task, &logs);
        }
        if self.without_logs > 0 && !self.style.silent {
            let (tasks, their) =
                if self.without_logs == 1 { ("task", "its log was") } else { ("tasks", "their logs were") };
            self.board.message(&format!(
                "the output of {} {tasks} that finished earlier is not printed or not complete: {their} removed or changed; the \
                 results are kept",
                self.without_logs
            ));
        }
        self.list_failed();
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.halted.unwrap_or_else(|| self.halt.exit_code(self.counted))),
        }
    }

    /// Lists the failed tasks.
    fn list_failed(&self) {
        let Counted { failed, total, .. } = self.counted;
        if failed == 0 || self.style.silent || self.error.is_some() {
            return;
        }
        let mut lines = vec![format!("{} of {} failed:", grouped(failed), counted(total, "task"))];
        lines.extend(self.failed.values().cloned());
        let others = failed.saturating_sub(self.failed.len() as u64);
        if others > 0 {
            let all = if self.joblog.is_some() { "the job log has all" } else { "--joblog FILE lists all" };
            lines.push(format!("  and {} more; {all}", grouped(others)));
        }
        self.board.message(&lines.join("\n"));
    }

    fn print(&mut self, task: u32, logs: &[PathBuf; 2]) {
        if self.error.is_none() && !self.style.silent {
            let task = &self.tasks[task as usize];
            // What was to become a file is not for the terminal, also if the task has failed.
            let standard_output = if self.outputs.is_some() { PathBuf::new() } else { logs[0].clone() };
            let printed = [standard_output, logs[1].clone()];
            let written = self.board.suspend(|| written(task, &printed, self.style));
            self.error = written.err().map(|error| ("standard output".to_owned(), error));
        }
        if self.style.removes_logs {
            for log in logs {
                // A command that wrote nothing has no log.
                let _ = fs::remove_file(log);
            }
        }
    }

    fn print_in_order(&mut self, task: u32, logs: &[PathBuf; 2]) {
        let place = self.places.get(task as usize).copied().flatten().unwrap_or_default();
        if !self.style.keep_order || place < self.next {
            return self.print(task, logs);
        }
        self.held.insert(place, (task, logs.clone()));
        while let Some((task, logs)) = self.held.remove(&self.next) {
            self.next += 1;
            self.print(task, &logs);
        }
    }

    fn log(&mut self, end: &TaskEnd) {
        let Some(joblog) = &mut self.joblog else { return };
        let task = &self.tasks[end.attempt.task.index as usize];
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (exit, signal) = exit_and_signal(end.how);
        let is_file = self.outputs.as_ref().filter(|_| end.how == How::Succeeded);
        let output = is_file.and_then(|phase| phase.output_of(end.attempt.task.index));
        let entry = Entry {
            number: task.number,
            start: now.saturating_sub(end.took).as_secs_f64(),
            seconds: end.took.as_secs_f64(),
            output: fs::metadata(output.as_ref().unwrap_or(&end.logs[0])).map_or(0, |found| found.len()),
            exit,
            signal,
            command: &shown(&task.command),
        };
        if let Err(error) = joblog.add(&entry) {
            self.error = Some((joblog.path().display().to_string(), error));
        }
    }

    /// True if the run ends because of what this printer has returned ([`Next`]).
    pub fn has_ended_run(&self) -> bool {
        self.halted.is_some() || self.error.is_some()
    }

    /// Returns whether the run goes on, and says why if it does not.
    fn next(&mut self, end: &TaskEnd) -> Next {
        let code = code(end.how);
        let task = &self.tasks[end.attempt.task.index as usize];
        let command = String::from_utf8_lossy(&shown(&task.command)).into_owned();
        if matches!(end.how, How::Failed { timed_out: true, .. }) {
            self.board
                .message(&format!("task {} took longer than its time limit and was stopped: {command}", task.number));
        }
        let state = if self.counted.failed > 0 { RunState::Failed } else { RunState::Interrupted };
        if self.error.is_some() {
            return Next::Stop(state);
        }
        if self.halted.is_some() {
            return Next::Continue;
        }
        let Outlook::Halts(when, exit) = self.halt.after(self.counted, code) else { return Next::Continue };
        self.halted = Some(exit);
        let ended = if code == 0 { "succeeded".to_owned() } else { format!("failed (exit code {code})") };
        let rest = match when {
            When::Now => "running tasks are stopped",
            When::Soon => "running tasks finish first",
        };
        self.board.message(&format!("task {} {ended}, so the run ends; {rest}: {command}", task.number));
        match when {
            When::Now => Next::Stop(state),
            When::Soon => Next::Finish(state),
        }
    }
}

impl Follower for Printer<'_> {
    fn phases(&mut self, phases: &[PhaseProgress], elapsed: Duration) {
        let Some(phase) = phases.first() else { return };
        let note = self.forecast.observe(phases, elapsed);
        self.board.update(phases, elapsed, note.as_deref());
        self.wants_running = self.report_requests.swap(false, Ordering::Relaxed);
        let is_due = self.style.eta && !io::stderr().is_terminal() && Instant::now() >= self.progress_at;
        if is_due || self.wants_running {
            self.progress_at = Instant::now() + PROGRESS_EVERY;
            let left = note.map_or_else(String::new, |note| format!(", {note}"));
            self.board.message(&format!(
                "{} of {} tasks finished, {} running, {} failed{left}",
                phase.finished, phase.tasks, phase.running, self.counted.failed
            ));
        }
    }

    fn wants_running(&mut self) -> bool {
        self.wants_running
    }

    fn running(&mut self, attempts: &[(AttemptId, Duration)]) {
        for (attempt, age) in attempts {
            let Some(task) = self.tasks.get(attempt.task.index as usize) else { continue };
            let which = if attempt.copy == 0 { String::new() } else { format!(", attempt {}", attempt.copy) };
            let command = String::from_utf8_lossy(&shown(&task.command)).into_owned();
            self.board.message(&format!("task {}{which}, running for {}: {command}", task.number, clock(*age)));
        }
    }

    fn message(&mut self, line: &str) {
        if !self.style.quiet {
            self.board.message(line);
        }
    }

    fn second_attempt(&mut self, line: &str) {
        if self.style.notes_copies {
            self.message(line);
        }
    }

    fn failure_of_output(&mut self, line: &str) {
        self.board.message(line);
    }

    fn failure(&mut self, _line: &str) {
        // The exit code and the job log show failures, and the output of the command is printed.
    }

    fn task_ended(&mut self, end: &TaskEnd) -> Next {
        self.counted.done += 1;
        self.counted.failed += u64::from(end.how != How::Succeeded);
        if end.how != How::Succeeded {
            let task = &self.tasks[end.attempt.task.index as usize];
            self.failed.insert(task.number, failed_line(task, end));
            if self.failed.len() > MOST_LISTED {
                self.failed.pop_last();
            }
        }
        self.log(end);
        self.print_in_order(end.attempt.task.index, &end.logs);
        self.next(end)
    }

    fn wants_earlier(&self) -> bool {
        // A temporary folder has no earlier results.
        !self.style.removes_logs
    }

    fn earlier(&mut self, earlier: &EarlierResult) {
        self.without_logs += u64::from(earlier.lacks_logs);
        self.print_in_order(earlier.attempt.task.index, &earlier.logs);
    }
}

/// Returns the exit code of a task: 0, that of its command, or 255 if it was stopped.
fn code(how: How) -> u8 {
    match how {
        How::Succeeded => 0,
        How::Failed { exit, .. } => exit.and_then(|exit| u8::try_from(exit).ok()).unwrap_or(STOPPED),
    }
}

/// Returns exit code and signal for the job log. A shell reports a signal as 128 plus its number.
fn exit_and_signal(how: How) -> (i32, i32) {
    match how {
        How::Succeeded => (0, 0),
        How::Failed { timed_out: true, .. } => (-1, 15),
        How::Failed { exit: None, .. } => (-1, 9),
        How::Failed { exit: Some(exit), .. } => (exit, if (129..=192).contains(&exit) { exit - 128 } else { 0 }),
    }
}

/// Returns a line about a failed task.
fn failed_line(task: &TaskCommand, end: &TaskEnd) -> String {
    let why = match end.how {
        How::Failed { timed_out: true, .. } => "stopped at its time limit".to_owned(),
        How::Failed { exit: Some(exit), .. } => format!("exit code {exit}"),
        _ if !end.reason.is_empty() => end.reason.clone(),
        _ => "stopped".to_owned(),
    };
    let command = String::from_utf8_lossy(&shown(&task.command)).into_owned();
    format!("  task {}, {why}: {}", task.number, name(&command, LONGEST_COMMAND, "…"))
}

/// Returns a command for people, with `{%}` for its slot.
pub fn shown(command: &[u8]) -> Vec<u8> {
    command.split(|byte| *byte == 0).collect::<Vec<_>>().join(&b"{%}"[..])
}

/// Returns what each line of a task's output begins with: its values and a tab.
pub fn tag(task: &TaskCommand) -> Vec<u8> {
    [&task.values.join(&b' ')[..], b"\t"].concat()
}

/// Writes the output of a task: its standard output, then its standard error.
fn written(task: &TaskCommand, logs: &[PathBuf; 2], style: Style) -> io::Result<()> {
    let tag = style.tag.then(|| tag(task));
    let command = || [&shown(&task.command)[..], b"\n"].concat();
    // A closed stderr is not an error.
    if style.verbose {
        let _ = io::stderr().write_all(&command());
    }
    let mut stdout = io::stdout().lock();
    if style.shows {
        copy(&mut &command()[..], tag.as_deref(), &mut stdout)?;
    }
    copy_log(&logs[0], tag.as_deref(), &mut stdout)?;
    stdout.flush()?;
    let _ = copy_log(&logs[1], tag.as_deref(), &mut io::stderr().lock());
    Ok(())
}

/// Copies a log. Each line begins with the tag, if there is one. A missing log is empty.
fn copy_log(log: &Path, tag: Option<&[u8]>, to: &mut impl Write) -> io::Result<()> {
    match File::open(log) {
        // Without a tag, a file can be copied inside the kernel.
        Ok(mut file) if tag.is_none() => io::copy(&mut file, to).map(drop),
        Ok(file) => copy(&mut BufReader::new(file), tag, to),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Copies a text. Each line begins with the tag, if there is one.
pub fn copy(from: &mut impl BufRead, tag: Option<&[u8]>, to: &mut impl Write) -> io::Result<()> {
    let mut at_begin = true;
    loop {
        let part = from.fill_buf()?;
        if part.is_empty() {
            return Ok(());
        }
        for line in part.split_inclusive(|byte| *byte == b'\n') {
            if let Some(tag) = tag.filter(|_| at_begin) {
                to.write_all(tag)?;
            }
            to.write_all(line)?;
            at_begin = line.ends_with(b"\n");
        }
        let used = part.len();
        from.consume(used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tagged_lines_begin_with_the_tag() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let long = "x".repeat(20_000);
        fs::write(&log, format!("a\n\n{long}\nlast")).unwrap();
        let mut printed = Vec::new();
        copy_log(&log, Some(b"t\t"), &mut printed).unwrap();
        assert_eq!(String::from_utf8(printed).unwrap(), format!("t\ta\nt\t\nt\t{long}\nt\tlast"));
        let mut nothing = Vec::new();
        copy_log(&folder.path().join("missing"), None, &mut nothing).unwrap();
        assert!(nothing.is_empty());
    }

    #[test]
    fn exit_codes_are_shown_as_in_gnu_parallel() {
        let failed = |exit| How::Failed { exit, timed_out: false };
        assert_eq!([How::Succeeded, failed(Some(3)), failed(None)].map(code), [0, 3, 255]);
        let late = How::Failed { exit: None, timed_out: true };
        let logged = [How::Succeeded, failed(Some(3)), failed(Some(137)), failed(None), late].map(exit_and_signal);
        assert_eq!(logged, [(0, 0), (3, 0), (137, 9), (-1, 9), (-1, 15)]);
    }
}
