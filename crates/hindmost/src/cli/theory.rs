//! The options of `hindmost theory`.

use clap::{Args, Subcommand, ValueEnum};

use super::{number, whole};

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
