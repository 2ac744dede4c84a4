//! Makes `docs/command-line.md`, the reference of the command line, from the help of every command, or checks that it is
//! current.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::run;

/// Set to 1, this environment variable makes the test write the page.
const UPDATE: &str = "HINDMOST_UPDATE_DOCS";

const HEAD: &str = "# Command line\n\n\
    <!-- Made from the help of every command: HINDMOST_UPDATE_DOCS=1 cargo test -p hindmost --test it command_line -->\n\n\
    Each section is what `hindmost COMMAND --help` prints. Results go to standard output, everything else to standard error.\n\
    Exit codes: 0 success, 1 the work failed, 2 wrong arguments or input, 130 interrupted.\n";

/// Returns the subcommands that the help of a command lists, without `help`.
fn listed(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// Adds the help of a command and of all its subcommands to the page.
fn add(command: &[String], page: &mut String) {
    let mut args: Vec<&str> = command.iter().map(String::as_str).collect();
    args.push("--help");
    let ran = run(&args);
    assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
    let name = ["hindmost".to_owned()].iter().chain(command).cloned().collect::<Vec<_>>().join(" ");
    writeln!(page, "\n## `{name}`\n\n```text\n{}\n```", ran.stdout.trim_end()).expect("a string takes everything");
    for below in listed(&ran.stdout) {
        add(&[command, &[below]].concat(), page);
    }
}

#[test]
fn the_command_line_page_is_current() {
    let mut page = HEAD.to_owned();
    add(&[], &mut page);
    for command in ["simulate", "theory cutoff", "trace info"] {
        assert!(page.contains(&format!("## `hindmost {command}`")), "{command} is missing");
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/command-line.md");
    if std::env::var_os(UPDATE).is_some_and(|value| value == "1") {
        fs::write(&file, &page).expect("the page can be written");
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert!(written == page, "docs/command-line.md is not current: {UPDATE}=1 makes this test write it");
}
