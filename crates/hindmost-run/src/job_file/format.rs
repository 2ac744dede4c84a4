//! The format of job files, for serde and for the JSON schema.

use std::collections::BTreeMap;

use hindmost_core::power::PowerSpec;
use hindmost_math::plain::Plain;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

/// A job of Hindmost: phases of commands that run in parallel on the nodes of this machine or cluster.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Hindmost job file", extend("required" = ["phase"]))]
pub(super) struct JobFile {
    /// Name of the job. Results go to the folder NAME.out next to the job file. Default: the file's name without its
    /// extension.
    #[schemars(with = "Option<String>", length(min = 1, max = 200))]
    pub name: Option<Spanned<String>>,
    /// Scheduling policy, such as "mantri" or "fair+late(cap=0.2)"; `hindmost policies` lists them. The option --policy
    /// outranks it.
    #[schemars(with = "Option<String>")]
    pub policy: Option<Spanned<String>>,
    /// Progress model, that is, what the policy may know of running attempts: "progress(S)", "age", "history" or
    /// "profiles".
    #[schemars(with = "Option<String>")]
    pub knowledge: Option<Spanned<String>>,
    /// Splits the machine into named nodes with numbers of cpus, such as "n1:2,n2:2". The option --nodes outranks it.
    #[schemars(with = "Option<String>")]
    pub nodes: Option<Spanned<String>>,
    /// Speeds of nodes, by the name of a node or of a feature that nodes of engine slurm have, such as { fast = 2, n3 = 0.5 }, relative
    /// to a node of speed 1. What the run measures replaces them. The option --node-speed outranks them.
    #[schemars(with = "Option<BTreeMap<String, f64>>")]
    pub speeds: Option<Spanned<BTreeMap<String, Spanned<f64>>>>,
    /// Power of each node, for estimates of energy: a machine type such as "dell_r740" or a table. Every node counts as a
    /// machine of its own.
    #[schemars(with = "Option<PowerSpec>")]
    pub power: Option<Spanned<PowerSpec>>,
    /// When the job should be done, counted from its start: seconds, or a text such as "90s", "5m" or "2h".
    #[schemars(with = "Option<Span>")]
    pub deadline: Option<Spanned<Span>>,
    /// Weight among jobs for fair orders, above 0.
    #[schemars(with = "Option<f64>", extend("exclusiveMinimum" = 0, "default" = 1))]
    pub priority: Option<Spanned<f64>>,
    /// Environment variables of all phases' commands. Names that begin with HINDMOST_ are reserved.
    #[schemars(with = "Option<BTreeMap<String, String>>")]
    pub environment: Option<Spanned<BTreeMap<String, String>>>,
    /// Folder in which commands run, relative to the job file's folder. Default: the job file's folder.
    #[schemars(with = "Option<String>")]
    pub directory: Option<Spanned<String>>,
    /// Keys of all phases that do not have them: every key of a phase except name, command, output, tasks, inputs, matrix, table, uses and after.
    pub defaults: Option<Defaults>,
    /// The phases, in any order. `after` says which phases must be finished before.
    #[serde(default)]
    #[schemars(with = "Vec<Phase>", length(min = 1))]
    pub phase: Vec<Spanned<Phase>>,
}

/// Defines a struct with the keys that a phase and `[defaults]` share, after keys of its own.
macro_rules! with_shared_keys {
    ($(#[$about:meta])* struct $name:ident { $($own:tt)* }) => {
        $(#[$about])*
        pub(super) struct $name {
            $($own)*
    /// Processor cores that one attempt takes: a number, or in a phase with a table a column such as "{threads}".
    #[schemars(with = "Option<Cpus>", extend("default" = 1))]
    pub cpus: Option<Spanned<Cpus>>,
    /// Memory that one attempt takes, with a unit, such as "256MB" or "2GB", or in a phase with a table a column such as "{memory}" or
    /// "{gigabytes}GB". Default: memory is not accounted for. With `{ first = "4GB", retry = 2 }` it is a limit, and each retry after
    /// a kill for memory gets twice as much, up to what the largest node has.
    #[schemars(with = "Option<Size>")]
    pub memory: Option<Spanned<Size>>,
    /// GPUs that one attempt takes, of nodes that have any: those of engine slurm. Default: none.
    #[schemars(with = "Option<u32>", range(min = 0, max = 10_000))]
    pub gpus: Option<Spanned<i64>>,
    /// Features that a node must have so that attempts run on it: a name or a list of names, all of which it must have. Nodes of
    /// engine slurm have the features that Slurm names. Default: any node will do.
    #[schemars(with = "Option<Features>")]
    pub features: Option<Spanned<Features>>,
    /// How often a failed task is tried again before the job fails. Default: 2, or 0 if idempotent is false.
    #[schemars(with = "Option<u32>", range(min = 0, max = 1_000_000))]
    pub retries: Option<Spanned<i64>>,
    /// How long a failed task waits for its first retry: seconds, or a text such as "10s". The delay doubles with each further
    /// failure of the task, up to 5 minutes. Other tasks go on meanwhile. Default: no delay.
    #[schemars(with = "Option<Span>")]
    pub retry_delay: Option<Spanned<Span>>,
    /// How often a task may be lost with its node, or by another end that is not its fault, before each further loss counts as a failure of
    /// the task, which retries limits. Losses of copies while another copy of the task runs do not count.
    #[schemars(with = "Option<u32>", range(min = 0, max = 1_000_000), extend("default" = 20))]
    pub allowed_losses: Option<Spanned<i64>>,
    /// The shell that runs the command, with its options: the command is the argument after them. Default:
    /// `bash -euo pipefail -c` where there is bash, otherwise `sh -eu -c`.
    #[schemars(with = "Option<Vec<String>>", length(min = 1))]
    pub shell: Option<Spanned<Vec<String>>>,
    /// Whether the other tasks of the job go on after a task of this phase has failed permanently. At the end the job then fails
    /// with a list of all failures. If false, the first such failure stops the job.
    #[schemars(extend("default" = false))]
    pub keep_going: Option<bool>,
    /// How many tasks of the phase may fail permanently: a number of tasks, or a share of them such as "5%", rounded down. With
    /// at most so many failed tasks the phase counts as done and later phases run, without results of these tasks.
    #[schemars(with = "Option<Failures>", extend("default" = 0))]
    pub allowed_failures: Option<Spanned<Failures>>,
    /// How long an attempt may take before it is killed and counts as failed: seconds, or a text such as "90s", "5m" or
    /// "2h". With `{ first = "1h", retry = 2 }` each retry after a time-out gets twice as long. Default: no limit.
    #[schemars(with = "Option<Limit>")]
    pub time_limit: Option<Spanned<Limit>>,
    /// How long the processes of an attempt that is stopped may take to end after SIGTERM, before they are killed: seconds, or a
    /// text such as "30s"; 0 kills at once. Attempts are stopped when another attempt of their task has won, at their time limit,
    /// and when the run ends early. Default: 5 seconds.
    #[schemars(with = "Option<Span>")]
    pub kill_after: Option<Spanned<Span>>,
    /// Whether the command may run more than once for a task, as with copies and retries. If false, a task never has two
    /// attempts at a time, and a failed task is not tried again unless retries says so.
    #[schemars(extend("default" = true))]
    pub idempotent: Option<bool>,
    /// Whether a task may have two attempts at a time. If false, a task that takes long waits for its only attempt. Default:
    /// false if the command names a file to write that is not in `$HINDMOST_OUTPUT`, such as `> out/x`, as far as the text of the
    /// command shows; otherwise true.
    pub copies: Option<bool>,
    /// Whether the command can continue from a share of its work that another attempt of its task has done. It then receives
    /// that share, from 0 to 1, in HINDMOST_FROM_PROGRESS, and need not do that part again. It must report its progress in
    /// HINDMOST_PROGRESS, as the share of the whole work of the task. If false, every attempt does the whole work.
    #[schemars(extend("default" = false))]
    pub resumes: Option<bool>,
    /// Environment variables of commands, in addition to the job's and, in a phase, to those of [defaults]. They replace
    /// variables of these with the same name.
    #[schemars(with = "Option<BTreeMap<String, String>>")]
    pub environment: Option<Spanned<BTreeMap<String, String>>>,
    /// Folder in which commands run, relative to the job file's folder. Default: the job's directory.
    #[schemars(with = "Option<String>")]
    pub directory: Option<Spanned<String>>,
        }
    };
}

with_shared_keys! {
    /// One phase: tasks that run the same command, each with its own number, input file or values.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[schemars(extend("oneOf" = [
        {"required": ["tasks"]},
        {"required": ["inputs"], "not": {"required": ["table"]}},
        {"required": ["matrix"], "not": {"required": ["inputs"]}},
        {"required": ["table"]},
        {
            "required": ["after"],
            "not": {"anyOf": [
                {"required": ["tasks"]}, {"required": ["inputs"]}, {"required": ["matrix"]}, {"required": ["table"]}
            ]}
        }
    ]))]
    struct Phase {
    /// Name of the phase, unique in the job. It is also the folder of its results, DIR/NAME/TASK.
    #[schemars(with = "String", length(min = 1, max = 200), regex(pattern = r"^[^./][^/]*$"))]
    pub name: Option<Spanned<String>>,
    /// Number of tasks. Give either tasks, or a table, or inputs, a matrix or both of these, or none if tasks wait for single tasks
    /// (each, by).
    #[schemars(with = "Option<u32>", range(min = 1, max = 10_000_000))]
    pub tasks: Option<Spanned<i64>>,
    /// Input files, one for each task in sorted order: a pattern such as "text/*.txt" or a list of patterns, relative to the
    /// job file's folder. `*`, `?`, `[a-z]` and `**` (folders at any depth) stand for names. Folders and hidden files are
    /// left out. With a table: the input file of each row, in which columns stand, such as "fastq/{sample}.fq".
    #[schemars(with = "Option<Patterns>")]
    pub inputs: Option<Spanned<Patterns>>,
    /// Variables with lists of values, such as { lr = [0.1, 0.01], seed = [1, 2, 3] }: one task for each combination. The last
    /// variable changes fastest. Together with inputs: one task for each combination and input. Commands see each value in the
    /// variable of its name.
    #[schemars(with = "Option<BTreeMap<String, Vec<MatrixValue>>>")]
    pub matrix: Option<Spanned<BTreeMap<String, Spanned<Vec<MatrixValue>>>>>,
    /// A table with a header, such as "samples.csv": one task for each row. The columns are variables: "{sample}" in command, inputs,
    /// uses, output, cpus, memory and time_limit, and $HINDMOST_COLUMN_sample in the environment. The ending says how the file is read:
    /// .csv, .tsv, or a JSON object on each line (.jsonl, .ndjson). Its path is relative to the job file's folder.
    #[schemars(with = "Option<String>", regex(pattern = r"\.([cC][sS][vV]|[tT][sS][vV]|[tT][aA][bB]|[jJ][sS][oO][nN][lL]|[nN][dD][jJ][sS][oO][nN])$"))]
    pub table: Option<Spanned<String>>,
    /// Files that the commands read besides their inputs, such as ["ref/*.fa", "scripts/align.sh"]: a pattern or a list of patterns,
    /// relative to the job file's folder. A resumed run runs tasks again whose files have changed. With a table, columns may stand in
    /// the patterns: a file of one row.
    #[schemars(with = "Option<Patterns>")]
    pub uses: Option<Spanned<Patterns>>,
    /// Command of every task, run by the shell. It writes its results into the folder "$HINDMOST_OUTPUT".
    #[schemars(with = "String", length(min = 1))]
    pub command: Option<Spanned<String>>,
    /// The file that the standard output of each task becomes, relative to the folder in which the command runs, such as
    /// "{.}.gz" or "out/{seed}.txt": {} input, {.} without extension, {/} without folder, {//} folder, {/.} without both, {NAME} value
    /// of the matrix or the table, {#} number of the task. It appears in one step when the task has succeeded. A file that the task has not made
    /// is not replaced without --overwrite. Default: standard output stays in the output folder.
    #[schemars(with = "Option<String>", length(min = 1))]
    pub output: Option<Spanned<String>>,
    /// The phases that must be finished before a task of this one starts. A table waits for single tasks of a phase:
    /// {phase = "trim", each = true} for the task with the same number, {phase = "count", by = "patient"} for the tasks
    /// with the same value of a variable.
    #[schemars(with = "Option<Vec<Parent>>")]
    pub after: Option<Vec<Spanned<Parent>>>,
    /// Whether each task waits only for the task with its number in each phase of after. Without tasks, inputs and matrix
    /// the phase has the tasks of the first of these phases, with their inputs and values.
    #[schemars(with = "Option<bool>", extend("default" = false))]
    pub each: Option<Spanned<bool>>,
    }
}

with_shared_keys! {
    /// Keys of all phases that do not have them.
    #[derive(Debug, Default, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Defaults {}
}

impl Phase {
    /// Returns the name; empty if the phase has none, which is an error.
    pub fn name(&self) -> &str {
        self.name.as_ref().map_or("", |name| name.get_ref())
    }

    /// Takes the keys that the phase does not have from the defaults, except its environment.
    pub fn fill_from(&mut self, defaults: &Defaults) {
        macro_rules! fill {
            ($($key:ident),*) => {
                $(if self.$key.is_none() {
                    self.$key.clone_from(&defaults.$key);
                })*
            };
        }
        fill!(
            cpus,
            memory,
            gpus,
            features,
            retries,
            retry_delay,
            allowed_losses,
            shell,
            keep_going,
            allowed_failures,
            time_limit,
            kill_after,
            idempotent,
            copies,
            resumes,
            directory
        );
    }
}

/// A value of a matrix.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a value of the matrix: a text, a number, true or false")]
#[schemars(inline)]
pub(super) enum MatrixValue {
    /// `true` or `false`.
    Truth(bool),
    /// A whole number.
    Whole(i64),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

impl MatrixValue {
    /// Returns the value as commands see it.
    pub fn into_text(self) -> String {
        match self {
            MatrixValue::Truth(truth) => truth.to_string(),
            MatrixValue::Whole(number) => number.to_string(),
            MatrixValue::Number(number) => Plain(number).to_string(),
            MatrixValue::Text(text) => text,
        }
    }
}

/// A number of processor cores.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a number of cpus, or a column of the table such as \"{threads}\"")]
#[schemars(inline)]
pub(super) enum Cpus {
    /// A number.
    Number(#[schemars(range(min = 0.001, max = 1_000_000.0))] f64),
    /// A column of the table.
    Column(#[schemars(regex(pattern = r"\{[A-Za-z_][A-Za-z0-9_]*\}"))] String),
}

impl Cpus {
    /// Returns the number as a text; `None` if it is a number.
    pub fn text(&self) -> Option<&str> {
        match self {
            Cpus::Number(_) => None,
            Cpus::Column(text) => Some(text),
        }
    }
}

/// A duration, in seconds or as text.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected a time: a number of seconds, or a text with a unit such as \"90s\", \"5m\" or \"2h\""
)]
#[schemars(inline)]
pub(super) enum Span {
    /// A number of seconds.
    Seconds(#[schemars(extend("exclusiveMinimum" = 0))] f64),
    /// A text with a unit.
    Text(#[schemars(regex(pattern = r"^\s*([0-9.]+\s*(ms|s|m|min|h|d)\s*)+$|\{[A-Za-z_][A-Za-z0-9_]*\}"))] String),
}

impl Span {
    /// Returns the duration as a text; `None` if it is a number of seconds.
    pub fn text(&self) -> Option<&str> {
        match self {
            Span::Seconds(_) => None,
            Span::Text(text) => Some(text),
        }
    }
}

/// A limit on a duration, which may grow with each retry.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "expected a time: a number of seconds, a text with a unit such as \"90s\", \"5m\" or \"2h\", or { first = \"1h\", \
                 retry = 2 }"
)]
#[schemars(inline)]
pub(super) enum Limit {
    /// A limit that does not grow.
    Fixed(Span),
    /// A limit that grows.
    Growing {
        /// The limit of the first attempt.
        first: Span,
        /// How many times as much a retry gets as the attempt that reached the limit.
        #[schemars(range(min = 1.0, max = 100.0))]
        retry: f64,
    },
}

impl Limit {
    /// Returns the limit of the first attempt as a text; `None` if it is a number of seconds.
    pub fn text(&self) -> Option<&str> {
        match self {
            Limit::Fixed(span) | Limit::Growing { first: span, .. } => span.text(),
        }
    }

    /// Returns another limit that grows in the same way.
    pub fn with(&self, first: Span) -> Limit {
        match self {
            Limit::Fixed(_) => Limit::Fixed(first),
            Limit::Growing { retry, .. } => Limit::Growing { first, retry: *retry },
        }
    }
}

/// A number or share of tasks.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a number of tasks such as 3, or a share of them such as \"5%\"")]
#[schemars(inline)]
pub(super) enum Failures {
    /// A number of tasks.
    Tasks(#[schemars(with = "u32", range(min = 0, max = 10_000_000))] i64),
    /// A share of the tasks.
    Share(#[schemars(regex(pattern = r"^\s*[0-9.]+\s*%\s*$"))] String),
}

/// A phase that comes before another.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected the name of a phase, or a table such as {phase = \"trim\", each = true} or {phase = \"count\", by = \"patient\"}"
)]
#[schemars(inline)]
pub(super) enum Parent {
    /// The name of a phase that must be finished.
    Name(String),
    /// A phase of which single tasks must be finished.
    Edges(ParentEdges),
}

/// A phase of which single tasks must be finished.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct ParentEdges {
    /// Name of the phase.
    pub phase: String,
    /// Whether each task waits for the task with its number.
    #[serde(default)]
    pub each: bool,
    /// The variable whose value a task has in common with the tasks for which it waits: a variable of the matrix of the other
    /// phase. Without tasks, inputs and matrix this phase has one task for each of its values.
    pub by: Option<String>,
}

impl Parent {
    /// Returns the name of the phase.
    pub fn name(&self) -> &str {
        match self {
            Parent::Name(name) => name,
            Parent::Edges(edges) => &edges.phase,
        }
    }
}

impl Patterns {
    /// Returns the patterns.
    pub fn into_list(self) -> Vec<String> {
        match self {
            Patterns::One(pattern) => vec![pattern],
            Patterns::Many(patterns) => patterns,
        }
    }
}

/// Patterns of files.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a pattern such as \"text/*.txt\", or a list of patterns")]
#[schemars(inline)]
pub(super) enum Patterns {
    /// One pattern.
    One(String),
    /// Several patterns.
    Many(#[schemars(length(min = 1))] Vec<String>),
}

/// Names of features.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected the name of a feature such as \"ssd\", or a list of names")]
#[schemars(inline)]
pub(super) enum Features {
    /// One name.
    One(String),
    /// Several names.
    Many(Vec<String>),
}

/// A size in memory, which may grow with each retry.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "expected a size: a text with a unit, such as \"256MB\" or \"2GB\", or { first = \"4GB\", retry = 2 }"
)]
#[schemars(inline)]
pub(super) enum Size {
    /// A text of a number and a unit.
    Text(
        #[schemars(regex(pattern = r"^\s*[0-9.]+\s*([kKmMgGtT]([iI]?[bB])?|[bB])\s*$|\{[A-Za-z_][A-Za-z0-9_]*\}"))]
        String,
    ),
    /// A size that grows.
    Growing {
        /// The size for the first attempt, with a unit.
        #[schemars(regex(pattern = r"^\s*[0-9.]+\s*([kKmMgGtT]([iI]?[bB])?|[bB])\s*$|\{[A-Za-z_][A-Za-z0-9_]*\}"))]
        first: String,
        /// How many times as much a retry gets as the attempt that was killed for memory.
        #[schemars(range(min = 1.0, max = 100.0))]
        retry: f64,
    },
}

impl Size {
    /// Returns the size of the first attempt as a text.
    pub fn text(&self) -> &str {
        match self {
            Size::Text(text) | Size::Growing { first: text, .. } => text,
        }
    }

    /// Returns another size that grows in the same way.
    pub fn with(&self, first: String) -> Size {
        match self {
            Size::Text(_) => Size::Text(first),
            Size::Growing { retry, .. } => Size::Growing { first, retry: *retry },
        }
    }
}

/// Returns the JSON schema of job files, with which editors complete and check them.
pub fn schema() -> Value {
    hindmost_core::schema::of_toml_file::<JobFile>()
}
