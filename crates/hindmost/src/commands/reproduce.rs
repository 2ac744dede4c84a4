//! `hindmost reproduce`: a paper's experiments, claimed against measured.

use hindmost_core::reproduction::Reproduction;
use hindmost_core::suggest::did_you_mean;
use hindmost_report::html::{Step, reproduction_page};
use hindmost_report::reproduction;
use hindmost_sim::experiment::Execution;
use hindmost_sim::reproduce;

use crate::cli::ReproduceArgs;
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::{files, stop, terminal};

/// Papers that can be reproduced.
const PAPERS: &[&str] = &["xu2015"];

/// Runs the experiments of papers.
pub fn run(args: &ReproduceArgs) -> Outcome {
    for paper in &args.papers {
        if !PAPERS.contains(&paper.as_str()) {
            return Err(Failure::input(format!(
                "there is no reproduction of {paper:?}{}; there is: {}",
                did_you_mean(paper, PAPERS.iter().copied()),
                PAPERS.join(", ")
            )));
        }
    }
    let threads = args
        .threads
        .map_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get), |asked| asked as usize);
    if let Some(folder) = &args.out {
        files::folder(folder)?;
    }
    let bar = Progress::new(reproduce::xu2015_runs(args.quick) as f64, "xu2015");
    let advance = |units: f64| bar.advance(units);
    let execution = Execution { threads, stop: stop::flag(), progress: &advance, output: None };
    let result = reproduce::xu2015(args.quick, &execution);
    bar.finish(result.is_err());
    let result = result?;
    if let Some(folder) = &args.out {
        write(folder, &result)?;
    }
    if args.json {
        // One paper, one document; several would be a list.
        terminal::print_json(&result)
    } else {
        terminal::print(&reproduction::text(&result, terminal::width()))
    }
}

fn write(folder: &std::path::Path, result: &Reproduction) -> Outcome {
    let pictures = folder.join(&result.paper);
    files::folder(&pictures)?;
    for plot in reproduction::plots(result).iter().flatten() {
        files::write(&pictures.join(&plot.file), &plot.drawing.standalone())?;
    }
    let quick = if result.quick { " --quick" } else { "" };
    let again = [Step {
        text: "The same command gives the same page on any number of threads; what it takes depends on the machine: minutes, \
               or less with --quick."
            .to_owned(),
        code: format!("hindmost reproduce {}{quick} --out DIR", result.paper),
    }];
    let page = reproduction_page(result, &again).map_err(Failure::work)?;
    files::write(&folder.join("report.html"), &page)?;
    files::write(&folder.join(format!("{}.md", result.paper)), &reproduction::markdown(result))?;
    files::write(&folder.join(format!("{}.json", result.paper)), &(terminal::json(result)? + "\n"))
}
