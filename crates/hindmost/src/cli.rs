//! The command line: all commands and options with their help texts.

mod map;
mod run;
mod theory;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use hindmost_profiles::MOST_PROFILES;
use hindmost_trace::table::{Columns, States};
pub use map::MapArgs;
pub use run::{EndingArgs, EngineArgs, EngineName, RunJobArgs};
pub use theory::{CloneMethod, DurationArgs, HopelessJobs, PocdArgs, PocdFormula, ShedArgs, SigmaRule, TheoryCommand};

/// Returns a parser of whole numbers from `least` to `most`. Its error says which numbers are valid.
fn whole<T>(least: T, most: T) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync
where
    T: std::str::FromStr + PartialOrd + Copy + std::fmt::Display + Bounded + Send + Sync,
{
    move |text| {
        let valid = text.trim().parse::<T>().ok().filter(|number| (least..=most).contains(number));
        // The largest number of the type matters only to those who exceed it.
        let is_too_large = text.trim().len() > 9 && text.trim().bytes().all(|byte| byte.is_ascii_digit());
        let to = if most == T::MOST && !is_too_large { String::new() } else { format!(" to {most}") };
        valid.ok_or_else(|| format!("give a whole number from {least}{to}"))
    }
}

/// A type with a largest number.
trait Bounded: Sized {
    /// The largest number of this type.
    const MOST: Self;
}

impl Bounded for u32 {
    const MOST: u32 = u32::MAX;
}

impl Bounded for u64 {
    const MOST: u64 = u64::MAX;
}

/// Parses a number. The commands check the range.
fn number(text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| "give a number".to_owned())
}

/// Runs parallel jobs on this machine or a Slurm cluster without waiting for their stragglers, and compares scheduling
/// policies with clones and backups on simulated clusters and on the logs of real ones.
#[derive(Parser)]
#[command(name = "hindmost", version, max_term_width = 100, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Run a real job with one slow node twice, without Hindmost and with it, and compare the times
    #[command(allow_negative_numbers = true)]
    Demo(DemoArgs),
    /// Run a job of many tasks on this machine or a Slurm cluster, with backup copies of slow tasks
    Run(RunJobArgs),
    /// Show a run in progress: its phases, nodes and running attempts
    Watch(WatchArgs),
    /// Submit a job to a run that accepts jobs (`hindmost run --listen`)
    Submit(SubmitArgs),
    /// Run a command for each of many values, as GNU parallel does, with backup copies of slow tasks, on this machine or a Slurm cluster
    Map(Box<MapArgs>),
    /// Compare policies on a simulated cluster and workload
    #[command(allow_negative_numbers = true, before_help = SIMULATE_FIRST, help_template = TEXT_BEFORE_USAGE)]
    Simulate(SimulateArgs),
    /// Compare policies on the jobs and nodes that a log or journal records
    #[command(allow_negative_numbers = true)]
    Replay(ReplayArgs),
    /// Read logs and show what their jobs spent their time on and why their stragglers were slow
    Advise(AdviseArgs),
    /// Show when and why each copy of a task was started and stopped in a recorded run
    Explain(ExplainArgs),
    /// Check that the policy of a recorded run makes the same decisions again
    Verify(VerifyArgs),
    /// List the results that resumed runs have set aside in an output folder, or remove them
    Clean(CleanArgs),
    /// Repeat the experiments of published papers and check their claims
    #[command(allow_negative_numbers = true)]
    Reproduce(ReproduceArgs),
    /// Solve the optimisation problems of published papers, without a simulation
    #[command(subcommand)]
    Theory(TheoryCommand),
    /// Read logs of Spark, Hadoop and other tools, tables of tasks, and journals of runs
    #[command(subcommand)]
    Trace(TraceCommand),
    /// List all policies and orders of jobs with their parameters and papers, or show one
    Policies(PoliciesArgs),
    /// Show which jobs and phases a file of profiles knows, how long their tasks take and what this depends on
    Profiles {
        /// A file that --profiles of `run` or `simulate` has written
        file: PathBuf,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Print the completion script of a shell
    Completions {
        /// Name of the shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page of Hindmost or of one command, in roff
    Man {
        /// Name of the command [default: print the page of hindmost]
        command: Option<String>,
    },
}

#[derive(Args)]
pub struct WatchArgs {
    /// The output folder of the run
    pub dir: PathBuf,
    /// Print the state once and exit; the default if stdout is not a terminal
    #[arg(long)]
    pub once: bool,
    /// Print the state once, as one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[allow(clippy::struct_excessive_bools, reason = "switches of a command line")]
pub struct SubmitArgs {
    /// The job file (TOML)
    #[arg(required_unless_present = "close")]
    pub job: Option<PathBuf>,
    /// The socket of the run, as --listen of `hindmost run` named it
    #[arg(long, value_name = "SOCKET")]
    pub to: PathBuf,
    /// Name of the job in the run, and of the folder for its results [default: the name in the job file]
    #[arg(long, value_name = "NAME", conflicts_with = "close")]
    pub name: Option<String>,
    /// Continue a job of this name that has ended before it was done. Finished tasks do not run again
    #[arg(long, conflicts_with = "close")]
    pub resume: bool,
    /// Wait until the job has ended. The exit code is then that of the job: 0 if it is done, 1 otherwise
    #[arg(long, conflicts_with = "close")]
    pub wait: bool,
    /// Let the run accept no more jobs: it ends once its jobs have ended
    #[arg(long, conflicts_with = "job")]
    pub close: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct PoliciesArgs {
    /// Name of a policy or an order: print only this entry, with units and valid values of its parameters and an example
    pub name: Option<String>,
    /// Print one line for each policy and each order
    #[arg(long, conflicts_with_all = ["json", "schema", "name"])]
    pub short: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Print the JSON schema of a policy in a scenario file, for editors, and exit
    #[arg(long, conflicts_with = "name")]
    pub schema: bool,
}

/// Options of both `simulate` and `replay`.
#[derive(Args)]
pub struct RunArgs {
    /// Policies to compare, separated by commas: NAME, NAME(parameter=value,…) or ORDER+NAME. Each is compared with
    /// the first one. `hindmost policies` lists all names
    #[arg(long, value_name = "P[,P…]")]
    pub policy: Vec<String>,
    /// Number of seeds. Each policy runs once on each seed [default: that of the scenario]
    #[arg(long, value_name = "N", value_parser = whole(1_u32, 100_000))]
    pub seeds: Option<u32>,
    /// First seed. The next seeds are S+1, S+2, …
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = whole(0, u64::MAX))]
    pub seed: u64,
    /// Progress model, what policies know of running attempts: oracle (remaining times from the start), progress(S) (remaining time
    /// once a share S of the work is done), progress(uniform), age (elapsed time only) or profiles (durations from finished
    /// attempts) [default: that of the scenario]
    #[arg(long, value_name = "K")]
    pub knowledge: Option<String>,
    /// File with profiles of finished attempts; it is created if it does not exist. With --knowledge profiles, policies know
    /// them from the start. The attempts of the first policy are added
    #[arg(long, value_name = "FILE")]
    pub profiles: Option<PathBuf>,
    /// Number of profiles that the file has at most; the oldest are dropped
    #[arg(long, value_name = "N", requires = "profiles", default_value_t = MOST_PROFILES, value_parser = whole(1, u64::MAX))]
    pub most_profiles: u64,
    /// Set a key of the scenario by its path, such as workload.arrival.poisson.rate=40
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Run once with each of these values of a key, such as gamma=0.01,0.1. Several sweeps run all combinations
    #[arg(long, value_name = "KEY=A,B,C")]
    pub sweep: Vec<String>,
    /// Number of threads. Results do not depend on it [default: one for each core]
    #[arg(long, value_name = "N", value_parser = whole(1_u32, 1024))]
    pub threads: Option<u32>,
    /// Write report.html, summary.json, scenario.toml and one record for each job and attempt into this new or empty
    /// folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// File format of the records in --out
    #[arg(long, value_name = "FORMAT", default_value = "csv", requires = "out")]
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

/// A page of help whose text before the options follows the description.
const TEXT_BEFORE_USAGE: &str = "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";

const SIMULATE_FIRST: &str = "\
What a copy of a slow task can save depends first on why the task is slow. The key workload.correlation of a scenario is the \
share of a duration that belongs to the task, such as its input: every copy of the task takes that part as well. 0: only the \
node or chance is slow, and a copy takes as long as any other task. 1: a copy takes as long as the first attempt and saves \
nothing. Real workloads are in between, and 0 favours the policies that start the most copies. So if the scenario does not \
give the key, the first table shows the results for 0, 0.5 and 0.9 side by side, on the same jobs, and \
the recommendation goes by 0.5.

Write load = 0.6 in place of a rate of arrivals, or --set load=0.6: the rate then follows from the jobs and the cluster.";

#[derive(Args)]
pub struct SimulateArgs {
    /// A scenario file (TOML) or the name of a built-in scenario
    #[arg(default_value = "quickstart")]
    pub scenario: String,
    /// List the built-in scenarios, each with a description, and exit
    #[arg(long)]
    pub list: bool,
    /// Print the scenario with all options applied, as TOML, and exit
    #[arg(long, conflicts_with = "list")]
    pub print: bool,
    /// Print the JSON schema of scenario files, for editors, and exit
    #[arg(long, conflicts_with_all = ["list", "print"])]
    pub schema: bool,
    /// Show the results for these values of workload.correlation side by side, or off. The policies that start copies run again
    /// for each value. With --sweep, they are in the recommendations only [default: 0,0.5,0.9 if neither the scenario nor the sweep
    /// gives the key; else off]
    #[arg(long, value_name = "W,W,…|off")]
    pub correlations: Option<String>,
    #[command(flatten)]
    pub run: RunArgs,
}

// The help texts of these options differ from those of `simulate`, because a log gives the cluster and the jobs.
#[derive(Args)]
#[command(mut_arg("seeds", |arg| arg.help("Number of seeds. Each policy runs once on each seed [default: 5]")))]
#[command(mut_arg("knowledge", |arg| arg.help(REPLAY_KNOWLEDGE)))]
#[command(mut_arg("set", |arg| arg.help(REPLAY_SET)))]
#[command(mut_arg("out", |arg| arg.help(REPLAY_OUT)))]
pub struct ReplayArgs {
    /// Logs of Spark (event logs) or Hadoop (job histories, Rumen traces), compressed or not; folders of such logs;
    /// journals or output folders of runs; tables of tasks and the logs of other tools that docs/logs.md lists
    #[arg(required = true, value_name = "LOG")]
    pub logs: Vec<PathBuf>,
    /// Columns of a table: MEANING=NAME, such as start=StartTime,end=EndTime. Meanings: job, phase, task, node, submitted,
    /// start, end, duration, state, input, attempt, slots, speculative, cause; a unit of time may follow, such as
    /// start=began:ms. Usual names are recognised without it
    #[arg(long, value_name = "COLUMNS", default_value = "", hide_default_value = true)]
    pub columns: Columns,
    /// What states of a table mean that are not recognised: MEANING=STATE, such as failed=RED,succeeded=GREEN. Meanings:
    /// succeeded, failed, killed, running. Unknown states are taken for success
    #[arg(long, value_name = "STATES", default_value = "", hide_default_value = true)]
    pub states: States,
    #[command(flatten)]
    pub run: RunArgs,
}

const REPLAY_KNOWLEDGE: &str = "Progress model, what policies know of running attempts: oracle (remaining times from the start), \
     progress(S) (remaining time once a share S of the work is done), progress(uniform), age (elapsed time only) or \
     profiles (durations from finished attempts) [default: that of the recorded run; age for logs]";
const REPLAY_SET: &str = "Set a value that the log does not give: order, slot (seconds), knowledge, placement, noise, \
     gamma, or machines (number of one-slot machines instead of the recorded nodes), such as gamma=0.1";
const REPLAY_OUT: &str =
    "Write report.html, summary.json and one record for each job and attempt into this new or empty folder";

#[derive(Args)]
pub struct DemoArgs {
    /// Keep the text, the job file and both runs in this new or empty folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Factor by which tasks take longer on the slow node, from 1 to 1000
    #[arg(long, value_name = "F", default_value_t = 8.0, value_parser = number)]
    pub slow: f64,
    #[command(flatten)]
    pub engine: EngineArgs,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct ExplainArgs {
    /// The journal of a run, or the run's output folder
    pub journal: PathBuf,
    /// The task, as PHASE/NUMBER, such as map/3; numbers begin at 0
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
pub struct CleanArgs {
    /// The output folder of a run
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Remove them; without this option nothing is changed
    #[arg(long)]
    pub remove: bool,
    /// Use the folder even if other users own it or may write to it
    #[arg(long)]
    pub trust_folder: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct ReproduceArgs {
    /// Names of papers: xu2015, dollymp2022, zhou2018, shed, riski; or folders with the data of a paper; ranking: every
    /// policy on every paper's workload and on three others [default: all: all papers, then the ranking]
    #[arg(value_name = "PAPER")]
    pub papers: Vec<String>,
    /// Run fewer and shorter simulations; confidence intervals are wider
    #[arg(long)]
    pub quick: bool,
    /// Reproduce only this figure with its claims and tables, such as 2; may be repeated
    #[arg(long = "figure", value_name = "N", action = clap::ArgAction::Append)]
    pub figures: Vec<String>,
    /// Reproduce only this claim, such as abstract-sca-60, beside the named figures; may be repeated
    #[arg(long = "claim", value_name = "ID", action = clap::ArgAction::Append)]
    pub claims: Vec<String>,
    /// Measure only under the base reading and this one: the name of a reading of the paper, or a TOML file with a new
    /// one; may be repeated
    #[arg(long = "reading", value_name = "READING", action = clap::ArgAction::Append)]
    pub readings: Vec<String>,
    /// Number of seeds of every simulation [default: the paper's, usually 5, and 20 for the claims of the abstract]
    #[arg(long, value_name = "N", value_parser = whole(1_u32, 100_000))]
    pub seeds: Option<u32>,
    /// Number of threads. Results do not depend on it [default: one for each core]
    #[arg(long, value_name = "N", value_parser = whole(1_u32, 1024))]
    pub threads: Option<u32>,
    /// Keep the results of simulations in this folder, and use those that the same program has left there: an interrupted
    /// reproduction goes on, and changed claims need no simulation
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Write the pages as HTML (report.html and a page for each figure) and as Markdown, PAPER.json, and claims and jobs
    /// as CSV and Parquet into this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct AdviseArgs {
    /// Logs of Spark (event logs) or Hadoop (job histories, Rumen traces), compressed or not; folders of such logs;
    /// journals or output folders of runs; tables of tasks and the logs of other tools that docs/logs.md lists; - for the
    /// standard input
    #[arg(required = true, value_name = "LOG")]
    pub logs: Vec<PathBuf>,
    /// Columns of a table: MEANING=NAME, such as start=StartTime,end=EndTime. Meanings: job, phase, task, node, submitted,
    /// start, end, duration, state, input, attempt, slots, speculative, cause; a unit of time may follow, such as
    /// start=began:ms. Usual names are recognised without it
    #[arg(long, value_name = "COLUMNS", default_value = "", hide_default_value = true)]
    pub columns: Columns,
    /// What states of a table mean that are not recognised: MEANING=STATE, such as failed=RED,succeeded=GREEN. Meanings:
    /// succeeded, failed, killed, running. Unknown states are taken for success
    #[arg(long, value_name = "STATES", default_value = "", hide_default_value = true)]
    pub states: States,
    /// Write a page of all applications (report.html), a page of each application, a text of each log, and everything as
    /// JSON (advice.json) to this folder, which must be new or empty
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replay this many applications, those that took longest, to forecast what would have made them faster [default: 20,
    /// and fewer if these have more than 200,000 tasks together]
    #[arg(long, value_name = "N")]
    pub forecasts: Option<usize>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Subcommand)]
pub enum TraceCommand {
    /// Count the jobs, tasks and attempts of logs, and show what stragglers cost and why
    Info {
        /// Logs of Spark (event logs) or Hadoop (job histories, Rumen traces), compressed or not; folders of such logs;
        /// journals or output folders of runs; tables of tasks and the logs of other tools that docs/logs.md lists; - for
        /// the standard input
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Columns of a table: MEANING=NAME, such as start=StartTime,end=EndTime. Meanings: job, phase, task, node, submitted,
        /// start, end, duration, state, input, attempt, slots, speculative, cause; a unit of time may follow, such as
        /// start=began:ms. Usual names are recognised without it
        #[arg(long, value_name = "COLUMNS", default_value = "", hide_default_value = true)]
        columns: Columns,
        /// What states of a table mean that are not recognised: MEANING=STATE, such as failed=RED,succeeded=GREEN. Meanings:
        /// succeeded, failed, killed, running. Unknown states are taken for success
        #[arg(long, value_name = "STATES", default_value = "", hide_default_value = true)]
        states: States,
        /// Print one JSON document: an object for one file, a list for several
        #[arg(long)]
        json: bool,
    },
}
