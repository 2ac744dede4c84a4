//! Compares `hindmost map` with GNU parallel, on examples of its manual. Without GNU parallel, these tests are skipped.

use std::process::{Command, Stdio};

use hindmost_testing::left_out;

use super::{Place, output};

/// Examples: text on standard input, and the arguments. Each prints the same with both commands, in the same order, and ends
/// with the same exit code.
const EXAMPLES: [(&str, &[&str]); 108] = [
    // Input sources (man parallel_tutorial).
    ("", &["-k", "echo", ":::", "A", "B", "C"]),
    ("A\nB\nC\n", &["-k", "echo"]),
    ("", &["-k", "-a", "abc", "echo"]),
    ("", &["-k", "echo", "::::", "abc"]),
    ("A\nB\nC\n", &["-k", "echo", "::::", "-"]),
    ("", &["-k", "-a", "abc", "-a", "def", "echo"]),
    ("", &["-k", "echo", "::::", "abc", "def"]),
    ("", &["-k", "echo", ":::", "A", "B", "C", ":::", "D", "E", "F"]),
    ("", &["-k", "echo", "::::", "abc", ":::", "D", "E", "F"]),
    ("A\nB\nC\n", &["-k", "echo", "::::", "-", "def"]),
    ("", &["-k", "--link", "echo", ":::", "A", "B", "C", ":::", "D", "E", "F"]),
    ("", &["-k", "--link", "echo", ":::", "A", "B", "C", "D", "E", ":::", "F", "G"]),
    ("", &["-k", "echo", "::::", "abc", ":::+", "D", "E", "F"]),
    ("", &["-k", "echo", ":::", "A", "B", "::::+", "abc", ":::", "1", "2"]),
    ("", &["-k", "echo", ":::"]),
    ("", &["-k", "echo"]),
    // Delimiters, empty lines and columns.
    ("A_B_C", &["-k", "-d", "_", "echo"]),
    ("A\tB\tC", &["-k", "-d", r"\t", "echo"]),
    ("A\0B C\0", &["-k", "-0", "echo"]),
    ("1\n\n2\n", &["-k", "echo", "<{}>"]),
    ("\n \n", &["-k", "-r", "echo", "<{}>"]),
    ("1\n\n2\n \t\n", &["-k", "-r", "echo"]),
    ("a\n\nb\n", &["-k", "-r", "--header", ":", "echo", "{a}"]),
    ("", &["-k", "-r", "--link", "echo", ":::", "1", "", "2", ":::", "a", "b", "c"]),
    ("a1b", &["-k", "-d", r"\061", "echo"]),
    ("a,b\0c", &["-k", "-d", r"\0", "echo"]),
    ("a\rb", &["-k", "-d", r"\r", "echo"]),
    ("a,b", &["-k", "-d", r"\,", "echo"]),
    ("", &["-k", "-d", "", "echo", "::::", "abc"]),
    ("\n\na\nb\n\n\n\nc\n \nd\n\n", &["-k", "-d", "", "echo", "<{}>"]),
    ("\n\n", &["-k", "-d", "", "echo", "<{}>"]),
    (" lead , x \n", &["-k", "--tag", "--colsep", ",", "echo \"<\"{1}\"><\"{2}\">\""]),
    ("a  b   c\n", &["-k", "--colsep", " +", "echo", "{1}-{2}-{3}"]),
    (" a  b\n", &["-k", "--colsep", r"\s+", "echo", "{1}-{2}-{3}"]),
    ("a,b;c\n", &["-k", "--colsep", "[,;]", "echo", "{1}-{2}-{3}"]),
    ("a1b2c\n", &["-k", "--colsep", r"(\d)", "echo", "{1}-{2}-{3}-{4}"]),
    ("a|b\n", &["-k", "--colsep", r"\|", "echo", "{1}-{2}"]),
    ("a|b\n", &["-k", "--colsep", "|", "echo", "{1}-{2}"]),
    ("a.b\n", &["-k", "--colsep", ".", "echo", "{1}-{2}"]),
    (" echo a ,b\n", &["-k", "--colsep", ","]),
    ("f1\tf2\n a \t b \n", &["-k", "--header", ":", "echo \"<\"{f1}\"><\"{f2}\">\""]),
    (" f1 , f2 \n a , b \n", &["-k", "--header", ":", "--colsep", ",", "echo", "{f1}", "{ f2 }", "{2}"]),
    ("a,b\nc,d,e\n", &["-k", "--colsep", ",", "echo", "2={2}", "1={1}", "all={}"]),
    ("a\tb\n", &["-k", "-C", r"\t", "echo", "{2}-{1}"]),
    // Replacement strings.
    ("", &["-k", "echo", "{}", ":::", "A/B.C"]),
    ("", &["-k", "echo", "{.}", ":::", "A/B.C", "a.b/c", ".x", "b."]),
    ("", &["-k", "echo", "{/}", ":::", "A/B.C", "a/"]),
    ("", &["-k", "echo", "{//}", ":::", "A/B.C", "/a", "a", "a/b/", "/"]),
    ("", &["-k", "echo", "{/.}", ":::", "A/B.C"]),
    ("", &["-k", "echo", "{#}", ":::", "A", "B", "C"]),
    ("", &["-k", "-j1", "echo", "{%}", ":::", "A", "B", "C"]),
    ("", &["-k", "echo", "{1}", "and", "{2}", ":::", "A", "B", ":::", "C", "D"]),
    ("", &["-k", "echo", "/={1/}", "//={1//}", "/.={1/.}", ".={1.}", ":::", "A/B.C", "D/E.F"]),
    ("", &["-k", "echo", "1={1}", "2={2}", "3={3}", "-1={-1}", "-2={-2}", ":::", "A", "B", ":::", "C"]),
    ("", &["-k", "--header", ":", "echo", "f1={f1}", "f2={f2}", ":::", "f1", "A", "B", ":::", "f2", "C", "D"]),
    ("", &["-k", "-I", "//", "echo", "// {}", ":::", "A"]),
    ("", &["-k", "echo {} {.}|cat", ":::", "a b.c", "it's", "$HOME", "`x`", "\"q\"", "*", "-n", "ü"]),
    // The command begins with a replacement string.
    ("", &["-k", "{}", ":::", "echo a b", "echo 'c  d' | cat"]),
    ("", &["-k", "{1} {2}", ":::", "echo a  b", ":::", "c  d"]),
    ("", &["-k", "{.} {}", ":::", "echo a.b"]),
    ("", &["-k", "--dry-run", "x{}x {}", ":::", "a b"]),
    ("", &["-k", "--dry-run", "V={} x {}", ":::", "a b"]),
    ("", &["-k", "--dry-run", "(x {})", ":::", "a b"]),
    ("", &["-k", "--dry-run", "({} x)", ":::", "a b"]),
    ("", &["-k", "--dry-run", " {}", ":::", "a b"]),
    ("", &["-k", "--dry-run", "-q", "{} {}", ":::", "a b"]),
    // Braces that are no expression in Perl.
    ("", &["-k", "echo \"a = {= b\"", ":::", "c"]),
    ("", &["-k", "echo \"a =} b {= c\"", ":::", "d"]),
    // Commands from values, several values for each command, quoting.
    ("echo a; echo b\necho 'c  d'\n", &["-k"]),
    ("", &["-k", ":::", "echo A", "echo B | cat"]),
    ("", &["-k", "-n", "2", "echo", "1={1}", "2={2}", ":::", "A", "B", "C"]),
    ("", &["-k", "-N3", "echo", ":::", "A", "B", "C", "D"]),
    ("", &["-k", "-N0", "echo", "hi", ":::", "A", "B"]),
    ("", &["-k", "-N2", "echo", "x{}y", ":::", "a", "b", "c"]),
    ("", &["-k", "-n2", "echo", "x{}y", ":::", "a", "b", "c"]),
    ("", &["-k", "-n3", "-N2", "--dry-run", "e x{}y {1} {#}{}   z{2}", ":::", "a b", "b", "c"]),
    ("", &["-k", "-N1", "echo", "x{}y", ":::", "a", "b", ":::", "c", "d"]),
    ("a,b\nc,d\ne,f\n", &["-k", "-N2", "--colsep", ",", "echo", "x{}y"]),
    ("", &["-k", "--dry-run", "-q", "-n2", "x", "{}", "a;b {}", ":::", "a b", "c"]),
    ("", &["-k", "-q", "perl", "-e", "print \"$ARGV[0]\\n\"; ", "{}", ":::", "a b"]),
    ("", &["-k", "-j0", "echo", ":::", "A", "B"]),
    ("", &["-k", "-j200%", "echo", ":::", "A", "B"]),
    ("", &["-k", "-j+1", "echo", ":::", "A", "B"]),
    // Output.
    ("", &["-k", "--tag", "echo", "foo-{}", ":::", "A", "B"]),
    ("", &["-k", "--tag", "printf 'a\\n\\nb\\n'; echo {1}", ":::", "A", "B", ":::", "1"]),
    ("", &["-k", "-v", "echo", ":::", "A", "B"]),
    ("", &["-k", "-v", "--tag", "printf '%s\\n' x", ":::", "A", "B"]),
    ("", &["-k", "--verbose", "echo", ":::", "A", "B"]),
    ("", &["-k", "-v", "-t", "echo", ":::", "A", "B"]),
    ("", &["-k", "-v", "--silent", "echo", ":::", "A", "B"]),
    ("", &["-k", "--dry-run", "--tag", "echo", ":::", "a b"]),
    // Repeated options, other spellings, abbreviations.
    ("", &["-k", "-k", "--jobs", "2", "-j", "1", "echo", "{%}", ":::", "A", "B"]),
    ("", &["--keeporder", "--dryrun", "echo", ":::", "A", "B"]),
    ("", &["--keep", "--dry", "--silent", "--plain", "echo", ":::", "A", "B"]),
    ("", &["-k", "--dry-run", "echo {} {#}", ":::", "a b", "c"]),
    ("", &["-k", "--dry-run", "-q", "echo", "{}", ":::", "a;b"]),
    ("", &["-k", "printf %s", ":::", "no newline", "2"]),
    ("", &["-k", "echo $PARALLEL_SEQ", ":::", "A", "B"]),
    ("", &["-k", "-j1", "echo $PARALLEL_JOBSLOT", ":::", "A", "B"]),
    // Exit codes.
    ("", &["-k", "exit", ":::", "0", "0"]),
    ("", &["-k", "exit", ":::", "1", "0", "2", "3"]),
    ("", &["-k", "-j1", "--halt", "now,fail=1", "echo {}; exit {}", ":::", "0", "7", "0", "5"]),
    ("", &["-k", "-j1", "--halt", "soon,fail=2", "echo {}; exit {}", ":::", "0", "7", "0", "5", "0"]),
    ("", &["-k", "-j1", "--halt", "soon,fail=50%", "echo {}; exit {}", ":::", "0", "7", "0", "5", "0"]),
    ("", &["-k", "-j1", "--halt", "now,success=1", "echo {}; exit {}", ":::", "3", "0", "0"]),
    ("", &["-k", "-j1", "--halt", "now,done=2", "echo {}; exit {}", ":::", "3", "0", "0"]),
    ("", &["-k", "-j1", "--halt", "2", "echo {}; exit {}", ":::", "0", "9", "0"]),
    ("", &["-k", "--retries", "3", "echo {}; exit 1", ":::", "0"]),
];

/// Returns GNU parallel, without its notice about citations; `None` if it is not installed.
fn parallel(place: &Place) -> Option<Command> {
    let found = Command::new("parallel").arg("--version").stdin(Stdio::null()).output().ok()?;
    if !String::from_utf8_lossy(&found.stdout).contains("GNU parallel") {
        return None;
    }
    let home = place.path("home");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("will-cite"), "").unwrap();
    let mut command = Command::new("parallel");
    // The same shell as in `Place::command`.
    command.env("PARALLEL_HOME", home).env("PARALLEL_SHELL", "/bin/sh").current_dir(place.path(""));
    Some(command)
}

fn place() -> Place {
    let place = Place::new();
    std::fs::write(place.path("abc"), "A\nB\nC\n").unwrap();
    std::fs::write(place.path("def"), "D\nE\nF\n").unwrap();
    place
}

#[test]
fn gnu_parallels_examples_print_the_same() {
    let place = place();
    if parallel(&place).is_none() {
        left_out("GNU parallel is not installed");
        return;
    }
    let mut different = Vec::new();
    for (input, args) in EXAMPLES {
        let mut theirs = parallel(&place).unwrap();
        theirs.args(args);
        let expected = output(theirs, input.as_bytes());
        let found = place.map_with(input, args);
        if (expected.code, &expected.stdout) != (found.code, &found.stdout) {
            let shown = |ran: &crate::Ran| format!("{:?} {:?}", ran.code, ran.stdout);
            different.push(format!("{args:?}\n  {}\n  {}{}", shown(&expected), shown(&found), found.stderr));
        }
    }
    assert!(different.is_empty(), "{} examples differ:\n{}", different.len(), different.join("\n"));
}

#[test]
fn the_job_log_has_the_fields_of_gnu_parallels() {
    let place = place();
    let Some(mut theirs) = parallel(&place) else {
        left_out("GNU parallel is not installed");
        return;
    };
    let args = |log: &str| ["--joblog", log, "-j1", "printf '%s\n' {}; exit {#}", ":::", "a", "b c"].map(str::to_owned);
    theirs.args(args("theirs"));
    output(theirs, b"");
    let own = args("own");
    place.map(&own.each_ref().map(String::as_str));
    // All fields but the times are the same.
    let fields = |name: &str| -> Vec<Vec<String>> {
        let log = place.read(name);
        let lines = log.lines().map(|line| line.split('\t').map(str::to_owned).collect::<Vec<_>>());
        lines.map(|line| [&line[..2], &line[4..]].concat()).collect()
    };
    assert_eq!(fields("own"), fields("theirs"));
    assert_eq!(place.read("own").lines().next(), place.read("theirs").lines().next());
}
