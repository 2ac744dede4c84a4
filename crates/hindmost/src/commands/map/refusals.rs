//! Options of GNU parallel that Hindmost does not have, and what to use instead.

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use crate::failure::Failure;

/// What to use in place of profiles of options.
pub const NO_PROFILES: &str = "options stand on the command line only: write a shell alias or a script with them";

/// Options, separated by spaces, and what to use instead.
const REFUSED: &[(&str, &str)] = &[
    (
        "--pipe --spreadstdin --pipepart --pipe-part --block --block-size --blocksize --block-timeout \
         --blocktimeout --bt --recstart --recend --regexp --regex --remove-rec-sep --removerecsep --rrs \
         --round-robin --roundrobin --round --tee --shard --bin --group-by --groupby --cat --fifo \
         --_pipe-means-argfiles",
        "Hindmost does not split one input into blocks: split it with `split`, and map over the pieces",
    ),
    ("-X -m --xargs -s --max-chars --maxchars -x --exit", "each value is one task: -n N gives each command N values"),
    (
        "--max-line-length-allowed --maxlinelengthallowed --show-limits --showlimits",
        "a command has at most 100000 bytes",
    ),
    (
        "-S --sshlogin --sshloginfile --slf --transfer --transferfile --transfer-file --transferfiles \
         --transfer-files --tf --return --trc --cleanup --basefile --bf --onall --nonall --ssh --filter-hosts \
         --filterhosts --filter-host --hostgroups --hostgroup --hostgrp --hgrp -M --controlmaster \
         --rsync-opts --rsyncopts",
        "Hindmost runs tasks on this machine only",
    ),
    (
        "--semaphore --sem --semaphore-name --semaphorename --id --semaphore-timeout --semaphoretimeout --st \
         --fg --bg --wait",
        "Hindmost has no semaphores: give all commands to one run, or use flock",
    ),
    (
        "-u --ungroup --lb --linebuffer --line-buffer --linebuffered --line-buffered --latest-line \
         --latestline --ll",
        "a task may have several attempts, and only the winner's output is printed, so output is printed when a task ends",
    ),
    (
        "--results --result --res --files --outputasfiles --output-as-files",
        "--out DIR keeps the output of each task in DIR/.hindmost/logs; or --output FILE writes it to a file of that name, such as {.}.txt",
    ),
    (
        "--compress --compress-program --compressprogram --use-compress-program --usecompressprogram \
         --decompress-program --decompressprogram --use-decompress-program --usedecompressprogram",
        "output is not compressed; --tmpdir DIR names a folder with enough space for it",
    ),
    (
        "--tagstring --tag-string --ctag --ctagstring --ctag-string",
        "--tag begins each line with the values of its task",
    ),
    (
        "--color --colour --cf --color-failed --colour-failed --colorfailed --colourfailed --color-fail \
         --colour-fail --colorfail --colourfail",
        "output has no colours; --joblog FILE shows which tasks failed",
    ),
    ("-L -l --max-lines --maxlines", "-n N gives each command N values"),
    (
        "--delay --sshdelay --ssh-delay",
        "begin the command with a pause that grows with the number of its slot, such as 'sleep {%}; …', or limit with -j N how \
         many tasks run at a time",
    ),
    (
        "--load --memfree --noswap --memsuspend --limit",
        "-j N limits how many tasks run at a time, whatever else the machine does",
    ),
    ("--nice", "begin the command with `nice`, or the whole of it: nice hindmost map …"),
    (
        "--number-of-cpus --numberofcpus --number-of-cores --numberofcores --number-of-sockets \
         --numberofsockets --number-of-threads --numberofthreads",
        "`nproc` prints the number of cpus",
    ),
    (
        "--use-sockets-instead-of-threads --usesocketsinsteadofthreads --use-cores-instead-of-threads \
         --usecoresinsteadofthreads --use-cpus-instead-of-cores --usecpusinsteadofcores",
        "-j N or -j 50% says how many tasks run at a time",
    ),
    (
        "--process-slot-var --processslotvar",
        "the number of the slot is {%} in the command, and the variable PARALLEL_JOBSLOT",
    ),
    ("--env --record-env --recordenv --session", "commands see all exported variables"),
    ("-J --profile", NO_PROFILES),
    (
        "--rpl --plus --parens -U -i --replace --er --extensionreplace --bnr --basenamereplace --dnr \
         --dirnamereplace --bner --basenameextensionreplace --seqreplace --slotreplace",
        "the replacement strings are {} {.} {/} {//} {/.} {#} {%} and those with a position; -I TEXT changes {}",
    ),
    ("--shuf --sort", "sort the values first: shuf FILE | hindmost map COMMAND"),
    ("--filter", "leave values out first: grep PATTERN FILE | hindmost map COMMAND"),
    ("--csv", "--colsep , splits values at each comma; turn fields with quotes into another form first"),
    ("--trim -E -e --eof --skip-first-line --skipfirstline", "change the values first, for example with sed"),
    ("--linkinputsource --xapplyinputsource", "link single input sources with :::+ and ::::+"),
    ("--total-jobs --totaljobs --total", "all values are read before the first task starts, so their number is known"),
    ("--arg-sep --argsep --arg-file-sep --argfilesep", "the separators are ::: :::+ :::: ::::+"),
    ("--template --tmpl", "let the command make the file, for example with sed or envsubst"),
    (
        "--retry-failed --retryfailed",
        "--resume-failed --joblog FILE runs the failed tasks again, with the same command and values",
    ),
    (
        "--term-seq --termseq --ctrl-c --ctrlc --no-ctrl-c --no-ctrlc --noctrlc",
        "a stopped command is killed at once with all its processes, and Ctrl-C stops all commands",
    ),
    ("--interactive -p", "--dry-run prints the commands and runs nothing"),
    ("--tty --open-tty -o", "commands run without a terminal"),
    (
        "--tmux --tmuxpane --tmux-pane --sqlmaster --sql-master --sqlworker --sql-worker --sql --sqlandworker \
         --sql-and-worker",
        "Hindmost has neither tmux nor databases",
    ),
    ("--shebang --hashbang --embed", "write a script that runs `hindmost map`"),
    ("--shell-completion --shellcompletion", "`hindmost completions SHELL` prints the completion script"),
    ("--version -V", "`hindmost --version` prints the version"),
    ("--shellquote --shell-quote --shell_quote", "values are quoted for the shell in any case; --dry-run shows how"),
    (
        "--fifos --citation --bibtex --minversion --min-version --tollef --debug -D --bug --_test --_parset \
         -B -g -H -T -W -Y",
        "leave it out",
    ),
];

/// Returns what to print for an option of GNU parallel that `hindmost map` does not have; `None` for all other mistakes.
pub fn refusal(error: &Error) -> Option<Failure> {
    let is_map = std::env::args_os().nth(1).is_some_and(|command| command == "map");
    if !is_map || error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else { return None };
    Some(refused(given, instead(given)?))
}

/// Returns the failure for an option of GNU parallel. `instead` says what to use.
pub fn refused(given: &str, instead: &str) -> Failure {
    Failure::input(format!("{given} of GNU parallel is not part of `hindmost map`: {instead}"))
}

/// Returns what to use in place of an option. A long option may be abbreviated if all options that it may stand for have the
/// same text.
fn instead(given: &str) -> Option<&'static str> {
    let given = given.split_once('=').map_or(given, |(name, _)| name);
    let texts = |matches: &dyn Fn(&str) -> bool| -> Vec<&'static str> {
        REFUSED.iter().filter(|(names, _)| names.split_whitespace().any(matches)).map(|(_, text)| *text).collect()
    };
    if let Some(text) = texts(&|name| name == given).first() {
        return Some(text);
    }
    match texts(&|name| given.len() > 3 && given.starts_with("--") && name.starts_with(given))[..] {
        [text] => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::cli::Cli;

    /// All spellings of the options of GNU parallel 20221122, from the table in its source.
    const SPELLINGS: &str = "0 B C D E H I J L M N P S T U V W X Y _parset _pipe-means-argfiles _test a arg-file arg-file-sep arg-sep \
         argfile argfilesep argsep bar basefile basenameextensionreplace basenamereplace bf bg bibtex bin block \
         block-size block-timeout blocksize blocktimeout bner bnr bt bug cat cf citation cleanup col-sep color \
         color-fail color-failed colorfail colorfailed colour colour-fail colour-failed colourfail colourfailed \
         colsep compress compress-program compressprogram controlmaster csv ctag ctag-string ctagstring ctrl-c \
         ctrlc d debug decompress-program decompressprogram delay delimiter dirnamereplace dnr dr dry-run dryrun \
         e embed env eof er eta exit extensionreplace fg fifo files filter filter-host filter-hosts filterhosts g \
         gnu group group-by groupby h halt halt-on-error haltonerror hashbang header help hgrp hostgroup \
         hostgroups hostgrp i id interactive j jl joblog jobs k keep-order keeporder l latest-line latestline lb \
         limit line-buffer line-buffered linebuffer linebuffered link linkinputsource ll load m max-args \
         max-chars max-line-length-allowed max-lines max-procs max-replace-args maxargs maxchars \
         maxlinelengthallowed maxlines maxprocs maxreplaceargs memfree memsuspend min-version minversion n nice \
         nn no-ctrl-c no-ctrlc no-k no-keep-order no-notice no-run-if-empty noctrlc nok nokeeporder nonall \
         nonotice norunifempty noswap null number-of-cores number-of-cpus number-of-sockets number-of-threads \
         numberofcores numberofcpus numberofsockets numberofthreads o onall open-tty output-as-files \
         outputasfiles p parens pipe pipe-part pipepart plain plus process-slot-var processslotvar profile \
         progress q quote r recend record-env recordenv recstart regex regexp remove-rec-sep removerecsep replace \
         res result results resume resume-failed resumefailed retries retry-failed retryfailed return round \
         round-robin roundrobin rpl rrs rsync-opts rsyncopts s semaphore semaphore-name semaphore-timeout \
         semaphorename semaphoretimeout seqreplace session shard shebang shell-completion shell-quote shell_quote \
         shellcompletion shellquote show-limits showlimits shuf silent skip-first-line skipfirstline slf \
         slotreplace spreadstdin sql sql-and-worker sql-master sql-worker sqlandworker sqlmaster sqlworker ssh \
         ssh-delay sshdelay sshlogin sshloginfile st t tag tag-string tagstring tee tempdir template term-seq \
         termseq tf timeout tmpdir tmpl tmux tmux-pane tmuxpane tollef total total-jobs totaljobs transfer \
         transfer-file transfer-files transferfile transferfiles trc trim tty u ungroup use-compress-program \
         use-cores-instead-of-threads use-cpus-instead-of-cores use-decompress-program \
         use-sockets-instead-of-threads usecompressprogram usecoresinsteadofthreads usecpusinsteadofcores \
         usedecompressprogram usesocketsinsteadofthreads v verbose version wait wd will-cite willcite work-dir \
         workdir x xapply xapplyinputsource xargs";

    #[test]
    fn each_option_is_refused_once() {
        let mut names: Vec<&str> = REFUSED.iter().flat_map(|(names, _)| names.split_whitespace()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(instead("--block=10M").is_some_and(|text| text.contains("split")));
        assert!(instead("--line-buf").is_some_and(|text| text.contains("winner")));
        assert_eq!(["--no-such-option", "--s", "--b", "--"].map(instead), [None; 4]);
    }

    #[test]
    fn each_option_of_gnu_parallel_is_known() {
        let mut root = Cli::command();
        root.build();
        let map = root.find_subcommand("map").unwrap();
        let mut known = Vec::new();
        for argument in map.get_arguments() {
            known.extend(
                argument.get_long_and_visible_aliases().unwrap_or_default().iter().map(|name| format!("--{name}")),
            );
            known.extend(argument.get_all_aliases().unwrap_or_default().iter().map(|name| format!("--{name}")));
            known.extend(
                argument.get_short_and_visible_aliases().unwrap_or_default().iter().map(|name| format!("-{name}")),
            );
            known.extend(argument.get_all_short_aliases().unwrap_or_default().iter().map(|name| format!("-{name}")));
        }
        for spelling in SPELLINGS.split_whitespace() {
            let option = if spelling.len() == 1 { format!("-{spelling}") } else { format!("--{spelling}") };
            if known.contains(&option) {
                continue;
            }
            assert!(instead(&option).is_some(), "{option} has no text");
            // Nor is it taken for an abbreviation.
            let Err(error) = Cli::try_parse_from(["hindmost", "map", &option, "1", "echo"]) else {
                panic!("{option} is accepted");
            };
            assert_eq!(error.kind(), ErrorKind::UnknownArgument, "{option}");
            let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else { panic!("{option}") };
            assert_eq!(*given, option);
        }
    }
}
