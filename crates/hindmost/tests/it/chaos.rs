//! `hindmost run` with random faults: the command and its attempts are killed and interrupted at random times, nodes are
//! slow and lost. The run is resumed until it is done. Its results must be the same as without faults.
//!
//! Between process runs the folder is changed a few times too: results are removed, changed and replaced; the folder is
//! moved, copied, and prepared with links.
//!
//! A usual run of the tests does 16 runs, the nightly one 300.

mod trouble;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hindmost_core::ids::TaskId;
use hindmost_core::timeline::AttemptEnd;
use hindmost_testing::{Draw, cases, seed};
use serde_json::Value;
use tempfile::TempDir;

use crate::hindmost;
use crate::scene::{ended, files, leftovers, names, processes, run_id, signal, timeline};

/// Three phases of 7, 4 and 1 tasks, which write their output in steps and leave processes running. Any of their
/// processes may be killed, so that each command fails if a program that it calls fails.
const JOB: &str = r#"
name = "chaos"

[[phase]]
name = "make"
tasks = 7
retries = 60
command = '''
set -e
sleep 30 &
for i in 0 1 2 3 4; do
    seq $((HINDMOST_TASK * 100 + i * 20)) $((HINDMOST_TASK * 100 + i * 20 + 19)) >> "$HINDMOST_OUTPUT/numbers"
    echo "0.$((i * 2))" >> "$HINDMOST_PROGRESS"
    sleep 0.0$((2 + HINDMOST_TASK % 4))
done
echo whole > "$HINDMOST_OUTPUT/state"
'''

[[phase]]
name = "fold"
after = ["make"]
tasks = 4
retries = 60
command = '''
set -e
setsid sleep 30 &
for part in "$HINDMOST_FROM"/make/*; do
    read -r state < "$part/state" && [ "$state" = whole ] || exit 9
    awk -v k="$HINDMOST_TASK" '$1 % 4 == k { n += $1 } END { print NR, n }' "$part/numbers" >> "$HINDMOST_OUTPUT/sums"
    sleep 0.01
done
'''

[[phase]]
name = "total"
after = ["fold"]
tasks = 1
retries = 60
command = '''
for i in 1 2 3; do sleep 0.03; echo "0.$i" >> "$HINDMOST_PROGRESS"; done
awk '{ lines += $1; n += $2 } END { print lines, n }' "$HINDMOST_FROM"/fold/*/sums > "$HINDMOST_OUTPUT/result"
'''
"#;

const PHASES: [(&str, u32); 3] = [("make", 7), ("fold", 4), ("total", 1)];

const POLICIES: [&str; 10] = [
    "pace",
    "pace",
    "none",
    "mantri(kill_restart=true,delta=0.1)",
    "late(cap=0.5)",
    "spark(quantile=0.3,multiplier=1.5)",
    "sca(max_copies=2)",
    "hadoop",
    "window(window=1,slow=0.9)",
    "hete_aware(slow=0.9)",
];

/// Returns the expected results, by path in the output folder.
fn expected() -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for task in 0..7 {
        let numbers: Vec<String> = (task * 100..task * 100 + 100).map(|number| format!("{number}\n")).collect();
        files.insert(format!("make/{task}/numbers"), numbers.concat());
        files.insert(format!("make/{task}/state"), "whole\n".to_owned());
    }
    for fold in 0..4 {
        let sum = |task: u32| (task * 100..task * 100 + 100).filter(|number| number % 4 == fold).sum::<u32>();
        let sums: Vec<String> = (0..7).map(|task| format!("100 {}\n", sum(task))).collect();
        files.insert(format!("fold/{fold}/sums"), sums.concat());
    }
    files.insert("total/0/result".to_owned(), format!("2800 {}\n", (0..700).sum::<u32>()));
    files
}

/// A fault during a process run of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Kill,
    Interrupt,
    InterruptTwice,
    Terminate,
    /// A process of an attempt is killed. The command continues.
    KillAttempt,
}

/// A change of the folder while the command does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FolderChange {
    RemoveResult,
    ChangeResult,
    AddToResult,
    ReplaceByFile,
    ReplaceByLink,
    Move,
    /// A copy of the folder is resumed to its end, while attempts of the original may still run.
    Copy,
    /// Links to a file outside of the folder are created under names that the command will write.
    PlantLinks,
}

const FOLDER_CHANGES: [FolderChange; 8] = [
    FolderChange::RemoveResult,
    FolderChange::ChangeResult,
    FolderChange::AddToResult,
    FolderChange::ReplaceByFile,
    FolderChange::ReplaceByLink,
    FolderChange::Move,
    FolderChange::Copy,
    FolderChange::PlantLinks,
];

/// Counts of faults and observations, by name.
#[derive(Default)]
struct Tally(BTreeMap<String, u64>);

impl Tally {
    fn add(&mut self, what: &str) {
        self.count(what, 1);
    }

    fn count(&mut self, what: &str, times: u64) {
        *self.0.entry(what.to_owned()).or_default() += times;
    }
}

/// One run, from its first process run to its last.
struct ChaosRun<'a> {
    folder: &'a Path,
    out: PathBuf,
    draw: Draw,
    tally: Tally,
    process_runs: u32,
    nodes: &'static str,
    policy: &'static str,
    history: String,
}

impl ChaosRun<'_> {
    /// Starts the next process run of the command.
    fn spawn(&mut self) -> Child {
        let mut command = hindmost();
        command.current_dir(self.folder).args(["run", "job.toml", "--json", "--out"]).arg(&self.out);
        // A run that has begun takes nodes and policy from its journal, so the options are needed only at first.
        let journal = fs::read_to_string(self.out.join(".hindmost/journal.jsonl")).unwrap_or_default();
        let begun = journal.contains("job_arrived") && journal.lines().count() > 6;
        if !begun || self.draw.one_in(2) {
            command.args(["--nodes", self.nodes]);
        }
        if !begun || self.draw.one_in(2) {
            command.args(["--policy", self.policy]);
        }
        if self.process_runs > 0 {
            command.arg("--resume");
        }
        let mut chaos = vec![format!("seed={}", self.draw.below(1000))];
        if self.draw.one_in(2) {
            chaos.push("kill=0.1".to_owned());
        }
        if self.draw.one_in(2) {
            chaos.push("slow=n2:4".to_owned());
        }
        if self.draw.one_in(2) {
            chaos.push("lose=n3:0.3s@0.1s".to_owned());
        }
        command.args(["--chaos", &chaos.join(",")]);
        let log = |name: &str| fs::File::create(self.folder.join(format!("{}.{name}", self.process_runs))).unwrap();
        command.stdout(log("out")).stderr(log("err"));
        self.history += &format!("process run {}: {chaos:?}", self.process_runs);
        self.process_runs += 1;
        command.spawn().unwrap()
    }

    /// Returns the output of the last process run.
    fn said(&self) -> String {
        let read = |name: &str| fs::read_to_string(self.folder.join(format!("{}.{name}", self.process_runs - 1)));
        format!("{}{}", read("out").unwrap_or_default(), read("err").unwrap_or_default())
    }

    fn journal_length(&self) -> u64 {
        fs::metadata(self.out.join(".hindmost/journal.jsonl")).map_or(0, |found| found.len())
    }

    /// Does one process run with a fault, unless the run ends before the fault. Returns true if the job is done.
    fn run_with_fault(&mut self, fault: Fault) -> Result<bool, String> {
        let before = self.journal_length();
        let mut child = self.spawn();
        let wait = if self.draw.one_in(4) { self.draw.below(8_000) } else { self.draw.below(800_000) };
        self.history += &format!(", {fault:?} after {} ms\n", wait / 1000);
        std::thread::sleep(Duration::from_micros(wait));
        self.tally.add(&format!("{fault:?}"));
        match fault {
            Fault::Kill => child.kill().unwrap(),
            Fault::Interrupt => signal(child.id(), "INT"),
            Fault::Terminate => signal(child.id(), "TERM"),
            Fault::InterruptTwice => {
                signal(child.id(), "INT");
                std::thread::sleep(Duration::from_micros(self.draw.below(30_000)));
                signal(child.id(), "INT");
            }
            Fault::KillAttempt => {
                let found = run_id(&self.out).map(|run| processes(&run)).unwrap_or_default();
                if !found.is_empty() {
                    let (pid, _) = &found[self.draw.below(found.len() as u64) as usize];
                    signal(*pid, "KILL");
                }
            }
        }
        let Some(status) = ended(&mut child) else {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("the command did not end within two minutes after {fault:?}: {}", self.said()));
        };
        self.ended_rightly(fault, status, before)
    }

    /// Checks how a process run ended. Returns true if the job is done. `before` is the length of the journal, in bytes, when
    /// the process run began.
    fn ended_rightly(&mut self, fault: Fault, status: ExitStatus, before: u64) -> Result<bool, String> {
        let wrong =
            |what: &str, chaos_run: &ChaosRun<'_>| Err(format!("{fault:?}: {what} ({status}): {}", chaos_run.said()));
        match (fault, status.code()) {
            (_, Some(0)) => {
                self.tally.add("done before the fault");
                return Ok(true);
            }
            (Fault::Kill, None) => return Ok(false),
            (Fault::Interrupt | Fault::InterruptTwice | Fault::Terminate, Some(130)) => {}
            (Fault::Interrupt | Fault::InterruptTwice | Fault::Terminate, None) => {
                // The signal came before the handlers were installed and before any task ran.
                self.tally.add("interrupted before the signal handlers were installed");
                if self.journal_length() != before {
                    return wrong("a signal ended the command after the run had begun", self);
                }
                return Ok(false);
            }
            _ => return wrong("unexpected end of the command", self),
        }
        self.tally.add("interrupted");
        let Some(run) = run_id(&self.out) else { return Ok(false) };
        let (left, late) = leftovers(&run);
        self.tally.count("interrupted while a process was still ending", u64::from(late));
        if !left.is_empty() {
            return wrong(&format!("processes are left: {left:?}"), self);
        }
        let attempts = names(&self.out.join(".hindmost/attempts"));
        if !attempts.is_empty() {
            return wrong(&format!("folders of attempts are left: {attempts:?}"), self);
        }
        Ok(false)
    }

    /// Draws one of the results that exist.
    fn some_result(&mut self) -> Option<PathBuf> {
        let out = self.out.clone();
        let of_phase = |phase: &str| fs::read_dir(out.join(phase)).into_iter().flatten().flatten();
        let mut results: Vec<PathBuf> =
            PHASES.iter().flat_map(|(phase, _)| of_phase(phase)).map(|entry| entry.path()).collect();
        results.sort();
        if results.is_empty() {
            None
        } else {
            Some(results.swap_remove(self.draw.below(results.len() as u64) as usize))
        }
    }

    /// Changes the folder. No change may cause wrong results or harm other files.
    fn change_folder(&mut self) -> Result<(), String> {
        let what = FOLDER_CHANGES[self.draw.below(FOLDER_CHANGES.len() as u64) as usize];
        self.history += &format!("{what:?}\n");
        self.tally.add(&format!("{what:?}"));
        let result = self.some_result();
        let file =
            || result.as_ref().and_then(|result| fs::read_dir(result).ok()?.next()?.ok().map(|file| file.path()));
        let remove = || result.as_ref().is_some_and(|result| fs::remove_dir_all(result).is_ok());
        match what {
            FolderChange::RemoveResult => _ = remove(),
            FolderChange::ChangeResult => _ = file().map(|file| fs::write(file, "changed\n")),
            FolderChange::AddToResult => _ = result.as_ref().map(|result| fs::write(result.join("more"), "more\n")),
            FolderChange::ReplaceByFile if remove() => _ = fs::write(result.unwrap(), "no result\n"),
            FolderChange::ReplaceByLink if remove() => _ = std::os::unix::fs::symlink("nowhere", result.unwrap()),
            FolderChange::ReplaceByFile | FolderChange::ReplaceByLink => {}
            FolderChange::Move => {
                let to = self.folder.join(format!("out{}", self.process_runs));
                if fs::rename(&self.out, &to).is_ok() {
                    self.out = to;
                }
            }
            FolderChange::Copy => return self.resume_copy(),
            FolderChange::PlantLinks => {
                for name in ["job.json.part", "summary.json.part", "../report.html.part"] {
                    let place = self.out.join(".hindmost").join(name);
                    if !place.exists() {
                        let _ = std::os::unix::fs::symlink(self.folder.join("somebody/file"), place);
                    }
                }
            }
        }
        Ok(())
    }

    /// Resumes a copy of the folder to its end. The copy has all results; the original does not change.
    fn resume_copy(&mut self) -> Result<(), String> {
        let copy = self.folder.join(format!("copy{}", self.process_runs));
        let copied = Command::new("cp").arg("-a").arg(&self.out).arg(&copy).output().unwrap();
        // A running attempt may remove files while they are copied.
        if !copied.status.success() || !copy.join(".hindmost/job.json").exists() {
            let _ = fs::remove_dir_all(&copy);
            return Ok(());
        }
        let original = run_id(&self.out).map(|run| processes(&run).len());
        let mut command = hindmost();
        command.current_dir(self.folder).args(["run", "job.toml", "--json", "--resume", "--out"]).arg(&copy);
        let ran = command.output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        if ran.status.code() != Some(0) {
            return Err(format!("the copy ended {}: {said}", ran.status));
        }
        let mut found = files(&copy);
        found.retain(|name, _| {
            !name.starts_with(".hindmost/") && !name.starts_with("report.html") && !name.starts_with("results.tsv")
        });
        if found != expected() {
            return Err(format!("the copy's results differ: {:?}", found.keys().collect::<Vec<_>>()));
        }
        let now = run_id(&self.out).map(|run| processes(&run).len());
        self.tally.count("processes of the original beside a copy", original.unwrap_or(0).min(now.unwrap_or(0)) as u64);
        fs::remove_dir_all(&copy).map_err(|error| error.to_string())
    }

    /// Does the last process run, without a fault.
    fn finish(&mut self) -> Result<(), String> {
        let mut child = self.spawn();
        self.history += ", to the end\n";
        let Some(status) = ended(&mut child) else {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("the last process run did not end within two minutes: {}", self.said()));
        };
        if status.code() == Some(0) {
            Ok(())
        } else {
            Err(format!("the last process run ended {status}: {}", self.said()))
        }
    }

    /// Checks the files and processes that the run has left.
    fn check(&mut self) -> Result<(), String> {
        let run = run_id(&self.out).ok_or("there is no job.json")?;
        let (left, late) = leftovers(&run);
        self.tally.count("done while a process was still ending", u64::from(late));
        if !left.is_empty() {
            return Err(format!("processes are left: {left:?}"));
        }
        let inner = self.out.join(".hindmost");
        if !names(&inner.join("attempts")).is_empty() {
            return Err(format!("folders of attempts are left: {:?}", names(&inner.join("attempts"))));
        }
        let part = names(&inner).into_iter().find(|name| name.contains("part") && !inner.join(name).is_symlink());
        if let Some(part) = part {
            return Err(format!("an incomplete file is left: {part}"));
        }
        let mut found = files(&self.out);
        found.retain(|name, _| {
            !name.starts_with(".hindmost/") && !name.starts_with("report.html") && !name.starts_with("results.tsv")
        });
        let somebody = fs::read_to_string(self.folder.join("somebody/file")).unwrap_or_default();
        if somebody != "precious" || names(&self.folder.join("somebody")).len() != 1 {
            return Err(format!("somebody else's folder has changed: {somebody:?}"));
        }
        let expected = expected();
        if found != expected {
            let wrong: Vec<_> = found
                .iter()
                .filter(|(name, text)| expected.get(*name) != Some(text))
                .chain(expected.iter().filter(|(name, _)| !found.contains_key(*name)))
                .map(|(name, _)| name)
                .collect();
            return Err(format!("results differ: {wrong:?}"));
        }
        for (phase, tasks) in PHASES {
            let wanted: BTreeSet<String> = (0..tasks).map(|task| task.to_string()).collect();
            if names(&self.out.join(phase)) != wanted {
                return Err(format!("results of {phase}: {:?}", names(&self.out.join(phase))));
            }
        }
        self.check_journal()
    }

    fn check_journal(&mut self) -> Result<(), String> {
        let journal = self.out.join(".hindmost/journal.jsonl");
        let verdict = hindmost().arg("verify").arg(&journal).arg("--json").output().unwrap();
        let said: Value = serde_json::from_slice(&verdict.stdout).unwrap_or_default();
        if verdict.status.code() != Some(0) || said["same"] != true || said["cut_short"] != false {
            return Err(format!("verify: {said} {}", String::from_utf8_lossy(&verdict.stderr)));
        }
        let timeline = timeline(&self.out);
        let mut winners: BTreeMap<TaskId, u32> = BTreeMap::new();
        // If the run began again, its journal lists these tasks as finished.
        for (phase, spec) in (0..).zip(&timeline.jobs[0].spec.phases) {
            for index in &spec.finished {
                winners.insert(TaskId { job: hindmost_core::ids::JobId(0), phase, index: *index }, 1);
            }
        }
        for row in &timeline.rows {
            *winners.entry(row.attempt.task).or_default() += u32::from(row.outcome == AttemptEnd::Won);
            if row.outcome == AttemptEnd::Running {
                return Err(format!("still running by the journal: {row:?}"));
            }
        }
        let tasks: u32 = PHASES.iter().map(|(_, tasks)| tasks).sum();
        if winners.len() as u32 != tasks || winners.values().any(|count| *count != 1) {
            return Err(format!("winners: {winners:?}"));
        }
        self.tally.count("attempts", timeline.rows.len() as u64);
        Ok(())
    }
}

/// Does one run with faults. Returns the counts, or what is wrong.
fn chaos(seed: u64) -> Result<Tally, String> {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("job.toml"), JOB).unwrap();
    fs::create_dir(folder.path().join("somebody")).unwrap();
    fs::write(folder.path().join("somebody/file"), "precious").unwrap();
    let mut draw = Draw(seed);
    let policy = POLICIES[draw.below(POLICIES.len() as u64) as usize];
    let nodes = "n1:2,n2:2,n3:2";
    let history = format!("policy {policy}\n");
    let out = folder.path().join("out");
    let tally = Tally::default();
    let mut chaos_run = ChaosRun { folder: folder.path(), out, draw, tally, process_runs: 0, nodes, policy, history };
    let result = attack(&mut chaos_run);
    chaos_run.tally.count("process runs", u64::from(chaos_run.process_runs));
    let (tally, history) = (chaos_run.tally, chaos_run.history);
    result.map_err(|wrong| {
        let kept = folder.keep();
        format!("seed {seed}: {wrong}\n{history}(the folder is kept: {})", kept.display())
    })?;
    Ok(tally)
}

fn attack(chaos_run: &mut ChaosRun<'_>) -> Result<(), String> {
    let mut faults: Vec<Fault> = vec![Fault::Kill; chaos_run.draw.below(5) as usize];
    for fault in [Fault::Interrupt, Fault::InterruptTwice, Fault::Terminate, Fault::KillAttempt] {
        if chaos_run.draw.one_in(5) {
            let at = chaos_run.draw.below(faults.len() as u64 + 1) as usize;
            faults.insert(at, fault);
        }
    }
    let mut done = false;
    let mut changes = chaos_run.draw.below(4);
    for fault in faults {
        done |= chaos_run.run_with_fault(fault)?;
        // Attempts continue or end while the command does not run.
        if chaos_run.draw.one_in(2) {
            std::thread::sleep(Duration::from_millis(chaos_run.draw.below(400)));
        }
        if changes > 0 && chaos_run.out.join(".hindmost/job.json").exists() {
            changes -= 1;
            chaos_run.change_folder()?;
            done = false;
        }
    }
    // A run that is done can be resumed, too. It repairs changed results and is done again.
    // One that was killed before it had begun has nothing to change.
    if chaos_run.process_runs > 0 && chaos_run.draw.one_in(2) && chaos_run.out.join(".hindmost/job.json").exists() {
        chaos_run.change_folder()?;
        done = false;
    }
    if !done || chaos_run.draw.one_in(4) {
        chaos_run.finish()?;
    }
    chaos_run.check()
}

/// Number of runs at a time.
const THREADS: u32 = 4;

#[test]
fn random_kills_do_not_change_results() {
    let (runs, first) = (u64::from(cases(16, 300)), seed());
    let next = AtomicU64::new(0);
    let seen: Mutex<(Tally, Vec<String>)> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= runs {
                        return;
                    }
                    let result = chaos(first + number);
                    let mut seen = seen.lock().unwrap();
                    match result {
                        Ok(tally) => tally.0.iter().for_each(|(what, times)| seen.0.count(what, *times)),
                        Err(wrong) => {
                            println!("{wrong}\n");
                            seen.1.push(wrong);
                        }
                    }
                }
            });
        }
    });
    let (tally, wrong) = seen.into_inner().unwrap();
    println!("{runs} runs from seed {first}: {:#?}", tally.0);
    assert!(wrong.is_empty(), "{} of {runs} runs went wrong:\n{}", wrong.len(), wrong.join("\n\n"));
}
