//! How many tasks run at a time (`-j`), and how long each may take (`--timeout`).

use std::time::Duration;

use super::MapError;
use crate::job_file::parse_duration;

/// The largest number of tasks that run at a time with `-j 0`. Each needs a few processes and open files.
const AS_MANY_AS_POSSIBLE: usize = 1000;

/// Returns how many tasks run at a time: `8`, `50%` of the cpus, `+1` or `-1` relative to the cpus, or `0` for as many as
/// possible. Without a text, as many as there are cpus. The result is at least 1.
///
/// # Errors
/// If the text has another form.
pub fn parallel_tasks(text: Option<&str>, cpus: usize, tasks: usize) -> Result<usize, MapError> {
    let Some(text) = text else { return Ok(cpus.max(1)) };
    let wrong = || {
        MapError::Option(format!(
            "--jobs {text:?} is not a number of tasks: give a number, a percentage of the cpus such as 50%, +N or -N relative \
             to the number of cpus, or 0 for as many as possible"
        ))
    };
    let number = |text: &str| text.parse::<u32>().map(|number| number as usize).map_err(|_| wrong());
    let count = match text.trim() {
        "0" => tasks.min(AS_MANY_AS_POSSIBLE),
        text if text.ends_with('%') => {
            let share: f64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
            if !share.is_finite() || share < 0.0 {
                return Err(wrong());
            }
            (cpus as f64 * share / 100.0).round() as usize
        }
        text if text.starts_with('+') => cpus + number(&text[1..])?,
        text if text.starts_with('-') => cpus.saturating_sub(number(&text[1..])?),
        text => number(text)?,
    };
    Ok(count.clamp(1, 1_000_000))
}

/// Returns how long one attempt may take: a time such as `10`, `1.5` (seconds) or `2m`, or a multiple of the median such as
/// `300%`.
///
/// # Errors
/// If the text has another form, or is 0.
pub fn timeout(text: &str) -> Result<(Option<Duration>, Option<f64>), MapError> {
    let wrong = || {
        MapError::Option(format!(
            "--timeout {text:?} is not a time: give seconds, a time such as 2m or 1h30m, or a percentage of the median duration \
             of finished tasks, such as 300%"
        ))
    };
    let positive = |number: f64| Some(number).filter(|number| (0.001..=1e9).contains(number)).ok_or_else(wrong);
    if let Some(share) = text.strip_suffix('%') {
        return Ok((None, Some(positive(share.parse().map_err(|_| wrong())?)? / 100.0)));
    }
    match text.parse::<f64>() {
        Ok(seconds) => Ok((Some(Duration::from_secs_f64(positive(seconds)?)), None)),
        Err(_) => Ok((Some(parse_duration(text).ok_or_else(wrong)?), None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_tasks_are_relative_to_the_cpus() {
        let count = |text| parallel_tasks(Some(text), 4, 20).unwrap();
        let counts = ["3", "50%", "+0", "+2", "-1", "-9", "200%", "1%", "0"].map(count);
        assert_eq!(counts, [3, 2, 4, 6, 3, 1, 8, 1, 20]);
        assert_eq!(parallel_tasks(None, 4, 20).unwrap(), 4);
        assert_eq!(parallel_tasks(Some("0"), 4, 10_000_000).unwrap(), AS_MANY_AS_POSSIBLE);
        for wrong in ["", "x", "4x", "%", "1e99%x", "+", "nan%"] {
            assert!(parallel_tasks(Some(wrong), 4, 20).is_err(), "{wrong}");
        }
    }

    #[test]
    fn timeouts_are_times_or_multiples_of_the_median() {
        assert_eq!(timeout("1.5").unwrap(), (Some(Duration::from_millis(1500)), None));
        assert_eq!(timeout("2m").unwrap(), (Some(Duration::from_mins(2)), None));
        assert_eq!(timeout("300%").unwrap(), (None, Some(3.0)));
        for wrong in ["", "0", "-1", "x", "0%", "nan", "inf%"] {
            assert!(timeout(wrong).is_err(), "{wrong}");
        }
    }
}
