//! Job files: what a user writes, checked and turned into a plan.
