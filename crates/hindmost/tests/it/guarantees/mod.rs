//! Tests of the promises in docs/guarantees.md, one file for each class of faults.
//!
//! A test that needs root, strace or loop devices is skipped with a message if it does not have them.

mod changed_results;
mod hostile_folders;
mod limits;
mod power_cut;
mod swapped_folders;
mod syncs;
mod syscalls;
