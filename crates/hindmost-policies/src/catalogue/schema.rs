//! The JSON schema of a scenario's `[[policy]]` table, for editors: `docs/policy.schema.json`.

use serde_json::{Map, Value as Json, json};

use super::{ORDERS, SYSTEMS};
use crate::parameters::{ParameterEntry, Valid, Value};

/// Returns the schema: the names, and beside each name its parameters with meaning, default and range.
pub fn schema() -> Json {
    // What may stand behind a name.
    let given = r"(\(.*\))?";
    let orders = alternatives(ORDERS.iter().map(|order| order.name));
    let systems = alternatives(SYSTEMS.iter().map(|system| system.name));
    let under_own_order = |order: Option<&str>| {
        let order = ORDERS.iter().find(|entry| Some(entry.name) == order);
        order.map_or(&[][..], |order| order.parameters())
    };
    let systems_parameters = SYSTEMS.iter().map(|system| {
        let own = system.parameters().iter();
        let beside = properties(own.chain(under_own_order(system.order)));
        of_name(&format!(r"^(.*\+)?{}{given}$", system.name), &beside)
    });
    // An order that stands alone is no system.
    let alone = ORDERS.iter().filter(|order| SYSTEMS.iter().all(|system| system.name != order.name));
    let orders_parameters =
        alone.map(|order| of_name(&format!("^{}{given}$", order.name), &properties(order.parameters().iter())));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Policy",
        "description": "A [[policy]] table of a Hindmost scenario: its name, and the system's parameters as keys.",
        "type": "object",
        "required": ["name"],
        "properties": { "name": {
            "type": "string",
            "description": "SYSTEM, ORDER+SYSTEM or ORDER, with parameters such as \"tetris(epsilon=0.1)+mantri(delta=0.5)\".",
            "pattern": format!(r"^(({orders}{given}\+)?{systems}{given}|{orders}{given})$"),
        } },
        "allOf": systems_parameters.chain(orders_parameters).collect::<Vec<_>>(),
        "unevaluatedProperties": false,
    })
}

fn alternatives<'a>(names: impl Iterator<Item = &'a str>) -> String {
    format!("({})", names.collect::<Vec<_>>().join("|"))
}

/// The properties that stand beside names of this pattern.
fn of_name(pattern: &str, properties: &Map<String, Json>) -> Json {
    json!({
        "if": { "properties": { "name": { "pattern": pattern } }, "required": ["name"] },
        "then": { "properties": properties },
    })
}

fn properties<'a>(parameters: impl Iterator<Item = &'a ParameterEntry>) -> Map<String, Json> {
    let property = |parameter: &ParameterEntry| {
        let unit = parameter.unit.map_or(String::new(), |unit| format!(", {unit}"));
        let default = match &parameter.default {
            Value::Switch(on) => json!(on),
            Value::Number(number) => plain(*number),
            Value::Word(word) => json!(word),
        };
        let mut property = valid(parameter.valid);
        property["description"] = json!(format!("{}{unit}", parameter.about));
        property["default"] = default;
        (parameter.name.to_owned(), property)
    };
    parameters.map(property).collect()
}

/// A whole number without a fraction's `.0`.
fn plain(number: f64) -> Json {
    serde_json::from_str(&number.to_string()).unwrap_or_else(|_| json!(number))
}

fn valid(valid: Valid) -> Json {
    match valid {
        Valid::Switch => json!({ "type": "boolean" }),
        Valid::Number(low, f64::MAX) => json!({ "type": "number", "minimum": low }),
        Valid::Number(low, high) => json!({ "type": "number", "minimum": low, "maximum": high }),
        Valid::NumberBelow(low, high) => json!({ "type": "number", "minimum": low, "exclusiveMaximum": high }),
        Valid::Count(low, high) => json!({ "type": "integer", "minimum": low, "maximum": high }),
        Valid::OptimalOrNumber => {
            json!({ "anyOf": [{ "const": "optimal" }, { "type": "number", "exclusiveMinimum": 0 }] })
        }
        Valid::WordOrNumber(word, low, high) => {
            json!({ "anyOf": [{ "const": word }, self::valid(Valid::Number(low, high))] })
        }
        Valid::OneOf(words) => json!({ "enum": words }),
    }
}
