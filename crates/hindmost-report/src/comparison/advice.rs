//! The results for several correlations of copies, and the recommendation, as text.

use hindmost_core::metrics::{ByCorrelation, Comparison, Recommendation};

use crate::table::{draw, widest};
use crate::text::{name, wrapped};

use super::ratio_interval;

/// Narrowest name of a policy in the table.
const NARROWEST: usize = 6;

/// What the table of correlations shows beside the ratios of flowtimes.
#[derive(Clone, Copy)]
pub(crate) struct Shown {
    /// The 95% interval of each ratio.
    intervals: bool,
    /// The ratio of resource usages, in columns of their own.
    resource: bool,
}

impl Shown {
    /// Everything.
    pub(crate) const ALL: Shown = Shown { intervals: true, resource: true };
    /// What is tried, from the widest table to the narrowest.
    const CHOICES: [Shown; 4] = [
        Shown::ALL,
        Shown { intervals: true, resource: false },
        Shown { intervals: false, resource: true },
        Shown { intervals: false, resource: false },
    ];
}

/// Returns the headings of the columns after the names: `before` and the correlation for a ratio of flowtimes.
pub(crate) fn headings(table: &ByCorrelation, shown: Shown, before: &str) -> Vec<String> {
    let ratios = table.correlations.iter().map(|value| format!("{before}{value}"));
    let resource = table.correlations.iter().map(|value| format!("resource\nat {value}"));
    ratios.chain(resource.filter(|_| shown.resource)).collect()
}

/// Returns the ratios to the first policy for each policy: a name, and a cell for each of the [`headings`].
pub(crate) fn cells(table: &ByCorrelation, shown: Shown) -> Vec<(String, Vec<String>)> {
    let mut rows: Vec<(String, Vec<String>, Vec<String>)> = Vec::new();
    for result in &table.results {
        let versus = &result.versus_first;
        let ratio = versus.flowtime_ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.3}"));
        // A ratio without chance, such as that of the first policy to itself, has no interval.
        let interval = versus.bootstrap_ci95.or(versus.ci95).filter(|[low, high]| shown.intervals && low < high);
        let cell = interval.map_or_else(|| ratio.clone(), |ends| format!("{ratio} ({})", ratio_interval(Some(ends))));
        let resource = result.resource_ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}"));
        match rows.iter_mut().find(|(policy, ..)| *policy == result.policy) {
            Some((_, ratios, resources)) => {
                ratios.push(cell);
                resources.push(resource);
            }
            None => rows.push((result.policy.clone(), vec![cell], vec![resource])),
        }
    }
    let all = |(policy, mut ratios, resources): (String, Vec<String>, Vec<String>)| {
        ratios.extend(resources.into_iter().filter(|_| shown.resource));
        (policy, ratios)
    };
    rows.into_iter().map(all).collect()
}

/// Says what the table of correlations shows.
pub(crate) fn about_correlations(table: &ByCorrelation) -> String {
    format!(
        "Ratios to the first policy's flowtimes, with 95% intervals, and to its resource usage, by correlation: the share of a \
         duration that belongs to the task and that all its copies have in common. All other figures are for correlation {}{}:",
        table.used,
        if table.used == 0.0 { ", which favours copies most" } else { "" }
    )
}

/// Returns the table of correlations, with its heading, in at most `width` columns.
pub(super) fn correlations(table: &ByCorrelation, width: u16) -> String {
    let width = usize::from(width);
    let drawn = |shown: Shown, longest: usize| {
        let header = std::iter::once("policy".to_owned()).chain(headings(table, shown, "")).collect();
        let line = |(policy, cells): (String, Vec<String>)| {
            std::iter::once(name(&policy, longest, "…")).chain(cells).collect::<Vec<String>>()
        };
        draw(header, cells(table, shown).into_iter().map(line).collect())
    };
    let mut longest = width.max(NARROWEST);
    let mut text = String::new();
    let mut narrowest = Shown::ALL;
    for shown in Shown::CHOICES {
        (text, narrowest) = (drawn(shown, longest), shown);
        if widest(&text) <= width {
            break;
        }
    }
    while widest(&text) > width && longest > NARROWEST {
        longest -= (widest(&text) - width).min(longest - NARROWEST);
        text = drawn(narrowest, longest);
    }
    if widest(&text) > width {
        // Even short names leave no space for the columns.
        let line =
            |(policy, cells): (String, Vec<String>)| wrapped(&format!("{policy}: {}", cells.join(", ")), width, 2);
        let values = headings(table, narrowest, "").join(", ").replace('\n', " ");
        let first = wrapped(&format!("policy: {values}"), width, 2);
        let lines = std::iter::once(first).chain(cells(table, narrowest).into_iter().map(line));
        text = lines.collect::<Vec<_>>().join("\n");
    }
    format!("{}\n{text}", wrapped(&about_correlations(table), width, 0))
}

/// Returns the recommendations as sentences, one for each point of a sweep.
pub(crate) fn recommendations(compared: &Comparison) -> Vec<String> {
    compared.recommendation.iter().map(in_words).collect()
}

fn in_words(one: &Recommendation) -> String {
    let at: Vec<String> = one.set.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    let at = if at.is_empty() { String::new() } else { format!(" at {}", at.join(", ")) };
    let what = if one.policy.is_some() { "Recommendation" } else { "No recommendation" };
    format!("{what}{at}: {}.", one.text.trim_end_matches('.'))
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
            versus_first: VersusFirst {
                flowtime_ratio: ratio,
                ci95: None,
                bootstrap_ci95: ratio.map(|one| [one, 1.0]),
            },
            resource_ratio: ratio.map(|one| 2.0 * one),
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
        let shown = correlations(&table(), 120);
        let lines: Vec<&str> = shown.lines().rev().take(5).collect();
        let long = "fair+mantri(delta=0.5,kill_restart=true)";
        assert_eq!(lines[0], format!("{long}  0.426 (0.426 to 1.000)  0.900 (0.900 to 1.000)      0.85      1.80"));
        let none: Vec<&str> = lines[1].split_whitespace().collect();
        assert_eq!(none, ["none", "1.000", "–", "2.00", "–"]);
        assert!(lines[4].starts_with("policy") && lines[4].ends_with("0.5  resource  resource"), "{shown}");
        assert!(lines[3].ends_with("    at 0    at 0.5"), "{shown}");
        assert!(
            shown.replace('\n', " ").contains("All other figures are for correlation 0, which favours copies most:"),
            "{shown}"
        );
    }

    #[test]
    fn a_narrower_table_drops_resource_usage_and_then_intervals() {
        let last = |width| correlations(&table(), width).lines().last().map(str::to_owned).unwrap();
        let long = "fair+mantri(delta=0.5,kill_restart=true)";
        assert_eq!(last(100), format!("{long}  0.426 (0.426 to 1.000)  0.900 (0.900 to 1.000)"));
        assert_eq!(last(80), format!("{long}  0.426  0.900      0.85      1.80"));
        assert_eq!(last(60), format!("{long}  0.426  0.900"));
    }

    #[test]
    fn no_recommendation_is_not_the_policy_none() {
        let recommendation = |policy: Option<&str>| Recommendation {
            set: vec![("load".to_owned(), "0.5".to_owned())],
            policy: policy.map(str::to_owned),
            versus: "none".to_owned(),
            flowtime_ratio: None,
            ci95: None,
            resource_ratio: None,
            not_distinguishable: Vec::new(),
            at_correlations: Vec::new(),
            cheaper: None,
            worst_case: None,
            elsewhere: None,
            correlation: None,
            text: "why".to_owned(),
        };
        assert_eq!(in_words(&recommendation(None)), "No recommendation at load = 0.5: why.");
        assert_eq!(in_words(&recommendation(Some("none"))), "Recommendation at load = 0.5: why.");
    }

    #[test]
    fn the_table_is_as_narrow_as_the_terminal() {
        for width in [15, 20, 25, 40, 60, 80] {
            let shown = correlations(&table(), width);
            assert!(widest(&shown) <= usize::from(width) && shown.contains("0.900"), "{width}:\n{shown}");
        }
    }
}
