//! Compares the JSON schema of policies with the program: both must accept the same policy tables. A policy table, as in
//! a scenario file, has the name of a policy and keys for parameters.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use hindmost_policies::catalogue::spec::PolicySpec;
use hindmost_policies::catalogue::{self, ORDERS, OrderEntry, SYSTEMS, SystemEntry};
use hindmost_policies::parameters::{ParameterEntry, Value};
use proptest::prelude::*;
use regex::Regex;
use serde_json::{Value as Json, json};

/// The keys of a policy table except `name`, with their values.
type Keys = BTreeMap<String, Json>;

/// One condition of the schema: if the first pattern matches the policy's name, the second pattern must match it too,
/// and the keys of the map are allowed.
struct Condition(Regex, Regex, serde_json::Map<String, Json>);

/// The parts of the JSON schema that these tests evaluate.
struct Schema {
    /// The pattern that every policy's name must match.
    name: Regex,
    conditions: Vec<Condition>,
}

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let schema = catalogue::schema();
    let pattern = |name: &Json| Regex::new(name["pattern"].as_str().unwrap()).unwrap();
    let condition = |entry: &Json| {
        let then = entry["then"]["properties"].as_object().unwrap().clone();
        Condition(pattern(&entry["if"]["properties"]["name"]), pattern(&then["name"]), then)
    };
    let conditions = schema["allOf"].as_array().unwrap().iter().map(condition).collect();
    Schema { name: pattern(&schema["properties"]["name"]), conditions }
});

/// Returns true if a value has the type and the range that a property of the schema prescribes.
fn is_valid(property: &Json, value: &Json) -> bool {
    if let Some(others) = property["anyOf"].as_array() {
        return others.iter().any(|other| is_valid(other, value));
    }
    if let Some(words) = property["enum"].as_array() {
        return words.contains(value);
    }
    if !property["const"].is_null() {
        return property["const"] == *value;
    }
    if property["type"] == "boolean" {
        return value.is_boolean();
    }
    let Some(number) = value.as_f64() else { return false };
    let bound = |key: &str| property[key].as_f64();
    (property["type"] == "number" || number.fract() == 0.0)
        && bound("minimum").is_none_or(|least| number >= least)
        && bound("exclusiveMinimum").is_none_or(|least| number > least)
        && bound("maximum").is_none_or(|most| number <= most)
        && bound("exclusiveMaximum").is_none_or(|most| number < most)
}

/// Returns true if the schema accepts a policy table.
fn schema_accepts(name: &str, keys: &Keys) -> bool {
    let met: Vec<&Condition> = SCHEMA.conditions.iter().filter(|condition| condition.0.is_match(name)).collect();
    SCHEMA.name.is_match(name)
        && met.iter().all(|condition| condition.1.is_match(name))
        && keys.iter().all(|(key, value)| {
            let mut properties = met.iter().filter_map(|condition| condition.2.get(key)).peekable();
            properties.peek().is_some() && properties.all(|property| is_valid(property, value))
        })
}

/// Returns true if the program accepts a policy table. No parameter may be both in `name` and in `keys`.
fn program_accepts(name: &str, keys: &Keys) -> bool {
    let Ok(mut spec) = name.parse::<PolicySpec>() else { return false };
    for (key, value) in keys {
        let value = match value {
            Json::Bool(on) => Value::Switch(*on),
            Json::Number(number) => Value::Number(number.as_f64().unwrap()),
            Json::String(word) => Value::Word(word.clone().into()),
            _ => return false,
        };
        spec.parameters.insert(key.clone(), value);
    }
    catalogue::check(&spec).is_ok()
}

/// Returns the names of all systems and orders.
fn names() -> Vec<&'static str> {
    SYSTEMS.iter().map(|system| system.name).chain(ORDERS.iter().map(|order| order.name)).collect()
}

/// Returns the parameters of all systems and orders.
fn entries() -> Vec<&'static ParameterEntry> {
    let systems = SYSTEMS.iter().flat_map(SystemEntry::parameters);
    systems.chain(ORDERS.iter().flat_map(OrderEntry::parameters)).collect()
}

/// Returns the parameters of the system and of the order with this name.
fn entries_of(owner: &str) -> impl Iterator<Item = &'static ParameterEntry> {
    let systems = SYSTEMS.iter().filter(move |system| system.name == owner).flat_map(SystemEntry::parameters);
    let orders = ORDERS.iter().filter(move |order| order.name == owner).flat_map(OrderEntry::parameters);
    systems.chain(orders)
}

fn as_json(value: &Value) -> Json {
    match value {
        Value::Switch(on) => json!(on),
        Value::Number(number) => json!(number),
        Value::Word(word) => json!(word),
    }
}

#[test]
fn schema_and_program_agree_on_chosen_tables() {
    let no = Keys::new();
    let key = |name: &str, value: Json| Keys::from([(name.to_owned(), value)]);
    for (name, keys, accepted) in [
        ("svf + none", &no, true),
        ("sca (max_copies=8)", &no, true),
        ("  sca( max_copies = 8 ) ", &no, true),
        ("sca( )", &no, true),
        ("none()", &no, true),
        ("tetris(epsilon=1e+2)+mantri(delta=0.5)", &no, true),
        ("dollymp(slot=2)", &no, true),
        ("dollymp+none", &no, true),
        ("dollymp", &key("slot", json!(2)), true),
        ("fair+dollymp", &key("slot", json!(2)), false),
        ("dollymp+dollymp", &key("slot", json!(2)), false),
        ("fair+dollymp(slot=2)", &no, false),
        ("dollymp(slot=2)+dollymp", &no, true),
        ("sca(a)(b)", &no, false),
        ("sca()()", &no, false),
        ("fair(+)+none", &no, false),
        ("none(+)", &no, false),
        ("fair(a=1)+none", &no, false),
        ("svf(max_copies=3)", &no, false),
        ("sca(max_copies)", &no, false),
        ("sca(max_copies=8,)", &no, false),
        ("sca(max_copies=a b)", &no, false),
        ("s ca", &no, false),
        ("sca+mantri", &no, false),
        ("fair+fair+none", &no, false),
        ("fair+svf", &no, false),
        ("", &no, false),
        ("sca", &key("name_of", json!(1)), false),
        ("sca", &key("max_copies", json!("8")), false),
        ("sca", &key("max_copies", json!([8])), false),
    ] {
        assert_eq!(program_accepts(name, keys), accepted, "program: {name:?}, {keys:?}");
        assert_eq!(schema_accepts(name, keys), accepted, "schema: {name:?}, {keys:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hindmost_testing::cases(4000, 40000)))]

    /// Parameters in the parentheses of the name have valid values, because the schema does not check these values.
    #[test]
    fn schema_and_program_agree_on_random_tables(
        order in proptest::option::weighted(0.5, proptest::sample::select(names())),
        rule in proptest::sample::select(names()),
        inside in proptest::collection::btree_map(0..entries().len(), any::<bool>(), 0..3),
        beside in proptest::option::weighted(0.4, proptest::sample::select((0..entries().len()).collect::<Vec<_>>())),
        value in proptest::sample::select(vec![json!(true), json!(0), json!(0.5), json!(1), json!(8), json!(-1), json!(1e300), json!("none"), json!("optimal"), json!([1])]),
        by_default in any::<bool>(),
        gaps in proptest::collection::vec(proptest::sample::select(vec!["", "", "", " ", "\t "]), 6),
        slip in proptest::option::weighted(0.2, (any::<proptest::sample::Index>(), proptest::sample::select(vec!["", "(", ")", "+", "=", ",", " ", "x", "()"]))),
    ) {
        let entries = entries();
        let list = |of_order: bool, owner: &str| {
            let own: Vec<&ParameterEntry> = entries_of(owner).collect();
            let chosen = inside.iter().filter(|(_, order)| **order == of_order).map(|(at, _)| match own[..] {
                // Half of the time, choose a parameter that the owner has.
                [_, ..] if at % 2 == 0 => own[at % own.len()],
                _ => own.iter().find(|one| one.name == entries[*at].name).copied().unwrap_or(entries[*at]),
            });
            let mut given: Vec<&ParameterEntry> = chosen.collect();
            given.sort_by_key(|entry| entry.name);
            given.dedup_by_key(|entry| entry.name);
            let written = given.iter().map(|entry| format!("{}{}={}{}", gaps[0], entry.name, gaps[1], entry.default));
            let written = written.collect::<Vec<_>>().join(",");
            if written.is_empty() { String::new() } else { format!("{}({written}{}){}", gaps[2], gaps[3], gaps[4]) }
        };
        let before = order.map_or_else(String::new, |order| format!("{}{order}{}{}+", gaps[4], list(true, order), gaps[0]));
        let mut name = format!("{before}{}{rule}{}{}", gaps[5], list(false, rule), gaps[3]);
        if let Some((at, put)) = &slip {
            let at = at.index(name.len());
            name.replace_range(at..=at, put);
        }
        let mut keys = Keys::new();
        if let Some(at) = beside.filter(|at| !name.contains(entries[*at].name)) {
            let given = if by_default { as_json(&entries[at].default) } else { value };
            keys.insert(entries[at].name.to_owned(), given);
        }
        let (program, schema) = (program_accepts(&name, &keys), schema_accepts(&name, &keys));
        prop_assert!(schema || !program, "the schema refuses {name:?}, {keys:?}");
        // A slip may make a value in parentheses invalid, or turn a parameter's name into another parameter's name. The
        // schema does not notice either.
        // Nor does it notice that a value is too small for another one, as chronos' tau_kill for tau_est.
        let depends = keys.contains_key("tau_est") || keys.contains_key("tau_kill");
        prop_assert!(program || !schema || slip.is_some() || depends, "the program refuses {name:?}, {keys:?}");
    }
}
