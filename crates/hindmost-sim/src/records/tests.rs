use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use hindmost_core::ids::{AttemptId, JobId, NodeId, TaskId};
use hindmost_core::metrics::EnergyUse;
use hindmost_core::time::Time;
use hindmost_core::workload::{JobSpec, PhaseSpec};
use hindmost_policies::catalogue::spec::PolicySpec;
use tempfile::TempDir;

use super::*;
use crate::experiment::{Execution, Experiment, run_all};
use crate::output::{AttemptEnergy, Outcome};
use crate::scenario::Scenario;

const FORMATS: [Format; 2] = [Format::Csv, Format::Parquet];

fn result(finish: f64) -> JobResult {
    JobResult {
        arrival: 0.1,
        start: 0.25,
        finish,
        resource: 1.0 / 3.0,
        wasted: 0.0,
        slowdown: 1.0,
        tasks: 2,
        attempts: 3,
        copies_launched: 1,
        copies_won: 0,
        met_deadline: None,
        deadline: None,
        energy: Some(7.5),
    }
}

fn job(name: &str) -> JobSpec {
    let phase = |name: &str| PhaseSpec::new(name, 2, 1.0);
    let phases = vec![phase("map"), phase("sum, \"final\"")];
    JobSpec::new(name, phases)
}

fn attempt(job: &JobSpec, index: u32) -> AttemptResult<'_> {
    AttemptResult {
        attempt: AttemptId { task: TaskId { job: JobId(7), phase: index % 2, index }, copy: index % 3 },
        job,
        node: NodeId(4),
        node_name: "node-4",
        start: Time(u64::from(index) * 100_000_001),
        end: Time::from_seconds(1500.7),
        outcome: [Outcome::Won, Outcome::Lost, Outcome::Replaced, Outcome::Unfinished][index as usize % 4],
        is_relaunch: false,
        energy: Some(AttemptEnergy { joules: 2.25, used_for: EnergyUse::NormalSuccessful }),
    }
}

/// Returns all files and folders under a folder, sorted.
fn tree(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            found.push(path.strip_prefix(folder).unwrap().to_string_lossy().replace('\\', "/"));
            if path.is_dir() {
                open.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Converts a Parquet file to CSV, with the line of column names.
fn parquet_as_csv(path: &Path) -> String {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::Field;

    let reader = SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr();
    let names: Vec<&str> = schema.columns().iter().map(|column| column.name()).collect();
    let mut text = names.join(",") + "\n";
    for row in reader.get_row_iter(None).unwrap() {
        let row = row.unwrap();
        let values: Vec<Value<'_>> = row
            .get_column_iter()
            .map(|(_, field)| match field {
                Field::Str(text) => Value::Text(text),
                Field::Double(number) => Value::Seconds(*number),
                Field::Long(number) => Value::Count(*number as u64),
                other => panic!("{other:?}"),
            })
            .collect();
        let mut line = Vec::new();
        csv::write_row(&mut line, &values).unwrap();
        text.push_str(&String::from_utf8(line).unwrap());
    }
    text
}

/// Writes two jobs and this many attempts.
fn write(dir: &Path, format: Format, attempts: u32) -> io::Result<()> {
    let mut output = open(dir, format, ("sca(max_copies=8)", 3), Extra::default())?;
    assert!(output.wants_attempts());
    let spec = job("word, count");
    for index in 0..attempts {
        output.attempt(&attempt(&spec, index))?;
    }
    output.job(&spec.name, &result(0.4))?;
    output.job(&"é\n\"2\"".into(), &result(1e10))?;
    output.complete()
}

#[test]
fn csv_files_have_the_documented_columns() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), Format::Csv, 5).unwrap();
    let read = |name| fs::read_to_string(folder(dir.path(), "sca(max_copies=8)", 3).join(name)).unwrap();
    assert_eq!(
        read("jobs.csv"),
        "job,arrival,start,finish,flowtime,running_time,resource,tasks,attempts\n\
         \"word, count\",0.1,0.25,0.4,0.3,0.15,0.3333333333333333,2,3\n\
         \"é\n\"\"2\"\"\",0.1,0.25,10000000000,9999999999.9,9999999999.75,0.3333333333333333,2,3\n"
    );
    assert_eq!(
        read("attempts.csv"),
        "job,phase,task,copy,node,start,end,outcome\n\
         \"word, count\",map,0,0,node-4,0,1500.7,won\n\
         \"word, count\",\"sum, \"\"final\"\"\",1,1,node-4,0.100000001,1500.7,lost\n\
         \"word, count\",map,2,2,node-4,0.200000002,1500.7,replaced\n\
         \"word, count\",\"sum, \"\"final\"\"\",3,0,node-4,0.300000003,1500.7,unfinished\n\
         \"word, count\",map,4,1,node-4,0.400000004,1500.7,won\n"
    );
}

#[test]
fn runs_with_power_models_have_a_column_of_energies() {
    for format in FORMATS {
        let dir = TempDir::new().unwrap();
        let mut output = open(dir.path(), format, ("none", 1), Extra { energy: true, ..Extra::default() }).unwrap();
        let spec = job("j");
        output.attempt(&attempt(&spec, 0)).unwrap();
        output.job(&spec.name, &result(0.5)).unwrap();
        output.complete().unwrap();
        let read = |name: &str| {
            let path = folder(dir.path(), "none", 1).join(format!("{name}.{format}"));
            if format == Format::Csv { fs::read_to_string(path).unwrap() } else { parquet_as_csv(&path) }
        };
        let columns = "job,arrival,start,finish,flowtime,running_time,resource,tasks,attempts,energy";
        assert_eq!(read("jobs"), format!("{columns}\nj,0.1,0.25,0.5,0.4,0.25,0.3333333333333333,2,3,7.5\n"));
        let columns = "job,phase,task,copy,node,start,end,outcome,energy";
        assert_eq!(read("attempts"), format!("{columns}\nj,map,0,0,node-4,0,1500.7,won,2.25\n"));
    }
}

#[test]
fn runs_with_deadlines_have_columns_of_them() {
    for format in FORMATS {
        let dir = TempDir::new().unwrap();
        let extra = Extra { deadlines: true, energy: true };
        let mut output = open(dir.path(), format, ("none", 1), extra).unwrap();
        output.job(&"early".into(), &JobResult { deadline: Some(0.75), ..result(0.5) }).unwrap();
        output.job(&"late".into(), &JobResult { deadline: Some(0.25), ..result(0.5) }).unwrap();
        output.job(&"none".into(), &result(0.5)).unwrap();
        output.complete().unwrap();
        let path = folder(dir.path(), "none", 1).join(format!("jobs.{format}"));
        let read = if format == Format::Csv { fs::read_to_string(path).unwrap() } else { parquet_as_csv(&path) };
        let columns = "job,arrival,start,finish,flowtime,running_time,resource,tasks,attempts,deadline,lateness,energy";
        let row = |name: &str, end: &str| format!("{name},0.1,0.25,0.5,0.4,0.25,0.3333333333333333,2,3,{end},7.5\n");
        let rows = row("early", "0.75,-0.25") + &row("late", "0.25,0.25") + &row("none", "NaN,NaN");
        assert_eq!(read, format!("{columns}\n{rows}"));
    }
}

#[test]
fn complete_files_get_their_final_names() {
    for format in FORMATS {
        let dir = TempDir::new().unwrap();
        let output = open(dir.path(), format, ("fair+mantri(delta=0.5)", 12), Extra::default()).unwrap();
        let at = |name: &str, ending| format!("fair+mantri(delta=0.5)/12/{name}.{format}{ending}");
        let folders = ["fair+mantri(delta=0.5)".to_owned(), "fair+mantri(delta=0.5)/12".to_owned()];
        assert_eq!(tree(dir.path())[..2], folders);
        assert_eq!(tree(dir.path())[2..], [at("attempts", ".part"), at("jobs", ".part")]);
        output.complete().unwrap();
        assert_eq!(tree(dir.path())[2..], [at("attempts", ""), at("jobs", "")]);
    }
}

#[test]
fn a_failed_run_leaves_no_files() {
    for format in FORMATS {
        let dir = TempDir::new().unwrap();
        let spec = job("j");
        let mut output = open(&dir.path().join("new/out"), format, ("sca", 1), Extra::default()).unwrap();
        output.attempt(&attempt(&spec, 0)).unwrap();
        assert_eq!(tree(dir.path()).len(), 6);
        drop(output);
        assert!(tree(dir.path()).is_empty());
        assert!(dir.path().is_dir());
    }
}

#[test]
fn a_failed_run_keeps_files_that_existed_before() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), Format::Csv, 5).unwrap();
    fs::create_dir(dir.path().join("none")).unwrap();
    let before = tree(dir.path());
    drop(open(dir.path(), Format::Csv, ("sca(max_copies=8)", 3), Extra::default()).unwrap());
    drop(open(dir.path(), Format::Csv, ("sca(max_copies=8)", 4), Extra::default()).unwrap());
    drop(open(dir.path(), Format::Csv, ("none", 4), Extra::default()).unwrap());
    assert_eq!(tree(dir.path()), before);
    let jobs = fs::read_to_string(dir.path().join("sca(max_copies=8)/3/jobs.csv")).unwrap();
    assert!(jobs.contains("word, count"));
}

#[test]
fn the_last_failed_run_removes_the_policys_folder() {
    let dir = TempDir::new().unwrap();
    let first = open(dir.path(), Format::Csv, ("sca", 1), Extra::default()).unwrap();
    let second = open(dir.path(), Format::Csv, ("sca", 2), Extra::default()).unwrap();
    drop(first);
    assert_eq!(tree(dir.path()).len(), 4);
    drop(second);
    assert!(tree(dir.path()).is_empty());
}

#[test]
fn runs_of_the_same_name_do_not_conflict() {
    let dir = TempDir::new().unwrap();
    let first = open(dir.path(), Format::Csv, ("sca", 1), Extra::default()).unwrap();
    let second = open(dir.path(), Format::Csv, ("sca", 1), Extra::default()).unwrap();
    let third = open(dir.path(), Format::Csv, ("sca", 1), Extra::default()).unwrap();
    drop(third);
    first.complete().unwrap();
    second.complete().unwrap();
    assert_eq!(tree(dir.path()), ["sca", "sca/1", "sca/1/attempts.csv", "sca/1/jobs.csv"]);
}

#[test]
fn parquet_has_the_rows_of_csv() {
    let dir = TempDir::new().unwrap();
    // The first number of attempts needs two row groups; the second leaves the file of attempts empty.
    for attempts in [parquet::GROUP as u32 + 1000, 0] {
        for format in FORMATS {
            write(dir.path(), format, attempts).unwrap();
        }
        for table in ["jobs", "attempts"] {
            let path = folder(dir.path(), "sca(max_copies=8)", 3).join(table);
            let text = fs::read_to_string(path.with_extension("csv")).unwrap();
            assert!(text == parquet_as_csv(&path.with_extension("parquet")), "{table}");
        }
    }
}

#[test]
fn the_same_rows_give_the_same_bytes() {
    let (one, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    for format in FORMATS {
        let [first, second] = [&one, &other].map(|dir| {
            write(dir.path(), format, parquet::GROUP as u32 + 10).unwrap();
            let folder = folder(dir.path(), "sca(max_copies=8)", 3);
            ["jobs", "attempts"].map(|table| fs::read(folder.join(table).with_extension(format.name())).unwrap())
        });
        assert!(first == second, "{format}");
    }
}

#[test]
fn errors_of_folders_and_files_name_the_path() {
    let dir = TempDir::new().unwrap();
    let message_of =
        |format, policy: &str| open(dir.path(), format, (policy, 1), Extra::default()).err().unwrap().to_string();
    fs::write(dir.path().join("sca"), "").unwrap();
    let path = dir.path().join("sca");
    assert!(
        message_of(Format::Csv, "sca").starts_with(&path.display().to_string()),
        "{}",
        message_of(Format::Csv, "sca")
    );
    assert_eq!(tree(dir.path()), ["sca"]);

    let taken = dir.path().join("sda/1/attempts.parquet");
    fs::create_dir_all(&taken).unwrap();
    let message = message_of(Format::Parquet, "sda");
    assert!(message.starts_with(&taken.display().to_string()), "{message}");
    assert_eq!(tree(dir.path()), ["sca", "sda", "sda/1", "sda/1/attempts.parquet"]);
}

#[test]
fn a_full_disk_is_an_error_that_names_the_file() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    for format in FORMATS {
        for table in ["jobs", "attempts"] {
            // Errors occur when a row is written, or when the buffer is flushed at the end.
            for attempts in [100_000, 1] {
                let dir = TempDir::new().unwrap();
                let folder = folder(dir.path(), "sca(max_copies=8)", 3);
                fs::create_dir_all(&folder).unwrap();
                let part = folder.join(format!("{table}.{format}.part"));
                std::os::unix::fs::symlink("/dev/full", &part).unwrap();
                let error = write(dir.path(), format, attempts).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::StorageFull);
                let message = error.to_string();
                assert!(message.starts_with(&part.display().to_string()), "{message}");
                assert_eq!(message.matches(&*part.to_string_lossy()).count(), 1, "{message}");
                assert_eq!(tree(dir.path()), ["sca(max_copies=8)", "sca(max_copies=8)/3"]);
            }
        }
    }
}

#[test]
fn every_format_is_parsed_from_its_name() {
    for format in FORMATS {
        assert_eq!(format.to_string().parse(), Ok(format));
    }
    let message = "parket".parse::<Format>().unwrap_err().to_string();
    assert_eq!(message, "\"parket\" is not a format of records; use csv or parquet; did you mean \"parquet\"?");
}

/// Compares the files of whole runs with their results. The policies stop losing copies when a job's last task
/// finishes.
#[test]
fn files_of_a_run_agree_with_its_results() {
    const SCENARIO: &str = r#"
        name = "small"
        slot = 0.1
        horizon = 30.0
        drain = false
        seeds = 2
        [cluster]
        machines = 40
        [workload]
        arrival = { poisson = { rate = 4.0 } }
        tasks = { uniform = { min = 1, max = 10 } }
        duration = { pareto = { alpha = 2.0, mean = { uniform = { min = 1.0, max = 4.0 } } } }
    "#;
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("small.toml");
    fs::write(&file, SCENARIO).unwrap();
    let scenario = Scenario::load(file.to_str().unwrap(), &[]).unwrap();
    let mut experiment = Experiment::of(&scenario, 1).unwrap();
    experiment.policies = vec!["sca".parse().unwrap(), "mantri(kill_restart=true)".parse().unwrap()];
    let stop = AtomicBool::new(false);
    let run = |format: Format| {
        let open = |_: usize, policy: &PolicySpec, seed| {
            open(dir.path(), format, (&policy.to_string(), seed), Extra::default()).map(Some)
        };
        let execution = Execution { threads: 2, stop: &stop, progress: &|_| {}, output: Some(&open) };
        run_all(std::slice::from_ref(&experiment), &execution).unwrap().remove(0)
    };
    run(Format::Csv);
    let results = run(Format::Parquet);
    for (policy, results) in experiment.policies.iter().zip(&results) {
        for (seed, result) in experiment.seeds.iter().zip(results) {
            let folder = folder(dir.path(), &policy.to_string(), *seed);
            let jobs = fs::read_to_string(folder.join("jobs.csv")).unwrap();
            let attempts = fs::read_to_string(folder.join("attempts.csv")).unwrap();
            assert!(jobs == parquet_as_csv(&folder.join("jobs.parquet")));
            assert!(attempts == parquet_as_csv(&folder.join("attempts.parquet")));
            assert!(result.unfinished > 0);
            assert_eq!(jobs.lines().count() as u64 - 1, result.finished);
            assert_eq!(attempts.lines().count() as u64 - 1, result.attempts);
            assert!(attempts.lines().all(|line| line.split(',').all(|field| !field.is_empty())), "{attempts}");
            for line in jobs.lines().skip(1) {
                let fields: Vec<&str> = line.split(',').collect();
                let own = |attempt: &&str| attempt.split(',').next() == Some(fields[0]);
                assert_eq!(attempts.lines().filter(own).count().to_string(), fields[8], "{line}");
                let won = attempts.lines().filter(own).filter(|attempt| attempt.ends_with(",won"));
                assert_eq!(won.count().to_string(), fields[7], "{line}");
            }
        }
    }
}
