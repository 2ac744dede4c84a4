//! The energy of a live run: measured with the machine's counters ([`rapl`]), else estimated from the power models of
//! its nodes (`estimate`), else unknown.

mod estimate;
pub mod rapl;

use std::path::Path;

use hindmost_core::metrics::{EnergySource, LiveEnergy};
use hindmost_core::record::Record;
use hindmost_core::resources::Dimensions;
use hindmost_core::time::Time;

use rapl::Sampler;

/// The folder with the kernel's energy counters.
pub const POWERCAP: &str = "/sys/class/powercap";

/// Measures the energy of a run from its begin, if the machine's counters can be read.
pub(crate) struct EnergyMeter {
    sampler: Result<Sampler, String>,
    /// True if the run was begun by an earlier process, whose energy is unknown.
    is_resumed: bool,
}

impl EnergyMeter {
    /// Begins to measure. `powercap` is the folder with the counters; `None`: they are not read.
    pub(crate) fn start(powercap: Option<&Path>, is_resumed: bool) -> EnergyMeter {
        let sampler = match powercap {
            Some(folder) => Sampler::start(folder),
            None => Err("the counters are not read".to_owned()),
        };
        EnergyMeter { sampler, is_resumed }
    }

    /// Returns the energy of the run; `None` if it was not measured and the nodes have no power models. `records` are
    /// those of the whole run, and `paused_until` returns how long the run had paused up to a time.
    pub(crate) fn finish(
        self,
        records: &[Record],
        dimensions: &Dimensions,
        paused_until: impl Fn(Time) -> Time,
    ) -> Option<LiveEnergy> {
        let missing = match self.sampler.and_then(Sampler::finish) {
            Ok(measured) => {
                let since = if self.is_resumed { " since the run was resumed" } else { "" };
                let about = format!(
                    "counters of {} ({}), with everything else that ran on this machine{since}",
                    if measured.packages.len() == 1 { "the processor package" } else { "all processor packages" },
                    measured.packages.join(", ")
                );
                return Some(LiveEnergy { joules: measured.joules, source: EnergySource::Measured, about });
            }
            Err(missing) => missing,
        };
        let joules = estimate::joules(records, dimensions, paused_until)?;
        let about = format!("from the power models of the nodes, because {missing}");
        Some(LiveEnergy { joules, source: EnergySource::Estimated, about })
    }
}
