//! Tests that allotments from sums over blocks equal allotments computed in passes over all jobs.

use proptest::prelude::*;

use super::*;

/// Returns the allotment of each job, computed in passes over all jobs. `jobs` is sorted by place.
fn in_passes(jobs: &[(Place, Claim)], slots: f64, epsilon: f64) -> Vec<f64> {
    let sum = |of: fn(&Claim) -> f64| jobs.iter().map(|(_, claim)| of(claim)).sum::<f64>();
    let (wanted, weights) = (sum(|claim| claim.wanted), sum(|claim| claim.weight));
    let shared = sum(|claim| claim.downstream * claim.wanted);
    let mut left = slots - wanted;
    if left >= -ROUNDING {
        let part = |claim: &Claim| claim.downstream * claim.wanted / shared;
        return jobs.iter().map(|(_, claim)| claim.wanted + left.max(0.0) * part(claim)).collect();
    }
    left = slots;
    let base = |claim: &Claim| {
        let fair = (1.0 - epsilon) * slots * claim.weight / weights;
        ((fair / claim.copy + ROUNDING).floor() * claim.copy).min(claim.wanted)
    };
    let mut given: Vec<f64> = jobs.iter().map(|(_, claim)| base(claim)).collect();
    left -= given.iter().sum::<f64>();
    for (given, (_, claim)) in given.iter_mut().zip(jobs) {
        let more = (claim.wanted - *given).min(left).max(0.0);
        *given += more;
        left -= more;
    }
    given
}

/// Returns true if a job with this claim can start its smallest pending task, in terms of whole copies.
fn can_start(claim: &Claim, given: f64) -> bool {
    if claim.next == f64::INFINITY {
        return false;
    }
    let copies = if given < claim.wanted - ROUNDING {
        // The nearest whole number; half a copy is rounded down.
        (given / claim.copy - 0.5 - ROUNDING).ceil()
    } else {
        let virtual_size = (claim.wanted / claim.copy - ROUNDING).ceil();
        virtual_size.max((given / claim.copy + ROUNDING).floor())
    };
    claim.held / claim.copy < copies - 0.5
}

prop_compose! {
    fn any_claim()(
        job in 0..300u32, tasks in 1..30u32, copy in 1..4u32, later in 0..30u32, weight in 1..4u32, held in 0..9u32,
        stretch in prop::sample::select(vec![1.0, 1.03125, 1.25, 1.5]), goes in prop::bool::weighted(0.2),
    ) -> (u32, Option<(u64, Claim)>) {
        let (copy, tasks) = (f64::from(copy) / 8.0, f64::from(tasks));
        let (downstream, next) = (f64::from(later + 1).sqrt(), if later % 5 == 0 { f64::INFINITY } else { copy });
        let claim = Claim {
            wanted: stretch * tasks * copy, copy, downstream, weight: f64::from(weight), held: f64::from(held) * copy, next,
        };
        (job, (!goes).then_some((u64::from(later), claim)))
    }
}

proptest! {
    #[test]
    fn sums_over_blocks_agree_with_passes_over_all_jobs(
        changes in prop::collection::vec(any_claim(), 1..400),
        slots in 1..2000u32,
        epsilon in prop::sample::select(vec![0.0, 0.1, 1.0]),
    ) {
        let slots = f64::from(slots);
        let mut allotment = Allotment::new(epsilon);
        let mut known = std::collections::BTreeMap::new();
        for (number, (job, change)) in changes.into_iter().enumerate() {
            let job = JobId(job);
            if let Some((key, claim)) = change {
                let place = Place::by_key(key, job);
                allotment.set(place, claim);
                known.retain(|at: &Place, _| at.job() != job);
                known.insert(place, claim);
            } else {
                allotment.remove(job);
                known.retain(|at, _| at.job() != job);
            }
            allotment.share_out(slots);
            if number % 40 != 0 {
                continue;
            }
            let jobs: Vec<(Place, Claim)> = known.iter().map(|(place, claim)| (*place, *claim)).collect();
            let given = in_passes(&jobs, slots, epsilon);
            let mut blocked = None;
            for ((place, claim), expected) in jobs.iter().zip(&given).rev() {
                let found = allotment.given_to(place.job()).unwrap();
                prop_assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
                if can_start(claim, *expected) {
                    blocked = None;
                } else {
                    blocked = blocked.or(Some(*place));
                }
                // If there are enough slots for all jobs, `blocked_until` returns `None` for every place.
                if matches!(allotment.division, Division::Short { .. }) {
                    prop_assert_eq!(allotment.blocked_until(*place), blocked);
                }
            }
        }
    }
}
