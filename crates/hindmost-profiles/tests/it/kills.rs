//! A process that is killed while it writes: what it has committed is there, and nothing else.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use hindmost_math::random::{hash, unit};
use hindmost_profiles::{MOST_PROFILES, Store};

use crate::support::{profile, profile_of};

/// Names the file that the writing process writes.
const FILE: &str = "HINDMOST_TEST_PROFILES";
/// Profiles of a transaction.
const BATCH: u64 = 5;
/// Most profiles of a file in the test of a bounded file.
const BOUND: u64 = 42;

/// The writing process: adds batches of profiles with 1, 2, 3, … seconds, and prints how many it has committed. In a
/// normal run of the tests it does nothing.
#[test]
fn writes_until_killed() {
    let Ok(file) = std::env::var(FILE) else { return };
    let (file, most) = file.rsplit_once(':').unwrap();
    let store = Store::open(Path::new(file), most.parse().unwrap()).unwrap();
    let newest = store.newest("wordcount", "map", 1).unwrap();
    let mut written = newest.first().map_or(0, |profile| profile.seconds as u64);
    loop {
        let batch: Vec<_> = (1..=BATCH).map(|at| profile((written + at) as f64)).collect();
        store.add(&batch).unwrap();
        written += BATCH;
        let mut out = std::io::stdout().lock();
        writeln!(out, "committed {written}").unwrap();
        out.flush().unwrap();
    }
}

/// Starts the writing process, kills it after a delay, and returns how many profiles it has committed for certain.
fn write_and_kill(file: &Path, most: u64, delay: Duration) -> Option<u64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kills::writes_until_killed", "--nocapture", "--test-threads", "1"])
        .env(FILE, format!("{}:{most}", file.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let out = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let numbers = BufReader::new(out).lines().map_while(Result::ok);
        numbers.filter_map(|line| line.rsplit_once("committed ")?.1.parse::<u64>().ok()).last()
    });
    sleep(delay);
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

fn delay(at: u64) -> Duration {
    Duration::from_secs_f64(0.02 + 0.3 * unit(hash(3, 0, at, 0)))
}

#[test]
fn nothing_committed_is_lost_at_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("profiles.redb");
    let (mut committed, mut kills) = (0, 0);
    for at in 0..12 {
        let before = committed;
        if let Some(last) = write_and_kill(&file, MOST_PROFILES, delay(at)) {
            committed = last;
            kills += 1;
        }
        let store = Store::open(&file, MOST_PROFILES).unwrap();
        let found: Vec<f64> =
            store.newest("wordcount", "map", usize::MAX).unwrap().iter().map(|one| one.seconds).collect();
        // 1, 2, 3, … without a gap: all batches that were reported, and perhaps the one that was being reported.
        let expected: Vec<f64> = (1..=found.len() as u64).map(|seconds| seconds as f64).collect();
        assert_eq!(found, expected);
        let count = found.len() as u64;
        assert!(count == committed || count == committed + BATCH, "{count} of {committed} after {before}");
        assert_eq!((store.len().unwrap(), count % BATCH), (count, 0));
        committed = count;
    }
    assert!(kills > 0 && committed > 0, "the process was always killed before its first commit");
}

#[test]
fn a_full_file_stays_within_its_bound_at_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("profiles.redb");
    let full: Vec<_> = (1..=BOUND).map(|seconds| profile(seconds as f64)).collect();
    Store::open(&file, BOUND).unwrap().add(&full).unwrap();
    for at in 0..6 {
        write_and_kill(&file, BOUND, delay(100 + at));
        let store = Store::open(&file, BOUND).unwrap();
        let found: Vec<u64> =
            store.newest("wordcount", "map", usize::MAX).unwrap().iter().map(|one| one.seconds as u64).collect();
        assert_eq!((store.len().unwrap(), found.len() as u64), (BOUND, BOUND));
        assert!(found.windows(2).all(|pair| pair[1] == pair[0] + 1), "{found:?}");
    }
}

#[test]
fn the_oldest_profiles_are_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("p"), 4).unwrap();
    let other = profile_of("sort", "n1", 7.0);
    store.add(&[other, profile(1.0), profile(2.0)]).unwrap();
    assert_eq!(store.add(&[profile(3.0), profile(f64::NAN), profile(4.0)]).unwrap(), 4);
    let seconds =
        |most| store.newest("wordcount", "map", most).unwrap().iter().map(|one| one.seconds).collect::<Vec<_>>();
    // Five valid profiles came, and the oldest, the only one of sort, went.
    assert_eq!((seconds(9), seconds(2)), (vec![1.0, 2.0, 3.0, 4.0], vec![3.0, 4.0]));
    let kinds = store.kinds().unwrap();
    assert_eq!(kinds.iter().map(|kind| (&*kind.job, kind.profiles)).collect::<Vec<_>>(), [("wordcount", 4)]);
    assert_eq!(store.newest("sort", "map", 9).unwrap(), []);
}

#[test]
fn kinds_count_the_profiles_that_are_left_when_several_are_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p");
    let store = Store::open(&path, 5).unwrap();
    let kinds = |store: &Store| -> Vec<(String, u64)> {
        store.kinds().unwrap().iter().map(|kind| (kind.job.to_string(), kind.profiles)).collect()
    };
    let many =
        |job: &str, count: u32| (0..count).map(|at| profile_of(job, "n1", f64::from(at + 1))).collect::<Vec<_>>();
    store.add(&many("etl", 4)).unwrap();
    // Three of sort come: 4 + 3 − 5 = 2 of etl go.
    assert_eq!(store.add(&many("sort", 3)).unwrap(), 5);
    assert_eq!(kinds(&store), [("etl".to_owned(), 2), ("sort".to_owned(), 3)]);
    // Four of grep come: the other two of etl go, and the two oldest of sort. There is nothing of etl any more.
    assert_eq!(store.add(&many("grep", 4)).unwrap(), 5);
    assert_eq!(kinds(&store), [("grep".to_owned(), 4), ("sort".to_owned(), 1)]);
    assert_eq!(store.newest("sort", "map", 9).unwrap(), [profile_of("sort", "n1", 3.0)]);
    assert_eq!(store.newest("etl", "map", 9).unwrap(), []);
    drop(store);
    assert_eq!(kinds(&Store::open_existing(&path).unwrap()), [("grep".to_owned(), 4), ("sort".to_owned(), 1)]);
}
