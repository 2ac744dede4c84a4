//! The JSON schema of a scenario's `[[policy]]` table, for editors: `docs/policy.schema.json`.

use serde_json::{Map, Value as Json, json};

use super::{ORDERS, OrderEntry, SYSTEMS};
use crate::parameters::{ParameterEntry, Valid, Value};

/// The description in the schema. It also says what the schema cannot check.
const ABOUT: &str = "A [[policy]] table of a Hindmost scenario: the policy's name, and the system's parameters as \
    keys. The schema checks the names of systems and orders, the names of parameters in parentheses, and the types and \
    ranges of keys. It does not check the values of parameters in parentheses, nor whether a parameter is given twice; \
    Hindmost does.";

/// Pattern of an optional list of parameters in parentheses, whatever their names. [`schema`] replaces `VALUE` by
/// [`VALUE`](self::VALUE).
const ANY: &str = r"(?:\(\s*(?:[A-Za-z0-9_-]+\s*=\s*VALUE(?:\s*,\s*[A-Za-z0-9_-]+\s*=\s*VALUE)*)?\s*\)\s*)?";
/// Pattern of a parameter's value: a number or a word, which includes `true` and `false`.
const VALUE: &str = r"(?:[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[A-Za-z0-9_-]+)";

/// Returns the JSON schema (draft 2020-12) of a `[[policy]]` table: the valid names, and for each name its parameters
/// with meaning, default and range.
pub fn schema() -> Json {
    let any = ANY.replace("VALUE", VALUE);
    let orders = alternatives(ORDERS.iter().map(|order| order.name));
    let systems = alternatives(SYSTEMS.iter().map(|system| system.name));
    let mut conditions = Vec::new();
    for system in SYSTEMS {
        let own_order = ORDERS.iter().find(|order| Some(order.name) == system.order);
        let of_order = own_order.map_or(&[][..], |order| order.parameters());
        let own = system.parameters();
        // After ORDER+ the system's own order is not used, so its parameters are not valid.
        conditions.push(Condition { before: "^", name: system.name, after: "$", as_keys: true }.of(own, of_order));
        conditions.push(Condition { before: r"\+", name: system.name, after: "$", as_keys: true }.of(own, &[]));
    }
    for order in ORDERS {
        let own = order.parameters();
        conditions.push(Condition { before: "^", name: order.name, after: r"\+", as_keys: false }.of(own, &[]));
        // If a system and an order have the same name, the name alone stands for the system.
        if SYSTEMS.iter().all(|system| system.name != order.name) {
            conditions.push(Condition { before: "^", name: order.name, after: "$", as_keys: true }.of(own, &[]));
        }
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Policy",
        "description": ABOUT,
        "type": "object",
        "required": ["name"],
        "properties": { "name": {
            "type": "string",
            "description": "SYSTEM, ORDER+SYSTEM or ORDER, with parameters such as \"tetris(epsilon=0.1)+mantri(delta=0.5)\".",
            "pattern": format!(r"^\s*(?:(?:{orders}\s*{any}\+\s*)?{systems}|{orders})\s*{any}$"),
        } },
        "allOf": conditions,
        "unevaluatedProperties": false,
    })
}

/// Returns the pattern of an order of jobs with its parameters, such as `tetris(epsilon=0.1)`. It restricts the names of
/// parameters, not their values.
pub fn order_pattern() -> String {
    let with_parameters = |order: &OrderEntry| format!("{}{}", order.name, list(order.parameters().iter()));
    let orders: Vec<String> = ORDERS.iter().map(with_parameters).collect();
    format!(r"^\s*(?:{})$", orders.join("|"))
}

/// Returns the pattern of a list of these parameters in parentheses, which may be left out.
fn list<'a>(parameters: impl Iterator<Item = &'a ParameterEntry>) -> String {
    let names: Vec<&str> = parameters.map(|entry| entry.name).collect();
    let parameter = format!(r"{}\s*=\s*{VALUE}\s*", alternatives(names.iter().copied()));
    let inner = if names.is_empty() { String::new() } else { format!(r"(?:{parameter}(?:,\s*{parameter})*)?") };
    format!(r"\s*(?:\(\s*{inner}\)\s*)?")
}

fn alternatives<'a>(names: impl Iterator<Item = &'a str>) -> String {
    format!("(?:{})", names.collect::<Vec<_>>().join("|"))
}

/// A system or an order, and its position in the policy's name.
struct Condition {
    /// Pattern of the text before the name of the system or order.
    before: &'static str,
    name: &'static str,
    /// Pattern of the text after that name and its parameters.
    after: &'static str,
    /// True if the parameters may also be keys of the table.
    as_keys: bool,
}

impl Condition {
    /// Returns a condition for the schema: if the policy's name has `name` at this position, the parameters `own` of
    /// the system or order and the parameters `of_order` of the system's own order are valid, and no others.
    fn of(self, own: &'static [ParameterEntry], of_order: &'static [ParameterEntry]) -> Json {
        let Condition { before, name, after, as_keys } = self;
        let entries = || own.iter().chain(of_order);
        let list = list(entries());
        let mut properties = if as_keys { properties(entries()) } else { Map::new() };
        properties.insert("name".to_owned(), json!({ "pattern": format!(r"{before}\s*{name}{list}{after}") }));
        json!({
            "if": {
                "properties": { "name": { "pattern": format!(r"{before}\s*{name}\s*(?:\([^()]*\)\s*)?{after}") } },
                "required": ["name"],
            },
            "then": { "properties": properties },
        })
    }
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

/// Returns a number as JSON. Whole numbers have no `.0`.
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
