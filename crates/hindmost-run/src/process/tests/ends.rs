//! Ends of processes are told once.

use std::collections::BTreeSet;

use super::*;

/// The tokens that are told until there are this many.
fn told(watcher: &mut Watcher, count: usize) -> Vec<u64> {
    let mut told = Vec::new();
    eventually("all ends are told", || {
        told.extend(watcher.wait(Duration::from_millis(10)));
        (told.len() >= count).then_some(())
    });
    told
}

#[test]
fn every_end_is_told_once() {
    const COUNT: u64 = 200;
    let mut watcher = Watcher::new().unwrap();
    let mut trees = Vec::new();
    for token in 0..COUNT {
        let tree = Tree::shell("exit 3");
        watcher.watch(&tree.root, token).unwrap();
        trees.push(tree);
    }
    let told = told(&mut watcher, COUNT as usize);
    assert_eq!(told.len(), COUNT as usize);
    assert_eq!(told.into_iter().collect::<BTreeSet<_>>(), (0..COUNT).collect());
    assert!(trees.iter().all(|tree| stat_of(&tree.root).is_some()), "none is reaped");
    assert_eq!(watcher.count(), 0);
    assert!(watcher.wait(Duration::ZERO).is_empty(), "nothing is told twice");
}

#[test]
fn ends_that_came_before_are_told() {
    let mut watcher = Watcher::new().unwrap();
    let tree = Tree::shell("exit 0");
    eventually("it has ended", || (!tree.root.is_alive()).then_some(()));
    watcher.watch(&tree.root, 1).unwrap();
    assert_eq!(told(&mut watcher, 1), [1]);

    assert_eq!(tree.end(), Some(0));
    // It is gone altogether by now.
    watcher.watch(&tree.root, 2).unwrap();
    // Nor is another process meant that has its pid.
    let ourselves = Identity::of(std::process::id()).unwrap();
    watcher.watch(&Identity { start_time: ourselves.start_time + 1, ..ourselves.clone() }, 3).unwrap();
    watcher.watch(&Identity { boot_id: String::new(), ..ourselves }, 4).unwrap();
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
    assert_eq!(told(&mut watcher, 2), [u64::MAX, u64::MAX]);
}

#[test]
fn the_end_of_a_grandchild_is_told() {
    let mut watcher = Watcher::new().unwrap();
    let tree = Tree::shell("sleep 1000 & while :; do wait; sleep 1000; done");
    let grandchild = eventually("there is a grandchild", || descendants(tree.root.pid).first().copied());
    let grandchild = Identity::of(grandchild).unwrap();
    watcher.watch(&grandchild, 5).unwrap();
    watcher.watch(&tree.root, 6).unwrap();
    pidfd::send(&stat_of(&grandchild).unwrap(), Signal::Kill);
    assert_eq!(told(&mut watcher, 1), [5]);
    assert!(!grandchild.is_alive());
    kill_tree(&tree.root);
    assert_eq!(told(&mut watcher, 1), [6]);
}
