//! Tests of the findings, with generated recordings of known properties and with real logs.

pub mod world;

mod phases;
mod properties;
mod real;
mod totals;
