//! Generates the reference page of the policies, `docs/policies.md`, in Markdown.

use super::{DEFAULT_ORDER, ORDERS, SYSTEMS, Source};
use crate::parameters::ParameterEntry;

const HEAD: &str = r#"# Policies

<!-- Generated from the catalogue in crates/hindmost-policies, by the test tests/it/reference.rs of that crate. -->

A policy is a system under an order of jobs. The system decides which tasks get backups or clones, and the order decides
which job is served next. The name of a policy has one of three forms. `SYSTEM` runs under the system's own order if it
has one, and otherwise under the scenario's order. `ORDER+SYSTEM` runs under the named order. `ORDER` starts one copy of
each task. Parameters are written in the name, as in `tetris(epsilon=0.1)+mantri(delta=0.5)`. A scenario may also give
the system's parameters as keys:

```toml
[[policy]]
name = "mantri"
delta = 0.5
```

A system under its own order also takes the parameters of that order: in `dollymp(clones=1,slot=2)`, `clones` belongs
to the system and `slot` to the order. `hindmost policies` prints this list, and `hindmost policies NAME` one entry with
the valid values of its parameters and an example. With `--short` it prints one line for each entry, with `--json` JSON,
and with `--schema` a JSON schema of `[[policy]]` tables for editors (`docs/policy.schema.json`).

Terms: a job has phases of tasks. An attempt is one execution of a task. A task's first copy is the original, a clone
starts with it, and a backup starts later. A straggler is an attempt that takes much longer than others of its phase.
Flowtime, which users call job completion time (JCT), is the time from a job's arrival to its end. Resource usage
is the slot-time of all copies, losing copies included. The passes of a system decide one after the other, and each uses
the free resources that the passes before it have left. `Originals`, `Backups` and `Clones` start copies of these kinds,
and `NewJobs` starts the originals and clones of new jobs. The parentheses name the order and the limits of a pass.

Each entry names its source: the sections of the paper or the files of the program that it follows, and from what it was
written. Where the text of a paper was not at hand, the entry says which other descriptions were used and what is given
from memory. The differences from the source are listed below it.

Some descriptions cite measurements. `hindmost reproduce` makes those of [xu2015](reproduction/xu2015.md) and
[dollymp2022](reproduction/dollymp2022.md), and `hindmost simulate` those of the built-in scenario `quickstart`. They
hold for these workloads; [choosing.md](choosing.md) shows numbers. `hindmost simulate` and `hindmost replay` measure a
workload of your own.
"#;

/// Returns the page, which has every system and every order with its description, source and parameters.
pub fn reference() -> String {
    let mut page = format!("{HEAD}\n## Systems\n\n| system | what it does |\n| --- | --- |\n");
    for system in SYSTEMS {
        page += &format!("| [`{0}`](#system-{0}) | {1} |\n", system.name, text(system.about));
    }
    for system in SYSTEMS {
        let order = match system.order {
            Some(order) => format!("{}, unless another is named", link(order)),
            None => format!("the scenario's, {} by default", link(DEFAULT_ORDER)),
        };
        page += &format!("\n### System `{}`\n\n", system.name);
        page += &description(system.does, system.wins, system.loses);
        page += &format!("- Order: {order}\n- Passes: `{}`\n", system.passes);
        page += &origin(&system.source);
        page += &table(system.parameters());
    }
    page += "\n## Orders\n\nThe job with the smallest key is served next; ties are broken by job id.\n\n";
    page += "| order | which job is served first |\n| --- | --- |\n";
    for order in ORDERS {
        page += &format!("| {} | {} |\n", link(order.name), text(order.about));
    }
    for order in ORDERS {
        page += &format!("\n### Order `{}`\n\n", order.name);
        page += &description(order.does, order.wins, order.loses);
        page += &format!("- Key: {}\n", text(order.key));
        page += &origin(&order.source);
        page += &table(order.parameters());
    }
    page
}

fn description(does: &str, wins: &str, loses: &str) -> String {
    format!("{}\n\n- **When it wins.** {}\n- **When it loses.** {}\n", text(does), text(wins), text(loses))
}

/// Returns the list items that name a policy's source and the differences from it.
fn origin(source: &Source) -> String {
    let mut items = format!("- Source: {}; {}\n", text(source.work), text(source.section));
    items += &format!("- Written from: {}\n- Differences from the source:\n", text(source.basis));
    for deviation in source.deviations {
        items += &format!("  - {}\n", text(deviation));
    }
    items
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

/// Escapes plain text so that Markdown shows it unchanged.
fn text(plain: &str) -> String {
    plain.replace('<', "&lt;").replace('|', "\\|").replace('*', "\\*")
}
