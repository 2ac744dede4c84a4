//! Findings of generated logs whose truth is known.

mod analysis {
    pub mod world;

    mod properties;
    mod real;
    mod slow_nodes;
    mod stragglers;
    mod totals;
}
