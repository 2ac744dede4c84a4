//! Tests of the plans of valid job files.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hindmost_core::time::Time;

use super::super::{load, parse};
use super::{VALID, plan_of, with_files};

const SMALL: &str = "[[phase]]\nname = \"p\"\ntasks = 1\ncommand = \"true\"\n";

#[test]
fn every_key_is_read() {
    let folder = with_files();
    let plan = plan_of(VALID, folder.path()).unwrap();
    let own = folder.path().canonicalize().unwrap();
    assert_eq!((plan.name.as_str(), &plan.folder), ("wordcount", &own));
    assert_eq!(plan.policy.as_deref(), Some("fair+mantri(delta=0.5)"));
    assert_eq!(plan.knowledge.as_deref(), Some("progress(0.1)"));
    assert_eq!(plan.nodes.as_deref(), Some("n1:2,n2:2"));
    assert_eq!(plan.deadline, Some(Duration::from_mins(90)));
    assert_eq!(plan.priority, 2.0);
    assert_eq!(plan.tasks(), 5);
    // The plan lists parents before their children.
    let [map, reduce] = plan.phases.as_slice() else { panic!("{plan:?}") };
    assert_eq!((map.name.as_str(), map.after.as_slice(), map.tasks), ("map", [].as_slice(), 2));
    assert_eq!(map.inputs, Some(vec![own.join("text/a.txt"), own.join("text/b.txt")]));
    assert!(map.command.starts_with("# counts\ntr -cs A-Za-z '\\n' <"), "{:?}", map.command);
    assert_eq!((map.cpus, map.memory, map.retries), (0.5, Some(256 << 20), 5));
    assert_eq!((map.time_limit, map.idempotent), (Some(Duration::from_secs(90)), true));
    let variables: Vec<(&str, &str)> =
        map.environment.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(variables, [("DEPTH", "2"), ("LC_ALL", "C"), ("OTHER", "x")]);
    assert_eq!(map.directory, own);
    assert_eq!((reduce.name.as_str(), reduce.after.as_slice(), reduce.tasks), ("reduce", [0].as_slice(), 3));
    assert_eq!((&reduce.inputs, reduce.cpus, reduce.memory), (&None, 1.0, None));
    // A task that may not run twice is not tried again either.
    assert_eq!((reduce.retries, reduce.time_limit, reduce.idempotent), (0, None, false));
    assert_eq!(reduce.environment["DEPTH"], "1");
    assert_eq!(reduce.directory, own.join("text"));
}

#[test]
fn missing_values_have_defaults() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan_of(SMALL, folder.path()).unwrap();
    let own = folder.path().canonicalize().unwrap();
    assert_eq!(plan.name, "job");
    assert_eq!((&plan.policy, &plan.knowledge, &plan.nodes, plan.deadline), (&None, &None, &None, None));
    assert_eq!(plan.priority, 1.0);
    let phase = &plan.phases[0];
    assert_eq!((phase.cpus, phase.memory, phase.retries, phase.time_limit), (1.0, None, 2, None));
    assert!(phase.idempotent && phase.environment.is_empty() && phase.after.is_empty() && phase.inputs.is_none());
    assert_eq!(phase.directory, own);
}

#[test]
fn phases_are_sorted_only_as_far_as_needed() {
    let folder = tempfile::tempdir().unwrap();
    let phase = |name: &str, after: &str| {
        format!("[[phase]]\nname = \"{name}\"\ntasks = 1\ncommand = \"true\"\nafter = [{after}]\n")
    };
    let text = [
        phase("ranks", "\"b\", \"z\", \"a\", \"a\""),
        phase("z", ""),
        phase("b", "\"a\""),
        phase("a", ""),
        phase("late", "\"ranks\""),
    ]
    .concat();
    let plan = plan_of(&text, folder.path()).unwrap();
    let phases: Vec<(&str, &[u32])> =
        plan.phases.iter().map(|phase| (phase.name.as_str(), phase.after.as_slice())).collect();
    assert_eq!(phases, [("z", &[][..]), ("a", &[]), ("b", &[1]), ("ranks", &[0, 1, 2]), ("late", &[3])]);
}

#[test]
fn times_have_units_or_are_seconds() {
    let folder = tempfile::tempdir().unwrap();
    for (text, seconds) in [
        ("90", 90.0),
        ("0.5", 0.5),
        ("\"90s\"", 90.0),
        ("\"5m\"", 300.0),
        ("\"5 min\"", 300.0),
        ("\"1.5h\"", 5400.0),
        ("\"1h 30m\"", 5400.0),
        ("\"250ms\"", 0.25),
        ("\" 2d \"", 172_800.0),
    ] {
        let plan = plan_of(&format!("deadline = {text}\n{SMALL}time_limit = {text}"), folder.path()).unwrap();
        assert_eq!(plan.deadline, Some(Duration::from_secs_f64(seconds)), "{text}");
        assert_eq!(plan.phases[0].time_limit, plan.deadline);
    }
}

#[test]
fn a_file_is_loaded_from_its_own_folder() {
    let folder = with_files();
    let file = folder.path().join("two words.toml");
    std::fs::write(&file, SMALL.replace("tasks = 1", "inputs = \"text/a.txt\"")).unwrap();
    let plan = load(&file).unwrap();
    let own = folder.path().canonicalize().unwrap();
    assert_eq!((plan.name.as_str(), &plan.folder), ("two words", &own));
    assert_eq!(plan.phases[0].inputs, Some(vec![own.join("text/a.txt")]));
    // Another path to the same file gives the same plan.
    let roundabout = folder.path().join("text/../two words.toml");
    assert_eq!(load(&roundabout).unwrap(), plan);
    let missing = load(&folder.path().join("no.toml")).unwrap_err().to_string();
    assert!(missing.contains("no.toml: there is no such file"), "{missing}");
}

#[test]
fn windows_line_ends_and_byte_order_marks_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let text = "\u{feff}name = \"j\"\r\n[[phase]]\r\nname = \"p\"\r\ntasks = 1\r\ncommand = '''\r\nif true\r\nthen true\r\nfi'''\r\n";
    let plan = plan_of(text, folder.path()).unwrap();
    assert_eq!(plan.phases[0].command, "if true\nthen true\nfi");
    let error = plan_of(&text.replace("tasks = 1", "tasks = 0"), folder.path()).unwrap_err();
    assert!(error.starts_with("job.toml, line 4, column 9: "), "{error}");
}

#[test]
fn binary_and_huge_files_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("job.toml");
    std::fs::write(&file, b"name = \"\xff\"").unwrap();
    let error = load(&file).unwrap_err().to_string();
    assert!(error.ends_with("job.toml: this is not a text file; a job file is written in TOML"), "{error}");
    std::fs::File::create(&file).unwrap().set_len((16 << 20) + 1).unwrap();
    let error = load(&file).unwrap_err().to_string();
    assert!(error.ends_with("job.toml: this file is too large for a job file (at most 16 MiB)"), "{error}");
}

#[test]
fn a_job_is_parsed_even_if_its_folder_is_missing() {
    let plan = parse(SMALL.replace("tasks", "cpus = 2\ntasks").as_str(), Path::new("j.toml"), Path::new("/no/such"));
    assert_eq!(plan.unwrap().folder, PathBuf::from("/no/such"));
}

#[test]
fn policies_see_the_job_without_durations() {
    let folder = with_files();
    let spec = plan_of(VALID, folder.path()).unwrap().job_spec();
    assert_eq!((&*spec.name, spec.arrival, spec.weight), ("wordcount", Time::ZERO, 2.0));
    assert_eq!(spec.deadline, Some(Time::from_seconds(5400.0)));
    let [map, reduce] = spec.phases.as_slice() else { panic!("{spec:?}") };
    assert_eq!((&*map.name, map.tasks, map.mean, map.sd, &map.tail), ("map", 2, 1.0, None, &None));
    let demand: Vec<(&str, f64)> = map.demand.iter().map(|(name, amount)| (name.as_str(), *amount)).collect();
    assert_eq!(demand, [("cpus", 0.5), ("memory", 268_435_456.0)]);
    assert!(map.assumed && !map.never_copied);
    assert_eq!((reduce.after.as_slice(), reduce.demand.len()), ([0].as_slice(), 1));
    assert!(reduce.assumed && reduce.never_copied);
}

#[test]
fn the_digest_covers_what_results_depend_on() {
    let folder = with_files();
    let digest = |text: &str| plan_of(text, folder.path()).unwrap().digest();
    let own = digest(VALID);
    assert!(own.len() == 16 && own.chars().all(|c| c.is_ascii_hexdigit()), "{own}");
    assert_eq!(own, digest(VALID));
    for (from, to) in [
        ("policy = \"fair+mantri(delta=0.5)\"", ""),
        ("progress(0.1)", "age"),
        ("n1:2,n2:2", "n1:4"),
        ("1h30m", "2h"),
        ("priority = 2", "priority = 3"),
        ("retries = 5", "retries = 6"),
        ("\"90s\"", "\"91s\""),
        ("cpus = 0.5", "cpus = 2"),
        ("256MB", "1GB"),
        ("idempotent = false", ""),
    ] {
        assert!(VALID.contains(from));
        assert_eq!(own, digest(&VALID.replace(from, to)), "{to}");
    }
    let mut all = vec![own];
    for (from, to) in [
        ("\"wordcount\"", "\"wordcounts\""),
        ("\"map\"", "\"mapper\""),
        ("after = [\"map\"]", ""),
        ("tasks = 3", "tasks = 4"),
        ("text/*.txt", "text/a*.txt"),
        ("text/*.txt", "text/*"),
        ("# counts", "# Counts"),
        ("LC_ALL = \"C\"", "LC_ALL = \"D\""),
        ("OTHER = \"x\"", "OTHERX = \"\""),
        ("directory = \".\"", ""),
    ] {
        assert!(VALID.contains(from));
        all.push(digest(&VALID.replace(from, to)));
    }
    let changed = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), changed);
}

#[test]
fn the_digest_stays_the_same_in_every_version() {
    let plan = parse(SMALL, Path::new("job.toml"), Path::new("/no/such")).unwrap();
    assert_eq!(plan.digest(), "c07984ad3739cefa");
}

#[test]
fn a_plan_is_described_in_a_few_lines() {
    let folder = with_files();
    let plan = plan_of(VALID, folder.path()).unwrap();
    let text = plan.describe().replace(&plan.folder.display().to_string(), "FOLDER");
    let expected = r#"job wordcount: 5 tasks in 2 phases, from FOLDER
  policy fair+mantri(delta=0.5), knowledge progress(0.1), nodes n1:2,n2:2, deadline 90m, priority 2

map: 2 tasks
  each       0.5 cpus, 256MB of memory, 5 retries, at most 90s
  inputs     2 files, text/a.txt to text/b.txt
  variables  DEPTH, LC_ALL, OTHER
  command    tr -cs A-Za-z '\n' < "$HINDMOST_INPUT" | ⏎ sort > "$HINDMOST_OUTPUT/counts"

reduce: 3 tasks, after map
  each       1 cpu, no retries, never copied
  variables  DEPTH, LC_ALL
  directory  FOLDER/text
  command    cat "$HINDMOST_FROM"/map/*/counts > "$HINDMOST_OUTPUT/result"
"#;
    assert_eq!(text, expected);
    let long = SMALL.replace("true", &"long ".repeat(100));
    let text = plan_of(&long, folder.path()).unwrap().describe();
    assert!(text.starts_with("job job: 1 task in 1 phase, from "), "{text}");
    assert!(text.lines().all(|line| line.chars().count() < 120) && text.ends_with("long…\n"), "{text}");
}

#[test]
fn a_plan_as_json_has_every_key() {
    let folder = with_files();
    let plan = plan_of(VALID, folder.path()).unwrap();
    let json = plan.to_json();
    assert_eq!(json["job"], "wordcount");
    assert_eq!(json["deadline"], 5400.0);
    assert_eq!(json["tasks"], 5);
    assert_eq!(json["digest"], plan.digest());
    assert_eq!(json["phases"][0]["inputs"].as_array().map(Vec::len), Some(2));
    assert_eq!(json["phases"][0]["memory"], 268_435_456);
    assert_eq!(json["phases"][1]["after"], serde_json::json!(["map"]));
    assert!(json["phases"][1]["inputs"].is_null() && json["phases"][1]["time_limit"].is_null());
    assert_eq!(json["phases"][1]["environment"]["LC_ALL"], "C");
}
