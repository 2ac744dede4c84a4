//! The glossaries of the pages.

/// A word and its meaning.
type Entry = [&'static str; 2];

const TASK: Entry = [
    "job, phase, task",
    "A job is split into phases, and a phase into tasks of one kind that can run in parallel. A job is done when its last \
     task is done.",
];
const COPY: Entry = [
    "attempt, copy",
    "An attempt is one execution of a task. A copy is an attempt that starts while another attempt of the same task is \
     running. The first one to finish wins, and the others are stopped.",
];
const STRAGGLER: Entry =
    ["straggler", "A task that takes much longer than other tasks of its phase and delays its job."];
const FLOWTIME: Entry = ["flowtime", "The job completion time (JCT): from the arrival of a job to its finish."];
const RESOURCE: Entry = [
    "resource",
    "The cost of a job: the total duration of its attempts in seconds, times the price γ (gamma). On machines with one \
     slot each that is machine time. On other clusters the duration of an attempt counts multiplied by the share of the \
     cluster that the attempt demands, summed over the resources. Unit: γ·s.",
];
const WASTED: Entry = ["wasted share", "The share of the resource that went to attempts that did not win."];
const BUSY: Entry = [
    "busy",
    "The share of the cluster's capacity that was in use, on average over time. With several resources: the share of the \
     busiest one.",
];
const VERSUS: Entry = [
    "versus first",
    "The sum of the flowtimes divided by the first policy's sum, on the same jobs. Below 1: faster than the first policy.",
];
const INTERVAL: Entry = [
    "±, 95% interval",
    "The confidence interval of a mean, by Student's t over seeds: in 95 of 100 repetitions with other seeds, such an \
     interval contains the true mean. With one seed there is none.",
];
const QUANTILE: Entry = [
    "p50, p95, p99",
    "Percentiles: 50%, 95% and 99% of the jobs took no longer than this. Over the jobs of all seeds together.",
];
const SEED: Entry = [
    "seed",
    "The number that determines everything random. With one seed all policies run the same jobs, and the first, second and \
     third copy of a task have the same duration under each policy.",
];
const KNOWLEDGE: Entry = [
    "knowledge",
    "The progress model: what a policy may know of running attempts. It often changes results more than the policy does, \
     so compare only results with the same knowledge.",
];
const READING: Entry = ["reading", "One interpretation of details that the paper does not specify."];
const RULE: Entry = [
    "rule",
    "The values that confirm a claim. The rule is the same for all readings and was set before the measurement.",
];
const SHARE: Entry = [
    "share of jobs up to a value",
    "The share of jobs whose flowtime or resource is at most this value. A curve further up or left is better.",
];
const BROKEN: Entry = ["broken", "Attempts that failed, lost their node or were stopped with the run."];
const NODE: Entry = ["node", "A machine, or a part of one, that can run some attempts at the same time."];

/// Returns the glossary of the page of a comparison.
pub(super) fn comparison() -> Vec<Entry> {
    vec![TASK, STRAGGLER, COPY, FLOWTIME, RESOURCE, WASTED, BUSY, VERSUS, INTERVAL, QUANTILE, SHARE, SEED, KNOWLEDGE]
}

/// Returns the glossary of the page of a reproduction.
pub(super) fn reproduction() -> Vec<Entry> {
    vec![READING, RULE, FLOWTIME, RESOURCE, COPY, STRAGGLER, INTERVAL, SHARE, SEED, KNOWLEDGE]
}

/// Returns the glossary of the page of a run.
pub(super) fn run() -> Vec<Entry> {
    let extra =
        ["extra work", "The share of the attempts' total time that went into attempts that lost to another copy."];
    let quantile = ["p50, p95, max", "50%, 95% and 100% of the winning attempts of a phase took no longer than this."];
    vec![TASK, STRAGGLER, COPY, NODE, BROKEN, extra, quantile, KNOWLEDGE]
}
