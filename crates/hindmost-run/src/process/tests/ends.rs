//! Ends are told, once, and nothing stays a zombie.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, channel};

use super::*;

fn watcher() -> (Watcher, Receiver<u64>) {
    let (sender, receiver) = channel();
    let watcher = Watcher::new(move |token| {
        let _ = sender.send(token);
    });
    (watcher.unwrap(), receiver)
}

/// Whether nothing is left of a process, not even a zombie.
fn is_gone(process: &Identity) -> bool {
    stat_of(process).is_none()
}

#[test]
fn every_end_is_told_once() {
    const COUNT: u64 = 200;
    let (watcher, ends) = watcher();
    let mut trees = Vec::new();
    for token in 0..COUNT {
        let tree = Tree::shell("exit 3");
        watcher.watch(&tree.root, token).unwrap();
        trees.push(tree);
    }
    let told: BTreeSet<u64> = (0..COUNT).map(|_| ends.recv_timeout(LIMIT).unwrap()).collect();
    assert_eq!(told, (0..COUNT).collect());
    assert!(trees.iter().all(|tree| is_gone(&tree.root)), "all have been reaped by the time they are told");
    drop(watcher);
    assert!(ends.recv().is_err(), "nothing is told twice");
}

#[test]
fn ends_that_came_before_are_told() {
    let tree = Tree::shell("exit 0");
    eventually("it has ended", || (!tree.root.is_alive()).then_some(()));
    let (watcher, ends) = watcher();
    watcher.watch(&tree.root, 1).unwrap();
    assert_eq!(ends.recv_timeout(LIMIT), Ok(1));
    assert!(is_gone(&tree.root));

    // It is gone altogether by now.
    watcher.watch(&tree.root, 2).unwrap();
    assert_eq!(ends.recv_timeout(LIMIT), Ok(2));
    // Nor is another process meant that has its pid.
    let ourselves = Identity::of(std::process::id()).unwrap();
    watcher.watch(&Identity { start_time: ourselves.start_time + 1, ..ourselves.clone() }, 3).unwrap();
    assert_eq!(ends.recv_timeout(LIMIT), Ok(3));
    watcher.watch(&Identity { boot_id: String::new(), ..ourselves }, 4).unwrap();
    assert_eq!(ends.recv_timeout(LIMIT), Ok(4));
    drop(watcher);
    assert!(ends.recv().is_err());
}

#[test]
fn the_same_process_may_be_watched_twice_and_tokens_may_be_equal() {
    let tree = Tree::shell("exec sleep 1000");
    let (watcher, ends) = watcher();
    for _ in 0..2 {
        watcher.watch(&tree.root, u64::MAX).unwrap();
    }
    kill_tree(&tree.root);
    for _ in 0..2 {
        assert_eq!(ends.recv_timeout(LIMIT), Ok(u64::MAX));
    }
}

#[test]
fn the_end_of_a_grandchild_is_told() {
    let tree = Tree::shell("sleep 1000 & while :; do wait; sleep 1000; done");
    let grandchild = eventually("there is a grandchild", || descendants(tree.root.pid).first().copied());
    let grandchild = Identity::of(grandchild).unwrap();
    let (watcher, ends) = watcher();
    watcher.watch(&grandchild, 5).unwrap();
    watcher.watch(&tree.root, 6).unwrap();
    pidfd::send(&stat_of(&grandchild).unwrap(), Signal::Kill);
    assert_eq!(ends.recv_timeout(LIMIT), Ok(5));
    assert!(!grandchild.is_alive());
    kill_tree(&tree.root);
    assert_eq!(ends.recv_timeout(LIMIT), Ok(6));
}

#[test]
fn a_dropped_watcher_tells_nothing() {
    let tree = Tree::shell("exec sleep 1000");
    let (watcher, ends) = watcher();
    watcher.watch(&tree.root, 1).unwrap();
    drop(watcher);
    assert!(ends.recv().is_err(), "the thread and what it calls are gone");
    assert!(tree.root.is_alive());
}

#[test]
fn a_watcher_may_be_dropped_by_what_it_calls() {
    let tree = Tree::shell("exit 0");
    let (to_thread, from_test) = channel::<Watcher>();
    let (sender, done) = channel();
    let watcher = Watcher::new(move |_| {
        drop(from_test.recv());
        let _ = sender.send(());
    });
    let watcher = watcher.unwrap();
    watcher.watch(&tree.root, 1).unwrap();
    to_thread.send(watcher).unwrap();
    done.recv_timeout(LIMIT).unwrap();
}

#[test]
fn orphans_of_attempts_are_reaped() {
    // In the group; in a session of its own; in a group of its own that it leads.
    let tree = Tree::shell("sleep 1000 | sleep 1000 & setsid sleep 1000 & timeout 1000 sleep 1000 & wait");
    let all = eventually("all have started", || {
        let found = descendants(tree.root.pid);
        let sleeping = found.iter().filter(|pid| name_of(**pid).as_deref() == Some("sleep")).count();
        (sleeping == 4).then_some(found)
    });
    let all: Vec<Identity> = all.into_iter().map(|pid| Identity::of(pid).unwrap()).collect();
    let (watcher, ends) = watcher();
    watcher.watch(&tree.root, 1).unwrap();
    kill_tree(&tree.root);
    assert_eq!(ends.recv_timeout(LIMIT), Ok(1));
    eventually("all have been reaped", || all.iter().all(is_gone).then_some(()));
}

#[test]
fn orphans_that_live_on_are_reaped_when_they_end() {
    let tree = Tree::shell("sleep 1000 & sleep 1000 & exit 0");
    let (watcher, ends) = watcher();
    watcher.watch(&tree.root, 1).unwrap();
    assert_eq!(ends.recv_timeout(LIMIT), Ok(1));
    let orphans = eventually("they are ours", || {
        let found = adopted_orphans(MARK, &tree.mark, "");
        (found.len() == 2).then_some(found)
    });
    for (orphan, _) in &orphans {
        pidfd::send(&stat_of(orphan).unwrap(), Signal::Kill);
    }
    eventually("they have been reaped", || orphans.iter().all(|(orphan, _)| is_gone(orphan)).then_some(()));
}

#[test]
fn children_of_other_code_are_left_alone() {
    use std::os::unix::process::CommandExt;
    let (watcher, ends) = watcher();
    for group_of_its_own in [false, true] {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exit 7"]);
        if group_of_its_own {
            command.process_group(0);
        }
        let mut child = command.spawn().unwrap();
        let identity = Identity::of(child.id()).unwrap();
        eventually("it has ended", || (!identity.is_alive()).then_some(()));
        // An end, upon which our children are looked through.
        let tree = Tree::shell("exit 0");
        watcher.watch(&tree.root, 1).unwrap();
        assert_eq!(ends.recv_timeout(LIMIT), Ok(1));
        assert_eq!(child.wait().unwrap().code(), Some(7));
    }
}
