//! Which share of the durations belongs to the tasks themselves, by the copies that really ran.
//!
//! A log without copies leaves it open: from 0 to 1, beyond what the input explains. A copy that ran while its original ran is
//! evidence. If the durations belong to the tasks, a copy takes as long as its original; otherwise it takes as long as any other
//! task.

use hindmost_core::workload::{Situated, SituatedAttempt, SituatedEnd};

/// Probability that a copy beats its original by chance although the duration belongs to the task.
const BY_CHANCE: f64 = 0.02;
/// Half of the 95% quantile of χ² with one degree of freedom: the loss of log-likelihood at the ends of the interval.
const LOSS: f64 = 1.92;
/// Number of steps from 0 to 1 at which the likelihood is computed.
const STEPS: u32 = 20;

/// The share of the durations that belongs to the tasks, beyond what their input explains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnShare {
    /// The least share that the log allows.
    pub least: f64,
    /// The largest share that the log allows.
    pub most: f64,
    /// Number of copies that are evidence.
    pub copies: u64,
}

impl Default for OwnShare {
    fn default() -> OwnShare {
        OwnShare { least: 0.0, most: 1.0, copies: 0 }
    }
}

/// Pairs of an original and a copy: the probabilities of what happened if the duration belongs to the task, and if it does not.
#[derive(Debug, Default)]
pub(super) struct Pairs(Vec<(f64, f64)>);

impl Pairs {
    /// Adds the copies of a phase: the places of a task, an original and a copy of it.
    pub(super) fn add(&mut self, phase: &Situated, copies: &[(usize, usize, usize)]) {
        for (task, original, copy) in copies {
            let attempts = &phase.tasks[*task].attempts;
            let (Some(original), Some(copy)) = (attempts.get(*original), attempts.get(*copy)) else { continue };
            let (Some(pair), true) = (pair(phase, *task, original, copy), phase.tasks.len() > 1) else { continue };
            self.0.push(pair);
        }
    }

    /// Returns the shares whose likelihood is not much less than that of the likeliest.
    pub(super) fn own_share(&self) -> OwnShare {
        let likelihood = |step: u32| {
            let share = f64::from(step) / f64::from(STEPS);
            self.0.iter().map(|(own, other)| (share * own + (1.0 - share) * other).max(1e-9).ln()).sum::<f64>()
        };
        let all: Vec<f64> = (0..=STEPS).map(likelihood).collect();
        let best = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let is_likely = |step: &u32| all[*step as usize] >= best - LOSS;
        let share = |step: Option<u32>, default: f64| step.map_or(default, |step| f64::from(step) / f64::from(STEPS));
        OwnShare {
            least: share((0..=STEPS).find(is_likely), 0.0),
            most: share((0..=STEPS).rev().find(is_likely), 1.0),
            copies: self.0.len() as u64,
        }
    }
}

/// Returns the probabilities of what a copy showed: if the duration belongs to the task, and if it does not. `None` if neither
/// attempt ended by finishing.
fn pair(phase: &Situated, task: usize, original: &SituatedAttempt, copy: &SituatedAttempt) -> Option<(f64, f64)> {
    let others = phase.tasks.iter().enumerate().filter(|(other, _)| *other != task);
    let scale = phase.typical * phase.tasks[task].input * copy.met;
    let durations: Vec<f64> = others.map(|(_, other)| scale * other.residual).collect();
    let share = |is: &dyn Fn(f64) -> bool| {
        let count = durations.iter().filter(|seconds| is(**seconds)).count() as f64;
        (count + 0.5) / (durations.len() as f64 + 1.0)
    };
    // How long the copy takes if it takes as long as its original did, or at least that long.
    let own = original.seconds * copy.met / original.met;
    match (original.ended, copy.ended) {
        (SituatedEnd::Finished, SituatedEnd::Stopped) => {
            let ran = copy.seconds;
            Some((if own > ran { 1.0 } else { BY_CHANCE }, share(&|seconds| seconds > ran)))
        }
        (SituatedEnd::Stopped, SituatedEnd::Finished) => {
            let took = copy.seconds;
            Some((if own > took { BY_CHANCE } else { 1.0 }, share(&|seconds| seconds < own)))
        }
        (SituatedEnd::Finished, SituatedEnd::Finished) => {
            // Within a fifth of each other, or not.
            let alike = |seconds: f64| (seconds / copy.seconds).ln().abs() < 0.2;
            let is_alike = alike(own);
            let own = if is_alike { 1.0 } else { BY_CHANCE };
            Some((own, if is_alike { share(&alike) } else { 1.0 - share(&alike) }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hindmost_core::workload::SituatedTask;

    use super::*;

    fn attempt(seconds: f64, ended: SituatedEnd) -> SituatedAttempt {
        SituatedAttempt { seconds, ended, met: 1.0, slowness: 1.0, again_after: 0.0 }
    }

    /// A task of 30 s with the given attempts among `others` tasks of 1 s.
    fn phase(others: usize, attempts: Vec<SituatedAttempt>) -> Situated {
        let one = |attempts, residual| SituatedTask { attempts, input: 1.0, garbage: 1.0, residual };
        let mut tasks = vec![one(attempts, 30.0)];
        tasks.extend((0..others).map(|_| one(vec![attempt(1.0, SituatedEnd::Finished)], 1.0)));
        Situated { tasks, typical: 1.0, first_wave: 1.0, gap: 0.0, moves: false, nodes: Arc::default() }
    }

    fn share(phase: &Situated, pairs: usize) -> OwnShare {
        let mut all = Pairs::default();
        (0..pairs).for_each(|_| all.add(phase, &[(0, 0, 1)]));
        all.own_share()
    }

    #[test]
    fn without_copies_the_share_is_open() {
        assert_eq!(Pairs::default().own_share(), OwnShare { least: 0.0, most: 1.0, copies: 0 });
    }

    #[test]
    fn copies_that_win_show_that_durations_are_not_the_tasks_own() {
        // The original is stopped after 30 s, when its copy has taken 1 s, as other tasks do. ln L at the share w is 5·ln(0.02·w +
        // (1 − w)·(99.5/100)), and is 1.92 below its maximum at w = 0.32.
        let phase = phase(99, vec![attempt(30.0, SituatedEnd::Stopped), attempt(1.0, SituatedEnd::Finished)]);
        let found = share(&phase, 5);
        assert_eq!((found.least, found.copies), (0.0, 5));
        assert!((found.most - 0.3).abs() < 0.051, "{found:?}");
    }

    #[test]
    fn copies_that_lose_after_long_show_that_durations_are_the_tasks_own() {
        // The copy has run for 20 s when the original ends after 30 s; no other task takes 20 s.
        let phase = phase(99, vec![attempt(30.0, SituatedEnd::Finished), attempt(20.0, SituatedEnd::Stopped)]);
        let found = share(&phase, 5);
        assert_eq!((found.most, found.copies), (1.0, 5));
        assert!((found.least - 0.7).abs() < 0.051, "{found:?}");
        // A copy that was stopped at once shows nothing.
        let short = phase_of_short_copy();
        assert_eq!(share(&short, 5), OwnShare { least: 0.0, most: 1.0, copies: 5 });
    }

    fn phase_of_short_copy() -> Situated {
        phase(99, vec![attempt(30.0, SituatedEnd::Finished), attempt(0.1, SituatedEnd::Stopped)])
    }
}
