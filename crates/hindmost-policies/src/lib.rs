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
//! A policy is implemented in the file of its name, for example `orders/tetris.rs`. The documentation of that module
//! says what the policy does, and gives its paper, its algorithm and the "readings": the choices made where the paper
//! leaves something open. The sections that it follows and its differences from the paper are in the catalogue
//! ([`catalogue::Source`]). The optimisation problems behind the policies are in [`theory`].
//!
//! # Example
//!
//! This program builds a policy by name: `fifo` serves jobs in order of arrival, and `late` starts backups on at most
//! 20% of the cluster. The policy then decides about a job of two tasks on a cluster of one slot:
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
//! let setting = Setting { order: "fair", gamma: 0.01, queues: &[], live: false };
//! let policy = build(&"fifo+late(cap=0.2)".parse()?, &setting)?;
//!
//! let mut session = Session::new(Cluster::new(Dimensions::one_slot()), policy, estimator(Knowledge::Oracle));
//! let mut answers = Answers::default();
//! let (name, capacity) = ("n0".into(), Resources::ONE_SLOT);
//! let joined = Event::NodeJoined { node: NodeId(0), name, capacity, speed: 1.0, rack: None, power: None };
//! session.step(Time::ZERO, &joined, &mut answers)?;
//! // A job of two tasks, as a journal records it. `mean`, the mean duration of a task, is in seconds.
//! let phase = r#"{"name": "map", "after": [], "tasks": 2, "demand": {}, "mean": 10.0}"#;
//! let spec = format!(r#"{{"name": "wordcount", "arrival": 0, "weight": 1.0, "phases": [{phase}]}}"#);
//! let spec = serde_json::from_str(&spec)?;
//! session.step(Time::ZERO, &Event::JobArrived { job: JobId(0), spec }, &mut answers)?;
//! session.step(Time::ZERO, &Event::Round, &mut answers)?;
//!
//! // Only one of the two tasks starts, because the cluster has one slot.
//! assert!(matches!(answers.decisions[0], Decision::Start { node: NodeId(0), .. }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Imports between the folders
//!
//! `theory` and `parameters` use no other folder, and every folder may use them. `dag` uses `orders`, and both use
//! `placement`. `placement` uses the index of running clones in `cloning`. `speculation/pace.rs` uses
//! `placement/by_speed.rs`, and `speculation/ese.rs` uses the parameters declared in `cloning/ese.rs`. `catalogue` uses
//! all other folders, and no folder uses `catalogue`. There are no cycles.

pub mod catalogue;
pub mod cloning;
pub mod dag;
pub mod orders;
pub mod parameters;
pub mod placement;
pub mod speculation;
pub mod theory;
