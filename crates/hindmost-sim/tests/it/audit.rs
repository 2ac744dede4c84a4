//! Checks a run against the books that a [`Ledger`] keeps: the invariants after each record, and the results at the end.

use hindmost_core::ids::JobId;
use hindmost_core::policy::losing_copies::Keep;
use hindmost_core::record::{Change, Decision, Event};
use hindmost_core::resources::{MAX_DIMENSIONS, Resources};
use hindmost_core::testing::Ledger;
use hindmost_core::time::Time;
use hindmost_sim::output::Outcome;
use hindmost_sim::testing::{Run, World};

/// Returns whether a record is a decision, or an event by which the driver carries out a decision immediately.
fn follows_a_decision(change: &Change) -> bool {
    matches!(change, Change::Decision(_) | Change::Event(Event::AttemptRunning { .. } | Event::AttemptStopped { .. }))
}

/// Limits on clones: clones of a task, copies of a task on a node, and the share of the cluster that all clones hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub clones: usize,
    pub per_node: usize,
    pub budget: Option<f64>,
}

/// Checks after every start that clones stay within their limits.
pub fn audit_clones(world: &World, run: &Run, limits: Limits) {
    let mut ledger = Ledger::new(world.setup.dimensions.clone());
    for record in &run.records {
        ledger.enter(record);
        let Change::Decision(Decision::Start { attempt, node, .. }) = &record.change else { continue };
        let copies = || ledger.held.iter().filter(|(id, _)| id.task == attempt.task);
        assert!(copies().count() <= 1 + limits.clones, "{attempt} exceeds the limit of clones of a task");
        let here = copies().filter(|(_, held)| held.node == node.0).count();
        assert!(here <= limits.per_node, "{attempt} exceeds the limit of copies of a task on a node");
        let Some(budget) = limits.budget.filter(|_| ledger.is_clone(*attempt)) else { continue };
        let clones = ledger.held.iter().filter(|(id, _)| ledger.is_clone(**id));
        let held = clones.fold(Resources::NONE, |sum, (_, held)| sum.plus(&held.demand));
        let total = ledger.capacities.iter().fold(Resources::NONE, Resources::plus);
        for (held, total) in held.0.iter().zip(&total.0) {
            assert!(*held as f64 <= budget * *total as f64 + 0.01, "clones hold {held} of {total}");
        }
    }
}

/// Asserts that the policy abandons no job before its deadline, and no job without one. For tests of policies that give up
/// late jobs.
pub fn audit_abandonments(run: &Run) {
    let mut due: Vec<Option<Time>> = Vec::new();
    for record in &run.records {
        match &record.change {
            Change::Event(Event::JobArrived { spec, .. }) => due.push(spec.deadline.map(|after| record.at + after)),
            Change::Decision(Decision::Abandon { job }) => {
                let due = due[job.0 as usize].unwrap_or_else(|| panic!("{job} is abandoned, but has no deadline"));
                assert!(record.at >= due, "{job} is abandoned at {}, before its deadline at {due}", record.at);
            }
            _ => {}
        }
    }
}

/// Checks the invariants after each record of a run, and the run's results at the end.
pub fn audit(world: &World, run: &Run) {
    audit_as(world, run, run.policy());
}

/// As [`audit`], for a policy of the test that is based on the policy of the catalogue with this name.
pub fn audit_as(world: &World, run: &Run, name: &str) {
    let mut ledger = Ledger::new(world.setup.dimensions.clone());
    // These leave resources idle on purpose: hopper keeps slots for later copies, pace does not use slow nodes, dollymp may wait
    // for the first open phase, and a queue has a maximum. What window reserves is not free.
    let idle = ["hopper", "pace", "phase=first"].iter().any(|other| name.contains(other));
    let conserving = !idle && world.setup.queues.is_empty();
    let mut last = Time::ZERO;
    let (mut in_round, mut stops) = (false, false);
    for (at, record) in run.records.iter().enumerate() {
        assert!(record.at >= last, "records are in order of time");
        // When a winner finishes, the task's other copies end at the same time, except one that the policy keeps. When a job
        // is abandoned, all its copies end at the same time.
        if record.at > last {
            let outlives = ledger.held.keys().find(|id| ledger.abandoned.contains_key(&id.task.job));
            assert!(outlives.is_none(), "{outlives:?} runs on after its job was abandoned");
            let mut outlives = ledger.held.keys().filter(|id| ledger.winners.contains_key(&id.task)).peekable();
            while let Some(id) = outlives.next() {
                let alone = outlives.peek().is_none_or(|next| next.task != id.task);
                assert!(world.keep == Keep::BestLocality && alone, "{id} runs on after its task has finished");
            }
        }
        last = record.at;
        ledger.enter(record);
        if !follows_a_decision(&record.change) {
            in_round = record.change == Change::Event(Event::Round);
            stops = false;
        }
        let frees = matches!(record.change, Change::Decision(Decision::Stop { .. } | Decision::Abandon { .. }));
        stops |= in_round && frees;
        let goes_on = run.records.get(at + 1).is_some_and(|next| follows_a_decision(&next.change));
        // The resources of a copy that is stopped in a round are free after it. The next round at the same time uses them.
        let mut same_time = run.records[at + 1..].iter().take_while(|later| later.at == record.at);
        let goes_on = goes_on || stops && same_time.any(|later| later.change == Change::Event(Event::Round));
        if in_round && !goes_on && conserving {
            ledger.is_conserving();
        }
    }
    ledger.has_freed_all();
    ledger.has_finished_all();
    check_results(world, run, &ledger);
}

fn check_results(world: &World, run: &Run, ledger: &Ledger) {
    let total = ledger.capacities.iter().fold(Resources::NONE, Resources::plus);
    let one_slot = world.setup.dimensions.is_one_slot();
    let won = run.attempts.iter().filter(|one| one.outcome == Outcome::Won);
    assert_eq!(won.count(), ledger.winners.len());
    let started: u64 = ledger.started.values().map(|copies| u64::from(*copies)).sum();
    assert_eq!((run.result.attempts, run.attempts.len() as u64), (started, started));
    let first_copies = ledger.started.values().filter(|copies| **copies > 0).count() as u64;
    let redundant = started - first_copies - ledger.relaunches.len() as u64;
    assert_eq!(run.result.copies_launched, redundant);
    let won = ledger.winners.values().filter(|(winner, _)| ledger.is_clone(*winner)).count() as u64;
    assert_eq!(run.result.copies_won, won);
    assert_eq!(run.result.abandoned, ledger.abandoned.len() as u64);
    assert_eq!(run.result.finished + run.result.abandoned, ledger.specs.len() as u64);
    let mut busy = [0.0; MAX_DIMENSIONS];
    for (id, spec) in (0..).map(JobId).zip(&ledger.specs) {
        let job = id.0 as usize;
        let mut resource = 0.0;
        for (phase, described) in spec.phases.iter().enumerate() {
            let seconds = ledger.spent.get(&(id, phase as u32)).copied().unwrap_or(0) as f64 / 1e9;
            let demand = world.setup.dimensions.demand(&described.demand).unwrap();
            let shares =
                demand.0.iter().zip(&total.0).filter(|(_, all)| **all > 0).map(|(one, all)| *one as f64 / *all as f64);
            let shares: Vec<f64> = shares.collect();
            resource += world.setup.gamma * seconds * if one_slot { 1.0 } else { shares.iter().sum() };
            for (busy, (one, all)) in
                busy.iter_mut().zip(demand.0.iter().zip(&total.0)).filter(|(_, (_, all))| **all > 0)
            {
                *busy += seconds * *one as f64 / *all as f64;
            }
        }
        if ledger.abandoned.contains_key(&id) {
            assert!(run.result.flowtime[job].is_nan() && run.result.resource[job].is_nan());
            continue;
        }
        let measured = run.result.resource[job];
        assert!((measured - resource).abs() <= 1e-9 * resource.max(1.0), "job {job}: {measured}, not {resource}");
        let finish = ledger.winners.iter().filter(|(task, _)| task.job == id).map(|(_, (_, at))| *at).max();
        let flowtime = (finish.unwrap() - spec.arrival).seconds();
        assert_eq!(run.result.flowtime[job], flowtime, "job {job} finishes with its last task");
    }
    let finished = ledger.winners.iter().filter(|(task, _)| !ledger.abandoned.contains_key(&task.job));
    let makespan = finished.map(|(_, (_, at))| *at).max().unwrap_or(Time::ZERO);
    assert_eq!(run.result.makespan, makespan.seconds());
    // The last job leaves with its last attempt, or when it is abandoned without any.
    let abandoned = ledger.abandoned.values().map(|at| at.seconds());
    let end = run.attempts.iter().map(|one| one.end).chain(abandoned).fold(0.0, f64::max);
    let utilization = if end > 0.0 { busy.into_iter().fold(0.0, f64::max) / end } else { 0.0 };
    assert!(utilization < 1.0 + 1e-9, "attempts held more than the cluster: {utilization}");
    assert!(
        (run.result.utilization - utilization).abs() < 1e-9,
        "utilization is {}, but attempts held {utilization}",
        run.result.utilization
    );
}
