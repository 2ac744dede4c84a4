//! `hindmost theory pocd` and `shed`: jobs with deadlines.

use hindmost_math::plain::Plain;
use hindmost_policies::theory::chronos::{ChronosJob, Strategy};
use hindmost_policies::theory::pocd::{MissChance, ParetoTail, PocdError};
use hindmost_policies::theory::shed::{self, Hopeless, ShedJob, ShedProblem};
use serde_json::{Value, json};

use super::Field;
use crate::cli::{HopelessJobs, PocdArgs, PocdFormula, ShedArgs};
use crate::failure::{Failure, Outcome};

pub const POCD: &[Field] = &[
    ("pocd", "PoCD", "(probability that the job completes before its deadline)"),
    ("miss", "probability of a miss", "(1 - PoCD, also where it is tiny)"),
    ("progress", "progress of late ones", "(mean progress of late attempts when they are detected)"),
    ("machine_time", "machine time", "s of all attempts of the job, expected"),
];
pub const SHED: &[Field] = &[
    ("clones", "clones of each task", "(one number for each job)"),
    ("pocd", "PoCD", "(one number for each job)"),
    ("slots", "slots", ""),
    ("slots_used", "slots used", "(first copies, clones and application masters)"),
];

/// Returns the probability that a job meets its deadline.
pub fn pocd(args: &PocdArgs) -> Outcome<Value> {
    let option = |error: PocdError| {
        let name = error.parameter.replace('_', "-");
        Failure::input(format!("--{name} is {}, but must be {}", Plain(error.value), error.valid))
    };
    let durations = ParetoTail::new(args.t_min, args.beta).map_err(option)?;
    let deadline = args.deadline;
    if !(deadline.is_finite() && deadline > 0.0) {
        return Err(Failure::input(format!("--deadline is {}, but must be a finite number above 0", Plain(deadline))));
    }
    if let Some(elapsed) = args.elapsed
        && !(elapsed.is_finite() && elapsed >= 0.0)
    {
        return Err(Failure::input(format!("--elapsed is {}, but must be a finite number from 0", Plain(elapsed))));
    }
    if let Some(progress) = args.progress
        && !(0.0..=1.0).contains(&progress)
    {
        return Err(Failure::input(format!("--progress is {}, but must be from 0 to 1", Plain(progress))));
    }
    let uses_progress = matches!(args.formula, PocdFormula::Shed | PocdFormula::ChronosResume);
    if args.progress.is_some() && !uses_progress {
        return Err(Failure::input("--progress needs --formula shed or chronos-resume"));
    }
    if args.elapsed.is_some() && args.formula == PocdFormula::ChronosClone {
        return Err(Failure::input(
            "--elapsed does nothing with --formula chronos-clone, whose clones start at once: leave it out",
        ));
    }
    let (elapsed, progress) = (args.elapsed.unwrap_or(0.0), args.progress.unwrap_or(0.0));
    let strategy = match args.formula {
        PocdFormula::Shed | PocdFormula::ShedRestart => None,
        PocdFormula::ChronosClone => Some(Strategy::Clone),
        PocdFormula::ChronosRestart => Some(Strategy::Restart),
        PocdFormula::ChronosResume => Some(Strategy::Resume),
    };
    if matches!(strategy, Some(Strategy::Restart | Strategy::Resume)) && args.elapsed.is_none() {
        return Err(Failure::input("give --elapsed, the time at which late attempts are detected"));
    }
    let Some(strategy) = strategy else {
        if args.tau_kill.is_some() {
            return Err(Failure::input("--tau-kill needs --formula chronos-clone, chronos-restart or chronos-resume"));
        }
        let miss = match args.formula {
            PocdFormula::ShedRestart => MissChance::restarted(durations, deadline, elapsed),
            _ => MissChance::resumed(durations, deadline, elapsed, progress),
        };
        return Ok(chances(miss, args));
    };
    let tau_kill = args.tau_kill.unwrap_or(elapsed);
    let job = ChronosJob { strategy, durations, tasks: args.tasks, deadline, tau_est: elapsed, tau_kill };
    let job = job.checked().map_err(|error| match error.parameter {
        "tau_kill" => Failure::input(format!("--tau-kill is {}, but must be at least --elapsed", Plain(error.value))),
        _ => option(error),
    })?;
    let miss = match (strategy, args.progress) {
        (Strategy::Resume, Some(progress)) => MissChance::speculative_resume(durations, deadline, elapsed, progress),
        _ => job.miss(),
    };
    let mut answer = chances(miss, args);
    if strategy == Strategy::Resume && args.progress.is_none() {
        answer["progress"] = json!(job.progress());
    }
    if args.tau_kill.is_some() {
        let time = job.machine_time(args.clones);
        answer["machine_time"] = json!(time.map(|time| time * args.tasks as f64));
        if time.is_none() {
            let why = if strategy != Strategy::Clone && elapsed >= deadline {
                "late attempts are detected after the deadline"
            } else {
                "the expected machine time is infinite"
            };
            answer["reason"] = json!(why);
        }
    }
    Ok(answer)
}

fn chances(miss: MissChance, args: &PocdArgs) -> Value {
    let ln = miss.ln_pocd(args.tasks, args.clones);
    // 1 − e^ln without loss of digits; 0 and not −0 if the job never misses.
    let mut answer = json!({ "pocd": ln.exp(), "miss": (-ln.exp_m1()).max(0.0) });
    if ln == f64::NEG_INFINITY {
        answer["reason"] = json!("no copy can end before the deadline");
    }
    answer
}

/// Returns the clones of jobs by Shed's algorithm.
pub fn shed(args: &ShedArgs) -> Outcome<Value> {
    let mut jobs = args.job.iter().map(|text| parse_job(text.trim())).collect::<Outcome<Vec<ShedJob>>>()?;
    for job in &mut jobs {
        // As in the policy, the copies of a task run on different machines.
        job.most_clones = args.machines - 1;
    }
    let hopeless = match args.hopeless {
        HopelessJobs::Skip => Hopeless::Skip,
        HopelessJobs::Clone => Hopeless::Clone,
    };
    let slots = f64::from(args.machines) * f64::from(args.slots);
    let reserved = f64::from(args.masters) * jobs.len() as f64;
    let problem = ShedProblem { jobs, slots, reserved, hopeless };
    let plan = shed::solve(&problem);
    let jobs = || problem.jobs.iter().zip(&plan.clones);
    let pocd: Vec<f64> = jobs().map(|(job, clones)| job.miss.pocd(job.tasks, *clones)).collect();
    let mut answer = json!({
        "clones": plan.clones, "pocd": pocd, "slots": slots as u64, "slots_used": plan.slots_used as u64
    });
    if plan.slots_used > slots {
        answer["reason"] =
            json!("the first copies do not fit: no job gets clones, and each PoCD is that of tasks that do not wait");
    }
    Ok(answer)
}

fn parse_job(text: &str) -> Outcome<ShedJob> {
    let wrong = |why: &str| {
        let form = "write TASKS:DEADLINE:TMIN:BETA, such as 10:60:8:1.5, or for a running job \
                    TASKS:DEADLINE:TMIN:BETA:ELAPSED:PROGRESS";
        Failure::input(format!("--job {text}: {why}; {form}"))
    };
    let parts: Vec<&str> = text.split(':').map(str::trim).collect();
    let (tasks, deadline, t_min, beta, running) = match parts[..] {
        [tasks, deadline, t_min, beta] => (tasks, deadline, t_min, beta, None),
        [tasks, deadline, t_min, beta, elapsed, progress] => (tasks, deadline, t_min, beta, Some((elapsed, progress))),
        _ => return Err(wrong("there must be four numbers, or six")),
    };
    let tasks: u64 =
        tasks.parse().ok().filter(|tasks| *tasks > 0).ok_or_else(|| wrong("TASKS must be a whole number from 1"))?;
    let number = |what: &str, text: &str, from: f64, to: f64| match text.parse::<f64>() {
        Ok(number) if number.is_finite() && (from..=to).contains(&number) => Ok(number),
        _ if to < f64::MAX => Err(wrong(&format!("{what} must be a number from 0 to 1"))),
        _ if from > 0.0 => Err(wrong(&format!("{what} must be a number above 0"))),
        _ => Err(wrong(&format!("{what} must be a number from 0"))),
    };
    let positive = |what: &str, text: &str| number(what, text, f64::MIN_POSITIVE, f64::MAX);
    let deadline = positive("DEADLINE", deadline)?;
    let durations = ParetoTail::new(positive("TMIN", t_min)?, positive("BETA", beta)?)
        .map_err(|error| wrong(&error.to_string()))?;
    let miss = match running {
        None => MissChance::submitted(durations, deadline),
        Some((elapsed, progress)) => {
            let elapsed = number("ELAPSED", elapsed, 0.0, f64::MAX)?;
            MissChance::resumed(durations, deadline, elapsed, number("PROGRESS", progress, 0.0, 1.0)?)
        }
    };
    Ok(ShedJob::new(tasks, miss))
}
