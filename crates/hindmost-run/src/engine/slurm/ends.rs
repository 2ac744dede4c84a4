//! How attempts end: what the reports of their agents, their `srun` and Slurm's list of steps say together.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use hindmost_core::ids::AttemptId;
use hindmost_core::time::Time;
use rustix::fs::{Mode, OFlags, openat};

use super::super::{Happened, Used};
use super::beat::State;
use super::commands::{self, one_line};
use super::nodes::SlurmNode;
use super::observer::Snapshot;
use super::place::{Health, Place};
use super::{CALM, LOG, Running, SOON, Slurm, reaper};

/// Time for which an agent may take to end a killed attempt, in addition to the time that the attempt's processes have, before
/// Slurm kills its step.
const POLITE: Duration = Duration::from_secs(3);
/// Time after which an attempt that is killed and whose agent does not report is ended by a further step, in addition to the same time.
const IMPATIENT: Duration = Duration::from_secs(6);
/// Time after which an attempt on a lost node counts as ended. It can do no harm: it writes only into its own folder, and it stops
/// when it finds the folder gone.
const FENCED: Duration = Duration::from_secs(10);
/// Time after which a killed attempt whose step Slurm still lists is reported, in addition to the same time.
const PATIENCE: Duration = Duration::from_secs(40);
/// Time for which `srun` may go on after the last report of its agent.
const LINGERS: Duration = Duration::from_secs(1);
/// Time after which the end of an attempt that was sent a signal is reported, even if Slurm does not say why.
const UNKNOWN: Duration = Duration::from_mins(1);
/// Time within which a `slurmd` that answers a check has registered, so that Slurm knows when it was started.
const REGISTERED: Duration = Duration::from_secs(1);
/// Largest number of bytes that are read of the messages of `srun`.
const LONGEST: usize = 4096;

impl Slurm {
    /// Handles the end of an `srun`.
    pub(super) fn srun_ended(&mut self, token: u64, happened: &mut Vec<Happened>) {
        let Some(attempt) = self.tokens.remove(&token) else { return };
        let Some(running) = self.running.get_mut(&attempt) else { return };
        if let Some(mut srun) = running.srun.take() {
            let _ = srun.wait();
        }
        running.token = None;
        running.read_beat();
        let now = Instant::now();
        running.next_look = now;
        if running.beat.as_ref().is_none_or(|beat| !beat.is_last()) {
            running.doubt = Some(now);
            self.observer.look();
        }
        self.look(happened);
    }

    /// Looks at all attempts at which it is time to look.
    pub(super) fn look(&mut self, happened: &mut Vec<Happened>) {
        let now = Instant::now();
        let due: Vec<AttemptId> =
            self.running.iter().filter(|(_, running)| running.next_look <= now).map(|(attempt, _)| *attempt).collect();
        let mut signalled = Vec::new();
        let mut cancelled = Vec::new();
        let mut suspects = BTreeSet::new();
        let mut unexplained = BTreeMap::new();
        let mut silent = Vec::new();
        for attempt in due {
            let Some(running) = self.running.get_mut(&attempt) else { continue };
            // A `slurmd` that was started before a report of the agent has not ended the attempt.
            if running.read_beat()
                && running.written().is_some_and(|written| self.snapshot.begun < written)
                && let Some(started) = self.snapshot.slurmd_started(&self.places[running.place].name)
            {
                running.slurmd = Some(started.to_owned());
            }
            let is_calm = running.srun.is_some() && running.killed.is_none() && running.doubt.is_none();
            let ends = running.beat.as_ref().is_some_and(super::beat::Beat::is_last);
            if ends && running.was_interrupted() {
                running.doubt.get_or_insert(running.reported);
            }
            let waits_long = running.waits_long();
            running.next_look = now
                + match (is_calm && !ends, waits_long) {
                    (true, _) => running.calm(),
                    (false, true) => CALM,
                    (false, false) => SOON,
                };
            if let Some(after) = running.take_begin() {
                happened.push(Happened::Begun(attempt, Time(after.as_nanos() as u64)));
            }
            let place = &self.places[running.place];
            let health = place.health();
            if running.is_unexplained() && health != Health::Lost && place.answered <= running.doubt {
                unexplained.insert(running.place, running.doubt);
            }
            if let Some(end) = end_of(attempt, running, &self.snapshot, place, now) {
                if matches!(end, Happened::NotBegun(..)) {
                    suspects.insert(running.place);
                }
                self.finish(attempt);
                happened.push(end);
                continue;
            }
            let kill_after = running.kill_after;
            if running.killed.as_ref().is_some_and(|killed| killed.since.elapsed() > IMPATIENT + kill_after)
                && running.is_silent(IMPATIENT)
            {
                silent.push(attempt);
            }
            if let Some(killed) = &mut running.killed {
                let is_over = killed.since.elapsed() > POLITE + kill_after;
                let (signal, cancel) = (!killed.is_signalled, !killed.is_cancelled && is_over);
                if signal && running.beat.is_some() {
                    killed.is_signalled = true;
                    signalled.extend(running.step(&self.snapshot));
                }
                if cancel && let Some(step) = running.step(&self.snapshot) {
                    if let Some(killed) = &mut running.killed {
                        killed.is_cancelled = true;
                    }
                    cancelled.push(step);
                } else if cancel && let Some(srun) = &mut running.srun {
                    // It has not created its step, or nobody knows the step yet.
                    let _ = srun.kill();
                }
                if !waits_long {
                    self.observer_is_due(now);
                }
            } else if running.doubt.is_some() {
                self.observer_is_due(now);
            }
        }
        cancel_later(signalled, Some("TERM"));
        cancel_later(cancelled, None);
        for at in suspects {
            self.check(at);
        }
        for (at, since) in unexplained {
            self.check_after(at, since);
        }
        for attempt in silent {
            self.reap(attempt, reaper::ANYWAY);
        }
    }

    /// Requests a new snapshot, unless one was requested or taken just before.
    fn observer_is_due(&mut self, now: Instant) {
        if now.saturating_duration_since(self.snapshot.begun) > Duration::from_millis(500)
            && now.saturating_duration_since(self.looked) > Duration::from_millis(500)
        {
            self.looked = now;
            self.observer.look();
        }
    }

    /// Removes an attempt that has ended.
    pub(super) fn finish(&mut self, attempt: AttemptId) {
        let Some(mut running) = self.running.remove(&attempt) else { return };
        if running.reaped.is_some() && running.beat.as_ref().is_some_and(super::beat::Beat::is_last) {
            self.dead_steps.insert(running.name.clone());
        }
        let (usage, seen) = running.beat.as_ref().map_or((None, false), |beat| (beat.usage, beat.killed_for_memory));
        let killed_for_memory = running.killed.is_none() && (seen || says_out_of_memory(&messages(&running)));
        if usage.is_some() || killed_for_memory {
            self.used.insert(attempt, Used { usage: usage.unwrap_or_default(), killed_for_memory });
        }
        if let Some(token) = running.token {
            self.tokens.remove(&token);
        }
        super::end(&mut running.srun);
        self.free_gpus(running.place, &running.gpus);
    }

    pub(super) fn free_gpus(&mut self, place: usize, gpus: &[usize]) {
        for gpu in gpus {
            if let Some(taken) = self.places[place].gpus.get_mut(*gpu) {
                *taken = false;
            }
        }
    }
}

/// What has ended an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Blame {
    /// It is not known yet.
    Unknown,
    /// The attempt itself, or somebody who has cancelled or killed its step.
    Attempt,
    /// A fault of its node, which this text names.
    Node(String),
}

/// Returns what has ended an attempt. If its agent was killed or sent a signal, the node has to answer a check first, and Slurm to say
/// whether the node's `slurmd` still is the one that had started the step.
fn blame(running: &Running, snapshot: &Snapshot, place: &Place) -> Blame {
    let Some(doubt) = running.doubt.filter(|_| running.is_unexplained()) else { return Blame::Attempt };
    match place.answered.filter(|answered| *answered > doubt) {
        Some(answered) if snapshot.begun > answered + REGISTERED => {
            let fault = snapshot.node_fault(&place.name, running.slurmd.as_deref());
            fault.map_or(Blame::Attempt, Blame::Node)
        }
        _ => Blame::Unknown,
    }
}

/// Returns the end of an attempt; `None` while it runs or may run.
fn end_of(attempt: AttemptId, running: &Running, snapshot: &Snapshot, place: &Place, now: Instant) -> Option<Happened> {
    let health = place.health();
    let killed = running.killed.as_ref().map(|killed| killed.since);
    if let Some(beat) = running.beat.as_ref().filter(|beat| beat.is_last()) {
        // `srun` ends just after its agent; ending it earlier would leave a step behind for a moment.
        if running.srun.is_some() && running.reported.elapsed() < LINGERS {
            return None;
        }
        // Who has sent the signal? If the allocation has ended, the node is lost, and the attempt is not to blame.
        let blame = blame(running, snapshot, place);
        let is_unclear = running.was_interrupted()
            && health != Health::Lost
            && (snapshot.begun <= running.reported || health == Health::Unlisted || blame == Blame::Unknown);
        if is_unclear && running.reported.elapsed() < UNKNOWN {
            return None;
        }
        return Some(match &beat.state {
            State::Ended | State::Running if let Blame::Node(why) = blame => Happened::CutShort(attempt, why),
            State::NotBegun(what) => Happened::NotBegun(attempt, what.clone()),
            State::Stays(what) => Happened::Stays(attempt, what.clone()),
            State::Ended | State::Running => Happened::Ended(attempt),
        });
    }
    if health == Health::Lost && running.is_single {
        let is_known = killed.or(running.doubt).is_some_and(|since| snapshot.begun > since);
        return (is_known && is_surely_over(running, snapshot, place)).then_some(Happened::Ended(attempt));
    }
    if health == Health::Lost {
        return (killed.or(running.doubt)?.elapsed() > FENCED).then_some(Happened::Ended(attempt));
    }
    let is_listed = snapshot.steps.iter().any(|step| step.name == running.name);
    let since = running.doubt.or(killed.filter(|_| running.srun.is_none()))?;
    // If the allocation has ended too, the node will soon be lost, and the attempt is not to blame.
    let is_explained = killed.is_some() || health != Health::Unlisted;
    if snapshot.begun > since && !is_listed && is_explained {
        // The step may have ended between the last look at its report and the snapshot, so the report is read once more.
        let has_begun = running.beat.is_some() || super::Beat::read(running.folder.as_fd(), &running.nonce).is_some();
        let blame = blame(running, snapshot, place);
        if has_begun && blame == Blame::Unknown && since.elapsed() < UNKNOWN {
            return None;
        }
        return Some(if has_begun || killed.is_some() {
            match blame {
                Blame::Node(why) => Happened::CutShort(attempt, why),
                Blame::Unknown | Blame::Attempt => Happened::Ended(attempt),
            }
        } else {
            Happened::NotBegun(attempt, format!("Slurm did not start its step: {}", messages(running)))
        });
    }
    let is_late = killed.is_some_and(|since| now.saturating_duration_since(since) > PATIENCE + running.kill_after);
    is_late.then(|| Happened::Stays(attempt, format!("Slurm does not end its step {}", running.name)))
}

/// True if an attempt on a lost node has surely ended, as far as Slurm can say so: its node is down, its allocation has ended, or its
/// node responds and its step is gone.
pub(super) fn is_surely_over(running: &Running, snapshot: &Snapshot, place: &Place) -> bool {
    let node = snapshot.nodes.iter().find(|node| node.name == place.name);
    if node.is_some_and(SlurmNode::is_down) {
        return true;
    }
    // A controller that has lost its state may not know an allocation that goes on.
    let Some(allocation) = snapshot.allocations.iter().find(|one| Some(one.id) == running.job) else { return false };
    let is_listed = snapshot.steps.iter().any(|step| step.name == running.name);
    // An `srun` that has not started its step may still do so.
    let may_begin = running.beat.is_none() && running.srun.is_some();
    let is_gone = allocation.is_held() && node.is_some_and(SlurmNode::is_up) && !is_listed;
    allocation.is_over() || is_gone && !may_begin
}

/// True if something else than the command may have ended an attempt with this exit code: its agent was sent a signal, or was killed
/// before it could report the end, and so was the command.
pub(super) fn is_suspect(beat: &super::Beat, code: i32) -> bool {
    beat.signalled || !beat.is_last() && code > 128
}

/// Returns the messages of an attempt's `srun`.
fn messages(running: &Running) -> String {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = openat(&running.folder, LOG, flags, Mode::empty()) else { return one_line("") };
    let mut bytes = vec![0; LONGEST];
    let length = rustix::io::read(&file, &mut bytes).unwrap_or(0);
    one_line(&String::from_utf8_lossy(&bytes[..length]))
}

/// True if messages of `srun` say that Slurm has found processes of the step that were killed for memory.
fn says_out_of_memory(messages: &str) -> bool {
    let lowered = messages.to_ascii_lowercase();
    ["oom_kill event", "oom-kill event", "out_of_memory", "out of memory"].iter().any(|text| lowered.contains(text))
}

/// Signals or kills steps in a thread, and tries again for a minute while the controller does not answer.
fn cancel_later(steps: Vec<String>, signal: Option<&'static str>) {
    if steps.is_empty() {
        return;
    }
    std::thread::spawn(move || {
        for _ in 0..60 {
            if commands::cancel(&steps, signal).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_secs(1));
        }
    });
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use hindmost_core::ids::{JobId, TaskId};

    use super::super::beat::Beat;
    use super::super::commands::{Allocation, Step};
    use super::super::{Killed, Running};
    use super::*;

    const ATTEMPT: AttemptId = AttemptId { task: TaskId { job: JobId(0), phase: 0, index: 1 }, copy: 0 };

    fn running() -> (tempfile::TempDir, Running) {
        let folder = tempfile::tempdir().unwrap();
        let handle = File::open(folder.path()).unwrap();
        let place = (0, "0.1.0@x".to_owned());
        let running = Running::new(place, "7".to_owned(), (handle.into(), folder.path()), None, Vec::new());
        (folder, running)
    }

    fn snapshot(begun: Instant, is_listed: bool) -> Snapshot {
        let step = Step { job: 1, id: 2, name: "0.1.0@x".to_owned() };
        Snapshot {
            begun,
            steps: if is_listed { vec![step] } else { Vec::new() },
            allocations: Vec::new(),
            nodes: Vec::new(),
        }
    }

    /// Returns a node whose last successful check began at this time.
    fn place(health: Health, answered: Option<Instant>) -> Place {
        let mut place = Place::new("n1".to_owned(), 0);
        if health != Health::Lost {
            place.grant(1);
        }
        place.unlisted_since = (health == Health::Unlisted).then(Instant::now);
        place.answered = answered;
        place
    }

    fn beat(state: State) -> Beat {
        Beat { count: 1, state, ..Beat::first("7", 1, 2) }
    }

    #[test]
    fn slurm_says_that_a_step_was_killed_for_memory() {
        for (messages, expected) in [
            // Slurm 22.05: the node's daemon, and `srun` of a step whose state is OUT_OF_MEMORY.
            (
                "slurmstepd: error: Detected 1 oom_kill event in StepId=7.3. Some of the step tasks have been OOM Killed.\n",
                true,
            ),
            ("srun: error: n1: task 0: Out Of Memory\n", true),
            ("srun: error: n1: task 0: Killed\n", false),
            ("", false),
        ] {
            assert_eq!(says_out_of_memory(&one_line(messages)), expected, "{messages}");
        }
    }

    #[test]
    fn the_end_of_srun_alone_is_no_end() {
        let (_folder, mut running) = running();
        let now = Instant::now();
        running.beat = Some(beat(State::Running));
        running.doubt = Some(now);
        let answered = now + Duration::from_millis(1);
        let later = answered + REGISTERED + Duration::from_millis(1);
        let of = |seen: &Snapshot, health, answered| end_of(ATTEMPT, &running, seen, &place(health, answered), now);
        let (up, ended) = (Health::Up, Some(Happened::Ended(ATTEMPT)));
        assert_eq!(of(&snapshot(now, false), up, Some(answered)), None, "the snapshot is too old");
        assert_eq!(of(&snapshot(later, true), up, Some(answered)), None, "the step is listed");
        assert_eq!(of(&snapshot(later, false), up, Some(answered)), ended);
        assert_eq!(of(&snapshot(later, false), Health::Lost, Some(answered)), None, "its node is lost");
        let unlisted = of(&snapshot(later, false), Health::Unlisted, Some(answered));
        assert_eq!(unlisted, None, "its allocation may have ended");
        // Its node may have failed.
        assert_eq!(of(&snapshot(later, false), up, None), None);
        assert_eq!(of(&snapshot(later, false), up, Some(now)), None, "the check is too old");
        assert_eq!(of(&snapshot(answered + REGISTERED / 2, false), up, Some(answered)), None);
    }

    #[test]
    fn a_step_that_slurm_refused_has_not_begun() {
        let (folder, mut running) = running();
        std::fs::write(folder.path().join(LOG), "srun: error: Unable to create step: x\n").unwrap();
        let now = Instant::now();
        running.doubt = Some(now);
        let up = place(Health::Up, None);
        let end = end_of(ATTEMPT, &running, &snapshot(now + Duration::from_millis(1), false), &up, now);
        let Some(Happened::NotBegun(ATTEMPT, what)) = end else { panic!("{end:?}") };
        assert_eq!(what, "Slurm did not start its step: Unable to create step: x");
    }

    #[test]
    fn the_last_report_is_an_end() {
        let (_folder, mut running) = running();
        let now = Instant::now();
        let old = snapshot(now, true);
        for (state, end) in [
            (State::Ended, Happened::Ended(ATTEMPT)),
            (State::NotBegun("x".to_owned()), Happened::NotBegun(ATTEMPT, "x".to_owned())),
            (State::Stays("y".to_owned()), Happened::Stays(ATTEMPT, "y".to_owned())),
        ] {
            running.beat = Some(beat(state));
            assert_eq!(end_of(ATTEMPT, &running, &old, &place(Health::Up, None), now), Some(end));
        }
    }

    #[test]
    fn the_end_of_a_signalled_attempt_waits_until_slurm_says_whether_its_allocation_has_ended() {
        let (_folder, mut running) = running();
        let now = Instant::now();
        (running.reported, running.doubt) = (now, Some(now));
        running.beat = Some(Beat { signalled: true, ..beat(State::Ended) });
        let answered = now + Duration::from_millis(1);
        let newer = snapshot(answered + REGISTERED + Duration::from_millis(1), true);
        let (up, unlisted) = (place(Health::Up, Some(answered)), place(Health::Unlisted, Some(answered)));
        assert_eq!(end_of(ATTEMPT, &running, &snapshot(now, true), &up, now), None);
        assert_eq!(end_of(ATTEMPT, &running, &newer, &unlisted, now), None);
        assert_eq!(end_of(ATTEMPT, &running, &newer, &place(Health::Up, None), now), None);
        assert_eq!(end_of(ATTEMPT, &running, &newer, &up, now), Some(Happened::Ended(ATTEMPT)));
        running.killed = Some(Killed { since: now, is_signalled: true, is_cancelled: false });
        assert_eq!(end_of(ATTEMPT, &running, &snapshot(now, true), &up, now), Some(Happened::Ended(ATTEMPT)));
    }

    #[test]
    fn an_attempt_that_ends_with_its_slurmd_is_cut_short() {
        let (_folder, mut running) = running();
        let (now, started) = (Instant::now(), "2026-11-24T05:04:36");
        (running.doubt, running.slurmd) = (Some(now), Some(started.to_owned()));
        let answered = now + Duration::from_millis(1);
        let up = place(Health::Up, Some(answered));
        let seen = |slurmd: &str, state: &str| {
            let mut seen = snapshot(answered + REGISTERED + Duration::from_millis(1), false);
            let line = format!("NodeName=n1 CPUTot=1 RealMemory=1 State={state} SlurmdStartTime={slurmd}");
            seen.nodes.extend(SlurmNode::parse(&line));
            seen
        };
        for signalled in [false, true] {
            let state = if signalled { State::Ended } else { State::Running };
            running.beat = Some(Beat { signalled, ..beat(state) });
            running.reported = now;
            let end = |seen: &Snapshot| end_of(ATTEMPT, &running, seen, &up, now);
            assert_eq!(end(&seen(started, "IDLE")), Some(Happened::Ended(ATTEMPT)));
            for other in [seen("2026-11-24T06:00:00", "IDLE"), seen(started, "DOWN*")] {
                let Some(Happened::CutShort(ATTEMPT, why)) = end(&other) else { panic!("{signalled}") };
                assert!(why.contains("node n1"), "{why}");
            }
        }
    }

    #[test]
    fn a_command_that_ends_by_itself_is_to_blame() {
        let signalled = Beat { signalled: true, ..beat(State::Ended) };
        assert!(is_suspect(&signalled, 143) && is_suspect(&signalled, 1));
        assert!(!is_suspect(&beat(State::Ended), 143), "its agent was not sent a signal");
        assert!(is_suspect(&beat(State::Running), 137) && !is_suspect(&beat(State::Running), 1));
    }

    #[test]
    fn attempts_on_a_lost_node_end_when_slurm_says_so() {
        let (_folder, mut running) = running();
        let killed = Instant::now().checked_sub(FENCED * 2).unwrap();
        running.killed = Some(Killed { since: killed, is_signalled: true, is_cancelled: true });
        let lost = place(Health::Lost, None);
        let seen = |node: &str, allocation: Option<&str>, is_listed| {
            let mut seen = snapshot(Instant::now(), is_listed);
            seen.nodes.extend(SlurmNode::parse(&format!("NodeName=n1 CPUTot=1 RealMemory=1 State={node}")));
            seen.allocations.extend(allocation.map(|state| Allocation {
                id: 5,
                state: state.to_owned(),
                reason: String::new(),
                nodes: "n1".to_owned(),
                comment: String::new(),
            }));
            seen
        };
        let ends = |running: &Running, seen: &Snapshot| end_of(ATTEMPT, running, seen, &lost, Instant::now()).is_some();
        assert!(ends(&running, &seen("ALLOCATED*", Some("RUNNING"), true)), "it may run twice");
        running.is_single = true;
        assert!(!ends(&running, &seen("IDLE", None, false)), "its allocation is not known");
        running.job = Some(5);
        for (node, allocation, is_listed, is_over) in [
            ("ALLOCATED*", Some("RUNNING"), true, false),
            ("ALLOCATED*", Some("RUNNING"), false, false),
            ("ALLOCATED*", Some("COMPLETING"), false, false),
            ("IDLE", None, false, false),
            ("DOWN*", Some("RUNNING"), true, true),
            ("ALLOCATED", Some("RUNNING"), true, false),
            ("ALLOCATED", Some("RUNNING"), false, true),
            ("ALLOCATED*", Some("CANCELLED"), true, true),
            ("ALLOCATED*", Some("NODE_FAIL"), true, true),
        ] {
            let seen = seen(node, allocation, is_listed);
            assert_eq!(ends(&running, &seen), is_over, "{node}, {allocation:?}, {is_listed}");
        }
        let old = Snapshot { begun: killed.checked_sub(SOON).unwrap(), ..seen("DOWN", None, false) };
        assert!(!ends(&running, &old), "the snapshot is older than the loss");
        running.beat = Some(beat(State::Ended));
        assert!(ends(&running, &seen("ALLOCATED*", Some("RUNNING"), true)), "its agent has reported its end");
    }

    #[test]
    fn a_killed_attempt_that_does_not_end_is_reported() {
        let (_folder, mut running) = running();
        let now = Instant::now();
        running.beat = Some(beat(State::Running));
        running.killed = Some(Killed { since: now, is_signalled: true, is_cancelled: true });
        let (listed, up) = (snapshot(now + Duration::from_millis(1), true), place(Health::Up, None));
        assert_eq!(end_of(ATTEMPT, &running, &listed, &up, now), None);
        let late = end_of(ATTEMPT, &running, &listed, &up, now + PATIENCE + Duration::from_secs(1));
        assert!(matches!(late, Some(Happened::Stays(ATTEMPT, _))), "{late:?}");
    }
}
