//! Tests of the readers through their public functions: generated logs, compressed and damaged ones, directories, and real logs.

mod any;
mod compressed;
mod counts;
mod directories;
mod files;
mod findings;
mod memory;
mod more_logs;
mod real_logs;
mod support;
