//! What a job waits for besides one of its phases: other phases that run at the same time.
//!
//! A phase that ends sooner ends its job sooner only if the others have ended by then, and if the longest path of phases after it is not
//! shorter than those after the others: what comes after another phase begins δ later or sooner, relative to what comes after this one.

use hindmost_core::cluster::{Job, Phase};
use hindmost_core::time::Time;
use rustc_hash::FxHashMap;

use super::PhaseId;
use super::look::Group;
use super::survival::Survival;

/// A number of tasks that is certain not to be done counts as at most so many expected ones.
const MOST: f64 = 20.0;

/// Returns what the other phases of a job that may run now leave unfinished at each time from now on, in units of `mean` seconds, as a number of
/// tasks whose exponential is the probability that they are all done; `None` if there is no other phase.
pub(super) fn beside(
    (job, phase): PhaseId,
    of: &Job,
    groups: &FxHashMap<PhaseId, Group>,
    (now, mean): (Time, f64),
) -> Option<Survival> {
    let phases = of.phases();
    let mut all: Option<Survival> = None;
    let mut after: Option<Vec<f64>> = None;
    for at in (0..phases.len() as u32).filter(|at| *at != phase && phases[*at as usize].is_open()) {
        let after = after.get_or_insert_with(|| paths_after(of));
        let later = after[at as usize] - after[phase as usize];
        let other = &phases[at as usize];
        let seen = groups.get(&(job, at)).and_then(|group| Some((group, group.unfinished.as_deref()?, group.class?)));
        let (tasks, passed) = match seen {
            Some((group, ..)) => (f64::from(group.size), (now - group.seen).seconds()),
            // Blocked tasks come after tasks of other phases, whose paths contain them.
            None => (f64::from(other.unfinished() - other.blocked()), 0.0),
        };
        let left = Survival::sampled(|time| {
            let time = time * mean - later;
            let share = match seen {
                _ if time <= 0.0 => 1.0,
                Some((_, unfinished, class)) => unfinished.at((time + passed) / class.mean) / tasks.max(1.0),
                // All its tasks begin now.
                None => other.durations().survival(time),
            };
            // The probability that all are done, if they are alike.
            (-tasks * (1.0 - share).max(f64::MIN_POSITIVE).ln()).min(MOST)
        });
        all.get_or_insert(Survival::ZERO).add(&left, 1.0);
    }
    all
}

/// Returns the longest path of phases after each phase of a job, seconds.
fn paths_after(job: &Job) -> Vec<f64> {
    let spec = job.spec();
    let mut after = vec![0.0_f64; spec.phases.len()];
    for (at, phase) in spec.phases.iter().enumerate().rev() {
        let itself = Some(&job.phases()[at]).filter(|phase| !phase.is_finished()).map_or(0.0, Phase::mean);
        let path = after[at] + itself;
        for parent in &phase.after {
            if let Some(after) = after.get_mut(*parent as usize) {
                *after = after.max(path);
            }
        }
    }
    after
}
