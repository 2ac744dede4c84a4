//! The live driver on an engine without processes: every task has one winner, nothing of the others stays,
//! and whatever dies when, a resumed run goes on from there.

mod copies;
mod cuts;
mod deaths;
mod failures;
mod fake_engine;
mod nodes;
mod policies;
mod refusals;
mod scale;
mod stories;
mod story;
mod watches;
mod world;
