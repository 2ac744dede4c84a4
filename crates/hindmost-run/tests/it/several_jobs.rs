//! Runs of several jobs at once, and jobs that arrive while others run.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

use hindmost_core::ids::JobId;
use hindmost_core::metrics::RunState;
use hindmost_core::record::{Change, Event};
use hindmost_policies::catalogue::SYSTEMS;
use hindmost_run::driver::{self, RunError, RunJobs, RunOptions, RunOutcome, Submissions, Unfollowed};
use hindmost_run::engine::{Launch, NodeOffer, parse_nodes};
use hindmost_run::job_file::{self, Plan};
use hindmost_run::live_view::{JobState, State};
use hindmost_run::store::{Opened, Opening, Store};

use proptest::prelude::*;

use crate::fake_engine::{FakeEngine, FakeTask};
use crate::live_view::seen;
use crate::random_jobs::RandomBehaviour;
use crate::test_run::{records, scratch, takes, verified};

/// A job file: phases with their numbers of tasks, each after the one before it.
fn plan(name: &str, phases: &[(&str, u32)], keys: &str, folder: &Path) -> Plan {
    let mut text = format!("name = {name:?}\n");
    for (at, (phase, tasks)) in phases.iter().enumerate() {
        let after = at.checked_sub(1).map_or(String::new(), |before| format!("after = [{:?}]\n", phases[before].0));
        text += &format!("[[phase]]\nname = {phase:?}\ntasks = {tasks}\ncommand = \"true\"\n{after}{keys}");
    }
    job_file::parse(&text, &folder.join("job.toml"), folder).unwrap()
}

/// Jobs that are submitted once this many jobs have ended, and the outcomes of all jobs.
#[derive(Default)]
struct Inbox {
    later: VecDeque<(usize, Opened)>,
    outcomes: Vec<RunOutcome>,
    refused: Vec<String>,
}

impl Submissions for Inbox {
    fn are_open(&self) -> bool {
        !self.later.is_empty()
    }

    fn next(&mut self, _nodes: &[NodeOffer]) -> Option<Opened> {
        let is_due = self.later.front().is_some_and(|(after, _)| *after <= self.outcomes.len());
        if is_due { self.later.pop_front().map(|(_, opened)| opened) } else { None }
    }

    fn refused(&mut self, job: &str, why: &RunError) {
        self.refused.push(format!("{job}: {why}"));
    }

    fn ended(&mut self, outcome: RunOutcome) {
        self.outcomes.push(outcome);
    }
}

impl Inbox {
    fn states(&self) -> BTreeMap<&str, RunState> {
        self.outcomes.iter().map(|outcome| (outcome.summary.job.as_str(), outcome.summary.state)).collect()
    }
}

fn open(plan: &Plan, folder: &Path, resume: bool) -> Opened {
    Store::open(folder, plan, &Opening { resume, ..Opening::default() }).unwrap()
}

/// Runs these jobs in a folder; `later` arrive once this many jobs have ended. The run is stopped when `stop` is above 0.
fn run(
    folder: &Path,
    (jobs, later): (&[Plan], &[(usize, Plan)]),
    (policy, resume): (&str, bool),
    behaviour: impl FnMut(&Launch<'_>) -> FakeTask + 'static,
    stop: &AtomicU32,
) -> Inbox {
    let nodes = parse_nodes(Some("n1:2,n2:2")).unwrap();
    run_on(nodes, folder, (jobs, later), (policy, resume), behaviour, stop)
}

/// Runs jobs as [`run`] does, on these nodes.
fn run_on(
    nodes: Vec<NodeOffer>,
    folder: &Path,
    (jobs, later): (&[Plan], &[(usize, Plan)]),
    (policy, resume): (&str, bool),
    behaviour: impl FnMut(&Launch<'_>) -> FakeTask + 'static,
    stop: &AtomicU32,
) -> Inbox {
    let home = open(&Plan::of_several(folder), folder, resume);
    let opened = |plan: &Plan| open(plan, &folder.join(&plan.name), resume);
    let mut inbox =
        Inbox { later: later.iter().map(|(after, plan)| (*after, opened(plan))).collect(), ..Inbox::default() };
    let jobs = jobs.iter().map(opened).collect();
    let mut engine = FakeEngine::new(nodes, behaviour);
    let options = RunOptions { policy: Some(policy.parse().unwrap()), ..RunOptions::default() };
    let jobs = RunJobs { home: Some(home), jobs, submissions: &mut inbox };
    driver::run_jobs(&options, jobs, &mut engine, stop, &mut Unfollowed)
        .unwrap_or_else(|error| panic!("{policy}: {error}"));
    inbox
}

fn one_second(_launch: &Launch<'_>) -> FakeTask {
    takes(1.0)
}

/// Returns the name of the job to which an attempt belongs.
fn job_of(launch: &Launch<'_>) -> String {
    launch.run.folder.file_name().unwrap().to_string_lossy().into_owned()
}

/// Returns the results that a job has, by phase and task.
fn results(folder: &Path, plan: &Plan) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for phase in &plan.phases {
        let Ok(entries) = fs::read_dir(folder.join(&plan.name).join(&phase.name)) else { continue };
        for entry in entries {
            found.insert(format!("{}/{}", phase.name, entry.unwrap().file_name().to_string_lossy()));
        }
    }
    found
}

#[test]
fn jobs_share_the_nodes_and_have_results_of_their_own() {
    let folder = scratch();
    let a = plan("a", &[("map", 8), ("reduce", 1)], "", folder.path());
    let b = plan("b", &[("map", 8)], "", folder.path());
    let stop = AtomicU32::new(0);
    let inbox = run(folder.path(), (&[a.clone(), b.clone()], &[]), ("fair+none", false), one_second, &stop);
    assert_eq!(inbox.states(), BTreeMap::from([("a", RunState::Done), ("b", RunState::Done)]));
    assert_eq!((results(folder.path(), &a).len(), results(folder.path(), &b).len()), (9, 8));
    // 16 tasks of a second on four slots, shared fairly: both end after about 4 s, and the reduce phase follows.
    let flowtime = |name: &str| {
        let outcome = inbox.outcomes.iter().find(|outcome| outcome.summary.job == name).unwrap();
        outcome.summary.flowtime
    };
    assert!((3.9..4.2).contains(&flowtime("b")), "{}", flowtime("b"));
    assert!((4.9..5.2).contains(&flowtime("a")), "{}", flowtime("a"));
    for outcome in &inbox.outcomes {
        let text = fs::read_to_string(folder.path().join(&outcome.summary.job).join("results.tsv")).unwrap();
        assert_eq!(text.lines().count() as u64, 1 + outcome.summary.tasks, "{text}");
        assert!(folder.path().join(&outcome.summary.job).join(".hindmost/summary.json").is_file());
    }
    verified(folder.path());
    let snapshot = seen(folder.path());
    assert_eq!((snapshot.state, snapshot.tasks, snapshot.finished), (State::Done, 17, 17));
    let names: Vec<&str> = snapshot.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    // As if the run had been killed in the middle: the summaries are then those of other ends.
    let journal = folder.path().join(".hindmost/journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let starts: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].contains("\"start\"")).collect();
    fs::write(&journal, lines[..=starts[7]].concat()).unwrap();
    let snapshot = seen(folder.path());
    assert_eq!(snapshot.state, State::Gone);
    assert!(snapshot.jobs.iter().all(|job| job.state == JobState::Running && job.end.is_none()), "{snapshot:?}");
    let of: BTreeSet<u32> = snapshot.running.iter().map(|attempt| attempt.job).collect();
    assert_eq!(of, BTreeSet::from([0, 1]));
}

#[test]
fn submitted_jobs_may_require_features() {
    let folder = scratch();
    let mut nodes = parse_nodes(Some("n1:2,n2:2")).unwrap();
    nodes[0].features = ["ssd", "a", "b", "c", "d", "e", "f"].map(str::to_owned).to_vec();
    nodes[1].features = vec!["big".to_owned()];
    let job =
        |name: &str, feature: &str| plan(name, &[("map", 6)], &format!("features = {feature:?}\n"), folder.path());
    let late = [(1, job("big", "big")), (1, job("f", "f"))];
    let run_begin = (&[job("ssd", "ssd")][..], &late[..]);
    let behaviour = one_second;
    let stop = AtomicU32::new(0);
    let inbox = run_on(nodes, folder.path(), run_begin, ("pace", false), behaviour, &stop);
    assert_eq!(inbox.states(), BTreeMap::from([("big", RunState::Done), ("ssd", RunState::Done)]));
    for outcome in &inbox.outcomes {
        let node = if outcome.summary.job == "big" { "n2" } else { "n1" };
        let timeline = &outcome.timeline;
        assert!(timeline.rows.iter().all(|row| timeline.node_name(row.node) == node), "{:?}", timeline.rows);
    }
    // The run began with dimensions for ssd and five other features, as many as there can be.
    let [refused] = &inbox.refused[..] else { panic!("{:?}", inbox.refused) };
    assert!(refused.contains("requires nodes with f, but the run was begun without a job that does"), "{refused}");
    verified(folder.path());
}

#[test]
fn every_system_runs_several_jobs() {
    for policy in SYSTEMS.iter().map(|system| system.name) {
        let folder = scratch();
        let jobs = ["a", "b", "c"].map(|name| plan(name, &[("map", 5), ("reduce", 2)], "", folder.path()));
        let (early, late) = jobs.split_at(2);
        let late = [(1, late[0].clone())];
        let behaviour = |launch: &Launch<'_>| {
            let slow = launch.attempt.task.index == 3 && launch.attempt.copy == 0;
            takes(if slow { 20.0 } else { 1.0 })
        };
        let inbox = run(folder.path(), (early, &late), (policy, false), behaviour, &AtomicU32::new(0));
        assert!(inbox.states().values().all(|state| *state == RunState::Done), "{policy}: {:?}", inbox.states());
        assert_eq!(inbox.outcomes.len(), 3, "{policy}");
        verified(folder.path());
    }
}

#[test]
fn a_submitted_job_counts_from_its_arrival() {
    let folder = scratch();
    let a = plan("a", &[("map", 4)], "", folder.path());
    let b = plan("b", &[("map", 4)], "", folder.path());
    let inbox = run(folder.path(), (&[a], &[(1, b)]), ("none", false), one_second, &AtomicU32::new(0));
    let b = &inbox.outcomes[1];
    assert_eq!(b.summary.job, "b");
    assert!((1.0..1.3).contains(&b.summary.flowtime), "{}", b.summary.flowtime);
    let arrival = b.timeline.jobs[0].arrival.seconds();
    assert!((1.0..1.3).contains(&arrival), "{arrival}");
    assert!(b.timeline.rows.iter().all(|row| row.attempt.task.job == JobId(0)));
    verified(folder.path());
}

#[test]
fn a_job_that_can_not_run_is_refused_and_the_others_go_on() {
    let folder = scratch();
    let a = plan("a", &[("map", 4)], "", folder.path());
    let large = plan("large", &[("map", 1)], "cpus = 99\n", folder.path());
    let inbox = run(folder.path(), (&[a], &[(0, large)]), ("none", false), one_second, &AtomicU32::new(0));
    assert_eq!(inbox.states(), BTreeMap::from([("a", RunState::Done)]));
    assert!(inbox.refused[0].contains("99 cpus"), "{:?}", inbox.refused);
}

/// Job `bad` fails in its last task until it is mended.
fn fails(launch: &Launch<'_>) -> FakeTask {
    let is_bad = job_of(launch) == "bad" && launch.attempt.task.index == 5;
    FakeTask { exit: Some(i32::from(is_bad)), ..one_second(launch) }
}

#[test]
fn a_failed_job_leaves_the_others_alone_and_is_resumed() {
    for keys in ["retries = 0\n", "retries = 0\nidempotent = false\n"] {
        let folder = scratch();
        let bad = plan("bad", &[("map", 12)], keys, folder.path());
        let good = plan("good", &[("map", 12)], "", folder.path());
        let jobs = [bad.clone(), good.clone()];
        let inbox = run(folder.path(), (&jobs, &[]), ("fifo+none", false), fails, &AtomicU32::new(0));
        assert_eq!(inbox.states(), BTreeMap::from([("bad", RunState::Failed), ("good", RunState::Done)]));
        let outcome = inbox.outcomes.iter().find(|outcome| outcome.summary.job == "bad").unwrap();
        assert_eq!(outcome.summary.failed_tasks.len(), 1);
        let given_up = |change: &Change| *change == Change::Event(Event::JobGivenUp { job: JobId(0) });
        assert!(records(folder.path()).iter().any(|record| given_up(&record.change)));
        verified(folder.path());
        let snapshot = seen(folder.path());
        assert_eq!((snapshot.state, snapshot.failed_tasks), (State::Failed, 1));
        let shown = |name: &str| snapshot.jobs.iter().find(|job| job.name == name).unwrap();
        assert_eq!((shown("bad").state, shown("good").state), (JobState::Failed, JobState::Done));
        assert!(shown("bad").end < shown("good").end, "{snapshot:?}");
        if keys.contains("idempotent") {
            continue;
        }
        let before = results(folder.path(), &bad);
        assert!(!before.is_empty() && before.len() < 12, "{before:?}");
        let ran = Rc::new(std::cell::RefCell::new(Vec::new()));
        let noted = Rc::clone(&ran);
        let behaviour = move |launch: &Launch<'_>| {
            noted.borrow_mut().push(format!("map/{}", launch.attempt.task.index));
            assert_eq!(job_of(launch), "bad");
            one_second(launch)
        };
        let inbox = run(folder.path(), (&jobs, &[]), ("fifo+none", true), behaviour, &AtomicU32::new(0));
        assert_eq!(inbox.states(), BTreeMap::from([("bad", RunState::Done)]));
        assert_eq!(results(folder.path(), &bad).len(), 12);
        assert!(ran.borrow().iter().all(|task| !before.contains(task)), "{:?} {before:?}", ran.borrow());
        verified(folder.path());
    }
}

#[test]
fn an_interrupted_run_of_several_jobs_goes_on() {
    for after in 1..12 {
        let folder = scratch();
        let jobs = ["a", "b"].map(|name| plan(name, &[("map", 5), ("reduce", 2)], "", folder.path()));
        let stop: &'static AtomicU32 = Box::leak(Box::default());
        let mut started = 0;
        let behaviour = move |launch: &Launch<'_>| {
            started += 1;
            if started == after {
                stop.store(1, std::sync::atomic::Ordering::Relaxed);
            }
            one_second(launch)
        };
        let inbox = run(folder.path(), (&jobs, &[]), ("pace", false), behaviour, stop);
        assert!(inbox.states().values().any(|state| *state == RunState::Interrupted), "{after}");
        let shown: Vec<JobState> = seen(folder.path()).jobs.iter().map(|job| job.state).collect();
        assert_eq!(seen(folder.path()).state, State::Interrupted, "{after}: {shown:?}");
        assert!(shown.contains(&JobState::Interrupted), "{after}: {shown:?}");
        let before: Vec<BTreeSet<String>> = jobs.iter().map(|job| results(folder.path(), job)).collect();
        run(folder.path(), (&jobs, &[]), ("pace", true), one_second, &AtomicU32::new(0));
        for (job, before) in jobs.iter().zip(before) {
            let now = results(folder.path(), job);
            assert_eq!((now.len(), now.is_superset(&before)), (7, true), "{after}");
        }
        verified(folder.path());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(48, 480)))]

    /// Random jobs that begin together or arrive later, whose attempts straggle and fail, in a run that is interrupted again and
    /// again: every journal verifies, and in the end each task has one result.
    #[test]
    fn random_jobs_keep_all_promises_together(
        sizes in prop::collection::vec((1u32..10, 0u32..4), 1..5),
        late in 0usize..3,
        (seed, fails, slow) in (0u64..1000, 0.0..0.3, 0.0..0.3),
        policy in prop::sample::select(vec!["none", "fair+pace", "srpt+late", "mantri", "sca", "dollymp+dollymp", "spark"]),
        stops in prop::collection::vec(1u32..40, 0..4),
    ) {
        let folder = scratch();
        let plans: Vec<Plan> = sizes
            .iter()
            .enumerate()
            .map(|(at, (map, reduce))| {
                let phases = [("map", *map), ("reduce", *reduce)];
                plan(&format!("job{at}"), &phases[..=usize::from(*reduce > 0)], "", folder.path())
            })
            .collect();
        let launches = Rc::new(Cell::new(0u32));
        let mut resumes = false;
        for round in 0..40 {
            let stop: &'static AtomicU32 = Box::leak(Box::default());
            let (count, until) = (Rc::clone(&launches), stops.get(round).map(|more| launches.get() + more));
            // Each launch draws anew, so that a task that has failed may succeed in the next run.
            let behaviour = move |launch: &Launch<'_>| {
                count.set(count.get() + 1);
                if until.is_some_and(|until| count.get() >= until) {
                    stop.store(1, Ordering::Relaxed);
                }
                RandomBehaviour { seed: seed + u64::from(count.get()), slow, fails, vanishes: 0.02, reports: true }.play(launch)
            };
            let early = plans.len() - late.min(plans.len() - 1);
            let later: Vec<(usize, Plan)> =
                plans[early..].iter().map(|plan| (usize::from(!resumes), plan.clone())).collect();
            let inbox = run(folder.path(), (&plans[..early], &later), (policy, resumes), behaviour, stop);
            prop_assert!(inbox.refused.iter().all(|why| why.contains("has every result")), "{:?}", inbox.refused);
            resumes = true;
            verified(folder.path());
            let all = |plan: &Plan| results(folder.path(), plan).len() as u64 == plan.tasks();
            if plans.iter().all(all) {
                return Ok(());
            }
        }
        prop_assert!(false, "the jobs are not done after 40 runs");
    }
}
