//! The JSON schema of scenario files: `docs/scenario.schema.json`.

use std::borrow::Cow;

use hindmost_core::schema::of_toml_file;
use hindmost_policies::catalogue;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::parameter::Family;
use crate::size::{Bytes, SIZE, Size};

use super::{PolicyEntry, Scenario};

/// Returns the JSON schema of scenario files, with which editors complete and check them.
pub fn schema() -> Value {
    of_toml_file::<Scenario>()
}

impl JsonSchema for PolicyEntry {
    fn schema_name() -> Cow<'static, str> {
        "Policy".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = Schema::try_from(catalogue::schema()).unwrap_or_default();
        schema.remove("$schema");
        schema
    }
}

impl JsonSchema for Bytes {
    fn schema_name() -> Cow<'static, str> {
        "Bytes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An amount of data: a text with a unit, such as \"128MB\", or a number of bytes.",
            "anyOf": [{ "type": "number" }, { "type": "string", "pattern": SIZE }],
        })
    }
}

impl JsonSchema for Size {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    /// Returns the schema of a [`Parameter`](crate::parameter::Parameter), except that each number may be a text with a
    /// unit.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let amount = generator.subschema_for::<Bytes>().to_value();
        let mut distribution = Family::json_schema(generator).to_value();
        replace(&mut distribution, &json!("#/$defs/Parameter"), &json!("#/$defs/Size"));
        json_schema!({
            "description": "An amount of data, or a distribution of amounts, whose parameters are amounts, too.",
            "anyOf": [amount, distribution],
        })
    }
}

/// Replaces a value everywhere in a schema.
fn replace(schema: &mut Value, old: &Value, new: &Value) {
    match schema {
        value if value == old => *value = new.clone(),
        Value::Object(entries) => entries.values_mut().for_each(|entry| replace(entry, old, new)),
        Value::Array(entries) => entries.iter_mut().for_each(|entry| replace(entry, old, new)),
        _ => {}
    }
}
