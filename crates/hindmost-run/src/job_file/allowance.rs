//! How many tasks of a phase may fail without failing the job.

use std::fmt;
use std::str::FromStr;

use hindmost_math::plain::Quoted;

/// The largest number of tasks of a phase that may fail: a number, or a share of the phase's tasks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Allowance {
    /// A number of tasks.
    Tasks(u32),
    /// A share of the phase's tasks in percent, from 0 to 100. A number of tasks that is not whole is rounded down.
    Percent(f64),
}

impl Default for Allowance {
    fn default() -> Allowance {
        Allowance::Tasks(0)
    }
}

impl Allowance {
    /// Returns the number of tasks that may fail in a phase of `tasks` tasks.
    pub fn of(self, tasks: u32) -> u32 {
        match self {
            Allowance::Tasks(number) => number.min(tasks),
            // The small addend lets 7% of 100 tasks be 7 although 0.07 has no exact binary form.
            Allowance::Percent(percent) => (percent * f64::from(tasks) / 100.0 + 1e-9).floor() as u32,
        }
    }

    /// True if no task may fail, whatever their number.
    pub fn is_none(self) -> bool {
        matches!(self, Allowance::Tasks(0) | Allowance::Percent(0.0))
    }
}

impl fmt::Display for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Allowance::Tasks(number) => write!(f, "{number}"),
            Allowance::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

impl FromStr for Allowance {
    type Err = String;

    fn from_str(text: &str) -> Result<Allowance, String> {
        let wrong = || {
            format!("{} is not a number of tasks and not a share of them: give 3 or \"5%\", for example", Quoted(text))
        };
        match text.trim().strip_suffix('%') {
            None => text.trim().parse().map(Allowance::Tasks).map_err(|_| wrong()),
            Some(percent) => {
                let percent: f64 = percent.trim().parse().map_err(|_| wrong())?;
                if (0.0..=100.0).contains(&percent) {
                    Ok(Allowance::Percent(percent))
                } else {
                    Err(format!("{} is not a share: it must be from 0% to 100%", Quoted(text)))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_tasks_are_rounded_down() {
        for (text, tasks, allowed) in [
            ("3", 10, 3),
            ("3", 2, 2),
            ("0", 10, 0),
            ("5%", 10, 0),
            ("5%", 20, 1),
            ("5%", 39, 1),
            ("7%", 100, 7),
            ("12.5 %", 8, 1),
            ("100%", 7, 7),
        ] {
            assert_eq!(text.parse::<Allowance>().unwrap().of(tasks), allowed, "{text} of {tasks}");
        }
        for text in ["", "-1", "1.5", "101%", "-1%", "NaN%", "a few"] {
            assert!(text.parse::<Allowance>().is_err(), "{text}");
        }
    }
}
