//! `hindmost reproduce`: a paper's experiments, claimed against measured.

use hindmost_core::reproduction::Reproduction;
use hindmost_math::suggest::did_you_mean;
use hindmost_report::html::{Step, reproduction_page};
use hindmost_report::reproduction;
use hindmost_sim::driver::SimulationError;
use hindmost_sim::experiment::Execution;

use crate::cli::ReproduceArgs;
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::{files, stop, terminal};

/// A paper that can be reproduced.
struct Paper {
    key: &'static str,
    /// Number of simulations, of the quick version or the whole one.
    runs: fn(bool) -> u64,
    make: fn(bool, &Execution<'_>) -> Result<Reproduction, SimulationError>,
    /// Measures what deciding costs on this machine, where the paper claims something of it.
    times: Option<Measure>,
}

/// Measures decisions on this machine.
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
    let threads = args
        .threads
        .map_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get), |asked| asked as usize);
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
            tell_times(&measure()?);
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
        // One paper, one document; several are a list.
        [one] => terminal::print_json(one),
        several => terminal::print_json(&several),
    }
}

/// Times differ from run to run: they are told beside the result, not in it.
fn tell_times(times: &[hindmost_papers::DecisionTime]) {
    eprintln!("deciding on this machine (claimed: 30 machines 20 ms, 30 000 machines 50 ms):");
    for time in times {
        let (scratch, arrival) = (time.from_scratch.as_secs_f64() * 1e3, time.after_one_arrival.as_secs_f64() * 1e3);
        eprintln!(
            "  {:<18} {:>4} jobs, {:>5} machines: {:>5} copies in {scratch:.2} ms, after one more arrival {arrival:.2} ms",
            time.policy, time.size.jobs, time.size.machines, time.copies
        );
    }
}

/// The papers asked for, each once; all without any.
fn chosen(asked: &[String]) -> Result<Vec<&'static Paper>, Failure> {
    let keys = || PAPERS.iter().map(|paper| paper.key);
    if let Some(unknown) = asked.iter().find(|name| !keys().any(|key| key == name.as_str())) {
        return Err(Failure::input(format!(
            "there is no reproduction of {unknown:?}{}; there is: {}",
            did_you_mean(unknown, keys()),
            keys().collect::<Vec<_>>().join(", ")
        )));
    }
    let wanted = |paper: &&Paper| asked.is_empty() || asked.iter().any(|name| name == paper.key);
    Ok(PAPERS.iter().filter(wanted).collect())
}

/// Writes a paper's page, Markdown, pictures and JSON. Of several papers each has its own page.
fn write(folder: &std::path::Path, result: &Reproduction, several: bool) -> Outcome {
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
    let name = if several { format!("{}.html", result.paper) } else { "report.html".to_owned() };
    files::write(&folder.join(name), &page)?;
    files::write(&folder.join(format!("{}.md", result.paper)), &reproduction::markdown(result))?;
    files::write(&folder.join(format!("{}.json", result.paper)), &(terminal::json(result)? + "\n"))
}
