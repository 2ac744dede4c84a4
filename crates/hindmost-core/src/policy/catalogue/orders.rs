//! The entries of orders.

use super::super::by_node::{ByNode, Fit, Stage};
use super::super::capacity::{CapacityOrder, CapacityOriginals, Counted};
use super::super::carbyne::Altruists;
use super::super::dollymp::{InnerProduct, KnapsackOrder};
use super::super::drf::Drf;
use super::super::graphene::TroublesomeFirst;
use super::super::hopper::Hopper;
use super::super::order::{Fair, FewestRemaining, Fifo, SmallestWorkload, Srpt, Svf};
use super::super::tetris::{LeastRemaining, Remaining, TetrisFit};
use super::{OrderEntry, ParameterEntry, Parameters, Valid, in_key_order, job_by_job};

/// What `capacity` takes a queue's share of.
fn counted(parameters: &Parameters<'_>) -> Counted {
    if parameters.is("resources", "memory") { Counted::Memory } else { Counted::Dominant }
}

/// The orders, in the order in which they are listed.
pub static ORDERS: &[OrderEntry] = &[
    OrderEntry {
        name: "fifo",
        key: "arrival",
        source: "the baseline",
        parameters: &[],
        build: |_| Box::new(Fifo),
        originals: job_by_job,
        fit: in_key_order,
    },
    OrderEntry {
        name: "fair",
        key: "running attempts (one-slot machines), else dominant share, over weight",
        source: "the baseline",
        parameters: &[],
        build: |_| Box::new(Fair),
        originals: job_by_job,
        fit: in_key_order,
    },
    OrderEntry {
        name: "smallest_workload",
        key: "started jobs before new ones; then tasks not yet started x mean duration",
        source: super::XU_LAU,
        parameters: &[],
        build: |_| Box::new(SmallestWorkload),
        originals: job_by_job,
        fit: in_key_order,
    },
    OrderEntry {
        name: "fewest_remaining",
        key: "started jobs before new ones; fewest tasks not yet started, new ones by workload",
        source: super::XU_LAU,
        parameters: &[],
        build: |_| Box::new(FewestRemaining),
        originals: job_by_job,
        fit: in_key_order,
    },
    OrderEntry {
        name: "srpt",
        key: "longest remaining path of phases, in effective times (mean + 1.5 standard deviations)",
        source: super::XU_LIU_LAU,
        parameters: &[],
        build: |_| Box::new(Srpt),
        originals: job_by_job,
        fit: in_key_order,
    },
    OrderEntry {
        name: "svf",
        key: "remaining effective volume: tasks not finished x effective time x dominant share",
        source: super::XU_LIU_LAU,
        parameters: &[],
        build: |_| Box::new(Svf),
        originals: job_by_job,
        fit: in_key_order,
    },
    OrderEntry {
        name: "tetris",
        key: "-(alignment - epsilon x remaining work), best pair of task and node",
        source: "Grandl et al., Multi-Resource Packing for Cluster Schedulers, SIGCOMM 2014",
        parameters: &[
            ParameterEntry {
                name: "epsilon",
                default: "auto",
                about: "price of remaining work in units of alignment; auto: mean alignment / mean remaining work",
                valid: Valid::WordOrNumber("auto", 0.0, f64::MAX),
            },
            ParameterEntry {
                name: "remaining",
                default: "work",
                about: "what remains of a job: work (demand x time) or time (the longest path)",
                valid: Valid::OneOf(&["work", "time"]),
            },
        ],
        build: |parameters| Box::new(LeastRemaining(remaining(parameters))),
        originals: |parameters, which| Box::new(ByNode::new(tetris(parameters), vec![vec![Stage::Originals(which)]])),
        fit: tetris,
    },
    OrderEntry {
        name: "dollymp",
        key: "priority by knapsacks of doubling size (Algorithm 1); best fit within a priority, node by node",
        source: super::XU_LIU_LAU,
        parameters: &[
            ParameterEntry {
                name: "deviations",
                default: "1.5",
                about: "standard deviations in an effective time (the paper's r)",
                valid: Valid::Number(0.0, 1e6),
            },
            ParameterEntry {
                name: "slot",
                default: "5",
                about: "seconds in a slot of Algorithm 1",
                valid: Valid::Number(1e-9, 1e9),
            },
            ParameterEntry {
                name: "fit",
                default: "normalised",
                about: "inner product of shares of the node's capacity, or raw: of cores, GB and whole units",
                valid: Valid::OneOf(&["normalised", "raw"]),
            },
            ParameterEntry {
                name: "phase",
                default: "fitting",
                about: "of a job the first open phase of which a copy fits, or the first, whether or not it fits",
                valid: Valid::OneOf(&["fitting", "first"]),
            },
        ],
        build: |parameters| Box::new(KnapsackOrder::new(parameters.number("deviations"), parameters.number("slot"))),
        originals: |parameters, which| Box::new(ByNode::new(dollymp(parameters), vec![vec![Stage::Originals(which)]])),
        fit: dollymp,
    },
    OrderEntry {
        name: "drf",
        key: "dominant share in use over weight",
        source: "Ghodsi et al., Dominant Resource Fairness: Fair Allocation of Multiple Resource Types, NSDI 2011",
        parameters: &[],
        build: |_| Box::new(Drf),
        originals: job_by_job,
        fit: in_key_order,
    },
    OrderEntry {
        name: "capacity",
        key: "queues by what they use of their guarantee, within their maxima; arrival in a queue",
        source: "Apache Hadoop YARN, CapacityScheduler",
        parameters: &[ParameterEntry {
            name: "resources",
            default: "dominant",
            about: "what a queue's share is taken of: the dominant resource or memory alone",
            valid: Valid::OneOf(&["dominant", "memory"]),
        }],
        build: |parameters| Box::new(CapacityOrder::new(parameters.setting.queues, counted(parameters))),
        originals: |parameters, which| {
            Box::new(CapacityOriginals::new(parameters.setting.queues, counted(parameters), which))
        },
        fit: in_key_order,
    },
    OrderEntry {
        name: "hopper",
        key: "virtual size, 2/beta x tasks left; a job holds that at most while jobs want more than there is",
        source: "Ren et al., Hopper: Decentralized Speculation-aware Cluster Scheduling at Scale, SIGCOMM 2015",
        parameters: &[
            ParameterEntry {
                name: "beta",
                default: "fitted",
                about: "tail index of durations; fitted: each phase's own",
                valid: Valid::WordOrNumber("fitted", 1.0, f64::MAX),
            },
            ParameterEntry {
                name: "epsilon",
                default: "0.1",
                about: "what a job's slots may be short of its fair share, as a part of it",
                valid: Valid::Number(0.0, 1.0),
            },
        ],
        build: |parameters| Box::new(Hopper::new(parameters.number_if_any("beta"), parameters.number("epsilon"))),
        originals: job_by_job,
        fit: in_key_order,
    },
    OrderEntry {
        name: "carbyne",
        key: "fair: dominant share in use over weight; tasks of a job that can wait give way to short jobs",
        source: "Grandl et al., Altruistic Scheduling in Multi-Resource Clusters, OSDI 2016",
        parameters: &[],
        build: |_| Box::new(Fair),
        originals: |_, which| Box::new(Altruists::of(which)),
        fit: in_key_order,
    },
    OrderEntry {
        name: "graphene",
        key: "remaining effective volume against packing; phases by a schedule with troublesome ones first",
        source: "Grandl et al., Graphene: Packing and Dependency-aware Scheduling, OSDI 2016",
        parameters: &[
            ParameterEntry {
                name: "kappa",
                default: "0.1",
                about: "share of the cluster that a job may be owed before it is served first",
                valid: Valid::Number(0.0, f64::MAX),
            },
            ParameterEntry {
                name: "srpt",
                default: "0.2",
                about: "weight of the work that a job has left, against packing",
                valid: Valid::Number(0.0, f64::MAX),
            },
        ],
        build: |_| Box::new(Svf),
        originals: |parameters, which| {
            let (kappa, srpt) = (parameters.number("kappa"), parameters.number("srpt"));
            Box::new(TroublesomeFirst::of(which, kappa, srpt))
        },
        fit: in_key_order,
    },
];

fn remaining(parameters: &Parameters<'_>) -> Remaining {
    if parameters.is("remaining", "time") { Remaining::Time } else { Remaining::Work }
}

fn tetris(parameters: &Parameters<'_>) -> Box<dyn Fit> {
    Box::new(TetrisFit::new(parameters.number_if_any("epsilon"), remaining(parameters)))
}

fn dollymp(parameters: &Parameters<'_>) -> Box<dyn Fit> {
    let product = if parameters.is("fit", "raw") { InnerProduct::raw() } else { InnerProduct::normalised() };
    Box::new(if parameters.is("phase", "first") { product.of_the_first_phase() } else { product })
}
