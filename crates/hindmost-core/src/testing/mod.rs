//! What the tests of several crates share: small clusters, the books of a run, and a policy's pass that abandons jobs.

mod ledger;

use crate::cluster::{Cluster, Job};
use crate::ids::{JobId, NodeId};
use crate::policy::{Pass, Round, Seen, View};
use crate::record::Event;
use crate::resources::{Dimensions, Resources};
use crate::time::Time;

pub use ledger::{Held, Ledger};

/// Returns amounts of the first two dimensions.
pub fn amount(cpus: u64, memory: u64) -> Resources {
    let mut amount = Resources::NONE;
    (amount.0[0], amount.0[1]) = (cpus, memory);
    amount
}

/// Returns the event that a node joins: it has the speed 1 and is named after its number, such as `n0`.
pub fn joined(node: u32, capacity: Resources) -> Event {
    let name = format!("n{node}").into();
    Event::NodeJoined { node: NodeId(node), name, capacity, speed: 1.0, rack: None, power: None }
}

/// Lets the first nodes of a cluster join, with these capacities.
///
/// # Panics
/// If the cluster has nodes.
pub fn add_nodes(cluster: &mut Cluster, capacities: impl IntoIterator<Item = Resources>) {
    for (node, capacity) in (0..).zip(capacities) {
        cluster.apply_event(Time::ZERO, &joined(node, capacity)).expect("nodes join in order");
    }
}

/// Returns a cluster of this many one-slot machines.
pub fn machines(count: usize) -> Cluster {
    let mut cluster = Cluster::new(Dimensions::one_slot());
    add_nodes(&mut cluster, std::iter::repeat_n(Resources::ONE_SLOT, count));
    cluster
}

/// Abandons each job at its deadline.
pub struct AtDeadline;

impl Pass for AtDeadline {
    fn observe(&mut self, seen: Seen<'_>, view: &mut View<'_>) {
        let Seen::Event(Event::JobArrived { job, .. }, _) = seen else { return };
        if let Some(deadline) = view.cluster.job(*job).and_then(Job::deadline) {
            view.wake(deadline);
        }
    }

    fn decide(&mut self, round: &mut Round<'_>) {
        let now = round.cluster().now();
        let late = |job: &&Job| !job.is_over() && job.deadline().is_some_and(|deadline| deadline <= now);
        for job in round.cluster().jobs().filter(late).map(Job::id).collect::<Vec<JobId>>() {
            assert!(round.abandon(job));
        }
    }
}
