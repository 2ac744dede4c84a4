//! Folders in which runs are begun, die and are resumed, each time by a new driver.

use std::cell::Cell;
use std::path::PathBuf;
use std::rc::Rc;

use hindmost_run::driver::{RunError, RunOutcome};
use hindmost_run::engine::{Engine, Launch};
use hindmost_run::job_file::Plan;
use tempfile::TempDir;

use crate::checked_engine::CheckedEngine;
use crate::crashes::{ProcessRun, run_until_death};
use crate::fake_engine::FakeTask;
use crate::test_run::{Messages, TestRun, new_folder, scratch, takes};

/// A job with its output folder.
pub struct Place {
    pub test_run: TestRun,
    pub plan: Plan,
    pub out: PathBuf,
    folder: Rc<TempDir>,
}

impl TestRun {
    /// Creates a place for this job.
    pub fn place(self) -> Place {
        let folder = scratch();
        let (plan, out) = (self.plan(folder.path()), new_folder(folder.path(), "out"));
        Place { test_run: self, plan, out, folder: Rc::new(folder) }
    }
}

impl Place {
    /// Returns a place for the same job with another output folder, which is new.
    pub fn another(&self, number: usize) -> Place {
        let out = new_folder(self.folder.path(), &number.to_string());
        Place { test_run: self.test_run.clone(), plan: self.plan.clone(), out, folder: Rc::clone(&self.folder) }
    }

    /// Returns the same place for another job.
    pub fn with(&self, test_run: TestRun) -> Place {
        let plan = test_run.plan(self.folder.path());
        Place { test_run, plan, out: self.out.clone(), folder: Rc::clone(&self.folder) }
    }

    /// Returns an engine for a driver.
    pub fn engine(&self) -> CheckedEngine {
        self.test_run.checked_engine(&self.plan, &self.out)
    }

    fn is_begun(&self) -> bool {
        self.out.join(".hindmost").exists()
    }

    /// Begins the run, or resumes it.
    pub fn run(&self) -> RunOutcome {
        self.run_on(&mut self.engine())
    }

    pub fn run_on(&self, engine: &mut CheckedEngine) -> RunOutcome {
        self.try_on(engine).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Begins or resumes the run, and returns the messages too.
    pub fn run_with_messages(&self, engine: &mut dyn Engine) -> (RunOutcome, Vec<String>) {
        let mut messages = Messages::default();
        let outcome = self.test_run.run_with_follower(&self.plan, &self.out, self.is_begun(), engine, &mut messages);
        (outcome.unwrap(), messages.0)
    }

    pub fn try_on(&self, engine: &mut CheckedEngine) -> Result<RunOutcome, RunError> {
        self.test_run.run_in(&self.plan, &self.out, self.is_begun(), engine)
    }

    /// Begins or resumes the run with a driver that may die. With `lossy`, journal lines that it had not passed on are lost.
    pub fn run_until_death(&self, engine: &mut CheckedEngine, lossy: bool) -> ProcessRun {
        run_until_death(&self.test_run, &self.plan, &self.out, self.is_begun(), engine, lossy)
    }

    /// Begins or resumes the run with a driver that dies at this call to its engine. Returns the engine of the next driver.
    pub fn dies_at(&self, call: usize, lossy: bool) -> CheckedEngine {
        let mut engine = self.engine();
        engine.dies_after = Some(call);
        let ProcessRun::Died(left) = self.run_until_death(&mut engine, lossy) else {
            panic!("the driver lived at call {call}")
        };
        let mut next = self.engine();
        next.orphans = left;
        next
    }
}

/// Returns a switch and what attempts do: as `broken` says until the switch is set. Then they take a second.
pub fn mended(broken: fn(&Launch<'_>) -> FakeTask) -> (Rc<Cell<bool>>, impl Fn(&Launch<'_>) -> FakeTask + Clone) {
    let works = Rc::new(Cell::new(false));
    let is_mended = Rc::clone(&works);
    (works, move |launch: &Launch<'_>| if is_mended.get() { takes(1.0) } else { broken(launch) })
}
