//! The options of `hindmost map`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use hindmost_profiles::MOST_PROFILES;
use hindmost_run::engine::NodeSpeed;

use super::{EndingArgs, EngineArgs, whole};

/// What `hindmost map --help` says after the options.
// The examples fit into 40 columns, so that no terminal breaks a command.
const AFTER_HELP: &str = "Examples:
  hindmost map --output {.}.gz \\
    gzip -c {} ::: *.txt
  hindmost map --output {1.}-{2}.png \\
    convert {1} -resize {2} png:- \\
    ::: *.jpg ::: 100 200
  find . -name '*.wav' -print0 |
    hindmost map -0 --once flac {}

A slow command may run a second time, and the first attempt to finish wins: only its output is printed, \
or becomes the file of --output. Commands that name a file to write, such as > {.}.gz or -o, do not; scripts that write files on their \
own need --no-copies. Exit code: 0 if every task succeeded, otherwise the number of failed tasks, 101 for \
more than 100, 255 for other errors, 2 for wrong options, 130 after Ctrl-C, 141 if the reader of the output went away. \
docs/map.md lists the differences from GNU parallel.";

#[derive(Args)]
// As with GNU parallel, long options may be abbreviated, and the last one of several counts.
#[command(after_help = AFTER_HELP, args_override_self = true, infer_long_args = true)]
#[allow(clippy::struct_excessive_bools, reason = "switches of a command line")]
pub struct MapArgs {
    /// Command with replacement strings: {} value, {.} without extension, {/} without folder, {//} folder, {/.} without both,
    /// {#} number of the task, {%} slot, {2} or {2.} second input source. Without any, {} is added at the end. Then input
    /// sources: ::: VALUES, :::: FILES; :::+ and ::::+ are linked to the source before. Several sources make a grid.
    /// Without a source, values are read from standard input
    #[arg(value_name = "COMMAND", trailing_var_arg = true, num_args = 0..)]
    pub words: Vec<OsString>,
    /// Read values from the lines of a file; - is standard input. Several files are several input sources
    #[arg(short = 'a', long, alias = "argfile", value_name = "FILE")]
    pub arg_file: Vec<PathBuf>,
    /// Values in files and on standard input end with NUL
    #[arg(short = '0', long)]
    pub null: bool,
    /// Values in files and on standard input end with this text, such as , or \t or \073 (octal); if it is
    /// empty, at empty lines
    #[arg(short = 'd', long, value_name = "TEXT")]
    pub delimiter: Option<String>,
    /// Split each value into columns {1}, {2}, … at this regular expression, such as , or \t or ' +', and remove white space
    /// around them
    #[arg(short = 'C', long, alias = "col-sep", value_name = "REGEX")]
    pub colsep: Option<String>,
    /// Values are rows of CSV: columns {1}, {2}, … are separated by commas, or by the character of --colsep, and may be in quotes, with
    /// commas and line feeds in them
    #[arg(long)]
    pub csv: bool,
    /// Give each command N values; with 0, run the command once for each value without using it
    #[arg(short = 'n', long, alias = "maxargs", value_name = "N")]
    pub max_args: Option<usize>,
    /// The same, and a word with {} is repeated for each value: -N2 echo x{} becomes echo xA xB
    #[arg(short = 'N', long, alias = "maxreplaceargs", value_name = "N")]
    pub max_replace_args: Option<usize>,
    /// The first value of each input source is its name, which may stand in braces: {name}. Columns are separated by tabs,
    /// unless --colsep or --csv is given
    #[arg(long, value_name = ":", value_parser = [":"])]
    pub header: Option<String>,
    /// Take one value of each input source together; shorter sources begin again
    #[arg(long, alias = "xapply")]
    pub link: bool,
    /// Leave out values that are empty or only white space
    #[arg(short = 'r', long, alias = "norunifempty")]
    pub no_run_if_empty: bool,
    /// Another text in place of {}
    #[arg(short = 'I', value_name = "TEXT")]
    pub replacement: Option<OsString>,
    /// Quote the command for the shell
    #[arg(short = 'q', long)]
    pub quote: bool,
    /// Number of tasks that run at a time: N, 50% of the cpus, +N or -N relative to them, 0 for as many as possible
    /// [default: number of cpus]. With --engine slurm: on each node
    #[arg(short = 'j', long, short_alias = 'P', aliases = ["max-procs", "maxprocs"], value_name = "N", allow_hyphen_values = true)]
    pub jobs: Option<String>,
    #[command(flatten)]
    pub engine: EngineArgs,
    /// With --engine slurm: number of nodes, or a list such as n[1-3] [default: all nodes of the allocation in which this
    /// command runs, else all idle nodes of the partition]
    #[arg(long, value_name = "N")]
    pub nodes: Option<String>,
    /// With --engine slurm: speed of a node, or of all nodes with a feature, relative to speed 1, such as n3=0.5 or fast=2. What
    /// the run measures replaces it. May be repeated
    #[arg(long, value_name = "NAME=SPEED")]
    pub node_speed: Vec<NodeSpeed>,
    /// Write the standard output of each task to a file with this name, such as {.}.gz, in one step when the task has succeeded.
    /// Slow tasks may get copies then
    #[arg(long, value_name = "FILE")]
    pub output: Option<OsString>,
    /// With --output: replace files that exist
    #[arg(long, requires = "output")]
    pub overwrite: bool,
    /// Print results in the order of the values
    #[arg(short = 'k', long, aliases = ["keeporder", "keep", "kee", "ke", "k"])]
    pub keep_order: bool,
    #[arg(long, hide = true, aliases = ["nokeeporder", "nok", "no-k"])]
    pub no_keep_order: bool,
    /// Begin each line of output with the values of its task
    #[arg(long)]
    pub tag: bool,
    /// Print each command before its output
    #[arg(short = 'v')]
    pub show: bool,
    /// Print each command on stderr before its output
    #[arg(short = 't', long)]
    pub verbose: bool,
    #[arg(long, hide = true)]
    pub silent: bool,
    /// Print the commands and run nothing
    #[arg(long, aliases = ["dryrun", "dr"])]
    pub dry_run: bool,
    /// Write a line for each finished task, in GNU parallel's format; +FILE appends
    #[arg(long, alias = "jl", value_name = "FILE")]
    pub joblog: Option<OsString>,
    /// Continue the run in --out, or leave out the tasks in --joblog
    #[arg(long)]
    pub resume: bool,
    /// With --out and --resume: keep the results of another command, and run this one for the other values
    #[arg(long, requires_all = ["out", "resume"])]
    pub keep_results: bool,
    /// Leave out the tasks that succeeded according to --joblog
    #[arg(long, alias = "resumefailed", conflicts_with = "out")]
    pub resume_failed: bool,
    /// Stop an attempt after this time: seconds, 2m, or a percentage of the median duration of finished tasks, such as 300%
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<String>,
    #[command(flatten)]
    pub ending: EndingArgs,
    /// Number of times that a failing task is tried in total
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(1_u32, 1_000_000))]
    pub retries: u32,
    /// End early: now or soon (running tasks finish), after fail, success or done tasks: now,fail=1, soon,fail=10%
    /// [default: never]
    #[arg(long, aliases = ["halt-on-error", "haltonerror"], value_name = "RULE", allow_hyphen_values = true)]
    pub halt: Option<String>,
    /// Show progress on stderr, also if stderr is not a terminal
    #[arg(long, visible_aliases = ["progress", "bar"])]
    pub eta: bool,
    /// Say nothing on stderr but failures and errors, and show no progress
    #[arg(long, conflicts_with = "eta")]
    pub quiet: bool,
    /// Allow two attempts of a task at a time, also if the command names a file to write that both would share
    #[arg(long, conflicts_with_all = ["no_copies", "once"])]
    pub copies: bool,
    /// Run no task a second time while its first attempt runs; the same as --policy none
    #[arg(long, conflicts_with = "policy")]
    pub no_copies: bool,
    /// Each command may run only once: no copies, and no second try unless --retries allows it
    #[arg(long)]
    pub once: bool,
    /// Policy: NAME, NAME(parameter=value,…) or ORDER+NAME [default: pace]
    #[arg(long, value_name = "P")]
    pub policy: Option<String>,
    /// Progress model, what the policy knows of running attempts: progress(S), age, history or profiles [default:
    /// progress(0.1)]
    #[arg(long, value_name = "K")]
    pub knowledge: Option<String>,
    /// File with profiles of finished attempts; it is created if it does not exist
    #[arg(long, value_name = "FILE")]
    pub profiles: Option<PathBuf>,
    /// Number of profiles that the file has at most; the oldest are dropped
    #[arg(long, value_name = "N", requires = "profiles", default_value_t = MOST_PROFILES, value_parser = whole(1, u64::MAX))]
    pub most_profiles: u64,
    /// Keep the journal, output and report in this folder, for --resume, explain, verify and replay [default: a temporary
    /// folder, which is removed]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Folder in which commands run [default: the current folder]
    #[arg(long, visible_alias = "wd", alias = "work-dir", value_name = "DIR")]
    pub workdir: Option<PathBuf>,
    /// Serve a page about the run in progress at this loopback address, such as 127.0.0.1:8080; port 0 takes a free port
    #[arg(long, value_name = "ADDRESS")]
    pub serve: Option<String>,
    /// Print one JSON document about the run instead of the output of the commands
    #[arg(long, conflicts_with_all = ["dry_run", "show", "verbose", "tag"])]
    pub json: bool,
    /// Options of GNU parallel that describe what Hindmost does in any case.
    #[arg(
        long = "will-cite",
        hide = true,
        aliases = ["willcite", "nn", "nonotice", "no-notice", "group", "plain", "gnu"]
    )]
    pub default: bool,
    // It is read so that it is not taken for an abbreviation of --profiles.
    #[arg(short = 'J', long, hide = true, value_name = "NAME")]
    pub profile: Option<String>,
}
