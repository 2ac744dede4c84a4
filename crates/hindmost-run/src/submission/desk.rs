//! The desk between clients and the driver: which jobs there are, which wait to be taken, who waits for the end of which.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::list::{JobEntry, JobList};
use super::protocol::{Reply, Request};
use crate::driver::{RunOptions, RunOutcome, check, is_complete};
use crate::engine::NodeOffer;
use crate::job_file::{self, Overrides, Plan};
use crate::store::{Opened, Opening, Store, StoreError};

/// Largest number of jobs of a run that have not ended. Each has its folder open.
const MOST_OPEN: usize = 200;

/// What submitted jobs are checked against, and how their folders are opened.
#[derive(Clone, Debug)]
pub struct Admission {
    /// The folder of the run, in which each job has a folder.
    pub folder: PathBuf,
    /// The nodes of the run.
    pub nodes: Vec<NodeOffer>,
    /// The options of the run.
    pub options: RunOptions,
    /// How the folders of jobs are opened.
    pub opening: Opening,
    /// What holds for all jobs whatever their files say.
    pub overrides: Overrides,
}

/// What the desk knows of the jobs.
#[derive(Default)]
struct Books {
    list: Option<JobList>,
    /// Jobs that have not ended, by name, with the client that waits for the end.
    open: BTreeMap<String, Option<Sender<Reply>>>,
    /// Names that a connection has taken for a job that it is about to open.
    taken: BTreeSet<String>,
    /// Opened jobs that the driver has not taken yet.
    queue: VecDeque<Opened>,
    is_closed: bool,
}

/// The desk of a run. Clones of it are the same desk.
#[derive(Clone)]
pub struct Desk {
    admission: Arc<Admission>,
    books: Arc<Mutex<Books>>,
}

impl Desk {
    /// Creates the desk of a run. `open` are the names of the jobs with which it begins. A desk that does not accept jobs is
    /// closed from the start.
    pub fn new(admission: Admission, list: JobList, open: &[String], accepts: bool) -> Desk {
        let open = open.iter().map(|name| (name.clone(), None)).collect();
        let books = Books { list: Some(list), open, is_closed: !accepts, ..Books::default() };
        Desk { admission: Arc::new(admission), books: Arc::new(Mutex::new(books)) }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries out a request. Returns the reply, and where the end of the job arrives if the client waits for it.
    pub(super) fn handle(&self, request: Request) -> (Reply, Option<Receiver<Reply>>) {
        match request {
            Request::Submit { file, name, resume, wait } => {
                let accepted = self.submit(file.into(), name.as_deref(), resume, wait);
                accepted.unwrap_or_else(|reason| (Reply::Refused { reason }, None))
            }
            Request::Close {} => {
                self.close();
                (Reply::Closed { open: self.books().open.len() as u64 }, None)
            }
        }
    }

    /// Accepts no more jobs. Those that are accepted still run.
    pub fn close(&self) {
        self.books().is_closed = true;
    }

    /// True while other jobs may arrive: the desk accepts them, or some have not been taken.
    pub fn is_open(&self) -> bool {
        let books = self.books();
        !books.is_closed || !books.queue.is_empty() || !books.taken.is_empty()
    }

    /// Takes the job that has waited longest; `None` if none waits.
    pub fn next(&self) -> Option<Opened> {
        self.books().queue.pop_front()
    }

    /// Notes that a job has ended, and sends its outcome to the client that waits for it.
    pub fn ended(&self, outcome: &RunOutcome) {
        let summary = serde_json::to_value(&outcome.summary).unwrap_or_default();
        self.leave(&outcome.summary.job, Reply::Ended { state: outcome.summary.state, summary });
    }

    /// Notes that a job can't run, and sends the reason to the client that waits for its end.
    pub fn refused(&self, job: &str, reason: String) {
        self.leave(job, Reply::Refused { reason });
    }

    fn leave(&self, job: &str, reply: Reply) {
        if let Some(Some(client)) = self.books().open.remove(job) {
            // A client that has gone away is no error.
            let _ = client.send(reply);
        }
    }

    /// Ends the desk with its run: clients that still wait receive no more than that. Returns the names of the jobs that have
    /// not begun.
    pub fn end(&self) -> Vec<String> {
        let mut books = self.books();
        books.is_closed = true;
        let left: Vec<String> = books.queue.drain(..).map(|opened| opened.plan.name).collect();
        books.open.clear();
        left
    }

    fn submit(
        &self,
        file: PathBuf,
        name: Option<&str>,
        resume: bool,
        wait: bool,
    ) -> Result<(Reply, Option<Receiver<Reply>>), String> {
        if !file.is_absolute() {
            return Err(format!("the path of the job file must be absolute, but it is {}", file.display()));
        }
        // The end of a pipe might never come.
        if fs::metadata(&file).is_ok_and(|found| !found.is_file()) {
            return Err(format!("{} is no regular file: submit a job file", file.display()));
        }
        let mut plan = job_file::load(&file).map_err(|error| error.to_string())?;
        if let Some(name) = name {
            plan.set_name(name)?;
        }
        plan.override_with(&self.admission.overrides);
        let mut notes = unused(&mut plan);
        notes.extend(plan.copies_left_out());
        check(&plan, &self.admission.options, &self.admission.nodes).map_err(|error| error.to_string())?;
        let reserved = Reserved::new(self, &plan.name, resume)?;
        let folder = self.admission.folder.join(&plan.name);
        let opening = Opening { resume, ..self.admission.opening.clone() };
        let opened = Store::open(&folder, &plan, &opening).map_err(|error| why_refused(&error, &file))?;
        if is_complete(&self.admission.options, &opened).map_err(|error| error.to_string())? {
            return Err(format!(
                "job {:?} is already done: its results are in {}; to run parts of it again, use `hindmost run {} --out {} --redo \
                 PHASE`",
                plan.name,
                opened.store.folder().display(),
                file.display(),
                opened.store.folder().display()
            ));
        }
        let accepted = Reply::Accepted {
            job: plan.name.clone(),
            folder: opened.store.folder().display().to_string(),
            tasks: plan.tasks(),
            notes,
        };
        Ok((accepted, reserved.enter(file, opened, wait)?))
    }
}

/// Returns why the folder of a submitted job can't be used, and what to do, with options that `submit` has.
fn why_refused(error: &StoreError, file: &Path) -> String {
    let another = "submit the job under another name with --name";
    match error {
        StoreError::Changed { path, phase, .. } => {
            format!("{}; {another} to run all of it in another folder", changed_command(path, file, phase))
        }
        StoreError::HoldsRun { path, job, done: false } => {
            format!("{} holds a run of job {job:?}: continue it with --resume, or {another}", path.display())
        }
        StoreError::HoldsRun { path, job, .. } => {
            format!("{} holds the finished run of job {job:?}: {another}, or remove the folder", path.display())
        }
        StoreError::OtherJob { path, held, .. } => {
            format!("{} holds a run of another job, {held:?}: {another}, or remove the folder", path.display())
        }
        StoreError::NotEmpty(path) => format!("{} is not empty and holds no run: {another}", path.display()),
        other => other.to_string(),
    }
}

/// Returns what to do about a job of a run of several jobs, of which a phase has another command than its results.
pub fn changed_command(folder: &Path, file: &Path, phase: &str) -> String {
    let (folder, file) = (folder.display(), file.display());
    format!(
        "{folder} holds results of phase {phase:?}, whose command, variables or folder have changed since: `hindmost run {file} \
         --out {folder} --redo {phase}` runs the phase again, alone; with --resume --keep-results instead of --redo, its results stay"
    )
}

/// Removes what a job file says about the run as a whole. Returns notes on it for the user.
fn unused(plan: &mut Plan) -> Vec<String> {
    let keys = [
        ("policy", plan.policy.take().is_some()),
        ("knowledge", plan.knowledge.take().is_some()),
        ("nodes", plan.nodes.take().is_some()),
        ("speeds", !std::mem::take(&mut plan.speeds).is_empty()),
        ("power", plan.power.take().is_some()),
    ];
    let note = |(key, is_given): &(&str, bool)| {
        is_given.then(|| format!("{key} of the job file is not used: that of the run counts"))
    };
    keys.iter().filter_map(note).collect()
}

/// The name of a job that is being opened. It is free again if that fails.
struct Reserved<'a> {
    desk: &'a Desk,
    name: &'a str,
}

impl Reserved<'_> {
    fn new<'a>(desk: &'a Desk, name: &'a str, resume: bool) -> Result<Reserved<'a>, String> {
        let mut books = desk.books();
        if books.is_closed {
            return Err("the run accepts no more jobs".to_owned());
        }
        if books.open.len() + books.taken.len() >= MOST_OPEN {
            return Err(format!(
                "the run has {MOST_OPEN} jobs that have not ended: submit again after some have ended"
            ));
        }
        if books.open.contains_key(name) || books.taken.contains(name) {
            return Err(format!("job {name:?} of the run has not ended: give this one another name with --name"));
        }
        if !resume && books.list.as_ref().is_some_and(|list| list.has(name)) {
            return Err(format!(
                "the run had a job {name:?} already: continue it with --resume, or give this one another name with --name"
            ));
        }
        books.taken.insert(name.to_owned());
        Ok(Reserved { desk, name })
    }

    /// Enters the opened job into the books. Returns where its end arrives, if the client waits.
    fn enter(self, file: PathBuf, opened: Opened, wait: bool) -> Result<Option<Receiver<Reply>>, String> {
        let mut books = self.desk.books();
        if books.is_closed {
            return Err("the run accepts no more jobs".to_owned());
        }
        if let Some(list) = &mut books.list {
            let entry = JobEntry { name: self.name.to_owned(), file };
            list.add(entry).map_err(|error| format!("the list of the run's jobs can't be written: {error}"))?;
        }
        let (sender, receiver) = if wait { Some(channel()) } else { None }.unzip();
        books.open.insert(self.name.to_owned(), sender);
        books.queue.push_back(opened);
        Ok(receiver)
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.desk.books().taken.remove(self.name);
    }
}
