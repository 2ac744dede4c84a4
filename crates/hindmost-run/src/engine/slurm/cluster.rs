//! Which nodes a run uses: those of the allocation in which this process runs, or nodes for which it makes allocations.

use hindmost_math::plain::Quoted;

use super::super::NodeOffer;
use super::commands::{self, SlurmError};
use super::nodes::{self, SlurmNode};

/// The nodes of a run, before allocations are made.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// The nodes in the order of their ids.
    pub offers: Vec<NodeOffer>,
    /// The allocation in which this process runs. The run uses its nodes and does not give it back.
    pub enclosing: Option<u32>,
    /// The user's options of `salloc`.
    pub args: Vec<String>,
}

/// A choice of nodes that is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClusterError {
    /// Slurm's commands fail.
    #[error(transparent)]
    Slurm(#[from] SlurmError),
    /// The choice is not valid.
    #[error("{0}")]
    Choice(String),
}

/// Returns the allocation in which this process runs.
fn enclosing() -> Option<u32> {
    std::env::var("SLURM_JOB_ID").ok()?.parse().ok()
}

impl Cluster {
    /// Chooses the nodes of a new run. `named` is the value of `--nodes`: a number of nodes or a list such as `n[1-3]`. Without it,
    /// these are all nodes of the enclosing allocation, or all idle nodes of the partition. If no list is given, nodes for which
    /// `is_useful` is false are left out, unless it is false for all.
    ///
    /// # Errors
    /// If Slurm does not answer, or there are no such nodes.
    pub fn choose(
        named: Option<&str>,
        args: &[String],
        is_useful: &dyn Fn(&NodeOffer) -> bool,
    ) -> Result<Cluster, ClusterError> {
        let job = enclosing();
        if let Some(job) = job.filter(|_| !args.is_empty()) {
            return Err(ClusterError::Choice(format!(
                "--slurm-args are options of a new allocation, but this process runs inside allocation {job} and uses its nodes: \
                 leave --slurm-args out, or unset SLURM_JOB_ID"
            )));
        }
        check_args(args)?;
        if named.is_some_and(|named| named.trim().is_empty()) {
            return Err(ClusterError::Choice(
                "--nodes \"\" names no node: give a number of nodes or a list such as n[1-3], or leave --nodes out"
                    .to_owned(),
            ));
        }
        if let Some(word) = named.and_then(|named| named.split(',').find(|word| word.contains(':'))) {
            return Err(ClusterError::Choice(format!(
                "--nodes: with engine slurm, nodes have only names, or a number of them is given (--nodes n[1-3] or --nodes 3), because \
                 Slurm knows their CPUs and memory: {} is neither",
                Quoted(word)
            )));
        }
        let number: Option<usize> = named.and_then(|named| named.trim().parse().ok());
        if number == Some(0) {
            return Err(ClusterError::Choice("--nodes 0: a run needs at least one node".to_owned()));
        }
        let listed = match named.filter(|_| number.is_none()) {
            Some(list) => Some(commands::host_names(list)?),
            None => None,
        };
        let mut offers = if let Some(job) = job {
            nodes::of_allocation(job)?
        } else {
            let found = candidates(args, listed.as_deref(), number.is_some())?;
            found.iter().map(SlurmNode::offer).collect()
        };
        if let Some(listed) = &listed {
            if let Some(missing) = listed.iter().find(|name| offers.iter().all(|offer| offer.name != **name)) {
                let where_ = job.map_or("the partition".to_owned(), |job| format!("allocation {job}"));
                return Err(ClusterError::Choice(format!("--nodes: {where_} has no node {missing}")));
            }
            offers.retain(|offer| listed.contains(&offer.name));
        } else if offers.iter().any(is_useful) {
            offers.retain(is_useful);
        }
        if let Some(number) = number {
            if offers.len() < number {
                let have = offers.len();
                return Err(ClusterError::Choice(format!(
                    "--nodes {number}: there are only {have} usable nodes; `sinfo` shows why, and fewer can be given"
                )));
            }
            offers.truncate(number);
        }
        Ok(Cluster { offers, enclosing: job, args: args.to_vec() })
    }

    /// Returns the nodes with which a run was begun, for its resumption. `args` are the options of new allocations.
    ///
    /// # Errors
    /// If an option is not possible.
    pub fn recorded(offers: Vec<NodeOffer>, args: Vec<String>) -> Result<Cluster, ClusterError> {
        check_args(&args)?;
        Ok(Cluster { offers, enclosing: enclosing(), args })
    }
}

/// Returns the nodes for which allocations can be requested: idle ones first. If none are `listed`, only idle ones, unless there
/// are none, or a number of nodes is given (`is_counted`): then requests for busy ones wait in Slurm's queue.
fn candidates(args: &[String], listed: Option<&[String]>, is_counted: bool) -> Result<Vec<SlurmNode>, ClusterError> {
    let all = match listed {
        Some(names) => known(names)?,
        None => nodes::show(None)?,
    };
    if listed.is_some() {
        return Ok(all);
    }
    let partition = match value_of(args, "-p", "--partition").or_else(|| std::env::var("SALLOC_PARTITION").ok()) {
        Some(named) => Some(named),
        None => nodes::default_partition()?,
    };
    let feature = value_of(args, "-C", "--constraint").filter(|name| {
        // Other constraints are left to Slurm, which refuses nodes that do not meet them.
        name.chars().all(|letter| letter.is_alphanumeric() || "_-.".contains(letter))
    });
    let is_in = |node: &SlurmNode| {
        partition.as_ref().is_none_or(|one| one.split(',').any(|one| node.partitions.iter().any(|name| name == one)))
    };
    let has = |node: &SlurmNode| feature.as_ref().is_none_or(|feature| node.features.contains(feature));
    let usable: Vec<SlurmNode> = all.into_iter().filter(|node| node.is_usable() && is_in(node) && has(node)).collect();
    let (idle, busy): (Vec<SlurmNode>, Vec<SlurmNode>) = usable.into_iter().partition(SlurmNode::is_idle);
    let partition = partition.unwrap_or_else(|| "default".to_owned());
    match (idle.is_empty(), busy.is_empty()) {
        (true, true) => Err(ClusterError::Choice(format!(
            "Slurm's partition {partition} has no usable node{}; `sinfo` shows the nodes, and --slurm-args=--partition=NAME chooses \
             another partition",
            feature.map(|feature| format!(" with feature {feature}")).unwrap_or_default()
        ))),
        (true, false) => Ok(busy),
        (false, _) if is_counted => Ok(idle.into_iter().chain(busy).collect()),
        (false, _) => Ok(idle),
    }
}

/// Returns the nodes with these names.
fn known(names: &[String]) -> Result<Vec<SlurmNode>, ClusterError> {
    let shown = nodes::show(Some(&names.join(",")));
    // `scontrol` fails if it does not know one of them, and describes the others in its message.
    let all = if shown.is_ok() { Vec::new() } else { nodes::show(None)? };
    let unknown: Vec<&str> =
        names.iter().map(String::as_str).filter(|name| all.iter().all(|node| node.name != *name)).collect();
    match shown {
        Err(_) if !unknown.is_empty() => Err(ClusterError::Choice(format!(
            "--nodes: Slurm has no node {}; `sinfo --Node` shows the nodes",
            unknown.join(", ")
        ))),
        shown => Ok(shown?),
    }
}

/// Options of `salloc` that choose or count nodes, which Hindmost does: one letter, the name, and the shortest beginning of it that
/// `salloc` accepts.
const CHOOSING: [(char, &str, &str); 4] =
    [('w', "nodelist", "nodel"), ('F', "nodefile", "nodef"), ('N', "nodes", "nodes"), ('n', "ntasks", "ntasks")];
/// Options of `salloc` with which it requests nothing.
const ASKING: [(char, &str, &str); 3] = [('h', "help", "h"), ('V', "version", "vers"), (' ', "usage", "usa")];
/// Options of one letter of `salloc` that have no value, so that others may follow in the same word.
const FLAGS: &str = "HIkKOQsuv";

/// Checks the user's options of `salloc`.
///
/// # Errors
/// If one of them chooses or counts nodes, or only requests a text.
fn check_args(args: &[String]) -> Result<(), ClusterError> {
    for word in args {
        let refused = |why: &str| Err(ClusterError::Choice(format!("--slurm-args: {} {why}", Quoted(word))));
        if is_one_of(word, &CHOOSING) {
            return refused(
                "chooses or counts nodes, and Hindmost makes an allocation of its own for each node: use --nodes N or --nodes LIST \
                 of hindmost",
            );
        }
        if is_one_of(word, &ASKING) {
            return refused("only makes salloc print a text: run salloc itself for that");
        }
    }
    Ok(())
}

/// True if a word is one of these options, such as `-N4`, `-HN`, `--nodes` or `--nodes=4`.
fn is_one_of(word: &str, options: &[(char, &str, &str)]) -> bool {
    if let Some(long) = word.strip_prefix("--") {
        let name = long.split('=').next().unwrap_or_default();
        return options.iter().any(|(_, full, shortest)| full.starts_with(name) && name.starts_with(shortest));
    }
    let Some(letters) = word.strip_prefix('-') else { return false };
    let first = letters.chars().find(|letter| !FLAGS.contains(*letter));
    first.is_some_and(|letter| options.iter().any(|(short, ..)| *short == letter))
}

/// Returns the value of an option in a list of arguments, such as `-p X`, `-pX`, `--partition X` or `--partition=X`. The last one
/// counts.
fn value_of(args: &[String], short: &str, long: &str) -> Option<String> {
    let mut found = None;
    let mut words = args.iter().peekable();
    while let Some(word) = words.next() {
        if word == short || word == long {
            found = words.peek().map(|value| (*value).clone());
        } else if let Some(value) = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('=')) {
            found = Some(value.to_owned());
        } else if let Some(value) =
            word.strip_prefix(short).filter(|value| !value.is_empty() && !word.starts_with("--"))
        {
            found = Some(value.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_choose_nodes_are_refused() {
        let check = |text: &str| {
            let args: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            check_args(&args).map_err(|error| error.to_string())
        };
        for text in [
            "-w n1",
            "-wn1",
            "--nodelist=n1",
            "--nodelist n1",
            "--nodel=n1",
            "-N 2",
            "-N4",
            "--nodes=2",
            "--nodes 2",
            "-n 4",
            "-n4",
            "--ntasks=4",
            "-HN2",
            "-p main -N2",
            "-F file",
            "--nodefile=x",
        ] {
            let error = check(text).unwrap_err();
            assert!(error.contains("use --nodes N"), "{text}: {error}");
        }
        for text in ["--help", "-h", "--usage", "--version", "-V", "--he"] {
            assert!(check(text).unwrap_err().contains("print a text"), "{text}");
        }
        for text in [
            "-p main",
            "-pnormal",
            "--partition=n",
            "-A wN",
            "-AN",
            "--time=1:00",
            "-t10",
            "--ntasks-per-node=4",
            "-C ssd",
            "-x n1",
            "--verbose",
            "-v",
            "--no-kill",
            "--nice=5",
            "-Q -H",
            "--qos=high",
            "",
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn the_partition_is_found_in_the_arguments() {
        let of = |text: &str| {
            let args: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            value_of(&args, "-p", "--partition")
        };
        for text in ["-p big", "-pbig", "--partition big", "--partition=big", "-A x --time=1 -p small -p big"] {
            assert_eq!(of(text).as_deref(), Some("big"), "{text}");
        }
        assert_eq!((of("--partitions=x"), of("-A p"), of("-p")), (None, None, None));
    }
}
