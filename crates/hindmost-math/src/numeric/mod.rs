//! Scalar numerics written for this crate: root finding, minimisation, quadrature and the few special
//! functions that the distributions of durations need. Everything is deterministic and returns a
//! value for every input; nothing panics.

mod quadrature;
mod roots;
mod special;

pub use quadrature::{Integral, integrate, integrate_panels};
pub use roots::{bisect, find_root, minimize};
pub use special::{digamma_increment, harmonic, ln_gamma_increment, normal_quantile, normal_survival};
