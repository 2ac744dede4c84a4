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
