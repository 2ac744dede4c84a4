//! Tests of the error messages for invalid job files.

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
    let long = "x".repeat(100_001);
    let long_name = format!("name = \"{}\"", "n".repeat(201));
    let mut unexpected = Vec::new();
    for (from, to, expected) in [
        // Keys that are unknown or missing.
        ("policy =", "polcy =", "line 2, column 1: there is no key \"polcy\"; did you mean \"policy\"?"),
        ("retries", "retrys", "line 27, column 1: there is no key \"retrys\"; did you mean \"retries\"?"),
        ("[[phase]]", "[[phases]]", "line 10, column 3: there is no key \"phases\"; did you mean \"phase\"?"),
        ("name = \"map\"\n", "", "line 17, column 1: this phase has no name"),
        (
            "tasks = 3\ncommand",
            "tasks = 3\ncomand",
            "line 14, column 1: there is no key \"comand\"; did you mean \"command\"?",
        ),
        // Values of the wrong type.
        ("priority = 2", "priority = \"high\"", "line 6, column 12: invalid type: string \"high\", expected a number"),
        ("tasks = 3", "tasks = 2.5", "line 13, column 9: invalid type: floating point `2.5`, expected a whole number"),
        ("name = \"map\"", "name = 1", "line 18, column 8: invalid type: integer `1`, expected a text, in quotes"),
        (
            "after = [\"map\"]",
            "after = \"map\"",
            "line 12, column 9: invalid type: string \"map\", expected a list, in brackets",
        ),
        (
            "idempotent = false",
            "idempotent = 0",
            "line 15, column 14: invalid type: integer `0`, expected true or false",
        ),
        ("DEPTH = \"1\"", "DEPTH = 1", "line 7, column 39: invalid type: integer `1`, expected a text, in quotes"),
        (
            "memory = \"256MB\"",
            "memory = 256",
            "line 26, column 10: `256` is not valid here, expected a size: a text with a unit, such as \"256MB\" or \"2GB\"",
        ),
        (
            "\"90s\"",
            "true",
            "line 28, column 14: `true` is not valid here, expected a time: a number of seconds, or a text with a unit such as \
             \"90s\", \"5m\" or \"2h\"",
        ),
        (
            "\"text/*.txt\"",
            "3",
            "line 19, column 10: `3` is not valid here, expected a pattern such as \"text/*.txt\", or a list of patterns",
        ),
        (
            "{ LC_ALL = \"C\", DEPTH = \"1\" }",
            "\"LC_ALL=C\"",
            "line 7, column 15: invalid type: string \"LC_ALL=C\", expected a table",
        ),
        // Values of the job that are not valid.
        ("\"wordcount\"", "\"\"", "line 1, column 8: name: \"\" must not be blank"),
        ("\"wordcount\"", "\"a/b\"", "line 1, column 8: name: \"a/b\" is a folder's name, so it may not contain /"),
        ("\"wordcount\"", "\"a\\nb\"", "line 1, column 8: name: \"a\\nb\" must not contain control characters"),
        (
            "name = \"wordcount\"",
            &long_name,
            "line 1, column 8: name: a name of 201 bytes is too long, at most 200 are possible",
        ),
        (
            "fair+mantri",
            "fair+mantra",
            "line 2, column 10: policy: no policy is called \"mantra\"; did you mean \"mantri\"?",
        ),
        (
            "delta=0.5",
            "delta=2",
            "line 2, column 10: policy: mantri: delta is 2, but must be a number from 0 to below 1",
        ),
        ("progress(0.1)", "progres(0.1)", "line 3, column 13: knowledge: \"progres(0.1)\" is not a progress model"),
        ("n1:2,n2:2", " ", "line 4, column 9: nodes is empty: give names and cpus, \"n1:2,n2:2\""),
        (
            "\"1h30m\"",
            "\"soon\"",
            "line 5, column 12: deadline: \"soon\" is not a time: give a number and a unit, such as \"90s\", \"5m\" or \"2h\"",
        ),
        ("\"1h30m\"", "\"90\"", "line 5, column 12: deadline: \"90\" is not a time: give a number and a unit"),
        ("\"1h30m\"", "\"-5m\"", "line 5, column 12: deadline: \"-5m\" is not a time"),
        ("\"1h30m\"", "0", "line 5, column 12: deadline is 0, but must be from 0.001 to 1000000000 seconds"),
        ("\"1h30m\"", "nan", "line 5, column 12: deadline is NaN, but must be from 0.001 to 1000000000 seconds"),
        ("\"1h30m\"", "1e300", "line 5, column 12: deadline is 1e300, but must be from 0.001 to 1000000000 seconds"),
        ("\"1h30m\"", "inf", "line 5, column 12: deadline is inf, but must be from 0.001 to 1000000000 seconds"),
        ("priority = 2", "priority = 0", "line 6, column 12: priority is 0, but must be a number above 0"),
        ("priority = 2", "priority = -inf", "line 6, column 12: priority is -inf, but must be a number above 0"),
        ("priority = 2", "priority = nan", "line 6, column 12: priority is NaN, but must be a number above 0"),
        ("LC_ALL =", "\"\" =", "line 7, column 15: environment: a variable's name may not be empty"),
        (
            "LC_ALL =",
            "\"A=B\" =",
            "line 7, column 15: environment: \"A=B\" is not a valid variable name: it may not contain = or NUL",
        ),
        (
            "\"C\"",
            "\"a\\u0000b\"",
            "line 7, column 15: environment: the value of \"LC_ALL\" contains the character NUL, which can't be passed to a program",
        ),
        (
            "directory = \"text\"",
            "directory = \"texts\"",
            "line 8, column 13: directory: FOLDER/texts: No such file or directory (os error 2)",
        ),
        ("directory = \"text\"", "directory = \"file\"", "line 8, column 13: directory: FOLDER/file is not a folder"),
        // Values of phases that are not valid.
        (
            "\"reduce\"",
            "\".\"",
            "line 11, column 8: a phase's name: \".\" is a folder's name, so it may not begin with a dot",
        ),
        (
            "\"reduce\"",
            "\"..\"",
            "line 11, column 8: a phase's name: \"..\" is a folder's name, so it may not begin with a dot",
        ),
        (
            "\"reduce\"",
            "\".hindmost\"",
            "line 11, column 8: a phase's name: \".hindmost\" is a folder's name, so it may not begin with a dot",
        ),
        (
            "\"reduce\"",
            "\"a/b\"",
            "line 11, column 8: a phase's name: \"a/b\" is a folder's name, so it may not contain /",
        ),
        (
            "\"reduce\"",
            "\"a\\u0000\"",
            "line 11, column 8: a phase's name: \"a\\0\" must not contain control characters",
        ),
        ("\"reduce\"", "\" \"", "line 11, column 8: a phase's name: \" \" must not be blank"),
        (
            "name = \"reduce\"",
            &long_name,
            "line 11, column 8: a phase's name: a name of 201 bytes is too long, at most 200 are possible",
        ),
        ("\"reduce\"", "\"map\"", "line 18, column 8: two phases are called \"map\""),
        (
            "[\"map\"]",
            "[\"map\", \"mop\"]",
            "line 12, column 17: phase \"reduce\" comes after \"mop\", which is not a phase of the job; did you mean \"map\"?",
        ),
        (
            "[\"map\"]",
            "[\"reducer\"]",
            "line 12, column 10: phase \"reduce\" comes after \"reducer\", which is not a phase of the job",
        ),
        (
            "[\"map\"]",
            "[\"reduce\"]",
            "line 11, column 8: phases come after each other in a circle: \"reduce\" after \"reduce\"",
        ),
        (
            "cpus = 0.5",
            "after = [\"reduce\"]",
            "line 11, column 8: phases come after each other in a circle: \"reduce\" after \"map\" after \"reduce\"",
        ),
        (
            "tasks = 3\n",
            "",
            "line 10, column 1: phase \"reduce\": it has neither tasks nor inputs nor a matrix; give tasks = N, inputs = \
             \"PATTERN\" or matrix = { NAME = [VALUES] }",
        ),
        (
            "tasks = 3\n",
            "tasks = 3\ninputs = \"text/*\"\n",
            "line 14, column 10: phase \"reduce\": it has both tasks and inputs; give one of them: each input is a task",
        ),
        ("tasks = 3", "tasks = 0", "line 13, column 9: phase \"reduce\": tasks is 0, but must be from 1 to 10000000"),
        (
            "tasks = 3",
            "tasks = 1e300",
            "line 13, column 9: invalid type: floating point `1e300`, expected a whole number",
        ),
        ("tasks = 3", "tasks = -1", "line 13, column 9: phase \"reduce\": tasks is -1, but must be from 1 to 10000000"),
        (
            "tasks = 3",
            "tasks = 10000001",
            "line 13, column 9: phase \"reduce\": tasks is 10000001, but must be from 1 to 10000000",
        ),
        (
            "tasks = 3",
            "tasks = 4294967297",
            "line 13, column 9: phase \"reduce\": tasks is 4294967297, but must be from 1 to 10000000",
        ),
        ("\"cat ", "\" \\n\"#", "line 14, column 11: phase \"reduce\": its command is empty"),
        (
            "\"cat ",
            "\"cat\\u0000",
            "line 14, column 11: phase \"reduce\": its command contains the character NUL, which can't be passed to a program",
        ),
        ("\"cat ", &format!("\"{long}"), "line 14, column 11: phase \"reduce\": its command has"),
        ("\"cat ", &format!("\"{long}"), "at most 100000 can be passed to a program: put it into a file"),
        (
            "cpus = 0.5",
            "cpus = 0",
            "line 25, column 8: phase \"map\": cpus is 0, but must be a number from 0.001 to 1000000",
        ),
        (
            "cpus = 0.5",
            "cpus = -1",
            "line 25, column 8: phase \"map\": cpus is -1, but must be a number from 0.001 to 1000000",
        ),
        (
            "cpus = 0.5",
            "cpus = nan",
            "line 25, column 8: phase \"map\": cpus is NaN, but must be a number from 0.001 to 1000000",
        ),
        (
            "cpus = 0.5",
            "cpus = inf",
            "line 25, column 8: phase \"map\": cpus is inf, but must be a number from 0.001 to 1000000",
        ),
        (
            "cpus = 0.5",
            "cpus = 0.0001",
            "line 25, column 8: phase \"map\": cpus is 0.0001, but must be a number from 0.001 to 1000000",
        ),
        (
            "\"256MB\"",
            "\"256\"",
            "line 26, column 10: phase \"map\": memory: \"256\" is not a size: give a number and a unit, such as \"48GB\" or \"512MB\"",
        ),
        ("\"256MB\"", "\"-1MB\"", "line 26, column 10: phase \"map\": memory: \"-1MB\" is not a size"),
        ("\"256MB\"", "\"0MB\"", "line 26, column 10: phase \"map\": memory is \"0MB\", but must be above 0"),
        (
            "retries = 5",
            "retries = -1",
            "line 27, column 11: phase \"map\": retries is -1, but must be from 0 to 1000000",
        ),
        (
            "retries = 5",
            "retries = 5000000000",
            "line 27, column 11: phase \"map\": retries is 5000000000, but must be from 0 to 1000000",
        ),
        ("\"90s\"", "\"90 x\"", "line 28, column 14: phase \"map\": time_limit: \"90 x\" is not a time"),
        (
            "\"90s\"",
            "-90",
            "line 28, column 14: phase \"map\": time_limit is -90, but must be from 0.001 to 1000000000 seconds",
        ),
        (
            "\"90s\"",
            "\"0s\"",
            "line 28, column 14: phase \"map\": time_limit is \"0s\", but must be from 0.001 to 1000000000 seconds",
        ),
        (
            "OTHER =",
            "HINDMOST_TASK =",
            "line 29, column 15: phase \"map\": environment: \"HINDMOST_TASK\" can't be set: names that begin with HINDMOST_ \
             are reserved for Hindmost",
        ),
        (
            "directory = \".\"",
            "directory = \"no\"",
            "line 30, column 13: phase \"map\": directory: FOLDER/no: No such file or directory (os error 2)",
        ),
        // Patterns of input files that are not valid or match nothing.
        (
            "text/*.txt",
            "text/*.text",
            "line 19, column 10: phase \"map\": inputs: \"text/*.text\" matches no file in FOLDER",
        ),
        (
            "text/*.txt",
            "/no/such/*.txt",
            "line 19, column 10: phase \"map\": inputs: \"/no/such/*.txt\" matches no file",
        ),
        (
            "text/*.txt",
            "text",
            "line 19, column 10: phase \"map\": inputs: \"text\" matches no file in FOLDER, only folders; for the files in \
             them write \"text/*\"",
        ),
        (
            "text/*.txt",
            "text/[a",
            "line 19, column 10: phase \"map\": inputs: \"text/[a\" is not a valid pattern: invalid range pattern in \"[a\"",
        ),
        (
            "text/*.txt",
            "text/**.txt",
            "line 19, column 10: phase \"map\": inputs: \"text/**.txt\" is not a valid pattern: recursive wildcards must form \
             a single path component in \"**.txt\"",
        ),
        (
            "text/*.txt",
            " ",
            "line 19, column 10: phase \"map\": inputs: \" \" is not a valid pattern: give one such as \"text/*.txt\"",
        ),
        (
            "text/*.txt",
            "a\\u0000",
            "line 19, column 10: phase \"map\": inputs: \"a\\0\" contains the character NUL, which file names can't contain",
        ),
        (
            "\"text/*.txt\"",
            "[]",
            "line 19, column 10: phase \"map\": inputs is an empty list: give a pattern such as \"text/*.txt\"",
        ),
        (
            "\"text/*.txt\"",
            "[\"text/*.txt\", \"x*\"]",
            "line 19, column 10: phase \"map\": inputs: \"x*\" matches no file in FOLDER",
        ),
        // Texts that are not TOML.
        ("[[phase]]", "[[phase", "line 10, column 8: unclosed array table, expected `]]`"),
        ("name = \"wordcount\"", "name = wordcount", "line 1, column 8: "),
        ("priority = 2", "priority = 2\npriority = 3", "line 7, column 1: duplicate key"),
    ] {
        let error = changed(from, to, folder.path());
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
