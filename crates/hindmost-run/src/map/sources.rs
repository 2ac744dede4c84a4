//! Input sources: where values come from (`::: VALUES`, `:::: FILES`, `-a FILE`, standard input), and how text becomes values.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use super::MapError;
use super::columns::is_space;

/// Where the values of one input source come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// Values on the command line.
    Values(Vec<Vec<u8>>),
    /// A file with one value on each line; `-` is standard input.
    File(PathBuf),
}

/// The words after the options: the template, and the input sources after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// The words of the template.
    pub template: Vec<Vec<u8>>,
    /// The sources, each with whether it is linked to the one before it (`:::+`, `::::+`).
    pub sources: Vec<(Given, bool)>,
}

/// Splits the words of the command line at `:::`, `::::`, `:::+` and `::::+`.
pub fn split_words(words: Vec<Vec<u8>>) -> Words {
    let mut split = Words::default();
    // True between `::::` and the next separator.
    let mut in_files = false;
    let mut is_linked = false;
    let mut before_sources = true;
    for word in words {
        match &word[..] {
            b":::" | b":::+" => {
                (in_files, before_sources) = (false, false);
                split.sources.push((Given::Values(Vec::new()), word.ends_with(b"+")));
            }
            b"::::" | b"::::+" => {
                (in_files, before_sources) = (true, false);
                is_linked = word.ends_with(b"+");
            }
            _ if before_sources => split.template.push(word),
            _ if in_files => split.sources.push((Given::File(path(word)), is_linked)),
            _ => {
                if let Some((Given::Values(values), _)) = split.sources.last_mut() {
                    values.push(word);
                }
            }
        }
    }
    split
}

fn path(word: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    PathBuf::from(std::ffi::OsString::from_vec(word))
}

/// How the text of files and of standard input becomes values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splitting {
    /// The text that ends a value. If it is empty, values are paragraphs: they end at empty lines, and have no line end after
    /// their last line, as in GNU parallel.
    pub delimiter: Vec<u8>,
    /// Leaves out values without any character that is not white space (`-r`).
    pub no_run_if_empty: bool,
    /// Delimiters in quotes do not count, as in CSV (`--csv`).
    pub csv: bool,
}

impl Default for Splitting {
    fn default() -> Splitting {
        Splitting { delimiter: b"\n".to_vec(), no_run_if_empty: false, csv: false }
    }
}

impl Splitting {
    /// Returns the values of a text. The last value needs no delimiter after it.
    fn values(&self, text: &[u8]) -> Vec<Vec<u8>> {
        if self.delimiter.is_empty() {
            return paragraphs(text);
        }
        let mut values = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let mut windows = rest.windows(self.delimiter.len()).enumerate();
            let mut is_quoted = false;
            let found = windows.find(|(at, window)| {
                is_quoted ^= self.csv && rest[*at] == b'"';
                !is_quoted && *window == self.delimiter
            });
            let found = found.map(|(at, _)| at);
            let end = found.unwrap_or(rest.len());
            values.push(rest[..end].to_vec());
            rest = found.map_or(&[], |at| &rest[at + self.delimiter.len()..]);
        }
        values
    }
}

/// Returns the paragraphs of a text: what stands between empty lines. Lines with white space are not empty.
fn paragraphs(text: &[u8]) -> Vec<Vec<u8>> {
    let mut found: Vec<Vec<u8>> = Vec::new();
    // True if the next line begins a paragraph.
    let mut begins = true;
    for line in text.split(|byte| *byte == b'\n') {
        match found.last_mut() {
            _ if line.is_empty() => {}
            Some(last) if !begins => {
                last.push(b'\n');
                last.extend_from_slice(line);
            }
            _ => found.push(line.to_vec()),
        }
        begins = line.is_empty();
    }
    found
}

/// The values of one input source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The values, in order.
    pub values: Vec<Vec<u8>>,
    /// True if the source is linked to the one before it: their values are taken together.
    pub linked: bool,
}

/// Reads the values of all sources. `stdin` is read if a source is `-`; the first such source gets all of it.
///
/// # Errors
/// If a file can't be read, or a value contains NUL.
pub fn read_sources(
    given: Vec<(Given, bool)>,
    splitting: &Splitting,
    stdin: &mut dyn Read,
) -> Result<Vec<Source>, MapError> {
    let mut sources = Vec::with_capacity(given.len());
    for (given, linked) in given {
        let values = match given {
            Given::Values(values) => values,
            Given::File(path) => {
                let mut text = Vec::new();
                let read = if path.as_os_str() == "-" {
                    stdin.read_to_end(&mut text)
                } else {
                    File::open(&path).and_then(|mut file| file.read_to_end(&mut text))
                };
                read.map_err(|error: io::Error| MapError::Io { path: path.clone(), error })?;
                splitting.values(&text)
            }
        };
        if let Some(value) = values.iter().find(|value| value.contains(&0)) {
            return Err(MapError::Values(format!(
                "the value {:?} contains the character NUL, which can't be passed to a command; -0 splits values there",
                String::from_utf8_lossy(value)
            )));
        }
        let is_open = |value: &&Vec<u8>| value.split(|byte| *byte == b'"').count() % 2 == 0;
        if let Some(value) = values.iter().find(is_open).filter(|_| splitting.csv) {
            let begin = String::from_utf8_lossy(&value[..value.len().min(60)]).into_owned();
            return Err(MapError::Values(format!(
                "--csv: a quote in the value that begins with {begin:?} is never closed; close it, or write \"\" for a quote in a \
                 quoted column"
            )));
        }
        let mut values = values;
        if splitting.no_run_if_empty {
            values.retain(|value| !value.iter().all(|byte| is_space(*byte)));
        }
        sources.push(Source { values, linked });
    }
    Ok(sources)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[&str]) -> Vec<Vec<u8>> {
        words.iter().map(|word| word.as_bytes().to_vec()).collect()
    }

    #[test]
    fn words_are_split_at_the_separators() {
        let split =
            split_words(bytes(&["echo", "-n", ":::", "a", "b", ":::+", "1", "2", "::::", "f", "g", "::::+", "h"]));
        assert_eq!(split.template, bytes(&["echo", "-n"]));
        assert_eq!(
            split.sources,
            [
                (Given::Values(bytes(&["a", "b"])), false),
                (Given::Values(bytes(&["1", "2"])), true),
                (Given::File("f".into()), false),
                (Given::File("g".into()), false),
                (Given::File("h".into()), true),
            ]
        );
        assert_eq!(split_words(bytes(&[":::"])).sources, [(Given::Values(Vec::new()), false)]);
    }

    #[test]
    fn text_is_split_into_values() {
        let values = |delimiter: &str, text: &str| {
            let splitting = Splitting { delimiter: delimiter.as_bytes().to_vec(), ..Splitting::default() };
            splitting.values(text.as_bytes())
        };
        assert_eq!(values("\n", "a b\n\n c \n"), bytes(&["a b", "", " c "]));
        assert_eq!(values("\n", "a\nb"), bytes(&["a", "b"]));
        assert_eq!(values("\n", "\n"), bytes(&[""]));
        assert!(values("\n", "").is_empty());
        assert_eq!(values("\0", "a\nb\0c\0"), bytes(&["a\nb", "c"]));
        assert_eq!(values("--", "a--b---c"), bytes(&["a", "b", "-c"]));
        // Without a delimiter, values are paragraphs.
        assert_eq!(values("", "abc"), bytes(&["abc"]));
        assert_eq!(values("", "\n\na\n b\n\n\n\nc\n \nd\n\n"), bytes(&["a\n b", "c\n \nd"]));
        assert!(values("", "\n\n").is_empty() && values("", "").is_empty());
    }

    #[test]
    fn delimiters_in_quotes_do_not_split_csv() {
        let csv = Splitting { csv: true, ..Splitting::default() };
        let read = |text: &[u8]| read_sources(vec![(Given::File("-".into()), false)], &csv, &mut &text[..]);
        let values = read(b"a,\"b\nc\"\n\n\"d \"\"e\"\"\",f\n").unwrap()[0].values.clone();
        assert_eq!(values, bytes(&["a,\"b\nc\"", "", "\"d \"\"e\"\"\",f"]));
        let error = read(b"a,\"b\nc\n").unwrap_err().to_string();
        assert!(error.contains("begins with \"a,\\\"b\\nc\\n\" is never closed"), "{error}");
    }

    #[test]
    fn standard_input_and_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("values");
        std::fs::write(&file, "1\n2\n").unwrap();
        let given = vec![(Given::File("-".into()), false), (Given::File(file), true)];
        let sources = read_sources(given, &Splitting::default(), &mut &b"a\nb\n"[..]).unwrap();
        assert_eq!(sources[0], Source { values: bytes(&["a", "b"]), linked: false });
        assert_eq!(sources[1], Source { values: bytes(&["1", "2"]), linked: true });
        let missing = folder.path().join("missing");
        let error =
            read_sources(vec![(Given::File(missing), false)], &Splitting::default(), &mut &b""[..]).unwrap_err();
        assert!(error.to_string().contains("missing: No such file"), "{error}");
    }

    #[test]
    fn blank_values_are_left_out_on_request() {
        let splitting = Splitting { no_run_if_empty: true, ..Splitting::default() };
        let read = |text: &[u8]| {
            let sources = read_sources(vec![(Given::File("-".into()), false)], &splitting, &mut &text[..]);
            sources.unwrap()[0].values.len()
        };
        assert_eq!((read(b" \n\n"), read(b"a\n\n \nb\n")), (0, 2));
    }

    #[test]
    fn nul_in_a_value_is_refused() {
        let given = vec![(Given::File("-".into()), false)];
        let error = read_sources(given, &Splitting::default(), &mut &b"a\0b\n"[..]).unwrap_err();
        assert!(error.to_string().contains("-0"), "{error}");
    }
}
