//! Decodes Avro's binary encoding by the schema in the log.
//!
//! A value is decoded to what Avro's JSON encoding of it would be, so that both kinds of job history are read by the
//! same code. The input is untrusted: memory is allocated only for bytes that the log has, and depth and number of
//! values are limited.

use std::io::{self, Read};

use rustc_hash::FxHashMap;
use serde_json::{Map, Value};
use thiserror::Error;

/// The deepest nesting of values.
const DEEPEST: u32 = 64;
/// The most values in one event.
const MOST_VALUES: u64 = 1 << 20;
/// The longest text, in bytes.
const LONGEST: u64 = 64 << 20;
/// Fields that are skipped because nothing uses them.
const UNUSED: &[&str] = &[
    "displayName",
    "clockSplits",
    "cpuUsages",
    "vMemKbytes",
    "physMemKbytes",
    "acls",
    "mapCounters",
    "reduceCounters",
];

/// Why a value could not be decoded.
#[derive(Debug, Error)]
pub(super) enum AvroError {
    /// The log ends within a value.
    #[error("it ends within a value")]
    Cut,
    /// Bytes that the schema doesn't allow.
    #[error("{0}")]
    Damaged(&'static str),
    /// Reading failed.
    #[error(transparent)]
    Io(io::Error),
}

impl From<io::Error> for AvroError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof { AvroError::Cut } else { AvroError::Io(error) }
    }
}

#[derive(Debug, PartialEq)]
enum Type {
    Null,
    Boolean,
    /// `int` or `long`, which have the same encoding.
    Whole,
    Float,
    Double,
    Bytes,
    Text,
    Fixed(u64),
    Enum(Vec<Box<str>>),
    Array(usize),
    Map(usize),
    /// The branches: each has the name that Avro's JSON gives it, and the index of its type.
    Union(Vec<(Box<str>, usize)>),
    Record(Vec<Field>),
    /// A named type whose definition is still being parsed.
    Pending,
}

#[derive(Debug, PartialEq)]
struct Field {
    name: Box<str>,
    kind: usize,
    used: bool,
}

/// A parsed schema. Types refer to each other by index.
#[derive(Debug)]
pub(super) struct Schema {
    types: Vec<Type>,
    root: usize,
}

impl Schema {
    /// Parses a schema; `None` if it is invalid.
    pub(super) fn parse(json: &[u8]) -> Option<Schema> {
        let json: Value = serde_json::from_slice(json).ok()?;
        let mut parser = Parser { types: Vec::new(), names: FxHashMap::default() };
        let root = parser.kind(&json, "")?;
        Some(Schema { types: parser.types, root })
    }
}

struct Parser {
    types: Vec<Type>,
    names: FxHashMap<String, usize>,
}

impl Parser {
    fn add(&mut self, kind: Type) -> usize {
        self.types.push(kind);
        self.types.len() - 1
    }

    fn kind(&mut self, json: &Value, namespace: &str) -> Option<usize> {
        match json {
            Value::String(name) => self.named(name, namespace),
            Value::Array(branches) => {
                let mut of = Vec::with_capacity(branches.len());
                for branch in branches {
                    let index = self.kind(branch, namespace)?;
                    of.push((self.branch_name(branch, index, namespace), index));
                }
                Some(self.add(Type::Union(of)))
            }
            Value::Object(object) => self.defined(object, namespace),
            _ => None,
        }
    }

    fn named(&mut self, name: &str, namespace: &str) -> Option<usize> {
        let primitive = match name {
            "null" => Type::Null,
            "boolean" => Type::Boolean,
            "int" | "long" => Type::Whole,
            "float" => Type::Float,
            "double" => Type::Double,
            "bytes" => Type::Bytes,
            "string" => Type::Text,
            _ => return self.names.get(&full_name(name, namespace)).or_else(|| self.names.get(name)).copied(),
        };
        Some(self.add(primitive))
    }

    fn defined(&mut self, object: &Map<String, Value>, namespace: &str) -> Option<usize> {
        let kind = object.get("type")?;
        let Value::String(kind_name) = kind else {
            return self.kind(kind, namespace);
        };
        match kind_name.as_str() {
            "array" => {
                let items = self.kind(object.get("items")?, namespace)?;
                Some(self.add(Type::Array(items)))
            }
            "map" => {
                let values = self.kind(object.get("values")?, namespace)?;
                Some(self.add(Type::Map(values)))
            }
            "enum" | "fixed" | "record" | "error" => {
                let name = object.get("name")?.as_str()?;
                let namespace = object.get("namespace").and_then(Value::as_str).unwrap_or(namespace);
                let name = full_name(name, namespace);
                let namespace = name.rsplit_once('.').map_or("", |(space, _)| space).to_owned();
                let index = self.add(Type::Pending);
                self.names.insert(name, index);
                self.types[index] = match kind_name.as_str() {
                    "enum" => {
                        let symbols = object.get("symbols")?.as_array()?.iter();
                        Type::Enum(symbols.map(|symbol| symbol.as_str().unwrap_or("").into()).collect())
                    }
                    "fixed" => Type::Fixed(object.get("size")?.as_u64()?),
                    _ => {
                        let mut fields = Vec::new();
                        for field in object.get("fields")?.as_array()? {
                            let name = field.get("name")?.as_str()?;
                            let kind = self.kind(field.get("type")?, &namespace)?;
                            fields.push(Field { name: name.into(), kind, used: !UNUSED.contains(&name) });
                        }
                        Type::Record(fields)
                    }
                };
                Some(index)
            }
            other => self.named(other, namespace),
        }
    }

    /// Returns the name that Avro's JSON gives to a branch of a union.
    fn branch_name(&self, branch: &Value, index: usize, namespace: &str) -> Box<str> {
        let name = match branch {
            Value::Object(object) => object.get("name").or_else(|| object.get("type")),
            other => Some(other),
        };
        let name = name.and_then(Value::as_str).unwrap_or("");
        let of_its_own = matches!(self.types[index], Type::Record(_) | Type::Enum(_) | Type::Fixed(_) | Type::Pending);
        if of_its_own { full_name(name, namespace).into() } else { name.into() }
    }
}

fn full_name(name: &str, namespace: &str) -> String {
    if namespace.is_empty() || name.contains('.') { name.to_owned() } else { format!("{namespace}.{name}") }
}

/// Decodes one value after the other.
pub(super) struct Decoder<R> {
    reader: R,
    position: u64,
    /// The number of values that the event may still have.
    left: u64,
}

impl<R: Read> Decoder<R> {
    pub(super) fn new(reader: R) -> Self {
        Decoder { reader, position: 0, left: 0 }
    }

    /// Returns the reader from which the values are decoded.
    pub(super) fn reader(&self) -> &R {
        &self.reader
    }

    /// Returns the number of bytes decoded so far.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Decodes the next value of the schema's type; `None` if the log ends before it.
    pub(super) fn next(&mut self, schema: &Schema) -> Result<Option<Value>, AvroError> {
        let before = self.position;
        self.left = MOST_VALUES;
        match self.value(schema, schema.root, true, 0) {
            Ok(_) if self.position == before => Err(AvroError::Damaged("the schema describes empty events")),
            Ok(value) => Ok(Some(value)),
            Err(AvroError::Cut) if self.position == before => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn byte(&mut self) -> Result<u8, AvroError> {
        let mut byte = [0];
        self.reader.read_exact(&mut byte)?;
        self.position += 1;
        Ok(byte[0])
    }

    /// Decodes a whole number: zigzag encoding, seven bits per byte, least significant first.
    fn long(&mut self) -> Result<i64, AvroError> {
        let mut bits = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            bits |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok((bits >> 1) as i64 ^ -((bits & 1) as i64));
            }
        }
        Err(AvroError::Damaged("a number has too many bytes"))
    }

    /// Reads `length` bytes. Returns them if `used`; otherwise discards them and returns nothing.
    fn bytes(&mut self, length: u64, used: bool) -> Result<Vec<u8>, AvroError> {
        if length > LONGEST {
            return Err(AvroError::Damaged("a text is too long"));
        }
        let mut taken = (&mut self.reader).take(length);
        let mut bytes = Vec::new();
        let read = if used { taken.read_to_end(&mut bytes)? as u64 } else { io::copy(&mut taken, &mut io::sink())? };
        self.position += read;
        if read < length { Err(AvroError::Cut) } else { Ok(bytes) }
    }

    fn text(&mut self, used: bool) -> Result<String, AvroError> {
        let length = u64::try_from(self.long()?).map_err(|_| AvroError::Damaged("a text has a negative length"))?;
        let bytes = self.bytes(length, used)?;
        Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// Decodes a value; returns null if it is not `used`.
    fn value(&mut self, schema: &Schema, kind: usize, used: bool, depth: u32) -> Result<Value, AvroError> {
        self.left = self.left.checked_sub(1).ok_or(AvroError::Damaged("an event has too many values"))?;
        if depth > DEEPEST {
            return Err(AvroError::Damaged("values are nested too deep"));
        }
        let deeper = depth + 1;
        Ok(match &schema.types[kind] {
            Type::Null => Value::Null,
            Type::Boolean => Value::Bool(self.byte()? != 0),
            Type::Whole => self.long()?.into(),
            Type::Float => {
                let mut bits = [0; 4];
                bits.copy_from_slice(&self.bytes(4, true)?);
                f64::from(f32::from_le_bytes(bits)).into()
            }
            Type::Double => {
                let mut bits = [0; 8];
                bits.copy_from_slice(&self.bytes(8, true)?);
                f64::from_le_bytes(bits).into()
            }
            Type::Bytes | Type::Text => Value::String(self.text(used)?),
            Type::Fixed(size) => {
                self.bytes(*size, false)?;
                Value::Null
            }
            Type::Enum(symbols) => {
                let index = usize::try_from(self.long()?).ok();
                let symbol = index.and_then(|index| symbols.get(index));
                Value::String(symbol.ok_or(AvroError::Damaged("a symbol is not in its enumeration"))?.to_string())
            }
            Type::Array(items) => {
                let mut all = Vec::new();
                while let Some(count) = self.block()? {
                    for _ in 0..count {
                        let item = self.value(schema, *items, used, deeper)?;
                        if used {
                            all.push(item);
                        }
                    }
                }
                Value::Array(all)
            }
            Type::Map(values) => {
                let mut all = Map::new();
                while let Some(count) = self.block()? {
                    for _ in 0..count {
                        let key = self.text(used)?;
                        let value = self.value(schema, *values, used, deeper)?;
                        if used {
                            all.insert(key, value);
                        }
                    }
                }
                Value::Object(all)
            }
            Type::Union(branches) => {
                let index = usize::try_from(self.long()?).ok();
                let branch = index.and_then(|index| branches.get(index));
                let (name, kind) = branch.ok_or(AvroError::Damaged("a union has no such branch"))?;
                let value = self.value(schema, *kind, used, deeper)?;
                match &schema.types[*kind] {
                    Type::Null => Value::Null,
                    _ if used => Value::Object(Map::from_iter([(name.to_string(), value)])),
                    _ => Value::Null,
                }
            }
            Type::Record(fields) => {
                let mut all = Map::new();
                for field in fields {
                    let used = used && field.used;
                    let value = self.value(schema, field.kind, used, deeper)?;
                    if used {
                        all.insert(field.name.to_string(), value);
                    }
                }
                Value::Object(all)
            }
            Type::Pending => return Err(AvroError::Damaged("its schema is incomplete")),
        })
    }

    /// Returns the number of items that follow in an array or map; `None` at the end of the array or map.
    fn block(&mut self) -> Result<Option<u64>, AvroError> {
        let count = self.long()?;
        if count < 0 {
            // A negative count is followed by the block's size in bytes, for readers that skip the block.
            self.long()?;
        }
        Ok((count != 0).then_some(count.unsigned_abs()))
    }
}
