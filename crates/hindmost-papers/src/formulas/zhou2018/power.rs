//! Whether the powers of slots add up to the dynamic power of a node (section 5.2.2, equation 4).

use hindmost_claims::Measured;
use hindmost_core::power::{CpuPower, Load, PowerModel, StaticWatts};

use super::one;

/// Returns the sum of the powers of the slots of equal tasks, each the power of the node with the task minus the power
/// without it, divided by the dynamic power of the node.
fn share(tasks: u32) -> f64 {
    let model = PowerModel {
        static_watts: StaticWatts { cpu: 90.0, memory: 20.0, network: 10.0 },
        cpu: CpuPower::PerCore(15.0),
        cores: 8.0,
        joules_per_access: 0.0,
        joules_per_byte: 0.0,
    };
    let (task, others) = (Load::of_cores(1.0), Load::of_cores(f64::from(tasks - 1)));
    let slots = f64::from(tasks) * model.marginal_watts(&others, &task);
    slots / (model.watts(f64::from(tasks)) - model.idle_watts())
}

pub(super) fn up_to_cores() -> Result<Vec<Measured>, String> {
    // The value that is farthest from 1.
    let shares = (1..=8).map(share);
    let farthest = shares.max_by(|one, other| (one - 1.0).abs().total_cmp(&(other - 1.0).abs())).unwrap_or(f64::NAN);
    one("powers of the slots divided by the node's dynamic power, 1 to 8 tasks on 8 cores", farthest, "")
}

pub(super) fn above_cores() -> Result<Vec<Measured>, String> {
    one("the same with 16 tasks on 8 cores", share(16), "")
}
