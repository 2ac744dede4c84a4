//! Templates of commands: `gzip -c {} > {.}.gz` becomes the command of each task.
//!
//! The replacement strings and the quoting are those of GNU parallel. Values are bytes, because names of files need not be
//! valid UTF-8.

use super::MapError;
use super::forms::{FORMS, Form};
use super::quoting::{SLOT, quoted};

/// Values that show what a template does with its values.
const SAMPLE: [&str; 4] = ["a 1/b.c", "d 2/e.f", "g 3/h.i", "j 4/k.l"];

/// One piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// Text that stays as it is.
    Text(Vec<u8>),
    /// The end of a word of the command line.
    Space,
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
    /// Each value is quoted for a shell.
    Quoted,
    /// As they are, because they are commands or begin them.
    Plain,
    /// As they are, and then each word of the command is quoted for a shell (`-q`).
    QuotedWords,
}

/// Pieces that are repeated together, once for each value, if one of them stands for all values.
type Group = Vec<Piece>;

/// A template of commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    groups: Vec<Group>,
    writing: Writing,
}

/// What the words of a template mean.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading<'a> {
    /// Another replacement string for `{}` (`-I`).
    pub replacement: Option<&'a [u8]>,
    /// Names of the input sources (`--header :`), which may stand in braces in place of positions.
    pub names: &'a [Vec<u8>],
    /// Quotes the words of the command for a shell, with the values in them (`-q`).
    pub quoted: bool,
    /// The command uses no value (`-N0`).
    pub without_values: bool,
    /// Repeats the word in which `{}` stands for each value, not only the value (`-N`).
    pub repeats_words: bool,
}

impl Template {
    /// Reads a template from the words of the command line. Without words, each value is a command. If no piece of the
    /// template is a replacement string, ` {}` is added. If the command begins with a replacement string, values are not
    /// quoted.
    ///
    /// # Errors
    /// If the words contain NUL or a Perl expression.
    pub fn new(words: &[Vec<u8>], reading: &Reading<'_>) -> Result<Template, MapError> {
        if words.iter().any(|word| word.contains(&SLOT)) {
            return Err(MapError::Template("the command contains the character NUL".to_owned()));
        }
        if words.is_empty() {
            return Ok(Template { groups: vec![vec![Piece::Value(None, Form::Whole)]], writing: Writing::Plain });
        }
        if has_expression(words) {
            return Err(MapError::Template(
                "{= … =} is an expression in Perl, which Hindmost does not have: let the command itself compute the value, \
                 or use {.} {/} {//} {/.}"
                    .to_owned(),
            ));
        }
        let mut pieces = Vec::new();
        for (at, word) in words.iter().enumerate() {
            pieces.extend((at > 0).then_some(Piece::Space));
            pieces.extend(split(word, reading));
        }
        if !reading.without_values && !pieces.iter().any(Piece::is_replacement) {
            pieces.extend([Piece::Space, Piece::Value(None, Form::Whole)]);
        }
        let writing = match () {
            () if reading.quoted => Writing::QuotedWords,
            () if begins_with_value(&pieces) => Writing::Plain,
            () => Writing::Quoted,
        };
        let groups =
            if reading.repeats_words { groups(pieces) } else { pieces.into_iter().map(|piece| vec![piece]).collect() };
        Ok(Template { groups, writing })
    }

    /// Reads a template of paths: values stand in it as they are, and nothing is added if it has no replacement string.
    ///
    /// # Errors
    /// If the text contains NUL, a Perl expression, or the number of a slot, which may be another one each time.
    pub fn path(text: &[u8], reading: &Reading<'_>) -> Result<Template, MapError> {
        let reading = Reading { without_values: true, repeats_words: false, ..*reading };
        let template = Template { writing: Writing::Plain, ..Template::new(&[text.to_vec()], &reading)? };
        if template.groups.iter().flatten().any(|piece| *piece == Piece::Slot) {
            return Err(MapError::Template(
                "{%} is the number of a slot, which a task may have in common with others: use {#}, the number of the task"
                    .to_owned(),
            ));
        }
        // In a command, braces may mean something to the shell. In a path, they are most likely a mistake.
        if let Some(unknown) = template.groups.iter().flatten().find_map(Piece::in_braces) {
            return Err(MapError::Template(format!(
                "{} is no replacement string here: use {{}} {{.}} {{/}} {{//}} {{/.}} {{#}}, a position such as {{2}}, or the name of an \
                 input source or variable",
                String::from_utf8_lossy(unknown)
            )));
        }
        Ok(template)
    }

    /// Lets replacement strings without a position stand for the first value, not for all values.
    #[must_use]
    pub(crate) fn of_first_value(mut self) -> Template {
        for piece in self.groups.iter_mut().flatten() {
            if let Piece::Value(position @ None, _) = piece {
                *position = Some(1);
            }
        }
        self
    }

    /// Returns what the template makes of some values that show what it does with them: quotes, positions, forms and repeated words.
    pub(crate) fn sample(&self) -> Vec<u8> {
        let values: Vec<Vec<u8>> = SAMPLE.iter().map(|value| value.as_bytes().to_vec()).collect();
        self.command(&values, 1)
    }

    /// Returns the command of the task with this number, from 1. The character NUL stands for the number of the slot.
    pub fn command(&self, values: &[Vec<u8>], number: u64) -> Vec<u8> {
        let mut command = Vec::new();
        let mut word = 0;
        for group in &self.groups {
            let repeats = group.iter().any(|piece| matches!(piece, Piece::Value(None, _)));
            for turn in 0..if repeats { values.len() } else { 1 } {
                if turn > 0 {
                    self.end_word(&mut command, &mut word);
                    command.push(b' ');
                    word = command.len();
                }
                for piece in group {
                    match piece {
                        Piece::Text(text) => command.extend_from_slice(text),
                        Piece::Space => {
                            self.end_word(&mut command, &mut word);
                            command.push(b' ');
                            word = command.len();
                        }
                        Piece::Number => command.extend_from_slice(number.to_string().as_bytes()),
                        Piece::Slot => command.push(SLOT),
                        Piece::Value(position, form) => {
                            let value = position.map_or_else(|| values.get(turn), |position| at(values, position));
                            if let Some(value) = value {
                                self.write(&mut command, &form.of(value));
                            }
                        }
                    }
                }
            }
        }
        self.end_word(&mut command, &mut word);
        command
    }

    fn write(&self, command: &mut Vec<u8>, value: &[u8]) {
        match self.writing {
            Writing::Quoted => command.extend_from_slice(&quoted(value)),
            Writing::Plain | Writing::QuotedWords => command.extend_from_slice(value),
        }
    }

    /// Quotes the word that begins at `word`, if words are quoted.
    fn end_word(&self, command: &mut Vec<u8>, word: &mut usize) {
        if self.writing == Writing::QuotedWords {
            let last = command.split_off(*word);
            command.extend_from_slice(&quoted(&last));
        }
        *word = command.len();
    }
}

impl Piece {
    /// Returns the first part of a text that stands in braces.
    fn in_braces(&self) -> Option<&[u8]> {
        let Piece::Text(text) = self else { return None };
        let begin = text.iter().position(|byte| *byte == b'{')?;
        let length = text[begin..].iter().position(|byte| *byte == b'}')? + 1;
        Some(&text[begin..begin + length])
    }

    fn is_replacement(&self) -> bool {
        !matches!(self, Piece::Text(_) | Piece::Space)
    }
}

/// True if the words contain `{= … =}`, which may span several words.
fn has_expression(words: &[Vec<u8>]) -> bool {
    let command = words.join(&b' ');
    let mut pairs = command.windows(2).enumerate();
    let Some((begin, _)) = pairs.find(|(_, pair)| pair == b"{=") else { return false };
    command[begin + 2..].windows(2).any(|pair| pair == b"=}")
}

/// True if the first word begins with a replacement string, after a text that is neither an assignment nor has white space.
fn begins_with_value(pieces: &[Piece]) -> bool {
    for piece in pieces {
        match piece {
            Piece::Text(text) if text.iter().any(|byte| b" \t\n=".contains(byte)) => return false,
            Piece::Text(_) => {}
            Piece::Space => return false,
            Piece::Number | Piece::Slot | Piece::Value(..) => return true,
        }
    }
    false
}

/// Groups the pieces by the spaces and tabs between them.
fn groups(pieces: Vec<Piece>) -> Vec<Group> {
    let mut groups = vec![Vec::new()];
    for piece in pieces {
        match piece {
            Piece::Space => groups.extend([vec![Piece::Space], Vec::new()]),
            Piece::Text(text) => {
                for part in text.chunk_by(|one, other| !is_separator(*one) && !is_separator(*other)) {
                    let text = Piece::Text(part.to_vec());
                    match part {
                        b" " => groups.extend([vec![text], Vec::new()]),
                        // GNU parallel repeats a tab with the word after it.
                        b"\t" => groups.push(vec![text]),
                        _ => push(&mut groups, text),
                    }
                }
            }
            other => push(&mut groups, other),
        }
    }
    groups
}

/// Adds a piece to the last group.
fn push(groups: &mut Vec<Group>, piece: Piece) {
    match groups.last_mut() {
        Some(group) => group.push(piece),
        None => groups.push(vec![piece]),
    }
}

fn is_separator(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
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
fn split(word: &[u8], reading: &Reading<'_>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = word;
    while !rest.is_empty() {
        if let Some(own) = reading.replacement.filter(|own| !own.is_empty() && rest.starts_with(own)) {
            pieces.push(Piece::Value(None, Form::Whole));
            rest = &rest[own.len()..];
            continue;
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
    pieces
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
        assert_eq!(template.command(&bytes(&["x y"]), 1), b"echo 'a; b x y'");
        let template = Template::new(&bytes(&["x", "{}", "a;b {}", "{%}"]), &reading).unwrap();
        assert_eq!(template.command(&bytes(&["a b", "c"]), 1), b"x 'a b' c 'a;b a b' c \0");
    }

    #[test]
    fn values_that_begin_the_command_are_not_quoted() {
        // Measured with GNU parallel 20221122: parallel --dry-run WORDS ::: 'a b'
        for (words, expected) in [
            (&["{}"][..], "a b"),
            (&["{} | {.}"], "a b | a b"),
            (&["{#}", "{}"], "7 a b"),
            (&["x{1} {}"], "xa b a b"),
            (&["\"{}\"", "x"], "\"a b\" x"),
            (&["$({} x)"], "$(a b x)"),
            (&["V={}", "echo {}"], "V='a b' echo 'a b'"),
            (&[" {}"], " 'a b'"),
            (&["(echo {})"], "(echo 'a b')"),
        ] {
            assert_eq!(command(words, &["a b"]), expected, "{words:?}");
        }
    }

    #[test]
    fn words_are_repeated_for_each_value() {
        // Measured with GNU parallel 20221122: parallel --dry-run -N2 WORD ::: VALUES
        let reading = Reading { repeats_words: true, ..Reading::default() };
        for (word, values, expected) in [
            ("e x{}y", &["a b", "c"][..], "e x'a b'y xcy"),
            ("x{}y{1}", &["a", "b"], "xaya xbya"),
            ("x{}y {#} z{.}{/}", &["a.b", "b/c"], "xa.by xb/cy 7 zaa.b zb/cc"),
            ("x {1}-{} {}", &["a", "b"], "x a-a a-b a b"),
            ("x a{}b   c{}", &["a", "b"], "x aab abb   ca cb"),
            ("x {1}{2} y{2}", &["a", "b"], "x ab yb"),
            ("e x{}\ty{}", &["a", "b"], "e xa xb\tya \tyb"),
            ("e x{}\ny{}", &["a", "b"], "e xa\nya xb\nyb"),
            ("e", &["a", "b"], "e a b"),
        ] {
            let template = Template::new(&bytes(&[word]), &reading).unwrap();
            let command = template.command(&bytes(values), 7);
            assert_eq!(String::from_utf8(command).unwrap(), expected, "{word}");
        }
    }

    #[test]
    fn perl_expressions_are_refused() {
        let refused = Template::new(&bytes(&["echo {= s/a/b/ =}"]), &Reading::default()).unwrap_err();
        assert!(refused.to_string().contains("Perl"), "{refused}");
        assert!(Template::new(&bytes(&["echo", "{=", "1", "=}"]), &Reading::default()).is_err());
        assert_eq!(command(&["echo \"a =} = {= b\""], &["c"]), "echo \"a =} = {= b\" c");
    }
}
