//! The changes that a forecast tries: settings of the engine, other policies, more tasks, executors that are there earlier.

use std::sync::Arc;

use hindmost_core::metrics::SettingChange;
use hindmost_core::workload::{Durations, Situated, SituatedAttempt, SituatedEnd, SituatedTask, WorkloadJob};
use hindmost_policies::catalogue::spec::PolicySpec;
use hindmost_trace::tasks::TaskFormat;

use crate::recorded::RecordedApplication;
use crate::world::{Engine, World};

/// The most parts into which a task is divided.
const MOST_PARTS: usize = 32;
/// A phase must have a task that took this many seconds to be divided.
const LONG: f64 = 1.0;

/// What changes in a replay.
#[derive(Clone, Debug)]
pub enum Change {
    /// The policy.
    Policy(PolicySpec),
    /// Phases with fewer tasks than slots get as many tasks as there are slots; with the seconds that a part costs in addition.
    MoreTasks,
    /// All executors are there from the beginning, and stay.
    Executors,
    /// Tasks do not wait while slots are free.
    NoWaits,
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
    /// True if the change may not do all that the replay assumes, so that its gain is anything up to the forecast one.
    pub is_bound: bool,
}

/// Returns the changes that can be tried for an application.
pub fn candidates(application: &RecordedApplication) -> Vec<Candidate> {
    let world = &application.world;
    let mut all = match world.engine {
        Engine::Spark | Engine::Hadoop => {
            let mut all = speculation(world);
            all.push(pace("copies by Hindmost's policy pace", Vec::new()));
            all
        }
        Engine::Hindmost => policies(world),
        Engine::Other(format) => in_its_place(format).into_iter().collect(),
    };
    if world.engine == Engine::Hindmost && has_few_tasks(application) && are_slots_known(application) {
        all.push(more_tasks(world));
    }
    if world.engine == Engine::Spark {
        if has_few_tasks(application) {
            all.push(more_tasks(world));
        }
        let late = world.recorded.executors.iter().any(|one| one.added.is_some() || one.removed.is_some());
        if late && is_on(world, "spark.dynamicAllocation.enabled") {
            all.push(kept_executors(application));
        }
        if waits(application) {
            all.push(no_locality_wait(world));
        }
    }
    all
}

fn is_on(world: &World, name: &str) -> bool {
    world.recorded.settings.get(name).is_some_and(|value| value.trim().eq_ignore_ascii_case("true"))
}

fn setting(world: &World, name: &str, value: &str) -> SettingChange {
    let recorded = world.recorded.settings.get(name).cloned();
    SettingChange { name: name.to_owned(), recorded, value: value.to_owned() }
}

fn pace(title: &str, settings: Vec<SettingChange>) -> Candidate {
    let change = Change::Policy(PolicySpec::of("pace"));
    Candidate { title: title.to_owned(), change, settings, is_bound: false }
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
        is_bound: false,
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
        TaskFormat::Table | TaskFormat::Nextflow | TaskFormat::Ray => {
            Some(pace("copies by Hindmost's policy pace", Vec::new()))
        }
        TaskFormat::Trino => None,
    }
}

/// The engine's own copies, with several settings if they were off, and without copies if they were on.
fn speculation(world: &World) -> Vec<Candidate> {
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
        settings: vec![
            setting(world, "spark.speculation", "true"),
            setting(world, "spark.speculation.quantile", &quantile.to_string()),
            setting(world, "spark.speculation.multiplier", &multiplier.to_string()),
        ],
        is_bound: false,
    };
    let off = |settings: &[(&str, &str)]| Candidate {
        title: "no speculation".to_owned(),
        change: Change::Policy(PolicySpec::of("none")),
        settings: settings.iter().map(|(name, value)| setting(world, name, value)).collect(),
        is_bound: false,
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
        (Engine::Hadoop, true) => vec![Candidate {
            title: "speculation".to_owned(),
            change: Change::Policy(PolicySpec::of("hadoop")),
            settings: vec![
                setting(world, "mapreduce.map.speculative", "true"),
                setting(world, "mapreduce.reduce.speculative", "true"),
            ],
            is_bound: false,
        }],
        (Engine::Hadoop, false) => {
            vec![off(&[("mapreduce.map.speculative", "false"), ("mapreduce.reduce.speculative", "false")])]
        }
        (Engine::Hindmost | Engine::Other(_), _) => Vec::new(),
    }
}

fn more_tasks(world: &World) -> Candidate {
    Candidate {
        title: if world.engine == Engine::Spark {
            "as many tasks as slots in phases with fewer (repartition before them, or smaller splits of files)"
        } else {
            "as many tasks as slots in phases with fewer (smaller inputs)"
        }
        .to_owned(),
        change: Change::MoreTasks,
        settings: ["spark.sql.files.maxPartitionBytes", "spark.sql.shuffle.partitions", "spark.default.parallelism"]
            .into_iter()
            .filter(|name| world.recorded.settings.contains_key(*name))
            .map(|name| {
                setting(world, name, if name.ends_with("Bytes") { "smaller" } else { "at least the number of slots" })
            })
            .collect(),
        is_bound: true,
    }
}

fn kept_executors(application: &RecordedApplication) -> Candidate {
    let world = &application.world;
    let most = application.executors.len().to_string();
    Candidate {
        title: "all executors from the beginning to the end".to_owned(),
        change: Change::Executors,
        settings: vec![
            setting(world, "spark.dynamicAllocation.initialExecutors", &most),
            setting(world, "spark.dynamicAllocation.minExecutors", &most),
        ],
        is_bound: true,
    }
}

fn no_locality_wait(world: &World) -> Candidate {
    Candidate {
        title: "no wait for nearer slots".to_owned(),
        change: Change::NoWaits,
        settings: vec![setting(world, "spark.locality.wait", "0s")],
        is_bound: true,
    }
}

/// Number of slots of all executors.
pub fn slots(application: &RecordedApplication) -> u64 {
    application.executors.iter().map(|one| u64::from(one.slots.max(1))).sum()
}

fn situated(job: &WorkloadJob) -> impl Iterator<Item = &Situated> {
    job.durations.iter().filter_map(|durations| match durations {
        Durations::Situated(situated) => Some(&**situated),
        _ => None,
    })
}

/// True if the log says how many slots each node had.
fn are_slots_known(application: &RecordedApplication) -> bool {
    application.executors.iter().all(|one| one.slots_known)
}

fn has_few_tasks(application: &RecordedApplication) -> bool {
    let slots = slots(application) as usize;
    application.jobs.iter().flat_map(situated).any(|phase| phase.tasks.len() < slots && phase.typical >= LONG)
}

/// True if slots were free for a while between tasks.
fn waits(application: &RecordedApplication) -> bool {
    application.jobs.iter().flat_map(situated).any(|phase| phase.gap >= 0.1 * phase.typical && phase.gap >= 0.05)
}

/// Returns the jobs without gaps between the tasks on a slot.
pub fn without_waits(jobs: &[WorkloadJob]) -> Vec<WorkloadJob> {
    changed(jobs, |phase| Some(Situated { gap: 0.0, ..phase.clone() }))
}

/// Returns the jobs with the tasks of phases that have fewer tasks than there are slots divided into as many parts as there are slots
/// for. Each part takes its share of the time, and `overhead` seconds.
pub fn with_more_tasks(jobs: &[WorkloadJob], slots: usize, overhead: f64) -> Vec<WorkloadJob> {
    let divided = |phase: &Situated| {
        let count = phase.tasks.len();
        let parts = slots.checked_div(count).map_or(1, |parts| parts.min(MOST_PARTS));
        if parts < 2 || phase.typical < LONG {
            return None;
        }
        let part = |task: &SituatedTask| {
            let seconds = |attempt: &SituatedAttempt| SituatedAttempt {
                seconds: attempt.seconds / parts as f64
                    + if attempt.ended == SituatedEnd::Finished { overhead } else { 0.0 },
                ..*attempt
            };
            let one = SituatedTask { attempts: task.attempts.iter().map(seconds).collect(), ..task.clone() };
            std::iter::repeat_n(one, parts)
        };
        let tasks = phase.tasks.iter().flat_map(part).collect();
        Some(Situated { tasks, typical: phase.typical / parts as f64 + overhead, ..phase.clone() })
    };
    changed(jobs, divided)
}

/// Returns jobs with changed phases; a phase for which `change` returns `None` stays as it is.
fn changed(jobs: &[WorkloadJob], change: impl Fn(&Situated) -> Option<Situated>) -> Vec<WorkloadJob> {
    let mut jobs = jobs.to_vec();
    for job in &mut jobs {
        for (spec, durations) in job.spec.phases.iter_mut().zip(&mut job.durations) {
            let Durations::Situated(situated) = durations else { continue };
            let Some(changed) = change(situated) else { continue };
            let scale = f64::from(spec.tasks) / changed.tasks.len().max(1) as f64;
            spec.tasks = changed.tasks.len() as u32;
            (spec.mean, spec.sd) = (spec.mean * scale, spec.sd.map(|sd| sd * scale));
            *durations = Durations::Situated(Arc::new(changed));
        }
    }
    jobs
}
