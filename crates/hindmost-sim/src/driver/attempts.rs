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
        let Some((finish, reveal)) = self.timing(attempt)? else { return Ok(()) };
        if let Some(begun) = self.session.cluster().attempt(attempt) {
            self.truth.began(attempt.task, begun.node(), begun.since(), finish);
        }
        self.begun = Some((attempt, finish, reveal));
        self.result.stragglers += u64::from(self.truth.is_straggler(attempt));
        if self.rates.is_some() {
            self.begin_course(attempt, finish, reveal);
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
    fn begin_course(&mut self, id: AttemptId, finish: Time, reveal: Reveal) {
        let Some((attempt, phase)) = self.session.cluster().attempt(id).zip(self.session.cluster().phase(id.task))
        else {
            return;
        };
        let (node, since) = (attempt.node(), attempt.since());
        let demand = if self.one_slot { Resources::ONE_SLOT } else { *phase.demand() };
        let work = (finish - since).seconds();
        let plan = Plan {
            work,
            reveal: if reveal.at == Time::NEVER { f64::INFINITY } else { (reveal.at - since).seconds() },
            noise: self.truth.noise(id).unwrap_or(1.0),
            curve: self.truth.curve(work, self.mean_time(id).seconds()),
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
        let speed = self.setup.nodes.get(attempt.node().0 as usize).map_or(1.0, |node| node.speed);
        Pace::new(speed, attempt.from_progress())
    }

    /// Returns when an attempt finishes, and when and how its remaining time is revealed; `None` if it is not running.
    /// If rates change, these are the times at the full rate of its node.
    pub(super) fn timing(&self, id: AttemptId) -> Result<Option<(Time, Reveal)>, SimulationError> {
        let Some(attempt) = self.session.cluster().attempt(id) else { return Ok(None) };
        let pace = self.real_pace(attempt);
        let situation = self.truth.situation(id.task, attempt.node(), attempt.since());
        let seconds = self.truth.duration(id, &situation).map_err(|error| self.named(error))?;
        let works = Time::from_seconds(pace.seconds(seconds));
        let finish = attempt.since() + works + self.reading.longer(id);
        let reveal = self.truth.reveal(id, attempt.since(), finish, self.mean_time(id));
        Ok(Some((finish, reveal)))
    }

    /// Returns how long an attempt would take on its node if it had the mean duration of its phase.
    fn mean_time(&self, id: AttemptId) -> Time {
        let Some((attempt, phase)) = self.session.cluster().attempt(id).zip(self.session.cluster().phase(id.task))
        else {
            return Time::ZERO;
        };
        let mean = self.hidden_mean(id.task).unwrap_or_else(|| phase.mean());
        Time::from_seconds(self.real_pace(attempt).seconds(mean))
    }

    /// Schedules the events that notify the policy when a watched condition becomes true. Most conditions never do.
    pub(super) fn watch(&mut self, id: AttemptId, condition: Condition) -> Result<(), SimulationError> {
        let Some((since, node)) = self.session.cluster().attempt(id).map(|one| (one.since(), one.node())) else {
            return Ok(());
        };
        if let Some(rates) = &mut self.rates {
            rates.watch(node, id, condition, self.session.cluster().now());
            return Ok(());
        }
        // Most policies watch an attempt when they start it.
        let timing = match self.begun {
            Some((begun, finish, reveal)) if begun == id => Some((finish, reveal)),
            _ => self.timing(id)?,
        };
        let Some((finish, reveal)) = timing else { return Ok(()) };
        let now = self.session.cluster().now();
        let seen = reveal.at.max(now);
        let (remaining, elapsed) = match condition {
            Condition::Revealed => (Some(-1.0), None),
            Condition::RemainingAbove(remaining) => (Some(remaining), None),
            Condition::ElapsedAbove(elapsed) => (None, Some(elapsed)),
            Condition::RemainingOrElapsedAbove(remaining, elapsed) => (Some(remaining), Some(elapsed)),
            Condition::Lagging { rate, after } => {
                let mean = self.mean_time(id);
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
        let is_relaunch = self.session.cluster().attempt(id).is_some_and(Attempt::is_relaunch);
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
        Ok(self.timing(id)?.map(|(finish, _)| finish))
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
