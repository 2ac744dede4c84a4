//! Folders that other users have prepared or may write to: links, pipes and forged files at every path that a run uses.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use hindmost_testing::left_out;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::scene::{Ended, Live, Scene, as_nobody, leftovers, names, processes, run_id, signal, until, until_recorded};

const NODES: [&str; 4] = ["--nodes", "n1:8", "--policy", "none"];
const NOBODY: u32 = 65_534;

/// Two tasks that also print text. The second task waits for the file `go`.
const WORK: &str = r#"
[[phase]]
name = "work"
tasks = 2
command = '''
echo "$HINDMOST_TASK" >> started
echo "a line of $HINDMOST_TASK"
[ $HINDMOST_TASK = 0 ] || until [ -e go ] || [ ! -e job.toml ]; do sleep 0.02; done
echo "$HINDMOST_TASK" > "$HINDMOST_OUTPUT/file"
'''
"#;

/// Files of another user, with names that a run uses too.
struct Victim {
    folder: TempDir,
    before: BTreeMap<PathBuf, State>,
}

/// Mode, owner, modification time in nanoseconds, and content of a file; the content is empty for others.
type State = (u32, u32, i64, String);

impl Victim {
    fn new() -> Victim {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "canary\n").unwrap();
        fs::set_permissions(at("file"), Permissions::from_mode(0o600)).unwrap();
        for name in ["folder/out", "folder/work", "folder/1", "folder/attempts"] {
            fs::create_dir_all(at(name)).unwrap();
            fs::write(at(name).join("kept"), "canary\n").unwrap();
        }
        for name in ["stdout", "end", "process", "job.json", "0", "1.0.out"] {
            fs::write(at("folder").join(name), "canary\n").unwrap();
        }
        fs::set_permissions(at("folder/out"), Permissions::from_mode(0o500)).unwrap();
        let mut victim = Victim { folder, before: BTreeMap::new() };
        victim.before = victim.state();
        victim
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("file")
    }

    fn folder(&self) -> PathBuf {
        self.folder.path().join("folder")
    }

    fn state(&self) -> BTreeMap<PathBuf, State> {
        let mut found = BTreeMap::new();
        let mut waiting = vec![self.folder.path().to_owned()];
        while let Some(path) = waiting.pop() {
            let meta = fs::symlink_metadata(&path).unwrap();
            let content = if meta.is_file() { fs::read_to_string(&path).unwrap() } else { String::new() };
            if meta.is_dir() {
                waiting.extend(names(&path).iter().map(|name| path.join(name)));
            }
            let time = meta.mtime() * 1_000_000_000 + meta.mtime_nsec();
            // The tests make hard links in the top folder, so its own time is not compared.
            found.insert(path, (meta.mode(), meta.uid(), time, content));
        }
        found
    }

    fn is_unharmed(&self, what: &str) {
        assert_eq!(self.before, self.state(), "{what}");
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = fs::set_permissions(self.folder().join("out"), Permissions::from_mode(0o700));
    }
}

fn is_root() -> bool {
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    if !is_root {
        left_out("checks with files of another user, because this is not root");
    }
    is_root
}

fn run(scene: &Scene, args: &[&str]) -> Ended {
    Live::start(scene.folder.path(), "job.toml", "out", args).end()
}

/// Checks that both results exist and are not reached by a link.
fn right(scene: &Scene, what: &str) {
    for task in ["0", "1"] {
        let folder = scene.out().join("work").join(task);
        assert!(!folder.is_symlink() && !folder.parent().unwrap().is_symlink(), "{what}");
        assert_eq!(fs::read_to_string(folder.join("file")).unwrap_or_default(), format!("{task}\n"), "{what}");
    }
}

/// Starts the job, kills it when its first task is done and its second is running, and returns the run's identity.
fn killed(scene: &Scene) -> String {
    let live = Live::start(scene.folder.path(), "job.toml", "out", &NODES);
    let read = |name: &str| fs::read_to_string(scene.path(name)).unwrap_or_default();
    until("the first task is done and the second runs", || {
        read("started").lines().count() == 2 && read("out/.hindmost/journal.jsonl").contains("\"attempt_finished\"")
    });
    until_recorded(&scene.out());
    live.kill();
    run_id(&scene.out()).unwrap()
}

#[test]
fn folders_that_others_may_write_to_are_refused() {
    let scene = Scene::new(WORK);
    scene.touch("go");
    fs::create_dir(scene.out()).unwrap();
    let refused = |place: &str, args: &[&str]| {
        let ended = run(&scene, args).with(2);
        let path = scene.path(place);
        let named = ended.stderr.contains(path.to_str().unwrap()) || ended.stderr.contains(&format!("error: {place} "));
        assert!(named && ended.stderr.contains("--trust-folder"), "{place}: {}", ended.stderr);
    };
    for mode in [0o777, 0o775, 0o757, 0o1777] {
        fs::set_permissions(scene.out(), Permissions::from_mode(mode)).unwrap();
        refused("out", &NODES);
        refused("out", &["--resume"]);
    }
    assert!(names(&scene.out()).is_empty(), "something was made in a refused folder");
    run(&scene, &[&NODES[..], &["--trust-folder"]].concat()).with(0);
    right(&scene, "trusted");
    fs::set_permissions(scene.out(), Permissions::from_mode(0o755)).unwrap();
    let others = [".hindmost", ".hindmost/attempts", ".hindmost/logs", "work"];
    let own_files = [".hindmost/job.json", ".hindmost/journal.jsonl", ".hindmost/manifest.jsonl", ".hindmost/lock"];
    for name in others.iter().chain(&own_files) {
        let place = format!("out/{name}");
        let before = fs::metadata(scene.path(&place)).unwrap().mode();
        for mode in [before | 0o020, before | 0o002] {
            fs::set_permissions(scene.path(&place), Permissions::from_mode(mode)).unwrap();
            refused(&place, &["--resume"]);
        }
        run(&scene, &["--resume", "--trust-folder"]).with(0);
        fs::set_permissions(scene.path(&place), Permissions::from_mode(before)).unwrap();
        if is_root() {
            chown(scene.path(&place), Some(NOBODY), None).unwrap();
            refused(&place, &["--resume"]);
            run(&scene, &["--resume", "--trust-folder"]).with(0);
            chown(scene.path(&place), Some(0), None).unwrap();
        }
        run(&scene, &["--resume"]).with(0);
    }
    if is_root() {
        chown(scene.out(), Some(NOBODY), None).unwrap();
        refused("out", &["--resume"]);
        run(&scene, &["--resume", "--trust-folder"]).with(0);
    }
    assert_eq!(scene.read("started").lines().count(), 2);
}

#[test]
fn a_folder_that_root_has_made_is_refused_too() {
    if !is_root() {
        return;
    }
    let scene = Scene::new(WORK);
    scene.touch("go");
    fs::set_permissions(scene.folder.path(), Permissions::from_mode(0o777)).unwrap();
    fs::create_dir(scene.out()).unwrap();
    let as_nobody = |args: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", as_nobody(), "sh", env!("CARGO_BIN_EXE_hindmost")]);
        Live::start_with(command, scene.folder.path(), "job.toml", "out", args).end()
    };
    for mode in [0o755, 0o777] {
        fs::set_permissions(scene.out(), Permissions::from_mode(mode)).unwrap();
        let ended = as_nobody(&NODES).with(2);
        assert!(ended.stderr.contains("belongs to another user"), "{}", ended.stderr);
    }
    as_nobody(&[&NODES[..], &["--trust-folder"]].concat()).with(0);
    right(&scene, "trusted");
}

/// All paths in a run's folder that a run may use.
const PLACES: [&str; 20] = [
    ".hindmost",
    ".hindmost/attempts",
    ".hindmost/logs",
    ".hindmost/logs/work",
    ".hindmost/logs/work/1.0.out",
    ".hindmost/lock",
    ".hindmost/journal.jsonl",
    ".hindmost/job.json",
    ".hindmost/job.json.part",
    ".hindmost/manifest.jsonl",
    ".hindmost/summary.json",
    ".hindmost/summary.json.part",
    ".hindmost/set-aside",
    ".hindmost/journal-1.jsonl",
    "work",
    "work/1",
    "report.html",
    "results.tsv",
    "report.html.part",
    "results.tsv.part",
];
const KINDS: [&str; 6] = ["a link to a file", "a link to a folder", "a hard link", "a pipe", "a folder", "a dead link"];

/// Creates a file of this kind.
fn plant(place: &Path, kind: &str, victim: &Victim) {
    match kind {
        "a link to a file" => symlink(victim.file(), place).unwrap(),
        "a link to a folder" => symlink(victim.folder(), place).unwrap(),
        "a dead link" => symlink(victim.folder.path().join("new"), place).unwrap(),
        "a hard link" => fs::hard_link(victim.file(), place).unwrap(),
        "a pipe" => assert!(Command::new("mkfifo").arg(place).status().unwrap().success()),
        _ => {
            fs::create_dir(place).unwrap();
            fs::write(place.join("kept"), "planted\n").unwrap();
        }
    }
}

/// Checks that a run succeeded or failed with a message, and that no file of the victim has changed.
fn judge(scene: &Scene, ended: &Ended, victim: &Victim, what: &str) {
    assert!(matches!(ended.code, Some(0..=2)), "{what}: {:?}: {}", ended.code, ended.stderr);
    assert!(!ended.stderr.contains("panicked"), "{what}: {}", ended.stderr);
    victim.is_unharmed(what);
    if ended.code == Some(0) {
        right(scene, what);
    } else {
        assert!(ended.stderr.contains("error: "), "{what}: {}", ended.stderr);
    }
}

#[test]
fn files_planted_before_a_run_harm_nobody() {
    let ways: [&[&str]; 4] = [&[], &["--trust-folder"], &["--resume"], &["--resume", "--trust-folder"]];
    for (at, place) in PLACES.iter().enumerate() {
        for (kind_at, kind) in KINDS.iter().enumerate() {
            let victim = Victim::new();
            let scene = Scene::new(WORK);
            scene.touch("go");
            fs::create_dir_all(scene.out().join(place).parent().unwrap()).unwrap();
            plant(&scene.out().join(place), kind, &victim);
            for way in [ways[(at + kind_at) % 4], ways[(at + kind_at + 1) % 4]] {
                let ended = run(&scene, way);
                judge(&scene, &ended, &victim, &format!("{kind} at {place} with {way:?}"));
            }
        }
    }
}

/// Plants a file of each of these kinds at each of the [`PLACES`] while no process runs, and resumes the run.
fn planted_between_process_runs(kinds: &[&str]) {
    for (at, place) in PLACES.iter().enumerate() {
        for (kind_at, kind) in kinds.iter().enumerate() {
            let victim = Victim::new();
            let scene = Scene::new(WORK);
            let first = killed(&scene);
            if (at + kind_at) % 2 == 0 {
                // Because of this change the run begins again and sets the result aside.
                fs::write(scene.out().join("work/0/file"), "changed\n").unwrap();
            }
            let path = scene.out().join(place);
            let kept = scene.path("kept");
            let was_there = path.exists();
            if was_there {
                fs::rename(&path, &kept).unwrap();
            }
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            plant(&path, kind, &victim);
            scene.touch("go");
            let ways: [&[&str]; 2] = [&["--resume"], &["--resume", "--trust-folder"]];
            let what = format!("{kind} at {place}");
            let mut ended = run(&scene, ways[at % 2]);
            judge(&scene, &ended, &victim, &what);
            if ended.code != Some(0) {
                ended = run(&scene, ways[(at + 1) % 2]);
                judge(&scene, &ended, &victim, &what);
            }
            if ended.code != Some(0) {
                // Without the planted files the run continues.
                let _ = fs::remove_file(&path);
                let _ = fs::remove_dir_all(&path);
                if was_there {
                    fs::rename(&kept, &path).unwrap();
                }
                let ended = run(&scene, &["--resume"]);
                assert_eq!(ended.code, Some(0), "{what}, removed again: {}", ended.stderr);
                right(&scene, &what);
            }
            victim.is_unharmed(&what);
            scene.is_verified();
            let (left, _) = leftovers(&first);
            assert!(left.is_empty(), "{what}: {left:?}");
        }
    }
}

#[test]
fn links_planted_between_process_runs_harm_nobody() {
    planted_between_process_runs(&KINDS[..3]);
}

#[test]
fn pipes_planted_between_process_runs_harm_nobody() {
    planted_between_process_runs(&KINDS[3..]);
}

#[test]
fn files_that_a_command_plants_harm_nobody() {
    // Commands of an attempt, with its own folder as $A and the victim's as $V, and true if the attempt has a result.
    let commands: [(&str, bool); 14] = [
        (r#"rmdir "$A/out"; ln -s "$V/folder" "$A/out""#, false),
        (r#"rmdir "$A/out"; ln -s "$V/file" "$A/out""#, false),
        (r#"rm "$A/stdout"; ln -s "$V/file" "$A/stdout"; rm "$A/stderr"; ln "$V/file" "$A/stderr""#, true),
        (r#"ln -s "$V/file" "$A/progress"; sleep 0.3"#, true),
        (r#"ln "$V/file" "$A/progress"; sleep 0.3"#, true),
        (r#"echo "exit 0 $HINDMOST_RUN/$HINDMOST_KEY" > says; rm "$A/end"; ln -s "$PWD/says" "$A/end"; exit 3"#, false),
        (r#"rm "$A/end"; ln -s "$V/file" "$A/end"; exit 3"#, false),
        (r#"rm "$A/end"; mkfifo "$A/end"; exit 3"#, false),
        (r#"rm "$A/process"; ln -s "$V/file" "$A/process""#, true),
        (r#"ln -s "$V/folder" "$A/out/link"; ln -s "$V/file" "$A/out/other"; mkfifo "$A/out/pipe""#, true),
        (r#"ln "$V/file" "$A/out/hard"; mkdir "$A/out/closed"; ln -s "$V/folder/out" "$A/out/closed/out""#, true),
        (r#"mv "$A" aside.$HINDMOST_ATTEMPT; ln -s "$V/folder" "$A""#, false),
        (r#"I=$HINDMOST_FROM/.hindmost; rm -rf "$I/logs"; ln -s "$V/folder" "$I/logs"; echo said"#, true),
        (r#"rm -r "$HINDMOST_FROM/plant"; ln -s "$V/folder" "$HINDMOST_FROM/plant""#, false),
    ];
    for (command, is_result) in commands {
        for is_loser in [false, true] {
            let victim = Victim::new();
            let text = format!(
                "[[phase]]\nname = \"plant\"\ntasks = 1\nretries = 1\ncommand = '''\nV={}\nA=${{HINDMOST_OUTPUT%/out}}\n\
                 echo whole > \"$HINDMOST_OUTPUT/file\"\n[ $HINDMOST_ATTEMPT = 0 ] || {} exit 0\n\
                 rm -f \"$HINDMOST_OUTPUT/file\"\n{command}\n{}\n'''\n",
                victim.folder.path().display(),
                if is_loser { "" } else { "[ 1 = 0 ] ||" },
                if is_loser { "exit 4" } else { "" },
            );
            // Unless the first attempt must lose, all attempts run the same command.
            let text =
                if is_loser { text } else { text.replace("[ $HINDMOST_ATTEMPT = 0 ] || [ 1 = 0 ] || exit 0\n", "") };
            let scene = Scene::new(&text);
            let ended = run(&scene, &NODES);
            let what = format!("{command}, as a loser: {is_loser}");
            assert!(!ended.stderr.contains("panicked"), "{what}: {}", ended.stderr);
            assert!(matches!(ended.code, Some(0 | 1)), "{what}: {:?}: {}", ended.code, ended.stderr);
            victim.is_unharmed(&what);
            let result = scene.out().join("plant/0");
            if is_loser && ended.code == Some(0) {
                assert_eq!(fs::read_to_string(result.join("file")).unwrap(), "whole\n", "{what}");
                assert_eq!(names(&result).len(), 1, "{what}");
            } else if !is_loser {
                assert_eq!(ended.code == Some(0), is_result, "{what}: {}", ended.stderr);
                if ended.code != Some(0) {
                    assert!(!result.exists() || result.parent().unwrap().is_symlink(), "{what}");
                }
            }
            // Nothing is harmed when the result is checked again or removed.
            for args in [&["--resume", "--checksum"][..], &["--resume"]] {
                let ended = run(&scene, args);
                assert!(matches!(ended.code, Some(0..=2)), "{what}: {:?}: {}", ended.code, ended.stderr);
                victim.is_unharmed(&what);
                if result.is_dir() && !result.parent().unwrap().is_symlink() {
                    fs::write(result.join("added"), "").unwrap();
                }
            }
            let (left, _) = leftovers(&run_id(&scene.out()).unwrap());
            assert!(left.is_empty(), "{what}: {left:?}");
        }
    }
}

/// A stopped process of the victim.
struct Halted(Child);

impl Halted {
    fn start(mut command: Command) -> Halted {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let halted = Halted(child);
        until("the process runs `sleep`", || {
            fs::read(format!("/proc/{}/cmdline", halted.0.id())).is_ok_and(|line| line.starts_with(b"sleep\0"))
        });
        signal(halted.0.id(), "STOP");
        until("the process is stopped", || halted.state() == "T");
        halted
    }

    fn stat(&self) -> Vec<String> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        text.rsplit(')').next().unwrap().split_whitespace().map(str::to_owned).collect()
    }

    fn state(&self) -> String {
        self.stat()[0].clone()
    }

    /// Returns the content of an attempt's `process` file that names this process.
    fn forged(&self) -> Value {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let start: u64 = self.stat()[19].parse().unwrap();
        json!({"pid": self.0.id(), "start_time": start, "boot_id": boot.trim()})
    }
}

impl Drop for Halted {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_process_in_a_forged_file_is_left_alone() {
    for disguise in ["none", "run and key", "another user"] {
        for is_running in [false, true] {
            if disguise == "another user" && !is_root() {
                continue;
            }
            let scene = Scene::new(WORK);
            let run_of = killed(&scene);
            let attempts = scene.out().join(".hindmost/attempts");
            let attempt = names(&attempts).into_iter().find(|name| name.starts_with("0-1.0.")).expect("its attempt");
            let mut command = Command::new("sleep");
            if disguise == "another user" {
                command = Command::new("setpriv");
                command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "sleep"]);
                command.env("HINDMOST_FROM", fs::canonicalize(scene.out()).unwrap());
            }
            if disguise != "none" {
                command.env("HINDMOST_RUN", &run_of).env("HINDMOST_KEY", "0.1.0");
            }
            if disguise == "run and key" {
                command.env("HINDMOST_FROM", scene.path("other"));
            }
            command.arg("300");
            let victim = Halted::start(command);
            if !is_running {
                // The forged process has the id of the run, too.
                let own = |pid: &u32| *pid != victim.0.id();
                until("the attempt has ended", || {
                    let left: Vec<u32> = processes(&run_of).into_iter().map(|(pid, _)| pid).filter(own).collect();
                    for pid in &left {
                        signal(*pid, "KILL");
                    }
                    left.is_empty()
                });
            }
            let file = attempts.join(&attempt).join("process");
            fs::write(&file, victim.forged().to_string()).unwrap();
            let resumed = Live::start(scene.folder.path(), "job.toml", "out", &["--resume"]);
            if !is_running {
                until("the task runs again", || scene.read("started").lines().count() == 3);
            }
            assert_eq!(victim.state(), "T", "{disguise}, {is_running}");
            scene.touch("go");
            resumed.end().with(0);
            assert_eq!(victim.state(), "T", "{disguise}, {is_running}");
            right(&scene, disguise);
            // A running attempt is found although the file `process` names another process.
            assert_eq!(scene.read("started").lines().count(), if is_running { 2 } else { 3 });
            scene.is_verified();
        }
    }
}

#[test]
fn a_users_own_link_to_the_folder_is_followed() {
    let scene = Scene::new(WORK);
    scene.touch("go");
    fs::create_dir(scene.path("real")).unwrap();
    symlink("real", scene.out()).unwrap();
    run(&scene, &NODES).with(0);
    run(&scene, &["--resume"]).with(0);
    assert_eq!(fs::read_to_string(scene.path("real/work/1/file")).unwrap(), "1\n");
    scene.is_clean().is_verified();

    if is_root() {
        lchown(scene.out(), Some(NOBODY), None).unwrap();
        let ended = run(&scene, &["--resume"]).with(2);
        assert!(ended.stderr.contains("is a link of another user"), "{}", ended.stderr);
        run(&scene, &["--resume", "--trust-folder"]).with(0);
    }

    for target in ["nowhere", "out", "job.toml"] {
        fs::remove_file(scene.out()).unwrap();
        symlink(target, scene.out()).unwrap();
        for args in [&[][..], &["--resume"], &["--trust-folder"]] {
            let ended = run(&scene, args).with(2);
            assert!(ended.stderr.starts_with("error: "), "{}", ended.stderr);
        }
    }
    assert!(!scene.path("nowhere").exists());
    assert_eq!(scene.read("started").lines().count(), 2);
}
