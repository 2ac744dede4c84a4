//! Tests that the invariants of runs hold for random jobs on random nodes with random faults.

use hindmost_core::metrics::RunState;
use hindmost_core::random::{Purpose, draw_for_attempt};
use hindmost_run::engine::Launch;
use proptest::prelude::*;

use crate::fake_engine::FakeTask;
use crate::test_run::{FinishedRun, TestRun, takes};

/// The behaviour of the attempts of a random job. It is drawn for each attempt.
#[derive(Clone, Copy, Debug)]
pub struct RandomBehaviour {
    pub seed: u64,
    /// Probability that an attempt is a straggler.
    pub slow: f64,
    /// Probability that an attempt fails.
    pub fails: f64,
    /// Probability that an attempt ends without an end marker.
    pub vanishes: f64,
    pub reports: bool,
}

impl RandomBehaviour {
    pub fn play(self, launch: &Launch<'_>) -> FakeTask {
        let draw = |purpose| draw_for_attempt(self.seed, purpose, launch.attempt);
        let (length, fate) = (draw(Purpose::Duration), draw(Purpose::Detection));
        let stretched = if draw(Purpose::Noise) < self.slow { 12.0 } else { 1.0 };
        let exit = if fate < self.fails {
            Some(7)
        } else if fate < self.fails + self.vanishes {
            None
        } else {
            Some(0)
        };
        FakeTask {
            exit,
            reports: self.reports,
            begins: if stretched > 1.0 { 1.5 } else { 0.0 },
            ..takes((2.0 + 6.0 * length) * stretched)
        }
    }
}

pub const POLICIES: [&str; 17] = [
    "none",
    "pace",
    "hadoop",
    "spark(quantile=0.5,multiplier=1.5)",
    "late(cap=0.5)",
    "mantri",
    "mantri(kill_restart=true,delta=0.1)",
    "mantri(rule=osdi2010,spare=0.5)",
    "sca",
    "sda",
    "ese",
    "srpt+mantri",
    "fifo+pace",
    "window",
    "window(window=1,slow=1)",
    "capacity+window(slow=0.9)",
    "hete_aware(slow=0.9)",
];

prop_compose! {
    fn random_behaviour()(
        seed in any::<u64>(),
        slow in 0.0..0.3,
        fails in prop_oneof![Just(0.0), 0.0..0.3],
        vanishes in prop_oneof![Just(0.0), 0.0..0.1],
        reports in any::<bool>(),
    ) -> RandomBehaviour {
        RandomBehaviour { seed, slow, fails, vanishes, reports }
    }
}

fn keys() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just(""),
        Just("retries = 0"),
        Just("idempotent = false\nretries = 3"),
        Just("time_limit = 30"),
        Just("cpus = 2\nretries = 5"),
        Just("cpus = 0.5"),
    ]
}

fn loss() -> impl Strategy<Value = String> {
    (1_u32..4, 0.1..30.0, 0.5..40.0).prop_map(|(node, lasts, at)| format!("lose=n{node}:{lasts:.2}s@{at:.2}s"))
}

fn chaos() -> impl Strategy<Value = String> {
    let slow = (1_u32..4, 1.5..9.0).prop_map(|(node, factor)| format!("slow=n{node}:{factor:.2}"));
    let parts = (
        proptest::option::of(slow),
        proptest::option::of(
            (0.0..0.4, any::<u16>()).prop_map(|(chance, seed)| format!("kill={chance:.2},seed={seed}")),
        ),
        proptest::collection::vec(loss(), 0..4),
    );
    parts.prop_map(|(slow, kill, losses)| slow.into_iter().chain(kill).chain(losses).collect::<Vec<_>>().join(","))
}

fn test_run() -> impl Strategy<Value = (TestRun, RandomBehaviour)> {
    let phases = proptest::collection::vec((1_u32..14, keys(), proptest::bool::weighted(0.4)), 1..4);
    let nodes = proptest::collection::vec(2_u32..5, 3..5);
    let knowledge =
        prop_oneof![Just("progress(0.1)"), Just("progress(0)"), Just("age"), Just("history"), Just("profiles")];
    let policy = proptest::sample::select(POLICIES.to_vec());
    (phases, nodes, policy, knowledge, chaos(), random_behaviour()).prop_map(
        |(phases, nodes, policy, knowledge, chaos, random_behaviour)| {
            let nodes: Vec<String> = nodes.iter().enumerate().map(|(at, cpus)| format!("n{}:{cpus}", at + 1)).collect();
            let mut test_run = TestRun::on(&nodes.join(",")).policy(policy).knowledge(knowledge).chaos(&chaos);
            let mut before = None;
            for (at, (tasks, keys, each)) in phases.iter().enumerate() {
                // Chains have as many tasks as the phase before.
                let (tasks, each) = before.filter(|_| *each).map_or((*tasks, ""), |tasks| (tasks, "\neach = true"));
                test_run = test_run.phase_with(&format!("p{at}"), tasks, &format!("{keys}{each}"));
                before = Some(tasks);
            }
            (test_run.behaviour(move |launch| random_behaviour.play(launch)), random_behaviour)
        },
    )
}

fn check_end(finished: &FinishedRun) {
    let summary = &finished.outcome.summary;
    match summary.state {
        RunState::Done => assert!(summary.failed_tasks.is_empty()),
        RunState::Failed => assert_eq!(summary.failed_tasks.len(), 1, "{summary:?}"),
        RunState::Abandoned => panic!("no policy of the catalogue abandons a job without deadline"),
        RunState::Interrupted => panic!("the run was interrupted"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_random_job_ends_soundly((test_run, _) in test_run()) {
        let finished = test_run.run();
        check_end(&finished);
        if finished.outcome.summary.state == RunState::Done {
            finished.done();
        }
    }
}
