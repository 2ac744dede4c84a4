//! Engine `local`: attempts are process groups on this machine, which counts as one node or is split
//! into named ones.
//!
//! Room on nodes is accounting: nothing pins an attempt to cores or limits its memory. Processes are
//! known by pid, start time and boot id, so that a later process can adopt or kill them.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use hindmost_core::ids::AttemptId;
use hindmost_core::resources::{CPUS, MEMORY, parse_size};
use hindmost_core::time::Time;
use hindmost_core::workload::DemandByName;
use rustc_hash::FxHashMap;

use super::{Engine, Happened, Launch, NodeOffer, RunIdentity, key, wrapper};
use crate::process::{self, Identity, Signal, Watcher};

/// Variable by which every process of a run is found again: its run.
pub(crate) const RUN_VARIABLE: &str = "HINDMOST_RUN";
/// Variable that tells which attempt of the run a process belongs to.
pub(crate) const KEY_VARIABLE: &str = "HINDMOST_KEY";

/// A `--nodes` text that can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nodes {text:?}: {reason}; write NAME:CPUS or NAME:CPUS:MEMORY, separated by commas, as in n1:2,n2:2:4GB")]
pub struct NodesError {
    text: String,
    reason: String,
}

/// This machine as one node: its host's name, cores and memory.
fn whole_machine() -> NodeOffer {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = if name.trim().is_empty() { "localhost" } else { name.trim() };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut capacity = DemandByName::from([(CPUS.to_owned(), cores as f64)]);
    if let Some(bytes) = total_memory() {
        capacity.insert(MEMORY.to_owned(), bytes);
    }
    NodeOffer { name: name.to_owned(), capacity }
}

fn total_memory() -> Option<f64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()? * 1024.0)
}

/// The nodes that a text such as `n1:2,n2:2:4GB` names; without one this machine as a single node. Nodes
/// without memory of their own share the machine's by their cpus.
///
/// # Errors
/// If the text can't be understood, says which part and what would be valid.
pub fn parse_nodes(text: Option<&str>) -> Result<Vec<NodeOffer>, NodesError> {
    let Some(text) = text else { return Ok(vec![whole_machine()]) };
    let wrong = |reason: String| NodesError { text: text.to_owned(), reason };
    let mut nodes: Vec<NodeOffer> = Vec::new();
    for part in text.split(',') {
        let mut pieces = part.trim().split(':');
        let name = pieces.next().unwrap_or_default().trim();
        if name.is_empty() || name.chars().any(|letter| letter.is_control() || letter.is_whitespace()) {
            return Err(wrong(format!("{name:?} is no name for a node")));
        }
        if nodes.iter().any(|node| node.name == name) {
            return Err(wrong(format!("{name:?} is named twice")));
        }
        let cpus = pieces.next().map(str::trim).unwrap_or_default();
        let count: f64 = cpus.parse().unwrap_or(f64::NAN);
        if !(count.is_finite() && count > 0.0 && count <= 1e6) {
            return Err(wrong(format!("{name} has {cpus:?} cpus, which is no number above 0")));
        }
        let mut capacity = DemandByName::from([(CPUS.to_owned(), count)]);
        if let Some(memory) = pieces.next() {
            let bytes = parse_size(memory.trim()).map_err(|error| wrong(format!("{name}: {error}")))?;
            capacity.insert(MEMORY.to_owned(), bytes);
        }
        if pieces.next().is_some() {
            return Err(wrong(format!("{part:?} has too many parts")));
        }
        nodes.push(NodeOffer { name: name.to_owned(), capacity });
    }
    let cpus: f64 = nodes.iter().filter_map(|node| node.capacity.get(CPUS)).sum();
    if let Some(bytes) = total_memory() {
        for node in &mut nodes {
            let share = node.capacity.get(CPUS).copied().unwrap_or(0.0) / cpus;
            node.capacity.entry(MEMORY.to_owned()).or_insert((bytes * share).floor());
        }
    }
    Ok(nodes)
}

/// Stops and continues an attempt's processes so that it takes `factor` times as long.
struct Slowed {
    factor: f64,
    stopped: bool,
    next: Time,
}

/// How long a slowed attempt runs between two halts, seconds.
const RUN_WINDOW: f64 = 0.1;

impl Slowed {
    fn span(&self) -> Time {
        Time::from_seconds(if self.stopped { RUN_WINDOW * (self.factor - 1.0) } else { RUN_WINDOW })
    }
}

struct Running {
    attempt: AttemptId,
    run: String,
    process: Identity,
    input: Option<std::path::PathBuf>,
    slowed: Option<Slowed>,
}

/// The engine. See the module's documentation.
pub struct Local {
    nodes: Vec<NodeOffer>,
    began: Instant,
    offset: Time,
    watcher: Watcher,
    ended: Receiver<u64>,
    running: FxHashMap<u64, Running>,
    tokens: FxHashMap<AttemptId, u64>,
    next_token: u64,
    /// The limit on open files that this process had: commands get that, and not what watching needs.
    open_files: Option<u64>,
}

/// Watching an attempt takes an open file, and many systems allow a thousand unless asked for more. Returns
/// the limit that was raised.
fn raise_open_files() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = current.is_some() && current != maximum;
    let granted = raised && setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
    current.filter(|_| granted)
}

impl Local {
    /// An engine with these nodes. From now on this process adopts the orphans of its descendants.
    ///
    /// # Errors
    /// If processes can't be watched here.
    pub fn new(nodes: Vec<NodeOffer>) -> io::Result<Local> {
        process::adopt_orphans()?;
        let open_files = raise_open_files();
        let (tell, ended) = channel();
        let watcher = Watcher::new(move |token| {
            // Nobody listens any more once the engine is gone.
            let _ = tell.send(token);
        })?;
        Ok(Local {
            nodes,
            began: Instant::now(),
            offset: Time::ZERO,
            watcher,
            ended,
            running: FxHashMap::default(),
            tokens: FxHashMap::default(),
            next_token: 0,
            open_files,
        })
    }

    fn watch(&mut self, launch: &Launch<'_>, process: Identity) -> io::Result<()> {
        let token = self.next_token;
        self.next_token += 1;
        self.watcher.watch(&process, token)?;
        let slowed = (launch.slowed > 1.0).then(|| {
            // Slow from the start: a task of a few windows would otherwise seem fast at first.
            process::stop_tree(&process);
            let mut slowed = Slowed { factor: launch.slowed, stopped: true, next: Time::ZERO };
            slowed.next = self.now() + slowed.span();
            slowed
        });
        let input = launch.input.map(std::path::Path::to_owned);
        self.running
            .insert(token, Running { attempt: launch.attempt, run: launch.run.id.clone(), process, input, slowed });
        self.tokens.insert(launch.attempt, token);
        Ok(())
    }

    fn toggle_slowed(&mut self, now: Time) {
        for running in self.running.values_mut() {
            let Some(slowed) = &mut running.slowed else { continue };
            if slowed.next > now {
                continue;
            }
            slowed.stopped = !slowed.stopped;
            if slowed.stopped {
                process::stop_tree(&running.process);
            } else {
                process::continue_tree(&running.process);
            }
            slowed.next = now + slowed.span();
        }
    }

    /// The root of an attempt has ended: so must whatever it has left.
    fn end(&mut self, token: u64, happened: &mut Vec<Happened>) {
        let Some(running) = self.running.remove(&token) else { return };
        self.tokens.remove(&running.attempt);
        let _ = process::signal_group(running.process.pid, Signal::Kill);
        let key = key(running.attempt);
        for (orphan, of) in process::adopted_orphans(RUN_VARIABLE, &running.run, KEY_VARIABLE) {
            let of = of.unwrap_or_default();
            if *of == *key && !self.running.values().any(|other| other.process == orphan) {
                process::kill_tree(&orphan);
            }
        }
        happened.push(Happened::Ended(running.attempt));
    }

    /// The group leader of an attempt, found by what its environment says.
    fn find(launch: &Launch<'_>) -> Option<Identity> {
        let key = key(launch.attempt);
        let found = process::find_by_environment(RUN_VARIABLE, &launch.run.id, KEY_VARIABLE);
        let mut of_attempt = found.into_iter().filter(|(_, of)| of.as_ref().is_some_and(|of| **of == *key));
        of_attempt.find(|(process, _)| leads_its_group(process)).map(|(process, _)| process)
    }
}

fn leads_its_group(process: &Identity) -> bool {
    let pid = rustix::process::Pid::from_raw(process.pid as i32);
    pid.is_some_and(|pid| rustix::process::getpgid(Some(pid)) == Ok(pid))
}

impl Engine for Local {
    fn nodes(&self) -> &[NodeOffer] {
        &self.nodes
    }

    fn now(&self) -> Time {
        self.offset + Time(self.began.elapsed().as_nanos() as u64)
    }

    fn resume_at(&mut self, at: Time) {
        self.began = Instant::now();
        self.offset = at;
    }

    fn start(&mut self, launch: &Launch<'_>) -> io::Result<()> {
        let mut command = wrapper(launch)?;
        command.args(self.open_files.map(|limit| limit.to_string()));
        let process = process::spawn(&mut command)?;
        // For whoever resumes this run; without it the environment tells, more slowly.
        if let Ok(text) = serde_json::to_string(&process) {
            let _ = fs::write(launch.folder.join("process"), text);
        }
        self.watch(launch, process.clone()).inspect_err(|_| process::kill_tree(&process))
    }

    fn adopt(&mut self, launch: &Launch<'_>) -> bool {
        let written = fs::read_to_string(launch.folder.join("process")).ok();
        let written = written.and_then(|text| serde_json::from_str::<Identity>(&text).ok());
        let process = match written {
            Some(process) => Some(process).filter(Identity::is_alive),
            None => Local::find(launch),
        };
        let Some(process) = process else { return false };
        process::continue_tree(&process);
        self.watch(launch, process).is_ok()
    }

    fn kill_strays_but(&mut self, run: &RunIdentity, kept: &HashSet<AttemptId>) {
        // Killing one may orphan another, and one may just be starting another.
        for _ in 0..10 {
            let found = process::find_by_environment(RUN_VARIABLE, &run.id, KEY_VARIABLE);
            let running = self.running.values().filter(|running| running.run == run.id).map(|running| &running.attempt);
            let ours: Vec<String> = running.chain(kept).map(|attempt| key(*attempt)).collect();
            let mut strays = found.iter().filter(|(_, of)| {
                let of = of.as_deref().unwrap_or_default();
                !ours.iter().any(|key| **key == *of)
            });
            let mut any = false;
            for (stray, _) in strays.by_ref() {
                any = true;
                process::kill_tree(stray);
            }
            if !any {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn kill(&mut self, attempt: AttemptId) {
        if let Some(running) = self.tokens.get(&attempt).and_then(|token| self.running.get_mut(token)) {
            running.slowed = None;
            process::kill_tree(&running.process);
        }
    }

    fn read_share(&self, attempt: AttemptId) -> Option<f64> {
        let running = self.running.get(self.tokens.get(&attempt)?)?;
        process::read_share(&running.process, running.input.as_deref()?)
    }

    fn wait(&mut self, until: Time, happened: &mut Vec<Happened>) {
        loop {
            let now = self.now();
            self.toggle_slowed(now);
            let next = self.running.values().filter_map(|running| running.slowed.as_ref()).map(|slowed| slowed.next);
            let wake = next.min().unwrap_or(Time::NEVER).min(until);
            let timeout = Duration::from_nanos((wake - now).0);
            match self.ended.recv_timeout(timeout) {
                Ok(token) => {
                    self.end(token, happened);
                    while let Ok(token) = self.ended.try_recv() {
                        self.end(token, happened);
                    }
                    return;
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    if self.now() >= until {
                        return;
                    }
                }
            }
        }
    }
}
