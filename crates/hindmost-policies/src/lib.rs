//! The published scheduling policies of Hindmost, and the catalogue that builds them by name.
//!
//! Three concepts:
//!
//! - An **order of jobs** decides which job is next when resources are free: `fair`, `srpt`, `tetris`, ...
//!   ([`orders`], [`dag`]).
//! - A **system** is a list of passes over the free resources. Its passes start originals ([`placement`]), backups for
//!   stragglers ([`speculation`]) and clones ([`cloning`]): `late`, `mantri`, `dolly`, ...
//! - A **policy** is a system with an order. The [`catalogue`] parses its name, such as
//!   `tetris(epsilon=0.1)+mantri(delta=0.5)`, checks its [parameters](mod@parameters) and builds it.
//!
//! Each policy is a file under the name that its users know. Its module page begins with what the policy does, its paper,
//! its algorithm and the readings where the paper is silent. The optimisation problems behind the policies are in
//! [`theory`].
//!
//! # Example
//!
//! Jobs in order of arrival, with backups by the rule of LATE for at most 20% of the cluster:
//!
//! ```
//! use hindmost_core::cluster::Cluster;
//! use hindmost_core::estimator::{Knowledge, estimator};
//! use hindmost_core::ids::{JobId, NodeId};
//! use hindmost_core::record::{Decision, Event};
//! use hindmost_core::resources::{Dimensions, Resources};
//! use hindmost_core::session::{Answers, Session};
//! use hindmost_core::time::Time;
//! use hindmost_policies::catalogue::{Setting, build};
//!
//! let setting = Setting { order: "fair", gamma: 0.01, queues: &[] };
//! let policy = build(&"fifo+late(cap=0.2)".parse()?, &setting)?;
//!
//! let mut session = Session::new(Cluster::new(Dimensions::one_slot()), policy, estimator(Knowledge::Oracle));
//! let mut answers = Answers::default();
//! let (name, capacity) = ("n0".into(), Resources::ONE_SLOT);
//! let joined = Event::NodeJoined { node: NodeId(0), name, capacity, speed: 1.0, rack: None };
//! session.step(Time::ZERO, &joined, &mut answers)?;
//! // A job of two tasks, as it appears in a journal; `mean` is in seconds.
//! let phase = r#"{"name": "map", "after": [], "tasks": 2, "demand": {}, "mean": 10.0}"#;
//! let spec = format!(r#"{{"name": "wordcount", "arrival": 0, "weight": 1.0, "phases": [{phase}]}}"#);
//! let spec = serde_json::from_str(&spec)?;
//! session.step(Time::ZERO, &Event::JobArrived { job: JobId(0), spec }, &mut answers)?;
//! session.step(Time::ZERO, &Event::Round, &mut answers)?;
//!
//! // The cluster has one slot, so one of the two tasks starts.
//! assert!(matches!(answers.decisions[0], Decision::Start { node: NodeId(0), .. }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Imports between the folders
//!
//! All folders may use `theory` and `parameters`, which use none of the others. `dag` uses `orders`; both use `placement`.
//! `placement` uses the index of running clones in `cloning`, `pace` in `speculation` uses `placement::by_speed`, and the
//! clones of `ese` use its parameters in `speculation`. `catalogue` uses everything, and nothing uses `catalogue`.

pub mod catalogue;
pub mod cloning;
pub mod dag;
pub mod orders;
pub mod parameters;
pub mod placement;
pub mod speculation;
pub mod theory;
