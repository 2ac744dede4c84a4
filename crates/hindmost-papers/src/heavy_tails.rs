//! Quantiles beside the means of the abstract's claims, where durations have a heavy tail.
//!
//! A mean of flowtimes with an infinite variance depends on a few jobs, and its interval by Student's t may be too short.
//! Quantiles have neither problem, so a reader can see whether a claim about a mean holds for most jobs, too.

use std::collections::BTreeMap;

use hindmost_claims::{BesideMean, Estimate, HeavyTails};

use crate::data::{ClaimSpec, PaperError, ReadingSpec};
use crate::evaluate::Evaluator;
use crate::metric::Metric;
use crate::runs::Seeds;

/// Returns the cautions of the worlds of these claims under a reading, and the medians and 95th percentiles beside the
/// means of the claims in such worlds. In the first pass of the simulations the numbers are NaN.
///
/// # Errors
/// If a run is not valid.
pub fn heavy_tails<'p>(
    evaluator: &mut Evaluator<'p, '_>,
    claims: &[&'p ClaimSpec],
    reading: &'p ReadingSpec,
    seeds: Option<Seeds>,
) -> Result<Option<HeavyTails>, PaperError> {
    let mut of_worlds: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let (mut cautions, mut beside) = (Vec::new(), Vec::new());
    for claim in claims {
        for part in &claim.part {
            let (Some(world), Some(label)) = (part.world.as_deref(), part.policy.as_deref()) else { continue };
            let Some(Ok(Metric::Mean(quantity, up_to))) = part.metric.as_deref().map(str::parse) else { continue };
            if part.minus.is_some() || part.against_metric.is_some() || label.contains(':') {
                continue;
            }
            if !of_worlds.contains_key(world) {
                of_worlds.insert(world, evaluator.cautions(world, label, reading)?);
            }
            if of_worlds.get(world).is_none_or(Vec::is_empty) {
                continue;
            }
            for caution in &of_worlds[world] {
                if !cautions.contains(caution) {
                    cautions.push(caution.clone());
                }
            }
            let mean = evaluator.under(part, reading, seeds)?;
            let mut quantile =
                |share| evaluator.under_as(part, reading, seeds, Some(Metric::Quantile(quantity, share, up_to)));
            beside.push(BesideMean {
                claim: claim.id.clone(),
                mean: Estimate::from(&mean),
                value: mean.value,
                unit: mean.unit,
                median: Estimate::from(&quantile(0.5)?),
                p95: Estimate::from(&quantile(0.95)?),
            });
        }
    }
    // Several claims may state the same mean.
    let mut shown: Vec<BesideMean> = Vec::new();
    for one in beside {
        if !shown.iter().any(|known| known.value == one.value) {
            shown.push(one);
        }
    }
    Ok((!shown.is_empty()).then_some(HeavyTails { cautions, beside: shown }))
}
