//! Tests of objects in a stream that is read in chunks of any size.

use super::super::objects::{Objects, TEXT};
use super::super::shape::{Item, Shape};
use crate::reading::testing::dripping;
use crate::reading::window::CHUNK;

fn all(log: &str, shape: Shape) -> Vec<(u64, String)> {
    let read = |drip| {
        let mut objects = Objects::new(dripping(log.as_bytes(), drip), shape);
        let mut all = Vec::new();
        while let Some((line, item)) = objects.next().unwrap() {
            let said = match item {
                Item::Text(text) => format!("text {}", String::from_utf8_lossy(text)),
                Item::Object(text) => String::from_utf8_lossy(text).into_owned(),
                Item::Task(list, text) => format!("{list:?} {}", String::from_utf8_lossy(text)),
                other => format!("{other:?}"),
            };
            all.push((line, said));
        }
        all
    };
    let whole = read(1 << 20);
    for drip in [1, 2, 3, 7] {
        assert_eq!(read(drip), whole, "{drip}");
    }
    whole
}

fn said(items: &[(u64, String)]) -> Vec<(u64, &str)> {
    items.iter().map(|(line, text)| (*line, text.as_str())).collect()
}

#[test]
fn events_are_found_between_blank_lines_and_text() {
    let log = "Avro-Json\n{\"type\":\"record\",\n \"x\":{}}\n\n {\"type\":\"A\",\"x\":\"}\\\"{\"}\r\nnoise\n{\"b\":1} {\"c\":2}";
    assert_eq!(
        said(&all(log, Shape::Events)),
        [
            (1, "text Avro-Json"),
            (2, "{\"type\":\"record\",\n \"x\":{}}"),
            (5, r#"{"type":"A","x":"}\"{"}"#),
            (6, "text noise"),
            (7, r#"{"b":1}"#),
            (7, r#"{"c":2}"#),
        ]
    );
    assert_eq!(all("", Shape::Events), []);
}

#[test]
fn only_an_incomplete_event_is_lost() {
    let log =
        "{\"type\":\"A\",\"x\":{\n\n{\"type\":\"B\"}\n{\"type\":\"C\",\"x\":\"half\n {\"type\":\"D\"}\n{\"type\":\"E\"";
    assert_eq!(
        said(&all(log, Shape::Events)),
        [(1, "Broken"), (3, r#"{"type":"B"}"#), (4, "Broken"), (5, r#"{"type":"D"}"#), (6, "Cut")]
    );
    // A line break within an event, as reformatting tools insert them.
    assert_eq!(all("{\"type\":\"A\",\n\"x\":{\"type\":\n\"B\"}}", Shape::Events).len(), 1);
    assert_eq!(said(&all("{\"type\":\"A\\", Shape::Events)), [(1, "Cut")]);
}

#[test]
fn tasks_of_a_job_are_returned_one_by_one() {
    let log = "{\n  \"priority\" : \"NORMAL\",\n  \"mapTasks\" : [ {\n    \"a\" : [ { } ]\n  }, {\"b\":\"]\"} ],\n  \"other\" \
               : [ {\"mapTasks\":[{}]} ],\n \"reduceTasks\":[],\"otherTasks\":[null,{\"c\":1}]\n}{\"jobID\":\"2\"}";
    assert_eq!(
        said(&all(log, Shape::Jobs)),
        [
            (1, "Maps {\n    \"a\" : [ { } ]\n  }"),
            (1, r#"Maps {"b":"]"}"#),
            (1, r#"Others {"c":1}"#),
            (
                1,
                "{\n  \"priority\" : \"NORMAL\",\n  \"mapTasks\" : [],\n  \"other\" : [ {\"mapTasks\":[{}]} ],\n \
                 \"reduceTasks\":[],\"otherTasks\":[]\n}"
            ),
            (8, r#"{"jobID":"2"}"#),
        ]
    );
}

#[test]
fn complete_tasks_of_an_incomplete_job_are_kept() {
    let log = "{\n  \"jobID\" : \"1\",\n  \"mapTasks\" : [ {\"a\":1}, {\"b\":\n{\n  \"jobID\" : \"2\"\n}\n{ \"jobID\":\"3\", \
               \"mapTasks\":[{\"c\":1},{";
    assert_eq!(
        said(&all(log, Shape::Jobs)),
        [(1, r#"Maps {"a":1}"#), (1, "Broken"), (4, "{\n  \"jobID\" : \"2\"\n}"), (7, r#"Maps {"c":1}"#), (7, "Cut"),]
    );
}

#[test]
fn long_texts_are_cut_and_long_objects_are_returned() {
    let filler = "x".repeat(3 * CHUNK);
    let log = format!("{filler}\n{{\"type\":\"A\",\"x\":\"{filler}\"}}\nend");
    let mut objects = Objects::new(dripping(log.as_bytes(), 1 << 20), Shape::Events);
    assert!(matches!(objects.next().unwrap(), Some((1, Item::Text(text))) if text.len() == TEXT));
    assert!(matches!(objects.next().unwrap(), Some((2, Item::Object(text))) if text.len() > filler.len()));
    assert_eq!(objects.next().unwrap(), Some((3, Item::Text(b"end"))));
    assert_eq!(objects.next().unwrap(), None);
}

#[test]
fn the_rest_of_the_stream_can_be_taken() {
    let mut objects = Objects::new(dripping(b"Avro-Binary\n{\"a\":1}\n\x02\x04", 1 << 20), Shape::Events);
    objects.next().unwrap();
    assert!(matches!(objects.next().unwrap(), Some((2, Item::Object(_)))));
    assert_eq!(objects.into_rest().0, b"\n\x02\x04");
}
