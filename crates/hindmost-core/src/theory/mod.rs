//! The optimisation problems behind the policies, solved on their own: how many copies to start
//! ([`clones`], [`clones_dual`]), when a task is a straggler ([`sigma`]) and up to which load cloning
//! helps ([`cutoff`]). All from Xu & Lau, *Optimization for Speculative Execution in Big Data
//! Processing Clusters*, 2015.

pub mod clones;
pub mod clones_dual;
pub mod cutoff;
mod knapsack;
pub mod sigma;
mod sigma_ratio;

#[cfg(test)]
mod tests;
