//! `hindmost run`: runs a job of many tasks on this machine or a cluster.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hindmost_core::estimator::Knowledge;
use hindmost_core::metrics::{FailedTask, PhaseProgress, RunState};
use hindmost_core::record::{Change, Event};
use hindmost_core::timeline::AttemptEnd;
use hindmost_math::plain::{Plain, Quoted};
use hindmost_policies::catalogue::spec::PolicySpec;
use hindmost_report::gantt::{GanttOptions, gantt};
use hindmost_report::run::run_table;
use hindmost_report::text::{columns, counted, grouped, indented, wrapped};
use hindmost_run::chaos::Chaos;
use hindmost_run::driver::{self, Follower, RunError, RunOptions, RunOutcome};
use hindmost_run::energy;
use hindmost_run::engine::NodeOffer;
use hindmost_run::job_file::{self, Plan, PlannedPhase};
use hindmost_run::store::{BegunWith, Opened, Opening, Store, StoreError, begun_with};
use hindmost_trace::journal;
use serde_json::Value;

use crate::board::Board;
use crate::cli::RunJobArgs;
use crate::engines::{Chosen, Purpose};
use crate::failure::{Failure, Outcome};
use crate::forecast::Forecast;
use crate::{live_page, stop, terminal};

use super::report::quoted;
use super::several;

/// Environment variable with another folder than `/sys/class/powercap` for the machine's energy counters.
const POWERCAP_FOLDER: &str = "HINDMOST_POWERCAP";

/// Largest number of failed tasks that the error message names.
const MOST_NAMED: usize = 5;

/// Runs a job, or checks its file.
pub fn run(args: &RunJobArgs) -> Outcome {
    if args.schema {
        return terminal::print_json(&job_file::schema());
    }
    let resumes = args.resume || !args.redo.is_empty();
    for (option, is_set) in [("--keep-results", args.keep_results), ("--retry-failed", args.retry_failed)] {
        if is_set && !resumes {
            return Err(Failure::input(format!(
                "{option} is about the results of an earlier run: add --resume or --redo, or leave it out"
            )));
        }
    }
    let [path] = args.jobs.as_slice() else { return several::run(args) };
    if args.listen.is_some() || args.out.as_deref().is_some_and(several::holds_several) {
        return several::run(args);
    }
    let mut plan = job_file::load(path).map_err(Failure::input)?;
    plan.override_with(&args.overrides());
    args.ending.count_term();
    let options = options(args)?;
    let unknown = options.history.keys().filter(|name| plan.phases.iter().all(|phase| phase.name != **name));
    for phase in unknown {
        crate::failure::say(&format!(
            "--history has durations of phase {phase:?}, but this job has no such phase; they are not used"
        ));
    }
    let out = args.out.clone().unwrap_or_else(|| plan.folder.join(format!("{}.out", plan.name)));
    let opening = opening(args);
    let recorded = if opening.resume { begun_with(&out) } else { None };
    let mut engine =
        Chosen::of(&args.engine, args.nodes.as_deref(), plan.nodes.as_deref(), recorded, &|node| plan.can_use(node))?;
    engine.set_speeds(&args.node_speed, &plan.speeds)?;
    args.ending.check_tmpdir(engine.is_shared())?;
    if !args.redo.is_empty() && !out.join(".hindmost").is_dir() {
        return Err(Failure::input(format!(
            "--redo: {} holds no run, so no part of it can run again; without --redo, all of the job runs",
            out.display()
        )));
    }
    if args.check {
        live_page::check(args.serve.as_deref())?;
        return check(args, &plan, &options, (&engine.nodes, engine.given), &out, &opening);
    }
    let page = live_page::serve(args.serve.as_deref(), &out)?;
    let board = Board::new(&plan.name, args.json || args.quiet);
    let outcome = run_plan(&plan, &options, &out, opening, engine, &mut Shown::new(&board, args.quiet));
    board.finish();
    if let Some(page) = page {
        page.finish();
    }
    let hint = format!("`{}` continues the run", resume_command(args));
    let outcome = outcome.map_err(|failure| match failure {
        Failure::Work(error) => Failure::work(format!("{error:#}; after you have corrected this, {hint}")),
        other => other,
    })?;
    // The state of the job decides the exit code, even if stdout is closed.
    let printed = print(args, &outcome, &out);
    match outcome.summary.state {
        RunState::Done => printed,
        RunState::Failed => Err(Failure::work(format!("the job failed: {}; {hint}", why_failed(&outcome)))),
        RunState::Abandoned => Err(Failure::work(format!(
            "the policy abandoned the job; the results of its finished tasks are in {}",
            out.display()
        ))),
        RunState::Interrupted => {
            crate::failure::say(&hint);
            Err(Failure::Interrupted)
        }
    }
}

/// Returns how the folders of a run are opened.
pub fn opening(args: &RunJobArgs) -> Opening {
    Opening {
        resume: args.resume || !args.redo.is_empty(),
        keep_results: args.keep_results,
        no_sync: args.no_sync,
        checksum: args.checksum,
        trust_folder: args.trust_folder,
        overwrite: args.overwrite,
        redo: args.redo.clone(),
        begun_with: None,
    }
}

/// Returns which tasks made a job fail, and where the output of their commands is. Failures that their phase allows are left out.
pub fn why_failed(outcome: &RunOutcome) -> String {
    let all = &outcome.summary.failed_tasks;
    let is_too_many =
        |phase: &&PlannedPhase| all.iter().filter(|task| task.phase == phase.name).count() > phase.may_fail() as usize;
    let decisive: Vec<&str> = outcome.plan.phases.iter().filter(is_too_many).map(|phase| phase.name.as_str()).collect();
    let tasks: Vec<&FailedTask> = all.iter().filter(|task| decisive.contains(&task.phase.as_str())).collect();
    let mut failed: Vec<String> =
        tasks.iter().take(MOST_NAMED).map(|task| format!("{}/{}", task.phase, task.task)).collect();
    if let Some(more) = tasks.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
        failed.push(format!("and {}", counted(more as u64, "more task")));
    }
    let has_logs = tasks.iter().any(|task| task.stdout_log.is_some() || task.stderr_log.is_some());
    let logs = if has_logs {
        format!("the output of its commands is in {}", outcome.folder.join(".hindmost/logs").display())
    } else {
        "no output of the failed commands was kept".to_owned()
    };
    let may_repeat = |name: &str| outcome.plan.phases.iter().any(|phase| phase.name == name && phase.idempotent);
    let once = if tasks.iter().any(|task| !may_repeat(&task.phase)) {
        "; a failed task with idempotent = false runs again only if `retries` of its phase allows it"
    } else {
        ""
    };
    format!("{}; {logs}{once}", failed.join(", "))
}

/// Returns the command that continues a run, quoted for a shell.
pub fn resume_command(args: &RunJobArgs) -> String {
    let mut command = "hindmost run".to_owned();
    for path in &args.jobs {
        command += &format!(" {}", quoted(&path.to_string_lossy()));
    }
    if let Some(socket) = &args.listen {
        command += &format!(" --listen {}", quoted(&socket.to_string_lossy()));
    }
    if let Some(out) = &args.out {
        command += &format!(" --out {}", quoted(&out.to_string_lossy()));
    }
    let switches = [
        ("no-sync", args.no_sync),
        ("checksum", args.checksum),
        ("trust-folder", args.trust_folder),
        ("overwrite", args.overwrite),
        ("copies", args.copies),
        ("no-copies", args.no_copies),
    ];
    for (name, is_set) in switches {
        if is_set {
            command += &format!(" --{name}");
        }
    }
    if args.keep_going {
        command += " --keep-going";
    }
    if let Some(allowed) = args.allow_failures {
        command += &format!(" --allow-failures {allowed}");
    }
    if let Some(kill_after) = args.ending.kill_after {
        command += &format!(" --kill-after {}s", Plain(kill_after.as_secs_f64()));
    }
    if let Some(tmpdir) = &args.ending.tmpdir {
        command += &format!(" --tmpdir {}", quoted(&tmpdir.to_string_lossy()));
    }
    if let Some(profiles) = &args.profiles {
        command += &format!(" --profiles {}", quoted(&profiles.to_string_lossy()));
    }
    for chaos in &args.chaos {
        command += &format!(" --chaos {}", quoted(chaos));
    }
    command + " --resume"
}

fn print(args: &RunJobArgs, outcome: &RunOutcome, out: &Path) -> Outcome {
    if args.json {
        terminal::print_json(&outcome.summary)
    } else {
        let mut text = run_table(&outcome.summary, terminal::width());
        if args.gantt {
            text += "\n";
            text += &chart(outcome, None);
        }
        if outcome.summary.state == RunState::Done {
            text += &format!("\nresults in {}\n", out.display());
        }
        terminal::print(&text)
    }
}

/// Runs a checked job in a folder, and writes its report there. A resumed run uses the nodes with which it began, unless
/// `given`: the user has named nodes.
pub fn run_plan(
    plan: &Plan,
    options: &RunOptions,
    out: &Path,
    opening: Opening,
    engine: Chosen,
    follower: &mut dyn Follower,
) -> Outcome<RunOutcome> {
    let resumes = opening.resume;
    let opened = open(plan, options, out, opening, &engine)?;
    let outcome = execute(opened, options, resumes, engine, follower)?;
    super::report::of_run(options, out, &outcome);
    Ok(outcome)
}

/// Opens the folder of a checked job that is to run on this engine.
pub fn open(plan: &Plan, options: &RunOptions, out: &Path, mut opening: Opening, engine: &Chosen) -> Outcome<Opened> {
    // The job is checked before its folder is created, so that a wrong option leaves no folder.
    if !opening.resume {
        driver::check(plan, options, &engine.nodes)?;
    }
    let (name, slurm_args) = engine.recorded();
    opening.begun_with = Some(BegunWith {
        policy: options.policy.as_ref().map(ToString::to_string),
        knowledge: options.knowledge,
        nodes: engine.nodes.clone(),
        engine: name,
        slurm_args,
    });
    Ok(Store::open(out, plan, &opening).map_err(RunError::from)?)
}

/// Runs a job in its opened folder. `resumes` says whether the folder's run is to be resumed. It then uses the nodes with which
/// it began, unless the user has named nodes.
pub fn execute(
    opened: Opened,
    options: &RunOptions,
    resumes: bool,
    mut engine: Chosen,
    follower: &mut dyn Follower,
) -> Outcome<RunOutcome> {
    let presses = stop::presses();
    if resumes && !opened.begun {
        let out = opened.store.folder().display();
        follower.message(&nothing_to_resume(&opened, out));
    }
    if resumes
        && !engine.given
        && let Some(nodes) = driver::recorded_nodes(&opened.store)?
    {
        engine.take_recorded(nodes)?;
    }
    let purpose =
        Purpose { name: opened.plan.name.clone(), wants_gpus: opened.plan.demands_gpus(), is_done: opened.was_done() };
    let mut engine = engine.open(&purpose, &opened.store, presses, &mut |line| follower.message(line))?;
    let outcome = driver::run(options, opened, engine.engine(), presses, follower);
    if let Some(left) = engine.close() {
        follower.message(&left);
    }
    Ok(outcome?)
}

/// Returns a message about a folder that has no run to resume, or a run without a journal.
pub fn nothing_to_resume(opened: &Opened, out: impl std::fmt::Display) -> String {
    if opened.lacks_journal() {
        return format!("the run in {out} has no journal, so only its results that are in place and valid count");
    }
    format!("there is no run to resume in {out}: a new run begins")
}

/// Returns the Gantt chart of a run, as wide as the terminal.
pub fn chart(outcome: &RunOutcome, until: Option<f64>) -> String {
    let options =
        GanttOptions { width: terminal::width(), colour: terminal::colour(), ascii: false, until, max_lanes: 64 };
    gantt(&outcome.timeline, &options)
}

/// Returns the options of a run.
pub fn options(args: &RunJobArgs) -> Outcome<RunOptions> {
    let chaos: Chaos = args.chaos.join(",").parse().map_err(Failure::input)?;
    Ok(RunOptions {
        policy: policy(args.policy.as_deref())?,
        knowledge: knowledge(args.knowledge.as_deref())?,
        chaos,
        history: history(&args.history)?,
        profiles: args.profiles.clone().map(|path| (path, args.most_profiles)),
        retry_failed: args.retry_failed,
        tmpdir: args.ending.tmpdir.clone(),
        disk_wait: args.ending.disk_wait,
        powercap: Some(powercap()),
    })
}

/// Returns the policy that `--policy` names.
pub fn policy(named: Option<&str>) -> Outcome<Option<PolicySpec>> {
    let policies = named.map(hindmost_policies::catalogue::spec::split_list).unwrap_or_default();
    if policies.len() > 1 {
        return Err(Failure::input(format!(
            "--policy names {} policies, but a run has one; `hindmost replay` compares policies on a finished run",
            policies.len()
        )));
    }
    named.map(|name| name.parse().map_err(Failure::input)).transpose()
}

/// Returns the progress model that `--knowledge` names.
pub fn knowledge(named: Option<&str>) -> Outcome<Option<Knowledge>> {
    let knowledge = named.map(|name| {
        name.parse().map_err(|_| {
            Failure::input(format!(
                "--knowledge: {} is not a progress model: {}",
                Quoted(name),
                job_file::KNOWLEDGE_OF_RUNS
            ))
        })
    });
    knowledge.transpose()
}

/// Returns the folder with the machine's energy counters.
pub fn powercap() -> PathBuf {
    std::env::var_os(POWERCAP_FOLDER).unwrap_or_else(|| energy::POWERCAP.into()).into()
}

/// Returns the durations of the winning attempts of earlier runs, in seconds, by name of the phase.
fn history(journals: &[PathBuf]) -> Outcome<BTreeMap<String, Vec<f64>>> {
    let mut durations: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for path in journals {
        let records = journal::records(path, None).map_err(Failure::input)?;
        let records: Vec<_> = records.collect::<Result<_, _>>().map_err(Failure::input)?;
        let joined = records.iter().filter_map(|record| match &record.change {
            Change::Event(Event::NodeJoined { speed, .. }) => Some(*speed),
            _ => None,
        });
        // Durations are those of a node of speed 1.
        let speeds: Vec<f64> = joined.collect();
        let timeline = hindmost_core::timeline::Timeline::of(records);
        for row in timeline.rows.iter().filter(|row| row.outcome == AttemptEnd::Won) {
            let phase = timeline.phase_name(row.attempt.task).to_owned();
            let speed = speeds.get(row.node.0 as usize).copied().unwrap_or(1.0);
            durations.entry(phase).or_default().push((row.end - row.start).seconds() * speed);
        }
    }
    Ok(durations)
}

fn check(
    args: &RunJobArgs,
    plan: &Plan,
    options: &RunOptions,
    (nodes, are_given): (&[NodeOffer], bool),
    out: &Path,
    opening: &Opening,
) -> Outcome {
    // What a resumed run would do, if there is a run.
    let opened = (opening.resume && out.join(".hindmost").is_dir())
        .then(|| Store::open(out, plan, opening).map_err(RunError::from))
        .transpose()?;
    let recorded = match &opened {
        Some(opened) if !are_given => driver::recorded_nodes(&opened.store)?,
        _ => None,
    };
    let nodes = recorded.as_deref().unwrap_or(nodes);
    driver::check(plan, options, nodes)?;
    let resumed = opened.map(|opened| driver::resume_plan(options, &opened, nodes)).transpose()?;
    let (policy, knowledge) = driver::chosen(plan, options)?;
    let shell = plan.shells_in_words(&job_file::default_shell());
    if args.json {
        let mut json = checked(plan, &(policy, knowledge), nodes)?;
        if let Some(resumed) = &resumed {
            json["resume"] = resumed.to_json();
        }
        return terminal::print_json(&json);
    }
    let mut text = plan.describe();
    text +=
        &format!("\nThe job would run with policy {policy}, knowledge {knowledge}, shell {shell}, on these nodes:\n");
    text += &nodes_in_words(nodes);
    if let Some(resumed) = &resumed {
        text += &format!("\nThe run in {} would continue:\n", out.display());
        for phase in &resumed.phases {
            let failed = match phase.failed {
                0 => String::new(),
                1 => "1 task stays failed, ".to_owned(),
                count => format!("{count} tasks stay failed, "),
            };
            let withdrawn = match phase.withdrawn {
                0 => String::new(),
                count => format!(", {} withdrawn", counted(u64::from(count), "task")),
            };
            let to_run = counted(u64::from(phase.to_run), "task");
            let ended = match phase.ended {
                0 => String::new(),
                count => format!(" ({} of them while Hindmost was not running)", grouped(u64::from(count))),
            };
            text +=
                &format!("  {}: {} finished{ended}, {failed}{to_run} to run{withdrawn}\n", phase.phase, phase.finished);
        }
        for line in &resumed.messages {
            text += &format!("  {line}\n");
        }
    } else if opening.resume {
        text += &format!("\nThere is no run to resume in {}: a new run would begin.\n", out.display());
    }
    terminal::print(&described(&text))
}

/// Returns a checked job as JSON, with what it would run with.
pub fn checked(plan: &Plan, chosen: &(PolicySpec, Knowledge), nodes: &[NodeOffer]) -> Outcome<Value> {
    let mut json = plan.to_json();
    json["policy"] = chosen.0.to_string().into();
    json["shell"] = plan.shells_in_words(&job_file::default_shell()).into();
    json["knowledge"] = chosen.1.to_string().into();
    json["nodes"] = serde_json::to_value(nodes).map_err(Failure::work)?;
    Ok(json)
}

/// Returns a line for each node with its capacity, its features and, if one is not 1, the speeds.
pub fn nodes_in_words(nodes: &[NodeOffer]) -> String {
    let has_speeds = nodes.iter().any(|node| node.speed != 1.0);
    let line = |node: &NodeOffer| {
        let features =
            if node.features.is_empty() { String::new() } else { format!(" ({})", node.features.join(", ")) };
        let speed = if has_speeds { format!(", speed {}", Plain(node.speed)) } else { String::new() };
        format!("  {}: {}{speed}{features}\n", node.name, node.capacity_in_words())
    };
    nodes.iter().map(line).collect()
}

/// Returns the description of plans with its lines wrapped to the terminal.
pub fn described(text: &str) -> String {
    let width = usize::from(terminal::width());
    text.lines().map(|line| fitted(line, width)).collect()
}

/// Width of the labels in the description of a plan, in columns, with the spaces before and after them.
const LABELS: usize = 13;

/// Wraps a line of a plan's description if it is wider than `width`. Its label stays alone in the first columns.
fn fitted(line: &str, width: usize) -> String {
    if columns(line) <= width {
        return format!("{line}\n");
    }
    match line.split_at_checked(LABELS) {
        Some((label, rest)) if label.starts_with("  ") && label.ends_with(' ') => indented(label, rest, width),
        _ => wrapped(line, width, 2) + "\n",
    }
}

/// Shows the progress of a run on a board.
pub struct Shown<'a> {
    board: &'a Board,
    forecast: Forecast,
    quiet: bool,
}

impl<'a> Shown<'a> {
    /// Creates a follower that says nothing but failures if `quiet`.
    pub fn new(board: &'a Board, quiet: bool) -> Shown<'a> {
        Shown { board, forecast: Forecast::default(), quiet }
    }
}

impl Follower for Shown<'_> {
    fn phases(&mut self, phases: &[PhaseProgress], elapsed: Duration) {
        let note = self.forecast.observe(phases, elapsed);
        self.board.update(phases, elapsed, note.as_deref());
    }

    fn message(&mut self, line: &str) {
        if !self.quiet {
            self.board.message(line);
        }
    }

    fn failure(&mut self, line: &str) {
        self.board.message(line);
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        match error {
            RunError::Store(StoreError::Displaced(_))
            | RunError::Journal { .. }
            | RunError::Io { .. }
            | RunError::NotDurable { .. }
            | RunError::Record(_)
            | RunError::Stuck => Failure::work(error),
            RunError::Input(_) | RunError::Store(_) | RunError::Policy(_) | RunError::Resource(_) => {
                Failure::input(error)
            }
        }
    }
}
