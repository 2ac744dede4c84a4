//! What became of the jobs with a deadline.

use serde::Serialize;

use super::Summary;

/// What became of the jobs with a deadline, over all seeds. `met + missed + undecided = jobs`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Deadlines {
    /// Number of jobs with a deadline.
    pub jobs: u64,
    /// Number of jobs that finished at their deadline or before it.
    pub met: u64,
    /// Number of jobs that finished after their deadline, were abandoned, or were unfinished at the end of a run that ended
    /// at their deadline or after it.
    pub missed: u64,
    /// Number of jobs that were unfinished at the end of a run that ended before their deadline. `pocd` leaves them out.
    pub undecided: u64,
    /// 95% interval of `pocd`: Student's t over seeds. For one seed Wilson's score interval of met / (met + missed), as if
    /// its jobs were independent. `None` if no job has met or missed its deadline.
    pub pocd_ci95: Option<[f64; 2]>,
    /// Lateness of finished jobs: max(0, finish − deadline), seconds.
    pub lateness: Summary,
    /// Mean of finish − deadline of finished jobs, which is negative for jobs that finished early.
    pub signed_lateness: SignedLateness,
}

/// The mean of finish − deadline, seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SignedLateness {
    /// Mean over seeds of each seed's mean; `None` if no job with a deadline has finished.
    pub mean: Option<f64>,
    /// 95% interval of the mean (Student's t over seeds); `None` for fewer than two seeds.
    pub ci95: Option<[f64; 2]>,
}
