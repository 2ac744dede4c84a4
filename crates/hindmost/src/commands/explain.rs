//! `hindmost explain`: when and why each copy of a task was started and stopped.

use std::path::{Path, PathBuf};

use hindmost_core::explain::{Step, explain};
use hindmost_core::ids::{JobId, TaskId};
use hindmost_core::journal::Header;
use hindmost_core::metrics::FailedTask;
use hindmost_core::policy::Learned;
use hindmost_core::record::{Change, Event, Record};
use hindmost_core::timeline::{AttemptEnd, Timeline, TimelineJob};
use hindmost_policies::catalogue::spec::PolicySpec;
use hindmost_policies::catalogue::{self, SYSTEMS};
use hindmost_report::copies::learned_in_words;
use hindmost_report::failures::failed_task;
use hindmost_report::text::{counted, indented};
use hindmost_run::job_file::RecordedPhase;
use hindmost_trace::journal;
use serde::Deserialize;
use serde_json::json;

use crate::cli::ExplainArgs;
use crate::failure::{Failure, Outcome, say};
use crate::terminal;

use super::report::quoted;
use super::trace::with_progress;

/// Largest number of tasks that are named for which a task waited.
const MOST_AFTER: usize = 8;
/// Indentation of the lines below a step, as wide as the step's time.
const GAP: &str = "             ";

/// Prints the steps of a task in a recorded run.
pub fn run(args: &ExplainArgs) -> Outcome {
    let (mut header, mut records, mut timeline) = read(&args.journal)?;
    let mut path = args.journal.clone();
    if let Some(earlier) = journal_of_job(&args.journal, &args.task, &timeline.jobs) {
        say(&format!("the job had ended when the run began again: its attempts are in {}", earlier.display()));
        (header, records, timeline) = read(&earlier)?;
        path = earlier;
    }
    let name = path.display();
    if timeline.jobs.is_empty() {
        return Err(Failure::input(format!("{name}: this journal has no job, so there is no task to explain")));
    }
    let task = find_task(&args.task, &timeline.jobs).map_err(Failure::input)?;
    let job = &timeline.jobs[task.job.0 as usize];
    let phases: Vec<&str> = job.spec.phases.iter().map(|phase| &*phase.name).collect();
    let spec: PolicySpec = header.policy.parse().map_err(Failure::input)?;
    let session = catalogue::session_of(&header).map_err(Failure::input)?;
    let mut steps =
        explain(session, records, task).map_err(|difference| Failure::work(format!("{name}: {difference}")))?;
    add_pauses(&mut steps, &timeline);
    let mut outcome = outcome(&timeline, task);
    let folder = internal_files(&path, &job.spec.name);
    let failure = failure_of(folder.as_deref(), &phases, task);
    let key = key_of(folder.as_deref(), task);
    let waited_for = waited_for(&timeline, task);
    if was_finished(&timeline, task)
        && let Some(earlier) = earlier_journal(&path, &job.spec.name, task)
    {
        outcome += &format!(
            " `hindmost explain {} {}` shows its attempts.",
            quoted(&earlier.display().to_string()),
            args.task
        );
    }
    if args.json {
        return terminal::print_json(&json!({
            "task": args.task, "policy": header.policy, "knowledge": header.knowledge.to_string(),
            "steps": steps, "outcome": outcome, "failure": failure, "input_and_values": key,
            "waited_for": waited_for.iter().map(|(task, finish)| json!({"task": task, "finish": finish})).collect::<Vec<_>>(),
        }));
    }
    let about = SYSTEMS.iter().find(|system| system.name == spec.system).map_or("", |system| system.about);
    let width = usize::from(terminal::width()).max(40);
    let head = format!("{} of {}, policy {}, knowledge {}", args.task, job.spec.name, header.policy, header.knowledge);
    let mut text = indented("", &head, width);
    if !key.is_empty() {
        text += &indented("", &key.join(", "), width);
    }
    if !waited_for.is_empty() {
        text += &indented("", &after_in_words(&waited_for), width);
    }
    if !about.is_empty() {
        text += &indented("", &format!("{}: {about}", spec.system), width);
    }
    text += "\n";
    let mut learned = None;
    for step in steps.iter().filter(|step| !step.superseded) {
        text += &step_text(step, learned.as_ref(), width);
        learned = step.learned.or(learned);
    }
    if steps.is_empty() {
        text += "No attempt of this task was started.\n";
    }
    text += &format!("\n{}", indented("", &outcome, width));
    if let Some(failure) = &failure {
        text += &format!("\nThe task has failed permanently:\n{}", failed_task(failure, width));
    }
    let left_out = steps.iter().filter(|step| step.superseded).count() as u64;
    if left_out > 0 {
        let updates = counted(left_out, "more update");
        text +=
            &indented("", &format!("{updates} of estimates, without a decision after it: --json shows all."), width);
    }
    terminal::print(&text)
}

/// Returns the single tasks of earlier phases for which a task waited, by name, and when they finished in seconds since the run began, if
/// they did.
fn waited_for(timeline: &Timeline, task: TaskId) -> Vec<(String, Option<f64>)> {
    let spec = &timeline.jobs[task.job.0 as usize].spec;
    let edges = spec.phases.get(task.phase as usize).map_or(&[][..], |phase| &phase.edges);
    let parents = edges.iter().flat_map(|edges| {
        edges.parents_of(task.index).into_iter().map(|index| TaskId { phase: edges.parent, index, ..task })
    });
    let finish = |parent: TaskId| {
        timeline.attempts_of(parent).find(|row| row.outcome == AttemptEnd::Won).map(|row| row.end.seconds())
    };
    let named = |parent: TaskId| format!("{}/{}", spec.phases[parent.phase as usize].name, parent.index);
    parents.map(|parent| (named(parent), finish(parent))).collect()
}

/// Says for which tasks a task waited.
fn after_in_words(waited_for: &[(String, Option<f64>)]) -> String {
    let one = |(task, finish): &(String, Option<f64>)| match finish {
        Some(finish) => format!("{task} ({finish:.2} s)"),
        None => task.clone(),
    };
    let mut all: Vec<String> = waited_for.iter().take(MOST_AFTER).map(one).collect();
    let more = waited_for.len() - all.len();
    if more > 0 {
        all.push(format!("{more} more"));
    }
    format!("after {}", all.join(", "))
}

/// Reads a journal.
fn read(path: &Path) -> Outcome<(Header, Vec<Record>, Timeline)> {
    let (header, pauses, records) = with_progress(|progress| {
        let reader = journal::records(path, Some(progress))?;
        let (header, pauses) = (reader.header().clone(), reader.pauses().to_vec());
        let records = reader.collect::<Result<Vec<Record>, _>>()?;
        Ok((header, pauses, records))
    })?;
    let mut timeline = Timeline::of(records.iter().cloned());
    timeline.pauses = pauses;
    Ok((header, records, timeline))
}

/// The part of a run's summary that `explain` reads.
#[derive(Deserialize)]
struct Ended {
    failed_tasks: Vec<FailedTask>,
}

/// The part of a job's record that `explain` reads.
#[derive(Deserialize)]
struct Recorded {
    tasks: Vec<RecordedPhase>,
}

/// Returns the folder of the run of a journal.
fn home_of(journal: &Path) -> Option<PathBuf> {
    Some(if journal.is_dir() { journal.to_owned() } else { journal.parent()?.parent()?.to_owned() })
}

/// Returns the folder of the internal files of a job's run: that of the journal, or that of the job if the run has several.
fn internal_files(journal: &Path, job: &str) -> Option<PathBuf> {
    let home = home_of(journal)?;
    let own = home.join(job).join(".hindmost");
    Some(if super::run::holds_several(&home) { own } else { home.join(".hindmost") })
}

/// Returns the input of a task and its values of the matrix, from the record of the job; nothing if it has none.
fn key_of(folder: Option<&Path>, task: TaskId) -> Vec<String> {
    let read = folder.and_then(|folder| std::fs::read(folder.join("job.json")).ok());
    let recorded = read.and_then(|text| serde_json::from_slice::<Recorded>(&text).ok());
    let of_task = |recorded: Recorded| {
        recorded.tasks.into_iter().nth(task.phase as usize)?.keys.into_iter().nth(task.index as usize)
    };
    recorded.and_then(of_task).unwrap_or_default()
}

/// Returns the permanent failure of a task from the summary of its job; `None` if there is none.
fn failure_of(folder: Option<&Path>, phases: &[&str], task: TaskId) -> Option<FailedTask> {
    let Ended { failed_tasks } = serde_json::from_slice(&std::fs::read(folder?.join("summary.json")).ok()?).ok()?;
    let phase = phases.get(task.phase as usize)?;
    failed_tasks.into_iter().find(|failed| failed.phase == *phase && failed.task == task.index)
}

/// Returns the task that a text such as `map/3` names, or `sort/map/3` for a task of job `sort` if there are several. The error
/// says what to write instead.
fn find_task(text: &str, jobs: &[TimelineJob]) -> Result<TaskId, String> {
    let [only] = jobs else { return find_in_several(text, jobs) };
    // The journal of a run of several jobs may have only one of them.
    let own = text.strip_prefix(&*only.spec.name).and_then(|rest| rest.strip_prefix('/'));
    find_in_job(own.filter(|own| own.contains('/')).unwrap_or(text), only, JobId(0))
}

fn find_in_several(text: &str, jobs: &[TimelineJob]) -> Result<TaskId, String> {
    // Names have no slash. A job that arrived again has the later number.
    let (name, rest) = text.split_once('/').filter(|(_, rest)| rest.contains('/')).ok_or_else(|| {
        let first = jobs.first().map_or("sort", |job| &job.spec.name);
        format!("{text:?} does not name a task of one of the jobs: write JOB/PHASE/NUMBER, such as {first}/map/0")
    })?;
    let at = jobs.iter().rposition(|job| *job.spec.name == *name).ok_or_else(|| {
        let names: Vec<&str> = jobs.iter().map(|job| &*job.spec.name).collect();
        let near = hindmost_math::suggest::did_you_mean(name, names.iter().copied());
        format!("there is no job {name:?}{near}; the jobs are {}", names.join(", "))
    })?;
    find_in_job(rest, &jobs[at], JobId(at as u32))
}

fn find_in_job(text: &str, job: &TimelineJob, id: JobId) -> Result<TaskId, String> {
    let phases: Vec<&str> = job.spec.phases.iter().map(|phase| &*phase.name).collect();
    let (name, number) = text.rsplit_once('/').ok_or_else(|| {
        format!("{text:?} does not name a task: write PHASE/NUMBER, such as {}/0", phases.first().unwrap_or(&"map"))
    })?;
    let phase = phases.iter().position(|phase| *phase == name).ok_or_else(|| {
        let near = hindmost_math::suggest::did_you_mean(name, phases.iter().copied());
        format!("there is no phase {name:?}{near}; the phases are {}", phases.join(", "))
    })?;
    let count = job.spec.phases[phase].tasks;
    let index = number.parse().ok().filter(|index| *index < count);
    let index = index
        .ok_or_else(|| format!("phase {name:?} has no task {number:?}; its tasks are 0 to {}", count.max(1) - 1))?;
    Ok(TaskId { job: id, phase: phase as u32, index })
}

/// Adds the end of each pause of the run between two steps as a step.
fn add_pauses(steps: &mut Vec<Step>, timeline: &Timeline) {
    for [begin, end] in &timeline.pauses {
        let at = end.seconds();
        let place = steps.partition_point(|step| step.at < at);
        if place > 0 && place < steps.len() {
            let what = format!("the run was resumed after a pause of {:.2} s", (*end - *begin).seconds());
            steps.insert(
                place,
                Step { at, copy: None, what, because: None, knew: Vec::new(), learned: None, superseded: false },
            );
        }
    }
}

/// Returns the text of a step: its time, what happened, why, and what the progress model showed. A reason may contain the policy's
/// own estimate of a remaining time, so the lines of the progress model are marked as such. `before` is what had been learned by
/// the step before: the same lesson is shown once.
fn step_text(step: &Step, before: Option<&Learned>, width: usize) -> String {
    let who = step.copy.map_or(String::new(), |copy| format!("attempt {copy} "));
    let mut text = indented(&format!("{:9.2} s  ", step.at), &format!("{who}{}", step.what), width);
    if let Some(because) = &step.because {
        text += &indented(GAP, &format!("because {because}"), width);
        let own = own_estimate(because);
        for known in &step.knew {
            let given = known.remaining.map(|seconds| format!("{seconds:.2}"));
            let other = own.filter(|(copy, own)| {
                copy.or(step.copy).is_none_or(|copy| copy == known.copy) && given.as_deref() != Some(own)
            });
            let guess = if known.guessed { ", a guess, because its progress shows no pace yet" } else { "" };
            let remaining = match (given, other) {
                (None, None) => "the progress model gave no remaining time".to_owned(),
                (Some(given), None) => format!("the progress model gave a remaining time of {given} s{guess}"),
                (None, Some((_, own))) => {
                    format!("the progress model gave no remaining time, so the policy used its own estimate, {own} s")
                }
                (Some(given), Some((_, own))) => format!(
                    "the progress model gave a remaining time of {given} s{guess}, but the policy used its own estimate, {own} s"
                ),
            };
            let line = format!(
                "known: attempt {} on {} had run for {:.2} s; {remaining}",
                known.copy, known.node, known.elapsed
            );
            text += &indented(GAP, &line, width);
        }
        let is_new = |learned: &&Learned| {
            before.is_none_or(|before| {
                (before.won, before.lost, before.effect) != (learned.won, learned.lost, learned.effect)
            })
        };
        if let Some(learned) = step.learned.as_ref().filter(is_new) {
            let line = format!("learned from copies of the phase: {}", learned_in_words(learned));
            text += &indented(GAP, &line, width);
        }
    }
    text
}

/// Returns the remaining time in seconds that a policy estimated itself, as a reason has it, with the attempt that the reason names.
fn own_estimate(because: &str) -> Option<(Option<u32>, &str)> {
    let (_, rest) = because.split_once(" estimates its remaining time at ")?;
    let copy = because.strip_prefix("attempt ").and_then(|rest| rest.split(' ').next()?.parse().ok());
    Some((copy, rest.split_once(" s")?.0))
}

/// True if the task was finished when its job arrived.
fn was_finished(timeline: &Timeline, task: TaskId) -> bool {
    let spec = timeline.jobs.get(task.job.0 as usize).and_then(|job| job.spec.phases.get(task.phase as usize));
    spec.is_some_and(|phase| phase.finished.contains(&task.index))
}

/// Returns the journals of a run that were put away before `journal`, when the run began again; the last one comes first.
fn put_away(journal: &Path) -> Vec<PathBuf> {
    let Some(folder) = home_of(journal).map(|home| home.join(".hindmost")) else { return Vec::new() };
    let number = |name: &str| name.strip_prefix("journal-")?.strip_suffix(".jsonl")?.parse::<u32>().ok();
    let own = journal.file_name().and_then(|name| number(name.to_str()?));
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut numbers: Vec<u32> = entries.filter_map(|entry| number(entry.file_name().to_str()?)).collect();
    numbers.retain(|number| own.is_none_or(|own| *number < own));
    numbers.sort_unstable();
    numbers.into_iter().rev().map(|number| folder.join(format!("journal-{number}.jsonl"))).collect()
}

/// Returns the path of the last journal that has the job of a task of a run of several jobs, if the journal of these jobs has
/// it not: the job had ended when the run began again.
fn journal_of_job(journal: &Path, text: &str, jobs: &[TimelineJob]) -> Option<PathBuf> {
    let (name, _) = text.split_once('/').filter(|(_, rest)| rest.contains('/'))?;
    if jobs.iter().any(|job| *job.spec.name == *name) || !super::run::holds_several(&home_of(journal)?) {
        return None;
    }
    let arrives = |record: &Record| match &record.change {
        Change::Event(Event::JobArrived { spec, .. }) => *spec.name == *name,
        _ => false,
    };
    put_away(journal).into_iter().find(|path| has_record(path, arrives))
}

/// Returns the path of the journal in which the task of a job finished: the last one of those that were put away before
/// `journal`. `None` if there is none, or if it can't be read.
fn earlier_journal(journal: &Path, job: &str, task: TaskId) -> Option<PathBuf> {
    put_away(journal).into_iter().find(|path| {
        let mut ids = Vec::new();
        has_record(path, |record| match &record.change {
            // A job may have another number in each journal.
            Change::Event(Event::JobArrived { job: id, spec }) if *spec.name == *job => {
                ids.push(*id);
                false
            }
            Change::Event(Event::AttemptFinished { attempt }) => {
                let found = attempt.task;
                ids.contains(&found.job) && (found.phase, found.index) == (task.phase, task.index)
            }
            _ => false,
        })
    })
}

/// True if a journal has a record of which `is_it` is true. A journal that can't be read has none.
fn has_record(path: &Path, mut is_it: impl FnMut(&Record) -> bool) -> bool {
    let Ok(mut records) = journal::records(path, None) else { return false };
    records.any(|record| record.as_ref().is_ok_and(&mut is_it))
}

/// Returns a sentence on how the task ended: its winner and the time of its other attempts.
fn outcome(timeline: &Timeline, task: TaskId) -> String {
    let rows: Vec<_> = timeline.attempts_of(task).collect();
    let Some(winner) = rows.iter().find(|row| row.outcome == AttemptEnd::Won) else {
        if was_finished(timeline, task) {
            return "The task has no attempts in this journal: it finished before the journal begins.".to_owned();
        }
        return format!("The task had {} and has no result yet.", counted(rows.len() as u64, "attempt"));
    };
    let seconds = |row: &hindmost_core::timeline::TimelineRow| (row.end - row.start).seconds();
    let lost: f64 = rows.iter().filter(|row| row.outcome != AttemptEnd::Won).fold(0.0, |sum, row| sum + seconds(row));
    let paused = timeline.paused_until(winner.end).seconds();
    let pauses = if paused > 0.0 { format!(", pauses of {paused:.2} s included,") } else { String::new() };
    let won = format!(
        "Attempt {} won on {}: it finished {:.2} s after the run began{pauses} and took {:.2} s",
        winner.attempt.copy,
        timeline.node_name(winner.node),
        winner.end.seconds(),
        seconds(winner),
    );
    match rows.len() {
        1 => won + ".",
        2 => format!("{won}; the other attempt ran for {lost:.2} s."),
        attempts => format!("{won}; the {} other attempts ran for {lost:.2} s in total.", attempts - 1),
    }
}

#[cfg(test)]
mod tests {
    use hindmost_core::explain::Known;

    use super::*;

    #[test]
    fn two_remaining_times_of_one_decision_are_distinct() {
        let text = |because: &str, remaining: [Option<f64>; 2]| {
            let knew = (0..).zip(remaining).map(|(copy, remaining)| Known {
                copy,
                node: "a".to_owned(),
                elapsed: 2.0,
                remaining,
                guessed: remaining == Some(0.7),
            });
            let step = Step {
                at: 3.0,
                copy: Some(1),
                what: "started on a".to_owned(),
                because: Some(because.to_owned()),
                knew: knew.collect(),
                learned: None,
                superseded: false,
            };
            step_text(&step, None, 400)
        };
        let lags =
            "attempt 0 lags: pace estimates its remaining time at 1.90 s, above 2 times the duration of a new copy";
        let own = text(lags, [Some(0.95), Some(0.5)]);
        for line in [
            "attempt 0 on a had run for 2.00 s; the progress model gave a remaining time of 0.95 s, but the policy used its own \
             estimate, 1.90 s\n",
            "attempt 1 on a had run for 2.00 s; the progress model gave a remaining time of 0.50 s\n",
        ] {
            assert!(own.contains(line), "{own}");
        }
        assert!(
            text(lags, [None, None]).contains("gave no remaining time, so the policy used its own estimate, 1.90 s\n")
        );
        assert!(!text(lags, [Some(1.9), None]).contains("its own"));
        assert!(text(lags, [Some(0.7), None]).contains(
            "gave a remaining time of 0.70 s, a guess, because its progress shows no pace yet, but the policy used its own \
             estimate, 1.90 s\n"
        ));
        assert!(!text("its job was next", [Some(0.95), None]).contains("its own"));
    }
}
