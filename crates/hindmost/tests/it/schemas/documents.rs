//! The documents that commands print with `--json`: docs/output.schema.json. Its definitions of the libraries' types are made from these
//! types. The others, of documents that a command assembles from several parts, are written in that file.

use hindmost_claims::{Ranking, Reproduction};
use hindmost_core::explain::Step;
use hindmost_core::metrics::{Comparison, Diagnosis, DiagnosisTotal, FailedTask, Findings, RunSummary};
use hindmost_core::schema::definitions_of;
use hindmost_core::verify::Verification;
use hindmost_profiles::ProfilesDocument;
use hindmost_run::live_view::Snapshot;
use hindmost_trace::TraceSummary;
use schemars::JsonSchema;
use serde_json::Value;

/// The file, in the project.
pub const FILE: &str = "docs/output.schema.json";

/// Counts and findings of a log.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only described")]
struct LogInfo {
    #[serde(flatten)]
    summary: TraceSummary,
    /// What the log shows about its stragglers.
    findings: Findings,
    /// What all applications of the log together spent their time on, and why their stragglers were slow.
    diagnosis: DiagnosisTotal,
}

/// Returns the schema of all documents: that of the file, with the current definitions of the libraries' types, and without
/// definitions that no document uses.
pub fn schema() -> Value {
    let text = std::fs::read_to_string(super::project(FILE)).unwrap();
    let mut schema: Value = serde_json::from_str(&text).unwrap();
    let definitions = schema["$defs"].as_object_mut().unwrap();
    definitions.extend(definitions_of(&[
        |types| types.subschema_for::<RunSummary>(),
        |types| types.subschema_for::<Snapshot>(),
        |types| types.subschema_for::<Comparison>(),
        |types| types.subschema_for::<Step>(),
        |types| types.subschema_for::<FailedTask>(),
        |types| types.subschema_for::<Verification>(),
        |types| types.subschema_for::<Reproduction>(),
        |types| types.subschema_for::<Ranking>(),
        |types| types.subschema_for::<LogInfo>(),
        |types| types.subschema_for::<TraceSummary>(),
        |types| types.subschema_for::<Diagnosis>(),
        |types| types.subschema_for::<ProfilesDocument>(),
    ]));
    let (mut used, mut unread) = (Vec::new(), referred_to(&schema["anyOf"]));
    while let Some(name) = unread.pop() {
        if !used.contains(&name) {
            unread.extend(referred_to(&schema["$defs"][&name]));
            used.push(name);
        }
    }
    let definitions = schema["$defs"].as_object_mut().unwrap();
    definitions.retain(|name, _| used.contains(name));
    schema
}

/// Returns the names of the commands' documents.
pub fn names() -> Vec<String> {
    referred_to(&schema()["anyOf"])
}

/// Returns the names of the definitions that a part of the schema refers to.
fn referred_to(part: &Value) -> Vec<String> {
    match part {
        Value::Object(entries) => {
            let own = entries.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix("#/$defs/"));
            own.map(str::to_owned).into_iter().chain(entries.values().flat_map(referred_to)).collect()
        }
        Value::Array(entries) => entries.iter().flat_map(referred_to).collect(),
        _ => Vec::new(),
    }
}
