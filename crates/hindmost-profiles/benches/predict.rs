//! The time of a prediction among a million profiles, of a fit, and of a transaction.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use hindmost_core::profiles::{Conditions, Index, Profile};
use hindmost_profiles::{MOST_PROFILES, Store, fit};

fn profile(at: u32) -> Profile {
    let beside = vec![("sort/map".into(), at % 3), ("wordcount/map".into(), at % 5)];
    let (input, load) = (f64::from(at % 97) * 1e6, f64::from(at % 11) / 10.0);
    let conditions = Conditions { input, remote: at.is_multiple_of(7), tasks: 100 + at % 2, load, beside };
    let (job, phase) = ("wordcount".into(), "map".into());
    let seconds = 10.0 + input / 1e7 + 5.0 * load;
    Profile { job, phase, node: format!("n{}", at % 1000).into(), speed: 1.0, seconds, conditions }
}

fn predictions(criterion: &mut Criterion) {
    let mut index = Index::default();
    for at in 0..1_000_000 {
        index.add(Arc::new(profile(at)));
    }
    let newest: Vec<Arc<Profile>> = index.newest("wordcount", "map", None).cloned().collect();
    let of_node: Vec<Arc<Profile>> = index.newest("wordcount", "map", Some("n7")).cloned().collect();
    for weights in [fit(&newest, None), fit(&of_node, Some(&"n7".into()))] {
        index.set_weights(Arc::new(weights.unwrap().unwrap()));
    }
    let conditions = profile(12_345).conditions;
    for (name, node) in [("node with profiles", "n7"), ("node without profiles", "new")] {
        criterion.bench_function(&format!("prediction among a million profiles, {name}"), |bencher| {
            bencher.iter(|| index.predict(("wordcount", "map"), (black_box(node), 1.0), &conditions));
        });
    }
    criterion.bench_function("fit of weights to 64 profiles", |bencher| bencher.iter(|| fit(black_box(&newest), None)));
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("profiles"), MOST_PROFILES).unwrap();
    let batch: Vec<Profile> = (0..1000).map(profile).collect();
    criterion.bench_function("transaction of 1000 profiles", |bencher| bencher.iter(|| store.add(&batch).unwrap()));
}

criterion_group!(benches, predictions);
criterion_main!(benches);
