use hindmost_sim::testing::World;
use hindmost_sim::scenario::Scenario;
use hindmost_sim::experiment::Experiment;
#[test]
fn speed() {
    let t = std::time::Instant::now();
    let s = Scenario::parse("horizon=200000.0\norder=\"fifo\"\n[cluster]\nmachines=1\n[workload]\narrival={poisson={rate=0.9}}\ntasks=1\nduration={exponential={mean=1.0}}\n[[policy]]\nname=\"none\"", "t", std::path::Path::new(""), &[]).unwrap();
    let e = Experiment::of(&s, 1).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let c = hindmost_sim::driver::Control { stop: &stop, progress: &|_| {} };
    let r = e.run_one(&e.policies[0], 1, &mut hindmost_sim::output::Silent, &c).unwrap();
    eprintln!("{} jobs {:?}", r.finished, t.elapsed());
    let run = World::nodes([[("cpus", 2.0)], [("cpus", 2.0)]]).horizon(10.0).job("a").drawn(1, "pareto(alpha=2,mean=1)").run("sca(max_copies=2)");
    eprintln!("{:?} util {}", run.table("a"), run.result.utilization);
    for p in ["fair+sca", "sca"] {
    let run = World::machines(4).job("a").same(3, 1.0).job("b").same(3,1.0).run(p);
    eprintln!("{p} {:?} {:?}", run.starts("a"), run.starts("b"));
    }
    let run = World::machines(3).order("fifo").job("a").tasks([[1.0,9.],[1.,9.],[100.,9.],[3.,9.],[3.,9.]]).run("spark(quantile=0.4,multiplier=2.5)");
    eprintln!("spark {:?}", run.table("a"));
    let run = World::machines(1).job("a").tasks([[0.0]]).try_run("none");
    eprintln!("zero {:?}", run.err().map(|e| e.to_string()));
    let run = std::panic::catch_unwind(|| World::nodes([[("cpus", 2.0)], [("cpus", 2.0)]]).job("a").drawn(8, "pareto(alpha=2,mean=1)").demand([("cpus", 0.0)]).try_run("late").map(|r|r.backups("a")));
    eprintln!("zero demand {:?}", run.map(|e|e.map_err(|e|e.to_string())).map_err(|_|()));
}
