//! The command line: every command and option, with the words of its help.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Finishes parallel jobs without waiting for their stragglers: compares scheduling policies with
/// clones and backups on simulated clusters and on the logs of real ones.
#[derive(Parser)]
#[command(name = "hindmost", version, max_term_width = 100, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Watch it work: a real job with one slow node, without Hindmost and with it
    Demo(DemoArgs),
    /// Run a job of many tasks on this machine, without waiting for stragglers
    Run(RunJobArgs),
    /// Compare policies on a simulated cluster and workload
    Simulate(SimulateArgs),
    /// Tell what each policy would have done with the jobs and cluster of a log or run
    Replay(ReplayArgs),
    /// Tell why each copy of a task was started or stopped in a recorded run
    Explain(ExplainArgs),
    /// Check that a recorded run gives the same decisions again
    Verify(VerifyArgs),
    /// Run a paper's experiments and check its claims
    Reproduce(ReproduceArgs),
    /// Solve the papers' optimisation problems by themselves
    #[command(subcommand)]
    Theory(TheoryCommand),
    /// Read logs
    #[command(subcommand)]
    Trace(TraceCommand),
    /// List orders, rules and systems with their papers and parameters
    Policies {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
        /// Print the JSON schema of a policy in a scenario file, for editors, and stop
        #[arg(long)]
        schema: bool,
    },
    /// Print a shell's completion script
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, of one command if named
    Man {
        /// The command
        command: Option<String>,
    },
}

/// What simulate and replay share.
#[derive(Args)]
pub struct RunArgs {
    /// Policies to compare, separated by commas: NAME, NAME(parameter=value,…) or ORDER+NAME; the
    /// first is what others are compared with
    #[arg(long, value_name = "P[,P…]")]
    pub policy: Vec<String>,
    /// Number of seeds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub seeds: Option<u32>,
    /// First seed; the others follow
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// What policies know of running attempts: oracle, progress(S), progress(uniform) or age
    #[arg(long, value_name = "K")]
    pub knowledge: Option<String>,
    /// Set a value by its path, such as workload.arrival.poisson.rate=40
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Run once for each of these values of a key; several sweeps make all combinations
    #[arg(long, value_name = "KEY=A,B,C")]
    pub sweep: Vec<String>,
    /// Number of threads; results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Write a report, the summary, the scenario and one record a job and attempt into this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Form of the records in --out
    #[arg(long, value_name = "FORM", default_value = "csv")]
    pub records: RecordsForm,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum RecordsForm {
    Csv,
    Parquet,
}

#[derive(Args)]
pub struct SimulateArgs {
    /// A scenario file (TOML) or a built-in scenario
    #[arg(default_value = "quickstart")]
    pub scenario: String,
    /// List the built-in scenarios
    #[arg(long)]
    pub list: bool,
    /// Print the scenario as it would run, and stop
    #[arg(long, conflicts_with = "list")]
    pub print: bool,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Args)]
pub struct ReplayArgs {
    /// Logs of Spark (event logs) or Hadoop (job histories, Rumen traces), compressed or not, folders of
    /// them, journals of runs, or the output folders of runs
    #[arg(required = true, value_name = "LOG")]
    pub logs: Vec<PathBuf>,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Args)]
#[allow(clippy::struct_excessive_bools, reason = "switches of a command line")]
pub struct RunJobArgs {
    /// The job file (TOML)
    #[arg(required_unless_present = "schema")]
    pub job: Option<PathBuf>,
    /// What runs the tasks
    #[arg(long, value_name = "E", default_value = "local")]
    pub engine: EngineName,
    /// Policy: NAME, NAME(parameter=value,…) or ORDER+NAME; `none` runs one copy of each task [default: pace]
    #[arg(long, value_name = "P")]
    pub policy: Option<String>,
    /// What the policy knows of running attempts: progress(S), age or history [default: progress(0.1)]
    #[arg(long, value_name = "K")]
    pub knowledge: Option<String>,
    /// Nodes to split this machine into, NAME:CPUS or NAME:CPUS:MEMORY each; without it is one node
    #[arg(long, value_name = "N[,N…]")]
    pub nodes: Option<String>,
    /// Folder for results and journal [default: NAME.out beside the job file]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Go on with the run that is in the folder
    #[arg(long)]
    pub resume: bool,
    /// With --resume: keep results of phases whose command, variables or folder have changed since
    #[arg(long, requires = "resume")]
    pub keep_results: bool,
    /// Do not sync results and journal: faster with many small tasks, but a power cut may cost results
    #[arg(long)]
    pub no_sync: bool,
    /// Record checksums of results, and with --resume compare them, not only names, sizes and times
    #[arg(long)]
    pub checksum: bool,
    /// Use the output folder although another user owns it or may write to it
    #[arg(long)]
    pub trust_folder: bool,
    /// Check the job file, print what would be run, and stop
    #[arg(long, conflicts_with_all = ["resume", "chaos"])]
    pub check: bool,
    /// Rehearse trouble: slow=NODE:FACTOR, kill=CHANCE, lose=NODE:10s, lose=NODE:10s@5s
    /// (lost for ten seconds, from the fifth on), seed=N
    #[arg(long, value_name = "C[,C…]")]
    pub chaos: Vec<String>,
    /// Journals or folders of earlier runs of this job, from which durations are known beforehand
    #[arg(long, value_name = "JOURNAL")]
    pub history: Vec<PathBuf>,
    /// Draw which attempt ran where and when
    #[arg(long)]
    pub gantt: bool,
    /// Print the JSON schema of job files, for editors, and stop
    #[arg(long)]
    pub schema: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    /// Processes on this machine
    Local,
}

#[derive(Args)]
pub struct DemoArgs {
    /// Keep the text, the job file and both runs in this folder, which must be new or empty
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// How many times as long tasks take on the slow node
    #[arg(long, value_name = "F", default_value_t = 8.0)]
    pub slow: f64,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct ExplainArgs {
    /// The journal of a run, or the run's output folder
    pub journal: PathBuf,
    /// The task: PHASE/NUMBER, as in map/3
    pub task: String,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct VerifyArgs {
    /// The journal of a run, or the run's output folder
    pub journal: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct ReproduceArgs {
    /// Papers: xu2015, dollymp2022; all without any
    pub papers: Vec<String>,
    /// Shorter runs, in under a minute
    #[arg(long)]
    pub quick: bool,
    /// Number of threads; results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Write report.html (PAPER.html of several), PAPER.md with its pictures, and PAPER.json into this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Durations of one copy, for the theory commands.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub struct DurationArgs {
    /// Pareto durations with this tail index, above 1
    #[arg(long, value_name = "A")]
    pub alpha: Option<f64>,
    /// Any durations, such as 'log_normal(mean=1,cv=2)'
    #[arg(long, value_name = "D")]
    pub duration: Option<String>,
}

#[derive(Subcommand)]
pub enum TheoryCommand {
    /// Copies of each task when jobs start together: problem P2 of Xu & Lau 2015
    #[command(allow_negative_numbers = true)]
    Clones {
        /// A job: number of tasks, and the factor on its durations (with --alpha the Pareto minimum)
        #[arg(long, value_name = "TASKS:MU", required = true, num_args = 1..)]
        job: Vec<String>,
        #[command(flatten)]
        duration: DurationArgs,
        /// Idle machines N
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
        machines: u64,
        /// Most copies of a task, r
        #[arg(long, value_name = "R", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1024))]
        max_copies: u32,
        /// Price of a machine-second
        #[arg(long, value_name = "G", default_value_t = 0.01)]
        gamma: f64,
        /// How to solve it
        #[arg(long, value_name = "M", default_value = "exact")]
        method: CloneMethod,
        /// Steps of the dual iteration for nu, xi and h; `printed` for the paper's 0.2,0.3,0.4
        #[arg(long, value_name = "A,B,C")]
        steps: Option<String>,
        /// The dual iteration ends when no number of copies moves by more
        #[arg(long, value_name = "E", default_value_t = 1e-6)]
        tolerance: f64,
        /// Most iterations of the dual method
        #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
        iterations: u32,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// From which remaining time on a task is a straggler: sigma of SDA and ESE
    #[command(allow_negative_numbers = true)]
    Sigma {
        /// The algorithm
        #[arg(long, value_name = "RULE")]
        rule: SigmaRule,
        #[command(flatten)]
        duration: DurationArgs,
        /// Fraction of its work after which a task's remaining time is known (SDA)
        #[arg(long, value_name = "S", default_value_t = 0.0)]
        s: f64,
        /// Most copies of a task that are tried (SDA)
        #[arg(long, value_name = "R", default_value_t = 64, value_parser = clap::value_parser!(u32).range(2..=1024))]
        max_copies: u32,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// The load up to which cloning every task shortens delays
    #[command(allow_negative_numbers = true)]
    Cutoff {
        #[command(flatten)]
        duration: DurationArgs,
        /// Machines M
        #[arg(long, value_name = "M")]
        machines: f64,
        /// Mean number of tasks of a job
        #[arg(long, value_name = "E")]
        mean_tasks: f64,
        /// Mean duration of a task, seconds
        #[arg(long, value_name = "E")]
        mean_duration: f64,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// How many times as fast the fastest of some copies is: DollyMP's fitted speed-up (Xu, Liu & Lau 2022)
    #[command(allow_negative_numbers = true)]
    Speedup {
        /// Mean duration of a copy, seconds
        #[arg(long, value_name = "E")]
        mean: f64,
        /// Standard deviation of it, seconds
        #[arg(long, value_name = "S")]
        sd: f64,
        /// Copies of the task, the first included
        #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..))]
        copies: u32,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Which jobs go first: DollyMP's priorities by knapsacks of doubling size (Xu, Liu & Lau 2022)
    #[command(allow_negative_numbers = true)]
    Priorities {
        /// A job: its length in slots, its volume in slots of the whole cluster, and its dominant share
        #[arg(long, value_name = "LENGTH:VOLUME:SHARE", required = true, num_args = 1..)]
        job: Vec<String>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub enum CloneMethod {
    Exact,
    Continuous,
    Dual,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum SigmaRule {
    Sda,
    Ese,
}

#[derive(Subcommand)]
pub enum TraceCommand {
    /// Count what logs hold, and tell what stragglers cost in them, and why
    Info {
        /// Logs of Spark (event logs) or Hadoop (job histories, Rumen traces), compressed or not, folders of
        /// them, journals of runs, or the output folders of runs; - for the standard input
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Print one JSON document: an object, or a list for several files
        #[arg(long)]
        json: bool,
    },
}
