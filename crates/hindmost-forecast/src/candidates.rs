//! The changes that a forecast tries: settings of the engine, other policies, more tasks, executors that are there earlier.

use std::collections::BTreeSet;

use hindmost_core::metrics::{SettingChange, TimePart};
use hindmost_policies::catalogue::spec::PolicySpec;
use hindmost_trace::TaskFormat;
use hindmost_trace::replay::SkewedInput;

use crate::changes::{
    are_inputs_uneven, are_slots_known, fullest, most_slots, phase_with_few_tasks, slots_of, slow_executors, waits,
};
use crate::recorded::RecordedApplication;
use crate::settings::{HadoopSpeculation, change, changes, exists, speculation_of_hadoop};
use crate::world::{Engine, World, hadoop_policy, seconds};

/// Spark's default of `spark.dynamicAllocation.executorIdleTimeout`, seconds.
const IDLE_TIMEOUT: f64 = 60.0;

/// What changes in a replay.
#[derive(Clone, Debug)]
pub enum Change {
    /// The policy.
    Policy(PolicySpec),
    /// Phases with fewer tasks than slots get as many tasks as there are slots; with the seconds that a part costs in addition.
    MoreTasks,
    /// As many executors as there were at most at the same time are there from the beginning, and stay.
    Executors,
    /// Tasks do not wait while slots are free.
    NoWaits,
    /// All tasks of a phase get the same input.
    EvenInputs,
    /// Nodes that were slow all the time are as fast as the others.
    EqualNodes,
}

/// A change and how to make it.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// What is recommended, in words.
    pub title: String,
    /// What changes in the replay.
    pub change: Change,
    /// The settings that make the change; empty for other policies.
    pub settings: Vec<SettingChange>,
    /// If the change may not do all that the replay assumes, so that its gain is anything up to the forecast one: on what that depends.
    pub condition: Option<&'static str>,
}

/// Returns the changes that can be tried for an application whose wall time has these parts.
pub fn candidates(application: &RecordedApplication, parts: &[TimePart]) -> Vec<Candidate> {
    let world = &application.world;
    let mut all = match world.engine {
        Engine::Spark | Engine::Hadoop => {
            let mut all = speculation(application);
            all.push(pace("copies by Hindmost's policy pace", Vec::new()));
            all
        }
        Engine::Hindmost => policies(world),
        Engine::Other(format) => in_its_place(format).into_iter().collect(),
    };
    let can_be_divided =
        world.engine == Engine::Spark || world.engine == Engine::Hindmost && are_slots_known(application);
    if let Some(phase) = phase_with_few_tasks(application, parts).filter(|_| can_be_divided) {
        all.push(more_tasks(application, phase));
    }
    all.extend(equal_nodes(application));
    if world.engine == Engine::Spark {
        let late = world.recorded.executors.iter().any(|one| one.added.is_some() || one.removed.is_some());
        if late && is_on(world, "spark.dynamicAllocation.enabled") {
            all.push(kept_executors(application));
        }
        if waits(application) {
            all.extend(no_locality_wait(application));
        }
        // The settings change joins of Spark SQL only.
        if application.is_sql && are_inputs_uneven(application) {
            all.push(even_inputs(application));
        }
    }
    all
}

fn is_on(world: &World, name: &str) -> bool {
    world.recorded.settings.get(name).is_some_and(|value| value.trim().eq_ignore_ascii_case("true"))
}

fn pace(title: &str, settings: Vec<SettingChange>) -> Candidate {
    let change = Change::Policy(PolicySpec::of("pace"));
    Candidate { title: title.to_owned(), change, settings, condition: None }
}

/// Other policies for a run of Hindmost.
fn policies(world: &World) -> Vec<Candidate> {
    let ran = world.policy.to_string();
    let of = |name: &&str| Candidate {
        title: if *name == "none" { "no copies (policy none)".to_owned() } else { format!("policy {name}") },
        change: Change::Policy(PolicySpec::of(name)),
        settings: vec![SettingChange {
            name: "policy".to_owned(),
            recorded: Some(ran.clone()),
            value: (*name).to_owned(),
        }],
        condition: None,
    };
    let others = ["pace", "none", "spark", "mantri", "late"];
    others.iter().filter(|name| PolicySpec::of(name) != world.policy).map(of).collect()
}

/// Hindmost in the place of what wrote a log. `None` for engines whose tasks are parts of one pipeline, where a copy of one task alone
/// is of no use.
fn in_its_place(format: TaskFormat) -> Option<Candidate> {
    let program = |recorded: &str, value: &str| {
        let settings = vec![SettingChange {
            name: "program".to_owned(),
            recorded: Some(recorded.to_owned()),
            value: value.to_owned(),
        }];
        pace(&format!("copies by policy pace: {value} in place of {recorded}"), settings)
    };
    match format {
        TaskFormat::Parallel => Some(program("parallel", "hindmost map")),
        TaskFormat::Slurm => Some(program("sbatch", "hindmost run --engine slurm")),
        TaskFormat::Table
        | TaskFormat::Nextflow
        | TaskFormat::Ray
        | TaskFormat::Dask
        | TaskFormat::Snakemake
        | TaskFormat::Condor
        | TaskFormat::Swf => Some(pace("copies by Hindmost's policy pace", Vec::new())),
        TaskFormat::Trino | TaskFormat::Flink => None,
    }
}

/// The engine's own copies, with several settings if they were off, and without copies if they were on.
fn speculation(application: &RecordedApplication) -> Vec<Candidate> {
    let world = &application.world;
    let spark = |quantile: f64, multiplier: f64| Candidate {
        title: format!(
            "speculation for tasks that take {multiplier} times the median, once {}% have ended",
            100.0 * quantile
        ),
        change: Change::Policy(
            format!("spark(quantile={quantile},multiplier={multiplier},min_runtime=0.1)")
                .parse()
                .unwrap_or_else(|_| PolicySpec::of("spark")),
        ),
        settings: changes(
            application,
            &[
                ("spark.speculation", "true"),
                ("spark.speculation.quantile", &quantile.to_string()),
                ("spark.speculation.multiplier", &multiplier.to_string()),
            ],
        ),
        condition: None,
    };
    let off = |settings: &[(&str, &str)]| Candidate {
        title: "no speculation".to_owned(),
        change: Change::Policy(PolicySpec::of("none")),
        settings: changes(application, settings),
        condition: None,
    };
    let is_off = world.policy == PolicySpec::of("none");
    match (world.engine, is_off) {
        (Engine::Spark, _) => {
            let mut all: Vec<Candidate> = [(0.75, 1.5), (0.9, 3.0), (0.5, 2.0)]
                .into_iter()
                .map(|(quantile, multiplier)| spark(quantile, multiplier))
                .collect();
            all.retain(|one| !matches!(&one.change, Change::Policy(policy) if *policy == world.policy));
            if !is_off {
                all.push(off(&[("spark.speculation", "false")]));
            }
            all
        }
        (Engine::Hadoop, true) => copies_of_hadoop(application).into_iter().collect(),
        (Engine::Hadoop, false) => {
            let names = switches_of_hadoop(application).into_iter().map(|one| (one.name, "false"));
            vec![off(&names.collect::<Vec<_>>())]
        }
        (Engine::Hindmost | Engine::Other(_), _) => Vec::new(),
    }
}

/// The settings that switch copies on in Hadoop: of maps, and of reduces if there are any.
fn switches_of_hadoop(application: &RecordedApplication) -> Vec<HadoopSpeculation> {
    let [maps, reduces] = speculation_of_hadoop(application.version, &application.world.recorded.settings);
    let has = |kind: &str| application.jobs.iter().flat_map(|job| &job.spec.phases).any(|phase| &*phase.name == kind);
    if has("reduce") { vec![maps, reduces] } else { vec![maps] }
}

/// Hadoop's own copies for a job that had none. `None` if they were on: then there is nothing to switch on.
fn copies_of_hadoop(application: &RecordedApplication) -> Option<Candidate> {
    let change = Change::Policy(hadoop_policy(&application.world.recorded.settings));
    let switches = switches_of_hadoop(application);
    let names = |is_on: Option<bool>| -> Vec<&str> {
        switches.iter().filter(|one| one.is_on == is_on).map(|one| one.name).collect()
    };
    let (off, unknown) = (names(Some(false)), names(None));
    if !off.is_empty() {
        let (kind, condition) = match &switches[..] {
            [maps, _] if off.len() == 1 && maps.is_on == Some(false) => {
                (" of maps", Some("as far as it is maps whose copies save time"))
            }
            [_, _] if off.len() == 1 => (" of reduces", Some("as far as it is reduces whose copies save time")),
            _ => ("", None),
        };
        let on: Vec<(&str, &str)> = off.into_iter().map(|name| (name, "true")).collect();
        return Some(Candidate {
            title: format!("Hadoop's speculation{kind}, which was switched off"),
            change,
            settings: changes(application, &on),
            condition,
        });
    }
    // The default is on, so there is no setting to recommend.
    (!unknown.is_empty()).then(|| Candidate {
        title: format!(
            "Hadoop's speculation, which is on by default ({}) but started no copies: it seems to be switched off, or it did not act",
            unknown.join(", ")
        ),
        change,
        settings: Vec::new(),
        condition: Some("if it was switched off: the log does not say"),
    })
}

/// `None` if no node was slow all the time. In runs of Hindmost the policies already move tasks away from such nodes.
fn equal_nodes(application: &RecordedApplication) -> Option<Candidate> {
    let slow = slow_executors(&application.jobs);
    let nodes = slow.iter().filter_map(|at| application.executors.get(*at));
    let names: BTreeSet<&str> = nodes.map(|one| if one.host.is_empty() { &*one.name } else { &*one.host }).collect();
    let first = names.first().filter(|_| application.world.engine != Engine::Hindmost)?;
    let title = match names.len() {
        1 => format!("node {first} as fast as the others"),
        more => format!("{more} slow nodes, such as {first}, as fast as the others"),
    };
    Some(Candidate {
        title,
        change: Change::EqualNodes,
        settings: Vec::new(),
        condition: Some("if it is mended or replaced, and the node is why its tasks were slow"),
    })
}

/// Settings are named only if the log has them with fewer tasks than there are slots.
fn more_tasks(application: &RecordedApplication, phase: &str) -> Candidate {
    let world = &application.world;
    let slots = most_slots(application);
    let is_spark = world.engine == Engine::Spark;
    let how = if is_spark { "repartition before it, or smaller splits of files" } else { "smaller inputs" };
    let is_less = |name: &&str| {
        let recorded = world.recorded.settings.get(*name).and_then(|value| value.trim().parse::<u64>().ok());
        is_spark && recorded.is_some_and(|recorded| recorded < slots)
    };
    let names = ["spark.sql.shuffle.partitions", "spark.default.parallelism"];
    Candidate {
        title: format!("as many tasks as slots in phases with fewer, such as {phase} ({how})"),
        change: Change::MoreTasks,
        settings: names
            .iter()
            .filter(|name| is_less(name))
            .filter_map(|name| change(application, name, &slots.to_string()))
            .collect(),
        condition: Some("if the work can be divided like that"),
    }
}

fn kept_executors(application: &RecordedApplication) -> Candidate {
    let world = &application.world;
    let present = fullest(&world.recorded.executors, &slots_of(application));
    let most = present.iter().filter(|is_there| **is_there).count().to_string();
    let mut settings = changes(
        application,
        &[("spark.dynamicAllocation.initialExecutors", &most), ("spark.dynamicAllocation.minExecutors", &most)],
    );
    let timeout = "spark.dynamicAllocation.executorIdleTimeout";
    // A number without a unit is in seconds here.
    let recorded = world.recorded.settings.get(timeout).map(|value| value.trim());
    let recorded = recorded.and_then(|value| value.parse::<f64>().ok().or_else(|| seconds(value)));
    if recorded.is_some_and(|recorded| recorded < IDLE_TIMEOUT) {
        settings.extend(change(application, timeout, &format!("{IDLE_TIMEOUT}s")));
    }
    Candidate {
        title: format!("{most} executors, kept until the application ends"),
        change: Change::Executors,
        settings,
        condition: Some("if that many can be had at once"),
    }
}

/// `None` if there is no such wait already.
fn no_locality_wait(application: &RecordedApplication) -> Option<Candidate> {
    Some(Candidate {
        title: "no wait for nearer slots".to_owned(),
        change: Change::NoWaits,
        settings: vec![change(application, "spark.locality.wait", "0s")?],
        condition: Some("if that is why slots were free and tasks are not slower there"),
    })
}

/// Settings are named only if the large inputs come from shuffles, the version has them and they are not on already. Adaptive execution
/// splits a partition only if it is larger than limits of its own, so these are named too where the largest input is below them.
fn even_inputs(application: &RecordedApplication) -> Candidate {
    let (adaptive, split) = ("spark.sql.adaptive.enabled", "spark.sql.adaptive.skewJoin.enabled");
    let mut settings = Vec::new();
    if application.world.recorded.skewed.is_some_and(|found| found.of_files) {
        return Candidate {
            title: "the same input for all tasks of a stage (files and their row groups of equal size, or a repartition after \
                    reading)".to_owned(),
            change: Change::EvenInputs,
            settings,
            condition: Some("if the large inputs can be divided: Spark splits a file only between its blocks or row groups"),
        };
    }
    if exists(application.version, split) {
        settings = changes(application, &[(adaptive, "true"), (split, "true")]);
        let limits = application.world.recorded.skewed.map_or_else(Vec::new, |found| limits(application, found));
        let limits: Vec<(&str, &str)> = limits.iter().map(|(name, value)| (*name, &**value)).collect();
        settings.extend(changes(application, &limits));
    }
    let is_switched_on = settings.iter().any(|one| one.name == adaptive);
    let (how, condition) = if settings.is_empty() {
        ("keys salted, or other partitions", "if the large inputs can be divided")
    } else if is_switched_on {
        (
            "skewed joins split, keys salted, other partitions",
            "if the large inputs can be divided: these settings do it for joins only. Adaptive execution also merges small partitions \
             (spark.sql.adaptive.coalescePartitions.parallelismFirst and minPartitionSize limit that), which can leave slots free",
        )
    } else {
        (
            "skewed joins split, keys salted, other partitions",
            "if the large inputs can be divided: these settings do it for joins only",
        )
    };
    Candidate {
        title: format!("the same input for all tasks of a stage ({how})"),
        change: Change::EvenInputs,
        settings,
        condition: Some(condition),
    }
}

/// Bytes of a partition from which on Spark splits it, by default.
const SPLIT_FROM: f64 = 256.0 * MEGABYTE;
/// How many times the median partition it must be, by default.
const SPLIT_FACTOR: f64 = 5.0;
/// Bytes that a part has, by default.
const PART: f64 = 64.0 * MEGABYTE;
const MEGABYTE: f64 = 1024.0 * 1024.0;

/// Returns the limits with which Spark splits the largest input; none if it does so with those of the log. A part has at least the median
/// input, and no less than a megabyte, into which adaptive execution merges small partitions anyway.
fn limits(application: &RecordedApplication, found: SkewedInput) -> Vec<(&'static str, String)> {
    let of = |name: &str| application.world.recorded.settings.get(name).map(|value| value.trim());
    let (from, factor, part) = (
        "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes",
        "spark.sql.adaptive.skewJoin.skewedPartitionFactor",
        "spark.sql.adaptive.advisoryPartitionSizeInBytes",
    );
    let now_from = of(from).and_then(bytes).unwrap_or(SPLIT_FROM);
    let now_factor = of(factor).and_then(|value| value.parse().ok()).unwrap_or(SPLIT_FACTOR);
    let now_part = of(part).and_then(bytes).unwrap_or(PART);
    let mut limits = Vec::new();
    if found.most <= now_factor * found.median {
        limits.push((factor, "2".to_owned()));
    }
    let wanted = (found.median / MEGABYTE).ceil().max(1.0);
    if now_part > found.most / 2.0 {
        limits.push((part, format!("{wanted}MB")));
    }
    if found.most <= now_from {
        // Not below the size of a part, or each part would count as skewed.
        let from_megabytes = (found.most / 2.0 / MEGABYTE).floor().max(wanted);
        limits.push((from, format!("{from_megabytes}MB")));
    }
    limits
}

/// Returns the bytes of a size as Spark's settings write it: a number with a unit, or bytes.
fn bytes(text: &str) -> Option<f64> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim().to_ascii_lowercase().trim_end_matches('b') {
        "" => 1.0,
        "k" => 1024.0,
        "m" => MEGABYTE,
        "g" => 1024.0 * MEGABYTE,
        _ => return None,
    };
    Some(number * unit)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hindmost_core::metrics::{SingleTasks, Spent};
    use hindmost_core::workload::{
        Durations, JobSpec, NodeHistory, PhaseSpec, Situated, SituatedAttempt, SituatedEnd, SituatedTask, WorkloadJob,
    };
    use hindmost_trace::replay::{PhaseLag, RecordedJob, RecordedNode, RecordedWorld};

    use super::*;

    /// The settings against skew, for an input of so many megabytes among others of 3 MB.
    fn against_skew(version: &str, settings: &[(&str, &str)], megabytes: f64) -> Vec<String> {
        against_skew_of(version, settings, (megabytes, false))
    }

    /// The same for an input that comes from files or from a shuffle.
    fn against_skew_of(version: &str, settings: &[(&str, &str)], (megabytes, of_files): (f64, bool)) -> Vec<String> {
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let skewed = Some(SkewedInput { most: megabytes * MEGABYTE, median: 3.0 * MEGABYTE, of_files });
        let mut recorded = RecordedWorld::default();
        (recorded.settings, recorded.skewed) = (settings, skewed);
        let application = RecordedApplication {
            jobs: Vec::new(),
            executors: Vec::new(),
            world: World::of_spark(recorded, Some(version), (&[], false)),
            version: crate::version::version(version),
            is_sql: true,
        };
        let candidate = even_inputs(&application);
        let names = candidate
            .settings
            .iter()
            .map(|one| format!("{}={}", one.name.trim_start_matches("spark.sql.adaptive."), one.value));
        names.collect()
    }

    /// An application of Spark on two executors of two slots, whose jobs have one phase each with so many tasks of 4 s. With a `slowness`,
    /// the first executor was that many times as slow as the other.
    fn of_phases(tasks: &[u32], slowness: Option<f64>) -> RecordedApplication {
        let attempt =
            SituatedAttempt { seconds: 4.0, ended: SituatedEnd::Finished, met: 1.0, slowness: 1.0, again_after: 0.0 };
        let task = SituatedTask { attempts: vec![attempt], input: 1.0, garbage: 1.0, residual: 1.0 };
        let nodes = Arc::new(vec![NodeHistory { slowness, ..NodeHistory::default() }]);
        let job = |(at, tasks): (usize, &u32)| {
            let spec = JobSpec::new("job", vec![PhaseSpec::new(format!("stage {at}"), *tasks, 4.0)]);
            let (tasks, nodes) = (vec![task.clone(); *tasks as usize], nodes.clone());
            let phase = Situated { tasks, typical: 4.0, first_wave: 1.0, gap: 0.0, moves: false, nodes };
            WorkloadJob { spec, durations: vec![Durations::Situated(Arc::new(phase))] }
        };
        let executor = |host: &str| RecordedNode {
            name: "1".to_owned(),
            host: host.to_owned(),
            slots: 2,
            slots_known: true,
            added: None,
            removed: None,
        };
        let executors = vec![executor("n1"), executor("n2")];
        RecordedApplication {
            jobs: tasks.iter().enumerate().map(job).collect(),
            world: World::of_spark(RecordedWorld::default(), None, (&executors, false)),
            executors,
            version: None,
            is_sql: false,
        }
    }

    /// The titles and conditions of what is tried if phases had fewer tasks than slots for half of the wall time, those of a single task
    /// for so many of its seconds.
    fn tried(application: &RecordedApplication, single: f64) -> Vec<(String, &'static str)> {
        let few = TimePart {
            what: Spent::FewTasks,
            seconds: 20.0,
            share: 0.5,
            used_share: None,
            first_wave_share: None,
            lost_share: None,
            phases: Vec::new(),
            single_tasks: Some(SingleTasks { phases: 1, seconds: single }),
        };
        let bound = candidates(application, &[few]).into_iter().filter_map(|one| Some((one.title, one.condition?)));
        bound.collect()
    }

    #[test]
    fn small_phases_are_divided_unless_tasks_came_one_by_one() {
        let divided = |phase: &str| {
            let how = "(repartition before it, or smaller splits of files)";
            vec![(
                format!("as many tasks as slots in phases with fewer, such as {phase} {how}"),
                "if the work can be divided like that",
            )]
        };
        assert_eq!(tried(&of_phases(&[8, 2, 3], None), 0.0), divided("stage 2"));
        assert_eq!(tried(&of_phases(&[8, 1, 1, 3], None), 8.0), divided("stage 3"));
        assert!(
            tried(&of_phases(&[8, 1, 1, 1, 1, 1], None), 20.0).is_empty(),
            "the program did not divide them itself"
        );
        assert!(tried(&of_phases(&[8, 4], None), 0.0).is_empty(), "as many tasks as slots");
    }

    #[test]
    fn slots_are_no_reason_for_a_wait_while_the_driver_stood_still() {
        let mut one = of_phases(&[8], None);
        let waits = PhaseLag::HeldBack { together: 0.0, each: vec![0.0, 12.0] };
        one.world.recorded.jobs = vec![RecordedJob { lags: vec![waits], ..RecordedJob::default() }];
        assert_eq!(tried(&one, 0.0)[0].0, "no wait for nearer slots");
        one.world.recorded.stood_still = 10.0;
        assert!(tried(&one, 0.0).is_empty());
    }

    #[test]
    fn slow_nodes_are_named_as_hosts() {
        let if_mended = "if it is mended or replaced, and the node is why its tasks were slow";
        let expected = vec![("node n1 as fast as the others".to_owned(), if_mended)];
        assert_eq!(tried(&of_phases(&[8], Some(2.6)), 0.0), expected);
        assert!(tried(&of_phases(&[8], Some(0.9)), 0.0).is_empty(), "faster ones");
    }

    #[test]
    fn adaptive_execution_is_not_named_for_skewed_files() {
        let off = [("spark.sql.adaptive.enabled", "false")];
        assert!(against_skew_of("3.5.6", &off, (900.0, true)).is_empty());
        assert_eq!(against_skew_of("3.5.6", &off, (900.0, false)), ["enabled=true"]);
    }

    #[test]
    fn adaptive_execution_is_named_with_the_limits_that_it_needs() {
        let off = [("spark.sql.adaptive.enabled", "false")];
        assert_eq!(against_skew("3.5.6", &off, 900.0), ["enabled=true"]);
        // 34 MB are far below 256 MB, and a part of 64 MB would not divide them.
        let small = ["advisoryPartitionSizeInBytes=3MB", "skewJoin.skewedPartitionThresholdInBytes=17MB"];
        assert_eq!(against_skew("3.5.6", &off, 34.0), [&["enabled=true"][..], &small].concat());
        assert_eq!(against_skew("3.5.6", &[], 34.0), small, "it is on by default");
        assert_eq!(against_skew("3.5.6", &[], 12.0)[0], "skewJoin.skewedPartitionFactor=2");
        assert!(against_skew("3.5.6", &[], 900.0).is_empty());
        let own = [
            ("spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes", "16m"),
            ("spark.sql.adaptive.advisoryPartitionSizeInBytes", "4194304b"),
        ];
        assert!(against_skew("3.5.6", &own, 34.0).is_empty());
        assert!(against_skew("2.4.8", &[], 34.0).is_empty(), "it cannot split");
    }

    #[test]
    fn sizes_of_settings_have_units() {
        let all = ["64MB", "10485760", "1g", "512k", "x", "3 apples"].map(bytes);
        let megabyte = MEGABYTE;
        assert_eq!(
            all,
            [Some(64.0 * megabyte), Some(10.0 * megabyte), Some(1024.0 * megabyte), Some(megabyte / 2.0), None, None]
        );
    }
}
