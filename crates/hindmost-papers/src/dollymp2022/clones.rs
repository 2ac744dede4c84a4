//! The effect of clones and the effect of the order of jobs, measured separately.

use hindmost_core::reproduction::{Cell, Claim, DataTable, Expected, Figure};
use hindmost_math::statistics::{mean, student_interval};

use super::heavy::{Heavy, cases};
use super::light::Light;
use super::worlds::{Compared, D0, D1, D2, D3, Of, changes};
use crate::digest::Digest;
use crate::plan::Runs;

/// The compared policies, one pair for each column. The first three pairs show the effect of the order of jobs, the
/// others the effect of clones.
const PAIRS: [(&str, Of, Of); 6] = [
    ("DollyMP⁰ / Capacity", D0, Of::Capacity),
    ("DollyMP⁰ / Tetris", D0, Of::Tetris),
    ("DollyMP⁰ / DRF", D0, Of::Drf),
    ("DollyMP¹ / DollyMP⁰", D1, D0),
    ("DollyMP² / DollyMP⁰", D2, D0),
    ("DollyMP³ / DollyMP⁰", D3, D0),
];

/// Returns two cells: the mean of the values and half of its 95% interval.
pub(super) fn with_half(values: &[f64]) -> [Cell; 2] {
    let half = student_interval(values).map(|[low, high]| (high - low) / 2.0);
    [Cell::from(mean(values)), Cell::from(half)]
}

/// Returns a table of changes in per cent, with a row for each reading and a column for each of [`PAIRS`].
fn table<'a>(
    caption: &str,
    cases: impl Iterator<Item = &'a Compared>,
    runs: &Runs,
    what: fn(&Digest) -> f64,
) -> DataTable {
    let mut columns = vec!["reading".to_owned()];
    for (name, _, _) in PAIRS {
        columns.extend([name.to_owned(), format!("± {name}")]);
    }
    let row = |case: &Compared| {
        let mut row = vec![Cell::from(case.reading.as_str())];
        for (_, policy, base) in PAIRS {
            row.extend(with_half(&case.change(runs, policy, base, what)));
        }
        row
    };
    DataTable::new(caption, columns, cases.map(row).collect())
}

pub(super) fn figure(light: &Light, heavy: &Heavy, runs: &Runs) -> Figure {
    let value = "mean flowtime of DollyMP² compared with DollyMP⁰";
    let claims = vec![
        Claim::judge(
            "Cloning alone reduces the response time by nearly 15% when the cluster is lightly loaded",
            "1",
            Expected::near(-15.0, 5.0),
            changes(&light.mixed, runs, value, D2, D0, |run| run.flowtime),
            "This is understood as a comparison of the same scheduler with and without clones.",
        ),
        Claim::judge(
            "Cloning also helps under heavy load",
            "6.2.2, 6.3",
            Expected::below(0.0),
            cases(heavy)
                .flat_map(|case| changes(std::slice::from_ref(case), runs, value, D2, D0, |run| run.flowtime))
                .collect(),
            "Section 6.3 claims, from traces at ten times its low load, that clones save 10% of the flowtime for 2% \
             more resource usage.",
        ),
    ];
    let flowtime: fn(&Digest) -> f64 = |run| run.flowtime;
    let resource: fn(&Digest) -> f64 = |run| run.resource;
    Figure {
        name: "Clones and order".to_owned(),
        about:
            "The comparison of DollyMP⁰ with the other policies shows the effect of its order of jobs. The Capacity \
                Scheduler also speculates, which DollyMP⁰ does not. The comparison of DollyMP¹, DollyMP² and DollyMP³ \
                with DollyMP⁰ shows the effect of the clones."
                .to_owned(),
        claims,
        tables: vec![
            table(
                "Light load: change of the mean flowtime in per cent; A / B is A compared with B",
                light.mixed.iter(),
                runs,
                flowtime,
            ),
            table(
                "Light load: change of the mean resource usage in per cent; A / B is A compared with B",
                light.mixed.iter(),
                runs,
                resource,
            ),
            table(
                "Heavy load: change of the mean flowtime in per cent; A / B is A compared with B",
                cases(heavy),
                runs,
                flowtime,
            ),
            table(
                "Heavy load: change of the mean resource usage in per cent; A / B is A compared with B",
                cases(heavy),
                runs,
                resource,
            ),
        ],
    }
}
