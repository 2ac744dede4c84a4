//! What a run of an instance must show, and how it is compared with the run.

use hindmost_core::metrics::JobResult;
use hindmost_core::record::{Change, Decision, Event, Record};
use hindmost_sim::energy::RunEnergy;
use hindmost_sim::output::Outcome;
use hindmost_sim::testing::{Run, Try};
use hindmost_testing::expected::matches;
use toml::{Table, Value};

/// Keys of a run that state what it must show about jobs, by their names.
const OF_JOBS: [&str; 9] =
    ["starts", "ends", "ran_on", "energies", "backups", "attempts", "finish", "flowtime", "measures"];
/// Keys of a run that state what it must show as a whole.
const OF_RUN: [&str; 9] = ["started", "left", "abandoned", "rounds", "lost", "returned", "notices", "energy", "result"];

/// Returns whether a key of a run states what it must show. Other keys are changes of the instance's world.
pub fn is_expectation(key: &str) -> bool {
    OF_JOBS.contains(&key) || OF_RUN.contains(&key)
}

/// Returns the differences between a run and what it must show.
pub fn differences(expected: &Table, run: &Run) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |what: String, expected: &Value, actual: Value| {
        if !matches(expected, &actual) {
            found.push(format!("{what} is {actual}, not {expected}"));
        }
    };
    for (key, expected) in expected {
        if OF_JOBS.contains(&key.as_str()) {
            let jobs = expected.as_table().unwrap_or_else(|| panic!("`{key}` needs the name of a job: `{key}.NAME`"));
            for (job, expected) in jobs {
                assert!(run.names().any(|name| is_named(name, job)), "there is no job {job:?}");
                compare(format!("{key}.{job}"), expected, of_job(run, key, job));
            }
        } else if key == "started" {
            let (expected, actual) = as_precise(expected, &run.started());
            compare(key.clone(), &expected, actual);
        } else {
            compare(key.clone(), expected, of_run(run, key));
        }
    }
    found
}

/// Returns whether a job has a name, or one that begins like it, if it ends in "*".
fn is_named(name: &str, job: &str) -> bool {
    job.strip_suffix('*').map_or(name == job, |start| name.starts_with(start))
}

/// Returns the words of the expected order of starts, and the actual order with tasks named as precisely.
fn as_precise(expected: &Value, started: &[String]) -> (Value, Value) {
    let words: Vec<&str> = expected.as_str().expect("`started` is a text").split_whitespace().collect();
    let names_tasks = words.iter().any(|word| word.contains('/'));
    let name = |task: &String| if names_tasks { task.clone() } else { task.split('/').next().unwrap_or("").to_owned() };
    (words.into(), started.iter().map(name).collect::<Vec<String>>().into())
}

fn of_job(run: &Run, key: &str, job: &str) -> Value {
    let jobs = run.names().filter(|name| is_named(name, job));
    let tries: Vec<Try> = jobs.flat_map(|name| run.tries(name)).collect();
    let list = |is_listed: fn(&Try) -> bool, value: fn(&Try) -> Value| {
        Value::Array(tries.iter().filter(|one| is_listed(one)).map(value).collect())
    };
    match key {
        "starts" => list(|one| one.id.copy == 0, |one| one.start.into()),
        "ends" => list(|_| true, |one| one.end.into()),
        "ran_on" => list(|_| true, |one| one.node.into()),
        "energies" => list(|_| true, |one| one.energy.unwrap_or(f64::NAN).into()),
        "backups" => list(
            |one| one.id.copy > 0,
            |one| Value::Array(vec![one.id.task.index.into(), one.start.into(), one.node.into()]),
        ),
        "attempts" => list(|_| true, row),
        "finish" => run.job(job).finish.into(),
        "flowtime" => run.job(job).flowtime().into(),
        _ => of_measures(&run.job(job)).into(),
    }
}

/// Returns an attempt as a list: task, copy, node, start, end, how it ended.
fn row(one: &Try) -> Value {
    let outcome = match one.outcome {
        Outcome::Won => "won",
        Outcome::Lost => "lost",
        Outcome::Replaced => "replaced",
        Outcome::Abandoned => "abandoned",
        Outcome::NodeLost => "node lost",
        Outcome::Failed => "failed",
        Outcome::Unfinished => "unfinished",
    };
    let (task, copy, node) = (one.id.task.index, one.id.copy, one.node);
    Value::Array(vec![task.into(), copy.into(), node.into(), one.start.into(), one.end.into(), outcome.into()])
}

fn of_measures(job: &JobResult) -> Table {
    let lateness = job.lateness().map(|seconds| ("lateness", Value::from(seconds)));
    let energy = job.energy.map(|joules| ("energy", Value::from(joules)));
    let always = [
        ("resource", Value::from(job.resource)),
        ("wasted", Value::from(job.wasted)),
        ("slowdown", Value::from(job.slowdown)),
        ("tasks", Value::from(job.tasks as f64)),
    ];
    always.into_iter().chain(lateness).chain(energy).map(|(key, value)| (key.to_owned(), value)).collect()
}

fn of_run(run: &Run, key: &str) -> Value {
    let times_of = |is_counted: fn(&Change) -> bool| {
        let counted = run.records.iter().filter(|record| is_counted(&record.change));
        Value::from(counted.map(|record| record.at.seconds()).collect::<Vec<f64>>())
    };
    match key {
        "abandoned" => times_of(|change| matches!(change, Change::Decision(Decision::Abandon { .. }))),
        "rounds" => times_of(|change| *change == Change::Event(Event::Round)),
        "lost" => times_of(|change| matches!(change, Change::Event(Event::NodeLost { .. }))),
        "returned" => times_of(|change| matches!(change, Change::Event(Event::NodeReturned { .. }))),
        "left" => run.jobs.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" ").into(),
        "notices" => Value::Array(run.records.iter().filter_map(notice).collect()),
        "energy" => run.result.energy.as_ref().map_or("unknown".into(), |energy| of_energy(energy).into()),
        _ => of_result(run).into(),
    }
}

/// Returns a notice to the policy that watches an attempt: its time, the expected finish, and whether a condition has come true.
fn notice(record: &Record) -> Option<Value> {
    let Change::Event(Event::WatchMet { expected_finish, conditions, .. }) = &record.change else { return None };
    let finish = expected_finish.map_or("unknown".into(), |finish| Value::from(finish.seconds()));
    Some(Value::Array(vec![record.at.seconds().into(), finish, conditions.is_none().into()]))
}

fn of_energy(energy: &RunEnergy) -> Table {
    let parts = &energy.parts;
    let mut table = Table::try_from(parts).expect("parts are numbers");
    table.insert("total".to_owned(), parts.total().into());
    table.insert("attempts".to_owned(), parts.attempts().into());
    table.insert("jobs".to_owned(), energy.jobs.clone().into());
    table.insert("nodes".to_owned(), energy.nodes.clone().into());
    table
}

fn of_result(run: &Run) -> Table {
    let result = &run.result;
    let counts = result.counts.iter().map(|(key, count)| ((*key).to_owned(), Value::from(*count as f64)));
    let mut table = Table::from_iter([
        ("flowtimes".to_owned(), Value::from(result.flowtime.clone())),
        ("counts".to_owned(), Value::Table(counts.collect())),
    ]);
    for (key, value) in [
        ("sum_of_flowtimes", result.flowtime.iter().sum()),
        ("slot_seconds", run.attempts.iter().map(|one| one.end - one.start).sum()),
        ("makespan", result.makespan),
        ("utilization", result.utilization),
        ("wasted", result.wasted),
        ("finished", result.finished as f64),
        ("unfinished", result.unfinished as f64),
        ("abandoned", result.abandoned as f64),
        ("tasks", result.tasks as f64),
        ("attempts", result.attempts as f64),
        ("copies_launched", result.copies_launched as f64),
        ("copies_won", result.copies_won as f64),
        ("lost_attempts", result.lost_attempts as f64),
        ("deadlines", result.deadlines as f64),
        ("met_deadlines", result.met_deadlines as f64),
        ("undecided_deadlines", result.undecided_deadlines as f64),
        ("stragglers", result.stragglers as f64),
        ("node_failures", result.node_failures as f64),
        ("speeds_learned", result.speeds_learned as f64),
        ("rate_changes", result.rate_changes as f64),
    ] {
        table.insert(key.to_owned(), value.into());
    }
    table
}
