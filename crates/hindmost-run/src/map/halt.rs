//! When failed, successful or finished tasks end a run early (`--halt`), and the exit code that follows.

use std::str::FromStr;

use super::MapError;

/// The largest exit code that stands for a number of failed tasks: more than 100 have failed.
const MANY_FAILED: u64 = 101;

/// Whether running tasks are stopped when a run ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Running tasks are stopped.
    Now,
    /// Running tasks finish; no more tasks begin.
    Soon,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Failed,
    Succeeded,
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Amount {
    Count(u64),
    /// Share of all tasks.
    Share(f64),
}

/// The rule of `--halt`: when a run ends early.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Halt(Option<(When, Of, Amount)>);

/// How many tasks of a run have ended, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Number of tasks that have failed.
    pub failed: u64,
    /// Number of tasks that have ended.
    pub done: u64,
    /// Number of all tasks.
    pub total: u64,
}

/// Whether a run goes on after the end of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// It goes on.
    Continues,
    /// It ends early, with this exit code.
    Halts(When, u8),
}

impl Halt {
    /// Returns whether the run goes on after a task has ended with `code`, the exit code of its command or 128 plus the
    /// signal that ended it. `counted` includes this task.
    pub fn after(&self, counted: Counted, code: u8) -> Outlook {
        let Some((when, of, amount)) = self.0 else { return Outlook::Continues };
        let (reached, applies) = match of {
            Of::Failed => (counted.failed, code != 0),
            Of::Succeeded => (counted.done - counted.failed, code == 0),
            Of::Done => (counted.done, true),
        };
        let limit = match amount {
            Amount::Count(count) => count as f64,
            Amount::Share(share) => counted.total as f64 * share,
        };
        if !applies || (reached as f64) < limit {
            return Outlook::Continues;
        }
        let exit = match (of, amount) {
            (Of::Succeeded, _) => 0,
            _ if limit == 1.0 => code,
            (_, Amount::Share(_)) => percent(counted.failed, counted.total),
            (_, Amount::Count(_)) => failures(counted.failed),
        };
        Outlook::Halts(when, exit)
    }

    /// Returns the exit code of a run that was not ended early: the number of failed tasks, or with a share in `--halt` their
    /// percentage.
    pub fn exit_code(&self, counted: Counted) -> u8 {
        match self.0 {
            Some((_, _, Amount::Share(_))) => percent(counted.failed, counted.done),
            _ => failures(counted.failed),
        }
    }
}

fn failures(failed: u64) -> u8 {
    failed.min(MANY_FAILED) as u8
}

fn percent(failed: u64, of: u64) -> u8 {
    (failed as f64 / of.max(1) as f64 * 100.0).ceil().min(255.0) as u8
}

impl FromStr for Halt {
    type Err = MapError;

    fn from_str(text: &str) -> Result<Halt, MapError> {
        let wrong = || {
            MapError::Option(format!(
                "--halt {text:?} is not a rule: write never, or now or soon, then fail, success or done, then a number or a \
                 percentage, as in now,fail=1 or soon,fail=10%"
            ))
        };
        let long = match text {
            "0" => "never",
            "1" => "soon,fail=1",
            "2" => "now,fail=1",
            "-1" => "soon,success=1",
            "-2" => "now,success=1",
            other => other,
        };
        let long = match long.strip_suffix('%').filter(|share| share.bytes().all(|byte| byte.is_ascii_digit())) {
            Some(share) => format!("soon,fail={share}%"),
            None => long.to_owned(),
        };
        if long == "never" {
            return Ok(Halt(None));
        }
        let (when, rest) = long.split_once(',').ok_or_else(wrong)?;
        let (of, amount) = rest.split_once('=').ok_or_else(wrong)?;
        let when = match when {
            "now" => When::Now,
            "soon" => When::Soon,
            _ => return Err(wrong()),
        };
        let of = match of {
            "fail" => Of::Failed,
            "success" => Of::Succeeded,
            "done" => Of::Done,
            _ => return Err(wrong()),
        };
        let number = |text: &str| text.parse::<u64>().ok().filter(|number| *number > 0).ok_or_else(wrong);
        let amount = match amount.strip_suffix('%') {
            Some(share) => Amount::Share(number(share)? as f64 / 100.0),
            None => Amount::Count(number(amount)?),
        };
        Ok(Halt(Some((when, of, amount))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many of the tasks with these exit codes end before a run under this rule does, and the exit code.
    fn run(halt: &str, codes: &[u8]) -> (usize, u8) {
        let halt: Halt = halt.parse().unwrap();
        let mut counted = Counted { total: codes.len() as u64, ..Counted::default() };
        for (at, code) in codes.iter().enumerate() {
            counted.done += 1;
            counted.failed += u64::from(*code != 0);
            if let Outlook::Halts(_, exit) = halt.after(counted, *code) {
                return (at + 1, exit);
            }
        }
        (codes.len(), halt.exit_code(counted))
    }

    #[test]
    fn exit_codes_are_those_of_gnu_parallel() {
        // Measured with GNU parallel 20221122: parallel -j1 --halt RULE 'exit {}' ::: 0 3 0 5 0
        let codes = [0, 3, 0, 5, 0];
        for (rule, ended, exit) in [
            ("now,fail=1", 2, 3),
            ("soon,fail=1", 2, 3),
            ("now,fail=50%", 5, 40),
            ("now,success=1", 1, 0),
            ("soon,success=2", 3, 0),
            ("now,done=2", 2, 1),
            ("2", 2, 3),
            ("1", 2, 3),
            ("never", 5, 2),
            ("soon,fail=30%", 4, 40),
            ("now,fail=2", 4, 2),
            ("now,done=3", 3, 1),
            ("soon,fail=9", 5, 2),
        ] {
            assert_eq!(run(rule, &codes), (ended, exit), "{rule}");
        }
    }

    #[test]
    fn many_failures_give_one_exit_code() {
        assert_eq!(run("never", &[1; 100]).1, 100);
        assert_eq!(run("never", &[1; 101]).1, 101);
        assert_eq!(run("0", &[1; 300]).1, 101);
        assert_eq!(run("-1", &[1, 1]), (2, 2));
        assert_eq!(run("20%", &[0; 5]), (5, 0));
    }

    #[test]
    fn wrong_rules_are_refused_with_examples() {
        for rule in ["", "now", "now,fail", "now,fail=0", "later,fail=1", "now,fails=1", "now,fail=x%", "3"] {
            let error = rule.parse::<Halt>().unwrap_err().to_string();
            assert!(error.contains("now,fail=1"), "{error}");
        }
    }
}
