//! Lines of a log, in place in one buffer that is used again and again.

use std::io::{self, Read};

use super::events::{Head, head};
use crate::compression::Damage;

/// Bytes asked of the system at a time.
const CHUNK: usize = 256 << 10;
/// How much of a line must be there to tell whether it is needed.
const PEEK: usize = 4 << 10;
/// Lines longer than this are passed over.
const LONGEST: usize = 128 << 20;

/// A line, without its end.
#[derive(Debug)]
pub(super) struct Line<'a> {
    /// From 1.
    pub number: u64,
    /// Whether it ends in a line feed, rather than with the log.
    pub terminated: bool,
    pub body: Body<'a>,
}

#[derive(Debug)]
pub(super) enum Body<'a> {
    /// The line, without blanks around it.
    Whole(&'a [u8]),
    /// A line longer than the buffer, passed over since its beginning says it isn't needed.
    Passed {
        head: Head,
        /// Its first bytes.
        beginning: &'a [u8],
        /// Whether its last character is a closing brace.
        closed: bool,
    },
}

/// Told after each chunk of the bytes read so far.
pub(super) type Progress<'p> = &'p mut dyn FnMut(u64);

pub(super) struct Lines<'p, R> {
    reader: R,
    buffer: Vec<u8>,
    /// Where the next line begins in the buffer.
    start: usize,
    /// No line feed between `start` and here.
    scanned: usize,
    /// Where the bytes read end.
    end: usize,
    /// Whether the reader has nothing more.
    ended: bool,
    /// What is wrong with the compressed data behind it.
    damage: Option<Damage>,
    /// The first bytes of a line that is passed over.
    beginning: Vec<u8>,
    number: u64,
    position: u64,
    progress: Option<Progress<'p>>,
}

enum Found {
    Whole { from: usize, to: usize, terminated: bool },
    Passed { head: Head, closed: bool, terminated: bool },
}

impl<'p, R: Read> Lines<'p, R> {
    pub(super) fn new(reader: R, progress: Option<Progress<'p>>) -> Self {
        Lines {
            reader,
            buffer: vec![0; CHUNK],
            start: 0,
            scanned: 0,
            end: 0,
            ended: false,
            damage: None,
            beginning: Vec::new(),
            number: 0,
            position: 0,
            progress,
        }
    }

    /// Bytes read so far.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// What ended the log before its end.
    pub(super) fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }

    /// The first bytes of the log: as many as the first chunk holds, at least `least` if there are.
    pub(super) fn beginning(&mut self, least: usize) -> io::Result<&[u8]> {
        while self.end - self.start < least && !self.ended {
            self.fill()?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    /// Leaves out so many bytes at the beginning.
    pub(super) fn leave_out(&mut self, bytes: usize) {
        self.start = self.end.min(self.start + bytes);
        self.scanned = self.start;
    }

    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        let Some(found) = self.find()? else {
            return Ok(None);
        };
        self.number += 1;
        let (body, terminated) = match found {
            Found::Whole { from, to, terminated } => (Body::Whole(self.buffer[from..to].trim_ascii()), terminated),
            Found::Passed { head, closed, terminated } => {
                (Body::Passed { head, beginning: &self.beginning, closed }, terminated)
            }
        };
        Ok(Some(Line { number: self.number, terminated, body }))
    }

    fn find(&mut self) -> io::Result<Option<Found>> {
        let mut peeked = false;
        loop {
            let from = self.start;
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.scanned..self.end]) {
                let to = self.scanned + at;
                self.start = to + 1;
                self.scanned = self.start;
                return Ok(Some(Found::Whole { from, to, terminated: true }));
            }
            self.scanned = self.end;
            if self.ended {
                self.start = self.end;
                let rest = Found::Whole { from, to: self.end, terminated: false };
                return Ok((from < self.end).then_some(rest));
            }
            let length = self.end - from;
            if length >= PEEK && !peeked {
                peeked = true;
                match head(self.buffer[from..self.end].trim_ascii_start()) {
                    Head::Event(kind) if kind.is_read() => {}
                    Head::Object => {}
                    head => return self.pass(head).map(Some),
                }
            }
            if length >= LONGEST {
                return self.pass(Head::Other).map(Some);
            }
            self.fill()?;
        }
    }

    /// Reads on to the end of the line and keeps nothing of it.
    fn pass(&mut self, head: Head) -> io::Result<Found> {
        let mut last = b' ';
        self.beginning.clear();
        let there = &self.buffer[self.start..self.end];
        self.beginning.extend_from_slice(there[..there.len().min(PEEK)].trim_ascii_start());
        loop {
            let rest = &self.buffer[self.start..self.end];
            let feed = memchr::memchr(b'\n', rest);
            let part = &rest[..feed.unwrap_or(rest.len())];
            last = part.trim_ascii_end().last().copied().unwrap_or(last);
            self.start = feed.map_or(self.end, |at| self.start + at + 1);
            self.scanned = self.start;
            if feed.is_some() || self.ended {
                return Ok(Found::Passed { head, closed: last == b'}', terminated: feed.is_some() });
            }
            self.fill()?;
        }
    }

    /// Reads a chunk more, moving what is left of the last one to the front.
    fn fill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.scanned -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            self.buffer.resize(2 * self.buffer.len(), 0);
        } else if self.buffer.len() > 16 * CHUNK && self.end < CHUNK {
            // A giant line has gone by.
            self.buffer.truncate(2 * CHUNK);
            self.buffer.shrink_to_fit();
        }
        let read = loop {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(read) => break read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Damage is an end: what came before it counts.
                Err(error) => match Damage::of(&error).cloned() {
                    None => return Err(error),
                    damage => {
                        self.damage = damage;
                        break 0;
                    }
                },
            }
        };
        self.end += read;
        self.ended = read == 0;
        self.position += read as u64;
        if let Some(progress) = &mut self.progress {
            progress(self.position);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives out a few bytes at a time.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(buffer.len()).min(self.0.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn all(log: &[u8], drip: usize) -> Vec<(u64, bool, String)> {
        let mut lines = Lines::new(Drip(log, drip), None);
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            let body = match line.body {
                Body::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                Body::Passed { head, beginning, closed } => {
                    assert!(beginning.starts_with(b"{") || head == Head::Other);
                    format!("{head:?} {closed}")
                }
            };
            all.push((line.number, line.terminated, body));
        }
        all
    }

    #[test]
    fn lines_are_the_same_however_they_arrive() {
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
    fn long_lines_are_kept_when_needed_and_passed_over_otherwise() {
        let filler = "x".repeat(9 * CHUNK);
        let needed = format!(r#"{{"Event":"SparkListenerJobStart","x":"{filler}"}}"#);
        let other = format!(r#"{{"Event":"SparkListenerUnheardOf","x":"{filler}"}}"#);
        let log = format!("{other}\n{needed}\n{filler}\r\nshort\n{other}");
        let lines = all(log.as_bytes(), 1 << 20);
        assert_eq!(lines[0], (1, true, "Event(OtherSpark) true".to_owned()));
        assert_eq!(lines[1], (2, true, needed));
        assert_eq!(lines[2], (3, true, "Other false".to_owned()));
        assert_eq!(lines[3], (4, true, "short".to_owned()));
        assert_eq!(lines[4], (5, false, "Event(OtherSpark) true".to_owned()));
        assert_eq!(lines.len(), 5);
    }
}
