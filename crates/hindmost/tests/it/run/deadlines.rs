//! Jobs with deadlines: attempts that resume under `chronos`, and a job that `shed` abandons.

use super::{Job, wait_for};
use crate::run;

/// A task of ten steps, each of which leaves a file where later attempts find it. The first attempt does two steps and then
/// waits for ever.
const RESUMES: &str = r#"
name = "resumes"
policy = "chronos(strategy=resume,r=1)"
deadline = 10
[[phase]]
name = "work"
tasks = 1
resumes = true
copies = true
command = '''
echo "$HINDMOST_ATTEMPT ${HINDMOST_FROM_PROGRESS:-none}" >> attempts
first=$(awk "BEGIN { print int(10 * ${HINDMOST_FROM_PROGRESS:-0} + 0.001) }")
step=$first
while [ $step -lt 10 ]; do
    echo "$HINDMOST_ATTEMPT" >> step-$step.by
    echo "step $step" > step-$step.$HINDMOST_ATTEMPT && mv step-$step.$HINDMOST_ATTEMPT step-$step
    step=$((step + 1))
    if [ -z "${HINDMOST_FROM_PROGRESS:-}" ] && [ $step = 2 ]; then
        sleep 3
        echo 0.2 >> "$HINDMOST_PROGRESS"
        while :; do sleep 1; done
    fi
done
for step in 0 1 2 3 4 5 6 7 8 9; do cat step-$step; done > "$HINDMOST_OUTPUT/result"
'''
"#;

#[test]
fn an_attempt_continues_where_a_late_one_was() {
    let job = Job::new(RESUMES);
    // The first attempt reports a fifth of its work after 3 s or more, so it is expected to need 15 s or more, however slow
    // the machine is. Chronos replaces it; without that, the job would not end.
    let done = job.json(&["--nodes", "n1:1,n2:1"], 0);
    assert_eq!(done["state"], "done");
    let attempts = job.read("attempts");
    let attempts: Vec<&str> = attempts.lines().collect();
    assert_eq!(attempts[0], "0 none");
    for later in &attempts[1..] {
        // An attempt may leave out only what was reported.
        let share: f64 = later.split_once(' ').unwrap().1.parse().unwrap();
        assert!((share - 0.2).abs() < 1e-3, "{later}");
    }
    assert!(attempts.len() >= 2, "{attempts:?}");
    // Nobody did the first two steps again, and the result has all of them.
    assert_eq!((job.lines("step-0.by"), job.lines("step-1.by")), (1, 1));
    assert!(!job.read("step-2.by").contains('0'));
    let whole: String = (0..10).flat_map(|step| ["step ".to_owned(), step.to_string(), "\n".to_owned()]).collect();
    assert_eq!(job.read("resumes.out/work/0/result"), whole);
    let explained = run(&["explain", job.path().join("resumes.out").to_str().unwrap(), "work/0"]);
    assert!(explained.stdout.contains("will end after the deadline of its job"), "{}", explained.stdout);
    verifies(&job, "resumes.out");
}

/// A task that leaves a line when it starts, and takes a while.
const LEAVES_A_LINE: &str = r#"
name = "overdue"
policy = "shed(kill=deadline)"
deadline = 5
[[phase]]
name = "work"
tasks = 1
command = "echo started >> started; sleep 60"
"#;

#[test]
fn nothing_starts_when_a_run_is_resumed_after_its_deadline() {
    let job = Job::new(LEAVES_A_LINE);
    let process = job.start(&["--nodes", "n1:1"]);
    wait_for("the task", || job.has("started"));
    job.until_recorded();
    process.signal("KILL");
    drop(process);
    let begun = std::time::Instant::now();
    wait_for("the deadline", || begun.elapsed().as_secs_f64() > 5.5);
    // The attempt that still runs is stopped, and no other one starts.
    let resumed = job.json(&["--resume", "--nodes", "n1:1"], 1);
    assert_eq!((&resumed["state"], job.lines("started")), (&"abandoned".into(), 1));
}

/// Checks that the policy makes the decisions of a run's journal again.
fn verifies(job: &Job, out: &str) {
    let verified = run(&["verify", job.path().join(out).to_str().unwrap()]);
    assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
}
