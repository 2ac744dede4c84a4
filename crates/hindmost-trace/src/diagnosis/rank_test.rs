//! Exact tail probabilities of a rank test over strata.
//!
//! If nodes are alike, any of a stratum's observations are as likely to be those of a node as any others. The probability that a
//! weighted sum of its ranks is as large as observed follows from that alone, whatever the durations are. It is computed by the double
//! saddlepoint approximation of a conditional distribution: I. M. Skovgaard, "Saddlepoint expansions for conditional distributions",
//! 1987. The normal distribution is far too cautious for a node with few tasks: it gives 2% if two of 50 tasks are the longest, which
//! happens in 0.08% of all cases.

use hindmost_math::numeric::normal_survival;

/// A stratum with observations of the node and of others.
#[derive(Clone, Debug)]
pub(super) struct Stratum {
    /// Weighted ranks of all observations, minus their mean.
    pub scores: Vec<f64>,
    /// Number of the node's observations.
    pub own: usize,
    /// The sum of their scores.
    pub sum: f64,
}

/// Steps of the search for the saddlepoint.
const STEPS: usize = 40;
/// Scores are multiplied by at most this.
const STEEPEST: f64 = 4096.0;

impl Stratum {
    /// Returns the number by which each observation's odds are multiplied, as ln, so that the expected number of own ones is right, where
    /// scores are multiplied by `tilt`.
    fn balance(&self, tilt: f64, start: f64) -> f64 {
        let own = self.own as f64;
        let most = 60.0 + tilt.abs() * self.scores.iter().fold(0.0, |most: f64, score| most.max(score.abs()));
        let (mut low, mut high, mut at) = (-most, most, start.clamp(-most, most));
        for _ in 0..STEPS {
            let (mut sum, mut slope) = (-own, 0.0);
            for score in &self.scores {
                let p = logistic(at + tilt * score);
                sum += p;
                slope += p * (1.0 - p);
            }
            if sum.abs() < 1e-10 * own {
                break;
            }
            if sum < 0.0 {
                low = at;
            } else {
                high = at;
            }
            let next = at - sum / slope;
            at = if next > low && next < high { next } else { f64::midpoint(low, high) };
        }
        at
    }

    /// ln of the probability that all of the node's observations are the largest.
    fn ln_least(&self) -> f64 {
        let (all, own) = (self.scores.len(), self.own);
        let few = own.min(all - own);
        (0..few).map(|at| ((few - at) as f64 / (all - at) as f64).ln()).sum()
    }
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// ln(1 + eˣ).
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// Returns the least p-value that is possible in these strata.
pub(super) fn least_p(strata: &[Stratum]) -> f64 {
    strata.iter().map(Stratum::ln_least).sum::<f64>().exp()
}

/// Returns the probability that the node's sum of scores is as large as it is, or larger.
pub(super) fn p(strata: &[Stratum]) -> f64 {
    let sum: f64 = strata.iter().map(|stratum| stratum.sum).sum();
    let most: f64 = strata.iter().map(largest).sum();
    let least = least_p(strata);
    if strata.is_empty() || sum <= 0.0 {
        return 1.0;
    }
    if sum >= most - 1e-9 {
        return least;
    }
    let mut balances = vec![0.0; strata.len()];
    let mut expected = |tilt: f64| {
        let mut sum = 0.0;
        for (stratum, balance) in strata.iter().zip(&mut balances) {
            *balance = stratum.balance(tilt, *balance);
            sum += stratum.scores.iter().map(|score| score * logistic(*balance + tilt * score)).sum::<f64>();
        }
        sum
    };
    let (mut low, mut high) = (0.0, 1.0);
    while high < STEEPEST && expected(high) < sum {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        if expected(middle) < sum { low = middle } else { high = middle }
    }
    let tilt = f64::midpoint(low, high);
    expected(tilt);
    // Twice the logarithm of the likelihood ratio, and the information about the tilt.
    let (mut ratio, mut information, mut ln_spread) = (tilt * sum, 0.0, 0.0);
    for (stratum, balance) in strata.iter().zip(&balances) {
        let (all, own) = (stratum.scores.len() as f64, stratum.own as f64);
        let usual = (own / (all - own)).ln();
        ratio += all * softplus(usual) - own * usual + own * balance;
        let (mut variance, mut first, mut second) = (0.0, 0.0, 0.0);
        for score in &stratum.scores {
            let x = balance + tilt * score;
            ratio -= softplus(x);
            let p = logistic(x);
            let spread = p * (1.0 - p);
            variance += spread;
            first += spread * score;
            second += spread * score * score;
        }
        information += second - first * first / variance;
        ln_spread += (variance * all / (own * (all - own))).ln();
    }
    let root = (2.0 * ratio).max(1e-12).sqrt();
    let distance = tilt * information.sqrt() * (ln_spread / 2.0).exp();
    let density = (-root * root / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let p = normal_survival(root) + density * (1.0 / distance - 1.0 / root);
    if p.is_finite() { p.clamp(least, 1.0) } else { normal_survival(root).max(least) }
}

/// The largest possible sum of the node's scores.
fn largest(stratum: &Stratum) -> f64 {
    let mut scores = stratum.scores.clone();
    scores.sort_unstable_by(|a, b| b.total_cmp(a));
    scores[..stratum.own].iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stratum of observations with ranks from 1, of which the node has those listed.
    fn stratum(all: usize, own: &[usize]) -> Stratum {
        let score = |rank: usize| (rank as f64 - f64::midpoint(all as f64, 1.0)) / (all as f64 + 1.0);
        Stratum {
            scores: (1..=all).map(score).collect(),
            own: own.len(),
            sum: own.iter().map(|rank| score(*rank)).sum(),
        }
    }

    /// The sums of all subsets of a stratum.
    fn sums(stratum: &Stratum) -> Vec<f64> {
        let all = stratum.scores.len();
        let subsets = (0_u32..1 << all).filter(|subset| subset.count_ones() as usize == stratum.own);
        subsets.map(|subset| (0..all).filter(|at| subset >> at & 1 == 1).map(|at| stratum.scores[at]).sum()).collect()
    }

    #[test]
    fn tail_probabilities_are_close_to_counted_ones() {
        for [first, second] in [
            [stratum(9, &[7, 9]), stratum(8, &[5, 6, 8])],
            [stratum(12, &[10, 11, 12]), stratum(10, &[7, 10])],
            [stratum(14, &[9, 11, 13, 14]), stratum(4, &[4])],
        ] {
            let (one, other) = (sums(&first), sums(&second));
            let observed = first.sum + second.sum - 1e-9;
            let larger = one.iter().map(|a| other.iter().filter(|b| a + *b >= observed).count()).sum::<usize>();
            let counted = larger as f64 / (one.len() * other.len()) as f64;
            let found = p(&[first, second]);
            assert!((0.6..1.4).contains(&(found / counted)), "{found} {counted}");
        }
    }

    #[test]
    fn the_longest_tasks_have_the_least_probability() {
        let longest = [stratum(50, &[49, 50]), stratum(3, &[3])];
        assert!((p(&longest) * 1225.0 * 3.0 - 1.0).abs() < 1e-9);
        assert!((least_p(&longest) - p(&longest)).abs() < 1e-12);
        assert!((p(&[stratum(50, &[1, 2])]) - 1.0).abs() < 1e-12);
    }
}
