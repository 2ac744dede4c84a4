//! The results for several correlations of copies, and the recommendation, as text.

use hindmost_core::metrics::{ByCorrelation, Comparison};

use crate::table::{draw, widest};
use crate::text::{counted, name, wrapped};

/// Narrowest name of a policy in the table.
const NARROWEST: usize = 6;

/// Returns the ratios to the first policy for each policy and correlation: a name, and a cell for each correlation.
pub(crate) fn ratios(table: &ByCorrelation) -> Vec<(String, Vec<String>)> {
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for result in &table.results {
        let ratio = result.versus_first.flowtime_ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.3}"));
        match rows.iter_mut().find(|(policy, _)| *policy == result.policy) {
            Some((_, cells)) => cells.push(ratio),
            None => rows.push((result.policy.clone(), vec![ratio])),
        }
    }
    rows
}

/// Says what the table of correlations shows.
pub(crate) fn about_correlations(table: &ByCorrelation) -> String {
    format!(
        "Ratio of the flowtimes to the first policy's by correlation, the share of a duration that belongs to the task and \
         that all its copies have in common ({}; all other figures are for correlation {}):",
        counted(table.seeds.len() as u64, "seed"),
        table.used
    )
}

/// Returns the table of correlations, with its heading, in at most `width` columns.
pub(super) fn correlations(table: &ByCorrelation, width: u16) -> String {
    let width = usize::from(width);
    let rows = ratios(table);
    let header = || {
        let values = table.correlations.iter().map(|value| format!("{value}"));
        std::iter::once("policy".to_owned()).chain(values).collect::<Vec<String>>()
    };
    let drawn = |longest: usize| {
        let line = |(policy, cells): &(String, Vec<String>)| {
            std::iter::once(name(policy, longest, "…")).chain(cells.iter().cloned()).collect::<Vec<String>>()
        };
        draw(header(), rows.iter().map(line).collect())
    };
    let mut longest = width.max(NARROWEST);
    let mut text = drawn(longest);
    while widest(&text) > width && longest > NARROWEST {
        longest -= (widest(&text) - width).min(longest - NARROWEST);
        text = drawn(longest);
    }
    if widest(&text) > width {
        // Even short names leave no space for the columns.
        let line =
            |(policy, cells): &(String, Vec<String>)| wrapped(&format!("{policy}: {}", cells.join(", ")), width, 2);
        let values: Vec<String> = table.correlations.iter().map(ToString::to_string).collect();
        let lines =
            std::iter::once(wrapped(&format!("policy: {}", values.join(", ")), width, 2)).chain(rows.iter().map(line));
        text = lines.collect::<Vec<_>>().join("\n");
    }
    format!("{}\n{text}", wrapped(&about_correlations(table), width, 0))
}

/// Returns the recommendations as sentences, one for each point of a sweep.
pub(crate) fn recommendations(compared: &Comparison) -> Vec<String> {
    let sentence = |one: &hindmost_core::metrics::Recommendation| {
        let at: Vec<String> = one.set.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        let at = if at.is_empty() { String::new() } else { format!(" at {}", at.join(", ")) };
        format!("Recommendation{at}: {}.", one.text.trim_end_matches('.'))
    };
    compared.recommendation.iter().map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use hindmost_core::metrics::{CorrelationResult, VersusFirst};

    use super::*;

    fn table() -> ByCorrelation {
        let result = |policy: &str, correlation, ratio| CorrelationResult {
            policy: policy.to_owned(),
            correlation,
            flowtime_mean: Some(2.0),
            resource_mean: Some(1.0),
            versus_first: VersusFirst { flowtime_ratio: ratio, ci95: None, bootstrap_ci95: None },
        };
        let long = "fair+mantri(delta=0.5,kill_restart=true)";
        let results = [("none", Some(1.0), None), (long, Some(0.426), Some(0.9))]
            .map(|(policy, one, other)| (policy, [one, other]));
        let at = |value, place: usize| results.map(|(policy, ratios)| result(policy, value, ratios[place]));
        let results = [at(0.0, 0), at(0.5, 1)].concat();
        ByCorrelation { seeds: vec![1, 2], used: 0.0, correlations: vec![0.0, 0.5], results }
    }

    #[test]
    fn there_is_a_row_for_each_policy() {
        let shown = correlations(&table(), 100);
        let lines: Vec<&str> = shown.lines().rev().take(4).collect();
        assert_eq!(lines[0], "fair+mantri(delta=0.5,kill_restart=true)  0.426  0.900");
        assert_eq!(lines[1], "none                                      1.000      –");
        assert_eq!(lines[3], "policy                                        0    0.5");
        assert!(shown.contains("(2 seeds; all other figures are for correlation 0):"), "{shown}");
    }

    #[test]
    fn the_table_is_as_narrow_as_the_terminal() {
        for width in [15, 20, 25, 40, 60, 80] {
            let shown = correlations(&table(), width);
            assert!(widest(&shown) <= usize::from(width) && shown.contains("0.900"), "{width}:\n{shown}");
        }
    }
}
