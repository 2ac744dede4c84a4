//! Runs real jobs: job files, the live driver between engine, cluster and policy, and the engine
//! `local`.
//!
//! Data goes one way: job file → plan → driver (engine's events → cluster → policy → decisions →
//! journal → engine) → results renamed into place.

pub mod chaos;
pub mod driver;
pub mod engine;
pub mod job_file;
pub mod process;
pub mod store;
