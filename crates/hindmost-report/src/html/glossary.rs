//! The words that pages use.

/// What a word means.
type Entry = [&'static str; 2];

const TASK: Entry = [
    "job, phase, task",
    "A job is split into phases, a phase into tasks of one kind that can run side by side. A job is done when the last \
     of its tasks is.",
];
const COPY: Entry = [
    "attempt, copy",
    "An attempt is one try to carry out a task. A copy is an attempt that is started beside another one of the same task; \
     the first to finish wins, and the others are stopped.",
];
const STRAGGLER: Entry =
    ["straggler", "A task that takes much longer than others of its kind, and keeps its job waiting."];
const FLOWTIME: Entry = ["flowtime", "Time from a job's arrival to its finish: what the one who submitted it waits."];
const RESOURCE: Entry = [
    "resource",
    "What a job costs: the time that all its attempts together hold their room, times the price gamma. On machines with \
     one slot that is machine time; elsewhere each attempt counts with the share of the cluster that it asks for.",
];
const WASTED: Entry = ["wasted share", "The share of all resource that was held by attempts that did not win."];
const BUSY: Entry = [
    "busy",
    "The share of the cluster's room that was in use, on average over time; of several resources, that of which the \
     largest share was.",
];
const VERSUS: Entry = [
    "versus first",
    "Sum of all flowtimes over that of the first policy, on the same jobs. Below 1: faster than the first policy.",
];
const INTERVAL: Entry = [
    "±, 95% interval",
    "How sure a mean is, by Student's t over seeds: in 95 of 100 repetitions with other seeds such an interval holds the \
     true mean. With one seed there is none.",
];
const QUANTILE: Entry = [
    "p50, p95, p99",
    "Half of the jobs, 95 and 99 of 100 took no longer than this. Over the jobs of all seeds together.",
];
const SEED: Entry = [
    "seed",
    "The number from which everything random follows. On one seed all policies meet the same jobs, and the first, second, \
     third copy of a task takes equally long under each.",
];
const KNOWLEDGE: Entry = [
    "knowledge",
    "What a policy may know of running attempts. It changes results more than most policies do, so compare only results \
     with the same knowledge.",
];
const READING: Entry = ["reading", "One way to fill in what a paper leaves open."];
const RULE: Entry =
    ["rule", "When a measured value counts as the claim. It is the same under every reading, and was set beforehand."];
const SHARE: Entry = [
    "share of jobs up to a value",
    "A curve that is further up or left is better: more jobs took no longer, or cost no more, than the value below it.",
];
const BROKEN: Entry = ["broken", "Attempts that failed, lost their node or were stopped with the run."];
const NODE: Entry = ["node", "A machine, or a part of one, with room for some attempts at once."];

/// For comparisons.
pub(super) fn comparison() -> Vec<Entry> {
    vec![TASK, STRAGGLER, COPY, FLOWTIME, RESOURCE, WASTED, BUSY, VERSUS, INTERVAL, QUANTILE, SHARE, SEED, KNOWLEDGE]
}

/// For reproductions.
pub(super) fn reproduction() -> Vec<Entry> {
    vec![READING, RULE, FLOWTIME, RESOURCE, COPY, STRAGGLER, INTERVAL, SHARE, SEED, KNOWLEDGE]
}

/// For runs.
pub(super) fn run() -> Vec<Entry> {
    let extra = ["extra work", "The share of all attempts' time that went into attempts which another one overtook."];
    let quantile =
        ["p50, p95, max", "Half of the winning attempts, 95 of 100 and all of them took no longer than this."];
    vec![TASK, STRAGGLER, COPY, NODE, BROKEN, extra, quantile, KNOWLEDGE]
}
