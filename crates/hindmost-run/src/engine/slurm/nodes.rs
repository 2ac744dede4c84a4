//! The nodes of a cluster as Slurm describes them, and which of them a run uses.

use std::collections::BTreeMap;

use hindmost_core::resources::{CPUS, MEMORY};
use hindmost_core::workload::DemandByName;

use super::super::{GPUS, NodeOffer};
use super::commands::{self, SlurmError, fields};

/// A node as `scontrol show node` describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct SlurmNode {
    /// Name of the node.
    pub name: String,
    /// Its CPUs, memory and GPUs.
    pub capacity: DemandByName,
    /// Its features, such as `ssd`.
    pub features: Vec<String>,
    /// State with its flags, such as `IDLE+DRAIN`.
    pub state: String,
    /// Why an administrator or Slurm took the node away.
    pub reason: Option<String>,
    /// Partitions to which it belongs.
    pub partitions: Vec<String>,
    /// When its `slurmd` was started, as Slurm prints it; `None` if it has never run.
    pub slurmd_started: Option<String>,
}

impl SlurmNode {
    /// True if processes can run on the node now.
    pub fn is_up(&self) -> bool {
        let mut parts = self.state.split('+');
        let base = parts.next().unwrap_or_default();
        let flags: Vec<&str> = parts.collect();
        // An asterisk says that the node does not respond.
        !base.ends_with('*')
            && ["IDLE", "ALLOCATED", "MIXED"].contains(&base)
            && !flags.iter().any(|flag| {
                let flag = flag.trim_end_matches('*');
                flag.starts_with("NOT_RESPONDING")
                    || flag.starts_with("FAIL")
                    || flag.starts_with("REBOOT")
                    || flag.starts_with("POWER")
                    || flag == "DOWN"
            })
    }

    /// True if Slurm has given the node up, and with it what ran there.
    pub fn is_down(&self) -> bool {
        let mut parts = self.state.split('+').map(|part| part.trim_end_matches('*'));
        parts.any(|part| ["DOWN", "POWERED_DOWN", "POWERING_DOWN"].contains(&part))
    }

    /// Returns true if the node does not respond to Slurm.
    pub fn is_silent(&self) -> bool {
        self.state.contains('*') || self.state.contains("NOT_RESPONDING")
    }

    /// True if Slurm gives the node to new allocations.
    pub fn is_usable(&self) -> bool {
        self.is_up()
            && !self.state.contains("DRAIN")
            && !self.state.contains("MAINT")
            && !self.state.contains("RESERVED")
    }

    /// True if no allocation uses the node.
    pub fn is_idle(&self) -> bool {
        self.is_usable() && self.state.starts_with("IDLE")
    }

    /// Returns the node as a run uses it.
    pub fn offer(&self) -> NodeOffer {
        NodeOffer { features: self.features.clone(), ..NodeOffer::new(self.name.clone(), self.capacity.clone()) }
    }

    pub(super) fn parse(line: &str) -> Option<SlurmNode> {
        let fields = fields(line);
        let text = |name: &str| fields.get(name).copied().filter(|value| !value.is_empty() && *value != "(null)");
        let number = |name: &str| text(name).and_then(|value| value.parse::<f64>().ok());
        let list = |name: &str| {
            let words = text(name).unwrap_or_default().split(',').map(str::trim);
            words.filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<_>>()
        };
        // Cores that are kept for the system do not count as effective CPUs. Older versions do not print that number.
        let cpus = number("CPUEfctv").or_else(|| number("CPUTot"))?;
        let megabytes = number("RealMemory")? - number("MemSpecLimit").unwrap_or(0.0);
        let mut capacity = DemandByName::from([(CPUS.to_owned(), cpus), (MEMORY.to_owned(), megabytes * MEGABYTE)]);
        let gpus = gpus_in(text("Gres").unwrap_or_default());
        if gpus > 0 {
            capacity.insert(GPUS.to_owned(), f64::from(gpus));
        }
        let features = list("ActiveFeatures");
        Some(SlurmNode {
            name: text("NodeName")?.to_owned(),
            capacity,
            features: if features.is_empty() { list("AvailableFeatures") } else { features },
            state: text("State")?.to_owned(),
            reason: text("Reason").map(str::to_owned),
            partitions: list("Partitions"),
            slurmd_started: text("SlurmdStartTime")
                .filter(|time| *time != "None" && *time != "Unknown")
                .map(str::to_owned),
        })
    }
}

/// Bytes of a megabyte in Slurm.
pub const MEGABYTE: f64 = 1_048_576.0;

/// Returns the number of GPUs in a list such as `gpu:tesla:2(S:0-1),gpu:1,shard:8`.
pub fn gpus_in(gres: &str) -> u32 {
    // Brackets hold sockets or numbers, which may contain commas.
    let mut depth = 0;
    let plain: String = gres
        .chars()
        .filter(|letter| {
            depth += i32::from(*letter == '(') - i32::from(*letter == ')');
            depth == 0 && *letter != ')'
        })
        .collect();
    let counts = plain.split(',').filter_map(|one| {
        let mut parts = one.trim().split(':');
        (parts.next() == Some("gpu")).then(|| parts.next_back().and_then(|count| count.parse().ok()).unwrap_or(1))
    });
    counts.sum()
}

/// Returns the nodes with these names (a list such as `n[1-3]`), or all nodes.
///
/// # Errors
/// If `scontrol` fails, for example because a node does not exist.
pub fn show(names: Option<&str>) -> Result<Vec<SlurmNode>, SlurmError> {
    let mut args = vec!["--oneliner", "show", "node"];
    args.extend(names);
    let text = commands::output("scontrol", &args)?;
    let mut nodes: Vec<SlurmNode> = Vec::new();
    for node in text.lines().filter_map(SlurmNode::parse) {
        if nodes.iter().all(|other| other.name != node.name) {
            nodes.push(node);
        }
    }
    Ok(nodes)
}

/// Returns the name of the default partition; `None` if there is none.
///
/// # Errors
/// If `sinfo` fails.
pub fn default_partition() -> Result<Option<String>, SlurmError> {
    let text = commands::output("sinfo", &["--noheader", "-o", "%P"])?;
    Ok(text.lines().find_map(|line| line.trim().strip_suffix('*')).map(str::to_owned))
}

/// What an allocation holds on each of its nodes.
///
/// # Errors
/// If `scontrol` fails or shows no resources.
pub fn of_allocation(job: u32) -> Result<Vec<NodeOffer>, SlurmError> {
    let text = commands::output("scontrol", &["--details", "--oneliner", "show", "job", &job.to_string()])?;
    let mut offers = Vec::new();
    for (list, capacity) in resources_of_nodes(&text) {
        for name in commands::host_names(&list)? {
            offers.push(NodeOffer::new(name, capacity.clone()));
        }
    }
    if offers.is_empty() {
        return Err(SlurmError::Failed("scontrol".to_owned(), format!("allocation {job} has no nodes")));
    }
    let names: Vec<&str> = offers.iter().map(|offer| offer.name.as_str()).collect();
    let features: BTreeMap<String, Vec<String>> =
        show(Some(&names.join(",")))?.into_iter().map(|node| (node.name, node.features)).collect();
    for offer in &mut offers {
        offer.features = features.get(&offer.name).cloned().unwrap_or_default();
    }
    Ok(offers)
}

/// Returns the parts `Nodes=n[1-2] CPU_IDs=0-3 Mem=4000 GRES=gpu:2(IDX:0-1)` of a job's description.
fn resources_of_nodes(job: &str) -> Vec<(String, DemandByName)> {
    let mut found = Vec::new();
    for part in job.split(" Nodes=").skip(1) {
        let mut words = part.split_whitespace();
        let Some(list) = words.next() else { continue };
        let mut capacity = DemandByName::new();
        for word in words.take(3) {
            match word.split_once('=') {
                Some(("CPU_IDs", ids)) => _ = capacity.insert(CPUS.to_owned(), f64::from(count_of(ids))),
                Some(("Mem", megabytes)) => {
                    let megabytes = megabytes.parse().unwrap_or(0.0);
                    capacity.extend((megabytes > 0.0).then(|| (MEMORY.to_owned(), megabytes * MEGABYTE)));
                }
                Some(("GRES", gres)) if gpus_in(gres) > 0 => {
                    capacity.insert(GPUS.to_owned(), f64::from(gpus_in(gres)));
                }
                _ => {}
            }
        }
        if capacity.contains_key(CPUS) {
            found.push((list.to_owned(), capacity));
        }
    }
    found
}

/// Returns how many numbers a list such as `0-3,6` has.
fn count_of(list: &str) -> u32 {
    let ranges = list.split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        Some(last.saturating_sub(first) + 1)
    });
    ranges.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "NodeName=n1 Arch=x86_64 CoresPerSocket=1  CPUAlloc=0 CPUEfctv=4 CPUTot=4 CPULoad=5.49 \
                        AvailableFeatures=fast,ssd ActiveFeatures=fast,ssd Gres=gpu:tesla:2(S:0-1) NodeAddr=127.0.0.1 \
                        Version=22.05.8 OS=Linux 6.1 #1 SMP RealMemory=4000 AllocMem=0 State=IDLE ThreadsPerCore=1 Weight=1 \
                        Partitions=main,big BootTime=2026-11-20T10:00:00 SlurmdStartTime=2026-11-24T05:04:36 \
                        CfgTRES=cpu=4,mem=4000M,billing=4 AllocTRES= Reason=Not responding [slurm@2026-11-24T05:04:36]";

    #[test]
    fn a_node_is_parsed() {
        let node = SlurmNode::parse(LINE).unwrap();
        let capacity = [(CPUS, 4.0), (GPUS, 2.0), (MEMORY, 4000.0 * MEGABYTE)];
        let capacity: DemandByName = capacity.into_iter().map(|(name, amount)| (name.to_owned(), amount)).collect();
        assert_eq!((&*node.name, &node.capacity, &*node.state), ("n1", &capacity, "IDLE"));
        assert_eq!(
            (node.features.join(","), node.partitions.join(",")),
            ("fast,ssd".to_owned(), "main,big".to_owned())
        );
        assert_eq!(node.reason.as_deref(), Some("Not responding [slurm@2026-11-24T05:04:36]"));
        assert_eq!(node.slurmd_started.as_deref(), Some("2026-11-24T05:04:36"));
        assert_eq!(SlurmNode::parse("NodeName=n1"), None);
    }

    #[test]
    fn the_state_says_whether_a_node_can_be_used() {
        let node = |state: &str| SlurmNode { state: state.to_owned(), ..SlurmNode::parse(LINE).unwrap() };
        let is = |state: &str| (node(state).is_up(), node(state).is_usable(), node(state).is_idle());
        assert_eq!(is("IDLE"), (true, true, true));
        assert_eq!(is("ALLOCATED"), (true, true, false));
        assert_eq!(is("MIXED+DRAIN"), (true, false, false));
        let is_lost = |state: &str| (node(state).is_down(), node(state).is_silent());
        assert_eq!((is_lost("DOWN*"), is_lost("IDLE+NOT_RESPONDING")), ((true, true), (false, true)));
        assert_eq!((is_lost("UNKNOWN"), is_lost("IDLE+POWERED_DOWN")), ((false, false), (true, false)));
        assert_eq!(is("IDLE+CLOUD"), (true, true, true));
        for down in
            ["DOWN", "DOWN*", "IDLE*", "ALLOCATED*+DRAIN", "IDLE+NOT_RESPONDING", "DOWN+NOT_RESPONDING", "UNKNOWN"]
        {
            assert_eq!(is(down), (false, false, false), "{down}");
        }
    }

    #[test]
    fn gpus_are_counted() {
        assert_eq!(gpus_in("gpu:2"), 2);
        assert_eq!(gpus_in("gpu:tesla:2(S:0-1),gpu:a100:1(S:0,2),shard:8"), 3);
        assert_eq!((gpus_in("gpu"), gpus_in(""), gpus_in("(null)"), gpus_in("mps:100")), (1, 0, 0, 0));
        assert_eq!(gpus_in("gpu:2(IDX:0-1)"), 2);
    }

    #[test]
    fn the_resources_of_an_allocation_are_found() {
        let job = "JobId=1 JobName=x TRES=cpu=6 JOB_GRES=(null)   Nodes=n1 CPU_IDs=0-3 Mem=4000 GRES=gpu:2(IDX:0-1)   \
                   Nodes=n[2-3] CPU_IDs=0,2 Mem=0 GRES= MinCPUsNode=1";
        let found = resources_of_nodes(job);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].0.as_str(), found[0].1[CPUS], found[0].1[GPUS]), ("n1", 4.0, 2.0));
        assert_eq!((found[1].0.as_str(), found[1].1[CPUS], found[1].1.get(MEMORY)), ("n[2-3]", 2.0, None));
    }
}
