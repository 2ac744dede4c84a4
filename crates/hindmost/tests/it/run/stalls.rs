//! Attempts that hang: a copy finishes the task, so that the job does not wait for ever.

use super::Job;

/// Runs a job with an attempt that hangs until it is killed. Checks that a copy has finished its task.
fn ends_by_a_copy(what: &str, phase: &str, args: &[&str]) {
    let job = Job::new(&format!("[[phase]]\nname = \"hangs\"\n{phase}\n"));
    for task in 0..6 {
        job.write(&format!("input.{task}"), &"words to be read\n".repeat(2000));
    }
    let result = job.json(&[&["--nodes", "n1:2,n2:2"], args].concat(), 0);
    assert!(result["copies"]["won"].as_u64() >= Some(1), "{what}: {result}");
}

const HANGS: &str = r#"[ "$HINDMOST_TASK.$HINDMOST_ATTEMPT" != 3.0 ] || sleep 1000"#;

#[test]
fn a_hang_after_the_last_report_ends_by_a_copy() {
    for (last, policy) in [("0.2", "pace"), ("0.9", "pace"), ("1", "pace"), ("0.9", "mantri"), ("0.9", "late")] {
        let phase = format!(
            r#"tasks = 6
command = '''
for share in 0.1 0.2 0.3 0.5 0.7 0.9 1; do
    sleep 0.05; echo $share >> "$HINDMOST_PROGRESS"
    [ $share != {last} ] || {{ {HANGS}; }}
done
'''"#
        );
        ends_by_a_copy(&format!("at {last} with {policy}"), &phase, &["--policy", policy]);
    }
}

#[test]
fn a_hang_before_the_first_report_ends_by_a_copy() {
    let phase = format!(
        "tasks = 6\ncommand = '''\n{HANGS}\nfor share in 0.2 0.4 0.6 0.8; do sleep 0.05; echo $share >> \"$HINDMOST_PROGRESS\"; done\n'''"
    );
    ends_by_a_copy("before the first report", &phase, &[]);
}

#[test]
fn a_hang_after_reading_the_input_ends_by_a_copy() {
    // The command reads its whole input at once and then works. Its shell keeps the file open or closes it.
    for reads in [r#"exec 3< "$HINDMOST_INPUT"; cat <&3 > /dev/null"#, r#"cat "$HINDMOST_INPUT" > /dev/null"#] {
        let phase = format!(
            "inputs = \"input.*\"\ncommand = '''\n{reads}\nfor i in 1 2 3 4 5 6 7 8; do sleep 0.05; done\n{HANGS}\n'''"
        );
        ends_by_a_copy(reads, &phase, &[]);
    }
}

#[test]
fn a_hang_while_reading_the_input_ends_by_a_copy() {
    let phase = format!(
        r#"inputs = "input.*"
command = '''
number=0
while read -r words; do
    number=$((number + 1))
    [ $((number % 200)) != 0 ] || sleep 0.05
    [ $number != 1000 ] || {{ {HANGS}; }}
done < "$HINDMOST_INPUT"
'''"#
    );
    ends_by_a_copy("in the middle", &phase, &[]);
}
