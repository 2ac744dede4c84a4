//! Live runs under policies that abandon the job or start attempts from progress.

use std::fs;

use hindmost_core::cluster::Attempt;
use hindmost_core::metrics::RunState;
use hindmost_core::policy::queue_place::Which;
use hindmost_core::policy::{Pass, Policy, Round, Seen, View};
use hindmost_core::record::{Change, Decision};
use hindmost_core::testing::AtDeadline;
use hindmost_core::time::Time;
use hindmost_core::timeline::AttemptEnd;
use hindmost_policies::orders::fifo::Fifo;
use hindmost_policies::placement::job_by_job::Originals;

use crate::fake_engine::from_progress;
use crate::test_run::{TestRun, entries, journal_text, records, silently, takes, verified_as};

fn abandons() -> Policy {
    Policy::new(Box::new(Fifo), vec![Box::new(AtDeadline), Box::new(Originals::of(Which::Any))])
}

/// Four tasks of 10 s on two cpus, and a phase that waits for them; the deadline is at 15 s.
fn late_job() -> TestRun {
    TestRun::on("n1:2").keys("deadline = 15").phase("map", 4).phase("reduce", 1).own_policy(abandons)
}

#[test]
fn an_abandoned_job_ends_its_attempts_and_keeps_its_results() {
    let finished = late_job().run();
    let summary = &finished.outcome.summary;
    assert_eq!(summary.state, RunState::Abandoned);
    assert_eq!((summary.met_deadline, summary.attempts), (Some(false), 4));
    // The first two tasks finish at 10 s, the other two are stopped at 15 s.
    for (index, end) in
        [AttemptEnd::Won, AttemptEnd::Won, AttemptEnd::Abandoned, AttemptEnd::Abandoned].iter().enumerate()
    {
        assert_eq!(finished.ends(0, index as u32), std::slice::from_ref(end), "map/{index}");
    }
    assert_eq!(entries(&finished.place.out.join("map")), ["0", "1"]);
    let job = &finished.outcome.timeline.jobs[0];
    assert!(job.finish.is_none() && job.abandoned.is_some_and(|at| (at.seconds() - 15.0).abs() < 0.2));
    assert!((finished.flowtime() - 15.0).abs() < 0.5, "{}", finished.flowtime());
    let json = serde_json::to_value(summary).unwrap();
    assert_eq!(json["state"], "abandoned");
}

#[test]
fn an_abandoned_job_is_not_continued() {
    // The journal is cut after each of its records. Whatever is left, the run continues to the same end: abandoned, with the
    // results of the first two tasks.
    let place = late_job().place();
    let whole = &place.out;
    place.run();
    let made = |change: &Change| matches!(change, Change::Decision(Decision::Abandon { .. }));
    let all = records(whole);
    let abandoned = all.iter().position(|record| made(&record.change)).unwrap();
    assert!(abandoned + 4 < all.len(), "two decisions to stop and two ends follow");
    let text = journal_text(whole);
    let lines: Vec<&str> = text.lines().collect();
    for kept in abandoned + 2..=lines.len() {
        fs::write(whole.join(".hindmost/journal.jsonl"), lines[..kept].join("\n") + "\n").unwrap();
        let outcome = place.run();
        assert_eq!(outcome.summary.state, RunState::Abandoned, "{kept} lines");
        assert_eq!(outcome.summary.attempts, 4, "nothing starts again");
        assert_eq!(entries(&whole.join("map")), ["0", "1"]);
        verified_as(whole, records(whole), Some(abandons)).unwrap_or_else(|error| panic!("{kept} lines: {error}"));
    }
}

/// Starts a second copy of a task from half of its work, 8 s after the first copy, and starts originals.
struct FromHalf;

impl Pass for FromHalf {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        if let Seen::Decision(Decision::Start { .. }) = seen {
            view.wake(view.cluster.now() + Time::from_seconds(8.0));
        }
    }

    fn decide(&mut self, round: &mut Round<'_>) {
        let (now, cluster) = (round.cluster().now(), round.cluster());
        let is_old = |copy: &&Attempt| copy.id().copy == 0 && now - copy.since() >= Time::from_seconds(8.0);
        let old = cluster.running().filter(is_old).map(|copy| copy.id().task);
        let alone = old.filter(|task| cluster.copies(*task).count() == 1).collect::<Vec<_>>();
        for task in alone {
            let node = round.cluster().find_node_for_demand(round.cluster().phase(task).unwrap().demand()).unwrap();
            assert!(round.start_from(task, node, 0.5));
        }
    }
}

fn from_half() -> Policy {
    Policy::new(Box::new(Fifo), vec![Box::new(FromHalf), Box::new(Originals::of(Which::Any))])
}

#[test]
fn a_command_that_resumes_receives_the_share_that_was_reported() {
    // The first attempt takes 20 s, so at 8 s it has reported 40% of its work. The second one is to begin at 50%, but only
    // 40% were reported. It takes 5 s for all of the work, so 3 s for 60% of it, and finishes at 11 s. Without `resumes`, or
    // without reports, it does the whole work and finishes at 13 s.
    for (keys, reports, share, finish) in
        [("resumes = true", true, Some(0.4), 11.0), ("resumes = true", false, None, 13.0), ("", true, None, 13.0)]
    {
        let behaviour = move |launch: &hindmost_run::engine::Launch<'_>| {
            let from = from_progress(launch);
            let seconds = if launch.attempt.copy == 0 { 20.0 } else { 5.0 * (1.0 - from.unwrap_or(0.0)) };
            assert!(launch.attempt.copy > 0 || from.is_none());
            let near = |share: f64, from: f64| (share - from).abs() < 0.06;
            assert!(launch.attempt.copy == 0 || share.map_or(from.is_none(), |share| near(share, from.unwrap())));
            if reports { takes(seconds) } else { silently(seconds) }
        };
        let test_run = TestRun::on("n1:1,n2:1").phase_with("map", 1, keys).own_policy(from_half).behaviour(behaviour);
        let finished = test_run.run().done();
        assert!((finished.flowtime() - finish).abs() < 0.4, "{keys}, {reports}: {}", finished.flowtime());
        assert_eq!(finished.ends(0, 0), [AttemptEnd::Lost, AttemptEnd::Won]);
        let decided = records(&finished.place.out).into_iter().filter_map(|record| match record.change {
            Change::Decision(Decision::Start { from_progress, .. }) => Some(from_progress),
            _ => None,
        });
        assert_eq!(decided.collect::<Vec<f64>>(), [0.0, 0.5]);
        let known = if keys.is_empty() { 0.0 } else { 0.5 };
        assert_eq!(finished.outcome.timeline.rows[1].from_progress, known);
    }
}
