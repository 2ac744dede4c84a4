//! `hindmost theory`: solves the optimisation problems of the papers, without a simulation.

use hindmost_math::distribution::Distribution;
use hindmost_math::plain::Plain;
use hindmost_policies::theory::clones::{self, CloneError, CloneJob, CloneProblem};
use hindmost_policies::theory::clones_dual::{self, DEFAULT_STEPS, PRINTED_STEPS};
use hindmost_policies::theory::cutoff::{self, CutoffError};
use hindmost_policies::theory::priorities::{self, SizedJob};
use hindmost_policies::theory::sigma::{self, SigmaError};
use hindmost_policies::theory::speedup;
use hindmost_report::text::indented;
use serde_json::{Value, json};

use crate::cli::{CloneMethod, DurationArgs, SigmaRule, TheoryCommand};
use crate::failure::{Failure, Outcome};
use crate::terminal;

mod deadlines;

/// Runs a theory command.
pub fn run(command: TheoryCommand) -> Outcome {
    match command {
        TheoryCommand::Clones {
            job,
            duration,
            machines,
            max_copies,
            gamma,
            method,
            steps,
            tolerance,
            iterations,
            json,
        } => {
            let problem = clone_problem(&job, &duration, machines, max_copies, gamma)?;
            let steps = steps.as_deref().map_or(Ok(DEFAULT_STEPS), parse_steps)?;
            if !(tolerance.is_finite() && tolerance > 0.0) {
                return Err(Failure::input(format!("--tolerance is {}, but must be above 0", Plain(tolerance))));
            }
            let answer = match method {
                CloneMethod::Exact => exact(&problem),
                CloneMethod::Continuous => continuous(&problem),
                CloneMethod::Dual => dual(&problem, steps, tolerance, iterations),
            };
            show(&answer?, CLONES, json)
        }
        TheoryCommand::Sigma { rule, duration, s, max_copies, json } => {
            show(&solve_sigma(rule, &durations(&duration)?, s, max_copies)?, SIGMA, json)
        }
        TheoryCommand::Cutoff { duration, machines, mean_tasks, mean_duration, json } => {
            let solved = solve_cutoff(&durations(&duration)?, machines, mean_tasks, mean_duration)?;
            show(&solved, CUTOFF, json)
        }
        TheoryCommand::Speedup { mean, sd, copies, json } => show(&solve_speedup(mean, sd, copies)?, SPEEDUP, json),
        TheoryCommand::Priorities { job, json } => show(&solve_priorities(&job)?, PRIORITIES, json),
        TheoryCommand::Pocd(args) => show(&deadlines::pocd(&args)?, deadlines::POCD, args.json),
        TheoryCommand::Shed(args) => show(&deadlines::shed(&args)?, deadlines::SHED, args.json),
    }
}

/// Returns the distribution of the duration of one copy. With `--alpha` its minimum is 1 s.
fn durations(args: &DurationArgs) -> Outcome<Distribution> {
    let made = match (args.alpha, &args.duration) {
        (Some(alpha), _) => {
            if !(alpha.is_finite() && alpha > 1.0) {
                return Err(Failure::input(format!(
                    "--alpha is {}, but must be above 1: otherwise the mean duration is infinite",
                    Plain(alpha)
                )));
            }
            Distribution::pareto(alpha, 1.0)
        }
        (None, Some(text)) => text.parse(),
        (None, None) => return Err(Failure::input("give --alpha or --duration")),
    };
    made.map_err(|error| Failure::input(format!("--duration: {error}")))
}

fn clone_problem(
    jobs: &[String],
    duration: &DurationArgs,
    machines: u64,
    max_copies: u32,
    gamma: f64,
) -> Outcome<CloneProblem> {
    let shape = durations(duration)?;
    let mut parsed = Vec::new();
    for text in jobs.iter().map(|text| text.trim()) {
        let wrong = |why: &str| Failure::input(format!("--job {text}: {why}; write TASKS:MU, such as 10:1.5"));
        let (tasks, factor) = text.split_once(':').ok_or_else(|| wrong("there is no colon"))?;
        let tasks: u32 = tasks.trim().parse().map_err(|_| wrong("TASKS must be a whole number"))?;
        let factor: f64 = factor.trim().parse().map_err(|_| wrong("MU must be a number"))?;
        if tasks == 0 {
            return Err(wrong("TASKS must be at least 1"));
        }
        if !(factor.is_finite() && factor > 0.0) {
            return Err(wrong("MU must be above 0"));
        }
        parsed.push(CloneJob { tasks, duration: shape.scaled(factor) });
    }
    Ok(CloneProblem { jobs: parsed, machines, max_copies, gamma })
}

fn parse_steps(text: &str) -> Outcome<[f64; 3]> {
    if text == "printed" {
        return Ok(PRINTED_STEPS);
    }
    let wrong = || {
        let why = "give three positive numbers, such as 0.002,0.3,0.4, or the word printed";
        Failure::input(format!("--steps {text}: {why}"))
    };
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|number| number.trim().parse::<f64>()).collect();
    let numbers = numbers.map_err(|_| wrong())?;
    if numbers.iter().any(|number| !(number.is_finite() && *number > 0.0)) {
        return Err(wrong());
    }
    numbers.try_into().map_err(|_| wrong())
}

/// Returns an answer with the reason if the problem has no solution, and a failure if a parameter is out of range.
fn unsolved(error: &CloneError) -> Outcome<Value> {
    match error {
        CloneError::Infeasible { .. } => {
            Ok(json!({ "copies": null, "objective": null, "machines_used": null, "reason": error.to_string() }))
        }
        CloneError::Parameter { parameter, value, valid } => Err(out_of_range(parameter, *value, valid)),
    }
}

/// Returns the failure for a parameter outside its range, named as the option that sets it.
fn out_of_range(parameter: &str, value: f64, valid: &str) -> Failure {
    const OPTIONS: &[&str] = &["gamma", "s", "machines", "max_copies", "mean_tasks", "mean_duration"];
    let name = if OPTIONS.contains(&parameter) {
        format!("--{}", parameter.replace('_', "-"))
    } else {
        format!("the {parameter}")
    };
    Failure::input(format!("{name} is {}, but must be {valid}", Plain(value)))
}

fn exact(problem: &CloneProblem) -> Outcome<Value> {
    match clones::exact(problem) {
        Ok(solved) => {
            let mut answer = json!({
                "copies": solved.copies, "objective": solved.objective, "machines_used": solved.machines_used
            });
            if solved.gap > 0.0 {
                answer["gap"] = json!(solved.gap);
            }
            Ok(answer)
        }
        Err(error) => unsolved(&error),
    }
}

fn continuous(problem: &CloneProblem) -> Outcome<Value> {
    match clones::continuous(problem) {
        Ok(solved) => Ok(json!({
            "copies": solved.copies, "objective": solved.objective, "machines_used": solved.machines_used,
            "multiplier": solved.multiplier
        })),
        Err(error) => unsolved(&error),
    }
}

fn dual(problem: &CloneProblem, steps: [f64; 3], tolerance: f64, iterations: u32) -> Outcome<Value> {
    match clones_dual::dual(problem, steps, clones_dual::START, tolerance, iterations as usize) {
        Ok(solved) => {
            let trace: Vec<Value> = solved
                .trace
                .iter()
                .map(|step| json!({ "copies": step.copies, "nu": step.nu, "change": step.change }))
                .collect();
            Ok(json!({
                "copies": solved.copies, "objective": solved.objective, "machines_used": solved.machines_used,
                "converged": solved.converged, "iterations": solved.iterations, "trace": trace
            }))
        }
        Err(error) => unsolved(&error),
    }
}

fn solve_sigma(rule: SigmaRule, duration: &Distribution, s: f64, max_copies: u32) -> Outcome<Value> {
    let solved = match rule {
        SigmaRule::Sda => sigma::sda(duration, s, max_copies),
        SigmaRule::Ese => sigma::ese(duration),
    };
    let solved =
        solved.map_err(|SigmaError::Parameter { parameter, value, valid }| out_of_range(parameter, value, valid))?;
    let mut answer = json!({ "sigma": solved.sigma, "copies": solved.copies, "resource_ratio": solved.resource_ratio });
    if matches!(rule, SigmaRule::Sda) && solved.copies == max_copies {
        answer["limited_by"] = json!("max_copies");
    }
    Ok(answer)
}

fn solve_cutoff(duration: &Distribution, machines: f64, mean_tasks: f64, mean_duration: f64) -> Outcome<Value> {
    match cutoff::cutoff(duration, machines, mean_tasks, mean_duration) {
        Ok(solved) => {
            let mut answer = json!({
                "omega": solved.omega, "lambda": solved.lambda, "necessary_lambda": solved.necessary_lambda
            });
            if let Some(reason) = solved.reason {
                answer["reason"] = json!(reason.to_string());
            }
            Ok(answer)
        }
        Err(error @ CutoffError::InfiniteSecondMoment { necessary_lambda }) => Ok(json!({
            "omega": null, "lambda": null, "necessary_lambda": necessary_lambda, "reason": error.to_string()
        })),
        Err(CutoffError::Parameter { parameter, value }) => Err(out_of_range(parameter, value, "positive and finite")),
    }
}

fn solve_speedup(mean: f64, sd: f64, copies: u32) -> Outcome<Value> {
    if !(mean.is_finite() && mean > 0.0) {
        return Err(Failure::input(format!("--mean is {}, but must be above 0", Plain(mean))));
    }
    if !(sd.is_finite() && sd >= 0.0) {
        return Err(Failure::input(format!("--sd is {}, but must be at least 0", Plain(sd))));
    }
    let alpha = speedup::fitted_alpha(mean, sd).map_err(|_| {
        let (mean, sd) = (Plain(mean), Plain(sd));
        Failure::input(format!(
            "--mean is {mean} and --sd is {sd}, but no Pareto distribution can be computed that has both; give values \
             of similar size"
        ))
    })?;
    let mut answer = json!({
        "alpha": alpha.is_finite().then_some(alpha), "speedup": speedup::speedup(alpha, copies)
    });
    if !alpha.is_finite() {
        answer["reason"] = json!("durations that do not vary have no tail index, and copies do not finish earlier");
    }
    Ok(answer)
}

fn solve_priorities(jobs: &[String]) -> Outcome<Value> {
    let (mut sizes, mut shares) = (Vec::new(), Vec::new());
    for text in jobs.iter().map(|text| text.trim()) {
        let wrong =
            |why: &str| Failure::input(format!("--job {text}: {why}; write LENGTH:VOLUME:SHARE, such as 10:2.5:0.25"));
        let parts: Vec<&str> = text.split(':').collect();
        let [length, volume, share] = parts[..] else { return Err(wrong("there must be three numbers")) };
        let number = |what: &str, text: &str| match text.trim().parse::<f64>() {
            Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
            _ => Err(wrong(&format!("{what} must be a number from 0"))),
        };
        let size = SizedJob { length: number("LENGTH", length)?, volume: number("VOLUME", volume)? };
        let share = number("SHARE", share)?;
        if share > 1.0 {
            return Err(wrong("SHARE must be at most 1"));
        }
        sizes.push(size);
        shares.push(share);
    }
    let mut answer = json!({ "priorities": priorities::priorities(&sizes) });
    // The last priority level by the formula that the paper prints, for comparison with the paper.
    answer["printed_last_level"] = json!(priorities::printed_last_level(&sizes, &shares));
    if answer["printed_last_level"].is_null() {
        let share = shares.iter().copied().fold(0.0, f64::max);
        let why = if share < 1.0 { "all volumes are 0" } else { "a job's SHARE is 1, so the formula divides by 0" };
        answer["reason"] = json!(format!(
            "the paper's number of levels is log2(V / (1 - D)), where V is the sum of all VOLUMEs and D the largest \
             SHARE; here {why}"
        ));
    }
    Ok(answer)
}

/// How the text output shows one number of an answer: JSON key, label, and the words after the number (unit and
/// meaning).
type Field = (&'static str, &'static str, &'static str);

const CLONES: &[Field] = &[
    ("copies", "copies of each task", "(one number for each job)"),
    ("objective", "objective", "s (minus the jobs' mean durations, minus gamma times their machine time)"),
    ("machines_used", "machines used", ""),
    ("gap", "distance from optimum", "s at most"),
    ("multiplier", "value of a machine", "s that one more machine adds to the objective"),
    ("iterations", "iterations", ""),
];
const SIGMA: &[Field] = &[
    ("sigma", "sigma", "mean durations (a task that needs longer than this to finish is a straggler)"),
    ("copies", "copies of a straggler", "copies, the original included"),
    ("resource_ratio", "machine time", "times the machine time without backups"),
];
const CUTOFF: &[Field] = &[
    ("omega", "cut-off load", "of the machines' time (below it, two copies of every task shorten the mean delay)"),
    ("lambda", "cut-off arrival rate", "jobs a second"),
    ("necessary_lambda", "overload rate", "jobs a second (from it on, two copies of every task overload the machines)"),
];
const SPEEDUP: &[Field] = &[
    ("alpha", "tail index alpha", "(of Pareto durations with this mean and deviation)"),
    ("speedup", "speed-up", "times as fast as one copy"),
];
const PRIORITIES: &[Field] = &[
    ("priorities", "priorities", "(one number for each job; 1 goes first)"),
    ("printed_last_level", "last level in paper", "levels, by the paper's printed formula"),
];

/// Prints an answer as JSON, or as lines of labels, values and units.
fn show(answer: &Value, fields: &[Field], as_json: bool) -> Outcome {
    if as_json {
        return terminal::print_json(answer);
    }
    let width = usize::from(terminal::width()).max(40);
    let mut text = String::new();
    let entries = || answer.as_object().into_iter().flatten();
    // If no number is defined, only the reason is printed.
    if let Some(reason) = answer["reason"].as_str()
        && entries().all(|(name, value)| name == "reason" || value.is_null())
    {
        return terminal::print(&indented(&format!("{:<LABELS$} ", "no solution"), reason, width));
    }
    for (name, value) in entries() {
        if name == "trace" {
            text += &trace(value);
            continue;
        }
        let found = fields.iter().find(|(key, ..)| key == name);
        let (label, unit) = found.map_or((name.replace('_', " "), ""), |(_, label, unit)| ((*label).to_owned(), *unit));
        let shown = match value {
            Value::Null => "undefined".to_owned(),
            Value::Bool(is_true) => if *is_true { "yes" } else { "no" }.to_owned(),
            // The value names the option that limits the number of copies.
            Value::String(option) if name == "limited_by" => {
                format!("--{}: more copies may need less machine time", option.replace('_', "-"))
            }
            Value::String(words) => words.clone(),
            Value::Array(_) => format!("{} {unit}", numbers(value)),
            other => format!("{} {unit}", number(other)),
        };
        text += &indented(&format!("{label:<LABELS$} "), shown.trim_end(), width);
    }
    terminal::print(&text)
}

/// Width of the labels, in columns.
const LABELS: usize = 22;

/// Returns the iterations of the dual method as lines of a table.
fn trace(steps: &Value) -> String {
    let mut text =
        "iteration: copies of each task, and nu (s that one more machine adds to the objective)\n".to_owned();
    let steps = steps.as_array().map_or(&[][..], Vec::as_slice);
    for (at, step) in steps.iter().enumerate().take(TRACE_SHOWN) {
        text += &format!("  {:>4}: {}  nu = {}\n", at + 1, numbers(&step["copies"]), number(&step["nu"]));
    }
    if steps.len() > TRACE_SHOWN {
        text += &format!("  … and {} more; --json prints all\n", steps.len() - TRACE_SHOWN);
    }
    text
}

/// Largest number of iterations of the dual method to show as text.
const TRACE_SHOWN: usize = 20;

fn numbers(list: &Value) -> String {
    list.as_array().into_iter().flatten().map(number).collect::<Vec<_>>().join(", ")
}

/// Returns a number with six digits after the point. Very large and very small numbers have a power of ten.
fn number(value: &Value) -> String {
    match value.as_f64() {
        Some(real) if !value.is_u64() && !value.is_i64() => {
            let size = real.abs();
            let needs_power = size > 1e15 || (size > 0.0 && size < 1e-6);
            if needs_power { format!("{real:.6e}").replace('e', " x 10^") } else { format!("{real:.6}") }
        }
        _ => value.to_string(),
    }
}
