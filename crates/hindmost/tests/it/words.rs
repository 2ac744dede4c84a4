//! Words that the project's texts do not use, because a standard term exists for each of them.

use std::fs;
use std::path::{Path, PathBuf};

/// Words to avoid, and what to write instead. A word matches in any case, and as a part of a name between underscores.
const AVOIDED: [(&[&str], &str); 13] = [
    (&["room", "rooms"], "free resources, capacity, space"),
    (&["redundancy rule", "redundancy rules"], "speculation policy"),
    (&["further copy", "further copies", "copy beside", "copies beside"], "clone, backup"),
    (&["heir", "heirs"], "replacement"),
    (&["living", "alive", "at work"], "running"),
    (&["outrun", "outran"], "overtaken"),
    (&["afresh"], "anew, relaunched"),
    (&["held by losers"], "wasted slot-time"),
    (&["rehearse", "rehearsed", "rehearsal", "rehearsals"], "fault injection"),
    (&["told", "tell", "tells", "telling"], "prints, reports, shows, says, is notified"),
    (&["asked", "asks", "hear", "hears", "heard"], "requests, returns, receives, observes"),
    (&["by itself", "by themselves", "mere", "merely"], "leave it out"),
    (&["ours", "come of", "comes of", "came of"], "name what is meant"),
];

/// Names of file formats that contain an avoided word and may not change.
const RIGHT: [&str; 5] = [
    "\"outrun\"",
    "`outrun`",
    "\"room\"",
    // Quotes of papers.
    "only room to make clones",
    "large room for making clones",
];

/// Adds the source and text files below a folder to `found`.
fn text_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if entry.file_type().unwrap().is_dir() {
            if !name.starts_with('.') && !["target", "corpus", "artifacts"].contains(&&*name) {
                text_files(&path, found);
            }
        } else if [".rs", ".md", ".snap"].iter().any(|end| name.ends_with(end)) && name != "words.rs" {
            found.push(path);
        }
    }
}

/// Returns true if a line contains the word as a whole word, or between underscores.
fn holds(line: &str, word: &str) -> bool {
    let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    line.match_indices(word)
        .any(|(at, _)| !is_letter(line[..at].chars().next_back()) && !is_letter(line[at + word.len()..].chars().next()))
}

#[test]
fn texts_use_the_standard_terms() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    text_files(&root, &mut files);
    assert!(files.len() > 300, "{} files", files.len());
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for (number, line) in (1..).zip(text.lines()) {
            let line = RIGHT.iter().fold(line.to_lowercase(), |line, right| line.replace(right, ""));
            for (words, instead) in AVOIDED {
                if let Some(word) = words.iter().find(|word| holds(&line, word)) {
                    let shown = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
                    found.push(format!("{shown}:{number}: \"{word}\"; standard: {instead}"));
                }
            }
        }
    }
    assert!(found.is_empty(), "{} lines with words to avoid:\n{}", found.len(), found.join("\n"));
}

#[test]
fn a_part_of_a_longer_word_does_not_count() {
    assert!(holds("has_room(", "room") && holds("told", "told"));
    assert!(!holds("stalling mushrooms", "room") && !holds("hearty", "hear"));
}
