//! Files in a run's folder are untrusted: no file makes `--resume` kill or adopt a process that is not the run's.

use std::os::unix::process::CommandExt;

use super::*;
use crate::scene::resumed;

/// One task, which ends when the file `go` exists.
const JOB: &str = r#"
[[phase]]
name = "one"
tasks = 1
command = '''
touch "$HINDMOST_OUTPUT/ready"
while [ ! -e "$HINDMOST_FROM/../go" ]; do sleep 0.01; done
'''
"#;

/// A stopped process of the same user that does not belong to the run.
struct Bystander(Child);

impl Bystander {
    fn new(user: User, variables: &[(&str, &str)]) -> Bystander {
        let mut command = Command::new("sleep");
        command.arg("1000").envs(variables.iter().copied()).stdin(Stdio::null()).process_group(0);
        if let User::Other(id) = user {
            command.uid(id).gid(id);
        }
        let child = command.spawn().unwrap();
        let bystander = Bystander(child);
        assert!(Command::new("kill").args(["-STOP", &bystander.0.id().to_string()]).status().unwrap().success());
        until("the bystander is stopped", || bystander.state() == "T");
        bystander
    }

    fn fields(&self) -> Vec<String> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        stat.rsplit(") ").next().unwrap().split(' ').map(str::to_owned).collect()
    }

    fn state(&self) -> String {
        self.fields()[0].clone()
    }

    /// Returns the content of a `process` file that names this process.
    fn identity(&self) -> String {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        format!(
            r#"{{"pid":{},"start_time":{},"boot_id":"{}","group":"/sys/fs/cgroup/unified"}}"#,
            self.0.id(),
            self.fields()[19],
            boot.trim()
        )
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a run and kills it with its attempt.
fn killed(user: User) -> Place {
    let place = Place::new(user, JOB);
    let mut run = place.spawn(&[]);
    until("the task runs", || place.of_attempt("0-0.0", "out/ready").exists());
    run.kill_once_recorded();
    for process in place.processes() {
        let pid = process.split(' ').next().unwrap_or_default();
        let _ = Command::new("kill").args(["-KILL", pid]).stderr(Stdio::null()).status();
    }
    until("nothing runs", || place.processes().is_empty());
    drop(run);
    place
}

#[test]
fn a_forged_process_file_harms_no_other_process() {
    for user in users() {
        let place = killed(user);
        let run = run_id(&place.path("out")).unwrap_or_default();
        // The bystander has the id of the run in its environment, but another folder.
        let variables = [("HINDMOST_RUN", run.as_str()), ("HINDMOST_KEY", "0.0.0"), ("HINDMOST_FROM", "/elsewhere")];
        for variables in [&[][..], &variables[..]] {
            let bystander = Bystander::new(user, variables);
            let file = place.of_attempt("0-0.0", "process");
            let _ = fs::remove_file(&file);
            if file.parent().is_some_and(Path::exists) {
                fs::write(&file, bystander.identity()).unwrap();
            }
            place.write("go", "");
            place.spawn(&["--resume"]).succeed();
            assert_eq!(bystander.state(), "T");
        }
        place.is_clean();
    }
}

#[test]
fn odd_process_files_do_not_prevent_a_resume() {
    let odd: [&dyn Fn(&Path); 4] = [
        &|file| std::os::unix::fs::symlink("/dev/zero", file).unwrap(),
        &|file| assert!(Command::new("mkfifo").arg(file).status().unwrap().success()),
        &|file| fs::create_dir(file).unwrap(),
        &|file| fs::write(file, "{\"pid\":1,\"start_time\":0,\"boot_id\":\"\"}".repeat(100_000)).unwrap(),
    ];
    for make in odd {
        let place = killed(User::Current);
        let file = place.of_attempt("0-0.0", "process");
        fs::remove_file(&file).unwrap();
        make(&file);
        place.write("go", "");
        place.spawn(&["--resume"]).succeed();
        place.is_clean();
    }
}

#[test]
fn an_attempt_without_a_process_file_is_adopted() {
    for user in users() {
        let place = Place::new(user, JOB);
        let mut run = place.spawn(&[]);
        until("the task runs", || place.of_attempt("0-0.0", "out/ready").exists());
        run.kill_once_recorded();
        fs::remove_file(place.of_attempt("0-0.0", "process")).unwrap();
        let mut run = resumed(&place.path("out"), || place.spawn(&["--resume"]));
        place.write("go", "");
        run.succeed();
        assert!(!place.read("stderr").contains("lost"), "{}", place.read("stderr"));
        assert!(place.path("out/one/0/ready").exists());
        place.is_clean();
    }
}
