//! Tests that the watcher reports the end of each process once.

use std::collections::BTreeSet;

use super::*;

/// Waits until the watcher has reported `count` tokens, and returns them.
fn reported(watcher: &mut Watcher, count: usize) -> Vec<u64> {
    let mut reported = Vec::new();
    eventually("all ends are reported", || {
        reported.extend(watcher.wait(Duration::from_millis(10)));
        (reported.len() >= count).then_some(())
    });
    reported
}

#[test]
fn every_end_is_reported_once() {
    const COUNT: u64 = 200;
    let mut watcher = Watcher::new().unwrap();
    let mut trees = Vec::new();
    for token in 0..COUNT {
        let tree = Tree::shell("exit 3");
        watcher.watch(&tree.root, token).unwrap();
        trees.push(tree);
    }
    let reported = reported(&mut watcher, COUNT as usize);
    assert_eq!(reported.len(), COUNT as usize);
    assert_eq!(reported.into_iter().collect::<BTreeSet<_>>(), (0..COUNT).collect());
    assert!(trees.iter().all(|tree| stat_of(&tree.root).is_some()), "the watcher has reaped a process");
    assert_eq!(watcher.count(), 0);
    assert!(watcher.wait(Duration::ZERO).is_empty(), "an end is reported twice");
}

#[test]
fn ends_before_watching_are_reported() {
    let mut watcher = Watcher::new().unwrap();
    let tree = Tree::shell("exit 0");
    eventually("the root process has ended", || (!tree.root.is_running()).then_some(()));
    watcher.watch(&tree.root, 1).unwrap();
    assert_eq!(reported(&mut watcher, 1), [1]);

    assert_eq!(tree.end(), Some(0));
    // The process has been reaped by `end`.
    watcher.watch(&tree.root, 2).unwrap();
    // Another process with the same pid does not count.
    let own = Identity::of(std::process::id()).unwrap();
    watcher.watch(&Identity { start_time: own.start_time + 1, ..own.clone() }, 3).unwrap();
    watcher.watch(&Identity { boot_id: String::new(), ..own }, 4).unwrap();
    assert_eq!(watcher.wait(LIMIT), [2, 3, 4]);
    assert!(watcher.wait(Duration::ZERO).is_empty());
}

#[test]
fn a_process_may_be_watched_twice() {
    let mut watcher = Watcher::new().unwrap();
    let tree = Tree::shell("exec sleep 1000");
    for _ in 0..2 {
        watcher.watch(&tree.root, u64::MAX).unwrap();
    }
    assert!(watcher.wait(Duration::from_millis(1)).is_empty());
    kill_tree(&tree.root);
    assert_eq!(reported(&mut watcher, 2), [u64::MAX, u64::MAX]);
}

#[test]
fn the_end_of_a_grandchild_is_reported() {
    let mut watcher = Watcher::new().unwrap();
    let tree = Tree::shell("sleep 1000 & while :; do wait; sleep 1000; done");
    let grandchild = eventually("there is a grandchild", || descendants(tree.root.pid).first().copied());
    let grandchild = Identity::of(grandchild).unwrap();
    watcher.watch(&grandchild, 5).unwrap();
    watcher.watch(&tree.root, 6).unwrap();
    pidfd::send(&stat_of(&grandchild).unwrap(), Signal::Kill);
    assert_eq!(reported(&mut watcher, 1), [5]);
    assert!(!grandchild.is_running());
    kill_tree(&tree.root);
    assert_eq!(reported(&mut watcher, 1), [6]);
}
