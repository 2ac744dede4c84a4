//! What usual programs write, from their arguments.

use std::sync::LazyLock;

use serde::Deserialize;

use super::arguments::{
    creates, is_flag, is_in_place, joined, mounts, only_reads, operands, prints_to, tar_letters, value_of,
    writes_by_sed,
};

/// What a program writes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// Nothing but its standard output, as far as its arguments show.
    Nothing,
    /// These files.
    Files(Vec<String>),
    /// Files in the folder in which it runs. The text says what.
    InFolder(String),
    /// What the command with this text writes.
    By(String),
    /// What the command with these words writes.
    ByWords(Vec<String>),
}

/// What `programs.toml` says about programs. Its comments say what the lists are.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Known {
    wrappers: Vec<(String, String, usize)>,
    other_o: Vec<String>,
    output_options: Vec<String>,
    last: Vec<String>,
    pub(super) each: Vec<String>,
    with_option: Vec<(String, String)>,
    anew: Vec<String>,
    pub(super) otherwise: Vec<String>,
    more: Vec<String>,
    pub(super) replace: Vec<String>,
    no_files: Vec<String>,
    readers: Vec<String>,
}

/// The file `programs.toml`.
pub(super) static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    toml::from_str(include_str!("programs.toml")).expect("the file is part of the program, and valid")
});

/// True if a word is one of the list.
pub(super) fn is_in(list: &[String], word: &str) -> bool {
    list.iter().any(|known| known == word)
}

/// Stands for the words that `xargs` reads.
pub(super) const ITS_ARGUMENTS: &str = "its arguments";

/// True if a program runs the command that it is given on another machine, as another user, with other variables, or again and again.
pub(super) fn runs_elsewhere(program: &str) -> bool {
    matches!(program, "ssh" | "su" | "watch" | "parallel" | "fish")
}

/// True if the words of a simple command name no files.
pub(super) fn names_no_files(words: &[String]) -> bool {
    let Some(program) = words.first() else { return true };
    let tests_file = |word: &String| {
        matches!(word.as_str(), "-nt" | "-ot" | "-ef")
            || word.len() == 2 && word.starts_with('-') && !matches!(word.as_str(), "-n" | "-z" | "-a" | "-o")
    };
    is_in(&KNOWN.no_files, program) || matches!(program.as_str(), "[" | "test") && !words.iter().any(tests_file)
}

/// True if the program of a simple command changes none of the files that it names.
pub(super) fn changes_nothing(program: &str, words: &[String]) -> bool {
    let arguments = words.get(1..).unwrap_or_default();
    let is_reader = is_in(&KNOWN.readers, program)
        || matches!(program, "awk" | "gawk" | "sed")
        || matches!(program, "sqlite3" | "duckdb") && arguments.iter().any(|word| word == "-readonly");
    is_reader && written(program, arguments) == Written::Nothing
}

/// True if a simple command takes names of files from elsewhere than its words.
pub(super) fn reads_names(program: &str, words: &[String]) -> bool {
    let is = |word: &String, names: &[&str]| names.contains(&word.rsplit('/').next().unwrap_or(word));
    words.iter().any(|word| is(word, &["xargs"]))
        || matches!(program, "parallel" | "eval" | "fd" | "fdfind")
        || program == "find" && words.iter().any(|word| is(word, &["-exec", "-execdir", "-ok", "-okdir", "-delete"]))
}

/// True if the program of a simple command does not run in the folder in which the command is.
pub(super) fn moves(words: &[String]) -> bool {
    let changes_folder = |word: &String| word.starts_with("-C") || word.starts_with("--ch");
    let is_login = |word: &String| {
        is_flag(word, 'i') || word.starts_with("--login") || word.starts_with("--ch") || word.starts_with("-D")
    };
    match words.first().map(String::as_str) {
        Some("env") => words.iter().any(changes_folder),
        Some("sudo") => words.iter().any(is_login),
        Some(name) => name == "popd",
        None => false,
    }
}

/// Returns the program that a simple command runs, without its folder, and its arguments.
pub(super) fn program(words: &[String]) -> Option<(String, Vec<String>)> {
    let mut words = words;
    let mut more = None;
    loop {
        let (first, arguments) = words.split_first()?;
        let name = first.rsplit('/').next().unwrap_or(first);
        let wrapper = KNOWN.wrappers.iter().find(|(wrapper, ..)| *wrapper == name);
        let inner = wrapper.map_or(&[][..], |wrapper| wrapped(wrapper, arguments));
        if inner.is_empty() {
            return Some((name.to_owned(), arguments.iter().cloned().chain(more).collect()));
        }
        if name == "xargs" {
            more = Some(ITS_ARGUMENTS.to_owned());
        }
        words = inner;
    }
}

/// Returns the command that one of the wrappers runs.
fn wrapped<'a>((name, with_value, operands): &(String, String, usize), arguments: &'a [String]) -> &'a [String] {
    if name == "time" && arguments.first().is_some_and(|word| word == "-o" || word.starts_with("--output")) {
        // It writes a file itself.
        return &[];
    }
    let (mut rest, mut operands) = (arguments, *operands);
    while let Some((word, after)) = rest.split_first() {
        let is_option = word.starts_with('-') && word.len() > 1;
        let takes_value = is_option && word.len() == 2 && with_value.contains(&word[1..]);
        if takes_value && !after.is_empty() {
            rest = &after[1..];
        } else if is_option || name == "env" && word.contains('=') {
            rest = after;
        } else if operands > 0 {
            operands -= 1;
            rest = after;
        } else {
            break;
        }
    }
    rest
}

/// Returns what a program writes.
pub(super) fn written(program: &str, arguments: &[String]) -> Written {
    match program {
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" | "mksh" => {
            let option = arguments.iter().position(|word| is_flag(word, 'c'));
            let text = option.and_then(|at| arguments.get(at + 1));
            let has_script = arguments.iter().any(|word| !word.starts_with('-'));
            return match text {
                Some(text) => Written::By(text.clone()),
                // A script of the user's. Without one, the commands come from elsewhere.
                None if has_script && !arguments.iter().any(|word| word == "-s") => Written::Nothing,
                None => Written::InFolder("what its shell reads".to_owned()),
            };
        }
        "trap" => return arguments.first().map_or(Written::Nothing, |text| Written::By(text.clone())),
        "ssh" | "su" | "watch" | "parallel" | "fish" => {
            return arguments.last().map_or(Written::Nothing, |text| Written::By(text.clone()));
        }
        "busybox" => return Written::ByWords(arguments.to_vec()),
        "eval" => return Written::By(arguments.join(" ")),
        "find" => return find(arguments),
        _ => {}
    }
    let mut files = named(program, arguments);
    match special(program, arguments) {
        Written::Files(more) => files.extend(more),
        Written::Nothing => {}
        other => return if files.is_empty() { other } else { Written::Files(files) },
    }
    if files.is_empty() { Written::Nothing } else { Written::Files(files) }
}

/// True if a program writes its files from their beginnings, as `-o` and `tee` do, and has the same effect if it runs again.
pub(super) fn may_repeat(program: &str, arguments: &[String]) -> bool {
    let has = |what: &str| arguments.iter().any(|word| word.contains(what));
    let long = || arguments.iter().filter(|word| word.starts_with("--"));
    match program {
        // Long options may be abbreviated.
        "tee" => return !arguments.iter().any(|word| is_flag(word, 'a') || word.starts_with("--a")),
        _ if long().any(|word| KNOWN.otherwise.iter().any(|part| word.contains(part)))
            || is_in(&KNOWN.more, program) =>
        {
            return false;
        }
        "curl" | "wget"
            if ["-C", "-c", "-d", "-X", "-T", "-F"].iter().any(|flag| arguments.iter().any(|word| word == flag)) =>
        {
            return false;
        }
        "dd" => return !["notrunc", "append", "seek="].into_iter().any(has),
        // A new archive, not one to which it adds.
        "tar" | "bsdtar" | "gtar" => return creates(arguments),
        "cp" => {
            let is_harmless = |word: &String| word[1..].chars().all(|flag| "fpvLdP".contains(flag));
            return arguments.iter().filter(|word| word.starts_with('-')).all(is_harmless);
        }
        _ if is_in(&KNOWN.anew, program) => return true,
        _ => {}
    }
    program != "find" && matches!(special(program, arguments), Written::Nothing)
}

/// Returns the files that options name which mean the same for most programs.
fn named(program: &str, arguments: &[String]) -> Vec<String> {
    let mut files = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        let next = || arguments.get(at + 1).cloned();
        if word == "--" {
            break;
        }
        if is_in(&KNOWN.output_options, word) {
            // Without a value it may be a switch.
            files.extend(next().filter(|next| !next.starts_with("--")));
        } else if let Some((_, value)) = word.split_once('=').filter(|(option, _)| is_in(&KNOWN.output_options, option))
        {
            files.push(value.to_owned());
        } else if word == "-o" && !is_in(&KNOWN.other_o, program)
            || matches!(program, "sort" | "curl") && is_flag(word, 'o') && word.ends_with('o')
        {
            files.extend(next());
        } else if matches!(program, "sort" | "gcc" | "cc" | "g++" | "clang" | "curl") && word.starts_with("-o") {
            files.push(word[2..].to_owned());
        }
    }
    files
}

/// Returns what programs write that have rules of their own.
fn special(program: &str, arguments: &[String]) -> Written {
    let has = |flag: char| arguments.iter().any(|word| is_flag(word, flag));
    let has_long = |option: &str| arguments.iter().any(|word| word == option);
    let operands = operands(arguments);
    let all = || operands.iter().map(|word| (*word).clone()).collect::<Vec<_>>();
    let last = |least: usize| operands.last().filter(|_| operands.len() >= least).map(|word| (*word).clone());
    let file = |file: Option<String>| Written::Files(file.into_iter().collect());
    let parts = || Written::InFolder("its parts".to_owned());
    match program {
        "patch" if operands.is_empty() => Written::InFolder("what it patches".to_owned()),
        _ if is_in(&KNOWN.each, program) => Written::Files(all()),
        _ if KNOWN.with_option.iter().any(|(name, option)| *name == program && has_long(option)) => {
            Written::Files(all())
        }
        "rename" | "prename" | "rename.ul" => Written::Files(all().into_iter().skip(1).collect()),
        "jar" if operands.first().is_some_and(|word| word.contains('u')) => {
            file(operands.get(1).map(|word| (*word).clone()))
        }
        "crudini" if has_long("--set") || has_long("--del") => file(operands.first().map(|word| (*word).clone())),
        _ if is_in(&KNOWN.last, program) => {
            let takes_target = matches!(program, "cp" | "mv" | "ln" | "install");
            let target = value_of(arguments, &["-t", "--target-directory"]).filter(|_| takes_target);
            file(target.or_else(|| last(2)))
        }
        _ if is_in(&KNOWN.replace, program) => {
            let on_stdout = has('c') || ["--stdout", "--to-stdout"].into_iter().any(has_long);
            let only_looks = ["-t", "-l", "--test", "--list"].into_iter().any(has_long);
            let is_named = arguments.iter().any(|word| matches!(word.as_str(), "-o" | "--output-name"));
            if on_stdout || only_looks || is_named {
                file(value_of(arguments, &["--output-name"]))
            } else if matches!(program, "lz4" | "unlz4") {
                // From the first file into the second.
                file(last(1))
            } else {
                Written::Files(all())
            }
        }
        "sed" if arguments.iter().any(|word| word.starts_with("--in-place") || is_in_place(word)) => file(last(1)),
        "awk" | "gawk" if value_of(arguments, &["-i", "--include"]).as_deref() == Some("inplace") => file(last(1)),
        "sed" if arguments.iter().any(|word| writes_by_sed(word)) => {
            Written::InFolder("a file that its sed script names".to_owned())
        }
        // Each source without -o becomes an object of its name.
        "gcc" | "cc" | "g++" | "c++" | "clang" | "clang++" | "rustc" if named(program, arguments).is_empty() => {
            let looks = ["-E", "-M", "-MM", "-fsyntax-only", "--version", "-v"].into_iter().any(has_long);
            if looks { Written::Nothing } else { Written::InFolder("what it compiles".to_owned()) }
        }
        "make" | "gmake" | "ninja" if value_of(arguments, &["-C", "--directory"]).is_some() => {
            file(value_of(arguments, &["-C", "--directory"]))
        }
        "make" | "gmake" | "ninja" | "cmake" | "meson" | "cargo" | "npm" | "snakemake" | "nextflow" => {
            Written::InFolder("what it builds".to_owned())
        }
        "pdftotext" if operands.len() == 1 => Written::InFolder("a file beside its own".to_owned()),
        "rmdir" | "mkfifo" => Written::Files(all()),
        "truncate" => file(last(1)),
        "mogrify" => Written::InFolder("the pictures that it changes".to_owned()),
        "yq" if has('i') => file(last(1)),
        "xmlstarlet" | "xml" if has('L') => file(last(1)),
        _ if arguments.iter().any(|word| word.starts_with("--in-place") || word.starts_with("--inplace")) => {
            file(last(1))
        }
        // What runs in a container has no open files that can be seen from here.
        "docker" | "podman" | "nerdctl" if arguments.iter().any(|word| mounts(word)) => {
            Written::InFolder("what is mounted into its container".to_owned())
        }
        "pg_dump" | "pg_dumpall" => file(value_of(arguments, &["-f", "--file"])),
        "mysqldump" => file(value_of(arguments, &["-r", "--result-file"])),
        "gpg" | "gpg2" if value_of(arguments, &["-o", "--output"]).is_none() => {
            Written::InFolder("a file beside its own".to_owned())
        }
        "sponge" | "ex" | "ed" | "vi" | "vim" => file(last(1)),
        "perl" | "ruby" if arguments.iter().any(|word| is_in_place(word)) => file(last(1)),
        "awk" | "gawk" | "mawk" | "nawk" => {
            let writes = |text: &&String| {
                text.split([';', '\n', '}'])
                    .any(|statement| statement.split_once("print").is_some_and(|(_, rest)| prints_to(rest)))
            };
            // Its program takes the attempt's folder from `ENVIRON` or from an option such as `-v to="$HINDMOST_OUTPUT"`.
            let has_own_folder = arguments.iter().any(|word| word.contains("HINDMOST_OUTPUT"));
            match arguments.iter().find(writes) {
                Some(_) if !has_own_folder => Written::InFolder("a file that its awk program names".to_owned()),
                _ => Written::Nothing,
            }
        }
        "dd" => {
            Written::Files(arguments.iter().filter_map(|word| word.strip_prefix("of=")).map(str::to_owned).collect())
        }
        // It fails if the folder is there.
        "mkdir" if !has('p') && !has_long("--parents") => Written::Files(operands.into_iter().cloned().collect()),
        "tar" | "bsdtar" | "gtar" => tar(arguments),
        "7z" | "7za" | "rar" | "unrar" if operands.first().is_some_and(|word| matches!(word.as_str(), "x" | "e")) => {
            let is_on_stdout = has_long("-so");
            match joined(arguments, "-o").filter(|_| program.starts_with('7')) {
                _ if is_on_stdout => Written::Nothing,
                Some(folder) => file(Some(folder)),
                None => Written::InFolder("what it unpacks".to_owned()),
            }
        }
        "dot" | "neato" | "fdp" | "sfdp" | "circo" | "twopi" if has('O') => {
            Written::InFolder("a file beside its own".to_owned())
        }
        "script" => file(last(1).or_else(|| Some("typescript".to_owned()))),
        "zip" => file(operands.first().map(|word| (*word).clone())),
        // The first word is what they do.
        "7z" | "7za" | "ar" | "rar" => file(operands.get(1).map(|word| (*word).clone())),
        "unzip" if !has('p') && !has('l') && !has('t') => match value_of(arguments, &["-d"]) {
            Some(folder) => file(Some(folder)),
            None => Written::InFolder("what it unpacks".to_owned()),
        },
        "wget" => match value_of(arguments, &["-O", "-qO", "-P", "--directory-prefix"])
            .or_else(|| joined(arguments, "-O"))
            .or_else(|| joined(arguments, "-qO"))
        {
            Some(target) => file(Some(target)),
            None => Written::InFolder("what it downloads".to_owned()),
        },
        "curl" if has('O') || has_long("--remote-name") => Written::InFolder("what it downloads".to_owned()),
        // One chunk, on standard output.
        "split" if value_of(arguments, &["-n"]).is_some_and(|chunks| chunks.split('/').count() == 3) => {
            Written::Nothing
        }
        "split" => {
            let mut rest = arguments.iter();
            let mut operands = Vec::new();
            while let Some(word) = rest.next() {
                match word.as_str() {
                    "-l" | "-n" | "-b" | "-a" | "-C" => _ = rest.next(),
                    _ if word.starts_with('-') && word.len() > 1 => {}
                    _ => operands.push(word),
                }
            }
            operands.get(1).map_or_else(parts, |prefix| file(Some((*prefix).clone())))
        }
        "csplit" => parts(),
        "sqlite3" | "duckdb"
            if !has_long("-readonly") && !operands.get(1).is_some_and(|statement| only_reads(statement)) =>
        {
            file(operands.first().filter(|database| **database != ":memory:").map(|word| (*word).clone()))
        }
        "ffmpeg" | "avconv" => {
            // Outputs follow options; the values of these look like operands, but the last word is always an output.
            file(arguments.last().filter(|word| !word.starts_with('-') || *word == "-").cloned())
        }
        "cjpeg" | "lame" | "opusenc" | "oggenc" | "uniq" | "xxd" => file(last(2)),
        "git" => match operands.first().map(|word| word.as_str()) {
            Some(
                "clone" | "checkout" | "commit" | "pull" | "fetch" | "reset" | "merge" | "add" | "am" | "apply"
                | "config",
            ) => Written::InFolder("its repository".to_owned()),
            _ => Written::Nothing,
        },
        _ => Written::Nothing,
    }
}

fn tar(arguments: &[String]) -> Written {
    let letters = tar_letters(arguments);
    let has = |letter: char, long: &str| letters.contains(letter) || arguments.iter().any(|word| word == long);
    let archive = || {
        let at = arguments.iter().position(|word| {
            let is_bundle = !word.starts_with("--") && word.trim_start_matches('-').ends_with('f');
            (is_bundle && (word.starts_with('-') || word.chars().all(|sign| sign.is_ascii_alphabetic())))
                || word == "--file"
        });
        let value = at.and_then(|at| arguments.get(at + 1)).cloned();
        value.or_else(|| joined(arguments, "--file=")).into_iter().collect()
    };
    let changes =
        || has('A', "--catenate") || arguments.iter().any(|word| matches!(word.as_str(), "--concatenate" | "--delete"));
    if creates(arguments) || has('r', "--append") || has('u', "--update") || changes() {
        Written::Files(archive())
    } else if has('x', "--extract") && !has('O', "--to-stdout") {
        match value_of(arguments, &["-C", "--directory"]).or_else(|| joined(arguments, "--directory=")) {
            Some(folder) => Written::Files(vec![folder]),
            None => Written::InFolder("what it unpacks".to_owned()),
        }
    } else {
        Written::Nothing
    }
}

fn find(arguments: &[String]) -> Written {
    if arguments.iter().any(|word| word == "-delete") {
        return Written::InFolder("what it deletes".to_owned());
    }
    let prints = ["-fprint", "-fprintf", "-fprint0", "-fls"];
    if let Some(file) = value_of(arguments, &prints) {
        return Written::Files(vec![file]);
    }
    let is_exec = |word: &String| ["-exec", "-execdir", "-ok", "-okdir"].contains(&word.as_str());
    let Some(at) = arguments.iter().position(is_exec) else { return Written::Nothing };
    Written::ByWords(
        arguments[at + 1..].iter().take_while(|word| !matches!(word.as_str(), ";" | "+")).cloned().collect(),
    )
}
