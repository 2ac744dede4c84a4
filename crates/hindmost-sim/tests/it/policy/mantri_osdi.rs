//! `mantri(rule=osdi2010)`: Mantri as its own paper states it, against a simulation written from Pseudocode 1.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use hindmost_sim::testing::World;
use proptest::prelude::*;

/// Durations with E = 20 s and F⁻¹(1/4) = 10 s. Tasks report progress every Δ = min(10 s, E/10) = 2 s. While tasks wait, a
/// straggler is restarted if t_rem > 20 + 2, and duplicated if t_rem > 10·(c + 1)/c. While none waits, it is duplicated if
/// t_rem > 20 + 3·2.
const TWENTY: &str = "uniform(min=0,max=40)";

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
