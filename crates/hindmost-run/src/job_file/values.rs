//! Checks single values of job files: names, durations, amounts, environments.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use hindmost_core::names;
use hindmost_core::resources::parse_size;
use hindmost_math::plain::{Plain, Quoted};

use super::allowance::Allowance;
use super::format::{Cpus, Failures, Features, Limit, Size, Span};

/// Largest length of a name in bytes. File systems allow 255; the other 55 bytes are for prefixes and suffixes.
const LONGEST_NAME: usize = 200;
/// Largest length in bytes of a text that is passed to a program. Linux allows 128 KiB for one argument or variable.
pub(crate) const LONGEST_TEXT: usize = 100_000;
/// Valid numbers of cpus. Nodes count in thousandths of a cpu.
const CPUS: RangeInclusive<f64> = 0.001..=1e6;
/// Valid durations in seconds, up to about 30 years.
const SECONDS: RangeInclusive<f64> = 0.001..=1e9;
/// Prefix of the variables that the driver sets.
pub(super) const OWN: &str = "HINDMOST_";

/// Checks that a name can be that of a folder and can be printed.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    names::check_name(name).map_err(|error| format!("{} {error}", Quoted(name)))?;
    let turns_text =
        |c: char| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let reason = if name.contains(turns_text) {
        "must not contain characters that change the direction of text"
    } else if name.contains('/') {
        "is a folder's name, so it may not contain /"
    } else if name.starts_with('.') {
        "is a folder's name, so it may not begin with a dot"
    } else if name.len() > LONGEST_NAME {
        return Err(format!("a name of {} bytes is too long, at most {LONGEST_NAME} are possible", name.len()));
    } else {
        return Ok(());
    };
    Err(format!("{} {reason}", Quoted(name)))
}

/// Checks a duration and returns it.
pub(super) fn time(span: &Span) -> Result<Duration, String> {
    let (seconds, written) = match span {
        Span::Seconds(seconds) => (*seconds, Plain(*seconds).to_string()),
        Span::Text(text) => {
            let wrong = || {
                format!("{} is not a time: give a number and a unit, such as \"90s\", \"5m\" or \"2h\"", Quoted(text))
            };
            (seconds_of(text).ok_or_else(wrong)?, Quoted(text).to_string())
        }
    };
    if SECONDS.contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(format!("is {written}, but must be from {} to {} seconds", SECONDS.start(), SECONDS.end()))
    }
}

/// Returns the seconds of a text such as `90s`, `1.5 h` or `1h30m`.
fn seconds_of(text: &str) -> Option<f64> {
    let mut rest = text.trim();
    let mut seconds = 0.0;
    loop {
        let split = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let (number, after) = rest.split_at(split);
        let after = after.trim_start();
        let split = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(split);
        let unit = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        seconds += number.parse::<f64>().ok()? * unit;
        rest = after.trim_start();
        if rest.is_empty() {
            return Some(seconds);
        }
    }
}

/// Checks a delay, which may be 0, and returns it.
pub(super) fn delay(span: &Span) -> Result<Duration, String> {
    match span {
        Span::Seconds(seconds) if *seconds == 0.0 => Ok(Duration::ZERO),
        Span::Text(text) if seconds_of(text) == Some(0.0) => Ok(Duration::ZERO),
        other => time(other),
    }
}

/// How long the processes of a stopped attempt may take to end, unless the job says otherwise: 5 s.
pub const KILL_AFTER: Duration = Duration::from_secs(5);

/// Returns the time that a text such as `0`, `2.5` or `1m` names, in seconds if it has no unit.
///
/// # Errors
/// If it names no time.
pub fn time_or_zero(text: &str) -> Result<Duration, String> {
    delay(&span(text.to_owned()))
}

/// Returns a duration that a text names, in seconds if it has no unit.
pub(super) fn span(text: String) -> Span {
    text.trim().parse().map_or_else(|_| Span::Text(text), Span::Seconds)
}

/// Checks the words of a shell.
pub(super) fn shell(words: Vec<String>) -> Result<Vec<String>, String> {
    if words.first().is_none_or(|program| program.trim().is_empty()) {
        return Err("shell is empty: give a program and its options, such as [\"bash\", \"-c\"]".to_owned());
    }
    words.iter().try_for_each(|word| check_text("shell", word))?;
    Ok(words)
}

/// Checks the number of cpus of one attempt.
pub(super) fn cpus(given: Cpus) -> Result<f64, String> {
    let cpus = match given {
        Cpus::Number(number) => number,
        Cpus::Column(text) => {
            let number = text.trim().parse();
            number.map_err(|_| format!("cpus is {}, but must be a number", Quoted(&text)))?
        }
    };
    if CPUS.contains(&cpus) {
        Ok(cpus)
    } else {
        Err(format!("cpus is {}, but must be a number from {} to {}", Plain(cpus), CPUS.start(), CPUS.end()))
    }
}

/// Returns the memory of one attempt in bytes, and how many times as much a retry gets after a kill for memory.
pub(super) fn memory(size: &Size) -> Result<(u64, Option<f64>), String> {
    let (text, retry) = match size {
        Size::Text(text) => (text, None),
        Size::Growing { first, retry } => (first, Some(growth("memory", *retry)?)),
    };
    let bytes = parse_size(text).map_err(|error| format!("memory: {error}"))?;
    if bytes >= 1.0 {
        Ok((bytes.ceil() as u64, retry))
    } else {
        Err(format!("memory is {text:?}, but must be above 0"))
    }
}

/// Returns how long one attempt may take, and how many times as long a retry may take after a time-out.
pub(super) fn limit(limit: &Limit) -> Result<(Duration, Option<f64>), String> {
    match limit {
        Limit::Fixed(span) => Ok((time(span)?, None)),
        Limit::Growing { first, retry } => Ok((time(first)?, Some(growth("time_limit", *retry)?))),
    }
}

/// Checks how many times as much a retry gets.
fn growth(what: &str, retry: f64) -> Result<f64, String> {
    if (1.0..=100.0).contains(&retry) {
        Ok(retry)
    } else {
        Err(format!("{what}: retry is {}, but must be a number from 1 to 100", Plain(retry)))
    }
}

/// Returns the names of features, each once.
pub(super) fn features(given: Features) -> Result<Vec<String>, String> {
    let given = match given {
        Features::One(name) => vec![name],
        Features::Many(names) => names,
    };
    let mut names: Vec<String> = Vec::new();
    for name in given {
        let is_part = |c: char| c.is_whitespace() || c.is_control() || ",&|()[]*".contains(c);
        if name.is_empty() || name.len() > LONGEST_NAME || name.contains(is_part) {
            let name = Quoted(&name);
            return Err(format!(
                "features: {name} is not the name of a feature; several names are a list, [\"ssd\", \"big\"]"
            ));
        }
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

/// Returns how many tasks of a phase may fail.
pub(super) fn allowance(given: &Failures) -> Result<Allowance, String> {
    match given {
        Failures::Tasks(number) => count("allowed_failures", *number, &(0..=10_000_000)).map(Allowance::Tasks),
        Failures::Share(text) => text.parse().map_err(|error| format!("allowed_failures: {error}")),
    }
}

/// Checks that a number is above 0.
pub(super) fn positive(what: &str, number: f64) -> Result<f64, String> {
    if number.is_finite() && number > 0.0 {
        Ok(number)
    } else {
        Err(format!("{what} is {}, but must be a number above 0", Plain(number)))
    }
}

/// Checks that a whole number is within bounds.
pub(super) fn count(what: &str, number: i64, bounds: &RangeInclusive<u32>) -> Result<u32, String> {
    u32::try_from(number)
        .ok()
        .filter(|number| bounds.contains(number))
        .ok_or_else(|| format!("{what} is {number}, but must be from {} to {}", bounds.start(), bounds.end()))
}

/// Checks that a text can be passed to a program.
pub(super) fn check_text(what: &str, text: &str) -> Result<(), String> {
    if text.contains('\0') {
        return Err(format!("{what} contains the character NUL, which can't be passed to a program"));
    }
    if text.len() > LONGEST_TEXT {
        return Err(format!(
            "{what} has {} bytes, but at most {LONGEST_TEXT} can be passed to a program: put it into a file",
            text.len()
        ));
    }
    Ok(())
}

/// Checks that variables can be set.
pub(super) fn check_environment(environment: &BTreeMap<String, String>) -> Result<(), String> {
    for (name, value) in environment {
        if name.is_empty() {
            return Err("environment: a variable's name may not be empty".to_owned());
        }
        if name.contains('=') || name.contains('\0') {
            return Err(format!("environment: {name:?} is not a valid variable name: it may not contain = or NUL"));
        }
        if name.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(format!("environment: {name:?} is not a valid variable name: it may not contain spaces"));
        }
        if name.starts_with(OWN) {
            return Err(format!(
                "environment: {name:?} can't be set: names that begin with {OWN} are reserved for Hindmost"
            ));
        }
        check_text(&format!("environment: the value of {name:?}"), value)?;
    }
    Ok(())
}
