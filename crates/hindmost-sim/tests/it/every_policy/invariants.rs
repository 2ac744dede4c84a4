//! What holds for every run of every policy.

use std::collections::BTreeMap;

use hindmost_core::cluster::Placement;
use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::journal::JournalReader;
use hindmost_core::record::{Change, Decision, Event, Record};
use hindmost_core::resources::Resources;
use hindmost_core::time::Time;
use hindmost_sim::output::Outcome;
use hindmost_sim::testing::{Run, Try, World};

use super::abandoning::abandoning;
use super::energy::check_energy;
use super::policies::PolicyPlan;
use super::queues::check_maxima;
use super::worlds::{Happening, Load};
use crate::audit::{audit, audit_abandonments, audit_as, audit_clones};

/// A run of a policy in a world, with numbers from which invariants draw what they change.
#[derive(Debug)]
pub struct Case {
    pub world: World,
    pub happening: Happening,
    pub policy: PolicyPlan,
    /// Another policy.
    pub other: String,
    pub number: u64,
    pub run: Run,
}

impl Case {
    /// Returns whether nothing ties the durations of attempts to nodes and to other attempts: the world has no reading and
    /// no changing rates.
    fn is_plain(&self) -> bool {
        matches!(self.happening, Happening::Losses | Happening::Queues)
    }

    fn has_losses(&self) -> bool {
        !self.world.setup.outages.is_empty() || self.world.setup.as_recorded.is_some()
    }

    /// Returns the world without losses of nodes, and without deadlines, which let policies resume attempts and abandon jobs.
    fn calm(&self) -> World {
        let mut world = self.world.clone();
        world.setup.outages.clear();
        world.setup.as_recorded = None;
        world.jobs.iter_mut().for_each(|job| job.spec.deadline = None);
        world
    }
}

/// Invariants that look at the run.
pub const OF_THE_RUN: &[fn(&Case)] = &[
    the_run_passes_the_audit,
    restarts_come_to_an_end,
    a_journal_replays_to_the_same_decisions,
    only_late_jobs_are_abandoned,
    clones_stay_within_their_limits,
    jobs_are_cloned_whole_within_the_budget,
    no_queue_exceeds_its_maximum,
    energy_is_the_integral_of_power,
    work_is_conserved_when_rates_change,
];

/// Invariants that compare it with another run. A case tries one of them.
pub const OF_ANOTHER_RUN: &[fn(&Case)] = &[
    the_same_seed_gives_the_same_bytes,
    an_altered_decision_is_noticed,
    all_policies_get_the_same_jobs_and_durations,
    jobs_are_numbered_by_arrival,
    fastest_placement_ignores_the_order_of_nodes,
    a_neighbour_that_slows_nothing_changes_nothing,
    nothing_of_an_abandoned_job_starts,
];

fn the_run_passes_the_audit(case: &Case) {
    if case.world.setup.drain {
        audit(&case.world, &case.run);
    }
}

/// Only Mantri with `kill_restart` replaces attempts. There are at most 8 jobs of 3 phases of 8 tasks, so a run with more records
/// restarts attempts endlessly.
fn restarts_come_to_an_end(case: &Case) {
    let records = case.run.records.len();
    assert!(!case.policy.name.contains("kill_restart=true") || records < 30_000, "{records} records");
}

fn a_journal_replays_to_the_same_decisions(case: &Case) {
    let journal = case.run.journal();
    let records: Vec<Record> = JournalReader::new(&journal[..]).unwrap().map(Result::unwrap).collect();
    assert_eq!(records, case.run.records);
    case.run.verify_records(records).unwrap_or_else(|error| panic!("{error}"));
}

fn only_late_jobs_are_abandoned(case: &Case) {
    audit_abandonments(&case.run);
    let result = &case.run.result;
    assert!(result.deadlines - result.met_deadlines >= result.abandoned);
}

fn clones_stay_within_their_limits(case: &Case) {
    if let Some(limits) = case.policy.limits {
        audit_clones(&case.world, &case.run, limits);
    }
}

/// Dolly's clones hold at most its budget, and jobs of more than ten tasks have none. Attempts that start again after a loss are
/// no clones, so worlds with losses are left out.
fn jobs_are_cloned_whole_within_the_budget(case: &Case) {
    let Some(budget) = case.policy.budget.filter(|_| !case.has_losses()) else { return };
    let largest = largest_share_of_clones(&case.world, &case.run);
    assert!(largest <= budget + 1e-9, "clones held {largest} of the cluster");
    for job in &case.world.jobs {
        let tasks: u32 = job.spec.phases.iter().map(|phase| phase.tasks).sum();
        assert!(tasks <= 10 || case.run.backups(&job.spec.name).is_empty(), "a job of {tasks} tasks has clones");
    }
}

/// Returns the largest share of the cluster, over dimensions and time, that clones held. All running copies of a task
/// except one count as clones.
fn largest_share_of_clones(world: &World, run: &Run) -> f64 {
    let mut total = Resources::NONE;
    let mut specs = Vec::new();
    let mut running: BTreeMap<TaskId, u64> = BTreeMap::new();
    let mut extra = Resources::NONE;
    let mut largest = 0.0f64;
    for record in &run.records {
        let (task, starts) = match &record.change {
            Change::Event(Event::NodeJoined { capacity, .. }) => {
                total = total.plus(capacity);
                continue;
            }
            Change::Event(Event::JobArrived { spec, .. }) => {
                specs.push(spec.clone());
                continue;
            }
            Change::Decision(Decision::Start { attempt, .. }) => (attempt.task, true),
            Change::Event(Event::AttemptFinished { attempt } | Event::AttemptStopped { attempt }) => {
                (attempt.task, false)
            }
            _ => continue,
        };
        let spec = &specs[task.job.0 as usize].phases[task.phase as usize];
        let demand = world.setup.dimensions.demand(&spec.demand).unwrap();
        let copies = running.entry(task).or_default();
        if starts {
            *copies += 1;
            extra = if *copies > 1 { extra.plus(&demand) } else { extra };
        } else {
            extra = if *copies > 1 { extra.minus(&demand) } else { extra };
            *copies -= 1;
        }
        largest = largest.max(extra.dominant_share(&total));
    }
    largest
}

fn no_queue_exceeds_its_maximum(case: &Case) {
    if matches!(case.happening, Happening::Queues) {
        check_maxima(&case.world, &case.run).unwrap_or_else(|error| panic!("{error}"));
    }
}

fn energy_is_the_integral_of_power(case: &Case) {
    if let Happening::Power { network, stops } = case.happening {
        check_energy(&case.run, network, stops);
    }
}

/// Work is conserved: without stragglers, the first copy of a task has the same work on every node and under every rate.
fn work_is_conserved_when_rates_change(case: &Case) {
    let Happening::Rates(loads) = &case.happening else { return };
    let (world, run) = (&case.world, &case.run);
    // In a world without disturbances every copy of the same job takes its work divided by the node's speed.
    let mut still = world.clone();
    still.setup.disturbances.clear();
    still.setup.learns_speeds = false;
    still.setup.slot = Time::ZERO;
    let plain = still.run("none");
    for one in run.attempts.iter().filter(|one| one.outcome == Outcome::Won && one.id.copy == 0) {
        let speed = |node: u32| world.setup.nodes[node as usize].speed;
        let reference = plain.attempts.iter().find(|other| other.id == one.id).unwrap();
        let expected = (reference.end - reference.start) * speed(reference.node) / speed(one.node);
        let done = work(world, run, loads, one);
        assert!((done - expected).abs() < 1e-6 * (1.0 + expected), "{one:?}: {done}, not {expected}");
    }
}

/// Returns the slow-down by a neighbour in the middle of an interval without a change.
fn of_neighbour(load: Option<Load>, middle: f64) -> f64 {
    let Some((quiet, busy, slowdown)) = load else { return 1.0 };
    if middle.rem_euclid(quiet + busy) < quiet { 1.0 } else { slowdown }
}

/// Returns the seconds of work, at the full rate of its node, that an attempt did: the integral of its rate, computed
/// from the times of all attempts on its node.
fn work(world: &World, run: &Run, loads: &[Option<Load>], one: &Try) -> f64 {
    let node = one.node as usize;
    let demand = |id: AttemptId| {
        let name = run.records.iter().find_map(|record| match &record.change {
            Change::Event(Event::JobArrived { job, spec }) if *job == id.task.job => {
                Some(spec.phases[id.task.phase as usize].demand.clone())
            }
            _ => None,
        });
        world.setup.dimensions.demand(&name.unwrap()).unwrap()
    };
    let (own, capacity) = (demand(one.id), world.setup.nodes[node].capacity);
    let beside: Vec<&Try> = run.attempts.iter().filter(|other| other.node == one.node && other.id != one.id).collect();
    let mut cuts = vec![one.start, one.end];
    cuts.extend(beside.iter().flat_map(|other| [other.start, other.end]));
    if let Some((quiet, busy, _)) = loads[node] {
        let mut at = 0.0;
        while at < one.end {
            cuts.extend([at, at + quiet]);
            at += quiet + busy;
        }
    }
    cuts.retain(|cut| (one.start..=one.end).contains(cut));
    cuts.sort_unstable_by(f64::total_cmp);
    let contention = world.setup.disturbances[node].contention.unwrap();
    let pieces = cuts.windows(2).filter(|piece| piece[1] - piece[0] > 1e-8).map(|piece| {
        let middle = f64::midpoint(piece[0], piece[1]);
        let others = beside.iter().filter(|other| other.start < middle && middle < other.end);
        let used = others.fold(Resources::NONE, |sum, other| sum.plus(&demand(other.id)));
        // The formula of docs/scenarios.md, written out again.
        let rest = capacity.minus(&own);
        let shares = used.0.iter().zip(&rest.0).filter(|(_, rest)| **rest > 0);
        let share = shares.map(|(used, rest)| *used as f64 / *rest as f64).fold(0.0, f64::max);
        let slowdown = 1.0 + (contention.degree - 1.0) * share.powf(contention.exponent);
        (piece[1] - piece[0]) / (slowdown * of_neighbour(loads[node], middle))
    });
    pieces.sum()
}

fn the_same_seed_gives_the_same_bytes(case: &Case) {
    let again = case.world.run(&case.policy.name);
    assert_eq!(again.journal(), case.run.journal());
    // Flowtimes of abandoned jobs are no numbers, which are not equal.
    assert_eq!(format!("{:?}", again.result), format!("{:?}", case.run.result));
}

fn an_altered_decision_is_noticed(case: &Case) {
    let mut records = case.run.records.clone();
    let is_decision = |at: &usize| matches!(records[*at].change, Change::Decision(_));
    let decisions: Vec<usize> = (0..records.len()).filter(is_decision).collect();
    // A run may have no decision.
    let Some(at) = (case.number / 3).checked_rem(decisions.len() as u64).map(|at| decisions[at as usize]) else {
        return;
    };
    match (case.number % 3, &mut records[at].change) {
        (0, _) => {
            records.remove(at);
        }
        (1, _) => records.insert(at, case.run.records[at].clone()),
        (_, Change::Decision(Decision::Start { node, .. })) => node.0 += 1,
        (_, Change::Decision(Decision::Watch { attempt, .. })) => attempt.task.index += 1,
        (_, Change::Decision(Decision::Stop { attempt, .. } | Decision::Replace { attempt, .. })) => attempt.copy += 1,
        (_, Change::Decision(Decision::Wake { at } | Decision::Reserve { until: at, .. })) => at.0 += 1,
        (_, Change::Decision(Decision::Release { task })) => task.index += 1,
        (_, Change::Decision(Decision::Abandon { job })) => job.0 += 1,
        (_, Change::Event(_)) => unreachable!(),
    }
    assert!(case.run.verify_records(records).is_err(), "verify does not notice that record {at} is altered");
}

/// With one seed, all policies get the same jobs, and the k-th copy of a task takes the same time under all.
fn all_policies_get_the_same_jobs_and_durations(case: &Case) {
    let mut world = case.calm();
    // Copies may take over the progress of others where there are deadlines, so the case's run does not serve.
    world.setup.outages.clone_from(&case.world.setup.outages);
    world.setup.queues.clear();
    let (one, other) = (world.run(&case.policy.name), world.run(&case.other));
    let arrivals = |run: &Run| -> Vec<Change> {
        let changes = run.records.iter().map(|record| record.change.clone());
        changes.filter(|change| matches!(change, Change::Event(Event::JobArrived { .. }))).collect()
    };
    assert_eq!(arrivals(&one), arrivals(&other));
    if !case.is_plain() || world.setup.nodes.iter().any(|node| node.speed != 1.0) {
        return;
    }
    let lengths: BTreeMap<AttemptId, &Try> = one.attempts.iter().map(|found| (found.id, found)).collect();
    for found in &other.attempts {
        let Some(same) = lengths.get(&found.id) else { continue };
        let (first, second) = (same.end - same.start, found.end - found.start);
        match (same.outcome, found.outcome) {
            (Outcome::Won, Outcome::Won) => assert!((first - second).abs() < 2e-9, "{}", found.id),
            (Outcome::Won, _) => assert!(second < first + 2e-9, "{}", found.id),
            (_, Outcome::Won) => assert!(first < second + 2e-9, "{}", found.id),
            _ => {}
        }
    }
}

/// Jobs that arrive at different times may be added in any order.
fn jobs_are_numbered_by_arrival(case: &Case) {
    let mut world = case.world.clone();
    for (number, job) in world.jobs.iter_mut().enumerate() {
        job.spec.arrival.0 += number as u64;
    }
    let mut turned = world.clone();
    turned.jobs.reverse();
    assert_eq!(world.run(&case.policy.name).records, turned.run(&case.policy.name).records);
}

/// Speeds of nodes are drawn from a continuous distribution, so they are distinct. `choice=first` takes the first slot by node
/// id.
fn fastest_placement_ignores_the_order_of_nodes(case: &Case) {
    let is_one_slot = case.world.setup.dimensions.is_one_slot();
    if !case.is_plain() || is_one_slot || case.policy.name.contains("choice=first") {
        return;
    }
    let world = case.calm().knowledge("oracle").placement(Placement::Fastest);
    let mut other = world.clone();
    let nodes = other.setup.nodes.len();
    other.setup.nodes.rotate_left(case.number as usize % nodes);
    other.setup.nodes.swap(0, nodes / 2);
    let [one, other] = [world, other].map(|world| world.run(&case.policy.name).result.flowtime);
    assert_eq!(one, other);
}

/// A neighbour that slows nothing down changes nothing.
fn a_neighbour_that_slows_nothing_changes_nothing(case: &Case) {
    if !case.is_plain() {
        return;
    }
    let policy = &case.policy.name;
    let world = case.calm().slot(0.0);
    let with = world.clone().neighbour_on(0, 0.7, 0.3, 1.0);
    let (plain, run) = (world.run(policy), with.run(policy));
    assert_eq!(run.result.rate_changes, 0);
    // Where rates may change, entries of the agenda for copies that were stopped cause no round. These policies test
    // attempts in every round, so their decisions may differ after such a round; what profiles predict may change
    // between rounds under every policy.
    let tests_in_rounds =
        ["hadoop", "spark", "mantri", "sda", "ese", "pace", "auto"].iter().any(|name| policy.contains(name));
    let tests_in_rounds = tests_in_rounds || world.setup.knowledge.to_string().starts_with("profiles");
    // A watch whose condition is true already is met before the next round, or where rates may change after one at the same time.
    if !tests_in_rounds || !has_round_without_event(&plain) && !differ_first_by_a_round(&plain, &run) {
        assert_eq!(plain.attempts, run.attempts);
    }
}

/// Returns whether the policy decided at a time at which it observed nothing.
fn has_round_without_event(run: &Run) -> bool {
    let is_round = |change: &Change| *change == Change::Event(Event::Round);
    run.records.windows(2).any(|pair| is_round(&pair[1].change) && pair[1].at > pair[0].at)
}

/// Returns whether the first difference between two runs is a round that only one of them has.
fn differ_first_by_a_round(one: &Run, other: &Run) -> bool {
    let is_round = |change: &Change| *change == Change::Event(Event::Round);
    let mut pairs = one.records.iter().zip(&other.records);
    pairs.find(|(one, other)| one != other).is_some_and(|(one, other)| is_round(&one.change) != is_round(&other.change))
}

/// Also if the policy abandons jobs at random.
fn nothing_of_an_abandoned_job_starts(case: &Case) {
    let (world, name) = (case.calm(), case.policy.name.clone());
    if !world.setup.drain || !world.setup.queues.is_empty() {
        return;
    }
    let number = case.number;
    let run = world.run_own(move || abandoning(&name, number));
    audit_as(&world, &run, &case.policy.name);
    run.verify().unwrap_or_else(|error| panic!("{error}"));
}
