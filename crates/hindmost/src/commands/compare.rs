//! The common part of `simulate` and `replay`: reads the options, runs the experiments, prints and writes the results.

use std::path::Path;
use std::sync::Arc;

use hindmost_core::estimator::Knowledge;
use hindmost_core::metrics::{Comparison, Diagnosis, RecordedTime};
use hindmost_core::profiles::Profile;
use hindmost_math::plain::Quoted;
use hindmost_policies::catalogue;
use hindmost_policies::catalogue::spec::{PolicySpec, split_list};
use hindmost_profiles::{Known, Store};
use hindmost_report::comparison;
use hindmost_report::html::{ComparisonPage, comparison_page};
use hindmost_sim::by_correlation::{Beside, Plan};
use hindmost_sim::cautions::{abandoned, cautions, independent_copies, no_copies, unfinished};
use hindmost_sim::compare::{offered_load, policy_results};
use hindmost_sim::experiment::{Execution, Experiment, Jobs, Results, run_all};
use hindmost_sim::pictures::{curves, shown_jobs};
use hindmost_sim::recommendation::{OfEngine, recommendation};
use hindmost_sim::records;
use hindmost_sim::scenario::full_key;
use hindmost_sim::world_notes;

use crate::cli::{RecordsForm, RunArgs};
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::{files, stop, terminal};

use super::report::{self, Subject};

/// Values that `--set` or `--sweep` gives: pairs of key and value.
pub type Settings = Vec<(String, String)>;

/// One point of a sweep: an experiment with the values of the swept keys.
pub struct Point {
    /// The experiment of this point.
    pub experiment: Experiment,
    /// The values of the swept keys; empty without a sweep.
    pub set: Settings,
}

/// Returns the policies that `--policy` names, in order; an empty list without the option.
pub fn policies(args: &RunArgs) -> Outcome<Vec<PolicySpec>> {
    let mut specs: Vec<PolicySpec> = Vec::new();
    for text in args.policy.iter().flat_map(|list| split_list(list)) {
        let spec: PolicySpec = text.parse().map_err(Failure::input)?;
        catalogue::check(&spec).map_err(Failure::input)?;
        specs.push(spec);
    }
    reject_twins(&specs)?;
    Ok(specs)
}

/// Refuses a list that names a policy twice, because results and folders are identified by the policy's name.
pub fn reject_twins(specs: &[PolicySpec]) -> Outcome {
    for (at, spec) in specs.iter().enumerate() {
        if let Some(twin) = specs[..at].iter().find(|other| catalogue::mean_the_same(other, spec)) {
            let why = if twin == spec { String::new() } else { format!(": {twin} is the same policy") };
            return Err(Failure::input(format!("the policy {spec} is named twice{why}; name it once")));
        }
    }
    Ok(())
}

/// Returns the progress model that `--knowledge` names; `None` without the option.
pub fn knowledge(args: &RunArgs) -> Outcome<Option<Knowledge>> {
    let Some(text) = args.knowledge.as_deref() else { return Ok(None) };
    let valid = "give oracle, progress(S) with S from 0 to below 1, progress(uniform), age, profiles or profiles(S)";
    match text.parse() {
        Ok(Knowledge::History) => Err(Failure::input(format!("--knowledge history is for live runs only; {valid}"))),
        Ok(knowledge) => Ok(Some(knowledge)),
        Err(_) => Err(Failure::input(format!("--knowledge: {} is not a progress model; {valid}", Quoted(text)))),
    }
}

/// Returns the pairs of key and value that `--set` gives.
pub fn settings(args: &RunArgs) -> Outcome<Settings> {
    args.set.iter().map(|text| pair("--set", text, "KEY=VALUE, such as slot=0.1")).collect()
}

/// Returns all combinations of the values that `--sweep` gives; one empty combination without a sweep.
pub fn sweep(args: &RunArgs) -> Outcome<Vec<Settings>> {
    let mut points: Vec<Settings> = vec![Vec::new()];
    for text in &args.sweep {
        let (key, list) = pair("--sweep", text, "KEY=A,B,C, such as gamma=0.01,0.1")?;
        let values = split_values(&list);
        if values.iter().any(|value| value.trim().is_empty()) {
            return Err(Failure::input(format!("--sweep {text}: a value is empty; write KEY=A,B,C")));
        }
        let mut longer = Vec::new();
        for point in &points {
            for value in &values {
                let mut set = point.clone();
                set.push((key.clone(), value.trim().to_owned()));
                longer.push(set);
            }
        }
        points = longer;
        if points.iter().any(|set| set[..set.len() - 1].iter().any(|(other, _)| full_key(other) == full_key(&key))) {
            return Err(Failure::input(format!(
                "--sweep {text}: {key} is swept twice; give all its values in one --sweep"
            )));
        }
        if points.iter().enumerate().any(|(at, set)| points[..at].contains(set)) {
            return Err(Failure::input(format!("--sweep {text}: a value is given twice; give each value once")));
        }
    }
    Ok(points)
}

/// Splits `KEY=VALUE` at the first equals sign. `form` is what the error of `option` says to write.
fn pair(option: &str, text: &str, form: &str) -> Outcome<(String, String)> {
    let (key, value) = text.split_once('=').ok_or_else(|| Failure::input(format!("{option} {text}: write {form}")))?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

/// Splits a list of values at its commas, except commas in brackets and quotes.
fn split_values(list: &str) -> Vec<String> {
    let (mut depth, mut quoted, mut values) = (0i32, false, vec![String::new()]);
    for c in list.chars() {
        match c {
            '"' => quoted = !quoted,
            '(' | '[' | '{' if !quoted => depth += 1,
            ')' | ']' | '}' if !quoted => depth -= 1,
            ',' if !quoted && depth <= 0 => {
                values.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = values.last_mut() {
            last.push(c);
        }
    }
    values
}

/// What goes with a comparison.
#[derive(Default)]
pub struct Comparisons<'a> {
    /// The text of `scenario.toml`, if there is one.
    pub description: Option<&'a str>,
    /// The values of `workload.correlation` whose results stand side by side; with none, only that of the scenario.
    pub correlations: &'a [f64],
    /// The one of them by which a policy is recommended; `None` for that of the scenario.
    pub decisive: Option<f64>,
    /// The recorded times of the jobs of logs, and those of replays of the policies that ran.
    pub recorded: Vec<RecordedTime>,
    /// The engine that wrote the logs, if it has a policy of its own.
    pub engine: Option<OfEngine>,
    /// What the applications of logs spent their time on, for a page.
    pub applications: Vec<Diagnosis>,
}

/// Runs all points, prints the comparison and writes the files of `--out`. `what` names the scenario or the logs, as on the command
/// line.
pub fn run(
    points: &[Point],
    args: &RunArgs,
    mut notes: Vec<String>,
    what: &Subject<'_>,
    about: &Comparisons<'_>,
) -> Outcome {
    let Comparisons { description, correlations, decisive, ref recorded, .. } = *about;
    let Some(first) = points.first() else { return Ok(()) };
    notes.extend(about_seeds(points));
    notes.extend(about_placement(points));
    let threads = args.threads.map_or_else(
        || std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        |number| number as usize,
    );
    let mut experiments: Vec<Experiment> = points.iter().map(|point| point.experiment.clone()).collect();
    if let Some(path) = &args.profiles {
        let store = Store::open(path, args.most_profiles).map_err(Failure::input)?;
        let known = Arc::new(Known::all(&store).map_err(Failure::input)?);
        for experiment in &mut experiments {
            experiment.setup.known_profiles = known.clone();
            experiment.setup.keeps_profiles = true;
        }
    }
    let units: usize = experiments.iter().map(|one| one.policies.len() * one.seeds.len()).sum();
    if let Some(folder) = &args.out {
        files::new_folder(folder)?;
    }
    let bar = Progress::new(units as f64, "simulating");
    let advance = |units: f64| bar.advance(units);
    let form = match args.records {
        RecordsForm::Csv => records::Format::Csv,
        RecordsForm::Parquet => records::Format::Parquet,
    };
    let open = |number: usize, policy: &PolicySpec, seed: u64| {
        let Some(folder) = &args.out else { return Ok(None) };
        let folder = folder.join(point_folder(&points[number].set));
        let experiment = &points[number].experiment;
        let extra = records::Extra { deadlines: experiment.has_deadlines(), energy: experiment.has_power() };
        records::open(&folder, form, (&policy.to_string(), seed), extra).map(Some)
    };
    let execution =
        Execution { threads, stop: stop::flag(), progress: &advance, output: args.out.is_some().then_some(&open) };
    let results = run_all(&experiments, &execution);
    bar.finish(results.is_err());
    if results.is_err()
        && let Some(folder) = &args.out
    {
        // A comparison that did not finish leaves no files.
        files::empty(folder);
    }
    let results = results?;
    let others = other_correlations(&experiments, &results, correlations, threads);
    if others.is_err()
        && let Some(folder) = &args.out
    {
        files::empty(folder);
    }
    let others = others?;
    let jobs = match args.out {
        // Some runs are repeated for the report's pictures.
        Some(_) => shown_jobs(&first.experiment, &results[0], threads, stop::flag()),
        None => Ok(Vec::new()),
    };
    if jobs.is_err()
        && let Some(folder) = &args.out
    {
        files::empty(folder);
    }
    let jobs = jobs?;
    let (mut rows, mut advice, mut by_correlation) = (Vec::new(), Vec::new(), None);
    let mut compares_correlations = false;
    for ((point, results), others) in points.iter().zip(&results).zip(&others) {
        let of_point = policy_results(&point.experiment, results, &point.set);
        let beside =
            others.as_ref().and_then(|(plan, others)| plan.beside(&point.experiment, (results, &of_point), others));
        let beside = beside.map(|beside| Beside { decisive, ..beside });
        compares_correlations |= beside.is_some();
        advice.extend(recommendation(&point.experiment, results, &of_point, beside.as_ref(), about.engine));
        // In a sweep, the recommendation of each point has what the table would have of its policy.
        by_correlation = beside.filter(|_| point.set.is_empty()).map(|beside| beside.table(&point.experiment));
        rows.extend(of_point);
    }
    if let (false, Subject::Scenario(_, Some(given))) = (compares_correlations, what)
        && !correlations.is_empty()
    {
        notes.push(format!(
            "--correlations {given} shows no other table, because the results of these policies do not depend on the correlation"
        ));
    }
    if let Some(path) = &args.profiles {
        keep_profiles(path, args.most_profiles, &results)?;
    }
    let shown: Vec<&Experiment> = points.iter().map(|point| &point.experiment).collect();
    notes.extend(world_notes::notes(&shown, &rows));
    let mut cautions = cautions(&shown);
    if by_correlation.is_none() {
        cautions.extend(independent_copies(&shown, &rows, decisive.filter(|_| compares_correlations)));
    }
    cautions.extend(no_copies(&shown, &rows));
    cautions.extend(unfinished(&rows));
    cautions.extend(abandoned(&rows));
    let compared = Comparison {
        scenario: first.experiment.name.clone(),
        seeds: all_seeds(points),
        knowledge: first.experiment.knowledge(),
        placement: first.experiment.placement(),
        gamma: first.experiment.setup.gamma,
        results: rows,
        cautions,
        notes,
        recorded: recorded.clone(),
        load: points.iter().filter_map(|point| offered_load(&point.experiment, &point.set)).collect(),
        by_correlation,
        recommendation: advice,
    };
    if let Some(folder) = &args.out {
        write(folder, &compared, description)?;
        let curves: Vec<_> = results.iter().flat_map(curves).collect();
        let again = report::again(what, args, description);
        let page = ComparisonPage {
            compared: &compared,
            curves: &curves,
            jobs: &jobs,
            applications: &about.applications,
            again: &again,
        };
        files::write(&folder.join("report.html"), &comparison_page(&page))?;
    }
    if args.json {
        terminal::print_json(&compared)
    } else {
        terminal::print(&comparison::text(&compared, terminal::width()))
    }
}

/// The runs for other correlations than a point's own, with their plan.
type AtOthers = Option<(Plan, Vec<Results>)>;

/// Runs the policies that start copies for the other correlations, at each point.
fn other_correlations(
    points: &[Experiment],
    results: &[Results],
    values: &[f64],
    threads: usize,
) -> Outcome<Vec<AtOthers>> {
    let of = |(point, results): (&Experiment, &Results)| Plan::of(point, results, values);
    let plans: Vec<Option<Plan>> = points.iter().zip(results).map(of).collect();
    let experiments: Vec<Experiment> = plans.iter().flatten().flat_map(|plan| &plan.experiments).cloned().collect();
    let units: usize = experiments.iter().map(|one| one.policies.len() * one.seeds.len()).sum();
    let bar = Progress::new(units as f64, "simulating other correlations");
    let execution = Execution { threads, stop: stop::flag(), progress: &|units| bar.advance(units), output: None };
    let others = run_all(&experiments, &execution);
    bar.finish(true);
    let mut others = others?.into_iter();
    let mut runs_of = |plan: Plan| {
        let runs = others.by_ref().take(plan.experiments.len()).collect();
        (plan, runs)
    };
    Ok(plans.into_iter().map(|plan| plan.map(&mut runs_of)).collect())
}

/// Adds the profiles of the first policy's runs to a file, in the order of points and seeds.
fn keep_profiles(path: &Path, most: u64, results: &[Results]) -> Outcome {
    let store = Store::open(path, most).map_err(Failure::work)?;
    for run in results.iter().filter_map(|of_point| of_point.first()).flatten() {
        let profiles: Vec<Profile> = run.profiles.iter().map(|profile| (**profile).clone()).collect();
        store.add(&profiles).map_err(Failure::work)?;
    }
    Ok(())
}

/// Returns notes on what the seeds have in common, if there are several.
fn about_seeds(points: &[Point]) -> Vec<String> {
    let mut notes = Vec::new();
    let each = |is: fn(&Experiment) -> bool| points.iter().all(|Point { experiment, .. }| is(experiment));
    if !each(|experiment| experiment.seeds.len() > 1) {
        return notes;
    }
    if each(|experiment| matches!(experiment.jobs, Jobs::Given(_))) {
        notes.push("all seeds have the same jobs; the first line counts each job once for every seed".to_owned());
    }
    if each(Experiment::is_the_same_for_every_seed) {
        notes.push(
            "the workload is exact and nothing else is drawn at random: all seeds give the same result, and the intervals \
             over seeds do not apply to other workloads"
                .to_owned(),
        );
    }
    notes
}

/// Returns a note if points have different placements by default: where all nodes have the same speed, and where they do
/// not.
fn about_placement(points: &[Point]) -> Option<String> {
    let (first, others) = points.split_first()?;
    let differs = |point: &&Point| point.experiment.placement() != first.experiment.placement();
    let is_swept = first.set.iter().any(|(key, _)| key == "placement");
    let other = others.iter().find(differs).filter(|_| !is_swept)?.experiment.placement();
    let where_ = |point: &Point| {
        let set: Vec<String> = point.set.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        set.join(", ")
    };
    let all: Vec<String> = others.iter().filter(differs).map(where_).collect();
    Some(format!("the placement is {other} at {}", all.join("; ")))
}

/// Returns the seeds of the point with the most seeds. Points differ in their seeds if the sweep changes `seeds`.
fn all_seeds(points: &[Point]) -> Vec<u64> {
    let longest = points.iter().map(|point| &point.experiment.seeds).max_by_key(|seeds| seeds.len());
    longest.cloned().unwrap_or_default()
}

fn write(folder: &Path, compared: &Comparison, description: Option<&str>) -> Outcome {
    if let Some(text) = description {
        files::write(&folder.join("scenario.toml"), text)?;
    }
    files::write(&folder.join("summary.json"), &(terminal::json(compared)? + "\n"))
}

/// Returns the name of a point's folder within the folder of `--out`; empty without a sweep.
fn point_folder(set: &Settings) -> String {
    if set.is_empty() {
        return String::new();
    }
    let name: Vec<String> = set.iter().map(|(key, value)| format!("{key}={value}")).collect();
    records::safe_name(&name.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_split_outside_brackets() {
        assert_eq!(split_values("1,2,3"), ["1", "2", "3"]);
        assert_eq!(split_values("progress(0.1),oracle"), ["progress(0.1)", "oracle"]);
        assert_eq!(split_values("{ min = 1, max = 2 },5"), ["{ min = 1, max = 2 }", "5"]);
        assert_eq!(split_values("\"a,b\",c"), ["\"a,b\"", "c"]);
    }

    #[test]
    fn each_point_has_its_own_folder() {
        let set = vec![("a.b".to_owned(), "1".to_owned()), ("knowledge".to_owned(), "progress(0.1)".to_owned())];
        assert_eq!(point_folder(&set), "a.b=1,knowledge=progress(0.1)");
        assert_eq!(point_folder(&Vec::new()), "");
    }
}
