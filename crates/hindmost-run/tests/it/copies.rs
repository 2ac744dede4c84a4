//! Tests that copies save time if a node is slow, and that no copies are started if no attempt is slow.

use hindmost_core::ids::AttemptId;
use hindmost_core::random::{Purpose, draw_for_attempt};
use hindmost_core::timeline::{AttemptEnd, TimelineRow};
use hindmost_math::distribution::Distribution;
use hindmost_run::engine::Launch;

use crate::fake_engine::FakeTask;
use crate::test_run::{FinishedRun, TestRun, silently, takes};

const TASKS: u32 = 40;
const SECONDS: f64 = 10.0;

fn four_nodes(policy: &str, chaos: &str, knowledge: &str, play: FakeTask) -> FinishedRun {
    let test_run = TestRun::on_nodes(4).phase("map", TASKS).policy(policy).knowledge(knowledge).chaos(chaos);
    test_run.behaviour(move |_| play).run().done()
}

/// Returns the time that this many nodes need for all tasks in waves, in seconds.
fn waves(nodes: u32) -> f64 {
    f64::from(TASKS.div_ceil(nodes)) * SECONDS
}

#[test]
fn a_slow_node_costs_pace_little() {
    for (knowledge, play) in [("progress(0.1)", takes(SECONDS)), ("age", silently(SECONDS))] {
        let even = four_nodes("pace", "", knowledge, play).flowtime();
        let slowed = four_nodes("pace", "slow=n4:8", knowledge, play);
        let waiting = four_nodes("none", "slow=n4:8", knowledge, play).flowtime();
        let (time, copies) = (slowed.flowtime(), slowed.copies());
        println!(
            "{knowledge}: {even} s, with a node 8 times as slow {time:.1} s ({:.2} times as long, {copies} copies), \
             without copies {waiting} s ({:.2} times as long)",
            time / even,
            waiting / even
        );
        assert_eq!(even, waves(4));
        // The other three nodes do all the work. One more wave is needed to detect the slow node, and one for the last backup.
        assert!(time <= waves(3) + 2.0 * SECONDS, "{knowledge}: {time}");
        assert!(copies <= u64::from(TASKS / 4), "{knowledge}: {copies} copies");
    }
}

#[test]
fn a_slow_node_at_the_end_of_a_phase_costs_pace_little() {
    // One wave: without copies the job waits eight times as long for the slow node.
    for (knowledge, play) in [("progress(0.1)", takes(SECONDS)), ("age", silently(SECONDS))] {
        let test_run = |policy| {
            let test_run = TestRun::on_nodes(8).phase("map", 8).policy(policy).knowledge(knowledge).chaos("slow=n8:8");
            test_run.behaviour(move |_| play).run().done()
        };
        let (time, waiting) = (test_run("pace").flowtime(), test_run("none").flowtime());
        println!("{knowledge}: one wave of {SECONDS} s takes {time:.1} s, without copies {waiting} s");
        assert_eq!(waiting, 8.0 * SECONDS);
        // Resources for the backup are free after the first wave, and the backup takes as long as a wave. With knowledge `age`,
        // the straggler is detected half a wave later.
        assert!(time <= 2.5 * SECONDS, "{knowledge}: {time}");
        assert!(time >= 2.0 * SECONDS, "{knowledge}: {time}");
    }
}

#[test]
fn a_slow_node_is_detected_by_age_within_one_wave() {
    let test_run =
        TestRun::on("n1:4,n2:4,n3:4,n4:4").phase("map", 24).policy("pace").knowledge("age").chaos("slow=n4:8");
    let finished = test_run.behaviour(|_| silently(SECONDS)).run().done();
    let backups = finished.outcome.timeline.rows.iter().filter(|row| row.attempt.copy > 0);
    let started: Vec<f64> = backups.map(|row| row.start.seconds()).collect();
    // Age alone reveals the slow node before the second wave of the other nodes ends.
    assert!(!started.is_empty() && started.iter().all(|start| *start < 1.8 * SECONDS), "backups from {started:?} on");
    assert!(finished.flowtime() <= 2.8 * SECONDS, "{}", finished.flowtime());
}

#[test]
fn pace_equals_none_without_stragglers() {
    for (knowledge, play) in [("progress(0.1)", takes(SECONDS)), ("age", silently(SECONDS))] {
        let pace = four_nodes("pace", "", knowledge, play);
        let none = four_nodes("none", "", knowledge, play);
        assert_eq!((pace.copies(), none.copies()), (0, 0), "{knowledge}");
        assert_eq!(pace.flowtime(), none.flowtime(), "{knowledge}");
        assert_eq!(pace.flowtime(), waves(4), "{knowledge}");
    }
}

#[test]
fn one_bad_attempt_gets_one_backup() {
    for policy in ["pace", "mantri", "spark", "hadoop", "late(cap=1)", "window", "hete_aware"] {
        let test_run = TestRun::on_nodes(5).phase("map", 20).policy(policy).behaviour(|launch| {
            takes(if (launch.attempt.task.index, launch.attempt.copy) == (7, 0) { 500.0 } else { SECONDS })
        });
        let finished = test_run.run().done();
        let ends = finished.ends(0, 7);
        assert_eq!(ends.last(), Some(&AttemptEnd::Won), "{policy}: {ends:?}");
        assert!(ends.len() == 2, "{policy}: {ends:?}");
        // Four waves, and one more for the backup. `spark` starts a backup once 90% of the tasks are
        // done and the attempt has run for three median durations.
        assert!(finished.flowtime() <= 100.0, "{policy}: {}", finished.flowtime());
        println!("{policy}: {:.1} s, {} copies", finished.flowtime(), finished.copies());
    }
}

#[test]
fn mantri_replaces_without_free_resources() {
    // Two cpus and many tasks: a straggler is stopped and relaunched in its own resources.
    let test_run = TestRun::on("n1:1,n2:1").phase("map", 20).policy("mantri(kill_restart=true)").behaviour(|launch| {
        takes(if (launch.attempt.task.index, launch.attempt.copy) == (9, 0) { 1000.0 } else { SECONDS })
    });
    let finished = test_run.run().done();
    let ends = finished.ends(0, 9);
    assert!(ends.contains(&AttemptEnd::Replaced), "{ends:?}");
    assert_eq!(ends.last(), Some(&AttemptEnd::Won), "{ends:?}");
    assert_eq!(
        finished.nodes_of(0, 9).windows(2).filter(|pair| pair[0] != pair[1]).count(),
        0,
        "{:?}",
        finished.nodes_of(0, 9)
    );
    assert!(finished.flowtime() < 200.0, "{}", finished.flowtime());
}

#[test]
fn an_attempt_may_be_replaced_more_than_once() {
    // One cpu: resources for a second copy are never free.
    let test_run = TestRun::on("n1:1").phase("map", 12).policy("mantri(kill_restart=true)").behaviour(|launch| {
        takes(if launch.attempt.task.index == 5 && launch.attempt.copy < 3 { 1000.0 } else { SECONDS })
    });
    let finished = test_run.run().done();
    let replaced = finished.ends(0, 5).iter().filter(|end| **end == AttemptEnd::Replaced).count();
    assert!(replaced >= 2, "{:?}", finished.ends(0, 5));
}

#[test]
fn a_job_is_done_if_the_node_of_a_replaced_attempt_is_lost() {
    for at in 1..40 {
        let chaos = format!("slow=n2:8,lose=n2:7s@{at}s");
        let test_run = TestRun::on("n1:1,n2:1").phase("map", 12).policy("mantri(kill_restart=true)").chaos(&chaos);
        test_run.behaviour(|_| takes(SECONDS)).run().done();
    }
}

#[test]
fn a_copy_that_is_kept_ends_with_the_job() {
    // The first copies would take 1000 s, so the clones win. The first copies are kept: that of the map task while the
    // reduce task runs, and that of the reduce task until the job is done.
    let test_run = TestRun::on_nodes(4).phase("map", 1).phase("reduce", 1);
    let test_run = test_run.policy("dollymp(clones=1,keep=best_locality)");
    let finished =
        test_run.behaviour(|launch| takes(if launch.attempt.copy == 0 { 1000.0 } else { SECONDS })).run().done();
    assert_eq!(finished.flowtime(), 2.0 * SECONDS);
    for phase in 0..2 {
        assert_eq!(finished.ends(phase, 0), [AttemptEnd::Lost, AttemptEnd::Won]);
    }
    let ends = finished.outcome.timeline.rows.iter().map(|row| row.end.seconds());
    assert!(ends.into_iter().all(|end| end <= 2.0 * SECONDS), "an attempt runs after the end of the job");
    // With S = SECONDS: the winners used S each, the first map copy 2 S, the first reduce copy S. So the losers' share of
    // the slot-time is 3 S of 5 S.
    let summary = &finished.outcome.summary;
    assert_eq!((summary.copies.launched, summary.copies.won), (2, 2));
    assert!((summary.copies.wasted_share - 3.0 / 5.0).abs() < 1e-9, "{}", summary.copies.wasted_share);
    let of_phases: Vec<f64> = summary.phases.iter().map(|phase| phase.copies.wasted_share).collect();
    assert!((of_phases[0] - 2.0 / 3.0).abs() < 1e-9 && (of_phases[1] - 0.5).abs() < 1e-9, "{of_phases:?}");
    assert!(summary.phases.iter().all(|phase| phase.broken == 0), "a loser counts as broken");
}

#[test]
fn a_budget_too_small_for_a_clone_is_reported() {
    // 5% of four cpus is less than one cpu, so no task is cloned and a message says why. With a budget of 100%, all four
    // copies of the two tasks fit; with a budget of 50%, their two clones do.
    let test_run = |policy: &str| TestRun::on_nodes(4).phase("map", 2).policy(policy);
    let messages = test_run("dolly").messages();
    assert!(
        messages.iter().any(|line| line.starts_with("dolly will clone no task of this job: its budget")),
        "{messages:?}"
    );
    assert_eq!(test_run("dolly").run().done().copies(), 0);
    for policy in [
        "dolly(budget=1,utilization=1)",
        "dolly(budget=0.5,utilization=1,admission=clones)",
        "dollymp(budget=0.5)",
        "dollymp",
    ] {
        assert_eq!(test_run(policy).messages(), [""; 0], "{policy}");
        assert!(test_run(policy).run().done().copies() > 0, "{policy}");
    }
}

#[test]
fn a_silent_original_runs_until_its_copy_has_finished() {
    // Durations vary independently of the node, so a node may look slow for a while. Stopping an original because its copy is
    // expected to finish earlier would then cost twice the time.
    let durations = Distribution::log_normal(0.4, 1.0).unwrap();
    let play = move |launch: &Launch<'_>| {
        let original = AttemptId { copy: 0, ..launch.attempt };
        silently(durations.quantile(draw_for_attempt(3, Purpose::Duration, original)))
    };
    let finished = TestRun::on("n1:4,n2:4").phase("map", 80).policy("pace").behaviour(play).run().done();
    let rows = &finished.outcome.timeline.rows;
    let finish_of = |row: &TimelineRow| {
        let won = |other: &&TimelineRow| other.attempt.task == row.attempt.task && other.outcome == AttemptEnd::Won;
        rows.iter().find(won).map(|winner| winner.end)
    };
    for row in rows.iter().filter(|row| row.outcome != AttemptEnd::Won) {
        assert!(
            finish_of(row).is_some_and(|finish| row.end >= finish),
            "stopped before its copy had finished: {row:?}"
        );
    }
}

#[test]
fn short_tasks_that_hang_get_copies_at_little_cost() {
    // Tasks of 20 ms on 8 slots, of which each hundredth one hangs for an hour. Copies take 20 ms.
    let hangs = |launch: &Launch<'_>| launch.attempt.task.index % 100 == 50 && launch.attempt.copy == 0;
    let test_run = TestRun::on("n1:8").phase("map", 1000).policy("pace").knowledge("age");
    let finished = test_run.behaviour(move |launch| silently(if hangs(launch) { 3600.0 } else { 0.02 })).run().done();
    // Without hung tasks 1000 · 0.02 s / 8 = 2.5 s. A hung attempt is found at the age of 0.2 s at the earliest, and blocks a slot
    // until then; `pace` waits for ages that the durations do not explain, which are 0.2 s too.
    let (time, copies) = (finished.flowtime(), finished.copies());
    assert!((10..=20).contains(&copies), "{copies} copies");
    assert!((2.5..4.0).contains(&time), "{time}");
    let backups = finished.outcome.timeline.rows.iter().filter(|row| row.attempt.copy > 0);
    for row in backups {
        let original = AttemptId { copy: 0, ..row.attempt };
        let began = finished.outcome.timeline.rows.iter().find(|row| row.attempt == original).unwrap().start;
        assert!((row.start - began).seconds() >= 0.2, "{row:?}");
    }
    // No attempt is watched on its own: the journal has a few records for each interval of 0.2 s.
    let journal = crate::test_run::journal_text(&finished.place.out);
    let watches = journal.lines().filter(|line| line.contains("\"watch\"") || line.contains("\"wake\"")).count();
    assert!(watches < 300, "{watches} of {} records", journal.lines().count());
}
