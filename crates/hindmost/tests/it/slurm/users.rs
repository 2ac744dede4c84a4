//! Who and what uses a run: a normal user, several jobs, jobs that are submitted, `hindmost watch`, resuming a run that is done.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::crashes::pending;
use super::ends::{gated, is_done, job};
use super::lab::{cluster, on_cluster};
use crate::hindmost;
use crate::scene::{Live, Scene, as_nobody, names, until};

const SLURM: [&str; 2] = ["--engine", "slurm"];

#[test]
#[ignore = "needs Slurm"]
fn a_normal_user_can_run_jobs() {
    let cluster = cluster();
    let scene = gated(20, "");
    let script = as_nobody();
    let is_other = script.contains("setpriv");
    if is_other {
        let owned = Command::new("chown").arg("65534:65534").arg(scene.folder.path()).status().unwrap();
        assert!(owned.success());
    }
    let start = |args: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_hindmost")]);
        on_cluster(&mut command);
        Live::start_with(command, scene.folder.path(), "job.toml", "out", args)
    };
    let live = start(&["--engine", "slurm", "--chaos", "slow=n3:10"]);
    until("attempts run", || cluster.lab.attempts().len() > 5);
    live.kill();
    scene.open();
    is_done(start(&["--resume"]).end(), &scene, &cluster.lab, 20);
    let owner = fs::metadata(scene.path("out/a/0/number")).unwrap().uid();
    assert!(!is_other || owner == 65534, "{owner}");
}

#[test]
#[ignore = "needs Slurm"]
fn several_jobs_share_the_nodes_and_are_resumed_with_their_engine() {
    let cluster = cluster();
    let scene = Scene::new("");
    for name in ["one", "two", "three"] {
        let text = job(12, &format!("0.1; {}", scene.gate())).replace("\"seconds\"", &format!("{name:?}"));
        fs::write(scene.path(&format!("{name}.toml")), text).unwrap();
    }
    let run = |args: &[&str]| {
        let mut command = hindmost();
        command.current_dir(scene.folder.path()).arg("run").args(args).args(["--out", "all"]);
        command.stdout(Stdio::null()).stderr(fs::File::create(scene.path("stderr")).unwrap());
        command.spawn().unwrap()
    };
    let mut first = run(&["one.toml", "two.toml", "--engine", "slurm"]);
    until("attempts run", || cluster.lab.attempts().len() >= 10);
    let watched = hindmost().arg("watch").arg(scene.path("all")).arg("--json").output().unwrap();
    let watched: Value = serde_json::from_slice(&watched.stdout).unwrap();
    assert_eq!((&watched["state"], watched["jobs"].as_array().unwrap().len()), (&json!("running"), 2));
    assert!(watched["attempts"].as_u64().unwrap() >= 10, "{watched}");
    first.kill().unwrap();
    first.wait().unwrap();
    let before = cluster.lab.allocations();
    assert_eq!(before.len(), 4);
    let socket = scene.path("socket").display().to_string();
    let mut second = run(&["--resume", "--listen", &socket]);
    until("the run accepts jobs", || scene.path("socket").exists());
    assert_eq!(cluster.lab.allocations(), before, "{}", scene.read("stderr"));
    scene.open();
    for args in [&["three.toml", "--to", &socket][..], &["--close", "--to", &socket]] {
        let submitted = hindmost().arg("submit").args(args).current_dir(scene.folder.path()).output().unwrap();
        assert!(submitted.status.success(), "{}", String::from_utf8_lossy(&submitted.stderr));
    }
    let status = second.wait().unwrap();
    assert!(status.success(), "{}", scene.read("stderr"));
    for name in ["one", "two", "three"] {
        let out = scene.path("all").join(name);
        for task in 0..12 {
            assert_eq!(fs::read_to_string(out.join(format!("a/{task}/number"))).unwrap(), format!("{task}\n"));
        }
        assert!(names(&out.join(".hindmost/attempts")).is_empty());
    }
    cluster.lab.until_clean();
}

#[test]
#[ignore = "needs Slurm"]
fn resuming_a_run_that_is_done_requests_no_nodes() {
    let cluster = cluster();
    let scene = Scene::new(&job(6, "0.3"));
    scene.run(&SLURM).with(0);
    cluster.lab.until_clean();
    // All nodes are in use, so a request would wait.
    cluster.lab.output("salloc", &["--no-shell", "--nodes=4", "--exclusive"]);
    scene.run(&["--resume"]).with(0);
    // A result is missing, so its task runs again as soon as there is a node.
    fs::remove_file(scene.path("out/a/3/number")).unwrap();
    let resumed = scene.spawn(None, &["--resume"]);
    until("a node is requested", || !pending(&cluster.lab).is_empty());
    let allocations = cluster.lab.allocations();
    let held = allocations.iter().find(|(_, nodes)| nodes == "n[1-4]").unwrap();
    cluster.lab.output("scancel", &[&held.0]);
    is_done(scene.end(resumed), &scene, &cluster.lab, 6);
}
