//! Measured power curves of real servers.
//!
//! All curves are published results of the benchmark SPECpower_ssj2008: the average power of the whole server, at the
//! wall, while it is idle and at 10 %, 20 %, …, 100 % of its maximum throughput. The model uses the share of busy cores
//! for the share of the throughput. The curves contain memory, disks, fans and network card, so that the models have no
//! static power besides them and no energy for each memory access or byte.
//!
//! The watts below were copied from the sources that each entry names, not from the pages of spec.org, which could not
//! be read when the table was made. Check them against the result's page, whose number each entry gives, before you
//! publish absolute energies.

use hindmost_math::suggest::did_you_mean;

/// The measured power of a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// Name of the machine in files.
    pub name: &'static str,
    /// The server and its processors.
    pub description: &'static str,
    /// The number of the published result on spec.org, and where the watts were copied from.
    pub source: &'static str,
    /// Average power while idle and at 10 %, 20 %, …, 100 % of the maximum throughput, watts.
    pub watts: [f64; 11],
}

/// The machines, in the order of their publication: a small server, then servers with two processors of three
/// generations.
pub const MACHINES: [Machine; 4] = [
    Machine {
        name: "hp_ml110_g5",
        description: "HP ProLiant ML110 G5, one Xeon 3075 (2 cores, 2.66 GHz), 4 GB",
        source: "SPECpower_ssj2008 result power_ssj2008-20110124-00339 (2011), as in CloudSim \
                 (PowerModelSpecPowerHpProLiantMl110G5Xeon3075) and in Beloglazov & Buyya 2012, doi:10.1002/cpe.1867",
        watts: [93.7, 97.0, 101.0, 105.0, 110.0, 116.0, 121.0, 125.0, 129.0, 133.0, 135.0],
    },
    Machine {
        name: "ibm_x3550_x5675",
        description: "IBM x3550, two Xeon X5675 (12 cores, 3.07 GHz), 16 GB",
        source: "SPECpower_ssj2008 result power_ssj2008-20110406-00368 (2011), as in CloudSim \
                 (PowerModelSpecPowerIbmX3550XeonX5675)",
        watts: [58.4, 98.0, 109.0, 118.0, 128.0, 140.0, 153.0, 170.0, 189.0, 205.0, 222.0],
    },
    Machine {
        name: "dell_r740",
        description: "Dell PowerEdge R740, two processors",
        source: "SPECpower_ssj2008 result power_ssj2008-20170829-00780 (2017), as in a power model of a public extension \
                 of CloudSim (class DellPowerEdgeR740); no second source was found",
        watts: [52.3, 129.0, 147.0, 170.0, 195.0, 224.0, 255.0, 292.0, 344.0, 408.0, 457.0],
    },
    Machine {
        name: "two_epyc_9654",
        description: "A server with two AMD EPYC 9654 (192 cores)",
        source: "SPECpower_ssj2008 result power_ssj2008-20221204-01203 (2022), as in the documentation of the simulator \
                 Joulie (page \"Hardware Modeling and Physical Power Model\"); no second source was found",
        watts: [128.0, 257.0, 300.0, 340.0, 378.0, 410.0, 442.0, 498.0, 577.0, 697.0, 817.0],
    },
];

impl Machine {
    /// Returns the machine with this name.
    ///
    /// # Errors
    /// If there is none; the message lists the names.
    pub fn named(name: &str) -> Result<&'static Machine, String> {
        MACHINES.iter().find(|machine| machine.name == name).ok_or_else(|| {
            let names = MACHINES.map(|machine| machine.name);
            let near = did_you_mean(name, names);
            format!("{name:?} is not a machine type{near} (there are {})", names.join(", "))
        })
    }

    /// Returns the curve: shares of full load and watts.
    pub fn curve(&self) -> Vec<(f64, f64)> {
        evenly(&self.watts)
    }
}

/// Returns the curve through watts at equal distances of utilisation, from 0 to 1.
pub(super) fn evenly(watts: &[f64]) -> Vec<(f64, f64)> {
    let steps = watts.len().saturating_sub(1).max(1) as f64;
    watts.iter().enumerate().map(|(at, watts)| (at as f64 / steps, *watts)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::power::{CpuPower, PowerModel, StaticWatts};

    #[test]
    fn every_machine_is_a_valid_model() {
        for machine in &MACHINES {
            let cpu = CpuPower::Curve(machine.curve());
            let static_watts = StaticWatts::default();
            let model = PowerModel { static_watts, cpu, cores: 20.0, joules_per_access: 0.0, joules_per_byte: 0.0 };
            assert_eq!(model.check(), Ok(()), "{}", machine.name);
            // Two of 20 cores are the 10 % of the second measurement.
            assert_eq!([0.0, 2.0, 20.0].map(|busy| model.watts(busy)), [0, 1, 10].map(|at| machine.watts[at]));
            assert!(machine.source.contains("power_ssj2008-20"));
            assert_eq!(Machine::named(machine.name), Ok(machine));
        }
        assert!(Machine::named("dell_r74").unwrap_err().contains("did you mean \"dell_r740\"?"));
    }
}
