//! What slows down or stops nodes and attempts: contention, neighbours' load, stragglers, random failures, learned and
//! measured speeds.

mod closed_forms;
mod failures;
mod keys;
mod learned_speeds;
mod neighbours;
mod rates;
mod stragglers;
mod watches;
