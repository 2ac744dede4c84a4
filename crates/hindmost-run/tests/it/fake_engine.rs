//! An engine without processes, for tests and benchmarks of the driver. It has a virtual clock, and the test decides when
//! and how each attempt ends. It writes the files that real attempts write.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hindmost_core::ids::AttemptId;
use hindmost_core::time::Time;
use hindmost_run::engine::{END_MARKER, Engine, Happened, Launch, NodeOffer, RunIdentity, Used, end_line};
use rustc_hash::FxHashMap;

/// What a fake attempt does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FakeTask {
    /// Seconds that the attempt takes on a node that is not slowed down.
    pub seconds: f64,
    /// Exit code of the attempt's command; `None` if the attempt ends without an end marker, as if it was killed from
    /// outside.
    pub exit: Option<i32>,
    /// True if the attempt reports its progress.
    pub reports: bool,
    /// What it reports.
    pub reported: Reported,
    /// The attempt has this many blocks, and reads each before it works on it; 0 if it reads nothing. If it reports its progress, it
    /// reports the blocks that it has read.
    pub blocks: u32,
    /// Seconds for which the attempt does nothing when half of its work is done. `seconds` leaves them out.
    pub hangs: f64,
    /// Seconds from the start of the attempt to the begin of its command. `seconds` counts from the begin.
    pub begins: f64,
    /// Memory that the attempt needs while it runs, in bytes; 0 if it is unknown.
    pub memory: u64,
    /// What is known of its resources once it has ended.
    pub used: Used,
}

/// What an attempt reports when a share of its time has passed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reported {
    /// This power of the share: the first is progress that predicts the end.
    Power(i32),
    /// The share in so many equal steps, each as soon as it is done.
    Steps(u32),
    /// 0.9 once a tenth has passed, and then nothing.
    MostAtOnce,
    /// A tenth of the share, in steps of 0.01.
    LittleUntilTheEnd,
}

impl Reported {
    fn of(self, share: f64) -> f64 {
        // The time of a step is not exact, because it is kept in nanoseconds.
        let steps = |share: f64, number: f64| (share * number + 1e-6).floor() / number;
        match self {
            Reported::Power(power) => share.powi(power),
            Reported::Steps(number) => steps(share, f64::from(number)),
            Reported::MostAtOnce => 0.9 * f64::from(u8::from(share >= 0.1)),
            Reported::LittleUntilTheEnd => steps(0.1 * share, 100.0),
        }
    }
}

struct Running {
    run: String,
    folder: PathBuf,
    task: FakeTask,
    /// Share of the work that the attempt leaves out.
    from: f64,
    since: Time,
    end: Time,
    /// Time from its start to the begin that has not been reported yet.
    starting: Option<Time>,
}

impl Running {
    /// Returns the share of the time for which the attempt works that has passed.
    fn own_share(&self, now: Time) -> f64 {
        let (age, hangs) = ((now - self.since).seconds(), self.task.hangs);
        let works = (self.end - self.since).seconds() - hangs;
        age.min((works / 2.0).max(age - hangs)) / works
    }

    /// Returns the share of its blocks that the attempt has read.
    fn blocks_read(&self, now: Time) -> f64 {
        let blocks = f64::from(self.task.blocks);
        ((self.own_share(now) * blocks).floor() + 1.0).min(blocks) / blocks
    }
}

/// Returns the share of its work that an attempt may leave out, as its environment says; `None` if the variable is not set.
pub fn from_progress(launch: &Launch<'_>) -> Option<f64> {
    let (_, share) = launch.environment.iter().find(|(name, _)| name == "HINDMOST_FROM_PROGRESS")?;
    share.to_str()?.parse().ok()
}

/// An engine with a virtual clock and without processes.
pub struct FakeEngine {
    nodes: Vec<NodeOffer>,
    now: Time,
    behaviour: Box<dyn FnMut(&Launch<'_>) -> FakeTask>,
    running: FxHashMap<AttemptId, Running>,
    /// Times at which attempts end or begin.
    ends: BinaryHeap<Reverse<(Time, AttemptId)>>,
    /// What attempts have used that have ended.
    used: FxHashMap<AttemptId, Used>,
}

impl FakeEngine {
    /// Creates an engine with these nodes. `behaviour` returns what an attempt does when it is started.
    pub fn new(nodes: Vec<NodeOffer>, behaviour: impl FnMut(&Launch<'_>) -> FakeTask + 'static) -> FakeEngine {
        FakeEngine {
            nodes,
            now: Time::ZERO,
            behaviour: Box::new(behaviour),
            running: FxHashMap::default(),
            ends: BinaryHeap::new(),
            used: FxHashMap::default(),
        }
    }

    fn report(&self) {
        let reports = |running: &&Running| running.task.reports && running.starting.is_none();
        for running in self.running.values().filter(reports) {
            let own = match running.task.blocks {
                0 => running.task.reported.of(running.own_share(self.now)),
                _ => running.blocks_read(self.now),
            };
            if own <= 0.0 && running.task.reported != Reported::Power(1) {
                continue;
            }
            let share = running.from + (1.0 - running.from) * own;
            let _ = write_at_this_moment(&running.folder.join("progress"), &format!("{share}\n"));
        }
    }
}

/// Writes a file with a time in the future, which counts as no time ago: how long the test itself takes must not matter.
fn write_at_this_moment(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.set_modified(SystemTime::now() + Duration::from_hours(1))
}

impl Engine for FakeEngine {
    fn nodes(&self) -> &[NodeOffer] {
        &self.nodes
    }

    fn now(&self) -> Time {
        self.now
    }

    fn resume_at(&mut self, at: Time) {
        self.now = at;
    }

    fn start(&mut self, launch: &Launch<'_>) -> io::Result<()> {
        let task = (self.behaviour)(launch);
        let begins = Time::from_seconds(task.begins);
        let end = self.now + begins + Time::from_seconds(task.seconds * launch.slowed + task.hangs);
        let starting = (task.begins > 0.0).then_some(begins);
        self.ends.extend(starting.map(|begins| Reverse((self.now + begins, launch.attempt))));
        self.ends.push(Reverse((end, launch.attempt)));
        let folder = launch.folder.to_owned();
        let (run, from, since) = (launch.run.id.clone(), from_progress(launch).unwrap_or(0.0), self.now + begins);
        self.running.insert(launch.attempt, Running { run, folder, task, from, since, end, starting });
        Ok(())
    }

    fn has_begun(&self, attempt: AttemptId) -> bool {
        self.running.get(&attempt).is_none_or(|running| running.starting.is_none())
    }

    fn adopt(&mut self, _launch: &Launch<'_>) -> bool {
        false
    }

    fn kill_strays_but(&mut self, _run: &RunIdentity, _kept: &HashSet<AttemptId>) -> Vec<String> {
        Vec::new()
    }

    fn kill(&mut self, attempt: AttemptId) {
        if let Some(running) = self.running.get_mut(&attempt) {
            running.task.exit = None;
            running.end = self.now;
            self.ends.push(Reverse((self.now, attempt)));
        }
    }

    fn read_share(&self, attempt: AttemptId) -> Option<f64> {
        let running = self.running.get(&attempt)?;
        (running.task.blocks > 0 && running.starting.is_none()).then(|| running.blocks_read(self.now))
    }

    fn memory(&mut self, attempt: AttemptId) -> Option<u64> {
        self.running.get(&attempt).map(|running| running.task.memory).filter(|memory| *memory > 0)
    }

    fn take_used(&mut self, attempt: AttemptId) -> Option<Used> {
        self.used.remove(&attempt)
    }

    fn wait(&mut self, until: Time, happened: &mut Vec<Happened>) {
        while let Some(Reverse((at, attempt))) = self.ends.peek().copied() {
            if at > until || (!happened.is_empty() && at > self.now) {
                if happened.is_empty() {
                    self.now = self.now.max(until);
                }
                return self.report();
            }
            self.ends.pop();
            if let Some(running) = self.running.get_mut(&attempt)
                && running.since == at
                && running.end > at
                && let Some(starting) = running.starting.take()
            {
                self.now = self.now.max(at);
                happened.push(Happened::Begun(attempt, starting));
                continue;
            }
            // A killed attempt has a second, later end in the queue, which is ignored.
            if self.running.get(&attempt).is_none_or(|running| running.end != at) {
                continue;
            }
            self.now = self.now.max(at);
            if let Some(running) = self.running.remove(&attempt) {
                self.used.insert(attempt, running.task.used);
                if let Some(code) = running.task.exit {
                    let line = end_line(code, &running.run, attempt);
                    let _ = write_at_this_moment(&running.folder.join(END_MARKER), &line);
                }
                happened.push(Happened::Ended(attempt));
            }
        }
        if happened.is_empty() {
            self.now = self.now.max(until);
        }
        self.report();
    }
}
