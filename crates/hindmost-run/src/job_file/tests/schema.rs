//! Tests that the JSON schema and the documentation agree with the code.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::schema;
use super::plan_of;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

#[test]
fn the_schema_in_the_documentation_is_up_to_date() {
    let current = format!("{:#}\n", schema());
    let file = docs().join("job.schema.json");
    if std::env::var_os("HINDMOST_UPDATE_DOCS").is_some() {
        std::fs::write(&file, &current).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == current,
        "docs/job.schema.json is not up to date; \
         HINDMOST_UPDATE_DOCS=1 cargo test -p hindmost-run schema_in_the_documentation writes it"
    );
}

/// Returns the keys of the job or of a phase.
fn properties(of: &str) -> serde_json::Map<String, Value> {
    schema().pointer(of).and_then(Value::as_object).unwrap().clone()
}

#[test]
fn every_key_has_a_description_and_is_in_the_documentation() {
    let text = std::fs::read_to_string(docs().join("jobs.md")).unwrap();
    for of in ["/properties", "/$defs/Phase/properties", "/$defs/Defaults/properties"] {
        let properties = properties(of);
        assert!(properties.len() >= 9, "{properties:?}");
        for (key, value) in properties {
            assert!(value.get("description").is_some(), "{key} has no description");
            assert!(text.contains(&format!("`{key}`")) || key == "phase", "docs/jobs.md does not describe {key}");
            assert!(!value.to_string().contains("null"), "{key}: TOML has no null");
        }
    }
}

#[test]
fn the_schema_names_required_keys() {
    let schema = schema();
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["required"], serde_json::json!(["phase"]));
    assert_eq!(schema["$defs"]["Phase"]["additionalProperties"], false);
    assert_eq!(schema["$defs"]["Phase"]["required"], serde_json::json!(["name", "command"]));
}

#[test]
fn the_job_files_in_the_documentation_are_valid() {
    // The documentation expects its readers in the folder of the repository, and makes a table of samples there.
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(docs().join("../examples").canonicalize().unwrap(), folder.path().join("examples"))
        .unwrap();
    std::fs::create_dir(folder.path().join("fastq")).unwrap();
    for (name, content) in [
        ("samples.csv", "sample,condition,mate,threads,hours\ns1,tumor,fastq/m1.fq,1,2\n"),
        ("genome.fa", ""),
        ("fastq/s1.fq", ""),
        ("fastq/m1.fq", ""),
    ] {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let text = std::fs::read_to_string(docs().join("jobs.md")).unwrap();
    let blocks: Vec<&str> = text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        plan_of(block, folder.path()).unwrap_or_else(|error| panic!("{error}\n{block}"));
    }
}
