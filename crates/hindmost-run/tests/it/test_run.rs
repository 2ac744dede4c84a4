//! A builder of test runs:
//!
//! ```ignore
//! TestRun::on("n1:2,n2:2").phase("map", 12).phase("reduce", 2).policy("pace").run().done();
//! ```

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::journal::{Header, JournalReader};
use hindmost_core::metrics::{PhaseProgress, RunState};
use hindmost_core::policy::Policy;
use hindmost_core::record::Record;
use hindmost_core::testing::Ledger;
use hindmost_core::timeline::{AttemptEnd, Timeline, TimelineRow};
use hindmost_core::verify::{Difference, Verified, verify};
use hindmost_policies::catalogue;
use hindmost_run::driver::{self, Follower, RunError, RunOptions, RunOutcome, Unfollowed};
use hindmost_run::engine::{Engine, Launch, NodeOffer, Speeds, Used, give_speeds, parse_nodes};
use hindmost_run::job_file::{self, Plan};
use hindmost_run::store::{Opened, Opening, Store, StoreError};
use tempfile::TempDir;

use crate::checked_engine::{CheckedEngine, Rules};
use crate::fake_engine::{FakeEngine, FakeTask, Reported};
use crate::place::Place;

/// A function that decides what an attempt does when it is started.
type Behaviour = Rc<dyn Fn(&Launch<'_>) -> FakeTask>;

/// The messages that a follower has received.
#[derive(Default)]
pub struct Messages(pub Vec<String>);

impl Follower for Messages {
    fn phases(&mut self, _phases: &[PhaseProgress], _elapsed: Duration) {}

    fn message(&mut self, line: &str) {
        self.0.push(line.to_owned());
    }
}

/// Describes a run: its nodes, phases and policy, and what its attempts do.
#[derive(Clone, Default)]
pub struct TestRun {
    nodes: String,
    /// Names of nodes and features that they have.
    features: Vec<(String, String)>,
    speeds: Speeds,
    /// Name, number of tasks, and further lines of each phase in the job file.
    phases: Vec<(String, u32, String)>,
    /// Sizes of the input files of the phases that have some, in bytes.
    inputs: Vec<u64>,
    options: RunOptions,
    /// `None`: attempts take 10 s.
    behaviour: Option<Behaviour>,
    /// Builds a policy that is not in the catalogue; `None` for a policy of the catalogue.
    own: Option<fn() -> Policy>,
    /// Further lines at the beginning of the job file.
    keys: String,
    /// How often the user has stopped the run.
    pub stop_requests: Rc<AtomicU32>,
    /// Multiple of the median duration that attempts of any phase may take.
    time_limit_of_median: Option<f64>,
}

impl fmt::Debug for TestRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TestRun { nodes, phases, options, .. } = self;
        write!(f, "on {nodes}, {phases:?}, {options:?}")
    }
}

/// Returns an attempt that reports its progress and succeeds after this many seconds.
pub fn takes(seconds: f64) -> FakeTask {
    FakeTask {
        seconds,
        exit: Some(0),
        reports: true,
        reported: Reported::Power(1),
        blocks: 0,
        hangs: 0.0,
        begins: 0.0,
        memory: 0,
        used: Used::default(),
    }
}

/// Returns an attempt that reports no progress and succeeds after this many seconds.
pub fn silently(seconds: f64) -> FakeTask {
    FakeTask { reports: false, ..takes(seconds) }
}

/// Returns an attempt that reads this many blocks of its input, takes this many seconds for each and succeeds.
pub fn reads(blocks: u32, seconds: f64) -> FakeTask {
    FakeTask { blocks, ..silently(f64::from(blocks) * seconds) }
}

/// Returns an attempt that reports its progress and fails with exit code 3 after this many seconds.
pub fn fails(seconds: f64) -> FakeTask {
    FakeTask { exit: Some(3), ..takes(seconds) }
}

/// Returns an attempt that ends without an end marker after this many seconds.
pub fn vanishes(seconds: f64) -> FakeTask {
    FakeTask { exit: None, ..takes(seconds) }
}

/// Creates a temporary folder, in memory if possible, so that syncing is fast.
pub fn scratch() -> TempDir {
    let shared = Path::new("/dev/shm");
    tempfile::tempdir_in(shared).or_else(|_| tempfile::tempdir()).unwrap()
}

/// Creates a folder in another one and returns its path without links.
pub fn new_folder(folder: &Path, name: &str) -> PathBuf {
    let out = folder.join(name);
    fs::create_dir(&out).unwrap();
    out.canonicalize().unwrap()
}

/// Returns the name of an attempt in these tests, which it also writes into its output.
pub fn key(attempt: AttemptId) -> String {
    format!("{}/{}/{}", attempt.task.phase, attempt.task.index, attempt.copy)
}

impl TestRun {
    /// Creates a run on nodes such as `n1:2,n2:2`. By default attempts take 10 s.
    pub fn on(nodes: &str) -> TestRun {
        TestRun { nodes: nodes.to_owned(), ..TestRun::default() }
    }

    /// Creates a run on this many nodes of one cpu, named n1, n2 and so on.
    pub fn on_nodes(count: u32) -> TestRun {
        TestRun::on(&(1..=count).map(|node| format!("n{node}:1")).collect::<Vec<_>>().join(","))
    }

    /// Gives a node features, such as `ssd,big`.
    pub fn features(mut self, node: &str, features: &str) -> TestRun {
        self.features.extend(features.split(',').map(|name| (node.to_owned(), name.to_owned())));
        self
    }

    /// Gives the nodes of this name or feature a speed.
    pub fn speed(mut self, name: &str, speed: f64) -> TestRun {
        self.speeds.insert(name.to_owned(), speed);
        self
    }

    /// Returns the nodes with their features and speeds.
    pub fn offers(&self) -> Vec<NodeOffer> {
        let mut nodes = parse_nodes(Some(&self.nodes)).unwrap();
        for node in &mut nodes {
            let own = self.features.iter().filter(|(name, _)| *name == node.name);
            node.features = own.map(|(_, feature)| feature.clone()).collect();
        }
        give_speeds(&mut nodes, &self.speeds).unwrap();
        nodes
    }

    /// Adds a phase of this many tasks, which starts after the phase that was added before.
    pub fn phase(self, name: &str, tasks: u32) -> TestRun {
        self.phase_with(name, tasks, "")
    }

    /// Adds a phase with more lines for the job file.
    pub fn phase_with(mut self, name: &str, tasks: u32, keys: &str) -> TestRun {
        self.phases.push((name.to_owned(), tasks, keys.to_owned()));
        self
    }

    /// Adds a phase of a task for each of these input files, whose sizes are in bytes.
    pub fn phase_of_files(self, name: &str, sizes: &[u64]) -> TestRun {
        let tasks = sizes.len() as u32;
        TestRun { inputs: sizes.into(), ..self.phase_with(name, tasks, "inputs = \"inputs/*\"") }
    }

    pub fn policy(mut self, policy: &str) -> TestRun {
        self.options.policy = Some(policy.parse().unwrap());
        self
    }

    /// Sets a policy that is not in the catalogue. The journal names another policy.
    pub fn own_policy(mut self, policy: fn() -> Policy) -> TestRun {
        self.own = Some(policy);
        self
    }

    /// Sets further lines at the beginning of the job file.
    pub fn keys(mut self, keys: &str) -> TestRun {
        keys.clone_into(&mut self.keys);
        self
    }

    /// Sets the folder with the machine's energy counters.
    pub fn powercap(mut self, folder: &Path) -> TestRun {
        self.options.powercap = Some(folder.to_owned());
        self
    }

    /// Tries tasks again that had failed as their phases allow.
    pub fn retry_failed(mut self) -> TestRun {
        self.options.retry_failed = true;
        self
    }

    /// Limits the time of attempts to this multiple of the median duration of their phase's finished tasks.
    pub fn time_limit_of_median(mut self, multiple: f64) -> TestRun {
        self.time_limit_of_median = Some(multiple);
        self
    }

    pub fn knowledge(mut self, knowledge: &str) -> TestRun {
        self.options.knowledge = Some(knowledge.parse().unwrap());
        self
    }

    pub fn chaos(mut self, chaos: &str) -> TestRun {
        self.options.chaos = chaos.parse().unwrap();
        self
    }

    /// Sets what each attempt does when it is started.
    pub fn behaviour(mut self, behaviour: impl Fn(&Launch<'_>) -> FakeTask + 'static) -> TestRun {
        self.behaviour = Some(Rc::new(behaviour));
        self
    }

    /// Returns the plan of the job, with its job file in this folder.
    pub fn plan(&self, folder: &Path) -> Plan {
        let mut text = format!("name = \"test_run\"\n{}\n", self.keys);
        let mut before: Vec<String> = Vec::new();
        for (index, bytes) in self.inputs.iter().enumerate() {
            fs::create_dir_all(folder.join("inputs")).unwrap();
            fs::File::create(folder.join(format!("inputs/{index:05}"))).unwrap().set_len(*bytes).unwrap();
        }
        for (name, tasks, keys) in &self.phases {
            let tasks = if keys.contains("inputs = ") { String::new() } else { format!("tasks = {tasks}\n") };
            text += &format!("[[phase]]\nname = {name:?}\n{tasks}command = \"true\"\nafter = {before:?}\n{keys}\n");
            before = vec![name.clone()];
        }
        let mut plan = job_file::parse(&text, &folder.join("test_run.toml"), folder).unwrap();
        for phase in &mut plan.phases {
            phase.time_limit_of_median = self.time_limit_of_median;
        }
        plan
    }

    /// Returns the engine for a run in this folder.
    pub fn checked_engine(&self, plan: &Plan, out: &Path) -> CheckedEngine {
        let behaviour = self.behaviour.clone().unwrap_or_else(|| Rc::new(|_| takes(10.0)));
        let fake = FakeEngine::new(self.offers(), move |launch| {
            fs::write(launch.folder.join("out/by"), key(launch.attempt)).unwrap();
            behaviour(launch)
        });
        let phases = plan.phases.iter().map(|phase| phase.name.clone()).collect();
        let copied = plan.phases.iter().map(|phase| phase.idempotent).collect();
        CheckedEngine::new(fake, Rules { folder: out.to_owned(), phases, copied })
    }

    /// Runs or resumes the job with this engine in this folder.
    pub fn run_in(
        &self,
        plan: &Plan,
        out: &Path,
        resume: bool,
        checked_engine: &mut CheckedEngine,
    ) -> Result<RunOutcome, RunError> {
        self.run_with_follower(plan, out, resume, checked_engine, &mut Unfollowed)
    }

    /// Runs or resumes the job like [`TestRun::run_in`], with a follower.
    pub fn run_with_follower(
        &self,
        plan: &Plan,
        out: &Path,
        resume: bool,
        engine: &mut dyn Engine,
        follower: &mut dyn Follower,
    ) -> Result<RunOutcome, RunError> {
        let store = open(plan, out, resume)?;
        let own = self.own.map(|own| own());
        driver::run_under(own, &self.options, store, engine, &self.stop_requests, follower)
    }

    /// Runs the job and returns the messages that the follower receives.
    pub fn messages(self) -> Vec<String> {
        let place = self.place();
        place.run_with_messages(&mut place.engine()).1
    }

    /// Runs the job until it is done or has failed, and checks the run.
    pub fn run(&self) -> FinishedRun {
        let place = self.clone().place();
        let outcome = place.try_on(&mut place.engine()).unwrap_or_else(|error| {
            panic!("with {:?}: {error}\n{}", self.options.policy, journal_text(&place.out));
        });
        let finished = FinishedRun { place, outcome };
        finished.is_sound(self.own);
        finished
    }
}

pub fn open(plan: &Plan, out: &Path, resume: bool) -> Result<Opened, StoreError> {
    Store::open(out, plan, &Opening { resume, ..Opening::default() })
}

/// Returns the text of the journal in this folder.
pub fn journal_text(out: &Path) -> String {
    fs::read_to_string(out.join(".hindmost/journal.jsonl")).unwrap_or_default()
}

/// Returns every task of a job.
pub fn tasks(plan: &Plan) -> impl Iterator<Item = TaskId> + '_ {
    plan.phases.iter().enumerate().flat_map(|(phase, planned)| {
        (0..planned.tasks).map(move |index| TaskId { job: JobId(0), phase: phase as u32, index })
    })
}

/// Returns the path of a task's result.
pub fn result(plan: &Plan, out: &Path, task: TaskId) -> PathBuf {
    out.join(&plan.phases[task.phase as usize].name).join(task.index.to_string())
}

/// Returns the sorted names in a folder.
pub fn entries(folder: &Path) -> Vec<String> {
    let found = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut names: Vec<String> = found.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Returns the header of the journal in this folder.
fn header(out: &Path) -> Header {
    JournalReader::new(journal_text(out).as_bytes()).unwrap().header().clone()
}

/// Returns the records of the journal in this folder.
pub fn records(out: &Path) -> Vec<Record> {
    JournalReader::new(journal_text(out).as_bytes()).unwrap().map(Result::unwrap).collect()
}

/// Checks that replaying a journal gives the same decisions.
pub fn verified(out: &Path) -> Verified {
    verified_as(out, records(out), None).unwrap_or_else(|difference| panic!("{difference}\n{}", journal_text(out)))
}

/// Returns whether replaying these records of a run in this folder gives the same decisions.
pub fn verified_as(out: &Path, records: Vec<Record>, own: Option<fn() -> Policy>) -> Result<Verified, Difference> {
    let header = header(out);
    let named = || catalogue::session_of(&header).unwrap();
    let session = own.map_or_else(named, |own| catalogue::session_under(own(), &header));
    verify(session, header.is_live(), records)
}

/// Checks the invariants of a run that has ended in this folder.
pub fn is_sound(plan: &Plan, out: &Path, timeline: &Timeline) {
    verified(out);
    is_tidy(plan, out, timeline);
}

/// Checks the invariants of [`is_sound`] that do not concern the journal.
fn is_tidy(plan: &Plan, out: &Path, timeline: &Timeline) {
    assert_eq!(entries(&out.join(".hindmost/attempts")), [""; 0], "folders of attempts are left");
    for (at, phase) in plan.phases.iter().enumerate() {
        let won = |row: &&TimelineRow| row.outcome == AttemptEnd::Won && row.attempt.task.phase == at as u32;
        let mut winners: Vec<String> =
            timeline.rows.iter().filter(won).map(|row| row.attempt.task.index.to_string()).collect();
        winners.sort();
        assert_eq!(entries(&out.join(&phase.name)), winners, "results and winners of {} differ", phase.name);
    }
    let ledger = Ledger::of(header(out).dimensions, &records(out));
    // A job that fails takes its reservations with it.
    if timeline.jobs.iter().all(|job| job.finish.is_some()) {
        ledger.has_freed_all();
    } else {
        ledger.has_ended_all();
    }
    assert!(ledger.late.is_empty(), "{:?} finished after the winners of their tasks", ledger.late);
}

/// A run that has ended, with its folder.
pub struct FinishedRun {
    pub place: Place,
    pub outcome: RunOutcome,
}

impl FinishedRun {
    fn is_sound(&self, own: Option<fn() -> Policy>) {
        let verified = verified_as(&self.place.out, records(&self.place.out), own);
        assert!(verified.is_ok(), "{}\n{}", verified.unwrap_err(), journal_text(&self.place.out));
        is_tidy(&self.place.plan, &self.place.out, &self.outcome.timeline);
        let summary = &self.outcome.summary;
        assert_eq!(summary.tasks, self.place.plan.tasks());
        assert_eq!(summary.attempts, self.outcome.timeline.rows.len() as u64);
        for row in self.outcome.timeline.rows.iter().filter(|row| row.outcome == AttemptEnd::Won) {
            let by =
                fs::read_to_string(result(&self.place.plan, &self.place.out, row.attempt.task).join("by")).unwrap();
            assert_eq!(by, key(row.attempt), "another attempt made the result");
        }
        for (at, phase) in self.place.plan.phases.iter().enumerate().filter(|(_, phase)| !phase.idempotent) {
            for index in 0..phase.tasks {
                let task = TaskId { job: JobId(0), phase: at as u32, index };
                let rows: Vec<_> = self.outcome.timeline.attempts_of(task).collect();
                let apart = rows.windows(2).all(|pair| pair[0].end <= pair[1].start);
                assert!(apart, "{task} may not be copied, but was: {rows:?}");
            }
        }
    }

    /// Checks that every task has its result.
    pub fn done(self) -> FinishedRun {
        let summary = &self.outcome.summary;
        assert_eq!(summary.state, RunState::Done, "{summary:?}");
        assert!(summary.failed_tasks.is_empty());
        for task in tasks(&self.place.plan) {
            let won = self.outcome.timeline.attempts_of(task).filter(|row| row.outcome == AttemptEnd::Won);
            assert_eq!(won.count(), 1, "winners of {task}");
        }
        self
    }

    /// Returns how the attempts of a task ended.
    pub fn ends(&self, phase: u32, index: u32) -> Vec<AttemptEnd> {
        let task = TaskId { job: JobId(0), phase, index };
        self.outcome.timeline.attempts_of(task).map(|row| row.outcome.clone()).collect()
    }

    /// Returns the names of the nodes of a task's attempts, in the order of their starts.
    pub fn nodes_of(&self, phase: u32, index: u32) -> Vec<String> {
        let task = TaskId { job: JobId(0), phase, index };
        let timeline = &self.outcome.timeline;
        timeline.attempts_of(task).map(|row| timeline.node_name(row.node).to_owned()).collect()
    }

    /// Returns the flowtime (job completion time) in seconds.
    pub fn flowtime(&self) -> f64 {
        self.outcome.summary.flowtime
    }

    /// Returns the number of copies that were started while another copy of their task ran.
    pub fn copies(&self) -> u64 {
        self.outcome.summary.copies.launched
    }

    /// Returns the seconds from an attempt's start to its end.
    pub fn seconds(row: &TimelineRow) -> f64 {
        (row.end - row.start).seconds()
    }
}
