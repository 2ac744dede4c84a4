//! Reproduces a paper and prints its claims.
use std::sync::atomic::AtomicBool;

use hindmost_papers::{Folder, Paper, Selection, Size, reproduce, simulations};
use hindmost_sim::experiment::Execution;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("which folder?")?;
    let size = match arguments.next().as_deref() {
        Some("full") => Size::Full,
        Some("short") => Size::Short,
        _ => Size::Quick,
    };
    let figures: Vec<String> = arguments.collect();
    let paper = Paper::load(Folder::Disk(folder.into()))?;
    let selection = Selection { size, figures, ..Selection::default() };
    eprintln!("{} simulations", simulations(&paper, &selection)?);
    let stop = AtomicBool::new(false);
    let execution = Execution { threads: 2, stop: &stop, progress: &|_| {}, output: None };
    let made = reproduce(&paper, &selection, &execution)?.reproduction;
    for sentence in &made.answer {
        println!("{sentence}");
    }
    for reading in &made.readings {
        println!("{}: {} of {}, baseline {:?}, same as {:?}", reading.name, reading.holds, reading.of, reading.baseline_error, reading.same_as);
    }
    println!("{:?}", made.search);
    for factor in &made.factors {
        println!("{}: {} {} to {}", factor.claim, factor.name, factor.low, factor.high);
    }
    for (_, claim) in made.claims() {
        println!("{} {}: {}", claim.id, claim.claimed, claim.verdict.short(claim.readings.len()));
        for part in std::iter::once(&claim.readings).chain(claim.also.iter().map(|part| &part.readings)) {
            for one in part {
                println!("    {} {}: {} {}", if one.holds { "+" } else { "-" }, one.reading, one.value, one.text());
            }
        }
    }
    for figure in &made.figures {
        for point in &figure.points {
            println!("{} {}: {} {} measured {:?} {:?}", point.claim, point.curve, point.at, point.share, point.measured_share, point.measured_at);
        }
        for table in &figure.tables {
            println!("{} {:?}\n  {:?}", table.caption, table.columns, table.rows.first());
        }
    }
    Ok(())
}
