//! Tests of the findings, with generated logs of known properties and with real logs.

pub mod world;

mod properties;
mod real;
mod slow_nodes;
mod stragglers;
mod totals;
