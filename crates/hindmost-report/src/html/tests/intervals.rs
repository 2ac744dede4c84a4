//! Tests of what a page says about how far its numbers can be trusted: intervals and cautions.

use super::{compared, comparison, result, sound};

#[test]
fn percentiles_and_ratios_have_intervals() {
    let mut compared = compared(vec![result("none", &[], 1.0), result("pace", &[], 0.5)]);
    assert!(!comparison(&compared, &[]).contains("19.00 ("));
    compared.results[1].flowtime.quantile_ci95.p95 = Some([18.2, 19.52]);
    let page = comparison(&compared, &[]);
    sound(&page);
    for part in [
        "19.00 (18.20 to 19.52)",
        "Intervals: 95% intervals, that of versus first by the paired bootstrap.",
        "0.460 to 0.560",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // The interval in the sentence with the main result is that of the bootstrap.
    assert!(page.contains("(95% interval 46.0% to 56.0%)"));
    let mut alone = super::compared(vec![result("none", &[], 1.0)]);
    alone.results[0].versus_first.bootstrap_ci95 = None;
    assert!(!comparison(&alone, &[]).contains("paired bootstrap"));
}

#[test]
fn cautions_follow_the_setup() {
    let mut compared = compared(vec![result("none", &[], 1.0), result("pace", &[], 0.5)]);
    assert!(!comparison(&compared, &[]).contains("class=\"caution\""));
    compared.cautions = vec!["one <seed>: differences may be chance".to_owned()];
    let page = comparison(&compared, &[]);
    sound(&page);
    let caution = "<p class=\"caution\"><b>Caution:</b> One &lt;seed&gt;: differences may be chance.</p>";
    let at = |part: &str| page.find(part).unwrap_or_else(|| panic!("{part}"));
    assert!(at("<h2>Setup</h2>") < at(caution) && at(caution) < at("<h2>Results</h2>"));
}
