//! Recorded against replayed times, in a sentence for each log.

use hindmost_core::metrics::{Comparison, RecordedTime};

use crate::text::{counted, duration, percent};

/// Returns a sentence for each log that is replayed as it ran.
pub(crate) fn sentences(compared: &Comparison) -> Vec<String> {
    let several = compared.recorded.len() > 1;
    compared
        .recorded
        .iter()
        .map(|one| if several { format!("{}: {}", one.log, sentence(one)) } else { sentence(one) })
        .collect()
}

/// Says the same of an application with so many jobs: a replay may have fewer.
pub(crate) fn sentence_of(one: &RecordedTime, all_jobs: u64) -> String {
    if all_jobs <= one.jobs {
        return sentence(one);
    }
    let why = format!(
        " Of the {}, those without a task that succeeded are left out, and those that wait for one another are joined.",
        counted(all_jobs, "job")
    );
    sentence(one) + &why
}

pub(crate) fn sentence(one: &RecordedTime) -> String {
    let jobs = counted(one.jobs, "job");
    let recorded = format!("Recorded: {} a job on average ({jobs}).", duration(one.job_time_mean));
    let Some((replayed, ratio)) = one.replayed_job_time_mean.zip(one.ratio) else {
        return format!("{recorded} No job finishes in a replay of {}, the policy that ran.", one.policy);
    };
    let off = (ratio - 1.0).abs();
    let by = match ratio {
        _ if off < 0.0005 => "the same".to_owned(),
        ratio if ratio > 1.0 => format!("{} more", percent(off)),
        _ => format!("{} less", percent(off)),
    };
    let replayed = format!("Replayed under {}, the policy that ran: {}, {by}.", one.policy, duration(replayed));
    let warning = if one.calibrated {
        ""
    } else {
        " This replay does not give the recorded times, so what policies gain in it is no forecast."
    };
    format!("{recorded} {replayed}{warning}")
}

/// Returns what the range of results for several shares means, if the log leaves the share open.
pub(crate) fn about_shares(compared: &Comparison) -> Option<String> {
    let [one] = &compared.recorded[..] else { return None };
    let table = compared.by_correlation.as_ref()?;
    let [least, most] = one.task_itself;
    let shown = [
        (one.copies_observed, "copy that ran", "copies that ran"),
        (one.repeats_observed, "long task in other jobs", "long tasks in other jobs"),
    ];
    let shown = shown.into_iter().filter(|(count, ..)| *count > 0);
    let shown: Vec<String> =
        shown.map(|(count, one, more)| format!("{count} {}", if count == 1 { one } else { more })).collect();
    let why = match &shown[..] {
        [] => "no copy ran that would show it".to_owned(),
        _ if least == most => format!("as {} show", shown.join(" and ")),
        _ => format!("{} show no more", shown.join(" and ")),
    };
    let is = if least == most {
        format!("is {}", percent(least))
    } else {
        format!("may be {} to {}", percent(least), percent(most))
    };
    let lie = match table.correlations.len() {
        1 => String::new(),
        values => format!(
            " The results lie between those of the table for {values} values; the other table is for {}.",
            percent(table.used)
        ),
    };
    Some(format!(
        "The share of durations that belongs to the tasks, beyond what their input explains, {is}: {why}.{lie}"
    ))
}
