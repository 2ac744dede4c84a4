//! Runs of random jobs on random nodes under random trouble: whatever happens, they are sound.

use hindmost_core::metrics::RunState;
use hindmost_core::random::{Purpose, draw_for_attempt};
use hindmost_run::engine::Launch;
use proptest::prelude::*;

use crate::fake_engine::FakeTask;
use crate::story::{Story, Told};

/// What attempts of a random story do, drawn for each of them.
#[derive(Clone, Copy, Debug)]
pub struct Temper {
    pub seed: u64,
    /// Chance that an attempt is a straggler.
    pub slow: f64,
    /// Chance that it fails.
    pub fails: f64,
    /// Chance that it vanishes.
    pub vanishes: f64,
    pub reports: bool,
}

impl Temper {
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
        FakeTask { seconds: (2.0 + 6.0 * length) * stretched, exit, reports: self.reports }
    }
}

pub const POLICIES: [&str; 12] = [
    "none",
    "pace",
    "hadoop",
    "spark(quantile=0.5,multiplier=1.5)",
    "late(cap=0.5)",
    "mantri",
    "mantri(kill_restart=true,delta=0.1)",
    "sca",
    "sda",
    "ese",
    "srpt+mantri",
    "fifo+pace",
];

prop_compose! {
    fn temper()(
        seed in any::<u64>(),
        slow in 0.0..0.3,
        fails in prop_oneof![Just(0.0), 0.0..0.3],
        vanishes in prop_oneof![Just(0.0), 0.0..0.1],
        reports in any::<bool>(),
    ) -> Temper {
        Temper { seed, slow, fails, vanishes, reports }
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
    (1_u32..4, 0.1..30.0, 0.5..40.0).prop_map(|(node, away, at)| format!("lose=n{node}:{away:.2}s@{at:.2}s"))
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

fn story() -> impl Strategy<Value = (Story, Temper)> {
    let phases = proptest::collection::vec((1_u32..14, keys()), 1..4);
    let nodes = proptest::collection::vec(2_u32..5, 3..5);
    let knowledge = prop_oneof![Just("progress(0.1)"), Just("progress(0)"), Just("age"), Just("history")];
    let policy = proptest::sample::select(POLICIES.to_vec());
    (phases, nodes, policy, knowledge, chaos(), temper()).prop_map(
        |(phases, nodes, policy, knowledge, chaos, temper)| {
            let nodes: Vec<String> = nodes.iter().enumerate().map(|(at, cpus)| format!("n{}:{cpus}", at + 1)).collect();
            let mut story = Story::on(&nodes.join(",")).policy(policy).knowledge(knowledge).chaos(&chaos);
            for (at, (tasks, keys)) in phases.iter().enumerate() {
                story = story.phase_with(&format!("p{at}"), *tasks, keys);
            }
            (story.plays(move |launch| temper.play(launch)), temper)
        },
    )
}

fn ended_rightly(told: &Told) {
    let summary = &told.outcome.summary;
    match summary.state {
        RunState::Done => assert!(summary.failed_tasks.is_empty()),
        RunState::Failed => assert_eq!(summary.failed_tasks.len(), 1, "{summary:?}"),
        RunState::Interrupted => panic!("nobody interrupted it"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_story_ends_and_is_sound((story, _) in story()) {
        let told = story.run();
        ended_rightly(&told);
        if told.outcome.summary.state == RunState::Done {
            told.done();
        }
    }
}
