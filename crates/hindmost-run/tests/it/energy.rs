//! The energy of live runs: measured, estimated or unknown.

use std::fs;

use hindmost_core::metrics::{EnergySource, LiveEnergy};

use crate::test_run::{FinishedRun, TestRun, scratch, takes};

/// One node of two cpus runs three tasks of one cpu, which take 10, 10 and 5 s.
fn test_run() -> TestRun {
    TestRun::on("n1:2")
        .phase("map", 3)
        .policy("none")
        .behaviour(|launch| takes(if launch.attempt.task.index == 2 { 5.0 } else { 10.0 }))
}

fn energy(run: &FinishedRun) -> Option<&LiveEnergy> {
    run.outcome.summary.energy.as_ref()
}

#[test]
fn energy_is_unknown_without_counters_and_models() {
    let run = test_run().run().done();
    assert_eq!(energy(&run), None);
    let json = fs::read_to_string(run.place.out.join(".hindmost/summary.json")).unwrap();
    assert!(!json.contains("energy"), "{json}");
}

#[test]
fn energy_is_estimated_from_the_nodes_models() {
    let power = "power = { static_watts = { cpu = 40.0 }, watts_per_core = 10.0 }";
    let run = test_run().keys(power).run().done();
    let found = energy(&run).unwrap();
    let timeline = &run.outcome.timeline;
    let busy: f64 = timeline.rows.iter().map(|row| (row.end - row.start).seconds()).sum();
    let expected = 40.0 * timeline.end.seconds() + 10.0 * busy;
    assert!((found.joules - expected).abs() < 1e-6 * expected, "{found:?} and {expected}");
    // The two first tasks take 10 s, and the last one 5 s.
    assert!((850.0..900.0).contains(&found.joules), "{found:?}");
    assert_eq!(found.source, EnergySource::Estimated);
    assert_eq!(found.about, "from the power models of the nodes, because the counters are not read");
}

#[test]
fn energy_is_measured_where_the_counters_are_readable() {
    let folder = scratch();
    let zone = folder.path().join("intel-rapl:0");
    fs::create_dir(&zone).unwrap();
    for (file, text) in [("name", "package-0"), ("energy_uj", "990000000"), ("max_energy_range_uj", "1000000000")] {
        fs::write(zone.join(file), text).unwrap();
    }
    // The counter begins again while the run runs: from 990 J over 1000 J to 5 J.
    let counter = zone.join("energy_uj");
    let run = test_run()
        .keys("power = \"dell_r740\"")
        .powercap(folder.path())
        .behaviour(move |_| {
            fs::write(&counter, "5000000").unwrap();
            takes(1.0)
        })
        .run()
        .done();
    let found = energy(&run).unwrap();
    assert_eq!((found.joules, found.source), (15.0, EnergySource::Measured));
    assert_eq!(
        found.about,
        "counters of the processor package (package-0), with everything else that ran on this machine"
    );
    let json = fs::read_to_string(run.place.out.join(".hindmost/summary.json")).unwrap();
    assert!(json.contains(r#""source": "measured""#), "{json}");
}

#[test]
fn counters_that_cannot_be_read_are_the_reason_for_an_estimate() {
    let folder = scratch();
    let run = test_run().keys("power = \"dell_r740\"").powercap(folder.path()).run().done();
    let found = energy(&run).unwrap();
    assert_eq!(found.source, EnergySource::Estimated);
    assert!(found.about.ends_with("has no counters of processor packages"), "{}", found.about);
}
