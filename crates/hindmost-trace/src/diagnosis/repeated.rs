//! Tasks that are stragglers again and again: in several phases of an application, or in several jobs of the log.

use std::collections::BTreeMap;

use hindmost_math::statistics::at_least;
use rustc_hash::FxHashMap;

use super::context::{Context, slowness};
use super::inputs::shape;
use super::others::Others;
use super::straggler::{Straggler, is_beyond_first_wave, of_phase};
use crate::recording::PhaseRows;

/// In so many other phases or jobs a task must be long at least for this to be no chance.
const SEVERAL: u32 = 2;
/// The largest probability with which it is called no chance, over all tasks that are looked at.
const NO_CHANCE: f64 = 0.01;

/// Tasks that are stragglers again and again, by the name and the number of tasks of their phases.
pub(super) struct Repeated<'a> {
    shapes: BTreeMap<(&'a str, u64), StragglersOfShape>,
    /// The number of tasks of each phase that has a name.
    sizes: Vec<u64>,
    /// The number of tasks of all shapes.
    all_tasks: u64,
}

/// The stragglers of phases with the same name and number of tasks.
#[derive(Default)]
struct StragglersOfShape {
    /// The number of phases.
    phases: u32,
    /// In which of them each task was a straggler, if there are several.
    tasks: FxHashMap<u32, Seen>,
}

/// Where a task was a straggler.
#[derive(Default)]
struct Seen {
    /// In how many phases.
    phases: u32,
    /// Some of the executors that ran it, at most two.
    executors: Vec<u32>,
}

impl<'a> Repeated<'a> {
    /// `others` are the attempts of each phase.
    pub(super) fn of<'c>(context: &'c Context<'a>, others: &'c [Others<'c>]) -> Repeated<'a> {
        let mut repeated =
            Repeated { shapes: BTreeMap::new(), sizes: vec![0; context.recording.phases.len()], all_tasks: 0 };
        for (phase, size) in context.recording.phases.iter().zip(&mut repeated.sizes) {
            if let Some(name) = shape(phase) {
                *size = phase.size();
                repeated.shapes.entry((name, *size)).or_default().phases += 1;
            }
        }
        for (at, (phase, typical)) in context.recording.phases.iter().zip(context.typical).enumerate() {
            let of_shape = shape(phase).and_then(|name| repeated.shapes.get_mut(&(name, repeated.sizes[at])));
            let Some(of_shape) = of_shape.filter(|of_shape| of_shape.phases > 1) else { continue };
            // The same tasks are in first waves again and again.
            let is_by_its_own = |(number, took): &(usize, f64)| {
                let (row, seconds) = (&phase.rows[*number], typical.seconds.unwrap_or(*took));
                let log = slowness(*took, seconds);
                let straggler =
                    Straggler { others: &others[at], at, number: *number, row, took: *took, typical: seconds, log };
                !context.is_cold(at, *number) || is_beyond_first_wave(context, &straggler, 0.0)
            };
            let late = of_phase(phase, typical).into_iter().filter(is_by_its_own);
            let late: BTreeMap<u32, u32> =
                late.map(|(number, _)| (phase.rows[number].task, phase.rows[number].executor)).collect();
            for (task, executor) in late {
                let seen = of_shape.tasks.entry(task).or_default();
                seen.phases += 1;
                if seen.executors.len() < 2 && !seen.executors.contains(&executor) {
                    seen.executors.push(executor);
                }
            }
        }
        repeated.all_tasks = repeated.shapes.keys().map(|(_, size)| size).sum();
        repeated
    }

    /// What is known of a task in all phases of the shape of this one: in how many others it is long, if it is in most.
    fn in_most_phases<'b>(&'b self, (at, phase): (usize, &'b PhaseRows), task: u32) -> Option<(u32, &'b Seen)> {
        let of_shape = shape(phase).and_then(|name| self.shapes.get(&(name, self.sizes[at])))?;
        let seen = of_shape.tasks.get(&task)?;
        let others = seen.phases.saturating_sub(1);
        (2 * others > of_shape.phases - 1).then_some((others, seen))
    }

    /// True if a task that is a straggler in this phase is long in most other phases of the shape, or in most other jobs of the
    /// log, so that it is the task.
    pub(super) fn is_repeated(&self, phase: (usize, &PhaseRows), task: u32) -> bool {
        phase.1.long_in_others.contains_key(&task) || self.in_most_phases(phase, task).is_some()
    }

    /// True if these are so many that it is no chance, and several executors ran it in phases of the application.
    pub(super) fn is_the_task(&self, (at, phase): (usize, &PhaseRows), task: u32) -> bool {
        if phase.long_in_others.get(&task).is_some_and(|found| found.is_no_chance) {
            return true;
        }
        let Some((again, seen)) = self.in_most_phases((at, phase), task) else { return false };
        let Some(of_shape) = shape(phase).and_then(|name| self.shapes.get(&(name, self.sizes[at]))) else {
            return false;
        };
        let phases = u64::from(of_shape.phases);
        let long = of_shape.tasks.values().map(|one| u64::from(one.phases)).sum::<u64>() - u64::from(seen.phases);
        let others = (long, (self.sizes[at].saturating_sub(1)) * phases);
        seen.executors.len() > 1 && is_no_chance((again, of_shape.phases - 1), others, self.all_tasks)
    }
}

/// True if a task that is long is so in so many of some other jobs or phases that it is no chance. The other tasks of these were long in
/// some of all cases (`others`), and `tasks` of them are looked at.
pub(crate) fn is_no_chance((again, of): (u32, u32), others: (u64, u64), tasks: u64) -> bool {
    let rate = (others.0 as f64 + 1.0) / (others.1 as f64 + 1.0);
    again >= SEVERAL && at_least(u64::from(again), u64::from(of), rate) * tasks as f64 <= NO_CHANCE
}
