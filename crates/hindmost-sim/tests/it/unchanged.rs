//! Checks that every system and order of the catalogue still makes the decisions of `unchanged.txt` on fixed scenarios.
//! Each line of that file describes a policy's runs: `scenario policy seeds events decisions digest-of-journal
//! digest-of-rows`.
//!
//! If decisions are to change, write the file again with
//! `HINDMOST_UPDATE_DIGESTS=1 cargo test -p hindmost-sim --test it unchanged`, and explain in the commit which lines
//! change and why.
//!
//! Durations are drawn with functions of the platform's mathematical library, whose results differ in the last bits
//! between platforms. The digests are those of Linux on x86-64.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use hindmost_core::metrics::JobResult;
use hindmost_core::record::{Change, Record};
use hindmost_policies::catalogue::{ORDERS, SYSTEMS};
use hindmost_sim::driver::Control;
use hindmost_sim::experiment::Experiment;
use hindmost_sim::output::{AttemptResult, Output};
use hindmost_sim::scenario::Scenario;

mod live;

/// The environment variable that makes the test write the file of expected lines again.
const UPDATE: &str = "HINDMOST_UPDATE_DIGESTS";

/// Orders that run with every system. The other orders run only with `none`.
const CROSSED: [&str; 9] = ["fair", "srpt", "drf", "capacity", "tetris", "dollymp", "hopper", "carbyne", "graphene"];

/// Policies with parameters other than the default.
const VARIANTS: [&str; 78] = [
    "hadoop(minimum_allowed=1)",
    "hadoop(minimum_allowed=0,of_total_tasks=0.2)",
    "hadoop(minimum_allowed=0,of_running_tasks=0.5)",
    "spark(quantile=0.5,multiplier=1.5)",
    "spark(quantile=0)",
    "spark(min_runtime=4)",
    "late(cap=1)",
    "late(cap=0.5,slow_task=0.5)",
    "late(cap=0.5,slow_node=0)",
    "late(cap=0.5,min_age=2)",
    "mantri(delta=0.05)",
    "mantri(delta=0.7)",
    "mantri(kill_restart=true)",
    "mantri(delta=0.05,kill_restart=true,max_restarts=1)",
    "tetris+mantri(kill_restart=true)",
    "mantri(rule=osdi2010)",
    "mantri(rule=osdi2010,max_restarts=0)",
    "tetris+mantri(rule=osdi2010)",
    "window(look_ahead=false,anytime=true)",
    "window(saves=time,originals_first=true)",
    "sca(max_copies=2)",
    "sca(max_copies=20)",
    "sda(sigma=0.5)",
    "sda(sigma=2)",
    "sda(sigma=optimal,max_copies=3)",
    "sda(sigma=0.7,max_copies=4)",
    "ese(sigma=0.5)",
    "ese(sigma=optimal,eta=2,xi=100)",
    "ese(eta=1,xi=10,max_copies=2)",
    "pace(lag=1.2)",
    "pace(after=1)",
    "pace(late=2,margin=2)",
    "pace(slow=0)",
    "pace(slow=0.9,margin=1)",
    "dolly(budget=0.3)",
    "dolly(small=30,budget=1,utilization=1)",
    "dolly(p=0.3,epsilon=0.01,budget=0.5)",
    "shed(reoptimise=arrival_and_end)",
    "shed(start=restart,masters=0)",
    "shed(kill=deadline,hopeless=clone)",
    "shed(stop_surplus=false)",
    "riski(gain=race,price=0.2)",
    "riski(kill=false,backups=1)",
    "chronos(strategy=clone)",
    "chronos(strategy=restart)",
    "chronos(r=2)",
    "chronos(strategy=restart,r=2,tau_est=0.5,tau_kill=2)",
    "dollymp(clones=0)",
    "dollymp(clones=1)",
    "dollymp(clones=2,clone_pass=by_node)",
    "dollymp(clones=3)",
    "dollymp(clones=3,per_node=3)",
    "dollymp(clone_pass=by_node,keep=best_locality)",
    "dollymp(keep=best_locality)",
    "dollymp(budget=0.1)",
    "dollymp(budget=0.2,clone_pass=by_node,per_node=2)",
    "dollymp(deviations=0)",
    "dollymp(slot=0.5)",
    "dollymp(fit=raw)",
    "dollymp(phase=first)",
    "fifo+dollymp(clones=1,clone_pass=by_node)",
    "svf+dollymp(budget=0.3)",
    "tetris+dollymp(clone_pass=by_node)",
    "tetris(epsilon=0)",
    "tetris(epsilon=2)",
    "tetris(remaining=time)",
    "capacity(resources=memory)",
    "hopper(beta=1.5)",
    "hopper(epsilon=0)",
    "hopper(epsilon=1,beta=3)",
    "hopper(beta=1.5)+late(cap=1)",
    "hopper(beta=1.5)+spark(quantile=0.5)",
    "graphene(kappa=0)",
    "graphene(kappa=1,srpt=0)",
    "graphene(srpt=2)",
    "graphene(kappa=0.5)+mantri(kill_restart=true)",
    "carbyne+mantri(kill_restart=true)",
    "carbyne+dollymp(clones=1)",
];

/// Returns every system alone, every order with `none`, the [`CROSSED`] orders with every system, and the [`VARIANTS`].
fn policies() -> Vec<String> {
    let systems = || SYSTEMS.iter().map(|system| system.name);
    let mut policies: Vec<String> = systems().map(str::to_owned).collect();
    policies.extend(ORDERS.iter().map(|order| format!("{}+none", order.name)));
    policies.extend(CROSSED.iter().flat_map(|order| systems().map(move |system| format!("{order}+{system}"))));
    policies.extend(VARIANTS.map(str::to_owned));
    let mut seen = BTreeSet::new();
    policies.retain(|policy| seen.insert(policy.clone()));
    policies
}

/// The scenarios: each is a file of `unchanged/`.
const SCENARIOS: [&str; 16] = [
    "light",
    "overload",
    "slots",
    "slots_overload",
    "dag",
    "demands",
    "speeds",
    "locality",
    "queues",
    "age",
    "oracle",
    "noise",
    "exact",
    "at_once",
    "deadlines",
    "profiles",
];

/// Seeds on which each scenario runs.
const SEEDS: [u64; 2] = [1, 2];

/// Largest number of records. No two runs have that many, so a policy with more is considered endless.
const MOST_RECORDS: u64 = 200_000;

/// The 64-bit FNV-1a hash of the bytes that are written to it.
struct Digest(u64);

impl Digest {
    fn new() -> Digest {
        Digest(0xcbf2_9ce4_8422_2325)
    }
}

impl io::Write for Digest {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Counts of events and decisions, and digests of the journal and of the record rows, over a policy's runs.
struct Digests {
    events: u64,
    decisions: u64,
    journal: Digest,
    rows: Digest,
}

impl Digests {
    fn new() -> Digests {
        Digests { events: 0, decisions: 0, journal: Digest::new(), rows: Digest::new() }
    }

    /// Returns the line of the file.
    fn line(&self, scenario: &str, policy: &str, seeds: &str) -> String {
        let (journal, rows) = (self.journal.0, self.rows.0);
        format!("{scenario} {policy} {seeds} {} {} {journal:016x} {rows:016x}", self.events, self.decisions)
    }
}

impl Output for Digests {
    fn wants_records(&self) -> bool {
        true
    }
    fn record(&mut self, record: &Record) -> io::Result<()> {
        match record.change {
            Change::Event(_) => self.events += 1,
            Change::Decision(_) => self.decisions += 1,
        }
        if self.events + self.decisions > MOST_RECORDS {
            return Err(io::Error::other("the run does not end"));
        }
        serde_json::to_writer(&mut self.journal, record)?;
        io::Write::write_all(&mut self.journal, b"\n")
    }
    fn wants_attempts(&self) -> bool {
        true
    }
    fn attempt(&mut self, row: &AttemptResult<'_>) -> io::Result<()> {
        let (task, copy) = (row.attempt.task, row.attempt.copy);
        let id = (task.job.0, task.phase, task.index, copy, row.node.0);
        io::Write::write_fmt(
            &mut self.rows,
            format_args!("{id:?} {} {} {}\n", row.start.0, row.end.0, row.outcome.name()),
        )
    }
    fn job(&mut self, name: &Arc<str>, row: &JobResult) -> io::Result<()> {
        let times = [row.arrival, row.start, row.finish, row.resource, row.wasted, row.slowdown];
        let counts = [row.tasks, row.attempts, row.copies_launched, row.copies_won];
        io::Write::write_fmt(&mut self.rows, format_args!("{name} {times:?} {counts:?} {:?}\n", row.met_deadline))
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/unchanged")
}

/// Runs a policy on a scenario and returns its line.
fn simulated(name: &str, experiment: &Experiment, policy: &str) -> String {
    let mut digests = Digests::new();
    let stop = AtomicBool::new(false);
    let control = Control { stop: &stop, progress: &|_| {} };
    let spec = policy.parse().unwrap_or_else(|error| panic!("{policy}: {error}"));
    let mut run = |seed| experiment.run_one(&spec, seed, &mut digests, &control);
    for seed in SEEDS {
        run(seed).unwrap_or_else(|error| panic!("{name}, {policy}, seed {seed}: {error}"));
    }
    digests.line(name, policy, "1-2")
}

type Job = Box<dyn Fn() -> String + Send + Sync>;

fn jobs() -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    for name in SCENARIOS {
        let file = folder().join(format!("{name}.toml"));
        let scenario = Scenario::load(&file.display().to_string(), &[]).unwrap_or_else(|error| panic!("{error}"));
        let experiment = Arc::new(Experiment::of(&scenario, 1).unwrap_or_else(|error| panic!("{name}: {error}")));
        for policy in policies() {
            let experiment = Arc::clone(&experiment);
            jobs.push(Box::new(move || simulated(name, &experiment, &policy)));
        }
    }
    for (name, world) in live::worlds() {
        let world = Arc::new(world);
        for policy in policies() {
            let world = Arc::clone(&world);
            jobs.push(Box::new(move || live::line(name, &world, &policy)));
        }
    }
    jobs
}

/// Makes all runs in parallel and returns their lines, in order.
fn lines() -> Vec<String> {
    let jobs = jobs();
    let (next, done) = (AtomicUsize::new(0), Mutex::new(vec![String::new(); jobs.len()]));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(at) else { break };
                    let line = job();
                    done.lock().expect("no thread panics")[at] = line;
                }
            });
        }
    });
    done.into_inner().expect("no thread panics")
}

/// Returns the lines by scenario and policy.
fn by_run(lines: &[String]) -> BTreeMap<String, &str> {
    let key = |line: &str| line.splitn(3, ' ').take(2).collect::<Vec<_>>().join(" ");
    lines.iter().map(|line| (key(line), line.as_str())).collect()
}

/// Describes the differences between the expected lines and the lines found; empty if there are none.
fn differences(expected: &[String], found: &[String]) -> String {
    const SHOWN: usize = 40;
    let (before, now) = (by_run(expected), by_run(found));
    let keys: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let differ: Vec<&String> = keys.into_iter().filter(|key| before.get(*key) != now.get(*key)).collect();
    let mut shown = String::new();
    for key in differ.iter().take(SHOWN) {
        for (sign, lines) in [('-', &before), ('+', &now)] {
            if let Some(line) = lines.get(*key) {
                writeln!(shown, "{sign} {line}").expect("writing to memory succeeds");
            }
        }
    }
    if !differ.is_empty() {
        writeln!(shown, "{} of {} runs differ", differ.len(), now.len()).expect("writing to memory succeeds");
    }
    shown
}

#[test]
fn every_policy_makes_the_same_decisions_as_before() {
    let file = folder().with_extension("txt");
    let found = lines();
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&file, found.join("\n") + "\n").expect("the expected lines are written");
    }
    let expected = std::fs::read_to_string(&file).expect("the expected lines are read");
    let expected: Vec<String> = expected.lines().map(str::to_owned).collect();
    let shown = differences(&expected, &found);
    assert!(shown.is_empty(), "\n{shown}If these changes are intended, {UPDATE}=1 writes {} again.", file.display());
}

#[test]
fn differences_name_the_runs_that_changed() {
    let lines = |text: &str| -> Vec<String> { text.lines().map(str::to_owned).collect() };
    let before = lines("light none 1-2 5 6 aa bb\nlight sda 1-2 5 6 aa bb\nlight gone 1-2 5 6 aa bb");
    let now = lines("light none 1-2 5 6 aa bb\nlight sda 1-2 5 7 cc bb\nlight new 1-2 5 6 aa bb");
    assert_eq!(differences(&before, &before), "");
    assert_eq!(
        differences(&before, &now),
        "- light gone 1-2 5 6 aa bb\n+ light new 1-2 5 6 aa bb\n- light sda 1-2 5 6 aa bb\n+ light sda 1-2 5 7 cc bb\n\
         3 of 3 runs differ\n"
    );
}
