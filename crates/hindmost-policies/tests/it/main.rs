//! Tests of the catalogue and of the policies that it builds.

mod reference;
mod refusals;
mod schema;
mod stops;
mod window;
mod winners;
