//! Progress models: what a policy may know about running attempts (`knowledge`).
//!
//! Papers assume more knowledge than a real system has, and this assumption changes the ratios between policies more
//! than the choice of policy does. A policy therefore queries an [`Estimator`] and never reads the true remaining time.
//! Everything that an estimator knows is in the records, so a replayed journal gives the same answers.

mod by_distribution;
mod choice;
mod estimates;
mod knowledge;

pub use choice::estimator;
pub use estimates::{Estimator, Pace, Test};
pub(crate) use estimates::{new_copy_by_distribution, remaining_by_distribution};
pub use knowledge::{Knowledge, PROFILES_SHARE, UnknownKnowledge};
