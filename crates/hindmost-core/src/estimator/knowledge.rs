//! What a policy may know about running attempts.

use std::fmt;
use std::str::FromStr;

use hindmost_math::plain::Quoted;
use serde::{Deserialize, Serialize};

/// The progress model: what is known about a running attempt, and when. The distribution of the phase's durations is
/// known in all models except [`Knowledge::History`] and [`Knowledge::Profiles`], which estimate it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Knowledge {
    /// The remaining time of an attempt is known from its start. Most papers assume this.
    #[default]
    Oracle,
    /// The remaining time of an attempt is known once this fraction of its work, in [0, 1), is done. Before that,
    /// speculation policies that test the remaining time leave the attempt alone.
    Progress(f64),
    /// As `Progress`, with a fraction drawn for each attempt uniformly from (0, 1): the asktime of Xu & Lau 2015,
    /// Definition 2.
    ProgressUniform,
    /// Progress is unknown; only how long an attempt has been running is known.
    Age,
    /// As `Age`, but the distribution of durations is estimated from earlier runs of the job and from the phase's
    /// finished tasks. Used by live runs.
    History,
    /// Durations are known from profiles of finished attempts, of this run and of earlier ones (RiskI). As with `Progress`,
    /// the remaining time of an attempt is known once this fraction of its work, in [0, 1), is done; before that, its
    /// range is known from profiles and its age.
    Profiles(f64),
}

/// The share of an attempt's work from which on its remaining time is known under the progress model `profiles` without
/// a share.
pub const PROFILES_SHARE: f64 = 0.1;

/// The error for a text that names no progress model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} is not a kind of knowledge: use oracle, progress(S) with S in [0, 1), progress(uniform), age, history, profiles or \
     profiles(S)",
    Quoted(.0)
)]
pub struct UnknownKnowledge(String);

impl FromStr for Knowledge {
    type Err = UnknownKnowledge;

    fn from_str(text: &str) -> Result<Knowledge, UnknownKnowledge> {
        let wrong = || UnknownKnowledge(text.to_owned());
        match text.trim() {
            "oracle" => return Ok(Knowledge::Oracle),
            "age" => return Ok(Knowledge::Age),
            "history" => return Ok(Knowledge::History),
            "profiles" => return Ok(Knowledge::Profiles(PROFILES_SHARE)),
            _ => {}
        }
        let inner = |name: &str| text.trim().strip_prefix(name).and_then(|rest| rest.strip_suffix(')')).map(str::trim);
        let (share, model): (&str, fn(f64) -> Knowledge) = match (inner("progress("), inner("profiles(")) {
            (Some("uniform"), _) => return Ok(Knowledge::ProgressUniform),
            (Some(share), _) => (share, Knowledge::Progress),
            (None, Some(share)) => (share, Knowledge::Profiles),
            (None, None) => return Err(wrong()),
        };
        let fraction: f64 = share.parse().map_err(|_| wrong())?;
        if (0.0..1.0).contains(&fraction) { Ok(model(fraction)) } else { Err(wrong()) }
    }
}

impl fmt::Display for Knowledge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Knowledge::Oracle => f.write_str("oracle"),
            Knowledge::Progress(fraction) => write!(f, "progress({fraction})"),
            Knowledge::ProgressUniform => f.write_str("progress(uniform)"),
            Knowledge::Age => f.write_str("age"),
            Knowledge::History => f.write_str("history"),
            Knowledge::Profiles(PROFILES_SHARE) => f.write_str("profiles"),
            Knowledge::Profiles(fraction) => write!(f, "profiles({fraction})"),
        }
    }
}

impl Serialize for Knowledge {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Knowledge {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Knowledge, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
