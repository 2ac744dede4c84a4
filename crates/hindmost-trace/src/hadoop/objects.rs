//! Splits a stream into JSON objects. They are returned as parts of one reused buffer, without copying.
//!
//! An object may be on one line, as in job histories, or span many, as in Rumen traces. Text between objects is
//! returned as text. If an object is incomplete, the next one is recognised by a line that can only be the beginning of
//! an object, so only the incomplete object is lost.
//!
//! The tasks of a Rumen job are returned one by one, followed by the job without its tasks, so that the buffer holds
//! only one task at a time.

use std::io;

use super::shape::{Item, LOOK, List, Shape};
use crate::reading::compression::{Damage, Plain};
use crate::reading::window::Window;

/// Objects of more bytes than this are skipped.
const LONGEST: usize = 256 << 20;
/// The most bytes of a text between objects that are returned.
pub(super) const TEXT: usize = 256;
/// The state of the scanner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Between,
    /// In an object that is returned whole. The number is the number of open braces.
    Object(u32),
    /// In a Rumen job, outside its tasks.
    Job(u32),
    /// In one of the job's lists, between tasks.
    List(List),
    Task(List, u32),
}

/// The result of one step. Ranges are positions in the buffer.
enum Found {
    Text,
    Object(usize, usize),
    Head,
    Task(List, usize, usize),
    Broken,
    Cut,
    End,
}

pub(super) struct Objects<'r> {
    window: Window<'r>,
    shape: Shape,
    /// Position in the window of the next byte to examine.
    at: usize,
    /// Where the object that is being captured begins.
    from: Option<usize>,
    state: At,
    in_string: bool,
    /// The Rumen job so far, without its tasks.
    head: Vec<u8>,
    /// Where the last string of `head` begins, after its quote.
    string_from: usize,
    /// The beginning of a text between objects.
    text: Vec<u8>,
    /// Whether the current object is too long to be returned.
    too_long: bool,
    line: u64,
    /// The line on which the last item began.
    began: u64,
}

impl<'r> Objects<'r> {
    pub(super) fn new(plain: Plain<'r>, shape: Shape) -> Self {
        Objects {
            window: Window::new(plain),
            shape,
            at: 0,
            from: None,
            state: At::Between,
            in_string: false,
            head: Vec::new(),
            string_from: 0,
            text: Vec::new(),
            too_long: false,
            line: 1,
            began: 1,
        }
    }

    /// Returns the first bytes of a log from which no item has been taken: at least `least`, if the log is long
    /// enough.
    pub(super) fn beginning(&mut self, least: usize) -> io::Result<&[u8]> {
        self.window.hold(least)
    }

    /// Returns the line on which the last item began, complete or not.
    pub(super) fn began(&self) -> u64 {
        self.began
    }

    /// Returns the damage that ended the log early. An object that is incomplete because of it is not returned.
    pub(super) fn damage(&self) -> Option<&Damage> {
        self.window.damage()
    }

    /// Returns the number of bytes of the file that were read.
    pub(super) fn position(&self) -> u64 {
        self.window.position()
    }

    /// Sets whether the log consists of events or of Rumen jobs.
    pub(super) fn set_shape(&mut self, shape: Shape) {
        self.shape = shape;
    }

    /// Returns the bytes that were read but not examined, and the reader of the rest.
    pub(super) fn into_rest(mut self) -> (Vec<u8>, Plain<'r>) {
        self.window.take(self.at);
        self.window.into_rest()
    }

    /// Returns the window, if nothing has been taken yet.
    pub(super) fn into_window(self) -> Window<'r> {
        self.window
    }

    /// Returns the next item, and the line on which it began, from 1.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, Item<'_>)>> {
        let found = self.find()?;
        let line = self.began;
        let held = self.window.held();
        let item = match found {
            Found::Text => Some(Item::Text(self.text.trim_ascii())),
            Found::Object(from, to) => Some(Item::Object(&held[from..to])),
            Found::Task(list, from, to) => Some(Item::Task(list, &held[from..to])),
            Found::Head => Some(Item::Object(&self.head)),
            Found::Broken => Some(Item::Broken),
            Found::Cut => Some(Item::Cut),
            Found::End => None,
        };
        Ok(item.map(|item| (line, item)))
    }

    fn find(&mut self) -> io::Result<Found> {
        loop {
            if self.at == self.window.held().len() {
                if self.window.ended() {
                    let cut = self.state != At::Between && self.damage().is_none();
                    self.close();
                    return Ok(if cut { Found::Cut } else { Found::End });
                }
                self.fill()?;
                continue;
            }
            if self.too_long() {
                self.too_long = true;
                self.from = None;
                self.head.clear();
            }
            if self.in_string {
                if self.string()? {
                    return Ok(self.broken());
                }
                continue;
            }
            let byte = self.window.held()[self.at];
            if byte == b'\n' {
                if self.line_end()? {
                    return Ok(self.broken());
                }
                continue;
            }
            match self.state {
                At::Between => match byte {
                    b'{' => self.open(),
                    b' ' | b'\t' | b'\r' | b',' | b'[' | b']' => self.at += 1,
                    _ => return self.text(),
                },
                At::Object(depth) => match self.nested(byte, depth) {
                    Some(0) => {
                        let (from, to) = (self.from.take(), self.at);
                        self.close();
                        return Ok(from.map_or(Found::Broken, |from| Found::Object(from, to)));
                    }
                    Some(depth) => self.state = At::Object(depth),
                    None => {}
                },
                At::Job(depth) => {
                    if self.job(byte, depth) {
                        let long = self.too_long;
                        self.close();
                        return Ok(if long { Found::Broken } else { Found::Head });
                    }
                }
                At::List(list) => {
                    match byte {
                        b'{' => {
                            self.from = Some(self.at);
                            self.state = At::Task(list, 1);
                        }
                        b']' => self.state = At::Job(1),
                        b'"' => self.in_string = true,
                        _ => {}
                    }
                    self.at += 1;
                }
                At::Task(list, depth) => match self.nested(byte, depth) {
                    Some(0) => {
                        self.state = At::List(list);
                        if let Some(from) = self.from.take() {
                            return Ok(Found::Task(list, from, self.at));
                        }
                    }
                    Some(depth) => self.state = At::Task(list, depth),
                    None => {}
                },
            }
        }
    }

    /// Begins an object.
    fn open(&mut self) {
        self.began = self.line;
        self.head.clear();
        match self.shape {
            Shape::Events => {
                self.from = Some(self.at);
                self.state = At::Object(1);
            }
            Shape::Jobs => {
                self.head.push(b'{');
                self.state = At::Job(1);
            }
        }
        self.at += 1;
    }

    /// Ends an object, complete or not. The job's head stays until the next object begins.
    fn close(&mut self) {
        self.state = At::Between;
        self.in_string = false;
        self.from = None;
        self.too_long = false;
    }

    fn broken(&mut self) -> Found {
        self.close();
        Found::Broken
    }

    /// Steps over a byte outside strings in a captured object. Returns the number of open braces if it has changed.
    fn nested(&mut self, byte: u8, depth: u32) -> Option<u32> {
        self.at += 1;
        match byte {
            b'{' => Some(depth.saturating_add(1)),
            b'}' => Some(depth - 1),
            b'"' => {
                self.in_string = true;
                None
            }
            _ => {
                // Most bytes change nothing, so this skips to the next brace, quote or line feed.
                let rest = &self.window.held()[self.at..];
                let plain = rest.iter().position(|b| matches!(b, b'{' | b'}' | b'"' | b'\n'));
                self.at += plain.unwrap_or(rest.len());
                None
            }
        }
    }

    /// Steps over a byte of a Rumen job outside its tasks. Returns whether the job ends there.
    fn job(&mut self, byte: u8, depth: u32) -> bool {
        self.at += 1;
        match byte {
            b'{' => self.state = At::Job(depth.saturating_add(1)),
            b'}' => self.state = At::Job(depth - 1),
            b'"' => {
                self.in_string = true;
                self.string_from = self.head.len() + 1;
            }
            b'[' if depth == 1 && !self.too_long => {
                let list = match self.last_key() {
                    b"mapTasks" => Some(List::Maps),
                    b"reduceTasks" => Some(List::Reduces),
                    b"otherTasks" => Some(List::Others),
                    _ => None,
                };
                if let Some(list) = list {
                    self.state = At::List(list);
                    self.head.extend_from_slice(b"[]");
                    return false;
                }
            }
            _ => {}
        }
        if !self.too_long {
            self.head.push(byte);
        }
        depth == 1 && byte == b'}'
    }

    /// Returns the string before the colon at the end of `head`.
    fn last_key(&self) -> &[u8] {
        let before = self.head.trim_ascii_end().strip_suffix(b":").map(<[u8]>::trim_ascii_end);
        let key = before.and_then(|text| text.strip_suffix(b"\""));
        key.and_then(|text| text.get(self.string_from..)).unwrap_or_default()
    }

    /// Steps to the end of a string, of the line or of the buffer. Returns whether another object begins there, which
    /// means that the string is incomplete.
    fn string(&mut self) -> io::Result<bool> {
        let start = self.at;
        let rest = &self.window.held()[start..];
        let (to, last) = match memchr::memchr3(b'"', b'\\', b'\n', rest) {
            Some(at) => (start + at, rest[at]),
            None => (start + rest.len(), 0),
        };
        self.keep(start, to);
        self.at = to;
        match last {
            b'"' => {
                self.in_string = false;
                self.keep(to, to + 1);
                self.at += 1;
            }
            b'\\' => {
                self.look(2)?;
                let to = self.window.held().len().min(self.at + 2);
                self.keep(self.at, to);
                // A line feed after a backslash is not part of any string.
                self.at = if self.window.held()[to - 1] == b'\n' { to - 1 } else { to };
            }
            b'\n' => return self.line_end(),
            _ => {}
        }
        Ok(false)
    }

    /// Appends a part of the buffer to the head of a Rumen job.
    fn keep(&mut self, from: usize, to: usize) {
        if matches!(self.state, At::Job(_)) && !self.too_long {
            self.head.extend_from_slice(&self.window.held()[from..to]);
        }
    }

    /// Steps over a line feed. Returns whether it is within an object and another object begins after it.
    fn line_end(&mut self) -> io::Result<bool> {
        if self.state != At::Between {
            let shape = self.shape;
            let rest = self.look(1 + LOOK)?;
            if shape.begins(&rest[1..rest.len().min(1 + LOOK)]) {
                self.at += 1;
                self.line += 1;
                return Ok(true);
            }
            self.keep(self.at, self.at + 1);
        }
        self.at += 1;
        self.line += 1;
        Ok(false)
    }

    /// Reads text between objects, up to the end of the line or the next object.
    fn text(&mut self) -> io::Result<Found> {
        self.began = self.line;
        self.text.clear();
        loop {
            let rest = &self.window.held()[self.at..];
            let stop = memchr::memchr2(b'\n', b'{', rest);
            let length = stop.unwrap_or(rest.len());
            self.text.extend_from_slice(&rest[..length.min(TEXT - self.text.len())]);
            self.at += length;
            if stop.is_none() && self.window.ended() && self.damage().is_some() {
                return Ok(Found::End);
            }
            if stop.is_some() || self.window.ended() {
                return Ok(Found::Text);
            }
            self.fill()?;
        }
    }

    fn too_long(&self) -> bool {
        self.head.len() > LONGEST || self.from.is_some_and(|from| self.at - from > LONGEST)
    }

    /// Returns the next bytes: at least `least`, if the log is long enough.
    fn look(&mut self, least: usize) -> io::Result<&[u8]> {
        while self.window.held().len() - self.at < least && !self.window.ended() {
            self.fill()?;
        }
        Ok(&self.window.held()[self.at..])
    }

    /// Reads one more chunk, after dropping the bytes that are no longer needed.
    fn fill(&mut self) -> io::Result<()> {
        let needed = self.from.unwrap_or(self.at).min(self.at);
        self.window.take(needed);
        self.at -= needed;
        self.from = self.from.map(|from| from - needed);
        self.window.fill()
    }
}
