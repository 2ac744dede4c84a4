//! Runs real jobs as local processes under any scheduling policy of Hindmost, and resumes them after any interruption.
//!
//! Three concepts:
//!
//! - A **plan** ([`job_file`]) is a checked job file: phases of tasks, the shell command of each phase, and what each task
//!   demands of a node.
//!   [`map`] makes the plan of one command for many values.
//! - An **engine** ([`engine`]) starts, slows down and kills attempts on nodes, and reports when they end.
//!   [`engine::Local`] runs them as processes on this machine.
//! - The **driver** ([`driver`]) applies the engine's events to the cluster, lets the policy decide, writes events and
//!   decisions to the journal, and then carries the decisions out. The [`store`] holds the run's folder: the journal, the
//!   attempts' own folders, and each task's result, which is renamed into place once.
//!
//! ```no_run
//! use std::path::Path;
//! use std::sync::atomic::AtomicU32;
//!
//! use hindmost_run::driver::{self, RunOptions, Unfollowed};
//! use hindmost_run::engine::{Local, parse_nodes};
//! use hindmost_run::job_file;
//! use hindmost_run::store::{Opening, Store};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let plan = job_file::load(Path::new("wordcount.toml"))?;
//! let mut engine = Local::new(parse_nodes(Some("n1:2,n2:2"))?)?;
//! let opened = Store::open(Path::new("wordcount.out"), &plan, &Opening::default())?;
//! // Counts how often the user has requested to stop, for example with Ctrl-C.
//! let stop_requests = AtomicU32::new(0);
//! let outcome =
//!     driver::run(&RunOptions::default(), opened, &mut engine, &stop_requests, &mut Unfollowed)?;
//! println!("{:?} after {:.1} s", outcome.summary.state, outcome.summary.flowtime);
//! # Ok(())
//! # }
//! ```
//!
//! [`live_view`] shows a run in progress from outside, from its folder. [`energy`] measures the energy of a run, or estimates it.
//! [`chaos`] injects faults, so that a user can try a policy out. [`process`] finds, stops and kills all processes that an attempt
//! has started.

pub mod chaos;
pub mod driver;
pub mod energy;
pub mod engine;
mod escape;
pub mod job_file;
pub mod live_view;
pub mod map;
pub mod process;
pub mod store;
pub mod submission;
