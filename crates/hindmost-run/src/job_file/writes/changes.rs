//! Which files a program changes that does not write its outputs from their beginnings.
//!
//! A restart relies on this list being complete, so only programs and options are known here that change nothing else. Files too many
//! do no harm.

use super::arguments::{is_flag, is_in_place, operands, tar_letters, value_of, writes_by_sed};
use super::programs::{KNOWN, is_in};

/// What programs that replace files append to their names.
const SUFFIXES: [&str; 11] = [".gz", ".bz2", ".xz", ".lzma", ".zst", ".lz4", ".Z", ".lzo", ".flac", ".z", ".tgz"];

/// Words of statements by which a database writes or reads other files.
const OTHER_FILES: [&str; 8] = ["attach", "copy ", "export", ".output", ".once", ".backup", ".save", ".read"];

/// Returns all files that a program changes; `None` if they are not known.
pub(super) fn of(program: &str, arguments: &[String]) -> Option<Vec<String>> {
    let has_long = |part: &str| arguments.iter().any(|word| word.starts_with("--") && word.contains(part));
    let is_edited = arguments.iter().any(|word| is_in_place(word) || word.starts_with("--in-place"));
    if KNOWN.otherwise.iter().any(|part| !matches!(part.as_str(), "in-place" | "append" | "update") && has_long(part)) {
        return None;
    }
    let operands: Vec<String> = operands(arguments).into_iter().cloned().collect();
    match program {
        "sed" if is_edited && !arguments.iter().any(|word| writes_by_sed(word)) => {
            without_script(&operands, arguments, &['e', 'f'])
        }
        "perl" | "ruby" if is_edited => without_script(&operands, arguments, &['e', 'E']),
        "yq" | "xmlstarlet" | "xml" => operands.last().cloned().map(|file| vec![file]).filter(|_| operands.len() <= 3),
        _ if is_in(&KNOWN.replace, program) && (arguments.iter().any(|word| is_flag(word, 'r')) || has_long("rec")) => {
            None
        }
        _ if is_in(&KNOWN.replace, program) => Some(operands.iter().flat_map(|file| replaced(file)).collect()),
        "rm" if arguments.iter().any(|word| is_flag(word, 'r') || is_flag(word, 'R')) || has_long("rec") => None,
        "patch" => Some(operands.into_iter().flat_map(|file| with(&file, &[".orig", ".rej"])).collect()),
        _ if is_in(&KNOWN.each, program) => Some(operands),
        "mv" | "ln" | "link" | "rmdir" | "mkfifo" | "mkdir" | "truncate" | "ed" | "ar" => Some(operands),
        "cp" | "install"
            if !arguments.iter().any(|word| is_flag(word, 'r') || is_flag(word, 'R') || is_flag(word, 'a')) =>
        {
            Some(operands)
        }
        "dd" => Some(arguments.iter().filter_map(|word| word.strip_prefix("of=")).map(str::to_owned).collect()),
        "tar" | "bsdtar" | "gtar"
            if !tar_letters(arguments).contains(['x', 'g', 'M']) && !has_long("extract") && !has_long("get") =>
        {
            Some(operands)
        }
        "zip" if !arguments.iter().any(|word| is_flag(word, 'm')) => Some(with(operands.first()?, &[".zip"])),
        "sqlite3" | "duckdb" => {
            let text = arguments.join(" ").to_lowercase();
            let is_alone = !OTHER_FILES.iter().any(|word| text.contains(word));
            is_alone.then_some(with(operands.first()?, &["-wal", "-journal", ".wal"]))
        }
        "pg_dump" | "pg_dumpall" => Some(vec![value_of(arguments, &["-f"])?]),
        "mysqldump" => Some(vec![value_of(arguments, &["-r"])?]),
        "wget" => Some(vec![value_of(arguments, &["-O", "-qO"])?]),
        _ => None,
    }
}

/// Returns the operands of an editor of streams that are no script. `with_script` are the letters of options with a script.
fn without_script(operands: &[String], arguments: &[String], with_script: &[char]) -> Option<Vec<String>> {
    // What follows `--` is no option.
    let end = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
    let (arguments, after) = arguments.split_at(end);
    let takes = |word: &String| with_script.iter().any(|letter| is_flag(word, *letter));
    if !arguments.iter().any(takes) {
        return operands.get(1..).map(<[String]>::to_vec);
    }
    // The word after an option that ends in its letter is the script.
    let is_script = |at: usize| at > 0 && takes(&arguments[at - 1]) && arguments[at - 1].ends_with(with_script);
    let files = arguments.iter().enumerate().filter(|(at, word)| !word.starts_with('-') && !is_script(*at));
    Some(files.map(|(_, word)| word.clone()).chain(after.iter().skip(1).cloned()).collect())
}

/// Returns a file and those by which a program may replace it.
fn replaced(file: &str) -> Vec<String> {
    let mut files = with(file, &SUFFIXES);
    if let Some((stem, _)) = file.rsplit_once('.') {
        files.extend([stem.to_owned(), format!("{stem}.tar"), format!("{stem}.wav")]);
    }
    files
}

fn with(file: &str, suffixes: &[&str]) -> Vec<String> {
    std::iter::once(file.to_owned()).chain(suffixes.iter().map(|suffix| format!("{file}{suffix}"))).collect()
}
