//! What attempts have used, against amounts that are known from elsewhere.

use super::*;

const MB: u64 = 1_048_576;
const BLOCKS: u64 = 65_536;

#[test]
fn memory_that_may_be_of_this_process_is_not_said() {
    // A process has the memory of its parent until it executes its program, so this one seems to have had as much.
    let (_, usage) = Tree::shell("exit 0").end_measured();
    assert_eq!(usage.memory, None);
    assert!(usage.cpu_seconds.unwrap() < 1.0);
}

#[test]
fn pages_that_running_processes_share_count_once() {
    // Four processes have the same 64 MB. The text may exist a second time as an intermediate result; all four have it then too. Each
    // process needs less than 4 MB of its own. Counted by process, it would be 256 MB at least.
    let tree = Tree::of(Command::new("perl").args(["-e", "$n = 64 << 20; $x = \"x\" x $n; fork; fork; sleep 600"]));
    tree.wait_for(3, "perl");
    let found = memory(&tree.root).unwrap();
    assert!((64 * MB..144 * MB).contains(&found.now) && (64 * MB..136 * MB).contains(&found.peak), "{found:?}");
}

#[test]
fn cpu_time_is_what_a_limit_allows() {
    // The limit counts whole clock ticks, 100 or more in a second, each for the process that runs at that moment, and what is measured
    // counts nanoseconds. The difference of such a sample is some hundredths; a half allows for any. Other processes do not matter.
    let (_, usage) = Tree::shell("(ulimit -t 1; while :; do :; done) 2>/dev/null; exit 0").end_measured();
    let seconds = usage.cpu_seconds.unwrap();
    assert!((0.5..1.5).contains(&seconds), "{seconds}");
}

#[test]
fn bytes_are_counted_that_reach_storage() {
    // `/tmp` may be in memory. Programs and libraries that are not in the page cache are read too: less than 16 MB.
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let file = folder.path().join("file");
    let write = "dd if=/dev/zero of=\"$0\" bs=1M count=16 conv=fsync 2>/dev/null";
    let (code, usage) = Tree::new(write, &file).end_measured();
    // Whole pages are written, and with them a few blocks of the folder and of the file system's own tables: less than 64 kB.
    let written = usage.written.unwrap();
    assert!(code == Some(0) && (16 * MB..16 * MB + BLOCKS).contains(&written), "{written}");
    let read = "dd if=\"$0\" of=/dev/null bs=1M iflag=direct 2>/dev/null";
    let (code, usage) = Tree::new(read, &file).end_measured();
    let (read, written) = (usage.read.unwrap(), usage.written.unwrap());
    assert!(code == Some(0) && (16 * MB..32 * MB).contains(&read) && written < BLOCKS, "{read} {written}");
}
