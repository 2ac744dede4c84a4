//! Runs real jobs: job files, the live driver between engine, cluster and policy, and the engine
//! `local`.
//!
//! Data goes one way: job file → plan → driver (engine's events → cluster → policy → decisions →
//! journal → engine) → results renamed into place.

pub mod job_file;
pub mod process;
