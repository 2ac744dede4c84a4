//! The executors of an application, and how many tasks each could run at the same time.

use rustc_hash::FxHashMap;

use super::fields::{BlockManagerAdded, ExecutorAdded, ExecutorRemoved, ResourceProfileAdded};
use super::oddities::Oddities;
use super::task_end::TaskInfo;
use crate::recording::{self, NAMED};

/// The most task intervals that are kept for an executor whose number of cores is unknown. They show how many tasks ran
/// at the same time.
const KEPT: usize = 1 << 16;
/// The most task intervals that are kept for an executor whose number of cores is known.
const KEPT_IF_KNOWN: usize = 1 << 11;

/// In milliseconds, the shortest attempt that shows how many attempts run at the same time on an executor whose number of
/// cores is known.
const SHORTEST: i64 = 200;
/// In milliseconds, how long before its recorded finish an attempt may have left its slot, but never more than half of
/// its duration. The driver records the finish when it has fetched and handled the result. By then, the executor may run
/// the next attempt in the same slot.
const HANDOVER: i64 = 500;

#[derive(Clone, Debug, Default)]
pub(super) struct Executors {
    list: Vec<Executor>,
    by_name: FxHashMap<Box<str>, u32>,
    profiles: FxHashMap<i64, Profile>,
    /// `spark.task.cpus`, if it is set.
    task_cpus: Option<f64>,
}

#[derive(Clone, Debug, Default)]
struct Executor {
    name: Box<str>,
    host: Box<str>,
    cores: Option<f64>,
    profile: Option<i64>,
    added: Option<i64>,
    removed: Option<i64>,
    /// Whether its removal was a decommission.
    is_decommissioned: bool,
    /// Whether the log says that the executor was added.
    announced: bool,
    /// Whether the log has the end of an attempt on the executor.
    ran: bool,
    /// When each of the executor's attempts certainly held a slot. If `cores` is unknown, these are the times from launch
    /// to finish.
    intervals: Vec<(i64, i64)>,
    /// The most attempts that ran at the same time, according to `intervals`.
    peak: u32,
}

/// A Spark resource profile.
#[derive(Clone, Debug)]
struct Profile {
    task_cpus: Option<f64>,
    /// Number of slots that resources other than cores allow.
    others: f64,
}

/// Names of the driver in block manager events and task events of various Spark versions.
const DRIVERS: [&str; 3] = ["driver", "<driver>", "localhost"];

fn is_driver(name: &str) -> bool {
    DRIVERS.contains(&name)
}

impl Executors {
    fn entry(&mut self, name: &str, host: Option<&str>) -> u32 {
        let index = if let Some(&index) = self.by_name.get(name) {
            index
        } else {
            let index = self.list.len() as u32;
            self.list.push(Executor { name: name.into(), ..Executor::default() });
            self.by_name.insert(name.into(), index);
            index
        };
        let executor = &mut self.list[index as usize];
        if let (true, Some(host)) = (executor.host.is_empty(), host) {
            executor.host = host.into();
        }
        index
    }

    pub(super) fn set_task_cpus(&mut self, cpus: Option<f64>) {
        self.task_cpus = cpus.filter(|&cpus| cpus > 0.0).or(self.task_cpus);
    }

    pub(super) fn profile(&mut self, event: &ResourceProfileAdded<'_>) {
        let (Some(id), Some(task)) = (event.id.whole(), &event.task) else {
            return;
        };
        let mut profile = Profile { task_cpus: None, others: f64::INFINITY };
        for (resource, request) in task {
            let Some(need) = request.amount.real().filter(|&need| need > 0.0) else {
                continue;
            };
            if resource == "cpus" {
                profile.task_cpus = Some(need);
                continue;
            }
            let held = event.executor.as_ref().and_then(|executor| executor.get(resource));
            if let Some(held) = held.and_then(|held| held.amount.real()) {
                // A task's share of a unit can't span two units: with 0.4 GPUs a task, a GPU has 2 slots.
                let slots = if need < 1.0 { (1.0 / need).floor() * held } else { (held / need).floor() };
                profile.others = profile.others.min(slots);
            }
        }
        self.profiles.insert(id, profile);
    }

    pub(super) fn added(&mut self, event: &ExecutorAdded<'_>) {
        let Some(name) = event.id.get() else { return };
        let info = event.info.as_ref();
        let index = self.entry(name, info.and_then(|info| info.host.get()));
        let executor = &mut self.list[index as usize];
        executor.announced = true;
        executor.added = executor.added.or(event.time.instant());
        if let Some(info) = info {
            executor.cores = info.cores.real().filter(|&cores| cores > 0.0).or(executor.cores);
            executor.profile = info.profile.whole().or(executor.profile);
        }
    }

    pub(super) fn block_manager(&mut self, event: &BlockManagerAdded<'_>) {
        let Some(manager) = &event.manager else {
            return;
        };
        let Some(name) = manager.executor.get().filter(|name| !is_driver(name)) else {
            return;
        };
        let index = self.entry(name, manager.host.get());
        let executor = &mut self.list[index as usize];
        executor.announced = true;
        executor.added = executor.added.or(event.time.instant());
    }

    pub(super) fn removed(&mut self, event: &ExecutorRemoved<'_>) {
        let index = event.id.get().and_then(|name| self.by_name.get(name));
        if let Some(&index) = index {
            let executor = &mut self.list[index as usize];
            executor.removed = event.time.instant();
            executor.is_decommissioned = event.reason.get().is_some_and(|reason| reason.contains("ecommission"));
        }
    }

    /// Returns the index of the executor on which an attempt started; `None` if the event does not name it.
    pub(super) fn started(&mut self, task: &TaskInfo<'_>) -> Option<u32> {
        Some(self.entry(task.executor.get()?, task.host.get()))
    }

    /// Records an attempt that ended, and returns the index of its executor; `None` if the event does not name the
    /// executor. The attempt held a slot, unless the event repeats the attempt because its output is `lost`.
    pub(super) fn ended(&mut self, task: &TaskInfo<'_>, lost: bool) -> Option<u32> {
        let index = self.started(task)?;
        let executor = &mut self.list[index as usize];
        executor.ran = true;
        if lost {
            return Some(index);
        }
        if let (Some(launch), Some(finish)) = (task.launch.instant(), task.finish.instant()) {
            let (took, known) = (finish - launch, executor.cores.is_some());
            match known {
                true if took < SHORTEST => {}
                true => executor.intervals.push((launch, finish - HANDOVER.min(took / 2))),
                false => executor.intervals.push((launch, finish)),
            }
            if executor.intervals.len() >= if known { KEPT_IF_KNOWN } else { KEPT } {
                executor.update_peak();
            }
        }
        Some(index)
    }

    /// Returns the number of executors that were announced or ran tasks.
    pub(super) fn named(&self) -> u64 {
        self.list.iter().filter(|executor| executor.announced || executor.ran).count() as u64
    }

    /// Returns the number of executors that only task end events name, without the driver in local mode.
    pub(super) fn unannounced(&self) -> u64 {
        let is_unannounced = |one: &&Executor| one.ran && !one.announced && !is_driver(&one.name);
        self.list.iter().filter(is_unannounced).count() as u64
    }

    /// Returns of each executor whether it was decommissioned; `None` if the log does not have its removal.
    pub(super) fn decommissioned(&self) -> Vec<Option<bool>> {
        self.list.iter().map(|one| one.removed.map(|_| one.is_decommissioned)).collect()
    }

    /// Returns the executors as a recording has them. An executor has as many slots as its cores and other resources allow, but at least
    /// as many as attempts ran on it at the same time. Counts executors whose slots do not follow from their cores.
    pub(super) fn recorded(self, oddities: &mut Oddities) -> Vec<recording::Executor> {
        let Executors { list, profiles, task_cpus, .. } = self;
        let seconds = |at: i64| at as f64 / 1000.0;
        let recorded = |mut executor: Executor| {
            executor.update_peak();
            let profile = profiles.get(&executor.profile.unwrap_or(0));
            let cpus = profile.and_then(|profile| profile.task_cpus).or(task_cpus).unwrap_or(1.0);
            let others = profile.map_or(f64::INFINITY, |profile| profile.others);
            let allowed = executor.cores.map(|cores| (cores / cpus).floor().min(others).max(1.0) as u32);
            let slots = allowed.unwrap_or(1).max(executor.peak);
            oddities.without_cores += u64::from(allowed.is_none());
            oddities.beyond_slots += u64::from(allowed.is_some_and(|allowed| allowed < slots));
            let name = format!("{NAMED}{}", executor.name);
            recording::Executor {
                name: (!executor.host.is_empty()).then_some(name),
                host: if executor.host.is_empty() { executor.name.into() } else { executor.host.into() },
                slots: allowed.filter(|allowed| *allowed == slots),
                most_at_once: slots,
                added: executor.added.map(seconds),
                removed: executor.removed.map(seconds),
                avoided: Vec::new(),
            }
        };
        list.into_iter().map(recorded).collect()
    }
}

impl Executor {
    /// Updates `peak` with the intervals. Then drops the half that ends first, because few later tasks overlap with it:
    /// events are roughly in the order in which tasks finish.
    fn update_peak(&mut self) {
        let mut changes: Vec<(i64, i32)> =
            self.intervals.iter().flat_map(|&(launch, finish)| [(launch, 1), (finish.max(launch), -1)]).collect();
        // At the same instant, ends count before starts.
        changes.sort_unstable();
        let mut running = 0;
        for (_, change) in changes {
            running += change;
            self.peak = self.peak.max(u32::try_from(running).unwrap_or(0));
        }
        self.intervals.sort_unstable_by_key(|&(_, finish)| finish);
        self.intervals.drain(..self.intervals.len() / 2);
    }
}

#[cfg(test)]
mod tests {
    use super::super::events::parse;
    use super::*;

    fn slots(cores: u32, profile: &str) -> u32 {
        let mut executors = Executors::default();
        executors.profile(&parse(profile.as_bytes()).unwrap());
        let added =
            format!(r#"{{"Executor ID":"1","Executor Info":{{"Total Cores":{cores},"Resource Profile Id":1}}}}"#);
        executors.added(&parse(added.as_bytes()).unwrap());
        executors.recorded(&mut Oddities::default()).remove(0).most_at_once
    }

    #[test]
    fn slots_follow_the_resource_profile() {
        let with = |task: &str| {
            format!(
                r#"{{"Resource Profile Id":1,"Executor Resource Requests":{{"gpu":{{"Amount":2}}}},"Task Resource Requests":{{{task}}}}}"#
            )
        };
        assert_eq!(slots(8, "{}"), 8);
        assert_eq!(slots(8, &with(r#""cpus":{"Amount":2.0}"#)), 4);
        assert_eq!(slots(8, &with(r#""cpus":{"Amount":1.0},"gpu":{"Amount":0.4}"#)), 4);
        assert_eq!(slots(8, &with(r#""gpu":{"Amount":2}"#)), 1);
        assert_eq!(slots(1, &with(r#""cpus":{"Amount":2.0}"#)), 1);
    }

    #[test]
    fn without_known_cores_slots_are_the_most_tasks_at_once() {
        let mut executors = Executors::default();
        for (launch, finish) in [(10, 20), (10, 30), (20, 40), (15, 25), (40, 50)] {
            let info =
                format!(r#"{{"Executor ID":"driver","Host":"h","Launch Time":{launch},"Finish Time":{finish}}}"#);
            executors.ended(&parse(info.as_bytes()).unwrap(), false);
        }
        let executor = executors.recorded(&mut Oddities::default()).remove(0);
        assert_eq!((executor.most_at_once, executor.slots, executor.host.as_str()), (3, None, "h"));
    }

    #[test]
    fn slots_are_at_least_the_attempts_that_certainly_overlap() {
        let slots = |attempts: &[(i64, i64)]| {
            let mut executors = Executors::default();
            let added = r#"{"Executor ID":"1","Executor Info":{"Host":"h","Total Cores":1}}"#;
            executors.added(&parse(added.as_bytes()).unwrap());
            for (launch, finish) in attempts {
                let info = format!(r#"{{"Executor ID":"1","Launch Time":{launch},"Finish Time":{finish}}}"#);
                executors.ended(&parse(info.as_bytes()).unwrap(), false);
            }
            let executor = executors.recorded(&mut Oddities::default()).remove(0);
            (executor.most_at_once, executor.slots.is_some())
        };
        assert_eq!(slots(&[(1000, 1650), (1020, 1640)]), (2, false));
        // An attempt begins before the finish of the one before it in the same slot is recorded.
        assert_eq!(slots(&[(1000, 1650), (1600, 2200), (2190, 9000), (8600, 9900)]), (1, true));
        // Short attempts show nothing, because the driver may record all of their finishes late.
        assert_eq!(slots(&[(1000, 1190), (1000, 1190), (1000, 1190)]), (1, true));
        let many: Vec<_> = (0..10_000).map(|at| (1 + at / 3 * 300, 300 + at / 3 * 300)).collect();
        assert_eq!(slots(&many), (3, false));
    }
}
