//! The engine of these tests: a [`FakeEngine`] that checks the driver's calls.
//!
//! Checks: the driver starts no attempt that is running already, no second attempt of a task that may not be copied, and no
//! attempt of a task that has its result. The engine also knows the attempts that an earlier driver has left running. They
//! may be adopted or killed.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::panic::resume_unwind;
use std::path::PathBuf;

use hindmost_core::ids::{AttemptId, NodeId};
use hindmost_core::time::Time;
use hindmost_run::engine::{Engine, Happened, Launch, NodeOffer, RunIdentity, Used};

use crate::fake_engine::FakeEngine;

/// The facts about a job that the engine's checks need.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Path of the run's folder.
    pub folder: PathBuf,
    /// Names of the phases.
    pub phases: Vec<String>,
    /// For each phase, whether its tasks may have two copies at a time.
    pub copied: Vec<bool>,
}

/// An attempt that was started.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Started {
    pub attempt: AttemptId,
    pub node: NodeId,
    pub at: Time,
}

/// The payload of the panic with which a driver dies.
pub struct Died;

/// A [`FakeEngine`] that checks the driver's calls.
pub struct CheckedEngine {
    inner: FakeEngine,
    rules: Rules,
    /// Attempts that an earlier driver has left running.
    pub orphans: BTreeSet<AttemptId>,
    /// Running attempts, and whether each one was killed and has not ended yet.
    running: BTreeMap<AttemptId, bool>,
    /// All started attempts, in the order of their starts.
    pub started: Vec<Started>,
    /// All adopted attempts, in the order of their adoption.
    pub adopted: Vec<AttemptId>,
    /// All attempts that were killed.
    pub killed: BTreeSet<AttemptId>,
    /// Number of calls to this engine after which the driver dies; `None` if it does not die.
    pub dies_after: Option<usize>,
    /// Number of calls to this engine so far.
    calls: usize,
    /// Numbers of the calls that started, killed or adopted attempts, and of the first calls after attempts had ended.
    pub moments: Vec<usize>,
    ended: bool,
    /// Length of the journal's file in bytes when the driver died.
    pub journal: u64,
}

impl CheckedEngine {
    pub fn new(inner: FakeEngine, rules: Rules) -> CheckedEngine {
        CheckedEngine {
            inner,
            rules,
            orphans: BTreeSet::new(),
            running: BTreeMap::new(),
            started: Vec::new(),
            adopted: Vec::new(),
            killed: BTreeSet::new(),
            dies_after: None,
            calls: 0,
            moments: Vec::new(),
            ended: false,
            journal: 0,
        }
    }

    /// Returns the attempts that would still run if the driver died now.
    pub fn running_attempts(&self) -> BTreeSet<AttemptId> {
        let running = self.running.iter().filter(|(_, killed)| !**killed).map(|(attempt, _)| *attempt);
        running.chain(self.orphans.iter().copied()).collect()
    }

    fn call(&mut self, is_moment: bool) {
        if is_moment || self.ended {
            self.moments.push(self.calls);
        }
        self.ended = false;
        self.calls += 1;
        if self.dies_after.is_some_and(|calls| self.calls > calls) {
            let journal = self.rules.folder.join(".hindmost/journal.jsonl");
            self.journal = std::fs::metadata(journal).map_or(0, |found| found.len());
            resume_unwind(Box::new(Died));
        }
    }

    fn may_enter(&self, attempt: AttemptId) {
        let running = || self.running.iter().filter(|(_, killed)| !**killed).map(|(attempt, _)| *attempt);
        let everything = running().chain(self.orphans.iter().copied());
        for other in everything.filter(|other| other.task == attempt.task) {
            assert_ne!(other, attempt, "an attempt is started while it is running");
            let copied = self.rules.copied[attempt.task.phase as usize];
            assert!(copied, "{attempt} is started while {other} runs, but their task may not be copied");
        }
        assert!(!self.running.contains_key(&attempt), "{attempt} is started a second time before it has ended");
    }

    fn may_start(&self, attempt: AttemptId) {
        self.may_enter(attempt);
        let phase = &self.rules.phases[attempt.task.phase as usize];
        let result = self.rules.folder.join(phase).join(attempt.task.index.to_string());
        assert!(!result.exists(), "{attempt} is started, but its task has its result");
    }
}

impl Engine for CheckedEngine {
    fn nodes(&self) -> &[NodeOffer] {
        self.inner.nodes()
    }

    fn now(&self) -> Time {
        self.inner.now()
    }

    fn resume_at(&mut self, at: Time) {
        self.inner.resume_at(at);
    }

    fn start(&mut self, launch: &Launch<'_>) -> std::io::Result<()> {
        self.call(true);
        self.may_start(launch.attempt);
        self.inner.start(launch)?;
        self.running.insert(launch.attempt, false);
        self.started.push(Started { attempt: launch.attempt, node: launch.node, at: self.inner.now() });
        self.call(true);
        Ok(())
    }

    fn has_begun(&self, attempt: AttemptId) -> bool {
        self.inner.has_begun(attempt)
    }

    fn adopt(&mut self, launch: &Launch<'_>) -> bool {
        self.call(true);
        if !self.orphans.remove(&launch.attempt) {
            return false;
        }
        self.may_enter(launch.attempt);
        self.inner.start(launch).unwrap();
        self.running.insert(launch.attempt, false);
        self.adopted.push(launch.attempt);
        true
    }

    fn can_freeze(&self) -> bool {
        true
    }

    fn kill_strays_but(&mut self, _run: &RunIdentity, kept: &HashSet<AttemptId>) -> Vec<String> {
        self.call(true);
        self.orphans.retain(|orphan| kept.contains(orphan));
        Vec::new()
    }

    fn kill(&mut self, attempt: AttemptId) {
        self.call(true);
        self.inner.kill(attempt);
        if let Some(killed) = self.running.get_mut(&attempt) {
            *killed = true;
            self.killed.insert(attempt);
        }
    }

    fn read_share(&self, attempt: AttemptId) -> Option<f64> {
        self.inner.read_share(attempt)
    }

    fn memory(&mut self, attempt: AttemptId) -> Option<u64> {
        self.inner.memory(attempt)
    }

    fn take_used(&mut self, attempt: AttemptId) -> Option<Used> {
        self.inner.take_used(attempt)
    }

    fn wait(&mut self, until: Time, happened: &mut Vec<Happened>) {
        self.call(false);
        self.inner.wait(until, happened);
        self.ended = !happened.is_empty();
        for happened in happened.iter() {
            match happened {
                Happened::Begun(..) => {}
                Happened::Ended(attempt) => _ = self.running.remove(attempt),
                other => panic!("{other:?} does not happen here"),
            }
        }
    }
}
