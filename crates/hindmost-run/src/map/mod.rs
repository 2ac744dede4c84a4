//! `hindmost map`: one command for many values, as with GNU parallel on one machine.
//!
//! Steps: the words of the command line → [`Template`] and [`Given`] sources → [`Source`]s with their values → one list of
//! values for each task ([`combined`]) → [`MapJob::plan`], a [`Plan`](crate::job_file::Plan) of one phase in which each
//! task has a command of its own. [`Halt`] decides when failures end the run, [`JobLog`] records the tasks in the format of
//! GNU parallel.

mod columns;
mod combine;
mod error;
mod forms;
mod halt;
mod joblog;
mod jobs;
mod left;
mod plan;
mod quoting;
mod sources;
mod template;

pub use columns::ColumnSeparator;
pub use combine::{Combining, combined};
pub use error::MapError;
pub use halt::{Counted, Halt, Outlook, When};
pub use joblog::{Earlier, Entry, JobLog};
pub use jobs::{parallel_tasks, timeout};
pub use left::{TEMPORARY, left_running, remove_left_folders};
pub use plan::{MapJob, PHASE, shell};
pub use quoting::quoted;
pub use sources::{Given, Source, Splitting, Words, read_sources, split_words};
pub use template::{Reading, Template};
