//! The entries of orders.

use super::super::carbyne::Altruists;
use super::super::graphene::TroublesomeFirst;
use super::super::order::{Fair, FewestRemaining, Fifo, SmallestWorkload, Srpt, Svf};
use super::{OrderEntry, ParameterEntry, Valid, job_by_job};

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
        name: "carbyne",
        key: "fair: dominant share in use over weight; tasks of a job that can wait give way to short jobs",
        source: "Grandl et al., Altruistic Scheduling in Multi-Resource Clusters, OSDI 2016",
        parameters: &[],
        build: |_| Box::new(Fair),
        originals: |_, which| Box::new(Altruists::of(which)),
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
    },
];
