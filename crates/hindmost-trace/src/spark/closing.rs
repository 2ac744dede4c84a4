//! Finishes the recording of an application.

use hindmost_core::metrics::Workers;

use super::application::Application;
use super::decommissioned;
use super::oddities::Oddities;
use super::pauses;
use super::plan;
use super::recording::{RecordingBuilder, seconds};
use super::tally::Tally;
use crate::recording::{Counting, Recording};

/// Returns the recording of an application that has ended; `None` if the log has no event of it. With the plan of a replay if it is
/// wanted.
pub(super) fn close(
    number: u32,
    mut application: Application,
    builder: &mut RecordingBuilder,
    (wants_plan, oddities, tally): (bool, &mut Oddities, &mut Tally),
) -> Option<Recording> {
    application.introduce_stages(builder);
    let mut recording = builder.take();
    if !application.touched {
        return None;
    }
    recording.application = number;
    recording.workers = Workers::Executors;
    recording.prefix = application.prefix(number);
    recording.from = application.from().map(seconds);
    recording.to = application.to().map(seconds);
    recording.jobs = application.jobs.len();
    if wants_plan {
        let stages = application.stages.held();
        for phase in &mut recording.phases {
            let is_barrier = stages.get(&phase.phase).is_some_and(|stage| stage.barrier);
            phase.counting = if is_barrier { Counting::Last } else { Counting::FirstToFinish };
        }
        recording.is_sql = stages.values().any(|stage| stage.ran && stage.execution.is_some());
        recording.plan = plan::jobs(&application, &recording.phases, oddities);
    }
    let decommissioned = application.executors.decommissioned();
    recording.executors = application.executors.recorded(oddities);
    tally.decommissioned += decommissioned::leave(&mut recording, &decommissioned);
    for pause in pauses::take_out(&mut recording) {
        recording.stood_still += pause.seconds;
        tally.pauses += 1;
        tally.paused += (pause.seconds * 1000.0).round() as u64;
        tally.ended_in_pauses += pause.attempts;
    }
    (recording.id, recording.name, recording.version) = (application.id, application.name, application.version);
    Some(recording)
}
