//! Tests of keys that tasks share or differ in: `[defaults]`, `matrix`, `shell`, `retry_delay` and allowed failures.

use std::path::Path;
use std::time::Duration;

use super::super::{Allowance, Overrides, default_shell, shell_in_words};
use super::{plan_of, with_files};

fn job(keys: &str) -> String {
    format!("[[phase]]\nname = \"p\"\ncommand = \"true\"\n{keys}")
}

/// Returns the values of all tasks of the first phase, such as `0.1 1`.
fn values(text: &str, folder: &Path) -> Vec<String> {
    let phase = &plan_of(text, folder).unwrap().phases[0];
    (0..phase.tasks).map(|task| phase.values(task).map(|(_, value)| value).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn each_combination_of_values_is_a_task() {
    let folder = with_files();
    let text = job("matrix = { seed = [1, 2], lr = [0.1, 1e-3], big = [true], name = [\"a b\"] }");
    let all = ["1 0.1 true a b", "1 0.001 true a b", "2 0.1 true a b", "2 0.001 true a b"];
    assert_eq!(values(&text, folder.path()), all);
    let with_inputs = job("inputs = \"text/*.txt\"\nmatrix = { seed = [1, 2, 3] }");
    let plan = plan_of(&with_inputs, folder.path()).unwrap();
    let phase = &plan.phases[0];
    let tasks: Vec<String> = (0..phase.tasks)
        .map(|task| {
            let input = phase.input_of(task).unwrap().file_name().unwrap().to_string_lossy().into_owned();
            format!("{input} {}", phase.values(task).map(|(_, value)| value).collect::<String>())
        })
        .collect();
    assert_eq!(tasks, ["a.txt 1", "a.txt 2", "a.txt 3", "b.txt 1", "b.txt 2", "b.txt 3"]);
    let text = plan.describe();
    assert!(
        text.contains("p: 6 tasks") && text.contains("2 files, ") && text.contains("matrix     seed = 1, 2, 3"),
        "{text}"
    );
    assert_eq!(plan.to_json()["phases"][0]["matrix"][0]["name"], "seed");
    let digests: Vec<String> = ["[1, 2, 3]", "[1, 2, 4]", "[1, 3, 2]"]
        .map(|seeds| plan_of(&with_inputs.replace("[1, 2, 3]", seeds), folder.path()).unwrap().shape())
        .to_vec();
    assert!(digests[0] != digests[1] && digests[0] != digests[2], "the values identify the tasks");
}

#[test]
fn variables_on_which_programs_depend_are_refused() {
    let folder = with_files();
    for (matrix, expected) in [
        ("PATH = [1]", "matrix: \"PATH\" can't be used: shells and programs depend on this variable"),
        ("LD_PRELOAD = [1]", "shells and programs depend on this variable"),
        ("HINDMOST_X = [1]", "names that begin with HINDMOST_ are reserved for Hindmost"),
        ("\"a-b\" = [1]", "it must be the name of a variable"),
        ("task = [1]", "results.tsv has another column of this name"),
        ("OWN = [1]", "the environment of the phase sets this variable too"),
        ("seed = []", "seed has no values"),
        ("seed = [1, 1]", "seed has the value \"1\" twice"),
        ("seed = 1", "invalid type: integer `1`"),
        ("seed = [[1]]", "expected a value of the matrix"),
        ("", "its matrix is empty"),
    ] {
        let text = job(&format!("environment = {{ OWN = \"1\" }}\nmatrix = {{ {matrix} }}"));
        let error = plan_of(&text, folder.path()).unwrap_err();
        assert!(error.contains(expected) && error.contains("line 5"), "{matrix}: {error}");
    }
    let both = plan_of(&job("tasks = 2\nmatrix = { seed = [1] }"), folder.path()).unwrap_err();
    assert!(both.contains("both tasks and a matrix"), "{both}");
    let many = (0..4000).map(|number| number.to_string()).collect::<Vec<_>>().join(", ");
    let huge = plan_of(&job(&format!("matrix = {{ a = [{many}], b = [{many}] }}")), folder.path()).unwrap_err();
    assert!(huge.contains("16000000 combinations, but at most 10000000"), "{huge}");
}

#[test]
fn memory_and_time_limits_may_grow_with_retries() {
    let folder = with_files();
    let of =
        |keys: &str| plan_of(&job(&format!("tasks = 1\n{keys}")), folder.path()).map(|plan| plan.phases[0].clone());
    let grows = of("memory = { first = \"2GB\", retry = 1.5 }\ntime_limit = { first = \"1m\", retry = 2 }").unwrap();
    assert_eq!((grows.memory, grows.memory_retry), (Some(2 << 30), Some(1.5)));
    assert_eq!((grows.time_limit, grows.time_limit_retry), (Some(Duration::from_mins(1)), Some(2.0)));
    let fixed = of("memory = \"2GB\"\ntime_limit = 60").unwrap();
    assert_eq!((fixed.memory, fixed.memory_retry), (Some(2 << 30), None));
    assert_eq!((fixed.time_limit, fixed.time_limit_retry), (Some(Duration::from_mins(1)), None));
    for (keys, expected) in [
        ("memory = { first = \"2GB\", retry = 0.5 }", "memory: retry is 0.5, but must be a number from 1 to 100"),
        ("time_limit = { first = 9, retry = 1000 }", "time_limit: retry is 1000, but must be a number from 1 to 100"),
        ("memory = { first = \"2\", retry = 2 }", "\"2\" is not a size"),
        ("memory = { first = \"2GB\" }", "or { first = \"4GB\", retry = 2 }"),
        ("time_limit = { first = 9, retry = 2, last = 3 }", "or { first = \"1h\", retry = 2 }"),
    ] {
        let error = of(keys).unwrap_err();
        assert!(error.contains(expected), "{keys}: {error}");
    }
}

#[test]
fn defaults_fill_the_keys_that_phases_lack() {
    let folder = with_files();
    let defaults = "environment = { A = \"job\", B = \"job\" }\n[defaults]\ncpus = 2\nretries = 7\nretry_delay = \"2s\"\n\
                    keep_going = true\nallowed_failures = \"5%\"\nshell = [\"sh\", \"-c\"]\ntime_limit = 9\nresumes = true\n\
                    memory = \"1MB\"\nidempotent = false\ndirectory = \"text\"\nenvironment = { B = \"default\", C = \"default\" }\n";
    let own = "tasks = 100\nretries = 1\nallowed_failures = 0\nenvironment = { C = \"own\" }\n[[phase]]\nname = \"q\"\n\
               command = \"true\"\ntasks = 100";
    let plan = plan_of(&format!("{defaults}{}", job(own)), folder.path()).unwrap();
    let [p, q] = plan.phases.as_slice() else { panic!() };
    assert_eq!((p.cpus, p.retries, q.retries, p.idempotent, p.resumes), (2.0, 1, 7, false, true));
    assert_eq!((p.allowed_failures, q.allowed_failures), (Allowance::Tasks(0), Allowance::Percent(5.0)));
    assert_eq!((p.retry_delay, p.time_limit), (Duration::from_secs(2), Some(Duration::from_secs(9))));
    assert_eq!((p.memory, p.keep_going, p.shell.as_ref().map(Vec::len)), (Some(1 << 20), true, Some(2)));
    assert!(p.directory.ends_with("text"));
    let variables: Vec<&str> = p.environment.values().map(String::as_str).collect();
    assert_eq!(variables, ["job", "default", "own"]);
    for key in ["name = \"x\"", "tasks = 3", "command = \"x\"", "after = []", "matrix = { a = [1] }"] {
        let error = plan_of(&format!("[defaults]\n{key}\n{}", job("tasks = 1")), folder.path()).unwrap_err();
        assert!(error.contains("line 2, column 1: there is no key"), "{key}: {error}");
    }
}

#[test]
fn delays_double_up_to_five_minutes() {
    let folder = with_files();
    let delays = |keys: &str| {
        let plan = plan_of(&job(&format!("tasks = 1\n{keys}")), folder.path()).unwrap();
        [1, 2, 3, 20].map(|failures| plan.phases[0].delay_after(failures).as_secs_f64())
    };
    assert_eq!(delays(""), [0.0; 4]);
    assert_eq!(delays("retry_delay = 0"), [0.0; 4]);
    assert_eq!(delays("retry_delay = \"1.5s\""), [1.5, 3.0, 6.0, 300.0]);
    assert_eq!(delays("retry_delay = \"10m\""), [600.0; 4]);
    let error = plan_of(&job("tasks = 1\nretry_delay = -1"), folder.path()).unwrap_err();
    assert!(error.contains("retry_delay is -1, but must be"), "{error}");
}

#[test]
fn a_named_shell_is_part_of_the_work_and_the_default_is_not() {
    let folder = with_files();
    let plan = |keys: &str| plan_of(&job(&format!("tasks = 1\n{keys}")), folder.path());
    let (default, named) = (plan("").unwrap(), plan("shell = [\"python3\", \"-c\"]").unwrap());
    assert_ne!(default.digest(), named.digest());
    assert_eq!(default.shape(), named.shape());
    let words = default_shell();
    assert!(["bash -euo pipefail -c", "sh -eu -c"].contains(&shell_in_words(&words).as_str()), "{words:?}");
    assert_eq!(default.shells_in_words(&words), shell_in_words(&words));
    assert_eq!(named.shells_in_words(&words), "python3 -c");
    let two = format!("{}{}", job("tasks = 1\n"), job("tasks = 1\nshell = [\"sh\"]").replace("\"p\"", "\"q\""));
    let two = plan_of(&two, folder.path()).unwrap();
    assert_eq!(two.shells_in_words(&words), format!("{} (q: sh)", shell_in_words(&words)));
    assert!(plan("shell = []").unwrap_err().contains("shell is empty"));
}

#[test]
fn allowed_failures_are_a_number_or_a_share() {
    let folder = with_files();
    let plan = |allowed: &str| plan_of(&job(&format!("tasks = 40\nallowed_failures = {allowed}")), folder.path());
    let mut shared = plan("\"5%\"").unwrap();
    assert!(shared.describe().contains("2 tasks may fail"), "{}", shared.describe());
    shared.override_with(&Overrides {
        keep_going: true,
        allowed_failures: Some(Allowance::Tasks(1)),
        ..Overrides::default()
    });
    assert!(shared.describe().contains("keeps going, 1 task may fail"), "{}", shared.describe());
    assert!(plan("-1").unwrap_err().contains("allowed_failures is -1, but must be from 0"));
    assert!(plan("\"many\"").unwrap_err().contains("\"many\" is not a number of tasks"));
    assert!(plan("true").unwrap_err().contains("expected a number of tasks such as 3, or a share of them"));
}

#[test]
fn features_are_demanded_as_resources() {
    let folder = with_files();
    let text = "[defaults]\nfeatures = [\"ssd\", \"big\", \"ssd\"]\n".to_owned() + &job("tasks = 1\n");
    let text = text + &job("tasks = 1\nfeatures = []").replace("\"p\"", "\"q\"");
    let text = text + "\n" + &job("tasks = 1\nfeatures = \"fast\"").replace("\"p\"", "\"r\"");
    let plan = plan_of(&text, folder.path()).unwrap();
    let demands: Vec<String> =
        plan.phases.iter().map(|phase| hindmost_core::resources::in_words(&phase.demand())).collect();
    assert_eq!(demands, ["1 cpu, feature big, feature ssd", "1 cpu", "1 cpu, feature fast"]);
    assert!(
        plan.describe().contains("each       1 cpu, only on nodes with ssd and big, 2 retries"),
        "{}",
        plan.describe()
    );
    for wrong in ["\"ssd&big\"", "\"\"", "[\"a b\"]", "\"ssd,big\""] {
        let error = plan_of(&job(&format!("tasks = 1\nfeatures = {wrong}")), folder.path()).unwrap_err();
        assert!(error.contains("is not the name of a feature; several names are a list"), "{error}");
    }
}

#[test]
fn speeds_of_nodes_are_positive_numbers() {
    let folder = with_files();
    let text = |speeds: &str| format!("speeds = {speeds}\n{}", job("tasks = 1"));
    let plan = plan_of(&text("{ n1 = 2, fast = 0.5 }"), folder.path()).unwrap();
    assert_eq!(plan.speeds.into_iter().collect::<Vec<_>>(), [("fast".to_owned(), 0.5), ("n1".to_owned(), 2.0)]);
    let error = plan_of(&text("{ n1 = 0 }"), folder.path()).unwrap_err();
    assert!(
        error.contains("line 1, column 17: speeds: the speed of \"n1\" is 0, but must be from 0.001 to 1000"),
        "{error}"
    );
}
