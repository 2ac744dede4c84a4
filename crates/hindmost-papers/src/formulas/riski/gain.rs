//! The expected gain of a backup (sections 6.2 and 6.3, Figure 9), with the functions that the policy uses.

use hindmost_claims::{Cell, DataTable, Measured};
use hindmost_math::outcomes::Outcomes;
use hindmost_policies::theory::gain::{Gain, expected_gain, is_certain_to_win};

use super::one;

/// An example: the ranges of the remaining time of the straggler and of the time of its backup, and the time until the last of
/// the other tasks ends, in seconds. All values of a range are equally likely.
struct Example {
    name: &'static str,
    straggler: &'static [f64],
    backup: &'static [f64],
    last: f64,
}

/// The paper's Figure 9 has no numbers in the text; these instances show its cases.
const EXAMPLES: [Example; 5] = [
    Example { name: "both before the last task", straggler: &[20.0, 30.0], backup: &[5.0, 10.0], last: 40.0 },
    Example { name: "the straggler partly after it", straggler: &[20.0, 40.0], backup: &[10.0, 30.0], last: 25.0 },
    Example {
        name: "the backup is slower on average",
        straggler: &[30.0, 80.0],
        backup: &[10.0, 60.0, 98.0],
        last: 55.0,
    },
    Example { name: "the backup is certain to end first", straggler: &[40.0, 60.0], backup: &[20.0, 35.0], last: 10.0 },
    Example { name: "equal ranges", straggler: &[30.0, 50.0], backup: &[30.0, 50.0], last: 35.0 },
];

/// The backup is slower on average, but ends before the last of the other tasks, where the straggler may not.
const SLOWER: Example = Example {
    name: "slower on average, but before the last task",
    straggler: &[10.0, 60.0],
    backup: &[38.0, 38.0],
    last: 40.0,
};

impl Example {
    fn ranges(&self) -> Result<(Outcomes, Outcomes), String> {
        let range = |values: &[f64]| Outcomes::equally_likely(values.iter().copied()).ok_or("no values".to_owned());
        Ok((range(self.straggler)?, range(self.backup)?))
    }

    fn gain(&self) -> Result<f64, String> {
        let (straggler, backup) = self.ranges()?;
        Ok(expected_gain(Gain::Replacement, &straggler, &backup, self.last))
    }

    /// The paper's form: only the part of a range after the last task counts, with its probability and its mean distance.
    fn in_two_parts(&self) -> f64 {
        let part = |values: &[f64]| {
            let after: Vec<f64> = values.iter().copied().filter(|value| *value > self.last).collect();
            let probability = after.len() as f64 / values.len() as f64;
            let mean = after.iter().sum::<f64>() / (after.len() as f64).max(1.0);
            probability * (mean - self.last)
        };
        part(self.straggler) - part(self.backup)
    }
}

pub(super) fn before_last() -> Result<Vec<Measured>, String> {
    one("expected gain, if straggler and backup end before the last task", EXAMPLES[0].gain()?, "s")
}

pub(super) fn two_parts() -> Result<Vec<Measured>, String> {
    let mut largest: f64 = 0.0;
    for example in EXAMPLES.iter().chain([&SLOWER]) {
        largest = largest.max((example.gain()? - example.in_two_parts()).abs());
    }
    one("largest difference between both forms of the gain", largest, "s")
}

pub(super) fn certain() -> Result<Vec<Measured>, String> {
    let (straggler, backup) = EXAMPLES[3].ranges()?;
    let left = straggler.least() - backup.greatest();
    let left = if is_certain_to_win(&straggler, &backup) { left } else { f64::NEG_INFINITY };
    one("least time by which a certain backup ends before its straggler", left, "s")
}

pub(super) fn slower_on_average() -> Result<Vec<Measured>, String> {
    one("expected gain of a backup that is 3 s slower on average", SLOWER.gain()?, "s")
}

pub(super) fn examples() -> Result<DataTable, String> {
    let mut rows = Vec::new();
    for example in EXAMPLES.iter().chain([&SLOWER]) {
        let (straggler, backup) = example.ranges()?;
        let list = |values: &[f64]| values.iter().map(f64::to_string).collect::<Vec<String>>().join(", ");
        rows.push(vec![
            Cell::from(example.name),
            Cell::Text(list(example.straggler)),
            Cell::Text(list(example.backup)),
            Cell::from(example.last),
            Cell::from(straggler.mean() - backup.mean()),
            Cell::from(example.gain()?),
            Cell::from(if is_certain_to_win(&straggler, &backup) { "stopped at once" } else { "runs on" }),
        ]);
    }
    Ok(DataTable::new(
        "Expected gain of a backup (s); the values of a range are equally likely",
        [
            "case",
            "straggler ends in",
            "backup ends in",
            "other tasks end in",
            "difference of the means",
            "expected gain",
            "the straggler",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows,
    ))
}
