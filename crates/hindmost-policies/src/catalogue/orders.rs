//! The entries of orders.

use super::entry::{JobOrder, OrderEntry, order_of};
use super::{XU_LAU, XU_LIU_LAU};
use crate::dag::carbyne::Altruists;
use crate::dag::graphene::{GrapheneParameters, TroublesomeFirst};
use crate::orders::capacity::{CapacityOrder, CapacityOriginals, CapacityParameters};
use crate::orders::dollymp::{DollympOrderParameters, InnerProduct, KnapsackOrder};
use crate::orders::drf::Drf;
use crate::orders::fair::Fair;
use crate::orders::fewest_remaining::FewestRemaining;
use crate::orders::fifo::Fifo;
use crate::orders::hopper::{Hopper, HopperParameters};
use crate::orders::smallest_workload::SmallestWorkload;
use crate::orders::srpt::Srpt;
use crate::orders::svf::Svf;
use crate::orders::tetris::{LeastRemaining, TetrisFit, TetrisParameters};

/// The orders, in the order in which they are listed.
pub static ORDERS: &[OrderEntry] = &[
    OrderEntry {
        name: "fifo",
        key: "arrival",
        source: "the baseline",
        build: &order_of(|(), _| JobOrder::job_by_job(Fifo)),
    },
    OrderEntry {
        name: "fair",
        key: "running attempts (one-slot machines), else dominant share, over weight",
        source: "the baseline",
        build: &order_of(|(), _| JobOrder::job_by_job(Fair)),
    },
    OrderEntry {
        name: "smallest_workload",
        key: "started jobs before new ones; then tasks not yet started x mean duration",
        source: XU_LAU,
        build: &order_of(|(), _| JobOrder::job_by_job(SmallestWorkload)),
    },
    OrderEntry {
        name: "fewest_remaining",
        key: "started jobs before new ones; fewest tasks not yet started, new ones by workload",
        source: XU_LAU,
        build: &order_of(|(), _| JobOrder::job_by_job(FewestRemaining)),
    },
    OrderEntry {
        name: "srpt",
        key: "longest remaining path of phases, in effective times (mean + 1.5 standard deviations)",
        source: XU_LIU_LAU,
        build: &order_of(|(), _| JobOrder::job_by_job(Srpt)),
    },
    OrderEntry {
        name: "svf",
        key: "remaining effective volume: tasks not finished x effective time x dominant share",
        source: XU_LIU_LAU,
        build: &order_of(|(), _| JobOrder::job_by_job(Svf)),
    },
    OrderEntry {
        name: "tetris",
        key: "-(alignment - epsilon x remaining work), best pair of task and node",
        source: "Grandl et al., Multi-Resource Packing for Cluster Schedulers, SIGCOMM 2014",
        build: &order_of(|tetris: TetrisParameters, _| {
            JobOrder::node_by_node(LeastRemaining(tetris.remaining), move || TetrisFit::new(tetris))
        }),
    },
    OrderEntry {
        name: "dollymp",
        key: "priority by knapsacks of doubling size (Algorithm 1); best fit within a priority, node by node",
        source: XU_LIU_LAU,
        build: &order_of(|dollymp: DollympOrderParameters, _| {
            JobOrder::node_by_node(KnapsackOrder::new(dollymp), move || InnerProduct::new(dollymp))
        }),
    },
    OrderEntry {
        name: "drf",
        key: "dominant share in use over weight",
        source: "Ghodsi et al., Dominant Resource Fairness: Fair Allocation of Multiple Resource Types, NSDI 2011",
        build: &order_of(|(), _| JobOrder::job_by_job(Drf)),
    },
    OrderEntry {
        name: "capacity",
        key: "queues by what they use of their guarantee, within their maxima; arrival in a queue",
        source: "Apache Hadoop YARN, CapacityScheduler",
        build: &order_of(|capacity: CapacityParameters, queues| {
            let order = CapacityOrder::new(&queues, capacity);
            JobOrder::with_originals(order, move |which| CapacityOriginals::new(&queues, capacity, which))
        }),
    },
    OrderEntry {
        name: "hopper",
        key: "virtual size, 2/beta x tasks left; a job holds that at most while jobs want more than there is",
        source: "Ren et al., Hopper: Decentralized Speculation-aware Cluster Scheduling at Scale, SIGCOMM 2015",
        build: &order_of(|hopper: HopperParameters, _| JobOrder::job_by_job(Hopper::new(hopper))),
    },
    OrderEntry {
        name: "carbyne",
        key: "fair: dominant share in use over weight; tasks of a job that can wait give way to short jobs",
        source: "Grandl et al., Altruistic Scheduling in Multi-Resource Clusters, OSDI 2016",
        build: &order_of(|(), _| JobOrder::with_originals(Fair, Altruists::of)),
    },
    OrderEntry {
        name: "graphene",
        key: "remaining effective volume against packing; phases by a schedule with troublesome ones first",
        source: "Grandl et al., Graphene: Packing and Dependency-aware Scheduling, OSDI 2016",
        build: &order_of(|graphene: GrapheneParameters, _| {
            JobOrder::with_originals(Svf, move |which| TroublesomeFirst::of(which, graphene))
        }),
    },
];
