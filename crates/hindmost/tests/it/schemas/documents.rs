//! The documents that commands print with `--json`. Most of them have a type in a library. Documents that a command
//! assembles from several parts are described here.

use std::collections::BTreeMap;

use hindmost_claims::{Ranking, Reproduction};
use hindmost_core::explain::Step;
use hindmost_core::metrics::{Comparison, Diagnosis, DiagnosisTotal, FailedTask, Findings, RunSummary};
use hindmost_core::schema::{DocumentType, of_json_documents};
use hindmost_core::verify::Verification;
use hindmost_profiles::ProfilesDocument;
use hindmost_run::live_view::Snapshot;
use hindmost_trace::TraceSummary;
use schemars::JsonSchema;
use serde_json::Value;

const ABOUT: &str = "The documents that `hindmost COMMAND --json` prints, each under the command's name in `$defs`. \
    Times and durations are in seconds unless the description says otherwise. A number that is infinite or not a number \
    is null. Later versions may add keys.";

/// Name, description and type of each command's document.
const DOCUMENTS: &[(&str, &str, DocumentType)] = &[
    ("demo", "Printed by `hindmost demo --json`.", |types| types.subschema_for::<Demo>()),
    ("run", "Printed by `hindmost run JOB --json`.", |types| types.subschema_for::<RunSummary>()),
    (
        "watch",
        "Printed by `hindmost watch DIR --json`, and served by `hindmost run --serve` at /api/snapshot.json.",
        |types| types.subschema_for::<Snapshot>(),
    ),
    ("run-check", "Printed by `hindmost run JOB --check --json`.", |types| types.subschema_for::<CheckedJob>()),
    ("run-jobs", "Printed by `hindmost run JOB JOB --json`, and by `hindmost run --listen SOCKET --json`.", |types| {
        types.subschema_for::<JobsOfRun>()
    }),
    ("run-jobs-check", "Printed by `hindmost run JOB JOB --check --json`.", |types| {
        types.subschema_for::<CheckedJobs>()
    }),
    ("submit", "Printed by `hindmost submit JOB --to SOCKET --json`.", |types| types.subschema_for::<Submitted>()),
    ("submit-close", "Printed by `hindmost submit --close --to SOCKET --json`.", |types| {
        types.subschema_for::<ClosedRun>()
    }),
    ("simulate", "Printed by `hindmost simulate --json`, and summary.json of `--out`.", |types| {
        types.subschema_for::<Comparison>()
    }),
    ("replay", "Printed by `hindmost replay LOG --json`, and summary.json of `--out`.", |types| {
        types.subschema_for::<Comparison>()
    }),
    ("explain", "Printed by `hindmost explain JOURNAL TASK --json`.", |types| types.subschema_for::<Explanation>()),
    ("verify", "Printed by `hindmost verify JOURNAL --json`.", |types| types.subschema_for::<Verification>()),
    ("reproduce", "Printed by `hindmost reproduce PAPER --json`, and PAPER.json of `--out`.", |types| {
        types.subschema_for::<OneOrMore<Reproduced>>()
    }),
    ("theory-clones", "Printed by `hindmost theory clones --json`.", |types| types.subschema_for::<Clones>()),
    ("theory-sigma", "Printed by `hindmost theory sigma --json`.", |types| types.subschema_for::<Sigma>()),
    ("theory-cutoff", "Printed by `hindmost theory cutoff --json`.", |types| types.subschema_for::<Cutoff>()),
    ("theory-speedup", "Printed by `hindmost theory speedup --json`.", |types| types.subschema_for::<Speedup>()),
    ("theory-priorities", "Printed by `hindmost theory priorities --json`.", |types| {
        types.subschema_for::<Priorities>()
    }),
    ("theory-pocd", "Printed by `hindmost theory pocd --json`.", |types| types.subschema_for::<Pocd>()),
    ("theory-shed", "Printed by `hindmost theory shed --json`.", |types| types.subschema_for::<Shed>()),
    ("trace-info", "Printed by `hindmost trace info LOG --json`.", |types| types.subschema_for::<OneOrMore<LogInfo>>()),
    ("advise", "Printed by `hindmost advise LOG --json`, and advice.json of `--out`.", |types| {
        types.subschema_for::<Advice>()
    }),
    ("profiles", "Printed by `hindmost profiles FILE --json`.", |types| types.subschema_for::<ProfilesDocument>()),
    ("policies", "Printed by `hindmost policies --json`.", |types| types.subschema_for::<Catalogue>()),
];

/// Returns the schema of all documents.
pub fn schema() -> Value {
    of_json_documents("Hindmost JSON output", ABOUT, DOCUMENTS)
}

/// Returns the names of the documents' definitions.
pub fn names() -> Vec<&'static str> {
    DOCUMENTS.iter().map(|(name, ..)| *name).collect()
}

/// What `hindmost reproduce` makes: the reproduction of a paper, or the ranking of all policies.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
enum Reproduced {
    Paper(Box<Reproduction>),
    Ranking(Box<Ranking>),
}

/// One document, or a list of them if the command names several inputs.
#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[expect(dead_code, reason = "only described")]
enum OneOrMore<T> {
    One(T),
    More(Vec<T>),
}

macro_rules! documents {
    ($($(#[$about:meta])* struct $name:ident { $($(#[$field_about:meta])* $field:ident: $type:ty,)* })*) => {
        $($(#[$about])*
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only described")]
        #[allow(clippy::struct_field_names, reason = "the contract's keys")]
        struct $name { $($(#[$field_about])* $field: $type,)* })*
    };
}

documents! {
    /// Two runs of the same job on the same nodes, one of which is slow: without Hindmost and with it.
    struct Demo {
        /// The slow node.
        slowed: Slowed,
        /// Number of processor cores that the nodes share.
        cores: usize,
        /// The text whose words are counted.
        text: Text,
        /// The run without copies.
        without: RunSummary,
        /// The run with copies.
        with: RunSummary,
        /// Flowtime without Hindmost divided by flowtime with it.
        ratio: f64,
        /// True if both results equal the result of a count in memory.
        results_equal: bool,
        /// The folder of `--out`; null without it.
        out: Option<String>,
    }

    /// The slow node.
    struct Slowed {
        /// Name of the node.
        node: String,
        /// How many times as long its tasks take.
        factor: f64,
        /// How it is slowed down, in words.
        how: String,
    }

    /// The text whose words are counted.
    struct Text {
        /// Number of files.
        files: u64,
        /// Size of each file in bytes.
        bytes_each: u64,
        /// Number of words.
        words: u64,
        /// Number of different words.
        different: u64,
    }

    /// A job file that was checked, with all defaults, and the nodes on which it would run.
    struct CheckedJob {
        /// Name of the job.
        job: String,
        /// Folder of the job file.
        folder: String,
        /// The policy of the run, with its parameters.
        policy: String,
        /// The progress model of the run.
        knowledge: String,
        /// The nodes on which the job would run.
        nodes: Vec<Node>,
        /// Speeds of nodes that the job file gives, by the name of a node or feature.
        speeds: BTreeMap<String, f64>,
        /// The shell of phases that name none.
        shell: String,
        /// Seconds from the start until the job should be done; null without a deadline.
        deadline: Option<f64>,
        /// Weight among jobs for fair orders.
        priority: f64,
        /// Digest of everything that decides results. A run is resumed only if it is the same.
        digest: String,
        /// Number of tasks of all phases.
        tasks: u64,
        /// The phases, parents first.
        phases: Vec<CheckedPhase>,
    }

    /// How the jobs of a run of several have ended.
    struct JobsOfRun {
        /// Absolute path of the folder of the run.
        folder: String,
        /// The jobs, in the order in which they ended.
        jobs: Vec<RunSummary>,
        /// Names of the jobs that are not done and could not run, because their files can't be used; missing if there are none.
        #[schemars(with = "Vec<String>", skip_serializing_if = "Option::is_none")]
        left_out: Option<Vec<String>>,
    }

    /// Job files that were checked together.
    struct CheckedJobs {
        /// The jobs, in the order in which they were named.
        jobs: Vec<CheckedJob>,
    }

    /// A job that a run has accepted.
    struct Submitted {
        /// Name of the job in the run.
        job: String,
        /// Absolute path of the folder for its results.
        folder: String,
        /// Number of tasks of all phases.
        tasks: u64,
        /// What is not done as the job file says, in sentences.
        notes: Vec<String>,
        /// How the job has ended; missing without `--wait`.
        summary: Option<RunSummary>,
    }

    /// A run that accepts no more jobs.
    struct ClosedRun {
        /// Number of its jobs that have not ended.
        open: u64,
    }

    /// A node that a job would run on.
    struct Node {
        /// Name of the node.
        name: String,
        /// Resources of the node by name: `cpus`, `memory` in bytes, and others.
        capacity: BTreeMap<String, f64>,
        /// Features of the node; missing if it has none.
        #[schemars(with = "Vec<String>", skip_serializing_if = "Option::is_none")]
        features: Option<Vec<String>>,
        /// Speed of the node as far as it is given, relative to a node of speed 1.
        speed: f64,
    }

    /// A phase of a checked job file.
    struct CheckedPhase {
        /// Name of the phase.
        name: String,
        /// Names of the phases that must be finished before.
        after: Vec<String>,
        /// Number of tasks.
        tasks: u32,
        /// Input files, one for each task; null without inputs.
        inputs: Option<Vec<String>>,
        /// Command of each task.
        command: String,
        /// Template of the files that the standard output of tasks becomes; null if it stays in the output folder.
        output: Option<String>,
        /// Processor cores that an attempt takes.
        cpus: f64,
        /// Bytes of memory that an attempt takes; null if memory is not accounted for.
        memory: Option<f64>,
        /// Number of GPUs that an attempt takes.
        gpus: u32,
        /// Features that a node must have so that attempts run on it.
        features: Vec<String>,
        /// How often a failed task is tried again.
        retries: u32,
        /// Seconds before a failed task is tried again for the first time.
        retry_delay: f64,
        /// How often a task may be lost with its node before each further loss counts as a failure.
        allowed_losses: u32,
        /// Program and arguments that receive the command as their last argument; null for that of the run.
        shell: Option<Vec<String>>,
        /// The variables of the matrix, in the order of the file; null without a matrix.
        matrix: Option<Vec<CheckedVariable>>,
        /// Whether the other tasks run on when a task has failed for good.
        keep_going: bool,
        /// Number of tasks that may fail.
        allowed_failures: u32,
        /// Seconds after which an attempt is stopped; null without a limit.
        time_limit: Option<f64>,
        /// Seconds that the processes of a stopped attempt have to end before they are killed.
        kill_after: f64,
        /// Whether the command may run more than once for a task.
        idempotent: bool,
        /// Whether a task may have two attempts at a time.
        copies: bool,
        /// Whether an attempt may be stopped so that its task starts again, where a task may have only one attempt at a time.
        restarts: bool,
        /// Whether an attempt can continue the work of another one, from `$HINDMOST_FROM_PROGRESS` on.
        resumes: bool,
        /// Environment variables of the commands.
        environment: BTreeMap<String, String>,
        /// Folder in which the commands run.
        directory: String,
    }

    /// A variable of a matrix.
    struct CheckedVariable {
        /// Name of the variable.
        name: String,
        /// Its values, in the order of the file.
        values: Vec<String>,
    }

    /// When and why the copies of a task were started and stopped.
    struct Explanation {
        /// The task, as PHASE/NUMBER.
        task: String,
        /// The policy of the recorded run.
        policy: String,
        /// The progress model of the recorded run.
        knowledge: String,
        /// Events and decisions in order of time.
        steps: Vec<Step>,
        /// How the task ended, in words.
        outcome: String,
        /// How the task failed permanently, from the run's summary; null if it did not, or without a summary.
        failure: Option<FailedTask>,
        /// The input of the task and its values of the matrix as NAME=VALUE, from the run's record; empty if it has none, or
        /// without a record.
        input_and_values: Vec<String>,
    }

    /// Numbers of clones that maximise the objective P1 of Xu and Lau 2015, or P2 for the methods other than `exact`.
    struct Clones {
        /// Copies of each task, one number for each job; null if the problem has no solution.
        copies: Option<Vec<f64>>,
        /// The objective; null if the problem has no solution.
        objective: Option<f64>,
        /// Number of machines used; null if the problem has no solution.
        machines_used: Option<f64>,
        /// With `--method exact`: largest possible distance from the optimum, if it is not 0.
        #[schemars(with = "f64", skip_serializing_if = "Option::is_none")]
        gap: Option<f64>,
        /// With `--method continuous`: what one more machine adds to the objective.
        #[schemars(with = "f64", skip_serializing_if = "Option::is_none")]
        multiplier: Option<f64>,
        /// With `--method dual`: whether the iteration converged.
        #[schemars(with = "bool", skip_serializing_if = "Option::is_none")]
        converged: Option<bool>,
        /// With `--method dual`: number of iterations.
        #[schemars(with = "u64", skip_serializing_if = "Option::is_none")]
        iterations: Option<u64>,
        /// With `--method dual`: the iterations in order.
        #[schemars(with = "Vec<Iteration>", skip_serializing_if = "Option::is_none")]
        trace: Option<Vec<Iteration>>,
        /// Why the problem has no solution, if it has none.
        #[schemars(with = "String", skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    }

    /// An iteration of the dual method.
    struct Iteration {
        /// Copies of each job after the iteration.
        copies: Vec<f64>,
        /// Multiplier of the machines after the iteration.
        nu: f64,
        /// Largest change of a number of copies.
        change: f64,
    }

    /// The threshold at which a task is a straggler.
    struct Sigma {
        /// The threshold, in mean durations.
        sigma: f64,
        /// Copies of a straggler, the original included.
        copies: u32,
        /// Machine time divided by the machine time without backups.
        resource_ratio: f64,
        /// `max_copies` if this option limits the number of copies.
        #[schemars(with = "String", skip_serializing_if = "Option::is_none")]
        limited_by: Option<String>,
    }

    /// The load below which two copies of every task shorten the mean delay.
    struct Cutoff {
        /// The load below which two copies pay, as a share of the machines' time; null if there is none.
        omega: Option<f64>,
        /// The arrival rate at this load, jobs a second; null if there is none.
        lambda: Option<f64>,
        /// The arrival rate from which two copies of every task overload the machines, jobs a second.
        necessary_lambda: f64,
        /// Why there is no such load, if there is none.
        #[schemars(with = "String", skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    }

    /// How much faster the first of several copies finishes.
    struct Speedup {
        /// Tail index of Pareto durations with this mean and deviation; null if durations do not vary.
        alpha: Option<f64>,
        /// Mean duration of one copy divided by that of the first of the copies.
        speedup: f64,
        /// Why there is no tail index, if there is none.
        #[schemars(with = "String", skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    }

    /// Priorities of jobs by DollyMP's knapsacks.
    struct Priorities {
        /// One priority for each job; the job with priority 1 goes first.
        priorities: Vec<u32>,
        /// The last level by the paper's printed formula; null if that is not a number.
        printed_last_level: Option<f64>,
        /// Why the printed formula gives no number, if it gives none.
        #[schemars(with = "String", skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    }

    /// The probability that a job completes before its deadline.
    struct Pocd {
        /// Probability that the job completes before its deadline.
        pocd: f64,
        /// Probability that it does not, also where the other one rounds to 1.
        miss: f64,
        /// Mean progress of late attempts when they are detected, if Speculative-Resume needs it and it is not given.
        #[schemars(with = "f64", skip_serializing_if = "Option::is_none")]
        progress: Option<f64>,
        /// Expected machine time of all attempts of the job, seconds, with --tau-kill; null if it is infinite.
        #[schemars(skip_serializing_if = "Option::is_none")]
        machine_time: Option<f64>,
        /// Why the probability is 0, or the machine time is null.
        #[schemars(with = "String", skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    }

    /// The clones of jobs with deadlines.
    struct Shed {
        /// Number of clones of each task, one for each job.
        clones: Vec<u32>,
        /// Probability of each job that it completes before its deadline.
        pocd: Vec<f64>,
        /// Number of slots.
        slots: u64,
        /// Slots that first copies, clones and application masters use.
        slots_used: u64,
        /// Why no job gets clones, if the first copies need more slots than there are.
        #[schemars(with = "String", skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    }

    /// Counts and findings of a log.
    struct LogInfo {
        #[serde(flatten)]
        summary: TraceSummary,
        /// What the log shows about its stragglers.
        findings: Findings,
        /// What all applications of the log together spent their time on, and why their stragglers were slow.
        diagnosis: DiagnosisTotal,
    }

    /// What the jobs of logs spent their time on.
    struct Advice {
        /// All applications together.
        total: DiagnosisTotal,
        /// The logs, in the order of the arguments.
        logs: Vec<LogAdvice>,
        /// Applications that are in the logs again. Each counts once in `total`, where more of it is.
        repeated: Vec<Repeated>,
        /// Logs that can't be read.
        unread: Vec<UnreadLog>,
    }

    /// An application that is in the logs again: with the same content, or with the same id, name and begin.
    struct Repeated {
        /// Path of the log that has it again.
        log: String,
        /// Its number within this log, counted from 0.
        application: u32,
        /// Its id, if the log has one.
        id: Option<String>,
        /// Path of the log in which it counts.
        first_log: String,
        /// Its number within that log.
        first_application: u32,
        /// Whether the content differs, as that of an earlier copy of the log.
        differs: bool,
    }

    /// What is said about one log.
    struct LogAdvice {
        /// Path of the log.
        log: String,
        /// What the log holds.
        summary: TraceSummary,
        /// Its applications; for a Hadoop log its jobs, for a journal the run.
        applications: Vec<Diagnosis>,
    }

    /// A log that can't be read.
    struct UnreadLog {
        /// Path of the log.
        log: String,
        /// Why it can't be read.
        error: String,
    }

    /// All orders of jobs and all systems.
    struct Catalogue {
        /// The order of scenarios that name none.
        default_order: String,
        /// All orders of jobs.
        orders: Vec<OrderEntry>,
        /// All systems.
        systems: Vec<SystemEntry>,
    }

    /// An order of jobs.
    struct OrderEntry {
        /// Name on the command line and in files.
        name: String,
        /// Which job is served first, in a line.
        about: String,
        /// What the order does, in two sentences.
        does: String,
        /// The conditions under which it gives good results.
        wins: String,
        /// The conditions under which another order gives better results.
        loses: String,
        /// The sort key of a job. The job with the smallest key is served first.
        key: String,
        /// The paper or program that it comes from.
        source: String,
        /// The sections of the paper, or the files and version of the program, that it follows.
        section: String,
        /// What it was written from: the source itself, or what was used where its text was not at hand.
        basis: String,
        /// The differences from the source.
        deviations: Vec<String>,
        /// Parameters of the order.
        parameters: Vec<ParameterEntry>,
    }

    /// A speculation policy or complete system.
    struct SystemEntry {
        /// Name on the command line and in files.
        name: String,
        /// What the system does, in a line.
        about: String,
        /// What the system does, in two or three sentences.
        does: String,
        /// The conditions under which it gives good results.
        wins: String,
        /// The conditions under which another system gives better results.
        loses: String,
        /// Passes of the system, in the order in which they decide.
        passes: String,
        /// The paper or program that it comes from.
        source: String,
        /// The sections of the paper, or the files and version of the program, that it follows.
        section: String,
        /// What it was written from: the source itself, or what was used where its text was not at hand.
        basis: String,
        /// The differences from the source.
        deviations: Vec<String>,
        /// The name of its own order of jobs; null if it runs under the scenario's order.
        order: Option<String>,
        /// Parameters of the system.
        parameters: Vec<ParameterEntry>,
    }

    /// A parameter of an order or system.
    struct ParameterEntry {
        /// Name of the parameter.
        name: String,
        /// Default value, as text.
        default: String,
        /// What the parameter sets.
        about: String,
        /// The unit of its numbers; left out for shares, probabilities, ratios and words.
        #[schemars(with = "String", skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
        /// The values that it may take.
        valid: Valid,
    }
}

/// The values that a parameter may take.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "only described")]
enum Valid {
    /// `true` or `false`.
    Switch,
    /// A number from the first to the second, both included.
    Number(f64, f64),
    /// A number from the first (included) to the second (excluded).
    NumberBelow(f64, f64),
    /// A whole number from the first to the second, both included.
    Count(u32, u32),
    /// The word `optimal`, or a positive number.
    OptimalOrNumber,
    /// This word, or a number from the first to the second, both included.
    WordOrNumber(String, f64, f64),
    /// One of these words.
    OneOf(Vec<String>),
}
