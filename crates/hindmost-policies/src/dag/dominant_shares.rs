//! Progressive filling: computes the dominant share of each job from the resources that the jobs could use.

use std::cmp::Ordering;

use hindmost_core::cluster::{Cluster, Job};
use hindmost_core::resources::MAX_DIMENSIONS;

/// The resources that a job could use, as DRF counts them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    weight: f64,
    /// By dimension, the share of the cluster that all of the job's tasks would take at once. May exceed 1.
    usable: [f64; MAX_DIMENSIONS],
    /// The largest share in `usable`.
    dominant: f64,
    /// The level (share divided by weight) at which the job can use no more.
    satisfied_at: f64,
}

impl Claim {
    fn new(weight: f64, usable: [f64; MAX_DIMENSIONS]) -> Claim {
        let dominant = usable.iter().copied().fold(0.0, f64::max);
        Claim { weight, usable, dominant, satisfied_at: dominant / weight }
    }

    /// The claim of a job: all of its unfinished tasks at once.
    pub fn of(job: &Job, cluster: &Cluster) -> Claim {
        let mut usable = [0.0; MAX_DIMENSIONS];
        for phase in job.phases() {
            for ((sum, need), all) in usable.iter_mut().zip(&phase.demand().0).zip(&cluster.total().0) {
                if *all > 0 && *need > 0 {
                    *sum += f64::from(phase.unfinished()) * *need as f64 / *all as f64;
                }
            }
        }
        Claim::new(job.spec().weight.max(f64::MIN_POSITIVE), usable)
    }

    /// The claim of a job that needs nothing.
    pub fn none() -> Claim {
        Claim::new(1.0, [0.0; MAX_DIMENSIONS])
    }

    /// Returns true if the job needs something.
    pub fn needs_some(&self) -> bool {
        self.dominant > 0.0
    }

    /// Returns the share of a satisfied job: its dominant share, or 1 if it needs nothing.
    pub fn most(&self) -> f64 {
        if self.needs_some() { self.dominant } else { 1.0 }
    }

    /// Returns the share of a dimension that the job takes per unit of level while it grows.
    fn rate(&self, dimension: usize) -> f64 {
        self.weight * self.usable[dimension] / self.dominant
    }

    fn is_uncommon(&self) -> bool {
        !COMMON_WEIGHTS.contains(&self.weight)
    }

    fn rank(&self, number: usize) -> Option<Rank> {
        self.needs_some().then_some(Rank { satisfied_at: self.satisfied_at, number: number as u32 })
    }
}

/// The sort key of a job that needs something. Jobs that are satisfied later sort first.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rank {
    satisfied_at: f64,
    number: u32,
}

impl Rank {
    fn order(&self, other: &Rank) -> Ordering {
        other.satisfied_at.total_cmp(&self.satisfied_at).then(other.number.cmp(&self.number))
    }
}

/// Bound on the rounding error of sums of shares.
const ROUNDING: f64 = 1e-9;
/// Relative margin by which the unused share of a dimension must exceed the next amount taken. With this margin,
/// comparing both amounts gives the same result as comparing their quotients by the rate.
const CLEARLY: f64 = 1e-8;
/// If all tasks of all jobs together use at most this share of each dimension, each job certainly gets all that it
/// could use, whatever the rounding errors are.
const CERTAIN: f64 = 0.999;
/// The weights for which [`CERTAIN`] is valid.
const COMMON_WEIGHTS: std::ops::RangeInclusive<f64> = 0.01..=100.0;
/// If at most one in this many jobs has a new claim, each of these jobs is moved to its new place; otherwise all jobs
/// are sorted again.
const MANY: usize = 16;

/// The claims of all jobs, by job number. Numbers follow the order of arrival, 0 to 2^32 - 1.
///
/// Values that filling reads job by job are stored contiguously, because under overload the shares of thousands of jobs
/// are computed thousands of times.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    all: Vec<Claim>,
    /// The weights of the claims.
    weights: Vec<f64>,
    /// The dominant shares of the claims.
    dominants: Vec<f64>,
    /// By dimension, the rate of each claim, see [`Claim::rate`].
    rates: [Vec<f64>; MAX_DIMENSIONS],
    /// For each claim, a bit for each dimension that it needs.
    needs: Vec<u8>,
    /// The ranks of the claims that need something. Claims that are satisfied later come first.
    order: Vec<Rank>,
    /// By dimension, the number of claims that need it.
    users: [usize; MAX_DIMENSIONS],
    /// By dimension, the sum of what all claims could use.
    usable: [f64; MAX_DIMENSIONS],
    /// The number of claims whose weights are outside [`COMMON_WEIGHTS`].
    uncommon: usize,
}

/// The state of progressive filling.
struct Filling {
    /// Share of each job that still grows, divided by its weight.
    level: f64,
    /// The unused share of each dimension.
    left: [f64; MAX_DIMENSIONS],
    /// By dimension, the sum of the rates of the growing jobs.
    rates: [f64; MAX_DIMENSIONS],
}

impl Claims {
    /// Adds a claim that needs nothing, under the next number.
    pub fn push(&mut self) {
        let none = Claim::none();
        self.all.push(none);
        self.weights.push(none.weight);
        self.dominants.push(none.dominant);
        self.rates.iter_mut().for_each(|rates| rates.push(0.0));
        self.needs.push(0);
    }

    /// Returns the claims by number.
    pub fn all(&self) -> &[Claim] {
        &self.all
    }

    /// Removes the first `count` claims, none of which may need anything. The numbers of the others decrease by
    /// `count`.
    pub fn drop_first(&mut self, count: usize) {
        self.all.drain(..count);
        self.weights.drain(..count);
        self.dominants.drain(..count);
        self.rates.iter_mut().for_each(|rates| _ = rates.drain(..count));
        self.needs.drain(..count);
        self.order.iter_mut().for_each(|rank| rank.number -= count as u32);
    }

    /// Replaces the claim of this number.
    pub fn set(&mut self, number: usize, claim: Claim) {
        let before = self.replace(number, claim).rank(number);
        self.rerank(before, claim.rank(number));
    }

    /// Replaces the claims of these numbers.
    pub fn set_all(&mut self, claims: &[(usize, Claim)]) {
        if claims.len() * MANY <= self.order.len() {
            for (number, claim) in claims {
                self.set(*number, *claim);
            }
            return;
        }
        let mut moved = Vec::new();
        for (number, claim) in claims {
            let (before, now) = (self.replace(*number, *claim).rank(*number), claim.rank(*number));
            if before != now {
                moved.extend(now);
            }
        }
        self.order.retain(|rank| self.all[rank.number as usize].rank(rank.number as usize) == Some(*rank));
        self.order.append(&mut moved);
        self.order.sort_by(Rank::order);
    }

    fn replace(&mut self, number: usize, claim: Claim) -> Claim {
        let before = std::mem::replace(&mut self.all[number], claim);
        self.weights[number] = claim.weight;
        self.dominants[number] = claim.dominant;
        self.needs[number] = 0;
        for dimension in 0..MAX_DIMENSIONS {
            let (now, before) = (claim.usable[dimension], before.usable[dimension]);
            self.usable[dimension] += now - before;
            self.users[dimension] = self.users[dimension] + usize::from(now > 0.0) - usize::from(before > 0.0);
            self.needs[number] |= u8::from(now > 0.0) << dimension;
            self.rates[dimension][number] = if now > 0.0 { claim.rate(dimension) } else { 0.0 };
        }
        self.uncommon = self.uncommon + usize::from(claim.is_uncommon()) - usize::from(before.is_uncommon());
        before
    }

    /// Moves a job to its new place in the order.
    fn rerank(&mut self, before: Option<Rank>, now: Option<Rank>) {
        let place = |order: &[Rank], rank: &Rank| order.partition_point(|other| other.order(rank) == Ordering::Less);
        let from = before.map(|rank| place(&self.order, &rank));
        let to = now.map(|rank| (place(&self.order, &rank), rank));
        match (from, to) {
            // The entries between the old and the new place move by one.
            (Some(from), Some((to, rank))) if from < to => {
                self.order[from..to].rotate_left(1);
                self.order[to - 1] = rank;
            }
            (Some(from), Some((to, rank))) => {
                self.order[to..=from].rotate_right(1);
                self.order[to] = rank;
            }
            (Some(from), None) => _ = self.order.remove(from),
            (None, Some((to, rank))) => self.order.insert(to, rank),
            (None, None) => {}
        }
    }

    /// Returns true if all jobs certainly get all that they could use.
    pub fn are_satisfied(&self) -> bool {
        self.uncommon == 0 && self.usable.iter().all(|sum| *sum <= CERTAIN)
    }

    /// Calls `give` with the number and the dominant share of each job that needs something.
    ///
    /// All jobs grow together, each in proportion to its weight and with its dimensions in proportion to its demands. A
    /// job stops growing when it can use no more or when a dimension that it needs is full.
    pub fn divide(&self, mut give: impl FnMut(usize, f64)) {
        let used: Vec<usize> = (0..MAX_DIMENSIONS).filter(|dimension| self.users[*dimension] > 0).collect();
        // The growing jobs are the first `count` entries of `self.order`, or of `rest` once a dimension was full. The
        // jobs that are satisfied first are at the end.
        let mut rest: Option<Vec<Rank>> = None;
        let mut count = self.order.len();
        let mut filling = Filling { level: 0.0, left: [1.0; MAX_DIMENSIONS], rates: self.rates_of(&self.order, &used) };
        loop {
            let growing = &rest.as_ref().unwrap_or(&self.order)[..count];
            count = match used[..] {
                [one] => self.satisfy(growing, [one], &mut filling, &mut give),
                [one, other] => self.satisfy(growing, [one, other], &mut filling, &mut give),
                _ => count,
            };
            let growing = &growing[..count];
            let Some(&Rank { satisfied_at, number: next }) = growing.last() else { return };
            let next = next as usize;
            let Filling { level, left, rates } = &mut filling;
            let dimensions = used.iter().map(|at| (left[*at], rates[*at])).filter(|(_, rate)| *rate > ROUNDING);
            let full_at = *level + dimensions.map(|(left, rate)| left.max(0.0) / rate).fold(f64::INFINITY, f64::min);
            let until = full_at.min(satisfied_at);
            for at in used.iter().copied() {
                left[at] -= rates[at] * (until - *level);
            }
            *level = until;
            if satisfied_at <= full_at {
                give(next, self.dominants[next]);
                count -= 1;
                for at in used.iter().copied() {
                    rates[at] -= self.rates[at][next];
                }
                continue;
            }
            let full = used.iter().filter(|dimension| left[**dimension] <= ROUNDING).fold(0, |bits, at| bits | 1 << at);
            let mut still = Vec::new();
            for rank in growing {
                let number = rank.number as usize;
                if self.needs[number] & full != 0 {
                    give(number, self.weights[number] * *level);
                } else {
                    still.push(*rank);
                }
            }
            if still.len() == count {
                // A rounding error has stopped the growth of all jobs.
                still
                    .drain(..)
                    .for_each(|rank| give(rank.number as usize, self.weights[rank.number as usize] * *level));
            }
            *rates = self.rates_of(&still, &used);
            count = still.len();
            rest = Some(still);
        }
    }

    /// Gives jobs all that they could use, one after another, until a dimension could become full before the next job
    /// is satisfied. It needs no division. Returns the number of jobs that still grow.
    fn satisfy<const USED: usize>(
        &self,
        growing: &[Rank],
        used: [usize; USED],
        filling: &mut Filling,
        give: &mut impl FnMut(usize, f64),
    ) -> usize {
        let mut level = filling.level;
        let (mut left, mut rates) = (used.map(|at| filling.left[at]), used.map(|at| filling.rates[at]));
        let of_each = used.map(|at| &self.rates[at][..]);
        let mut count = growing.len();
        while let Some(Rank { satisfied_at, number }) = growing[..count].last().copied() {
            let grown = satisfied_at - level;
            let taken = rates.map(|rate| rate * grown);
            if (0..USED).any(|at| rates[at] > ROUNDING && left[at] <= taken[at] * (1.0 + CLEARLY)) {
                break;
            }
            level = satisfied_at;
            for at in 0..USED {
                left[at] -= taken[at];
                rates[at] -= of_each[at][number as usize];
            }
            give(number as usize, self.dominants[number as usize]);
            count -= 1;
        }
        filling.level = level;
        for (at, dimension) in used.into_iter().enumerate() {
            (filling.left[dimension], filling.rates[dimension]) = (left[at], rates[at]);
        }
        count
    }

    /// Returns, by dimension, the sum of the rates of the growing jobs.
    fn rates_of(&self, growing: &[Rank], used: &[usize]) -> [f64; MAX_DIMENSIONS] {
        let mut sums = [0.0; MAX_DIMENSIONS];
        for dimension in used.iter().copied() {
            let rates = &self.rates[dimension];
            sums[dimension] = growing.iter().map(|rank| rates[rank.number as usize]).sum();
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn claim(weight: f64, cpus: f64, memory: f64) -> Claim {
        let mut usable = [0.0; MAX_DIMENSIONS];
        (usable[0], usable[1]) = (cpus, memory);
        Claim::new(weight, usable)
    }

    /// Returns the dominant shares of these claims. Sets each claim three times, so that it moves in the order.
    fn dominant_shares(claims: &[Claim]) -> Vec<f64> {
        let mut filled = Claims::default();
        for _ in claims {
            filled.push();
        }
        let mut all: Vec<(usize, Claim)> = claims.iter().copied().enumerate().collect();
        filled.set_all(&all);
        let sorted = order_of(&filled);
        // Each claim moves to the place of another one and back.
        all.iter().rev().enumerate().for_each(|(number, (_, claim))| filled.set(number, *claim));
        all.drain(..).for_each(|(number, claim)| filled.set(number, claim));
        assert_eq!(order_of(&filled), sorted);
        let mut shares = vec![1.0; claims.len()];
        filled.divide(|number, share| shares[number] = share);
        shares
    }

    fn order_of(claims: &Claims) -> Vec<u32> {
        claims.order.iter().map(|rank| rank.number).collect()
    }

    fn close(shares: &[f64], expected: &[f64]) {
        assert_eq!(shares.len(), expected.len());
        for (share, expected) in shares.iter().zip(expected) {
            assert!((share - expected).abs() < 1e-9, "{shares:?}, not {expected}");
        }
    }

    #[test]
    fn the_drf_papers_example_gives_both_jobs_two_thirds() {
        // The cluster has 9 cpus and 18 GB. A's tasks need 1 cpu and 4 GB, B's tasks 3 cpus and 1 GB. A gets 3 tasks
        // and B gets 2, and both have a dominant share of 2/3 (Ghodsi et al., NSDI 2011, section 4.1).
        let a = claim(1.0, 100.0 / 9.0, 400.0 / 18.0);
        let b = claim(1.0, 300.0 / 9.0, 100.0 / 18.0);
        close(&dominant_shares(&[a, b]), &[2.0 / 3.0, 2.0 / 3.0]);
    }

    #[test]
    fn resources_that_a_job_cannot_use_go_to_the_others() {
        close(
            &dominant_shares(&[claim(1.0, 5.0, 0.0), claim(1.0, 0.1, 0.0), claim(1.0, 9.0, 0.0)]),
            &[0.45, 0.1, 0.45],
        );
        close(&dominant_shares(&[claim(3.0, 5.0, 0.0), claim(1.0, 5.0, 0.0)]), &[0.75, 0.25]);
        // After the cpus are full, a job that needs only memory continues to grow.
        close(&dominant_shares(&[claim(1.0, 2.0, 0.0), claim(1.0, 2.0, 0.0), claim(1.0, 0.0, 0.9)]), &[0.5, 0.5, 0.9]);
        close(&dominant_shares(&[claim(1.0, 0.3, 0.2), claim(1.0, 0.0, 0.0)]), &[0.3, 1.0]);
        close(&dominant_shares(&[]), &[]);
    }

    proptest! {
        /// If all jobs certainly fit, each has exactly the share that it could use, without rounding errors.
        #[test]
        fn satisfied_jobs_have_exact_shares(
            claims in proptest::collection::vec((0.01..100.0f64, 0.0..1.0f64, 0.0..1.0f64), 1..60)
        ) {
            let (cpus, memory) = claims.iter().fold((0.0, 0.0), |sum, claim| (sum.0 + claim.1, sum.1 + claim.2));
            let most = f64::max(cpus, memory) / (CERTAIN - 1e-9);
            let claims: Vec<Claim> =
                claims.into_iter().map(|(weight, cpus, memory)| claim(weight, cpus / most, memory / most)).collect();
            prop_assert_eq!(dominant_shares(&claims), claims.iter().map(Claim::most).collect::<Vec<_>>());
        }

        /// No dimension exceeds 1, and each job that could use more needs a full dimension in which no other job has a
        /// larger share divided by weight.
        #[test]
        fn shares_are_max_min_fair(
            claims in proptest::collection::vec((0.1..5.0f64, 0.0..2.0f64, 0.0..2.0f64), 1..20)
        ) {
            let claims: Vec<Claim> = claims.into_iter().map(|(weight, cpus, memory)| claim(weight, cpus, memory)).collect();
            let shares = dominant_shares(&claims);
            let takes = |at: usize, dimension: usize| shares[at] * claims[at].usable[dimension] / claims[at].dominant;
            let used = |dimension: usize| (0..claims.len()).map(|at| takes(at, dimension)).sum::<f64>();
            prop_assert!(used(0) <= 1.0 + 1e-6 && used(1) <= 1.0 + 1e-6);
            for at in 0..claims.len() {
                prop_assert!(shares[at] <= claims[at].dominant + 1e-9);
                if shares[at] >= claims[at].dominant - 1e-9 {
                    continue;
                }
                let held_up = (0..2).any(|dimension| {
                    used(dimension) > 1.0 - 1e-6
                        && claims[at].usable[dimension] > 0.0
                        && (0..claims.len()).filter(|other| claims[*other].usable[dimension] > 0.0).all(|other| {
                            shares[other] / claims[other].weight <= shares[at] / claims[at].weight + 1e-6
                        })
                });
                prop_assert!(held_up, "job {at} of {claims:?} has {shares:?}");
            }
        }
    }
}
