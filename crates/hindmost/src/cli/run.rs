//! The options of `hindmost run`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use hindmost_profiles::MOST_PROFILES;
use hindmost_run::engine::NodeSpeed;
use hindmost_run::job_file::{Allowance, Overrides, Redo, time_or_zero};

use super::whole;
use crate::failure::{Failure, Outcome};
use crate::stop;

/// Options about how attempts end, and about the space that they take.
#[derive(Args, Clone, Debug)]
pub struct EndingArgs {
    /// Time that a stopped attempt has to clean up after SIGTERM, before what is left of it is killed; 0 kills at once [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = time_or_zero)]
    pub kill_after: Option<Duration>,
    /// As how many Ctrl-C SIGTERM counts: after the first one, attempts of tasks that may not run twice finish, and all others are
    /// stopped; after the second, all are
    #[arg(long, value_name = "TIMES", default_value = "twice")]
    pub on_term: OnTerm,
    /// Time for which attempts wait for space after a disk has become full, before they count as failed; 0 fails at once
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = time_or_zero)]
    pub disk_wait: Duration,
    /// Folder for temporary files, in which each attempt has a folder of its own, $TMPDIR, that is removed after it [default: $TMPDIR]
    #[arg(long, alias = "tempdir", value_name = "DIR")]
    pub tmpdir: Option<PathBuf>,
}

impl EndingArgs {
    /// Checks that the folder for temporary files exists, unless it is on other machines (`is_shared`).
    pub fn check_tmpdir(&self, is_shared: bool) -> Outcome {
        match &self.tmpdir {
            Some(folder) if !is_shared && !folder.is_dir() => {
                Err(Failure::input(format!("--tmpdir {}: this is not a folder", folder.display())))
            }
            _ => Ok(()),
        }
    }

    /// Makes signals to this process count as the user wants.
    pub fn count_term(&self) {
        stop::count_term_as(match self.on_term {
            OnTerm::Once => 1,
            OnTerm::Twice => 2,
        });
    }
}

/// As how many Ctrl-C `SIGTERM` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnTerm {
    /// As one
    Once,
    /// As two
    Twice,
}

impl RunJobArgs {
    /// True if a run continues.
    pub fn resumes(&self) -> bool {
        self.resume || self.redo_changed || !self.redo.is_empty()
    }

    /// Returns what holds for all phases whatever the job file says.
    pub fn overrides(&self) -> Overrides {
        Overrides {
            keep_going: self.keep_going,
            allowed_failures: self.allow_failures,
            copies: (self.copies || self.no_copies).then_some(self.copies),
            kill_after: self.ending.kill_after,
        }
    }
}

#[derive(Args)]
#[allow(clippy::struct_excessive_bools, reason = "switches of a command line")]
pub struct RunJobArgs {
    /// The job file (TOML). Several jobs share the nodes under one policy, and each has a folder of its own in the output
    /// folder
    #[arg(value_name = "JOB", required_unless_present_any = ["schema", "listen", "resume"])]
    pub jobs: Vec<PathBuf>,
    #[command(flatten)]
    pub engine: EngineArgs,
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
    /// the job file, else one node]. With --engine slurm: number of nodes, or a list such as n[1-3] [default: all nodes of
    /// the allocation in which this command runs, else all idle nodes of the partition]
    #[arg(long, value_name = "N[,N…]")]
    pub nodes: Option<String>,
    /// Speed of a node, or of all nodes with a feature of Slurm, relative to speed 1, such as n3=0.5 or fast=2. What the run
    /// measures replaces it. May be repeated [default: those of the job file, else 1]
    #[arg(long, value_name = "NAME=SPEED")]
    pub node_speed: Vec<NodeSpeed>,
    /// Folder for the results and the journal [default: NAME.out in the job file's folder, or hindmost.out for several jobs]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Continue the run in the output folder; finished tasks do not run again
    #[arg(long)]
    pub resume: bool,
    /// Run parts of a finished or interrupted run again, and all later phases: PHASE, or tasks of it as PHASE/3, PHASE/3,7 or
    /// PHASE/3-9. Continues the run like --resume; may be repeated
    #[arg(long, value_name = "PHASE[/TASK…]")]
    pub redo: Vec<Redo>,
    /// Run the tasks again whose command, environment or directory has changed since their results were made, and all later phases.
    /// Continues the run like --resume
    #[arg(long, conflicts_with = "keep_results")]
    pub redo_changed: bool,
    /// With --resume or --redo: keep the results of phases whose command, environment or directory has changed
    #[arg(long)]
    pub keep_results: bool,
    /// Go on after a task has failed permanently, run everything that can run, and fail at the end with a list of all failures
    #[arg(long)]
    pub keep_going: bool,
    /// Number or share of tasks of each phase that may fail permanently, such as 3 or 5%. The job is done all the same, and
    /// later phases run without results of these tasks [default: that of the job file, else 0]
    #[arg(long, value_name = "N|P%")]
    pub allow_failures: Option<Allowance>,
    /// With --resume or --redo: try the tasks again that had failed as --allow-failures or the job file allows
    #[arg(long)]
    pub retry_failed: bool,
    /// Allow two attempts of a task at a time, also where the command names a file to write that both would share
    #[arg(long, conflicts_with = "no_copies")]
    pub copies: bool,
    /// Run no task a second time while its first attempt runs
    #[arg(long)]
    pub no_copies: bool,
    #[command(flatten)]
    pub ending: EndingArgs,
    /// Replace files that are in the place of output files (key output), although their tasks have not made them
    #[arg(long)]
    pub overwrite: bool,
    /// Do not sync results and journal to disk: faster with many small tasks, but a power cut may lose results
    #[arg(long)]
    pub no_sync: bool,
    /// Record checksums of results. With --resume, compare the checksums too, not only names, sizes and times
    #[arg(long)]
    pub checksum: bool,
    /// Use the output folder even if another user owns it or may write to it
    #[arg(long)]
    pub trust_folder: bool,
    /// Check the job file, print what would run, and exit. With --resume or --redo, also print what would run again and why
    #[arg(long, conflicts_with = "chaos")]
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
    /// Serve a page about the run in progress at this loopback address, such as 127.0.0.1:8080; port 0 takes a free port
    #[arg(long, value_name = "ADDRESS")]
    pub serve: Option<String>,
    /// Accept further jobs from `hindmost submit` on this Unix socket, which only its owner can open, until Ctrl-C or
    /// `hindmost submit --close`
    #[arg(long, value_name = "SOCKET", conflicts_with = "check")]
    pub listen: Option<PathBuf>,
    /// Say nothing on stderr but failures and errors, and show no progress
    #[arg(long)]
    pub quiet: bool,
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

/// Options that choose the engine.
#[derive(Args, Clone, Debug, Default)]
pub struct EngineArgs {
    /// Engine that runs the tasks [default: that of the resumed run, else local]
    #[arg(long, value_name = "E")]
    pub engine: Option<EngineName>,
    /// Options of Slurm's salloc for the allocations of --engine slurm, such as '--partition=main --account=lab --time=2:00:00';
    /// may be repeated
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true)]
    pub slurm_args: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    /// Processes on this machine
    Local,
    /// Steps of a Slurm cluster: one allocation for each node, one step for each attempt
    Slurm,
}

impl EngineName {
    /// Returns the name as the user writes it.
    pub fn name(self) -> &'static str {
        match self {
            EngineName::Local => "local",
            EngineName::Slurm => "slurm",
        }
    }
}
