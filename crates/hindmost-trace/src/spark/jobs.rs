//! The jobs of an application and their names.

use rustc_hash::FxHashMap;

use super::connect;
use super::fields::{JobStart, SqlEnd};
use super::id_sets::RangeSet;
use crate::reading::causes::shortened;
use crate::reading::json::{behind_key, leading_number, leading_string};

/// The most SQL executions and jobs without an end that are kept. A log with missing parts may have many. The oldest
/// jobs are dropped first.
const MOST_HELD: usize = 4096;
/// The largest number of characters of a description.
const LONGEST: usize = 80;
/// The most bytes of a description that are read.
const LOOKED_AT: usize = 600;

#[derive(Debug, Default)]
pub(super) struct Jobs {
    /// Whether finished jobs are dropped.
    drop_finished: bool,
    ids: RangeSet,
    started: u32,
    /// Jobs that have started and not ended, in the order in which they started.
    active: Vec<Active>,
    /// All jobs, unless finished ones are dropped.
    pub list: Vec<Job>,
    /// Descriptions of running SQL executions.
    executions: FxHashMap<i64, Box<str>>,
    pub skipped_stages: u64,
}

#[derive(Debug)]
pub(super) struct Job {
    pub id: u32,
    /// Submission time in milliseconds since 1970.
    pub submitted: Option<i64>,
    /// The job's description; empty if the log has none.
    pub description: Box<str>,
}

#[derive(Debug)]
struct Active {
    id: u32,
    index: u32,
    name: Box<str>,
    /// The stages that the job lists, sorted by id, and whether each was submitted since the job started.
    stages: Vec<(u32, bool)>,
}

impl Jobs {
    pub(super) fn new(drop_finished: bool) -> Self {
        Jobs { drop_finished, ..Jobs::default() }
    }

    /// Returns the number of distinct job ids.
    pub(super) fn len(&self) -> u64 {
        self.ids.len()
    }

    /// Returns the number of jobs that have started.
    pub(super) fn started(&self) -> u32 {
        self.started
    }

    /// Returns the number of jobs that have started and not ended.
    pub(super) fn open(&self) -> u64 {
        self.active.len() as u64
    }

    pub(super) fn start(&mut self, event: &JobStart<'_>) {
        let Some(id) = event.id.id().filter(|&id| self.ids.insert(id)) else {
            return;
        };
        let infos = event.stages.iter().flatten().filter_map(|info| info.id.id());
        let ids = event.stage_ids.iter().flatten().filter_map(|id| id.id());
        let mut stages: Vec<(u32, bool)> = infos.chain(ids).map(|id| (id, false)).collect();
        stages.sort_unstable();
        stages.dedup();
        let description = self.description(event);
        let name = job_name(&[id], &description).into();
        if !self.drop_finished {
            self.list.push(Job { id, submitted: event.time.instant(), description });
        } else if self.active.len() >= MOST_HELD {
            self.active.drain(..MOST_HELD / 4);
        }
        self.active.push(Active { id, index: self.started, name, stages });
        self.started += 1;
    }

    fn description(&self, event: &JobStart<'_>) -> Box<str> {
        let tags = event.properties.as_ref().and_then(|properties| properties.tags.get());
        if let Some(operation) = tags.and_then(connect::operation) {
            return shortened(&operation, LONGEST).into();
        }
        let of_sql = event.execution().and_then(|execution| self.executions.get(&execution));
        of_sql.cloned().unwrap_or_else(|| {
            let own = event.properties.as_ref().and_then(|properties| properties.description.get());
            shortened(own.unwrap_or_default(), LONGEST).into()
        })
    }

    /// Returns the name of a job that has not ended, and the stages that it lists.
    pub(super) fn running(&self, id: Option<u32>) -> Option<(&str, impl Iterator<Item = u32>)> {
        let job = self.active.iter().find(|job| Some(job.id) == id)?;
        Some((&*job.name, job.stages.iter().map(|(id, _)| *id)))
    }

    /// Ends a job. Returns the stages that this job lists and no other active job lists.
    pub(super) fn end(&mut self, id: Option<u32>) -> Vec<u32> {
        let Some(at) = self.active.iter().position(|job| Some(job.id) == id) else {
            return Vec::new();
        };
        let ended = self.active.remove(at);
        self.skipped_stages += ended.stages.iter().filter(|(_, ran)| !ran).count() as u64;
        let listed = ended.stages.into_iter().map(|(id, _)| id);
        listed.filter(|&stage| self.active.iter().all(|job| job.position(stage).is_none())).collect()
    }

    /// Records that a stage runs, for all active jobs that list it. Returns the index and the name of the first such
    /// job.
    pub(super) fn ran(&mut self, stage: u32) -> Option<(u32, &str)> {
        let mut first = None;
        for (at, job) in self.active.iter_mut().enumerate() {
            if let Some(found) = job.position(stage) {
                job.stages[found].1 = true;
                first.get_or_insert(at);
            }
        }
        first.map(|at| (self.active[at].index, &*self.active[at].name))
    }

    /// Reads the beginning of an SQL execution start event: number and description, which come before the long plan.
    pub(super) fn sql_start(&mut self, line: &[u8]) {
        let number = behind_key(line, r#""executionId""#).and_then(leading_number);
        let description = behind_key(line, r#""description""#).and_then(|text| leading_string(text, LOOKED_AT));
        if let (Some(number), Some(description)) = (number, description) {
            if self.executions.len() >= MOST_HELD {
                self.executions.clear();
            }
            self.executions.insert(number, shortened(&description, LONGEST).into());
        }
    }

    pub(super) fn sql_end(&mut self, event: &SqlEnd) {
        if let Some(number) = event.execution.whole() {
            self.executions.remove(&number);
        }
    }
}

/// Returns the name of a job, or of several joined jobs: `job 3: count at Main.scala:7`, `jobs 4-6`, `jobs 4, 6`.
pub(super) fn job_name(ids: &[u32], description: &str) -> String {
    let numbers = match ids {
        [only] => format!("job {only}"),
        [first, .., last] if (last - first) as usize + 1 == ids.len() => format!("jobs {first}-{last}"),
        [first, .., last] if ids.len() > 6 => format!("{} jobs from {first} to {last}", ids.len()),
        _ => format!("jobs {}", ids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")),
    };
    if description.is_empty() { numbers } else { format!("{numbers}: {description}") }
}

impl Active {
    fn position(&self, stage: u32) -> Option<usize> {
        self.stages.binary_search_by_key(&stage, |&(id, _)| id).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::super::events::parse;
    use super::*;

    fn name(sql: &str, properties: &str) -> String {
        let mut jobs = Jobs::new(true);
        jobs.sql_start(sql.as_bytes());
        let start = format!(r#"{{"Job ID":3,"Properties":{{{properties}}}}}"#);
        jobs.start(&parse(start.as_bytes()).unwrap());
        jobs.active[0].name.to_string()
    }

    #[test]
    fn several_jobs_are_named_by_their_numbers() {
        assert_eq!(job_name(&[4, 5, 6], "x"), "jobs 4-6: x");
        assert_eq!(job_name(&[4, 6], ""), "jobs 4, 6");
        assert_eq!(job_name(&[0, 2, 4, 6, 8, 10, 12], ""), "7 jobs from 0 to 12");
    }

    #[test]
    fn jobs_are_named_by_their_description() {
        let of_seven = r#""spark.sql.execution.id":"7","spark.job.description":"mine""#;
        let sql = |text: &str| {
            format!(r#"{{"Event":"x","executionId":7,"rootExecutionId":1,"description":"{text}","details":"#)
        };
        assert_eq!(name("", ""), "job 3");
        assert_eq!(name("", of_seven), "job 3: mine");
        assert_eq!(name(&sql("count at A.scala:1"), of_seven), "job 3: count at A.scala:1");
        assert_eq!(name(&sql(r#"\n select \u00e4, \"b\"\nfrom c"#), of_seven), "job 3: select ä, \"b\"");
        assert_eq!(name(&sql("other"), r#""spark.sql.execution.id":"8""#), "job 3");
        // The description is cut within an escape, then too long, then missing.
        for cut in [r#"{"executionId":7,"description":"ab\"#, r#"{"executionId":7,"description":"ab\u00"#] {
            assert_eq!(name(cut, of_seven), "job 3: ab");
        }
        assert_eq!(name(&sql(&"x".repeat(2000)), of_seven).chars().count(), "job 3: ".len() + LONGEST + 1);
        for none in [r#"{"executionId":7,"description":null"#, r#"{"executionId":7,"description":"#, "{"] {
            assert_eq!(name(none, of_seven), "job 3: mine");
        }
    }
}
