//! Papers' experiments run again, with what they claim beside what is measured.
//!
//! Each paper has a folder with a file for each figure. A figure asks a `Plan` for the runs that it
//! needs before anything runs, and judges its claims afterwards; runs that several figures share are
//! made once.

mod digest;
pub mod dollymp2022;
mod plan;
mod xu2015;

pub use dollymp2022::{DecisionTime, dollymp2022, dollymp2022_decision_times, dollymp2022_runs};
pub use xu2015::{xu2015, xu2015_runs};
