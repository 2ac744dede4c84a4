//! The kernel of Hindmost, a scheduler for parallel jobs: cluster state, events and decisions, and the traits that a
//! policy implements.
//!
//! Three concepts:
//!
//! - A [`record`] is an event (a node joined, an attempt finished) or a decision (start this copy on that node). The
//!   sequence of a run's records is its [`journal`].
//! - The [`cluster::Cluster`] is the only place that holds state. It changes only by applying records.
//! - A [`policy::Policy`] is an order of jobs and a list of passes. It observes every event and makes the decisions.
//!
//! A driver (simulated, live or replaying) calls [`session::Session::step`] for each event and carries the decisions
//! out. [`verify`] replays a journal and checks that the policy makes the same decisions again. This crate opens no
//! files or sockets and names no published policy; those are in `hindmost-policies`.
//!
//! # Example
//!
//! This policy starts one copy of each pending task, in the order in which the jobs arrived:
//!
//! ```
//! use hindmost_core::cluster::{Cluster, Job};
//! use hindmost_core::estimator::{Knowledge, estimator};
//! use hindmost_core::ids::{JobId, NodeId};
//! use hindmost_core::policy::order::Order;
//! use hindmost_core::policy::queue_place::Which;
//! use hindmost_core::policy::{Pass, Policy, Round};
//! use hindmost_core::record::{Decision, Event};
//! use hindmost_core::resources::{Dimensions, Resources};
//! use hindmost_core::session::{Answers, Session};
//! use hindmost_core::time::Time;
//!
//! struct Fifo;
//!
//! impl Order for Fifo {
//!     fn key(&self, job: &Job, _cluster: &Cluster) -> f64 {
//!         f64::from(job.id().0) // Jobs are numbered by arrival; the smallest key is next.
//!     }
//! }
//!
//! struct Originals;
//!
//! impl Pass for Originals {
//!     fn decide(&mut self, round: &mut Round<'_>) {
//!         while let Some(place) = round.next_job(Which::Any, None) {
//!             let job = round.cluster().job(place.job());
//!             let Some(task) = job.and_then(|job| job.next_runnable(|_| true, |_| true)) else { return };
//!             if round.start_copies(task, 1).started == 0 {
//!                 return; // No node has a free slot.
//!             }
//!         }
//!     }
//! }
//!
//! let policy = Policy::new(Box::new(Fifo), vec![Box::new(Originals)]);
//! let mut session = Session::new(Cluster::new(Dimensions::one_slot()), policy, estimator(Knowledge::Oracle));
//! let mut answers = Answers::default();
//! let (name, capacity) = ("n0".into(), Resources::ONE_SLOT);
//! let joined = Event::NodeJoined { node: NodeId(0), name, capacity, speed: 1.0, rack: None, power: None };
//! session.step(Time::ZERO, &joined, &mut answers)?;
//! // The JSON is a job as it appears in a journal. Times are in nanoseconds, `mean` is in seconds.
//! let phase = r#"{"name": "map", "after": [], "tasks": 2, "demand": {}, "mean": 10.0}"#;
//! let spec = format!(r#"{{"name": "wordcount", "arrival": 0, "weight": 1.0, "phases": [{phase}]}}"#);
//! let spec = serde_json::from_str(&spec)?;
//! session.step(Time::ZERO, &Event::JobArrived { job: JobId(0), spec }, &mut answers)?;
//! session.step(Time::ZERO, &Event::Round, &mut answers)?;
//!
//! // The node has one slot, so one of the two tasks starts.
//! assert!(matches!(answers.decisions[..], [Decision::Start { node: NodeId(0), .. }]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod cluster;
pub mod estimator;
pub mod explain;
pub mod id_set;
pub mod ids;
pub mod journal;
pub mod learning;
pub mod metrics;
pub mod names;
pub mod node_speeds;
pub mod policy;
pub mod power;
pub mod profiles;
pub mod random;
pub mod reasons;
pub mod record;
pub mod resources;
#[cfg(feature = "schema")]
pub mod schema;
pub mod session;
pub mod submission_queues;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod time;
pub mod timeline;
pub mod usage;
pub mod verify;
pub mod workload;
