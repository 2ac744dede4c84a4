//! Scalar numerics: root finding, minimisation, quadrature and the special functions that distributions of durations
//! need. All functions are deterministic, return a value for every input and never panic.

mod quadrature;
mod roots;
mod special;

pub use quadrature::{Integral, integrate, integrate_panels};
pub use roots::{bisect, find_root, minimize};
pub use special::{digamma_increment, harmonic, ln_gamma_increment, normal_quantile, normal_survival};
