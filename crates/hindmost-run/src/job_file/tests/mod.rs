//! Tests of valid and invalid job files.

mod examples;
#[cfg(unix)]
mod globs;
mod mistakes;
mod plans;
mod schema;
mod settings;

use std::path::Path;

use super::{Plan, parse};

/// A job file that uses every key. Its inputs are those of [`with_files`].
const VALID: &str = r#"name = "wordcount"
policy = "fair+mantri(delta=0.5)"
knowledge = "progress(0.1)"
nodes = "n1:2,n2:2"
deadline = "1h30m"
priority = 2
environment = { LC_ALL = "C", DEPTH = "1" }
directory = "text"

[[phase]]
name = "reduce"
after = ["map"]
tasks = 3
command = "cat \"$HINDMOST_FROM\"/map/*/counts > \"$HINDMOST_OUTPUT/result\""
idempotent = false

[[phase]]
name = "map"
inputs = "text/*.txt"
command = '''
# counts
tr -cs A-Za-z '\n' < "$HINDMOST_INPUT" |
    sort > "$HINDMOST_OUTPUT/counts"
'''
cpus = 0.5
memory = "256MB"
retries = 5
time_limit = "90s"
environment = { DEPTH = "2", OTHER = "x" }
directory = "."
"#;

/// Creates a folder with `text/a.txt`, `text/b.txt`, and files that the patterns should not match.
fn with_files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("text/folder.txt")).unwrap();
    for name in ["text/b.txt", "text/a.txt", "text/.hidden.txt", "text/folder.txt/c.txt", "text/other.md"] {
        std::fs::write(folder.path().join(name), name).unwrap();
    }
    folder
}

/// Returns the plan of a text, or the error's message without the folder's name.
fn plan_of(text: &str, folder: &Path) -> Result<Plan, String> {
    let own = folder.canonicalize().unwrap();
    parse(text, Path::new("job.toml"), folder)
        .map_err(|error| error.to_string().replace(&own.display().to_string(), "FOLDER"))
}
