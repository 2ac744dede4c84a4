//! The places of jobs in a queue, and how places are sorted.

use std::collections::BTreeSet;
use std::ops::Bound;

use crate::ids::JobId;

/// Selects jobs of a queue by whether they have started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Jobs with a started attempt.
    Started,
    /// Jobs without a started attempt.
    New,
    /// All jobs, with or without a started attempt.
    Any,
}

/// A job's place in the queue. Places sort by class, key and job id. The class is 1 for jobs without a started attempt
/// if the order puts started jobs first, and 0 otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub(super) class: u8,
    pub(super) key: u64,
    pub(super) job: JobId,
}

impl Place {
    /// Returns a place that sorts only by job id, which is the order of arrival.
    pub fn by_id(job: JobId) -> Place {
        Place { class: 0, key: 0, job }
    }

    /// Returns a place of class 0 that sorts by a key, given as the bits that [`ordered`] returns.
    #[inline]
    pub fn by_key(key: u64, job: JobId) -> Place {
        Place { class: 0, key, job }
    }

    /// Returns the id of the job.
    #[inline]
    pub fn job(&self) -> JobId {
        self.job
    }
}

/// Returns the first place of a set or, if `after` is a place, the first one after that place.
pub fn next_after(set: &BTreeSet<Place>, after: Option<Place>) -> Option<Place> {
    match after {
        None => set.first().copied(),
        Some(after) => set.range((Bound::Excluded(after), Bound::Unbounded)).next().copied(),
    }
}

/// Appends to `places`, in order, the places of the selected sets that come after `after`. Stops before the first place
/// for which `may` is false, and when `places` has `most` entries.
pub fn add_after(
    (which, started, new): (Which, &BTreeSet<Place>, &BTreeSet<Place>),
    after: Option<Place>,
    most: usize,
    may: impl Fn(Place) -> bool,
    places: &mut Vec<Place>,
) {
    let from = after.map_or(Bound::Unbounded, Bound::Excluded);
    let (mut started, mut new) = (started.range((from, Bound::Unbounded)), new.range((from, Bound::Unbounded)));
    let mut heads = (
        started.next().filter(|_| which != Which::New).copied(),
        new.next().filter(|_| which != Which::Started).copied(),
    );
    while places.len() < most {
        let next = match heads {
            (Some(one), other) if other.is_none_or(|other| one < other) => {
                heads.0 = started.next().copied();
                one
            }
            (_, Some(other)) => {
                heads.1 = new.next().copied();
                other
            }
            _ => return,
        };
        if !may(next) {
            return;
        }
        places.push(next);
    }
}

/// Returns the smaller of two places, or only the one that `which` selects. `started` is the first place of a started
/// job, `new` the first place of a new job.
pub fn first_of(which: Which, started: Option<Place>, new: Option<Place>) -> Option<Place> {
    match which {
        Which::Started => started,
        Which::New => new,
        Which::Any => match (started, new) {
            (Some(started), Some(new)) => Some(started.min(new)),
            (one, other) => one.or(other),
        },
    }
}

/// Converts a number into bits that sort as the numbers do. 0 and −0 are equal.
pub fn ordered(key: f64) -> u64 {
    let bits = (key + 0.0).to_bits();
    if bits >> 63 == 0 { bits | (1 << 63) } else { !bits }
}

/// Converts the bits of [`ordered`] back into the number.
pub fn unordered(bits: u64) -> f64 {
    f64::from_bits(if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits })
}

#[cfg(test)]
mod tests {
    use super::{ordered, unordered};

    #[test]
    fn bits_sort_as_numbers_do() {
        let sorted = [f64::NEG_INFINITY, -2.0, -1e-300, 0.0, 1e-300, 1.0, 2.5, f64::INFINITY];
        for pair in sorted.windows(2) {
            assert!(ordered(pair[0]) < ordered(pair[1]), "{pair:?}");
        }
        assert_eq!(ordered(-0.0), ordered(0.0));
        assert!(sorted.iter().all(|number| unordered(ordered(*number)) == *number));
    }
}
