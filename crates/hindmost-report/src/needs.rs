//! Says what the winners of phases needed.

use hindmost_core::metrics::{Needs, Spread, size};

use crate::document::Table;
use crate::text::{duration, escaped};

/// Largest number of phases that are named.
const MOST_NAMED: usize = 8;

/// Returns what the winners of phases needed, the median and the largest of each; `None` if nothing was measured.
pub(crate) fn needs<'a>(phases: impl Iterator<Item = (&'a str, &'a Needs)>) -> Option<String> {
    let mut said: Vec<String> =
        phases.map(|(phase, needs)| format!("{} {}", escaped(phase), of_phase(needs))).collect();
    if let Some(more) = said.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
        said.truncate(MOST_NAMED);
        said.push(format!("{more} more phases"));
    }
    (!said.is_empty()).then(|| format!("{} (median, largest)", said.join("; ")))
}

/// Returns a table of what the winners of phases needed; `None` if nothing was measured.
pub(crate) fn needs_table<'a>(phases: impl Iterator<Item = (&'a str, &'a Needs)>) -> Option<Table> {
    let cell = |spread: Option<Spread>, in_words: fn(f64) -> String| {
        spread.map_or_else(|| "–".to_owned(), |spread| both(&spread, in_words))
    };
    let mut table = Table::new(
        "What the attempts that finished first needed: median and largest",
        &["phase:", "memory", "CPU time", "read", "written"],
    );
    for (phase, needs) in phases {
        let Needs { memory, cpu_seconds, read, written, .. } = *needs;
        table.row([
            escaped(phase),
            cell(memory, size),
            cell(cpu_seconds, duration),
            cell(read, size),
            cell(written, size),
        ]);
    }
    (!table.rows.is_empty()).then_some(table)
}

/// Returns the median and the largest, or the only one.
fn both(spread: &Spread, in_words: fn(f64) -> String) -> String {
    let (p50, max) = (in_words(spread.p50), in_words(spread.max));
    if spread.tasks == 1 { max } else { format!("{p50}, {max}") }
}

fn of_phase(needs: &Needs) -> String {
    let said = [
        needs.memory.map(|memory| format!("{} of memory", both(&memory, size))),
        needs.cpu_seconds.map(|seconds| format!("{} of CPU time", both(&seconds, duration))),
        needs.read.map(|bytes| format!("{} read", both(&bytes, size))),
        needs.written.map(|bytes| format!("{} written", both(&bytes, size))),
    ];
    said.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_largest_are_said_of_what_was_measured() {
        let spread = |p50, max| Some(Spread { p50, max, tasks: 3 });
        let one = Needs { memory: spread(1_048_576.0, 2_097_152.0), cpu_seconds: spread(0.5, 2.0), ..Needs::default() };
        let other = Needs { written: Some(Spread { p50: 0.0, max: 0.0, tasks: 1 }), ..Needs::default() };
        assert_eq!(
            needs([("map", &one), ("end", &other)].into_iter()).unwrap(),
            "map 1MB, 2MB of memory · 500 ms, 2.00 s of CPU time; end 0B written (median, largest)"
        );
        assert_eq!(needs(std::iter::empty()), None);
    }
}
