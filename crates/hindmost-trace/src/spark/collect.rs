//! Collects data from events: counts, and the recordings of applications.

use super::application::{Application, TaskEnded};
use super::closing;
use super::events::{Kind, parse};
use super::fields::{
    ApplicationEnd, ApplicationStart, EnvironmentUpdate, Excluded, JobEnd, JobStart, LogStart, SqlEnd, StageEvent,
};
use super::oddities::Oddities;
use super::reasons::{of_failure, of_kill};
use super::recording::RecordingBuilder;
use super::second_ends::{Earlier, HeldEnds};
use super::tally::Tally;
use super::task_end::{End, Metrics, TaskEnd, TaskMetrics, Unread};
use crate::reading::causes::Causes;
use crate::reading::json::behind_key;
use crate::recorder::Recorder;

#[derive(Debug)]
pub(super) struct Collector {
    /// The application whose events are being read.
    open: Application,
    /// Counts of finished applications.
    tally: Tally,
    /// Number of finished applications.
    number: u32,
    /// Whether several applications are expected, so that even the names of the first application need a prefix.
    several: bool,
    /// Whether the next event begins another log.
    fresh: bool,
    /// Whether a later part of a log is being read, in which a header does not begin an application.
    later_part: bool,
    failures: Causes,
    killed_by: Causes,
    /// Ends of the open application's attempts that do not count yet, because the attempts may end again.
    held: HeldEnds,
    /// Builds the recording of the open application.
    recording: RecordingBuilder,
    /// Takes the recordings of finished applications.
    recorder: Recorder,
    /// What was left out of replays, or repaired.
    oddities: Oddities,
}

/// The counts of one or several logs.
pub(super) struct Collected {
    pub tally: Tally,
    pub failures: Causes,
    pub killed_by: Causes,
    pub oddities: Oddities,
}

impl Collector {
    pub(super) fn new(recorder: Recorder, several: bool) -> Self {
        let mut collector = Collector {
            open: Application::new(recorder.wants_replays()),
            tally: Tally::default(),
            number: 0,
            several,
            fresh: false,
            later_part: false,
            failures: Causes::default(),
            killed_by: Causes::default(),
            held: HeldEnds::default(),
            recording: RecordingBuilder::default(),
            recorder,
            oddities: Oddities::default(),
        };
        collector.announce_application();
        collector
    }

    /// Begins another log, or a later part of the same log.
    pub(super) fn begin(&mut self, later_part: bool) {
        self.later_part = later_part;
        self.fresh |= !later_part;
    }

    /// Records that the log that was read last was cut short.
    pub(super) fn was_cut(&mut self) {
        self.open.cut = true;
    }

    /// Records that jobs that had ended were removed from the log that was read last.
    pub(super) fn was_compacted(&mut self) {
        self.open.compacted = true;
    }

    pub(super) fn finish(mut self) -> (Collected, Recorder) {
        self.close_application();
        let Collector { tally, failures, killed_by, oddities, recorder, .. } = self;
        (Collected { tally, failures, killed_by, oddities }, recorder)
    }

    /// Applies an event, given its line. An event that can't be parsed does not change the collected data.
    pub(super) fn take(&mut self, kind: Kind, line: &[u8]) -> Result<(), serde_json::Error> {
        if kind == Kind::Foreign {
            return Ok(());
        }
        if self.fresh {
            self.fresh = false;
            if self.open.touched {
                self.next_application();
            }
        }
        self.open.touched = true;
        let Collector { open, recording, .. } = self;
        match kind {
            Kind::TaskEnd => self.task_end_line(line, true)?,
            Kind::TaskStart => open.task_start(line, recording),
            Kind::SpeculationRequested => open.counts.speculation_requests += 1,
            Kind::StageSubmitted => {
                let event: StageEvent<'_> = parse(line)?;
                if let Some(info) = &event.info {
                    open.stage_submitted(info, recording);
                }
            }
            Kind::StageCompleted => {
                let event: StageEvent<'_> = parse(line)?;
                if let Some(info) = &event.info {
                    if info.failure.get().is_none() {
                        self.count_held(info.id.id());
                    }
                    self.open.stage_completed(info, &mut self.recording);
                }
            }
            Kind::JobStart => {
                let event: JobStart<'_> = parse(line)?;
                recording.job_started(event.id.id(), event.time.instant());
                open.job_start(&event);
            }
            Kind::JobEnd => {
                let event: JobEnd = parse(line)?;
                recording.job_ended(event.id.id(), event.time.instant());
                if behind_key(line, r#""Result""#).is_some_and(|result| result.starts_with(br#""JobFailed""#)) {
                    open.job_failed(&event, recording);
                }
                open.job_end(&event, recording);
            }
            Kind::ExecutorAdded => open.executor_added(&parse(line)?),
            Kind::ExecutorRemoved => open.executor_removed(&parse(line)?),
            Kind::BlockManagerAdded => open.block_manager_added(&parse(line)?),
            Kind::ExecutorExcluded | Kind::NodeExcluded => {
                let event: Excluded<'_> = parse(line)?;
                open.excluded(&event);
            }
            Kind::EnvironmentUpdate => {
                let event: EnvironmentUpdate = parse(line)?;
                let cpus = event.spark.and_then(|properties| properties.task_cpus.real());
                open.executors.set_task_cpus(cpus);
                recording.settings(parse(line)?);
            }
            Kind::ResourceProfileAdded => {
                let event = parse(line)?;
                open.executors.profile(&event);
            }
            Kind::SqlStart => open.jobs.sql_start(line),
            Kind::SqlEnd => {
                let event: SqlEnd = parse(line)?;
                open.jobs.sql_end(&event);
            }
            Kind::LogStart => {
                let event: LogStart<'_> = parse(line)?;
                self.log_start(&event);
            }
            // Any number of parts may follow each other in one file.
            Kind::Rollover => {
                let event: LogStart<'_> = parse(line)?;
                open.version = open.version.take().or(event.version.get().map(str::to_owned));
            }
            Kind::ApplicationStart => {
                let event = parse(line)?;
                self.application_start(&event);
            }
            Kind::ApplicationEnd => {
                let event: ApplicationEnd = parse(line)?;
                open.ended(&event);
            }
            Kind::OtherSpark | Kind::Foreign => {}
        }
        Ok(())
    }

    fn log_start(&mut self, event: &LogStart<'_>) {
        // Each part of a rolling log may have a header.
        if self.open.started && !self.later_part {
            self.next_application();
        }
        self.open.version = event.version.get().map(str::to_owned).or(self.open.version.take());
    }

    fn application_start(&mut self, event: &ApplicationStart<'_>) {
        if self.open.started && !self.open.is_of(event) {
            self.next_application();
        }
        self.open.start(event);
        self.announce_application();
    }

    fn next_application(&mut self) {
        self.close_application();
        self.number += 1;
        self.announce_application();
    }

    fn close_application(&mut self) {
        self.count_held(None);
        self.held = HeldEnds::default();
        let wants_plan = self.recorder.wants_replays();
        let mut closed = std::mem::replace(&mut self.open, Application::new(wants_plan));
        for cause in closed.end_what_runs(&mut self.recording) {
            self.killed_by.count(cause);
        }
        self.tally.add(&closed.tally());
        let found =
            closing::close(self.number, closed, &mut self.recording, (wants_plan, &mut self.oddities, &mut self.tally));
        if let Some(recording) = found {
            self.recorder.add(recording);
        }
    }

    fn announce_application(&mut self) {
        let are_several = self.several || self.number > 0;
        self.recording.set_prefix(if are_several { self.open.prefix(self.number) } else { String::new() });
    }

    /// Counts the ends that were held back for attempts of a stage, or of all stages.
    fn count_held(&mut self, stage: Option<u32>) {
        for line in self.held.take(stage) {
            self.count_line(&line);
        }
    }

    /// Counts an end that was held back.
    fn count_line(&mut self, line: &[u8]) {
        // The line was parsed before.
        let _ = self.task_end_line(line, false);
    }

    /// Applies a task end event, given its line. If it `may_end_again`, its end may be held back.
    fn task_end_line(&mut self, line: &[u8], may_end_again: bool) -> Result<(), serde_json::Error> {
        if let Ok(event) = parse::<TaskEnd<'_, Option<TaskMetrics>>>(line) {
            self.task_end(&event, may_end_again.then_some(line));
            return Ok(());
        }
        // Counts must not depend on errors in metrics.
        let event: TaskEnd<'_, Unread> = parse(line)?;
        self.task_end(&event, may_end_again.then_some(line));
        Ok(())
    }

    /// Applies a task end event. Its `line` is given if the event's end may be held back.
    fn task_end<M: Metrics>(&mut self, event: &TaskEnd<'_, M>, line: Option<&[u8]>) {
        if let (Some(line), Some((id, task))) = (line, event.attempt()) {
            match (event.is_loss_of_executor(), self.held.earlier(id, task)) {
                (true, Earlier::None) => {
                    for free in self.held.hold(id, task, line) {
                        self.count_line(&free);
                    }
                    return;
                }
                (true, _) => {
                    self.open.counts.twice += 1;
                    return;
                }
                (false, Earlier::Held) => {
                    self.held.forget(id);
                    self.open.counts.ended_again += 1;
                }
                (false, Earlier::Counted) => {
                    self.open.counts.ended_again += 1;
                    return;
                }
                (false, Earlier::None) => {}
            }
        }
        let end = event.end();
        match (self.open.task_end(event, end, &mut self.recording), end) {
            (TaskEnded::Attempt { has_winner }, End::Killed) => {
                self.killed_by.count(of_kill(event.reason.as_ref(), has_winner));
            }
            (TaskEnded::Attempt { .. }, End::Failed) => self.failures.count(&of_failure(event.reason.as_ref())),
            _ => {}
        }
    }
}
