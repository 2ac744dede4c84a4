//! The mathematics behind Hindmost: [`distribution`]s of durations, scalar [`numeric`] methods, tails fitted to samples
//! ([`fit`]), counter-based [`random`] draws, quantiles and intervals ([`statistics`]). Nothing here knows of scheduling,
//! files or sockets.

pub mod distribution;
pub mod fit;
pub mod numeric;
pub mod plain;
pub mod random;
pub mod shapes;
pub mod statistics;
pub mod suggest;
