//! What an earlier process of the run has left: its allocations, in which its attempts continue.
//!
//! A resumed run may be refused after it has found them, for example because of another policy on the command line. Then they must stay as
//! they are, with all that runs in them. Only once the run goes on are they its own, to be given back at its end, and those that it does
//! not need are cancelled.

use super::{Slurm, commands};

/// The allocations that an earlier process of the run has left.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    /// Those of nodes of this run.
    allocations: Vec<u32>,
    /// Others.
    surplus: Vec<u32>,
    /// True once the run goes on.
    are_taken: bool,
}

impl Slurm {
    /// Finds the allocations that an earlier process of this run has left.
    pub(super) fn find_earlier(&mut self) {
        for one in self.snapshot.allocations.iter().filter(|one| one.comment == self.terms.comment) {
            if one.nodes.is_empty() {
                continue;
            }
            let place = self.places.iter_mut().find(|place| place.name == one.nodes && place.job.is_none());
            match place.filter(|_| one.is_running()) {
                Some(place) => {
                    place.grant(one.id);
                    self.earlier.allocations.push(one.id);
                }
                None => self.earlier.surplus.push(one.id),
            }
        }
    }

    /// Notes that the run goes on, or that all of it is to end: what an earlier process has left belongs to this one now.
    pub(super) fn go_on(&mut self) {
        if !std::mem::replace(&mut self.earlier.are_taken, true) {
            let surplus: Vec<String> = self.earlier.surplus.iter().map(u32::to_string).collect();
            let _ = commands::cancel(&surplus, None);
        }
    }

    /// True if the run was refused while an earlier process has left allocations.
    pub(super) fn is_refused(&self) -> bool {
        let Earlier { allocations, surplus, are_taken } = &self.earlier;
        let has_any = !allocations.is_empty() || !surplus.is_empty();
        has_any && !are_taken
    }

    /// True once allocations of this run may be cancelled that it does not use.
    pub(super) fn has_gone_on(&self) -> bool {
        self.earlier.are_taken
    }

    /// Gives back only the allocations that this process was granted, and lets go of keepers that it has started in others.
    pub(super) fn leave_earlier(&mut self) {
        let mut own = Vec::new();
        for place in &mut self.places {
            match place.job.take() {
                Some(id) if self.earlier.allocations.contains(&id) => drop(place.keeper.take()),
                Some(id) => own.push(id.to_string()),
                None => {}
            }
        }
        let _ = commands::cancel(&own, None);
    }
}
