//! What slows down or stops nodes and attempts: contention, neighbours' load, stragglers and random failures.
//!
//! The keys are those of scenario files. All draws are counter-based: they depend on the seed and on the node and period,
//! on the job, or on the copy, and not on the policy. See "Nodes that slow down and fail" in docs/scenarios.md.
//!
//! The parameters follow Zhou, Phan, Ibrahim & He 2018, sections 4 and 6 (contention degree, straggler ratio). The paper
//! does not say how contention grows with what runs beside a task, or how slow a straggler is; both are keys here.

use std::path::Path;

use hindmost_core::resources::Resources;
use hindmost_math::plain::Plain;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::parameter::{Draws, Parameter};

/// Largest slow-down by contention, and largest exponent.
const MOST: f64 = 1e6;
/// Shortest mean time, in seconds, between two changes of a node. Every change is an event.
const SHORTEST: f64 = 1e-3;
/// Quantiles at which parameters are tried before anything runs.
const TRIED: [f64; 5] = [1e-9, 0.25, 0.5, 0.75, 1.0 - 1e-9];

/// How much the attempts on a node slow each other down.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Contention {
    /// How many times as long a task takes on an otherwise full node; 1: attempts do not slow each other down.
    #[schemars(range(min = 1, max = 1e6))]
    pub degree: f64,
    /// Exponent of the share of the rest of the node that other attempts use.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1e6))]
    pub exponent: f64,
}

impl Contention {
    /// Attempts do not slow each other down.
    pub const NONE: Contention = Contention { degree: 1.0, exponent: 1.0 };

    /// Returns how many times as long an attempt of the demand `own` takes, compared with an empty node, while other
    /// attempts on the node hold `others`: 1 + (degree − 1)·x^exponent, where x is the dominant share of `others` in
    /// the capacity without `own`.
    pub fn slowdown(&self, capacity: &Resources, own: &Resources, others: &Resources) -> f64 {
        if self.degree == 1.0 {
            return 1.0;
        }
        let share = others.dominant_share(&capacity.minus(own)).min(1.0);
        let power = if self.exponent == 1.0 { share } else { share.powf(self.exponent) };
        1.0 + (self.degree - 1.0) * power
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// If one is out of range.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !(1.0..=MOST).contains(&self.degree) {
            return Err(format!("contention.degree is {}, but must be from 1 to {MOST}", Plain(self.degree)));
        }
        if !(self.exponent > 0.0 && self.exponent <= MOST) {
            let exponent = Plain(self.exponent);
            return Err(format!("contention.exponent is {exponent}, but must be above 0 and at most {MOST}"));
        }
        Ok(())
    }
}

fn one() -> f64 {
    1.0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_one(number: &f64) -> bool {
    *number == 1.0
}

/// In which state a node's neighbours are when the run begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NeighbourStart {
    /// In the state in which they are at a random time: the process has run for 10 to 20 mean cycles, a number drawn
    /// uniformly for each node.
    #[default]
    Random,
    /// At the beginning of a quiet period.
    Quiet,
}

/// Load of others on the node (on its host or in its rack) that comes and goes: quiet and busy periods take turns. A
/// parameter of a distribution that is itself a distribution is drawn once for each node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Neighbours {
    /// Seconds of a quiet period; a distribution is drawn for each period.
    pub quiet: Parameter,
    /// Seconds of a busy period; a distribution is drawn for each period.
    pub busy: Parameter,
    /// How many times as long attempts take in a busy period, at least 1; a distribution is drawn for each period.
    pub slowdown: Parameter,
    /// In which state the neighbours are when the run begins.
    #[serde(default)]
    pub start: NeighbourStart,
}

/// Failures of a node at random times. Its attempts end, as in an outage. A parameter of a distribution that is itself a
/// distribution is drawn once for each node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failures {
    /// Seconds from the start of the run, or from the last repair, to the next failure of the node.
    pub between: Parameter,
    /// Seconds from a failure until the node returns.
    pub repair: Parameter,
}

/// Copies that take longer than their drawn duration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stragglers {
    /// Probability that the first copy of a task straggles, in [0, 1]; a distribution is drawn for each job.
    pub ratio: Parameter,
    /// How many times as long a straggling copy takes, at least 1; a distribution is drawn for each straggling copy.
    pub slowdown: Parameter,
    /// Whether backups, clones and new starts straggle with the same probability.
    #[serde(default)]
    pub copies: bool,
}

impl Neighbours {
    /// Reads the files of the parameters, relative to `folder`, and checks the parameters.
    ///
    /// # Errors
    /// If a file can't be read, or a parameter is out of range.
    pub(crate) fn check(&mut self, folder: &Path) -> Result<(), String> {
        check_period("neighbours.quiet", &mut self.quiet, folder)?;
        check_period("neighbours.busy", &mut self.busy, folder)?;
        check_slowdown("neighbours.slowdown", &mut self.slowdown, folder)
    }
}

impl Failures {
    /// Reads the files of the parameters, relative to `folder`, and checks the parameters.
    ///
    /// # Errors
    /// If a file can't be read, or a parameter is out of range.
    pub(crate) fn check(&mut self, folder: &Path) -> Result<(), String> {
        check_period("failures.between", &mut self.between, folder)?;
        check_period("failures.repair", &mut self.repair, folder)
    }
}

impl Stragglers {
    /// Reads the files of the parameters, relative to `folder`, and checks the parameters.
    ///
    /// # Errors
    /// If a file can't be read, or a parameter is out of range.
    pub(crate) fn check(&mut self, folder: &Path) -> Result<(), String> {
        check_drawn("stragglers.ratio", &mut self.ratio, folder, "from 0 to 1", |ratio| (0.0..=1.0).contains(&ratio))?;
        check_slowdown("stragglers.slowdown", &mut self.slowdown, folder)
    }
}

fn check_slowdown(name: &str, parameter: &mut Parameter, folder: &Path) -> Result<(), String> {
    check_drawn(name, parameter, folder, "at least 1", |slowdown| slowdown >= 1.0)
}

/// Checks the length of a period: its mean is finite and not so short that there are too many events.
fn check_period(name: &str, parameter: &mut Parameter, folder: &Path) -> Result<(), String> {
    check_drawn(name, parameter, folder, "above 0", |seconds| seconds > 0.0)?;
    for number in TRIED {
        let mean = parameter.resolve(&mut Draws::always(number)).map_err(|error| format!("{name}: {error}"))?.mean();
        if !(mean.is_finite() && mean >= SHORTEST) {
            return Err(format!("the mean of {name} is {}, but must be at least {SHORTEST} seconds", Plain(mean)));
        }
    }
    Ok(())
}

/// Reads the file of a parameter, and checks the numbers that it draws.
fn check_drawn(
    name: &str,
    parameter: &mut Parameter,
    folder: &Path,
    range: &str,
    is_valid: impl Fn(f64) -> bool,
) -> Result<(), String> {
    parameter.load(folder).map_err(|error| format!("{name}: {error}"))?;
    for number in TRIED {
        let drawn = parameter.draw(&mut Draws::always(number)).map_err(|error| format!("{name}: {error}"))?;
        if !(drawn.is_finite() && is_valid(drawn)) {
            let is_or_may_be = if parameter.is_constant().is_some() { "is" } else { "may be" };
            return Err(format!("{name} {is_or_may_be} {}, but must be {range}", Plain(drawn)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus_and_memory(cpus: u64, memory: u64) -> Resources {
        let mut amounts = Resources::NONE;
        (amounts.0[0], amounts.0[1]) = (cpus, memory);
        amounts
    }

    #[test]
    fn contention_grows_with_the_dominant_share_of_the_rest() {
        let capacity = cpus_and_memory(8, 32);
        let own = cpus_and_memory(2, 8);
        let slowdown = |exponent, cpus, memory| {
            let contention = Contention { degree: 2.5, exponent };
            contention.slowdown(&capacity, &own, &cpus_and_memory(cpus, memory))
        };
        // The rest is 6 CPUs and 24 GB. Others hold half of the CPUs, and then three quarters of the memory.
        assert_eq!(slowdown(1.0, 0, 0), 1.0);
        assert_eq!(slowdown(1.0, 3, 4), 1.75);
        assert_eq!(slowdown(1.0, 3, 18), 1.0 + 1.5 * 0.75);
        assert_eq!(slowdown(2.0, 3, 4), 1.0 + 1.5 * 0.25);
        assert_eq!(slowdown(1.0, 6, 24), 2.5);
        assert_eq!(Contention::NONE.slowdown(&capacity, &own, &cpus_and_memory(6, 24)), 1.0);
    }

    #[test]
    fn an_attempt_that_fills_its_node_is_not_slowed_down() {
        let contention = Contention { degree: 4.0, exponent: 1.0 };
        let capacity = cpus_and_memory(4, 0);
        assert_eq!(contention.slowdown(&capacity, &capacity, &Resources::NONE), 1.0);
    }
}
