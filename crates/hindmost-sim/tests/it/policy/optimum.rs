//! The least expected flowtime of tiny instances, by dynamic programming over what is known of the running copies.
//!
//! Time goes in seconds. In each, any copies are stopped and any are started. A copy takes each of the listed durations with the same
//! probability, independently of all others.

use std::collections::{BTreeMap, HashMap};

/// A running copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Copy {
    /// It needs so many seconds more.
    Left(u32),
    /// It has run for so many seconds, and it is not known how many it needs.
    Age(u32),
}

/// A task as it is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Task {
    Done,
    /// Its job arrives in so many seconds.
    Due(u32),
    /// These copies run.
    Open(Vec<Copy>),
}

/// The tasks, in ascending order: they differ in nothing else.
pub type State = Vec<Task>;

/// A tiny instance.
#[derive(Debug)]
pub struct Instance {
    pub slots: usize,
    /// Seconds until each task's job arrives. Tasks that arrive at 0 are those of one job unless `each` is true.
    pub arrivals: &'static [u32],
    /// True if each task is a job of its own.
    pub each: bool,
    /// The equally likely durations of a copy, in seconds.
    pub durations: &'static [u32],
    /// The share of a copy's duration after which its remaining time is known.
    pub known_from: f64,
}

impl Instance {
    /// Returns the age at which the remaining time of a copy of this duration is known.
    fn known_at(&self, duration: u32) -> u32 {
        ((f64::from(duration) * self.known_from).ceil() as u32).max(1)
    }

    /// Returns a copy of this age whose remaining time has not become known.
    fn unknown(&self, age: u32) -> Copy {
        let mut possible = self.durations.iter().filter(|duration| self.known_at(**duration) > age);
        let first = *possible.next().expect("a copy ends before its longest duration");
        if possible.all(|duration| *duration == first) { Copy::Left(first - age) } else { Copy::Age(age) }
    }

    /// Returns a copy of this duration as it is known at this age.
    pub fn seen(&self, duration: u32, age: u32) -> Copy {
        if self.known_at(duration) <= age { Copy::Left(duration - age) } else { self.unknown(age) }
    }

    /// Returns what a copy is a second later, with the probabilities; `None` if it has ended.
    fn later(&self, copy: Copy) -> Vec<(Option<Copy>, f64)> {
        let age = match copy {
            Copy::Left(left) => return vec![((left > 1).then(|| Copy::Left(left - 1)), 1.0)],
            Copy::Age(age) => age,
        };
        let possible = self.durations.iter().filter(|duration| self.known_at(**duration) > age);
        let probability = 1.0 / possible.clone().count() as f64;
        let mut outcomes = BTreeMap::new();
        for duration in possible {
            let next = (*duration > age + 1).then(|| self.seen(*duration, age + 1));
            *outcomes.entry(next).or_insert(0.0) += probability;
        }
        outcomes.into_iter().collect()
    }

    /// Returns what a task is a second later, with the probabilities.
    fn task_later(&self, task: &Task) -> Vec<(Task, f64)> {
        let copies = match task {
            Task::Done => return vec![(Task::Done, 1.0)],
            Task::Due(1) => return vec![(Task::Open(Vec::new()), 1.0)],
            Task::Due(seconds) => return vec![(Task::Due(seconds - 1), 1.0)],
            Task::Open(copies) => copies,
        };
        let mut outcomes = vec![(Task::Open(Vec::new()), 1.0)];
        for copy in copies {
            let with = |(before, one): &(Task, f64)| {
                let joined = |next: Option<Copy>| match (before, next) {
                    (Task::Open(before), Some(next)) => Task::Open([&before[..], &[next]].concat()),
                    _ => Task::Done,
                };
                self.later(*copy).into_iter().map(|(next, other)| (joined(next), one * other)).collect::<Vec<_>>()
            };
            outcomes = outcomes.iter().flat_map(with).collect();
        }
        outcomes
    }

    /// Returns the states a second later, with the probabilities.
    fn step(&self, state: &[Task]) -> BTreeMap<State, f64> {
        let mut outcomes = vec![(Vec::new(), 1.0)];
        for task in state {
            let after = self.task_later(task);
            let with = |(before, one): &(State, f64), (next, other): &(Task, f64)| {
                ([&before[..], std::slice::from_ref(next)].concat(), one * other)
            };
            outcomes = outcomes.iter().flat_map(|before| after.iter().map(move |next| with(before, next))).collect();
        }
        let mut states = BTreeMap::new();
        for (state, probability) in outcomes {
            *states.entry(plain(state)).or_insert(0.0) += probability;
        }
        states
    }

    /// Returns the number of tasks of each job.
    pub fn tasks_of_job(&self) -> usize {
        if self.each { 1 } else { self.arrivals.len() }
    }

    /// Returns how many jobs wait for their ends in a state.
    fn open_jobs(&self, state: &[Task]) -> f64 {
        let open = state.iter().filter(|task| matches!(task, Task::Open(_))).count();
        if self.each { open as f64 } else { open.min(1) as f64 }
    }

    /// Returns the states that stops and starts can make of this one.
    fn choices(&self, state: &[Task]) -> Vec<State> {
        let mut all: Vec<(State, usize)> = vec![(Vec::new(), self.slots)];
        for task in state {
            let mut next = Vec::new();
            for (before, free) in &all {
                let Task::Open(copies) = task else {
                    next.push(([&before[..], std::slice::from_ref(task)].concat(), *free));
                    continue;
                };
                for kept in 0..1_u32 << copies.len() {
                    let kept = (0..copies.len()).filter(|at| kept & (1 << at) != 0).map(|at| copies[at]);
                    let kept: Vec<Copy> = kept.collect();
                    let Some(free) = free.checked_sub(kept.len()) else { continue };
                    for started in 0..=free {
                        let task = Task::Open([&kept[..], &vec![self.unknown(0); started]].concat());
                        next.push(([&before[..], &[task]].concat(), free - started));
                    }
                }
            }
            all = next;
        }
        all.into_iter().map(|(state, _)| plain(state)).collect()
    }
}

/// Returns a state in its plain form: of the copies of a task whose remaining time is known, only the shortest counts.
pub fn plain(mut state: State) -> State {
    for task in &mut state {
        if let Task::Open(copies) = task {
            copies.sort_unstable();
            let known = copies.iter().filter(|copy| matches!(copy, Copy::Left(_))).count();
            copies.drain(known.min(1)..known);
        }
    }
    state.sort_unstable();
    state
}

/// The least expected flowtimes of an instance.
pub struct Optimum {
    /// The least expected sum of flowtimes that is left before the decisions of a second.
    pub before: HashMap<State, f64>,
    /// The same after these decisions.
    pub after: HashMap<State, f64>,
    start: State,
}

impl Optimum {
    pub fn of(instance: &Instance) -> Optimum {
        let task = |due: &u32| if *due > 0 { Task::Due(*due) } else { Task::Open(Vec::new()) };
        let start = plain(instance.arrivals.iter().map(task).collect());
        let (mut states, mut at) = (vec![start.clone()], HashMap::from([(start.clone(), 0)]));
        let (mut decided, mut at_decided) = (Vec::new(), HashMap::new());
        let mut choices: Vec<Vec<usize>> = Vec::new();
        while let Some(state) = states.get(choices.len()).cloned() {
            let mut of_state = Vec::new();
            for choice in instance.choices(&state) {
                let known = at_decided.len();
                let number = *at_decided.entry(choice.clone()).or_insert(known);
                of_state.push(number);
                if number < known {
                    continue;
                }
                let mut outcomes = Vec::new();
                for (next, probability) in instance.step(&choice) {
                    let known = states.len();
                    let number = *at.entry(next.clone()).or_insert(known);
                    if number == known {
                        states.push(next);
                    }
                    outcomes.push((number, probability));
                }
                decided.push((instance.open_jobs(&choice), outcomes));
            }
            of_state.sort_unstable();
            of_state.dedup();
            choices.push(of_state);
        }
        let (mut before, mut after) = (vec![0.0; states.len()], vec![0.0_f64; decided.len()]);
        loop {
            let mut change = 0.0_f64;
            for (value, (jobs, outcomes)) in after.iter_mut().zip(&decided) {
                *value = jobs + outcomes.iter().map(|(next, probability)| probability * before[*next]).sum::<f64>();
            }
            for (value, choices) in before.iter_mut().zip(&choices) {
                let least = choices.iter().map(|choice| after[*choice]).fold(f64::INFINITY, f64::min);
                change = change.max((least - *value).abs());
                *value = least;
            }
            if change < 1e-9 {
                break;
            }
        }
        Optimum {
            before: at.into_iter().map(|(state, number)| (state, before[number])).collect(),
            after: at_decided.into_iter().map(|(state, number)| (state, after[number])).collect(),
            start,
        }
    }

    /// Returns the least expected sum of flowtimes.
    pub fn value(&self) -> f64 {
        self.before[&self.start]
    }
}
