//! `hindmost reproduce`: repeats the experiments of papers and compares claimed with measured values.

use std::path::Path;

use hindmost_math::suggest::did_you_mean;
use hindmost_papers::overhead::{DecisionTime, decision_times};
use hindmost_papers::{
    Cache, Folder, Made, Paper, PaperError, Selection, Size, built_in, names, reproduce, simulations,
};
use hindmost_report::html::{Step, html_pages};
use hindmost_report::reproduction;
use hindmost_report::text::grouped;
use hindmost_sim::experiment::Execution;

use crate::cli::ReproduceArgs;
use crate::failure::{Failure, Outcome, say};
use crate::progress::Progress;
use crate::{files, stop, terminal};

/// Runs the experiments of papers.
pub fn run(args: &ReproduceArgs) -> Outcome {
    let mut chosen = Vec::new();
    for paper in papers(args)? {
        chosen.push(with_selection(paper, args)?);
    }
    for (paper, selection) in &chosen {
        // Mistakes are found before the first simulation.
        simulations(paper, selection)?;
        if chosen.iter().filter(|(other, _)| other.key == paper.key).count() > 1 {
            return Err(Failure::input(format!(
                "two of the papers have the key {:?}, and would write the same files; reproduce them one after the other",
                paper.key
            )));
        }
    }
    let threads = args.threads.map_or_else(
        || std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        |number| number as usize,
    );
    if let Some(folder) = &args.out {
        files::folder(folder)?;
    }
    let mut results = Vec::with_capacity(chosen.len());
    for (paper, selection) in &chosen {
        let bar = Progress::new(simulations(paper, selection)? as f64, &paper.key);
        let advance = |units: f64| bar.advance(units);
        let execution = Execution { threads, stop: stop::flag(), progress: &advance, output: None };
        let made = reproduce(paper, selection, &execution);
        bar.finish(made.is_err());
        let made = made?;
        if paper.decision_times && selection.figures.is_empty() && selection.claims.is_empty() {
            say_times(&decision_times()?);
        }
        if let Some(folder) = &args.out {
            write(folder, &made, chosen.len() > 1)?;
        }
        if !args.json {
            terminal::print(&reproduction::text(&made.reproduction, terminal::width()))?;
        }
        results.push(made.reproduction);
    }
    match results.as_slice() {
        _ if !args.json => Ok(()),
        // One paper is one object; several papers are a list.
        [one] => terminal::print_json(one),
        several => terminal::print_json(&several),
    }
}

/// Prints decision times to stderr. They differ from run to run, so they are not part of the result.
fn say_times(times: &[DecisionTime]) {
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

/// Reads the named papers, each once; if none is named, those to which the named claims belong, or all papers.
fn papers(args: &ReproduceArgs) -> Result<Vec<Paper>, Failure> {
    let mut wanted: Vec<String> = Vec::new();
    let given = &args.papers;
    for name in given.iter().cloned().chain(names().map(str::to_owned).filter(|_| given.is_empty())) {
        if !wanted.contains(&name) {
            wanted.push(name);
        }
    }
    let mut papers = Vec::with_capacity(wanted.len());
    for name in wanted {
        let paper = match built_in(&name) {
            Some(paper) => paper,
            None if Path::new(&name).is_dir() => Paper::load(Folder::Disk(name.into())),
            None => {
                return Err(Failure::input(format!(
                    "there is no reproduction of a paper named {name:?}{}; the papers are {}, or name a folder with \
                     the data of a paper",
                    did_you_mean(&name, names()),
                    names().collect::<Vec<_>>().join(", ")
                )));
            }
        };
        papers.push(paper?);
    }
    if given.is_empty() && !args.claims.is_empty() {
        let has = |paper: &Paper, id: &str| {
            let bare = id.strip_prefix(&format!("{}/", paper.key)).unwrap_or(id);
            paper.claim.iter().any(|claim| claim.id == bare)
        };
        let with_all = |paper: &Paper| args.claims.iter().all(|id| has(paper, id));
        if papers.iter().any(with_all) {
            papers.retain(with_all);
        }
    }
    Ok(papers)
}

/// Returns a paper, to which readings in files are added, and what is to be reproduced of it.
fn with_selection(mut paper: Paper, args: &ReproduceArgs) -> Result<(Paper, Selection), Failure> {
    let mut readings = Vec::with_capacity(args.readings.len());
    for reading in &args.readings {
        let file = Path::new(reading);
        let is_file =
            paper.reading(reading).is_none() && (file.is_file() || file.extension().is_some_and(|it| it == "toml"));
        readings.push(if is_file { paper.add_reading(file)? } else { reading.clone() });
    }
    let selection = Selection {
        size: if args.quick { Size::Quick } else { Size::Full },
        figures: args.figures.clone(),
        claims: args.claims.clone(),
        readings,
        seeds: args.seeds,
        jobs: args.out.is_some(),
        cache: match &args.cache {
            Some(folder) => Some(
                Cache::open(folder)
                    .map_err(|error| Failure::input(format!("cannot use {} as a cache: {error}", folder.display())))?,
            ),
            None => None,
        },
    };
    Ok((paper, selection))
}

impl From<PaperError> for Failure {
    fn from(error: PaperError) -> Failure {
        match error {
            PaperError::Simulation(error) => error.into(),
            other => Failure::input(other),
        }
    }
}

/// Writes the pages, pictures, JSON and tables of a paper. If there are `several` papers, the pages are named after
/// their paper, and the tables are in the paper's folder.
fn write(folder: &Path, made: &Made, several: bool) -> Outcome {
    let result = &made.reproduction;
    let own = folder.join(&result.paper);
    files::folder(&own)?;
    for picture in reproduction::pictures(result) {
        files::write(&own.join(&picture.file), &picture.drawing.standalone())?;
    }
    let again = [Step {
        text: "The same command gives the same pages on any number of threads. It takes some minutes, fewer with \
               --quick."
            .to_owned(),
        code: format!("hindmost {} --out DIR", result.command),
    }];
    for page in html_pages(result, several, &again).map_err(Failure::work)? {
        files::write(&folder.join(&page.file), &page.text)?;
    }
    for page in reproduction::markdown_pages(result) {
        files::write(&folder.join(&page.file), &page.text)?;
    }
    files::write(&folder.join(format!("{}.json", result.paper)), &(terminal::json(result)? + "\n"))?;
    hindmost_papers::files::write(if several { &own } else { folder }, made).map_err(Failure::work)
}
