//! Tests of the simulator and of every policy. `instances/` has instances that were worked out by hand, `every_policy/` what holds
//! for all policies, `policy/` comparisons of single ones. The other modules test the simulator (closed forms, scenarios, ...).

mod advice;
mod audit;
mod chains;
mod closed_forms;
mod deadlines;
mod disturbances;
mod every_policy;
mod exact;
mod experiments;
mod instances;
mod kinds;
mod knowledge;
mod live_like;
mod load;
mod locality;
mod mistakes;
mod outages;
mod placement;
mod policy;
mod power_keys;
mod queues;
mod reference;
mod refusals;
mod refused_decisions;
mod scenarios;
mod speed;
#[cfg(target_arch = "x86_64")]
mod unchanged;
mod waiting;
