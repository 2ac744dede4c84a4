//! Runs told in a few words:
//!
//! ```ignore
//! Story::on("n1:2,n2:2").phase("map", 12).phase("reduce", 2).policy("pace").run().done();
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::journal::JournalReader;
use hindmost_core::metrics::{PhaseProgress, RunState};
use hindmost_core::policy::Policy;
use hindmost_core::record::Record;
use hindmost_core::timeline::{AttemptEnd, Timeline, TimelineRow};
use hindmost_core::verify::{Difference, Verified, verify};
use hindmost_policies::catalogue;
use hindmost_run::driver::{self, Follower, RunError, RunOptions, RunOutcome, Unfollowed};
use hindmost_run::engine::{Launch, parse_nodes};
use hindmost_run::job_file::{self, Plan};
use hindmost_run::store::{Opened, Opening, Store, StoreError};
use tempfile::TempDir;

use crate::fake_engine::{FakeEngine, FakeTask};
use crate::world::{Rules, World};

/// What attempts do.
type Plays = Rc<dyn Fn(&Launch<'_>) -> FakeTask>;

/// A run that is to be told. See the module's documentation.
#[derive(Clone)]
pub struct Story {
    nodes: String,
    phases: Vec<(String, u32, String)>,
    policy: Option<String>,
    knowledge: Option<String>,
    chaos: String,
    plays: Plays,
    /// A policy that the catalogue does not have.
    own: Option<fn() -> Policy>,
}

impl fmt::Debug for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Story { nodes, phases, policy, knowledge, chaos, .. } = self;
        write!(f, "{policy:?} knowing {knowledge:?} on {nodes}, {phases:?}, chaos {chaos:?}")
    }
}

/// An attempt that reports its progress and ends well after so many seconds.
pub fn takes(seconds: f64) -> FakeTask {
    FakeTask { seconds, exit: Some(0), reports: true }
}

/// One that says nothing of its progress.
pub fn silently(seconds: f64) -> FakeTask {
    FakeTask { reports: false, ..takes(seconds) }
}

/// One that fails.
pub fn fails(seconds: f64) -> FakeTask {
    FakeTask { exit: Some(3), ..takes(seconds) }
}

/// One that ends without an end marker.
pub fn vanishes(seconds: f64) -> FakeTask {
    FakeTask { exit: None, ..takes(seconds) }
}

/// A folder in which syncing costs nothing, where there is one.
pub fn scratch() -> TempDir {
    let shared = Path::new("/dev/shm");
    tempfile::tempdir_in(shared).or_else(|_| tempfile::tempdir()).unwrap()
}

/// An attempt as these tests name it, which is also what it writes into its output.
pub fn key(attempt: AttemptId) -> String {
    format!("{}/{}/{}", attempt.task.phase, attempt.task.index, attempt.copy)
}

impl Story {
    /// On nodes such as `n1:2,n2:2`. Attempts take 10 s unless told.
    pub fn on(nodes: &str) -> Story {
        Story {
            nodes: nodes.to_owned(),
            phases: Vec::new(),
            policy: None,
            knowledge: None,
            chaos: String::new(),
            plays: Rc::new(|_| takes(10.0)),
            own: None,
        }
    }

    /// On so many nodes of one cpu, n1 and so on.
    pub fn on_nodes(count: u32) -> Story {
        Story::on(&(1..=count).map(|node| format!("n{node}:1")).collect::<Vec<_>>().join(","))
    }

    /// Another phase of so many tasks, after those before it.
    pub fn phase(self, name: &str, tasks: u32) -> Story {
        self.phase_with(name, tasks, "")
    }

    /// One with further keys.
    pub fn phase_with(mut self, name: &str, tasks: u32, keys: &str) -> Story {
        self.phases.push((name.to_owned(), tasks, keys.to_owned()));
        self
    }

    pub fn policy(mut self, policy: &str) -> Story {
        self.policy = Some(policy.to_owned());
        self
    }

    /// Under a policy that the catalogue does not have; the journal names another.
    pub fn own_policy(mut self, policy: fn() -> Policy) -> Story {
        self.own = Some(policy);
        self
    }

    pub fn knowledge(mut self, knowledge: &str) -> Story {
        self.knowledge = Some(knowledge.to_owned());
        self
    }

    pub fn chaos(mut self, chaos: &str) -> Story {
        chaos.clone_into(&mut self.chaos);
        self
    }

    /// What an attempt does when it is started.
    pub fn plays(mut self, plays: impl Fn(&Launch<'_>) -> FakeTask + 'static) -> Story {
        self.plays = Rc::new(plays);
        self
    }

    /// The job, whose file is in this folder.
    pub fn plan(&self, folder: &Path) -> Plan {
        let mut text = "name = \"story\"\n".to_owned();
        let mut before: Vec<String> = Vec::new();
        for (name, tasks, keys) in &self.phases {
            text += &format!(
                "[[phase]]\nname = {name:?}\ntasks = {tasks}\ncommand = \"true\"\nafter = {before:?}\n{keys}\n"
            );
            before = vec![name.clone()];
        }
        job_file::parse(&text, &folder.join("story.toml"), folder).unwrap()
    }

    fn options(&self) -> RunOptions {
        RunOptions {
            policy: self.policy.as_ref().map(|policy| policy.parse().unwrap()),
            knowledge: self.knowledge.as_ref().map(|knowledge| knowledge.parse().unwrap()),
            chaos: self.chaos.parse().unwrap(),
            history: BTreeMap::new(),
        }
    }

    /// The engine, for a run in this folder.
    pub fn world(&self, plan: &Plan, out: &Path) -> World {
        let plays = Rc::clone(&self.plays);
        let fake = FakeEngine::new(parse_nodes(Some(&self.nodes)).unwrap(), move |launch| {
            fs::write(launch.folder.join("out/by"), key(launch.attempt)).unwrap();
            plays(launch)
        });
        let phases = plan.phases.iter().map(|phase| phase.name.clone()).collect();
        let copied = plan.phases.iter().map(|phase| phase.idempotent).collect();
        World::new(fake, Rules { folder: out.to_owned(), phases, copied })
    }

    /// Runs it with this engine in this folder, from its begin or from where it was left.
    pub fn tell(&self, plan: &Plan, out: &Path, resume: bool, world: &mut World) -> Result<RunOutcome, RunError> {
        self.tell_to(plan, out, resume, world, &mut Unfollowed)
    }

    /// As [`Story::tell`], with someone who follows.
    pub fn tell_to(
        &self,
        plan: &Plan,
        out: &Path,
        resume: bool,
        world: &mut World,
        follower: &mut dyn Follower,
    ) -> Result<RunOutcome, RunError> {
        let store = open(plan, out, resume)?;
        let own = self.own.map(|own| own());
        driver::run_under(own, plan, &self.options(), store, world, &AtomicU32::new(0), follower)
    }

    /// What is said of it while it runs.
    pub fn messages(&self) -> Vec<String> {
        struct Said(Vec<String>);
        impl Follower for Said {
            fn phases(&mut self, _phases: &[PhaseProgress], _elapsed: Duration) {}

            fn message(&mut self, line: &str) {
                self.0.push(line.to_owned());
            }
        }
        let folder = scratch();
        let plan = self.plan(folder.path());
        let out = folder.path().join("out");
        fs::create_dir(&out).unwrap();
        let out = out.canonicalize().unwrap();
        let mut said = Said(Vec::new());
        self.tell_to(&plan, &out, false, &mut self.world(&plan, &out), &mut said).unwrap();
        said.0
    }

    /// Runs it, to whatever end.
    pub fn run(&self) -> Told {
        let folder = scratch();
        let plan = self.plan(folder.path());
        let out = folder.path().join("out");
        fs::create_dir(&out).unwrap();
        let out = out.canonicalize().unwrap();
        let mut world = self.world(&plan, &out);
        let outcome = self.tell(&plan, &out, false, &mut world).unwrap_or_else(|error| {
            let policy = self.policy.as_deref().unwrap_or("the default");
            panic!("with {policy}: {error}\n{}", journal_text(&out))
        });
        let told = Told { plan, out, outcome, _folder: folder };
        told.is_sound(self.own);
        told
    }
}

pub fn open(plan: &Plan, out: &Path, resume: bool) -> Result<Opened, StoreError> {
    Store::open(out, plan, &Opening { resume, ..Opening::default() })
}

/// The journal of a run in this folder.
pub fn journal_text(out: &Path) -> String {
    fs::read_to_string(out.join(".hindmost/journal.jsonl")).unwrap_or_default()
}

/// Every task of a job.
pub fn tasks(plan: &Plan) -> impl Iterator<Item = TaskId> + '_ {
    plan.phases.iter().enumerate().flat_map(|(phase, planned)| {
        (0..planned.tasks).map(move |index| TaskId { job: JobId(0), phase: phase as u32, index })
    })
}

/// The place of a task's result.
pub fn result(plan: &Plan, out: &Path, task: TaskId) -> PathBuf {
    out.join(&plan.phases[task.phase as usize].name).join(task.index.to_string())
}

/// Names of what is in a folder.
pub fn entries(folder: &Path) -> Vec<String> {
    let found = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut names: Vec<String> = found.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The records of a run in this folder.
pub fn records(out: &Path) -> Vec<Record> {
    JournalReader::new(journal_text(out).as_bytes()).unwrap().map(Result::unwrap).collect()
}

/// Checks that a journal's decisions are made again.
pub fn verified(out: &Path) -> Verified {
    verified_as(out, records(out), None).unwrap_or_else(|difference| panic!("{difference}\n{}", journal_text(out)))
}

/// Whether the decisions in these records, of a run in this folder, are made again.
pub fn verified_as(out: &Path, records: Vec<Record>, own: Option<fn() -> Policy>) -> Result<Verified, Difference> {
    let text = journal_text(out);
    let header = JournalReader::new(text.as_bytes()).unwrap().header().clone();
    let named = || catalogue::session_of(&header).unwrap();
    verify(own.map_or_else(named, |own| catalogue::session_under(own(), &header)), records)
}

/// Checks what must hold of every run that has ended in this folder, however it ended.
pub fn is_sound(plan: &Plan, out: &Path, timeline: &Timeline) {
    verified(out);
    is_tidy(plan, out, timeline);
}

/// As [`is_sound`], but for the journal.
fn is_tidy(plan: &Plan, out: &Path, timeline: &Timeline) {
    assert_eq!(entries(&out.join(".hindmost/attempts")), [""; 0], "something is left of attempts");
    for (at, phase) in plan.phases.iter().enumerate() {
        let won = |row: &&TimelineRow| row.outcome == AttemptEnd::Won && row.attempt.task.phase == at as u32;
        let mut winners: Vec<String> =
            timeline.rows.iter().filter(won).map(|row| row.attempt.task.index.to_string()).collect();
        winners.sort();
        assert_eq!(entries(&out.join(&phase.name)), winners, "results and winners of {} differ", phase.name);
    }
    let running: Vec<_> = timeline.rows.iter().filter(|row| row.outcome == AttemptEnd::Running).collect();
    assert!(running.is_empty(), "not over when the run is: {running:?}");
}

/// A run that has ended.
pub struct Told {
    pub plan: Plan,
    pub out: PathBuf,
    pub outcome: RunOutcome,
    _folder: TempDir,
}

impl Told {
    fn is_sound(&self, own: Option<fn() -> Policy>) {
        let verified = verified_as(&self.out, records(&self.out), own);
        assert!(verified.is_ok(), "{}\n{}", verified.unwrap_err(), journal_text(&self.out));
        is_tidy(&self.plan, &self.out, &self.outcome.timeline);
        let summary = &self.outcome.summary;
        assert_eq!(summary.tasks, self.plan.tasks());
        assert_eq!(summary.attempts, self.outcome.timeline.rows.len() as u64);
        for row in self.outcome.timeline.rows.iter().filter(|row| row.outcome == AttemptEnd::Won) {
            let by = fs::read_to_string(result(&self.plan, &self.out, row.attempt.task).join("by")).unwrap();
            assert_eq!(by, key(row.attempt), "the result is another attempt's");
        }
        for (at, phase) in self.plan.phases.iter().enumerate().filter(|(_, phase)| !phase.idempotent) {
            for index in 0..phase.tasks {
                let task = TaskId { job: JobId(0), phase: at as u32, index };
                let rows: Vec<_> = self.outcome.timeline.attempts_of(task).collect();
                let apart = rows.windows(2).all(|pair| pair[0].end <= pair[1].start);
                assert!(apart, "{task} may not be copied, and was: {rows:?}");
            }
        }
    }

    /// Every task has its result.
    pub fn done(self) -> Told {
        let summary = &self.outcome.summary;
        assert_eq!(summary.state, RunState::Done, "{summary:?}");
        assert!(summary.failed_tasks.is_empty());
        for task in tasks(&self.plan) {
            let won = self.outcome.timeline.attempts_of(task).filter(|row| row.outcome == AttemptEnd::Won);
            assert_eq!(won.count(), 1, "winners of {task}");
        }
        self
    }

    /// Attempts of a task, and how they ended.
    pub fn ends(&self, phase: u32, index: u32) -> Vec<AttemptEnd> {
        let task = TaskId { job: JobId(0), phase, index };
        self.outcome.timeline.attempts_of(task).map(|row| row.outcome.clone()).collect()
    }

    /// Names of the nodes on which a task was started, in turn.
    pub fn nodes_of(&self, phase: u32, index: u32) -> Vec<String> {
        let task = TaskId { job: JobId(0), phase, index };
        let timeline = &self.outcome.timeline;
        timeline.attempts_of(task).map(|row| timeline.node_name(row.node).to_owned()).collect()
    }

    /// Seconds until the last task was done.
    pub fn flowtime(&self) -> f64 {
        self.outcome.summary.flowtime
    }

    /// Copies beside others.
    pub fn copies(&self) -> u64 {
        self.outcome.summary.copies.launched
    }

    /// Seconds from an attempt's start to its end.
    pub fn seconds(row: &TimelineRow) -> f64 {
        (row.end - row.start).seconds()
    }
}
