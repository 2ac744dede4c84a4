//! The recommendation at the end of a comparison: which policy to use, and how sure that is.
//!
//! Everything goes by one measure: the ratio of the flowtimes to those under `none` (or else the first policy), on the same
//! jobs. In short:
//!
//! 1. Of the policies whose ratio is below 1 beyond chance, the one with the smallest ratio is taken.
//! 2. If another one does not differ from it beyond chance, at any of the compared correlations, and uses less resource beyond
//!    chance, that one is taken.
//! 3. If it takes longer than `none` beyond chance at another correlation, the policy whose largest ratio is smallest is taken
//!    in its place.
//!
//! In a replay of a log whose engine has policies of its own, the recommendation is one of these, as those of `hindmost advise` are. The best
//! of the others is named beside it.
//!
//! With several correlations, one of them decides: that of the comparison, or the middle one if the scenario leaves it open.

mod words;

use hindmost_core::metrics::{PolicyResult, RatioAtCorrelation, Recommendation, VersusFirst};

use crate::by_correlation::{Beside, mean_resource};
use crate::compare::{resource_versus, versus};
use crate::driver::RunResult;
use crate::experiment::{Experiment, Results};

/// A difference of resource usage below this share does not count.
const SMALL: f64 = 0.02;
/// A cheaper policy is named beside the recommended one if it saves at least this share of the time that the recommended one saves, …
const MOST_OF_THE_GAIN: f64 = 0.8;
/// … for at most this share of its resource usage.
const MUCH_LESS: f64 = 0.75;
/// Largest share of unfinished jobs of a policy with which a policy is recommended.
const MOST_UNFINISHED: f64 = 0.05;

/// The engine that wrote a log, and the policy that it has beside `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfEngine {
    /// Name of the engine.
    pub name: &'static str,
    /// Its policy.
    pub system: &'static str,
}

impl OfEngine {
    /// Returns whether the engine has a policy.
    pub fn has(self, system: &str) -> bool {
        system == "none" || system == self.system
    }
}

/// Returns the recommendation for one point of a sweep; `None` if there are not two policies with finished jobs to compare.
/// `rows` are the results of this point, `beside` those for several correlations. If two of the policies are those of `engine`, one of
/// these is recommended.
pub fn recommendation(
    experiment: &Experiment,
    results: &Results,
    rows: &[PolicyResult],
    beside: Option<&Beside<'_>>,
    engine: Option<OfEngine>,
) -> Option<Recommendation> {
    let evidence = Evidence::of(experiment, results, rows, (beside, engine))?;
    let choice = evidence.choose();
    let shown = choice.shown();
    let own = evidence.ratio(0, shown);
    let names = |of: &[usize]| of.iter().map(|at| rows[*at].policy.clone()).collect();
    Some(Recommendation {
        set: rows[shown].set.clone(),
        policy: choice.policy().map(|at| rows[at].policy.clone()),
        versus: rows[evidence.base].policy.clone(),
        flowtime_ratio: own.value,
        ci95: own.interval,
        resource_ratio: evidence.resource_ratio(shown),
        not_distinguishable: if evidence.has_uncertainty() { names(&evidence.ties(shown)) } else { Vec::new() },
        correlation: (evidence.worlds.len() > 1).then_some(evidence.worlds[0].correlation),
        cheaper: evidence.cheaper(&choice).map(|at| rows[at].policy.clone()),
        at_correlations: evidence.at_correlations(shown),
        worst_case: evidence.worst_case().map(|at| rows[at].policy.clone()),
        elsewhere: evidence.elsewhere().map(|at| rows[at].policy.clone()),
        text: words::text(&evidence, &choice),
    })
}

/// A ratio of flowtimes with its 95% interval.
#[derive(Clone, Copy)]
struct Ratio {
    value: Option<f64>,
    interval: Option<[f64; 2]>,
}

impl Ratio {
    /// Returns the ratio with its interval: by the paired bootstrap, else Student's. A ratio that is the same for every seed
    /// is exact.
    fn of(versus: &VersusFirst, is_exact: bool) -> Ratio {
        let value = versus.flowtime_ratio;
        let exact = value.filter(|_| is_exact).map(|value| [value, value]);
        Ratio { value, interval: exact.or(versus.bootstrap_ci95).or(versus.ci95) }
    }

    fn or_infinite(self) -> f64 {
        self.value.unwrap_or(f64::INFINITY)
    }

    /// Returns whether the ratio is below 1 beyond chance.
    fn is_shorter(self) -> bool {
        self.interval.is_some_and(|[_, high]| high < 1.0)
    }

    /// Returns whether the ratio is above 1 beyond chance.
    fn is_longer(self) -> bool {
        self.interval.is_some_and(|[low, _]| low > 1.0)
    }
}

/// The runs at one correlation, with the ratio of each policy to the one with which all are compared.
struct World<'a> {
    correlation: f64,
    runs: Vec<&'a [RunResult]>,
    ratios: Vec<Ratio>,
}

/// What a recommendation is made of.
struct Evidence<'a> {
    experiment: &'a Experiment,
    rows: &'a [PolicyResult],
    /// The policies that can be recommended.
    candidates: Vec<usize>,
    /// The engine whose policies these are, if there are others, and the others.
    engine: Option<OfEngine>,
    others: Vec<usize>,
    /// The policy with which they are compared.
    base: usize,
    /// The compared correlations, the one that decides first.
    worlds: Vec<World<'a>>,
    /// True if the scenario leaves the correlation open, so that the middle one decides.
    is_open: bool,
    /// Number of the correlations that are shown beside each other.
    shown: usize,
}

/// What is recommended, and why.
enum Choice {
    /// A single seed says nothing about chance; `shortest` has the smallest ratio.
    OneSeed { shortest: usize },
    /// Too many jobs did not finish: their share under a policy.
    Unfinished { shortest: usize, share: f64, policy: usize },
    /// The difference between the policy with the smallest ratio and the base may be chance.
    Unclear { shortest: usize },
    /// No policy has a ratio below 1.
    Base { base: usize },
    /// The policy with the smallest ratio that is below 1 beyond chance. `dearer` has a smaller one that is not distinguishable,
    /// and uses more resource.
    Policy { policy: usize, dearer: Option<usize> },
    /// The policy with the smallest largest ratio, because `harmful` takes longer than the base at some correlation.
    WorstCase { policy: usize, harmful: usize },
}

impl Choice {
    /// Returns the recommended policy.
    fn policy(&self) -> Option<usize> {
        match self {
            Choice::OneSeed { .. } | Choice::Unfinished { .. } | Choice::Unclear { .. } => None,
            Choice::Base { base: policy } | Choice::Policy { policy, .. } | Choice::WorstCase { policy, .. } => {
                Some(*policy)
            }
        }
    }

    /// Returns the policy whose figures are shown: the recommended one, else that with the smallest ratio.
    fn shown(&self) -> usize {
        match self {
            Choice::OneSeed { shortest } | Choice::Unfinished { shortest, .. } | Choice::Unclear { shortest } => {
                *shortest
            }
            Choice::Base { base: policy } | Choice::Policy { policy, .. } | Choice::WorstCase { policy, .. } => *policy,
        }
    }
}

impl<'a> Evidence<'a> {
    fn of(
        experiment: &'a Experiment,
        results: &'a Results,
        rows: &'a [PolicyResult],
        (beside, engine): (Option<&Beside<'a>>, Option<OfEngine>),
    ) -> Option<Evidence<'a>> {
        // The mean flowtime of a policy that abandons jobs leaves these jobs out.
        let is_candidate = |at: &usize| rows[*at].flowtime.mean.is_some() && rows[*at].abandoned_jobs == 0;
        let candidates: Vec<usize> = (0..rows.len().min(results.len())).filter(is_candidate).collect();
        if candidates.len() < 2 {
            return None;
        }
        let has = |engine: OfEngine, at: usize| experiment.policies.get(at).is_some_and(|one| engine.has(&one.system));
        let has_two = |engine: &OfEngine| candidates.iter().filter(|at| has(*engine, **at)).count() >= 2;
        let engine = engine.filter(has_two);
        let (candidates, others): (Vec<usize>, Vec<usize>) =
            candidates.into_iter().partition(|at| engine.is_none_or(|engine| has(engine, *at)));
        let engine = engine.filter(|_| !others.is_empty());
        let is_none = |at: &usize| experiment.policies.get(*at).is_some_and(|one| one.system == "none");
        let base = candidates.iter().copied().find(is_none).or(candidates.first().copied())?;
        let is_exact = experiment.is_the_same_for_every_seed();
        let world = |correlation: f64, runs: Vec<&'a [RunResult]>, versus_first: Vec<VersusFirst>| {
            // The ratios to the first policy are known already.
            let ratio = |at: usize| if base == 0 { versus_first[at] } else { versus(runs[base], runs[at]) };
            let ratios = (0..runs.len()).map(|at| Ratio::of(&ratio(at), is_exact)).collect();
            World { correlation, runs, ratios }
        };
        let own = experiment.setup.correlation;
        let runs = results.iter().map(Vec::as_slice).collect();
        let mut worlds = vec![world(own, runs, rows.iter().map(|row| row.versus_first).collect())];
        let further = beside.into_iter().flat_map(|beside| &beside.values).filter(|value| value.correlation != own);
        worlds.extend(further.map(|value| world(value.correlation, value.runs.clone(), value.versus_first.clone())));
        let decisive = beside.and_then(|beside| beside.decisive);
        let shown = beside.map_or(0, |beside| beside.values.len());
        if let Some(at) = worlds.iter().position(|world| Some(world.correlation) == decisive) {
            worlds[..=at].rotate_right(1);
        }
        Some(Evidence {
            experiment,
            rows,
            candidates,
            engine,
            others,
            base,
            worlds,
            is_open: decisive.is_some(),
            shown,
        })
    }

    fn is_one_seed(&self) -> bool {
        self.experiment.seeds.len() < 2
    }

    /// Returns whether the results say how sure a difference is, or nothing in them is random.
    fn has_uncertainty(&self) -> bool {
        !self.is_one_seed() || self.experiment.is_the_same_for_every_seed()
    }

    /// Returns the ratio of a policy to the base in a world.
    fn ratio(&self, world: usize, of: usize) -> Ratio {
        self.worlds[world].ratios[of]
    }

    /// Returns the policy with the smallest ratio in a world, the base if it is one of them.
    fn shortest(&self, world: usize) -> usize {
        self.smallest(self.candidates.iter().copied(), |of| self.ratio(world, of).or_infinite())
    }

    /// Returns the policy with the smallest ratio of those that the engine does not have and that are shorter than the base beyond chance.
    fn elsewhere(&self) -> Option<usize> {
        let ratio = |at: usize| self.ratio(0, at);
        let shorter = self.others.iter().copied().filter(|at| ratio(*at).is_shorter());
        shorter.min_by(|one, other| ratio(*one).or_infinite().total_cmp(&ratio(*other).or_infinite()))
    }

    /// Returns the policy with the smallest value; of equal ones the base, else the first.
    fn smallest(&self, of: impl Iterator<Item = usize>, value: impl Fn(usize) -> f64) -> usize {
        let key = |at: usize| (value(at), at != self.base);
        let order = |one: &usize, other: &usize| {
            let (one, other) = (key(*one), key(*other));
            one.0.total_cmp(&other.0).then(one.1.cmp(&other.1))
        };
        of.min_by(order).unwrap_or(self.base)
    }

    /// Compares two policies in a world: the ratio of the second one's flowtimes to the first one's.
    fn between(&self, world: usize, one: usize, other: usize) -> Ratio {
        if one == self.base {
            return self.ratio(world, other);
        }
        let runs = &self.worlds[world].runs;
        Ratio::of(&versus(runs[one], runs[other]), self.experiment.is_the_same_for_every_seed())
    }

    /// Returns the policies that are not distinguishable from this one.
    fn ties(&self, from: usize) -> Vec<usize> {
        let is_tie = |other: &usize| {
            let ratio = self.between(0, from, *other);
            *other != from && !ratio.is_shorter() && !ratio.is_longer()
        };
        self.candidates.iter().copied().filter(is_tie).collect()
    }

    /// Returns the worlds in which a policy takes longer than the base beyond chance.
    fn harms(&self, of: usize) -> Vec<usize> {
        (0..self.worlds.len()).filter(|world| self.ratio(*world, of).is_longer()).collect()
    }

    /// Returns the largest ratio of a policy over all worlds, and where it has it.
    fn largest(&self, of: usize) -> (f64, usize) {
        let ratios = (0..self.worlds.len()).map(|world| (self.ratio(world, of).or_infinite(), world));
        ratios.max_by(|one, other| one.0.total_cmp(&other.0)).unwrap_or((f64::INFINITY, 0))
    }

    /// Returns the policy whose largest ratio is smallest, of those that are shorter than the base somewhere and longer
    /// nowhere, beyond chance; `None` with a single world or without knowledge of chance.
    fn worst_case(&self) -> Option<usize> {
        if self.worlds.len() < 2 || !self.has_uncertainty() {
            return None;
        }
        let is_safe = |of: &usize| {
            let gains = (0..self.worlds.len()).any(|world| self.ratio(world, *of).is_shorter());
            *of == self.base || (gains && self.harms(*of).is_empty())
        };
        Some(self.smallest(self.candidates.iter().copied().filter(is_safe), |of| self.largest(of).0))
    }

    /// Returns the mean resource usage of a job of a policy divided by that under the base, in the world that decides.
    fn resource_ratio(&self, of: usize) -> Option<f64> {
        let mean = |at: usize| mean_resource(self.worlds[0].runs[at]);
        let base = mean(self.base).filter(|mean| *mean > 0.0)?;
        mean(of).map(|own| own / base)
    }

    /// Returns the policy under which the largest share of jobs did not finish, and that share.
    fn unfinished(&self) -> (f64, usize) {
        let share = |at: &usize| self.rows[*at].unfinished_jobs as f64 / self.rows[*at].jobs.max(1) as f64;
        let shares = self.candidates.iter().map(|at| (share(at), *at));
        // Of equal shares the first one.
        shares.rev().max_by(|one, other| one.0.total_cmp(&other.0)).unwrap_or((0.0, self.base))
    }

    fn choose(&self) -> Choice {
        let shortest = self.shortest(0);
        if !self.has_uncertainty() {
            return Choice::OneSeed { shortest };
        }
        let (share, policy) = self.unfinished();
        if share > MOST_UNFINISHED {
            return Choice::Unfinished { shortest, share, policy };
        }
        let clear = || self.candidates.iter().copied().filter(|at| self.ratio(0, *at).is_shorter());
        if clear().next().is_none() {
            return if shortest == self.base { Choice::Base { base: shortest } } else { Choice::Unclear { shortest } };
        }
        let best = self.smallest(clear(), |of| self.ratio(0, of).or_infinite());
        if let (false, Some(policy)) = (self.harms(best).is_empty(), self.worst_case()) {
            return Choice::WorstCase { policy, harmful: best };
        }
        let cheaper = clear().filter(|at| *at != best && self.is_as_good_and_cheaper(*at, best));
        let cheapest = cheaper.min_by(|one, other| self.cost(*one).total_cmp(&self.cost(*other)));
        Choice::Policy { policy: cheapest.unwrap_or(best), dearer: cheapest.map(|_| best) }
    }

    fn cost(&self, of: usize) -> f64 {
        self.resource_ratio(of).unwrap_or(f64::INFINITY)
    }

    /// Returns whether a policy is nowhere longer than another one, nor than the base, and uses less resource, all beyond
    /// chance.
    fn is_as_good_and_cheaper(&self, policy: usize, than: usize) -> bool {
        if self.cost(policy) >= self.cost(than) * (1.0 - SMALL) || !self.harms(policy).is_empty() {
            return false;
        }
        let runs = &self.worlds[0].runs;
        let is_exact = self.experiment.is_the_same_for_every_seed();
        let is_cheaper = || Ratio::of(&resource_versus(runs[than], runs[policy]), is_exact).is_shorter();
        let is_longer = |world| self.between(world, than, policy).is_longer();
        is_cheaper() && !(0..self.worlds.len()).any(is_longer)
    }

    /// Returns the cheapest policy that is worth a thought in place of the recommended one, if resource usage matters.
    fn cheaper(&self, choice: &Choice) -> Option<usize> {
        let Choice::Policy { policy, .. } = *choice else { return None };
        let gain = |of: usize| 1.0 - self.ratio(0, of).or_infinite();
        let is_cheaper = |at: &usize| {
            *at != policy
                && self.ratio(0, *at).is_shorter()
                && self.harms(*at).is_empty()
                && gain(*at) >= MOST_OF_THE_GAIN * gain(policy)
                && self.cost(*at) <= MUCH_LESS * self.cost(policy)
        };
        let cheaper = self.candidates.iter().copied().filter(is_cheaper);
        cheaper.min_by(|one, other| self.cost(*one).total_cmp(&self.cost(*other)))
    }

    /// Returns the ratio of a policy in each world beside the smallest one there; nothing with a single world.
    fn at_correlations(&self, of: usize) -> Vec<RatioAtCorrelation> {
        if self.worlds.len() < 2 {
            return Vec::new();
        }
        let at = |world: usize| {
            let best = self.shortest(world);
            let [own, smallest] = [of, best].map(|at| self.ratio(world, at));
            RatioAtCorrelation {
                correlation: self.worlds[world].correlation,
                flowtime_ratio: own.value,
                ci95: own.interval,
                best: self.rows[best].policy.clone(),
                best_flowtime_ratio: smallest.value,
                best_ci95: smallest.interval,
            }
        };
        (0..self.worlds.len()).map(at).collect()
    }
}
