//! Reads timelines of Ray: a trace for Chrome as JSON.
//!
//! A timeline is one application. Each event `task::NAME` is an attempt of the task that it names. Its steps (`task:deserialize_arguments`,
//! `task:execute`, `task:store_outputs`) have events of their own, on the same thread, and the exception that ended an attempt is mostly only in
//! that of a step. Events of the driver are not counted. An attempt whose worker died has no event, or only that of its first step.
//!
//! Ray starts a task again only if an attempt failed, or its result was lost. In a timeline without steps, attempts with a later
//! attempt have failed.

use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::{Attempt, LIST, MOST_HELD, Tasks, hash, raised};
use crate::error::TraceError;
use crate::reading::json::parse_cleaned;
use crate::reading::values::{Number, Text};
use crate::reading::warnings::some;
use crate::reading::window::Window;
use crate::recording::Ended;
use crate::tasks::{Collector, Rules, lines};

/// The key of an object that holds the events, instead of an array of them.
const WRAPPED: &[u8] = b"\"traceEvents\"";
/// The first step of an attempt.
const FIRST_STEP: &str = "task:deserialize_arguments";
/// The last step, which only attempts that succeed have.
const LAST_STEP: &str = "task:store_outputs";
/// Steps may seem to be outside of their attempts by so many microseconds, because times are rounded.
const ROUNDED: f64 = 1.0;
/// The most attempts of a thread at a time: as many as an actor runs unless the user wants more.
const MOST_AT_A_TIME: usize = 1000;

/// Returns whether a log with this beginning is a timeline of Ray.
pub(super) fn is_one(beginning: &[u8]) -> bool {
    let text = beginning.trim_ascii_start();
    let has = |part: &str| memchr::memmem::find(text, part.as_bytes()).is_some();
    let is_trace = text.starts_with(b"[") || (text.starts_with(b"{") && has("\"traceEvents\""));
    is_trace && has("\"ph\"") && has("\"cat\"") && ["\"task::", "\"task:", "\"worker:", "\"ray."].into_iter().any(has)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Event<'a> {
    #[serde(borrow)]
    cat: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    ph: Text<'a>,
    #[serde(borrow)]
    pid: Text<'a>,
    #[serde(borrow)]
    tid: Text<'a>,
    ts: Number,
    dur: Number,
    #[serde(borrow)]
    args: Option<Args<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Args<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    func_or_class_name: Text<'a>,
    #[serde(borrow)]
    task_id: Text<'a>,
    attempt_number: Number,
    #[serde(borrow)]
    traceback: Text<'a>,
    #[serde(rename = "type", borrow)]
    error: Text<'a>,
}

impl Args<'_> {
    /// Returns the exception that they show.
    fn exception(&self) -> Option<&str> {
        self.traceback.filled().map(|traceback| self.error.filled().unwrap_or(traceback))
    }

    /// Returns the function of a task. An event names it with its module, or has only the name of a method.
    fn function<'a>(&'a self, name: &'a str) -> &'a str {
        let last = |name: &'a str| name.rsplit('.').next().unwrap_or(name);
        match (self.func_or_class_name.filled(), self.name.filled()) {
            (Some(function), _) => function,
            (None, Some(function)) if last(function) != last(name) => last(function),
            (None, _) => name,
        }
    }
}

/// Returns the name of the task if an event is an attempt.
fn name_of<'a>(event: &'a Event<'_>, args: &'a Args<'_>) -> Option<&'a str> {
    let cat = event.cat.get().unwrap_or_default();
    let name = cat.strip_prefix("task::");
    // Ray before 0.8 named the function elsewhere.
    name.or_else(|| (cat == "task").then(|| args.name.filled().or(event.name.filled()).unwrap_or_default()))
        .map(|name| name.strip_prefix("task::").unwrap_or(name))
}

/// An attempt, a step, or another part of the time of a thread, in microseconds.
#[derive(Clone, Copy, Debug)]
struct Span {
    thread: u32,
    start: f64,
    end: f64,
}

/// What is known of a timeline before its end.
#[derive(Default)]
struct Timeline {
    tasks: Tasks,
    attempts: Vec<(Span, Attempt)>,
    /// Steps with exceptions. Those of asynchronous methods may be anywhere in the log.
    raising: Vec<(Span, Ended, u32)>,
    /// Threads are workers, by node and worker.
    threads: FxHashMap<String, u32>,
    /// How many first steps of each thread belong to no attempt so far; fewer than 0 if there are more attempts.
    unended: Vec<i64>,
    /// Whether the log has last steps, so that attempts that failed are known from the exceptions of steps.
    has_steps: bool,
    /// Names of nodes that are numbers.
    nodes: FxHashMap<String, String>,
}

/// Reads a timeline.
///
/// # Errors
/// If reading fails.
pub(super) fn read(mut window: Window<'_>, name: &str, collector: &mut Collector) -> Result<(), TraceError> {
    let held = window.held();
    if let Some(at) = memchr::memmem::find(held, WRAPPED).filter(|_| held.trim_ascii_start().starts_with(b"{")) {
        let array = memchr::memchr(b'[', &held[at..]).map_or(at, |array| at + array);
        window.take(array);
    }
    window.one_object_a_line();
    let mut timeline = Timeline::default();
    collector.rules = Rules { retried_have_failed: true, ..Rules::default() };
    lines::each(window, name, collector, |collector, line, text, terminated| {
        let text = text.trim().trim_start_matches(['[', ',']).trim_end_matches([',', ']']);
        if !text.starts_with('{') {
            return Ok(());
        }
        let mut cleaned = String::new();
        match parse_cleaned::<Event<'_>>(text.as_bytes(), &mut cleaned) {
            Ok(event) => timeline.take(&event, collector, line),
            Err(_) if !terminated => collector.issues.cut(format!("in event {line}")),
            Err(why) => collector.issues.unreadable(line, &why),
        }
        Ok(())
    })?;
    timeline.give(collector);
    collector.rename_nodes(&timeline.nodes);
    collector.rules.retried_have_failed = !timeline.has_steps;
    timeline.note_unended(collector);
    Ok(())
}

impl Timeline {
    fn take(&mut self, event: &Event<'_>, collector: &mut Collector, line: u64) {
        let none = Args::default();
        let args = event.args.as_ref().unwrap_or(&none);
        let pid = event.pid.get().unwrap_or_default();
        if event.ph.get() == Some("M") {
            // From Ray 2.4 on nodes are numbers, which other events name.
            if event.name.get() == Some("process_name") {
                let name = args.name.get().unwrap_or_default();
                self.nodes.insert(pid.to_owned(), name.strip_prefix("Node ").unwrap_or(name).to_owned());
            }
            return;
        }
        let cat = event.cat.get().unwrap_or_default();
        let name = name_of(event, args);
        if event.ph.get() != Some("X") || name.is_none() && !cat.starts_with("task:") {
            return;
        }
        let (Some(start), Some(length)) = (event.ts.real(), event.dur.real()) else {
            return collector.issues.unreadable(line, "it has no time or no duration");
        };
        let thread = self.thread(pid, event.tid.get().unwrap_or_default());
        let span = Span { thread, start, end: start + length.max(0.0) };
        self.has_steps |= cat == LAST_STEP;
        self.unended[thread as usize] += i64::from(cat == FIRST_STEP) - i64::from(name.is_some());
        let exception = args.exception().map(raised);
        if let Some(name) = name {
            let (state, cause) = exception.unwrap_or((Ended::Succeeded, ""));
            let attempt = Attempt {
                line,
                job: self.tasks.text(""),
                function: self.tasks.text(args.function(name)),
                name: self.tasks.text(name),
                task: hash(args.task_id.get().unwrap_or_default()),
                node: self.tasks.text(pid),
                submitted: f64::NAN,
                start: span.start / 1e6,
                end: span.end / 1e6,
                state: Some(state),
                cause: self.tasks.text(cause),
                number: args.attempt_number.id(),
            };
            self.tasks.add(&attempt);
            self.attempts.push((span, attempt));
        } else if let Some((ended, cause)) = exception {
            self.raising.push((span, ended, self.tasks.text(cause)));
        }
        if self.attempts.len() + self.raising.len() >= MOST_HELD {
            self.give(collector);
        }
    }

    /// Returns the number of a thread.
    fn thread(&mut self, pid: &str, tid: &str) -> u32 {
        let next = self.unended.len() as u32;
        let number = *self.threads.entry(format!("{pid} {tid}")).or_insert(next);
        if number == next {
            self.unended.push(0);
        }
        number
    }

    /// Gives the attempts that are held to the collector.
    fn give(&mut self, collector: &mut Collector) {
        self.find_failures();
        for (_, attempt) in self.attempts.drain(..) {
            self.tasks.give(&attempt, collector);
        }
    }

    /// Finds the attempts whose steps raised exceptions. The step with the exception is the last of its attempt, so of the attempts that it is
    /// within, which are several only for asynchronous methods, it belongs to the one that ended next.
    fn find_failures(&mut self) {
        let is_before = |a: Span, b: Span| a.thread.cmp(&b.thread).then(a.end.total_cmp(&b.end)).is_lt();
        let mut by_end: Vec<usize> = (0..self.attempts.len()).collect();
        by_end.sort_by(|a, b| {
            let [a, b] = [a, b].map(|at| self.attempts[*at].0);
            a.thread.cmp(&b.thread).then(a.end.total_cmp(&b.end))
        });
        self.raising.sort_by(|(a, ..), (b, ..)| a.end.total_cmp(&b.end));
        let mut is_found = vec![false; self.attempts.len()];
        for (step, ended, cause) in std::mem::take(&mut self.raising) {
            let least = Span { end: step.end - ROUNDED, ..step };
            let next = by_end.partition_point(|at| is_before(self.attempts[*at].0, least));
            let of_thread = by_end[next..].iter().take_while(|at| self.attempts[**at].0.thread == step.thread);
            let own = of_thread
                .take(MOST_AT_A_TIME)
                .find(|at| self.attempts[**at].0.start <= step.start + ROUNDED && !is_found[**at]);
            if let Some(&own) = own {
                let attempt = &mut self.attempts[own].1;
                (attempt.state, attempt.cause, is_found[own]) = (Some(ended), cause, true);
            }
        }
    }

    /// Notes that attempts have first steps only.
    fn note_unended(&self, collector: &mut Collector) {
        let count = self.unended.iter().map(|count| (*count).max(0) as u64).sum();
        if count > 0 {
            collector.issues.note(format!(
                "{} began, and the timeline does not show how {} ended: workers died (also soon after a success), or tasks still ran. \
                 Not counted; `{LIST}` shows more of them.",
                some(count, "attempt", "attempts"),
                if count == 1 { "it" } else { "they" },
            ));
        }
    }
}
