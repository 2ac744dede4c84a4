//! Renders where the time of applications went, and why their stragglers were slow, as text for the terminal.

mod nodes;

use hindmost_core::metrics::{
    Cause, Diagnosis, DiagnosisTotal, FailedJob, FailureCost, FinishedLast, LostWork, NoJobTime, SlowNode, Spent,
    StragglerCause, StragglersByCause, Suggestion, TaskTime, TimePart, TotalPart, Unsuccessful, Variance, Waited,
    WallTime, Workers,
};

use crate::advice::add_advice;
use crate::document::{Document, Form, Role};
use crate::needs::needs;
use crate::table::{Column, named, narrowed};
use crate::text::{capitalised, counted, duration, escaped, grouped, name, percent, wrapped};
pub(crate) use nodes::{failing_nodes, nodes};

/// Largest number of slow nodes that are named.
const NODES: usize = 5;
/// The least share of the slots that is named if a policy left them free.
const WORTH_SAYING: f64 = 0.01;
/// The least share of the wall time for which a cure is named.
pub(crate) const WORTH: f64 = 0.05;
/// Fewest stragglers whose causes are given as shares.
const FEWEST: u64 = 5;
/// Fewest tasks of a phase of which it is known what is typical.
const FEWEST_TASKS: u64 = 4;
/// The setting after whose time Spark starts copies of tasks that have no others beside them.
const THRESHOLD: &str = "spark.speculation.task.duration.threshold";
/// Most reasons of failures that are listed.
const REASONS: usize = 5;
/// The least share of the attempts' time for which something that the log accounts for is named.
const OF_TASKS: f64 = 0.1;
/// The least time that is listed, seconds.
const LEAST: f64 = 0.001;
/// Largest width of the name of a phase, in columns.
const PHASE_WIDTH: usize = 40;
const ELLIPSIS: &str = "…";

/// What a part of the wall time is called.
pub fn spent(what: Spent) -> &'static str {
    match what {
        Spent::NoJob => "no job running",
        Spent::NoSlots => "no slot",
        Spent::Work => "ordinary work",
        Spent::Scheduling => "scheduling",
        Spent::Retries => "retries",
        Spent::Stragglers => "stragglers",
        Spent::FewTasks => "few tasks",
        Spent::LastWave => "last wave",
    }
}

/// What would shorten a part of the wall time.
fn cure(what: Spent, diagnosis: &Diagnosis) -> Option<&'static str> {
    Some(match what {
        Spent::Work => return None,
        Spent::NoJob => {
            "no job is running: the program between its jobs, its user, or what holds jobs back takes this time; no scheduler \
             shortens it"
        }
        Spent::NoSlots if diagnosis.workers == Workers::Nodes => {
            "jobs wait for slots: nodes that are there earlier, or are kept, or fewer other jobs at the time, shorten it"
        }
        Spent::NoSlots => "jobs wait for slots: executors that start earlier, or are kept, shorten it",
        Spent::Scheduling => {
            "tasks wait although slots are free, or no attempt runs: waits for containers or for slots near the input, many \
             very short tasks, or work or pauses of the driver"
        }
        Spent::Retries if diagnosis.lost.failed > 0.0 => {
            "work is done again: the causes of the failures are worth more than any copy"
        }
        Spent::Retries if diagnosis.lost.killed <= 0.0 => {
            "work is done again that had succeeded: its output was lost, or the same tasks were run once more; why is worth more than \
             any copy"
        }
        Spent::Retries => {
            "work is done again although no attempt failed: attempts were killed, or they or their outputs were lost, and why \
             is worth more than any copy"
        }
        Spent::Stragglers => {
            "only tasks remain that take more than 1.5 times as long as is typical; which of them copies cure depends on the cause"
        }
        Spent::FewTasks => {
            "the phases have fewer tasks than there are slots: more and smaller tasks use the other slots, and so do several jobs at the \
             same time where the program submits them one after the other; a copy helps only if a task hangs"
        }
        Spent::LastWave => {
            "the last tasks of a phase leave slots free: smaller tasks, or a number of tasks that fills the slots, shorten it; copies don't"
        }
    })
}

/// Says what would shorten a part of the wall time, as a sentence without a capital letter.
pub(crate) fn cure_of_part(part: &TimePart, diagnosis: &Diagnosis) -> Option<String> {
    let cure = cure(part.what, diagnosis)?;
    Some(format!("{} ({}): {cure}.", spent(part.what), percent(part.share)))
}

/// What a cause of stragglers is called, where this runs the attempts; `None` for several applications together.
pub fn cause(cause: Cause, workers: Option<Workers>) -> &'static str {
    match cause {
        Cause::FirstWave => match workers {
            Some(Workers::Executors) => "an executor's first wave",
            Some(Workers::Nodes) => "a node's first wave",
            None => "a first wave",
        },
        Cause::GarbageCollection => "garbage collection",
        Cause::FetchWait => "waiting for shuffle data",
        Cause::Deserialization => "deserialization",
        Cause::Delay => "delay before the work or of the result",
        Cause::Input => "more input",
        Cause::Spill => "data spilled to disk",
        Cause::SlowNode => "a slow node",
        Cause::BusyNode => "a node that was busy at the time",
        Cause::Locality => "input farther away",
        Cause::TaskItself => "the task itself (it took long elsewhere too)",
        Cause::Isolated => "chance or a hang that the log does not explain",
        Cause::Unexplained => "none that the log shows",
    }
}

/// The columns of the table of parts, after the part's name.
pub(crate) const COLUMNS: &[Column<TimePart>] = &[
    Column { heading: "wall time", from_width: 0, cell: |part| duration(part.seconds) },
    Column { heading: "share", from_width: 0, cell: |part| percent(part.share) },
    Column {
        heading: "slots used",
        from_width: 50,
        cell: |part| part.used_share.map_or_else(|| "–".to_owned(), percent),
    },
    Column { heading: "longest in", from_width: 80, cell: longest },
];

/// The phase that had most of a part, and its share of the part.
pub(crate) fn longest(part: &TimePart) -> String {
    let Some(phase) = part.phases.first().filter(|_| part.what != Spent::NoJob) else { return String::new() };
    let label = phase.name.clone().unwrap_or_else(|| format!("phase {}", phase.phase));
    let share = if part.seconds > 0.0 { phase.seconds / part.seconds } else { 0.0 };
    let share = format!("{:.0}%", 100.0 * share.min(1.0));
    format!("{} ({}): {share}", name(&label, PHASE_WIDTH, ELLIPSIS), counted(phase.tasks, "task"))
}

/// Returns one application as text of at most `width` columns; below 40 columns, lines may be longer than that.
pub fn text(diagnosis: &Diagnosis, width: u16) -> String {
    let mut document = Document::new(Form::Terminal);
    document.paragraph(title(diagnosis));
    let Some(wall_time) = &diagnosis.wall_time else {
        return document.text(width) + "  The log does not record when tasks ran.\n";
    };
    document.paragraph_as(Role::Finding, whole(diagnosis, wall_time));
    document.paragraphs(Role::Finding, failing_nodes(diagnosis));
    document.paragraphs(Role::Finding, diagnosis.unsuccessful.map(unsuccessful));
    document.paragraphs(Role::Finding, failed_jobs(&diagnosis.failed_jobs));
    document.gap();
    document.laid_out(table(COLUMNS, &wall_time.parts, |part| part.what, width));
    document.gap();
    for part in wall_time.parts.iter().filter(|part| part.share >= WORTH) {
        document.paragraphs(Role::Finding, cure_of_part(part, diagnosis));
        document.paragraphs(Role::Finding, details(part, wall_time, diagnosis));
    }
    let sentences = [
        last(&diagnosis.finished_last),
        Some(stragglers(&diagnosis.stragglers, Some(diagnosis.workers))),
        small_phases(diagnosis),
        cures(diagnosis),
        isolated(&diagnosis.stragglers),
        task_time(&diagnosis.task_time),
        nodes(diagnosis),
        diagnosis.variance.as_ref().map(variance),
        lost(diagnosis, wall_time),
        failures(&diagnosis.failures, wall_time),
        needed(diagnosis),
    ];
    document.paragraphs(Role::Finding, sentences.into_iter().flatten());
    document.paragraphs(Role::Finding, diagnosis.suggestions.iter().map(suggested));
    if let Some(advice) = &diagnosis.advice {
        add_advice(&mut document, advice, diagnosis.jobs);
    }
    document.text(width)
}

/// Says what the winners needed; `None` if the log does not record it.
pub(crate) fn needed(diagnosis: &Diagnosis) -> Option<String> {
    let phases = diagnosis.needs.iter().map(|of| (of.phase.as_str(), &of.needs));
    needs(phases).map(|needed| format!("Winners needed: {needed}."))
}

/// Returns a suggestion as a sentence.
pub(crate) fn suggested(suggestion: &Suggestion) -> String {
    format!("Suggestion: {}.", escaped(&suggestion.text))
}

/// How an application ended that did not succeed.
pub(crate) fn unsuccessful(ended: Unsuccessful) -> &'static str {
    match ended {
        Unsuccessful::Failed => "It failed.",
        Unsuccessful::Killed => "It was killed.",
        Unsuccessful::Unfinished => "The log has no end of it.",
    }
}

/// Which phases ended jobs, by their failure.
pub(crate) fn failed_jobs(failed: &[FailedJob]) -> Option<String> {
    let because = |one: &FailedJob| {
        let phase = one.name.clone().unwrap_or_else(|| format!("phase {}", one.phase));
        format!("{} failed because {} did: {}", escaped(&one.job), escaped(&phase), escaped(&one.reason))
    };
    let mut said: Vec<String> = failed.iter().take(REASONS).map(because).collect();
    if failed.len() > REASONS {
        said.push(format!("{} more failed", counted((failed.len() - REASONS) as u64, "job")));
    }
    (!said.is_empty()).then(|| format!("{}.", capitalised(&said.join("; "))))
}

/// What the log says that the machine time of attempts went into, apart from their work.
pub(crate) fn task_time(time: &TaskTime) -> Option<String> {
    let parts = [
        (time.garbage_collection, "garbage collection", " (more memory for each task shortens it)"),
        (time.deserialization, "deserialization", ""),
        (time.fetch_wait, "waiting for shuffle data", ""),
        (time.delay, "delays before the work and of results", ""),
    ];
    let share = |seconds: f64| if time.seconds > 0.0 { seconds / time.seconds } else { 0.0 };
    let said: Vec<String> = parts
        .into_iter()
        .filter(|(seconds, ..)| share(*seconds) >= OF_TASKS)
        .map(|(seconds, what, cure)| format!("{what} took {}{cure}", percent(share(seconds))))
        .collect();
    (!said.is_empty()).then(|| format!("Of the time of all attempts, {}.", said.join(", ")))
}

/// What else is known about a part of the wall time.
pub(crate) fn details(part: &TimePart, wall_time: &WallTime, diagnosis: &Diagnosis) -> Vec<String> {
    match part.what {
        Spent::NoJob => {
            let NoJobTime { before_first, between, after_last } = wall_time.no_job;
            let times =
                [(before_first, "before the first job"), (between, "between jobs"), (after_last, "after the last")];
            let said: Vec<String> = times
                .into_iter()
                .filter(|(seconds, _)| *seconds >= LEAST)
                .map(|(seconds, when)| format!("{} {when}", duration(seconds)))
                .collect();
            let said = (!said.is_empty()).then(|| format!("No job was running for {}.", said.join(", ")));
            said.into_iter().collect()
        }
        Spent::Work => {
            let shares = [
                (
                    part.lost_share,
                    "of attempts that did not win (they failed, were lost or killed, or repeated what had succeeded): their causes are worth more than more slots",
                ),
                (
                    part.first_wave_share,
                    match diagnosis.workers {
                        Workers::Executors => {
                            "the excess of first waves: executors that are kept, or fewer of them, have fewer"
                        }
                        Workers::Nodes => {
                            "the excess of first waves: the first tasks on a node took longer than those that found programs and data there"
                        }
                    },
                ),
            ];
            let worth =
                shares.into_iter().filter_map(|(share, what)| Some((share.filter(|share| *share >= WORTH)?, what)));
            worth
                .map(|(share, what)| format!("Of the slot time in ordinary work, {} was {what}.", percent(share)))
                .collect()
        }
        Spent::FewTasks => {
            let single = part.single_tasks.filter(|single| single.seconds >= WORTH * part.seconds);
            let said = single.map(|single| {
                let copies = match diagnosis.workers {
                    Workers::Executors => {
                        let threshold = diagnosis.settings.get(THRESHOLD);
                        let set =
                            threshold.map_or("not set".to_owned(), |value| format!("{} in the log", escaped(value)));
                        format!(": Spark starts a copy of such a task only after {THRESHOLD} ({set})")
                    }
                    Workers::Nodes => String::new(),
                };
                format!(
                    "Of this time, {} ({}) went by in {} of a single task{copies}.",
                    duration(single.seconds),
                    percent((single.seconds / part.seconds).min(1.0)),
                    counted(single.phases, "phase")
                )
            });
            said.into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Returns all applications together as text.
pub fn total(total: &DiagnosisTotal, width: u16) -> String {
    let columns = usize::from(width);
    let heading = format!("{}, {} of wall time", counted(total.applications, "application"), duration(total.seconds));
    let heading = if total.applications > 1 { heading + " in all" } else { heading };
    let table = table(TOTAL_COLUMNS, &total.parts, |part| part.what, width);
    let mut text = format!("{}\n\n{table}\n\n", wrapped(&heading, columns, 0));
    for sentence in [last(&total.finished_last), Some(stragglers(&total.stragglers, None))].into_iter().flatten() {
        text += &format!("{}\n", wrapped(&sentence, columns, 0));
    }
    text
}

/// Returns what `trace info` says first: the nodes on which nearly everything failed; empty if there are none.
pub(crate) fn alarms(applications: &[Diagnosis], width: u16) -> String {
    let mut text = String::new();
    for one in applications.iter().filter(|one| !one.failing_nodes.is_empty()).take(NODES) {
        if let Some(said) = failing_nodes(one) {
            let of = if applications.len() == 1 { String::new() } else { format!("{}: ", title(one)) };
            text += &format!("{}\n", wrapped(&format!("{of}{said}"), usize::from(width), 0));
        }
    }
    text
}

/// Returns what `trace info` says about the applications of a log: the parts of their wall time, and why stragglers were slow.
pub(crate) fn brief(applications: &[Diagnosis], width: u16) -> String {
    let mut text = total(&DiagnosisTotal::of(applications.iter()), width);
    for one in applications.iter().filter(|one| applications.len() == 1 || !one.slow_nodes.is_empty()).take(NODES) {
        if let Some(said) = nodes(one) {
            let of = if applications.len() == 1 { String::new() } else { format!("{}: ", title(one)) };
            text += &format!("{}\n", wrapped(&format!("{of}{said}"), usize::from(width), 0));
        }
    }
    text
}

/// The columns of the table of all applications, after the part's name.
pub(crate) const TOTAL_COLUMNS: &[Column<TotalPart>] = &[
    Column { heading: "wall time", from_width: 0, cell: |part| duration(part.seconds) },
    Column { heading: "share", from_width: 0, cell: |part| percent(part.share) },
];

pub(crate) fn title(diagnosis: &Diagnosis) -> String {
    match (&diagnosis.id, &diagnosis.name) {
        (Some(id), Some(name)) => format!("{} {}", escaped(id), escaped(name)),
        (Some(one), None) | (None, Some(one)) => escaped(one),
        (None, None) => format!("application {}", diagnosis.application + 1),
    }
}

pub(crate) fn whole(diagnosis: &Diagnosis, wall_time: &WallTime) -> String {
    let used = wall_time.used_share.map(|share| format!(", of which {} were used", percent(share))).unwrap_or_default();
    let about = if wall_time.slots_known { "" } else { "about " };
    let left = wall_time.left_free_share.filter(|share| *share >= WORTH_SAYING);
    let left = left.map(|share| {
        format!(
            " {} of the slots were on slow nodes and left free by the policy although tasks waited.",
            percent(share)
        )
    });
    format!(
        "{}, {}, {} of wall time, {about}{:.1} slots on average{used}.{}",
        counted(diagnosis.jobs, "job"),
        tasks(diagnosis.tasks, diagnosis.all_tasks),
        duration(wall_time.seconds),
        wall_time.slots,
        left.unwrap_or_default()
    )
}

/// How many tasks there were, and how many of them finished if some did not.
pub(crate) fn tasks(finished: u64, all: u64) -> String {
    if finished < all {
        format!("{} of {} finished", grouped(finished), counted(all, "task"))
    } else {
        counted(finished, "task")
    }
}

/// Draws a table of what time was spent on.
fn table<T>(columns: &[Column<T>], parts: &[T], what: fn(&T) -> Spent, width: u16) -> String {
    narrowed(columns, width, 20, |columns, name_width| {
        let rows = parts.iter().map(|part| (name(spent(what(part)), name_width, ELLIPSIS), part));
        named("time spent on", rows, columns)
    })
}

/// What a task is called that ran again although no attempt of it had failed.
pub(crate) const AGAIN: &str = "a task that ran again after an attempt was killed or lost";

/// The phases in which a task finished last that ran again after a failure.
pub(crate) fn after_failure(last: &FinishedLast) -> Waited {
    Waited {
        phases: last.retry.phases - last.retry_without_failure.phases,
        seconds: last.retry.seconds - last.retry_without_failure.seconds,
    }
}

pub(crate) fn last(last: &FinishedLast) -> Option<String> {
    if last.all.phases == 0 {
        return None;
    }
    let share = |seconds: f64| percent(seconds / last.all.seconds.max(f64::MIN_POSITIVE));
    let parts = [
        (last.long_attempt, "a task that took long"),
        (last.late_start, "a task that started late"),
        (after_failure(last), "a task that ran again after a failure"),
        (last.retry_without_failure, AGAIN),
    ];
    let said: Vec<String> = parts
        .into_iter()
        .filter(|(waited, _)| waited.phases > 0)
        .map(|(waited, what)| format!("{what} in {} ({})", grouped(waited.phases), share(waited.seconds)))
        .collect();
    Some(format!(
        "For the last 5% of their tasks, {} of at least 20 tasks waited {} in all. Last finished {}.",
        counted(last.all.phases, "phase"),
        duration(last.all.seconds),
        said.join(", ")
    ))
}

pub(crate) fn stragglers(stragglers: &StragglersByCause, workers: Option<Workers>) -> String {
    if stragglers.tasks == 0 {
        return "No task of a phase of at least four took more than 1.5 times as long as is typical of it.".to_owned();
    }
    let said: Vec<String> = stragglers
        .causes
        .iter()
        .map(|found| {
            let share = found.excess_seconds / stragglers.excess_seconds.max(f64::MIN_POSITIVE);
            if stragglers.tasks < FEWEST {
                format!("{} for {}", cause(found.cause, workers), counted(found.tasks, "task"))
            } else {
                format!("{} for {} ({})", cause(found.cause, workers), percent(share), counted(found.tasks, "task"))
            }
        })
        .collect();
    format!(
        "{} took {} longer than is typical, summed over tasks. Causes: {}.",
        counted(stragglers.tasks, "straggler"),
        duration(stragglers.excess_seconds),
        said.join(", ")
    )
}

/// Says where it is not known what is typical: without stragglers, that would seem to be known of all tasks.
pub(crate) fn small_phases(diagnosis: &Diagnosis) -> Option<String> {
    let phases = diagnosis.timeline.iter().flat_map(|timeline| &timeline.phases);
    let is_small = diagnosis.stragglers.tasks == 0 && phases.into_iter().any(|phase| phase.tasks < FEWEST_TASKS);
    is_small.then(|| {
        format!("Of phases of fewer than {FEWEST_TASKS} tasks, the log does not show what is typical, so that tasks that hung there are not named.")
    })
}

/// What helps against a cause of stragglers, where this runs the attempts; `None` for several applications together.
fn cure_of(cause: Cause, workers: Option<Workers>) -> &'static str {
    match (cause, workers) {
        (Cause::FirstWave, Some(Workers::Nodes)) => "nodes that are kept, and programs and data that are there before",
        (Cause::FirstWave, _) => "executors that are kept, or fewer of them",
        (Cause::GarbageCollection, _) => "more memory for each task, or less data in it",
        (Cause::FetchWait, _) => "less shuffled data, or more disks and network for it",
        (Cause::Deserialization, _) => "smaller closures and broadcast variables, or longer tasks",
        (Cause::Delay, _) => "fewer and longer tasks, or smaller results",
        (Cause::Input, _) => {
            "the large inputs divided: more partitions, smaller splits of files, or a salted key if a single key is large"
        }
        (Cause::Spill, _) => "more memory for each task, or more partitions",
        (Cause::SlowNode, Some(Workers::Executors)) => {
            "its executor or worker stopped (decommissioned) and started on another machine; spark.excludeOnFailure does not \
             do it, because only failures count there"
        }
        (Cause::SlowNode, _) => {
            "no tasks on it until it is repaired or replaced: excluded by the scheduler (--exclude=NODE in Slurm), or decommissioned"
        }
        (Cause::BusyNode, _) => "fewer tasks there at the same time, or other work moved away from it",
        (Cause::Locality, _) => "more replicas of the data, or slots nearer to it",
        (Cause::TaskItself, _) => "the work of these tasks divided; copies don't",
        (Cause::Isolated, _) => "copies",
        (Cause::Unexplained, _) => {
            "another run shows it: if the same tasks are slow again, their work must be divided; otherwise copies help"
        }
    }
}

/// What helps against a cause of stragglers, with the names of these slow nodes.
pub(crate) fn cure_with(cause: Cause, workers: Option<Workers>, slow: &[SlowNode]) -> String {
    let cure = cure_of(cause, workers);
    let names: Vec<&str> = slow.iter().take(NODES).map(|node| &*node.node).collect();
    match (cause, workers) {
        (Cause::SlowNode, Some(Workers::Nodes)) if !names.is_empty() => {
            cure.replace("NODE", &escaped(&names.join(",")))
        }
        _ => cure.to_owned(),
    }
}

/// What helps against each cause that is named.
fn cures(diagnosis: &Diagnosis) -> Option<String> {
    let workers = Some(diagnosis.workers);
    let of = |found: &StragglerCause| {
        let cure = cure_with(found.cause, workers, &diagnosis.slow_nodes);
        match found.cause {
            Cause::Unexplained => format!("where the log shows no cause, {cure}"),
            one => format!("against {}, {cure}", cause(one, workers)),
        }
    };
    let said: Vec<String> = diagnosis.stragglers.causes.iter().map(of).collect();
    (!said.is_empty()).then(|| format!("What helps: {}.", said.join("; ")))
}

/// What copies are for.
fn isolated(stragglers: &StragglersByCause) -> Option<String> {
    let found = stragglers.causes.iter().find(|found| found.cause == Cause::Isolated)?;
    let share = found.excess_seconds / stragglers.excess_seconds.max(f64::MIN_POSITIVE);
    (share >= WORTH).then(|| {
        "Where tasks were slow by chance or hung, their input (if the log has it), all that the log accounts for, and the \
         other tasks on the node at the time (if there were fewer than two: also those before and after, of any phase) were as \
         usual: this is what copies are most likely to cure."
            .to_owned()
    })
}

/// What failures cost.
fn failures(failures: &[FailureCost], wall_time: &WallTime) -> Option<String> {
    let attempts: u64 = failures.iter().map(|cost| cost.attempts).sum();
    let seconds: f64 = failures.iter().map(|cost| cost.seconds).sum();
    let wall = wall_time.parts.iter().find(|part| part.what == Spent::Retries).map_or(0.0, |part| part.seconds);
    let mut said: Vec<String> = failures
        .iter()
        .take(REASONS)
        .map(|cost| format!("{} ({}, {})", escaped(&cost.reason), grouped(cost.attempts), duration(cost.seconds)))
        .collect();
    if failures.len() > REASONS {
        said.push(format!("{} more", counted((failures.len() - REASONS) as u64, "reason")));
    }
    (attempts > 0).then(|| {
        format!(
            "{} failed: {}. They cost {} of machine time, and for {} of the wall time only repeated or lost work ran.",
            counted(attempts, "attempt"),
            said.join(", "),
            duration(seconds),
            duration(wall)
        )
    })
}

pub(crate) fn variance(variance: &Variance) -> String {
    let share = |part: hindmost_core::metrics::VarianceShare| {
        format!("{:.0}% [{:.0}, {:.0}]", part.share * 100.0, part.ci95[0] * 100.0, part.ci95[1] * 100.0)
    };
    let optional =
        |part: Option<hindmost_core::metrics::VarianceShare>| part.map_or_else(|| "unknown".to_owned(), share);
    format!(
        "Differences between tasks of a phase (variance of ln duration, 95% intervals): first waves {}, input {}, node {}, \
         node at the time {}, the rest {}. {}",
        share(variance.first_wave),
        share(variance.input),
        optional(variance.node),
        optional(variance.node_time),
        share(variance.rest),
        task_itself(variance)
    )
}

/// Says how much of the differences belongs to the tasks themselves.
pub(crate) fn task_itself(variance: &Variance) -> String {
    let [least, most] = variance.task_itself.map(|share| share * 100.0);
    format!("Between {least:.0}% and {most:.0}% belong to the tasks themselves, so that copies would have them too.")
}

pub(crate) fn lost(diagnosis: &Diagnosis, wall_time: &WallTime) -> Option<String> {
    let lost = diagnosis.lost;
    let slots = (wall_time.seconds * wall_time.slots).max(f64::MIN_POSITIVE);
    let share = percent((lost.failed + lost.losers + lost.repeated + lost.killed) / slots);
    lost_in_words(&lost).map(|said| format!("{said} ({share} of all slots' time)."))
}

/// Says which machine time was lost, without a full stop; `None` if none was.
pub(crate) fn lost_in_words(lost: &LostWork) -> Option<String> {
    let parts = [
        (lost.failed, "failed attempts"),
        (lost.losers, "attempts that lost to another of their task"),
        (lost.killed, "attempts that were killed, and lost to no other"),
        (lost.repeated, "work that was done again after it had succeeded"),
    ];
    let said = parts.iter().filter(|(seconds, _)| *seconds > 0.0);
    let said: Vec<String> = said.map(|(seconds, what)| format!("{what} {}", duration(*seconds))).collect();
    (!said.is_empty()).then(|| format!("Lost machine time: {}", said.join(", ")))
}

/// Says what most of the time was spent on: the two largest of these parts and their shares, after `mostly`; `None` without parts.
pub(crate) fn mostly(parts: impl Iterator<Item = (Spent, f64)>) -> Option<String> {
    let most = parts.take(2).map(|(what, share)| format!("{} ({})", spent(what), percent(share)));
    let most: Vec<String> = most.collect();
    (!most.is_empty()).then(|| format!("mostly {}", most.join(" and ")))
}
