//! `hindmost reproduce`: repeats the experiments of papers and compares claimed with measured values.

use hindmost_core::reproduction::Reproduction;
use hindmost_math::suggest::did_you_mean;
use hindmost_report::html::{Step, reproduction_page};
use hindmost_report::reproduction;
use hindmost_report::text::grouped;
use hindmost_sim::driver::SimulationError;
use hindmost_sim::experiment::Execution;

use crate::cli::ReproduceArgs;
use crate::failure::{Failure, Outcome, say};
use crate::progress::Progress;
use crate::{files, stop, terminal};

/// A paper that can be reproduced.
struct Paper {
    key: &'static str,
    /// Returns the number of simulations; the argument is true for the quick version.
    runs: fn(bool) -> u64,
    make: fn(bool, &Execution<'_>) -> Result<Reproduction, SimulationError>,
    /// Measures the time that decisions take on this machine, if the paper has a claim about it.
    times: Option<Measure>,
}

/// Measures the time that decisions take on this machine.
type Measure = fn() -> Result<Vec<hindmost_papers::DecisionTime>, SimulationError>;

/// Papers that can be reproduced.
const PAPERS: &[Paper] = &[
    Paper { key: "xu2015", runs: hindmost_papers::xu2015_runs, make: hindmost_papers::xu2015, times: None },
    Paper {
        key: "dollymp2022",
        runs: hindmost_papers::dollymp2022_runs,
        make: hindmost_papers::dollymp2022,
        times: Some(hindmost_papers::dollymp2022_decision_times),
    },
];

/// Runs the experiments of papers.
pub fn run(args: &ReproduceArgs) -> Outcome {
    let chosen = chosen(&args.papers)?;
    let threads = args.threads.map_or_else(
        || std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        |number| number as usize,
    );
    if let Some(folder) = &args.out {
        files::folder(folder)?;
    }
    let mut results = Vec::with_capacity(chosen.len());
    for paper in &chosen {
        let bar = Progress::new((paper.runs)(args.quick) as f64, paper.key);
        let advance = |units: f64| bar.advance(units);
        let execution = Execution { threads, stop: stop::flag(), progress: &advance, output: None };
        let result = (paper.make)(args.quick, &execution);
        bar.finish(result.is_err());
        let result = result?;
        if let Some(measure) = paper.times {
            say_times(&measure()?);
        }
        if let Some(folder) = &args.out {
            write(folder, &result, chosen.len() > 1)?;
        }
        if !args.json {
            terminal::print(&reproduction::text(&result, terminal::width()))?;
        }
        results.push(result);
    }
    match results.as_slice() {
        _ if !args.json => Ok(()),
        // One paper is one object; several papers are a list.
        [one] => terminal::print_json(one),
        several => terminal::print_json(&several),
    }
}

/// Prints decision times to stderr. They differ from run to run, so they are not part of the result.
fn say_times(times: &[hindmost_papers::DecisionTime]) {
    say("time of one decision on this machine (the paper claims 20 ms for 30 machines and 50 ms for 30 000 machines):");
    for time in times {
        let (scratch, arrival) = (time.from_scratch.as_secs_f64() * 1e3, time.after_one_arrival.as_secs_f64() * 1e3);
        say(&format!(
            "  {:<18} {:>5} jobs, {:>6} machines: {:>7} copies started in {scratch:.2} ms; {arrival:.2} ms after one more \
             arrival",
            time.policy,
            grouped(time.size.jobs.into()),
            grouped(time.size.machines.into()),
            grouped(time.copies as u64)
        ));
    }
}

/// Returns the named papers, each once; all papers if none is named.
fn chosen(names: &[String]) -> Result<Vec<&'static Paper>, Failure> {
    let keys = || PAPERS.iter().map(|paper| paper.key);
    if let Some(unknown) = names.iter().find(|name| !keys().any(|key| key == name.as_str())) {
        return Err(Failure::input(format!(
            "there is no reproduction of a paper named {unknown:?}{}; the papers are {}",
            did_you_mean(unknown, keys()),
            keys().collect::<Vec<_>>().join(", ")
        )));
    }
    let wanted = |paper: &&Paper| names.is_empty() || names.iter().any(|name| name == paper.key);
    Ok(PAPERS.iter().filter(wanted).collect())
}

/// Writes the page, Markdown, pictures and JSON of a paper. If there are `several` papers, the page is named after its
/// paper.
fn write(folder: &std::path::Path, result: &Reproduction, several: bool) -> Outcome {
    let pictures = folder.join(&result.paper);
    files::folder(&pictures)?;
    for plot in reproduction::plots(result).iter().flatten() {
        files::write(&pictures.join(&plot.file), &plot.drawing.standalone())?;
    }
    let quick = if result.quick { " --quick" } else { "" };
    let again = [Step {
        text: "The same command gives the same page on any number of threads. It takes some minutes, \
               fewer with --quick."
            .to_owned(),
        code: format!("hindmost reproduce {}{quick} --out DIR", result.paper),
    }];
    let page = reproduction_page(result, &again).map_err(Failure::work)?;
    let name = if several { format!("{}.html", result.paper) } else { "report.html".to_owned() };
    files::write(&folder.join(name), &page)?;
    files::write(&folder.join(format!("{}.md", result.paper)), &reproduction::markdown(result))?;
    files::write(&folder.join(format!("{}.json", result.paper)), &(terminal::json(result)? + "\n"))
}
