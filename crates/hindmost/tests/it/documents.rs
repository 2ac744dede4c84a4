//! Runs the commands of README.md, docs/ and examples/, compares the output that they show, and checks links.
//!
//! Commands are the lines after `$ ` in `console` blocks, and indented lines after an empty line. They run in document
//! order in a new folder, which holds what [`Place::new`] puts there. A document can add a file with a `toml` block whose
//! first line is its name: `# count.toml`. A command runs as it is written, unless [`QUICK`] has a shorter form, or
//! [`NOT_RUN`] a reason not to run it. `HINDMOST_UPDATE_DOCS=1 cargo test -p hindmost --test it documents` replaces shown output that is
//! no longer printed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use hindmost_testing::is_nightly;
use tempfile::TempDir;

use crate::console::{Part, Shown, parts, shell};
use crate::examples;

/// Shorter forms of commands that take more than a few seconds. At night all but the demo are run as they are written, and their output is
/// compared.
const QUICK: &[(&str, &str)] = &[
    ("cargo run --release -- demo", "HINDMOST_DEMO_MEGABYTES=1 hindmost demo --slow 2"),
    ("hindmost demo", "HINDMOST_DEMO_MEGABYTES=1 hindmost demo --slow 2"),
    ("hindmost simulate example.toml", "hindmost simulate example.toml --seeds 1 --set horizon=20"),
    (
        "hindmost simulate quickstart --print > mine.toml",
        "hindmost simulate quickstart --seeds 1 --set horizon=60 --print > mine.toml",
    ),
    (
        "hindmost simulate xu2015-light --print > mine.toml",
        "hindmost simulate xu2015-light --seeds 1 --set horizon=60 --print > mine.toml",
    ),
];

/// Beginnings of commands that simulate for longer than that. A usual run of the tests adds [`SHORTER`] to them and compares no
/// output; at night they are run as they are written, and their output is compared. `README.md` has none of them.
const LONG: &[&str] = &[
    "hindmost simulate xu2015-light",
    "hindmost simulate deadlines --policy",
    "hindmost simulate dollymp2022-",
    "hindmost simulate zhou2018-stragglers",
    "hindmost simulate --policy none,hadoop,",
];

/// What makes a long simulation short.
const SHORTER: &str = "--seeds 1 --set horizon=20";

/// Returns the shorter form of a command, if it has one that this run of the tests uses.
fn shorter(command: &str) -> Option<String> {
    let quick = QUICK.iter().find(|(whole, _)| *whole == command).map(|(_, quick)| *quick);
    let is_long = LONG.iter().any(|begin| command.starts_with(begin)) && quick.is_none();
    if is_nightly() && !command.ends_with(" demo") {
        return None;
    }
    if is_long { Some(format!("{command} {SHORTER}")) } else { quick.map(str::to_owned) }
}

/// Commands that are not run, and why. The options of `hindmost` commands are still compared with their help.
const NOT_RUN: &[(&str, &str)] = &[
    ("cargo test --workspace", "it runs this test"),
    ("cargo install --path crates/hindmost", "it compiles the release profile and writes into the user's home folder"),
    (
        "cargo run --release -p hindmost-sim --example policy_speed -- --limit 30",
        "it measures for hours; .ci/run runs a small one",
    ),
    ("hindmost map --output {.}.gz gzip -c {} ::: *.txt", "the folder has no such files; the tests of map run it"),
    (
        "hindmost map --output {1.}-{2}.png convert {1} -resize {2} png:- ::: *.jpg ::: 100 200",
        "the folder has no such files, and ImageMagick may be missing",
    ),
    (
        "hindmost run --listen jobs.sock --policy fair+pace",
        "it runs until it is stopped; the tests of several jobs run it",
    ),
    ("hindmost submit a.toml --to jobs.sock", "it needs a run that goes on; the tests of several jobs run it"),
    ("hindmost submit b.toml --to jobs.sock --wait", "it needs a run that goes on; the tests of several jobs run it"),
    ("hindmost submit --close --to jobs.sock", "it needs a run that goes on; the tests of several jobs run it"),
    (
        "sbatch --nodes=4 --exclusive --wrap 'hindmost run job.toml --engine slurm'",
        "it needs a cluster; the tests of engine slurm start runs inside allocations",
    ),
    ("hindmost run examples/samples/job.toml", "it needs programs that may be missing; a test of the examples runs it"),
    ("hindmost reproduce xu2015", "it takes minutes; the tests of hindmost-papers run the experiments"),
];

/// Commands whose figures differ between machines: only the labels of the shown output are compared.
const LABELS_ONLY: &[&str] = &["hindmost demo"];

/// A document: its path from the root of the repository, and its text.
struct Document {
    name: String,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn files_in(folder: &str, extension: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().file_name());
    let names = entries.map(|name| name.into_string().unwrap()).filter(|name| name.ends_with(extension));
    let mut found: Vec<String> = names.map(|name| format!("{folder}/{name}")).collect();
    found.sort();
    found
}

fn read(name: &str) -> Document {
    let text = fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    Document { name: name.to_owned(), text }
}

/// Returns the documents whose commands are run.
fn with_commands() -> Vec<Document> {
    let examples = files_in("examples", "").into_iter().map(|folder| format!("{folder}/README.md"));
    let names = ["README.md".to_owned()].into_iter().chain(files_in("docs", ".md")).chain(examples);
    names.map(|name| read(&name)).collect()
}

/// Returns the command without a comment at its end.
fn without_comment(line: &str) -> String {
    line.split("  #").next().unwrap_or(line).trim().to_owned()
}

/// Returns the commands of a document in their order, without comments.
fn commands(document: &Document) -> Vec<Shown> {
    let name = &document.name;
    let mut found: Vec<Shown> = Vec::new();
    let mut before = "";
    for part in parts(&document.text).unwrap_or_else(|error| panic!("{name}: {error}")) {
        match part {
            Part::Block(block) => {
                let is_script = ["sh", "bash", "shell"].contains(&block.language);
                assert!(!is_script, "{name}:{}: write commands in a `console` block", block.line);
                if block.language == "console" {
                    found.extend(block.commands().unwrap_or_else(|error| panic!("{name}:{error}")));
                }
                before = "```";
            }
            Part::Line(number, line) => {
                if line.starts_with("    ") && before.trim().is_empty() {
                    found.push(Shown { line: number, text: line.to_owned(), output: Vec::new() });
                }
                before = line;
            }
        }
    }
    for shown in &mut found {
        shown.text = without_comment(&shown.text);
    }
    found
}

/// Returns true if a file name ends with this extension.
fn has_extension(name: &str, extension: &str) -> bool {
    Path::new(name).extension().is_some_and(|found| found == extension)
}

/// Returns the files that a document defines: blocks of TOML whose first line is a comment with a name.
fn defined_files(document: &Document) -> Vec<(String, String)> {
    let blocks = document.text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let named = blocks.filter_map(|block| {
        let name = block.lines().next()?.strip_prefix("# ")?;
        let is_name = has_extension(name, "toml") && !name.contains([' ', '/']);
        is_name.then(|| (name.to_owned(), block.to_owned()))
    });
    named.collect()
}

/// A folder in which the commands of one document run.
struct Place(TempDir);

impl Place {
    fn new(document: &Document) -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        let folder = place.0.path();
        // Documents expect their readers in the folder of the repository.
        fs::create_dir(folder.join("examples")).unwrap();
        examples::copy(&root().join("examples"), &folder.join("examples"));
        for (name, text) in defined_files(document) {
            fs::write(folder.join(name), text).unwrap();
        }
        place
    }

    fn run(&self, command: &str) -> Output {
        let mut shell = shell(self.0.path(), &[], command);
        if !command.contains("hindmost") {
            // The command of a task, which writes its progress into this file.
            shell.env("HINDMOST_PROGRESS", "progress");
        }
        shell.output().unwrap()
    }

    /// Runs a command and compares its output with the document's. Returns what the document should show, if that
    /// differs. The error says what is wrong.
    fn check(&self, shown: &Shown) -> Result<Option<Vec<String>>, String> {
        let Shown { text, output, .. } = shown;
        if NOT_RUN.iter().any(|(command, _)| command == text) {
            return self.check_options(text).map(|()| None);
        }
        let shorter = shorter(text);
        let ran = self.run(shorter.as_deref().unwrap_or(text));
        let [stdout, stderr] = [&ran.stdout, &ran.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        if !ran.status.success() {
            return Err(format!("{}\n{stdout}{stderr}", ran.status));
        }
        if output.is_empty() {
            return Ok(None);
        }
        let printed: Vec<&str> = stdout.lines().map(str::trim_end).collect();
        if LABELS_ONLY.contains(&text.as_str()) {
            let missing = output
                .iter()
                .map(|line| label(line))
                .find(|label| !label.is_empty() && !printed.iter().any(|line| line.starts_with(label)));
            return missing
                .map_or(Ok(None), |label| Err(format!("it prints no line that begins with {label:?}:\n{stdout}")));
        }
        if shorter.is_some() {
            let is_long = LONG.iter().any(|begin| text.starts_with(begin));
            return if is_long { Ok(None) } else { Err("only a shorter form is run: show no output".to_owned()) };
        }
        // Other processors may round the last digit of logarithms differently.
        let is_comparable = cfg!(target_arch = "x86_64");
        if !is_comparable || printed.windows(output.len()).any(|lines| lines == output) {
            return Ok(None);
        }
        let likeness = |lines: &&[&str]| lines.iter().zip(output).filter(|(line, shown)| is_like(line, shown)).count();
        let nearest = printed.windows(output.len()).max_by_key(likeness);
        let nearest = nearest.ok_or_else(|| format!("it prints less than the document shows:\n{stdout}"))?;
        Ok(Some(nearest.iter().map(|line| (*line).to_owned()).collect()))
    }

    /// Checks that the help of a `hindmost` command lists the options of a command that is not run.
    fn check_options(&self, command: &str) -> Result<(), String> {
        let words: Vec<&str> = command.split_whitespace().collect();
        if words[0] != "hindmost" {
            return Ok(());
        }
        let ran = self.run(&format!("hindmost {} --help", words[1]));
        let help = String::from_utf8_lossy(&ran.stdout);
        let unknown = words.iter().find(|word| word.starts_with("--") && !help.contains(*word));
        match unknown {
            _ if !ran.status.success() => Err(format!("no such command: {}", words[1])),
            Some(option) => Err(format!("no such option: {option}")),
            None => Ok(()),
        }
    }
}

/// Returns the words at the beginning of a line of a table, up to its figures.
fn label(line: &str) -> &str {
    if line.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
        line.split("  ").next().unwrap_or("")
    } else {
        ""
    }
}

/// Returns true if two lines begin with the same word.
fn is_like(line: &str, other: &str) -> bool {
    line.split_whitespace().next() == other.split_whitespace().next()
}

/// Replaces the output that a document shows after some of its commands.
fn update(document: &Document, changes: &[(usize, Vec<String>)]) {
    let mut lines: Vec<&str> = document.text.lines().collect();
    for (line, output) in changes {
        for (at, printed) in output.iter().enumerate() {
            lines[line + at] = printed;
        }
    }
    fs::write(root().join(&document.name), lines.join("\n") + "\n").unwrap();
}

#[test]
fn commands_of_documents_run_and_print_what_is_shown() {
    let documents = with_commands();
    let updates = std::env::var_os("HINDMOST_UPDATE_DOCS").is_some();
    let check = |document: &Document| -> Vec<String> {
        let place = Place::new(document);
        let (mut wrong, mut changes) = (Vec::new(), Vec::new());
        for shown in commands(document) {
            let Shown { line, text, output } = &shown;
            let at = format!("{}:{line}", document.name);
            match place.check(&shown) {
                Ok(None) => {}
                Ok(Some(printed)) if updates => changes.push((*line, printed)),
                Ok(Some(printed)) => wrong.push(format!(
                    "{at}: {text}\nthe document shows\n{}\nbut it prints\n{}",
                    output.join("\n"),
                    printed.join("\n")
                )),
                Err(error) => wrong.push(format!("{at}: {text}\n{error}")),
            }
        }
        if !changes.is_empty() {
            update(document, &changes);
        }
        wrong
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let check = &check;
        let running: Vec<_> = documents.iter().map(|document| scope.spawn(move || check(document))).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn lists_of_commands_name_commands_of_documents() {
    let found: BTreeSet<String> = with_commands().iter().flat_map(commands).map(|shown| shown.text).collect();
    assert!(found.len() > 30, "{found:?}");
    let listed = QUICK.iter().chain(NOT_RUN).map(|(command, _)| command).chain(LABELS_ONLY);
    for command in listed {
        assert!(found.contains(*command), "no document has the command: {command}");
    }
    for begin in LONG {
        assert!(found.iter().any(|command| command.starts_with(begin)), "no document has a command {begin} …");
    }
}

/// Returns the text of a document without its code blocks.
fn prose(document: &Document) -> String {
    let parts = document.text.split("\n```").step_by(2);
    // A part after a block begins with the rest of the fence's line, which is empty.
    parts.collect::<Vec<_>>().join("\n")
}

/// Returns the anchors of a document's headings, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let anchor = |heading: &str| {
        let kept = heading.to_lowercase();
        let kept = kept.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
        kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn links_of_documents_lead_to_files_and_headings() {
    let mut documents = with_commands();
    documents.extend(["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(read));
    let mut links = 0;
    for document in &documents {
        let folder = root().join(&document.name).parent().unwrap().to_owned();
        for link in prose(document).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.starts_with("http") {
                continue;
            }
            links += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let path = if path.is_empty() { root().join(&document.name) } else { folder.join(path) };
            assert!(path.exists(), "{}: {link} does not exist", document.name);
            if !anchor.is_empty() {
                let text = fs::read_to_string(&path).unwrap();
                assert!(anchors(&text).contains(anchor), "{}: {link} has no such heading", document.name);
            }
        }
    }
    assert!(links > 30, "{links}");
}

#[test]
fn the_map_of_the_code_names_files_that_exist() {
    let text = read("ARCHITECTURE.md").text;
    assert!(text.split_whitespace().count() <= 1500, "a map is short; docs/design.md has the reasons");
    let mut files = 0;
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        let names = line.split('`').skip(1).step_by(2);
        // A name without its crate is beside the name before it, or inside it.
        let mut before = root();
        for name in names.filter(|name| has_extension(name, "rs") || name.ends_with('/')) {
            let places = [
                root().join(format!("crates/hindmost-{name}")),
                root().join("crates").join(name),
                before.join(name),
                before.parent().unwrap_or(&before).join(name),
            ];
            let found = places.into_iter().find(|place| place.exists());
            before = found.unwrap_or_else(|| panic!("ARCHITECTURE.md names {name}, which does not exist: {line}"));
            files += 1;
        }
    }
    assert!(files > 40, "{files}");
}

#[test]
fn the_glossary_defines_each_term_once() {
    let glossary = read("docs/glossary.md");
    let rows = glossary.text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---"));
    let mut terms = BTreeSet::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        assert_eq!(cells.len(), 3, "{row}");
        assert!(cells.iter().all(|cell| !cell.is_empty()), "{row}");
        if cells[0] != "term" {
            assert!(terms.insert(cells[0].to_lowercase()), "{} is defined twice", cells[0]);
        }
    }
    for term in ["job", "phase", "attempt", "copy", "backup", "clone", "straggler", "knowledge", "flowtime", "journal"]
    {
        assert!(terms.contains(term), "{term} is not defined");
    }
}
