//! Deadlines of scenarios, and what results say about them.

use std::sync::atomic::AtomicBool;

use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::ids::{AttemptId, NodeId, TaskId};
use hindmost_core::policy::order::Order;
use hindmost_core::policy::{Pass, Policy, Round, Seen, View};
use hindmost_core::record::Event;
use hindmost_core::time::Time;
use hindmost_core::timeline::Timeline;
use hindmost_math::statistics::{student_interval, wilson_interval};
use hindmost_sim::compare::policy_results;
use hindmost_sim::driver::{Control, RunResult};
use hindmost_sim::output::{AttemptResult, Outcome, Output};
use hindmost_sim::testing::World;

use crate::experiments::{experiment, jobs_of, run_on};

/// Returns the time from the arrival to the deadline of each job of a workload, in seconds.
fn deadlines(workload: &str) -> Vec<f64> {
    let text = format!("[cluster]\nmachines = 50\n[workload]\n{workload}\n[[policy]]\nname = \"none\"\n");
    let (_, jobs) = jobs_of(&experiment(&text), 1);
    jobs.iter().map(|job| job.deadline.expect("every job has a deadline") - job.arrival).collect()
}

#[test]
fn a_deadline_is_a_time_or_a_multiple_of_the_ideal_time() {
    let plain = "arrival = { every = { gap = 1, jobs = 3 } }\ntasks = 2\nduration = { exponential = { mean = 4 } }";
    let close = |found: &[f64], expected: f64| {
        assert!(found.iter().all(|one| (one - expected).abs() < 1e-6), "{found:?} are not {expected}");
    };
    close(&deadlines(&format!("deadline = 2.5\n{plain}")), 2.5);
    // One phase: the ideal time is the mean duration, 4 s, for any number of tasks.
    close(&deadlines(&format!("deadline_factor = 1.5\n{plain}")), 6.0);
    // What policies know of the durations does not change the deadlines.
    close(&deadlines(&format!("deadline_factor = 1.5\nduration_error = 1.0\n{plain}")), 6.0);
    // The longest path through a diamond whose sides take 3 s and 5 s: 2 + 5 + 4 = 11 s. The kind's key is used.
    let phase = |name: &str, seconds: u32, after: &str| {
        format!("[[workload.job.phase]]\nname = {name:?}\ntasks = 2\nduration = {seconds}\nafter = [{after}]\n")
    };
    let diamond = format!(
        "arrival = {{ at_once = {{ jobs = 2 }} }}\ndeadline = 1\n[[workload.job]]\nname = \"d\"\ndeadline_factor = 2\n{}{}{}{}",
        phase("top", 2, ""),
        phase("left", 3, "\"top\""),
        phase("right", 5, "\"top\""),
        phase("bottom", 4, "\"left\", \"right\"")
    );
    close(&deadlines(&diamond), 22.0);
}

#[test]
fn factors_are_drawn_for_each_job() {
    // 500 factors of uniform(1.2, 3): mean 2.1 and standard deviation 1.8/√12 = 0.5196, so their mean is within 4 standard
    // errors, 0.093, of 2.1.
    let drawn = deadlines(
        "arrival = { at_once = { jobs = 500 } }\ntasks = 1\nduration = 1\n\
         deadline_factor = { uniform = { min = 1.2, max = 3 } }",
    );
    assert!(drawn.iter().all(|factor| (1.2..=3.0).contains(factor)));
    let mean = drawn.iter().sum::<f64>() / 500.0;
    assert!((mean - 2.1).abs() < 0.093, "{mean}");
}

/// Jobs of `tasks` tasks with Pareto durations of minimum 1 s and tail index `beta`. Each task starts with `copies` copies,
/// because SCA gives each task as many as it may with γ = 0, and nothing waits. A task meets the deadline D if its shortest
/// copy does, so a job does with the probability [1 − (t_min/D)^(β·copies)]^N (Alamro,
/// Xu, Lan & Subramaniam, "Shed", the PoCD of a submitted job with r + 1 = copies).
#[test]
fn the_share_of_met_deadlines_matches_the_closed_form() {
    for (beta, tasks, copies, deadline) in [(2.0, 10, 1, 5.0), (2.0, 10, 2, 3.0), (1.5, 4, 3, 1.6), (3.0, 1, 1, 1.2)] {
        let jobs = 300;
        let experiment = experiment(&format!(
            "gamma = 0\nseeds = 8\n[cluster]\nmachines = {}\n[workload]\narrival = {{ at_once = {{ jobs = {jobs} }} }}\n\
             tasks = {tasks}\ndeadline = {deadline}\nduration = {{ pareto = {{ alpha = {beta:?}, minimum = 1 }} }}\n\
             [[policy]]\nname = \"sca\"\nmax_copies = {copies}\n",
            jobs * tasks * copies + 1
        ));
        let results = run_on(&experiment, 1);
        let expected = (1.0 - f64::powf(deadline, -beta * f64::from(copies))).powi(tasks);
        let compared = policy_results(&experiment, &results, &[]);
        let known = compared[0].deadlines.as_ref().unwrap();
        assert_eq!((known.jobs, known.met + known.missed, known.undecided), (2400, 2400, 0));
        // Jobs are independent. A normal variable exceeds 4 standard errors once in 16 000 draws.
        let error = (expected * (1.0 - expected) / 2400.0).sqrt();
        let pocd = compared[0].pocd.unwrap();
        assert!((pocd - known.met as f64 / 2400.0).abs() < 1e-12);
        assert!(
            (pocd - expected).abs() < 4.0 * error,
            "β = {beta}, {tasks} × {copies}: {pocd}, not {expected} ± {error}"
        );
    }
}

#[test]
fn results_say_what_became_of_deadlines() {
    // One machine, fifo, stopped at 10. Job a finishes at 4, 2 s before its deadline; b at 7, 1 s late; c is unfinished at 10
    // with its deadline at 10, which has passed; d with its deadline at 10.5 is undecided; e has none.
    let world = World::machines(1)
        .stop_at(10.0)
        .job("a")
        .deadline(6.0)
        .same(1, 4.0)
        .job("b")
        .deadline(6.0)
        .same(1, 3.0)
        .job("c")
        .deadline(10.0)
        .same(1, 9.0)
        .job("d")
        .deadline(10.5)
        .same(1, 1.0)
        .job("e")
        .same(1, 1.0);
    let run = world.run("fifo+none");
    let result = &run.result;
    assert_eq!((result.deadlines, result.met_deadlines, result.undecided_deadlines), (4, 1, 1));
    assert_eq!(result.lateness[..2], [Some(-2.0), Some(1.0)]);
    assert!(result.lateness[2..].iter().all(Option::is_none));
    assert_eq!((run.job("a").lateness(), run.job("b").lateness()), (Some(-2.0), Some(1.0)));
    let any = experiment(
        "[cluster]\nmachines = 1\n[workload]\narrival = { at_once = { jobs = 1 } }\ntasks = 1\nduration = 1\n\
         [[policy]]\nname = \"none\"\n",
    );
    let compared = policy_results(&any, &vec![vec![result.clone()]], &[]);
    let known = compared[0].deadlines.as_ref().unwrap();
    assert_eq!([known.jobs, known.met, known.missed, known.undecided], [4, 1, 2, 1]);
    // One of the three decided jobs has met its deadline. With one seed the interval is Wilson's.
    assert_eq!(compared[0].pocd, Some(1.0 / 3.0));
    assert_eq!(known.pocd_ci95, wilson_interval(1, 3));
    // Lateness max(0, ·) of a and b: 0 and 1; signed −2 and 1.
    assert_eq!((known.lateness.mean, known.lateness.max), (Some(0.5), Some(1.0)));
    assert_eq!((known.signed_lateness.mean, known.signed_lateness.ci95), (Some(-0.5), None));
    assert_eq!((compared[0].jobs, compared[0].unfinished_jobs, compared[0].abandoned_jobs), (5, 3, 0));
    // Two seeds with equal shares do not make the share certain: the interval is Wilson's over all their jobs.
    let interval = |seeds: Vec<RunResult>| {
        policy_results(&any, &vec![seeds], &[])[0].deadlines.as_ref().unwrap().pocd_ci95.unwrap()
    };
    assert_eq!(Some(interval(vec![result.clone(), result.clone()])), wilson_interval(2, 6));
    let all_met = RunResult { deadlines: 50, met_deadlines: 50, undecided_deadlines: 0, ..result.clone() };
    let [low, high] = interval(vec![all_met.clone(), all_met.clone()]);
    assert!(low > 0.95 && low < 0.97 && high > 0.999, "{low} {high}");
    // Different shares have Student's interval over the seeds.
    let mixed = interval(vec![all_met, result.clone()]);
    assert_eq!(Some(mixed), student_interval(&[1.0, 1.0 / 3.0]));
}

/// Collects, for each attempt, whether its phase never resumes.
struct NeverResumed<'a>(&'a mut Vec<bool>);

impl Output for NeverResumed<'_> {
    fn wants_attempts(&self) -> bool {
        true
    }

    fn attempt(&mut self, result: &AttemptResult<'_>) -> std::io::Result<()> {
        self.0.push(result.job.phases[0].never_resumed);
        Ok(())
    }
}

#[test]
fn phases_that_never_resume_are_marked() {
    let text = |keys: &str| {
        format!(
            "[cluster]\nmachines = 1\n[workload]\narrival = {{ at_once = {{ jobs = 1 }} }}\ntasks = 1\nduration = 1\n{keys}\n\
             [[policy]]\nname = \"none\"\n"
        )
    };
    for (keys, never_resumed) in [("", false), ("resumes = true", false), ("resumes = false", true)] {
        let experiment = experiment(&text(keys));
        let mut marks = Vec::new();
        let stop = AtomicBool::new(false);
        let control = Control { stop: &stop, progress: &|_| {} };
        experiment.run_one(&experiment.policies[0], 1, &mut NeverResumed(&mut marks), &control).unwrap();
        assert_eq!(marks, [never_resumed], "{keys}");
    }
}

/// Starts the pending tasks of the first job, and relaunches each from the share 0.5 after 2 s: by a start on another node,
/// or in its place.
struct FromHalf {
    replaces: bool,
}

impl Pass for FromHalf {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        if let Seen::Event(Event::JobArrived { .. }, _) = seen {
            view.wake(Time::from_seconds(2.0));
        }
    }

    fn decide(&mut self, round: &mut Round<'_>) {
        let cluster = round.cluster();
        let Some(job) = cluster.jobs().next() else { return };
        let task = TaskId { job: job.id(), phase: 0, index: 0 };
        let old = AttemptId { task, copy: 0 };
        if cluster.copies(task).count() == 0 {
            assert!(round.start(task, NodeId(0)));
        } else if cluster.now() == Time::from_seconds(2.0) && cluster.next_copy(task).is_some_and(|next| next.copy == 1)
        {
            assert!(if self.replaces { round.replace_from(old, 0.5) } else { round.start_from(task, NodeId(1), 0.5) });
        }
    }
}

/// Sorts jobs by id.
struct ById;

impl Order for ById {
    fn key(&self, job: &Job, _cluster: &Cluster) -> f64 {
        f64::from(job.id().0)
    }
}

#[test]
fn a_copy_from_progress_does_only_the_rest() {
    // The first copy takes 20 s. The second one begins at 2 and takes 6 s for all of the work, so 3 s for half of it.
    for replaces in [false, true] {
        for (never_resumed, finish) in [(false, 5.0), (true, 8.0)] {
            let mut world = World::machines(2).job("a").tasks([[20.0, 6.0]]);
            world.jobs[0].spec.phases[0].never_resumed = never_resumed;
            let run = world.run_own(move || Policy::new(Box::new(ById), vec![Box::new(FromHalf { replaces })]));
            assert_eq!(run.job("a").finish, finish, "replaces {replaces}, never resumed {never_resumed}");
            let other = if replaces { Outcome::Replaced } else { Outcome::Lost };
            let ends: Vec<_> = run.tries("a").iter().map(|one| (one.start, one.outcome)).collect();
            assert_eq!(ends, [(0.0, other), (2.0, Outcome::Won)]);
            assert!(run.verify().is_ok());
            // The timeline shows the share only if it counts.
            let timeline = Timeline::of(run.records.clone());
            assert_eq!(timeline.rows[1].from_progress, if never_resumed { 0.0 } else { 0.5 });
        }
    }
}
