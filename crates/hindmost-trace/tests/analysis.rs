//! Findings of generated logs with known properties.

mod analysis {
    pub mod world;

    mod properties;
    mod real;
    mod slow_nodes;
    mod stragglers;
    mod totals;
}
