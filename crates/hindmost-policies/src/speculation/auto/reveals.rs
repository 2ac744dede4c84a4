//! From which share of their work on remaining times are known, where that is learned as durations are, in live runs: commands report when
//! they like, and what they report first may say nothing yet.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::share::WITHIN;

/// Number of the last attempts of a kind that count.
const KEPT: usize = 64;
/// The remaining times of this share of the attempts are known by then.
const MOST: f64 = 0.9;

/// The attempts of a kind of phase whose durations are learned.
#[derive(Debug)]
struct OfKind {
    /// The shares of their work after which their remaining times were known.
    shares: VecDeque<f64>,
    known_from: f64,
}

/// What is learned of all kinds of phases whose durations are learned.
#[derive(Debug, Default)]
pub(super) struct Reveals(FxHashMap<u64, OfKind>);

impl Reveals {
    /// Notes that the durations of a kind are learned. Before its attempts show more, only their ages are known.
    pub(super) fn learn(&mut self, kind: u64) {
        self.0.entry(kind).or_insert_with(|| OfKind { shares: VecDeque::new(), known_from: 1.0 });
    }

    /// True if the durations of a kind are learned.
    pub(super) fn is_learned(&self, kind: u64) -> bool {
        self.0.contains_key(&kind)
    }

    /// Notes that the remaining time of an attempt is known after this share of its work; 1 if it never was.
    pub(super) fn note(&mut self, kind: u64, share: f64) {
        let Some(known) = self.0.get_mut(&kind) else { return };
        if known.shares.len() == KEPT {
            known.shares.pop_front();
        }
        known.shares.push_back(share);
        let most = hindmost_math::statistics::quantile(known.shares.make_contiguous().to_vec().as_mut_slice(), MOST);
        known.known_from = most.map_or(1.0, |share| (share * WITHIN).min(1.0));
    }

    /// Returns the share of the work after which remaining times of a kind are known, at least `stated`.
    pub(super) fn known_from(&self, kind: u64, stated: f64) -> f64 {
        self.0.get(&kind).map_or(stated, |known| known.known_from.max(stated))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_that_of_most_attempts() {
        let mut reveals = Reveals::default();
        reveals.note(1, 0.5);
        assert_eq!(reveals.known_from(1, 0.1), 0.1, "durations that are stated come with the share");
        reveals.learn(1);
        assert_eq!(reveals.known_from(1, 0.1), 1.0);
        for _ in 0..9 {
            reveals.note(1, 0.5);
        }
        reveals.note(1, 1.0);
        assert!((reveals.known_from(1, 0.1) - 0.5 * WITHIN).abs() < 1e-12);
        assert_eq!(reveals.known_from(1, 0.7), 0.7);
    }
}
