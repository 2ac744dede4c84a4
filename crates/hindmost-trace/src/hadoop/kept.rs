//! Data about jobs that are kept for a replay.

use super::hosts::Host;
use super::job::Job;
use super::phases::{Phase, duration};
use crate::diagnosis::Ended;
use crate::diagnosis::Recording;
use crate::recorded::Outcome;

/// All data that a replay needs. Times are in milliseconds since 1970.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub jobs: Vec<KeptJob>,
    /// How each of these jobs ran.
    pub recordings: Vec<Recording>,
    /// Attempts that lost, failed or were speculative.
    pub attempts: Vec<KeptAttempt>,
    /// Machine, start, finish, and bytes of the container of each attempt.
    pub intervals: Vec<(Host, i64, i64, Option<f64>)>,
}

#[derive(Debug)]
pub(super) struct KeptJob {
    pub name: String,
    pub submitted: i64,
    pub phases: [KeptPhase; 2],
}

#[derive(Debug, Default)]
pub(super) struct KeptPhase {
    /// Durations of the winners in seconds, in the order of their tasks.
    pub seconds: Vec<f64>,
    /// Memory of a container, in bytes.
    pub memory: Option<f64>,
}

#[derive(Debug)]
pub(super) struct KeptAttempt {
    pub application: u32,
    pub phase: u32,
    pub task: u32,
    pub number: u32,
    pub host: Option<Host>,
    pub start: Option<i64>,
    pub finish: Option<i64>,
    pub speculative: bool,
    pub outcome: Outcome,
}

impl Kept {
    /// Keeps the data of a job. `maps_ended` is when the job's last map ended. Returns false for a job without a task that succeeded,
    /// which is left out.
    pub(super) fn keep(&mut self, application: u32, job: &Job, phases: &[Phase; 2], maps_ended: Option<i64>) -> bool {
        let mut of_job = KeptJob {
            name: job.called(application),
            submitted: 0,
            phases: [KeptPhase::default(), KeptPhase::default()],
        };
        let mut earliest: Option<i64> = None;
        for (phase, of_phase) in phases.iter().zip(&mut of_job.phases) {
            of_phase.memory = job.memory[phase.number as usize];
            let maps_ended = maps_ended.filter(|_| phase.number == 1);
            for (task, attempts) in &phase.tasks {
                let winner = attempts.winner();
                for (index, attempt) in attempts.attempts.iter().enumerate() {
                    let Some(ended) = attempt.ended else { continue };
                    if let (Some(host), Some(start), Some(finish)) = (attempt.host, attempt.start, attempt.finish) {
                        self.intervals.push((host, start, finish.max(start), of_phase.memory));
                    }
                    let won = winner == Some(index);
                    if won && let Some(seconds) = duration(attempt, maps_ended) {
                        of_phase.seconds.push(seconds);
                        earliest = [earliest, attempt.start].into_iter().flatten().min();
                    }
                    let speculative = attempt.marked == Some(true);
                    if won && !speculative {
                        continue;
                    }
                    let winner_finish = winner.and_then(|winner| attempts.attempts[winner].finish);
                    let outcome = match (ended, winner) {
                        (Ended::Failed, _) => Outcome::Failed,
                        (Ended::Killed, None) => Outcome::Killed,
                        (Ended::Succeeded, _) if won => Outcome::Won,
                        (Ended::Succeeded, _) if winner_finish.is_some() && attempt.start >= winner_finish => {
                            Outcome::Repeated
                        }
                        _ => Outcome::Lost,
                    };
                    self.attempts.push(KeptAttempt {
                        application,
                        phase: phase.number,
                        task: *task,
                        number: attempt.number,
                        host: attempt.host,
                        start: attempt.start,
                        finish: attempt.finish,
                        speculative,
                        outcome,
                    });
                }
            }
        }
        if let Some(submitted) = job.submitted.or(earliest).filter(|_| earliest.is_some()) {
            of_job.submitted = submitted;
            self.jobs.push(of_job);
            return true;
        }
        false
    }
}
