//! `hindmost explain`: why each copy of a task was started or stopped.

use hindmost_core::explain::{Step, explain};
use hindmost_core::record::Record;
use hindmost_core::timeline::{AttemptEnd, Timeline};
use hindmost_policies::catalogue::spec::PolicySpec;
use hindmost_policies::catalogue::{self, SYSTEMS};
use hindmost_report::text::{counted, duration, indented};
use hindmost_trace::journal;
use serde_json::json;

use crate::cli::ExplainArgs;
use crate::failure::{Failure, Outcome};
use crate::terminal;

use super::run::find_task;
use super::trace::with_progress;

/// As wide as the time before a step.
const GAP: &str = "             ";

/// Tells a task's story.
pub fn run(args: &ExplainArgs) -> Outcome {
    let (header, records) = with_progress(|progress| {
        let reader = journal::records(&args.journal, Some(progress))?;
        let header = reader.header().clone();
        let records = reader.collect::<Result<Vec<Record>, _>>()?;
        Ok((header, records))
    })?;
    let name = args.journal.display();
    let timeline = Timeline::of(records.iter().cloned());
    let job = timeline.jobs.first().ok_or_else(|| Failure::input(format!("{name}: this journal holds no job")))?;
    let phases: Vec<&str> = job.spec.phases.iter().map(|phase| &*phase.name).collect();
    let tasks: Vec<u32> = job.spec.phases.iter().map(|phase| phase.tasks).collect();
    let task = find_task(&args.task, &phases, &tasks).map_err(Failure::input)?;
    let spec: PolicySpec = header.policy.parse().map_err(Failure::input)?;
    let session = catalogue::session_of(&header).map_err(Failure::input)?;
    let steps = explain(session, records, task).map_err(|difference| Failure::work(format!("{name}: {difference}")))?;
    let outcome = outcome(&timeline, task);
    if args.json {
        return terminal::print_json(&json!({
            "task": args.task, "policy": header.policy, "knowledge": header.knowledge.to_string(),
            "steps": steps, "outcome": outcome,
        }));
    }
    let about = SYSTEMS.iter().find(|system| system.name == spec.rule).map_or("", |system| system.about);
    let width = usize::from(terminal::width()).max(40);
    let head = format!("{} of {}, policy {}, knowledge {}", args.task, job.spec.name, header.policy, header.knowledge);
    let mut text = indented("", &head, width);
    if !about.is_empty() {
        text += &indented("", &format!("{}: {about}", spec.rule), width);
    }
    text += "\n";
    for step in &steps {
        text += &told(step, width);
    }
    if steps.is_empty() {
        text += "No copy of it was started.\n";
    }
    text += &format!("\n{}", indented("", &outcome, width));
    terminal::print(&text)
}

/// A step, with what was known and why, indented.
fn told(step: &Step, width: usize) -> String {
    let who = step.copy.map_or(String::new(), |copy| format!("copy {copy} "));
    let mut text = indented(&format!("{:9.2} s  ", step.at), &format!("{who}{}", step.what), width);
    if let Some(because) = &step.because {
        text += &indented(GAP, &format!("because {because}"), width);
        for known in &step.knew {
            let remaining = known.remaining.map_or_else(
                || "its remaining time not known".to_owned(),
                |seconds| format!("expected to need {seconds:.2} s more"),
            );
            let line =
                format!("knew: copy {} on {} had run for {:.2} s, {remaining}", known.copy, known.node, known.elapsed);
            text += &indented(GAP, &line, width);
        }
    }
    text
}

/// What came of it in the end, in a sentence.
fn outcome(timeline: &Timeline, task: hindmost_core::ids::TaskId) -> String {
    let rows: Vec<_> = timeline.attempts_of(task).collect();
    let Some(winner) = rows.iter().find(|row| row.outcome == AttemptEnd::Won) else {
        let spec = timeline.jobs.first().and_then(|job| job.spec.phases.get(task.phase as usize));
        if spec.is_some_and(|phase| phase.finished.contains(&task.index)) {
            return "No attempts: its result is from before this journal.".to_owned();
        }
        return format!("{}, and no result yet.", counted(rows.len() as u64, "attempt"));
    };
    let seconds = |row: &hindmost_core::timeline::TimelineRow| (row.end - row.start).seconds();
    let lost: f64 = rows.iter().filter(|row| row.outcome != AttemptEnd::Won).fold(0.0, |sum, row| sum + seconds(row));
    let won = format!(
        "Copy {} won on {} at {} after {}",
        winner.attempt.copy,
        timeline.node_name(winner.node),
        duration(winner.end.seconds()),
        duration(seconds(winner)),
    );
    match rows.len() {
        1 => won + ".",
        2 => format!("{won}; the other attempt held {} in all.", duration(lost)),
        others => format!("{won}; {} other attempts held {} in all.", others - 1, duration(lost)),
    }
}
