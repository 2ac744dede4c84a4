//! `hindmost run` with several job files, or with jobs that are submitted while it runs (`--listen`).

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use hindmost_core::metrics::{RunState, RunSummary};
use hindmost_report::jobs::jobs_table;
use hindmost_report::run::run_table;
use hindmost_run::driver::{self, RunError, RunJobs, RunOptions, RunOutcome, Submissions};
use hindmost_run::engine::{NodeOffer, NodeSpeed, Speeds};
use hindmost_run::job_file::{self, Plan};
use hindmost_run::store::{Opened, Opening, Store, StoreError, begun_with};
use hindmost_run::submission::{Admission, Desk, JobEntry, JobList, Listener, changed_command};
use serde_json::{Value, json};

use crate::board::Board;
use crate::cli::RunJobArgs;
use crate::engines::{Chosen, Purpose};
use crate::failure::{Failure, Outcome, say};
use crate::{live_page, stop, terminal};

use super::executing::{begins_with, nothing_to_resume, take_recorded_nodes};
use super::settings::{opening, options, resume_command};
use super::shown::{Shown, chart, checked, described, nodes_in_words, why_failed};

/// Folder of a run of several jobs, if the user names none.
const FOLDER: &str = "hindmost.out";
/// The list of the run's jobs in its folder.
const LIST: &str = ".hindmost/jobs.json";
/// Largest number of jobs whose tables are printed in full.
const MOST_IN_FULL: usize = 3;

/// A job of the run, with its file.
struct Named {
    file: PathBuf,
    plan: Plan,
}

/// True if a folder holds a run of several jobs.
pub fn holds_several(folder: &Path) -> bool {
    folder.join(LIST).is_file()
}

/// Runs several jobs, or checks their files.
pub fn run(args: &RunJobArgs) -> Outcome {
    let out = args.out.clone().unwrap_or_else(|| FOLDER.into());
    if !args.redo.is_empty() || args.redo_changed {
        let option = if args.redo_changed { "--redo-changed" } else { "--redo" };
        return Err(Failure::input(format!(
            "{option} is about one job, but this run has several: to run parts of a job again, remove their results from its \
             folder, and add --resume"
        )));
    }
    if args.jobs.is_empty() && args.resume && !holds_several(&out) && args.listen.is_none() {
        return Err(Failure::input(format!(
            "{} holds no run of several jobs: name the job file of the run, or its folder with --out",
            out.display()
        )));
    }
    let mut options = options(args)?;
    let mut jobs = args.jobs.iter().map(|file| load(args, file, None)).collect::<Outcome<Vec<Named>>>()?;
    check_names(&jobs)?;
    let mut opening = opening(args);
    let recorded_engine = if opening.resume { begun_with(&out) } else { None };
    // Jobs that arrive later may need other nodes than these do.
    let is_useful = |node: &NodeOffer| args.listen.is_some() || jobs.iter().any(|job| job.plan.can_use(node));
    let mut engine = Chosen::of(&args.engine, args.nodes.as_deref(), nodes(args, &jobs)?, recorded_engine, &is_useful)?;
    engine.set_speeds(&args.node_speed, &speeds(&jobs, &args.node_speed)?)?;
    args.ending.check_tmpdir(engine.is_shared())?;
    if args.check {
        live_page::check(args.serve.as_deref())?;
        return check(args, &jobs, &options, &engine.nodes);
    }
    if !opening.resume {
        driver::check_together(&plans(&jobs), &options, &engine.nodes)?;
    }
    args.ending.count_term();
    let presses = stop::presses();
    opening.begun_with = Some(begins_with(&options, &engine));
    // An address or socket that can't be used is found before the folder is made.
    args.listen.as_deref().map_or(Ok(()), Listener::check).map_err(Failure::input)?;
    let page = live_page::serve(args.serve.as_deref(), &out)?;
    let home = Store::open(&out, &Plan::of_several(&out), &opening).map_err(in_use)?;
    let folder = home.store.folder().to_owned();
    let mut list = JobList::read(home.store.pages()).map_err(|error| unreadable(&out, &error))?;
    list.begin().map_err(|error| unreadable(&out, &error))?;
    let mut recorded = Recorded::default();
    if opening.resume {
        if !home.begun {
            say(&nothing_to_resume(&home, out.display()));
        }
        take_recorded_nodes(&mut engine, &home.store)?;
        recorded = Recorded::read(args, &folder, &list, &mut jobs);
    }
    let hint = format!("`{}` continues the run", resume_command(args));
    if jobs.is_empty() && args.listen.is_none() {
        if list.entries().is_empty() {
            return Err(Failure::input(format!(
                "the run in {} has no job: name job files, or accept jobs with --listen SOCKET",
                out.display()
            )));
        }
        let printed = print(args, &folder, &[], &recorded);
        judge(&[], &[], &recorded.left_out, &hint)?;
        return printed;
    }
    let (policy, knowledge) = driver::check_together(&plans(&jobs), &options, &engine.nodes)?;
    if !home.begun {
        (options.policy, options.knowledge) = (Some(policy), Some(knowledge));
    }
    let mut opened = Vec::new();
    for job in &jobs {
        let own = folder.join(&job.plan.name);
        opened.push(Store::open(&own, &job.plan, &opening).map_err(|error| changed(error, &out, job))?);
        let entry = JobEntry { name: job.plan.name.clone(), file: job.file.clone() };
        list.add(entry).map_err(|error| unreadable(&out, &error))?;
    }
    let names: Vec<String> = jobs.iter().map(|job| job.plan.name.clone()).collect();
    let board = Board::new(&title(&names), args.json || args.quiet);
    let purpose = Purpose {
        name: title(&names),
        // Jobs that arrive later may demand what none of these does.
        wants_gpus: args.listen.is_some() || plans(&jobs).into_iter().any(Plan::demands_gpus),
        is_done: args.listen.is_none() && !opened.is_empty() && opened.iter().all(Opened::was_done),
    };
    let nodes = engine.nodes.clone();
    let mut engine = engine.open(&purpose, &home.store, presses, &mut |line| board.message(line))?;
    let admission = Admission {
        folder: folder.clone(),
        nodes,
        options: options.clone(),
        opening: Opening { begun_with: None, ..opening.clone() },
        overrides: args.overrides(),
    };
    recorded.known.extend(names.iter().cloned());
    let desk = Desk::new(admission, list, &names, args.listen.is_some());
    let listener = args.listen.as_deref().map(|socket| Listener::start(socket, desk.clone())).transpose();
    let listener = listener.map_err(Failure::input)?;
    if let Some(socket) = &args.listen {
        board.message(&format!(
            "accepting jobs on {0}: `hindmost submit JOB.toml --to {0}`; Ctrl-C or `hindmost submit --close --to {0}` ends the \
             run",
            socket.display()
        ));
    }
    let mut follower = Shown::new(&board, args.quiet);
    let (sender, reports) = channel::<RunOutcome>();
    let reporter = {
        let (folder, options) = (folder.clone(), options.clone());
        // Reports are written by a thread of their own, because the other jobs go on meanwhile.
        thread::spawn(move || {
            for outcome in reports {
                crate::commands::report::of_job(&options, &folder, &outcome);
            }
        })
    };
    let mut ends = Ends { desk: desk.clone(), board: &board, reports: sender, ended: Vec::new(), charts: args.gantt };
    let jobs = RunJobs { home: Some(home), jobs: opened, submissions: &mut ends };
    let result = driver::run_jobs(&options, jobs, engine.engine(), presses, &mut follower);
    if let Some(left) = engine.close() {
        board.message(&left);
    }
    let Ends { reports, ended, .. } = ends;
    let left = desk.end();
    drop(listener);
    drop(reports);
    let _ = reporter.join();
    board.finish();
    if let Some(page) = page {
        page.finish();
    }
    result.map_err(|error| match Failure::from(error) {
        Failure::Work(error) => Failure::work(format!("{error:#}; after you have corrected this, {hint}")),
        other => other,
    })?;
    recorded.submitted_again(&ended);
    let printed = print(args, &folder, &ended, &recorded);
    judge(&ended, &left, &recorded.left_out, &hint)?;
    printed
}

/// The end of a job, as far as it matters for what is printed.
struct Ended {
    summary: RunSummary,
    folder: PathBuf,
    chart: Option<String>,
    failed: Option<String>,
}

/// Passes jobs from the desk to the driver, and their ends to the desk, the board and the thread that writes reports.
struct Ends<'a> {
    desk: Desk,
    board: &'a Board,
    reports: Sender<RunOutcome>,
    ended: Vec<Ended>,
    charts: bool,
}

impl Submissions for Ends<'_> {
    fn are_open(&self) -> bool {
        self.desk.is_open()
    }

    fn next(&mut self, _nodes: &[NodeOffer]) -> Option<Opened> {
        let opened = self.desk.next()?;
        self.board.message(&format!("job {} has arrived", opened.plan.name));
        Some(opened)
    }

    fn refused(&mut self, job: &str, why: &RunError) {
        self.board.message(&format!("job {job} can't run: {why}"));
        self.desk.refused(job, why.to_string());
    }

    fn ended(&mut self, outcome: RunOutcome) {
        let summary = outcome.summary.clone();
        self.board.message(&hindmost_report::jobs::end_of_job(&summary));
        self.desk.ended(&outcome);
        // The last end of a job that was submitted again counts.
        self.ended.retain(|earlier| earlier.summary.job != summary.job);
        self.ended.push(Ended {
            folder: outcome.folder.clone(),
            chart: self.charts.then(|| chart(&outcome, None)),
            failed: (summary.state == RunState::Failed).then(|| why_failed(&outcome)),
            summary,
        });
        // The thread ends only after this sender is dropped.
        let _ = self.reports.send(outcome);
    }
}

/// Reads a job file. `name` is the name of the job in the run, if it differs from that in the file.
fn load(args: &RunJobArgs, file: &Path, name: Option<&str>) -> Outcome<Named> {
    let mut plan = job_file::load(file).map_err(Failure::input)?;
    plan.override_with(&args.overrides());
    if let Some(name) = name {
        plan.set_name(name).map_err(Failure::input)?;
    }
    Ok(Named { file: std::path::absolute(file)?, plan })
}

fn check_names(jobs: &[Named]) -> Outcome {
    for (at, job) in jobs.iter().enumerate() {
        if let Some(other) = jobs[..at].iter().find(|other| other.plan.name == job.plan.name) {
            return Err(Failure::input(format!(
                "{} and {} both have the name {:?}, but each job has a folder of its name: give one of them another `name`",
                other.file.display(),
                job.file.display(),
                job.plan.name
            )));
        }
    }
    Ok(())
}

/// Returns the nodes that the job files name, which must agree, unless the command line does.
fn nodes<'a>(args: &RunJobArgs, jobs: &'a [Named]) -> Outcome<Option<&'a str>> {
    let mut named: Option<(&str, &str)> = None;
    for job in jobs.iter().filter(|_| args.nodes.is_none()) {
        match (named, job.plan.nodes.as_deref()) {
            (Some((first, known)), Some(other)) if known != other => {
                return Err(Failure::input(format!(
                    "jobs {first:?} and {:?} name different nodes, but jobs that run together share them: choose them with \
                     --nodes",
                    job.plan.name
                )));
            }
            (None, Some(nodes)) => named = Some((&job.plan.name, nodes)),
            _ => {}
        }
    }
    Ok(named.map(|(_, nodes)| nodes))
}

/// Returns the speeds that the job files give, which must agree, unless the command line does.
fn speeds(jobs: &[Named], given: &[NodeSpeed]) -> Outcome<Speeds> {
    let mut speeds = Speeds::new();
    for job in jobs {
        for (name, speed) in &job.plan.speeds {
            let known = *speeds.entry(name.clone()).or_insert(*speed);
            if known != *speed && given.iter().all(|one| one.name != *name) {
                return Err(Failure::input(format!(
                    "the speed of {name:?} is {known} in one job file and {speed} in that of {:?}, but jobs that run together share \
                     the nodes: give it with --node-speed",
                    job.plan.name
                )));
            }
        }
    }
    Ok(speeds)
}

/// The jobs of an earlier process of the run.
#[derive(Default)]
struct Recorded {
    /// The jobs that run or are done.
    known: Vec<String>,
    /// The jobs that are not done and can't run, because their files can't be used.
    left_out: Vec<String>,
}

impl Recorded {
    /// Adds the jobs of the list that the command line does not name. A job whose file can't be read is left out, with a
    /// message.
    fn read(args: &RunJobArgs, folder: &Path, list: &JobList, jobs: &mut Vec<Named>) -> Recorded {
        let mut recorded = Recorded::default();
        for entry in list.entries() {
            if jobs.iter().any(|job| job.plan.name == entry.name) {
                continue;
            }
            let error = match load(args, &entry.file, Some(&entry.name)) {
                Ok(job) => {
                    jobs.push(job);
                    continue;
                }
                Err(Failure::Input(error) | Failure::Work(error)) => format!("{error:#}"),
                Err(_) => "it can't be read".to_owned(),
            };
            if earlier_end(folder, &entry.name).is_some_and(|end| end["state"] == "done") {
                recorded.known.push(entry.name.clone());
                say(&format!(
                    "job {} is done; its results are not checked, because its file can't be used: {error}",
                    entry.name
                ));
            } else {
                recorded.left_out.push(entry.name.clone());
                say(&format!("job {} is left out, because its file can't be used: {error}", entry.name));
            }
        }
        recorded
    }

    /// Notes that jobs that were left out have been submitted again, and have ended.
    fn submitted_again(&mut self, ended: &[Ended]) {
        self.left_out.retain(|name| ended.iter().all(|job| job.summary.job != *name));
    }
}

/// Returns the summary of a job that ended in an earlier process of the run; `None` if it has none.
fn earlier_end(folder: &Path, name: &str) -> Option<Value> {
    let text = std::fs::read(folder.join(name).join(".hindmost/summary.json")).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Returns the failure of a run's folder that can't be opened.
fn in_use(error: StoreError) -> Failure {
    match error {
        StoreError::HoldsRun { path, .. } => Failure::input(format!(
            "{} holds a run of several jobs: use --resume to continue it, use --out DIR to run these jobs in another folder, or \
             remove the folder",
            path.display()
        )),
        StoreError::OtherJob { path, held, .. } => Failure::input(format!(
            "{} holds a run of one job, {held:?}: use --out DIR to run these jobs in another folder, or remove the folder",
            path.display()
        )),
        other => RunError::from(other).into(),
    }
}

/// Returns the failure of a job's folder that can't be opened.
fn changed(error: StoreError, out: &Path, job: &Named) -> Failure {
    match error {
        StoreError::Changed { phase, .. } => {
            Failure::input(changed_command(&out.join(&job.plan.name), &job.file, &phase))
        }
        other => RunError::from(other).into(),
    }
}

fn plans(jobs: &[Named]) -> Vec<&Plan> {
    jobs.iter().map(|job| &job.plan).collect()
}

fn unreadable(out: &Path, error: &std::io::Error) -> Failure {
    Failure::work(format!("{}: {error}", out.join(LIST).display()))
}

/// Returns the title of the progress display.
fn title(names: &[String]) -> String {
    match names {
        [] => "jobs".to_owned(),
        [only] => only.clone(),
        several => format!("{} jobs", several.len()),
    }
}

fn check(args: &RunJobArgs, jobs: &[Named], options: &RunOptions, nodes: &[NodeOffer]) -> Outcome {
    if args.resume {
        return Err(Failure::input("--check with --resume is about one job: name one job file and its folder"));
    }
    let chosen = driver::check_together(&plans(jobs), options, nodes)?;
    if args.json {
        let jobs = jobs.iter().map(|job| checked(&job.plan, &chosen, nodes)).collect::<Outcome<Vec<Value>>>()?;
        return terminal::print_json(&json!({ "jobs": jobs }));
    }
    let (policy, knowledge) = chosen;
    let mut text = String::new();
    for job in jobs {
        text += &(job.plan.describe() + "\n");
    }
    text += &format!("The jobs would run together with policy {policy}, knowledge {knowledge}, on these nodes:\n");
    text += &nodes_in_words(nodes);
    terminal::print(&described(&text))
}

/// Prints how the jobs have ended. Those of the recorded jobs that were done before have not ended in this process.
fn print(args: &RunJobArgs, folder: &Path, ended: &[Ended], recorded: &Recorded) -> Outcome {
    if args.json {
        let earlier = recorded.known.iter().filter(|name| ended.iter().all(|job| job.summary.job != **name));
        let earlier = earlier.filter_map(|name| earlier_end(folder, name));
        let jobs: Vec<Value> = earlier.chain(ended.iter().map(|job| json!(job.summary))).collect();
        let mut json = json!({ "folder": folder.display().to_string(), "jobs": jobs });
        if !recorded.left_out.is_empty() {
            json["left_out"] = json!(recorded.left_out);
        }
        return terminal::print_json(&json);
    }
    if ended.is_empty() {
        let what = match (&recorded.known[..], &recorded.left_out[..]) {
            ([], []) => "no job has been submitted",
            ([], _) => "no job could be continued",
            (_, []) => "every job is done",
            _ => "every other job is done",
        };
        return terminal::print(&format!("{what}; results are in {}", folder.display()));
    }
    let width = terminal::width();
    let summaries: Vec<&RunSummary> = ended.iter().map(|job| &job.summary).collect();
    let mut text = String::new();
    for job in ended.iter().filter(|_| ended.len() <= MOST_IN_FULL) {
        text += &(run_table(&job.summary, width) + "\n");
    }
    text += &jobs_table(&summaries, width);
    for chart in ended.iter().filter_map(|job| job.chart.as_ref()) {
        text += &format!("\n{chart}");
    }
    let done = ended.iter().filter(|job| job.summary.state == RunState::Done);
    let folders: Vec<String> = done.map(|job| job.folder.display().to_string()).collect();
    match folders.as_slice() {
        [] => {}
        [only] => text += &format!("\nresults in {only}\n"),
        _ => text += &format!("\nresults in {}\n", folder.join("JOB").display()),
    }
    terminal::print(&text)
}

/// Returns the failure of a run in which not all jobs are done.
fn judge(ended: &[Ended], left: &[String], left_out: &[String], hint: &str) -> Outcome {
    let not_done = (!left_out.is_empty()).then(|| {
        format!("not done, because their files can't be used: {}; restore or correct the files", left_out.join(", "))
    });
    if !left.is_empty() || ended.iter().any(|job| job.summary.state == RunState::Interrupted) {
        if !left.is_empty() {
            say(&format!("accepted, but not begun: {}", left.join(", ")));
        }
        if let Some(not_done) = &not_done {
            say(not_done);
        }
        say(hint);
        return Err(Failure::Interrupted);
    }
    let wrong = ended.iter().filter_map(|Ended { summary, failed, .. }| match (summary.state, failed) {
        (RunState::Failed, Some(why)) => Some(format!("job {} failed: {why}", summary.job)),
        (RunState::Abandoned, _) => Some(format!("the policy abandoned job {}", summary.job)),
        _ => None,
    });
    let wrong: Vec<String> = wrong.chain(not_done).collect();
    if wrong.is_empty() { Ok(()) } else { Err(Failure::work(format!("{}; {hint}", wrong.join("; ")))) }
}
