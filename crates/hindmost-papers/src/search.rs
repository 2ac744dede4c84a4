//! The search for the reading under which most claims hold together, and what decides the headline.

use hindmost_claims::{Calibrated, Claim, Factor, Reading, Search, Status};
use hindmost_math::random::{hash, unit};
use hindmost_math::statistics::quantile;

use crate::data::{Paper, ReadingSpec};

/// Number of random assignments by which [`Search::by_chance`] is estimated.
const ASSIGNMENTS: u64 = 2000;

/// The stream of random numbers of these assignments; any number that nothing else uses.
const STREAM: u64 = 0x7265_6164;

/// Returns the simulated claims.
fn simulated(claims: &[Claim]) -> impl Iterator<Item = &Claim> + Clone {
    claims.iter().filter(|claim| claim.status == Status::Simulated)
}

/// Returns the simulated claims of the paper that were measured under every one of the readings. Only these are counted,
/// because numbers of claims can be compared only if the claims are the same.
fn common<'a>(claims: &'a [Claim], names: &[&str]) -> Vec<&'a Claim> {
    let counted = simulated(claims).filter(|claim| claim.counts());
    counted.filter(|claim| names.iter().all(|name| claim.holds_under(name).is_some())).collect()
}

/// Counts the claims that hold under a reading, and those that were measured.
fn count<'a>(claims: impl Iterator<Item = &'a Claim>, reading: &str) -> (usize, usize) {
    let measured = claims.filter_map(|claim| claim.holds_under(reading));
    measured.fold((0, 0), |(holds, of), one| (holds + usize::from(one), of + 1))
}

/// Largest error of one published number, in differences that its rule allows.
const MOST_ERROR: f64 = 5.0;

/// Returns how far the published numbers of the baseline are from the measured ones under a reading, and how many
/// numbers there are: the mean difference divided by the allowed difference.
fn baseline_error(claims: &[Claim], reading: &str) -> Option<(f64, usize)> {
    let errors: Vec<f64> = simulated(claims)
        .filter(|claim| claim.of_baseline)
        .filter_map(|claim| {
            let (low, high) = (claim.expected.low?, claim.expected.high?);
            let measured = claim.under(reading)?.mean?;
            let (target, allowed) = (f64::midpoint(low, high), (high - low) / 2.0);
            // One number that is far off must not decide alone.
            Some(((measured - target).abs() / allowed.max(f64::MIN_POSITIVE)).min(MOST_ERROR))
        })
        .collect();
    (!errors.is_empty()).then(|| (errors.iter().sum::<f64>() / errors.len() as f64, errors.len()))
}

/// Returns all measured means under a reading: by claim and part.
fn values<'a>(claims: &'a [Claim], reading: &'a str) -> impl Iterator<Item = Option<Option<f64>>> + 'a {
    simulated(claims).flat_map(move |claim| {
        let parts = std::iter::once(&claim.readings).chain(claim.also.iter().map(|part| &part.readings));
        parts.map(move |readings| readings.iter().find(|one| one.reading == reading).map(|one| one.mean))
    })
}

/// Returns whether a reading has the results of another one in every claim that was measured under it.
fn same(claims: &[Claim], reading: &str, other: &str) -> bool {
    let mut any = false;
    values(claims, reading).zip(values(claims, other)).all(|pair| match pair {
        (None, _) => true,
        (Some(one), other) => {
            any = true;
            other == Some(one)
        }
    }) && any
}

/// Describes the readings: how many claims hold under each, and which of them change nothing.
pub fn readings(claims: &[Claim], specs: &[&ReadingSpec]) -> Vec<Reading> {
    let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    let counted = common(claims, &names);
    let mut made: Vec<Reading> = Vec::with_capacity(specs.len());
    for spec in specs {
        let (holds, of) = count(counted.iter().copied(), &spec.name);
        let same_as = made
            .iter()
            .find(|known| known.same_as.is_none() && same(claims, &spec.name, &known.name))
            .map(|it| it.name.clone());
        made.push(Reading {
            name: spec.name.clone(),
            description: spec.description.clone(),
            factor: spec.factor.clone(),
            same_as,
            holds,
            of,
            baseline_error: baseline_error(claims, &spec.name).map(|(error, _)| error),
        });
    }
    made
}

/// Searches the reading under which most claims hold. Returns `None` if there is only one reading or no simulated claim.
pub fn search(claims: &[Claim], readings: &[Reading]) -> Option<Search> {
    if readings.len() < 2 {
        return None;
    }
    let names: Vec<&str> = readings.iter().map(|reading| reading.name.as_str()).collect();
    let counted = common(claims, &names);
    if counted.is_empty() {
        return None;
    }
    // Among equals, the one under which most of the headline holds is taken, then the one closest to the baseline's
    // published numbers, then the first one.
    let most = readings.iter().map(|reading| reading.holds).max()?;
    let distinct = |reading: &&Reading| reading.same_as.is_none();
    let mut equals: Vec<&Reading> = readings.iter().filter(distinct).filter(|reading| reading.holds == most).collect();
    let of_headline = |reading: &Reading| count(claims.iter().filter(|claim| claim.in_headline), &reading.name).0;
    equals.sort_by(|one, other| {
        let error = |reading: &Reading| reading.baseline_error.unwrap_or(f64::INFINITY);
        of_headline(other).cmp(&of_headline(one)).then(error(one).total_cmp(&error(other)))
    });
    let best = *equals.first()?;
    let names_of = |readings: &[&Reading]| -> Vec<String> { readings.iter().map(|it| it.name.clone()).collect() };
    let (by_chance, by_chance_p95) = by_chance(&counted, readings);
    let closest = readings
        .iter()
        .filter_map(|reading| Some((reading, reading.baseline_error?)))
        .min_by(|one, other| one.1.total_cmp(&other.1));
    let calibrated = closest.map(|(reading, error)| {
        let own = || counted.iter().copied().filter(|claim| !claim.of_baseline);
        let (holds, of) = count(own(), &reading.name);
        let is_equal = |other: &&Reading| {
            other.name != reading.name && other.baseline_error.is_some_and(|it| (it - error).abs() < 1e-9)
        };
        let equals: Vec<&Reading> = readings.iter().filter(distinct).filter(is_equal).collect();
        let holds_of = |other: &&Reading| count(own(), &other.name).0;
        let range = [equals.iter().map(holds_of).min(), equals.iter().map(holds_of).max()];
        let numbers = baseline_error(claims, &reading.name).map_or(0, |(_, numbers)| numbers);
        let equal_holds = range[0].zip(range[1]).map(|(low, high)| [low.min(holds), high.max(holds)]);
        Calibrated { reading: reading.name.clone(), error, numbers, holds, of, equals: names_of(&equals), equal_holds }
    });
    Some(Search {
        searched: readings.len(),
        distinct: readings.iter().filter(|reading| reading.same_as.is_none()).count(),
        best: best.name.clone(),
        equals: names_of(&equals[1..]),
        holds: best.holds,
        of: best.of,
        by_chance,
        by_chance_p95,
        calibrated,
    })
}

/// Returns the mean and the 95th percentile of the number of claims that hold under the best reading if each claim holds
/// under as many readings as it does, but under readings drawn at random, independently of the other claims. Readings
/// with the same results as another one are left out.
fn by_chance(claims: &[&Claim], readings: &[Reading]) -> (f64, f64) {
    let distinct: Vec<&Reading> = readings.iter().filter(|reading| reading.same_as.is_none()).collect();
    let columns: Vec<Vec<Option<bool>>> =
        claims.iter().map(|claim| distinct.iter().map(|reading| claim.holds_under(&reading.name)).collect()).collect();
    let mut largest = Vec::with_capacity(ASSIGNMENTS as usize);
    for assignment in 0..ASSIGNMENTS {
        let mut holds = vec![0u32; distinct.len()];
        for (at, column) in columns.iter().enumerate() {
            let measured: Vec<usize> = (0..column.len()).filter(|row| column[*row].is_some()).collect();
            let mut held: Vec<bool> = measured.iter().map(|row| column[*row] == Some(true)).collect();
            // Fisher and Yates' shuffle.
            for last in (1..held.len()).rev() {
                let draw = unit(hash(assignment, STREAM, at as u64, last as u64));
                held.swap(last, ((draw * (last + 1) as f64) as usize).min(last));
            }
            for (row, held) in measured.iter().zip(held) {
                holds[*row] += u32::from(held);
            }
        }
        largest.push(f64::from(holds.into_iter().max().unwrap_or(0)));
    }
    let mean = largest.iter().sum::<f64>() / largest.len() as f64;
    (mean, quantile(&mut largest, 0.95).unwrap_or(f64::NAN))
}

/// Returns how much the value of each headline claim changes with each detail that the paper leaves out, the largest
/// difference first.
pub fn factors(paper: &Paper, claims: &[Claim], specs: &[&ReadingSpec]) -> Vec<Factor> {
    let mut factors: Vec<Factor> = Vec::new();
    for claim in paper.headline.iter().filter_map(|id| claims.iter().find(|claim| claim.id == *id)) {
        let Some(base) = specs.first().and_then(|base| claim.under(&base.name)).and_then(|one| Some((one, one.mean?)))
        else {
            continue;
        };
        let mut names: Vec<&str> = specs.iter().filter_map(|reading| reading.factor.as_deref()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let mut factor = Factor {
                name: name.to_owned(),
                claim: claim.id.clone(),
                base: base.1,
                low: base.1,
                low_reading: base.0.reading.clone(),
                high: base.1,
                high_reading: base.0.reading.clone(),
                unit: base.0.unit.clone(),
            };
            for reading in specs.iter().filter(|reading| reading.factor.as_deref() == Some(name)) {
                let Some(mean) = claim.under(&reading.name).and_then(|one| one.mean) else { continue };
                if mean < factor.low {
                    (factor.low, factor.low_reading) = (mean, reading.name.clone());
                }
                if mean > factor.high {
                    (factor.high, factor.high_reading) = (mean, reading.name.clone());
                }
            }
            factors.push(factor);
        }
    }
    factors.sort_by(|one, other| other.swing().total_cmp(&one.swing()).then_with(|| one.name.cmp(&other.name)));
    factors
}
