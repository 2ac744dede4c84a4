//! The attempts of tasks that have had several copies: how long each has taken or takes at least.

use hindmost_core::cluster::{Attempt, Cluster};
use hindmost_core::estimator::Pace;
use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

use super::fresh::Fresh;
use super::share::{self, Known, Mixture, likelihoods};
use crate::speculation::input_sizes;

/// One attempt.
#[derive(Clone, Copy, Debug)]
struct Watched {
    copy: u32,
    since: Time,
    /// Seconds that a second of work of a node of speed 1 takes, without regard to its input.
    pace: f64,
    /// Its duration, once it has ended, in E.
    ended: Option<Known>,
}

impl Watched {
    fn new(attempt: &Attempt, cluster: &Cluster) -> Watched {
        Watched {
            copy: attempt.id().copy,
            since: attempt.began(cluster.now()),
            pace: Pace::of(cluster, attempt).seconds(1.0),
            ended: None,
        }
    }
}

/// The tasks that have had several attempts.
#[derive(Debug, Default)]
pub(super) struct Tasks(FxHashMap<TaskId, (Time, Vec<Watched>)>);

/// What durations are known from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// The mean duration E, seconds.
    pub(super) mean: f64,
    /// The share S of an attempt's work after which its remaining time is known.
    pub(super) known_from: f64,
    /// Two of three predictions are off by less than this factor; 1 if they come true.
    pub(super) within: f64,
    /// The median size of an input of the phase in bytes, if durations follow the sizes.
    pub(super) median_input: Option<f64>,
}

impl Scale {
    /// Returns how many times as long as usual a task takes because of its input: it is as if all nodes were that many times as slow for it.
    pub(super) fn times(&self, task: TaskId, cluster: &Cluster) -> f64 {
        self.median_input.map_or(1.0, |median| input_sizes::times(task, median, cluster))
    }

    /// Returns the seconds that a second of work of a node of speed 1 and a task with the usual input takes an attempt.
    pub(super) fn pace(&self, attempt: &Attempt, cluster: &Cluster) -> f64 {
        Pace::of(cluster, attempt).seconds(self.times(attempt.id().task, cluster))
    }
}

/// Returns what is known of the duration of a running attempt, in E.
pub(super) fn duration(attempt: &Attempt, scale: Scale, cluster: &Cluster) -> Known {
    let Scale { mean, known_from, within, .. } = scale;
    let (now, pace) = (cluster.now(), scale.pace(attempt, cluster));
    let since = attempt.began(now);
    let in_means = |until: Time| (until - since).seconds() / pace / mean;
    match attempt.measured_finish() {
        // It takes longer than predicted, and nobody knows how much.
        Some(finish) if finish < now || attempt.has_stalled() => {
            let within = within.max(share::WITHIN);
            Known::About { time: in_means(now) * within * within, within }
        }
        Some(finish) if within > 1.0 => Known::About { time: in_means(finish), within },
        Some(finish) => Known::Exactly(in_means(finish)),
        None if known_from <= 0.0 => Known::Above(in_means(now)),
        None => Known::Above(in_means(now) / known_from),
    }
}

impl Tasks {
    /// Notes that an attempt has started. Only attempts beside others are watched, and those others.
    pub(super) fn started(&mut self, id: AttemptId, cluster: &Cluster) {
        if let Some((_, known)) = self.0.get_mut(&id.task) {
            if known.iter().all(|one| one.copy != id.copy) {
                known.extend(cluster.attempt(id).map(|attempt| Watched::new(attempt, cluster)));
            }
            return;
        }
        if cluster.copies(id.task).nth(1).is_some() {
            self.watch(id.task, cluster);
        }
    }

    /// Watches the attempts of a task from now on.
    pub(super) fn watch(&mut self, task: TaskId, cluster: &Cluster) {
        self.0.entry(task).or_insert_with(|| {
            let mut all: Vec<Watched> = cluster.copies(task).map(|attempt| Watched::new(attempt, cluster)).collect();
            all.sort_unstable_by_key(|one| one.copy);
            (cluster.now(), all)
        });
    }

    /// Notes that an attempt has ended at its own end, or was stopped at what is known of it.
    pub(super) fn ended(&mut self, id: AttemptId, known: impl FnOnce(Time, f64) -> Known) {
        let attempts = self.0.get_mut(&id.task);
        if let Some(one) =
            attempts.and_then(|(_, all)| all.iter_mut().find(|one| one.copy == id.copy && one.ended.is_none()))
        {
            one.ended = Some(known(one.since, one.pace));
        }
    }

    /// Forgets a task.
    pub(super) fn forget(&mut self, task: TaskId) {
        self.0.remove(&task);
    }

    /// True if no unfinished task has had several copies.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if the task has had several copies.
    pub(super) fn contains(&self, task: TaskId) -> bool {
        self.0.contains_key(&task)
    }

    /// Returns when it was last noted what the attempts of a task show; `None` if it has had only one.
    pub(super) fn noted(&self, task: TaskId) -> Option<Time> {
        self.0.get(&task).map(|(noted, _)| *noted)
    }

    /// Notes that what the attempts of a task show has been noted.
    pub(super) fn note(&mut self, task: TaskId, at: Time) {
        if let Some((noted, _)) = self.0.get_mut(&task) {
            *noted = at;
        }
    }

    /// Returns the durations of a task's attempts, the first one first.
    fn durations(&self, task: TaskId, scale: Scale, cluster: &Cluster) -> Vec<Known> {
        let running = |copy: u32| {
            let attempt = cluster.attempt(AttemptId { task, copy })?;
            Some(duration(attempt, scale, cluster))
        };
        let all = self.0.get(&task).into_iter().flat_map(|(_, all)| all);
        all.filter_map(|one| one.ended.or_else(|| running(one.copy))).collect()
    }

    /// Returns the duration of the first attempt of a task.
    pub(super) fn first(&self, task: TaskId, scale: Scale, cluster: &Cluster) -> Option<Known> {
        self.durations(task, scale, cluster).first().copied()
    }

    /// Returns the longest of the least durations of a task's attempts but the first.
    pub(super) fn longest_of_others(&self, task: TaskId, scale: Scale, cluster: &Cluster) -> f64 {
        let all = self.durations(task, scale, cluster);
        all.iter().skip(1).map(|known| known.least()).fold(0.0, f64::max)
    }

    /// Returns the number of the first attempt of a task.
    pub(super) fn first_copy(&self, task: TaskId) -> Option<u32> {
        self.0.get(&task)?.1.first().map(|one| one.copy)
    }

    /// Returns when the last attempt of a task has started.
    pub(super) fn last_start(&self, task: TaskId) -> Option<Time> {
        self.0.get(&task)?.1.iter().map(|one| one.since).max()
    }

    /// Returns how likely the durations of a task's attempts are under each share; `None` if it has only one.
    pub(super) fn likelihoods(&self, task: TaskId, scale: Scale, fresh: &Fresh, cluster: &Cluster) -> Option<Mixture> {
        let all = self.durations(task, scale, cluster);
        let (first, others) = all.split_first().filter(|(_, others)| !others.is_empty())?;
        let others = &others[..others.len().min(8)];
        Some(likelihoods(
            *first,
            others,
            |time| fresh.survival(time),
            |quantile, least| fresh.quantile(quantile, least),
        ))
    }
}
