//! Effective times and volumes of phases (Xu, Liu & Lau 2022, Eq. 15 to 17): what several orders measure jobs by.

use hindmost_core::cluster::Phase;
use hindmost_core::resources::Resources;

/// Weight of the standard deviation in a phase's effective time e = θ + r·σ (Xu, Liu & Lau 2022,
/// who write r = 1.5).
pub const EFFECTIVE_TIME_DEVIATIONS: f64 = 1.5;

/// A phase's effective time, seconds: its mean duration and 1.5 standard deviations where known.
pub fn effective_time(phase: &Phase) -> f64 {
    effective_time_with(phase, EFFECTIVE_TIME_DEVIATIONS)
}

/// As [`effective_time`], with so many standard deviations.
pub fn effective_time_with(phase: &Phase, deviations: f64) -> f64 {
    phase.mean() + deviations * phase.sd().unwrap_or(0.0)
}

/// A phase's remaining effective volume, seconds of the whole cluster, with effective times that count
/// so many standard deviations.
pub fn effective_volume(phase: &Phase, total: &Resources, deviations: f64) -> f64 {
    f64::from(phase.unfinished()) * effective_time_with(phase, deviations) * phase.demand().dominant_share(total)
}
