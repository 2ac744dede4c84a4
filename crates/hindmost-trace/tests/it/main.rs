//! Tests of the readers through their public functions: generated logs, compressed and damaged ones, directories, and real logs.

mod any;
mod compressed;
mod directories;
mod files;
mod fixtures;
mod memory;
mod more_logs;
mod reading;
mod real_findings;
mod real_logs;
mod support;
