//! Templates of commands: `gzip -c {} > {.}.gz` becomes the command of each task.
//!
//! The replacement strings and the quoting are those of GNU parallel. Values are bytes, because names of files need not be
//! valid UTF-8.

use super::MapError;

/// Stands for the number of the attempt's slot in the command of a task; see
/// [`PlannedPhase::commands`](crate::job_file::PlannedPhase::commands).
const SLOT: u8 = 0;

/// The part of a value that replaces a replacement string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// `{}`: the whole value.
    Whole,
    /// `{.}`: without the extension.
    NoExtension,
    /// `{/}`: without the folder.
    Base,
    /// `{//}`: the folder.
    Folder,
    /// `{/.}`: without the folder and the extension.
    BaseNoExtension,
}

/// The forms, longest text first, so that `//` is not taken for `/`.
const FORMS: [(&str, Form); 5] = [
    ("//", Form::Folder),
    ("/.", Form::BaseNoExtension),
    ("/", Form::Base),
    (".", Form::NoExtension),
    ("", Form::Whole),
];

impl Form {
    fn of(self, value: &[u8]) -> Vec<u8> {
        match self {
            Form::Whole => value.to_vec(),
            Form::NoExtension => without_extension(value).to_vec(),
            Form::Base => base(value).to_vec(),
            Form::BaseNoExtension => without_extension(base(value)).to_vec(),
            Form::Folder => folder(value).to_vec(),
        }
    }
}

fn base(value: &[u8]) -> &[u8] {
    &value[value.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1)..]
}

/// Returns a value without the last dot and what follows it. A dot before a slash begins no extension.
fn without_extension(value: &[u8]) -> &[u8] {
    match value.iter().rposition(|byte| matches!(byte, b'.' | b'/')) {
        Some(at) if value[at] == b'.' => &value[..at],
        _ => value,
    }
}

/// Returns the folder of a path, as `dirname` prints it.
fn folder(value: &[u8]) -> &[u8] {
    let trimmed = |path: &[u8]| path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    let path = &value[..trimmed(value)];
    if path.is_empty() {
        return if value.is_empty() { b"." } else { b"/" };
    }
    match path.iter().rposition(|byte| *byte == b'/') {
        None => b".",
        Some(slash) => match trimmed(&path[..slash]) {
            0 => b"/",
            end => &path[..end],
        },
    }
}

/// One piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// Text that stays as it is.
    Text(Vec<u8>),
    /// `{#}`: the number of the task, from 1.
    Number,
    /// `{%}`: the number of the slot, from 1.
    Slot,
    /// A value, or all values separated by spaces if there is no position.
    Value(Option<i64>, Form),
}

/// How values are written into the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writing {
    /// Quoted for a shell.
    Quoted,
    /// As they are: the values are commands.
    Plain,
}

/// A template of commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Piece>,
    writing: Writing,
}

/// What the words of a template mean.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading<'a> {
    /// Another replacement string for `{}` (`-I`).
    pub replacement: Option<&'a [u8]>,
    /// Names of the input sources (`--header :`), which may stand in braces in place of positions.
    pub names: &'a [Vec<u8>],
    /// Quotes the words for a shell (`-q`).
    pub quoted: bool,
    /// The command uses no value (`-N0`).
    pub without_values: bool,
}

impl Template {
    /// Reads a template from the words of the command line. Without words, each value is a command itself. If no piece of the
    /// template is a replacement string, ` {}` is added.
    ///
    /// # Errors
    /// If the words contain NUL or a Perl expression.
    pub fn new(words: &[Vec<u8>], reading: &Reading<'_>) -> Result<Template, MapError> {
        if words.iter().any(|word| word.contains(&SLOT)) {
            return Err(MapError::Template("the command contains the character NUL".to_owned()));
        }
        if words.is_empty() {
            return Ok(Template { pieces: vec![Piece::Value(None, Form::Whole)], writing: Writing::Plain });
        }
        let mut pieces = Vec::new();
        for (at, word) in words.iter().enumerate() {
            if at > 0 {
                add_text(&mut pieces, b" ");
            }
            for piece in split(word, reading)? {
                match piece {
                    Piece::Text(text) if reading.quoted => add_text(&mut pieces, &quoted(&text)),
                    Piece::Text(text) => add_text(&mut pieces, &text),
                    other => pieces.push(other),
                }
            }
        }
        if !reading.without_values && pieces.iter().all(|piece| matches!(piece, Piece::Text(_))) {
            add_text(&mut pieces, b" ");
            pieces.push(Piece::Value(None, Form::Whole));
        }
        Ok(Template { pieces, writing: Writing::Quoted })
    }

    /// Returns the command of the task with this number, from 1. The character NUL stands for the number of the slot.
    pub fn command(&self, values: &[Vec<u8>], number: u64) -> Vec<u8> {
        let mut command = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => command.extend_from_slice(text),
                Piece::Number => command.extend_from_slice(number.to_string().as_bytes()),
                Piece::Slot => command.push(SLOT),
                Piece::Value(Some(position), form) => {
                    if let Some(value) = at(values, *position) {
                        self.write(&mut command, &form.of(value));
                    }
                }
                Piece::Value(None, form) => {
                    for (at, value) in values.iter().enumerate() {
                        if at > 0 {
                            command.push(b' ');
                        }
                        self.write(&mut command, &form.of(value));
                    }
                }
            }
        }
        command
    }

    fn write(&self, command: &mut Vec<u8>, value: &[u8]) {
        match self.writing {
            Writing::Quoted => command.extend_from_slice(&quoted(value)),
            Writing::Plain => command.extend_from_slice(value),
        }
    }
}

/// Returns the value at a position, counted from 1, or from -1 backwards.
fn at(values: &[Vec<u8>], position: i64) -> Option<&Vec<u8>> {
    let back = usize::try_from(position.unsigned_abs()).ok()?;
    match position {
        1.. => values.get(back - 1),
        _ => values.get(values.len().checked_sub(back)?),
    }
}

fn add_text(pieces: &mut Vec<Piece>, text: &[u8]) {
    match pieces.last_mut() {
        Some(Piece::Text(before)) => before.extend_from_slice(text),
        _ if text.is_empty() => {}
        _ => pieces.push(Piece::Text(text.to_vec())),
    }
}

/// Splits a word into texts and replacement strings.
fn split(word: &[u8], reading: &Reading<'_>) -> Result<Vec<Piece>, MapError> {
    let mut pieces = Vec::new();
    let mut rest = word;
    while !rest.is_empty() {
        if let Some(own) = reading.replacement.filter(|own| !own.is_empty() && rest.starts_with(own)) {
            pieces.push(Piece::Value(None, Form::Whole));
            rest = &rest[own.len()..];
            continue;
        }
        if rest.starts_with(b"{=") {
            return Err(MapError::Template(
                "{= … =} is an expression in Perl, which Hindmost does not have: let the command itself compute the value, \
                 or use {.} {/} {//} {/.}"
                    .to_owned(),
            ));
        }
        let braced = rest.strip_prefix(b"{").and_then(|rest| {
            let end = rest.iter().position(|byte| matches!(byte, b'}' | b'{'))?;
            (rest[end] == b'}').then_some((&rest[..end], &rest[end + 1..]))
        });
        if let Some((piece, after)) = braced.and_then(|(inner, after)| Some((replacement(inner, reading)?, after))) {
            pieces.push(piece);
            rest = after;
        } else {
            add_text(&mut pieces, &rest[..1]);
            rest = &rest[1..];
        }
    }
    Ok(pieces)
}

/// Returns the piece for the text between two braces; `None` if it is not a replacement string.
fn replacement(inner: &[u8], reading: &Reading<'_>) -> Option<Piece> {
    match inner {
        b"#" => return Some(Piece::Number),
        b"%" => return Some(Piece::Slot),
        // `-I` replaces `{}` by another text.
        b"" if reading.replacement.is_some() => return None,
        _ => {}
    }
    for (text, form) in FORMS {
        let Some(before) = inner.strip_suffix(text.as_bytes()) else { continue };
        if before.is_empty() {
            return Some(Piece::Value(None, form));
        }
        if let Some(named) = reading.names.iter().position(|name| name == before) {
            return Some(Piece::Value(Some(named as i64 + 1), form));
        }
        let position = std::str::from_utf8(before).ok().and_then(|text| text.parse::<i64>().ok());
        if let Some(position) = position.filter(|position| *position != 0 && before[0] != b'+') {
            return Some(Piece::Value(Some(position), form));
        }
    }
    None
}

/// Quotes a text for a shell, exactly as GNU parallel does.
pub fn quoted(text: &[u8]) -> Vec<u8> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.+/".contains(byte);
    if text.is_empty() {
        return b"''".to_vec();
    }
    if text.iter().all(is_plain) {
        return text.to_vec();
    }
    let mut quoted = vec![b'\''];
    for byte in text {
        if *byte == b'\'' { quoted.extend_from_slice(b"'\"'\"'") } else { quoted.push(*byte) }
    }
    quoted.push(b'\'');
    // Empty quotes at the beginning and at the end are left out.
    let begin = if quoted.starts_with(b"''") { 2 } else { 0 };
    let end = if quoted.ends_with(b"''") && quoted.len() >= begin + 2 { quoted.len() - 2 } else { quoted.len() };
    quoted[begin..end].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[&str]) -> Vec<Vec<u8>> {
        words.iter().map(|word| word.as_bytes().to_vec()).collect()
    }

    fn command(words: &[&str], values: &[&str]) -> String {
        let template = Template::new(&bytes(words), &Reading::default()).unwrap();
        String::from_utf8(template.command(&bytes(values), 7)).unwrap()
    }

    #[test]
    fn replacement_strings_are_those_of_gnu_parallel() {
        assert_eq!(
            command(&["echo", "{} {.} {/} {//} {/.} {#}"], &["a/b.c/d.e"]),
            "echo a/b.c/d.e a/b.c/d d.e a/b.c d 7"
        );
        assert_eq!(command(&["{.} {//} {/.}"], &["a.b/c"]), "a.b/c a.b c");
        assert_eq!(command(&["x{.} x{/.}"], &["b."]), "xb xb");
        assert_eq!(command(&["{2} {1/} {-1.} {3}x {0} {+1}"], &["a/b", "c.d"]), "c.d b c x {0} {+1}");
        assert_eq!(command(&["{//}"], &["/"]), "/");
        assert_eq!(command(&["{//} {1//} {2//}"], &["a/b/", "/a", "a"]), "a / . a /");
        assert_eq!(command(&["echo {%}"], &["a"]), "echo \0");
        assert_eq!(command(&["awk", "{print} {a,b} {{}}"], &["a"]), "awk {print} {a,b} {a}");
    }

    #[test]
    fn values_are_added_at_the_end_if_the_template_has_no_replacement_string() {
        assert_eq!(command(&["echo", "x  y"], &["a", "b c"]), "echo x  y a 'b c'");
        assert_eq!(command(&["echo", "{#}"], &["a"]), "echo 7");
        assert_eq!(command(&[], &["echo $HOME"]), "echo $HOME");
        let without = Reading { without_values: true, ..Reading::default() };
        assert_eq!(Template::new(&bytes(&["echo hi"]), &without).unwrap().command(&[], 1), b"echo hi");
    }

    #[test]
    fn values_are_quoted_as_gnu_parallel_quotes_them() {
        for (value, expected) in [
            ("", "''"),
            ("a+b_c-d./e", "a+b_c-d./e"),
            ("a b", "'a b'"),
            ("it's", "'it'\"'\"'s'"),
            ("'", "\"'\""),
            ("''", "\"'\"''\"'\""),
            ("a=b,c", "'a=b,c'"),
            ("$(rm)\n", "'$(rm)\n'"),
        ] {
            assert_eq!(String::from_utf8(quoted(value.as_bytes())).unwrap(), expected);
        }
    }

    #[test]
    fn names_and_other_replacement_strings_are_replaced() {
        let names = bytes(&["f1", "f2"]);
        let reading = Reading { names: &names, replacement: Some(b"//"), ..Reading::default() };
        let template = Template::new(&bytes(&["echo {f2.} {f1} // {}"]), &reading).unwrap();
        assert_eq!(template.command(&bytes(&["A", "B.x"]), 1), b"echo B A A B.x {}");
    }

    #[test]
    fn quoted_words_keep_their_replacement_strings() {
        let reading = Reading { quoted: true, ..Reading::default() };
        let template = Template::new(&bytes(&["echo", "a; b {}"]), &reading).unwrap();
        assert_eq!(template.command(&bytes(&["x y"]), 1), b"echo 'a; b ''x y'");
    }

    #[test]
    fn perl_expressions_are_refused() {
        let refused = Template::new(&bytes(&["echo {= s/a/b/ =}"]), &Reading::default()).unwrap_err();
        assert!(refused.to_string().contains("Perl"), "{refused}");
    }
}
