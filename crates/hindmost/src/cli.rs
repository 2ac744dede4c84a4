//! The command line: all commands and options with their help texts.

mod map;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use hindmost_profiles::MOST_PROFILES;
use hindmost_run::job_file::Allowance;
pub use map::MapArgs;

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

/// Runs parallel jobs on this machine without waiting for their stragglers, and compares scheduling
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
    /// Run a job of many tasks on this machine, with backup copies of slow tasks
    Run(RunJobArgs),
    /// Run a command for each of many values on this machine, as GNU parallel does, with backup copies of slow tasks
    Map(MapArgs),
    /// Compare policies on a simulated cluster and workload
    #[command(allow_negative_numbers = true, before_help = SIMULATE_FIRST, help_template = TEXT_BEFORE_USAGE)]
    Simulate(SimulateArgs),
    /// Compare policies on the jobs and nodes that a log or journal records
    #[command(allow_negative_numbers = true)]
    Replay(ReplayArgs),
    /// Show when and why each copy of a task was started and stopped in a recorded run
    Explain(ExplainArgs),
    /// Check that the policy of a recorded run makes the same decisions again
    Verify(VerifyArgs),
    /// Repeat the experiments of published papers and check their claims
    #[command(allow_negative_numbers = true)]
    Reproduce(ReproduceArgs),
    /// Solve the optimisation problems of published papers, without a simulation
    #[command(subcommand)]
    Theory(TheoryCommand),
    /// Read logs of Spark and Hadoop, and journals of runs
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
give the key, a second table shows the results for 0, 0.5 and 0.9 side by side, on the same jobs.

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
    /// for each value, on at most 3 seeds [default: 0,0.5,0.9 if the scenario does not give the key and nothing is swept; else off]
    #[arg(long, value_name = "W,W,…|off", conflicts_with = "sweep")]
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
    /// journals or output folders of runs
    #[arg(required = true, value_name = "LOG")]
    pub logs: Vec<PathBuf>,
    #[command(flatten)]
    pub run: RunArgs,
}

const REPLAY_KNOWLEDGE: &str = "Progress model, what policies know of running attempts: oracle (remaining times from the start), \
     progress(S) (remaining time once a share S of the work is done), progress(uniform), age (elapsed time only) or \
     profiles (durations from finished attempts) [default: that of the recorded run; progress(0.1) for logs]";
const REPLAY_SET: &str = "Set a value that the log does not give: order, slot (seconds), knowledge, placement, noise, \
     gamma, or machines (number of one-slot machines instead of the recorded nodes), such as gamma=0.1";
const REPLAY_OUT: &str =
    "Write report.html, summary.json and one record for each job and attempt into this new or empty folder";

#[derive(Args)]
#[allow(clippy::struct_excessive_bools, reason = "switches of a command line")]
pub struct RunJobArgs {
    /// The job file (TOML)
    #[arg(required_unless_present = "schema")]
    pub job: Option<PathBuf>,
    /// Engine that runs the tasks
    #[arg(long, value_name = "E", default_value = "local")]
    pub engine: EngineName,
    /// Policy: NAME, NAME(parameter=value,…) or ORDER+NAME. `none` runs one copy of each task [default: the policy
    /// of the job file, else pace]
    #[arg(long, value_name = "P")]
    pub policy: Option<String>,
    /// Progress model, what the policy knows of running attempts: progress(S) (remaining time once a share S of the
    /// work is done), age (elapsed time only), history (durations of earlier runs) or profiles (durations on each node,
    /// from profiles of finished attempts) [default: that of the job file, else progress(0.1)]
    #[arg(long, value_name = "K")]
    pub knowledge: Option<String>,
    /// Split this machine into nodes, NAME:CPUS or NAME:CPUS:MEMORY each, such as n1:2,n2:2:4GB [default: those of
    /// the job file, else one node]
    #[arg(long, value_name = "N[,N…]")]
    pub nodes: Option<String>,
    /// Folder for the results and the journal [default: NAME.out in the job file's folder]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Continue the run in the output folder; finished tasks do not run again
    #[arg(long)]
    pub resume: bool,
    /// With --resume: keep the results of phases whose command, environment or directory has changed
    #[arg(long, requires = "resume")]
    pub keep_results: bool,
    /// Go on after a task has failed permanently, run everything that can run, and fail at the end with a list of all failures
    #[arg(long)]
    pub keep_going: bool,
    /// Number or share of tasks of each phase that may fail permanently, such as 3 or 5%. The job is done all the same, and
    /// later phases run without results of these tasks [default: that of the job file, else 0]
    #[arg(long, value_name = "N|P%")]
    pub allow_failures: Option<Allowance>,
    /// With --resume: try the tasks again that had failed as --allow-failures or the job file allows
    #[arg(long, requires = "resume")]
    pub retry_failed: bool,
    /// Do not sync results and journal to disk: faster with many small tasks, but a power cut may lose results
    #[arg(long)]
    pub no_sync: bool,
    /// Record checksums of results. With --resume, compare the checksums too, not only names, sizes and times
    #[arg(long)]
    pub checksum: bool,
    /// Use the output folder even if another user owns it or may write to it
    #[arg(long)]
    pub trust_folder: bool,
    /// Check the job file, print what would run, and exit
    #[arg(long, conflicts_with_all = ["resume", "chaos"])]
    pub check: bool,
    /// Inject faults: slow=NODE:FACTOR (tasks there take FACTOR times as long), kill=P (each attempt is killed with
    /// probability P), lose=NODE:10s (the node is lost for 10 s), lose=NODE:10s@5s (lost for 10 s, 5 s after the run
    /// begins), seed=N (of the random draws)
    #[arg(long, value_name = "C[,C…]")]
    pub chaos: Vec<String>,
    /// File with profiles of finished attempts; it is created if it does not exist. The policy learns durations from the
    /// earlier runs of this job in it, and a run that is done adds its own
    #[arg(long, value_name = "FILE")]
    pub profiles: Option<PathBuf>,
    /// Number of profiles that the file has at most; the oldest are dropped
    #[arg(long, value_name = "N", requires = "profiles", default_value_t = MOST_PROFILES, value_parser = whole(1, u64::MAX))]
    pub most_profiles: u64,
    /// Journals or output folders of earlier runs of this job, from which the policy learns durations
    #[arg(long, value_name = "JOURNAL")]
    pub history: Vec<PathBuf>,
    /// Draw a Gantt chart: which attempt ran on which node, and when
    #[arg(long)]
    pub gantt: bool,
    /// Print the JSON schema of job files, for editors, and exit
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
    /// Keep the text, the job file and both runs in this new or empty folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Factor by which tasks take longer on the slow node, from 1 to 1000
    #[arg(long, value_name = "F", default_value_t = 8.0, value_parser = number)]
    pub slow: f64,
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

/// The distribution of the duration of one copy, for the theory commands.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub struct DurationArgs {
    /// Tail index of Pareto durations, above 1
    #[arg(long, value_name = "A", value_parser = number)]
    pub alpha: Option<f64>,
    /// Distribution of durations: constant, uniform, exponential, pareto, log_normal or weibull with its parameters, such
    /// as 'log_normal(mean=1,cv=2)'
    #[arg(long, value_name = "D")]
    pub duration: Option<String>,
}

#[derive(Subcommand)]
pub enum TheoryCommand {
    /// Find the best number of copies of each task when jobs start together: problem P2 of Xu & Lau 2015
    #[command(allow_negative_numbers = true)]
    Clones {
        /// A job: its number of tasks, and the factor by which --duration is multiplied for them (with --alpha: their
        /// shortest duration in seconds)
        #[arg(long, value_name = "TASKS:MU", required = true, num_args = 1..)]
        job: Vec<String>,
        #[command(flatten)]
        duration: DurationArgs,
        /// Number of idle machines, N
        #[arg(long, value_name = "N", value_parser = whole(1, u64::MAX))]
        machines: u64,
        /// Largest number of copies of a task, r
        #[arg(long, value_name = "R", default_value_t = 8, value_parser = whole(1_u32, 1024))]
        max_copies: u32,
        /// Price of a machine-second in seconds of flowtime, gamma
        #[arg(long, value_name = "G", default_value_t = 0.01, value_parser = number)]
        gamma: f64,
        /// Solver: whole numbers (exact), real numbers (continuous), or the paper's dual iteration (dual)
        #[arg(long, value_name = "M", default_value = "exact")]
        method: CloneMethod,
        /// Step sizes of the dual iteration for nu, xi and h; `printed` means the paper's 0.2,0.3,0.4
        #[arg(long, value_name = "A,B,C")]
        steps: Option<String>,
        /// The dual iteration ends when no number of copies changes by more than this
        #[arg(long, value_name = "E", default_value_t = 1e-6, value_parser = number)]
        tolerance: f64,
        /// Largest number of iterations of the dual method
        #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = whole(1_u32, 10_000_000))]
        iterations: u32,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Find the remaining time above which a task is a straggler: sigma of SDA and ESE (Xu & Lau 2015)
    #[command(allow_negative_numbers = true)]
    Sigma {
        /// The speculation policy
        #[arg(long, value_name = "RULE")]
        rule: SigmaRule,
        #[command(flatten)]
        duration: DurationArgs,
        /// Share of its work after which a task's remaining time is known, from 0 to below 1 (SDA)
        #[arg(long, value_name = "S", default_value_t = 0.0, value_parser = number)]
        s: f64,
        /// Largest number of copies of a task to try (SDA)
        #[arg(long, value_name = "R", default_value_t = 64, value_parser = whole(2_u32, 1024))]
        max_copies: u32,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Find the load up to which two copies of every task shorten the mean delay (Xu & Lau 2015)
    #[command(allow_negative_numbers = true)]
    Cutoff {
        #[command(flatten)]
        duration: DurationArgs,
        /// Number of machines, M
        #[arg(long, value_name = "M", value_parser = number)]
        machines: f64,
        /// Mean number of tasks of a job
        #[arg(long, value_name = "E", value_parser = number)]
        mean_tasks: f64,
        /// Mean duration of a task, seconds
        #[arg(long, value_name = "E", value_parser = number)]
        mean_duration: f64,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Compute how much faster the first of several copies finishes: DollyMP's speed-up (Xu, Liu & Lau 2022)
    #[command(allow_negative_numbers = true)]
    Speedup {
        /// Mean duration of a copy, seconds
        #[arg(long, value_name = "E", value_parser = number)]
        mean: f64,
        /// Standard deviation of the duration of a copy, seconds
        #[arg(long, value_name = "S", value_parser = number)]
        sd: f64,
        /// Number of copies of the task, the first included
        #[arg(long, value_name = "R", value_parser = whole(1, u32::MAX))]
        copies: u32,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Compute DollyMP's priorities of jobs, by knapsacks of doubling size (Xu, Liu & Lau 2022)
    #[command(allow_negative_numbers = true)]
    Priorities {
        /// A job: its length in time slots, its volume in time slots of the whole cluster, and its dominant share from
        /// 0 to 1
        #[arg(long, value_name = "LENGTH:VOLUME:SHARE", required = true, num_args = 1..)]
        job: Vec<String>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Compute the probability that a job completes before its deadline (PoCD): Shed and Chronos. The formulas hold if no task waits
    /// for a slot. Those of Chronos assume that the remaining time and the progress of each attempt are known at --elapsed, as in
    /// simulations with --knowledge oracle
    #[command(allow_negative_numbers = true)]
    Pocd(PocdArgs),
    /// Find how many clones of each task jobs with deadlines get: Shed's Algorithm 1. A job whose deadline has passed keeps its
    /// slots, and gets no clones: leave it out if it is killed
    #[command(allow_negative_numbers = true)]
    Shed(ShedArgs),
}

#[derive(Args)]
pub struct PocdArgs {
    /// Shortest duration of a copy, seconds: the minimum of Pareto durations
    #[arg(long, value_name = "S", value_parser = number)]
    pub t_min: f64,
    /// Deadline, seconds from the submission of the job
    #[arg(long, value_name = "S", value_parser = number)]
    pub deadline: f64,
    /// Tail index of Pareto durations
    #[arg(long, value_name = "B", value_parser = number)]
    pub beta: f64,
    /// Number of clones (or backups) of each task, the original not counted
    #[arg(long, value_name = "R", value_parser = whole(0_u32, u32::MAX))]
    pub clones: u32,
    /// Number of tasks; of a running job, those that have not finished
    #[arg(long, value_name = "N", value_parser = whole(1, u64::MAX))]
    pub tasks: u64,
    /// Seconds since the submission of a running job; with chronos-restart and chronos-resume, the time at which late
    /// attempts are detected
    #[arg(long, value_name = "S", value_parser = number)]
    pub elapsed: Option<f64>,
    /// Progress of a running job's tasks, from 0 to 1 [default: 0; with chronos-resume, the mean progress of late
    /// attempts]
    #[arg(long, value_name = "P", value_parser = number)]
    pub progress: Option<f64>,
    /// The formula: a new or running job whose copies all have the job's progress (shed), a running job whose clones
    /// start from the beginning (shed-restart), or a strategy of Chronos
    #[arg(long, value_name = "F", default_value = "shed")]
    pub formula: PocdFormula,
    /// Seconds after which all attempts of a task but the best are stopped; adds the expected machine time (Chronos)
    #[arg(long, value_name = "S", value_parser = number)]
    pub tau_kill: Option<f64>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PocdFormula {
    Shed,
    ShedRestart,
    ChronosClone,
    ChronosRestart,
    ChronosResume,
}

#[derive(Args)]
pub struct ShedArgs {
    /// Number of machines, m. A task has at most one copy on each, so at most m - 1 clones
    #[arg(long, value_name = "M", value_parser = whole(1_u32, u32::MAX))]
    pub machines: u32,
    /// Number of slots of each machine, lambda
    #[arg(long, value_name = "S", value_parser = whole(1_u32, u32::MAX))]
    pub slots: u32,
    /// A job: its number of unfinished tasks, its deadline in seconds from its submission, and the minimum (seconds) and
    /// tail index of its Pareto durations; of a running job also the seconds since its submission and the progress of
    /// its tasks, from 0 to 1
    #[arg(long, value_name = "TASKS:DEADLINE:TMIN:BETA[:ELAPSED:PROGRESS]", required = true, num_args = 1..)]
    pub job: Vec<String>,
    /// Slots that the application master of each job uses
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(0_u32, 1000))]
    pub masters: u32,
    /// What jobs get whose probability of meeting the deadline no clone raises: no clones (skip), or clones before all
    /// others, as printed in the paper (clone)
    #[arg(long, value_name = "H", default_value = "skip")]
    pub hopeless: HopelessJobs,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum HopelessJobs {
    Skip,
    Clone,
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
    /// Count the jobs, tasks and attempts of logs, and show what stragglers cost and why
    Info {
        /// Logs of Spark (event logs) or Hadoop (job histories, Rumen traces), compressed or not; folders of such logs;
        /// journals or output folders of runs; - for the standard input
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Print one JSON document: an object for one file, a list for several
        #[arg(long)]
        json: bool,
    },
}
