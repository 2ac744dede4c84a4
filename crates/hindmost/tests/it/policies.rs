//! What holds for every policy and every built-in scenario.

use hindmost_policies::catalogue::spec::{PolicySpec, split_list};
use hindmost_policies::catalogue::{ORDERS, SYSTEMS, check};

use crate::{hindmost, json};

#[test]
fn examples_name_valid_policies() {
    for name in SYSTEMS.iter().map(|entry| entry.name).chain(ORDERS.iter().map(|entry| entry.name)) {
        let text = hindmost().args(["policies", name]).env("COLUMNS", "10000").output().unwrap().stdout;
        let text = String::from_utf8(text).unwrap();
        let examples: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix("example: ")).collect();
        assert!(!examples.is_empty(), "{text}");
        for example in examples {
            let policies = example.strip_prefix("hindmost simulate --policy ").unwrap().trim_matches('\'');
            for policy in split_list(policies) {
                let spec: PolicySpec = policy.parse().unwrap();
                check(&spec).unwrap_or_else(|error| panic!("{example}: {error}"));
            }
        }
    }
}

#[test]
fn narrow_terminals_get_readable_lines() {
    for args in [&["policies"][..], &["policies", "--short"], &["policies", "chronos"]] {
        for width in ["30", "40", "59", "80"] {
            let output = hindmost().args(args).env("COLUMNS", width).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let width: usize = width.parse().unwrap();
            for line in text.lines().filter(|line| line.chars().count() > width) {
                // Only titles of the list are not wrapped.
                assert!(line.starts_with("Orders of jobs ("), "{line}");
            }
            // No text is squeezed into a column of a few letters: indents leave at least 20 columns.
            let widest_indent = text.lines().map(|line| line.len() - line.trim_start().len()).max().unwrap();
            assert!(widest_indent + 20 <= width, "an indent of {widest_indent} on {width} columns");
        }
    }
}

#[test]
fn built_in_scenarios_have_at_least_five_seeds() {
    for (name, text) in hindmost_sim::scenario::BUILT_IN {
        let scenario: toml::Table = text.parse().unwrap();
        assert!(scenario["seeds"].as_integer() >= Some(5), "{name}");
    }
}

#[test]
fn all_policies_get_the_same_jobs() {
    let value: serde_json::Value =
        json(&["simulate", "quickstart", "--set", "horizon=40", "--set", "cluster.machines=40", "--json"]);
    let results = value["results"].as_array().unwrap();
    assert_eq!(results.len(), hindmost_policies::catalogue::compared().count());
    for result in results {
        assert_eq!(result["tasks"], results[0]["tasks"]);
        assert_eq!(result["jobs"], results[0]["jobs"]);
    }
}
