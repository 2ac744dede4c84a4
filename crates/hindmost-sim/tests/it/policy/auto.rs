//! `auto` beside the least expected flowtime of tiny instances.
//!
//! Each decision of a run is judged alone: a policy's mean flowtime is the least one plus what its decisions lose on the mean, which
//! varies much less than flowtimes do.

use hindmost_math::distribution::Distribution;
use hindmost_sim::testing::{Run, World};
use hindmost_testing::Draw;

use super::optimum::{Instance, Optimum, State, Task, plain};
use crate::experiments::mean_and_error;

/// Seconds between the arrivals of two runs of an instance, which are over long before.
const APART: u32 = 1000;
/// How many runs of an instance follow each other, and how many of them only show the policy that copies are independent.
const RUNS: [usize; 2] = [500, 200];
/// Most copies of a task that start.
const COPIES: usize = 40;

/// What became of an attempt: its start, its end, and the end that it would have had.
type Span = [u32; 3];

/// Returns the world of these runs, and the durations of the copies of each task.
fn world(instance: &Instance) -> (World, Vec<Vec<f64>>) {
    let (mut draw, mut listed) = (Draw(7), Vec::new());
    let known = Distribution::empirical(instance.durations.iter().map(|one| f64::from(*one)).collect()).unwrap();
    let share = instance.known_from;
    let knowledge = if share < 1.0 { format!("progress({share})") } else { "age".to_owned() };
    let mut world = World::machines(instance.slots as u32).slot(1.0).knowledge(&knowledge);
    for run in 0..RUNS[0] {
        let mut of_task = || (0..COPIES).map(|_| f64::from(draw.one_of(instance.durations))).collect();
        let tasks: Vec<Vec<f64>> = instance.arrivals.iter().map(|_| of_task()).collect();
        listed.extend_from_slice(&tasks);
        for (job, tasks) in tasks.chunks(instance.tasks_of_job()).enumerate() {
            let arrival = run as u32 * APART + instance.arrivals[job];
            let name = format!("job-{}", world.jobs.len());
            world = world.job(&name).at(f64::from(arrival)).tasks(tasks.to_vec());
            let phase = &mut world.jobs.last_mut().unwrap().spec.phases[0];
            (phase.mean, phase.sd, phase.tail) = (known.mean(), known.sd(), Some(known.clone()));
        }
    }
    (world, listed)
}

/// Returns what is known at a time, before or after its decisions.
fn state(instance: &Instance, tasks: &[Vec<Span>], at: u32, decided: bool) -> State {
    let of_task = |(spans, arrival): (&Vec<Span>, &u32)| {
        if at < *arrival {
            return Task::Due(*arrival - at);
        }
        if spans.iter().any(|[_, end, would]| end == would && *end <= at) {
            return Task::Done;
        }
        let runs = |[start, end, _]: &&Span| {
            if decided { *start <= at && at < *end } else { *start < at && at <= *end }
        };
        Task::Open(
            spans.iter().filter(runs).map(|[start, _, would]| instance.seen(would - start, at - start)).collect(),
        )
    };
    plain(tasks.iter().zip(instance.arrivals).map(of_task).collect())
}

/// Returns what the decisions of each judged run lose, and the sum of the flowtimes of its jobs.
fn judge(instance: &Instance, optimum: &Optimum, run: &Run, listed: &[Vec<f64>]) -> [Vec<f64>; 2] {
    let (count, of_job) = (instance.arrivals.len(), instance.tasks_of_job());
    let (mut spans, mut flowtimes) = (vec![Vec::new(); listed.len()], vec![0.0; RUNS[0]]);
    for one in &run.attempts {
        let task = one.id.task.job.0 as usize * of_job + one.id.task.index as usize;
        let [start, end] = [one.start, one.end].map(|at| at as u32 - (task / count) as u32 * APART);
        spans[task].push([start, end, start + listed[task][one.id.copy as usize] as u32]);
    }
    for (_, job) in &run.jobs {
        flowtimes[job.arrival as usize / APART as usize] += job.finish - job.arrival;
    }
    let lost = |tasks: &[Vec<Span>]| {
        let states = (0..).map(|at| [false, true].map(|decided| state(instance, tasks, at, decided)));
        let open = states.take_while(|[before, _]| before.iter().any(|task| *task != Task::Done));
        open.map(|[before, after]| optimum.after[&after] - optimum.before[&before]).sum()
    };
    [spans.chunks(count).skip(RUNS[1]).map(lost).collect(), flowtimes.split_off(RUNS[1])]
}

/// Whether each task is a job of its own, and when the tasks arrive.
type Tasks = (bool, &'static [u32]);

const ONE: Tasks = (false, &[0]);
const TWO: Tasks = (false, &[0, 0]);
const JOBS: Tasks = (true, &[0, 0]);
const JOBS_1_APART: Tasks = (true, &[0, 1]);

const LONG: &[u32] = &[2, 2, 2, 2, 16];
const MIXED: &[u32] = &[2, 2, 2, 2, 2, 4, 4, 4, 16, 16];
const SPREAD: &[u32] = &[4, 4, 5, 5, 6, 6, 20];
const ALIKE: &[u32] = &[2, 3, 4];

fn instance(slots: usize, (each, arrivals): Tasks, durations: &'static [u32], known_from: f64) -> Instance {
    Instance { slots, arrivals, each, durations, known_from }
}

#[test]
fn the_optimum_is_what_is_known_by_hand() {
    for (instance, expected) in [
        // A copy that is not done after its 2 s starts again: 2/(4/5) s. If that is known after 1 s, each of 1/4 failures takes 1 s.
        (instance(1, ONE, LONG, 1.0), 2.5),
        (instance(1, ONE, LONG, 0.5), 2.25),
        // The second job waits for the first.
        (instance(1, JOBS, LONG, 0.5), 3.0 * 2.25),
        // The shorter of two copies, and the longer of two tasks.
        (instance(2, ONE, ALIKE, 1.0), 2.0 + 4.0 / 9.0 + 1.0 / 9.0),
        (instance(2, TWO, ALIKE, 1.0), 2.0 + 8.0 / 9.0 + 5.0 / 9.0),
        (instance(2, JOBS, ALIKE, 1.0), 3.0 + 3.0),
    ] {
        let found = Optimum::of(&instance).value();
        assert!((found - expected).abs() < 1e-6, "{instance:?}: {found} is not {expected}");
    }
}

#[test]
fn auto_is_within_3_percent_of_the_optimum() {
    for instance in [
        instance(2, ONE, MIXED, 0.5),
        instance(3, ONE, MIXED, 0.5),
        instance(2, TWO, MIXED, 0.5),
        instance(2, JOBS, MIXED, 0.5),
        instance(3, JOBS, MIXED, 0.5),
        instance(2, JOBS_1_APART, MIXED, 0.5),
        instance(2, TWO, LONG, 0.5),
        instance(2, JOBS, LONG, 0.5),
        instance(2, ONE, SPREAD, 1.0),
        instance(3, ONE, SPREAD, 1.0),
        instance(3, TWO, SPREAD, 1.0),
        instance(3, JOBS, SPREAD, 1.0),
        instance(2, ONE, ALIKE, 1.0),
        instance(3, ONE, ALIKE, 1.0),
        instance(2, TWO, ALIKE, 1.0),
        instance(3, TWO, ALIKE, 1.0),
        instance(1, JOBS, ALIKE, 1.0),
        instance(3, JOBS, ALIKE, 1.0),
        instance(1, ONE, LONG, 1.0),
        instance(1, ONE, LONG, 0.5),
        instance(1, ONE, MIXED, 0.5),
        instance(2, ONE, LONG, 0.5),
        instance(3, TWO, LONG, 0.5),
        instance(2, JOBS, SPREAD, 1.0),
    ] {
        let optimum = Optimum::of(&instance);
        let (world, listed) = world(&instance);
        let [none, auto] = [world.run("none"), world.run("auto")].map(|run| judge(&instance, &optimum, &run, &listed));
        for [lost, flowtimes] in [&none, &auto] {
            // The program and the simulator agree about what follows from decisions.
            let without: Vec<f64> = flowtimes.iter().zip(lost).map(|(flowtime, lost)| flowtime - lost).collect();
            let (mean, error) = mean_and_error(&without);
            assert!((mean - optimum.value()).abs() < 4.0 * error + 1e-6, "{instance:?}: {mean} ± {error}");
        }
        let (lost, error) = mean_and_error(&auto[0]);
        assert!(lost < 0.03 * optimum.value() + 3.0 * error, "{instance:?}: {lost} ± {error} of {}", optimum.value());
    }
}
