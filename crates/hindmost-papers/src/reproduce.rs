//! Makes the reproduction of a paper: plans, simulates, judges and summarises.

use std::collections::BTreeMap;

use hindmost_claims::{
    Claim, Coverage, CurvePoint, Expected, Figure, HeavyTails, Measured, Part, Reproduction, StatedBy, Status, Verdict,
};
use hindmost_core::cluster::Placement;
use hindmost_math::suggest::did_you_mean;
use hindmost_sim::experiment::Execution;

use crate::about::{command, notes};
use crate::answer::answer;
use crate::data::{ClaimSpec, FigureSpec, Paper, PaperError, ReadingSpec};
use crate::evaluate::Evaluator;
use crate::heavy_tails::heavy_tails;
use crate::jobs::{JobsOfRun, jobs, labels_of_claims};
use crate::points::{is_same, with_drawn};
use crate::runs::{Runs, Seeds, Size};
use crate::search;
use crate::selection::Selection;

/// Number of seeds of the abstract's claims under the base reading and under the best joint reading.
pub const HEADLINE_SEEDS: u32 = 20;

/// A reproduction with the jobs of its simulations.
#[derive(Clone, Debug)]
pub struct Made {
    /// The claims, measured values and verdicts.
    pub reproduction: Reproduction,
    /// The jobs of the simulations under the base reading and under the readings that were named; empty unless they
    /// were requested. Those of sweeps are included if claims or figures were named.
    pub jobs: Vec<JobsOfRun>,
}

/// A figure with those of its claims that a selection includes.
struct ChosenFigure<'p> {
    spec: &'p FigureSpec,
    claims: Vec<&'p ClaimSpec>,
    /// Whether the figure itself is included, with its tables, and not only some of its claims.
    whole: bool,
}

/// What a selection includes.
struct Chosen<'p> {
    figures: Vec<ChosenFigure<'p>>,
    readings: Vec<&'p ReadingSpec>,
    /// Whether everything of the paper is included.
    everything: bool,
}

impl<'p> Chosen<'p> {
    fn claims(&self) -> impl Iterator<Item = &'p ClaimSpec> + '_ {
        self.figures.iter().flat_map(|figure| figure.claims.iter().copied())
    }
}

/// Returns the number of simulations that [`reproduce`] makes, approximately: how many seeds the best joint reading
/// needs is known only during the reproduction. Each simulation advances the execution's progress by 1.
///
/// # Errors
/// As [`reproduce`].
pub fn simulations(paper: &Paper, selection: &Selection) -> Result<u64, PaperError> {
    let chosen = choose(paper, selection)?;
    let mut runs = Runs::new(paper, selection.size, selection.seeds, selection.cache.clone());
    figures(paper, &mut runs, &chosen)?;
    let screened = runs.left();
    let base = chosen.readings.first().copied();
    if let (Some(base), Some(count)) = (base, headline_count(paper, selection, &chosen)) {
        let before = runs.left();
        measure_again(paper, &mut runs, &chosen, base, Seeds { first: 1, count })?;
        let extra = runs.left() - before;
        return Ok(screened + 2 * extra);
    }
    Ok(screened)
}

/// Reproduces a paper, or a part of it. `execution.output` is ignored.
///
/// # Errors
/// If the selection names something that the paper does not have, if the paper's data are not valid, or if a simulation
/// fails or is interrupted.
pub fn reproduce(paper: &Paper, selection: &Selection, execution: &Execution<'_>) -> Result<Made, PaperError> {
    let chosen = choose(paper, selection)?;
    let mut runs = Runs::new(paper, selection.size, selection.seeds, selection.cache.clone());
    figures(paper, &mut runs, &chosen)?;
    if selection.jobs {
        all_jobs(paper, &mut runs, &chosen, selection)?;
    }
    let many = headline_count(paper, selection, &chosen).map(|count| Seeds { first: 1, count });
    if let (Some(base), Some(many)) = (chosen.readings.first().copied(), many) {
        measure_again(paper, &mut runs, &chosen, base, many)?;
    }
    tails(paper, &mut runs, &chosen, many)?;
    runs.execute(execution)?;
    let mut made = figures(paper, &mut runs, &chosen)?;
    let jobs = if selection.jobs { all_jobs(paper, &mut runs, &chosen, selection)? } else { Vec::new() };

    let all = |figures: &[Figure]| -> Vec<Claim> {
        figures.iter().flat_map(|figure| figure.claims.iter().cloned()).collect()
    };
    let mut readings = search::readings(&all(&made), &chosen.readings);
    let found = search::search(&all(&made), &readings);
    // All readings have the same seeds here, so that what differs is the reading.
    let factors = search::factors(paper, &all(&made), &chosen.readings);
    let (mut headline_seeds, mut fresh_seeds) = (Vec::new(), Vec::new());
    if let (Some(base), Some(many)) = (chosen.readings.first().copied(), many) {
        let best = found.as_ref().and_then(|found| paper.reading(&found.best)).filter(|best| best.name != base.name);
        // The seeds of the search are 1, 2, …; the fresh ones follow them.
        let fresh = Seeds { first: 1 + u64::from(screening_seeds(paper, &runs)), count: many.count };
        if let Some(best) = best {
            measure_again(paper, &mut runs, &chosen, best, fresh)?;
        }
        runs.execute(execution)?;
        let under_base = measure_again(paper, &mut runs, &chosen, base, many)?;
        let under_best = match best {
            Some(best) => measure_again(paper, &mut runs, &chosen, best, fresh)?,
            None => Vec::new(),
        };
        headline_seeds = if under_base.is_empty() { Vec::new() } else { many.list() };
        fresh_seeds = if under_best.is_empty() { Vec::new() } else { fresh.list() };
        for claim in made.iter_mut().flat_map(|figure| &mut figure.claims) {
            if let Some((_, measured)) = under_base.iter().find(|(id, _)| *id == claim.id) {
                *claim = with_measured(claim, measured);
            }
            if let Some((_, measured)) = under_best.iter().find(|(id, _)| *id == claim.id) {
                claim.confirmed.clone_from(measured);
            }
        }
        // Which readings have the same results was found on the same seeds; only the counts change.
        for (reading, again) in readings.iter_mut().zip(search::readings(&all(&made), &chosen.readings)) {
            (reading.holds, reading.of) = (again.holds, again.of);
        }
    }
    let heavy_tails = tails(paper, &mut runs, &chosen, many)?;
    let placement = placements(paper, &mut runs, &chosen)?;
    let claims = all(&made);
    let seeds = Seeds { first: 1, count: screening_seeds(paper, &runs) }.list();
    let quick = selection.size != Size::Full;
    let reproduction = Reproduction {
        paper: paper.key.clone(),
        title: paper.title.clone(),
        command: command(paper, selection),
        minutes: paper.minutes.filter(|_| chosen.everything && !quick && selection.seeds.is_none()),
        quick,
        seeds,
        headline_seeds,
        fresh_seeds,
        answer: answer(paper, &claims, &readings, found.as_ref(), &factors),
        coverage: coverage(&claims),
        heavy_tails,
        placement,
        notes: notes(paper, selection),
        readings,
        search: found,
        factors,
        figures: made,
    };
    Ok(Made { reproduction, jobs })
}

/// Returns how many seeds the abstract's claims have if they have more than the others.
fn headline_count(paper: &Paper, selection: &Selection, chosen: &Chosen<'_>) -> Option<u32> {
    let in_front = chosen.claims().any(|claim| is_in_front(paper, claim));
    (selection.size == Size::Full && selection.seeds.is_none() && in_front).then_some(HEADLINE_SEEDS)
}

fn screening_seeds(paper: &Paper, runs: &Runs<'_>) -> u32 {
    // The worlds of the abstract's claims have the paper's usual number of seeds.
    runs.seeds(&crate::data::WorldSpec { seeds: paper.seeds, ..crate::data::WorldSpec::default() }).count
}

/// Returns a claim with other values under the reading of `measured`: that of the main part, then those of the others.
/// Readings that had the same values in all parts run the same simulations, so they get the new values too.
fn with_measured(claim: &Claim, measured: &[Measured]) -> Claim {
    let means = |reading: &str| -> Vec<Option<f64>> {
        let of = |readings: &[Measured]| readings.iter().find(|one| one.reading == reading).and_then(|one| one.mean);
        claim.parts().map(|(_, readings)| of(readings)).collect()
    };
    let before = measured.first().map(|new| means(&new.reading)).unwrap_or_default();
    let put = |part: &Part, new: Option<&Measured>| {
        let mut readings = part.readings.clone();
        if let Some(new) = new {
            for place in readings.iter_mut().filter(|one| one.reading == new.reading || means(&one.reading) == before) {
                *place = Measured { reading: place.reading.clone(), ..new.clone() };
            }
        }
        Part::judge(part.expected, readings)
    };
    let main = put(&Part { expected: claim.expected, readings: claim.readings.clone() }, measured.first());
    let also = claim.also.iter().enumerate().map(|(at, part)| put(part, measured.get(at + 1))).collect();
    claim.clone().with_parts(main, also)
}

/// The values of claims measured again: id and the value of each part.
type Again = Vec<(String, Vec<Measured>)>;

/// Returns whether a claim is in the abstract or in the headline.
fn is_in_front(paper: &Paper, claim: &ClaimSpec) -> bool {
    claim.in_abstract || paper.headline.contains(&claim.id)
}

/// Measures the simulated claims of the abstract and the headline under a reading on other seeds.
fn measure_again<'p>(
    paper: &'p Paper,
    runs: &mut Runs<'p>,
    chosen: &Chosen<'p>,
    reading: &'p ReadingSpec,
    seeds: Seeds,
) -> Result<Again, PaperError> {
    let mut evaluator = Evaluator { paper, runs, readings: chosen.readings.clone() };
    let mut again = Again::new();
    for claim in
        chosen.claims().filter(|claim| is_in_front(paper, claim) && claim.part.iter().all(|part| part.metric.is_some()))
    {
        let mut values = Vec::new();
        for part in &claim.part {
            let mut measured = evaluator.under(part, reading, Some(seeds))?;
            let expected = part.expected().unwrap_or(Expected::at_least(f64::NAN));
            measured.holds = expected.accepts(measured.mean, measured.ci95);
            values.push(measured);
        }
        if !values.is_empty() {
            again.push((claim.id.clone(), values));
        }
    }
    Ok(again)
}

/// Returns the quantiles beside the means of the abstract's and the headline's claims, under the base reading.
fn tails<'p>(
    paper: &'p Paper,
    runs: &mut Runs<'p>,
    chosen: &Chosen<'p>,
    seeds: Option<Seeds>,
) -> Result<Option<HeavyTails>, PaperError> {
    let Some(base) = chosen.readings.first().copied() else { return Ok(None) };
    let claims: Vec<&ClaimSpec> = chosen.claims().filter(|claim| is_in_front(paper, claim)).collect();
    let mut evaluator = Evaluator { paper, runs, readings: chosen.readings.clone() };
    heavy_tails(&mut evaluator, &claims, base, seeds)
}

/// Makes the figures with the results that are there.
fn figures<'p>(paper: &'p Paper, runs: &mut Runs<'p>, chosen: &Chosen<'p>) -> Result<Vec<Figure>, PaperError> {
    let mut evaluator = Evaluator { paper, runs, readings: chosen.readings.clone() };
    let mut made = Vec::with_capacity(chosen.figures.len());
    for ChosenFigure { spec, claims, whole } in &chosen.figures {
        let (mut judged, mut points, mut tables) = (Vec::new(), Vec::<CurvePoint>::new(), Vec::new());
        for claim in claims {
            judged.push(evaluator.claim(claim)?);
            for point in evaluator.points(claim)? {
                if !points.iter().any(|known| is_same(known, &point)) {
                    points.push(point);
                }
            }
        }
        for table in spec.table.iter().filter(|_| *whole) {
            tables.push(evaluator.table(spec, table)?);
        }
        let (id, name, about) = (spec.id.clone(), spec.name.clone(), spec.about.clone());
        let mut figure = Figure { id, name, about, claims: judged, points, tables };
        with_drawn(&mut figure);
        made.push(figure);
    }
    Ok(made)
}

/// Returns the placement in each world under the base reading.
fn placements<'p>(
    paper: &'p Paper,
    runs: &mut Runs<'p>,
    chosen: &Chosen<'p>,
) -> Result<BTreeMap<String, Placement>, PaperError> {
    let mut placements = BTreeMap::new();
    let Some(base) = chosen.readings.first().copied() else { return Ok(placements) };
    let mut evaluator = Evaluator { paper, runs, readings: chosen.readings.clone() };
    for (name, label) in labels_of_claims(&chosen.claims().collect::<Vec<_>>()) {
        if let Some(world) = paper.world(name).filter(|_| !placements.contains_key(name)) {
            let id = evaluator.run_of(world, label, base, None)?;
            placements.insert(name.to_owned(), evaluator.runs.placement_of(id));
        }
    }
    Ok(placements)
}

/// Returns the jobs of the simulations of the chosen claims, under the base reading and the readings that were named.
/// Those of sweeps are left out unless claims or figures were named, because all sweeps of a paper are many simulations.
fn all_jobs<'p>(
    paper: &'p Paper,
    runs: &mut Runs<'p>,
    chosen: &Chosen<'p>,
    selection: &Selection,
) -> Result<Vec<JobsOfRun>, PaperError> {
    let named = |at: usize, reading: &ReadingSpec| at == 0 || selection.readings.contains(&reading.name);
    let readings = chosen.readings.iter().enumerate().filter(|(at, reading)| named(*at, reading));
    let readings: Vec<&ReadingSpec> = readings.map(|(_, reading)| *reading).collect();
    let with_sweeps = !selection.claims.is_empty() || !selection.figures.is_empty();
    let mut evaluator = Evaluator { paper, runs, readings: chosen.readings.clone() };
    jobs(&mut evaluator, &chosen.claims().collect::<Vec<_>>(), &readings, with_sweeps)
}

/// Returns the id of a figure that is named by its id or its name, in any case: `4`, `Figure 4`, `fig4`. An unknown name is
/// returned as it is.
fn figure_id(paper: &Paper, name: &str) -> String {
    let plain = |text: &str| {
        let text = text.to_lowercase();
        let short = text.strip_prefix("figure").or_else(|| text.strip_prefix("fig")).unwrap_or(&text);
        short.trim_start_matches(['.', ' ', '-']).to_owned()
    };
    let exact = paper.figure.iter().find(|figure| figure.id == name);
    let found = exact.or_else(|| paper.figure.iter().find(|figure| plain(&figure.id) == plain(name)));
    found.map_or_else(|| name.to_owned(), |figure| figure.id.clone())
}

/// Applies a selection.
fn choose<'p>(paper: &'p Paper, selection: &Selection) -> Result<Chosen<'p>, PaperError> {
    /// Largest number of names in a message.
    const MOST_NAMES: usize = 20;
    fn unknown<'a>(paper: &str, what: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> PaperError {
        let near = did_you_mean(name, known.clone());
        let names: Vec<&str> = known.collect();
        let hint = match names.len() {
            0..=MOST_NAMES => format!("; it has {}", names.join(", ")),
            _ if !near.is_empty() => near,
            all => format!("; it has {} and {} more", names[..MOST_NAMES].join(", "), all - MOST_NAMES),
        };
        PaperError::Unknown(format!("{paper} has no {what} {name:?}{hint}"))
    }
    let figure_ids: Vec<String> = selection.figures.iter().map(|name| figure_id(paper, name)).collect();
    // A claim may be named as on the pages, with its paper.
    let bare = |id: &String| id.strip_prefix(&format!("{}/", paper.key)).unwrap_or(id).to_owned();
    let claim_ids: Vec<String> = selection.claims.iter().map(bare).collect();
    for id in &figure_ids {
        let known = paper.figure.iter().map(|figure| figure.id.as_str());
        if !known.clone().any(|known| known == id) {
            return Err(unknown(&paper.key, "figure", id, known));
        }
    }
    for id in &claim_ids {
        let known = paper.claim.iter().map(|claim| claim.id.as_str());
        if !known.clone().any(|known| known == id) {
            return Err(unknown(&paper.key, "claim", id, known));
        }
    }
    for name in &selection.readings {
        if paper.reading(name).is_none() {
            return Err(unknown(&paper.key, "reading", name, paper.reading.iter().map(|it| it.name.as_str())));
        }
    }
    let everything = selection.figures.is_empty() && selection.claims.is_empty();
    let mut figures = Vec::new();
    for spec in &paper.figure {
        let whole = everything || figure_ids.contains(&spec.id);
        let included = |claim: &&ClaimSpec| claim.figure == spec.id && (whole || claim_ids.contains(&claim.id));
        let claims: Vec<&ClaimSpec> = paper.claim.iter().filter(included).collect();
        if whole || !claims.is_empty() {
            figures.push(ChosenFigure { spec, claims, whole });
        }
    }
    let in_size = |reading: &ReadingSpec| selection.size == Size::Full || reading.quick;
    let readings = paper
        .reading
        .iter()
        .enumerate()
        .filter(|(at, reading)| {
            *at == 0
                || if selection.readings.is_empty() {
                    in_size(reading)
                } else {
                    selection.readings.contains(&reading.name)
                }
        })
        .map(|(_, reading)| reading)
        .collect();
    Ok(Chosen { figures, readings, everything: everything && selection.readings.is_empty() })
}

fn coverage(claims: &[Claim]) -> Coverage {
    let count = |is: fn(&Claim) -> bool| claims.iter().filter(|claim| is(claim)).count();
    let is_tested = |claim: &Claim| !matches!(claim.verdict, Verdict::NotRun { .. });
    let count_tested = |is: fn(&Claim) -> bool| claims.iter().filter(|claim| is_tested(claim) && is(claim)).count();
    Coverage {
        listed: claims.len(),
        tested: count_tested(|_| true),
        not_run: count(|claim| matches!(claim.verdict, Verdict::NotRun { .. })),
        by_formula: count(|claim| claim.status == Status::Formula),
        recorded: count(|claim| claim.status == Status::Recorded),
        readings: count_tested(|claim| claim.stated_by == StatedBy::Reading),
        slips: count_tested(|claim| claim.is_slip),
    }
}
