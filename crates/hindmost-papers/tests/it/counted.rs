//! Claims that are shown but do not count, the directions of a headline, and sweeps in place of others.

use std::fs;

use hindmost_claims::StatedBy;
use hindmost_papers::{Selection, files};

use crate::made;
use crate::small::{load, written};

#[test]
fn readings_and_slips_do_not_count() {
    let folder = written("id = \"pairs\"", "id = \"pairs\"\nstated_by = \"reading\"");
    let path = folder.path().join("paper.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("id = \"never\"", "id = \"never\"\nslip = true")).unwrap();
    let made = made(&load(&folder).unwrap(), &Selection::default(), 1).unwrap();
    let reproduction = &made.reproduction;
    assert_eq!((reproduction.coverage.tested, reproduction.coverage.readings, reproduction.coverage.slips), (8, 1, 1));
    assert_eq!(reproduction.claim("pairs").unwrap().stated_by, StatedBy::Reading);
    // Of mean, both, pairs, point, never and baseline, which were measured under every reading, pairs and never are left out.
    let search = reproduction.search.as_ref().unwrap();
    assert_eq!((search.holds, search.of), (3, 4));
    let out = folder.path().join("out");
    files::write(&out, &made).unwrap();
    let claims = fs::read_to_string(out.join("claims.csv")).unwrap();
    let ends = |id: &str| claims.lines().find(|line| line.starts_with(id)).map(|line| line.rsplitn(3, ',').collect());
    let ends = |id: &str| -> Vec<&str> { ends(id).unwrap() };
    assert_eq!(ends("pairs,")[..2], ["false", "reading"]);
    assert_eq!(ends("never,")[..2], ["true", "paper"]);
    assert_eq!(ends("mean,")[..2], ["false", "paper"]);
}

#[test]
fn claims_that_do_not_count_are_not_in_the_headline() {
    for (key, place) in [("stated_by = \"reading\"", "headline"), ("slip = true", "headline")] {
        let folder = written("id = \"both\"", &format!("id = \"both\"\n{key}"));
        let error = load(&folder).unwrap_err();
        assert!(error.contains(place) && error.contains("does not count"), "{error}");
    }
    let folder = written("id = \"both\"", "id = \"both\"\nabstract = true\nstated_by = \"reading\"");
    assert!(load(&folder).unwrap_err().contains("not a statement of the abstract"));
}

#[test]
fn the_answer_counts_the_readings_of_directions() {
    let folder = written("why = ", "direction = [\"baseline\", \"mean\"]\nwhy = ");
    let made = made(&load(&folder).unwrap(), &Selection::default(), 1).unwrap().reproduction;
    // Under FIFO the mean flowtime is 10 s on one machine and 13/3 s on three.
    let expected = "✗ “Under FIFO the mean flowtime is 5 s” (reproduced under 1 of 2 readings that differ in it); \
                    ✓ “The mean flowtime under SRPT is 10% lower” (reproduced under 1 of 2 readings that differ in it).";
    assert!(made.answer[1].ends_with(expected), "{:?}", made.answer);
    assert_eq!(made.answer[3], "The order decides.");
}

#[test]
fn a_reading_may_measure_another_sweep() {
    let of_two = "policy = \"machines:fifo@1\", against = \"machines:fifo@2\", measure = \"difference\", at_least = 1";
    let folder = written("policy = \"machines:fifo@2\", against = \"machines:fifo@best\", at_most = 0", of_two);
    let path = folder.path().join("paper.toml");
    let threes = "[[sweep]]\nname = \"threes\"\nworld = \"one\"\nvariable = \"machines\"\nvalues = [1, 2]\n\
                  takes = [3, 3]\nkeys = [\"cluster.machines\"]\npolicies = [\"fifo\"]\n";
    fs::write(&path, format!("{}\n{threes}", fs::read_to_string(&path).unwrap())).unwrap();
    let mut paper = load(&folder).unwrap();
    let file = folder.path().join("mine.toml");
    let reading =
        |sweep: &str| format!("name = \"{sweep}\"\ndescription = \"\"\nsweeps = {{ machines = \"{sweep}\" }}\n");
    fs::write(&file, reading("threes")).unwrap();
    let readings = vec![paper.add_reading(&file).unwrap()];
    let selection = Selection { claims: vec!["best".to_owned()], readings, ..Selection::default() };
    let made = made(&paper, &selection, 1).unwrap().reproduction;
    let mean = |reading: &str| made.claim("best").unwrap().under(reading).unwrap().mean.unwrap();
    // On one machine 10 s, on two 16/3 s.
    assert!((mean("one machine") - 14.0 / 3.0).abs() < 1e-9);
    assert_eq!(mean("threes"), 0.0);
    fs::write(&file, reading("tens")).unwrap();
    assert!(paper.add_reading(&file).unwrap_err().to_string().contains("have different values"));
    fs::write(&file, reading("three")).unwrap();
    assert!(paper.add_reading(&file).unwrap_err().to_string().contains("did you mean \"threes\"?"));
}

#[test]
fn first_attempts_that_are_stopped_early_are_counted() {
    let folder = written("fifo+none", "riski");
    let path = folder.path().join("paper.toml");
    let text = fs::read_to_string(&path).unwrap().replace("srpt+none", "riski(kill=false)");
    let claim = "[[claim]]\nid = \"stops\"\nfigure = \"1\"\nsection = \"1\"\nclaimed = \"It stops one\"\npart = [\n\
                 { metric = \"sum(stopped_early)\", world = \"one\", policy = \"fifo\", near = 1, within = 0 },\n\
                 { metric = \"sum(stopped_early)\", world = \"one\", policy = \"srpt\", near = 0, within = 0 },\n]\n";
    fs::write(&path, text + claim).unwrap();
    // The last task takes 40 s and its backup 5 s; backups take at most 6 s, so that it is stopped at the start.
    let job = r#"{"job":"a","arrival":0,"phases":[{"name":"all","after":[],"demand":{"cpus":1},"mean":5,"sd":0.577,"tail":{"uniform":{"min":4,"max":6}},"tasks":[[5,5],[5,5],[40,5]]}]}"#;
    fs::write(folder.path().join("jobs.jsonl"), job).unwrap();
    let scenario = fs::read_to_string(folder.path().join("one.toml")).unwrap().replace("machines = 1", "machines = 6");
    fs::write(folder.path().join("one.toml"), scenario).unwrap();
    let selection = Selection {
        claims: vec!["stops".to_owned()],
        readings: vec!["one machine".to_owned()],
        ..Selection::default()
    };
    let made = made(&load(&folder).unwrap(), &selection, 1).unwrap().reproduction;
    assert_eq!(made.claim("stops").unwrap().holds_under("one machine"), Some(true), "{:?}", made.claim("stops"));
}
