//! What usual programs write, from their arguments.

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

/// Programs that run the command after them, their short options that take a value, and how many operands of their own stand
/// before the command.
const WRAPPERS: [(&str, &str, usize); 22] = [
    ("env", "uCS", 0),
    ("nice", "n", 0),
    ("nohup", "", 0),
    ("time", "fo", 0),
    ("timeout", "ks", 1),
    ("sudo", "ug", 0),
    ("exec", "a", 0),
    ("command", "", 0),
    ("builtin", "", 0),
    ("stdbuf", "ioe", 0),
    ("setsid", "", 0),
    ("ionice", "cn", 0),
    ("taskset", "", 1),
    ("chrt", "", 1),
    ("flock", "wE", 1),
    ("unbuffer", "", 0),
    ("xargs", "nPILdas", 0),
    ("doas", "uC", 0),
    ("strace", "oepsuP", 0),
    ("unshare", "SGR", 0),
    ("coproc", "", 0),
    ("chronic", "", 0),
];

/// Programs whose option `-o` names no file to write.
const OTHER_O: [&str; 29] = [
    "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ps", "set", "ssh", "scp", "sftp", "mount", "find", "test", "[",
    "ls", "column", "join", "numfmt", "xargs", "od", "stat", "lsof", "useradd", "pgrep", "chown", "shopt", "read",
    "printf",
];

/// Long options that name a file or folder to write, with `=` or as two words.
const OUTPUT_OPTIONS: [&str; 14] = [
    "--output",
    "--out",
    "--outfile",
    "--output-file",
    "--output-document",
    "--outdir",
    "--out-dir",
    "--output-dir",
    "--outDir",
    "--output_dir",
    "--output-directory",
    "-out",
    "-outfile",
    "-outdir",
];

/// Programs whose last operand is a file to write, if there are at least two.
const LAST: [&str; 16] = [
    "cp",
    "mv",
    "ln",
    "install",
    "convert",
    "magick",
    "sox",
    "rsync",
    "scp",
    "pdftotext",
    "pdftoppm",
    "cwebp",
    "dot2tex",
    "gdal_translate",
    "ogr2ogr",
    "link",
];

/// Programs that change every file that they are given.
pub(super) const EACH: [&str; 16] = [
    "tee",
    "shred",
    "rm",
    "unlink",
    "dos2unix",
    "unix2dos",
    "patch",
    "jpegoptim",
    "optipng",
    "black",
    "isort",
    "rustfmt",
    "exiftool",
    "strip",
    "patchelf",
    "fallocate",
];

/// Programs that rewrite each file with this option.
const WITH_OPTION: [(&str, &str); 11] = [
    ("gofmt", "-w"),
    ("goimports", "-w"),
    ("shfmt", "-w"),
    ("prettier", "--write"),
    ("eslint", "--fix"),
    ("ruff", "--fix"),
    ("clang-format", "-i"),
    ("autopep8", "-i"),
    ("yapf", "-i"),
    ("mlr", "-I"),
    ("brotli", "-j"),
];

/// Programs that make their output anew each time, from inputs that they leave as they are.
const ANEW: [&str; 14] = [
    "convert",
    "magick",
    "sox",
    "pdftotext",
    "pdftoppm",
    "cwebp",
    "gdal_translate",
    "split",
    "cjpeg",
    "lame",
    "opusenc",
    "oggenc",
    "uniq",
    "sponge",
];

/// Parts of long options after which a program may do something else, or nothing, when it runs again.
pub(super) const OTHERWISE: [&str; 13] = [
    "append",
    "continue",
    "resume",
    "skip",
    "clobber",
    "update",
    "exist",
    "remove",
    "delete",
    "move",
    "increment",
    "in-place",
    "inplace",
];

/// Programs that download what they have not downloaded yet, or bring folders up to date.
const MORE: [&str; 8] = ["yt-dlp", "youtube-dl", "aria2c", "rclone", "rsync", "csplit", "time", "script"];

/// Programs that replace each file by another one beside it, unless an option lets them write on standard output.
pub(super) const REPLACE: [&str; 22] = [
    "gzip",
    "gunzip",
    "pigz",
    "unpigz",
    "bzip2",
    "bunzip2",
    "pbzip2",
    "lbzip2",
    "xz",
    "unxz",
    "lzma",
    "unlzma",
    "zstd",
    "unzstd",
    "lz4",
    "unlz4",
    "compress",
    "uncompress",
    "lzop",
    "flac",
    "bgzip",
    "lzip",
];

/// Stands for the words that `xargs` reads.
pub(super) const ITS_ARGUMENTS: &str = "its arguments";

/// True if a program runs the command that it is given on another machine, as another user, with other variables, or again and again.
pub(super) fn runs_elsewhere(program: &str) -> bool {
    matches!(program, "ssh" | "su" | "watch" | "parallel" | "fish")
}

/// Programs whose words name no files.
const NO_FILES: [&str; 16] = [
    "echo", "printf", "sleep", "true", "false", ":", "exit", "return", "wait", "kill", "set", "shift", "seq", "date",
    "case", "ulimit",
];

/// True if the words of a simple command name no files.
pub(super) fn names_no_files(words: &[String]) -> bool {
    let Some(program) = words.first() else { return true };
    let tests_file = |word: &String| {
        matches!(word.as_str(), "-nt" | "-ot" | "-ef")
            || word.len() == 2 && word.starts_with('-') && !matches!(word.as_str(), "-n" | "-z" | "-a" | "-o")
    };
    NO_FILES.contains(&program.as_str()) || matches!(program.as_str(), "[" | "test") && !words.iter().any(tests_file)
}

/// Programs that change no file, unless an option says so that [`written`] knows.
const READERS: [&str; 26] = [
    "cat",
    "tac",
    "grep",
    "egrep",
    "fgrep",
    "zgrep",
    "head",
    "tail",
    "wc",
    "ls",
    "cut",
    "paste",
    "tr",
    "sort",
    "uniq",
    "join",
    "comm",
    "diff",
    "cmp",
    "test",
    "[",
    "stat",
    "md5sum",
    "sha256sum",
    "zcat",
    "find",
];

/// True if the program of a simple command changes none of the files that it names.
pub(super) fn changes_nothing(program: &str, words: &[String]) -> bool {
    let arguments = words.get(1..).unwrap_or_default();
    let is_reader = READERS.contains(&program)
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
        let wrapper = WRAPPERS.iter().find(|(wrapper, ..)| *wrapper == name);
        let inner = wrapper.map_or(&[][..], |wrapper| wrapped(*wrapper, arguments));
        if inner.is_empty() {
            return Some((name.to_owned(), arguments.iter().cloned().chain(more).collect()));
        }
        if name == "xargs" {
            more = Some(ITS_ARGUMENTS.to_owned());
        }
        words = inner;
    }
}

/// Returns the command that one of the [`WRAPPERS`] runs.
fn wrapped<'a>((name, with_value, operands): (&str, &str, usize), arguments: &'a [String]) -> &'a [String] {
    if name == "time" && arguments.first().is_some_and(|word| word == "-o" || word.starts_with("--output")) {
        // It writes a file itself.
        return &[];
    }
    let (mut rest, mut operands) = (arguments, operands);
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
        _ if long().any(|word| OTHERWISE.iter().any(|part| word.contains(part))) || MORE.contains(&program) => {
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
        _ if ANEW.contains(&program) => return true,
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
        if OUTPUT_OPTIONS.contains(&word.as_str()) {
            // Without a value it may be a switch.
            files.extend(next().filter(|next| !next.starts_with("--")));
        } else if let Some((_, value)) = word.split_once('=').filter(|(option, _)| OUTPUT_OPTIONS.contains(option)) {
            files.push(value.to_owned());
        } else if word == "-o" && !OTHER_O.contains(&program)
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
        _ if EACH.contains(&program) => Written::Files(all()),
        _ if WITH_OPTION.iter().any(|(name, option)| *name == program && has_long(option)) => Written::Files(all()),
        "rename" | "prename" | "rename.ul" => Written::Files(all().into_iter().skip(1).collect()),
        "jar" if operands.first().is_some_and(|word| word.contains('u')) => {
            file(operands.get(1).map(|word| (*word).clone()))
        }
        "crudini" if has_long("--set") || has_long("--del") => file(operands.first().map(|word| (*word).clone())),
        _ if LAST.contains(&program) => {
            let takes_target = matches!(program, "cp" | "mv" | "ln" | "install");
            let target = value_of(arguments, &["-t", "--target-directory"]).filter(|_| takes_target);
            file(target.or_else(|| last(2)))
        }
        _ if REPLACE.contains(&program) => {
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
