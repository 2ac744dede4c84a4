//! Cautions: what limits conclusions from the results of experiments.
//!
//! **Heavy tails.** A Pareto distribution with α ≤ 2 has an infinite variance. A job takes at least as long as each of its
//! tasks, so flowtimes have an infinite variance, too, under a policy that may leave a task with a single copy however
//! long it takes. Means over seeds are then far from normal unless there are very many jobs, and their intervals may cover
//! the true mean less often than 95%. The minimum of k independent copies has tail index kα. So if every long task gets a
//! second, independent copy after a bounded time, its index is 2α > 2 (α > 1, because the mean is finite), and the
//! variance is finite. If copies of a task share a part of its duration (`correlation`), or a parameter that is drawn
//! once for each job has the heavy tail, copies do not change the index.
//!
//! A sample with few large values gets a caution by Hill's estimate of its tail ([`Hill`]). Replayed logs get none: their
//! jobs are the same for all seeds, and what is drawn comes from a finite list.
//!
//! A run that stops at the horizon (`drain = false`) gets none, because its flowtimes are bounded.
//!
//! **Assumptions that no real system meets.** Policies that know remaining times from the start (`oracle`), and copies that
//! have nothing in common (`correlation` 0) although other values were not compared.
//!
//! **No deadlines.** Some policies give clones and backups only to jobs with a deadline, and equal `none` without one.
//!
//! **Overload.** At a load of 1 or more, jobs wait longer and longer, so that flowtimes depend on when arrivals end.
//!
//! **No copies.** The results of a policy that started no copies are those of its order of jobs.
//!
//! **Unfinished jobs.** Jobs that did not finish before the run stopped are in no flowtime.
//!
//! **Abandoned jobs.** A policy that abandons late jobs has their flowtimes in no mean or quantile.
//!
//! **One seed.** Differences between policies on a single seed can be chance, and there are no intervals.

use std::path::Path;

use hindmost_core::estimator::Knowledge;
use hindmost_core::metrics::PolicyResult;
use hindmost_math::fit::{Hill, Summary};
use hindmost_math::plain::{Plain, Quoted};
use hindmost_policies::catalogue::clones_only_with_deadline;

use crate::experiment::{Experiment, Jobs};
use crate::parameter::{Family, Parameter};
use crate::scenario::{JobKind, WorkloadSpec};
use crate::tail_index::{own_tail, parameters_tail, tail};

/// The largest tail index with an infinite variance.
const INFINITE_VARIANCE: f64 = 2.0;

/// Returns the cautions of experiments whose results are shown together: the points of a sweep, or logs. Each is a
/// sentence without a capital letter and full stop.
pub fn cautions(experiments: &[&Experiment]) -> Vec<String> {
    let mut cautions = Vec::new();
    let compares = experiments.len() > 1 || experiments.iter().any(|one| one.policies.len() > 1);
    let single = |one: &&Experiment| one.seeds.len() == 1 && !one.is_the_same_for_every_seed();
    if compares && experiments.iter().any(single) {
        cautions.push("one seed: differences may be chance; --seeds 5 gives intervals".to_owned());
    }
    cautions.extend(oracle(experiments));
    cautions.extend(overload(experiments));
    cautions.extend(without_deadlines(experiments));
    let each: Vec<Tails> = experiments.iter().map(|one| tails(one)).collect();
    for of in [of_copies, of_jobs, of_files] {
        let mut found: Vec<(String, usize)> = Vec::new();
        for sentence in each.iter().filter_map(of) {
            match found.iter_mut().find(|(other, _)| *other == sentence) {
                Some((_, points)) => *points += 1,
                None => found.push((sentence, 1)),
            }
        }
        let part = |points: usize| if points < experiments.len() { "at some points of the sweep, " } else { "" };
        cautions.extend(found.into_iter().map(|(sentence, points)| format!("{}{sentence}", part(points))));
    }
    cautions
}

/// Returns a caution if policies know more than real systems do.
fn oracle(experiments: &[&Experiment]) -> Option<String> {
    let knows = |one: &&&Experiment| {
        one.knowledge() == Knowledge::Oracle && one.policies.iter().any(|policy| policy.system != "none")
    };
    let points = experiments.iter().filter(knows).count();
    let part = if points < experiments.len() { "at some points of the sweep, " } else { "" };
    (points > 0).then(|| {
        format!(
            "{part}policies know the remaining time of every attempt from its start (knowledge oracle), which no real system \
             does; --knowledge 'progress(0.1)' shows what remains of the differences"
        )
    })
}

/// Returns a caution if jobs arrive at least as fast as the cluster can do them.
fn overload(experiments: &[&Experiment]) -> Option<String> {
    let load = |one: &&Experiment| match &one.jobs {
        Jobs::Generated { spec, .. } => spec.load.filter(|load| *load >= 1.0),
        Jobs::Given(_) => None,
    };
    let loads: Vec<f64> = experiments.iter().filter_map(load).collect();
    let part = if loads.len() < experiments.len() { "at some points of the sweep, " } else { "" };
    let largest = loads.iter().copied().max_by(f64::total_cmp)?;
    let up_to = if loads.iter().any(|load| *load < largest) { "up to " } else { "" };
    Some(format!(
        "{part}jobs arrive at least as fast as the cluster can do them without copies (load {up_to}{largest:.2}), so that \
         flowtimes grow with the number of jobs and the horizon, and compare policies for this length of a run only"
    ))
}

/// Returns a caution if policies that could start copies started none. `results` are the results of all points of a sweep.
pub fn no_copies(experiments: &[&Experiment], results: &[PolicyResult]) -> Option<String> {
    let deadlines = experiments.iter().any(|one| has_deadlines(&one.jobs));
    let mut names: Vec<String> = Vec::new();
    for policy in experiments.iter().flat_map(|one| &one.policies) {
        let name = policy.to_string();
        let mut rows = results.iter().filter(|row| row.policy == name);
        // The caution about deadlines names the others.
        let is_explained = !deadlines && clones_only_with_deadline(policy);
        if policy.system != "none"
            && !is_explained
            && !names.contains(&name)
            && rows.all(|row| row.copies.launched == 0)
        {
            names.push(name);
        }
    }
    let (results, their) = if names.len() == 1 { ("its results are", "its") } else { ("their results are", "their") };
    (!names.is_empty()).then(|| {
        format!("{} started no copies, so that {results} those of {their} order of jobs alone", names.join(" and "))
    })
}

/// Returns a caution if jobs did not finish before runs stopped; `None` if all did. `results` are the results of all points of a
/// sweep.
pub fn unfinished(results: &[PolicyResult]) -> Option<String> {
    let share = |row: &PolicyResult| row.unfinished_jobs as f64 / row.jobs.max(1) as f64;
    let most = results
        .iter()
        .filter(|row| row.unfinished_jobs > 0)
        .max_by(|one, other| share(one).total_cmp(&share(other)))?;
    Some(format!(
        "jobs that had not finished when the run stopped (up to {:.1}%, under {}) are in no flowtime, so that policies which leave \
         long jobs unfinished look better than they are; drain = true runs until every job is done",
        100.0 * share(most),
        most.policy
    ))
}

/// Returns a caution if policies started copies whose durations are independent of each other, and no point of a sweep has other ones.
/// `results` are the results of all points, `decisive` is the correlation by which recommendations go, if the scenario leaves it open.
pub fn independent_copies(
    experiments: &[&Experiment],
    results: &[PolicyResult],
    decisive: Option<f64>,
) -> Option<String> {
    let generated = |one: &&Experiment| matches!(one.jobs, Jobs::Generated { .. });
    let is_independent = |one: &&Experiment| generated(one) && one.setup.correlation == 0.0;
    let is_swept = experiments.iter().any(|one| one.setup.correlation > 0.0);
    let copies = results.iter().any(|row| row.copies.launched > 0);
    let recommended = decisive.map_or_else(String::new, |value| {
        format!(
            "; because the scenario does not say what share of a duration belongs to the task, recommendations go by the middle of \
             the compared values, {value}"
        )
    });
    (experiments.iter().any(is_independent) && copies && !is_swept).then(|| {
        format!(
            "a copy is slow independently of the attempt that it backs up (correlation 0), which favours policies that start many \
             copies; --sweep workload.correlation=0,0.5,0.9 shows by how much{recommended}"
        )
    })
}

/// Returns a caution if policies are compared that only act on deadlines, and no job has one.
fn without_deadlines(experiments: &[&Experiment]) -> Option<String> {
    if experiments.iter().any(|one| has_deadlines(&one.jobs)) {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    for policy in experiments.iter().flat_map(|one| &one.policies).filter(|policy| clones_only_with_deadline(policy)) {
        let name = policy.to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let (start, names) = (if names.len() == 1 { "starts" } else { "start" }, names.join(" and "));
    (!names.is_empty()).then(|| format!("no job has a deadline, so that {names} {start} no clones and no backups"))
}

fn has_deadlines(jobs: &Jobs) -> bool {
    match jobs {
        Jobs::Given(jobs) => jobs.iter().any(|job| job.spec.deadline.is_some()),
        Jobs::Generated { spec, .. } => {
            let of_kind = |kind: &JobKind| kind.deadline.is_some() || kind.deadline_factor.is_some();
            spec.deadline.is_some() || spec.deadline_factor.is_some() || spec.job.iter().any(of_kind)
        }
    }
}

/// Returns a caution about the flowtimes of policies that abandoned jobs; `None` if none did. `results` are the results of all
/// points of a sweep.
pub fn abandoned(results: &[PolicyResult]) -> Option<String> {
    let mut shares: Vec<(&str, u64, u64)> = Vec::new();
    for row in results {
        match shares.iter_mut().find(|(policy, ..)| *policy == row.policy) {
            Some((_, abandoned, jobs)) => (*abandoned, *jobs) = (*abandoned + row.abandoned_jobs, *jobs + row.jobs),
            None => shares.push((&row.policy, row.abandoned_jobs, row.jobs)),
        }
    }
    let shares = shares.into_iter().filter(|(_, abandoned, _)| *abandoned > 0);
    let shares: Vec<String> = shares
        .map(|(policy, abandoned, jobs)| format!("{policy} {:.1}%", 100.0 * abandoned as f64 / jobs.max(1) as f64))
        .collect();
    (!shares.is_empty()).then(|| {
        format!(
            "abandoned jobs are in no flowtime, ratio or quantile, so these do not compare with those of policies that finish all \
             jobs; compare the shares of met deadlines (abandoned: {})",
            shares.join(", ")
        )
    })
}

/// The tails of a workload for which means are not reliable.
#[derive(Debug, Default, PartialEq)]
struct Tails {
    /// Smallest tail index of durations that are drawn for each copy, if it is at most 2.
    copies: Option<f64>,
    /// Share of a duration that all copies of a task have in common.
    correlation: f64,
    /// Smallest tail index of what is drawn once for each job, if it is at most 2.
    jobs: Option<f64>,
    /// A file whose values have a tail with an estimated index of at most 2: its name, and the estimate.
    file: Option<(String, Hill)>,
}

fn of_copies(tails: &Tails) -> Option<String> {
    let alpha = tails.copies?;
    let copies = if tails.correlation > 0.0 {
        "copies do not change this, because all copies of a task share a part of its duration".to_owned()
    } else {
        let twice = Plain(2.0 * alpha);
        format!(
            "a long task that always gets a second, independent copy has the tail index 2α = {twice} and a finite variance"
        )
    };
    Some(format!(
        "durations have a Pareto tail with α = {}, so their variance is infinite, as is that of flowtimes under a policy \
         that may leave a long task with a single copy: the 95% intervals of means and ratios (Student's t, bootstrap) \
         may then cover the true value less often than stated, so compare quantiles and their intervals; {copies}",
        Plain(alpha)
    ))
}

fn of_jobs(tails: &Tails) -> Option<String> {
    let alpha = Plain(tails.jobs?);
    Some(format!(
        "the number of tasks or the durations of a job depend on a number, drawn once for each job, that has a Pareto tail \
         with α = {alpha}, so the variance of flowtimes is infinite under every policy: the 95% intervals of means and \
         ratios (Student's t, bootstrap) may cover the true value less often than stated, so compare quantiles and \
         their intervals"
    ))
}

fn of_files(tails: &Tails) -> Option<String> {
    let (name, hill) = tails.file.as_ref()?;
    let [low, high] = hill.alpha_ci95;
    Some(format!(
        "the largest values of {} look like a Pareto tail with α = {:.2} (Hill's estimate, 95% interval {low:.2} to \
         {high:.2}), whose variance would be infinite: a few values decide the means, and their intervals (Student's t, \
         bootstrap) do not apply to other runs of what the file records, so compare quantiles and their intervals",
        Quoted(name),
        hill.alpha
    ))
}

/// Returns the tails of an experiment's workload.
fn tails(experiment: &Experiment) -> Tails {
    match &experiment.jobs {
        Jobs::Generated { spec, .. } if experiment.setup.drain || experiment.setup.horizon.is_none() => {
            of_workload(spec)
        }
        _ => Tails::default(),
    }
}

fn of_workload(spec: &WorkloadSpec) -> Tails {
    let phases = || spec.job.iter().flat_map(|kind| &kind.phase);
    let durations: Vec<&Parameter> = spec.duration.iter().chain(phases().map(|phase| &phase.duration)).collect();
    let tasks = spec.tasks.iter().chain(phases().filter_map(|phase| phase.tasks.as_ref()));
    let of_durations = durations.iter().filter_map(|duration| own_tail(duration));
    let of_parameters = durations.iter().filter_map(|duration| parameters_tail(duration));
    let of_jobs = tasks.filter_map(tail).chain(of_parameters);
    let files = durations.iter().filter_map(|duration| file_tail(duration));
    Tails {
        copies: heaviest(of_durations),
        correlation: spec.correlation(),
        jobs: heaviest(of_jobs),
        file: files.min_by(|one, other| one.1.alpha.total_cmp(&other.1.alpha)),
    }
}

/// Returns the smallest tail index with an infinite variance; `None` if there is none.
fn heaviest(indices: impl Iterator<Item = f64>) -> Option<f64> {
    indices.filter(|alpha| *alpha <= INFINITE_VARIANCE).min_by(f64::total_cmp)
}

/// Returns the name of a file of durations with Hill's estimate of its tail index; `None` if that is above 2 or can't be
/// estimated.
fn file_tail(parameter: &Parameter) -> Option<(String, Hill)> {
    let Parameter::Drawn(family) = parameter else { return None };
    let Family::Empirical { file, values } = &**family else { return None };
    let hill = Hill::of(&Summary::of(values, 0.0)).filter(|hill| hill.alpha <= INFINITE_VARIANCE)?;
    let name = file.file_name().map_or(file.as_path(), Path::new);
    Some((name.display().to_string(), hill))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    fn of(text: &str) -> Tails {
        let text = format!("[workload]\narrival = {{ at_once = {{ jobs = 1 }} }}\n{text}\n[cluster]\nmachines = 2\n");
        tails(&Experiment::of(&Scenario::parse(&text, "test", Path::new(""), &[]).unwrap(), 1).unwrap())
    }

    fn indices(tasks: &str, duration: &str) -> (Option<f64>, Option<f64>) {
        let found = of(&format!("tasks = {tasks}\nduration = {duration}"));
        (found.copies, found.jobs)
    }

    #[test]
    fn pareto_tails_up_to_two_have_an_infinite_variance() {
        for (duration, expected) in [
            ("{ pareto = { alpha = 2, mean = 3 } }", Some(2.0)),
            ("{ pareto = { alpha = 1.2, minimum = 3 } }", Some(1.2)),
            ("{ pareto = { alpha = { uniform = { min = 1.5, max = 3 } }, mean = 3 } }", Some(1.5)),
            ("{ pareto = { alpha = 2.01, mean = 3 } }", None),
            ("{ pareto = { alpha = 1.5, mean = 3, maximum = 100 } }", None),
            ("{ weibull = { shape = 0.3, mean = 3 } }", None),
            ("{ log_normal = { mean = 3, cv = 9 } }", None),
            ("4", None),
        ] {
            assert_eq!(indices("5", duration), (expected, None), "{duration}");
        }
    }

    #[test]
    fn parameters_of_a_job_can_have_the_heavy_tail() {
        let pareto = "{ pareto = { alpha = 1.5, mean = 3 } }";
        for duration in [
            format!("{{ exponential = {{ mean = {pareto} }} }}"),
            format!("{{ uniform = {{ min = 1, max = {pareto} }} }}"),
            format!("{{ pareto = {{ alpha = 3, mean = {pareto} }} }}"),
            // Draws of at most the maximum have the index 1.5 + 0.3 = 1.8.
            format!("{{ pareto = {{ alpha = 0.3, minimum = 0.1, maximum = {pareto} }} }}"),
        ] {
            let expected = if duration.contains("0.3") { 1.8 } else { 1.5 };
            assert_eq!(indices("5", &duration), (None, Some(expected)), "{duration}");
        }
        assert_eq!(indices(pareto, "4"), (None, Some(1.5)));
        assert_eq!(indices("{ uniform = { min = 1, max = 9 } }", pareto), (Some(1.5), None));
    }

    #[test]
    fn the_heaviest_phase_decides() {
        let phase = |name: &str, alpha: f64| {
            format!(
                "[[workload.job.phase]]\nname = \"{name}\"\ntasks = 2\nduration = {{ pareto = {{ alpha = {alpha}, mean = 2 }} }}\n"
            )
        };
        let text =
            format!("correlation = 0.5\n[[workload.job]]\nname = \"a\"\n{}{}", phase("map", 1.9), phase("reduce", 1.4));
        let found = of(&text);
        assert_eq!((found.copies, found.jobs), (Some(1.4), None));
        assert!(of_copies(&found).unwrap().contains("α = 1.4") && of_copies(&found).unwrap().contains("share a part"));
        let independent = of_copies(&Tails { correlation: 0.0, ..found }).unwrap();
        assert!(independent.contains("the tail index 2α = 2.8 and a finite variance"), "{independent}");
    }

    #[test]
    fn files_are_judged_by_hills_estimate() {
        let folder = tempfile::tempdir().unwrap();
        let caution = |alpha: f64| {
            // The quantiles of a Pareto distribution at 100 equal steps.
            let values = (0..100).map(|at| ((f64::from(at) + 0.5) / 100.0).powf(-1.0 / alpha).to_string());
            std::fs::write(folder.path().join("d.txt"), values.collect::<Vec<_>>().join("\n")).unwrap();
            let family = Family::Empirical { file: "d.txt".into(), values: Vec::new() };
            let mut parameter = Parameter::Drawn(Box::new(family));
            parameter.load(folder.path()).unwrap();
            of_files(&Tails { file: file_tail(&parameter), ..Tails::default() })
        };
        assert!(
            caution(1.2).unwrap().starts_with("the largest values of \"d.txt\" look like a Pareto tail with α = 1.")
        );
        assert_eq!(caution(3.0), None);
    }

    #[test]
    fn policies_that_need_deadlines_say_so() {
        let of = |deadline: &str, policies: &str| {
            let text = format!(
                "seeds = 2\n[workload]\narrival = {{ at_once = {{ jobs = 1 }} }}\ntasks = 1\nduration = 1\n{deadline}\n\
                 [cluster]\nmachines = 2\n{policies}"
            );
            cautions(&[&Experiment::of(&Scenario::parse(&text, "test", Path::new(""), &[]).unwrap(), 1).unwrap()])
        };
        let both = "[[policy]]\nname = \"shed\"\n[[policy]]\nname = \"none\"\n[[policy]]\nname = \"chronos\"\n";
        assert_eq!(of("", both), ["no job has a deadline, so that shed and chronos start no clones and no backups"]);
        assert!(of("deadline = 4", both).is_empty() && of("", "[[policy]]\nname = \"none\"\n").is_empty());
    }

    #[test]
    fn overload_is_named_whether_a_load_or_a_rate_is_given() {
        let experiment = |arrival: &str| {
            let text = format!(
                "horizon = 9\nseeds = 2\n[workload]\narrival = {{ {arrival} }}\ntasks = 2\nduration = 3\n[cluster]\nmachines = 6\n\
                 [[policy]]\nname = \"none\"\n[[policy]]\nname = \"mantri\"\n"
            );
            Experiment::of(&Scenario::parse(&text, "test", Path::new(""), &[]).unwrap(), 1).unwrap()
        };
        // A job is 6 slot-seconds of work, and the cluster does 6 in a second.
        for (arrival, load) in [
            ("poisson = { load = 1.3 }", "(load 1.30)"),
            ("poisson = { rate = 2 }", "(load 2.00)"),
            ("every = { gap = 1, jobs = 9 }", "(load 1.00)"),
        ] {
            let found = cautions(&[&experiment(arrival)]);
            assert!(found.len() == 1 && found[0].contains(load), "{arrival}: {found:?}");
        }
        for arrival in ["poisson = { load = 0.99 }", "poisson = { rate = 0.9 }", "at_once = { jobs = 9 }"] {
            assert!(cautions(&[&experiment(arrival)]).is_empty(), "{arrival}");
        }
        let found = cautions(&[&experiment("poisson = { load = 0.5 }"), &experiment("poisson = { load = 1.5 }")]);
        assert!(found[0].starts_with("at some points of the sweep, jobs arrive"), "{found:?}");
    }

    #[test]
    fn bounded_flowtimes_and_single_policies_have_no_caution() {
        let experiment = |settings: &str| {
            let text = format!(
                "{settings}\n[workload]\narrival = {{ poisson = {{ rate = 1 }} }}\ntasks = 2\nduration = {{ pareto = {{ alpha \
                 = 1.5, mean = 2 }} }}\n[cluster]\nmachines = 9\n[[policy]]\nname = \"none\"\n[[policy]]\nname = \"mantri\"\n"
            );
            Experiment::of(&Scenario::parse(&text, "test", Path::new(""), &[]).unwrap(), 1).unwrap()
        };
        let drained = experiment("horizon = 9\nseeds = 5");
        let stopped = experiment("horizon = 9\nseeds = 5\ndrain = false");
        assert!(cautions(&[&stopped]).is_empty());
        let found = cautions(&[&drained]);
        assert!(found.len() == 1 && found[0].starts_with("durations have a Pareto tail with α = 1.5"), "{found:?}");
        let found = cautions(&[&drained, &stopped]);
        assert!(found.len() == 1 && found[0].starts_with("at some points of the sweep, durations"), "{found:?}");
        let one_seed = experiment("horizon = 9\ndrain = false");
        assert_eq!(cautions(&[&one_seed]), ["one seed: differences may be chance; --seeds 5 gives intervals"]);
        let mut alone = one_seed.clone();
        alone.policies.truncate(1);
        assert!(cautions(&[&alone]).is_empty());
        assert_eq!(cautions(&[&alone, &alone]).len(), 1);
    }
}
