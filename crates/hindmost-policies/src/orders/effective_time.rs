//! Effective times and volumes of phases (Xu, Liu & Lau 2022, Eq. 15 to 17). Several orders sort jobs by them.

use hindmost_core::cluster::Phase;
use hindmost_core::resources::Resources;

/// Weight r of the standard deviation in a phase's effective time e = θ + r·σ; Xu, Liu & Lau 2022 set r = 1.5.
pub const EFFECTIVE_TIME_DEVIATIONS: f64 = 1.5;

/// Returns a phase's effective time in seconds: its mean duration plus 1.5 standard deviations. An unknown standard
/// deviation counts as 0.
pub fn effective_time(phase: &Phase) -> f64 {
    effective_time_with(phase, EFFECTIVE_TIME_DEVIATIONS)
}

/// Returns a phase's effective time in seconds: its mean duration plus `deviations` standard deviations.
pub fn effective_time_with(phase: &Phase, deviations: f64) -> f64 {
    phase.mean() + deviations * phase.sd().unwrap_or(0.0)
}

/// Returns a phase's remaining effective volume in seconds of the whole cluster: unfinished tasks × effective time
/// (with `deviations` standard deviations) × dominant share of one copy.
pub fn effective_volume(phase: &Phase, total: &Resources, deviations: f64) -> f64 {
    f64::from(phase.unfinished()) * effective_time_with(phase, deviations) * phase.demand().dominant_share(total)
}
