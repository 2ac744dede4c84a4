//! JSON schemas of TOML files and of JSON documents, from the types that read and write them.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

/// Returns the schema of a TOML file. Editors use the schema to complete and check the file.
pub fn of_toml_file<T: JsonSchema>() -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value();
    without_null(&mut schema);
    in_plain_text(&mut schema);
    schema
}

/// Returns the definitions of the types of JSON documents, and of all types in them, by name.
pub fn definitions_of(types: &[DocumentType]) -> serde_json::Map<String, Value> {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    for add in types {
        add(&mut generator);
    }
    let mut definitions = generator.take_definitions(true);
    definitions.values_mut().for_each(in_plain_text);
    definitions
}

/// A function that adds a document's type, such as
/// `|generator| generator.subschema_for::<Comparison>()`.
pub type DocumentType = fn(&mut SchemaGenerator) -> schemars::Schema;

/// Removes null, which TOML does not have. If this leaves only one type to choose from, the choice is replaced by that
/// type.
fn without_null(schema: &mut Value) {
    let is_null = |value: &Value| value == "null" || *value == json!({"type": "null"});
    match schema {
        Value::Object(entries) => {
            for key in ["type", "anyOf"] {
                let Some(Value::Array(choices)) = entries.get_mut(key) else { continue };
                choices.retain(|choice| !is_null(choice));
                if choices.len() > 1 {
                    continue;
                }
                match choices.pop() {
                    Some(Value::Object(only)) => {
                        entries.shift_remove(key);
                        for (key, value) in only {
                            entries.entry(key).or_insert(value);
                        }
                    }
                    Some(only) => entries[key] = only,
                    None => {}
                }
            }
            entries.values_mut().for_each(without_null);
        }
        Value::Array(entries) => entries.iter_mut().for_each(without_null),
        _ => {}
    }
}

/// Turns descriptions, which are doc comments, into plain text: one line, no links, and `null` instead of `None`.
fn in_plain_text(schema: &mut Value) {
    match schema {
        Value::Object(entries) => {
            if let Some(Value::String(text)) = entries.get_mut("description") {
                *text = without_links(&text.replace('\n', " ")).replace("  ", " ").replace("`None`", "null");
            }
            entries.values_mut().for_each(in_plain_text);
        }
        Value::Array(entries) => entries.iter_mut().for_each(in_plain_text),
        _ => {}
    }
}

/// Returns a doc comment in which each link such as ``[`Step`](crate::Step)`` is only its text, `Step`.
fn without_links(text: &str) -> String {
    let mut parts = text.split("[`");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let Some((name, rest)) = part.split_once("`]") else {
            plain = plain + "[`" + part;
            continue;
        };
        let target = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        plain += &format!("`{name}`{}", target.map_or(rest, |(_, rest)| rest));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_become_their_text() {
        assert_eq!(without_links("As [`Step`], [`A`](crate::A) and [1, 2]."), "As `Step`, `A` and [1, 2].");
        assert_eq!(without_links("[`open"), "[`open");
    }
}
