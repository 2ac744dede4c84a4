//! Where each policy comes from, and how it differs from that source. Users read this in `docs/policies.md` and in the
//! output of `hindmost policies`, so it is written here and not in the documentation of the policies' modules. The modules
//! describe the algorithms and the readings: the choices made where a source leaves something open.

use serde::Serialize;

pub mod orders;
pub mod systems;

/// The source of a policy, and the differences from it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Source {
    /// The paper or program that the policy comes from.
    #[serde(rename = "source")]
    pub work: &'static str,
    /// The sections, algorithms and equations of the paper that the policy follows, or the files and version of the
    /// program.
    pub section: &'static str,
    /// What the policy was written from: the source itself, or, if its text was not at hand, what was used instead.
    pub basis: &'static str,
    /// The differences between the policy and its source. Each is one or more sentences.
    pub deviations: &'static [&'static str],
}

const XU_LAU: &str =
    "Xu & Lau, Optimization for Speculative Execution of Multiple Jobs in a MapReduce-like Cluster, 2015";
const XU_LIU_LAU: &str =
    "Xu, Liu & Lau, Multi Resource Scheduling with Task Cloning in Heterogeneous Clusters, ICPP 2022";
const ZHOU: &str = "Zhou, Phan, Ibrahim & He, Energy-Efficient Speculative Execution using Advanced Reservation for Heterogeneous \
     Clusters, ICPP 2018";

const RISKI: &str = "Zheng, Liao & Liu, Risk Intelligence: Making Profit from Uncertainty in Data Processing System, The \
    Scientific World Journal 2014 (RiskI, on Hadoop 0.21.0)";
const ALAMRO: &str =
    "Alamro, Xu, Lan & Subramaniam, Shed: Optimal Dynamic Cloning to Meet Application Deadlines in Cloud";
const XU_ALAMRO: &str = "Xu, Alamro, Lan & Subramaniam, Chronos: A Unifying Optimization Framework for Speculative Execution of \
     Deadline-Critical MapReduce Jobs, ICDCS 2018";

/// The basis of a policy whose paper was at hand.
const PAPER: &str = "the text of the paper";
