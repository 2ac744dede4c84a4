//! Profiles of earlier runs, which policies know under the progress model `profiles`.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hindmost_policies::catalogue::spec::PolicySpec;
use hindmost_profiles::Known;
use hindmost_sim::driver::{Control, SimulationError};
use hindmost_sim::experiment::Experiment;
use hindmost_sim::output::Silent;
use hindmost_sim::scenario::{PolicyEntry, Scenario};

use crate::data::PaperError;

/// Seed of earlier runs. Other runs have seeds from 1 on.
const EARLIER: u64 = 0;

/// The profiles of earlier runs, by scenario.
#[derive(Default)]
pub(super) struct Histories {
    known: HashMap<String, Arc<Known>>,
}

impl Histories {
    /// Returns the profiles that a run of an experiment's scenario leaves without speculation. All policies and all seeds
    /// get the same ones.
    ///
    /// # Errors
    /// If the run fails.
    pub(super) fn of(&mut self, scenario: &Scenario, experiment: &Experiment) -> Result<Arc<Known>, PaperError> {
        let none: PolicySpec = "none".parse().map_err(|error| SimulationError::Workload(format!("none: {error}")))?;
        let alike = Scenario { policy: vec![PolicyEntry::from(&none)], ..scenario.clone() };
        let key = serde_json::to_string(&alike).unwrap_or_default();
        if let Some(known) = self.known.get(&key) {
            return Ok(Arc::clone(known));
        }
        let mut earlier = Experiment { policies: vec![none.clone()], ..experiment.clone() };
        earlier.setup.keeps_profiles = true;
        let stop = AtomicBool::new(false);
        let control = Control { stop: &stop, progress: &|_| {} };
        let result = earlier.run_one(&none, EARLIER, &mut Silent, &control)?;
        let known: Arc<Known> = Arc::new(result.profiles.iter().map(|profile| (**profile).clone()).collect());
        self.known.insert(key, Arc::clone(&known));
        Ok(known)
    }
}
