//! `hindmost policies`: prints the catalogue of systems and orders, or one entry.

use hindmost_policies::catalogue::{DEFAULT_ORDER, ORDERS, OrderEntry, SYSTEMS, Source, SystemEntry, entries, schema};
use hindmost_policies::parameters::ParameterEntry;
use serde_json::json;

use hindmost_report::text::{indented, labelled};

use crate::cli::PoliciesArgs;
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Smallest width of the text, in columns; narrower terminals break its lines.
const NARROWEST: usize = 20;

/// Prints the catalogue, or the entries of one name, as text, as JSON or as the JSON schema of policies.
pub fn run(args: &PoliciesArgs) -> Outcome {
    if args.schema {
        return terminal::print_json(&schema());
    }
    let width = usize::from(terminal::width()).max(NARROWEST);
    if let Some(name) = &args.name {
        let (system, order) = entries(name).map_err(Failure::input)?;
        if args.json {
            let (orders, systems): (Vec<_>, Vec<_>) = (order.into_iter().collect(), system.into_iter().collect());
            return terminal::print_json(
                &json!({ "default_order": DEFAULT_ORDER, "orders": orders, "systems": systems }),
            );
        }
        let found = [system.map(|entry| one_system(entry, width)), order.map(|entry| one_order(entry, width))];
        return terminal::print(&found.into_iter().flatten().collect::<Vec<_>>().join("\n"));
    }
    if args.json {
        return terminal::print_json(&json!({ "default_order": DEFAULT_ORDER, "orders": ORDERS, "systems": SYSTEMS }));
    }
    let mut text = if args.short { short(width) } else { full(width) };
    let last = format!(
        "Any order goes with any system: fair+mantri(delta=0.5), srpt+none. A system without an order runs under its \
         own order, else under the scenario's ({DEFAULT_ORDER} by default). An order without a system starts one copy of each task."
    );
    text += &format!("\n{}", indented("", &last, width));
    if args.short {
        let more = "`hindmost policies` also prints parameters, sources, differences from them, and when each policy wins and \
                    loses; `hindmost policies NAME` does so for one of them.";
        text += &indented("", more, width);
    }
    terminal::print(&text)
}

/// Returns a line for each system and each order.
fn short(width: usize) -> String {
    let line = |name: &str, about: &str| labelled(&format!("  {name:<18} "), about, width);
    let mut text = String::from("Systems\n");
    for system in SYSTEMS {
        text += &line(system.name, system.about);
    }
    text += "\nOrders of jobs\n";
    for order in ORDERS {
        text += &line(order.name, order.about);
    }
    text
}

/// Returns the entry of each system and each order.
fn full(width: usize) -> String {
    let mut text = String::from("Systems\n");
    for system in SYSTEMS {
        text += &format!("\n  {}\n", system.name);
        text += &about_system(system, &parameters(system.parameters(), width), width);
    }
    text += "\nOrders of jobs (smallest key first, ties by job id)\n";
    for order in ORDERS {
        text += &format!("\n  {}\n", order.name);
        text += &about_order(order, &parameters(order.parameters(), width), width);
    }
    text
}

fn one_system(system: &SystemEntry, width: usize) -> String {
    let policy = with_parameters(system.name, system.parameters());
    let details = details(system.parameters(), width) + &example(&policy, width);
    let title = indented("", &format!("{}: {}", system.name, system.about), width);
    format!("{title}\n{}", about_system(system, &details, width))
}

fn one_order(order: &OrderEntry, width: usize) -> String {
    let policy = with_parameters(order.name, order.parameters()) + "+none";
    let details = details(order.parameters(), width) + &example(&policy, width);
    let title = indented("", &format!("{}, an order of jobs: {}", order.name, order.about), width);
    format!("{title}\n{}", about_order(order, &details, width))
}

fn paragraph(label: &str, content: &str, width: usize) -> String {
    labelled(&format!("    {label}"), content, width)
}

/// Returns the paragraphs about a system, the last of which are those of its parameters.
fn about_system(system: &SystemEntry, parameters: &str, width: usize) -> String {
    let mut text = description(system.does, system.wins, system.loses, width);
    text += &paragraph("passes: ", system.passes, width);
    text += &origin(&system.source, width);
    if let Some(order) = system.order {
        text += &paragraph("order: ", &format!("{order}, unless another is named"), width);
    }
    text + parameters
}

/// Returns the paragraphs about an order, the last of which are those of its parameters.
fn about_order(order: &OrderEntry, parameters: &str, width: usize) -> String {
    let mut text = description(order.does, order.wins, order.loses, width);
    text += &paragraph("key: ", order.key, width);
    text + &origin(&order.source, width) + parameters
}

fn description(does: &str, wins: &str, loses: &str, width: usize) -> String {
    paragraph("", does, width) + &paragraph("wins: ", wins, width) + &paragraph("loses: ", loses, width)
}

fn origin(source: &Source, width: usize) -> String {
    let mut lines = paragraph("source: ", &format!("{}; {}", source.work, source.section), width);
    lines += &paragraph("written from: ", source.basis, width);
    for deviation in source.deviations {
        lines += &paragraph("differs: ", deviation, width);
    }
    lines
}

/// Returns a paragraph for each parameter: name, default, unit and meaning.
fn parameters(entries: &[ParameterEntry], width: usize) -> String {
    entries.iter().map(|one| paragraph(&format!("{}  ", with_default(one)), one.about, width)).collect()
}

fn with_default(one: &ParameterEntry) -> String {
    format!("{} = {}{}", one.name, one.default, one.unit.map_or(String::new(), |unit| format!(" {unit}")))
}

/// Returns two paragraphs for each parameter: as [`parameters`], and its valid values.
fn details(entries: &[ParameterEntry], width: usize) -> String {
    if entries.is_empty() {
        return paragraph("parameters: ", "none", width);
    }
    let one = |one: &ParameterEntry| {
        let unit = one.unit.map_or(String::new(), |unit| format!(", in {unit}"));
        let valid = format!("{}{unit}; default {}", one.valid, one.default);
        format!(
            "\n{}{}",
            paragraph(&format!("{}: ", one.name), one.about, width),
            paragraph("  valid: ", &valid, width)
        )
    };
    entries.iter().map(one).collect()
}

/// Returns a policy's name with each of its parameters at its default.
fn with_parameters(name: &str, entries: &[ParameterEntry]) -> String {
    let given: Vec<String> = entries.iter().map(|one| format!("{}={}", one.name, one.default)).collect();
    if given.is_empty() { name.to_owned() } else { format!("{name}({})", given.join(",")) }
}

/// Returns a command that compares a policy with `none`.
fn example(policy: &str, width: usize) -> String {
    let policies = if policy == "none" { policy.to_owned() } else { format!("'none,{policy}'") };
    format!("\n{}", paragraph("example: ", &format!("hindmost simulate --policy {policies}"), width))
}
