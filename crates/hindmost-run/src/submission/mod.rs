//! Jobs that are submitted to a run in progress, through a Unix socket that only its owner can open.
//!
//! ```text
//! hindmost submit  → one line of JSON, a [`Request`]   → connection (a thread each) → queue → driver
//!                  ← lines of JSON, [`Reply`] each     ←                            ← outcome
//! ```
//!
//! A connection's thread does what may take long: it reads and checks the job file and opens the job's folder. The driver only
//! takes opened jobs from the queue ([`Desk`] is its [`Submissions`](crate::driver::Submissions)), so a client can't hold up a
//! run. Every accepted job is in the list of jobs (`jobs.json`), so that a run that is resumed knows it.
//!
//! Invariants: two jobs of a run never have the same name; a request is checked and limited before anything is done for it; a
//! job is in the list before its client learns that it is accepted.

mod client;
mod desk;
mod list;
mod protocol;
mod socket;

#[cfg(test)]
mod tests;

pub use client::{Client, ClientError};
pub use desk::{Admission, Desk, changed_command};
pub(crate) use list::JOBS;
pub use list::{JobEntry, JobList};
pub use protocol::{Reply, Request};
pub use socket::{Listener, SocketError};
