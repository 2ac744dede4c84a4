//! The entries of orders.

use super::super::drf::Drf;
use super::super::order::{Fair, FewestRemaining, Fifo, SmallestWorkload, Srpt, Svf};
use super::{OrderEntry, job_by_job};

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
];
