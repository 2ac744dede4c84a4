//! The energy of a run, computed again from its journal.

use std::collections::BTreeMap;

use hindmost_core::ids::{AttemptId, JobId, NodeId};
use hindmost_core::power::{CpuPower, PowerModel, StaticWatts};
use hindmost_core::record::{Change, Decision, Event};
use hindmost_core::workload::JobSpec;
use hindmost_sim::energy::RunEnergy;
use hindmost_sim::output::Outcome;
use hindmost_sim::testing::{Run, World};

/// What the journal says of an attempt.
struct Seen {
    node: usize,
    start: f64,
    end: f64,
    cores: f64,
    accesses: f64,
    bytes: f64,
    reading: f64,
}

/// A run as its journal shows it.
#[derive(Default)]
struct Journal {
    models: Vec<PowerModel>,
    /// When each node was in the cluster.
    up: Vec<Vec<(f64, f64)>>,
    attempts: Vec<Seen>,
    end: f64,
}

/// Reads the journal of a run. `stops` is the horizon of a run that stops there.
fn journal(run: &Run, network: Option<(f64, f64)>, stops: Option<f64>) -> Journal {
    let mut journal = Journal::default();
    let mut specs: BTreeMap<JobId, JobSpec> = BTreeMap::new();
    let mut placed: BTreeMap<AttemptId, NodeId> = BTreeMap::new();
    let mut next: BTreeMap<hindmost_core::ids::TaskId, u32> = BTreeMap::new();
    let mut open: BTreeMap<AttemptId, Seen> = BTreeMap::new();
    for record in &run.records {
        let at = record.at.seconds();
        match &record.change {
            Change::Event(Event::NodeJoined { power, .. }) => {
                journal.models.push((**power.as_ref().unwrap()).clone());
                journal.up.push(vec![(at, f64::INFINITY)]);
            }
            Change::Event(Event::NodeLost { node, .. }) => {
                journal.up[node.0 as usize].last_mut().unwrap().1 = at;
                let lost: Vec<AttemptId> =
                    open.iter().filter(|(_, seen)| seen.node == node.0 as usize).map(|(id, _)| *id).collect();
                for id in lost {
                    journal.attempts.push(Seen { end: at, ..open.remove(&id).unwrap() });
                }
                journal.end = at;
            }
            Change::Event(Event::NodeReturned { node }) => {
                journal.up[node.0 as usize].push((at, f64::INFINITY));
                journal.end = at;
            }
            Change::Event(Event::JobArrived { job, spec }) => {
                specs.insert(*job, (**spec).clone());
            }
            Change::Event(Event::AttemptRunning { attempt, .. }) => {
                let spec = &specs[&attempt.task.job].phases[attempt.task.phase as usize];
                let node = placed[attempt];
                let input = spec.input.as_ref();
                let replicas = input.and_then(|input| input.replicas.get(attempt.task.index as usize));
                let is_local = replicas.is_some_and(|replicas| replicas.contains(&node));
                let bytes =
                    input.filter(|_| !is_local).map_or(0, |input| input.bytes[attempt.task.index as usize]) as f64;
                // Without racks, every replica is in the same rack.
                let bandwidth = network.map_or(f64::INFINITY, |(rack, remote)| {
                    if replicas.is_some_and(|replicas| !replicas.is_empty()) { rack } else { remote }
                });
                let cores = spec.demand.get("cpus").copied().unwrap_or(1.0);
                let (node, start, accesses) = (node.0 as usize, at, spec.memory_accesses);
                open.insert(
                    *attempt,
                    Seen { node, start, end: f64::NAN, cores, accesses, bytes, reading: bytes / bandwidth },
                );
            }
            Change::Event(
                Event::AttemptFinished { attempt }
                | Event::AttemptStopped { attempt }
                | Event::AttemptFailed { attempt, .. },
            ) => {
                if let Some(seen) = open.remove(attempt) {
                    journal.attempts.push(Seen { end: at, ..seen });
                    journal.end = at;
                }
            }
            Change::Decision(Decision::Start { attempt, node, .. }) => {
                placed.insert(*attempt, *node);
                next.insert(attempt.task, attempt.copy + 1);
            }
            Change::Decision(Decision::Replace { attempt, .. }) => {
                let copy = next.get_mut(&attempt.task).unwrap();
                let node = placed[attempt];
                placed.insert(AttemptId { copy: *copy, ..*attempt }, node);
                *copy += 1;
            }
            _ => {}
        }
    }
    journal.end = stops.unwrap_or(journal.end);
    journal.attempts.extend(open.into_values().map(|seen| Seen { end: journal.end, ..seen }));
    journal
}

/// The power of a node with some busy cores, watts. Written out again, so that the model is tested, too.
fn watts(model: &PowerModel, busy: f64) -> f64 {
    let fixed = model.static_watts.cpu + model.static_watts.memory + model.static_watts.network;
    fixed
        + match &model.cpu {
            CpuPower::PerCore(each) => each * busy.min(model.cores),
            CpuPower::Curve(points) => {
                let share = (busy / model.cores).min(1.0);
                let segment = points.windows(2).find(|pair| share <= pair[1].0).unwrap();
                let ((from, low), (to, high)) = (segment[0], segment[1]);
                low + (share - from) / (to - from) * (high - low)
            }
        }
}

/// Returns the integral of the power of a node.
fn integral(journal: &Journal, node: usize) -> f64 {
    let model = &journal.models[node];
    let here: Vec<&Seen> = journal.attempts.iter().filter(|seen| seen.node == node).collect();
    let up = |at: f64| journal.up[node].iter().any(|(from, until)| *from <= at && at < *until);
    let mut times: Vec<f64> = vec![0.0, journal.end];
    times.extend(journal.up[node].iter().flat_map(|(from, until)| [*from, until.min(journal.end)]));
    times.extend(here.iter().flat_map(|seen| [seen.start, seen.end, (seen.start + seen.reading).min(seen.end)]));
    times.sort_by(f64::total_cmp);
    let mut sum = 0.0;
    for pair in times.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let middle = f64::midpoint(from, to);
        if to <= from || !up(middle) {
            continue;
        }
        let running = || here.iter().filter(|seen| seen.start < middle && middle < seen.end);
        let busy: f64 = running().map(|seen| seen.cores).sum();
        let accesses: f64 = running().map(|seen| seen.accesses).sum();
        let read: f64 =
            running().filter(|seen| middle < seen.start + seen.reading).map(|seen| seen.bytes / seen.reading).sum();
        let power = watts(model, busy) + accesses * model.joules_per_access + read * model.joules_per_byte;
        sum += power * (to - from);
    }
    // Reads that take no time.
    sum + here.iter().filter(|seen| seen.reading == 0.0).map(|seen| seen.bytes * model.joules_per_byte).sum::<f64>()
}

/// Returns the energy of an attempt: the power of its node with it minus the power without it, added up.
fn of_attempt(journal: &Journal, number: usize) -> f64 {
    let own = &journal.attempts[number];
    let model = &journal.models[own.node];
    let others = || {
        let of_node = journal.attempts.iter().enumerate().filter(|(_, seen)| seen.node == own.node);
        of_node.filter(|(other, _)| *other != number).map(|(_, seen)| seen)
    };
    let mut times: Vec<f64> = vec![own.start, own.end];
    times.extend(others().flat_map(|seen| [seen.start, seen.end]).filter(|at| own.start < *at && *at < own.end));
    times.sort_by(f64::total_cmp);
    let mut sum = 0.0;
    for pair in times.windows(2) {
        let middle = f64::midpoint(pair[0], pair[1]);
        let busy: f64 = others().filter(|seen| seen.start < middle && middle < seen.end).map(|seen| seen.cores).sum();
        sum += (watts(model, busy + own.cores) - watts(model, busy)) * (pair[1] - pair[0]);
    }
    let read = if own.reading > 0.0 { ((own.end - own.start) / own.reading).min(1.0) } else { 1.0 };
    sum + own.accesses * model.joules_per_access * (own.end - own.start) + own.bytes * read * model.joules_per_byte
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-6 * (1.0 + one.abs().max(other.abs()))
}

/// Asserts that the energy of a run is the integral of the nodes' power and the sum of its parts. `network` has the bandwidths within a
/// rack and between racks, `stops` the horizon of a run that stops there.
pub fn check_energy(run: &Run, network: Option<(f64, f64)>, stops: Option<f64>) {
    let policy = run.policy();
    let RunEnergy { parts, jobs, nodes } = run.result.energy.as_ref().expect("all nodes have power models");
    let journal = journal(run, network, stops);
    for (node, joules) in nodes.iter().enumerate() {
        let expected = integral(&journal, node);
        assert!(close(*joules, expected), "{policy}, node {node}: {joules} and {expected}");
    }
    let total: f64 = nodes.iter().sum();
    assert!(close(parts.total(), total), "{policy}: {parts:?} and {total}");
    // The energies of the attempts, one by one and summed up.
    let mut expected: Vec<f64> = (0..journal.attempts.len()).map(|number| of_attempt(&journal, number)).collect();
    let mut found: Vec<f64> = run.attempts.iter().map(|attempt| attempt.energy.unwrap()).collect();
    let attempts: f64 = found.iter().sum();
    assert!(close(parts.attempts(), attempts), "{policy}: {parts:?} and {attempts}");
    found.retain(|joules| joules.abs() > 1e-7);
    expected.retain(|joules| joules.abs() > 1e-7);
    found.sort_by(f64::total_cmp);
    expected.sort_by(f64::total_cmp);
    assert_eq!(found.len(), expected.len());
    for (one, other) in found.iter().zip(&expected) {
        assert!(close(*one, *other), "{policy}: {one} and {other}");
    }
    let idle: f64 = (0..nodes.len())
        .map(|node| {
            let up = journal.up[node].iter().map(|(from, until)| (until.min(journal.end) - from).max(0.0));
            watts(&journal.models[node], 0.0) * up.sum::<f64>()
        })
        .sum();
    assert!(close(parts.idle, idle), "{policy}: {} and {idle}", parts.idle);
    // Jobs have the energy of their attempts.
    for (job, joules) in jobs.iter().enumerate().filter(|(_, joules)| joules.is_finite()) {
        let own = run.attempts.iter().filter(|attempt| attempt.id.task.job.0 as usize == job);
        let sum: f64 = own.map(|attempt| attempt.energy.unwrap()).sum();
        assert!(close(*joules, sum), "{policy}, job {job}: {joules} and {sum}");
    }
    for (name, job) in &run.jobs {
        let joules = jobs[name.parse::<usize>().unwrap()];
        assert!(close(job.energy.unwrap(), joules), "{policy}, job {name}: {job:?} and {joules}");
    }
    // Winners and losers are in the parts of their own.
    let of = |outcomes: &[Outcome]| -> f64 {
        let own = run.attempts.iter().filter(|attempt| outcomes.contains(&attempt.outcome));
        own.map(|attempt| attempt.energy.unwrap()).sum()
    };
    let won = parts.normal_successful + parts.stragglers_successful + parts.copies_successful;
    assert!(close(won, of(&[Outcome::Won])));
    assert!(close(parts.lost, of(&[Outcome::NodeLost, Outcome::Abandoned, Outcome::Unfinished])));
}

#[test]
fn a_node_without_a_model_leaves_the_energy_unknown() {
    let model = PowerModel {
        static_watts: StaticWatts { cpu: 30.0, ..StaticWatts::default() },
        cpu: CpuPower::PerCore(10.0),
        cores: 1.0,
        joules_per_access: 0.0,
        joules_per_byte: 0.0,
    };
    let mut world = World::machines(2).power(model).job("a").tasks([[4.0]]);
    world.setup.nodes[1].power = None;
    let run = world.run("none");
    assert_eq!((run.result.energy.as_ref(), run.job("a").energy, run.tries("a")[0].energy), (None, None, None));
}
