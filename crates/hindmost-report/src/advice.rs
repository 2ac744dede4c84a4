//! Renders what would have made an application faster, as text for the terminal.

use hindmost_core::metrics::{Advice, Recommended, SettingChange};

use crate::comparison::recorded;
use crate::text::{duration, percent, wrapped};

/// The most changes that are listed although they are not recommended.
const OTHERS: usize = 3;
/// The least core-hours that are shown as such.
const SMALL: f64 = 0.005;

/// Returns the advice: recommended changes with their settings, then what was tried beside them, then warnings.
pub(crate) fn text(advice: &Advice, width: usize) -> String {
    let mut text = String::from("\nWhat would help\n");
    let mut line = |words: &str, indent: usize| text += &(wrapped(words, width, indent) + "\n");
    let Some(calibration) = &advice.calibration else { return String::new() };
    line(&recorded::sentence(calibration), 2);
    if !calibration.calibrated {
        return text;
    }
    let (recommended, others): (Vec<_>, Vec<_>) = advice.tried.iter().partition(|one| one.recommended);
    if recommended.is_empty() {
        line(&format!("Nothing that was tried: {}.", in_short(&others)), 2);
    }
    for one in &recommended {
        line(&sentence(one), 2);
        for setting in &one.settings {
            line(&format!("    {}", of_setting(setting)), 8);
        }
    }
    if !recommended.is_empty() && !others.is_empty() {
        line(&format!("Not recommended: {}.", in_short(&others)), 2);
    }
    if recommended.iter().any(|one| one.is_about_copies) || !others.is_empty() && recommended.is_empty() {
        for warning in advice.warnings.iter().filter(|_| !recommended.is_empty()) {
            line(&format!("Careful: {warning}"), 2);
        }
    }
    text
}

fn sentence(one: &Recommended) -> String {
    let [least, most] = one.gain_share_range;
    let gain = if one.is_bound {
        format!("up to {} of the wall time, if the work can be divided like that", share(most))
    } else {
        format!("{} of the wall time ({} to {})", share(one.gain_share), share(least), share(most))
    };
    let seconds = if one.is_bound { one.gain_seconds_range[1] } else { one.gain_seconds };
    format!("{}: saves {gain}, {}; {}", capital(&one.title), duration(seconds.max(0.0)), cost(one.extra_core_hours))
}

fn share(share: f64) -> String {
    if share < 0.0 { format!("−{}", percent(-share)) } else { percent(share) }
}

fn cost(hours: f64) -> String {
    match hours {
        hours if hours.abs() < SMALL => "about as many core-hours.".to_owned(),
        hours if hours > 0.0 => format!("{hours:.2} core-hours more."),
        hours => format!("{:.2} core-hours less.", -hours),
    }
}

fn of_setting(setting: &SettingChange) -> String {
    let was = match &setting.recorded {
        Some(value) => format!("(in the log: {value})"),
        None => "(the log does not state it)".to_owned(),
    };
    format!("{}={} {was}", setting.name, setting.value)
}

/// Names the changes that gain most, with their gains.
fn in_short(others: &[&Recommended]) -> String {
    let names: Vec<String> = others
        .iter()
        .take(OTHERS)
        .map(|one| {
            let [least, most] = one.gain_share_range;
            format!("{} ({} to {})", one.title, share(least), share(most))
        })
        .collect();
    if names.is_empty() { "there is no setting that could help".to_owned() } else { names.join("; ") }
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
