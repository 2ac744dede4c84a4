//! What copies are worth on a slow node, and that there are none where nothing is slow.

use hindmost_core::ids::AttemptId;
use hindmost_core::random::{Purpose, draw_for_attempt};
use hindmost_core::timeline::{AttemptEnd, TimelineRow};
use hindmost_math::distribution::Distribution;
use hindmost_run::engine::Launch;

use crate::fake_engine::FakeTask;
use crate::story::{Story, Told, silently, takes};

const TASKS: u32 = 40;
const SECONDS: f64 = 10.0;

fn four_nodes(policy: &str, chaos: &str, knowledge: &str, play: FakeTask) -> Told {
    let story = Story::on_nodes(4).phase("map", TASKS).policy(policy).knowledge(knowledge).chaos(chaos);
    story.plays(move |_| play).run().done()
}

/// The time that so many nodes need for all tasks, one wave after the other.
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
        // The other three do all of it; a wave to find the node out, and one for the last backup.
        assert!(time <= waves(3) + 2.0 * SECONDS, "{knowledge}: {time}");
        assert!(copies <= u64::from(TASKS / 4), "{knowledge}: {copies} copies");
    }
}

#[test]
fn a_slow_node_at_the_end_of_a_phase_costs_pace_little() {
    // One wave: whoever waits for the slow node waits eight times as long.
    for (knowledge, play) in [("progress(0.1)", takes(SECONDS)), ("age", silently(SECONDS))] {
        let story = |policy| {
            let story = Story::on_nodes(8).phase("map", 8).policy(policy).knowledge(knowledge).chaos("slow=n8:8");
            story.plays(move |_| play).run().done()
        };
        let (time, waiting) = (story("pace").flowtime(), story("none").flowtime());
        println!("{knowledge}: one wave of {SECONDS} s takes {time:.1} s, without copies {waiting} s");
        assert_eq!(waiting, 8.0 * SECONDS);
        // The backup has room once the first wave is done, and takes as long again; by age half a wave
        // more passes before it is clear.
        assert!(time <= 2.5 * SECONDS, "{knowledge}: {time}");
        assert!(time >= 2.0 * SECONDS, "{knowledge}: {time}");
    }
}

#[test]
fn a_slow_node_is_found_out_within_a_wave_of_tasks_that_tell_nothing() {
    let story = Story::on("n1:4,n2:4,n3:4,n4:4").phase("map", 24).policy("pace").knowledge("age").chaos("slow=n4:8");
    let told = story.plays(|_| silently(SECONDS)).run().done();
    let backups = told.outcome.timeline.rows.iter().filter(|row| row.attempt.copy > 0);
    let started: Vec<f64> = backups.map(|row| row.start.seconds()).collect();
    // The others' second wave has still to end when age alone has told.
    assert!(!started.is_empty() && started.iter().all(|start| *start < 1.8 * SECONDS), "backups from {started:?} on");
    assert!(told.flowtime() <= 2.8 * SECONDS, "{}", told.flowtime());
}

#[test]
fn without_stragglers_pace_is_no_different_from_none() {
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
    for policy in ["pace", "mantri", "spark", "hadoop", "late(cap=1)"] {
        let story = Story::on_nodes(5).phase("map", 20).policy(policy).plays(|launch| {
            takes(if (launch.attempt.task.index, launch.attempt.copy) == (7, 0) { 500.0 } else { SECONDS })
        });
        let told = story.run().done();
        let ends = told.ends(0, 7);
        assert_eq!(ends.last(), Some(&AttemptEnd::Won), "{policy}: {ends:?}");
        assert!(ends.len() == 2, "{policy}: {ends:?}");
        // Four waves, one more for the backup; `spark` waits for 90 % and three medians.
        assert!(told.flowtime() <= 100.0, "{policy}: {}", told.flowtime());
        println!("{policy}: {:.1} s, {} copies", told.flowtime(), told.copies());
    }
}

#[test]
fn mantri_replaces_where_there_is_no_room() {
    // Two cpus and many tasks: a straggler among them is stopped and started afresh in its own room.
    let story = Story::on("n1:1,n2:1").phase("map", 20).policy("mantri(kill_restart=true)").plays(|launch| {
        takes(if (launch.attempt.task.index, launch.attempt.copy) == (9, 0) { 1000.0 } else { SECONDS })
    });
    let told = story.run().done();
    let ends = told.ends(0, 9);
    assert!(ends.contains(&AttemptEnd::Replaced), "{ends:?}");
    assert_eq!(ends.last(), Some(&AttemptEnd::Won), "{ends:?}");
    assert_eq!(
        told.nodes_of(0, 9).windows(2).filter(|pair| pair[0] != pair[1]).count(),
        0,
        "{:?}",
        told.nodes_of(0, 9)
    );
    assert!(told.flowtime() < 200.0, "{}", told.flowtime());
}

#[test]
fn an_attempt_may_be_replaced_more_than_once() {
    // One cpu: there is never room for a second copy.
    let story = Story::on("n1:1").phase("map", 12).policy("mantri(kill_restart=true)").plays(|launch| {
        takes(if launch.attempt.task.index == 5 && launch.attempt.copy < 3 { 1000.0 } else { SECONDS })
    });
    let told = story.run().done();
    let replaced = told.ends(0, 5).iter().filter(|end| **end == AttemptEnd::Replaced).count();
    assert!(replaced >= 2, "{:?}", told.ends(0, 5));
}

#[test]
fn the_node_of_a_replaced_attempt_is_lost() {
    for at in 1..40 {
        let chaos = format!("slow=n2:8,lose=n2:7s@{at}s");
        let story = Story::on("n1:1,n2:1").phase("map", 12).policy("mantri(kill_restart=true)").chaos(&chaos);
        story.plays(|_| takes(SECONDS)).run().done();
    }
}

#[test]
fn a_copy_that_is_kept_ends_with_the_job() {
    // The first copies would take a thousand seconds; the clones win, and the first copies are kept: of the map
    // beside the reduce, and of the reduce until the job is done.
    let story = Story::on_nodes(4).phase("map", 1).phase("reduce", 1);
    let story = story.policy("dollymp(clones=1,keep=best_locality)");
    let told = story.plays(|launch| takes(if launch.attempt.copy == 0 { 1000.0 } else { SECONDS })).run().done();
    assert_eq!(told.flowtime(), 2.0 * SECONDS);
    for phase in 0..2 {
        assert_eq!(told.ends(phase, 0), [AttemptEnd::Lost, AttemptEnd::Won]);
    }
    let ends = told.outcome.timeline.rows.iter().map(|row| row.end.seconds());
    assert!(ends.into_iter().all(|end| end <= 2.0 * SECONDS), "nothing runs on");
    // With S = SECONDS: the winners held S each, the first map 2 S, the first reduce S: 3 S of 5 S are the losers'.
    let summary = &told.outcome.summary;
    assert_eq!((summary.copies.launched, summary.copies.won), (2, 2));
    assert!((summary.copies.wasted_share - 3.0 / 5.0).abs() < 1e-9, "{}", summary.copies.wasted_share);
    let of_phases: Vec<f64> = summary.phases.iter().map(|phase| phase.copies.wasted_share).collect();
    assert!((of_phases[0] - 2.0 / 3.0).abs() < 1e-9 && (of_phases[1] - 0.5).abs() < 1e-9, "{of_phases:?}");
    assert!(summary.phases.iter().all(|phase| phase.broken == 0), "a loser is not broken");
}

#[test]
fn a_budget_without_room_for_a_clone_is_said() {
    // A twentieth of four cpus is no cpu: nothing is cloned, and a line says why. Half of them are two cpus.
    let story = |policy: &str| Story::on_nodes(4).phase("map", 2).policy(policy);
    let said = story("dolly").messages();
    assert!(said.iter().any(|line| line.starts_with("dolly will clone no task of this job: its budget")), "{said:?}");
    assert_eq!(story("dolly").run().done().copies(), 0);
    for policy in ["dolly(budget=0.5,utilization=1)", "dollymp(budget=0.5)", "dollymp"] {
        assert_eq!(story(policy).messages(), [""; 0], "{policy}");
        assert!(story(policy).run().done().copies() > 0, "{policy}");
    }
}

#[test]
fn a_silent_original_runs_until_its_copy_has_finished() {
    // Lengths that vary for reasons of their own make a node look slow for a while: whoever stops an original because a
    // copy is expected sooner pays twice.
    let durations = Distribution::log_normal(0.4, 1.0).unwrap();
    let play = move |launch: &Launch<'_>| {
        let original = AttemptId { copy: 0, ..launch.attempt };
        silently(durations.quantile(draw_for_attempt(3, Purpose::Duration, original)))
    };
    let told = Story::on("n1:4,n2:4").phase("map", 80).policy("pace").plays(play).run().done();
    let rows = &told.outcome.timeline.rows;
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
