//! `hindmost map`: runs a command for each of many values on this machine or a cluster.

mod gain;
mod output;
mod refusals;

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use hindmost_core::metrics::{RunState, RunSummary};
use hindmost_policies::catalogue::spec::PolicySpec;
use hindmost_run::driver::{self, RunOptions};
use hindmost_run::job_file::{KILL_AFTER, OutputTemplate, Overrides, Plan, PlannedPhase, TaskCommands};
use hindmost_run::map::{
    ColumnSeparator, Combining, Earlier, Given, Halt, JobLog, MapError, MapJob, Reading, Splitting, TEMPORARY,
    Template, combined, left_running, parallel_tasks, quoted, read_sources, remove_left_folders, shell, split_words,
    timeout,
};
use hindmost_run::store::{Opening, begun_with};

use crate::board::Board;
use crate::cli::MapArgs;
use crate::engines::{Chosen, temporary_place};
use crate::failure::{Failure, Outcome, say};
use crate::{live_page, stop, terminal};

use output::{Printer, Style};
pub use refusals::refusal;

/// Exit code for errors that are not failed tasks, as in GNU parallel.
const OTHER_ERROR: u8 = 255;
/// Exit code if the reader of standard output went away before everything was written: that of a program that `SIGPIPE` ends.
const CLOSED_PIPE: u8 = 141;
/// Policy that starts no copies.
const NO_COPIES: &str = "none";

/// Runs a map.
pub fn run(args: MapArgs) -> Outcome {
    // Tasks may have failed or not run at all, so this is no success.
    run_or_closed_pipe(args).map_err(|failure| match failure {
        Failure::ClosedPipe => Failure::Code(CLOSED_PIPE),
        other => other,
    })
}

fn run_or_closed_pipe(mut args: MapArgs) -> Outcome {
    if let Some(failure) = args.profile.as_ref().and_then(|_| refusals::refused("--profile")) {
        return Err(failure);
    }
    if std::env::var_os("PARALLEL").is_some_and(|options| !options.is_empty()) {
        say("the options in $PARALLEL are not used: give them on the command line of `hindmost map`");
    }
    let job = job(&mut args)?;
    let options = options(&args)?;
    let jobs = parallel_tasks(args.jobs.as_deref(), cpus(), job.commands.tasks.len())?;
    let halt: Halt = args.halt.as_deref().unwrap_or("never").parse()?;
    let mut plan = job.plan();
    plan.check_outputs().map_err(|error| Failure::input(format!("--output: {error}")))?;
    if args.dry_run {
        return dry_run(&plan.phases[0], &job, jobs, args.tag, args.verbose);
    }
    plan.override_with(&Overrides {
        copies: args.copies.then_some(true),
        kill_after: args.ending.kill_after,
        ..Overrides::default()
    });
    args.ending.count_term();
    check_left_running(&plan, args.ending.tmpdir.as_deref())?;
    let joblog = joblog(&args)?;
    if job.commands.tasks.is_empty() {
        return if args.json { terminal::print_json(&nothing(&plan.name, &options)) } else { Ok(()) };
    }
    let recorded = args.out.as_deref().filter(|_| args.resume).and_then(begun_with);
    if args.nodes.is_some() && !Chosen::is_of_cluster(&args.engine, recorded.as_ref()) {
        return Err(Failure::input(
            "--nodes chooses nodes of a cluster: add --engine slurm, or use -j for this machine",
        ));
    }
    let mut engine =
        Chosen::of(&args.engine, args.nodes.as_deref(), Some(&format!("local:{jobs}")), recorded, &|_| true)?;
    if engine.is_shared() && args.jobs.is_some() {
        engine.set_cpus(jobs as f64);
    }
    engine.set_speeds(&args.node_speed, &plan.speeds)?;
    driver::check(&plan, &options, &engine.nodes)?;

    let board = Board::new(&plan.name, args.quiet);
    let style = Style {
        keep_order: args.keep_order && !args.no_keep_order,
        tag: args.tag,
        shows: args.show && !args.silent,
        verbose: args.verbose,
        silent: args.json,
        removes_logs: args.out.is_none(),
        eta: args.eta,
        notes_copies: !args.no_copies && !args.once && (args.policy.is_none() || io::stderr().is_terminal()),
        quiet: args.quiet,
    };
    let says_gain = style.notes_copies && !args.json && !args.quiet;
    // From here on signals end the run in order, so that the temporary folder is removed.
    let presses = stop::presses();
    let report_requests = stop::report_requests();
    let temporary = if args.out.is_none() {
        Some(temporary_folder(args.ending.tmpdir.as_deref(), engine.is_shared())?)
    } else {
        None
    };
    let out =
        args.out.clone().or_else(|| temporary.as_ref().map(|folder| folder.path().to_owned())).unwrap_or_default();
    let opening = Opening {
        resume: args.resume && args.out.is_some(),
        keep_results: args.keep_results,
        no_sync: temporary.is_some(),
        checksum: false,
        trust_folder: false,
        overwrite: args.overwrite,
        redo: Vec::new(),
        redo_changed: false,
        begun_with: None,
    };
    let resumes = opening.resume;
    let opened = super::run::open(&plan, &options, &out, opening, &engine).map_err(as_other_error)?;
    let page = live_page::serve(args.serve.as_deref(), &out)?;
    // Tasks have the numbers with which their run began.
    let mut printer = Printer::new(&opened.plan, style, &board, (halt, joblog), report_requests);
    let outcome = super::run::execute(opened, &options, resumes, engine, &mut printer);
    board.finish();
    let has_ended_run = printer.has_ended_run();
    let code = printer.finish();
    let outcome = outcome.map_err(as_other_error);
    if let (Ok(outcome), None) = (&outcome, &temporary) {
        super::report::of_run(&options, &out, outcome);
    }
    if let Some(page) = page {
        page.finish();
    }
    if let Some(Err(error)) = temporary.map(tempfile::TempDir::close) {
        say(&format!("the temporary folder could not be removed: {error}"));
    }
    let outcome = outcome?;
    if says_gain
        && outcome.summary.state != RunState::Interrupted
        && let Some(line) = gain::gain(&outcome.summary, &outcome.timeline)
    {
        say(&line);
    }
    let printed = if args.json { terminal::print_json(&outcome.summary) } else { Ok(()) };
    let is_stopped = presses.load(Ordering::Relaxed) > 0 && outcome.summary.state != RunState::Done;
    // Without a request of the user, all nodes are lost for good.
    if is_stopped || outcome.summary.state == RunState::Interrupted && !has_ended_run {
        if args.out.is_some() {
            say("the same command with --resume continues the run");
        }
        return Err(Failure::Interrupted);
    }
    match code {
        Err((_, error)) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::ClosedPipe),
        Err((what, error)) => Err(as_other_error(Failure::work(format!("{what} can't be written: {error}")))),
        Ok(_) if outcome.summary.state == RunState::Abandoned => {
            Err(as_other_error(Failure::work("the policy abandoned the run")))
        }
        Ok(0) => printed,
        Ok(code) => Err(Failure::Code(code)),
    }
}

impl From<MapError> for Failure {
    fn from(error: MapError) -> Failure {
        Failure::input(error)
    }
}

/// Prints the message of a failure of the work, and returns the failure with the exit code for other errors.
fn as_other_error(failure: Failure) -> Failure {
    match failure {
        Failure::Work(error) => {
            say(&format!("error: {error:#}"));
            Failure::Code(OTHER_ERROR)
        }
        other => other,
    }
}

fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Makes the tasks from the command line and the input sources.
fn job(args: &mut MapArgs) -> Outcome<MapJob> {
    let words = split_words(std::mem::take(&mut args.words).into_iter().map(OsString::into_vec).collect());
    let files = args.arg_file.iter().map(|file| (Given::File(file.clone()), false));
    let mut given: Vec<(Given, bool)> = files.chain(words.sources).collect();
    if given.is_empty() {
        given.push((Given::File(PathBuf::from("-")), false));
        if io::stdin().is_terminal() {
            say("values are read from the terminal, one on each line; Ctrl-D ends them");
        }
    }
    let delimiter = match &args.delimiter {
        Some(text) => delimiter(text),
        None => vec![if args.null { 0 } else { b'\n' }],
    };
    let splitting = Splitting { delimiter, no_run_if_empty: args.no_run_if_empty, csv: args.csv };
    let sources = read_sources(given, &splitting, &mut io::stdin().lock())?;
    let group = args.max_replace_args.or(args.max_args);
    let how = Combining {
        link_all: args.link,
        column_separator: column_separator(args)?,
        trims: args.colsep.is_some(),
        group,
        header: args.header.is_some(),
    };
    let (names, values) = combined(sources, &how)?;
    let reading = Reading {
        replacement: args.replacement.as_deref().map(OsStr::as_bytes),
        names: &names,
        quoted: args.quote,
        without_values: group == Some(0),
        repeats_words: args.max_replace_args.is_some(),
    };
    let template = Template::new(&words.template, &reading)?;
    let output = args.output.as_deref().map(|text| OutputTemplate::new(text.as_bytes(), &reading)).transpose();
    let output = output.map_err(|error| Failure::input(format!("--output: {error}")))?;
    let mut tasks = MapJob::tasks(&template, values)?;
    if args.resume && args.out.is_none() || args.resume_failed {
        let Some((path, _)) = joblog_path(args) else {
            return Err(Failure::input(if args.resume_failed {
                "--resume-failed needs --joblog FILE, where the failed tasks are recorded"
            } else {
                "--resume needs --out DIR or --joblog FILE, where the finished tasks are recorded"
            }));
        };
        let earlier = Earlier::read(&path)?;
        if earlier.is_cut_off() {
            say(&format!("{}: the last line is cut off, so its task runs again", path.display()));
        }
        tasks.retain(|task| !earlier.has(task.number, args.resume_failed));
    }
    let folder = args.workdir.clone().unwrap_or_else(|| PathBuf::from("."));
    let directory = folder.canonicalize().ok().filter(|folder| folder.is_dir());
    let directory =
        directory.ok_or_else(|| Failure::input(format!("--workdir {}: this is not a folder", folder.display())))?;
    let (time_limit, time_limit_of_median) = args.timeout.as_deref().map(timeout).transpose()?.unwrap_or_default();
    Ok(MapJob {
        words: String::from_utf8_lossy(&words.template.join(&b' ')).into_owned(),
        commands: TaskCommands { template, tasks, resumable: args.out.is_some() },
        shell: shell(|name| std::env::var(name).ok())?,
        directory,
        retries: args.retries - 1,
        time_limit,
        time_limit_of_median,
        kill_after: KILL_AFTER,
        idempotent: !args.once,
        output,
    })
}

/// Returns the delimiter that a text names: `\t`, `\n`, `\r`, and octal numbers such as `\0` and `\061` stand for characters,
/// as in GNU parallel. Any other backslash stands for itself.
fn delimiter(text: &str) -> Vec<u8> {
    let octal = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok();
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let (byte, used) = match after {
            _ if *first != b'\\' => (*first, 1),
            [b't', ..] => (b'\t', 2),
            [b'n', ..] => (b'\n', 2),
            [b'r', ..] => (b'\r', 2),
            _ => {
                let digits = |count: usize| {
                    let digits = after.get(..count).filter(|digits| digits.iter().all(u8::is_ascii_digit));
                    digits.and_then(octal).map(|byte| (byte, count + 1))
                };
                digits(3).or_else(|| digits(1)).unwrap_or((*first, 1))
            }
        };
        bytes.push(byte);
        rest = &rest[used..];
    }
    bytes
}

/// Returns what separates columns: the pattern of `--colsep`, commas as in CSV with `--csv`, or a tab with `--header`.
fn column_separator(args: &MapArgs) -> Outcome<Option<ColumnSeparator>> {
    if args.csv {
        return Ok(Some(ColumnSeparator::csv(args.colsep.as_deref())?));
    }
    let pattern = args.colsep.as_deref().or(args.header.as_ref().map(|_| "\t"));
    let Some(pattern) = pattern else { return Ok(None) };
    let separator = ColumnSeparator::new(pattern)?;
    if separator.matches_nothing() {
        say(&format!(
            "--colsep {pattern:?} is a pattern that also matches the empty text, so values are split between all characters; \
             write \\ before a character that stands for itself"
        ));
    }
    Ok(Some(separator))
}

fn options(args: &MapArgs) -> Outcome<RunOptions> {
    let no_copies = || NO_COPIES.parse::<PolicySpec>().map_err(Failure::input);
    let policy = if args.no_copies { Some(no_copies()?) } else { super::run::policy(args.policy.as_deref())? };
    // Reading the energy counters takes longer than a short run.
    let shows_energy = args.json || args.out.is_some();
    Ok(RunOptions {
        policy,
        knowledge: super::run::knowledge(args.knowledge.as_deref())?,
        profiles: args.profiles.clone().map(|path| (path, args.most_profiles)),
        tmpdir: args.ending.tmpdir.clone(),
        disk_wait: args.ending.disk_wait,
        powercap: shows_energy.then(super::run::powercap),
        ..RunOptions::default()
    })
}

/// Returns the path of the job log, and whether it is appended to.
fn joblog_path(args: &MapArgs) -> Option<(PathBuf, bool)> {
    let given = args.joblog.as_ref()?;
    let appends = given.as_bytes().strip_prefix(b"+");
    let path = appends.map_or_else(|| PathBuf::from(given), |path| PathBuf::from(OsStr::from_bytes(path)));
    Some((path, appends.is_some()))
}

fn joblog(args: &MapArgs) -> Outcome<Option<JobLog>> {
    let Some((path, appends)) = joblog_path(args) else { return Ok(None) };
    Ok(Some(JobLog::open(&path, appends || args.resume || args.resume_failed)?))
}

/// Refuses a map whose commands name files for writing while commands of a killed map still run in this folder: they may be writing
/// the same files, and would go on after the new ones have ended.
fn check_left_running(plan: &Plan, within: Option<&Path>) -> Outcome {
    let names_files = plan.phases.iter().any(PlannedPhase::names_files);
    let Some(place) = std::env::current_dir().ok().filter(|_| names_files) else { return Ok(()) };
    let running = left_running(&within.map_or_else(|| temporary_place(false), Path::to_owned), &place);
    if running.is_empty() {
        return Ok(());
    }
    let numbers = running.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
    Err(as_other_error(Failure::work(format!(
        "commands of a map that was killed still run in this folder and may write the same files: wait until they have ended, or end them \
         with: kill {numbers}"
    ))))
}

/// Creates a folder for the run that only this user may open. First removes those that killed runs have left beside it.
fn temporary_folder(within: Option<&Path>, is_shared: bool) -> Outcome<tempfile::TempDir> {
    let within = within.map_or_else(|| temporary_place(is_shared), Path::to_owned);
    let removed = remove_left_folders(&within);
    if removed > 0 {
        let folders = if removed == 1 { "folder" } else { "folders" };
        say(&format!("{removed} temporary {folders} of killed runs removed from {}", within.display()));
    }
    let only_own = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    let folder = tempfile::Builder::new().prefix(TEMPORARY).permissions(only_own).tempdir_in(&within);
    folder.map_err(|error| {
        as_other_error(Failure::work(format!(
            "no temporary folder can be created in {}: {error}; --tmpdir DIR names another place",
            within.display()
        )))
    })
}

/// Prints the commands in order and the files that their outputs would become, with their values before them if `tag`. With `verbose` they
/// are printed on stderr too.
fn dry_run(phase: &PlannedPhase, job: &MapJob, jobs: usize, tag: bool, verbose: bool) -> Outcome {
    let mut stdout = io::BufWriter::new(io::stdout().lock());
    for (at, task) in job.commands.tasks.iter().enumerate() {
        let slot = (at % jobs + 1).to_string();
        let parts: Vec<&[u8]> = task.command.split(|byte| *byte == 0).collect();
        let mut line = parts.join(slot.as_bytes());
        if let Some(path) = phase.output_of(at as u32) {
            line.extend(b" > ");
            line.extend(quoted(path.strip_prefix(&phase.directory).unwrap_or(&path).as_os_str().as_bytes()));
        }
        line.push(b'\n');
        if verbose {
            // A closed stderr is not an error.
            let _ = io::stderr().write_all(&line);
        }
        output::copy(&mut &line[..], tag.then(|| output::tag(task)).as_deref(), &mut stdout)?;
    }
    stdout.flush()?;
    Ok(())
}

/// Returns the summary of a run without tasks.
fn nothing(name: &str, options: &RunOptions) -> RunSummary {
    let policy = options.policy.as_ref().map_or_else(|| driver::DEFAULT_POLICY.to_owned(), ToString::to_string);
    RunSummary {
        job: name.to_owned(),
        policy,
        knowledge: options.knowledge.unwrap_or(driver::DEFAULT_KNOWLEDGE).to_string(),
        ..RunSummary::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_are_those_of_gnu_parallel() {
        for (text, expected) in [
            (r"\t\n\r\0", &b"\t\n\r\0"[..]),
            (r"\000,\061\1", b"\0,1\x01"),
            (r"\\\,\x31\9", b"\\\\\\,\\x31\\9"),
            (r"\61", b"\x061"),
            (r"\777", b"\x0777"),
            ("\\", b"\\"),
            ("é", "é".as_bytes()),
        ] {
            assert_eq!(delimiter(text), expected, "{text}");
        }
    }

    #[test]
    fn commands_show_their_slot_as_a_replacement_string() {
        assert_eq!(output::shown(b"echo \0 a"), b"echo {%} a");
    }
}
