//! Profiles of finished attempts: the file that keeps them across runs, and the weights that are fitted to them.
//!
//! Paper: RiskI, sections 5.2 and 5.3. Profiles, their similarity and predictions are in
//! [`hindmost_core::profiles`], because an estimator must answer from what is in the journal. This crate has the rest:
//!
//! - A [`Store`] is a file with profiles. It has at most a given number of them; the oldest are dropped.
//! - [`fit()`] solves the quadratic program for the weights of a phase's factors.
//! - A [`Learner`] turns known and new profiles into the events from which policies learn of them.
//! - [`describe`] lists what a store contains.
//!
//! # Example
//!
//! ```
//! use hindmost_core::profiles::{Conditions, Profile};
//! use hindmost_profiles::{MOST_PROFILES, Store};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("profiles.redb");
//! let profile = Profile {
//!     job: "wordcount".into(),
//!     phase: "map".into(),
//!     node: "n1".into(),
//!     speed: 1.0,
//!     seconds: 12.5,
//!     conditions: Conditions { input: 64e6, tasks: 128, ..Conditions::default() },
//! };
//! Store::open(&path, MOST_PROFILES)?.add(&[profile.clone()])?;
//!
//! // The next run.
//! let store = Store::open(&path, MOST_PROFILES)?;
//! assert_eq!(store.newest("wordcount", "map", 10)?, [profile]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod describe;
mod error;
mod fit;
mod guarded;
mod learner;
mod store;

pub use describe::{KindOfProfiles, ProfilesDocument, WeightOfFactor, describe};
pub use error::{FitError, StoreError};
pub use fit::{FITTED, fit, nonnegative_least_squares};
pub use learner::{Known, Learner};
pub use store::{Kind, MOST_PROFILES, Store};
