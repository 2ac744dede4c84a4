//! Fault injection (`--chaos`): slows and loses nodes and kills attempts, so that a user can see how a policy reacts.

use std::str::FromStr;

use hindmost_core::ids::AttemptId;
use hindmost_core::random::{Purpose, draw_for_attempt};
use hindmost_core::time::Time;
use hindmost_math::plain::Quoted;

/// A node that is lost for some time.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// Name of the node.
    pub node: String,
    /// Time from the start or resumption of the run to the loss.
    pub at: Time,
    /// Time from the loss to the return of the node.
    pub duration: Time,
}

/// The faults to inject into a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chaos {
    /// Names of slow nodes, each with the factor (1 to 1000) by which attempts on it take longer. Their processes are
    /// stopped and continued in turn.
    pub slow: Vec<(String, f64)>,
    /// Probability that an attempt is killed while it runs, in [0, 1].
    pub kill: f64,
    /// Losses of nodes.
    pub lose: Vec<Loss>,
    /// Seed of the draws that decide which attempts are killed, and when.
    pub seed: u64,
}

/// A `--chaos` text that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "--chaos {}: {reason}; give slow=NODE:FACTOR, kill=CHANCE, lose=NODE:10s (lost for 10 s), lose=NODE:10s@5s (lost for 10 s \
     from 5 s on) or seed=N, separated by commas",
    Quoted(text)
)]
pub struct ChaosError {
    text: String,
    reason: String,
}

/// Seconds from the start of the run to a loss for which the text gives no time (`lose=NODE:10s` without `@`).
const LOST_AT: f64 = 1.0;

impl FromStr for Chaos {
    type Err = ChaosError;

    fn from_str(text: &str) -> Result<Chaos, ChaosError> {
        let mut chaos = Chaos::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let wrong = |reason: String| ChaosError { text: part.to_owned(), reason };
            let (what, value) = part.split_once('=').ok_or_else(|| wrong("it has no =".to_owned()))?;
            match what.trim() {
                "slow" => {
                    let (node, factor) =
                        value.rsplit_once(':').ok_or_else(|| wrong("no factor is given".to_owned()))?;
                    let factor = factor.trim().parse().ok().filter(|factor| (1.0..=1000.0).contains(factor));
                    let factor =
                        factor.ok_or_else(|| wrong("the factor must be a number from 1 to 1000".to_owned()))?;
                    chaos.slow.push((node.trim().to_owned(), factor));
                }
                "kill" => {
                    let chance = value.trim().parse().ok().filter(|chance| (0.0..=1.0).contains(chance));
                    chaos.kill = chance.ok_or_else(|| wrong("the chance must be a number from 0 to 1".to_owned()))?;
                }
                "lose" => {
                    let (node, when) = value.rsplit_once(':').ok_or_else(|| wrong("no time is given".to_owned()))?;
                    let (duration, at) =
                        when.split_once('@').map_or((when, None), |(duration, at)| (duration, Some(at)));
                    let seconds = |text: &str| {
                        crate::job_file::parse_duration(text.trim())
                            .map(|span| Time(span.as_nanos() as u64))
                            .ok_or_else(|| wrong(format!("{} is not a time such as 10s", Quoted(text))))
                    };
                    let at = at.map_or(Ok(Time::from_seconds(LOST_AT)), seconds)?;
                    chaos.lose.push(Loss { node: node.trim().to_owned(), at, duration: seconds(duration)? });
                }
                "seed" => {
                    chaos.seed =
                        value.trim().parse().map_err(|_| wrong("the seed must be a whole number".to_owned()))?;
                }
                other => return Err(wrong(format!("there is no fault {}", Quoted(other)))),
            }
        }
        Ok(chaos)
    }
}

impl Chaos {
    /// Returns the first node in these faults that is not among `nodes`.
    pub fn unknown_node<'a>(&'a self, nodes: &[String]) -> Option<&'a str> {
        let named = self.slow.iter().map(|(node, _)| node).chain(self.lose.iter().map(|loss| &loss.node));
        named.map(String::as_str).find(|name| !nodes.iter().any(|node| node == name))
    }

    /// Returns the factor by which attempts on a node take longer; 1 if it is not slow.
    pub fn slowed(&self, node: &str) -> f64 {
        self.slow.iter().filter(|(name, _)| name == node).map(|(_, factor)| *factor).fold(1.0, f64::max)
    }

    /// Returns the time from an attempt's start to its kill; `None` if it is not killed. The time is uniformly distributed
    /// between 0 and `typical`, the typical duration of a copy in seconds.
    pub fn killed_after(&self, attempt: AttemptId, typical: f64) -> Option<Time> {
        if self.kill == 0.0 || draw_for_attempt(self.seed, Purpose::Detection, attempt) >= self.kill {
            return None;
        }
        Some(Time::from_seconds(draw_for_attempt(self.seed, Purpose::Noise, attempt) * typical))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_parsed() {
        let chaos: Chaos = "slow=n3:8,kill=0.01,lose=n2:10s, lose=n1:0.5s@2s,seed=7".parse().unwrap();
        assert_eq!(chaos.slow, [("n3".to_owned(), 8.0)]);
        assert_eq!((chaos.kill, chaos.seed), (0.01, 7));
        let loss = |node: &str, at, duration| Loss {
            node: node.to_owned(),
            at: Time::from_seconds(at),
            duration: Time::from_seconds(duration),
        };
        assert_eq!(chaos.lose, [loss("n2", 1.0, 10.0), loss("n1", 2.0, 0.5)]);
        assert_eq!((chaos.slowed("n3"), chaos.slowed("n1")), (8.0, 1.0));
        assert_eq!(chaos.unknown_node(&["n1".to_owned(), "n3".to_owned()]), Some("n2"));
    }

    #[test]
    fn invalid_faults_are_errors() {
        for wrong in
            ["slow=n3", "slow=n3:0.5", "slow=n3:NaN", "kill=2", "kill=NaN", "lose=n2", "lose=n2:x", "boom=1", "x"]
        {
            let error = wrong.parse::<Chaos>().unwrap_err().to_string();
            assert!(error.contains("slow=NODE:FACTOR"), "{wrong}: {error}");
        }
    }
}
