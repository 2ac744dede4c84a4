//! Commands that write files as people write them, with one task that is late or hangs. The outputs are right if the exit code is 0, a line
//! says where copies are left out, and hanging tasks are cured by a copy or by a new start.

use std::fs;
use std::process::Command;
use std::sync::Mutex;

use hindmost_testing::{Draw, cases, seed};

use crate::hindmost;
use crate::scene::{Scene, ended, program};

/// What a command may get when it is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cure {
    /// A copy.
    Copy,
    /// A new start, and a line that says so: its text names the file.
    Line,
    /// What its open files allow: its text names no file.
    Hidden,
    /// The same. What it has written already can't be written again, so it is waited for, or its failure is an honest one.
    Adds,
}

/// A way to write a file from the value `{}`, a file of 100 lines.
struct Kind {
    command: &'static str,
    /// Prints what the command has made of `$1`, if that is not in the file `$1.out`.
    made: &'static str,
    cure: Cure,
}

/// Prints the value in two halves, between which a task may be late. `LATE POINT` is late if the test chooses that point.
const HALVES: &str = "(head -n 50 {}; ./late {} middle; tail -n +51 {})";

const fn kind(command: &'static str, made: &'static str, cure: Cure) -> Kind {
    Kind { command, made, cure }
}

const OUT: &str = "cat $1.out";

const KINDS: [Kind; 26] = [
    kind("HALVES", "cat stdout", Cure::Copy),
    kind("--output {}.out HALVES", OUT, Cure::Copy),
    kind("HALVES > $HINDMOST_OUTPUT/x", "cat results/map/$2/x", Cure::Copy),
    kind("HALVES > $TMPDIR/x; cat $TMPDIR/x", "cat stdout", Cure::Copy),
    kind("HALVES > {}.out", OUT, Cure::Line),
    kind("HALVES >> {}.out", OUT, Cure::Line),
    kind("HALVES | tee {}.out > /dev/null", OUT, Cure::Line),
    kind("HALVES | sort -n -o {}.out", OUT, Cure::Line),
    kind("HALVES | gzip -c > {}.gz", "gunzip -c $1.gz", Cure::Line),
    kind("HALVES | dd of={}.out status=none", OUT, Cure::Line),
    kind("HALVES > {}.part && mv {}.part {}.out", OUT, Cure::Line),
    kind("HALVES > {}.a; HALVES > {}.b; cmp {}.a {}.b", "cmp $1.a $1.b && cat $1.b", Cure::Line),
    kind("cp {} {}.out; ./late {} middle; sed -i s/^/x/ {}.out", "sed s/^x// $1.out", Cure::Line),
    kind("./late {} middle; sed -i 's/^/x/' {}.in", "sed s/^x// $1.in", Cure::Line),
    kind("perl -pi -e 's/^/x/' {}.in; ./late {} middle", "sed s/^x// $1.in", Cure::Line),
    kind("gzip {}.in", "gunzip -c $1.in.gz", Cure::Line),
    kind("mkdir -p done; ./late {} middle; mv {}.in done/", "cat done/$1.in", Cure::Line),
    kind("sort -n -o {}.in {}.in", "cat $1.in", Cure::Line),
    kind("HALVES >> {}.a; cat {}.a >> {}.out; rm {}.a", OUT, Cure::Line),
    kind("./late {} middle; tar -cf {}.tar {}", "tar -xOf $1.tar", Cure::Line),
    kind(
        "./late {} middle; python3 -c 'import sys; open(sys.argv[1] + \".out\", \"w\").write(open(sys.argv[1]).read())' {}",
        OUT,
        Cure::Hidden,
    ),
    kind("./hidden {} '>' $1.out", OUT, Cure::Hidden),
    kind("./hidden {} '>' $1.part; mv $1.part $1.out", OUT, Cure::Hidden),
    kind("python3 hidden.py {}", OUT, Cure::Hidden),
    kind("./hidden {} '|' dd of=$1.out status=none", OUT, Cure::Hidden),
    kind("./hidden {} '>>' $1.out", OUT, Cure::Adds),
];

/// A script that does not show what it writes: its arguments say so.
const HIDDEN: &str = "#!/bin/sh\nfile=$1; shift\nset -- \"$file\"\nHALVES REDIRECTION\n";

const HIDDEN_PYTHON: &str = "import subprocess, sys\nname = sys.argv[1]\nlines = open(name).readlines()\n\
    with open(name + '.out', 'w') as out:\n    out.writelines(lines[:50])\n    out.flush()\n    \
    subprocess.run(['./late', name, 'middle'])\n    out.writelines(lines[50:])\n";

/// What is late, and for how long.
#[derive(Clone, Debug)]
struct Case {
    kind: usize,
    point: &'static str,
    seconds: f64,
}

/// The names of the values.
const VALUES: [&str; 8] = ["v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7"];
/// The value that is late.
const LATE: usize = 6;

/// Runs one case. Returns whether it has succeeded, or what is wrong.
fn tried(case: &Case) -> Result<bool, String> {
    let Kind { command, made, cure } = KINDS[case.kind];
    let scene = Scene::new("");
    for (at, value) in VALUES.iter().enumerate() {
        let lines: Vec<String> = (0..100).map(|line| format!("{} of {value}\n", 1000 * at + line)).collect();
        scene.write(value, &lines.concat());
        scene.write(&format!("{value}.in"), &lines.concat());
    }
    let (late, point, seconds) = (VALUES[LATE], case.point, case.seconds);
    let is_late = format!("[ \"$1.$2.$HINDMOST_ATTEMPT\" = {late}.{point}.0 ]");
    program(&scene.path("late"), &format!("#!/bin/sh\nif {is_late}; then exec sleep {seconds}; fi\nexec sleep 0.05\n"));
    scene.write("hidden.py", HIDDEN_PYTHON);
    let (mut options, mut text) = (vec!["--out", "results", "-k"], command);
    if let Some(rest) = command.strip_prefix("--output {}.out ") {
        (options, text) = (vec!["-k", "--output", "{}.out"], rest);
    }
    let mut text = text.replace("HALVES", HALVES);
    if let Some((before, redirection)) = command.split_once("./hidden {} ") {
        assert_eq!(before, "");
        let (operator, rest) = redirection.split_once(' ').unwrap();
        let redirection = format!("{} {rest}", operator.trim_matches('\''));
        let script = HIDDEN.replace("HALVES", &HALVES.replace("{}", "$1")).replace("REDIRECTION", &redirection);
        program(&scene.path("hidden"), &script);
        text = String::from("./hidden {}");
    }
    let text = format!("./late {{}} begin; {text} && ./late {{}} end");
    let log = |name: &str| fs::File::create(scene.path(name)).unwrap();
    let mut child = hindmost();
    child.current_dir(scene.folder.path()).args(["map", "-j", "4"]).args(options).arg(&text).arg(":::").args(VALUES);
    let mut child = child.stdout(log("stdout")).stderr(log("stderr")).spawn().unwrap();
    let Some(status) = ended(&mut child) else {
        let _ = child.kill();
        return Err("it does not end".to_owned());
    };
    let said = scene.read("stderr");
    let wrong = |what: &str| Err(format!("{what} ({status}): {text}\n{said}"));
    if said.contains("no copies, because") != (cure == Cure::Line) {
        return wrong("the line about copies");
    }
    if !status.success() {
        return if cure == Cure::Adds { Ok(false) } else { wrong("it has failed") };
    }
    for (at, value) in VALUES.iter().enumerate() {
        let shown = Command::new("sh")
            .current_dir(scene.folder.path())
            .args(["-c", made, "sh", value, &at.to_string()])
            .output();
        let shown = String::from_utf8_lossy(&shown.unwrap().stdout).into_owned();
        let expected =
            if made == "cat stdout" { VALUES.map(|value| scene.read(value)).concat() } else { scene.read(value) };
        if shown != expected {
            return wrong(&format!("the output of {value} is wrong: {} bytes, not {}", shown.len(), expected.len()));
        }
    }
    Ok(true)
}

#[test]
fn what_people_write_is_right_whatever_is_late() {
    let mut draw = Draw(seed());
    let order: Vec<usize> = draw.shuffled((0..KINDS.len()).collect());
    let all = (0..cases(12, 500)).map(|number| {
        let kind = order[number as usize % KINDS.len()];
        let is_hang = draw.one_in(3);
        let point = ["begin", "middle", "end"][draw.below(3) as usize];
        // What a file has been changed to can't be changed again, so hanging there has no cure.
        let command = KINDS[kind].command;
        let changes = [">>", "sed -i", "{}.in"].iter().any(|what| command.contains(what));
        let can_hang = !matches!(KINDS[kind].cure, Cure::Adds) && (!changes || point == "begin");
        let seconds = if is_hang && can_hang { 600.0 } else { 0.4 + draw.below(26) as f64 / 10.0 };
        Case { kind, point, seconds }
    });
    let left = Mutex::new(all.collect::<Vec<Case>>().into_iter());
    let seen: Mutex<(u32, u32, Vec<String>)> = Mutex::default();
    let work = || {
        loop {
            let next = left.lock().unwrap().next();
            let Some(case) = next else { return };
            let result = tried(&case);
            let mut seen = seen.lock().unwrap();
            match result {
                Ok(has_succeeded) => {
                    seen.0 += 1;
                    seen.1 += u32::from(!has_succeeded);
                }
                Err(wrong) => seen.2.push(format!("{case:?}: {wrong}")),
            }
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|_| _ = scope.spawn(work)));
    let (right, refused, wrong) = seen.into_inner().unwrap();
    println!("seed {}: {right} right, of which {refused} have failed and said so", seed());
    assert!(wrong.is_empty(), "{} wrong, besides {right} right ones:\n{}", wrong.len(), wrong.join("\n\n"));
}
