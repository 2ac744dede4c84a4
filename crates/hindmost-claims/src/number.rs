//! How numbers of reproductions are written.

/// Sizes below this are rounding errors.
const ROUNDING_ERROR: f64 = 1e-12;
/// Smallest size that is shown as a number.
const SMALLEST_SHOWN: f64 = 1e-4;
/// Sizes from here on are shown with a power of ten.
const LARGE: f64 = 1e15;

/// Formats a number with three significant digits, or four from 1000 on. Whole numbers keep all digits. Sizes below
/// 0.0001 are shown as `< 0.0001` or `> −0.0001`.
pub fn number_text(value: f64) -> String {
    match value.abs() {
        size if (ROUNDING_ERROR..SMALLEST_SHOWN).contains(&size) && value > 0.0 => "< 0.0001".to_owned(),
        size if (ROUNDING_ERROR..SMALLEST_SHOWN).contains(&size) => "> \u{2212}0.0001".to_owned(),
        size => decimal(value, if size < 1000.0 { 3 } else { 4 }),
    }
}

/// Formats a number that was given, not measured, such as a setting: like [`number_text`], but sizes below 0.0001 have
/// a power of ten.
pub fn given_text(value: f64) -> String {
    let size = value.abs();
    if !(ROUNDING_ERROR..SMALLEST_SHOWN).contains(&size) {
        return number_text(value);
    }
    let power = size.log10().floor();
    format!("{}·10^\u{2212}{}", decimal(value / 10f64.powf(power), 3), -power)
}

/// Formats a number like [`number_text`], but sizes below 0.0001 are rounded to 0 or 0.0001. Suits numbers that have an
/// interval, and the ends of intervals.
pub fn rounded_text(value: f64) -> String {
    if value.abs() < SMALLEST_SHOWN {
        decimal((value / SMALLEST_SHOWN).round() * SMALLEST_SHOWN, 1)
    } else {
        number_text(value)
    }
}

/// Formats a change in per cent with its sign: with one decimal below 10%, and without decimals from there on.
pub fn change_text(change: f64) -> String {
    let size = change.abs();
    let digits = if size < 9.95 { format!("{size:.1}") } else { format!("{size:.0}") };
    match change {
        _ if size < 0.05 => "0%".to_owned(),
        up if up > 0.0 => format!("+{digits}%"),
        _ => format!("\u{2212}{digits}%"),
    }
}

/// Formats a limit of a rule with at most four significant digits.
pub(super) fn limit_text(value: f64) -> String {
    decimal(value, 4)
}

/// Formats a number with some significant digits, without trailing zeros. Whole numbers keep all digits.
fn decimal(value: f64, significant: i32) -> String {
    let size = value.abs();
    let text = match size {
        _ if !value.is_finite() => return format!("{value}"),
        _ if size < ROUNDING_ERROR => return "0".to_owned(),
        _ if size >= LARGE => {
            let power = size.log10().floor();
            return format!("{}·10^{power}", decimal(value / 10f64.powf(power), significant));
        }
        _ if value.fract() == 0.0 => format!("{value}"),
        _ => match significant - 1 - size.log10().floor() as i32 {
            decimals @ 0.. => format!("{value:.*}", decimals as usize),
            decimals => {
                let step = 10f64.powi(-decimals);
                format!("{:.0}", (value / step).round() * step)
            }
        },
    };
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text };
    text.replace('-', "\u{2212}")
}

/// Appends a unit to a number. There is no space before `%`.
pub fn with_unit(number: &str, unit: &str) -> String {
    match unit {
        "" => number.to_owned(),
        "%" => format!("{number}%"),
        _ => format!("{number} {unit}"),
    }
}
