//! A validator for the part of JSON Schema that the program's schemas use. A keyword that it does not know is a panic, so
//! that no part of a schema goes unchecked.

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::{Map, Value};

/// Keywords that describe and do not restrict.
const ANNOTATIONS: &[&str] = &["$schema", "$defs", "title", "description", "default", "format"];

/// The keys of an object that the schema describes.
type Described = BTreeSet<String>;

/// A schema with the definitions that it refers to.
pub struct Validator<'a> {
    root: &'a Value,
}

impl Validator<'_> {
    /// Creates the validator of a schema.
    pub fn new(root: &Value) -> Validator<'_> {
        Validator { root }
    }

    /// Checks a document against the schema, or against one of its definitions.
    ///
    /// # Errors
    /// If the document does not conform; the error says where and why.
    pub fn check(&self, definition: Option<&str>, document: &Value) -> Result<(), String> {
        let schema = definition.map_or(self.root, |name| self.definition(&format!("#/$defs/{name}")));
        self.describe(schema, document, "").map(|_| ())
    }

    fn definition(&self, reference: &str) -> &Value {
        let pointer = reference.strip_prefix('#').expect("references are within the schema");
        self.root.pointer(pointer).unwrap_or_else(|| panic!("{reference} is not defined"))
    }

    /// Checks a value and returns which of its keys the schema describes.
    fn describe(&self, schema: &Value, value: &Value, at: &str) -> Result<Described, String> {
        let entries = match schema {
            Value::Bool(true) => return Ok(Described::new()),
            Value::Object(entries) => entries,
            _ => return Err(format!("{at}: nothing is valid here")),
        };
        let mut described = Described::new();
        for (keyword, rule) in entries {
            described.extend(self.keyword(entries, keyword, rule, value, at)?);
        }
        if let (Some(rule), Value::Object(keys)) = (entries.get("unevaluatedProperties"), value) {
            assert_eq!(rule, false);
            if let Some(key) = keys.keys().find(|key| !described.contains(*key)) {
                return Err(format!("{at}/{key}: this key is not described"));
            }
        }
        Ok(described)
    }

    fn keyword(
        &self,
        entries: &Map<String, Value>,
        keyword: &str,
        rule: &Value,
        value: &Value,
        at: &str,
    ) -> Result<Described, String> {
        let list = || rule.as_array().unwrap_or_else(|| panic!("{keyword} is a list"));
        let number = || rule.as_f64().unwrap_or_else(|| panic!("{keyword} is a number"));
        let ok = |holds: bool| {
            if holds {
                return Ok(Described::new());
            }
            Err(format!("{at}: {value} does not satisfy {keyword} = {rule}"))
        };
        let of_number = |holds: fn(f64, f64) -> bool| ok(value.as_f64().is_none_or(|value| holds(value, number())));
        let of_list = |holds: fn(f64, f64) -> bool| {
            ok(value.as_array().is_none_or(|values| holds(values.len() as f64, number())))
        };
        match keyword {
            "$ref" => self.describe(self.definition(rule.as_str().expect("a reference")), value, at),
            "type" => ok(match rule {
                Value::Array(types) => types.iter().any(|one| has_type(value, one)),
                one => has_type(value, one),
            }),
            "const" => ok(value == rule),
            "enum" => ok(list().contains(value)),
            "pattern" => {
                let pattern = Regex::new(rule.as_str().expect("a pattern")).expect("a valid pattern");
                ok(value.as_str().is_none_or(|text| pattern.is_match(text)))
            }
            "minimum" => of_number(|value, least| value >= least),
            "exclusiveMinimum" => of_number(|value, least| value > least),
            "maximum" => of_number(|value, most| value <= most),
            "exclusiveMaximum" => of_number(|value, most| value < most),
            "minItems" => of_list(|items, least| items >= least),
            "maxItems" => of_list(|items, most| items <= most),
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    self.describe(rule, item, &format!("{at}/{index}"))?;
                }
                Ok(Described::new())
            }
            "prefixItems" => {
                for (index, (rule, item)) in list().iter().zip(value.as_array().into_iter().flatten()).enumerate() {
                    self.describe(rule, item, &format!("{at}/{index}"))?;
                }
                Ok(Described::new())
            }
            "required" => {
                let Value::Object(keys) = value else { return Ok(Described::new()) };
                let missing = list().iter().filter_map(Value::as_str).find(|key| !keys.contains_key(*key));
                missing.map_or(Ok(Described::new()), |key| Err(format!("{at}/{key}: this key is missing")))
            }
            "properties" => {
                let mut described = Described::new();
                for (key, inner) in value.as_object().into_iter().flatten() {
                    if let Some(rule) = rule.get(key) {
                        self.describe(rule, inner, &format!("{at}/{key}"))?;
                        described.insert(key.clone());
                    }
                }
                Ok(described)
            }
            "additionalProperties" => {
                let named = entries.get("properties");
                let mut described = Described::new();
                for (key, inner) in value.as_object().into_iter().flatten() {
                    if named.is_none_or(|named| named.get(key).is_none()) {
                        self.describe(rule, inner, &format!("{at}/{key}"))?;
                        described.insert(key.clone());
                    }
                }
                Ok(described)
            }
            "allOf" => {
                let all: Result<Vec<Described>, String> =
                    list().iter().map(|one| self.describe(one, value, at)).collect();
                Ok(all?.into_iter().flatten().collect())
            }
            "anyOf" | "oneOf" => {
                let (valid, errors): (Vec<_>, Vec<_>) =
                    list().iter().map(|one| self.describe(one, value, at)).partition(Result::is_ok);
                if valid.is_empty() {
                    let errors: Vec<String> = errors.into_iter().filter_map(Result::err).collect();
                    return Err(format!("{at}: none of the alternatives holds: {}", errors.join("; ")));
                }
                if keyword == "oneOf" && valid.len() > 1 {
                    return Err(format!("{at}: several alternatives hold, but only one may"));
                }
                Ok(valid.into_iter().flatten().flatten().collect())
            }
            "if" => match self.describe(rule, value, at) {
                Ok(mut described) => {
                    if let Some(then) = entries.get("then") {
                        described.extend(self.describe(then, value, at)?);
                    }
                    Ok(described)
                }
                Err(_) => entries.get("else").map_or(Ok(Described::new()), |rule| self.describe(rule, value, at)),
            },
            "then" | "else" | "unevaluatedProperties" => Ok(Described::new()),
            _ if ANNOTATIONS.contains(&keyword) => Ok(Described::new()),
            _ => panic!("this validator does not know the keyword {keyword}"),
        }
    }
}

fn has_type(value: &Value, name: &Value) -> bool {
    match name.as_str().expect("the name of a type") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        other => panic!("there is no type {other}"),
    }
}
