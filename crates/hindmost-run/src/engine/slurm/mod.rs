//! Engine `slurm` runs attempts as steps of Slurm: one allocation for each node, one step for each attempt.
//!
//! ```text
//! driver ── engine ── srun ── (Slurm) ── agent on the node ── the attempt's processes
//!    ▲                                     │ every 2 s: beat
//!    └──────── the attempt's folder ◄──────┘ at the end: end marker, last beat
//! ```
//!
//! The agent (`agent.rs`) runs the attempt on its node as engine `local` does. An attempt has ended once its agent has reported
//! that everything has ended, or once Slurm no longer lists its step; the end of `srun` alone is no proof. Nodes are lost and
//! return as Slurm or a check of the node says (`health.rs`).
//!
//! Starting an attempt only starts `srun`; everything else that may take long happens in other threads.

pub mod agent;
mod allocation;
mod beat;
mod cluster;
mod commands;
mod earlier;
mod ends;
mod health;
mod keeper;
mod launch;
mod nodes;
mod observer;
mod opening;
mod own;
mod place;
mod reaper;
mod running;
mod step;

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use hindmost_core::ids::AttemptId;
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;
use rustix::fs::{Mode, OFlags, openat};

pub use cluster::{Cluster, ClusterError};
pub use commands::SlurmError;
pub use opening::OpenError;
pub use step::STEP_COMMAND;

use super::clock::RunClock;
use super::{Engine, GPUS, Happened, Launch, NodeOffer, RunIdentity, Used};
use crate::process::{Identity, Watcher};
use allocation::{Requested, Terms};
use beat::Beat;
use earlier::Earlier;
use launch::Description;
use observer::{Observer, Snapshot};
use place::Place;
use running::{Killed, Running};

/// Name of the file in an attempt's folder with the messages of `srun`.
const LOG: &str = "srun";
/// Time between two looks at an attempt that runs as it should.
const CALM: Duration = Duration::from_secs(2);
/// Time between two looks at an attempt that is about to end, or that has no `srun` whose end would be noticed.
const SOON: Duration = Duration::from_millis(100);
/// Time after which a keeper that has been started must be listed by Slurm.
const KEPT: Duration = Duration::from_secs(15);
/// Time within which requests must have been withdrawn at the end of a run.
const WITHDRAWN: Duration = Duration::from_secs(2);
/// Time within which steps that are killed at the begin and end of a run must end.
const STRAYS: Duration = Duration::from_secs(30);
/// Time after which Slurm is requested again to end such a step.
const STRAY_AGAIN: Duration = Duration::from_secs(10);
/// Shortest and longest pause between two looks at them.
const STRAY_LOOKS: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];

/// Age above which a snapshot is taken anew, to find out whether an allocation has ended.
const SHORT: Duration = Duration::from_secs(1);

/// Returns a text that no other call returns.
fn new_nonce() -> String {
    use std::hash::{BuildHasher, Hasher};
    // The hasher's seed is random in every process and differs between two hashers of one process.
    format!("{:016x}", std::collections::hash_map::RandomState::new().build_hasher().finish())
}

/// The result of a check: the index of the node, when the check began, and what is wrong with the node.
type Checked = (usize, Instant, Result<(), step::Fault>);

/// The engine that runs attempts as steps of Slurm.
pub struct Slurm {
    nodes: Vec<NodeOffer>,
    places: Vec<Place>,
    /// The allocation in which this process runs, which is not given back.
    enclosing: Option<u32>,
    run: RunIdentity,
    terms: Terms,
    /// The program that runs in steps: this one, or a copy of it.
    program: PathBuf,
    /// The engine's own folder in the run's folder, which must be on a file system that all nodes share.
    folder: PathBuf,
    clock: RunClock,
    watcher: Watcher,
    running: FxHashMap<AttemptId, Running>,
    tokens: FxHashMap<u64, AttemptId>,
    next_token: u64,
    observer: Observer,
    snapshot: Snapshot,
    /// When the last snapshot was requested.
    looked: Instant,
    /// Results of checks of nodes.
    checks: (Sender<Checked>, Receiver<Checked>),
    /// What is to be reported by the next [`Engine::wait`].
    pending: Vec<Happened>,
    has_given_back: bool,
    /// What an earlier process of the run has left.
    earlier: Earlier,
    /// Allocations of lost nodes, which were cancelled.
    given_up: Vec<u32>,
    /// True if Slurm has not answered yet. That is possible only if nothing was left to run when the engine was opened.
    is_unanswered: bool,
    /// Since when Slurm does not list the enclosing allocation; `None` if it does.
    unlisted_since: Option<Instant>,
    /// How the enclosing allocation has ended; `None` while it has not.
    over: Option<String>,
    /// Names of the steps of attempts whose agents did not report their ends. Slurm may list them for ever.
    dead_steps: HashSet<String>,
    /// What attempts that have ended have used, as their agents have measured it.
    used: FxHashMap<AttemptId, Used>,
}

impl Slurm {
    fn new(
        cluster: &Cluster,
        run: &RunIdentity,
        terms: Terms,
        places: Vec<Place>,
        folder: PathBuf,
        snapshot: Snapshot,
    ) -> io::Result<Slurm> {
        let names: Vec<&str> = cluster.offers.iter().map(|offer| offer.name.as_str()).collect();
        Ok(Slurm {
            observer: Observer::start(names.join(","), folder.clone()),
            nodes: cluster.offers.clone(),
            places,
            enclosing: cluster.enclosing,
            run: run.clone(),
            program: terms.program.clone(),
            terms,
            folder,
            clock: RunClock::new(),
            watcher: Watcher::new()?,
            running: FxHashMap::default(),
            tokens: FxHashMap::default(),
            next_token: 0,
            snapshot,
            looked: Instant::now(),
            checks: channel(),
            pending: Vec::new(),
            has_given_back: false,
            earlier: Earlier::default(),
            given_up: Vec::new(),
            is_unanswered: false,
            unlisted_since: None,
            over: None,
            dead_steps: HashSet::new(),
            used: FxHashMap::default(),
        })
    }

    fn check_name(&self) -> String {
        format!("check{}", step::run_suffix(&self.run))
    }

    /// True if Slurm lists an allocation that has not ended.
    fn is_held(&self, job: u32) -> bool {
        self.snapshot.allocations.iter().any(|one| one.id == job && one.is_held())
    }

    /// Starts a keeper in the allocation of a node, unless it has one or was given one just before.
    fn keep(&mut self, at: usize) {
        let place = &mut self.places[at];
        let has_one = |job| self.snapshot.steps.iter().any(|step| step.job == job && step.name == keeper::NAME);
        if self.enclosing.is_none()
            && let Some(job) = place.job.filter(|job| !has_one(*job))
            && place.kept.is_none_or(|kept| self.snapshot.begun.saturating_duration_since(kept) > KEPT)
        {
            end(&mut place.keeper);
            place.keeper = keeper::start(job, &place.name, &self.program, &self.folder).ok();
            place.kept = Some(Instant::now());
        }
    }

    /// Takes GPUs of a node for an attempt that demands them. `None` if it demands none.
    fn take_gpus(&mut self, place: usize, launch: &Launch<'_>) -> Option<Vec<usize>> {
        let count = launch.demand.get(GPUS).copied().unwrap_or(0.0).ceil() as usize;
        let free = self.places[place].gpus.iter_mut().enumerate().filter(|(_, taken)| !**taken).take(count);
        let taken: Vec<usize> = free
            .map(|(at, taken)| {
                *taken = true;
                at
            })
            .collect();
        (count > 0).then_some(taken)
    }

    fn start_step(
        &mut self,
        launch: &Launch<'_>,
        place: usize,
        job: u32,
        gpus: Option<&[usize]>,
    ) -> io::Result<Running> {
        let nonce = new_nonce();
        let description = Description {
            nonce: nonce.clone(),
            attempt: launch.attempt,
            run: launch.run.id.clone(),
            run_folder: launch.run.folder.clone().into(),
            node: self.places[place].name.clone(),
            shell: launch.shell.to_vec(),
            command: launch.command.to_owned(),
            directory: launch.directory.into(),
            environment: launch.environment.to_vec(),
            input: launch.input.map(Into::into),
            slowed: launch.slowed,
            slurmd: self.snapshot.slurmd_started(&self.places[place].name).map(str::to_owned),
            tmpdir: launch.tmpdir.map(Into::into),
            cleans_up: launch.cleans_up,
            kill_after: launch.kill_after.as_secs_f64(),
            gpus: gpus.map(<[usize]>::to_vec),
        };
        description.write(launch.handle)?;
        let launched = Description::written(launch.handle);
        Beat::create(launch.handle)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let log: File = openat(launch.handle, LOG, flags, Mode::from_raw_mode(0o644))?.into();
        let folder = launch.handle.try_clone_to_owned()?;
        let name = step::name_of(launch.run, launch.attempt);
        let gpus_of_node = self.places[place].gpus.len() as u32;
        let mut child = step::start(
            (job, &self.places[place].name, &name),
            launch.demand,
            gpus_of_node,
            &self.program,
            launch.folder,
            &nonce,
            log,
        )?;
        let token = self.next_token;
        let watched = Identity::of(child.id()).and_then(|identity| self.watcher.watch(&identity, token));
        if let Err(error) = watched {
            let _ = child.kill();
            let _ = child.wait();
            // A step that was requested nevertheless finds no launch with this number.
            let _ = rustix::fs::unlinkat(launch.handle, "launch", rustix::fs::AtFlags::empty());
            return Err(error);
        }
        self.next_token += 1;
        self.tokens.insert(token, launch.attempt);
        let gpus = gpus.map(<[usize]>::to_vec).unwrap_or_default();
        let mut running = Running::new((place, name), nonce, (folder, launch.folder), Some((child, token)), gpus);
        running.launched = launched;
        running.slurmd = description.slurmd;
        running.job = Some(job);
        running.is_single = launch.is_single;
        running.kill_after = launch.kill_after;
        Ok(running)
    }

    /// Requests the end of an attempt. `is_loser` says whether another one of its task succeeds or goes on.
    fn request_end(&mut self, attempt: AttemptId, is_loser: bool) {
        let Some(running) = self.running.get_mut(&attempt) else { return };
        if running.killed.is_none() {
            running.request_stop(is_loser);
            let now = Instant::now();
            running.killed = Some(Killed { since: now, is_signalled: false, is_cancelled: false });
            running.read_beat();
            running.next_look = now;
        }
    }

    /// Gives the run's own allocations back, with everything that runs in them. Returns a text about what could not be given back.
    /// If the run was refused, what an earlier process of it has left stays.
    pub fn give_back(&mut self) -> Option<String> {
        if std::mem::replace(&mut self.has_given_back, true) || self.enclosing.is_some() {
            return None;
        }
        // Requests first: what they get later would not be found.
        let mut requested: Vec<Requested> = self.places.iter_mut().filter_map(|place| place.requested.take()).collect();
        requested.iter_mut().for_each(Requested::withdraw);
        let end = Instant::now() + WITHDRAWN;
        for requested in &mut requested {
            requested.wait_until(end);
        }
        drop(requested);
        if self.is_refused() {
            self.leave_earlier();
            return None;
        }
        let ids: Vec<u32> = self.places.iter_mut().filter_map(|place| place.job.take()).collect();
        own::end(&self.folder);
        if self.is_unanswered && ids.is_empty() {
            // The user knows that nothing can be found out.
            return None;
        }
        let left = allocation::give_back(&ids, &self.terms.comment);
        if left.is_none() {
            if let Some(folder) = self.folder.parent() {
                reaper::end_forgotten(folder);
            }
            own::clear(&self.folder);
        }
        left
    }
}

impl Engine for Slurm {
    fn nodes(&self) -> &[NodeOffer] {
        &self.nodes
    }

    fn now(&self) -> Time {
        self.clock.now()
    }

    fn resume_at(&mut self, at: Time) {
        self.clock.resume_at(at);
    }

    fn start(&mut self, launch: &Launch<'_>) -> io::Result<()> {
        self.go_on();
        let place = launch.node.0 as usize;
        let job = self.places.get(place).filter(|place| place.is_up()).and_then(|place| place.job);
        // The driver tries again, and learns soon that the node is lost.
        let Some(job) = job else { return Err(rustix::io::Errno::AGAIN.into()) };
        let gpus = self.take_gpus(place, launch);
        match self.start_step(launch, place, job, gpus.as_deref()) {
            Ok(running) => {
                self.running.insert(launch.attempt, running);
                Ok(())
            }
            Err(error) => {
                self.free_gpus(place, &gpus.unwrap_or_default());
                Err(error)
            }
        }
    }

    fn has_begun(&self, attempt: AttemptId) -> bool {
        self.running.get(&attempt).is_none_or(|running| running.beat.is_some())
    }

    fn adopt(&mut self, launch: &Launch<'_>) -> bool {
        self.go_on();
        let place = launch.node.0 as usize;
        let name = step::name_of(launch.run, launch.attempt);
        let Some(step) = self.snapshot.steps.iter().find(|step| step.name == name) else { return false };
        if self.places.get(place).is_none_or(|place| !place.is_up() || place.job != Some(step.job)) {
            return false;
        }
        let Some(mut running) = described(launch, name) else { return false };
        running.is_single = launch.is_single;
        // Without a report the step has only begun, and starting the attempt again loses nothing.
        if running.beat.as_ref().is_none_or(Beat::is_last) {
            return false;
        }
        running.is_begin_reported = true;
        for gpu in &running.gpus {
            if let Some(taken) = self.places[place].gpus.get_mut(*gpu) {
                *taken = true;
            }
        }
        self.running.insert(launch.attempt, running);
        true
    }

    fn kill_strays_but(&mut self, run: &RunIdentity, kept: &HashSet<AttemptId>) -> Vec<String> {
        self.go_on();
        if self.is_unanswered {
            // The run was done, so nothing of it should be left, and the user knows that this can't be checked.
            return Vec::new();
        }
        let suffix = step::run_suffix(run);
        let kept = kept.iter().map(|attempt| step::name_of(run, *attempt));
        // Attempts of other jobs may have the same numbers.
        let kept = kept.chain(self.running.values().map(|running| running.name.clone()));
        // Nothing of these is left, and Slurm may not end them before their allocations end.
        let kept: HashSet<String> = kept.chain(self.dead_steps.iter().cloned()).collect();
        let begin = Instant::now();
        let (mut cancelled, mut pause) = (FxHashMap::<String, Instant>::default(), STRAY_LOOKS[0]);
        loop {
            let steps = commands::steps().map(|steps| {
                let is_stray = |name: &str| name.ends_with(&suffix) && !kept.contains(name);
                steps.into_iter().filter(|step| is_stray(&step.name)).collect::<Vec<_>>()
            });
            let trouble = match &steps {
                Ok(strays) if strays.is_empty() => return Vec::new(),
                Ok(strays) => {
                    let ids: Vec<String> = strays.iter().map(|step| format!("{}.{}", step.job, step.id)).collect();
                    // Where a node does not answer, each request occupies the controller for some time.
                    let is_due = |id: &&String| cancelled.get(*id).is_none_or(|at| at.elapsed() > STRAY_AGAIN);
                    let due: Vec<String> = ids.iter().filter(is_due).cloned().collect();
                    let requested = commands::cancel(&due, None);
                    if requested.is_ok() {
                        cancelled.extend(due.into_iter().map(|id| (id, Instant::now())));
                    }
                    let names = format!(
                        "Slurm still lists the steps {} of ended attempts; they end with their allocations at the latest",
                        ids.join(", ")
                    );
                    requested.err().map_or(names, |error| error.to_string())
                }
                Err(error) => format!(
                    "perhaps steps of Slurm, which does not answer ({error}); `squeue --me --steps` shows them once it answers"
                ),
            };
            if begin.elapsed() > STRAYS {
                return vec![trouble];
            }
            std::thread::sleep(pause);
            pause = (2 * pause).min(STRAY_LOOKS[1]);
        }
    }

    /// The agent sends `SIGTERM` first, as [`Engine::stop`] says.
    fn kill(&mut self, attempt: AttemptId) {
        self.request_end(attempt, false);
    }

    fn end_loser(&mut self, attempt: AttemptId) {
        self.request_end(attempt, true);
    }

    fn await_end(&mut self, launch: &Launch<'_>) -> bool {
        self.go_on();
        let place = launch.node.0 as usize;
        let name = step::name_of(launch.run, launch.attempt);
        let listed = self.snapshot.steps.iter().find(|step| step.name == name).map(|step| step.job);
        let Some(mut running) = described(launch, name).filter(|_| place < self.places.len()) else { return false };
        running.job = running.job.or(listed);
        running.is_single = true;
        // The node is lost, so it has none to give.
        running.gpus.clear();
        // The snapshot is of this process, and no other has started steps since then.
        let has_ended = running.beat.as_ref().is_some_and(Beat::is_last)
            || ends::is_surely_over(&running, &self.snapshot, &self.places[place]);
        if has_ended || running.job.is_none() {
            return false;
        }
        running.is_begin_reported = true;
        self.running.insert(launch.attempt, running);
        self.kill(launch.attempt);
        true
    }

    fn let_go(&mut self, attempt: AttemptId) {
        if let Some(running) = self.running.get_mut(&attempt) {
            running.is_single = false;
            running.next_look = Instant::now();
        }
    }

    fn is_running(&self, run: &RunIdentity, attempt: AttemptId) -> bool {
        let name = step::name_of(run, attempt);
        self.snapshot.steps.iter().any(|step| step.name == name)
    }

    fn cut_short(&mut self, folder: BorrowedFd<'_>, code: i32) -> Option<String> {
        let description = Description::read(folder).ok()?;
        let beat = Beat::read(folder, &description.nonce)?;
        if !ends::is_suspect(&beat, code) {
            return None;
        }
        if self.is_held(beat.job) && self.snapshot.begun.elapsed() > SHORT {
            // It may have ended since.
            if let Ok(allocations) = commands::allocations() {
                self.snapshot.allocations = allocations;
            }
        }
        if self.is_held(beat.job) {
            return self.snapshot.node_fault(&description.node, description.slurmd.as_deref());
        }
        let found = self.snapshot.allocations.iter().find(|one| one.id == beat.job);
        let how = found.map_or("has ended".to_owned(), commands::Allocation::end_in_words);
        Some(format!("its allocation {} {how}", beat.job))
    }

    fn is_over(&self) -> Option<&str> {
        self.over.as_deref()
    }

    fn take_used(&mut self, attempt: AttemptId) -> Option<Used> {
        self.used.remove(&attempt)
    }

    fn read_share(&self, attempt: AttemptId) -> Option<f64> {
        self.running.get(&attempt)?.beat.as_ref()?.share
    }

    fn wait(&mut self, until: Time, happened: &mut Vec<Happened>) {
        let before = happened.len();
        loop {
            happened.append(&mut self.pending);
            self.observe(happened);
            self.look(happened);
            let now = Instant::now();
            let next = self.running.values().map(|running| running.next_look.saturating_duration_since(now)).min();
            let rest = Duration::from_nanos((until - self.now()).0);
            let rest = if happened.len() > before { Duration::ZERO } else { rest.min(next.unwrap_or(rest)) };
            for token in self.watcher.wait(rest) {
                self.srun_ended(token, happened);
            }
            if happened.len() > before || self.now() >= until {
                return;
            }
        }
    }
}

/// Returns an attempt of an earlier process of the run, which has the step with this name, as its folder describes it; `None` if the
/// folder can't be read.
fn described(launch: &Launch<'_>, name: String) -> Option<Running> {
    let description = Description::read(launch.handle).ok()?;
    let folder = (launch.handle.try_clone_to_owned().ok()?, launch.folder);
    let gpus = description.gpus.unwrap_or_default();
    let mut running = Running::new((launch.node.0 as usize, name), description.nonce, folder, None, gpus);
    running.slurmd = description.slurmd;
    running.kill_after = launch.kill_after;
    running.read_beat();
    Some(running)
}

/// Ends a child, if there is one.
fn end(child: &mut Option<Child>) {
    if let Some(mut child) = child.take() {
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        let _ = self.give_back();
        for running in self.running.values_mut() {
            end(&mut running.srun);
        }
        for place in &mut self.places {
            end(&mut place.keeper);
        }
    }
}

/// Runs what a step of this program has to do: the words after [`STEP_COMMAND`]. `stop_requests` counts the signals to stop.
///
/// # Errors
/// A text for the log of the step.
pub fn run_step(
    words: &[std::ffi::OsString],
    stop_requests: &'static std::sync::atomic::AtomicU32,
) -> Result<(), String> {
    if let Some((_, args)) = words.split_first().filter(|(what, _)| *what == allocation::REQUEST) {
        return allocation::watch_request(args, stop_requests).map_err(|error| format!("error: salloc: {error}"));
    }
    let [what, folder, nonce] = words else { return Err("this command is for steps of Slurm only".to_owned()) };
    let (folder, nonce) = (Path::new(folder), nonce.to_string_lossy());
    let done = match what.to_str() {
        Some("keep") => {
            keeper::keep(folder, &nonce, stop_requests);
            Ok(())
        }
        Some(keeper::BEGIN) => keeper::begin(folder, &nonce, stop_requests),
        Some(what @ (reaper::IF_DEAD | reaper::ANYWAY)) => reaper::reap(folder, &nonce, what == reaper::ANYWAY),
        Some(step::ATTEMPT) => agent::run_attempt(folder, &nonce, stop_requests),
        Some("check") => agent::answer_check(folder, &nonce),
        _ => Err(io::Error::other("this command is for steps of Slurm only")),
    };
    done.map_err(|error| error.to_string())
}
