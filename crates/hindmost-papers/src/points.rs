//! Points of curves that a paper's text states, and the measured curves near them.

use hindmost_claims::{CurvePoint, Figure};
use hindmost_math::statistics::mean;

use crate::data::{ClaimSpec, FigureSpec, PaperError, PartSpec, ReadingSpec, WorldSpec};
use crate::evaluate::{Evaluator, is_cut};
use crate::metric::{Metric, Quantity};
use crate::runs::RunId;

/// A point that a part of a claim states: the share of jobs up to a value.
struct Stated {
    quantity: Quantity,
    at: f64,
    share: f64,
}

impl Stated {
    /// Returns the point of a part; `None` if the part states none.
    fn of(part: &PartSpec) -> Option<Stated> {
        if part.against.is_some() {
            return None;
        }
        // The limit of a rule is not a number of the paper.
        let value = part.near.or(part.stated)?;
        let (quantity, at, share) = match part.metric.as_deref()?.parse().ok()? {
            Metric::Share(quantity, at, None) => (quantity, at, value / 100.0),
            Metric::Quantile(quantity, share, None) => (quantity, value, share),
            _ => return None,
        };
        let is_drawn = matches!(quantity, Quantity::Flowtime | Quantity::RunningTime | Quantity::Resource);
        is_drawn.then_some(Stated { quantity, at, share })
    }
}

/// A curve: the jobs of a run.
#[derive(Clone, Copy)]
pub(crate) struct Curve<'a> {
    /// Name of the curve.
    pub(crate) name: &'a str,
    /// The run, and whether only jobs count that had finished when arrivals stopped.
    pub(crate) run: (RunId, bool),
    /// The world of the run.
    pub(crate) world: &'a WorldSpec,
    /// Label of the policy.
    pub(crate) policy: &'a str,
    /// The reading of the run.
    pub(crate) reading: &'a ReadingSpec,
}

impl<'p> Evaluator<'p, '_> {
    /// Returns the points that a claim states, measured under the base reading.
    ///
    /// # Errors
    /// If a run is not valid.
    pub(crate) fn points(&mut self, claim: &'p ClaimSpec) -> Result<Vec<CurvePoint>, PaperError> {
        let paper = self.paper;
        let Some(reading) = paper.base() else { return Ok(Vec::new()) };
        let mut points = Vec::new();
        for part in claim.part.iter().filter(|part| Stated::of(part).is_some()) {
            let world = part.world.as_deref().and_then(|world| paper.world(world));
            let (Some(policy), Some(world)) = (part.policy.as_deref(), world) else { continue };
            // A place of a sweep is not drawn as a curve.
            let Some(spec) = paper.policy(policy) else { continue };
            let run = self.run_of(world, policy, reading, None)?;
            let curve = Curve { name: &spec.name, run: (run, is_cut(paper, reading)), world, policy, reading };
            points.extend(self.point(claim, part, curve));
        }
        Ok(points)
    }

    /// Returns the points of a curve that the claims of a figure state.
    pub(crate) fn points_of(&mut self, figure: &FigureSpec, curve: Curve<'_>, quantity: Quantity) -> Vec<CurvePoint> {
        let paper = self.paper;
        let claims = paper.claim.iter().filter(|claim| claim.figure == figure.id);
        let mut points: Vec<CurvePoint> = Vec::new();
        for (claim, part) in claims.flat_map(|claim| claim.part.iter().map(move |part| (claim, part))) {
            let is_here = part.policy.as_deref() == Some(curve.policy)
                && part.world.as_ref() == Some(&curve.world.name)
                && Stated::of(part).is_some_and(|stated| stated.quantity == quantity);
            if !is_here {
                continue;
            }
            let point = self.point(claim, part, curve);
            points.extend(point.filter(|point| !points.iter().any(|known| is_same(known, point))));
        }
        points
    }

    fn point(&mut self, claim: &ClaimSpec, part: &PartSpec, curve: Curve<'_>) -> Option<CurvePoint> {
        let Stated { quantity, at, share } = Stated::of(part)?;
        let (run, cut) = curve.run;
        let finite = |values: Vec<f64>| mean(&values).filter(|mean| mean.is_finite());
        let measured_share = finite(self.runs.values(run, Metric::Share(quantity, at, None), cut));
        let quantile = Metric::Quantile(quantity, share.clamp(0.0, 1.0), None);
        Some(CurvePoint {
            claim: claim.id.clone(),
            curve: curve.name.to_owned(),
            world: curve.world.words.clone(),
            quantity: quantity.words().to_owned(),
            at,
            share,
            reading: curve.reading.name.clone(),
            measured_share: measured_share.map(|share| share / 100.0),
            measured_at: finite(self.runs.values(run, quantile, cut)),
        })
    }
}

/// Returns whether two points are the same point of the same curve. Claims of several parts repeat points that the paper
/// states in other claims.
pub(crate) fn is_same(one: &CurvePoint, other: &CurvePoint) -> bool {
    (&one.curve, &one.world, &one.quantity, &one.reading)
        == (&other.curve, &other.world, &other.quantity, &other.reading)
        && [one.at, one.share].map(f64::to_bits) == [other.at, other.share].map(f64::to_bits)
}

/// Adds the points of a figure's pictures that are not among its points yet: those under other readings.
pub(crate) fn with_drawn(figure: &mut Figure) {
    let drawn = figure.tables.iter().filter_map(|table| table.plot.as_ref()).flat_map(|plot| &plot.stated);
    for point in drawn {
        // The name of a curve may end with its reading.
        let curve = point.curve.strip_suffix(&format!(", {}", point.reading)).unwrap_or(&point.curve);
        let point = CurvePoint { curve: curve.to_owned(), ..point.clone() };
        if !figure.points.iter().any(|known| is_same(known, &point)) {
            figure.points.push(point);
        }
    }
}
