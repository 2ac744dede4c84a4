//! The papers of this crate, in their short version: its numbers say nothing about the papers.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use hindmost_claims::Status;
use hindmost_papers::{PaperError, Selection, Size, built_in, names, reproduce, simulations};
use hindmost_sim::driver::SimulationError;
use hindmost_sim::experiment::Execution;
use hindmost_testing::sample;

use crate::made;

fn short() -> Selection {
    Selection { size: Size::Short, ..Selection::default() }
}

#[test]
fn every_claim_has_values_and_a_rule() {
    for name in names() {
        let paper = built_in(name).unwrap().unwrap();
        assert_eq!(paper.key, name);
        // All readings are valid. A usual run of the tests simulates some of them.
        assert!(simulations(&paper, &short()).unwrap() > 0, "{name}");
        let of_tables = paper.figure.iter().flat_map(|figure| &figure.table).flat_map(|table| &table.readings);
        let others = paper.reading.iter().skip(1).map(|reading| &reading.name);
        let readings: BTreeSet<&String> = sample(8, others.clone()).chain(of_tables).collect();
        let readings = others.filter(|name| readings.contains(name)).cloned().collect();
        let one = made(&paper, &Selection { readings, ..short() }, 2).unwrap().reproduction;
        assert_eq!(one.coverage.listed, paper.claim.len());
        assert_eq!(one.coverage.tested + one.coverage.not_run, one.coverage.listed);
        // The short version has few of the values of sweeps that claims name, and few small jobs and copies.
        let mut missing = Vec::new();
        for (_, claim) in one.claims() {
            let runs = claim.status != Status::NotRun;
            assert_eq!(runs, !claim.readings.is_empty(), "{}", claim.id);
            let parts = std::iter::once(&claim.readings).chain(claim.also.iter().map(|part| &part.readings));
            if parts.filter_map(|readings| readings.first()).any(|one| one.mean.is_none()) {
                missing.push(&claim.id);
            }
            assert!(!claim.also.iter().any(|part| part.readings.is_empty()), "{}", claim.id);
        }
        assert!(5 * missing.len() < one.coverage.listed, "{missing:?}");
        for table in one.figures.iter().flat_map(|figure| &figure.tables) {
            assert!(!table.rows.is_empty(), "{}", table.caption);
            assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "{}", table.caption);
        }
        // One figure is enough to see whether results depend on threads.
        let figures = vec![paper.figure[paper.figure.len() / 2].id.clone()];
        let readings = vec![paper.reading[1].name.clone()];
        let part = Selection { figures, readings, ..short() };
        let threads = [1, 3].map(|threads| made(&paper, &part, threads).unwrap().reproduction);
        assert_eq!(threads[0], threads[1], "{name} depends on threads");
    }
}

#[test]
fn stopped_reproductions_are_errors() {
    let paper = built_in("xu2015").unwrap().unwrap();
    let stop = AtomicBool::new(true);
    let execution = Execution { threads: 2, stop: &stop, progress: &|_| {}, output: None };
    let error = reproduce(&paper, &short(), &execution).unwrap_err();
    assert!(matches!(error, PaperError::Simulation(SimulationError::Interrupted)), "{error}");
}

#[test]
fn the_example_of_dollymp_has_the_sums_of_the_paper() {
    let paper = built_in("dollymp2022").unwrap().unwrap();
    let claims = ["fig2-tetris-46", "fig2-tetris-clones-42", "fig2-dollymp-28"].map(str::to_owned).to_vec();
    let made = made(&paper, &Selection { claims, ..Selection::default() }, 1).unwrap().reproduction;
    let sums: Vec<f64> = made
        .claims()
        .flat_map(|(_, claim)| &claim.readings)
        .filter(|one| one.value.starts_with("sum of completion times") && one.unit == "s")
        .filter_map(|one| one.mean)
        .collect();
    for sum in [46.0, 42.0, 28.0] {
        assert!(sums.contains(&sum), "{sum}: {sums:?}");
    }
}
