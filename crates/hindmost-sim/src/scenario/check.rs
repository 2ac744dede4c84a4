//! Checks scenarios: numbers in range, parts that fit together, files that exist.

use std::path::Path;

use hindmost_core::cluster::Placement;
use hindmost_core::names::{check_name, check_shared_name};
use hindmost_core::submission_queues::{self, DEFAULT_QUEUE};
use hindmost_math::plain::{Plain, Quoted};
use hindmost_math::suggest::did_you_mean;
use hindmost_policies::catalogue;

use crate::disturbances::{Contention, Failures, Neighbours};
use crate::experiment::default_placement;
use crate::generate;
use crate::parameter::{Parameter, absolute};

use super::{ArrivalSpec, ClusterSpec, EveryArrivals, NetworkSpec, NodeClass, PoissonArrivals, Scenario, WorkloadSpec};

/// Most nodes: at least ten times the largest existing clusters.
const MOST_NODES: u32 = 10_000_000;
/// Most jobs of one seed, on average. A waiting job takes about 2 kB of memory.
const MOST_JOBS: f64 = 1e7;
/// Most tasks of one seed, on average. Simulating this many takes ten minutes or more.
const MOST_TASKS_OF_ALL: f64 = 1e9;
/// Longest time, in seconds: about 300 years, half of what the clock can count.
pub(super) const LONGEST: f64 = 1e10;
/// Largest load. Higher values are meant as a percentage.
const MOST_LOAD: f64 = 10.0;
/// Most seeds: the results of all jobs of all seeds are kept in memory.
const MOST_SEEDS: u32 = 100_000;

impl Scenario {
    /// Checks everything and reads the files that parameters name.
    pub(super) fn check(&mut self) -> Result<(), String> {
        positive("horizon", self.horizon)?;
        if self.horizon.is_some_and(|horizon| horizon > LONGEST) {
            return Err(format!("horizon must be at most {LONGEST} seconds"));
        }
        if !(1..=MOST_SEEDS).contains(&self.seeds) {
            return Err(format!("seeds is {}, but must be from 1 to {MOST_SEEDS}", self.seeds));
        }
        check_times(self.slot, self.noise, self.gamma)?;
        catalogue::order(&self.order).map_err(|error| error.to_string())?;
        self.policies()?;
        self.cluster.check(&self.folder)?;
        // Every result states its placement, also where the scenario gives none.
        let are_measured = self.cluster.nodes.iter().any(|class| class.measured_speed.is_some());
        let speeds = self.cluster.nodes.iter().map(|class| &class.speed);
        let is_by_default = match self.cluster.nodes.is_empty() {
            true => Placement::First,
            false if are_measured => Placement::Random,
            false => default_placement(speeds),
        };
        self.placement.get_or_insert(is_by_default);
        self.cluster.outages()?;
        submission_queues::check(&self.queue).map_err(|error| error.to_string())?;
        self.network.as_ref().map_or(Ok(()), NetworkSpec::check)?;
        self.workload.check(self.horizon, &self.folder, &self.cluster)?;
        self.check_chances()?;
        if let Some(demand) = &self.workload.demand {
            let dimensions = self.cluster.dimensions()?;
            dimensions
                .demand(&demand.by_name().map_err(|error| format!("workload.demand.{error}"))?)
                .map_err(|error| format!("workload.demand: {error}"))?;
        }
        self.check_kinds_demands()?;
        Ok(())
    }
}

impl Scenario {
    /// Checks the probabilities with which jobs are submitted to queues.
    fn check_chances(&self) -> Result<(), String> {
        let mut sum = 0.0;
        for (name, chance) in &self.workload.queues {
            let known = || self.queue.iter().map(|queue| &*queue.name).chain([DEFAULT_QUEUE]);
            if !known().any(|queue| queue == name) {
                let near = did_you_mean(name, known());
                return Err(format!("workload.queues: {name:?} is not a queue{near} (give it as [[queue]])"));
            }
            share(&format!("workload.queues.{name}"), *chance, 1.0)?;
            sum += chance;
        }
        if sum > 1.0 + 1e-9 {
            return Err(format!(
                "workload.queues: the chances add up to {}, but must add up to at most 1",
                Plain(submission_queues::without_error(sum))
            ));
        }
        Ok(())
    }

    fn check_kinds_demands(&self) -> Result<(), String> {
        if self.workload.job.is_empty() {
            return Ok(());
        }
        let dimensions = self.cluster.dimensions()?;
        let capacity = |class: &NodeClass| dimensions.amounts(&class.capacity()?).map_err(|error| error.to_string());
        let capacities = self.cluster.nodes.iter().map(capacity).collect::<Result<Vec<_>, _>>()?;
        for (at, kind) in self.workload.job.iter().enumerate() {
            kind.check_demands(&dimensions, &capacities).map_err(|error| of_kind(at, &kind.name, &error))?;
        }
        Ok(())
    }
}

/// Adds the kind of job, by its index and name, to an error.
fn of_kind(at: usize, name: &str, error: &str) -> String {
    format!("workload.job, entry {} ({name:?}): {error}", at + 1)
}

impl ClusterSpec {
    fn check(&mut self, folder: &Path) -> Result<(), String> {
        let disturbances = (&mut self.contention, &mut self.neighbours, &mut self.failures);
        check_disturbances(disturbances, folder).map_err(|error| format!("cluster.{error}"))?;
        if let Some(racks) = self.racks {
            let Some(machines) = self.machines else {
                return Err(
                    "cluster.racks is for machines = N; give nodes their rack or racks in [[cluster.nodes]]".to_owned()
                );
            };
            check_racks("cluster.racks", racks, machines)?;
        }
        if self.power.is_some() && self.machines.is_none() {
            return Err("cluster.power is for machines = N; give nodes their power in [[cluster.nodes]]".to_owned());
        }
        self.machine_power()?;
        match (self.machines, self.nodes.is_empty()) {
            (None, true) => Err("cluster needs machines = N (one slot each) or [[cluster.nodes]]".to_owned()),
            (Some(_), false) => Err("cluster has both machines and nodes; give only one of them".to_owned()),
            (Some(machines), true) => check_machines("cluster.machines", machines),
            (None, false) => {
                for (at, class) in self.nodes.iter_mut().enumerate() {
                    let wrong = |error: String| format!("cluster.nodes, entry {}: {error}", at + 1);
                    if class.count == 0 {
                        return Err(wrong("count is 0, but must be at least 1".to_owned()));
                    }
                    if class.count > MOST_NODES {
                        return Err(wrong(format!("count is {}, but must be at most {MOST_NODES}", class.count)));
                    }
                    if class.cpus == 0.0 {
                        return Err(wrong("cpus is 0, but must be above 0".to_owned()));
                    }
                    class.capacity().map_err(wrong)?;
                    if let Some(name) = class.name.as_deref() {
                        check_name(name).map_err(|error| wrong(format!("name is {}, but {error}", Quoted(name))))?;
                    }
                    if let Some(rack) = class.rack.as_deref() {
                        check_shared_name(rack).map_err(|error| {
                            wrong(format!("rack is {}, but {error}; leave it out if there is none", Quoted(rack)))
                        })?;
                    }
                    if let Some(racks) = class.racks {
                        check_racks("racks", racks, class.count).map_err(wrong)?;
                        if class.rack.is_some() {
                            return Err(wrong("it has both rack and racks; give only one of them".to_owned()));
                        }
                    }
                    class.power().map_err(wrong)?;
                    class.speed.load(folder).map_err(wrong)?;
                    if let Some(speed) = class.speed.is_constant() {
                        positive("speed", Some(speed)).map_err(wrong)?;
                    }
                    if let Some(measured) = &mut class.measured_speed {
                        if class.speed.is_constant() != Some(1.0) {
                            return Err(wrong(
                                "it has both speed and measured_speed; give only one of them".to_owned(),
                            ));
                        }
                        measured.load(folder).map_err(|error| wrong(format!("measured_speed: {error}")))?;
                    }
                    let disturbances = (&mut class.contention, &mut class.neighbours, &mut class.failures);
                    check_disturbances(disturbances, folder).map_err(wrong)?;
                }
                let nodes: u64 = self.nodes.iter().map(|class| u64::from(class.count)).sum();
                if nodes > u64::from(MOST_NODES) {
                    return Err(format!(
                        "cluster.nodes has {nodes} nodes together, but must have at most {MOST_NODES}"
                    ));
                }
                let without = self.nodes.iter().position(|class| class.power.is_none());
                if let Some(at) = without.filter(|_| self.nodes.iter().any(|class| class.power.is_some())) {
                    return Err(format!(
                        "cluster.nodes, entry {}: it has no power, but other nodes have one; give it to all nodes or to \
                         none",
                        at + 1
                    ));
                }
                self.dimensions().map(|_| ())
            }
        }
    }
}

/// Checks what slows down or stops nodes, and reads the files that it names.
fn check_disturbances(
    (contention, neighbours, failures): (&mut Option<Contention>, &mut Option<Neighbours>, &mut Option<Failures>),
    folder: &Path,
) -> Result<(), String> {
    contention.as_ref().map_or(Ok(()), Contention::check)?;
    neighbours.as_mut().map_or(Ok(()), |neighbours| neighbours.check(folder))?;
    failures.as_mut().map_or(Ok(()), |failures| failures.check(folder))
}

/// Checks a number of one-slot machines.
pub(super) fn check_machines(name: &str, machines: u32) -> Result<(), String> {
    if (1..=MOST_NODES).contains(&machines) {
        Ok(())
    } else {
        Err(format!("{name} is {machines}, but must be from 1 to {MOST_NODES}"))
    }
}

fn check_racks(name: &str, racks: u32, nodes: u32) -> Result<(), String> {
    if racks == 0 || racks > nodes.max(1) {
        return Err(format!("{name} is {racks}, but must be from 1 to the number of nodes, {nodes}"));
    }
    Ok(())
}

/// Checks the keys of a deadline, and reads the files that they name.
pub(super) fn check_deadline(
    (deadline, factor): (&mut Option<Parameter>, &mut Option<Parameter>),
    folder: &Path,
) -> Result<(), String> {
    if deadline.is_some() && factor.is_some() {
        return Err("it has both deadline and deadline_factor; give only one of them".to_owned());
    }
    for (name, parameter) in [("deadline", deadline), ("deadline_factor", factor)] {
        if let Some(parameter) = parameter {
            parameter.load(folder).map_err(|error| format!("{name}: {error}"))?;
            positive(name, parameter.is_constant())?;
        }
    }
    Ok(())
}

/// Largest sigma of the factor by which known durations are wrong.
const MOST_DURATION_ERROR: f64 = 3.0;

impl WorkloadSpec {
    fn check(&mut self, horizon: Option<f64>, folder: &Path, cluster: &ClusterSpec) -> Result<(), String> {
        share("workload.correlation", self.correlation(), 1.0)?;
        if !(0.0..=MOST_DURATION_ERROR).contains(&self.duration_error) {
            let error = Plain(self.duration_error);
            return Err(format!("workload.duration_error is {error}, but must be from 0 to {MOST_DURATION_ERROR}"));
        }
        if !(0.0..1.0).contains(&self.slow_from) {
            return Err(format!("workload.slow_from is {}, but must be from 0 to below 1", Plain(self.slow_from)));
        }
        if let Some(stragglers) = &mut self.stragglers {
            stragglers.check(folder).map_err(|error| format!("workload.{error}"))?;
        }
        if let Some(file) = &mut self.file {
            *file = absolute(folder, file);
            let one_kind = self.tasks.is_some()
                || self.duration.is_some()
                || self.demand.is_some()
                || self.memory_accesses.is_some();
            if self.arrival.is_some() || one_kind || !self.job.is_empty() {
                return Err(
                    "workload.file defines arrivals, tasks, durations and demands; leave the other keys out".to_owned()
                );
            }
            if self.duration_error > 0.0 {
                return Err(
                    "workload.file defines the durations that are known; leave workload.duration_error out".to_owned()
                );
            }
            if self.deadline.is_some() || self.deadline_factor.is_some() || self.resumes.is_some() {
                return Err(
                    "workload.file defines the deadline of each job and which phases resume; leave workload.deadline, \
                     workload.deadline_factor and workload.resumes out"
                        .to_owned(),
                );
            }
            if !self.queues.is_empty() {
                return Err("workload.file defines the queue of each job; leave workload.queues out".to_owned());
            }
            return Ok(());
        }
        let Some(arrival) = &mut self.arrival else {
            return Err("workload needs arrival (or file), such as arrival = { poisson = { rate = 6.0 } }".to_owned());
        };
        match arrival {
            ArrivalSpec::Poisson(PoissonArrivals { rate, load }) => {
                one_of("poisson", ("rate", rate.is_some()), *load)?;
                positive("workload.arrival.poisson.rate", *rate)?;
                if horizon.is_none() {
                    return Err("poisson arrivals never end: give a horizon".to_owned());
                }
            }
            ArrivalSpec::AtOnce { jobs } | ArrivalSpec::Every(EveryArrivals { jobs, .. }) if *jobs == 0 => {
                return Err("workload.arrival: jobs is 0, but must be at least 1".to_owned());
            }
            ArrivalSpec::AtOnce { .. } => {}
            ArrivalSpec::Every(EveryArrivals { gap, load, .. }) => {
                one_of("every", ("gap", gap.is_some()), *load)?;
                if let Some(gap) = gap {
                    gap.load(folder).map_err(|error| format!("workload.arrival.every.gap: {error}"))?;
                    if let Some(gap) = gap.is_constant() {
                        not_negative("workload.arrival.every.gap", gap)?;
                    }
                }
            }
            ArrivalSpec::File(path) => {
                *path = absolute(folder, path);
                crate::parameter::read_numbers(path).map_err(|error| format!("workload.arrival: {error}"))?;
            }
        }
        check_deadline((&mut self.deadline, &mut self.deadline_factor), folder)
            .map_err(|error| format!("workload: {error}"))?;
        if !self.job.is_empty() {
            return self.check_kinds(horizon, folder, cluster);
        }
        let named = [("tasks", &mut self.tasks), ("duration", &mut self.duration)];
        for (name, parameter) in named {
            let Some(parameter) = parameter else {
                return Err(format!("workload needs {name}, a number or a distribution"));
            };
            parameter.load(folder).map_err(|error| format!("workload.{name}: {error}"))?;
        }
        if let Some(demand) = &self.demand {
            demand.by_name().map_err(|error| format!("workload.demand.{error}"))?;
        }
        not_negative("workload.memory_accesses", self.memory_accesses.unwrap_or(0.0))?;
        self.try_draws(horizon, cluster)
    }

    /// Draws a few jobs to find invalid parameters, and checks that the workload is not too large.
    fn try_draws(&mut self, horizon: Option<f64>, cluster: &ClusterSpec) -> Result<(), String> {
        generate::trial(self).map_err(|error| format!("workload.{error}"))?;
        if let Some(load) = self.arrival.as_ref().and_then(ArrivalSpec::load) {
            let offered = generate::offered(self, cluster, load);
            self.offered = Some(offered.map_err(|error| format!("workload.arrival: the load: {error}"))?);
        }
        self.load = generate::load(self, cluster);
        let (jobs, tasks) = generate::expected(self, horizon).map_err(|error| format!("workload.{error}"))?;
        if jobs > MOST_JOBS || jobs * tasks > MOST_TASKS_OF_ALL {
            let fewer = match &self.arrival {
                Some(ArrivalSpec::Poisson(PoissonArrivals { load: Some(_), .. })) => "lower the load or the horizon",
                Some(ArrivalSpec::Poisson(_)) => "lower workload.arrival.poisson.rate or the horizon",
                Some(ArrivalSpec::File(_)) => "list fewer arrivals",
                _ => "lower workload.arrival's jobs",
            };
            let or_tasks = if jobs > MOST_JOBS { "" } else { ", or the number of tasks of a job" };
            return Err(format!(
                "workload: {} jobs of {} tasks each would arrive on average, but at most {MOST_JOBS} jobs with \
                 {MOST_TASKS_OF_ALL} tasks together can be simulated: {fewer}{or_tasks}",
                Plain(rounded(jobs)),
                Plain(rounded(tasks))
            ));
        }
        Ok(())
    }

    fn check_kinds(&mut self, horizon: Option<f64>, folder: &Path, cluster: &ClusterSpec) -> Result<(), String> {
        let keys_without_kinds = [
            ("tasks", self.tasks.is_some()),
            ("duration", self.duration.is_some()),
            ("demand", self.demand.is_some()),
            ("memory_accesses", self.memory_accesses.is_some()),
            ("resumes", self.resumes.is_some()),
        ];
        if let Some((name, _)) = keys_without_kinds.into_iter().find(|(_, given)| *given) {
            return Err(format!(
                "workload has both {name} and [[workload.job]]: give {name} in the phases of each kind of job"
            ));
        }
        for at in 0..self.job.len() {
            let (before, rest) = self.job.split_at_mut(at);
            let Some(kind) = rest.first_mut() else { break };
            if before.iter().any(|other| other.name == kind.name) {
                return Err(format!("two kinds of jobs are called {:?}", kind.name));
            }
            kind.check(folder).map_err(|error| of_kind(at, &kind.name, &error))?;
        }
        self.try_draws(horizon, cluster)
    }
}

/// Rounds a number to three significant digits.
fn rounded(number: f64) -> f64 {
    format!("{number:.2e}").parse().unwrap_or(number)
}

pub(super) fn check_times(slot: Option<f64>, noise: f64, gamma: f64) -> Result<(), String> {
    positive("slot", slot)?;
    if slot.is_some_and(|slot| !(1e-9..=LONGEST).contains(&slot)) {
        return Err(format!("slot must be from 1e-9 to {LONGEST} seconds"));
    }
    not_negative("gamma", gamma)?;
    share("noise", noise, 5.0)
}

/// Checks that arrivals have either this key or a load.
fn one_of(kind: &str, (key, given): (&str, bool), load: Option<f64>) -> Result<(), String> {
    match (given, load) {
        (true, Some(_)) => Err(format!(
            "workload.arrival.{kind} has both {key} and load; give only one of them (on the command line, --set load=0.6 \
             replaces the {key})"
        )),
        (false, None) => Err(format!("workload.arrival.{kind} needs {key} or load")),
        (false, Some(load)) if load > MOST_LOAD && load.is_finite() => Err(format!(
            "workload.arrival.{kind}.load is {}, but must be at most {MOST_LOAD}: it is a share of what the cluster can do, so that \
             {}% is {}",
            Plain(load),
            Plain(load),
            Plain(load / 100.0)
        )),
        _ => positive(&format!("workload.arrival.{kind}.load"), load),
    }
}

fn positive(name: &str, number: Option<f64>) -> Result<(), String> {
    match number {
        Some(number) if !(number.is_finite() && number > 0.0) => {
            Err(format!("{name} is {}, but must be above 0{}", Plain(number), and_finite(number)))
        }
        _ => Ok(()),
    }
}

/// Returns the rest of what a number must be if it is infinite or not a number.
fn and_finite(number: f64) -> &'static str {
    if number.is_finite() { "" } else { " and finite" }
}

fn not_negative(name: &str, number: f64) -> Result<(), String> {
    if number.is_finite() && number >= 0.0 {
        Ok(())
    } else {
        Err(format!("{name} is {}, but must be at least 0{}", Plain(number), and_finite(number)))
    }
}

fn share(name: &str, number: f64, most: f64) -> Result<(), String> {
    if (0.0..=most).contains(&number) {
        Ok(())
    } else {
        Err(format!("{name} is {}, but must be from 0 to {most}", Plain(number)))
    }
}
