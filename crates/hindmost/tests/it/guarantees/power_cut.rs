//! Tests with a file system that is stopped without a warning. Data that was not synced is lost, as after a power cut.
//!
//! The run uses an ext4 image on a loop device. At a random moment the file system is shut down without a flush
//! (`FS_IOC_SHUTDOWN`), hindmost is killed, the image is mounted again and the run resumed. Needs root, loop devices
//! and `mkfs.ext4`.
//!
//! A usual run of the tests cuts the power in 6 runs, the nightly one in 60.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use hindmost_testing::{cases, left_out, seed};
use serde_json::Value;
use tempfile::TempDir;

use super::swapped_folders::kill_run;
use crate::hindmost;
use crate::scene::{ended, leftovers, run_id, until};

/// A job that writes its output in several steps, so that a missing part shows. The second phase fails if a part is
/// missing.
const JOB: &str = r#"
[[phase]]
name = "map"
tasks = 12
retries = 30
command = '''
set -e
for i in 0 1 2 3 4; do
    seq $((HINDMOST_TASK * 1000 + i * 100)) $((HINDMOST_TASK * 1000 + i * 100 + 99)) >> "$HINDMOST_OUTPUT/numbers"
    sleep 0.0$((HINDMOST_TASK % 4))
done
echo whole > "$HINDMOST_OUTPUT/state"
'''

[[phase]]
name = "sum"
after = ["map"]
tasks = 4
retries = 30
command = '''
set -e
for part in "$HINDMOST_FROM"/map/*; do
    read -r state < "$part/state"
    [ "$state" = whole ]
    awk '{ n += $1 } END { print NR, n }' "$part/numbers" >> "$HINDMOST_OUTPUT/sums"
done
sleep 0.03
'''
"#;

/// An image with a file system, mounted or not, in its own folder.
struct Disk {
    folder: TempDir,
    mounted: bool,
}

/// Runs a tool, which must succeed.
fn tool(program: &str, args: &[&str]) {
    let ran = Command::new(program).args(args).stdin(Stdio::null()).output().unwrap();
    assert!(ran.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

impl Disk {
    /// Creates and mounts an empty file system of this size; `None` if that is not possible.
    fn new(megabytes: u64) -> Option<Disk> {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        fs::File::create(&image).unwrap().set_len(megabytes << 20).unwrap();
        fs::create_dir(folder.path().join("disk")).unwrap();
        fs::write(folder.path().join("job.toml"), JOB).unwrap();
        let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image).output();
        if !made.is_ok_and(|made| made.status.success()) {
            left_out("there is no mkfs.ext4");
            return None;
        }
        let mut disk = Disk { folder, mounted: false };
        if disk.try_mount() {
            return Some(disk);
        }
        left_out("mounting an image is not permitted here");
        None
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn out(&self) -> PathBuf {
        self.path("disk/out")
    }

    fn try_mount(&mut self) -> bool {
        let mut command = Command::new("mount");
        command
            .args(["-o", "loop,errors=remount-ro"])
            .arg(self.path("image"))
            .arg(self.path("disk"))
            .stdin(Stdio::null());
        self.mounted = command.output().is_ok_and(|ran| ran.status.success());
        self.mounted
    }

    fn mount(&mut self) {
        assert!(self.try_mount(), "the image can't be mounted again");
    }

    /// Returns the name of the mounted device.
    fn device(&self) -> String {
        let (mounts, path) = (fs::read_to_string("/proc/mounts").unwrap(), self.path("disk"));
        let line = mounts.lines().find(|line| line.split(' ').nth(1) == path.to_str()).unwrap();
        line.split(' ').next().unwrap().rsplit('/').next().unwrap().to_owned()
    }

    fn unmount(&mut self) {
        let state = PathBuf::from("/sys/fs/ext4").join(self.device());
        // A process that was just killed may still use the file system.
        let unmounted = || Command::new("umount").arg(self.path("disk")).output().unwrap().status.success();
        until("the file system is unmounted", unmounted);
        self.mounted = false;
        // A mount namespace of another test may have a copy of the mount, which keeps the file system in use.
        until("the file system has stopped", || !state.exists());
    }

    /// Stops the file system at once. Data that was not written to the device is lost.
    fn cut_power(&self) {
        let script =
            r#"open my $f, "<", $ARGV[0] or die; my $flags = pack("I", 2); ioctl($f, 0x8004587d, $flags) or die $!"#;
        let disk = self.path("disk");
        tool("perl", &["-e", script, disk.to_str().unwrap()]);
    }

    /// Returns the command with this disk's folder as its working directory.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = hindmost();
        let log = |name: &str| fs::File::create(self.path(name)).unwrap();
        command.current_dir(self.folder.path()).args(["run", "job.toml", "--json", "--out", "disk/out"]).args(args);
        command.stdout(log("stdout")).stderr(log("stderr"));
        command
    }

    /// Runs the command to its end.
    fn run(&self, args: &[&str]) -> (Option<i32>, Value, String) {
        let mut child = self.command(args).spawn().unwrap();
        let status = ended(&mut child).expect("the command ends");
        let said = fs::read_to_string(self.path("stderr")).unwrap();
        assert!(!said.contains("panicked"), "{said}");
        let stdout = fs::read_to_string(self.path("stdout")).unwrap();
        (status.code(), serde_json::from_str(&stdout).unwrap_or_default(), said)
    }

    /// Starts a run, stops its file system a while after so many of its tasks have finished, and then kills all processes of the
    /// run.
    fn run_until_power_cut(&self, args: &[&str], results: u64, wait: Duration) {
        let child = RefCell::new(self.command(args).spawn().unwrap());
        let has_ended = || child.borrow_mut().try_wait().unwrap().is_some();
        until("tasks finish", || recorded(&self.out()).len() as u64 >= results || has_ended());
        let mut child = child.into_inner();
        std::thread::sleep(wait);
        let run = run_id(&self.out());
        self.cut_power();
        let _ = child.kill();
        let _ = child.wait();
        if let Some(run) = run.as_ref() {
            kill_run(run);
        }
    }

    /// Resumes the run, or begins it if it has not begun, and waits until it is done.
    fn finish(&self, args: &[&str]) -> String {
        let has_begun = self.out().join(".hindmost/job.json").exists();
        if !has_begun {
            let _ = fs::remove_dir_all(self.out());
        }
        let args = if has_begun { [args, &["--resume"]].concat() } else { args.to_vec() };
        let (code, _, said) = self.run(&args);
        assert_eq!(code, Some(0), "{args:?}: {said}");
        said
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.mounted {
            let _ = Command::new("umount").arg("-l").arg(self.path("disk")).output();
        }
    }
}

/// A mount point that is unmounted on drop.
struct Unmount(PathBuf);
impl Drop for Unmount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

/// Returns the tasks that have finished according to the journal.
fn recorded(out: &Path) -> BTreeSet<String> {
    let journal = fs::read_to_string(out.join(".hindmost/journal.jsonl")).unwrap_or_default();
    let records = journal.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let attempts = records.filter_map(|record| record.pointer("/event/attempt_finished/attempt").cloned());
    attempts.map(|attempt| attempt["task"].to_string()).collect()
}

/// Checks all results, and that there are no other files.
fn check(out: &Path) {
    for task in 0..12 {
        let numbers: Vec<String> = (task * 1000..task * 1000 + 500).map(|number| format!("{number}\n")).collect();
        let text = fs::read_to_string(out.join(format!("map/{task}/numbers"))).unwrap();
        assert_eq!(text, numbers.concat(), "map/{task}");
        assert_eq!(fs::read_to_string(out.join(format!("map/{task}/state"))).unwrap(), "whole\n");
    }
    // The shell lists the files in order of their names.
    let mut order: Vec<u64> = (0..12).collect();
    order.sort_by_key(u64::to_string);
    let sums: Vec<String> =
        order.iter().map(|task| format!("500 {}\n", (task * 1000..task * 1000 + 500).sum::<u64>())).collect();
    for task in 0..4 {
        assert_eq!(fs::read_to_string(out.join(format!("sum/{task}/sums"))).unwrap(), sums.concat(), "sum/{task}");
    }
    let run = run_id(out).unwrap();
    assert!(leftovers(&run).0.is_empty());
    assert!(fs::read_dir(out.join(".hindmost/attempts")).unwrap().next().is_none());
    let verdict = hindmost().arg("verify").arg(out).output().unwrap();
    assert_eq!(verdict.status.code(), Some(0), "{}", String::from_utf8_lossy(&verdict.stderr));
}

#[test]
fn a_power_cut_costs_no_recorded_result() {
    let (first, mut survived) = (seed(), 0);
    for seed in first..first + u64::from(cases(6, 60)) {
        let Some(mut disk) = Disk::new(48) else { return };
        let draw = |what: u64| hindmost_math::random::mix(seed << 8 | what);
        // Some runs have two power cuts.
        for cut in 0..=draw(0) % 2 {
            let args: &[&str] = if cut == 0 { &["--nodes", "n1:2,n2:2"] } else { &["--resume"] };
            disk.run_until_power_cut(args, draw(2 + cut) % 16, Duration::from_millis(draw(4 + cut) % 100));
            disk.unmount();
            disk.mount();
            if !disk.out().join(".hindmost/job.json").exists() {
                break;
            }
        }
        let before = recorded(&disk.out());
        survived += before.len();
        let said = disk.finish(&[]);
        assert!(!said.contains("is missing") && !said.contains("has changed"), "seed {seed}: {said}");
        check(&disk.out());
        disk.unmount();
    }
    assert!(survived > 0, "no run had a finished task before its power cut");
}

#[test]
fn a_run_without_syncs_is_right_after_a_power_cut() {
    for results in [1, 6, 12] {
        let Some(mut disk) = Disk::new(48) else { return };
        let args = ["--nodes", "n1:2,n2:2", "--no-sync"];
        disk.run_until_power_cut(&args, results, Duration::from_millis(50));
        disk.unmount();
        disk.mount();
        disk.finish(&["--no-sync"]);
        check(&disk.out());
        disk.unmount();
    }
}

#[test]
fn summaries_say_whether_results_are_synced() {
    let Some(disk) = Disk::new(48) else { return };
    let (code, summary, said) = disk.run(&["--no-sync"]);
    assert_eq!((code, &summary["synced"]), (Some(0), &Value::Bool(false)), "{said}");
    fs::remove_dir_all(disk.out()).unwrap();
    let (code, summary, said) = disk.run(&[]);
    assert_eq!((code, &summary["synced"]), (Some(0), &Value::Bool(true)), "{said}");
}

#[test]
fn a_disk_that_turns_read_only_ends_the_run() {
    let Some(mut disk) = Disk::new(48) else { return };
    let mut child = disk.command(&["--nodes", "n1:2,n2:2"]).spawn().unwrap();
    until("a task is done", || !recorded(&disk.out()).is_empty());
    // As after an error of the device, the file system writes no more data, and unwritten data is lost.
    let trigger = format!("/sys/fs/ext4/{}/trigger_fs_error", disk.device());
    fs::write(trigger, "an error on purpose").unwrap();
    let status = ended(&mut child).expect("the command ends");
    let said = fs::read_to_string(disk.path("stderr")).unwrap();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("ead-only") || said.contains("nput/output"), "{said}");
    let run = run_id(&disk.out()).unwrap();
    assert!(leftovers(&run).0.is_empty());
    disk.unmount();
    let _ = Command::new("fsck.ext4").args(["-p", "-f"]).arg(disk.path("image")).output();
    disk.mount();
    disk.finish(&[]);
    check(&disk.out());
    disk.unmount();
}

#[test]
fn a_full_device_below_the_file_system_costs_no_result() {
    // The image is a sparse file on a full file system. Writes succeed until the data must be written to the device.
    let Some(mut disk) = Disk::new(48) else { return };
    disk.unmount();
    let host = disk.path("host");
    fs::create_dir(&host).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64m", "none"]).arg(&host).output().unwrap();
    if !mounted.status.success() {
        left_out("mounting is not permitted here");
        return;
    }
    let guard = Unmount(host.clone());
    tool("cp", &["--sparse=always", disk.path("image").to_str().unwrap(), host.join("image").to_str().unwrap()]);
    fs::remove_file(disk.path("image")).unwrap();
    std::os::unix::fs::symlink(host.join("image"), disk.path("image")).unwrap();
    disk.mount();
    // A few blocks are left free for the data of the file system itself.
    let free = Command::new("sh").args(["-c", "df --output=avail -k \"$0\" | tail -n 1"]).arg(&host).output().unwrap();
    let free: u64 = String::from_utf8_lossy(&free.stdout).trim().parse().unwrap();
    fs::write(host.join("fill"), vec![1; ((free - 400) << 10) as usize]).unwrap();
    let (code, _, said) = disk.run(&["--nodes", "n1:2,n2:2"]);
    assert!(matches!(code, Some(1 | 2)) && said.contains("disk"), "{code:?}: {said}");
    if let Some(run) = run_id(&disk.out()) {
        assert!(leftovers(&run).0.is_empty());
    }
    // The test makes space and mounts the file system again.
    fs::remove_file(host.join("fill")).unwrap();
    disk.unmount();
    let _ = Command::new("fsck.ext4").args(["-p", "-f"]).arg(host.join("image")).output();
    disk.mount();
    let begun = disk.out().join(".hindmost/job.json");
    if fs::read_to_string(&begun).is_ok_and(|text| serde_json::from_str::<Value>(&text).is_err()) {
        // The record of the job is incomplete, so the run had not begun.
        fs::remove_dir_all(disk.out()).unwrap();
    }
    disk.finish(&[]);
    check(&disk.out());
    disk.unmount();
    drop(guard);
}
