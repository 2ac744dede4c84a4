//! `hete_aware` starts copies as late as Hadoop does, but on the slots that `window` would choose.
//!
//! Paper: Zhou, Phan, Ibrahim & He, "Energy-Efficient Speculative Execution using Advanced Reservation for Heterogeneous
//! Clusters", ICPP 2018, section 6.1: "Hete-aware also allocates speculative copies on available resources at the end of
//! the job execution", by Algorithm 1. The paper compares `window` with it, with "Default" (here `hadoop`), which waits for
//! the same moment but does not choose slots, and with "noSpec" (here `none`).
//!
//! Algorithm: once no task of a phase is pending, the stragglers of the phase are detected at the start of each window,
//! as by [`window`](super::window). They get slots by the same heuristic, but only slots that are free now, after pending
//! tasks of all jobs have started. Nothing is reserved.
//!
//! Passes: `[Originals(order), Copies(skyline)]`.
//!
//! Readings: the paper does not say how often `Hete-aware` looks for stragglers. Here it is as often as `window` does.
//! The other readings and deviations are those of [`window`](super::window).

use super::window::{Choice, ReserveSlots, Saves, Settings};
use crate::theory::skyline::Closeness;

crate::parameters! {
    /// The parameters of `hete_aware`.
    pub struct HeteAwareParameters {
        /// time between two detections of stragglers in durations of the phase's fastest task; it stays below the mean
        /// duration
        pub window: f64 = 0.2, in 0.001..=1.0;
        /// share of the phase's mean progress rate below which an attempt is a straggler
        pub slow: f64 = 0.5, in 0.001..=1.0;
        /// stragglers that may have to leave their slot to one without; 0 means no rescheduling
        pub exchanges: u32 = 3, in 0..=1_000, unit "stragglers";
        /// what score 1 of rescheduling is: printed ((ct_j - ct_i)/ct_j) or ratio (ct_i/ct_j)
        pub closeness: Closeness = Closeness::Printed;
        /// bandwidth with which input is read from another node; unknown: transfers are not distinguished
        pub bandwidth: Option<f64> = None, word unknown, in 0.001.., unit "bytes/s";
    }
}

/// Creates the pass of `hete_aware`.
pub fn pass(parameters: HeteAwareParameters) -> ReserveSlots {
    let HeteAwareParameters { window, slow, exchanges, closeness, bandwidth } = parameters;
    ReserveSlots::with(Settings {
        window,
        slow,
        looks_ahead: false,
        after_originals: true,
        choice: Choice::Skyline,
        exchanges,
        closeness,
        bandwidth,
        saves: Saves::Both,
        anytime: false,
    })
}
