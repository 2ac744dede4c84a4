//! Workloads with several kinds of jobs and phases: shares of kinds, order of phases, repeated phases, errors.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hindmost_core::ids::JobId;
use hindmost_core::record::{Change, Event, Record};
use hindmost_core::workload::JobSpec;
use hindmost_sim::driver::Control;
use hindmost_sim::experiment::Experiment;
use hindmost_sim::output::{AttemptResult, Outcome, Output};
use hindmost_sim::scenario::Scenario;
use proptest::prelude::*;

use crate::experiments::{experiment, run_on};

/// A scenario with two kinds of jobs: the word count of docs/scenarios.md, and a PageRank of three iterations.
const TWO_KINDS: &str = include_str!("mistakes/kinds.scenario.toml");

/// Start and end of an attempt, and whether it won.
type Times = (f64, f64, bool);

/// The jobs and attempts of a run.
#[derive(Default)]
struct Seen {
    specs: Vec<Arc<JobSpec>>,
    /// The attempts of each phase, by job and number of the phase.
    attempts: BTreeMap<(JobId, u32), Vec<Times>>,
}

impl Output for Seen {
    fn wants_records(&self) -> bool {
        true
    }
    fn record(&mut self, record: &Record) -> std::io::Result<()> {
        if let Change::Event(Event::JobArrived { spec, .. }) = &record.change {
            self.specs.push(spec.clone());
        }
        Ok(())
    }
    fn wants_attempts(&self) -> bool {
        true
    }
    fn attempt(&mut self, result: &AttemptResult<'_>) -> std::io::Result<()> {
        let task = result.attempt.task;
        let (start, end) = (result.start.seconds(), result.end.seconds());
        self.attempts.entry((task.job, task.phase)).or_default().push((start, end, result.outcome == Outcome::Won));
        Ok(())
    }
}

fn seen_of(text: &str, seed: u64) -> Seen {
    let experiment = experiment(text);
    let mut seen = Seen::default();
    let stop = AtomicBool::new(false);
    let control = Control { stop: &stop, progress: &|_| {} };
    experiment.run_one(&experiment.policies[0], seed, &mut seen, &control).expect("the run succeeds");
    seen
}

fn parse(text: &str, set: &[(&str, &str)]) -> Result<Scenario, String> {
    let set: Vec<(String, String)> = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::parse(text, "s.toml", Path::new(""), &set).map_err(|error| error.to_string())
}

fn is_wordcount(spec: &JobSpec) -> bool {
    spec.name.starts_with("wordcount-")
}

#[test]
fn kinds_of_jobs_arrive_in_their_shares() {
    let seeds = 1..=10u64;
    let all: Vec<Arc<JobSpec>> = seeds.flat_map(|seed| seen_of(TWO_KINDS, seed).specs).collect();
    assert_eq!(all.len(), 4000);
    let share = all.iter().filter(|spec| is_wordcount(spec)).count() as f64 / all.len() as f64;
    // Shares of 3 and 1 mean that 75% of the jobs are word counts; the tolerance is four standard errors.
    assert!((share - 0.75).abs() < 4.0 * (0.75f64 * 0.25 / 4000.0).sqrt(), "{share}");
    // The numbers in the names count the jobs of all kinds together.
    for (at, spec) in all.iter().enumerate() {
        let kind = if is_wordcount(spec) { "wordcount" } else { "pagerank" };
        assert_eq!(*spec.name, format!("{kind}-{}", at % 400));
    }
}

#[test]
fn phases_begin_when_their_parents_have_finished() {
    let seen = seen_of(TWO_KINDS, 3);
    let mut checked = 0;
    for (job, spec) in seen.specs.iter().enumerate() {
        let of = |phase: usize| &seen.attempts[&(JobId(job as u32), phase as u32)];
        for (at, phase) in spec.phases.iter().enumerate() {
            assert_eq!(of(at).iter().filter(|one| one.2).count() as u32, phase.tasks);
            let begins = of(at).iter().map(|one| one.0).fold(f64::INFINITY, f64::min);
            let parents = phase.after.iter().flat_map(|parent| of(*parent as usize));
            let ready = parents.filter(|one| one.2).map(|one| one.1).fold(0.0, f64::max);
            // All tasks fit at the same time, so a phase begins when the last task of its parents finishes.
            if !phase.after.is_empty() {
                assert_eq!(begins, ready, "{} {}", spec.name, phase.name);
                checked += 1;
            }
        }
    }
    assert!(checked > 400);
}

#[test]
fn a_repeated_phase_is_a_chain_of_equal_phases() {
    let specs = seen_of(TWO_KINDS, 1).specs;
    let jobs: Vec<&Arc<JobSpec>> = specs.iter().filter(|spec| !is_wordcount(spec)).collect();
    let mut means = std::collections::BTreeSet::new();
    for spec in &jobs {
        let names: Vec<&str> = spec.phases.iter().map(|phase| &*phase.name).collect();
        assert_eq!(names, ["read", "rank-1", "rank-2", "rank-3", "write"]);
        let after: Vec<&[u32]> = spec.phases.iter().map(|phase| &phase.after[..]).collect();
        // A phase that depends on a repeated phase depends on the last repetition.
        assert_eq!(after, [&[][..], &[0], &[1], &[2], &[3, 0]]);
        // The repetitions have the same number of tasks and the same mean.
        assert!(spec.phases[1..4].windows(2).all(|two| (two[0].tasks, two[0].mean) == (two[1].tasks, two[1].mean)));
        assert_eq!(spec.phases[0].tasks, 2);
        means.insert(spec.phases[1].mean.to_bits());
    }
    // The mean is drawn for each job, so all means differ.
    assert_eq!(means.len(), jobs.len());
    assert!(jobs.len() > 50);
}

#[test]
fn draws_of_one_phase_do_not_depend_on_others() {
    let more = TWO_KINDS.replace("tasks = 3\n", "tasks = { uniform = { min = 1, max = 8 } }\n");
    let (one, other) = (seen_of(TWO_KINDS, 5).specs, seen_of(&more, 5).specs);
    for (one, other) in one.iter().zip(&other) {
        assert_eq!((&one.name, one.phases.len()), (&other.name, other.phases.len()));
        assert_eq!(one.phases[0], other.phases[0]);
    }
    let reduces: std::collections::BTreeSet<u32> =
        other.iter().filter(|spec| is_wordcount(spec)).map(|spec| spec.phases[1].tasks).collect();
    assert_eq!(reduces, (1..=8).collect());
    // The numbers of tasks of a job's two phases are independent, so their covariance is about 0.
    let pairs: Vec<(f64, f64)> = other
        .iter()
        .filter(|spec| is_wordcount(spec))
        .map(|spec| (f64::from(spec.phases[0].tasks) - 4.0, f64::from(spec.phases[1].tasks) - 4.5))
        .collect();
    let product = pairs.iter().map(|(a, b)| a * b).sum::<f64>() / pairs.len() as f64;
    // The variances are 2 (of 2 to 6) and 5.25 (of 1 to 8).
    assert!(product.abs() < 4.0 * (2.0f64 * 5.25 / pairs.len() as f64).sqrt(), "{product}");
}

#[test]
fn one_kind_equals_the_workload_without_kinds() {
    let plain = "[cluster]\nmachines = 50\n[workload]\narrival = { every = { gap = 1, jobs = 60 } }\n\
                 tasks = { uniform = { min = 1, max = 20 } }\n\
                 duration = { pareto = { alpha = 2, mean = { uniform = { min = 1, max = 4 } } } }\n[[policy]]\nname = \"mantri\"";
    let kind = plain.replace(
        "tasks = {",
        "[[workload.job]]\nname = \"a\"\nshare = 0.2\n[[workload.job.phase]]\nname = \"tasks\"\ntasks = {",
    );
    assert_eq!(run_on(&experiment(plain), 1), run_on(&experiment(&kind), 1));
}

#[test]
fn values_of_kinds_can_be_set_by_path() {
    let set = [
        ("workload.job.0.phase.1.tasks", "4"),
        ("workload.job.1.share", "7.5"),
        ("workload.job.1.phase.1.repeat", "1"),
        ("workload.job.0.phase.0.demand.cpus", "0.5"),
    ];
    let scenario = parse(TWO_KINDS, &set).unwrap();
    let written = toml::to_string(&scenario).unwrap();
    for expected in ["tasks = 4\n", "share = 7.5", "repeat = 1", "cpus = 0.5"] {
        assert!(written.contains(expected), "{expected}: {written}");
    }
    let again = seen_of(&written, 1);
    let pagerank = again.specs.iter().find(|spec| !is_wordcount(spec)).unwrap();
    // A phase that is not repeated keeps its name.
    assert_eq!(pagerank.phases.iter().map(|phase| &*phase.name).collect::<Vec<_>>(), ["read", "rank", "write"]);
    let error = parse(TWO_KINDS, &[("workload.job.0.phase.7.tasks", "4")]).unwrap_err();
    assert!(error.contains("\"7\" is not an index of a list of 2"), "{error}");
}

#[test]
fn a_kind_without_phases_is_an_error() {
    let kind =
        "[cluster]\nmachines = 3\n[workload]\narrival = { at_once = { jobs = 1 } }\n[[workload.job]]\nname = \"a\"";
    let error = parse(kind, &[]).unwrap_err();
    assert!(error.contains("workload.job, entry 1 (\"a\"): it has no phases; add [[workload.job.phase]]"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(300, 3000)))]

    #[test]
    fn random_edits_of_kinds_never_panic(
        at in any::<prop::sample::Index>(), length in 0..12usize,
        piece in proptest::sample::select(vec!["", "nan", "-1", "0", "1e308", "99999999999", "[]", "{}", "\"", "\n", "[[workload.job]]", "repeat \
                                                                                                                                          = \
                                                                                                                                          9", "map", "rank-1"]),
    ) {
        let mut text: Vec<char> = TWO_KINDS.chars().collect();
        let at = at.index(text.len());
        let end = (at + length).min(text.len());
        text.splice(at..end, piece.chars());
        if let Ok(scenario) = parse(&text.into_iter().collect::<String>(), &[]) {
            drop(Experiment::of(&scenario, 1));
        }
    }
}
