//! Tests of the findings, with generated recordings of known properties.

mod phases;
mod properties;
mod totals;
mod world;
