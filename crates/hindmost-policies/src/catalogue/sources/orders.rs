//! The sources of the orders.

use super::{PAPER, Source, XU_LAU, XU_LIU_LAU};

/// The source of `fifo`.
pub const FIFO: Source = Source {
    work: "the baseline",
    section: "first in, first out, a general method",
    basis: "the definition of the method",
    deviations: &["It is not strict: a task of a later job starts where no pending task of an earlier job fits."],
};

/// The source of `fair`.
pub const FAIR: Source = Source {
    work: "the baseline",
    section: "fair sharing with weights, a general method, as in the Fair Scheduler of Apache Hadoop YARN",
    basis: "the definition of the method",
    deviations: &[
        "Each job is a user of its own. Hadoop's Fair Scheduler has a tree of queues with minimum and maximum shares.",
        "No attempt is stopped to give another job its share. Hadoop's Fair Scheduler may preempt.",
        "On nodes with several resources, the dominant share counts. Hadoop's policy fair counts memory only.",
        "Jobs do not wait for a node with their input (delay scheduling).",
    ],
};

/// The source of `smallest_workload`.
pub const SMALLEST_WORKLOAD: Source = Source {
    work: XU_LAU,
    section: "section V-B (second and third scheduling level of SDA) and section VI-A (Algorithm 2)",
    basis: PAPER,
    deviations: &[
        "The remaining workload counts tasks that have not started. The paper does not say whether running tasks count.",
        "The paper's jobs have one phase. Here the pending tasks of all open phases count.",
    ],
};

/// The source of `fewest_remaining`.
pub const FEWEST_REMAINING: Source = Source {
    work: XU_LAU,
    section: "section IV-B (Algorithm 1, the order of SCA)",
    basis: PAPER,
    deviations: &[
        "The paper's jobs have one phase. Here the pending tasks of all open phases count.",
        "Fewest remaining tasks means fewest tasks that have not started. The paper does not say whether running tasks count.",
    ],
};

/// The source of `srpt`.
pub const SRPT: Source = Source {
    work: XU_LIU_LAU,
    section: "section 4.2 (Shortest Remaining Processing Time); effective times as in section 5",
    basis: PAPER,
    deviations: &[
        "No running task is stopped for a shorter job. Classical SRPT preempts.",
        "The processing time of a job is its longest path of unfinished phases, each with its effective time (mean plus 1.5 \
            standard deviations). Section 4.2 speaks of the running time of a job of one task.",
        "A phase counts in full until its last task has finished.",
    ],
};

/// The source of `svf`.
pub const SVF: Source = Source {
    work: XU_LIU_LAU,
    section: "section 4.2 (Smallest Volume First) and Eq. 16 (effective volume)",
    basis: PAPER,
    deviations: &[
        "The volume is the effective volume of Eq. 16, which counts unfinished tasks of all phases and standard deviations. \
            Section 4.2 takes the product of time and demand of a job of one task.",
        "No running task is stopped for a smaller job.",
    ],
};

/// The source of `tetris`.
pub const TETRIS: Source = Source {
    work: "Grandl et al., Multi-Resource Packing for Cluster Schedulers, SIGCOMM 2014",
    section: "section 3 (alignment, preference for little remaining work, barriers)",
    basis: "The paper's text was not at hand. Its abstract, published notes on it, and Xu, Liu & Lau 2022, sections 2 and 6.1, \
        confirm the inner product of demand and free resources and the weighted sum with a preference for little remaining \
        work. The default of epsilon, the barrier of 0.9, the fairness knob, the penalty for remote reads and the section \
        number are given from memory.",
    deviations: &[
        "barrier is 1 by default, so that the last tasks before a barrier are not preferred. Xu, Liu & Lau 2022 do not \
            mention this preference either. The paper uses 0.9: tetris(barrier=0.9). Here each phase precedes a barrier, because \
            phases wait for whole phases.",
        "The fairness knob f is not built (f = 0): every job with pending tasks is considered, however much more than its \
            fair share it holds.",
        "The penalty for remote reads is not built: the score does not depend on the task's input. Among the tasks of a phase, \
            those with input on the chosen node come first.",
        "Demands are the peak demands that jobs request. The paper also tracks usage and estimates demands from earlier tasks.",
        "If several nodes have free resources at the same time, the highest score of all pairs comes first. In the paper, a \
            node with free resources takes the task with the highest score there.",
        "The default of epsilon is computed in every round, from the mean alignment with an empty node of mean capacity and the \
            mean remaining work.",
        "Xu, Liu & Lau 2022 print alignment plus epsilon times remaining work, which prefers large jobs: sign=plus.",
    ],
};

/// The source of the order `dollymp`.
pub const DOLLYMP: Source = Source {
    work: XU_LIU_LAU,
    section: "section 4.2 (Algorithm 1) and section 5 (Algorithm 2, Eq. 14 to 17)",
    basis: PAPER,
    deviations: &[
        "The effective time is the mean plus r = 1.5 standard deviations. The paper's formula omits r, but its experiments set \
            it. An unknown or infinite standard deviation counts as 0.",
        "Levels go on until every job has a priority. The upper end in Algorithm 1 can be infinite or negative.",
        "The copies that Algorithm 1 itself starts (lines 11 to 16) and those of Corollary 4.1 are not built. Algorithm 1 only \
            gives priorities, as in section 5.",
        "A copy fits if its demand is at most the free resources. Algorithm 2 prints <, which forbids an exact fit.",
        "The inner product is computed from shares of the node's capacity (fit=normalised). The paper names no units; fit=raw \
            takes cores, GB and whole units.",
        "A job offers the first open phase with a copy that fits (phase=fitting). Read literally, the first available phase is \
            the first open one whether or not it fits: phase=first.",
        "In a scenario with slots, priorities are computed when a job arrives, not at the next slot.",
        "Demands, means and standard deviations come from the workload, or are learned in live runs. The paper's application \
            master estimates them from earlier runs and from the first tasks of a phase.",
    ],
};

/// The source of `drf`.
pub const DRF: Source = Source {
    work: "Ghodsi et al., Dominant Resource Fairness: Fair Allocation of Multiple Resource Types, NSDI 2011",
    section: "Algorithm 1 (progressive filling) and section 4.3 (weights)",
    basis: "The paper's text was not at hand when this list was written. Xu, Liu & Lau 2022, section 6.1, confirm the rule; the \
        numbers of algorithm and section are given from memory.",
    deviations: &[
        "Each job is a user of its own.",
        "A job has one weight for all resources. In the paper, a user may have a weight for each resource.",
        "If the next task of the job with the smallest share fits nowhere, the next job is served in this round.",
        "The cluster consists of the nodes that are up. Clones and backups count as resources that their job holds.",
    ],
};

/// The source of `capacity`.
pub const CAPACITY: Source = Source {
    work: "Apache Hadoop YARN, CapacityScheduler",
    section: "Hadoop 3, package org.apache.hadoop.yarn.server.resourcemanager.scheduler: \
        capacity/policy/PriorityUtilizationQueueOrderingPolicy.java, capacity/AbstractCSQueue.java and \
        policy/FifoOrderingPolicy.java; the documentation \"Hadoop: Capacity Scheduler\"",
    basis: "the source code and the documentation of the program",
    deviations: &[
        "A task that fits nowhere, or would exceed a maximum share, does not block the jobs behind its own. YARN may reserve a \
            node for it and end the turn of the queue.",
        "Only backups of hadoop that had to wait come in the turn of their job. All other backups start after the originals, \
            from the resources that these leave.",
        "A job that names no queue, or one that is not configured, is in a queue default. YARN rejects jobs that name an inner \
            or unknown queue.",
        "There are no limits for users (by default YARN keeps all jobs of one user within the queue's guarantee), for \
            applications and for application masters, which hold no resources here.",
        "Preemption, priorities of queues and jobs, node labels, other orders within a queue, shares in absolute amounts or \
            weights, and locality delays are not built.",
        "The dominant share is measured by default (DominantResourceCalculator). YARN's default is memory: resources=memory.",
    ],
};

/// The source of `hopper`.
pub const HOPPER: Source = Source {
    work: "Ren et al., Hopper: Decentralized Speculation-aware Cluster Scheduling at Scale, SIGCOMM 2015",
    section: "the centralised scheduler: virtual sizes, jobs of several phases, and fairness up to epsilon",
    basis: "The paper's text was not at hand: formulas are given from memory, and section numbers are not given. The abstract \
        confirms that a centralised form exists.",
    deviations: &[
        "The tail index is the one of a phase that is known to be Pareto; otherwise it is fitted to mean and standard \
            deviation, and then never below 2. The paper learns it from the durations of finished tasks.",
        "The decentralised form (probes, and responses that a scheduler may refuse) is not built.",
        "Jobs are not served out of order for the sake of data locality.",
        "2/beta counts as at least 1; otherwise a job could not run all of its tasks at the same time.",
        "Allotments are computed without rounding. A job that is given its whole virtual size may start a copy while it holds \
            less than that; only the last job's allotment is rounded to a whole copy.",
        "The weight of a job of several phases compares the work of waiting and open phases, and applies only to slots beyond \
            all virtual sizes. In the paper it measures communication.",
        "On nodes with several resources, a copy counts as its dominant share. The paper counts slots.",
        "A job's guaranteed fair share is at most its virtual size. If a job holds more than its allotment, nothing is stopped.",
    ],
};

/// The basis of orders of which only the abstract and descriptions by others were at hand.
const ABSTRACT: &str = "The paper's text was not at hand when this list was written. Its published abstract and Xu, Liu & Lau \
    2022, section 6.3.2, confirm the idea; the details are given from memory.";

/// The source of `carbyne`.
pub const CARBYNE: Source = Source {
    work: "Grandl et al., Altruistic Scheduling in Multi-Resource Clusters, OSDI 2016",
    section: "the three parts of the scheduler: fair shares between jobs, altruism within a job, leftover resources; section \
        numbers are not given",
    basis: ABSTRACT,
    deviations: &[
        "The tasks of a phase are alike and are planned in waves, with effective times (mean plus 1.5 standard deviations).",
        "The shares are those of dominant resource fairness. The paper allows other fair schedulers between jobs.",
        "Jobs leave all resources that they can spare. A level of altruism cannot be set.",
        "A job gets a new plan when it arrives, when one of its phases finishes, when its durations are learned, and when its \
            share changes. Between these times the plan says when each task is due.",
        "A new plan keeps the completion time that an earlier plan promised unless the share has shrunk, and all tasks of a job \
            behind its promise are due. Otherwise new plans could delay a job for ever.",
        "How well a task packs is measured on the node that the cluster's placement chooses.",
    ],
};

/// The source of `graphene`.
pub const GRAPHENE: Source = Source {
    work: "Grandl et al., Graphene: Packing and Dependency-aware Scheduling, OSDI 2016",
    section: "the offline schedule of troublesome tasks first, and the online scheduler with bounded unfairness; section numbers \
        are not given",
    basis: "The paper's text was not at hand when this list was written. Xu, Liu & Lau 2022, section 6.3.2, confirm the idea; the \
        details are given from memory.",
    deviations: &[
        "The thresholds for troublesome phases are 0.25, 0.5, 0.75 and 1 for length and 0.25, 0.5 and 0.75 for packing. The paper \
            takes multiples of a step that it does not state.",
        "A priority belongs to a phase. In the paper each task has one.",
        "Within a job, the order of the schedule goes before packing.",
        "A job with a large deficit that does not fit now does not keep others from starting. In the paper the machine stays idle.",
        "A job earns only while it has a pending task. If jobs have different weights, deficits are compared relative to them.",
        "The penalty for remote reads (0.8) is not built. An offer is for the node that the cluster's placement chooses.",
        "Overbooking of resources such as network and disk, and bundles of several tasks for a machine, are not built.",
        "Plans use effective times (mean plus 1.5 standard deviations) and are not made again when durations are learned.",
        "If more than 256 jobs have offers, those with the least work are compared. The phases of a job with more than 200 phases \
            are ordered by their longest paths alone.",
    ],
};
