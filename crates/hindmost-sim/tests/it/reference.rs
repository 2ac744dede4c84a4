//! Compares the simulator with a second, simpler simulator. The second one keeps no indexes, examines all jobs and
//! tasks at every event, and was written from the design alone. On random instances both must give identical flowtimes.
//!
//! It supports one-slot machines; jobs of one phase with listed durations; the orders fifo, fair, smallest_workload and
//! srpt; the systems none, Mantri, SDA, and ESE without cloning; and progress models that reveal remaining times after
//! a share S of an attempt's work (0: the oracle).

use hindmost_math::distribution::Distribution;
use hindmost_sim::testing::World;
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    None,
    /// Starts backups of attempts whose remaining time is above 2·F⁻¹(δ), longest first. The field is δ.
    Mantri(f64),
    /// Starts backups of attempts whose remaining time is above σ·E\[x], by id. The field is σ.
    Sda(f64),
    /// Starts the same backups as `Sda`, longest remaining time first. The field is σ.
    Ese(f64),
}

#[derive(Clone, Debug)]
struct Job {
    arrival: u64,
    mean: f64,
    alpha: f64,
    /// For each task, the durations of its two copies, in ticks.
    tasks: Vec<[u64; 2]>,
}

impl Job {
    fn known(&self) -> Distribution {
        Distribution::pareto_with_mean(self.alpha, self.mean).unwrap()
    }
}

struct Naive<'a> {
    jobs: &'a [Job],
    machines: usize,
    slot: u64,
    share: f64,
    order: &'static str,
    rule: Rule,
    now: u64,
    /// Start times of each task's copies, including those of finished tasks.
    started: Vec<Vec<Vec<u64>>>,
    finished: Vec<Vec<Option<u64>>>,
}

impl Naive<'_> {
    fn tasks(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.jobs.iter().enumerate().flat_map(|(job, found)| (0..found.tasks.len()).map(move |task| (job, task)))
    }

    fn end(&self, job: usize, task: usize, copy: usize) -> u64 {
        self.started[job][task][copy] + self.jobs[job].tasks[task][copy]
    }

    /// Returns when the remaining time of a task's first copy is revealed.
    fn revealed(&self, job: usize, task: usize) -> u64 {
        let length = self.jobs[job].tasks[task][0];
        self.started[job][task][0] + (length as f64 * self.share).round() as u64
    }

    fn running(&self, job: usize) -> usize {
        (0..self.jobs[job].tasks.len())
            .filter(|task| self.finished[job][*task].is_none())
            .map(|task| self.started[job][task].len())
            .sum()
    }

    fn idle(&self) -> usize {
        self.machines - (0..self.jobs.len()).map(|job| self.running(job)).sum::<usize>()
    }

    fn pending(&self, job: usize) -> Vec<usize> {
        (0..self.jobs[job].tasks.len()).filter(|task| self.started[job][*task].is_empty()).collect()
    }

    /// Returns the sort key of a job: the smallest is first, and equal keys are sorted by job.
    fn key(&self, job: usize) -> (f64, f64) {
        let found = &self.jobs[job];
        let pending = self.pending(job).len();
        let is_new = pending == found.tasks.len();
        match self.order {
            "fifo" => (found.arrival as f64, 0.0),
            "fair" => (self.running(job) as f64, 0.0),
            "srpt" => (found.mean + 1.5 * found.known().sd().unwrap_or(0.0), 0.0),
            _ => (f64::from(u8::from(is_new)), pending as f64 * found.mean),
        }
    }

    fn backups(&mut self) {
        let mut slow: Vec<(u64, usize, usize)> = Vec::new();
        for (job, task) in self.tasks().collect::<Vec<_>>() {
            let alone = self.finished[job][task].is_none() && self.started[job][task].len() == 1;
            if !alone || self.now < self.revealed(job, task) {
                continue;
            }
            let remaining = self.end(job, task, 0) - self.now;
            let known = self.jobs[job].known();
            let limit = match self.rule {
                Rule::None => continue,
                Rule::Mantri(delta) => 2.0 * known.quantile(delta),
                Rule::Sda(sigma) | Rule::Ese(sigma) => sigma * self.jobs[job].mean,
            };
            if remaining as f64 / SECOND as f64 > limit {
                slow.push((remaining, job, task));
            }
        }
        if !matches!(self.rule, Rule::Sda(_)) {
            slow.sort_by_key(|(remaining, job, task)| (std::cmp::Reverse(*remaining), *job, *task));
        }
        for (_, job, task) in slow {
            if self.idle() > 0 {
                self.started[job][task].push(self.now);
            }
        }
    }

    fn decide(&mut self) {
        self.backups();
        while self.idle() > 0 {
            let waiting = (0..self.jobs.len())
                .filter(|job| self.jobs[*job].arrival <= self.now && !self.pending(*job).is_empty());
            let next = waiting.min_by(|one, other| self.key(*one).partial_cmp(&self.key(*other)).unwrap());
            let Some(job) = next else { return };
            let task = self.pending(job)[0];
            self.started[job][task].push(self.now);
        }
    }

    /// Returns the time of the next event after `now`.
    fn next(&self) -> Option<u64> {
        let arrivals = self.jobs.iter().map(|job| job.arrival);
        let attempts =
            self.tasks().filter(|(job, task)| self.finished[*job][*task].is_none()).flat_map(|(job, task)| {
                let ends = (0..self.started[job][task].len()).map(move |copy| self.end(job, task, copy));
                let revealed = (!self.started[job][task].is_empty()).then(|| self.revealed(job, task));
                ends.chain(revealed)
            });
        arrivals.chain(attempts).filter(|at| *at > self.now).min()
    }

    /// Finishes every task with a copy that ends at `by` or earlier.
    fn finish(&mut self, by: u64) {
        for (job, task) in self.tasks().collect::<Vec<_>>() {
            let first = (0..self.started[job][task].len()).map(|copy| self.end(job, task, copy)).min();
            if self.finished[job][task].is_none() {
                self.finished[job][task] = first.filter(|end| *end <= by);
            }
        }
    }

    /// Runs the simulation and returns the flowtimes of the jobs, in seconds.
    fn run(mut self) -> Vec<f64> {
        // `next` returns events after `now`, which is 0, so the first event is found here: it may be at 0.
        let mut event = Some(self.jobs.iter().map(|job| job.arrival).min().unwrap_or(0));
        while let Some(at) = event {
            self.now = if self.slot == 0 { at } else { at.div_ceil(self.slot) * self.slot };
            self.finish(self.now);
            loop {
                // An attempt that starts now may be revealed as slow now, and it may take no time.
                let before = self.started.clone();
                self.decide();
                self.finish(self.now);
                if self.started == before {
                    break;
                }
            }
            event = self.next();
        }
        let flowtime = |(job, found): (usize, &Job)| {
            let end = self.finished[job].iter().map(|end| end.expect("every task finishes")).max().unwrap();
            (end - found.arrival) as f64 / SECOND as f64
        };
        self.jobs.iter().enumerate().map(flowtime).collect()
    }
}

fn any_jobs() -> impl Strategy<Value = Vec<Job>> {
    // Most durations are multiples of 0.25 s, so that events coincide. About every fifth task is a straggler.
    let duration = prop_oneof![4 => 1..12u64, 1 => 12..80u64].prop_map(|quarters| quarters * SECOND / 4);
    let odd = (1..20_000u64).prop_map(|millis| millis * SECOND / 1000);
    let length = prop_oneof![3 => duration, 1 => odd];
    let task = (length.clone(), length).prop_map(|(first, second)| [first, second]);
    let gap = prop_oneof![
        Just(0),
        (0..12u64).prop_map(|quarters| quarters * SECOND / 4),
        (0..3000u64).prop_map(|millis| millis * SECOND / 1000)
    ];
    let mean = prop_oneof![proptest::sample::select(vec![0.5, 1.0, 2.0]), 0.3..3.0f64];
    let alpha = proptest::sample::select(vec![1.5, 2.0, 2.5, 3.0]);
    let job = (gap, mean, alpha, proptest::collection::vec(task, 1..8));
    proptest::collection::vec(job, 1..9).prop_map(|jobs| {
        let mut arrival = 0;
        let mut made = Vec::new();
        for (gap, mean, alpha, tasks) in jobs {
            arrival += gap;
            made.push(Job { arrival, mean, alpha, tasks });
        }
        made
    })
}

fn any_rule() -> impl Strategy<Value = Rule> {
    prop_oneof![
        Just(Rule::None),
        proptest::sample::select(vec![0.0, 0.1, 0.25, 0.6]).prop_map(Rule::Mantri),
        proptest::sample::select(vec![0.5, 1.0, 1.7, 3.0]).prop_map(Rule::Sda),
        proptest::sample::select(vec![0.5, 1.0, 1.7, 3.0]).prop_map(Rule::Ese),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(1500, 15000)))]

    #[test]
    fn the_simulator_agrees_with_a_simpler_one(
        jobs in any_jobs(),
        machines in 1..9usize,
        slot in proptest::sample::select(vec![0, 0, SECOND / 4, SECOND, 3 * SECOND / 10]),
        share in proptest::sample::select(vec![0.0, 0.0, 0.2, 0.25, 0.5, 0.8]),
        order in proptest::sample::select(vec!["fifo", "fair", "smallest_workload", "srpt"]),
        rule in any_rule(),
    ) {
        // ESE sorts jobs as smallest_workload does.
        let order = if matches!(rule, Rule::Ese(_)) { "smallest_workload" } else { order };
        let naive = Naive {
            jobs: &jobs,
            machines,
            slot,
            share,
            order,
            rule,
            now: 0,
            started: jobs.iter().map(|job| vec![Vec::new(); job.tasks.len()]).collect(),
            finished: jobs.iter().map(|job| vec![None; job.tasks.len()]).collect(),
        };
        let expected = naive.run();
        let mut world = World::machines(machines as u32)
            .slot(slot as f64 / SECOND as f64)
            .knowledge(&if share == 0.0 { "oracle".to_owned() } else { format!("progress({share})") });
        for (number, job) in jobs.iter().enumerate() {
            let seconds = |ticks: u64| ticks as f64 / SECOND as f64;
            world = world
                .job(&number.to_string())
                .at(seconds(job.arrival))
                .tasks(job.tasks.iter().map(|copies| copies.map(seconds)))
                .tail(&format!("pareto(alpha={},mean={})", job.alpha, job.mean));
        }
        let policy = match rule {
            Rule::None => format!("{order}+none"),
            Rule::Mantri(delta) => format!("{order}+mantri(delta={delta})"),
            Rule::Sda(sigma) => format!("{order}+sda(sigma={sigma},max_copies=2)"),
            Rule::Ese(sigma) => format!("ese(sigma={sigma},xi=0)"),
        };
        prop_assert_eq!(world.run(&policy).result.flowtime, expected, "{}", policy);
    }
}
