//! Solves the optimisation problems of the papers behind the policies, without a cluster.
//!
//! Xu & Lau, *Optimization for Speculative Execution of Multiple Jobs in a MapReduce-like Cluster*, 2015:
//! - how many copies of each task to start: [`clones`], and [`clones_dual`] by the paper's method;
//! - when a task is a straggler: [`sigma`];
//! - up to which load cloning helps: [`cutoff`].
//!
//! Xu, Liu & Lau, *Multi Resource Scheduling with Task Cloning in Heterogeneous Clusters*, 2022:
//! - how much copies speed a task up: [`speedup`];
//! - which jobs go first: [`priorities`];
//! - the schedule of jobs that all arrive at the same time: [`transient`].
//!
//! Zhou, Phan, Ibrahim & He, *Energy-Efficient Speculative Execution using Advanced Reservation for Heterogeneous
//! Clusters*, 2018:
//! - when and where a straggler's copy runs: [`skyline`].
//!
//! Alamro, Xu, Lan & Subramaniam, *Shed: Optimal Dynamic Cloning to Meet Application Deadlines in Cloud*:
//! - the probability that a job meets its deadline: [`pocd`], also for the strategies of Chronos;
//! - how many clones of each task jobs with deadlines get: [`shed`].
//!
//! Xu, Alamro, Lan & Subramaniam, *Chronos: A Unifying Optimization Framework for Speculative Execution of
//! Deadline-Critical MapReduce Jobs*, 2018:
//! - how many clones or backups of each task a job with a deadline gets: [`chronos`].
//!
//! RiskI:
//! - what a backup is expected to gain: [`gain`].

pub mod chronos;
pub mod clones;
pub mod clones_dual;
pub mod cutoff;
pub mod gain;
mod knapsack;
pub mod pocd;
pub mod priorities;
pub mod shed;
pub mod sigma;
mod sigma_ratio;
pub mod skyline;
pub mod speedup;
pub mod transient;

#[cfg(test)]
mod tests;
