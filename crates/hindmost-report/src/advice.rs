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
    let Some(calibration) = &advice.calibration else { return String::new() };
    let line = |words: &str| wrapped(words, width, 2) + "\n";
    let mut text = format!("\nWhat would help\n{}", line(&recorded::sentence(calibration)));
    if !calibration.calibrated {
        return text;
    }
    let (recommended, others): (Vec<_>, Vec<_>) = advice.tried.iter().partition(|one| one.recommended);
    if recommended.is_empty() {
        text += &line(&format!("Nothing that was tried. {}", in_short("Tried", &others)));
        return text;
    }
    for one in &recommended {
        text += &line(&sentence(one));
        for setting in &one.settings {
            // Ready to paste, so never wrapped.
            text += &format!("    {}\n", of_setting(setting));
        }
    }
    if !others.is_empty() {
        text += &line(&in_short("Tried, too", &others));
    }
    if recommended.iter().any(|one| one.is_about_copies) {
        for warning in &advice.warnings {
            text += &line(&format!("Careful: {warning}"));
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
        Some(value) => format!("# in the log: {value}"),
        None => "# not in the log, so the default".to_owned(),
    };
    format!("{}={}  {was}", setting.name, setting.value)
}

/// Names the changes that gain most, with the ranges of their gains.
fn in_short(beginning: &str, others: &[&Recommended]) -> String {
    let one = |one: &&Recommended| {
        let [least, most] = one.gain_share_range;
        format!("{} ({} to {})", one.title, share(least), share(most))
    };
    let names: Vec<String> = others.iter().take(OTHERS).map(one).collect();
    if names.is_empty() { String::new() } else { format!("{beginning}: {}.", names.join("; ")) }
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
