//! Tests of files of profiles, and of predictions among many profiles.

mod damage;
mod kills;
mod learner;
mod support;
