//! Checks that `docs/policies.md` and `docs/policy.schema.json` are up to date with the catalogue.

use std::path::Path;

use hindmost_policies::catalogue::{ORDERS, SYSTEMS, reference, schema};

/// Checks that a file in `docs` has this content. If `HINDMOST_UPDATE_DOCS` is set, writes the file first.
fn is_current(name: &str, current: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if std::env::var_os("HINDMOST_UPDATE_DOCS").is_some() {
        std::fs::write(&file, current).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == current,
        "docs/{name} is not up to date; HINDMOST_UPDATE_DOCS=1 cargo test -p hindmost-policies reference writes it"
    );
}

#[test]
fn generated_pages_in_docs_are_up_to_date() {
    is_current("policies.md", &reference());
    is_current("policy.schema.json", &format!("{:#}\n", schema()));
}

#[test]
fn the_schema_has_every_policy_and_parameter() {
    let schema = schema();
    let names = schema["properties"]["name"]["pattern"].as_str().unwrap();
    let of = |name: &str| {
        let is_meant = |entry: &&serde_json::Value| {
            let pattern = entry["if"]["properties"]["name"]["pattern"].as_str().unwrap();
            pattern.starts_with(&format!(r"^\s*{name}\s")) && pattern.ends_with('$')
        };
        let found: Vec<_> = schema["allOf"].as_array().unwrap().iter().filter(is_meant).collect();
        assert_eq!(found.len(), 1, "{name}");
        found[0]["then"]["properties"].clone()
    };
    let systems = SYSTEMS.iter().map(|system| (system.name, system.parameters()));
    for (name, parameters) in systems.chain(ORDERS.iter().map(|order| (order.name, order.parameters()))) {
        assert!(names.contains(name), "{name}");
        let properties = of(name);
        for parameter in parameters {
            assert!(!properties[parameter.name]["default"].is_null(), "{name}: {}", parameter.name);
        }
    }
    let clones = &of("sca")["max_copies"];
    assert_eq!((&clones["type"], &clones["minimum"], &clones["default"]), (&"integer".into(), &1.into(), &8.into()));
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

#[test]
fn the_reference_page_has_every_difference_from_a_source() {
    let page = reference();
    let count = |heading: String| {
        let (_, section) = page.split_once(&format!("### {heading}\n")).unwrap();
        let section = section.split("\n#").next().unwrap_or_default();
        section.lines().filter(|line| line.starts_with("  - ")).count()
    };
    for system in SYSTEMS {
        assert_eq!(count(format!("System `{}`", system.name)), system.source.deviations.len(), "{}", system.name);
    }
    for order in ORDERS {
        assert_eq!(count(format!("Order `{}`", order.name)), order.source.deviations.len(), "{}", order.name);
    }
}
