//! Exact workload files: one job per line, with the duration of every copy of every task, so that the run of another
//! simulator can be repeated copy by copy.
//!
//! ```json
//! {"job":"j1","arrival":0.0,"deadline":null,"phases":[{"name":"map","after":[],"demand":{"cpus":1,"memory":"2GB"},"mean":10.0,"sd":8.1,"tasks":[[12.3,4.5],[9.1]]}]}
//! ```
//!
//! Policies may know `mean`, `sd` (null if unknown or infinite), the optional `tail`, the optional `input` (bytes that each task
//! reads) and `replicas` (numbers of the nodes with the input, for each task), the optional `memory_accesses` (per second of a
//! running copy), and the optional `resumes` (true by default: a copy that starts from the progress of another leaves out the work
//! that is done). `deadline` counts in seconds from the job's arrival. Lines may be in any order; jobs are numbered by arrival,
//! then by line.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use hindmost_core::ids::NodeId;
use hindmost_core::names::{check_name, check_shared_name};
use hindmost_core::resources::parse_size;
use hindmost_core::time::Time;
use hindmost_core::workload::{DemandByName, Durations, InputSpec, JobSpec, PhaseSpec, WorkloadJob, edges_of_each};
use hindmost_math::distribution::Distribution;
use hindmost_math::plain::{Plain, Quoted, with_plain_numbers};
use serde::Deserialize;

use crate::phases::{Named, parents_first};
use crate::size::whole;

/// The error of a workload file that is not valid, with the file and the line.
#[derive(Debug, thiserror::Error)]
#[error("{origin}{}: {message}", line.map_or(String::new(), |line| format!(", line {line}")))]
pub struct ExactError {
    origin: String,
    line: Option<u64>,
    message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JobLine {
    job: JobName,
    arrival: f64,
    #[serde(default)]
    deadline: Option<f64>,
    #[serde(default)]
    weight: Option<f64>,
    #[serde(default)]
    queue: Option<String>,
    phases: Vec<PhaseLine>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum JobName {
    Text(String),
    Number(u64),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PhaseLine {
    name: String,
    #[serde(default)]
    after: Vec<String>,
    #[serde(default)]
    each: bool,
    #[serde(default)]
    demand: BTreeMap<String, Amount>,
    #[serde(default)]
    mean: Option<f64>,
    #[serde(default)]
    sd: Option<f64>,
    #[serde(default)]
    tail: Option<Distribution>,
    tasks: Vec<Vec<f64>>,
    #[serde(default)]
    input: Vec<Amount>,
    #[serde(default)]
    replicas: Vec<Vec<u32>>,
    #[serde(default)]
    memory_accesses: f64,
    #[serde(default = "yes")]
    resumes: bool,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Amount {
    Number(f64),
    Size(String),
}

impl Amount {
    /// Returns the number. A size is converted to bytes.
    fn number(&self) -> Result<f64, String> {
        match self {
            Amount::Number(number) => Ok(*number),
            Amount::Size(text) => parse_size(text),
        }
    }
}

/// Reads an exact workload file.
///
/// # Errors
/// If the file cannot be read, has no jobs, or a line is not a job; the error names the line.
pub fn read_exact(path: &Path) -> Result<Vec<WorkloadJob>, ExactError> {
    let origin = path.display().to_string();
    let file = File::open(path).map_err(|error| ExactError {
        origin: origin.clone(),
        line: None,
        message: error.to_string(),
    })?;
    read_exact_from(BufReader::new(file), &origin)
}

/// Reads an exact workload from a reader. Errors name `origin` as the file.
///
/// # Errors
/// Returns the errors of [`read_exact`].
pub fn read_exact_from(from: impl BufRead, origin: &str) -> Result<Vec<WorkloadJob>, ExactError> {
    let fail = |line: Option<u64>, message: String| ExactError { origin: origin.to_owned(), line, message };
    let mut jobs = Vec::new();
    let mut names: BTreeMap<Arc<str>, u64> = BTreeMap::new();
    for (at, text) in from.lines().enumerate() {
        let line = at as u64 + 1;
        let text = text.map_err(|error| {
            let message = if error.kind() == std::io::ErrorKind::InvalidData {
                "this is not text; a workload has one job per line, in JSON".to_owned()
            } else {
                error.to_string()
            };
            fail(Some(line), message)
        })?;
        if text.trim().is_empty() {
            continue;
        }
        let job: JobLine = serde_json::from_str(&text).map_err(|error| {
            fail(Some(line), format!("this is not a job: {}", with_plain_numbers(&error.to_string())))
        })?;
        let job = job.into_workload().map_err(|message| fail(Some(line), message))?;
        if let Some(first) = names.insert(job.spec.name.clone(), line) {
            let name = &job.spec.name;
            return Err(fail(Some(line), format!("the job {} was given before, in line {first}", Quoted(name))));
        }
        jobs.push(job);
    }
    if jobs.is_empty() {
        return Err(fail(None, "there is no job in this file".to_owned()));
    }
    // The sort is stable: jobs with the same arrival stay in the order of their lines.
    jobs.sort_by_key(|job| job.spec.arrival);
    Ok(jobs)
}

impl JobLine {
    fn into_workload(self) -> Result<WorkloadJob, String> {
        let valid_deadline = |seconds: f64| {
            let deadline = Time::from_seconds(seconds);
            if seconds.is_finite() && deadline > Time::ZERO {
                return Ok(deadline);
            }
            Err(format!("deadline is {}, but must be above 0", Plain(seconds)))
        };
        let valid_time = |name: &str, time: f64| {
            if time.is_finite() && time >= 0.0 {
                Ok(Time::from_seconds(time))
            } else {
                Err(format!("{name} is {}, but must be at least 0", Plain(time)))
            }
        };
        let name = match self.job {
            JobName::Text(text) => text,
            JobName::Number(number) => number.to_string(),
        };
        check_name(&name).map_err(|error| format!("the job's name is {}, but {error}", Quoted(&name)))?;
        let weight = self.weight.unwrap_or(1.0);
        if !(weight.is_finite() && weight > 0.0) {
            return Err(format!("weight is {}, but must be above 0", Plain(weight)));
        }
        if self.phases.is_empty() {
            return Err("the job has no phases".to_owned());
        }
        let named: Vec<Named<'_>> = self.phases.iter().map(|phase| (phase.name.as_str(), &phase.after[..])).collect();
        let order = parents_first(&named)?;
        let place: BTreeMap<&str, u32> =
            order.iter().enumerate().map(|(place, at)| (self.phases[*at].name.as_str(), place as u32)).collect();
        let (mut phases, mut durations) = (Vec::new(), Vec::new());
        for at in order {
            let phase = &self.phases[at];
            let named = |message: String| format!("phase {:?}: {message}", phase.name);
            phases.push(phase.spec(&place).map_err(named)?);
            durations.push(Durations::Listed(phase.tasks.clone()));
        }
        let spec = JobSpec {
            name: name.into(),
            arrival: valid_time("arrival", self.arrival)?,
            deadline: self.deadline.map(valid_deadline).transpose()?,
            weight,
            queue: self.queue.map(Into::into),
            phases,
        };
        spec.fault_of_edges().map_or(Ok(WorkloadJob { spec, durations }), Err)
    }
}

impl PhaseLine {
    fn spec(&self, place: &BTreeMap<&str, u32>) -> Result<PhaseSpec, String> {
        if self.tasks.is_empty() {
            return Err("it has no tasks".to_owned());
        }
        for (index, copies) in self.tasks.iter().enumerate() {
            if copies.is_empty() {
                return Err(format!("task {index} has no duration, not even for its first copy"));
            }
            if let Some(wrong) = copies.iter().find(|duration| !(duration.is_finite() && **duration >= 0.0)) {
                return Err(format!("task {index} has the duration {}, but it must be at least 0", Plain(*wrong)));
            }
        }
        let first_copies = self.tasks.iter().map(|copies| copies[0]);
        let mean = match (self.mean, &self.tail) {
            (Some(mean), _) => mean,
            (None, Some(tail)) => tail.mean(),
            (None, None) => first_copies.sum::<f64>() / self.tasks.len() as f64,
        };
        if !(mean.is_finite() && mean >= 0.0) {
            return Err(format!("mean is {}, but must be at least 0", Plain(mean)));
        }
        if let Some(sd) = self.sd.filter(|sd| !(sd.is_finite() && *sd >= 0.0)) {
            let sd = Plain(sd);
            return Err(format!("sd is {sd}, but must be at least 0, or null if it is unknown or infinite"));
        }
        if !(self.memory_accesses.is_finite() && self.memory_accesses >= 0.0) {
            return Err(format!("memory_accesses is {}, but must be at least 0", Plain(self.memory_accesses)));
        }
        let mut demand = DemandByName::new();
        for (dimension, amount) in &self.demand {
            check_shared_name(dimension)
                .map_err(|error| format!("demand: a resource's name is {}, but {error}", Quoted(dimension)))?;
            let amount = amount.number().map_err(|error| format!("demand of {dimension}: {error}"))?;
            demand.insert(dimension.clone(), amount);
        }
        let after: Vec<u32> = self.after.iter().filter_map(|parent| place.get(parent.as_str()).copied()).collect();
        Ok(PhaseSpec {
            edges: edges_of_each(self.each, &after),
            after,
            demand,
            sd: self.sd,
            tail: self.tail.clone(),
            input: self.input()?,
            memory_accesses: self.memory_accesses,
            never_resumed: !self.resumes,
            ..PhaseSpec::new(Arc::from(self.name.as_str()), self.tasks.len() as u32, mean)
        })
    }

    /// Returns the inputs of the tasks; `None` if they read nothing.
    fn input(&self) -> Result<Option<InputSpec>, String> {
        let tasks = self.tasks.len();
        for (name, given) in [("input", self.input.len()), ("replicas", self.replicas.len())] {
            if given != 0 && given != tasks {
                return Err(format!("{name} is given for {given} tasks, but there are {tasks}"));
            }
        }
        if self.input.is_empty() {
            let replicas = "replicas are given without input, the number of bytes that each task reads";
            return if self.replicas.is_empty() { Ok(None) } else { Err(replicas.to_owned()) };
        }
        let mut bytes = Vec::with_capacity(tasks);
        for (task, amount) in self.input.iter().enumerate() {
            let amount = amount.number().map_err(|error| format!("input of task {task}: {error}"))?;
            if !(0.0..1e15).contains(&amount) {
                return Err(format!(
                    "input of task {task} is {} bytes, but must be from 0 to below 10^15",
                    Plain(amount)
                ));
            }
            bytes.push(whole(amount));
        }
        let replicas = self.replicas.iter().map(|nodes| nodes.iter().copied().map(NodeId).collect()).collect();
        Ok(Some(InputSpec { bytes, replicas }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<WorkloadJob>, String> {
        read_exact_from(text.as_bytes(), "w.jsonl").map_err(|error| error.to_string())
    }

    #[test]
    fn the_documented_example_is_read() {
        let text = r#"{"job":"j1","arrival":0.5,"deadline":null,"phases":[{"name":"map","after":[],"demand":{"cpus":1,"memory":"2GB"},"mean":10.0,"sd":8.1,"tasks":[[12.3,4.5,7.7],[9.1,30.2,8.8]]},{"name":"reduce","after":["map"],"demand":{"cpus":2,"memory":"4GB"},"mean":13.0,"sd":9.0,"tail":{"pareto":{"alpha":2.6,"mean":13.0}},"tasks":[[11.0,12.0,40.1]]}]}"#;
        let jobs = read(text).unwrap();
        let spec = &jobs[0].spec;
        assert_eq!(&*spec.name, "j1");
        assert_eq!(spec.arrival, Time::from_seconds(0.5));
        assert_eq!(spec.phases[1].after, [0]);
        assert_eq!(spec.phases[0].demand["memory"], 2.0 * 1024f64.powi(3));
        assert!((spec.phases[1].tail.as_ref().unwrap().mean() - 13.0).abs() < 1e-12);
        assert_eq!(jobs[0].durations[0], Durations::Listed(vec![vec![12.3, 4.5, 7.7], vec![9.1, 30.2, 8.8]]));
    }

    #[test]
    fn jobs_are_sorted_by_arrival_and_parents_come_first() {
        let text = r#"{"job":"late","arrival":2,"phases":[{"name":"b","after":["a"],"tasks":[[1]]},{"name":"a","tasks":[[1]]}]}
{"job":7,"arrival":1,"phases":[{"name":"a","mean":1,"tasks":[[1]]}]}"#;
        let jobs = read(text).unwrap();
        assert_eq!(&*jobs[0].spec.name, "7");
        assert_eq!(&*jobs[1].spec.phases[0].name, "a");
        assert_eq!(jobs[1].spec.phases[1].after, [0]);
    }

    #[test]
    fn chains_of_tasks_are_read() {
        let text = |tasks: &str| {
            format!(
                r#"{{"job":"j","arrival":0,"phases":[{{"name":"a","tasks":[[1],[2]]}},{{"name":"b","after":["a"],"each":true,"tasks":{tasks}}}]}}"#
            )
        };
        assert_eq!(read(&text("[[1],[2]]")).unwrap()[0].spec.phases[1].edges, edges_of_each(true, &[0]));
        let error = read(&text("[[1]]")).unwrap_err();
        assert!(error.contains("each of its 1 tasks waits for one task of a phase that has 2"), "{error}");
    }

    #[test]
    fn errors_name_the_line_and_the_problem() {
        let phase = |body: &str| format!("\n{{\"job\":\"j\",\"arrival\":0,\"phases\":[{{\"name\":\"map\",{body}}}]}}");
        for (text, expected) in [
            (phase("\"tasks\":[]"), "no tasks"),
            (phase("\"tasks\":[[]]"), "not even for its first copy"),
            (phase("\"tasks\":[[-1]]"), "must be at least 0"),
            (
                phase("\"tasks\":[[1]]").replace("\"phases\"", "\"deadline\":0.0,\"phases\""),
                "deadline is 0, but must be above 0",
            ),
            (phase("\"tasks\":[[1]],\"after\":[\"mao\"]"), "is not a phase of the job; did you mean \"map\"?"),
            (phase("\"tasks\":[[1]],\"after\":[\"map\"]"), "in a cycle"),
            (phase("\"tasks\":[[1]],\"men\":1"), "unknown field"),
            (
                "\n{\"job\":\"j\",\"arrival\":-1,\"phases\":[{\"name\":\"map\",\"tasks\":[[1]]}]}".to_owned(),
                "arrival is -1",
            ),
            (phase("\"tasks\":[[1]],\"demand\":{\"cpus\":1,\"\":1}"), "name is \"\", but must not be blank"),
            (phase("\"tasks\":[[1]],\"demand\":{\"cpus \":1}"), "must not begin or end with white space"),
            (phase("\"tasks\":[[1]]").replace("\"map\"", "\" \""), "the name of phase 1, \" \", must not be blank"),
            (phase("\"tasks\":[[1]]").replace("\"map\"", "\"a\\u0007\""), "must not contain control characters"),
            (phase("\"tasks\":[[1]]").replace("\"j\"", "\"\""), "the job's name is \"\", but must not be blank"),
            (phase("\"tasks\":[[1]]").replace("\"j\"", "\"a\\nb\""), "must not contain control characters"),
            (phase("\"tasks\":[[-1e300]]"), "task 0 has the duration -1e300, but"),
            (phase("\"tasks\":[[1]],\"mean\":-1e300"), "mean is -1e300, but"),
            (phase("\"tasks\":[[1]],\"sd\":-1e-300"), "sd is -1e-300, but"),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.starts_with("w.jsonl, line 2: ") && error.contains(expected), "{error}");
        }
        assert!(read("").unwrap_err().contains("no job"));
        assert!(read_exact_from(&b"\xff\xfe\x00"[..], "w").unwrap_err().to_string().contains("not text"));
    }
}
