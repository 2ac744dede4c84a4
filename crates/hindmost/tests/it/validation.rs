//! Checks that docs/validation.md lists tests that exist, and that CITATION.cff has the version and licence of the
//! packages.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the cells of the rows of all tables, without headings.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let rows = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---"));
    let cells = rows.map(|row| row.trim_matches('|').split(" | ").map(str::trim).collect::<Vec<_>>());
    cells.filter(|cells| cells[0] != "what").collect()
}

/// Returns true if the text of a Rust file has a test of this name.
fn has_test(text: &str, name: &str) -> bool {
    let Some(at) = text.find(&format!("fn {name}(")) else { return false };
    // Between `#[test]` and the function there are at most other attributes and comments.
    let lines = text[..at].trim_end_matches(' ').lines().rev().map(str::trim);
    lines.take_while(|line| line.starts_with("#[") || line.starts_with("//")).any(|line| line == "#[test]")
}

#[test]
fn the_table_of_validations_names_tests_that_exist() {
    let page = read("docs/validation.md");
    let mut named = BTreeSet::new();
    for cells in rows(&page) {
        let [what, compared, tolerance, file, test] = cells[..] else { panic!("not five cells: {cells:?}") };
        assert!([what, compared, tolerance].iter().all(|cell| !cell.is_empty()), "{cells:?}");
        let (file, test) = (file.trim_matches('`'), test.trim_matches('`'));
        // A file of instances has their names.
        let is_there = match file.strip_suffix(".toml") {
            Some(_) => read(file).contains(&format!("\nname = \"{test}\"\n")),
            None => has_test(&read(file), test),
        };
        assert!(is_there, "{file} has no test {test}");
        assert!(named.insert((file.to_owned(), test.to_owned())), "{test} is listed twice");
    }
    assert!(named.len() > 40, "{named:?}");
}

#[test]
fn functions_that_are_no_tests_are_found() {
    let text =
        "#[test]\n#[ignore]\nfn one() {}\n\nfn two() {}\n\nproptest! {\n    #[test]\n    fn three(\n    ) {}\n}\n";
    assert!(has_test(text, "one") && has_test(text, "three"));
    assert!(!has_test(text, "two") && !has_test(text, "four"));
}

#[test]
fn the_citation_has_the_version_and_licence_of_the_packages() {
    let workspace: toml::Table = read("Cargo.toml").parse().unwrap();
    let package = &workspace["workspace"]["package"];
    let citation = read("CITATION.cff");
    let value = |key: &str| {
        let line = citation.lines().find_map(|line| line.strip_prefix(&format!("{key}: ")));
        line.unwrap_or_else(|| panic!("CITATION.cff has no {key}")).to_owned()
    };
    assert_eq!(value("cff-version"), "1.2.0");
    assert_eq!((value("title").as_str(), value("type").as_str()), ("Hindmost", "software"));
    assert_eq!(Some(value("version").as_str()), package["version"].as_str());
    let licences = citation.split("\nlicense:\n").nth(1).unwrap();
    let licences: Vec<&str> = licences.lines().map_while(|line| line.strip_prefix("  - ")).collect();
    assert_eq!(Some(licences.join(" OR ").as_str()), package["license"].as_str());
    // Both papers that `hindmost reproduce` repeats.
    for title in [
        "Optimization for Speculative Execution of Multiple Jobs in a MapReduce-like Cluster",
        "Multi Resource Scheduling with Task Cloning in Heterogeneous Clusters",
    ] {
        assert!(citation.contains(&format!("    title: {title}\n")), "{title}");
    }
}
