//! The entries of orders.

use super::super::capacity::{CapacityOrder, CapacityOriginals, Counted};
use super::super::drf::Drf;
use super::super::hopper::Hopper;
use super::super::order::{Fair, FewestRemaining, Fifo, SmallestWorkload, Srpt, Svf};
use super::{OrderEntry, ParameterEntry, Parameters, Valid, job_by_job};

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
    },
    OrderEntry {
        name: "fair",
        key: "running attempts (one-slot machines), else dominant share, over weight",
        source: "the baseline",
        parameters: &[],
        build: |_| Box::new(Fair),
        originals: job_by_job,
    },
    OrderEntry {
        name: "smallest_workload",
        key: "started jobs before new ones; then tasks not yet started x mean duration",
        source: super::XU_LAU,
        parameters: &[],
        build: |_| Box::new(SmallestWorkload),
        originals: job_by_job,
    },
    OrderEntry {
        name: "fewest_remaining",
        key: "started jobs before new ones; fewest tasks not yet started, new ones by workload",
        source: super::XU_LAU,
        parameters: &[],
        build: |_| Box::new(FewestRemaining),
        originals: job_by_job,
    },
    OrderEntry {
        name: "srpt",
        key: "longest remaining path of phases, in effective times (mean + 1.5 standard deviations)",
        source: super::XU_LIU_LAU,
        parameters: &[],
        build: |_| Box::new(Srpt),
        originals: job_by_job,
    },
    OrderEntry {
        name: "svf",
        key: "remaining effective volume: tasks not finished x effective time x dominant share",
        source: super::XU_LIU_LAU,
        parameters: &[],
        build: |_| Box::new(Svf),
        originals: job_by_job,
    },
    OrderEntry {
        name: "drf",
        key: "dominant share in use over weight",
        source: "Ghodsi et al., Dominant Resource Fairness: Fair Allocation of Multiple Resource Types, NSDI 2011",
        parameters: &[],
        build: |_| Box::new(Drf),
        originals: job_by_job,
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
    },
];
