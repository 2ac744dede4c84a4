//! The section of an application's page about what would have made it faster.

use hindmost_core::metrics::Advice;

use crate::advice::{is_open, nothing, of_setting, range, reasons, replayed, sentence, share, withheld};
use crate::document::{Document, Role, Table};
use crate::text::duration;

/// Adds the section; nothing without a replay.
pub(super) fn add_advice(document: &mut Document, advice: &Advice, jobs: u64) {
    let Some(calibration) = &advice.calibration else { return };
    document.heading(2, "What would help");
    document.paragraph(replayed(advice, calibration, jobs));
    let recommended = || advice.tried.iter().filter(|one| one.recommended);
    let has_nothing = calibration.calibrated && recommended().next().is_none();
    document.paragraph(withheld(advice).or_else(|| has_nothing.then(|| nothing(advice))).unwrap_or_default());
    for one in recommended() {
        document.paragraph(sentence(one, is_open(advice)));
        document.code(one.settings.iter().flat_map(of_setting).collect::<Vec<_>>().join("\n"));
    }
    document.paragraphs(Role::Usual, reasons(advice));
    if recommended().any(|one| one.is_about_copies) {
        document.paragraphs(Role::Caution, &advice.warnings);
    }
    let tried = advice.tried.iter().map(|one| {
        let [least, most] = range(one);
        [one.title.clone(), share(one.gain_share), least, most, duration(one.gain_seconds.max(0.0))]
    });
    let table = Table::new("All changes that were tried", &["change:", "gain", "least", "most", "time"]);
    document.table(table.with_rows(tried));
}
