//! A job of Flink while its documents are read.

use rustc_hash::FxHashMap;
use serde_json::Value;

use super::documents::{Attempt, Document, Exception, Exceptions, Input, Overview, Vertex};
use crate::recording::Ended;
use crate::tasks::Collector;
use crate::tasks::row::{Row, state};

/// A job while its documents are read.
#[derive(Default)]
pub(super) struct Job {
    /// Its name with its id.
    title: String,
    overview: Overview,
    /// Names of vertices, by their ids.
    vertices: FxHashMap<String, String>,
    /// The attempts with the ids of their vertices, and the number of the document, from 1 on.
    attempts: Vec<(Box<str>, Attempt, u64)>,
    /// Names of exceptions, by the names of vertices, and the numbers of subtasks and attempts.
    exceptions: FxHashMap<(String, i64, i64), String>,
    /// Pages that are not yet taken.
    pub pages: Vec<Value>,
    /// Documents so far, and those that can't be read.
    documents: u64,
    unreadable: Vec<(u64, String)>,
}

impl Job {
    /// Takes a document of an archive.
    pub fn take(&mut self, document: &Document) {
        self.documents += 1;
        let (Some(path), Some(json)) = (document.path.get(), document.json.get()) else { return };
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let found = match parts[..] {
            ["jobs", id] => serde_json::from_str(json).map(|overview: Overview| {
                // A list of jobs has the same path.
                if let Some(name) = overview.name.get() {
                    self.title = format!("{name} ({id})");
                    self.overview = overview;
                }
            }),
            ["jobs", _, "vertices", vertex, "subtasks", _, "attempts", _] => {
                serde_json::from_str(json).map(|attempt| self.attempts.push((vertex.into(), attempt, self.documents)))
            }
            ["jobs", _, "exceptions"] => serde_json::from_str(json).map(|all: Exceptions| {
                all.exception_history.entries.into_iter().for_each(|one| self.take_exception(one));
            }),
            _ => return,
        };
        if let Err(error) = found {
            self.unreadable.push((self.documents, error.to_string()));
        }
    }

    fn take_exception(&mut self, one: Exception) {
        if let (Some(attempt), Some(name)) = (one.task_name.get().and_then(named_attempt), one.name.filled()) {
            self.exceptions.entry(attempt).or_insert_with(|| name.to_owned());
        }
        one.concurrent_exceptions.into_iter().flatten().for_each(|one| self.take_exception(one));
    }

    /// Takes the page of a vertex.
    pub fn take_vertex(&mut self, page: Value, number: u64) {
        let vertex: Vertex = match serde_json::from_value(page) {
            Ok(vertex) => vertex,
            Err(error) => return self.unreadable.push((number, error.to_string())),
        };
        let id: Box<str> = vertex.id.get().unwrap_or_default().into();
        self.vertices.insert(id.to_string(), vertex.name.get().unwrap_or_default().to_owned());
        for mut attempt in vertex.subtasks {
            let others = attempt.other_concurrent_attempts.take().unwrap_or_default();
            self.attempts.extend(std::iter::once(attempt).chain(others).map(|attempt| (id.clone(), attempt, number)));
        }
    }

    /// Gives the attempts to the collector.
    pub fn add(mut self, collector: &mut Collector) {
        for (number, why) in &self.unreadable {
            collector.issues.unreadable(*number, why);
        }
        if self.overview.kind.get() == Some("STREAMING") {
            collector.issues.note(
                "A job of Flink is a streaming job: its subtasks run as long as the job, so that durations of attempts say nothing about \
                 stragglers.",
            );
        }
        for vertex in &self.overview.vertices {
            let (id, name) = (vertex.id.get().unwrap_or_default(), vertex.name.get().unwrap_or_default());
            self.vertices.insert(id.to_owned(), name.to_owned());
        }
        self.attempts.sort_by(|a, b| (&a.0, a.1.subtask.whole()).cmp(&(&b.0, b.1.subtask.whole())));
        let mut with_name: FxHashMap<&str, u32> = FxHashMap::default();
        self.vertices.values().for_each(|name| *with_name.entry(name).or_default() += 1);
        let phase = |id: &str| match self.vertices.get(id) {
            Some(name) if with_name[&**name] > 1 => format!("{name} ({id})"),
            Some(name) => name.clone(),
            None => id.to_owned(),
        };
        for node in &self.overview.plan.nodes {
            let waits_for = |input: &Input| input.exchange.get().is_some_and(|how| how.starts_with("blocking"));
            let named = node
                .inputs
                .iter()
                .filter(|input| waits_for(input))
                .map(|input| phase(input.id.get().unwrap_or_default()));
            let key = (self.title.clone(), phase(node.id.get().unwrap_or_default()));
            collector.waits_for.insert(key, named.collect());
        }
        let of_subtask = |a: &(Box<str>, Attempt, u64), b: &(Box<str>, Attempt, u64)| {
            a.0 == b.0 && a.1.subtask.whole() == b.1.subtask.whole()
        };
        for attempts in self.attempts.chunk_by(of_subtask) {
            let id = &*attempts[0].0;
            let (phase, name) = (phase(id), self.vertices.get(id).map_or(id, String::as_str));
            for (_, attempt, document) in attempts {
                self.add_one((&phase, name), attempt, attempts, (collector, *document));
            }
        }
    }

    fn add_one(
        &self,
        (phase, vertex): (&str, &str),
        attempt: &Attempt,
        siblings: &[(Box<str>, Attempt, u64)],
        (collector, document): (&mut Collector, u64),
    ) {
        if attempt.start().is_none() {
            return collector.issues.left_out(document, "attempts that were never deployed");
        }
        let number = attempt.subtask.whole().unwrap_or(0);
        let word = attempt.status.get().unwrap_or_default();
        let finished_beside = || {
            let beside = |other: &Attempt| {
                other.status.get() == Some("FINISHED") && other.start() < attempt.end() && attempt.start() < other.end()
            };
            siblings.iter().any(|(_, other, _)| beside(other))
        };
        let ended = match (state(word), attempt.end()) {
            (_, None) => None,
            (Ok(Some(Ended::Killed)), _) if !finished_beside() => Some(Ended::Interrupted),
            (Ok(ended), _) => ended,
            (Err(_), _) => {
                collector.issues.unknown_state(document, word);
                Some(Ended::Succeeded)
            }
        };
        let cause =
            attempt.number.whole().and_then(|attempt| self.exceptions.get(&(vertex.to_owned(), number, attempt)));
        collector.add(
            document,
            &Row {
                application: &self.title,
                phase,
                task: &number.to_string(),
                node: attempt.node(),
                submitted: attempt
                    .submitted(self.overview.scheduler.get().is_some_and(|kind| kind.starts_with("Adaptive"))),
                start: attempt.start(),
                end: attempt.end(),
                state: ended,
                cause: cause.map_or(word, String::as_str),
                bytes: attempt.metrics.read_bytes.amount(),
                attempt: attempt.number.id(),
                ..Row::default()
            },
        );
    }
}

/// Returns the vertex, subtask and attempt of a name such as `work (7/8) - execution #0`, in which subtasks begin at 1.
fn named_attempt(name: &str) -> Option<(String, i64, i64)> {
    let (rest, attempt) = name.rsplit_once(" - execution #")?;
    let (vertex, of) = rest.rsplit_once(" (")?;
    let subtask: i64 = of.split('/').next()?.parse().ok()?;
    Some((vertex.to_owned(), subtask - 1, attempt.parse().ok()?))
}
