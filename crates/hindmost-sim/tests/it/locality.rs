//! Placement near the input, times for reading it, and the upstream outputs that clones read, worked out by hand.

use std::path::Path;

use hindmost_core::ids::{NodeId, TaskId};
use hindmost_core::policy::losing_copies::Keep;
use hindmost_core::policy::queue_place::Which;
use hindmost_core::policy::{Pass, Policy, Round};
use hindmost_core::record::{Change, Event, Record};
use hindmost_core::time::Time;
use hindmost_core::workload::InputSpec;
use hindmost_policies::orders::fifo::Fifo;
use hindmost_policies::placement::job_by_job::Originals;
use hindmost_sim::driver::Control;
use hindmost_sim::exact::read_exact_from;
use hindmost_sim::experiment::Experiment;
use hindmost_sim::network::Assignment;
use hindmost_sim::output::Outcome::{self, Lost, Won};
use hindmost_sim::output::{AttemptResult, Output};
use hindmost_sim::scenario::Scenario;
use hindmost_sim::testing::{Run, World};

use crate::experiments::experiment;

/// Starts clones of each task, beginning with the newest job. Entry `i` is the number of copies that a task of phase
/// `i` gets in all rounds together.
struct Clones(&'static [u32]);

impl Pass for Clones {
    fn decide(&mut self, round: &mut Round<'_>) {
        let mut tasks = Vec::new();
        for job in round.cluster().jobs() {
            for (at, phase) in job.phases().iter().enumerate().filter(|(_, phase)| phase.is_open()) {
                for (index, task) in phase.tasks().iter().enumerate() {
                    let missing = self.0[at].saturating_sub(task.launched());
                    if !task.is_finished() && missing > 0 {
                        tasks.push((TaskId { job: job.id(), phase: at as u32, index: index as u32 }, missing));
                    }
                }
            }
        }
        for (task, missing) in tasks.into_iter().rev() {
            round.start_copies(task, missing);
        }
    }
}

fn cloning(copies: &'static [u32], keep: Keep) -> Policy {
    Policy::new(Box::new(Fifo), vec![Box::new(Originals::of(Which::Any)), Box::new(Clones(copies))]).keeping(keep)
}

/// Returns the attempts of a phase of job `a` as (task, copy, node, start, end, outcome).
fn of_phase(run: &Run, phase: u32) -> Vec<(u32, u32, u32, f64, f64, Outcome)> {
    let tries = run.tries("a").into_iter().filter(|one| one.id.task.phase == phase);
    tries.map(|one| (one.id.task.index, one.id.copy, one.node, one.start, one.end, one.outcome)).collect()
}

#[test]
fn reading_takes_longer_from_other_racks() {
    // Reading 500 bytes takes 5 s within the rack, at 100 bytes a second, and 50 s from another rack, at 10.
    let world = World::machines(4).racks(["x", "x", "y", "y"]).network(100.0, 10.0);
    let run = world.job("a").tasks([[4.0]; 3]).input(500).replicas([[2]; 3]).run("fifo");
    assert_eq!(run.table("a"), [(0, 0, 2, 0.0, 4.0, Won), (1, 0, 3, 0.0, 9.0, Won), (2, 0, 0, 0.0, 54.0, Won)]);
    assert!(run.verify().is_ok());
}

#[test]
fn reading_does_not_depend_on_the_nodes_speed() {
    let world = World::machines(2).speeds([1.0, 2.0]).network(100.0, 10.0);
    let run = world.job("a").tasks([[4.0]; 2]).input(500).replicas([[0]; 2]).run("fifo");
    // Nodes without a rack count as one rack, so reading takes 5 s.
    assert_eq!(run.table("a"), [(0, 0, 0, 0.0, 4.0, Won), (1, 0, 1, 0.0, 2.0 + 5.0, Won)]);
}

#[test]
fn input_outside_the_cluster_is_remote_everywhere() {
    let run = World::machines(1).network(100.0, 10.0).job("a").tasks([[4.0]]).input(500).run("fifo");
    assert_eq!(run.job("a").finish, 54.0);
    // Without a network reading takes no time on any node.
    let free = World::machines(2).job("a").tasks([[4.0]; 2]).input(500).replicas([[0]; 2]).run("fifo");
    assert_eq!(free.result.makespan, 4.0);
}

#[test]
fn originals_and_copies_start_near_their_input() {
    let world = World::machines(5).racks(["x", "x", "y", "y", "z"]);
    let world = world.job("a").drawn(1, "pareto(alpha=2,mean=10)").input(1).replicas([[3, 1]]);
    let run = world.gamma(0.0).run("sca(max_copies=4)");
    // The copies start on the nodes with replicas, by number, and then on other nodes of their racks. SCA starts fewer
    // copies than there are machines, so node 4 gets none.
    assert_eq!(run.table("a").iter().map(|row| row.2).collect::<Vec<_>>(), [1, 3, 0, 2]);
}

#[test]
fn a_node_that_picks_a_job_takes_the_task_whose_input_it_has() {
    // Each node gets the task whose input it holds.
    for policy in ["tetris", "dollymp(clones=1)"] {
        let world = World::machines(3).racks(["x", "x", "y"]).network(100.0, 10.0);
        let run = world.job("a").tasks([[4.0]; 3]).input(500).replicas([[2], [1], [0]]).run(policy);
        assert_eq!(run.table("a"), [(0, 0, 2, 0.0, 4.0, Won), (1, 0, 1, 0.0, 4.0, Won), (2, 0, 0, 0.0, 4.0, Won)]);
    }
}

#[test]
fn a_node_clones_the_task_whose_input_it_has() {
    // The three originals run on the first node. The second node holds the input of task 2 and has resources for one
    // clone.
    let world = World::nodes([[("cpus", 3.0)], [("cpus", 1.0)]]).network(100.0, 10.0);
    let world = world.job("a").tasks([[4.0, 4.0]; 3]).input(500).replicas([vec![0], vec![0], vec![0, 1]]);
    let clones: Vec<u32> = world
        .run("dollymp(clones=1)")
        .tries("a")
        .iter()
        .filter(|one| one.id.copy == 1)
        .map(|one| one.id.task.index)
        .collect();
    assert_eq!(clones, [2]);
}

#[test]
fn a_lone_downstream_copy_reads_at_the_full_bandwidth() {
    let world = World::machines(2).network(1e9, 10.0).job("a").phase("map").tasks([[2.0], [1.0]]);
    let run = world.phase("reduce").after(["map"]).tasks([[3.0]]).input(100).run("fifo");
    assert_eq!(of_phase(&run, 1), [(0, 0, 0, 2.0, 2.0 + 10.0 + 3.0, Won)]);
}

/// One map task whose copies take 2, 4 and 6 s, and one reduce task whose copies take 8, 3 and 5 s and read 100
/// bytes, which takes 10 s.
fn map_and_reduce() -> World {
    let world = World::machines(6).network(1e9, 10.0).job("a").phase("map").tasks([[2.0, 4.0, 6.0]]);
    world.phase("reduce").after(["map"]).tasks([[8.0, 3.0, 5.0]]).input(100)
}

#[test]
fn two_clones_halve_the_bandwidth_of_one_output() {
    let run = map_and_reduce().run_own(|| cloning(&[2, 2], Keep::None));
    assert_eq!(of_phase(&run, 0), [(0, 0, 0, 0.0, 2.0, Won), (0, 1, 1, 0.0, 2.0, Lost)]);
    assert_eq!(of_phase(&run, 1), [(0, 0, 0, 2.0, 25.0, Lost), (0, 1, 1, 2.0, 2.0 + 20.0 + 3.0, Won)]);
    // A second output changes nothing if all clones read the first output.
    let kept = map_and_reduce().run_own(|| cloning(&[2, 2], Keep::BestLocality));
    assert_eq!(kept.job("a").finish, 25.0);
    // Three clones have a third of the bandwidth each.
    let three = map_and_reduce().run_own(|| cloning(&[2, 3], Keep::None));
    assert_eq!(three.job("a").finish, 2.0 + 30.0 + 3.0);
}

#[test]
fn delay_assignment_spreads_clones_over_two_outputs() {
    let run = map_and_reduce().delay(5.0).run_own(|| cloning(&[2, 2], Keep::BestLocality));
    // The kept copy of the map task finishes at 4. The second clone of the reduce task waits for it, so each clone
    // reads its output at the full bandwidth.
    assert_eq!(of_phase(&run, 0), [(0, 0, 0, 0.0, 2.0, Won), (0, 1, 1, 0.0, 4.0, Lost)]);
    let (first, second) = (2.0 + 10.0 + 8.0, 2.0 + 2.0 + 10.0 + 3.0);
    assert!(second < first);
    // The losing copy of the reduce task is kept, too.
    assert_eq!(of_phase(&run, 1), [(0, 0, 0, 2.0, first, Lost), (0, 1, 2, 2.0, second, Won)]);
    assert!(run.verify().is_ok());
    // With a delay of 1 s the second output is too late, and if no copy is kept there is no second output. Then both
    // clones read the first output.
    let late = map_and_reduce().delay(1.0).run_own(|| cloning(&[2, 2], Keep::BestLocality));
    assert_eq!(late.job("a").finish, 25.0);
    let none = map_and_reduce().delay(5.0).run_own(|| cloning(&[2, 2], Keep::None));
    assert_eq!(none.job("a").finish, 25.0);
    // A downstream task without clones does not wait for a second output.
    let alone = map_and_reduce().delay(5.0).run_own(|| cloning(&[2, 1], Keep::BestLocality));
    assert_eq!(of_phase(&alone, 1), [(0, 0, 0, 2.0, 2.0 + 10.0 + 8.0, Won)]);
}

#[test]
fn clones_are_spread_over_the_outputs_of_each_task() {
    // When the map phase ends at 6, the first map task has two outputs. The second output of the second map task comes
    // at 20, which is too late.
    let world = World::machines(6).network(1e9, 10.0).delay(5.0).job("a");
    let world = world.phase("map").tasks([[2.0, 4.0], [6.0, 20.0]]);
    let world = world.phase("reduce").after(["map"]).tasks([[8.0, 3.0]]).input(100);
    let run = world.run_own(|| cloning(&[2, 2], Keep::BestLocality));
    // Each clone reads 50 bytes alone, in 5 s, and 50 bytes at half of the bandwidth, in 10 s.
    assert_eq!(run.job("a").finish, 6.0 + 15.0 + 3.0);
    assert_eq!(of_phase(&run, 0)[3], (1, 1, 2, 0.0, 20.0, Lost));
}

#[test]
fn with_fewer_upstream_copies_all_clones_read_one_output() {
    let fewer = map_and_reduce().delay(5.0).run_own(|| cloning(&[2, 3], Keep::BestLocality));
    assert_eq!(fewer.job("a").finish, 2.0 + 30.0 + 3.0);
    // With three copies of both tasks, the first and the third clone share the first output, and the second clone reads
    // the second output alone.
    let run = map_and_reduce().delay(5.0).run_own(|| cloning(&[3, 3], Keep::BestLocality));
    assert_eq!(of_phase(&run, 0), [(0, 0, 0, 0.0, 2.0, Won), (0, 1, 1, 0.0, 4.0, Lost), (0, 2, 2, 0.0, 2.0, Lost)]);
    assert_eq!(run.job("a").finish, 2.0 + 2.0 + 10.0 + 3.0);
}

#[test]
fn later_clones_do_not_slow_down_earlier_clones() {
    // There are two machines, so the second clone starts at 2.5, when the kept copy of the map task has ended.
    let world = World::machines(2).network(1e9, 10.0).delay(5.0).job("a").phase("map").tasks([[2.0, 2.5]]);
    let world = world.phase("reduce").after(["map"]).tasks([[40.0, 3.0]]).input(100);
    let run = world.run_own(|| cloning(&[2, 2], Keep::BestLocality));
    // The first clone was alone when it started, so its reading takes 10 s. It is kept after the second one has won.
    let (first, second) = (2.0 + 10.0 + 40.0, 2.5 + 10.0 + 3.0);
    assert_eq!(of_phase(&run, 1), [(0, 0, 0, 2.0, first, Lost), (0, 1, 1, 2.5, second, Won)]);
}

#[test]
fn a_kept_copy_runs_to_its_end_before_its_job_leaves() {
    let world = World::machines(4).job("a").tasks([[2.0, 10.0, 6.0]]).job("b").at(3.0).tasks([[1.0, 1.5, 1.0]]);
    let run = world.run_own(|| cloning(&[3], Keep::BestLocality));
    // Nothing is known about the input, so all copies are equally near, and the oldest losing copy is kept.
    assert_eq!(run.table("a"), [(0, 0, 0, 0.0, 2.0, Won), (0, 1, 1, 0.0, 10.0, Lost), (0, 2, 2, 0.0, 2.0, Lost)]);
    assert_eq!(run.table("b")[1], (0, 1, 2, 3.0, 4.5, Lost));
    // Finish and flowtime are those of the winner. Resource usage includes the kept copy: 2 + 10 + 2.
    let job = run.job("a");
    assert_eq!((job.finish, job.flowtime(), job.resource, job.wasted), (2.0, 2.0, 14.0, 12.0));
    assert_eq!((run.result.finished, run.result.unfinished, run.result.makespan), (2, 0, 4.0));
    assert_eq!(run.result.flowtime, [2.0, 1.0]);
    // The attempts run for 2 + 10 + 2 and 1 + 1.5 + 1 s on 4 machines within 10 s.
    assert!((run.result.utilization - 17.5 / 40.0).abs() < 1e-12, "{}", run.result.utilization);
    assert!(run.verify().is_ok());
    // A job is reported when its last attempt has ended.
    assert_eq!(run.jobs.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["b", "a"]);
    // In a run that stops at 5, while the kept copy runs, the job has finished.
    let world = World::machines(4).stop_at(5.0).job("a").tasks([[2.0, 10.0, 6.0]]);
    let stopped = world.run_own(|| cloning(&[3], Keep::BestLocality));
    assert_eq!((stopped.result.finished, stopped.result.unfinished), (1, 0));
    assert_eq!((stopped.result.flowtime[0], stopped.result.copies_launched), (2.0, 2));
}

#[test]
fn the_kept_copy_is_the_one_nearest_to_its_input() {
    // Node 2 holds the input of both jobs. Job z uses it until 1, then the third copy of a starts there and is nearest.
    let world = World::machines(3).racks(["x", "y", "y"]);
    let world = world.job("z").tasks([[1.0]]).input(1).replicas([[2]]);
    let world = world.job("a").tasks([[5.0, 20.0, 20.0]]).input(1).replicas([[2]]);
    let run = world.run_own(|| cloning(&[3], Keep::BestLocality));
    assert_eq!(run.table("a"), [(0, 0, 1, 0.0, 5.0, Won), (0, 1, 0, 0.0, 5.0, Lost), (0, 2, 2, 1.0, 21.0, Lost)]);
    assert!(run.verify().is_ok());
}

#[test]
fn journals_without_racks_and_inputs_are_unchanged() {
    let joined =
        r#"{"at":0,"event":{"node_joined":{"node":0,"name":"n","capacity":[1000,0,0,0,0,0,0,0],"speed":1.0}}}"#;
    let phase = r#"{"name":"p","after":[],"tasks":1,"demand":{},"mean":1.0,"sd":null,"tail":null}"#;
    let spec = format!(r#"{{"name":"j","arrival":0,"deadline":null,"weight":1.0,"phases":[{phase}]}}"#);
    let arrived = format!(r#"{{"at":0,"event":{{"job_arrived":{{"job":0,"spec":{spec}}}}}}}"#);
    for line in [joined, &arrived] {
        let record: Record = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&record).unwrap(), line);
    }
}

/// A scenario with two racks of three nodes and one of four, and with a network.
const NEAR_AND_FAR: &str = r#"name = "near-and-far"

[network]
rack_bandwidth = "200MB"
remote_bandwidth = "50MB"

[[cluster.nodes]]
count = 6
cpus = 2
racks = 2

[[cluster.nodes]]
count = 4
cpus = 2
rack = "cellar"

[workload]
arrival = { every = { gap = 30.0, jobs = 50 } }

[[workload.job]]
name = "scan"
[[workload.job.phase]]
name = "map"
tasks = { uniform = { min = 1, max = 30 } }
duration = 10
input = "100MB"
replicas = 2
[[workload.job.phase]]
name = "reduce"
after = ["map"]
tasks = 2
duration = 10
input = { uniform = { min = "10MB", max = "20MB" } }

[[policy]]
name = "fifo"
"#;

/// Collects the records, and the task, node and seconds of each attempt.
#[derive(Default)]
struct Seen {
    records: Vec<Record>,
    attempts: Vec<(TaskId, NodeId, f64)>,
}

impl Output for Seen {
    fn wants_records(&self) -> bool {
        true
    }
    fn record(&mut self, record: &Record) -> std::io::Result<()> {
        self.records.push(record.clone());
        Ok(())
    }
    fn wants_attempts(&self) -> bool {
        true
    }
    fn attempt(&mut self, result: &AttemptResult<'_>) -> std::io::Result<()> {
        self.attempts.push((result.attempt.task, result.node, (result.end - result.start).seconds()));
        Ok(())
    }
}

fn seen_of(text: &str) -> Seen {
    let experiment = experiment(text);
    let mut seen = Seen::default();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let control = Control { stop: &stop, progress: &|_| {} };
    experiment.run_one(&experiment.policies[0], 1, &mut seen, &control).expect("the run succeeds");
    seen
}

#[test]
fn reading_times_follow_from_the_generated_replicas() {
    let Seen { records, attempts } = seen_of(NEAR_AND_FAR);
    let (mut racks, mut inputs): (Vec<String>, Vec<Vec<InputSpec>>) = (Vec::new(), Vec::new());
    for record in &records {
        match &record.change {
            Change::Event(Event::NodeJoined { rack, .. }) => racks.push(rack.as_deref().unwrap().to_owned()),
            Change::Event(Event::JobArrived { spec, .. }) => {
                inputs.push(spec.phases.iter().map(|phase| phase.input.clone().unwrap()).collect());
            }
            _ => {}
        }
    }
    let in_turn = ["rack-0", "rack-1", "rack-0", "rack-1", "rack-0", "rack-1", "cellar", "cellar", "cellar", "cellar"];
    assert_eq!(racks, in_turn);
    let megabyte = 1024.0 * 1024.0;
    let (mut near, mut rack, mut far) = (0, 0, 0);
    for (task, node, seconds) in &attempts {
        let input = &inputs[task.job.0 as usize][task.phase as usize];
        let bytes = input.bytes[task.index as usize] as f64;
        let reading = if task.phase == 0 {
            assert_eq!(bytes, 100.0 * megabyte);
            let replicas = &input.replicas[task.index as usize];
            assert!(replicas.len() == 2 && racks[replicas[0].0 as usize] == racks[replicas[1].0 as usize]);
            if replicas.contains(node) {
                near += 1;
                0.0
            } else if racks[node.0 as usize] == racks[replicas[0].0 as usize] {
                rack += 1;
                0.5
            } else {
                far += 1;
                2.0
            }
        } else {
            assert!(input.replicas.is_empty());
            assert!((10.0 * megabyte..=20.0 * megabyte).contains(&bytes));
            bytes / (50.0 * megabyte)
        };
        assert!((seconds - 10.0 - reading).abs() < 1e-8, "{task}: {seconds}");
    }
    assert!(near > 400 && rack > 20 && far > 20, "{near} {rack} {far}");
    // Sizes are drawn for each task: the reduces of 50 jobs have 100 different sizes.
    let sizes: std::collections::BTreeSet<u64> = inputs.iter().flat_map(|job| job[1].bytes.clone()).collect();
    assert_eq!(sizes.len(), 100);
}

#[test]
fn input_outside_the_cluster_changes_no_other_draw() {
    let (inside, outside) = (seen_of(NEAR_AND_FAR), seen_of(&NEAR_AND_FAR.replace("replicas = 2", "replicas = 0")));
    let of_maps =
        |seen: &Seen| -> Vec<f64> { seen.attempts.iter().filter(|one| one.0.phase == 0).map(|one| one.2).collect() };
    assert!(of_maps(&outside).iter().all(|seconds| (seconds - 12.0).abs() < 1e-8));
    assert_eq!(of_maps(&inside).len(), of_maps(&outside).len());
    assert!(of_maps(&inside).iter().sum::<f64>() < of_maps(&outside).iter().sum::<f64>());
    let reduces = |seen: &Seen| -> Vec<Vec<u64>> {
        let arrived = seen.records.iter().filter_map(|record| match &record.change {
            Change::Event(Event::JobArrived { spec, .. }) => spec.phases[1].input.as_ref(),
            _ => None,
        });
        arrived.map(|input| input.bytes.clone()).collect()
    };
    assert_eq!(reduces(&inside), reduces(&outside));
}

#[test]
fn machines_are_spread_over_racks() {
    let text = "[cluster]\nmachines = 5\nracks = 3\n[workload]\narrival = { at_once = { jobs = 1 } }\ntasks = 1\nduration = 1\n[[policy]]\nname = \"fifo\"";
    let setup = experiment(text).setup_of(1).unwrap();
    let racks: Vec<&str> = setup.nodes.iter().map(|node| node.rack.as_deref().unwrap()).collect();
    assert_eq!(racks, ["rack-0", "rack-1", "rack-2", "rack-0", "rack-1"]);
}

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text, "s.toml", Path::new(""), &[]).map_err(|error| error.to_string())
}

#[test]
fn a_scenario_with_a_network_is_written_back_as_it_was() {
    let text = NEAR_AND_FAR.replace("remote_bandwidth", "assignment = \"delay\"\ndelay = 2.5\nremote_bandwidth");
    let (one, other) = (parse(&text).unwrap(), parse(&toml::to_string(&parse(&text).unwrap()).unwrap()).unwrap());
    assert_eq!(toml::to_string(&one).unwrap(), toml::to_string(&other).unwrap());
    for expected in ["rack_bandwidth = \"200MB\"", "delay = 2.5", "input = \"100MB\"", "racks = 2", "rack = \"cellar\""]
    {
        assert!(toml::to_string(&one).unwrap().contains(expected), "{expected}");
    }
    let setups = [&one, &other].map(|scenario| Experiment::of(scenario, 1).unwrap().setup_of(1).unwrap().network);
    assert!(setups[0].is_some() && setups[0] == setups[1]);
}

#[test]
fn a_delay_is_ignored_if_assignment_is_first() {
    let text = NEAR_AND_FAR.replace("remote_bandwidth", "assignment = \"delay\"\ndelay = 2.5\nremote_bandwidth");
    let assigned = |to: &str| {
        let set = [("network.assignment".to_owned(), to.to_owned())];
        let scenario = Scenario::parse(&text, "s.toml", Path::new(""), &set).unwrap();
        Experiment::of(&scenario, 1).unwrap().setup.network.unwrap().assignment
    };
    assert_eq!(assigned("first"), Assignment::First);
    assert_eq!(assigned("delay"), Assignment::Delay(Time::from_seconds(2.5)));
}

#[test]
fn bandwidths_that_are_left_out_have_defaults() {
    let of = |text: &str| Experiment::of(&parse(text).unwrap(), 1).unwrap().setup.network.unwrap();
    let megabyte = 1024.0 * 1024.0;
    let network = of(&NEAR_AND_FAR.replace("remote_bandwidth = \"50MB\"\n", ""));
    assert_eq!((network.rack_bandwidth, network.remote_bandwidth), (200.0 * megabyte, 200.0 * megabyte));
    // Without `rack_bandwidth`, reading within a rack takes no time.
    let network = of(&NEAR_AND_FAR.replace("rack_bandwidth = \"200MB\"\n", ""));
    assert_eq!((network.rack_bandwidth, network.remote_bandwidth), (f64::INFINITY, 50.0 * megabyte));
}

#[test]
fn mistakes_in_networks_racks_and_inputs_are_errors() {
    for (from, to, expected) in [
        ("rack_bandwidth = \"200MB\"", "rack_bandwidth = \"fast\"", &["\"fast\" is not a size"][..]),
        ("rack_bandwidth = \"200MB\"", "rack_bandwidth = 0", &["network.rack_bandwidth is 0, but must be above 0"]),
        ("remote_bandwidth = \"50MB\"", "remote_bandwidth = nan", &["network.remote_bandwidth is NaN"]),
        ("remote_bandwidth = \"50MB\"", "remote_bandwidht = 1", &["did you mean \"remote_bandwidth\"?"]),
        (
            "remote_bandwidth = \"50MB\"",
            "assignment = \"dealy\"",
            &["\"dealy\" is not valid", "did you mean \"delay\"?"],
        ),
        ("remote_bandwidth = \"50MB\"", "delay = nan", &["network.delay is NaN, but must be from 0"]),
        (
            "remote_bandwidth = \"50MB\"",
            "remote_bandwidth = \"201MB\"",
            &["network.rack_bandwidth is 200MB, but must be at least remote_bandwidth, 201MB"],
        ),
        ("rack = \"cellar\"", "rack = \"\"", &["entry 2", "rack is \"\""]),
        (
            "remote_bandwidth = \"50MB\"",
            "assignment = \"delay\"\ndelay = -1",
            &["network.delay is -1, but must be from 0"],
        ),
        (
            "rack_bandwidth = \"200MB\"\nremote_bandwidth = \"50MB\"\n",
            "",
            &["network needs rack_bandwidth or remote_bandwidth"],
        ),
        ("racks = 2", "racks = 0", &["entry 1", "racks is 0, but must be from 1 to the number of nodes, 6"]),
        ("racks = 2", "racks = 7", &["entry 1", "racks is 7"]),
        ("racks = 2", "racks = 2\nrack = \"a\"", &["entry 1", "both rack and racks"]),
        (
            "[[cluster.nodes]]\ncount = 6",
            "[cluster]\nracks = 2\n[[cluster.nodes]]\ncount = 6",
            &["cluster.racks is for machines"],
        ),
        (
            "replicas = 2",
            "replicas = 513",
            &["entry 1 (\"scan\")", "phase \"map\"", "replicas is 513, but must be from 0 to 512"],
        ),
        ("input = \"100MB\"\n", "", &["phase \"map\"", "it has replicas, but no input"]),
        (
            "after = [\"map\"]",
            "after = [\"map\"]\nreplicas = 2",
            &["phase \"reduce\"", "reads the outputs of other phases"],
        ),
        ("input = \"100MB\"", "input = \"much\"", &["\"much\" is not a size"]),
        ("input = \"100MB\"", "input = -1", &["job \"scan\", phase \"map\", input: "]),
        ("input = \"100MB\"", "input = 1e15", &["phase \"map\", input: its mean is 1000000000000000 bytes"]),
        ("input = \"100MB\"", "input = { empirical = { file = \"no.txt\" } }", &["phase \"map\", input: ", "no.txt"]),
        ("min = \"10MB\", max = \"20MB\"", "min = \"20MB\", max = \"10MB\"", &["phase \"reduce\", input: "]),
    ] {
        assert!(NEAR_AND_FAR.contains(from), "{from:?} is not in the scenario");
        let error = parse(&NEAR_AND_FAR.replacen(from, to, 1)).expect_err(to);
        for part in expected {
            assert!(error.contains(part), "{to:?}: {error:?} does not say {part:?}");
        }
    }
}

#[test]
fn exact_workloads_may_name_inputs_and_replicas() {
    let line = |rest: &str| {
        format!("{{\"job\":\"j\",\"arrival\":0,\"phases\":[{{\"name\":\"map\",\"tasks\":[[1],[2]]{rest}}}]}}")
    };
    let read = |rest: &str| read_exact_from(line(rest).as_bytes(), "w").map_err(|error| error.to_string());
    let jobs = read(",\"input\":[\"1kB\",7],\"replicas\":[[0,2],[]]").unwrap();
    let expected = InputSpec { bytes: vec![1024, 7], replicas: vec![vec![NodeId(0), NodeId(2)], vec![]] };
    assert_eq!(jobs[0].spec.phases[0].input, Some(expected));
    assert_eq!(read(",\"input\":[1,2]").unwrap()[0].spec.phases[0].input.as_ref().unwrap().replicas, [[]; 0]);
    for (rest, expected) in [
        (",\"input\":[1]", "input is given for 1 tasks, but there are 2"),
        (",\"input\":[1,2],\"replicas\":[[1]]", "replicas is given for 1 tasks, but there are 2"),
        (",\"replicas\":[[1],[1]]", "replicas are given without input"),
        (",\"input\":[1,-2]", "input of task 1 is -2 bytes"),
        (",\"input\":[1,\"two\"]", "input of task 1: \"two\" is not a size"),
    ] {
        let error = read(rest).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    // The workload names node 2, but the cluster has nodes 0 and 1.
    let mut world = World::machines(2);
    world.jobs = jobs;
    let error = world.run_error("fifo");
    assert!(error.contains("phase \"map\", task 0: a replica is on node 2, but there are 2 nodes"), "{error}");
    world.setup.nodes = World::machines(3).setup.nodes;
    assert_eq!(world.run("fifo").table("j")[0].2, 0);
}
