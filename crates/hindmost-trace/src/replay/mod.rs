//! Turns the recordings of a log into jobs, nodes and a world in which they can run again.

mod alone;
mod gaps;
mod jobs;
mod losses;
mod node_speeds;
mod nodes;
mod own_share;
mod planned;
mod presence;
mod replayed;
mod together;
mod workload;
mod world;

pub use alone::Application;
pub(crate) use alone::applications;
pub(crate) use jobs::mean_and_sd;
pub use nodes::RecordedNode;
pub use own_share::OwnShare;
pub use presence::Presence;
pub use replayed::Replay;
pub(crate) use together::together;
pub use world::{PhaseLag, RecordedJob, RecordedWorld, SkewedInput};
