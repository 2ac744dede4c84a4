//! The variables that commands get.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::hindmost;
use crate::scene::{Scene, names as names_in};

/// Returns the variables that a command has written with `env -0`.
fn variables(file: PathBuf) -> BTreeMap<String, Vec<u8>> {
    let bytes = fs::read(file).unwrap();
    let entries = bytes.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    entries
        .map(|entry| {
            let at = entry.iter().position(|byte| *byte == b'=').unwrap();
            (String::from_utf8(entry[..at].to_vec()).unwrap(), entry[at + 1..].to_vec())
        })
        .collect()
}

#[test]
fn commands_get_the_documented_variables() {
    let scene = Scene::new(
        r#"
name = "variables"
environment = { WHOSE = "job's", ODD = "two\nlines \"in quotes\" and $HOME" }

[[phase]]
name = "of files"
inputs = "in/*"
command = '''
ls -A "$HINDMOST_OUTPUT" > ls-"$HINDMOST_TASK"
pwd > "$HINDMOST_OUTPUT/pwd"
echo 0.5 >> "$HINDMOST_PROGRESS"
cat "$HINDMOST_INPUT" > "$HINDMOST_OUTPUT/input"
cat > "$HINDMOST_OUTPUT/stdin"
env -0 > "$HINDMOST_OUTPUT/env"
'''

[[phase]]
name = "of tasks"
after = ["of files"]
tasks = 2
environment = { WHOSE = "phase's" }
directory = "in"
command = 'pwd > "$HINDMOST_OUTPUT/pwd"; env -0 > "$HINDMOST_OUTPUT/env"'
"#,
    );
    let folder = fs::canonicalize(scene.folder.path()).unwrap();
    let inputs = folder.join("in");
    fs::create_dir(&inputs).unwrap();
    let mut names: Vec<&[u8]> = vec![
        b"plain",
        b"with space",
        b"new\nline",
        b"'quo'\"ted\"",
        b"$HOME",
        b"*",
        b"-n",
        b"back\\slash",
        "ü".as_bytes(),
        b"no\xfftext",
    ];
    names.sort_unstable();
    for name in &names {
        fs::write(inputs.join(OsStr::from_bytes(name)), [b"input ", *name].concat()).unwrap();
    }
    fs::write(inputs.join(".hidden"), "").unwrap();
    fs::create_dir(inputs.join("folder")).unwrap();

    // If a run is started by a task of another run, its tasks do not get the variables of the outer run.
    let mut command = hindmost();
    command.current_dir(scene.folder.path()).args(["run", "job.toml", "--nodes", "n1:2,n2:2", "--policy", "none"]);
    command.env("HINDMOST_INPUT", "theirs").env("HINDMOST_TASK", "77").env("INHERITED", "too");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let out = folder.join("variables.out");
    let check = |phase: &str, task: usize, input: Option<&[u8]>| {
        let result = out.join(phase).join(task.to_string());
        let seen = variables(result.join("env"));
        let text = |name: &str| String::from_utf8(seen[name].clone()).unwrap();
        assert_eq!(text("HINDMOST_TASK"), task.to_string());
        assert_eq!(text("HINDMOST_TASKS"), if input.is_some() { names.len() } else { 2 }.to_string());
        assert_eq!(text("HINDMOST_ATTEMPT"), "0");
        assert!(["n1", "n2"].contains(&text("HINDMOST_NODE").as_str()));
        assert_eq!(PathBuf::from(text("HINDMOST_FROM")), out);
        let own = PathBuf::from(text("HINDMOST_OUTPUT"));
        assert!(own.is_absolute() && own.starts_with(&out) && !own.exists(), "{}", own.display());
        assert!(Path::new(&text("HINDMOST_PROGRESS")).is_absolute());
        assert_eq!(text("INHERITED"), "too");
        assert_eq!(text("ODD"), "two\nlines \"in quotes\" and $HOME");
        assert_eq!(text("WHOSE"), if input.is_some() { "job's" } else { "phase's" });
        let directory = if input.is_some() { &folder } else { &inputs };
        assert_eq!(fs::read_to_string(result.join("pwd")).unwrap(), format!("{}\n", directory.display()));
        match input {
            Some(name) => {
                let path = inputs.join(OsStr::from_bytes(name));
                assert_eq!(seen["HINDMOST_INPUT"], path.into_os_string().into_vec());
                assert_eq!(fs::read(result.join("input")).unwrap(), [b"input ", name].concat());
                assert_eq!(fs::read(result.join("stdin")).unwrap(), b"");
                assert_eq!(scene.read(&format!("ls-{task}")), "");
            }
            None => assert_eq!(seen.get("HINDMOST_INPUT"), None),
        }
    };
    for (task, name) in names.iter().enumerate() {
        check("of files", task, Some(name));
    }
    check("of tasks", 0, None);
    check("of tasks", 1, None);
    assert_eq!(names_in(&out.join("of files")).len(), names.len());
}
