//! Tests of the catalogue's policies, each as users get it.

mod reference;
mod refusals;
mod schema;
mod stops;
mod winners;
