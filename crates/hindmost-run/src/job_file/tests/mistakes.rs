//! Tests of the error messages for invalid job files.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;

use super::super::parse;
use super::{VALID, plan_of, with_files};

/// Returns the error of the valid job file after one change of its text.
fn changed(from: &str, to: &str, folder: &Path) -> String {
    assert!(VALID.contains(from), "{from:?} is not in the valid job");
    plan_of(&VALID.replacen(from, to, 1), folder).err().unwrap_or_else(|| panic!("{to:?} was accepted"))
}

#[test]
fn errors_name_the_place_the_value_and_what_is_valid() {
    let folder = with_files();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let mistakes: BTreeMap<String, Vec<[String; 3]>> = toml::from_str(include_str!("mistakes.toml")).unwrap();
    let [long, long_name] = [("x", 100_001), ("n", 201)].map(|(letter, length)| letter.repeat(length));
    let mut unexpected = Vec::new();
    for [from, to, expected] in &mistakes["mistakes"] {
        let error = changed(from, &to.replace("LONG_NAME", &long_name).replace("LONG", &long), folder.path());
        assert!(error.starts_with("job.toml, line "), "{error}");
        if !error.contains(expected) {
            unexpected.push(format!("{to:?} gives\n{error:?}, not\n{expected:?}"));
        }
    }
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
}

#[test]
fn the_error_of_a_job_without_phases_shows_their_form() {
    let folder = tempfile::tempdir().unwrap();
    let none = "job.toml: the job has no phase; a phase begins with [[phase]] and has a name, tasks, inputs or a matrix, and a command";
    assert_eq!(plan_of("", folder.path()).unwrap_err(), none);
    assert_eq!(plan_of("name = \"j\"\nphase = []", folder.path()).unwrap_err(), none);
    let single = plan_of("[phase]\nname = \"p\"\ntasks = 1\ncommand = \"true\"", folder.path()).unwrap_err();
    let expected = "job.toml, line 1, column 1: invalid type: map, expected a list: a phase begins with [[phase]], in two brackets";
    assert_eq!(single, expected);
}

#[test]
fn a_file_with_an_unusable_name_needs_a_job_name() {
    let text = "[[phase]]\nname = \"p\"\ntasks = 1\ncommand = \"true\"";
    let error = parse(text, Path::new(".toml"), Path::new("/")).unwrap_err().to_string();
    let expected = ".toml: the job has no name, and its file's name can't be used (\".toml\" is a folder's name, so it may not \
                    begin with a dot): add name = \"…\"";
    assert_eq!(error, expected);
    assert_eq!(parse(&format!("name = \"j\"\n{text}"), Path::new(".toml"), Path::new("/")).unwrap().name, "j");
}

#[test]
fn columns_count_characters_not_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let error = plan_of("phase = [{ name = \"größe\", tasks = 0, command = \"x\" }]", folder.path()).unwrap_err();
    assert!(error.starts_with("job.toml, line 1, column 36: phase \"größe\": tasks is 0"), "{error}");
}

#[test]
fn deep_and_long_files_do_not_crash() {
    let folder = tempfile::tempdir().unwrap();
    assert!(plan_of(&format!("name = {}", "[".repeat(100_000)), folder.path()).is_err());
    assert!(plan_of(&format!("deadline = \"{}\"", "1s".repeat(100_000)), folder.path()).is_err());
    // Ten thousand phases that come after each other in a circle.
    let phase = |at: usize| {
        format!("[[phase]]\nname = \"{at}\"\ntasks = 1\ncommand = \"x\"\nafter = [\"{}\"]\n", (at + 1) % 10_000)
    };
    let text: String = (0..10_000).map(phase).collect();
    assert!(plan_of(&text, folder.path()).unwrap_err().contains("circle: \"0\" after \"1\" after"));
    assert_eq!(plan_of(&text.replacen("after = [\"1\"]", "", 1), folder.path()).unwrap().phases[1].name, "9999");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: hindmost_testing::cases(256, 2560), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>()) {
        let _ = parse(&text, Path::new("job.toml"), Path::new("/no/such"));
    }

    #[test]
    fn no_change_to_a_valid_job_makes_the_parser_panic(
        at in any::<prop::sample::Index>(),
        removed in 0usize..12,
        added in r#"[\[\]{}"'=.,#a-z0-9 \n*?é\u{0}-]{0,6}"#,
    ) {
        let mut text: Vec<char> = VALID.chars().collect();
        let from = at.index(text.len());
        let to = (from + removed).min(text.len());
        text.splice(from..to, added.chars());
        let text: String = text.into_iter().collect();
        if let Err(error) = parse(&text, Path::new("job.toml"), Path::new("/no/such")) {
            prop_assert!(error.to_string().starts_with("job.toml"));
        }
    }
}
