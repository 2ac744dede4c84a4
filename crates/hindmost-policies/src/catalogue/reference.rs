//! The reference page of the policies, as Markdown: `docs/policies.md`.

use super::{DEFAULT_ORDER, ORDERS, SYSTEMS};
use crate::parameters::ParameterEntry;

const HEAD: &str = r#"# Policies

<!-- Made from the catalogue in crates/hindmost-policies; a test says how to make it anew. -->

A policy is a system under an order of jobs: `SYSTEM` runs under its own order or the scenario's, `ORDER+SYSTEM` under
the order that is named, and `ORDER` alone starts one copy of each task. Parameters stand in the name, as in
`tetris(epsilon=0.1)+mantri(delta=0.5)`. A scenario may also give the system's parameters as keys:

```toml
[[policy]]
name = "mantri"
delta = 0.5
```

A system under its own order takes that order's parameters too: `dollymp(clones=1,slot=2)`. `hindmost policies` prints
this list, `hindmost policies --json` prints it as JSON, and `hindmost policies --schema` prints a JSON schema of
`[[policy]]` tables for editors (`docs/policy.schema.json`).
"#;

/// Returns the page: every system and every order, with its source and its parameters.
pub fn reference() -> String {
    let mut page = format!("{HEAD}\n## Systems\n");
    for system in SYSTEMS {
        let order = match system.order {
            Some(order) => format!("{}, unless another is named", link(order)),
            None => format!("the scenario's, {} by default", link(DEFAULT_ORDER)),
        };
        page += &format!("\n### System `{}`\n\n", system.name);
        page += &format!("- What it does: {}\n- Passes: `{}`\n", text(system.about), system.passes);
        page += &format!("- Order: {order}\n- Source: {}\n", text(system.source));
        page += &table(system.parameters());
    }
    page += "\n## Orders\n\nThe job with the smallest key is next; ties are broken by job id.\n";
    for order in ORDERS {
        page += &format!("\n### Order `{}`\n\n", order.name);
        page += &format!("- Key: {}\n- Source: {}\n", text(order.key), text(order.source));
        page += &table(order.parameters());
    }
    page
}

fn table(parameters: &[ParameterEntry]) -> String {
    if parameters.is_empty() {
        return "- Parameters: none\n".to_owned();
    }
    let mut table = "\n| parameter | default | unit | valid | meaning |\n| --- | --- | --- | --- | --- |\n".to_owned();
    for ParameterEntry { name, default, about, unit, valid } in parameters {
        let unit = unit.unwrap_or_default();
        table += &format!("| `{name}` | `{default}` | {unit} | {valid} | {} |\n", text(about));
    }
    table
}

fn link(order: &str) -> String {
    format!("[`{order}`](#order-{order})")
}

/// Plain text, in which nothing is taken for Markdown.
fn text(plain: &str) -> String {
    plain.replace('<', "&lt;").replace('|', "\\|").replace('*', "\\*")
}
