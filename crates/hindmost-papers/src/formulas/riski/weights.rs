//! The weights of factors that the quadratic program gives to profiles (section 5.3), on profiles made by hand.

use std::sync::Arc;

use hindmost_claims::Measured;
use hindmost_core::profiles::{Conditions, Profile};
use hindmost_profiles::fit;

use super::one;

/// Returns 32 profiles of one node. Their durations are 10 s and a second for each MB of input, which takes 0 to 28 MB; the
/// number of tasks changes, but has no influence.
fn profiles() -> Vec<Arc<Profile>> {
    let profile = |at: u32| {
        let input = f64::from(4 * (at % 8));
        let conditions = Conditions { input: input * 1e6, tasks: 1 + (at / 8) % 2, ..Conditions::default() };
        let seconds = 10.0 + input;
        Arc::new(Profile {
            job: "job".into(),
            phase: "map".into(),
            node: "node".into(),
            speed: 1.0,
            seconds,
            conditions,
        })
    };
    (0..32).map(profile).collect()
}

/// Returns the weight of a factor; 0 if the program leaves it out.
fn weight(factor: &str) -> Result<f64, String> {
    let weights = fit(&profiles(), Some(&"node".into())).map_err(|error| error.to_string())?;
    let weights = weights.ok_or("there are too few profiles")?;
    Ok(weights.factors.iter().find(|known| *known.name == *factor).map_or(0.0, |known| known.weight))
}

pub(super) fn noise() -> Result<Vec<Measured>, String> {
    one("weight of a factor without influence", weight("tasks")?, "")
}

pub(super) fn input() -> Result<Vec<Measured>, String> {
    one("weight of the input size, on which durations depend", weight("input")?, "")
}
