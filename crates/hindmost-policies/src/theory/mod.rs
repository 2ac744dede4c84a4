//! The optimisation problems behind the policies, solved on their own: how many copies to start
//! ([`clones`], [`clones_dual`]), when a task is a straggler ([`sigma`]) and up to which load cloning
//! helps ([`cutoff`]), from Xu & Lau, *Optimization for Speculative Execution in Big Data Processing
//! Clusters*, 2015; how much copies speed a task up ([`speedup`]), which jobs go first
//! ([`priorities`]) and the schedule of jobs that are all there at once ([`transient`]), from Xu, Liu & Lau,
//! *Multi Resource Scheduling with Task Cloning in Heterogeneous Clusters*, 2022.

pub mod clones;
pub mod clones_dual;
pub mod cutoff;
mod knapsack;
pub mod priorities;
pub mod sigma;
mod sigma_ratio;
pub mod speedup;
pub mod transient;

#[cfg(test)]
mod tests;
