//! Arithmetic of the published numbers.

use hindmost_claims::{Cell, DataTable, Measured};

use super::one;

/// Returns the share of backups that succeed, in per cent.
fn success(backups: f64, failed: f64) -> f64 {
    100.0 * (backups - failed) / backups
}

pub(super) fn success_large() -> Result<Vec<Measured>, String> {
    one("share of 34 backups that succeed, if 6 fail", success(34.0, 6.0), "%")
}

pub(super) fn fewer_deviation() -> Result<Vec<Measured>, String> {
    one("change of the standard deviation from 27.42 s to 18.46 s", 100.0 * (18.46 / 27.42 - 1.0), "%")
}

/// 8 GB are 8 · 1024 MB.
pub(super) fn splits() -> Result<Vec<Measured>, String> {
    one("splits of 64 MB in 8 GB, and so map tasks", 8.0 * 1024.0 / 64.0, "tasks")
}

/// Testbed 3 is 4 times as heterogeneous as testbed 2, and 8 times as heterogeneous as testbed 1.
pub(super) fn second_testbed() -> Result<Vec<Measured>, String> {
    one("heterogeneity of testbed 2, divided by that of testbed 1", 8.0 / 4.0, "times")
}

pub(super) fn backups_table() -> Result<DataTable, String> {
    // Jobs and maps as the text states them; the success of LATE's backups is not stated in numbers for all parts.
    let rows: [(&str, f64, [Option<f64>; 4]); 3] = [
        ("large jobs, 60 s (Figure 10)", 400.0, [Some(181.0), None, Some(34.0), Some(6.0)]),
        ("part M, 60 s (Figure 12)", 130.0, [Some(48.0), Some(29.0), Some(13.0), Some(2.0)]),
        ("part L, 120 s (Figure 13)", 100.0, [Some(39.0), None, Some(12.0), Some(1.0)]),
    ];
    let row = |(name, tasks, [late, late_failed, riski, riski_failed]): (&str, f64, [Option<f64>; 4])| {
        let number = |value: Option<f64>| value.map_or_else(|| Cell::from("–"), Cell::from);
        let rate = |backups: Option<f64>| number(backups.map(|backups| 100.0 * backups / tasks));
        let succeed = |backups: Option<f64>, failed: Option<f64>| {
            number(backups.zip(failed).map(|(backups, failed)| success(backups, failed)))
        };
        vec![
            Cell::from(name),
            Cell::from(tasks),
            number(late),
            rate(late),
            succeed(late, late_failed),
            number(riski),
            rate(riski),
            succeed(riski, riski_failed),
        ]
    };
    Ok(DataTable::new(
        "Backups as published, and what follows: backups in 100 map tasks, and the share that succeeds (%)",
        ["experiment", "maps", "LATE", "in 100 maps", "succeed (%)", "RiskI", "in 100 maps", "succeed (%)"]
            .map(str::to_owned)
            .to_vec(),
        rows.map(row).to_vec(),
    ))
}
