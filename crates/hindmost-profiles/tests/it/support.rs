//! Profiles for tests.

use hindmost_core::profiles::{Conditions, Profile};

/// Returns a profile of `wordcount`/`map` that took this many seconds on `n1`.
pub(crate) fn profile(seconds: f64) -> Profile {
    profile_of("wordcount", "n1", seconds)
}

/// Returns a profile of the phase `map` of a job type.
pub(crate) fn profile_of(job: &str, node: &str, seconds: f64) -> Profile {
    let conditions = Conditions { input: 64e6, tasks: 12, load: 0.5, ..Conditions::default() };
    Profile { job: job.into(), phase: "map".into(), node: node.into(), speed: 1.0, seconds, conditions }
}
