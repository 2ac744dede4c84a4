//! Cases: commands with their exit codes and what they print, as Markdown files in the folder `cases/`. CONTRIBUTING.md
//! describes the files.

mod expected;
mod json;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use crate::Ran;
use crate::console::{Block, Part, parts, shell};
use crate::scene::{ended_within, leftovers_with, names, program, signal};
use expected::{Edit, Step};

/// Cases of a file that run at the same time. Most wait for the tasks that they run.
const AT_ONCE: usize = 4;

/// Cases of all files that may still begin: as many run at the same time as tests do.
static FREE: Mutex<usize> = Mutex::new(8);
static HAS_ENDED: Condvar = Condvar::new();

/// A case that runs.
struct Turn;

impl Turn {
    /// Waits until one case less than allowed runs.
    fn begin() -> Turn {
        *HAS_ENDED.wait_while(FREE.lock().unwrap(), |free| *free == 0).unwrap() -= 1;
        Turn
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *FREE.lock().unwrap() += 1;
        HAS_ENDED.notify_one();
    }
}

/// Declares a test for each file of the folder.
macro_rules! files {
    ($($file:ident)*) => {
        const FILES: &[&str] = &[$(stringify!($file)),*];
        $(#[test]
        fn $file() {
            check_file(stringify!($file));
        })*
    };
}

files! {
    advise
    deadlines
    demo
    documents
    errors
    files
    help
    inheritance
    journal
    map
    mending
    more_formats
    needs
    outliving
    output_files
    results
    resuming
    policies
    profiles
    replay
    reports
    run_errors
    scratch
    settings
    several_jobs
    shared_files
    short_tasks
    simulate
    stalls
    stopping
    tables
    theory
    watch
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/cases")
}

#[test]
fn every_file_of_cases_is_run() {
    let found = names(&folder()).into_iter().filter_map(|name| Some(name.strip_suffix(".md")?.to_owned()));
    let listed: BTreeSet<String> = FILES.iter().map(|file| (*file).to_owned()).collect();
    assert_eq!(found.collect::<BTreeSet<_>>(), listed);
}

/// Runs the cases of a file, and asserts that everything is as the file says.
fn check_file(file: &str) {
    let path = folder().join(file).with_extension("md");
    let text = fs::read_to_string(&path).unwrap();
    let cases = cases(&text).unwrap_or_else(|error| panic!("{file}.md: {error}"));
    let next = Mutex::new(cases.iter());
    let results = Mutex::new((Vec::new(), Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(cases.len()) {
            scope.spawn(|| {
                loop {
                    let Some(case) = next.lock().unwrap().next() else { break };
                    let turn = Turn::begin();
                    let (wrong, edits) = case.check();
                    drop(turn);
                    let mut results = results.lock().unwrap();
                    results.0.extend(wrong.into_iter().map(|wrong| format!("{file}.md:{wrong}")));
                    results.1.extend(edits);
                }
            });
        }
    });
    let (wrong, edits) = results.into_inner().unwrap();
    if !edits.is_empty() {
        fs::write(&path, expected::edited(&text, edits)).unwrap();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// A case: commands that run one after the other in a folder of their own.
struct Case {
    /// Files that are in the folder at the beginning: their names and texts.
    files: Vec<(String, String)>,
    steps: Vec<Step>,
}

/// Reads the cases of a file. Files before the first heading belong to all cases.
fn cases(text: &str) -> Result<Vec<Case>, String> {
    let mut shared = Case { files: Vec::new(), steps: Vec::new() };
    let mut found: Vec<Case> = Vec::new();
    for part in parts(text)? {
        match part {
            Part::Line(_, line) if line.starts_with("## ") => {
                found.push(Case { files: shared.files.clone(), steps: Vec::new() });
            }
            Part::Line(..) => {}
            Part::Block(block) => found.last_mut().unwrap_or(&mut shared).add(&block)?,
        }
    }
    let is_complete = !found.is_empty() && shared.steps.is_empty() && found.iter().all(|case| !case.steps.is_empty());
    if is_complete {
        Ok(found)
    } else {
        Err("commands stand below a heading, and each heading has commands".to_owned())
    }
}

impl Case {
    fn add(&mut self, block: &Block) -> Result<(), String> {
        match (block.language, block.name) {
            ("console", "") => {
                for shown in block.commands()? {
                    self.steps.push(Step::read(&shown)?);
                }
            }
            (_, "") => {
                return Err(format!("{}: this block is neither a `console` nor has it the name of a file", block.line));
            }
            (_, name) => self.files.push((name.to_owned(), block.text())),
        }
        Ok(())
    }

    /// Runs the commands. Returns what is wrong, and how the file must change if expected texts are renewed.
    fn check(&self) -> (Vec<String>, Vec<Edit>) {
        let place = tempfile::tempdir().unwrap();
        let [work, temporary] = ["work", "temporary"].map(|name| place.path().join(name));
        for folder in [&work, &temporary] {
            fs::create_dir(folder).unwrap();
        }
        for (name, text) in &self.files {
            let path = work.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            if text.starts_with("#!") {
                program(&path, text);
            } else {
                fs::write(&path, text).unwrap();
            }
        }
        let (mut wrong, mut edits) = (Vec::new(), Vec::new());
        for step in &self.steps {
            let ran = run(place.path(), &step.command);
            let differences = step.differences(&ran, &mut edits);
            if !differences.is_empty() {
                let Ran { code, stdout, stderr } = ran;
                wrong.push(format!(
                    "{}: $ {}\n{}\nexit code {code:?}\n{stdout}---\n{stderr}",
                    step.line,
                    step.command,
                    differences.join("\n")
                ));
                break;
            }
        }
        let (left, _) = leftovers_with(&format!("CASE={}", place.path().display()));
        for (process, _) in &left {
            signal(*process, "KILL");
        }
        if !left.is_empty() {
            wrong.push(format!("{}: processes are left: {left:?}", self.steps[0].line));
        }
        // Attempts have folders for temporary files, which are gone when their run ends, unless it was killed.
        if !names(&temporary).is_empty() && !place.path().join("killed").exists() {
            wrong.push(format!("{}: temporary files are left: {:?}", self.steps[0].line, names(&temporary)));
        }
        (wrong, edits)
    }
}

/// Runs a command in the folder `work` of a place.
fn run(place: &Path, command: &str) -> Ran {
    let [stdout, stderr] = ["stdout", "stderr"].map(|name| place.join(name));
    let mut shell = shell(&place.join("work"), &[folder().join("bin")], command);
    // Processes that a case leaves running are found by this variable.
    shell.env("CASE", place).env("TMPDIR", place.join("temporary")).env("PARALLEL_SHELL", "/bin/sh");
    shell.env("EXAMPLES", Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples"));
    shell.stdout(fs::File::create(&stdout).unwrap()).stderr(fs::File::create(&stderr).unwrap());
    let mut child = shell.spawn().unwrap();
    let status = ended_within(&mut child, Duration::from_mins(10));
    if status.is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
    let text = |path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    Ran { code: status.and_then(|status| status.code()), stdout: text(stdout), stderr: text(stderr) }
}

#[test]
fn what_is_not_as_expected_is_named() {
    for (lines, parts) in [
        ("$ echo a; echo b\na\nb", &[][..]),
        ("$ echo a; echo b\na", &["standard output"]),
        ("$ echo a; echo b\n[..]", &["standard output"]),
        ("$ echo abc; echo b\na[..]c\nb", &[]),
        ("$ seq 9\n1\n...\n9", &[]),
        ("$ seq 9\n1\n...\n8", &["standard output"]),
        ("$ echo '$ a'\n\\$ a\n", &[]),
        ("$ true\n(nothing)\n! (nothing)", &[]),
        ("$ echo >&2\n! (nothing)", &[]),
        ("$ echo a >&2\n! (nothing)", &["standard error"]),
        ("$ echo a >&2\n! a", &[]),
        ("$ echo 'a  b'; echo c\n~ a b c\n-~ d", &[]),
        ("$ echo a\n~ b", &["lacks", "\"b\""]),
        ("$ echo a\n-~ a", &["has", "\"a\""]),
        ("$ echo a >&2\n!~ b\n!-~ a", &["lacks", "has"]),
        ("$ exit 3\n[3]", &[]),
        ("$ exit 3", &["exit code 3"]),
        ("$ exit 2\n[2]", &["error: "]),
        ("$ echo error: x >&2; exit 2\n[2]", &[]),
        ("$ echo error: x >&2; echo; exit 2\n[2]", &["standard output"]),
        ("$ echo \"thread 'main' panicked\" >&2", &["panic"]),
        ("$ echo x > $TMPDIR/x", &["temporary files are left"]),
        ("$ sleep 60 > /dev/null 2> /dev/null &\n", &["processes are left"]),
        ("$ echo '{\"a\":{\"sigma\":1.5,\"copies\":2,\"resource_ratio\":0.9}}'\n.a conforms to theory-sigma", &[]),
        (
            "$ echo '{\"sigma\":1.5,\"copies\":2,\"resource_ratio\":\"0.9\"}'\n. conforms to theory-sigma",
            &["resource_ratio"],
        ),
        ("$ echo a\n.a = 1", &["no JSON"]),
        (
            "$ echo '{\"a\":[1,2.5,\"x\"]}'\n.a[0] = 1\n.a[-1] = \"x\"\n.a | length = 3\n.a[1] > 2\n.a[1] = 2.4 ± 0.2",
            &[],
        ),
        ("$ echo '{\"a\":[1,2.5]}'\n.a[0] = 2", &[".a[0] = 2", "1"]),
        ("$ echo '{\"a\":[1,2.5]}'\n.a[0] > .a[1]", &["2.5"]),
        ("$ echo '{\"a\":[{\"b\":1},{\"b\":2}]}'\n.a[].b = [1, 2]\n.a[0] | keys = [\"b\"]\n.a ~ \"b\":2", &[]),
        ("$ echo '{\"a\":[{\"b\":1},{\"b\":2}]}'\n.a[].b = [1, 3]\n.c != null", &["[1,2]", "null"]),
    ] {
        let cases = cases(&format!("## case\n```console\n{lines}\n```\n")).unwrap();
        let wrong = cases[0].check().0.join("\n");
        assert_eq!(wrong.is_empty(), parts.is_empty(), "{lines}\n{wrong}");
        assert!(parts.iter().all(|part| wrong.contains(part)), "{lines}\n{wrong}");
    }
}
