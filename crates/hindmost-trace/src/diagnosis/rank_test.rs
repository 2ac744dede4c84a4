//! Exact tail probabilities of a rank test over strata.
//!
//! If nodes are alike, any of a stratum's observations are as likely to be those of a node as any others. The probability that a
//! weighted sum of its ranks is as large as observed follows from that alone, whatever the durations are. It is computed by the double
//! saddlepoint approximation of a conditional distribution: I. M. Skovgaard, "Saddlepoint expansions for conditional distributions",
//! 1987. The normal distribution is far too cautious for a node with few tasks: it gives 2% if two of 50 tasks are the longest, which
//! happens in 0.08% of all cases.

use hindmost_math::numeric::normal_survival;

/// A stratum with observations of the node and of others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stratum<'a> {
    /// Weighted ranks of all observations, minus their mean, ascending.
    pub scores: &'a [f64],
    /// The node's observations.
    pub own: Own,
}

/// The observations of a node in a stratum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    /// Their number.
    pub count: usize,
    /// The sum of their scores.
    pub sum: f64,
}

/// Steps of each search for the saddlepoint.
const STEPS: usize = 60;
/// Scores are multiplied by at most this.
const STEEPEST: f64 = 4096.0;
/// The relative precision of the factor of scores.
const PRECISE: f64 = 1e-11;
/// The exponentials of at most so many scores follow from each other.
const FOLLOW: usize = 64;

/// What follows from the probabilities with which each observation of a stratum is the node's.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    /// The expected number, and its variance.
    number: f64,
    variance: f64,
    /// The expected sum of scores, its covariance with the number, and its variance.
    sum: f64,
    covariance: f64,
    sum_variance: f64,
}

impl Moments {
    /// The variance of the sum of scores where the number is known.
    fn information(&self) -> f64 {
        self.sum_variance - self.covariance * self.covariance / self.variance
    }
}

impl Stratum<'_> {
    /// Returns the moments where ln of each observation's odds is `balance` plus `tilt` times its score.
    fn moments(&self, balance: f64, tilt: f64) -> Moments {
        let mut moments = Moments::default();
        let mut add = |score: f64, odds: f64| {
            let p = odds / (1.0 + odds);
            let spread = p / (1.0 + odds);
            moments.number += p;
            moments.variance += spread;
            moments.sum += p * score;
            moments.covariance += spread * score;
            moments.sum_variance += spread * score * score;
        };
        // Beyond this, odds are those of certainty.
        let odds = |score: f64| (balance + tilt * score).clamp(-690.0, 690.0).exp();
        for scores in self.scores.chunks(FOLLOW) {
            let step = scores.get(1).map_or(0.0, |next| next - scores[0]);
            let is_even = scores.windows(2).all(|pair| (pair[1] - pair[0] - step).abs() < 1e-14);
            if is_even && tilt * step < 1.0 {
                let (mut now, times) = (odds(scores[0]), (tilt * step).exp());
                for score in scores {
                    add(*score, now);
                    now = (now * times).min(1e300);
                }
            } else {
                for score in scores {
                    add(*score, odds(*score));
                }
            }
        }
        moments
    }

    /// Returns the number by which each observation's odds are multiplied, as ln, so that the expected number of own ones is right, where
    /// scores are multiplied by `tilt`, and the moments there.
    fn balance(&self, tilt: f64, start: f64) -> (f64, Moments) {
        let own = self.own.count as f64;
        let most = 60.0 + tilt.abs() * self.scores.iter().fold(0.0, |most: f64, score| most.max(score.abs()));
        let (mut low, mut high, mut at) = (-most, most, start.clamp(-most, most));
        for _ in 0..STEPS {
            let moments = self.moments(at, tilt);
            let more = moments.number - own;
            if more.abs() < 1e-10 * own {
                return (at, moments);
            }
            if more < 0.0 {
                low = at;
            } else {
                high = at;
            }
            let next = at - more / moments.variance;
            at = if next > low && next < high { next } else { f64::midpoint(low, high) };
        }
        (at, self.moments(at, tilt))
    }

    /// ln of the probability that all of the node's observations are the largest.
    fn ln_least(&self) -> f64 {
        ln_largest(self.own.count, self.scores.len())
    }
}

/// ln of the probability that these `own` of `all` observations are the largest.
pub(super) fn ln_largest(own: usize, all: usize) -> f64 {
    let few = own.min(all - own);
    (0..few).map(|at| ((few - at) as f64 / (all - at) as f64).ln()).sum()
}

/// Returns ln of the probability that the largest of as many observations is at least as large as the largest of a node's, and the next as
/// the next, and so on. So it is no larger than that of a sum as large as theirs. `as_large` says for each of the node's, the largest first,
/// how many of `all` are as large.
pub(super) fn ln_as_large(as_large: impl Iterator<Item = usize>, all: usize) -> f64 {
    let share = |(larger, as_large): (usize, usize)| (as_large - larger) as f64 / (all - larger) as f64;
    as_large.enumerate().map(share).product::<f64>().ln()
}

/// ln(1 + eˣ).
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// Returns the least p-value that is possible in these strata.
fn least_p(strata: &[Stratum<'_>]) -> f64 {
    strata.iter().map(Stratum::ln_least).sum::<f64>().exp()
}

/// Returns the probability that the node's sum of scores is as large as it is, or larger.
pub(super) fn p(strata: &[Stratum<'_>]) -> f64 {
    let sum: f64 = strata.iter().map(|stratum| stratum.own.sum).sum();
    let most: f64 = strata.iter().map(largest).sum();
    let least = least_p(strata);
    if strata.is_empty() || sum <= 0.0 {
        return 1.0;
    }
    if sum >= most - 1e-9 {
        return least;
    }
    let mut found: Vec<(f64, Moments)> = strata.iter().map(|stratum| stratum.balance(0.0, 0.0)).collect();
    let (mut low, mut high, mut tilt) = (0.0, STEEPEST, 0.0);
    for _ in 0..STEPS {
        let expected: f64 = found.iter().map(|(_, moments)| moments.sum).sum();
        let information: f64 = found.iter().map(|(_, moments)| moments.information()).sum();
        if expected < sum {
            low = tilt;
        } else {
            high = tilt;
        }
        let next = tilt + (sum - expected) / information;
        // Where the expected sum hardly grows any more, the next one may be anything.
        let next = next.min(2.0 * tilt + 100.0);
        let next = if next > low && next < high { next } else { f64::midpoint(low, high) };
        let is_precise = (next - tilt).abs() <= PRECISE * next;
        for (stratum, (balance, moments)) in strata.iter().zip(&mut found) {
            // The balance that keeps the expected number.
            let start = *balance - (next - tilt) * moments.covariance / moments.variance;
            (*balance, *moments) = stratum.balance(next, if start.is_finite() { start } else { *balance });
        }
        tilt = next;
        if is_precise {
            break;
        }
    }
    // Twice the logarithm of the likelihood ratio, and the information about the tilt.
    let (mut ratio, mut information, mut ln_spread) = (tilt * sum, 0.0, 0.0);
    for (stratum, (balance, moments)) in strata.iter().zip(&found) {
        let (all, own) = (stratum.scores.len() as f64, stratum.own.count as f64);
        let usual = (own / (all - own)).ln();
        ratio += all * softplus(usual) - own * usual + own * balance;
        ratio -= stratum.scores.iter().map(|score| softplus(balance + tilt * score)).sum::<f64>();
        information += moments.information();
        ln_spread += (moments.variance * all / (own * (all - own))).ln();
    }
    let root = (2.0 * ratio).max(1e-12).sqrt();
    let distance = tilt * information.sqrt() * (ln_spread / 2.0).exp();
    let density = (-root * root / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let p = normal_survival(root) + density * (1.0 / distance - 1.0 / root);
    if p.is_finite() { p.clamp(least, 1.0) } else { normal_survival(root).max(least) }
}

/// The largest possible sum of the node's scores.
fn largest(stratum: &Stratum<'_>) -> f64 {
    stratum.scores[stratum.scores.len() - stratum.own.count..].iter().sum()
}

impl Own {
    /// No observations.
    pub(super) const NONE: Own = Own { count: 0, sum: 0.0 };

    /// Adds an observation.
    pub(super) fn add(&mut self, score: f64) {
        self.count += 1;
        self.sum += score;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The scores of as many observations.
    fn scores(all: usize) -> Vec<f64> {
        (1..=all).map(|rank| (rank as f64 - f64::midpoint(all as f64, 1.0)) / (all as f64 + 1.0)).collect()
    }

    /// A stratum of observations with these scores, of which the node has those with the listed ranks from 1, ascending.
    fn stratum<'a>(scores: &'a [f64], ranks: &[usize]) -> Stratum<'a> {
        let mut own = Own::NONE;
        for rank in ranks.iter().rev() {
            own.add(scores[rank - 1]);
        }
        Stratum { scores, own }
    }

    /// The sums of all subsets of a stratum.
    fn sums(stratum: &Stratum<'_>) -> Vec<f64> {
        let all = stratum.scores.len();
        let subsets = (0_u32..1 << all).filter(|subset| subset.count_ones() as usize == stratum.own.count);
        subsets.map(|subset| (0..all).filter(|at| subset >> at & 1 == 1).map(|at| stratum.scores[at]).sum()).collect()
    }

    /// The share of all pairs of subsets whose sum is as large as that of the node.
    fn counted(strata: &[Stratum<'_>; 2]) -> f64 {
        let [one, other] = strata.each_ref().map(sums);
        let observed = strata[0].own.sum + strata[1].own.sum - 1e-9;
        let larger = one.iter().map(|a| other.iter().filter(|b| a + *b >= observed).count()).sum::<usize>();
        larger as f64 / (one.len() * other.len()) as f64
    }

    #[test]
    fn tail_probabilities_are_close_to_counted_ones() {
        for [(all, own), (other_all, other_own)] in [
            [(9, &[7, 9][..]), (8, &[5, 6, 8][..])],
            [(12, &[10, 11, 12]), (10, &[7, 10])],
            [(14, &[9, 11, 13, 14]), (4, &[4])],
        ] {
            let [first, second] = [scores(all), scores(other_all)];
            let strata = [stratum(&first, own), stratum(&second, other_own)];
            let (found, counted) = (p(&strata), counted(&strata));
            assert!((0.6..1.4).contains(&(found / counted)), "{found} {counted}");
        }
    }

    #[test]
    fn the_longest_tasks_have_the_least_probability() {
        let [fifty, three] = [scores(50), scores(3)];
        let longest = [stratum(&fifty, &[49, 50]), stratum(&three, &[3])];
        assert!((p(&longest) * 1225.0 * 3.0 - 1.0).abs() < 1e-9);
        assert!((least_p(&longest) - p(&longest)).abs() < 1e-12);
        assert!((p(&[stratum(&fifty, &[1, 2])]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn what_is_left_out_is_above_the_limit() {
        // All pairs of observations in each of two strata.
        let [first, second] = [scores(9), scores(7)];
        let pairs = |all: usize| (1..=all).flat_map(move |high| (1..high).map(move |low| [low, high]));
        for own in pairs(9) {
            for other in pairs(7) {
                let strata = [stratum(&first, &own), stratum(&second, &other)];
                let of = |own: [usize; 2], all: usize| ln_as_large(own.iter().rev().map(|rank| all - rank + 1), all);
                let all_as_large = of(own, 9) + of(other, 7);
                assert!(all_as_large.exp() <= counted(&strata) + 1e-12, "{own:?} {other:?}");
            }
        }
    }

    #[test]
    fn probabilities_far_out_are_those_of_a_search_in_small_steps() {
        // From a bisection of the factor of scores, with each exponential computed on its own.
        let all = scores(3000);
        let own: Vec<usize> = (0..40).map(|at| 1600 + 35 * at).collect();
        let strata = [stratum(&all, &own)];
        let bisected = bisected(&strata[0]);
        assert!((p(&strata) / bisected - 1.0).abs() < 1e-6, "{} {bisected}", p(&strata));
    }

    /// The p-value of one stratum, by bisections.
    fn bisected(stratum: &Stratum<'_>) -> f64 {
        let odds = |balance: f64, tilt: f64| -> Vec<f64> {
            stratum.scores.iter().map(|score| 1.0 / (1.0 + (-balance - tilt * score).exp())).collect()
        };
        let (all, own) = (stratum.scores.len() as f64, stratum.own.count as f64);
        let halve = |mut low: f64, mut high: f64, is_low: &dyn Fn(f64) -> bool| {
            for _ in 0..200 {
                let middle = f64::midpoint(low, high);
                if is_low(middle) { low = middle } else { high = middle }
            }
            low
        };
        let balance = |tilt: f64| halve(-99.0, 99.0, &|at| odds(at, tilt).iter().sum::<f64>() < own);
        let expected = |tilt: f64| -> f64 {
            odds(balance(tilt), tilt).iter().zip(stratum.scores).map(|(p, score)| p * score).sum()
        };
        let tilt = halve(0.0, 99.0, &|at| expected(at) < stratum.own.sum);
        let (at, usual) = (balance(tilt), (own / (all - own)).ln());
        let of_all = |x: f64| all * softplus(x);
        let ratio = tilt * stratum.own.sum + own * at
            - stratum.scores.iter().map(|s| softplus(at + tilt * s)).sum::<f64>()
            + of_all(usual)
            - own * usual;
        let spread: Vec<f64> = odds(at, tilt).iter().map(|p| p * (1.0 - p)).collect();
        let moment = |power: i32| -> f64 { spread.iter().zip(stratum.scores).map(|(v, s)| v * s.powi(power)).sum() };
        let information = moment(2) - moment(1).powi(2) / moment(0);
        let distance = tilt * (information * moment(0) * all / (own * (all - own))).sqrt();
        let root = (2.0 * ratio).sqrt();
        let density = (-ratio).exp() / (2.0 * std::f64::consts::PI).sqrt();
        normal_survival(root) + density * (1.0 / distance - 1.0 / root)
    }
}
