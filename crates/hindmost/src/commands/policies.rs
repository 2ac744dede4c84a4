//! `hindmost policies`: prints the catalogue of systems and orders.

use hindmost_policies::catalogue::{DEFAULT_ORDER, ORDERS, SYSTEMS, Source, schema};
use hindmost_policies::parameters::ParameterEntry;
use serde_json::json;

use hindmost_report::text::indented;

use crate::failure::Outcome;
use crate::terminal;

/// Prints the catalogue as text, as JSON if `as_json`, or the JSON schema of policies if `as_schema`. If `is_short`, the
/// text has one line for each entry.
pub fn run(is_short: bool, as_json: bool, as_schema: bool) -> Outcome {
    if as_schema {
        return terminal::print_json(&schema());
    }
    if as_json {
        return terminal::print_json(&json!({ "default_order": DEFAULT_ORDER, "orders": ORDERS, "systems": SYSTEMS }));
    }
    let width = usize::from(terminal::width()).max(40);
    let mut text = if is_short { short(width) } else { full(width) };
    let last = format!(
        "Any order goes with any system: fair+mantri(delta=0.5), srpt+none. A system without an order runs under its \
         own order, else under the scenario's ({DEFAULT_ORDER} by default). An order without a system starts one copy of each task."
    );
    text += &format!("\n{}", indented("", &last, width));
    if is_short {
        let more = "`hindmost policies` also prints parameters, sources, differences from them, and when each policy wins and loses.";
        text += &indented("", more, width);
    }
    terminal::print(&text)
}

/// Returns a line for each system and each order.
fn short(width: usize) -> String {
    let line = |name: &str, about: &str| indented(&format!("  {name:<18} "), about, width);
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

/// Returns the whole entry of each system and each order.
fn full(width: usize) -> String {
    let paragraph = |label: &str, content: &str| indented(&format!("    {label}"), content, width);
    let origin = |source: &Source| -> String {
        let mut lines = paragraph("source: ", &format!("{}; {}", source.work, source.section));
        lines += &paragraph("written from: ", source.basis);
        for deviation in source.deviations {
            lines += &paragraph("differs: ", deviation);
        }
        lines
    };
    let parameters = |entries: &[ParameterEntry]| -> String {
        let unit = |one: &ParameterEntry| one.unit.map_or(String::new(), |unit| format!(" {unit}"));
        let line =
            |one: &ParameterEntry| paragraph(&format!("{} = {}{}  ", one.name, one.default, unit(one)), one.about);
        entries.iter().map(line).collect()
    };
    let mut text = String::from("Systems\n");
    for system in SYSTEMS {
        text += &format!("\n  {}\n", system.name);
        text += &paragraph("", system.does);
        text += &paragraph("wins: ", system.wins);
        text += &paragraph("loses: ", system.loses);
        text += &paragraph("passes: ", system.passes);
        text += &origin(&system.source);
        if let Some(order) = system.order {
            text += &paragraph("order: ", &format!("{order}, unless another is named"));
        }
        text += &parameters(system.parameters());
    }
    text += "\nOrders of jobs (smallest key first, ties by job id)\n";
    for order in ORDERS {
        text += &format!("\n  {}\n", order.name);
        text += &paragraph("", order.does);
        text += &paragraph("wins: ", order.wins);
        text += &paragraph("loses: ", order.loses);
        text += &paragraph("key: ", order.key);
        text += &origin(&order.source);
        text += &parameters(order.parameters());
    }
    text
}
