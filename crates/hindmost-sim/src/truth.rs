//! The durations of copies, which only the simulated driver knows, and what policies observe of them.

use std::cell::Cell;
use std::collections::VecDeque;

use hindmost_core::estimator::Knowledge;
use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
use hindmost_core::random::{Purpose, draw_for_attempt, draw_for_task};
use hindmost_core::time::Time;
use hindmost_core::workload::{Durations, ObservedCopy, Situated, SituatedDraws, Situation};
use hindmost_math::distribution::Distribution;
use rustc_hash::FxHashMap;

use crate::disturbances::Stragglers;
use crate::driver::error::SimulationError;
use crate::parameter::Draws;
use crate::scenario::CommonPart;

/// How durations and observations are drawn.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) seed: u64,
    pub(crate) knowledge: Knowledge,
    /// Log-normal factor of mean 1 on estimated remaining times.
    pub(crate) noise: Option<Distribution>,
    /// Share of a drawn duration that all copies of a task have in common.
    pub(crate) correlation: f64,
    /// Where the common part comes from.
    pub(crate) common_part: CommonPart,
    /// Share of the work after which a slow copy becomes slow.
    pub(crate) slow_from: f64,
    /// Which copies straggle; `None`: no copy does.
    pub(crate) stragglers: Option<Stragglers>,
}

/// The stragglers of one job, with its parameters drawn.
#[derive(Clone, Debug)]
struct JobStragglers {
    ratio: f64,
    slowdowns: Distribution,
}

/// The progress of an attempt as a function of the work that it has done. Work is in seconds at the full rate of its
/// node; progress is the share of the work as policies measure it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Curve {
    /// Progress that is made at the phase's mean rate.
    early: f64,
    /// Work after which the attempt has made this progress.
    until: f64,
}

impl Curve {
    /// Returns the progress of an attempt of `work` after it has done `done` of it.
    pub(crate) fn progress(&self, done: f64, work: f64) -> f64 {
        if done < self.until {
            self.early * done / self.until
        } else if work > self.until {
            self.early + (1.0 - self.early) * (done - self.until) / (work - self.until)
        } else {
            1.0
        }
    }

    /// Returns the pieces on which the progress is linear: the work at the end of each, and the progress per work.
    pub(crate) fn pieces(&self, work: f64) -> [(f64, f64); 2] {
        [(self.until, self.early / self.until), (work, (1.0 - self.early) / (work - self.until))]
    }
}

/// The durations of active jobs, and the model that draws the durations that are not given.
pub(crate) struct Truth {
    model: Model,
    /// Durations of each job by phase, from the job with number `first` on; `None` for jobs that have ended.
    jobs: VecDeque<Option<Box<[Durations]>>>,
    first: u32,
    /// The stragglers of the same jobs; empty if no copy straggles.
    stragglers: VecDeque<JobStragglers>,
    /// When the first wave of each node ends in a phase; kept only for phases whose durations depend on it.
    first_waves: FxHashMap<(JobId, u32, NodeId), Time>,
    /// Whether any job so far has durations that depend on where and when attempts start.
    has_situated: bool,
    /// How many numbers were drawn for durations.
    drawn: Cell<u64>,
}

/// The moment at which policies learn the remaining time of an attempt, and what they learn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reveal {
    /// When policies learn the remaining time.
    pub(crate) at: Time,
    /// The finish that policies expect from then on; it differs from the real finish if estimates have noise.
    pub(crate) expected_finish: Time,
}

impl Truth {
    pub(crate) fn new(model: Model) -> Truth {
        Truth {
            model,
            jobs: VecDeque::new(),
            first: 0,
            stragglers: VecDeque::new(),
            first_waves: FxHashMap::default(),
            has_situated: false,
            drawn: Cell::new(0),
        }
    }

    /// Returns how many numbers were drawn for durations that the workload does not give.
    pub(crate) fn drawn(&self) -> u64 {
        self.drawn.get()
    }

    /// Adds the durations of a job that arrives; jobs must arrive in order of their ids.
    ///
    /// # Errors
    /// If the drawn parameters of its stragglers are not valid.
    pub(crate) fn push(&mut self, durations: Vec<Durations>) -> Result<(), SimulationError> {
        if let Some(stragglers) = &self.model.stragglers {
            let job = u64::from(self.first) + self.jobs.len() as u64;
            let draws = |part| Draws::of_part(self.model.seed, Purpose::Stragglers, job, part);
            let wrong = |error| SimulationError::Workload(format!("workload.stragglers: {error}"));
            self.stragglers.push_back(JobStragglers {
                ratio: stragglers.ratio.draw(&mut draws(0)).map_err(wrong)?,
                slowdowns: stragglers.slowdown.resolve(&mut draws(1)).map_err(wrong)?,
            });
        }
        self.has_situated |= durations.iter().any(|phase| matches!(phase, Durations::Situated(_)));
        self.jobs.push_back(Some(durations.into_boxed_slice()));
        Ok(())
    }

    /// Removes a job that has ended.
    pub(crate) fn forget(&mut self, job: JobId) {
        if let Some(place) = job.0.checked_sub(self.first).and_then(|at| self.jobs.get_mut(at as usize)) {
            *place = None;
        }
        while self.jobs.front().is_some_and(Option::is_none) {
            self.jobs.pop_front();
            self.stragglers.pop_front();
            self.first += 1;
        }
        if !self.first_waves.is_empty() {
            self.first_waves.retain(|(other, ..), _| *other != job);
        }
    }

    /// Returns the parameters of a copy's job if the copy straggles.
    fn straggling(&self, attempt: AttemptId) -> Option<&JobStragglers> {
        let copies = self.model.stragglers.as_ref()?.copies;
        let at = attempt.task.job.0.checked_sub(self.first)?;
        let job = self.stragglers.get(at as usize)?;
        let may = attempt.copy == 0 || copies;
        (may && draw_for_attempt(self.model.seed, Purpose::Straggler, attempt) < job.ratio).then_some(job)
    }

    /// Returns whether a copy of a job that has not ended is a straggler by the key `workload.stragglers`.
    #[inline]
    pub(crate) fn is_straggler(&self, attempt: AttemptId) -> bool {
        self.model.stragglers.is_some() && self.straggling(attempt).is_some()
    }

    /// Returns the durations of a phase of a job that has not ended.
    fn of_phase(&self, task: TaskId) -> Option<&Durations> {
        let at = task.job.0.checked_sub(self.first)?;
        self.jobs.get(at as usize)?.as_ref()?.get(task.phase as usize)
    }

    fn situated(&self, task: TaskId) -> Option<&Situated> {
        match self.has_situated.then(|| self.of_phase(task))?? {
            Durations::Situated(situated) => Some(situated),
            _ => None,
        }
    }

    /// Records that an attempt has begun. The first wave of its node lasts until the first of them has done nine tenths of its time, as
    /// in logs: engines log the end of an attempt a little later than they use its slot again.
    pub(crate) fn began(&mut self, task: TaskId, node: NodeId, since: Time, finish: Time) {
        if self.situated(task).is_some() {
            let until = since + scale(finish - since, 0.9);
            let first = self.first_waves.entry((task.job, task.phase, node)).or_insert(until);
            *first = until.min(*first);
        }
    }

    /// Returns what an attempt meets that starts on a node at a time. It does not depend on attempts that begin later.
    pub(crate) fn situation(&self, task: TaskId, node: NodeId, since: Time) -> Situation {
        let until = self.first_waves.get(&(task.job, task.phase, node));
        Situation { node, since, first_wave: until.is_none_or(|until| since < *until) }
    }

    /// Returns whether an attempt fails at its end.
    pub(crate) fn fails(&self, attempt: AttemptId) -> bool {
        self.situated(attempt.task).is_some_and(|situated| situated.fails(attempt.task.index, attempt.copy))
    }

    /// Returns the seconds after the end of an attempt that fails or is lost until its task can start again.
    pub(crate) fn again_after(&self, attempt: AttemptId) -> f64 {
        self.situated(attempt.task).map_or(0.0, |situated| situated.again_after(attempt.task.index, attempt.copy))
    }

    /// Returns how long a copy takes on a node of speed 1, in seconds, without the time for reading its input.
    pub(crate) fn duration(&self, attempt: AttemptId, situation: &Situation) -> Result<f64, SimulationError> {
        let normal = self.normal_duration(attempt, situation)?;
        let Some(job) = self.straggling(attempt) else { return Ok(normal) };
        let number = draw_for_attempt(self.model.seed, Purpose::StragglerSlowdown, attempt);
        Ok(normal * job.slowdowns.survival_quantile(number).max(1.0))
    }

    /// Returns how long a copy takes on a node of speed 1 if it does not straggle, in seconds.
    fn normal_duration(&self, attempt: AttemptId, situation: &Situation) -> Result<f64, SimulationError> {
        let task = attempt.task;
        let durations = self.of_phase(task).ok_or(SimulationError::NoDuration { attempt })?;
        let seed = self.model.seed;
        let own = |purpose| {
            self.drawn.set(self.drawn.get() + 1);
            draw_for_attempt(seed, purpose, attempt)
        };
        match durations {
            Durations::Drawn(distribution) => {
                let drawn = distribution.survival_quantile(own(Purpose::Duration));
                let (share, of_first) = (self.model.correlation, self.model.common_part == CommonPart::FirstAttempt);
                if share == 0.0 || (of_first && attempt.copy == 0) {
                    return Ok(drawn);
                }
                let number = if of_first {
                    draw_for_task(seed, Purpose::Duration, task)
                } else {
                    draw_for_task(seed, Purpose::CommonDuration, task)
                };
                Ok(share * distribution.survival_quantile(number) + (1.0 - share) * drawn)
            }
            Durations::Listed(tasks) => tasks
                .get(task.index as usize)
                .and_then(|copies| copies.get(attempt.copy as usize).copied())
                .ok_or(SimulationError::NoDuration { attempt }),
            Durations::Recorded(recorded) => {
                let first = *recorded.get(task.index as usize).ok_or(SimulationError::NoDuration { attempt })?;
                if attempt.copy == 0 || recorded.len() < 2 {
                    return Ok(first);
                }
                // Copies other than the first take the duration of another task of the phase.
                let at = place(recorded.len() - 1, own(Purpose::Duration));
                Ok(recorded[if at < task.index as usize { at } else { at + 1 }])
            }
            Durations::Observed { tasks, known } => {
                let seen = tasks.get(task.index as usize).and_then(|copies| copies.get(attempt.copy as usize));
                let (at_least, candidates) = match seen {
                    Some(ObservedCopy::Took(seconds)) => return Ok(*seconds),
                    Some(ObservedCopy::AtLeast(ran)) => {
                        (Some(*ran), &known[known.partition_point(|seconds| seconds <= ran)..])
                    }
                    None => (None, &known[..]),
                };
                one_of(candidates, own(Purpose::Duration)).or(at_least).ok_or(SimulationError::NoDuration { attempt })
            }
            Durations::Situated(situated) => {
                let draws = || SituatedDraws { own: own(Purpose::CommonDuration), other: own(Purpose::Duration) };
                situated
                    .seconds((task.index, attempt.copy), situation, self.model.correlation, draws)
                    .ok_or(SimulationError::NoDuration { attempt })
            }
        }
    }

    /// Returns when the remaining time of an attempt is revealed, and the finish that is expected then. The attempt
    /// began at `since`, finishes at `finish`, and would take `mean()` if it had its phase's mean duration.
    pub(crate) fn reveal(&self, attempt: AttemptId, since: Time, finish: Time, mean: impl Fn() -> Time) -> Reveal {
        let fraction = match self.model.knowledge {
            // Nothing is revealed, whatever condition a policy watches.
            Knowledge::Age | Knowledge::History => return Reveal { at: Time::NEVER, expected_finish: finish },
            Knowledge::Oracle => 0.0,
            Knowledge::Progress(fraction) | Knowledge::Profiles(fraction) => fraction,
            Knowledge::ProgressUniform => draw_for_attempt(self.model.seed, Purpose::Detection, attempt),
        };
        let total = finish - since;
        let slow_from = self.model.slow_from;
        let becomes_slow = slow_from > 0.0 && self.model.knowledge != Knowledge::Oracle;
        let at = if let Some(mean) = becomes_slow.then(mean).filter(|mean| total > *mean) {
            // The attempt runs at the mean rate up to `slow_from` of the work, and then at the lower rate at which the
            // rest of the work takes the rest of the time.
            let fast = mean.seconds() * slow_from;
            let rest = (fraction - slow_from).max(0.0) / (1.0 - slow_from);
            since + Time::from_seconds(fast + rest * (total.seconds() - fast))
        } else {
            since + scale(total, fraction)
        };
        let remaining = finish - at;
        let expected_finish = match self.noise(attempt) {
            None => finish,
            Some(factor) => at + scale(remaining, factor),
        };
        Reveal { at, expected_finish }
    }

    /// Returns the factor by which the revealed remaining time of an attempt is wrong; `None` if estimates are exact.
    pub(crate) fn noise(&self, attempt: AttemptId) -> Option<f64> {
        let noise = self.model.noise.as_ref()?;
        Some(noise.survival_quantile(draw_for_attempt(self.model.seed, Purpose::Noise, attempt)))
    }

    /// Returns the progress of an attempt as a function of the work that it has done; `None` if policies do not observe
    /// progress. The attempt has `work` to do, and would have `mean` if it had its phase's mean duration.
    pub(crate) fn curve(&self, work: f64, mean: f64) -> Option<Curve> {
        if matches!(self.model.knowledge, Knowledge::Age | Knowledge::History) {
            return None;
        }
        let becomes_slow = self.model.slow_from > 0.0 && work > mean;
        let early = if becomes_slow { self.model.slow_from } else { 0.0 };
        Some(Curve { early, until: mean * early })
    }
}

impl Truth {
    /// Returns when a policy observes that an attempt that has run for longer than `after` has progressed by less than
    /// `rate` per second; `None` if that never happens or progress is not observed. The attempt began at `since`,
    /// finishes at `finish`, and would take `mean` if it had its phase's mean duration.
    pub(crate) fn lags_at(&self, since: Time, finish: Time, mean: Time, rate: f64, after: Time) -> Option<Time> {
        if matches!(self.model.knowledge, Knowledge::Age | Knowledge::History) {
            return None;
        }
        let (total, slow_from) = ((finish - since).seconds(), self.model.slow_from);
        let first = since + after + Time::TICK;
        let fast = mean.seconds() * slow_from;
        if slow_from == 0.0 || total <= mean.seconds() {
            return (total * rate > 1.0).then_some(first);
        }
        // Once the attempt is slow, its progress is slow_from + slow·(t − fast); it lags when this falls below rate·t.
        let slow = (1.0 - slow_from) / (total - fast);
        if mean.seconds() * rate > 1.0 {
            return Some(first);
        }
        let falls_behind = (slow_from - slow * fast) / (rate - slow);
        (slow < rate).then(|| first.max(since + Time::from_seconds(falls_behind) + Time::TICK))
    }
}

/// Converts a random number from (0, 1) to one of `among` equally likely indices. `among` must be at least 1.
fn place(among: usize, drawn: f64) -> usize {
    ((drawn * among as f64) as usize).min(among - 1)
}

/// Chooses one of the candidates by a random number from (0, 1); `None` if there are no candidates.
fn one_of(candidates: &[f64], drawn: f64) -> Option<f64> {
    if candidates.is_empty() { None } else { candidates.get(place(candidates.len(), drawn)).copied() }
}

fn scale(span: Time, factor: f64) -> Time {
    if factor == 0.0 { Time::ZERO } else { Time::from_seconds(span.seconds() * factor) }
}

#[cfg(test)]
mod tests {
    use hindmost_core::ids::{NodeId, TaskId};

    use super::*;

    const ANYWHERE: Situation = Situation { node: NodeId(0), since: Time::ZERO, first_wave: false };

    fn model(seed: u64) -> Model {
        Model {
            seed,
            knowledge: Knowledge::Oracle,
            noise: None,
            correlation: 0.0,
            common_part: CommonPart::FirstAttempt,
            slow_from: 0.0,
            stragglers: None,
        }
    }

    fn truth(seed: u64, durations: Durations) -> Truth {
        let mut truth = Truth::new(model(seed));
        truth.push(vec![durations]).unwrap();
        truth
    }

    fn attempt(index: u32, copy: u32) -> AttemptId {
        AttemptId { task: TaskId { job: JobId(0), phase: 0, index }, copy }
    }

    /// Counts how often each duration of a copy, in whole seconds, is drawn over 3000 seeds.
    fn drawn(durations: &Durations, attempt: AttemptId) -> std::collections::BTreeMap<u64, u32> {
        let mut counts = std::collections::BTreeMap::new();
        for seed in 0..3000 {
            let seconds = truth(seed, durations.clone()).duration(attempt, &ANYWHERE).unwrap();
            *counts.entry(seconds as u64).or_default() += 1;
        }
        counts
    }

    fn correlated(correlation: f64, common_part: CommonPart) -> Truth {
        let mut truth = Truth::new(Model { correlation, common_part, ..model(3) });
        truth.push(vec![Durations::Drawn(Distribution::pareto(1.5, 1.0).unwrap())]).unwrap();
        truth
    }

    #[test]
    fn first_attempts_do_not_depend_on_the_correlation() {
        let independent = correlated(0.0, CommonPart::FirstAttempt);
        for share in [0.25, 0.9, 1.0] {
            let truth = correlated(share, CommonPart::FirstAttempt);
            for index in 0..1000 {
                let own = |copy| independent.duration(attempt(index, copy), &ANYWHERE).unwrap();
                let seconds = |copy| truth.duration(attempt(index, copy), &ANYWHERE).unwrap();
                assert_eq!(seconds(0), own(0));
                // w·common + (1 − w)·own, where the first attempt's duration is the common part.
                for copy in 1..4 {
                    assert_eq!(seconds(copy), share * own(0) + (1.0 - share) * own(copy));
                }
            }
        }
    }

    /// Returns the largest distance between an empirical and another distribution function (Kolmogorov and Smirnov).
    fn distance(mut values: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
        values.sort_unstable_by(f64::total_cmp);
        let n = values.len() as f64;
        let at = |(rank, value): (usize, &f64)| {
            let (below, up_to, expected) = (rank as f64 / n, (rank as f64 + 1.0) / n, cdf(*value));
            (expected - below).abs().max((up_to - expected).abs())
        };
        values.iter().enumerate().map(at).fold(0.0, f64::max)
    }

    /// The distance that n values exceed with a probability of 10⁻⁴: 2·exp(−2·n·d²) = 10⁻⁴ (Massart's bound).
    fn tolerance(n: f64) -> f64 {
        (20_000.0f64.ln() / (2.0 * n)).sqrt()
    }

    #[test]
    fn marginal_distributions_are_those_of_the_definition() {
        let n = 20_000;
        let durations = |truth: &Truth, copy| -> Vec<f64> {
            (0..n).map(|index| truth.duration(attempt(index, copy), &ANYWHERE).unwrap()).collect()
        };
        // The first attempt has the distribution of the scenario for every correlation.
        let pareto = Distribution::pareto(1.5, 1.0).unwrap();
        let truth = correlated(0.5, CommonPart::FirstAttempt);
        let found = distance(durations(&truth, 0), |t| pareto.cdf(t));
        assert!(found < tolerance(f64::from(n)), "{found}");
        // Each later copy has that of w·X + (1 − w)·Y for independent X and Y, as with a common part of its own. The
        // distribution function is the mean over equally likely values of X of P(Y ≤ (t − w·x)/(1 − w)).
        let values: Vec<f64> = (0..4000).map(|at| pareto.quantile((f64::from(at) + 0.5) / 4000.0)).collect();
        for share in [0.25, 0.5, 0.9] {
            let sum = |t: f64| values.iter().map(|x| pareto.cdf((t - share * x) / (1.0 - share))).sum::<f64>();
            let cdf = |t: f64| sum(t) / 4000.0;
            for (part, copy) in [(CommonPart::FirstAttempt, 1), (CommonPart::FirstAttempt, 2), (CommonPart::OwnDraw, 0)]
            {
                let found = distance(durations(&correlated(share, part), copy).split_off(16_000), cdf);
                // 1/4000 for the steps of the values of X.
                assert!(found < tolerance(4000.0) + 1.0 / 4000.0, "{share} {part:?} {copy}: {found}");
            }
        }
    }

    #[test]
    fn observed_copies_have_their_observed_durations() {
        let tasks = vec![
            vec![ObservedCopy::AtLeast(2.5), ObservedCopy::Took(3.0)],
            vec![ObservedCopy::Took(1.0)],
            vec![ObservedCopy::AtLeast(9.0), ObservedCopy::AtLeast(4.0)],
        ];
        let durations = Durations::Observed { tasks, known: vec![1.0, 2.0, 3.0, 4.0] };
        for seed in 0..50 {
            let truth = truth(seed, durations.clone());
            let seconds = |index, copy| truth.duration(attempt(index, copy), &ANYWHERE).unwrap();
            assert_eq!((seconds(0, 1), seconds(1, 0)), (3.0, 1.0));
            // No known duration is longer, so each copy takes as long as it was observed to run.
            assert_eq!((seconds(2, 0), seconds(2, 1)), (9.0, 4.0));
            assert_eq!(seconds(0, 0), seconds(0, 0));
        }
    }

    #[test]
    fn unknown_durations_are_drawn_from_the_known_ones() {
        let tasks = vec![vec![ObservedCopy::AtLeast(2.0)]];
        let durations = Durations::Observed { tasks, known: vec![1.0, 2.0, 3.0, 4.0, 4.0] };
        // Returns whether a count of 3000 draws is within five standard errors of an expected share.
        let near = |count: u32, share: f64| (f64::from(count) / 3000.0 - share).abs() < 5.0 * (0.25f64 / 3000.0).sqrt();
        // Only 3, 4 and 4 are above 2.
        let longer = drawn(&durations, attempt(0, 0));
        assert_eq!(longer.keys().copied().collect::<Vec<_>>(), [3, 4]);
        assert!(near(longer[&3], 1.0 / 3.0) && near(longer[&4], 2.0 / 3.0), "{longer:?}");
        // Neither copy 1 of task 0 nor task 7 is listed, so their durations are drawn from all known ones.
        for unseen in [attempt(0, 1), attempt(7, 0)] {
            let counts = drawn(&durations, unseen);
            assert!((1..=3).all(|seconds| near(counts[&seconds], 0.2)) && near(counts[&4], 0.4), "{counts:?}");
        }
    }

    #[test]
    fn stragglers_are_drawn_by_ratio_and_slowed_down() {
        let number = crate::parameter::Parameter::Number;
        let with = |copies| {
            let stragglers = Some(Stragglers { ratio: number(0.2), slowdown: number(3.0), copies });
            let mut truth = Truth::new(Model { stragglers, ..model(5) });
            truth.push(vec![Durations::Listed(vec![vec![2.0, 4.0]; 5000])]).unwrap();
            truth
        };
        let (first_only, all) = (with(false), with(true));
        let count = |truth: &Truth, copy| {
            let stragglers = (0..5000).map(|index| attempt(index, copy)).filter(|id| {
                let (normal, straggles) = (if copy == 0 { 2.0 } else { 4.0 }, truth.is_straggler(*id));
                assert_eq!(truth.duration(*id, &ANYWHERE).unwrap(), if straggles { 3.0 * normal } else { normal });
                straggles
            });
            stragglers.count() as f64 / 5000.0
        };
        // Within four standard errors of a fifth.
        let near = |share: f64| (share - 0.2).abs() < 4.0 * (0.16f64 / 5000.0).sqrt();
        assert!(near(count(&first_only, 0)) && near(count(&all, 1)));
        assert_eq!(count(&first_only, 1), 0.0);
        // Which first copies straggle does not depend on the other copies.
        assert!(
            (0..5000).all(|index| first_only.is_straggler(attempt(index, 0)) == all.is_straggler(attempt(index, 0)))
        );
    }

    #[test]
    fn the_ratio_of_stragglers_may_differ_by_job() {
        let family = crate::parameter::Family::Uniform {
            min: crate::parameter::Parameter::Number(0.0),
            max: crate::parameter::Parameter::Number(1.0),
        };
        let stragglers = Some(Stragglers {
            ratio: crate::parameter::Parameter::Drawn(Box::new(family)),
            slowdown: crate::parameter::Parameter::Number(2.0),
            copies: false,
        });
        let mut truth = Truth::new(Model { stragglers, ..model(1) });
        let mut shares = Vec::new();
        for job in 0..40 {
            truth.push(vec![Durations::Listed(vec![vec![1.0]; 400])]).unwrap();
            let task = |index| AttemptId { task: TaskId { job: JobId(job), phase: 0, index }, copy: 0 };
            shares.push((0..400).filter(|index| truth.is_straggler(task(*index))).count());
            // Jobs that leave do not move the parameters of the others.
            if job % 3 == 0 {
                truth.forget(JobId(job));
            }
        }
        assert!(shares.iter().any(|share| *share < 80) && shares.iter().any(|share| *share > 320), "{shares:?}");
    }

    #[test]
    fn a_copy_without_any_known_duration_is_an_error() {
        let durations = Durations::Observed { tasks: Vec::new(), known: Vec::new() };
        let error = truth(1, durations).duration(attempt(0, 0), &ANYWHERE).unwrap_err();
        assert!(matches!(error, SimulationError::NoDuration { .. }), "{error}");
    }
}
