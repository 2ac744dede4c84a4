//! What the options of a run mean, and how it is continued.

use std::collections::BTreeMap;
use std::path::PathBuf;

use hindmost_core::estimator::Knowledge;
use hindmost_core::record::{Change, Event};
use hindmost_core::timeline::AttemptEnd;
use hindmost_math::plain::{Plain, Quoted};
use hindmost_policies::catalogue::spec::PolicySpec;
use hindmost_run::chaos::Chaos;
use hindmost_run::driver::RunOptions;
use hindmost_run::store::Opening;
use hindmost_run::{energy, job_file};
use hindmost_trace::journal;

use crate::cli::RunJobArgs;
use crate::commands::report::quoted;
use crate::failure::{Failure, Outcome};

/// Environment variable with another folder than `/sys/class/powercap` for the machine's energy counters.
const POWERCAP_FOLDER: &str = "HINDMOST_POWERCAP";

/// Returns how the folders of a run are opened.
pub fn opening(args: &RunJobArgs) -> Opening {
    Opening {
        resume: args.resumes(),
        keep_results: args.keep_results,
        no_sync: args.no_sync,
        checksum: args.checksum,
        trust_folder: args.trust_folder,
        overwrite: args.overwrite,
        redo: args.redo.clone(),
        redo_changed: args.redo_changed,
        begun_with: None,
    }
}

/// Returns the command that continues a run, quoted for a shell.
pub fn resume_command(args: &RunJobArgs) -> String {
    let mut command = "hindmost run".to_owned();
    for path in &args.jobs {
        command += &format!(" {}", quoted(&path.to_string_lossy()));
    }
    if let Some(socket) = &args.listen {
        command += &format!(" --listen {}", quoted(&socket.to_string_lossy()));
    }
    if let Some(out) = &args.out {
        command += &format!(" --out {}", quoted(&out.to_string_lossy()));
    }
    let switches = [
        ("no-sync", args.no_sync),
        ("checksum", args.checksum),
        ("trust-folder", args.trust_folder),
        ("overwrite", args.overwrite),
        ("copies", args.copies),
        ("no-copies", args.no_copies),
    ];
    for (name, is_set) in switches {
        if is_set {
            command += &format!(" --{name}");
        }
    }
    if args.keep_going {
        command += " --keep-going";
    }
    if let Some(allowed) = args.allow_failures {
        command += &format!(" --allow-failures {allowed}");
    }
    if let Some(kill_after) = args.ending.kill_after {
        command += &format!(" --kill-after {}s", Plain(kill_after.as_secs_f64()));
    }
    if let Some(tmpdir) = &args.ending.tmpdir {
        command += &format!(" --tmpdir {}", quoted(&tmpdir.to_string_lossy()));
    }
    if let Some(profiles) = &args.profiles {
        command += &format!(" --profiles {}", quoted(&profiles.to_string_lossy()));
    }
    for chaos in &args.chaos {
        command += &format!(" --chaos {}", quoted(chaos));
    }
    command + " --resume"
}

/// Returns the options of a run.
pub fn options(args: &RunJobArgs) -> Outcome<RunOptions> {
    let chaos: Chaos = args.chaos.join(",").parse().map_err(Failure::input)?;
    Ok(RunOptions {
        policy: policy(args.policy.as_deref())?,
        knowledge: knowledge(args.knowledge.as_deref())?,
        chaos,
        history: history(&args.history)?,
        profiles: args.profiles.clone().map(|path| (path, args.most_profiles)),
        retry_failed: args.retry_failed,
        tmpdir: args.ending.tmpdir.clone(),
        disk_wait: args.ending.disk_wait,
        powercap: Some(powercap()),
    })
}

/// Returns the policy that `--policy` names.
pub fn policy(named: Option<&str>) -> Outcome<Option<PolicySpec>> {
    let policies = named.map(hindmost_policies::catalogue::spec::split_list).unwrap_or_default();
    if policies.len() > 1 {
        return Err(Failure::input(format!(
            "--policy names {} policies, but a run has one; `hindmost replay` compares policies on a finished run",
            policies.len()
        )));
    }
    named.map(|name| name.parse().map_err(Failure::input)).transpose()
}

/// Returns the progress model that `--knowledge` names.
pub fn knowledge(named: Option<&str>) -> Outcome<Option<Knowledge>> {
    let knowledge = named.map(|name| {
        name.parse().map_err(|_| {
            Failure::input(format!(
                "--knowledge: {} is not a progress model: {}",
                Quoted(name),
                job_file::KNOWLEDGE_OF_RUNS
            ))
        })
    });
    knowledge.transpose()
}

/// Returns the folder with the machine's energy counters.
pub fn powercap() -> PathBuf {
    std::env::var_os(POWERCAP_FOLDER).unwrap_or_else(|| energy::POWERCAP.into()).into()
}

/// Returns the durations of the winning attempts of earlier runs, in seconds, by name of the phase.
fn history(journals: &[PathBuf]) -> Outcome<BTreeMap<String, Vec<f64>>> {
    let mut durations: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for path in journals {
        let records = journal::records(path, None).map_err(Failure::input)?;
        let records: Vec<_> = records.collect::<Result<_, _>>().map_err(Failure::input)?;
        let joined = records.iter().filter_map(|record| match &record.change {
            Change::Event(Event::NodeJoined { speed, .. }) => Some(*speed),
            _ => None,
        });
        // Durations are those of a node of speed 1.
        let speeds: Vec<f64> = joined.collect();
        let timeline = hindmost_core::timeline::Timeline::of(records);
        for row in timeline.rows.iter().filter(|row| row.outcome == AttemptEnd::Won) {
            let phase = timeline.phase_name(row.attempt.task).to_owned();
            let speed = speeds.get(row.node.0 as usize).copied().unwrap_or(1.0);
            durations.entry(phase).or_default().push((row.end - row.start).seconds() * speed);
        }
    }
    Ok(durations)
}
