//! Statements about a JSON document, such as `.phases[0].tasks = 3`.

use serde_json::Value;

use crate::schemas::conforming;

/// A statement about a JSON document.
pub struct Statement {
    /// The statement as it is written.
    text: String,
    path: Path,
    relation: &'static str,
    expected: Expected,
    /// By how much an equal number may differ.
    tolerance: f64,
}

enum Expected {
    Value(Value),
    /// Another value of the document.
    Path(Path),
    /// A part of a text.
    Part(String),
    /// The name of a definition in the schema of documents.
    Form(String),
}

const RELATIONS: &[&str] = &["=", "!=", "<", "<=", ">", ">=", "~", "conforms to"];

impl Statement {
    /// Reads a statement: a path, a relation between spaces, and a value or another path.
    pub fn read(text: &str) -> Result<Statement, String> {
        let relations = RELATIONS.iter().filter_map(|relation| Some((text.find(&format!(" {relation} "))?, *relation)));
        let (at, relation) =
            relations.min().ok_or("a line that begins with a point is a statement about JSON, as `.a[0].b = 1`")?;
        let (path, rest) = (&text[..at], &text[at + relation.len() + 2..]);
        let (rest, tolerance) = match rest.split_once(" ± ") {
            Some((rest, tolerance)) => (rest, tolerance.parse().map_err(|error| format!("{tolerance}: {error}"))?),
            None => (rest, 0.0),
        };
        let expected = if relation == "~" {
            Expected::Part(rest.to_owned())
        } else if relation == "conforms to" {
            Expected::Form(rest.to_owned())
        } else if rest.starts_with('.') {
            Expected::Path(Path::read(rest)?)
        } else {
            Expected::Value(serde_json::from_str(rest).map_err(|error| format!("{rest}: {error}"))?)
        };
        Ok(Statement { text: text.to_owned(), path: Path::read(path)?, relation, expected, tolerance })
    }

    /// Returns what the document says instead, if the statement is not true.
    pub fn difference(&self, document: &Value) -> Option<String> {
        let found = self.path.of(document);
        if let Expected::Form(name) = &self.expected {
            return conforming(name, &found).err().map(|error| format!("{}: {error}", self.text));
        }
        let (holds, other) = match &self.expected {
            Expected::Value(expected) => (self.holds(&found, expected), None),
            Expected::Path(path) => {
                let other = path.of(document);
                (self.holds(&found, &other), Some(other))
            }
            Expected::Part(part) => {
                (found.as_str().map_or_else(|| found.to_string(), str::to_owned).contains(part), None)
            }
            Expected::Form(_) => (true, None),
        };
        let other = other.map(|other| format!(" and {other}")).unwrap_or_default();
        (!holds).then(|| format!("{}: {found}{other}", self.text))
    }

    fn holds(&self, found: &Value, expected: &Value) -> bool {
        match (self.relation, found.as_f64(), expected.as_f64()) {
            ("=", Some(found), Some(expected)) => (found - expected).abs() <= self.tolerance,
            ("=", ..) => same(found, expected),
            ("!=", ..) => !same(found, expected),
            ("<", Some(found), Some(expected)) => found < expected,
            ("<=", Some(found), Some(expected)) => found <= expected,
            (">", Some(found), Some(expected)) => found > expected,
            (">=", Some(found), Some(expected)) => found >= expected,
            _ => false,
        }
    }
}

/// Returns true if two values are the same. 1 and 1.0 are.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| other.get(key).is_some_and(|other| same(one, other)))
        }
        _ => one == other,
    }
}

/// The place of a value in a document, as in `jq`.
struct Path(Vec<Part>);

enum Part {
    Key(String),
    /// An element of a list; below 0 from its end.
    At(i64),
    /// The list of what the rest of the path finds in each element of a list.
    Each,
    Length,
    Keys,
    /// The elements of a list of texts in the order of these.
    Sort,
}

impl Path {
    fn read(text: &str) -> Result<Path, String> {
        let (path, last) = match text.split_once(" | ") {
            Some((path, "length")) => (path, Some(Part::Length)),
            Some((path, "keys")) => (path, Some(Part::Keys)),
            Some((path, "sort")) => (path, Some(Part::Sort)),
            Some((_, other)) => return Err(format!("{other} is none of length, keys and sort")),
            None => (text, None),
        };
        let mut parts = Vec::new();
        let mut rest = path;
        while !rest.is_empty() {
            if let Some(quoted) = rest.strip_prefix("[\"").or_else(|| rest.strip_prefix(".[\"")) {
                let (key, after) = quoted.split_once("\"]").ok_or_else(|| format!("{path}: a bracket is open"))?;
                parts.push(Part::Key(key.to_owned()));
                rest = after;
            } else if let Some(index) = rest.strip_prefix('[').or_else(|| rest.strip_prefix(".[")) {
                let (index, after) = index.split_once(']').ok_or_else(|| format!("{path}: a bracket is open"))?;
                parts.push(if index.is_empty() {
                    Part::Each
                } else {
                    Part::At(index.parse().map_err(|_| format!("{path}: {index}"))?)
                });
                rest = after;
            } else {
                let key = rest.strip_prefix('.').ok_or_else(|| format!("{path}: a point is missing"))?;
                let end = key.find(['.', '[']).unwrap_or(key.len());
                if end > 0 {
                    parts.push(Part::Key(key[..end].to_owned()));
                }
                rest = &key[end..];
            }
        }
        parts.extend(last);
        Ok(Path(parts))
    }

    fn of(&self, document: &Value) -> Value {
        find(&self.0, document)
    }
}

/// Returns what a path finds in a value; null if nothing is there.
fn find(parts: &[Part], value: &Value) -> Value {
    let Some((part, rest)) = parts.split_first() else { return value.clone() };
    match part {
        Part::Key(key) => find(rest, &value[key.as_str()]),
        Part::At(index) => {
            let length = value.as_array().map_or(0, Vec::len);
            let at = if *index < 0 { length as i64 + index } else { *index };
            find(rest, usize::try_from(at).ok().and_then(|at| value.get(at)).unwrap_or(&Value::Null))
        }
        Part::Each => {
            let (last, inner) = match rest.split_last() {
                Some((Part::Length | Part::Sort, inner)) => (&rest[inner.len()..], inner),
                _ => (&rest[..0], rest),
            };
            let found = value.as_array().into_iter().flatten().map(|element| find(inner, element)).collect();
            find(last, &Value::Array(found))
        }
        Part::Length => match value {
            Value::Array(list) => list.len().into(),
            Value::Object(object) => object.len().into(),
            Value::String(text) => text.chars().count().into(),
            _ => Value::Null,
        },
        Part::Keys => value.as_object().map(|object| object.keys().cloned().collect::<Vec<_>>()).into(),
        Part::Sort => {
            let mut list = value.as_array().cloned().unwrap_or_default();
            list.sort_by(|one, other| one.as_str().cmp(&other.as_str()));
            list.into()
        }
    }
}
