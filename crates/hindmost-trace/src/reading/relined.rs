//! Rewrites JSON objects that span several lines, or that are the elements of an array, as one object a line.
//!
//! Spark writes one event a line. Tools such as `jq`, editors and REST clients write them indented, or as an array.

/// How the objects of a log are laid out, recognised by the log's first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One object a line, or something else.
    Lines,
    /// Objects that span several lines, or elements of an array.
    Spread,
}

impl Layout {
    /// Recognises the layout. A first line that is cut within an object is not taken for an object that spans several
    /// lines: the line after it begins with another object.
    pub(crate) fn of(beginning: &[u8]) -> Layout {
        let text = beginning.strip_prefix("\u{feff}".as_bytes()).unwrap_or(beginning).trim_ascii_start();
        if let Some(rest) = text.strip_prefix(b"[") {
            let first = rest.trim_ascii_start().first();
            return if first == Some(&b'{') { Layout::Spread } else { Layout::Lines };
        }
        let Some(feed) = memchr::memchr(b'\n', text).filter(|_| text.starts_with(b"{")) else {
            return Layout::Lines;
        };
        let (line, next) = (text[..feed].trim_ascii_end(), text[feed..].trim_ascii_start());
        let continues = match line.last() {
            Some(b'{' | b',') => matches!(next.first(), Some(b'"' | b'}')),
            Some(b'[' | b':') => true,
            _ => false,
        };
        if continues { Layout::Spread } else { Layout::Lines }
    }
}

/// What is before an object on its line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Indent {
    /// No object has begun.
    #[default]
    Unknown,
    /// This many blanks before each object, and more before its keys.
    Blanks(usize),
    /// Something else, so that nested objects may begin in the same way.
    Other,
}

/// Rewrites objects, piece by piece. Blanks outside strings are dropped.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a place in the text that has nothing to do with the others")]
pub(crate) struct Relined {
    depth: u32,
    in_string: bool,
    escaped: bool,
    indent: Indent,
    /// Blanks since the last line feed; `None` if other bytes followed it.
    blanks: Option<usize>,
    /// Whether a text between objects has begun and its line must be ended.
    text: bool,
    /// Whether the objects are those of one array, which ends before the log does.
    is_array: bool,
    /// Whether this array has ended.
    ended: bool,
}

impl Relined {
    pub(crate) fn new() -> Relined {
        Relined { blanks: Some(0), ..Relined::default() }
    }

    /// Rewrites the objects of an array, of which the opening bracket was read, and leaves out what follows it.
    pub(crate) fn of_array() -> Relined {
        Relined { is_array: true, ..Relined::new() }
    }

    /// Appends the rewritten form of the next piece of the log to `lines`.
    pub(crate) fn rewrite(&mut self, mut piece: &[u8], lines: &mut Vec<u8>) {
        while let Some((&byte, rest)) = piece.split_first().filter(|_| !self.ended) {
            if self.in_string && !self.escaped {
                // Most bytes of a log are within strings.
                let plain = memchr::memchr3(b'"', b'\\', b'\n', piece).unwrap_or(piece.len());
                lines.extend_from_slice(&piece[..plain]);
                piece = &piece[plain..];
                if plain > 0 {
                    continue;
                }
            }
            self.step(byte, lines);
            piece = rest;
        }
    }

    fn step(&mut self, byte: u8, lines: &mut Vec<u8>) {
        let blanks = self.blanks;
        self.blanks = match (byte, blanks) {
            (b'\n', _) => Some(0),
            (b' ' | b'\t', Some(count)) => Some(count + 1),
            (b'\r', _) => blanks,
            _ => None,
        };
        if self.depth > 0
            && byte == b'{'
            && !self.in_string
            && blanks.is_some_and(|count| self.indent == Indent::Blanks(count))
        {
            // An object that begins like the first one, at the beginning of a line: the one before it is incomplete.
            self.end(lines);
        }
        if byte == b'"' && blanks.is_some_and(|count| self.indent == Indent::Blanks(count)) {
            self.indent = Indent::Other;
        }
        match byte {
            b'\n' if self.text => self.end(lines),
            // A string has no line feed: its end is missing.
            b'\n' => (self.in_string, self.escaped) = (false, false),
            _ if self.in_string => {
                lines.push(byte);
                self.in_string = byte != b'"' || self.escaped;
                self.escaped = byte == b'\\' && !self.escaped;
            }
            _ if byte.is_ascii_whitespace() && !self.text => {}
            b'{' => {
                if self.text {
                    self.end(lines);
                }
                if self.indent == Indent::Unknown {
                    self.indent = blanks.map_or(Indent::Other, Indent::Blanks);
                }
                self.depth = self.depth.saturating_add(1);
                lines.push(byte);
            }
            b'}' if self.depth > 0 => {
                self.depth -= 1;
                lines.push(byte);
                if self.depth == 0 {
                    lines.push(b'\n');
                }
            }
            b'[' | b']' | b',' if self.depth == 0 && !self.text => self.ended = self.is_array && byte == b']',
            _ => {
                self.in_string = byte == b'"' && self.depth > 0;
                self.text = self.depth == 0;
                lines.push(byte);
            }
        }
    }

    /// Ends the line of a text, or of an incomplete object.
    fn end(&mut self, lines: &mut Vec<u8>) {
        lines.push(b'\n');
        (self.depth, self.in_string, self.escaped, self.text) = (0, false, false, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the rewritten log, which does not depend on how it is split into pieces.
    fn relined(log: &str) -> String {
        let in_pieces = |size: usize| {
            let (mut relined, mut lines) = (Relined::new(), Vec::new());
            for piece in log.as_bytes().chunks(size) {
                relined.rewrite(piece, &mut lines);
            }
            String::from_utf8(lines).unwrap()
        };
        let whole = in_pieces(usize::MAX);
        assert!([1, 2, 7].iter().all(|size| in_pieces(*size) == whole), "{whole}");
        whole
    }

    #[test]
    fn the_layout_is_recognised() {
        let spread = |log: &str| Layout::of(log.as_bytes()) == Layout::Spread;
        for log in [
            "[{\"a\":1}]",
            "[\n  {\"a\":1},\n",
            "\u{feff}[ {",
            "{\n  \"a\": 1\n}",
            "{\"a\":1,\n \"b\":2}",
            "{\"a\":[\n1]}",
        ] {
            assert!(spread(log), "{log}");
        }
        for log in [
            "",
            "{",
            "[1]",
            "{\"a\":1}\n{\"a\":2}",
            "{\"a\":1,\n{\"a\":2}",
            "{\n{\"a\":2}",
            "{\"a\":\"x\n",
            "text\n{\n\"a\"",
        ] {
            assert!(!spread(log), "{log}");
        }
    }

    #[test]
    fn objects_become_lines() {
        assert_eq!(
            relined("{\n  \"a\": [\n    1, 2 ],\r\n \"b c\": {}\n}\n{\"d\": \"}\\\" {\"}"),
            "{\"a\":[1,2],\"b c\":{}}\n{\"d\":\"}\\\" {\"}\n"
        );
        assert_eq!(relined("[{\"a\":1},{\"b\":[{}]}]"), "{\"a\":1}\n{\"b\":[{}]}\n");
        assert_eq!(
            relined("[\n  {\n    \"a\": \"\\\\\"\n  },\n  {\n    \"b\": 2\n  }\n]\n"),
            "{\"a\":\"\\\\\"}\n{\"b\":2}\n"
        );
        assert_eq!(relined("{\n\"a\": [\n{\n\"b\": 2\n}\n]\n}"), "{\"a\":[{\"b\":2}]}\n");
        assert_eq!(relined("{\n\"a\":1"), "{\"a\":1");
    }

    #[test]
    fn an_array_ends_before_the_log() {
        let (mut relined, mut lines) = (Relined::of_array(), Vec::new());
        relined.rewrite(b" {\"a\": [{}]},\n {\"a\": 2} ], \"total\": {\"b\": 3}}", &mut lines);
        assert_eq!(lines, b"{\"a\":[{}]}\n{\"a\":2}\n");
    }

    #[test]
    fn an_incomplete_object_is_one_line() {
        let cut = "[\n  {\n    \"a\": [\n  {\n    \"b\": {\n      \"c\": \"x\n  {\n    \"d\": 4\n  }\n]\n";
        assert_eq!(relined(cut), "{\"a\":[\n{\"b\":{\"c\":\"x\n{\"d\":4}\n");
        assert_eq!(relined("{\n\"a\":1\n}\nsome text\n{\n}"), "{\"a\":1}\nsome text\n{}\n");
    }
}
