//! The events that a learner makes of profiles.

use std::sync::Arc;

use hindmost_core::ids::JobId;
use hindmost_core::record::Event;
use hindmost_core::workload::{JobSpec, PhaseSpec};
use hindmost_profiles::{Known, Learner, MOST_PROFILES, Store};

use crate::support::profile_of;

fn job(name: &str) -> JobSpec {
    let phase: PhaseSpec =
        serde_json::from_str(r#"{"name":"map","after":[],"tasks":12,"demand":{},"mean":1.0,"sd":null,"tail":null}"#)
            .unwrap();
    JobSpec::new(name, vec![phase])
}

#[test]
fn profiles_of_earlier_runs_are_recalled_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("p"), MOST_PROFILES).unwrap();
    let mut all = Vec::new();
    for at in 0..10 {
        all.push(profile_of("etl", "a", 10.0 + f64::from(at % 2)));
        all.push(profile_of("etl", "b", 20.0));
    }
    store.add(&all).unwrap();
    let mut learner = Learner::new(Arc::new(Known::all(&store).unwrap()));
    assert!(learner.recall(&job("sort-1")).is_empty());
    let events = learner.recall(&job("etl-1"));
    assert!(matches!(&events[0], Event::ProfilesRecalled { profiles } if **profiles == all[..]));
    // Weights of the phase and of both nodes.
    let nodes: Vec<Option<&str>> = events[1..]
        .iter()
        .map(|event| match event {
            Event::WeightsFitted { weights } => weights.node.as_deref(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(nodes, [None, Some("a"), Some("b")]);
    // Ten durations of 20 s, five of 10 s and five of 11 s: the tenth is 11 s, the eighteenth 20 s.
    let learned = learner.arrived(JobId(4), &job("etl-1"));
    let [Event::DurationsLearned { job: JobId(4), phase: 0, median, p90, samples, durations, .. }] = &learned[..]
    else {
        panic!("{learned:?}");
    };
    assert_eq!((*median, *p90, *samples), (11.0, 20.0, 20));
    assert!((durations.mean() - 15.25).abs() < 1e-9);
    // The second job of the type finds its durations, and nothing is recalled again.
    assert!(learner.recall(&job("etl-2")).is_empty());
    assert_eq!(learner.arrived(JobId(5), &job("etl-2")).len(), 1);
}

#[test]
fn weights_are_fitted_again_when_profiles_have_doubled() {
    let mut learner = Learner::new(Arc::new(Known::default()));
    let mut fitted = Vec::new();
    for at in 1..=40u32 {
        let profile = Arc::new(profile_of("etl", "a", 5.0 + f64::from(at % 3)));
        fitted.extend(learner.finished(&profile).iter().map(|_| at));
    }
    // For the phase and for its only node, at 8, 16 and 32 profiles.
    assert_eq!(fitted, [8, 8, 16, 16, 32, 32]);
}
