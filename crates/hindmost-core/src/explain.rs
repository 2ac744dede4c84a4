//! Explains a recorded run: why each copy of a task was started or stopped, what the progress model showed at that
//! time, and how the copy ended.
//!
//! The journal is replayed to a policy that keeps its reasons, so every reason comes from the policy that made the
//! decision.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::cluster::{Applied, Attempt, Cluster, RecordError, Task};
use crate::estimator::Estimator;
use crate::ids::{AttemptId, NodeId, TaskId};
use crate::policy::{HeldBackBy, Learned, NoCopy};
use crate::record::{Change, Decision, Event, MayRun, Record, StopReason};
use crate::session::{Decided, Session, Sink};
use crate::time::Time;
use crate::verify::Difference;

/// What the progress model showed about a running copy at the time of a decision.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Known {
    /// The number of the copy, from 0.
    pub copy: u32,
    /// The name of the node on which the copy ran.
    pub node: String,
    /// Time for which the copy had been running, seconds.
    pub elapsed: f64,
    /// The copy's remaining time by the progress model, seconds; `None` where it is unknown. If the policy used an
    /// estimate of its own, that estimate is in [`Step::because`].
    pub remaining: Option<f64>,
    /// True if the remaining time is a guess, because the copy had reported nothing, or too little to show its pace.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub guessed: bool,
}

/// An event or decision that concerns the explained task.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// The time, seconds since the run began.
    pub at: f64,
    /// The number of the copy that the step concerns; `None` if the step concerns the whole phase, a node or a
    /// reservation.
    pub copy: Option<u32>,
    /// Text that says what happened or was decided.
    pub what: String,
    /// The policy's reason for a decision; `None` for events and for decisions without a reason.
    pub because: Option<String>,
    /// The task's copies that were running before a decision; empty for events.
    pub knew: Vec<Known>,
    /// What the policy had learned from the copies of the task's phase at a decision about a copy, and where it held a copy
    /// back; missing at other steps, and if it had learned nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learned: Option<Learned>,
    /// True for an update of an estimate that a later update replaced before the policy decided about a copy, or after
    /// which it decided nothing. Texts for people leave such steps out.
    #[serde(skip)]
    pub superseded: bool,
}

/// A kind of step that updates an estimate. A later step of the same kind replaces it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Update {
    /// The durations of the task's phase.
    Durations,
    /// The speed of a node.
    Speed(NodeId),
    /// The expected finish or the age of a copy, of which the policy was notified.
    Copy(u32),
}

impl Update {
    fn of(event: &Event) -> Option<Update> {
        match event {
            Event::DurationsLearned { .. } => Some(Update::Durations),
            Event::NodeSpeedLearned { node, .. } => Some(Update::Speed(*node)),
            Event::WatchMet { attempt, .. } => Some(Update::Copy(attempt.copy)),
            _ => None,
        }
    }
}

/// Returns the events and decisions that concern a task, in order of time. `session` is in the state in which the
/// recorded run began.
///
/// # Errors
/// If a record does not fit the state.
pub fn explain(
    mut session: Session,
    records: impl IntoIterator<Item = Record>,
    task: TaskId,
) -> Result<Vec<Step>, Difference> {
    session.keep_reasons();
    session.keep_learned();
    let mut history = History::of(task);
    for Record { at, change } in records {
        let Change::Event(event) = change else { continue };
        history.before = history.known(&session, at);
        session.step(at, &event, &mut history).map_err(|error| Difference::Record { at, error })?;
    }
    Ok(history.steps)
}

/// Collects the steps of a task while its run is replayed.
struct History {
    task: TaskId,
    steps: Vec<Step>,
    /// The task's running copies before the current event.
    before: Vec<Known>,
    /// The task's running copies after the current event.
    after: Vec<Known>,
    /// Numbers of the copies that the policy has decided to stop.
    stopping: Vec<u32>,
    /// The last copy that failed or was ended from outside, and how; `None` if another copy has started since.
    broken: Option<(u32, &'static str)>,
    /// The last update of each kind since the last decision, with the index of its step.
    updates: Vec<(Update, usize)>,
    /// The copies that were held back since the last decision about the task, and why.
    held_back: BTreeSet<(u32, HeldBackBy)>,
}

impl History {
    fn of(task: TaskId) -> History {
        let (steps, before, after) = (Vec::new(), Vec::new(), Vec::new());
        History {
            task,
            steps,
            before,
            after,
            stopping: Vec::new(),
            broken: None,
            updates: Vec::new(),
            held_back: BTreeSet::new(),
        }
    }

    /// Adds the step of an event.
    fn push_event(&mut self, at: Time, event: &Event, copy: Option<u32>, what: String) {
        let update = Update::of(event);
        if let Some(update) = update {
            self.updates.retain(|(earlier, _)| *earlier != update);
            self.updates.push((update, self.steps.len()));
        }
        let (at, superseded) = (at.seconds(), update.is_some());
        self.steps.push(Step { at, copy, what, because: None, knew: Vec::new(), learned: None, superseded });
    }

    /// Returns how an event ended a copy of the task if neither the copy's success nor the policy ended it.
    fn broke(&self, event: &Event, copy: Option<u32>, cluster: &Cluster) -> Option<(u32, &'static str)> {
        let copy = copy?;
        let how = match event {
            Event::AttemptFailed { reason: Some(_), .. } => "had failed",
            Event::AttemptFailed { reason: None, .. } => "had been ended from outside",
            Event::AttemptStopped { .. } if self.stopped_with_run(copy, cluster) => "had been stopped with the run",
            Event::NodeLost { .. } => "had been lost with its node",
            _ => return None,
        };
        Some((copy, how))
    }

    /// Returns whether a copy that has been stopped was stopped because the run ended: the policy did not decide it,
    /// and the task has no result.
    fn stopped_with_run(&self, copy: u32, cluster: &Cluster) -> bool {
        let is_left = |task: &Task| !task.is_finished() && !task.has_last_copies();
        !self.stopping.contains(&copy) && cluster.task(self.task).is_some_and(is_left)
    }

    /// Adds a step for each reason for which a copy of the task was held back, unless the last step about it says so.
    fn push_held_back(&mut self, at: Time, notes: Vec<NoCopy>, learned: Option<Learned>) {
        for NoCopy { attempt, by, why } in notes {
            // Reasons can alternate, so each is a step only once until the next decision.
            if attempt.task != self.task || !self.held_back.insert((attempt.copy, by)) {
                continue;
            }
            self.show_updates();
            self.steps.push(Step {
                at: at.seconds(),
                copy: Some(attempt.copy),
                what: "gets no copy now".to_owned(),
                because: Some(why),
                knew: self.after.clone(),
                learned,
                superseded: false,
            });
        }
    }

    /// Marks the last updates as those on which a decision was based.
    fn show_updates(&mut self) {
        for (_, step) in self.updates.drain(..) {
            self.steps[step].superseded = false;
        }
    }

    fn known(&self, session: &Session, at: Time) -> Vec<Known> {
        let cluster = session.cluster();
        cluster.copies(self.task).map(|copy| known(cluster, session.estimator(), copy, at)).collect()
    }
}

impl Sink for History {
    type Error = RecordError;

    fn applied(&mut self, at: Time, event: &Event, applied: Applied, state: &Session) -> Result<(), RecordError> {
        self.after = self.known(state, at);
        if let Some((copy, mut what)) = happened(event, applied.won, state.cluster(), self.task, &self.before) {
            if let (Event::AttemptStopped { .. }, Some(stopped)) = (event, copy)
                && self.stopped_with_run(stopped, state.cluster())
            {
                what += ", because the run was stopped";
            }
            self.broken = self.broke(event, copy, state.cluster()).or(self.broken);
            self.push_event(at, event, copy, what);
        }
        Ok(())
    }

    fn decided(&mut self, mut decided: Decided<'_>) -> Result<(), RecordError> {
        let notes = std::mem::take(&mut decided.no_copies);
        for (number, decision) in decided.decisions.iter().enumerate() {
            let Some((copy, mut what)) = decision_on(decision, decided.cluster, self.task) else { continue };
            match decision {
                Decision::Start { .. } => {
                    if let Some((broken, how)) = self.broken.take().filter(|_| self.after.is_empty()) {
                        what += &format!("; attempt {broken} {how}");
                    }
                }
                _ => self.stopping.extend(copy),
            }
            // The reason for stopping a copy whose sibling has won has nothing to do with estimates.
            if !matches!(decision, Decision::Stop { reason: StopReason::Lost, .. }) {
                self.show_updates();
            }
            self.held_back.clear();
            // What copies have shown matters only where the task has several, or one of them is stopped for another.
            let about_copies = match decision {
                Decision::Start { .. } => !self.after.is_empty(),
                Decision::Stop { reason, .. } => *reason == StopReason::Overtaken,
                _ => false,
            };
            let learned = decided.learned(self.task).filter(|_| about_copies);
            let because = decided.reasons.iter().find(|(of, _)| *of == number).map(|(_, why)| why.clone());
            let at = decided.at.seconds();
            let knew = self.after.clone();
            self.steps.push(Step { at, copy, what, because, knew, learned, superseded: false });
        }
        if notes.iter().any(|note| note.attempt.task == self.task) {
            self.push_held_back(decided.at, notes, decided.learned(self.task));
        }
        Ok(())
    }
}

fn known(cluster: &Cluster, estimator: &dyn Estimator, copy: &Attempt, at: Time) -> Known {
    Known {
        copy: copy.id().copy,
        node: cluster.node(copy.node()).map_or_else(String::new, |node| node.name().to_string()),
        elapsed: copy.age(at).seconds(),
        remaining: estimator.remaining(cluster, copy),
        guessed: copy.expected_finish().is_some() && copy.measured_finish().is_none(),
    }
}

/// Returns the number of the copy that an event concerns (`None` for the whole phase or a node) and a text that says
/// what happened. `None` if the event does not concern the task.
fn happened(
    event: &Event,
    won: bool,
    cluster: &Cluster,
    task: TaskId,
    running: &[Known],
) -> Option<(Option<u32>, String)> {
    let of_task = |attempt: &AttemptId| (attempt.task == task).then_some(attempt.copy);
    let ran = |copy: u32| running.iter().find(|known| known.copy == copy).map_or(0.0, |known| known.elapsed);
    match event {
        Event::JobArrived { job, spec } if *job == task.job => {
            let phase = spec.phases.get(task.phase as usize)?;
            let was_finished = phase.finished.contains(&task.index);
            was_finished.then(|| (None, "the job arrived; this task had its result already".to_owned()))
        }
        Event::AttemptFinished { attempt } => {
            let copy = of_task(attempt)?;
            let (after, result) =
                (ran(copy), if won { "the task has its result" } else { "too late, the task already had its result" });
            Some((Some(copy), format!("finished after {after:.2} s: {result}")))
        }
        Event::AttemptFailed { attempt, reason, external } => {
            let copy = of_task(attempt)?;
            let what = match (reason, external) {
                (Some(reason), _) => format!("failed after {:.2} s: {reason}", ran(copy)),
                (None, Some(what)) => format!("was ended from outside after {:.2} s: {what}", ran(copy)),
                (None, None) => {
                    format!("was ended from outside after {:.2} s; the journal does not record the cause", ran(copy))
                }
            };
            Some((Some(copy), what))
        }
        Event::AttemptStopped { attempt } => {
            let copy = of_task(attempt)?;
            Some((Some(copy), format!("stopped after {:.2} s", ran(copy))))
        }
        Event::TaskWithheld { task: withheld, until, may_run } if *withheld == task => {
            let what = match until {
                _ if let Some(MayRun { copy, node }) = may_run => {
                    let node = cluster.node(*node).map_or("", |node| node.name());
                    format!(
                        "attempt {copy} may still run on the lost node {node}; the task may not run twice, so it waits until that \
                         attempt has surely ended"
                    )
                }
                Some(until) => format!("the task is tried again at {:.2} s", until.seconds()),
                None => "the task has failed permanently; the rest of the job goes on".to_owned(),
            };
            Some((None, what))
        }
        Event::NoMoreCopies { task: of, may_restart: true } if *of == task => Some((
            None,
            "no other copy starts, because an attempt writes a file that a copy would write too; if the attempt hangs, the \
             task starts again"
                .to_owned(),
        )),
        Event::NoMoreCopies { task: of, .. } if *of == task => {
            Some((None, "no other copy starts: the retries of the task are used up, or an attempt writes a file that a copy \
                         would write too".to_owned()))
        }
        Event::TaskReturned { task: returned } if *returned == task => {
            Some((None, "the task can start again".to_owned()))
        }
        Event::TaskGivenUp { task: given_up } if *given_up == task => {
            Some((None, "the task has failed permanently, as its phase allows; later phases run without it".to_owned()))
        }
        Event::JobGivenUp { job } if *job == task.job => {
            let needed = cluster.task(task).is_some_and(Task::is_abandoned);
            let result = if needed { "gets no result" } else { "has its result" };
            Some((None, format!("the job has failed, and other jobs go on; this task {result}")))
        }
        Event::WatchMet { attempt, expected_finish, stalled, .. } => {
            let copy = of_task(attempt)?;
            let what = match expected_finish {
                Some(finish) if *stalled => format!(
                    "had reported no progress for long and was expected to finish at {:.2} s or later; the policy was notified",
                    finish.seconds()
                ),
                Some(finish) => format!("was expected to finish at {:.2} s; the policy was notified", finish.seconds()),
                None => format!("had been running for {:.2} s; the policy was notified", ran(copy)),
            };
            Some((Some(copy), what))
        }
        Event::DurationsLearned { job, phase, median, p90, samples, progress, .. } => {
            let concerns = *job == task.job && *phase == task.phase && !running.is_empty();
            let by = if *progress { "copies report progress" } else { "no copy has shown progress yet" };
            concerns.then(|| {
                let copies = if *samples == 1 { "finished or running copy" } else { "finished or running copies" };
                let times = format!("median {median:.2} s, 90th percentile {p90:.2} s");
                (None, format!("durations of the phase estimated from {samples} {copies}: {times}; {by}"))
            })
        }
        Event::NodeSpeedLearned { node, speed } => {
            let name = cluster.node(*node).map(|node| node.name().to_string())?;
            let concerns = running.iter().any(|known| known.node == name);
            concerns.then(|| (None, format!("speed of node {name} estimated: {speed:.2} (1 is normal)")))
        }
        Event::NodeLost { node, .. } => {
            let name = cluster.node(*node).map(|node| node.name().to_string())?;
            let lost = running.iter().find(|known| known.node == name)?;
            Some((Some(lost.copy), format!("was lost with node {name} after {:.2} s", lost.elapsed)))
        }
        _ => None,
    }
}

/// Returns the number of the copy that a decision concerns (`None` for a reservation) and a text that says what was
/// decided. `None` if the decision does not concern the task.
fn decision_on(decision: &Decision, cluster: &Cluster, task: TaskId) -> Option<(Option<u32>, String)> {
    match decision {
        Decision::Start { attempt, node, .. } if attempt.task == task => {
            let node = cluster.node(*node).map_or("?", |node| node.name());
            Some((Some(attempt.copy), format!("started on {node}")))
        }
        Decision::Stop { attempt, reason } if attempt.task == task => {
            let what = match reason {
                StopReason::Lost => "is stopped: another copy has won",
                StopReason::Replaced => "is stopped: a new copy replaces it",
                StopReason::Overtaken => "is stopped: another copy of the task runs on",
                StopReason::Relaunched => "is stopped, to be relaunched on another node",
                StopReason::Restarted => "is stopped, so that its task can start again",
                StopReason::Abandoned => "is stopped: its job is abandoned",
            };
            Some((Some(attempt.copy), what.to_owned()))
        }
        Decision::Replace { attempt, .. } if attempt.task == task => {
            Some((Some(attempt.copy), "is stopped: a new copy starts on its resources".to_owned()))
        }
        Decision::Reserve { node, until, task: Some(reserved), .. } if **reserved == task => {
            let node = cluster.node(*node).map_or("?", |node| node.name());
            Some((None, format!("resources on {node} are reserved for a new copy until {:.2} s", until.seconds())))
        }
        Decision::Release { task: released } if *released == task => {
            Some((None, "the resources reserved for a new copy are released".to_owned()))
        }
        Decision::Abandon { job } if *job == task.job => {
            let needed = cluster.task(task).is_some_and(Task::is_abandoned);
            Some((
                None,
                format!("the job is abandoned; this task {}", if needed { "gets no result" } else { "has its result" }),
            ))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Job;
    use crate::estimator::{Knowledge, estimator};
    use crate::ids::JobId;
    use crate::policy::{Policy, order::Order};
    use crate::resources::Dimensions;
    use crate::testing::machines;

    /// Sorts jobs by id.
    struct ById;

    impl Order for ById {
        fn key(&self, job: &Job, _cluster: &Cluster) -> f64 {
            f64::from(job.id().0)
        }
    }

    #[test]
    fn a_failure_is_shown_with_its_cause() {
        let task = TaskId { job: JobId(0), phase: 0, index: 3 };
        let attempt = AttemptId { task, copy: 1 };
        let cluster = Cluster::new(Dimensions::one_slot());
        let running = [Known { copy: 1, node: "n1".to_owned(), elapsed: 2.5, remaining: None, guessed: false }];
        let text = |reason: Option<&str>, external: Option<&str>| {
            let (reason, external) = (reason.map(Into::into), external.map(Into::into));
            let event = Event::AttemptFailed { attempt, reason, external };
            happened(&event, false, &cluster, task, &running).unwrap().1
        };
        assert_eq!(text(Some("exit code 3"), None), "failed after 2.50 s: exit code 3");
        let lost = text(None, Some("its node was lost"));
        assert_eq!(lost, "was ended from outside after 2.50 s: its node was lost");
        // Journals of earlier versions do not record the cause.
        assert!(text(None, None).starts_with("was ended from outside after 2.50 s; the journal does not record"));
    }

    #[test]
    fn a_task_that_waits_for_a_lost_node_says_for_which_attempt() {
        let task = TaskId { job: JobId(0), phase: 0, index: 3 };
        let cluster = machines(1);
        let text = |until: Option<Time>, may_run: Option<MayRun>| {
            happened(&Event::TaskWithheld { task, until, may_run }, false, &cluster, task, &[]).unwrap()
        };
        assert_eq!(
            text(None, Some(MayRun { copy: 2, node: NodeId(0) })),
            (
                None,
                "attempt 2 may still run on the lost node n0; the task may not run twice, so it waits until that attempt has surely ended"
                    .to_owned()
            )
        );
        assert_eq!(text(Some(Time::from_seconds(4.0)), None).1, "the task is tried again at 4.00 s");
        let other = TaskId { index: 4, ..task };
        let withheld = Event::TaskWithheld { task: other, until: None, may_run: None };
        assert_eq!(happened(&withheld, false, &cluster, task, &[]), None);
    }

    fn decide(history: &mut History, cluster: &Cluster, mut decisions: Vec<Decision>) {
        let (reasons, refused, decisions) = (Vec::new(), Vec::new(), &mut decisions);
        let policy = &Policy::new(Box::new(ById), Vec::new());
        let (no_copies, estimator) = (Vec::new(), &*estimator(Knowledge::Age));
        let at = Time::ZERO;
        history.decided(Decided { at, decisions, reasons, refused, no_copies, cluster, policy, estimator }).unwrap();
    }

    #[test]
    fn only_the_last_updates_before_a_decision_are_kept() {
        let task = TaskId { job: JobId(0), phase: 0, index: 0 };
        let mut history = History::of(task);
        let met = |copy| Event::WatchMet {
            attempt: AttemptId { task, copy },
            expected_finish: None,
            conditions: None,
            guessed: false,
            stalled: false,
        };
        for copy in [0, 1, 0] {
            history.push_event(Time::ZERO, &met(copy), Some(copy), String::new());
        }
        let (cluster, decision) = (Cluster::new(Dimensions::one_slot()), |reason| Decision::Stop {
            attempt: AttemptId { task, copy: 0 },
            reason,
        });
        for (reason, superseded) in
            [(StopReason::Lost, [true, true, true]), (StopReason::Overtaken, [true, false, false])]
        {
            decide(&mut history, &cluster, vec![decision(reason)]);
            let found: Vec<bool> = history.steps[..3].iter().map(|step| step.superseded).collect();
            assert_eq!(found, superseded);
        }
    }

    #[test]
    fn a_new_start_names_the_attempt_that_broke() {
        let task = TaskId { job: JobId(0), phase: 0, index: 0 };
        let attempt = |copy| AttemptId { task, copy };
        let cluster = Cluster::new(Dimensions::one_slot());
        let mut history = History::of(task);
        let failed = Event::AttemptFailed { attempt: attempt(0), reason: Some("exit code 3".into()), external: None };
        history.broken = history.broke(&failed, Some(0), &cluster);
        let start = |copy| Decision::Start { attempt: attempt(copy), node: NodeId(0), from_progress: 0.0 };
        decide(&mut history, &cluster, vec![start(1), start(2)]);
        let texts: Vec<&str> = history.steps.iter().map(|step| step.what.as_str()).collect();
        assert_eq!(texts, ["started on ?; attempt 0 had failed", "started on ?"]);
    }
}
