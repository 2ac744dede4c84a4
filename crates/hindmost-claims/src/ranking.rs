//! The ranking of all policies on the workloads of all reproduced papers and on others, as data.

use serde::Serialize;

use crate::Estimate;

/// All policies compared on several worlds with the same progress model and the same jobs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ranking {
    /// Name on the command line: `ranking`.
    pub paper: String,
    /// What is compared.
    pub title: String,
    /// The command that makes the ranking, without `hindmost` and without `--out`.
    pub command: String,
    /// How long the command takes on two cores, in minutes; `None` if it makes only a part of the ranking.
    pub minutes: Option<f64>,
    /// True if the simulations were made smaller to save time: shorter, with fewer seeds and progress models.
    pub quick: bool,
    /// Seeds of the simulations under the main progress model.
    pub seeds: Vec<u64>,
    /// Sentences that say what the numbers show.
    pub answer: Vec<String>,
    /// Sentences that explain how the comparison is made.
    pub notes: Vec<String>,
    /// The policies, in the order in which [`WorldRanking::rows`] lists them.
    pub policies: Vec<RankedPolicy>,
    /// The worlds.
    pub worlds: Vec<RankedWorld>,
    /// The results for each progress model, the main one first.
    pub levels: Vec<RankingLevel>,
}

/// A policy of a ranking.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankedPolicy {
    /// The policy as it is written on the command line.
    pub policy: String,
    /// What kind of row it is.
    pub kind: RankedKind,
    /// A line that says what the policy does.
    pub about: String,
    /// The policy that has only the order of jobs of this one, such as `dollymp+none` for `dollymp`; `None` if it runs under
    /// the order that the world gives to all policies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order_alone: Option<String>,
    /// The policy that has only the copies of this one, under the order that the world gives to all policies, such as
    /// `fair+dollymp` for `dollymp`; `None` if the policy has no order of its own, or if no row has its copies alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copies_alone: Option<String>,
}

/// The kind of a policy in a ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RankedKind {
    /// A system of the catalogue with its default parameters and, if it has one, its own order of jobs.
    System,
    /// A system that has an order of its own, under the order of all other systems.
    OtherOrder,
    /// An order of jobs of the catalogue, with one copy of each task.
    Order,
    /// A system or order with other parameters or in another combination.
    Variant,
}

/// A world of a ranking: a cluster with a workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankedWorld {
    /// Short name, such as `xu2015-light`.
    pub name: String,
    /// What the cluster and the workload are.
    pub about: String,
    /// The paper to which the world belongs; `None` for a world that no paper chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper: Option<String>,
    /// The scenario as TOML, with which `hindmost simulate` repeats the results under the main progress model.
    pub scenario: String,
}

/// The results of all worlds under one progress model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankingLevel {
    /// The progress model of all policies.
    pub knowledge: String,
    /// Number of seeds of each world.
    pub seeds: usize,
    /// The results, in the order of [`Ranking::worlds`].
    pub worlds: Vec<WorldRanking>,
    /// Over all worlds, in the order of [`Ranking::policies`].
    pub overall: Vec<OverallRow>,
    /// Who is first of some policies by mean flowtime, and how certain this is.
    pub groups: Vec<RankedGroup>,
}

/// Some policies of a ranking, compared by their mean ranks by mean flowtime.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankedGroup {
    /// Which policies are compared.
    pub group: GroupKind,
    /// The policies, that with the smallest mean rank first.
    pub members: Vec<GroupMember>,
}

/// Which policies of a ranking are compared for the first place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GroupKind {
    /// All systems, those with an order of their own under that order. Ranks are among all policies.
    Systems,
    /// All systems under one order. Ranks are among these policies.
    OneOrder,
    /// The combinations of an order with a system of another paper. Ranks are among all policies.
    Combinations,
}

/// A policy of a [`RankedGroup`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupMember {
    /// The policy as it is written on the command line.
    pub policy: String,
    /// Mean of its ranks over all worlds.
    pub mean_rank: f64,
    /// The 95% interval of the mean rank over seeds; `None` for a single seed.
    pub ci95: Option<[f64; 2]>,
    /// Share of the resamples of seeds in which no policy of the group has a smaller mean rank, from 0 to 1.
    pub first_in_resamples: f64,
    /// In how many of the sets that leave out one world no policy of the group has a smaller mean rank.
    pub first_without_a_world: usize,
}

/// The results of one world under one progress model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorldRanking {
    /// Name of the world.
    pub world: String,
    /// Number of jobs of all seeds.
    pub jobs: u64,
    /// Number of tasks of all seeds.
    pub tasks: u64,
    /// Share of the busiest resource in use under `none`, from 0 to 1: mean over seeds.
    pub utilization: f64,
    /// A sentence that says what decides the first and the last ranks by mean flowtime.
    pub decides: String,
    /// The systems that are first of all systems by mean flowtime, or that might be with other seeds: no other system is
    /// better than they are with certainty. The best are first.
    pub first_systems: Vec<String>,
    /// True if the PoCD of this world counts for [`OverallRow::pocd`]: under `none` it is from 0.05 to 0.95, so that copies
    /// can change it.
    pub pocd_counts: bool,
    /// The rows, in the order of [`Ranking::policies`].
    pub rows: Vec<RankingRow>,
}

/// The results of a policy in a world.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankingRow {
    /// The policy as it is written on the command line.
    pub policy: String,
    /// Mean flowtime of the jobs, seconds.
    pub flowtime: RankedValue,
    /// The flowtime that 99% of the jobs of a seed do not exceed, seconds.
    pub flowtime_p99: RankedValue,
    /// Mean resource usage of a job.
    pub resource: RankedValue,
    /// Mean energy of a job, joules: the energy of all nodes without their idle power, divided by the number of jobs.
    pub energy: RankedValue,
    /// Share of the jobs that met their deadline, from 0 to 1; `change` is the difference from `none`.
    pub pocd: RankedValue,
    /// Change of the mean time from a job's arrival to its first attempt, in per cent of the mean flowtime under `none`.
    pub waiting: Estimate,
    /// Change of the mean time from a job's first attempt to its finish, in per cent of the mean flowtime under `none`.
    /// With `waiting` it adds up to the change of the mean flowtime.
    pub running: Estimate,
    /// Number of copies for each task, without its first attempt.
    pub copies: f64,
    /// Share of the resource usage that went to attempts that did not win, from 0 to 1; `None` if jobs were abandoned.
    pub wasted_share: Option<f64>,
    /// Share of the jobs that the policy abandoned, from 0 to 1. A policy that abandons jobs has ranks by PoCD only.
    pub abandoned_share: f64,
    /// A phrase that says what changes the mean flowtime, such as `shorter running`.
    pub decided_by: String,
}

/// A measured value of a policy, compared with `none` and ranked among all policies.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankedValue {
    /// The value.
    pub value: Estimate,
    /// Its change against `none` on the same seeds, in per cent; for probabilities the difference, from −1 to 1.
    pub change: Estimate,
    /// The rank; `None` if the value is not ranked.
    pub rank: Option<Rank>,
}

/// The place of a value among those of all policies; 1 is the best.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rank {
    /// The rank by the mean over seeds. Equal means share the mean of their places.
    pub rank: f64,
    /// The first rank that other seeds might give: 1 + the number of policies that are better with certainty.
    pub first: usize,
    /// The last rank that other seeds might give: the number of ranked policies − the number that are worse with
    /// certainty.
    pub last: usize,
}

/// A policy over all worlds. Each world counts the same.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OverallRow {
    /// The policy as it is written on the command line.
    pub policy: String,
    /// Over all worlds by mean flowtime.
    pub flowtime: OverallValue,
    /// Over all worlds by the 99th percentile of flowtime.
    pub flowtime_p99: OverallValue,
    /// Over all worlds by resource usage.
    pub resource: OverallValue,
    /// Over all worlds by energy.
    pub energy: OverallValue,
    /// Over the worlds whose PoCD counts by PoCD ([`WorldRanking::pocd_counts`]).
    pub pocd: OverallValue,
}

/// One measure of a policy over all worlds; everything is `None` if the policy is not ranked in each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OverallValue {
    /// Mean of the ranks.
    pub mean_rank: Option<f64>,
    /// The 95% interval of the mean rank, from resamples of the seeds of each world; `None` for a single seed.
    pub mean_rank_ci95: Option<[f64; 2]>,
    /// The best rank and the worst one.
    pub ranks: Option<[f64; 2]>,
    /// Typical change against `none`: the geometric mean of the ratios − 1, in per cent; for probabilities the mean of
    /// the differences.
    pub change: Option<f64>,
    /// The change in the world where it is largest, with the same unit.
    pub worst_change: Option<f64>,
}
