use hindmost_sim::*;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut scenario = scenario::Scenario::load(&args[1], &[]).unwrap();
    if let Some(n) = args.get(2) { scenario.seeds = n.parse().unwrap(); }
    if let Some(p) = args.get(3) { scenario.policy = p.split(',').map(|n| scenario::PolicyEntry{name:n.into(),parameters:Default::default()}).collect(); }
    let e = experiment::Experiment::of(&scenario, 1).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let t = std::time::Instant::now();
    let ex = experiment::Execution { threads: 1, stop: &stop, progress: &|_| {}, output: None };
    let r = experiment::run_all(std::slice::from_ref(&e), &ex).unwrap();
    for p in compare::policy_results(&e, &r[0], &[]) {
        println!("{:10} jobs {} tasks {} att {} flow {:.4} {:?} p80 {:.3} p90 {:.3} res {:.4} launched {} won {} wasted {:.4} util {:.3} mk {:.1} ev {}", p.policy, p.jobs, p.tasks, p.attempts, p.flowtime.mean.unwrap(), p.flowtime.ci95, p.flowtime.p80.unwrap(), p.flowtime.p90.unwrap(), p.resource.mean.unwrap(), p.copies.launched, p.copies.won, p.copies.wasted_share, p.utilization, p.makespan, p.events);
    }
    eprintln!("{:?}", t.elapsed());
}
