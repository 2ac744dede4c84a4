//! Decodes Avro with small schemas.

use serde_json::{Value, json};

use super::super::avro::{Decoder, Schema};

fn decode(schema: &Value, bytes: &[u8]) -> Result<Option<Value>, String> {
    let schema = Schema::parse(schema.to_string().as_bytes()).ok_or("no schema")?;
    Decoder::new(bytes).next(&schema).map_err(|error| error.to_string())
}

#[test]
fn numbers_are_decoded_from_zigzag_in_groups_of_7_bits() {
    for (bytes, expected) in [
        (&[0][..], 0),
        (&[1], -1),
        (&[2], 1),
        (&[0x7f], -64),
        (&[0x80, 0x01], 64),
        (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], i64::MIN),
        (&[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], i64::MAX),
    ] {
        assert_eq!(decode(&json!("long"), bytes), Ok(Some(json!(expected))));
    }
    assert!(decode(&json!("long"), &[0xff; 11]).unwrap_err().contains("too many bytes"));
    assert_eq!(decode(&json!("int"), &[]), Ok(None));
    assert!(decode(&json!("int"), &[0x80]).unwrap_err().contains("ends"));
}

#[test]
fn all_types_are_decoded() {
    let schema = json!({"type": "record", "name": "R", "namespace": "a.b", "fields": [
        {"name": "flag", "type": "boolean"},
        {"name": "single", "type": "float"},
        {"name": "double", "type": "double"},
        {"name": "id", "type": {"type": "fixed", "name": "Two", "size": 2}},
        {"name": "kind", "type": {"type": "enum", "name": "E", "symbols": ["X", "Y"]}},
        {"name": "list", "type": {"type": "array", "items": {"type": "string"}}},
        {"name": "acls", "type": {"type": "map", "values": "string"}},
        {"name": "map", "type": {"type": "map", "values": "E"}},
        {"name": "next", "type": ["null", "R", "string"]},
        {"name": "after", "type": "int"},
    ]});
    let mut bytes = vec![1];
    bytes.extend(1.5f32.to_le_bytes());
    bytes.extend((-2.5f64).to_le_bytes());
    bytes.extend([9, 9, 2]);
    // `list` has two blocks of one string each. The second block states its size in bytes.
    bytes.extend([2, 2, b'p', 1, 4, 2, b'q', 0]);
    bytes.extend([2, 2, b'u', 2, b'v', 0]);
    bytes.extend([2, 2, b'k', 0, 0]);
    bytes.extend([4, 2, b's', 14]);
    assert_eq!(
        decode(&schema, &bytes),
        Ok(Some(json!({"flag": true, "single": 1.5, "double": -2.5, "id": null, "kind": "Y", "list": ["p", "q"],
            "map": {"k": "X"}, "next": {"string": "s"}, "after": 7})))
    );
    for cut in 1..bytes.len() {
        assert!(decode(&schema, &bytes[..cut]).is_err(), "{cut}");
    }
}

#[test]
fn damage_is_an_error_and_does_not_allocate_memory() {
    let array = |items: Value| json!({"type": "array", "items": items});
    // As a block count, these bytes state an array of 2^61 values; as a length, a text of 2^61 bytes.
    let many = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40];
    assert!(decode(&array(json!("null")), &many).unwrap_err().contains("too many values"));
    assert!(decode(&json!("string"), &many).unwrap_err().contains("too long"));
    assert!(decode(&json!("string"), &[1]).unwrap_err().contains("negative"));
    assert!(decode(&json!("string"), &[0x80, 0x80, 0x80, 0x01, b'x']).unwrap_err().contains("ends"));
    assert!(decode(&json!(["null", "int"]), &[4]).unwrap_err().contains("branch"));
    assert!(decode(&json!({"type": "enum", "name": "E", "symbols": []}), &[0]).unwrap_err().contains("symbol"));
    assert!(decode(&json!("null"), &[0]).unwrap_err().contains("empty"));
    let itself = json!({"type": "record", "name": "R", "fields": [{"name": "r", "type": "R"}]});
    assert!(decode(&itself, &[0; 99]).unwrap_err().contains("too deep"));
    for bad in [json!(1), json!("no such type"), json!({"type": "record", "name": "R"}), json!([null])] {
        assert_eq!(decode(&bad, &[0]), Err("no schema".to_owned()));
    }
}
