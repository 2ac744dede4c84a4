//! Mistakes in scenario files: a file of this folder lists changes of the valid scenario beside it, and what the errors must say.

use std::collections::BTreeMap;
use std::path::Path;

use hindmost_sim::scenario::Scenario;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mistakes {
    mistakes: Vec<Mistake>,
}

/// A change of the scenario: `from` is replaced by `to`, or keys are set as with `--set`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mistake {
    #[serde(default)]
    from: String,
    #[serde(default)]
    to: String,
    #[serde(default)]
    set: BTreeMap<String, String>,
    /// Parts of the error.
    says: Says,
    /// A length that the error must not reach.
    shorter_than: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Says {
    One(String),
    All(Vec<String>),
}

impl Says {
    fn parts(&self) -> &[String] {
        match self {
            Says::One(part) => std::slice::from_ref(part),
            Says::All(parts) => parts,
        }
    }
}

#[test]
fn errors_name_the_mistake_and_what_is_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/mistakes");
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let is_of_mistakes = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".toml") && !name.ends_with(".scenario.toml")
    };
    let mut tried = 0;
    for path in files.filter(is_of_mistakes) {
        let read =
            |path: &Path| std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let (text, scenario) = (read(&path), read(&path.with_extension("scenario.toml")));
        let parse = |text: &str, set: &[(String, String)]| {
            Scenario::parse(text, "s.toml", Path::new(""), set).map_err(|error| error.to_string())
        };
        parse(&scenario, &[]).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let Mistakes { mistakes } = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for mistake in mistakes {
            assert!(scenario.contains(&mistake.from), "{mistake:?}: there is no such text in the scenario");
            let set: Vec<(String, String)> = mistake.set.clone().into_iter().collect();
            let error =
                parse(&scenario.replacen(&mistake.from, &mistake.to, 1), &set).expect_err(&format!("{mistake:?}"));
            assert!(!set.is_empty() || error.starts_with("s.toml: "), "{mistake:?}: {error}");
            for part in mistake.says.parts() {
                assert!(error.contains(part), "{mistake:?}: {error:?} does not say {part:?}");
            }
            assert!(mistake.shorter_than.is_none_or(|limit| error.len() < limit), "{mistake:?}: {error}");
            tried += 1;
        }
    }
    assert!(tried > 150, "{tried} mistakes");
}
