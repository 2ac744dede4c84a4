//! Damaged and foreign files are typed errors.

use std::fs;

use hindmost_profiles::{MOST_PROFILES, Store, StoreError, describe};

use crate::support::{profile, profile_of};

/// Reads everything in a file.
fn read(path: &std::path::Path) -> Result<u64, StoreError> {
    let store = Store::open(path, MOST_PROFILES)?;
    store.newest("wordcount", "map", usize::MAX)?;
    describe(&store, "it")?;
    store.len()
}

/// Reads everything in a file that is not changed.
fn look(path: &std::path::Path) -> Result<u64, StoreError> {
    describe(&Store::open_existing(path)?, "it").map(|found| found.profiles)
}

#[test]
fn a_truncated_file_is_an_error_or_readable() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, part) = (folder.path().join("whole"), folder.path().join("part"));
    let store = Store::open(&whole, MOST_PROFILES).unwrap();
    for at in 0..20 {
        store.add(&(0..50).map(|one| profile(f64::from(50 * at + one + 1))).collect::<Vec<_>>()).unwrap();
    }
    drop(store);
    assert_eq!(read(&whole).unwrap(), 1000);
    let bytes = fs::read(&whole).unwrap();
    let mut errors = 0;
    for step in 1..40 {
        let length = bytes.len() * step / 40;
        fs::write(&part, &bytes[..length]).unwrap();
        match read(&part) {
            Ok(count) => assert!(count <= 1000, "{count} profiles in {length} bytes"),
            Err(error) => {
                errors += 1;
                assert!(matches!(error, StoreError::Damaged { .. }), "{length} bytes: {error}");
                assert!(error.to_string().contains("part: not a readable file of profiles"), "{error}");
            }
        }
    }
    assert!(errors > 20, "{errors}");
}

#[test]
fn flipped_bytes_are_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    let store = Store::open(&whole, MOST_PROFILES).unwrap();
    store.add(&(1..=200).map(|at| profile(f64::from(at))).collect::<Vec<_>>()).unwrap();
    drop(store);
    let bytes = fs::read(&whole).unwrap();
    for at in 0..60u64 {
        let mut damaged = bytes.clone();
        let place = (hindmost_math::random::hash(at, 1, 2, 3) % bytes.len() as u64) as usize;
        damaged[place] ^= 0x5a;
        // A new file each time: a database that has panicked stays open.
        let part = folder.path().join(format!("part {at}"));
        fs::write(&part, &damaged).unwrap();
        if let Err(error) = look(&part) {
            let is_known =
                matches!(error, StoreError::Damaged { .. } | StoreError::TooNew { .. } | StoreError::NotClosed { .. });
            assert!(is_known, "byte {place}: {error}");
        }
        assert_eq!(fs::read(&part).unwrap(), damaged, "byte {place}: a reader changed the file");
        if let Err(error) = read(&part) {
            assert!(matches!(error, StoreError::Damaged { .. } | StoreError::TooNew { .. }), "byte {place}: {error}");
            assert!(error.to_string().contains("move it away"), "{error}");
        }
    }
}

#[test]
fn other_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text");
    fs::write(&text, "name = \"not profiles\"\n".repeat(500)).unwrap();
    assert!(matches!(read(&text), Err(StoreError::Damaged { .. })));
    assert_eq!(fs::read_to_string(&text).unwrap().len(), 22 * 500, "a foreign file is not changed");
    assert!(matches!(Store::open(folder.path(), 1), Err(StoreError::Io { .. } | StoreError::Damaged { .. })));
    let missing = folder.path().join("missing");
    assert!(matches!(Store::open_existing(&missing), Err(StoreError::Io { .. })));
    assert!(!missing.exists());
    let foreign = folder.path().join("foreign");
    let database = redb::Database::create(&foreign).unwrap();
    let write = database.begin_write().unwrap();
    write.open_table(redb::TableDefinition::<u64, u64>::new("accounts")).unwrap().insert(1, 2).unwrap();
    write.commit().unwrap();
    drop(database);
    let error = Store::open(&foreign, 1).err().unwrap().to_string();
    assert!(error.contains("a database of another program"), "{error}");
}

#[test]
fn what_a_file_contains() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("p"), MOST_PROFILES).unwrap();
    // wordcount on n1: 1 to 10 s; sort on two nodes: ten times 10 s on a and ten times 30 s on b.
    let mut all: Vec<_> = (1..=10).map(|at| profile(f64::from(at))).collect();
    all.extend((0..10).flat_map(|_| [profile_of("sort", "a", 10.0), profile_of("sort", "b", 30.0)]));
    store.add(&all).unwrap();
    let made = describe(&store, "FILE").unwrap();
    assert_eq!((made.file.as_str(), made.profiles, made.kinds.len()), ("FILE", 30, 2));
    let [sort, wordcount] = &made.kinds[..] else { panic!("{made:?}") };
    assert_eq!((sort.job.as_str(), sort.count, sort.nodes, sort.median, sort.p90), ("sort", 20, 2, 10.0, 30.0));
    // The mean is 20 s, and the nodes differ by 20 s: (20/20)² = 1.
    assert_eq!((sort.weights.len(), sort.weights[0].factor.as_str()), (1, "node"));
    assert!((sort.weights[0].weight - 1.0).abs() < 1e-4 && sort.weights[0].range == 1.0);
    // The fifth and ninth of ten durations; all conditions are equal, so there are no weights.
    assert_eq!((wordcount.count, wordcount.median, wordcount.p90, wordcount.weights.len()), (10, 5.0, 9.0, 0));
}

#[test]
fn a_reader_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p");
    Store::open(&path, MOST_PROFILES).unwrap().add(&[profile(1.0)]).unwrap();
    let before = fs::read(&path).unwrap();
    let reader = Store::open_existing(&path).unwrap();
    // Two readers at a time.
    assert_eq!((reader.len().unwrap(), look(&path).unwrap()), (1, 1));
    assert!(matches!(reader.add(&[profile(2.0)]), Err(StoreError::ReadOnly { .. })));
    drop(reader);
    assert_eq!(fs::read(&path).unwrap(), before);
    // A file without anything in it has no profiles, for readers as for runs.
    let empty = folder.path().join("empty");
    fs::write(&empty, "").unwrap();
    assert_eq!(look(&empty).unwrap(), 0);
    assert_eq!(fs::read(&empty).unwrap(), b"");
    assert_eq!(read(&empty).unwrap(), 0);
}

#[test]
fn a_file_that_was_not_closed_is_repaired_by_the_next_writer() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("p"), folder.path().join("copy"));
    let store = Store::open(&path, MOST_PROFILES).unwrap();
    store.add(&[profile(1.0)]).unwrap();
    // What a killed process leaves.
    fs::copy(&path, &copy).unwrap();
    let error = look(&copy).unwrap_err().to_string();
    assert!(
        error.contains("was killed; the next run or simulation with --profiles and this file repairs it"),
        "{error}"
    );
    assert_eq!((read(&copy).unwrap(), look(&copy).unwrap()), (1, 1));
}

#[test]
fn profiles_of_a_run_are_added_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("p"), 4).unwrap();
    let (one, other) = ([profile(1.0), profile(2.0)], [profile(3.0)]);
    assert!(store.add_once(&one).unwrap() && store.add_once(&other).unwrap());
    assert!(!store.add_once(&one).unwrap() && !store.add_once(&other).unwrap());
    assert_eq!(store.len().unwrap(), 3);
    // A run whose profiles have been dropped is forgotten with them. Those of a simulation are added each time.
    store.add(&[profile(4.0), profile(5.0)]).unwrap();
    store.add(&other).unwrap();
    assert_eq!(store.len().unwrap(), 4);
    assert!(store.add_once(&one).unwrap() && !store.add_once(&one).unwrap());
}
