//! Tests of the identities of processes.

use super::*;

#[test]
fn a_child_has_its_own_identity() {
    let tree = Tree::shell("exec sleep 1000");
    assert_eq!(Identity::of(tree.root.pid).unwrap(), tree.root);
    assert!(tree.root.is_running());
    assert_eq!(tree.root.boot_id, boot_id().unwrap());

    let written = serde_json::to_string(&tree.root).unwrap();
    assert_eq!(serde_json::from_str::<Identity>(&written).unwrap(), tree.root);

    let stat = stat_of(&tree.root).unwrap();
    assert_eq!(stat.group, tree.root.pid, "the child leads a group of its own");
    assert_eq!(stat.parent, std::process::id());
    assert_ne!(Identity::of(std::process::id()).unwrap(), tree.root);
}

#[test]
fn a_zombie_has_ended_but_has_an_identity() {
    let tree = Tree::shell("exec sleep 1000");
    assert!(signal_group(tree.root.pid, Signal::Kill).unwrap());
    eventually("the child is a zombie", || stat_of(&tree.root).is_some_and(|stat| stat.has_ended()).then_some(()));
    assert!(!tree.root.is_running());
    assert_eq!(Identity::of(tree.root.pid).unwrap(), tree.root);

    reap(&tree.root);
    assert!(!tree.root.is_running());
    assert_ne!(Identity::of(tree.root.pid).ok(), Some(tree.root.clone()));
}

#[test]
fn another_process_with_the_pid_is_not_touched() {
    let tree = Tree::shell("sleep 1000 & sleep 1000 & wait");
    tree.wait_for(2, "sleep");
    let earlier = Identity { start_time: tree.root.start_time - 1, ..tree.root.clone() };
    let other_boot = Identity { boot_id: "of another day".to_owned(), ..tree.root.clone() };
    for wrong in [earlier, other_boot] {
        assert!(!wrong.is_running());
        assert_eq!(cpu_seconds(&wrong), None);
        stop_tree(&wrong);
        kill_tree(&wrong);
        assert_eq!(descendants(tree.root.pid).len(), 2);
        // No signal was sent: the process is not stopped, and no signal is pending.
        let status = std::fs::read_to_string(format!("/proc/{}/status", tree.root.pid)).unwrap();
        assert!(status.lines().any(|line| line == "ShdPnd:\t0000000000000000"), "{status}");
        let stat = stat_of(&tree.root).unwrap();
        assert!(!stat.is_stopped() && !stat.has_ended());
    }
}

#[test]
fn impossible_groups_are_not_signalled() {
    for group in [0, 1, u32::MAX] {
        assert!(signal_group(group, Signal::Kill).is_err());
    }
    let tree = Tree::shell("exec sleep 1000");
    // `kill_tree` would remember the process, and then another test might reap it.
    assert!(signal_group(tree.root.pid, Signal::Kill).unwrap());
    eventually("the root process has ended", || (!tree.root.is_running()).then_some(()));
    assert!(signal_group(tree.root.pid, Signal::Continue).unwrap(), "the process has not been reaped");
    reap(&tree.root);
    assert!(!signal_group(tree.root.pid, Signal::Continue).unwrap());
}

#[test]
fn program_names_may_contain_brackets_and_newlines() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("a) Z 1\n(b ");
    std::os::unix::fs::symlink("/bin/sh", &program).unwrap();
    let tree = Tree::of(Command::new(&program).args(["-c", "sleep 1000; :"]));
    assert_eq!(Identity::of(tree.root.pid).unwrap(), tree.root);
    let stat = stat_of(&tree.root).unwrap();
    assert!(!stat.has_ended());
    assert_eq!((stat.parent, stat.group), (std::process::id(), tree.root.pid));
    tree.wait_for(1, "sleep");
    kill_tree(&tree.root);
    tree.wait_for_end();
}

#[test]
fn a_line_of_proc_is_parsed() {
    let line = b"7 (x) R 1 (y) S 4 5 6 0 -1 4194304 100 0 0 0 30 12 0 0 20 0 3 0 99 3133440 383 18446744073709551615\n";
    let stat = Stat::parse(7, line).unwrap();
    assert_eq!((stat.pid, stat.parent, stat.group, stat.session), (7, 4, 5, 6));
    assert_eq!((stat.cpu_ticks, stat.threads, stat.start_time, stat.has_memory), (42, 3, 99, true));
    assert!(!stat.has_ended() && !stat.is_stopped());

    let ended = |state: &str, threads: u32| {
        let line = format!("7 (x) {state} 4 5 6 0 -1 4194304 100 0 0 0 30 12 0 0 20 0 {threads} 0 99 0 0 0");
        Stat::parse(7, line.as_bytes()).unwrap().has_ended()
    };
    assert!(ended("Z", 1) && ended("X", 0));
    assert!(!ended("Z", 2), "other threads of the process still run");
    let reaped = Stat::parse(7, b"7 (x) X 1 -1 -1 0 -1 4194316 0 0 0 0 0 0 0 0 20 0 0 0 99 0 0 0").unwrap();
    assert!(reaped.has_ended());
    assert_eq!((reaped.group, reaped.session), (0, 0));
    for short in [&b""[..], b"7 (x", b"7 (x) R 1 2"] {
        assert!(Stat::parse(7, short).is_none());
    }
}
