//! Tests that the example jobs are valid and have a README.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::load;

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("job.toml").is_file())
        .collect();
    found.sort();
    found
}

#[test]
fn every_example_is_valid_and_named_after_its_folder() {
    let examples = examples();
    assert!(examples.len() >= 4, "{examples:?}");
    for folder in examples {
        let made = tempfile::tempdir().unwrap();
        let mut file = folder.join("job.toml");
        if folder.join("make-data").is_file() {
            let status = Command::new(folder.join("make-data")).arg(made.path()).arg("2").status();
            assert!(status.unwrap().success());
            std::fs::copy(&file, made.path().join("job.toml")).unwrap();
            file = made.path().join("job.toml");
        }
        let plan = load(&file).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(Some(plan.name.as_str()), folder.file_name().and_then(|name| name.to_str()));
        assert!(plan.phases.len() > 1 && plan.tasks() > 2, "{}", plan.describe());
        assert!(folder.join("README.md").is_file());
    }
}
