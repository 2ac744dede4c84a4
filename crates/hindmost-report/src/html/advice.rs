//! The section of an application's page about what would have made it faster.

use hindmost_core::metrics::Advice;
use serde::Serialize;

use super::{Table, paragraph};
use crate::advice::{is_open, of_setting, range, replayed, sentence};
use crate::text::duration;

/// What the page says.
#[derive(Debug, Serialize)]
pub(super) struct AdviceSection {
    about: String,
    recommended: Vec<Step>,
    nothing: String,
    tried: Option<Table>,
    reasons: Vec<String>,
    warnings: Vec<String>,
}

/// A recommended change, and the settings to paste.
#[derive(Debug, Serialize)]
struct Step {
    text: String,
    settings: String,
}

/// Returns the section; `None` without a replay.
pub(super) fn section(advice: &Advice, jobs: u64) -> Option<AdviceSection> {
    let calibration = advice.calibration.as_ref()?;
    let recommended = advice.tried.iter().filter(|one| one.recommended).map(|one| Step {
        text: paragraph(&sentence(one, is_open(advice))),
        settings: one.settings.iter().flat_map(of_setting).collect::<Vec<_>>().join("\n"),
    });
    let recommended: Vec<Step> = recommended.collect();
    let mut tried = Table::new("All changes that were tried", &["change:", "gain", "least", "most", "time"]);
    tried.rows = advice
        .tried
        .iter()
        .map(|one| {
            let [least, most] = range(one);
            vec![
                one.title.clone(),
                crate::advice::share(one.gain_share),
                least,
                most,
                duration(one.gain_seconds.max(0.0)),
            ]
        })
        .collect();
    let withheld = crate::advice::withheld(advice).unwrap_or_default();
    let nothing = if calibration.calibrated && recommended.is_empty() {
        if withheld.is_empty() { crate::advice::nothing(advice) } else { withheld }
    } else {
        withheld
    };
    let is_about_copies = advice.tried.iter().any(|one| one.recommended && one.is_about_copies);
    Some(AdviceSection {
        about: paragraph(&replayed(advice, calibration, jobs)),
        recommended,
        nothing,
        tried: (!tried.rows.is_empty()).then_some(tried),
        reasons: crate::advice::reasons(advice).map(paragraph).collect(),
        warnings: advice.warnings.iter().filter(|_| is_about_copies).map(|text| paragraph(text)).collect(),
    })
}
