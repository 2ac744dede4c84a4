//! The estimator of the progress model `profiles`.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use hindmost_math::outcomes::Outcomes;

use crate::cluster::{Attempt, Cluster, Phase};
use crate::estimator::{Estimator, Knowledge, Pace, Test, new_copy_by_distribution, remaining_by_distribution};
use crate::ids::{JobId, NodeId, TaskId};
use crate::record::{Condition, Event};

use super::{Conditions, Index, Kind, Prediction, Profile, job_type};

/// Answers from profiles how long a new copy takes on a node, and how long a running attempt still takes.
///
/// - A running attempt whose remaining time was revealed by its progress has this remaining time.
/// - Every other attempt is compared with the profiles under the present conditions on its node; durations that it has
///   already exceeded are left out. Once it has exceeded all of them, the distribution of its phase is used, given the
///   attempt's age.
/// - Tests of other policies are answered as under `progress(S)`; the distribution of the phase's durations, which they
///   use, is learned from profiles.
pub(crate) struct ByProfiles {
    tests: Box<dyn Estimator>,
    knowledge: Knowledge,
    /// It keeps predictions, so a question may change it.
    index: RefCell<Index>,
    /// The phase that was looked up last, and its kind: policies look up one phase many times in a row.
    last: Cell<Option<((JobId, u32), Kind)>>,
}

impl ByProfiles {
    /// Creates the estimator of a progress model. `tests` answers the tests of policies.
    pub(crate) fn new(knowledge: Knowledge, tests: Box<dyn Estimator>) -> ByProfiles {
        ByProfiles { tests, knowledge, index: RefCell::default(), last: Cell::new(None) }
    }

    /// Returns the kind of a task's phase; `None` if nothing is known of it.
    fn kind(&self, cluster: &Cluster, task: TaskId) -> Option<Kind> {
        let phase = (task.job, task.phase);
        if let Some((_, kind)) = self.last.get().filter(|(known, _)| *known == phase) {
            return Some(kind);
        }
        let spec = cluster.job(task.job)?.spec();
        let kind = self.index.borrow().kind(job_type(&spec.name), &spec.phases.get(task.phase as usize)?.name)?;
        self.last.set(Some((phase, kind)));
        Some(kind)
    }

    fn predict(&self, cluster: &Cluster, task: TaskId, node: NodeId) -> Option<Arc<Prediction>> {
        let kind = self.kind(cluster, task)?;
        let found = cluster.node(node)?;
        self.index.borrow_mut().predict_on(kind, (node, found), || Conditions::of(cluster, task, node))
    }
}

impl Estimator for ByProfiles {
    fn knowledge(&self) -> Knowledge {
        self.knowledge
    }

    fn remaining(&self, cluster: &Cluster, attempt: &Attempt) -> Option<f64> {
        self.tests.remaining(cluster, attempt)
    }

    fn holds(&self, test: Test, cluster: &Cluster, attempt: &Attempt) -> bool {
        self.tests.holds(test, cluster, attempt)
    }

    fn condition(&self, test: Test, phase: &Phase, pace: Pace) -> Option<Condition> {
        self.tests.condition(test, phase, pace)
    }

    fn stays_no_until(&self, test: Test, phase: &Phase, pace: Pace) -> Option<f64> {
        self.tests.stays_no_until(test, phase, pace)
    }

    fn new_copy_range(&self, cluster: &Cluster, task: TaskId, node: NodeId) -> Option<Outcomes> {
        match self.predict(cluster, task, node) {
            Some(prediction) => Some(prediction.duration.clone()),
            None => new_copy_by_distribution(cluster, task, node),
        }
    }

    fn new_copy_mean(&self, cluster: &Cluster, task: TaskId, node: NodeId) -> Option<f64> {
        match self.predict(cluster, task, node) {
            Some(prediction) => Some(prediction.mean),
            None => new_copy_by_distribution(cluster, task, node).map(|range| range.mean()),
        }
    }

    fn remaining_range(&self, cluster: &Cluster, attempt: &Attempt) -> Option<Outcomes> {
        if let Some(finish) = attempt.expected_finish() {
            return Some(Outcomes::certain((finish.max(cluster.now()) - cluster.now()).seconds()));
        }
        let age = attempt.age(cluster.now()).seconds();
        let predicted = self.predict(cluster, attempt.id().task, attempt.node());
        let rest = predicted.filter(|_| attempt.from_progress() == 0.0);
        let rest = rest.and_then(|prediction| prediction.duration.rest_after(age));
        rest.or_else(|| remaining_by_distribution(cluster, attempt))
    }

    fn distinguishes_nodes(&self) -> bool {
        true
    }

    fn remaining_mean(&self, cluster: &Cluster, attempt: &Attempt) -> Option<f64> {
        if attempt.expected_finish().is_none() && attempt.from_progress() == 0.0 {
            let age = attempt.age(cluster.now()).seconds();
            let predicted = self.predict(cluster, attempt.id().task, attempt.node());
            if let Some(mean) = predicted.and_then(|prediction| prediction.duration.mean_rest_after(age)) {
                return Some(mean);
            }
        }
        self.remaining_range(cluster, attempt).map(|range| range.mean())
    }

    fn observe(&mut self, event: &Event) {
        match event {
            Event::ProfilesRecalled { profiles } => {
                for profile in profiles.iter() {
                    self.index.get_mut().add(Arc::new(profile.clone()));
                }
            }
            Event::WeightsFitted { weights } => self.index.get_mut().set_weights(weights),
            _ => {}
        }
    }

    fn learn(&mut self, profile: &Arc<Profile>) {
        self.index.get_mut().add(profile.clone());
    }
}
