//! Tests with nodes that are lost and return, one by one or all at once.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::rc::Rc;
use std::sync::atomic::AtomicU32;

use hindmost_core::ids::{AttemptId, NodeId};
use hindmost_core::metrics::RunState;
use hindmost_core::time::Time;
use hindmost_core::timeline::AttemptEnd;
use hindmost_run::driver::RunOutcome;
use hindmost_run::engine::{Engine, Happened, Launch, NodeLoss, NodeOffer, RunIdentity};

use crate::fake_engine::FakeEngine;
use crate::place::Place;
use crate::test_run::{FinishedRun, TestRun, takes};

fn run_with_faults(policy: &str, chaos: &str) -> FinishedRun {
    let test_run =
        TestRun::on("n1:2,n2:2,n3:2").phase_with("map", 18, "retries = 0").phase_with("reduce", 3, "retries = 0");
    test_run.policy(policy).chaos(chaos).behaviour(|_| takes(10.0)).run().done()
}

const POLICIES: [&str; 8] = ["none", "pace", "mantri(kill_restart=true)", "late", "sca", "ese", "window", "hete_aware"];

fn lost(finished: &FinishedRun) -> usize {
    finished.outcome.timeline.rows.iter().filter(|row| row.outcome == AttemptEnd::NodeLost).count()
}

/// Returns the number of attempts that started on a node between two times, in seconds.
fn starts_on(finished: &FinishedRun, node: u32, from: f64, to: f64) -> usize {
    let rows = finished.outcome.timeline.rows.iter();
    rows.filter(|row| row.node.0 == node && (from..to).contains(&row.start.seconds())).count()
}

#[test]
fn a_lost_node_is_not_used_until_it_returns() {
    for policy in POLICIES {
        let finished = run_with_faults(policy, "lose=n2:15s@5s");
        assert!((1..=2).contains(&lost(&finished)), "{policy}");
        assert_eq!(starts_on(&finished, 1, 5.0, 20.0), 0, "{policy}");
        assert!(starts_on(&finished, 1, 20.0, 1000.0) > 0, "{policy}: the node is not used again");
        let node = &finished.outcome.timeline.nodes[1];
        let times: Vec<f64> = node.lost_and_returned.iter().map(|time| time.seconds()).collect();
        assert!(times.len() == 2 && (5.0..5.1).contains(&times[0]) && (20.0..20.2).contains(&times[1]), "{times:?}");
    }
}

#[test]
fn two_nodes_are_lost_at_once() {
    for policy in POLICIES {
        let finished = run_with_faults(policy, "lose=n1:25s@5s,lose=n3:5s@5s");
        assert!((2..=4).contains(&lost(&finished)), "{policy}");
        assert_eq!(starts_on(&finished, 0, 5.0, 30.0) + starts_on(&finished, 2, 5.0, 10.0), 0, "{policy}");
    }
}

#[test]
fn all_nodes_are_lost_for_a_while() {
    for policy in POLICIES {
        let finished = run_with_faults(policy, "lose=n1:100s@5s,lose=n2:100s@5s,lose=n3:200s@5s");
        let idle = (0..3).map(|node| starts_on(&finished, node, 5.0, 105.0)).sum::<usize>();
        assert_eq!(idle, 0, "{policy}");
        assert!(finished.flowtime() > 105.0 + 20.0, "{policy}: {}", finished.flowtime());
    }
}

#[test]
fn a_node_may_be_lost_many_times() {
    let losses: Vec<String> = (0..12).map(|at| format!("lose=n{}:1s@{}s", 1 + at % 3, 3 + at * 4)).collect();
    for policy in POLICIES {
        run_with_faults(policy, &losses.join(","));
    }
}

#[test]
fn a_node_stays_lost_until_its_last_loss_is_over() {
    let finished = run_with_faults("none", "lose=n1:1s@1s,lose=n1:15s@1.5s");
    assert_eq!(starts_on(&finished, 0, 1.0, 16.4), 0);
}

#[test]
fn a_failed_task_stays_failed_when_its_last_copy_is_lost() {
    // Each task has two copies. The copies on n1 fail at 2 s, and the copies on n2 are lost with the node at 5 s.
    let test_run = TestRun::on("n1:4,n2:4").phase_with("map", 2, "retries = 0").policy("sca(max_copies=2)");
    let test_run = test_run
        .chaos("lose=n2:5s@5s")
        .behaviour(|launch| if launch.node.0 == 0 { crate::test_run::fails(2.0) } else { takes(20.0) });
    let finished = test_run.run();
    assert_eq!(finished.outcome.summary.state, hindmost_core::metrics::RunState::Failed);
    assert_eq!(finished.outcome.summary.attempts, 4, "{:?}", finished.outcome.timeline.rows);
}

/// The policies of the catalogue that place tasks node by node, and one that does not.
const BY_NODE: [&str; 6] =
    ["dollymp", "dollymp(clone_pass=by_node)", "dollymp(clones=0)", "fifo+dollymp", "tetris", "fifo"];

#[test]
fn nothing_starts_on_a_node_lost_as_a_task_ends() {
    for policy in BY_NODE {
        // Tasks end on n3 at the same time at which it is lost, before the next round.
        let test_run = TestRun::on("n1:2,n2:2,n3:2").phase("map", 20).phase("reduce", 3).policy(policy);
        let test_run = test_run.chaos("lose=n3:5s@10s,lose=n3:3s@20s").behaviour(|_| takes(10.0));
        let finished = test_run.run().done();
        assert_eq!(starts_on(&finished, 2, 10.0, 15.0), 0, "{policy}");
        let messages = test_run.messages();
        assert!(!messages.iter().any(|line| line.contains("impossible")), "{policy}: {messages:?}");
    }
}

/// Time for which nodes are allocated.
const ALLOCATED: f64 = 30.0;
/// Time after which a lost node returns.
const AWAY: f64 = 5.0;

/// An engine whose only node is allocated for some time, and again after a pause.
struct Allocated {
    inner: FakeEngine,
    next: (Time, bool),
    /// Number of allocations after which the node does not return.
    left: u32,
    /// Whether the allocations end because their time is up.
    is_time_up: bool,
}

impl Engine for Allocated {
    fn nodes(&self) -> &[NodeOffer] {
        self.inner.nodes()
    }

    fn now(&self) -> Time {
        self.inner.now()
    }

    fn resume_at(&mut self, at: Time) {
        self.inner.resume_at(at);
        self.next.0 = at + self.next.0;
    }

    fn start(&mut self, launch: &Launch<'_>) -> io::Result<()> {
        self.inner.start(launch)
    }

    fn adopt(&mut self, launch: &Launch<'_>) -> bool {
        self.inner.adopt(launch)
    }

    fn kill_strays_but(&mut self, run: &RunIdentity, kept: &HashSet<AttemptId>) -> Vec<String> {
        self.inner.kill_strays_but(run, kept)
    }

    fn kill(&mut self, attempt: AttemptId) {
        self.inner.kill(attempt);
    }

    fn is_over(&self) -> Option<&str> {
        (self.left == 0).then_some("its allocation has ended")
    }

    fn read_share(&self, attempt: AttemptId) -> Option<f64> {
        self.inner.read_share(attempt)
    }

    fn wait(&mut self, until: Time, happened: &mut Vec<Happened>) {
        let (at, is_loss) = self.next;
        self.inner.wait(until.min(at), happened);
        if self.now() < at || self.left == 0 {
            return;
        }
        if is_loss {
            self.left -= 1;
            let why =
                if self.is_time_up { "its allocation reached its time limit" } else { "its allocation is PREEMPTED" };
            let loss = NodeLoss { why: Some(why.to_owned()), is_time_up: self.is_time_up };
            happened.push(Happened::NodeLost(NodeId(0), loss));
        } else {
            happened.push(Happened::NodeReturned(NodeId(0)));
        }
        let pause = if is_loss { AWAY } else { ALLOCATED };
        self.next = (if self.left == 0 { Time::NEVER } else { self.now() + Time::from_seconds(pause) }, !is_loss);
    }
}

/// Returns a place for three tasks, of which the first takes 100 s.
fn three_tasks(keys: &str) -> Place {
    TestRun::on("n1:3").phase_with("map", 3, keys).policy("none").place()
}

/// Runs or resumes these tasks on a node that is allocated for 30 s at a time, this many times. `is_time_up` says whether the allocations
/// end because their time is up.
fn run_in_allocations(place: &Place, left: u32, is_time_up: bool) -> (RunOutcome, Vec<String>) {
    let behaviour = |launch: &Launch<'_>| takes(if launch.attempt.task.index == 0 { 100.0 } else { 20.0 });
    let inner = FakeEngine::new(place.test_run.offers(), behaviour);
    place.run_with_messages(&mut Allocated { inner, next: (Time::from_seconds(ALLOCATED), true), left, is_time_up })
}

#[test]
fn losses_at_time_limits_are_remembered_by_a_resumed_run() {
    // The first process ends with the second allocation, so the third loss is the first one that counts.
    for (earlier, starts) in [(1, 3), (2, 3), (0, 3)] {
        let place = three_tasks("retries = 0");
        if earlier > 0 {
            let (outcome, messages) = run_in_allocations(&place, earlier, true);
            assert_eq!(outcome.summary.state, RunState::Interrupted, "{messages:?}");
        }
        let (outcome, messages) = run_in_allocations(&place, 100, true);
        let [failed] = &outcome.summary.failed_tasks[..] else { panic!("{:?}", outcome.summary.failed_tasks) };
        assert!(failed.reason.starts_with(&format!("cut off {starts} times")), "{}", failed.reason);
        assert_eq!(outcome.timeline.rows.len(), 2 + starts, "{earlier}: {messages:?}");
    }
}

#[test]
fn a_task_longer_than_allocations_fails_in_the_end() {
    for (retries, starts) in [(0, 3), (2, 5)] {
        let (outcome, messages) = run_in_allocations(&three_tasks(&format!("retries = {retries}")), 100, true);
        let [failed] = &outcome.summary.failed_tasks[..] else { panic!("{:?}", outcome.summary.failed_tasks) };
        assert_eq!((outcome.summary.state, failed.task, failed.failures), (RunState::Failed, 0, retries + 1));
        assert!(failed.reason.starts_with(&format!("cut off {starts} times")), "{}", failed.reason);
        assert_eq!(outcome.timeline.rows.len(), 2 + starts, "{messages:?}");
    }
}

#[test]
fn a_task_that_is_lost_too_often_fails_in_the_end() {
    for (keys, starts, failures) in [
        ("retries = 0", 21, 1),
        ("retries = 1\nallowed_losses = 4", 6, 2),
        ("retries = 0\nallowed_losses = 0", 1, 1),
        ("idempotent = false\nallowed_losses = 3", 4, 1),
    ] {
        let (outcome, messages) = run_in_allocations(&three_tasks(keys), 100, false);
        let [failed] = &outcome.summary.failed_tasks[..] else { panic!("{keys}: {:?}", outcome.summary.failed_tasks) };
        assert_eq!((outcome.summary.state, failed.task, failed.failures), (RunState::Failed, 0, failures), "{keys}");
        let often = if starts == 1 { "lost once, more".to_owned() } else { format!("lost {starts} times, more") };
        assert!(failed.reason.starts_with(&often), "{}", failed.reason);
        assert_eq!(outcome.timeline.rows.len(), 2 + starts, "{keys}: {messages:?}");
    }
}

#[test]
fn a_run_whose_nodes_are_lost_for_good_is_interrupted() {
    let (outcome, messages) = run_in_allocations(&three_tasks(""), 2, true);
    assert_eq!(outcome.summary.state, RunState::Interrupted, "{messages:?}");
    assert_eq!(outcome.summary.phases[0].finished, 2);
    let last = messages.iter().find(|line| line.contains("none can return")).unwrap();
    assert!(last.contains("its allocation has ended"), "{last}");
    assert_eq!(messages.iter().filter(|line| line.contains("waits until one returns")).count(), 1, "{messages:?}");
}

/// An engine whose second node is silent from some time on: attempts there end only when it is known that they have.
struct Silent {
    inner: FakeEngine,
    /// When the node is lost, and when its attempts are known to have ended.
    lost: Time,
    known: Time,
    /// When the user stops the run.
    stopped: Time,
    stop_requests: Rc<AtomicU32>,
    is_lost: bool,
    on_node: BTreeSet<AttemptId>,
    /// Attempts that were to be killed on the lost node, and those of them whose ends need not be known.
    killed: BTreeSet<AttemptId>,
    let_go: BTreeSet<AttemptId>,
    /// Attempts of an earlier process whose ends are awaited.
    awaited: BTreeSet<AttemptId>,
}

impl Engine for Silent {
    fn nodes(&self) -> &[NodeOffer] {
        self.inner.nodes()
    }

    fn now(&self) -> Time {
        self.inner.now()
    }

    fn resume_at(&mut self, at: Time) {
        self.inner.resume_at(at);
    }

    fn start(&mut self, launch: &Launch<'_>) -> io::Result<()> {
        assert_eq!(launch.is_single, launch.attempt.task.phase == 0);
        if launch.node.0 == 1 {
            self.on_node.insert(launch.attempt);
        }
        self.inner.start(launch)
    }

    fn adopt(&mut self, _launch: &Launch<'_>) -> bool {
        false
    }

    fn await_end(&mut self, launch: &Launch<'_>) -> bool {
        self.now() < self.known && self.awaited.insert(launch.attempt)
    }

    fn let_go(&mut self, attempt: AttemptId) {
        self.let_go.insert(attempt);
    }

    fn kill_strays_but(&mut self, run: &RunIdentity, kept: &HashSet<AttemptId>) -> Vec<String> {
        self.inner.kill_strays_but(run, kept)
    }

    fn kill(&mut self, attempt: AttemptId) {
        if self.is_lost && self.on_node.contains(&attempt) && attempt.task.phase == 0 {
            self.killed.insert(attempt);
        } else {
            self.inner.kill(attempt);
        }
    }

    fn read_share(&self, attempt: AttemptId) -> Option<f64> {
        self.inner.read_share(attempt)
    }

    fn wait(&mut self, until: Time, happened: &mut Vec<Happened>) {
        if self.now() >= self.stopped {
            self.stop_requests.store(1, std::sync::atomic::Ordering::Relaxed);
        }
        let is_known = self.now() >= self.known;
        for attempt in self.killed.iter().filter(|attempt| is_known || self.let_go.contains(attempt)) {
            self.inner.kill(*attempt);
        }
        if is_known {
            happened.extend(std::mem::take(&mut self.awaited).into_iter().map(Happened::Ended));
        }
        self.inner.wait(until, happened);
        if self.now() >= self.lost && !self.is_lost {
            self.is_lost = true;
            let loss = NodeLoss { why: Some("it does not answer".to_owned()), is_time_up: false };
            happened.push(Happened::NodeLost(NodeId(1), loss));
        }
    }
}

/// Returns a place for three tasks that may not run twice and one other, which run at once.
fn three_that_may_not_run_twice() -> Place {
    let test_run = TestRun::on("n1:2,n2:2").phase_with("once", 3, "idempotent = false\nretries = 0").phase("free", 1);
    let mut place = test_run.policy("none").place();
    place.plan.phases[1].after.clear();
    place
}

/// Runs or resumes these tasks on two nodes of two CPUs. They take 10 s on the first one and for ever on the second one, which is lost at
/// 5 s. Its attempts are known to have ended at `known` seconds. The user stops the run at `stopped` seconds.
fn run_with_silent_node(place: &mut Place, known: f64, stopped: f64) -> (RunOutcome, Vec<String>) {
    place.test_run.stop_requests = Rc::default();
    place.run_with_messages(&mut Silent {
        inner: FakeEngine::new(place.test_run.offers(), |launch| takes(if launch.node.0 == 1 { 1e6 } else { 10.0 })),
        lost: Time::from_seconds(5.0),
        known: Time::from_seconds(known),
        stopped: Time::from_seconds(stopped),
        stop_requests: Rc::clone(&place.test_run.stop_requests),
        is_lost: false,
        on_node: BTreeSet::new(),
        killed: BTreeSet::new(),
        let_go: BTreeSet::new(),
        awaited: BTreeSet::new(),
    })
}

/// Returns the times at which the attempts of a task started, in seconds.
fn starts_of(outcome: &RunOutcome, phase: u32, index: u32) -> Vec<f64> {
    let rows =
        outcome.timeline.rows.iter().filter(|row| (row.attempt.task.phase, row.attempt.task.index) == (phase, index));
    rows.map(|row| row.start.seconds()).collect()
}

#[test]
fn tasks_that_may_not_run_twice_wait_for_lost_nodes() {
    let (outcome, messages) = run_with_silent_node(&mut three_that_may_not_run_twice(), 200.0, 1e6);
    assert_eq!(outcome.summary.state, RunState::Done, "{messages:?}");
    let [first, second] = starts_of(&outcome, 0, 1)[..] else { panic!("{:?}", outcome.timeline.rows) };
    assert!(first == 0.0 && (200.0..200.2).contains(&second), "{second}");
    let [_, free] = starts_of(&outcome, 1, 0)[..] else { panic!("{:?}", outcome.timeline.rows) };
    assert!(free < 10.2, "the other task of the node starts elsewhere as soon as there is space: {free}");
    let waits: Vec<&String> = messages.iter().filter(|line| line.contains("may not run twice")).collect();
    let [first, reminder, _] = waits[..] else { panic!("{messages:?}") };
    assert!(first.starts_with("once/1 may not run twice (idempotent = false) and waits until"), "{first}");
    assert!(reminder.contains("waits (for 6") && reminder.contains("lost node n2"), "{reminder}");
    assert!(messages.iter().any(|line| line.starts_with("once/1 can start again")), "{messages:?}");
}

#[test]
fn stopped_runs_wait_for_lost_nodes_again() {
    let mut place = three_that_may_not_run_twice();
    let (outcome, messages) = run_with_silent_node(&mut place, 1e6, 30.0);
    assert_eq!(outcome.summary.state, RunState::Interrupted, "{messages:?}");
    assert!(outcome.timeline.end.seconds() < 31.0, "{}", outcome.timeline.end);
    // Without new losses: the node is back, and the attempt may still run.
    let (outcome, messages) = run_with_silent_node(&mut place, 100.0, 1e6);
    assert_eq!(outcome.summary.state, RunState::Done, "{messages:?}");
    let starts = starts_of(&outcome, 0, 1);
    assert!(starts.len() == 2 && (100.0..100.2).contains(&starts[1]), "{starts:?}: {messages:?}");
    // Once the end is known, a resumed run does not wait.
    let mut place = three_that_may_not_run_twice();
    run_with_silent_node(&mut place, 1e6, 30.0);
    let (outcome, messages) = run_with_silent_node(&mut place, 0.0, 1e6);
    assert_eq!(outcome.summary.state, RunState::Done, "{messages:?}");
    assert!(starts_of(&outcome, 0, 1)[1] < 31.0, "{:?}", outcome.timeline.rows);
}
