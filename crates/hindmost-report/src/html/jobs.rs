//! The section about single jobs on the page of a comparison: the attempts of a job under a few policies.

use hindmost_core::ids::TaskId;
use hindmost_core::metrics::ShownJob;
use hindmost_core::timeline::{AttemptEnd, Timeline};

use super::copies::attempt_list;
use super::keys::set_text;
use super::{listed, name};
use crate::document::{Beside, Document, Picture};
use crate::figures::gantt::{GanttChart, by_task, tasks_to_show};
use crate::text::{counted, duration, full, grouped};

/// Largest number of attempts of a picture that are described in words.
const MOST_LISTED: usize = 120;

/// Introduces the section. `first` is the point of the sweep to which the jobs belong, if there is
/// a sweep.
fn about(job: &ShownJob, first: Option<&Vec<(String, String)>>) -> String {
    let at = first.map_or(String::new(), |set| format!(" at {}", set_text(set)));
    format!(
        "A few jobs of seed {}{at}, each under the first policy and under the fastest of the others. Each row is a \
         task and each bar is an attempt, labelled with its node if it is long enough. The list below each picture has \
         the node of every drawn attempt and the reason for every copy.",
        job.seed
    )
}

/// Adds the section, with a part for each job; nothing without jobs. `first` is the point of the sweep to which the jobs belong, if
/// there is a sweep.
pub(super) fn add_jobs(document: &mut Document, jobs: &[ShownJob], first: Option<&Vec<(String, String)>>) {
    let Some(any) = jobs.first() else { return };
    document.heading(2, "Attempts of single jobs");
    document.paragraph(about(any, first));
    let mut sections: Vec<(&str, Vec<&ShownJob>)> = Vec::new();
    for job in jobs {
        match sections.last_mut() {
            Some((chosen, group)) if *chosen == job.chosen => group.push(job),
            _ => sections.push((&job.chosen, vec![job])),
        }
    }
    for (chosen, group) in &sections {
        // All pictures of a job have the same tasks and the same axis, so that they can be compared.
        let timelines: Vec<&Timeline> = group.iter().map(|job| &job.timeline).collect();
        let tasks = tasks_to_show(&timelines);
        let until = group.iter().map(|job| by_task(&job.timeline, &tasks, &job.reasons).end).fold(0.0, f64::max);
        // The tables of the page are about all seeds, but a picture is about one.
        let seed = group.first().map_or(String::new(), |job| format!(", seed {}", job.seed));
        document.heading(3, format!("{}{seed}", full(chosen).trim_end_matches('.')));
        if let Some(job) = group.first().and_then(|job| job.timeline.jobs.first()) {
            let count: u64 = job.spec.phases.iter().map(|phase| u64::from(phase.tasks)).sum();
            document.paragraph(format!(
                "The job “{}” has {} and arrives after {}.{}",
                name(&job.spec.name),
                counted(count, "task"),
                duration(job.spec.arrival.seconds()),
                if group.len() > 1 { " All its pictures have the same tasks and the same time axis." } else { "" },
            ));
        }
        document.beside(Beside::Pictures, group, |part, job| job_picture(part, job, &tasks, until));
    }
}

fn job_picture(document: &mut Document, job: &ShownJob, tasks: &[TaskId], until: f64) {
    let panel = by_task(&job.timeline, tasks, &job.reasons);
    let origin = job.timeline.jobs.first().map_or(0.0, |job| job.arrival.seconds());
    let took = job.flowtime.map_or("not finished".to_owned(), |flowtime| format!("flowtime {}", duration(flowtime)));
    let chart = GanttChart {
        title: format!("{}: {took}", crate::text::name(&job.policy, 60, "…")),
        about: format!("The attempts of a job under {}, by task.", job.policy),
        time: "time since the job arrived".to_owned(),
        panels: vec![panel],
        until: Some(until),
        wide: false,
    };
    let rows = &job.timeline.rows;
    let copies = rows.iter().filter(|row| row.redundant).count();
    let won = rows.iter().filter(|row| row.redundant && row.outcome == AttemptEnd::Won).count();
    let copies_text = match copies {
        0 => "no copies".to_owned(),
        1 => format!("including one copy, which {}", if won == 1 { "finished first" } else { "did not finish first" }),
        _ => format!("including {} copies; {} of them finished first", grouped(copies as u64), grouped(won as u64)),
    };
    let heading = format!("Attempts under {} by task (times count from the job's arrival)", name(&job.policy));
    let attempts = attempt_list(&job.timeline, tasks, &job.reasons, origin, MOST_LISTED);
    let not_drawn = rows.iter().filter(|row| row.redundant && !tasks.contains(&row.attempt.task)).count() as u64;
    let mut left = Vec::new();
    if attempts.left_out > 0 {
        left.push(format!("{} of these tasks", counted(attempts.left_out as u64, "more attempt")));
    }
    if not_drawn > 0 {
        let copies = if not_drawn == 1 { "one copy".to_owned() } else { format!("{} copies", grouped(not_drawn)) };
        left.push(format!("{copies} of tasks that are not drawn"));
    }
    let note = if left.is_empty() { String::new() } else { format!("The list leaves out {}.", listed(&left)) };
    let caption = format!("Under {}: {}, {copies_text}.", name(&job.policy), counted(rows.len() as u64, "attempt"));
    document.picture(Picture::new(chart.draw(), caption));
    attempts.add_to(document, heading, note);
}
