//! Inputs of scenarios and exact workloads: replicas, reading times, journals, errors.

use std::path::Path;

use hindmost_core::ids::{NodeId, TaskId};
use hindmost_core::record::{Change, Event, Record};
use hindmost_core::time::Time;
use hindmost_core::workload::InputSpec;
use hindmost_sim::driver::Control;
use hindmost_sim::exact::read_exact_from;
use hindmost_sim::experiment::Experiment;
use hindmost_sim::network::Assignment;
use hindmost_sim::output::{AttemptResult, Output};
use hindmost_sim::scenario::Scenario;
use hindmost_sim::testing::World;

use crate::experiments::experiment;

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
const NEAR_AND_FAR: &str = include_str!("mistakes/inputs.scenario.toml");

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
    let text = "[cluster]\nmachines = 5\nracks = 3\n[workload]\narrival = { at_once = { jobs = 1 } }\ntasks = 1\nduration = \
                1\n[[policy]]\nname = \"fifo\"";
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
