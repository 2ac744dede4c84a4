//! `mantri(rule=osdi2010)`: Mantri as its own paper states it, in instances small enough to work out by hand, and against
//! a simulation written from Pseudocode 1.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use hindmost_sim::output::Outcome::{Lost, Replaced, Won};
use hindmost_sim::testing::World;
use proptest::prelude::*;

/// Durations with E = 20 s and F⁻¹(1/4) = 10 s. Tasks report progress every Δ = min(10 s, E/10) = 2 s. While tasks wait, a
/// straggler is restarted if t_rem > 20 + 2, and duplicated if t_rem > 10·(c + 1)/c. While none waits, it is duplicated if
/// t_rem > 20 + 3·2.
const TWENTY: &str = "uniform(min=0,max=40)";

const OSDI: &str = "fifo+mantri(rule=osdi2010)";
/// Without kill-restart, so that only duplicates start.
const DUPLICATES: &str = "fifo+mantri(rule=osdi2010,max_restarts=0)";

/// The task of job a runs on the first machine. On the others, tasks of job b run for 1 s each, so that tasks wait.
fn contended(machines: u32, waiting: u32, copies: &[f64]) -> World {
    let world = World::machines(machines).job("a").tasks([copies.iter().copied()]).tail(TWENTY);
    world.job("b").tasks((0..waiting).map(|_| [1.0])).tail("constant(value=1)")
}

#[test]
fn a_straggler_is_restarted_elsewhere_while_tasks_wait() {
    // At 1 the second machine is free, and tasks of b wait. 22.5 s of a are left, more than 20 + 2. So a starts again
    // there, and b gets the first machine at once.
    let run = contended(2, 4, &[23.5, 5.0]).run(OSDI);
    assert_eq!(run.table("a"), [(0, 0, 0, 0.0, 1.0, Replaced), (0, 1, 1, 1.0, 6.0, Won)]);
    assert_eq!((run.tries("b")[1].node, run.tries("b")[1].start), (0, 1.0));
    // Of 23 s, 22 s are left at 1. That is not above 22 s, but above 2·10 s: the original goes on beside a duplicate.
    let run = contended(2, 4, &[23.0, 5.0]).run(OSDI);
    assert_eq!(run.table("a"), [(0, 0, 0, 0.0, 6.0, Lost), (0, 1, 1, 1.0, 6.0, Won)]);
    // Of 21 s, 20 s are left at 1: too little for both.
    assert_eq!(contended(2, 4, &[21.0, 5.0]).run(OSDI).backups("a"), []);
}

#[test]
fn a_task_is_restarted_at_most_three_times() {
    // Each restart waits for Δ = 2 s after the one before. The fourth time, 58 s are left, more than 2·10 s: a duplicate.
    let run = contended(2, 20, &[60.0, 60.0, 60.0, 60.0, 3.0]).run(OSDI);
    assert_eq!(
        run.table("a"),
        [
            (0, 0, 0, 0.0, 1.0, Replaced),
            (0, 1, 1, 1.0, 3.0, Replaced),
            (0, 2, 0, 3.0, 5.0, Replaced),
            (0, 3, 1, 5.0, 10.0, Lost),
            (0, 4, 0, 7.0, 10.0, Won)
        ]
    );
    // Xu & Lau's rule with kill_restart restarts at 0, because no machine is free, and on the same machine.
    let run = contended(2, 20, &[60.0, 60.0, 60.0, 60.0, 3.0]).run("fifo+mantri(kill_restart=true)");
    assert_eq!(run.table("a")[1], (0, 1, 0, 0.0, 0.0, Replaced));
}

#[test]
fn a_second_duplicate_needs_only_three_halves_of_a_new_copy() {
    // At 1, 30 s are left, more than 2·10 s: the first duplicate. At 3 it has reported, and 18 s are left: less than
    // 2·10 s, but more than 1.5·10 s, so with c = 2 another copy saves resources. This copy takes 40 s. At 5 it has run
    // for Δ and is slower than the two others, so it is stopped. 16 s are left, which pays for another copy, on the same
    // machine. It takes 4 s; now the original is the slowest of three and is stopped at once.
    let run = contended(3, 30, &[31.0, 20.0, 40.0, 4.0]).run(DUPLICATES);
    assert_eq!(
        run.table("a"),
        [(0, 0, 0, 0.0, 5.0, Lost), (0, 1, 1, 1.0, 9.0, Lost), (0, 2, 2, 3.0, 5.0, Lost), (0, 3, 2, 5.0, 9.0, Won)]
    );
    // A first duplicate of 17 s has 15 s left at 3, not above 1.5·10 s.
    assert_eq!(contended(3, 30, &[31.0, 17.0, 9.0]).run(DUPLICATES).backups("a"), [(0, 1.0)]);
    // With δ = 0.375, F⁻¹(δ) is 15 s and the limits are 30 and 22.5 s.
    let strict = "fifo+mantri(rule=osdi2010,max_restarts=0,delta=0.375)";
    assert_eq!(contended(3, 30, &[31.0, 20.0]).run(strict).backups("a"), []);
    // Xu & Lau's rule never gives a task a third copy.
    assert_eq!(contended(3, 30, &[31.0, 20.0]).run("fifo+mantri").backups("a"), [(0, 1.0)]);
}

#[test]
fn a_backup_must_save_time_while_no_task_waits() {
    let alone = |seconds: f64| World::machines(3).job("a").tasks([[seconds, 5.0]]).tail(TWENTY);
    // 26 s are above 2·10 s, but not above 20 + 3·2 s.
    assert_eq!(alone(26.0).run(OSDI).backups("a"), []);
    assert_eq!(alone(26.0).run("mantri").backups("a"), [(0, 0.0)]);
    assert_eq!(alone(26.5).run(OSDI).backups("a"), [(0, 0.0)]);
    assert_eq!(alone(26.0).run("fifo+mantri(rule=osdi2010,spare=2)").backups("a"), [(0, 0.0)]);
    // Reports every second: Δ = 1 s, and the limit is 20 + 3·1 s.
    assert_eq!(alone(23.5).run("fifo+mantri(rule=osdi2010,report=1)").backups("a"), [(0, 0.0)]);
    // Both machines are busy until 1. Then 29 s of 30 s are left.
    let busy = World::machines(2).job("a").tasks([[30.0, 5.0]]).tail(TWENTY).job("b").tasks([[1.0]]);
    assert_eq!(busy.run(OSDI).backups("a"), [(0, 1.0)]);
    assert_eq!(alone(30.0).run("fifo+mantri(rule=osdi2010,backups=false)").backups("a"), []);
}

#[test]
fn a_task_gets_a_limited_number_of_duplicates() {
    // Every copy takes 1000 s, so each test passes every Δ = 2 s. The copy that has run for Δ and is not among the two
    // fastest is stopped.
    let world = World::machines(5).job("a").tasks([[1000.0; 20]]).tail(TWENTY);
    let run = world.run(OSDI);
    let starts: Vec<f64> = run.backups("a").iter().map(|backup| backup.1).collect();
    assert_eq!(starts, [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0, 18.0]);
    let most_at_once = |time: f64| run.tries("a").iter().filter(|one| one.start <= time && time < one.end).count();
    assert!((0..40).all(|half| most_at_once(f64::from(half) / 2.0) <= 3));
    assert_eq!(world.run("fifo+mantri(rule=osdi2010,max_duplicates=2)").backups("a"), [(0, 0.0), (0, 2.0)]);
}

#[test]
fn a_copy_of_an_unknown_remaining_time_is_left_alone() {
    // Remaining times are known after half of the work. Of 60 s, 30 s are left at 30, more than 26 s. The copy takes 50 s
    // and is known at 55; 5 s of the original are left then.
    let world = World::machines(4).job("a").tasks([[60.0, 50.0, 1.0]]).tail(TWENTY).knowledge("progress(0.5)");
    assert_eq!(world.run(OSDI).backups("a"), [(0, 30.0)]);
}

#[test]
fn a_slow_node_gets_a_copy_only_if_it_pays_there() {
    // The second machine has speed 1/2. b's first task ends there at 2. A new copy is expected to take 40 s there, so the
    // limits are 42 s for a restart and 2·20 s for a duplicate.
    let run = |seconds| contended(2, 4, &[seconds, 5.0]).speeds([1.0, 0.5]).run(OSDI).table("a");
    assert_eq!(run(42.0), [(0, 0, 0, 0.0, 42.0, Won)]);
    assert_eq!(run(43.0), [(0, 0, 0, 0.0, 12.0, Lost), (0, 1, 1, 2.0, 12.0, Won)]);
    assert_eq!(run(45.0), [(0, 0, 0, 0.0, 2.0, Replaced), (0, 1, 1, 2.0, 12.0, Won)]);
}

/// The number of a job, and that of its task.
type Task = (usize, usize);
/// An attempt that has ended, as (task, copy, machine, start, end).
type Ended = (Task, usize, usize, u32, u32);

/// A running copy. Times are in eighths of a second.
#[derive(Clone, Debug)]
struct Running {
    task: Task,
    copy: usize,
    machine: usize,
    start: u32,
    end: u32,
    /// False in the round that starts the copy.
    known: bool,
    stopping: bool,
}

/// A simulation of Pseudocode 1 that scans all tasks in every step. All remaining times are known from the start.
struct Pseudocode {
    machines: usize,
    /// Arrivals of the jobs, and the durations of all copies of their tasks.
    jobs: Vec<(u32, Vec<Vec<u32>>)>,
    /// Δ, α, γ and ρ.
    report: u32,
    copies: usize,
    restarts: usize,
    /// The most duplicates of a task.
    duplicates: usize,
    spare: u32,
    now: u32,
    running: Vec<Running>,
    launched: Vec<Vec<usize>>,
    restarted: Vec<Vec<usize>>,
    duplicated: Vec<Vec<usize>>,
    finished: Vec<Vec<bool>>,
    /// Times at which a job arrives, or a copy has run for Δ.
    wakes: BTreeSet<u32>,
    ended: Vec<Ended>,
}

/// E and F⁻¹(1/4) of [`TWENTY`], in eighths of a second.
const MEAN: u32 = 160;
const QUARTILE: u32 = 80;

impl Pseudocode {
    fn tasks(&self) -> Vec<Task> {
        let arrived = self.jobs.iter().enumerate().filter(|(_, job)| job.0 <= self.now);
        arrived.flat_map(|(at, job)| (0..job.1.len()).map(move |task| (at, task))).collect()
    }

    fn copies_of(&self, task: Task) -> Vec<&Running> {
        self.running.iter().filter(|copy| copy.task == task && !copy.stopping).collect()
    }

    fn waiting(&self) -> Option<Task> {
        let waits = |task: &Task| !self.finished[task.0][task.1] && self.running.iter().all(|copy| copy.task != *task);
        self.tasks().into_iter().find(waits)
    }

    fn free_machine(&self) -> Option<usize> {
        (0..self.machines).find(|machine| self.running.iter().all(|copy| copy.machine != *machine))
    }

    fn start(&mut self, task: Task, machine: usize) {
        let copy = self.launched[task.0][task.1];
        self.launched[task.0][task.1] += 1;
        let end = self.now + self.jobs[task.0].1[task.1][copy];
        self.running.push(Running { task, copy, machine, start: self.now, end, known: false, stopping: false });
        self.wakes.insert(self.now + self.report);
    }

    /// Returns the running tasks with all ends known that were not helped within Δ, as (remaining time, copies, task),
    /// the longest remaining time first.
    fn stragglers(&self) -> Vec<(u32, usize, Task)> {
        let mut found = Vec::new();
        for task in self.tasks() {
            let copies = self.copies_of(task);
            let ready = |copy: &&Running| copy.known && (copy.copy == 0 || self.now >= copy.start + self.report);
            if !copies.is_empty() && copies.iter().all(ready) {
                found.push((copies.iter().map(|copy| copy.end - self.now).min().unwrap(), copies.len(), task));
            }
        }
        found.sort_by_key(|(remaining, _, task)| (Reverse(*remaining), *task));
        found
    }

    /// One round. Returns false if it did nothing.
    fn round(&mut self) -> bool {
        let before = (self.launched.clone(), self.running.len());
        // Kill all but the fastest α copies after Δ has passed since they began.
        for task in self.tasks() {
            let copies = self.copies_of(task).into_iter().filter(|copy| copy.known);
            let mut copies: Vec<_> = copies.map(|copy| (copy.end, copy.copy, copy.start)).collect();
            copies.sort_unstable();
            for (_, number, _) in copies.iter().skip(self.copies).filter(|copy| self.now >= copy.2 + self.report) {
                let slow = self.running.iter_mut().find(|copy| copy.task == task && copy.copy == *number);
                slow.unwrap().stopping = true;
            }
        }
        if self.waiting().is_some() {
            for (remaining, copies, task) in self.stragglers() {
                let Some(machine) = self.free_machine() else { break };
                if copies == 1 && self.restarted[task.0][task.1] < self.restarts && remaining > MEAN + self.report {
                    self.running.iter_mut().filter(|copy| copy.task == task).for_each(|copy| copy.stopping = true);
                    self.restarted[task.0][task.1] += 1;
                    self.start(task, machine);
                } else if copies <= self.copies
                    && self.duplicated[task.0][task.1] < self.duplicates
                    && remaining * copies as u32 > QUARTILE * (copies as u32 + 1)
                {
                    self.duplicated[task.0][task.1] += 1;
                    self.start(task, machine);
                }
            }
        }
        while let (Some(task), Some(machine)) = (self.waiting(), self.free_machine()) {
            self.start(task, machine);
        }
        if self.waiting().is_none() {
            for (remaining, copies, task) in self.stragglers() {
                let Some(machine) = self.free_machine() else { break };
                if copies <= self.copies
                    && self.duplicated[task.0][task.1] < self.duplicates
                    && remaining > MEAN + self.spare * self.report
                {
                    self.duplicated[task.0][task.1] += 1;
                    self.start(task, machine);
                }
            }
        }
        // Stops take effect after the round.
        let now = self.now;
        for copy in self.running.extract_if(.., |copy| copy.stopping) {
            self.ended.push((copy.task, copy.copy, copy.machine, copy.start, now));
        }
        self.running.iter_mut().for_each(|copy| copy.known = true);
        (self.launched.clone(), self.running.len()) != before
    }

    fn run(mut self) -> Vec<Ended> {
        self.wakes.extend(self.jobs.iter().map(|job| job.0));
        while let Some(next) = self.running.iter().map(|copy| copy.end).chain(self.wakes.first().copied()).min() {
            self.now = next;
            self.wakes.remove(&next);
            let winners: Vec<Task> =
                self.running.iter().filter(|copy| copy.end == next).map(|copy| copy.task).collect();
            for task in winners {
                self.finished[task.0][task.1] = true;
                for copy in self.running.extract_if(.., |copy| copy.task == task) {
                    self.ended.push((copy.task, copy.copy, copy.machine, copy.start, next));
                }
            }
            while self.round() {}
        }
        self.ended.sort_unstable();
        self.ended
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(300, 3000)))]

    #[test]
    fn attempts_are_those_of_a_simulation_of_the_pseudocode(
        machines in 2..8usize,
        jobs in proptest::collection::vec(
            (0..200u32, proptest::collection::vec(proptest::collection::vec(1..480u32, 1..5), 1..9)), 1..4
        ),
        report in proptest::sample::select(vec![8u32, 12, 16]),
        copies in 1..4usize,
        restarts in 0..4usize,
        duplicates in 0..12usize,
        spare in 0..5u32,
    ) {
        let mut jobs = jobs;
        jobs.sort_by_key(|job| job.0);
        for copies in jobs.iter_mut().flat_map(|job| &mut job.1) {
            *copies = copies.iter().copied().cycle().take(20).collect();
        }
        let zeros: Vec<Vec<usize>> = jobs.iter().map(|job| vec![0; job.1.len()]).collect();
        let expected = Pseudocode {
            machines,
            launched: zeros.clone(),
            restarted: zeros.clone(),
            duplicated: zeros,
            finished: jobs.iter().map(|job| vec![false; job.1.len()]).collect(),
            jobs: jobs.clone(),
            report,
            copies,
            restarts,
            duplicates,
            spare,
            now: 0,
            running: Vec::new(),
            wakes: BTreeSet::new(),
            ended: Vec::new(),
        }
        .run();

        let seconds = |eighths: u32| f64::from(eighths) / 8.0;
        let mut world = World::machines(machines as u32);
        for (number, (arrival, tasks)) in jobs.iter().enumerate() {
            let tasks = tasks.iter().map(|copies| copies.iter().map(|copy| seconds(*copy)).collect::<Vec<f64>>());
            world = world.job(&number.to_string()).at(seconds(*arrival)).tasks(tasks).tail(TWENTY);
        }
        let report = seconds(report);
        let run = world.run(&format!(
            "fifo+mantri(rule=osdi2010,report={report},copies={copies},max_restarts={restarts},\
             max_duplicates={duplicates},spare={spare})"
        ));
        let eighths = |seconds: f64| (seconds * 8.0) as u32;
        let mut attempts: Vec<_> = run.attempts.iter().map(|one| {
            let task = (one.id.task.job.0 as usize, one.id.task.index as usize);
            (task, one.id.copy as usize, one.node as usize, eighths(one.start), eighths(one.end))
        }).collect();
        attempts.sort_unstable();
        prop_assert_eq!(attempts, expected);
    }
}
