//! Says when a slow task gets a second attempt: which task, on which node, and why.

use hindmost_core::cluster::Attempt;
use hindmost_core::ids::{AttemptId, TaskId};
use hindmost_core::time::Time;

use super::Driver;
use super::deadlines::Deadline;

/// An attempt must have run for this long for a second one to be said: 1 s. Copies of tasks of milliseconds are not worth a line.
const NOTABLE: Time = Time(1_000_000_000);
/// Number of second attempts that are said in a run.
const MOST: u32 = 5;
/// Number of characters of an input or value that are shown.
const LONGEST: usize = 40;

impl Driver<'_> {
    /// Says that an attempt starts while another one of its task runs. `why` is the policy's reason.
    pub(super) fn say_copy(&mut self, copy: AttemptId, why: Option<String>) {
        let cluster = self.session.cluster();
        let Some(since) = self.attempt(copy).map(Attempt::since) else { return };
        // Clones that start together are no second attempts.
        let older = cluster.copies(copy.task).filter(|other| other.since() < since).min_by_key(|other| other.since());
        let is_said = self.seconds_said < MOST && self.attempts.contains(copy);
        let Some(older) = older.filter(|_| is_said) else { return };
        if older.age(cluster.now()) < NOTABLE {
            // It is said if the copy itself runs for that long.
            self.unsaid.insert(copy, why);
            self.deadlines.push(self.engine.now() + NOTABLE, Deadline::Say(copy));
            return;
        }
        self.say_running_copy(copy, why.as_deref());
    }

    /// Says that a copy runs that has run for some time and was not said yet.
    pub(super) fn say_later(&mut self, copy: AttemptId) {
        if let Some(why) = self.unsaid.remove(&copy).filter(|_| self.attempts.contains(copy)) {
            self.say_running_copy(copy, why.as_deref());
        }
    }

    fn say_running_copy(&mut self, copy: AttemptId, why: Option<&str>) {
        let node = self.attempt(copy).map(Attempt::node).filter(|_| !self.session.cluster().has_one_node());
        let at = node.map_or_else(String::new, |node| format!(" on {}", self.node_name(node)));
        self.say_second(copy, &format!("runs a second time{at}, and the first attempt to finish wins"), why);
    }

    /// Says that an attempt is stopped so that its task starts again.
    pub(super) fn say_restart(&mut self, stopped: AttemptId, why: Option<&str>) {
        self.say_second(stopped, "is stopped and starts again", why);
    }

    pub(super) fn say_second(&mut self, attempt: AttemptId, what: &str, why: Option<&str>) {
        self.seconds_said += 1;
        if self.seconds_said > MOST {
            return;
        }
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        let last = if self.seconds_said == MOST { " (no more such lines follow)" } else { "" };
        let line = format!("{} {what}{why}{last}", self.full_name(attempt.task));
        self.follower.second_attempt(&line);
    }

    /// Returns a task's name for people, with its input or values.
    pub(super) fn full_name(&self, task: TaskId) -> String {
        let input = self.jobs[task.job].phase(task).input_name(task.index);
        let input = input.map_or_else(String::new, |input| {
            let text = String::from_utf8_lossy(&input).into_owned();
            // The end of a long path is its name.
            let from = text.char_indices().rev().nth(LONGEST - 1).map_or(0, |(at, _)| at);
            format!(" ({}{})", if from > 0 { "…" } else { "" }, &text[from..])
        });
        self.jobs.name(task) + &input
    }
}
