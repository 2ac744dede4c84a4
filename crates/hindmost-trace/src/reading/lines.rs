//! Reads a log line by line, without copying. From the first 4 KiB of a long line the format's reader decides whether
//! the line is needed; if not, it is skipped without being held in memory.

use std::io;

use super::compression::Plain;
use super::window::Window;

/// Bytes of a long line that are read before deciding whether it is needed.
const PEEK: usize = 4 << 10;
/// Lines longer than this many bytes are skipped.
const LONGEST: usize = 128 << 20;

/// A line, without its line feed.
#[derive(Debug)]
pub(crate) struct Line<'a, K> {
    /// The line's number, counted from 1.
    pub number: u64,
    /// Whether the line ends in a line feed. If not, it is the log's last line.
    pub terminated: bool,
    pub body: Body<'a, K>,
}

#[derive(Debug)]
pub(crate) enum Body<'a, K> {
    /// The line, without surrounding whitespace.
    Whole(&'a [u8]),
    /// A long line that was skipped.
    Skipped {
        /// The format reader's classification; `None` if the line was skipped because of its length.
        kind: Option<K>,
        /// The line's first bytes.
        beginning: &'a [u8],
        /// The line's last non-blank byte.
        last: u8,
    },
}

/// Returns the kind of a long line, recognised by its first bytes, if the reader does not need the line; `None` if it
/// needs the line.
pub(crate) type NotNeeded<K> = fn(&[u8]) -> Option<K>;

pub(crate) struct Lines<'r, K> {
    pub window: Window<'r>,
    not_needed: NotNeeded<K>,
    /// The window holds no line feed before this position.
    scanned: usize,
    /// The first bytes of a line that is being skipped.
    beginning: Vec<u8>,
    number: u64,
    /// Whether blanks at the beginning and end of lines are kept.
    with_blanks: bool,
}

enum Found<K> {
    Whole { length: usize, terminated: bool },
    Skipped { kind: Option<K>, last: u8, terminated: bool },
}

impl<'r, K> Lines<'r, K> {
    pub(crate) fn new(plain: Plain<'r>, not_needed: NotNeeded<K>) -> Self {
        Lines::over(Window::new(plain), not_needed)
    }

    /// Returns the lines of the rest of a window.
    pub(crate) fn over(window: Window<'r>, not_needed: NotNeeded<K>) -> Self {
        Lines { window, not_needed, scanned: 0, beginning: Vec::new(), number: 0, with_blanks: false }
    }

    /// Keeps blanks at the beginning and end of lines, because they separate fields.
    pub(crate) fn with_blanks(self) -> Self {
        Lines { with_blanks: true, ..self }
    }

    pub(crate) fn next(&mut self) -> io::Result<Option<Line<'_, K>>> {
        let Some(found) = self.find()? else {
            return Ok(None);
        };
        self.number += 1;
        self.scanned = 0;
        let (body, terminated) = match found {
            Found::Whole { length, terminated } => {
                let line = self.window.take(length + usize::from(terminated));
                let line = &line[..length];
                (Body::Whole(if self.with_blanks { line } else { line.trim_ascii() }), terminated)
            }
            Found::Skipped { kind, last, terminated } => {
                (Body::Skipped { kind, beginning: &self.beginning, last }, terminated)
            }
        };
        Ok(Some(Line { number: self.number, terminated, body }))
    }

    fn find(&mut self) -> io::Result<Option<Found<K>>> {
        let mut peeked = false;
        loop {
            let held = self.window.held();
            if let Some(at) = memchr::memchr(b'\n', &held[self.scanned..]) {
                return Ok(Some(Found::Whole { length: self.scanned + at, terminated: true }));
            }
            let length = held.len();
            self.scanned = length;
            if self.window.ended() {
                return Ok((length > 0).then_some(Found::Whole { length, terminated: false }));
            }
            if length >= PEEK && !peeked {
                peeked = true;
                let kind = (self.not_needed)(held.trim_ascii_start());
                if kind.is_some() {
                    return self.skip(kind).map(Some);
                }
            }
            if length >= LONGEST {
                return self.skip(None).map(Some);
            }
            self.window.fill()?;
        }
    }

    /// Reads to the end of the line and discards it.
    fn skip(&mut self, kind: Option<K>) -> io::Result<Found<K>> {
        let mut last = b' ';
        self.beginning.clear();
        let held = self.window.held();
        self.beginning.extend_from_slice(held[..held.len().min(PEEK)].trim_ascii_start());
        loop {
            let held = self.window.held();
            let feed = memchr::memchr(b'\n', held);
            let length = feed.unwrap_or(held.len());
            last = held[..length].trim_ascii_end().last().copied().unwrap_or(last);
            self.window.take(length + usize::from(feed.is_some()));
            if feed.is_some() || self.window.ended() {
                return Ok(Found::Skipped { kind, last, terminated: feed.is_some() });
            }
            self.window.fill()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::dripping;
    use super::super::window::CHUNK;
    use super::*;

    fn all(log: &[u8], drip: usize) -> Vec<(u64, bool, String)> {
        let comment: NotNeeded<char> = |line| line.starts_with(b"#").then_some('#');
        let mut lines = Lines::new(dripping(log, drip), comment);
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            let body = match line.body {
                Body::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                Body::Skipped { kind, beginning, last } => {
                    assert!(kind.is_none_or(|kind| beginning.starts_with(&[kind as u8])));
                    format!("{kind:?} {}", char::from(last))
                }
            };
            all.push((line.number, line.terminated, body));
        }
        all
    }

    #[test]
    fn lines_are_the_same_in_any_chunk_size() {
        for drip in [1, 2, 3, 7, 1 << 20] {
            assert_eq!(
                all(b"one\r\n\n  two \nthree", drip),
                [
                    (1, true, "one".to_owned()),
                    (2, true, String::new()),
                    (3, true, "two".to_owned()),
                    (4, false, "three".to_owned()),
                ],
                "{drip}"
            );
        }
        assert_eq!(all(b"", 9), []);
        assert_eq!(all(b"\n", 9), [(1, true, String::new())]);
    }

    #[test]
    fn long_lines_are_kept_only_when_needed() {
        let filler = "x".repeat(9 * CHUNK);
        let needed = format!("1 {filler}");
        let log = format!("#{filler}}} \n{needed}\nshort\n # {filler}");
        let lines = all(log.as_bytes(), 1 << 20);
        assert_eq!(lines[0], (1, true, "Some('#') }".to_owned()));
        assert_eq!(lines[1], (2, true, needed));
        assert_eq!(lines[2], (3, true, "short".to_owned()));
        assert_eq!(lines[3], (4, false, "Some('#') x".to_owned()));
        assert_eq!(lines.len(), 4);
    }

    #[test]
    fn lines_too_long_for_memory_are_skipped() {
        let mut log = vec![b'y'; LONGEST + CHUNK];
        log.extend_from_slice(b"\nnext");
        let lines = all(&log, 1 << 20);
        assert_eq!(lines, [(1, true, "None y".to_owned()), (2, false, "next".to_owned())]);
    }
}
