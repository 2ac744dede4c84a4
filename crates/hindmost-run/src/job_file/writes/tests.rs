use serde::Deserialize;

use super::{Repeats, written};

/// The file `commands.toml`, whose comments say what its lists are.
#[derive(Deserialize)]
struct Commands {
    safe: Vec<String>,
    written: Vec<[String; 2]>,
    repeats: Vec<String>,
    does_not_repeat: Vec<String>,
    until_changed: Vec<[String; 2]>,
    unknown: Vec<String>,
    named: Vec<String>,
    filled_in: Vec<String>,
}

fn commands() -> Commands {
    toml::from_str(include_str!("commands.toml")).unwrap()
}

#[test]
fn standard_output_and_the_attempts_own_folder_are_safe() {
    for command in &commands().safe {
        assert_eq!(written(command), None, "{command}");
    }
}

#[test]
fn files_that_all_attempts_of_a_task_name_are_found() {
    for [command, file] in &commands().written {
        assert_eq!(written(command).map(|found| found.file).as_deref(), Some(&**file), "{command}");
    }
}

#[test]
fn any_text_is_read_to_its_end() {
    let signs =
        ["'", "\"", "\\", "$(", "`", "<<", "<<-E", ">", ">(", "((", "[[", "{", "}", "#", "\n", "a", " ", "&", "|", ")"];
    for first in signs {
        for second in signs {
            for third in signs {
                let _ = written(&format!("{first}{second}{third}"));
                let _ = written(&format!("{first}é{second} {third}"));
            }
        }
    }
}

#[test]
fn commands_may_repeat_if_they_write_from_the_beginning() {
    let Commands { repeats, does_not_repeat, .. } = commands();
    let all =
        repeats.iter().map(|command| (command, true)).chain(does_not_repeat.iter().map(|command| (command, false)));
    for (command, may_repeat) in all {
        let repeats = written(command).map(|found| found.repeats);
        assert_eq!(repeats == Some(Repeats::Always), may_repeat, "{command}: {repeats:?}");
    }
}

/// Returns the files that decide whether a command may repeat, those that are seen by their position with `+`.
fn to_check(command: &str) -> Option<String> {
    let shown = |one: &super::Changed| {
        let sign = if one.by_state { "" } else { "+" };
        format!("{sign}{}", one.file)
    };
    super::noted(command).to_check(command).map(|all| all.iter().map(shown).collect::<Vec<_>>().join(" "))
}

#[test]
fn commands_may_repeat_until_they_change_files() {
    for [command, files] in &commands().until_changed {
        assert_eq!(to_check(command).as_deref(), Some(&**files), "{command}");
        assert_eq!(written(command).map(|found| found.repeats), Some(Repeats::UntilItChanges), "{command}");
    }
    let packed = to_check("gzip -9 {}.txt").unwrap();
    assert!(
        packed.split(' ').any(|file| file == "{}.txt.gz") && packed.split(' ').any(|file| file == "{}.txt"),
        "{packed}"
    );
    assert!(to_check("gunzip a.gz").unwrap().split(' ').any(|file| file == "a"));
}

#[test]
fn what_a_command_may_have_changed_is_not_always_known() {
    for command in &commands().unknown {
        let is_known = written(command).is_some_and(|found| found.repeats != Repeats::Never && found.shows_files);
        assert!(!is_known, "{command}: {:?}", to_check(command));
    }
    assert_eq!(super::named("sed -i s/a/b/ \u{fffd}"), None);
}

#[test]
fn what_a_command_names_is_known_unless_the_shell_fills_it_in() {
    let Commands { named, filled_in, .. } = commands();
    let all = named.iter().map(|command| (command, true)).chain(filled_in.iter().map(|command| (command, false)));
    for (command, shown) in all {
        assert_eq!(super::named(command).is_some(), shown, "{command}");
        assert_eq!(written(command).map_or(shown, |found| found.shows_files), shown, "{command}");
    }
    let named = super::named("cd sub; ./tool -x --log={}.log -o {}.o {} < list > {}.out").unwrap();
    let files: Vec<&str> = named.files.iter().map(|file| &*file.file).collect();
    assert_eq!(named.base.as_deref(), Some("sub"));
    assert_eq!(named.written_anew, ["{}.out", "{}.o"]);
    for file in ["./tool", "{}.log", "{}", "list"] {
        assert!(files.contains(&file), "{file}: {files:?}");
    }
    assert!(!files.contains(&"{}.out") && !files.contains(&"{}.o"), "{files:?}");
    let named = super::named("mkdir -p o && cat a; grep x b; sed s/a/b/ c; sed -i s/a/b/ d; work e").unwrap();
    let only_read = |file: &str| named.files.iter().find(|found| found.file == file).map(|found| found.is_only_read);
    assert_eq!(["a", "b", "c", "d", "e"].map(only_read), [true, true, true, false, false].map(Some));
    assert_eq!(only_read("o"), None);
}

#[test]
fn a_command_that_changes_its_input_is_known() {
    for (command, changes) in [
        ("sed -i s/a/b/ \"$HINDMOST_INPUT\"", true),
        ("gzip ${HINDMOST_INPUT}", true),
        ("sort $HINDMOST_INPUT > t; mv t $HINDMOST_INPUT", true),
        ("work >> \"$HINDMOST_INPUT.log\"", false),
        ("sort $HINDMOST_INPUT > $HINDMOST_OUTPUT/x", false),
        ("cp $HINDMOST_INPUT x", false),
    ] {
        assert_eq!(super::writes_value_of(command, "HINDMOST_INPUT"), changes, "{command}");
    }
}

#[test]
fn only_a_trap_that_ends_the_command_cleans_up() {
    for (command, ends) in [
        ("trap 'rm -f x; exit 1' TERM; work {}", true),
        ("trap \"docker stop $name; exit\" TERM INT\ndocker run x", true),
        ("trap 'rm -f x' EXIT; work {}", false),
        ("trap 'echo exit' TERM; work {}", false),
        ("trap cleanup TERM; work {}", false),
        ("work trap {}", false),
    ] {
        assert_eq!(super::cleans_up(command.as_ref()), ends, "{command}");
    }
}
