//! Reads any bytes as a log of any format, and finds out what its applications spent their time on.

use crate::{check_findings, check_summary, check_width};
use hindmost_core::metrics::{Diagnosis, DiagnosisTotal, SlotTimeline};
use hindmost_report::diagnosis::{text, total};
use hindmost_report::html::{ApplicationPage, application_page};
use hindmost_trace::table::Columns;
use hindmost_trace::{Log, Wanted, log};

/// Checks one input.
///
/// # Panics
/// If a check fails.
pub fn check(bytes: &[u8]) {
    let Ok(read) = log::read_stream(bytes, "log", &Columns::default(), Wanted::DIAGNOSES, None) else { return };
    let Log { summary, findings, diagnoses: applications, .. } = read;
    check_summary(&summary);
    check_findings(&findings);
    let width = 40 + bytes.len() as u16 % 161;
    for one in &applications {
        check_diagnosis(one);
        check_width(&text(one, width), usize::from(width));
        let page = ApplicationPage { diagnosis: one, log: "log", warnings: &summary.warnings, index: None };
        let page = application_page(&page);
        assert!(!page.contains(|letter: char| letter.is_control() && letter != '\n' && letter != '\t'));
    }
    let all = DiagnosisTotal::of(applications.iter());
    assert_eq!(all.applications, applications.len() as u64);
    check_width(&total(&all, width), usize::from(width));
}

fn check_diagnosis(one: &Diagnosis) {
    serde_json::to_string(one).expect("a diagnosis is JSON");
    assert_eq!(one.wall_time.is_some(), one.timeline.is_some());
    if let (Some(time), Some(timeline)) = (&one.wall_time, &one.timeline) {
        let parts: f64 = time.parts.iter().map(|part| part.seconds).sum();
        assert!(time.seconds.is_finite() && (parts - time.seconds).abs() <= 1e-6 * time.seconds.max(1.0), "{time:?}");
        let is_share = |share: f64| (0.0..=1.0 + 1e-9).contains(&share);
        assert!(time.parts.iter().all(|part| is_share(part.share) && part.used_share.is_none_or(is_share)), "{time:?}");
        assert!(time.used_share.is_none_or(is_share) && time.slots >= 0.0, "{time:?}");
        assert!((timeline.seconds - time.seconds).abs() <= 1e-6 * time.seconds.max(1.0), "{time:?}");
        check_timeline(timeline);
    }
    let causes = &one.stragglers.causes;
    assert_eq!(causes.iter().map(|cause| cause.tasks).sum::<u64>(), one.stragglers.tasks);
    assert!(one.stragglers.tasks <= one.tasks && causes.iter().all(|cause| cause.excess_seconds >= 0.0), "{causes:?}");
    let last = &one.finished_last;
    assert_eq!(last.long_attempt.phases + last.late_start.phases + last.retry.phases, last.all.phases);
    for seconds in [one.lost.failed, one.lost.losers, one.lost.repeated, last.all.seconds] {
        assert!(seconds.is_finite() && seconds >= 0.0, "{seconds}");
    }
    assert!(one.slow_nodes.len() as u64 <= one.nodes_tested);
}

fn check_timeline(timeline: &SlotTimeline) {
    let steps = timeline.starts.len();
    assert!((1..=600).contains(&steps) && timeline.phases.len() <= 40 && timeline.jobs.len() <= 100, "{steps}");
    assert!(timeline.starts[0] == 0.0 && timeline.starts.is_sorted(), "{:?}", timeline.starts);
    assert_eq!((timeline.slots.len(), timeline.spent.len()), (steps, steps));
    let uses = timeline.uses.iter().map(|one| &one.slots);
    for slots in uses.clone().chain([&timeline.slots]) {
        assert!(slots.len() == steps && slots.iter().all(|slots| slots.is_finite() && *slots >= 0.0), "{slots:?}");
    }
    for step in 0..steps {
        let used: f64 = uses.clone().map(|slots| slots[step]).sum();
        assert!(used <= timeline.slots[step] * (1.0 + 1e-9) + 0.01, "{used} of {}", timeline.slots[step]);
    }
    assert!(timeline.phases.iter().all(|phase| phase.from <= phase.to && phase.from >= 0.0), "{:?}", timeline.phases);
    assert!(timeline.jobs.iter().all(|job| job.from <= job.to && job.from >= 0.0), "{:?}", timeline.jobs);
}
