//! Tasks that are stragglers again and again: in several phases of an application, or in several jobs of the log.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use super::causes::{Context, slowness};
use super::inputs::shape;
use super::others::Others;
use super::recording::PhaseRows;
use super::stragglers::{Straggler, is_beyond_first_wave, of_phase};

/// Tasks that are stragglers again and again, by the name and the number of tasks of their phases.
pub(super) struct Repeated<'a> {
    shapes: BTreeMap<(&'a str, u64), StragglersOfShape>,
    /// The number of tasks of each phase that has a name.
    sizes: Vec<u64>,
    /// What identifies the tasks that are long in most other jobs of the log.
    long_in_others: &'a FxHashSet<u64>,
}

/// The stragglers of phases with the same name and number of tasks.
#[derive(Default)]
struct StragglersOfShape {
    /// The number of phases.
    phases: u64,
    /// In how many of them each task was a straggler.
    tasks: FxHashMap<u32, u64>,
}

impl<'a> Repeated<'a> {
    pub(super) fn of(context: &Context<'a>) -> Repeated<'a> {
        let mut repeated = Repeated {
            shapes: BTreeMap::new(),
            sizes: vec![0; context.recording.phases.len()],
            long_in_others: &context.recording.long_in_others,
        };
        for (at, (phase, typical)) in context.recording.phases.iter().zip(context.typical).enumerate() {
            let Some(name) = shape(phase) else { continue };
            let size = phase.size();
            repeated.sizes[at] = size;
            let of_shape = repeated.shapes.entry((name, size)).or_default();
            of_shape.phases += 1;
            let others = Others::new(context, at);
            // The same tasks are in first waves again and again.
            let is_by_its_own = |(number, took): &(usize, f64)| {
                let (row, seconds) = (&phase.rows[*number], typical.seconds.unwrap_or(*took));
                let log = slowness(*took, seconds);
                let straggler =
                    Straggler { others: &others, at, number: *number, row, took: *took, typical: seconds, log };
                !context.is_cold(at, *number) || is_beyond_first_wave(context, &straggler, 0.0)
            };
            let late = of_phase(phase, typical).into_iter().filter(is_by_its_own);
            let late: BTreeSet<u32> = late.map(|(number, _)| phase.rows[number].task).collect();
            for task in late {
                *of_shape.tasks.entry(task).or_default() += 1;
            }
        }
        repeated
    }

    /// True if a task that is a straggler in this phase also is one in most other phases of the shape, or in most other jobs of the log, so that it
    /// is the task.
    pub(super) fn is_repeated(&self, (at, phase): (usize, &PhaseRows), task: u32) -> bool {
        if phase.in_every_job(task).is_some_and(|task| self.long_in_others.contains(&task)) {
            return true;
        }
        let Some(of_shape) = shape(phase).and_then(|name| self.shapes.get(&(name, self.sizes[at]))) else {
            return false;
        };
        let others = of_shape.tasks.get(&task).map_or(0, |count| count.saturating_sub(1));
        2 * others > of_shape.phases - 1
    }
}
