//! Tests that whole trees of processes are found, stopped, continued and killed.

use super::*;
use crate::process::tree::{self, Children};

/// A script with six processes below the root: in the root's group, in their own session and in their own group.
const SCATTERED: &str = "sleep 1000 | sleep 1000 & setsid sh -c 'sleep 1000; :' & timeout 1000 sleep 1000 & wait";

/// Starts the script, and waits until all processes are in their groups and sessions.
fn scattered() -> (Tree, Vec<Identity>) {
    let tree = Tree::shell(SCATTERED);
    let found = eventually("all processes have started", || {
        let found = descendants(tree.root.pid);
        let sleeping = found.iter().filter(|pid| name_of(**pid).as_deref() == Some("sleep")).count();
        (sleeping == 4).then_some(found)
    });
    let all: Vec<Identity> = found.into_iter().map(|pid| Identity::of(pid).unwrap()).collect();
    assert_eq!(all.len(), 6);
    let outside = all.iter().filter(|one| stat_of(one).unwrap().group != tree.root.pid).count();
    assert_eq!(outside, 4, "processes outside the root's group");
    (tree, all)
}

#[test]
fn a_pipeline_is_killed() {
    let tree = Tree::shell("sleep 1000 | sleep 1000 | sleep 1000");
    tree.wait_for(3, "sleep");
    kill_tree(&tree.root);
    tree.wait_for_end();
}

#[test]
fn processes_that_left_the_group_are_killed() {
    let (tree, all) = scattered();
    kill_tree(&tree.root);
    eventually("all processes have ended", || all.iter().all(|one| !one.is_running()).then_some(()));
    tree.wait_for_end();
}

#[test]
fn the_kernels_list_and_a_scan_find_the_same_children() {
    let (tree, all) = scattered();
    let sorted = |mut pids: Vec<u32>| {
        pids.sort_unstable();
        pids
    };
    let expected = sorted(all.iter().chain([&tree.root]).map(|one| one.pid).collect());
    for children in [Children::look(), Children::scan()] {
        let members = tree::list(&children, &tree.root);
        assert_eq!(members[0].pid, tree.root.pid);
        assert_eq!(sorted(members.into_iter().map(|member| member.pid).collect()), expected);
    }
}

#[test]
fn a_tree_that_keeps_forking_is_killed() {
    for fork in ["sleep 1000 &", "setsid sleep 1000 &", "sh -c 'sleep 1000 & sleep 1000' &"] {
        let tree = Tree::shell(&format!("i=0; while [ $i -lt 400 ]; do i=$((i+1)); {fork} sleep 0.002; done; wait"));
        eventually("20 processes have been started", || (descendants(tree.root.pid).len() >= 20).then_some(()));
        kill_tree(&tree.root);
        eventually("the root has ended", || (!tree.root.is_running()).then_some(()));
        // One kill reaches all processes; those that still exist are ending.
        tree.wait_for_end();
    }
}

#[test]
fn daemons_are_found_among_the_orphans() {
    let tree = Tree::shell("(setsid sleep 1000 &); sleep 1000; :");
    let daemons = || orphans::sweep().into_iter().filter(|orphan| orphan.of == Some(tree.tag.attempt));
    let orphan = eventually("the daemon is a child of this process", || {
        let found: Vec<_> = daemons().collect();
        assert!(found.len() <= 1 && found.iter().all(|orphan| orphan.pid != tree.root.pid), "roots are no orphans");
        let identity = Identity::of(found.first()?.pid).ok()?;
        (stat_of(&identity)?.group == identity.pid && name_of(identity.pid)? == "sleep").then_some(identity)
    });
    assert!(!descendants(tree.root.pid).contains(&orphan.pid));
    kill_tree(&tree.root);
    eventually("the root has ended", || (!tree.root.is_running()).then_some(()));
    assert!(orphan.is_running());
    kill_tree(&orphan);
    tree.wait_for_end();
    assert_eq!(daemons().count(), 0);
}

#[test]
fn orphans_in_the_group_belong_to_the_tree() {
    // The orphan has a child that has left the group.
    let tree = Tree::shell("(sh -c 'setsid sleep 1000 & wait' &); sleep 1000; :");
    eventually("all processes have started", || {
        let pids: Vec<u32> = tree::of(&tree.root).iter().map(|member| member.pid).collect();
        (pids.iter().filter(|pid| name_of(**pid).as_deref() == Some("sleep")).count() == 2 && pids.len() == 4)
            .then_some(())
    });
    kill_tree(&tree.root);
    tree.wait_for_end();
}

#[test]
fn orphans_in_the_group_of_an_ended_root_are_killed() {
    for reaped in [false, true] {
        let tree = Tree::shell("sleep 1000 & sleep 1000 & exit 0");
        eventually("the root process has ended", || (!tree.root.is_running()).then_some(()));
        eventually("the other processes have started", || (tree.running().len() == 2).then_some(()));
        if reaped {
            reap(&tree.root);
            assert_eq!(stat_of(&tree.root).map(|stat| stat.pid), None);
            orphans::forget(&tree.root);
        }
        kill_tree(&tree.root);
        tree.wait_for_end();
    }
}

#[test]
fn no_thread_of_a_held_tree_runs() {
    // More busy processes than processors: those that do not run when the signal comes are stopped only when it is their turn.
    let busy = "while :; do : > /dev/null; done";
    let tree = Tree::shell(&format!("for i in 1 2 3 4 5 6 7 8; do setsid nice -n 19 sh -c '{busy}' & done; {busy}"));
    let found = eventually("all processes have started", || {
        let found = descendants(tree.root.pid);
        (found.len() == 8 && found.iter().all(|pid| name_of(*pid).as_deref() == Some("sh"))).then_some(found)
    });
    for _ in 0..20 {
        assert!(hold_tree(&tree.root));
        let states = found.iter().chain([&tree.root.pid]).map(|pid| stat::Stat::read(*pid).unwrap().is_stopped());
        assert_eq!(states.collect::<Vec<_>>(), [true; 9]);
        continue_tree(&tree.root);
    }
    kill_tree(&tree.root);
    tree.wait_for_end();
}

#[test]
fn a_tree_is_stopped_and_continued() {
    let (tree, all) = scattered();
    let everyone = || all.iter().chain([&tree.root]).map(|one| stat_of(one).expect("no process has ended"));
    for _ in 0..2 {
        stop_tree(&tree.root);
        eventually("all processes are stopped", || everyone().all(|stat| stat.is_stopped()).then_some(()));
        continue_tree(&tree.root);
        eventually("all processes are continued", || everyone().all(|stat| !stat.is_stopped()).then_some(()));
    }
    stop_tree(&tree.root);
    kill_tree(&tree.root);
    tree.wait_for_end();
}

#[test]
fn a_group_is_signalled() {
    let tree = Tree::shell("sleep 1000 & wait");
    let sleeping = tree.wait_for(1, "sleep");
    let sleeping = Identity::of(sleeping[0]).unwrap();
    let both = || [stat_of(&tree.root).unwrap(), stat_of(&sleeping).unwrap()];
    assert!(signal_group(tree.root.pid, Signal::Stop).unwrap());
    eventually("both processes are stopped", || both().iter().all(Stat::is_stopped).then_some(()));
    assert!(signal_group(tree.root.pid, Signal::Continue).unwrap());
    eventually("both processes are continued", || both().iter().all(|stat| !stat.is_stopped()).then_some(()));
    assert!(signal_group(tree.root.pid, Signal::Kill).unwrap());
    tree.wait_for_end();
}
