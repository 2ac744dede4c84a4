//! Parses times, durations and amounts of bytes as people and tools write them.

use crate::reading::causes::shortened;

/// Bytes in a kilobyte; tools that write "1 KB" mean this many.
const KILO: f64 = 1024.0;
/// Times and durations further from 0 than this, in seconds, count as unknown: the year 10000.
const FAR: f64 = 253_402_300_800.0;

/// Powers of ten; whole numbers of as many digits are as exact as these.
const POWERS: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// Words by which tools say that there is no value.
const NO_VALUES: [&str; 9] = ["none", "null", "nan", "nat", "n/a", "na", "unknown", "undefined", "\\n"];

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
    /// Minutes.
    Minutes,
    /// Hours.
    Hours,
}

impl Unit {
    /// Parses the name of a unit, in lower case.
    pub(crate) fn of(name: &str) -> Option<Unit> {
        Some(match name {
            "s" | "sec" | "secs" | "second" | "seconds" => Unit::Seconds,
            "ms" | "msec" | "msecs" | "milli" | "millis" | "millisec" | "millisecond" | "milliseconds" => {
                Unit::Milliseconds
            }
            "us" | "µs" | "usec" | "usecs" | "micro" | "micros" | "microsecond" | "microseconds" => Unit::Microseconds,
            "ns" | "nsec" | "nano" | "nanos" | "nanosecond" | "nanoseconds" => Unit::Nanoseconds,
            "min" | "mins" | "minute" | "minutes" => Unit::Minutes,
            "h" | "hr" | "hrs" | "hour" | "hours" => Unit::Hours,
            _ => return None,
        })
    }

    /// Returns the unit of a time since 1970 by its size. Times before the year 5138 in a unit are smaller than 10¹¹
    /// seconds, so that larger numbers have a smaller unit.
    pub(crate) fn by_size(time: f64) -> Unit {
        match time.abs() {
            size if size < 1e11 => Unit::Seconds,
            size if size < 1e14 => Unit::Milliseconds,
            size if size < 1e17 => Unit::Microseconds,
            _ => Unit::Nanoseconds,
        }
    }

    /// Returns the name of a unit that is smaller than a second.
    pub(crate) fn if_below_a_second(self) -> Option<&'static str> {
        match self {
            Unit::Milliseconds => Some("ms"),
            Unit::Microseconds => Some("us"),
            Unit::Nanoseconds => Some("ns"),
            Unit::Seconds | Unit::Minutes | Unit::Hours => None,
        }
    }

    /// Returns the seconds of an amount of this unit.
    fn seconds(self, amount: f64) -> f64 {
        match self {
            Unit::Seconds => amount,
            Unit::Milliseconds => amount / 1e3,
            Unit::Microseconds => amount / 1e6,
            Unit::Nanoseconds => amount / 1e9,
            Unit::Minutes => amount * 60.0,
            Unit::Hours => amount * 3600.0,
        }
    }
}

/// Parses a time: a number, or a date and time as in ISO 8601. A number without a unit is in seconds, or from 10¹¹ on in
/// milliseconds, from 10¹⁴ on in microseconds and from 10¹⁷ on in nanoseconds. Returns seconds, for dates since 1970.
pub(crate) fn time(text: &str, unit: Option<Unit>) -> Option<f64> {
    let text = text.trim();
    let seconds = match number(text) {
        Some(amount) => unit.unwrap_or_else(|| Unit::by_size(amount)).seconds(amount),
        None => date_and_time(text)?,
    };
    (seconds.abs() < FAR).then_some(seconds)
}

/// Returns whether a text gives a value: it is none of the words by which tools say that there is none.
pub(crate) fn is_given(text: &str) -> bool {
    let text = text.trim();
    !text.chars().all(|c| matches!(c, '-' | '?' | '–' | '.'))
        && !NO_VALUES.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Returns why a text in a column can't be read as a time.
pub(crate) fn no_time(text: &str, column: &str) -> String {
    if let Some(unit) = number(text.trim()).and_then(|time| Unit::by_size(time).if_below_a_second()) {
        let (text, column) = (text.trim(), column.trim());
        return format!(
            "{text} in the column {column:?} is no time in its unit; it is one in {unit}: --columns MEANING={column}:{unit}, \
             such as start={column}:{unit}"
        );
    }
    format!(
        "{:?} in the column {:?} is no time, which is written as 1700000000.5 or 2024-03-31 13:05:00Z (a duration: 90.5 or 0:01:30)",
        shortened(text.trim(), 40),
        shortened(column.trim(), 40)
    )
}

/// Parses a duration, in seconds: a number (in seconds without a unit), `[D-]HH:MM:SS` or `1d 2h 3m 4s 5ms`.
pub(crate) fn duration(text: &str, unit: Option<Unit>) -> Option<f64> {
    let text = text.trim();
    let seconds = match number(text) {
        Some(amount) => unit.unwrap_or(Unit::Seconds).seconds(amount),
        None if text.contains(':') => clock(text)?,
        None => worded(text)?,
    };
    (0.0..FAR).contains(&seconds).then_some(seconds)
}

/// Parses a number with digits only, so that words such as "infinity" are no numbers.
pub(crate) fn number(text: &str) -> Option<f64> {
    if !text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b'E')) {
        return None;
    }
    real(text).filter(|x| x.is_finite())
}

/// Parses a number as the standard library does. One of few digits is the quotient of two exact numbers, which takes a third of the time.
fn real(text: &str) -> Option<f64> {
    let (mut digits, mut after_point) = (0_u64, None);
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' if text.len() < POWERS.len() => {
                digits = 10 * digits + u64::from(byte - b'0');
                after_point = after_point.map(|count| count + 1);
            }
            b'.' if after_point.is_none() && text.len() > 1 => after_point = Some(0),
            _ => return text.parse().ok(),
        }
    }
    (!text.is_empty()).then(|| digits as f64 / POWERS[after_point.unwrap_or(0)])
}

/// Parses an amount of bytes: a number, with or without a unit (`1.5 GB`, `12kB`, `3MiB`). A kilobyte has 1024 bytes.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let amount = real(&text[..digits])?;
    let power = match text[digits..].trim().to_ascii_lowercase().as_str() {
        "" | "b" | "bytes" | "byte" => 0,
        "k" | "kb" | "kib" => 1,
        "m" | "mb" | "mib" => 2,
        "g" | "gb" | "gib" => 3,
        "t" | "tb" | "tib" => 4,
        "p" | "pb" | "pib" => 5,
        // A number with an exponent.
        _ => return number(text).filter(|x| (0.0..1e18).contains(x)).map(|x| x as u64),
    };
    let amount = amount * KILO.powi(power);
    (amount < 1e18).then_some(amount as u64)
}

/// Parses `[D-]HH:MM:SS`, `MM:SS` or either with a fraction.
fn clock(text: &str) -> Option<f64> {
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (days.trim().parse::<u32>().ok()?, rest),
        None => (0, text),
    };
    let mut seconds = 0.0;
    let mut parts = 0;
    for part in rest.split(':') {
        seconds = seconds * 60.0 + real(part.trim()).filter(|x| x.is_finite() && *x >= 0.0)?;
        parts += 1;
    }
    (2..=3).contains(&parts).then_some(f64::from(days) * 86_400.0 + seconds)
}

/// Parses amounts with units, such as `1d 2h 3m 4.5s` or `250ms`.
fn worded(text: &str) -> Option<f64> {
    let mut seconds = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let amount: f64 = rest[..digits].parse().ok()?;
        rest = rest[digits..].trim_start();
        let letters = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
        seconds += match &rest[..letters] {
            "d" | "day" | "days" => amount * 86_400.0,
            "m" => amount * 60.0,
            unit => Unit::of(&unit.to_lowercase())?.seconds(amount),
        };
        rest = rest[letters..].trim_start_matches([' ', ',']);
    }
    (!text.is_empty()).then_some(seconds)
}

/// Parses `YYYY-MM-DDTHH:MM[:SS[.fraction]][zone]`, as seconds since 1970. Slashes are accepted in the date, a blank
/// instead of `T`, a comma before the fraction; the zone is `Z`, `UTC` or an offset. A time without a zone counts as UTC.
fn date_and_time(text: &str) -> Option<f64> {
    let text = text.trim_matches('"');
    let bytes = text.as_bytes();
    let whole = |from: usize, to: usize| -> Option<i64> {
        let digit = |byte: &u8| byte.is_ascii_digit().then(|| i64::from(byte - b'0'));
        bytes.get(from..to)?.iter().try_fold(0, |whole, byte| Some(10 * whole + digit(byte)?))
    };
    let separator = *bytes.get(4)?;
    if !matches!(separator, b'-' | b'/') || *bytes.get(7)? != separator {
        return None;
    }
    let (year, month, day) = (whole(0, 4)?, whole(5, 7)?, whole(8, 10)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let mut seconds = days_since_1970(year, month, day) as f64 * 86_400.0;
    let Some(after) = bytes.get(10) else { return Some(seconds) };
    if !matches!(after, b'T' | b't' | b' ' | b'_') || bytes.get(13) != Some(&b':') {
        return None;
    }
    let (hour, minute) = (whole(11, 13)?, whole(14, 16)?);
    if hour > 24 || minute > 59 {
        return None;
    }
    seconds += (hour * 3600 + minute * 60) as f64;
    let mut rest = text.get(16..)?;
    if let Some(tail) = rest.strip_prefix(':') {
        let is_other = |byte: u8| !byte.is_ascii_digit() && byte != b'.' && byte != b',';
        let digits = tail.bytes().position(is_other).unwrap_or(tail.len());
        let text = &tail[..digits];
        let second = if text.contains(',') { real(&text.replace(',', ".")) } else { real(text) }?;
        if second >= 61.0 {
            return None;
        }
        seconds += second;
        rest = &tail[digits..];
    }
    zone(rest.trim()).map(|offset| seconds - offset)
}

/// Parses a time zone, as seconds ahead of UTC.
fn zone(text: &str) -> Option<f64> {
    if matches!(text, "" | "Z" | "z" | "UTC" | "GMT") {
        return Some(0.0);
    }
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1.0, &text[1..]),
        b'-' => (-1.0, &text[1..]),
        _ => return None,
    };
    let digits: String = rest.chars().filter(|c| *c != ':').collect();
    if digits.len() != 2 && digits.len() != 4 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let hours: f64 = digits[..2].parse().ok()?;
    let minutes: f64 = if digits.len() == 4 { digits[2..].parse().ok()? } else { 0.0 };
    Some(sign * (hours * 3600.0 + minutes * 60.0))
}

/// Returns the days from 1970-01-01 to a date of the Gregorian calendar, by the usual method of counting years from
/// March.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_of_their_size() {
        for (text, seconds) in [
            ("12.5", 12.5),
            ("1700000000", 1.7e9),
            ("1700000000000", 1.7e9),
            ("1700000000000000", 1.7e9),
            ("1700000000000000000", 1.7e9),
            ("1.7e12", 1.7e9),
            ("-5", -5.0),
            ("1699999999.123", 1_699_999_999.123),
            ("0.1234567890123456789", 0.123_456_789_012_345_68),
            (".5", 0.5),
            ("5.", 5.0),
        ] {
            assert_eq!(time(text, None), Some(seconds), "{text}");
        }
        assert_eq!(time("2500", Some(Unit::Milliseconds)), Some(2.5));
        assert_eq!(["", ".", "1.2.3", "1,5"].map(|text| time(text, None)), [None; 4]);
    }

    #[test]
    fn dates_are_parsed_with_any_zone() {
        // `date -u -d 2024-02-29T12:34:56 +%s` is 1709210096.
        for text in [
            "2024-02-29T12:34:56",
            "2024-02-29 12:34:56",
            "2024/02/29 12:34:56.000",
            "2024-02-29T12:34:56Z",
            "2024-02-29T13:34:56+01:00",
            "2024-02-29T07:04:56-0530",
            "2024-02-29 12:34:56,000 UTC",
        ] {
            assert_eq!(time(text, None), Some(1_709_210_096.0), "{text}");
        }
        assert_eq!(time("1970-01-02", None), Some(86_400.0));
        assert_eq!(time("1969-12-31T23:59", None), Some(-60.0));
        for none in ["Unknown", "None", "", "-", "2024-13-01", "2024-02-29T25:00:00", "2024-02-29Tx", "nan", "infinity"]
        {
            assert_eq!(time(none, None), None, "{none}");
        }
    }

    #[test]
    fn durations_are_parsed_in_every_notation() {
        for (text, seconds) in [
            ("01:02:03", 3723.0),
            ("2-01:00:00", 176_400.0),
            ("00:00:07.500", 7.5),
            ("05:30", 330.0),
            ("1m 3s", 63.0),
            ("2h 1m", 7260.0),
            ("1d 2h", 93_600.0),
            ("250ms", 0.25),
            ("1.23s", 1.23),
            ("7.00us", 7e-6),
            ("1.50m", 90.0),
            ("61", 61.0),
        ] {
            assert_eq!(duration(text, None), Some(seconds), "{text}");
        }
        assert_eq!(duration("1500", Some(Unit::Milliseconds)), Some(1.5));
        for none in ["-", "", "x", "3 parsecs", "1:2:3:4", "-5", "::"] {
            assert_eq!(duration(none, None), None, "{none}");
        }
    }

    #[test]
    fn amounts_of_bytes_are_parsed_with_units() {
        for (text, amount) in
            [("0", 0), ("17", 17), ("1.5 GB", 1_610_612_736), ("12kB", 12_288), ("3MiB", 3_145_728), ("2e3", 2000)]
        {
            assert_eq!(bytes(text), Some(amount), "{text}");
        }
        for none in ["-", "", "1 parsec", "1e300", "-5"] {
            assert_eq!(bytes(none), None, "{none}");
        }
    }
}
