//! Tests that ending an attempt kills all its processes and no others.

use super::*;
use crate::process::roots::locked;

/// True if a process does not exist any more, not even as a zombie.
fn is_gone(process: &Identity) -> bool {
    stat_of(process).is_none()
}

/// Processes that a shell script leaves running: in its group, in their own session, leading a group, with an empty
/// environment, with closed descriptors, and orphaned twice. Five of them are called `sleep`, and none that ends soon.
const LEAVES: &str = "sleep 1000 & setsid sleep 1000 & timeout 1000 sleep 1000 & env -i setsid sleep 1000 & \
    (setsid sh -c 'exec <&- >&- 2>&-; (env -i sleep 1000 &) &' &) & timeout 0.2 tail -f /dev/null; ";

fn wait_for_sleepers(tree: &Tree, count: usize) -> Vec<Identity> {
    eventually("all processes have started", || {
        let running = tree.running();
        let sleeping = running.iter().filter(|one| name_of(one.pid).as_deref() == Some("sleep")).count();
        (sleeping == count).then_some(running)
    })
}

#[test]
fn all_processes_of_an_attempt_are_killed() {
    let tree = Tree::shell(&format!("{LEAVES} exit 7"));
    let all = wait_for_sleepers(&tree, 5);
    eventually("the root process has ended", || (!tree.root.is_running()).then_some(()));
    assert_eq!(tree.end(), Some(7));
    assert!(all.iter().all(|process| !process.is_running()));
    assert_eq!(tree.running(), []);
    eventually("all processes have been reaped", || {
        orphans::sweep();
        all.iter().all(is_gone).then_some(())
    });
}

#[test]
fn processes_of_another_attempt_are_kept() {
    let kept = Tree::shell(&format!("{LEAVES} sleep 1000"));
    let all = wait_for_sleepers(&kept, 6);
    for _ in 0..3 {
        let tree = Tree::shell("env -i setsid sleep 1000 & sleep 0.01");
        eventually("the root process has ended", || (!tree.root.is_running()).then_some(()));
        assert_eq!(tree.end(), Some(0));
        assert_eq!(tree.running(), []);
    }
    let running = kept.running();
    // Shells that have only started other processes end on their own.
    let sleeps = |process: &&Identity| name_of(process.pid).as_deref() == Some("sleep");
    assert_eq!(all.iter().filter(sleeps).filter(|process| running.contains(process)).count(), 6);
}

#[test]
fn a_root_that_was_killed_has_no_exit_code() {
    let tree = Tree::shell("sleep 1000; :");
    tree.wait_for(1, "sleep");
    kill_tree(&tree.root);
    eventually("the root process has ended", || (!tree.root.is_running()).then_some(()));
    assert_eq!(tree.end(), None);
    assert!(is_gone(&tree.root));
}

#[test]
fn an_attempt_that_keeps_forking_is_ended() {
    // Each process starts the next one and ends.
    for start in ["sh -c \"$0\" \"$0\" &", "setsid sh -c \"$0\" \"$0\" &", "env -i sh -c \"$0\" \"$0\" &"] {
        let tree = Tree::new(start, start);
        eventually("the root has ended", || (!tree.root.is_running()).then_some(()));
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(tree.end(), Some(0));
        assert_eq!(tree.running(), []);
    }
}

#[test]
fn orphans_that_end_are_reaped() {
    let tree = Tree::shell("(setsid sleep 2 &); (sleep 2 &); sleep 1000; :");
    let all = wait_for_sleepers(&tree, 3);
    eventually("two processes have been reaped", || {
        orphans::sweep();
        (all.iter().filter(|process| is_gone(process)).count() >= 2).then_some(())
    });
    assert!(tree.root.is_running());
}

#[test]
fn children_of_other_code_are_left_alone() {
    for group_of_its_own in [false, true] {
        let other = |script: &str| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]);
            if group_of_its_own {
                command.process_group(0);
            }
            // While another test starts an attempt, this process has that attempt's marks.
            let _spawning = locked(&roots::SPAWNING);
            command.spawn().unwrap()
        };
        let (mut ended, mut running) = (other("exit 7"), other("exec sleep 1000"));
        let identity = Identity::of(ended.id()).unwrap();
        eventually("the other child has ended", || (!identity.is_running()).then_some(()));
        let tree = Tree::shell("exit 0");
        eventually("the attempt has ended", || (!tree.root.is_running()).then_some(()));
        assert_eq!(tree.end(), Some(0));
        assert_eq!(ended.wait().unwrap().code(), Some(7));
        assert!(running.try_wait().unwrap().is_none());
        running.kill().unwrap();
        running.wait().unwrap();
    }
}

#[test]
fn strays_of_a_run_are_killed() {
    let tree = Tree::shell("env -i setsid sleep 1000 & sleep 1000 & exit 0");
    // A process that another test starts while this attempt starts has the attempt's marks too, so only these are counted.
    let sleepers: Vec<Identity> = wait_for_sleepers(&tree, 2)
        .into_iter()
        .filter(|process| name_of(process.pid).as_deref() == Some("sleep"))
        .collect();
    let strays = |run, kept: &[Mark]| {
        let kept = kept.iter().copied().collect();
        Strays { run, kept: &kept, of_run: &std::collections::HashSet::new(), groups: &[] }.end()
    };
    assert_eq!(strays(Mark::of_run("another", Path::new(FOLDER)), &[]), Vec::<String>::new());
    assert_eq!(strays(tree.tag.run, &[tree.tag.attempt]), Vec::<String>::new());
    assert!(sleepers.iter().all(Identity::is_running));
    orphans::forget(&tree.root);
    assert_eq!(strays(tree.tag.run, &[]), Vec::<String>::new());
    assert!(!sleepers.iter().any(Identity::is_running));
    assert_eq!(tree.running(), []);
}

#[test]
fn orphans_of_an_adopted_attempt_are_killed() {
    // The root process is treated like the child of another process, so its orphans are searched among all processes.
    let tree = Tree::shell("env -i setsid sleep 1000 & sleep 1000 & sleep 0.1");
    let all = wait_for_sleepers(&tree, 2);
    eventually("the root process has ended", || (!tree.root.is_running()).then_some(()));
    orphans::forget(&tree.root);
    adopt(&tree.root, tree.tag);
    assert_eq!(tree.end(), None);
    assert!(all.iter().all(|process| !process.is_running()));
}
