//! The newest profiles of a phase or of a phase on a node, and predictions from them.

use std::collections::VecDeque;
use std::sync::Arc;

use hindmost_math::outcomes::Outcomes;

use super::similarity::Factors;
use super::{ENOUGH, Prediction, Profile};

/// Profiles within this distance are similar: durations that differ by about this share of their mean.
const THRESHOLD: f64 = 0.1;

/// A copy whose duration is predicted.
pub(super) struct Copy<'a> {
    /// Place of its node; `None` if no profile is from there.
    pub(super) place: Option<u32>,
    /// Speed of its node.
    pub(super) speed: f64,
    /// The values of the factors under its conditions.
    pub(super) values: &'a [f64],
}

/// A limited number of profiles, the oldest first.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    /// The profiles, each with the place of its node.
    profiles: VecDeque<(Arc<Profile>, u32)>,
    most: usize,
    /// The factors by which the last prediction was made, and their values for each profile, one after another.
    values: Option<(Arc<Factors>, VecDeque<f64>)>,
}

impl Ring {
    /// Creates an empty ring of at most `most` profiles.
    pub(super) fn new(most: usize) -> Ring {
        Ring { profiles: VecDeque::new(), most, values: None }
    }

    pub(super) fn len(&self) -> usize {
        self.profiles.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Profile>> {
        self.profiles.iter().map(|(profile, _)| profile)
    }

    /// Adds a profile from the node at a place. Returns the place of the profile that leaves the ring for it.
    pub(super) fn push(&mut self, profile: Arc<Profile>, place: u32) -> Option<u32> {
        let dropped = if self.profiles.len() >= self.most { self.profiles.pop_front() } else { None };
        if let Some((factors, values)) = &mut self.values {
            if dropped.is_some() {
                values.drain(..factors.len());
            }
            values.extend(factors.values(&profile.conditions));
        }
        self.profiles.push_back((profile, place));
        dropped.map(|(_, place)| place)
    }

    /// Reads the values of all profiles, unless they are known for these factors.
    fn read(&mut self, factors: &Arc<Factors>) {
        if self.values.as_ref().is_some_and(|(known, _)| Arc::ptr_eq(known, factors)) {
            return;
        }
        let values = self.profiles.iter().flat_map(|(profile, _)| factors.values(&profile.conditions)).collect();
        self.values = Some((factors.clone(), values));
    }

    /// Predicts the duration of a copy. `None` if there are no profiles.
    pub(super) fn predict(&mut self, copy: &Copy<'_>, factors: Option<&Arc<Factors>>) -> Option<Prediction> {
        let factors = factors.filter(|factors| factors.len() > 0);
        if let Some(factors) = factors {
            self.read(factors);
        }
        let seconds = |(profile, place): &(Arc<Profile>, u32)| {
            if Some(*place) == copy.place { profile.seconds } else { profile.seconds_at_speed_1() / copy.speed }
        };
        let examined = self.profiles.len();
        let mut found: Vec<(f64, usize)> = Vec::new();
        if let Some((factors, values)) = factors.and(self.values.as_mut()) {
            let values = values.make_contiguous().chunks_exact(factors.len());
            found.extend(self.profiles.iter().zip(values).enumerate().map(|(at, ((_, place), values))| {
                (factors.distance(values.iter().copied(), copy.values, Some(*place) == copy.place), at)
            }));
            if found.iter().filter(|(distance, _)| *distance <= THRESHOLD).count() >= ENOUGH {
                found.retain(|(distance, _)| *distance <= THRESHOLD);
            } else if found.len() > ENOUGH {
                // Of equally similar profiles the newer ones are used.
                found.select_nth_unstable_by(ENOUGH - 1, |one, other| {
                    one.0.total_cmp(&other.0).then(other.1.cmp(&one.1))
                });
                found.truncate(ENOUGH);
            }
        } else {
            // All distances are 0: every profile is similar.
            found.extend((0..examined).map(|at| (0.0, at)));
        }
        let used = found.len();
        let duration = Outcomes::equally_likely(found.into_iter().map(|(_, at)| seconds(&self.profiles[at])))?;
        Some(Prediction { mean: duration.mean(), duration, examined, used })
    }
}
