//! `hindmost theory`: the optimisation problems by themselves.

use hindmost_math::distribution::Distribution;
use hindmost_math::plain::Plain;
use hindmost_policies::theory::clones::{self, CloneError, CloneJob, CloneProblem};
use hindmost_policies::theory::clones_dual::{self, DEFAULT_STEPS, PRINTED_STEPS};
use hindmost_policies::theory::cutoff::{self, CutoffError};
use hindmost_policies::theory::priorities::{self, SizedJob};
use hindmost_policies::theory::{sigma, speedup};
use serde_json::{Value, json};

use crate::cli::{CloneMethod, DurationArgs, SigmaRule, TheoryCommand};
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Carries out a theory command.
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
            show(&answer?, json)
        }
        TheoryCommand::Sigma { rule, duration, s, max_copies, json } => {
            show(&solve_sigma(rule, &durations(&duration)?, s, max_copies)?, json)
        }
        TheoryCommand::Cutoff { duration, machines, mean_tasks, mean_duration, json } => {
            let solved = solve_cutoff(&durations(&duration)?, machines, mean_tasks, mean_duration)?;
            show(&solved, json)
        }
        TheoryCommand::Speedup { mean, sd, copies, json } => show(&solve_speedup(mean, sd, copies)?, json),
        TheoryCommand::Priorities { job, json } => show(&solve_priorities(&job)?, json),
    }
}

/// The durations of one copy: of Pareto ones the minimum is 1.
fn durations(args: &DurationArgs) -> Outcome<Distribution> {
    let made = match (args.alpha, &args.duration) {
        (Some(alpha), _) => {
            if !(alpha.is_finite() && alpha > 1.0) {
                return Err(Failure::input(format!(
                    "--alpha is {}, but must be above 1: below, durations have no finite mean",
                    Plain(alpha)
                )));
            }
            Distribution::pareto(alpha, 1.0)
        }
        (None, Some(text)) => text.parse(),
        (None, None) => return Err(Failure::input("give --alpha or --duration")),
    };
    made.map_err(Failure::input)
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
    let wrong = || Failure::input(format!("--steps {text}: give three positive numbers, such as 0.002,0.3,0.4"));
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|number| number.trim().parse::<f64>()).collect();
    let numbers = numbers.map_err(|_| wrong())?;
    if numbers.iter().any(|number| !(number.is_finite() && *number > 0.0)) {
        return Err(wrong());
    }
    numbers.try_into().map_err(|_| wrong())
}

/// A problem without a solution is an answer; a parameter that makes no sense is an error.
fn unsolved(error: CloneError) -> Outcome<Value> {
    match error {
        CloneError::Infeasible { .. } => {
            Ok(json!({ "copies": null, "objective": null, "machines_used": null, "reason": error.to_string() }))
        }
        CloneError::Parameter { .. } => Err(Failure::input(error)),
    }
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
        Err(error) => unsolved(error),
    }
}

fn continuous(problem: &CloneProblem) -> Outcome<Value> {
    match clones::continuous(problem) {
        Ok(solved) => Ok(json!({
            "copies": solved.copies, "objective": solved.objective, "machines_used": solved.machines_used,
            "multiplier": solved.multiplier
        })),
        Err(error) => unsolved(error),
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
        Err(error) => unsolved(error),
    }
}

fn solve_sigma(rule: SigmaRule, duration: &Distribution, s: f64, max_copies: u32) -> Outcome<Value> {
    let solved = match rule {
        SigmaRule::Sda => sigma::sda(duration, s, max_copies),
        SigmaRule::Ese => sigma::ese(duration),
    };
    let solved = solved.map_err(Failure::input)?;
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
        Err(error) => Err(Failure::input(error)),
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
        Failure::input(format!("--mean is {mean} and --sd is {sd}, but no Pareto durations within reach have both"))
    })?;
    let mut answer = json!({
        "alpha": alpha.is_finite().then_some(alpha), "speedup": speedup::speedup(alpha, copies)
    });
    if !alpha.is_finite() {
        answer["reason"] = json!("durations that do not vary have no tail, and copies do not speed them up");
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
    // The paper's own end of the levels, for those who compare.
    answer["printed_last_level"] = json!(priorities::printed_last_level(&sizes, &shares));
    if answer["printed_last_level"].is_null() {
        answer["reason"] = json!("the printed upper end of the levels, log2(sum v / (1 - max d)), is no number here");
    }
    Ok(answer)
}

/// Prints an answer, as JSON or as lines of names and values.
fn show(answer: &Value, as_json: bool) -> Outcome {
    if as_json {
        return terminal::print_json(answer);
    }
    let mut text = String::new();
    for (name, value) in answer.as_object().into_iter().flatten() {
        let shown = match value {
            Value::Null => "undefined".to_owned(),
            Value::String(words) => words.clone(),
            Value::Array(list) if name == "trace" => {
                text += "trace (iteration: copies, nu)\n";
                for (at, step) in list.iter().enumerate().take(TRACE_SHOWN) {
                    text += &format!("  {:>4}: {} nu = {}\n", at + 1, numbers(&step["copies"]), number(&step["nu"]));
                }
                if list.len() > TRACE_SHOWN {
                    text += &format!("  … and {} more; --json has them all\n", list.len() - TRACE_SHOWN);
                }
                continue;
            }
            Value::Array(_) => numbers(value),
            other => number(other),
        };
        text += &format!("{:<18} {shown}\n", name.replace('_', " "));
    }
    terminal::print(&text)
}

/// Iterations of the dual method that are shown on a terminal.
const TRACE_SHOWN: usize = 20;

fn numbers(list: &Value) -> String {
    list.as_array().into_iter().flatten().map(number).collect::<Vec<_>>().join("  ")
}

fn number(value: &Value) -> String {
    match value.as_f64() {
        Some(real) if !value.is_u64() && !value.is_i64() => {
            let size = real.abs();
            // What six digits behind the point would not show, and what would be a row of zeros.
            let is_long = size > 1e15 || (size > 0.0 && size < 1e-6);
            if is_long { format!("{real:.6e}") } else { format!("{real:.6}") }
        }
        _ => value.to_string(),
    }
}
