//! The mathematics of Hindmost: distributions of task durations, numerics, fits and statistics. It knows nothing about
//! scheduling and opens no files or sockets.
//!
//! Three concepts:
//!
//! - A [`distribution::Distribution`] is one of seven families, such as Pareto or log-normal, with checked parameters.
//!   It has moments, quantiles, and the expected minimum and maximum over copies and tasks.
//! - A [`fit::Fit`] estimates from a sample which family its values follow and how heavy their tail is.
//! - A draw ([`random`]) is a hash of a seed and of what the number is for, so it does not depend on the order of
//!   draws.
//! - [`outcomes::Outcomes`] is a range of values with probabilities, such as a prediction from few observations.
//!
//! The other modules have scalar numerics ([`numeric`]), means, quantiles and intervals ([`statistics`], [`pooled`] for
//! several samples together, [`bootstrap`] for ratios of paired values), and helpers for messages ([`plain`],
//! [`suggest`]).
//!
//! # Example
//!
//! ```
//! use hindmost_math::distribution::Distribution;
//! use hindmost_math::random::{hash, unit};
//!
//! // Task durations with a mean of 10 s and a heavy tail.
//! let durations: Distribution = "pareto(alpha=2,mean=10)".parse()?;
//! assert!((durations.mean() - 10.0).abs() < 1e-12);
//!
//! // The expected duration of the faster of two copies, s.
//! assert!((durations.expected_minimum(2.0) - 20.0 / 3.0).abs() < 1e-12);
//!
//! // The duration of copy 0 of task 7 with seed 1, s.
//! let duration = durations.survival_quantile(unit(hash(1, 0, 7, 0)));
//! assert!(duration >= durations.minimum());
//! # Ok::<(), hindmost_math::distribution::DistributionError>(())
//! ```

pub mod bootstrap;
pub mod distribution;
pub mod fit;
pub mod numeric;
pub mod outcomes;
pub mod plain;
pub mod pooled;
pub mod random;
pub mod shapes;
pub mod statistics;
pub mod suggest;
pub mod survival;
pub mod without;
