//! `hindmost policies`: the catalogue.

use hindmost_policies::catalogue::{DEFAULT_ORDER, ORDERS, SYSTEMS, schema};
use serde_json::json;

use hindmost_report::text::indented;

use crate::failure::Outcome;
use crate::terminal;

/// Prints the catalogue.
pub fn run(as_json: bool, as_schema: bool) -> Outcome {
    if as_schema {
        return terminal::print_json(&schema());
    }
    if as_json {
        return terminal::print_json(&json!({ "default_order": DEFAULT_ORDER, "orders": ORDERS, "systems": SYSTEMS }));
    }
    let width = usize::from(terminal::width()).max(40);
    let mut text = String::from("Systems and redundancy rules\n");
    for system in SYSTEMS {
        text += &format!("\n  {}\n", system.name);
        for told in [system.about, system.passes, system.source] {
            text += &indented("    ", told, width);
        }
        if let Some(order) = system.order {
            text += &indented("    ", &format!("order: {order}, unless one is named"), width);
        }
        for parameter in system.parameters() {
            text += &indented(&format!("    {} = {}  ", parameter.name, parameter.default), parameter.about, width);
        }
    }
    text += "\nOrders of jobs (smallest key first, ties by job id)\n\n";
    for order in ORDERS {
        text += &indented(&format!("  {:<18} ", order.name), order.key, width);
        for parameter in order.parameters() {
            text += &indented(&format!("    {} = {}  ", parameter.name, parameter.default), parameter.about, width);
        }
    }
    let last = format!(
        "Any order goes with any rule: fair+mantri(delta=0.5), srpt+none. A rule alone takes the \
         scenario's order ({DEFAULT_ORDER} by default), an order alone means no redundancy."
    );
    text += &format!("\n{}", indented("", &last, width));
    terminal::print(&text)
}
