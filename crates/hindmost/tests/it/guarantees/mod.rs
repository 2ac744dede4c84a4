//! The promises of docs/guarantees.md, a class of faults a file.
//!
//! Each test says what it needs (root, strace, loop devices) and is left out by name where that is missing.

mod changed_results;
mod hostile_folders;
mod limits;
mod power_cut;
mod swapped_folders;
mod syscalls;
