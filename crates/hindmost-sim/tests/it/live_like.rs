//! A driver for tests that behaves like the live driver: nodes are lost and return, attempts fail, killing an attempt
//! takes time, and durations and speeds are learned during the run. It panics if an event does not fit the state, and
//! it keeps the records.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hindmost_core::cluster::{Attempt, AttemptState, Cluster, Placement, Task};
use hindmost_core::estimator::{Knowledge, estimator};
use hindmost_core::ids::{AttemptId, JobId, NodeId};
use hindmost_core::policy::{Policy, Refused};
use hindmost_core::record::{Change, Decision, Event, Record};
use hindmost_core::resources::{Dimensions, Resources};
use hindmost_core::session::{Answers, Session};
use hindmost_core::testing::Ledger;
use hindmost_core::time::Time;
use hindmost_core::verify::{Difference, Verified, verify};
use hindmost_core::workload::{DemandByName, InputSpec, JobSpec, PhaseSpec, TaskEdges, TaskGroups};
use hindmost_math::distribution::Distribution;
use hindmost_math::random::mix;
use hindmost_policies::catalogue::{ORDERS, SYSTEMS, Setting, build, check};
use hindmost_policies::parameters::{ParameterEntry, Valid};
use proptest::prelude::*;

/// The loss of a node: the time of the loss, and the time from the loss to the node's return, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    pub node: u32,
    pub at: f64,
    pub away: f64,
}

/// A cluster, its jobs, and the events that a live driver would produce.
#[derive(Clone, Debug)]
pub struct LiveLike {
    /// Cpus, GB of memory and speed of each node; if empty, the cluster has one-slot machines.
    pub nodes: Vec<(u32, u32, f64)>,
    /// Number of one-slot machines; unused if `nodes` is not empty.
    pub machines: u32,
    pub jobs: Vec<Arc<JobSpec>>,
    pub losses: Vec<Loss>,
    /// Seconds between rounds; 0: a round follows the events of every instant.
    pub slot: f64,
    /// Seconds from the decision to stop an attempt until it has ended.
    pub killing: f64,
    /// On average one of this many attempts fails; 0: no attempt fails.
    pub fails: u64,
    /// Whether durations and speeds are learned during the run.
    pub learns: bool,
    pub knowledge: Knowledge,
    pub placement: Placement,
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Finish(AttemptId),
    Stopped(AttemptId),
    Arrive(u32),
    Lose(u32),
    Return(u32),
    Watch(AttemptId),
    Learn(AttemptId),
    Wake,
}

/// The result of a run.
pub struct Ran {
    world: LiveLike,
    pub records: Vec<Record>,
    pub refused: Vec<Refused>,
}

struct Driver<'a> {
    world: &'a LiveLike,
    session: Session,
    agenda: BTreeSet<(Time, Due)>,
    /// Attempts that the policy has started and the driver has not yet begun.
    to_begin: Vec<AttemptId>,
    replacements: BTreeMap<AttemptId, AttemptId>,
    /// The last return of each node that is lost at least once. Earlier returns are ignored.
    away: BTreeMap<u32, Time>,
    finishes: BTreeMap<AttemptId, Time>,
    finished_jobs: BTreeSet<JobId>,
    records: Vec<Record>,
    refused: Vec<Refused>,
}

/// Creates a policy of the catalogue, with the order `fair` if the name has no order.
pub fn policy(name: &str) -> Policy {
    build(&name.parse().unwrap(), &Setting { order: "fair", gamma: 0.01, queues: &[], live: false }).unwrap()
}

impl LiveLike {
    fn dimensions(&self) -> Dimensions {
        if self.nodes.is_empty() {
            return Dimensions::one_slot();
        }
        Dimensions::of(self.capacities().iter()).unwrap()
    }

    fn capacities(&self) -> Vec<DemandByName> {
        let capacity = |(cpus, memory, _): &(u32, u32, f64)| amounts(f64::from(*cpus), f64::from(*memory));
        self.nodes.iter().map(capacity).collect()
    }

    fn session(&self, policy: Policy) -> Session {
        let cluster = Cluster::new(self.dimensions()).with_placement(self.placement, self.seed).visiting_by_id();
        Session::new(cluster, policy, estimator(self.knowledge))
    }

    /// Runs until all jobs have finished. An error says why a job does not finish.
    pub fn run(&self, policy: Policy) -> Result<Ran, String> {
        let mut driver = Driver {
            world: self,
            session: self.session(policy),
            agenda: BTreeSet::new(),
            to_begin: Vec::new(),
            replacements: BTreeMap::new(),
            away: BTreeMap::new(),
            finishes: BTreeMap::new(),
            finished_jobs: BTreeSet::new(),
            records: Vec::new(),
            refused: Vec::new(),
        };
        driver.run()?;
        Ok(Ran { world: self.clone(), records: driver.records, refused: driver.refused })
    }
}

pub fn amounts(cpus: f64, gigabytes: f64) -> DemandByName {
    DemandByName::from([("cpus".to_owned(), cpus), ("memory".to_owned(), gigabytes * 1e9)])
}

impl Ran {
    /// Checks that a policy makes the same decisions when the records are replayed.
    pub fn verify(&self, policy: Policy) -> Result<Verified, Difference> {
        verify(self.world.session(policy), true, self.records.clone())
    }

    /// Applies the records to an empty cluster, ends the attempts that are being stopped or were kept, and asserts that all resources of
    /// the nodes that are up are then free.
    pub fn leaves_nothing_behind(&self) {
        let mut cluster = Cluster::new(self.world.dimensions()).with_placement(self.world.placement, self.world.seed);
        for record in &self.records {
            cluster.apply(record).unwrap_or_else(|error| panic!("{error}"));
        }
        let running: Vec<AttemptId> = cluster.running().map(Attempt::id).collect();
        for attempt in running {
            cluster.apply_event(cluster.now(), &Event::AttemptStopped { attempt }).unwrap();
        }
        assert_eq!(cluster.runnable(), 0);
        assert!(cluster.jobs().all(|job| job.is_over() && job.running_copies() == 0));
        for node in cluster.nodes().iter().filter(|node| node.is_up()) {
            assert_eq!(node.free(), node.capacity(), "{}", node.name());
        }
    }

    /// Returns the jobs that the policy has abandoned.
    pub fn abandoned(&self) -> BTreeSet<JobId> {
        let abandoned = self.records.iter().filter_map(|record| match &record.change {
            Change::Decision(Decision::Abandon { job }) => Some(*job),
            _ => None,
        });
        abandoned.collect()
    }

    /// Asserts that the records fit each other, that all tasks of the jobs that are not abandoned have finished, and that no task has
    /// finished twice.
    pub fn is_sound(&self) {
        let ledger = Ledger::of(self.world.dimensions(), &self.records);
        ledger.has_finished_all();
        assert!(ledger.late.is_empty(), "{:?} finished after the winners of their tasks", ledger.late);
    }
}

impl Driver<'_> {
    fn run(&mut self) -> Result<(), String> {
        for (at, capacity) in (0..).zip(self.capacities()) {
            let speed = self.world.nodes.get(at as usize).map_or(1.0, |node| node.2);
            let name = format!("n{at}").into();
            self.happen(
                Time::ZERO,
                &Event::NodeJoined { node: NodeId(at), name, capacity, speed, rack: None, power: None },
            );
        }
        for (at, job) in (0..).zip(&self.world.jobs) {
            self.agenda.insert((job.arrival, Due::Arrive(at)));
        }
        for loss in &self.world.losses {
            let (at, back) = (Time::from_seconds(loss.at), Time::from_seconds(loss.at + loss.away));
            self.agenda.insert((at, Due::Lose(loss.node)));
            self.agenda.insert((back, Due::Return(loss.node)));
            let until = self.away.entry(loss.node).or_default();
            *until = back.max(*until);
        }
        while self.finished_jobs.len() < self.world.jobs.len() {
            let Some((first, _)) = self.agenda.first().copied() else {
                let last = self.records.iter().rev().take(20).rev();
                let last: Vec<String> = last.map(|record| format!("{} {:?}", record.at, record.change)).collect();
                return Err(format!("jobs wait, but the policy starts nothing:\n{}", last.join("\n")));
            };
            let boundary = first.round_up_to(Time::from_seconds(self.world.slot));
            while let Some((at, due)) = self.agenda.first().copied().filter(|(at, _)| *at <= boundary) {
                self.agenda.remove(&(at, due));
                self.due(at, due);
            }
            self.round(boundary);
            if self.records.len() > 100_000 {
                return Err("the run does not end".to_owned());
            }
        }
        Ok(())
    }

    fn capacities(&self) -> Vec<Resources> {
        if self.world.nodes.is_empty() {
            return vec![Resources::ONE_SLOT; self.world.machines as usize];
        }
        let dimensions = self.world.dimensions();
        self.world.capacities().iter().map(|capacity| dimensions.amounts(capacity).unwrap()).collect()
    }

    fn due(&mut self, at: Time, due: Due) {
        match due {
            Due::Arrive(job) => {
                let spec = Arc::clone(&self.world.jobs[job as usize]);
                self.happen(at, &Event::JobArrived { job: JobId(job), spec });
            }
            Due::Lose(node) => self.happen(at, &Event::NodeLost { node: NodeId(node), time_is_up: false }),
            Due::Return(node) => {
                if self.away[&node] <= at {
                    self.happen(at, &Event::NodeReturned { node: NodeId(node) });
                }
            }
            Due::Finish(attempt) => {
                if self.session.cluster().attempt(attempt).is_none() {
                    return;
                }
                let finished = self.session.cluster().task(attempt.task).is_some_and(Task::is_finished);
                let reason = self.fails(attempt).then(|| "exit code 1".into());
                let event = match (finished, reason) {
                    (true, _) => Event::AttemptStopped { attempt },
                    (false, None) => Event::AttemptFinished { attempt },
                    (false, reason) => Event::AttemptFailed { attempt, reason, external: None },
                };
                self.end(at, attempt, &event);
            }
            Due::Stopped(attempt) => {
                if self.session.cluster().attempt(attempt).is_some() {
                    self.end(at, attempt, &Event::AttemptStopped { attempt });
                }
            }
            Due::Watch(attempt) => {
                if self.session.cluster().attempt(attempt).is_some() {
                    let reports = !self.hash(attempt, 7).is_multiple_of(3);
                    let expected_finish = self.finishes.get(&attempt).copied().filter(|_| reports);
                    self.happen(
                        at,
                        &Event::WatchMet { attempt, expected_finish, conditions: None, guessed: false, stalled: false },
                    );
                }
            }
            Due::Learn(attempt) => {
                let (job, phase) = (attempt.task.job, attempt.task.phase);
                let mean = 1.0 + (self.hash(attempt, 8) % 4) as f64 / 2.0;
                let durations = Distribution::log_normal(mean, 0.5).unwrap();
                let progress = self.hash(attempt, 9).is_multiple_of(2);
                let event = Event::DurationsLearned {
                    job,
                    phase,
                    durations,
                    median: mean,
                    p90: 2.0 * mean,
                    progress,
                    samples: 3,
                };
                self.happen(at, &event);
                let node = NodeId((self.hash(attempt, 10) % self.session.cluster().nodes().len() as u64) as u32);
                let speed = [0.3, 1.0, 2.0][(self.hash(attempt, 11) % 3) as usize];
                self.happen(at, &Event::NodeSpeedLearned { node, speed });
            }
            Due::Wake => self.happen(at, &Event::Woken),
        }
    }

    fn hash(&self, attempt: AttemptId, purpose: u64) -> u64 {
        let task = attempt.task;
        let of = u64::from(task.job.0) << 48 ^ u64::from(task.phase) << 40 ^ u64::from(task.index) << 16;
        mix(mix(self.world.seed ^ purpose) ^ of ^ u64::from(attempt.copy))
    }

    /// Returns whether an attempt fails. From the fifth attempt of a task on, none fails, so that the task finishes.
    fn fails(&self, attempt: AttemptId) -> bool {
        self.world.fails > 0 && attempt.copy < 4 && self.hash(attempt, 1).is_multiple_of(self.world.fails)
    }

    fn end(&mut self, at: Time, attempt: AttemptId, event: &Event) {
        self.happen(at, event);
        if let Some(replacement) = self.replacements.remove(&attempt) {
            self.begin(at, replacement);
        }
    }

    /// Begins an attempt that holds its resources, and schedules its finish.
    fn begin(&mut self, at: Time, attempt: AttemptId) {
        let Some(found) = self.session.cluster().attempt(attempt) else { return };
        if found.state() == AttemptState::Stopping {
            return self.end(at, attempt, &Event::AttemptStopped { attempt });
        }
        // Durations are multiples of 0.5 s, so that several attempts end at the same time, also at the time of a loss.
        let halves = if self.hash(attempt, 2).is_multiple_of(8) { 24 } else { 1 + self.hash(attempt, 3) % 5 };
        let finish = at + Time::from_seconds(0.5 * halves as f64);
        self.finishes.insert(attempt, finish);
        self.agenda.insert((finish, Due::Finish(attempt)));
        if self.world.learns && self.hash(attempt, 4).is_multiple_of(4) {
            self.agenda.insert((at + Time::from_seconds(0.5), Due::Learn(attempt)));
        }
        self.happen(at, &Event::AttemptRunning { attempt, waited: None });
    }

    fn happen(&mut self, at: Time, event: &Event) {
        let at = at.max(self.session.cluster().now());
        let mut answers = Answers::default();
        let stepped = self.session.step(at, event, &mut answers).unwrap();
        self.records.push(Record { at, change: Change::Event(event.clone()) });
        self.refused.extend(answers.refused);
        self.decided(at, answers.decisions);
        if let (true, Event::AttemptFinished { attempt }) = (stepped.applied.job_finished, event) {
            self.finished_jobs.insert(attempt.task.job);
        }
    }

    fn round(&mut self, at: Time) {
        self.happen(at, &Event::Round);
        let at = self.session.cluster().now();
        while !self.to_begin.is_empty() {
            for attempt in std::mem::take(&mut self.to_begin) {
                self.begin(at, attempt);
            }
        }
    }

    fn decided(&mut self, at: Time, decisions: Vec<Decision>) {
        for decision in decisions {
            self.records.push(Record { at, change: Change::Decision(decision.clone()) });
            match decision {
                Decision::Start { attempt, .. } => self.to_begin.push(attempt),
                Decision::Stop { attempt, .. } => self.kill(at, attempt),
                Decision::Replace { attempt, .. } => {
                    let replacement =
                        self.session.cluster().copies(attempt.task).find(|copy| copy.replaces() == Some(attempt));
                    self.replacements.extend(replacement.map(|replacement| (attempt, replacement.id())));
                    self.kill(at, attempt);
                }
                Decision::Release { .. } => {}
                Decision::Abandon { job } => _ = self.finished_jobs.insert(job),
                Decision::Reserve { until, .. } => _ = self.agenda.insert((until, Due::Wake)),
                Decision::Wake { at: when } => _ = self.agenda.insert((when.max(at), Due::Wake)),
                Decision::Watch { attempt, .. } => {
                    let after = 0.25 * (1 + self.hash(attempt, at.0) % 5) as f64;
                    self.agenda.insert((at + Time::from_seconds(after), Due::Watch(attempt)));
                }
            }
        }
    }

    fn kill(&mut self, at: Time, attempt: AttemptId) {
        self.agenda.insert((at + Time::from_seconds(self.world.killing), Due::Stopped(attempt)));
    }
}

/// Draws a valid value of a parameter; `None` leaves the parameter out.
fn any_value(parameter: &'static ParameterEntry) -> BoxedStrategy<Option<String>> {
    let numbers = |low: f64, high: f64| -> Vec<String> {
        let some = [0.0, 0.1, 0.25, 0.5, 0.9, 1.0, 1.5, 2.0, 5.0];
        some.into_iter().filter(|number| (low..=high).contains(number)).map(|number| number.to_string()).collect()
    };
    let values = match parameter.valid {
        Valid::Switch => vec!["true".to_owned(), "false".to_owned()],
        Valid::OneOf(words) => words.iter().map(|word| (*word).to_owned()).collect(),
        Valid::Count(low, high) => (low..=high.min(low.saturating_add(3))).map(|count| count.to_string()).collect(),
        Valid::Number(low, high) | Valid::WordOrNumber(_, low, high) => numbers(low, high),
        Valid::NumberBelow(low, high) => numbers(low, high - 1e-3),
        Valid::OptimalOrNumber => numbers(0.1, 5.0),
    };
    if values.is_empty() {
        return Just(None).boxed();
    }
    proptest::option::of(proptest::sample::select(values)).boxed()
}

fn any_parameters(entries: Vec<&'static ParameterEntry>) -> impl Strategy<Value = String> {
    let names: Vec<&str> = entries.iter().map(|entry| entry.name).collect();
    entries.into_iter().map(any_value).collect::<Vec<_>>().prop_map(move |values| {
        let given = names.iter().zip(values).filter_map(|(name, value)| Some(format!("{name}={}", value?)));
        let given: Vec<String> = given.collect();
        if given.is_empty() { String::new() } else { format!("({})", given.join(",")) }
    })
}

/// Draws a policy: a system of the catalogue under its own order or another one, with small valid parameters.
pub fn any_policy_of_the_catalogue() -> impl Strategy<Value = String> {
    let system = (0..SYSTEMS.len()).prop_flat_map(|at| {
        let system = &SYSTEMS[at];
        any_parameters(system.parameters().iter().collect()).prop_map(move |given| format!("{}{given}", system.name))
    });
    let order = (0..ORDERS.len()).prop_flat_map(|at| {
        let order = &ORDERS[at];
        any_parameters(order.parameters().iter().collect()).prop_map(move |given| format!("{}{given}", order.name))
    });
    (proptest::option::of(order), system)
        .prop_map(|(order, system)| order.map_or(system.clone(), |order| format!("{order}+{system}")))
        .prop_filter("parameters that do not fit each other", |name| check(&name.parse().unwrap()).is_ok())
}

/// A random phase. Bit `i` of `parents` says whether the phase depends on phase `i`, if that is an earlier one.
#[derive(Clone, Debug)]
struct PhasePlan {
    tasks: u32,
    cpus: f64,
    memory: f64,
    parents: u8,
    /// Bits for [`edges`].
    edges: u16,
    assumed: bool,
    never_copied: bool,
    /// Bit `i` says whether task `i` was finished before the run.
    finished: u16,
    all_finished: bool,
    /// Numbers from which the nodes with the tasks' input follow; `None` if the tasks read nothing.
    reads: Option<Vec<u32>>,
}

fn any_phase() -> impl Strategy<Value = PhasePlan> {
    let shape = (1..10u32, 1..5u32, 0..4u32, any::<u8>(), any_edges());
    let flags = (proptest::bool::weighted(0.2), proptest::bool::weighted(0.15), proptest::bool::weighted(0.25));
    let reads = proptest::option::weighted(0.3, proptest::collection::vec(any::<u32>(), 1..4));
    (shape, flags, any::<u16>(), reads).prop_map(|((tasks, cpus, memory, parents, edges), flags, finished, reads)| {
        PhasePlan {
            tasks,
            cpus: f64::from(cpus) / 2.0,
            memory: f64::from(memory),
            parents,
            edges,
            assumed: flags.0,
            never_copied: flags.1,
            finished,
            all_finished: flags.2,
            reads,
        }
    })
}

/// Draws bits for [`edges`]; often 0.
pub fn any_edges() -> impl Strategy<Value = u16> {
    prop_oneof![Just(0), any::<u16>()]
}

/// Returns the edges from the tasks of a parent phase to those of a phase, given the numbers of their tasks. `None` if the phase
/// waits for the whole parent: if bit `parent` of `bits` is 0. Phases with equal numbers of tasks often have a chain for
/// each task. Otherwise, tasks are in groups, some of them perhaps without tasks of the parent.
pub fn edges(bits: u16, parent: u32, (parents, tasks): (u32, u32)) -> Option<TaskEdges> {
    let number = u32::from(bits >> 8);
    let groups = 1 + number % 5;
    let is_each = parents == tasks && number % 4 > 0;
    let of = |tasks: u32, step: u32| (0..tasks).map(|task| (task * step + task / 3) % groups).collect();
    let groups = TaskGroups { of_parents: of(parents, 1), of_tasks: of(tasks, number % 3) };
    // No group has a number above the number of tasks.
    let fits = groups.of_parents.iter().chain(&groups.of_tasks).all(|group| *group < parents + tasks);
    (bits >> parent & 1 == 1 && (is_each || fits)).then(|| TaskEdges { parent, groups: (!is_each).then_some(groups) })
}

fn spec(number: usize, arrival: f64, weight: f64, phases: &[PhasePlan], nodes: u32, finished: bool) -> JobSpec {
    let numbers: Vec<u32> = phases.iter().map(|phase| phase.tasks).collect();
    let phase = |(at, plan): (usize, &PhasePlan)| {
        let after: Vec<u32> = (0..at as u32).filter(|parent| plan.parents >> parent & 1 == 1).collect();
        let tasks = |parent: u32| (numbers[parent as usize], plan.tasks);
        let input = plan.reads.as_ref().map(|on| InputSpec {
            bytes: vec![1000; plan.tasks as usize],
            replicas: (0..plan.tasks as usize).map(|task| vec![NodeId(on[task % on.len()] % nodes)]).collect(),
        });
        let is_finished = |index: &u32| plan.all_finished || plan.finished >> index & 1 == 1;
        PhaseSpec {
            name: format!("p{at}").into(),
            edges: after.iter().filter_map(|parent| edges(plan.edges, *parent, tasks(*parent))).collect(),
            after,
            tasks: plan.tasks,
            demand: amounts(plan.cpus, plan.memory),
            mean: 1.5,
            sd: Some(1.0),
            tail: None,
            input,
            memory_accesses: 0.0,
            assumed: plan.assumed,
            never_copied: plan.never_copied,
            may_restart: plan.never_copied && plan.tasks.is_multiple_of(2),
            never_resumed: false,
            finished: if finished { (0..plan.tasks).filter(is_finished).collect() } else { Vec::new() },
        }
    };
    let mut phases: Vec<PhaseSpec> = phases.iter().enumerate().map(phase).collect();
    // A job needs at least one unfinished task.
    if phases.iter().all(|phase| phase.tasks_to_do() == 0) {
        phases[0].finished.pop();
    }
    let (name, arrival) = (number.to_string().into(), Time::from_seconds(arrival));
    JobSpec { name, arrival, deadline: None, weight, queue: None, phases }
}

/// Draws a placement.
pub fn any_placement() -> impl Strategy<Value = Placement> {
    proptest::sample::select(vec![Placement::First, Placement::Random, Placement::Spread, Placement::Fastest])
}

prop_compose! {
    /// Draws a cluster with jobs and losses of nodes. `finished`: whether tasks may be finished before the run.
    pub fn any_live_like(finished: bool)(
        one_slot in proptest::bool::weighted(0.3),
        machines in 1..8u32,
        nodes in proptest::collection::vec((2..6u32, 3..9u32, proptest::sample::select(vec![1.0, 1.0, 0.5, 2.0])), 1..6),
        jobs in proptest::collection::vec(
            (0..4u32, proptest::sample::select(vec![1.0, 1.0, 2.0, 0.3]), proptest::collection::vec(any_phase(), 1..5)), 1..5
        ),
        losses in proptest::collection::vec((any::<u32>(), 1..16u32, 1..9u32), 0..8),
        timing in (proptest::sample::select(vec![0.0, 0.0, 0.3, 1.0]), proptest::sample::select(vec![0.0, 0.25, 0.5])),
        fails in proptest::sample::select(vec![0, 0, 3, 10]),
        learns in any::<bool>(),
        knowledge in proptest::sample::select(vec!["progress(0.1)", "age", "history", "oracle", "profiles"]),
        placement in any_placement(),
        seed in any::<u64>(),
    ) -> LiveLike {
        let count = if one_slot { machines } else { nodes.len() as u32 };
        let mut arrival = 0.0;
        let jobs = jobs.iter().enumerate().map(|(number, (gap, weight, phases))| {
            arrival += f64::from(*gap) / 2.0;
            let mut spec = spec(number, arrival, *weight, phases, count, finished);
            if one_slot {
                spec.phases.iter_mut().for_each(|phase| phase.demand.clear());
            }
            Arc::new(spec)
        });
        let halves = |number: u32| f64::from(number) / 2.0;
        LiveLike {
            jobs: jobs.collect(),
            nodes: if one_slot { Vec::new() } else { nodes },
            machines,
            losses: losses
                .into_iter()
                .map(|(node, at, away)| Loss { node: node % count, at: halves(at), away: halves(away) })
                .collect(),
            slot: timing.0,
            killing: timing.1,
            fails,
            learns,
            knowledge: knowledge.parse().unwrap(),
            placement,
            seed,
        }
    }
}
