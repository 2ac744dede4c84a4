//! The reference page in the documentation is the one that the catalogue gives.

use std::path::Path;

use hindmost_policies::catalogue::{ORDERS, SYSTEMS, reference};

#[test]
fn the_reference_page_in_the_documentation_is_current() {
    let current = reference();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policies.md");
    if std::env::var_os("HINDMOST_UPDATE_DOCS").is_some() {
        std::fs::write(&file, &current).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == current,
        "docs/policies.md is not up to date; \
         HINDMOST_UPDATE_DOCS=1 cargo test -p hindmost-policies reference_page writes it"
    );
}

#[test]
fn the_reference_page_has_every_policy_and_parameter() {
    let page = reference();
    let systems = SYSTEMS.iter().map(|system| (format!("System `{}`", system.name), system.parameters()));
    let orders = ORDERS.iter().map(|order| (format!("Order `{}`", order.name), order.parameters()));
    for (heading, parameters) in systems.chain(orders) {
        let (_, section) = page.split_once(&format!("### {heading}\n")).unwrap_or_else(|| panic!("no {heading}"));
        let section = section.split("\n#").next().unwrap_or_default();
        let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
        assert_eq!(rows.len(), parameters.len(), "{heading}");
        for (row, parameter) in rows.iter().zip(parameters) {
            assert_eq!(row.matches(" | ").count(), 4, "a cell breaks the row: {row}");
            assert!(row.contains(&format!("`{}` | `{}`", parameter.name, parameter.default)), "{row}");
        }
    }
}
