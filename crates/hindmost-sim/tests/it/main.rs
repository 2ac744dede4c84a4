//! Tests of the simulator and of every policy. `policy/` has a file for each system and order. The other modules test
//! the simulator (closed forms, slots, scenarios, ...) and properties of all runs (`properties`, `losses`).

mod abandoned;
mod advice;
mod audit;
mod closed_forms;
mod deadlines;
mod disturbances;
mod energy;
mod exact;
mod experiments;
mod instances;
mod kinds;
mod knowledge;
mod live_like;
mod load;
mod locality;
mod losses;
mod outages;
mod placement;
mod policy;
mod power_keys;
mod properties;
mod queues;
mod reference;
mod refusals;
mod scenarios;
mod speed;
#[cfg(target_arch = "x86_64")]
mod unchanged;
mod waiting;
