//! A fault at each system call of `hindmost run`: the call fails, or the process dies in it. The run ends without a panic,
//! leaves no processes, and `--resume` finishes it with the right results.
//!
//! `strace` injects the faults into the process itself and not into its children. A usual run of the tests takes calls and
//! errors in turn, about as many cases as there are pairs of them; the nightly one tries every call with every error, but for the many
//! that read `/proc`. `HINDMOST_FAULTS_CALLS=openat,read` limits the tests to some calls.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use hindmost_core::ids::TaskId;
use hindmost_core::timeline::AttemptEnd;
use hindmost_testing::{Draw, cases, left_out, seed};

use crate::hindmost;
use crate::scene::{Ended, Scene, files, names, signal, timeline};

/// Two phases of 3 and 2 tasks. One task leaves a process running, and the standard output of two becomes files of the user's.
const JOB: &str = r#"
[[phase]]
name = "make"
tasks = 3
retries = 50
command = '''
set -e
[ $HINDMOST_TASK != 1 ] || setsid sleep 300 &
seq $((HINDMOST_TASK * 10)) $((HINDMOST_TASK * 10 + 9)) > "$HINDMOST_OUTPUT/numbers"
echo whole > "$HINDMOST_OUTPUT/state"
'''

[[phase]]
name = "fold"
after = ["make"]
tasks = 2
retries = 50
command = '''
set -e
for part in 0 1 2; do
    read -r state < "$HINDMOST_FROM/make/$part/state" && [ "$state" = whole ] || exit 9
    cat "$HINDMOST_FROM/make/$part/numbers" >> "$HINDMOST_OUTPUT/numbers"
done
cat "$HINDMOST_OUTPUT/numbers"
'''
output = "folded/{#}"
"#;

const TASKS: usize = 5;

/// Folder for temporary files of the runs, so that what others leave in the usual one changes no number of calls.
const TEMPORARY: &str = "temporary";

/// System calls and the errors that each may return. The process may also be killed in each call.
const CALLS: [(&str, &str); 34] = [
    ("openat", "EMFILE EACCES EIO ENOSPC EINTR"),
    ("openat2", "EMFILE EACCES EIO EAGAIN"),
    ("write", "ENOSPC EIO EINTR"),
    ("pwrite64", "ENOSPC EIO EINTR"),
    ("writev", "ENOSPC EIO EINTR"),
    ("fsync", "EIO ENOSPC EINTR"),
    ("fdatasync", "EIO ENOSPC EINTR"),
    ("syncfs", "EIO ENOSPC EINTR"),
    ("rename", "EIO EACCES ENOSPC"),
    ("renameat", "EIO EACCES ENOSPC"),
    ("renameat2", "EIO EACCES ENOSPC"),
    ("linkat", "EIO EACCES EMLINK"),
    ("symlinkat", "EIO EACCES"),
    ("unlinkat", "EIO EACCES EPERM"),
    ("rmdir", "EIO EACCES"),
    ("mkdir", "ENOSPC EACCES EIO"),
    ("mkdirat", "ENOSPC EACCES EIO"),
    ("statx", "EIO EACCES"),
    ("newfstatat", "EIO EACCES"),
    ("flock", "EINTR EIO"),
    ("getdents64", "EIO"),
    ("clone", "EAGAIN ENOMEM"),
    ("clone3", "EAGAIN ENOMEM"),
    ("vfork", "EAGAIN ENOMEM"),
    ("pidfd_open", "EMFILE EPERM"),
    ("epoll_wait", "EINTR"),
    ("epoll_pwait", "EINTR"),
    ("epoll_ctl", "ENOMEM ENOSPC"),
    ("read", "EIO EINTR"),
    ("pread64", "EIO EINTR"),
    ("lseek", "EIO"),
    ("ftruncate", "EIO ENOSPC"),
    ("prlimit64", "EPERM"),
    ("fchmodat", "EPERM EIO"),
];

/// Most calls of one kind that one error is injected into. Only the calls that read `/proc` are more, one for each process of the
/// machine and its files. Which of them are taken depends on the seed.
const MOST_CALLS: usize = 100;

/// Longest time of a process run.
const LONGEST: Duration = Duration::from_secs(30);

/// A system call that fails, or in which the process is killed.
#[derive(Clone, Copy, Debug)]
struct Fault {
    /// Name of the call.
    call: &'static str,
    /// The error that the call returns; `None`: the process is killed.
    error: Option<&'static str>,
    /// Which of the process's calls of this name it is, from 1.
    number: usize,
}

impl Fault {
    fn option(self) -> String {
        let what = self.error.map_or_else(|| "signal=KILL".to_owned(), |error| format!("error={error}"));
        format!("-e inject={}:{what}:when={}", self.call, self.number)
    }
}

/// A folder. All processes that still run in it are killed when this value is dropped.
pub(super) struct Swept<'a>(pub &'a Path);

impl Swept<'_> {
    /// Returns the running processes whose working directory is this folder or below it.
    pub(super) fn processes(&self) -> Vec<u32> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let is_here = |pid: &u32| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|at| at.starts_with(self.0));
        pids.filter(is_here).collect()
    }

    /// Returns the command lines of processes that stay. Processes that are ending get time to do so.
    pub(super) fn leftovers(&self) -> Vec<String> {
        let begin = Instant::now();
        while !self.processes().is_empty() && begin.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let line = |pid: &u32| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        self.processes().iter().map(|pid| String::from_utf8_lossy(&line(pid)).replace('\0', " ")).collect()
    }
}

impl Drop for Swept<'_> {
    fn drop(&mut self) {
        self.processes().into_iter().for_each(|pid| signal(pid, "KILL"));
    }
}

/// Does one process run, with or without faults. Returns how it ended, and whether a fault was injected.
fn process_run(scene: &Scene, faults: &[Fault], args: &[&str]) -> Result<(Ended, bool), String> {
    let mut args = args.to_vec();
    // A run that has begun takes its nodes from the journal.
    args.extend(if args.is_empty() { &["--nodes", "n1:2"][..] } else { &[] });
    args.extend(["--tmpdir", TEMPORARY]);
    let calls: Vec<&str> = faults.iter().map(|fault| fault.call).collect();
    let options: Vec<String> = faults.iter().map(|fault| fault.option()).collect();
    let script =
        format!("RUST_BACKTRACE=0 exec strace -qq -o calls -e trace={} {} \"$@\"", calls.join(","), options.join(" "));
    let script = if faults.is_empty() { None } else { Some(&script[..]) };
    let mut child = scene.spawn(script, &args);
    let begin = Instant::now();
    loop {
        if child.try_wait().unwrap().is_some() {
            let calls = fs::read_to_string(scene.path("calls")).unwrap_or_default();
            let came = calls.contains("(INJECTED)") || calls.contains("killed by");
            return Ok((scene.end(child), came));
        }
        if begin.elapsed() > LONGEST {
            drop(Swept(scene.folder.path()));
            let _ = child.wait();
            return Err(format!("the command does not end: {}{}", scene.read("stdout"), scene.read("stderr")));
        }
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// Returns the expected results.
fn expected() -> BTreeMap<String, String> {
    let numbers =
        |from: usize, end: usize| (from..end).map(|number| format!("{number}\n")).collect::<Vec<_>>().concat();
    let mut files = BTreeMap::new();
    for task in 0..3 {
        files.insert(format!("make/{task}/numbers"), numbers(task * 10, task * 10 + 10));
        files.insert(format!("make/{task}/state"), "whole\n".to_owned());
    }
    for task in 0..2 {
        files.insert(format!("fold/{task}/numbers"), numbers(0, 30));
    }
    files
}

/// Checks that the results are right. `has_parts`: a process that can't remove a file may have left incomplete pages.
fn results_are_right(out: &Path, has_parts: bool) -> Result<(), String> {
    let mut found = files(out);
    found.retain(|name, _| !(has_parts && ["report.html.part", "results.tsv.part"].contains(&name.as_str())));
    found.retain(|name, _| !name.starts_with(".hindmost/") && name != "report.html" && name != "results.tsv");
    let mut folded = files(&out.parent().unwrap().join("folded"));
    folded.retain(|name, _| !(has_parts && name.contains(".part")));
    let numbers = &expected()["fold/0/numbers"];
    let is_folded = folded.keys().eq(["0", "1"]) && folded.values().all(|content| content == numbers);
    if found == expected() && is_folded { Ok(()) } else { Err(format!("results are wrong: {found:?} {folded:?}")) }
}

/// Does one process run with faults and checks it. Returns how it ended (an exit code or `killed`), and whether a fault
/// was injected. `after_kill` is true if the process run before was killed.
fn faulted(scene: &Scene, faults: &[Fault], args: &[&str], after_kill: bool) -> Result<(String, bool), String> {
    let journal = scene.out().join(".hindmost/journal.jsonl");
    let length = || fs::metadata(&journal).map_or(0, |found| found.len());
    let before = length();
    let (ended, came) = process_run(scene, faults, args)?;
    // If a write fails, it may be the write of the message.
    let is_silent = ended.stderr.is_empty() && !faults.iter().any(|fault| fault.call == "write");
    let wrong = |what: &str| format!("{what} ({:?}): {}{}", ended.code, ended.stdout, ended.stderr);
    if ended.stderr.contains("panicked") {
        return Err(wrong("the command panicked"));
    }
    let how = match ended.code {
        Some(0) => {
            let keeps_files = faults.iter().any(|fault| fault.call == "unlinkat");
            results_are_right(&scene.out(), keeps_files).map_err(|what| wrong(&what))?;
            "0".to_owned()
        }
        // The fault came before the program began.
        Some(127) if ended.stderr.contains("shared librar") || ended.stderr.contains("exec failed") => "127".to_owned(),
        Some(code @ (1 | 2 | 130)) if !is_silent => code.to_string(),
        None if came && faults.iter().any(|fault| fault.error.is_none()) => return Ok(("killed".to_owned(), true)),
        _ => return Err(wrong("unexpected end of the command")),
    };
    // A process run that fails before it continues the journal leaves the processes of the killed process run.
    let refused = how != "0" && length() <= before;
    let left = if after_kill && refused { Vec::new() } else { Swept(scene.folder.path()).leftovers() };
    if left.is_empty() { Ok((how, came)) } else { Err(wrong(&format!("processes are left: {left:?}"))) }
}

/// Resumes the run without faults and checks that it finishes everything.
fn finished(scene: &Scene) -> Result<(), String> {
    let (ended, _) = process_run(scene, &[], &["--resume"])?;
    if ended.code != Some(0) {
        return Err(format!("the resumed command ended with {:?}: {}{}", ended.code, ended.stdout, ended.stderr));
    }
    results_are_right(&scene.out(), false)?;
    let left = Swept(scene.folder.path()).leftovers();
    if !left.is_empty() {
        return Err(format!("processes are left at the end: {left:?}"));
    }
    let inner = scene.out().join(".hindmost");
    let attempts = names(&inner.join("attempts"));
    let part = names(&inner).into_iter().find(|name| name.contains("part"));
    if !attempts.is_empty() || part.is_some() {
        return Err(format!("left at the end: {attempts:?} {part:?}; {}", ended.stderr));
    }
    // What killed process runs have left there is removed by the next one that uses it.
    let temporary = scene.path(TEMPORARY);
    let next = hindmost().args(["map", "--tmpdir"]).arg(&temporary).args(["true", ":::", "1"]).output().unwrap();
    if next.status.code() != Some(0) || !names(&temporary).is_empty() {
        return Err(format!("left at the end: {:?}; {}", names(&temporary), String::from_utf8_lossy(&next.stderr)));
    }
    let verdict = hindmost().arg("verify").arg(scene.out()).output().unwrap();
    if verdict.status.code() != Some(0) {
        return Err(format!("verify: {}", String::from_utf8_lossy(&verdict.stderr)));
    }
    let mut winners: BTreeMap<TaskId, u32> = BTreeMap::new();
    for row in timeline(&scene.out()).rows {
        *winners.entry(row.attempt.task).or_default() += u32::from(row.outcome == AttemptEnd::Won);
    }
    // A run that began again has only the repeated results in its new journal.
    let began_again = inner.join("journal-1.jsonl").exists();
    let one_each = (winners.len() == TASKS || began_again) && winners.values().all(|count| *count == 1);
    if one_each { Ok(()) } else { Err(format!("winners: {winners:?}")) }
}

/// Faults, one list for each process run of one run.
type Case = Vec<Vec<Fault>>;

/// Does all process runs of a case. Returns how each ended and whether a fault was injected, or what went wrong.
fn tried(case: &Case) -> Result<Vec<(String, bool)>, String> {
    let scene = Scene::new(JOB);
    let path = scene.folder.path().to_owned();
    fs::create_dir(scene.path(TEMPORARY)).unwrap();
    let _swept = Swept(&path);
    let mut hows = Vec::new();
    let mut go = || {
        for (number, faults) in case.iter().enumerate() {
            let args = if number == 0 { &[][..] } else { &["--resume"][..] };
            let after_kill = hows.iter().any(|(how, _)| how == "killed");
            let how = faulted(&scene, faults, args, after_kill);
            hows.push(how.map_err(|what| format!("process run {number}: {what}"))?);
        }
        finished(&scene)
    };
    let result = go();
    result.map(|()| hows).map_err(|what| {
        let line = |(number, faults): (usize, &Vec<Fault>)| {
            let options: Vec<String> = faults.iter().map(|fault| fault.option()).collect();
            let rest = if number == 0 { "--nodes n1:2" } else { "--resume" };
            format!("  strace -qq -o /dev/null {} hindmost run job.toml --out out {rest}", options.join(" "))
        };
        let runs: Vec<String> = case.iter().enumerate().map(line).collect();
        format!("{what}\n  in {}:\n{}", scene.folder.keep().display(), runs.join("\n"))
    })
}

/// The calls in which a process run is killed before another one resumes.
const DEATHS: [(&str, usize); 4] = [("renameat2", 2), ("clone3", 3), ("fdatasync", 4), ("syncfs", 1)];

fn death(number: usize) -> Fault {
    let (call, number) = DEATHS[number];
    Fault { call, error: None, number }
}

/// Returns how often a process run without faults makes each call. If `resumed`, it resumes a killed run. `None` if
/// `strace` does not work here.
fn counted(resumed: bool) -> Option<BTreeMap<&'static str, usize>> {
    let scene = Scene::new(JOB);
    let _swept = Swept(scene.folder.path());
    if !Command::new("strace").arg("-V").output().is_ok_and(|ran| ran.status.success()) {
        left_out("there is no strace");
        return None;
    }
    let script = "exec strace -qq -o calls \"$@\"";
    fs::create_dir(scene.path(TEMPORARY)).unwrap();
    let mut args = &["--nodes", "n1:2", "--tmpdir", TEMPORARY][..];
    if resumed {
        process_run(&scene, &[death(0)], &[]).unwrap();
        args = &["--resume", "--tmpdir", TEMPORARY];
    }
    let ended = scene.end(scene.spawn(Some(script), args));
    let calls = fs::read_to_string(scene.path("calls")).unwrap_or_default();
    if ended.code != Some(0) && (ended.stderr.contains("ptrace") || ended.stderr.contains("not permitted")) {
        left_out(&format!("strace is not permitted here: {}", ended.stderr));
        return None;
    }
    ended.with(0);
    let count = |call: &str| calls.lines().filter(|line| line.split('(').next() == Some(call)).count();
    Some(CALLS.iter().map(|(call, _)| (*call, count(call))).filter(|(_, count)| *count > 0).collect())
}

/// Counts of process runs by the call that failed and how they ended.
type Tally = BTreeMap<String, BTreeMap<String, u64>>;

/// Tries cases, checks that faults were injected, and prints how process runs ended.
fn try_all(name: &str, threads: usize, cases: impl Iterator<Item = Case> + Send) {
    let begin = Instant::now();
    let cases = Mutex::new(cases);
    let seen: Mutex<(Tally, Vec<String>)> = Mutex::default();
    let work = || {
        loop {
            let next = cases.lock().unwrap().next();
            let Some(case) = next else { return };
            let result = tried(&case);
            let mut seen = seen.lock().unwrap();
            match result {
                Ok(hows) => {
                    for (faults, (how, came)) in case.iter().zip(hows) {
                        let calls: Vec<&str> = faults.iter().map(|fault| fault.call).collect();
                        let row = if calls.len() == 1 { calls[0] } else { "several" };
                        let how = if came { how } else { "no fault injected".to_owned() };
                        *seen.0.entry(row.to_owned()).or_default().entry(how).or_default() += 1;
                    }
                }
                Err(wrong) => {
                    println!("FOUND {wrong}\n");
                    seen.1.push(wrong);
                }
            }
        }
    };
    std::thread::scope(|scope| (0..threads).for_each(|_| _ = scope.spawn(work)));
    let (tally, wrong) = seen.into_inner().unwrap();
    println!("{name}, seed {}, {} s; how process runs ended:", seed(), begin.elapsed().as_secs());
    for (call, ends) in &tally {
        println!("  {call:12} {ends:?}");
    }
    let sum = |chosen: &dyn Fn(&str) -> bool| -> u64 {
        tally.values().flatten().filter(|(how, _)| chosen(how)).map(|(_, count)| count).sum()
    };
    let (all, none) = (sum(&|_| true), sum(&|how| how == "no fault injected"));
    assert!(
        wrong.is_empty(),
        "{} cases went wrong, besides {all} process runs that ended well:\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
    assert!(none * 2 < all, "{none} of {all} process runs had no fault injected");
    let reported = sum(&|how| how != "0" && how != "no fault injected");
    assert!(reported * 5 > all, "only {reported} of {all} process runs ended differently because of a fault");
}

/// Returns the faults: one list for each pair of call and error, in random order. A kill counts as an error.
fn kinds(counts: &BTreeMap<&'static str, usize>, draw: &mut Draw) -> Vec<VecDeque<Fault>> {
    let chosen = std::env::var("HINDMOST_FAULTS_CALLS");
    let mut kinds = Vec::new();
    for (call, errors) in CALLS {
        let Some(count) = counts.get(call).copied() else { continue };
        if chosen.as_ref().is_ok_and(|chosen| !chosen.split(',').any(|name| name == call)) {
            continue;
        }
        for error in errors.split(' ').map(Some).chain([None]) {
            let all = (1..=count).map(|number| Fault { call, error, number }).collect();
            let mut tried = draw.shuffled(all);
            tried.truncate(MOST_CALLS);
            kinds.push(tried.into());
        }
    }
    draw.shuffled(kinds)
}

/// Returns all cases of one fault, taking calls and errors in turn.
fn in_turn(counts: &BTreeMap<&'static str, usize>) -> impl Iterator<Item = Fault> + Send {
    let mut kinds = VecDeque::from(kinds(counts, &mut Draw(seed())));
    println!("{} cases of one fault", kinds.iter().map(VecDeque::len).sum::<usize>());
    std::iter::from_fn(move || {
        let mut kind = kinds.pop_front()?;
        let fault = kind.pop_front()?;
        if !kind.is_empty() {
            kinds.push_back(kind);
        }
        Some(fault)
    })
}

/// Number of cases of one fault in a usual run of the tests.
const SAMPLE: u32 = 90;

#[test]
fn a_fault_at_any_system_call_keeps_results_right() {
    let Some(counts) = counted(false) else { return };
    let tried = in_turn(&counts).take(cases(SAMPLE, u32::MAX) as usize);
    try_all("one fault", 2, tried.map(|fault| vec![vec![fault]]));
}

#[test]
fn a_fault_at_any_system_call_of_a_resume_keeps_results_right() {
    let Some(counts) = counted(true) else { return };
    let tried = in_turn(&counts).take(cases(SAMPLE / 3, u32::MAX) as usize).enumerate();
    let tried = tried.map(|(number, fault)| vec![vec![death(number % DEATHS.len())], vec![fault]]);
    try_all("one fault after a kill", 2, tried);
}

#[test]
fn faults_in_up_to_four_process_runs_keep_results_right() {
    let Some(counts) = counted(false) else { return };
    let mut draw = Draw(seed() ^ 0xfa17);
    let tried = std::iter::from_fn(move || {
        let kinds = kinds(&counts, &mut draw);
        let mut faults = kinds.into_iter().filter_map(|mut kind| kind.pop_front());
        let runs = 1 + draw.below(4);
        let mut case = Vec::new();
        for _ in 0..runs {
            let first = faults.next()?;
            // Each call may have one injection, so the second fault is in another call.
            let second = faults.next().filter(|second| second.call != first.call && draw.below(2) == 0);
            case.push([Some(first), second].into_iter().flatten().collect());
        }
        Some(case)
    });
    try_all("several faults", 2, tried.take(cases(SAMPLE / 4, 1500) as usize));
}
