//! Generates the text of the demo and counts its words.
//!
//! The words are made up. Their frequencies follow Zipf's law, as in a natural language: the word of rank r is drawn 1/r
//! times as often as the first word. The text is the same on every machine.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU32, Ordering};

use hindmost_core::random::{Purpose, hash};

/// Number of different words of the language.
const WORDS: usize = 20_000;
/// Number of entries of the table from which words are drawn. Even the rarest word has an entry.
const TABLE: usize = 1 << 18;
/// Length of a line, in columns. A line ends with the first word that exceeds it.
const LINE: usize = 72;
/// Size of the pieces in which text is counted and written, in bytes.
const PIECE: usize = 1 << 20;

/// The language of the text.
pub struct Language {
    words: Vec<String>,
    /// The table from which words are drawn: ranks of words, each as often as its frequency requires.
    ranks: Vec<u16>,
}

impl Language {
    /// Creates the language. It is always the same.
    pub fn new() -> Language {
        let total: f64 = (1..=WORDS).map(|rank| 1.0 / rank as f64).sum();
        let mut ranks = Vec::with_capacity(TABLE);
        let (mut rank, mut below) = (0, 1.0);
        for at in 0..TABLE {
            let share = (at as f64 + 0.5) / TABLE as f64;
            while below < share * total && rank + 1 < WORDS {
                rank += 1;
                below += 1.0 / (rank + 1) as f64;
            }
            ranks.push(rank as u16);
        }
        Language { words: (0..WORDS).map(word).collect(), ranks }
    }
}

/// Returns the word of a rank. Frequent words are short. The words of different ranks differ.
fn word(rank: usize) -> String {
    const CONSONANTS: &[u8] = b"bdklmnrstv";
    const VOWELS: &[u8] = b"aeio";
    const SYLLABLES: usize = CONSONANTS.len() * VOWELS.len();
    // The steps through the words of one, two and three syllables. A step has no common factor with the number of these
    // words, so that different ranks give different words.
    const STEPS: [usize; 3] = [7, 613, 24_001];
    let (mut at, mut syllables, mut all) = (rank, 1, SYLLABLES);
    while at >= all && syllables < STEPS.len() {
        at -= all;
        syllables += 1;
        all *= SYLLABLES;
    }
    let mut number = at * STEPS[syllables - 1] % all;
    let mut word = String::new();
    for _ in 0..syllables {
        let syllable = number % SYLLABLES;
        number /= SYLLABLES;
        word.push(char::from(CONSONANTS[syllable / VOWELS.len()]));
        word.push(char::from(VOWELS[syllable % VOWELS.len()]));
    }
    word
}

/// The number of occurrences of each word.
#[derive(Clone, Debug, Default)]
pub struct Counts(HashMap<String, u64>);

impl Counts {
    /// Counts the words of whole lines, as the tasks do. Words are separated by spaces. Case and characters other than
    /// the letters A to Z are ignored.
    pub fn add(&mut self, text: &str) {
        let mut word = String::new();
        for piece in text.split_ascii_whitespace() {
            word.clear();
            word.extend(piece.chars().filter(char::is_ascii_alphabetic).map(|letter| letter.to_ascii_lowercase()));
            if !word.is_empty() {
                self.add_word(&word, 1);
            }
        }
    }

    fn add_word(&mut self, word: &str, count: u64) {
        match self.0.get_mut(word) {
            Some(known) => *known += count,
            None => drop(self.0.insert(word.to_owned(), count)),
        }
    }

    /// Adds the counts of another text.
    pub fn merge(&mut self, other: &Counts) {
        for (word, count) in &other.0 {
            self.add_word(word, *count);
        }
    }

    /// Returns the number of words.
    pub fn words(&self) -> u64 {
        self.0.values().sum()
    }

    /// Returns the number of different words.
    pub fn different(&self) -> u64 {
        self.0.len() as u64
    }

    /// Returns one line for each word with its count, the most frequent word first, as in the job's result.
    pub fn result(&self) -> String {
        let mut sorted: Vec<(&String, &u64)> = self.0.iter().collect();
        sorted.sort_unstable_by(|one, other| other.1.cmp(one.1).then(one.0.cmp(other.0)));
        let mut text = String::new();
        for (word, count) in sorted {
            let _ = writeln!(text, "{word} {count}");
        }
        text
    }
}

/// Writes one of the files and counts its words. The file consists of whole sentences and is `bytes` long or a little
/// longer. Returns `None` if Ctrl-C was pressed.
///
/// # Errors
/// If the file can't be written.
pub fn write(
    language: &Language,
    file: u64,
    bytes: usize,
    out: &mut impl Write,
    presses: &AtomicU32,
) -> io::Result<Option<Counts>> {
    let mut counts = Counts::default();
    let (mut piece, mut written, mut drawn, mut line) = (String::new(), 0, 0, 0);
    while written < bytes {
        piece.clear();
        while piece.len() < PIECE.min(bytes - written) {
            line = sentence(language, file, &mut drawn, line, &mut piece);
        }
        piece.push('\n');
        line = 0;
        counts.add(&piece);
        out.write_all(piece.as_bytes())?;
        written += piece.len();
        if presses.load(Ordering::Relaxed) > 0 {
            return Ok(None);
        }
    }
    Ok(Some(counts))
}

/// Appends a sentence to `text`, whose last line has `line` columns. Returns the columns of the new last line.
fn sentence(language: &Language, file: u64, drawn: &mut u64, mut line: usize, text: &mut String) -> usize {
    let mut draw = || {
        *drawn += 1;
        hash(0, Purpose::Parameter, file, *drawn)
    };
    let length = 4 + draw() % 17;
    for at in 0..length {
        let drawn = draw();
        let word = &language.words[usize::from(language.ranks[drawn as usize % TABLE])];
        if line > LINE {
            text.push('\n');
            line = 0;
        } else if line > 0 {
            text.push(' ');
            line += 1;
        }
        let begun = text.len();
        if at == 0 {
            text.push(char::from(word.as_bytes()[0].to_ascii_uppercase()));
            text.push_str(&word[1..]);
        } else {
            text.push_str(word);
        }
        if at + 1 == length {
            text.push('.');
        } else if (drawn >> 32).is_multiple_of(9) {
            text.push(',');
        }
        line += text.len() - begun;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(file: u64, bytes: usize) -> (String, Counts) {
        let mut text = Vec::new();
        let counts = write(&Language::new(), file, bytes, &mut text, &AtomicU32::new(0)).unwrap().unwrap();
        (String::from_utf8(text).unwrap(), counts)
    }

    #[test]
    fn words_are_different_and_follow_zipf() {
        let language = Language::new();
        let mut words = language.words.clone();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), WORDS);
        let (_, counts) = written(0, 3 << 20);
        let count = |rank: usize| counts.0.get(&language.words[rank]).copied().unwrap_or(0) as f64;
        for rank in [1, 9, 99] {
            let expected = count(0) / (rank + 1) as f64;
            assert!((count(rank) - expected).abs() < 6.0 * expected.sqrt(), "{rank}: {} {expected}", count(rank));
        }
        assert!(counts.different() > 19_000, "{}", counts.different());
    }

    #[test]
    fn text_is_the_same_each_time_and_different_in_each_file() {
        let (text, counts) = written(1, 3000);
        assert_eq!(text, written(1, 3000).0);
        assert_ne!(text, written(2, 3000).0);
        assert!((3000..3300).contains(&text.len()), "{}", text.len());
        assert!(text.ends_with(".\n"), "{text}");
        assert!(text.lines().all(|line| line.len() < LINE + 10 && line.trim() == line), "{text}");
        assert_eq!(counts.words(), text.split_whitespace().count() as u64);
    }

    #[test]
    fn characters_other_than_letters_are_not_counted() {
        let mut counts = Counts::default();
        counts.add("The cat, the -- dog.\nA cat's Dog!\n");
        let mut more = Counts::default();
        more.add("dog");
        counts.merge(&more);
        assert_eq!(counts.result(), "dog 3\nthe 2\na 1\ncat 1\ncats 1\n");
        assert_eq!((counts.words(), counts.different()), (8, 5));
    }

    #[test]
    fn writing_stops_after_ctrl_c() {
        let pressed = AtomicU32::new(1);
        assert!(write(&Language::new(), 0, 1 << 30, &mut io::sink(), &pressed).unwrap().is_none());
    }
}
