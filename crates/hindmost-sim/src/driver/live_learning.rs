//! What policies learn in the replay of a live run: the durations of the phases and the speeds of the nodes, as a live run learns
//! them while its commands report no progress.
//!
//! A live run polls each attempt. Here the attempts that are late enough to show something about their nodes are looked at when the
//! youngest of them has aged by a twentieth, which is when a live run would poll it.

use hindmost_core::cluster::Attempt;
use hindmost_core::ids::{AttemptId, JobId, TaskId};
use hindmost_core::learning::{LATE_AGE, Learner, Observed};
use hindmost_core::record::Event;
use hindmost_core::time::Time;
use hindmost_core::workload::JobSpec;

use super::{Driver, Learns, Setup, SimulationError};
use crate::agenda::Due;

/// The progress of attempts is never known.
const NEVER_REVEALED: f64 = 2.0;
/// Late attempts are looked at again when the youngest has aged by its age divided by this, but not sooner than after [`SHORTEST`].
const LOOKS: u64 = 20;
/// The shortest time between two looks: 50 ms.
const SHORTEST: Time = Time(50_000_000);

/// What policies learn in the replay of a live run.
pub(super) struct LiveLearning {
    learner: Learner,
    /// Whether it learns the speeds of nodes.
    learns_speeds: bool,
    /// When late attempts are looked at next.
    next: Time,
}

impl LiveLearning {
    /// Returns what policies have learned before a run; `None` if they know the durations.
    pub(super) fn of(setup: &Setup) -> Option<Box<LiveLearning>> {
        let learns = setup.as_recorded.as_deref().map_or(Learns::Nothing, |recorded| recorded.learns);
        let learns_speeds = learns == Learns::DurationsAndSpeeds;
        // Nothing is learned about nodes that the learner does not know.
        let speeds = vec![1.0; if learns_speeds { setup.nodes.len() } else { 0 }];
        let learner = Learner::new(&speeds, NEVER_REVEALED);
        (learns != Learns::Nothing).then(|| Box::new(LiveLearning { learner, learns_speeds, next: Time::NEVER }))
    }

    /// Adds the next job, about whose durations nothing is known.
    pub(super) fn add_job(&mut self, spec: &JobSpec) {
        self.learner.add_job(spec.phases.iter().map(|_| Vec::new()));
    }

    /// Returns when an attempt that began at `since` is late enough to show something about its node; `None` if the durations of its phase
    /// are not known yet.
    fn late_at(&self, task: TaskId, since: Time) -> Option<Time> {
        self.learner.median(task).map(|median| since + Time::from_seconds(LATE_AGE * median) + Time::TICK)
    }
}

/// What the learner observes of a running attempt whose progress is not known.
fn observed(attempt: &Attempt, at: Time) -> Observed {
    Observed {
        attempt: attempt.id(),
        node: attempt.node(),
        at,
        age: (at - attempt.since()).seconds(),
        work: 1.0 - attempt.from_progress(),
        progress: None,
        predicts_duration: false,
    }
}

impl Driver<'_> {
    /// Returns what the learner observes of an attempt that ends at `at`; `None` if nothing is learned.
    pub(super) fn observed(&self, id: AttemptId, at: Time) -> Option<Observed> {
        self.live.as_ref()?;
        self.session.cluster().attempt(id).map(|attempt| observed(attempt, at))
    }

    /// Learns from an attempt that has won or was stopped.
    pub(super) fn learn_from(&mut self, seen: &Observed, has_won: bool, at: Time) -> Result<(), SimulationError> {
        let Some(live) = &mut self.live else { return Ok(()) };
        if has_won {
            live.learner.won(seen);
        } else {
            live.learner.ended(seen);
        }
        self.learn_live(at)
    }

    /// Reports what follows from all that has been observed, as events.
    pub(super) fn learn_live(&mut self, at: Time) -> Result<(), SimulationError> {
        let Some(live) = &mut self.live else { return Ok(()) };
        let cluster = self.session.cluster();
        // The progress of running attempts is unknown, so they show nothing about durations.
        let running = cluster.running().filter(|_| live.learns_speeds);
        let running: Vec<Observed> = running.map(|attempt| observed(attempt, at)).collect();
        for event in live.learner.learned(cluster, &running) {
            if matches!(event, Event::NodeSpeedLearned { .. }) {
                self.result.speeds_learned += 1;
            }
            self.step(at, &event)?;
            if let Event::DurationsLearned { job, phase, .. } = event {
                self.look_at_phase(job, phase);
            }
        }
        Ok(())
    }

    /// Plans a look at an attempt that has begun.
    pub(super) fn look_at(&mut self, id: AttemptId) {
        let Some(live) = self.live.as_ref().filter(|live| live.learns_speeds) else { return };
        let since = self.session.cluster().attempt(id).map(Attempt::since);
        if let Some(late) = since.and_then(|since| live.late_at(id.task, since)) {
            self.look(late);
        }
    }

    /// Plans a look at the attempts of a phase whose durations have been learned.
    fn look_at_phase(&mut self, job: JobId, phase: u32) {
        let Some(live) = self.live.as_ref().filter(|live| live.learns_speeds) else { return };
        let of_phase =
            self.session.cluster().running().filter(|one| (one.id().task.job, one.id().task.phase) == (job, phase));
        let first = of_phase.filter_map(|one| live.late_at(one.id().task, one.since())).min();
        if let Some(first) = first {
            self.look(first);
        }
    }

    fn look(&mut self, at: Time) {
        let at = at.max(self.session.cluster().now() + Time::TICK);
        if let Some(live) = &mut self.live
            && at < live.next
        {
            live.next = at;
            self.agenda.push(at, Due::Look);
        }
    }

    /// Looks at late attempts, and plans the next look.
    pub(super) fn look_at_late(&mut self, at: Time) -> Result<(), SimulationError> {
        let Some(live) = &mut self.live else { return Ok(()) };
        // Another look was planned for an earlier time after this one.
        if at < live.next {
            return Ok(());
        }
        live.next = Time::NEVER;
        self.learn_live(at)?;
        let Some(live) = &self.live else { return Ok(()) };
        let again = |attempt: &Attempt| {
            let late = live.late_at(attempt.id().task, attempt.since())?;
            let age = at - attempt.since();
            Some(if late > at { late } else { at + Time(age.0 / LOOKS).max(SHORTEST) })
        };
        if let Some(next) = self.session.cluster().running().filter_map(again).min() {
            self.look(next);
        }
        Ok(())
    }
}
