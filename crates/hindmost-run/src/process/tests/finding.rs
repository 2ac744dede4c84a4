//! Tests that processes are found by marks and environment, and that their reading and CPU time are measured.

use std::io::Write;
use std::slice;

use super::*;

/// Returns the processes for which `wanted` is true.
fn found(wanted: impl Fn(&membership::Membership<'_>) -> bool) -> Vec<Identity> {
    membership::scan(wanted).iter().map(|stat| stat.identity().unwrap()).collect()
}

#[test]
fn processes_are_found_by_marks_and_environment() {
    let unmarked = "prlimit --rttime=unlimited --locks=unlimited";
    let tree = Tree::shell(&format!("setsid sleep 1000 & env -i sleep 1000 & {unmarked} sleep 1000 & wait"));
    tree.wait_for(3, "sleep");
    let of_attempt = eventually("the processes are found", || {
        Some(found(|membership| membership.is_of(tree.tag.attempt))).filter(|found| found.len() == 4)
    });
    assert!(of_attempt.contains(&tree.root));
    assert_eq!(found(|membership| membership.is_of_run(tree.tag.run)).len(), 4);

    let others = [Tag::new("another", Path::new(FOLDER), KEY), Tag::new("", Path::new("/"), KEY)];
    for other in others {
        assert_eq!(found(|membership| membership.is_of(other.attempt) || membership.is_of_run(other.run)), []);
    }
    kill_tree(&tree.root);
    tree.wait_for_end();
    assert_eq!(found(|membership| membership.is_of(tree.tag.attempt)), [], "zombies don't count");
}

#[test]
fn runs_within_attempts_are_found() {
    // A hindmost inside the attempt would start processes like these: with marks and variables of its own run.
    let tree = Tree::shell(&format!(
        "own=$(prlimit --rttime --noheadings --raw --output SOFT)
        inner='prlimit --rttime=4611686018427387999: --locks=4611686018427387999:'
        $inner --rss=$own: env -i sleep 1000 &
        $inner env {RUN_VARIABLE}=inner {KEY_VARIABLE}=1.1.1 {FOLDER_VARIABLE}=/inner \
            {WITHIN_VARIABLE}=1,$(printf %016x $own) sleep 1000 &
        $inner env -i sleep 1000 &
        wait"
    ));
    tree.wait_for(3, "sleep");
    // A process that is just executing its program shows no environment yet. The third inner one has no sign of this attempt.
    let of_attempt = eventually("the processes are found", || {
        Some(found(|membership| membership.is_of(tree.tag.attempt))).filter(|found| found.len() == 3)
    });
    assert_eq!(found(|membership| membership.is_of_run(tree.tag.run)), slice::from_ref(&tree.root));
    assert!(of_attempt.iter().filter(|process| is_proven(process, tree.tag)).eq([&tree.root]));
}

#[test]
fn a_root_is_found_by_its_command_line() {
    let tree = Tree::new("setsid sleep 1000 & (sleep 1000; :) & sleep 1000; :", "a name");
    eventually("all processes have started", || (tree.running().len() == 5).then_some(()));
    assert_eq!(find_root(tree.tag, &["a name"]), Some(tree.root.clone()));
    assert_eq!(find_root(tree.tag, &["a name", "another"]), None);
    assert_eq!(find_root(Tag::new("another", Path::new(FOLDER), KEY), &["a name"]), None);
}

#[test]
fn only_proven_processes_are_adopted() {
    let tree = Tree::shell("exec sleep 1000");
    assert!(is_proven(&tree.root, tree.tag));
    let other = Tag::new("another", Path::new(FOLDER), KEY);
    assert!(!is_proven(&tree.root, other));
    let wrong = Identity { start_time: tree.root.start_time + 1, ..tree.root.clone() };
    assert!(!is_proven(&wrong, tree.tag));
    assert!(!is_proven(&Identity::of(std::process::id()).unwrap(), tree.tag));
    kill_tree(&tree.root);
    tree.wait_for_end();
    assert!(!is_proven(&tree.root, tree.tag));
}

/// Creates a file with an unusual name and lines of ten bytes.
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
    // Shells read up to the end of the line, or read whole blocks and seek back.
    eventually("a line has been read", || (read_share(&tree.root, &path)? == 0.25).then_some(()));
    kill_tree(&tree.root);
    tree.wait_for_end();
    assert_eq!(read_share(&tree.root, &path), None);
}

#[test]
fn the_share_read_is_known_for_pipelines() {
    let folder = tempfile::tempdir().unwrap();
    let path = lines(folder.path(), 500_000);
    let tree = Tree::new("cat \"$0\" | sleep 1000", &path);
    // `cat` reads until the pipe is full.
    let share = eventually("something has been read", || read_share(&tree.root, &path).filter(|share| *share > 0.0));
    assert!(share < 1.0);
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(read_share(&tree.root, &link).is_some(), "a link leads to the same file");
}

#[test]
fn the_share_is_unknown_for_files_that_are_not_read() {
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

    // The file is truncated, so the position is past its end.
    let whole = Tree::new("exec < \"$0\"; cat > /dev/null; sleep 1000; :", &path);
    eventually("the whole file has been read", || (read_share(&whole.root, &path)? == 1.0).then_some(()));
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(20).unwrap();
    assert_eq!(read_share(&whole.root, &path), Some(1.0));
}

#[test]
fn cpu_time_includes_the_whole_tree() {
    let tree = Tree::shell("(while :; do :; done) & sleep 1000; :");
    let first = eventually("the loop has used CPU time", || cpu_seconds(&tree.root).filter(|seconds| *seconds > 0.02));
    eventually("the CPU time grows", || cpu_seconds(&tree.root).filter(|seconds| *seconds > first));
    kill_tree(&tree.root);
    tree.wait_for_end();
    eventually("no running process is left", || cpu_seconds(&tree.root).is_none().then_some(()));
}
