//! Tests of `hindmost policies`.

use hindmost_policies::catalogue::spec::{PolicySpec, split_list};
use hindmost_policies::catalogue::{ORDERS, SYSTEMS, check};

use crate::{hindmost, run};

fn printed(args: &[&str]) -> String {
    let ran = run(args);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran.stdout
}

#[test]
fn one_policy_is_shown_with_units_and_valid_values() {
    insta::assert_snapshot!("policies-pace", printed(&["policies", "pace"]));
    insta::assert_snapshot!("policies-tetris", printed(&["policies", "tetris"]));
}

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
fn an_unknown_name_is_an_error_with_the_nearest_one() {
    let ran = run(&["policies", "mantry"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("no policy is called \"mantry\"; did you mean \"mantri\"?"), "{}", ran.stderr);
}

#[test]
fn one_policy_as_json_has_the_form_of_the_list() {
    let value = |args: &[&str]| -> serde_json::Value { serde_json::from_str(&printed(args)).unwrap() };
    let all = value(&["policies", "--json"]);
    let one = value(&["policies", "mantri", "--json"]);
    let mantri = all["systems"].as_array().unwrap().iter().find(|entry| entry["name"] == "mantri").unwrap();
    assert_eq!(one["systems"], serde_json::json!([mantri]));
    assert_eq!(one["orders"], serde_json::json!([]));
    // `dollymp` is a system and an order.
    let both = value(&["policies", "dollymp", "--json"]);
    assert_eq!((both["systems"].as_array().unwrap().len(), both["orders"].as_array().unwrap().len()), (1, 1));
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
