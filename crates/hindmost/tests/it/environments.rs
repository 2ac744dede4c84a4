//! The recipes of docs/jobs.md for commands in containers and in conda environments. Programs that stand in for `apptainer`,
//! `docker` and `conda` take the arguments that the real ones take, and run the command in place.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use crate::{document, run_in};

/// Programs that leave out their own arguments, say where the command runs, and become the command.
const STAND_INS: [(&str, &str); 3] = [
    ("apptainer", "[ $1 = exec ]; shift; [ $1 = --bind ]; shift 2; export INSIDE=$1; shift; exec \"$@\""),
    (
        "docker",
        "[ $1 = run ]; shift; own=' '\n\
         while case $1 in -*) true ;; *) false ;; esac; do\n\
             case $1 in --rm|--init) shift ;; -e) own=\"$own$2 \"; shift 2 ;; -v|-w) shift 2 ;; *) exit 9 ;; esac\n\
         done\n\
         # A container has none of the client's other variables.\n\
         for name in $(env | sed -n 's/^\\(HINDMOST_[A-Z]*\\)=.*/\\1/p'); do\n\
             case $own in *\" $name \"*) ;; *) unset $name ;; esac\n\
         done\n\
         export INSIDE=$1; shift; exec \"$@\"",
    ),
    ("conda", "[ $1 = run ]; [ $2 = --no-capture-output ]; [ $3 = -n ]; export INSIDE=$4; shift 4; exec \"$@\""),
];

/// Returns the shells that docs/jobs.md shows, by their program.
fn recipes() -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/jobs.md");
    let text = fs::read_to_string(path).unwrap();
    let section = text.split("### Containers and environments\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let block = section.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let lines = block.lines().filter(|line| line.contains("shell = ["));
    let shell = |line: &str| line.trim_start_matches("# ").to_owned();
    let program = |line: &str| line.split('"').nth(1).unwrap().to_owned();
    lines.map(|line| (program(line), shell(line))).collect()
}

#[test]
fn commands_run_in_containers_and_environments() {
    let recipes = recipes();
    assert_eq!(
        recipes.iter().map(|(program, _)| program.as_str()).collect::<Vec<_>>(),
        ["apptainer", "docker", "conda"]
    );
    for (program, shell) in recipes {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        for (name, script) in STAND_INS {
            fs::write(bin.join(name), format!("#!/bin/sh\nset -e\n{script}\n")).unwrap();
            fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        // The first attempt of the last task hangs, so that it is stopped inside.
        let command = "if [ $HINDMOST_TASK = 5 ] && [ ! -e hung ]; then touch hung; sleep 600; fi\n\
                       sleep 0.1; echo \"$INSIDE $HINDMOST_TASK\" > \"$HINDMOST_OUTPUT/where\"";
        let text = format!(
            "name = \"j\"\nenvironment = {{ PATH = \"{}:/usr/bin:/bin\" }}\n\
             [[phase]]\nname = \"p\"\ntasks = 6\n{shell}\ncopies = true\ncommand = '''{command}'''\n",
            bin.display()
        );
        fs::write(folder.path().join("job.toml"), text).unwrap();
        let ran = run_in(folder.path(), &["run", "job.toml", "--json", "--nodes", "n1:4"]);
        assert_eq!(ran.code, Some(0), "{program}: {}{}", ran.stdout, ran.stderr);
        assert_eq!(document(&ran)["state"], json!("done"));
        for task in 0..6 {
            let written = fs::read_to_string(folder.path().join(format!("j.out/p/{task}/where"))).unwrap();
            let (inside, number) = written.trim().split_once(' ').unwrap();
            assert!(!inside.is_empty() && number == task.to_string(), "{program}: {written}");
        }
    }
}
