//! The glossaries at the end of the pages.

/// A word and its meaning.
type Entry = [&'static str; 2];

const TASK: Entry = [
    "job, phase, task",
    "A job consists of phases, and a phase consists of tasks of one kind that can run in parallel. A job is done when \
     all of its tasks are done.",
];
const COPY: Entry = [
    "attempt, copy",
    "An attempt is one execution of a task. The attempts of a task are numbered from 0. A copy is an attempt that \
     starts while another attempt of the same task is running. The attempt that finishes first wins, and the others \
     are stopped.",
];
const STRAGGLER: Entry =
    ["straggler", "A task that takes much longer than other tasks of its phase and delays its job."];
const FLOWTIME: Entry = ["flowtime", "The job completion time (JCT): from the arrival of a job to its finish."];
const RESOURCE: Entry = [
    "resource",
    "The resource usage of a job: the total duration of its attempts in seconds, times the price γ (gamma) of a \
     machine-second. On machines with one slot this is the machine time. On other clusters, the duration of an attempt \
     is multiplied by the share of the cluster that the attempt demands, summed over the resources. Unit: γ·s.",
];
const WASTED: Entry = [
    "wasted share",
    "The share of the resource that went to attempts that did not win. Attempts that were lost with their nodes are \
     included.",
];
const BUSY: Entry = [
    "busy",
    "The share of the cluster's capacity that was in use, on average over time. If there are several resources, it is \
     the share of the busiest one.",
];
const VERSUS: Entry = [
    "versus first",
    "The sum of the flowtimes divided by the sum under the first policy, on the same jobs. Below 1: faster than the \
     first policy.",
];
const INTERVAL: Entry = [
    "±, 95% interval",
    "The confidence interval of a mean, by Student's t over seeds: if the experiment is repeated with other seeds, the \
     interval contains the true mean in 95 of 100 repetitions. There is none if there is only one seed. ± is half of \
     the interval.",
];
const QUANTILE: Entry = [
    "p50, p95, p99",
    "Percentiles: 50%, 95% and 99% of the jobs of all seeds took no longer than this. Their intervals come from the \
     differences between seeds. There are none for fewer than three seeds, or if fewer than five jobs are expected to \
     take longer.",
];
const BOOTSTRAP: Entry = [
    "bootstrap interval",
    "The 95% interval of the ratio to the first policy. Seeds are drawn with replacement, and the jobs of each seed as \
     pairs of their flowtimes under both policies. It need not be symmetric.",
];
const SEED: Entry = [
    "seed",
    "A number from which everything random follows. On a seed, all policies run the same jobs, and attempt 0 of a task \
     has the same duration under each policy. So do attempt 1 and attempt 2.",
];
const KNOWLEDGE: Entry = [
    "knowledge",
    "The progress model: what a policy may know about running attempts. It often changes results more than the policy \
     does, so only results with the same knowledge can be compared.",
];
const PLACEMENT: Entry = [
    "placement",
    "How a node is chosen among those on which a copy fits. On nodes of unequal speed it can change results more than the \
     policy does, so only results with the same placement can be compared.",
];
const READING: Entry = [
    "reading",
    "One interpretation of details that the paper does not specify. The base reading is the plainest one, and the others \
     change parts of it.",
];
const BEST_JOINT: Entry = [
    "best joint reading",
    "The one reading under which most claims of the paper hold together. It was chosen for its results, so the number \
     of claims that hold under it is compared with chance.",
];
const RULE: Entry = [
    "rule",
    "The range of values that confirms a claim. It is the same for all readings and was written down before anything \
     was measured.",
];
const SHARE: Entry = [
    "share of jobs up to a value",
    "The share of jobs whose flowtime or resource is at most this value. A curve that is further up and to the left is \
     better.",
];
const BROKEN: Entry = ["broken", "Attempts that failed, lost their node or were stopped with the run."];
const NODE: Entry =
    ["node", "A machine, or a part of a machine, that can run a limited number of attempts at the same time."];

/// Returns the glossary of the page of a comparison.
pub(crate) fn comparison() -> Vec<Entry> {
    vec![
        TASK, STRAGGLER, COPY, FLOWTIME, RESOURCE, WASTED, BUSY, VERSUS, INTERVAL, BOOTSTRAP, QUANTILE, SHARE, SEED,
        KNOWLEDGE, PLACEMENT,
    ]
}

/// Returns the glossary of the page of a reproduction.
pub(crate) fn reproduction() -> Vec<Entry> {
    vec![READING, BEST_JOINT, RULE, FLOWTIME, RESOURCE, COPY, STRAGGLER, INTERVAL, SHARE, SEED, KNOWLEDGE]
}

/// Returns the glossary of the page of a ranking.
pub(crate) fn ranking() -> Vec<Entry> {
    let pocd = [
        "PoCD",
        "The probability of completion before deadline: the share of the jobs with a deadline that finished by it. An \
         abandoned job has missed its deadline.",
    ];
    vec![TASK, COPY, STRAGGLER, FLOWTIME, RESOURCE, pocd, INTERVAL, SEED, KNOWLEDGE]
}

/// Returns the glossary of the page of a run.
pub(crate) fn run() -> Vec<Entry> {
    let extra = [
        "extra work",
        "The share of the total time of all attempts that was spent on attempts that lost to another copy. Attempts \
         that failed, lost their node or were stopped with the run are not included.",
    ];
    let quantile = ["p50, p95, max", "50%, 95% and 100% of the winning attempts of a phase took no longer than this."];
    vec![TASK, STRAGGLER, COPY, NODE, BROKEN, extra, quantile, KNOWLEDGE]
}

/// Returns the glossary of the pages of `advise`.
pub(crate) fn diagnosis() -> Vec<Entry> {
    let slot = [
        "slot",
        "What runs one attempt at a time. An executor has as many slots as tasks that it can run at the same time.",
    ];
    let straggler = [
        "straggler",
        "A task whose winning attempt took more than 1.5 times as long as is typical of its phase, which has at least four \
         tasks.",
    ];
    let first_wave = [
        "first wave",
        "The attempts that an executor, or a node where each attempt has a process of its own, starts before its first one \
         is nearly done. They load programs and meet cold caches; in an executor they are compiled while they run, too.",
    ];
    let retry = [
        "retry",
        "An attempt that repeats work after an earlier attempt failed, was killed or was lost, or after its output was lost.",
    ];
    let wall_time = [
        "wall time",
        "The time from the begin of an application to its end, divided into disjoint parts: at each instant, one reason \
         counts.",
    ];
    vec![TASK, COPY, wall_time, slot, straggler, first_wave, retry]
}
