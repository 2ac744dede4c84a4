//! Tests of the patterns that find input files.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::plan_of;

/// Creates a folder with these files.
fn folder_of(files: &[&[u8]]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in files {
        let path = folder.path().join(OsStr::from_bytes(name));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    folder
}

/// Returns the files that the patterns match, relative to the folder.
fn found(patterns: &str, folder: &Path) -> Result<Vec<Vec<u8>>, String> {
    let text = format!("[[phase]]\nname = \"p\"\ninputs = {patterns}\ncommand = \"x\"");
    let own = folder.canonicalize().unwrap();
    let plan = plan_of(&text, folder)?;
    let inputs = plan.phases[0].inputs.clone().unwrap();
    assert_eq!(plan.phases[0].tasks as usize, inputs.len());
    let relative = |path: &std::path::PathBuf| path.strip_prefix(&own).unwrap().as_os_str().as_bytes().to_vec();
    Ok(inputs.iter().map(relative).collect())
}

fn names(patterns: &str, folder: &Path) -> Vec<String> {
    let found = found(patterns, folder).unwrap_or_else(|error| panic!("{error}"));
    found.into_iter().map(|name| String::from_utf8(name).unwrap()).collect()
}

#[test]
fn patterns_match_as_in_a_shell() {
    let folder = folder_of(&[b"text/b.txt", b"text/a.txt", b"text/c.md", b"text/.d.txt", b"text/[x].txt", b"e.txt"]);
    for (pattern, expected) in [
        ("\"text/*.txt\"", &["text/[x].txt", "text/a.txt", "text/b.txt"][..]),
        ("\"text/?.txt\"", &["text/a.txt", "text/b.txt"]),
        ("\"text/[!a].*\"", &["text/b.txt", "text/c.md"]),
        ("\"text/[a-b].txt\"", &["text/a.txt", "text/b.txt"]),
        ("\"text/[[]x].txt\"", &["text/[x].txt"]),
        ("\"text/.*\"", &["text/.d.txt"]),
        ("\"*\"", &["e.txt"]),
        ("\"*/a.txt\"", &["text/a.txt"]),
        ("\"./text//a.txt\"", &["text/a.txt"]),
        ("\"text/../e.txt\"", &["e.txt"]),
        ("\"*/../*.txt\"", &["e.txt"]),
        // A file that several patterns match is listed once, and the files are sorted.
        ("[\"text/b*\", \"text/a.txt\", \"*/*.txt\"]", &["text/[x].txt", "text/a.txt", "text/b.txt"]),
    ] {
        assert_eq!(names(pattern, folder.path()), expected, "{pattern}");
    }
    // A pattern may be absolute.
    let absolute = format!("{:?}", folder.path().canonicalize().unwrap().join("text/*.md"));
    assert_eq!(names(&absolute, folder.path()), ["text/c.md"]);
}

#[test]
fn two_stars_match_any_depth() {
    let folder = folder_of(&[b"a.txt", b"x/b.txt", b"x/y/c.txt", b"x/y/z/d.md", b".git/e.txt"]);
    for (pattern, expected) in [
        ("\"**/*.txt\"", &["a.txt", "x/b.txt", "x/y/c.txt"][..]),
        ("\"x/**/*\"", &["x/b.txt", "x/y/c.txt", "x/y/z/d.md"]),
        ("\"x/**\"", &["x/b.txt", "x/y/c.txt", "x/y/z/d.md"]),
        ("\"**/**/y/**/*\"", &["x/y/c.txt", "x/y/z/d.md"]),
        ("\"**/y/c.txt\"", &["x/y/c.txt"]),
    ] {
        assert_eq!(names(pattern, folder.path()), expected, "{pattern}");
    }
}

#[test]
fn file_names_may_contain_any_bytes() {
    let all: [&[u8]; 5] =
        [b"in/ two words", b"in/'\"$(x)`;", b"in/line\nbreak", b"in/no\xfftext", "in/größe".as_bytes()];
    let folder = folder_of(&all);
    let mut expected: Vec<Vec<u8>> = all.iter().map(|name| name.to_vec()).collect();
    expected.sort();
    assert_eq!(found("\"in/*\"", folder.path()), Ok(expected.clone()));
    assert_eq!(found("\"**\"", folder.path()), Ok(expected));
    assert_eq!(found("\"in/no*\"", folder.path()), Ok(vec![b"in/no\xfftext".to_vec()]));
    // The description shows a name on one line.
    let text = "[[phase]]\nname = \"p\"\ninputs = [\"in/line*\", \"in/no*\"]\ncommand = \"x\"";
    let shown = plan_of(text, folder.path()).unwrap().describe();
    assert!(shown.contains("inputs     2 files, in/line\\nbreak to in/no\u{fffd}text\n"), "{shown}");
}

#[test]
fn the_folder_itself_may_have_any_name() {
    let folder = tempfile::tempdir().unwrap();
    let odd = folder.path().join(OsStr::from_bytes(b"[a] *\xff"));
    std::fs::create_dir(&odd).unwrap();
    std::fs::write(odd.join("x.txt"), "").unwrap();
    assert_eq!(names("\"*.txt\"", &odd), ["x.txt"]);
}

#[test]
fn links_are_followed_but_not_in_circles() {
    let folder = folder_of(&[b"in/a.txt", b"elsewhere/b.txt"]);
    let link = |to: &str, name: &str| symlink(to, folder.path().join(name)).unwrap();
    link("../elsewhere/b.txt", "in/b.txt");
    link("../in", "in/circle");
    link("elsewhere", "linked");
    assert_eq!(names("\"in/*\"", folder.path()), ["in/a.txt", "in/b.txt"]);
    assert_eq!(names("\"in/**/*.txt\"", folder.path()), ["in/a.txt", "in/b.txt"]);
    assert_eq!(names("\"linked/*\"", folder.path()), ["linked/b.txt"]);
    assert_eq!(names("\"in/circle/a.txt\"", folder.path()), ["in/circle/a.txt"]);
    // `..` after a link is the parent of the folder to which the link points.
    assert_eq!(names("\"in/circle/../elsewhere/*\"", folder.path()), ["elsewhere/b.txt"]);
    link("nowhere", "in/broken.txt");
    let error = found("\"in/*.txt\"", folder.path()).unwrap_err();
    let expected = "inputs: \"in/*.txt\" leads to FOLDER/in/broken.txt, which can't be read: No such file";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_folder_that_cannot_be_read_is_an_error() {
    // No user, not even root, can read a link to itself.
    let folder = folder_of(&[b"in/a.txt"]);
    symlink("loop", folder.path().join("loop")).unwrap();
    for pattern in ["\"loop/*\"", "[\"in/*\", \"loop/**\"]", "\"loop\""] {
        let error = found(pattern, folder.path()).unwrap_err();
        let expected = "leads to FOLDER/loop, which can't be read: Too many levels of symbolic links";
        assert!(error.contains(expected), "{pattern}: {error}");
    }
    // A path through a file that is not a folder matches nothing.
    let error = found("\"in/a.txt/*\"", folder.path()).unwrap_err();
    assert!(error.contains("\"in/a.txt/*\" matches no file in FOLDER"), "{error}");
}

#[test]
fn variables_and_the_home_folder_stand_for_themselves_in_patterns() {
    let folder = tempfile::tempdir().unwrap();
    let odd = folder.path().join("a[1]*");
    std::fs::create_dir(&odd).unwrap();
    for name in ["x.fq", "$y.fq"] {
        std::fs::write(odd.join(name), "").unwrap();
    }
    let found = |pattern: &str| {
        let (home, folder) = (folder.path().to_str().unwrap(), folder.path());
        let text = format!(
            "environment = {{ ODD = \"a[1]*\", HOME = {home:?} }}\n\
             [[phase]]\nname = \"p\"\ninputs = {pattern:?}\ncommand = \"x\""
        );
        let plan = plan_of(&text, folder)?;
        let names = plan.phases[0].inputs.iter().flatten().map(|path| path.strip_prefix(&odd).unwrap().to_owned());
        Ok::<_, String>(names.map(|name| name.to_str().unwrap().to_owned()).collect::<Vec<_>>())
    };
    assert_eq!(found("$ODD/*").unwrap(), ["$y.fq", "x.fq"]);
    assert_eq!(found("~/${ODD}/x*").unwrap(), ["x.fq"]);
    assert_eq!(found("$HOME/$ODD/x.fq").unwrap(), ["x.fq"]);
    // A dollar sign before no name is part of the name of the file.
    assert_eq!(found("a*/$*").unwrap(), ["$y.fq"]);
    let error = found("$HINDMOST_NO_SUCH_VARIABLE/*").unwrap_err();
    assert!(error.contains("which is not set: export it"), "{error}");
}

#[test]
fn values_of_columns_stand_for_themselves_in_patterns() {
    let folder = folder_of(&[b"a$HOME.fq", b"[b]*.fq", b"~/c.fq"]);
    std::fs::write(folder.path().join("s.csv"), "file\na$HOME.fq\n[b]*.fq\n~/c.fq\n").unwrap();
    let text = "[[phase]]\nname = \"p\"\ntable = \"s.csv\"\ninputs = \"{file}\"\ncommand = \"x\"";
    let own = folder.path().canonicalize().unwrap();
    let plan = plan_of(text, folder.path()).unwrap_or_else(|error| panic!("{error}"));
    let inputs: Vec<_> = plan.phases[0].inputs.iter().flatten().map(|path| path.strip_prefix(&own).unwrap()).collect();
    assert_eq!(inputs, [Path::new("a$HOME.fq"), Path::new("[b]*.fq"), Path::new("~/c.fq")]);
}
