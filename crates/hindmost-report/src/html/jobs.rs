//! Single jobs on the page of a comparison, attempt by attempt under a few policies.

use hindmost_core::ids::TaskId;
use hindmost_core::metrics::ShownJob;
use hindmost_core::timeline::{AttemptEnd, Timeline};
use serde::Serialize;

use super::copies::{Told, told};
use super::keys::set_text;
use super::{Pictures, full, listed, name};
use crate::figures::gantt::{GanttChart, by_task, tasks_to_show};
use crate::text::{counted, duration, grouped};

/// Attempts of a picture that are told of in words.
const MOST_TOLD: usize = 120;

#[derive(Serialize)]
pub(super) struct JobSection {
    heading: String,
    about: String,
    pictures: Vec<JobPicture>,
}

#[derive(Serialize)]
struct JobPicture {
    svg: String,
    wide: String,
    caption: String,
    attempts: Told,
}

/// What the section is about.
pub(super) fn jobs_about(jobs: &[ShownJob], first: Option<&Vec<(String, String)>>) -> String {
    let Some(job) = jobs.first() else { return String::new() };
    let at = first.map_or(String::new(), |set| format!(" at {}", set_text(set)));
    format!(
        "A few jobs of seed {}{at}, each under the first policy and the fastest others. Every row is a task, every bar an \
         attempt; attempts of one task stand below each other. Bars carry the name of their node where there is room; the \
         list below each picture tells every attempt's, and why copies were started.",
        job.seed
    )
}

/// One section a job; all its pictures have the same tasks and the same axis.
pub(super) fn jobs(jobs: &[ShownJob], pictures: &mut Pictures) -> Vec<JobSection> {
    let mut sections: Vec<(&str, Vec<&ShownJob>)> = Vec::new();
    for job in jobs {
        match sections.last_mut() {
            Some((chosen, group)) if *chosen == job.chosen => group.push(job),
            _ => sections.push((&job.chosen, vec![job])),
        }
    }
    let section = |(chosen, group): &(&str, Vec<&ShownJob>)| {
        // One axis for all and the same tasks, so that they compare at a glance.
        let timelines: Vec<&Timeline> = group.iter().map(|job| &job.timeline).collect();
        let tasks = tasks_to_show(&timelines);
        let until = group.iter().map(|job| by_task(&job.timeline, &tasks, &job.reasons).end).fold(0.0, f64::max);
        let spec = group.first().and_then(|job| job.timeline.jobs.first()).map(|job| &job.spec);
        let count: u64 = spec.map_or(0, |spec| spec.phases.iter().map(|phase| u64::from(phase.tasks)).sum());
        let about = spec.map_or(String::new(), |spec| {
            format!(
                "The job “{}” has {} and arrives after {}. {} have the same tasks and the same time axis.",
                name(&spec.name),
                counted(count, "task"),
                duration(spec.arrival.seconds()),
                if group.len() > 1 { "All its pictures" } else { "Pictures of a job" },
            )
        });
        let shown = group.iter().map(|job| job_picture(job, &tasks, until, pictures)).collect();
        JobSection { heading: full(chosen).trim_end_matches('.').to_owned(), about, pictures: shown }
    };
    sections.iter().map(section).collect()
}

fn job_picture(job: &ShownJob, tasks: &[TaskId], until: f64, pictures: &mut Pictures) -> JobPicture {
    let panel = by_task(&job.timeline, tasks, &job.reasons);
    let origin = job.timeline.jobs.first().map_or(0.0, |job| job.arrival.seconds());
    let took = job.flowtime.map_or("not finished".to_owned(), duration);
    let chart = GanttChart {
        title: format!("{}: {took}", crate::text::name(&job.policy, 60, "…")),
        about: format!("The attempts of a job under {}, task by task.", job.policy),
        time: "time since the job arrived".to_owned(),
        panels: vec![panel],
        until: Some(until),
        wide: false,
    };
    let rows = &job.timeline.rows;
    let copies = rows.iter().filter(|row| row.redundant).count();
    let won = rows.iter().filter(|row| row.redundant && row.outcome == AttemptEnd::Won).count();
    let copies_text = match copies {
        0 => "none of them a copy".to_owned(),
        1 => format!("one of them a copy, which {}", if won == 1 { "finished first" } else { "lost" }),
        _ => format!("{} of them copies, of which {} finished first", grouped(copies as u64), grouped(won as u64)),
    };
    let why = match copies {
        0 => "",
        1 => ", and why the copy was started",
        _ => ", and why the copies were started",
    };
    let heading = format!("Under {}: where each attempt ran{why}", name(&job.policy));
    let mut attempts = told(heading, &job.timeline, tasks, &job.reasons, origin, MOST_TOLD);
    let not_drawn = rows.iter().filter(|row| row.redundant && !tasks.contains(&row.attempt.task)).count() as u64;
    let mut left = Vec::new();
    if attempts.left_out > 0 {
        left.push(format!("{} of these tasks", counted(attempts.left_out as u64, "further attempt")));
    }
    if not_drawn > 0 {
        let copies = if not_drawn == 1 { "one copy".to_owned() } else { format!("{} copies", grouped(not_drawn)) };
        left.push(format!("{copies} of tasks that are not drawn"));
    }
    if !left.is_empty() {
        attempts.note = format!("Left out: {}.", listed(&left));
    }
    JobPicture {
        svg: pictures.inline(&chart.draw()),
        wide: String::new(),
        caption: format!("Under {}: {}, {copies_text}.", name(&job.policy), counted(rows.len() as u64, "attempt")),
        attempts,
    }
}
