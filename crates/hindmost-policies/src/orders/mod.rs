//! Orders of jobs: they decide which job is next when resources are free. Orders that plan the phases of a job in
//! advance are in [`dag`](crate::dag).

pub mod capacity;
pub mod dollymp;
pub mod drf;
pub mod effective_time;
pub mod fair;
pub mod fewest_remaining;
pub mod fifo;
pub mod hopper;
pub mod smallest_workload;
pub mod srpt;
pub mod svf;
pub mod tetris;
