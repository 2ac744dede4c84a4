//! The entries of systems and redundancy rules.

use super::super::by_node::CloneLimits;
use super::super::dolly::{CloneSmallJobs, DollyParameters};
use super::super::dollymp::{self, ClonePass};
use super::super::ese::{CloneSmallNewJobs, EseRule};
use super::super::hadoop::HadoopRule;
use super::super::late::{LateBackups, LateParameters};
use super::super::mantri::MantriRule;
use super::super::originals::Originals;
use super::super::pace::{PaceBackups, PaceParameters};
use super::super::queue::Which;
use super::super::sca::CloneNewJobs;
use super::super::sda::SdaRule;
use super::super::spark::SparkBackups;
use super::super::stragglers::Stragglers;
use super::{ParameterEntry, SystemEntry, Valid};

const SIGMA: ParameterEntry = ParameterEntry {
    name: "sigma",
    default: "optimal",
    about: "a straggler's remaining time is above sigma mean durations",
    valid: Valid::OptimalOrNumber,
};
const MAX_COPIES: ParameterEntry =
    ParameterEntry { name: "max_copies", default: "8", about: "most copies of a task", valid: Valid::Count(1, 64) };

/// The systems, in the order in which they are listed.
pub static SYSTEMS: &[SystemEntry] = &[
    SystemEntry {
        name: "none",
        about: "one copy of each task, no redundancy",
        passes: "[Originals(order)]",
        source: "the baseline",
        order: None,
        parameters: &[],
        build: |rule| vec![rule.originals(Which::Any)],
    },
    SystemEntry {
        name: "hadoop",
        about: "once nothing of the job is pending, a backup for the task expected to end last",
        passes: "[Originals(order), Backups(hadoop rule, when nothing is pending)]",
        source: "Apache Hadoop MapReduce, DefaultSpeculator",
        order: None,
        parameters: &[
            ParameterEntry {
                name: "minimum_allowed",
                default: "10",
                about: "backups always allowed at a time, a job",
                valid: Valid::Count(0, 1_000_000),
            },
            ParameterEntry {
                name: "of_total_tasks",
                default: "0.01",
                about: "backups allowed at a time, as a share of the job's tasks",
                valid: Valid::Number(0.0, 1.0),
            },
            ParameterEntry {
                name: "of_running_tasks",
                default: "0.1",
                about: "backups allowed at a time, as a share of the job's running tasks",
                valid: Valid::Number(0.0, 1.0),
            },
        ],
        build: |parameters| {
            let rule = HadoopRule {
                minimum_allowed: parameters.count("minimum_allowed"),
                of_total_tasks: parameters.number("of_total_tasks"),
                of_running_tasks: parameters.number("of_running_tasks"),
            };
            vec![parameters.originals(Which::Any), Box::new(Stragglers::new(rule))]
        },
    },
    SystemEntry {
        name: "spark",
        about: "once most of a phase has finished, a backup for what runs far longer than its median",
        passes: "[Originals(order), Backups(spark rule: quantile, multiplier, minimum runtime)]",
        source: "Apache Spark 4, TaskSetManager (spark.speculation)",
        order: None,
        parameters: &[
            ParameterEntry {
                name: "quantile",
                default: "0.9",
                about: "share of a phase's tasks that must have finished",
                valid: Valid::Number(0.0, 1.0),
            },
            ParameterEntry {
                name: "multiplier",
                default: "3",
                about: "how many medians an attempt may run",
                valid: Valid::Number(0.0, f64::MAX),
            },
            ParameterEntry {
                name: "min_runtime",
                default: "0.1",
                about: "seconds that every attempt may run",
                valid: Valid::Number(0.0, f64::MAX),
            },
        ],
        build: |parameters| {
            let backups = SparkBackups::new(
                parameters.number("quantile"),
                parameters.number("multiplier"),
                parameters.number("min_runtime"),
            );
            vec![parameters.originals(Which::Any), Box::new(backups)]
        },
    },
    SystemEntry {
        name: "late",
        about: "backups for the slowest quarter by progress rate, longest time to end first, on fast nodes",
        passes: "[Originals(order), Backups(late rule, speculative cap)]",
        source: "Zaharia et al., Improving MapReduce Performance in Heterogeneous Environments, OSDI 2008",
        order: None,
        parameters: &[
            ParameterEntry {
                name: "slow_task",
                default: "0.25",
                about: "percentile of progress rates below which an attempt is slow",
                valid: Valid::Number(0.0, 1.0),
            },
            ParameterEntry {
                name: "slow_node",
                default: "0.25",
                about: "percentile of nodes' progress below which a node gets no backups",
                valid: Valid::Number(0.0, 1.0),
            },
            ParameterEntry {
                name: "cap",
                default: "0.1",
                about: "share of the cluster's room that may run backups",
                valid: Valid::Number(0.0, 1.0),
            },
            ParameterEntry {
                name: "min_age",
                default: "0",
                about: "seconds for which an attempt is left alone",
                valid: Valid::Number(0.0, f64::MAX),
            },
        ],
        build: |parameters| {
            let backups = LateBackups::new(LateParameters {
                slow_task: parameters.number("slow_task"),
                slow_node: parameters.number("slow_node"),
                cap: parameters.number("cap"),
                min_age: parameters.number("min_age"),
            });
            vec![parameters.originals(Which::Any), Box::new(backups)]
        },
    },
    SystemEntry {
        name: "mantri",
        about: "a backup where it is expected to save resources: P(t_rem > 2 t_new) > delta",
        passes: "[Backups(mantri rule), Originals(order)]",
        source: "Ananthanarayanan et al., Reining in the Outliers in Map-Reduce Clusters using Mantri, OSDI 2010",
        order: None,
        parameters: &[
            ParameterEntry {
                name: "delta",
                default: "0.25",
                about: "how likely the saving must be",
                valid: Valid::NumberBelow(0.0, 1.0),
            },
            ParameterEntry {
                name: "kill_restart",
                default: "false",
                about: "stop and start afresh where there is no room for a backup",
                valid: Valid::Switch,
            },
            ParameterEntry {
                name: "max_restarts",
                default: "3",
                about: "how often a task may be started afresh",
                valid: Valid::Count(1, 1000),
            },
        ],
        build: |parameters| {
            let rule = MantriRule {
                delta: parameters.number("delta"),
                kill_restart: parameters.switch("kill_restart"),
                max_restarts: parameters.count("max_restarts"),
            };
            vec![Box::new(Stragglers::new(rule)), parameters.originals(Which::Any)]
        },
    },
    SystemEntry {
        name: "sca",
        about: "clones every task of new jobs as problem P2 says while the cluster is light",
        passes: "[Originals(started jobs, fewest remaining), NewJobs(P2 copies, or one each)]",
        source: super::XU_LAU,
        order: Some("fewest_remaining"),
        parameters: &[MAX_COPIES],
        build: |parameters| {
            vec![
                parameters.originals(Which::Started),
                Box::new(CloneNewJobs::new(parameters.count("max_copies"), parameters.gamma())),
                // New jobs that P2 leaves, one copy a task.
                parameters.originals(Which::Any),
            ]
        },
    },
    SystemEntry {
        name: "sda",
        about: "c - 1 fresh copies for attempts whose remaining time is above sigma mean durations",
        passes: "[Backups(sda rule), Originals(smallest_workload)]",
        source: super::XU_LAU,
        order: Some("smallest_workload"),
        parameters: &[SIGMA, MAX_COPIES],
        build: |parameters| {
            let rule = SdaRule::new(parameters.sigma(), parameters.count("max_copies"));
            vec![Box::new(Stragglers::new(rule)), parameters.originals(Which::Any)]
        },
    },
    SystemEntry {
        name: "ese",
        about: "under heavy load: backups for the longest remaining times, clones for small new jobs",
        passes: "[Backups(ese rule, longest first), Originals(started jobs), NewJobs(small ones cloned by Eq. 29)]",
        source: super::XU_LAU,
        order: Some("smallest_workload"),
        parameters: &[
            SIGMA,
            ParameterEntry {
                name: "eta",
                default: "0.1",
                about: "a small job has fewer tasks than this share of the idle machines for each new job",
                valid: Valid::Number(0.0, f64::MAX),
            },
            ParameterEntry {
                name: "xi",
                default: "1",
                about: "a small job's mean duration is below this, seconds",
                valid: Valid::Number(0.0, f64::MAX),
            },
            MAX_COPIES,
        ],
        build: |parameters| {
            let new_jobs = CloneSmallNewJobs::new(
                parameters.number("eta"),
                parameters.number("xi"),
                parameters.count("max_copies"),
                parameters.gamma(),
            );
            vec![
                Box::new(Stragglers::new(EseRule::new(parameters.sigma()))),
                parameters.originals(Which::Started),
                Box::new(new_jobs),
            ]
        },
    },
    SystemEntry {
        name: "pace",
        about: "backups for what falls behind its phase's pace, originals kept off slow nodes; made for live work",
        passes: "[Backups(saving), Originals(order, by speed), Backups(sooner)]",
        source: "ours",
        order: None,
        parameters: &[
            ParameterEntry {
                name: "lag",
                default: "2",
                about: "how many times as long as the median copy an attempt must be about to take",
                valid: Valid::Number(1.0, f64::MAX),
            },
            ParameterEntry {
                name: "after",
                default: "0.1",
                about: "age, in medians, below which progress is not judged",
                valid: Valid::Number(0.0, f64::MAX),
            },
            ParameterEntry {
                name: "late",
                default: "1.2",
                about: "without progress: age, in 90th percentiles, from which on an attempt lags",
                valid: Valid::Number(1.0, f64::MAX),
            },
            ParameterEntry {
                name: "margin",
                default: "1.2",
                about: "how many times as fast as waiting a backup must be while nothing is pending",
                valid: Valid::Number(1.0, f64::MAX),
            },
            ParameterEntry {
                name: "slow",
                default: "0.67",
                about: "speed below which a node is slow",
                valid: Valid::Number(0.0, 1.0),
            },
        ],
        build: |parameters| {
            let pace = PaceParameters {
                lag: parameters.number("lag"),
                after: parameters.number("after"),
                late: parameters.number("late"),
                margin: parameters.number("margin"),
                slow: parameters.number("slow"),
            };
            vec![
                Box::new(PaceBackups::new(pace, true)),
                Box::new(Originals::by_speed(pace.slow)),
                Box::new(PaceBackups::new(pace, false)),
            ]
        },
    },
    SystemEntry {
        name: "dollymp",
        about: "jobs by knapsack priorities, packed by best fit; clones of running tasks in the room that is left",
        passes: "[Originals(knapsack order, best fit), Clones(same order, <= clones, budget)]",
        source: super::XU_LIU_LAU,
        order: Some("dollymp"),
        parameters: &[
            ParameterEntry {
                name: "clones",
                default: "2",
                about: "most clones of a task: DollyMP^0 to DollyMP^3 are 0 to 3",
                valid: Valid::Count(0, 16),
            },
            ParameterEntry {
                name: "budget",
                default: "none",
                about: "share of the cluster that clones may hold (the paper's delta), or none: no limit",
                valid: Valid::WordOrNumber("none", 0.0, 1.0),
            },
            ParameterEntry {
                name: "per_node",
                default: "1",
                about: "most copies of a task on a node",
                valid: Valid::Count(1, 16),
            },
            ParameterEntry {
                name: "clone_pass",
                default: "after",
                about: "clones after originals were tried on every node, or by_node: right after the node's originals",
                valid: Valid::OneOf(&["after", "by_node"]),
            },
            ParameterEntry {
                name: "keep",
                default: "none",
                about: "of a finished task's other copies stop all (none), or let one run on: best_locality",
                valid: Valid::OneOf(&["none", "best_locality"]),
            },
        ],
        build: |rule| {
            let pass = if rule.is("clone_pass", "by_node") { ClonePass::ByNode } else { ClonePass::After };
            let own = rule.has_own_order();
            let clones = dollymp::passes(rule.fit(), rule.count("clones"), pass, own);
            let limits = CloneLimits { budget: rule.number_if_any("budget"), per_node: rule.count("per_node") };
            let clones = Box::new(clones.with_limits(limits));
            // Another order places its originals in its own way first.
            if own { vec![clones] } else { vec![rule.originals(Which::Any), clones] }
        },
    },
    SystemEntry {
        name: "dolly",
        about: "clones every task of small jobs from the start, within a budget",
        passes: "[Originals(order), Clones(small jobs, budget)]",
        source: "Ananthanarayanan et al., Effective Straggler Mitigation: Attack of the Clones, NSDI 2013",
        order: None,
        parameters: &[
            ParameterEntry {
                name: "small",
                default: "10",
                about: "most tasks of a small job",
                valid: Valid::Count(1, 1_000_000),
            },
            ParameterEntry {
                name: "p",
                default: "0.05",
                about: "probability that a copy straggles",
                valid: Valid::NumberBelow(0.0, 1.0),
            },
            ParameterEntry {
                name: "epsilon",
                default: "0.05",
                about: "probability that a cloned job may still have a straggler",
                valid: Valid::NumberBelow(0.0, 1.0),
            },
            ParameterEntry {
                name: "budget",
                default: "0.05",
                about: "share of the cluster's room that clones may hold",
                valid: Valid::Number(0.0, 1.0),
            },
            ParameterEntry {
                name: "utilization",
                default: "0.8",
                about: "share of the cluster's room in use, clones included, above which no job is cloned",
                valid: Valid::Number(0.0, 1.0),
            },
        ],
        build: |parameters| {
            let clones = CloneSmallJobs::new(DollyParameters {
                small: parameters.count("small"),
                straggler: parameters.number("p"),
                epsilon: parameters.number("epsilon"),
                budget: parameters.number("budget"),
                utilization: parameters.number("utilization"),
            });
            vec![parameters.originals(Which::Any), Box::new(clones)]
        },
    },
];
