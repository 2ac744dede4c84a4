//! The recommendation at the end of a comparison: the policy with the shortest mean flowtime, and how sure that is.

use hindmost_core::estimator::Knowledge;
use hindmost_core::metrics::{ByCorrelation, CorrelationResult, PolicyResult, Recommendation, VersusFirst};

use crate::compare::versus;
use crate::experiment::{Experiment, Jobs, Results};

/// A difference of resource usage below this share is not worth a sentence.
const SMALL: f64 = 0.02;

/// Returns the recommendation for one point of a sweep; `None` if there are not two policies with finished jobs to compare.
/// `rows` are the results of this point.
pub fn recommendation(
    experiment: &Experiment,
    results: &Results,
    rows: &[PolicyResult],
    by_correlation: Option<&ByCorrelation>,
) -> Option<Recommendation> {
    // The mean flowtime of a policy that abandons jobs leaves these jobs out.
    let is_candidate = |at: &usize| rows[*at].flowtime.mean.is_some() && rows[*at].abandoned_jobs == 0;
    let candidates: Vec<usize> = (0..rows.len().min(results.len())).filter(is_candidate).collect();
    let base =
        candidates.iter().copied().find(|at| experiment.policies.get(*at).is_some_and(|one| one.system == "none"));
    let base = base.or(candidates.first().copied())?;
    let all_finished = candidates.iter().all(|at| rows[*at].unfinished_jobs == 0);
    // If jobs are unfinished, only ratios over the jobs that finished under both policies compare the same jobs.
    let length = |at: &usize| {
        let own = rows[*at].flowtime.mean.unwrap_or(f64::INFINITY);
        if all_finished { own } else { versus(&results[base], &results[*at]).flowtime_ratio.unwrap_or(f64::INFINITY) }
    };
    let best = candidates.iter().copied().min_by(|one, other| length(one).total_cmp(&length(other)))?;
    if candidates.len() < 2 {
        return None;
    }
    let against = versus(&results[base], &results[best]);
    let ties: Vec<usize> = candidates
        .iter()
        .copied()
        .filter(|at| *at != best && may_be_equal(&versus(&results[best], &results[*at])))
        .collect();
    let facts = Facts { experiment, rows, base, best, ties: &ties, against: &against, by_correlation };
    let is_clear = facts.has_uncertainty() && best != base && !ties.contains(&base);
    Some(Recommendation {
        set: rows[best].set.clone(),
        policy: (is_clear || (facts.has_uncertainty() && best == base)).then(|| rows[best].policy.clone()),
        versus: rows[base].policy.clone(),
        flowtime_ratio: against.flowtime_ratio,
        ci95: interval(&against),
        resource_ratio: facts.resource_ratio(best),
        not_distinguishable: if facts.is_one_seed() { Vec::new() } else { facts.names(&ties) },
        text: facts.text(),
    })
}

/// Returns the interval of a ratio: by the paired bootstrap, else Student's.
fn interval(ratio: &VersusFirst) -> Option<[f64; 2]> {
    ratio.bootstrap_ci95.or(ratio.ci95)
}

/// Returns whether the 95% interval of the ratio includes 1, or there is no interval.
fn may_be_equal(ratio: &VersusFirst) -> bool {
    interval(ratio).is_none_or(|[low, high]| low <= 1.0 && high >= 1.0)
}

/// What a recommendation is made of.
struct Facts<'a> {
    experiment: &'a Experiment,
    rows: &'a [PolicyResult],
    base: usize,
    best: usize,
    ties: &'a [usize],
    against: &'a VersusFirst,
    by_correlation: Option<&'a ByCorrelation>,
}

impl Facts<'_> {
    fn is_one_seed(&self) -> bool {
        self.experiment.seeds.len() < 2
    }

    /// Returns whether the results say how sure a difference is, or nothing in them is random.
    fn has_uncertainty(&self) -> bool {
        !self.is_one_seed() || self.experiment.is_the_same_for_every_seed()
    }

    fn names(&self, of: &[usize]) -> Vec<String> {
        of.iter().map(|at| self.rows[*at].policy.clone()).collect()
    }

    fn resource_ratio(&self, of: usize) -> Option<f64> {
        let base = self.rows[self.base].resource.mean.filter(|mean| *mean > 0.0)?;
        self.rows[of].resource.mean.map(|own| own / base)
    }

    fn text(&self) -> String {
        let name = |at: usize| &self.rows[at].policy;
        let seeds = self.experiment.seeds.len();
        let (best, base) = (name(self.best), name(self.base));
        let mut said = Vec::new();
        if !self.has_uncertainty() {
            return format!(
                "none: one seed is no basis, because differences may be chance (here {best} has the shortest mean flowtime); \
                 --seeds 5 shows how sure they are"
            );
        }
        let ratio = self.against.flowtime_ratio.map_or(String::new(), |ratio| format!("{ratio:.3}"));
        let interval = match interval(self.against) {
            Some([low, high]) if !self.experiment.is_the_same_for_every_seed() => {
                format!(" (95% interval {low:.3} to {high:.3}, {seeds} seeds)")
            }
            _ => String::new(),
        };
        let cost =
            self.resource_ratio(self.best).map_or(String::new(), |cost| format!(", for {cost:.2} times the resource"));
        if self.best == self.base {
            said.push(format!("{best}: no other policy has a shorter mean flowtime"));
        } else if self.ties.contains(&self.base) {
            said.push(format!(
                "none: {best} has the shortest mean flowtime, {ratio} times that of {base}{interval}{cost}, but the difference \
                 may be chance; more seeds would show it"
            ));
        } else {
            said.push(format!("{best}, whose mean flowtime is {ratio} times that of {base}{interval}{cost}"));
        }
        said.extend(self.about_ties());
        said.extend(self.about_correlation());
        let abandon = |row: &&PolicyResult| row.abandoned_jobs > 0 && row.flowtime.mean.is_some();
        let left_out: Vec<String> = self.rows.iter().filter(abandon).map(|row| row.policy.clone()).collect();
        if !left_out.is_empty() {
            let is = if left_out.len() == 1 { "is" } else { "are" };
            said.push(format!("{} {is} left out, because abandoned jobs are in no flowtime", listed(&left_out)));
        }
        if self.rows.iter().any(|row| row.deadlines.is_some()) {
            let met = |row: &&PolicyResult| row.pocd.unwrap_or(0.0);
            let most = self.rows.iter().max_by(|one, other| met(one).total_cmp(&met(other)));
            let most = most.map_or(String::new(), |row| format!("; {} meets the most deadlines", row.policy));
            said.push(format!("This goes by mean flowtime{most}"));
        }
        if self.experiment.knowledge() == Knowledge::Oracle {
            said.push(
                "Policies knew remaining times from the start (oracle), which no real system does: repeat it with \
                 --knowledge 'progress(0.1)'"
                    .to_owned(),
            );
        }
        said.join(". ")
    }

    /// Says which other policies the results do not distinguish from the best one.
    fn about_ties(&self) -> Option<String> {
        let others: Vec<usize> =
            self.ties.iter().copied().filter(|at| *at != self.base || self.best == self.base).collect();
        if others.is_empty() {
            return None;
        }
        let names = self.names(&others);
        let is = if names.len() == 1 { "is" } else { "are" };
        let best = &self.rows[self.best].policy;
        let mut text = format!("{} {is} not distinguishable from {best} in these results", listed(&names));
        let cost = |at: &usize| self.resource_ratio(*at).unwrap_or(f64::INFINITY);
        let cheapest = others.iter().copied().min_by(|one, other| cost(one).total_cmp(&cost(other)))?;
        if cost(&cheapest) < cost(&self.best) * (1.0 - SMALL) {
            text += &match names.len() {
                1 => format!(", and takes {:.2} times the resource", cost(&cheapest)),
                _ => format!("; {} takes {:.2} times the resource", self.rows[cheapest].policy, cost(&cheapest)),
            };
        }
        Some(text)
    }

    /// Says for which correlations of copies another policy is the best.
    fn about_correlation(&self) -> Option<String> {
        let name = &self.rows[self.best].policy;
        let Some(table) = self.by_correlation else {
            let generated = matches!(self.experiment.jobs, Jobs::Generated { .. });
            let independent = generated && self.experiment.setup.correlation == 0.0;
            let copies = self.rows[self.best].copies.launched > 0;
            // In a sweep, the caution says it once for all points.
            let alone = self.rows[self.best].set.is_empty();
            return (independent && copies && alone).then(|| {
                "It assumes that copies of a task are slow independently of each other (correlation 0)".to_owned()
            });
        };
        let abandons = |row: &&CorrelationResult| {
            self.rows.iter().any(|other| other.policy == row.policy && other.abandoned_jobs > 0)
        };
        let best_at = |value: f64| {
            let rows = table.results.iter().filter(|row| row.correlation == value && !abandons(row));
            let length = |row: &CorrelationResult| row.flowtime_mean.unwrap_or(f64::INFINITY);
            rows.min_by(|one, other| length(one).total_cmp(&length(other)))
        };
        let own = self.experiment.setup.correlation;
        let others: Vec<(f64, &CorrelationResult)> = table
            .correlations
            .iter()
            .filter(|value| **value != own)
            .filter_map(|value| Some((*value, best_at(*value)?)))
            .collect();
        let values: Vec<String> = others.iter().map(|(value, _)| value.to_string()).collect();
        if others.iter().all(|(_, row)| row.policy == *name) {
            return Some(format!("It is the shortest at correlation {}, too", listed(&values)));
        }
        let first = &self.rows[0].policy;
        let (mut each, mut last, mut compared): (Vec<String>, &str, bool) = (Vec::new(), "", false);
        for (value, row) in &others {
            let mut part =
                if row.policy == last { value.to_string() } else { format!("{} at correlation {value}", row.policy) };
            last = &row.policy;
            if let Some(ratio) = row.versus_first.flowtime_ratio.filter(|_| row.policy != *first) {
                let than = if compared { String::new() } else { format!(" times that of {first}") };
                compared = true;
                part += &format!(" ({ratio:.3}{than})");
            }
            each.push(part);
        }
        Some(format!("If copies share a part of their duration, the shortest is {}", listed(&each)))
    }
}

/// Joins names: `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}
