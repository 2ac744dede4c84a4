//! Begins and ends simulated attempts, and schedules what policies observe of them.

use hindmost_core::cluster::{Attempt, Job};
use hindmost_core::estimator::Pace;
use hindmost_core::ids::AttemptId;
use hindmost_core::record::{Condition, Event};
use hindmost_core::resources::Resources;
use hindmost_core::session::Stepped;
use hindmost_core::time::Time;

use super::rates::{Course, Plan};
use super::{Driver, SimulationError, learned_speeds};
use crate::agenda::{Due, MOST_COPIES};
use crate::output::{AttemptResult, Outcome};
use crate::truth::Reveal;

impl Driver<'_> {
    /// Begins an attempt that the policy has started, and schedules its finish.
    pub(super) fn begin(&mut self, attempt: AttemptId) -> Result<(), SimulationError> {
        if attempt.copy >= MOST_COPIES {
            return Err(self.too_many(attempt));
        }
        self.reading.begin(self.session.cluster(), attempt);
        let Some(begun) = self.session.cluster().attempt(attempt) else { return Ok(()) };
        let (node, since, finish) = (begun.node(), begun.since(), self.finish_of(begun)?);
        self.truth.began(attempt.task, node, since, finish);
        self.begun = Some((attempt, finish));
        self.result.stragglers += u64::from(self.truth.is_straggler(attempt));
        if self.rates.is_some() {
            self.begin_course(attempt, finish);
        } else {
            self.agenda.push(finish, Due::Finish(attempt));
        }
        self.energy_begins(attempt);
        self.look_at(attempt);
        self.step(self.session.cluster().now(), &Event::AttemptRunning { attempt, waited: None }).map(drop)
    }

    /// Returns the error for a task with too many attempts. So many happen only where its node fails each time.
    fn too_many(&self, attempt: AttemptId) -> SimulationError {
        let spec = self.session.cluster().job(attempt.task.job).map(Job::spec);
        let phase = spec.and_then(|spec| spec.phases.get(attempt.task.phase as usize));
        match spec.zip(phase) {
            Some((spec, phase)) if self.failures.is_some() => SimulationError::NodesFail {
                job: spec.name.to_string(),
                phase: phase.name.to_string(),
                task: attempt.task.index,
            },
            _ => SimulationError::TooLarge(format!("{attempt}: its task has too many attempts")),
        }
    }

    /// Begins an attempt whose rate may change. At its full rate it would finish at `finish`.
    fn begin_course(&mut self, id: AttemptId, finish: Time) {
        let Some((attempt, phase)) = self.session.cluster().attempt(id).zip(self.session.cluster().phase(id.task))
        else {
            return;
        };
        let (node, since) = (attempt.node(), attempt.since());
        let demand = if self.one_slot { Resources::ONE_SLOT } else { *phase.demand() };
        let work = (finish - since).seconds();
        let reveal = self.reveal(attempt, finish);
        let plan = Plan {
            work,
            reveal: if reveal.at == Time::NEVER { f64::INFINITY } else { (reveal.at - since).seconds() },
            noise: self.truth.noise(id).unwrap_or(1.0),
            curve: self.truth.curve(work, self.mean_time(attempt).seconds()),
        };
        if let Some(rates) = &mut self.rates {
            rates.begin(node, Course::new(id, demand, since, plan), since);
        }
    }

    /// Adds the names of the job and the phase to an error about a missing duration; returns other errors unchanged.
    fn named(&self, error: SimulationError) -> SimulationError {
        let SimulationError::NoDuration { attempt } = error else { return error };
        let spec = self.session.cluster().job(attempt.task.job).map(Job::spec);
        let phase = spec.and_then(|spec| spec.phases.get(attempt.task.phase as usize));
        let Some((spec, phase)) = spec.zip(phase) else { return error };
        SimulationError::TooFewDurations {
            job: spec.name.to_string(),
            phase: phase.name.to_string(),
            task: attempt.task.index,
            listed: attempt.copy,
            policy: "the policy".to_owned(),
        }
    }

    /// Returns the pace of a running attempt by the real speed of its node, which policies need not know.
    fn real_pace(&self, attempt: &Attempt) -> Pace {
        let speed = self.speeds.get(attempt.node().0 as usize).copied().unwrap_or(1.0);
        Pace::new(speed, attempt.from_progress())
    }

    /// Returns when a running attempt finishes. If rates change, this is the time at the full rate of its node.
    fn finish_of(&self, attempt: &Attempt) -> Result<Time, SimulationError> {
        let (id, since) = (attempt.id(), attempt.since());
        let situation = self.truth.situation(id.task, attempt.node(), since);
        let seconds = self.truth.duration(id, &situation).map_err(|error| self.named(error))?;
        let works = Time::from_seconds(self.real_pace(attempt).seconds(seconds));
        Ok(since + works + self.reading.longer(id))
    }

    /// Returns when and how the remaining time of a running attempt is revealed that finishes at a time. If rates change,
    /// this is at the full rate of its node.
    pub(super) fn reveal(&self, attempt: &Attempt, finish: Time) -> Reveal {
        self.truth.reveal(attempt.id(), attempt.since(), finish, || self.mean_time(attempt))
    }

    /// Returns when an attempt finishes, and when and how its remaining time is revealed; `None` if it is not running.
    /// If rates change, these are the times at the full rate of its node.
    pub(super) fn timing(&self, id: AttemptId) -> Result<Option<(Time, Reveal)>, SimulationError> {
        let Some(attempt) = self.session.cluster().attempt(id) else { return Ok(None) };
        let finish = self.finish_of(attempt)?;
        Ok(Some((finish, self.reveal(attempt, finish))))
    }

    /// Returns how long an attempt would take on its node if it had the mean duration of its phase.
    fn mean_time(&self, attempt: &Attempt) -> Time {
        let task = attempt.id().task;
        let mean = self.hidden_mean(task).or_else(|| Some(self.session.cluster().phase(task)?.mean()));
        Time::from_seconds(self.real_pace(attempt).seconds(mean.unwrap_or(0.0)))
    }

    /// Schedules the events that notify the policy when a watched condition becomes true. Most conditions never do.
    pub(super) fn watch(&mut self, id: AttemptId, condition: Condition) -> Result<(), SimulationError> {
        let Some(attempt) = self.session.cluster().attempt(id) else { return Ok(()) };
        let since = attempt.since();
        if let Some(rates) = &mut self.rates {
            rates.watch(attempt.node(), id, condition, self.session.cluster().now());
            return Ok(());
        }
        // Most policies watch an attempt when they start it.
        let finish = match self.begun {
            Some((begun, finish)) if begun == id => finish,
            _ => self.finish_of(attempt)?,
        };
        let reveal = self.reveal(attempt, finish);
        let now = self.session.cluster().now();
        let seen = reveal.at.max(now);
        let (remaining, elapsed) = match condition {
            Condition::Revealed => (Some(-1.0), None),
            Condition::RemainingAbove(remaining) => (Some(remaining), None),
            Condition::ElapsedAbove(elapsed) => (None, Some(elapsed)),
            Condition::RemainingOrElapsedAbove(remaining, elapsed) => (Some(remaining), Some(elapsed)),
            Condition::Lagging { rate, after } => {
                let mean = self.mean_time(attempt);
                if let Some(at) = self.truth.lags_at(since, finish, mean, rate, Time::from_seconds(after)) {
                    let at = at.max(now);
                    if at < finish {
                        self.agenda.push(at, Due::Watch(id, true));
                    }
                }
                return Ok(());
            }
        };
        let by_age = elapsed.map(|elapsed| (since + Time::from_seconds(elapsed) + Time::TICK).max(now));
        let by_age = by_age.filter(|at| *at < finish && (remaining.is_none() || *at < seen));
        if let Some(at) = by_age {
            self.agenda.push(at, Due::Watch(id, false));
        }
        if let Some(remaining) = remaining {
            let long = (reveal.expected_finish - seen).seconds() > remaining;
            // A policy that was notified of the attempt's age is notified again when its remaining time is revealed.
            if (long || by_age.is_some()) && seen < finish {
                self.agenda.push(seen, Due::Watch(id, true));
            }
        }
        Ok(())
    }

    /// Ends an attempt, which releases its resources and may end its job. If the attempt has not won, its outcome is
    /// `unless_won`.
    pub(super) fn end(
        &mut self,
        id: AttemptId,
        at: Time,
        event: &Event,
        unless_won: Outcome,
    ) -> Result<(), SimulationError> {
        // These are computed before the step, because the step may remove the job.
        let (shares, spec) = (self.shares_of(id), self.output_spec(id));
        let is_relaunch = spec.is_some() && self.session.cluster().attempt(id).is_some_and(Attempt::is_relaunch);
        let is_finish = matches!(event, Event::AttemptFinished { .. });
        let sample = self.learned.as_ref().filter(|_| is_finish);
        let sample = sample.and_then(|_| learned_speeds::sample(self.session.cluster(), id, at));
        if let Some(rates) = &mut self.rates
            && let Some(node) = self.session.cluster().attempt(id).map(Attempt::node)
        {
            rates.end(node, id, at);
        }
        let ended = self.energy_ends(id, at);
        let is_failure = matches!(event, Event::AttemptFailed { .. });
        let seen = if is_failure { None } else { self.observed(id, at) };
        let Stepped { applied, retired } = self.step(at, event)?;
        if applied.phase_finished {
            self.release_tasks(id.task.job, at);
        }
        self.reading.ended(id, is_finish);
        if applied.won && self.reading.looks_for_seconds() {
            let copies: Vec<AttemptId> = self.session.cluster().copies(id.task).map(Attempt::id).collect();
            for copy in copies {
                if let Some(finish) = self.expected_end(copy)? {
                    self.reading.second(copy, finish);
                }
            }
        }
        if let Some((node, start)) = applied.released {
            self.busy.add(&shares, start, at);
            let outcome = if applied.won { Outcome::Won } else { unless_won };
            let energy = self.energy_of(ended, outcome);
            if let Some(job) = spec.as_deref() {
                let node_name = self.session.cluster().node(node).map_or("", |node| node.name());
                let (attempt, end) = (id, at);
                let result = AttemptResult { attempt, job, node, node_name, start, end, outcome, is_relaunch, energy };
                self.recorder.output.attempt(&result)?;
            }
        }
        retired.into_iter().try_for_each(|job| self.leave(&job, at))?;
        if let Some(sample) = sample {
            self.learn_speeds(sample, at)?;
        }
        if let Some(seen) = seen {
            self.learn_from(&seen, applied.won, at)?;
        }
        self.learn_profiles(at)
    }

    /// Returns when an attempt finishes, at its present rate if rates change; `None` if it is not running.
    pub(super) fn expected_end(&mut self, id: AttemptId) -> Result<Option<Time>, SimulationError> {
        if let Some(rates) = &mut self.rates {
            let node = self.session.cluster().attempt(id).map(Attempt::node);
            return Ok(node.and_then(|node| rates.finish(node, id)));
        }
        self.session.cluster().attempt(id).map(|attempt| self.finish_of(attempt)).transpose()
    }

    /// Measures a job that has left the cluster and forgets what was kept for its attempts.
    pub(super) fn leave(&mut self, job: &Job, at: Time) -> Result<(), SimulationError> {
        self.truth.forget(job.id());
        self.reading.forget(job);
        self.last_end = at;
        self.measure(job)?;
        self.forget_hidden(job.id());
        Ok(())
    }
}
