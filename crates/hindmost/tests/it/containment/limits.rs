//! With few open files, many daemons or few processes allowed, nothing is left running and no result is lost.

use super::*;

const DAEMONS: &str = r#"
[[phase]]
name = "daemons"
tasks = 12
command = '''
for i in 1 2 3; do (setsid sleep 1000 &); sleep 1000 & done
echo done > "$HINDMOST_OUTPUT/result"
'''
"#;

/// Checks the results of [`DAEMONS`] tasks.
fn all_done(place: &Place, tasks: u32) {
    for task in 0..tasks {
        assert_eq!(place.sizes(&format!("daemons/{task}"))["result"], 5, "{task}");
    }
}

#[test]
fn a_low_limit_of_open_files_works_or_is_refused() {
    let mut worked = 0;
    for limit in 10..=32 {
        let place = Place::new(User::Current, DAEMONS);
        let mut run = place.spawn_by(&format!("ulimit -n {limit}; exec \"$@\""), &["--nodes", "n1:12"]);
        let (code, said) = (run.end(), place.read("stderr"));
        place.is_clean();
        if code == Some(0) {
            all_done(&place, 12);
            worked += 1;
        } else {
            assert!(said.contains("open files") || said.contains("files may be open"), "{limit}: {code:?} {said}");
            assert!(limit < 32 && worked == 0, "{limit}: {said}");
            assert!(!place.path("out/daemons/0").exists());
        }
    }
    assert!(worked > 0);
}

#[test]
fn many_daemons_are_ended() {
    let job = DAEMONS.replace("1 2 3", "$(seq 150)");
    for user in users() {
        let place = Place::new(user, &job);
        let mut run = place.spawn_by("ulimit -n 64; exec \"$@\"", &["--nodes", "n1:3"]);
        run.succeed();
        all_done(&place, 12);
        place.is_clean();
    }
}

#[test]
fn a_low_limit_on_processes_delays_attempts() {
    // Limits on processes do not apply to root.
    if !may_become(54_321) || !has("prlimit") {
        return;
    }
    let job = r#"
[[phase]]
name = "daemons"
tasks = 12
retries = 100
command = 'sleep 0.2 && echo done > "$HINDMOST_OUTPUT/result"'
"#;
    let place = Place::new(User::Other(54_321), job);
    let mut run = place.spawn_by("exec prlimit --nproc=9 \"$@\"", &["--nodes", "n1:8"]);
    run.succeed();
    all_done(&place, 12);
    place.is_clean();
}
