//! A command may leave daemons of any kind running. All have ended when the result of the command appears.

use hindmost_testing::left_out;

use super::*;
use crate::scene::resumed;

/// Shell functions that start a daemon: a process that appends to a file in its working directory about once a
/// millisecond, also after the directory was moved. A daemon of `bare` has an empty environment; one of `far` also has no
/// open files, session or parent in common with the task. Without perl, a shell does the writing.
const DAEMON: &str = r#"
if command -v perl > /dev/null; then
    daemon() { exec perl -e '$f = shift; $0 = "x" x 5000 if @ARGV;
        while (1) { open F, ">>", $f or exit; print F "x"; close F; select undef, undef, undef, .001 }' "$@"; }
    PERL='$f = shift; while (1) { open F, ">>", $f or exit; print F "x"; close F; select undef, undef, undef, .001 }'
    bare() { exec env -i ${2-} "$(command -v perl)" -e "$PERL" "$1"; }
    far() { setsid sh -c 'exec <&- >&- 2>&-; (env -i "$0" -e "$1" "$2" &) &' "$(command -v perl)" "$PERL" "$1" & }
else
    LOOP='while echo x >> "$0"; do sleep 0.005; done'
    daemon() { exec sh -c "$LOOP" "$1"; }
    bare() { exec env -i ${2-} /bin/sh -c "$LOOP" "$1"; }
    far() { setsid sh -c 'exec <&- >&- 2>&-; (env -i /bin/sh -c "$0" "$1" &) &' "$LOOP" "$1" & }
fi
cd "$HINDMOST_OUTPUT"
"#;

/// Starts one daemon of every kind.
const ZOO: &str = r"
(daemon plain) &
(setsid sh -c ':'; daemon grouped) &
(bare bare) &
(bare session setsid) &
(daemon renamed x) &
far far
(trap '' HUP INT TERM; daemon ignoring) &
(timeout 1000 sh -c 'while echo x >> timed; do sleep 0.01; done') &
for file in plain grouped bare session renamed far ignoring timed; do
    while [ ! -s $file ]; do sleep 0.01; done
done
";

/// Runs another hindmost within the task and kills it, so that its attempts and their daemons remain.
const INNER: &str = r#"
(exec "$HINDMOST" run "$HINDMOST_FROM/../inner.toml" --nodes n:2 --out inner.out > said 2>&1) &
for file in inner0 inner1 bare0 bare1; do
    while [ ! -s $file ]; do sleep 0.01; done
done
kill -KILL $!
"#;

/// The job of the inner hindmost. Its tasks and daemons write beside its output folder.
const INNER_JOB: &str = r#"
[[phase]]
name = "inner"
tasks = 2
command = """
cd "$HINDMOST_FROM/.."
env -i setsid /bin/sh -c 'while echo x >> "$0"; do sleep 0.01; done' "bare$HINDMOST_TASK" &
while echo x >> "inner$HINDMOST_TASK"; do sleep 0.01; done
"""
"#;

fn phase(name: &str, tasks: u32, command: &str) -> String {
    format!("[[phase]]\nname = \"{name}\"\ntasks = {tasks}\ncommand = '''\n{DAEMON}{command}\n'''\n")
}

fn place(user: User, job: &str) -> Place {
    let place = Place::new(user, job);
    place.write("inner.toml", INNER_JOB);
    place
}

/// Waits until tasks have their results, and checks that the results do not change after that.
fn stay_as_they_are(place: &Place, results: &[&str]) {
    let first: Vec<_> = results
        .iter()
        .map(|result| {
            until(&format!("{result} is there"), || place.path("out").join(result).exists());
            place.sizes(result)
        })
        .collect();
    std::thread::sleep(Duration::from_millis(100));
    for (result, first) in results.iter().zip(first) {
        assert!(first.len() > 3, "{result}: {first:?}");
        assert_eq!(place.sizes(result), first, "{:?}: {result}", place.user);
    }
}

/// Runs a job as each of the users, and checks that its results do not change once they are there, and that nothing is left.
fn leaves_nothing(job: &str, nodes: &str, results: &[&str]) {
    for user in users() {
        let place = place(user, job);
        let mut run = place.spawn(&["--nodes", nodes]);
        stay_as_they_are(&place, results);
        run.succeed();
        place.is_clean();
    }
}

#[test]
fn no_daemon_writes_after_the_end_of_its_attempt() {
    leaves_nothing(&phase("zoo", 3, ZOO), "n1:2", &["zoo/0", "zoo/1", "zoo/2"]);
}

#[test]
fn daemons_run_until_their_attempt_ends() {
    // The daemons of the long attempt must run while other attempts end.
    let keeper = r#"
        (bare tick setsid) &
        far tock
        while [ ! -e "$HINDMOST_FROM/zoo/3" ]; do sleep 0.01; done
        for file in tick tock; do
            before=$(wc -c < $file)
            sleep 0.3
            [ $(wc -c < $file) -gt $before ] || exit 9
        done
    "#;
    for user in users() {
        let job = phase("keeper", 1, keeper) + &phase("zoo", 4, ZOO);
        let place = place(user, &job);
        let mut run = place.spawn(&["--nodes", "n1:3", "--policy", "none"]);
        run.succeed();
        place.is_clean();
        assert!(!place.read("stderr").contains("exit code 9"), "{}", place.read("stderr"));
    }
}

#[test]
fn a_killed_hindmost_in_a_task_leaves_no_processes() {
    leaves_nothing(&phase("outer", 2, INNER), "n1:2", &["outer/0", "outer/1"]);
}

#[test]
fn a_hindmost_that_a_task_leaves_running_is_ended() {
    leaves_nothing(&phase("outer", 1, &INNER.replace("kill -KILL $!", "")), "n1:2", &["outer/0"]);
}

/// Starts daemons without the marks of an attempt: only their parent process links them to it.
const UNMARKED: &str = r#"
        clear="prlimit --rttime=unlimited --locks=unlimited --rss=unlimited"
        (bare plain "$clear") &
        (bare session "$clear setsid") &
        $clear env -i setsid /bin/sh -c '(cd "$0"; while echo x >> far; do sleep 0.01; done) & exit' "$PWD" &
        for file in plain session far; do
            while [ ! -s $file ]; do sleep 0.01; done
        done
        touch done
"#;

#[test]
fn daemons_without_any_mark_are_ended() {
    if has("prlimit") {
        leaves_nothing(&phase("unmarked", 2, UNMARKED), "n1:1", &["unmarked/0", "unmarked/1"]);
    }
}

#[test]
fn daemons_of_adopted_attempts_are_ended() {
    let waiting = format!("{ZOO}{INNER}\ntouch ready\nwhile [ ! -e \"$HINDMOST_FROM/../go\" ]; do sleep 0.01; done\n");
    for user in users() {
        let place = place(user, &phase("zoo", 2, &waiting));
        let mut run = place.spawn(&["--nodes", "n1:2"]);
        let ready = |task: u32| place.of_attempt(&format!("0-{task}.0"), "out/ready").exists();
        until("all daemons are running", || ready(0) && ready(1));
        run.kill_once_recorded();
        assert!(place.processes().len() > 20);
        let mut run = resumed(&place.path("out"), || place.spawn(&["--resume"]));
        assert!(
            place.processes().len() > 20,
            "the resumed run ended daemons of running attempts: {}",
            place.read("stderr")
        );
        place.write("go", "");
        stay_as_they_are(&place, &["zoo/0", "zoo/1"]);
        run.succeed();
        assert!(!place.read("stderr").contains("lost"), "{}", place.read("stderr"));
        place.is_clean();
    }
}

#[test]
fn daemons_of_a_killed_run_are_ended_on_resume() {
    // The attempts are killed too, so that only their daemons are left.
    let waiting =
        format!("{ZOO}{INNER}\necho $$ > root\nwhile [ ! -e \"$HINDMOST_FROM/../go\" ]; do sleep 0.01; done\n");
    for user in users() {
        let place = place(user, &phase("zoo", 2, &waiting));
        let mut run = place.spawn(&["--nodes", "n1:2"]);
        let root = |task: u32| place.of_attempt(&format!("0-{task}.0"), "out/root");
        until("all daemons are running", || {
            [0, 1].iter().all(|task| fs::metadata(root(*task)).is_ok_and(|f| f.len() > 1))
        });
        run.kill_once_recorded();
        for task in [0, 1] {
            let script =
                format!("kill -KILL $(ps -o ppid= -p {0}) {0}", fs::read_to_string(root(task)).unwrap().trim());
            assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
        }
        let before = place.processes().len();
        assert!(before > 20, "{before}");
        place.write("go", "");
        let mut run = place.spawn(&["--resume"]);
        stay_as_they_are(&place, &["zoo/0", "zoo/1"]);
        run.succeed();
        place.is_clean();
    }
}

#[test]
fn interrupted_runs_leave_no_daemons() {
    for (user, name) in users().into_iter().zip(["INT", "TERM"]) {
        let place = place(user, &phase("zoo", 2, &format!("{ZOO}{INNER}\ntouch ready; sleep 1000")));
        let mut run = place.spawn(&["--nodes", "n1:2"]);
        let ready = |task: u32| place.of_attempt(&format!("0-{task}.0"), "out/ready").exists();
        until("all daemons are running", || ready(0) && ready(1));
        run.signal(name);
        assert_eq!(run.end(), Some(130));
        place.is_clean();
    }
}

/// Returns the folder where control groups of version 2 are mounted; `None` if they are not.
fn control_groups() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let line = mounts.lines().find(|line| line.split(' ').nth(2) == Some("cgroup2"))?;
    Some(line.split(' ').nth(1)?.into())
}

#[test]
fn a_control_group_finds_unmarked_daemons_on_resume() {
    let waiting = format!(
        "grep ^0: /proc/self/cgroup > group\n{UNMARKED}\nwhile [ ! -e \"$HINDMOST_FROM/../go\" ]; do sleep 0.01; done"
    );
    let place = place(User::Current, &phase("unmarked", 2, &waiting));
    let mut run = place.spawn(&["--nodes", "n1:2"]);
    let file = |task: u32, name: &str| place.of_attempt(&format!("0-{task}.0"), &format!("out/{name}"));
    until("all daemons are running", || file(0, "done").exists() && file(1, "done").exists());
    let group = fs::read_to_string(file(0, "group")).unwrap();
    run.kill_once_recorded();
    let (Some(mount), true) = (control_groups(), group.contains("/hindmost-")) else {
        left_out("control groups can't be created here");
        return;
    };
    let path = mount.join(group.trim().trim_start_matches("0::/"));
    assert!(path.exists());
    // The first attempt is adopted. The test kills the first process of the other attempt.
    let root = fs::read_to_string(file(1, "../process")).unwrap();
    let root: serde_json::Value = serde_json::from_str(&root).unwrap();
    let script = format!("kill -KILL -{}", root["pid"]);
    assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
    let mut run = resumed(&place.path("out"), || place.spawn(&["--resume"]));
    place.write("go", "");
    stay_as_they_are(&place, &["unmarked/0", "unmarked/1"]);
    run.succeed();
    place.is_clean();
    until("the group is removed", || !path.exists());
}

#[test]
fn runs_leave_no_control_groups() {
    let report =
        r#"grep ^0: /proc/self/cgroup > group; "$HINDMOST" run "$HINDMOST_FROM/../within.toml" --out inner > said"#;
    let place = place(User::Current, &phase("outer", 1, report));
    place.write(
        "within.toml",
        "[[phase]]\nname = 'in'\ntasks = 1\ncommand = 'grep ^0: /proc/self/cgroup > $HINDMOST_OUTPUT/group'",
    );
    place.spawn(&[]).succeed();
    let (outer, inner) = (place.read("out/outer/0/group"), place.read("out/outer/0/inner/in/0/group"));
    if outer.contains("/hindmost-") {
        assert!(inner.starts_with(outer.trim_end()) && inner.len() > outer.len(), "{outer}{inner}");
        let mount = control_groups().unwrap();
        assert!(!mount.join(outer.trim().trim_start_matches("0::/")).exists());
    }
}
