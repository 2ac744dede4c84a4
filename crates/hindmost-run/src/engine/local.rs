//! Engine `local` runs attempts as process groups on this machine, which is one node or is split into named nodes.
//!
//! The capacity of nodes is only accounted for: nothing pins an attempt to cores or limits its memory. Processes are
//! identified by pid, start time and boot id, so that a later Hindmost process can adopt or kill them.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::fs;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use hindmost_core::ids::AttemptId;
use hindmost_core::time::Time;
use hindmost_core::usage::Usage;
use rustc_hash::FxHashMap;

use super::clock::RunClock;
use super::descriptors::Descriptors;
use super::process_file::{PROCESS_FILE, ProcessFile};
use super::scratch::{self, Scratch};
use super::{
    END_MARKER, Engine, Happened, Launch, Marker, NodeOffer, ROOT_NAME, RunIdentity, Used, key, unwrapped, wrapped,
};
use crate::process::{self, Ending, Group, Identity, Mark, MemoryKills, Outcome, Strays, Tag, Watcher, WrittenFile};
use crate::store::Folder;

/// An attempt whose processes are stopped and continued in turn, so that it takes `factor` times as long.
struct Slowed {
    factor: f64,
    /// True while the processes are stopped.
    stopped: bool,
    /// When the processes are to be stopped or continued next.
    next: Time,
}

/// Seconds for which a slowed attempt runs between two halts.
const RUN_WINDOW: f64 = 0.1;

/// Time within which the root process of a killed attempt must end. Otherwise the engine reports that it does not end.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most bytes of an end marker that are read.
const LONGEST_MARKER: u64 = 1000;

impl Slowed {
    /// Returns how long the processes stay stopped or continue to run now.
    fn span(&self) -> Time {
        Time::from_seconds(if self.stopped { RUN_WINDOW * (self.factor - 1.0) } else { RUN_WINDOW })
    }
}

struct Running {
    attempt: AttemptId,
    tag: Tag,
    folder: PathBuf,
    /// Its folder for temporary files, if this engine has made it.
    scratch: Option<PathBuf>,
    process: Identity,
    input: Option<PathBuf>,
    slowed: Option<Slowed>,
    /// How long its processes may take to end after they got `SIGTERM`.
    kill_after: Duration,
    /// True if the shell of its command handles that signal and ends then.
    cleans_up: bool,
    /// True once only that shell runs.
    is_cleaning: bool,
    /// When what is left of its processes is killed, if they got `SIGTERM`.
    patience: Option<Instant>,
    killed: Option<Instant>,
    begun: Option<SystemTime>,
    /// The end marker, if the attempt has no wrapper that writes it.
    marker: Option<Marker>,
    memory: SeenMemory,
    /// How often the system had killed a process of the group for memory when it began; `None` if that is unknown.
    memory_kills: Option<u64>,
}

/// The memory of an attempt as far as it was looked at.
#[derive(Default)]
struct SeenMemory {
    /// The most that was seen, in bytes.
    most: u64,
    /// When it is looked at again.
    next: Time,
    /// Pause between the last two looks. It doubles with each look.
    pause: Time,
}

/// The shortest and the longest pause between two looks at the memory of an attempt.
const LOOKS: [Time; 2] = [Time(50_000_000), Time(1_600_000_000)];

/// An attempt whose root process has ended. Other processes of the attempt may still run.
struct Leaving {
    attempt: AttemptId,
    folder: PathBuf,
    scratch: Option<PathBuf>,
    /// True if a wrapper runs the command.
    wrapped: bool,
    /// The most memory that was seen of it, in bytes.
    memory: u64,
    /// How often the system had killed a process of the group for memory when the attempt began; `None` if that is unknown, or if
    /// the attempt was stopped.
    memory_kills: Option<u64>,
    ending: Ending,
    /// When to check again whether the attempt has ended completely.
    next: Instant,
    /// Pause between the last two checks. It doubles with each check.
    pause: Duration,
}

/// The shortest and the longest pause between two checks of an attempt that is ending.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(250)];

/// Time within which most killed processes end. The engine waits this long before it checks an ended attempt a second
/// time.
const AT_ONCE: Duration = Duration::from_micros(200);

/// The engine that runs attempts on this machine.
pub struct Local {
    nodes: Vec<NodeOffer>,
    clock: RunClock,
    watcher: Watcher,
    running: FxHashMap<u64, Running>,
    tokens: FxHashMap<AttemptId, u64>,
    next_token: u64,
    leaving: Vec<Leaving>,
    scratch: Scratch,
    descriptors: Descriptors,
    /// Number of running attempts without a wrapper. Each takes a descriptor for its end marker.
    unwrapped: usize,
    /// The run's control group, or `None` if it can't be created. Set when the run becomes known.
    group: OnceCell<Option<Group>>,
    /// Control groups of earlier processes of the run, in which processes of attempts may still run.
    left_groups: Vec<PathBuf>,
    /// Marks of all attempts that this engine has started or adopted, including those that have ended.
    known_marks: HashSet<Mark>,
    /// What attempts that have ended have used.
    used: FxHashMap<AttemptId, Used>,
    memory_kills: MemoryKills,
}

impl Local {
    /// Creates an engine for these nodes.
    ///
    /// # Errors
    /// If this system can't watch processes, or too few files may be open.
    pub fn new(nodes: Vec<NodeOffer>) -> io::Result<Local> {
        process::adopt_orphans()?;
        let watcher = Watcher::new()?;
        Ok(Local {
            nodes,
            clock: RunClock::new(),
            watcher,
            running: FxHashMap::default(),
            tokens: FxHashMap::default(),
            next_token: 0,
            leaving: Vec::new(),
            scratch: Scratch::default(),
            descriptors: Descriptors::new()?,
            unwrapped: 0,
            group: OnceCell::new(),
            left_groups: Vec::new(),
            known_marks: HashSet::new(),
            used: FxHashMap::default(),
            memory_kills: MemoryKills::find(),
        })
    }

    /// Creates an engine for one node inside a step of a cluster manager. It creates no control group, because the manager
    /// finds the processes of the step by the step's own group.
    ///
    /// # Errors
    /// The same as those of [`Local::new`].
    pub fn in_step(node: NodeOffer) -> io::Result<Local> {
        let mut local = Local::new(vec![node])?;
        local.group = OnceCell::from(None);
        Ok(local)
    }

    /// Starts an attempt without a wrapper; `None` if it needs one. Neither a file nor its command line names its process, so
    /// that no later process of Hindmost adopts it: nothing would write its end marker.
    fn start_unwrapped(&self, launch: &Launch<'_>, tag: Tag) -> Option<(Identity, Marker)> {
        if launch.outlives || self.descriptors.limit_before().is_some() || process::keeps_terminal() {
            return None;
        }
        // The wrapper tries again, and reports what is missing.
        let (mut command, marker) = unwrapped(launch).ok()?;
        let process = process::spawn(&mut command, tag).ok()?;
        Some((process, marker))
    }

    /// Starts an attempt in a wrapper.
    fn start_wrapped(&mut self, launch: &Launch<'_>, tag: Tag) -> io::Result<Identity> {
        let group = self.group(launch.run).map(|group| group.path().to_owned());
        let mut command = wrapped(launch)?;
        command.args(self.descriptors.limit_before().map(|limit| limit.to_string()));
        let file = ProcessFile::create(launch.handle);
        let process = process::spawn(&mut command, tag)?;
        // A process that resumes this run reads this file. Without the file it searches all processes, which takes longer.
        let _ = file.and_then(|file| file.write(&process, group));
        Ok(process)
    }

    /// Waits for the end of an attempt. Its command has not begun before `begun`, if that is known.
    fn watch(
        &mut self,
        launch: &Launch<'_>,
        process: &Identity,
        (tag, begun): (Tag, Option<SystemTime>),
        (marker, scratch): (Option<Marker>, Option<PathBuf>),
    ) -> io::Result<()> {
        let token = self.next_token;
        self.watcher.watch(process, token)?;
        self.next_token += 1;
        let memory_kills = self.memory_kills.count();
        let slowed = (launch.slowed > 1.0).then(|| {
            // The attempt starts stopped: otherwise a short task would seem fast at first.
            process::stop_tree(process);
            let mut slowed = Slowed { factor: launch.slowed, stopped: true, next: Time::ZERO };
            slowed.next = self.now() + slowed.span();
            slowed
        });
        let running = Running {
            attempt: launch.attempt,
            tag,
            folder: launch.folder.to_owned(),
            scratch,
            process: process.clone(),
            input: launch.input.map(std::path::Path::to_owned),
            slowed,
            kill_after: launch.kill_after,
            cleans_up: launch.cleans_up,
            is_cleaning: false,
            patience: None,
            killed: None,
            begun,
            marker,
            memory: SeenMemory::default(),
            memory_kills,
        };
        self.unwrapped += usize::from(running.marker.is_some());
        self.running.insert(token, running);
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

    /// Returns the control group of a run. The first call makes this process enter it.
    fn group(&mut self, run: &RunIdentity) -> Option<&Group> {
        let left_groups = &mut self.left_groups;
        let group = self.group.get_or_init(|| {
            let group = Group::enter(Mark::of_run(&run.id, &run.folder));
            let was_there = group.as_ref().filter(|group| group.was_there());
            left_groups.extend(was_there.map(|group| group.path().to_owned()));
            group
        });
        group.as_ref()
    }

    /// Handles the end of an attempt's root process: kills all other processes of the attempt.
    fn root_ended(&mut self, token: u64, happened: &mut Vec<Happened>) {
        let Some(running) = self.running.remove(&token) else { return };
        self.tokens.remove(&running.attempt);
        let wrapped = running.marker.is_none();
        self.unwrapped -= usize::from(!wrapped);
        // A stopped attempt has no marker, as if it had a wrapper, which is killed first.
        if let Some(marker) = running.marker.filter(|_| running.killed.is_none() && running.patience.is_none())
            && let Some(code) = process::exit_code(&running.process)
        {
            marker.write(code);
        }
        let patience = running.patience.filter(|_| running.killed.is_none());
        let mut ending = Ending::new(running.process, running.tag, self.left_groups.clone(), patience);
        let mut outcome = ending.step();
        if outcome == Outcome::Unfinished {
            std::thread::sleep(AT_ONCE);
            outcome = ending.step();
        }
        let leaving = Leaving {
            attempt: running.attempt,
            folder: running.folder,
            scratch: running.scratch,
            wrapped,
            memory: running.memory.most,
            memory_kills: running.memory_kills.filter(|_| running.killed.is_none() && running.patience.is_none()),
            ending,
            next: Instant::now() + PAUSES[0],
            pause: PAUSES[0],
        };
        match outcome {
            Outcome::Unfinished => self.leaving.push(leaving),
            other => happened.extend(self.left(leaving, other)),
        }
    }

    /// Returns what to report about an attempt whose root process has ended; `None` while it has not ended completely. Removes its
    /// folder for temporary files, unless a process may still use it.
    fn left(&mut self, leaving: Leaving, outcome: Outcome) -> Option<Happened> {
        if let Outcome::Nothing(_, usage) = outcome {
            let seen = Some(leaving.memory).filter(|seen| *seen > 0);
            let usage = Usage { memory: usage.memory.max(seen), ..usage };
            let before = leaving.memory_kills.filter(|_| was_killed(&leaving.folder));
            let killed_for_memory = before.is_some_and(|before| self.memory_kills.take_one(before));
            self.used.insert(leaving.attempt, Used { usage, killed_for_memory });
        }
        let happening = happening(leaving.attempt, &leaving.folder, leaving.wrapped, outcome)?;
        Some(match (happening, leaving.scratch) {
            (Happened::Stays(attempt, what), Some(scratch)) => {
                Happened::Stays(attempt, format!("{what}; it may use {}, which is left", scratch.display()))
            }
            (happening, scratch) => {
                if let Some(scratch) = scratch {
                    self.scratch.remove(scratch);
                }
                happening
            }
        })
    }

    /// Checks whether the attempts whose root process has ended have ended completely.
    fn step(&mut self, happened: &mut Vec<Happened>) {
        let now = Instant::now();
        let (due, waiting): (Vec<Leaving>, Vec<Leaving>) =
            std::mem::take(&mut self.leaving).into_iter().partition(|leaving| leaving.next <= now);
        self.leaving = waiting;
        for mut leaving in due {
            match leaving.ending.step() {
                Outcome::Unfinished => {
                    leaving.pause = (leaving.pause * 2).min(PAUSES[1]);
                    leaving.next = Instant::now() + leaving.pause;
                    self.leaving.push(leaving);
                }
                outcome => happened.extend(self.left(leaving, outcome)),
            }
        }
        happened.extend(self.scratch.left().into_iter().map(Happened::Notice));
        for running in self.running.values_mut() {
            if running.killed.is_none() && running.patience.is_some_and(|end| end <= now) {
                running.killed = Some(Instant::now());
                process::kill_tree(&running.process);
            }
        }
        self.give_up(happened);
    }

    /// Reports root processes that have not ended ten seconds after they were killed.
    fn give_up(&mut self, happened: &mut Vec<Happened>) {
        let late = |running: &Running| running.killed.is_some_and(|killed| killed.elapsed() > PATIENCE);
        let late: Vec<u64> =
            self.running.iter().filter(|(_, running)| late(running)).map(|(token, _)| *token).collect();
        for token in late {
            let Some(running) = self.running.remove(&token) else { continue };
            self.tokens.remove(&running.attempt);
            self.unwrapped -= usize::from(running.marker.is_some());
            process::abandon(&running.process);
            let what = process::does_not_end(running.process.pid);
            let scratch = running.scratch.map(|scratch| format!("; it may use {}, which is left", scratch.display()));
            happened.push(Happened::Stays(running.attempt, what + &scratch.unwrap_or_default()));
        }
    }

    /// Returns when the next slowed attempt is to be stopped or continued, the next ending attempt to be checked, or the next attempt
    /// to be killed that got `SIGTERM`.
    fn next_check(&self, now: Time) -> Option<Time> {
        let slowed = self.running.values().filter_map(|running| running.slowed.as_ref()).map(|slowed| slowed.next);
        let at = Instant::now();
        let terminated =
            self.running.values().filter(|running| running.killed.is_none()).filter_map(|running| running.patience);
        let checks = self.leaving.iter().map(|leaving| leaving.next).chain(terminated);
        let checks = checks.map(|check| now + Time(check.saturating_duration_since(at).as_nanos() as u64));
        slowed.chain(checks).min()
    }
}

/// Returns what to report about an attempt that is ending; `None` while it has not ended.
fn happening(attempt: AttemptId, folder: &std::path::Path, wrapped: bool, outcome: Outcome) -> Option<Happened> {
    match outcome {
        Outcome::Unfinished => None,
        Outcome::Stays(what) => Some(Happened::Stays(attempt, what)),
        // A shell that can't fork ends with such a code and writes no marker. With code 97 the wrapper says that it could not
        // write the marker.
        Outcome::Nothing(Some(code), _) if wrapped && code != 0 && code != 97 && !has_marker(folder) => {
            Some(Happened::NotBegun(attempt, "no process could be started".to_owned()))
        }
        Outcome::Nothing(..) => Some(Happened::Ended(attempt)),
    }
}

/// Returns the text of an attempt's end marker; empty if there is none. The command may have put anything in its place, such as a pipe
/// that would block its reader.
fn marker(folder: &std::path::Path) -> String {
    let mut text = String::new();
    let file = Folder::open(folder).and_then(|folder| folder.file(END_MARKER));
    // What can't be read is no marker.
    match file.and_then(|file| file.take(LONGEST_MARKER).read_to_string(&mut text)) {
        Ok(_) => text,
        Err(_) => String::new(),
    }
}

/// True if an attempt's end marker is missing, or says that a signal has killed the command.
pub(super) fn may_be_signalled(folder: &std::path::Path) -> bool {
    let text = marker(folder);
    let code = text.split_whitespace().nth(1).and_then(|code| code.parse::<i32>().ok());
    // Shells add 128 to the number of a signal.
    !text.ends_with('\n') || code.is_none_or(|code| code > 128)
}

/// True if an attempt's end marker says that the command has ended with the code of `SIGKILL`.
fn was_killed(folder: &std::path::Path) -> bool {
    let text = marker(folder);
    text.split_whitespace().nth(1) == Some("137")
}

/// True if an attempt's end marker says that the command failed.
pub(super) fn says_failed(folder: &std::path::Path) -> bool {
    let text = marker(folder);
    text.split_whitespace().nth(1).is_some_and(|code| code != "0")
}

/// True if an attempt's end marker is complete.
fn has_marker(folder: &std::path::Path) -> bool {
    marker(folder).ends_with('\n')
}

impl Engine for Local {
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
        self.descriptors.check(self.watcher.count() + self.unwrapped)?;
        let tag = tag(launch.run, launch.attempt);
        let begun = Some(SystemTime::now());
        self.group(launch.run);
        let scratch = self.scratch.make(launch)?;
        let environment = [launch.environment, &scratch::variables(&scratch)].concat();
        let launch = &Launch { environment: &environment, ..launch.clone() };
        let started = match self.start_unwrapped(launch, tag) {
            Some((process, marker)) => Ok((process, Some(marker))),
            None => self.start_wrapped(launch, tag).map(|process| (process, None)),
        };
        let (process, marker) = match started {
            Ok(started) => started,
            Err(error) => {
                self.scratch.remove(scratch);
                return Err(error);
            }
        };
        self.known_marks.insert(tag.attempt);
        self.watch(launch, &process, (tag, begun), (marker, Some(scratch)))
            .inspect_err(|_| process::kill_now(&process, tag))
    }

    fn adopt(&mut self, launch: &Launch<'_>) -> bool {
        let tag = tag(launch.run, launch.attempt);
        self.known_marks.insert(tag.attempt);
        self.group(launch.run);
        let (process, group) = ProcessFile::read(launch.handle).unwrap_or_default();
        let groups = group.filter(|group| process::is_group_of(group, tag.run) && !self.left_groups.contains(group));
        self.left_groups.extend(groups);
        let proven = process.filter(|process| process::is_proven(process, tag));
        let words = [ROOT_NAME, &attempt_word(launch.run, launch.attempt)];
        let Some(process) = proven.or_else(|| process::find_root(tag, &words)) else { return false };
        process::adopt(&process, tag);
        process::continue_tree(&process);
        let begun = fs::metadata(launch.folder.join(PROCESS_FILE)).and_then(|found| found.modified()).ok();
        self.watch(launch, &process, (tag, begun), (None, None)).inspect_err(|_| process::abandon(&process)).is_ok()
    }

    fn kill_strays_but(&mut self, run: &RunIdentity, kept: &HashSet<AttemptId>) -> Vec<String> {
        self.group(run);
        let running = self.running.values().map(|running| running.tag.attempt);
        let leaving = self.leaving.iter().map(|leaving| leaving.ending.tag().attempt);
        let kept = kept.iter().map(|attempt| tag(run, *attempt).attempt);
        let kept: HashSet<Mark> = running.chain(leaving).chain(kept).collect();
        let run = Mark::of_run(&run.id, &run.folder);
        let strays = Strays { run, kept: &kept, of_run: &self.known_marks, groups: &self.left_groups };
        let stays = strays.end();
        if kept.is_empty() {
            for group in self.left_groups.drain(..) {
                process::remove_group(&group);
            }
        }
        stays
    }

    fn kill(&mut self, attempt: AttemptId) {
        if let Some(running) = self.tokens.get(&attempt).and_then(|token| self.running.get_mut(token)) {
            running.slowed = None;
            running.killed.get_or_insert_with(Instant::now);
            process::kill_tree(&running.process);
        }
        for leaving in self.leaving.iter_mut().filter(|leaving| leaving.attempt == attempt) {
            leaving.ending.hurry();
            leaving.next = Instant::now();
        }
    }

    fn stop(&mut self, attempt: AttemptId) {
        let Some(running) = self.tokens.get(&attempt).and_then(|token| self.running.get_mut(token)) else { return };
        if running.kill_after.is_zero() {
            self.kill(attempt);
        } else if running.killed.is_none() && running.patience.is_none() {
            running.slowed = None;
            process::terminate_tree(&running.process, running.tag, running.marker.is_none());
            running.patience = Some(Instant::now() + running.kill_after);
        }
    }

    fn can_freeze(&self) -> bool {
        true
    }

    fn freeze(&mut self, attempt: AttemptId) {
        if let Some(running) = self.tokens.get(&attempt).and_then(|token| self.running.get_mut(token)) {
            running.slowed = None;
            process::hold_tree(&running.process);
        }
    }

    fn thaw(&mut self, attempt: AttemptId) {
        if let Some(running) = self.tokens.get(&attempt).and_then(|token| self.running.get(token)) {
            process::continue_tree(&running.process);
        }
    }

    fn end_loser(&mut self, attempt: AttemptId) {
        let running = self.tokens.get(&attempt).and_then(|token| self.running.get_mut(token));
        if let Some(running) = running.filter(|running| running.cleans_up && running.killed.is_none()) {
            if running.is_cleaning {
                return;
            }
            let has_time = running.patience.is_none() && !running.kill_after.is_zero();
            if has_time && process::terminate_shell(&running.process, running.tag, running.marker.is_none()) {
                running.slowed = None;
                running.is_cleaning = true;
                running.patience = Some(Instant::now() + running.kill_after);
                return;
            }
        }
        self.kill(attempt);
    }

    fn is_running(&self, run: &RunIdentity, attempt: AttemptId) -> bool {
        process::find_root(tag(run, attempt), &[ROOT_NAME, &attempt_word(run, attempt)]).is_some()
    }

    fn can_start(&self) -> bool {
        process::can_start_processes()
    }

    fn read_share(&self, attempt: AttemptId) -> Option<f64> {
        let running = self.running.get(self.tokens.get(&attempt)?)?;
        process::read_share(&running.process, running.input.as_deref()?)
    }

    fn memory(&mut self, attempt: AttemptId) -> Option<u64> {
        let now = self.clock.now();
        let running = self.running.get_mut(self.tokens.get(&attempt)?).filter(|running| running.memory.next <= now)?;
        let found = process::memory(&running.process)?;
        let SeenMemory { most, pause, .. } = running.memory;
        let pause = (pause + pause).max(LOOKS[0]).min(LOOKS[1]);
        running.memory = SeenMemory { most: most.max(found.peak).max(found.now), next: now + pause, pause };
        Some(found.now)
    }

    fn take_used(&mut self, attempt: AttemptId) -> Option<Used> {
        self.used.remove(&attempt)
    }

    fn written_files(&self, attempt: AttemptId) -> Vec<WrittenFile> {
        let running = self.tokens.get(&attempt).and_then(|token| self.running.get(token));
        let Some(running) = running else { return Vec::new() };
        let own: Vec<&std::path::Path> =
            std::iter::once(&running.folder).chain(&running.scratch).map(PathBuf::as_path).collect();
        process::written_files(&running.process, &own, running.begun)
    }

    fn wait(&mut self, until: Time, happened: &mut Vec<Happened>) {
        let before = happened.len();
        loop {
            let now = self.now();
            self.toggle_slowed(now);
            let wake = self.next_check(now).unwrap_or(Time::NEVER).min(until);
            for token in self.watcher.wait(Duration::from_nanos((wake - now).0)) {
                self.root_ended(token, happened);
            }
            self.step(happened);
            if happened.len() > before || self.now() >= until {
                return;
            }
        }
    }
}

/// Returns the tag that identifies the processes of an attempt.
fn tag(run: &RunIdentity, attempt: AttemptId) -> Tag {
    Tag::new(&run.id, &run.folder, &key(attempt))
}

/// Returns the word in the command line of an attempt's root process that distinguishes it from other processes.
fn attempt_word(run: &RunIdentity, attempt: AttemptId) -> String {
    format!("{}/{}", run.id, key(attempt))
}

#[cfg(test)]
mod tests {
    use hindmost_core::ids::{JobId, TaskId};

    use super::*;

    #[test]
    fn a_shell_that_could_not_fork_is_reported_as_not_begun() {
        let folder = tempfile::tempdir().unwrap();
        let attempt = AttemptId { task: TaskId { job: JobId(0), phase: 0, index: 1 }, copy: 2 };
        let happens = |code| happening(attempt, folder.path(), true, Outcome::Nothing(code, Usage::default())).unwrap();
        let not_begun = Happened::NotBegun(attempt, "no process could be started".to_owned());
        for marker in ["", "exit 0 run"] {
            fs::write(folder.path().join(END_MARKER), marker).unwrap();
            assert_eq!(happens(Some(2)), not_begun);
            // 97: the marker could not be written. 0: success. `None`: killed by a signal, or adopted.
            for code in [Some(97), Some(0), None] {
                assert_eq!(happens(code), Happened::Ended(attempt));
            }
        }
        fs::write(folder.path().join(END_MARKER), "exit 0 run/0.1.2\n").unwrap();
        assert_eq!(happens(Some(2)), Happened::Ended(attempt));
    }
}
