//! Measures claims under readings.

use hindmost_claims::{Claim, Measured, Part, Status};
use hindmost_math::statistics::mean;

use crate::data::{ClaimSpec, FigureSpec, Measure, Paper, PaperError, PartSpec, ReadingSpec, SweepSpec, WorldSpec};
use crate::formulas;
use crate::metric::Metric;
use crate::runs::{Place, RunId, Runs, Seeds, chain};

/// Evaluates claims with the results of runs. In the first pass of [`Runs`] the numbers are NaN.
pub struct Evaluator<'p, 'r> {
    /// The paper.
    pub paper: &'p Paper,
    /// The simulations.
    pub runs: &'r mut Runs<'p>,
    /// The readings under which claims are measured, beginning with the base reading.
    pub readings: Vec<&'p ReadingSpec>,
}

/// A policy in a world, or at a place of a sweep.
#[derive(Clone, Copy)]
enum Who<'p> {
    Label(&'p WorldSpec, &'p str),
    At(&'p WorldSpec, &'p SweepSpec, &'p str, &'p toml::Value),
    Best(&'p WorldSpec, &'p SweepSpec, &'p str),
}

/// A place of a sweep, as tables of jobs name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepPlace {
    /// Name of the sweep in the paper's files.
    pub sweep: String,
    /// The value of the sweep's variable.
    pub value: String,
}

/// A run at a place of a sweep, on which a part of a claim rests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOfPart {
    /// Name of the world.
    pub world: String,
    /// The place of the sweep.
    pub place: SweepPlace,
    /// The run.
    pub id: RunId,
}

impl<'p> Evaluator<'p, '_> {
    /// Measures a claim under all readings.
    ///
    /// # Errors
    /// If a run or a formula is not valid.
    pub fn claim(&mut self, spec: &'p ClaimSpec) -> Result<Claim, PaperError> {
        let mut parts = Vec::with_capacity(spec.part.len());
        for part in &spec.part {
            parts.push(self.part(part)?);
        }
        let mut claim = if parts.is_empty() {
            Claim::not_run(&spec.id, &spec.claimed, &spec.section, spec.not_run.as_str())
        } else {
            let main = parts.remove(0);
            Claim::judge(&spec.id, &spec.claimed, &spec.section, main, parts, spec.comment.as_str())
        };
        let of = |figure: &'p FigureSpec| self.paper.claim.iter().filter(move |claim| claim.figure == figure.id);
        let mut all = self.paper.figure.iter().flat_map(of);
        claim.number = all.position(|other| other.id == spec.id).map_or(0, |at| at + 1);
        claim.quote.clone_from(&spec.quote);
        claim.in_abstract = spec.in_abstract;
        claim.in_headline = self.paper.headline.contains(&spec.id);
        claim.of_baseline = spec.baseline;
        (claim.stated_by, claim.is_slip) = (spec.stated_by, spec.slip);
        if spec.part.iter().any(|part| part.formula.is_some()) {
            claim.status = Status::Formula;
        }
        if spec.part.iter().any(|part| part.recorded.is_some()) {
            claim.status = Status::Recorded;
        }
        Ok(claim)
    }

    /// Measures a part of a claim under all readings.
    fn part(&mut self, part: &'p PartSpec) -> Result<Part, PaperError> {
        let expected = part.expected().map_err(|message| self.wrong(message))?;
        if let Some(name) = &part.formula {
            let value = formulas::value(name).map_err(|message| self.wrong(message))?;
            let failed = |message| PaperError::Formula { name: name.clone(), message };
            if self.runs.is_planning() {
                return Ok(Part::judge(expected, Vec::new()));
            }
            return Ok(Part::judge(expected, value().map_err(failed)?));
        }
        if let Some(recorded) = &part.recorded {
            let (value, unit) = (part.value.as_deref().unwrap_or_default(), part.unit.as_deref().unwrap_or_default());
            let exact = Measured::exact(&recorded.how, value, Some(recorded.median), unit);
            return Ok(Part::judge(expected, vec![Measured { ci95: Some(recorded.interval), ..exact }]));
        }
        let mut measured = Vec::new();
        for reading in self.readings.clone() {
            if self.is_measured(part, reading) {
                measured.push(self.under(part, reading, None)?);
            }
        }
        Ok(Part::judge(expected, measured))
    }

    /// Returns whether a part is measured under a reading.
    fn is_measured(&self, part: &PartSpec, reading: &'p ReadingSpec) -> bool {
        let listed = part.readings.is_empty() || part.readings.contains(&reading.name);
        let mut names = part.policy.iter().chain(&part.against).filter_map(|label| Some(label.split_once(':')?.0));
        let is_swept = |name| self.paper.sweep(name).is_none_or(|sweep| self.is_swept(sweep, reading));
        listed && names.all(|name| self.swept_instead(name, reading).is_some() || is_swept(name))
    }

    /// Returns the sweep that a reading measures in place of another one; `None` if it measures the sweep itself.
    fn swept_instead(&self, name: &str, reading: &'p ReadingSpec) -> Option<&'p str> {
        let parts = chain(self.paper, reading);
        parts.into_iter().rev().find_map(|part| part.sweeps.get(name)).map(String::as_str)
    }

    /// Returns whether a sweep is run under a reading.
    pub fn is_swept(&self, sweep: &SweepSpec, reading: &ReadingSpec) -> bool {
        let is_base = self.paper.base().is_some_and(|base| base.name == reading.name);
        is_base || sweep.readings.contains(&reading.name) || sweep.readings.iter().any(|name| name == "all")
    }

    /// Measures a part of a claim under one reading; `seeds`: on other seeds than usual.
    pub fn under(
        &mut self,
        part: &'p PartSpec,
        reading: &'p ReadingSpec,
        seeds: Option<Seeds>,
    ) -> Result<Measured, PaperError> {
        self.under_as(part, reading, seeds, None)
    }

    /// Measures a part of a claim under one reading, with another metric than its own if one is given.
    pub fn under_as(
        &mut self,
        part: &'p PartSpec,
        reading: &'p ReadingSpec,
        seeds: Option<Seeds>,
        instead: Option<Metric>,
    ) -> Result<Measured, PaperError> {
        let own = || part.metric.as_deref().unwrap_or_default().parse().map_err(|it| self.wrong(it));
        let metric: Metric = instead.map_or_else(own, Ok)?;
        let label = part.policy.as_deref().unwrap_or_default();
        let who = self.who(label, part.world.as_deref(), reading)?;
        let Some(against) = &part.against else {
            let (values, place) = self.measure(who, metric, reading, seeds)?;
            let metric = self.metric(metric, reading);
            let unit = part.unit.clone().unwrap_or_else(|| metric.unit(&who.world().unit));
            let words = part.value.clone().unwrap_or_else(|| self.words(metric, who, &place, None));
            return Ok(Measured::over_seeds(&reading.name, &words, &values, &unit));
        };
        let other = self.who(against, part.against_world.as_deref().or(part.world.as_deref()), reading)?;
        let other_metric = match &part.against_metric {
            Some(text) => text.parse().map_err(|it| self.wrong(it))?,
            None => metric,
        };
        let (mut values, place) = self.compare((who, metric), (other, other_metric), part.measure, reading, seeds)?;
        if let Some(minus) = &part.minus {
            let metric = match &minus.metric {
                Some(text) => text.parse().map_err(|it| self.wrong(it))?,
                None => metric,
            };
            let one = self.who(&minus.policy, part.world.as_deref(), reading)?;
            let two = self.who(&minus.against, part.world.as_deref(), reading)?;
            let (subtracted, _) = self.compare((one, metric), (two, metric), part.measure, reading, seeds)?;
            values.iter_mut().zip(subtracted).for_each(|(value, subtracted)| *value -= subtracted);
        }
        let metric = self.metric(metric, reading);
        let unit = part.unit.clone().unwrap_or_else(|| {
            if metric.needs_two() { "%".to_owned() } else { compared_unit(part.measure, metric, &who.world().unit) }
        });
        let words = part.value.clone().unwrap_or_else(|| self.words(metric, who, &place, Some(other)));
        Ok(Measured::over_seeds(&reading.name, &words, &values, &unit))
    }

    /// Compares two policies seed by seed. The text names the best places of sweeps.
    fn compare(
        &mut self,
        (who, metric): (Who<'p>, Metric),
        (other, other_metric): (Who<'p>, Metric),
        measure: Option<Measure>,
        reading: &'p ReadingSpec,
        seeds: Option<Seeds>,
    ) -> Result<(Vec<f64>, String), PaperError> {
        if metric.needs_two() {
            let (one, place) = self.run(who, metric, reading, seeds)?;
            let (two, _) = self.run(other, metric, reading, seeds)?;
            let metric = self.metric(metric, reading);
            return Ok((self.runs.pair_values(one, two, metric, is_cut(self.paper, reading)), place));
        }
        if let Some(values) = self.compare_common((who, metric), (other, other_metric), measure, reading, seeds)? {
            return Ok((values, String::new()));
        }
        let (one, place) = self.measure(who, metric, reading, seeds)?;
        let (two, other_place) = self.measure(other, other_metric, reading, seeds)?;
        let compared = one.iter().zip(&two).map(|(one, two)| compared(measure, *one, *two)).collect();
        Ok((compared, if other_place.is_empty() { place } else { format!("{place}{other_place}") }))
    }

    /// Compares the means of two policies over the jobs that finished under both, where a reading counts only jobs that
    /// had finished when arrivals stopped: otherwise the policy that finishes more jobs would be compared with more long
    /// ones. Returns `None` if the reading counts all jobs, or for metrics that are not means over jobs.
    fn compare_common(
        &mut self,
        (who, metric): (Who<'p>, Metric),
        (other, other_metric): (Who<'p>, Metric),
        measure: Option<Measure>,
        reading: &'p ReadingSpec,
        seeds: Option<Seeds>,
    ) -> Result<Option<Vec<f64>>, PaperError> {
        let applied = self.applied(reading, who.world());
        let same_world = who.world().name == other.world().name;
        let is_best = [who, other].iter().any(|one| matches!(one, Who::Best(..)));
        let Metric::Mean(quantity, up_to) = self.metric(metric, applied) else { return Ok(None) };
        if metric != other_metric || !same_world || is_best || !is_cut(self.paper, applied) {
            return Ok(None);
        }
        let (one, _) = self.run(who, metric, reading, seeds)?;
        let (two, _) = self.run(other, metric, reading, seeds)?;
        let means = self.runs.common_means((one, two), quantity, up_to);
        Ok(Some(means.into_iter().map(|(one, two)| compared(measure, one, two)).collect()))
    }

    /// Returns a metric with the quantities that a reading takes instead of the usual ones.
    pub(crate) fn metric(&self, metric: Metric, reading: &ReadingSpec) -> Metric {
        let parts = chain(self.paper, reading);
        let pairs = parts.iter().flat_map(|part| &part.substitute);
        // Checked when the paper was loaded.
        metric.with(&pairs.filter_map(|(one, other)| Some((one.parse().ok()?, other.parse().ok()?))).collect())
    }

    /// Finds the policy and world, or the place of a sweep, that a part names, under a reading.
    fn who(&self, label: &'p str, world: Option<&str>, reading: &'p ReadingSpec) -> Result<Who<'p>, PaperError> {
        let paper = self.paper;
        let found = match label.split_once(':') {
            None => world.and_then(|world| paper.world(world)).map(|world| Who::Label(world, label)),
            Some((sweep, place)) => {
                paper.sweep(self.swept_instead(sweep, reading).unwrap_or(sweep)).and_then(|sweep| {
                    let world = paper.world(&sweep.world)?;
                    let (label, value) = place.split_once('@')?;
                    if value == "best" {
                        return Some(Who::Best(world, sweep, label));
                    }
                    let text = |known: &toml::Value| match known {
                        toml::Value::String(text) => text.clone(),
                        other => other.to_string(),
                    };
                    let same = |known: &&toml::Value| {
                        let numbers = text(known).parse::<f64>().ok().zip(value.parse::<f64>().ok());
                        text(known) == value || numbers.is_some_and(|(one, two)| one == two)
                    };
                    sweep.values.iter().find(same).map(|value| Who::At(world, sweep, label, value))
                })
            }
        };
        found.ok_or_else(|| self.wrong(format!("there is no policy, world or value as in {label:?}")))
    }

    /// Requests the run of a policy. For the best place of a sweep it is the run with the lowest mean of the metric.
    /// The text names the best place; empty otherwise.
    fn run(
        &mut self,
        who: Who<'p>,
        metric: Metric,
        reading: &'p ReadingSpec,
        seeds: Option<Seeds>,
    ) -> Result<(RunId, String), PaperError> {
        let reading = self.applied(reading, who.world());
        let metric = self.metric(metric, reading);
        match who {
            Who::Label(world, label) => {
                let seeds = seeds.unwrap_or_else(|| self.runs.seeds(world));
                Ok((self.runs.run(world, label, reading, None, seeds)?, String::new()))
            }
            Who::At(world, sweep, label, value) => {
                let seeds = seeds.unwrap_or_else(|| self.runs.seeds(world));
                Ok((self.runs.run(world, label, reading, Some(Place { sweep, value }), seeds)?, String::new()))
            }
            Who::Best(world, sweep, label) => {
                let seeds = seeds.unwrap_or_else(|| self.runs.seeds(world));
                let mut best: Option<(f64, RunId, String)> = None;
                for value in self.values_of(sweep) {
                    let id = self.runs.run(world, label, reading, Some(Place { sweep, value }), seeds)?;
                    let values = self.runs.values(id, metric, is_cut(self.paper, reading));
                    let mean = mean(&values).unwrap_or(f64::NAN);
                    if best.as_ref().is_none_or(|(lowest, ..)| mean < *lowest) {
                        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                        best = Some((mean, id, format!(", at {} = {value}", sweep.variable)));
                    }
                }
                best.map(|(_, id, text)| (id, text)).ok_or_else(|| self.wrong("a sweep needs values".to_owned()))
            }
        }
    }

    /// Returns the values of a sweep in this size of the simulations.
    pub fn values_of(&self, sweep: &'p SweepSpec) -> Vec<&'p toml::Value> {
        let quick = self.runs.size() != crate::runs::Size::Full && !sweep.quick.is_empty();
        if quick { sweep.quick.iter().collect() } else { sweep.values.iter().collect() }
    }

    /// Returns the reading that applies in a world: the base reading in worlds that a reading leaves out.
    fn applied(&self, reading: &'p ReadingSpec, world: &WorldSpec) -> &'p ReadingSpec {
        let left_out = |part: &&ReadingSpec| !part.worlds.is_empty() && !part.worlds.contains(&world.name);
        let leaves_out = chain(self.paper, reading).iter().all(left_out);
        if leaves_out { self.paper.base().unwrap_or(reading) } else { reading }
    }

    fn measure(
        &mut self,
        who: Who<'p>,
        metric: Metric,
        reading: &'p ReadingSpec,
        seeds: Option<Seeds>,
    ) -> Result<(Vec<f64>, String), PaperError> {
        let applied = self.applied(reading, who.world());
        let (id, place) = self.run(who, metric, reading, seeds)?;
        let metric = self.metric(metric, applied);
        Ok((self.runs.values(id, metric, is_cut(self.paper, applied)), place))
    }

    /// Returns the run of a policy under a reading, on the usual seeds.
    ///
    /// # Errors
    /// If the run is not valid.
    pub fn run_of(
        &mut self,
        world: &'p WorldSpec,
        label: &'p str,
        reading: &'p ReadingSpec,
        place: Option<Place<'p>>,
    ) -> Result<RunId, PaperError> {
        let reading = self.applied(reading, world);
        let seeds = self.runs.seeds(world);
        self.runs.run(world, label, reading, place, seeds)
    }

    /// Returns the runs on sweeps on which a part of a claim rests under a reading, on the usual seeds: at one place, or at
    /// all values of the sweep where the part names the best one. Empty if the part is not measured under the reading.
    ///
    /// # Errors
    /// If a run is not valid.
    pub fn sweep_runs(&mut self, part: &'p PartSpec, reading: &'p ReadingSpec) -> Result<Vec<RunOfPart>, PaperError> {
        let mut all = Vec::new();
        if !self.is_measured(part, reading) {
            return Ok(all);
        }
        let minus = part.minus.iter().flat_map(|minus| [&minus.policy, &minus.against]);
        for label in part.policy.iter().chain(&part.against).chain(minus).filter(|label| label.contains(':')) {
            let (world, sweep, label, values) = match self.who(label, None, reading)? {
                Who::Label(..) => continue,
                Who::At(world, sweep, label, value) => (world, sweep, label, vec![value]),
                Who::Best(world, sweep, label) => (world, sweep, label, self.values_of(sweep)),
            };
            for value in values {
                let id = self.run_of(world, label, reading, Some(Place { sweep, value }))?;
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let place = SweepPlace { sweep: sweep.name.clone(), value };
                all.push(RunOfPart { world: world.name.clone(), place, id });
            }
        }
        Ok(all)
    }

    /// Returns what limits conclusions from means in a world under a reading.
    ///
    /// # Errors
    /// If the run is not valid.
    pub fn cautions(
        &mut self,
        world: &str,
        label: &'p str,
        reading: &'p ReadingSpec,
    ) -> Result<Vec<String>, PaperError> {
        let Some(world) = self.paper.world(world) else { return Ok(Vec::new()) };
        let id = self.run_of(world, label, reading, None)?;
        Ok(self.runs.cautions_of(id))
    }

    fn words(&self, metric: Metric, who: Who<'p>, best: &str, other: Option<Who<'p>>) -> String {
        let paper = self.paper;
        let mut text = format!("{} under {}", metric.words(), who.name(paper));
        if let Some(other) = other {
            let same = matches!((who, other), (Who::Label(..), Who::Label(..)));
            text += &match other {
                Who::Best(..) => format!(" compared with the lowest of the sweep{best}"),
                _ if same && who.label() == other.label() => {
                    format!(" compared with {}", other.world().words)
                }
                _ => format!(" compared with {}", other.name(paper)),
            };
        } else {
            text += best;
        }
        let world = &who.world().words;
        if world.is_empty() { text } else { format!("{text}, {world}") }
    }

    fn wrong(&self, message: String) -> PaperError {
        PaperError::Data { file: format!("paper {}", self.paper.key), message }
    }
}

impl<'p> Who<'p> {
    fn world(self) -> &'p WorldSpec {
        match self {
            Who::Label(world, _) | Who::At(world, ..) | Who::Best(world, ..) => world,
        }
    }

    fn label(self) -> &'p str {
        match self {
            Who::Label(_, label) | Who::At(_, _, label, _) | Who::Best(_, _, label) => label,
        }
    }

    /// Returns the policy's name, with the value of the sweep.
    fn name(self, paper: &Paper) -> String {
        let name = paper.policy(self.label()).map_or_else(|| self.label().to_owned(), |policy| policy.name.clone());
        match self {
            Who::At(_, sweep, _, value) => {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                format!("{name} with {} = {value}", sweep.variable)
            }
            _ => name,
        }
    }
}

/// Returns whether a reading counts only the jobs that had finished when arrivals stopped.
pub fn is_cut(paper: &Paper, reading: &ReadingSpec) -> bool {
    chain(paper, reading).iter().filter_map(|part| part.cut).next_back().unwrap_or(false)
}

/// Compares two values.
pub fn compared(measure: Option<Measure>, one: f64, other: f64) -> f64 {
    match measure {
        None | Some(Measure::Change) => 100.0 * (one / other - 1.0),
        Some(Measure::Gain) => 100.0 * (1.0 - one / other),
        Some(Measure::Difference) => one - other,
        Some(Measure::Ratio) => one / other,
    }
}

/// Returns the unit of a comparison.
pub fn compared_unit(measure: Option<Measure>, metric: Metric, time: &str) -> String {
    match measure {
        None | Some(Measure::Change | Measure::Gain) => "%".to_owned(),
        Some(Measure::Difference) if metric.unit(time) == "%" => "percentage points".to_owned(),
        Some(Measure::Difference) => metric.unit(time),
        Some(Measure::Ratio) => "times".to_owned(),
    }
}
