//! `hindmost reproduce`: repeats the experiments of papers and compares claimed with measured values, and ranks all
//! policies on the workloads of the papers.

use std::path::Path;

use hindmost_claims::{Ranking, Reproduction};
use hindmost_math::suggest::did_you_mean;
use hindmost_papers::overhead::{DecisionTime, decision_times};
use hindmost_papers::ranking::{NAME as RANKING, RankingSelection, rank_all, ranking_simulations};
use hindmost_papers::{
    Cache, Folder, Made, Paper, PaperError, Selection, Size, built_in, names, reproduce, simulations,
};
use hindmost_report::html::Step;
use hindmost_report::text::grouped;
use hindmost_report::{ranking, reproduction};
use hindmost_sim::experiment::Execution;
use serde::Serialize;

use crate::cli::ReproduceArgs;
use crate::failure::{Failure, Outcome, say};
use crate::progress::Progress;
use crate::{files, stop, terminal};

/// What stands for all papers and the ranking.
const ALL: &str = "all";

/// Runs the experiments of papers.
pub fn run(args: &ReproduceArgs) -> Outcome {
    let wanted = wanted(args)?;
    let mut chosen = Vec::new();
    for paper in papers(&wanted, args)? {
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
        results.push(Reproduced::Paper(Box::new(made.reproduction)));
    }
    if wanted.ranking {
        let ranking = rank(args, threads)?;
        if !args.json {
            let separator = if results.is_empty() { "" } else { "\n" };
            terminal::print(&format!("{separator}{}", ranking::text(&ranking, terminal::width())))?;
        }
        results.push(Reproduced::Ranking(Box::new(ranking)));
    }
    match results.as_slice() {
        _ if !args.json => Ok(()),
        // One paper is one object; several papers are a list.
        [one] => terminal::print_json(one),
        several => terminal::print_json(&several),
    }
}

/// A result of the command.
#[derive(Serialize)]
#[serde(untagged)]
enum Reproduced {
    Paper(Box<Reproduction>),
    Ranking(Box<Ranking>),
}

/// Ranks all policies, and writes the pages if they are requested.
fn rank(args: &ReproduceArgs, threads: usize) -> Result<Ranking, Failure> {
    let selection = ranking_selection(args);
    let bar = Progress::new(ranking_simulations(selection)? as f64, RANKING);
    let advance = |units: f64| bar.advance(units);
    let made = rank_all(selection, &Execution { threads, stop: stop::flag(), progress: &advance, output: None });
    bar.finish(made.is_err());
    let made = made?;
    if let Some(folder) = &args.out {
        write_ranking(folder, &made)?;
    }
    Ok(made)
}

fn ranking_selection(args: &ReproduceArgs) -> RankingSelection {
    RankingSelection { size: if args.quick { Size::Quick } else { Size::Full }, seeds: args.seeds }
}

/// Writes the pages, the picture, JSON and tables of a ranking.
fn write_ranking(folder: &Path, ranking: &Ranking) -> Outcome {
    let own = folder.join(RANKING);
    files::folder(&own)?;
    let again = [Step {
        text: "The same command gives the same page on any number of threads.".to_owned(),
        code: format!("hindmost {} --out DIR", ranking.command),
    }];
    for picture in ranking::pictures(ranking) {
        files::write(&own.join(&picture.file), &picture.drawing.standalone())?;
    }
    let page = ranking::html_page(ranking, &again);
    files::write(&folder.join(format!("{RANKING}.html")), &page)?;
    files::write(&folder.join(format!("{RANKING}.md")), &ranking::markdown(ranking))?;
    files::write(&folder.join(format!("{RANKING}.json")), &(terminal::json(ranking)? + "\n"))?;
    for world in &ranking.worlds {
        files::write(&own.join(format!("{}.toml", world.name)), &world.scenario)?;
    }
    hindmost_papers::files::write_ranking(&own, ranking).map_err(Failure::work)
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

/// What the command line names: papers, each once, and whether all policies are ranked.
struct Wanted {
    papers: Vec<String>,
    ranking: bool,
}

/// Returns what the command line names; if it names nothing, everything, without the ranking if parts of papers are named.
fn wanted(args: &ReproduceArgs) -> Result<Wanted, Failure> {
    let of_papers = !(args.figures.is_empty() && args.claims.is_empty() && args.readings.is_empty());
    let is_all = |name: &String| name == ALL;
    let everything = args.papers.is_empty() || args.papers.iter().any(is_all);
    let named = args.papers.iter().any(|name| name == RANKING);
    if named && of_papers {
        return Err(Failure::input(format!(
            "{RANKING:?} has no figures, claims or readings; leave {RANKING} out, or --figure, --claim and --reading"
        )));
    }
    let mut papers: Vec<String> = Vec::new();
    let all = names().map(str::to_owned).filter(|_| everything);
    for name in args.papers.iter().filter(|name| !is_all(name) && *name != RANKING).cloned().chain(all) {
        if !papers.contains(&name) {
            papers.push(name);
        }
    }
    Ok(Wanted { papers, ranking: named || (everything && !of_papers) })
}

/// Reads the papers; if none is named, but claims are, those to which the claims belong.
fn papers(wanted: &Wanted, args: &ReproduceArgs) -> Result<Vec<Paper>, Failure> {
    let given = &args.papers;
    let wanted = &wanted.papers;
    let mut papers = Vec::with_capacity(wanted.len());
    for name in wanted {
        let paper = match built_in(name) {
            Some(paper) => paper,
            None if Path::new(name).is_dir() => Paper::load(Folder::Disk(name.into())),
            None => {
                return Err(Failure::input(format!(
                    "there is no reproduction of a paper named {name:?}{}; the papers are {}; {RANKING} ranks all \
                     policies, {ALL} is everything; or name a folder with the data of a paper",
                    did_you_mean(name, names().chain([RANKING, ALL])),
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
    for page in reproduction::html_pages(result, several, &again) {
        files::write(&folder.join(&page.file), &page.text)?;
    }
    for page in reproduction::markdown_pages(result) {
        files::write(&folder.join(&page.file), &page.text)?;
    }
    files::write(&folder.join(format!("{}.json", result.paper)), &(terminal::json(result)? + "\n"))?;
    hindmost_papers::files::write(if several { &own } else { folder }, made).map_err(Failure::work)
}
