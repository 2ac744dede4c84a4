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
