//! Processes are found by their environment, and what they have read and computed is known.

use std::io::Write;

use super::*;

#[test]
fn processes_are_found_by_their_environment() {
    let odd = "two words\nand=a line ";
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "setsid sleep 1000 & env -u HINDMOST_KEY sleep 1000 & env -i sleep 1000 & wait"]);
    let tree = Tree::of(command.env("HINDMOST_KEY", odd));
    tree.wait_for(3, "sleep");
    let find = |value: &str| find_by_environment(MARK, value, "HINDMOST_KEY");

    let found = find(&tree.mark);
    let with_key = found.iter().filter(|(_, key)| key.as_deref() == Some(odd.as_ref())).count();
    let without_key = found.iter().filter(|(_, key)| key.is_none()).count();
    assert_eq!((with_key, without_key), (2, 1), "{found:?}");
    assert!(found.iter().any(|(identity, _)| *identity == tree.root));
    assert!(found.iter().all(|(identity, _)| identity.is_alive()));

    // Neither the beginning of a value nor of a name is enough.
    assert_eq!(find(&tree.mark[1..]), []);
    assert_eq!(find(&format!("{}0", tree.mark)), []);
    assert_eq!(find_by_environment(&MARK[1..], &tree.mark, ""), []);

    kill_tree(&tree.root);
    tree.wait_for_end();
    assert_eq!(find(&tree.mark), [], "zombies don't count");
}

#[test]
fn this_process_is_not_found() {
    let path = std::env::var("PATH").unwrap();
    let found = find_by_environment("PATH", &path, "PATH");
    assert!(found.iter().all(|(identity, _)| identity.pid != std::process::id()));
}

/// A file of lines of ten bytes, with an odd name.
fn lines(folder: &Path, count: usize) -> std::path::PathBuf {
    let path = folder.join("a file\nof (lines) ");
    let mut file = std::fs::File::create(&path).unwrap();
    for line in 0..count {
        writeln!(file, "{line:09}").unwrap();
    }
    path
}

#[test]
fn the_share_read_is_the_furthest_position() {
    let folder = tempfile::tempdir().unwrap();
    let path = lines(folder.path(), 4);
    let tree = Tree::new("(read -r line; sleep 1000) < \"$0\" & sleep 1000 < \"$0\" & wait", &path);
    // Shells read no further than the line's end, or whole blocks where they can move back.
    eventually("a line has been read", || (read_share(&tree.root, &path)? == 0.25).then_some(()));
    kill_tree(&tree.root);
    tree.wait_for_end();
    assert_eq!(read_share(&tree.root, &path), None);
}

#[test]
fn the_share_read_is_known_of_pipelines() {
    let folder = tempfile::tempdir().unwrap();
    let path = lines(folder.path(), 500_000);
    let tree = Tree::new("cat \"$0\" | sleep 1000", &path);
    // It reads until the pipe is full.
    let share = eventually("something has been read", || read_share(&tree.root, &path).filter(|share| *share > 0.0));
    assert!(share < 1.0);
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(read_share(&tree.root, &link).is_some(), "by another name it is the same file");
}

#[test]
fn a_share_is_of_files_that_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = lines(folder.path(), 4);
    let (empty, other, pipe) = (folder.path().join("empty"), folder.path().join("other"), folder.path().join("pipe"));
    std::fs::write(&empty, "").unwrap();
    std::fs::write(&other, "nobody reads this").unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    let tree = Tree::new("exec < \"$0/empty\" 3<> \"$0/pipe\" 4>> \"$0/other\"; sleep 1000; :", folder.path());
    tree.wait_for(1, "sleep");
    for file in [&empty, &other, &pipe, &path, &folder.path().to_owned(), &folder.path().join("missing")] {
        assert_eq!(read_share(&tree.root, file), None, "{}", file.display());
    }

    // Past the end, as a file may have become shorter.
    let whole = Tree::new("exec < \"$0\"; cat > /dev/null; sleep 1000; :", &path);
    eventually("all has been read", || (read_share(&whole.root, &path)? == 1.0).then_some(()));
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(20).unwrap();
    assert_eq!(read_share(&whole.root, &path), Some(1.0));
}

#[test]
fn cpu_time_is_that_of_the_whole_tree() {
    let tree = Tree::shell("(while :; do :; done) & sleep 1000; :");
    let first = eventually("it has computed", || cpu_seconds(&tree.root).filter(|seconds| *seconds > 0.02));
    eventually("it goes on", || cpu_seconds(&tree.root).filter(|seconds| *seconds > first));
    kill_tree(&tree.root);
    tree.wait_for_end();
    eventually("nobody is left who has computed", || cpu_seconds(&tree.root).is_none().then_some(()));
}
