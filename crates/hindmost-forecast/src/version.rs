//! Versions of engines.

/// The version of an engine: its first two numbers.
pub type Version = (u32, u32);

/// Returns the first two numbers of a version such as `3.5.1` or `2.4.5.amzn-0`.
pub(crate) fn version(text: &str) -> Option<Version> {
    let mut parts = text.split(['.', '-']).map(|part| part.trim().parse().ok());
    Some((parts.next()??, parts.next().flatten().unwrap_or(0)))
}

/// Returns the version of Hadoop that follows from a job's id: those before 2 number jobs by the date on which the job tracker
/// started, as in `job_200904211745_0002`; later ones by a time in milliseconds.
pub(crate) fn version_of_hadoop(job: &str) -> Option<Version> {
    let started = job.strip_prefix("job_")?.split('_').next()?;
    let is_number = started.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && started.len() == 12).then_some((1, 0))
}
