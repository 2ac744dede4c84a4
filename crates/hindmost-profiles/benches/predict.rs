//! The time to open a file of a million profiles, of a prediction from it, of a fit, and of a transaction.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use hindmost_core::profiles::{Conditions, ENOUGH, Index, OF_NODE, OF_PHASE, Profile};
use hindmost_profiles::{Known, MOST_PROFILES, Store, fit};

/// Job types with one phase each. So each has 10 000 profiles, on ten nodes.
const TYPES: u32 = 100;

fn profile(at: u32) -> Profile {
    let beside = vec![("sort/map".into(), at % 3), ("wordcount/map".into(), at % 5)];
    let (input, load) = (f64::from(at % 97) * 1e6, f64::from(at % 11) / 10.0);
    let conditions = Conditions { input, remote: at.is_multiple_of(7), tasks: 100 + at % 2, load, beside };
    let seconds = 10.0 + input / 1e7 + 5.0 * load;
    let node = format!("n{}", at / TYPES % 10).into();
    Profile { job: format!("job-{}x", at % TYPES).into(), phase: "map".into(), node, speed: 1.0, seconds, conditions }
}

/// Writes a file with as many profiles as it may have. A few more are added, so that the oldest are dropped.
fn fill(path: &Path) {
    let store = Store::open(path, MOST_PROFILES).unwrap();
    let more = 10_000;
    for from in (0..MOST_PROFILES as u32 + more).step_by(20_000) {
        store.add(&(from..(from + 20_000).min(MOST_PROFILES as u32 + more)).map(profile).collect::<Vec<_>>()).unwrap();
    }
    assert_eq!(store.len().unwrap(), MOST_PROFILES);
    // The oldest 10 000 were dropped, 100 of each type.
    let kinds = store.kinds().unwrap();
    assert!(kinds.len() == TYPES as usize && kinds.iter().all(|kind| kind.profiles == 10_000));
}

/// Returns an index of one job type, as a run has it that knows the file.
fn index(path: &Path, job: &str) -> Index {
    let store = Store::open_existing(path).unwrap();
    let known = Known::of_job(&store, job, ["map"]).unwrap();
    let mut index = Index::default();
    for profile in known.of(job, "map") {
        index.add(Arc::new(profile.clone()));
    }
    let of_node: Vec<Arc<Profile>> = index.newest(job, "map", Some("n7")).cloned().collect();
    let newest: Vec<Arc<Profile>> = index.newest(job, "map", None).cloned().collect();
    assert_eq!((of_node.len(), newest.len()), (OF_NODE, OF_PHASE));
    for weights in [fit(&newest, None), fit(&of_node, Some(&"n7".into()))] {
        let weights = weights.unwrap().unwrap();
        // Durations depend on the input and on the load.
        assert!(weights.factors.iter().any(|factor| &*factor.name == "load"), "{weights:?}");
        index.set_weights(&weights);
    }
    index
}

fn predictions(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("million");
    fill(&path);
    println!("a million profiles: {} MB", std::fs::metadata(&path).unwrap().len() >> 20);
    let mut group = criterion.benchmark_group("a million profiles");
    group.sample_size(20);
    group.bench_function("open the file", |bencher| bencher.iter(|| Store::open_existing(&path).unwrap()));
    let job = "job-12x";
    group.bench_function("open the file and read what a job needs", |bencher| {
        bencher.iter(|| {
            let store = Store::open_existing(&path).unwrap();
            let known = Known::of_job(&store, job, ["map"]).unwrap();
            assert_eq!(known.of(job, "map").len(), 4 * OF_PHASE);
        });
    });
    group.bench_function("open the file and read the newest of all types", |bencher| {
        bencher.iter(|| {
            let known = Known::all(&Store::open_existing(&path).unwrap()).unwrap();
            assert_eq!(known.of(job, "map").len(), 4 * OF_PHASE);
        });
    });
    let mut index = index(&path, job);
    let mut conditions = profile(12_345).conditions;
    for (name, node, examined) in [("node with profiles", "n7", OF_NODE), ("node without profiles", "new", OF_PHASE)] {
        // Another input each time, because predictions for the same conditions are kept.
        let mut predict = |node| {
            conditions.input += 1.0;
            index.predict((job, "map"), (node, 1.0), &conditions).unwrap()
        };
        let made = predict(node);
        assert!(made.examined == examined && made.used >= ENOUGH, "{made:?}");
        // 10 s, input/10⁷ and 5 s of load: all durations are from 10 s to 10 + 9.6 + 5 s.
        assert!(made.duration.least() >= 10.0 && made.duration.greatest() <= 24.6, "{made:?}");
        group.bench_function(format!("predict, {name}"), |bencher| bencher.iter(|| predict(black_box(node))));
    }
    let newest: Vec<Arc<Profile>> = index.newest(job, "map", None).cloned().collect();
    group.bench_function("fit weights to 64 profiles", |bencher| bencher.iter(|| fit(black_box(&newest), None)));
    let store = Store::open_existing(&path).unwrap();
    let batch: Vec<Profile> = (0..1000).map(profile).collect();
    group.bench_function("add 1000 profiles and drop the oldest 1000", |bencher| {
        bencher.iter(|| assert_eq!(store.add(&batch).unwrap(), MOST_PROFILES));
    });
    group.finish();
}

criterion_group!(benches, predictions);
criterion_main!(benches);
