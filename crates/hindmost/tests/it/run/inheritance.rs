//! What commands get from the environment in which `hindmost` was started.

use std::process::Command;

use super::Job;

/// Runs a job of `tasks` tasks with this command in a `bash` that has executed `before`.
fn run_after(before: &str, tasks: u32, command: &str) -> Job {
    let job = Job::new(&format!(
        "[[phase]]\nname = \"a\"\ntasks = {tasks}\nretries = 0\nshell = [\"bash\", \"-c\"]\ncommand = '''{command}'''\n"
    ));
    let script = format!("{before}\nexec \"$@\"");
    let hindmost = env!("CARGO_BIN_EXE_hindmost");
    let mut bash = Command::new("bash");
    bash.args([
        "-c", &script, "bash", hindmost, "run", "job.toml", "--out", "out", "--nodes", "n1:1", "--policy", "none",
    ]);
    bash.current_dir(job.path()).output().unwrap();
    job
}

fn logs(job: &Job, tasks: u32, ending: &str) -> Vec<String> {
    (0..tasks).map(|task| job.read(&format!("out/.hindmost/logs/a/{task}.0.{ending}"))).collect()
}

// Later tasks are short ones, which start without a wrapper.
#[test]
fn exported_functions_reach_commands() {
    let job = run_after("greet() { echo \"it's $1\"; }; export -f greet", 30, "greet $HINDMOST_TASK");
    for (task, log) in logs(&job, 30, "out").iter().enumerate() {
        assert_eq!(*log, format!("it's {task}\n"));
    }
}

#[test]
fn variables_that_a_shell_cannot_have_reach_commands() {
    let before = "exec env \"A.B=x y\" \"$@\"";
    let job = run_after(before, 30, "env | grep '^A[.]B='");
    assert!(logs(&job, 30, "out").iter().all(|log| log == "A.B=x y\n"));
}

#[test]
fn open_files_reach_commands() {
    let job = run_after("exec 3<<< text", 1, "cat <&3");
    assert_eq!(logs(&job, 1, "out"), ["text\n"]);
}

#[test]
fn shells_add_nothing_to_the_error_output_of_a_killed_command() {
    let job = run_after(":", 1, "echo oh >&2; kill -9 $$");
    assert_eq!(logs(&job, 1, "err"), ["oh\n"]);
}
