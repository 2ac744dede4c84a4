//! Which estimator a progress model has.

use super::by_distribution::{ByAge, ByProgress};
use super::estimates::Estimator;
use super::knowledge::Knowledge;
use crate::profiles::estimator::ByProfiles;

/// Returns the estimator for a progress model.
///
/// ```
/// use hindmost_core::estimator::{Knowledge, estimator};
///
/// let knowledge: Knowledge = "progress(0.2)".parse()?;
/// assert_eq!(estimator(knowledge).knowledge(), Knowledge::Progress(0.2));
/// # Ok::<(), hindmost_core::estimator::UnknownKnowledge>(())
/// ```
pub fn estimator(knowledge: Knowledge) -> Box<dyn Estimator> {
    match knowledge {
        Knowledge::Age | Knowledge::History => Box::new(ByAge::new(knowledge)),
        Knowledge::Profiles(_) => Box::new(ByProfiles::new(knowledge, Box::new(ByProgress::new(knowledge)))),
        _ => Box::new(ByProgress::new(knowledge)),
    }
}
