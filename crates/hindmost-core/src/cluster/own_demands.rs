//! Demands of single tasks that differ from those of their phases, because attempts of the tasks have needed more.
//!
//! Invariant: the demand of a task does not change while it has copies, so each copy gives back what it has taken.

use crate::ids::TaskId;
use crate::resources::Resources;

use super::apply::{Applied, RecordError};
use super::{Cluster, Phase};

impl Cluster {
    /// Returns what one copy of a task demands; `None` if no active job has the task.
    #[inline]
    pub fn demand(&self, task: TaskId) -> Option<&Resources> {
        let own = if self.own_demands.is_empty() { None } else { self.own_demands.get(&task) };
        own.or_else(|| self.phase(task).map(Phase::demand))
    }

    /// Returns true if a task demands something else than its phase says.
    pub fn has_own_demand(&self, task: TaskId) -> bool {
        !self.own_demands.is_empty() && self.own_demands.contains_key(&task)
    }

    pub(super) fn set_demand(&mut self, id: TaskId, demand: &Resources) -> Result<Applied, RecordError> {
        let task = self.task(id).ok_or_else(|| RecordError::Unknown(id.to_string()))?;
        if task.copies > 0 {
            return Err(RecordError::CannotDemand(id));
        }
        let reservation_ended_on = self.end_reservation_for(id);
        self.own_demands.insert(id, *demand);
        Ok(Applied { reservation_ended_on, ..Applied::default() })
    }
}
