//! What users do: run a job, in an allocation or without one, `map`, and mistakes.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::lab::{cluster, on_cluster};
use crate::hindmost;
use crate::scene::{Scene, files, names, timeline};

const SLURM: [&str; 2] = ["--engine", "slurm"];

const SHORT: &str = r#"
name = "short"
[[phase]]
name = "a"
tasks = 20
command = 'echo "$HINDMOST_TASK" > "$HINDMOST_OUTPUT/number"'
"#;

#[test]
#[ignore = "needs Slurm"]
fn a_job_on_slurm_has_the_same_results_as_on_one_machine() {
    let cluster = cluster();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/wordcount/job.toml");
    let scene = Scene::new("");
    let outs = ["local", "slurm"].map(|engine| {
        let out = scene.path(engine);
        let ran = hindmost().arg("run").arg(&example).args(["--engine", engine, "--out"]).arg(&out).output().unwrap();
        assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
        out
    });
    for phase in ["map", "reduce", "merge"] {
        assert_eq!(files(&outs[0].join(phase)), files(&outs[1].join(phase)), "{phase}");
    }
    assert_eq!(names(&outs[1].join(".hindmost/slurm")).into_iter().collect::<Vec<_>>(), ["ended", "id"]);
    let verified = hindmost().arg("verify").arg(&outs[1]).status().unwrap();
    assert!(verified.success());
    cluster.lab.until_clean();
}

#[test]
#[ignore = "needs Slurm"]
fn inside_an_allocation_its_nodes_are_used_and_it_is_not_given_back() {
    let cluster = cluster();
    let scene = Scene::new(SHORT);
    let script = format!(
        "{} run job.toml --engine slurm --out out && srun --overlap -n1 echo still-there && squeue --noheader --me -o %N",
        env!("CARGO_BIN_EXE_hindmost")
    );
    let mut command = Command::new("salloc");
    command.args(["-Q", "--nodes=2", "--nodelist=n1,n4", "--exclusive", "sh", "-c", &script]);
    on_cluster(&mut command);
    let ran = command.current_dir(scene.folder.path()).stdin(Stdio::null()).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{stdout}{stderr}");
    assert!(stdout.contains("still-there\nn[1,4]\n"), "{stdout}{stderr}");
    let timeline = timeline(&scene.out());
    assert_eq!(timeline.nodes.iter().map(|node| node.name.to_string()).collect::<Vec<_>>(), ["n1", "n4"]);
    scene.is_verified();
    cluster.lab.until_clean();
}

#[test]
#[ignore = "needs Slurm"]
fn map_runs_on_slurm() {
    let cluster = cluster();
    let scene = Scene::new("");
    let mut command = hindmost();
    command.args([
        "map",
        "--engine",
        "slurm",
        "--nodes",
        "n[1-2]",
        "--keep-order",
        "echo {}-$SLURMD_NODENAME",
        ":::",
        "a",
        "b",
        "c",
    ]);
    let ran = command.current_dir(scene.folder.path()).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{stdout}{stderr}");
    let inputs: Vec<&str> = stdout.lines().filter_map(|line| line.split_once("-n")).map(|(input, _)| input).collect();
    assert_eq!(inputs, ["a", "b", "c"], "{stdout}{stderr}");
    cluster.lab.until_clean();
}

#[test]
#[ignore = "needs Slurm"]
fn a_number_of_nodes_includes_busy_ones() {
    let cluster = cluster();
    let scene = Scene::new(SHORT);
    cluster.lab.output("salloc", &["--no-shell", "--nodes=2", "--nodelist=n3,n4", "--exclusive"]);
    // The busy node joins the run if it comes free in time.
    scene.run(&["--engine", "slurm", "--nodes", "3"]).with(0);
    let nodes: Vec<String> = timeline(&scene.out()).nodes.iter().map(|node| node.name.to_string()).collect();
    assert_eq!(nodes, ["n1", "n2", "n3"]);
    let blocker = cluster.lab.allocations();
    let ids: Vec<&str> = blocker.iter().map(|(id, _)| id.as_str()).collect();
    cluster.lab.output("scancel", &ids);
    cluster.lab.until_clean();
}

#[test]
#[ignore = "needs Slurm"]
fn gpus_are_given_to_one_attempt_at_a_time() {
    let cluster = cluster();
    let scene = Scene::new(
        r#"
name = "gpus"
[[phase]]
name = "a"
tasks = 4
gpus = 1
command = '''
begin=$(date +%s%N); sleep 0.3
for name in ROCR_VISIBLE_DEVICES ZE_AFFINITY_MASK GPU_DEVICE_ORDINAL SLURM_STEP_GPUS; do
  eval "other=\$$name"; [ "$other" = "$CUDA_VISIBLE_DEVICES" ] || { echo "$name is $other" >&2; exit 1; }
done
echo "$CUDA_VISIBLE_DEVICES$SLURM_GPUS_ON_NODE $HINDMOST_GPUS $SLURMD_NODENAME $begin $(date +%s%N)" > "$HINDMOST_OUTPUT/gpu"
'''
"#,
    );
    scene.run(&SLURM).with(0);
    let mut used: Vec<(String, u64, u64)> = Vec::new();
    for (name, text) in files(&scene.out().join("a")) {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [visible, own, node, begin, end] = words[..] else { panic!("{name}: {text}") };
        // Its own GPU is the only one that it sees.
        assert_eq!((visible, node), (&*format!("{own}1"), "n4"), "{text}");
        used.push((own.to_owned(), begin.parse().unwrap(), end.parse().unwrap()));
    }
    assert_eq!(used.len(), 4);
    for (at, one) in used.iter().enumerate() {
        for other in &used[at + 1..] {
            assert!(one.0 != other.0 || one.2 <= other.1 || other.2 <= one.1, "{used:?}");
        }
    }
    cluster.lab.until_clean();
}

#[test]
#[ignore = "needs Slurm"]
fn mistakes_are_explained_and_leave_nothing() {
    let cluster = cluster();
    let scene = Scene::new(SHORT);
    for (args, expected) in [
        (&["--engine", "slurm", "--nodes", "9"][..], "there are only 4 usable nodes"),
        (&["--engine", "slurm", "--nodes", "zz"], "zz"),
        (&["--engine", "slurm", "--slurm-args=--partition=none"], "partition none has no usable node"),
        (&["--slurm-args=--partition=main"], "add --engine slurm"),
        (&["--engine", "slurm", "--slurm-args=--time=never"], "Invalid --time specification"),
    ] {
        let ran = scene.run(args);
        assert!(
            matches!(ran.code, Some(1 | 2)) && ran.stderr.contains(expected),
            "{args:?}: {:?} {}",
            ran.code,
            ran.stderr
        );
    }
    let large = SHORT.replace("tasks = 20", "tasks = 20\nmemory = '7GB'");
    fs::write(scene.path("job.toml"), large).unwrap();
    let ran = scene.run(&SLURM);
    assert!(ran.stderr.contains("more than any node has"), "{}", ran.stderr);
    fs::write(scene.path("job.toml"), SHORT).unwrap();
    cluster.lab.until_clean();
}

#[test]
#[ignore = "needs Slurm"]
fn a_run_is_resumed_with_its_engine() {
    let cluster = cluster();
    let scene =
        Scene::new(&SHORT.replace("tasks = 20", "tasks = 20\nretries = 0").replace("echo", "test -e ../go; echo"));
    let job = fs::read_to_string(scene.path("job.toml")).unwrap();
    fs::write(scene.path("job.toml"), job.replace("../go", &scene.path("go").display().to_string())).unwrap();
    scene.run(&["--engine", "slurm", "--nodes", "n[1-2]"]).with(1);
    scene.touch("go");
    let refused = scene.run(&["--resume", "--engine", "local"]);
    assert!(refused.stderr.contains("this run was begun with engine slurm"), "{}", refused.stderr);
    scene.run(&["--resume", "--retry-failed"]).with(0);
    let timeline = timeline(&scene.out());
    assert_eq!(timeline.nodes.iter().map(|node| node.name.to_string()).collect::<Vec<_>>(), ["n1", "n2"]);
    scene.is_verified();
    cluster.lab.until_clean();
}

/// The nodes n1 (fast, ssd), n2 (fast), n3 (slow) and n4 (slow, big).
const CLASSES: &str = r#"
name = "classes"
speeds = { fast = 2, tape = 3 }
[[phase]]
name = "fast"
tasks = 12
features = "fast"
command = 'sleep 0.1; echo "$SLURMD_NODENAME" > "$HINDMOST_OUTPUT/node"'
[[phase]]
name = "big"
tasks = 10
features = ["big", "slow"]
command = 'sleep 0.1; echo "$SLURMD_NODENAME" > "$HINDMOST_OUTPUT/node"'
[[phase]]
name = "any"
tasks = 4
command = 'echo "$SLURMD_NODENAME" > "$HINDMOST_OUTPUT/node"'
"#;

#[test]
#[ignore = "needs Slurm"]
fn features_choose_nodes_and_speeds() {
    let cluster = cluster();
    let scene = Scene::new(CLASSES);
    let given = ["--engine", "slurm", "--node-speed", "n4=0.5"];
    let mut check = hindmost();
    check.current_dir(scene.folder.path()).args(["run", "job.toml", "--check"]).args(given);
    let checked = String::from_utf8(check.output().unwrap().stdout).unwrap();
    for expected in ["speed 2 (fast, ssd)", "speed 2 (fast)", "speed 1 (slow)", "speed 0.5 (slow, big)"] {
        assert!(checked.contains(expected), "{expected}: {checked}");
    }
    scene.run(&given).with(0);
    let nodes_of = |phase: &str| {
        let mut nodes: Vec<String> = files(&scene.out().join(phase)).into_values().collect();
        nodes.sort();
        nodes.dedup();
        nodes.iter().map(|node| node.trim().to_owned()).collect::<Vec<_>>()
    };
    assert!(nodes_of("fast").iter().all(|node| node == "n1" || node == "n2"), "{:?}", nodes_of("fast"));
    assert_eq!(nodes_of("big"), ["n4"]);
    scene.is_verified();
    let journal = fs::read_to_string(scene.out().join(".hindmost/journal.jsonl")).unwrap();
    let speeds: Vec<f64> = journal
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|line| line.pointer("/event/node_joined/speed").and_then(serde_json::Value::as_f64))
        .collect();
    assert_eq!(speeds, [2.0, 2.0, 1.0, 0.5]);
    cluster.lab.until_clean();

    // Nodes on which nothing may run are not requested.
    let scene = Scene::new(&SHORT.replace("tasks = 20", "tasks = 3\nfeatures = 'ssd'"));
    scene.run(&SLURM).with(0);
    assert_eq!(timeline(&scene.out()).nodes.iter().map(|node| node.name.to_string()).collect::<Vec<_>>(), ["n1"]);

    for (feature, args, expected) in [
        (
            "tape",
            &SLURM[..],
            "requires nodes with tape, but no node of the run is such a node (features: n1 fast, ssd;",
        ),
        ("ssd", &["--engine", "slurm", "--node-speed", "tape=2"], "\"tape\" is neither a node nor a feature of one"),
    ] {
        let scene = Scene::new(&SHORT.replace("tasks = 20", &format!("tasks = 3\nfeatures = '{feature}'")));
        let ran = scene.run(args);
        assert!(ran.code == Some(2) && ran.stderr.contains(expected), "{:?}: {}", ran.code, ran.stderr);
    }
    cluster.lab.until_clean();
}
