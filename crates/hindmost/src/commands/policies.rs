//! `hindmost policies`: the catalogue.

use hindmost_core::policy::catalogue::{DEFAULT_ORDER, ORDERS, SYSTEMS};
use serde_json::json;

use crate::failure::Outcome;
use crate::terminal;

/// Prints the catalogue.
pub fn run(as_json: bool) -> Outcome {
    if as_json {
        return terminal::print_json(&json!({ "default_order": DEFAULT_ORDER, "orders": ORDERS, "systems": SYSTEMS }));
    }
    let mut text = String::from("Systems and redundancy rules\n");
    for system in SYSTEMS {
        text += &format!("\n  {}\n    {}\n    {}\n    {}\n", system.name, system.about, system.passes, system.source);
        if let Some(order) = system.order {
            text += &format!("    order: {order}, unless one is named\n");
        }
        for parameter in system.parameters {
            text += &format!("    {} = {}  {}\n", parameter.name, parameter.default, parameter.about);
        }
    }
    text += "\nOrders of jobs (smallest key first, ties by job id)\n\n";
    for order in ORDERS {
        text += &format!("  {:<18} {}\n", order.name, order.key);
    }
    text += &format!(
        "\nAny order goes with any rule: fair+mantri(delta=0.5), srpt+none. A rule alone takes the\n\
         scenario's order ({DEFAULT_ORDER} by default), an order alone means no redundancy.\n"
    );
    terminal::print(&text)
}
