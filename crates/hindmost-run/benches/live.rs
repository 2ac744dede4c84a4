//! Measures the cost of the live driver: decisions for 1000 nodes on a fake engine, and real attempts on this machine.
//! Run with `cargo bench -p hindmost-run`.

use std::hint::black_box;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use hindmost_core::workload::DemandByName;
use hindmost_run::driver::{RunOptions, RunOutcome, Unfollowed, run};
use hindmost_run::engine::{Engine, Local, NodeOffer, parse_nodes};
use hindmost_run::job_file::{Plan, parse};
use hindmost_run::store::{Opening, Store};

use fake_engine::{FakeEngine, FakeTask, Reported};

#[path = "../tests/it/fake_engine.rs"]
#[allow(dead_code, reason = "the tests need more of it")]
mod fake_engine;

fn plan(tasks: u32, folder: &std::path::Path) -> Plan {
    let text = format!("name = \"bench\"\n[[phase]]\nname = \"work\"\ntasks = {tasks}\ncommand = \"true\"\n");
    parse(&text, &folder.join("bench.toml"), folder).expect("the job is valid")
}

fn run_job(plan: &Plan, policy: &str, folder: &std::path::Path, engine: &mut dyn Engine) -> RunOutcome {
    let store = Store::open(folder, plan, &Opening::default()).expect("the run's folder can be opened");
    let options = RunOptions { policy: policy.parse().ok(), ..RunOptions::default() };
    run(&options, store, engine, &AtomicU32::new(0), &mut Unfollowed).expect("the run ends without an error")
}

/// Runs 2000 tasks on 1000 nodes. Attempts take 10 to 11 s on most nodes, and 80 s on every hundredth node.
fn run_on_1000_nodes(policy: &str) -> RunOutcome {
    let folder = tempfile::tempdir().expect("a temporary folder can be created");
    let capacity = DemandByName::from([("cpus".to_owned(), 1.0)]);
    let nodes = (0..1000).map(|at| NodeOffer::new(format!("n{at}"), capacity.clone()));
    let mut engine = FakeEngine::new(nodes.collect(), |launch| FakeTask {
        seconds: if launch.node.0 % 100 == 0 { 80.0 } else { 10.0 + f64::from(launch.attempt.task.index % 97) / 97.0 },
        exit: Some(0),
        reports: false,
        reported: Reported::Power(1),
        blocks: 0,
        hangs: 0.0,
        begins: 0.0,
        memory: 0,
        used: hindmost_run::engine::Used::default(),
    });
    run_job(&plan(2000, folder.path()), policy, &folder.path().join("out"), &mut engine)
}

fn live(criterion: &mut Criterion) {
    for policy in ["pace", "mantri", "spark"] {
        let outcome = run_on_1000_nodes(policy);
        let mean = outcome.deciding.as_secs_f64() / outcome.rounds as f64;
        println!(
            "{policy}: {} rounds at 1 000 nodes; a round took {:.3} ms on average and {:.3} ms at most ({} attempts)",
            outcome.rounds,
            1e3 * mean,
            outcome.longest_decision.as_secs_f64() * 1e3,
            outcome.summary.attempts,
        );
    }
    let mut group = criterion.benchmark_group("live");
    group.sample_size(10);
    group.bench_function("decide, a round at 1 000 nodes, pace", |bencher| {
        bencher.iter_custom(|rounds| {
            let mut spent = Duration::ZERO;
            let mut seen = 0;
            while seen < rounds {
                let outcome = black_box(run_on_1000_nodes("pace"));
                spent += outcome.deciding;
                seen += outcome.rounds;
            }
            spent.mul_f64(rounds as f64 / seen as f64)
        });
    });
    group.bench_function("one of 500 local tasks, 2 at a time", |bencher| {
        bencher.iter_custom(|tasks| {
            let folder = tempfile::tempdir().expect("a temporary folder can be created");
            let plan = plan(500, folder.path());
            let begun = Instant::now();
            let mut done = 0;
            while done < tasks {
                let mut engine = Local::new(parse_nodes(Some("n1:2")).expect("the nodes are valid"))
                    .expect("this system can run attempts");
                black_box(run_job(&plan, "pace", &folder.path().join(done.to_string()), &mut engine));
                done += 500;
            }
            begun.elapsed().mul_f64(tasks as f64 / done as f64)
        });
    });
    group.finish();
}

criterion_group!(benches, live);
criterion_main!(benches);
